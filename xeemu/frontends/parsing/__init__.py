"""Parsing: the text of a program, by libclang, as the tree."""

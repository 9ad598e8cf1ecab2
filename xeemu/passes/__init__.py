"""Passes: the optimisations of a launch, each a function from a program to a program."""

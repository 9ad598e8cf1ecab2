"""Hosting: host code of C++ carried out, so that it is known what it submits."""

"""SYCL: the kernels that a program of C++ submits, and its host code."""

"""C++ as the tree of `tree.py`, and our own headers of SYCL and the standard library."""

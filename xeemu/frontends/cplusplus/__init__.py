"""C++ as the tree of `tree.py`: what a translation unit instantiates, function by function, with our own headers."""

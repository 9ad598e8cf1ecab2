"""C++ as the front ends' tree: what a translation unit instantiates, function by function."""

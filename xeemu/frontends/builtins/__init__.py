"""Builtins: the functions of OpenCL C that only compute. `catalogue` finds one by its name."""

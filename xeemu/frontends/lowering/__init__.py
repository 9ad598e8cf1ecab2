"""Lowering: a kernel's tree as calls of the kernel language, made while the kernel is traced for one work-group."""

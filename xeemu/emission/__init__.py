"""A program over many work-groups, as ordinary JAX operations."""

"""How each value, access and loop of a program is carried out, decided before anything is emitted."""

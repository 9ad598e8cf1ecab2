"""What a kernel is written in, and how it is traced to a program."""

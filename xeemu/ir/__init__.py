"""What a program consists of, for all rooms that read one."""

"""What is wrong with a kernel: proved before a run, or seen as it runs."""

"""Cores: how many cores of a CPU this process may use."""

import os


def count() -> int:
    """Those that the system lets it run on; all where it does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

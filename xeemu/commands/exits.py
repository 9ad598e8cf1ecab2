"""Exits: the exit codes of commands."""

DONE, FAULTY, REFUSED, INTERRUPTED = 0, 1, 2, 130
"""Done; a result differs, a figure has risen or a check finds faults; the command or a launch was refused; stopped."""

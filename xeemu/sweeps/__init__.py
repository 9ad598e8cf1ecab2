"""Many configurations of a launch by their predicted time."""

"""Slices: how fast the L2 takes stores and atomic updates, which meet in its slices.

The L2 is divided into slices by a hash of the address. Each takes one sector at a time, so that what is sent to few
places at a time waits in their slices while others idle. Of a queueing network of N customers and S equal servers that
each choose at random, N / (N + S - 1) of all servers are busy on average (Lazowska et al., "Quantitative System
Performance", 1984, balanced closed networks); the customers are the places that are sent to at a time.
"""


def sectors_per_cycle(places: float, slice_rate: float, rate: float) -> float:
    """Sectors per cycle that the L2 takes.

    Args:
      places: that are sent to at a time, at least 1; each lies in one slice.
      slice_rate: sectors per cycle of a slice.
      rate: sectors per cycle of all of them together.
    """
    places = max(1.0, places)
    slices = rate / slice_rate
    return rate * places / (places + slices - 1)

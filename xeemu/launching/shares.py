"""Shares: parts of a launch's chunks, among the devices of a mesh or in pieces for threads."""

import dataclasses
from collections.abc import Mapping

import jax

from xeemu.emission.buffers import Origin


@dataclasses.dataclass(frozen=True)
class Share:
    """One of the shares that a launch's chunks are divided into, among devices or in pieces for threads.

    Attributes:
      number: of the share, a traced scalar.
      bounds: the first chunk of each share, and the end; the last share has what is left of a chunk as well, or the
        groups at the end, if they are emulated for themselves, as the first one has those at the beginning.
      origins: for the number of an argument of which the share has a part, where that begins.
      single: true if XLA divides nothing of it among threads.
    """

    number: jax.Array
    bounds: tuple[int, ...]
    origins: Mapping[int, Origin] = dataclasses.field(default_factory=dict)
    single: bool = False

"""Options: how a launch is emulated, and how much memory a chunk of it may take."""

import dataclasses

import jax

# A chunk's working set unless the user says otherwise: about a core's cache on a CPU, enough to fill a GPU.
_CHUNK_BYTES = {"cpu": 2 << 20}
# Under observers, whose counters take room as well. How many groups go in lockstep decides how often they try a
# compare-and-exchange again: the counts of `tests/data/validation.csv` are for this many.
_OBSERVED_BYTES = {"cpu": 1 << 20}
_GPU_CHUNK_BYTES = 2 << 30
# What the compiler then takes may be so many times as much, and no more; a user's bound holds as it is.
_MOST_TIMES = 8
# Launches that are kept compiled, those that were not used for longest dropped first; and checks, profiles and launches
# over a mesh, of each. A compiled one takes 1 to 3 MB, whatever it computes.
MOST_KEPT, MOST_WATCHED = 128, 64


@dataclasses.dataclass(frozen=True)
class Options:
    """How a launch is emulated."""

    memory_bytes: int | None
    deterministic: bool
    donate: bool
    platform: str
    mesh: jax.sharding.Mesh | None = None
    observed: bool = False
    max_iterations: int | None = None

    @property
    def shards(self) -> int:
        """Devices that share a launch."""
        return self.mesh.size if self.mesh else 1

    @property
    def chunk_bytes(self) -> int:
        """The working set to aim at."""
        sizes = _OBSERVED_BYTES if self.observed else _CHUNK_BYTES
        return self.memory_bytes or sizes.get(self.platform, _GPU_CHUNK_BYTES)

    @property
    def most_bytes(self) -> int:
        """The working set that is not exceeded, unless by a single work-group."""
        return self.memory_bytes or _MOST_TIMES * self.chunk_bytes

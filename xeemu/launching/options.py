"""Options: how a launch is emulated, and how much memory a chunk of it may take."""

import dataclasses

import jax

from xeemu.devices import target
from xeemu.devices.target import Target

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
    once: bool = False

    @property
    def target(self) -> Target:
        """The host that it runs on."""
        return target.of_platform(self.platform)

    @property
    def shards(self) -> int:
        """Devices that share a launch."""
        return self.mesh.size if self.mesh else 1

    @property
    def chunk_bytes(self) -> int:
        """The working set to aim at."""
        usual = self.target.observed_chunk_bytes if self.observed else self.target.chunk_bytes
        return self.memory_bytes or usual

    @property
    def most_bytes(self) -> int:
        """The working set that is not exceeded, unless by a single work-group; a user's bound holds as it is."""
        return self.memory_bytes or self.target.most_times * self.chunk_bytes

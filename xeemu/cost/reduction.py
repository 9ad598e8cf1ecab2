"""Reduction: atomic updates of one word by all lanes of a sub-group, of which some compilers make one.

NVIDIA's compiler sums up what lanes add to an address that it sees to be the same for all of them, and one lane
updates it ("Warp-aggregated atomics", NVIDIA's blog, which says that nvcc does so since CUDA 9). So it is with other
operations by which integers of 32 bits may be put together in any order, where nobody asks for the old value.
"""

import jax.numpy as jnp

from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import MemoryOperation

_OPERATIONS = ("add", "sub", "min", "max", "and", "or", "xor")
_BYTES = 4


def is_reduced(operation: MemoryOperation, device: Device) -> bool:
    """True if one lane of a sub-group updates for all that take part."""
    if not device.reduced_atomics or not operation.updates or operation.fetches:
        return False
    dtype, index = operation.access_site.memory.dtype, operation.linear_index
    whole = bool(jnp.issubdtype(dtype, jnp.integer)) and dtype.itemsize == _BYTES
    return operation.name in _OPERATIONS and whole and not index.shape

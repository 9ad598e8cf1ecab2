"""Threads: pieces of a launch carried out by the cores of a CPU, and its results made of what these have.

JAX carries out in order what one thread calls. So several threads call the same program, each for one piece after the
other, as long as there are any.
"""

import collections
import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import compiling
from xeemu.emission.buffers import PartOrigin
from xeemu.language.linearity import Allocation
from xeemu.launching import capacity, merging
from xeemu.launching.chunk_loops import Share
from xeemu.launching.thread_partition import ResultParts, SharedLaunch

# JAX takes an array of NumPy as it is if its memory is aligned so.
_ALIGNMENT_BYTES = 64
_INT32_LIMIT = 2**31


class Threaded:
    """A launch that cores share, carried out by threads.

    Attributes:
      shared: the launch.
    """

    def __init__(self, shared: SharedLaunch):
        self.shared = shared
        self._programs: dict[Any, jax.stages.Compiled] = {}
        combinations = dict(zip(shared.prepared.program.outputs, shared.combinations, strict=True))
        self._parts = {
            k: combination for k, combination in combinations.items() if isinstance(combination, ResultParts)
        }
        self._merged = {
            k: combination for k, combination in combinations.items() if not isinstance(combination, ResultParts)
        }
        self._overwritten = self._parts.keys() & shared.prepared.overwritten
        # Of what a thread goes on with from piece to piece.
        self._donated = self._overwritten | (self._merged.keys() if self._parts else frozenset())

    def function(self, *arguments: Any) -> list[jax.Array]:
        """The arrays that the kernel returns."""
        if not self._accepts(arguments):
            return self.shared.prepared.ended(self.shared.prepared.compiled(*arguments))
        placed, program = jax.device_put(arguments), self._program(arguments)
        whole = {k: _aligned(self._memory(k)) for k in self._parts}
        # The last piece is the largest.
        pieces = collections.deque(reversed(range(self.shared.pieces)))
        carry_out = functools.partial(self._carry_out, program, placed, pieces, whole)
        others = [_started(k, carry_out) for k in range(1, self.shared.count)]
        with _ending(pieces):
            copies = [carry_out(), *(result() for result in others)]
        results = self._assembled({k: placed[k] for k in self._merged}, copies)
        with _transferring():
            results |= {k: jax.device_put(array, self._where(placed)) for k, array in whole.items()}
        return [results[k] for k in self.shared.prepared.program.outputs]

    def working_bytes(self, arguments: Sequence[Any]) -> int:
        """What all threads allocate beside arguments and a kernel's results; 0 if the compiler does not tell."""
        analysis = self._program(arguments).memory_analysis()
        return 0 if analysis is None else self.shared.count * capacity.beyond(analysis, 0)

    def _accepts(self, arguments: Sequence[Any]) -> bool:
        """True if arguments are on one device each, and JAX does not look for NaN, which threads would not know of."""
        debugged = jax.config.jax_debug_nans or jax.config.jax_debug_infs  # type: ignore[attr-defined]
        return not debugged and all(len(a.devices()) == 1 for a in arguments if isinstance(a, jax.Array))

    def _carry_out(
        self,
        program: jax.stages.Compiled,
        placed: Sequence[jax.Array],
        pieces: collections.deque[int],
        whole: Mapping[int, np.ndarray],
    ) -> dict[int, jax.Array]:
        """Takes pieces as long as there are any, and gives this thread's copies of what is merged.

        Of a launch without parts it takes one, which need not be done by then.
        """
        arguments = self._private_copies(placed)
        # JAX keeps such settings for each thread; the numbers of pieces are no transfers of the user's.
        with (
            jax.enable_x64(self.shared.prepared.program.wide),
            jax.disable_jit(False),
            _transferring(),
            _ending(pieces),
        ):
            while (piece := _next(pieces)) is not None:
                made = self.shared.prepared.ended(program(np.int32(piece), *arguments))
                for k, array in zip(self.shared.prepared.program.outputs, made, strict=True):
                    if k in whole:
                        there, here = self._parts[k].slices(piece)
                        whole[k][there] = np.asarray(array)[here]
                    if k in self._donated or not whole:
                        arguments[k] = array
                if not whole:
                    break
        return {k: arguments[k] for k in self._merged}

    def _private_copies(self, placed: Sequence[jax.Array]) -> list[jax.Array]:
        """The arguments that a thread begins with: with own copies of what it goes on with."""
        found = list(placed)
        with jax.default_device(self._device(placed)):
            for k in self._overwritten:
                found[k] = lax.empty(*self._part_shape(k))
            for k in self._donated - self._overwritten:
                found[k] = jnp.array(placed[k], copy=True)
        return found

    def _where(self, placed: Sequence[jax.Array]) -> jax.sharding.Sharding | None:
        """Where results are: with the arguments that matter, if these are committed to a device."""
        committed = any(array.committed for k, array in enumerate(placed) if k not in self._overwritten)
        return jax.sharding.SingleDeviceSharding(self._device(placed)) if committed else None

    def _device(self, placed: Sequence[jax.Array]) -> jax.Device:
        """That of a computation on arguments, perhaps not the one where a thread would run it by itself."""
        mattering = [array for k, array in enumerate(placed) if k not in self._overwritten] or list(placed)
        (device,) = next((array for array in mattering if array.committed), mattering[0]).devices()
        return device

    @functools.cached_property
    def _assembled(self) -> Callable[..., dict[int, jax.Array]]:
        """Makes results of what was in them before, and of the copies that threads have."""

        def merge(before: dict[int, jax.Array], copies: Sequence[dict[int, jax.Array]]) -> dict[int, jax.Array]:
            return {
                k: merging.merged(combination, before[k], [c[k] for c in copies])
                for k, combination in self._merged.items()
            }

        return jax.jit(merge) if self._merged else lambda before, copies: {}

    # --- The program of a piece ---

    def _program(self, arguments: Sequence[Any]) -> jax.stages.Compiled:
        """It for arguments from where they are: a thread would trace it anew."""
        committed = [a.sharding if isinstance(a, jax.Array) and a.committed else None for a in self._shapes(arguments)]
        where = (jax.config.jax_default_device, *committed)  # type: ignore[attr-defined]
        if where not in self._programs:
            self._programs[where] = self.lowered(arguments).compile()
        return self._programs[where]

    def lowered(self, arguments: Sequence[Any]) -> jax.stages.Lowered:
        """It before it is compiled; of the arguments shapes and dtypes do."""
        options = compiling.single(self.shared.prepared.compiler_options)
        jitted = compiling.compiled(self._piece, options, sorted(1 + k for k in self._donated))
        with jax.core.eval_context(), jax.disable_jit(False):
            lowered: jax.stages.Lowered = jitted.lower(np.int32(0), *self._shapes(arguments))  # type: ignore[attr-defined]
        return lowered

    def _shapes(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments that it takes: of a result that is overwritten a part alone, whatever is in it."""
        return [
            jax.ShapeDtypeStruct(*self._part_shape(k)) if k in self._overwritten else a for k, a in enumerate(arguments)
        ]

    def _piece(self, piece: jax.Array, *arguments: jax.Array) -> list[jax.Array]:
        """What a piece makes of the arguments: its part of a result, or a copy of it."""
        own, origins = list(arguments), dict[int, PartOrigin]()
        for k, parts in self._parts.items():
            rows = np.asarray(parts.origins, np.int64 if self._memory(k).elements >= _INT32_LIMIT else np.int32)
            origins[k] = PartOrigin(jnp.asarray(rows)[piece], int(np.gcd.reduce(rows)))
            if k not in self._overwritten:
                own[k] = lax.dynamic_slice_in_dim(arguments[k], origins[k].row, parts.size)
        share = Share(piece, self.shared.bounds, origins, single=compiling.supports_single_thread())
        return self.shared.prepared.bounded(own, share)

    def _part_shape(self, number: int) -> tuple[tuple[int, ...], Any]:
        """The shape and dtype of a result's part."""
        memory = self._memory(number)
        return (self._parts[number].size, *memory.shape[1:]), memory.dtype

    def _memory(self, number: int) -> Allocation:
        return self.shared.prepared.returned[number]


def _aligned(memory: Allocation) -> np.ndarray:
    """An array for what is in a memory, with anything in it."""
    raw = np.empty(memory.nbytes + _ALIGNMENT_BYTES, np.uint8)
    first = -raw.ctypes.data % _ALIGNMENT_BYTES
    aligned: np.ndarray = raw[first : first + memory.nbytes].view(memory.dtype).reshape(memory.shape)
    return aligned


def _transferring() -> contextlib.AbstractContextManager[None]:
    """Within it, transfers are allowed, whatever the user says of theirs."""
    allowed: contextlib.AbstractContextManager[None] = jax.transfer_guard_host_to_device("allow")
    return allowed


@contextlib.contextmanager
def _ending(pieces: collections.deque[int]) -> Iterator[None]:
    """If something goes wrong within it, nobody takes pieces any more."""
    try:
        yield
    except BaseException:
        pieces.clear()
        raise


def _next(pieces: collections.deque[int]) -> int | None:
    """A piece that no thread has taken."""
    try:
        return pieces.popleft()
    except IndexError:
        return None


def _started(number: int, call: Callable[[], Any]) -> Callable[[], Any]:
    """What waits for a call that another thread has begun, and gives its result."""
    try:
        return _thread(number).submit(call).result
    except RuntimeError:  # Python no longer starts anything when it shuts down
        return call


@functools.cache
def _thread(number: int) -> ThreadPoolExecutor:
    """Always the same: JAX begins what one thread calls in order, so that parts of many launches do not run at once."""
    return ThreadPoolExecutor(1, f"xeemu-{number}")

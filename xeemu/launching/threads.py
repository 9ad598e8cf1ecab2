"""Threads: pieces of a launch carried out by the cores of a CPU, and its results made of what these have.

JAX carries out in order what one thread calls. So several threads call the same program, each for one piece after the
other, as long as there are any.
"""

import collections
import functools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission.observer import Observer
from xeemu.emission.values import Origin
from xeemu.language.linearity import Allocation
from xeemu.launching import capacity, compiling, merging
from xeemu.launching.preparation import Share
from xeemu.launching.sharing import Parts, Shared

# JAX takes an array of NumPy as it is if its memory is aligned so.
_ALIGNMENT_BYTES = 64
_INT32_LIMIT = 2**31


class Threaded:
    """A launch that cores share, carried out by threads.

    Attributes:
      shared: the launch.
    """

    def __init__(self, shared: Shared):
        self.shared = shared
        self._programs: dict[Any, jax.stages.Compiled] = {}
        rules = dict(zip(shared.prepared.program.outputs, shared.rules, strict=True))
        self._parts = {k: rule for k, rule in rules.items() if isinstance(rule, Parts)}
        self._merged = {k: rule for k, rule in rules.items() if not isinstance(rule, Parts)}
        self._overwritten = sorted(self._parts.keys() & shared.prepared.overwritten)

    def function(self, *given: Any) -> list[jax.Array]:
        """The arrays that the kernel returns."""
        placed, program = jax.device_put(given), self._program(given)
        whole = {k: _aligned(self._memory(k)) for k in self._parts}
        # The last piece is the largest.
        pieces = collections.deque(reversed(range(self.shared.pieces)))
        carry_out = functools.partial(self._carry_out, program, placed, pieces, whole)
        others = [_started(k, carry_out) for k in range(1, self.shared.count)]
        copies = [carry_out(), *(result() for result in others)]
        results = self._put_together({k: placed[k] for k in self._merged}, copies) | _placed(whole, placed)
        return [results[k] for k in self.shared.prepared.program.outputs]

    def working_bytes(self, given: Sequence[Any]) -> int:
        """What all threads allocate beside arguments and a kernel's results; 0 if the compiler does not tell."""
        analysis = self._program(given).memory_analysis()
        return 0 if analysis is None else self.shared.count * capacity.beyond(analysis, 0)

    def _carry_out(
        self,
        program: jax.stages.Compiled,
        placed: Sequence[jax.Array],
        pieces: collections.deque[int],
        whole: Mapping[int, np.ndarray],
    ) -> dict[int, jax.Array]:
        """Takes pieces as long as there are any, and gives this thread's copies of what is merged."""
        with jax.default_device(_device(placed)):
            arguments = self._with_parts(placed)
        # JAX keeps such settings for each thread; the numbers of pieces are no transfers of the user's.
        with jax.enable_x64(self.shared.prepared.program.wide), jax.disable_jit(False), _transferring():
            while (piece := _next(pieces)) is not None:
                made = program(np.int32(piece), *arguments)
                for k, array in zip(self.shared.prepared.program.outputs, made, strict=True):
                    if k in whole:
                        there, here = self._parts[k].places(piece)
                        whole[k][there] = np.asarray(array)[here]
                    if k not in whole or k in self._overwritten:
                        arguments[k] = array
        return {k: arguments[k] for k in self._merged}

    @functools.cached_property
    def _put_together(self) -> Callable[..., dict[int, jax.Array]]:
        """Makes results of what was in them before, and of the copies that threads have."""

        def merge(before: dict[int, jax.Array], copies: Sequence[dict[int, jax.Array]]) -> dict[int, jax.Array]:
            return {k: merging.merged(rule, before[k], [c[k] for c in copies]) for k, rule in self._merged.items()}

        return jax.jit(merge) if self._merged else lambda before, copies: {}

    # --- The program of a piece ---

    def _program(self, given: Sequence[Any]) -> jax.stages.Compiled:
        """It for arguments from where they are: a thread would trace it anew."""
        committed = [a.sharding if isinstance(a, jax.Array) and a.committed else None for a in given]
        where = (jax.config.jax_default_device, *committed)  # type: ignore[attr-defined]
        if where not in self._programs:
            options = compiling.single(self.shared.prepared.compiler_options)
            jitted = compiling.compiled(self._piece, options, [1 + k for k in self._overwritten])
            with jax.core.eval_context(), jax.disable_jit(False):
                lowered = jitted.lower(np.int32(0), *self._with_parts(given))  # type: ignore[attr-defined]
                self._programs[where] = lowered.compile()
        return self._programs[where]

    def _piece(self, piece: jax.Array, *arguments: jax.Array) -> list[jax.Array]:
        """What a piece makes of the arguments: its part of a result, or a copy of it."""
        own, origins = list(arguments), dict[int, Origin]()
        for k, parts in self._parts.items():
            rows = np.asarray(parts.origins, np.int64 if self._memory(k).elements >= _INT32_LIMIT else np.int32)
            origins[k] = Origin(jnp.asarray(rows)[piece], int(np.gcd.reduce(rows)))
            if k not in self._overwritten:
                own[k] = lax.dynamic_slice_in_dim(arguments[k], origins[k].row, parts.size)
        share = Share(piece, self.shared.bounds, origins, single=compiling.takes_single())
        return self.shared.prepared.watched(own, lambda chunk, state: Observer(), (), share)[0]

    def _with_parts(self, arguments: Sequence[Any]) -> list[Any]:
        """The arguments, but for parts with anything in them where a launch overwrites what was there."""
        found = list(arguments)
        for k in self._overwritten:
            found[k] = lax.empty((self._parts[k].size, *self._memory(k).shape[1:]), self._memory(k).dtype)
        return found

    def _memory(self, number: int) -> Allocation:
        memory = self.shared.prepared.program.arguments[number]
        assert memory is not None
        return memory


def _aligned(memory: Allocation) -> np.ndarray:
    """An array for what is in a memory, with anything in it."""
    raw = np.empty(memory.nbytes + _ALIGNMENT_BYTES, np.uint8)
    first = -raw.ctypes.data % _ALIGNMENT_BYTES
    aligned: np.ndarray = raw[first : first + memory.nbytes].view(memory.dtype).reshape(memory.shape)
    return aligned


def _device(arguments: Sequence[jax.Array]) -> jax.Device:
    """Where a computation on arguments runs, perhaps not where a thread would run it by itself."""
    (device,) = next((a for a in arguments if a.committed), arguments[0]).devices()
    return device


def _placed(arrays: Mapping[int, np.ndarray], arguments: Sequence[jax.Array]) -> dict[int, jax.Array]:
    """Arrays as JAX has results of a computation on arguments."""
    where = next((argument.sharding for argument in arguments if argument.committed), None)
    with _transferring():
        return {k: jax.device_put(array, where) for k, array in arrays.items()}


def _transferring() -> Any:
    """Within it, transfers are allowed, whatever the user says of theirs."""
    return jax.transfer_guard_host_to_device("allow")


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

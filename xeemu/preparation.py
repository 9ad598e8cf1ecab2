"""Preparation: a launch traced, analysed and checked, and carried out chunk by chunk."""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu import analysis, aspects, conversions, geometry, interpreter, limits, program
from xeemu.analysis import Plan
from xeemu.arguments import Description, platform_of
from xeemu.device import Device
from xeemu.geometry import Geometry
from xeemu.kernel import Kernel
from xeemu.ndrange import NDRange
from xeemu.observer import Observer
from xeemu.program import Program
from xeemu.values import Chunk

Watch = Callable[[Chunk, Any], Observer]
_Carry = tuple[list[jax.Array], Any]

# A chunk's working set unless the user says otherwise: about a core's cache on a CPU, enough to fill a GPU.
_CHUNK_BYTES = {"cpu": 1 << 20}
_GPU_CHUNK_BYTES = 2 << 30


@dataclasses.dataclass(frozen=True)
class Options:
    """How a launch is emulated."""

    memory_bytes: int | None
    deterministic: bool
    donate: bool
    platform: str
    mesh: jax.sharding.Mesh | None = None

    @property
    def shards(self) -> int:
        """Devices that share a launch."""
        return self.mesh.size if self.mesh else 1


@dataclasses.dataclass(frozen=True)
class Share:
    """The part of a launch's chunks that one of several devices carries out.

    Attributes:
      number: of the device, a traced scalar.
      bounds: the first chunk of each device, and the end; the last device has what is left of a chunk as well.
    """

    number: jax.Array
    bounds: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """A traced, analysed and checked kernel, ready to be emitted.

    Attributes:
      program: the traced kernel.
      plan: its analysis.
      chunk: work-groups that are emulated together.
      options: how it is emulated.
    """

    program: Program
    plan: Plan
    chunk: int
    options: Options

    def emit(self, *arguments: jax.Array) -> list[jax.Array]:
        """The arrays that the kernel returns, as JAX operations on the launch's arguments."""
        return self.watched(arguments, lambda chunk, state: Observer(), ())[0]

    def watched(
        self, arguments: Sequence[jax.Array], watch: Watch, state: Any, share: Share | None = None
    ) -> tuple[list[jax.Array], Any]:
        """The same, and the state that an observer of every chunk leaves.

        Args:
          arguments: the launch's.
          watch: makes the observer of a chunk from the chunk and the state before it.
          state: before the first chunk, a pytree.
          share: the chunks to carry out; None for all.
        """
        shapes = [a.shape for a in arguments]
        flat = [a.reshape(-1) if a.ndim else a for a in arguments]
        written = [
            k
            for k, memory in enumerate(self.program.arguments)
            if memory is not None and memory in self.program.written
        ]
        # A user's strictness about ranks holds for the kernel, which is traced by now.
        with jax.numpy_rank_promotion("allow"):
            memories, state = self._all_chunks(flat, written, watch, state, share)
        final = dict(zip(written, memories, strict=True))
        return [final.get(k, flat[k]).reshape(shapes[k]) for k in self.program.outputs], state

    @property
    def chunks(self) -> tuple[int, int]:
        """The number of full chunks, and the groups that are left."""
        return divmod(self.program.geometry.groups, self.chunk)

    def _all_chunks(
        self, flat: list[jax.Array], written: list[int], watch: Watch, state: Any, share: Share | None
    ) -> _Carry:
        full, rest = self.chunks
        carry = [flat[k] for k in written], state
        if not jax.tree.leaves(carry):
            return carry

        def step(first: Any, count: int, carry: _Carry) -> _Carry:
            return self._one_chunk(first, count, flat, written, watch, carry)

        def numbered(k: jax.Array, carry: _Carry) -> _Carry:
            id_type = self.program.geometry.id_type
            return step(k.astype(id_type) * id_type.type(self.chunk), self.chunk, carry)

        if share is not None:
            bounds = np.asarray(share.bounds, np.int32)
            low, high = jnp.asarray(bounds[:-1])[share.number], jnp.asarray(bounds[1:])[share.number]
            carry = lax.fori_loop(low, high, numbered, carry)
            is_last = share.number == len(bounds) - 2
            return lax.cond(is_last, lambda c: step(full * self.chunk, rest, c), lambda c: c, carry) if rest else carry
        if full > 1:
            carry = lax.fori_loop(0, full, numbered, carry)
        elif full:
            carry = step(0, self.chunk, carry)
        return step(full * self.chunk, rest, carry) if rest else carry

    def _one_chunk(
        self, first: Any, count: int, flat: list[jax.Array], written: list[int], watch: Watch, carry: _Carry
    ) -> _Carry:
        memories, state = carry
        arguments = list(flat)
        for k, data in zip(written, memories, strict=True):
            arguments[k] = data
        on_cpu = self.options.platform == "cpu"
        chunk = Chunk(self.program.geometry, first, count, on_cpu, self.options.deterministic)
        observer = watch(chunk, state)
        outputs = interpreter.run(self.program, self.plan, arguments, chunk, observer)
        returned = dict(zip(self.program.outputs, outputs, strict=True))
        return [returned[k] for k in written], observer.close()

    def run(self, given: Sequence[Any]) -> list[np.ndarray]:
        """The arrays that the kernel returns, of a launch's arguments as they were given."""
        with jax.enable_x64(self.program.wide):
            return [np.asarray(output) for output in self.compiled(*given)]

    @functools.cached_property
    def compiled(self) -> Callable[..., list[jax.Array]]:
        """`emit` as a compiled function."""
        donated = self.program.outputs if self.options.donate else ()
        return jax.jit(self.emit, donate_argnums=donated)


@dataclasses.dataclass(frozen=True, eq=False)
class Watched:
    """A prepared launch with observers.

    Attributes:
      prepared: the launch.
      watch: makes the observer of a chunk.
      zeros: makes the state before the first chunk.
    """

    prepared: Prepared
    watch: Watch
    zeros: Callable[[], Any]

    def run(self, given: Sequence[Any]) -> tuple[list[np.ndarray], Any]:
        """The arrays that the kernel returns, of a launch's arguments as they were given; and the state in the end."""
        # Scalars in the dtypes that the program was traced for; arrays as they are.
        avals = [v.aval for v in self.prepared.program.body.invars]
        arguments = [np.asarray(a, v.dtype) if not np.shape(a) else a for a, v in zip(given, avals, strict=True)]
        # Counts pass 2^31.
        with jax.enable_x64(True):
            outputs, state = self._compiled(*arguments)
        return [np.asarray(output) for output in outputs], jax.tree.map(np.asarray, state)

    @functools.cached_property
    def _compiled(self) -> Callable[..., tuple[list[jax.Array], Any]]:
        return jax.jit(lambda *arguments: self.prepared.watched(arguments, self.watch, self.zeros()))


def prepare_alone(
    kernel: Kernel, nd_range: NDRange, device: Device, given: Sequence[Any], static: Mapping[str, Any]
) -> Prepared:
    """Prepares a launch that is no part of a larger computation."""
    options = Options(None, False, False, platform_of(given))
    return prepare(kernel, nd_range, device, tuple(map(Description.of, given)), kernel.bind_static(static), options)


def prepare(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["Description", ...],
    static: tuple[tuple[str, Hashable], ...],
    options: Options,
) -> Prepared:
    """Checks, traces and analyses a launch; cached, so that equal launches are compiled once."""
    # Static values that are equal may differ in type or sign (4 and 4.0, 0.0 and -0.0); their text does too.
    prepared = _prepared(kernel, nd_range, device, arguments, static, repr(static), options)
    # Each time: the environment may have changed the limits.
    limits.check_memory(prepared.program.local_bytes, prepared.program.private_bytes, device)
    return prepared


@functools.lru_cache(maxsize=512)
def _prepared(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["Description", ...],
    static: tuple[tuple[str, Hashable], ...],
    _spelled: str,
    options: Options,
) -> Prepared:
    traced = traced_program(kernel, nd_range, device, arguments, static)
    plan = analysis.analyse(traced)
    conversions.check(traced, plan)
    return Prepared(traced, plan, _chunk(traced, plan, options), options)


def traced_program(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["Description", ...],
    static: tuple[tuple[str, Hashable], ...],
) -> Program:
    """The program of a launch, after the checks of its sizes."""
    limits.check_sizes(nd_range, device, kernel.work_group_size, kernel.sub_group_size)
    sizes = _geometry(kernel, nd_range, device, arguments)
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak) for a in arguments]
    traced = program.trace(kernel, sizes, structs, static)
    aspects.check(traced.body, device)
    return traced


def _geometry(kernel: Kernel, nd_range: NDRange, device: Device, arguments: Sequence["Description"]) -> Geometry:
    lanes = limits.sub_group_size(device, kernel.sub_group_size)
    largest = max((math.prod(a.shape) for a in arguments), default=0)
    return geometry.cut(nd_range, lanes, kernel.work_group_size, largest, device.max_work_group_size)


def _chunk(traced: Program, plan: Plan, options: Options) -> int:
    """How many groups to emulate together."""
    per_group = analysis.group_bytes(traced, plan)
    budget = options.memory_bytes or _CHUNK_BYTES.get(options.platform, _GPU_CHUNK_BYTES)
    groups = max(traced.geometry.groups, 1)
    # Shards of equal size where there can be such.
    groups = -(-groups // options.shards)
    most = max(1, min(groups, budget // max(per_group, 1)))
    # A divisor of the number of groups needs no second, smaller emission for the rest.
    divisors = (n for n in range(most, most // 2, -1) if groups % n == 0)
    return next(divisors, most)

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

from xeemu import (
    analysis,
    aspects,
    capacity,
    conversions,
    coverage,
    geometry,
    interpreter,
    likeness,
    limits,
    primitives,
    program,
    working,
)
from xeemu.analysis import Plan, Value
from xeemu.arguments import Description, platform_of
from xeemu.device import Device
from xeemu.geometry import Geometry
from xeemu.kernel import Kernel
from xeemu.ndrange import NDRange
from xeemu.observer import Observer
from xeemu.program import Program
from xeemu.updating import MOST_TURNS
from xeemu.values import Chunk

Watch = Callable[[Chunk, Any], Observer]
_Carry = tuple[list[jax.Array], Any]

# A chunk's working set unless the user says otherwise: about a core's cache on a CPU, enough to fill a GPU.
_CHUNK_BYTES = {"cpu": 2 << 20}
# Under observers, whose counters take room as well. How many groups go in lockstep decides how often they try a
# compare-and-exchange again: the counts of `tests/data/validation.csv` are for this many.
_OBSERVED_BYTES = {"cpu": 1 << 20}
_GPU_CHUNK_BYTES = 2 << 30
# What the compiler then takes may be so many times as much, and no more; a user's bound holds as it is.
_MOST_TIMES = 8
_MOST_FITTINGS = 4  # One or two do; what does not grow with the chunk is little.
_INT32_LIMIT = 2**31

# Of a CPU, as few as keep two cores busy: the code grows with them.
_STRANDS = 2
# Groups that at least are emulated together: rather that than long blocks of iterations.
_FEWEST = 4
# Of a launch that would take no more if nothing were fused it is tried whether the compiler needs chunks at all.
_WHOLE_BYTES = 256 << 20

_SMALLER = "Launch a part of the work at a time, on the part of the arrays that it needs"
_DONATE = f"{_SMALLER}; donate=True lets results take the place of arguments that may be lost"
_LESS_WORK = "; memory_bytes= bounds what is there to work with"


@dataclasses.dataclass(frozen=True)
class Options:
    """How a launch is emulated."""

    memory_bytes: int | None
    deterministic: bool
    donate: bool
    platform: str
    mesh: jax.sharding.Mesh | None = None
    observed: bool = False

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


@dataclasses.dataclass(frozen=True)
class Share:
    """The part of a launch's chunks that one of several devices carries out.

    Attributes:
      number: of the device, a traced scalar.
      bounds: the first chunk of each device, and the end; the last device has what is left of a chunk as well.
      origins: for the number of an argument of which the device has a part, the element that it begins with.
    """

    number: jax.Array
    bounds: tuple[int, ...]
    origins: Mapping[int, jax.Array] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class Inner:
    """The groups of a launch but for those at the ends of the group range, which are emulated for themselves.

    Attributes:
      plan: the analysis of them, which knows more.
      first: groups before them; if there are some, there are as many after them.
      count: how many they are.
    """

    plan: Plan
    first: int
    count: int


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """A traced, analysed and checked kernel, ready to be emitted.

    Attributes:
      program: the traced kernel.
      plan: its analysis.
      options: how it is emulated.
      chunk: work-groups that are emulated together.
      turns: the most iterations of a loop that find together what they update (see `updating`).
      unwatched: its analysis for a launch of which nobody sees the accesses; None if that is the same (see `likeness`).
      inner: the groups that are not at an end, if more is known of them.
    """

    program: Program
    plan: Plan
    options: Options
    chunk: int
    turns: int = 1
    unwatched: Plan | None = None
    inner: Inner | None = None

    @property
    def emitted(self) -> Plan:
        """The analysis by which it is emitted if nobody watches."""
        return self.unwatched or self.plan

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

    @functools.cached_property
    def overwritten(self) -> frozenset[int]:
        """The numbers of the arguments whose contents before the launch do not matter."""
        return coverage.overwritten(self.program, self.plan)

    @property
    def chunks(self) -> tuple[int, int]:
        """The number of full chunks, and the groups that are left after them."""
        full = self._regular // self.chunk
        return full, self.program.geometry.groups - self._first - full * self.chunk

    @property
    def _regular(self) -> int:
        """The number of groups that are not emulated for themselves."""
        return self.program.geometry.groups if self.inner is None else self.inner.count

    @property
    def _first(self) -> int:
        """The number of groups before those."""
        return 0 if self.inner is None else self.inner.first

    def _all_chunks(
        self, flat: list[jax.Array], written: list[int], watch: Watch, state: Any, share: Share | None
    ) -> _Carry:
        full, rest = self.chunks
        fresh = frozenset() if self.options.donate or share is not None else self.overwritten
        carry = [lax.empty(flat[k].shape, flat[k].dtype) if k in fresh else flat[k] for k in written], state
        if not jax.tree.leaves(carry) or not self.program.geometry.groups:
            return carry

        def step(first: Any, carry: _Carry, left: int = 0) -> _Carry:
            return self._one_chunk(first, left, flat, written, watch, carry, share.origins if share else {})

        def numbered(k: jax.Array, carry: _Carry) -> _Carry:
            id_type = self.program.geometry.id_type
            return step(id_type.type(self._first) + k.astype(id_type) * id_type.type(self.chunk), carry)

        def at_end(k: jax.Array, carry: _Carry) -> _Carry:
            id_type, groups = self.program.geometry.id_type, self.program.geometry.groups
            return step(k.astype(id_type) * id_type.type(groups - rest), carry, rest)

        if share is not None:
            bounds = np.asarray(share.bounds, np.int32)
            low, high = jnp.asarray(bounds[:-1])[share.number], jnp.asarray(bounds[1:])[share.number]
            carry = lax.fori_loop(low, high, numbered, carry)
            is_last = share.number == len(bounds) - 2
            return lax.cond(is_last, lambda c: step(full * self.chunk, c, rest), lambda c: c, carry) if rest else carry
        if full > 1:
            carry = lax.fori_loop(0, full, numbered, carry)
        elif full:
            carry = step(self._first, carry)
        if self._first:
            return lax.fori_loop(0, 2, at_end, carry)
        return step(full * self.chunk, carry, rest) if rest else carry

    def _one_chunk(
        self,
        first: Any,
        left: int,
        flat: list[jax.Array],
        written: list[int],
        watch: Watch,
        carry: _Carry,
        origins: Mapping[int, jax.Array],
    ) -> _Carry:
        """The memories and the state after a full chunk, or after the groups that are left behind those."""
        memories, state = carry
        arguments = list(flat)
        for k, data in zip(written, memories, strict=True):
            arguments[k] = data
        on_cpu = self.options.platform == "cpu"
        strands = _STRANDS if on_cpu else 1
        deterministic, geometry = self.options.deterministic, self.program.geometry
        spare_bytes = max(0, self.options.most_bytes - self.working_bytes)
        alignment = math.gcd(self._first, geometry.groups - left if self._first and left else self.chunk)
        chunk = Chunk(
            geometry,
            first,
            left or self.chunk,
            on_cpu,
            deterministic,
            self.turns,
            strands,
            alignment,
            spare_bytes=spare_bytes,
        )
        observer = watch(chunk, state)
        # Observers know operations by their plan.
        plan = self.plan if observer.watches else self.emitted
        if self.inner is not None and not left and not observer.watches:
            plan, chunk = self.inner.plan, dataclasses.replace(chunk, inner=True)
        outputs = interpreter.run(self.program, plan, arguments, origins, chunk, observer)
        returned = dict(zip(self.program.outputs, outputs, strict=True))
        return [returned[k] for k in written], observer.close()

    def run(self, given: Sequence[Any]) -> list[np.ndarray]:
        """The arrays that the kernel returns, of a launch's arguments as they were given."""
        with jax.enable_x64(self.program.wide):
            return [np.asarray(output) for output in self.fitted(*given)]

    @functools.cached_property
    def results_bytes(self) -> int:
        """The size of the arrays that the kernel returns."""
        memories = (self.program.arguments[k] for k in set(self.program.outputs))
        return sum(memory.nbytes for memory in memories if memory is not None)

    @functools.cached_property
    def working_bytes(self) -> int:
        """What a chunk takes to work with, as it is foreseen."""
        return self.chunk * working.group_bytes(self.program, self.emitted, self.turns, self.options.observed)

    def need(self, arguments_bytes: int, working_bytes: int | None = None) -> capacity.Need:
        """The memory that a launch takes; what it works with is as analysed unless it is known."""
        results_bytes = 0 if self.options.donate else self.results_bytes
        if working_bytes is None:
            working_bytes = self.working_bytes
        return capacity.Need(arguments_bytes, results_bytes, working_bytes)

    @functools.cached_property
    def whole(self) -> "Prepared | None":
        """The launch as a single chunk, if that may need no more memory; without a loop over chunks all may fuse.

        No copies are made then either of arguments for a loop to change. It is for a CPU alone, and as the user says
        nothing about memory.
        """
        groups, options = self._regular, self.options
        chosen = options.platform != "cpu" or options.memory_bytes is not None or self.chunk >= groups
        if chosen or groups * working.group_bytes(self.program, self.emitted, 1) > _WHOLE_BYTES:
            return None
        dimensions = len(self.program.geometry.group_range)
        fused = working.is_straight(self.program.body, self.inner.plan if self.inner else self.emitted, dimensions)
        return dataclasses.replace(self, chunk=groups) if fused else None

    @property
    def least(self) -> bool:
        """Whether it is emulated by single groups and iterations."""
        return self.chunk == 1 and self.turns == 1

    def smaller(self, part: float) -> "Prepared":
        """The same with about such a part of the working set."""
        if self.chunk == 1:
            return dataclasses.replace(self, turns=max(1, int(self.turns * part)))
        chunk = _divisor(self.program.geometry.groups, max(1, int(self.chunk * part)))
        # The groups at the ends for themselves would not get fewer.
        return dataclasses.replace(self, chunk=chunk, inner=None)

    @functools.cached_property
    def fitted(self) -> "Fitted":
        """`emit` as a compiled function that keeps to the bounds of memory."""
        return Fitted(self)

    @functools.cached_property
    def compiled(self) -> Callable[..., list[jax.Array]]:
        """`emit` as a compiled function."""
        donated = self.program.outputs if self.options.donate else ()
        return jax.jit(self.emit, donate_argnums=donated)


class Fitted:
    """A prepared launch as a function that keeps to the bounds of memory, or refuses before it allocates anything.

    What a chunk takes is analysed beforehand, and known once it is compiled: where that is more than the bound, it is
    compiled again for fewer work-groups at a time.

    Attributes:
      prepared: the launch, in the end with the chunk that fits.
    """

    def __init__(self, prepared: Prepared):
        self.prepared = prepared
        self._working_bytes: int | None = None
        arguments_bytes = sum(memory.nbytes for memory in prepared.program.arguments if memory is not None)
        self._arrays_bytes = arguments_bytes + prepared.results_bytes

    def __call__(self, *given: Any) -> list[jax.Array]:
        """The arrays that the kernel returns.

        Raises:
          MemoryAllocationError: there is not enough memory.
        """
        if self._working_bytes is None:
            self._check(given, None)
            self._working_bytes = self._fit(given)
        if self._working_bytes + self._arrays_bytes >= capacity.LEAST_BYTES:
            self._check(given, self._working_bytes)
        return self.prepared.compiled(*given)

    def _check(self, given: Sequence[Any], working_bytes: int | None) -> None:
        need = self.prepared.need(capacity.absent_bytes(given), working_bytes)
        advice = _SMALLER if self.prepared.options.donate else _DONATE
        capacity.check(need, capacity.device_of(given), advice + _LESS_WORK)

    def _fit(self, given: Sequence[Any]) -> int:
        """What the launch works with, with the chunk that fits."""
        if (whole := self.prepared.whole) is not None:
            whole_bytes = capacity.Measured(whole.compiled).working_bytes(given, whole.results_bytes)
            if whole_bytes <= whole.options.chunk_bytes:
                self.prepared = whole
                return whole_bytes
        most_bytes = self.prepared.options.most_bytes
        taken_bytes = capacity.Measured(self.prepared.compiled).working_bytes(given, self.prepared.results_bytes)
        for _ in range(_MOST_FITTINGS):
            if taken_bytes <= most_bytes or self.prepared.least:
                break
            smaller = self.prepared.smaller(most_bytes / taken_bytes)
            smaller_bytes = capacity.Measured(smaller.compiled).working_bytes(given, smaller.results_bytes)
            if smaller_bytes >= taken_bytes:
                break
            self.prepared, taken_bytes = smaller, smaller_bytes
        return taken_bytes


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
            self._check(arguments)
            outputs, state = self._measured.function(*arguments)
        return [np.asarray(output) for output in outputs], jax.tree.map(np.asarray, state)

    def _check(self, given: Sequence[Any]) -> None:
        """Refuses a run that cannot fit: first what is known from shapes, then with what the observers keep."""
        device, absent_bytes = capacity.device_of(given), capacity.absent_bytes(given)
        capacity.check(self.prepared.need(absent_bytes), device, _SMALLER)
        working_bytes = self._measured.working_bytes(given, self.prepared.results_bytes)
        capacity.check(self.prepared.need(absent_bytes, working_bytes), device, _SMALLER)

    @functools.cached_property
    def _measured(self) -> capacity.Measured:
        return capacity.Measured(jax.jit(lambda *arguments: self.prepared.watched(arguments, self.watch, self.zeros())))


def prepare_alone(
    kernel: Kernel, nd_range: NDRange, device: Device, given: Sequence[Any], static: Mapping[str, Any]
) -> Prepared:
    """Prepares a launch of which somebody will see every access, and that is no part of a larger computation."""
    options = Options(None, False, False, platform_of(given))
    bound = kernel.bind_static(static)
    prepared = prepare(kernel, nd_range, device, tuple(map(Description.of, given)), bound, options)
    return _cut(prepared.program, prepared.plan, dataclasses.replace(options, observed=True), 1)


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
    return _parted(_cut(traced, plan, options, MOST_TURNS, likeness.analyse(traced)))


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


def _cut(traced: Program, plan: Plan, options: Options, turns: int, unwatched: Plan | None = None) -> Prepared:
    """A launch cut in chunks of as many groups, and blocks of as many iterations, as the working set allows."""
    emitted = unwatched or plan
    per_group = working.group_bytes(traced, emitted, turns, options.observed)
    chunk = _chunk(traced, options, options.chunk_bytes // max(per_group, 1))
    if turns == 1 or per_group == working.group_bytes(traced, emitted, 1, options.observed):
        return Prepared(traced, plan, options, chunk, unwatched=unwatched)
    if _FEWEST * per_group > options.chunk_bytes:
        return _cut(traced, plan, options, max(turns // 2, 1), unwatched)
    return Prepared(traced, plan, options, chunk, turns, unwatched)


def _parted(prepared: Prepared) -> Prepared:
    """The launch with the groups at one or both ends for themselves, if more is known of all others then.

    There work-items are often more than elements, and have no neighbours. The program is emitted twice then. A launch
    whose chunks are smaller than a row of groups stays as it is, and so does one that is a single chunk, unless a GPU
    would have to carry out branches of groups at the ends for all of them.
    """
    traced, options, (rows, *others) = prepared.program, prepared.options, prepared.program.geometry.group_range
    row, single, ragged = math.prod(others), prepared.chunk >= traced.geometry.groups, 0 in traced.geometry.ragged
    # Devices share chunks that begin with the first group.
    alone = options.mesh is None and not (single and options.platform == "cpu")
    if not alone or not traced.geometry.groups or rows < 2 or prepared.chunk < row:
        return prepared
    count = analysis.branches if single else analysis.undecided

    def left(plan: Plan) -> int:
        return count(traced.body, plan, len(others) + 1)

    if not left(prepared.emitted) and not ragged:
        return prepared
    but_last = _analysed(prepared, range(rows - 1))
    two_ends = left(but_last) and rows > 2 and not _is_ordered(traced, prepared.plan)
    if two_ends and left(_analysed(prepared, range(1, rows - 1))) < left(but_last):
        return _between(prepared, *_cut_between(rows, min(prepared.chunk // row, rows - 2)))
    if single or (left(but_last) == left(prepared.emitted) and not ragged):
        return prepared
    chunk = _block((rows - 1, *others), prepared.chunk)
    return dataclasses.replace(prepared, chunk=chunk, inner=Inner(but_last, 0, (rows - 1) * row))


def _is_ordered(traced: Program, plan: Plan) -> bool:
    """Whether it may matter in which order groups are emulated.

    Atomic operations tell, and a group that loads what another one stores may even wait for it.
    """
    loaded, stored = set[Value](), set[Value]()
    for body, plan_of_body in analysis.bodies(traced.body, plan):
        for eqn in body.eqns:
            if eqn.primitive is primitives.atomic_p:
                return True
            if eqn.primitive in primitives.ACCESSES:
                memory = plan_of_body.values[eqn.invars[0]]
                (loaded if eqn.primitive is primitives.load_p else stored).add(memory)
    return any(memory.space == "global" for memory in loaded & stored)


def _analysed(prepared: Prepared, rows: range) -> Plan:
    """The analysis of some rows of groups."""
    alike = likeness.analyse(prepared.program, rows) if prepared.unwatched else None
    return alike or analysis.analyse(prepared.program, rows)


def _between(prepared: Prepared, chunk: int, ends: int) -> Prepared:
    """The launch in chunks of some rows of groups, and with as many rows at both ends for themselves, after those."""
    rows, *others = prepared.program.geometry.group_range
    row = math.prod(others)
    inner = Inner(_analysed(prepared, range(ends, rows - ends)), ends * row, (rows - 2 * ends) * row)
    return dataclasses.replace(prepared, chunk=chunk * row, inner=inner)


def _cut_between(rows: int, most: int) -> tuple[int, int]:
    """How many rows make a chunk, `most` or a little less, so that few are left, as many at both ends; and how many."""
    found = []
    for size in range(most, max(most // 2 - 1, 0), -1):
        full = (rows - 2) // size
        found += [(rows - n * size, size) for n in (full, full - 1) if n > 0 and not (rows - n * size) % 2]
    left, size = min(found, key=lambda cut: (cut[0], -cut[1]))
    return size, left // 2


def _chunk(traced: Program, options: Options, most: int) -> int:
    """How many groups to emulate together, if memory allows so many."""
    groups = max(traced.geometry.groups, 1)
    # Shards of equal size where there can be such.
    share = -(-groups // options.shards)
    most = max(1, min(share, most, _most_indexed(traced)))
    return _divisor(share, most) if options.shards > 1 else _block(traced.geometry.group_range, most)


def _block(group_range: Sequence[int], most: int) -> int:
    """As many groups as are whole rows of the group range, or planes of it, or a part of one (see `Chunk.axes`)."""
    row = 1
    for n in reversed(group_range):
        if row * n > most:
            return row * _divisor(n, most // row)
        row *= n
    return max(row, 1)


def _most_indexed(traced: Program) -> int:
    """How many groups' memories 32 bits index, where a program has no more."""
    items = {"local": 1, "private": traced.geometry.items}
    largest = max((a.elements * items[a.space] for a in traced.allocations), default=0)
    return traced.geometry.groups if traced.wide or not largest else (_INT32_LIMIT - 1) // largest


def _divisor(groups: int, most: int) -> int:
    """A divisor of the number of groups, which needs no second, smaller emission for the rest; else `most`."""
    divisors = (n for n in range(most, most // 2, -1) if groups % n == 0)
    return next(divisors, most)

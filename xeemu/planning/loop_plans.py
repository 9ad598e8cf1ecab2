"""Loop plans: how each counted loop is carried out, as a value that is decided on before anything of it is emitted.

Decided from what is known before the program runs: the loop's body, how the memories are stored that it accesses, the
chunk and its target. What a loop changes beside numbers that grow steadily decides:

- memories that are updated at addresses that depend on data: all iterations of a block find what to scatter;
- integers that are combined in any order: all iterations of a block find what to combine;
- memories that are updated in windows: all iterations of a block find what to write there;
- else, if all accesses are windows, iterations are emitted one after the other, by blocks that read and write a window
  of each memory (strip-mining); and if they are not, as they stand.
"""

import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping

from xeemu.ir import ops
from xeemu.ir.program import Value
from xeemu.knowledge import analysis
from xeemu.planning import (
    independent_loops,
    iteration_blocks,
    reduction_loops,
    row_reductions,
    scatter_loops,
    strip_lengths,
)
from xeemu.planning.independent_loops import IndependentUpdate
from xeemu.planning.iteration_blocks import Blocking
from xeemu.planning.iterations import Iteration
from xeemu.planning.loop_accesses import CountedLoop, MovingAccess
from xeemu.planning.reduction_loops import Reduced
from xeemu.planning.row_reductions import Piece, RowReduction
from xeemu.planning.scatter_loops import Scattered
from xeemu.planning.windows import Strip, Window


@dataclasses.dataclass(frozen=True)
class OneByOne:
    """A loop of JAX's, with an iteration of ours in each of its own.

    Attributes:
      unrolled: iterations that JAX writes one after the other.
    """

    unrolled: int


@dataclasses.dataclass(frozen=True, eq=False)
class IterationBlock:
    """Iterations that are emitted together.

    Attributes:
      loads: for the numbers of loads the windows that are read for all of them, of strips the first iteration's.
      updates: for the numbers of updates the windows in which they are made for all of them.
      iteration: how the other accesses of each are made.
      reductions: for the numbers of carries how a row of integers is reduced that they leave (see `row_reductions`).
      shorter: true of a block at the end that has fewer iterations than others.
      strips: of iterations one after the other, for the numbers of loads what is read for all of them.
    """

    loads: Mapping[int, Window]
    updates: Mapping[int, Window]
    iteration: Iteration
    reductions: Mapping[int, RowReduction] = dataclasses.field(default_factory=dict)
    shorter: bool = False
    strips: Mapping[int, Strip] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class BlockedLoop:
    """A loop by blocks.

    Attributes:
      blocking: how it is cut into blocks.
      blocks: for the number of iterations of a block, and of a shorter one at the end, how their accesses are made.
    """

    blocking: Blocking
    blocks: Mapping[int, IterationBlock]

    @property
    def iterations(self) -> int:
        """Iterations of a block."""
        return self.blocking.size


@dataclasses.dataclass(frozen=True, eq=False)
class Check:
    """A load of which the program finds before the loop that it stays within bounds.

    Attributes:
      window: of the first iteration.
      elements: of the memory.
      travel: how far the window moves until the last iteration.
    """

    window: Window
    elements: int
    travel: int


@dataclasses.dataclass(frozen=True, eq=False)
class Versions:
    """A loop in two versions, of which the program takes one before it begins.

    Attributes:
      checks: by their numbers the loads that may be out of bounds; none if there is one version only.
      inside: where all of them stay within bounds, which is where there are none.
      beyond: where one does not.
    """

    checks: Mapping[int, Check]
    inside: BlockedLoop
    beyond: BlockedLoop

    @property
    def blocks(self) -> list[IterationBlock]:
        """All that may be taken."""
        versions = (self.inside, self.beyond) if self.checks else (self.inside,)
        return [block for version in versions for block in version.blocks.values()]


@dataclasses.dataclass(frozen=True, eq=False)
class StripMined:
    """Iterations that are emitted one after the other, by blocks."""

    versions: Versions


@dataclasses.dataclass(frozen=True, eq=False)
class Batched:
    """Iterations of a block that find together what they leave in what the loop carries.

    Attributes:
      updated: what becomes of each carry that does not grow steadily, by its number.
      growth: for the numbers of the others how much they grow.
      versions: of the loop.
      row: of a loop whose iterations have a single element, that which a block is of them (see `row_reductions`).
    """

    updated: Mapping[int, Reduced | IndependentUpdate | Scattered]
    growth: Mapping[int, int]
    versions: Versions
    row: Piece | None = None


LoopPlan = OneByOne | StripMined | Batched


def of_loop(loop: CountedLoop) -> LoopPlan:
    """How a loop is carried out."""
    if loop.watched or loop.stacks:
        return OneByOne(min(strip_lengths.of_loop(loop), loop.chunk.target.watched_iterations))
    if (scattered := _scattered(loop)) is not None:
        return scattered
    iterations = strip_lengths.of_loop(loop)
    if (batched := _batched(loop, streams=iterations > 1)) is not None:
        return batched
    return _strip_mined(loop, iterations) if iterations > 1 else OneByOne(1)


def _by_blocks(
    loop: CountedLoop, iterations: int, block: Callable[[int], IterationBlock], unrolled: int = 1
) -> BlockedLoop:
    """A loop by blocks of so many iterations, each emitted as `block` says for their number."""
    blocking = iteration_blocks.of_length(loop.length, iterations, unrolled)
    return BlockedLoop(blocking, {n: block(n) for n in blocking.sizes})


def _single(version: BlockedLoop) -> Versions:
    return Versions({}, version, version)


# --- Memories updated at addresses that depend on data ---


def _scattered(loop: CountedLoop) -> Batched | None:
    """A loop that only updates memories at such addresses."""
    chunk, updates = loop.chunk, scatter_loops.of_loop(loop.scan, loop.facts)
    if updates is None:
        return None
    iterations = max(1, -(-loop.length // max(1, -(-loop.length // chunk.iterations))))
    numbers = frozenset(n for update in updates.values() for n in update.numbers)
    once = Iteration(at_once=True, scattered=numbers)
    version = _by_blocks(loop, iterations, lambda _: IterationBlock({}, {}, once))
    return Batched(updates, loop.growth, _single(version))


# --- Integers combined in any order, and memories updated in windows ---


def _batched(loop: CountedLoop, streams: bool) -> Batched | None:
    """A loop that does nothing else, if blocks are worth while; `streams` if it could be strip-mined."""
    independent = independent_loops.of_carries(loop)
    numbers = [update.number for update in independent.values()]
    iterations, row = (_independent_iterations(loop), None) if independent else _reduced_iterations(loop)
    updated = _updated(loop, independent) if iterations > 1 and not (independent and streams) else None
    if updated is None:
        return None
    windows = _loaded(loop, iterations)
    doubted = {n: loop.moving[n] for n in windows if not loop.moving[n].proved}
    if streams and loop.chunk.target.gathers_one_by_one and not _all_loaded(loop, windows):
        return None

    def block(kept: Collection[int], own: int) -> IterationBlock:
        moving = {n: loop.moving[n] for n in numbers if n in loop.moving}
        found = {n: independent_loops.window(access, own) for n, access in moving.items()}
        written = {n: window for n, window in found.items() if window is not None}
        once = Iteration(at_once=True, deferred=frozenset(written))
        reductions = _reductions(loop, updated, own)
        return IterationBlock(_loaded(loop, own, kept), written, once, reductions, own < iterations)

    def version(kept: Collection[int]) -> BlockedLoop:
        unrolled = 1 if row or independent else _unrolled(loop)
        return _by_blocks(loop, iterations, functools.partial(block, kept), unrolled)

    inside, beyond = version(windows.keys()), version(windows.keys() - doubted.keys())
    if any(each.updates.keys() != set(numbers) for each in inside.blocks.values()):
        return None
    # What is updated is not emitted twice.
    versions = _single(beyond) if independent else _versions(loop, doubted, inside, beyond)
    return Batched(updated, loop.growth, versions, row)


def _reductions(
    loop: CountedLoop, updated: Mapping[int, IndependentUpdate | Reduced], iterations: int
) -> Mapping[int, RowReduction]:
    """How the rows of integers are reduced that so many iterations combine with carries of a single number."""
    reduced = ((k, loop.body.inputs[k]) for k, update in updated.items() if isinstance(update, Reduced))
    single = ((k, v) for k, v in reduced if loop.facts.values[v].form is not None or _elements(v, loop) == 1)
    figures = loop.chunk.target.reductions
    each = ((k, row_reductions.of_axes((iterations,), (0,), v.dtype, figures)) for k, v in single)
    return {k: reduction for k, reduction in each if reduction is not None}


def _updated(
    loop: CountedLoop, independent: Mapping[int, IndependentUpdate]
) -> Mapping[int, IndependentUpdate | Reduced] | None:
    """What becomes of each carry that does not grow steadily; None if it is anything else."""
    numbers = [update.number for update in independent.values()]
    for n, op in enumerate(loop.body.ops):
        reads = op.name in scatter_loops.READING or n in numbers
        if not (reads if op.name in ops.LANGUAGE else not op.regions):
            return None
    others = [k for k in range(loop.scan.carries) if k not in loop.growth and k not in independent]
    reduced = reduction_loops.of_carries(loop, others, numbers)
    return None if reduced is None else {**independent, **reduced} or None


def _all_loaded(loop: CountedLoop, windows: Collection[int]) -> bool:
    """True if all loads that change from iteration to iteration are among some windows."""
    loads = (n for n, op in enumerate(loop.body.ops) if op.name == ops.LOAD)
    return all(n in windows or loop.moves.get(n) == 0 for n in loads)


def _unrolled(loop: CountedLoop) -> int:
    """How many blocks are emitted one after the other."""
    target = loop.chunk.target
    return max(1, min(target.blocks.unrolled, target.strips.largest_strip // len(loop.body.ops)))


def _independent_iterations(loop: CountedLoop) -> int:
    """Iterations of a block that updates memories in windows; 1 if blocks are not worth while."""
    most = min(_size(loop).iterations(loop.chunk.target.blocks.spread_elements, loop), loop.length)
    return max(1, strip_lengths.evenly(loop.length, most))


def _reduced_iterations(loop: CountedLoop) -> tuple[int, Piece | None]:
    """Iterations of a block, 1 if blocks are not worth while, and the row that they are if each is a single element."""
    target, size = loop.chunk.target, _size(loop)
    figures = target.blocks
    if size.lanes > figures.most_lanes:
        return 1, None
    changed = [v for k, v in enumerate(loop.body.inputs) if k not in loop.growth]
    most = min(size.iterations(figures.reduced_elements, loop), loop.length)
    rows = target.reductions
    if rows is not None and size.lanes == 1 and all(row_reductions.takes(v.dtype) for v in changed):
        fuses = len(changed) == 1 and _fuses(loop)
        if row := row_reductions.longest(loop.length if fuses else most, rows.parts, rows):
            return row.length, row
    return max(1, strip_lengths.evenly(loop.length, most)), None


def _fuses(loop: CountedLoop) -> bool:
    """True if a compiler makes one pass of all that a loop loads, computes and reduces, and needs no memory for it.

    It does so for a single result of elements that lie side by side, within bounds.
    """
    loads = ((n, op) for n, op in enumerate(loop.body.ops) if op.name == ops.LOAD)
    return all(abs(loop.moves.get(n, 2)) < 2 and not analysis.doubted(op, loop.facts) for n, op in loads)


# --- Windows alone ---


def _strip_mined(loop: CountedLoop, iterations: int) -> StripMined:
    """A loop that goes on by so many iterations at a time."""
    accesses = {n: access for n, access in _loads(loop).items() if access.reference.storage.space != "private"}
    doubted = {n: access for n, access in accesses.items() if not access.proved and access.checkable}
    inside = {n: access.trusted() for n, access in accesses.items() if access.proved or n in doubted}
    outside = {n: access for n, access in inside.items() if n not in doubted}
    within = _by_blocks(loop, iterations, lambda n: _consecutive(loop, inside, n))
    beyond = _by_blocks(loop, 1, lambda n: _consecutive(loop, outside, n, gathered=frozenset(doubted)))
    return StripMined(_versions(loop, doubted, within, beyond))


def _consecutive(
    loop: CountedLoop, loads: Mapping[int, MovingAccess], iterations: int, gathered: frozenset[int] = frozenset()
) -> IterationBlock:
    """A block of iterations one after the other, with loads that are known to be within bounds, or not to be."""
    windows = ((n, access.first and access.first.line) for n, access in loads.items())
    in_line = {n: window for n, window in windows if window is not None}
    shared = {n: window for n, window in in_line.items() if iterations > 1 and _is_shared(window, loads[n], iterations)}
    stores = {n: access for n, access in loop.moving.items() if access.op.name == ops.STORE}
    filled = {n: window for n, access in stores.items() if (window := access.filled(iterations)) is not None}
    strips = {n: window.strip(loads[n].move, iterations) for n, window in shared.items()}
    along = frozenset(in_line.keys() - shared.keys())
    iteration = Iteration(False, frozenset(loads), gathered, along, frozenset(filled))
    return IterationBlock(shared, filled, iteration, strips=strips)


def _is_shared(window: Window, access: MovingAccess, iterations: int) -> bool:
    """True if iterations read one window for all of them, which the compiler keeps at hand.

    On a CPU many work-items take up to twice as long with one.
    """
    figures, reach = access.chunk.target.windows, abs(access.along(iterations).reach)
    longest = max(figures.longest_streamed * window.rectangle.sizes[-1], figures.short_streamed)
    return reach <= longest and not access.chunk.amortises_dispatch


# --- What several of them ask ---


def _loads(loop: CountedLoop) -> Mapping[int, MovingAccess]:
    """By number the loads that move steadily, or not at all."""
    found = loop.moving.items()
    return {n: access for n, access in found if access.op.name == ops.LOAD and not access.reference.is_empty}


def _loaded(loop: CountedLoop, iterations: int, some: Collection[int] | None = None) -> Mapping[int, Window]:
    """For loads that move, or some of them, the windows of so many iterations, if they are or may be within bounds."""
    chosen = {n: a for n, a in _loads(loop).items() if a.move and a.first is not None and (some is None or n in some)}
    windows = {n: access.window(iterations) for n, access in chosen.items() if access.proved or access.checkable}
    return {n: window.as_read for n, window in windows.items() if window is not None}


def _versions(
    loop: CountedLoop, doubted: Mapping[int, MovingAccess], inside: BlockedLoop, beyond: BlockedLoop
) -> Versions:
    """A loop in two versions, if the program has to find out which of some loads are within bounds, and one may be."""
    if not doubted:
        return _single(inside)
    checks = {n: _check(access, loop.length) for n, access in doubted.items()}
    may_fit = all(check.window.may_fit(check.elements, check.travel) for check in checks.values())
    return Versions(checks, inside, beyond) if may_fit else _single(beyond)


def _check(access: MovingAccess, length: int) -> Check:
    window = access.first and access.first.line
    assert window is not None
    return Check(window, access.reference.storage.stored_elements, access.move * (length - 1))


@dataclasses.dataclass(frozen=True)
class _Size:
    """How much an iteration computes.

    Attributes:
      lanes: elements of its largest value.
      bytes: of all its values.
    """

    lanes: int
    bytes: int

    def iterations(self, elements: int, loop: CountedLoop) -> int:
        """Iterations of a block of which no value has more elements, and for which there is memory."""
        return min(elements // self.lanes, loop.chunk.spare_bytes // max(self.bytes, 1))


def _elements(value: Value, loop: CountedLoop) -> int:
    """Elements of a value for all groups."""
    return value.size * (loop.chunk.count if loop.facts.values[value].varying else 1)


def _size(loop: CountedLoop) -> _Size:
    facts, chunk = loop.facts, loop.chunk
    values = [v for op in facts.body.ops for v in op.results if not facts.values[v].space]
    sizes = [_elements(v, loop) for v in values]
    lanes = max(1, *sizes) if sizes else 1
    bytes_each = sum(n * v.dtype.itemsize for n, v in zip(sizes, values, strict=True))
    # Windows have elements that are not used.
    widest = chunk.target.windows.widest
    memories = [(facts.body.ops[n].operands[0], move) for n, move in loop.moves.items()]
    bytes_each += sum(min(abs(move), widest * lanes) * m.dtype.itemsize for m, move in memories)
    return _Size(lanes, bytes_each)

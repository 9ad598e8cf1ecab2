"""Chunking: which work-groups of a launch are emulated together, and which of them for themselves."""

import dataclasses
import functools
import math
from collections.abc import Sequence

from xeemu.ir import ops
from xeemu.knowledge import analysis
from xeemu.knowledge.analysis import Known
from xeemu.language.program import Program
from xeemu.launching import working_set
from xeemu.launching.options import Options
from xeemu.launching.tasks import Analysed, Task

_INT32_LIMIT = 2**31


@dataclasses.dataclass(frozen=True, eq=False)
class Inner:
    """The groups of a launch but for those at the ends of the group range, which are emulated for themselves.

    Attributes:
      task: what they carry out, of which more is known.
      first: groups before them; if there are some, there are as many after them. Over a mesh they are a chunk each.
      count: how many they are.
    """

    task: Task
    first: int
    count: int


@dataclasses.dataclass(frozen=True, eq=False)
class ChunkedLaunch:
    """A launch cut in chunks.

    Attributes:
      groups: of the launch.
      chunk: groups that are emulated together.
      iterations: the most iterations of a loop that find together what they update (see `scatter_loops`).
      inner: the groups that are not at an end, if more is known of them.
    """

    groups: int
    chunk: int
    iterations: int = 1
    inner: Inner | None = None

    @property
    def first(self) -> int:
        """Groups before the first full chunk."""
        return 0 if self.inner is None else self.inner.first

    @property
    def regular(self) -> int:
        """Groups that are not emulated for themselves."""
        return self.groups if self.inner is None else self.inner.count

    @property
    def full(self) -> int:
        """Full chunks."""
        return self.regular // self.chunk

    @property
    def remainder(self) -> int:
        """Groups that are left after the full chunks."""
        return self.groups - self.first - self.full * self.chunk

    @property
    def chunks(self) -> int:
        """Full chunks, and the groups at both ends if they are emulated for themselves."""
        return self.full + (2 if self.first else 0)

    def shares(self, count: int, unit: int = 1) -> tuple[int, ...]:
        """The first chunk of each of `count` shares, all but the last of a multiple of `unit` chunks, and the end."""
        units = self.chunks // unit
        return (*(units * k // count * unit for k in range(count)), self.chunks)

    def bounds(self, shares: Sequence[int]) -> tuple[int, ...]:
        """The first full chunk of each share, and the end of the full chunks, from the first chunk of each share."""
        return tuple(min(max(k - 1, 0), self.full) if self.first else k for k in shares)

    def starts(self, shares: Sequence[int]) -> tuple[int, ...]:
        """The first group of each share, and the end, from its first chunk."""
        return tuple(map(self._start, shares))

    def _start(self, chunk: int) -> int:
        if chunk == self.chunks:
            return self.groups
        return self.first + (chunk - 1) * self.chunk if self.first and chunk else chunk * self.chunk

    def alignment(self, remainder: int) -> int:
        """What the first group's number is a multiple of, of a full chunk or of the groups that are left."""
        return math.gcd(self.first, self.groups - remainder if self.first and remainder else self.chunk)

    @property
    def least(self) -> bool:
        """True if groups and iterations are emulated one by one."""
        return self.chunk == 1 and self.iterations == 1

    def smaller(self, part: float, group_range: Sequence[int]) -> "ChunkedLaunch":
        """A cut with about such a part of the working set, of a launch of so many groups along each dimension."""
        most = self.chunk * part
        iterations = self.iterations if most >= 1 else max(1, int(self.iterations * most))
        if self.chunk == 1:
            return dataclasses.replace(self, iterations=iterations)
        # The groups at the ends for themselves would not get fewer.
        return dataclasses.replace(
            self, chunk=_block(group_range, max(1, int(most))), iterations=iterations, inner=None
        )

    def finer(self, part: float, group_range: Sequence[int]) -> "ChunkedLaunch":
        """The same with chunks of about such a part of the groups, whole rows of them, but for those at the ends."""
        row = math.prod(group_range[1:])
        rows, most = self.regular // row, max(1, int(self.chunk * part) // row)
        size = next(n for n in range(most, 0, -1) if not self.first or rows % n == 0)
        return dataclasses.replace(self, chunk=size * row)


def of_launch(analysed: Analysed, options: Options) -> ChunkedLaunch:
    """How a launch is cut of which nobody watches the accesses."""
    return _parted(analysed, options, evenly(analysed, options, options.target.blocks.updates))


def evenly(analysed: Analysed, options: Options, iterations: int) -> ChunkedLaunch:
    """Chunks of as many groups, and blocks of as many iterations, as the working set allows."""
    program, facts = analysed.task.program, analysed.task.facts
    per_group = working_set.group_bytes(facts, iterations)
    chunk = _chunk(program, options, per_group)
    if iterations == 1 or per_group == working_set.group_bytes(facts, 1):
        return ChunkedLaunch(program.geometry.groups, chunk)
    if options.target.fewest_groups * per_group > options.chunk_bytes:
        return evenly(analysed, options, max(iterations // 2, 1))
    return ChunkedLaunch(program.geometry.groups, chunk, iterations)


def without_memories(analysed: Analysed, options: Options) -> ChunkedLaunch:
    """Chunks of as many groups as the working set allows where local and private memories take nothing of it."""
    program, facts = analysed.task.program, analysed.task.facts
    return ChunkedLaunch(program.geometry.groups, _chunk(program, options, working_set.live_bytes(facts, 1)))


def _parted(analysed: Analysed, options: Options, cut: ChunkedLaunch) -> ChunkedLaunch:
    """A cut with the groups at one or both ends for themselves, if more is known of all others then.

    There work-items are often more than elements, and have no neighbours. The program is emitted twice then. A launch
    whose chunks are smaller than a row of groups stays as it is, and so does one that is a single chunk, unless
    branches of groups at the ends would be carried out for all of them.
    """
    program, (rows, *others) = analysed.task.program, analysed.program.geometry.group_range
    row, ragged = math.prod(others), 0 in program.geometry.ragged
    single = cut.chunk * options.shards >= cut.groups
    if (single and options.target.skips_branches) or not cut.groups or rows < 2 or cut.chunk < row:
        return cut
    count = analysis.branches if single else analysis.undecided
    before = count(analysed.task.facts)
    if not before and not ragged:
        return cut
    # Each analysis takes as long as the first one.
    rows_of = functools.cache(lambda first, last: analysed.facts_of(range(first, last)))
    if options.mesh is not None:
        size = 0 if _is_ordered(analysed) else _shared(program, cut, row, options) // row
        between = range(size, rows - size)
        if not size or not between or count(rows_of(size, rows - size)) >= before:
            return cut
        inner = Inner(analysed.of_rows(between), size * row, len(between) * row)
        return dataclasses.replace(cut, chunk=size * row, inner=inner)
    but_last = count(rows_of(0, rows - 1))
    if but_last and rows > 2 and not _is_ordered(analysed) and count(rows_of(1, rows - 1)) < but_last:
        # As many groups in a chunk as the working set allows by what is known of most groups.
        most = options.chunk_bytes // max(working_set.group_bytes(rows_of(1, rows - 1), cut.iterations), 1)
        cut = dataclasses.replace(cut, chunk=max(cut.chunk, min(most, _most_indexed(program))))
        size, ends = _between(rows, min(cut.chunk // row, rows - 2))
        inner = Inner(analysed.of_rows(range(ends, rows - ends)), ends * row, (rows - 2 * ends) * row)
        return dataclasses.replace(cut, chunk=size * row, inner=inner)
    if single or (but_last == before and not ragged):
        return cut
    chunk = _block((rows - 1, *others), cut.chunk)
    return dataclasses.replace(cut, chunk=chunk, inner=Inner(analysed.of_rows(range(rows - 1)), 0, (rows - 1) * row))


def _shared(program: Program, cut: ChunkedLaunch, row: int, options: Options) -> int:
    """How many groups, whole rows of them, make chunks of which devices have equally many, and of each one is little.

    The devices at the ends of the mesh have a chunk each that is emulated for itself. None would do: 0.
    """
    figures, (share, uneven) = options.target, divmod(cut.groups, options.shards)
    if uneven:
        return 0
    enough = max(share // figures.fewest_shard_chunks, figures.fewest_shard_items // program.geometry.items)
    chunk = _divisor(share, max(1, min(cut.chunk, enough)))
    return chunk if share % chunk == 0 and chunk % row == 0 else 0


def _is_ordered(analysed: Analysed) -> bool:
    """True if it may matter in which order groups are emulated.

    Atomic operations tell, and a group that loads what another one stores may even wait for it.
    """
    loaded, stored = set[Known](), set[Known]()
    for facts in analysis.bodies(analysed.facts):
        for op in facts.body.ops:
            if op.name == ops.ATOMIC:
                return True
            if op.name in ops.ACCESSES:
                memory = facts.values[op.operands[0]]
                (stored if ops.changes(op) else loaded).add(memory)
    return any(memory.space == "global" for memory in loaded & stored)


def _between(rows: int, most: int) -> tuple[int, int]:
    """How many rows make a chunk, `most` or a little less, so that few are left, as many at both ends; and how many."""
    found = []
    for size in range(most, max(most // 2 - 1, 0), -1):
        full = (rows - 2) // size
        found += [(rows - n * size, size) for n in (full, full - 1) if n > 0 and not (rows - n * size) % 2]
    remainder, size = min(found, key=lambda cut: (cut[0], -cut[1]))
    return size, remainder // 2


def _chunk(program: Program, options: Options, group_bytes: int) -> int:
    """How many groups to emulate together, of which each takes so much memory."""
    groups = max(program.geometry.groups, 1)
    # Shards of equal size where there can be such.
    share = -(-groups // options.shards)
    most = max(1, min(share, options.chunk_bytes // max(group_bytes, 1), _most_indexed(program)))
    return _divisor(share, most) if options.shards > 1 else _block(program.geometry.group_range, most)


def _block(group_range: Sequence[int], most: int) -> int:
    """As many groups as are whole rows of the group range, or planes of it, or a part of one (see `Chunk.axes`)."""
    row = 1
    for n in reversed(group_range):
        if row * n > most:
            return row * _divisor(n, most // row)
        row *= n
    return max(row, 1)


def _most_indexed(program: Program) -> int:
    """How many groups' memories 32 bits index, where a program has no more."""
    items = {"local": 1, "private": program.geometry.items}
    largest = max((a.elements * items[a.space] for a in program.allocations), default=0)
    return program.geometry.groups if program.wide or not largest else (_INT32_LIMIT - 1) // largest


def _divisor(groups: int, most: int) -> int:
    """A divisor of the number of groups, which needs no second, smaller emission for the rest; else `most`."""
    divisors = (n for n in range(most, most // 2, -1) if groups % n == 0)
    return next(divisors, most)

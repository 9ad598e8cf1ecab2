"""Thread partition: which launches the cores of a CPU share, and in which pieces.

XLA divides each operation of a chunk among the cores, which wait for each other after every one of them, and it takes
the elements of a scatter one after the other, on one core. So cores carry out pieces of a launch, runs of its chunks,
each by itself, if their results can be put together.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from xeemu.devices.host_figures import Threads
from xeemu.knowledge import symbolic_execution, work
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.language.linearity import Allocation
from xeemu.launching import cores, merging, row_ownership
from xeemu.launching.preparation import Prepared


@dataclasses.dataclass(frozen=True)
class ResultParts:
    """The parts of a result that pieces of a launch make.

    Attributes:
      starts: the first index along the result's first dimension of each piece's part, and the end.
      spare: indices that a piece has beyond its part, of a result that a launch overwrites. Else XLA would take what is
        stored to all of it for the result itself, and go along a single axis to compute it.
    """

    starts: tuple[int, ...]
    spare: int

    @functools.cached_property
    def size(self) -> int:
        """Indices that each piece has: those of the largest part."""
        return int(np.diff(self.starts).max()) + self.spare

    @functools.cached_property
    def origins(self) -> tuple[int, ...]:
        """The first index that each piece has; where a part is smaller than others, there may be some before it."""
        return tuple(min(start, self.starts[-1] - self.size + self.spare) for start in self.starts[:-1])

    def slices(self, piece: int) -> tuple[slice, slice]:
        """Where a piece's part is in the result, and in what the piece has."""
        start, end, origin = self.starts[piece], self.starts[piece + 1], self.origins[piece]
        return slice(start, end), slice(start - origin, end - origin)


Combination = ResultParts | merging.Combination


@dataclasses.dataclass(frozen=True, eq=False)
class SharedLaunch:
    """A launch that cores share.

    Attributes:
      prepared: the launch, in chunks that they can share evenly.
      count: threads.
      bounds: the first full chunk of each piece, and the end (see `Share`).
      combinations: for each result how it is made of what pieces have, or what threads have.
    """

    prepared: Prepared
    count: int
    bounds: tuple[int, ...]
    combinations: tuple[Combination, ...]

    @property
    def pieces(self) -> int:
        """How many there are."""
        return len(self.bounds) - 1


def of_launch(prepared: Prepared) -> SharedLaunch | None:
    """How a prepared launch is shared; None where it is not known that this gives the same, and sooner."""
    options, figures = prepared.options, prepared.options.target.threads
    if figures is None or options.mesh is not None or options.donate:
        return None
    expected_ns = _expected_ns(prepared, figures)
    count = min(cores.count(), int(expected_ns / figures.thread_ns))
    assemblies = _assemblies(prepared) if count > 1 else None
    if assemblies is None or expected_ns < figures.moved_ns * assemblies.moved_bytes:
        return None
    # Each thread has a copy of what is merged.
    count = min(count, int(expected_ns / max(figures.merged_ns * assemblies.merged_elements, 1)))
    count = min(count, options.most_bytes // max(2 * assemblies.merged_bytes, 1))
    if count < 2:
        return None
    return _in_pieces(_in_chunks(prepared, count, figures), assemblies, count, expected_ns / figures.piece_ns)


def _expected_ns(prepared: Prepared, figures: Threads) -> float:
    """How long one core would take."""
    program, geometry = prepared.program, prepared.program.geometry
    units = geometry.groups * work.of_body(prepared.facts, figures)
    arguments_bytes = sum(memory.nbytes for memory in program.arguments if memory is not None)
    return figures.unit_ns * units + figures.byte_ns * arguments_bytes


# --- How results come about ---

_Assembly = int | merging.Combination
"""How many indices of a memory each row of groups has for itself (`row_ownership`), or how copies of it are merged."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Assemblies:
    """How the memories come about that a launch writes."""

    each: Mapping[Allocation, _Assembly]

    @property
    def merged_elements(self) -> int:
        return sum(memory.elements for memory, assembly in self.each.items() if not isinstance(assembly, int))

    @property
    def merged_bytes(self) -> int:
        return sum(memory.nbytes for memory, assembly in self.each.items() if not isinstance(assembly, int))

    @property
    def moved_bytes(self) -> int:
        return sum(memory.nbytes for memory, assembly in self.each.items() if isinstance(assembly, int))


def _assemblies(prepared: Prepared) -> _Assemblies | None:
    """How results come about; None if something that is written may depend on the order of the groups."""
    program, each = prepared.program, dict[Allocation, _Assembly]()
    tree = symbolic_execution.of_program(program, prepared.facts)
    operations = list(tree.root.operations())
    for memory in program.written:
        if memory.space == "global":
            assembly = _assembly(memory, [o for o in operations if o.access_site.memory is memory], tree)
            if assembly is None:
                return None
            each[memory] = assembly
    return _Assemblies(each) if all(memory in each for memory in prepared.returned.values()) else None


def _assembly(memory: Allocation, used: Sequence[MemoryOperation], tree: AccessTree) -> _Assembly | None:
    own = row_ownership.rows_per_group_row(memory, used, tree)
    if own is not None:
        return own
    executed = [operation for operation in used if operation.node.boxes]
    if all(operation.access.ordering is None for operation in executed):
        return "stores" if merging.keep_apart(executed, tree) else None
    # Sums of floats depend on the order.
    return merging.only_update(executed) if memory.dtype.kind in "iu" else None


# --- Chunks and pieces ---


def _in_chunks(prepared: Prepared, count: int, figures: Threads) -> Prepared:
    """The launch in chunks that threads can share evenly, and of which each can have one to work with at a time."""
    cut, most_bytes = prepared.cut, prepared.options.most_bytes
    part = min(most_bytes / (count * max(prepared.working_bytes, 1)), cut.chunks / (figures.chunks * count))
    if cut.chunk == 1 or part >= 1:
        return prepared
    if cut.inner is not None:
        finer = cut.finer(part, prepared.program.geometry.group_range)
        if finer.remainder <= finer.chunk:  # the groups at the ends are a chunk each, too
            return dataclasses.replace(prepared, chosen=finer)
    return prepared.smaller(part)


def _in_pieces(prepared: Prepared, assemblies: _Assemblies, count: int, worth: float) -> SharedLaunch | None:
    """A launch in pieces for so many threads, each of which can take as many as the others; it is worth so many."""
    cut, row = prepared.cut, _row(prepared)
    # Parts are of whole rows of groups.
    unit = row // math.gcd(row, cut.chunk) if assemblies.moved_bytes else 1
    count = min(count, cut.chunks // unit)
    if count < 2:
        return None
    shares = cut.shares(count * min(_pieces(prepared, assemblies, count, worth), cut.chunks // unit // count), unit)
    rows = [start // row for start in cut.starts(shares)]
    combinations = [_combination(prepared, k, assemblies, rows) for k in prepared.program.outputs]
    return SharedLaunch(prepared, count, cut.bounds(shares), tuple(combinations))


def _pieces(prepared: Prepared, assemblies: _Assemblies, count: int, worth: float) -> int:
    """How many pieces each of so many threads takes, of a launch that is worth so many."""
    if not assemblies.moved_bytes:
        return 1
    # What all threads have made and not yet moved takes half of the working set.
    fewest = 2 * assemblies.moved_bytes / prepared.options.most_bytes
    return math.ceil(max(fewest, worth / count))


def _combination(prepared: Prepared, number: int, assemblies: _Assemblies, rows: Sequence[int]) -> Combination:
    memory = prepared.returned[number]
    assembly = assemblies.each[memory]
    if not isinstance(assembly, int):
        return assembly
    spare = assembly if number in prepared.overwritten else 0
    return ResultParts(tuple(min(assembly * k, memory.shape[0]) for k in rows), spare)


def _row(prepared: Prepared) -> int:
    """Groups of a row along the first dimension."""
    return math.prod(prepared.program.geometry.group_range[1:])

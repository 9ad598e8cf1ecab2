"""Instructions: what a compiler is taken to make of the operations of a program, by class, for a sub-group.

Modelled, not counted. Taken to be free: constants and what follows from them, moves between registers, bools combined
with bools, what is the same for the whole launch, and in an unrolled loop an address that grows by a constant; in
another loop that is added to it, word by word. What nothing uses is not computed. Every other access takes an
instruction for its address, a kernel one for each id that it uses, one for its end, and what its device's compiler puts
before it. A product that only goes into sums is a multiply-add; of equal operations on equal values one is carried out;
what a loop does not change is computed before it; the lesser of two numbers is one instruction (see `selections`), on
some devices logic or the sum of three integers too (see `ternary`); of 64-bit integers only those words are computed
that something needs. For everything else see `operations`. Instructions that access memory are counted elsewhere: they
are the requests.
"""

import dataclasses
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

from xeemu.cost import chains, contraction, demanded_words, operations, register_reads, selections, ternary, unrolling
from xeemu.cost.chains import Chain
from xeemu.cost.uses import Uses
from xeemu.devices.device import Device
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.knowledge.access_tree import Key, MemoryOperation, Node
from xeemu.knowledge.analysis import Facts
from xeemu.language.geometry import Geometry

# The counter's step, its comparison, and the branch.
_ITERATION = {"i32": 2.0, "control": 1.0}
_BRANCH = {"control": 1.0}
# From the number of an element to its address: a multiply-add, or a shift and an addition that are one. Others need not
# wait for it. Addresses of global memory have two words.
_ADDRESS = 1.0
_ADDRESS_WORDS = 2.0


CHAIN = "chain"
"""Beside the classes: how long the `chains` of them are."""

Counter = dict[str, float]


START = -1
"""The number of a body's section before its first region."""


class Counted(NamedTuple):
    """The instructions of a program.

    Attributes:
      sections: of a sub-group in one execution of each section.
      side_by_side: of the loops that are unrolled, by the facts of their bodies, how many iterations are side by side.
    """

    sections: dict[Key, Counter]
    side_by_side: dict[Facts, int]


def of_sections(
    root: Node,
    geometry: Geometry,
    device: Device,
    unused: Set[Key],
    repeated: Mapping[Key, Value],
    in_registers: Set[Key],
) -> Counted:
    """The instructions of a sub-group in one execution of each section of the body of each call path.

    A section is what stands between two marks of which work-items are active, and named by the number of the first;
    without what inner bodies do. Barriers are counted for each sub-group too, and so is the `CHAIN`.

    Args:
      root: the kernel.
      geometry: the sizes of the launch.
      device: the modelled device.
      unused: loads that are not made, since nobody uses them.
      repeated: loads that are not made, each with the value that it would give once more.
      in_registers: accesses to private memories that need no memory, and so no address.
    """
    found = Counted({(node.facts, START): {} for node in root.nodes()}, {})
    _Count(geometry, device, unused, repeated, in_registers | repeated.keys() | unused, *found).kernel(
        root, _before(root, device, unused)
    )
    return found


def _before(root: Node, device: Device, unused: Set[Key]) -> float:
    """Instructions of a kernel before its own: what registers begin with, and the arguments that it uses."""
    accessed = {
        o.access_site.memory
        for o in root.operations()
        if o.access_site.memory.space == "global" and o.key not in unused
    }
    used = {value for op in root.body.ops for value in op.used}
    numbers = [value for value in root.body.inputs if value in used and not root.facts.values[value].space]
    arguments = (len(accessed) + len(numbers)) * (device.argument_instructions or 0)
    return arguments + (device.prologue_instructions or 0)


@dataclasses.dataclass(frozen=True, eq=False)
class _Body:
    """A body whose operations are counted in order, and what of them is no instruction of its own.

    Attributes:
      node: the body.
      fused, taking: see `contraction.taken_in`.
      twice: see `register_reads.read_twice`.
      free: the `id`s of operations that take no instruction.
      folded: of those that compilers carry out once for several iterations.
      first: of equal operations the first, by what they do.
      counted: what was counted of that, which the first is not where it is no instruction of its own.
      addresses: that were computed, each by its memory and index.
      chain: so far.
      lengths: how much longer each section made it.
    """

    node: Node
    fused: Set[int]
    taking: Set[int]
    twice: Mapping[int, int]
    free: Set[int]
    folded: Set[int]
    first: dict[Any, Op] = dataclasses.field(default_factory=dict)
    counted: set[Any] = dataclasses.field(default_factory=set)
    addresses: set[Any] = dataclasses.field(default_factory=set)
    chain: Chain = dataclasses.field(init=False)
    lengths: dict[int, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "chain", Chain(self.node))

    @classmethod
    def of(
        cls, node: Node, carried_out: Sequence[Op], is_unrolled: bool, geometry: Geometry, device: Device
    ) -> "_Body":
        uses = Uses(node.body, carried_out)
        fused, taking = contraction.taken_in(node.facts, uses)
        twice = register_reads.read_twice(carried_out, fused, geometry.sub_group_size)
        free = selections.free(uses)
        if device.ternary_integers:
            free = free | ternary.parts(uses, fused)
        if not is_unrolled:
            return cls(node, fused, taking, twice, free, frozenset())
        return cls(node, fused, taking, twice, free | unrolling.counting(node), unrolling.folded(node, uses))

    def is_part(self, op: Op) -> bool:
        """True of an operation that is no instruction of its own, but part of another's."""
        return id(op) in self.fused or id(op) in self.free

    def instructions(
        self, op: Op, words: int, in_loop: bool, geometry: Geometry, device: Device
    ) -> Mapping[str, float]:
        """What an operation takes of which so many words are needed."""
        if self.is_part(op):
            return {}
        found = operations.of_op(op, self.node.facts, geometry, device, words, in_loop)
        found = operations.multiplying(op, found, words) if id(op) in self.taking else found
        found = register_reads.divided(found, self.twice[id(op)]) if id(op) in self.twice else found
        return {name: n / unrolling.UNROLLED for name, n in found.items()} if id(op) in self.folded else found


@dataclasses.dataclass(frozen=True, eq=False)
class _Count:
    """Counts the operations of nodes, each where it has to be carried out.

    The *level* of a value is the number of loops around the place where it can be computed: an operation in an inner
    loop on values of an outer one is carried out there.
    """

    geometry: Geometry
    device: Device
    unused: Set[Key]
    repeated: Mapping[Key, Value]
    without_address: Set[Key]
    counted: dict[Key, Counter]
    side_by_side: dict[Facts, int]
    _sections: dict[Node, int] = dataclasses.field(default_factory=dict)  # each node's, as far as it was walked
    _unrolled: dict[Node, bool] = dataclasses.field(default_factory=dict)  # by loop
    _ids: set[tuple[str, int]] = dataclasses.field(default_factory=set)  # those read, each with its dimension
    _equal: dict[Value, Value] = dataclasses.field(default_factory=dict)  # values, each with an equal one before it

    def kernel(self, root: Node, before: float) -> None:
        """Counts a kernel, with so many instructions before its own; it reads each id once, and ends."""
        self.node(root, {})
        self._add(root, {"address": before + len(self._ids), "control": 1.0}, 0.0)

    def node(self, node: Node, inputs: Mapping[Any, int]) -> None:
        depth = _depth(node)
        levels: dict[Any, int] = {v: inputs.get(v, depth) for v in node.body.all_inputs}
        needed = demanded_words.needed(node.facts, self.unused)
        carried_out = self._carried_out(node, needed)
        body = _Body.of(node, carried_out, self._is_unrolled(node), self.geometry, self.device)
        if unrolling.is_parted(node):
            self._sections[node] = min(node.regions)
        for number, op in enumerate(node.body.ops):
            if number in node.regions:
                self._sections[node] = number
            level = max([levels.get(a, 0) for a in op.used], default=0)  # constants have none
            for inner in _inner(node, number) if op.regions else ():
                self.node(inner, _inner_levels(inner, op, levels, depth))
            pinned = op.name in ops.LANGUAGE or control.of(op) is not None
            level = depth if pinned and op.operands else level
            levels |= dict.fromkeys(op.results, level)
            key = self._key(op)
            equal = body.first.setdefault(key, op)
            if equal is not op:
                self._equal.update(zip(op.results, map(self._same, equal.results), strict=True))
            before = self.repeated.get((node.facts, number))
            if before is not None and before is not op.results[0]:
                self._equal[op.results[0]] = self._same(before)
            if op.name in ops.ACCESSES and (node.facts, number) not in self.without_address:
                self._access(op, body, depth, levels)
            words = max([needed.get(v, 0) for v in op.results], default=1)
            if op.name in (ops.LOCAL_ID, ops.GROUP_ID) and words:
                self._ids.update(_ids(op, self.geometry))
            is_nothing = key in body.counted or not (words or pinned) or (pinned and not operations.is_counted(op))
            if not (is_nothing or body.is_part(op)):
                body.counted.add(key)
            self._op(op, equal, body, level, 0 if is_nothing else words)
        self._end(body)

    def _access(self, op: Op, body: _Body, depth: int, levels: Mapping[Any, int]) -> None:
        """Counts the address of an access."""
        if address := self._address(op, body.node, depth, levels):
            place = (op.operands[0], *map(self._same, ops.indices(op)))
            self._add(body.node, {} if place in body.addresses else {"address": address}, 0.0)
            body.addresses.add(place)

    def _op(self, op: Op, equal: Op, body: _Body, level: int, words: int) -> None:
        """Counts an operation of which so many words are needed; of one that is nothing, what waits for it."""
        found = body.instructions(op, words, level > 0, self.geometry, self.device) if words else {}
        waiting = operations.in_turn(op, found, self.device)
        length = chains.length_of(waiting, self.device) / operations.independent(op, self.geometry)
        outer = _outer(body.node, level)
        if outer is not body.node:
            self._add(outer, found, length)
            return
        self._add(body.node, found, 0.0)
        section, before = self._sections.get(outer, START), body.chain.length
        body.chain.add(op, length, equal)
        body.lengths[section] = body.lengths.get(section, 0.0) + body.chain.length - before

    def _end(self, body: _Body) -> None:
        """What it takes to go through a branch or an iteration, and how many of these are side by side."""
        node, chain = body.node, body.chain
        if node.kind == "iteration" and self._is_unrolled(node):
            self.side_by_side[node.facts] = unrolling.side_by_side(self._size(node), self.device)
        branches = any(operations.branches(op, self.device) for op in node.body.ops)
        mixed = 1 if branches else self.side_by_side.get(node.facts, 1)
        share = chain.each(mixed) / chain.length if chain.length else 1.0
        for section, length in body.lengths.items():
            self._sections[node] = section
            self._add(node, {}, share * length)
        self._sections[node] = min(node.regions, default=START)
        overhead = self._overhead(node)
        self._add(node, overhead, chains.length_of(overhead, self.device))

    def _size(self, node: Node) -> float:
        """The instructions of an iteration with those of the loops in it, and its accesses."""
        sections = (each for (facts, _), each in self.counted.items() if facts is node.facts)
        total = sum(number for each in sections for name, number in each.items() if name != CHAIN)
        for step in node.steps:
            if isinstance(step, Node):
                total += self._size(step) * (1 if step.iterations is None else step.iterations)
            elif isinstance(step, MemoryOperation):
                total += step.key not in self.unused and step.access_site.memory.space != "private"
        return total

    def _same(self, value: Value) -> Value:
        """A value, or the first one that is equal to it."""
        return self._equal.get(value, value)

    def _key(self, op: Op) -> Any:
        """Equal for operations that do the same with equal values."""
        if op.name in ops.LANGUAGE and ops.of(op).kind is not Kind.ID:
            return id(op)
        return (
            op.name,
            str(op.attributes),
            op.regions,
            tuple([chains.of_literal(self._same(value)) for value in op.used]),
        )

    def _address(self, op: Op, node: Node, depth: int, levels: Mapping[Any, int]) -> float:
        """Instructions for the address of an access: none of a constant place, nor where it grows by a constant in an
        unrolled loop; in another loop what it grows by is added to it, word by word."""
        facts = node.facts
        indices = [value for value in ops.indices(op) if demanded_words.constant(value, facts) is None]
        varied = [value for value in indices if not isinstance(value, Constant)]
        if not indices:
            return 0.0
        if not depth or any(facts.values[value].form is None for value in varied):
            return _ADDRESS
        if self._is_unrolled(node) or max((levels.get(value, 0) for value in varied), default=0) < depth:
            return 0.0
        return _ADDRESS_WORDS if facts.values[op.operands[0]].space == "global" else 1.0

    def _overhead(self, node: Node) -> Counter:
        """What it takes to go through a branch or an iteration."""
        if node.kind == "branch":
            return dict(_BRANCH)
        if node.kind != "iteration":
            return {}
        tested = self.counted[unrolling.test_of(node).facts, START] if unrolling.is_parted(node) else {}
        found = {name: number for name, number in tested.items() if name != CHAIN}
        tested.clear()  # who has left the loop tests no more
        shared = self.side_by_side.get(node.facts, 1)
        each = _ITERATION if shared > 1 or not found else found | _BRANCH
        return {name: number / shared for name, number in each.items()}

    def _is_unrolled(self, node: Node) -> bool:
        """True if the loop that a node stands in is unrolled; not where it stands in none."""
        loop: Node | None = node
        while loop is not None and loop.kind not in ("iteration", "test"):
            loop = loop.parent
        if loop is not None and loop not in self._unrolled:
            self._unrolled[loop] = unrolling.may_be(loop, self.device) and not unrolling.synchronises(loop)
        return loop is not None and self._unrolled[loop]

    def _carried_out(self, node: Node, needed: Mapping[Value, int]) -> list[Op]:
        """The operations of a body that are there for something."""
        made = ((number, op) for number, op in enumerate(node.body.ops) if (node.facts, number) not in self.unused)
        return [op for _, op in made if op.name in ops.LANGUAGE or op.regions or any(map(needed.get, op.results))]

    def _add(self, node: Node, instructions: Mapping[str, float], length: float) -> None:
        """Adds instructions, for which a sub-group waits so long."""
        total = self.counted.setdefault((node.facts, self._sections.get(node, START)), {})
        for name, number in {**instructions, CHAIN: length}.items():
            if number:
                total[name] = total.get(name, 0.0) + number


def _ids(op: Op, geometry: Geometry) -> set[tuple[str, int]]:
    """The ids that an operation reads, each with its dimension: for a linear id, all; but none that is always 0."""
    sizes = geometry.local_range if op.name == ops.LOCAL_ID else geometry.group_range
    asked = op.attributes["dim"]
    return {(op.name, dim) for dim, size in enumerate(sizes) if size > 1 and asked in (None, dim)}


def _depth(node: Node) -> int:
    """Loops around what a node does."""
    return (0 if node.parent is None else _depth(node.parent)) + (node.kind in ("iteration", "test"))


def _outer(node: Node, level: int) -> Node:
    """The nearest node around one, or itself, with no more loops around than `level`."""
    while _depth(node) > level and node.parent is not None:
        node = node.parent
    return node


def _inner(node: Node, number: int) -> list[Node]:
    """The nodes of a structured operation; of a loop that was walked iteration by iteration, the first."""
    found: dict[Any, Node] = {}
    for step in node.steps:
        if isinstance(step, Node) and step.number == number:
            found.setdefault((step.kind, step.facts), step)
    return list(found.values())


def _inner_levels(inner: Node, op: Op, levels: Mapping[Any, int], depth: int) -> dict[Any, int]:
    """The levels of an inner node's inputs: what a loop changes is of its own level."""
    used = [0 if isinstance(a, Constant) else levels.get(a, 0) for a in op.used]
    found = next(k for k, region in enumerate(op.regions) if region is inner.body)
    given = control.region_operands(op, used, found)
    if op.name in ("scan", "while"):
        given = _loop_levels(len(inner.body.captures), op.regions[-1], given, depth)
    return dict(zip(inner.body.all_inputs, given, strict=True))


def _loop_levels(seen: int, body: Region, given: Sequence[int], depth: int) -> list[int]:
    """Levels with the carries and elements of a loop one deeper, but for the carries that it leaves as they are."""
    kept = [v is out for v, out in zip(body.inputs, body.outputs, strict=False)]
    carried = [level if k < len(kept) and kept[k] else depth + 1 for k, level in enumerate(given[seen:])]
    return [*given[:seen], *carried]

"""Instructions: what a compiler is taken to make of the operations of a program, by class, for a sub-group.

Modelled, not counted. Taken to be free: constants and what follows from them, moves between registers, bools combined
with bools, what is the same for the whole launch, and in an unrolled loop an address that grows by a constant; in
another loop that is added to it, word by word. What nothing uses is not computed. Every other access takes an
instruction for its address, a kernel one for each id that it uses, one for its end, and what its device's compiler puts
before it. A product that only goes into sums is a multiply-add; of equal operations on equal values one is carried out;
what a loop does not change is computed before it; the lesser of two numbers is one instruction (see `selections`);
of 64-bit integers only the words are computed that something needs. Everything else takes an instruction for each
element of a work-item, some several. Instructions that access memory are counted elsewhere: they are the requests.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.cost import algorithms, contraction, demanded_words, register_reads, selections, unrolling
from xeemu.devices.device import Device
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.table import Kind
from xeemu.knowledge.access_tree import Key, Meeting, Node
from xeemu.knowledge.analysis import Facts
from xeemu.language import primitives
from xeemu.language.geometry import Geometry
from xeemu.language.orders import ACQUIRING, RELEASING

# Other types are computed as float32.
_FLOATS = {"float64": "f64", "float16": "f16"}

# The counter's step, its comparison, and the branch.
_ITERATION = {"i32": 2.0, "control": 1.0}
_BRANCH = {"control": 1.0}
# From the number of an element to its address: a multiply-add, or a shift and an addition that are one. Others need not
# wait for it. Addresses of global memory have two words.
_ADDRESS = 1.0
_ADDRESS_WORDS = 2.0
# By which a quotient or a root of doubles is made of an approximation, at least: in listings of sm_90 code seven.
_REFINING = 7
_WITHOUT_RESULT = ("barrier", "fence", algorithms.EXCHANGE)

# Of Threefry-2x32, by which JAX draws random bits, for a word: 20 rounds of an addition, a rotation and an exclusive
# or, with 18 additions of keys, make two (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
_RANDOM_BITS = 39

CHAIN = "chain"
"""Beside the classes: the instructions that wait for one another, which those of different elements do not."""

Counter = dict[str, float]


START = -1
"""The number of a body's section before its first region."""


def of_sections(root: Node, geometry: Geometry, device: Device, unused: Set[Key] = frozenset()) -> dict[Key, Counter]:
    """The instructions of a sub-group in one execution of each section of the body of each call path.

    A section is what stands between two marks of which work-items are active, and named by the number of the first;
    without what inner bodies do. Barriers are counted for each sub-group too, and so is the `CHAIN`.

    Args:
      root: the kernel.
      geometry: the sizes of the launch.
      device: the modelled device.
      unused: loads that are not made.
    """
    counted: dict[Key, Counter] = {(node.facts, START): {} for node in root.nodes()}
    _Count(geometry, device, unused, counted).kernel(root, _before(root, device, unused))
    return counted


def _before(root: Node, device: Device, unused: Set[Key]) -> float:
    """Instructions of a kernel before its own: what registers begin with, and the arguments that it uses."""
    accessed = {o.place.memory for o in root.operations() if o.place.memory.space == "global" and o.key not in unused}
    used = {value for op in root.body.ops for value in op.used}
    numbers = [value for value in root.body.inputs if value in used and not root.facts.values[value].space]
    arguments = (len(accessed) + len(numbers)) * (device.argument_instructions or 0)
    return arguments + (device.prologue_instructions or 0)


@dataclasses.dataclass(frozen=True, eq=False)
class _Count:
    """Counts the operations of nodes, each where it has to be carried out.

    The *level* of a value is the number of loops around the place where it can be computed: an operation in an inner
    loop on values of an outer one is carried out there.
    """

    geometry: Geometry
    device: Device
    unused: Set[Key]
    counted: dict[Key, Counter]
    _sections: dict[Node, int] = dataclasses.field(default_factory=dict)  # each node's, as far as it was walked
    _unrolled: dict[Node, bool] = dataclasses.field(default_factory=dict)  # by loop
    _ids: set[tuple[str, int]] = dataclasses.field(default_factory=set)  # those read, each with its dimension
    _equal: dict[Value, Value] = dataclasses.field(default_factory=dict)  # values, each with an equal one before it

    def kernel(self, root: Node, before: float) -> None:
        """Counts a kernel, with so many instructions before its own; it reads each id once, and ends."""
        self.node(root, {})
        self._add(root, {"address": before + len(self._ids), "control": 1.0}, math.inf)

    def node(self, node: Node, inputs: Mapping[Any, int]) -> None:
        depth = _depth(node)
        levels: dict[Any, int] = {v: inputs.get(v, depth) for v in node.body.taken}
        needed = demanded_words.needed(node.facts, self.unused)
        carried_out = self._carried_out(node, needed)
        fused, taking = contraction.taken_in(node.facts, carried_out)
        free = selections.free(node.body, carried_out)
        twice = register_reads.read_twice(carried_out, fused, self.geometry.sub_group_size)
        first: dict[Any, Op] = {}
        counted: set[Any] = set()
        if unrolling.is_parted(node):
            self._sections[node] = min(node.regions)
        for number, op in enumerate(node.body.ops):
            if number in node.regions:
                self._sections[node] = number
            level = max((levels.get(a, 0) for a in op.used if not isinstance(a, Constant)), default=0)
            for inner in _inner(node, number):
                self.node(inner, _inner_levels(inner, op, levels, depth))
            pinned = op.name in ops.LANGUAGE or control.of(op) is not None
            level = depth if pinned and op.operands else level
            levels |= dict.fromkeys(op.results, level)
            key = self._key(op)
            equal = first.setdefault(key, op)
            if equal is not op:
                self._equal.update(zip(op.results, map(self._same, equal.results), strict=True))
            made = op.name in ops.ACCESSES and (node.facts, number) not in self.unused
            if made and (address := self._address(op, node, depth, levels)):
                place = (op.operands[0], *map(self._same, ops.indices(op)))
                self._add(node, {} if place in counted else {"address": address}, math.inf)
                counted.add(place)
            words = max((needed.get(v, 0) for v in op.results), default=1)
            if op.name in (ops.LOCAL_ID, ops.GROUP_ID) and words:
                self._ids.update(_ids(op, self.geometry))
            if pinned and not _is_counted(op):
                continue
            if key in counted or id(op) in fused or id(op) in free or not (words or pinned):
                continue
            counted.add(key)
            found = of_op(op, node.facts, self.geometry, words, level > 0)
            found = _multiplying(op, found, words) if id(op) in taking else found
            found = register_reads.divided(found, twice[id(op)]) if id(op) in twice else found
            self._add(_outer(node, level), found, _independent(op, self.geometry))
        self._sections[node] = min(node.regions, default=START)
        self._add(node, self._overhead(node), 1)

    def _same(self, value: Value) -> Value:
        """A value, or the first one that is equal to it."""
        return self._equal.get(value, value)

    def _key(self, op: Op) -> Any:
        """Equal for operations that do the same with equal values."""
        if op.name in ops.LANGUAGE and ops.of(op).kind is not Kind.ID:
            return id(op)
        return op.name, str(op.attributes), op.regions, tuple(_of_literal(self._same(value)) for value in op.used)

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
        if found := {name: number for name, number in tested.items() if name != CHAIN}:
            tested.clear()  # who has left the loop tests no more
            return found | _BRANCH
        shared = unrolling.UNROLLED if self._is_unrolled(node) else 1
        return {name: number / shared for name, number in _ITERATION.items()}

    def _is_unrolled(self, node: Node) -> bool:
        """Whether the loop that a node stands in is unrolled; not where it stands in none."""
        loop: Node | None = node
        while loop is not None and loop.kind not in ("iteration", "test"):
            loop = loop.parent
        if loop is not None and loop not in self._unrolled:
            self._unrolled[loop] = unrolling.may_be(loop, self.device) and not _meets(loop)
        return loop is not None and self._unrolled[loop]

    def _carried_out(self, node: Node, needed: Mapping[Value, int]) -> list[Op]:
        """The operations of a body that are there for something."""
        made = ((number, op) for number, op in enumerate(node.body.ops) if (node.facts, number) not in self.unused)
        return [op for _, op in made if op.name in ops.LANGUAGE or op.regions or any(map(needed.get, op.results))]

    def _add(self, node: Node, instructions: Mapping[str, float], independent: float) -> None:
        """Adds instructions, of which so many need not wait for one another."""
        total = self.counted.setdefault((node.facts, self._sections.get(node, START)), {})
        waiting = sum(number for name, number in instructions.items() if name not in _WITHOUT_RESULT)
        for name, number in {**instructions, CHAIN: waiting / independent}.items():
            if number:
                total[name] = total.get(name, 0.0) + number


def _ids(op: Op, geometry: Geometry) -> set[tuple[str, int]]:
    """The ids that an operation reads, each with its dimension: for a linear id, all; but none that is always 0."""
    sizes = geometry.local_range if op.name == ops.LOCAL_ID else geometry.group_range
    asked = op.attributes["dim"]
    return {(op.name, dim) for dim, size in enumerate(sizes) if size > 1 and asked in (None, dim)}


def _independent(op: Op, geometry: Geometry) -> int:
    """Elements of a work-item that an operation computes without one another."""
    values = (*op.operands, *op.results)
    if not values or ops.of(op).is_reduction:
        return 1
    return max(1, _elements(max((value.shape for value in values), key=math.prod), geometry))


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
    given = control.given(op, used, found)
    if op.name in ("scan", "while"):
        given = _loop_levels(len(inner.body.seen), op.regions[-1], given, depth)
    return dict(zip(inner.body.taken, given, strict=True))


def _loop_levels(seen: int, body: Region, given: Sequence[int], depth: int) -> list[int]:
    """Levels with the carries and elements of a loop one deeper, but for the carries that it leaves as they are."""
    kept = [v is out for v, out in zip(body.inputs, body.outputs, strict=False)]
    carried = [level if k < len(kept) and kept[k] else depth + 1 for k, level in enumerate(given[seen:])]
    return [*given[:seen], *carried]


def _meets(loop: Node) -> bool:
    """Whether work-items meet in a loop."""
    steps = (step for inner in loop.nodes() for step in inner.steps)
    return any(isinstance(step, Meeting) and step.op.name in ops.LANGUAGE for step in steps)


def _of_literal(value: Value) -> Any:
    """Equal for literals that are; other values are themselves."""
    if isinstance(value, Constant) and value.is_literal:
        return str(value.array), str(value.dtype), value.shape
    return value


def _multiplying(op: Op, found: Mapping[str, float], words: int) -> Mapping[str, float]:
    """The instructions of a sum that takes in a product: of integers, those of the product."""
    words = min(words, demanded_words.of_dtype(op.results[0].dtype))
    return _product(found["i32"] / words, words) if set(found) == {"i32"} else found


def _product(elements: float, words: int) -> Mapping[str, float]:
    return {"i64mul" if words == 2 else "i32mul": float(elements)}


def _is_counted(op: Op) -> bool:
    """Whether an operation of the language is more than a request to memory."""
    return ops.of(op).kind in (Kind.ORDER, Kind.COLLECTIVE) or op.name == ops.ATOMIC


def of_op(op: Op, facts: Facts, geometry: Geometry, words: int = 2, in_loop: bool = False) -> Mapping[str, float]:
    """Instructions by class that a sub-group executes for an operation, without the program's requests to memory.

    Args:
      op: the operation.
      facts: the analysis of its call path.
      geometry: the sizes of the launch.
      words: 32-bit words of an integer result that are needed.
      in_loop: whether it is carried out in every iteration of a loop.
    """
    if op.name == ops.BARRIER:
        return {"barrier": 1.0} if op.attributes["level"] == "group" else {}
    if op.name in (ops.FENCE, ops.ATOMIC):
        return {"fence": float(fences)} if (fences := _fences(op, geometry)) else {}
    if op.name == ops.COLLECTIVE:
        of = op.operands[0]
        return algorithms.of_collective(
            op.attributes["collective"], _elements(of.shape, geometry), demanded_words.of_dtype(of.dtype), geometry
        )
    name = op.name
    traits = ops.of(op)
    if op.name in ops.LANGUAGE or traits.free or not op.results:
        return {}
    known = facts.values.get(op.results[0])
    if known is not None and known.form is not None and (in_loop or not known.varying):
        return {}
    if _follows(op, facts) or op.merges:
        return {}
    shape = max((a.shape for a in (*op.operands, *op.results)), key=math.prod)
    elements = _elements(shape, geometry)
    if name.startswith("random_"):
        return _random(op, elements)
    if traits.shuffles or _is_group_reduction(op, geometry):
        return algorithms.of_reduction(elements, geometry, _is_group_reduction(op, geometry))
    return _arithmetic(op, facts, elements, words)


def _random(op: Op, elements: int) -> Mapping[str, float]:
    """Instructions of an operation of `jax.random`, as if its keys were those of Threefry."""
    if op.name in ("random_wrap", "random_unwrap"):
        return {}
    made = op.results[0].dtype
    words = 2 if jax.dtypes.issubdtype(made, jax.dtypes.prng_key) else demanded_words.of_dtype(made)
    return {"i32": float(_RANDOM_BITS * words * elements)}


def _fences(op: Op, geometry: Geometry) -> int:
    """Fences for the order of a fence or atomic operation: IGC puts one before a release, one after an acquire."""
    if op.name == ops.FENCE:
        return int(op.attributes["ordering"].order != "relaxed")
    access: primitives.Access = op.attributes["access"]
    assert access.ordering is not None
    each = (access.ordering.order in RELEASING) + (access.ordering.order in ACQUIRING)
    return each * _elements(access.shape, geometry)


def _follows(op: Op, facts: Facts) -> bool:
    """Whether the result is a constant, or one of the operands, because other operands are constants."""
    if demanded_words.constant(op.results[0], facts) is not None:
        return True
    return op.name == "select_n" and demanded_words.constant(op.operands[0], facts) is not None


def _arithmetic(op: Op, facts: Facts, elements: int, words: int) -> Mapping[str, float]:
    name, dtype = op.name, op.results[0].dtype
    operand = np.dtype(op.operands[0].dtype) if op.operands else np.dtype(dtype)
    if operand.kind == "b" and name in ("and", "or", "xor", "not", "convert_element_type"):
        return {}
    floating = bool(jnp.issubdtype(operand, jnp.floating))
    if name == "convert_element_type":
        known = facts.values.get(op.results[0])
        free = (known is not None and known.form is not None) or (not floating and np.dtype(dtype).kind in "iu")
        return {} if free else {"i32": float(elements)}
    if ops.of(op).special or (name == "div" and floating):
        refining = {"f64": float(elements * _REFINING)} if operand == np.float64 else {}
        return {"special": float(elements), **refining}
    powers = contraction.multiplications(op)
    if floating:
        inverse = {"special": float(elements)} if name == "integer_pow" and op.attributes["y"] < 0 else {}
        return {_FLOATS.get(operand.name, "f32"): float(elements * max(1, powers)), **inverse}
    words = min(words, demanded_words.of_dtype(operand))
    if powers or (name == "mul" and not contraction.is_shift(op, facts)):
        return _product(elements * max(1, powers), words)
    if name in ("div", "rem"):
        return {"i32": float(words * elements * _division(demanded_words.constant(op.operands[1], facts)))}
    return {"i32": float(words * elements)}


def _division(by: int | None) -> int:
    """Instructions for a quotient or a remainder: a shift or a mask, a product and a shift, or an approximation."""
    if by is None:
        return 20
    return 1 if by > 0 and by & (by - 1) == 0 else 2


def _elements(shape: tuple[int, ...], geometry: Geometry) -> int:
    """Elements of a work-item; of what all work-items share, all."""
    rank = len(geometry.local_range)
    return math.prod(shape[rank:]) if shape[:rank] == geometry.local_range else math.prod(shape)


def _is_group_reduction(op: Op, geometry: Geometry) -> bool:
    axes, rank = op.attributes.get("axes", ()), len(geometry.local_range)
    per_item = bool(op.operands) and op.operands[0].shape[:rank] == geometry.local_range
    return ops.of(op).is_reduction and per_item and any(axis < rank for axis in axes)

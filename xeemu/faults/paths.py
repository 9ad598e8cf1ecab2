"""Paths: from operations that may go wrong to where their results matter, through what is computed from them.

A *node* is a value on one call path. Nothing goes through memory: what is stored there matters at once.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts

Node = tuple[Facts, Value]


class PropagationRule(Protocol):
    """What results pass through, and where they matter."""

    decides: bool
    """True if it matters which branch is taken, whether a loop goes on, and what a group algorithm is given."""

    def passing(self, op: Op) -> Sequence[int]:
        """The operands of an ordinary operation through which it goes to the result."""

    def mattering(self, op: Op) -> Sequence[int]:
        """The operands of an access that matter."""

    def may_matter(self, source: Key, graph: "Graph") -> bool:
        """True if the result of an operation that goes wrong may be one that matters."""


@dataclasses.dataclass(frozen=True, eq=False)
class KeptResult:
    """A result of a loop's body or of a branch, whose mark is kept until it is used outside or an iteration later."""

    number: int


@dataclasses.dataclass(frozen=True, eq=False)
class Paths:
    """What is followed of a program.

    Attributes:
      sources: the operations that may go wrong and whose results may matter, by their key.
      followed: the operations that are told to who follows them.
      nodes: the values whose elements may come from them.
      stands: for an input or a result of an operation with bodies what it stands for; of several the one that has its
        value.
      kept: the nodes whose marks are kept.
      accesses: by key of an access its operands that matter.
      decisive: the nodes that matter as soon as they are computed.
    """

    sources: Mapping[Key, Op]
    followed: frozenset[Key]
    nodes: frozenset[Node]
    stands: Mapping[Node, tuple[Node | KeptResult, ...]]
    kept: tuple[Node, ...]
    accesses: Mapping[Key, tuple[int, ...]]
    decisive: frozenset[Node]


def of_program(facts: Facts, sources: Mapping[Key, Op], rule: PropagationRule) -> Paths | None:
    """The paths from some operations to where their results matter; None if there are none."""
    if not sources:
        return None
    graph = Graph(rule)
    graph.body(facts)
    mattering = _reached(
        [n for key in graph.accesses for n in graph.operands(key)] + list(graph.decisive), graph.before
    )
    results = {key: (key[0], op.results[0]) for key, op in sources.items()}
    # A rule looks at each source for itself, and takes long; most come to nothing that matters.
    left = {key: op for key, op in sources.items() if results[key] in mattering and rule.may_matter(key, graph)}
    if not left:
        return None
    nodes = _reached((results[key] for key in left), graph.after) & mattering
    kept = tuple(node for node in graph.crossing if node in nodes)
    numbers = {node: KeptResult(n) for n, node in enumerate(kept)}
    return Paths(
        sources=left,
        followed=graph.followed(nodes) | left.keys(),
        nodes=frozenset(nodes),
        stands={n: tuple(numbers.get(s, s) for s in froms) for n, froms in graph.stands.items() if n in nodes},
        kept=kept,
        accesses={key: found for key in graph.accesses if (found := graph.within(key, nodes))},
        decisive=frozenset(graph.decisive & nodes),
    )


def _reached(starts: Iterable[Node], steps: Mapping[Node, Sequence[Node]]) -> set[Node]:
    found, left = set[Node](), list(starts)
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += steps.get(node, ())
    return found


class Graph:
    """The ways from value to value of a program.

    Attributes:
      after, before: the values that follow from each, and those that it follows from.
      made: the operation of each that is no input and no result of an operation with bodies.
      indexed: of each that is a component of an index the sizes of the dimensions.
      stands: see `Paths`.
      crossing: the results of bodies that are used after them.
      decisive: see `Paths`.
      accesses: the accesses, by their key.
    """

    def __init__(self, rule: PropagationRule):
        self.rule = rule
        self.after: dict[Node, list[Node]] = {}
        self.before: dict[Node, list[Node]] = {}
        self.made: dict[Node, tuple[Key, Op]] = {}
        self.indexed: dict[Node, list[int]] = {}
        self.stands: dict[Node, list[Node]] = {}
        self.crossing: dict[Node, None] = {}
        self.decisive: set[Node] = set()
        self.accesses: dict[Key, Op] = {}
        self._operations: dict[Key, Op] = {}

    def body(self, facts: Facts) -> None:
        for number, op in enumerate(facts.body.ops):
            key = (facts, number)
            if op.name in ops.ACCESSES:
                self.accesses[key] = op
                for value, size in zip(ops.indices(op), op.operands[0].shape, strict=True):
                    if not isinstance(value, Constant):
                        self.indexed.setdefault((facts, value), []).append(size)
            elif op.name in ops.LANGUAGE:
                self._collective(facts, op)
            elif op.regions:
                self._operations[key] = op
                self._structure(facts, number, op)
            elif len(op.results) == 1:
                self._operations[key] = op
                self.made[facts, op.results[0]] = key, op
                for k in self.rule.passing(op):
                    self._step(facts, op.operands[k], (facts, op.results[0]))

    def operands(self, key: Key) -> list[Node]:
        """The operands of an access that matter."""
        op = self.accesses[key]
        values = [op.operands[k] for k in self.rule.mattering(op)]
        return [(key[0], a) for a in values if not isinstance(a, Constant)]

    def within(self, key: Key, nodes: set[Node]) -> tuple[int, ...]:
        """The operands of an access that matter and are among some nodes, by number."""
        op = self.accesses[key]
        values = ((k, op.operands[k]) for k in self.rule.mattering(op))
        return tuple(k for k, a in values if not isinstance(a, Constant) and (key[0], a) in nodes)

    def followed(self, nodes: set[Node]) -> frozenset[Key]:
        """The operations that have a result among some nodes; of those with bodies only where it is needed at once."""
        at_once = self.decisive | self.crossing.keys()
        return frozenset(
            key
            for key, op in self._operations.items()
            for v in op.results
            if (key[0], v) in nodes and (not op.regions or (key[0], v) in at_once)
        )

    def _step(self, facts: Facts, value: Value, node: Node) -> None:
        if not isinstance(value, Constant):
            self.after.setdefault((facts, value), []).append(node)
            self.before.setdefault(node, []).append((facts, value))

    def _stand(self, node: Node, facts: Facts, value: Value) -> None:
        """A value stands for a value of another body."""
        self._step(facts, value, node)
        if not isinstance(value, Constant):
            self.stands.setdefault(node, []).append((facts, value))

    def _cross(self, node: Node, facts: Facts, value: Value) -> None:
        """A value stands for a result of a body that is over by then."""
        if not isinstance(value, Constant):
            self.crossing[facts, value] = None
            self._stand(node, facts, value)

    def _decide(self, facts: Facts, value: Value) -> None:
        if self.rule.decides and not isinstance(value, Constant):
            self.decisive.add((facts, value))

    def _collective(self, facts: Facts, op: Op) -> None:
        if op.name == ops.COLLECTIVE:
            for value in op.used:
                self._decide(facts, value)
        elif op.name == ops.BARRIER and op.attributes["masked"]:
            self._decide(facts, op.operands[-1])

    def _structure(self, facts: Facts, number: int, op: Op) -> None:
        structure: Any = control.of(op)
        if isinstance(structure, control.Cond):
            self._decide(facts, op.operands[0])
        # What a loop takes an element of is another value.
        most = len(op.captures) + structure.carries if isinstance(structure, control.Scan) else None
        for k, inside in enumerate(facts.inner[number]):
            for value, v in list(zip(control.region_operands(op, op.used, k), inside.body.all_inputs, strict=True))[
                :most
            ]:
                self._stand((inside, v), facts, value)
            self.body(inside)
            if isinstance(structure, control.While) and k == 0:
                self._decide(inside, inside.body.outputs[0])
            else:
                self._results(facts, number, op, structure, inside)

    def _results(self, facts: Facts, number: int, op: Op, structure: Any, inside: Facts) -> None:
        inner = inside.body
        if isinstance(structure, control.Call):
            for v, out in zip(op.results, inner.outputs, strict=True):
                self._stand((facts, v), inside, out)
            return
        carried = control.carried(structure, inner)
        outputs = inner.outputs if isinstance(structure, control.Cond) else inner.outputs[: len(carried)]
        for v, out in zip(op.results, outputs, strict=False):
            self._cross((facts, v), inside, out)
        if isinstance(structure, control.While):
            # The predicate sees what the body has left, as the body does.
            tested = op.regions[0].inputs
            for v, out in zip(tested, outputs, strict=True):
                self._cross((facts.inner[number][0], v), inside, out)
        for v, inner_v, out in zip(op.results, carried, outputs, strict=False):
            self._cross((inside, inner_v), inside, out)
            if (before := self.stands.get((inside, inner_v))) is not None:
                # A loop may have no iteration.
                self._stand((facts, v), *before[0])

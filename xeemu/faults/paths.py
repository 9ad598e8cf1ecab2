"""Paths: from operations that may go wrong to where their results matter, through what is computed from them.

A *node* is a variable on one call path. Nothing goes through memory: what is stored there matters at once.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from jax.extend import core as jex_core

from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.schedule import Key
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body

Node = tuple[Plan, jex_core.Var]


class Rule(Protocol):
    """What results pass through, and where they matter."""

    decides: bool
    """Whether it matters which branch is taken, whether a loop goes on, and what a group algorithm is given."""

    def passing(self, eqn: jex_core.JaxprEqn) -> Sequence[int]:
        """The operands of an ordinary operation through which it goes to the result."""

    def mattering(self, eqn: jex_core.JaxprEqn) -> Sequence[int]:
        """The operands of an access that matter."""

    def may_matter(self, source: Key, graph: "Graph") -> bool:
        """Whether the result of an operation that goes wrong may be one that matters."""


@dataclasses.dataclass(frozen=True, eq=False)
class Kept:
    """A result of a loop's body or of a branch, whose mark is kept until it is used outside or in the next turn."""

    number: int


@dataclasses.dataclass(frozen=True, eq=False)
class Paths:
    """What is followed of a program.

    Attributes:
      sources: the operations that may go wrong and whose results may matter, by their key.
      followed: the equations that are told to who follows them.
      nodes: the variables whose elements may come from them.
      stands: for an input or a result of an equation with bodies what it stands for; of several the one that has its
        value.
      kept: the nodes whose marks are kept.
      accesses: by key of an access its operands that matter.
      decisive: the nodes that matter as soon as they are computed.
    """

    sources: Mapping[Key, jex_core.JaxprEqn]
    followed: frozenset[Key]
    nodes: frozenset[Node]
    stands: Mapping[Node, tuple[Node | Kept, ...]]
    kept: tuple[Node, ...]
    accesses: Mapping[Key, tuple[int, ...]]
    decisive: frozenset[Node]


def of_program(body: Body, plan: Plan, sources: Mapping[Key, jex_core.JaxprEqn], rule: Rule) -> Paths | None:
    """The paths from some operations to where their results matter; None if there are none."""
    if not sources:
        return None
    graph = Graph(rule)
    graph.body(body, plan)
    sources = {key: eqn for key, eqn in sources.items() if rule.may_matter(key, graph)}
    results = {key: (key[0], eqn.outvars[0]) for key, eqn in sources.items()}
    nodes = _reached(results.values(), graph.after)
    nodes &= _reached([n for key in graph.accesses for n in graph.operands(key)] + list(graph.decisive), graph.before)
    left = {key: eqn for key, eqn in sources.items() if results[key] in nodes}
    if not left:
        return None
    kept = tuple(node for node in graph.crossing if node in nodes)
    numbers = {node: Kept(n) for n, node in enumerate(kept)}
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
    """The ways from variable to variable of a program.

    Attributes:
      after, before: the variables that follow from each, and those that it follows from.
      made: the equation of each that is no input and no result of an equation with bodies.
      indexed: of each that is a component of an index the sizes of the dimensions.
      stands: see `Paths`.
      crossing: the results of bodies that are used after them.
      decisive: see `Paths`.
      accesses: the accesses, by their key.
    """

    def __init__(self, rule: Rule):
        self.rule = rule
        self.after: dict[Node, list[Node]] = {}
        self.before: dict[Node, list[Node]] = {}
        self.made: dict[Node, tuple[Key, jex_core.JaxprEqn]] = {}
        self.indexed: dict[Node, list[int]] = {}
        self.stands: dict[Node, list[Node]] = {}
        self.crossing: dict[Node, None] = {}
        self.decisive: set[Node] = set()
        self.accesses: dict[Key, jex_core.JaxprEqn] = {}
        self._equations: dict[Key, jex_core.JaxprEqn] = {}

    def body(self, body: Body, plan: Plan) -> None:
        for number, eqn in enumerate(body.eqns):
            key = (plan, number)
            if eqn.primitive in primitives.ACCESSES:
                self.accesses[key] = eqn
                for atom, size in zip(primitives.indices(eqn), eqn.invars[0].aval.shape, strict=True):
                    if not jaxprs.is_literal(atom):
                        self.indexed.setdefault((plan, atom), []).append(size)
            elif eqn.primitive in primitives.LANGUAGE:
                self._collective(plan, eqn)
            elif jaxprs.bodies(eqn):
                self._equations[key] = eqn
                self._structure(plan, number, eqn)
            elif len(eqn.outvars) == 1:
                self._equations[key] = eqn
                self.made[plan, eqn.outvars[0]] = key, eqn
                for k in self.rule.passing(eqn):
                    self._step(plan, eqn.invars[k], (plan, eqn.outvars[0]))

    def operands(self, key: Key) -> list[Node]:
        """The operands of an access that matter."""
        eqn = self.accesses[key]
        atoms = [eqn.invars[k] for k in self.rule.mattering(eqn)]
        return [(key[0], a) for a in atoms if not jaxprs.is_literal(a)]

    def within(self, key: Key, nodes: set[Node]) -> tuple[int, ...]:
        """The operands of an access that matter and are among some nodes, by number."""
        eqn = self.accesses[key]
        atoms = ((k, eqn.invars[k]) for k in self.rule.mattering(eqn))
        return tuple(k for k, a in atoms if not jaxprs.is_literal(a) and (key[0], a) in nodes)

    def followed(self, nodes: set[Node]) -> frozenset[Key]:
        """The equations that have a result among some nodes; of those with bodies only where it is needed at once."""
        at_once = self.decisive | self.crossing.keys()
        return frozenset(
            key
            for key, eqn in self._equations.items()
            for v in eqn.outvars
            if (key[0], v) in nodes and (not jaxprs.bodies(eqn) or (key[0], v) in at_once)
        )

    def _step(self, plan: Plan, atom: jaxprs.Atom, node: Node) -> None:
        if not jaxprs.is_literal(atom):
            self.after.setdefault((plan, atom), []).append(node)
            self.before.setdefault(node, []).append((plan, atom))

    def _stand(self, node: Node, plan: Plan, atom: jaxprs.Atom) -> None:
        """A variable stands for a value of another body."""
        self._step(plan, atom, node)
        if not jaxprs.is_literal(atom):
            self.stands.setdefault(node, []).append((plan, atom))

    def _cross(self, node: Node, plan: Plan, atom: jaxprs.Atom) -> None:
        """A variable stands for a result of a body that is over by then."""
        if not jaxprs.is_literal(atom):
            self.crossing[plan, atom] = None
            self._stand(node, plan, atom)

    def _decide(self, plan: Plan, atom: jaxprs.Atom) -> None:
        if self.rule.decides and not jaxprs.is_literal(atom):
            self.decisive.add((plan, atom))

    def _collective(self, plan: Plan, eqn: jex_core.JaxprEqn) -> None:
        if eqn.primitive is primitives.collective_p:
            for atom in eqn.invars:
                self._decide(plan, atom)
        elif eqn.primitive is primitives.barrier_p and eqn.params["masked"]:
            self._decide(plan, eqn.invars[-1])

    def _structure(self, plan: Plan, number: int, eqn: jex_core.JaxprEqn) -> None:
        structure: Any = jaxprs.structure(eqn)
        if isinstance(structure, jaxprs.Cond):
            self._decide(plan, eqn.invars[0])
        # What a loop takes an element of is another value.
        most = structure.consts + structure.carries if isinstance(structure, jaxprs.Scan) else None
        for k, (inner, inside) in enumerate(zip(jaxprs.bodies(eqn), plan.inner[number], strict=True)):
            for atom, v in list(zip(jaxprs.given(structure, eqn.invars, k), inner.invars, strict=True))[:most]:
                self._stand((inside, v), plan, atom)
            self.body(inner, inside)
            if isinstance(structure, jaxprs.While) and k == 0:
                self._decide(inside, inner.outvars[0])
            else:
                self._results(plan, number, eqn, structure, inner, inside)

    def _results(
        self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, structure: Any, inner: Body, inside: Plan
    ) -> None:
        if isinstance(structure, jaxprs.Call):
            for v, out in zip(eqn.outvars, inner.outvars, strict=True):
                self._stand((plan, v), inside, out)
            return
        carried = jaxprs.carried(structure, inner)
        outputs = inner.outvars if isinstance(structure, jaxprs.Cond) else inner.outvars[: len(carried)]
        for v, out in zip(eqn.outvars, outputs, strict=False):
            self._cross((plan, v), inside, out)
        if isinstance(structure, jaxprs.While):
            # The predicate sees what the body has left, as the body does.
            tested = jaxprs.bodies(eqn)[0].invars[structure.predicate_consts :]
            for v, out in zip(tested, outputs, strict=True):
                self._cross((plan.inner[number][0], v), inside, out)
        for v, inner_v, out in zip(eqn.outvars, carried, outputs, strict=False):
            self._cross((inside, inner_v), inside, out)
            if (before := self.stands.get((inside, inner_v))) is not None:
                # A loop may have no turn.
                self._stand((plan, v), *before[0])

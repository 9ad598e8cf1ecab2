"""The memory operations of a program: where in the source each comes from, which memory it is of, how it is reached."""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
from jax.extend import core as jex_core

from xeemu import jaxprs, primitives, source
from xeemu.analysis import Plan, Value
from xeemu.jaxprs import Body
from xeemu.program import Program

Op = Literal["load", "store", "atomic"]


@dataclasses.dataclass(frozen=True)
class Memory:
    """A memory as the kernel names it."""

    name: str
    space: str
    shape: tuple[int, ...]
    dtype: np.dtype


@dataclasses.dataclass(frozen=True)
class Place:
    """One memory operation of the source; an unrolled loop makes several equations of it."""

    site: source.Site
    op: Op
    memory: Memory


@dataclasses.dataclass(eq=False)
class Operation:
    """What is known of one memory equation, over all the call paths that lead to it.

    Attributes:
      eqn: the equation.
      place: where it comes from.
      paths: how many call paths lead to it.
      in_predicate: whether a loop's predicate contains it.
      constant_mask: whether its `where` is known at trace time; also where it has none.
      constant_index: whether its index is.
      based: whether an index component has a base, known only as the program runs.
      adds_one: whether it is an atomic addition of the constant 1 whose old value is not used.
      fetches: whether a sub-group waits for its value.
    """

    eqn: jex_core.JaxprEqn
    place: Place
    paths: int
    in_predicate: bool
    constant_mask: bool
    constant_index: bool
    based: bool
    adds_one: bool
    fetches: bool


def of_program(program: Program, plan: Plan) -> dict[int, Operation]:
    """The memory operations of a program by the `id` of their equation, in the order of the program."""
    found: dict[int, Operation] = {}
    memories = [
        Memory(a.name, "global", a.shape, np.dtype(a.dtype)) if a is not None else None for a in program.arguments
    ]
    for operation in _Walk(len(program.geometry.local_range)).body(program.body, plan, memories, False)[0]:
        before = found.get(id(operation.eqn))
        found[id(operation.eqn)] = operation if before is None else _both(before, operation)
    return found


def equation_paths(body: Body) -> dict[int, int]:
    """How many call paths lead to each equation, by its `id`."""
    paths: dict[int, int] = {}
    for eqn in _equations(body):
        paths[id(eqn)] = paths.get(id(eqn), 0) + 1
    return paths


def loop_heads(body: Body) -> Iterator[int]:
    """The `id` of the first plain operation in the body of each loop with a known number of iterations."""
    for eqn in _equations(body):
        structure = jaxprs.structure(eqn)
        if isinstance(structure, jaxprs.Scan):
            plain = (inner for inner in structure.body.eqns if jaxprs.structure(inner) is None)
            yield from (id(inner) for inner in itertools.islice(plain, 1))


def _equations(body: Body) -> Iterator[jex_core.JaxprEqn]:
    for eqn in body.eqns:
        yield eqn
        for inner in jaxprs.bodies(eqn):
            yield from _equations(inner)


def _both(a: Operation, b: Operation) -> Operation:
    memory = a.place.memory
    if b.place.memory.name not in memory.name.split(" or "):
        memory = dataclasses.replace(memory, name=f"{memory.name} or {b.place.memory.name}")
    return Operation(
        a.eqn,
        dataclasses.replace(a.place, memory=memory),
        a.paths + b.paths,
        a.in_predicate or b.in_predicate,
        a.constant_mask and b.constant_mask,
        a.constant_index and b.constant_index,
        a.based or b.based,
        a.adds_one and b.adds_one,
        a.fetches,
    )


_Memories = Sequence[Memory | None]


@dataclasses.dataclass(frozen=True)
class _Walk:
    dimensions: int

    def body(
        self, body: Body, plan: Plan, inputs: _Memories, predicate: bool
    ) -> tuple[list[Operation], list[Memory | None]]:
        """The operations of a (sub)program, and the memory behind each of its outputs."""
        known: dict[Any, Memory] = {v: m for v, m in zip(body.invars, inputs, strict=True) if m}
        operations = []
        for number, eqn in enumerate(body.eqns):
            operands = [None if jaxprs.is_literal(a) else known.get(a) for a in eqn.invars]
            inner, results = self._equation(plan, number, eqn, operands, predicate)
            operations += inner
            known |= {v: m for v, m in zip(eqn.outvars, results, strict=True) if m}
        return operations, [None if jaxprs.is_literal(a) else known.get(a) for a in body.outvars]

    def _equation(
        self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, operands: _Memories, predicate: bool
    ) -> tuple[list[Operation], _Memories]:
        p = eqn.params
        if eqn.primitive is primitives.allocate_p:
            return [], [Memory(p["name"], p["space"], p["shape"], np.dtype(p["dtype"]))]
        if eqn.primitive in primitives.ACCESSES:
            last = [operands[0]] if eqn.primitive is not primitives.load_p and p.get("op") != "load" else [None]
            results = [None] * (len(eqn.outvars) - 1) + last
            return [self._operation(plan, eqn, operands[0], predicate)], results
        if eqn.primitive in primitives.UPDATES:
            return [], [m for m in operands if m]
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                return self.body(body, plan.inner[number][0], operands, predicate)
            case jaxprs.Cond(branches):
                pairs = zip(branches, plan.inner[number], strict=True)
                walked = [self.body(b, inner, operands[1:], predicate) for b, inner in pairs]
                return [o for operations, _ in walked for o in operations], walked[0][1]
            case jaxprs.Scan(body=body):
                return self.body(body, plan.inner[number][0], operands, predicate)
            case jaxprs.While() as loop:
                return self._while(plan, number, loop, operands, predicate)
        return [], [None] * len(eqn.outvars)

    def _while(
        self, plan: Plan, number: int, loop: jaxprs.While, operands: _Memories, predicate: bool
    ) -> tuple[list[Operation], _Memories]:
        tested, inner = plan.inner[number]
        first_carry = loop.predicate_consts + loop.body_consts
        seen = [*operands[: loop.predicate_consts], *operands[first_carry:]]
        in_predicate, _ = self.body(loop.predicate, tested, seen, True)
        operations, results = self.body(loop.body, inner, operands[loop.predicate_consts :], predicate)
        return in_predicate + operations, results

    def _operation(self, plan: Plan, eqn: jex_core.JaxprEqn, memory: Memory | None, predicate: bool) -> Operation:
        assert memory is not None
        what: primitives.Access = eqn.params["access"]
        values = [plan.value(a, self.dimensions) for a in eqn.invars[1:]]
        name = primitives.operation(eqn)
        # The mask of a load comes before the value for the others, that of an update last.
        mask = values[what.rank] if what.masked and name == "load" else values[-1]
        fetches = name == "load" or bool(eqn.params.get("fetch"))
        adds_one = name == "add" and not fetches and _is_one(values[what.rank])
        place = Place(source.of_equation(eqn), _op(eqn), memory)
        index = values[: what.rank]
        constant, based = all(_constant(v) for v in index), any(v.form is None or v.form.based for v in index)
        constant_mask = not what.masked or _constant(mask)
        return Operation(eqn, place, 1, predicate, constant_mask, constant, based, adds_one, fetches)


def _op(eqn: jex_core.JaxprEqn) -> Op:
    if eqn.primitive is primitives.atomic_p:
        return "atomic"
    return "load" if eqn.primitive is primitives.load_p else "store"


def _constant(value: Value) -> bool:
    return value.form is not None and value.form.constant


def _is_one(value: Value) -> bool:
    return _constant(value) and value.form is not None and bool((value.form.pattern == 1).all())

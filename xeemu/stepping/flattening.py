"""Flattening: a program written as steps (see `steps`)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import lax
from jax.extend import core as jex_core

from xeemu.emission import exactness
from xeemu.ir import ops
from xeemu.knowledge import endings, lanewise
from xeemu.language import collectives, jaxprs, primitives, separation, source
from xeemu.language.collectives import Collective
from xeemu.language.geometry import Geometry
from xeemu.language.jaxprs import Body
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program
from xeemu.stepping import steps
from xeemu.stepping.steps import (
    Access,
    Branch,
    Code,
    Fence,
    Jump,
    Meeting,
    Operand,
    Operation,
    Register,
    Step,
    Straight,
)

# What an equation's operand or result is here.
_Known: TypeAlias = Register | np.ndarray | Allocation


def of_program(program: Program, by_line: bool = False) -> Code:
    """The steps of a program.

    Args:
      program: the kernel.
      by_line: whether straight code is of one line of the source each, for somebody who watches what lines compute.

    Raises:
      KernelError: the program does something that cannot be taken apart.
    """
    writer = _Writer(program, by_line)
    inputs: list[_Known] = [
        memory or writer.given(v.aval, False, "argument", n)
        for n, (memory, v) in enumerate(zip(program.arguments, program.body.invars, strict=True))
    ]
    writer.body(program.body, inputs)
    writer.close()
    kept = steps.kept(writer.steps) | {mask.number for mask in writer.scopes.values()}
    for register in writer.registers:
        if register.number in kept and not isinstance(register.dtype, np.dtype):
            raise source.kernel_error(
                "under a schedule, a key of jax.random cannot be kept across an access to memory, a barrier or a turn "
                "of a loop; draw the random numbers before, or make the key again from its seed",
                writer.keys.get(register, next(iter(writer.keys.values()), None)),
            )
    return Code(tuple(writer.steps), tuple(writer.registers), tuple(writer.starts), kept, writer.scopes)


class _Writer:
    """Writes the steps of a program."""

    def __init__(self, program: Program, by_line: bool):
        self._by_line = by_line
        # For somebody who watches: of each step who carries it out, where that is told, and of the next ones.
        self.scopes: dict[int, Register] = {}
        self._scope: Register | None = None
        self._caller: source.Origin | None = None
        self.geometry: Geometry = program.geometry
        self.steps: list[Step] = []
        self.registers: list[Register] = []
        self.starts: list[tuple[Register, str, int | None]] = []
        # Values that are no NumPy arrays, with their lines.
        self.keys: dict[Register, source.Site] = {}
        self._allocations = iter(program.allocations)
        # What group algorithms order (SYCL 2020, section 4.17.3); JAX's own reductions over all work-items are some.
        memories = (*program.arguments, *program.allocations)
        self._shared = tuple(m for m in memories if m is not None and m.space != "private")
        self._reductions = separation.group_reductions(program.body, program.geometry)
        # Whether lanes of a sub-group stay together in divergent code, where they meet.
        self._lockstep = any(map(_is_divergent_meeting, jaxprs.equations(program.body)))
        self._operations: list[Operation] = []
        self._starts: dict[tuple[str, int | None], Register] = {}

    @property
    def rank(self) -> int:
        return len(self.geometry.local_range)

    def register(self, aval: Any, lanes: bool) -> Register:
        made = Register(len(self.registers), lanes, tuple(aval.shape), aval.dtype)
        self.registers.append(made)
        return made

    def given(self, aval: Any, lanes: bool, what: str, number: int | None) -> Register:
        """The register that holds something known from the start."""
        if (what, number) not in self._starts:
            self._starts[what, number] = self.register(aval, lanes)
            self.starts.append((self._starts[what, number], what, number))
        return self._starts[what, number]

    def close(self, moves: Sequence[tuple[Register, Operand]] = ()) -> None:
        """Ends straight code."""
        if self._operations or moves:
            self._append(Straight(tuple(self._operations), tuple(moves)))
        self._operations = []

    def append(self, step: Step) -> int:
        """Adds a step and gives its place."""
        self.close()
        self._append(step)
        return len(self.steps) - 1

    def _append(self, step: Step) -> None:
        if self._scope is not None:
            self.scopes[len(self.steps)] = self._scope
        self.steps.append(step)

    def here(self) -> int:
        self.close()
        return len(self.steps)

    def body(self, body: Body, given: Sequence[_Known]) -> list[_Known]:
        """Writes a (sub)program; what its results are."""
        known: dict[Any, _Known] = dict(zip(body.invars, given, strict=True))
        known |= {v: np.asarray(array) for v, array in body.constants}

        def read(atom: jaxprs.Atom) -> _Known:
            return jaxprs.literal(atom) if jaxprs.is_literal(atom) else known[atom]

        around = self._scope
        for eqn in body.eqns:
            results = self._equation(eqn, [read(a) for a in eqn.invars])
            known |= dict(zip(eqn.outvars, results, strict=True))
        self._enter(around)
        return [read(a) for a in body.outvars]

    def _equation(self, eqn: jex_core.JaxprEqn, operands: list[_Known]) -> list[_Known]:
        if eqn.primitive in primitives.LANGUAGE:
            return self._language(eqn, operands)
        structure = jaxprs.structure(eqn)
        together = any(isinstance(o, Allocation) or _is_lanewise(o) for o in operands)
        alone = not isinstance(structure, jaxprs.Call) and _stands_alone(eqn) and not together
        if structure is None or alone:
            return list(self._operation(eqn, [_value(o) for o in operands]))
        match structure:
            case jaxprs.Call(body):
                return self._call(eqn, body, operands)
            case jaxprs.Cond(branches):
                return self._cond(eqn, branches, operands)
            case jaxprs.Scan() as scan:
                return self._scan(eqn, scan, operands)
            case jaxprs.While() as loop:
                return self._while(eqn, loop, operands)
        raise AssertionError(eqn)

    def _call(self, eqn: jex_core.JaxprEqn, body: Body, operands: list[_Known]) -> list[_Known]:
        """What is called; what a library does in there is done by the line that calls it."""
        caller, self._caller = self._caller, self._origin(eqn)
        results = self.body(body, operands)
        self._caller = caller
        return results

    def _operation(self, eqn: jex_core.JaxprEqn, operands: list[Operand]) -> tuple[Register, ...]:
        lanes = [_is_lanewise(o) for o in operands]
        kept_apart = any(lanes) and lanewise.keeps_apart(eqn, lanes, self.rank)
        results = tuple(self.register(v.aval, kept_apart) for v in eqn.outvars)
        self.keys |= {r: source.of_equation(eqn) for r in results if not isinstance(r.dtype, np.dtype)}
        operation = Operation(functools.partial(_bind, eqn), tuple(operands), results, origin=self._origin(eqn))
        if any(lanes) and not kept_apart:
            self._exchange(collectives.GROUP, operation, eqn, self._shared if id(eqn) in self._reductions else ())
        else:
            self._compute(operation)
        return results

    def _enter(self, mask: Register | None) -> None:
        """What follows is for the work-items of a mask; None for all."""
        if mask is not self._scope:
            self.close()
            self._scope = mask

    def _compute(self, operation: Operation) -> None:
        """Adds an operation to the straight code, or begins it anew where it has another line."""
        if self._by_line and self._operations:
            before, origin = self._operations[-1].origin, operation.origin
            if origin.begins_anew(before) if origin is not None else before is not None:
                self.close()
        self._operations.append(operation)

    def _origin(self, eqn: jex_core.JaxprEqn) -> source.Origin | None:
        """Where an operation comes from, where somebody asks for it; what a library does, its caller has done."""
        if not self._by_line or (eqn.primitive.name in _OF_MASKS and source.called_by_user(eqn) in _DIVERGING):
            return None
        return source.origin_of(eqn) or self._caller

    def _id(self, eqn: jex_core.JaxprEqn, lanes: bool, what: str) -> Register:
        """An id, which each line that asks for it computes for itself where lines are watched."""
        given = self.given(eqn.outvars[0].aval, lanes, what, eqn.params["dim"])
        if not self._by_line:
            return given
        copy = self.register(given, lanes)
        self._compute(Operation(lambda x: [x], (given,), (copy,), origin=self._origin(eqn)))
        return copy

    def _exchange(
        self,
        level: str,
        operation: Operation,
        eqn: jex_core.JaxprEqn,
        ordered: tuple[Allocation, ...],
        mask: Operand | None = None,
    ) -> None:
        straight = Straight((operation,), ())
        where, active = (mask, None) if level == collectives.GROUP else (None, mask)
        self.append(Meeting(level, ordered, where, straight, source.of_equation(eqn), active))

    def _copied(self, value: _Known, eqn: jex_core.JaxprEqn) -> _Known:
        """The value as a copy that each work-item has."""
        if not _is_lanewise(value):
            return value
        assert isinstance(value, Register)
        copy = self.register(value, False)
        self._exchange(collectives.GROUP, Operation(lambda x: [x], (value,), (copy,)), eqn, ())
        return copy

    def _language(self, eqn: jex_core.JaxprEqn, operands: list[_Known]) -> list[_Known]:
        p = eqn.params
        if eqn.primitive is primitives.local_id_p:
            return [self._id(eqn, True, "local_id")]
        if eqn.primitive is primitives.group_id_p:
            return [self._id(eqn, False, "group_id")]
        if eqn.primitive is primitives.allocate_p:
            return [next(self._allocations)]
        if eqn.primitive is primitives.region_p:
            mask = _value(operands[0])
            self._enter(mask if self._by_line and isinstance(mask, Register) else None)
            return []
        if eqn.primitive is primitives.uniform_p:
            return [self._uniform(eqn, _value(operands[0]))]
        if eqn.primitive is primitives.collective_p:
            return [self._collective(eqn, [_value(o) for o in operands])]
        if eqn.primitive in primitives.ACCESSES:
            return self._access(eqn, operands)
        if eqn.primitive not in primitives.ORDERING:
            raise ops.unhandled(eqn, "the stepping through a program")
        memories = tuple(o for o in operands if isinstance(o, Allocation))
        where = _value(operands[-1]) if p["masked"] else None
        if eqn.primitive is primitives.fence_p:
            self.append(Fence(source.of_equation(eqn), memories, p["ordering"], where))
        else:
            of_group = p["level"] == collectives.GROUP
            masks = (where, None) if of_group else (None, where)
            self.append(Meeting(p["level"], memories, masks[0], None, source.of_equation(eqn), masks[1]))
        return list(memories)

    def _collective(self, eqn: jex_core.JaxprEqn, operands: list[Operand]) -> Register:
        chosen: Collective = eqn.params["collective"]
        (lanes,) = lanewise.results(eqn, [True] * len(operands), self.rank)
        result = self.register(eqn.outvars[0].aval, lanes)
        algorithm = Operation(lambda *xs: [chosen.apply(*xs)], tuple(operands), (result,), origin=self._origin(eqn))
        self._exchange(chosen.level, algorithm, eqn, self._shared, operands[-1] if chosen.masked else None)
        return result

    def _uniform(self, eqn: jex_core.JaxprEqn, operand: Operand) -> Register:
        """What steers a work-item: its own element; or its sub-group in lockstep, that of all lanes together."""
        result = self.register(eqn.outvars[0].aval, False)
        kind = eqn.params["kind"]
        if not self._lockstep or kind == "pick":
            self._operations.append(Operation(lambda x: [x], (operand,), (result,), own=True))
            return result
        local, op = self.geometry.local_range, "or" if kind == "some" else "max"
        together = Collective(collectives.SUB_GROUP, "reduce", op, local, self.geometry.sub_group_size)
        steering = Operation(lambda x: [together.apply(x)], (operand,), (result,), own=True)
        self._exchange(collectives.SUB_GROUP, steering, eqn, ())
        return result

    def _access(self, eqn: jex_core.JaxprEqn, operands: list[_Known]) -> list[_Known]:
        memory, what = operands[0], eqn.params["access"]
        assert isinstance(memory, Allocation)
        op = primitives.operation(eqn)
        rest = [_value(o) for o in operands[1:]]
        index, values = tuple(rest[: what.rank]), rest[what.rank :]
        where = values.pop(0 if op == "load" else -1) if what.masked else None
        is_update = op != "load"
        asked = not is_update or eqn.params.get("fetch", False)
        result = self.register(eqn.outvars[0].aval, bool(what.shape)) if asked else None
        site, origin = source.of_equation(eqn), self._origin(eqn)
        self.append(Access(site, memory, op, what, index, tuple(values), where, result, origin))
        return [*([result] if result else []), *([memory] if is_update else [])]

    # Control flow.

    def _moved(self, values: Sequence[_Known], lanes: Sequence[bool]) -> list[_Known]:
        """Registers of their own for values, with nothing in them yet; memories stay what they are."""
        return [v if isinstance(v, Allocation) else self.register(v, k) for v, k in zip(values, lanes, strict=True)]

    def _cond(self, eqn: jex_core.JaxprEqn, branches: Sequence[Body], operands: list[_Known]) -> list[_Known]:
        lanes = lanewise.results(eqn, [_is_lanewise(o) for o in operands], self.rank)
        start = self.append(Jump(0))
        targets, ends = [], []
        results: list[_Known] = []
        for body in branches:
            targets.append(self.here())
            outputs = self.body(body, operands[1:])
            results = results or [
                o if isinstance(o, Allocation) else self.register(v.aval, k)
                for o, v, k in zip(outputs, eqn.outvars, lanes, strict=True)
            ]
            self.close(_moves(results, outputs))
            ends.append(self.append(Jump(0)))
        end = self.here()
        self.steps[start] = Branch(_value(operands[0]), tuple(targets))
        for place in ends:
            self.steps[place] = Jump(end)
        return results

    def _scan(self, eqn: jex_core.JaxprEqn, scan: jaxprs.Scan, operands: list[_Known]) -> list[_Known]:
        first = scan.consts + scan.carries
        rows = [_value(self._copied(o, eqn)) for o in operands[first:]]
        lanes = lanewise.carries(scan, [_is_lanewise(o) for o in operands[:first]] + [False] * len(rows), self.rank)
        carries = self._moved(operands[scan.consts : first], lanes)
        inside = [*map(_is_lanewise, operands[: scan.consts]), *lanes, *([False] * len(rows))]
        apart = lanewise.of_body(scan.body, inside, self.rank)[scan.carries :]
        stacks = [self._stack(v.aval, k) for v, k in zip(eqn.outvars[scan.carries :], apart, strict=True)]
        counter = self.register(jax.ShapeDtypeStruct((), np.dtype(np.int32)), False)
        blank = [np.zeros(s.shape, s.dtype) for s in stacks]
        self.close(
            [*_moves([*carries, *stacks], [*operands[scan.consts : first], *blank]), (counter, np.zeros((), np.int32))]
        )
        if not scan.length:
            return [*carries, *(self._unstacked(s, eqn) for s in stacks)]
        head = self.here()
        turn = self._computed(lambda k: np.int32(scan.length - 1) - k if scan.reverse else k, counter, counter)
        given = [self._row(r, turn, v.aval) for r, v in zip(rows, scan.body.invars[first:], strict=True)]
        outputs = self.body(scan.body, [*operands[: scan.consts], *carries, *given])
        filled = [self._filled(s, o, turn, eqn) for s, o in zip(stacks, outputs[scan.carries :], strict=True)]
        following = self._computed(lambda k: k + np.int32(1), counter, counter)
        goes_on = self._computed(lambda k: k < np.int32(scan.length), following, np.zeros((), bool))
        after = [*outputs[: scan.carries], *filled]
        self.close([*_moves([*carries, *stacks], after), (counter, following)])
        self.append(Branch(goes_on, (len(self.steps) + 1, head)))
        return [*carries, *(self._unstacked(s, eqn) for s in stacks)]

    def _computed(self, function: Callable[[Any], Any], operand: Register, like: Any) -> Register:
        result = self.register(like, False)
        self._operations.append(Operation(lambda x: [function(x)], (operand,), (result,)))
        return result

    def _row(self, rows: Operand, turn: Register, aval: Any) -> Register:
        row = self.register(aval, False)
        take = functools.partial(lax.dynamic_index_in_dim, keepdims=False)
        self._operations.append(Operation(lambda xs, k: [take(xs, k)], (rows, turn), (row,)))
        return row

    # A stack of values of each work-item has the work-group's axes first, the turns' after them.

    def _stack(self, aval: Any, apart: bool) -> Register:
        if not apart:
            return self.register(aval, False)
        turns, local, private = aval.shape[0], aval.shape[1 : 1 + self.rank], aval.shape[1 + self.rank :]
        return self.register(jax.ShapeDtypeStruct((*local, turns, *private), aval.dtype), True)

    def _unstacked(self, stack: Register, eqn: jex_core.JaxprEqn) -> Register:
        """The stack as the program knows it, a copy for each work-item: the turns' axis first."""
        if not stack.lanewise:
            return stack
        turns = stack.shape[self.rank]
        shape = (turns, *stack.shape[: self.rank], *stack.shape[self.rank + 1 :])
        copy = self.register(jax.ShapeDtypeStruct(shape, stack.dtype), False)
        moved = functools.partial(jax.numpy.moveaxis, source=self.rank, destination=0)
        self._exchange(collectives.GROUP, Operation(lambda x: [moved(x)], (stack,), (copy,)), eqn, ())
        return copy

    def _filled(self, stack: Register, row: _Known, turn: Register, eqn: jex_core.JaxprEqn) -> Register:
        row = row if stack.lanewise else self._copied(row, eqn)
        filled = self.register(stack, stack.lanewise)
        put = functools.partial(lax.dynamic_update_index_in_dim, axis=self.rank if stack.lanewise else 0)
        self._operations.append(Operation(lambda xs, x, k: [put(xs, x, k)], (stack, _value(row), turn), (filled,)))
        return filled

    def _while(self, eqn: jex_core.JaxprEqn, loop: jaxprs.While, operands: list[_Known]) -> list[_Known]:
        first = loop.predicate_consts + loop.body_consts
        lanes = lanewise.carries(loop, [_is_lanewise(o) for o in operands], self.rank)
        carries = self._moved(operands[first:], lanes)
        self.close(_moves(carries, operands[first:]))
        head = self.here()
        (goes_on,) = self.body(loop.predicate, [*operands[: loop.predicate_consts], *carries])
        test = self.append(Jump(0))
        outputs = self.body(loop.body, [*operands[loop.predicate_consts : first], *carries])
        self.close(_moves(carries, outputs))
        self.append(Jump(head))
        site = None if endings.surely_ends(loop) else source.of_equation(eqn)
        self.steps[test] = Branch(_value(goes_on), (self.here(), test + 1), site)
        return carries


def _moves(targets: Sequence[_Known], values: Sequence[_Known]) -> list[tuple[Register, Operand]]:
    return [(t, _value(v)) for t, v in zip(targets, values, strict=True) if isinstance(t, Register) and t is not v]


def _value(known: _Known) -> Operand:
    assert not isinstance(known, Allocation)
    return known


def _is_lanewise(known: _Known) -> bool:
    return isinstance(known, Register) and known.lanewise


def _stands_alone(eqn: jex_core.JaxprEqn) -> bool:
    """Whether a structured equation touches nothing but its operands and surely ends, whatever these are."""
    for body in jaxprs.bodies(eqn):
        for inner in body.eqns:
            if inner.primitive in primitives.LANGUAGE or inner.primitive.name == "while":
                return False
            if jaxprs.structure(inner) is not None and not _stands_alone(inner):
                return False
    return not isinstance(jaxprs.structure(eqn), jaxprs.While)


# What divergent control flow computes for itself, of the masks of those who take part.
_DIVERGING = frozenset({"cond", "while_loop", "fori_loop"})
_OF_MASKS = frozenset({"not", "and"})


def _is_divergent_meeting(eqn: jex_core.JaxprEqn) -> bool:
    """Whether lanes of a sub-group meet of which not all may be active."""
    if eqn.primitive is primitives.collective_p:
        chosen: Collective = eqn.params["collective"]
        return chosen.masked and chosen.level == collectives.SUB_GROUP
    return eqn.primitive is primitives.barrier_p and eqn.params["masked"] and eqn.params["level"] != collectives.GROUP


def _bind(eqn: jex_core.JaxprEqn, *operands: jax.Array) -> Sequence[jax.Array]:
    alike = [not operand.ndim for operand in operands]
    return exactness.bound(eqn, operands, alike) if exactness.applies(eqn, alike) else jaxprs.bound(eqn, operands)

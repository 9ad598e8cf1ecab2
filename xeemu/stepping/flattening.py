"""Flattening: a program written as steps (see `steps`)."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import lax

from xeemu.emission import exactness
from xeemu.ir import control, evaluation, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import termination
from xeemu.language import collectives, separation, source, user_calls
from xeemu.language.collectives import Collective
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program
from xeemu.planning import operation_plans
from xeemu.stepping import lanewise, steps
from xeemu.stepping.steps import (
    AccessStep,
    Branch,
    Code,
    Fence,
    GroupFunction,
    Jump,
    Operand,
    Operation,
    Register,
    Straight,
)
from xeemu.stepping.writing import Writer

# What an operation's operand or result is here.
_Known: TypeAlias = Register | np.ndarray | Allocation


def of_program(program: Program, by_line: bool = False) -> Code:
    """The steps of a program.

    Args:
      program: the kernel.
      by_line: true if straight code is of one line of the source each, for somebody who watches what lines compute.

    Raises:
      KernelError: the program does something that cannot be taken apart.
    """
    writer = _ProgramWriter(program, by_line)
    inputs: list[_Known] = [
        memory or writer.given(v, False, "argument", n)
        for n, (memory, v) in enumerate(zip(program.arguments, program.body.inputs, strict=True))
    ]
    writer.body(program.body, inputs)
    writer.close()
    kept = steps.read_later(writer.steps) | {mask.number for mask in writer.scopes.values()}
    for register in writer.registers:
        if register.number in kept and not isinstance(register.dtype, np.dtype):
            raise source.kernel_error(
                "under a schedule, a key of jax.random cannot be kept across an access to memory, a barrier or a turn "
                "of a loop; draw the random numbers before, or make the key again from its seed",
                writer.keys.get(register, next(iter(writer.keys.values()), None)),
            )
    return Code(tuple(writer.steps), tuple(writer.registers), tuple(writer.starts), kept, writer.scopes)


class _ProgramWriter(Writer):
    """Writes the steps of a program."""

    def __init__(self, program: Program, by_line: bool):
        super().__init__(by_line)
        self._caller: source.Origin | None = None
        self.geometry: Geometry = program.geometry
        # Values that are no NumPy arrays, with their lines.
        self.keys: dict[Register, source.Site] = {}
        self._allocations = iter(program.allocations)
        # What group algorithms order (SYCL 2020, section 4.17.3); JAX's own reductions over all work-items are some.
        memories = (*program.arguments, *program.allocations)
        self._shared = tuple(m for m in memories if m is not None and m.space != "private")
        self._reductions = separation.group_reductions(program.body, program.geometry)
        # Whether lanes of a sub-group stay together in divergent code, where they meet.
        self._lockstep = any(map(_is_divergent_meeting, program.body.walk()))

    @property
    def rank(self) -> int:
        return len(self.geometry.local_range)

    def body(self, body: Region, given: Sequence[_Known]) -> list[_Known]:
        """Writes a (sub)program; what its results are."""
        known: dict[Any, _Known] = dict(zip(body.all_inputs, given, strict=True))

        def read(value: Value) -> _Known:
            return np.asarray(value.array) if isinstance(value, Constant) else known[value]

        around = self.scope
        for op in body.ops:
            results = self._op(op, [read(a) for a in op.used])
            known |= dict(zip(op.results, results, strict=True))
        self.enter(around)
        return [read(a) for a in body.outputs]

    def _op(self, op: Op, operands: list[_Known]) -> list[_Known]:
        if op.name in ops.LANGUAGE:
            return self._language(op, operands)
        structure = control.of(op)
        together = any(isinstance(o, Allocation) or _is_lanewise(o) for o in operands)
        alone = not isinstance(structure, control.Call) and _stands_alone(op) and not together
        if structure is None or alone:
            return list(self._operation(op, [_value(o) for o in operands]))
        match structure:
            case control.Call(body):
                return self._call(op, body, operands)
            case control.Cond(branches):
                return self._cond(op, branches, operands)
            case control.Scan() as scan:
                return self._scan(op, scan, operands)
            case control.While() as loop:
                return self._while(op, loop, operands)
        raise AssertionError(op)

    def _call(self, op: Op, body: Region, operands: list[_Known]) -> list[_Known]:
        """What is called; what a library does in there is done by the line that calls it."""
        caller, self._caller = self._caller, self._origin(op)
        results = self.body(body, operands)
        self._caller = caller
        return results

    def _operation(self, op: Op, operands: list[Operand]) -> tuple[Register, ...]:
        lanes = [_is_lanewise(o) for o in operands]
        kept_apart = any(lanes) and lanewise.keeps_apart(op, lanes, self.rank)
        results = tuple(self.register(v, kept_apart) for v in op.results)
        self.keys |= {r: source.of_op(op) for r in results if not isinstance(r.dtype, np.dtype)}
        operation = Operation(functools.partial(_bind, op), tuple(operands), results, origin=self._origin(op))
        if any(lanes) and not kept_apart:
            self._exchange(collectives.GROUP, operation, op, self._shared if id(op) in self._reductions else ())
        else:
            self.compute(operation)
        return results

    def _origin(self, op: Op) -> source.Origin | None:
        """Where an operation comes from, where somebody asks for it; what a library does, its caller has done."""
        if not self.by_line or (op.name in _OF_MASKS and user_calls.called_by_user(op) in _DIVERGING):
            return None
        return source.origin_of(op) or self._caller

    def _id(self, op: Op, lanes: bool, what: str) -> Register:
        """An id, which each line that asks for it computes for itself where lines are watched."""
        given = self.given(op.results[0], lanes, what, op.attributes["dim"])
        if not self.by_line:
            return given
        copy = self.register(given, lanes)
        self.compute(Operation(lambda x: [x], (given,), (copy,), origin=self._origin(op)))
        return copy

    def _exchange(
        self,
        level: str,
        operation: Operation,
        op: Op,
        ordered: tuple[Allocation, ...],
        mask: Operand | None = None,
    ) -> None:
        straight = Straight((operation,), ())
        where, active = (mask, None) if level == collectives.GROUP else (None, mask)
        self.append(GroupFunction(level, ordered, where, straight, source.of_op(op), active))

    def _copied(self, value: _Known, op: Op) -> _Known:
        """The value as a copy that each work-item has."""
        if not _is_lanewise(value):
            return value
        assert isinstance(value, Register)
        copy = self.register(value, False)
        self._exchange(collectives.GROUP, Operation(lambda x: [x], (value,), (copy,)), op, ())
        return copy

    def _language(self, op: Op, operands: list[_Known]) -> list[_Known]:
        p = op.attributes
        if op.name == ops.LOCAL_ID:
            return [self._id(op, True, "local_id")]
        if op.name == ops.GROUP_ID:
            return [self._id(op, False, "group_id")]
        if op.name == ops.ALLOCATE:
            return [next(self._allocations)]
        if op.name == ops.REGION:
            mask = _value(operands[0])
            self.enter(mask if self.by_line and isinstance(mask, Register) else None)
            return []
        if op.name == ops.UNIFORM:
            return [self._uniform(op, _value(operands[0]))]
        if op.name == ops.COLLECTIVE:
            return [self._collective(op, [_value(o) for o in operands])]
        if op.name in ops.ACCESSES:
            return self._access(op, operands)
        if op.name not in ops.ORDERING:
            raise ops.unhandled(op, "the stepping through a program")
        memories = tuple(o for o in operands if isinstance(o, Allocation))
        where = _value(operands[-1]) if p["masked"] else None
        if op.name == ops.FENCE:
            self.append(Fence(source.of_op(op), memories, p["ordering"], where))
        else:
            of_group = p["level"] == collectives.GROUP
            masks = (where, None) if of_group else (None, where)
            self.append(GroupFunction(p["level"], memories, masks[0], None, source.of_op(op), masks[1]))
        return list(memories)

    def _collective(self, op: Op, operands: list[Operand]) -> Register:
        chosen: Collective = op.attributes["collective"]
        (lanes,) = lanewise.results(op, [True] * len(operands), self.rank)
        result = self.register(op.results[0], lanes)
        algorithm = Operation(lambda *xs: [chosen.apply(*xs)], tuple(operands), (result,), origin=self._origin(op))
        self._exchange(chosen.level, algorithm, op, self._shared, operands[-1] if chosen.masked else None)
        return result

    def _uniform(self, op: Op, operand: Operand) -> Register:
        """What steers a work-item: its own element; or its sub-group in lockstep, that of all lanes together."""
        result = self.register(op.results[0], False)
        kind = op.attributes["kind"]
        if not self._lockstep or kind == "pick":
            self.operations.append(Operation(lambda x: [x], (operand,), (result,), own=True))
            return result
        local, operation = self.geometry.local_range, "or" if kind == "some" else "max"
        together = Collective(collectives.SUB_GROUP, "reduce", operation, local, self.geometry.sub_group_size)
        steering = Operation(lambda x: [together.apply(x)], (operand,), (result,), own=True)
        self._exchange(collectives.SUB_GROUP, steering, op, ())
        return result

    def _access(self, op: Op, operands: list[_Known]) -> list[_Known]:
        memory, what = operands[0], op.attributes["access"]
        assert isinstance(memory, Allocation)
        operation = ops.operation(op)
        rest = [_value(o) for o in operands[1:]]
        index, values = tuple(rest[: what.rank]), rest[what.rank :]
        changes = ops.changes(op)
        where = values.pop(-1 if changes else 0) if what.masked else None
        result = self.register(op.results[0], bool(what.shape)) if ops.value_results(op) else None
        site, origin = source.of_op(op), self._origin(op)
        self.append(AccessStep(site, memory, operation, what, index, tuple(values), where, result, origin))
        return [*([result] if result else []), *([memory] if changes else [])]

    # Control flow.

    def _moved(self, values: Sequence[_Known], lanes: Sequence[bool]) -> list[_Known]:
        """Registers of their own for values, with nothing in them yet; memories stay what they are."""
        return [v if isinstance(v, Allocation) else self.register(v, k) for v, k in zip(values, lanes, strict=True)]

    def _cond(self, op: Op, branches: Sequence[Region], operands: list[_Known]) -> list[_Known]:
        lanes = lanewise.results(op, [_is_lanewise(o) for o in operands], self.rank)
        start = self.append(Jump(0))
        targets, ends = [], []
        results: list[_Known] = []
        for k, body in enumerate(branches):
            targets.append(self.here())
            outputs = self.body(body, control.region_operands(op, operands, k))
            results = results or [
                o if isinstance(o, Allocation) else self.register(v, k)
                for o, v, k in zip(outputs, op.results, lanes, strict=True)
            ]
            self.close(_moves(results, outputs))
            ends.append(self.append(Jump(0)))
        end = self.here()
        self.steps[start] = Branch(_value(operands[-1]), tuple(targets))
        for place in ends:
            self.steps[place] = Jump(end)
        return results

    def _scan(self, op: Op, scan: control.Scan, operands: list[_Known]) -> list[_Known]:
        count = len(op.captures)
        first = count + scan.carries
        rows = [_value(self._copied(o, op)) for o in operands[first:]]
        lanes = lanewise.structured(op, list(map(_is_lanewise, operands)), self.rank)
        carries = self._moved(operands[count:first], lanes[: scan.carries])
        stacks = [self._stack(*each) for each in zip(op.results[scan.carries :], lanes[scan.carries :], strict=True)]
        counter = self.register(jax.ShapeDtypeStruct((), np.dtype(np.int32)), False)
        blank = [np.zeros(s.shape, s.dtype) for s in stacks]
        self.close([*_moves([*carries, *stacks], [*operands[count:first], *blank]), (counter, np.zeros((), np.int32))])
        if not scan.length:
            return [*carries, *(self._unstacked(s, op) for s in stacks)]
        head = self.here()
        turn = self._computed(lambda k: np.int32(scan.length - 1) - k if scan.reverse else k, counter, counter)
        given = [self._row(r, turn, v) for r, v in zip(rows, scan.body.inputs[scan.carries :], strict=True)]
        outputs = self.body(scan.body, [*operands[:count], *carries, *given])
        filled = [self._filled(s, o, turn, op) for s, o in zip(stacks, outputs[scan.carries :], strict=True)]
        following = self._computed(lambda k: k + np.int32(1), counter, counter)
        goes_on = self._computed(lambda k: k < np.int32(scan.length), following, np.zeros((), bool))
        after = [*outputs[: scan.carries], *filled]
        self.close([*_moves([*carries, *stacks], after), (counter, following)])
        self.append(Branch(goes_on, (len(self.steps) + 1, head)))
        return [*carries, *(self._unstacked(s, op) for s in stacks)]

    def _computed(self, function: Callable[[Any], Any], operand: Register, like: Any) -> Register:
        result = self.register(like, False)
        self.operations.append(Operation(lambda x: [function(x)], (operand,), (result,)))
        return result

    def _row(self, rows: Operand, turn: Register, like: Any) -> Register:
        row = self.register(like, False)
        take = functools.partial(lax.dynamic_index_in_dim, keepdims=False)
        self.operations.append(Operation(lambda xs, k: [take(xs, k)], (rows, turn), (row,)))
        return row

    # A stack of values of each work-item has the work-group's axes first, the turns' after them.

    def _stack(self, like: Any, apart: bool) -> Register:
        if not apart:
            return self.register(like, False)
        turns, local, private = like.shape[0], like.shape[1 : 1 + self.rank], like.shape[1 + self.rank :]
        return self.register(jax.ShapeDtypeStruct((*local, turns, *private), like.dtype), True)

    def _unstacked(self, stack: Register, op: Op) -> Register:
        """The stack as the program knows it, a copy for each work-item: the turns' axis first."""
        if not stack.lanewise:
            return stack
        turns = stack.shape[self.rank]
        shape = (turns, *stack.shape[: self.rank], *stack.shape[self.rank + 1 :])
        copy = self.register(jax.ShapeDtypeStruct(shape, stack.dtype), False)
        moved = functools.partial(jax.numpy.moveaxis, source=self.rank, destination=0)
        self._exchange(collectives.GROUP, Operation(lambda x: [moved(x)], (stack,), (copy,)), op, ())
        return copy

    def _filled(self, stack: Register, row: _Known, turn: Register, op: Op) -> Register:
        row = row if stack.lanewise else self._copied(row, op)
        filled = self.register(stack, stack.lanewise)
        put = functools.partial(lax.dynamic_update_index_in_dim, axis=self.rank if stack.lanewise else 0)
        self.operations.append(Operation(lambda xs, x, k: [put(xs, x, k)], (stack, _value(row), turn), (filled,)))
        return filled

    def _while(self, op: Op, loop: control.While, operands: list[_Known]) -> list[_Known]:
        first = len(op.captures)
        tested, seen = (control.region_captures(op, operands, k) for k in (0, 1))
        lanes = lanewise.structured(op, list(map(_is_lanewise, operands)), self.rank)
        carries = self._moved(operands[first:], lanes)
        self.close(_moves(carries, operands[first:]))
        head = self.here()
        (goes_on,) = self.body(loop.predicate, [*tested, *carries])
        test = self.append(Jump(0))
        outputs = self.body(loop.body, [*seen, *carries])
        self.close(_moves(carries, outputs))
        self.append(Jump(head))
        site = None if termination.surely_ends(loop) else source.of_op(op)
        self.steps[test] = Branch(_value(goes_on), (self.here(), test + 1), site)
        return carries


def _moves(targets: Sequence[_Known], values: Sequence[_Known]) -> list[tuple[Register, Operand]]:
    return [(t, _value(v)) for t, v in zip(targets, values, strict=True) if isinstance(t, Register) and t is not v]


def _value(known: _Known) -> Operand:
    assert not isinstance(known, Allocation)
    return known


def _is_lanewise(known: _Known) -> bool:
    return isinstance(known, Register) and known.lanewise


def _stands_alone(op: Op) -> bool:
    """True if a structured operation touches nothing but its operands and surely ends, whatever these are."""
    for body in op.regions:
        for inner in body.ops:
            if inner.name in ops.LANGUAGE or inner.name == "while":
                return False
            if control.of(inner) is not None and not _stands_alone(inner):
                return False
    return not isinstance(control.of(op), control.While)


# What divergent control flow computes for itself, of the masks of those who take part.
_DIVERGING = frozenset({"cond", "while_loop", "fori_loop"})
_OF_MASKS = frozenset({"not", "and"})


def _is_divergent_meeting(op: Op) -> bool:
    """True if lanes of a sub-group meet of which not all may be active."""
    if op.name == ops.COLLECTIVE:
        chosen: Collective = op.attributes["collective"]
        return chosen.masked and chosen.level == collectives.SUB_GROUP
    return op.name == ops.BARRIER and op.attributes["masked"] and op.attributes["level"] != collectives.GROUP


def _bind(op: Op, *operands: jax.Array) -> Sequence[jax.Array]:
    alike = tuple(not operand.ndim for operand in operands)
    if (exact := operation_plans.exactly(op, alike)) is not None:
        return exactness.bound(op, operands, exact)
    return evaluation.results(op, operands)

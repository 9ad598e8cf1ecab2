"""The interpreter: emits a program over a chunk of work-groups as ordinary JAX operations.

It goes through a (sub)program and emits each operation by the module for its kind. Values that differ between groups
have a leading axis of groups (see `lifted_ops`); control flow whose predicate differs becomes a mask on the memory
operations (see `conditionals` and `while_loops`).
"""

import dataclasses
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission import conditionals, counted_loops, exactness, items, lifted_ops, memory_ops, while_loops
from xeemu.emission.buffers import Buffer, Origin
from xeemu.emission.context import Applied, Context
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_memory, as_value
from xeemu.emission.observer import Observer, Passage, Result
from xeemu.emission.values import Emitted
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Value
from xeemu.knowledge import runtime_values
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program
from xeemu.planning import access_constraints, layout_assignment, rowwise
from xeemu.planning.access_constraints import AccessConstraints
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layout_assignment import Assignment
from xeemu.planning.layouts import LANE_FORM
from xeemu.planning.operation_plans import OperationPlan
from xeemu.planning.storage import Storage


def run(
    program: Program,
    facts: Facts,
    arguments: Sequence[jax.Array],
    origins: Mapping[int, Origin],
    chunk: EmittedChunk,
    observer: Observer,
) -> list[jax.Array]:
    """Runs a program for the groups of a chunk.

    Args:
      program: the program.
      facts: what is known of it.
      arguments: the launch's arguments: flat global memories and scalars.
      origins: for the number of an argument that is a part of a memory, where it begins.
      chunk: the groups.
      observer: what watches; its state afterwards is the one after the chunk.

    Returns:
      For each result of the kernel the flat global memory after the chunk.
    """
    found = buffers(program, dict(enumerate(arguments)), origins)
    shapes = {} if observer.watches else rowwise.of_program(facts, chunk, storages(found))
    for k, shape in shapes.items():
        found[k] = dataclasses.replace(found[k], storage=dataclasses.replace(found[k].storage, rows=shape))
    scalars = ((k, v) for k, v in enumerate(program.body.inputs) if k not in found)
    inputs: dict[int, Item] = {**found} | {
        k: items.scalar(jnp.asarray(arguments[k], v.dtype), facts.values[v]) for k, v in scalars
    }
    of_run = runtime_values.of_program(facts)
    chunk = dataclasses.replace(chunk, never=exactness.never(), runtime_values=of_run)
    outputs = _Interpreter(Context(chunk, chunk.present(), observer)).body(
        facts, [inputs[k] for k in range(len(inputs))], None
    )
    return [as_memory(o).data for o in outputs]


def buffers(program: Program, data: Mapping[int, jax.Array], origins: Mapping[int, Origin]) -> dict[int, Buffer]:
    """For the numbers of arguments that are memories, of some arguments, these with their contents."""
    memories = ((k, memory) for k, memory in enumerate(program.arguments) if memory is not None and k in data)
    found = {}
    for k, memory in memories:
        row, unit = (origins[k].row, origins[k].unit) if k in origins else (None, None)
        storage = Storage("global", memory.shape, data[k].shape, data[k].dtype, unit, program.is_alone(k))
        found[k] = Buffer(data[k], storage, row)
    return found


def storages(buffers: Mapping[int, Buffer]) -> dict[int, Storage]:
    """How memories are held."""
    return {k: buffer.storage for k, buffer in buffers.items()}


@dataclasses.dataclass(frozen=True, eq=False)
class _Interpreter:
    """Emits programs in a context; the `Emitter` that loops and branches know."""

    context: Context

    def within(self, context: Context) -> "_Interpreter":
        """The same in another context."""
        return _Interpreter(context)

    def body(self, facts: Facts, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program; `active` is the `[G]` mask of the groups that execute it, or None for all."""
        context, observer = self.context, self.context.observer
        observer.on_body(facts, active, context.chunk)
        constraints = access_constraints.of_body(facts, context.chunk, observer.watches, context.iteration)
        return _Emission.of(self, facts, inputs, active, constraints).results()

    def needed(self, facts: Facts, inputs: Sequence[Item], values: Sequence[Value]) -> list[Item]:
        """Emits of a (sub)program only what some of its values need, for all groups; the last inputs may be missing."""
        part = _Emission.of(self, facts, inputs, None, AccessConstraints())
        for number in facts.body.needed(values):
            part.emit(number)
        return list(map(part.read, values))

    def read(self, found: dict[Value, Item], facts: Facts, value: Value) -> Item:
        """What an operand stands for; an array is made once."""
        if value in found or not isinstance(value, Constant):
            return found[value]
        made = items.constant(np.asarray(value.array), facts.value(value))
        if not value.is_literal:
            found[value] = made
        return made

    def results(self, applied: Applied, plan: OperationPlan | None) -> list[Item]:
        """The results of an operation that is no access; one of JAX's own without regions has a plan."""
        op = applied.op
        if op.name in ops.LANGUAGE:
            return self._language(applied)
        match control.of(op):
            case control.Call():
                return self.body(applied.inner[0], applied.operands, applied.active)
            case control.Cond(choices):
                return conditionals.results(self, applied, choices)
            case control.Scan() as scan:
                return counted_loops.results(self, applied, scan)
            case control.While() as loop:
                return while_loops.results(self, applied, loop)
        assert plan is not None
        return lifted_ops.results(plan, applied, self.context.chunk)

    def _language(self, applied: Applied) -> list[Item]:
        """The results of one of the language's own operations."""
        op, facts = applied.op, applied.facts
        if op.name in (ops.LOCAL_ID, ops.GROUP_ID):
            out = op.results[0]
            return [Emitted(facts.values[op.results[0]], out.shape, out.dtype, LANE_FORM)]
        if op.name == ops.ALLOCATE:
            return [memory_ops.allocated(op, facts, self.context.chunk)]
        if op.name == ops.BARRIER:
            return memory_ops.after_barrier(applied, self.context)
        if op.name == ops.FENCE:
            return [o for o in applied.operands if isinstance(o, Buffer)]
        if op.name == ops.REGION:
            mask = as_value(applied.operands[0])
            self.context.observer.on_region(applied.facts, applied.number, mask, applied.active, self.context.chunk)
            return []
        if op.name == ops.UNIFORM:
            operands = list(map(as_value, applied.operands))
            return lifted_ops.uniform(facts, op, operands, applied.layouts[0], self.context.chunk, self.context.present)
        if op.name != ops.COLLECTIVE:
            raise ops.unhandled(op, "the interpreter")
        if op.attributes["collective"].masked:
            passage = Passage(facts, applied.number, as_value(applied.operands[-1]), applied.active)
            self.context.observer.on_barrier(passage, self.context.chunk)
        operands = list(map(as_value, applied.operands))
        return lifted_ops.collective(facts, op, operands, applied.layouts[0], self.context.chunk)


@dataclasses.dataclass(frozen=True, eq=False)
class _Emission:
    """The operations of a (sub)program, one after the other.

    Attributes:
      interpreter: emits them.
      facts: what is known of it.
      active: `[G]` mask of the groups that execute it, or None for all.
      constraints: on its memory operations.
      assignment: how its values are held, and its operations carried out.
      found: what the values stand for.
      around: see `Applied`.
    """

    interpreter: _Interpreter
    facts: Facts
    active: jax.Array | None
    constraints: AccessConstraints
    assignment: Assignment
    found: dict[Value, Item]
    around: dict[int, jax.Array] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(
        cls,
        interpreter: _Interpreter,
        facts: Facts,
        inputs: Sequence[Item],
        active: jax.Array | None,
        constraints: AccessConstraints,
    ) -> "_Emission":
        """Those of a program that is given some inputs, or but for the last ones."""
        setting = interpreter.context.setting
        assignment = layout_assignment.of_body(facts, layout_assignment.of_items(inputs), setting)
        found = dict(zip(facts.body.taken, inputs, strict=False))
        return cls(interpreter, facts, active, constraints, assignment, found)

    def results(self) -> list[Item]:
        """What the results of the program stand for."""
        for number, op in enumerate(self.facts.body.ops):
            if self.assignment.spared.keys().isdisjoint(op.results):
                self.emit(number)
        return list(map(self.read, self.facts.body.outputs))

    def read(self, value: Value) -> Item:
        """What an operand stands for."""
        if not isinstance(value, Constant) and value not in self.found:
            self.emit(self.assignment.spared[value])
        return self.interpreter.read(self.found, self.facts, value)

    def emit(self, number: int) -> None:
        """Emits an operation, by its number."""
        op, context = self.facts.body.ops[number], self.interpreter.context
        layouts = [self.assignment.layouts[v] for v in op.results]
        if isinstance(plan := self.assignment.plans.get(number), Comparison):
            value = as_value(self.read(plan.value))
            results = lifted_ops.compared(self.facts, op, plan, value, layouts[0], context.chunk)
        else:
            operands = list(map(self.read, op.used))
            applied = Applied(self.facts, number, op, operands, self.read, layouts, self.active, self.around)
            if op.name in ops.ACCESSES:
                results = memory_ops.accessed(applied, self.constraints, context)
            else:
                if context.observer.watches:
                    context.observer.on_operation(self.facts, number, self.active, context.chunk)
                results = self.interpreter.results(applied, plan)
            if (self.facts, number) in context.observer.followed:
                told = Result(self.facts, number, op, applied.operands, results, self.active)
                context.observer.on_result(told, context.chunk)
        self.found.update(zip(op.results, results, strict=True))

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

from xeemu.emission import conditionals, counted_loops, items, lifted_ops, memory_ops, transpose_sinking, while_loops
from xeemu.emission.buffers import Buffer, PartOrigin
from xeemu.emission.context import Applied, Context
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_memory, as_value
from xeemu.emission.observer import Observer, Passage, ResultEvent
from xeemu.emission.values import Emitted
from xeemu.ir import ops
from xeemu.ir.program import Constant, Value
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program
from xeemu.planning.body_plans import (
    BodyPlan,
    CallPlan,
    ChoicePlan,
    CountedLoopPlan,
    Observation,
    Plan,
    ProgramPlan,
    WhileLoopPlan,
)
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layouts import LANE_FORM
from xeemu.planning.memory_plans import LoadPlan, UpdatePlan
from xeemu.planning.operation_plans import Collected
from xeemu.planning.storage import Storage


def run(
    program: Program,
    plan: ProgramPlan,
    arguments: Sequence[jax.Array],
    origins: Mapping[int, PartOrigin],
    chunk: EmittedChunk,
    observer: Observer,
) -> list[jax.Array]:
    """Runs a program for the groups of a chunk.

    Args:
      program: the program.
      plan: how it is carried out.
      arguments: the launch's arguments: flat global memories and scalars.
      origins: for the number of an argument that is a part of a memory, where it begins.
      chunk: the groups.
      observer: what watches; its state afterwards is the one after the chunk.

    Returns:
      For each result of the kernel the flat global memory after the chunk.
    """

    def item(number: int, value: Value, argument: jax.Array) -> Item:
        if (storage := plan.storages.get(number)) is None:
            return items.scalar(jnp.asarray(argument, value.dtype), plan.body.facts.values[value])
        return Buffer(argument, storage, origins[number].row if number in origins else None)

    def emit(*arguments: jax.Array) -> list[jax.Array]:
        interpreter = _Interpreter(Context(chunk, chunk.present(), observer))
        given = enumerate(zip(program.body.inputs, arguments, strict=True))
        inputs = [item(number, value, argument) for number, (value, argument) in given]
        return [as_memory(o).data for o in interpreter.body(plan.body, inputs, None)]

    return (transpose_sinking.put_off(emit) if plan.transposes_late else emit)(*arguments)


def observation(observer: Observer) -> Observation:
    """What an observer sees."""
    return Observation(observer.watches, bool(observer.followed), observer.limits.limits)


@dataclasses.dataclass(frozen=True, eq=False)
class _Interpreter:
    """Emits programs in a context; the `Emitter` that loops and branches know."""

    context: Context

    def within(self, context: Context) -> "_Interpreter":
        """The same in another context."""
        return _Interpreter(context)

    def body(self, plan: BodyPlan, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program as it is planned; `active` is the `[G]` mask of the groups that execute it, or None."""
        self.context.observer.on_body(plan.facts, active, self.context.chunk)
        return self._emission(plan, inputs, active).results()

    def needed(self, plan: BodyPlan, inputs: Sequence[Item], values: Sequence[Value]) -> list[Item]:
        """Emits of a (sub)program only what some values need, for all groups; the last inputs may be missing."""
        part = self._emission(plan, inputs, None)
        for number in plan.facts.body.needed(values):
            part.emit(number)
        return list(map(part.read, values))

    def _emission(self, plan: BodyPlan, inputs: Sequence[Item], active: jax.Array | None) -> "_Emission":
        return _Emission(self, plan, active, dict(zip(plan.facts.body.all_inputs, inputs, strict=False)))

    def read(self, found: dict[Value, Item], facts: Facts, value: Value) -> Item:
        """What an operand stands for; an array is made once."""
        if value in found or not isinstance(value, Constant):
            return found[value]
        made = items.constant(np.asarray(value.array), facts.value(value))
        if not value.is_literal:
            found[value] = made
        return made

    def results(self, applied: Applied, plan: Plan | None) -> list[Item]:
        """The results of an operation, as it is planned if there is a choice."""
        match plan:
            case None:
                return self._language(applied)
            case LoadPlan() | UpdatePlan():
                return memory_ops.accessed(applied, plan, self.context)
            case Storage():
                return [memory_ops.allocated(plan)]
            case Collected():
                return self._collected(applied, plan)
            case CallPlan(body):
                return self.body(body, applied.operands, applied.active)
            case ChoicePlan():
                return conditionals.results(self, applied, plan)
            case CountedLoopPlan():
                return counted_loops.results(self, applied, plan)
            case WhileLoopPlan():
                return while_loops.results(self, applied, plan)
        return lifted_ops.results(plan, applied, self.context.chunk)

    def _language(self, applied: Applied) -> list[Item]:
        """The results of one of the language's own operations that leaves no choice."""
        op, facts = applied.op, applied.facts
        if op.name in (ops.LOCAL_ID, ops.GROUP_ID):
            out = op.results[0]
            return [Emitted(facts.values[op.results[0]], out.shape, out.dtype, LANE_FORM)]
        if op.name == ops.BARRIER:
            mask = as_value(applied.operands[-1]) if op.attributes["masked"] else None
            self.context.observer.on_barrier(Passage(facts, applied.number, mask, applied.active), self.context.chunk)
        if op.name in ops.ORDERING:
            return [o for o in applied.operands if isinstance(o, Buffer)]
        if op.name == ops.REGION:
            mask = as_value(applied.operands[0])
            self.context.observer.on_region(applied.facts, applied.number, mask, applied.active, self.context.chunk)
            return []
        if op.name == ops.UNIFORM:
            operands = list(map(as_value, applied.operands))
            return lifted_ops.uniform(facts, op, operands, applied.layouts[0], self.context.chunk, self.context.present)
        raise ops.unhandled(op, "the interpreter")

    def _collected(self, applied: Applied, plan: Collected) -> list[Item]:
        """The result of a group algorithm."""
        if applied.op.attributes["collective"].masked:
            passage = Passage(applied.facts, applied.number, as_value(applied.operands[-1]), applied.active)
            self.context.observer.on_barrier(passage, self.context.chunk)
        return lifted_ops.collected(applied, plan, self.context.chunk)


@dataclasses.dataclass(eq=False)
class _Emission:
    """The operations of a (sub)program, one after the other.

    Attributes:
      interpreter: emits them.
      plan: how they are carried out.
      active: `[G]` mask of the groups that execute it, or None for all.
      environment: what the values stand for.
      around: see `Applied`.
    """

    interpreter: _Interpreter
    plan: BodyPlan
    active: jax.Array | None
    environment: dict[Value, Item]
    around: dict[int, jax.Array] = dataclasses.field(default_factory=dict)

    @property
    def facts(self) -> Facts:
        """What is known of the program."""
        return self.plan.facts

    def results(self) -> list[Item]:
        """What the results of the program stand for."""
        for number, op in enumerate(self.facts.body.ops):
            if self.plan.spared.keys().isdisjoint(op.results):
                self.emit(number)
        return list(map(self.read, self.facts.body.outputs))

    def read(self, value: Value) -> Item:
        """What an operand stands for."""
        if not isinstance(value, Constant) and value not in self.environment:
            self.emit(self.plan.spared[value])
        return self.interpreter.read(self.environment, self.facts, value)

    def emit(self, number: int) -> None:
        """Emits an operation, by its number."""
        op, plan, context = self.facts.body.ops[number], self.plan.operations.get(number), self.interpreter.context
        if isinstance(plan, Comparison):
            value, layout = as_value(self.read(plan.value)), self.plan.layouts[op.results[0]]
            results = lifted_ops.compared(self.facts, op, plan, value, layout, context.chunk)
        else:
            applied = Applied(self.plan, number, list(map(self.read, op.used)), self.read, self.active, self.around)
            if context.observer.watches and op.name not in ops.ACCESSES:
                context.observer.on_operation(self.facts, number, self.active, context.chunk)
            results = self.interpreter.results(applied, plan)
            if (self.facts, number) in context.observer.followed:
                observed = ResultEvent(self.facts, number, op, applied.operands, results, self.active)
                context.observer.on_result(observed, context.chunk)
        self.environment.update(zip(op.results, results, strict=True))

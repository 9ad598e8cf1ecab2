"""Body plans: how a program is carried out, body by body and operation by operation, before anything of it is emitted.

Nothing that is emitted is decided on later: emission takes the plan, and what is known only as the program runs.
"""

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence

from xeemu.ir import control, ops
from xeemu.ir.control import Call, Cond, Scan, While
from xeemu.ir.program import Op, Value
from xeemu.knowledge import analysis, runtime_values
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning import (
    branch_plans,
    collected_updates,
    hazards,
    iterations,
    layout_assignment,
    loop_plans,
    operation_plans,
    periodic_gathers,
    row_shapes,
    stencil_loads,
    straight_programs,
    while_plans,
)
from xeemu.planning.branch_plans import BranchPlan, Divergent
from xeemu.planning.carries import Carried, Carry
from xeemu.planning.chunk import Chunk
from xeemu.planning.collected_updates import CollectedUpdates
from xeemu.planning.iterations import Iteration
from xeemu.planning.layout_assignment import LayoutAssignment, Setting
from xeemu.planning.layouts import Layout
from xeemu.planning.loop_accesses import CountedLoop
from xeemu.planning.loop_plans import LoopPlan, OneByOne
from xeemu.planning.memory_plans import LoadPlan, MemoryOperations, UpdatePlan
from xeemu.planning.operation_plans import OperationPlan
from xeemu.planning.storage import Storage
from xeemu.planning.while_plans import BottomTested, WhileLoop, WhilePlan


@dataclasses.dataclass(frozen=True, eq=False)
class BodyPlan:
    """How a (sub)program is carried out.

    Attributes:
      facts: what is known of it.
      layouts: how each value is laid out; memories, and what it is given as an array, by item.
      operations: by number how each operation is carried out; those of the language that leave no choice are missing.
      spared: for each result that nothing needs, unless somebody asks, the number of the operation it is of.
      overwritten: the memories in it that an update has overwritten (see `UpdatePlan`).
      carries: what is carried of each output, as far as a loop or a choice around it does.
    """

    facts: Facts
    layouts: Mapping[Value, Layout]
    operations: Mapping[int, "Plan"]
    spared: Mapping[Value, int]
    overwritten: Collection[Value]
    carries: Sequence[Carry] = ()

    def carried(self, carried: Carried) -> "BodyPlan":
        """The same, of the body of a loop or a choice that carries what it gives."""
        return dataclasses.replace(self, carries=carried.of_values(self.facts.body.outputs, self.facts, self.layouts))


@dataclasses.dataclass(frozen=True, eq=False)
class CallPlan:
    """A call.

    Attributes:
      body: what is called.
    """

    body: BodyPlan


@dataclasses.dataclass(frozen=True, eq=False)
class ChoicePlan:
    """A choice between branches.

    Attributes:
      by: how they are chosen.
      branches: by number those that may be taken.
    """

    by: BranchPlan
    branches: Mapping[int, BodyPlan]


@dataclasses.dataclass(frozen=True, eq=False)
class CountedLoopPlan:
    """A counted loop.

    Attributes:
      loop: what is known of it.
      by: how it is carried out.
      bodies: how an iteration is carried out, by what it has to know of others; by None if it goes alone.
      address_plan: of the body what finds where windows lie; None if the plan has no windows.
      first: what is carried into the first iteration.
      collected: of a loop that scatters how what a block leaves is made (see `collected_updates`).
    """

    loop: CountedLoop
    by: LoopPlan
    bodies: Mapping[Iteration | None, BodyPlan]
    address_plan: BodyPlan | None
    first: Sequence[Carry]
    collected: Mapping[int, Mapping[int, CollectedUpdates]] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class WhileLoopPlan:
    """A loop that tests a predicate.

    Attributes:
      by: how it is carried out.
      predicate: the test.
      body: an iteration.
      first: what is carried into the first iteration.
    """

    by: WhilePlan
    predicate: BodyPlan
    body: BodyPlan
    first: Sequence[Carry]


Plan = OperationPlan | Storage | LoadPlan | UpdatePlan | CallPlan | ChoicePlan | CountedLoopPlan | WhileLoopPlan
"""How an operation is carried out; that of an allocation is how its memory is stored."""


@dataclasses.dataclass(frozen=True, eq=False)
class Observation:
    """What an observer sees of a program.

    Attributes:
      watched: true if it sees every access.
      followed: true if it sees every operation, so that none is emitted as part of another.
      limits: for the keys of loops that test a predicate the most iterations that they may have.
    """

    watched: bool = False
    followed: bool = False
    limits: Mapping[Key, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramPlan:
    """How a program is carried out for the groups of a chunk.

    Attributes:
      storages: for the number of each argument that is a memory how it is stored.
      body: of the program.
      transposes_late: true if it transposes as late as it can.
    """

    storages: Mapping[int, Storage]
    body: BodyPlan
    transposes_late: bool


def of_program(facts: Facts, chunk: Chunk, storages: Mapping[int, Storage], observation: Observation) -> ProgramPlan:
    """How a program is carried out for the groups of a chunk.

    Args:
      facts: what is known of it.
      chunk: the work-groups.
      storages: for the number of each argument that is a memory how it is stored.
      observation: what an observer sees.
    """
    shapes = {} if observation.watched else row_shapes.of_program(facts, chunk, storages)
    stored = {k: dataclasses.replace(storage, rows=shapes.get(k)) for k, storage in storages.items()}
    memories = {facts.values[facts.body.inputs[k]]: storage for k, storage in stored.items()}
    setting = Setting.of(chunk, observation.watched, observation.followed, runtime_values.of_program(facts))
    body = _Planner(chunk, observation, setting, memories).body(facts, (), chunk.ragged)
    return ProgramPlan(stored, body, not observation.watched and straight_programs.transposes_late(facts, chunk))


@dataclasses.dataclass(eq=False)
class _Planner:
    """Plans the bodies of a program.

    Attributes:
      chunk: the work-groups.
      observation: what an observer sees.
      setting: what layouts depend on.
      storages: how the memories so far are stored.
    """

    chunk: Chunk
    observation: Observation
    setting: Setting
    storages: dict[Known, Storage]

    def body(
        self,
        facts: Facts,
        inputs: Sequence[Layout],
        masked: bool,
        iteration: Iteration | None = None,
        loaded: Collection[int] = (),
        overwritten: Collection[Value] = (),
    ) -> BodyPlan:
        """The plan of a (sub)program.

        Args:
          facts: what is known of it.
          inputs: how the values are laid out that it takes; those at the end that are missing, by item.
          masked: true if masks of the control flow or of the global range leave work-items out.
          iteration: the one of a loop's block that it is, if it is one.
          loaded: see `MemoryOperations`.
          overwritten: of the memories that it takes those that an update has overwritten (see `UpdatePlan`).
        """
        alone = iteration is None and not self.observation.watched
        memory = MemoryOperations(
            facts,
            self.chunk,
            self.storages,
            masked,
            hazards.of_body(facts),
            stencil_loads.of_body(facts) if alone else {},
            periodic_gathers.of_body(facts) if alone else {},
            iteration or iterations.ALONE,
            loaded,
            not (self.observation.watched or (iteration is not None and iteration.at_once)),
        )
        assignment = self._assignment(facts, inputs, iteration is not None and iteration.at_once)
        return self._planned(memory, assignment, range(len(facts.body.ops)), overwritten)

    def slice_of(self, facts: Facts, inputs: Sequence[Layout], values: Sequence[Value]) -> BodyPlan:
        """The plan of what some values of a (sub)program need, for all groups."""
        memory = MemoryOperations(facts, self.chunk, self.storages, False)
        return self._planned(memory, self._assignment(facts, inputs, False), facts.body.needed(values))

    def _assignment(self, facts: Facts, inputs: Sequence[Layout], at_once: bool) -> LayoutAssignment:
        return layout_assignment.of_body(facts, tuple(inputs), dataclasses.replace(self.setting, at_once=at_once))

    def _planned(
        self,
        memory: MemoryOperations,
        assignment: LayoutAssignment,
        numbers: Iterable[int],
        overwritten: Collection[Value] = (),
    ) -> BodyPlan:
        """The plan of some operations of a (sub)program."""
        each, plans, whole = _Operations(self, memory, assignment), dict[int, Plan](), set(overwritten)
        for number in numbers:
            if (plan := each.plan(number, whole)) is not None:
                plans[number] = plan
            whole.update(_overwritten(memory.facts, memory.facts.body.ops[number], plan, whole))
        return BodyPlan(memory.facts, assignment.layouts, plans, assignment.spared, whole)


def _overwritten(facts: Facts, op: Op, plan: Plan | None, before: Collection[Value]) -> Sequence[Value]:
    """The results of an operation that are memories which an update has overwritten, it or one before it."""
    if op.name in ops.ORDERING:
        memories = (v for v in op.operands if facts.value(v).space)
        return [result for result, memory in zip(op.results, memories, strict=True) if memory in before]
    match plan:
        case UpdatePlan(overwrites=overwrites, leaves=leaves):
            return op.results[-1:] if overwrites or (leaves and op.operands[0] in before) else ()
        case CallPlan(body):
            outputs = zip(op.results, body.facts.body.outputs, strict=True)
            return [result for result, output in outputs if output in body.overwritten]
    return []


@dataclasses.dataclass(frozen=True, eq=False)
class _Operations:
    """The operations of a (sub)program, whose layouts are assigned.

    Attributes:
      planner: plans their bodies.
      memory: its memory operations.
      assignment: how its values are laid out.
    """

    planner: _Planner
    memory: MemoryOperations
    assignment: LayoutAssignment

    @property
    def facts(self) -> Facts:
        """What is known of the (sub)program."""
        return self.memory.facts

    def plan(self, number: int, overwritten: Collection[Value]) -> Plan | None:
        """How an operation is carried out; None if there is no choice.

        Args:
          number: of the operation.
          overwritten: the memories before it that an update has overwritten (see `UpdatePlan`).
        """
        op = self.facts.body.ops[number]
        if op.name in ops.ACCESSES:
            return self.memory.access(number, overwritten)
        if op.name in ops.LANGUAGE:
            return self._of_language(op)
        match control.of(op):
            case Call():
                (inner,) = self.facts.inner[number]
                pairs = zip(inner.body.inputs, op.operands, strict=True)
                given = {*overwritten, *(v for v, operand in pairs if operand in overwritten)}
                return CallPlan(self._inner(inner, op.operands, self.memory.masked, given))
            case Cond():
                return self._choice(number, op, overwritten)
            case Scan() as scan:
                return self._counted(number, op, scan)
            case While() as loop:
                return self._while(number, op, loop)
        return self.assignment.plans[number]

    def _of_language(self, op: Op) -> Plan | None:
        """How an allocation or a group algorithm is carried out."""
        planner = self.planner
        if op.name == ops.COLLECTIVE:
            return operation_plans.of_collective(op, self.facts)
        if op.name != ops.ALLOCATE:
            return None
        storage = Storage.of_allocation(op, self.facts, planner.chunk)
        planner.storages[self.facts.values[op.results[0]]] = storage
        return storage

    def _layouts(self, values: Sequence[Value]) -> list[Layout]:
        return [self.assignment.of(value) for value in values]

    def _inner(
        self, inner: Facts, given: Sequence[Value], masked: bool, overwritten: Collection[Value] = ()
    ) -> BodyPlan:
        """The plan of a body that captures values, and takes some as inputs."""
        inputs = self._layouts([*inner.body.captures, *given])
        return self.planner.body(inner, inputs, masked, overwritten=overwritten)

    def _choice(self, number: int, op: Op, overwritten: Collection[Value]) -> ChoicePlan:
        chunk, inner = self.planner.chunk, self.facts.inner[number]
        by = branch_plans.of_choice(op, self.facts, self.planner.observation.watched, chunk.target)
        inputs = [by.number] if isinstance(by, branch_plans.Folded) else range(len(inner))
        masked = self.memory.masked or isinstance(by, Divergent)
        known = [self.facts.values[v] for v in op.results]
        carried = Carried(known, self._layouts(op.results), chunk.geometry)
        return ChoicePlan(by, {k: self._inner(inner[k], (), masked, overwritten).carried(carried) for k in inputs})

    def _while(self, number: int, op: Op, loop: While) -> WhileLoopPlan:
        predicate, inner = self.facts.inner[number]
        observation = self.planner.observation
        limit, strips = observation.limits.get((self.facts, number)), self.planner.chunk.target.strips
        by = while_plans.of_loop(WhileLoop(loop, predicate, observation.watched, limit, strips))
        masked = self.memory.masked or (isinstance(by, BottomTested) and by.divergent)
        # What a loop carries is laid out as what it gives.
        test, body = (self._inner(each, op.results, masked) for each in (predicate, inner))
        carried = self._carried(inner, op.results)
        return WhileLoopPlan(by, test, body.carried(carried), self._first(carried, op))

    def _carried(self, inner: Facts, results: Sequence[Value]) -> Carried:
        """What is known of what a loop carries, of which these are the results."""
        known = [inner.values[v] for v in inner.body.inputs[: len(results)]]
        return Carried(known, self._layouts(results), self.planner.chunk.geometry)

    def _first(self, carried: Carried, op: Op) -> Sequence[Carry]:
        """What is carried into the first iteration of a loop."""
        return carried.of_values(op.operands, self.facts, self.assignment.layouts)

    def _counted(self, number: int, op: Op, scan: Scan) -> CountedLoopPlan:
        (inner,), planner, masked = self.facts.inner[number], self.planner, self.memory.masked
        memories = {known for v in inner.body.all_inputs if (known := inner.values[v]).space}
        loop = CountedLoop(
            scan=scan,
            facts=inner,
            chunk=planner.chunk,
            storages={memory: planner.storages[memory] for memory in memories},
            masked=masked,
            watched=planner.observation.watched or self._counts_loops(inner),
        )
        by, carried = loop_plans.of_loop(loop), self._carried(inner, op.results[: scan.carries])
        inputs, first = [*self._layouts(inner.body.captures), *carried.layouts], self._first(carried, op)

        def body(iteration: Iteration | None = None, loaded: Collection[int] = ()) -> BodyPlan:
            return planner.body(inner, inputs, masked, iteration, loaded).carried(carried)

        if isinstance(by, OneByOne):
            return CountedLoopPlan(loop, by, {None: body()}, None, first)
        blocks = by.versions.blocks
        bodies: dict[Iteration | None, BodyPlan] = {b.iteration: body(b.iteration, b.loads.keys()) for b in blocks}
        windows = {n for b in blocks for n in (*b.loads, *b.updates)} | by.versions.checks.keys()
        indices = [ops.indices(inner.body.ops[n])[0] for n in sorted(windows)]
        address_plan = planner.slice_of(inner, inputs, indices) if windows else None
        collected = collected_updates.of_loop(by, {k: each.operations for k, each in bodies.items()}, planner.chunk)
        return CountedLoopPlan(loop, by, bodies, address_plan, first, collected)

    def _counts_loops(self, inner: Facts) -> bool:
        """True if a loop's body holds loops that are counted: that is part of what it carries."""
        limits = self.planner.observation.limits
        return bool(limits) and any(
            (part, n) in limits for part in analysis.bodies(inner) for n in range(len(part.body.ops))
        )

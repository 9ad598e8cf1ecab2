"""Layout assignment: how each value of a (sub)program is laid out, decided before anything of it is emitted."""

import dataclasses
from collections.abc import Mapping, Sequence

from xeemu.ir import control, ops
from xeemu.ir.control import Call, Cond, Scan, While
from xeemu.ir.program import Constant, Op, Value
from xeemu.knowledge.analysis import Facts, Known, fact
from xeemu.knowledge.runtime_values import RuntimeValues
from xeemu.language.geometry import Geometry
from xeemu.planning import (
    branch_plans,
    compare_fusion,
    hazards,
    masked_layouts,
    operation_plans,
    shared_layouts,
    subgroup_layouts,
)
from xeemu.planning.chunk import Chunk
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layouts import BY_ITEM, LANE_FORM, ByItem, BySubgroup, Layout, Masked
from xeemu.planning.operation_plans import Elementwise, Formed, Movement, OperationPlan
from xeemu.planning.subgroup_layouts import LayoutConversion, Operand


@dataclasses.dataclass(frozen=True)
class Setting:
    """What layouts depend on beside a program and its analysis.

    Attributes:
      geometry: the sizes of the launch.
      watched: true if somebody sees every access.
      followed: true if somebody sees every operation, so that none is emitted as part of another.
      apart: true if elements are better computed apart from others that are put around them.
      at_once: true if iterations of a loop are emitted as one, where loads put nothing around them.
      multiplies: true if divisions of many integers by one are multiplications.
      block: the groups of a chunk along each dimension, if what they share is laid out once; else None.
      runtime_values: of the program; as they follow from it, settings are not told apart by them.
    """

    geometry: Geometry
    watched: bool = False
    followed: bool = False
    apart: bool = False
    at_once: bool = False
    multiplies: bool = False
    block: tuple[int, ...] | None = None
    runtime_values: RuntimeValues = dataclasses.field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, chunk: Chunk, watched: bool, followed: bool, runtime_values: RuntimeValues) -> "Setting":
        """What layouts depend on for the groups of a chunk."""
        target = chunk.target
        return cls(
            chunk.geometry,
            watched,
            followed,
            apart=target.joins_by_branches,
            multiplies=target.divides_slowly,
            block=chunk.block() if target.keeps_shared else None,
            runtime_values=runtime_values,
        )


@dataclasses.dataclass(frozen=True, eq=False)
class LayoutAssignment:
    """The layouts of a (sub)program, and how its operations give their results so.

    Attributes:
      layouts: of each value; memories, and what a program is given as an array, are by item.
      plans: by number how JAX's own operations are carried out.
      spared: for each result that nothing needs, unless somebody asks, the number of the operation it is of.
    """

    layouts: Mapping[Value, Layout]
    plans: Mapping[int, OperationPlan]
    spared: Mapping[Value, int]

    def of(self, value: Value) -> Layout:
        """That of a value."""
        return BY_ITEM if isinstance(value, Constant) else self.layouts[value]


@fact
def of_body(facts: Facts, inputs: tuple[Layout, ...], setting: Setting) -> LayoutAssignment:
    """The layouts of a (sub)program.

    Args:
      facts: what is known of it.
      inputs: the layouts of `Region.all_inputs`; those at the end that are missing, by item.
      setting: what they depend on beside.
    """
    input_layouts = [*inputs, *[BY_ITEM] * (len(facts.body.all_inputs) - len(inputs))]
    assigned = _Layouts(facts, setting, dict(zip(facts.body.all_inputs, input_layouts, strict=True)), {})
    for number, op in enumerate(facts.body.ops):
        assigned.follow(number, op)
    assigned.layouts |= assigned.final_layouts()
    plans = {n: assigned.with_conversions(plan, facts.body.ops[n]) for n, plan in assigned.plans.items()}
    comparisons = {n: plan for n, plan in plans.items() if isinstance(plan, Comparison)}
    return LayoutAssignment(assigned.layouts, plans, compare_fusion.spared(facts.body, comparisons))


@dataclasses.dataclass(eq=False)
class _Layouts:
    """The operations of a (sub)program, one after the other.

    Attributes:
      facts: what is known of it.
      setting: what layouts depend on beside.
      layouts: how the values so far are laid out, or may be.
      plans: by number how operations so far are carried out.
    """

    facts: Facts
    setting: Setting
    layouts: dict[Value, Layout]
    plans: dict[int, OperationPlan]

    def follow(self, number: int, op: Op) -> None:
        """Finds how the results of the next operation are laid out."""
        layouts = self._structured(number, op)
        if layouts is None and op.name not in ops.LANGUAGE:
            self.plans[number] = plan = self._plan(op)
            layouts = [self._computed(plan, op)] if len(op.results) == 1 else None
        elif layouts is None and len(op.results) == 1:
            layouts = [self._of_language(number, op)]
        layouts = [BY_ITEM] * len(op.results) if layouts is None else layouts
        self.layouts.update(zip(op.results, layouts, strict=True))

    def final_layouts(self) -> Mapping[Value, Layout]:
        """The layouts of those values of which some elements may be needed for themselves."""
        results = (v for op in self.facts.body.ops for v in op.results)
        possible = {v: layout for v in results if isinstance(layout := self.layouts[v], Masked)}
        if not possible:
            return {}
        needs = masked_layouts.needs(self.facts, possible)
        return {v: needs.final_layout(v, layout, self.setting.watched) or BY_ITEM for v, layout in possible.items()}

    def with_conversions(self, plan: OperationPlan, op: Op) -> OperationPlan:
        """How an operation is carried out once it is known how all values are laid out."""
        layout = self.layouts[op.results[0]] if len(op.results) == 1 else BY_ITEM
        match plan, layout:
            case Elementwise(), BySubgroup(lanes):
                return dataclasses.replace(plan, conversions=tuple(self._conversion(v, lanes) for v in op.operands))
            case Movement(), BySubgroup(lanes):
                return Movement(conversion=self._conversion(op.operands[0], lanes))
            case Movement(), _:
                return Movement(masked_layouts.uses_chosen_only(op, self._layout(op.operands[0])))
        return plan

    def _conversion(self, value: Value, lanes: int) -> LayoutConversion | None:
        geometry = self.setting.geometry
        return subgroup_layouts.conversion(self._operand(value), lanes, geometry) if value.shape else None

    def _operand(self, value: Value) -> Operand:
        return Operand.of(value, self.facts, self.layouts)

    def _layout(self, value: Value) -> Layout:
        return BY_ITEM if isinstance(value, Constant) else self.layouts[value]

    def _of_language(self, number: int, op: Op) -> Layout:
        """The layout of the only result of one of the language's own operations."""
        if self._is_formed(op.results[0]) or op.name in (ops.LOCAL_ID, ops.GROUP_ID):
            return LANE_FORM
        if op.name == ops.COLLECTIVE:
            return subgroup_layouts.of_collective(op, self.setting.geometry)
        is_load = op.name in ops.ACCESSES and not ops.changes(op)
        return self._loaded(number, op) if is_load else BY_ITEM

    def _loaded(self, number: int, op: Op) -> Layout:
        """The layout of the result of a load."""
        setting = self.setting
        if op.name == ops.LOAD:
            rewritten = number in hazards.of_body(self.facts).rewritten
            apart = rewritten and not setting.at_once and self._may_be_apart(op.results[0])
            if (masked := masked_layouts.of_load(op, self.facts, apart)) is not None:
                return masked
        return ByItem(shared=None if setting.block is None else shared_layouts.of_load(op, self.facts, setting.block))

    def _may_be_apart(self, value: Value) -> bool:
        """True if the elements of a value had better be computed apart where they are needed again."""
        return self.setting.apart and value not in masked_layouts.reduced(self.facts)

    def _is_formed(self, value: Value) -> bool:
        """True if it has a lane form that its operation's operands or nothing but the program decides on."""
        form = self.facts.values[value].form
        return form is not None and (form.constant or value in self.facts.factors)

    def _plan(self, op: Op) -> OperationPlan:
        """How one of JAX's operations is carried out."""
        single = len(op.results) == 1
        if single and self._is_formed(op.results[0]):
            return Formed()
        if single and (comparison := self._comparison(op)) is not None:
            return comparison
        of_run = self.setting.runtime_values.get(self.facts, frozenset())
        return operation_plans.of_op(op, self.facts, self.setting.multiplies, of_run)

    def _computed(self, plan: OperationPlan, op: Op) -> Layout:
        """The layout of the only result of one of JAX's operations."""
        match plan:
            case Formed():
                return LANE_FORM
            case Comparison(value=value):
                return subgroup_layouts.of_comparison(plan, self._operand(value), self.setting.geometry)
            case Elementwise():
                return self._elementwise(op, [self._operand(a) for a in op.operands])
            case Movement():
                return self._moved(op, [self._operand(a) for a in op.operands])
        return BY_ITEM

    def _elementwise(self, op: Op, operands: Sequence[Operand]) -> Layout:
        # Elements that some lanes have loaded are worth more than what sub-groups share.
        masked = [o for o in operands if isinstance(o.layout, Masked)]
        if masked:
            same = all(o.shape == op.results[0].shape for o in masked)
            return (masked_layouts.of_elementwise(o.layout for o in masked) if same else None) or BY_ITEM
        return _shared(subgroup_layouts.of_elementwise(op, operands, self.setting.geometry), operands)

    def _moved(self, op: Op, operands: Sequence[Operand]) -> Layout:
        setting, layout = self.setting, operands[0].layout
        moved = op.results[0] in masked_layouts.moved_later(self.facts)
        apart = moved and self._may_be_apart(op.results[0])
        if (masked := masked_layouts.of_movement(op, layout, self.facts, apart)) is not None:
            return masked
        if len(operands) != 1:
            return BY_ITEM
        return _shared(subgroup_layouts.of_movement(op, operands[0], setting.geometry), operands)

    def _comparison(self, op: Op) -> Comparison | None:
        """The comparison of fields of one value that an operation is, unless that has elements for themselves."""
        if self.setting.followed:
            return None
        comparison = compare_fusion.of_body(self.facts).get(op.results[0])
        return None if comparison is None or isinstance(self._layout(comparison.value), Masked) else comparison

    # --- Loops, branches and calls ---

    def _structured(self, number: int, op: Op) -> list[Layout] | None:
        """The layouts of the results of an operation with regions; None if it has none."""
        match control.of(op) if op.name not in ops.LANGUAGE else None:
            case Call():
                return self._outputs(number, 0, [self._layout(a) for a in op.operands])
            case Cond(branches=branches):
                return self._chosen(number, op, len(branches))
            case Scan(carries=carries):
                stacked = [BY_ITEM] * (len(op.results) - carries)
                return [*self._carried(number, op, 0, carries), *stacked]
            case While():
                return self._carried(number, op, 1, len(op.results))
        return None

    def _outputs(self, number: int, region: int, inputs: Sequence[Layout]) -> list[Layout]:
        """The layout of what a region gives, if its inputs are laid out so; those at the end may be missing."""
        facts = self.facts.inner[number][region]
        input_layouts = (*(self._layout(v) for v in facts.body.captures), *inputs)
        assignment = of_body(facts, input_layouts, self.setting)
        return [_carriable(assignment.of(v)) for v in facts.body.outputs]

    def _operands(self, number: int, region: int, layouts: Sequence[Layout]) -> list[Operand]:
        """What is known of the outputs of a region that are laid out so."""
        facts = self.facts.inner[number][region]
        known = [facts.value(v) for v in facts.body.outputs]
        each = zip(facts.body.outputs, layouts, known, strict=True)
        return [Operand(v.shape, layout, k.form, k.varying) for v, layout, k in each]

    def _chosen(self, number: int, op: Op, count: int) -> list[Layout]:
        """The layouts of the results of a choice between branches."""
        only = branch_plans.certain_branch(op, self.facts, self.setting.watched)
        possible = range(count) if only is None else [only]
        outputs = [self._operands(number, k, self._outputs(number, k, ())) for k in possible]
        return [
            LANE_FORM if self.facts.values[v].form is not None else self._of_choice(v, alternatives)
            for v, alternatives in zip(op.results, zip(*outputs, strict=True), strict=True)
        ]

    def _of_choice(self, value: Value, alternatives: Sequence[Operand]) -> Layout:
        if self.facts.values[value].space is not None:
            return BY_ITEM
        return subgroup_layouts.joined(alternatives, self.setting.geometry)

    def _carried(self, number: int, op: Op, region: int, count: int) -> list[Layout]:
        """How a loop carries what it does, from before the first iteration to after the last."""
        inner = self.facts.inner[number][region]
        known = [inner.values[v] for v in inner.body.inputs[:count]]
        carries = [self._operand(a) for a in op.operands[:count]]

        def inside() -> list[Layout]:
            return [self._carry(k, c) for k, c in zip(known, carries, strict=True)]

        # Each changes twice at most.
        for _ in range(2 * count + 1):
            after = self._operands(number, region, self._outputs(number, region, inside()))[:count]
            joined = [
                c if k.space is not None or k.form is not None else self._merged(c, out)
                for k, c, out in zip(known, carries, after, strict=True)
            ]
            if [c.layout for c in joined] == [c.layout for c in carries]:
                return inside()
            carries = joined
        return [LANE_FORM if k.form is not None else BY_ITEM for k in known]

    def _carry(self, known: Known, carried: Operand) -> Layout:
        if known.form is not None:
            return LANE_FORM
        return BY_ITEM if known.space is not None else _of_array(carried, self.setting.geometry)

    def _merged(self, carried: Operand, after: Operand) -> Operand:
        """A carry in the layout that it and what an iteration makes of it can both have."""
        layout = subgroup_layouts.joined([carried, after], self.setting.geometry)
        same = layout == _of_array(carried, self.setting.geometry)
        return carried if same else dataclasses.replace(carried, layout=layout, form=None)


def _carriable(layout: Layout) -> Layout:
    """The layout of a value where it leaves a loop or branch."""
    match layout:
        case Masked():
            return BY_ITEM
        case ByItem(uniform=uniform):
            return ByItem(uniform=uniform)
    return layout


def _shared(layout: Layout, operands: Sequence[Operand]) -> Layout:
    """The same, once for groups that share the operands."""
    if not isinstance(layout, ByItem):
        return layout
    return dataclasses.replace(layout, shared=shared_layouts.of_operands(operands))


def _of_array(value: Operand, geometry: Geometry) -> Layout:
    """The layout of a value where it has to be an array."""
    return value.layout if isinstance(value.layout, BySubgroup) else ByItem(uniform=value.is_group_uniform(geometry))

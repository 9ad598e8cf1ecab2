"""Shared layouts: which values groups share along some dimensions of a chunk, as they do rows and columns of tiles."""

from collections.abc import Sequence

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing
from xeemu.knowledge.analysis import Facts
from xeemu.planning import layouts
from xeemu.planning.layouts import Sharing
from xeemu.planning.subgroup_layouts import Operand


def of_load(op: Op, facts: Facts, block: tuple[int, ...]) -> Sharing | None:
    """Which groups share what a load gives: those along dimensions on which its index does not depend.

    Args:
      op: the load.
      facts: what is known of its operands.
      block: the groups along each dimension.
    """
    result, memory = facts.values[op.results[0]], facts.values[op.operands[0]]
    single = memory.space == "global" or memory.group_invariant
    if not (single and result.varying and result.form is None and _loads_all(op, facts)):
        return None
    forms = [facts.value(a).form for a in ops.indices(op)]
    steps = [form.steps for form in forms if form is not None]
    if not steps or len(steps) < len(forms):
        return None
    return Sharing.of(block, [any(of_index) for of_index in zip(*steps, strict=True)])


def _loads_all(op: Op, facts: Facts) -> bool:
    """True if no mask leaves an element out of a load."""
    if op.attributes["access"].bounded:
        return True
    return not addressing.is_masked(op, facts.value) and addressing.active_elements(op, facts.value).all


def of_operands(operands: Sequence[Operand]) -> Sharing | None:
    """Which groups share what is made of operands: those that share all that differ between groups alike."""
    found = {layouts.sharing(o.layout) for o in operands if o.varying}
    return found.pop() if len(found) == 1 else None

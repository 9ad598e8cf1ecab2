"""Which memories a launch overwrites as a whole, so that what was in them need not be copied."""

from xeemu.emission import distinctness, locating
from xeemu.knowledge import intervals
from xeemu.knowledge.analysis import Plan
from xeemu.language import primitives
from xeemu.language.program import Program


def overwritten(program: Program, plan: Plan) -> frozenset[int]:
    """The numbers of the arguments that one store fills, without a mask and without a load before it."""
    return frozenset(k for k, memory in enumerate(program.arguments) if memory is not None and _fills(program, plan, k))


def _fills(program: Program, plan: Plan, number: int) -> bool:
    """Whether the elements of all groups are different ones of a memory, and as many as it has."""
    store, memory, geometry = program.sole_use(number), program.body.invars[number].aval, program.geometry
    if store is None or store.primitive is not primitives.store_p or primitives.mask(store) or geometry.ragged:
        return False
    dimensions = len(geometry.group_range)
    found = [plan.value(a, dimensions).interval for a in primitives.indices(store)]
    inside = all(intervals.within(i, (0, n - 1)) for i, n in zip(found, memory.shape, strict=True))
    where, form = locating.foreseen(store, plan, dimensions)
    if not inside or form is None or form.based or not where.count or where.count * geometry.groups != memory.size:
        return False
    return distinctness.of_groups(form.pattern, form.steps, geometry)

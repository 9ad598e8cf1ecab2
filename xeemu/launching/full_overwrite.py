"""Full overwrite: which memories a launch overwrites as a whole, so that what was in them need not be copied."""

from collections.abc import Sequence

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing, injectivity
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.forms import Form
from xeemu.language.geometry import Geometry
from xeemu.language.program import Program


def overwritten(program: Program, facts: Facts) -> frozenset[int]:
    """The numbers of the arguments that stores fill, without a load before them."""
    return frozenset(
        k for k, memory in enumerate(program.arguments) if memory is not None and _fills(program, facts, k)
    )


def _fills(program: Program, facts: Facts, number: int) -> bool:
    """True if plain stores, and nothing else, use a memory, and store to each of its elements."""
    stores = [program.body.ops[n] for n in program.uses(number)]
    if not all(store.name == ops.STORE and not addressing.is_masked(store, facts.value) for store in stores):
        return False
    if len(stores) == 1 and _is_global_id(stores[0], facts):
        return True
    return bool(stores) and not program.geometry.ragged and _cover_memory(stores, facts)


def _is_global_id(store: Op, facts: Facts) -> bool:
    """True if each component of the index is the global id of another dimension, with an item for each element."""
    shape, geometry = ops.viewed_shape(store), facts.geometry
    elements = addressing.foreseen(store, facts).elements
    if elements.shape != geometry.local_range or not elements.all or len(shape) != facts.dimensions:
        return False
    remaining = list(range(facts.dimensions))
    for index, size in zip(ops.indices(store), shape, strict=True):
        form = facts.value(index).form
        of = [d for d in remaining if geometry.global_range[d] >= size and _is_id(form, d, geometry)]
        if not of:
            return False
        remaining.remove(of[0])
    return True


def _is_id(form: Form | None, dimension: int, geometry: Geometry) -> bool:
    """True if a value is the global id of a dimension."""
    local = geometry.local_range
    if form is None or form.based:
        return False
    further = zip(form.steps, local, geometry.group_range, strict=True)
    if any(groups > 1 and step != (n if d == dimension else 0) for d, (step, n, groups) in enumerate(further)):
        return False
    ids = np.arange(local[dimension]).reshape([-1 if d == dimension else 1 for d in range(len(local))])
    return np.array_equal(np.broadcast_to(form.pattern, local), np.broadcast_to(ids, local))


def _cover_memory(stores: Sequence[Op], facts: Facts) -> bool:
    """True if the elements of all groups are different ones of a memory, and as many as it has."""
    found = [addressing.foreseen(store, facts) for store in stores]
    forms = [a.form for a in found if a.proved and a.form is not None and not a.form.based]
    if len(forms) < len(found) or any(form.steps != forms[0].steps for form in forms):
        return False
    pattern = np.sort(np.concatenate([form.pattern for form in forms]))
    exact = 0 < len(pattern) * facts.geometry.groups == stores[0].operands[0].size
    return exact and injectivity.of_groups(pattern, forms[0].steps, facts.geometry)

"""Access plans: which way a reference is carried out, from what is known of it before anything runs or is emitted."""

import dataclasses

import numpy as np
import pytest

from xeemu.devices.target import CPU, GPU
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Index
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form
from xeemu.language.geometry import Geometry
from xeemu.planning import (
    access_plans,
)
from xeemu.planning.access_plans import (
    Empty,
    Gather,
    InOrder,
    Missing,
    Scatter,
    ScatteredUpdate,
)
from xeemu.planning.chunk import Chunk
from xeemu.planning.references import Reference
from xeemu.planning.storage import Storage
from xeemu.planning.windows import Window

ITEMS, GROUPS = 16, 8
CHUNK = Chunk(Geometry((ITEMS * GROUPS,), (ITEMS,), 16, False, np.dtype(np.int32)), GROUPS, CPU, True)
ON_GPU = dataclasses.replace(CHUNK, target=GPU)
LANES = np.arange(ITEMS)
SIZE = ITEMS * GROUPS


def index(pattern, step=ITEMS, based=False):
    """A component of an index by its lane form: of each work-item, and `step` more for each group."""
    last = step * (GROUPS - 1)
    interval = (-(2**20), 2**20) if based else (int(pattern.min()) + min(last, 0), int(pattern.max()) + max(last, 0))
    return Index(Known(True, interval, Form(based, (step,), pattern)), np.dtype(np.int32))


UNKNOWN = Index(Known(True, (0, SIZE - 1)), np.dtype(np.int32))


def reference(*indices, shape=(SIZE,), space="global", masked=False, alone=True, kept=None, dtype=np.int32):
    """A reference of all work-items to a memory, or of those that are kept."""
    array = {"global": (int(np.prod(shape)),), "local": (GROUPS, *shape), "private": (*shape, SIZE)}[space]
    storage = Storage(space, shape, array, np.dtype(dtype), None, alone, None)
    elements = addressing.everyone((ITEMS,))
    address = addressing.of_index(shape, 1, indices, elements if kept is None else elements.only(np.array(kept, int)))
    return Reference(storage, address, masked, True)


def loaded(given, chunk=CHUNK, missing=None, **constraint):
    return access_plans.of_load(given, chunk, missing, **constraint)


def test_a_line_is_a_window():
    plan = loaded(reference(index(LANES)))
    assert isinstance(plan, Window)
    assert (plan.rectangle.sizes, plan.groups) == ((GROUPS, ITEMS), GROUPS)
    assert isinstance(loaded(reference(index(LANES)), gathered=True), Gather)


def test_what_may_be_out_of_bounds_is_a_boundary_window():
    plan = loaded(reference(index(LANES - 1)), missing=np.float32(7.5))
    assert (plan.rectangle.edge.margins, plan.rectangle.edge.missing) == (((1, 0),), 7)


@pytest.mark.parametrize(
    ("chunk", "size", "by"), [(CHUNK, SIZE, "branch"), (CHUNK, SIZE - 1, "margins"), (ON_GPU, SIZE, "padding")]
)
def test_the_program_looks_if_a_window_lies_within_where_it_may_and_a_branch_pays(chunk, size, by):
    assert loaded(reference(index(LANES - 1), shape=(size,)), chunk).rectangle.edge.by == by


def test_where_it_begins_is_known_only_when_the_program_runs():
    assert isinstance(loaded(reference(index(LANES, based=True))), Gather)


def test_places_that_depend_on_data_are_looked_up():
    plan = loaded(reference(UNKNOWN))
    assert isinstance(plan, Gather)
    assert plan.run == 1


@pytest.mark.parametrize(("masked", "run"), [(False, 4), (True, 1)])
def test_elements_that_follow_each_other_are_looked_up_together(masked, run):
    rows = index(LANES % 4 + np.array([0, 40, 4, 80])[LANES // 4], step=0)
    plan = loaded(reference(rows, masked=masked))
    assert isinstance(plan, Gather)
    assert plan.run == run


def test_nothing_is_left():
    assert isinstance(loaded(reference(index(LANES), kept=[])), Missing)
    assert isinstance(access_plans.of_store(reference(index(LANES), kept=[]), CHUNK).by, Empty)
    assert isinstance(access_plans.of_atomic(reference(index(LANES), kept=[]), CHUNK, "add", 1, True), Empty)
    assert isinstance(access_plans.of_fetch(reference(index(LANES), kept=[]), CHUNK, "add"), Empty)


def test_stores():
    def of(given, *options, chunk=CHUNK):
        return access_plans.of_store(given, chunk, *options)

    assert isinstance(of(reference(index(LANES))).by, Window)
    assert isinstance(of(reference(index(LANES)), True).by, Scatter)
    assert isinstance(
        of(reference(index(2 * LANES, step=0), alone=False)).by, Scatter
    )  # others lie between the elements
    assert of(reference(index(LANES - 1))).by.rectangle.edge.margins == ((1, 0),)
    assert isinstance(of(reference(index(LANES - 1)), chunk=ON_GPU).by, Scatter)
    assert isinstance(of(reference(UNKNOWN)).by, Scatter)


@pytest.mark.parametrize(
    ("op", "dtype", "waits", "kind"),
    [
        ("add", np.int32, False, Window),
        ("add", np.int32, True, ScatteredUpdate),
        ("xor", np.int32, False, Window),
        ("exchange", np.int32, False, InOrder),
        ("max", np.float32, False, Window),
    ],
)
def test_atomic_updates_of_a_line(op, dtype, waits, kind):
    given = reference(index(LANES), dtype=dtype)
    assert isinstance(access_plans.of_atomic(given, ON_GPU, op, None, waits), kind)


@pytest.mark.parametrize(
    ("groups", "target", "dtype", "in_parts"),
    [(16, CPU, np.int32, True), (16, GPU, np.int32, False), (16, CPU, np.int8, False), (15, CPU, np.int32, False)],
)
def test_a_long_row_for_one_element_is_combined_in_parts_where_rows_are_slow(groups, target, dtype, in_parts):
    geometry = dataclasses.replace(CHUNK.geometry, global_range=(ITEMS * groups,))
    chunk = dataclasses.replace(CHUNK, geometry=geometry, count=groups, target=target)
    one = reference(index(np.zeros_like(LANES), step=0), dtype=dtype)
    assert (access_plans.of_atomic(one, chunk, "add").reduction is not None) == in_parts


def test_sums_of_floats_are_taken_in_order():
    given = reference(index(LANES), dtype=np.float32)
    assert isinstance(access_plans.of_atomic(given, ON_GPU, "add"), InOrder)
    assert isinstance(access_plans.of_atomic(given, CHUNK, "add"), ScatteredUpdate)  # a CPU's scatters are
    any_order = dataclasses.replace(ON_GPU, deterministic=False)
    assert isinstance(access_plans.of_atomic(given, any_order, "add"), Window)


def test_counts_in_few_bins():
    bins = Index(Known(True, (2, 5)), np.dtype(np.int32))
    given = reference(bins, shape=(8,), space="private")
    single = dataclasses.replace(CHUNK, single=True)
    plan = access_plans.of_atomic(given, single, "sub", 3, True)
    assert plan.private_element
    assert (plan.few_elements.first, plan.few_elements.size, plan.few_elements.number) == (2, 4, -3)
    assert access_plans.of_atomic(given, CHUNK, "sub", 3, True).few_elements is None
    assert access_plans.of_atomic(given, single, "sub", None, True).few_elements is None

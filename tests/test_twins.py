"""The examples in OpenCL C do, show and cost what the hand-written kernels do."""

import collections
import functools

import numpy as np
import pytest

import xeemu as xe
from xeemu.kernels import EXAMPLES, slm_bank
from xeemu.kernels.twins import TWINS

SIZES = {
    "slm_bank_16": (96,),
    "slm_bank_1": (96,),
    "convolution_global": (1024, 65),
    "convolution_slm": (768, 65),
    "histogram_private": (16384,),
    "histogram_registers": (16384,),
    "histogram_slm": (2 * 16384,),
    "histogram_slm_1024": (16384,),
    "table_copy_bad": (100, 3, 64),
    "table_copy_good": (1000, 2, 64),
    "table_copy_best": (256, 3, 256),
    "table_copy_min": (100, 3, 256),
    "table_copy_unrolled": (1024, 3, 256),
    "table_copy_loop": (1000, 3, 256),
    "tree_reduction": (1000,),
    "tree_reduction_sequential": (1000,),
    "matmul_naive": (16,),
    "matmul_local": (16,),
    "matmul_tiled": (40, 70, 33),
    "reduction_serial": (37,),
    "reduction_racy": (1000,),
    "reduction_atomics_buffer": (1021,),
    "reduction_atomics_usm": (1021,),
    "atomics_lab": (1021,),
}
OTHERWISE_COMPUTED = {
    "convolution_global": "a sub-group leaves a loop with its last work-item; work-items that are done are masked out",
    "convolution_slm": "sub-groups without an active work-item leave out what is in an `if`",
    "histogram_registers": "the loops over lanes and fields are written out in Python, and loops in C",
    "histogram_slm": "the address of a block is computed in another order",
    "histogram_slm_1024": "the address of a block is computed in another order",
    "table_copy_loop": "masks of the hand-written kernel say who still copies; in C each work-item has its own bound",
    "tree_reduction": "sub-groups without an active work-item leave out what is in an `if`",
    "tree_reduction_sequential": "sub-groups without an active work-item leave out what is in an `if`",
    "matmul_tiled": "flat arrays have addresses to compute, arrays of two dimensions two indices",
}
"""Of which the instructions are not the same ones, and why; those that access memory or wait still are."""

ENDED_BY_ARGUMENT = {"reduction_serial"}
"""Of which a loop ends at a constant in Python and at an argument in C, so that compilers write out the first alone."""

RACES = {
    "table_copy_bad": "slm_table[index] = table[index];",
    "table_copy_min": "slm_table[index] = table[index];",
    "reduction_racy": "total[0] += data[get_global_id(0)];",
}
"""Of which `check` finds races: the line of the `.cl` file."""


class Example:
    """An example at a size, and what is the same in another language."""

    def __init__(self, name):
        self.size = SIZES[name]
        self.example = slm_bank.example(int(name[9:]), 100) if name.startswith("slm_bank") else EXAMPLES[name]
        self.nd_range = self.example.nd_range(self.size)
        self.inputs = self.example.inputs(self.size)


@functools.cache
def example(name):
    return Example(name)


@functools.cache
def of_hand(name, transformation):
    """What a transformation gives of the hand-written kernel, which each twin is held against."""
    case = example(name)
    return transformation(case.example.kernel, case.nd_range)(*case.inputs, **case.example.static)


class Case:
    """An example and its twin."""

    def __init__(self, name):
        self.name, self.hand, self.twin = name, example(name), TWINS[name]
        self.kernel = self.twin.load(self.hand.example, self.hand.size)

    def of_both(self, transformation):
        """What a transformation gives of the example, and of its twin."""
        given = self.twin.arguments(*self.hand.inputs)
        return of_hand(self.name, transformation), transformation(self.kernel, self.hand.nd_range)(*given)


def _items(finding):
    return [(item.global_id, item.sub_group) for item in finding.work_items]


@functools.cache
def case(name):
    return Case(name)


def counted(report):
    """The sites of a report without their lines, in any order."""
    fields = ("memory", "op", "space", "lanes", "requests", "passes", "ideal_passes", "lines", "sectors")
    rows = (tuple(getattr(site, f) for f in (*fields, "bytes_used", "bytes_moved")) for site in report.sites)
    return collections.Counter(rows)


def assert_equal_counts(name, hand, twin):
    assert counted(twin) == counted(hand)
    for total in ("slm", "global_", "atomics", "barriers"):
        assert getattr(twin, total) == getattr(hand, total)
    a, b = (collections.defaultdict(int, report.instructions) for report in (hand, twin))
    if name in ENDED_BY_ARGUMENT:
        assert sum(a.values()) < sum(b.values())
    elif name in OTHERWISE_COMPUTED:
        assert sum(b.values()) < 1.5 * sum(a.values())
    else:
        assert b == a
    for kind in ("barrier", "shuffle", "f32"):
        assert b[kind] == a[kind]
    # Where the hand-written kernel masks an access, C branches, and sub-groups without an active lane do not issue it.
    assert b["memory"] <= a["memory"]


def assert_equal_outputs(hand, twin):
    hand, twin = (x if isinstance(x, tuple) else (x,) for x in (hand, twin))
    for a, b in zip(hand, twin, strict=True):
        np.testing.assert_array_equal(np.asarray(b), np.asarray(a))


def test_every_example_has_a_twin():
    assert set(TWINS) == set(EXAMPLES) == set(SIZES)


@pytest.mark.parametrize("name", SIZES)
def test_results_are_equal(name):
    assert_equal_outputs(*case(name).of_both(xe.launch))


@pytest.mark.parametrize("name", SIZES)
def test_estimates_are_equal(name):
    assert_equal_counts(name, *case(name).of_both(xe.estimate))


@pytest.mark.every(2)
@pytest.mark.parametrize("name", SIZES)
def test_profiles_are_equal(name):
    (a, hand), (b, twin) = case(name).of_both(xe.profile)
    assert_equal_outputs(a, b)
    assert_equal_counts(name, hand, twin)


@pytest.mark.thorough
@pytest.mark.parametrize("name", RACES)
def test_races_are_found_where_the_hand_written_kernel_has_them(name):
    (a, hand), (b, twin) = case(name).of_both(xe.check)
    described = [
        [(f.kind, f.severity, f.space, f.memory, f.address, f.count, _items(f), f.groups) for f in found]
        for found in (hand, twin)
    ]
    assert described[0] == described[1]
    assert len(twin) == 1
    path, line = TWINS[name].path, RACES[name]
    for site in twin[0].sites:
        assert (site.file, site.source) == (str(path), line)
        assert path.read_text().splitlines()[site.line - 1].strip() == line
    assert len(twin.watched) == len(hand.watched) == 1
    if name != "reduction_racy":
        assert_equal_outputs(a, b)


@pytest.mark.every(2)
@pytest.mark.parametrize("name", [name for name in SIZES if name not in RACES])
def test_what_is_proved_of_a_clean_kernel_is_proved_of_its_twin(name):
    (a, hand), (b, twin) = case(name).of_both(xe.check)
    assert hand == twin == ()
    assert hand.watched == twin.watched == ()
    assert_equal_outputs(a, b)

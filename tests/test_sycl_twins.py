"""The examples in SYCL C++ do, show and cost what the hand-written kernels do; the texts' fragments are told right."""

import functools

import numpy as np
import pytest
from test_twins import RACES, assert_equal_counts, assert_equal_outputs, example, of_hand

import xeemu as xe
from xeemu.kernels import cplusplus
from xeemu.kernels.cplusplus import PROGRAMS


class Case:
    """An example and its program."""

    def __init__(self, name):
        self.name, self.hand, self.program = name, example(name), PROGRAMS[name]
        self.kernel = self.program.load(self.hand.example, self.hand.size)

    def of_both(self, transformation):
        given = self.program.arguments(self.kernel, self.hand.example, self.hand.inputs)
        return of_hand(self.name, transformation), transformation(self.kernel, self.hand.nd_range)(**given)


@functools.cache
def case(name):
    return Case(name)


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_equal(name):
    assert_equal_outputs(*case(name).of_both(xe.launch))


@pytest.mark.parametrize("name", PROGRAMS)
def test_estimates_are_equal(name):
    assert_equal_counts(name, *case(name).of_both(xe.estimate))


@pytest.mark.every(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_findings_are_equal(name):
    (_, hand), (_, program) = case(name).of_both(xe.check)
    described = [[(f.kind, f.severity, f.space, f.address, f.count) for f in found] for found in (hand, program)]
    assert described[1] == described[0]
    assert len(program) == (name in RACES)
    for site in [site for finding in program for site in finding.sites]:
        assert site.file == str(PROGRAMS[name].path)


# --- The texts' fragments ---


def fragment(name):
    return xe.load(cplusplus.folder() / f"{name}.cpp")


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("barrier_in_both_branches", ["barrier-divergence"]),
        ("group_barrier_in_both_branches", ["barrier-divergence"]),
        ("barrier_after_the_branches", []),
    ],
)
def test_a_barrier_that_not_all_reach_is_found(name, kinds):
    kernel = fragment("branch_barrier")[name]
    _, findings = xe.check(kernel, xe.NDRange(64, 16))(np.zeros(64, np.int32))
    assert [f.kind for f in findings if f.severity == "error"][:1] == kinds


@pytest.mark.parametrize(
    ("name", "racing"), [("plain_writes", {"x", "y"}), ("relaxed_flag", {"x"}), ("released_flag", set())]
)
def test_writes_that_nothing_orders_are_races(name, racing):
    kernel = fragment("relaxed_writes")[name]
    values = {"x": np.zeros(1, np.int32), "y": np.zeros(1, np.int32), "seen": np.zeros(2, np.int32)}
    _, findings = xe.check(kernel, kernel.nd_range)(**values)
    assert {f.memory for f in findings if f.kind == "data-race"} == racing


def test_a_reduction_into_its_own_input_is_a_race_between_groups():
    kernel = fragment("reduction_in_place")["reduction_in_place"]
    values = {"global_mem": np.ones(256, np.int32), "left": np.uint64(256)}
    _, findings = xe.check(kernel, xe.NDRange(128, 32))(**values)
    assert {(f.kind, f.space) for f in findings} == {("data-race", "global")}

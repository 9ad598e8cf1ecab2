"""`check`, schedules and `xe.litmus` agree on programs that both can express."""

import itertools

import litmus_kernels
import pytest

import xeemu as xe
from xeemu.kernels.litmus import KNOWN

x, y, z = (xe.litmus.location(name) for name in "xyz")
LOCAL_X, LOCAL_Y = (xe.litmus.location(name, space="local") for name in "xy")
POSITIONS = ("sub_group", "work_group", "device")
SCOPES = ("sub_group", "work_group", "device")


def has_fences(test):
    return any(statement.kind == "fence" for item in test.program.work_items for statement in item)


def has_barriers(test):
    return any(statement.kind == "barrier" for item in test.program.work_items for statement in item)


def message(store, load, scope, positions, data=x, flag=y):
    giver = [data.store(1), flag.atomic.store(1, store, scope)]
    taker = [flag.atomic.load("r0", load, scope), data.load("r1").when(r0=1)]
    return xe.litmus("message", [giver, taker], positions)


def fenced(before, after, scope, positions):
    fence = xe.litmus.fence
    giver = [x.store(1), *([fence(order=before, scope=scope)] if before else []), y.atomic.store(1)]
    taker = [y.atomic.load("r0"), *([fence(order=after, scope=scope)] if after else []), x.load("r1").when(r0=1)]
    return xe.litmus("fenced", [giver, taker], positions)


def chain(*orders):
    items = [
        [x.store(1), y.atomic.store(1, orders[0])],
        [y.atomic.load("r0", orders[1]), z.atomic.store(1, orders[2]).when(r0=1)],
        [z.atomic.load("r1", orders[3]), x.load("r2").when(r1=1)],
    ]
    return xe.litmus("chain", items)


def handed_on(kind, order):
    """The flag of a release is overwritten by a third work-item, in one way or another."""
    between = {
        "fetch_add": [y.atomic.fetch_add("r2", 1, order)],
        "exchange": [y.atomic.exchange("r2", 2, order)],
        "compare_exchange": [y.atomic.compare_exchange("r2", 1, 2, order)],
        "store": [y.atomic.load("r2"), y.atomic.store(2, order).when(r2=1)],
    }[kind]
    first, last = [x.store(1), y.atomic.store(1, "release")], [y.atomic.load("r0", "acquire"), x.load("r1").when(r0=2)]
    return xe.litmus("handed on", [first, between, last])


def counted(order, scope="device", positions="device", last=1):
    """Two count and the one that finds the other's arrival reads what it has stored."""
    return xe.litmus(
        "counted",
        [
            [x.store(1), y.atomic.fetch_add("r0", 1, order, scope), z.load("r1").when(r0=last)],
            [z.store(1), y.atomic.fetch_add("r2", 1, order, scope), x.load("r3").when(r2=last)],
        ],
        positions,
    )


def exchanged(expected, scope, positions):
    """A compare-and-exchange beside a plain load, and beside another one."""
    return xe.litmus(
        "exchanged",
        [[x.atomic.compare_exchange("r0", expected, 1, "relaxed", scope)]] * 1 + [[x.load("r1")]],
        positions,
    )


STORES, LOADS = ("relaxed", "release", "seq_cst"), ("relaxed", "acquire", "seq_cst")
TESTS = {name: known.test for name, known in KNOWN.items()}
for given in itertools.product(STORES, LOADS, SCOPES, POSITIONS):
    TESTS["message " + " ".join(given)] = message(*given)
for given in itertools.product(STORES, LOADS, SCOPES[:2], POSITIONS[:2]):
    TESTS["local message " + " ".join(given)] = message(*given, LOCAL_X, LOCAL_Y)
for given in itertools.product(
    ("", "acquire", "release", "acq_rel"), ("", "acquire", "release", "seq_cst"), SCOPES[1:], POSITIONS[1:]
):
    TESTS["fenced " + " ".join(given)] = fenced(*given)
for relaxed in range(5):
    orders = ["relaxed" if n == relaxed else order for n, order in enumerate(("release", "acquire") * 2)]
    TESTS[f"chain {relaxed}"] = chain(*orders)
for kind, order in itertools.product(("fetch_add", "exchange", "compare_exchange", "store"), ("relaxed", "release")):
    TESTS[f"handed on by {kind} {order}"] = handed_on(kind, order)
for order, last in itertools.product(("relaxed", "acquire", "release", "acq_rel", "seq_cst"), (0, 1)):
    TESTS[f"counted {order} {last}"] = counted(order, last=last)
for scope, positions in itertools.product(SCOPES, POSITIONS):
    TESTS[f"counted {scope} {positions}"] = counted("acq_rel", scope, positions)
for expected, positions in itertools.product((0, 7), POSITIONS):
    TESTS[f"exchanged {expected} {positions}"] = exchanged(expected, "device", positions)

EACH = pytest.mark.parametrize("test", [pytest.param(test, id=name) for name, test in TESTS.items()])


@EACH
def test_check_finds_a_race_where_the_model_has_one(test):
    findings = litmus_kernels.of_test(test).found()
    assert any(finding.severity == "error" for finding in findings) == test.undefined, f"{test}\n{findings}"


@pytest.mark.parametrize(
    "test", [pytest.param(t, id=name) for name, t in TESTS.items() if not has_fences(t) and not has_barriers(t)]
)
def test_so_it_does_where_work_items_take_turns(test):
    findings = litmus_kernels.of_test(test, in_turn=True).found()
    assert any(finding.severity == "error" for finding in findings) == test.undefined, f"{test}\n{findings}"


@pytest.mark.parametrize("test", [pytest.param(t, id=name) for name, t in TESTS.items() if not t.undefined])
def test_a_schedule_gives_what_the_model_allows(test):
    kernel = litmus_kernels.of_test(test)
    for key in (None, *range(8)):
        outcome = kernel.outcome(key)
        assert test.allowed(**outcome), f"{outcome} under {key}\n{test}"

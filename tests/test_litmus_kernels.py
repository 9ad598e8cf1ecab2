"""`check` and `xe.litmus` agree: a kernel has an error where the test that it is has a data race, and only there."""

import random

import litmus_kernels
import numpy as np
import pytest

import xeemu as xe
from xeemu.kernels.litmus import KNOWN, release_sequence
from xeemu.memory_model.litmus import Litmus, litmus

x, y, z = (litmus.location(name) for name in "xyz")
ORDERS = ("relaxed", "release", "acquire", "acq_rel", "seq_cst")


def found(test: Litmus) -> xe.Findings:
    kernel, nd_range = litmus_kernels.kernel(test), litmus_kernels.nd_range(test)
    return xe.check(kernel, nd_range, device=litmus_kernels.DEVICE)(*litmus_kernels.arguments(test))[1]


def assert_agrees(test: Litmus) -> None:
    findings = found(test)
    assert bool(findings.errors) == test.undefined, f"{test}\n{findings}"
    assert {finding.kind for finding in findings} <= {"data-race", "wrong-fence"}


def passing(store: str, load: str, scope: str = "device", place: str = "device", guard: bool = True) -> Litmus:
    """Message passing of plain data."""
    taking = x.load("r1").when(r0=1) if guard else x.load("r1")
    programs = [
        [x.store(1), y.atomic.store(1, store, scope)],
        [y.atomic.load("r0", load, scope), taking],
    ]
    return litmus("MP", programs, place)


def fenced(release: str, acquire: str, scope: str = "device") -> Litmus:
    """Message passing of plain data by relaxed operations, with fences; none for an empty order."""
    before = [litmus.fence(order=release, scope=scope)] if release else []
    after = [litmus.fence(order=acquire, scope=scope)] if acquire else []
    programs = [
        [x.store(1), *before, y.atomic.store(1)],
        [y.atomic.load("r0"), *after, x.load("r1").when(r0=1)],
    ]
    return litmus("MP", programs, "device")


def chain(first: str, second: str) -> Litmus:
    """ISA2 of plain data: a second work-item passes on what it has seen."""
    programs = [
        [x.store(1), y.atomic.store(1, "release")],
        [y.atomic.load("r0", first), z.atomic.store(1, second).when(r0=1)],
        [z.atomic.load("r1", "acquire"), x.load("r2").when(r1=1)],
    ]
    return litmus("ISA2", programs, "device")


def lock(acquire: str, release: str, place: str = "device", early: bool = False) -> Litmus:
    """Two work-items that try a lock and write what it guards."""

    def item(n: int) -> list:
        got = {f"r{n}": 0}
        body = [x.store(n).when(**got), y.atomic.store(0, release).when(**got)]
        return [y.atomic.compare_exchange(f"r{n}", 0, 1, acquire), *(reversed(body) if early else body)]

    return litmus("lock", [item(0), item(1)], place)


CASES = {
    "release_acquire": passing("release", "acquire"),
    "relaxed": passing("relaxed", "relaxed"),
    "relaxed_store": passing("relaxed", "acquire"),
    "relaxed_load": passing("release", "relaxed"),
    "seq_cst": passing("seq_cst", "seq_cst"),
    "unguarded": passing("release", "acquire", guard=False),
    "narrow_scope": passing("release", "acquire", "work_group"),
    "scope_of_the_group": passing("release", "acquire", "work_group", "work_group"),
    "scope_of_the_sub_group": passing("release", "acquire", "sub_group", "sub_group"),
    "sub_group_across": passing("release", "acquire", "sub_group", "work_group"),
    "fences": fenced("release", "acquire"),
    "fences_acq_rel": fenced("acq_rel", "acq_rel"),
    "no_release_fence": fenced("", "acquire"),
    "no_acquire_fence": fenced("release", ""),
    "narrow_fences": fenced("release", "acquire", "work_group"),
    "chain": chain("acquire", "release"),
    "chain_relaxed": chain("relaxed", "release"),
    "chain_unpublished": chain("acquire", "relaxed"),
    "lock": lock("acquire", "release"),
    "lock_in_a_group": lock("acquire", "release", "work_group"),
    "lock_relaxed": lock("relaxed", "release"),
    "lock_unreleased": lock("acquire", "relaxed"),
    "lock_released_early": lock("acquire", "release", early=True),
    "sequence_by_another": release_sequence([], [y.atomic.fetch_add("r2", 1)]),
    "sequence_ended_by_another": release_sequence([], [y.atomic.store(2)]),
    "sequence_by_itself": release_sequence([y.atomic.store(2)]),
}


@pytest.mark.every(4)
@pytest.mark.parametrize("name", CASES)
def test_flags_locks_and_fences(name):
    assert_agrees(CASES[name])


@pytest.mark.parametrize("name", [name for name in KNOWN if litmus_kernels.is_expressible(KNOWN[name].test)])
def test_known_verdicts(name):
    assert_agrees(KNOWN[name].test)


def drawn(seed: int) -> Litmus:
    """A random test of two or three work-items, two of its locations only atomic, one plain."""
    draw = random.Random(seed)
    flags, items = (y, z)[: draw.choice((1, 2))], []
    for n in range(draw.choice((2, 2, 3))):
        statements: list = []
        for k in range(draw.randint(1, 3)):
            name, flag = f"r{n}{k}", draw.choice(flags)
            guards = [s.register for s in statements if s.register and s.location is not x and not s.guard]
            kind = draw.choice(("plain", "store", "load", "fetch_add", "fence"))
            if kind == "plain":
                made = draw.choice((x.store(n + 1), x.load(name)))
            elif kind == "fence":
                made = litmus.fence(order=draw.choice(ORDERS[1:]), scope="device")
            elif kind == "store":
                made = flag.atomic.store(1, draw.choice(("relaxed", "release", "seq_cst")))
            elif kind == "load":
                made = flag.atomic.load(name, draw.choice(("relaxed", "acquire", "seq_cst")))
            else:
                made = flag.atomic.fetch_add(name, 1, draw.choice(ORDERS))
            if guards and kind != "fence" and draw.random() < 0.7:
                made = made.when(**{draw.choice(guards): 1})
            statements.append(made)
        items.append(statements)
    if not any(s.location is not None for statements in items for s in statements):
        items[0].append(x.store(1))
    return litmus("drawn", items, draw.choice(("device", "work_group", "sub_group")))


@pytest.mark.parametrize("seed", [pytest.param(n, marks=[pytest.mark.long] if n % 20 else []) for n in range(201)])
def test_random_tests(seed):
    assert_agrees(drawn(seed))


def test_outcomes_of_schedules_are_allowed():
    test = passing("release", "acquire")
    launch = litmus_kernels.kernel(test), litmus_kernels.nd_range(test)
    for key in range(40):
        registers = xe.launch(*launch, device=litmus_kernels.DEVICE, schedule=key)(*litmus_kernels.arguments(test))[-1]
        r0, r1 = np.asarray(registers).tolist()
        assert not r0 or r1 == 1

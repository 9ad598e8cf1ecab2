"""The brute-force race checker against verdicts known by hand, and against the axioms of `xe.litmus`."""

import itertools
import random
from collections.abc import Iterator

import interleavings
import pytest
import synchronising
from interleavings import Access, Barrier, Choice, Collect, Fence, Guard, Loop, Memory, Program, Statement

from xeemu.kernels.litmus import KNOWN
from xeemu.memory_model.litmus import Litmus, litmus
from xeemu.memory_model.statements import Statement as LitmusStatement

ORDERS = ("relaxed", "release", "acquire", "acq_rel", "seq_cst")
ONE, OTHER, THIRD = frozenset({0}), frozenset({1}), frozenset({2})
SEEN = (Guard("r0", "==", 1),)


def plain(kind: str, who: frozenset[int], memory: str = "x", where: tuple[Guard, ...] = (), index: int = 0) -> Access:
    return Access(kind, memory, index, 7 + min(who), "r7" if kind == "load" else "", who=who, where=where)


def atomic(
    kind: str,
    order: str,
    who: frozenset[int],
    value: int = 1,
    memory: str = "f",
    scope: str = "device",
    expected: int = 0,
) -> Access:
    return Access(kind, memory, 0, value, "" if kind == "store" else "r0", expected, order, scope, who)


def program(*body: Statement, groups: int = 3, items: int = 1, space: str = "global") -> Program:
    return Program(groups, items, tuple(Memory(name, space=space) for name in ("x", "y", "f")), body)


def passing(
    *between: Statement, store: str = "release", load: str = "acquire", value: int = 1, **sizes: int
) -> Program:
    """Work-item 0 stores data and raises the flag; work-item 1 reads the data if the flag is `value`."""
    send = (plain("store", ONE), atomic("store", store, ONE))
    receive = (atomic("load", load, OTHER), plain("load", OTHER, where=(Guard("r0", "==", value),)))
    return program(*send, *between, *receive, **sizes)


def fenced(before: Fence, after: Fence) -> Program:
    """Message passing by relaxed operations and fences of one side each."""
    return program(
        plain("store", ONE),
        Choice(0, (before,)),
        atomic("store", "relaxed", ONE),
        atomic("load", "relaxed", OTHER),
        Choice(1, (after,)),
        plain("load", OTHER, where=SEEN),
    )


def lock(kind: str, take: str, free: str) -> Program:
    """Two work-items of two groups try a lock twice."""
    who, held = ONE | OTHER, (Guard("r0", "==", 0),)
    body = (
        Access(kind, "f", 0, 1, "r0", 0, take, who=who),
        Access("load", "x", register="r1", who=who, where=held),
        Access("store", "x", 0, "gid", who=who, where=held),
        Access("store", "f", 0, 0, order=free, who=who, where=held),
    )
    return program(Loop(2, body))


def exchanged(*between: Statement, items: int = 8) -> Program:
    """Each work-item of a group stores, and reads what another has stored."""
    return program(Access("store", "x", "lid", "gid"), *between, Access("load", "x", 5), groups=1, items=items)


XF = ("x", "f")
CLEAN = {
    "message passing": passing(),
    "seq_cst": passing(store="seq_cst", load="seq_cst"),
    "narrow scopes in a group": program(
        plain("store", ONE),
        atomic("store", "release", ONE, scope="work_group"),
        atomic("load", "acquire", OTHER, scope="work_group"),
        plain("load", OTHER, where=SEEN),
        groups=1,
        items=4,
    ),
    "release sequence: an update by another": passing(atomic("fetch_add", "relaxed", THIRD), value=2),
    "release sequence: a store by the same": passing(atomic("store", "relaxed", ONE, 2), value=2),
    "fences": fenced(Fence(XF, "release"), Fence(XF, "acquire")),
    "fences of the data alone": fenced(Fence(("x",)), Fence(("x",))),
    "a failed compare_exchange is a load": program(
        atomic("compare_exchange", "relaxed", ONE, expected=5), plain("load", OTHER, "f")
    ),
    "lock": lock("compare_exchange", "acquire", "release"),
    "lock by exchange": lock("exchange", "acq_rel", "seq_cst"),
    "barrier": exchanged(Barrier(("x",))),
    "group algorithm": exchanged(Collect("add", "r1", "r0")),
    "local memory is each group's own": program(plain("store", ONE), plain("load", OTHER), space="local"),
    "masked out by what nobody stores": program(plain("store", ONE), plain("load", OTHER, where=SEEN)),
    "barrier of the data before a release": program(
        Access("store", "x", "lid", 1, who=frozenset(range(4))),
        Barrier(("x",)),
        atomic("store", "release", ONE),
        atomic("load", "acquire", frozenset({4})),
        Access("load", "x", 3, who=frozenset({4}), where=SEEN),
        groups=2,
        items=4,
    ),
}
RACY = {
    "relaxed store": (passing(store="relaxed"), "x"),
    "relaxed load": (passing(load="relaxed"), "x"),
    "any value of the flag": (passing(value=0), "x"),
    "store by another": (passing(atomic("store", "relaxed", THIRD, 2), value=2), "x"),
    "release fence on one side only": (fenced(Fence(XF, "release"), Fence(XF, "release")), "x"),
    "fence of the flag alone": (fenced(Fence(("f",)), Fence(XF)), "x"),
    "narrow fence": (fenced(Fence(XF, scope="work_group"), Fence(XF)), "x"),
    "narrow atomics": (
        program(atomic("fetch_add", "relaxed", ONE, scope="work_group"), atomic("fetch_add", "relaxed", OTHER)),
        "f",
    ),
    "plain beside atomic": (program(plain("store", ONE, "f"), atomic("load", "acquire", OTHER)), "f"),
    "a compare_exchange that succeeds": (
        program(atomic("compare_exchange", "relaxed", ONE), plain("load", OTHER, "f")),
        "f",
    ),
    "lock, relaxed release": (lock("compare_exchange", "acquire", "relaxed"), "x"),
    "lock, relaxed acquire": (lock("exchange", "relaxed", "release"), "x"),
    "no barrier": (exchanged(), "x"),
    "barrier of another memory": (exchanged(Barrier(("y",))), "x"),
    "barrier of sub-groups": (exchanged(Barrier(("x",), "sub_group")), "x"),
    "algorithm of sub-groups": (exchanged(Collect("add", "r1", "r0", "sub_group")), "x"),
    "fence for a barrier": (exchanged(Fence(("x",))), "x"),
}


@pytest.mark.parametrize("name", CLEAN)
def test_programs_without_races(name):
    verdict = interleavings.everywhere(CLEAN[name])
    assert verdict.exhaustive
    assert not verdict.races | verdict.benign


@pytest.mark.parametrize("name", RACY)
def test_programs_with_races(name):
    made, memory = RACY[name]
    assert {where for where, _ in interleavings.everywhere(made).races} == {memory}


def test_stores_of_one_value_are_kept_apart():
    same = program(Access("store", "x", value=1, who=ONE), Access("store", "x", value=1, who=OTHER))
    verdict = interleavings.everywhere(same)
    assert (verdict.races, verdict.benign) == (frozenset(), {("x", frozenset({0, 1}))})


def test_a_race_may_be_out_of_the_reach_of_lockstep():
    late = program(
        atomic("load", "relaxed", ONE),
        plain("load", ONE, where=SEEN),
        plain("store", OTHER),
        atomic("store", "release", OTHER),
    )
    assert interleavings.everywhere(late).racy
    assert not interleavings.lockstep(late).racy
    assert not interleavings.lockstep(late, together=True).racy


@pytest.mark.parametrize("seed", range(60))
def test_lockstep_is_one_of_the_interleavings(seed):
    made = synchronising.program(seed)
    every = interleavings.everywhere(made)
    for together in (False, True):
        verdict = interleavings.lockstep(made, together)
        assert verdict.ends <= every.ends or every.racy
        assert not verdict.racy or every.racy


def test_store_buffering_ends_as_interleavings_end():
    body = [
        Access("store", "x", value=1, order="seq_cst", who=ONE),
        Access("load", "y", register="r0", order="seq_cst", who=ONE),
        Access("store", "y", value=1, order="seq_cst", who=OTHER),
        Access("load", "x", register="r0", order="seq_cst", who=OTHER),
    ]
    ends = interleavings.everywhere(program(*body, groups=2)).ends
    assert {tuple(dict(item)["r0"] for item in end) for end in ends} == {(0, 1), (1, 0), (1, 1)}


# --- Litmus tests ---


def translated(test: Litmus) -> tuple[Program, dict[int, tuple[int, int]]]:
    """A litmus test, and of which work-item and index of its each statement is.

    Work-items lie in groups of their own, or in sub-groups of one group; what stands between barriers of all of them
    comes before the next barrier.
    """
    work_items = test.program.work_items
    apart = len({position.work_group for position in test.program.positions}) > 1
    names = tuple(location.name for location in test.program.locations)
    body: list[Statement] = []
    origin: dict[int, tuple[int, int]] = {}
    rest = [list(enumerate(statements)) for statements in work_items]
    while any(rest):
        for item, statements in enumerate(rest):
            while statements and statements[0][1].kind != "barrier":
                index, statement = statements.pop(0)
                origin[interleavings.count(body) + (apart and statement.kind == "fence")] = (item, index)
                body.append(_translated(statement, item, names, apart))
        if any(rest):
            *_, ordered = [statements.pop(0)[1].ordered for statements in rest]
            body.append(Barrier(tuple(location.name for location in ordered) or names))
    memories = tuple(Memory(location.name, 1, initial=location.initial) for location in test.program.locations)
    groups, items = (len(work_items), 1) if apart else (1, len(work_items))
    return Program(groups, items, memories, tuple(body), sub_group_size=1), origin


def _translated(statement: LitmusStatement, item: int, names: tuple[str, ...], apart: bool) -> Statement:
    if statement.kind == "fence":
        assert apart, "a group executes a fence as a whole"
        ordered = tuple(location.name for location in statement.ordered) or names
        return Choice(item, (Fence(ordered, statement.ordering.order, statement.ordering.scope),))
    expected = statement.operands[0] if statement.kind == "compare_exchange" else 0
    return Access(
        statement.kind,
        statement.location.name,
        value=statement.operands[-1] if statement.operands else 0,
        register=statement.register,
        expected=expected,
        order=statement.ordering.order if statement.ordering else "",
        scope=statement.ordering.scope if statement.ordering else "device",
        who=frozenset({item}),
        where=tuple(Guard(register, "==", value) for register, value in statement.guard),
    )


def ends(test: Litmus, verdict: interleavings.Verdict) -> set[tuple[int | None, ...]]:
    """The values of the test's registers, None where nothing was loaded."""
    merged = [dict(itertools.chain(*end)) for end in verdict.ends]
    return {tuple(registers.get(name) for name in test.program.registers) for registers in merged}


@pytest.mark.parametrize("name", KNOWN)
def test_known_litmus_tests(name):
    test = KNOWN[name].test
    assert interleavings.everywhere(translated(test)[0]).racy == test.undefined


def random_test(seed: int) -> Litmus:
    """Two or three work-items with flags, plain data, guards and, between groups, fences."""
    chance = random.Random(seed)
    apart = chance.random() < 0.6
    registers = map("r{}".format, itertools.count())
    work_items: list[list[LitmusStatement]] = [[litmus.location("x").store(1)], [], []][: chance.choice([2, 2, 3])]
    for statements in work_items:
        loaded: list[str] = []
        for _ in range(chance.randrange(1, 4)):
            statements.append(_random(chance, registers, loaded, apart))
    return litmus(f"random {seed}", work_items, "device" if apart else "work_group")


def _random(chance: random.Random, registers: Iterator[str], loaded: list[str], apart: bool) -> LitmusStatement:
    kind = chance.choice(["plain", "plain", "load", "load", "store", "store", "update", *["fence"] * apart])
    data, flag = litmus.location(chance.choice("xx")), litmus.location("f")
    guard = {loaded[-1]: 1} if loaded and chance.random() < 0.6 else {}
    scope = chance.choice(["device", "device", "device", "work_group"])
    if kind == "fence":
        return litmus.fence(order=chance.choice(ORDERS[1:]), scope=scope)
    if kind == "plain":
        value = chance.choice([1, 2])
        return (data.load(next(registers)) if chance.random() < 0.5 else data.store(value)).when(**guard)
    if kind == "store":
        return flag.atomic.store(1, chance.choice(["relaxed", "release", "release"]), scope).when(**guard)
    name = next(registers)
    if kind == "load":
        statement = flag.atomic.load(name, chance.choice(["relaxed", "acquire", "acquire"]), scope)
    elif chance.random() < 0.5:
        statement = flag.atomic.fetch_add(name, 1, chance.choice(ORDERS), scope)
    else:
        statement = flag.atomic.compare_exchange(name, chance.choice([0, 1]), 2, chance.choice(ORDERS), scope)
    statement = statement.when(**guard)
    loaded += [] if guard else [name]  # a guard by a register needs the register's own guards too
    return statement


@pytest.mark.every(2)
@pytest.mark.parametrize("first", range(0, 400, 25))
def test_random_litmus_tests(first):
    """The same verdict and the same pairs, where every outcome of the model is one of an interleaving."""
    for seed in range(first, first + 25):
        test = random_test(seed)
        made, origin = translated(test)
        verdict = interleavings.step_by_step(made)
        races = {frozenset(origin[n] for n in pair) for _, pair in verdict.races | verdict.benign}
        axiomatic = {frozenset({(r.first.item, r.first.index), (r.second.item, r.second.index)}) for r in test.races}
        assert races <= axiomatic, test
        explained = {tuple(outcome[name] for name in test.program.registers) for outcome in test.outcomes}
        if explained <= ends(test, verdict):
            assert races == axiomatic, test

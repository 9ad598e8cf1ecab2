"""Random small programs that synchronise: flags, counters, locks, queues, fences and barriers, right and wrong.

`program(seed)` gives one of the families of `FAMILIES` in turn; about half of each are right. What makes one wrong is
drawn as well: an order or scope too weak, a barrier of the wrong memory or none, a guard left out or off by one, a
release too early. Nobody says which ones are right: that is for `interleavings`.
"""

import dataclasses
import random
from collections.abc import Callable, Sequence

from interleavings import (
    Access,
    Assign,
    Barrier,
    Choice,
    Collect,
    Fence,
    Guard,
    Loop,
    Memory,
    Program,
    Statement,
    blocks,
)

Chance = random.Random
Body = list[Statement]
RIGHT = 0.78
"""How often one knob of a program is right; with two or three of them, about half of the programs are."""


def program(seed: int) -> Program:
    """The program of a seed."""
    names = sorted(FAMILIES)
    chance = random.Random(seed)
    name = names[seed % len(names)]
    made = FAMILIES[name](chance)
    body = _branching(chance, made) if chance.random() < 0.2 else made.body
    return dataclasses.replace(made, name=f"{name} {seed}", body=tuple(body))


# --- Knobs ---


def _right(chance: Chance) -> bool:
    return chance.random() < RIGHT


def _some(chance: Chance, good: Sequence[str], bad: Sequence[str]) -> str:
    return chance.choice(good if _right(chance) else bad)


def _release(chance: Chance, update: bool = False) -> str:
    return _some(chance, ["release", "release", "seq_cst"] + ["acq_rel"] * update, ["relaxed"] + ["acquire"] * update)


def _acquire(chance: Chance, update: bool = False) -> str:
    return _some(chance, ["acquire", "acquire", "seq_cst"] + ["acq_rel"] * update, ["relaxed"] + ["release"] * update)


def _both(chance: Chance) -> str:
    return _some(chance, ["acq_rel", "acq_rel", "seq_cst"], ["relaxed", "acquire", "release"])


def _scope(chance: Chance, same_group: bool) -> str:
    wide = ["device", "device", "system"] + ["work_group"] * same_group
    return (
        _some(chance, wide, ["sub_group"] if same_group else ["work_group", "sub_group"])
        if (chance.random() < 0.5)
        else "device"
    )


def _lanes(groups: int, items: int, lane: int = 0) -> frozenset[int]:
    return frozenset(range(lane, groups * items, items))


def _all(groups: int, items: int, group: int) -> frozenset[int]:
    return frozenset(range(group * items, (group + 1) * items))


def _seen(register: str, value: int) -> tuple[Guard, ...]:
    return (Guard(register, "==", value),)


@dataclasses.dataclass(frozen=True)
class _Pair:
    """Two work-items of a launch, and where the memories lie by which they talk."""

    groups: int
    items: int
    first: int
    second: int
    data: str
    flag: str

    @property
    def same_group(self) -> bool:
        return self.first // self.items == self.second // self.items

    def start(self) -> Body:
        """Local memories are set before anything else."""
        body: Body = []
        spaces = (("x", self.data, 100), ("f", self.flag, 0))
        for name, space, value in spaces:
            if space == "local":
                body.append(Access("store", name, value=value, who=_lanes(self.groups, self.items)))
        local = tuple(name for name, space, _ in spaces if space == "local")
        return [*body, Barrier(local)] if local else []

    def memories(self, *more: Memory) -> tuple[Memory, ...]:
        return (Memory("x", space=self.data), Memory("f", space=self.flag), *more)

    def program(self, body: Sequence[Statement], *more: Memory) -> Program:
        return Program(self.groups, self.items, self.memories(*more), (*self.start(), *body))


def _pair(chance: Chance) -> _Pair:
    """Work-items of two groups, of two sub-groups or of one."""
    where = chance.choice(["groups", "groups", "sub_groups", "lanes"])
    if where == "groups":
        items, groups = chance.choice([1, 2, 4]), chance.choice([2, 2, 3])
        first, second = sorted(chance.sample(range(groups), 2))
        ids = (first * items + chance.randrange(items), second * items + chance.randrange(items))
        swapped = chance.random() < 0.15
        return _Pair(groups, items, *(ids[::-1] if swapped else ids), "global", "global")
    items = 8 if where == "sub_groups" else chance.choice([2, 4])
    groups = chance.choice([1, 2])
    first, second = chance.sample(range(items // 2), 1)[0], items // 2 + chance.randrange(items // 2)
    spaces = [chance.choice(["global", "local"]) for _ in range(2)]
    ids = (first, second) if chance.random() < 0.8 else (second, first)
    return _Pair(groups, items, *ids, *spaces)


def _one(item: int) -> frozenset[int]:
    return frozenset({item})


def _set_flag(chance: Chance, item: int, scope: str, flag: str = "f", value: int = 1) -> Access:
    """A flag raised from 0 by a store or an update."""
    kind = chance.choice(["store", "store", "fetch_add", "exchange"])
    order = _release(chance, kind != "store")
    return Access(kind, flag, value=value, order=order, scope=scope, who=_one(item))


def _get_flag(chance: Chance, item: int, scope: str, flag: str = "f", register: str = "r0", value: int = 1) -> Access:
    kind = chance.choice(["load", "load", "load", "fetch_add", "compare_exchange"])
    order = _acquire(chance, kind != "load")
    new, who = (0 if kind == "fetch_add" else value), _one(item)
    return Access(kind, flag, 0, new, register, value, order, scope, who)


def _touch(chance: Chance, memory: str, item: int, where: tuple[Guard, ...] = (), index: int | str = 0) -> Access:
    """A plain load or store."""
    if chance.random() < 0.7:
        return Access("load", memory, index, register="r7", who=_one(item), where=where)
    return Access("store", memory, index, value=200 + item, who=_one(item), where=where)


# --- Families ---


def message_passing(chance: Chance) -> Program:
    """Data, a flag raised; the flag seen, the data."""
    pair = _pair(chance)
    scopes = [_scope(chance, pair.same_group) for _ in range(2)]
    send: Body = [Access("store", "x", value=1, who=_one(pair.first)), _set_flag(chance, pair.first, scopes[0])]
    seen = _seen("r0", 1) if chance.random() < 0.85 else ()
    receive: Body = [_get_flag(chance, pair.second, scopes[1]), _touch(chance, "x", pair.second, seen)]
    if chance.random() < 0.12:
        send.reverse()
    if chance.random() < 0.08:
        receive = [_touch(chance, "x", pair.second), receive[0]]
    return pair.program(send + receive)


def groups_passing(chance: Chance) -> Program:
    """Whole groups pass data: all store, one raises the flag after a barrier; one sees it, all load."""
    groups, items = 2, chance.choice([2, 4])
    first, second = _all(groups, items, 0), _all(groups, items, 1)
    scope = _scope(chance, False)
    ordered = chance.choice([("x",), ("x", "f")]) if _right(chance) else chance.choice([("f",), (), None])
    body: Body = [Access("store", "x", "lid", "gid", who=first)]
    body += [] if ordered is None else [Barrier(ordered)]
    body += [_set_flag(chance, 0, scope)]
    way = chance.choice(["broadcast", "barrier", "each", "nothing"])
    if way == "each":
        order = _acquire(chance)
        body.append(Access("load", "f", register="r0", order=order, scope=scope, who=second))
    else:
        body.append(_get_flag(chance, items, scope))
        body += {"broadcast": [Collect("broadcast", "r0", "r0")], "barrier": [Barrier(("x",))]}.get(way, [])
    everybody = way in ("broadcast", "each")
    body.append(Access("load", "x", "lid", register="r1", who=second, where=_seen("r0", 1) if everybody else ()))
    return Program(groups, items, (Memory("x"), Memory("f")), tuple(body))


def last_group(chance: Chance) -> Program:
    """Every group adds to a counter when its part is done; the one that comes last reads all parts."""
    groups, items = chance.choice([2, 3]), chance.choice([1, 2, 4])
    lanes, scope = _lanes(groups, items), _scope(chance, False)
    writer = "x" if items == 1 or chance.random() < 0.5 else "all"
    body: Body = []
    if writer == "all":
        body.append(Access("store", "x", "gid", "gid"))
        body += [Barrier(chance.choice([("x",), ("x", "f")]))] if _right(chance) else chance.choice([[Barrier(())], []])
    else:
        body.append(Access("store", "x", "gid", "gid", who=lanes))
    body.append(Access("fetch_add", "f", 0, 1, "r0", order=_both(chance), scope=scope, who=lanes))
    last = groups - 1 if _right(chance) else chance.choice([groups - 2, 0])
    where = _seen("r0", last) if chance.random() < 0.9 else ()
    who = lanes
    if items > 1 and chance.random() < 0.6:
        who = frozenset(range(groups * items))
        body += [Collect("broadcast", "r0", "r0")] if _right(chance) else []
    body += [Access("load", "x", g * items, register="r1", who=who, where=where) for g in range(groups)]
    return Program(groups, items, (Memory("x", 16), Memory("f")), tuple(body))


def try_lock(chance: Chance) -> Program:
    """Whoever gets the lock reads and writes the data, and lets go."""
    local = chance.random() < 0.4
    groups, items = (1, chance.choice([2, 4, 8])) if local else (chance.choice([2, 3]), chance.choice([1, 2]))
    who = frozenset(chance.sample(range(groups * items), min(groups * items, chance.choice([2, 2, 3]))))
    same_group = len({k // items for k in who}) == 1
    scopes = [_scope(chance, same_group) for _ in range(2)]
    spaces = ["local" if local and chance.random() < 0.7 else "global" for _ in range(2)]
    pair = _Pair(groups, items, min(who), max(who), spaces[0], spaces[1])
    kind = chance.choice(["compare_exchange", "exchange"])
    going, held = (Guard("r2", "==", 0),), (Guard("r2", "==", 0), Guard("r0", "==", 0))
    inside: Body = [
        Access("load", "x", register="r1", who=who, where=held),
        Assign("r3", "r1", 1, who, held),
        Access("store", "x", 0, "r3", who=who, where=held),
    ]
    free = Access("store", "f", 0, 0, order=_release(chance), scope=scopes[1], who=who, where=held)
    inside.insert(len(inside) if _right(chance) else chance.choice([0, 1, 2]), free)
    take = Access(kind, "f", 0, 1, "r0", 0, _acquire(chance, True), scopes[0], who, going)
    trip = (take, *inside, Assign("r2", 1, 0, who, (Guard("r0", "==", 0),)))
    trips = chance.choice([1, 2])
    return pair.program([Loop(trips, trip)] if trips > 1 or chance.random() < 0.5 else trip)


def tickets(chance: Chance) -> Program:
    """A queue: each takes a place by an atomic update, and uses the element of that place."""
    groups, items = chance.choice([(1, 4), (2, 2), (2, 1), (1, 8), (3, 1)])
    who = frozenset(chance.sample(range(groups * items), min(3, groups * items)))
    order, scope = chance.choice(["relaxed", "acq_rel", "acquire"]), _scope(chance, groups == 1)
    bound = (Guard("r0", "<", 8),)
    if _right(chance):
        take: Body = [Access("fetch_add", "f", 0, 1, "r0", order=order, scope=scope, who=who)]
    else:
        take = [
            Access("load", "f", register="r0", order="relaxed", who=who),
            Assign("r1", "r0", 1, who),
            Access("store", "f", 0, "r1", order="relaxed", who=who),
        ]
    use: Body = [Access("store", "x", "r0", "gid", who=who, where=bound)]
    if not _right(chance):
        use.append(Access("load", "x", chance.choice([0, "lid"]), register="r7", who=who, where=bound))
    loop = chance.random() < 0.3
    body = [Loop(2, (*take, *use))] if loop and len(who) == 2 else [*take, *use]
    return Program(groups, items, (Memory("x", 8), Memory("f")), tuple(body))


def producer_queue(chance: Chance) -> Program:
    """Elements are published by a tail that grows; who takes one first sees that it is there."""
    groups, items = chance.choice([(2, 1), (2, 2), (1, 4)])
    producer, consumers = 0, list(range(1, groups * items))[-2:]
    scope, who = _scope(chance, groups == 1), frozenset(consumers)
    tail = Access("fetch_add", "f", 0, 1, order=_release(chance, True), scope=scope, who=_one(producer))
    put = [Access("store", "x", 0, 7, who=_one(producer)), tail, Access("store", "x", 1, 8, who=_one(producer)), tail]
    if not _right(chance):
        put = put[::-1] if chance.random() < 0.5 else [put[0], tail, tail, put[2]]
    get: Body = [
        Access("load", "f", register="r0", order=_acquire(chance), scope=scope, who=who),
        Access("fetch_add", "h", 0, 1, "r1", order="relaxed", who=who),
    ]
    exact = chance.random() < 0.7
    for place in range(2):
        there = Guard("r0", "!=", 0) if not exact else Guard("r0", "==", 2)
        where = (Guard("r1", "==", place), there)
        get.append(_touching(chance, who, place, where))
    return Program(groups, items, (Memory("x"), Memory("f"), Memory("h")), (*put, *get))


def _touching(chance: Chance, who: frozenset[int], place: int, where: tuple[Guard, ...]) -> Access:
    if chance.random() < 0.5:
        return Access("load", "x", place, register="r2", who=who, where=where)
    return Access("store", "x", place, "gid", who=who, where=where)


def two_flags(chance: Chance) -> Program:
    """Message passing by way of a third work-item and a second flag."""
    groups, items = chance.choice([(3, 1), (3, 2), (2, 2), (1, 8), (1, 4)])
    a, b, c = sorted(chance.sample(range(groups * items), 3))
    scopes = [_scope(chance, groups == 1) if _right(chance) else chance.choice(["work_group", "device"])] * 4
    body: Body = [Access("store", "x", value=1, who=_one(a)), _set_flag(chance, a, scopes[0])]
    forward = _set_flag(chance, b, scopes[2], "g")
    forward = dataclasses.replace(forward, where=_seen("r0", 1))
    body += [_get_flag(chance, b, scopes[1]), forward]
    body += [_get_flag(chance, c, scopes[3], "g", "r1"), _touch(chance, "x", c, _seen("r1", 1))]
    return Program(groups, items, (Memory("x"), Memory("f"), Memory("g")), tuple(body))


def release_sequence(chance: Chance) -> Program:
    """A flag that is written on after its release, by its work-item or others, by stores or updates."""
    groups, items = chance.choice([(3, 1), (2, 2), (1, 4)])
    a, b, c = sorted(chance.sample(range(groups * items), 3))
    by = chance.choice([a, b, b])
    kind = chance.choice(["fetch_add", "fetch_add", "exchange", "store", "compare_exchange"])
    value = 1 if kind == "fetch_add" else 2
    then = Access(kind, "f", 0, value, expected=1, order=chance.choice(["relaxed", "relaxed", "acquire"]), who=_one(by))
    if kind == "store":
        then = dataclasses.replace(then, order="relaxed")
    send = Access("store", "f", value=1, order=_release(chance), who=_one(a))
    body: Body = [Access("store", "x", value=1, who=_one(a)), send, then]
    body.append(_get_flag(chance, c, "device", value=2))
    body.append(_touch(chance, "x", c, _seen("r0", 2)))
    if chance.random() < 0.3:
        body.insert(3, Access("fetch_add", "f", 0, 0, order="relaxed", who=_one(b)))
    return Program(groups, items, (Memory("x"), Memory("f")), tuple(body))


def fences(chance: Chance) -> Program:
    """Message passing by relaxed atomics and fences, or by a fence on one side."""
    pair = _pair(chance)
    scopes = [_scope(chance, pair.same_group) for _ in range(2)]
    sides = chance.choice(["both", "both", "before", "after"])
    given = [("x", "f") if _right(chance) else chance.choice([("f",), ("x",)]) for _ in range(2)]
    order = ["relaxed" if sides != "after" else "release", "relaxed" if sides != "before" else "acquire"]
    body: Body = [Access("store", "x", value=1, who=_one(pair.first))]
    if sides != "after":
        body.append(Fence(given[0], _some(chance, ["release", "acq_rel", "seq_cst"], ["acquire"]), scopes[0]))
    body.append(Access("store", "f", value=1, order=order[0], who=_one(pair.first)))
    body.append(Access("load", "f", register="r0", order=order[1], who=_one(pair.second)))
    if sides != "before":
        body.append(Fence(given[1], _some(chance, ["acquire", "acq_rel", "seq_cst"], ["release"]), scopes[1]))
    body.append(_touch(chance, "x", pair.second, _seen("r0", 1)))
    if chance.random() < 0.1:
        body[1], body[2] = body[2], body[1]
    return pair.program(body)


def handshake(chance: Chance) -> Program:
    """A sequence counter: one stores, the other answers, and the first reads the answer."""
    pair = _pair(chance)
    scopes = [_scope(chance, pair.same_group) for _ in range(2)]
    a, b = pair.first, pair.second
    answer = Access("store", "f", value=2, order=_release(chance), scope=scopes[1], who=_one(b), where=_seen("r0", 1))
    body: Body = [
        Access("store", "x", value=1, who=_one(a)),
        Access("store", "f", value=1, order=_release(chance), scope=scopes[0], who=_one(a)),
        Access("load", "f", register="r0", order=_acquire(chance), scope=scopes[1], who=_one(b)),
        Access("store", "x", value=2, who=_one(b), where=_seen("r0", 1)),
        answer,
        Access("load", "f", register="r1", order=_acquire(chance), scope=scopes[0], who=_one(a)),
        Access("load", "x", register="r2", who=_one(a), where=_seen("r1", 2)),
    ]
    if not _right(chance):
        body[3], body[4] = body[4], body[3]
    return pair.program(body)


def sub_groups(chance: Chance) -> Program:
    """Exchange inside a group: barriers of the group or its sub-groups, group algorithms, or nothing."""
    groups, items = chance.choice([(1, 8), (1, 4), (2, 8)])
    space = chance.choice(["global", "local"]) if groups == 1 else "local"
    ways: list[Body] = [
        [Barrier(("x",))],
        [Barrier(("x", "y"))],
        [Barrier(("x",), "sub_group")],
        [Collect("add", "r1", "r0")],
        [Collect("add", "r1", "r0", "sub_group")],
        [Collect("broadcast", "r1", "r0")],
        [Barrier(("y",))],
        [Fence(("x", "y"), "acq_rel", "work_group")],
        [],
    ]
    body: Body = [Access("store", "x", "lid", "gid"), Access("store", "y", "gid", "gid")]
    body += chance.choice(ways[:6] if _right(chance) else ways[6:])
    body.append(Access("load", "x", chance.choice([0, 1, items - 1]), register="r2"))
    body += chance.choice([[], *ways])
    if chance.random() < 0.6:
        body.append(Access("store", "x", "lid", 300))
    return Program(groups, items, (Memory("x", 16, space), Memory("y", 16)), tuple(body))


def anything(chance: Chance) -> Program:
    """Straight programs of any statements."""
    groups, items = chance.choice([(2, 1), (2, 2), (1, 4), (3, 1), (1, 8)])
    total = groups * items
    names = ("x", "y", "f")
    spaces = {name: "local" if groups == 1 and chance.random() < 0.3 else "global" for name in names}
    local = tuple(name for name in names if spaces[name] == "local")
    body: Body = [Access("store", name, value=0, who=_lanes(groups, items)) for name in local]
    body += [Barrier(local)] if local else []
    for _ in range(chance.randrange(4, 10)):
        body.append(_anything(chance, total, names))
    memories = tuple(Memory(name, 8, spaces[name]) for name in names)
    return Program(groups, items, memories, tuple(body))


def _anything(chance: Chance, total: int, names: Sequence[str]) -> Statement:
    roll = chance.random()
    given = tuple(sorted(chance.sample(names, chance.choice([1, 2, 3]))))
    if roll < 0.10:
        return Barrier(given, chance.choice(["work_group", "work_group", "sub_group"]))
    if roll < 0.18:
        return Fence(given, chance.choice(["acquire", "release", "acq_rel"]), chance.choice(["work_group", "device"]))
    if roll < 0.22:
        return Collect(chance.choice(["add", "broadcast"]), "r3", "r0", chance.choice(["work_group", "sub_group"]))
    register, scope = chance.choice(["r0", "r1"]), chance.choice(["device", "device", "device", "work_group"])
    who = _one(chance.randrange(total))
    where = (Guard(register, chance.choice(["==", "!="]), chance.choice([0, 1])),) if chance.random() < 0.4 else ()
    value = chance.choice([1, 1, 2, 50 + len(given)])
    if roll < 0.55:
        kind, memory, order = chance.choice(["load", "store"]), chance.choice("xy"), ""
    else:
        kind, memory = (
            chance.choice(["load", "store", "load", "store", "fetch_add", "exchange", "compare_exchange"]),
            "f",
        )
        orders = {"load": ["acquire", "relaxed"], "store": ["release", "relaxed"]}
        order = chance.choice(orders.get(kind, ["acq_rel", "acquire", "release", "relaxed"]))
    target = chance.choice(["r0", "r1"]) if kind != "store" else ""
    index = chance.choice([0, 0, 1]) if memory != "f" else 0
    return Access(kind, memory, index, value, target, chance.choice([0, 1]), order, scope, who, where)


FAMILIES: dict[str, Callable[[Chance], Program]] = {
    function.__name__: function
    for function in (
        message_passing,
        groups_passing,
        last_group,
        try_lock,
        tickets,
        producer_queue,
        two_flags,
        release_sequence,
        fences,
        handshake,
        sub_groups,
        anything,
    )
}


# --- The same program with branches for masks ---


def _branching(chance: Chance, made: Program) -> Body:
    """A stretch of statements that one group alone executes, as a branch that this group takes."""
    body: Body = []
    for statement in made.body:
        group = _only_group(made, statement)
        previous = body[-1] if body else None
        if group is None or chance.random() < 0.3:
            body.append(statement)
        elif isinstance(previous, Choice) and previous.group == group:
            body[-1] = Choice(group, (*previous.then, statement))
        else:
            body.append(Choice(group, (statement,)))
    return body


def _only_group(made: Program, statement: Statement) -> int | None:
    who = getattr(statement, "who", None)
    if who is None or blocks(statement):
        return None
    groups = {made.group_of(item) for item in who}
    return groups.pop() if len(groups) == 1 else None

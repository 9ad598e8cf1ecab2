"""Defects of what orders accesses beside barriers: atomic operations, fences and group algorithms (see `cases`).

Verdicts are those of C++17's memory model with SYCL's scopes (SYCL 2020, 3.8.3), and of SYCL 2020, 4.17.3: group
functions and algorithms are synchronisation points. Who gives stands above who takes, so that in lockstep flags are
seen; where it is the other way round, what is taken too early is a race in lockstep too. Nobody waits for another
group: who does not see what it looks for goes without.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from cases import Arguments, Corpus, ascending, race, wrong_fence, zeros
from jax import lax

import xeemu as xe

I32 = jnp.int32
_TWO, _FOUR, _EIGHT, _ALL = (np.arange(count, dtype=np.int32)[None] for count in (2, 4, 8, 32))

_TWO_GROUPS, _THREE_GROUPS, _FOUR_GROUPS = (xe.NDRange(8 * groups, 8) for groups in (2, 3, 4))
_case = Corpus(nd_range=_TWO_GROUPS, sub_group_size=4, device="cpu")

# A value is there, or nothing is; -1 is nothing.
_NOTHING = -1


def _arrays(*sizes: int, out: int) -> Arguments:
    """Zeros of some sizes, and what is to be written out, still nothing."""
    return lambda: (*(zeros(size) for size in sizes), np.full(out, _NOTHING, np.int32))


def _firsts(wg: Any) -> list[Any]:
    """For each group a mask of its first work-item."""
    return [(wg.local_id() == 0) & (wg.group_id() == group) for group in range(wg.group_range())]


def _taken(*values: int) -> Any:
    """What is written out is one of the values or nothing."""
    return lambda outputs: np.isin(outputs[-1], [_NOTHING, *values]).all()


# --- The last group reduces ---

_TOTAL = 31 * 32 // 2
_SUMS = {"nd_range": _FOUR_GROUPS, "arguments": lambda: (ascending(32), zeros(4), zeros(1), zeros(1))}
_VALUES = {"nd_range": _FOUR_GROUPS, "arguments": lambda: (ascending(32), zeros(32), zeros(1), zeros(1))}


@_case(race("sums", "store", "gather", remedy="acq_rel"), variant="relaxed", static={"order": "relaxed"}, **_SUMS)
@_case(race("sums", "store", "gather", remedy="acq_rel"), variant="acquire", static={"order": "acquire"}, **_SUMS)
@_case(race("sums", "store", "gather", remedy="acq_rel"), variant="release", static={"order": "release"}, **_SUMS)
def last_group(wg, data, sums, count, total, *, order, fixed):
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    arrived, count = count.atomic(order="acq_rel" if fixed else order)[0].fetch_add(1, where=first)
    last = first & (arrived == 3)
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, total.at[0].set(parts.sum(axis=1), where=last)


@_case(race("sums", "store", "gather", remedy="acq_rel|acquire"), **_SUMS)
def last_group_in_seq_cst(wg, data, sums, count, total, *, fixed):
    """The groups of odd number count with too weak an order; the last one is among them."""
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    even, odd = first & (group % 2 == 0), first & (group % 2 == 1)
    arrived_even, count = count.atomic(order="seq_cst")[0].fetch_add(1, where=even)
    arrived_odd, count = count.atomic(order="seq_cst" if fixed else "release")[0].fetch_add(1, where=odd)
    last = (even & (arrived_even == 3)) | (odd & (arrived_odd == 3))
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, total.at[0].set(parts.sum(axis=1), where=last)


@_case(race("sums", "store", "gather"), **_SUMS)
def last_group_one_early(wg, data, sums, count, total, *, fixed):
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    arrived, count = count.atomic(order="acq_rel")[0].fetch_add(1, where=first)
    last = first & (arrived == (3 if fixed else 2))
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, total.at[0].set(parts.sum(axis=1), where=last)


@_case(
    race("sums", "store", "gather", remedy="mask|where"),
    nd_range=_FOUR_GROUPS,
    arguments=lambda: (ascending(32), zeros(4), zeros(1), zeros(4)),
    right=lambda outputs: sorted(outputs[-1].tolist()) == [0, 0, 0, _TOTAL],
)
def last_group_is_every_group(wg, data, sums, count, totals, *, fixed):
    """The counter's value is ignored."""
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    arrived, count = count.atomic(order="acq_rel")[0].fetch_add(1, where=first)
    last = first & (arrived == 3) if fixed else first
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, totals.at[group].set(parts.sum(axis=1), where=last)


@_case(race("values", "store", "gather", remedy="barrier"), **_VALUES)
def last_group_without_barrier_before_the_count(wg, data, values, count, total, *, fixed):
    """All work-items store, and the first one counts."""
    gid, first = wg.global_id(), wg.local_id() == 0
    values = values.at[gid].set(data[gid])  # mark: store
    if fixed:
        values = wg.barrier(values)
    arrived, count = count.atomic(order="acq_rel")[0].fetch_add(1, where=first)
    last = first & (arrived == 3)
    parts = values.load(_ALL, where=last[:, None])  # mark: gather
    return values, count, total.at[0].set(parts.sum(axis=1), where=last)


@_case(wrong_fence("values", "store", "gather"), **_VALUES)
def last_group_with_the_barrier_of_a_tile(wg, data, values, count, total, *, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    first = lid == 0
    tile = wg.local(8, I32)
    tile = tile.at[lid].set(data[gid])
    values = values.at[gid].set(data[gid])  # mark: store
    tile, values = wg.barrier(tile, values) if fixed else (wg.barrier(tile), values)
    arrived, count = count.atomic(order="acq_rel")[0].fetch_add(1, where=first)
    last = first & (arrived == 3)
    parts = values.load(_ALL, where=last[:, None])  # mark: gather
    return values, count, total.at[0].set(parts.sum(axis=1) + jnp.minimum(tile[7 - lid], 0), where=last)


@_case(race("sums", "store", "gather", remedy="barrier|release"), **_SUMS)
def last_group_whose_others_do_not_wait(wg, data, sums, count, total, *, fixed):
    """The first work-item counts; the others look whether it was the last one, and gather too."""
    lid, group = wg.local_id(), wg.group_id()
    is_last = wg.local(1, I32)
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=lid == 0)  # mark: store
    arrived, count = count.atomic(order="acq_rel")[0].fetch_add(1, where=lid == 0)
    is_last = is_last.atomic[0].store((arrived == 3).astype(I32), where=lid == 0)
    if fixed:
        is_last, sums, count = wg.barrier(is_last, sums, count)
    gathers = (lid < 4) & (is_last.atomic[0].load() == 1)
    part = sums.load(lid, where=gathers)  # mark: gather
    return sums, count, total.atomic[0].add(part, where=gathers)


@_case(race("sums", "store", "gather", remedy="barrier|acquire"), **_SUMS)
def last_group_told_in_sub_groups_alone(wg, data, sums, count, total, *, fixed):
    """The second sub-group reads the counter itself instead of hearing from the first one."""
    lid, group, sub_group = wg.local_id(), wg.group_id(), wg.sub_group
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=lid == 0)  # mark: store
    arrived, count = count.atomic(order="acq_rel")[0].fetch_add(1, where=lid == 0)
    told = sub_group.any((lid == 0) & (arrived == 3))
    read = (count.atomic[0].load(where=lid == 4) == 4) & (group == 3)
    last = wg.any((lid == 0) & (arrived == 3)) if fixed else told | sub_group.any(read)
    gathers = last & (lid >= 4)
    part = sums.load(lid - 4, where=gathers)  # mark: gather
    return sums, count, total.atomic[0].add(part, where=gathers)


_NARROW_ACQUIRE = "under a schedule an acquire takes in all that is published, whatever its scope"


@_case(race("sums", "store", "gather", remedy="release"), variant="without_release", static={"release": ""}, **_SUMS)
@_case(race("sums", "store", "gather", remedy="acquire"), variant="without_acquire", static={"acquire": ""}, **_SUMS)
@_case(
    race("sums", "store", "gather", remedy="scope"),
    variant="narrow_release",
    static={"release": "work_group"},
    **_SUMS,
)
@_case(
    race("sums", "store", "gather", remedy="scope"),
    variant="narrow_acquire",
    static={"acquire": "work_group"},
    explained=_NARROW_ACQUIRE,
    **_SUMS,
)
def last_group_with_fences(wg, data, sums, count, total, *, release="device", acquire="device", fixed):
    """Scopes of the fences; none without a scope."""
    group, first = wg.group_id(), wg.local_id() == 0
    release, acquire = ("device", "device") if fixed else (release, acquire)
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    if release:
        sums, count = wg.fence(sums, count, order="release", scope=release)
    arrived, count = count.atomic[0].fetch_add(1, where=first)
    if acquire:
        sums, count = wg.fence(sums, count, order="acquire", scope=acquire)
    last = first & (arrived == 3)
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, total.at[0].set(parts.sum(axis=1), where=last)


@_case(wrong_fence("sums", "store", "gather"), **_SUMS)
def last_group_with_fences_of_the_counter(wg, data, sums, count, total, *, fixed):
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    if fixed:
        sums, count = wg.fence(sums, count, scope="device")
    else:
        count = wg.fence(count, scope="device")
    arrived, count = count.atomic[0].fetch_add(1, where=first)
    if fixed:
        sums, count = wg.fence(sums, count, scope="device")
    else:
        count = wg.fence(count, scope="device")
    last = first & (arrived == 3)
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, total.at[0].set(parts.sum(axis=1), where=last)


@_case(race("count", "count", "count", remedy="scope"), race("sums", "store", "gather", remedy="scope"), **_SUMS)
def last_group_in_work_group_scope(wg, data, sums, count, total, *, fixed):
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    counter = count.atomic(order="acq_rel", scope="device" if fixed else "work_group")
    arrived, count = counter[0].fetch_add(1, where=first)  # mark: count
    last = first & (arrived == 3)
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return sums, count, total.at[0].set(parts.sum(axis=1), where=last)


_ALL_OR_NOTHING = {
    "nd_range": _FOUR_GROUPS,
    "arguments": lambda: (ascending(32), zeros(4), zeros(1), zeros(4)),
    "right": lambda outputs: np.isin(outputs[-1], [0, _TOTAL]).all(),
}


@_case(
    race("sums", "store", "gather", remedy="release"),
    variant="without_release",
    static={"give": "relaxed", "take": "acquire"},
    **_ALL_OR_NOTHING,
)
@_case(
    race("sums", "store", "gather", remedy="acquire"),
    variant="without_acquire",
    static={"give": "release", "take": "relaxed"},
    **_ALL_OR_NOTHING,
)
def arrivals_counted_and_looked_at(wg, data, sums, count, totals, *, give, take, fixed):
    """The count is read by an operation of its own; several groups may find that all have arrived."""
    group, first = wg.group_id(), wg.local_id() == 0
    own = wg.reduce(data[wg.global_id()], "add")
    sums = sums.at[group].set(own, where=first)  # mark: store
    count = count.atomic(order="release" if fixed else give)[0].add(1, where=first)
    arrived = count.atomic(order="acquire" if fixed else take)[0].load(where=first)
    complete = first & (arrived == 4)
    parts = sums.load(_FOUR, where=complete[:, None])  # mark: gather
    return sums, count, totals.at[group].set(parts.sum(axis=1), where=complete)


# The same inside a group.

_FOUR_SUB_GROUPS = {"nd_range": xe.NDRange(32, 16), "arguments": lambda: (ascending(32), zeros(2))}
_EIGHT_ITEMS = {"arguments": lambda: (ascending(16), zeros(2))}


@_case(
    race("sums", "store", "gather", remedy="acq_rel"),
    variant="relaxed",
    static={"order": "relaxed"},
    **_FOUR_SUB_GROUPS,
)
@_case(
    race("sums", "store", "gather", remedy="acq_rel"),
    variant="release",
    static={"order": "release"},
    **_FOUR_SUB_GROUPS,
)
@_case(
    race("count", "count", "count", remedy="scope"),
    race("sums", "store", "gather", remedy="scope"),
    variant="in_sub_group_scope",
    static={"order": "acq_rel", "scope": "sub_group"},
    **_FOUR_SUB_GROUPS,
)
def last_sub_group(wg, data, totals, *, order, scope="work_group", fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    first = sub_group.local_id() == 0
    sums = wg.local(4, I32)
    count = wg.local(1, I32)
    count = wg.barrier(count.at[0].set(0, where=lid == 0))
    own = sub_group.reduce(data[wg.global_id()], "add")
    sums = sums.at[sub_group.group_id()].set(own, where=first)  # mark: store
    counter = count.atomic("acq_rel", "work_group") if fixed else count.atomic(order, scope)
    arrived, count = counter[0].fetch_add(1, where=first)  # mark: count
    last = first & (arrived == 3)
    parts = sums.load(_FOUR, where=last[:, None])  # mark: gather
    return totals.at[wg.group_id()].set(parts.sum(axis=1), where=last)


@_case(race("tile", "store", "gather", remedy="acq_rel"), **_EIGHT_ITEMS)
def last_work_item(wg, data, totals, *, fixed):
    lid = wg.local_id()
    tile = wg.local(8, I32)
    count = wg.local(1, I32)
    count = wg.barrier(count.at[0].set(0, where=lid == 0))
    tile = tile.at[lid].set(data[wg.global_id()])  # mark: store
    counter = count.atomic(order="acq_rel" if fixed else "relaxed", scope="work_group")
    arrived, count = counter[0].fetch_add(1)
    last = arrived == 7
    parts = tile.load(_EIGHT, where=last[:, None])  # mark: gather
    return totals.at[wg.group_id()].set(parts.sum(axis=1), where=last)


_LAST_LANE = {"arguments": lambda: (ascending(16), zeros(4))}


@_case(race("tile", "store", "gather", remedy="acq_rel"), variant="relaxed", static={"order": "relaxed"}, **_LAST_LANE)
@_case(race("tile", "store", "gather"), variant="one_early", static={"order": "acq_rel", "arrivals": 2}, **_LAST_LANE)
def last_lane(wg, data, totals, *, order, arrivals=3, fixed):
    """Each sub-group has a counter of its own, and the scope of a sub-group suffices."""
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(8, I32)
    count = wg.local(2, I32)
    count = wg.barrier(count.at[lid].set(0, where=lid < 2))
    tile = tile.at[lid].set(data[wg.global_id()])  # mark: store
    counter = count.atomic(order="acq_rel" if fixed else order, scope="sub_group")
    arrived, count = counter[sub_group.group_id()].fetch_add(1)
    last = arrived == (3 if fixed else arrivals)
    parts = tile.load(sub_group.group_id()[:, None] * 4 + _FOUR, where=last[:, None])  # mark: gather
    return totals.at[wg.group_id() * 2 + sub_group.group_id()].set(parts.sum(axis=1), where=last)


# --- Locks ---


def _counted(outputs: Any) -> Any:
    """As many have added 1 to the total as have had the lock."""
    *_, total, entered = outputs
    return total[0] == entered.sum()


_LOCK = {"arguments": lambda: (zeros(1), zeros(1), zeros(16)), "right": _counted}
_LOCAL_LOCK = {"arguments": lambda: (zeros(2), zeros(16)), "right": lambda o: (o[0] == o[1].reshape(2, 8).sum(1)).all()}
_UNLOCKED = race("total", "read", "write"), race("total", "write", "write")


def _unlocked(remedy: str, memory: str = "total") -> Any:
    return race(memory, "read", "write", remedy=remedy), race(memory, "write", "write", remedy=remedy)


@_case(*_unlocked("acquire|release|acq_rel"), variant="relaxed", static={"take": "relaxed", "give": "relaxed"}, **_LOCK)
@_case(*_unlocked("acquire"), variant="without_acquire", static={"take": "relaxed", "give": "release"}, **_LOCK)
@_case(*_unlocked("release"), variant="without_release", static={"take": "acquire", "give": "relaxed"}, **_LOCK)
def lock(wg, lock, total, entered, *, take, give, fixed):
    """Two work-items of each of two groups try four times."""
    lid = wg.local_id()
    take, give = ("acquire", "release") if fixed else (take, give)

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic(order=take)[0].compare_exchange(0, 1, where=waits)
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        total = total.at[0].set(before + 1, where=got)  # mark: write
        lock = lock.atomic(order=give)[0].store(0, where=got)
        return lock, total, waits & ~got

    lock, total, waits = lax.fori_loop(0, 4, attempt, (lock, total, lid < 2))
    return lock, total, entered.at[wg.global_id()].set(1, where=(lid < 2) & ~waits)


@_case(*_UNLOCKED, **_LOCK)
def lock_released_too_early(wg, lock, total, entered, *, fixed):
    lid = wg.local_id()

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic(order="acquire")[0].compare_exchange(0, 1, where=waits)
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        if not fixed:
            lock = lock.atomic(order="release")[0].store(0, where=got)
        total = total.at[0].set(before + 1, where=got)  # mark: write
        if fixed:
            lock = lock.atomic(order="release")[0].store(0, where=got)
        return lock, total, waits & ~got

    lock, total, waits = lax.fori_loop(0, 4, attempt, (lock, total, lid < 2))
    return lock, total, entered.at[wg.global_id()].set(1, where=(lid < 2) & ~waits)


@_case(
    *_unlocked("", "other"),
    arguments=lambda: (zeros(1), zeros(1), zeros(1), zeros(16)),
    right=lambda o: o[1][0] == o[2][0] == o[3].sum(),
)
def lock_over_one_of_two(wg, lock, total, other, entered, *, fixed):
    """Two totals belong to the lock, and the second one is updated when it has been given back."""
    lid = wg.local_id()

    def attempt(_, carry):
        lock, total, other, waits = carry
        held, lock = lock.atomic(order="acquire")[0].compare_exchange(0, 1, where=waits)
        got = waits & (held == 0)
        total = total.at[0].set(total.load(0, where=got) + 1, where=got)
        if not fixed:
            lock = lock.atomic(order="release")[0].store(0, where=got)
        before = other.load(0, where=got)  # mark: read
        other = other.at[0].set(before + 1, where=got)  # mark: write
        if fixed:
            lock = lock.atomic(order="release")[0].store(0, where=got)
        return lock, total, other, waits & ~got

    lock, total, other, waits = lax.fori_loop(0, 4, attempt, (lock, total, other, lid < 2))
    return lock, total, other, entered.at[wg.global_id()].set(1, where=(lid < 2) & ~waits)


@_case(*_unlocked("mask|where"), **_LOCK)
def lock_that_is_not_tested(wg, lock, total, entered, *, fixed):
    """Who does not get the lock goes on as if it had."""
    lid = wg.local_id()
    held, lock = lock.atomic(order="acquire")[0].compare_exchange(0, 1, where=lid < 2)
    got = (lid < 2) & (held == 0) if fixed else lid < 2
    before = total.load(0, where=got)  # mark: read
    total = total.at[0].set(before + 1, where=got)  # mark: write
    lock = lock.atomic(order="release")[0].store(0, where=got)
    return lock, total, entered.at[wg.global_id()].set(1, where=got)


@_case(*_unlocked("acquire"), variant="without_acquire", static={"fences": ("release",)}, **_LOCK)
@_case(*_unlocked("release"), variant="without_release", static={"fences": ("acquire",)}, **_LOCK)
def lock_with_fences(wg, lock, total, entered, *, fences, fixed):
    lid = wg.local_id()
    fences = ("acquire", "release") if fixed else fences

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic[0].exchange(1, where=waits)
        if "acquire" in fences:
            lock, total = wg.fence(lock, total, order="acquire", scope="device")
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        total = total.at[0].set(before + 1, where=got)  # mark: write
        if "release" in fences:
            lock, total = wg.fence(lock, total, order="release", scope="device")
        lock = lock.atomic[0].store(0, where=got)
        return lock, total, waits & ~got

    lock, total, waits = lax.fori_loop(0, 4, attempt, (lock, total, lid < 2))
    return lock, total, entered.at[wg.global_id()].set(1, where=(lid < 2) & ~waits)


@_case(wrong_fence("total", "read", "write"), wrong_fence("total", "write", "write"), **_LOCK)
def lock_with_fences_of_the_lock(wg, lock, total, entered, *, fixed):
    lid = wg.local_id()

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic[0].exchange(1, where=waits)
        lock, total = wg.fence(lock, total, scope="device") if fixed else (wg.fence(lock, scope="device"), total)
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        total = total.at[0].set(before + 1, where=got)  # mark: write
        lock, total = wg.fence(lock, total, scope="device") if fixed else (wg.fence(lock, scope="device"), total)
        lock = lock.atomic[0].store(0, where=got)
        return lock, total, waits & ~got

    lock, total, waits = lax.fori_loop(0, 4, attempt, (lock, total, lid < 2))
    return lock, total, entered.at[wg.global_id()].set(1, where=(lid < 2) & ~waits)


_TICKETS = {"arguments": lambda: (zeros(1), zeros(1), zeros(1), zeros(16)), "right": _counted}


@_case(*_unlocked("acquire"), variant="without_acquire", static={"take": "relaxed", "give": "release"}, **_TICKETS)
@_case(*_unlocked("release"), variant="without_release", static={"take": "acquire", "give": "relaxed"}, **_TICKETS)
def ticket_lock(wg, tickets, serving, total, entered, *, take, give, fixed):
    lid = wg.local_id()
    take, give = ("acquire", "release") if fixed else (take, give)
    ticket, tickets = tickets.atomic[0].fetch_add(1, where=lid < 2)

    def turn(_, carry):
        serving, total, waits = carry
        got = waits & (serving.atomic(order=take)[0].load(where=waits) == ticket)
        before = total.load(0, where=got)  # mark: read
        total = total.at[0].set(before + 1, where=got)  # mark: write
        serving = serving.atomic(order=give)[0].store(ticket + 1, where=got)
        return serving, total, waits & ~got

    serving, total, waits = lax.fori_loop(0, 4, turn, (serving, total, lid < 2))
    return tickets, serving, total, entered.at[wg.global_id()].set(1, where=(lid < 2) & ~waits)


@_case(
    *_unlocked("acquire|release|acq_rel"),
    variant="relaxed",
    static={"take": "relaxed", "give": "relaxed"},
    **_LOCAL_LOCK,
)
@_case(*_unlocked("acquire"), variant="without_acquire", static={"take": "relaxed", "give": "release"}, **_LOCAL_LOCK)
@_case(*_unlocked("release"), variant="without_release", static={"take": "acquire", "give": "relaxed"}, **_LOCAL_LOCK)
def lock_in_local_memory(wg, totals, entered, *, take, give, fixed):
    """One work-item of each sub-group and one more try; the total is in local memory too."""
    lid = wg.local_id()
    take, give = ("acquire", "release") if fixed else (take, give)
    asks = (lid % 4 == 0) | (lid == 1)
    lock = wg.local(1, I32)
    total = wg.local(1, I32)
    lock = lock.at[0].set(0, where=lid == 0)
    total = total.at[0].set(0, where=lid == 0)
    lock, total = wg.barrier(lock, total)

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic(take, "work_group")[0].exchange(1, where=waits)
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        total = total.at[0].set(before + 1, where=got)  # mark: write
        lock = lock.atomic(give, "work_group")[0].store(0, where=got)
        return lock, total, waits & ~got

    _, total, waits = lax.fori_loop(0, 3, attempt, (lock, total, asks))
    total = wg.barrier(total)
    totals = totals.at[wg.group_id()].set(total.load(0, where=lid == 0), where=lid == 0)
    return totals, entered.at[wg.global_id()].set(1, where=asks & ~waits)


@_case(*_UNLOCKED, **_LOCAL_LOCK)
def local_lock_released_too_early(wg, totals, entered, *, fixed):
    lid = wg.local_id()
    asks = lid % 4 == 0
    lock = wg.local(1, I32)
    total = wg.local(1, I32)
    lock = lock.at[0].set(0, where=lid == 0)
    total = total.at[0].set(0, where=lid == 0)
    lock, total = wg.barrier(lock, total)

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic("acquire", "work_group")[0].compare_exchange(0, 1, where=waits)
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        if not fixed:
            lock = lock.atomic("release", "work_group")[0].store(0, where=got)
        total = total.at[0].set(before + 1, where=got)  # mark: write
        if fixed:
            lock = lock.atomic("release", "work_group")[0].store(0, where=got)
        return lock, total, waits & ~got

    _, total, waits = lax.fori_loop(0, 2, attempt, (lock, total, asks))
    total = wg.barrier(total)
    totals = totals.at[wg.group_id()].set(total.load(0, where=lid == 0), where=lid == 0)
    return totals, entered.at[wg.global_id()].set(1, where=asks & ~waits)


@_case(*_unlocked("acquire|release|acq_rel"), **_LOCAL_LOCK)
def lock_in_a_sub_group(wg, totals, entered, *, fixed):
    """Three lanes of one sub-group, for which its scope suffices."""
    lid = wg.local_id()
    take, give = ("acquire", "release") if fixed else ("relaxed", "relaxed")
    lock = wg.local(1, I32)
    total = wg.local(1, I32)
    lock = lock.at[0].set(0, where=lid == 0)
    total = total.at[0].set(0, where=lid == 0)
    lock, total = wg.barrier(lock, total)

    def attempt(_, carry):
        lock, total, waits = carry
        held, lock = lock.atomic(take, "sub_group")[0].compare_exchange(0, 1, where=waits)
        got = waits & (held == 0)
        before = total.load(0, where=got)  # mark: read
        total = total.at[0].set(before + 1, where=got)  # mark: write
        lock = lock.atomic(give, "sub_group")[0].store(0, where=got)
        return lock, total, waits & ~got

    _, total, waits = lax.fori_loop(0, 3, attempt, (lock, total, lid < 3))
    total = wg.barrier(total)
    totals = totals.at[wg.group_id()].set(total.load(0, where=lid == 0), where=lid == 0)
    return totals, entered.at[wg.global_id()].set(1, where=(lid < 3) & ~waits)


# --- Flags ---

_MESSAGE = {"arguments": _arrays(1, 1, out=2), "right": _taken(42)}
_RIGHT = ("release", "acquire")


@_case(
    race("data", "write", "read", remedy="release"), variant="relaxed_store", static={"store": "relaxed"}, **_MESSAGE
)
@_case(race("data", "write", "read", remedy="acquire"), variant="relaxed_load", static={"load": "relaxed"}, **_MESSAGE)
@_case(
    race("data", "write", "read", remedy="release|acquire"),
    variant="relaxed",
    static={"store": "relaxed", "load": "relaxed"},
    **_MESSAGE,
)
@_case(
    race("data", "write", "read", remedy="acquire|seq_cst"),
    variant="half_seq_cst",
    static={"store": "seq_cst", "load": "relaxed", "right": ("seq_cst", "seq_cst")},
    **_MESSAGE,
)
def message(wg, data, flag, out, *, store="release", load="acquire", right=_RIGHT, fixed):
    giving, taking = _firsts(wg)
    store, load = right if fixed else (store, load)
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order=store)[0].store(1, where=giving)
    seen = taking & (flag.atomic(order=load)[0].load(where=taking) == 1)
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


_MESSAGES = {
    "arguments": _arrays(32, 32, out=32),
    "right": lambda outputs: all(x in (_NOTHING, 40 + n) for n, x in enumerate(outputs[-1].tolist())),
}
_PAIRS = {"nd_range": xe.NDRange(64, 32), **_MESSAGES}


@_case(race("data", "write", "read", remedy="acquire|acq_rel"), **_PAIRS)
def messages_taken_by_updates(wg, data, flags, out, *, fixed):
    """A flag for each pair of work-items of two groups."""
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = (lid >= 0) & (group == 0), (lid >= 0) & (group == 1)
    data = data.at[lid].set(40 + lid, where=giving)  # mark: write
    _, flags = flags.atomic(order="acq_rel")[lid].exchange(1, where=giving)
    old, flags = flags.atomic(order="acquire" if fixed else "release")[lid].fetch_or(2, where=taking)
    seen = taking & (old == 1)
    value = data.load(lid, where=seen)  # mark: read
    return data, flags, out.at[lid].set(value, where=seen)


@_case(
    race("flag", "set", "look", remedy="scope"),
    race("data", "write", "read", remedy="scope"),
    explained="under a schedule all that a work-item has stored is seen together with a flag of too narrow a scope",
    **_MESSAGE,
)
def message_in_work_group_scope(wg, data, flag, out, *, fixed):
    giving, taking = _firsts(wg)
    scope = "device" if fixed else "work_group"
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic("release", scope)[0].store(1, where=giving)  # mark: set
    seen = taking & (flag.atomic("acquire", scope)[0].load(where=taking) == 1)  # mark: look
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("data", "read", "write", remedy="mask|where"), **_MESSAGE)
def flag_that_is_not_tested(wg, data, flag, out, *, fixed):
    """The flag is acquired, and what it says does not matter; here it is not set yet."""
    giving, taking = _firsts(wg)
    flagged = flag.atomic(order="acquire")[0].load(where=taking) == 1
    seen = taking & flagged if fixed else taking
    value = data.load(0, where=seen)  # mark: read
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(
    race("data", "write", "read", remedy="mask|where"),
    hidden="in lockstep the flag happens to be set when it is loaded, and the load acquires",
    **_MESSAGE,
)
def flag_that_happens_to_be_set(wg, data, flag, out, *, fixed):
    giving, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    flagged = flag.atomic(order="acquire")[0].load(where=taking) == 1
    seen = taking & flagged if fixed else taking
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("data", "write", "read"), **_MESSAGE)
def data_written_after_the_release(wg, data, flag, out, *, fixed):
    giving, taking = _firsts(wg)
    if fixed:
        data = data.at[0].set(42, where=giving)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    if not fixed:
        data = data.at[0].set(42, where=giving)  # mark: write
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("data", "write", "read"), **_MESSAGE)
def data_read_before_the_acquire(wg, data, flag, out, *, fixed):
    """A value is kept if the flag is set afterwards."""
    giving, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    early = jnp.zeros(8, I32) if fixed else data.load(0, where=taking)  # mark: read
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    value = data.load(0, where=seen) if fixed else early
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("second", "write", "read"), arguments=_arrays(1, 1, 1, out=2), right=_taken(42))
def second_memory_after_the_release(wg, first, second, flag, out, *, fixed):
    """One flag for two memories."""
    giving, taking = _firsts(wg)
    first = first.at[0].set(40, where=giving)
    if fixed:
        second = second.at[0].set(2, where=giving)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    if not fixed:
        second = second.at[0].set(2, where=giving)  # mark: write
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    value = first.load(0, where=seen)
    value = value + second.load(0, where=seen)  # mark: read
    return first, second, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(
    race("data", "write", "read", remedy="acquire"),
    arguments=_arrays(1, 2, out=2),
    right=_taken(42),
    explained="under a schedule an acquire takes in all that is published, whatever flag it loads",
)
def another_flag_acquired(wg, data, flags, out, *, fixed):
    """The flag that was released is loaded without order, and one that nobody released is acquired."""
    giving, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    flags = flags.atomic(order="release")[0].store(1, where=giving)
    one = flags.atomic(order="acquire" if fixed else "relaxed")[0].load(where=taking)
    other = flags.atomic(order="relaxed" if fixed else "acquire")[1].load(where=taking)
    seen = taking & (one + other == 1)
    value = data.load(0, where=seen)  # mark: read
    return data, flags, out.at[wg.group_id()].set(value, where=seen)


_TAKES_IN_ALL = "under a schedule an acquire takes in all that is published, whoever published it"
_CHAIN = {"nd_range": xe.NDRange(96, 32), "arguments": _arrays(32, 32, 32, out=32), "right": _MESSAGES["right"]}


@_case(race("data", "write", "read", remedy="release"), variant="first_store", static={"relaxed": 0}, **_CHAIN)
@_case(
    race("data", "write", "read", remedy="acquire"),
    variant="first_load",
    static={"relaxed": 1},
    explained=_TAKES_IN_ALL,
    **_CHAIN,
)
@_case(
    race("data", "write", "read", remedy="release"),
    variant="second_store",
    static={"relaxed": 2},
    explained=_TAKES_IN_ALL,
    **_CHAIN,
)
@_case(race("data", "write", "read", remedy="acquire"), variant="second_load", static={"relaxed": 3}, **_CHAIN)
def messages_by_way_of_a_third(wg, data, first, second, out, *, relaxed, fixed):
    """ISA2: two flags in turn, one link of which is relaxed; for each three work-items of three groups."""
    lid, group = wg.local_id(), wg.group_id()
    giving, passing, taking = ((lid >= 0) & (group == number) for number in range(3))
    orders = ["release", "acquire", "release", "acquire"]
    if not fixed:
        orders[relaxed] = "relaxed"
    data = data.at[lid].set(40 + lid, where=giving)  # mark: write
    first = first.atomic(order=orders[0])[lid].store(1, where=giving)
    passed = passing & (first.atomic(order=orders[1])[lid].load(where=passing) == 1)
    second = second.atomic(order=orders[2])[lid].store(1, where=passed)
    seen = taking & (second.atomic(order=orders[3])[lid].load(where=taking) == 1)
    value = data.load(lid, where=seen)  # mark: read
    return data, first, second, out.at[lid].set(value, where=seen)


_WRITERS = {"arguments": lambda: (zeros(1), zeros(1)), "right": lambda outputs: outputs[0][0] == outputs[1][0]}


@_case(
    race("data", "first", "second", remedy="release"), variant="relaxed_store", static={"store": "relaxed"}, **_WRITERS
)
@_case(
    race("data", "first", "second", remedy="acquire"),
    variant="relaxed_load",
    static={"load": "relaxed"},
    explained="stores come in the order of the flag also where it is not acquired",
    **_WRITERS,
)
def second_writer(wg, data, flag, *, store="release", load="acquire", fixed):
    """Two writers, of which the second one knows that the first is done; else it writes nothing."""
    giving, taking = _firsts(wg)
    store, load = _RIGHT if fixed else (store, load)
    data = data.at[0].set(1, where=giving)  # mark: first
    flag = flag.atomic(order=store)[0].store(1, where=giving)
    seen = taking & (flag.atomic(order=load)[0].load(where=taking) == 1)
    data = data.at[0].set(2, where=seen)  # mark: second
    return data, flag.atomic[0].store(2, where=seen)


_TOKEN = {
    "nd_range": _THREE_GROUPS,
    "arguments": lambda: (zeros(1), zeros(1)),
    "right": lambda outputs: outputs[1][0] == outputs[0][0] * 10,
}


@_case(race("log", "write", "write", remedy="release"), variant="without_release", static={"give": "relaxed"}, **_TOKEN)
@_case(
    race("log", "write", "write", remedy="acquire"),
    variant="without_acquire",
    static={"take": "relaxed"},
    explained="stores come in the order of the token also where it does not acquire",
    **_TOKEN,
)
def token(wg, token, log, *, give="release", take="acquire", fixed):
    """Who has the token writes, and hands it on; who does not see it in time goes without."""
    first, group = wg.local_id() == 0, wg.group_id()
    give, take = _RIGHT if fixed else (give, take)

    def turn(_, carry):
        token, log = carry
        mine = first & (token.atomic(order=take)[0].load(where=first) == group)
        log = log.at[0].set((group + 1) * 10, where=mine)  # mark: write
        return token.atomic(order=give)[0].store(group + 1, where=mine), log

    return lax.fori_loop(0, 3, turn, (token, log))


# Release sequences.

_SEQUENCE = {"nd_range": _THREE_GROUPS, "arguments": _arrays(1, 1, out=3), "right": _taken(42)}


@_case(race("data", "write", "read", remedy="release"), **_SEQUENCE)
def release_overwritten_by_another(wg, data, flag, out, *, fixed):
    """An update by a third work-item keeps the release; a store does not."""
    giving, passing, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    flag = flag.atomic[0].add(1, where=passing) if fixed else flag.atomic[0].store(2, where=passing)
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 2)
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(
    race("data", "write", "read", remedy="release"),
    explained="who overwrites the flag has seen it, and by then all that was released with it is published",
    **_SEQUENCE,
)
def release_overwritten_by_another_who_saw_it(wg, data, flag, out, *, fixed):
    giving, passing, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    if fixed:
        _, flag = flag.atomic[0].compare_exchange(1, 2, where=passing)
    else:
        passed = passing & (flag.atomic[0].load(where=passing) == 1)
        flag = flag.atomic[0].store(2, where=passed)
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 2)
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("data", "write", "read"), **_MESSAGE)
def release_continued_by_a_store(wg, data, flag, out, *, fixed):
    """What a work-item stores to its flag after a release goes on with it (C++17), for what was before the release."""
    giving, taking = _firsts(wg)
    if fixed:
        data = data.at[0].set(42, where=giving)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    if not fixed:
        data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic[0].store(2, where=giving)
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 2)
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("data", "write", "read"), nd_range=_THREE_GROUPS, arguments=_arrays(2, 1, out=3), right=_taken(42))
def two_give_by_one_flag(wg, data, flag, out, *, fixed):
    """Two add to one flag, each with a release; a store of the second one would lose the first one's."""
    group, first = wg.group_id(), wg.local_id() == 0
    giving, taking = first & (group < 2), first & (group == 2)
    data = data.at[group].set(20 + 2 * group, where=giving)  # mark: write
    flags = flag.atomic(order="release")
    flag = flags[0].add(1, where=giving) if fixed else flags[0].store(group + 1, where=giving)
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 2)
    values = data.load(_TWO, where=seen[:, None])  # mark: read
    return data, flag, out.at[group].set(values.sum(axis=1), where=seen)


# Fences.


@_case(race("data", "write", "read", remedy="release"), variant="without_release", static={"release": ""}, **_PAIRS)
@_case(race("data", "write", "read", remedy="acquire"), variant="without_acquire", static={"acquire": ""}, **_PAIRS)
@_case(
    race("data", "write", "read", remedy="scope"), variant="narrow_release", static={"release": "sub_group"}, **_PAIRS
)
@_case(
    race("data", "write", "read", remedy="scope"),
    variant="narrow_acquire",
    static={"acquire": "work_group"},
    explained=_NARROW_ACQUIRE,
    **_PAIRS,
)
def flags_between_fences(wg, data, flags, out, *, release="device", acquire="device", fixed):
    """A flag for each pair of work-items of two groups; scopes of the fences, none without a scope."""
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = (lid >= 0) & (group == 0), (lid >= 0) & (group == 1)
    release, acquire = ("device", "device") if fixed else (release, acquire)
    data = data.at[lid].set(40 + lid, where=giving)  # mark: write
    if release:
        data, flags = wg.fence(data, flags, order="release", scope=release)
    flags = flags.atomic[lid].store(1, where=giving)
    seen = taking & (flags.atomic[lid].load(where=taking) == 1)
    if acquire:
        data, flags = wg.fence(data, flags, order="acquire", scope=acquire)
    value = data.load(lid, where=seen)  # mark: read
    return data, flags, out.at[lid].set(value, where=seen)


@_case(wrong_fence("data", "write", "read"), variant="giving", static={"giver": False}, **_PAIRS)
@_case(wrong_fence("data", "write", "read"), variant="taking", static={"taker": False}, **_PAIRS)
def fences_of_the_flags(wg, data, flags, out, *, giver=True, taker=True, fixed):
    """One of the two fences is not given the data."""
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = (lid >= 0) & (group == 0), (lid >= 0) & (group == 1)
    data = data.at[lid].set(40 + lid, where=giving)  # mark: write
    if giver or fixed:
        data, flags = wg.fence(data, flags, order="release", scope="device")
    else:
        flags = wg.fence(flags, order="release", scope="device")
    flags = flags.atomic[lid].store(1, where=giving)
    seen = taking & (flags.atomic[lid].load(where=taking) == 1)
    if taker or fixed:
        data, flags = wg.fence(data, flags, order="acquire", scope="device")
    else:
        flags = wg.fence(flags, order="acquire", scope="device")
    value = data.load(lid, where=seen)  # mark: read
    return data, flags, out.at[lid].set(value, where=seen)


@_case(race("data", "write", "read"), variant="release_above_the_data", static={"above": "data"}, **_PAIRS)
@_case(race("data", "write", "read"), variant="acquire_above_the_flag", static={"above": "flag"}, **_PAIRS)
def fence_too_high(wg, data, flags, out, *, above, fixed):
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = (lid >= 0) & (group == 0), (lid >= 0) & (group == 1)
    above = "" if fixed else above
    if above == "data":
        data, flags = wg.fence(data, flags, order="release", scope="device")
    data = data.at[lid].set(40 + lid, where=giving)  # mark: write
    if above != "data":
        data, flags = wg.fence(data, flags, order="release", scope="device")
    flags = flags.atomic[lid].store(1, where=giving)
    if above == "flag":
        data, flags = wg.fence(data, flags, order="acquire", scope="device")
    seen = taking & (flags.atomic[lid].load(where=taking) == 1)
    if above != "flag":
        data, flags = wg.fence(data, flags, order="acquire", scope="device")
    value = data.load(lid, where=seen)  # mark: read
    return data, flags, out.at[lid].set(value, where=seen)


@_case(race("data", "write", "read"), variant="acquire_to_give", static={"orders": ("acquire", "acquire")}, **_PAIRS)
@_case(race("data", "write", "read"), variant="release_to_take", static={"orders": ("release", "release")}, **_PAIRS)
def fence_of_the_other_kind(wg, data, flags, out, *, orders, fixed):
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = (lid >= 0) & (group == 0), (lid >= 0) & (group == 1)
    give, take = ("acq_rel", "seq_cst") if fixed else orders
    data = data.at[lid].set(40 + lid, where=giving)  # mark: write
    data, flags = wg.fence(data, flags, order=give, scope="device")
    flags = flags.atomic[lid].store(1, where=giving)
    seen = taking & (flags.atomic[lid].load(where=taking) == 1)
    data, flags = wg.fence(data, flags, order=take, scope="device")
    value = data.load(lid, where=seen)  # mark: read
    return data, flags, out.at[lid].set(value, where=seen)


@_case(race("data", "write", "read", remedy="release"), **_MESSAGE)
def fence_beside_an_acquire(wg, data, flag, out, *, fixed):
    """A release fence and a relaxed store go with an acquiring load."""
    giving, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    if fixed:
        data, flag = wg.fence(data, flag, order="release", scope="device")
    flag = flag.atomic[0].store(1, where=giving)
    seen = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


@_case(race("data", "write", "read", remedy="acquire"), **_MESSAGE)
def release_beside_a_fence(wg, data, flag, out, *, fixed):
    """A releasing store goes with a relaxed load and an acquire fence."""
    giving, taking = _firsts(wg)
    data = data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    seen = taking & (flag.atomic[0].load(where=taking) == 1)
    if fixed:
        data, flag = wg.fence(data, flag, order="acquire", scope="device")
    value = data.load(0, where=seen)  # mark: read
    return data, flag, out.at[wg.group_id()].set(value, where=seen)


# Flags of a whole group.

_FEW_KEYS = "under a schedule a work-item that a mask leaves out of an acquire acquires too, so that few keys tell"

_TABLE = {
    "arguments": _arrays(8, 1, out=8),
    "right": lambda outputs: all(x in (_NOTHING, 47 - n) for n, x in enumerate(outputs[-1].tolist())),
}


@_case(race("table", "write", "read", remedy="barrier"), **_TABLE)
def table_published_without_barrier(wg, table, flag, out, *, fixed):
    """All write, and the first one sets the flag."""
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = _firsts(wg)
    table = table.at[lid].set(40 + lid, where=(lid >= 0) & (group == 0))  # mark: write
    if fixed:
        table = wg.barrier(table)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    flagged = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    seen = (lid >= 0) & wg.any(flagged)
    value = table.load(7 - lid, where=seen)  # mark: read
    return table, flag, out.at[lid].set(value, where=seen)


@_case(race("table", "write", "read", remedy="barrier|release"), explained=_FEW_KEYS, **_TABLE)
def table_taken_without_barrier(wg, table, flag, out, *, fixed):
    """The first one acquires the flag, and tells the others through local memory."""
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = _firsts(wg)
    seen = wg.local(1, I32)
    table = table.at[lid].set(40 + lid, where=(lid >= 0) & (group == 0))  # mark: write
    table = wg.barrier(table)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    flagged = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    seen = seen.atomic[0].store(flagged.astype(I32), where=lid == 0)
    if fixed:
        seen, table, flag = wg.barrier(seen, table, flag)
    takes = (lid >= 0) & (seen.atomic[0].load() == 1)
    value = table.load(7 - lid, where=takes)  # mark: read
    return table, flag, out.at[lid].set(value, where=takes)


@_case(wrong_fence("table", "write", "read"), explained=_FEW_KEYS, **_TABLE)
def table_taken_with_the_barrier_of_the_flag(wg, table, flag, out, *, fixed):
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = _firsts(wg)
    seen = wg.local(1, I32)
    table = table.at[lid].set(40 + lid, where=(lid >= 0) & (group == 0))  # mark: write
    table = wg.barrier(table)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    flagged = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    seen = seen.at[0].set(flagged.astype(I32), where=lid == 0)
    if fixed:
        seen, table, flag = wg.barrier(seen, table, flag)
    else:
        seen, flag = wg.barrier(seen, flag)
    takes = (lid >= 0) & (seen[0] == 1)
    value = table.load(7 - lid, where=takes)  # mark: read
    return table, flag, out.at[lid].set(value, where=takes)


@_case(race("table", "write", "read", remedy="acquire"), **_TABLE)
def one_acquires_for_all(wg, table, flag, out, *, fixed):
    """All look at the flag, and the first one alone acquires."""
    lid, group = wg.local_id(), wg.group_id()
    giving, taking = _firsts(wg)
    table = table.at[lid].set(40 + lid, where=(lid >= 0) & (group == 0))  # mark: write
    table = wg.barrier(table)
    flag = flag.atomic(order="release")[0].store(1, where=giving)
    others = (lid > 0) & (group == 1)
    flagged = taking & (flag.atomic(order="acquire")[0].load(where=taking) == 1)
    look = flag.atomic(order="acquire" if fixed else "relaxed")
    seen = flagged | (others & (look[0].load(where=others) == 1))
    value = table.load(7 - lid, where=seen)  # mark: read
    return table, flag, out.at[lid].set(value, where=seen)


# Flags inside a group.

_SLOT = {"arguments": _arrays(out=16), "right": _taken(42)}


@_case(race("slot", "write", "read", remedy="release"), variant="relaxed_store", static={"store": "relaxed"}, **_SLOT)
@_case(race("slot", "write", "read", remedy="acquire"), variant="relaxed_load", static={"load": "relaxed"}, **_SLOT)
@_case(
    race("slot", "write", "read", remedy="acquire"),
    variant="relaxed_load_in_a_sub_group",
    static={"load": "relaxed", "reader": 1, "scope": "sub_group"},
    **_SLOT,
)
@_case(
    race("slot", "write", "read", remedy="release"),
    variant="relaxed_store_in_a_sub_group",
    static={"store": "relaxed", "reader": 3, "scope": "sub_group"},
    **_SLOT,
)
def local_flag(wg, out, *, store="release", load="acquire", reader=5, scope="work_group", fixed):
    """A message of work-item 0 to one of the other sub-group, or of its own."""
    lid = wg.local_id()
    store, load = _RIGHT if fixed else (store, load)
    slot = wg.local(1, I32)
    flag = wg.local(1, I32)
    slot = slot.at[0].set(0, where=lid == 0)
    flag = flag.at[0].set(0, where=lid == 0)
    slot, flag = wg.barrier(slot, flag)
    slot = slot.at[0].set(42, where=lid == 0)  # mark: write
    flag = flag.atomic(store, scope)[0].store(1, where=lid == 0)
    seen = (lid == reader) & (flag.atomic(load, scope)[0].load(where=lid == reader) == 1)
    value = slot.load(0, where=seen)  # mark: read
    return out.at[wg.global_id()].set(value, where=seen)


@_case(
    race("flag", "set", "look", remedy="scope"),
    race("slot", "write", "read", remedy="scope"),
    explained="under a schedule all that a work-item has stored is seen together with a flag of too narrow a scope",
    **_SLOT,
)
def sub_group_scope_across_sub_groups(wg, out, *, fixed):
    """Right for a lane of the same sub-group."""
    lid = wg.local_id()
    reader = 3 if fixed else 4
    slot = wg.local(1, I32)
    flag = wg.local(1, I32)
    slot = slot.at[0].set(0, where=lid == 0)
    flag = flag.at[0].set(0, where=lid == 0)
    slot, flag = wg.barrier(slot, flag)
    slot = slot.at[0].set(42, where=lid == 0)  # mark: write
    flag = flag.atomic("release", "sub_group")[0].store(1, where=lid == 0)  # mark: set
    seen = (lid == reader) & (flag.atomic("acquire", "sub_group")[0].load(where=lid == reader) == 1)  # mark: look
    value = slot.load(0, where=seen)  # mark: read
    return out.at[wg.global_id()].set(value, where=seen)


@_case(race("slots", "write", "read", remedy="acquire"), arguments=_arrays(2, out=16), right=_taken(42))
def local_flag_for_global_memory(wg, slots, out, *, fixed):
    """Message passing through two memories: the flag is in local memory, and the data are in global memory."""
    lid, group = wg.local_id(), wg.group_id()
    flag = wg.local(1, I32)
    flag = wg.barrier(flag.at[0].set(0, where=lid == 0))
    slots = slots.at[group].set(42, where=lid == 0)  # mark: write
    flag = flag.atomic("release", "work_group")[0].store(1, where=lid == 0)
    look = flag.atomic("acquire" if fixed else "relaxed", "work_group")
    seen = (lid == 6) & (look[0].load(where=lid == 6) == 1)
    value = slots.load(group, where=seen)  # mark: read
    return slots, out.at[wg.global_id()].set(value, where=seen)


@_case(race("tile", "write", "read"), **_SLOT)
def fence_in_a_group_without_a_flag(wg, out, *, fixed):
    """A fence orders nothing by itself: somebody must see what was stored after it."""
    lid = wg.local_id()
    tile = wg.local(8, I32)
    flag = wg.local(1, I32)
    tile = tile.at[lid].set(0)
    flag = flag.at[0].set(0, where=lid == 0)
    tile, flag = wg.barrier(tile, flag)
    tile = tile.at[7].set(42, where=lid == 0)  # mark: write
    tile, flag = wg.fence(tile, flag)
    flag = flag.atomic(scope="work_group")[0].store(1, where=lid == 0)
    flagged = flag.atomic(scope="work_group")[0].load(where=lid == 7) == 1 if fixed else lid == 7
    tile, flag = wg.fence(tile, flag)
    seen = (lid == 7) & flagged
    value = tile.load(7, where=seen)  # mark: read
    return out.at[wg.global_id()].set(value, where=seen)


# --- Queues, stacks, counters ---

_QUEUE = {
    "arguments": _arrays(1, 4, 4, 1, out=4),
    "right": lambda outputs: (
        all(x in (_NOTHING, 100, 101, 102, 103) for x in outputs[-1].tolist())
        and len({x for x in outputs[-1].tolist() if x >= 0}) == sum(outputs[-1] >= 0)
    ),
}


@_case(race("items", "put", "take", remedy="release"), variant="relaxed_store", static={"store": "relaxed"}, **_QUEUE)
@_case(race("items", "put", "take", remedy="acquire"), variant="relaxed_load", static={"load": "relaxed"}, **_QUEUE)
def queue(wg, tail, items, ready, head, out, *, store="release", load="acquire", fixed):
    """Four work-items put, four of another group take; each slot has a flag."""
    lid, group = wg.local_id(), wg.group_id()
    store, load = _RIGHT if fixed else (store, load)
    puts, takes = (lid < 4) & (group == 0), (lid < 4) & (group == 1)
    slot, tail = tail.atomic[0].fetch_add(1, where=puts)
    items = items.at[slot].set(100 + lid, where=puts)  # mark: put
    ready = ready.atomic(order=store)[slot].store(1, where=puts)
    k, head = head.atomic[0].fetch_add(1, where=takes)
    there = takes & (ready.atomic(order=load)[k].load(where=takes) == 1)
    item = items.load(k, where=there)  # mark: take
    return tail, items, ready, head, out.at[k].set(item, where=there)


@_case(
    race("items", "put", "take"),
    arguments=_arrays(1, 4, 1, out=1),
    right=_taken(100 + 101 + 102 + 103),
)
def queue_counted_before_the_items_are_there(wg, tail, items, filled, out, *, fixed):
    """Who takes a slot has not filled it yet."""
    lid, group = wg.local_id(), wg.group_id()
    puts, takes = (lid < 4) & (group == 0), (lid == 0) & (group == 1)
    slot, tail = tail.atomic(order="acq_rel")[0].fetch_add(1, where=puts)
    items = items.at[slot].set(100 + lid, where=puts)  # mark: put
    filled = filled.atomic(order="release")[0].add(1, where=puts)
    counter = filled if fixed else tail
    full = takes & (counter.atomic(order="acquire")[0].load(where=takes) == 4)
    taken = items.load(_FOUR, where=full[:, None])  # mark: take
    return tail, items, filled, out.at[0].set(taken.sum(axis=1), where=full)


@_case(race("items", "put", "take", remedy="release"), arguments=_arrays(out=16))
def queue_in_local_memory(wg, out, *, fixed):
    """One sub-group puts, and the other one takes what is there; then all are right to look, after a barrier."""
    lid = wg.local_id()
    items = wg.local(4, I32)
    ready = wg.local(4, I32)
    tail = wg.local(1, I32)
    ready = ready.at[lid].set(0, where=lid < 4)
    tail = tail.at[0].set(0, where=lid == 0)
    ready, tail = wg.barrier(ready, tail)
    slot, tail = tail.atomic(scope="work_group")[0].fetch_add(1, where=lid < 4)
    items = items.at[slot].set(slot * 11, where=lid < 4)  # mark: put
    ready = ready.atomic("release" if fixed else "relaxed", "work_group")[slot].store(1, where=lid < 4)
    there = (lid >= 4) & (ready.atomic("acquire", "work_group")[lid - 4].load(where=lid >= 4) == 1)
    early = items.load(lid - 4, where=there)  # mark: take
    items = wg.barrier(items)
    late = items.load(lid - 4, where=(lid >= 4) & ~there)
    return out.at[wg.global_id()].set(early + late, where=lid >= 4)


@_case(race("values", "write", "read", remedy="release"), arguments=_arrays(2, 1, out=2), right=_taken(100, 101))
def stack(wg, values, head, out, *, fixed):
    """Two push a node, by an exchange of the head; another group looks at what is on top."""
    lid, group = wg.local_id(), wg.group_id()
    pushes, looks = (lid < 2) & (group == 0), (lid == 0) & (group == 1)
    values = values.at[lid].set(100 + lid, where=pushes)  # mark: write
    _, head = head.atomic(order="release" if fixed else "relaxed")[0].exchange(lid + 1, where=pushes)
    top = head.atomic(order="acquire")[0].load(where=looks)
    some = looks & (top > 0)
    value = values.load(top - 1, where=some)  # mark: read
    return values, head, out.at[group].set(value, where=some)


@_case(
    race("data", "read", "write", remedy="atomic"),
    arguments=_arrays(2, 1, out=2),
    right=_taken(84),
    explained="what was read while it changed is thrown away",
)
def sequence_lock_over_plain_data(wg, data, sequence, out, *, fixed):
    """Who reads looks at the counter before and after; data that may change in between must be atomic all the same."""
    giving, taking = _firsts(wg)
    before = sequence.atomic(order="acquire")[0].load(where=taking)
    first = data.atomic[0].load(where=taking) if fixed else data.load(0, where=taking)  # mark: read
    sequence = sequence.atomic[0].store(1, where=giving)
    data, sequence = wg.fence(data, sequence, order="release", scope="device")
    data = data.atomic[0].store(42, where=giving) if fixed else data.at[0].set(42, where=giving)  # mark: write
    data = data.atomic[1].store(42, where=giving)
    sequence = sequence.atomic(order="release")[0].store(2, where=giving)
    second = data.atomic[1].load(where=taking)
    data, sequence = wg.fence(data, sequence, order="acquire", scope="device")
    after = sequence.atomic[0].load(where=taking)
    whole = taking & (before == after) & (after == 2)
    return data, sequence, out.at[wg.group_id()].set(first + second, where=whole)


@_case(race("data", "write", "read"), arguments=_arrays(4, 1, out=2), right=_taken(40, 41, 42))
def sequence_counter_read_one_too_far(wg, data, counter, out, *, fixed):
    """Entry k is there when the counter is above k."""
    giving, taking = _firsts(wg)

    def turn(k, carry):
        data, counter, out = carry
        data = data.at[k].set(40 + k, where=giving)  # mark: write
        counter = counter.atomic(order="release")[0].store(k + 1, where=giving)
        count = counter.atomic(order="acquire")[0].load(where=taking)
        some = taking & (count > 0)
        value = data.load(count - 1 if fixed else count, where=some)  # mark: read
        return data, counter, out.at[1].set(value, where=some)

    return lax.fori_loop(0, 3, turn, (data, counter, out))


_ACKNOWLEDGED = {"arguments": _arrays(1, 1, 1, out=2), "right": _taken(41)}


@_case(race("slot", "again", "read", remedy="mask|where"), **_ACKNOWLEDGED)
def slot_filled_again_without_looking(wg, slot, full, done, out, *, fixed):
    """The slot may be filled again when the other one is done with it."""
    giving, taking = _firsts(wg)
    slot = slot.at[0].set(41, where=giving)
    full = full.atomic(order="release")[0].store(1, where=giving)
    free = giving & (done.atomic(order="acquire")[0].load(where=giving) == 1) if fixed else giving
    slot = slot.at[0].set(42, where=free)  # mark: again
    seen = taking & (full.atomic(order="acquire")[0].load(where=taking) == 1)
    value = slot.load(0, where=seen)  # mark: read
    done = done.atomic(order="release")[0].store(1, where=seen)
    return slot, full, done, out.at[wg.group_id()].set(value, where=seen)


@_case(
    race("slot", "read", "again", remedy="release"),
    variant="relaxed_store",
    static={"store": "relaxed"},
    explained="no schedule lets a load see what is stored after it",
    **_ACKNOWLEDGED,
)
@_case(
    race("slot", "read", "again", remedy="acquire"),
    variant="relaxed_load",
    static={"load": "relaxed"},
    explained="no schedule lets a load see what is stored after it",
    **_ACKNOWLEDGED,
)
def slot_filled_again(wg, slot, full, done, out, *, store="release", load="acquire", fixed):
    """The acknowledgement must be released and acquired, although it gives no data."""
    giving, taking = _firsts(wg)
    store, load = _RIGHT if fixed else (store, load)
    slot = slot.at[0].set(41, where=giving)
    full = full.atomic(order="release")[0].store(1, where=giving)
    seen = taking & (full.atomic(order="acquire")[0].load(where=taking) == 1)
    value = slot.load(0, where=seen)  # mark: read
    done = done.atomic(order=store)[0].store(1, where=seen)
    free = giving & (done.atomic(order=load)[0].load(where=giving) == 1)
    slot = slot.at[0].set(42, where=free)  # mark: again
    return slot, full, done, out.at[wg.group_id()].set(value, where=seen)


_ONCE = {"arguments": _arrays(1, 1, out=2), "right": _taken(42)}


@_case(race("table", "write", "read", remedy="release"), variant="relaxed_store", static={"store": "relaxed"}, **_ONCE)
@_case(race("table", "write", "read", remedy="acquire"), variant="relaxed_load", static={"load": "relaxed"}, **_ONCE)
def initialised_once(wg, state, table, out, *, store="release", load="acquire", fixed):
    """Who finds 0 makes the table; it is there when the state is 2."""
    first = wg.local_id() == 0
    store, load = _RIGHT if fixed else (store, load)
    old, state = state.atomic[0].compare_exchange(0, 1, where=first)
    mine = first & (old == 0)
    table = table.at[0].set(42, where=mine)  # mark: write
    state = state.atomic(order=store)[0].store(2, where=mine)
    ready = first & (state.atomic(order=load)[0].load(where=first) == 2)
    value = table.load(0, where=ready)  # mark: read
    return state, table, out.at[wg.group_id()].set(value, where=ready)


# --- A compare-and-exchange that fails reads only ---


_EITHER = {
    "arguments": lambda: (np.full(1, 7, np.int32), zeros(16)),
    "explained": "who reads beside a store may see either value, and the twin stores nothing",
}


@_case(race("slot", "swap", "look"), **_EITHER)
def exchange_that_succeeds_beside_a_load(wg, slot, out, *, fixed):
    lid, group = wg.local_id(), wg.group_id()
    _, slot = slot.atomic[0].compare_exchange(8 if fixed else 7, 9, where=(lid >= 0) & (group == 0))  # mark: swap
    value = slot.load(0, where=(lid >= 0) & (group == 1))  # mark: look
    return slot, out.at[wg.global_id()].set(value)


@_case(race("slot", "swap", "look"), arguments=lambda: (zeros(16),), explained=_EITHER["explained"])
def local_exchange_that_succeeds_beside_a_load(wg, out, *, fixed):
    lid = wg.local_id()
    slot = wg.local(1, I32)
    slot = wg.barrier(slot.at[0].set(7, where=lid == 0))
    _, slot = slot.atomic[0].compare_exchange(8 if fixed else 7, lid, where=lid >= 2)  # mark: swap
    value = slot.load(0, where=lid < 2)  # mark: look
    return out.at[wg.global_id()].set(value)


@_case(race("slot", "swap", "swap", remedy="scope"), **_EITHER)
def exchanges_that_succeed_in_narrow_scope(wg, slot, out, *, fixed):
    """Two that read a value need not be in each other's scope."""
    gid = wg.global_id()
    slots = slot.atomic(scope="work_group")
    old, slot = slots[0].compare_exchange(8 if fixed else 7, gid)  # mark: swap
    return slot, out.at[gid].set(old)


# --- Group algorithms are synchronisation points ---

_TILE = {"arguments": lambda: (ascending(16) * 3, zeros(16))}
_ALGORITHMS = {
    "reduce": lambda group, x: group.reduce(x, "add"),
    "broadcast": lambda group, x: group.broadcast(x, 1),
    "any": lambda group, x: group.any(x > 9).astype(I32),
    "all": lambda group, x: group.all(x > 9).astype(I32),
    "inclusive_scan": lambda group, x: group.inclusive_scan(x, "max"),
    "exclusive_scan": lambda group, x: group.exclusive_scan(x, "add"),
    "sum": lambda group, x: jnp.sum(x),
    "permute_xor": lambda group, x: group.permute_xor(x, 1),
    "select": lambda group, x: group.select(x, 3),
}


def _each(*names: str) -> Any:
    """A case for each of some algorithms; its race is at the lines `write` and `read`."""

    def register(function: Any) -> Any:
        for name in names:
            _case(race("tile", "write", "read", remedy="barrier"), variant=name, static={"name": name}, **_TILE)(
                function
            )
        return function

    return register


@_each("reduce", "broadcast", "any", "all", "inclusive_scan", "exclusive_scan", "sum")
def group_algorithm_before_the_store(wg, data, out, *, name, fixed):
    """What is stored before a group algorithm may be read after it, what is stored after it may not."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(8, I32)
    x = data[gid]
    found = jnp.zeros(8, I32) if fixed else _ALGORITHMS[name](wg, x)
    tile = tile.at[lid].set(x)  # mark: write
    found = _ALGORITHMS[name](wg, x) if fixed else found
    other = tile[7 - lid]  # mark: read
    return out.at[gid].set(other * 1000 + found)


@_each("reduce", "broadcast", "any", "inclusive_scan", "permute_xor", "select")
def sub_group_algorithm_across_sub_groups(wg, data, out, *, name, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(8, I32)
    x = data[gid]
    tile = tile.at[lid].set(x)  # mark: write
    found = _ALGORITHMS[name](wg.sub_group, x)
    other = tile[lid ^ (3 if fixed else 7)]  # mark: read
    return out.at[gid].set(other * 1000 + found)


@_each("reduce", "exclusive_scan", "all", "permute_xor")
def sub_group_algorithm_before_the_store(wg, data, out, *, name, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(8, I32)
    x = data[gid]
    found = jnp.zeros(8, I32) if fixed else _ALGORITHMS[name](wg.sub_group, x)
    tile = tile.at[lid].set(x)  # mark: write
    found = _ALGORITHMS[name](wg.sub_group, x) if fixed else found
    other = tile[lid ^ 1]  # mark: read
    return out.at[gid].set(other * 1000 + found)


@_case(race("tile", "write", "read"), nd_range=xe.NDRange(12, 6), arguments=lambda: (ascending(12), zeros(12)))
def algorithm_of_a_partial_sub_group(wg, data, out, *, fixed):
    """A sub-group of four and one of two."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(6, I32)
    tile = tile.at[lid].set(data[gid])  # mark: write
    found = wg.sub_group.reduce(data[gid], "add")
    other = tile[lid ^ 1 if fixed else 5 - lid]  # mark: read
    return out.at[gid].set(other * 1000 + found)


@_case(race("scratch", "write", "read"), arguments=lambda: (zeros(16), zeros(16)))
def group_algorithm_across_groups(wg, scratch, out, *, fixed):
    """It orders global memory too, for its own group."""
    lid, gid, first = wg.local_id(), wg.global_id(), wg.group_id() * 8
    scratch = scratch.at[gid].set(gid + 1)  # mark: write
    total = wg.reduce(gid, "max")
    other = scratch[first + 7 - lid if fixed else 15 - gid]  # mark: read
    return scratch, out.at[gid].set(other * 1000 + total)


@_case(race("scratch", "write", "read"), arguments=lambda: (zeros(16), zeros(16)))
def sub_group_algorithm_for_global_memory(wg, scratch, out, *, fixed):
    gid, first = wg.global_id(), wg.group_id() * 8
    scratch = scratch.at[gid].set(gid + 1)  # mark: write
    total = wg.sub_group.reduce(gid, "max")
    other = scratch[first + (wg.local_id() ^ (2 if fixed else 6))]  # mark: read
    return scratch, out.at[gid].set(other * 1000 + total)


@_case(race("tile", "read", "write"), **_TILE)
def tile_overwritten_before_all_have_read(wg, data, out, *, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(8, I32)
    tile = wg.barrier(tile.at[lid].set(data[gid]))
    other = tile[7 - lid]  # mark: read
    found = wg.any(other < 0).astype(I32) if fixed else 0
    tile = tile.at[lid].set(other * 2 + found)  # mark: write
    tile = wg.barrier(tile)
    return out.at[gid].set(tile[lid ^ 1])


@_case(race("tile", "fill", "use"), nd_range=xe.NDRange(8, 8), arguments=lambda: (ascending(32) * 5, zeros(8)))
def tiles_with_an_algorithm_at_one_end(wg, data, out, *, fixed):
    """The next turn overwrites what the last one still reads."""
    lid = wg.local_id()
    tile = wg.local(8, I32)

    def turn(k, carry):
        tile, total = carry
        x = data[k * 8 + lid]
        tile = tile.at[lid].set(x)  # mark: fill
        largest = wg.reduce(x, "max")
        other = tile[7 - lid]  # mark: use
        found = wg.any(other < 0).astype(I32) if fixed else 0
        return tile, total + largest * other + found

    _, total = lax.fori_loop(0, 4, turn, (tile, jnp.zeros(8, I32)))
    return out.at[lid].set(total)


@_case(race("tile", "write", "read"), **_TILE)
def group_algorithm_of_one_group(wg, data, out, *, fixed):
    """It stands in a branch that the other group does not take."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(8, I32)
    x = data[gid]
    tile = tile.at[lid].set(x)  # mark: write
    taken = (wg.group_id() == 0) | fixed
    found = lax.cond(taken, lambda x: wg.reduce(x, "min"), lambda x: jnp.int32(0), x)
    other = tile[7 - lid]  # mark: read
    return out.at[gid].set(other + jnp.minimum(found, 0))


@_case(race("bins", "zero", "count"), arguments=lambda: (ascending(16) * 3, zeros(8)))
def bins_counted_without_algorithm_after_zeroing(wg, data, hist, *, fixed):
    lid = wg.local_id()
    x = data[wg.global_id()]
    bins = wg.local(8, I32)
    bins = bins.at[lid].set(0)  # mark: zero
    first = wg.reduce(x, "min") if fixed else wg.group_id() * 24
    bins = bins.atomic[(x - first) // 6].add(1)  # mark: count
    sizes = wg.barrier(bins)[lid]
    return hist.atomic[lid].add(sizes)


@_case(race("bins", "count", "merge"), arguments=lambda: (ascending(16) * 3, zeros(8)))
def bins_merged_without_algorithm_after_counting(wg, data, hist, *, fixed):
    lid = wg.local_id()
    x = data[wg.global_id()]
    bins = wg.local(8, I32)
    bins = wg.barrier(bins.at[lid].set(0))
    bins = bins.atomic[x % 4].add(1)  # mark: count
    extra = wg.broadcast(x, 0) - wg.group_id() * 24 if fixed else 0
    size = bins[lid]  # mark: merge
    return hist.atomic[lid].add(size + extra)


@_case(race("tile", "write", "read"), nd_range=xe.NDRange((4, 8), (4, 4)), arguments=lambda: (zeros(4, 8), zeros(4, 8)))
def transpose_between_sub_groups(wg, data, out, *, fixed):
    """Rows of the group are sub-groups."""
    x, y, column = wg.local_id(0), wg.local_id(1), wg.global_id(1)
    tile = wg.local((4, 4), I32)
    value = data[x, column] + x * 4 + y
    tile = tile.at[x, y].set(value)  # mark: write
    largest = wg.reduce(value, "max") if fixed else wg.sub_group.reduce(value, "max")
    turned = tile[y, x]  # mark: read
    return out.at[x, column].set(turned + jnp.maximum(largest - 15, 0))


@_case(race("slot", "write", "read"), **_SLOT)
def value_of_one_read_before_all_are_there(wg, out, *, fixed):
    """A vote after the store, or before it."""
    lid = wg.local_id()
    slot = wg.local(1, I32)
    slot = wg.barrier(slot.at[0].set(0, where=lid == 0))
    early = wg.any(lid == 6)
    slot = slot.at[0].set(42, where=lid == 6)  # mark: write
    voted = wg.any(lid == 6) if fixed else early
    value = slot.load(0, where=(lid == 0) & voted)  # mark: read
    return out.at[wg.global_id()].set(value, where=lid == 0)


@_case(race("tile", "write", "read", remedy="barrier"), **_TILE)
def sub_group_algorithm_then_a_barrier_of_sub_groups(wg, data, out, *, fixed):
    """Several sub-group operations are no group operation."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(8, I32)
    x = data[gid]
    tile = tile.at[lid].set(x)  # mark: write
    found = wg.sub_group.reduce(x, "add")
    tile = wg.sub_group.barrier(tile)
    found = wg.reduce(found, "add") if fixed else wg.sub_group.reduce(found, "add")
    other = tile[7 - lid]  # mark: read
    return out.at[gid].set(other + jnp.minimum(found, 0))


ORDERING = tuple(_case.cases)

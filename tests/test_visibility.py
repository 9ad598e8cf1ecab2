"""Who sees a store when, level by level."""

import numpy as np
import pytest

from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.memory import poison
from xeemu.language.source import UNKNOWN
from xeemu.stepping.visibility import DEVICE, GROUP, ITEM, SUB_GROUP, Contents, WorkItemUnits

GEOMETRY = Geometry((16,), (8,), 4, False, np.dtype(np.int32))
ME, LANE, ROW, FAR = (WorkItemUnits.of(*place, GEOMETRY) for place in [(0, 0), (0, 1), (0, 4), (1, 0)])


def contents(space="global", remembers=False):
    memory = Allocation("m", space, (4,), np.dtype(np.int32), UNKNOWN)
    return Contents(memory, GEOMETRY, np.zeros(4, np.int32) if space == "global" else None, remembers)


def seen(memory, who, position=0, since=0, choice=0):
    return memory.load(np.array([[position]]), [who], [since], lambda count: min(choice, count - 1))[0, 0]


@pytest.mark.parametrize(
    ("level", "expected"), [(ITEM, [7, 0, 0, 0]), (SUB_GROUP, [7, 7, 0, 0]), (GROUP, [7, 7, 7, 0]), (DEVICE, [7] * 4)]
)
def test_a_delayed_store_is_seen_where_it_is_published(level, expected):
    memory = contents()
    memory.store(0, np.int32(7), ME, delayed=True)
    memory.publish(ME, level)
    assert [seen(memory, who) for who in (ME, LANE, ROW, FAR)] == expected


def test_what_was_published_before_is_overwritten_by_what_comes_later():
    memory = contents()
    memory.store(0, np.int32(1), ME, delayed=True)
    memory.publish(ME, GROUP)
    memory.store(0, np.int32(2), LANE, delayed=True)
    memory.publish(LANE, DEVICE)
    assert [seen(memory, who) for who in (ME, LANE, ROW, FAR)] == [2] * 4
    assert memory.is_settled


def test_a_store_at_once_takes_the_place_of_ones_own_delayed_one():
    memory = contents()
    memory.store(0, np.int32(1), ME, delayed=True)
    memory.store(0, np.int32(2), ME, delayed=False)
    memory.publish(ME, DEVICE)
    assert seen(memory, FAR) == 2


def test_local_memory_is_seen_by_the_group_at_its_own_level():
    memory = contents("local")
    assert seen(memory, ME) == poison(np.int32)
    memory.store(0, np.int32(7), ME, delayed=True)
    memory.publish(ME, GROUP)
    assert (memory.cells[0], seen(memory, ROW)) == (7, 7)


def test_atomic_operations_of_narrow_scope_lose_updates_of_others():
    def add(memory, who, level):
        return memory.update(0, [np.int32(1)], who, lambda old, values: old + values[0], level)

    wide, narrow = contents(), contents()
    assert [add(wide, who, DEVICE) for who in (ME, FAR)] == [0, 1]
    assert [add(narrow, who, GROUP) for who in (ME, LANE, FAR)] == [0, 1, 0]
    for memory in (wide, narrow):
        for who in (ME, LANE, FAR):
            memory.publish(who, DEVICE)
    assert (wide.cells[0], narrow.cells[0]) == (2, 1)


def test_an_atomic_operation_continues_ones_own_delayed_store():
    memory = contents()
    memory.store(0, np.int32(5), ME, delayed=True)
    assert memory.update(0, [np.int32(1)], ME, lambda old, values: old + values[0], DEVICE) == 5
    assert memory.cells[0] == 6


def test_an_older_value_is_seen_back_to_the_last_acquire_and_never_behind_ones_own_store():
    memory = contents(remembers=True)
    for now, value, who in [(1, 10, ME), (2, 20, LANE), (3, 30, ME)]:
        memory.now = now
        memory.store(0, np.int32(value), who, delayed=False)
    assert [seen(memory, FAR, choice=n) for n in range(4)] == [30, 20, 10, 0]
    assert [seen(memory, FAR, since=2, choice=n) for n in range(4)] == [30, 20, 20, 20]
    assert [seen(memory, LANE, choice=n) for n in range(4)] == [30, 20, 20, 20]
    assert [seen(memory, ME, choice=n) for n in range(4)] == [30] * 4

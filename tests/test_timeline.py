"""Timelines of conflicts: when each access comes as far as barriers tell, and the picture on the page of findings."""

import re

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.faults import timeline

pytest.importorskip("jinja2")


@xe.kernel
def turned(wg, x, *, barriers, others):
    """Elements turned round, with so many barriers before the store, and others of another memory after it."""
    tile, elsewhere = wg.local(wg.size, jnp.int32), wg.local(wg.size, jnp.int32)
    lid = wg.local_id()
    elsewhere = elsewhere.at[lid].set(0)
    for _ in range(barriers):
        tile = wg.barrier(tile)
    tile = tile.at[lid].set(x[wg.global_id()])
    for _ in range(others):
        elsewhere = wg.barrier(elsewhere)
    return x.at[wg.global_id()].set(tile[wg.size - 1 - lid] + elsewhere[lid])


def found(**static):
    return xe.check(turned, xe.NDRange(128, 64), device="max1550")(np.zeros(128, np.int32), **static)[1]


@pytest.mark.parametrize(
    ("barriers", "others", "passed", "between"),
    [
        (0, 0, "start of the kernel", ""),
        (1, 0, "barrier 1", ""),
        (3, 0, "barriers 1 to 3", ""),
        (0, 2, "start of the kernel", "barriers 1 to 2 of other memories than tile"),
        (2, 1, "barriers 1 to 2", "barrier 3 of other memories than tile"),
    ],
)
def test_both_accesses_stand_where_barriers_put_them(barriers, others, passed, between):
    (finding,) = found(barriers=barriers, others=others)
    assert finding.epochs == (barriers, barriers + others)
    shown = timeline.of_finding(finding)
    assert (shown.passed, shown.between) == (passed, between)
    assert [(access.what, access.writes) for access in shown.accesses] == [("store", True), ("load", False)]
    assert shown.is_of_one_group


@xe.kernel
def flagged(wg, x, data, flag):
    """One group's work-items pass a barrier that orders `x` between two stores, atomics or not."""
    lid = wg.local_id()
    flag = flag.atomic[0].add(1)
    data = data.at[lid].set(x[wg.global_id()], where=lid < 32)
    x = wg.barrier(x)
    return data.at[lid - 32].set(1, where=lid >= 32), flag


def test_of_launches_that_are_looked_at_in_several_orders_the_barriers_are_told_too():
    arrays = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(1, np.int32)
    finding = next(f for f in xe.check(flagged, xe.NDRange(64, 64), device="max1550")(*arrays)[1] if f.uses)
    assert (finding.kind, finding.epochs) == ("wrong-fence", (0, 1))


@xe.kernel
def narrow(wg, flag, seen):
    """An atomic store and an atomic load whose scope does not reach the other work-group."""
    i = wg.global_id()
    flag = flag.atomic(scope="work_group")[0].store(1, where=i == 0)
    return flag, seen.at[i].set(flag.atomic(scope="work_group")[0].load())


def test_an_atomic_load_does_not_write():
    flag, seen = np.zeros(1, np.int32), np.zeros(16, np.int32)
    found = xe.check(narrow, xe.NDRange(16, 8), device="max1550")(flag, seen)[1]
    shown = timeline.of_finding(next(finding for finding in found if finding.uses))
    writes = {access.what: access.writes for access in shown.accesses}
    assert writes == {"atomic store of scope work_group": True, "atomic load of scope work_group": False}
    assert not shown.is_of_one_group


def test_the_page_of_findings_has_the_picture():
    page = found(barriers=1, others=1).to_html()
    picture = page[page.index('<div class="race"') : page.index("<pre>")]
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", picture))
    parts = [
        "work-group 0",
        "work-item",
        "barrier 1 ",
        "store",
        "barrier 2 of other memories",
        "load",
        "local memory tile",
    ]
    assert [text.find(part) for part in parts] == sorted(text.find(part) for part in parts)
    assert all(part in text for part in parts)
    assert picture.count('class="barrier other both"') == 1


def test_what_is_no_conflict_of_two_work_items_has_no_timeline():
    beyond = xe.check(xe.kernel(lambda wg, x: x.at[wg.global_id() + 1].set(0)), xe.NDRange(8, 8))(np.zeros(8))[1]
    assert [timeline.of_finding(finding) for finding in beyond] == [None]
    assert 'class="race' not in beyond.to_html()

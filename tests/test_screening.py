"""Screening: it is first seen whether anything may be wrong in a launch; what is found then is what it was."""

import jax.numpy as jnp
import numpy as np
import pytest
from defects import DEFECTS
from jax import lax

import xeemu as xe
from xeemu.faults import checking, observing, screening, settled
from xeemu.faults.screening import Screened, Screening
from xeemu.planning import effort

ITEMS, GROUP = 256, 32
ND_RANGE = xe.NDRange(ITEMS, GROUP)


@pytest.fixture
def screened(monkeypatch):
    """Every launch counts as long; gives for each that was looked at whether it was seen to be right."""
    seen, run = [], Screened.run

    def noted(self, given, more):
        seen.append(run(self, given, more))
        return seen[-1]

    monkeypatch.setattr(effort, "is_short", lambda *_: False)
    monkeypatch.setattr(Screened, "run", noted)
    checking._checked.cache_clear()
    yield seen
    checking._checked.cache_clear()


def told(findings):
    return sorted((str(finding), finding.count, finding.severity) for finding in findings)


@pytest.mark.every(41)
@pytest.mark.parametrize("case", [case for case in DEFECTS if not case.refused], ids=lambda case: case.name)
def test_the_same_is_found(case, monkeypatch):
    checking._checked.cache_clear()
    with monkeypatch.context() as patched:
        patched.setattr(Screened, "run", lambda *_: None)
        outputs, found = case.checked(case.defective)
    checking._checked.cache_clear()
    others, again = case.checked(case.defective)
    checking._checked.cache_clear()
    assert told(again) == told(found)
    for a, b in zip(outputs, others, strict=True):
        np.testing.assert_array_equal(a, b)


@xe.kernel
def scattered(wg, places, x, out):
    i = wg.global_id()
    return out.at[places[i]].set(x[i])


@xe.kernel
def scattered_locally(wg, places, x, out):
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.barrier(wg.local(wg.size, jnp.int32).at[places[i] % wg.size].set(x[i]))
    return out.at[i].set(tile[lid])


@xe.kernel
def halved(wg, places, x, out):
    """An index between two, whose sum may wrap."""
    i = wg.global_id()
    middle = lax.fori_loop(0, 2, lambda _, k: (places[i] + places[k]) // 2, places[i])
    return out.at[i].set(x[middle])


@xe.kernel
def divided(wg, places, x, out):
    i = wg.global_id()
    return out.at[i].set(x[i] // (places[i] + 1))


@xe.kernel
def synchronised(wg, places, x, out):
    i = wg.global_id()
    tile = wg.local(wg.size, jnp.int32).at[wg.local_id()].set(x[i])
    tile = wg.barrier(tile, where=places[i] >= 0)
    return out.at[i].set(tile[wg.local_id()])


RIGHT = np.random.default_rng(0).permutation(ITEMS).astype(np.int32)
IN_GROUPS = np.concatenate([np.random.default_rng(k).permutation(GROUP) for k in range(ITEMS // GROUP)]).astype(
    np.int32
)
X, OUT = np.arange(ITEMS, dtype=np.int32), np.zeros(ITEMS, np.int32)


def with_(places, number, value):
    return np.where(np.arange(ITEMS) == number, np.int32(value), places)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kernel", "right", "wrong", "kinds"),
    [
        (scattered, RIGHT, with_(RIGHT, 7, RIGHT[200]), {"data-race"}),
        (scattered, RIGHT, with_(RIGHT, 7, ITEMS), {"out-of-bounds"}),
        (scattered_locally, IN_GROUPS, with_(IN_GROUPS, 7, IN_GROUPS[8]), {"data-race", "uninitialized-read"}),
        (halved, RIGHT, with_(RIGHT, 7, 2**31 - 1), {"out-of-bounds"}),
        (divided, RIGHT, with_(RIGHT, 7, -1), {"undefined-arithmetic"}),
        (synchronised, RIGHT, with_(RIGHT, 7, -1), {"barrier-divergence"}),
    ],
    ids=["scattered", "beyond", "locally", "wrapped", "divided", "parted"],
)
def test_what_is_right_is_seen_by_less_and_what_is_wrong_is_told(kernel, right, wrong, kinds, screened):
    outputs, findings = xe.check(kernel, ND_RANGE)(right, X, OUT)
    assert not findings, str(findings)
    assert screened[-1] is not None
    np.testing.assert_array_equal(outputs, xe.launch(kernel, ND_RANGE)(right, X, OUT))
    _, findings = xe.check(kernel, ND_RANGE)(wrong, X, OUT)
    assert {finding.kind for finding in findings} == kinds, str(findings)
    assert screened[-1] is None


@pytest.mark.thorough
def test_what_was_wrong_is_watched_at_once_the_next_time(screened):
    check = xe.check(scattered, ND_RANGE)
    check(with_(RIGHT, 7, ITEMS), X, OUT)
    assert not check(RIGHT, X, OUT)[1]
    assert screened == [None]


@xe.kernel
def filled(wg, places, x, out):
    """All work-items of a group fill a table."""
    table = lax.fori_loop(0, 4, lambda k, table: table.at[k].set(x[k]), wg.local(4, jnp.int32))
    return out.at[wg.global_id()].set(wg.barrier(table)[wg.local_id() % 4])


@xe.kernel
def of_all_groups(wg, places, x, out):
    """Each group stores to the same elements."""
    return out.at[wg.local_id()].set(x[wg.global_id()])


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [filled, of_all_groups])
def test_what_addresses_that_are_known_do_not_prove_is_watched_at_once(kernel, screened, monkeypatch):
    def refused(*_):
        raise AssertionError

    monkeypatch.setattr(screening, "Screening", refused)
    _, found = xe.check(kernel, ND_RANGE)(RIGHT, X, OUT)
    assert {finding.kind for finding in found} == {"data-race"}
    assert screened == []


def test_what_was_watched_and_is_right_is_screened_the_next_time(screened, monkeypatch):
    monkeypatch.setattr(settled, "any_exact_unproved", lambda proofs: True)
    check = xe.check(scattered, ND_RANGE)
    assert not check(RIGHT, X, OUT)[1]
    assert screened == []
    assert not check(RIGHT[::-1].copy(), X, OUT)[1]
    assert len(screened) == 1
    assert screened[0] is not None


@xe.kernel
def looked_up(wg, places, x, out):
    i = wg.global_id()
    return out.at[i].set(x[places[i]])


@xe.kernel
def compacted(wg, places, x, out):
    """Of which a scan over the group is the most, and addresses need it."""
    i = wg.global_id()
    kept = places[i] % 2 == 0
    place = wg.exclusive_scan(kept.astype(jnp.int32), "add")
    return out.at[wg.group_id() * wg.size + place].set(x[i], where=kept)


@pytest.mark.parametrize(
    ("kernel", "beside"),
    [(looked_up, True), (scattered, True), (scattered_locally, True), (synchronised, False), (compacted, False)],
    ids=lambda case: getattr(case, "name", None),
)
def test_what_little_is_looked_at_for_is_screened_beside_a_launch(kernel, beside, monkeypatch):
    watched = []

    def noted(self, given, more):
        watched.append(self._often.outputs)
        return run(self, given, more)

    run = Screened.run
    monkeypatch.setattr(effort, "is_short", lambda *_: False)
    monkeypatch.setattr(Screened, "run", noted)
    checking._checked.cache_clear()
    given = (IN_GROUPS if kernel is scattered_locally else RIGHT), X, OUT
    outputs, findings = xe.check(kernel, ND_RANGE)(*given)
    checking._checked.cache_clear()
    assert watched == [not beside]
    assert not findings
    np.testing.assert_array_equal(outputs, xe.launch(kernel, ND_RANGE)(*given))


def test_a_short_launch_that_is_right_is_never_watched(monkeypatch):
    def refused(*_):
        raise AssertionError

    checking._checked.cache_clear()
    monkeypatch.setattr(observing, "Watcher", refused)
    outputs, findings = xe.check(scattered, ND_RANGE)(RIGHT, X, OUT)
    checking._checked.cache_clear()
    assert not findings
    np.testing.assert_array_equal(outputs, xe.launch(scattered, ND_RANGE)(RIGHT, X, OUT))


@xe.kernel
def placed_twice(wg, places, x, out, *, again):
    """What work-items put in local memory, by their places, and once more by their own ids or not."""
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.local(wg.size, jnp.int32)
    if again:
        tile = wg.barrier(tile.at[lid].set(0, where=x[i] >= 0))
    tile = wg.barrier(tile.at[places[i] % wg.size].set(x[i]))
    return out.at[i].set(tile[lid])


@pytest.mark.parametrize("again", [False, True])
def test_what_is_stored_is_noted_once_where_that_is_all_that_is_written(again, monkeypatch):
    kept, close = [], Screening.close

    def noted(self):
        kept.append((len(self.state["own"]), len(self.state["written"])))
        return close(self)

    monkeypatch.setattr(Screening, "close", noted)
    checking._checked.cache_clear()
    check = xe.check(placed_twice, ND_RANGE)
    assert not check(IN_GROUPS, X, OUT, again=again)[1]
    assert set(kept) == {(1, int(again))}
    _, found = check(np.where(np.arange(ITEMS) % GROUP == 7, IN_GROUPS[::-1], IN_GROUPS), X, OUT, again=again)
    checking._checked.cache_clear()
    assert ("uninitialized-read" in {finding.kind for finding in found}) != again

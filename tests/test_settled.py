"""What no data decide is watched in the first run alone; what equal calls find is what each would find by itself."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from defects import DEFECTS
from jax import lax

import xeemu as xe
from xeemu.faults import checking, observing, settled

N, GROUP = 64, 16
ND_RANGE = xe.NDRange(N, GROUP)
UP, ONES = np.arange(N, dtype=np.int32), np.ones(N, np.int32)


@pytest.fixture(autouse=True)
def fresh():
    checking._checked.cache_clear()
    yield
    checking._checked.cache_clear()


def told(run):
    outputs, findings = run
    bits = [np.asarray(x).tobytes() for x in jax.tree.leaves(outputs)]
    return bits, [str(finding) for finding in findings], findings.watched


def apart(proofs):
    """Everything is left to each run."""
    nothing = dataclasses.replace(
        proofs,
        races={},
        bounds=frozenset(),
        unwritten=frozenset(),
        barriers=frozenset(),
        blocks=frozenset(),
        endless=False,
        followings=(),
        additions=None,
    )
    return nothing, proofs


def turned(arguments):
    """Other contents of the same values, so that indices stay what they were: within bounds, or not."""
    return [a if not np.ndim(a) else np.roll(a[::-1], 3, axis=0) for a in arguments]


@pytest.mark.thorough
@pytest.mark.every(58)
@pytest.mark.parametrize("case", [case for case in DEFECTS if not case.refused], ids=lambda case: case.name)
def test_equal_calls_find_what_they_find_by_themselves(case, monkeypatch):
    check = xe.check(case.defective, case.nd_range, device=case.device)
    given = [case.arguments(), turned(case.arguments()), case.arguments()]
    found = [told(check(*arguments, **case.static)) for arguments in given]
    monkeypatch.setattr(settled, "parted", apart)
    for arguments, each in zip(given[:2], found[:2], strict=True):
        checking._checked.cache_clear()
        assert told(check(*arguments, **case.static)) == each
    assert found[2] == found[0]


def watched_runs(monkeypatch):
    """For each run that is watched what races in it."""
    seen, run = [], observing._ScreenedPart.run

    def noted(self, given, present):
        seen.append(len(self.watch.pairs))
        return run(self, given, present)

    monkeypatch.setattr(observing._ScreenedPart, "run", noted)
    return seen


@xe.kernel
def into_one(wg, x, total):
    """A race of loads and stores, whatever the values are."""
    return total.at[0].set(total[0] + x[wg.global_id()])


@xe.kernel
def whole_table(wg, x, out):
    """All work-items store the same, whatever it is."""
    lid = wg.local_id()
    tile = lax.fori_loop(0, GROUP, lambda k, t: t.at[k].set(x[k]), wg.local(GROUP, jnp.int32))
    tile = wg.barrier(tile)
    return out.at[wg.global_id()].set(tile[lid])


@xe.kernel
def constants(wg, x, out):
    tile = wg.local(1, jnp.int32)
    tile = tile.at[0].set(7)
    tile = wg.barrier(tile)
    return out.at[wg.global_id()].set(tile[0] + x[0])


@xe.kernel
def beyond(wg, x, out):
    i = wg.global_id()
    return out.at[i].set(x[i + 1])


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [into_one, whole_table, constants, beyond])
def test_what_no_data_decide_is_watched_once(kernel, monkeypatch):
    seen = watched_runs(monkeypatch)
    check = xe.check(kernel, ND_RANGE)
    first = check(UP, ONES * 0)
    again = [check(UP + k, ONES * 0) for k in range(3)]
    assert len(seen) == 1
    for k, (outputs, findings) in enumerate(again):
        assert [str(f) for f in findings] == [str(f) for f in first[1]] != []
        np.testing.assert_array_equal(outputs, xe.launch(kernel, ND_RANGE)(UP + k, ONES * 0))


@xe.kernel
def last_one(wg, x, out):
    """All work-items of a group store what they have loaded into one element."""
    return out.at[wg.group_id()].set(x[wg.global_id()])


@xe.kernel
def last_one_moved(wg, x, out):
    """The same, of a stretch that moves from group to group in a memory that all groups share."""
    return out.at[wg.local_id()].set(x[wg.global_id()])


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [last_one, last_one_moved])
def test_data_decide_each_time_if_stores_that_race_store_one_value(kernel):
    check = xe.check(kernel, ND_RANGE)
    severities = [check(x, UP)[1][0].severity for x in (ONES, UP, ONES, UP)]
    assert severities == ["note", "error", "note", "error"]


@xe.kernel
def both(wg, x, places, out, total):
    i = wg.global_id()
    return out.at[places[i]].set(x[i]), total.at[0].set(total[0] + x[i])


@pytest.mark.thorough
def test_what_data_decide_is_watched_each_time_beside_it(monkeypatch):
    seen = watched_runs(monkeypatch)
    check = xe.check(both, ND_RANGE)
    right, wrong = UP, np.where(UP == 5, 6, UP).astype(np.int32)
    found = [{f.memory for f in check(UP, places, UP, UP)[1]} for places in (right, wrong, right)]
    assert found == [{"total"}, {"total", "out"}, {"total"}]
    assert seen == [2, 1, 1, 1]


@pytest.mark.thorough
def test_a_run_in_which_a_loop_was_given_up_is_not_kept():
    @xe.kernel
    def counting(wg, x, total):
        n = lax.while_loop(lambda n: n < x[0], lambda n: jnp.where(n < 0, n, n + 1), jnp.int32(0))
        return total.at[0].set(total[0] + n)

    check = xe.check(counting, ND_RANGE, max_iterations=100)
    with pytest.raises(xe.KernelError, match="100 iterations"):
        check(ONES * 1000, ONES)
    assert check(ONES, ONES)[1]
    with pytest.raises(xe.KernelError, match="100 iterations"):
        check(ONES * 1000, ONES)

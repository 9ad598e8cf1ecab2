"""What was found for arguments is known again for such of the same contents, and found anew for others."""

import contextlib
import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.devices import target
from xeemu.devices.target import CPU
from xeemu.faults import exploration
from xeemu.launching import apart
from xeemu.launching.memoised import Asked, Memoised
from xeemu.launching.preparation import prepare_alone
from xeemu.launching.recompiling import Recompiled

ITEMS = 64
ND_RANGE = xe.NDRange(ITEMS, 32)
FEW, MANY = np.arange(8), np.arange(CPU.watching.kept_bytes, dtype=np.int32)


def known(memory, given):
    return memory.asked(given).kept


@pytest.mark.parametrize("array", [FEW, MANY], ids=["few", "many"])
def test_a_value_is_known_for_equal_contents_alone(array):
    memory, given = Memoised(CPU.watching), array.copy()
    assert known(memory, [given, 3]) is None
    memory.asked([given, 3]).keep("found", 1.0)
    assert known(memory, [array, 3]) == ("found",)
    assert known(memory, [given, 4]) is None
    memory.asked([given, 4]).keep(None, 1.0)
    given[-1] += 1
    assert known(memory, [array, 4]) == (None,)
    assert known(memory, [given, 4]) is None


def test_bytes_that_others_begin_with_are_not_the_same():
    memory = Memoised(CPU.watching)
    memory.asked([1.0]).keep("found", 1.0)
    assert known(memory, [np.float32(0)]) is None
    assert known(memory, [1.0]) == ("found",)


def test_nothing_is_kept_of_what_is_sooner_computed_than_known_again():
    memory = Memoised(CPU.watching)
    memory.asked([MANY]).keep("found", 1e-6)
    assert known(memory, [MANY]) is None
    memory.asked([MANY]).keep("found", 1.0)
    assert known(memory, [MANY]) == ("found",)


def test_nothing_is_known_of_arguments_for_which_the_function_has_raised_an_error():
    memory = Memoised(CPU.watching)
    memory.asked([FEW]).keep("found", 1.0)
    for _ in range(2):
        assert known(memory, [FEW + 1]) is None
    assert known(memory, [FEW]) == ("found",)


def test_calls_of_several_threads_keep_their_own_values():
    memory = Memoised(CPU.watching)
    memory.asked([FEW]).keep("found", 1.0)
    one, other = memory.asked([FEW + 1]), memory.asked([FEW + 2])
    one.keep("one", 1.0)
    assert known(memory, [FEW + 2]) is None
    assert known(memory, [FEW + 1]) == ("one",)
    other.keep("other", 1.0)
    assert known(memory, [FEW + 2]) == ("other",)
    assert known(memory, [FEW + 1]) is None


@pytest.fixture
def runs(monkeypatch):
    """One for each time that a launch was watched or run in several orders."""
    seen = []

    def noting(owner, name):
        function = getattr(owner, name)

        def noted(*arguments):
            seen.append(name)
            return function(*arguments)

        monkeypatch.setattr(owner, name, noted)

    noting(Recompiled, "__call__")
    noting(exploration, "explored")
    return seen


@pytest.fixture
def forgetting(monkeypatch):
    """What is asked in it is found anew, as nothing is known again."""

    @contextlib.contextmanager
    def within():
        with monkeypatch.context() as patched:
            patched.setattr(Memoised, "asked", lambda memory, given: Asked(memory, given, None, None))
            yield

    return within


@xe.kernel
def scattered(wg, places, x, out):
    i = wg.global_id()
    return out.at[places[i]].set(x[i])


@xe.kernel
def queued(wg, x, queue, tail):
    """Each work-item takes a place for what it keeps."""
    value = x[wg.global_id()]
    place, tail = tail.atomic[0].fetch_add(1, where=value > 0)
    return queue.at[place].set(value, where=value > 0), tail


def told(findings):
    return [str(finding) for finding in findings]


@pytest.mark.thorough
@pytest.mark.parametrize("racing", [False, True])
def test_a_check_knows_places_again_and_looks_at_others(runs, forgetting, racing):
    places, x, out = np.arange(ITEMS, dtype=np.int32), np.arange(ITEMS, dtype=np.int32), np.zeros(ITEMS, np.int32)
    places[0] = int(racing)
    first, found = xe.check(scattered, ND_RANGE)(places, x, out)
    count = len(runs)
    again, same = xe.check(scattered, ND_RANGE)(places.copy(), x.copy(), out.copy())
    assert len(runs) == count
    assert told(same) == told(found)
    np.testing.assert_array_equal(again[0], first[0])
    places[2] = 3
    _, other = xe.check(scattered, ND_RANGE)(places, x, out)
    assert len(runs) > count
    with forgetting():
        assert told(other) == told(xe.check(scattered, ND_RANGE)(places, x, out)[1])
    assert told(other) != told(found)


def test_the_same_value_in_both_places_is_a_note_and_another_one_an_error(runs):
    places, x, out = np.zeros(ITEMS, np.int32), np.zeros(ITEMS, np.int32), np.zeros(ITEMS, np.int32)
    severities = []
    for value in (0, 0, 1, 1, 0):
        x[5] = value
        (finding,) = xe.check(scattered, ND_RANGE)(places, x, out)[1]
        severities.append(finding.severity)
    assert severities == ["note", "note", "error", "error", "note"]


def test_orders_are_run_once_for_equal_arguments(runs):
    items = 4
    x, queue = np.tile(np.array([0, 1], np.int32), items // 2), np.zeros(items // 2, np.int32)
    check = xe.check(queued, xe.NDRange(items, 2))
    for given in (x, x.copy(), x, 1 - x, x):
        outputs, found = check(given, queue, np.zeros(1, np.int32))
        assert not found
        assert outputs[1] == items // 2
    assert runs.count("explored") == 3


@xe.kernel
def looked_up(wg, places, times, masks, chosen, x, y):
    """A load by an index, times that a loop goes round, a mask, a branch and a value that only comes to memory."""
    i = wg.global_id()
    last = wg.while_loop(lambda k: k < times[i], lambda k: k + 1, jnp.zeros_like(i))
    value = lax.cond(chosen[0] > 0, lambda: 2 * x[i], lambda: last)
    return y.at[i].set(value + x.load(places[i], where=masks[i] > 0))


def stored(places, times, masks, chosen, x, y):
    """What it leaves in `y`."""
    return np.where(chosen > 0, 2 * x, times) + np.where(masks > 0, x[places], 0)


GIVEN = {
    "places": np.arange(ITEMS, dtype=np.int32),
    "times": np.full(ITEMS, 3, np.int32),
    "masks": np.ones(ITEMS, np.int32),
    "chosen": np.ones(1, np.int32),
    "x": np.arange(ITEMS, dtype=np.int32),
    "y": np.zeros(ITEMS, np.int32),
}


def test_what_decides_on_accesses_is_all_but_what_only_comes_to_memory():
    prepared = prepare_alone(looked_up, ND_RANGE, xe.device("max1550"), tuple(GIVEN.values()), {})
    names = list(GIVEN)
    assert [names[k] for k in apart.deciding(prepared)] == ["places", "times", "masks", "chosen"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", GIVEN)
def test_a_profile_knows_counts_again_and_counts_others(runs, forgetting, name):
    profile = xe.profile(looked_up, ND_RANGE)
    _, first = profile(*GIVEN.values())
    count = len(runs)
    _, again = profile(*(array.copy() for array in GIVEN.values()))
    assert len(runs) == count
    changed = {**GIVEN, name: GIVEN[name] * 0}
    outputs, other = profile(*changed.values())
    np.testing.assert_array_equal(outputs, stored(**changed))
    with forgetting():
        _, alone = profile(*changed.values())
    assert again.to_dict() == first.to_dict()
    assert other.to_dict() == alone.to_dict()
    assert (other.to_dict() == first.to_dict()) == (name in "xy")


@xe.kernel
def by_size(wg, x, out):
    """Loads what lies further at smaller sizes of sub-groups, of which it requires none."""
    sg = wg.sub_group
    return out.at[wg.global_id()].set(x[sg.local_id() + 2 * (32 - sg.size)])


def test_which_elements_are_unset_is_looked_at_at_other_sub_group_sizes(monkeypatch):
    x, found = np.zeros(ITEMS, np.int8), []
    # As if it had taken long to find.
    watching = dataclasses.replace(CPU.watching, known_bytes_per_s=np.inf)
    monkeypatch.setattr(target, "TARGETS", {"cpu": dataclasses.replace(CPU, watching=watching)})
    for first in (48, 48, 48, 47, 48):
        check = xe.check(by_size, xe.NDRange(ITEMS, ITEMS), device="b580", unset={"x": np.arange(ITEMS) >= first})
        found.append([finding.kind for finding in check(x, x)[1]])
    assert found == [[], [], [], ["sub-group-size"], []]

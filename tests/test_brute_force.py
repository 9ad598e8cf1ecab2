"""The counts of reports against a brute force of addresses, on random programs; more of them: `scripts/fuzz-counts`."""

import bruteforce
import drawn_accesses
import pytest
import wordings

import xeemu as xe


def report(seed, folder, profiled=False):
    made = drawn_accesses.program(seed)
    kernel, nd_range = wordings.kernel(made, folder), wordings.nd_range(made)
    device = bruteforce.DEVICES[made.sub_group_size == 32 and seed % 3 == 0]
    launch = (xe.profile if profiled else xe.estimate)(kernel, nd_range, device=device)
    found = launch(*wordings.arguments(made))
    return bruteforce.compare(made, found[1] if profiled else found)


def check_estimate(seed, folder):
    """No figure is wrong, and none is missing unless data decide how often a loop is repeated."""
    is_known = not any(loop.bound for loop in drawn_accesses.program(seed).loops)
    allowed = {"right", "doubtful", "otherwise"} if is_known else {"right", "doubtful", "otherwise", "unknown"}
    differ = [c for c in report(seed, folder) if c.verdict not in allowed]
    assert not differ, (seed, *map(str, differ))


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(520, 530))
def test_an_estimate_has_all_counts(seed, tmp_path):
    check_estimate(seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("first", range(536, 544, 4))
def test_more_estimates_have_all_counts(first, tmp_path):
    for seed in range(first, first + 4):
        check_estimate(seed, tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed",
    [
        20142,
        20246,
        20265,
        20457,
        20493,
        20569,
        21003,
        21096,
        21426,
        21435,
        21481,
        21586,
        820187,
        900245,
        940246,
        90006,
        91002,
    ],
)
def test_estimates_that_were_wrong_are_right(seed, tmp_path):
    """Loops of work-items in others, iterations without a loop, masks with counters, ids that change no place, branches
    in loops, loads by all after loads by some, conditions of C, loops that never begin or are written out, exchanges,
    places stored by some before a loop and by all in it, linear ids,
    remainders of divisions by 1, stores of what the place holds, of vectors too.
    """
    assert [str(c) for c in report(seed, tmp_path) if c.verdict == "wrong"] == []


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(300, 312))
def test_a_profile_counts_what_a_brute_force_does(seed, tmp_path):
    assert [str(c) for c in report(seed, tmp_path, profiled=True) if c.verdict == "wrong"] == []


@pytest.mark.thorough
@pytest.mark.parametrize("seed", [97227, 97299, 210050])
def test_profiles_that_were_wrong_are_right(seed, tmp_path):
    """Vectors that all load, atomics on a word for all, loops that constants end in those that data end."""
    assert [str(c) for c in report(seed, tmp_path, profiled=True) if c.verdict == "wrong"] == []

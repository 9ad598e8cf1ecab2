"""Advice: of launches with a known best change the lever is that change, and its gain is what the change gives."""

import advice
import jax.numpy as jnp
import pytest
from advice import CASES, floats
from advice_guides import GUIDES, MISSES
from jax import lax

import xeemu as xe


def is_right(case: advice.Case) -> bool:
    lever = case.estimate().lever
    if lever is None or case.kind is None:
        return lever is None and case.kind is None
    memory = lever.sites[0].memory if lever.sites else None
    return lever.kind == case.kind and case.memory in (None, memory) and case.says in lever.text


@pytest.mark.parametrize("name", CASES)
def test_the_lever_is_the_change_that_is_known_to_be_best(name):
    assert is_right(CASES[name])


@pytest.mark.parametrize("name", [name for name in GUIDES if name not in MISSES])
def test_the_lever_is_the_change_that_guides_make(name):
    assert is_right(GUIDES[name])


def test_nine_of_ten_levers_are_right():
    assert len(MISSES) <= 0.1 * (len(CASES) + len(GUIDES))
    assert set(MISSES) <= set(GUIDES)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("transpose of 32 x 32 tiles", {"pitch": 33}),
        ("transpose of 32 x 32 tiles, max1550", {"pitch": 33}),
        ("rows of a tile", {"pitch": 33}),
        ("eight neighbours of a work-item", {"stripe": True}),
        ("eight neighbours of a work-item, max1550", {"stripe": True}),
        ("product in registers", {"stripe": True}),
        ("one field of sixteen, max1550", {"apart": True}),
        ("a table that all copy", {"share": "shared"}),
        ("a table that one copies", {"share": "shared"}),
        ("a table that one copies, a770", {"share": "shared"}),
        ("a table of scalars that one copies, max1550", {"share": "shared"}),
        ("vectors of a column, a770", {"pitch": 65}),
        ("a word that all store to, a770", {"one": True}),
    ],
)
def test_a_change_gains_what_its_hint_says(name, change):
    """Within a fifth: a trial leaves most instructions as they are."""
    case = CASES[name]
    before, after = case.estimate(), case.estimate(**change)
    assert before.lever.gain == pytest.approx(before.cycles / after.cycles, rel=0.2)


@xe.kernel
def window(wg, x, out, *, turns):
    """A window of as many words as neighbours, which moves by a word."""
    moved = lambda k, total: total + x[(k + wg.local_id(1)) % turns]  # noqa: E731
    return out.at[wg.global_id(0), wg.global_id(1)].set(lax.fori_loop(0, turns, moved, jnp.zeros((1, 256))))


@xe.kernel
def strips(wg, x, out, *, turns):
    """A row of the matrix after another, 32 neighbours in each."""
    first = wg.group_id(0) * turns * 8 + wg.local_id(0)
    step = lambda k, total: total + x[first + 8 * k, wg.global_id(1)]  # noqa: E731
    return out.at[wg.global_id(0), wg.global_id(1)].set(lax.fori_loop(0, turns, step, jnp.zeros((8, 32))))


@pytest.mark.parametrize("device", ["h200", "a770"])
def test_rows_are_told_to_begin_at_lines_where_there_are_rows(device):
    sliding = xe.estimate(window, xe.NDRange((1024, 256), (1, 256)), device=device)
    assert "misaligned rows" not in [hint.kind for hint in sliding(floats(4096), floats(1024, 256), turns=4096).hints]
    in_l2 = xe.estimate(strips, xe.NDRange((256, 1024), (8, 32)), device=device)
    before, after = (in_l2(floats(2**11, pitch), floats(256, 1024), turns=8) for pitch in (1025, 1056))
    assert before.lever.kind == "misaligned rows"
    assert before.lever.gain == pytest.approx(before.cycles / after.cycles, rel=0.2)
    # DRAM is asked once for a line that two neighbours share.
    past_l2 = xe.estimate(strips, xe.NDRange((4096, 1024), (8, 32)), device=device)
    assert past_l2(floats(2**15, 1025), floats(4096, 1024), turns=8).lever is None

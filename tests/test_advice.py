"""Advice: of launches with a known best change the lever is that change, and its gain is what the change gives."""

import advice
import pytest
from advice import CASES


def is_right(case: advice.Case) -> bool:
    lever = case.estimate().lever
    if lever is None or case.kind is None:
        return lever is None and case.kind is None
    memory = lever.sites[0].memory if lever.sites else None
    return lever.kind == case.kind and case.memory in (None, memory) and case.says in lever.text


@pytest.mark.parametrize("name", CASES)
def test_the_lever_is_the_change_that_is_known_to_be_best(name):
    assert is_right(CASES[name])


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
        ("vectors of a column, a770", {"pitch": 65}),
        ("a word that all store to, a770", {"one": True}),
    ],
)
def test_a_change_gains_what_its_hint_says(name, change):
    """Within a fifth: a trial leaves the instructions as they are."""
    case = CASES[name]
    before, after = case.estimate(), case.estimate(**change)
    assert before.lever.gain == pytest.approx(before.cycles / after.cycles, rel=0.2)

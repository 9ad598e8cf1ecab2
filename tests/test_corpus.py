"""The corpora of defects: every one is found at its lines with its remedy, and the corrected twins are clean and right.

`defects` has barriers, bounds and initialisation, `defects_ordering` what orders accesses beside barriers,
`defects_limits` what is undefined, does not fit or depends on more than it says, and `defects_divergence` loops and
branches that work-items take differently.
"""

import collections
import re
import types
from collections.abc import Iterable

import numpy as np
import pytest
from cases import ANY, Defect, Expected, marked_line, marked_lines
from defects import DEFECTS
from defects_divergence import DIVERGENCE
from defects_limits import LIMITS
from defects_ordering import ORDERING

import xeemu as xe

EVERY = (*DEFECTS, *ORDERING, *LIMITS, *DIVERGENCE)
FOUND = [d for d in EVERY if d.expected and not d.hidden]
HIDDEN = [d for d in EVERY if d.hidden]
NEW = [d for d in EVERY if d not in DEFECTS and not d.refused]
EXPOSED = [d for d in ORDERING if not d.explained]
KEYS, MANY = range(20), range(40)


def named(cases: Iterable[Defect]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("defect", cases, ids=lambda defect: defect.name)


def with_variants(cases: Iterable[Defect]) -> pytest.MarkDecorator:
    """For each function its cases, which differ in static parameters."""
    functions: dict[types.CodeType, list[Defect]] = {}
    for defect in cases:
        functions.setdefault(defect.corrected.function.__code__, []).append(defect)
    return pytest.mark.parametrize("variants", functions.values(), ids=lambda variants: variants[0].name)


def different_twins(variants: Iterable[Defect]) -> Iterable[Defect]:
    """One case for each program that the corrected twins are: what tells variants apart is mostly what is wrong."""
    launches = {}
    for defect in variants:
        arrays = defect.arguments()
        program = xe.trace(defect.corrected, defect.nd_range, device=defect.device)(*arrays, **defect.static)
        launch = str(program).partition("\n")[2], *(np.asarray(array).tobytes() for array in arrays)
        launches.setdefault(launch, defect)
    return launches.values()


Row = tuple[str, str, str, tuple[int, ...]]


def row(expected: Expected, defect: Defect) -> Row:
    lines = marked_lines(defect.defective, set(expected.marks))
    return (expected.kind, expected.severity, expected.memory or "", lines)


def found_rows(finding: xe.Finding, open_kinds: set[str]) -> list[Row]:
    memory = ANY if finding.kind in open_kinds else finding.memory
    every = (tuple(sorted({site.line for site in sites})) for sites in (finding.sites, *finding.others))
    return [(finding.kind, finding.severity, memory or "", lines) for lines in every]


def rows_of(findings: xe.Findings, defect: Defect) -> list[tuple[Row, str]]:
    """Each pair of lines of each finding, with its text."""
    open_kinds = {expected.kind for expected in defect.expected if expected.memory == ANY}
    return [(row, str(finding)) for finding in findings for row in found_rows(finding, open_kinds)]


def test_names_tell_cases_apart():
    assert len({defect.name for defect in EVERY}) == len(EVERY)


@named(FOUND)
def test_defect_is_found_at_its_lines(defect):
    _, findings = defect.checked(defect.defective)
    expected = collections.Counter(row(each, defect) for each in defect.expected)
    texts = dict(rows_of(findings, defect))
    assert collections.Counter(found for found, _ in rows_of(findings, defect)) == expected, str(findings)
    for each in defect.expected:
        text = texts[row(each, defect)]
        assert re.search(each.remedy, text), f"no {each.remedy} in {text}"


@named(HIDDEN)
def test_a_hidden_race_is_found_at_its_lines_or_not_at_all(defect):
    _, findings = defect.checked(defect.defective)
    expected = {row(each, defect) for each in defect.expected}
    assert {found for found, _ in rows_of(findings, defect)} <= expected, str(findings)


@pytest.mark.every(3)
@with_variants(EVERY)
def test_nothing_is_found_in_the_corrected_twin(variants):
    for defect in different_twins(variants):
        outputs, findings = defect.checked(defect.corrected)
        assert not findings, f"{defect}: {findings}"
        for output, launched in zip(outputs, defect.launched(defect.corrected), strict=True):
            np.testing.assert_equal(output, launched, str(defect))


@named([d for d in EVERY if d.refused])
def test_a_refusal_names_the_line_and_what_to_do(defect):
    refused = defect.refused
    with pytest.raises(xe.Error) as caught:
        defect.launched(defect.defective)
    assert caught.value.code in refused.codes
    if refused.mark is not None:
        assert f":{marked_line(defect.defective, refused.mark)}" in str(caught.value)
    assert re.search(refused.remedy, str(caught.value))


# --- In other orders ---


def wrong_keys(defect: Defect, kernel: xe.Kernel, keys: Iterable[int], most: int | None = None) -> list[int]:
    """The first keys under which a kernel gives a wrong answer; by default all."""
    right, wrong = defect.judge(), []
    for key in keys:
        if not right(defect.launched(kernel, key)):
            wrong.append(key)
            if len(wrong) == most:
                break
    return wrong


@pytest.mark.every(10)
@with_variants(NEW)
def test_a_twin_is_right_in_lockstep_and_under_some_keys(variants):
    for defect in different_twins(variants):
        assert defect.judge()(defect.launched(defect.corrected)), defect
        assert not wrong_keys(defect, defect.corrected, (2, 3)), defect


@pytest.mark.long
@with_variants(NEW)
def test_a_twin_is_right_under_every_key(variants):
    for defect in different_twins(variants):
        assert not wrong_keys(defect, defect.corrected, KEYS), defect


@pytest.mark.every(12)
@named(EXPOSED)
def test_a_kernel_out_of_order_is_wrong_under_some_key(defect):
    assert wrong_keys(defect, defect.defective, MANY, most=1)

"""The corpus of defects: every one is found at its lines, and nothing is found in the corrected twins."""

import collections

import numpy as np
import pytest
from defects import DEFECTS, Defect, Expected, marked_line

import xeemu as xe


def _expected(defect: Defect) -> collections.Counter[tuple[object, ...]]:
    return collections.Counter(_row(expected, defect) for expected in defect.expected)


def _row(expected: Expected, defect: Defect) -> tuple[object, ...]:
    lines = sorted(marked_line(defect.defective, mark) for mark in expected.marks)
    return (expected.kind, expected.severity, expected.memory or "", tuple(lines))


def _found(findings: xe.Findings) -> collections.Counter[tuple[object, ...]]:
    rows = [(f.kind, f.severity, f.memory, tuple(sorted(site.line for site in f.sites))) for f in findings]
    return collections.Counter(rows)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_defect_is_found_at_its_lines(defect):
    arguments = defect.arguments()
    _, findings = xe.check(defect.defective, defect.nd_range, device=defect.device)(*arguments, **defect.static)
    assert _found(findings) == _expected(defect), str(findings)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_nothing_is_found_in_the_corrected_twin(defect):
    arguments = defect.arguments()
    outputs, findings = xe.check(defect.corrected, defect.nd_range, device=defect.device)(*arguments, **defect.static)
    assert not findings, str(findings)
    launched = xe.launch(defect.corrected, defect.nd_range, device=defect.device)(*arguments, **defect.static)
    np.testing.assert_equal(outputs, launched)

"""How runs of SYCL programs compare with what SimSYCL makes of these, without SimSYCL."""

import pathlib
import sys

import numpy as np
import pytest

SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from yardstick import native_comparison, programs, verdicts  # noqa: E402
from yardstick.native import Native  # noqa: E402


def native_run(text, again=None, status=0, contents=(), contents_again=None):
    contents = tuple(np.asarray(data).view(np.uint8) for data in contents)
    other = contents if contents_again is None else tuple(np.asarray(data).view(np.uint8) for data in contents_again)
    again = text if again is None else again
    return Native(text=text, again=again, status=status, status_again=status, contents=contents, contents_again=other)


@pytest.mark.parametrize(
    ("theirs", "ours", "said"),
    [
        ("sum = 120", "sum = 120", "agrees"),
        ("sum = 120", "sum = 121", "differs"),
        ("sum = 1.20000", "sum = 1.20001", "agrees"),
        ("sum = 1.20000", "sum = 1.21", "differs"),
        ("sum = 3e+06", "sum = 3000001.5", "agrees"),
        ("error 1.2e-07 of 8", "error 3.0e-08 of 8", "agrees"),
        ("x is nan", "x is nan", "agrees"),
        ("x is nan", "x is 1.5", "differs"),
        ("good", "bad", "differs"),
        ("1\n2", "1", "differs"),
        ("took 3 ms\nsum = 4", "took 9 ms\nsum = 4", "agrees"),
        ("Device: SimSYCL virtual GPU", "Running on Max 1550", "silent"),
        ("Supported Sub-Group Sizes : 32\nsum = 4", "Supported Sub-Group Sizes : 16 32\nsum = 4", "agrees"),
    ],
)
def test_lines_are_compared_number_by_number_and_those_of_times_and_devices_are_left_out(theirs, ours, said):
    assert native_comparison.compared(native_run(theirs), ours, 0, ()).said == said


def test_lines_that_two_runs_do_not_have_in_common_are_left_out_and_the_order_of_the_rest_where_it_varies():
    unsteady = native_run("a = 1\nb = 7", "a = 1\nb = 9")
    assert native_comparison.compared(unsteady, "a = 1\nb = 3", 0, ()).said == "agrees"
    assert native_comparison.compared(unsteady, "a = 2\nb = 7", 0, ()).said == "differs"
    shuffled = native_run("item 1\nitem 2", "item 2\nitem 1")
    assert native_comparison.compared(shuffled, "item 2\nitem 1", 0, ()).said == "agrees"
    assert native_comparison.compared(shuffled, "item 2\nitem 2", 0, ()).said == "differs"
    assert native_comparison.compared(native_run("item 1\nitem 2"), "item 2\nitem 1", 0, ()).said == "differs"


def test_what_a_program_returns_is_compared():
    assert native_comparison.compared(native_run("", status=1), "", 0, ()).differences == ("returned 0, not 1",)
    assert not native_comparison.compared(native_run("", status=255), "", -1, ()).differences
    assert native_comparison.compared(Native(error="does not compile"), "", 0, ()).said == "no native result"


def test_a_memory_is_found_again_where_an_array_agrees_in_what_two_runs_have_in_common():
    whole, part = np.arange(4, dtype=np.float32), np.array([1, 2, -1, -1], np.int32)
    native = native_run("", contents=(whole, part), contents_again=(whole, np.array([1, 2, 5, 5], np.int32)))
    same = native_comparison.compared(native, "", 0, [whole * np.float32(1.00001), np.array([1, 2, 7, 8], np.int32)])
    assert (same.said, same.memories, same.found) == ("agrees", 2, 2)
    other = native_comparison.compared(native, "", 0, [whole + 1, np.array([1, 3, 7, 8], np.int32)])
    assert (other.memories, other.found) == (2, 0)


def test_a_program_without_a_check_of_its_own_is_judged_by_simsycl():
    program = programs.Program("s", "f.cpp")
    run = {"status": 0, "text": "sum = 4"}
    alike = {"said": "agrees", "lines": 1, "memories": 0, "found": 0}
    assert verdicts.verdict(program, run) == "no check"
    assert verdicts.verdict(program, run | {"native": alike}) == "right"
    assert verdicts.verdict(program, run | {"native": alike | {"lines": 0}}) == "no check"
    assert verdicts.verdict(program, run | {"native": alike | {"lines": 0, "memories": 2, "found": 2}}) == "right"
    assert verdicts.verdict(program, run | {"native": alike | {"said": "differs"}}) == "wrong"
    checked = programs.Program("s", "f.cpp", passes="PASS")
    assert verdicts.verdict(checked, run | {"text": "PASS", "native": alike | {"said": "differs"}}) == "right"

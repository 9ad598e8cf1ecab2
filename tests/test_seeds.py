"""The SYCL programs of the texts, taken out of them as they stand, do, show and cost what the examples do.

The texts are not in this repository: XEEMU_SEEDS names their folder, and without it there is nothing to test.
"""

import collections
import functools
import os
import pathlib
import sys

import numpy as np
import pytest

import xeemu as xe
from xeemu.kernels import EXAMPLES, slm_bank

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))

from test_twins import assert_equal_outputs
from yardstick import seeds

FOLDER = os.environ.get("XEEMU_SEEDS", "")
pytestmark = pytest.mark.skipif(not FOLDER, reason="the texts are not here: let XEEMU_SEEDS name their folder")

# Program or fragment: the example that it is of, what makes it small enough for every run, and the size then.
WORDS = ("4096 * 4096", "16384", (16384,))
ELEMENTS = ("8192 * 8192", "1280", (1280, 257))
LOOP = ("1024 * 1024", "100", (32,))
PROGRAMS = {
    "slm_bank": ("slm_bank_16", *LOOP),
    "convolution_global": ("convolution_global", *ELEMENTS),
    "convolution_slm": ("convolution_slm", *ELEMENTS),
    "histogram_256_int": ("histogram_private", *WORDS),
    "histogram_256_slm": ("histogram_slm", *WORDS),
    "matrixmul_16x16": ("matmul_naive", "", "", (16,)),
    "matrixmul_16x16_localmem": ("matmul_local", "", "", (16,)),
    "reduction_atomics_buffer": ("reduction_atomics_buffer", "", "", (1024,)),
    "reduction_atomics_usm": ("reduction_atomics_usm", "", "", (1024,)),
}
FRAGMENTS = {
    "slm_bank_16": ("slm_bank_16", *LOOP),
    "slm_bank_1": ("slm_bank_1", *LOOP),
    "histogram_registers": ("histogram_registers", *WORDS),
    "histogram_slm_1024": ("histogram_slm_1024", *WORDS),
    "convolution_global": ("convolution_global", *ELEMENTS),
    "convolution_slm": ("convolution_slm", *ELEMENTS),
}
EVERY = [(f"program {name}", case) for name, case in PROGRAMS.items()]
EVERY += [(f"fragment {name}", case) for name, case in FRAGMENTS.items()]
NAMES = {"iacc": "data", "kacc": "taps", "oacc": "out", "macc": "data", "hacc": "hist"}
NAMES |= {
    "ciacc": "cache",
    "histogram": "counts",
    "local_histogram": "bins",
    "A_local": "a_local",
    "B_local": "b_local",
}
NAMES |= {"A": "a", "B": "b", "C": "c", "data_acc": "data", "sum_acc": "total", "sum": "total"}
"""What the texts call the examples' inputs."""

named = pytest.mark.parametrize(("name", "case"), EVERY, ids=[name.replace(" ", "_") for name, _ in EVERY])


@functools.cache
def text(name):
    kind, program = name.split()
    found = seeds.programs if kind == "program" else seeds.fragments
    return found(pathlib.Path(FOLDER))[program]


class Case:
    """A program of the texts and its example at a size."""

    def __init__(self, name, example, large, small, size):
        self.example, self.size = EXAMPLES[example], size
        (self.kernel,) = xe.load(text(name).replace(large, small) if large else text(name)).values()
        self.inputs = dict(zip(self.example.kernel.parameters, self.example.inputs(size), strict=True))
        self.nd_range = self.example.nd_range(size)
        self.static = dict(self.example.static)
        if "iterations" in self.static:
            self.static["iterations"] = 100

    def of_both(self, transformation):
        named = {name: NAMES.get(name, name) for name in self.kernel.parameters}
        given = {name: self.inputs[theirs] for name, theirs in named.items() if theirs in self.inputs}
        return (
            transformation(self.example.kernel, self.nd_range)(*self.inputs.values(), **self.static),
            transformation(self.kernel, self.kernel.nd_range)(**given),
        )


COUNTS = ("lanes", "requests", "passes", "ideal_passes", "lines", "sectors", "bytes_moved")


def totals(report):
    """By memory and operation: a fragment is one line of text, and a loop of the example may be several there."""
    found = collections.defaultdict(collections.Counter)
    for site in report.sites:
        if site.space != "private":  # which the example of histogram_registers has not, and the text counts in
            key = (NAMES.get(site.memory, site.memory), site.op, site.space)
            found[key].update({count: getattr(site, count) or 0 for count in COUNTS})
    return found


@named
def test_has_the_sizes_of_the_example(name, case):
    made = Case(name, *case)
    assert made.kernel.nd_range == made.nd_range


@named
def test_results_are_equal(name, case):
    assert_equal_outputs(*Case(name, *case).of_both(xe.launch))


@named
def test_counts_are_equal(name, case):
    (_, hand), (_, program) = Case(name, *case).of_both(xe.profile)
    assert totals(program) == totals(hand)
    assert program.barriers == hand.barriers


@named
def test_findings_are_equal(name, case):
    (_, hand), (_, text_) = Case(name, *case).of_both(xe.check)
    assert [f.kind for f in text_] == [f.kind for f in hand] == []


def test_the_lab_as_it_stands_changes_nothing():
    (kernel,) = xe.load(text("program atomics_lab")).values()
    assert kernel.nd_range == xe.NDRange(1024)
    _, findings = xe.check(kernel, kernel.nd_range)()
    assert findings == ()


def test_the_device_query_has_no_kernel():
    assert len(xe.load(text("program localmem_info"))) == 0


OUTPUTS = {"out", "hist", "c", "total"}
"""The examples' inputs that the kernels write, from zeros in the texts."""


def assert_runs(name, example, program):
    """The whole program, with its own contents, gives what the example's reference gives of them."""
    kernels = xe.load(program)
    (kernel,) = kernels.values()
    result = kernels.run()
    assert result.exit_code == 0
    assert not result.findings
    theirs = {NAMES.get(parameter, parameter): result.arrays.get(parameter) for parameter in kernel.parameters}
    names = example.kernel.parameters
    inputs = [np.zeros_like(theirs[n]) if n in OUTPUTS or len(names) == 1 else theirs[n] for n in names]
    np.testing.assert_array_equal(theirs[names[-1]], example.reference(*inputs))


@named
def test_runs_as_a_whole(name, case):
    example, large, small, _ = case
    program = text(name).replace(large, small) if large else text(name)
    found = slm_bank.example(int(example[9:]), 100) if example.startswith("slm_bank") else EXAMPLES[example]
    assert_runs(name, found, program)


@pytest.mark.long
@named
def test_runs_as_it_stands_at_full_size(name, case):
    assert_runs(name, EXAMPLES[case[0]], text(name))

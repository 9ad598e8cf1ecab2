"""The collection of examples: each kernel against its reference, each reference against the text's loops in Python."""

import collections
import dataclasses

import jax
import numpy as np
import pytest

import xeemu as xe
from xeemu.kernels import (
    EXAMPLES,
    atomics,
    convolution,
    device_info,
    example,
    histogram,
    matmul,
    reduction,
    slm_bank,
    table_copy,
)
from xeemu.kernels.histogram import histogram_slm

SUBJECTS = (atomics, convolution, histogram, matmul, reduction, slm_bank, table_copy)

# Sizes small enough for every run of the tests, with uneven ones wherever the kernel allows them.
SIZES = {
    "slm_bank_16": [(32,), (96,)],
    "slm_bank_1": [(32,), (96,)],
    "convolution_global": [(256, 257), (512, 257), (1280, 257), (768, 1), (768, 4), (512, 513)],
    "convolution_slm": [(256, 257), (512, 257), (1280, 257), (768, 1), (768, 4), (512, 513)],
    "histogram_private": [(16384,), (3 * 16384,)],
    "histogram_registers": [(16384,), (3 * 16384,)],
    "histogram_slm": [(16384,), (5 * 16384,)],
    "histogram_slm_1024": [(16384,), (5 * 16384,)],
    "table_copy_bad": [(256, 3, 256), (7, 2, 32), (100, 5, 48)],
    "table_copy_good": [(256, 3, 256), (7, 2, 32), (100, 5, 48), (1000, 2, 64)],
    "table_copy_best": [(256, 3, 256), (16, 5, 16), (96, 2, 96)],
    "table_copy_min": [(100, 3, 256), (1, 2, 16), (64, 3, 64)],
    "table_copy_unrolled": [(1024, 3, 256), (144, 2, 48), (64, 1, 64)],
    "table_copy_loop": [(1000, 3, 256), (1, 2, 32), (97, 5, 48), (1024, 1, 64)],
    "tree_reduction": [(2,), (16,), (256,), (258,), (1000,), (2 * 256 * 256 + 2,)],
    "tree_reduction_sequential": [(2,), (16,), (256,), (258,), (1000,), (2 * 256 * 256 + 2,)],
    "matmul_naive": [(1,), (5,), (16,), (24,)],
    "matmul_local": [(1,), (5,), (16,), (24,)],
    "matmul_tiled": [(1, 1, 1), (16, 16, 16), (17, 5, 33), (40, 70, 16), (150, 600, 300)],
    "reduction_serial": [(1,), (37,), (1024,)],
    "reduction_racy": [(1,), (1000,), (1024,)],
    "reduction_atomics_buffer": [(1,), (37,), (1021,), (1024,), (5000,)],
    "reduction_atomics_usm": [(1,), (37,), (1021,), (1024,), (5000,)],
    "atomics_lab": [(1,), (37,), (1021,), (1024,), (5000,)],
}
# One million iterations are for the long test.
EXAMPLES_FOR_TESTS = dict(EXAMPLES) | {e.name: e for e in (slm_bank.example(16, 1000), slm_bank.example(1, 1000))}
CASES = [(name, size) for name, sizes in SIZES.items() for size in sizes]
JUDGED = [name for name, e in EXAMPLES.items() if e.reference is not None]


def assert_agrees(outputs, expected, rounding=0.0):
    outputs = jax.tree.map(np.asarray, outputs)
    assert jax.tree.structure(outputs) == jax.tree.structure(expected)
    for output, reference in zip(jax.tree.leaves(outputs), jax.tree.leaves(expected), strict=True):
        assert (output.dtype, output.shape) == (reference.dtype, reference.shape)
        np.testing.assert_allclose(output, reference, rtol=rounding, atol=0, strict=True)


def as_int(x):
    """A Python integer as C's `int` keeps it."""
    return (x + 2**31) % 2**32 - 2**31


@pytest.mark.optimized
class TestKernels:
    @pytest.mark.every(4)
    @pytest.mark.parametrize(("name", "size"), [case for case in CASES if case[0] in JUDGED])
    def test_agrees_with_its_reference(self, name, size):
        e = EXAMPLES_FOR_TESTS[name]
        inputs = e.inputs(size)
        assert_agrees(e.launch(inputs, size), e.reference(*inputs), e.rounding)

    @pytest.mark.parametrize("name", ["slm_bank_16", "histogram_registers", "tree_reduction", "matmul_local"])
    def test_device_does_not_change_the_result(self, name):
        e, size = EXAMPLES_FOR_TESTS[name], SIZES[name][0]
        inputs = e.inputs(size)
        assert_agrees(e.launch(inputs, size, device="a770"), e.reference(*inputs), e.rounding)

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_its_plans_are_printed(self, name):
        e = EXAMPLES_FOR_TESTS[name]
        size = SIZES.get(name, [e.size])[0]
        text = str(xe.trace(e.kernel, e.nd_range(size), after="plans")(*e.inputs(size), **e.static))
        assert "# LaneForm" in text

    @pytest.mark.parametrize(("stride", "iterations"), [(1, 0), (2, 1), (17, 10), (64, 70_000)])
    def test_slm_bank_at_other_strides(self, stride, iterations):
        e = slm_bank.example(stride, iterations)
        inputs = e.inputs(e.size)
        assert_agrees(e.launch(inputs), e.reference(*inputs))

    @pytest.mark.parametrize("group", [32, 128, 256, 512])
    def test_histogram_slm_in_groups_of_other_sizes(self, group):
        """Groups larger than the bins leave some work-items without any, equal ones have one each."""
        e = dataclasses.replace(EXAMPLES["histogram_slm"], nd_range=lambda size: xe.NDRange(size[0] // 256, group))
        inputs = e.inputs((2 * 512 * 256,))
        assert_agrees(e.launch(inputs, (2 * 512 * 256,)), e.reference(*inputs))

    def test_histogram_adds_to_what_is_there(self):
        e = EXAMPLES["histogram_slm"]
        data, hist = e.inputs((16384,))
        hist = hist + np.uint64(2**40)
        assert_agrees(e.launch((data, hist), (16384,)), e.reference(data, hist))

    @pytest.mark.parametrize("size", [(1,), (1000,), (1024,)])
    def test_racy_sum_is_a_sum_of_some_of_the_elements(self, size):
        e = EXAMPLES["reduction_racy"]
        data, total = e.inputs(size)
        (result,) = np.asarray(e.launch((data, total), size))
        assert 0 <= result <= data.sum()

    @pytest.mark.long
    @pytest.mark.parametrize("name", JUDGED)
    def test_agrees_with_its_reference_at_full_size(self, name):
        e = EXAMPLES[name]
        inputs = e.inputs(e.size)
        assert_agrees(e.launch(inputs), e.reference(*inputs), e.rounding)


class TestReferences:
    """The references are vectorised; the loops here follow the texts one element at a time."""

    @pytest.mark.parametrize(("n", "m"), [(256, 257), (512, 257), (768, 1), (256, 4), (256, 513)])
    def test_convolution(self, n, m):
        data, taps, out = EXAMPLES["convolution_slm"].inputs((n, m))
        expected = [
            as_int(sum(int(data[i - m // 2 + j]) * int(taps[j]) for j in range(m) if 0 <= i - m // 2 + j < n))
            for i in range(n)
        ]
        for name in ("convolution_global", "convolution_slm"):
            assert_agrees(EXAMPLES[name].reference(data, taps, out), np.array(expected, np.int32))

    @pytest.mark.parametrize(
        ("name", "field_bits", "mask", "bins"),
        [
            ("histogram_private", 8, 0x1F, 256),
            ("histogram_registers", 8, 0xFF, 256),
            ("histogram_slm", 8, 0xFF, 256),
            ("histogram_slm_1024", 16, 0x3FF, 1024),
        ],
    )
    def test_histogram(self, name, field_bits, mask, bins):
        data, hist = EXAMPLES[name].inputs((1000,))
        counts = collections.Counter(
            (word >> shift) & mask for word in data.tolist() for shift in range(0, 64, field_bits)
        )
        expected = np.array([counts[k] for k in range(bins)], np.uint64)
        assert_agrees(EXAMPLES[name].reference(data, hist), expected)

    def test_histogram_in_several_chunks(self, monkeypatch):
        e = EXAMPLES["histogram_slm"]
        inputs = e.inputs((1000,))
        whole = e.reference(*inputs)
        monkeypatch.setattr(histogram, "_CHUNK", 300)
        assert_agrees(e.reference(*inputs), whole)

    @pytest.mark.parametrize(("n", "iterations"), [(32, 1000), (96, 70_000)])
    def test_slm_bank(self, n, iterations):
        sums = [0] * n
        for m in range(iterations):
            sums = [as_int(sums[i] + as_int(i * m)) for i in range(n)]
        assert_agrees(slm_bank.example(16, iterations).reference(np.zeros(n, np.int32)), np.array(sums, np.int32))

    def test_table_copy(self):
        table, out = np.array([10, 11, 12], np.int32), np.zeros(8, np.int32)
        expected = np.array([12, 11, 10, 12, 11, 10, 12, 11], np.int32)
        assert_agrees(EXAMPLES["table_copy_good"].reference(table, out), expected)
        assert_agrees(EXAMPLES["table_copy_loop"].reference(table, np.int32(3), out), expected)

    @pytest.mark.parametrize("n", [2, 1000, 1001])
    def test_tree_reduction(self, n):
        data, sums = EXAMPLES["tree_reduction"].inputs((n,))
        assert data.size % 2 == 0
        expected = np.array([as_int(sum(data.tolist()))], np.int32)
        assert_agrees(EXAMPLES["tree_reduction"].reference(data, sums), expected)

    @pytest.mark.parametrize("n", [1, 5, 16, 24])
    def test_matmul(self, n):
        a, b, c = EXAMPLES["matmul_naive"].inputs((n,))
        expected = np.zeros_like(c)
        for i in range(n):
            for j in range(n):
                for k in range(n):
                    expected[i * n + j] += a[i * n + k] * b[k * n + j]
        assert_agrees(EXAMPLES["matmul_naive"].reference(a, b, c), expected)
        assert_agrees(
            EXAMPLES["matmul_tiled"].reference(a.reshape(n, n), b.reshape(n, n), c.reshape(n, n)).ravel(), c + expected
        )

    def test_atomics(self):
        """The sum of 0 to 1023, and the exercise's answers."""
        sum_, lab = EXAMPLES["reduction_atomics_buffer"], EXAMPLES["atomics_lab"]
        assert_agrees(sum_.reference(*sum_.inputs((1024,))), np.array([523776], np.int32))
        expected = np.array([0], np.int32), np.array([1023], np.int32), np.array([511.5])
        assert_agrees(lab.reference(*lab.inputs((1024,))), expected)


class TestTable:
    def test_every_example_is_tested(self):
        assert set(SIZES) == set(EXAMPLES)

    def test_every_kernel_is_an_example(self):
        kernels = {v for subject in SUBJECTS for v in vars(subject).values() if isinstance(v, xe.Kernel)}
        assert kernels == {e.kernel for e in EXAMPLES.values()}

    @pytest.mark.parametrize(("name", "size"), CASES)
    def test_describes_its_kernel(self, name, size):
        e = EXAMPLES_FOR_TESTS[name]
        assert e.name == name
        assert len(size) == len(e.size) == len(e.size_names)
        assert len(e.inputs(size)) == len(e.kernel.parameters)
        assert e.work(size) > 0
        e.kernel.bind_static(e.static)
        nd_range = e.nd_range(size)
        local = nd_range.local_size or nd_range.global_size
        assert not any(n % step for n, step in zip(nd_range.global_size, local, strict=True))

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_inputs_are_the_same_every_time(self, name):
        e, size = EXAMPLES[name], SIZES[name][-1]
        for one, other in zip(e.inputs(size), e.inputs(size), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)

    def test_sizes_of_the_texts(self):
        assert EXAMPLES["convolution_global"].size == EXAMPLES["convolution_slm"].size == (8192 * 8192, 257)
        assert {EXAMPLES[f"histogram_{how}"].size for how in ("private", "registers", "slm", "slm_1024")} == {
            (4096**2,)
        }
        assert EXAMPLES["slm_bank_16"].work((32,)) == 32 * 1024 * 1024
        assert EXAMPLES["matmul_local"].nd_range((16,)) == xe.NDRange((16, 16), (16, 16))
        assert EXAMPLES["reduction_atomics_usm"].nd_range((1024,)) == xe.NDRange(1024)

    def test_the_best_copy_has_two_dimensions(self):
        assert EXAMPLES["table_copy_best"].nd_range((256, 64, 256)) == xe.NDRange((64 * 16, 16), (16, 16))

    def test_unknown_name_gets_a_suggestion(self):
        with pytest.raises(xe.KernelArgumentError, match=r"no example 'histogram_slim' \(did you mean 'histogram_slm"):
            example("histogram_slim")

    def test_example_by_name(self):
        assert example("histogram_slm").kernel is histogram_slm

    @pytest.mark.parametrize("size", [(1,), (0, 257), (256, 257, 1)])
    def test_wrong_size_is_refused(self, size):
        with pytest.raises(
            xe.KernelArgumentError, match="convolution_slm; give one number from 1 for each of elements, taps"
        ):
            EXAMPLES["convolution_slm"].sized(size)


class TestDeviceInfo:
    def test_lines_of_the_text(self):
        name, size, type_ = device_info("max1550")
        assert name.startswith("device name   : Intel Data Center GPU Max")
        assert size == "local_mem_size: 131072"
        assert type_ == "local_mem_type: info::local_mem_type::local"


class TestHistogramSizes:
    def test_words_that_fill_no_group_are_refused(self):
        message = "16385 words are no multiple of 16384; give for example 32768"
        with pytest.raises(xe.KernelArgumentError, match=message):
            EXAMPLES["histogram_slm"].nd_range((16385,))

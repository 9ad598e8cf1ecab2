"""Launch-time checks: each error's class, code and exact message, and what passes."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest
import refusals
from hypothesis import given
from hypothesis import strategies as st

import xeemu as xe
from xeemu.devices.limits import check_memory, check_sizes, sub_group_size
from xeemu.devices.lookup import device, devices
from xeemu.errors import Error, KernelArgumentError, KernelNotSupportedError, MemoryAllocationError, NDRangeError
from xeemu.language.ndrange import NDRange

MAX1550 = device("max1550")
CPU = device("cpu")
LOCAL_VARIABLE = "CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE"
PRIVATE_VARIABLE = "CL_CONFIG_CPU_FORCE_PRIVATE_MEM_SIZE"


def refusal(kind, code, check, *args, **kwargs):
    with pytest.raises(Error) as error:
        check(*args, **kwargs)
    assert type(error.value) is kind
    assert error.value.code == code
    return str(error.value)


# --- Sizes ---


@pytest.mark.parametrize(
    "sizes", [(2**63, 64), (2**63,), ((2**32, 2**31), (1, 1)), ((0, 2**63),), (10**30, 1), (64, 2**63)]
)
def test_more_work_items_than_64_bits_number_are_refused(sizes):
    message = refusal(NDRangeError, "nd_range", NDRange, *sizes)
    assert "work-items; ids are signed integers of 64 bits, so that there can be 9223372036854775807 at most" in message
    assert NDRange(2**63 - 1).size == NDRange((2**31, 2**31)).size * 2 - 1


@pytest.mark.parametrize("sizes", [(True,), (64, True), ((4, False),), (2.0, 1)])
def test_a_size_is_an_integer(sizes):
    assert "is not made of integers; write for example NDRange(1024, 64)" in refusal(
        NDRangeError, "nd_range", NDRange, *sizes
    )


@pytest.mark.parametrize(
    ("nd_range", "message"),
    [
        (
            NDRange(1000, 64),
            "the global size 1000 is not divisible by the local size 64: in dimension 0, 1000 = 15 x 64 + 40. Write "
            "the global size 1024 and mask the surplus work-items (where=wg.global_id(0) < 1000), or a local size that "
            "divides",
        ),
        (
            NDRange((64, 30), (8, 16)),
            "the global size (64, 30) is not divisible by the local size (8, 16): in dimension 1, 30 = 1 x 16 + 14. "
            "Write the global size (64, 32) and mask the surplus work-items (where=wg.global_id(1) < 30), or a local "
            "size that divides",
        ),
        (
            NDRange((3, 8, 5), (2, 8, 4)),
            "the global size (3, 8, 5) is not divisible by the local size (2, 8, 4): in dimension 0, 3 = 1 x 2 + 1; in "
            "dimension 2, 5 = 1 x 4 + 1. Write the global size (4, 8, 8) and mask the surplus work-items "
            "(where=wg.global_id(0) < 3), or a local size that divides",
        ),
        (
            NDRange(4, 64),
            "the global size 4 is not divisible by the local size 64: in dimension 0, 4 = 0 x 64 + 4. Write the global "
            "size 64 and mask the surplus work-items (where=wg.global_id(0) < 4), or a local size that divides",
        ),
    ],
)
def test_a_global_size_that_the_local_size_does_not_divide(nd_range, message):
    assert refusal(NDRangeError, "nd_range", check_sizes, nd_range, MAX1550) == message


@given(
    groups=st.lists(st.integers(0, 5), min_size=1, max_size=3),
    data=st.data(),
    preset=st.sampled_from(devices()),
)
def test_whole_groups_that_fit_the_device_are_launched(groups, data, preset):
    local = tuple(data.draw(st.integers(1, 8), label="local size") for _ in groups)
    nd_range = NDRange(tuple(n * size for n, size in zip(groups, local, strict=True)), local)
    fits = math.prod(local) <= preset.max_work_group_size
    for required in (None, local):
        if fits:
            check_sizes(nd_range, preset, required)
        else:
            with pytest.raises(Error):
                check_sizes(nd_range, preset, required)


@given(size=st.integers(1, 10**6), local=st.integers(1, 256))
def test_a_message_about_divisibility_proposes_a_size_that_is_accepted(size, local):
    padded = -(-size // local) * local
    if padded == size:
        check_sizes(NDRange(size, local), MAX1550)
    else:
        with pytest.raises(NDRangeError, match=f"Write the global size {padded} "):
            check_sizes(NDRange(size, local), MAX1550)
        check_sizes(NDRange(padded, local), MAX1550)


@pytest.mark.parametrize("preset", devices(), ids=lambda preset: preset.name)
def test_the_largest_work_group_is_accepted_and_one_twice_as_large_refused(preset):
    largest = preset.max_work_group_size
    check_sizes(NDRange(largest, largest), preset)
    message = refusal(NDRangeError, "nd_range", check_sizes, NDRange(2 * largest, 2 * largest), preset)
    assert message == (
        f"the local size {2 * largest} makes a work-group of {2 * largest} work-items. Total number of work-items in a "
        f"work-group cannot exceed {largest} on {preset.name}; write a smaller local size"
    )


def test_the_limit_is_of_the_product_of_the_dimensions():
    check_sizes(NDRange((64, 64), (32, 32)), MAX1550)
    message = refusal(NDRangeError, "nd_range", check_sizes, NDRange((64, 66), (32, 33)), MAX1550)
    assert message.startswith("the local size (32, 33) makes a work-group of 1056 work-items.")


@pytest.mark.parametrize(("size", "groups"), [(1000, None), ((7, 13), None), (0, 64), ((0, 64), (8, 8))])
def test_a_plain_range_takes_any_size_and_an_empty_launch_is_legal(size, groups):
    check_sizes(NDRange(size, groups), MAX1550)


def test_a_local_size_that_differs_from_the_required_one():
    message = refusal(NDRangeError, "nd_range", check_sizes, NDRange(1024, 128), MAX1550, 64)
    assert message == (
        "the local size 128 differs from the work-group size 64 that the kernel requires; write NDRange(1024, 64), or "
        "change work_group_size in @xe.kernel"
    )
    transposed = refusal(NDRangeError, "nd_range", check_sizes, NDRange((64, 64), (16, 8)), MAX1550, (8, 16))
    assert "write NDRange((64, 64), (8, 16))" in transposed


@pytest.mark.parametrize("nd_range", [NDRange(1024, 64), NDRange(1024)])
def test_a_required_size_of_another_dimension(nd_range):
    message = refusal(NDRangeError, "nd_range", check_sizes, nd_range, MAX1550, (8, 8))
    assert message == (
        "the kernel requires the work-group size (8, 8), of dimension 2; the global size 1024 is of dimension 1. Write "
        "both with the same one"
    )


@pytest.mark.parametrize("required", [64, (64,), [64]])
def test_a_plain_range_takes_the_required_size_if_it_divides(required):
    check_sizes(NDRange(1024), MAX1550, required)
    message = refusal(NDRangeError, "nd_range", check_sizes, NDRange(1000), MAX1550, required)
    assert message == (
        "the global size 1000 is not divisible by the required work-group size 64: in dimension 0, 1000 = 15 x 64 + 40."
        " Write the global size 1024 and mask the surplus work-items (where=wg.global_id(0) < 1000), or a required "
        "work-group size that divides"
    )


@pytest.mark.parametrize(
    ("required", "shown", "size"), [(2048, "2048", 2048), ((64, 32), "(64, 32)", 2048), ((0,), "0", 0)]
)
def test_a_required_size_that_the_device_lacks(required, shown, size):
    launch = NDRange((4096,) * (1 if isinstance(required, int) else len(required)))
    message = refusal(KernelNotSupportedError, "kernel_not_supported", check_sizes, launch, MAX1550, required)
    assert message == (
        f"the kernel requires the work-group size {shown}, {size} work-items; max1550 offers 1 to 1024. Write a "
        "work_group_size within that in @xe.kernel"
    )


# --- Sub-groups ---


@pytest.mark.parametrize("preset", devices(), ids=lambda preset: preset.name)
def test_a_required_sub_group_size_that_is_offered_is_taken(preset):
    assert sub_group_size(preset) == preset.default_sub_group_size
    for size in preset.sub_group_sizes:
        assert sub_group_size(preset, size) == size
        check_sizes(NDRange(128, 64), preset, required_sub_group_size=size)


def test_a_sub_group_size_that_the_device_lacks():
    message = (
        "the kernel requires the sub-group size 8; max1550 offers 16 and 32. Write one of these as sub_group_size in "
        "@xe.kernel, or launch on a device that offers 8: hd530, iris_xe, uhd770, a770, a750, a380, cpu"
    )
    assert refusal(KernelNotSupportedError, "kernel_not_supported", sub_group_size, MAX1550, 8) == message
    launch = NDRange(128, 64)
    assert refusal(KernelNotSupportedError, "kernel_not_supported", check_sizes, launch, MAX1550, None, 8) == message


def test_a_sub_group_size_that_no_device_offers():
    message = refusal(KernelNotSupportedError, "kernel_not_supported", sub_group_size, device("h200"), 24)
    assert message == (
        "the kernel requires the sub-group size 24; h200 offers 32. Write one of these as sub_group_size in @xe.kernel"
    )


# --- Memory ---


def test_local_memory_over_the_limit_is_refused_in_the_drivers_words():
    message = refusal(MemoryAllocationError, "memory_allocation", check_memory, 656384, 0, MAX1550)
    assert message == (
        "Size of SLM (656384) larger than available (131072): one work-group allocates 656384 bytes of local memory, "
        "max1550 has 131072. Allocate less with wg.local, or launch smaller work-groups if it grows with them "
        "(Device.largest_work_group gives the size)"
    )


def test_a_launch_lists_what_it_has_too_much_of():
    def kernel(wg, x):
        _small, _big = wg.local(8, jnp.int32), wg.local((128, 128), jnp.float64)  # <-
        return x

    message = refusal(
        MemoryAllocationError, "memory_allocation", xe.launch(xe.kernel(kernel), xe.NDRange(4, 4)), np.zeros(8)
    )
    first, *listed = message.split("\n  ")
    assert first.startswith("Size of SLM (131104) larger than available (131072): ")
    line = refusals.site(kernel)
    assert listed == [f"_big: 131072 bytes, float64[128, 128], at {line}", f"_small: 32 bytes, int32[8], at {line}"]


def test_on_the_cpu_device_the_message_names_a_sufficient_variable():
    message = refusal(MemoryAllocationError, "memory_allocation", check_memory, 40_000, 0, CPU, {})
    assert message == (
        "Size of SLM (40000) larger than available (32768): one work-group allocates 40000 bytes of local memory, cpu "
        "has 32768. Allocate less with wg.local, or launch smaller work-groups if it grows with them "
        f"(Device.largest_work_group gives the size), or set the environment variable {LOCAL_VARIABLE}=40KB"
    )
    check_memory(40_000, 0, CPU, {LOCAL_VARIABLE: "40KB"})


def test_private_memory_over_the_limit_of_the_cpu_device():
    message = refusal(MemoryAllocationError, "memory_allocation", check_memory, 0, 32769, CPU, {})
    assert message == (
        "Size of private memory (32769) larger than available (32768): one work-item allocates 32769 bytes of private "
        "memory, cpu has 32768. Allocate less with wg.private, or use local or global memory, or set the environment "
        f"variable {PRIVATE_VARIABLE}=33KB"
    )
    check_memory(0, 32769, CPU, {PRIVATE_VARIABLE: "33KB"})


@pytest.mark.parametrize("preset", devices(), ids=lambda preset: preset.name)
def test_the_limit_itself_is_accepted_and_one_byte_more_refused(preset):
    check_memory(preset.local_mem_size, preset.private_mem_size or 0, preset, {})
    with pytest.raises(MemoryAllocationError):
        check_memory(preset.local_mem_size + 1, 0, preset, {})


def test_private_memory_is_free_where_no_limit_is_known():
    check_memory(0, 1 << 30, MAX1550)


@given(kb=st.integers(1, 4096), used=st.integers(0, 4096 * 1024))
def test_a_variable_sets_the_limit_above_and_below_the_default(kb, used):
    environ = {LOCAL_VARIABLE: f"{kb}KB"}
    if used <= kb * 1024:
        check_memory(used, 0, CPU, environ)
    else:
        with pytest.raises(
            MemoryAllocationError, match=rf"^Size of SLM \({used}\) larger than available \({kb * 1024}\)"
        ):
            check_memory(used, 0, CPU, environ)


def test_the_environment_is_read_at_each_check(monkeypatch):
    monkeypatch.setenv(LOCAL_VARIABLE, "8MB")
    check_memory(656384, 0, CPU)
    monkeypatch.delenv(LOCAL_VARIABLE)
    with pytest.raises(MemoryAllocationError):
        check_memory(656384, 0, CPU)


def test_a_malformed_variable_is_refused_even_where_the_default_would_do():
    message = refusal(KernelArgumentError, "kernel_argument", check_memory, 0, 0, CPU, {LOCAL_VARIABLE: "8 MB"})
    assert message.startswith(f"the environment variable {LOCAL_VARIABLE} is '8 MB'; write ")


def test_the_variable_does_not_reach_a_gpu():
    with pytest.raises(MemoryAllocationError):
        check_memory(656384, 0, MAX1550, {LOCAL_VARIABLE: "8MB"})


def test_a_what_if_moves_the_limit():
    check_memory(656384, 0, dataclasses.replace(MAX1550, local_mem_size=656384))

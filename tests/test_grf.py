"""The large-GRF mode: its occupancy, its registers, and where it is refused."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe

N = 2**12
FLOATS = jax.ShapeDtypeStruct((N,), np.dtype(np.float32))


@xe.kernel(sub_group_size=32)
def doubled(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(2 * x[i])


@xe.kernel(sub_group_size=32)
def many(wg, x, y):
    """Keeps 96 values of a work-item at once: more than the 64 words that it has by default at 32 lanes."""
    i = wg.global_id()
    values = [x[(i + k) % N] for k in range(96)]
    total = values[0]
    for value in values[1:]:
        total = total * value
    for value in values:
        total = total + jnp.sin(value)
    return y.at[i].set(total)


def large(kernel):
    return dataclasses.replace(kernel, grf_size=256)


def estimated(kernel, device="max1550", local=256):
    return xe.estimate(kernel, xe.NDRange(N, local), device=device)(FLOATS, FLOATS)


@pytest.mark.parametrize("device", ["a770", "max1550", "b580"])
def test_the_large_mode_halves_the_threads_however_few_registers_are_used(device):
    default, chosen = estimated(doubled, device).occupancy, estimated(large(doubled), device).occupancy
    assert (default.fraction, chosen.fraction) == (1, 0.5)
    assert chosen.limiter == "registers"
    assert estimated(dataclasses.replace(doubled, grf_size=128), device).occupancy == default


@pytest.mark.thorough
def test_the_large_mode_spills_less():
    default, chosen = estimated(many), estimated(large(many))
    assert default.registers == chosen.registers
    assert default.spill_bytes - chosen.spill_bytes == min(256, default.spill_bytes) > 0


@pytest.mark.parametrize("entry", [xe.launch, xe.check, xe.profile, xe.estimate])
def test_a_device_without_the_mode_refuses_it(entry):
    arguments = [np.zeros(N, np.float32)] * 2
    with pytest.raises(xe.KernelNotSupportedError) as error:
        entry(large(doubled), xe.NDRange(N, 256), device="iris_xe")(*arguments)
    assert "requires grf_size 256; iris_xe has no large-GRF mode. Leave grf_size out of " in str(error.value)
    assert str(error.value).endswith("launch on a device that has it: a770, a750, a380, max1100, max1550, "
                                     "max1550_stack, arc140v, b580, b570, b60, b70")  # fmt: skip


def test_a_work_group_of_more_threads_than_there_are_is_refused():
    """32 threads of 16 lanes in the large mode, of the 64 that an Xe core of a Max 1550 has."""
    kernel = dataclasses.replace(large(doubled), sub_group_size=16)
    with pytest.raises(xe.NDRangeError) as error:
        estimated(kernel, local=1024)
    assert str(error.value).startswith(
        "a work-group of 1024 work-items takes 64 threads, one for each 16; with grf_size 256 an Xe core of max1550 "
        "has 32. Launch work-groups of at most 512 work-items, or require grf_size 128"
    )
    assert estimated(kernel, local=512).occupancy.groups == 1
    assert estimated(large(doubled), local=1024).occupancy.groups == 1


def test_other_sizes_are_refused_and_the_decorator_takes_it():
    with pytest.raises(xe.KernelArgumentError, match="grf_size=64; give 128 or 256, the registers of a thread"):
        dataclasses.replace(doubled, grf_size=64)
    assert xe.kernel(grf_size=256)(doubled.function).grf_size == 256


def test_tune_chooses_between_the_modes():
    space = {"global_size": N, "local_size": 256, "grf_size": [128, 256], "device": ["max1550", "iris_xe"]}
    table = xe.tune(doubled, space)(FLOATS, FLOATS)
    found = {(row.configuration["device"].name, row.configuration["grf_size"]): row for row in table}
    assert found["max1550", 128].occupancy == 2 * found["max1550", 256].occupancy
    assert "no large-GRF mode" in found["iris_xe", 256].reason
    assert found["iris_xe", 128].static == {}
    (row,) = xe.tune(large(doubled), {**space, "grf_size": 128, "device": "max1550"})(FLOATS, FLOATS)
    assert "requires grf_size 256, which 128 is not" in row.reason
    assert "grf_size" not in xe.tune(doubled, {"global_size": N, "local_size": 256})(FLOATS, FLOATS)[0].configuration

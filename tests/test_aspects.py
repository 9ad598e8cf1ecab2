"""What a device must have for a kernel's operations, and which memory orders these take."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.language.orders import ORDERS

RANGE = xe.NDRange(8, 8)
WITHOUT = dataclasses.replace(xe.device("a770"), atomic64=False)
UNKNOWN = dataclasses.replace(xe.device("a770"), atomic64=None)


@xe.kernel
def in_a_loop(wg, x, total):
    return lax.fori_loop(0, 3, lambda k, total: total.atomic[0].add(x[wg.local_id()]), total)  # here


def arguments(dtype):
    return np.arange(8).astype(dtype), np.zeros(1, dtype)


@pytest.mark.parametrize("dtype", ["int64", "uint64", "float64"])
@pytest.mark.parametrize("entry", [xe.launch, xe.trace, xe.check, xe.profile, xe.estimate])
def test_atomics_of_64_bits_are_refused_where_the_device_lacks_them(entry, dtype):
    with pytest.raises(xe.KernelNotSupportedError) as error:
        entry(in_a_loop, RANGE, device=WITHOUT)(*arguments(dtype))
    assert error.value.code == "kernel_not_supported"
    assert str(error.value).startswith(
        f"an atomic add of {dtype} elements, which have 64 bits; a770 lacks SYCL's aspect::atomic64. Use a memory of "
        "32 bits, or launch on a device that has it: hd530, iris_xe, max1100, max1550, arc140v, b580, h200\n  at "
    )
    assert str(error.value).endswith("# here")


def test_local_memory_and_loads_count_too():
    @xe.kernel
    def of_local(wg, y):
        flag = wg.barrier(wg.local(1, jnp.int64).at[0].set(0, where=wg.local_id() == 0))
        return y.at[wg.local_id()].set(flag.atomic[0].load().astype(jnp.int32))

    with pytest.raises(xe.KernelNotSupportedError, match="an atomic load of int64 elements"):
        xe.launch(of_local, RANGE, device=WITHOUT)(np.zeros(8, np.int32))


@pytest.mark.parametrize(
    ("device", "dtype"), [(WITHOUT, "int32"), (UNKNOWN, "int64"), ("a770", "int64"), ("cpu", "int64")]
)
def test_others_are_launched(device, dtype):
    assert np.asarray(xe.launch(in_a_loop, RANGE, device=device)(*arguments(dtype))).tolist() == [3 * 28]


def test_plain_accesses_of_64_bits_need_no_aspect():
    @xe.kernel
    def copy(wg, x, y):
        return y.at[wg.local_id()].set(x[wg.local_id()])

    x, y = np.arange(8) << 40, np.zeros(8, np.int64)
    np.testing.assert_array_equal(xe.launch(copy, RANGE, device=WITHOUT)(x, y), x)


def test_which_devices_have_them():
    """NEO says so of every Intel GPU that is modelled; of the CPU device nothing is known."""
    known = {device.name: device.atomic64 for device in xe.devices()}
    assert known.pop("cpu") is None
    assert set(known.values()) == {True}
    assert "ftrSupportsInteger64BitAtomics" in xe.device("hd530").source("atomic64")


# --- Orders: SYCL 2020, section 4.15.3 ---

ALLOWED = {
    "load": {"relaxed", "acquire", "seq_cst"},
    "store": {"relaxed", "release", "seq_cst"},
    "add": set(ORDERS),
    "fetch_xor": set(ORDERS),
    "exchange": set(ORDERS),
    "compare_exchange": set(ORDERS),
}


def accessed(op, order):
    """Launches a kernel with one operation of one order."""

    @xe.kernel
    def access(wg, x, y):
        here = x.atomic(order=order)[wg.local_id()]
        if op == "load":
            return x, y.at[wg.local_id()].set(here.load())
        values = (0, 1) if op == "compare_exchange" else (1,)
        result = getattr(here, op)(*values)
        return (result[1] if isinstance(result, tuple) else result), y

    return xe.launch(access, RANGE)(np.zeros(8, np.int32), np.zeros(8, np.int32))


@pytest.mark.parametrize(("op", "order"), [*itertools.product(ALLOWED, ORDERS)])
def test_an_operation_takes_the_orders_of_sycl_and_no_others(op, order):
    if order in ALLOWED[op]:
        accessed(op, order)
        return
    with pytest.raises(xe.KernelError, match=f"an atomic {op} of x with order '{order}'; SYCL allows relaxed, "):
        accessed(op, order)


@pytest.mark.parametrize("order", ORDERS)
def test_a_fence_takes_every_order(order):
    @xe.kernel
    def fenced(wg, x):
        return wg.fence(x.at[wg.local_id()].set(1), order=order)

    assert xe.launch(fenced, RANGE)(np.zeros(8, np.int32)).sum() == 8

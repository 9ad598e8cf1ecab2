"""What a device must have for a kernel's operations, and which memory orders these take."""

import dataclasses
import functools
import itertools

import jax
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
        "32 bits, or launch on a device that has it: hd530, iris_xe, uhd770, a750, a380, max1100, max1550, "
        "max1550_stack, arc140v, b580, b570, b60, b70, h200, h100\n  at "
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


# --- Double and half precision ---

SINGLE = np.zeros(8, np.float32)
LONG = np.zeros(8, np.int64)
ELSEWHERE = "hd530, max1100, max1550, max1550_stack, arc140v, b580, b570, b60, b70, h200, h100, cpu"


@xe.kernel
def doubled(wg, x, y):
    return y.at[wg.local_id()].set(x[wg.local_id()] * 2)  # here


@pytest.mark.parametrize(
    "entry",
    [xe.launch, xe.trace, xe.check, xe.profile, xe.estimate, functools.partial(xe.launch, schedule=1)],
    ids=["launch", "trace", "check", "profile", "estimate", "schedule"],
)
def test_doubles_are_refused_where_the_device_has_none(entry):
    with pytest.raises(xe.KernelNotSupportedError) as error:
        entry(doubled, RANGE, device="a770")(np.zeros(8), np.zeros(8))
    assert error.value.code == "kernel_not_supported"
    assert str(error.value).startswith(
        "a load of float64 elements of x; a770 lacks SYCL's aspect::fp64. Use float32, or launch on a device that has "
        f"it: {ELSEWHERE}\n  at "
    )
    assert str(error.value).endswith("# here")


def test_a_table_of_configurations_gives_the_reason():
    space = {"device": ["a770", "b580"], "global_size": 8, "local_size": 8}
    refused, timed = sorted(xe.tune(doubled, space)(np.zeros(8), np.zeros(8)), key=lambda row: row.time_s or 0)
    assert "a770 lacks SYCL's aspect::fp64" in refused.reason
    assert timed.time_s > 0


def uses_of_doubles():
    """Kernels of 64-bit integers that use a double somewhere, each with what is told of it."""

    def local(wg, x, y):
        return y.at[wg.local_id()].set(wg.local(8, jnp.float64)[0].astype(jnp.float32))

    def private(wg, x, y):
        sums = wg.private(2, float)
        return y.at[wg.local_id()].set(sums[0].astype(jnp.float32))

    def converted(wg, x, y):
        return y.at[wg.local_id()].set((x[wg.local_id()].astype(jnp.float64) / 3).astype(jnp.float32))

    def in_a_branch(wg, x, y):
        value = lax.cond(x[0] > 0, lambda v: jnp.float64(v).astype(jnp.float32), lambda v: v, y[0])
        return y.at[wg.local_id()].set(value)

    def from_bits(wg, x, y):
        return y.at[wg.local_id()].set(x[wg.local_id()].view(jnp.float64).astype(jnp.float32))

    return {
        local: "local memory local of float64 elements",
        private: "private memory sums of float64 elements",
        converted: "a value of float64",
        in_a_branch: "a value of float64",
        from_bits: "a value of float64",
    }


@pytest.mark.parametrize(
    ("function", "told"), uses_of_doubles().items(), ids=lambda case: getattr(case, "__name__", "")
)
def test_doubles_are_found_wherever_they_are_used(function, told):
    with pytest.raises(xe.KernelNotSupportedError, match=f"^{told}; iris_xe lacks SYCL's aspect::fp64"):
        xe.launch(xe.kernel(function), RANGE, device="iris_xe")(LONG, SINGLE)
    xe.launch(xe.kernel(function), RANGE, device="max1550")(LONG, SINGLE)


def test_a_double_is_a_use_as_an_argument_alone():
    @xe.kernel
    def unused(wg, x, y, s):  # here
        return y.at[wg.local_id()].set(1)

    with pytest.raises(xe.KernelNotSupportedError, match=r"^the argument x is float64;.*\n.*# here"):
        xe.launch(unused, RANGE, device="a770")(np.zeros(8), SINGLE, 0)
    with pytest.raises(xe.KernelNotSupportedError, match=r"^the argument s is float64;"):
        xe.launch(unused, RANGE, device="a770")(LONG, SINGLE, np.float64(1))


def test_what_jax_widens_by_itself_is_no_double():
    """With 64-bit integers JAX makes Python's floats, quotients and defaults float64; they convert back."""

    @xe.kernel
    def widened(wg, x, y, s):
        lid = wg.local_id()
        table = np.array([0.5, 0.25])
        value = y[lid] * 2.5 + lid / 3 + jnp.sqrt(lid + 1) + jnp.linspace(0, 1, 8) + jnp.asarray(table)[0]
        value += jnp.zeros(wg.size) + jnp.mean(lid) + s
        count = (x[lid] * 0.5).astype(jnp.float32)
        return lax.fori_loop(0, 2, lambda k, y: y.at[lid].set(value * k + 0.5, where=value + count > 1e-9), y)

    with jax.numpy_dtype_promotion("standard"):
        on = {name: xe.launch(widened, RANGE, device=name)(LONG, SINGLE, 0.75) for name in ("a770", "max1550")}
    np.testing.assert_array_equal(on["a770"], on["max1550"])


def test_half_precision_is_refused_where_it_is_lacking():
    @xe.kernel
    def rounded(wg, x):
        lid = wg.local_id()
        return x.at[lid].set(x[lid].astype(jnp.float16).astype(jnp.float32))  # here

    lacking = dataclasses.replace(xe.device("b580"), fp16=False)
    with pytest.raises(
        xe.KernelNotSupportedError, match=r"^a value of float16; b580 lacks .*fp16. Use float32 or bf"
    ) as e:
        xe.launch(rounded, RANGE, device=lacking)(SINGLE)
    assert str(e.value).endswith("# here")
    with pytest.raises(xe.KernelNotSupportedError, match=r"^a load of float16 elements of x;"):
        xe.launch(doubled, RANGE, device=lacking)(SINGLE.astype(np.float16), SINGLE)
    for device in "b580", "cpu", dataclasses.replace(lacking, fp16=None):
        xe.launch(rounded, RANGE, device=device)(SINGLE)


def test_which_devices_have_double_and_half_precision():
    assert [d.name for d in xe.devices() if d.fp64 is False] == ["iris_xe", "uhd770", "a770", "a750", "a380"]
    assert [d.name for d in xe.devices() if d.fp64 is None] == []
    assert [d.name for d in xe.devices() if d.fp16 is not True] == ["cpu"]
    assert "ftrSupportsFP64" in xe.device("a770").source("fp64")
    emulated = dataclasses.replace(xe.device("a770"), fp64=True)
    assert np.asarray(xe.launch(doubled, RANGE, device=emulated)(np.ones(8), np.zeros(8))).sum() == 16


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


class TestOpenCL:
    """Kernels of OpenCL C, whose types are all their own."""

    @pytest.mark.parametrize(
        "body",
        ["double x = f[i]; f[i] = (float)(x * x);", "f[i] *= 2.5;", "f[i] = (float)sqrt((double)f[i]);"],
    )
    def test_doubles_inside_are_refused_where_the_device_lacks_them(self, body):
        kernel = xe.load(f"kernel void k(global float* f) {{ int i = get_global_id(0); {body} }}")["k"]
        with pytest.raises(xe.KernelNotSupportedError, match=r"a770 lacks the extension cl_khr_fp64\. Use float, or"):
            xe.launch(kernel, RANGE, device="a770")(np.ones(8, np.float32))
        xe.launch(kernel, RANGE, device="max1550")(np.ones(8, np.float32))

    def test_floats_beside_64_bit_integers_are_none(self):
        text = """kernel void k(global long* a, global float* f)
        {
            int i = get_global_id(0);
            for (int k = 0; k < 4; k++)
                f[i] += k * 0.5f;
            a[i] += (long)sqrt(f[i]) + 3;
        }"""
        out, _ = xe.launch(xe.load(text)["k"], RANGE, device="a770")(np.ones(8, np.int64), np.ones(8, np.float32))
        assert out.tolist() == [6] * 8

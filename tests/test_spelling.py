"""Names that the language does not have: what was meant, as far as that can be told, with the kernel's line."""

import copy
import math
import os
import sys
import types

import jax.numpy as jnp  # by what is evaluated
import numpy as np
import pytest
import refusals

import xeemu as xe
from xeemu.language import places, source

NAMES = [
    ("wg.global_idx", "a work-group has no 'global_idx' (did you mean 'global_id'?)"),
    ("wg.get_local_id", "a work-group has no 'get_local_id' (did you mean 'local_id'?)"),
    ("wg.blockIdx", "a work-group has no 'blockIdx' (did you mean 'group_id'?)"),
    ("wg.__syncthreads", "a work-group has no '__syncthreads' (did you mean 'barrier'?)"),
    ("wg.shuffle", "a work-group has no 'shuffle' (did you mean 'sub_group.select'?)"),
    ("wg.quux", "a work-group has no 'quux'; it has all, any, barrier, "),
    ("wg.sub_group.shuffle", "a sub-group has no 'shuffle' (did you mean 'select'?)"),
    ("wg.sub_group.clustered_rotate", "a sub-group has no 'clustered_rotate' (did you mean 'rotate'?)"),
    ("wg.sub_group.shfl_down_sync", "a sub-group has no 'shfl_down_sync' (did you mean 'shift_left'?)"),
    ("wg.sub_group.reduce_sum", "a sub-group has no 'reduce_sum' (did you mean 'reduce'?)"),
    ("wg.sub_group.zip", "a sub-group has no 'zip'; it has all, any, "),
    ("x.atomic[0].fetch_and_", "x.atomic[...] has no 'fetch_and_' (did you mean 'fetch_and'?)"),
    ("x.atomic[0].atomicCAS", "x.atomic[...] has no 'atomicCAS' (did you mean 'compare_exchange'?)"),
    ("x.atomic.fetch_and_", "x.atomic[...] has no 'fetch_and_' (did you mean 'fetch_and'?)"),
    ("x.atomic(order='acquire')[0].fetch_mul", "x.atomic[...] has no 'fetch_mul'; it has add, and_, "),
    ("x.at[0].multiply", "x.at[...] has no 'multiply'; a plain store is .at[i].set(x), a load is x[i], an update "),
    ("x.at[0].load", "x.at[...] has no 'load'; a plain store is .at[i].set(x), a load is x[i]"),
    ("x.at.set", "x.at.set(...) names no element; write x.at[i].set(...)"),
    ("x.at.add", "x.at[...] has no add: a plain store is .at[i].set(x); work-items that update one element need "),
    ("x.store", "memory x has no 'store' (did you mean 'at[i].set'?)"),
    ("x.fetch_add", "memory x has no 'fetch_add' (did you mean 'atomic[i].fetch_add'?)"),
    ("x.lod", "memory x has no 'lod' (did you mean 'load'?)"),
]


@pytest.mark.parametrize(("written", "message"), NAMES)
def test_a_name_that_is_not_there_is_told_with_the_one_meant(written, message):
    def kernel(wg, x):
        eval(written)  # <-
        return x

    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(kernel), xe.NDRange(4, 4))(np.zeros(8, np.int32))
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(("\n  at <string>:1", f"\n  at {refusals.site(kernel)}"))


def test_python_finds_out_what_there_is():
    @xe.kernel
    def kernel(wg, x):
        for thing in wg, wg.sub_group, x, x.at, x.at[0], x.atomic, x.atomic[0]:
            assert not hasattr(thing, "quux")
            assert type(copy.copy(thing)) is type(thing)
        return x

    assert xe.launch(kernel, xe.NDRange(4, 4))(np.arange(8)).shape == (8,)


CALLS = [
    (
        "wg.local(jnp.float32)",
        "wg.local is missing 1 required positional argument: 'dtype'; write wg.local(shape, dtype, ",
    ),
    ("wg.local(4, 'flot32')", "has dtype 'flot32' (did you mean 'float32'?), which is none; write such as jnp.float32"),
    ("wg.local(x[0], 'int32')", "of shape a value that is known only as the kernel runs; give one to three integers"),
    ("wg.local_id(dim=1)", "wg.local_id has no option 'dim' (did you mean 'd'?); write wg.local_id(d=0)"),
    (
        "wg.fence(x, memory_order='acquire')",
        "wg.fence has no option 'memory_order' (did you mean 'order'?); write wg.fen",
    ),
    ("wg.barrier(x, scope='device')", "wg.barrier has no option 'scope'; write wg.barrier(*memories, where=None)"),
    (
        "x.at[0].set(1, mask=True)",
        "x.at[i].set has no option 'mask' (did you mean 'where'?); write x.at[i].set(x, where=",
    ),
    (
        "x.load(0, default=1)",
        "x.load has no option 'default' (did you mean 'other'?); write x.load(index, where=None, oth",
    ),
    (
        "x.atomic[0].add()",
        "x.atomic[i].add is missing 1 required positional argument: 'x'; write x.atomic[i].add(x, wh",
    ),
    (
        "x.atomic(ordr='acquire')",
        "x.atomic has no option 'ordr' (did you mean 'order'?); write x.atomic(order='relaxed', ",
    ),
    ("x.atomic(order='acquired')", "memory order 'acquired' (did you mean 'acquire'?) is none of relaxed, acquire, "),
    ("x.atomic(scope='workgroup')", "memory scope 'workgroup' (did you mean 'work_group'?) is none of work_item, "),
    ("wg.sub_group.reduce(x[0], jnp.maximum)", "(did you mean 'max'?); the operations are add, mul, "),
    (
        "wg.sub_group.select(x[0], lane=1)",
        "wg.sub_group.select has no option 'lane' (did you mean 'id'?); write wg.sub",
    ),
    ("range(wg.local_id())", "kernel kernel needs the value of an array in Python, but the array is known only as "),
]


@pytest.mark.parametrize(("written", "message"), CALLS)
def test_a_call_that_is_not_there_is_told_with_what_there_is(written, message):
    def kernel(wg, x):
        eval(written)  # <-
        return x

    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(kernel), xe.NDRange(8, 8))(np.zeros(8, np.float32))
    assert message in str(caught.value)
    assert "\n  at " in str(caught.value)


def test_a_type_error_of_the_users_own_stays_one():
    def kernel(wg, x):
        return len(1)

    with pytest.raises(TypeError, match=r"^object of type 'int' has no len\(\)$"):
        xe.launch(xe.kernel(kernel), xe.NDRange(8, 8))(np.zeros(8, np.float32))


# --- Expressions of Python that need a value ---


def of_math(wg, x):
    return x.at[wg.local_id()].set(math.sqrt(x[wg.local_id()]))


def of_float(wg, x):
    return x.at[wg.local_id()].set(float(x[wg.local_id()]) + math.sqrt(2.0))


def of_numpy(wg, x):
    i = wg.local_id()
    return x.at[i].set(np.sin(x[i]))


def of_and(wg, x):
    i = wg.local_id()
    return x.at[i].set(1, where=(i > 0) and (i < 64))


def of_chain(wg, x):
    i = wg.local_id()
    if 0 < i < 64:
        x = x.at[i].set(1)
    return x


def of_not(wg, x):
    i = wg.local_id()
    return x.at[i].set(1, where=not i > 2)


def of_max(wg, x):
    i = wg.local_id()
    return x.at[i].set(max(x[i], 0))


def returned_pair(wg, x):
    x = x.atomic[wg.local_id()].fetch_add(1)
    return x  # noqa: RET504  # as users write it


def swapped(wg, x):
    tile = wg.local(jnp.float32, 64)
    return x.at[0].set(tile[0])


def wrong_option(wg, x):
    out = x
    return out.at[0].set(x[0], mask=True)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (of_math, "math.sqrt is for numbers that are known now: write jnp.sqrt(x[wg.local_id()])\n  at "),
        (of_float, "values stay arrays: write x[wg.local_id()], or x[wg.local_id()].astype(jnp.float32)"),
        (of_numpy, "np.sin is for numbers that are known now: write jnp.sin(x[i])"),
        (of_and, "write (i > 0) & (i < 64) for i > 0 and i < 64"),
        (of_chain, "write (0 < i) & (i < 64) for 0 < i < 64"),
        (of_not, "write ~(i > 2) for not i > 2"),
        (of_max, "write jnp.maximum(x[i], 0) for max(x[i], 0)"),
        (returned_pair, "give (old, memory): write old, x = x.atomic[i].fetch_add(x) and return x"),
        (
            swapped,
            "local memory tile of shape float32 and dtype 64: they are swapped; give the shape first",
        ),
        (
            wrong_option,
            "(did you mean 'where'?); write out.at[i].set(x, where=None)",
        ),
    ],
)
def test_an_expression_is_told_with_what_a_kernel_writes_for_it(function, message):
    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(function), xe.NDRange(8, 8))(np.zeros(8, np.float32))
    assert message in str(caught.value)
    assert f"\n  at {os.path.relpath(__file__)}" in str(caught.value)


@pytest.mark.parametrize(
    ("file", "full", "short"),
    [
        ("/scratch/ipykernel_71/4217132076.py", "cell, line 11", "cell, line 11"),
        ("<ipython-input-3-1f2e>", "cell, line 11", "cell, line 11"),
        ("/home/ipykernel_71/kernel.py", "/home/ipykernel_71/kernel.py:11", "kernel.py:11"),
    ],
)
def test_a_cell_of_a_notebook_is_named_as_such(file, full, short):
    assert source.Site(file, 11, "").place == full
    assert places.short_place(file, 11) == short


def test_a_cell_that_ipython_knows_is_named_by_its_number(monkeypatch):
    names = {"/scratch/ipykernel_71/4217132076.py": ("Cell", "In[3]")}
    shell = types.SimpleNamespace(compile=types.SimpleNamespace(format_code_name=names.get))
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert places.full_place("/scratch/ipykernel_71/4217132076.py", 11) == "cell In[3], line 11"
    assert places.full_place("/scratch/ipykernel_71/1.py", 11) == "cell, line 11"

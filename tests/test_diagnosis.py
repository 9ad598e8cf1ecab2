"""What JAX refuses in a kernel: the value, its types, what to write instead, and the kernel's line."""

import jax.numpy as jnp
import numpy as np
import pytest
import refusals
from jax import lax

import xeemu as xe

REALS = (np.zeros(8, np.int32), np.zeros(8, np.float32))
WIDE = (np.zeros(8, np.int32), np.zeros(8, np.int64))
NUMBER = (np.zeros(8, np.int32), np.int32(3))
WIDTH = "; a Python number, jnp.arange and a sum are of 64 bits where a memory of the kernel is: write jnp.int32(...)"
refused = refusals.Refusals(xe.NDRange(8, 4))


# --- Types that a loop carries, and that branches give ---


@refused("a loop takes carry in as int32[4] and gives float32[4]; what is carried keeps its type: start with", *REALS)
def counted_loop(wg, x, y):
    total = lax.fori_loop(0, 3, lambda k, v: y[wg.local_id()], wg.local_id())  # <-
    return y.at[wg.global_id()].set(total)


@refused("a loop takes carry['n'] in as int32[] and gives int32[4]; what is carried keeps its shape: broadcast what")
def loop_to_an_unknown_end(wg, x, y):
    c = lax.fori_loop(0, x[0], lambda k, c: {"n": c["n"] + wg.local_id()}, {"n": 0})  # <-
    return x.at[wg.global_id()].set(c["n"])


@refused("a loop takes c[1] in as int32[4] and gives int32[]; what is carried keeps its shape: broadcast what the body")
def while_loop(wg, x, y):
    _, n = lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, 0), (0, wg.local_id()))  # <-
    return x.at[wg.global_id()].set(n)


@refused(
    f"a loop takes v in as int32[] and gives int64[]; what is carried keeps its type: start with value.{{}}{WIDTH}",
    *WIDE,
)
def sum_in_a_kernel_of_64_bits(wg, x, y):
    v, _ = lax.scan(lambda v, k: (wg.local_id().sum(), None), wg.group_id(), jnp.arange(3))  # <-
    return x.at[wg.global_id()].set(v), y


@refused("a loop takes the memory c[0] in as int32[8] and gives float32[8]; a memory keeps its place", *REALS)
def memories_of_two_types_in_turn(wg, x, y):
    return lax.while_loop(lambda c: wg.group_id() < 3, lambda c: (c[1], c[0]), (x, y))  # <-


@refused("lax.cond with a true predicate gives float32[] and with a false one int32[]; branches give one type: convert")
def branches(wg, x, y):
    return x.at[wg.global_id()].set(lax.cond(wg.group_id() == 0, lambda: 0.5, wg.group_id))  # <-


@refused("branch 0 gives int32[] and branch 1 int32[4] for part [1] of its result; branches give one shape: broadcast")
def switched(wg, x, y):
    _, v = lax.switch(wg.group_id(), [lambda: (0, 0), lambda: (0, wg.local_id())])  # <-
    return x.at[wg.global_id()].set(v)


@refused(
    f"lax.cond with a true predicate gives int64[] and with a false one int32[]; branches give one type: {{}}{WIDTH}",
    *WIDE,
)
def python_number_in_a_kernel_of_64_bits(wg, x, y):
    return x.at[wg.global_id()].set(lax.cond(wg.group_id() == 0, lambda: 0, wg.group_id)), y  # <-


@refused(
    "lax.cond with a true predicate gives int32[8] and with a false one float32[8]; a memory keeps its place", *REALS
)
def branches_of_two_memories(wg, x, y):
    return lax.cond(wg.group_id() == 0, lambda: x, lambda: y)  # <-


# --- What they are made of ---


@refused("the body of a loop gives None where carry holds a memory; it returns the carry, each part in its place: is a")
def body_without_return(wg, x, y):
    def body(k, x):
        x.at[wg.local_id()].set(k)

    return lax.fori_loop(0, 3, body, x)  # <-


@refused("the body of a loop gives an array where m holds a memory; it returns the carry, each part in its place: give")
def value_for_a_memory(wg, x, y):
    return lax.scan(lambda m, k: (m[wg.local_id()], None), x, jnp.arange(3))[0]  # <-


@refused(
    "the body of a loop gives a tuple of 3 where c holds a tuple of 2; it returns the carry, each part in its place"
)
def body_with_more(wg, x, y):
    return lax.while_loop(lambda c: c[1] < 3, lambda c: (*c, 1), (x, 0))[0]  # <-


@refused("lax.cond with a true predicate gives global memory x and with a false one local memory tile; every branch")
def branches_of_two_spaces(wg, x, y):
    tile = wg.local(8, jnp.int32)
    return lax.cond(wg.group_id() == 0, lambda: x, lambda: tile)  # <-


@refused("branch 0 gives a tuple and branch 1 an array; every branch returns the same parts in the same order")
def switch_of_parts(wg, x, y):
    lax.switch(wg.group_id(), [lambda: (1, 2), lambda: 1])  # <-
    return x


@refused("the body of lax.scan gives no pair; it returns (carry, stacked): write return carry, None to stack nothing")
def scan_without_pair(wg, x, y):
    return lax.scan(lambda x, k: x.at[wg.local_id()].set(k), x, jnp.arange(3))  # <-


# --- Predicates ---


@refused("the predicate of a loop is bool[4], a value for each work-item; lax.while_loop has one predicate for the")
def loop_of_each_work_item(wg, x, y):
    return x.at[wg.global_id()].set(lax.while_loop(lambda k: k < 3, lambda k: k + 1, wg.local_id()))  # <-


@refused(
    "the bounds of lax.fori_loop are a value for each work-item, of shape (4,); it has one number of turns for the "
    "work-group: write wg.fori_loop("
)
def bound_of_each_work_item(wg, x, y):
    return x.at[wg.global_id()].set(lax.fori_loop(0, wg.local_id(), lambda k, n: n + 1, 0))  # <-


@refused("the predicate of a loop is int32[]; a predicate is a bool: write a comparison, such as x != 0")
def number_as_predicate(wg, x, y):
    return x.at[wg.global_id()].set(lax.while_loop(lambda k: k, lambda k: k - 1, wg.group_id()))  # <-


@refused(
    "the predicate of lax.cond is a value for each work-item, of shape (4,); lax.cond takes one for the work-group"
)
def branch_of_each_work_item(wg, x, y):
    return lax.cond(wg.local_id() < 3, lambda x: x.at[wg.local_id()].set(1), lambda x: x, x)  # <-


@refused("the predicate of lax.cond is global memory x; load what it tests, such as m[0] != 0")
def memory_as_predicate(wg, x, y):
    return lax.cond(x, lambda: y, lambda: y)  # <-


@refused("the number of lax.switch is a value for each work-item, of shape (4,); it takes one for the work-group")
def switch_of_each_work_item(wg, x, y):
    return x.at[wg.global_id()].set(lax.switch(wg.local_id(), [lambda: 1, lambda: 2]))  # <-


@refused("the number of lax.switch is float32; it is an integer: write .astype(jnp.int32)", *REALS)
def switch_of_a_float(wg, x, y):
    return x.at[wg.global_id()].set(lax.switch(y[0], [lambda: 1, lambda: 2]))  # <-


@refused(
    "the bounds of lax.fori_loop are int32 and int64; they are integers of one type: write .astype(jnp.int64)", *WIDE
)
def bounds_of_two_types(wg, x, y):
    return lax.fori_loop(x[0], y[0], lambda k, x: x, x), y  # <-


# --- Arrays in place of memories ---


@refused("y is a scalar, as the launch is given a number for it; give an array where the kernel indexes it", *NUMBER)
def number_that_is_indexed(wg, x, y):
    return x.at[wg.global_id()].set(y[wg.global_id()])  # <-


@refused("y is a scalar, as the launch is given a number for it; give an array where the kernel indexes it", *NUMBER)
def number_that_is_stored_to(wg, x, y):
    return x, y.at[wg.global_id()].set(3)  # <-


@refused("y is a scalar, as the launch is given a number for it; give an array where the kernel indexes it", *NUMBER)
def number_that_is_updated(wg, x, y):
    return x, y.atomic[wg.global_id()].add(1)  # <-


@refused("an array of 1 dimension is indexed by 2; a value of the kernel has the axes of the work-group, and then its")
def value_that_has_fewer_axes(wg, x, y):
    loaded = y[wg.global_id()]
    return x.at[wg.global_id()].set(loaded[wg.local_id(), 0])  # <-


@refused("an array of values has no attribute atomic; a memory has, as are the parameters and wg.local(...)")
def value_that_is_updated(wg, x, y):
    loaded = y[wg.global_id()]
    return x, loaded.atomic[0].add(1)  # <-


# --- Python's numbers ---


@refused("the Python int 2654435761 does not fit the array beside it: it takes an unsigned type: write jnp.uint32(")
def hash_of_a_signed_number(wg, x, y):
    return x.at[wg.global_id()].set(x[wg.global_id()] * 2654435761)  # <-


@refused(
    "the Python int 1099511627776 does not fit int32: it takes 64 bits, jnp.int64(1099511627776), which a kernel has"
)
def number_of_64_bits(wg, x, y):
    return x.at[wg.global_id()].set(wg.reduce(2**40, "add"))  # <-


@refused(
    "the Python int of 41 digits does not fit the array beside it: no integer type holds it; write a float", *REALS
)
def number_of_no_type(wg, x, y):
    return y.at[wg.global_id()].set(y[wg.global_id()] * 10**40)  # <-


@pytest.mark.parametrize(("function", "message", "arguments"), refused.cases)
def test_refused(function, message, arguments):
    told, line = refused.error(function, arguments).split("\n  at ")
    position = 0
    for part in message.split("{}"):
        position = told.index(part, position)
    assert told.startswith(message.split("{}")[0])
    assert line == refusals.site(function)


# --- What agrees ---


def test_numbers_that_python_gives_agree_with_those_of_arrays():
    """Values that differ only in that one comes from a Python number, and versions of one memory."""

    @xe.kernel
    def kernel(wg, x, n):
        v = lax.cond(wg.group_id() == 0, lambda: 0, wg.group_id)
        v = lax.switch(wg.group_id(), [lambda: v, lambda: 2, lambda: n])
        v = lax.fori_loop(0, 3, lambda k, v: v + wg.group_id(), 0) + v
        x = lax.cond(v > 0, lambda x: x.at[wg.local_id()].set(v), lambda x: x, x)
        x, v = lax.while_loop(lambda c: c[1] < 3, lambda c: (c[0].at[wg.local_id()].set(c[1]), c[1] + 1), (x, n))
        return lax.scan(lambda x, k: (x.atomic[k].add(1), None), x, jnp.arange(8))[0]

    result = xe.launch(kernel, xe.NDRange(4, 4))(jnp.full(8, 1), 0)
    np.testing.assert_array_equal(result, [6, 6, 6, 6, 5, 5, 5, 5])

"""What the kernel language refuses at trace time: the exact words and the kernel's line."""

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import refusals
from jax import lax

import xeemu as xe

REALS = (np.zeros(8, np.float32), np.zeros(8, np.float32))
refused = refusals.Refusals(xe.NDRange(8, 4))
NEEDS_VALUE = (
    "kernel {} needs the value of an array in Python, but the array is known only as the kernel runs; where it differs "
    "between work-items, write wg.cond, wg.while_loop or wg.fori_loop, or mask the memory operations with where= and "
    "choose with jnp.where; where it is one value for the "
    "work-group, use lax.cond, lax.while_loop or lax.fori_loop"
)
TRANSFORMED = (
    "{} cannot be transformed by vmap or grad: a kernel is already written for a whole "
    "work-group; index with arrays of the "
    "work-group's shape instead"
)
IN_PLACE = (
    "x[wg.global_id()] is assigned to, which changes a memory in place, as a pure function cannot; write x = "
    "x.at[wg.global_id()].set({})"
)
NOT_AN_ARRAY = "y is a memory, not an array; load its elements by index: y[i]"


# --- Indices ---


@refused("the index of x in dimension 0 has dtype float32; an index is an integer: convert it with .astype(jnp.int32)")
def float_index(wg, x, y):
    return x.at[jnp.zeros(4)].set(1)  # <-


@refused("the index of x in dimension 0 has dtype float32; an index is an integer: convert it with .astype(jnp.int32)")
def python_float_index(wg, x, y):
    return x.at[0.5].set(1)  # <-


@refused("the index of x in dimension 0 has dtype bool; an index is an integer: use it as where= instead")
def bool_index(wg, x, y):
    return x.at[wg.local_id() > 2].set(1)  # <-


@refused("the index of x in dimension 0 has dtype bool; an index is an integer: use it as where= instead")
def python_bool_index(wg, x, y):
    return x.at[True].set(1)  # <-


@refused("x has 1 dimension(s), shape (8,), but the index has 2; give one integer per dimension")
def too_many_components(wg, x, y):
    return x.at[wg.local_id(), 0].set(1)  # <-


@refused("tile has 2 dimension(s), shape (2, 4), but the index has 1; give one integer per dimension")
def too_few_components(wg, x, y):
    tile = wg.local((2, 4), jnp.int32)
    return x.at[wg.global_id()].set(tile[wg.local_id()])  # <-


@refused(
    "index 0 of an access to x has shape (3,), which does not begin with the work-group's shape (4,); give one element "
    "per work-item, or a scalar; where the axes are each work-item's own, "
    "the group's go in front: [None, :], of shape (1, 3)"
)
def index_of_another_shape(wg, x, y):
    return x.at[jnp.arange(3)].set(1)  # <-


@refused(
    "the value of an access to x has shape (8,), which does not begin with the work-group's "
    "shape (4,); give one element "
    "per work-item, or a scalar; where the axes are each work-item's own, "
    "the group's go in front: [None, :], of shape (1, 8)"
)
def value_of_another_shape(wg, x, y):
    return x.at[wg.global_id()].set(jnp.arange(8))  # <-


@refused(
    "where= of an access to x has shape (2,), which does not begin with the work-group's shape (4,); give one element "
    "per work-item, or a scalar; where the axes are each work-item's own, "
    "the group's go in front: [None, :], of shape (1, 2)"
)
def mask_of_another_shape(wg, x, y):
    return x.at[wg.global_id()].set(1, where=jnp.array([True, False]))  # <-


@refused(
    "other= of an access to x has shape (5,), which does not begin with the work-group's shape (4,); give one element "
    "per work-item, or a scalar; where the axes are each work-item's own, "
    "the group's go in front: [None, :], of shape (1, 5)"
)
def other_of_another_shape(wg, x, y):
    return y.at[wg.global_id()].set(x.load(0, where=wg.local_id() > 1, other=jnp.arange(5)))  # <-


@refused("the private axes of an access to x do not fit each other: index 0 (2,), the value (3,); make them equal or 1")
def private_axes_that_differ(wg, x, y):
    return x.at[jnp.zeros((4, 2), jnp.int32)].set(jnp.zeros((4, 3), jnp.int32))  # <-


@refused(
    "x is indexed with slice(0, 4, None) in dimension 0; an index is an integer per work-item: "
    "write the elements as an "
    "array, for example base + jnp.arange(4)"
)
def slice_index(wg, x, y):
    return x.at[0:4].set(1)  # <-


@refused(
    "x is indexed with Ellipsis in dimension 0; an index is an integer per work-item: write the elements as an array, "
    "for example base + jnp.arange(4)"
)
def ellipsis_index(wg, x, y):
    return y.at[wg.global_id()].set(x[...])  # <-


@refused("the index of x in dimension 0 is a list; give an array of the work-group's shape or a scalar")
def list_index(wg, x, y):
    return x.at[[0, 1, 2, 3]].set(1)  # <-


@refused("the index of x in dimension 0 is 4294967296, which does not fit 32 bits")
def python_index_beyond_32_bits(wg, x, y):
    return x.at[2**32].set(1)  # <-


@refused(
    "the index of x in dimension 0 is a NumPy constant of int64 with values beyond int32, in a kernel without 64-bit "
    "memories"
)
def numpy_index_beyond_32_bits(wg, x, y):
    return x.at[np.int64(2**32)].set(1)  # <-


# --- Values ---


def lossy(given, name, holds):
    return (
        f"a value of dtype {given} stored in {name}, which holds {holds}, could lose bits; say that it may: "
        f"value.astype(jnp.{holds})"
    )


@refused(lossy("float32", "x", "int32"))
def float_into_int(wg, x, y):
    return x.at[wg.global_id()].set(wg.local_id().astype(jnp.float32))  # <-


@refused(lossy("int32", "x", "float32"), *REALS)
def int_into_float_of_the_same_width(wg, x, y):
    return x.at[wg.global_id()].set(wg.local_id())  # <-


@refused(lossy("uint32", "x", "int32"))
def unsigned_into_signed(wg, x, y):
    return x.at[wg.global_id()].set(wg.local_id().astype(jnp.uint32))  # <-


@refused(lossy("int32", "own", "int8"))
def wide_into_narrow_private_memory(wg, x, y):
    own = wg.private(2, jnp.int8)
    own = own.at[0].set(wg.local_id())  # <-
    return x


@refused(lossy("float32", "tile", "float16"))
def float_into_half(wg, x, y):
    tile = wg.local(4, jnp.float16)
    tile = tile.at[0].set(jnp.zeros(4))  # <-
    return x


@refused(lossy("bfloat16", "tile", "float16"))
def bfloat_into_half(wg, x, y):
    tile = wg.local(4, jnp.float16)
    tile = tile.at[0].set(jnp.zeros(4, jnp.bfloat16))  # <-
    return x


@refused(lossy("int32", "x", "bool"), np.zeros(8, bool), np.zeros(8, bool))
def int_into_bool(wg, x, y):
    return x.at[wg.global_id()].set(wg.local_id())  # <-


@refused(lossy("float32", "x", "int32"))
def lossy_atomic_operand(wg, x, y):
    return x.atomic[0].add(jnp.ones(4))  # <-


@refused(lossy("float32", "x", "int32"))
def lossy_other(wg, x, y):
    return y.at[wg.global_id()].set(x.load(0, where=wg.local_id() > 2, other=jnp.ones(4)))  # <-


@refused(
    "the value 1.5 does not fit x, which holds int32; write it in that type, for example "
    "np.asarray(1.5).astype(jnp.int32)"
)
def python_float_into_int(wg, x, y):
    return x.at[wg.global_id()].set(1.5)  # <-


@refused(
    "the value 300 does not fit tile, which holds uint8; write it in that type, for example "
    "np.asarray(300).astype(jnp.uint8)"
)
def python_int_out_of_range(wg, x, y):
    tile = wg.local(4, jnp.uint8)
    tile = tile.at[0].set(300)  # <-
    return x


@refused(
    "the value -1 does not fit tile, which holds uint32; write it in that type, for example "
    "np.asarray(-1).astype(jnp.uint32)"
)
def negative_into_unsigned(wg, x, y):
    tile = wg.local(4, jnp.uint32)
    tile = tile.at[0].set(-1)  # <-
    return x


@refused(
    "the value 16777217 does not fit x, which holds float32; write it in that type, for example "
    "np.asarray(16777217).astype(jnp.float32)",
    *REALS,
)
def python_int_that_a_float_rounds(wg, x, y):
    return x.at[0].set(2**24 + 1)  # <-


@refused(
    "the value 70000 does not fit tile, which holds float16; write it in that type, for example "
    "np.asarray(70000).astype(jnp.float16)"
)
def python_int_that_a_half_makes_infinite(wg, x, y):
    tile = wg.local(4, jnp.float16)
    tile = tile.at[0].set(70000)  # <-
    return x


@refused(
    "the value 1e+300 does not fit x, which holds float32; write it in that type, for example "
    "np.asarray(1e+300).astype(jnp.float32)",
    *REALS,
)
def python_float_that_becomes_infinite(wg, x, y):
    return x.at[0].set(1e300)  # <-


@refused("the value for x is a str; give an array of the work-group's shape or a scalar")
def string_value(wg, x, y):
    return x.at[0].set("a")  # <-


@refused("the value for x is a NumPy constant of int64 with values beyond int32, in a kernel without 64-bit memories")
def numpy_value_beyond_32_bits(wg, x, y):
    return x.at[0].set(np.int64(2**40))  # <-


@refused("where= of an access to x has dtype int32; a mask is bool: write a comparison, such as x != 0")
def int_mask(wg, x, y):
    return x.at[wg.global_id()].set(1, where=wg.local_id())  # <-


# --- Memories that are not arrays ---


@refused("y is a memory, not an array; load its elements by index: y[i]")
def memory_as_a_value(wg, x, y):
    return x.at[wg.global_id()].set(y)  # <-


@refused("y is a memory, not an array; load its elements by index: y[i]")
def memory_as_an_index(wg, x, y):
    return x.at[y].set(1)  # <-


@refused(NOT_AN_ARRAY)
def memory_in_jnp(wg, x, y):
    return x.at[wg.global_id()].set(jnp.sum(y))  # <-


@refused(NOT_AN_ARRAY)
def memory_in_arithmetic(wg, x, y):
    return x.at[wg.global_id()].set(wg.local_id() + y)  # <-


@refused(NOT_AN_ARRAY)
def memory_in_a_comparison(wg, x, y):
    return x.at[wg.global_id()].set(jnp.where(y == 0, 1, 2))  # <-


@refused(NOT_AN_ARRAY)
def memory_in_numpy(wg, x, y):
    return x.at[0].set(np.sum(y))  # <-


@refused(NOT_AN_ARRAY)
def memory_in_a_collective(wg, x, y):
    return x.at[0].set(wg.reduce(y, "add"))  # <-


@refused(NOT_AN_ARRAY)
def memory_as_a_condition(wg, x, y):
    return x if y else y  # <-


@refused("y is a memory and cannot be iterated over; load its elements by index")
def memory_in_a_for_loop(wg, x, y):
    for element in y:  # <-
        x = x.at[0].set(element)
    return x


@refused(
    "kernel element_of_a_tuple needs the value of an array in Python, but the array is known only as the kernel runs; "
    "p is a tuple of Python, of which an element is chosen as the kernel is traced: pass np.asarray(p) to the launch, "
    "or write jnp.asarray(p)[wg.global_id() % 2]"
)
def element_of_a_tuple(wg, x, y):
    p = (1, 2)
    return x.at[0].set(p[wg.global_id() % 2])  # <-


@refused(IN_PLACE.format("1"))
def item_assignment(wg, x, y):
    x[wg.global_id()] = 1  # <-
    return x


@refused(IN_PLACE.format("x[wg.global_id()] + 1"))
def augmented_item_assignment(wg, x, y):
    x[wg.global_id()] += 1  # <-
    return x


@refused(
    "x.at[...] has no add: a plain store is .at[i].set(x); work-items that update one element need x.atomic[i].add(...)"
)
def add_without_atomic(wg, x, y):
    return x.at[0].add(1)  # <-


@refused(TRANSFORMED.format("load"))
def load_under_vmap(wg, x, y):
    return x.at[wg.global_id()].set(jax.vmap(lambda i: y[i])(wg.global_id()))  # <-


@refused(TRANSFORMED.format("store"), *REALS)
def store_under_grad(wg, x, y):
    def loss(v):
        return x.at[wg.global_id()].set(v)[wg.global_id()].sum()  # <-

    return y.at[wg.global_id()].set(jax.grad(loss)(jnp.ones(4)))


@refused(TRANSFORMED.format("atomic"))
def atomic_under_vmap(wg, x, y):
    return jax.vmap(lambda v: x.atomic[0].fetch_add(v)[0])(wg.local_id())  # <-


@refused(TRANSFORMED.format("collective"), *REALS)
def collective_under_grad(wg, x, y):
    return y.at[0].set(jax.grad(lambda v: wg.reduce(v, "add"))(jnp.ones(4)))  # <-


# --- Atomics ---

TYPES = "int32, uint32, int64, uint64, float32, float64"


@refused("x.atomic[i].add has no option 'order'; write x.atomic(order=..., scope=...)[i].add(x, where=None)")
def order_of_an_operation(wg, x, y):
    return x.atomic[0].add(1, order="acq_rel")  # <-


@refused(f"atomic add of tile, which holds uint8; SYCL has atomics of {TYPES}")
def atomic_of_a_narrow_type(wg, x, y):
    tile = wg.local(4, jnp.uint8)
    tile = tile.atomic[0].add(1)  # <-
    return x


@refused(f"atomic load of tile, which holds float16; SYCL has atomics of {TYPES}")
def atomic_load_of_a_narrow_type(wg, x, y):
    tile = wg.local(4, jnp.float16)
    return x.at[0].set(tile.atomic[0].load().astype(jnp.int32))  # <-


@refused(f"atomic exchange of tile, which holds bool; SYCL has atomics of {TYPES}")
def atomic_of_bool(wg, x, y):
    tile = wg.local(4, jnp.bool_)
    _, tile = tile.atomic[0].exchange(True)  # <-
    return x


@refused("atomic and of x, which holds float32; SYCL has it for integers only", *REALS)
def and_of_floats(wg, x, y):
    return x.atomic[0].and_(1.0)  # <-


@refused("atomic or of x, which holds float32; SYCL has it for integers only", *REALS)
def or_of_floats(wg, x, y):
    return x.atomic[0].or_(1.0)  # <-


@refused("atomic xor of x, which holds float32; SYCL has it for integers only", *REALS)
def fetch_xor_of_floats(wg, x, y):
    return x.atomic[0].fetch_xor(1.0)[1]  # <-


@refused("atomic add of own, which is private: only its own work-item sees it; load and store it plainly")
def atomic_of_private_memory(wg, x, y):
    own = wg.private(4, jnp.int32)
    own = own.atomic[0].add(1)  # <-
    return x


@refused("atomic load of own, which is private: only its own work-item sees it; load and store it plainly")
def atomic_load_of_private_memory(wg, x, y):
    own = wg.private(4, jnp.int32)
    return x.at[wg.global_id()].set(own.atomic[0].load())  # <-


@refused("an atomic load of x with order 'release'; SYCL allows relaxed, acquire, seq_cst for a load")
def load_with_release(wg, x, y):
    return y.at[0].set(x.atomic(order="release")[0].load())  # <-


@refused("an atomic load of x with order 'acq_rel'; SYCL allows relaxed, acquire, seq_cst for a load")
def load_with_acq_rel(wg, x, y):
    return y.at[0].set(x.atomic(order="acq_rel", scope="work_group")[0].load())  # <-


@refused("an atomic store of x with order 'acquire'; SYCL allows relaxed, release, seq_cst for a store")
def store_with_acquire(wg, x, y):
    return x.atomic(order="acquire")[0].store(1)  # <-


@refused("memory order 'consume' (did you mean 'acquire'?) is none of relaxed, acquire, release, acq_rel, seq_cst")
def unknown_order(wg, x, y):
    return x.atomic(order="consume")[0].add(1)  # <-


@refused("memory scope 'grid' is none of work_item, sub_group, work_group, device, system")
def unknown_scope(wg, x, y):
    return x.atomic(scope="grid")[0].add(1)  # <-


@refused(
    "atomic operations on x with scope 'work_item', which SYCL leaves undefined; give one of sub_group, work_group, "
    "device, system, the narrowest that holds all work-items which use the element"
)
def atomics_for_one_work_item(wg, x, y):
    return x.atomic(scope="work_item")[0].add(1)  # <-


@refused(
    "memory scope 'block' (did you mean 'work_group'?) is none of work_item, sub_group, work_group, device, system"
)
def fence_of_unknown_scope(wg, x, y):
    return wg.fence(x, scope="block")  # <-


# --- Python that needs a value ---


@refused(NEEDS_VALUE.format("python_if_on_work_items"))
def python_if_on_work_items(wg, x, y):
    if wg.local_id() > 2:  # <-
        x = x.at[0].set(1)
    return x


@refused(NEEDS_VALUE.format("python_conditional_expression"))
def python_conditional_expression(wg, x, y):
    return x.at[0].set(1 if x[wg.global_id()] == 3 else 2)  # <-


@refused(NEEDS_VALUE.format("python_if"))
def python_if(wg, x, y):
    if wg.local_id()[0] > 2:  # <-
        x = x.at[0].set(1)
    return x


@refused(NEEDS_VALUE.format("python_while"))
def python_while(wg, x, y):
    while wg.group_id() > 2:  # <-
        x = x.at[0].set(1)
    return x


@refused(NEEDS_VALUE.format("python_range"))
def python_range(wg, x, y):
    for _ in range(y[0]):  # <-
        x = x.at[0].set(1)
    return x


@refused(
    f"{NEEDS_VALUE.format('python_int').partition(';')[0]}; values stay arrays: write y[0], or y[0].astype(jnp.int32)"
)
def python_int(wg, x, y):
    return x.at[0].set(int(y[0]))  # <-


@refused(
    f"{NEEDS_VALUE.format('python_and').partition(';')[0]}; write (wg.local_id() > 1) & (wg.local_id() < 3) for "
    "wg.local_id() > 1 and wg.local_id() < 3"
)
def python_and(wg, x, y):
    return x.at[0].set(1, where=wg.local_id() > 1 and wg.local_id() < 3)  # <-


def helper_that_branches(value):
    return 1 if value.any() else 2  # <-


def test_the_line_is_that_of_the_helper_which_branches():
    def calls(wg, x):
        return x.at[0].set(helper_that_branches(wg.local_id()))

    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(calls), xe.NDRange(8, 4))(np.zeros(8, np.int32))
    assert str(caught.value) == f"{NEEDS_VALUE.format('calls')}\n  at {refusals.site(helper_that_branches)}"


# --- The work-group ---


@refused("a barrier or fence orders memories, but got an array; pass the memories themselves: tile = wg.barrier(tile)")
def barrier_of_an_array(wg, x, y):
    wg.barrier(wg.local_id())  # <-
    return x


@refused("a barrier or fence orders memories, but got a str; pass the memories themselves: tile = wg.barrier(tile)")
def sub_group_barrier_of_a_fence_space(wg, x, y):
    wg.sub_group.barrier("local")  # <-
    return x


@refused("where= of an access to a barrier has dtype int32; a mask is bool: write a comparison, such as x != 0")
def barrier_with_an_int_mask(wg, x, y):
    return wg.barrier(x, where=wg.local_id())  # <-


@refused("dimension 1 of a launch that has 1; give 0")
def dimension_that_the_launch_lacks(wg, x, y):
    return x.at[wg.local_id(1)].set(1)  # <-


@refused("reduce with op 'plus' (did you mean 'add'?); the operations are add, mul, min, max, and, or, xor")
def unknown_operation(wg, x, y):
    return x.at[0].set(wg.reduce(wg.local_id(), "plus"))  # <-


@refused("sub_group inclusive_scan with op 'xor' of float32; it is for integers and bool")
def xor_scan_of_floats(wg, x, y):
    return x.at[0].set(wg.sub_group.inclusive_scan(jnp.ones(4), "xor").astype(jnp.int32))  # <-


@refused(
    "the operand of an access to group reduce has shape (3,), which does not begin with the work-group's shape (4,); "
    "give one element per work-item, or a scalar; where the axes are each work-item's own, "
    "the group's go in front: [None, :], of shape (1, 3)"
)
def collective_of_another_shape(wg, x, y):
    return x.at[0].set(wg.reduce(jnp.arange(3), "add"))  # <-


@refused("local memory tile of shape (4, -1); give one to three integers from 0")
def local_memory_of_negative_size(wg, x, y):
    tile = wg.local((4, -1), jnp.int32)  # <-
    return x.at[0].set(tile[0, 0])


@refused("private memory own of shape (2, 2, 2, 2); give one to three integers from 0")
def private_memory_of_rank_four(wg, x, y):
    own = wg.private((2, 2, 2, 2), jnp.int32)  # <-
    return x.at[0].set(own[0, 0, 0, 0])


@refused("local memory tile of shape 2.5; give one to three integers from 0")
def local_memory_of_fractional_size(wg, x, y):
    tile = wg.local(2.5, jnp.int32)  # <-
    return x.at[0].set(tile[0])


@refused(
    "local memory tile has dtype complex64; a memory holds bool, integer or floating elements of 8, 16, 32 or 64 bits"
)
def local_memory_of_complex(wg, x, y):
    tile = wg.local(4, jnp.complex64)  # <-
    return x.at[0].set(tile[0])


# --- What a kernel returns ---


@refused("the kernel returns local memory tile, which ends with its work-group; store its elements in a global memory")
def local_memory_returned(wg, x, y):  # <-
    return wg.local(4, jnp.int32, name="tile")


@refused(
    "kernel value_returned returns an array; a kernel returns the global memories that it changed: store the values in "
    "one"
)
def value_returned(wg, x, y):  # <-
    return x[wg.global_id()]


@refused(
    "kernel number_returned returns an int; a kernel returns the global memories that it "
    "changed: store the values in one"
)
def number_returned(wg, x, y):  # <-
    return 0


@pytest.mark.parametrize(("function", "message", "arguments"), refused.cases)
def test_refused(function, message, arguments):
    assert refused.error(function, arguments) == f"{message}\n  at {refusals.site(function)}"


# --- The language outside a kernel, kernels that are none ---


def test_a_memory_does_not_outlive_its_kernel():
    kept = []

    @xe.kernel
    def kernel(wg, x):
        kept.append((wg, x))
        return x

    xe.launch(kernel, xe.NDRange(8, 4))(np.zeros(8, np.int32))
    wg, _ = kept[0]
    with pytest.raises(
        xe.KernelError, match=r"^local_id belongs inside a kernel that xe.launch runs\n  at .*test_messages"
    ):
        wg.local_id()


def test_a_kernel_is_launched_not_called():
    @xe.kernel
    def kernel(wg, x):
        return x

    with pytest.raises(
        xe.KernelArgumentError, match=r"^kernel kernel was called like a function; launch it: xe.launch\("
    ):
        kernel(np.zeros(8))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda: None, "takes no work-group; its first parameter is one: def <lambda>(wg, ...)"),
        (lambda *arrays: None, "takes no work-group; its first parameter is one: def <lambda>(wg, ...)"),
        (lambda *, wg: None, "takes no work-group; its first parameter is one: def <lambda>(wg, ...)"),
        (
            lambda wg, *arrays: None,
            "takes *args or **kwargs; name its arrays as positional parameters and its static values "
            "as keyword-only ones",
        ),
        (
            lambda wg, **static: None,
            "takes *args or **kwargs; name its arrays as positional parameters and its static values "
            "as keyword-only ones",
        ),
    ],
)
def test_a_kernel_begins_with_its_work_group_and_names_its_parameters(function, message):
    with pytest.raises(xe.KernelArgumentError) as caught:
        xe.kernel(function)
    assert str(caught.value).startswith(
        f"kernel <lambda> {message}\n  at {os.path.relpath(__file__)}:{function.__code__.co_firstlineno}: "
    )


@pytest.mark.parametrize("size", [0, (4, 0), (1, 2, 3, 4), ()])
def test_a_required_work_group_size_is_positive(size):
    with pytest.raises(xe.KernelArgumentError, match=r"^work_group_size=.*; give one to three positive integers"):
        xe.kernel(work_group_size=size)


@pytest.mark.parametrize(
    ("refused", "named"),
    [
        (lambda v: lax.concatenate([v, v], 1), "lax.concatenate"),
        (lambda v: jnp.einsum("ij,jk->ik", v, v), "jnp.einsum"),  # told by another library
        (lambda v: lax.psum(v, "i"), "lax.psum"),  # with a NameError
        (lambda v: v[v > 0], "an operation"),
    ],
    ids=["concatenate", "einsum", "psum", "subscript"],
)
def test_what_jax_refuses_is_told_with_its_name_and_the_kernels_line(refused, named):
    def kernel(wg, x):
        return x.at[wg.global_id()].set(refused(x[wg.global_id()]))

    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(kernel), xe.NDRange(8, 4))(np.zeros(8, np.int32))
    assert str(caught.value).startswith(f"JAX refuses {named} in kernel kernel: ")
    assert f":{refused.__code__.co_firstlineno}: " in str(caught.value)


def test_a_message_names_the_line_inside_control_flow_and_calls():
    """Also where the traceback passes through JAX's own frames."""

    def write(m, k):
        return m.at[k * 0.5].set(1)  # <-

    def kernel(wg, x):
        body = functools.partial(lambda k, m: jax.jit(write)(m, k.astype(jnp.float32)))
        return lax.cond(wg.group_id() == 0, lambda m: lax.fori_loop(0, 3, body, m), lambda m: m, x)

    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(kernel), xe.NDRange(8, 4))(np.zeros(8, np.int32))
    assert str(caught.value).endswith(f"\n  at {refusals.site(write)}")


def test_a_name_of_a_memory_that_was_assigned_something_else_is_told():
    @xe.kernel
    def shadowing(wg, x, out):
        i = wg.local_id()
        x = x[i]
        return out.at[i].set(x[i])

    x = np.zeros(64, np.float32)
    with pytest.warns(
        xe.KernelWarning, match=r"If x\[...\] is to load from memory: x has been assigned something else"
    ):
        xe.launch(shadowing, xe.NDRange(64, 64))(x, x)


def test_a_number_of_the_launch_that_python_needs_is_told_to_be_static():
    @xe.kernel
    def deciding(wg, x, n):
        return x.at[wg.global_id()].set(1) if n > 3 else x

    with pytest.raises(
        xe.KernelError, match=r"make it a static parameter, def deciding\(wg, ..., \*, n\), and give it by"
    ):
        xe.launch(deciding, xe.NDRange(64, 64))(np.zeros(64, np.float32), np.int32(5))

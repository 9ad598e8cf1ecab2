"""Dialect: what advice calls the things that a user writes, in the language of the kernel.

Findings, hints and refusals say what to write instead. They say it in the language that the kernel is written in; what
is found does not depend on it.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

import jax
import numpy as np

Ordering = Callable[[Sequence[str], Sequence[str]], str]
"""A barrier or fence for memories, of their names and their spaces."""

NULL = "NULL"
"""The name of the memory into which a kernel's own null pointers point; no variable of C is called so."""


@dataclasses.dataclass(frozen=True)
class Dialect:
    """Phrases of one language; what they have in braces is filled in.

    Attributes:
      language: its name.
      standard: the text that leaves things undefined.
      arithmetic: what leaves arithmetic undefined.
      progress: what is promised of the progress of work-items.
      convergence: where it says who reaches a group's algorithms.
      barrier, sub_group_barrier, fence: a work-group barrier, a sub-group's, and a fence.
      orders, unordered: of a barrier or fence, that it orders a `memory`, or does not.
      mask: to carry out an access under a `condition` alone.
      unmasked: of a load by `name[index]` that the `mask` of a `method` around it does not mask; else empty.
      within: the condition that `i` is from 0 and below `size`.
      beyond: the condition that an id is below `size`, in a dimension that is `d` in SYCL's order, `k` in OpenCL's.
      masked: what to do with accesses around a barrier that a part of a group reaches.
      dependent: to make an access depend on what a `line` gives.
      one_item: the first work-item of a `scope`, `local` or `global`, alone.
      clear: a store to every element of `name`.
      atomics: atomic operations on `name`.
      atomic_add: an addition to `name`.
      float_updates: what there is of both for floats, where they take integers alone; else empty.
      scoped, ordered: atomic operations on `name` with a `scope`, with an `order`.
      fenced: a fence with a `scope`.
      fetch_add: what adds and gives the old value.
      algorithms: what work-items have in place of one another's registers.
      choose: how a value is chosen.
      shift, quotient, remainder, large: arithmetic that is defined for all operands; a shift by less than `bits`.
      wider: an integer type of 64 bits.
      lanes, lane, any_size: the lanes of a sub-group, the id of one, and a sub-group size that is not fixed.
      sub_group_size, work_group_size: to require a `size`; the latter of a size in SYCL's order.
      aspect: what SYCL calls an aspect, of its name.
      types: names of types, of those of NumPy.
      nd_range: a launch with work-groups of a global size in SYCL's order.
      attribute: where sizes are required.
      local, private: what allocates memory.
      pitched: local memory of a name and of dimensions.
      spread: of words of local memory the i-th, with one left free after so many `banks`.
      shared_copy: a copy in which each work-item takes a part.
      written_out: a loop that a compiler surely writes out.
      vectors: how a work-item takes `count` elements of a `memory` that lie side by side.
      group_reduce, sub_group_reduce: algorithms that reduce.
      contiguous: what ids should run along, so that neighbours touch neighbouring elements.
      sizes: what is said where sizes have several dimensions.
      empty: what to do with accesses to a memory of a `name` that has no elements.
      copies: with what names of functions begin that copy asynchronously; none in most languages.
      wait: what waits for such a copy.
      first_is_contiguous: true if dimension 0 is the contiguous one, as in OpenCL, rather than the last, as in SYCL.
    """

    language: str
    standard: str
    arithmetic: str
    progress: str
    convergence: str
    barrier: Ordering
    sub_group_barrier: Ordering
    fence: Ordering
    orders: str
    unordered: str
    mask: str
    within: str
    beyond: str
    masked: str
    dependent: str
    one_item: str
    clear: str
    atomics: str
    atomic_add: str
    scoped: str
    ordered: str
    fenced: str
    fetch_add: str
    algorithms: str
    choose: str
    shift: str
    quotient: str
    remainder: str
    large: str
    wider: str
    lanes: str
    lane: str
    any_size: str
    sub_group_size: str
    work_group_size: Callable[[Sequence[int]], str]
    aspect: Callable[[str], str]
    types: Callable[[str], str]
    nd_range: Callable[[tuple[int, ...]], str]
    attribute: str
    local: str
    private: str
    pitched: Callable[[str, Sequence[str]], str]
    spread: str
    shared_copy: str
    written_out: str
    vectors: str
    group_reduce: str
    sub_group_reduce: str
    contiguous: str
    sizes: str = ""
    first_is_contiguous: bool = False
    empty: str = "Make {name} larger, or leave the access out where it has no elements."
    copies: str = ""
    wait: str = ""
    unmasked: str = ""
    float_updates: str = ""

    def updates(self, name: str, dtype: np.dtype) -> str:
        """Atomic operations on a memory with elements of a type."""
        return (self._of_floats(dtype) or self.atomics).format(name=name)

    def addition(self, name: str, dtype: np.dtype) -> str:
        """An atomic addition to one."""
        return (self._of_floats(dtype) or self.atomic_add).format(name=name)

    def _of_floats(self, dtype: np.dtype) -> str:
        """What there is for floats in a language whose atomic operations take integers; empty elsewhere."""
        return self.float_updates if jax.dtypes.issubdtype(dtype, np.floating) else ""


def _assigned(call: str) -> Ordering:
    def written(names: Sequence[str], spaces: Sequence[str]) -> str:
        listed = ", ".join(names)
        return f"{listed} = {call}({listed})"

    return written


def _sizes(sizes: Sequence[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else str(tuple(sizes))


PYTHON = Dialect(
    language="Python",
    standard="SYCL",
    arithmetic="C++",
    progress=(
        "SYCL promises work-items of a group only weakly parallel progress (3.8.3.4): those that are waited for need "
        "not go on meanwhile, above all in the same sub-group, and then the loop never ends. Between work-groups it "
        "promises no more."
    ),
    convergence="SYCL 2020, section 4.17.2",
    barrier=_assigned("wg.barrier"),
    sub_group_barrier=_assigned("wg.sub_group.barrier"),
    fence=_assigned("wg.fence"),
    orders="was given {memory}",
    unordered="was not given {memory}",
    mask="Mask the access, where={condition}",
    within="({index} >= 0) & ({index} < {size})",
    beyond="where=wg.global_id({d}) < {size}",
    masked="mask the accesses around it with where= instead",
    dependent="Mask the access with what line {line} gives, where=...,",
    one_item="where=wg.{scope}_linear_id() == 0",
    clear="{name} = {name}.at[...].set(0)",
    atomics="{name}.atomic[...]",
    atomic_add="{name}.atomic[...].add(...)",
    scoped='{name}.atomic(scope="{scope}")[...]',
    ordered='{name}.atomic(order="{order}")[...]',
    fenced='wg.fence(scope="{scope}")',
    fetch_add="fetch_add",
    algorithms=(
        "a group algorithm (wg.reduce, wg.inclusive_scan, wg.broadcast), a sub-group's (shift_left, permute_xor, "
        "select)"
    ),
    choose="with jnp.where",
    shift="jnp.where(n < {bits}, x {sign} n, 0)",
    quotient="jnp.where(b != 0, a // b, 0)",
    remainder="jnp.where(b != 0, a % b, 0)",
    large="jnp.where(b != -1, a // b, ...)",
    wider="int64, which takes a 64-bit array or local memory",
    lanes="sg.local_range()",
    lane="sg.local_id()",
    any_size="wg.sub_group.size",
    sub_group_size="@xe.kernel(sub_group_size={size})",
    work_group_size=lambda size: f"@xe.kernel(work_group_size={_sizes(size)})",
    aspect=lambda name: f"SYCL's aspect::{name}",
    types=lambda names: names,
    nd_range=lambda size: f"xe.NDRange({size}, local_size)",
    attribute="@xe.kernel",
    local="wg.local",
    private="wg.private",
    pitched=lambda name, shape: f"wg.local(({', '.join(shape)}), ...)",
    spread="i + i // {banks}",
    shared_copy="for k in range(0, n, wg.size), the word k + wg.local_linear_id(), then a barrier",
    written_out="for k in range(n), a loop of Python's own",
    vectors="as in {memory}[{count} * i[:, None] + jnp.arange({count})]",
    group_reduce="wg.reduce",
    sub_group_reduce="wg.sub_group.reduce",
    contiguous="the last dimension of the nd-range run along its last dimension",
    unmasked=(
        "The mask of .{method}(...) in this line does not hold for this load: write {name}.load({index}, where={mask}) "
        "for {name}[{index}]"
    ),
)


def _fences(spaces: Sequence[str]) -> str:
    """The flags of a barrier that orders memories of some spaces."""
    flags = {"local": "CLK_LOCAL_MEM_FENCE", "global": "CLK_GLOBAL_MEM_FENCE"}
    return " | ".join(flag for space, flag in flags.items() if space in spaces) or flags["local"]


_EXTENSIONS = {"fp64": "cl_khr_fp64", "fp16": "cl_khr_fp16", "atomic64": "cl_khr_int64_base_atomics"}
OPENCL_C = Dialect(
    language="OpenCL C",
    standard="OpenCL",
    arithmetic="C",
    progress=(
        "OpenCL promises no progress of one work-item while another waits (3.2.2): those that are waited for need not "
        "go on meanwhile, above all in the same sub-group, and then the loop never ends."
    ),
    convergence="OpenCL C 3.0, section 6.15.16",
    barrier=lambda names, spaces: f"barrier({_fences(spaces)})",
    sub_group_barrier=lambda names, spaces: f"sub_group_barrier({_fences(spaces)})",
    fence=lambda names, spaces: f"atomic_work_item_fence({_fences(spaces)}, ...)",
    orders="orders {memory}",
    unordered="does not order {memory}",
    mask="Guard the access, if ({condition})",
    within="{index} >= 0 && {index} < {size}",
    beyond="if (get_global_id({k}) < {size})",
    masked="put what must not be done by all under an if before and after it, the barrier outside",
    dependent="Make the access depend on what line {line} gives, if (...),",
    one_item="if (get_{scope}_linear_id() == 0)",
    clear="{name}[...] = 0",
    atomics="atomic_add(&{name}[...], ...) or another",
    atomic_add="atomic_add(&{name}[...], ...)",
    float_updates="atomic_cmpxchg in a loop, on as_int of the floats of {name}",
    scoped="memory_scope_{scope} for {name}",
    ordered="memory_order_{order} for {name}",
    fenced="atomic_work_item_fence(..., memory_scope_{scope})",
    fetch_add="atomic_add",
    algorithms="work_group_reduce_add and the like, sub_group_broadcast, sub_group_shuffle",
    choose="with ?:",
    shift="n < {bits} ? x {sign} n : 0",
    quotient="b != 0 ? a / b : 0",
    remainder="b != 0 ? a % b : 0",
    large="b != -1 ? a / b : ...",
    wider="long",
    lanes="get_sub_group_size()",
    lane="get_sub_group_local_id()",
    any_size="get_max_sub_group_size()",
    sub_group_size="__attribute__((intel_reqd_sub_group_size({size})))",
    work_group_size=lambda size: (
        f"__attribute__((reqd_work_group_size({', '.join(map(str, (*size[::-1], 1, 1)[:3]))})))"
    ),
    aspect=lambda name: f"the extension {_EXTENSIONS[name]}",
    types=lambda names: names.replace("float32", "float").replace(" or bfloat16", ""),
    nd_range=lambda size: f"xe.NDRange.opencl({size[::-1]}, local_size)",
    attribute="the kernel's attributes",
    local="__local",
    private="private arrays",
    pitched=lambda name, shape: f"{name}{''.join(f'[{n}]' for n in shape)}",
    spread="i + i / {banks}",
    shared_copy=(
        "for (k = get_local_linear_id(); k < n; k += the work-items of the group), the word k, then a barrier"
    ),
    group_reduce="work_group_reduce_add",
    sub_group_reduce="sub_group_reduce_add",
    contiguous="get_global_id(0) run along them",
    sizes=(
        " Sizes are in SYCL's order here, whose last dimension is OpenCL's dimension 0; xe.NDRange.opencl takes them "
        "in OpenCL's order."
    ),
    written_out="#pragma unroll before it",
    vectors="with vload{count} or vstore{count}",
    first_is_contiguous=True,
    empty="Test the pointer before it is used, if ({name} != 0): null has no elements. Or give it some.",
    copies="async_work_group_",
    wait="wait_group_events(1, &event)",
)


def _cpp_range(sizes: Sequence[int]) -> str:
    return str(sizes[0]) if len(sizes) == 1 else f"{{{', '.join(map(str, sizes))}}}"


_CPP_TYPES = {
    "float16": "sycl::half",
    "bfloat16": "sycl::ext::oneapi::bfloat16",
    "float32": "float",
    "float64": "double",
    "uint32": "unsigned",
    "int32": "int",
    "int64": "long",
    "uint64": "unsigned long",
}


def _cpp_types(names: str) -> str:
    return re.sub(r"\b\w+\b", lambda found: _CPP_TYPES.get(found[0], found[0]), names)


SYCL_CPP = Dialect(
    language="SYCL C++",
    standard="SYCL",
    arithmetic="C++",
    progress=PYTHON.progress,
    convergence=PYTHON.convergence,
    barrier=lambda names, spaces: "sycl::group_barrier(it.get_group())",
    sub_group_barrier=lambda names, spaces: "sycl::group_barrier(it.get_sub_group())",
    fence=lambda names, spaces: "sycl::atomic_fence(sycl::memory_order::acq_rel, sycl::memory_scope::work_group)",
    orders="orders {memory}",
    unordered="does not order {memory}",
    empty="Test the pointer before it is used, if ({name} != nullptr): null has no elements. Or give it some.",
    mask="Guard the access, if ({condition})",
    within="{index} >= 0 && {index} < {size}",
    beyond="if (it.get_global_id({d}) < {size})",
    masked="put what must not be done by all under an if before and after it, the barrier outside",
    dependent="Make the access depend on what line {line} gives, if (...),",
    one_item="if (it.get_{scope}_linear_id() == 0)",
    clear="{name}[...] = 0",
    atomics="sycl::atomic_ref of {name}[...]",
    atomic_add="sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device>({name}[...]) += ...",
    scoped="sycl::atomic_ref with sycl::memory_scope::{scope} for {name}",
    ordered="sycl::atomic_ref with sycl::memory_order::{order} for {name}",
    fenced="sycl::atomic_fence(..., sycl::memory_scope::{scope})",
    fetch_add="fetch_add",
    algorithms=(
        "a group algorithm (sycl::reduce_over_group, sycl::inclusive_scan_over_group, sycl::group_broadcast), a "
        "sub-group's (sycl::shift_group_left, sycl::permute_group_by_xor, sycl::select_from_group)"
    ),
    choose="with ?:",
    shift="n < {bits} ? x {sign} n : 0",
    quotient="b != 0 ? a / b : 0",
    remainder="b != 0 ? a % b : 0",
    large="b != -1 ? a / b : ...",
    wider="int64_t",
    lanes="sg.get_local_linear_range()",
    lane="sg.get_local_linear_id()",
    any_size="sg.get_max_local_range()",
    sub_group_size="[[sycl::reqd_sub_group_size({size})]]",
    work_group_size=lambda size: f"[[sycl::reqd_work_group_size({', '.join(map(str, size))})]]",
    aspect=lambda name: f"sycl::aspect::{name}",
    types=_cpp_types,
    nd_range=lambda size: f"sycl::nd_range<{len(size)}>({_cpp_range(size)}, local)",
    attribute="the kernel's attributes",
    local="sycl::local_accessor",
    private="private arrays",
    pitched=lambda name, shape: f"sycl::local_accessor<..., {len(shape)}> {name}({{{', '.join(shape)}}}, h)",
    spread="i + i / {banks}",
    shared_copy=(
        "for (k = it.get_local_linear_id(); k < n; k += the work-items of the group), the word k, then a barrier"
    ),
    group_reduce="sycl::reduce_over_group",
    sub_group_reduce="sycl::reduce_over_group of it.get_sub_group()",
    written_out="#pragma unroll before it",
    vectors="as a sycl::vec<..., {count}>",
    contiguous="it.get_global_id of the last dimension run along them",
)

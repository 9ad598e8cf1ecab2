"""Foreign: what a kernel writes instead of a variable or function of SYCL, OpenCL or CUDA."""

import re
from collections.abc import Mapping, Sequence

from xeemu.language.spelling import ATOMIC, SUB_GROUP, WORK_GROUP, names_of, plain_name
from xeemu.language.subgroup import SubGroup
from xeemu.language.workgroup import WorkGroup

ATOMIC_NAMES = ("add", "and_", "compare_exchange", "exchange", "load", "max", "min", "or_", "store", "sub", "xor")
"""What an element of a memory has."""


_OF_SUB_GROUP = re.compile(
    r"^(get_)?(max_)?(intel_)?(sub_group|num_sub_groups)|^_*(shfl|ballot|any_sync|all_sync)|warp"
)
_OF_MEMORY = re.compile(r"^_*(atom|atomic)_?(?=[a-zA-Z])")
_OPERATION = re.compile(
    r"^(non_uniform_|clustered_)?(reduce|scan_inclusive|scan_exclusive)_(add|mul|min|max|and|or|xor)$"
)
_ARGUMENTS: Mapping[str, str] = {
    "barrier": "(tile)",
    "fence": "(tile)",
    "local": "(shape, dtype)",
    "private": "(shape, dtype)",
    "broadcast": "(x, id)",
    **dict.fromkeys(("any", "all", "none"), "(x)"),
    "sub_group": "",
    "size": "",
    **dict.fromkeys(("global_id", "local_id", "group_id", "global_range", "local_range", "group_range"), "(d)"),
    **dict.fromkeys(("global_linear_id", "local_linear_id", "group_linear_id"), "()"),
    **dict.fromkeys(("reduce", "inclusive_scan", "exclusive_scan"), "(x, op)"),
}
_OF_LANES: Mapping[str, str] = {
    **{name: _ARGUMENTS[name] for name in ("barrier", "size", "reduce", "inclusive_scan", "exclusive_scan")},
    **dict.fromkeys(("local_id", "group_id", "local_range"), "()"),
    **dict.fromkeys(("load", "store"), "(memory, base)"),
    **dict.fromkeys(("any", "all", "none", "ballot"), "(x)"),
    "select": "(x, lane)",
    "broadcast": "(x, lane)",
    "permute_xor": "(x, mask)",
    **dict.fromkeys(("shift_left", "shift_right", "rotate"), "(x, delta)"),
}
_FIRST = "what its first parameter has, such as wg.global_id(d)"
_FENCE, _BARRIER = "tile = wg.fence(tile)", "tile = wg.barrier(tile)"
_THINGS: Mapping[str, str] = {
    **dict.fromkeys(("item", "nd_item", "sycl", "cuda", "cl", "tl", "numba"), _FIRST),
    **dict.fromkeys(("cooperative_groups", "this_thread_block", "tiled_partition"), "wg, and wg.sub_group"),
    **dict.fromkeys(("__shared__", "__local", "local_accessor"), "tile = wg.local(shape, dtype)"),
    **dict.fromkeys(("__global__", "__kernel", "__device__"), "@xe.kernel above a function def kernel(wg, *arrays)"),
    **dict.fromkeys(("handler", "queue", "parallel_for"), "nothing: xe.launch(kernel, nd_range) launches it"),
    **dict.fromkeys(("accessor", "buffer", "get_multi_ptr", "__ldg"), "x[i] and x.at[i].set(value) of its parameter x"),
    **dict.fromkeys(("read_mem_fence", "write_mem_fence"), _FENCE),
    **dict.fromkeys(("CLK_LOCAL_MEM_FENCE", "CLK_GLOBAL_MEM_FENCE"), f"the memories that are ordered, {_BARRIER}"),
    "async_work_group_copy": f"tile = tile.at[wg.local_id()].set(x[wg.global_id()]), then {_BARRIER}",
    "wait_group_events": _BARRIER,
    "atomic_ref": "x = x.atomic[i].add(value)",
    "chunked_partition": "wg.sub_group.reduce(x, op, chunk=8)",
    "clamp": "jnp.clip(x, low, high)",
    "get_enqueued_local_size": "wg.local_range(d)",
    "get_global_offset": "wg.global_id(d) + offset, for ids begin at 0",
    "get_num_sub_groups": "-(-wg.size // wg.sub_group.size)",
    "get_work_dim": "a static parameter, a keyword-only one of the kernel",
    "group_ballot": "wg.sub_group.ballot(x)",
    "joint_inclusive_scan": "wg.inclusive_scan(x, op)",
    "joint_exclusive_scan": "wg.exclusive_scan(x, op)",
    "joint_reduce": "wg.reduce(x, op)",
    "leader": "wg.local_linear_id() == 0",
    "mad": "x * y + z",
    "printf": "jax.debug.print('{}', x)",
    "sub_group": "wg.sub_group",
    "sub_group_clustered_rotate": "wg.sub_group.rotate(x, delta, chunk=8)",
    "__activemask": "wg.sub_group.ballot(True)",
    "__syncthreads_count": "wg.reduce(x, 'add')",
    **dict.fromkeys(("__clz", "clz"), "jax.lax.clz(x)"),
    **dict.fromkeys(("__popc", "popcount"), "jax.lax.population_count(x)"),
    **dict.fromkeys(("rsqrt", "rsqrtf"), "jax.lax.rsqrt(x)"),
}
_VECTOR = re.compile(r"^v(load|store)_?(?:half)?(2|3|4|8|16)$")
_MATH = re.compile(r"^_*(?:native_|half_)?(sqrt|cbrt|exp2?|expm1|log2|log10|log1p|log|(?:sin|cos|tan)h?|floor|ceil)f?$")


def written(name: str) -> str | None:
    """What a kernel writes instead of a name of SYCL, OpenCL or CUDA; None if it is none of theirs."""
    if name in _THINGS:
        return _THINGS[name]
    if found := _VECTOR.match(name):
        elements = f"[{found[2]} * i[:, None] + jnp.arange({found[2]})]"
        return f"x{elements}" if found[1] == "load" else f"x = x.at{elements}.set(value)"
    if found := _MATH.match(name):
        return f"jnp.{found[1]}(x)"
    name = name.removesuffix("_explicit")
    plain = re.sub(r"^(intel_|atom_|max_|sub_group_)+", "", plain_name(re.sub(r"^_*(intel_)?", "", name)))
    if (
        _OF_MEMORY.match(name)
        and (plain := plain.removeprefix("fetch_"))
        and (operation := ATOMIC.get(plain) or _of(ATOMIC_NAMES, plain))
    ):
        return _atomic(operation)
    if found := _OPERATION.match(plain):
        kind = {"reduce": "reduce"}.get(found[2]) or "_".join(reversed(found[2].split("_")))
        chunk = ", chunk=8" if found[1] == "clustered_" else ""
        return f"{'wg.sub_group' if 'sub_group' in name else 'wg'}.{kind}(x, {found[3]!r}{chunk})"
    if _OF_SUB_GROUP.search(name):
        plain = {"id": "group_id"}.get(plain, plain)
        return _call("wg.sub_group", SUB_GROUP.get(plain) or _of(names_of(SubGroup), plain))
    return _call("wg", WORK_GROUP.get(plain) or _of(names_of(WorkGroup), plain))


def _atomic(operation: str) -> str:
    """An atomic operation as a kernel writes it; with the old value, too, where it has a form of its own for that."""
    if operation == "load":
        return "x.atomic[i].load()"
    if operation in ("exchange", "compare_exchange"):
        return f"old, x = x.atomic[i].{operation}({'value' if operation == 'exchange' else 'expected, desired'})"
    plain = f"x = x.atomic[i].{operation}(value)"
    return plain if operation == "store" else f"{plain}, or old, x = x.atomic[i].fetch_{operation.strip('_')}(value)"


def _of(names: Sequence[str], plain: str) -> str | None:
    return plain if plain in names else None


def _call(owner: str, method: str | None) -> str | None:
    """A call of a method as a kernel writes it; None of none."""
    if method is None:
        return None
    last = method.rpartition(".")[2]
    if owner == "wg.sub_group" or "." in method:
        arguments = _OF_LANES.get(last, "(x, ...)").replace("wg.", "wg.sub_group.")
    else:
        arguments = _ARGUMENTS.get(last, "(x, ...)")
    result = "tile = " if last in ("barrier", "fence") else ""
    return f"{result}{owner}.{method}{arguments}"

"""Spelling: the name that was meant by one which the language does not have, as SYCL, OpenCL, CUDA or NumPy have it."""

import difflib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from xeemu.errors import NoSuchNameError, did_you_mean
from xeemu.language import source

WORK_GROUP: Mapping[str, str] = {
    "all_of_group": "all",
    "any_of_group": "any",
    "atomic_fence": "fence",
    "block_dim": "local_range",
    "block_id": "group_id",
    "block_idx": "group_id",
    "exclusive_scan_over_group": "exclusive_scan",
    "global_size": "global_range",
    "grid_dim": "group_range",
    "group": "group_id",
    "group_barrier": "barrier",
    "group_broadcast": "broadcast",
    "inclusive_scan_over_group": "inclusive_scan",
    "lane_id": "sub_group.local_id",
    "local_accessor": "local",
    "local_size": "local_range",
    "mem_fence": "fence",
    "none_of_group": "none",
    "num_groups": "group_range",
    "permute_group_by_xor": "sub_group.permute_xor",
    "reduce_over_group": "reduce",
    "scan": "inclusive_scan",
    "scratch": "private",
    "select_from_group": "sub_group.select",
    "shared": "local",
    "shared_memory": "local",
    "shift_group_left": "sub_group.shift_left",
    "shift_group_right": "sub_group.shift_right",
    "shuffle": "sub_group.select",
    "slm": "local",
    "sync": "barrier",
    "syncthreads": "barrier",
    "syncwarp": "sub_group.barrier",
    "thread_id": "local_id",
    "thread_idx": "local_id",
    "threadfence": "fence",
    "warp": "sub_group",
    "warp_size": "sub_group.size",
    "work_group_size": "size",
    "cumsum": "inclusive_scan",
    "gid": "global_id",
    "global_linear_range": "global_range",
    "id": "global_id",
    "lid": "local_id",
    "linear_id": "local_linear_id",
    "local_mem": "local",
    "max": "reduce",
    "min": "reduce",
    "program_id": "group_id",
    "num_programs": "group_range",
    "scan_exclusive": "exclusive_scan",
    "scan_inclusive": "inclusive_scan",
    "shape": "local_range",
    "static_shared_memory": "local",
    "sum": "reduce",
    "syncthreads_and": "all",
    "syncthreads_or": "any",
    "threadfence_block": "fence",
    "work_item_fence": "fence",
}
SUB_GROUP: Mapping[str, str] = {
    "all_of_group": "all",
    "any_of_group": "any",
    "block_load": "load",
    "block_read": "load",
    "block_store": "store",
    "block_write": "store",
    "chunked_partition": "reduce",
    "clustered_rotate": "rotate",
    "exclusive_scan_over_group": "exclusive_scan",
    "group_barrier": "barrier",
    "group_broadcast": "broadcast",
    "inclusive_scan_over_group": "inclusive_scan",
    "lane": "local_id",
    "lane_id": "local_id",
    "local_linear_id": "local_id",
    "max_local_range": "size",
    "none_of_group": "none",
    "permute": "permute_xor",
    "permute_group_by_xor": "permute_xor",
    "reduce_over_group": "reduce",
    "roll": "rotate",
    "scan": "inclusive_scan",
    "select_from_group": "select",
    "shfl": "select",
    "shfl_down": "shift_left",
    "shfl_up": "shift_right",
    "shfl_xor": "permute_xor",
    "shift_group_left": "shift_left",
    "shift_group_right": "shift_right",
    "shuffle": "select",
    "shuffle_down": "shift_left",
    "shuffle_up": "shift_right",
    "shuffle_xor": "permute_xor",
    "sync": "barrier",
    "syncwarp": "barrier",
    "warp_size": "size",
    "cumsum": "inclusive_scan",
    "max": "reduce",
    "max_size": "size",
    "min": "reduce",
    "scan_exclusive": "exclusive_scan",
    "scan_inclusive": "inclusive_scan",
    "sum": "reduce",
    "vote_any": "any",
    "vote_all": "all",
}
ATOMIC: Mapping[str, str] = {
    "and": "and_",
    "cas": "compare_exchange",
    "cmpxchg": "compare_exchange",
    "compare_and_exchange": "compare_exchange",
    "compare_and_swap": "compare_exchange",
    "compare_exchange_strong": "compare_exchange",
    "compare_exchange_weak": "compare_exchange",
    "dec": "sub",
    "exch": "exchange",
    "fetch_dec": "fetch_sub",
    "fetch_inc": "fetch_add",
    "get": "load",
    "inc": "add",
    "increment": "add",
    "or": "or_",
    "read": "load",
    "set": "store",
    "swap": "exchange",
    "write": "store",
    "sum": "add",
    "init": "store",
    "xchg": "exchange",
}
MEMORY: Mapping[str, str] = {
    "get": "load",
    "read": "load",
    "set": "at[i].set",
    "store": "at[i].set",
    "write": "at[i].set",
    "update": "at[i].set",
    **{op: f"atomic[i].{op}" for op in ("add", "sub", "and_", "or_", "xor", "exchange", "compare_exchange")},
    **{f"fetch_{op}": f"atomic[i].fetch_{op}" for op in ("add", "sub", "min", "max", "and", "or", "xor")},
}
OPERATION: Mapping[str, str] = {
    **dict.fromkeys(("plus", "sum"), "add"),
    **dict.fromkeys(("multiplies", "multiply", "prod", "product"), "mul"),
    **dict.fromkeys(("minimum", "fmin"), "min"),
    **dict.fromkeys(("maximum", "fmax"), "max"),
    **{f"{kind}_{op}": op for kind in ("bit", "bitwise", "logical") for op in ("and", "or", "xor")},
    **{f"{op}_": op for op in ("and", "or")},
}
SCOPE: Mapping[str, str] = {
    **dict.fromkeys(("block", "cta", "threadblock"), "work_group"),
    **dict.fromkeys(("all_svm_devices", "all_devices"), "system"),
    **dict.fromkeys(("gpu", "kernel"), "device"),
    **dict.fromkeys(("warp", "simd"), "sub_group"),
}
"""What other languages call something, in snake case and without `get_` or `atomic_` before it, by what it is here."""


def no_such_name(
    owner: str, name: str, names: Sequence[str], others: Mapping[str, str], advice: str = ""
) -> AttributeError:
    """The error for a name that something of a kernel does not have, with the one that may be meant.

    A plain `AttributeError` if Python or JAX itself asks, as `copy` does.

    Args:
      owner: what messages call the thing.
      name: what it was asked for.
      names: what it has.
      others: of the tables above.
      advice: what to write where no other name is meant; by default the names that there are.
    """
    if _is_pythons(name):
        return AttributeError(f"{owner} has no attribute {name!r}")
    meant = others.get(name) or others.get(plain_name(name)) or next(iter(_nearest(plain_name(name), names)), None)
    hint = f" (did you mean {meant!r}?)" if meant else ""
    listed = "" if hint else f"; {advice or 'it has ' + ', '.join(names)}"
    return NoSuchNameError(f"{owner} has no {name!r}{hint}{listed}\n  at {source.of_caller()}")


def meant(given: Any, names: Sequence[str], others: Mapping[str, str]) -> str:
    """The part of a message that suggests one of some names for what was given, a name or a function; or nothing.

    Args:
      given: the argument.
      names: those that there are.
      others: of the tables above.
    """
    name = plain_name(given if isinstance(given, str) else getattr(given, "__name__", ""))
    return f" (did you mean {others[name]!r}?)" if name in others else did_you_mean(name, names)


def names_of(cls: type) -> list[str]:
    """The public names of a class."""
    return [name for name in dir(cls) if not name.startswith(("_", "tree_"))]


def _is_pythons(name: str) -> bool:
    return name.startswith("_") and (name.endswith("__") or not name.startswith("__"))


def _nearest(name: str, names: Sequence[str]) -> list[str]:
    """The name of which one is a misspelling, with a letter or two between, or that it begins with, as `reduce_sum`."""
    begins = sorted((known for known in names if name.startswith(f"{known}_")), key=len)
    return difflib.get_close_matches(name, names, n=1, cutoff=0.8) or begins[-1:]


def plain_name(name: str) -> str:
    """A name in snake case, without what other languages put around it."""
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")
    return re.sub(r"^(get_|atomic_|work_group_|sub_group_)+|_sync$", "", snake)

"""Merging: what several threads or devices have made of a memory, each of a copy of it, put together."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import jax
import jax.numpy as jnp

from xeemu.emission.bits import bits, of_bits
from xeemu.ir import ops
from xeemu.knowledge import conflicts
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.budget import Budget

Update = Literal["add", "min", "max", "and", "or", "xor"]
Combination = Literal["stores"] | Update
"""`"stores"`: each has changed elements of its own; or the atomic operation by which all have updated the memory."""

FOLDED: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor,
}
_CHOSEN: Mapping[str, Callable[[Any, Any], Any]] = {"min": jnp.minimum, "max": jnp.maximum}


def update(operation: MemoryOperation) -> Update | None:
    """What an operation does to a memory, if it does not matter in which order such operations do it; or None."""
    if operation.name not in ops.COMBINING:
        return None
    return "add" if operation.name == "sub" else operation.name  # type: ignore[return-value]


def only_update(used: Sequence[MemoryOperation]) -> Update | None:
    """What all operations on a memory do to it, if that is the same and none of them tells what was there; or None."""
    if any(operation.fetches for operation in used):
        return None
    names = {update(operation) for operation in used}
    return names.pop() if len(names) == 1 else None


def keep_apart(used: Sequence[MemoryOperation], tree: AccessTree) -> bool:
    """True if no two work-groups access one element by these operations, unless both only read it."""
    pairs = itertools.combinations_with_replacement(used, 2)
    with Budget().portion():
        return conflicts.all_keep_to_groups(used, tree) or all(conflicts.keeps_to_groups(pair, tree) for pair in pairs)


def merged(combination: Combination, before: jax.Array, after: Sequence[jax.Array]) -> jax.Array:
    """A memory that several have written.

    Args:
      combination: how.
      before: what was in it, and in the copy of each.
      after: what each has made of that.
    """
    if combination in _CHOSEN:
        return functools.reduce(_CHOSEN[combination], after)
    if combination == "stores":
        return of_bits(merged("add", bits(before), [bits(own) for own in after]), before)
    if combination == "add":
        return functools.reduce(jnp.add, (own - before for own in after), before)
    changes = [own ^ before for own in after] if combination == "xor" else after
    return functools.reduce(FOLDED[combination], changes, before)

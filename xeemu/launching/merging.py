"""Merging: what several have made of one memory, each of a copy of it, put together."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import jax
import jax.numpy as jnp

from xeemu.knowledge.schedule import Operation

Update = Literal["add", "min", "max", "and", "or", "xor"]

_SUMS = frozenset({"add", "sub"})
FOLDED: Mapping[str, Callable[[Any, Any], Any]] = {
    "and": jnp.bitwise_and,
    "or": jnp.bitwise_or,
    "xor": jnp.bitwise_xor,
}
_CHOSEN: Mapping[str, Callable[[Any, Any], Any]] = {"min": jnp.minimum, "max": jnp.maximum}


def update(operation: Operation) -> Update | None:
    """What an operation does to a memory, if it does not matter in which order such operations do it; or None."""
    name = "add" if operation.name in _SUMS else operation.name
    return name if name in get_args(Update) else None  # type: ignore[return-value]


def only_update(used: Sequence[Operation]) -> Update | None:
    """What all operations on a memory do to it, if that is the same and none of them tells what was there; or None."""
    if any(operation.fetches for operation in used):
        return None
    names = {update(operation) for operation in used}
    return names.pop() if len(names) == 1 else None


def merged(rule: Update, before: jax.Array, after: Sequence[jax.Array]) -> jax.Array:
    """A memory that all have updated.

    Args:
      rule: how.
      before: what was in it.
      after: what each has made of that.
    """
    if rule in _CHOSEN:
        return functools.reduce(_CHOSEN[rule], after)
    if rule == "add":
        return functools.reduce(jnp.add, (own - before for own in after), before)
    changes = [own ^ before for own in after] if rule == "xor" else after
    return functools.reduce(FOLDED[rule], changes, before)

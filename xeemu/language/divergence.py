"""Divergence: which work-items are active where a kernel is traced.

A kernel is written for a whole work-group. Inside divergent control flow only some of its work-items execute what is
being traced: memory operations, barriers and group algorithms ask here for whom they are. The mask is a dynamic scope
of the trace, and part of the keys by which JAX caches traces: a function that is traced under two masks is traced twice.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.language import primitives


class _Scope:
    """Names a mask in JAX's keys, which have to be hashable and may outlive the trace.

    Attributes:
      mask: the active work-items; None once the scope has been left.
    """

    def __init__(self, mask: jax.Array):
        self.mask: jax.Array | None = mask


_scope = jax.make_user_context(None)


def active() -> jax.Array | None:
    """Mask of the work-items that execute what is being traced; None for all of them.

    A bool array of the work-group's shape, or a scalar where all that was said is one for the whole group.
    """
    scope: _Scope | None = _scope.value
    return None if scope is None else scope.mask


@contextlib.contextmanager
def within(mask: Any) -> Iterator[None]:
    """What is traced inside is executed by the work-items of `mask` only, among those that were active already.

    Args:
      mask: a bool array of the work-group's shape, or a scalar.
    """
    scope = _Scope(joined(mask))
    try:
        with _scope(scope):
            yield
    finally:
        # The keys of JAX's caches keep the scope, and shall not keep what was traced.
        scope.mask = None


@contextlib.contextmanager
def everybody() -> Iterator[None]:
    """What is traced inside is executed by all work-items, as if outside divergent control flow."""
    with _scope(None):
        yield


def joined(mask: Any) -> jax.Array:
    """The work-items of `mask` that are active."""
    mine, before = jnp.asarray(mask), active()
    if before is None:
        return mine
    if mine.ndim and not before.ndim:
        before = lax.broadcast(before, mine.shape)
    elif before.ndim and not mine.ndim:
        mine = lax.broadcast(mine, before.shape)
    return lax.bitwise_and(before, mine)


def some(mask: Any) -> jax.Array:
    """Whether some work-item of the group is in a mask, a bool scalar.

    It steers loops and branches and is no operation of the kernel: it costs nothing and nobody waits for anybody.
    """
    return uniform("some", jnp.asarray(mask))


def most(numbers: Any) -> jax.Array:
    """The greatest of the work-items' integers, a scalar; as `some` it is no operation of the kernel."""
    return uniform("most", jnp.asarray(numbers))


def uniform(kind: str, x: jax.Array, *mask: jax.Array) -> jax.Array:
    """What a work-group has alike of its work-items' values, see `primitives.uniform_p`; a scalar is that already."""
    return primitives.uniform_p.bind(x, *mask, kind=kind)[0] if x.ndim else x

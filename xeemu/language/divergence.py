"""Divergence: which work-items are active where a kernel is traced.

A kernel is written for a whole work-group. Inside divergent control flow only some of its work-items execute what is
being traced: memory operations, barriers and group algorithms ask here for whom they are. The mask is a dynamic scope
of the trace, and part of the keys by which JAX caches traces: a function under two masks is traced twice.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
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


class within:
    """A context: what is traced inside is executed by the work-items of `mask` only, of those that were active.

    Args:
      mask: a bool array of the work-group's shape, or a scalar.
    """

    def __init__(self, mask: Any):
        self._inside = only(joined(mask))

    def __enter__(self) -> None:
        self._inside.__enter__()

    def __exit__(self, kind: Any, *error: Any) -> None:
        self._inside.__exit__(kind, *error)
        if kind is None:
            resume()


def resume() -> None:
    """What is traced from here on is executed by those that are active, where operations of others came before."""
    mask = active()
    primitives.region_p.bind(np.bool_(True) if mask is None else mask)


class only:
    """Executes by a mask, of work-items that were active already, what is traced up to the end of the body."""

    def __init__(self, mask: jax.Array):
        self._scope = _Scope(mask)
        self._context = _scope(self._scope)

    def __enter__(self) -> None:
        self._context.__enter__()
        primitives.region_p.bind(self._scope.mask)

    def __exit__(self, *error: Any) -> None:
        self._context.__exit__(*error)
        # The keys of JAX's caches keep the scope, and shall not keep what was traced.
        self._scope.mask = None


def nobody() -> None:
    """What is traced from here on in the body is executed by none: what a group does instead of what it skips."""
    primitives.region_p.bind(np.bool_(False))


def merged(mask: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """What work-items have where those of a mask have got new values; no operation of the kernel, they kept the others.

    Args:
      mask: of the work-group's shape.
      new, old: of one shape that begins with it.
    """
    with jax.named_scope(MERGE):
        whole = lax.broadcast_in_dim(mask, new.shape, range(mask.ndim)) if new.ndim > mask.ndim else mask
        return lax.select(whole, new, old)


def before(turn: jax.Array, count: jax.Array) -> jax.Array:
    """True if there is another iteration of so many: the loop's own comparison, of arrays or scalars."""
    with jax.named_scope(MERGE):
        return lax.lt(lax.broadcast(turn, count.shape), count)


def following(turn: jax.Array) -> jax.Array:
    """The number of the next iteration: the loop's own step."""
    with jax.named_scope(MERGE):
        return lax.add(turn, np.ones((), turn.dtype))


def is_merge(names: Any) -> bool:
    """True if an operation in JAX's named scopes only says which work-items have got what."""
    return bool(names.stack) and any(getattr(scope, "name", None) == MERGE for scope in names.stack)


MERGE = "xe_merge"
"""The named scope of operations that only say which work-items have got what."""


def joined(mask: Any) -> jax.Array:
    """The work-items of `mask` that are active."""
    mine, before = jnp.asarray(mask), active()
    return mine if before is None else jnp.bitwise_and(before, mine)


def where(mask: jax.Array | None) -> jax.Array | None:
    """The mask of an operation, without the work-items that are not active; None if all execute it.

    Args:
      mask: its own: a scalar, or an array that begins with the work-group's axes.
    """
    before = active()
    if before is None or mask is None:
        return before if mask is None else mask
    if mask.ndim > before.ndim:
        before = lax.expand_dims(before, range(before.ndim, mask.ndim))
    return jnp.bitwise_and(before, mask)


def some(mask: Any) -> jax.Array:
    """True if some work-item of the group is in a mask, a bool scalar.

    It steers loops and branches and is no operation of the kernel: it costs nothing and nobody waits for anybody.
    """
    return uniform("some", jnp.asarray(mask))


def most(numbers: Any) -> jax.Array:
    """The greatest of the work-items' integers, a scalar; as `some` it is no operation of the kernel."""
    return uniform("most", jnp.asarray(numbers))


def uniform(kind: str, x: jax.Array, *mask: jax.Array) -> jax.Array:
    """What a work-group has alike of its work-items' values, see `ops.UNIFORM`; a scalar is that already."""
    return primitives.uniform_p.bind(x, *mask, kind=kind)[0] if x.ndim else x

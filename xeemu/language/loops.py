"""Loops that each work-item leaves when it is done: its values stay as they are, and it takes no further part.

A sub-group goes on while one of its lanes does. What all work-items test alike is an ordinary loop of JAX's.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.language import divergence, operands, regions, source
from xeemu.language.regions import Traced

Shape = tuple[int, ...]
_MOST_ATTEMPTS = 8
_WHILE = "wg.while_loop(cond, body, init), with cond(carry) and body(carry)"
_FORI = "wg.fori_loop(low, high, body, init), with body(i, carry)"


def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, local_range: Shape) -> Any:
    """What is carried after the last iteration of each work-item, see `WorkGroup.while_loop`."""
    regions.check_function(cond, "the predicate of wg.while_loop", _WHILE, 1)
    regions.check_function(body, "the body of wg.while_loop", _WHILE, 1)
    leaves, tree = regions.flattened(init)
    loop = _Loop("wg.while_loop", tree, local_range)
    tested = loop.tested(cond, None, leaves)
    if not tested.leaves[0].shape:
        # What the body makes of the carry may be of each work-item, and with it the predicate.
        leaves, step = loop.settled(body, None, leaves)
        tested = loop.tested(cond, None, leaves)
        if not tested.leaves[0].shape:
            return loop.alike(lambda carried: tested.run(carried)[0], step, leaves)
    started = _active(local_range)
    live = lax.bitwise_and(started, tested.run(loop.start(leaves))[0])
    leaves, step = loop.settled(body, started, leaves)
    test = loop.tested(cond, started, leaves)

    def turn(state: tuple[jax.Array, list[jax.Array]]) -> tuple[jax.Array, list[jax.Array]]:
        running, carried = state
        after = loop.after(step, running, carried)
        (again,) = test.run([running, *after])
        return lax.bitwise_and(running, again), after

    start = (live, loop.start(leaves))
    _, last = lax.while_loop(lambda state: divergence.some(state[0]), turn, start)
    return loop.result(leaves, last)


def fori_loop(low: Any, high: Any, body: Callable[[Any, Any], Any], init: Any, local_range: Shape) -> Any:
    """What is carried after the last iteration of each work-item, see `WorkGroup.fori_loop`."""
    regions.check_function(body, "the body of wg.fori_loop", _FORI, 2)
    low, high = (_bound(x, local_range) for x in _alike(low, high))
    leaves, tree = regions.flattened(init)
    loop = _Loop("wg.fori_loop", tree, local_range)
    number = jax.ShapeDtypeStruct((), low.dtype)
    if not (low.ndim or high.ndim):
        leaves, step = loop.settled(body, None, leaves, number)
        after = lax.fori_loop(low, high, lambda k, carried: loop.next(step, leaves, [k, *carried]), loop.start(leaves))
        return loop.result(leaves, after)
    is_from_zero = isinstance(low, np.ndarray) and not low
    counts = _counts(low, high, is_from_zero, local_range)
    turns = divergence.most(counts)

    def of_turn(k: jax.Array, carry: Any) -> Any:
        return body(k if is_from_zero else jnp.add(low, k), carry)

    leaves, step = loop.settled(of_turn, _active(local_range), leaves, number)

    def turn(state: tuple[jax.Array, list[jax.Array]]) -> tuple[jax.Array, list[jax.Array]]:
        k, carried = state
        after = loop.after(step, divergence.before(k, counts), carried, k)
        return divergence.following(k), after

    start = (jnp.zeros((), low.dtype), loop.start(leaves))
    _, last = lax.while_loop(lambda state: divergence.before(state[0], turns), turn, start)
    return loop.result(leaves, last)


def _counts(low: Any, high: Any, is_from_zero: bool, local_range: Shape) -> jax.Array:
    """The iterations of each work-item, none of those that are not active."""
    none = np.zeros(local_range, low.dtype)
    if is_from_zero:
        counts = lax.max(high, none) if jnp.issubdtype(low.dtype, jnp.signedinteger) else high
    else:
        low, high = (jnp.broadcast_to(bound, local_range) for bound in (low, high))
        counts = lax.select(lax.lt(low, high), lax.sub(high, low), none)
    return counts if divergence.active() is None else lax.select(_active(local_range), counts, none)


def _active(local_range: Shape) -> jax.Array:
    """Mask of the active work-items, of the work-group's shape."""
    mask = divergence.active()
    return jnp.ones(local_range, bool) if mask is None else jnp.broadcast_to(mask, local_range)


class _Loop:
    """A loop whose carry each work-item keeps when it is done.

    Attributes:
      name: what messages call it.
      tree: the structure of the carry.
      local_range: the work-group's shape.
    """

    def __init__(self, name: str, tree: Any, local_range: Shape):
        self.name, self.tree, self.local_range = name, tree, local_range

    def tested(self, cond: Callable[[Any], Any], mask: Any, leaves: Sequence[Any]) -> Traced:
        """The predicate, which gives one bool or one for each work-item."""
        flat, tree = jax.tree.flatten((jax.tree.unflatten(self.tree, leaves),), is_leaf=regions.is_memory)
        return regions.trace(lambda carry: _predicate(cond(carry), self.local_range), mask, tree, flat)

    def settled(self, body: Callable[..., Any], mask: Any, leaves: list[Any], *before: Any) -> tuple[list[Any], Traced]:
        """The leaves that the carry begins with, in the shapes and types that the body keeps; and the body.

        Args:
          body: of the arguments `before` and the carry.
          mask: like that of the work-items that execute it; None if all that are active do.
          leaves: of the carry.
          before: shapes of what it is given before the carry.
        """
        for _ in range(_MOST_ATTEMPTS):
            arguments = (*before, jax.tree.unflatten(self.tree, leaves))
            flat, tree = jax.tree.flatten(arguments, is_leaf=regions.is_memory)
            step = regions.trace(body, mask, tree, flat)
            wanted = self._wanted(leaves, step, len(before), mask is None)
            if all(w is leaf for w, leaf in zip(wanted, leaves, strict=True)):
                return leaves, step
            leaves = wanted
        raise source.kernel_error(f"the values that {self.name} carries have another type after each iteration")

    def _wanted(self, leaves: list[Any], step: Traced, before: int, together: bool) -> list[Any]:
        """The leaves in the shapes and types that the body needs them in."""
        if step.tree != self.tree:
            raise source.kernel_error(
                f"the body of {self.name} returns {_listed(step.tree, step.leaves)} where it was given "
                f"{_listed(self.tree, leaves)}; it returns the carry, each part in its place, nothing added or left out"
            )
        return [self._leaf(k, leaf, step, before, together) for k, leaf in enumerate(leaves)]

    def _leaf(self, k: int, leaf: Any, step: Traced, before: int, together: bool) -> Any:
        after, what = step.leaves[k], f"part {k} of what {self.name} carries"
        if regions.is_memory(leaf) or regions.is_memory(after):
            self._check_memory(k, leaf, step, before)
            return leaf
        if step.origin(k) == before + k:
            return leaf
        dtype = regions.common_type(leaf, after)
        if dtype is None:
            raise source.kernel_error(
                f"{what} is {leaf.dtype} before and {after.dtype} after an iteration; what is carried keeps its type: "
                f"start with value.astype(jnp.{after.dtype}), or let the body give value.astype(jnp.{leaf.dtype})"
            )
        shape = leaf.shape
        if not (together and leaf.shape == after.shape):
            shape = regions.merged_shape([leaf.shape, after.shape], self.local_range, what)
        if leaf.shape == shape and leaf.dtype == dtype and not leaf.weak_type:
            return leaf
        return lax.convert_element_type(regions.spread(leaf, shape, dtype), dtype)

    def _check_memory(self, k: int, leaf: Any, step: Traced, before: int) -> None:
        after = step.leaves[k]
        if not (regions.is_memory(leaf) and regions.is_memory(after)):
            raise source.kernel_error(
                f"part {k} of what {self.name} carries is {regions.described(leaf)} before and "
                f"{regions.described(after)} after an iteration; a memory keeps its place: return the "
                "memory itself, as "
                ".at[i].set(x) gives it"
            )
        if step.origin(k) != before + k:
            raise source.kernel_error(
                f"part {k} of what {self.name} carries is memory {leaf.name}, but the body returns "
                "another memory there, "
                f"{after.name}; a memory keeps its place: return the memories in the order of the carry"
            )

    def start(self, leaves: Sequence[Any]) -> list[jax.Array]:
        return [regions.contents(leaf) for leaf in leaves]

    def alike(self, goes_on: Callable[[Any], jax.Array], step: Traced, leaves: Sequence[Any]) -> Any:
        """What is carried after the last iteration of a loop that all active work-items leave together."""
        last = lax.while_loop(goes_on, lambda carried: self.next(step, leaves, carried), self.start(leaves))
        return self.result(leaves, last)

    def next(self, step: Traced, leaves: Sequence[Any], given: Sequence[jax.Array]) -> list[jax.Array]:
        """What is carried after an iteration that all active work-items take part in."""
        return [
            array if regions.is_memory(leaf) else jnp.broadcast_to(array.astype(leaf.dtype), leaf.shape)
            for array, leaf in zip(step.run(given), leaves, strict=True)
        ]

    def after(self, step: Traced, live: jax.Array, carried: Sequence[jax.Array], *before: jax.Array) -> list[jax.Array]:
        """What is carried after an iteration that the work-items of a mask take part in."""
        results = step.run([live, *before, *carried])
        return [
            new if regions.is_memory(leaf) or step.origin(k) == len(before) + k else _kept(live, new, old)
            for k, (leaf, new, old) in enumerate(zip(step.leaves, results, carried, strict=True))
        ]

    def result(self, leaves: Sequence[Any], arrays: Sequence[jax.Array]) -> Any:
        given = [regions.holding(leaf, array) for leaf, array in zip(leaves, arrays, strict=True)]
        return jax.tree.unflatten(self.tree, given)


def _kept(live: jax.Array, new: jax.Array, old: jax.Array) -> jax.Array:
    """The new value of the work-items of a mask, the old one of the others."""
    return divergence.merged(live, regions.spread(new, old.shape, old.dtype), old)


def _listed(tree: Any, leaves: Sequence[Any]) -> str:
    """The structure of a carry with its parts."""
    return str(jax.tree.unflatten(tree, [_Shown(regions.described(leaf)) for leaf in leaves]))


class _Shown(str):
    """A part of a carry, shown without quotes."""

    def __repr__(self) -> str:
        return str(self)


# --- Predicates and bounds ---


def _predicate(value: Any, local_range: Shape) -> jax.Array:
    array = operands.array(value, "the predicate of wg.while_loop")
    if array.dtype != bool:
        raise source.kernel_error(
            f"the predicate of wg.while_loop is {array.dtype}{list(array.shape)}; a predicate is bool: write a "
            "comparison, such as x != 0"
        )
    if array.shape not in ((), local_range):
        raise source.kernel_error(
            f"the predicate of wg.while_loop has shape {array.shape}; give one bool for each work-item, shape "
            f"{local_range}, or one for all"
        )
    return array


def _alike(low: Any, high: Any) -> tuple[Any, Any]:
    """The bounds of a loop in one integer type; a Python int takes that of the other."""
    plain = [isinstance(x, int) and not isinstance(x, bool) for x in (low, high)]
    given = [x if p else operands.array(x, "a bound of wg.fori_loop") for x, p in zip((low, high), plain, strict=True)]
    for array in (x for x, p in zip(given, plain, strict=True) if not p):
        if not jnp.issubdtype(array.dtype, jnp.integer):
            raise source.kernel_error(
                f"a bound of wg.fori_loop is {array.dtype}{list(array.shape)}; a bound is an integer: write "
                ".astype(jnp.int32)"
            )
    dtype = np.dtype(np.int32) if all(plain) else jnp.result_type(*given)
    first, second = (
        np.asarray(x, dtype) if p else lax.convert_element_type(x, dtype) for x, p in zip(given, plain, strict=True)
    )
    return first, second


def _bound(array: Any, local_range: Shape) -> Any:
    if array.shape not in ((), local_range):
        raise source.kernel_error(
            f"a bound of wg.fori_loop has shape {array.shape}; give one for each work-item, shape "
            f"{local_range}, or one "
            "for all"
        )
    return array

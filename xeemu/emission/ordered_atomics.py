"""Ordered atomics: atomic operations in a serial order: what each work-item sees, and what stays in memory.

The order is that of the work-items, groups first. It is found by sorting the operations by address, so that those on
one address form a segment in which each sees the results of those before it.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.language.memory import poison

Combine = Callable[[jax.Array, jax.Array], jax.Array]
COMBINE: dict[str, Combine] = {
    "add": lax.add,
    "sub": lax.sub,
    "min": lax.min,
    "max": lax.max,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
}


def apply(data: jax.Array, op: str, addresses: jax.Array, values: list[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """Applies atomic operations one after the other.

    Args:
      data: `[M]` memory.
      op: `"add"`, `"sub"`, `"min"`, `"max"`, `"and"`, `"or"`, `"xor"`, `"exchange"` or `"compare_exchange"`.
      addresses: `[N]` in the order of the work-items; those that take no part have address `M`.
      values: one `[N]` operand, or for `compare_exchange` what is expected and what is desired.

    Returns:
      `[N]` old values, the poison value for those that take no part; and the memory after all of them. For
      `compare_exchange`, on each address those that mismatch come first, then the others in order, of which the first
      with a differing value wins.
    """
    count = addresses.shape[0]
    numbers = jnp.arange(count, dtype=np.int32)
    ordered, order = lax.sort((addresses, numbers), num_keys=1, is_stable=True)
    first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    last = jnp.concatenate([first[1:], jnp.ones(1, bool)])
    initial = data.at[ordered].get(mode="fill", fill_value=poison(data.dtype), wrap_negative_indices=False)
    operands = [v[order] for v in values]
    start = lax.cummax(jnp.where(first, numbers, np.int32(0)))
    old, new = _segments(op, initial, operands, first, start, numbers)
    old = jnp.where(ordered < data.shape[0], old, poison(data.dtype))
    target = jnp.where(last, ordered, ordered.dtype.type(data.shape[0]))
    data = data.at[target].set(new, mode="drop", wrap_negative_indices=False)
    unsorted = jnp.zeros_like(old).at[order]
    return unsorted.set(old, unique_indices=True, mode="promise_in_bounds", wrap_negative_indices=False), data


def in_sequence(data: jax.Array, addresses: jax.Array, values: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Adds to memory one value after the other, so that the rounding depends on nothing but their order.

    Args:
      data: `[M]` memory.
      addresses: `[N]` in the order of the work-items; those that take no part have address `M`.
      values: `[N]`.

    Returns:
      `[N]` old values, the poison value for those that take no part; and the memory. It takes as many steps as values
      meet on one address.
    """
    numbers = jnp.arange(addresses.shape[0], dtype=np.int32)
    ordered, order = lax.sort((addresses, numbers), num_keys=1, is_stable=True)
    first = jnp.concatenate([jnp.ones(1, bool), ordered[1:] != ordered[:-1]])
    rank = numbers - lax.cummax(jnp.where(first, numbers, np.int32(0)))
    taking_part = ordered < data.shape[0]
    sorted_values = values[order]

    def step(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        number, old, memory = state
        now = taking_part & (rank == number)
        target = jnp.where(now, ordered, ordered.dtype.type(data.shape[0]))
        before = memory.at[target].get(mode="fill", fill_value=0, wrap_negative_indices=False)
        memory = memory.at[target].set(before + sorted_values, mode="drop", wrap_negative_indices=False)
        return number + 1, jnp.where(now, before, old), memory

    steps = jnp.max(jnp.where(taking_part, rank, np.int32(-1))) + 1
    start = (jnp.zeros((), np.int32), jnp.full(addresses.shape, poison(data.dtype)), data)
    _, old, data = lax.while_loop(lambda state: state[0] < steps, step, start)
    unsorted = jnp.zeros_like(old).at[order]
    return unsorted.set(old, unique_indices=True, mode="promise_in_bounds", wrap_negative_indices=False), data


def _segments(
    op: str, initial: jax.Array, operands: list[jax.Array], first: jax.Array, start: jax.Array, numbers: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Old and new values of the sorted operations; the new value of a segment's last one stays."""
    if op == "exchange":
        before = jnp.concatenate([operands[0][:1], operands[0][:-1]])
        return jnp.where(first, initial, before), operands[0]
    if op == "compare_exchange":
        return _compare_exchange(initial, operands[0], operands[1], start, numbers)
    # A difference of sums is a sum of differences, and + is associative.
    combine, x = (lax.add, -operands[0]) if op == "sub" else (COMBINE[op], operands[0])
    inclusive = _running(combine, x, first)
    before = jnp.concatenate([inclusive[:1], inclusive[:-1]])
    return jnp.where(first, initial, combine(initial, before)), combine(initial, inclusive)


def _running(combine: Combine, x: jax.Array, first: jax.Array) -> jax.Array:
    """Inclusive scan of `x` that begins anew at every `first`."""

    def step(a: tuple[jax.Array, jax.Array], b: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return a[0] | b[0], jnp.where(b[0], b[1], combine(a[1], b[1]))

    return lax.associative_scan(step, (first, x))[1]


def _compare_exchange(
    initial: jax.Array, expected: jax.Array, desired: jax.Array, start: jax.Array, numbers: jax.Array
) -> tuple[jax.Array, jax.Array]:
    matches = _bits(expected) == _bits(initial)
    changes = matches & (_bits(desired) != _bits(initial))
    # The first that changes the element, as seen by everyone behind it in the segment.
    changer = lax.cummax(jnp.where(changes, numbers, np.int32(-1)))
    earlier = jnp.concatenate([jnp.full(1, -1, np.int32), changer[:-1]])
    wins = changes & (earlier < start)
    winner = lax.cummax(jnp.where(wins, numbers, np.int32(-1)))
    before = jnp.concatenate([jnp.full(1, -1, np.int32), winner[:-1]])
    old = jnp.where(matches & (before >= start), desired[before], initial)
    return old, jnp.where(winner >= start, desired[winner], initial)


def _bits(x: jax.Array) -> jax.Array:
    """SYCL compares the representation of a float, not its value."""
    if jnp.issubdtype(x.dtype, jnp.floating):
        return lax.bitcast_convert_type(x, np.dtype(f"u{x.dtype.itemsize}"))
    return x

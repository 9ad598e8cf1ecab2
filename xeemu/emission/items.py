"""Items: what a value of the program stands for as it is emitted: a value or a memory."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.buffers import Buffer
from xeemu.emission.values import Emitted, MaskedElements
from xeemu.ir.program import Value
from xeemu.knowledge.analysis import Facts, Known
from xeemu.planning.layouts import BY_ITEM, Layout

Item = Emitted | Buffer


def as_memory(item: Item) -> Buffer:
    """An item that is a memory."""
    assert isinstance(item, Buffer)
    return item


def as_value(item: Item) -> Emitted:
    """An item that is a value."""
    assert isinstance(item, Emitted)
    return item


def constant(array: np.ndarray, known: Known) -> Emitted:
    """A value that is written in the program."""
    return Emitted(known, array.shape, array.dtype, BY_ITEM, None, jnp.asarray(array))


def scalar(array: jax.Array, known: Known) -> Emitted:
    """A value that the launch is given."""
    return _computed(array, known, array.shape, array.dtype)


def named(facts: Facts, values: Sequence[Value], arrays: Sequence[jax.Array]) -> list[Item]:
    """Values, given by arrays of their shapes."""
    return [_computed(a, facts.values[v], v.shape, v.dtype) for a, v in zip(arrays, values, strict=True)]


def laid_out(
    facts: Facts, value: Value, layout: Layout, array: jax.Array | None, parts: MaskedElements | None = None
) -> Emitted:
    """A value, given by what its layout says there is of it."""
    found = Emitted(facts.values[value], value.shape, value.dtype, layout, None, array, parts)
    return dataclasses.replace(found, base=array) if _has_own_base(found.known) else found


def _computed(array: jax.Array, known: Known, shape: tuple[int, ...], dtype: Any) -> Emitted:
    """A value given by an array; a uniform integer scalar is its own base."""
    return Emitted(known, shape, dtype, BY_ITEM, array if _has_own_base(known) else None, array)


def _has_own_base(known: Known) -> bool:
    return known.form is not None and known.form.based

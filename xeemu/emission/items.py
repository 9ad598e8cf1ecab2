"""Items: what the values of a program stand for as it is emitted, values and memories."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.emission.buffers import Buffer
from xeemu.emission.values import Emitted, Some
from xeemu.ir.program import Value
from xeemu.knowledge.analysis import Known, Plan

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
    return Emitted(known, array.shape, array.dtype, None, jnp.asarray(array))


def scalar(array: jax.Array, known: Known) -> Emitted:
    """A value that the launch is given."""
    return _computed(array, known, array.shape, array.dtype)


def named(plan: Plan, values: Sequence[Value], arrays: Sequence[jax.Array], some: Some | None = None) -> list[Item]:
    """Values, given by arrays; of a single one perhaps some elements for themselves."""
    return [_computed(a, plan.values[v], v.shape, v.dtype, some) for a, v in zip(arrays, values, strict=True)]


def _computed(array: jax.Array, known: Known, shape: tuple[int, ...], dtype: Any, some: Some | None = None) -> Emitted:
    """A value given by an array; a uniform integer scalar is its own base."""
    based = known.form is not None and known.form.based
    return Emitted(known, shape, dtype, array if based else None, array, some)

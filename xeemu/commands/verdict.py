"""Verdict: whether the outputs of a run agree with a reference."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np


@dataclasses.dataclass(frozen=True)
class Verdict:
    """How outputs compare with a reference.

    Attributes:
      agrees: true if they are as near as they should be; None if they were not compared.
      brief: a word or two, for a table.
      text: a sentence with the numbers.
    """

    agrees: bool | None
    brief: str
    text: str


def compare(outputs: Any, expected: Any, rounding: float = 0.0) -> Verdict:
    """Compares a pytree of arrays with the reference's.

    Args:
      outputs: what was computed.
      expected: what the reference gives; shapes and dtypes must be the same too.
      rounding: the largest relative difference of an element; 0 asks for equal bits.
    """
    got, structure = jax.tree.flatten(outputs)
    want, expected_structure = jax.tree.flatten(expected)
    if str(structure) != str(expected_structure):
        return _differs(f"the outputs are {structure}, the reference gives {expected_structure}")
    pairs = [(np.asarray(g), np.asarray(w)) for g, w in zip(got, want, strict=True)]
    for k, (g, w) in enumerate(pairs):
        if (g.dtype, g.shape) != (w.dtype, w.shape):
            return _differs(f"output {k} is {describe(g)}, the reference gives {describe(w)}")
    if all(np.array_equal(_bits(g), _bits(w)) for g, w in pairs):
        return Verdict(True, "bit-equal", "bit-equal to the NumPy reference")
    largest = max(float(_relative(g, w).max(initial=0.0)) for g, w in pairs)
    if largest <= rounding:
        return Verdict(
            True, f"to {largest:.0e}", f"within {largest:.2g} of the NumPy reference (allowed: {rounding:g})"
        )
    return _first_difference(pairs, rounding)


def describe(array: np.ndarray) -> str:
    """Dtype and shape, as `uint32[256]`."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


def _differs(text: str) -> Verdict:
    return Verdict(False, "DIFFERS", f"DIFFERS: {text}")


def _first_difference(pairs: Sequence[tuple[np.ndarray, np.ndarray]], rounding: float) -> Verdict:
    wrong = [_relative(g, w) > rounding if rounding else _bits(g) != _bits(w) for g, w in pairs]
    k = next(k for k, elements in enumerate(wrong) if elements.any())
    (got, expected), first = pairs[k], np.unravel_index(np.argmax(wrong[k]), wrong[k].shape)
    return _differs(
        f"{int(wrong[k].sum())} of {got.size} elements of output {k}, the first at [{', '.join(map(str, first))}]: "
        f"got {got[first]}, the reference gives {expected[first]}"
    )


def _bits(array: np.ndarray) -> np.ndarray:
    """The elements as unsigned integers, so that NaN equals NaN and 0.0 differs from -0.0."""
    return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape)


def _relative(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """|got - expected| / |expected|, 0 where the bits agree, infinite where that is no number."""
    with np.errstate(all="ignore"):
        g, w = got.astype(np.float64), expected.astype(np.float64)
        difference = np.abs(g - w) / np.abs(w)
    return np.where(_bits(got) == _bits(expected), 0.0, np.nan_to_num(difference, nan=np.inf))

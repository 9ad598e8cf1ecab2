"""Comparison: whether two arrays agree, exactly or within rounding.

Integers agree where they are equal. Floats agree where both are NaN, where they are equal, or where they differ by no
more than RELATIVE of the value or a hundredth of that of the array's greatest finite magnitude: sums in another order
and functions with other last bits stay within that, a wrong element does not. Records are compared field by field.
"""

import dataclasses

import numpy as np

RELATIVE = {"f2": 1e-2, "f4": 2e-4, "f8": 1e-9}


@dataclasses.dataclass(frozen=True)
class Difference:
    """How two arrays compare.

    Attributes:
      exact: true if all bits that count are equal.
      wrong: how many elements do not agree.
      example: the first of them, in words.
    """

    exact: bool
    wrong: int = 0
    example: str = ""


def compared(ours: np.ndarray, theirs: np.ndarray, width: int = 1) -> Difference:
    """Compares a result with the reference's bytes, read in the result's dtype.

    Args:
      width: components of an element; of 3, the padding after them does not count.
    """
    ours = np.ascontiguousarray(ours)
    if not ours.nbytes:
        return Difference(True)
    if ours.nbytes != theirs.nbytes:
        return Difference(False, 1, f"{ours.nbytes} bytes against {theirs.nbytes}")
    theirs = np.ascontiguousarray(theirs).view(np.uint8).reshape(-1).view(ours.dtype)
    ours = ours.reshape(-1)
    if width == 3:
        ours, theirs = (whole.reshape(-1, 4)[:, :3].reshape(-1) for whole in (ours, theirs))
    if ours.dtype.names is None:
        return elements(ours, theirs)
    parts = [compared_field(ours, theirs, name) for name in ours.dtype.names]
    wrong = next((p for p in parts if p.wrong), Difference(True))
    return Difference(all(p.exact for p in parts), sum(p.wrong for p in parts), wrong.example)


def compared_field(ours: np.ndarray, theirs: np.ndarray, name: str) -> Difference:
    a, b = (np.ascontiguousarray(whole[name]).reshape(-1) for whole in (ours, theirs))
    part = compared(a, b.view(np.uint8))
    return dataclasses.replace(part, example=f".{name}{part.example}") if part.wrong else part


def elements(ours: np.ndarray, theirs: np.ndarray) -> Difference:
    same = ours == theirs
    if ours.dtype.kind == "f":
        same |= np.isnan(ours) & np.isnan(theirs)
    if same.all():
        return Difference(True)
    good = same | near(ours, theirs) if ours.dtype.kind == "f" else same
    wrong = np.flatnonzero(~good)
    if not len(wrong):
        return Difference(False)
    k = wrong[0]
    return Difference(False, len(wrong), f"[{k}] is {ours[k]!s}, not {theirs[k]!s}")


def near(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    relative = RELATIVE[ours.dtype.str[1:]]
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    greatest = np.max(np.abs(b), initial=0.0, where=np.isfinite(b))
    allowed = relative * np.maximum(np.abs(np.where(finite, b, 0)), greatest / 100)
    return finite & (np.abs(np.where(finite, a, 0) - np.where(finite, b, 0)) <= allowed)

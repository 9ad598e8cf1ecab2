"""Drawing: new axes, and the checks of what is given to be drawn."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.language.source import called

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def new_axes(width: float, height: float) -> "Axes":
    """Axes of their own, in inches."""
    made: Axes = _pyplot().subplots(figsize=(width, height), layout="constrained")[1]
    return made


def new_pair(width: float, height: float) -> "Sequence[Axes]":
    """Two axes side by side."""
    pair: Sequence[Axes] = _pyplot().subplots(1, 2, figsize=(width, height), layout="constrained")[1]
    return pair


def check_kind(function: str, given: Any, kind: type | tuple[type, ...], wanted: str) -> None:
    """Refuses what a function of this room does not draw; `wanted` says what it draws."""
    if not isinstance(given, kind):
        got = "None" if given is None else called(given)
        raise KernelArgumentError(f"plot.{function} draws {wanted}, but got {got}")


def check_number(function: str, name: str, given: Any, least: int | None) -> None:
    """Refuses what is no whole number, or less than `least`."""
    if not isinstance(given, int | np.integer) or (least is not None and given < least):
        raise KernelArgumentError(
            f"plot.{function}({name}={given!r}): give a whole number" + ("" if least is None else f" from {least}")
        )


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("xeemu.plot draws with matplotlib: pip install matplotlib") from error
    return pyplot

"""Values: what a figure of a modelled device may be, by the annotation of its field, and a size of the environment."""

import dataclasses
import functools
import itertools
import math
import numbers
import re
import types
import typing
from collections.abc import Callable
from typing import Any, Literal

from xeemu.errors import KernelArgumentError

_UNITS = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3}

# What the annotation of a field says of its value: the kind of its numbers, and whether it may be unknown.
_NUMBERS: dict[Any, tuple[Any, bool]] = {
    int: (numbers.Integral, False),
    int | None: (numbers.Integral, True),
    float | None: (numbers.Real, True),
}
_SIZES: dict[Any, bool] = {tuple[int, ...]: False, tuple[int, ...] | None: True}
_FLAGS: dict[Any, tuple[bool | None, ...]] = {bool: (False, True), bool | None: (False, True, None)}


def wrong(field: dataclasses.Field[Any], value: Any) -> str | None:
    """What is wrong with a value of a field, and what to give instead; None if nothing is."""
    is_right, wanted = _rule(field)
    return None if is_right(value) else f"{field.name} is {value!r}; give {wanted}"


@functools.cache
def _rule(field: dataclasses.Field[Any]) -> tuple[Callable[[Any], bool], str]:
    """What tells the right values of a field, and what these are.

    Found once, as each what-if asks it of every figure and the hash of an annotation takes longer than its check.
    """
    annotation: Any = field.type
    if annotation in _NUMBERS:
        kind, optional = _NUMBERS[annotation]
        unknown = ", or None where it is not known" if optional else ""
        what = "a whole number" if kind is numbers.Integral else "a number"
        # local_mem_size alone may be 0: a device can be without local memory.
        least = 0 if field.name == "local_mem_size" else None
        is_figure = functools.partial(_is_figure, kind=kind, optional=optional, least=least)
        return is_figure, f"{what} greater than 0{unknown}"
    if annotation in _SIZES:
        is_ascending = functools.partial(_is_ascending, optional=_SIZES[annotation])
        return is_ascending, "a tuple of ascending whole numbers, such as (16, 32)"
    if annotation in _FLAGS:
        flags = _FLAGS[annotation]
        return (lambda value: any(value is flag for flag in flags)), f"True or False{', or None' * (None in flags)}"
    if words := _words(annotation):
        *others, last = map(repr, words)
        return words.__contains__, f"{', '.join(others)} or {last}"
    return (lambda value: True), "any"


def _words(annotation: Any) -> tuple[str | None, ...]:
    """The values of a field that is one of a few words; none of another."""
    kinds = (annotation, *typing.get_args(annotation))
    words = [word for kind in kinds if typing.get_origin(kind) is Literal for word in typing.get_args(kind)]
    return (*words, None) if words and types.NoneType in kinds else tuple(words)


def _is_figure(value: Any, kind: Any, optional: bool, least: int | None) -> bool:
    """True for a finite number greater than 0, and for the least one that is allowed beside these."""
    if value is None:
        return optional
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    return bool(0 < value < math.inf) or (least is not None and bool(value == least))


def _is_ascending(value: object, optional: bool) -> bool:
    if value is None:
        return optional
    if not isinstance(value, tuple) or not value or not all(type(item) is int for item in value):
        return False
    return value[0] > 0 and all(a < b for a, b in itertools.pairwise(value))


def size_bytes(variable: str, text: str) -> int:
    """The bytes that an environment variable gives.

    Raises:
      KernelArgumentError: it is no such size.
    """
    match = re.fullmatch(r"([0-9]+)(B|KB|MB|GB)", text)
    if match is None or int(match[1]) == 0:
        raise KernelArgumentError(
            f"the environment variable {variable} is {text!r}; write an integer greater than 0 with the unit B, KB, MB "
            f"or GB, such as {variable}=8MB, 256KB or 1024B, or unset it"
        )
    return int(match[1]) * _UNITS[match[2]]

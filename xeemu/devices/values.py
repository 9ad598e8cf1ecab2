"""Values: what a figure of a modelled device may be, by the annotation of its field, and a size of the environment."""

import dataclasses
import functools
import itertools
import math
import numbers
import re
import types
import typing
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
_FLAGS: dict[Any, bool] = {bool: False, bool | None: True}


def wrong(field: dataclasses.Field[Any], value: Any) -> str | None:
    """What is wrong with a value of a field, and what to give instead; None if nothing is."""
    annotation: Any = field.type
    if annotation in _NUMBERS and not _is_figure(value, field):
        kind, optional = _NUMBERS[annotation]
        unknown = ", or None where it is not known" if optional else ""
        what = "a whole number" if kind is numbers.Integral else "a number"
        return f"{field.name} is {value!r}; give {what} greater than 0{unknown}"
    if annotation in _SIZES and not _is_ascending(value, optional=_SIZES[annotation]):
        return f"{field.name} is {value!r}; give a tuple of ascending whole numbers, such as (16, 32)"
    if annotation in _FLAGS and not (isinstance(value, bool) or (value is None and _FLAGS[annotation])):
        return f"{field.name} is {value!r}; give True or False{', or None' * _FLAGS[annotation]}"
    if (words := _words(annotation)) and value not in words:
        *others, last = map(repr, words)
        return f"{field.name} is {value!r}; give {', '.join(others)} or {last}"
    return None


@functools.cache
def _words(annotation: Any) -> tuple[str | None, ...]:
    """The values of a field that is one of a few words; none of another."""
    kinds = (annotation, *typing.get_args(annotation))
    words = [word for kind in kinds if typing.get_origin(kind) is Literal for word in typing.get_args(kind)]
    return (*words, None) if words and types.NoneType in kinds else tuple(words)


def _is_figure(value: Any, field: dataclasses.Field[Any]) -> bool:
    kind, optional = _NUMBERS[field.type]
    if value is None:
        return optional
    if isinstance(value, bool) or not isinstance(value, kind):
        return False
    # local_mem_size alone may be 0: a device can be without local memory.
    return bool(0 < value < math.inf) or (value == 0 and field.name == "local_mem_size")


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

"""Storage: values of reports as plain data, ready for JSON, and back."""

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


def plain(value: Any) -> Any:
    """A value as dictionaries, lists, strings and numbers; of a dataclass its fields and its properties.

    A float that is not finite is None: JSON has no such number, and as a figure it is one that is not known.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        names += [name for name, member in vars(type(value)).items() if isinstance(member, property)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def built(kind: type[T], data: Any) -> T:
    """A value of a type from what `plain` made of one; properties follow from the fields again.

    Raises:
      KeyError: a field without a default is missing.
    """
    found: T = _built(kind, data)
    return found


def _built(kind: Any, data: Any) -> Any:
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, data)
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        given = [each for each in arguments if each is not types.NoneType]
        return None if data is None else _built(given[0], data)
    if origin is tuple:
        each = [arguments[0]] * len(data) if arguments[1:] == (...,) else arguments
        return tuple(map(_built, each, data))
    return data


def _dataclass(kind: Any, data: Mapping[str, Any]) -> Any:
    hints = typing.get_type_hints(kind)
    fields = [field for field in dataclasses.fields(kind) if field.init]
    required = (f for f in fields if f.default is f.default_factory is dataclasses.MISSING)
    if missing := [field.name for field in required if field.name not in data]:
        raise KeyError(f"{kind.__name__} without {', '.join(missing)}")
    return kind(**{f.name: _built(hints[f.name], data[f.name]) for f in fields if f.name in data})

"""Events: which memories a copy is made between, by the event that one waits for.

An event is a `Handle` of the keys of those memories, or of None if it is not known which copy it stands for.
"""

import functools
from typing import Any

from xeemu.frontends import types, values
from xeemu.frontends.lowering import places
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.types import Type
from xeemu.frontends.values import ArrayValue, Data, Either, Handle, Number, RegisterAddress, Value

_MOST = 64
"""Of so many events that are waited for at once it is looked at which they are."""


def of(event: Type, keys: frozenset[Any] | None) -> Value:
    """The event of a copy."""
    return Handle(event, keys)


def memories(event: Value, masks: list[Data]) -> frozenset[Any] | None:
    """The keys of the memories of an event; None if it is not known which it is.

    Args:
      event: or several of them.
      masks: gets where it is the one of two events, if that differs between work-items.
    """
    none: frozenset[Any] | None = frozenset()
    match event:
        case Handle(what=keys):
            return keys
        case Either(condition=condition, then=a, otherwise=b):
            if condition.ndim:
                masks.append(condition)
            return _joined(memories(a, masks), memories(b, masks))
        case ArrayValue(items=items):
            return functools.reduce(_joined, [memories(item, masks) for item in items], none)
    return none


def join(walk: Walk, event: frozenset[Any] | None, keys: frozenset[Any]) -> None:
    """Notes that a copy between memories shares the event of an earlier one, who waits for which waits for both."""
    if event:
        walk.joined.append((event, keys))


def shared(walk: Walk, keys: frozenset[Any] | None) -> frozenset[Any] | None:
    """The memories of an event, with those of the copies that share it."""
    if keys is None:
        return None
    for event, more in walk.joined:
        if event <= keys:
            keys |= more
    return keys


def _joined(a: frozenset[Any] | None, b: frozenset[Any] | None) -> frozenset[Any] | None:
    return None if a is None or b is None else a | b


def listed(walk: Walk, count: Value, pointer: Value) -> Value:
    """The events that a pointer points to."""
    event = types.Opaque("event_t")
    unknown = Handle(event, None)
    if not isinstance(count, Number) or not count.known or not 0 <= int(count.python) <= _MOST:
        return unknown
    if not isinstance(pointer, RegisterAddress | Either):
        return unknown
    steps = (values.constant(k, types.INT) for k in range(int(count.python)))
    items = [
        places.read(walk, places.behind(walk, places.advanced(walk, pointer, k, event.size), event)) for k in steps
    ]
    return ArrayValue(types.Array(event, len(items)), tuple(items))

"""Vectors in memory: `vloadn`, `vstoren` and those of halves, which need no alignment but of their elements."""

import re
from collections.abc import Callable

from xeemu.frontends import arithmetic, types
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.lowering import places
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.types import Scalar, Type
from xeemu.frontends.values import Null, Number, Value

Builtin = Callable[[Walk, Call, bool], Value]

_NAME = re.compile(r"v(load|store)(a?)(_half)?(2|3|4|8|16)?(_rte|_rtz|_rtp|_rtn)?")


def find(name: str) -> Builtin | None:
    """What loads or stores a vector, or None if the function does not."""
    match = _NAME.fullmatch(name)
    if match is None or not (match.group(3) or match.group(4)):
        return None
    return _load if match.group(1) == "load" else _store


def _load(walk: Walk, node: Call, used: bool) -> Value:
    offset, pointer = node.arguments
    spot, _of = _spot(walk, node, offset, pointer)
    loaded = places.read(walk, spot)
    return arithmetic.converted(loaded, node.type)


def _store(walk: Walk, node: Call, used: bool) -> Value:
    value = walk.evaluate(node.arguments[0])
    spot, of = _spot(walk, node, node.arguments[1], node.arguments[2])
    match = _NAME.fullmatch(node.name)
    assert match is not None
    if match.group(3) and match.group(5):
        rounded = catalogue.find(f"convert_{of}{match.group(5)}")
        assert rounded is not None
        value = rounded([value], of)
    places.write(walk, spot, arithmetic.converted(value, of))
    return Null(types.VOID)


def _spot(walk: Walk, node: Call, offset: object, pointer: object) -> tuple[places.Spot, Type]:
    """The place of a vector, and its type; those of 3 halves with alignment follow each other in steps of 4."""
    match = _NAME.fullmatch(node.name)
    assert match is not None
    count = int(match.group(4) or 1)
    base, steps = walk.evaluate(pointer), walk.evaluate(offset)  # type: ignore[arg-type]
    assert isinstance(steps, Number)
    of_pointer = pointer.type  # type: ignore[attr-defined]
    assert isinstance(of_pointer, types.Pointer)
    element = types.HALF if match.group(3) else of_pointer.pointee
    assert isinstance(element, Scalar)
    stride = 4 if count == 3 and match.group(2) else count
    of: Type = element if count == 1 else types.Vector(element, count)
    return places.behind(walk, places.advanced(walk, base, steps, stride * element.size), of), of

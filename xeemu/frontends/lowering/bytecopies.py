"""Byte copies: `memcpy` and `memset` in a kernel, of a known number of bytes, done element by element."""

from collections.abc import Callable, Sequence

import numpy as np

from xeemu.frontends import composites, types, values
from xeemu.frontends.builtins.reinterpretation import reinterpreted
from xeemu.frontends.lowering import places
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.types import Type
from xeemu.frontends.values import Components, Either, Null, Number, Pointing, RegisterAddress, Value

_MOST = 256
"""Elements that are copied one by one."""


def find(name: str) -> Callable[[Walk, Call, bool], Value] | None:
    return {"copy_apart": _copied, "copy_bytes": _copied, "set_bytes": _filled}.get(name)


def _copied(walk: Walk, node: Call, _used: bool) -> Value:
    to, source, size = (walk.evaluate(a) for a in node.arguments)
    wanted, given = _pointee(walk, to), _pointee(walk, source)
    size_bytes = _bytes(walk, size, wanted, given)
    read = [places.read(walk, _element(walk, source, k, given)) for k in range(size_bytes // given.size)]
    for k, value in enumerate(_as(walk, read, given, wanted)):
        places.write(walk, _element(walk, to, k, wanted), value)
    return Null(types.VOID)


def _filled(walk: Walk, node: Call, _used: bool) -> Value:
    to, byte, size = (walk.evaluate(a) for a in node.arguments)
    of = _pointee(walk, to)
    size_bytes = _bytes(walk, size, of, of)
    if not isinstance(byte, Number) or not byte.known or (byte.python != 0 and not isinstance(of, types.Scalar)):
        raise walk.refuse(f"memset of a {of} to a value that is not known, or not 0; write a loop")
    if isinstance(of, types.Scalar):
        filled = np.frombuffer(bytes([int(byte.python) & 255]) * of.size, of.dtype)[0]
        value: Value = values.constant(filled, of)
    else:
        value = values.zero(of)
    for k in range(size_bytes // of.size):
        places.write(walk, _element(walk, to, k, of), value)
    return Null(types.VOID)


def _pointee(walk: Walk, pointer: Value) -> Type:
    """What a pointer points to, by its type before it became one to void."""
    match pointer:
        case Either(then=Null(), otherwise=other):
            return _pointee(walk, other)
        case Either(then=a):
            return _pointee(walk, a)
        case Pointing(type=of) | RegisterAddress(type=of) if not isinstance(of.pointee, types.Void):
            return types.innermost(of.pointee)
    raise walk.refuse("memcpy or memset of something whose type is not known; write a loop over its elements")


def _first(pointer: Value) -> Value:
    """A pointer to an array as one to its first element."""
    match pointer:
        case Either(type=to, condition=condition, then=a, otherwise=b):
            return Either(to, condition, _first(a), _first(b))
        case Pointing(type=types.Pointer(pointee=types.Array() as of, space=space), memory=memory, offset=offset):
            return Pointing(types.Pointer(types.innermost(of), space), memory, offset)
        case RegisterAddress(type=types.Pointer(pointee=types.Array(element=inner), space=space), path=path):
            start = (*path, values.constant(0, types.INT))
            return _first(RegisterAddress(types.Pointer(inner, space), pointer.variable, start))
    return pointer


def _bytes(walk: Walk, size: Value, *of: Type) -> int:
    """The number of bytes."""
    if not isinstance(size, Number) or not size.known:
        raise walk.refuse("memcpy or memset of a number of bytes that is not known; write a loop")
    found = int(size.python)
    if any(found % t.size for t in of) or found // min(t.size for t in of) > _MOST:
        raise walk.refuse(f"memcpy or memset of {found} bytes of {of[0]}; write a loop")
    return found


def _element(walk: Walk, pointer: Value, k: int, of: Type) -> places.Spot:
    first = _first(pointer)
    return places.behind(walk, places.advanced(walk, first, values.constant(k, types.INT), of.size) if k else first, of)


def _as(walk: Walk, read: Sequence[Value], given: Type, wanted: Type) -> list[Value]:
    """Values as ones of another type of the same bytes."""
    if given == wanted:
        return list(read)
    if not (isinstance(given, types.Scalar) and isinstance(wanted, types.Scalar)):
        raise walk.refuse(f"memcpy between {given} and {wanted}; write sycl::bit_cast, or copy number by number")
    if given.size >= wanted.size:
        each = given.size // wanted.size
        of = wanted if each == 1 else types.Vector(wanted, each)
        return [n for value in read for n in composites.leaves(reinterpreted([value], of))]
    each = wanted.size // given.size
    whole = types.Vector(given, each)
    groups = (tuple(read[k : k + each]) for k in range(0, len(read), each))
    return [reinterpreted([Components(whole, group)], wanted) for group in groups]  # type: ignore[arg-type]

"""Calls: of the program's functions, which are walked in their place, and of the language's."""

from collections.abc import Callable

from xeemu.frontends import arithmetic, tree, types
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import (
    atomics,
    ballots,
    blocks,
    bytecopies,
    collectives,
    copies,
    groupmemories,
    images,
    memories,
    places,
    printing,
    spaces,
    synchronisation,
    vectors,
    workitems,
)
from xeemu.frontends.lowering.walk import Frame, Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.values import Null, Value

Builtin = Callable[[Walk, Call, bool], Value]
_ROOMS = (
    workitems,
    synchronisation,
    atomics,
    vectors,
    collectives,
    ballots,
    blocks,
    copies,
    images,
    printing,
    groupmemories,
    bytecopies,
    spaces,
)


def value(walk: Walk, node: Call, used: bool) -> Value:
    """The value of a call; `used` says if anybody needs it."""
    if node.function is not None:
        return _inlined(walk, node, node.function)
    for room in _ROOMS:
        if (builtin := room.find(node.name)) is not None:
            return builtin(walk, node, used)
    return _computed(walk, node)


def _inlined(walk: Walk, node: Call, function: Function) -> Value:
    arguments = [walk.evaluate(a) for a in node.arguments]
    live, region, frame = walk.live, walk.region, walk.frame
    walk.frame = Frame(function, walk.frames, node.place, frame)
    walk.frames += 1
    try:
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            memories.give(walk, parameter, arithmetic.converted(argument, parameter.type))
        walk.execute(function.body)
        result = walk.frame.result
    finally:
        walk.live, walk.region, walk.frame = live, region, frame
    return Null(function.result) if result is None else result


def _computed(walk: Walk, node: Call) -> Value:
    """A built-in function that only computes; one with a pointer stores its second result there."""
    if (function := catalogue.find(node.name)) is not None:
        return function([walk.evaluate(a) for a in node.arguments], node.type)
    with_pointer = catalogue.find_with_pointer(node.name)
    if with_pointer is None:
        raise walk.refuse(_unknown(node), node.place)
    *given, pointer = node.arguments
    assert isinstance(pointer.type, types.Pointer)
    target = places.behind(walk, walk.evaluate(pointer), pointer.type.pointee)
    result, stored = with_pointer([walk.evaluate(a) for a in given], node.type)
    places.write(walk, target, stored)
    return result


def _unknown(node: Call) -> str:
    name = node.name
    if name == "unsupported":  # by which our headers of C++ say what is not emulated
        return f"not supported: {tree.text(node.arguments[0])}"
    if name.startswith("__builtin_"):
        return f"{name} is the compiler's own; use the function of OpenCL C that does the same"
    hint = "define it in the file, or include the file that does"
    return f"{name} has no body, and is no built-in function that xeemu knows; {hint}"

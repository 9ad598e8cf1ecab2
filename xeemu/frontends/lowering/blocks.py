"""Blocks: Intel's reads and writes of consecutive elements by a sub-group, lane by lane."""

import re
from collections.abc import Callable, Sequence

from xeemu.frontends import composites, types, values
from xeemu.frontends.lowering import memories
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.types import Scalar
from xeemu.frontends.values import Components, Either, Null, Number, Pointing, Value
from xeemu.language.interface import Retrace

Builtin = Callable[[Walk, Call, bool], Value]

_NAME = re.compile(r"intel_sub_group_block_(read|write)(?:_u[isclm])?(2|4|8|16)?")


def find(name: str) -> Builtin | None:
    """What reads or writes a block, or None if the function does not."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return _read if match.group(1) == "read" else _write


def _pointer(walk: Walk, node: Call) -> tuple[Value, Scalar]:
    of = node.arguments[0].type
    if not isinstance(of, types.Pointer):
        raise walk.refuse(f"{node.name} of an image; read and write its pixels by read_image and write_image")
    assert isinstance(of.pointee, Scalar)
    return walk.evaluate(node.arguments[0]), of.pointee


def _read(walk: Walk, node: Call, used: bool) -> Value:
    pointer, of = _pointer(walk, node)
    count = node.type.count if isinstance(node.type, types.Vector) else 1
    numbers = _loaded(walk, node, pointer, of, count)
    return Components(node.type, tuple(numbers)) if isinstance(node.type, types.Vector) else numbers[0]


def _loaded(walk: Walk, node: Call, pointer: Value, of: Scalar, count: int) -> Sequence[Number]:
    if isinstance(pointer, Either):
        found: list[Sequence[Number]] = []
        for mask, side in _sides(pointer):
            walk.under(mask, lambda s=side: found.append(_loaded(walk, node, s, of, count)))  # type: ignore[misc]
        if len(found) == 1:
            return found[0]
        return [composites.selected(pointer.condition, a, b) for a, b in zip(*found, strict=True)]  # type: ignore[misc]
    return [_load(walk, part, of) for part in _parts(walk, node, pointer, of, count)]


def _sides(pointer: Either) -> tuple[tuple[values.Data, Value], ...]:
    return (pointer.condition, pointer.then), (values.negation(pointer.condition), pointer.otherwise)


def _parts(walk: Walk, node: Call, pointer: Value, of: Scalar, count: int) -> list[Pointing]:
    """Pointers to where each of the components of the first lane is."""
    if not isinstance(pointer, Pointing):
        raise walk.refuse(f"{node.name} of a private variable or constant; give it global or local memory")
    if of.size < walk.layouts[pointer.memory].element.size:
        raise Retrace(pointer.memory, of.size)
    size = walk.wg.sub_group.size
    steps = (values.constant(k * size, types.INT) for k in range(count))
    return [memories.moved(walk, pointer, step, of.size) for step in steps]


def _load(walk: Walk, pointer: Pointing, of: Scalar) -> Number:
    held = walk.layouts[pointer.memory].element
    if held.size == of.size:
        with walk.scope():
            loaded = walk.wg.sub_group.load(walk.memories[pointer.memory], values.index(pointer.offset))
        return values.bits(values.held(held, loaded), of)
    found = memories.load(walk, _of_lane(walk, pointer, of), of)
    assert isinstance(found, Number)
    return found


def _of_lane(walk: Walk, pointer: Pointing, of: Scalar) -> Pointing:
    """Where the element of each lane is, in a memory whose elements are smaller."""
    lane = Number(types.INT, walk.wg.sub_group.local_id(), (0, walk.wg.sub_group.size - 1))
    return memories.moved(walk, pointer, lane, of.size)


def _write(walk: Walk, node: Call, used: bool) -> Value:
    pointer, of = _pointer(walk, node)
    _stored(walk, node, pointer, of, composites.leaves(walk.evaluate(node.arguments[1])))
    return Null(types.VOID)


def _stored(walk: Walk, node: Call, pointer: Value, of: Scalar, numbers: Sequence[Number]) -> None:
    if isinstance(pointer, Either):
        for mask, side in _sides(pointer):
            walk.under(mask, lambda s=side: _stored(walk, node, s, of, numbers))  # type: ignore[misc]
        return
    for part, number in zip(_parts(walk, node, pointer, of, len(numbers)), numbers, strict=True):
        _store(walk, part, values.converted(number, of), of)


def _store(walk: Walk, pointer: Pointing, number: Number, of: Scalar) -> None:
    held = walk.layouts[pointer.memory].element
    if held.size != of.size:
        memories.store(walk, _of_lane(walk, pointer, of), number, of)
        return
    data = values.exact(values.bits(number, held))
    with walk.scope():
        stored = walk.wg.sub_group.store(walk.memories[pointer.memory], values.index(pointer.offset), data)
    walk.memories[pointer.memory] = stored

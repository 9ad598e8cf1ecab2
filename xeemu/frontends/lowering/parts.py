"""Parts: of values in registers, by paths: names of fields, numbers of elements, tuples of components."""

from typing import Any

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import unions
from xeemu.frontends.values import ArrayValue, Components, Data, Fields, Handle, Null, Number, Value


def picked(value: Value, path: tuple[Any, ...]) -> Value:
    """A part of a value."""
    for step in path:
        match value:
            case Fields(type=of_record, items=fields) if of_record.union:
                value = unions.member(of_record, fields, step)
            case Fields(items=fields):
                value = fields[step]
            case ArrayValue(type=of_array, items=items) if isinstance(of_array.element, types.Opaque):
                known = step is not None and 0 <= step < len(items)
                value = items[step] if known else Handle(of_array.element, None)  # an event that is not known
            case ArrayValue(items=items):
                value = element_of(items, step)
            case Components(type=vector, items=lanes) if len(step) == 1:
                value = lanes[step[0]]
            case Components(type=vector, items=lanes):
                value = Components(types.Vector(vector.element, len(step)), tuple(lanes[k] for k in step))
    return value


def put(value: Value, path: tuple[Any, ...], part: Value) -> Value:
    """A value with another part."""
    if not path:
        return part
    if isinstance(value, Null) and isinstance(value.type, types.Array):
        value = values.zero(value.type)
    step, rest = path[0], path[1:]
    if isinstance(step, Number) and step.known:
        step = int(step.python)
    match value:
        case Fields(type=of_record, items=fields) if of_record.union:
            return unions.replaced(of_record, fields, step, put(picked(value, (step,)), rest, part) if rest else part)
        case Fields(type=of_record, items=fields):
            return Fields(of_record, {**fields, step: put(fields[step], rest, part)})
        case Handle():
            return value  # an array of events that are not known
        case ArrayValue(type=of_array) if step is None:
            return Handle(of_array, None)
        case ArrayValue(type=of_array, items=items) if isinstance(step, int):
            return ArrayValue(of_array, tuple(put(x, rest, part) if k == step else x for k, x in enumerate(items)))
        case ArrayValue(type=of_array, items=items):
            changed = [composites.selected(_is(step, k), put(x, rest, part), x) for k, x in enumerate(items)]
            return ArrayValue(of_array, tuple(changed))
        case Components(type=vector, items=lanes):
            return Components(vector, _exchanged(lanes, step, rest, part))
    raise AssertionError(value)


def element_of(items: tuple[Value, ...], at: Number) -> Value:
    """An element of an array in registers; beyond its end the first one."""
    found = items[0]
    for k, item in enumerate(items[1:], 1):
        found = composites.selected(_is(at, k), item, found)
    return found


def _is(at: Number, k: int) -> Data:
    """Where an integer is a given one."""
    equal = arithmetic.binary("==", at, values.constant(k, types.INT), types.INT)
    assert isinstance(equal, Number)
    return values.truth(equal)


def _exchanged(
    lanes: tuple[Number, ...], step: tuple[int, ...], rest: tuple[Any, ...], part: Value
) -> tuple[Number, ...]:
    """Components of which some are others; a swizzle may be swizzled again."""
    if rest:
        return _exchanged(lanes, tuple(step[k] for k in rest[0]), rest[1:], part)
    new = part.items if isinstance(part, Components) else (part,) * len(step)
    replaced = list(lanes)
    for k, number in zip(step, new, strict=True):
        assert isinstance(number, Number)
        replaced[k] = number
    return tuple(replaced)

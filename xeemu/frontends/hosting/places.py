"""Places: lvalues of the host, each a memory and an offset in bytes."""

from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.hosting import layouts, scalars
from xeemu.frontends.hosting.machine import Frame, Machine, Value
from xeemu.frontends.hosting.memories import Address, Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.tree import Expression


def place(machine: Machine, node: Expression) -> Value:
    """What finds an lvalue; of a value that has no place, one that is made for it."""
    key = ("place", node)
    if key not in machine.compiled:
        machine.compiled[key] = _made(machine, node)
    return machine.compiled[key]


def _made(machine: Machine, node: Expression) -> Value:
    match node:
        case tree.Name(variable=variable):
            return _variable(machine, variable)
        case tree.Unary(op="*", operand=operand):
            pointer, behind = machine.rules.value(machine, operand), machine.behind
            return lambda frame: behind(pointer(frame))
        case tree.Subscript():
            return _element(machine, node)
        case tree.Member():
            return _field(machine, node)
        case tree.Swizzle(base=base, components=(k,)):
            assert isinstance(base.type, types.Vector)
            return _moved(place(machine, base), k * base.type.element.size)
        case tree.Cast(operand=operand) if operand.type == node.type:
            return place(machine, operand)
        case tree.Binary(op=",", left=left, right=right):
            first, second = machine.rules.value(machine, left), place(machine, right)
            return lambda frame: (first(frame), second(frame))[1]
        case tree.Choice():
            return _chosen(machine, node)
        case tree.Assignment(target=target):
            done, found = machine.rules.value(machine, node), place(machine, target)
            return lambda frame: (done(frame), found(frame))[1]
        case tree.Braced(block=block) if _is_braced_place(block):
            return machine.rules.braced(machine, block, place)
    return _temporary(machine, node)


def _is_braced_place(block: tree.Block) -> bool:
    last = block.statements[-1] if block.statements else None
    return isinstance(last, tree.Evaluate)


def _temporary(machine: Machine, node: Expression) -> Value:
    value, of, holding = machine.rules.value(machine, node), node.type, machine.holding
    if isinstance(of, types.Array):
        return value
    return lambda frame: (holding(of, value(frame)), 0)


def _variable(machine: Machine, variable: tree.Variable) -> Value:
    static = machine.static

    def found(frame: Frame) -> Address:
        memory: Memory | None = frame.get(variable)
        return (static(variable) if memory is None else memory), 0

    return found


def distance(machine: Machine, node: Expression) -> Value:
    """How far an index leads."""
    index = machine.rules.value(machine, node)
    if not scalars.wraps(node.type):
        return index
    signed = scalars.distance(node.type)
    return lambda frame: signed(index(frame))


def _moved(base: Value, offset: int) -> Value:
    if not offset:
        return base

    def moved(frame: Frame) -> Address:
        memory, at = base(frame)
        return memory, at + offset

    return moved


def _field(machine: Machine, node: tree.Member) -> Value:
    if not node.arrow:
        assert isinstance(node.base.type, types.Record)
        return _moved(place(machine, node.base), layouts.at(node.base.type, node.name))
    of = node.base.type
    assert isinstance(of, types.Pointer)
    assert isinstance(of.pointee, types.Record)
    pointer, behind = machine.rules.value(machine, node.base), machine.behind
    return _moved(lambda frame: behind(pointer(frame)), layouts.at(of.pointee, node.name))


def _element(machine: Machine, node: tree.Subscript) -> Value:
    base, behind = node.base, machine.behind
    inside = isinstance(base.type, types.Vector)
    start = place(machine, base) if inside else machine.rules.value(machine, base)
    index = distance(machine, node.index)
    step = layouts.size(node.type)

    def found(frame: Frame) -> Address:
        memory, at = behind(start(frame))
        return memory, at + index(frame) * step

    return found


def _chosen(machine: Machine, node: tree.Choice) -> Value:
    condition, truth = machine.rules.value(machine, node.condition), machine.truth
    then, otherwise = place(machine, node.then), place(machine, node.otherwise)

    def found(frame: Frame) -> Any:
        chosen = truth(condition(frame))
        return machine.behind(UNKNOWN) if chosen is UNKNOWN else then(frame) if chosen else otherwise(frame)

    return found

"""Lvalues: places of the tree made of others: through pointers, members and bases, conversions and temporaries."""

from xeemu.frontends import tree, types
from xeemu.frontends.callees import TEMPORARY
from xeemu.frontends.parsing.literals import number, zero
from xeemu.frontends.tree import Expression, SourceLocation, Variable
from xeemu.frontends.types import Type


def dereferenced(pointer: Expression) -> Expression:
    """What a pointer, or reference, points to."""
    if isinstance(pointer, tree.Unary) and pointer.op == "&":
        return pointer.operand
    assert isinstance(pointer.type, types.Pointer)
    return tree.Unary(pointer.type.pointee, pointer.place, "*", pointer)


def member(of: Type, place: SourceLocation, base: Expression, name: str) -> Expression:
    """A field of a record; of one that is given by its fields that one."""
    listed = given(base)
    if listed is not None and isinstance(base.type, types.Record) and not base.type.union:
        for field, item in zip(base.type.fields, listed.items, strict=False):
            if field.name == name:
                return converted(item, field.type)
    return tree.Member(of, place, base, name, False)


def subscript(of: Type, place: SourceLocation, base: Expression, index: Expression) -> Expression:
    """An element; of an array that is given by its elements that one, where the index is a constant."""
    listed = given(base) if isinstance(index, tree.Constant) and isinstance(base.type, types.Array) else None
    if listed is not None and isinstance(index, tree.Constant) and isinstance(base.type, types.Array):
        k = int(index.value)
        if 0 <= k < base.type.count:
            return listed.items[k] if k < len(listed.items) else zero(of, place)
    vector = _of_components(base)
    if vector is None:
        return tree.Subscript(of, place, base, index)
    assert isinstance(vector.type, types.Vector)
    if isinstance(index, tree.Constant) and 0 <= int(index.value) < vector.type.count:
        return tree.Swizzle(of, place, vector, (int(index.value),))
    return tree.Subscript(of, place, vector, index)


def _of_components(pointer: Expression) -> Expression | None:
    """The vector, an lvalue, of which a pointer is the address as that of its components."""
    match pointer:
        case tree.Cast(type=types.Pointer(pointee=of), operand=tree.Unary(op="&", operand=vector)):
            return vector if isinstance(vector.type, types.Vector) and vector.type.element == of else None
    return None


def given(value: Expression) -> tree.Initializer | None:
    """The parts of which an object is made that has no name, where none of them does anything but compute."""
    held = temporary(value)
    value = value if held is None else held
    return value if isinstance(value, tree.Initializer) and is_simple(value) else None


def temporary(value: Expression) -> Expression | None:
    """What a temporary object holds; None of any other expression."""
    if not isinstance(value, tree.Braced) or len(value.block.statements) != 2:
        return None
    first = value.block.statements[0]
    assert isinstance(first, tree.Declaration)
    return first.variables[0].initializer if first.variables[0].name == TEMPORARY else None


def is_simple(node: Expression) -> bool:
    """True if an expression can be evaluated any number of times, or never, at no cost."""
    match node:
        case tree.Constant() | tree.Name() | tree.Text() | tree.Callee():
            return True
        case tree.Unary(op="&", operand=operand) | tree.Unary(op="*", operand=operand):
            return is_simple(operand)
        case tree.Member(base=base):
            return is_simple(base)
        case tree.Cast(operand=operand):
            return is_simple(operand)
        case tree.Binary(op="+", type=types.Pointer(), left=left, right=right):
            return is_simple(left) and is_simple(right)
        case tree.Subscript(base=base, index=index):
            return isinstance(base.type, types.Array) and is_simple(base) and isinstance(index, tree.Constant)
        case tree.Call(function=None, name=name, arguments=arguments):  # a work-item function
            return name.startswith("get_") and all(map(is_simple, arguments))
        case tree.Initializer(items=items):
            return all(map(is_simple, items))
        case tree.Braced():
            held = temporary(node)
            return held is not None and is_simple(held)
    return False


def address(value: Expression, of: types.Pointer | None = None) -> Expression:
    """A pointer to an lvalue, or to a temporary object that holds a value."""
    if isinstance(value, tree.Unary) and value.op == "*":
        return value.operand
    if isinstance(value, tree.Choice) and is_lvalue(value):
        sides = (address(value.then, of), address(value.otherwise, of))
        return tree.Choice(of or types.Pointer(value.type, "generic"), value.place, value.condition, *sides)
    if (isinstance(value, tree.Cast) and value.type != value.operand.type) or not is_lvalue(value):
        value = materialized(value)
    return tree.Unary(of or types.Pointer(value.type, "generic"), value.place, "&", value)


def is_lvalue(value: Expression) -> bool:
    match value:
        case tree.Name() | tree.Subscript() | tree.Unary(op="*") | tree.Swizzle():
            return True
        case tree.Member(base=base, arrow=arrow):
            return arrow or is_lvalue(base)
        case tree.Binary(op=",", right=right):
            return is_lvalue(right)
        case tree.Braced(block=block):
            last = block.statements[-1] if block.statements else None
            return isinstance(last, tree.Evaluate) and is_lvalue(last.expression)
        case tree.Choice(then=then, otherwise=otherwise):
            return is_lvalue(then) and is_lvalue(otherwise)
        case tree.Cast(operand=operand):
            return operand.type == value.type and is_lvalue(operand)
        case tree.Text():
            return True
    return False


def materialized(value: Expression) -> Expression:
    """A temporary object, as an lvalue."""
    variable = Variable(TEMPORARY, value.type, "private", value.place, lambda: value)
    name = tree.Name(value.type, value.place, variable)
    statements = (tree.Declaration(value.place, (variable,)), tree.Evaluate(value.place, name))
    return tree.Braced(value.type, value.place, tree.Block(value.place, statements))


def unnamed(name: str, value: Expression) -> Variable:
    """A variable that the source does not name, with its first value."""
    return Variable(name, value.type, "private", value.place, lambda: value)


def copied(value: Expression) -> Expression:
    """An array as the list of its elements: a value, and not its address."""
    of, place = value.type, value.place
    if not isinstance(of, types.Array) or isinstance(value, tree.Initializer):
        return value
    each = (tree.Subscript(of.element, place, value, number(types.INT, place, k)) for k in range(of.count))
    return tree.Initializer(of, place, tuple(map(copied, each)))


def placed(assignment: tree.Assignment | tree.Step) -> Expression:
    """An assignment, or a step before, as the lvalue that it is in C++."""
    target = assignment.target if isinstance(assignment, tree.Assignment) else assignment.operand
    return tree.Binary(target.type, assignment.place, ",", assignment, target)


def lvalue(value: Expression) -> Expression:
    """A value that is one of an lvalue, as that lvalue."""
    match value:
        case tree.Assignment():
            return placed(value)
        case tree.Step(prefix=True):
            return placed(value)
        case tree.Choice() if is_lvalue(value):
            return dereferenced(address(value))
    return value


def converted(value: Expression, to: Type) -> Expression:
    """A value as another type has it: of a class the part that is its base, of numbers and pointers by a `Cast`."""
    if value.type == to:
        return value
    if isinstance(to, types.Record):
        path = types.base_path(value.type, to)
        return through(value if is_lvalue(value) else materialized(value), path) if path else value
    if isinstance(to, types.Pointer) and isinstance(value.type, types.Pointer):
        path = types.base_path(value.type.pointee, to.pointee)
        return address(through(dereferenced(value), path), to) if path else tree.Cast(to, value.place, value)
    if isinstance(value.type, types.Record):
        return value
    return tree.Cast(to, value.place, value)


def through(value: Expression, path: list[str]) -> Expression:
    """A part of a record, by the names of fields."""
    for name in path:
        assert isinstance(value.type, types.Record)
        value = tree.Member(value.type.field(name).type, value.place, value, name, False)
    return value

"""Expressions: cursors of expressions as the tree's, with the conversions that C makes."""

from collections.abc import Callable

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.parsing import clang, layouts, literals, substitutes
from xeemu.frontends.parsing.bodies import Body, converted, refuse_depth
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.printed import Lost
from xeemu.frontends.parsing.swizzles import components
from xeemu.frontends.tree import Expression, SourceLocation

_BINARY = {"*", "/", "%", "+", "-", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "^", "|", "&&", "||", ","}
_ASSIGNING = {"=": "", **{f"{op}=": op for op in ("*", "/", "%", "+", "-", "<<", ">>", "&", "^", "|")}}
_UNARY = {"+", "-", "~", "!", "*", "&", "++", "--", "__extension__"}


def read(body: Body, cursor: Cursor) -> Expression:
    """An expression; the printed text stands at its first token and is left behind its last."""
    refuse_depth(body, cursor)
    reader = _READERS.get(clang.kind(cursor))
    if reader is None:
        raise refusals.at(body.at(cursor), _other(clang.kind(cursor)))
    return reader(body, cursor)


def _other(kind: str) -> str:
    """The message for what has no reader."""
    match kind:
        case "BLOCK_EXPR":
            return "a block; write a function"
        case "ADDR_LABEL_EXPR":
            return "the address of a label; write a switch"
        case "GENERIC_SELECTION_EXPR":
            return "_Generic; write the expression that it chooses"
    return f"an expression of one compiler's own (clang's {kind}); write it in OpenCL C"


def _parenthesised(body: Body, cursor: Cursor) -> Expression:
    (inner,) = clang.children(cursor)
    body.text.take("(")
    value = read(body, inner)
    body.text.take(")")
    return value


def _name(body: Body, cursor: Cursor) -> Expression:
    place, declared = body.at(cursor), cursor.referenced
    body.text.take(cursor.spelling)
    kind = clang.kind(declared)
    if kind == "ENUM_CONSTANT_DECL":
        of = body.type(cursor)
        assert isinstance(of, types.Scalar)
        return literals.number(of, place, declared.enum_value)
    if kind == "FUNCTION_DECL":
        raise refusals.at(place, f"the function {cursor.spelling} as a value; call the functions by name")
    variable = body.variables.get(clang.key(declared))
    if variable is None:
        if clang.key(declared) in body.refused:
            raise body.refused[clang.key(declared)]
        raise refusals.at(place, f"the variable {cursor.spelling} has no declaration that can be read here")
    return tree.Name(variable.type, place, variable)


def _unary(body: Body, cursor: Cursor) -> Expression:
    (inner,) = clang.children(cursor)
    place = body.at(cursor)
    prefix = body.text.peek() in _UNARY
    op = body.text.next() if prefix else ""
    operand = read(body, inner)
    if not prefix:
        op = body.text.next()
    if op in ("++", "--"):
        of = body.result_type(cursor, operand)
        return tree.Step(of, place, op, operand, prefix)
    if op == "__extension__":
        return operand
    if op not in _UNARY:
        raise Lost("an operator")
    return tree.Unary(body.type(cursor), place, op, operand)


def _binary(body: Body, cursor: Cursor) -> Expression:
    first, second = clang.children(cursor)
    place = body.at(cursor)
    left = read(body, first)
    op = body.text.next()
    right = read(body, second)
    of = body.result_type(cursor, left, right)
    if op in _ASSIGNING:
        return tree.Assignment(of, place, _ASSIGNING[op], left, right)
    if op not in _BINARY:
        raise Lost("an operator")
    return tree.Binary(of, place, op, left, right)


def _choice(body: Body, cursor: Cursor) -> Expression:
    place = body.at(cursor)
    first, second, third = clang.children(cursor)
    condition = read(body, first)
    body.text.take("?")
    then = read(body, second)
    body.text.take(":")
    otherwise = read(body, third)
    return tree.Choice(body.result_type(cursor, then, otherwise), place, condition, then, otherwise)


def _subscript(body: Body, cursor: Cursor) -> Expression:
    place, of = body.at(cursor), body.type(cursor)
    first, second = clang.children(cursor)
    base = read(body, first)
    body.text.take("[")
    index = read(body, second)
    body.text.take("]")
    if isinstance(base.type, types.Scalar):  # `2[a]`
        base, index = index, base
    return tree.Subscript(of, place, _undecayed(base), index)


def _undecayed(base: Expression) -> Expression:
    """The array itself where it stands for a pointer to its first element."""
    decayed = isinstance(base, tree.Cast) and isinstance(base.operand.type, types.Array)
    return base.operand if decayed and isinstance(base, tree.Cast) else base


def _member(body: Body, cursor: Cursor) -> Expression:
    """`base.name` or `base->name`, through the nameless records between them, of which libclang shows some."""
    (inner,) = clang.children(cursor)
    base = read(body, inner)
    field = cursor.referenced
    if not layouts.is_named(field):
        return base
    place, of = body.at(cursor), body.type(cursor)
    body.text.next()
    body.text.take(field.spelling)
    arrow = isinstance(base.type, types.Pointer)
    record = base.type.pointee if isinstance(base.type, types.Pointer) else base.type
    for position in layouts.path(record, field.spelling)[:-1]:
        assert isinstance(record, types.Record)
        between = record.fields[position]
        base, arrow, record = tree.Member(between.type, place, base, between.name, arrow), False, between.type
    return tree.Member(of, place, base, field.spelling, arrow)


def _cast(body: Body, cursor: Cursor) -> Expression:
    place, of = body.at(cursor), body.type(cursor)
    body.text.bracketed()
    *_, inner = clang.children(cursor)
    return tree.Cast(of, place, read(body, inner))


def _compound(body: Body, cursor: Cursor) -> Expression:
    body.at(cursor)
    body.text.bracketed()
    *_, inner = clang.children(cursor)
    return body.initial(body, inner, body.type(cursor))


def _list(body: Body, cursor: Cursor) -> Expression:
    body.at(cursor)
    return body.initial(body, cursor, body.type(cursor))


def _size(body: Body, cursor: Cursor) -> Expression:
    """`sizeof`, `alignof`, `vec_step`."""
    body.text.next()
    operands = clang.children(cursor)
    for operand in operands:
        read(body, operand)
    if not operands:
        body.text.bracketed()
    return literals.constant(body, cursor)


def _braced(body: Body, cursor: Cursor) -> Expression:
    place, of = body.at(cursor), body.type(cursor)
    (inner,) = clang.children(cursor)
    body.text.take("(")
    block = body.statement(body, inner)
    body.text.take(")")
    assert isinstance(block, tree.Block)
    return tree.Braced(of, place, block)


def _unexposed(body: Body, cursor: Cursor) -> Expression:
    """What libclang has no kind for: conversions that C makes, swizzles, and a few built-in forms."""
    parts = clang.children(cursor)
    special = _BUILT_IN.get(body.text.peek())
    if special is not None and not (parts and clang.begins_with(cursor, parts[0])):
        return special(body, cursor)
    if len(parts) != 1:
        raise refusals.at(body.at(cursor), "an expression of one compiler's own; write it in OpenCL C")
    value = read(body, parts[0])
    return _swizzle(body, cursor, value) or _implicit(body, cursor, value)


def _implicit(body: Body, cursor: Cursor, value: Expression) -> Expression:
    if isinstance(value.type, types.Pointer):
        return converted(value, body.result_type(cursor, value))
    return converted(value, body.type(cursor))


def _swizzle(body: Body, cursor: Cursor, value: Expression) -> Expression | None:
    """`value.xy` where the text goes on so and the type fits; `value` may be a pointer (`->` is printed as a dot)."""
    if body.text.peek() != ".":
        return None
    vector = value.type.pointee if isinstance(value.type, types.Pointer) else value.type
    if not isinstance(vector, types.Vector):
        return None
    named = components(body.text.peek(1), vector.count)
    of = body.type(cursor)
    fits = named and of == (vector.element if len(named) == 1 else types.Vector(vector.element, len(named)))
    if not named or not fits:
        return None
    body.text.next()
    body.text.next()
    place = body.at(cursor)
    base = tree.Unary(vector, place, "*", value) if value.type is not vector else value
    return tree.Swizzle(of, place, base, named)


def _as_type(body: Body, cursor: Cursor) -> Expression:
    """`as_float(x)`: a macro of the base header, which clang checks."""
    place, of = body.at(cursor), body.type(cursor)
    return tree.Call(of, place, f"as_{of}", (_before_type(body, cursor),), None)


def _before_type(body: Body, cursor: Cursor) -> Expression:
    """The first argument of a built-in form whose second one is a type."""
    body.text.next()
    body.text.take("(")
    value = read(body, clang.children(cursor)[0])
    body.text.until(")")
    body.text.take(")")
    return value


def _offset(body: Body, cursor: Cursor) -> Expression:
    body.text.next()
    body.text.bracketed()
    return literals.constant(body, cursor)


def _convert(body: Body, cursor: Cursor) -> Expression:
    """`__builtin_convertvector(x, type)`."""
    place, of = body.at(cursor), body.type(cursor)
    return tree.Cast(of, place, _before_type(body, cursor))


def _call(body: Body, cursor: Cursor) -> Expression:
    place, of, declared = body.at(cursor), body.type(cursor), cursor.referenced
    if declared is None or clang.kind(declared) != "FUNCTION_DECL":
        raise refusals.at(place, "a call through a pointer; call the functions by name, chosen by if or switch")
    name = declared.spelling
    body.text.take(name)
    body.text.take("(")
    arguments = tuple(_arguments(body, clang.children(cursor)[1:]))
    body.text.take(")")
    if name in _DEVICE_ENQUEUE:
        raise refusals.at(place, f"{name}; launch the second kernel from the host")
    if name.startswith("__builtin_"):
        return _built_in(body, cursor, place, name, arguments)
    function = body.function(declared)
    if function is not None:
        body.calls.setdefault(function, place)
    return tree.Call(of, place, name, arguments, function)


def _arguments(body: Body, cursors: list[Cursor]) -> list[Expression]:
    arguments = []
    for i, cursor in enumerate(cursors):
        if i:
            body.text.take(",")
        arguments.append(read(body, cursor))
    return arguments


def _built_in(
    body: Body, cursor: Cursor, place: SourceLocation, name: str, arguments: tuple[Expression, ...]
) -> Expression:
    """One of clang's own functions."""
    of = body.type(cursor)
    value = clang.evaluated(cursor)
    if value is not None and isinstance(of, types.Scalar):
        return literals.number(of, place, value)
    return substitutes.call(name, of, place, arguments)


_DEVICE_ENQUEUE = {
    "enqueue_kernel",
    "enqueue_marker",
    "get_default_queue",
    "get_kernel_work_group_size",
    "get_kernel_preferred_work_group_size_multiple",
    "get_kernel_sub_group_count_for_ndrange",
    "get_kernel_max_sub_group_size_for_ndrange",
}
_BUILT_IN: dict[str, Callable[[Body, Cursor], Expression]] = {
    "__builtin_astype": _as_type,
    "__builtin_offsetof": _offset,
    "__builtin_convertvector": _convert,
}
_READERS: dict[str, Callable[[Body, Cursor], Expression]] = {
    "UNEXPOSED_EXPR": _unexposed,
    "PAREN_EXPR": _parenthesised,
    "DECL_REF_EXPR": _name,
    "MEMBER_REF_EXPR": _member,
    "CALL_EXPR": _call,
    "ARRAY_SUBSCRIPT_EXPR": _subscript,
    "UNARY_OPERATOR": _unary,
    "BINARY_OPERATOR": _binary,
    "COMPOUND_ASSIGNMENT_OPERATOR": _binary,
    "CONDITIONAL_OPERATOR": _choice,
    "CSTYLE_CAST_EXPR": _cast,
    "COMPOUND_LITERAL_EXPR": _compound,
    "INIT_LIST_EXPR": _list,
    "INTEGER_LITERAL": literals.literal,
    "FLOATING_LITERAL": literals.literal,
    "CHARACTER_LITERAL": literals.literal,
    "CXX_BOOL_LITERAL_EXPR": literals.literal,
    "STRING_LITERAL": literals.string,
    "CXX_UNARY_EXPR": _size,
    "StmtExpr": _braced,
    "STMT_EXPR": _braced,
}

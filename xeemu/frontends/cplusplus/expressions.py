"""Expressions: cursors of C++ expressions as the tree's, references followed, temporaries made."""

from collections.abc import Callable

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import calls, closures, copies, heap, initializers, lvalues
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.closures import constant
from xeemu.frontends.cplusplus.lvalues import (
    address,
    converted,
    copied,
    dereferenced,
    is_lvalue,
    lvalue,
    materialized,
    through,
)
from xeemu.frontends.cplusplus.records import is_reference
from xeemu.frontends.parsing import clang, layouts
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number, unquoted, zero
from xeemu.frontends.parsing.swizzles import components
from xeemu.frontends.tree import Expression
from xeemu.frontends.types import Type

_COMPARISONS = ("<", ">", "<=", ">=", "==", "!=")


def read(body: Body, cursor: Cursor) -> Expression:
    """An expression."""
    reader = _READERS.get(clang.kind(cursor))
    if reader is None:
        raise refusals.at(body.at(cursor), _other(clang.kind(cursor)))
    return reader(body, cursor)


def _other(kind: str) -> str:
    """The message for what has no reader."""
    match kind:
        case "CXX_TYPEID_EXPR" | "CXX_DYNAMIC_CAST_EXPR":
            return "types at run time; write a template"
        case "BUILTIN_BIT_CAST_EXPR":
            return "__builtin_bit_cast, whose type the parser does not tell; write sycl::bit_cast or std::bit_cast"
        case "OverloadedDeclRef" | "OVERLOADED_DECL_REF":
            return "a function that is not made out; name its template arguments"
    return f"an expression that is not followed (clang's {kind}); write it otherwise"


def _inner(body: Body, cursor: Cursor) -> Expression:
    return read(body, clang.children(cursor)[-1])


def name(body: Body, cursor: Cursor) -> Expression:
    place, declared = body.at(cursor), cursor.referenced
    parts = clang.children(cursor)
    if not cursor.spelling and parts:  # a template's argument
        return converted(read(body, parts[-1]), body.type(cursor))
    kind = clang.kind(declared) if declared is not None else ""
    if kind == "ENUM_CONSTANT_DECL":
        return number(body.type(cursor), place, declared.enum_value)
    if kind == "TEMPLATE_NON_TYPE_PARAMETER":
        return literals_of(body, cursor)
    if kind in ("FUNCTION_DECL", "CXX_METHOD"):
        return tree.Callee(types.Opaque("a function"), place, declared.spelling, lambda: body.function(declared))
    return _variable(body, cursor, declared)


def _variable(body: Body, cursor: Cursor, declared: Cursor) -> Expression:
    place = body.place
    captured = body.captured(declared)
    if captured is not None:
        return captured
    given = body.given.get(clang.key(declared))
    if given is not None:
        return given
    variable = body.variables.get(clang.key(declared))
    if variable is None:
        of = declared.type.get_canonical()
        value = constant(declared) if of.is_const_qualified() else None
        if value is not None and isinstance(body.type(cursor), types.Scalar):
            return number(body.type(cursor), place, value)
        if not (closures.is_static(declared) or closures.is_known(declared)):
            what = f"the variable {cursor.spelling}, whose declaration the parser does not show"
            raise refusals.at(place, f"{what}; declare it before the loop or statement in whose head it is")
        variable = body.outer(declared)
    if variable is None:
        raise refusals.at(place, f"the variable {cursor.spelling} has no declaration that can be read here")
    found = tree.Name(variable.type, place, variable)
    return dereferenced(found) if is_reference(declared.type) else found


def literals_of(body: Body, cursor: Cursor) -> Expression:
    """A number that clang knows."""
    place, of = body.at(cursor), body.type(cursor)
    value = clang.evaluated(cursor)
    if value is None:
        raise refusals.at(place, "clang does not tell this constant's value; write the number")
    return number(of, place, value)


def _string(body: Body, cursor: Cursor) -> Expression:
    return tree.Text(body.type(cursor), body.at(cursor), unquoted(cursor.spelling))


def _null(body: Body, cursor: Cursor) -> Expression:
    return zero(types.Pointer(types.VOID, "generic"), body.at(cursor))


def _this(body: Body, cursor: Cursor) -> Expression:
    body.at(cursor)
    return address(body.object())


def member(body: Body, cursor: Cursor) -> Expression:
    """`base.name`, `base->name`, or a member of this."""
    place, declared = body.at(cursor), cursor.referenced
    parts = clang.children(cursor)
    if clang.kind(declared) == "VAR_DECL":  # static
        return _variable(body, cursor, declared)
    if clang.kind(declared) == "ENUM_CONSTANT_DECL":
        return number(body.type(cursor), place, declared.enum_value)
    base = read(body, parts[-1]) if parts else body.object()
    if isinstance(base.type, types.Pointer):
        base = dereferenced(base)
    if not layouts.is_named(declared):
        return base
    field = field_of(lvalue(base), declared.spelling, place)
    return dereferenced(field) if is_reference(declared.type) else field


def field_of(base: Expression, spelling: str, place: tree.SourceLocation) -> Expression:
    """A field of a class, through its bases and nameless parts."""
    path = layouts.path(base.type, spelling)
    if not path:
        raise refusals.at(place, f"the member {spelling} of {base.type}, which is not found")
    for position in path:
        assert isinstance(base.type, types.Record)
        field = base.type.fields[position]
        base = lvalues.member(field.type, place, base, field.name)
    return base


def _unary(body: Body, cursor: Cursor) -> Expression:
    place, op = body.at(cursor), clang.unary_operator(cursor)
    operand = read(body, clang.children(cursor)[-1])
    match op:
        case "p++" | "p--":
            return tree.Step(operand.type, place, op[1:], lvalue(operand), False)
        case "++" | "--":
            return tree.Step(operand.type, place, op, lvalue(operand), True)
        case "&" | "*" if isinstance(operand.type, types.Opaque):  # a function, and a pointer to it
            return operand
        case "&":
            return address(lvalue(operand))
        case "*":
            if isinstance(operand.type, types.Array):
                return tree.Subscript(operand.type.element, place, operand, number(types.INT, place, 0))
            return dereferenced(operand)
        case "__extension__":
            return operand
        case "+" | "-" | "~" | "!":
            return tree.Unary(body.type_of(cursor), place, op, operand)
    raise refusals.at(place, f"the operator {op or 'of one compiler'}; write it otherwise")


def _binary(body: Body, cursor: Cursor) -> Expression:
    place, op = body.at(cursor), clang.binary_operator(cursor)
    left, right = (read(body, c) for c in clang.children(cursor)[-2:])
    if op.endswith("=") and op not in _COMPARISONS:
        target = lvalue(left)
        value = converted(right, target.type) if op == "=" else right
        return tree.Assignment(target.type, place, op[:-1], target, value)
    if op in (".*", "->*", "<=>", ""):
        raise refusals.at(place, f"the operator {op or 'of one compiler'}; write it otherwise")
    of = right.type if op == "," else body.type_of(cursor)
    if isinstance(of, types.Array):  # libclang's type of a sum with a parameter that is declared as an array
        of = next((side.type for side in (left, right) if isinstance(side.type, types.Pointer)), of)
    return tree.Binary(of, place, op, left, right)


def _choice(body: Body, cursor: Cursor) -> Expression:
    place, of = body.at(cursor), body.type_of(cursor)
    condition, then, otherwise = (read(body, c) for c in clang.children(cursor))
    sides = (converted(then, of), converted(otherwise, of))
    return tree.Choice(of, place, condition, *sides)


def _subscript(body: Body, cursor: Cursor) -> Expression:
    place, of = body.at(cursor), body.type_of(cursor)
    base, index = (read(body, c) for c in clang.children(cursor))
    if isinstance(base.type, types.Scalar):  # `2[a]`
        base, index = index, base
    if isinstance(base, tree.Cast) and isinstance(base.operand.type, types.Array):  # decayed
        base = base.operand
    return lvalues.subscript(of, place, base, index)


def _cast(body: Body, cursor: Cursor) -> Expression:
    """`(T)x`, `T(x)`, `T{x}`, `static_cast<T>(x)` and its like."""
    place = body.at(cursor)
    inner = clang.children(cursor)[-1]
    if is_reference(cursor.type):
        return _as_base(lvalue(read(body, inner)), body.type_of(cursor))
    of = body.type_of(cursor)
    if clang.kind(inner) == "INIT_LIST_EXPR":
        return initializers.of_type(body, inner, of)
    value = read(body, inner)
    if isinstance(of, types.Void):
        return tree.Cast(of, place, value)
    return converted(value, of)


def _as_base(value: Expression, of: Type) -> Expression:
    path = types.base_path(value.type, of)
    return through(value, path) if path else value


def _list(body: Body, cursor: Cursor) -> Expression:
    of = body.type_of(cursor)
    if isinstance(of, types.Record | types.Array | types.Vector):
        return initializers.listed(body, cursor, of)
    parts = clang.children(cursor)
    return initializers.of_type(body, parts[0], of) if parts else zero(of, body.at(cursor))


def _lambda(body: Body, cursor: Cursor) -> Expression:
    """A closure: what it captures, by value or as addresses."""
    place = body.at(cursor)
    closure = body.records.add(cursor)
    of = body.type(cursor)
    assert isinstance(of, types.Record)
    items = [_captured(body, c) for c in closure.captures.values()]
    captures = closure.captures.values()
    given = [address(i) if c.reference else _held(body, i, c) for i, c in zip(items, captures, strict=True)]
    return tree.Initializer(of, place, tuple(given))


def _held(body: Body, value: Expression, capture: closures.Capture) -> Expression:
    """A copy that a lambda has."""
    of = capture.cursor.type
    if is_lvalue(value) and isinstance(value.type, types.Record) and capture.name != "this" and not is_reference(of):
        return copies.copied(body, value, of)
    return copied(value)


def _captured(body: Body, capture: closures.Capture) -> Expression:
    """What a lambda captures: a variable, or the value that its capture has in it."""
    if capture.name == "this":
        return body.object()
    known = body.captured(capture.cursor) or body.given.get(clang.key(capture.cursor))
    if known is not None:
        return known
    variable = body.variables.get(clang.key(capture.cursor))
    if variable is None:
        first = clang.initializer(capture.cursor)
        if first is None:
            raise refusals.at(body.place, f"the variable {capture.name}, which is captured, is not declared here")
        return initializers.value(body, first, capture.cursor)
    found = tree.Name(variable.type, body.place, variable)
    return dereferenced(found) if is_reference(capture.cursor.type) else found


def _unexposed(body: Body, cursor: Cursor) -> Expression:
    """What libclang has no kind for: conversions, temporaries, default arguments, values without one."""
    parts = clang.children(cursor)
    if not parts:
        return zero(body.type_of(cursor), body.at(cursor))
    of = body.type_of(cursor)
    if isinstance(of, types.Array) and len(parts) == 2:  # a copy: of the array, and how each element is made
        return copied(read(body, parts[0]))
    value = read(body, parts[-1])
    if isinstance(value, tree.Initializer) and isinstance(value.type, types.Array) and isinstance(of, types.Record):
        return _initializer_list(value, of)
    if isinstance(value.type, types.Vector) and isinstance(of, types.Scalar | types.Vector) and of != value.type:
        return _swizzled(body, cursor, value, of)
    if isinstance(of, types.Opaque) or (
        isinstance(of, types.Array) and isinstance(value.type, types.Array | types.Pointer)
    ):
        return value  # also a parameter that is declared as an array, and is a pointer
    return converted(value, of)


def _initializer_list(value: tree.Initializer, of: types.Record) -> Expression:
    """`std::initializer_list`: the address of a list's elements, and how many there are."""
    assert isinstance(value.type, types.Array)
    pointer, size = (f.type for f in of.fields)
    first = tree.Cast(pointer, value.place, materialized(value))
    return tree.Initializer(of, value.place, (first, number(size, value.place, value.type.count)))


def _swizzled(body: Body, cursor: Cursor, value: Expression, of: Type) -> Expression:
    """Components of a vector of clang's, which only the text names."""
    tokens = [t.spelling for t in cursor.get_tokens()]
    assert isinstance(value.type, types.Vector)
    numbers = components(tokens[-1], value.type.count) if len(tokens) > 1 and tokens[-2] == "." else None
    if numbers:
        return tree.Swizzle(of, body.at(cursor), value, numbers)
    return converted(value, of)


def _braced(body: Body, cursor: Cursor) -> Expression:
    """`({ ... })`: statements, of which the last one's value is that of the whole."""
    place, of = body.at(cursor), body.type_of(cursor)
    return tree.Braced(of, place, body.readers.block(body, clang.children(cursor)[-1]))


def _as_class(body: Body, cursor: Cursor) -> Expression:
    return calls.read(body, cursor)


_READERS: dict[str, Callable[[Body, Cursor], Expression]] = {
    "UNEXPOSED_EXPR": _unexposed,
    "PAREN_EXPR": _inner,
    "DECL_REF_EXPR": name,
    "MEMBER_REF_EXPR": member,
    "CALL_EXPR": _as_class,
    "ARRAY_SUBSCRIPT_EXPR": _subscript,
    "UNARY_OPERATOR": _unary,
    "BINARY_OPERATOR": _binary,
    "COMPOUND_ASSIGNMENT_OPERATOR": _binary,
    "CONDITIONAL_OPERATOR": _choice,
    "CSTYLE_CAST_EXPR": _cast,
    "CXX_FUNCTIONAL_CAST_EXPR": _cast,
    "CXX_STATIC_CAST_EXPR": _cast,
    "CXX_CONST_CAST_EXPR": _cast,
    "CXX_REINTERPRET_CAST_EXPR": _cast,
    "StmtExpr": _braced,
    "STMT_EXPR": _braced,
    "CXX_THIS_EXPR": _this,
    "CXX_NULL_PTR_LITERAL_EXPR": _null,
    "CXX_NEW_EXPR": heap.new,
    "CXX_DELETE_EXPR": heap.delete,
    "CXX_THROW_EXPR": heap.throw,
    "GNU_NULL_EXPR": _null,
    "INIT_LIST_EXPR": _list,
    "LAMBDA_EXPR": _lambda,
    "INTEGER_LITERAL": literals_of,
    "FLOATING_LITERAL": literals_of,
    "CHARACTER_LITERAL": literals_of,
    "CXX_BOOL_LITERAL_EXPR": literals_of,
    "STRING_LITERAL": _string,
    "CXX_UNARY_EXPR": literals_of,
    "SIZE_OF_PACK_EXPR": literals_of,
    "REQUIRES_EXPR": literals_of,
}

"""Iterators: loops over ranges whose iterators are objects of a class, by its `!=` (or `==`) and `++`."""

from collections.abc import Iterator

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression


def differs(body: Body, of: types.Record, begin: Expression, end: Expression) -> Expression:
    """True if two iterators are not the same."""
    for name in ("operator!=", "operator=="):
        for method in _operators(body, of, name):
            function = body.function(method)
            if function is None or len(function.parameters) != 2:
                continue
            pairs = zip((begin, end), function.parameters, strict=True)
            given = tuple(address(a) if isinstance(p.type, types.Pointer) else a for a, p in pairs)
            same = tree.Call(types.BOOL, body.place, name, given, function)
            return same if name == "operator!=" else tree.Unary(types.BOOL, body.place, "!", same)
    raise refusals.at(body.place, _untold(of, "!="))


def advanced(body: Body, of: types.Record, begin: Expression) -> Expression:
    """`++` of an iterator."""
    for method in _operators(body, of, "operator++"):
        function = body.function(method)
        if function is not None and len(function.parameters) == 1:
            return tree.Call(function.result, body.place, "operator++", (address(begin),), function)
    raise refusals.at(body.place, _untold(of, "++"))


def _untold(of: types.Record, op: str) -> str:
    what = f"a loop over a range whose iterators are of the class {of.name}, of which the parser tells no operator {op}"
    return f"{what}; write a loop with an index, or the class without a template"


def _operators(body: Body, of: types.Record, name: str) -> Iterator[Cursor]:
    """The operators of a class, its bases and its friends."""
    declaration = body.records.declared.get(of)
    pending = [] if declaration is None else [declaration]
    while pending:
        one = pending.pop()
        for part in one.get_children():
            friends = list(part.get_children()) if clang.kind(part) == "FRIEND_DECL" else [part]
            yield from (c for c in friends if c.spelling == name and clang.kind(c) in ("CXX_METHOD", "FUNCTION_DECL"))
        pending += [base.get_declaration() for base in body.records.bases.of(one, body.place)]

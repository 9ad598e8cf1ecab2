"""Ranges: `for (T x : range)` as a loop with an index."""

import dataclasses
from collections.abc import Callable

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import bindings, initializers, iterators
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.cplusplus.lvalues import address, dereferenced, is_lvalue, is_simple, unnamed
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, SourceLocation, Statement, Variable

_Reader = Callable[[Body, Cursor], Statement]


@dataclasses.dataclass(frozen=True)
class _Extent:
    """What a loop goes over.

    Attributes:
      first: the array, or the address of the first element.
      count: of elements.
      before: what is declared before the loop.
    """

    first: Expression
    count: Expression
    before: tuple[Statement, ...] = ()


@dataclasses.dataclass(frozen=True)
class _Iterators:
    """What a loop goes over by iterators that are objects.

    Attributes:
      begin, end: variables that hold the iterators.
      before: what is declared before the loop.
    """

    begin: Variable
    end: Variable
    before: tuple[Statement, ...] = ()


def loop(body: Body, cursor: Cursor, statement: _Reader) -> Statement:
    """The statements of a loop over a range; `statement` reads what is repeated."""
    place = body.at(cursor)
    *head, declared, over, repeated = clang.children(cursor)
    before = tuple(statement(body, c) for c in head)
    items = _listed(over)
    if items and isinstance(body.type_of(items[0]), types.Pointer):
        parts = tuple(_once(body, declared, item, repeated, statement) for item in items)
        return tree.Block(place, (*before, *parts))
    extent = _extent(body, declared, over)
    if isinstance(extent, _Iterators):
        return tree.Block(place, (*before, *extent.before, _iterated(body, extent, declared, repeated, statement)))
    return tree.Block(place, (*before, *extent.before, _indexed(body, extent, declared, repeated, statement)))


def _listed(over: Cursor) -> list[Cursor] | None:
    """The items of a list in braces; None of anything else."""
    while clang.kind(over) == "UNEXPOSED_EXPR":
        parts = clang.children(over)
        if len(parts) != 1:
            return None
        over = parts[0]
    return clang.children(over) if clang.kind(over) == "INIT_LIST_EXPR" else None


def _once(body: Body, declared: Cursor, item: Cursor, repeated: Cursor, statement: _Reader) -> Statement:
    """What is repeated for one pointer of a list: no array holds it."""
    for part in repeated.walk_preorder():
        if clang.kind(part) == "BREAK_STMT":
            raise refusals.at(clang.place(part), "break in a loop over a list of pointers; write a loop over an array")
    value = initializers.value(body, item, declared)
    made = Variable(declared.spelling, value.type, "private", body.at(declared), lambda: value)
    body.variables[clang.key(declared)] = made
    never = number(types.BOOL, body.place, 0)
    inner = tree.Loop(body.place, None, never, None, statement(body, repeated), after=True)
    return tree.Block(body.place, (tree.Declaration(body.place, (made,)), inner))


def _indexed(body: Body, extent: _Extent, declared: Cursor, repeated: Cursor, statement: _Reader) -> Statement:
    place, of = body.place, extent.count.type
    index = unnamed("<index>", number(of, place, 0))
    at = tree.Name(of, place, index)
    first = extent.first.type
    assert isinstance(first, types.Pointer | types.Array)
    element = first.pointee if isinstance(first, types.Pointer) else first.element
    iterator = _iterator(declared)
    if iterator is not None:
        body.given[clang.key(iterator)] = address(tree.Subscript(element, place, extent.first, at))
    inner = tree.Block(place, (_declaration(body, declared), statement(body, repeated)))
    condition = tree.Binary(types.BOOL, place, "<", at, extent.count)
    step = tree.Step(of, place, "++", at, True)
    return tree.Loop(place, tree.Declaration(place, (index,)), condition, step, inner)


def _iterated(body: Body, extent: _Iterators, declared: Cursor, repeated: Cursor, statement: _Reader) -> Statement:
    place, of = body.place, extent.begin.type
    begin, end = (tree.Name(of, place, v) for v in (extent.begin, extent.end))
    iterator = _iterator(declared)
    assert iterator is not None
    assert isinstance(of, types.Record)
    body.given[clang.key(iterator)] = begin
    condition, step = iterators.differs(body, of, begin, end), iterators.advanced(body, of, begin)
    inner = tree.Block(place, (_declaration(body, declared), statement(body, repeated)))
    return tree.Loop(place, None, condition, step, inner)


def _declaration(body: Body, declared: Cursor) -> Statement:
    """The loop's variable, whose first value is what clang's iterator points to."""
    place = body.at(declared)
    if bindings.is_binding(declared):
        return tree.Declaration(place, tuple(bindings.variables(body, declared)))
    first = clang.initializer(declared)
    assert first is not None
    value = initializers.value(body, first, declared)
    made = Variable(declared.spelling, value.type, "private", place, lambda: value)
    body.variables[clang.key(declared)] = made
    return tree.Declaration(place, (made,))


def _iterator(declared: Cursor) -> Cursor | None:
    """The variable of clang's that goes over the range."""
    for part in declared.walk_preorder():
        if clang.kind(part) == "DECL_REF_EXPR" and part.spelling.startswith("__begin"):
            return part.referenced
    return None


def _extent(body: Body, declared: Cursor, over: Cursor) -> _Extent | _Iterators:
    place = body.at(over)
    items = _listed(over)
    if items is not None:
        return _of_list(body, over, items, place)
    value = body.read(over)
    if is_simple(value):
        return _of(body, value, declared)
    kept = unnamed("<range>", address(value) if is_lvalue(value) else value)
    name: Expression = tree.Name(kept.type, place, kept)
    found = _of(body, dereferenced(name) if is_lvalue(value) else name, declared)
    return dataclasses.replace(found, before=(tree.Declaration(place, (kept,)), *found.before))


def _of_list(body: Body, over: Cursor, items: list[Cursor], place: SourceLocation) -> _Extent:
    """A list in braces, as an array."""
    values = [body.read(item) for item in items]
    of = types.Array(values[0].type, len(values))
    kept = Variable("<list>", of, "private", place, lambda: tree.Initializer(of, place, tuple(values)))
    before = tree.Declaration(place, (kept,))
    return _Extent(tree.Name(of, place, kept), number(types.INT, place, len(values)), (before,))


def _of(body: Body, source: Expression, declared: Cursor) -> _Extent | _Iterators:
    place = source.place
    if isinstance(source.type, types.Array):
        return _Extent(source, number(types.INT, place, source.type.count))
    if isinstance(source.type, types.Record) and source.type.name.startswith("std::"):
        return _of_ours(source, source.type)
    iterator = _iterator(declared)
    begin = None if iterator is None else clang.initializer(iterator)
    if begin is None:
        raise refusals.at(body.place, f"a loop over a {source.type}; write one with an index")
    return _of_methods(body, source, begin)


def _of_ours(source: Expression, of: types.Record) -> _Extent:
    """A class of our headers: its first field is the array, or the address of the elements, and the next the count."""
    first = of.fields[0]
    part = tree.Member(first.type, source.place, source, first.name, False)
    if isinstance(first.type, types.Array):
        return _Extent(part, number(types.INT, source.place, first.type.count))
    if isinstance(first.type, types.Record):  # a container that is kept in another one
        return _of_ours(part, first.type)
    count = of.fields[1]
    return _Extent(part, tree.Member(count.type, source.place, source, count.name, False))


def _of_methods(body: Body, source: Expression, begin: Cursor) -> _Extent | _Iterators:
    """A class with `begin()` and `end()`, which give pointers, or iterators that are objects."""
    place = source.place
    for part in begin.walk_preorder():
        if clang.kind(part) == "DECL_REF_EXPR" and part.spelling.startswith("__range"):
            body.given[clang.key(part.referenced)] = source
    first = body.read(begin)
    end = _end(body, source, begin)
    if isinstance(first.type, types.Record) and end is not None and end.type == first.type:
        begun, ended = unnamed("<begin>", first), unnamed("<end>", end)
        return _Iterators(begun, ended, (tree.Declaration(place, (begun, ended)),))
    if not isinstance(first.type, types.Pointer) or end is None:
        raise refusals.at(body.place, f"a loop over a {source.type} by its iterators; write one with an index")
    start = unnamed("<begin>", first)
    name = tree.Name(first.type, place, start)
    count = unnamed("<count>", tree.Binary(types.LONG, place, "-", end, name))
    before = (tree.Declaration(place, (start, count)),)
    return _Extent(name, tree.Name(types.LONG, place, count), before)


def _end(body: Body, source: Expression, begin: Cursor) -> Expression | None:
    """The value of a class's `end()`; None where the parser does not show it, as of an instance of a template."""
    callee = begin.referenced
    parent = callee.semantic_parent if callee is not None else None
    for method in parent.get_children() if parent is not None else ():
        if method.spelling == "end" and clang.kind(method) == "CXX_METHOD":
            function = body.function(method)
            of = body.records.type(method.result_type, method, body.place)
            return tree.Call(of, source.place, "end", (address(source),), function)
    return None

"""Initializers: `{...}` in the order of the elements and fields, as C reads it.

Designators are put in order, left out braces are put in, what lies between is zero; what is left out at the end stays
out. Every item has the type of its element.
"""

import dataclasses
from collections.abc import Sequence

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.parsing import clang, expressions, layouts, literals
from xeemu.frontends.parsing.bodies import Body, converted
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import Expression, SourceLocation
from xeemu.frontends.types import Type

_LISTS = ("INIT_LIST_EXPR",)
_Aggregate = types.Array | types.Record


@dataclasses.dataclass
class _Slots:
    """An array or record whose items come in any order."""

    type: _Aggregate
    place: SourceLocation
    items: "dict[int, Expression | _Slots]"

    def frozen(self) -> Expression:
        """The items in order, zero where one is missing before the last."""
        if isinstance(self.type, types.Record) and self.type.union:
            return self._of_union(self.type)
        count = max(self.items, default=-1) + 1
        items = tuple(self._item(i) for i in range(count))
        return tree.Initializer(self.type, self.place, items)

    def _item(self, index: int) -> Expression:
        found = self.items.get(index)
        if isinstance(found, _Slots):
            return found.frozen()
        return literals.zero(_element(self.type, index), self.place) if found is None else found

    def _of_union(self, of: types.Record) -> Expression:
        for index in self.items:
            return tree.Initializer(of, self.place, (self._item(index),), of.fields[index].name)
        return tree.Initializer(of, self.place, ())


class _Stream:
    """The items of one pair of braces."""

    def __init__(self, cursors: Sequence[Cursor]):
        self._cursors = list(cursors)

    @property
    def done(self) -> bool:
        return not self._cursors

    @property
    def first(self) -> Cursor:
        return self._cursors[0]

    def take(self) -> Cursor:
        return self._cursors.pop(0)


def value(body: Body, cursor: Cursor, to: Type) -> Expression:
    """What a variable of a type is first, or an argument: an expression or a list in braces."""
    if clang.kind(cursor) in _LISTS:
        return listed(body, cursor, to)
    read = expressions.read(body, cursor)
    if isinstance(to, types.Array) and isinstance(read, tree.Text):
        return _characters(read, to)
    return converted(read, to)


def listed(body: Body, cursor: Cursor, to: Type) -> Expression:
    """A list in braces (of a vector also in parentheses) for a type."""
    place = body.at(cursor)
    stream = _Stream(clang.children(cursor))
    opening = body.text.next()
    read = _braced(body, place, stream, to)
    body.text.skip(",")
    body.text.take("}" if opening == "{" else ")")
    return read


def _braced(body: Body, place: SourceLocation, stream: _Stream, to: Type) -> Expression:
    if isinstance(to, types.Vector):
        return _vector(body, place, stream, to)
    if isinstance(to, types.Array) and not stream.done and clang.kind(stream.first) == "STRING_LITERAL":
        return value(body, stream.take(), to)
    if isinstance(to, types.Array | types.Record):
        slots = _Slots(to, place, {})
        _fill(body, stream, slots, braces=True)
        return slots.frozen()
    if stream.done:
        return literals.zero(to, place)
    return value(body, stream.take(), to)


def _vector(body: Body, place: SourceLocation, stream: _Stream, to: types.Vector) -> Expression:
    """Numbers and vectors one after the other; zeros for those that a list around it does not hold any more."""
    items: list[Expression] = []
    count = 0
    while not stream.done and count < to.count:
        item = expressions.read(body, stream.take())
        body.text.skip(",")
        many = item.type.count if isinstance(item.type, types.Vector) else 1
        count += many
        items.append(item if many > 1 else converted(item, to.element))
    items += [literals.zero(to.element, place)] * (to.count - count)
    return tree.Initializer(to, place, tuple(items))


def _fill(body: Body, stream: _Stream, slots: _Slots, braces: bool) -> None:
    """Items for an array or record, in its own braces or (`braces` false) in those of what it is in."""
    index = 0
    while not stream.done:
        if body.text.peek() in (".", "["):
            if not braces:
                return
            index = _designated(body, stream.take(), slots) + 1
        elif index >= _count(slots.type):
            return
        else:
            slots.items[index] = _next(body, stream, _element(slots.type, index))
            index = _count(slots.type) if _is_union(slots.type) else index + 1
        body.text.skip(",")


def _next(body: Body, stream: _Stream, to: Type) -> "Expression | _Slots":
    """The item for one element, which takes several of the list where its braces are left out."""
    place = body.at(stream.first)
    own = body.type(stream.first) if clang.kind(stream.first) not in _LISTS else to
    # A number is converted to a vector before braces are taken to be left out: it fills all of it.
    bare = isinstance(to, types.Record) and own != to
    bare |= isinstance(to, types.Array) and not isinstance(own, types.Array)
    if not bare:
        return value(body, stream.take(), to)
    assert isinstance(to, types.Array | types.Record)
    inner = _Slots(to, place, {})
    _fill(body, stream, inner, braces=False)
    return inner


def _designated(body: Body, cursor: Cursor, slots: _Slots) -> int:
    """Puts `.field = value` or `[index] = value` in its place; gives the last position in `slots` that it fills."""
    place = body.at(cursor)
    *indices, last = clang.children(cursor)
    path = _path(body, indices, place, slots.type)
    body.text.skip("=")
    item = value(body, last, path[-1][1])
    _put(slots, [positions for positions, _ in path], item)
    return path[0][0][-1]


def _path(body: Body, indices: list[Cursor], place: SourceLocation, of: Type) -> list[tuple[range, Type]]:
    """The positions that designators name, outermost first, each with the type there."""
    path: list[tuple[range, Type]] = []
    while body.text.peek() in (".", "["):
        if body.text.peek() == "[":
            numbers = [_index(indices.pop(0), place) for _ in range(1 + ("..." in body.text.bracketed()))]
            positions = [range(numbers[0], numbers[-1] + 1)]
        else:
            body.text.next()
            positions = [range(i, i + 1) for i in layouts.path(of, body.text.next())]
        for position in positions:
            assert isinstance(of, types.Array | types.Record)
            of = _element(of, position.start)
            path.append((position, of))
    return path


def _index(cursor: Cursor, place: SourceLocation) -> int:
    found = clang.evaluated(cursor)
    if found is None:
        raise refusals.at(place, "clang does not tell this index; write the number")
    return int(found)


def _put(slots: _Slots, path: list[range], item: Expression) -> None:
    for index in path[0]:
        if _is_union(slots.type):
            slots.items = {i: old for i, old in slots.items.items() if i == index}
        if len(path) == 1:
            slots.items[index] = item
            continue
        inner = slots.items.get(index)
        if not isinstance(inner, _Slots):
            of = _element(slots.type, index)
            assert isinstance(of, types.Array | types.Record)
            inner = slots.items[index] = _Slots(of, slots.place, _opened(inner))
        _put(inner, path[1:], item)


def _opened(item: Expression | None) -> "dict[int, Expression | _Slots]":
    """The items of one that was given as a whole, of which a part is given again."""
    return dict(enumerate(item.items)) if isinstance(item, tree.Initializer) else {}


def _element(of: _Aggregate, index: int) -> Type:
    return of.element if isinstance(of, types.Array) else of.fields[index].type


def _count(of: _Aggregate) -> int:
    return of.count if isinstance(of, types.Array) else len(of.fields)


def _is_union(of: _Aggregate) -> bool:
    return isinstance(of, types.Record) and of.union


def _characters(text: tree.Text, to: types.Array) -> Expression:
    """An array of characters from a string literal."""
    element = to.element
    assert isinstance(element, types.Scalar)
    codes = [*text.value.encode("latin-1", "replace"), 0][: to.count]
    return tree.Initializer(to, text.place, tuple(literals.number(element, text.place, c) for c in codes))

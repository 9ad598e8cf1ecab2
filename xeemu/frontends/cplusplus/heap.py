"""Heap: `new`, `delete` and `throw`, as calls of functions that the host knows and no device has.

So are arrays whose size is computed, which compilers take: they are memory of the heap.
"""

import dataclasses
import itertools
import linecache
import re

from xeemu.frontends import callees, refusals, tree, types
from xeemu.frontends.cplusplus import initializers
from xeemu.frontends.cplusplus.bodies import Body
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, Variable

_WORD = re.compile(r"\w+|::|\S")
_LINES = 8
"""That are looked at behind the one of a `new`."""


def new(body: Body, cursor: Cursor) -> Expression:
    """`new T(x)`: a pointer to memory, into which the value is put; of arrays, a list's or none."""
    place, of = body.at(cursor), body.type(cursor)
    assert isinstance(of, types.Pointer)
    parts = clang.children(cursor)
    words = _words(cursor)
    given, behind = _placement(words)
    array = _is_array(words[behind:])
    before, parts = parts[:given], parts[given:]
    sizes = _count_of_sizes(words[behind:])
    parts = parts[max(sizes - 1, 0) :]  # the type's own sizes stand before the number of its elements
    count = body.read(parts.pop(0)) if array and parts else number(types.INT, place, 1)
    zeroed = (number(types.INT, place, 1),) if array and _is_initialised(words[behind:]) else ()
    made: Expression = tree.Call(of, place, "new", (count, *zeroed), None)
    at = body.read(before[0]) if len(before) == 1 else None
    if at is not None and isinstance(at.type, types.Pointer):
        made = tree.Cast(of, place, at)
    first = parts[-1] if parts else None
    if array and (first is None or clang.kind(first) != "INIT_LIST_EXPR"):
        value = initializers.by_class(body, cursor.type.get_canonical().get_pointee(), of.pointee)
        return made if value is None or not isinstance(made, tree.Call) else _repeated(made, count, value)
    if first is None:
        return made
    return _filled(body, made, first, types.Array(of.pointee, len(clang.children(first))) if array else of.pointee)


def _placement(words: list[str]) -> tuple[int, int]:
    """How many arguments stand between `new` and the type, and how many words that are."""
    depth, commas = 0, 0
    for k, (word, after) in enumerate(itertools.pairwise((*words, ")"))):
        depth += (word in "([{") - (word in ")]}")
        commas += word == "," and depth == 1
        if depth == 0:
            given = word == ")" and (after in ("(", "::") or after[:1].isidentifier())
            return (commas + 1, k + 1) if given else (0, 0)
    return 0, 0


def _filled(body: Body, made: Expression, first: Cursor, of: types.Type) -> Expression:
    """A pointer to new memory that holds a value."""
    place = made.place
    value = initializers.of_type(body, first, of)
    kept = Variable("<new>", made.type, "private", place, lambda: made)
    name = tree.Name(made.type, place, kept)
    whole = tree.Cast(types.Pointer(of, "generic"), place, name) if isinstance(of, types.Array) else name
    target = tree.Unary(of, place, "*", whole)
    steps = (
        tree.Declaration(place, (kept,)),
        tree.Evaluate(place, tree.Assignment(of, place, "", target, value)),
        tree.Evaluate(place, name),
    )
    return tree.Braced(made.type, place, tree.Block(place, steps))


def _repeated(made: tree.Call, count: Expression, value: Expression) -> Expression:
    """A pointer to new memory of which each element holds a value."""
    place = made.place
    size = Variable("<count>", types.LONG, "private", place, lambda: tree.Cast(types.LONG, place, count))
    length = tree.Name(types.LONG, place, size)
    kept = Variable("<new>", made.type, "private", place, lambda: dataclasses.replace(made, arguments=(length,)))
    name = tree.Name(made.type, place, kept)
    counter = Variable("<index>", types.LONG, "private", place, lambda: number(types.LONG, place, 0))
    index = tree.Name(types.LONG, place, counter)
    condition = tree.Binary(types.BOOL, place, "<", index, length)
    step = tree.Step(types.LONG, place, "++", index, True)
    element = tree.Subscript(value.type, place, name, index)
    put = tree.Evaluate(place, tree.Assignment(value.type, place, "", element, value))
    start = tree.Declaration(place, (counter,))
    steps = (
        tree.Declaration(place, (size, kept)),
        tree.Loop(place, start, condition, step, tree.Block(place, (put,))),
        tree.Evaluate(place, name),
    )
    return tree.Braced(made.type, place, tree.Block(place, steps))


def is_sized_late(cursor: Cursor) -> bool:
    """True if a variable is an array whose size is no constant."""
    return bool(cursor.type.get_canonical().kind.name == "VARIABLEARRAY")


def late(body: Body, cursor: Cursor, of: types.Type) -> Expression:
    """The memory of an array whose size is computed where it is declared."""
    assert isinstance(of, types.Pointer)
    place, element = body.at(cursor), cursor.type.get_canonical().element_type
    if element.kind.name == "VARIABLEARRAY":
        what = "an array of several sizes that are no constants"
        raise refusals.at(place, f"{what}; write one of all elements, or a std::vector")
    first = clang.initializer(cursor)
    sizes = [c for c in clang.children(cursor) if first is None or c != first]  # the innermost one first
    count = body.read(sizes[-1])
    made = tree.Call(of, place, callees.SIZED_LATE, (count,), None)
    value = initializers.by_class(body, element, of.pointee)
    return made if value is None else _repeated(made, count, value)


def _is_array(words: list[str]) -> bool:
    """True if the type that is made is followed by a bracket."""
    depth = 0
    for word in words:
        if depth == 0 and word in ("[", "(", "{", ";", ",", ")"):
            return word == "["
        depth += word.count("<") - word.count(">")
    return False


def _words(cursor: Cursor) -> list[str]:
    """The words behind `new`, up to the end of the expression or further."""
    words = [t.spelling for t in cursor.get_tokens()]
    if words == ["new"]:  # libclang ends the expression here where a template has an instance
        start = cursor.extent.start
        lines = linecache.getlines(start.file.name)[start.line - 1 : start.line + _LINES]
        words = _WORD.findall("".join(lines)[start.column - 1 :])
    return words[words.index("new") + 1 :] if "new" in words else []


def _count_of_sizes(words: list[str]) -> int:
    """How many sizes in brackets follow a type, as those of `float[8][4]`."""
    depth, found, bracket = 0, 0, ""
    for word in words:
        if depth == 0 and bracket == "]" and word != "[":
            return found
        found += depth == 0 and word == "["
        depth += (word in "([{") - (word in ")]}")
        bracket = word
    return found


def _is_initialised(words: list[str]) -> bool:
    """True if parentheses or braces follow an array's size: elements without a value of their own are 0 then."""
    depth, bracket = 0, ""
    for word in words:
        if depth == 0 and bracket == "]" and word != "[":
            return word in ("(", "{")
        depth += (word in "([{") - (word in ")]}")
        bracket = word
    return False


def delete(body: Body, cursor: Cursor) -> Expression:
    place = body.at(cursor)
    pointer = body.read(clang.children(cursor)[-1])
    return tree.Call(types.VOID, place, "delete", (pointer,), None)


def throw(body: Body, cursor: Cursor) -> Expression:
    """An exception: the text of it in the source, and its value unless it is one that is caught already."""
    place = body.at(cursor)
    words = " ".join(t.spelling for t in cursor.get_tokens())
    text = tree.Text(types.Array(types.CHAR, len(words) + 1), place, words)
    given = [body.read(c) for c in clang.children(cursor)]
    return tree.Call(types.VOID, place, "throw", (text, *given), None)

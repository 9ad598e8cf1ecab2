"""Objects: a record made of the values of its fields, of which some may use others."""

from collections.abc import Callable, Iterator, Mapping

from xeemu.frontends import tree, types
from xeemu.frontends.lowering import effects
from xeemu.frontends.parsing.literals import number, zero
from xeemu.frontends.tree import Expression, SourceLocation, Statement, Variable


def made(of: types.Record, place: SourceLocation, read: Callable[[Expression], Mapping[str, Expression]]) -> Expression:
    """An object; `read` gives the fields' values where the object is that expression. Those left out are zero."""
    whole = Variable("<object>", of, "private", place, lambda: tree.Initializer(of, place, zeros))
    name = tree.Name(of, place, whole)
    given = read(name)
    zeros = tuple(zero(f.type, place) for f in of.fields)
    items = tuple(given.get(f.name) or z for f, z in zip(of.fields, zeros, strict=True))
    if not any(_uses(item, whole) for item in items):
        return tree.Initializer(of, place, items)
    steps = [s for f in of.fields if f.name in given for s in _assigned(_field(name, f), given[f.name])]
    statements = (tree.Declaration(place, (whole,)), *steps, tree.Evaluate(place, name))
    return tree.Braced(of, place, tree.Block(place, statements))


def _uses(value: Expression, variable: Variable) -> bool:
    return any(isinstance(node, tree.Name) and node.variable is variable for node in effects.nodes(value))


def _field(whole: Expression, field: types.Field) -> Expression:
    return tree.Member(field.type, whole.place, whole, field.name, False)


def _assigned(target: Expression, value: Expression) -> Iterator[Statement]:
    """Assignments of a value, of an array's element by element."""
    if not isinstance(target.type, types.Array):
        yield tree.Evaluate(target.place, tree.Assignment(target.type, target.place, "", target, value))
        return
    items = value.items if isinstance(value, tree.Initializer) else ()
    element = target.type.element
    for k, item in enumerate(items):
        at = tree.Subscript(element, target.place, target, number(types.INT, target.place, k))
        yield from _assigned(at, item)

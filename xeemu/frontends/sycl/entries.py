"""Entries: a kernel of SYCL as a function of the tree, whose parameters are what its function object holds."""

import dataclasses
from collections.abc import Iterator

from xeemu.frontends import tree, types
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.cplusplus.submissions import Submission
from xeemu.frontends.parsing import clang
from xeemu.frontends.tree import Expression, Function, Place, Variable
from xeemu.frontends.types import Type

_LOCAL = ("local_accessor<", "target::local")


@dataclasses.dataclass(frozen=True, eq=False)
class Capture:
    """What a kernel's function object holds under one name.

    Attributes:
      name: of the variable or member.
      type: its type.
      leaves: the parameters of the entry that it consists of.
    """

    name: str
    type: Type
    leaves: tuple[Variable, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A kernel.

    Attributes:
      function: takes the leaves of all captures.
      captures: in the order of the function object.
    """

    function: Function
    captures: tuple[Capture, ...]


def entry(instances: Instances, submission: Submission, name: str) -> Entry:
    """The kernel that a submission launches."""
    cursor = submission.cursor
    first = next(iter(cursor.get_arguments()))
    place = clang.place(cursor)
    of = instances.records.type(first.type, first, place)
    whole = of.pointee if isinstance(of, types.Pointer) else of
    assert isinstance(whole, types.Record)
    captures, items = [], []
    for field in whole.fields:
        leaves: list[Variable] = []
        items.append(_value(field.name, field.type, "global", submission.place, leaves))
        captures.append(Capture(field.name, field.type, tuple(leaves)))
    made = instances.entry(cursor, tree.Initializer(whole, submission.place, tuple(items)))
    parameters = tuple(leaf for capture in captures for leaf in capture.leaves)
    function = dataclasses.replace(made, name=name, parameters=parameters, place=submission.place, kernel=True)
    return Entry(function, tuple(captures))


def _value(name: str, of: Type, space: str, place: Place, leaves: list[Variable], parts: bool = False) -> Expression:
    """Something that is captured, made of new parameters; `parts` of what has a pointer elsewhere in it."""
    parts = parts or types.holds_pointer(of)
    match of:
        case types.Record() if parts and not of.union:
            inside = "local" if any(text in of.name for text in _LOCAL) else space
            items = tuple(_value(f"{name}.{f.name}", f.type, inside, place, leaves, True) for f in of.fields)
            return tree.Initializer(of, place, items)
        case types.Array(element=element, count=count) if parts:
            items = tuple(_value(f"{name}[{k}]", element, space, place, leaves, True) for k in range(count))
            return tree.Initializer(of, place, items)
        case types.Pointer(pointee=pointee, const=const):
            of = types.Pointer(pointee, space, const)
    leaf = Variable(name, of, "private", place)
    leaves.append(leaf)
    return tree.Name(of, place, leaf)


def functions(entries: list[Entry]) -> Iterator[Function]:
    return (e.function for e in entries)

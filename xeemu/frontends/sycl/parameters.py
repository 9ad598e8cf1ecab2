"""Parameters: what a kernel of SYCL captures, as a launch gives it."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from xeemu.frontends import tree, types
from xeemu.frontends.parsing.literals import zero
from xeemu.frontends.tree import Expression, SourceLocation, Variable
from xeemu.frontends.types import Type

ACCESSOR, LOCAL, POINTER, STRUCT, VALUE = "accessor", "local_accessor", "pointer", "struct", "value"
REDUCTION = "reduction"

_KINDS = {
    "accessor": ACCESSOR,
    "local_accessor": LOCAL,
    "multi_ptr": POINTER,
    "reduction_of": REDUCTION,
    "partial_reduction_of": REDUCTION,
}
_ELEMENTS = "elements"
_MOST_BYTES = 64
"""Of an array that a work-item has in registers or private memory; of larger ones it looks elements up."""
_CLASS = re.compile(rf"^sycl::(?:_V1::|detail::)?({'|'.join(_KINDS)})<")
_MOST_SHOWN = 8
_MODE = re.compile(r"\baccess(?:_mode|::mode)::(\w+)")
_NAMES = {
    "uchar": "unsigned char",
    "ushort": "unsigned short",
    "uint": "unsigned",
    "ulong": "unsigned long",
    "half": "sycl::half",
}


@dataclasses.dataclass(frozen=True, eq=False)
class Leaf:
    """A number, a pointer or a struct without pointers that a capture consists of.

    Attributes:
      path: its name with those of the fields that lead to it, such as `a.r.v[0]`.
      variable: the parameter of the kernel's entry.
    """

    path: str
    variable: Variable


@dataclasses.dataclass(frozen=True, eq=False)
class Parameter:
    """A variable, or a member of a function object, that a kernel captures; or a part of a struct that it captures.

    Attributes:
      key: its name, in a struct that of the field.
      type: its type.
      kind: `ACCESSOR`, `LOCAL` (of local memory), `POINTER`, `STRUCT` (one with pointers in it), `REDUCTION` (what a
        reducer's values are combined with), or `VALUE`.
      declared: as C++ declares it.
      leaves: what it consists of, in order.
      parts: of a `STRUCT` its fields, of an array of such its elements.
    """

    key: str
    type: Type
    kind: str
    declared: str
    leaves: tuple[Leaf, ...]
    parts: tuple["Parameter", ...] = ()

    @property
    def pointer(self) -> Leaf:
        """Of an accessor or pointer the leaf that is a memory."""
        return next(leaf for leaf in self.leaves if isinstance(leaf.variable.type, types.Pointer))

    @property
    def element(self) -> Type:
        """Of an accessor or pointer the type of its elements."""
        of = self.pointer.variable.type
        assert isinstance(of, types.Pointer)
        return of.pointee

    @property
    def dimensions(self) -> int:
        """Of an accessor."""
        return sum(".r.v[" in leaf.path for leaf in self.leaves)

    @property
    def mode(self) -> str:
        """Of an accessor how it accesses, such as `"read_write"`."""
        return mode(self.type)


def of_capture(name: str, of: Type, place: SourceLocation, path: str = "") -> tuple[Expression, Parameter]:
    """A capture as a parameter, and its value made of the parameter's leaves, whose path begins with `path`."""
    kind, path = _kind(of), path or name
    declared = _declared(of, name)
    if kind == STRUCT:
        return _struct(name, of, place, declared, path)
    leaves: list[Leaf] = []
    value = _made(_Making(name, kind, declared, place, leaves, path), path, of)
    return value, Parameter(name.rpartition(".")[2], of, kind, declared, tuple(leaves))


def of_constant(variable: Variable) -> Parameter:
    """A specialization constant as a parameter, which is the variable itself."""
    of = variable.type
    assert isinstance(of, types.Record)
    declared = _declared(of.fields[0].type, variable.name)
    return Parameter(variable.name, of, VALUE, declared, (Leaf(constant_path(variable), variable),))


def constant_path(variable: Variable) -> str:
    """The path of a specialization constant, which is in no function object."""
    return f"constant {variable.name}"


def _kind(of: Type) -> str:
    if isinstance(of, types.Pointer):
        return POINTER
    found = _CLASS.match(of.name) if isinstance(of, types.Record) else None
    if found is not None:
        kind = _KINDS[found[1]]
        return LOCAL if kind == ACCESSOR and "target::local" in str(of) else kind
    return STRUCT if types.holds_pointer(of) else VALUE


def _struct(name: str, of: Type, place: SourceLocation, declared: str, path: str) -> tuple[Expression, Parameter]:
    """A struct or array with pointers, made of its parts."""
    if isinstance(of, types.Array):
        inner = [(f"[{k}]", of.element) for k in range(of.count)]
    else:
        assert isinstance(of, types.Record)
        inner = [(f".{field.name}", field.type) for field in of.fields]
    made = [of_capture(name + end, part, place, path + end) for end, part in inner]
    leaves = tuple(leaf for _, part in made for leaf in part.leaves)
    value = tree.Initializer(of, place, tuple(item for item, _ in made))
    parts = tuple(part for _, part in made)
    return value, Parameter(name.rpartition(".")[2], of, STRUCT, declared, leaves, parts)


@dataclasses.dataclass(frozen=True)
class _Making:
    """What the leaves of one capture have in common."""

    name: str
    kind: str
    declared: str
    place: SourceLocation
    leaves: list[Leaf]
    path: str

    def leaf(self, path: str, of: Type, space: str = "private") -> Expression:
        name = self.name + _members(path.removeprefix(self.path), self.kind)
        declared = self.declared if path == self.path else _declared(of, name)
        if isinstance(of, types.Pointer):
            # Messages call a memory as the capture is called.
            name, declared = self.name, self.declared
            of = types.Pointer(of.pointee, "local" if self.kind == LOCAL else "global", of.const)
        variable = Variable(name, of, space, self.place, declared=declared)
        self.leaves.append(Leaf(path, variable))
        return tree.Name(of, self.place, variable)


def _made(making: _Making, path: str, of: Type) -> Expression:
    """A part of a capture: of what has pointers in it each number by itself, which a launch may know alone."""
    if making.kind == VALUE and isinstance(of, types.Array):
        # C has no parameters that are arrays; one in a struct is passed as it is.
        whole = types.Record(spelled(of), (types.Field(_ELEMENTS, of, 0),), of.size)
        space = "private" if of.size <= _MOST_BYTES else "constant"
        return tree.Member(of, making.place, making.leaf(path, whole, space), _ELEMENTS, False)
    if making.kind == VALUE:
        return making.leaf(path, of)
    if making.kind == REDUCTION and path.endswith((".whole", ".initialized", ".count")):
        return zero(of, making.place)  # of the host alone
    match of:
        case types.Record(union=False):
            items = tuple(_made(making, f"{path}.{f.name}", f.type) for f in of.fields)
            return tree.Initializer(of, making.place, items)
        case types.Array(element=element, count=count):
            items = tuple(_made(making, f"{path}[{k}]", element) for k in range(count))
            return tree.Initializer(of, making.place, items)
    return making.leaf(path, of)


_ACCESSORS = {".r.v": ".buffer.get_range()", ".part.v": ".get_range()", ".from.v": ".get_offset()"}
"""Of an accessor what SYCL calls members of our headers' class."""


def _members(path: str, kind: str) -> str:
    """A path through fields as a user of SYCL writes it."""
    if kind == LOCAL:
        return path.replace(".r.v", ".get_range()")
    for member, called in _ACCESSORS.items() if kind == ACCESSOR else ():
        path = path.replace(member, called)
    return path


def leaves(parameters: Sequence[Parameter]) -> Iterator[Leaf]:
    """What parameters consist of, in order."""
    return (leaf for parameter in parameters for leaf in parameter.leaves)


# --- Texts ---


def shown(of: Type, value: Any) -> Any:
    """A value as Python writes it: of a struct's bytes the dict of its fields, of an array's or vector's the tuple.

    A struct of one field, as around the elements of `sycl::vec` and `std::array`, is shown as that.
    """
    if not isinstance(value, bytes):
        return bool(value) if isinstance(of, types.Scalar) and of.is_bool else value
    match of:
        case types.Record(fields=(only,), union=False):
            return shown(only.type, value)
        case types.Record(fields=fields, union=False):
            return {f.name: shown(f.type, value[f.offset : f.offset + f.type.size]) for f in fields}
        case types.Array(element=element, count=count) | types.Vector(element=element, count=count):
            return tuple(shown(element, value[k * element.size : (k + 1) * element.size]) for k in range(count))
        case types.Scalar(dtype=dtype):
            return np.frombuffer(value, dtype, 1)[0].item()
    return f"{len(value)} bytes"


def in_short(value: Any) -> str:
    """What `shown` gives as text, of long tuples the beginning."""
    match value:
        case dict():
            return "{" + ", ".join(f"{key!r}: {in_short(x)}" for key, x in value.items()) + "}"
        case tuple() if len(value) > 1:
            items = [in_short(x) for x in value[:_MOST_SHOWN]]
            return f"({', '.join(items + ['...'] * (len(value) > _MOST_SHOWN))})"
    return repr(value)


def mode(of: Type) -> str:
    """How an accessor accesses, from its type."""
    found = _MODE.search(str(of))
    return found[1] if found is not None else "read_write"


def _declared(of: Type, name: str) -> str:
    if isinstance(of, types.Array):
        return _declared(of.element, f"{name}[{of.count}]")
    text = spelled(of)
    return text + name if text.endswith("*") else f"{text} {name}"


def spelled(of: Type) -> str:
    """A type as C++ spells it; of an accessor what matters."""
    match of:
        case types.Scalar(name=name):
            return _NAMES.get(name, name)
        case types.Vector(element=element, count=count):
            return f"sycl::vec<{spelled(element)}, {count}>"
        case types.Pointer(pointee=pointee, const=const):
            return f"{'const ' * const}{spelled(pointee)} *"
        case types.Array(element=element, count=count):
            return f"{spelled(element)}[{count}]"
        case types.Record(name=name):
            return _class(of, name)
    return str(of)


def _class(of: types.Record, name: str) -> str:
    kind = _kind(of)
    if kind == REDUCTION:
        return f"reduction<{spelled(of.field('identity').type)}>"
    if kind in (ACCESSOR, LOCAL):
        element, dimensions = _elements(of)
        mode_ = f", {mode(of)}" if kind == ACCESSOR else ""
        return f"{kind}<{element}, {dimensions}{mode_}>"
    return name.removeprefix("sycl::").replace("<>", "<1>")


def _elements(of: types.Record) -> tuple[str, int]:
    """An accessor's element and number of dimensions."""
    while of.fields and of.fields[0].name.startswith("<base "):
        base = of.fields[0].type
        assert isinstance(base, types.Record)
        of = base
    pointer = next(f.type for f in of.fields if isinstance(f.type, types.Pointer))
    dimensions = next((f.type for f in of.fields if f.name == "r"), None)
    array = dimensions.fields[0].type if isinstance(dimensions, types.Record) else None
    return spelled(pointer.pointee), array.count if isinstance(array, types.Array) else 1

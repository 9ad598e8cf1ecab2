"""The printer: a program as text, an operation per line."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Region, Value

Row = tuple[str, str]
"""A line of text, and the line of the source that it comes from."""

_INDENT = "  "
_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shift_left": "<<",
    "shift_right_logical": ">>",
    "shift_right_arithmetic": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_CHOICES = (
    "y",
    "axis",
    "axes",
    "dimension",
    "dimensions",
    "permutation",
    "start_indices",
    "limit_indices",
    "padding_config",
    "reverse",
)
"""Attributes of JAX's operations that decide what a result holds beyond its shape; none that is 0 or False is shown."""
_TYPES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}


def rows(region: Region, location: Callable[[Op], str]) -> Iterator[Row]:
    """A program line by line, what it returns at the end; `location` gives the line of the source of an operation."""
    writer = _Writer(location)
    yield from writer.region(region, "")
    yield f"return {', '.join(map(writer.name, region.outputs))}", ""


def type_name(dtype: Any) -> str:
    """A dtype as programs are printed with it: `f32`, `u8`, `bool`."""
    name = dtype.name if hasattr(dtype, "name") else np.dtype(dtype).name
    letters = name.rstrip("0123456789")
    return _TYPES.get(letters, letters) + name[len(letters) :]


def sizes(shape: Sequence[int], separator: str = " x ") -> str:
    """Sizes side by side."""
    return separator.join(map(str, shape))


@dataclasses.dataclass
class _Writer:
    """Names the values of a program and writes its operations.

    Attributes:
      location: gives the line of the source that an operation comes from.
      names: of the values so far.
      some: for a value that says true if any work-item is in a mask, the mask's name.
      count: of names that were made up.
    """

    location: Callable[[Op], str]
    names: dict[Value, str] = dataclasses.field(default_factory=dict)
    some: dict[Value, str] = dataclasses.field(default_factory=dict)
    count: int = 0

    def name(self, value: Value) -> str:
        if isinstance(value, Constant) and value not in self.names:
            return _summary(value.array)
        return value.name or value.memory or self.names[value]

    def region(self, region: Region, indent: str) -> Iterator[Row]:
        for op in region.ops:
            yield from self._constants(op.operands, indent)
            yield from self._op(op, indent)
        yield from self._constants(region.outputs, indent)

    def _constants(self, values: Sequence[Value], indent: str) -> Iterator[Row]:
        """A line for each array that is met for the first time."""
        for value in values:
            if isinstance(value, Constant) and not value.is_literal and value not in self.names:
                text = _summary(value.array)
                yield f"{indent}{self._fresh(value)} = constant {text}", ""

    def _op(self, op: Op, indent: str) -> Iterator[Row]:
        if op.name in _STRUCTURED:
            yield from _STRUCTURED[op.name](self, op, indent)
        elif not self._is_some(op):
            yield indent + self._plain(op), self.location(op)

    def _is_some(self, op: Op) -> bool:
        """True if an operation says whether there are work-items of a mask; it needs no line of its own."""
        if op.name == "xe_uniform" and op.attributes["kind"] == "some":
            mask = self.name(op.operands[0])
        elif op.name == "convert_element_type" and op.operands[0] in self.some:
            mask = self.some[op.operands[0]]
        else:
            return False
        self.some[op.results[0]] = mask
        self.names[op.results[0]] = f"some of {mask}"
        return True

    # --- Loops and branches ---

    def scan(self, op: Op, indent: str) -> Iterator[Row]:
        (body,), carries = op.regions, op.attributes["carries"]
        starts = self._starts(op, body.inputs[:carries])
        pairs = zip(body.inputs[carries:], op.operands[carries:], strict=True)
        elements = [f"{self._fresh(value)} in {self.name(whole)}" for value, whole in pairs]
        order = " backwards" if op.attributes["reverse"] else ""
        head = [f"loop {op.attributes['length']} times{order}", *elements, *starts]
        yield f"{indent}{', '.join(head)}:", self.location(op)
        yield from self.region(body, indent + _INDENT)
        yield from self._next(body, indent)
        for result, value in zip(op.results[carries:], body.outputs[carries:], strict=True):
            text = self.name(value)
            yield f"{indent}{self._fresh(result)} = each {text}", ""

    def while_(self, op: Op, indent: str) -> Iterator[Row]:
        predicate, body = op.regions
        starts = self._starts(op, body.inputs)
        for tested, value in zip(predicate.inputs, body.inputs, strict=True):
            self.names[tested] = self.name(value)
        if (head := self._divergent(predicate)) is not None:
            yield f"{indent}{', '.join([head, *starts])}:", self.location(op)
            yield from self.region(body, indent + _INDENT)
            yield from self._next(body, indent)
            return
        yield f"{indent}{', '.join(['loop while', *starts])}:", self.location(op)
        yield from self.region(predicate, indent + _INDENT)
        yield f"{indent}{_INDENT}while {self.name(predicate.outputs[0])}:", self.location(op)
        yield from self.region(body, indent + 2 * _INDENT)
        yield from self._next(body, indent + _INDENT)

    def _divergent(self, predicate: Region) -> str | None:
        """How a loop begins that each work-item leaves by itself; None for another one."""
        if len(predicate.ops) != 1 or predicate.ops[0].results[:1] != predicate.outputs:
            return None
        (op,) = predicate.ops
        if op.name == "xe_uniform":
            return f"loop for the work-items {self.name(op.operands[0])}"
        return f"loop at most {self.name(op.operands[1])} times" if op.merges else None

    def cond(self, op: Op, indent: str) -> Iterator[Row]:
        if (mask := self.some.get(op.operands[0])) is not None:
            yield f"{indent}if there are work-items {mask}:", self.location(op)
            yield from self.region(op.regions[1], indent + _INDENT)
            self.names |= {r: self.name(v) for r, v in zip(op.results, op.regions[1].outputs, strict=True)}
            return
        chosen = self.name(op.operands[0])
        for k, branch in enumerate(op.regions):
            yield f"{indent}if {chosen} is {k}:", self.location(op)
            yield from self.region(branch, indent + _INDENT)
            for result, value in zip(op.results, branch.outputs, strict=True):
                text = self.name(value)
                if result not in self.names and not result.memory:
                    self._fresh(result)
                if self.name(result) != text:
                    yield f"{indent}{_INDENT}{self.name(result)} = {text}", ""

    def _starts(self, op: Op, inputs: Sequence[Value]) -> list[str]:
        """What a loop begins with: a text for each carry that is no memory; names it inside and after the loop."""
        starts = []
        for carry, start, result in zip(inputs, op.operands, op.results, strict=False):
            if not carry.memory:
                text = self.name(start)
                self.names[result] = self._fresh(carry)
                starts.append(f"{self.names[carry]} from {text}")
        return starts

    def _next(self, body: Region, indent: str) -> Iterator[Row]:
        for before, after in zip(body.inputs, body.outputs, strict=False):
            if (text := self.name(after)) != self.name(before):
                yield f"{indent}{_INDENT}{self.name(before)} = {text}", ""

    # --- Plain operations ---

    def _plain(self, op: Op) -> str:
        operands = list(map(self.name, op.operands))
        if write := _LANGUAGE.get(op.name):
            text = write(op, operands)
        elif ops.named(op.name).is_of_language:
            raise ops.without_rule(op.name, "the printer")
        else:
            text = _expression(op, operands)
        results = [value for value in op.results if not value.memory]
        shown = ", ".join(f"{self._fresh(value)}:{_typed(value)}" for value in results)
        return f"{shown} = {text}" if shown else text

    def _fresh(self, value: Value) -> str:
        self.count += 1
        self.names[value] = f"v{self.count}"
        return self.names[value]


_STRUCTURED: Mapping[str, Callable[[_Writer, Op, str], Iterator[Row]]] = {
    "scan": _Writer.scan,
    "while": _Writer.while_,
    "cond": _Writer.cond,
}


def _allocation(op: Op, operands: list[str]) -> str:
    a = op.attributes
    return f"{a['name']} = {a['space']} {type_name(a['dtype'])}[{sizes(a['shape'], ', ')}]"


def _barrier(op: Op, operands: list[str]) -> str:
    return f"{op.attributes['level'].replace('_', '-')} barrier {_ordered(op, operands)}"


def _fence(op: Op, operands: list[str]) -> str:
    return f"fence {op.attributes['ordering']} {_ordered(op, operands)}"


def _ordered(op: Op, operands: list[str]) -> str:
    masked = op.attributes.get("masked", False)
    where = f" where {operands[-1]}" if masked else ""
    return f"({', '.join(operands[: len(operands) - masked])}){where}"


def _region(op: Op, operands: list[str]) -> str:
    return "for all work-items:" if operands[0] == "True" else f"for the work-items {operands[0]}:"


def _uniform(op: Op, operands: list[str]) -> str:
    return f"{op.attributes['kind']} of {', '.join(operands)}"


def _collective(op: Op, operands: list[str]) -> str:
    collective = op.attributes["collective"]
    where = f" where {operands.pop()}" if collective.masked else ""
    return f"{collective} ({', '.join(operands)}){where}"


def _id(op: Op, operands: list[str]) -> str:
    dim = op.attributes["dim"]
    return f"{op.name.removeprefix('xe_')} {'linear' if dim is None else dim}"


def _access(op: Op, operands: list[str]) -> str:
    what, name = op.attributes["access"], ops.operation(op)
    memory = operands[0] if what.view is None else f"{operands[0]}.reshape({', '.join(map(str, what.view))})"
    element = f"{memory}[{', '.join(operands[1 : 1 + what.rank])}]"
    rest = operands[1 + what.rank :]
    kind = f"atomic {what.ordering} " if what.ordering else "block " if what.block else ""
    if not ops.changes(op):
        condition = "within bounds" if what.bounded else f"where {rest[0]}" if what.masked else ""
        others = f" else {rest[1]}" if len(rest) > 1 else ""
        where = f" {condition}{others}" if what.masked else ""
        return f"{kind}{name} {element}{where}"
    where = f" where {rest.pop()}" if what.masked else ""
    return f"{kind}{name} {element} {', '.join(rest)}{where}"


_LANGUAGE: Mapping[str, Callable[[Op, list[str]], str]] = {
    "xe_allocate": _allocation,
    "xe_atomic": _access,
    "xe_barrier": _barrier,
    "xe_collective": _collective,
    "xe_fence": _fence,
    "xe_group_id": _id,
    "xe_load": _access,
    "xe_local_id": _id,
    "xe_region": _region,
    "xe_store": _access,
    "xe_uniform": _uniform,
}
"""How the language's own operations are written; the results are named before the text."""


def _expression(op: Op, operands: list[str]) -> str:
    if op.name in _SIGNS and len(operands) == 2:
        return f"{operands[0]} {_SIGNS[op.name]} {operands[1]}"
    if op.name == "convert_element_type":
        return f"{type_name(op.attributes['new_dtype'])}({operands[0]})"
    if op.name == "select_n" and len(operands) == 3:
        return f"where {operands[0]} then {operands[2]} else {operands[1]}"
    chosen = [f"{name}={value}" for name in _CHOICES if (value := op.attributes.get(name))]
    return " ".join([f"{op.name} {', '.join(operands)}".rstrip(), *chosen])


def _typed(value: Value) -> str:
    shape = f"[{sizes(value.shape, ', ')}]" if value.shape else ""
    return f"{type_name(value.dtype)}{shape}"


def _summary(array: np.ndarray) -> str:
    return str(array) if array.ndim == 0 else f"{type_name(array.dtype)}[{sizes(array.shape, ', ')}]"

"""Arguments: what a launch gives for a kernel's captures, as values of what these consist of."""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.errors import KernelArgumentError, NDRangeError, did_you_mean
from xeemu.frontends import types
from xeemu.frontends.sycl import parameters, reductions
from xeemu.frontends.sycl.parameters import POINTER, Leaf, Parameter
from xeemu.frontends.sycl.plans import Extent, Plan
from xeemu.frontends.sycl.ranges import Range
from xeemu.language import source
from xeemu.language.local import Local
from xeemu.language.ndrange import NDRange
from xeemu.plurals import counted

_ARRAYS = (jax.Array, np.ndarray, np.void, jax.ShapeDtypeStruct)


@dataclasses.dataclass(frozen=True, eq=False)
class Signature:
    """How a kernel of SYCL is called: one argument for each capture, by position or by name.

    Attributes:
      kernel: its name.
      captures: in the order of the function object.
      plan: what the host code tells of them; what is known need not be given.
      lines: of its source, each with its number.
      range: over what it is launched.
    """

    kernel: str
    captures: tuple[Parameter, ...]
    plan: Plan
    lines: tuple[tuple[int, str], ...]
    range: Range

    @property
    def names(self) -> tuple[str, ...]:
        """Of what a launch takes by position: the captures that have to be given."""
        return tuple(capture.key for capture in self.needed)

    @property
    def every(self) -> tuple[str, ...]:
        """Of all that may be given by position, those that are known too."""
        return tuple(capture.key for capture in self.captures)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The ranges of local accessors of several dimensions, where the host code tells them."""
        locals_ = [c for c in self.captures if c.kind == parameters.LOCAL and c.dimensions > 1]
        found = {c.key: self.sizes(c, ".r.") for c in locals_}
        return {name: sizes for name, sizes in found.items() if sizes is not None}

    def sizes(self, capture: Parameter, part: str) -> tuple[int, ...] | None:
        """The numbers of a range that are known, of all its dimensions."""
        found = [self.plan.value(leaf.path) for leaf in capture.leaves if part in leaf.path]
        return tuple(map(int, found)) if found and all(found) else None

    @property
    def declaration(self) -> str:
        return f"{self.kernel}({', '.join(capture.declared for capture in self.captures)})"

    @functools.cached_property
    def needed(self) -> tuple[Parameter, ...]:
        """The captures that have to be given."""
        return tuple(capture for capture in self.captures if not self.is_known(capture))

    def check(self, nd_range: NDRange) -> None:
        """Refuses a launch over another number of dimensions than the kernel's item has."""
        own, given = self.range.dimensions, nd_range.dimensions
        if own == given:
            return
        sizes = "(n, m, k)"[: 3 * own - 1] + ")" if own > 1 else "n"
        local = f", {sizes}" if nd_range.local_size is not None else ""
        raise NDRangeError(
            f"kernel {self.kernel} is one over {self.range}, but the launch {nd_range} has {given} "
            f"dimension{'s' * (given > 1)}; write xe.NDRange({sizes}{local})"
        )

    def is_known(self, capture: Parameter) -> bool:
        """True if a launch knows the capture by itself: a number, or the size of local memory."""
        if capture.kind == POINTER:
            return self.plan.is_null(capture.pointer.path)
        return all(self._is_known(leaf) for leaf in capture.leaves)

    def _is_known(self, leaf: Leaf) -> bool:
        match leaf.variable.type:
            case types.Pointer(space="local"):
                return self.plan.local(leaf.path) is not None
            case types.Record(fields=()):
                return True
        return self.plan.value(leaf.path, leaf.variable.type) is not None

    def flat(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        """The values of all leaves, in order, of a call's arguments.

        Errors: `xe.KernelArgumentError` for what is missing, too much, or of another kind than the capture.
        """
        given = {**self._by_position(arguments), **self._by_name(keywords)}
        # None is a null pointer, too.
        missing = [c for c in self.needed if given.get(c.key) is None and (c.key not in given or c.kind != POINTER)]
        if missing:
            raise self._missing(missing, len(arguments))
        return [v for c in self.captures for v in _Filling(self, c).values(given.get(c.key))]

    def _by_position(self, arguments: Sequence[Any]) -> dict[str, Any]:
        takers = self.captures
        if len(arguments) > len(takers):
            raise KernelArgumentError(
                f"kernel {self.kernel} takes {counted(len(takers), 'argument')} ({self._listed(takers)}), but got "
                f"{len(arguments)}"
            )
        if len(arguments) < len(takers):
            # Those that are known may all be left out, wherever they stand.
            takers = self.needed if len(arguments) <= len(self.needed) else takers
        return {capture.key: value for capture, value in zip(takers, arguments, strict=False)}

    def _by_name(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        names = self.every
        for name in keywords:
            if name not in names:
                raise KernelArgumentError(
                    f"kernel {self.kernel} captures no {name}{did_you_mean(name, names)}; it captures "
                    f"{', '.join(names) or 'nothing'}"
                )
        return dict(keywords)

    def _missing(self, missing: Sequence[Parameter], number: int) -> KernelArgumentError:
        known = [c for c in self.captures if self.is_known(c)]
        note = f" (known from the host code: {', '.join(c.key for c in known)})" if known else ""
        give = "; ".join(f"{c.key}={such_as(c)}" for c in missing)
        return KernelArgumentError(
            f"kernel {self.kernel} captures ({self._listed(self.captures)}){note}, but got {number} by position, and "
            f"nothing for {', '.join(c.key for c in missing)}; give in this order, or by name, {give}"
        )

    def _listed(self, captures: Sequence[Parameter]) -> str:
        return ", ".join(capture.declared for capture in captures)


def extent(capture: Parameter, plan: Plan) -> Extent | None:
    """The elements of an array, as far as they are known: of an accessor by its range; of no numbers the bytes."""
    sizes = [plan.value(leaf.path) for leaf in capture.leaves if ".r." in leaf.path]
    if capture.kind != parameters.ACCESSOR or not sizes or not all(sizes):
        return plan.extent(capture.pointer.path)
    of = capture.element.element if isinstance(capture.element, types.Vector) else capture.element
    dtype = of.dtype if isinstance(of, types.Scalar) else np.dtype(np.uint8)
    return dtype, math.prod(map(int, sizes)) * capture.element.size // dtype.itemsize


def such_as(capture: Parameter) -> str:
    """An example of an argument, as Python writes it."""
    match capture.kind:
        case parameters.ACCESSOR | parameters.POINTER | parameters.REDUCTION:
            inner = capture.element
            scalar = inner.element if isinstance(inner, types.Vector) else inner
            shape = "(n, m, k)"[: 3 * capture.dimensions - 1] + ")" if capture.dimensions > 1 else "n"
            return f"np.zeros({shape}, np.{scalar.dtype})" if isinstance(scalar, types.Scalar) else "an array"
        case parameters.LOCAL:
            return "xe.Local(bytes)"
        case parameters.STRUCT:
            return "{" + ", ".join(f"{part.key!r}: {such_as(part)}" for part in capture.parts) + "}"
    return _example(capture.type)


def _example(of: types.Type) -> str:
    """An example of a value without pointers."""
    match of:
        case types.Scalar(is_float=True):
            return "1.5"
        case types.Record(fields=(only,)):
            return _example(only.type)
        case types.Record(fields=fields):
            return "{" + ", ".join(f"{field.name!r}: ..." for field in fields) + "}"
        case types.Vector(count=count) | types.Array(count=count):
            return f"({', '.join(['1'] * count)})"
    return "16"


def _wrapped(of: types.Type, given: Any) -> Any:
    """A value; of a class around an array or vector, such as `sycl::range` or `std::array`, the dict of its member."""
    plain = isinstance(given, Mapping | bytes | bytearray | np.void) or getattr(given, "dtype", None) == np.uint8
    if isinstance(of, types.Record) and len(of.fields) == 1 and not plain:
        return {of.fields[0].name: _wrapped(of.fields[0].type, given)}
    return (given,) if isinstance(of, types.Array) and isinstance(given, int) else given


@dataclasses.dataclass(frozen=True)
class _Filling:
    """One capture, or a part of a struct that is captured, of a call."""

    signature: Signature
    capture: Parameter

    def values(self, given: Any) -> Iterator[Any]:
        """The values of its leaves, in order; `given` is None where all of them are known."""
        match self.capture.kind:
            case parameters.STRUCT:
                yield from self._struct(given)
            case parameters.LOCAL:
                yield from self._local(given)
            case parameters.ACCESSOR:
                yield from self._accessor(given)
            case parameters.POINTER:
                yield given
            case parameters.REDUCTION:
                yield from self._reduction(given)
            case _:
                leaf = self.capture.leaves[0]
                yield self._known(leaf) if given is None else _wrapped(leaf.variable.type, given)

    def _known(self, leaf: Leaf) -> Any:
        of = leaf.variable.type
        if isinstance(of, types.Record) and not of.fields:
            return bytes(of.size)
        return self.signature.plan.value(leaf.path, of)

    @property
    def _where(self) -> str:
        return f"parameter `{self.capture.declared}` of kernel {self.signature.kernel}"

    def _reduction(self, given: Any) -> Iterator[Any]:
        for leaf in self.capture.leaves:
            if leaf is self.capture.pointer:
                yield given
            else:
                known = self.signature.plan.value(leaf.path)
                yield known if known is not None else reductions.identity(self.capture.type, leaf.variable.type)

    # --- Structs ---

    def _struct(self, given: Any) -> Iterator[Any]:
        parts = self.capture.parts
        items = self._items(given)
        for part, value in zip(parts, items, strict=True):
            filling = _Filling(self.signature, part)
            if value is None and not self.signature.is_known(part):
                raise KernelArgumentError(
                    f"{self._where} has the field {part.declared} as well; give {part.key!r}: {such_as(part)}"
                )
            yield from filling.values(value)

    def _items(self, given: Any) -> list[Any]:
        """What is given for each part; None where nothing is."""
        parts = self.capture.parts
        names = [part.key for part in parts]
        if given is None:
            return [None] * len(parts)
        if isinstance(given, Mapping):
            for name in given:
                if name not in names:
                    raise KernelArgumentError(
                        f"{self._where} has no field {name!r}{did_you_mean(str(name), names)}; its fields are "
                        f"{', '.join(names)}"
                    )
            return [given.get(name) for name in names]
        if isinstance(given, tuple | list) and len(given) == len(parts):
            return list(given)
        raise KernelArgumentError(
            f"{self._where} holds pointers, and takes a dict of its fields, but got {source.called(given)}; pass "
            f"{such_as(self.capture)}"
        )

    # --- Local memory ---

    def _local(self, given: Any) -> Iterator[Any]:
        size = self.capture.element.size
        extent = self._extent(given, size)
        bytes_ = Local(math.prod(extent) * size)
        if isinstance(given, Local):
            bytes_ = given
        yield from self._leaves(bytes_, extent)

    def _extent(self, given: Any, size: int) -> tuple[int, ...]:
        """The range of a local accessor."""
        known = self._sizes(".r.")
        dimensions = max(self.capture.dimensions, 1)
        if isinstance(given, tuple) and len(given) == dimensions and all(isinstance(n, int) for n in given):
            return given
        if isinstance(given, Local) and dimensions == 1:
            return (given.bytes // size,)
        if isinstance(given, Local) and known is not None and math.prod(known) * size == given.bytes:
            return known
        if given is None and known is not None:
            return known
        if given is None and self.signature.plan.local(self.capture.pointer.path) is not None and dimensions == 1:
            local = self.signature.plan.local(self.capture.pointer.path)
            assert local is not None
            return (local.bytes // size,)
        shape = f"the tuple of its {dimensions} sizes"
        write = shape if dimensions > 1 else f"xe.Local(bytes), {size} for each element"
        raise KernelArgumentError(
            f"{self._where} is local memory, of which each work-group has its own, but got {source.called(given)}; "
            f"pass {write}"
        )

    # --- Accessors ---

    def _accessor(self, given: Any) -> Iterator[Any]:
        yield from self._leaves(given, self._range(given))

    def _range(self, given: Any) -> tuple[int, ...]:
        """The range of the buffer that an array is, from its shape."""
        dimensions = max(self.capture.dimensions, 1)
        if not isinstance(given, _ARRAYS):
            return (0,) * dimensions  # refused where the array is looked at
        size = self.capture.element.size
        count = int(np.prod(given.shape, dtype=np.int64)) * np.dtype(given.dtype).itemsize // max(size, 1)
        known = self._sizes(".r.")
        shape = tuple(map(int, given.shape[:dimensions]))
        if len(shape) == dimensions and math.prod(shape) == count:
            return shape
        if known is not None and math.prod(known) == count:
            return known
        if dimensions == 1:
            return (count,)
        such = f", such as {self.capture.key}.reshape({', '.join(map(str, known))})" if known else ""
        raise KernelArgumentError(
            f"{self._where} has {counted(dimensions, 'dimension')}, which are the first of the array's, but got an "
            f"array of the shape {tuple(given.shape)}; pass one of {counted(dimensions, 'dimension')}{such}"
        )

    def _sizes(self, part: str) -> tuple[int, ...] | None:
        return self.signature.sizes(self.capture, part)

    def _leaves(self, memory: Any, extent: tuple[int, ...]) -> Iterator[Any]:
        """A memory and its range, which is also that of the part that is accessed, where no other is known."""
        same = self._sizes(".r.") == extent
        position: dict[str, int] = {}
        for leaf in self.capture.leaves:
            if leaf is self.capture.pointer:
                yield memory
                continue
            group = leaf.path[: leaf.path.rindex("[")] if "[" in leaf.path else leaf.path
            k = position[group] = position.get(group, -1) + 1
            known = self.signature.plan.value(leaf.path) if same else None
            if known is not None:
                yield known
            else:
                yield 0 if ".from" in leaf.path or k >= len(extent) else extent[k]

"""Separation: which operations of a program mix the values of work-items.

A work-item has no access to another one's registers but by group algorithms. A reduction over all work-items is one;
other `jnp` operations along their axes have no counterpart on hardware. A kernel over a plain range, which has no
work-groups of its own, may not even use group algorithms: the runtime chooses the groups, and the last one may hold
work-items that do not exist.
"""

import dataclasses
import functools
from typing import Any

from xeemu.errors import KernelArgumentError
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.language import source
from xeemu.language.geometry import Geometry
from xeemu.language.source import Site

_MOST_KEPT = 16

_OF_NUMPY = {"rev": "flip", "dot_general": "dot"}
"""Operations by JAX's own names for them, as users have them from NumPy."""


@dataclasses.dataclass(frozen=True)
class Mixing:
    """An operation that mixes work-items.

    Attributes:
      site: its line.
      operation: its name.
      collective: true if it is a group algorithm.
    """

    site: Site
    operation: str
    collective: bool


def check(body: Region, geometry: Geometry) -> None:
    """Checks a kernel over a plain range.

    Raises:
      KernelArgumentError: an operation combines work-items.
    """
    for mixing in of_program(body, geometry):
        raise KernelArgumentError(
            "the kernel uses a group algorithm, but it is launched over a plain range, which has no work-groups of "
            f"its own ({mixing.operation} combines work-items); give the launch a local size: "
            f"xe.NDRange({geometry.global_range}, local_size)\n  at {mixing.site}"
        )


def check_divergent(body: Region, geometry: Geometry) -> None:
    """Checks that what not all work-items execute reduces nothing over all of them but by algorithms that know of it.

    Raises:
      KernelError: an operation of ordinary JAX does.
    """
    if any(op.name == ops.REGION for op in body.walk()):
        _check_divergent(body, group_reductions(body, geometry), False)


def _check_divergent(body: Region, reductions: frozenset[int], divergent: bool) -> None:
    for op in body.ops:
        if op.name == ops.REGION:
            divergent = bool(op.operands[0].shape)
        elif divergent and id(op) in reductions:
            name = op.name.removeprefix("reduce_")
            raise source.kernel_error(
                f"{name} over all work-items, in a loop or branch that not all of them execute: it "
                "would take in the values "
                "of those that do not; write wg.sub_group.reduce(x, op) for the active lanes of each "
                "sub-group, or reduce "
                "outside the loop or branch",
                source.of_op(op),
            )
        for inner in op.regions:
            _check_divergent(inner, reductions, divergent)


def of_program(body: Region, geometry: Geometry) -> list[Mixing]:
    """The operations of a kernel that mix work-items, each line and operation once."""
    return list(_walked(body, geometry).found)


def group_reductions(body: Region, geometry: Geometry) -> frozenset[int]:
    """The `id` of each operation of ordinary JAX that reduces a value over all work-items: a group algorithm."""
    return frozenset(_walked(body, geometry).reductions)


@functools.lru_cache(maxsize=_MOST_KEPT)
def _walked(body: Region, geometry: Geometry) -> "_Mixings":
    """The pass over a program, which tracing, proofs and warnings ask for."""
    mixings = _Mixings(geometry.local_range)
    mixings.body(body, source.UNKNOWN)
    return mixings


class _Mixings:
    """One pass over a program, with the values that differ between work-items."""

    def __init__(self, local_range: tuple[int, ...]):
        self.local_range = local_range
        self.found: dict[Mixing, None] = {}
        self.reductions: set[int] = set()
        self._differing: set[Any] = set()
        self._rank = len(local_range)
        self._wide = frozenset(axis for axis, size in enumerate(local_range) if size > 1)

    def body(self, body: Region, around: Site) -> None:
        """Walks a body of an operation at a line."""
        for op in body.ops:
            self._op(op, around)

    def _op(self, op: Op, around: Site) -> None:
        if op.name in ops.LANGUAGE:
            self._differing |= {v for v in op.results if v.shape[: self._rank] == self.local_range}
            return
        if op.regions:
            self._structure(op, _site(op, around))
            return
        if not any(self._differs(a) for a in op.operands):
            return
        self._differing.update(op.results)
        traits = ops.of(op)
        if traits.is_elementwise:
            return
        axes = frozenset().union(*(self._mixed(op, n) for n in range(len(op.operands))))
        if axes:
            collective = traits.collective and axes == self._wide
            name = op.name.removeprefix("reduce_")
            self.found[Mixing(_site(op, around), _OF_NUMPY.get(name, name), collective)] = None
            self.reductions |= {id(op)} if collective else set()

    def _structure(self, op: Op, site: Site) -> None:
        structure = control.of(op)
        for number, inner in enumerate(op.regions):
            given = control.region_operands(op, op.used, number)
            self._pass(given, inner.all_inputs)
            self.body(inner, site)
            carried = control.carried(structure, inner)
            if carried and any(self._differs(o) and not self._differs(v) for v, o in zip(carried, inner.outputs)):  # noqa: B905
                self._pass(inner.outputs, carried)
                self.body(inner, site)
            self._pass(inner.outputs, op.results)

    def _pass(self, values: Any, variables: Any) -> None:
        """Of values that differ between work-items, the variables that they become."""
        self._differing |= {v for value, v in zip(values, variables, strict=False) if self._differs(value)}

    def _differs(self, value: Value) -> bool:
        return not isinstance(value, Constant) and value in self._differing

    def _mixed(self, op: Op, number: int) -> frozenset[int]:
        """The axes of work-items along which an operation mixes the elements of an operand."""
        operand, axes = op.operands[number], _axes(op, number)
        if not axes or not self._differs(operand) or operand.shape[: self._rank] != self.local_range:
            return frozenset()
        return self._wide.intersection(axes)


def _site(op: Op, around: Site) -> Site:
    """The user's line of an operation; JAX's own jitted functions know none, but stand in one."""
    site = source.of_op(op)
    return around if site == source.UNKNOWN else site


def _axes(op: Op, operand: int) -> tuple[int, ...]:
    """The axes along which an operation combines or moves the elements of an operand."""
    traits, name, p = ops.of(op), op.name, op.attributes
    shape = op.operands[operand].shape
    if traits.is_reduction:
        return tuple(p["axes"])
    if traits.is_scan:
        return (p["axis"],)
    if name in ("sort", "top_k"):
        return (p.get("dimension", len(shape) - 1),)
    if name == "rev":
        return tuple(p["dimensions"])
    if name == "dot_general":
        contracting, _ = p["dimension_numbers"]
        return tuple(contracting[operand])
    if name == "transpose":
        return tuple(axis for axis, source_ in enumerate(p["permutation"]) if axis != source_)
    if operand == 0 and name in ("gather", "dynamic_slice"):
        return tuple(axis for axis, size in enumerate(p["slice_sizes"]) if size != shape[axis])
    if name == "slice":
        strides = p["strides"] or (1,) * len(shape)
        parts = zip(p["start_indices"], p["limit_indices"], strides, strict=True)
        return tuple(axis for axis, part in enumerate(parts) if part != (0, shape[axis], 1))
    if operand == 0 and name == "pad":
        return tuple(axis for axis, padding in enumerate(p["padding_config"]) if any(padding))
    if operand == 0 and name.startswith("scatter"):
        return tuple(p["dimension_numbers"].scatter_dims_to_operand_dims)
    return ()

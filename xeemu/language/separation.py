"""Separation: which operations of a program mix the values of work-items.

A work-item has no access to another one's registers but by group algorithms. A reduction over all work-items is one;
other `jnp` operations along their axes have no counterpart on hardware. A kernel over a plain range, which has no
work-groups of its own, may not even use group algorithms: the runtime chooses the groups, and the last one may hold
work-items that do not exist.
"""

import dataclasses
from typing import Any

from jax.extend import core as jex_core

from xeemu.errors import KernelArgumentError
from xeemu.ir import ops
from xeemu.language import jaxprs, primitives, source
from xeemu.language.geometry import Geometry
from xeemu.language.jaxprs import Body
from xeemu.language.source import Site


@dataclasses.dataclass(frozen=True)
class Mixing:
    """An operation that mixes work-items.

    Attributes:
      site: its line.
      operation: its name.
      collective: whether it is a group algorithm.
    """

    site: Site
    operation: str
    collective: bool


def check(body: Body, geometry: Geometry) -> None:
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


def check_divergent(body: Body, geometry: Geometry) -> None:
    """Checks that what not all work-items execute reduces nothing over all of them but by algorithms that know of it.

    Raises:
      KernelError: an operation of ordinary JAX does.
    """
    if any(eqn.primitive is primitives.region_p for eqn in jaxprs.equations(body)):
        _check_divergent(body, group_reductions(body, geometry), False)


def _check_divergent(body: Body, reductions: frozenset[int], divergent: bool) -> None:
    for eqn in body.eqns:
        if eqn.primitive is primitives.region_p:
            divergent = bool(eqn.invars[0].aval.shape)
        elif divergent and id(eqn) in reductions:
            name = eqn.primitive.name.removeprefix("reduce_")
            raise source.kernel_error(
                f"{name} over all work-items, in a loop or branch that not all of them execute: it "
                "would take in the values "
                "of those that do not; write wg.sub_group.reduce(x, op) for the active lanes of each "
                "sub-group, or reduce "
                "outside the loop or branch",
                source.of_equation(eqn),
            )
        for inner in jaxprs.bodies(eqn):
            _check_divergent(inner, reductions, divergent)


def of_program(body: Body, geometry: Geometry) -> list[Mixing]:
    """The operations of a kernel that mix work-items, each line and operation once."""
    walk = _Walk(geometry.local_range)
    walk.body(body, source.UNKNOWN)
    return list(walk.found)


def group_reductions(body: Body, geometry: Geometry) -> frozenset[int]:
    """The `id` of each equation of ordinary JAX that reduces a value over all work-items: a group algorithm."""
    walk = _Walk(geometry.local_range)
    walk.body(body, source.UNKNOWN)
    return frozenset(walk.reductions)


class _Walk:
    """One pass over a program, with the values that differ between work-items."""

    def __init__(self, local_range: tuple[int, ...]):
        self.local_range = local_range
        self.found: dict[Mixing, None] = {}
        self.reductions: set[int] = set()
        self._differing: set[Any] = set()

    def body(self, body: Body, around: Site) -> None:
        """Walks a body of an equation at a line."""
        for eqn in body.eqns:
            # JAX's own jitted functions know no line of the user.
            site = source.of_equation(eqn)
            site = around if site == source.UNKNOWN else site
            self._equation(eqn, site)

    def _equation(self, eqn: jex_core.JaxprEqn, site: Site) -> None:
        if eqn.primitive in primitives.LANGUAGE:
            self._differing |= {v for v in eqn.outvars if v.aval.shape[: self._rank] == self.local_range}
            return
        if jaxprs.bodies(eqn):
            self._structure(eqn, site)
            return
        axes = frozenset().union(*(self._mixed(eqn, n) for n in range(len(eqn.invars))))
        if axes:
            collective = ops.of(eqn).collective and axes == self._wide
            self.found[Mixing(site, eqn.primitive.name.removeprefix("reduce_"), collective)] = None
            self.reductions |= {id(eqn)} if collective else set()
        if any(self._differs(a) for a in eqn.invars):
            self._differing |= set(eqn.outvars)

    def _structure(self, eqn: jex_core.JaxprEqn, site: Site) -> None:
        structure = jaxprs.structure(eqn)
        for number, inner in enumerate(jaxprs.bodies(eqn)):
            given = jaxprs.given(structure, eqn.invars, number)
            self._pass(given, inner.invars)
            self.body(inner, site)
            carried = jaxprs.carried(structure, inner)
            if carried and any(self._differs(o) and not self._differs(v) for v, o in zip(carried, inner.outvars)):  # noqa: B905
                self._pass(inner.outvars, carried)
                self.body(inner, site)
            self._pass(inner.outvars, eqn.outvars)

    def _pass(self, values: Any, variables: Any) -> None:
        """Of values that differ between work-items, the variables that they become."""
        self._differing |= {v for value, v in zip(values, variables, strict=False) if self._differs(value)}

    def _differs(self, atom: jaxprs.Atom) -> bool:
        return not jaxprs.is_literal(atom) and atom in self._differing

    def _mixed(self, eqn: jex_core.JaxprEqn, number: int) -> frozenset[int]:
        """The axes of work-items along which an operation mixes the elements of an operand."""
        operand = eqn.invars[number]
        if not self._differs(operand) or operand.aval.shape[: self._rank] != self.local_range:
            return frozenset()
        return frozenset(_axes(eqn, number)) & self._wide

    @property
    def _rank(self) -> int:
        return len(self.local_range)

    @property
    def _wide(self) -> frozenset[int]:
        return frozenset(axis for axis, size in enumerate(self.local_range) if size > 1)


def _axes(eqn: jex_core.JaxprEqn, operand: int) -> tuple[int, ...]:
    """The axes along which an operation combines or moves the elements of an operand."""
    op, name, p = ops.of(eqn), eqn.primitive.name, eqn.params
    shape = eqn.invars[operand].aval.shape
    if op.is_reduction:
        return tuple(p["axes"])
    if op.is_scan:
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

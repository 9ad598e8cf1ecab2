"""Steps: a program as a flat list of steps, between which each work-item may be kept waiting.

Straight code is computed at once; every access to memory is a step of its own. Where a program needs the values of
other work-items, and at barriers, work-items meet. Loops and branches become jumps, which each work-item takes itself.
A memory is linear and keeps its place, so that its versions are one memory here.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.devices.target import Target
from xeemu.emission import compiling
from xeemu.language import primitives
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation
from xeemu.language.orders import Ordering
from xeemu.language.source import Origin, Site
from xeemu.planning import effort


@dataclasses.dataclass(frozen=True, eq=False)
class Register:
    """A value of every work-item.

    Attributes:
      number: its place among all.
      lanewise: true if a work-item holds its own element of the value only, else a copy of all (see `lanewise`).
      shape: of the value for one work-group.
      dtype: its dtype.
    """

    number: int
    lanewise: bool
    shape: tuple[int, ...]
    dtype: Any


Operand: TypeAlias = Register | np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Operation:
    """An ordinary operation on values.

    Attributes:
      function: of the operands of a work-group, its results.
      operands, results: of it.
      own: true if each work-item holds of the results its own element only, as what it has a copy of.
      origin: where it comes from, for somebody who watches; None of what stands for a loop's counter and the like.
    """

    function: Callable[..., Sequence[jax.Array]]
    operands: tuple[Operand, ...]
    results: tuple[Register, ...]
    own: bool = False
    origin: Origin | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Straight:
    """Operations that nobody can watch; then registers that get new values, all at once."""

    operations: tuple[Operation, ...]
    moves: tuple[tuple[Register, Operand], ...]


@dataclasses.dataclass(frozen=True, eq=False)
class AccessStep:
    """A load, store or atomic operation.

    Attributes:
      site: its line.
      memory: what it accesses.
      op: `"load"`, `"store"` or the name of the atomic operation.
      access: its static part.
      index, values: operands; the values of a load are what masked-out work-items get.
      where: its mask, or None.
      result: the loaded or the old value; None if nobody asks for it.
      origin: the same with what its line calls the result, for somebody who watches.
    """

    site: Site
    memory: Allocation
    op: str
    access: primitives.AccessAttributes
    index: tuple[Operand, ...]
    values: tuple[Operand, ...]
    where: Operand | None
    result: Register | None
    origin: Origin | None = None

    @property
    def is_hint(self) -> bool:
        """True if it neither gives a value nor changes the memory, so that nobody notices it."""
        return self.result is None and not self.values


@dataclasses.dataclass(frozen=True, eq=False)
class GroupFunction:
    """A place that all work-items of a group or sub-group must have reached before one of them goes on.

    Attributes:
      level: `collectives.GROUP` or `SUB_GROUP`.
      memories: whose accesses it orders.
      where: the work-items that take part, or None for all.
      exchange: what is computed from the values of all, or None.
      site: its line.
      active: of those that meet, the work-items whose accesses it orders, or None for all: a sub-group is in lockstep,
        and comes with lanes that are not active.
    """

    level: str
    memories: tuple[Allocation, ...]
    where: Operand | None
    exchange: Straight | None
    site: Site
    active: Operand | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Fence:
    """An order for the accesses of a work-item to some memories.

    Attributes:
      site: its line.
      memories: whose accesses it orders.
      ordering: its order and scope.
      where: the work-items that take part, or None for all.
    """

    site: Site
    memories: tuple[Allocation, ...]
    ordering: Ordering
    where: Operand | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Branch:
    """Goes on at the target of the number that a work-item holds, the last one if that is too large.

    Attributes:
      number: the operand that holds it.
      targets: the places.
      loop: the line of a loop that need not end, if this is its test: at the first target it has ended.
    """

    number: Operand
    targets: tuple[int, ...]
    loop: Site | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Jump:
    """Goes on somewhere else."""

    target: int


Step: TypeAlias = Straight | AccessStep | GroupFunction | Fence | Branch | Jump


@dataclasses.dataclass(frozen=True, eq=False)
class Code:
    """A program as steps.

    Attributes:
      steps: in order; a work-item that has passed the last one has ended.
      registers: all of them.
      initial: registers with a value from the start: of the `"argument"` of a number, or the `"local_id"` or
        `"group_id"` in a dimension (None for the linear one).
      read_later: numbers of the registers that some later step reads.
      scopes: for somebody who watches, by the places of steps in divergent code the mask of who carries them out.
    """

    steps: tuple[Step, ...]
    registers: tuple[Register, ...]
    initial: tuple[tuple[Register, str, int | None], ...]
    read_later: frozenset[int]
    scopes: Mapping[int, Register]


def read_later(steps: Sequence[Step]) -> frozenset[int]:
    """The registers that are read by another step than the one that computes them."""
    found: set[int] = set()
    for step in steps:
        match step:
            case Straight() | GroupFunction(exchange=Straight()):
                if isinstance(step, GroupFunction):
                    found |= {o.number for o in (step.where, step.active) if isinstance(o, Register)}
                straight = step if isinstance(step, Straight) else step.exchange
                assert straight is not None
                computed = {r.number for o in straight.operations for r in o.results}
                found |= {r.number for r in inputs(straight)} - computed
                found |= {target.number for target, _ in straight.moves}
            case AccessStep():
                found |= {o.number for o in (*step.index, *step.values, step.where) if isinstance(o, Register)}
            case GroupFunction() | Fence():
                parts = (step.where, step.active) if isinstance(step, GroupFunction) else (step.where,)
                found |= {o.number for o in parts if isinstance(o, Register)}
            case Branch(number=Register(number)):
                found.add(number)
    return frozenset(found)


def inputs(straight: Straight) -> list[Register]:
    """The registers that straight code reads before it computes them, each once."""
    computed: set[int] = set()
    found: dict[int, Register] = {}
    for operation in straight.operations:
        found |= {o.number: o for o in operation.operands if isinstance(o, Register) and o.number not in computed}
        computed |= {r.number for r in operation.results}
    found |= {o.number: o for _, o in straight.moves if isinstance(o, Register) and o.number not in computed}
    return list(found.values())


# How often straight code is usually carried out.
_TIMES = 64


def compiled(
    straight: Straight, kept: frozenset[int], geometry: Geometry, target: Target
) -> tuple[list[Register], Callable[..., Any]]:
    """Straight code as a compiled function, for a host.

    Returns:
      The registers that get new values; and a function that takes a list of the values of `inputs` and gives those of
      these registers, each with leading axes of groups and work-items: of a lanewise one the work-item's own element.
    """
    read, items = inputs(straight), geometry.items
    local = geometry.local_range
    computed = [r for o in straight.operations for r in o.results if r.number in kept]
    targets = [*((r, r) for r in computed), *straight.moves]

    def own(value: jax.Array, item: jax.Array) -> jax.Array:
        return value.reshape(items, *value.shape[len(local) :])[item]

    def of_group(lanes: list[jax.Array], copies: list[jax.Array], _: jax.Array) -> list[jax.Array]:
        whole = [a.reshape(*local, *a.shape[1:]) for a in lanes]

        def of_item(copies: list[jax.Array], item: jax.Array) -> list[jax.Array]:
            each, shared = iter(copies), iter(whole)
            values = {r.number: next(shared) if r.lanewise else next(each) for r in read}
            get = _carried_out(straight, values, functools.partial(own, item=item))
            return [own(get(value), item) if target.lanewise else get(value) for target, value in targets]

        return jax.vmap(of_item)(copies, jnp.arange(items))

    def run(values: list[Any]) -> list[jax.Array]:
        lanes = [v for v, r in zip(values, read, strict=True) if r.lanewise]
        copies = [v for v, r in zip(values, read, strict=True) if not r.lanewise]
        with jax.numpy_rank_promotion("allow"):
            return jax.vmap(of_group)(lanes, copies, jnp.arange(geometry.groups))

    # A copy of all that the work-items hold is computed by each of them, but for what they hold their own element of.
    operations = geometry.groups * items * items * len(straight.operations) * _TIMES
    options = compiling.effort(little=effort.is_cheaper_than_compiling(operations, target))
    return [register for register, _ in targets], compiling.compiled(run, options, ())


def _carried_out(
    straight: Straight, values: dict[int, jax.Array], own: Callable[[jax.Array], jax.Array]
) -> Callable[[Operand], jax.Array]:
    """Straight code carried out for one work-item.

    Args:
      straight: the code.
      values: of the registers that it reads, by number; those of its results are added.
      own: takes what all work-items hold, and gives the work-item's own element.

    Returns:
      A function that gives the value of an operand afterwards.
    """

    def get(operand: Operand) -> jax.Array:
        return values[operand.number] if isinstance(operand, Register) else jnp.asarray(operand)

    for operation in straight.operations:
        results = operation.function(*map(get, operation.operands))
        if operation.own:
            results = [own(x) for x in results]
        values |= {r.number: x for r, x in zip(operation.results, results, strict=True)}
    return get


def local_ids(geometry: Geometry, dim: int | None) -> np.ndarray:
    """`[items]` ids of the work-items in the group."""
    return geometry.local_ids(dim).reshape(-1).astype(geometry.id_type)


def group_ids(geometry: Geometry, dim: int | None) -> np.ndarray:
    """`[groups]` ids of the groups."""
    linear = np.arange(geometry.groups, dtype=geometry.id_type)
    if dim is None:
        return linear
    return linear // geometry.group_strides[dim] % geometry.group_range[dim]

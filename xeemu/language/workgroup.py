"""WorkGroup: what a kernel asks of the group that it is written for."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.errors import KernelArgumentError
from xeemu.language import choices, divergence, loops, operands, orders, primitives, source, spelling
from xeemu.language.collectives import GROUP, OPERATIONS, Collective
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.geometry import Geometry
from xeemu.language.memory import Memory, MemoryType
from xeemu.language.subgroup import SubGroup


class NeedsWideTypes(Exception):
    """A kernel that is traced with 32-bit types asks for a local memory of 64 bits; `program` traces it again."""


@jax.tree_util.register_static
@dataclasses.dataclass(frozen=True)
class WorkGroup:
    """The first argument of a kernel: one work-group, of any index, of the launch.

    Dimensions count as in SYCL: the last one is contiguous. Ids have shape `local_range`; what is the same for the
    whole group is a scalar.
    """

    _geometry: Geometry
    # Filled as the kernel asks for its sub-groups.
    _asked: list[str] = dataclasses.field(default_factory=list, compare=False, repr=False)
    _dialect: Dialect = dataclasses.field(default=PYTHON, compare=False, repr=False)

    def __repr__(self) -> str:
        sizes = (" x ".join(map(str, each)) for each in (self._geometry.local_range, self._geometry.global_range))
        return "<work-group of {} of {} work-items>".format(*sizes)

    @property
    def size(self) -> int:
        """Work-items of the group."""
        return self._geometry.items

    def local_range(self, d: int = 0) -> int:
        """Work-items of the group in dimension `d`."""
        return self._geometry.local_range[self._dimension(d)]

    def global_range(self, d: int = 0) -> int:
        """Work-items of the launch in dimension `d`."""
        return self._geometry.global_range[self._dimension(d)]

    def group_range(self, d: int = 0) -> int:
        """Work-groups of the launch in dimension `d`."""
        return self._geometry.group_range[self._dimension(d)]

    def local_id(self, d: int = 0) -> jax.Array:
        """`local_range` array of the work-items' ids in the group, in dimension `d`."""
        return self._local_id(self._dimension(d))

    def local_linear_id(self) -> jax.Array:
        """`local_range` array of 0, 1, ... in row-major order."""
        return self._local_id(self._linear)

    def group_id(self, d: int = 0) -> jax.Array:
        """The group's id in dimension `d`, a scalar."""
        return self._group_id(self._dimension(d))

    def group_linear_id(self) -> jax.Array:
        """The group's row-major id, a scalar."""
        return self._group_id(self._linear)

    def global_id(self, d: int = 0) -> jax.Array:
        """`local_range` array of the work-items' ids in the launch, in dimension `d`."""
        dimension = self._dimension(d)
        start = lax.mul(self._group_id(dimension), self._id(self._geometry.local_range[dimension]))
        return lax.add(lax.broadcast(start, self._geometry.local_range), self._local_id(dimension))

    def global_linear_id(self) -> jax.Array:
        """`local_range` array of the work-items' row-major ids in the launch."""
        linear = self.global_id(0)
        for d in range(1, len(self._geometry.local_range)):
            linear = linear * self._id(self._geometry.global_range[d]) + self.global_id(d)
        return linear

    @property
    def sub_group(self) -> SubGroup:
        """The sub-groups of this group."""
        self._needs_groups("a sub-group")
        self._asked.append("sub_group")
        return SubGroup(self)

    def local(self, shape: int | Sequence[int], dtype: Any, name: str | None = None) -> Memory:
        """An uninitialised local memory (SLM), shared by the group's work-items.

        Args:
          shape: elements per dimension, one to three; of none there is nothing to access.
          dtype: bool, integer or floating, of 8 to 64 bits.
          name: what messages call it; by default the variable it is assigned to.
        """
        self._needs_groups("local memory")
        return self._allocate("local", shape, dtype, name)

    def private(self, shape: int | Sequence[int], dtype: Any, name: str | None = None) -> Memory:
        """An uninitialised private memory: `shape` elements for each work-item, which sees only its own."""
        return self._allocate("private", shape, dtype, name)

    def barrier(self, *memories: Memory, where: Any = None) -> Any:
        """The memories after a work-group barrier, which orders the accesses to them.

        Args:
          *memories: the local and global memories whose accesses it orders.
          where: the work-items that reach the barrier; SYCL wants all or none.

        Returns:
          The memory, or a tuple if there are several, or None if there is none.
        """
        self._needs_groups("a barrier")
        mask = operands.mask(where, "a barrier")
        if mask is not None:
            operands.align([("where=", mask)], self._geometry.local_range, "a barrier")
        mask = divergence.where(mask)
        extra = [] if mask is None else [mask]
        return self._ordered(primitives.barrier_p, memories, extra, level=GROUP)

    def fence(self, *memories: Memory, order: str = "acq_rel", scope: str = "work_group") -> Any:
        """The memories after a fence (SYCL's `atomic_fence`) without a barrier; returned as by `barrier`.

        One of the scope `work_item` is legal, and orders nothing between work-items.
        """
        checked = orders.ordering(order, scope)
        return self._ordered(primitives.fence_p, memories, self._active(), ordering=checked)

    def broadcast(self, x: Any, id: Any) -> jax.Array:
        """The value of `x` in the work-item with local linear id `id`: a scalar, or the private axes of `x`."""
        return self._collect(GROUP, "broadcast", None, x, self._lane(id, "id"))

    def reduce(self, x: Any, op: str) -> jax.Array:
        """`x` of all work-items combined with `op`, in the dtype of `x`: a scalar, or the private axes of `x`."""
        return self._collect(GROUP, "reduce", op, x)

    def inclusive_scan(self, x: Any, op: str) -> jax.Array:
        """For each work-item, `x` of the work-items up to it combined with `op`."""
        return self._collect(GROUP, "inclusive_scan", op, x)

    def exclusive_scan(self, x: Any, op: str) -> jax.Array:
        """For each work-item, `x` of the work-items before it combined with `op`."""
        return self._collect(GROUP, "exclusive_scan", op, x)

    def any(self, x: Any) -> jax.Array:
        """True if `x` holds for some work-item, a bool scalar."""
        return self.reduce(operands.truth(x), "or")

    def all(self, x: Any) -> jax.Array:
        """True if `x` holds for every work-item, a bool scalar."""
        return self.reduce(operands.truth(x), "and")

    def none(self, x: Any) -> jax.Array:
        """True if `x` holds for no work-item, a bool scalar."""
        return ~self.any(x)

    def while_loop(self, cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
        """What is carried after a loop that each work-item leaves when its predicate is false.

        Who has left keeps its values, and takes no part in memory operations and group algorithms. A sub-group goes on
        while one of its lanes does.

        Args:
          cond: of the carry, a bool for each work-item, or one for all.
          body: of the carry, the next one.
          init: the first carry, a pytree of values and memories; scalars that change get an element per work-item.
        """
        return loops.while_loop(cond, body, init, self._geometry.local_range)

    def fori_loop(self, low: Any, high: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
        """What is carried after a loop from `low` to `high`, the end excluded, of which each work-item has its own.

        Args:
          low, high: integers, for each work-item or for all.
          body: of the counter and the carry, the next carry; the counter is a scalar if `low` is one.
          init: the first carry, see `while_loop`.
        """
        return loops.fori_loop(low, high, body, init, self._geometry.local_range)

    def cond(self, pred: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
        """What `then(*operands)` gives the work-items for which `pred` holds, and `otherwise(*operands)` the others.

        Each side is executed by those that take it, one side after the other. Both return the same structure; a memory
        that a side does not change it returns as it is.

        Args:
          pred: a bool for each work-item, or one for all.
          then, otherwise: of the operands.
          *operands: values and memories.
        """
        return choices.cond(pred, then, otherwise, operands, self._geometry.local_range)

    def __getattr__(self, name: str) -> NoReturn:
        raise spelling.no_such_name("a work-group", name, spelling.names_of(WorkGroup), spelling.WORK_GROUP)

    def _dimension(self, d: int) -> int:
        count = len(self._geometry.local_range)
        if not isinstance(d, int) or not 0 <= d < count:
            allowed = "0" if count == 1 else f"0 to {count - 1}"
            raise source.kernel_error(f"dimension {d!r} of a launch that has {count}; give {allowed}")
        return d

    def _id(self, value: int) -> Any:
        return self._geometry.id_type.type(value)

    @property
    def _linear(self) -> int | None:
        """What stands for the row-major order of all dimensions: the only one, if there is one."""
        return 0 if len(self._geometry.local_range) == 1 else None

    def _local_id(self, dim: int | None) -> jax.Array:
        geometry = self._geometry
        return primitives.local_id_p.bind(dim=dim, shape=geometry.local_range, dtype=geometry.id_type)[0]

    def _group_id(self, dim: int | None) -> jax.Array:
        return primitives.group_id_p.bind(dim=dim, dtype=self._geometry.id_type)[0]

    def _allocate(self, space: str, shape: int | Sequence[int], dtype: Any, name: str | None) -> Memory:
        name = name or source.name_for_caller() or space
        sizes = operands.sizes(shape, dtype, f"{space} memory {name}")
        element = operands.element_type(dtype, f"{space} memory {name}")
        if element.itemsize == 8 and not jax.config.read("jax_enable_x64"):
            raise NeedsWideTypes
        version = primitives.allocate_p.bind(space=space, shape=sizes, dtype=element, name=name)[0]
        return Memory(version, MemoryType(space, self._geometry.local_range, name))

    def _needs_groups(self, what: str) -> None:
        if self._geometry.plain:
            raise KernelArgumentError(
                f"the kernel uses {what}, but it is launched over a plain range, which has no work-groups of its own; "
                f"give the launch a local size: {self._dialect.nd_range(self._geometry.global_range)}"
                f"\n  at {source.of_caller()}"
            )

    def _ordered(self, primitive: Any, memories: tuple[Memory, ...], mask: list[jax.Array], **parameters: Any) -> Any:
        """Memories after a barrier or a fence: one, a tuple of several, or None."""
        versions = primitive.bind(*_versions(memories), *mask, masked=bool(mask), **parameters)
        return _renewed(memories, versions)

    def _collect(
        self, level: str, kind: str, op: str | None, x: Any, *argument: jax.Array, chunk: int | None = None
    ) -> jax.Array:
        self._needs_groups("a group algorithm")
        geometry = self._geometry
        if op is not None and op not in OPERATIONS:
            meant = spelling.meant(op, OPERATIONS, spelling.OPERATION)
            raise source.kernel_error(f"{kind} with op {op!r}{meant}; the operations are {', '.join(OPERATIONS)}")
        array = self._per_item(x, f"{level} {kind}")
        if op in ("and", "or", "xor") and jnp.issubdtype(array.dtype, jnp.inexact):
            raise source.kernel_error(f"{level} {kind} with op {op!r} of {array.dtype}; it is for integers and bool")
        mask = self._active()
        if mask:
            # What the others have computed there is nobody's.
            array = divergence.merged(mask[0], array, jnp.zeros_like(array))
        collective = Collective(level, kind, op, geometry.local_range, geometry.sub_group_size, bool(mask), chunk)
        return primitives.collective_p.bind(array, *argument, *mask, collective=collective)[0]

    def _active(self) -> list[jax.Array]:
        """`local_range` mask of the work-items that execute what is being traced; nothing if all do."""
        mask = divergence.active()
        return [] if mask is None else [jnp.broadcast_to(mask, self._geometry.local_range)]

    def _per_item(self, x: Any, what: str) -> jax.Array:
        """`x` with the work-group's axes in full."""
        array = operands.array(x, what)
        local_range = self._geometry.local_range
        (aligned,), private = operands.align([("the operand", array)], local_range, what)
        return jnp.broadcast_to(aligned, local_range + private)

    def _lane(self, id: Any, such: str) -> jax.Array:
        """What an algorithm is told besides its operand, a scalar or one for each work-item; `such` is what that is."""
        array = operands.integer(id, f"the {such} of a group algorithm", "it")
        return self._per_item(array, "a group algorithm") if array.ndim else array


def _versions(memories: tuple[Memory, ...]) -> list[jax.Array]:
    for memory in memories:
        if not isinstance(memory, Memory):
            raise source.kernel_error(
                f"a barrier or fence orders memories, but got {source.called(memory)}; "
                "pass the memories themselves: tile = wg.barrier(tile)"
            )
    return [memory._version for memory in memories]


def _renewed(memories: tuple[Memory, ...], versions: list[jax.Array]) -> Any:
    renewed = tuple(m._next(v) for m, v in zip(memories, versions, strict=True))
    return renewed[0] if len(renewed) == 1 else renewed or None

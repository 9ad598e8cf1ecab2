"""SubGroup: what a kernel asks of the sub-groups of its work-group."""

import dataclasses
from typing import TYPE_CHECKING, Any, NoReturn

import jax
from jax import lax

from xeemu.language import operands, primitives, source, spelling
from xeemu.language.collectives import SUB_GROUP, checked_chunk
from xeemu.language.memory import Memory

if TYPE_CHECKING:
    from xeemu.language.workgroup import WorkGroup


@dataclasses.dataclass(frozen=True)
class SubGroup:
    """The sub-groups of a work-group: consecutive work-items, `size` at a time; the last one may be partial.

    Every algorithm gives an array like its operand. What an absent lane would give is the poison value.
    """

    _group: "WorkGroup"

    def __repr__(self) -> str:
        return f"<sub-groups of {self.size} of {self._group!r}>"

    @property
    def size(self) -> int:
        """Lanes of a full sub-group."""
        return self._group._geometry.sub_group_size

    def local_id(self) -> jax.Array:
        """`local_range` array of the lane that each work-item is."""
        return lax.rem(self._group.local_linear_id(), self._size())

    def group_id(self) -> jax.Array:
        """`local_range` array of the sub-group that each work-item is in."""
        return lax.div(self._group.local_linear_id(), self._size())

    def local_range(self) -> jax.Array:
        """`local_range` array of the lanes that each work-item's sub-group really has: `size`, or fewer in the last."""
        before = self._group.local_linear_id() - self.local_id()
        return lax.min(self._group._id(self._group.size) - before, self._size())

    def broadcast(self, x: Any, id: Any) -> jax.Array:
        """`x` of lane `id`; `id` is the same for a whole sub-group."""
        return self._collect("broadcast", None, x, self._group._lane(id, "lane"))

    def reduce(self, x: Any, op: str, *, chunk: int | None = None) -> jax.Array:
        """`x` of all lanes combined with `op`; or of `chunk` lanes in a row, a power of two, each chunk for itself."""
        return self._collect("reduce", op, x, chunk=None if chunk is None else checked_chunk(chunk, self.size))

    def inclusive_scan(self, x: Any, op: str) -> jax.Array:
        """`x` of the lanes up to each combined with `op`."""
        return self._collect("inclusive_scan", op, x)

    def exclusive_scan(self, x: Any, op: str) -> jax.Array:
        """`x` of the lanes before each combined with `op`."""
        return self._collect("exclusive_scan", op, x)

    def any(self, x: Any) -> jax.Array:
        """True if `x` holds for some lane."""
        return self.reduce(operands.truth(x), "or")

    def all(self, x: Any) -> jax.Array:
        """True if `x` holds for every lane."""
        return self.reduce(operands.truth(x), "and")

    def none(self, x: Any) -> jax.Array:
        """True if `x` holds for no lane."""
        return ~self.any(x)

    def ballot(self, x: Any) -> jax.Array:
        """The mask of the lanes for which `x` holds, a uint32: bit 0 is lane 0, and that of an absent lane is 0."""
        if self.size > 32:
            raise source.kernel_error(
                f"a ballot of {self.size} lanes does not fit uint32; require a sub-group size of at most 32: "
                "@xe.kernel(sub_group_size=32)"
            )
        return self._collect("ballot", None, operands.truth(x))

    def shift_left(self, x: Any, delta: Any = 1) -> jax.Array:
        """`x` of the lane `delta` above."""
        return self._collect("shift_left", None, x, self._group._lane(delta, "distance"))

    def shift_right(self, x: Any, delta: Any = 1) -> jax.Array:
        """`x` of the lane `delta` below."""
        return self._collect("shift_right", None, x, self._group._lane(delta, "distance"))

    def rotate(self, x: Any, delta: Any, *, chunk: int | None = None) -> jax.Array:
        """`x` of the lane `delta` above, the first following the last of `chunk` lanes in a row or of the sub-group.

        Of a partial sub-group the last lane is that of a full one, which is absent.
        """
        within = None if chunk is None else checked_chunk(chunk, self.size)
        return self._collect("rotate", None, x, self._group._lane(delta, "distance"), chunk=within)

    def permute_xor(self, x: Any, mask: Any) -> jax.Array:
        """`x` of the lane whose number is this one's XOR `mask`."""
        return self._collect("permute_xor", None, x, self._group._lane(mask, "mask"))

    def select(self, x: Any, id: Any) -> jax.Array:
        """`x` of lane `id`, which each lane chooses for itself."""
        return self._collect("select", None, x, self._group._lane(id, "lane"))

    def barrier(self, *memories: Memory) -> Any:
        """The memories after a barrier of each sub-group on its own; returned as by `WorkGroup.barrier`."""
        return self._group._ordered(primitives.barrier_p, memories, self._group._active(), level=SUB_GROUP)

    def load(self, memory: Memory, base: Any) -> jax.Array:
        """Block load: each lane gets `memory[base + lane]`; `base` is the same for a whole sub-group."""
        return memory._load(self._block(memory, base), None, 0, None, block=True)

    def store(self, memory: Memory, base: Any, x: Any) -> Memory:
        """Block store: each lane stores `x` to `memory[base + lane]`; `base` is the same for a whole sub-group."""
        return memory._store(self._block(memory, base), x, None, block=True)

    def __getattr__(self, name: str) -> NoReturn:
        raise spelling.no_such_name("a sub-group", name, spelling.names_of(SubGroup), spelling.SUB_GROUP)

    def _block(self, memory: Memory, base: Any) -> jax.Array:
        start = operands.index(base, 0, memory.name)
        return start + self.local_id().astype(start.dtype)

    def _size(self) -> Any:
        return self._group._id(self.size)

    def _collect(self, kind: str, op: str | None, x: Any, *argument: jax.Array, chunk: int | None = None) -> jax.Array:
        return self._group._collect(SUB_GROUP, kind, op, x, *argument, chunk=chunk)

"""Group and sub-group algorithms over the work-items of one work-group (SYCL 2020, section 4.17)."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.language import source
from xeemu.language.memory import poison

GROUP, SUB_GROUP = "group", "sub_group"
OPERATIONS = ("add", "mul", "min", "max", "and", "or", "xor")

# Beyond every lane, and such that the sum with a lane does not overflow.
_FAR = 2**30

COMBINE = {
    "add": lax.add,
    "mul": lax.mul,
    "min": lax.min,
    "max": lax.max,
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
}
# C++ converts the sum, product, least and greatest of two bools back to bool.
_COMBINE_BOOL = {"add": "or", "mul": "and", "min": "and", "max": "or"}
_SCAN = {"add": lax.cumsum, "mul": lax.cumprod, "min": lax.cummin, "max": lax.cummax}

_SOURCE: Mapping[str, Callable[[Any, Any, int], Any]] = {
    "broadcast": lambda lane, a, lanes: a,
    "select": lambda lane, a, lanes: a,
    "shift_left": lambda lane, a, lanes: lane + a,
    "shift_right": lambda lane, a, lanes: lane - a,
    "rotate": lambda lane, a, lanes: _modulo(lane + a, lanes),
    "permute_xor": lambda lane, a, lanes: lane ^ a,
}
"""By kind of an exchange the lane whose value a lane gets, of its own number, the argument and how many there are."""


@dataclasses.dataclass(frozen=True)
class Collective:
    """One algorithm, as the static part of a `collective` operation.

    Attributes:
      level: `"group"` or `"sub_group"`.
      kind: `"broadcast"`, `"reduce"`, `"inclusive_scan"`, `"exclusive_scan"`, `"shift_left"`, `"shift_right"`,
        `"rotate"`, `"permute_xor"`, `"select"` or `"ballot"`.
      op: the operation of a reduction or scan, else None.
      local_range: the work-group's axes.
      sub_group_size: lanes of a full sub-group.
      masked: true if a mask of the work-items that take part follows the other operands. What one would get of a
        work-item that does not is the poison value, and it has no part in a reduction.
      chunk: lanes of the chunks that a sub-group is cut into, each of which reduces or rotates for itself; None if it
        is not cut.
    """

    level: str
    kind: str
    op: str | None
    local_range: tuple[int, ...]
    sub_group_size: int
    masked: bool = False
    chunk: int | None = None

    def __str__(self) -> str:
        chunks = f" in chunks of {self.chunk}" if self.chunk else ""
        return f"{self.level} {self.kind}" + (f" {self.op}" if self.op else "") + chunks

    @property
    def lanes(self) -> int:
        """Work-items in a row that carry it out together, of which the last may be fewer."""
        return self._items if self.level == GROUP else self.chunk or self.sub_group_size

    @property
    def is_scan(self) -> bool:
        """True if it combines each element with those before it."""
        return self.kind in ("inclusive_scan", "exclusive_scan")

    @property
    def exchanges(self) -> bool:
        """True if it gives each lane the value of a lane that its argument tells."""
        return self.kind in _SOURCE

    def source_lane(self, lane: Any, argument: Any) -> Any:
        """The lane whose value each lane gets, which need not exist.

        Args:
          lane: the numbers of the lanes.
          argument: what `narrowed` gives of the lane, shift or mask.
        """
        return _SOURCE[self.kind](lane, argument, self.lanes)

    def narrowed(self, argument: Any) -> Any:
        """A lane, shift or mask of any integer dtype as int32; what is no lane of a group stays none."""
        # Who rotates by more than all lanes gets a lane all the same, which the limits would alter.
        argument = _modulo(argument, self.lanes) if self.kind == "rotate" else argument
        info = jnp.iinfo(argument.dtype)
        limit = min(_FAR, int(info.max))
        return argument.clip(max(-limit, int(info.min)), limit).astype(np.int32)

    def result_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A group's reduction or broadcast leaves the private axes only; everything else keeps `shape`."""
        one = self.level == GROUP and self.kind in ("reduce", "broadcast")
        return shape[len(self.local_range) :] if one else shape

    def result_type(self, dtype: np.dtype) -> np.dtype:
        """A ballot makes a mask of bools; everything else keeps the dtype."""
        return np.dtype(np.uint32) if self.kind == "ballot" else dtype

    def apply(self, x: jax.Array, *argument: jax.Array | np.ndarray) -> jax.Array:
        """The algorithm on one work-group.

        Args:
          x: `local_range + private`.
          argument: the lane, shift or mask, a scalar or one per work-item: `local_range`. What is known before the
            program runs is an array of NumPy's. If it is masked, the mask comes last.

        Returns:
          An array of `result_shape(x.shape)`. What an absent lane would give is the poison value.
        """
        private = x.shape[len(self.local_range) :]
        result = self.rows(x, *argument)
        if self.level == GROUP and self.kind in ("reduce", "broadcast"):
            return result[0, 0]
        count = result.shape[0]
        full = jnp.broadcast_to(result, (count, self.lanes, *private)).reshape(count * self.lanes, *private)
        return full[: self._items].reshape(x.shape)

    def gives_same(self, *dimensions: int) -> bool:
        """True if it gives all work-items that carry it out together the same.

        Args:
          dimensions: of the lane, shift or mask.
        """
        return self.kind in ("reduce", "ballot") or (self.kind in ("broadcast", "select") and not any(dimensions))

    def rows(self, x: jax.Array, *argument: jax.Array | np.ndarray) -> jax.Array:
        """The results `[rows, lanes, *private]`, a row for each `lanes` work-items; with 1 if all get the same."""
        private = x.shape[len(self.local_range) :]
        fill = poison(x.dtype) if self.op is None else identity(self.op, x.dtype)
        fill = np.bool_(False) if self.kind == "ballot" else fill
        if self.masked:
            argument, mask = argument[:-1], argument[-1]
            x = jnp.where(mask.reshape(*mask.shape, *(1,) * len(private)), x, fill)
        rows = _rows(x.reshape(self._items, *private), self.lanes, fill)
        if self.kind == "broadcast" and _is_lane_of_all(argument[0], self._items, self.lanes):
            return rows[:, int(argument[0])][:, None]
        if argument and self.gives_same(argument[0].ndim) and not self._items % self.lanes:
            return _lane(rows, self.narrowed(jnp.asarray(argument[0])))
        return self._rows_result(rows, [self._argument(a) for a in argument])

    @property
    def _items(self) -> int:
        return math.prod(self.local_range)

    def _argument(self, a: jax.Array | np.ndarray) -> jax.Array | np.ndarray:
        """`[rows, lanes]` int32, scalars as `[1, 1]`; a scalar that is known stays an array of NumPy's."""
        if not a.ndim:
            return self.narrowed(a).reshape(1, 1)
        return _rows(self.narrowed(jnp.asarray(a)).reshape(self._items), self.lanes, np.int32(0))

    def _rows_result(self, rows: jax.Array, argument: list[jax.Array | np.ndarray]) -> jax.Array:
        if self.kind == "reduce":
            return _reduce(self.op, rows)
        if self.kind == "ballot":
            return _ballot(rows)
        if self.kind == "inclusive_scan":
            return _scan(self.op, rows)
        if self.kind == "exclusive_scan":
            return _exclusive(self.op, _scan(self.op, rows))
        lane = np.arange(rows.shape[1], dtype=np.int32)[None]
        source_lane = self.source_lane(lane, argument[0])
        broadcast = np.broadcast_to if isinstance(source_lane, np.ndarray) else jnp.broadcast_to
        return _take(rows, broadcast(source_lane, (rows.shape[0], source_lane.shape[1])), self._items)


def checked_chunk(chunk: Any, lanes: int) -> int | None:
    """The lanes of the chunks that a sub-group of `lanes` is cut into; None if one chunk is all of it.

    Raises:
      KernelError: it is not known as the kernel is traced, no power of two, or more than the sub-group has.
    """
    if isinstance(chunk, bool) or not isinstance(chunk, int | np.integer):
        raise source.kernel_error(
            f"the chunk of a sub-group is {source.called(chunk)}; give a Python int that is known as the kernel is "
            "traced: chunk=8, or a static parameter, a keyword-only one of the kernel"
        )
    if chunk < 1 or chunk & (chunk - 1) or chunk > lanes:
        raise source.kernel_error(
            f"a chunk of {chunk} lanes of a sub-group of {lanes}; give a power of two of at most {lanes}"
        )
    return None if chunk == lanes else int(chunk)


def identity(op: str | None, dtype: Any) -> Any:
    """The neutral element of `op` (SYCL's `known_identity`)."""
    dtype = np.dtype(dtype)
    if op in ("add", "or", "xor"):
        return dtype.type(0)
    if op == "mul":
        return dtype.type(1)
    if op == "and":
        return np.bool_(True) if dtype.kind == "b" else np.bitwise_not(dtype.type(0))
    low, high = _extremes(dtype)
    return high if op == "min" else low


def _extremes(dtype: np.dtype) -> tuple[np.generic, np.generic]:
    if dtype.kind == "b":
        return np.bool_(False), np.bool_(True)
    if jnp.issubdtype(dtype, jnp.floating):
        return dtype.type(-np.inf), dtype.type(np.inf)
    info = jnp.iinfo(dtype)
    return dtype.type(info.min), dtype.type(info.max)


def _modulo(number: Any, lanes: int) -> Any:
    """The remainder, never negative, of integers of NumPy or JAX.

    XLA makes no mask of that of signed ones (2-core EPYC: a rotation of 2^22 elements by a distance that is not known
    takes 5 times as long).
    """
    return number & (lanes - 1) if lanes.bit_count() == 1 else number % lanes


def _is_lane_of_all(lane: jax.Array | np.ndarray, items: int, lanes: int) -> bool:
    """True if a known scalar is a lane that every sub-group has."""
    return isinstance(lane, np.ndarray) and not lane.ndim and 0 <= int(lane) < lanes - (-items % lanes)


def _rows(x: jax.Array, lanes: int, fill: Any) -> jax.Array:
    """`[items, ...]` as `[rows, lanes, ...]`, the absent lanes of the last row filled."""
    rows = -(-x.shape[0] // lanes)
    missing = rows * lanes - x.shape[0]
    if missing:
        x = jnp.concatenate([x, jnp.full((missing, *x.shape[1:]), fill, x.dtype)])
    return x.reshape(rows, lanes, *x.shape[1:])


def _operation(op: str | None, dtype: Any) -> str:
    return _COMBINE_BOOL.get(op or "", op or "") if dtype.kind == "b" else op or ""


def _reduce(op: str | None, rows: jax.Array) -> jax.Array:
    combine = COMBINE[_operation(op, rows.dtype)]
    return lax.reduce(rows, identity(op, rows.dtype), combine, (1,))[:, None]


def _ballot(rows: jax.Array) -> jax.Array:
    """Bit `l` of a row's mask is set if its lane `l` holds."""
    bits = np.uint32(1) << np.arange(rows.shape[1], dtype=np.uint32)
    bits = bits.reshape(1, -1, *(1,) * (rows.ndim - 2))
    return lax.reduce(jnp.where(rows, bits, np.uint32(0)), np.uint32(0), lax.bitwise_or, (1,))[:, None]


def _scan(op: str | None, rows: jax.Array) -> jax.Array:
    name = _operation(op, rows.dtype)
    scan = _SCAN.get(name)
    return scan(rows, axis=1) if scan else lax.associative_scan(COMBINE[name], rows, axis=1)


def _exclusive(op: str | None, inclusive: jax.Array) -> jax.Array:
    first = jnp.full_like(inclusive[:, :1], identity(op, inclusive.dtype))
    return jnp.concatenate([first, inclusive[:, :-1]], axis=1)


def _lane(rows: jax.Array, lane: jax.Array) -> jax.Array:
    """The elements of one lane of all rows, which are full; the poison value if there is no such lane."""
    taken = lax.dynamic_slice_in_dim(rows, lane, 1, axis=1)
    return jnp.where((lane >= 0) & (lane < rows.shape[1]), taken, poison(rows.dtype))


def _take(rows: jax.Array, lane: jax.Array | np.ndarray, items: int) -> jax.Array:
    """`rows[r, lane[r, l]]`, the poison value where that lane lies outside the sub-group or is absent.

    Of lanes that are known no index is computed as the program runs, as XLA does not fold it (2-core EPYC: a rotation
    of 2^22 elements then takes 1.3 to 1.8 times as long).
    """
    count, lanes = rows.shape[:2]
    present = (lane >= 0) & (lane < lanes) & (np.arange(count, dtype=np.int32)[:, None] * lanes + lane < items)
    extra = (1,) * (rows.ndim - 2)
    where = np.where if isinstance(lane, np.ndarray) else jnp.where
    taken = jnp.take_along_axis(rows, where(present, lane, 0).reshape(*lane.shape, *extra), axis=1)
    if isinstance(present, np.ndarray) and present.all():
        return taken
    return jnp.where(present.reshape(*lane.shape, *extra), taken, poison(rows.dtype))

"""Costs: what one execution of an access costs, of the elements that its lanes touch.

Axis legend: C executions, n elements of an access that may take part in a group, Q instructions of sub-groups, S lanes,
W elements of a vector, R requests of an instruction, F figures. All functions work on NumPy arrays and, traced or not,
on JAX arrays.

An instruction accesses vectors if in that execution each of its lanes has a whole one, which begins at a multiple of
its size, or none; else it is issued element by element.

Private memory outside the registers lies in global memory with the copies of a sub-group's lanes side by side.
"""

import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.cost import reduction, requests
from xeemu.cost.requests import RequestLayout
from xeemu.cost.vectors import Vector
from xeemu.devices import banks, lanes, lines
from xeemu.devices.device import Device
from xeemu.emission import fusion_barriers
from xeemu.knowledge.access_tree import MemoryOperation
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

FIGURES = ("requests", "passes", "ideal_passes", "bytes_used", "lines", "sectors", "lanes", "l1_passes")
"""Passes are of local memory; lines, sectors and passes of the L1 of global and private memory; lanes take part."""

Array = Any
_Measure = Callable[[Array, Array, int], Sequence[Array]]
_Combine = Callable[[Sequence[Array], int], Array]

# Bits of words of 32 and of 64 bits without the sign.
_SHORT, _LONG = 31, 63


def _sums(figures: Sequence[Array], parts: int) -> Array:
    """int64 `[C, F]` of figures `[C, Q, R]`."""
    return lanes.namespace(*figures).stack([figure.sum((-2, -1), dtype=np.int64) for figure in figures], -1)


def _totals(figures: Sequence[Array], most: Sequence[int], source: jax.Array, rows: int = 1) -> jax.Array:
    """int64 `[rows, F]` of figures `[C, Q, R]` of requests, of which none is greater than `most`, in equal parts.

    They are computed from `source`.

    XLA would compute anew for each sum what all have in common, and in vectors of 64 bits, as sums have them. So the
    figures of a request come to be in few words of 32 bits, each computed once, and are added up several in a word.
    """
    shape = np.broadcast_shapes(*(figure.shape for figure in figures))
    each = {id(figure): figure for figure in figures if not _is_zero(figure)}
    bounds = {key: max(m for f, m in zip(figures, most, strict=True) if f is figure) for key, figure in each.items()}
    by_request: dict[int, jax.Array] = {}
    for word in _words({key: bound.bit_length() for key, bound in bounds.items()}, _SHORT):
        packed = _packed({key: jnp.broadcast_to(each[key], shape).astype(np.int32) for key in word}, word)
        # XLA's loops go through the last axis, which would be short.
        by_request |= _unpacked(fusion_barriers.materialised(packed.reshape(-1), source), word)
    totals: dict[int, jax.Array] = {}
    for word in _words({key: (math.prod(shape) * bound).bit_length() for key, bound in bounds.items()}, _LONG):
        packed = _packed({key: by_request[key].astype(np.int64) for key in word}, word)
        totals |= _unpacked(packed.reshape(rows, -1).sum(1), word)
    return jnp.stack([totals.get(id(figure), jnp.zeros(rows, np.int64)) for figure in figures], 1)


def _is_zero(figure: Array) -> bool:
    return isinstance(figure, np.ndarray) and not figure.any()


def _packed(numbers: Mapping[int, jax.Array], bits: Mapping[int, int]) -> jax.Array:
    """Numbers of so many bits, by their keys, in one word."""
    starts = itertools.accumulate(bits.values(), initial=0)
    parts = (numbers[key] << numbers[key].dtype.type(start) for key, start in zip(bits, starts, strict=False))
    return functools.reduce(operator.or_, parts)


def _unpacked(word: jax.Array, bits: Mapping[int, int]) -> dict[int, jax.Array]:
    """The numbers that `_packed` has put in a word."""
    starts, of = itertools.accumulate(bits.values(), initial=0), word.dtype.type
    return {key: (word >> of(start)) & of((1 << bits[key]) - 1) for key, start in zip(bits, starts, strict=False)}


def _words(bits: Mapping[int, int], most: int) -> Iterator[dict[int, int]]:
    """Keys with so many bits each, in groups that fit in one word of `most` bits."""
    word: dict[int, int] = {}
    for key, n in bits.items():
        if word and sum(word.values()) + n > most:
            yield word
            word = {}
        word[key] = n
    if word:
        yield word


@dataclasses.dataclass(frozen=True, eq=False)
class Meter:
    """Measures one access.

    Attributes:
      operation: the access.
      device: the modelled device.
      geometry: the sizes of the launch.
      chosen: `[n]` flat positions of the elements that may take part.
      layout: its instructions.
      aligned: true if its vectors are known to begin at multiples of their size.
    """

    operation: MemoryOperation
    device: Device
    geometry: Geometry
    chosen: np.ndarray
    layout: RequestLayout
    aligned: bool

    @classmethod
    def of(
        cls,
        operation: MemoryOperation,
        vector: Vector,
        chosen: np.ndarray,
        device: Device,
        geometry: Geometry,
    ) -> "Meter":
        """The meter of an access that is made up of these vectors, of these of its elements."""
        made = requests.shared_layout if vector.shared else requests.layout
        layout = made(operation.access.shape, chosen, geometry, vector.width)
        return cls(operation, device, geometry, chosen, layout, vector.aligned)

    @property
    def memory(self) -> Allocation:
        return self.operation.access_site.memory

    @functools.cached_property
    def reduced(self) -> bool:
        """True if of the lanes of a request one takes part for all."""
        return reduction.is_reduced(self.operation, self.device)

    @property
    def places(self) -> int:
        """Elements of the piece of memory by whose size all addresses may be moved without a change of any figure."""
        unit = self.device.slm_bank_bytes if self.memory.space == "local" else self.device.line_bytes
        assert unit is not None
        # Where a vector begins has to stay a multiple of its size, or none.
        return math.lcm(max(1, unit // self.memory.dtype.itemsize), self.layout.width)

    def interleaved(self, index: Array) -> Array:
        """`[..., n]` places of the elements of private memory in the scratch of a group; else the index itself."""
        if self.memory.space != "private":
            return index
        size, shape = self.geometry.sub_group_size, self.operation.access.shape
        private = math.prod(shape) // self.geometry.items if shape else 1
        sub_group, lane = np.divmod(self.chosen // private, size)
        offset = sub_group * self.memory.elements * size + lane
        return index * index.dtype.type(size) + offset.astype(index.dtype)

    def figures(self, index: Array, active: Array, every: bool) -> Array:
        """int64 `[C, F]` of an access.

        Args:
          index: `[C, n or 1]` linear index of each element, interleaved.
          active: `[C, n or 1]` which of them take part.
          every: true if the bytes used in local memory and the passes of the L1 are asked for, which cost time; else
            they are 0.
        """
        return self._executed(functools.partial(self._figures, every=every), index, active)

    def total(self, index: Array, active: Array, executions: int) -> Array:
        """int64 `[F]` of so many executions together, without what costs time (see `figures`).

        Args:
          index, active: as of `figures`; if C is 1, all executions are alike.
          executions: C, or how many there are.
        """
        times = np.int64(executions if max(len(index), len(active)) == 1 else 1)
        return self.totals(index, active, 1)[0] * times

    def totals(self, index: Array, active: Array, rows: int) -> Array:
        """int64 `[rows, F]` of executions in so many equal parts, each added up, without what costs time."""
        source = next(array for array in (index, active) if isinstance(array, jax.Array))

        def combined(figures: Sequence[Array], parts: int) -> jax.Array:
            return _totals(figures, self._most(parts), source, rows)

        return self._executed(functools.partial(self._figures, every=False), index, active, combined)

    @functools.cached_property
    def rule(self) -> Hashable:
        """What the figures of an access depend on, beside its place and its lanes."""
        memory, layout = self.memory, self.layout
        whom = kind(self.operation) if memory.space == "local" else self.operation.updates
        lanes_ = layout.slot.shape, layout.slot.tobytes(), layout.copies, self.aligned
        return self.device, memory.space, memory.dtype, whom, self.reduced, lanes_

    def issued(self, active: np.ndarray) -> np.ndarray:
        """int64 `[C, 2]` requests with an active lane and lanes, of `[C, n or 1]` active elements, vectors aligned."""
        assert self.aligned
        found: np.ndarray = self._executed(self._issued, np.zeros((1, 1), np.int64), active)
        return found

    def drawn(self, index: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
        """`[Q, S]` element that each lane accesses first, which lanes do, and how many elements each of one execution.

        If not all of its instructions access vectors, none is drawn with them.
        """
        whole = bool(self._accesses_vectors(index, active).all())
        places, on = _laid_out(self.layout.first if whole else self.layout.apart, index, active)
        return places[0], on[0], self.layout.width if whole else 1

    def _executed(self, measure: _Measure, index: Array, active: Array, combine: _Combine = _sums) -> Array:
        """`[C, F]` of executions, each instruction issued as vectors or element by element.

        Args:
          measure: gives F figures `[C, Q, R]` of the place `[C, Q, S]` where each lane begins, which lanes take part,
            and how many elements each accesses.
          index, active: as of `figures`.
          combine: makes one array of figures of all instructions, and of into how many parts some are issued.
        """
        layout, whole = self.layout, self._accesses_vectors(index, active)

        def vectors_() -> Array:
            return layout.copies * combine(measure(*_laid_out(layout.first, index, active), layout.width), 1)

        def mixed() -> Array:
            wide = measure(*_laid_out(layout.first, index, active), layout.width)
            apart = measure(*_laid_out(layout.apart, index, active), 1)
            each = [a.reshape(len(a), -1, layout.width, a.shape[-1]).sum(2, dtype=a.dtype) for a in apart]
            choice, chosen = lanes.namespace(*wide, whole).where, whole[..., None]
            figures = [choice(chosen, a, b) for a, b in zip(wide, each, strict=True)]
            return layout.copies * combine(figures, layout.width)

        if isinstance(whole, jax.Array):
            # Masks and bounds seldom cut through a vector, and looking at each element costs several times as much.
            return lax.cond(whole.all(), vectors_, mixed)
        return vectors_() if whole.all() else mixed()

    def _accesses_vectors(self, index: Array, active: Array) -> Array:
        """bool `[C or 1, Q]`: true if each instruction has whole vectors only, all of which begin at multiples of W."""
        layout = self.layout
        if layout.width == 1:
            return np.ones((1, len(layout.slot)), bool)
        # One mask for all elements cuts through no vector.
        on = layout.slot[None] >= 0 if active.shape[1] == 1 else _on(layout.slot, active)
        whole = on.all(-1)
        if not self.aligned:
            whole = whole & (_placed(index, layout.first) % index.dtype.type(layout.width) == 0)
        return (whole | ~on.any(-1)).all(-1)

    def _issued(self, place: np.ndarray, active: np.ndarray, elements: int) -> Sequence[np.ndarray]:
        """`[C, Q, R]` requests and lanes."""
        active = _first(active) if self.reduced else active
        _, split = lanes.requests(place, active, self.device.request_lanes)
        return split.any(-1).astype(np.int64), elements * split.sum(-1)

    def _most(self, parts: int) -> Sequence[int]:
        """The most that each of the figures of a request can be, of instructions that are issued in so many parts.

        An atomic that is a loop has two passes for each component, lane group and round.
        """
        size = self.layout.slot.shape[1]
        lanes_ = min(self.device.request_lanes or size, size)
        elements = lanes_ * self.layout.width
        each = parts * lanes_
        return parts, 64 * each, 64 * parts, elements * self.memory.dtype.itemsize, each, each, elements, 0

    def _figures(self, place: Array, active: Array, elements: int, every: bool) -> Sequence[Array]:
        """`[C, Q, R]` each of the figures."""
        active = _first(active) if self.reduced else active
        itemsize = self.memory.dtype.itemsize
        width = elements * itemsize
        addresses = place * place.dtype.type(itemsize)
        _, split = lanes.requests(place, active, self.device.request_lanes)
        taking_part = elements * split.sum(-1, dtype=np.int32)
        zero = np.zeros(taking_part.shape, np.int32)
        if self.memory.space == "local":
            passes = banks.request_passes(addresses, active, self.device, width=width, kind=kind(self.operation))
            used = self._lines(addresses, active, width, False).bytes_used if every else zero
            return passes.requests, passes.passes, passes.ideal_passes, used, zero, zero, taking_part, zero
        touched = self._lines(addresses, active, width, self.operation.updates)
        l1 = self._l1_passes(addresses, active, width) if every else zero
        used, lines_, sectors = touched.bytes_used, touched.lines, touched.sectors
        return touched.requests, zero, zero, used, lines_, sectors, taking_part, l1

    def _l1_passes(self, addresses: Array, active: Array, width: int) -> Array:
        """Passes of the L1 for requests to global memory: of its tags or of its banks, whichever take longer."""
        if self.device.tag_bank_masks is None or self.device.slm_banks is None or self.operation.updates:
            requests_ = lanes.requests(addresses, active, self.device.request_lanes)[1]
            return lanes.namespace(addresses, active).zeros(requests_.shape[:-1], np.int32)
        tags = lines.request_counts(addresses, active, self.device, width=width).tag_passes
        data = banks.request_passes(addresses, active, _unmerged(self.device), width=width, kind="load").passes
        return lanes.namespace(addresses, active).maximum(tags, data)

    def _lines(self, addresses: Array, active: Array, width: int, atomic: bool) -> lines.LineCounts:
        return lines.request_counts(addresses, active, self.device, width=width, atomic=atomic, tags=False)


def kind(operation: MemoryOperation) -> banks.Kind:
    """What the banks see of an operation."""
    op = operation.name
    if op in ("add", "sub"):
        if jnp.issubdtype(operation.access_site.memory.dtype, jnp.floating):
            return "float_add"
        return "increment" if operation.adds_one else "add"
    name: banks.Kind = op  # type: ignore[assignment]
    return name


def _first(active: Array) -> Array:
    """`[C, Q, S]` the first lane of each instruction that takes part."""
    return active & (lanes.namespace(active).cumsum(active, -1) == 1)


def _laid_out(slot: np.ndarray, index: Array, active: Array) -> tuple[Array, Array]:
    """`[C, Q, S]` element that each lane accesses first, and which lanes do, of `[Q, S]` slots."""
    xp = lanes.namespace(index, active)
    place, on = _placed(index, slot), _on(slot, active)
    shape = np.broadcast_shapes(place.shape, on.shape, slot.shape)
    return xp.broadcast_to(place, shape), xp.broadcast_to(on, shape)


def _on(slot: np.ndarray, active: Array) -> Array:
    """`[C, ...]` which slots `[...]` take part in each execution, of `[C, n or 1]` active elements."""
    return _placed(active, slot) & (slot >= 0)


def _placed(array: Array, slot: np.ndarray) -> Array:
    """`[C, n or 1]` as `[C, ...]` for slots `[...]`, or with axes of length 1."""
    if array.shape[1] == 1:
        return array.reshape(-1, *[1] * slot.ndim)
    if slot.size == array.shape[1] and (slot.reshape(-1) == np.arange(slot.size)).all():
        return array.reshape(array.shape[0], *slot.shape)
    return array[:, np.maximum(slot, 0)]


@functools.lru_cache(maxsize=64)
def _unmerged(device: Device) -> Device:
    """The device's L1, which has the banks of its SLM, but does not merge lane groups."""
    return dataclasses.replace(device, slm_paired_lanes=None)

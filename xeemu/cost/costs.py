"""Costs: what one execution of an access costs, of the elements that its lanes touch.

Axis legend: C executions, n elements of an access that may take part in a group, Q instructions of sub-groups, S lanes,
W elements of a vector, F figures. All functions work on NumPy arrays and, traced or not, on JAX arrays.

An instruction accesses vectors if in that execution each of its lanes has a whole one, which begins at a multiple of
its size, or none; else it is issued element by element.

Private memory outside the registers lies in global memory with the copies of a sub-group's lanes side by side.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.cost import requests
from xeemu.cost.requests import Layout
from xeemu.cost.vectors import Vector
from xeemu.devices import banks, lanes, lines
from xeemu.devices.device import Device
from xeemu.knowledge.access_tree import Operation
from xeemu.language.geometry import Geometry
from xeemu.language.linearity import Allocation

FIGURES = ("requests", "passes", "ideal_passes", "bytes_used", "lines", "sectors", "lanes", "l1_passes")
"""Passes are of local memory; lines, sectors and passes of the L1 of global and private memory; lanes take part."""

Array = Any
_Measure = Callable[[Array, Array, int], Sequence[Array]]
_Together = Callable[[Sequence[Array]], Array]

# The most that a figure of an instruction can be, for each lane that accesses an element and for each element: bytes of
# a lane are 16 at most, passes of an atomic that is a loop two for each component, lane group and round.
_MOST = ((1, 0), (64, 0), (0, 64), (16, 0), (1, 0), (1, 0), (1, 0), (0, 0))
_WORD_BITS = 63


def _sums(figures: Sequence[Array]) -> Array:
    """int64 `[C, F]` of figures `[C, Q]`."""
    return lanes.namespace(*figures).stack([figure.sum(-1, dtype=np.int64) for figure in figures], -1)


def _totals(figures: Sequence[Array], lanes_: int, elements: int) -> jax.Array:
    """int64 `[F]` of figures `[C, Q]` of instructions of so many lanes that access so many elements each.

    XLA would compute anew for each sum what all have in common, so that several are added up in one number.
    """
    shape = np.broadcast_shapes(*(figure.shape for figure in figures))
    totals = {id(figure): jnp.broadcast_to(figure, shape).sum(dtype=np.int64) for figure in figures if _is_zero(figure)}
    bits = {
        id(figure): (math.prod(shape) * elements * (by_lane * lanes_ + by_element)).bit_length()
        for figure, (by_lane, by_element) in zip(figures, _MOST, strict=True)
    }
    for word in _words({id(figure): figure for figure in figures if id(figure) not in totals}, bits):
        starts = np.cumsum([0, *(bits[id(figure)] for figure in word)])[:-1].tolist()
        parts = [jnp.broadcast_to(figure, shape).astype(np.int64) << n for figure, n in zip(word, starts, strict=True)]
        total = functools.reduce(jnp.add, parts).sum()
        for figure, start in zip(word, starts, strict=True):
            totals[id(figure)] = (total >> start) & ((1 << bits[id(figure)]) - 1)
    return jnp.stack([totals[id(figure)] for figure in figures])


def _is_zero(figure: Array) -> bool:
    return isinstance(figure, np.ndarray) and not figure.any()


def _words(figures: Mapping[int, Array], bits: Mapping[int, int]) -> Iterator[list[Array]]:
    """Figures, by their number, in groups whose bits fit in one word."""
    word, taken = list[Array](), 0
    for number, figure in figures.items():
        if word and taken + bits[number] > _WORD_BITS:
            yield word
            word, taken = [], 0
        word.append(figure)
        taken += bits[number]
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
      aligned: whether its vectors are known to begin at multiples of their size.
    """

    operation: Operation
    device: Device
    geometry: Geometry
    chosen: np.ndarray
    layout: Layout
    aligned: bool

    @classmethod
    def of(
        cls,
        operation: Operation,
        vector: Vector,
        chosen: np.ndarray,
        device: Device,
        geometry: Geometry,
    ) -> "Meter":
        """The meter of an access that is made up of these vectors, of these of its elements."""
        layout = requests.layout(operation.access.shape, chosen, geometry, vector.width)
        return cls(operation, device, geometry, chosen, layout, vector.aligned)

    @property
    def memory(self) -> Allocation:
        return self.operation.place.memory

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
          every: whether the bytes used in local memory and the passes of the L1 are asked for, which cost time; else
            they are 0.
        """
        return self._executed(functools.partial(self._figures, every=every), index, active)

    def total(self, index: Array, active: Array, executions: int) -> Array:
        """int64 `[F]` of so many executions together, without what costs time (see `figures`).

        Args:
          index, active: as of `figures`; if C is 1, all executions are alike.
          executions: C, or how many there are.
        """
        together = functools.partial(_totals, lanes_=self.layout.slot.shape[1], elements=self.layout.width)
        figures = self._executed(functools.partial(self._figures, every=False), index, active, together)
        return figures * np.int64(executions if max(len(index), len(active)) == 1 else 1)

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

    def _executed(self, measure: _Measure, index: Array, active: Array, together: _Together = _sums) -> Array:
        """`[C, F]` of executions, each instruction issued as vectors or element by element.

        Args:
          measure: gives F figures `[C, Q]` of the place `[C, Q, S]` where each lane begins, which lanes take part, and
            how many elements each accesses.
          index, active: as of `figures`.
          together: makes one array of figures of all instructions.
        """
        layout, whole = self.layout, self._accesses_vectors(index, active)

        def vectors_() -> Array:
            return layout.copies * together(measure(*_laid_out(layout.first, index, active), layout.width))

        def mixed() -> Array:
            wide = measure(*_laid_out(layout.first, index, active), layout.width)
            apart = measure(*_laid_out(layout.apart, index, active), 1)
            each = [a.reshape(*a.shape[:-1], -1, layout.width).sum(-1, dtype=a.dtype) for a in apart]
            choice = lanes.namespace(*wide, whole).where
            return layout.copies * together([choice(whole, a, b) for a, b in zip(wide, each, strict=True)])

        if isinstance(whole, jax.Array):
            # Masks and bounds seldom cut through a vector, and looking at each element costs several times as much.
            return lax.cond(whole.all(), vectors_, mixed)
        return vectors_() if whole.all() else mixed()

    def _accesses_vectors(self, index: Array, active: Array) -> Array:
        """bool `[C or 1, Q]`: whether each instruction has whole vectors only, all of which begin at multiples of W."""
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
        """`[C, Q]` requests and lanes."""
        _, split = lanes.requests(place, active, self.device.request_lanes)
        return split.any(-1).sum(-1), elements * active.sum(-1)

    def _figures(self, place: Array, active: Array, elements: int, every: bool) -> Sequence[Array]:
        """`[C, Q]` each of the figures."""
        itemsize = self.memory.dtype.itemsize
        width = elements * itemsize
        addresses = place * place.dtype.type(itemsize)
        zero = np.zeros(addresses.shape[:-1], np.int32)
        taking_part = elements * active.sum(-1, dtype=np.int32)
        if self.memory.space == "local":
            passes = banks.bank_passes(addresses, active, self.device, width=width, kind=kind(self.operation))
            used = self._lines(addresses, active, width, False).bytes_used if every else zero
            return passes.requests, passes.passes, passes.ideal_passes, used, zero, zero, taking_part, zero
        touched = self._lines(addresses, active, width, self.operation.updates)
        l1 = self._l1_passes(addresses, active, width) if every else zero
        used, lines_, sectors = touched.bytes_used, touched.lines, touched.sectors
        return touched.requests, zero, zero, used, lines_, sectors, taking_part, l1

    def _l1_passes(self, addresses: Array, active: Array, width: int) -> Array:
        """Passes of the L1 for requests to global memory: of its tags or of its banks, whichever take longer."""
        if self.device.tag_bank_masks is None or self.device.slm_banks is None or self.operation.updates:
            return lanes.namespace(addresses, active).zeros(addresses.shape[:-1], np.int32)
        tags = lines.line_counts(addresses, active, self.device, width=width).tag_passes
        data = banks.bank_passes(addresses, active, _unmerged(self.device), width=width, kind="load").passes
        return lanes.namespace(addresses, active).maximum(tags, data)

    def _lines(self, addresses: Array, active: Array, width: int, atomic: bool) -> lines.LineCounts:
        return lines.line_counts(addresses, active, _lined(self.device), width=width, atomic=atomic)


def kind(operation: Operation) -> banks.Kind:
    """What the banks see of an operation."""
    op = operation.name
    if op in ("add", "sub"):
        if jnp.issubdtype(operation.place.memory.dtype, jnp.floating):
            return "float_add"
        return "increment" if operation.adds_one else "add"
    name: banks.Kind = op  # type: ignore[assignment]
    return name


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


@functools.lru_cache(maxsize=64)
def _lined(device: Device) -> Device:
    """The device without banks of tags, whose passes are not asked for; for bytes alone any line will do."""
    return dataclasses.replace(device, tag_bank_masks=None, line_bytes=device.line_bytes or 64)

"""Local memory: the bank passes that one access of a sub-group takes.

Axis legend: `...` any leading axes, R hardware requests of one sub-group instruction, S lanes of a request, B banks.

The rules are exact on everything measured on an H200, the one device with counters. Where a device leaves a rule's
figure open (`None`), the only documented model is used, that of Intel's guides:

* `slm_same_word_stores_conflict`: as if true, lanes that store to one bank take a pass each;
* `slm_wide_accesses`: as if `"components"`;
* `slm_paired_lanes`, `slm_shared_increments`: no merging;
* `slm_atomic_bytes`, `slm_float_atomics`: no atomic is a loop;
* `slm_compare_exchange_passes`: 1.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np

from xeemu.devices import lanes
from xeemu.devices.device import Device
from xeemu.devices.lanes import Array
from xeemu.errors import KernelArgumentError

Kind = Literal[
    "load",
    "store",
    "add",
    "increment",
    "min",
    "max",
    "and",
    "or",
    "xor",
    "exchange",
    "compare_exchange",
    "float_add",
]
"""What an access does. Atomic arithmetic costs the same with its old value used or not, but for `increment`: an atomic
sum with the constant 1 whose old value is not used. Differences count as sums."""

_KINDS = get_args(Kind)
_WHOLE = ("load", "store", "exchange", "compare_exchange")


class BankPasses(NamedTuple):
    """The cost of accesses to local memory, int32 `[...]` each, summed over the hardware requests of a sub-group.

    Attributes:
      requests: hardware requests with an active lane.
      passes: serial cycles of the banks.
      ideal_passes: what the same requests would take without a conflict.
      conflicts: what a hardware counter of bank conflicts shows. It is `passes - ideal_passes`, except for a
        compare-and-exchange, whose second pass for a lane is not counted, and a loop of them, whose lanes wait for a
        lock instead of a bank: 0.
      rounds: times that the requests are issued; more than `requests` only where an atomic is a loop.
    """

    requests: Array
    passes: Array
    ideal_passes: Array
    conflicts: Array
    rounds: Array


def bank_passes(addresses: Array, active: Array, device: Device, *, width: int = 4, kind: Kind = "load") -> BankPasses:
    """The bank passes of one access of sub-groups.

    Args:
      addresses: first byte of each lane's access, integers `[..., lanes]`, at least 0 and multiples of `width`.
        Adding the same multiple of `width` and of `slm_bank_bytes` to all changes nothing.
      active: the lanes that take part, booleans that broadcast against `addresses`.
      device: the modelled device.
      width: bytes per lane: 1, 2, 4, 8 or 16.
      kind: what the access does.

    Raises:
      KernelArgumentError: `width` or `kind` is none of these, or the device's banks are not known or do not divide
        evenly by the width.
    """
    by_request = request_passes(addresses, active, device, width=width, kind=kind)
    return BankPasses(*(part.sum(-1, dtype=np.int32) for part in by_request))


def request_passes(
    addresses: Array, active: Array, device: Device, *, width: int = 4, kind: Kind = "load"
) -> BankPasses:
    """Passes of each hardware request by itself: int32 `[..., R]`."""
    _check(device, width, kind)
    addresses, active = lanes.requests(addresses, active, device.request_lanes)
    if _loops(device, width, kind):
        return _loop(addresses, active, device, width)
    if kind in ("load", "store") or (kind == "increment" and device.slm_shared_increments):
        return _access(addresses, active, device, width, kind)
    return _atomic(addresses, active, device, width, kind)


def bank_counts(addresses: Array, active: Array, device: Device, *, width: int = 4, kind: Kind = "load") -> Array:
    """What each bank has to serve for accesses of sub-groups: int32 `[..., R, B]`.

    A row is what the banks do at once: a hardware request, or of one that is wider than a bank a lane group or a
    component. The number of a bank is that of the different words (of the lanes, where they take turns), and a row
    takes as many passes as its greatest number; where lane groups merge, fewer.

    Arguments as of `bank_passes`, with NumPy arrays.
    """
    _check(device, width, kind)
    addresses, active = lanes.requests(addresses, active, device.request_lanes)
    words, step = _lane_words(device, width), _group_lanes(addresses, device, width)
    unit, bank, banks = _units(addresses, device, width)
    unit, bank, active = (lanes.split(part, step) for part in (unit, bank, active))
    counted = lanes.first(active, unit) if _shares_words(device, kind) else active
    counts = (counted[..., None] & (bank[..., None] == np.arange(banks))).sum(-2, dtype=np.int32)
    rows = np.repeat(counts.reshape(*counts.shape[:-3], -1, banks), words, axis=-1)
    # The next component of all lanes lies one bank further.
    turns = np.stack([np.roll(rows, c, axis=-1) for c in range(_components(device, width))], axis=-2)
    return turns.reshape(*rows.shape[:-2], -1, rows.shape[-1])


def parts(device: Device, width: int, lanes_: int) -> tuple[int, str]:
    """In how many parts a request is served, each at once, and what they are; `lanes_` are those of a sub-group."""
    components = _components(device, width)
    if components > 1:
        return components, "component"
    size = min(device.request_lanes or lanes_, lanes_)
    groups = size // min(size, max(1, (device.request_lanes or size) // _lane_words(device, width)))
    return groups, "lane group" if groups > 1 else ""


def retry_load_passes(addresses: Array, active: Array, device: Device, *, width: int, kind: Kind) -> Array:
    """Passes of the loads inside an atomic that is a compare-and-exchange loop, int32 `[...]`; 0 where it is none.

    Arguments as of `bank_passes`. It costs S times as much as that, since each round loads for the lanes that are left.
    """
    _check(device, width, kind)
    addresses, active = lanes.requests(addresses, active, device.request_lanes)
    xp = lanes.namespace(addresses, active)
    if not _loops(device, width, kind):
        return xp.zeros(addresses.shape[:-2], dtype=np.int32)
    end = _rounds(addresses, active, device, width)
    left = xp.stack([active & (end > done) for done in range(addresses.shape[-1])])
    loads = _access(xp.broadcast_to(addresses, left.shape), left, device, width, "load")
    return loads.passes.sum((0, -1), dtype=np.int32)


def _check(device: Device, width: int, kind: str) -> None:
    if width not in (1, 2, 4, 8, 16) or kind not in _KINDS:
        raise KernelArgumentError(
            f"there is no access of width {width!r} and kind {kind!r}; a width is 1, 2, 4, 8 or 16 bytes, and a kind "
            f"one of {', '.join(_KINDS)}"
        )
    if device.slm_banks is None or device.slm_bank_bytes is None:
        raise KernelArgumentError(
            f"the banks of {device.name}'s local memory are not known; give slm_banks and "
            "slm_bank_bytes with dataclasses.replace"
        )
    if device.slm_banks % _lane_words(device, width):
        raise KernelArgumentError(
            f"{device.name}'s {device.slm_banks} banks do not divide into groups of {_lane_words(device, width)} for "
            f"accesses of {width} bytes; choose slm_wide_accesses='components' with dataclasses.replace"
        )


def _words(device: Device, width: int) -> int:
    assert device.slm_bank_bytes is not None
    return max(1, width // device.slm_bank_bytes)


def _shares_words(device: Device, kind: str) -> bool:
    """True if lanes on one word share a pass."""
    if kind == "store":
        return device.slm_same_word_stores_conflict is False
    return kind == "load" or (kind == "increment" and bool(device.slm_shared_increments))


def _lane_words(device: Device, width: int) -> int:
    """Words of a lane that one pass serves."""
    return _words(device, width) if device.slm_wide_accesses == "lane_groups" else 1


def _components(device: Device, width: int) -> int:
    return _words(device, width) // _lane_words(device, width)


def _loops(device: Device, width: int, kind: str) -> bool:
    """True if the device carries out the atomic as a loop of compare-and-exchanges."""
    if kind in _WHOLE:
        return False
    too_wide = device.slm_atomic_bytes is not None and width > device.slm_atomic_bytes
    return too_wide or (kind == "float_add" and device.slm_float_atomics is False)


# --- Loads, stores and atomics that are no loops: [..., R, S] -> BankPasses of [..., R] ---


def _access(addresses: Array, active: Array, device: Device, width: int, kind: str) -> BankPasses:
    xp = lanes.namespace(addresses, active)
    shared = _shares_words(device, kind)
    step = _group_lanes(addresses, device, width)
    passes, ideal = _degrees(addresses, active, device, width, step, shared)
    if kind == "load" and device.slm_paired_lanes and step < addresses.shape[-1]:
        paired = xp.zeros(passes.shape, dtype=bool)
        for distance in device.slm_paired_lanes:
            paired = paired | _are_paired(addresses, active, distance)
        merged = _degrees(addresses, active, device, width, 2 * step, shared)
        passes, ideal = xp.where(paired, merged[0], passes), xp.where(paired, merged[1], ideal)
    requests = (passes > 0).astype(np.int32)
    return BankPasses(requests, passes, ideal, passes - ideal, requests)


def _atomic(addresses: Array, active: Array, device: Device, width: int, kind: str) -> BankPasses:
    step = _group_lanes(addresses, device, width)
    turns, ideal = _degrees(addresses, active, device, width, step, shared=False)
    factor = (device.slm_compare_exchange_passes or 1) if kind == "compare_exchange" else 1
    requests = (turns > 0).astype(np.int32)
    return BankPasses(requests, factor * turns, factor * ideal, turns - ideal, requests)


def _group_lanes(addresses: Array, device: Device, width: int) -> int:
    """Lanes of a request that are served together."""
    size: int = addresses.shape[-1]
    return min(size, max(1, (device.request_lanes or size) // _lane_words(device, width)))


def _degrees(
    addresses: Array, active: Array, device: Device, width: int, step: int, shared: bool
) -> tuple[Array, Array]:
    """Passes of each request served `step` lanes at a time, and those without a conflict: int32 `[..., R]`.

    Wide lanes of a lane group take as many neighbouring banks each, which act as one.
    """
    unit, bank, banks = _units(addresses, device, width)
    # In the order of these, units of one bank lie side by side.
    row = int(np.iinfo(unit.dtype).max) // banks + 1
    key, active = (lanes.split(part, step) for part in (bank * unit.dtype.type(row) + lanes.part(unit, banks), active))
    degree = lanes.most_in_one(active, key, row, shared)
    factor = _components(device, width)
    return factor * degree.sum(-1, dtype=np.int32), factor * (degree > 0).sum(-1, dtype=np.int32)


def _units(addresses: Array, device: Device, width: int) -> tuple[Array, Array, int]:
    """What each lane accesses in one pass, in which bank of how many."""
    assert device.slm_banks is not None
    assert device.slm_bank_bytes is not None
    words = _lane_words(device, width)
    unit, banks = lanes.part(addresses, words * device.slm_bank_bytes), device.slm_banks // words
    return unit, lanes.place(unit, banks), banks


def _are_paired(addresses: Array, active: Array, distance: int) -> Array:
    """True if all active lanes i and i ^ distance of a request have one address: booleans `[..., R]`."""
    size = addresses.shape[-1]
    if size % (2 * distance):
        return active.any(-1) & False
    pairs = (*addresses.shape[:-1], size // (2 * distance), 2, distance)
    address, both = addresses.reshape(pairs), active.reshape(pairs).all(-2)
    return ((address[..., 0, :] == address[..., 1, :]) | ~both).all((-2, -1))


# --- Atomics that are loops of compare-and-exchanges ---


def _loop(addresses: Array, active: Array, device: Device, width: int) -> BankPasses:
    """In each round the lanes with a lock exchange; a lane group takes part as long as one of its lanes is left."""
    xp = lanes.namespace(addresses, active)
    end = _rounds(addresses, active, device, width)
    groups = lanes.split(end, _group_lanes(addresses, device, width)).max(-1)
    factor = (device.slm_compare_exchange_passes or 1) * _components(device, width)
    ideal = factor * (groups > 0).sum(-1, dtype=np.int32)
    passes = factor * groups.sum(-1, dtype=np.int32)
    return BankPasses((passes > 0).astype(np.int32), passes, ideal, xp.zeros_like(passes), end.max(-1))


def _rounds(addresses: Array, active: Array, device: Device, width: int) -> Array:
    """The round, from 1, in which each lane succeeds; 0 for inactive lanes: int32 `[..., R, S]`.

    In a round, the first lane left in each bank of each lane group tries for the lock of its address; the lane of an
    earlier group has precedence.
    """
    xp = lanes.namespace(addresses, active)
    _, bank, banks = _units(addresses, device, width)
    size, step = addresses.shape[-1], _group_lanes(addresses, device, width)
    if step == size:
        return xp.where(active, lanes.rank(active, bank) + np.int32(1), np.int32(0))
    lane = xp.arange(size, dtype=np.int32)
    queue = bank + (lane // step * banks).astype(bank.dtype)

    def succeed(i: Array, end: Array) -> Array:
        mine, before = lane == i, active & (lane < i)
        start = xp.where(before & (queue == _of(mine, queue)), end, 0).max(-1, keepdims=True)
        rivals = before & (lane < i // step * step) & (addresses == _of(mine, addresses))
        return xp.where(active & mine, _first_free(start, xp.where(rivals, end, 0)) + np.int32(1), end)

    return lanes.repeat(size, succeed, xp.zeros(addresses.shape, dtype=np.int32))


def _of(mine: Array, values: Array) -> Array:
    """The value `[..., 1]` of the one marked lane."""
    xp = lanes.namespace(mine, values)
    return xp.where(mine, values, 0).sum(-1, dtype=values.dtype, keepdims=True)


def _first_free(start: Array, taken: Array) -> Array:
    """One less than the first round after `start` `[..., 1]` that is not in `taken` `[..., S]` (distinct; 0: none)."""
    xp = lanes.namespace(start, taken)
    one = np.uint32(1)
    bits = xp.where(taken > 0, xp.left_shift(one, xp.maximum(taken - 1, 0).astype(np.uint32)), np.uint32(0))
    later = ~xp.right_shift(bits.sum(-1, dtype=np.uint32, keepdims=True), start.astype(np.uint32))
    lowest = later & (~later + one)
    return start + xp.bitwise_count(lowest - one).astype(np.int32)

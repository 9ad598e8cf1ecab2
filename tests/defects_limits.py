"""Defects of what a device lacks, of what is undefined, and of results that hang on more than they say (see `cases`).

Launches of some are refused; most of the others get a note, because they may be meant. All kernels are free of races.
"""

import jax.numpy as jnp
import numpy as np
from cases import ANY, Corpus, Expected, Refused, ascending, outside, zeros
from jax import lax

import xeemu as xe

I32, F32 = jnp.int32, jnp.float32

_case = Corpus(nd_range=xe.NDRange(32, 32), sub_group_size=16)


def _note(kind: str, memory: str | None, *marks: str, remedy: str = "") -> Expected:
    return Expected(kind, memory, marks, "note", remedy)


def _tenths(*shape: int) -> np.ndarray:
    return (ascending(*shape) * 7 % 31 / np.float32(10)).astype(np.float32)


def _bytes(count: int) -> np.ndarray:
    return (np.arange(count) * 8 % 256).astype(np.uint8)


# --- Aspects and scopes that there are not ---

_LACKS_DOUBLES = Refused(("kernel_not_supported",), "double", "fp64")
_UNDEFINED_SCOPE = Refused(("kernel",), "scope", "sub_group")


@_case(
    refused=_LACKS_DOUBLES,
    device="a770",
    arguments=lambda: (_tenths(32), np.zeros(32, np.float32)),
)
def doubles_in_local_memory(wg, data, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(32, F32 if fixed else jnp.float64)  # mark: double
    tile = tile.at[lid].set(data[lid].astype(tile.dtype))
    tile = wg.barrier(tile)
    return out.at[lid].set(tile[31 - lid].astype(F32))


@_case(
    refused=_LACKS_DOUBLES,
    device="iris_xe",
    arguments=lambda: (np.arange(32, dtype=np.int64) << 20, np.zeros(32, np.float32)),
)
def doubles_between_integers_and_floats(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    x = x.astype(F32 if fixed else jnp.float64)  # mark: double
    return out.at[lid].set((x * x).astype(F32))


@_case(
    refused=_LACKS_DOUBLES,
    device="a770",
    arguments=lambda: (np.arange(32, dtype=np.int64), np.zeros(1, np.int64)),
)
def doubles_for_a_mean(wg, data, out, *, fixed):
    """The sum of integers divided by their number, with a fraction that is thrown away."""
    lid = wg.local_id()
    total = wg.reduce(data[lid], "add")
    mean = total // 32 if fixed else (total.astype(jnp.float64) / 32.0).astype(jnp.int64)  # mark: double
    return out.at[0].set(mean, where=lid == 0)


@_case(refused=_UNDEFINED_SCOPE, arguments=lambda: (zeros(1),))
def global_sum_in_work_item_scope(wg, total, *, fixed):
    return total.atomic(scope="device" if fixed else "work_item")[0].add(wg.local_id())  # mark: scope


def _exchanged(outputs):
    """Each has what another one has left, but for the first and the last one."""
    old = outputs[0].tolist()
    return len(set(old)) == 32 and set(old) < {-1, *range(32)} and -1 in old


@_case(refused=_UNDEFINED_SCOPE, right=_exchanged)
def local_exchange_in_work_item_scope(wg, out, *, fixed):
    lid = wg.local_id()
    slot = wg.local(1, I32)
    slot = wg.barrier(slot.at[0].set(-1, where=lid == 0))
    slots = slot.atomic(order="acq_rel", scope="work_group" if fixed else "work_item")  # mark: scope
    old, slot = slots[0].exchange(lid)
    return out.at[lid].set(old)


@_case(refused=_UNDEFINED_SCOPE, arguments=lambda: (zeros(1), zeros(32)))
def flag_loaded_in_work_item_scope(wg, flag, out, *, fixed):
    lid = wg.local_id()
    flags = flag.atomic(order="acquire", scope="system" if fixed else "work_item")  # mark: scope
    seen = flags[0].load()
    return out.at[lid].set(seen + lid)


# --- Blocks off 16 bytes ---

_BLOCKS = {"arguments": lambda: (ascending(40), zeros(32))}


@_case(_note("misaligned-block", "tile", "load", remedy="16"), **_BLOCKS)
def block_load_of_local_memory(wg, data, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    base = sub_group.group_id() * 16
    tile = wg.local(40, I32)
    tile = tile.at[lid].set(data[lid])
    tile = wg.barrier(tile.at[lid + 8].set(data[lid + 8], where=lid >= 24))
    x = sub_group.load(tile, base + (4 if fixed else 2))  # mark: load
    return out.at[lid].set(x)


@_case(_note("misaligned-block", "tile", "store", remedy="16"), **_BLOCKS)
def block_store_to_local_memory(wg, data, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    base = sub_group.group_id() * 16
    shift = 4 if fixed else 3
    tile = wg.local(40, I32)
    tile = sub_group.store(tile, base + shift, data[lid])  # mark: store
    tile = wg.barrier(tile)
    return out.at[lid].set(tile[lid + shift])


@_case(_note("misaligned-block", "result", "store", remedy="16"), arguments=lambda: (ascending(40), zeros(40)))
def block_store_to_global_memory(wg, data, result, *, fixed):
    """Loads of global memory may be where they like, to four bytes."""
    sub_group = wg.sub_group
    base = sub_group.group_id() * 16
    x = sub_group.load(data, base + 1)
    return sub_group.store(result, base + (8 if fixed else 1), x)  # mark: store


@_case(
    _note("misaligned-block", "tile", "load", remedy="16"),
    arguments=lambda: (_bytes(40), np.zeros(32, np.uint8)),
)
def block_load_of_bytes(wg, data, out, *, fixed):
    """Four elements are four bytes here."""
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(40, jnp.uint8)
    tile = tile.at[lid].set(data[lid])
    tile = wg.barrier(tile.at[lid + 8].set(data[lid + 8], where=lid >= 24))
    x = sub_group.load(tile, sub_group.group_id() * 16 + (0 if fixed else 4))  # mark: load
    return out.at[lid].set(x)


@_case(
    _note("misaligned-block", "result", "store", remedy="16"),
    arguments=lambda: (np.array([0, 18], np.int32), np.array([0, 20], np.int32), zeros(40)),
)
def block_store_where_data_say(wg, places, aligned, result, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    base = (aligned if fixed else places)[sub_group.group_id()]
    return sub_group.store(result, base, lid)  # mark: store


# --- Lanes that a partial sub-group does not have ---

_PARTIAL = {"nd_range": xe.NDRange(24, 24), "arguments": lambda: (ascending(24) * 3, zeros(24))}


def _absent(mark: str) -> Expected:
    return Expected("absent-lane", ANY, (mark, "use"))


@_case(_absent("shuffle"), **_PARTIAL)
def butterfly_over_absent_lanes(wg, data, out, *, fixed):
    """24 work-items are a sub-group of 16 and one of 8."""
    lid = wg.local_id()
    other = wg.sub_group.permute_xor(data[lid], 4 if fixed else 8)  # mark: shuffle
    return out.at[lid].set(other)  # mark: use


@_case(_absent("shuffle"), **_PARTIAL)
def rotation_over_absent_lanes(wg, data, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    lanes = jnp.where(sub_group.group_id() == 1, 8, 16) if fixed else 16
    other = sub_group.select(data[lid], (sub_group.local_id() + 1) % lanes)  # mark: shuffle
    return out.at[lid].set(other)  # mark: use


@_case(_absent("shuffle"), **_PARTIAL)
def broadcast_of_an_absent_lane(wg, data, out, *, fixed):
    lid = wg.local_id()
    other = wg.sub_group.broadcast(data[lid], 7 if fixed else 12)  # mark: shuffle
    return out.at[lid].set(other)  # mark: use


@_case(_absent("shuffle"), **_PARTIAL)
def shift_stored_by_all(wg, data, out, *, fixed):
    """What comes from beyond the last lane is not to be stored."""
    lid, sub_group = wg.local_id(), wg.sub_group
    lanes = jnp.where(sub_group.group_id() == 1, 8, 16)
    there = sub_group.local_id() + 1 < lanes
    following = sub_group.shift_left(data[lid], 1)  # mark: shuffle
    return out.at[lid].set(following, where=there if fixed else sub_group.local_id() < 15)  # mark: use


@_case(_absent("shuffle"), **_PARTIAL)
def tree_over_absent_lanes(wg, data, out, *, fixed):
    """Steps of a sum; what an absent lane would give is left out by a selection."""
    lid, sub_group = wg.local_id(), wg.sub_group
    lane, total = sub_group.local_id(), data[lid]
    lanes = jnp.where(sub_group.group_id() == 1, 8, 16) if fixed else 16
    for delta in (8, 4, 2, 1):
        above = sub_group.shift_left(total, delta)  # mark: shuffle
        total = total + jnp.where(lane + delta < lanes, above, 0)
    return out.at[lid].set(total, where=lane == 0)  # mark: use


# --- Local memory without elements ---


@_case(outside("halo", "store"), static={"radius": 0})
def halo_of_no_elements(wg, out, *, radius, fixed):
    """A stencil of radius 0 has no halo, and nobody may store there."""
    lid = wg.local_id()
    halo = wg.local(radius, I32)
    halo = halo.at[lid].set(lid, where=lid < (radius if fixed else 1))  # mark: store
    halo = wg.barrier(halo)
    beside = halo.load(lid, where=lid < radius)
    return out.at[lid].set(lid + beside)


@_case(outside("pad", "load"), static={"columns": 0})
def columns_of_no_elements(wg, out, *, columns, fixed):
    lid = wg.local_id()
    pad = wg.local((4, columns), I32)
    pad = wg.barrier(pad)
    beside = pad.load((lid % 4, 0), where=lid < (columns if fixed else 32))  # mark: load
    return out.at[lid].set(jnp.maximum(beside, 0) + lid)


@_case(outside("bins", "count"), static={"count": 0})
def bins_of_no_elements(wg, out, *, count, fixed):
    lid = wg.local_id()
    bins = wg.local(count, I32)
    bins = wg.barrier(bins)
    bins = bins.atomic[0].add(1, where=lid < (count if fixed else 2))  # mark: count
    return out.at[lid].set(lid)


# --- Indices that wrap and land inside ---


@_case(_note("wrapped-index", ANY, "wrap"), arguments=lambda: (ascending(64), zeros(32)))
def volume_of_more_than_32_bits(wg, data, out, *, fixed):
    """The second plane begins beyond 2^32, and its elements come from the first one."""
    lid = wg.local_id()
    pitch = 4 if fixed else 1 << 16
    row = lid // 16 * pitch
    start = row * pitch  # mark: wrap
    x = data[start + lid % 16]  # mark: load
    return out.at[lid].set(x)


@_case(_note("wrapped-index", ANY, "wrap"), arguments=lambda: (_bytes(32), ascending(512), zeros(32)))
def index_of_bytes(wg, keys, table, out, *, fixed):
    lid = wg.local_id()
    key = keys[lid]
    slot = key.astype(I32) * 2 if fixed else key * np.uint8(2)  # mark: wrap
    x = table[slot]  # mark: load
    return out.at[lid].set(x)


@_case(_note("wrapped-index", ANY, "wrap"), arguments=lambda: (ascending(1 << 17), zeros(32)))
def row_of_sixteen_bits(wg, data, out, *, fixed):
    lid = wg.local_id()
    row = lid if fixed else lid.astype(jnp.uint16)
    start = row * (4096 if fixed else np.uint16(4096))  # mark: wrap
    x = data[start]  # mark: load
    return out.at[lid].set(x)


@_case(_note("wrapped-index", ANY, "wrap"), arguments=lambda: (ascending(256), zeros(32)))
def neighbour_before_the_first(wg, data, out, *, fixed):
    lid = wg.local_id().astype(jnp.uint8)
    lid = jnp.maximum(lid, np.uint8(1)) if fixed else lid
    before = lid - np.uint8(1)  # mark: wrap
    x = data[before]  # mark: load
    return out.at[wg.local_id()].set(x)


# --- Results that hang on the order of float atomics ---

_FLOATS = {
    "nd_range": xe.NDRange(64, 32),
    "arguments": lambda: (_tenths(64), np.zeros(2, np.float32)),
}


def _close(outputs):
    data = _tenths(64)
    return np.allclose(outputs[-1], data.reshape(2, 32).sum(1), rtol=1e-4)


@_case(_note("order-dependent", "total", "add"), right=_close, **_FLOATS)
def float_sum_of_all(wg, data, total, *, fixed):
    lid, group = wg.local_id(), wg.group_id()
    x = data[wg.global_id()]
    if fixed:
        own = wg.reduce(x, "add")
        return total.at[group].set(own, where=lid == 0)
    return total.atomic[group].add(x)  # mark: add


@_case(_note("order-dependent", "sum", "add"), right=_close, **_FLOATS)
def float_sum_in_local_memory(wg, data, out, *, fixed):
    """In tenths as integers it is the same in every order."""
    lid, group = wg.local_id(), wg.group_id()
    x = data[wg.global_id()]
    sum = wg.local(1, I32 if fixed else F32)
    sum = wg.barrier(sum.at[0].set(0, where=lid == 0))
    sum = sum.atomic[0].add(jnp.round(x * 10).astype(I32) if fixed else x)  # mark: add
    sum = wg.barrier(sum)
    value = sum[0].astype(F32) / 10 if fixed else sum[0]
    return out.at[group].set(value, where=lid == 0)


@_case(_note("order-dependent", "rest", "sub"), **_FLOATS)
def float_difference(wg, data, rest, *, fixed):
    """The smallest of floats is the same in every order."""
    x = data[wg.global_id()]
    return rest.atomic[0].min(-x) if fixed else rest.atomic[0].sub(x)  # mark: sub


@_case(
    _note("order-dependent", "weights", "add"),
    arguments=lambda: (_tenths(32), ascending(32) % 4, np.zeros(32, np.float32)),
)
def float_bins(wg, data, keys, weights, *, fixed):
    """Several add to one bin; where each has a bin of its own there is no order."""
    lid = wg.local_id()
    bin = lid if fixed else keys[lid]
    _, weights = weights.atomic[bin].fetch_add(data[lid])  # mark: add
    return weights


# --- Arithmetic that is undefined ---

_UNDEFINED = {"arguments": lambda: (ascending(32), zeros(32))}


@_case(_note("undefined-arithmetic", None, "divide"), **_UNDEFINED)
def division_by_zero(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    share = lax.div(jnp.full(32, 1000, I32), jnp.maximum(x, 1) if fixed else x)  # mark: divide
    return out.at[lid].set(share)


@_case(_note("undefined-arithmetic", None, "wrap"), arguments=lambda: (ascending(32) // 4, zeros(32)))
def remainder_by_zero(wg, sizes, out, *, fixed):
    lid = wg.local_id()
    size = sizes[lid] + 1 if fixed else sizes[lid]
    place = lid % size  # mark: wrap
    return out.at[lid].set(place)


@_case(_note("undefined-arithmetic", None, "shift"), arguments=lambda: (ascending(32) + 1, zeros(32)))
def shift_by_the_width(wg, counts, out, *, fixed):
    """A mask of so many bits; 32 of them are one too many."""
    lid = wg.local_id()
    count = counts[lid]
    mask = lax.shift_left(jnp.ones(32, I32), jnp.minimum(count, 31) if fixed else count)  # mark: shift
    return out.at[lid].set(mask - 1)


@_case(_note("undefined-arithmetic", None, "shift"), **_UNDEFINED)
def shift_by_more_than_the_width(wg, data, out, *, fixed):
    lid = wg.local_id()
    distance = data[lid] * (1 if fixed else 2)
    rest = (jnp.full(32, 1 << 30, I32)) >> distance  # mark: shift
    return out.at[lid].set(rest)


@_case(_note("undefined-arithmetic", None, "shift"), **_UNDEFINED)
def shift_by_less_than_nothing(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    scaled = x << (jnp.abs(lid - 8) if fixed else lid - 8) % 32 if fixed else x << (lid - 8)  # mark: shift
    return out.at[lid].set(scaled)


# --- Right at one sub-group size only ---

_NO_SIZE = Corpus(nd_range=xe.NDRange(64, 64))
_NO_SIZE.cases = _case.cases


@_NO_SIZE(_note("sub-group-size", "tile", "write", "read", remedy="32"), arguments=lambda: (ascending(64), zeros(64)))
def exchange_within_32_lanes(wg, data, out, *, fixed):
    """The device has 16 lanes too, and nothing says that the kernel wants 32."""
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(data[lid])  # mark: write
    tile = wg.sub_group.barrier(tile)
    other = tile[lid ^ (8 if fixed else 16)]  # mark: read
    return out.at[lid].set(other)


@_NO_SIZE(_note("sub-group-size", "sums", "store", remedy="32"), arguments=lambda: (ascending(64), zeros(1)))
def two_sub_groups_of_64_work_items(wg, data, total, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    count = wg.size // sub_group.size if fixed else 2
    sums = wg.local(count, I32)
    own = sub_group.reduce(data[lid], "add")
    sums = sums.at[sub_group.group_id()].set(own, where=sub_group.local_id() == 0)  # mark: store
    sums = wg.barrier(sums)
    return total.atomic[0].add(sums.load(lid, where=lid < count), where=lid < count)


# --- Waits inside a group ---


@_case(
    _note("forward-progress", ANY, "try", "wait"),
    arguments=lambda: (zeros(1), zeros(32)),
    right=lambda outputs: outputs[0][0] == outputs[1].sum(),
)
def lock_that_all_wait_for(wg, result, entered, *, fixed):
    """Nothing says that who has the lock goes on while others ask for it again and again; so many tries are an end."""
    lid = wg.local_id()
    lock = wg.local(1, I32)
    total = wg.local(1, I32)
    lock = lock.at[0].set(0, where=lid == 0)
    total = total.at[0].set(0, where=lid == 0)
    lock, total = wg.barrier(lock, total)

    def attempt(carry):
        tries, lock, total, waits = carry
        held, lock = lock.atomic("acquire", "work_group")[0].compare_exchange(0, 1, where=waits)  # mark: try
        got = waits & (held == 0)
        before = total.load(0, where=got)
        total = total.at[0].set(before + 1, where=got)
        lock = lock.atomic("release", "work_group")[0].store(0, where=got)
        return tries + 1, lock, total, waits & ~got

    def goes_on(carry):
        tries, _, _, waits = carry
        return tries < 8 if fixed else jnp.any(waits)

    _, _, total, waits = lax.while_loop(goes_on, attempt, (jnp.int32(0), lock, total, lid % 8 == 0))  # mark: wait
    total = wg.barrier(total)
    result = result.at[0].set(total.load(0, where=lid == 0), where=lid == 0)
    return result, entered.at[lid].set(1, where=(lid % 8 == 0) & ~waits)


LIMITS = tuple(_case.cases)

"""Small kernels with one defect each, and what must be found in them: data for tests.

`DEFECTS` has all cases, by kind, as `cases` describes them: mistakes of barriers, bounds, initialisation and
divergence. All arrays are int32 unless the kernel is about another type.
"""

import jax.numpy as jnp
import numpy as np
from cases import (
    Corpus,
    ascending,
    crossing,
    divergent,
    outside,
    race,
    uninitialised,
    wrong_fence,
    zeros,
)
from jax import lax

import xeemu as xe

I32 = jnp.int32

_TWO_GROUPS = xe.NDRange(128, 64)
_defect = Corpus()


# --- Data races in local memory ---


@_defect(race("tile", "write", "read"))
def exchange_without_barrier(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    if fixed:
        tile = wg.barrier(tile)
    other = tile[63 - lid]  # mark: read
    return out.at[lid].set(other)


@_defect(race("tile", "write", "read"), nd_range=xe.NDRange(16, 16), sub_group_size=16)
def lockstep_is_no_barrier(wg, out, *, fixed):
    """Neighbours in one sub-group, which the emulator runs in lockstep."""
    lid = wg.local_id()
    tile = wg.local(16, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    if fixed:
        tile = wg.sub_group.barrier(tile)
    other = tile[lid ^ 1]  # mark: read
    return out.at[lid].set(other)


@_defect(race("tile", "write", "read"), sub_group_size=16)
def sub_group_barrier_across_sub_groups(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    tile = wg.sub_group.barrier(tile)
    other = tile[lid ^ (8 if fixed else 16)]  # mark: read
    return out.at[lid].set(other)


@_defect(race("tile", "write", "read"), nd_range=xe.NDRange(48, 24), sub_group_size=16)
def reversal_across_a_partial_sub_group(wg, out, *, fixed):
    """24 work-items are a sub-group of 16 and one of 8; only the inner 8 of the first find theirs within it."""
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(24, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    tile = sub_group.barrier(tile)
    mirrored = jnp.where(sub_group.group_id() == 0, 15 - lid, 39 - lid)
    other = tile[mirrored if fixed else 23 - lid]  # mark: read
    return out.at[wg.global_id()].set(other)


@_defect(race("sums", "read", "write"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128), zeros(2)))
def tree_reduction_without_barrier_in_the_loop(wg, data, out, *, fixed):
    lid = wg.local_id()
    sums = wg.local(64, I32)
    sums = sums.at[lid].set(data[wg.global_id()])
    sums = wg.barrier(sums)
    for stride in (32, 16, 8, 4, 2, 1):
        live = lid < stride
        mine = sums.load(lid, where=live)
        other = sums.load(lid + stride, where=live)  # mark: read
        sums = sums.at[lid].set(mine + other, where=live)  # mark: write
        if fixed:
            sums = wg.barrier(sums)
    return out.at[wg.group_id()].set(sums.load(0, where=lid == 0), where=lid == 0)


@_defect(race("bins", "zero", "count"), arguments=lambda: (ascending(512) * 37 % 256, zeros(256)))
def histogram_without_barrier_after_zeroing(wg, data, hist, *, fixed):
    lid = wg.local_id()
    bins = wg.local(256, I32)
    for k in range(4):
        bins = bins.at[k * 64 + lid].set(0)  # mark: zero
    if fixed:
        bins = wg.barrier(bins)

    def count(k, bins):
        return bins.atomic[data[k * 64 + lid]].add(1)  # mark: count

    bins = wg.barrier(lax.fori_loop(0, 8, count, bins))
    for k in range(4):
        hist = hist.atomic[k * 64 + lid].add(bins[k * 64 + lid])
    return hist


@_defect(
    race("bins", "read", "write"), race("bins", "write", "write"), arguments=lambda: (ascending(64) % 8, zeros(64))
)
def histogram_with_plain_counts(wg, data, hist, *, fixed):
    """All that count in a bin store the same number, a lost update: an error, because they have read it."""
    lid = wg.local_id()
    bins = wg.local(64, I32)
    bins = bins.at[lid].set(0)
    bins = wg.barrier(bins)
    byte = data[lid]
    if fixed:
        bins = bins.atomic[byte].add(1)
    else:
        old = bins[byte]  # mark: read
        bins = bins.at[byte].set(old + 1)  # mark: write
    bins = wg.barrier(bins)
    return hist.at[lid].set(bins[lid])


@_defect(race("bins", "count", "merge"), arguments=lambda: (ascending(64) * 5 % 64, zeros(64)))
def histogram_without_barrier_before_merging(wg, data, hist, *, fixed):
    lid = wg.local_id()
    bins = wg.local(64, I32)
    bins = wg.barrier(bins.at[lid].set(0))
    bins = bins.atomic[data[lid]].add(1)  # mark: count
    if fixed:
        bins = wg.barrier(bins)
    mine = bins[lid]  # mark: merge
    return hist.atomic[lid].add(mine)


@_defect(race("tile", "fill", "use"), arguments=lambda: (ascending(256), zeros(64)))
def tile_loop_without_second_barrier(wg, data, out, *, fixed):
    """The tail of an iteration still reads what the head of the next one overwrites."""
    lid = wg.local_id()
    tile = wg.local(64, I32)

    def add_tile(k, carry):
        tile, total = carry
        tile = tile.at[lid].set(data[k * 64 + lid])  # mark: fill
        tile = wg.barrier(tile)
        total = total + tile[63 - lid]  # mark: use
        return (wg.barrier(tile) if fixed else tile), total

    _, total = lax.fori_loop(0, 4, add_tile, (tile, jnp.zeros(64, I32)))
    return out.at[lid].set(total)


@_defect(race("tile", "fill", "use"), arguments=lambda: (ascending(256), zeros(64)))
def tile_loop_without_first_barrier(wg, data, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)

    def add_tile(carry, k):
        tile, total = carry
        tile = tile.at[lid].set(data[k * 64 + lid])  # mark: fill
        if fixed:
            tile = wg.barrier(tile)
        total = total + tile[63 - lid]  # mark: use
        return (wg.barrier(tile), total), None

    (_, total), _ = lax.scan(add_tile, (tile, jnp.zeros(64, I32)), jnp.arange(4, dtype=I32))
    return out.at[lid].set(total)


@_defect(race("tiles", "prefetch", "use"), arguments=lambda: (ascending(320), zeros(64)))
def double_buffer_with_every_other_barrier(wg, data, out, *, fixed):
    """Two buffers need one barrier for each tile, not one for two."""
    lid = wg.local_id()
    tiles = wg.local((2, 64), I32)
    tiles = wg.barrier(tiles.at[0, lid].set(data[lid]))

    def add_tile(k, carry):
        tiles, total = carry
        tiles = tiles.at[(k + 1) % 2, lid].set(data[(k + 1) * 64 + lid])  # mark: prefetch
        total = total + tiles[k % 2, 63 - lid]  # mark: use
        return lax.cond((k % 2 == 0) | fixed, lambda t: wg.barrier(t), lambda t: t, tiles), total

    _, total = lax.fori_loop(0, 4, add_tile, (tiles, jnp.zeros(64, I32)))
    return out.at[lid].set(total)


@_defect(race("tile", "write", "read"), nd_range=_TWO_GROUPS)
def barrier_in_the_branch_of_one_group(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    tile = lax.cond((wg.group_id() == 0) | fixed, lambda t: wg.barrier(t), lambda t: t, tile)
    other = tile[63 - lid]  # mark: read
    return out.at[wg.global_id()].set(other)


@_defect(race("tile", "write", "read"), nd_range=_TWO_GROUPS)
def barrier_with_the_mask_of_one_group(wg, out, *, fixed):
    """A mask that leaves out a whole group is no divergence, but no barrier of that group either."""
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    tile = wg.barrier(tile, where=None if fixed else wg.global_id() < 64)
    other = tile[63 - lid]  # mark: read
    return out.at[wg.global_id()].set(other)


@_defect(race("slot", "write", "read"), arguments=lambda: (ascending(64), zeros(64)))
def one_writes_and_all_read(wg, data, out, *, fixed):
    lid = wg.local_id()
    slot = wg.local(1, I32)
    slot = slot.at[0].set(data[lid], where=lid == 17)  # mark: write
    if fixed:
        slot = wg.barrier(slot)
    value = slot[0]  # mark: read
    return out.at[lid].set(value)


@_defect(race("slot", "write", "read"), arguments=lambda: (ascending(64), zeros(64)))
def one_after_the_other_writes_and_all_read(wg, data, out, *, fixed):
    lid = wg.local_id()
    slot = wg.local(1, I32)

    def turn(carry):
        k, slot, total = carry
        slot = slot.at[0].set(data[lid], where=lid == k)  # mark: write
        slot = wg.barrier(slot)
        total = total + slot[0]  # mark: read
        return k + 1, wg.barrier(slot) if fixed else slot, total

    _, _, total = lax.while_loop(lambda carry: carry[0] < 4, turn, (jnp.int32(0), slot, jnp.int32(0)))
    return out.at[lid].set(total)


@_defect(race("tile", "write", "read"), nd_range=xe.NDRange((16, 32), (16, 16)))
def transpose_without_barrier(wg, out, *, fixed):
    x, y = wg.local_id(0), wg.local_id(1)
    tile = wg.local((16, 17), I32)
    tile = tile.at[x, y].set(wg.global_id(1))  # mark: write
    if fixed:
        tile = wg.barrier(tile)
    turned = tile[y, x]  # mark: read
    return out.at[x, wg.global_id(1)].set(turned)


@_defect(race("tile", "write", "write"), nd_range=xe.NDRange((16, 16), (16, 16)))
def transpose_with_rows_that_overlap(wg, out, *, fixed):
    """A pitch of 15 for rows of 16: the padding went the wrong way."""
    x, y = wg.local_id(0), wg.local_id(1)
    pitch = 17 if fixed else 15
    tile = wg.local(16 * 17, I32)
    tile = tile.at[x * pitch + y].set(wg.local_linear_id())  # mark: write
    tile = wg.barrier(tile)
    return out.at[x, y].set(tile[y * pitch + x])


@_defect(race("tile", "write", "write"), nd_range=xe.NDRange((8, 4, 4), (4, 4, 4)))
def layers_in_one_tile(wg, out, *, fixed):
    """The four layers of a group share a tile that was made for one."""
    z, y, x = wg.local_id(0), wg.local_id(1), wg.local_id(2)
    place = (z, y, x) if fixed else (y, x)
    tile = wg.local((4, 4, 4) if fixed else (4, 4), I32)
    tile = tile.at[place].set(wg.local_linear_id())  # mark: write
    tile = wg.barrier(tile)
    return out.at[wg.global_id(0), y, x].set(tile[place])


@_defect(
    race("tile", "centre", "left"),
    race("tile", "centre", "right"),
    race("tile", "halo", "right"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (ascending(130), zeros(128)),
)
def stencil_without_barrier(wg, data, out, *, fixed):
    """Work-items 0 and 1 fetch the halo; the left one is read by work-item 0 itself."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(66, I32)
    tile = tile.at[lid + 1].set(data[gid + 1])  # mark: centre
    tile = tile.at[lid * 65].set(data.load(gid + lid * 64, where=lid < 2), where=lid < 2)  # mark: halo
    if fixed:
        tile = wg.barrier(tile)
    left = tile[lid]  # mark: left
    right = tile[lid + 2]  # mark: right
    return out.at[gid].set(left + right)


@_defect(race("sums", "read", "write"), arguments=lambda: (ascending(64), zeros(64)))
def scan_in_place_without_barrier(wg, data, out, *, fixed):
    """Hillis and Steele's scan: each step reads what the same step overwrites."""
    lid = wg.local_id()
    sums = wg.local(64, I32)
    sums = wg.barrier(sums.at[lid].set(data[lid]))

    def step(k, sums):
        offset = 1 << k
        below = sums.load(lid - offset, where=lid >= offset)  # mark: read
        mine = sums[lid]
        if fixed:
            sums = wg.barrier(sums)
        return wg.barrier(sums.at[lid].set(mine + below))  # mark: write

    sums = lax.fori_loop(0, 6, step, sums)
    return out.at[lid].set(sums[lid])


@_defect(
    race("keys", "low", "put_high"),
    race("keys", "high", "put_low"),
    race("keys", "put_low", "put_high"),
    arguments=lambda: (ascending(64) * 29 % 64,),
)
def odd_even_sort_without_barrier(wg, data, *, fixed):
    lid = wg.local_id()
    keys = wg.local(64, I32)
    keys = wg.barrier(keys.at[lid].set(data[lid]))
    for phase in (0, 1, 0, 1):
        i = 2 * lid + phase
        live = i + 1 < 64
        a = keys.load(i, where=live)  # mark: low
        b = keys.load(i + 1, where=live)  # mark: high
        keys = keys.at[i].set(jnp.minimum(a, b), where=live)  # mark: put_low
        keys = keys.at[i + 1].set(jnp.maximum(a, b), where=live)  # mark: put_high
        if fixed:
            keys = wg.barrier(keys)
    keys = wg.barrier(keys)
    return data.at[lid].set(keys[lid])


@_defect(race("tile", "write", "write"), arguments=lambda: (ascending(64) // 2, 63 - ascending(64), zeros(64)))
def scatter_with_collisions(wg, colliding, permutation, out, *, fixed):
    lid = wg.local_id()
    place = permutation[lid] if fixed else colliding[lid]
    tile = wg.local(64, I32)
    tile = tile.at[place].set(lid)  # mark: write
    tile = wg.barrier(tile)
    return out.at[lid].set(tile[place])


@_defect(race("tile", "write", "write"))
def vectors_that_overlap(wg, out, *, fixed):
    """Four elements for each work-item, three apart."""
    lid = wg.local_id()
    first = lid * (4 if fixed else 3)
    tile = wg.local(256, I32)
    vector = lid[:, None] * 4 + jnp.arange(4, dtype=I32)
    tile = tile.at[first[:, None] + jnp.arange(4, dtype=I32)].set(vector)  # mark: write
    tile = wg.barrier(tile)
    return out.at[lid].set(tile[first])


@_defect(race("tile", "store", "store"), sub_group_size=16)
def blocks_that_overlap(wg, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    base = sub_group.group_id() * (16 if fixed else 8)
    tile = wg.local(64, I32)
    tile = sub_group.store(tile, base, lid)  # mark: store
    tile = wg.barrier(tile)
    return out.at[lid].set(sub_group.load(tile, base))


@_defect(race("total", "add", "read"), arguments=lambda: (ascending(64), zeros(64)))
def atomic_sum_read_without_barrier(wg, data, out, *, fixed):
    lid = wg.local_id()
    total = wg.local(1, I32)
    total = wg.barrier(total.at[0].set(0, where=lid == 0))
    total = total.atomic[0].add(data[lid])  # mark: add
    if fixed:
        total = wg.barrier(total)
    value = total[0]  # mark: read
    return out.at[lid].set(value)


@_defect(
    race("first", "init", "swap"), arguments=lambda: (ascending(64).astype(np.int64) << 40, np.zeros(64, np.int64))
)
def election_without_barrier_after_the_start(wg, data, out, *, fixed):
    lid = wg.local_id()
    first = wg.local(1, jnp.int64)
    first = first.at[0].set(-1, where=lid == 0)  # mark: init
    if fixed:
        first = wg.barrier(first)
    _, first = first.atomic[0].compare_exchange(-1, data[lid])  # mark: swap
    first = wg.barrier(first)
    return out.at[lid].set(first[0])


@_defect(race("total", "count", "count"), sub_group_size=16)
def sub_group_scope_in_a_work_group(wg, out, *, fixed):
    lid = wg.local_id()
    total = wg.local(1, I32)
    total = wg.barrier(total.at[0].set(0, where=lid == 0))
    counter = total.atomic(scope="work_group" if fixed else "sub_group")
    old, total = counter[0].fetch_add(1)  # mark: count
    return out.at[lid].set(old)


@_defect(race("flag", "set", "set", "note"), arguments=lambda: (ascending(64), zeros(64)))
def flag_set_by_many(wg, data, out, *, fixed):
    """All of them store 1, and nobody looks before the barrier."""
    lid = wg.local_id()
    flag = wg.local(1, I32)
    flag = wg.barrier(flag.at[0].set(0, where=lid == 0))
    found = data[lid] % 10 == 3
    flag = flag.atomic[0].or_(1, where=found) if fixed else flag.at[0].set(1, where=found)  # mark: set
    flag = wg.barrier(flag)
    return out.at[lid].set(flag[0])


@_defect(race("flag", "set", "set"), race("flag", "set", "look"), arguments=lambda: (ascending(64), zeros(64)))
def flag_set_by_many_while_others_look(wg, data, out, *, fixed):
    lid = wg.local_id()
    flag = wg.local(1, I32)
    flag = wg.barrier(flag.at[0].set(0, where=lid == 0))
    found = data[lid] % 10 == 3
    flag = wg.barrier(flag.atomic[0].or_(1, where=found)) if fixed else flag.at[0].set(1, where=found)  # mark: set
    seen = flag[0]  # mark: look
    return out.at[lid].set(seen)


@_defect(race("tile", "write", "read"), sub_group_size=32, arguments=lambda: (ascending(64), zeros(64)))
def reduction_of_sub_groups_instead_of_a_barrier(wg, data, out, *, fixed):
    """An algorithm of the sub-groups brings nobody together across them."""
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(data[lid])  # mark: write
    total = wg.sub_group.reduce(data[lid], "add")
    if fixed:
        tile = wg.barrier(tile)
    other = tile[63 - lid]  # mark: read
    return out.at[lid].set(other + total)


@_defect(race("tile", "write", "read"))
def fence_instead_of_a_barrier(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    tile = wg.barrier(tile) if fixed else wg.fence(tile)
    other = tile[63 - lid]  # mark: read
    return out.at[lid].set(other)


# --- Data races in global memory ---


@_defect(race("data", "read", "write"), arguments=lambda: (ascending(64), zeros(64)))
def difference_in_place(wg, data, result, *, fixed):
    gid = wg.global_id()
    above = data.load(gid + 1, where=gid < 63)  # mark: read
    if fixed:
        return result.at[gid].set(above)
    return data.at[gid].set(above)  # mark: write


@_defect(race("data", "read", "write"), nd_range=xe.NDRange(64, 16), arguments=lambda: (ascending(64), zeros(64)))
def barrier_does_not_order_groups(wg, data, result, *, fixed):
    """Within a group the barrier keeps the reads before the writes; at its upper end another group writes."""
    gid = wg.global_id()
    above = data.load(gid + 1, where=gid < 63)  # mark: read
    data = wg.barrier(data)
    if fixed:
        return result.at[gid].set(above)
    return data.at[gid].set(above)  # mark: write


@_defect(race("scratch", "write", "read"), nd_range=_TWO_GROUPS, arguments=lambda: (zeros(128), zeros(128)))
def exchange_through_global_memory(wg, scratch, out, *, fixed):
    lid, gid, first = wg.local_id(), wg.global_id(), wg.group_id() * 64
    scratch = scratch.at[gid].set(gid)  # mark: write
    if fixed:
        scratch = wg.barrier(scratch)
    other = scratch[first + 63 - lid]  # mark: read
    return scratch, out.at[gid].set(other)


@_defect(race("sums", "write", "write"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128), zeros(2)))
def last_of_the_scan_stored_by_all(wg, data, sums, *, fixed):
    lid = wg.local_id()
    below = wg.inclusive_scan(data[wg.global_id()], "add")
    return sums.at[wg.group_id()].set(below, where=lid == 63 if fixed else None)  # mark: write


@_defect(race("sums", "write", "write", "note"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128), zeros(2)))
def sum_stored_by_all(wg, data, sums, *, fixed):
    """Every work-item executes the store, and stores the group's sum."""
    total = wg.reduce(data[wg.global_id()], "add")
    return sums.at[wg.group_id()].set(total, where=wg.local_id() == 0 if fixed else None)  # mark: write


@_defect(race("done", "begin", "end", "note"), arguments=lambda: (zeros(1),))
def done_set_at_both_ends(wg, done, *, fixed):
    lid = wg.local_id()
    done = done.at[0].set(1, where=lid == 0)  # mark: begin
    return done.at[0].set(1, where=lid == (0 if fixed else 63))  # mark: end


@_defect(
    race("total", "read", "write"),
    race("total", "write", "write"),
    nd_range=xe.NDRange(509),
    arguments=lambda: (ascending(509), zeros(1)),
)
def sum_without_atomics(wg, data, total, *, fixed):
    """A plain range of a prime: the runtime's last group is partial."""
    x = data[wg.global_id()]
    if fixed:
        return total.atomic[0].add(x)
    old = total[0]  # mark: read
    return total.at[0].set(old + x)  # mark: write


@_defect(race("data", "read", "write"), nd_range=xe.NDRange(100), arguments=lambda: (ascending(100), zeros(100)))
def reversal_in_place(wg, data, result, *, fixed):
    gid = wg.global_id()
    other = data[99 - gid]  # mark: read
    if fixed:
        return result.at[gid].set(other)
    return data.at[gid].set(other)  # mark: write


@_defect(
    race("hist", "read", "write"),
    race("hist", "write", "write"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (ascending(128) % 64, np.zeros(64, np.uint64)),
)
def histogram_merged_without_atomics(wg, data, hist, *, fixed):
    """Within a group each work-item has its bin; the groups meet in them. The global bins have 64 bits."""
    lid = wg.local_id()
    bins = wg.local(64, jnp.uint32)
    bins = wg.barrier(bins.at[lid].set(0))
    bins = wg.barrier(bins.atomic[data[wg.global_id()]].add(1))
    mine = bins[lid].astype(jnp.uint64)
    if fixed:
        return hist.atomic[lid].add(mine)
    old = hist[lid]  # mark: read
    return hist.at[lid].set(old + mine)  # mark: write


@_defect(
    race("out", "own", "halo"), nd_range=xe.NDRange(64, 16), arguments=lambda: (ascending(64), zeros(64), zeros(4))
)
def halo_written_by_two_groups(wg, data, out, edges, *, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    out = out.at[gid].set(data[gid])  # mark: own
    last = (lid == 15) & (gid < 63)
    if fixed:
        edges = edges.at[wg.group_id()].set(-1, where=last)
    else:
        out = out.at[gid + 1].set(-1, where=last)  # mark: halo
    return out, edges


@_defect(race("total", "add", "add"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128), zeros(1)))
def work_group_scope_in_two_groups(wg, data, total, *, fixed):
    sums = total.atomic(scope="device" if fixed else "work_group")
    return sums[0].add(data[wg.global_id()])  # mark: add


@_defect(race("best", "max", "max"), arguments=lambda: (ascending(64), zeros(1), zeros(64)))
def sub_group_scope_in_global_memory(wg, data, best, out, *, fixed):
    """One group, two sub-groups of 32."""
    lid = wg.local_id()
    bests = best.atomic(scope="work_group" if fixed else "sub_group")
    old, best = bests[0].fetch_max(data[lid])  # mark: max
    return best, out.at[lid].set(old)


@_defect(
    race("data", "write", "read"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (zeros(1), zeros(1), zeros(2) - 1),
)
def flag_without_order(wg, data, flag, out, *, fixed):
    """A relaxed flag orders nothing: the data must be atomic themselves."""
    group, first = wg.group_id(), wg.local_id() == 0
    giving, taking = first & (group == 0), first & (group == 1)
    data = data.atomic[0].store(42, where=giving) if fixed else data.at[0].set(42, where=giving)  # mark: write
    flag = flag.atomic[0].store(1, where=giving)
    taking = taking & (flag.atomic[0].load(where=taking) == 1)
    value = data.atomic[0].load(where=taking) if fixed else data.load(0, where=taking)  # mark: read
    return data, flag, out.at[group].set(value, where=taking)


@_defect(race("total", "add", "read"), nd_range=_TWO_GROUPS, arguments=lambda: (zeros(1), zeros(128)))
def total_read_while_other_groups_add(wg, total, out, *, fixed):
    total = total.atomic[0].add(1)  # mark: add
    total = wg.barrier(total)
    seen = total.atomic[0].load() if fixed else total[0]  # mark: read
    return total, out.at[wg.global_id()].set(seen)


@_defect(
    race("out", "write", "write"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (ascending(128) % 64, ascending(128) ^ 85, zeros(128)),
)
def scatter_with_collisions_between_groups(wg, colliding, permutation, out, *, fixed):
    gid = wg.global_id()
    place = permutation[gid] if fixed else colliding[gid]
    return out.at[place].set(gid)  # mark: write


@_defect(
    race("heights", "write", "write"),
    nd_range=xe.NDRange((4, 8, 8), (1, 8, 8)),
    arguments=lambda: (ascending(4, 8, 8) % 7, zeros(8, 8)),
)
def layers_in_one_map(wg, volume, heights, *, fixed):
    """Each layer is a group; all store to the same map."""
    z, y, x = wg.global_id(0), wg.global_id(1), wg.global_id(2)
    level = volume[z, y, x] * 4 + z
    if fixed:
        return heights.atomic[y, x].max(level)
    return heights.at[y, x].set(level)  # mark: write


@_defect(race("out", "write", "write"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128), zeros(1), zeros(128)))
def compaction_with_a_stale_counter(wg, data, count, out, *, fixed):
    """Each operation on the counter is atomic, but reading it and raising it are two."""
    x = data[wg.global_id()]
    live = x % 3 == 0
    if fixed:
        slot, count = count.atomic[0].fetch_add(1, where=live)
    else:
        slot = count.atomic[0].load(where=live)
        count = count.atomic[0].add(1, where=live)
    return count, out.at[slot].set(x, where=live)  # mark: write


@_defect(race("data", "load", "store"), sub_group_size=16, arguments=lambda: (ascending(65), zeros(64)))
def block_shift_in_place(wg, data, result, *, fixed):
    sub_group = wg.sub_group
    base = sub_group.group_id() * 16
    x = sub_group.load(data, base + 1)  # mark: load
    if fixed:
        return sub_group.store(result, base, x)
    return sub_group.store(data, base, x)  # mark: store


@_defect(race("out", "write", "write"), nd_range=_TWO_GROUPS, arguments=lambda: (zeros(512),))
def stride_one_too_short(wg, out, *, fixed):
    gid, stride = wg.global_id(), 128 if fixed else 127

    def turn(k, out):
        return out.at[k * stride + gid].set(k * 1000 + gid)  # mark: write

    return lax.fori_loop(0, 4, turn, out)


@_defect(race("lists", "unlink", "link"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128) % 16, zeros(16)))
def plain_store_beside_atomics(wg, keys, lists, *, fixed):
    """The first work-item empties a list that others exchange the head of."""
    gid = wg.global_id()
    lists = lists.atomic[3].store(0, where=gid == 0) if fixed else lists.at[3].set(0, where=gid == 0)  # mark: unlink
    _, lists = lists.atomic[keys[gid]].exchange(gid)  # mark: link
    return lists


# --- Reads of uninitialised memory ---


@_defect(
    uninitialised("bins", "count"), uninitialised("bins", "merge"), arguments=lambda: (ascending(64) % 32, zeros(64))
)
def histogram_without_zeroing(wg, data, hist, *, fixed):
    """Counted up from nothing, and half of the bins are not even that."""
    lid = wg.local_id()
    bins = wg.local(64, I32)
    if fixed:
        bins = bins.at[lid].set(0)
    bins = wg.barrier(bins)
    bins = bins.atomic[data[lid]].add(1)  # mark: count
    bins = wg.barrier(bins)
    mine = bins[lid]  # mark: merge
    return hist.at[lid].set(mine)


@_defect(
    uninitialised("tile", "left"),
    uninitialised("tile", "right"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (ascending(130), zeros(128)),
)
def stencil_without_halo(wg, data, out, *, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(66, I32)
    tile = tile.at[lid + 1].set(data[gid + 1])
    if fixed:
        tile = tile.at[lid * 65].set(data.load(gid + lid * 64, where=lid < 2), where=lid < 2)
    tile = wg.barrier(tile)
    left = tile[lid]  # mark: left
    right = tile[lid + 2]  # mark: right
    return out.at[gid].set(left + right)


@_defect(uninitialised("bins", "read"), arguments=lambda: (zeros(128),))
def zeroing_of_one_block_too_few(wg, out, *, fixed):
    lid = wg.local_id()
    bins = wg.local(128, I32)
    bins = lax.fori_loop(0, 2 if fixed else 1, lambda k, bins: bins.at[k * 64 + lid].set(0), bins)
    for k in range(2):
        mine = bins[k * 64 + lid]  # mark: read
        out = out.at[k * 64 + lid].set(mine)
    return out


@_defect(uninitialised("tile", "read"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(100), zeros(128)))
def tile_of_the_last_group(wg, data, out, *, fixed):
    """100 elements for 128 work-items: the second group fills a part of its tile, and reads all of it."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(data.load(gid, where=gid < 100, other=0), where=None if fixed else gid < 100)
    tile = wg.barrier(tile)
    other = tile[63 - lid]  # mark: read
    return out.at[gid].set(other)


@_defect(uninitialised("sums", "read"), arguments=lambda: (ascending(256), zeros(64)))
def private_sums_without_zeroing(wg, data, out, *, fixed):
    gid = wg.global_id()
    sums = wg.private(4, I32)
    if fixed:
        sums = sums.at[jnp.arange(4, dtype=I32)[None]].set(0)

    def add(k, sums):
        old = sums[k % 4]  # mark: read
        return sums.at[k % 4].set(old + data[k * 64 + gid])

    sums = lax.fori_loop(0, 4, add, sums)
    return out.at[gid].set(sums[0])


@_defect(uninitialised("window", "read"), nd_range=xe.NDRange(100), arguments=lambda: (ascending(108), zeros(100)))
def private_window_not_filled_up(wg, data, out, *, fixed):
    """A vector of eight of which seven are there, over a plain range."""
    gid = wg.global_id()
    window = wg.private(8, I32)
    window = lax.fori_loop(0, 8 if fixed else 7, lambda k, window: window.at[k].set(data[gid + k]), window)
    elements = window[jnp.arange(8, dtype=I32)[None]]  # mark: read
    return out.at[gid].set(elements.sum(axis=1))


@_defect(uninitialised("best", "read"), arguments=lambda: (ascending(64) - 5, zeros(64)))
def private_slot_set_under_a_condition(wg, data, out, *, fixed):
    """Five work-items find nothing to keep."""
    gid = wg.global_id()
    best = wg.private(1, I32)
    if fixed:
        best = best.at[0].set(0)
    best = best.at[0].set(data[gid], where=data[gid] >= 0)
    kept = best[0]  # mark: read
    return out.at[gid].set(kept)


@_defect(uninitialised("flag", "look"), arguments=lambda: (ascending(64), zeros(64)))
def flag_that_nobody_set(wg, data, out, *, fixed):
    lid = wg.local_id()
    flag = wg.local(1, I32)
    if fixed:
        flag = flag.atomic[0].store(0, where=lid == 0)
    flag = wg.barrier(flag)
    flag = flag.atomic[0].store(1, where=data[lid] > 100)
    flag = wg.barrier(flag)
    seen = flag.atomic[0].load()  # mark: look
    return out.at[lid].set(seen)


@_defect(uninitialised("head", "swap"), nd_range=_TWO_GROUPS)
def list_without_an_end(wg, out, *, fixed):
    """The first to exchange gets what was never there; the others get what it left."""
    lid = wg.local_id()
    head = wg.local(1, jnp.uint32)
    if fixed:
        head = head.at[0].set(0xFFFF, where=lid == 0)
    head = wg.barrier(head)
    behind, head = head.atomic[0].exchange(lid.astype(jnp.uint32))  # mark: swap
    return out.at[wg.global_id()].set(behind.astype(I32))


@_defect(uninitialised("tiles", "use"), arguments=lambda: (ascending(256), zeros(64)))
def double_buffer_that_starts_empty(wg, data, out, *, fixed):
    """Each turn adds the tile of the turn before; the first has none."""
    lid = wg.local_id()
    tiles = wg.local((2, 64), I32)
    if fixed:
        tiles = tiles.at[1, lid].set(0)

    def turn(k, carry):
        tiles, total = carry
        tiles = tiles.at[k % 2, lid].set(data[k * 64 + lid])
        tiles = wg.barrier(tiles)
        total = total + tiles[(k + 1) % 2, 63 - lid]  # mark: use
        return wg.barrier(tiles), total

    _, total = lax.fori_loop(0, 4, turn, (tiles, jnp.zeros(64, I32)))
    return out.at[lid].set(total)


@_defect(uninitialised("tile", "read"), nd_range=xe.NDRange((16, 16), (16, 16)))
def symmetric_tile_half_filled(wg, out, *, fixed):
    x, y = wg.local_id(0), wg.local_id(1)
    tile = wg.local((16, 16), I32)
    tile = tile.at[x, y].set(x * y, where=None if fixed else y <= x)
    tile = wg.barrier(tile)
    turned = tile[y, x]  # mark: read
    return out.at[x, y].set(turned)


@_defect(uninitialised("sums", "read"), sub_group_size=16, arguments=lambda: (ascending(64), zeros(1)))
def more_sums_than_sub_groups(wg, data, total, *, fixed):
    """Four sub-groups leave a sum each; eight are added up."""
    lid, sub_group = wg.local_id(), wg.sub_group
    sums = wg.local(8, I32)
    own = sub_group.reduce(data[lid], "add")
    sums = wg.barrier(sums.at[sub_group.group_id()].set(own, where=sub_group.local_id() == 0))
    live = lid < (4 if fixed else 8)
    part = sums.load(lid, where=live)  # mark: read
    return total.atomic[0].add(part, where=live)


@_defect(uninitialised("table", "read"), nd_range=_TWO_GROUPS)
def table_made_by_the_first_group(wg, out, *, fixed):
    """Local memory of one group is none of the other's."""
    lid = wg.local_id()
    table = wg.local(64, I32)
    table = lax.cond((wg.group_id() == 0) | fixed, lambda t: t.at[lid].set(lid * lid), lambda t: t, table)
    table = wg.barrier(table)
    square = table[63 - lid]  # mark: read
    return out.at[wg.global_id()].set(square)


@_defect(
    uninitialised("sums", "read"),
    nd_range=xe.NDRange(96, 48),
    arguments=lambda: (np.arange(96) / 8, np.zeros(2)),
)
def tree_reduction_of_an_odd_size(wg, data, out, *, fixed):
    """A tree for 64 over 48 work-items, in float64."""
    lid = wg.local_id()
    sums = wg.local(64, jnp.float64)
    sums = wg.barrier(sums.at[lid].set(data[wg.global_id()]))
    for stride in (32, 16, 8, 4, 2, 1):
        live = (lid < stride) & ((lid + stride < 48) if fixed else True)
        other = sums.load(lid + stride, where=live)  # mark: read
        sums = sums.at[lid].set(sums[lid] + other, where=live)
        sums = wg.barrier(sums)
    return out.at[wg.group_id()].set(sums.load(0, where=lid == 0), where=lid == 0)


@_defect(uninitialised("tile", "load"), nd_range=xe.NDRange(48, 48), sub_group_size=16)
def block_of_another_sub_group(wg, out, *, fixed):
    """The last of three sub-groups stores nothing; a block load wants its block all the same."""
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(48, I32)
    tile = wg.barrier(tile.at[lid].set(lid, where=None if fixed else lid < 32))
    x = sub_group.load(tile, 32 - sub_group.group_id() * 16)  # mark: load
    return out.at[lid].set(x)


# --- Accesses out of bounds ---


@_defect(
    outside("data", "load"),
    outside("out", "store"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (ascending(100), zeros(100)),
)
def less_or_equal(wg, data, out, *, fixed):
    gid, n = wg.global_id(), data.shape[0]
    live = gid < n if fixed else gid <= n
    x = data.load(gid, where=live)  # mark: load
    return out.at[gid].set(x, where=live)  # mark: store


@_defect(
    outside("data", "left"),
    outside("data", "right"),
    nd_range=_TWO_GROUPS,
    arguments=lambda: (ascending(128), zeros(128)),
)
def stencil_beyond_the_border(wg, data, out, *, fixed):
    gid = wg.global_id()
    left = data.load(gid - 1, where=gid > 0 if fixed else None)  # mark: left
    right = data.load(gid + 1, where=gid < 127 if fixed else None)  # mark: right
    return out.at[gid].set(right - left)


@_defect(outside("out", "store"), nd_range=xe.NDRange((16, 8), (4, 8)))
def rows_for_columns(wg, out, *, fixed):
    """Flat, the index would be inside."""
    i, j = wg.global_id(0), wg.global_id(1)
    place = (i, j) if fixed else (j, i)
    return out.at[place].set(i * 8 + j)  # mark: store


@_defect(outside("tile", "store"), outside("tile", "load"))
def tile_without_room_for_the_halo(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(65 if fixed else 64, I32)
    tile = tile.at[lid + 1].set(lid)  # mark: store
    own = tile[lid + 1]  # mark: load
    return out.at[lid].set(own)


@_defect(outside("bins", "count"), arguments=lambda: (ascending(256), zeros(64)))
def bytes_in_too_few_bins(wg, data, hist, *, fixed):
    lid = wg.local_id()
    bins = wg.local(64, I32)
    bins = wg.barrier(bins.at[lid].set(0))
    for k in range(4):
        byte = data[k * 64 + lid]
        bins = bins.atomic[byte & 63 if fixed else byte].add(1)  # mark: count
    bins = wg.barrier(bins)
    return hist.at[lid].set(bins[lid])


@_defect(outside("hist", "count"), nd_range=xe.NDRange(509), arguments=lambda: (ascending(509) % 20 - 1, zeros(19)))
def no_key_is_minus_one(wg, keys, hist, *, fixed):
    """What counts from the end in Python is out of bounds here."""
    key = keys[wg.global_id()]
    return hist.atomic[key].sub(1, where=key >= 0 if fixed else None)  # mark: count


@_defect(outside("stack", "push"), nd_range=xe.NDRange(100), arguments=lambda: (ascending(105), zeros(100)))
def private_stack_overflow(wg, data, out, *, fixed):
    gid = wg.global_id()
    stack = wg.private(4, I32)

    def push(k, stack):
        return stack.at[k].set(data[gid + k])  # mark: push

    stack = lax.fori_loop(0, 4 if fixed else 5, push, stack)
    return out.at[gid].set(stack[3])


@_defect(outside("table", "look"), arguments=lambda: (ascending(64) % 17, ascending(16), zeros(64)))
def index_from_data(wg, index, table, out, *, fixed):
    gid = wg.global_id()
    key = index[gid]
    entry = table[jnp.minimum(key, 15) if fixed else key]  # mark: look
    return out.at[gid].set(entry)


@_defect(outside("data", "load"), arguments=lambda: (ascending(254), zeros(64)))
def vector_beyond_the_end(wg, data, out, *, fixed):
    """Of the last work-item's four elements two are inside."""
    gid = wg.global_id()
    index = gid[:, None] * 4 + jnp.arange(4, dtype=I32)
    vector = data.load(index, where=index < 254 if fixed else None)  # mark: load
    return out.at[gid].set(vector.sum(axis=1))


@_defect(outside("data", "load"), sub_group_size=16, arguments=lambda: (ascending(56), zeros(64)))
def block_beyond_the_end(wg, data, out, *, fixed):
    gid, sub_group = wg.global_id(), wg.sub_group
    last = 40 if fixed else 48
    x = sub_group.load(data, jnp.minimum(sub_group.group_id() * 16, last))  # mark: load
    return out.at[gid].set(x)


@_defect(
    outside("volume", "above"),
    nd_range=xe.NDRange((4, 4, 8), (2, 4, 8)),
    arguments=lambda: (ascending(4, 4, 8), zeros(4, 4, 8)),
)
def layer_above_the_last(wg, volume, out, *, fixed):
    z, y, x = wg.global_id(0), wg.global_id(1), wg.global_id(2)
    above = volume[jnp.minimum(z + 1, 3) if fixed else z + 1, y, x]  # mark: above
    return out.at[z, y, x].set(above)


@_defect(outside("data", "next"), nd_range=xe.NDRange(509), arguments=lambda: (ascending(509), zeros(509)))
def neighbour_of_the_last(wg, data, out, *, fixed):
    """A plain range of a prime: the absent work-items of the last group access nothing."""
    gid = wg.global_id()
    following = data[(gid + 1) % 509 if fixed else gid + 1]  # mark: next
    return out.at[gid].set(following)


@_defect(
    outside("table", "probe"),
    nd_range=xe.NDRange(16, 16),
    arguments=lambda: (ascending(16) * 4 + 15, zeros(16)),
    device="a770",
)
def probing_without_wrapping(wg, keys, table, *, fixed):
    """A hash table with linear probing; chains that reach its end go on at its beginning."""
    key = keys[wg.global_id()]
    done = key < 0

    def probe(k, carry):
        table, done = carry
        slot = (key + k) % 16 if fixed else key % 16 + k
        old, table = table.atomic[slot].compare_exchange(0, key, where=~done)  # mark: probe
        return table, done | (old == 0)

    table, _ = lax.fori_loop(0, 4, probe, (table, done))
    return table


@_defect(outside("tile", "read"), device="h200")
def reversal_one_off(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = wg.barrier(tile.at[lid].set(lid))
    other = tile[(63 if fixed else 62) - lid]  # mark: read
    return out.at[lid].set(other)


@_defect(outside("tree", "child"), arguments=lambda: (ascending(64) * 2 % 127, ascending(127) * 64, zeros(64)))
def descent_below_the_leaves(wg, keys, tree, out, *, fixed):
    """A search in a binary heap; the loop goes one level deeper than the tree."""
    gid = wg.global_id()
    key = keys[gid] * 64

    def descend(carry):
        level, node = carry
        right = tree[node] < key  # mark: child
        return level + 1, 2 * node + 1 + right.astype(I32)

    levels = 7 if fixed else 8
    _, node = lax.while_loop(lambda carry: carry[0] < levels, descend, (jnp.int32(0), jnp.zeros(64, I32)))
    return out.at[gid].set(node)


# --- Barriers that a part of a group reaches ---


@_defect(divergent("barrier"))
def barrier_of_half_a_group(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)
    tile = wg.barrier(tile, where=None if fixed else lid < 32)  # mark: barrier
    return out.at[lid].set(tile[63 - lid])


@_defect(divergent("even"), divergent("odd"))
def barrier_in_either_branch(wg, out, *, fixed):
    """Every work-item meets a barrier, but not the same one."""
    lid = wg.local_id()
    even = lid % 2 == 0
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)
    if fixed:
        tile = wg.barrier(tile)
    else:
        tile = wg.barrier(tile, where=even)  # mark: even
        tile = wg.barrier(tile, where=~even)  # mark: odd
    return out.at[lid].set(tile[63 - lid])


@_defect(divergent("barrier"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(128) - 100, zeros(128)))
def barrier_under_a_condition_of_data(wg, data, out, *, fixed):
    """All of the first group's numbers are negative, and some of the second's."""
    lid, gid = wg.local_id(), wg.global_id()
    negative = data[gid] < 0
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(data[gid])
    tile = wg.barrier(tile, where=wg.any(negative) if fixed else negative)  # mark: barrier
    return out.at[gid].set(tile[63 - lid])


@_defect(divergent("barrier"), nd_range=_TWO_GROUPS, arguments=lambda: (ascending(100), zeros(100)))
def work_items_beyond_the_end_leave_early(wg, data, out, *, fixed):
    lid, gid = wg.local_id(), wg.global_id()
    live = gid < 100
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(data.load(gid, where=live), where=None if fixed else live)
    tile = wg.barrier(tile, where=None if fixed else live)  # mark: barrier
    return out.at[gid].set(tile.load(lid ^ 1, where=live), where=live)


@_defect(divergent("barrier"), nd_range=xe.NDRange((8, 16), (8, 8)))
def barrier_in_a_loop_that_some_leave(wg, out, *, fixed):
    """Row x goes round x + 1 times; the first turn is everybody's."""
    x, y = wg.local_id(0), wg.local_id(1)
    tile = wg.local((8, 8), I32)

    def turn(k, tile):
        tile = tile.at[x, y].set(k * x, where=k <= x)
        return wg.barrier(tile, where=None if fixed else k <= x)  # mark: barrier

    tile = lax.fori_loop(0, 8, turn, tile)
    return out.at[x, wg.global_id(1)].set(tile[x, 7 - y])


# --- Barriers that were given another memory ---


@_defect(wrong_fence("b", "write", "read"))
def barrier_of_the_other_tile(wg, out, *, fixed):
    lid = wg.local_id()
    a = wg.local(64, I32)
    b = wg.local(64, I32)
    a = a.at[lid].set(lid)
    b = b.at[lid].set(lid)  # mark: write
    if fixed:
        a, b = wg.barrier(a, b)
    else:
        a = wg.barrier(a)
    other = b[63 - lid]  # mark: read
    return out.at[lid].set(a[63 - lid] + other)


@_defect(wrong_fence("tile", "write", "read"))
def barrier_of_no_memory(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    if fixed:
        tile = wg.barrier(tile)
    else:
        wg.barrier()
    other = tile[63 - lid]  # mark: read
    return out.at[lid].set(other)


@_defect(wrong_fence("scratch", "write", "read"), nd_range=_TWO_GROUPS, arguments=lambda: (zeros(128), zeros(128)))
def local_barrier_for_global_memory(wg, scratch, out, *, fixed):
    """CLK_LOCAL_MEM_FENCE where the exchange goes through global memory."""
    lid, gid, first = wg.local_id(), wg.global_id(), wg.group_id() * 64
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)
    scratch = scratch.at[gid].set(gid)  # mark: write
    if fixed:
        tile, scratch = wg.barrier(tile, scratch)
    else:
        tile = wg.barrier(tile)
    other = scratch[first + 63 - lid]  # mark: read
    return scratch, out.at[gid].set(other + tile[63 - lid])


@_defect(wrong_fence("tile", "write", "read"))
def global_barrier_for_local_memory(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)  # mark: write
    if fixed:
        tile = wg.barrier(tile)
    else:
        out = wg.barrier(out)
    other = tile[63 - lid]  # mark: read
    return out.at[lid].set(other)


@_defect(
    wrong_fence("b_tile", "fill", "use"),
    nd_range=xe.NDRange((8, 8), (8, 8)),
    arguments=lambda: (ascending(8, 32), ascending(32, 8), zeros(8, 8)),
)
def product_with_a_barrier_of_one_tile(wg, a, b, c, *, fixed):
    """The barrier at the end of a turn keeps the next one's stores from one of the two tiles."""
    x, y = wg.local_id(0), wg.local_id(1)
    a_tile = wg.local((8, 8), I32)
    b_tile = wg.local((8, 8), I32)

    def turn(k, carry):
        a_tile, b_tile, total = carry
        a_tile = a_tile.at[x, y].set(a[x, k * 8 + y])
        b_tile = b_tile.at[x, y].set(b[k * 8 + x, y])  # mark: fill
        a_tile, b_tile = wg.barrier(a_tile, b_tile)
        for j in range(8):
            left = a_tile[x, j]
            total = total + left * b_tile[j, y]  # mark: use
        a_tile, b_tile = wg.barrier(a_tile, b_tile) if fixed else (wg.barrier(a_tile), b_tile)
        return a_tile, b_tile, total

    _, _, total = lax.fori_loop(0, 4, turn, (a_tile, b_tile, jnp.zeros((8, 8), I32)))
    return c.at[x, y].set(total)


@_defect(wrong_fence("total", "zero", "add"), nd_range=xe.NDRange(48, 24), arguments=lambda: (ascending(48), zeros(2)))
def barrier_of_the_tile_alone(wg, data, out, *, fixed):
    """A plain store, then atomics: they race as plain accesses do."""
    lid, gid = wg.local_id(), wg.global_id()
    tile = wg.local(24, I32)
    total = wg.local(1, I32)
    tile = tile.at[lid].set(data[gid])
    total = total.at[0].set(0, where=lid == 0)  # mark: zero
    if fixed:
        tile, total = wg.barrier(tile, total)
    else:
        tile = wg.barrier(tile)
    total = total.atomic[0].add(tile[23 - lid])  # mark: add
    total = wg.barrier(total)
    return out.at[wg.group_id()].set(total.load(0, where=lid == 0), where=lid == 0)


# --- Operations across work-items that a device does not have ---


@_defect(crossing("roll"), nd_range=xe.NDRange(32, 32), sub_group_size=32, arguments=lambda: (ascending(32), zeros(32)))
def rolled_registers(wg, data, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    x = data[lid]
    y = sub_group.select(x, (lid + 31) % 32) if fixed else jnp.roll(x, 1)  # mark: roll
    return out.at[lid].set(y)


@_defect(crossing("flip"), arguments=lambda: (ascending(64), zeros(64)))
def flipped_registers(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    if fixed:
        tile = wg.local(64, I32)
        y = wg.barrier(tile.at[lid].set(x))[63 - lid]
    else:
        y = x[::-1]  # mark: flip
    return out.at[lid].set(y)


@_defect(crossing("cumsum"), arguments=lambda: (ascending(64), zeros(64)))
def cumulated_registers(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    y = wg.inclusive_scan(x, "add") if fixed else jnp.cumsum(x)  # mark: cumsum
    return out.at[lid].set(y)


@_defect(crossing("gather"), sub_group_size=16, arguments=lambda: (ascending(64), zeros(64)))
def registers_of_other_lanes(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    y = wg.sub_group.permute_xor(x, 1) if fixed else x[lid ^ 1]  # mark: gather
    return out.at[lid].set(y)


@_defect(crossing("sort"), arguments=lambda: (ascending(64) * 29 % 64, zeros(64)))
def sorted_registers(wg, data, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    if fixed:
        rank = lax.fori_loop(0, 64, lambda k, rank: rank + (data[k] < x).astype(I32), jnp.zeros(64, I32))
        return out.at[rank].set(x)
    y = jnp.sort(x)  # mark: sort
    return out.at[lid].set(y)


@_defect(crossing("product"), arguments=lambda: (ascending(64) % 5, ascending(64, 64) % 3, zeros(64)))
def product_over_the_work_items(wg, data, matrix, out, *, fixed):
    lid = wg.local_id()
    x = data[lid]
    if fixed:
        y = lax.fori_loop(0, 64, lambda k, y: y + matrix[lid, k] * data[k], jnp.zeros(64, I32))
        return out.at[lid].set(y)
    rows = matrix[lid[:, None], jnp.arange(64, dtype=I32)[None]]
    y = rows @ x  # mark: product
    return out.at[lid].set(y)


@_defect(
    crossing("turn"),
    nd_range=xe.NDRange((8, 8), (8, 8)),
    arguments=lambda: (ascending(8, 8), zeros(8, 8)),
)
def transposed_registers(wg, data, out, *, fixed):
    x, y = wg.local_id(0), wg.local_id(1)
    turned = data[y, x] if fixed else data[x, y].T  # mark: turn
    return out.at[x, y].set(turned)


DEFECTS = tuple(_defect.cases)

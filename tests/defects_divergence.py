"""Defects of loops and branches that work-items take differently (see `cases`)."""

import jax.numpy as jnp
from cases import ANY, Corpus, Expected, Refused, ascending, divergent, outside, race, uninitialised, zeros

import xeemu as xe

I32 = jnp.int32

_case = Corpus(nd_range=xe.NDRange(64, 64), sub_group_size=16)
_TRIPS = {"arguments": lambda: (ascending(64) * 5 % 7, zeros(64))}


def _absent(shuffle: str) -> Expected:
    return Expected("absent-lane", ANY, (shuffle, "use"), remedy="is not active there")


@_case(divergent("first"), divergent("second"), **_TRIPS)
def barriers_in_a_loop_of_each_work_item(wg, trips, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)

    def turn(k, tile):
        tile = wg.barrier(tile)  # mark: first
        neighbour = tile[lid ^ 1]
        tile = wg.barrier(tile)  # mark: second
        return tile.at[lid].set(neighbour + k)

    most = wg.reduce(trips[lid], "max") if fixed else trips[lid]
    tile = wg.fori_loop(0, most, turn, tile)
    return out.at[lid].set(tile[lid])


@_case(divergent("reduce"), **_TRIPS)
def group_reduction_on_one_side(wg, trips, out, *, fixed):
    lid = wg.local_id()
    odd = trips[lid] % 2 == 1
    outside = wg.reduce(jnp.where(odd, trips[lid], 0), "add")

    def then(out):
        total = outside if fixed else wg.reduce(trips[lid], "add")  # mark: reduce
        return out.at[lid].set(total)

    return wg.cond(odd, then, lambda out: out, out)


@_case(divergent("barrier"), **_TRIPS)
def sub_group_barrier_in_a_loop_of_each_work_item(wg, trips, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(lid)

    def turn(k, tile):
        tile = tile.at[lid].set(tile[lid] + k)
        return sub_group.barrier(tile)  # mark: barrier

    most = sub_group.reduce(trips[lid], "max") if fixed else trips[lid]
    tile = wg.fori_loop(0, most, turn, tile)
    return out.at[lid].set(tile[lid])


@_case(divergent("barrier"), arguments=lambda: (zeros(64),))
def sub_group_barrier_of_half_a_sub_group(wg, out, *, fixed):
    """What not all lanes of a sub-group come to though each of its work-groups has all its sub-groups at it."""
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(64, I32)

    def then(tile):
        return sub_group.barrier(tile.at[lid].set(lid))  # mark: barrier

    meet = lid // 16 % 2 == 1 if fixed else lid % 16 < 8
    tile = wg.cond(meet, then, lambda tile: tile.at[lid].set(0), tile)
    return out.at[lid].set(tile[lid])


@_case(divergent("one"), divergent("other"), arguments=lambda: (zeros(64),))
def a_barrier_on_each_side(wg, out, *, fixed):
    """OpenCL's barrier is a place of the program: two of them are no one."""
    lid = wg.local_id()
    tile = wg.local(64, I32)

    def low(tile):
        tile = tile.at[lid].set(lid)
        return tile if fixed else wg.barrier(tile)  # mark: one

    def high(tile):
        tile = tile.at[lid].set(2 * lid)
        return tile if fixed else wg.barrier(tile)  # mark: other

    tile = wg.cond(lid < 32, low, high, tile)
    if fixed:
        tile = wg.barrier(tile)
    return out.at[lid].set(tile[lid])


@_case(_absent("shuffle"), arguments=lambda: (ascending(64) * 3, zeros(64)))
def a_shift_from_the_other_side(wg, data, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    before = sub_group.shift_left(data[lid], 1)

    def even(out):
        right = before if fixed else sub_group.shift_left(data[lid], 1)  # mark: shuffle
        return out.at[lid].set(right)  # mark: use

    return wg.cond(lid % 2 == 0, even, lambda out: out, out)


@_case(_absent("shuffle"), arguments=lambda: (ascending(64), zeros(64)))
def a_broadcast_from_a_lane_that_is_done(wg, data, out, *, fixed):
    """In each sub-group lane 0 leaves the loop first, and lane 15 last."""
    lid, sub_group = wg.local_id(), wg.sub_group

    def turn(k, out):
        pivot = sub_group.broadcast(data[lid] + k, 15 if fixed else 0)  # mark: shuffle
        return out.at[lid].set(pivot)  # mark: use

    return wg.fori_loop(0, lid % 16 + 1, turn, out)


@_case(race("tile", "write", "read"), arguments=lambda: (ascending(64), zeros(64)))
def one_sub_group_alone_without_its_barrier(wg, data, out, *, fixed):
    lid, sub_group = wg.local_id(), wg.sub_group
    tile = wg.local(16, I32)

    def first(tile, out):
        tile = tile.at[lid].set(data[lid])  # mark: write
        if fixed:
            tile = sub_group.barrier(tile)
        return tile, out.at[lid].set(tile[15 - lid])  # mark: read

    return wg.cond(sub_group.group_id() == 0, first, lambda tile, out: (tile, out), tile, out)[1]


@_case(race("tile", "write", "read"), arguments=lambda: (zeros(64),))
def one_side_reads_what_the_other_writes(wg, out, *, fixed):
    """The sides run one after the other here, but nothing orders them."""
    lid = wg.local_id()
    tile = wg.local(32, I32)

    def producer(tile, out):
        return tile.at[lid].set(lid + 7), out  # mark: write

    def consumer(tile, out):
        return tile, out.at[lid].set(tile[lid - 32])  # mark: read

    if fixed:
        tile, out = wg.cond(lid < 32, producer, lambda tile, out: (tile, out), tile, out)
        tile = wg.barrier(tile)
        return wg.cond(lid < 32, lambda tile, out: (tile, out), consumer, tile, out)[1]
    return wg.cond(lid < 32, producer, consumer, tile, out)[1]


@_case(race("out", "read", "write"), race("out", "write", "write"), **_TRIPS)
def counting_without_atomics_in_a_loop(wg, trips, out, *, fixed):
    lid = wg.local_id()

    def turn(carry):
        k, out = carry
        if fixed:
            return k - 1, out.atomic[k].add(1)
        old = out[k]  # mark: read
        return k - 1, out.at[k].set(old + 1)  # mark: write

    return wg.while_loop(lambda carry: carry[0] > 0, turn, (trips[lid], out))[1]


@_case(outside("data", "read"), arguments=lambda: (ascending(96), zeros(64)))
def a_triangle_beyond_the_end(wg, data, out, *, fixed):
    """Work-item `i` reads the `i` elements behind its own."""
    lid = wg.local_id()
    end = jnp.minimum(lid, 96 - lid) if fixed else lid

    def turn(k, total):
        return total + data[lid + k]  # mark: read

    return out.at[lid].set(wg.fori_loop(0, end, turn, 0))


@_case(uninitialised("tile", "read"), arguments=lambda: (zeros(64),))
def one_side_leaves_its_part_unwritten(wg, out, *, fixed):
    lid = wg.local_id()
    tile = wg.local(64, I32)

    def low(tile):
        return tile.at[lid].set(lid)

    def high(tile):
        return tile.at[lid].set(-lid) if fixed else tile

    tile = wg.barrier(wg.cond(lid < 40, low, high, tile))
    return out.at[lid].set(tile[63 - lid])  # mark: read


@_case(refused=Refused(("kernel",), "wait", "for other work-items of its group"), arguments=lambda: (zeros(64),))
def waiting_for_a_neighbours_flag(wg, out, *, fixed):
    lid = wg.local_id()
    flags = wg.local(64, I32)
    flags = flags.atomic[lid].store(lid + 1)
    if fixed:
        flags = wg.barrier(flags)
        return out.at[lid].set(flags.atomic[lid ^ 1].load())
    told = wg.while_loop(lambda told: told <= 0, lambda told: flags.atomic[lid ^ 1].load(), lid * 0)  # mark: wait
    return out.at[lid].set(told)


DIVERGENCE = tuple(_case.cases)

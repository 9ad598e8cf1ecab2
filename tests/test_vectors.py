"""Vectors: which private elements one instruction accesses."""

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu import census, schedule
from xeemu.launch import Description, Options, prepare

SIZE = 16


@xe.kernel(sub_group_size=16)
def spread(wg, table, memory, *, index):
    return memory.at[index(wg, table)].set(1)


def vector(index, dtype="float32"):
    """Width and alignment of a store to the places that `index(wg, table)` gives."""
    arguments = np.zeros(64, np.int32), np.zeros(4096, dtype)
    static = spread.bind_static({"index": index})
    options = Options(None, False, False, "cpu")
    descriptions = tuple(map(Description.of, arguments))
    prepared = prepare(spread, xe.NDRange(64, SIZE), xe.device("max1550"), descriptions, static, options)
    plan = schedule.of_program(prepared.program, prepared.plan, (None, None))
    store = next(o for o in plan.root.operations() if o.place.op == "store")
    meter = census.meter(store, xe.device("max1550"), plan.geometry)
    return meter.wide.width, meter.aligned


FOUR = np.arange(4, dtype=np.int32)


def lid(wg):
    return wg.local_id()[:, None]


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (lambda wg, table: 4 * lid(wg) + FOUR, (4, True)),
        (lambda wg, table: 8 * lid(wg) + np.arange(8, dtype=np.int32), (4, True)),
        (lambda wg, table: 4 * wg.global_id()[:, None] + FOUR, (4, True)),
        (lambda wg, table: 4 * lid(wg) + FOUR[::-1], (1, True)),
        (lambda wg, table: lid(wg) + 16 * FOUR, (1, True)),
        (lambda wg, table: 3 * lid(wg) + np.arange(3, dtype=np.int32), (1, True)),
        (lambda wg, table: 2 * lid(wg) + np.array([0, 1, 40, 41], np.int32), (2, True)),
        # Alignment that shows only in the addresses.
        (lambda wg, table: 4 * lid(wg) + 1 + FOUR, (4, False)),
        (lambda wg, table: lid(wg) + FOUR, (4, False)),
        # From data.
        (lambda wg, table: 4 * table[wg.local_id()][:, None] + FOUR, (4, True)),
        (lambda wg, table: (table[wg.local_id()][:, None] << 2) + FOUR, (4, True)),
        (lambda wg, table: (table[wg.local_id()][:, None] & ~3) + FOUR, (4, True)),
        (lambda wg, table: table[wg.local_id()][:, None] + FOUR, (4, False)),
        (lambda wg, table: 2 * table[wg.local_id()][:, None] + FOUR, (4, False)),
        (lambda wg, table: table[4 * lid(wg) + FOUR], (1, True)),
        (lambda wg, table: table[wg.local_id()], (1, True)),
    ],
)
def test_vectors(index, expected):
    assert vector(index) == expected


@pytest.mark.parametrize(("dtype", "width"), [("float64", 2), ("float32", 4), ("int16", 8), ("uint8", 16)])
def test_a_vector_has_16_bytes_at_most(dtype, width):
    assert vector(lambda wg, table: 16 * lid(wg) + np.arange(16, dtype=np.int32), dtype) == (width, True)


def test_alignment_that_depends_on_data_is_seen_as_the_kernel_runs():
    aligned, shifted = np.full(64, 8, np.int32), np.full(64, 9, np.int32)
    index = lambda wg, table: table[wg.local_id()][:, None] + 32 * wg.local_id()[:, None] + FOUR  # noqa: E731
    assert [stored(table, index).requests for table in (aligned, shifted)] == [4, 16]


def stored(table, index):
    """The site of the store."""
    _, report = xe.profile(spread, xe.NDRange(64, SIZE))(table, np.zeros(4096, np.float32), index=index)
    return next(site for site in report.sites if site.op == "store")


def test_vectors_whose_begin_shows_in_their_addresses_are_counted_alike_before_and_during_the_run():
    shift = np.full(64, 1, np.int32)
    known = lambda wg, table: 4 * lid(wg) + 1 + FOUR  # noqa: E731
    ran = lambda wg, table: 4 * lid(wg) + table[wg.local_id()][:, None] + FOUR  # noqa: E731
    before, after = (stored(shift, index) for index in (known, ran))
    assert before.closed_form
    assert not after.closed_form
    names = ("requests", "lines", "sectors", "bytes_used", "lanes")
    assert [getattr(before, n) for n in names] == [getattr(after, n) for n in names]
    assert before.requests == 4 * 4


def test_a_mask_that_cuts_through_vectors_takes_them_apart():
    half = np.array([True, True, True, False])
    arguments = np.zeros(64, np.int32), np.zeros(4096, np.float32)

    @xe.kernel(sub_group_size=16)
    def masked(wg, table, memory):
        return memory.at[4 * lid(wg) + FOUR].set(1, where=jnp.broadcast_to(jnp.asarray(half), (SIZE, 4)))

    (site,) = xe.estimate(masked, xe.NDRange(64, SIZE))(*arguments).sites
    assert site.requests == 4 * 3

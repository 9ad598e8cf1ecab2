"""Patterns of accesses measured on an H200, written as kernels: known before the run, and counted as it runs.

Each pattern is the index table of one request. As a constant of the kernel it is known when the kernel is traced
(`xe.estimate`); as an argument only when it runs (`xe.profile`). Both have to give what the hardware counted.
"""

import jax.numpy as jnp
import measured
import numpy as np
import pytest

import xeemu as xe

LANES = 32
LOCAL = tuple(measured.requests("patterns_shared.csv.gz", "micro_shared.csv"))
GLOBAL = tuple(measured.requests("patterns_global.csv", "micro_global.csv"))
# The default run takes one pattern in so many of each operation; the marker `long` all.
STEP = 128

# Bytes of an access: the dtype of an element, and how many elements of a work-item lie side by side.
WAYS = {
    1: [("uint8", 1)],
    2: [("uint16", 1)],
    4: [("uint32", 1)],
    8: [("uint64", 1), ("uint32", 2)],
    16: [("uint32", 4)],
}


def elements(first, width):
    """`[32]` or, for more than one element, `[32, width]` indices from those of the first elements."""
    return first if width == 1 else first[:, None] + jnp.arange(width, dtype=first.dtype)


def carry_out(memory, op, index, mask, weight):
    """One access; gives the memory, and what was loaded or None. `weight` is known only as the kernel runs."""
    at = memory.atomic[index]
    match op:
        case "ld" | "gld":
            return memory, memory.load(index, where=mask)
        case "st" | "gst":
            return memory.at[index].set(weight, where=mask), None
        case "red_add" | "red_add_f32" | "gred_add":
            return at.add(weight, where=mask), None
        case "red_inc":
            return at.add(1, where=mask), None
        case "atom_add" | "gatom_add":
            old, memory = at.fetch_add(weight, where=mask)
        case "atom_max":
            old, memory = at.fetch_max(weight, where=mask)
        case "atom_exch":
            old, memory = at.exchange(weight, where=mask)
        case "atom_cas":
            old, memory = at.compare_exchange(weight, weight, where=mask)
    return memory, old


@xe.kernel(sub_group_size=LANES)
def known(wg, weight, memory, out, *, op, size, width, first, live):
    index, mask = elements(jnp.array(first, jnp.int32), width), jnp.array(live).reshape(-1, *[1] * (width > 1))
    return touch(wg, weight, memory, out, op, size, index, mask)


@xe.kernel(sub_group_size=LANES)
def loaded(wg, weight, memory, out, first, live, *, op, size, width):
    lid = wg.local_id()
    mask = live[lid]
    index, mask = elements(first[lid], width), mask.reshape(-1, *[1] * (width > 1))
    return touch(wg, weight, memory, out, op, size, index, mask)


def touch(wg, weight, memory, out, op, size, index, mask):
    """The access, to a local memory of some size, or to the global one."""
    memory, value = carry_out(wg.local(size, weight.dtype) if size else memory, op, index, mask, weight)
    lane = elements(wg.local_id(), index.size // LANES) * (index.size // LANES)
    out = out if value is None else out.at[lane].set(value)
    return out if size else (memory, out)


class Pattern:
    """One row of the table, as launches."""

    def __init__(self, table, row, way):
        self.op, (name, self.width) = table.op, way
        self.dtype = np.dtype("float32" if table.op == "red_add_f32" else name)
        self.first = (table.addresses[row] // self.dtype.itemsize).astype(np.int32)
        self.live = table.active[row]
        self.size = int(self.first.max()) + self.width

    def site(self, in_local, by_data):
        """The report on the one access."""
        memory = np.zeros(1 if in_local else rounded(self.size), self.dtype)
        arguments = [self.dtype.type(3), memory, np.zeros(LANES * self.width, self.dtype)]
        static = {"op": self.op, "size": rounded(self.size) if in_local else 0, "width": self.width}
        nd_range = xe.NDRange(LANES, LANES)
        if by_data:
            _, report = xe.profile(loaded, nd_range, device="h200")(*arguments, self.first, self.live, **static)
        else:
            static |= {"first": tuple(self.first.tolist()), "live": tuple(self.live.tolist())}
            report = xe.estimate(known, nd_range, device="h200")(*arguments, **static)
        name = "local" if in_local else "memory"
        (site,) = [s for s in report.sites if s.op != "allocate" and (s.space, s.memory)[not in_local] == name]
        return site


def rounded(size):
    """A size that many patterns share, so that few kernels are compiled."""
    return 1 << (size - 1).bit_length()


def check(table, rows, by_data):
    in_local = not table.op.startswith("g")
    for way in WAYS[table.width]:
        if way[1] > 1 and table.op not in ("ld", "st", "gld", "gst"):
            continue
        for row in rows:
            site = Pattern(table, row, way).site(in_local, by_data)
            counters = {name: column[row] for name, column in table.counters.items()}
            (compare_local if in_local else compare_global)(table.op, table.width, site, counters, (row, way))


def compare_local(op, width, site, counters, where):
    assert site.requests == 1, where
    assert site.passes == counters["wavefronts"], where
    # The counter's conflicts of 64-bit atomics and of retried ones are not what their passes exceed anything by.
    if op in ("ld", "st") or (width == 4 and op in ("red_add", "red_inc", "atom_add", "atom_exch", "atom_max")):
        assert site.passes - site.ideal_passes == counters["bank_conflicts"], where


def compare_global(op, _, site, counters, where):
    assert site.requests == counters["requests"], where
    assert site.sectors == counters["sectors"], where
    if op in ("gld", "gst"):
        assert site.lines == counters["tag_accesses"], where


TABLES = pytest.mark.parametrize("table", [*LOCAL, *GLOBAL], ids=lambda t: f"{t.op}-{t.width}")
BY_DATA = pytest.mark.parametrize("by_data", [False, True], ids=["known", "counted"])


@pytest.mark.every(2)
@BY_DATA
@TABLES
def test_some_patterns_cost_what_the_hardware_counted(table, by_data):
    check(table, range(0, len(table.addresses), STEP), by_data)


@pytest.mark.long
@BY_DATA
@TABLES
def test_all_patterns_cost_what_the_hardware_counted(table, by_data):
    check(table, range(len(table.addresses)), by_data)

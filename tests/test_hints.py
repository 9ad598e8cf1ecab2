"""Hints: each is given where its pattern is, and only there, with what it gains. On whole kernels: `test_advice`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.cost import hints
from xeemu.cost.advice import Evidence, Idle
from xeemu.cost.latency import Waiting
from xeemu.cost.report import Hint
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.strides import Strides
from xeemu.cost.trials import WhatIf
from xeemu.devices import bankmap
from xeemu.devices.lookup import device
from xeemu.language.source import Site

DEVICE = device("h200")
N = 8448
NO_ATOMICS = AtomicTotals(local_requests=0, local_passes=0, global_operations=0, global_sectors=0, contention=0)


@dataclasses.dataclass(frozen=True)
class Occupancy:
    fraction: float | None
    average: float | None = None
    peak: float | None = None
    groups: int | None = None
    limiter: str | None = "SLM"
    constraints: Mapping[str, int] = dataclasses.field(default_factory=dict)
    next_step: str | None = None
    next_fraction: float | None = None


def site(line: int, memory: str, op: str, space: str, **counts: int | None) -> SiteReport:
    known: dict[str, Any] = {"requests": N, "dtype": "float32", **counts}
    return SiteReport(file="k.py", line=line, source="", memory=memory, op=op, space=space, **known)  # type: ignore[arg-type]


def give(*sites: SiteReport, gain: float | None = 2.0, **others: Any) -> tuple[Hint, ...]:
    """The hints for a launch of 132 work-groups of 256 work-items; a change gains so much."""
    return hints.give(evidence(*sites, **others), lambda change: gain)


def evidence(*sites: SiteReport, **others: Any) -> Evidence:
    known = {"atomics": NO_ATOMICS, "occupancy": None, "groups": 132, "local_size": (256,), "sub_group_size": 32}
    return Evidence(sites=sites, **{"device": DEVICE, **known, **others})  # type: ignore[arg-type]


def changes(*sites: SiteReport, **others: Any) -> list[WhatIf]:
    """The changes that were tried for the launch."""
    tried: list[WhatIf] = []

    def gain(change: WhatIf) -> float:
        tried.append(change)
        return 1.0

    hints.give(evidence(*sites, **others), gain)
    return tried


def kinds(*sites: SiteReport, **others: Any) -> list[str]:
    return [hint.kind for hint in give(*sites, **others)]


# --- Bank conflicts ---

SQUARE = np.arange(32)[None] * np.ones((8, 1), np.int64)


def drawn(words: np.ndarray, op: str = "load", of: str = "h200") -> bankmap.BankMap:
    """The bank map of an access to such words."""
    return bankmap.draw(4 * words.astype(np.int64), np.ones(words.shape, bool), device(of), 4, op)  # type: ignore[arg-type]


CONFLICTS = {"passes": 32 * N, "ideal_passes": N, "dtype": "float32"}
COLUMNS = site(9, "tile", "load", "local", shape=(32, 32), bank_map=drawn(32 * SQUARE), **CONFLICTS)
RUNS = site(9, "row", "load", "local", shape=(256,), bank_map=drawn(8 * SQUARE), **{**CONFLICTS, "passes": 8 * N})


def test_a_bank_conflict_tells_to_pad_the_pitch():
    (hint,) = give(COLUMNS)
    assert (hint.kind, hint.sites, hint.gain) == ("bank conflict", (COLUMNS,), 2.0)
    assert hint.text.startswith(f"32-way: {32 * N} passes for {N} requests, {31 * N} of them in excess.")
    assert "an odd number of words; one more column does: wg.local((32, 32 + 1), ...)." in hint.text
    assert hint.effect == "As the model times it, the launch takes 2x less time."


def test_a_run_of_words_for_each_work_item_tells_to_have_them_lie_apart():
    (hint,) = give(RUNS)
    assert "word 8 * i + k of work-item i. Let them lie apart, element k * n + i of n work-items" in hint.text
    (change,) = changes(RUNS)
    assert [after.passes for _, after in change.sites] == [N]


def test_a_pitch_that_changes_nothing_is_not_advised():
    """Of a tile of 32 x 32 words eight rows are read, each by lanes that are four words apart."""
    tile = dataclasses.replace(RUNS, shape=(32, 128), bank_map=drawn(4 * SQUARE), passes=4 * N)
    (hint,) = give(tile)
    assert "pitch" not in hint.text
    assert "Let them lie apart" in hint.text


def test_a_scattered_row_of_words_tells_to_spread_them():
    """Words 0, 32, 96, 192 ...: not evenly apart."""
    words = 32 * (SQUARE * (SQUARE + 1) // 2).astype(np.int64)
    (hint,) = give(dataclasses.replace(COLUMNS, shape=(32 * 600,), bank_map=drawn(words)))
    assert "leave one word free after every 32: the word i + i // 32 in place of i." in hint.text


def test_words_that_lie_apart_by_more_in_each_step_are_spread():
    """No work-item has words of its own in a tree, whose steps go twice as far each time."""
    (hint,) = give(RUNS, distances=lambda _: frozenset((1, 2, 4, 8)))
    assert "Leave one word free after every 32: the word i + i // 32 in place of i." in hint.text


@xe.kernel(sub_group_size=16)
def tree(wg, x, out, *, free):
    """A sum by a tree of 256 work-items over 512 words, of which one is free after so many."""

    def word(i):
        return i + i // free if free else i

    i, span = wg.local_id(), 1
    words = wg.local(2 * wg.size + (2 * wg.size // free if free else 0), jnp.float32)
    for part in range(2):
        words = words.at[word(i + part * wg.size)].set(x[wg.group_id() * 512 + i + part * wg.size])
    while span < 2 * wg.size:
        words, on = wg.barrier(words), i < wg.size // span
        last, before = word(span * (2 * i + 2) - 1), word(span * (2 * i + 1) - 1)
        words = words.at[last].set(words.load(last, where=on) + words.load(before, where=on), where=on)
        span *= 2
    return out.at[wg.global_id()].set(wg.barrier(words)[word(i)])


@pytest.mark.thorough
def test_what_spreading_the_words_of_a_tree_gains_is_what_is_told():
    arrays = (jax.ShapeDtypeStruct((512 * 64,), np.float32), jax.ShapeDtypeStruct((256 * 64,), np.float32))
    plain, spread = (
        xe.estimate(tree, xe.NDRange(256 * 64, 256), device="max1550")(*arrays, free=free) for free in (0, 16)
    )
    hint = next(hint for hint in plain.hints if hint.kind == "bank conflict")
    assert "Leave one word free after every 16" in hint.text
    assert plain.time_s / spread.time_s == pytest.approx(hint.gain, rel=0.05)


def test_a_remedy_is_tried_on_all_accesses_to_a_memory():
    store = site(
        8, "tile", "store", "local", shape=(32, 32), bank_map=drawn(SQUARE, "store"), dtype="float32", passes=N
    )
    (change,) = changes(store, COLUMNS)
    assert [(before.line, after.passes) for before, after in change.sites] == [(8, N), (9, N)]


def test_a_conflict_that_no_layout_mends_is_told_without_one():
    (hint,) = give(dataclasses.replace(COLUMNS, bank_map=None))
    assert hint.text.endswith("touch words of different banks; a wider pitch alone changes nothing.")


def test_stores_to_one_word_are_for_one_work_item():
    one = site(9, "flag", "store", "local", shape=(1,), bank_map=drawn(0 * SQUARE, "store", "hd530"), **CONFLICTS)
    (hint,) = give(one)
    assert "Lanes of a request store to one word, one after the other." in hint.text
    assert "where=wg.local_linear_id() == 0" in hint.text


@pytest.mark.parametrize(
    "counts",
    [
        {"passes": N, "ideal_passes": N},
        # A wide access takes more passes than requests without any conflict.
        {"passes": 4 * N, "ideal_passes": 4 * N},
        {"passes": None, "ideal_passes": N},
        {"passes": 0, "ideal_passes": 0, "requests": 0},
    ],
)
def test_no_hint_where_the_banks_serve_almost_all_lanes_at_once(counts):
    assert give(site(9, "tile", "load", "local", **counts)) == ()


def test_conflicts_that_do_not_double_the_passes_are_told_where_the_change_gains():
    some = site(9, "tile", "load", "local", passes=3 * N // 2, ideal_passes=N)
    assert [hint.kind for hint in give(some, gain=1.05)] == ["bank conflict"]
    assert give(some, gain=1.04) == ()


@xe.kernel
def reversed_bytes(wg, x, out):
    lid = wg.local_id()
    tile = wg.barrier(wg.local(wg.size, jnp.uint8).at[lid].set(x[wg.global_id()]))
    return out.at[wg.global_id()].set(tile[wg.size - 1 - lid])


@pytest.mark.parametrize(("stores_conflict", "passes", "mark"), [(None, 4, "~"), (True, 4, "="), (False, 1, "=")])
def test_bytes_of_one_word_that_lanes_store(stores_conflict, passes, mark):
    modelled = dataclasses.replace(device("b580"), slm_same_word_stores_conflict=stores_conflict)
    octets = jax.ShapeDtypeStruct((2**18,), np.dtype(np.uint8))
    report = xe.estimate(reversed_bytes, xe.NDRange(2**18, 256), device=modelled)(octets, octets)
    (store,) = [each for each in report.sites if (each.op, each.space) == ("store", "local")]
    assert (store.degree, report.mark("slm")) == (passes, mark)
    found = [hint.text for hint in report.hints if hint.kind == "bank conflict"]
    assert len(found) == (passes > 1)
    assert all("store to different bytes of one word" in text for text in found)
    assert all(("since that is not known of this device" in text) == (mark == "~") for text in found)
    assert all(text.endswith("4 elements of tile as one word, or make them elements of 4 bytes.") for text in found)


def test_the_costliest_conflict_comes_first():
    small = site(3, "row", "load", "local", passes=32 * 10, ideal_passes=10, requests=10, dtype="float32", shape=(32,))
    assert [hint.sites[0].line for hint in give(COLUMNS, small)] == [9, 3]


def test_atomics_of_a_sub_group_on_one_word_are_reduced_first():
    shown = drawn(0 * SQUARE, "add")
    atomic = site(9, "bins", "atomic", "local", passes=32 * N, ideal_passes=N, bank_map=shown)
    (hint,) = give(atomic)
    assert hint.kind == "contended atomics"
    assert "reduce in the sub-group first" in hint.text
    (change,) = changes(atomic)
    assert change.instructions == {"shuffle": 5 * N}
    assert [after.passes for _, after in change.sites] == [N]


def test_atomics_of_few_words_tell_to_keep_copies():
    (hint,) = give(site(9, "bins", "atomic", "local", passes=4 * N, ideal_passes=N, bank_map=drawn(SQUARE % 8, "add")))
    assert "Keep several copies in different banks" in hint.text


# --- Table copies ---

LOAD = site(5, "table", "load", "global", lines=N, sectors=N, bytes_used=4 * N, bytes_moved=32 * N)
STORE = site(6, "slm", "store", "local", passes=N, ideal_passes=N)


def test_a_table_copied_by_every_work_item():
    (hint,) = give(LOAD, STORE)
    (change,) = changes(LOAD, STORE)
    assert [after.requests for _, after in change.sites] == [N // 256, N // 256]
    assert hint.kind == "table copy"
    assert hint.sites == (LOAD, STORE)
    assert f"{N} requests copy table to slm one word at a time" in hint.text
    assert "Let every work-item copy a part" in hint.text


def test_a_table_copied_by_one_work_item():
    (hint,) = give(dataclasses.replace(LOAD, lanes=N), dataclasses.replace(STORE, lanes=N))
    assert "one work-item of a group copies, while the others wait" in hint.text


def test_a_table_copied_by_every_work_item_where_stores_of_one_word_conflict():
    store = dataclasses.replace(STORE, passes=16 * N)
    assert kinds(LOAD, store) == ["table copy"]


@pytest.mark.parametrize(
    "sites",
    [
        # Every work-item copies its own word.
        (dataclasses.replace(LOAD, bytes_used=128 * N), STORE),
        # A word that all need, and a store of something else.
        (LOAD, dataclasses.replace(STORE, line=60)),
        (LOAD, dataclasses.replace(STORE, requests=N // 8, passes=N // 8)),
        (LOAD, dataclasses.replace(STORE, bytes_used=128 * N)),
        (LOAD,),
        # One word for each work-group.
        (dataclasses.replace(LOAD, requests=132, bytes_used=528), dataclasses.replace(STORE, requests=132, passes=132)),
        (dataclasses.replace(LOAD, bytes_used=None), STORE),
    ],
)
def test_no_table_copy(sites):
    assert "table copy" not in kinds(*sites)


# --- Global memory ---

STRIDED = site(4, "a", "load", "global", lines=32 * N, sectors=32 * N, bytes_used=128 * N, bytes_moved=1024 * N)


def test_uncoalesced_access():
    (hint,) = give(STRIDED)
    assert hint.kind == "uncoalesced"
    assert hint.text.startswith("Each request touches 32 lines, and 12 % of the bytes moved are used.")


def test_private_memory_outside_the_registers():
    (hint,) = give(dataclasses.replace(STRIDED, space="private", memory="h"))
    assert "private memory outside the registers" in hint.text
    assert "Put what is indexed so into local memory" in hint.text


KEPT = [
    site(line, "v", op, "private", lines=N, bytes_used=128 * N, bytes_moved=128 * N, shape=(9,))
    for line, op in ((4, "store"), (5, "load"))
]


def test_a_private_array_in_memory_is_tried_in_registers():
    (hint,) = give(*KEPT, free_bytes=100)
    assert (hint.kind, hint.sites) == ("private array", tuple(KEPT))
    assert hint.text.startswith("Array v of each work-item lies in memory, since its elements are chosen by numbers")
    assert f"not constants: {2 * N} requests." in hint.text
    assert "written out: for k in range(n), a loop of Python's own." in hint.text
    (change,) = changes(*KEPT, free_bytes=100)
    assert [(after.requests, after.bytes_moved) for _, after in change.sites] == [(0, 0)] * 2
    assert give(*KEPT, gain=1.01) == ()


def test_a_private_array_that_the_registers_do_not_hold_is_not_tried():
    (hint,) = give(*KEPT, free_bytes=32)
    assert hint.gain is None
    assert "Its 36 bytes are more than the 32 of registers that a work-item leaves free" in hint.text


@pytest.mark.parametrize(
    "site_",
    [
        site(4, "a", "load", "global", lines=N, bytes_used=128 * N, bytes_moved=128 * N),
        # One word of a line for all lanes: the line is wasted, but there is no other to spare.
        site(4, "a", "load", "global", lines=N, bytes_used=4 * N, bytes_moved=32 * N),
        # Wide accesses need several lines.
        site(4, "a", "load", "global", lines=4 * N, bytes_used=512 * N, bytes_moved=512 * N),
        site(4, "a", "load", "global", lines=None, bytes_used=4 * N, bytes_moved=32 * N),
        site(4, "a", "load", "global", lines=0, requests=0, bytes_used=0, bytes_moved=0),
    ],
)
def test_no_hint_where_the_lines_are_needed(site_):
    assert give(site_) == ()


# --- Atomics ---

SUM = site(8, "total", "atomic", "global", requests=N, lines=N, sectors=32 * N, bytes_used=4 * N, bytes_moved=1024 * N)
ON_ONE_ADDRESS = dataclasses.replace(NO_ATOMICS, global_operations=32 * N, global_sectors=32 * N, contention=32 * N)


def test_contended_atomics_of_global_memory():
    (hint,) = give(SUM, atomics=ON_ONE_ADDRESS)
    assert (hint.kind, hint.sites) == ("contended atomics", (SUM,))
    assert f"{32 * N} lanes update one address" in hint.text
    assert "Reduce in the group first" in hint.text
    (change,) = changes(SUM, atomics=ON_ONE_ADDRESS)
    assert change.work["atomic_contention"] == 132 - 32 * N


@pytest.mark.parametrize("contention", [None, 132])
def test_no_hint_where_each_group_updates_an_address_once_or_that_is_not_known(contention):
    atomics = dataclasses.replace(ON_ONE_ADDRESS, contention=contention)
    assert give(SUM, atomics=atomics) == ()


def test_atomics_of_a_reduction_are_those_of_the_runtime():
    (hint,) = hints.give(evidence(SUM, atomics=ON_ONE_ADDRESS), lambda change: 2.0, ("total",))
    assert hint.kind == "reduction over a range"


# --- The launch ---


def test_low_occupancy_names_its_limiter_and_the_next_step():
    low = Occupancy(0.125, next_step="16 KiB less SLM let 2 groups in", next_fraction=0.25)
    (hint,) = give(occupancy=low)
    assert (hint.kind, hint.sites) == ("low occupancy", ())
    assert hint.text.startswith("12 % of the hardware threads of an Xe core have work, limited by SLM")
    assert hint.text.endswith(" 16 KiB less SLM let 2 groups in.")
    (change,) = changes(occupancy=low)
    assert change.resident == 2


@pytest.mark.parametrize("occupancy", [None, Occupancy(None), Occupancy(1.0)])
def test_no_hint_where_occupancy_is_high_or_not_known(occupancy):
    assert give(occupancy=occupancy) == ()


def test_a_launch_of_few_groups_tells_how_many_the_device_holds():
    (hint,) = give(groups=1, occupancy=Occupancy(1.0, groups=8), parts=64.0)
    assert hint.kind == "small launch"
    assert hint.text.startswith("1 of the 1056 work-groups that h200 holds at a time, 8 on each of 132 Xe cores;")
    assert "Let 64 times as many work-groups share the iterations" in hint.text


def test_no_more_groups_share_a_launch_than_its_work_has_parts():
    (change,) = changes(groups=1, occupancy=Occupancy(1.0, groups=8), parts=3.0)
    assert change.spread == 3
    assert changes(groups=1, occupancy=Occupancy(1.0, groups=8)) == []


def test_small_work_groups():
    (hint,) = give(groups=10000, local_size=(32,))
    assert hint.kind == "small work-groups"
    (change,) = changes(groups=10000, local_size=(32,))
    assert change.spread == 1 / 8


def test_lanes_without_work():
    idle = Idle(Site("k.py", 7, ""), sub_groups=1000, lanes=4000, instructions={"f32": 10.0})
    (hint,) = give(idle=(idle,))
    assert hint.kind == "lanes without work"
    assert hint.text.startswith("4 of the 32 lanes of a sub-group have work where work-items part (line 7).")
    (change,) = changes(idle=(idle,))
    assert change.instructions == {"f32": -10.0 * (1000 - 125)}


def test_an_access_by_all_work_items_as_one_leaves_no_lane_without_work():
    mixed = site(9, "p", "load", "global", lanes=2 * N, lines=N, sectors=N, bytes_used=4 * N, bytes_moved=32 * N)
    assert "lanes without work" in kinds(mixed)
    assert "lanes without work" not in kinds(mixed, common=(mixed,))


@pytest.mark.parametrize(
    ("dtype", "used", "kind"), [("uint8", 32, ["small elements"]), ("uint8", 1, []), ("float32", 32, [])]
)
def test_neighbours_that_each_take_a_byte(dtype, used, kind):
    counts = {"lines": N, "sectors": N, "bytes_used": used * N, "bytes_moved": 128 * N}
    assert kinds(dataclasses.replace(site(9, "p", "load", "global", lanes=32 * N, **counts), dtype=dtype)) == kind


def test_rows_that_begin_between_two_lines():
    rows = site(4, "a", "load", "global", lines=2 * N, sectors=5 * N, bytes_used=128 * N, bytes_moved=160 * N)
    (hint,) = give(rows, strides=lambda _: Strides((0,), (4100,)))
    assert hint.kind == "misaligned rows"
    assert hint.text.startswith("Requests touch 2 lines each where 1 would hold their bytes")


def test_a_memory_of_one_dimension_has_no_rows_in_a_launch_of_one():
    counts = {"lines": 2 * N, "sectors": 5 * N, "bytes_used": 128 * N, "bytes_moved": 160 * N}
    neighbours = dataclasses.replace(site(4, "a", "load", "global", **counts), shape=(4096,))
    found = Strides((0,), (4100,))
    assert not give(neighbours, strides=lambda _: found)
    assert give(neighbours, local_size=(1, 256), strides=lambda _: found)[0].kind == "misaligned rows"


@pytest.mark.parametrize(
    ("rows", "apart"),
    [
        (Strides((0,), (4100,)), True),
        (Strides((0, 4100), (4096, 8200)), True),
        # All begin at the second word of a line.
        (Strides((4, 132), (4096,)), True),
        # Of neighbours in a row not all can begin at a line.
        (Strides((0, 4, 8), (4096,)), False),
        # A window that moves by a word.
        (Strides((0,), (4,)), False),
        (Strides((0,), (4, 4100)), False),
        (None, False),
    ],
)
def test_only_rows_are_told_to_begin_at_a_line(rows, apart):
    site_ = site(4, "a", "load", "global", lines=2 * N, sectors=5 * N, bytes_used=128 * N, bytes_moved=160 * N)
    assert kinds(site_, strides=lambda _: rows) == ["misaligned rows"] * apart


def test_what_a_work_group_loads_again():
    again = site(4, "a", "load", "global", lines=N, sectors=4 * N, bytes_used=128 * N, bytes_moved=128 * N)
    once = 128 * N / 132 / 16
    (hint,) = give(again, group_bytes={"a": once})
    assert hint.kind == "loaded again"
    assert hint.text.startswith("A work-group loads each byte of a 16 times.")
    assert give(again, group_bytes={"a": 8 * once}) == ()
    # What a launch also stores to may be another value each time.
    stored = site(5, "a", "store", "global", lines=N, sectors=4 * N, bytes_used=128 * N, bytes_moved=128 * N)
    assert give(again, stored, group_bytes={"a": once}) == ()


def test_spill_is_tried_without():
    (hint,) = give(spill_bytes=64)
    assert (hint.kind, hint.gain) == ("spill", 2.0)
    (change,) = changes(spill_bytes=64)
    assert not change.spills


# --- Loads one by one ---


@pytest.mark.parametrize(
    ("times", "share", "space", "groups", "given"),
    [
        (N, 0.5, "global", 132, 1),
        (N / 4, 0.5, "global", 132, 0),
        (N, 0.05, "global", 132, 0),
        (N, 0.5, "local", 132, 0),
        (N, 0.5, "global", N // 8, 0),  # each of so many sub-groups waits once
    ],
)
def test_loads_that_wait_for_one_another_are_told_with_their_line(times, share, space, groups, given):
    load = site(7, "x", "load", space, lines=N, bytes_moved=128 * N, bytes_used=128 * N)
    wait = Waiting("load", load, times, 672.0, share)
    found = [hint for hint in give(load, waits=(wait,), groups=groups) if hint.kind == "loads one by one"]
    assert len(found) == given
    for hint in found:
        assert hint.sites == (load,)
        assert "672 cycles here each time, 50 % of all that they wait, with 1 loads under way" in hint.text


def test_loads_of_one_line_are_told_together():
    loads = [site(7, name, "load", "global", lines=N, bytes_moved=128 * N, bytes_used=128 * N) for name in "xy"]
    waits = tuple(Waiting("load", load, N, 600.0, share) for load, share in zip(loads, (0.5, 0.25), strict=True))
    (hint,) = (hint for hint in give(*loads, waits=waits) if hint.kind == "loads one by one")
    assert hint.sites == tuple(loads)
    assert "wait 600 cycles for x and 600 cycles for y here each time, 75 % of all that they wait" in hint.text


@pytest.mark.parametrize(
    ("of", "where"), [("h200", "in a loop with a constant number of iterations"), ("max1550", "in one iteration")]
)
def test_loads_get_under_way_together_where_the_compiler_has_them_so(of, where):
    load = site(7, "x", "load", "global", lines=N, bytes_moved=128 * N, bytes_used=128 * N)
    found = give(load, waits=(Waiting("load", load, N, 672.0, 0.5),), device=device(of))
    (hint,) = (hint for hint in found if hint.kind == "loads one by one")
    assert f"before the first of it is used, {where} and without a barrier" in hint.text


def test_what_is_gathered_from_one_dimension_has_no_rows():
    gathered = site(4, "a", "load", "global", lines=16 * N, sectors=16 * N, bytes_used=64 * N, bytes_moved=512 * N)
    (hint,) = give(dataclasses.replace(gathered, shape=(4096,)))
    assert hint.kind == "uncoalesced"
    assert "let the index follow their ids" in hint.text
    assert "last dimension" not in hint.text


# --- Order ---


def test_what_gains_most_comes_first():
    gains = {9: 1.5, 4: 3.0}

    def gain(change: WhatIf) -> float:
        return gains[change.sites[0][0].line]

    assert [hint.gain for hint in hints.give(evidence(COLUMNS, STRIDED), gain)] == [3.0, 1.5]


def test_what_gains_nothing_is_told_of_mistakes_alone():
    (hint,) = give(COLUMNS, occupancy=Occupancy(0.25, next_step=""), gain=1.01)
    assert hint.kind == "bank conflict"
    assert hint.effect == "As the model times it, it gains nothing here: something else binds."


def test_a_clean_kernel_has_no_hints():
    load = site(4, "a", "load", "global", lines=N, sectors=4 * N, bytes_used=128 * N, bytes_moved=128 * N)
    local = site(5, "tile", "store", "local", passes=N, ideal_passes=N)
    assert give(load, local, occupancy=Occupancy(1.0)) == ()


@xe.kernel
def scaled(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(x[i] * 2 + 1)


@xe.kernel
def rows_added(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(sum(x[i, k] for k in range(16)))


@pytest.mark.parametrize("device", ["b580", "max1550"])
@pytest.mark.parametrize(("kernel", "size"), [(scaled, 4), (scaled, 8), (rows_added, 4)])
def test_work_groups_smaller_than_a_sub_group_gain_what_larger_ones_take_less(kernel, size, device):
    """What the hint promises, against a launch with work-groups of 256; no lanes are said to part."""
    n = 2**20
    shape = (n, 16) if kernel is rows_added else (n,)
    arguments = jax.ShapeDtypeStruct(shape, jnp.float32), jax.ShapeDtypeStruct((n,), jnp.float32)
    small, large = (xe.estimate(kernel, xe.NDRange(n, each), device=device)(*arguments) for each in (size, 256))
    found = {hint.kind: hint.gain for hint in small.hints}
    assert "lanes without work" not in found
    assert found.get("small work-groups", 1.0) == pytest.approx(small.time_s / large.time_s, rel=0.1)


@xe.kernel
def gathered_rows(wg, x, numbers, y):
    i = wg.global_id()
    row = numbers[i]
    return lax.fori_loop(0, x.shape[1], lambda k, y: y.at[i, k].set(x[row, k]), y)


@xe.kernel
def gathered_elements(wg, x, numbers, y):
    i = wg.global_id()
    row, k = i // x.shape[1], i % x.shape[1]
    return y.at[row, k].set(x[numbers[row], k])


@pytest.mark.parametrize("device", ["b580", "h200"])
def test_two_memories_whose_rows_lie_side_by_side_are_mended_together(device):
    """Work-items along rows, not across them: what that gains is what the first hint promises, within two fifths."""
    rng = np.random.default_rng(0)
    x, numbers = rng.random((2**14, 64), np.float32), rng.permutation(2**14).astype(np.int32)
    _, across = xe.profile(gathered_rows, xe.NDRange(2**14, 64), device=device)(x, numbers, np.zeros_like(x))
    _, along = xe.profile(gathered_elements, xe.NDRange(x.size, 256), device=device)(x, numbers, np.zeros_like(x))
    first = across.hints[0]
    assert first.kind == "uncoalesced"
    assert {site.memory for site in first.sites} == {"x", "y"}
    assert "of y likewise" in first.text or "of x likewise" in first.text
    assert first.gain == pytest.approx(across.time_s / along.time_s, rel=0.4)

"""Hints: each is given where its pattern is, and only there."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from xeemu.cost import hints
from xeemu.cost.report import Hint
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.timing import Term
from xeemu.devices import bankmap
from xeemu.devices.device import device

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


def site(line: int, memory: str, op: str, space: str, **counts: int | None) -> SiteReport:
    known: dict[str, Any] = {"requests": N, **counts}
    return SiteReport(file="k.py", line=line, source="", memory=memory, op=op, space=space, **known)  # type: ignore[arg-type]


def give(
    *sites: SiteReport,
    atomics: AtomicTotals = NO_ATOMICS,
    occupancy: Occupancy | None = None,
    terms: Sequence[Term] = (),
    groups: int = 132,
) -> tuple[Hint, ...]:
    return hints.give(sites, atomics, occupancy, terms, groups, 256, DEVICE)


def kinds(*sites: SiteReport, **others: Any) -> list[str]:
    return [hint.kind for hint in give(*sites, **others)]


# --- Bank conflicts ---

COLUMNS = site(9, "tile", "load", "local", passes=32 * N, ideal_passes=N, shape=(32, 32))


def test_a_bank_conflict_in_a_row_of_words_tells_to_spread_them():
    (hint,) = give(dataclasses.replace(COLUMNS, shape=(1024,)))
    assert "leave one word free after every 32: the word i + i // 32 in place of i." in hint.text


def test_stores_to_one_word_are_for_one_work_item():
    lanes = np.zeros((1, 16), np.int64)
    shown = bankmap.draw(lanes, lanes == 0, device("hd530"), 4, "store")
    one = site(9, "flag", "store", "local", passes=16 * N, ideal_passes=N, shape=(1,), bank_map=shown)
    (hint,) = give(one)
    assert "Lanes of a request store to one word, one after the other." in hint.text
    assert "where=wg.local_linear_id() == 0" in hint.text


def test_a_bank_conflict_tells_to_pad_the_pitch():
    (hint,) = give(COLUMNS)
    assert hint.kind == "bank conflict"
    assert hint.sites == (COLUMNS,)
    assert hint.text.startswith(f"32-way: {32 * N} passes for {N} requests, {31 * N} of them in excess.")
    assert (
        "Make the pitch of tile an odd number of words; one more column does: wg.local((32, 32 + 1), ...)." in hint.text
    )
    assert hint.bound == "At most 32x less SLM time for this line of source; no gain where SLM is not the bound."


@pytest.mark.parametrize(
    "counts",
    [
        {"passes": N, "ideal_passes": N},
        # A wide access takes more passes than requests without any conflict.
        {"passes": 4 * N, "ideal_passes": 4 * N},
        {"passes": 3 * N // 2, "ideal_passes": N},
        {"passes": None, "ideal_passes": N},
        {"passes": 0, "ideal_passes": 0, "requests": 0},
    ],
)
def test_no_hint_where_the_banks_serve_almost_all_lanes_at_once(counts):
    assert give(site(9, "tile", "load", "local", **counts)) == ()


def test_the_costliest_conflict_comes_first():
    small = site(3, "row", "load", "local", passes=32 * 10, ideal_passes=10, requests=10)
    assert [hint.sites[0].line for hint in give(small, COLUMNS)] == [9, 3]


def test_atomics_on_one_word_of_local_memory_tell_to_give_each_sub_group_a_copy():
    (hint,) = give(site(9, "bins", "atomic", "local", passes=32 * N, ideal_passes=N))
    assert hint.kind == "contended atomics"
    assert "Give each sub-group a copy of its own" in hint.text
    assert "SLM" in hint.bound


# --- Table copies ---

LOAD = site(5, "table", "load", "global", lines=N, sectors=N, bytes_used=4 * N, bytes_moved=32 * N)
STORE = site(6, "slm", "store", "local", passes=N, ideal_passes=N)


def test_a_table_copied_by_every_work_item():
    (hint,) = give(LOAD, STORE)
    assert hint.kind == "table copy"
    assert hint.sites == (LOAD, STORE)
    assert f"{N} requests copy table to slm one word at a time" in hint.text
    assert "Let every work-item copy a part" in hint.text
    assert hint.bound.startswith("At most 256x fewer requests")


def test_a_table_copied_by_one_work_item():
    (hint,) = give(dataclasses.replace(LOAD, lanes=N), dataclasses.replace(STORE, lanes=N))
    assert "one work-item of a group copies, while the others wait" in hint.text
    assert hint.bound.startswith("At most 32x fewer requests")


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
    assert hint.bound.startswith("At most 32x fewer lines")


def test_private_memory_outside_the_registers():
    (hint,) = give(dataclasses.replace(STRIDED, space="private", memory="h"))
    assert "private memory outside the registers" in hint.text
    assert "Put what is indexed so into local memory" in hint.text


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


def atomics_term(share: float | None) -> Term:
    return Term("atomics", 32 * N, "updates", 0.7, None if share is None else 1e6 * share, share)


@pytest.mark.parametrize("share", [1.0, None])
def test_contended_atomics_of_global_memory(share):
    (hint,) = give(SUM, atomics=ON_ONE_ADDRESS, terms=[atomics_term(share)])
    assert (hint.kind, hint.sites) == ("contended atomics", (SUM,))
    assert f"{32 * N} lanes update one address" in hint.text
    assert "Reduce in the group first" in hint.text
    assert hint.bound.startswith(f"At most {32 * N / 132:.3g}x fewer updates")


@pytest.mark.parametrize(
    ("contention", "share"),
    [
        (None, 1.0),
        # Each work-group updates it once: they have reduced.
        (132, 1.0),
        (32 * N, 0.1),
    ],
)
def test_no_hint_where_the_atomics_cost_little_or_are_not_known(contention, share):
    atomics = dataclasses.replace(ON_ONE_ADDRESS, contention=contention)
    assert give(SUM, atomics=atomics, terms=[atomics_term(share)]) == ()


# --- Occupancy ---


def test_low_occupancy_names_its_limiter_and_the_next_step():
    (hint,) = give(occupancy=Occupancy(0.125, next_step="16 KiB less SLM let 2 groups in"))
    assert (hint.kind, hint.sites) == ("low occupancy", ())
    assert hint.text.startswith("12 % of the hardware threads of an Xe core have work, limited by SLM")
    assert hint.text.endswith(" 16 KiB less SLM let 2 groups in.")
    assert hint.bound == "At most 8x less waiting; no gain where latency is not the bound."


@pytest.mark.parametrize("occupancy", [None, Occupancy(None), Occupancy(0.5), Occupancy(1.0)])
def test_no_hint_where_occupancy_is_high_or_not_known(occupancy):
    assert give(occupancy=occupancy) == ()


# --- Order ---


def test_hints_about_the_binding_resource_come_first():
    def terms(slm: float, dram: float, latency: float) -> list[Term]:
        cycles = {"SLM": slm, "DRAM": dram, "latency": latency}
        return [Term(name, 1, "bytes", 1.0, value, None) for name, value in cycles.items()]

    low = Occupancy(0.25)
    assert kinds(COLUMNS, STRIDED, occupancy=low, terms=terms(3, 2, 1))[0] == "bank conflict"
    assert kinds(COLUMNS, STRIDED, occupancy=low, terms=terms(2, 3, 1))[0] == "uncoalesced"
    assert kinds(COLUMNS, STRIDED, occupancy=low, terms=terms(1, 2, 3))[0] == "low occupancy"


def test_a_clean_kernel_has_no_hints():
    load = site(4, "a", "load", "global", lines=N, sectors=4 * N, bytes_used=128 * N, bytes_moved=128 * N)
    local = site(5, "tile", "store", "local", passes=N, ideal_passes=N)
    assert give(load, local, occupancy=Occupancy(1.0)) == ()

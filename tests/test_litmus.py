"""Litmus tests: verdicts of the literature, and laws that hold for every program.

The verdicts are those of the clauses and papers that are named beside them.
"""

import dataclasses
import itertools

import numpy as np
import pytest

import xeemu as xe
from xeemu.kernels import litmus as known
from xeemu.kernels.litmus import (
    BARRIER,
    FENCES,
    ORDER,
    P0668,
    RACES,
    RC11,
    SCOPE,
    independent_reads,
    isa2,
    load_buffering,
    message_passing,
    r,
    read_write_causality,
    release_sequence,
    s,
    store_buffering,
    two_plus_two_writes,
    write_read_causality,
    x,
    y,
    z,
)
from xeemu.memory_model import executions
from xeemu.memory_model.litmus import litmus
from xeemu.memory_model.relations import Relation

ORDERS = ("relaxed", "acquire", "release", "acq_rel", "seq_cst")
A, F, U = known.ALLOWED, known.FORBIDDEN, known.UNDEFINED
SC = "seq_cst"
COOKBOOK = "Batty et al., Clarifying and Compiling C/C++ Concurrency, POPL 2012"
OPENCL = "OpenCL 2.0, data race: 'do not have inclusive memory scope'"


def verdict(test, **outcome):
    return known.Known(test.name, "", test, outcome, "", "").found


# --- Verdicts ---

MP = [
    (("relaxed", "relaxed"), A, f"{ORDER} relaxed: no operation orders memory"),
    (("release", "relaxed"), A, f"{RACES} synchronizes with: needs an acquire"),
    (("relaxed", "acquire"), A, f"{RACES} synchronizes with: needs a release"),
    ((SC, "relaxed"), A, f"{RACES} synchronizes with: needs an acquire"),
    (("relaxed", SC), A, f"{RACES} synchronizes with: needs a release"),
    (("release", "acquire"), F, f"{ORDER} a release synchronizes with an acquire that reads from it"),
    (("release", SC), F, f"{ORDER} seq_cst loads acquire"),
    ((SC, "acquire"), F, f"{ORDER} seq_cst stores release"),
    ((SC, SC), F, ORDER),
    (("relaxed", "relaxed", "release", "acquire"), F, f"{FENCES} fence to fence"),
    (("relaxed", "relaxed", "acq_rel", "acq_rel"), F, f"{FENCES} fence to fence"),
    (("relaxed", "relaxed", SC, SC), F, f"{FENCES} seq_cst fences are acquire and release fences"),
    (("relaxed", "relaxed", "release", ""), A, f"{FENCES} needs both"),
    (("relaxed", "relaxed", "", "acquire"), A, f"{FENCES} needs both"),
    (("relaxed", "relaxed", "acquire", "release"), A, f"{FENCES} the wrong way round"),
    (("relaxed", "relaxed", "relaxed", "relaxed"), A, f"{FENCES} a relaxed fence has no effect"),
    (("relaxed", "acquire", "release", ""), F, f"{FENCES} fence to load"),
    (("release", "relaxed", "", "acquire"), F, f"{FENCES} store to fence"),
]


@pytest.mark.parametrize(("orders", "expected", "source"), MP)
def test_message_passing(orders, expected, source):
    assert verdict(message_passing(*orders), r0=1, r1=0) == expected, source


SB = [
    (store_buffering(), A, ORDER),
    (store_buffering("release", "acquire"), A, f"{RC11}: release and acquire leave SB"),
    (store_buffering(SC, SC), F, f"{ORDER} the single total order S"),
    (store_buffering(SC, "acquire"), A, f"{ORDER} S orders seq_cst operations alone"),
    (store_buffering("release", SC), A, f"{ORDER} S orders seq_cst operations alone"),
    (store_buffering(fences=(SC, SC)), F, f"{ORDER} a fence before the load and one after the store"),
    (store_buffering(fences=("acq_rel", "acq_rel")), A, f"{ORDER} such fences are not in S"),
    (store_buffering(fences=(SC, "acq_rel")), A, f"{ORDER} one fence orders nothing in S"),
    (
        litmus(
            "SB, mixed",
            [
                [x.atomic.store(1), litmus.fence(order=SC, scope="device"), y.atomic.load("r0")],
                [y.atomic.store(1, SC), x.atomic.load("r1", SC)],
            ],
        ),
        F,
        f"{ORDER} a fence on the one side, seq_cst accesses on the other",
    ),
    (
        litmus(
            "SB, updates",
            [
                [x.atomic.exchange("o0", 1, "acq_rel"), y.atomic.load("r0", "acquire")],
                [y.atomic.exchange("o1", 1, "acq_rel"), x.atomic.load("r1", "acquire")],
            ],
        ),
        A,
        f"{ORDER} an update of one location does not order another",
    ),
]


@pytest.mark.parametrize(("test", "expected", "source"), SB)
def test_store_buffering(test, expected, source):
    assert verdict(test, r0=0, r1=0) == expected, source


def _conditional(values):
    return litmus(
        "LB",
        [
            [x.atomic.load("r0"), y.atomic.store(values[0]).when(r0=1)],
            [y.atomic.load("r1"), x.atomic.store(values[1]).when(r1=1)],
        ],
    )


LB = [
    (load_buffering(), A, f"{ORDER} allowed, unlike RC11's no-thin-air"),
    (load_buffering("acquire", "relaxed"), A, f"{RACES} no release to synchronise with"),
    (load_buffering("relaxed", "release"), A, f"{RACES} no acquire to synchronise with"),
    (load_buffering("acquire", "release"), F, f"{RACES} happens-before would have a cycle"),
    (load_buffering(SC, SC), F, f"{RACES} happens-before would have a cycle"),
    (load_buffering(fence="acq_rel"), F, FENCES),
    (
        litmus(
            "LB, one side",
            [
                [x.atomic.load("r0", "acquire"), y.atomic.store(1, "release")],
                [y.atomic.load("r1"), x.atomic.store(1)],
            ],
        ),
        A,
        f"{RACES} only one of two edges",
    ),
    (load_buffering(values=("r0", 1)), A, f"{ORDER} a dependency orders nothing"),
    (load_buffering(values=("r0", "r1")), F, f"{ORDER} 'no out-of-thin-air values ... circularly depend'"),
    (_conditional((1, 1)), F, f"{ORDER} the recommendation, second example: r1 == r2 == 42"),
]


@pytest.mark.parametrize(("test", "expected", "source"), LB)
def test_load_buffering(test, expected, source):
    assert verdict(test, r0=1, r1=1) == expected, source


IRIW = [
    (independent_reads(), A, ORDER),
    (independent_reads("release", "acquire"), A, f"{COOKBOOK}; {RC11}"),
    (independent_reads(SC, SC), F, f"{ORDER} the single total order S"),
    (independent_reads(fence="acq_rel"), A, FENCES),
    (independent_reads(fence=SC), F, f"{RC11}: fences restore sequential consistency; {P0668}"),
    (independent_reads(SC, "acquire"), A, f"{ORDER} S orders seq_cst operations alone"),
    (independent_reads(SC, "acquire", SC), A, f"{RC11}, section 2.1, IRIW-acq-sc: C++17 forbids it, C++20 does not"),
]


@pytest.mark.parametrize(("test", "expected", "source"), IRIW)
def test_independent_reads_of_independent_writes(test, expected, source):
    assert verdict(test, r0=1, r1=0, r2=1, r3=0) == expected, source


COHERENCE = [
    ([[x.atomic.store(1)], [x.atomic.load("r0"), x.atomic.load("r1")]], {"r0": 1, "r1": 0}, "read-read coherence"),
    ([[x.atomic.store(1), x.atomic.store(2)]], {"x": 1}, "write-write coherence"),
    ([[x.atomic.store(1), x.atomic.load("r0")]], {"r0": 0}, "write-read coherence"),
    ([[x.atomic.store(1), x.atomic.load("r0")], [x.atomic.store(2)]], {"r0": 2, "x": 1}, "write-read coherence"),
    ([[x.atomic.load("r0"), x.atomic.store(1)]], {"r0": 1}, "read-write coherence"),
    ([[x.atomic.load("r0"), x.atomic.store(1)], [x.atomic.store(2)]], {"r0": 2, "x": 2}, "read-write coherence"),
    (
        [
            [x.atomic.store(1)],
            [x.atomic.store(2)],
            [x.atomic.load("r0"), x.atomic.load("r1")],
            [x.atomic.load("r2"), x.atomic.load("r3")],
        ],
        {"r0": 1, "r1": 2, "r2": 2, "r3": 1},
        "modification order is one total order",
    ),
]


@pytest.mark.parametrize(("items", "outcome", "source"), COHERENCE)
def test_coherence(items, outcome, source):
    assert verdict(litmus("coherence", items), **outcome) == F, f"{RACES} {source}"


WRITES = [
    (two_plus_two_writes(), {"x": 1, "y": 1}, A, ORDER),
    (two_plus_two_writes("release"), {"x": 1, "y": 1}, A, f"{RACES}: nothing reads, so nothing synchronises"),
    (two_plus_two_writes(SC), {"x": 1, "y": 1}, F, f"{ORDER} S agrees with the modification orders"),
    (two_plus_two_writes(fence=SC), {"x": 1, "y": 1}, F, f"{ORDER} fences order modifications"),
    (two_plus_two_writes(fence="acq_rel"), {"x": 1, "y": 1}, A, FENCES),
    (s(), {"r0": 1, "x": 2}, A, ORDER),
    (s("release"), {"r0": 1, "x": 2}, A, f"{RACES} needs an acquire"),
    (s("release", "acquire"), {"r0": 1, "x": 2}, F, f"{RACES} write-write coherence"),
    (s(SC, SC, SC), {"r0": 1, "x": 2}, F, ORDER),
    (s(fence="acq_rel"), {"r0": 1, "x": 2}, F, FENCES),
    (s("release", value="r0"), {"r0": 1, "x": 2}, A, f"{RACES}: a dependency orders nothing without consume"),
    (r(), {"r0": 0, "y": 2}, A, ORDER),
    (r("release", "acquire"), {"r0": 0, "y": 2}, A, f"{RACES}: no read synchronises"),
    (r(SC, SC), {"r0": 0, "y": 2}, F, f"{ORDER} the single total order S"),
    (r(fence=SC), {"r0": 0, "y": 2}, F, f"{ORDER} fences in S"),
    (r(SC, "acquire"), {"r0": 0, "y": 2}, A, f"{ORDER} S orders seq_cst operations alone"),
]


@pytest.mark.parametrize(("test", "outcome", "expected", "source"), WRITES)
def test_orders_of_writes(test, outcome, expected, source):
    assert verdict(test, **outcome) == expected, source


CAUSALITY = [
    (write_read_causality(), A, ORDER),
    (write_read_causality("release", "acquire"), F, f"{RACES} happens-before is transitive"),
    (write_read_causality("release", "acquire", first="relaxed"), F, f"{RACES} read-read coherence"),
    (write_read_causality("release", "acquire", middle="relaxed"), F, f"{RACES} read-read coherence"),
    (write_read_causality("relaxed", "acquire"), A, f"{RACES} needs a release"),
    (write_read_causality("release", "relaxed"), A, f"{RACES} needs an acquire"),
    (write_read_causality(SC, SC), F, ORDER),
    (isa2(), A, ORDER),
    (isa2("release", "acquire"), F, f"{RACES} happens-before is transitive"),
    (isa2("release", "acquire", "relaxed"), A, f"{RACES} the second flag does not release"),
    (isa2(SC, SC), F, ORDER),
]


@pytest.mark.parametrize(("test", "expected", "source"), CAUSALITY)
def test_causality(test, expected, source):
    assert verdict(test, r0=1, r1=1, r2=0) == expected, source


SEQ_CST = [
    (read_write_causality("release", "acquire"), A, ORDER),
    (read_write_causality(SC, SC), F, f"{ORDER} the single total order S"),
    (read_write_causality(fence=SC), F, f"{RC11}, section 2.2, RWC+syncs: C++17 allows it, C++20 does not"),
    (read_write_causality("release", "acquire", fence="acq_rel"), A, FENCES),
]


@pytest.mark.parametrize(("test", "expected", "source"), SEQ_CST)
def test_read_write_causality(test, expected, source):
    assert verdict(test, r0=1, r1=0, r2=0) == expected, source


def test_seq_cst_mixed_with_release_is_the_repaired_one():
    """Z6.U of RC11, section 2.1: C++17's S forbids it, and what compilers emit for Power and GPUs gives it (P0668)."""
    test = litmus(
        "Z6.U",
        [
            [x.atomic.store(1, SC), y.atomic.store(1, "release")],
            [y.atomic.fetch_add("b", 1, SC), y.atomic.load("c")],
            [y.atomic.store(3, SC), x.atomic.load("a", SC)],
        ],
    )
    assert verdict(test, b=1, c=3, a=0) == A


def test_the_order_of_seq_cst_agrees_with_weaker_synchronisation_in_between():
    """C++20 [atomics.order], strongly happens before: sequenced before, simply happens before, sequenced before."""
    for flag, expected in ((("release", "acquire"), F), (("relaxed", "acquire"), A)):
        test = litmus(
            "W+RWC",
            [
                [x.atomic.store(1, SC), y.atomic.store(1, flag[0])],
                [y.atomic.load("r0", flag[1]), z.atomic.load("r1", SC)],
                [z.atomic.store(1, SC), x.atomic.load("r2", SC)],
            ],
        )
        assert verdict(test, r0=1, r1=0, r2=0) == expected, f"{RC11}, psc; {P0668}"


SEQUENCES = [
    (release_sequence([y.atomic.store(2)]), 2, F, "stores of the same thread belong to it (not so since C++20, P0982)"),
    (release_sequence([], [y.atomic.fetch_add("r2", 1)]), 2, F, "updates of any thread belong to it"),
    (release_sequence([y.atomic.fetch_add("r2", 1)], [y.atomic.fetch_add("r3", 1)], 3), 3, F, "a chain of updates"),
    (release_sequence([], [y.atomic.compare_exchange("r2", 1, 2)]), 2, F, "updates of any thread belong to it"),
    (release_sequence([], [y.atomic.exchange("r2", 2)]), 2, U, "the update may come before the release"),
    (release_sequence([], [y.atomic.store(2)]), 2, U, "a store of another thread does not, and the data is plain"),
    (release_sequence([y.atomic.store(2)], [y.atomic.store(3)]), 2, U, "maximal *contiguous* sub-sequence"),
]


@pytest.mark.parametrize(("test", "flag", "expected", "source"), SEQUENCES)
def test_release_sequences(test, flag, expected, source):
    assert verdict(test, r0=flag, r1=0) == expected, f"{RACES} release sequence: {source}"


def test_a_release_fence_heads_a_hypothetical_release_sequence():
    test = litmus(
        "MP",
        [
            [x.atomic.store(1), litmus.fence(order="release", scope="device"), y.atomic.store(1)],
            [y.atomic.fetch_add("r2", 1)],
            [y.atomic.load("r0", "acquire"), x.atomic.load("r1")],
        ],
    )
    assert verdict(test, r0=2, r1=0) == F, f"{FENCES} hypothetical release sequence"


UPDATES = [
    ([x.atomic.fetch_add("r0", 1)], [x.atomic.fetch_add("r1", 1)], {"r0": 0, "r1": 0}),
    ([x.atomic.fetch_add("r0", 1)], [x.atomic.fetch_add("r1", 1)], {"x": 1}),
    ([x.atomic.exchange("r0", 1)], [x.atomic.exchange("r1", 1)], {"r0": 0, "r1": 0}),
    ([x.atomic.compare_exchange("r0", 0, 1)], [x.atomic.compare_exchange("r1", 0, 2)], {"r0": 0, "r1": 0}),
    ([x.atomic.compare_exchange("r0", 0, 1)], [x.atomic.compare_exchange("r1", 0, 2)], {"r0": 2, "x": 1}),
    ([x.atomic.fetch_add("r0", 1)], [x.atomic.store(5)], {"r0": 5, "x": 5}),
]


@pytest.mark.parametrize(("one", "other", "outcome"), UPDATES)
def test_updates_are_indivisible(one, other, outcome):
    assert verdict(litmus("RMW", [one, other]), **outcome) == F, f"{ORDER} updates read the last value"


def _locked(order):
    """Two work-items that add to a plain location if they get a lock."""

    def item(n, value):
        got, old = f"got{n}", f"old{n}"
        return [
            z.atomic.compare_exchange(got, 0, 1, order),
            x.load(old).when(**{got: 0}),
            x.store(value).when(**{got: 0}),
            z.atomic.store(0, "release" if order != "relaxed" else order).when(**{got: 0}),
        ]

    return litmus("lock", [item(0, 1), item(1, 2)])


def test_a_lock_of_compare_exchange_protects_plain_data():
    assert verdict(_locked("acquire"), got0=0, got1=0, old0=0, old1=0) == F, f"{RACES} synchronizes with"
    assert verdict(_locked("acquire"), got0=0, got1=0, old0=0, old1=1) == A
    assert verdict(_locked("relaxed"), got0=0) == U, f"{RACES} data race"


# --- Scopes and barriers ---


def _scoped(scopes, positions):
    return litmus(
        "MP",
        [
            [x.store(1), y.atomic.store(1, "release", scopes[0])],
            [y.atomic.load("r0", "acquire", scopes[1]), x.load("r1").when(r0=1)],
        ],
        positions,
    )


SCOPES = [
    (("sub_group", "sub_group"), "sub_group", F),
    (("sub_group", "sub_group"), "work_group", U),
    (("work_group", "work_group"), "work_group", F),
    (("work_group", "work_group"), "device", U),
    (("device", "device"), "device", F),
    (("device", "device"), "system", U),
    (("system", "system"), "system", F),
    (("device", "work_group"), "device", U),
    (("work_group", "device"), "device", U),
    (("device", "work_group"), "work_group", F),
    (("system", "sub_group"), "sub_group", F),
]


@pytest.mark.parametrize(("scopes", "positions", "expected"), SCOPES)
def test_scopes_must_include_each_other(scopes, positions, expected):
    assert verdict(_scoped(scopes, positions), r0=1, r1=0) == expected, f"{SCOPE}; {OPENCL}"


def test_narrow_fences_do_not_synchronise():
    both = ("relaxed", "relaxed", "acq_rel", "acq_rel")
    for scope, positions, expected in (
        ("work_group", "device", A),
        ("work_group", "work_group", F),
        ("sub_group", "work_group", A),
        ("work_item", "sub_group", A),
        ("device", "device", F),
        ("device", "system", A),
        ("system", "system", F),
    ):
        test = message_passing(*both, "system", positions, scope)
        assert verdict(test, r0=1, r1=0) == expected, SCOPE


def test_narrow_seq_cst_fences_are_in_no_common_order():
    narrow = {"fences": (SC, SC), "fence_scope": "work_group"}
    assert verdict(store_buffering(**narrow), r0=0, r1=0) == A, f"{RC11} with scopes: Lustig et al., ASPLOS 2019"
    assert verdict(store_buffering(**narrow, positions="work_group"), r0=0, r1=0) == F


def test_positions_may_be_given_one_by_one():
    together, apart = [(0, 1, 2), (0, 1, 2)], [(0, 1, 2), (0, 1, 3)]
    assert verdict(_scoped(("sub_group", "sub_group"), together), r0=1, r1=0) == F
    assert verdict(_scoped(("sub_group", "sub_group"), apart), r0=1, r1=0) == U


def test_happens_before_holds_for_all_address_spaces():
    """SYCL 2020, section 3.8.3: "a single relation governing all address spaces"; OpenCL 2.0 has two."""
    flag = litmus.location("flag", space="local")
    test = litmus(
        "MP",
        [
            [x.store(1), flag.atomic.store(1, "release", "work_group")],
            [flag.atomic.load("r0", "acquire", "work_group"), x.load("r1").when(r0=1)],
        ],
        "work_group",
    )
    assert verdict(test, r0=1, r1=0) == F


def test_a_scope_wider_than_local_memory_is_as_its_work_group():
    flag = litmus.location("flag", space="local")
    items = [
        [x.store(1), flag.atomic.store(1, "release", "system")],
        [flag.atomic.load("r0", "acquire", "work_group"), x.load("r1").when(r0=1)],
    ]
    assert verdict(litmus("MP", items, "work_group"), r0=1, r1=0) == F, SCOPE


def _barrier(*locations, positions="work_group", atomic=False, **options):
    store, load = (x.atomic.store(1), x.atomic.load("r0")) if atomic else (x.store(1), x.load("r0"))
    meet = litmus.barrier(*locations, **options)
    return litmus("barrier", [[store, meet], [meet, load]], positions)


def test_barriers():
    assert verdict(_barrier(), r0=0) == F, BARRIER
    assert verdict(_barrier(x), r0=0) == F, BARRIER
    assert verdict(_barrier(x, y), r0=0) == F, BARRIER
    assert verdict(_barrier(y), r0=0) == U, "SYCL 1.2.1, nd_item::barrier(fence_space): another memory"
    assert verdict(_barrier(y, atomic=True), r0=0) == A, "SYCL 1.2.1, nd_item::barrier(fence_space): another memory"
    assert verdict(_barrier(group="sub_group", positions="sub_group"), r0=0) == F, BARRIER
    assert verdict(_barrier(group="sub_group"), r0=0) == U, f"{BARRIER}: of another sub-group"
    assert verdict(_barrier(positions="device"), r0=0) == U, f"{BARRIER}: of another work-group"


def test_the_fences_of_a_barrier_are_fences():
    """A store after it publishes what the work-item had done before it, as far as the barrier's scope goes."""
    for scope, expected in ((None, U), ("device", F)):
        meet = litmus.barrier(scope=scope)
        items = [
            [x.store(1), meet, y.atomic.store(1)],
            [meet],
            [y.atomic.load("r0", "acquire"), x.load("r1").when(r0=1)],
        ]
        assert verdict(litmus("barrier", items, [(0, 0, 0), (0, 0, 1), (0, 1, 0)]), r0=1, r1=0) == expected, BARRIER


def test_a_barrier_does_not_release_what_others_did_before_it():
    """The release is on arrival, when the other's store need not have happened: its flag publishes only its own."""
    meet = litmus.barrier(scope="device")
    items = [[x.store(1), meet], [meet, y.atomic.store(1)], [y.atomic.load("r0", "acquire"), x.load("r1").when(r0=1)]]
    positions = [(0, 0, 0), (0, 0, 1), (0, 1, 0)]
    assert verdict(litmus("barrier", items, positions), r0=1, r1=0) == U, BARRIER
    items[1] = [meet, y.atomic.store(1, "release")]
    assert verdict(litmus("barrier", items, positions), r0=1, r1=0) == F, BARRIER


def test_the_second_barrier_of_a_work_item_meets_the_second_of_the_other():
    meet = litmus.barrier()
    test = litmus("two", [[meet, x.store(1), meet], [meet, meet, x.load("r0")]], "work_group")
    assert verdict(test, r0=0) == F
    early = litmus("two", [[meet, x.store(1), meet], [meet, x.load("r0"), meet]], "work_group")
    assert verdict(early, r0=0) == U


# --- Races ---


def test_a_race_makes_the_whole_program_undefined():
    test = litmus("MP", [[x.store(1), y.store(1)], [y.load("r0"), x.load("r1")]])
    assert test.undefined
    assert test.allowed(r0=17)
    assert not test.forbidden(r0=17)
    assert [str(race) for race in test.races] == [
        "data-race on global memory x\n  x = 1 by work-item 0\n  r1 = x by work-item 1\n"
        "  Neither is atomic, and neither happens before the other.",
        "data-race on global memory y\n  y = 1 by work-item 0\n  r0 = y by work-item 1\n"
        "  Neither is atomic, and neither happens before the other.",
    ]
    assert "races: " in str(test.races[0].witness)


def test_one_racy_execution_is_enough():
    items = [[x.store(1), y.atomic.store(1, "release")], [y.atomic.load("r0", "acquire"), x.load("r1")]]
    assert litmus("MP", items).undefined
    assert not _scoped(("device", "device"), "device").undefined


def test_mixed_and_narrow_races_are_told_apart():
    (mixed,) = litmus("x", [[x.store(1)], [x.atomic.load("r0")]]).races
    assert "One is not atomic" in str(mixed)
    (narrow,) = litmus("x", [[x.atomic.store(1, scope="work_group")], [x.atomic.load("r0")]]).races
    assert "The scope of one does not include the other's work-item" in str(narrow)
    assert not litmus("x", [[x.load("r0")], [x.load("r1")]]).undefined
    assert not litmus("x", [[x.store(1), x.load("r0")]]).undefined


# --- The collection ---


@pytest.mark.parametrize("name", known.KNOWN)
def test_the_collection_agrees_with_its_sources(name):
    example = known.known(name)
    assert example.found == example.verdict, example.source


def test_the_seeds_program_prints_these():
    printed = {(o["lx"], o["ly"]) for o in known.seed().outcomes}
    assert printed == {(0, 0), (1, 0), (1, 2), (0, 2)}
    assert {(o["lx"], o["ly"]) for o in known.seed("release_acquire").outcomes} == printed - {(0, 2)}
    assert {(o["lx"], o["ly"]) for o in known.seed("barrier").outcomes} == {(1, 2)}
    assert known.seed("plain").undefined


def test_an_unknown_name_is_refused():
    with pytest.raises(xe.KernelArgumentError, match=r"no litmus test 'mpp' \(did you mean 'mp'\?\)"):
        known.known("mpp")


# --- Texts and pictures ---


def test_a_witness_is_a_table():
    test = litmus(
        "MP",
        [
            [x.store(1), y.atomic.store(1, order="release")],
            [y.atomic.load("r0", order="acquire"), x.load("r1").when(r0=1)],
        ],
    )
    assert str(test.witness(r0=1)) == (
        "r0=1 r1=1 x=1 y=1\n"
        "   item  event                  value  rf  mo  hb\n"
        "a        x is 0 at first        0\n"
        "b        y is 0 at first        0\n"
        "c  0     x = 1                  1          a   a b\n"
        "d  0     y = 1 release/device   1          b   c\n"
        "e  1     r0 = y acquire/device  1      d       d\n"
        "f  1     r1 = x if r0 == 1      1      c       e\n"
        "synchronises: d with e\n"
        "rf: reads from, mo: overwrites, hb: happens after (the nearest events)"
    )
    assert test.witness(r0=1, r1=0) is None
    update = litmus("RMW", [[x.atomic.fetch_add("r0", 3)]]).witness()
    assert "r0 = x.fetch_add(3) relaxed/device  0 -> 3  a   a   a" in str(update)
    assert [str(outcome) for outcome in test.outcomes] == ["r0=0 r1=-", "r0=1 r1=1"]


def test_a_test_is_printed_with_its_outcomes():
    assert str(known.seed()) == (
        "seed\n"
        "  global memory x, at first 0\n"
        "  global memory y, at first 0\n"
        "  work-item 0: device 0, work-group 0, sub-group 0\n"
        "  work-item 1: device 0, work-group 1, sub-group 0\n"
        "  work-item 0          | work-item 1\n"
        "  x = 1 relaxed/device | ly = y relaxed/device\n"
        "  y = 2 relaxed/device | lx = x relaxed/device\n"
        "4 outcomes:\n"
        "  ly=0 lx=0\n"
        "  ly=0 lx=1\n"
        "  ly=2 lx=0\n"
        "  ly=2 lx=1"
    )
    assert "undefined, by a data race:\n  data-race on global memory x" in str(known.seed("plain"))
    barrier = str(litmus("b", [[x.store(1), litmus.barrier(x)], [litmus.barrier(x), x.load("r0")]], "work_group"))
    assert "work-group barrier(x) | r0 = x" in barrier


# --- What is refused ---


def _many(n):
    return [[x.atomic.load(f"r{k}") for k in range(n)]]


REFUSED = [
    (lambda: x.atomic.store(1, order="relase"), r"memory order 'relase' is none of .*\(did you mean 'release'\?\)"),
    (lambda: x.atomic.store(1, scope="group"), r"memory scope 'group' is none of .*\(did you mean 'sub_group'\?\)"),
    (lambda: x.atomic.store(1, order="acquire"), "store with order 'acquire'; SYCL allows relaxed, release, seq_cst"),
    (lambda: x.atomic.load("r", order="release"), "load with order 'release'; SYCL allows relaxed, acquire, seq_cst"),
    (lambda: x.atomic.load("r", scope="work_item"), "scope 'work_item', which SYCL leaves undefined"),
    (lambda: x.store(1.5), r"the value of a store is 1\.5; give a whole number or the name of a register"),
    (lambda: x.load(3), "a register named 3"),
    (lambda: x.load("r1").when(r0="1"), "the value of a condition is '1'; give a whole number"),
    (lambda: litmus.location("x y"), "a location named 'x y'"),
    (lambda: litmus.location("x", space="private"), "memory space 'private' is none of global, local"),
    (lambda: litmus.barrier().when(r0=1), "a barrier under a condition"),
    (lambda: litmus.barrier(group="device"), "group 'device' is none of sub_group, work_group"),
    (lambda: litmus.barrier(scope="sub_group"), "scope 'sub_group', which is narrower"),
    (lambda: litmus.barrier("x"), "a barrier of 'x', which is no location"),
    (lambda: litmus("t", [["x = 1"]]), "'x = 1' is no statement"),
    (lambda: litmus("t", []), "0 work-items; give 1 to 4"),
    (lambda: litmus("t", [[x.store(1)]] * 5), "5 work-items; give 1 to 4"),
    (lambda: litmus("t", [[litmus.fence()]]), "without a location"),
    (lambda: litmus("t", _many(32)), "33 events, .* at most 32"),
    (lambda: litmus("t", [[x.store(1)]], "devcie"), r"positions 'devcie' \(did you mean 'device'\?\)"),
    (lambda: litmus("t", [[x.store(1)]], [(0, 0, 0), (0, 0, 1)]), "2 positions for 1 work-item"),
    (lambda: litmus("t", [[x.store(1)]], [(0, 0)]), r"the position \(0, 0\); give \(device, work-group, sub-group\)"),
    (lambda: litmus("t", [[x.store(1)]], [(0, 0, -1)]), r"a work-item at \(0, 0, -1\); .* whole numbers from 0"),
    (lambda: litmus("t", [[x.store("r0")]]), "uses the register 'r0' in 'x = r0' without having loaded it"),
    (lambda: litmus("t", [[x.load("r0")], [y.store(1).when(r0=1)]]), "load it before, in the same work-item"),
    (lambda: litmus("t", [[x.load("r0")], [y.load("r0")]]), "'r0' names two things"),
    (lambda: litmus("t", [[x.store(1)], [litmus.location("x", "local").store(1)]]), "'x' names two things"),
    (
        lambda: litmus("t", [[x.load("r0"), y.load("r1").when(r0=1), x.store("r1")]]),
        r"loads it under a condition only; add \.when\(r0=1\)",
    ),
    (
        lambda: litmus("t", [[litmus.location("l", "local").store(1)], [litmus.location("l", "local").load("r0")]]),
        "local memory l is accessed by two work-groups",
    ),
    (
        lambda: litmus("t", [[x.store(1), litmus.barrier()], [x.load("r0")]], "work_group"),
        "barrier divergence: work-items 0 and 1 are of one work-group",
    ),
    (
        lambda: litmus("t", [[litmus.barrier(x)], [litmus.barrier(y)]], "work_group"),
        r"barriers \[work-group barrier\(x\)\] and \[work-group barrier\(y\)\]",
    ),
    (lambda: message_passing().allowed(r7=1), r"neither a register nor a location 'r7' .*it has r0, r1, x, y"),
    (
        lambda: litmus("t", _many(7) + [[x.atomic.store(k) for k in range(7)]] * 3).outcomes,
        "accesses x in more than 32768 candidate ways; leave out accesses",
    ),
    (
        lambda: litmus("t", [[litmus.location(c).atomic.store(n) for c in "abcde"] for n in range(4)]).outcomes,
        "has more than 1048576 candidate executions; leave out accesses",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(xe.KernelArgumentError, match=message):
        make()


# --- Laws ---


def programs(count, seed, orders, fences=True, wild=False):
    """Random small programs of atomic operations; wild ones have narrow scopes and plain accesses too."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        registers = itertools.count()
        yield [
            [_statement(random, registers, orders, fences, wild) for _ in range(random.integers(1, 4))]
            for _ in range(random.integers(2, 4))
        ]


def _statement(random, registers, orders, fences, wild):
    kind = random.choice(["load", "load", "store", "store", "fetch_add", "compare_exchange", *["fence"] * fences])
    location, value = (x, y)[random.integers(2)], int(random.integers(1, 3))
    if kind == "fence":
        return litmus.fence(order=str(random.choice(orders)), scope=str(random.choice(["work_group", "device"])))
    if wild and kind in ("load", "store") and random.random() < 0.3:
        return location.load(f"r{next(registers)}") if kind == "load" else location.store(value)
    scope = str(random.choice(["work_group", "device"])) if wild else "device"
    names = {"load": ("relaxed", "acquire", SC), "store": ("relaxed", "release", SC)}.get(kind, ORDERS)
    order = str(random.choice([name for name in names if name in orders]))
    name = f"r{next(registers)}"
    arguments = {
        "load": (name,),
        "store": (value,),
        "fetch_add": (name, value),
        "compare_exchange": (name, int(random.integers(2)), value),
    }[kind]
    return getattr(location.atomic, kind)(*arguments, order=order, scope=scope)


def every_end(test):
    """Outcomes with registers and final memory."""
    return set(test._results[0])


def interleavings(items):
    """The outcomes of all interleavings, each access in one step: the definition of sequential consistency."""
    ends = set()

    def step(counters, memory, registers):
        done = True
        for n, item in enumerate(items):
            if counters[n] < len(item):
                done = False
                statement, state, loaded = item[counters[n]], dict(memory), dict(registers)
                if statement.location is not None:
                    old = state.get(statement.location, 0)
                    if statement.register:
                        loaded[statement.register] = old
                    if statement.kind in ("store", "exchange"):
                        state[statement.location] = statement.operands[0]
                    elif statement.kind == "fetch_add":
                        state[statement.location] = old + statement.operands[0]
                    elif statement.kind == "compare_exchange" and old == statement.operands[0]:
                        state[statement.location] = statement.operands[1]
                step((*counters[:n], counters[n] + 1, *counters[n + 1 :]), state, loaded)
        if done:
            ends.add((tuple(sorted(registers.items())), tuple(sorted((k.name, v) for k, v in memory.items()))))

    step((0,) * len(items), {s.location: 0 for item in items for s in item if s.location}, {})
    return ends


def test_seq_cst_programs_have_the_outcomes_of_interleavings():
    """C++17 [atomics.order], note: "sequential consistency ... for a program that ... uses exclusively seq_cst"."""
    tried = 0
    for items in programs(150, 1, [SC], fences=False):
        test = litmus("sc", items)
        names = test.program.registers
        found = {
            (
                tuple(sorted((name, o[name]) for name in names)),
                tuple(sorted((location.name, o[location.name]) for location in test.program.locations)),
            )
            for o in every_end(test)
        }
        assert found == interleavings(items), test
        tried += 1
    assert tried == 150


def test_seq_cst_fences_everywhere_restore_interleavings():
    """RC11, section 2.2 and theorem on fences: a fence between every two accesses gives sequential consistency."""
    fence = litmus.fence(order=SC, scope="device")
    for items in programs(80, 2, ["relaxed"], fences=False):
        fenced = [[s for statement in item for s in (statement, fence)][:-1] for item in items]
        test = litmus("fenced", fenced)
        found = {tuple(sorted((n, o[n]) for n in test.program.registers)) for o in every_end(test)}
        assert found == {registers for registers, _ in interleavings(items)}, test


STRONGER = {"relaxed": ORDERS, "acquire": ("acq_rel", SC), "release": ("acq_rel", SC), "acq_rel": (SC,), SC: ()}


def strengthened(random, items):
    """The program with one operation in a stronger order or a wider scope; None if none can be."""
    n = random.integers(len(items))
    k = random.integers(len(items[n]))
    statement = items[n][k]
    names = {"load": ("relaxed", "acquire", SC), "store": ("relaxed", "release", SC)}.get(statement.kind, ORDERS)
    stronger = [order for order in STRONGER[statement.ordering.order] if order in names]
    stronger += [SC] if statement.kind in ("load", "store") and statement.ordering.order != SC else []
    if not stronger:
        return None
    ordering = type(statement.ordering)(str(random.choice(stronger)), statement.ordering.scope)
    changed = dataclasses.replace(statement, ordering=ordering)
    return [[changed if (i, j) == (n, k) else s for j, s in enumerate(item)] for i, item in enumerate(items)]


def test_a_stronger_order_only_takes_outcomes_away():
    random = np.random.default_rng(3)
    compared = 0
    for items in programs(120, 3, ORDERS):
        if not any(s.location for item in items for s in item):
            continue
        stronger = strengthened(random, items)
        if stronger is not None:
            assert every_end(litmus("s", stronger)) <= every_end(litmus("w", items)), litmus("w", items)
            compared += 1
    assert compared > 60


def test_a_fence_or_barrier_only_takes_outcomes_away():
    random = np.random.default_rng(4)
    for items in programs(60, 4, ORDERS, fences=False):
        n, k = (int(random.integers(limit)) for limit in (len(items), 2))
        order = str(random.choice(["acquire", "release", "acq_rel", SC]))
        more = [list(item) for item in items]
        more[n].insert(min(k, len(more[n])), litmus.fence(order=order, scope="device"))
        assert every_end(litmus("more", more)) <= every_end(litmus("less", items))


# --- A second implementation, as slow and as plain as can be ---


def closure(relation):
    grown = set(relation)
    while more := {(a, d) for a, b in grown for c, d in grown if b == c} - grown:
        grown |= more
    return grown


def then(*relations):
    first, *rest = relations
    for relation in rest:
        first = {(a, d) for a, b in first for c, d in relation if b == c}
    return set(first)


def naive(test):
    """All outcomes, and whether some execution races: every reads-from and order of writes, judged by sets of pairs."""
    ends, racy = set(), False
    for path in executions.paths(test.program):
        events, structure = path.events, path.structure
        everything = range(len(events))
        writers = [k for k in everything if events[k].writes]
        writes = {at: [k for k in writers if events[k].location == at] for at in test.program.locations}
        reads = [k for k in everything if events[k].reads]
        for sources in itertools.product(*([w for w in writes[events[k].location] if w != k] for k in reads)):
            rf = {(w, k) for w, k in zip(sources, reads, strict=True)}
            source = np.array([[{read: write for write, read in rf}.get(k, 0) for k in everything]])
            read, written, valid = executions._values(path, source)
            if not valid[0]:
                continue
            for orders in itertools.product(*(itertools.permutations(w) for w in writes.values())):
                mo = {pair for order in orders for pair in itertools.combinations(order, 2)}
                if any(events[order[0]].item is not None for order in orders):
                    continue
                races = naive_races(structure, len(events), rf, mo)
                if races is not None:
                    racy |= bool(races)
                    registers = tuple(
                        int(read[0, path.definitions[name]]) if name in path.definitions else None
                        for name in test.program.registers
                    )
                    ends.add((*registers, *(int(written[0, order[-1]]) for order in orders)))
    return ends, racy


def naive_races(structure, size, rf, mo):
    """The races of an execution, None if the axioms forbid it: herd's rc11.cat with C++17's release sequences."""
    ids = {(k, k) for k in range(size)}
    sb, same, incl, items = (set(getattr(structure, name).pairs()) for name in ("sb", "location", "inclusive", "item"))
    names = ("reads", "writes", "atomics", "fences", "seq_csts", "acquires", "releases")
    reads, writes, atomics, fences, sc, acquire, release = (
        {k for k in range(size) if getattr(structure, name) >> k & 1} for name in names
    )
    updates = reads & writes
    rs = set(ids)
    for a, b in mo:
        between = [c for c in range(size) if (a, c) in mo and (c, b) in mo]
        if all((a, c) in items or c in updates for c in [*between, b]):
            rs.add((a, b))
    start = {(a, b) for a, b in ids | sb if a in release and b in atomics & writes and (a == b or a in fences)}
    stop = {(a, b) for a, b in ids | sb if b in acquire and a in atomics & reads and (a == b or b in fences)}
    hb = closure(sb | (then(start, rs, rf, stop) & incl) - items | set(structure.barrier.pairs()))
    rb = {(a, c) for b, a in rf for b2, c in mo if b == b2} - ids
    eco = closure(rf | mo | rb)
    if any((b, a) in eco or a == b for a, b in hb) or any((a, a) in eco | then(rb, mo) for a in updates):
        return None
    sc_fences = sc & fences
    elsewhere = sb - same
    scb = sb | then(elsewhere, hb, elsewhere) | (hb & same) | mo | rb
    left = {(a, a) for a in sc} | {(a, b) for a, b in hb | ids if a in sc_fences}
    right = {(a, a) for a in sc} | {(a, b) for a, b in hb | ids if b in sc_fences}
    psc = then(left, scb, right) | {(a, b) for a, b in hb | then(hb, eco, hb) if a in sc_fences and b in sc_fences}
    if any(a == b for a, b in closure(psc & incl)):
        return None
    conflicts = {(a, b) for a, b in same - items if a in writes or b in writes}
    return conflicts - hb - {(b, a) for a, b in hb} - {(a, b) for a, b in incl if a in atomics and b in atomics}


@pytest.mark.thorough
def test_the_model_agrees_with_a_second_implementation():
    compared, racy = 0, 0
    for items in programs(250, 5, ORDERS, wild=True):
        if any(s.location for item in items for s in item) and sum(map(len, items)) <= 5:
            test = litmus("random", items, ("device", "work_group")[compared % 2])
            assert ({outcome.values for outcome in every_end(test)}, test.undefined) == naive(test), test
            compared, racy = compared + 1, racy + test.undefined
    assert (compared > 100) & (20 < racy < compared - 20)


def test_relations_are_an_algebra():
    random = np.random.default_rng(6)
    for _ in range(30):
        a, b = (random.random((3, 9, 9)) < 0.2 for _ in range(2))
        one, other = (Relation((bits * (1 << np.arange(9))).sum(-1).astype(np.uint32)) for bits in (a, b))
        for relation, bits in (
            (one | other, a | b),
            (one & other, a & b),
            (one - other, a & ~b),
            (one @ other, (a.astype(int) @ b.astype(int)) > 0),
            (one.inverse(), np.swapaxes(a, -1, -2)),
            (one.maybe(), a | np.eye(9, dtype=bool)),
            (one.between(0b101, 0b110), a & np.isin(np.arange(9), [0, 2])[:, None] & np.isin(np.arange(9), [1, 2])),
            (one.closure(), np.linalg.matrix_power(a.astype(float) + np.eye(9), 9) @ a > 0),
        ):
            for k in range(3):
                assert set(relation[k].pairs()) == set(zip(*map(np.ndarray.tolist, bits[k].nonzero()), strict=True))
        assert (one.irreflexive() == ~np.diagonal(a, axis1=1, axis2=2).any(-1)).all()
        assert (one.empty() == ~a.any((1, 2))).all()


def test_an_unknown_name_is_refused_of_an_undefined_program_too():
    x = litmus.location("x")
    test = litmus("race", [[x.store(1)], [x.load("r0")]])
    assert test.undefined
    with pytest.raises(xe.KernelArgumentError, match="neither a register nor a location 'r9'"):
        test.allowed(r9=1)

"""The time model: its laws, and what it says of what is not known. Its accuracy: `test_validation`."""

import dataclasses
import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from xeemu.cost import pipes
from xeemu.cost.timing import predict
from xeemu.cost.work import Wait, Work
from xeemu.devices.device import Device
from xeemu.devices.lookup import device, devices

H200 = device("h200")
RESOURCES = ["issue", "SLM", "L1", "L2", "DRAM", "atomics", "barriers", "group launch", "latency"]


# --- Laws ---

COUNTS = st.integers(0, 10**9)


SHARES = st.floats(0, 1)


def waits() -> st.SearchStrategy[Wait]:
    known = {"passes": st.integers(1, 32), "past_l1": SHARES, "past_l2": SHARES, "is_local": st.booleans()}
    return st.builds(lambda n, **known: Wait(requests=n, rounds=n / 4, **known), COUNTS, **known)


@st.composite
def phases(draw: st.DrawFn) -> tuple[dict[str, float], ...]:
    """Two phases and which share of each resource's work the first has; or none."""
    first = {resource: draw(SHARES) for resource in RESOURCES}
    second = {resource: 1 - share for resource, share in first.items()}
    return (first, second) if draw(st.booleans()) else ()


@st.composite
def works(draw: st.DrawFn) -> Work:
    groups = draw(st.integers(1, 10**5))
    loads, sends = draw(COUNTS), draw(COUNTS)
    moved = draw(st.integers(loads, 32 * loads)) * 32
    past_l1 = draw(st.integers(0, moved))
    stored = draw(st.integers(0, past_l1))
    return Work(
        groups=groups,
        sub_groups=groups * draw(st.integers(1, 32)),
        sub_group_size=draw(st.sampled_from([8, 16, 32])),
        instructions=draw(st.dictionaries(st.sampled_from(list(pipes.CLASSES)), COUNTS)),
        local_passes=draw(COUNTS),
        global_requests=loads + draw(COUNTS),
        bytes_moved=moved,
        l2_bytes=past_l1,
        store_bytes=stored,
        load_lines=draw(COUNTS),
        store_lines=draw(COUNTS),
        store_sectors=stored / 32,
        partial_store_sectors=stored / 32 * draw(st.floats(0, 1)),
        store_places=draw(st.integers(1, 10**6)),
        dram_bytes=draw(st.integers(0, past_l1)),
        dram_pages=draw(COUNTS),
        atomic_lanes=sends * draw(st.integers(1, 32)),
        atomic_sends=sends,
        atomic_contention=draw(st.integers(0, sends)),
        atomic_places=draw(st.integers(1, 10**4)),
        barriers=groups * draw(st.integers(0, 100)),
        waits=tuple(draw(st.lists(waits(), max_size=3))),
        phases=draw(phases()),
    )


RESIDENT = st.integers(1, 64)


@given(work=works(), resident=RESIDENT)
def test_every_term_of_the_h200_is_known_and_is_work_over_peak(work, resident):
    prediction = predict(work, H200, resident)
    assert [term.resource for term in prediction.terms] == RESOURCES
    assert prediction.unknown == ()
    for term in prediction.terms:
        assert term.cycles == (term.work / term.peak if term.work else 0)


@given(work=works(), resident=RESIDENT)
def test_the_time_is_between_the_largest_term_and_the_sum(work, resident):
    prediction = predict(work, H200, resident)
    cycles = [term.cycles for term in prediction.terms]
    assert max(cycles) <= prediction.cycles * (1 + 1e-12)
    assert prediction.cycles <= sum(cycles) * (1 + 1e-12)
    assert prediction.time_s == pytest.approx(prediction.cycles / H200.clock_hz)


@given(work=works(), resident=RESIDENT)
def test_the_bound_is_the_largest_term(work, resident):
    prediction = predict(work, H200, resident)
    cycles = {term.resource: term.cycles for term in prediction.terms}
    assert prediction.bound is None or cycles[prediction.bound] == max(cycles.values())


MORE = [
    "local_passes",
    "global_requests",
    "l1_passes",
    "l2_bytes",
    "load_lines",
    "store_lines",
    "store_sectors",
    "dram_bytes",
    "dram_pages",
    "atomic_sends",
    "atomic_contention",
    "barriers",
]


@given(work=works(), resident=RESIDENT, field=st.sampled_from(MORE), more=COUNTS)
def test_more_work_never_takes_less_time(work, resident, field, more):
    # What passes the L2 has passed the L1.
    assume(field != "dram_bytes" or work.l2_bytes)
    grown = dataclasses.replace(work, **{field: (getattr(work, field) or 0) + more})
    assert predict(grown, H200, resident).cycles >= predict(work, H200, resident).cycles * (1 - 1e-12)


@given(work=works(), resident=RESIDENT, name=st.sampled_from(list(pipes.CLASSES)), more=COUNTS)
def test_more_instructions_never_take_less_time(work, resident, name, more):
    grown = dataclasses.replace(work, instructions={**work.instructions, name: work.instructions.get(name, 0) + more})
    assert predict(grown, H200, resident).cycles >= predict(work, H200, resident).cycles * (1 - 1e-12)


@given(work=works(), resident=st.integers(1, 63))
def test_more_resident_groups_never_take_more_time(work, resident):
    """But for phases: of fewer waves more work-groups start together."""
    work = dataclasses.replace(work, phases=())
    assert predict(work, H200, resident + 1).cycles <= predict(work, H200, resident).cycles * (1 + 1e-12)


FASTER = [
    "slm_bytes_per_cycle",
    "l1_bytes_per_cycle",
    "l2_bytes_per_cycle",
    "dram_bytes_per_s",
    "fp32_flops_per_cycle",
    "same_address_atomics_per_cycle",
]


@given(work=works(), resident=RESIDENT, field=st.sampled_from(FASTER))
def test_a_faster_device_never_takes_more_time(work, resident, field):
    faster = dataclasses.replace(H200, **{field: 2 * getattr(H200, field)})
    assert predict(work, faster, resident).cycles <= predict(work, H200, resident).cycles * (1 + 1e-12)


@given(work=works(), resident=RESIDENT)
def test_no_branch_on_the_name_of_a_device(work, resident):
    renamed = dataclasses.replace(H200, name="mine", full_name="mine", architecture="mine", sources=())
    assert predict(work, renamed, resident) == predict(work, H200, resident)


# --- Terms by hand ---


def cycles(work: Work, of: Device = H200, resident: int | None = 1) -> dict[str, float | None]:
    return {term.resource: term.cycles for term in predict(work, of, resident).terms}


def launch(groups: int = 132, sub_groups: int = 1, **counts: object) -> Work:
    return Work(groups=groups, sub_groups=groups * sub_groups, sub_group_size=32, **counts)  # type: ignore[arg-type]


def test_a_pass_takes_a_cycle_of_its_core():
    assert cycles(launch(local_passes=132 * 1000))["SLM"] == pytest.approx(1000)
    assert cycles(launch(groups=1, local_passes=1000))["SLM"] == pytest.approx(1000)
    assert cycles(launch(groups=133, local_passes=133 * 1000))["SLM"] == pytest.approx(2000)


def test_slm_l1_and_barriers_share_a_port():
    counts = {"local_passes": 132 * 10**6, "bytes_moved": 132 * 128 * 10**6, "l2_bytes": 0}
    both = predict(launch(**counts), H200, 1)
    assert both.cycles == pytest.approx(2e6, rel=1e-3)
    assert both.bound in ("SLM", "L1")
    met = predict(launch(132 * 32, **counts, barriers=132 * 8 * 10**5), H200, 32)
    passes, arrivals = 0.8e6, 1.25 * 0.8e6
    assert met.cycles == pytest.approx(2e6 + passes + arrivals, rel=1e-2)


def test_what_no_lane_takes_part_in_has_a_pass_where_the_device_has_a_figure():
    work = launch(local_passes=132 * 1000, masked_requests=132 * 500)
    assert cycles(work)["SLM"] == pytest.approx(1500)
    assert cycles(work, dataclasses.replace(H200, slm_masked_passes=None))["SLM"] == pytest.approx(1000)


def test_requests_that_are_served_twice_have_their_passes_twice():
    counts = {"bytes_moved": 0, "l1_passes": 132 * 1000}
    once, twice = (launch(global_requests=132 * 1000, served_twice=132 * n, **counts) for n in (0, 500))
    assert cycles(twice)["L1"] == pytest.approx(1.5 * cycles(once)["L1"])


# Cycles between barriers, by the sub-groups of a work-group, for 1, 2, 4 ... work-groups on each SM of an H200.
BARRIERS = {
    1: (14.9, 14.8, 14.8, 23.3, 46.2, 62.9),
    2: (16.8, 16.8, 16.9, 32.1, 47.7, 79.2),
    4: (20.8, 20.8, 32.1, 47.7, 82.4),
    8: (28.8, 32.6, 53.6, 89.8),
    16: (44.8, 64.2, 83.6),
    32: (76.9, 116.2),
}


def test_barriers_take_what_was_measured():
    """A sub-group that arrives alone takes 2 cycles; with that for all, and no passes, the mean error is 19 %."""
    errors = []
    for sub_groups, times in BARRIERS.items():
        for k, measured in enumerate(times):
            work = launch(132 * 2**k, sub_groups, barriers=132 * 2**k * 1000)
            errors.append(abs(predict(work, H200, 2**k).cycles / 1000 / measured - 1))
    assert sum(errors) / len(errors) < 0.10


def test_what_goes_to_dram_goes_through_the_l2_at_the_same_time():
    counts = {"l2_bytes": 10**9, "dram_bytes": 10**9}
    moved = predict(launch(**counts), H200, 1)
    assert moved.bound == "DRAM"
    assert moved.cycles == pytest.approx(cycles(launch(**counts))["DRAM"])


def test_full_engines_hide_what_their_instructions_wait_for_one_another():
    """Single precision at its peak: 16 sub-groups in each engine, which issues one instruction in each cycle."""
    work = launch(132, 64, instructions={"f32": 132 * 64 * 10**6})
    assert predict(work, H200, 1).cycles == pytest.approx(16 * 10**6)
    alone = dataclasses.replace(work, sub_groups=132, instructions={"f32": 132 * 10**6})
    assert predict(alone, H200, 1).cycles == pytest.approx(4.6 * 10**6)


def test_phases_of_groups_that_start_together_add_up():
    """Local memory first and atomics then; a launch of many waves goes through both at once."""
    first = {"SLM": 1.0, "atomics": 0.0}
    second = {"SLM": 0.0, "atomics": 1.0}
    sends = 10**6
    of_groups = {"atomic_lanes": sends, "atomic_sends": sends, "atomic_contention": sends, "phases": (first, second)}

    def ratio(groups: int) -> float:
        work = launch(groups, local_passes=132 * 10**6, **of_groups)
        slm, atomics = (cycles(work)[name] for name in ("SLM", "atomics"))
        return predict(work, H200, 1).cycles / (slm + atomics)

    assert ratio(132) == pytest.approx(1)
    assert ratio(132 * 1000) == pytest.approx(2 ** (1 / 3) / 2, rel=0.05)


@pytest.mark.parametrize("resident", [1, 2, 8])
def test_of_the_groups_that_a_core_holds_each_is_in_a_phase_of_its_own(resident):
    """Local memory first and arithmetic then, in so many waves that groups start apart."""
    phases = ({"SLM": 1.0, "issue": 0.0}, {"SLM": 0.0, "issue": 1.0})
    n = 132 * 10**8
    counts = {"instructions": {"control": 4 * n}, "dependent_instructions": 0}
    work = launch(132 * 10**4, local_passes=n, phases=phases, **counts)
    slm = cycles(work)["SLM"]
    assert cycles(work)["issue"] == slm
    at_once = 2 ** (1 / 3)
    assert predict(work, H200, resident).cycles / slm == pytest.approx(at_once + (2 - at_once) / resident, rel=0.05)


def test_instructions_take_the_lanes_of_their_class():
    count = 132 * 10**6
    assert cycles(launch(instructions={"f32": count}))["issue"] == pytest.approx(count / 132 / 4)
    assert cycles(launch(instructions={"i32": count}))["issue"] == pytest.approx(count / 132 * 0.51)
    assert cycles(launch(instructions={"special": count}))["issue"] == pytest.approx(count / 132 * 2)
    assert cycles(launch(instructions={"control": count}))["issue"] == pytest.approx(count / 132 / 4)


def test_a_class_without_a_rate_is_left_out_and_named():
    """A lower bound, then: no class takes the rate of another."""
    gpu = dataclasses.replace(H200, special_lanes_per_cycle=None)
    known = launch(groups=132, instructions={"f32": 132 * 900})
    both = dataclasses.replace(known, instructions={"f32": 132 * 900, "special": 132 * 100})
    assert predict(known, gpu, 1).unknown == ()
    assert predict(both, gpu, 1).unknown == ("issue of special",)
    assert cycles(known, gpu)["issue"] == pytest.approx(900 / 4)
    assert cycles(both, gpu)["issue"] == pytest.approx(1000 / 4)


def test_classes_of_a_pipe_take_turns_and_pipes_work_side_by_side():
    one = 132 * 1000
    alone = {name: cycles(launch(instructions={name: one}))["issue"] for name in ("f32", "i32", "i32mul", "i64mul")}
    integers = launch(instructions={"i32": one, "i32mul": one, "i64mul": one})
    assert cycles(integers)["issue"] == pytest.approx(sum(alone.values()) - alone["f32"])
    assert cycles(launch(instructions={"f32": one, "i32mul": one}))["issue"] == pytest.approx(alone["i32mul"])


@pytest.mark.parametrize(
    ("name", "rate", "operations_per_s"),
    [
        ("b580", "f32", 14.426e12),
        ("b580", "f64", 0.898e12),
        ("b580", "i32mul", 4.618e12),
        ("b580", "i64mul", 0.694e12),
        ("max1100", "f32", 21.934e12),
        ("max1100", "f64", 15.929e12),
        ("max1100", "i32mul", 7.043e12),
        ("max1100", "i64mul", 1.083e12),
        ("a750", "i32mul", 4.945e12),
    ],
)
def test_multiply_adds_run_at_the_published_rates(name, rate, operations_per_s):
    """OpenCL-Benchmark's rates, and clpeak's of the A750, whose figures are those of an A770."""
    gpu = device(name)
    work = launch(gpu.xe_cores, 64, instructions={rate: 10**9})
    predicted = 10**9 * work.sub_group_size * 2 / (cycles(work, gpu)["issue"] / gpu.clock_hz)
    assert predicted == pytest.approx(operations_per_s, rel=0.2 if name == "a750" else 0.03)


def test_streams_reach_the_share_of_the_bandwidth_that_was_measured():
    gpu = device("b580")
    moved = launch(gpu.xe_cores, dram_bytes=10**9)
    assert 10**9 / (cycles(moved, gpu)["DRAM"] / gpu.clock_hz) == pytest.approx(402e9, rel=0.01)
    peak = cycles(moved, dataclasses.replace(gpu, dram_sustained=None))["DRAM"]
    assert 10**9 / (peak / gpu.clock_hz) == pytest.approx(0.9 * 456e9)


def test_atomics_on_one_address_take_turns():
    lanes = 2**22
    alone = launch(16384, 8, atomic_lanes=lanes, atomic_sends=lanes, atomic_contention=lanes)
    assert cycles(alone)["atomics"] / 1.98e9 == pytest.approx(lanes * 0.733e-9)
    floats = dataclasses.replace(alone, atomic_floats=True)
    assert cycles(floats)["atomics"] / 1.98e9 == pytest.approx(lanes * 1.756e-9)


def test_atomics_spread_over_many_addresses_do_not():
    lanes = 2**22
    spread = launch(16384, 8, atomic_lanes=lanes, atomic_sends=lanes // 8, atomic_contention=16, atomic_places=10**4)
    assert cycles(spread)["atomics"] < 1e4


def test_atomics_that_meet_in_few_slices_take_turns():
    """In one slice 8 lanes of a sector take 0.592 ns, or so many sectors in part as 118 are of 145."""
    sends = 10**6
    full = launch(16384, 8, atomic_lanes=8 * sends, atomic_sends=sends, atomic_contention=1000)
    assert cycles(full)["atomics"] / 1.98e9 == pytest.approx(sends * 8 * 0.074e-9)
    part = dataclasses.replace(full, atomic_lanes=sends)
    assert cycles(part)["atomics"] / 1.98e9 == pytest.approx(sends * 8 * 0.074e-9 * 145 / 118)
    many = dataclasses.replace(full, atomic_places=10**6)
    assert cycles(many)["atomics"] / 1.98e9 == pytest.approx(sends / 145e9, rel=1e-3)


def test_the_l2_takes_lines_and_sectors_of_stores_no_faster_than_its_slices():
    sectors = 10**7
    spread = {"l2_bytes": 32 * sectors, "store_bytes": 32 * sectors, "store_sectors": sectors, "store_places": 10**9}
    whole = cycles(launch(store_lines=sectors / 4, **spread))["L2"]
    assert whole / 1.98e9 == pytest.approx(sectors / 145e9, rel=1e-3)
    partial = cycles(launch(store_lines=sectors / 4, partial_store_sectors=sectors, **spread))["L2"]
    assert partial / 1.98e9 == pytest.approx(sectors / 118e9, rel=1e-3)
    lines = cycles(launch(store_lines=sectors, **spread))["L2"]
    assert lines / 1.98e9 == pytest.approx(sectors / 76e9)
    few = cycles(launch(store_lines=sectors / 4, **spread | {"store_places": 4}))["L2"]
    assert few / whole == pytest.approx((4 + 145 * 0.592 - 1) / 4, rel=1e-3)


def test_dram_opens_no_more_pages_than_it_can():
    sparse = launch(bytes_moved=32 * 10**6, l2_bytes=32 * 10**6, dram_bytes=64 * 10**6, dram_pages=10**6)
    assert cycles(sparse)["DRAM"] / 1.98e9 == pytest.approx(10**6 / 40e9)


def test_a_sub_group_waits_once_for_each_round_of_loads():
    def loads(rounds: int) -> Wait:
        return Wait(requests=64, rounds=rounds, is_local=True)

    assert cycles(launch(groups=1, waits=(loads(16),)))["latency"] == pytest.approx(16 * 23.4)
    serial = cycles(launch(groups=1, barriers=64, waits=(loads(64),)))["latency"]
    assert serial == pytest.approx(64 * (23.4 + 12.8 + 2.0))


def test_later_passes_of_a_load_arrive_later():
    wait = Wait(requests=10, rounds=10, passes=8)
    assert cycles(launch(groups=1, waits=(wait,)))["latency"] == pytest.approx(10 * (32 + 2 * 7))


def loaded(past_l1: float, past_l2: float) -> Work:
    return launch(groups=1, waits=(Wait(requests=1, rounds=1, past_l1=past_l1, past_l2=past_l2),))


def test_a_load_waits_for_where_its_bytes_come_from():
    def waited(past_l1: float, past_l2: float) -> float | None:
        return cycles(loaded(past_l1, past_l2))["latency"]

    assert waited(0, 0) == waited(0, 1) == pytest.approx(32)
    assert waited(1, 0) == pytest.approx(281)
    assert waited(1, 1) == pytest.approx(672)
    assert waited(0.5, 0) == pytest.approx((32 + 281) / 2)


@given(work=works(), resident=RESIDENT)
def test_what_sub_groups_wait_for_adds_up_to_the_latency(work, resident):
    prediction = predict(work, H200, resident)
    assert sum(each.cycles for each in prediction.waits) == pytest.approx(prediction.terms[-1].work)
    assert sum(each.share for each in prediction.waits) == pytest.approx(1 if prediction.waits else 0)
    shares = [each.share for each in prediction.waits]
    assert shares == sorted(shares, reverse=True)


def test_a_long_launch_does_not_overflow():
    work = launch(groups=10**6, local_passes=10**120, instructions={"f32": 10**6})
    assert math.isfinite(predict(work, H200, 1).cycles)


# --- What is not known ---


COUNT_OF_TERM = {
    "instructions": "issue",
    "local_passes": "SLM",
    "bytes_moved": "L1",
    "atomic_sends": "atomics",
    "barriers": "barriers",
}


@pytest.mark.parametrize(("field", "resource"), COUNT_OF_TERM.items(), ids=COUNT_OF_TERM)
def test_a_count_that_is_not_known_leaves_its_term_and_the_time_unknown(field, resource):
    work = launch(local_passes=1000, bytes_moved=1000, l2_bytes=1000, dram_bytes=1000, instructions={"f32": 1000})
    prediction = predict(dataclasses.replace(work, **{field: None}), H200, 1)
    term = prediction.terms[RESOURCES.index(resource)]
    assert (term.work, term.cycles, term.share) == (None, None, None)
    assert resource in prediction.unknown
    assert (prediction.cycles, prediction.time_s, prediction.bound) == (None, None, None)


@pytest.mark.parametrize(("field", "figure"), [("barriers", "barrier_arrival_cycles"), ("local_passes", "slm_banks")])
def test_a_count_of_what_the_device_has_no_figure_for_is_not_missed(field, figure):
    """Without the figure the term is left out, whatever the count."""
    others = "barrier_latency_cycles", "alu_latency_cycles", "slm_barrier_passes"
    bare = dataclasses.replace(H200, **dict.fromkeys((figure, *others)))
    work = launch(bytes_moved=1000, l2_bytes=1000, dram_bytes=1000, instructions={"f32": 1000})
    counted, missing = (predict(dataclasses.replace(work, **{field: n}), bare, 1) for n in (10, None))
    assert counted.cycles == missing.cycles > 0
    assert counted.bound == missing.bound


FIGURE_OF_TERM = {
    "vector_engines_per_core": "issue",
    "slm_bytes_per_cycle": "SLM",
    "l1_bytes_per_cycle": "L1",
    "l2_bytes_per_cycle": "L2",
    "dram_bytes_per_s": "DRAM",
    "same_address_atomics_per_cycle": "atomics",
    "barrier_arrival_cycles": "barriers",
    "group_dispatch_s": "group launch",
    "alu_latency_cycles": "latency",
}


@pytest.mark.parametrize(("figure", "resource"), FIGURE_OF_TERM.items(), ids=FIGURE_OF_TERM)
def test_a_figure_without_a_source_leaves_its_term_unknown(figure, resource):
    work = launch(
        instructions={"f32": 10**6},
        local_passes=10**6,
        global_requests=10**6,
        bytes_moved=10**8,
        l2_bytes=10**8,
        dram_bytes=10**8,
        atomic_lanes=10**6,
        atomic_sends=10**6,
        atomic_contention=10**6,
        barriers=1320,
    )
    # Of L2 and DRAM, and of issue and arithmetic, the longer counts: here it is the one whose figure goes.
    longer = {"L2": {"dram_bytes": 10**6}, "issue": {"sub_groups": 64 * work.groups}}
    work = dataclasses.replace(work, **longer.get(resource, {}))
    known = predict(work, H200, 1)
    unknown = predict(work, dataclasses.replace(H200, **{figure: None}), 1)
    assert known.unknown == ()
    assert unknown.unknown == (resource,)
    term = unknown.terms[RESOURCES.index(resource)]
    assert (term.cycles, term.share) == (None, None)
    assert 0 < unknown.cycles < known.cycles


def test_loads_from_dram_of_unknown_latency_wait_for_the_l2_at_least():
    gpu = dataclasses.replace(H200, dram_latency_cycles=None)
    near, far = loaded(1, 0), loaded(1, 1)
    assert predict(near, gpu, 1).unknown == ()
    assert predict(far, gpu, 1).unknown == ("latency of DRAM",)
    assert cycles(far, gpu)["latency"] == cycles(near, gpu)["latency"] == pytest.approx(281)


@pytest.mark.parametrize("waits", [None, (Wait(requests=1, rounds=1, past_l1=None),)])
def test_loads_that_are_not_known_leave_the_latency_and_the_time_unknown(waits):
    prediction = predict(launch(instructions={"f32": 1000}, waits=waits), H200, 1)
    assert prediction.unknown == ("latency",)
    assert prediction.cycles is None


def test_an_l2_of_unknown_size_leaves_the_dram_out_of_the_time():
    gpu = dataclasses.replace(H200, l2_bytes=None)
    work = launch(instructions={"f32": 10**6}, dram_bytes=None)
    assert predict(work, gpu, 1).unknown == ("DRAM",)
    assert predict(work, gpu, 1).cycles > 0
    assert predict(work, H200, 1).cycles is None


def test_what_a_launch_does_not_use_needs_no_figure():
    bare = dataclasses.replace(H200, slm_bytes_per_cycle=None, same_address_atomics_per_cycle=None)
    prediction = predict(launch(instructions={"f32": 1000}), bare, 1)
    assert prediction.unknown == ()
    assert prediction.terms[1].cycles == 0


def test_a_device_without_a_modelled_machine_has_no_time():
    prediction = predict(launch(instructions={"f32": 1000}, local_passes=10), device("cpu"), None)
    assert (prediction.cycles, prediction.time_s, prediction.bound) == (None, None, None)
    assert prediction.terms[0].work == 1000


def test_an_unknown_clock_leaves_the_time_unknown_and_the_cycles_known():
    prediction = predict(launch(local_passes=1000), dataclasses.replace(H200, clock_hz=None), 1)
    assert prediction.time_s is None
    assert prediction.cycles > 0


@pytest.mark.parametrize("preset", devices(), ids=lambda preset: preset.name)
def test_every_preset_answers(preset):
    work = launch(instructions={"f32": 10**6, "i32": 10**6}, local_passes=10**6)
    prediction = predict(work, preset, 4)
    assert (prediction.cycles is None) == (preset.name == "cpu")
    assert prediction.bound in (None, "issue", "SLM", "latency")


@pytest.mark.parametrize(("groups", "sub_groups"), [(0, 0), (2, 1)])
def test_a_launch_has_groups_of_sub_groups(groups, sub_groups):
    with pytest.raises(ValueError, match="a group has at least one"):
        Work(groups=groups, sub_groups=sub_groups, sub_group_size=16)


def test_an_unknown_class_of_instructions_is_refused():
    with pytest.raises(ValueError, match="no class of instructions f31; the classes are f32, f16, "):
        launch(instructions={"f31": 1})


def test_fences_wait_where_there_is_a_figure():
    """35 cycles each, one after the other, of the sub-group that executes them."""
    gpu = device("b580")
    work = launch(groups=1, instructions={"i32": 10}, bytes_moved=1, l2_bytes=1, dram_bytes=1)
    fenced = dataclasses.replace(work, instructions={"i32": 10, "fence": 4})
    latency = RESOURCES.index("latency")
    without, waiting = (predict(each, gpu, 1).terms[latency].work for each in (work, fenced))
    assert waiting == without + 4 * 35
    unknown = dataclasses.replace(gpu, fence_latency_cycles=None)
    assert predict(fenced, unknown, 1).terms[latency].work == without

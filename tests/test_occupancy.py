"""Occupancy: resident work-groups of an H200, Intel's published tables, and laws."""

import dataclasses
import math
import re

import measured
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xeemu.devices.lookup import device, devices
from xeemu.devices.occupancy import occupancy
from xeemu.errors import KernelArgumentError, KernelNotSupportedError, MemoryAllocationError, NDRangeError

GPUS = [preset for preset in devices() if preset.name != "cpu"]
KB = 1024

# --- Measured on an H200 ---


def test_resident_groups_are_those_of_the_hardware():
    table = measured.rows("occupancy.csv")
    assert len(table) == 654
    for row in table:
        use, groups = (
            (int(row["wg"]), int(row["slm_bytes"]), int(row["regs_per_thread"])),
            row["measured_blocks_per_sm"],
        )
        if int(groups):
            assert occupancy("h200", *use).groups == int(groups), row
        else:
            with pytest.raises(NDRangeError, match="Exceeded the number of registers"):
                occupancy("h200", *use)


# --- Published by Intel ---

# Work-groups of (1, rows, 128), 64 threads: rows, threads, percent of the threads that one has, percent, groups.
MAX_NOTEBOOK = [
    (1, 4, 6.25, 100, 16),
    (2, 8, 12.5, 100, 8),
    (3, 12, 18.75, 93.75, 5),
    (4, 16, 25, 100, 4),
    (5, 20, 31.25, 93.75, 3),
    (6, 24, 37.5, 75, 2),
    (7, 28, 43.75, 87.5, 2),  # printed as 44.75 and 89.5
    (8, 32, 50, 100, 2),
]


@pytest.mark.parametrize("name", ["max1100", "max1550"])
@pytest.mark.parametrize(("rows", "threads", "share", "percent", "groups"), MAX_NOTEBOOK)
def test_notebook_of_the_max_series(name, rows, threads, share, percent, groups):
    got = occupancy(name, (1, rows, 128), sub_group_size=32)
    assert (got.threads_per_group, got.groups) == (threads, groups)
    assert 100 * got.threads_per_group / 64 == share
    assert 100 * got.fraction == percent
    assert got.limiter == "threads"


# Work-groups of (1, rows, 128) at 8 lanes, 112 threads: rows, threads, percent of one, percent, groups.
XE_LP_GUIDE = [(1, 16, 14, 100, 7), (2, 32, 28.6, 86, 3), (3, 48, 42.9, 86, 2), (4, 64, 57, 57, 1)]


@pytest.mark.parametrize(("rows", "threads", "share", "percent", "groups"), XE_LP_GUIDE)
def test_guide_table_of_xe_lp(rows, threads, share, percent, groups):
    got = occupancy("iris_xe", (1, rows, 128), sub_group_size=8)
    assert (got.threads_per_group, got.groups) == (threads, groups)
    assert 100 * threads / 112 == pytest.approx(share, abs=0.5)
    assert 100 * got.fraction == pytest.approx(percent, abs=0.5)


@pytest.mark.parametrize(("name", "rows", "lanes"), [("max1550", 9, 32), ("iris_xe", 5, 8)])
def test_the_rows_after_the_tables_are_refused(name, rows, lanes):
    with pytest.raises(NDRangeError, match=f"a work-group of {128 * rows} work-items"):
        occupancy(name, (1, rows, 128), sub_group_size=lanes)


# Work-groups of 256 at 32 lanes on a P630: groups, percent of a subslice, percent of the GPU; digits are cut off.
P630_SUBSLICE = {1: "14.2", 2: "28.5", 3: "42.8", 4: "57.1", 5: "71.4", 6: "85.7", 7: "100", 8: "100"}
P630_GPU = {
    1: "4.7",
    2: "9.5",
    3: "14.2",
    4: "19",
    5: "23.8",
    6: "28.5",
    7: "33.3",
    8: "38",
    12: "57",
    16: "76",
    20: "95",
    24: "100",
}


@pytest.mark.parametrize(("cores", "table"), [(1, P630_SUBSLICE), (3, P630_GPU)])
def test_guide_table_of_gen9(cores, table):
    p630 = dataclasses.replace(device("hd530"), xe_cores=cores)
    for groups, printed in table.items():
        peak = 100 * occupancy(p630, 256, sub_group_size=32, groups=groups).peak
        digit = 0.1 if "." in printed else 1
        assert float(printed) <= peak < float(printed) + digit


# Work-groups of 1024 at 32 lanes on a Max 1100; cut off or rounded.
MAX_1100_GPU = dict(
    zip(
        [1, 2, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120],
        [0.9, 1.7, 7.1, 14, 21, 28, 35, 43, 50, 57, 64, 71, 78, 85, 92, 100, 100],
        strict=True,
    )
)


@pytest.mark.parametrize(("groups", "percent"), MAX_1100_GPU.items())
def test_guide_table_of_the_max_1100(groups, percent):
    got = occupancy("max1100", 1024, sub_group_size=32, groups=groups)
    assert 100 * got.peak == pytest.approx(percent, abs=1)
    assert got.fraction == 1


# Work-groups of 512 at 32 lanes on an Iris Xe; 20 groups are printed as 47.7.
IRIS_XE_GPU = dict(
    zip(
        [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 28, 32, 36, 40, 42, 44, 48],
        [2.4, 4.8, 7.1, 9.5, 11.9, 14.3, 16.7, 19, 28.6, 38.1, 47.6, 57.1, 66.7, 76.2, 85.7, 95.2, 100, 100, 100],
        strict=True,
    )
)


@pytest.mark.parametrize(("groups", "percent"), IRIS_XE_GPU.items())
def test_guide_table_of_vector_add_on_iris_xe(groups, percent):
    got = occupancy("iris_xe", 512, sub_group_size=32, groups=groups)
    assert 100 * got.peak == pytest.approx(percent, abs=0.06)


@pytest.mark.parametrize(("groups", "percent"), [(44, 4.8), (48, 14.3)])  # 4.8 is printed as 4.7
def test_the_last_wave_of_vector_add_on_iris_xe(groups, percent):
    got = occupancy("iris_xe", 512, sub_group_size=32, groups=groups)
    last = (got.waves - 1) * got.fraction
    assert 100 * last == pytest.approx(percent, abs=0.06)
    assert got.average == pytest.approx((1 + last) / 2)


@pytest.mark.parametrize(("lanes", "small"), [(32, 64), (16, 128)])
def test_large_grf_tops_out_at_half(lanes, small):
    assert occupancy("max1550", 512, 0, small, lanes).fraction == 1
    assert occupancy("max1550", 512, 0, small + 1, lanes).fraction == 0.5
    assert occupancy("max1550", 512, 0, 2 * small, lanes).limiter == "registers"
    with pytest.raises(KernelArgumentError, match=f"has {2 * small} 32-bit registers at most"):
        occupancy("max1550", 512, 0, 2 * small + 1, lanes)


@pytest.mark.parametrize(("lanes", "registers"), [(8, 128), (16, 64), (32, 32)])
def test_gen9_has_one_grf_mode(lanes, registers):
    got = occupancy("hd530", 56, 0, registers, lanes)
    assert got.constraints["registers"] == got.constraints["threads"]
    with pytest.raises(KernelArgumentError, match=f"has {registers} 32-bit registers at most"):
        occupancy("hd530", 56, 0, registers + 1, lanes)


@pytest.mark.parametrize(
    ("name", "asked", "rounded", "groups"),
    [
        ("max1550", 1, 1 * KB, 64),
        ("max1550", 16 * KB + 1, 24 * KB, 5),
        ("max1550", 128 * KB, 128 * KB, 1),
        ("a770", 16 * KB + 1, 32 * KB, 4),
        ("hd530", 33 * KB, 64 * KB, 1),
        ("h200", 1, 1152, 32),
        ("h200", 227 * KB, 228 * KB, 1),
    ],
)
def test_local_memory_is_rounded_up(name, asked, rounded, groups):
    got = occupancy(name, 32, asked, sub_group_size=32, barriers=False)
    assert (got.slm_bytes, got.groups) == (rounded, groups)


@pytest.mark.parametrize(("name", "barriers"), [("hd530", 32), ("iris_xe", 64), ("a770", 128), ("max1550", 64)])
def test_barrier_registers(name, barriers):
    with_, without = (occupancy(name, 8, barriers=flag) for flag in (True, False))
    assert with_.constraints["barriers"] == barriers
    assert without.constraints["work_groups"] == device(name).threads_per_core


def test_the_first_of_several_constraints_that_bind_is_the_limiter():
    got = occupancy("max1550", 512, 32 * KB)
    assert got.constraints == {"threads": 4, "slm": 4, "barriers": 64}
    assert got.limiter == "threads"


# --- What is not known ---


def test_a_device_without_threads_has_no_occupancy():
    got = occupancy("cpu", 64, 100, groups=3)
    assert (got.fraction, got.average, got.peak, got.groups, got.limiter, got.waves) == (None,) * 6
    assert got.next_step == "The threads of cpu are not known"


def test_without_a_launch_the_average_is_the_steady_state():
    got = occupancy("max1550", 384)
    assert got.fraction == got.average == got.peak == 0.9375
    assert got.waves is None


# --- Laws ---

sizes = st.integers(1, 1024)
slm = st.integers(0, 60 * KB)
gpus = st.sampled_from(GPUS)


def work_items(gpu, size):
    return min(size, gpu.max_work_group_size)


@given(gpus, sizes, slm, st.integers(1, 32), st.integers(1, 32), st.booleans())
def test_more_registers_or_local_memory_never_raise_it(gpu, size, bytes_, registers, more, barriers):
    size = work_items(gpu, size)
    here = occupancy(gpu, size, bytes_, registers, barriers=barriers)
    assert occupancy(gpu, size, bytes_ // 2, registers, barriers=barriers).fraction >= here.fraction
    assert occupancy(gpu, size, bytes_, max(1, registers - more), barriers=barriers).fraction >= here.fraction
    assert occupancy(gpu, size, bytes_, registers, barriers=False).fraction >= here.fraction


@given(gpus, sizes, slm, st.integers(1, 1024))
def test_larger_groups_are_never_more(gpu, size, bytes_, more):
    size, larger = work_items(gpu, size), work_items(gpu, size + more)
    assert occupancy(gpu, larger, bytes_).groups <= occupancy(gpu, size, bytes_).groups


@given(
    gpus,
    sizes,
    slm,
    st.sampled_from(
        ["slm_bytes_per_core", "max_work_groups_per_core", "barrier_registers_per_core", "threads_per_engine"]
    ),
    st.booleans(),
)
def test_more_of_a_resource_never_means_fewer_groups(gpu, size, bytes_, field, barriers):
    if getattr(gpu, field) is not None:
        rich = dataclasses.replace(gpu, **{field: 2 * getattr(gpu, field)})
        size = work_items(gpu, size)
        here, there = (occupancy(each, size, bytes_, barriers=barriers) for each in (gpu, rich))
        assert here.groups <= there.groups


@given(gpus, sizes, slm, st.none() | st.integers(1, 32), st.integers(1, 100_000))
def test_bounds(gpu, size, bytes_, registers, groups):
    got = occupancy(gpu, work_items(gpu, size), bytes_, registers, groups=groups)
    assert 0 <= got.average <= got.peak <= got.fraction <= 1
    assert got.groups == min(got.constraints.values()) == got.constraints[got.limiter]
    assert got.slm_bytes >= bytes_
    if got.groups:
        assert got.fraction == got.groups * got.threads_per_group / gpu.threads_per_core
        assert got.waves == groups / (gpu.xe_cores * got.groups)


@given(gpus, sizes, st.integers(1, 1000))
def test_average_is_the_work_of_all_waves_over_their_number(gpu, size, groups):
    size = work_items(gpu, size)
    got = occupancy(gpu, size, groups=groups)
    resident = gpu.xe_cores * got.groups
    shares = [min(resident, groups - start) / resident for start in range(0, groups, resident)]
    assert len(shares) == math.ceil(got.waves)
    assert got.average == pytest.approx(got.fraction * sum(shares) / len(shares))


# --- The next step ---


@given(gpus, sizes, slm, st.none() | st.integers(1, 32), st.booleans())
def test_the_next_step_does_what_it_says(gpu, size, bytes_, registers, barriers):
    use = {"local_size": work_items(gpu, size), "slm_bytes": bytes_, "registers": registers, "barriers": barriers}
    here = occupancy(gpu, **use)
    step = here.next_step
    if changed := re.match(r"(Allocate|Use|Make the work-groups) (\d+) ", step):
        name = {"Allocate": "slm_bytes", "Use": "registers", "Make the work-groups": "local_size"}[changed[1]]
        use[name] = int(changed[2])
    elif step.startswith("Do without barriers"):
        use["barriers"] = False
    else:
        assert here.fraction == 1 or step.startswith("No single change raises it")
        return
    there = occupancy(gpu, **use)
    assert there.fraction > here.fraction
    assert step.endswith(
        f": {there.groups} work-group{'' if there.groups == 1 else 's'} per Xe core, "
        f"occupancy {100 * there.fraction:.1f} %"
    )


@pytest.mark.parametrize(
    ("use", "step"),
    [
        (
            ("max1550", 256, 40_000),
            "Allocate 32768 bytes of local memory instead of 40000: 4 work-groups per Xe core, occupancy 50.0 %",
        ),
        (
            ("max1550", 1024, 0, 65),
            "Use 64 registers per work-item instead of 65: 2 work-groups per Xe core, occupancy 100.0 %",
        ),
        (
            ("hd530", 256),
            "Make the work-groups 224 work-items instead of 256: 4 work-groups per Xe core, occupancy 100.0 %",
        ),
        (("hd530", 8, 0, None, 8), "Do without barriers: 56 work-groups per Xe core, occupancy 100.0 %"),
        (("max1550", 1024), "All threads are in use"),
        (("max1550", 1024, 128 * KB, 65), "No single change raises it; what binds is registers and slm"),
        (
            ("h200", 768, 0, 80),
            "Use 40 registers per work-item instead of 80: 2 work-groups per Xe core, occupancy 75.0 %",
        ),
    ],
)
def test_next_step(use, step):
    assert occupancy(*use).next_step == step


@pytest.mark.parametrize(
    ("groups", "step"),
    [
        (1, "Launch more work-groups: these take 0.4 % of the threads of max1550"),
        (16, "Launch more work-groups: these take 6.2 % of the threads of max1550"),
        (256, "All threads are in use"),
    ],
)
def test_next_step_of_a_launch_that_does_not_fill_the_device(groups, step):
    assert occupancy("max1550", 1024, groups=groups).next_step == step


# --- Errors ---


@pytest.mark.parametrize(
    ("use", "error", "message"),
    [
        (("max1550", 1025), NDRangeError, "cannot exceed 1024 on max1550"),
        (("max1550", 0), NDRangeError, "the least is 1"),
        (("max1550", (8, 8, 8, 8)), NDRangeError, "4 dimensions"),
        (("iris_xe", 64, 64 * KB + 1), MemoryAllocationError, r"Size of SLM \(65537\) larger than available \(65536\)"),
        (("max1550", 64, 0, None, 8), KernelNotSupportedError, "the sub-group size 8"),
        (("max1500", 64), KernelArgumentError, "did you mean 'max1550'"),
        (("max1550", 64, -1), KernelArgumentError, "slm_bytes is -1; give a whole number from 0"),
        (("max1550", 64, 0, 0), KernelArgumentError, "registers is 0; give a whole number from 1"),
        (("max1550", 64, 0, 1.5), KernelArgumentError, "registers is 1.5; give a whole number from 1"),
        (("max1550", True), NDRangeError, "True is not made of integers"),
        (("max1550", 64, True), KernelArgumentError, "slm_bytes is True; give a whole number from 0"),
        (("max1550", 64, 0, True), KernelArgumentError, "registers is True; give a whole number from 1"),
        (("max1550", 64, 0, None, None, "no"), KernelArgumentError, "barriers is 'no'; give True if the kernel has"),
        (("max1550", 64, 0, None, None, None), KernelArgumentError, "barriers is None; give True"),
        (("h200", 64, 0, 256), KernelArgumentError, "has 255 32-bit registers at most"),
        (
            ("h200", 512, 0, 228),
            NDRangeError,
            "Exceeded the number of registers available on the hardware: 228 registers per work-item for 512 "
            "work-items are more than an Xe core of h200 has. Launch work-groups of at most 256 work-items, or use at "
            "most 128 registers",
        ),
        # In the large-GRF mode an Xe core has half the threads.
        (("max1550", 1024, 0, 129, 16), NDRangeError, "at most 512 work-items, or use at most 128 registers"),
    ],
)
def test_refusals(use, error, message):
    with pytest.raises(error, match=message):
        occupancy(*use)


def test_a_launch_without_work_groups_is_refused():
    with pytest.raises(KernelArgumentError, match="groups is 0; give a whole number from 1"):
        occupancy("max1550", 64, groups=0)

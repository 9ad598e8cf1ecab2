"""profile and estimate: the outputs, the report's figures, and a GPU's counters."""

import dataclasses
import json
import math

import chex
import examples
import jax
import jax.numpy as jnp
import measured
import numpy as np
import programs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu import kernels
from xeemu.commands import cli
from xeemu.knowledge import budget
from xeemu.launching import executables

SMALL = {
    "convolution_global": (1024, 33),
    "convolution_slm": (1024, 33),
    "histogram_private": (64 * 256,),
    "histogram_registers": (64 * 256,),
    "histogram_slm": (64 * 256 * 3,),
    "histogram_slm_1024": (64 * 256 * 3,),
    "tree_reduction": (600,),
    "tree_reduction_sequential": (600,),
    "matmul_tiled": (20, 40, 35),
}


def _example(name):
    example = kernels.example(name)
    size, static = SMALL.get(name, example.size), dict(example.static)
    if "iterations" in static:
        static["iterations"] = 40
    return example.kernel, example.nd_range(size), example.inputs(size), static


@pytest.mark.every(4)
@pytest.mark.parametrize("name", kernels.EXAMPLES)
def test_profile_gives_the_bits_of_launch_and_estimate_its_figures(name):
    kernel, nd_range, inputs, static = _example(name)
    outputs, report = xe.profile(kernel, nd_range)(*inputs, **static)
    if name != "reduction_racy":
        launched = xe.launch(kernel, nd_range)(*inputs, **static)
        for ours, theirs in zip(jax.tree.leaves(outputs), jax.tree.leaves(launched), strict=True):
            assert isinstance(ours, np.ndarray)
            assert (ours.dtype, ours.tobytes()) == (theirs.dtype, np.asarray(theirs).tobytes())
    shapes = [jax.ShapeDtypeStruct(np.shape(x), x.dtype) if np.ndim(x) else x for x in inputs]
    known = xe.estimate(kernel, nd_range)(*shapes, **static)
    for before, after in zip(known.sites, report.sites, strict=True):
        if after.closed_form:
            assert before == after
        else:
            assert (before.passes, before.lines, before.sectors, before.bytes_used) == (None,) * 4
            assert before.requests in (None, after.requests)
    if all(site.closed_form for site in report.sites):
        assert known.to_dict() == report.to_dict()
    assert all(isinstance(s.requests, int) and s.requests > 0 for s in report.sites)
    assert str(report).isascii()


def test_only_data_dependent_addresses_are_not_in_closed_form():
    counted = {}
    for name in ("histogram_slm", "histogram_private", "matmul_local", "table_copy_loop"):
        kernel, nd_range, inputs, static = _example(name)
        sites = xe.estimate(kernel, nd_range)(*inputs, **static).sites
        counted[name] = [(site.op, site.memory) for site in sites if not site.closed_form]
    assert counted == {
        "histogram_slm": [("atomic", "bins")],
        "histogram_private": [("load", "counts"), ("store", "counts")],
        "matmul_local": [],
        "table_copy_loop": [],
    }


def test_a_scalar_that_is_not_given_leaves_open_what_it_decides():
    kernel, nd_range, (table, size, out), _ = _example("table_copy_loop")
    shape = jax.ShapeDtypeStruct(size.shape, size.dtype)
    report = xe.estimate(kernel, nd_range)(table, shape, out)
    assert {site.memory: site.requests is None for site in report.sites if site.op == "load"}["table"]
    assert report.mark("slm") == "?"
    assert next(site for site in report.sites if site.memory == "out").requests is not None


@xe.kernel
def squares(wg, x, total):
    i = wg.global_id()
    live = x.load(i) > 0
    return total.atomic[0].add(x[i] * x[i], where=live)


@pytest.mark.thorough
def test_atomics_of_a_plain_range_that_is_not_full():
    x = np.arange(-7, 523, dtype=np.int32)
    (total), report = xe.profile(squares, xe.NDRange(x.size))(x, np.zeros(1, np.int32))
    assert total[0] == (x[x > 0] ** 2).sum()
    assert report.atomics.global_operations == report.atomics.contention == (x > 0).sum()
    (first, *_) = report.sites
    assert first.bytes_used == 4 * x.size


@xe.kernel(sub_group_size=16)
def nested(wg, out):
    def odd(out):
        def loop(k, out):
            return out.at[wg.global_id()].set(k, where=wg.local_id() < 8 + k)

        return lax.fori_loop(0, 5, loop, out)

    return lax.cond(wg.group_id() % 2 == 1, odd, lambda out: out, out)


def test_a_loop_in_a_branch_that_some_groups_take():
    _, report = xe.profile(nested, xe.NDRange(16 * 6, 16))(np.zeros(96, np.int32))
    (store,) = report.sites
    assert store.closed_form
    assert store.requests == 3 * 5
    assert store.bytes_used == 4 * 3 * (8 + 9 + 10 + 11 + 12)


@xe.kernel(sub_group_size=32)
def heavy(wg, x):
    i = wg.global_id()[:, None] * 80 + jnp.arange(80, dtype=jnp.int32)
    return x.at[i].set(-x[i])


def test_registers_beyond_the_file_are_spilled():
    """80 doubles of a work-item, in a file of 128 registers of 64 bytes: 396 are spilled by Intel's guide."""
    _, report = xe.profile(heavy, xe.NDRange(64, 32))(np.zeros(64 * 80))
    assert report.spill_bytes == report.registers - 128 * 64 // 32
    assert report.spill_bytes * 32 / 64 == pytest.approx(396, rel=0.12)
    assert report.mark("registers") == report.mark("spill_bytes") == "~"


@xe.kernel(sub_group_size=32)
def summed(wg, x, y, *, rounds):
    """80 floats of a work-item, which each round of a loop changes."""
    held = x[wg.local_id()[:, None] * 80 + jnp.arange(80, dtype=jnp.int32)]
    held = lax.fori_loop(0, rounds, lambda k, held: held * held + held[:, ::-1], held)
    return y.at[wg.global_id()].set(held.sum(-1))


def test_spilled_values_are_stored_and_loaded_in_each_execution_of_what_needs_them():
    def estimated(rounds, registers):
        device = dataclasses.replace(xe.device("h200"), max_registers_per_work_item=registers)
        shapes = jax.ShapeDtypeStruct((10240,), np.float32), jax.ShapeDtypeStruct((2**20,), np.float32)
        return xe.estimate(summed, xe.NDRange(2**20, 128), device=device)(*shapes, rounds=rounds)

    def moved(report):
        return next(term.work for term in report.terms if term.resource == "L2")

    few, more, fitting = estimated(10, 128), estimated(20, 128), estimated(10, 255)
    assert few.spill_bytes > fitting.spill_bytes == 0
    assert few.time_s > fitting.time_s
    assert moved(more) > 1.8 * moved(few)
    (hint,) = (hint for hint in few.hints if hint.kind == "spill")
    assert hint.gain > 1
    assert {wait.cause for wait in few.waits} - {wait.cause for wait in fitting.waits} == {"spill"}


def in_registers(wg, x, y, *, count):
    """Each work-item keeps so many floats."""
    held = x[wg.local_id()[:, None] * count + np.arange(count, dtype=np.int32)]
    return y.at[wg.global_id()].set(held.sum(-1)).at[wg.global_id()].set(held.max(-1))


FLOATS = np.zeros(512 * 150, np.float32), np.zeros(512, np.float32)


@pytest.mark.parametrize("entry", [xe.estimate, xe.profile])
def test_more_registers_than_an_xe_core_has_for_a_group_are_refused(entry):
    kernel = xe.kernel(in_registers)
    with pytest.raises(
        xe.NDRangeError, match=r"151 registers per work-item; for 512 .* h200 has 128 each.*\n  at .*def"
    ):
        entry(kernel, xe.NDRange(512, 512), device="h200")(*FLOATS, count=150)
    entry(kernel, xe.NDRange(512, 256), device="h200")(*FLOATS, count=150)
    entry(kernel, xe.NDRange(512, 512), device="max1550")(*FLOATS, count=150)


def test_registers_that_just_fit_are_not_refused_for_their_temporaries():
    report = xe.estimate(xe.kernel(in_registers), xe.NDRange(512, 512), device="h200")(*FLOATS, count=120)
    assert report.registers > 4 * 128
    assert report.occupancy.groups == 1


def test_a_compiler_that_knows_the_size_of_the_group_spills():
    kernel = xe.kernel(work_group_size=512)(in_registers)
    report = xe.estimate(kernel, xe.NDRange(512, 512), device="h200")(*FLOATS, count=150)
    assert report.spill_bytes == report.registers - 4 * 128 > 0
    assert report.occupancy.groups == 1


def test_a_sweep_tells_which_configurations_lack_registers():
    table = xe.tune(xe.kernel(in_registers), {"global_size": 512, "local_size": [128, 512]}, device="h200")(
        *FLOATS, count=150
    )
    assert [row.configuration["local_size"] for row in table] == [128, 512]
    assert table[0].time_s > 0
    assert table[1].time_s is None
    assert table[1].reason.startswith("nd_range: Exceeded the number of registers")


def test_time_bound_and_occupancy_are_modelled():
    kernel, nd_range, inputs, static = _example("slm_bank_16")
    _, report = xe.profile(kernel, nd_range)(*inputs, **static)
    assert report.time_s > 0
    assert report.bound in {term.resource for term in report.terms}
    assert report.occupancy.groups == 16  # of 8 KiB in 128 KiB
    assert {name: report.mark(name) for name in ("slm", "time_s", "occupancy")} == {
        "slm": "=",
        "time_s": "~",
        "occupancy": "~",
    }
    assert "bank conflict" in {hint.kind for hint in report.hints}


def test_a_device_without_figures_leaves_them_open():
    kernel, nd_range, inputs, static = _example("slm_bank_16")
    _, report = xe.profile(kernel, nd_range, device="cpu")(*inputs, **static)
    assert {site.passes for site in report.sites if site.space == "local"} == {None}
    assert report.mark("slm") == "?"


@xe.kernel(sub_group_size=32)
def triangle(wg, x):
    group, lid = wg.group_id(), wg.local_id()

    def outer(k, x):
        return lax.fori_loop(0, k, lambda j, x: x.at[(j + lid) % 100].set(1.0, where=(lid + j) % 3 == k % 3), x)

    return lax.fori_loop(0, group, outer, x)


@pytest.mark.parametrize("groups", [40, 1000])
def test_a_nest_whose_ends_depend_on_each_other_is_counted_without_going_through_it(groups):
    (store,) = xe.estimate(triangle, xe.NDRange(24 * groups, 24))(np.zeros(100, np.float32)).sites
    executions = math.comb(groups, 3)
    assert (store.requests, store.lanes) == (2 * executions, 8 * executions)
    assert store.closed_form


@xe.kernel
def too_hard(wg, x):
    group, lid = wg.group_id(), wg.local_id()

    def outer(k, x):
        return lax.fori_loop(k // 2, k + group % 4, lambda j, x: x.atomic[(k * j * 3 + lid) % 100].add(1.0), x)

    x = lax.fori_loop(0, group, outer, x)
    return x.atomic[lid].add(1.0)


@pytest.mark.thorough
def test_what_is_too_hard_is_given_up_and_leaves_the_rest_known(monkeypatch):
    spent = []
    spend = budget.spend

    def counted(units):
        spent.append(units)
        spend(units)

    monkeypatch.setattr(budget, "spend", counted)
    report = xe.estimate(too_hard, xe.NDRange(24 * 2000, 24))(np.zeros(100, np.float32))
    assert sorted((site.lanes for site in report.sites), key=str) == [24 * 2000, None]
    assert sum(spent) < 3 * budget.UNITS


def test_an_estimate_of_the_largest_launches_is_exact():
    @xe.kernel(sub_group_size=16)
    def store(wg, x):
        return x.at[wg.global_id() % 256].set(1.0)

    for size, local in ((2**62, 64), (2**63 - 64, 64), (2**63 - 1, 1), (2**63 - 1, None)):
        (site,) = xe.estimate(store, xe.NDRange(size, local))(np.zeros(256, np.float32)).sites
        assert (site.lanes, site.bytes_used) == (size, 4 * size)
        assert local is None or site.requests == size // min(local, 16)


@pytest.mark.parametrize("iterations", [2**31, 2**62, 2**63 - 1])
def test_more_executions_than_64_bits_number_are_counted(iterations):
    @xe.kernel(sub_group_size=16)
    def long(wg, ends, x):
        def store(k, x):
            return x.at[wg.local_id()].set(k, where=wg.group_id() % 4 > 0)

        return lax.fori_loop(jnp.int64(0), ends, store, x)

    (site,) = xe.estimate(long, xe.NDRange(2**60, 16))(np.int64(iterations), np.zeros(16, np.int64)).sites
    assert (site.requests, site.lanes) == (2**56 * 3 // 4 * iterations, 2**60 * 3 // 4 * iterations)


@xe.kernel
def told_by_data(wg, ends, out):
    tile, lid = wg.local(1, jnp.int32), wg.local_id()

    def step(carry):
        k, tile = carry
        return k + 1, wg.barrier(tile.at[0].set(k, where=lid == k))

    k, _ = lax.while_loop(lambda carry: carry[0] < ends[wg.group_id()], step, (jnp.int32(0), tile))
    return out.at[wg.global_id()].set(k)


def test_an_estimate_has_no_time_where_its_main_work_is_not_known():
    arguments = np.array([0, 3, 5, 1], np.int32), np.zeros(96, np.int32)
    report = xe.estimate(told_by_data, xe.NDRange(96, 24))(*arguments)
    assert (report.barriers, report.instructions, report.time_s, report.cycles, report.bound) == (None,) * 5
    assert {report.mark(name) for name in ("barriers", "time_s", "bound", "slm")} == {"?"}
    assert report.marks["barriers"] == "?"
    assert "so that the time is not either" in " ".join(str(report).split())
    _, counted = xe.profile(told_by_data, xe.NDRange(96, 24))(*arguments)
    assert (counted.barriers, counted.marks["barriers"]) == (9, "=")
    assert counted.time_s > 0
    # That there are barriers does not depend on how often they are met.
    assert report.occupancy == counted.occupancy


def test_barriers_are_known_though_a_loop_without_them_is_not():
    @xe.kernel
    def waiting(wg, ends, out):
        tile = wg.barrier(wg.local(wg.size, jnp.int32).at[wg.local_id()].set(1))
        total = lax.fori_loop(0, ends[wg.group_id()], lambda k, total: total * 3 + k, jnp.int32(0))
        return out.at[wg.global_id()].set(tile[wg.local_id()] + total)

    report = xe.estimate(waiting, xe.NDRange(96, 24))(np.zeros(4, np.int32), np.zeros(96, np.int32))
    assert (report.barriers, report.marks["barriers"]) == (4, "=")
    assert (report.instructions, report.time_s) == (None, None)


def test_what_profile_refuses():
    kernel, nd_range, inputs, static = _example("slm_bank_16")
    for sample in (0, -1, 2.5, True):
        with pytest.raises(xe.KernelArgumentError, match=r"sample is .*; give the number of work-groups"):
            xe.profile(kernel, nd_range, sample=sample)
    with pytest.raises(xe.KernelArgumentError, match="jit"):
        jax.jit(lambda x: xe.profile(kernel, nd_range)(x, **static)[0])(*inputs)


# --- The counters of an H200 ---

_ROWS = {int(row["cid"]): row for row in measured.rows("kernels_h200.csv")}
# Arbitration with global memory adds passes to those of the rule, 12 % at most.
_MOST = 1.12


def _passes(report, op):
    return sum(site.passes for site in report.sites if site.space == "local" and site.op == op)


def _sectors(report, op):
    return sum(site.sectors for site in report.sites if site.space == "global" and site.op == op)


def _of(kernel, families):
    rows = [row for row in _ROWS.values() if row["kernel"] == kernel]
    return [(row, dict(p.split("=") for p in row["params"].split(";"))) for row in rows][::families]


def _sizes(row):
    return xe.NDRange(int(row["wg"]) * int(row["grid"]), int(row["wg"]))


def test_slm_bank_takes_the_passes_that_a_gpu_counted():
    kernel, seen = kernels.example("slm_bank_16").kernel, 0
    for row, params in _of("slm_bank", 5):
        stride = int(params["stride"])
        if stride * (int(row["wg"]) - 1) >= 32 * 64:
            continue
        data = jax.ShapeDtypeStruct((_sizes(row).size,), np.int32)
        launch = xe.estimate(kernel, _sizes(row), device="h200")
        report = launch(data, stride=stride, iterations=int(params["iters"]))
        assert _passes(report, "load") <= int(row["slm_ld_wf"]) <= _MOST * _passes(report, "load")
        assert _passes(report, "store") <= int(row["slm_st_wf"]) <= _MOST * _passes(report, "store")
        assert _sectors(report, "store") == int(row["g_st_sec"])
        seen += 1
    assert seen >= 4


def test_convolution_slm_takes_what_a_gpu_counted():
    seen = 0
    for row, params in _of("conv_slm", 9):
        n, m = int(params["N"]), int(params["M"])
        arguments = [jax.ShapeDtypeStruct((length,), np.int32) for length in (n, m, n)]
        report = xe.estimate(kernels.example("convolution_slm").kernel, _sizes(row), device="h200")(*arguments)
        assert _passes(report, "load") <= int(row["slm_ld_wf"]) <= _MOST * _passes(report, "load")
        assert _passes(report, "store") <= int(row["slm_st_wf"]) <= _MOST * _passes(report, "store")
        assert (_sectors(report, "load"), _sectors(report, "store")) == (int(row["g_ld_sec"]), int(row["g_st_sec"]))
        seen += 1
    assert seen >= 2


def _splitmix64(x):
    with np.errstate(over="ignore"):
        z = x + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@pytest.mark.thorough
def test_histogram_slm_takes_the_passes_that_a_gpu_counted():
    kernel = kernels.example("histogram_slm").kernel
    rows = [(row, p) for row, p in _of("hist_slm", 1) if p["data"] == "uniform" and p["bins"] == "256"]
    row, params = rows[0]
    data = _splitmix64(np.arange(int(params["n_u64"]), dtype=np.uint64) + np.uint64(2009))
    hist = np.zeros(256, np.uint64)
    launch = xe.profile(kernel, _sizes(row), device="h200")
    out, report = launch(data, hist, block=int(params["block_size"]))
    np.testing.assert_array_equal(out, np.bincount(data.view(np.uint8), minlength=256))
    # The atomic stores and loads of the bins are plain ones there.
    local = [site for site in report.sites if site.space == "local"]
    plain = sum(site.passes for site in local if "store(0" in site.source or ".load(" in site.source)
    atomic = _passes(report, "atomic") - plain
    assert atomic <= int(row["slm_atom_wf"]) <= _MOST * atomic
    assert _sectors(report, "load") == int(row["g_ld_sec"])
    assert report.atomics.global_sectors == int(row["g_red_sec"])


# --- Random programs ---


@settings(derandomize=True, deadline=None, max_examples=examples.some(3), suppress_health_check=list(HealthCheck))
@given(st.one_of(programs.programs(), programs.programs(plain=True)))
def test_profiling_changes_no_result_and_an_estimate_no_count(program):
    kernel, sizes = programs.kernel(program), program.nd_range
    launched = xe.launch(kernel, sizes, device=programs.DEVICE)(*program.arguments)
    outputs, report = xe.profile(kernel, sizes, device=programs.DEVICE)(*program.arguments)
    chex.assert_trees_all_equal(jax.tree.map(np.asarray, launched), outputs, strict=True)
    known = xe.estimate(kernel, sizes, device=programs.DEVICE)(*program.arguments)
    for ours, theirs in zip(known.sites, report.sites, strict=True):
        if ours.closed_form:
            assert ours == theirs
        # Of addresses that are not known the requests may be.
        assert ours.requests in (None, theirs.requests)
        assert ours.lanes in (None, theirs.lanes)


# --- The command line ---


def _run(capsys, *words):
    code = cli.main(words)
    return code, *capsys.readouterr()


def test_the_command_profile_prints_the_report(capsys):
    code, out, errors = _run(capsys, "profile", "matmul_local")
    kernel, nd_range, inputs, static = _example("matmul_local")
    assert (code, errors) == (0, "")
    assert out == f"{xe.profile(kernel, nd_range)(*inputs, **static)[1]}\n"


def test_the_command_estimate_prints_json(capsys):
    code, out, _ = _run(capsys, "estimate", "slm_bank_16", "--device", "h200", "--json")
    assert code == 0
    assert json.loads(out)["slm"]["passes"] == 2 * (1024 * 1024 + 1) * 16


def test_the_command_occupancy(capsys):
    words = ("occupancy", "--local-size", "256", "--slm", "9000", "--sub-group", "32", "--device", "max1550")
    code, out, _ = _run(capsys, *words)
    assert code == 0
    assert "16384 bytes" in out  # rounded up
    assert json.loads(_run(capsys, *words, "--json")[1])["constraints"]["slm"] == 8
    code, _, errors = _run(capsys, "occupancy", "--local-size", "4096")
    assert code == 2
    assert "4096" in errors


@xe.kernel
def endless(wg, x, out):
    n, _ = lax.while_loop(lambda carry: carry[0] < 10, lambda carry: (carry[0] + carry[1][0], carry[1]), (0, x))
    return out.at[wg.global_id()].set(n)


def test_a_profile_gives_up_a_loop_that_does_not_end():
    ends, goes_on, out = np.ones(4, np.int32), np.zeros(4, np.int32), np.zeros(64, np.int32)
    profile = xe.profile(endless, xe.NDRange(64, 64))
    assert (profile(ends, out)[0] == 10).all()
    with pytest.raises(
        xe.KernelError, match="a loop has not ended after 1000000 iterations; a profile goes on no longer"
    ):
        profile(goes_on, out)


def test_a_kernel_may_draw_random_numbers():
    """Keys of jax.random have a dtype that NumPy does not know."""

    @xe.kernel
    def noise(wg, x, seed):
        u = jax.random.uniform(jax.random.fold_in(jax.random.key(seed), wg.group_id()), (8,))
        return x.at[wg.global_id()].set(x[wg.global_id()] + u)

    arguments = np.arange(16, dtype=np.float32), 3
    usual = xe.launch(noise, xe.NDRange(16, 8))(*arguments)
    outputs, report = xe.profile(noise, xe.NDRange(16, 8))(*arguments)
    np.testing.assert_array_equal(outputs, usual)
    assert report.instructions["i32"] > 0
    outputs, findings = xe.check(noise, xe.NDRange(16, 8))(*arguments)
    np.testing.assert_array_equal(outputs, usual)
    assert not findings


@pytest.mark.parametrize("look", [xe.profile, xe.check])
def test_where_nothing_is_left_to_watch_the_program_is_the_one_that_passes_have_made(look, monkeypatch):
    ready = []
    executable = executables.executable
    monkeypatch.setattr(executables, "executable", lambda prepared: ready.append(prepared) or executable(prepared))
    example = kernels.EXAMPLES["slm_bank_1"]
    look(example.kernel, example.nd_range(example.size))(
        *example.inputs(example.size), **{**example.static, "iterations": 16}
    )
    (prepared,) = ready
    assert prepared.analysed.task.program.body is not prepared.program.body

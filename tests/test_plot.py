"""Pictures: what is drawn is what the report says."""

import dataclasses
import itertools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from xeemu import plot  # noqa: E402
from xeemu.cost import figures  # noqa: E402
from xeemu.cost.sites import GlobalTotals, LocalTotals  # noqa: E402
from xeemu.devices import bankmap  # noqa: E402
from xeemu.plot import races  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def transpose(wg, a, b):
    tile = wg.local((32, 32), jnp.float32)
    x, y = wg.local_id(1), wg.local_id(0)
    i, j = wg.group_id(0) * 32, wg.group_id(1) * 32
    tile = wg.barrier(tile.at[y, x].set(a[i + y, j + x]))
    return b.at[j + y, i + x].set(2 * tile[x, y])


def transposed(device="max1550"):
    kernel = xe.kernel(sub_group_size=32 if device == "h200" else 16)(transpose)
    square = jax.ShapeDtypeStruct((64, 64), np.dtype(np.float32))
    return xe.estimate(kernel, xe.NDRange((64, 64), (32, 32)), device=device)(square, square)


def column(report):
    return next(site for site in report.sites if site.space == "local" and site.op == "load")


def test_a_bank_map_has_a_row_for_each_request_and_does_not_add_them_up():
    ax = plot.bank_map(column(transposed()))
    (image,) = ax.get_images()
    assert image.get_array().shape == (32, 16)
    assert ((image.get_array().filled(0) == 16).sum(1) == 1).all()
    assert [text.get_text() for text in ax.texts] == ["16"] * 32
    assert ax.get_title().endswith("512 passes in 32 rows of 64")
    assert ax.get_yticklabels()[0].get_text() == "0: 16 passes"
    assert ax.get_ylabel() == "request"
    assert plot.bank_map(column(transposed()), most=100).get_images()[0].get_array().shape == (64, 16)


def test_bank_maps_have_one_scale_whose_legend_calls_one_word_no_conflict():
    calm = dataclasses.replace(column(transposed()), bank_map=rows_of(4 * np.arange(16)))
    for site in (column(transposed()), calm):
        ax = plot.bank_map(site)
        image = ax.get_images()[0]
        assert [int(image.norm(words)) for words in (1, 2, 4, 5, 16, 17, 500)] == [0, 1, 2, 3, 4, 5, 5]
        legend = ax.get_legend()
        assert [text.get_text() for text in legend.get_texts()][::6] == ["1: no conflict", "none"]
        np.testing.assert_allclose(legend.get_patches()[0].get_facecolor(), image.cmap(0))


def rows_of(addresses, width=4):
    lanes = np.atleast_2d(addresses)
    return bankmap.draw(lanes, np.ones(lanes.shape, bool), xe.device("max1550"), width, "load")


def test_components_of_a_request_are_told_from_requests():
    drawn = rows_of(np.array([64 * np.arange(16), 8 * np.arange(16)]), width=8)
    ax = plot.bank_map(dataclasses.replace(column(transposed()), bank_map=drawn))
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["0, component 0: 16 passes", "0, component 1: 16 passes"] + [
        f"1, component {k}: 2 passes" for k in range(2)
    ]
    assert ax.get_ylabel() == "request, component"
    assert [line.get_ydata()[0] for line in ax.lines] == [1.5]


def test_a_tile_says_of_which_memory_and_line_it_is():
    site = column(transposed())
    before, _ = plot.tile(site, "max1550")
    said = f"load of tile, line {site.line}"
    assert before.figure.get_suptitle() == f"{said}: its elements by bank, framed those of one instruction"
    axes = pyplot.subplots(1, 2)[1]
    assert plot.tile(site, "max1550", axes=axes)[1].get_title() == f"{said}\npitch 32 + 1: 1 pass"


def test_numbers_of_a_tile_that_are_too_small_to_read_are_left_out():
    site = column(transposed())
    for inches, numbers in ((20, 32 * 33), (5.5, 16), (2, 0)):
        axes = pyplot.subplots(1, 2, figsize=(2 * inches, inches), gridspec_kw={"left": 0, "right": 1})[1]
        after = plot.tile(site, "max1550", axes=axes)[1]
        assert len(after.texts) == numbers
        assert all(text.get_fontsize() >= 4.5 for text in after.texts)


def test_a_bank_map_draws_where_it_is_told():
    _, ax = pyplot.subplots()
    assert plot.bank_map(column(transposed()), ax=ax) is ax


def test_a_tile_shows_the_banks_before_and_after_padding():
    before, after = plot.tile(column(transposed()), "max1550")
    lanes = np.arange(32)
    np.testing.assert_array_equal(before.get_images()[0].get_array(), np.tile(lanes % 16, (32, 1)))
    padded = (33 * lanes[:, None] + np.arange(33)) % 16
    np.testing.assert_array_equal(after.get_images()[0].get_array(), padded)
    assert (before.get_title(), after.get_title()) == ("pitch 32: 16 passes", "pitch 32 + 1: 1 pass")
    for ax in (before, after):
        assert [patch.get_xy() for patch in ax.patches][:16] == [(-0.5, y - 0.5) for y in range(16)]
    assert [patch.get_label() for patch in before.patches[16:] + after.patches[16:]] == ["padding"]
    assert after.patches[-1].get_bbox().extents.tolist() == [31.5, -0.5, 32.5, 31.5]


@xe.kernel(sub_group_size=16)
def strided(wg, out):
    slm = wg.local(16 * 16, jnp.int32)
    slm = wg.barrier(slm.at[wg.local_id() * 16].set(1))
    return out.at[wg.global_id()].set(slm[wg.local_id() * 16])


def test_a_memory_of_one_axis_is_a_tile_as_wide_as_its_banks():
    report = xe.estimate(strided, xe.NDRange(16, 16))(jax.ShapeDtypeStruct((16,), np.dtype(np.int32)))
    before, after = plot.tile(column(report), "max1550")
    assert before.get_images()[0].get_array().shape == (16, 16)
    assert (before.get_title(), after.get_title()) == ("pitch 16: 16 passes", "pitch 16 + 1: 1 pass")
    wide = plot.tile(column(report), "max1550", pitch=64)[0]
    assert wide.get_images()[0].get_array().shape == (4, 64)


def test_what_has_no_bank_map_is_refused():
    report = transposed()
    store = next(site for site in report.sites if site.space == "global")
    for draw in (plot.bank_map, lambda site: plot.tile(site, "max1550")):
        with pytest.raises(xe.KernelArgumentError, match=r"(?s)in global memory, has no banks.*give a site of local"):
            draw(store)
    with pytest.raises(xe.KernelArgumentError, match="no execution of it is known before a run"):
        plot.bank_map(dataclasses.replace(column(report), bank_map=None))
    with pytest.raises(xe.KernelArgumentError, match=r"request=64.*give a number from 0 to 63"):
        plot.tile(column(report), "max1550", request=64)
    with pytest.raises(xe.KernelArgumentError, match="padding=-1"):
        plot.tile(column(report), "max1550", padding=-1)


def test_occupancy_is_drawn_in_the_steps_of_the_calculator():
    ax = plot.occupancy("max1550", 256, slm_bytes=20000)
    line, mark = ax.lines
    for kib, percent in zip(*line.get_data(), strict=True):
        assert percent == 100 * xe.occupancy("max1550", 256, int(1024 * kib)).fraction
    here = xe.occupancy("max1550", 256, 20000)
    assert mark.get_data()[1] == [100 * here.fraction]
    assert ax.texts[0].get_text() == f"{here.groups} groups, limited by slm"
    for kib in (0, 60, 128):
        ax = plot.occupancy("max1550", 1024, slm_bytes=kib * 1024)
        ax.figure.canvas.draw()
        said, inside = ax.texts[0].get_window_extent(), ax.get_window_extent()
        assert (inside.x0 <= said.x0, said.x1 <= inside.x1, said.y1 <= inside.y1) == (True,) * 3
    assert ax.texts[0].get_text() == "1 group, limited by slm"
    with pytest.raises(xe.Error, match="the occupancy of cpu is not known"):
        plot.occupancy("cpu", 256)


def marks(ax):
    return {line.get_label(): line for line in ax.lines if len(line.get_xdata()) == 1}


def test_marks_are_under_their_roofs_and_at_the_operations_per_byte_of_the_report():
    report = transposed("h200")
    ax = plot.roofline(report)
    drawn = marks(ax)
    assert list(drawn) == ["SLM", "L1", "L2"]
    arithmetic = ("f32", "i32", "special")
    operations = 32 * sum(report.instructions.get(name, 0) for name in arithmetic)
    for name, bytes_ in (("SLM", report.slm.passes * 128), ("L1", report.global_.bytes_moved)):
        assert drawn[name].get_xdata()[0] == pytest.approx(operations / bytes_)
    roofs = {line.get_color(): line for line in ax.lines if len(line.get_xdata()) > 1}
    assert len(roofs) == 4
    for mark in drawn.values():
        (x,), (y,) = mark.get_data()
        assert y == pytest.approx(operations / report.time_s)
        assert y <= np.interp(x, *roofs[mark.get_color()].get_data())
    told = [text.get_text().split(" at ")[0] for text in ax.get_legend().get_texts()]
    assert told[3] == "DRAM: nothing"


def test_roofs_are_the_rates_of_the_report():
    for report, sustained in (transposed("a770"), 0.75), (transposed("h200"), 0.9):
        device = xe.device(report.device)
        roofs = [line for line in plot.roofline(report).lines if len(line.get_xdata()) > 1]
        slopes = [line.get_ydata()[0] / line.get_xdata()[0] / device.clock_hz for line in roofs]
        cycles = {term.resource: term.cycles for term in report.terms}
        work = {"SLM": device.slm_banks * device.slm_bank_bytes * report.slm.passes}
        work |= dict.fromkeys(("L1", "L2"), report.global_.bytes_moved)
        assert slopes[:3] == [pytest.approx(work[name] / cycles[name]) for name in ("SLM", "L1", "L2")]
        assert slopes[3] == pytest.approx(sustained * device.dram_bytes_per_s / device.clock_hz)


def test_marks_at_one_place_are_drawn_one_around_the_other():
    drawn = marks(plot.roofline(transposed("h200")))
    assert drawn["L1"].get_xdata()[0] == pytest.approx(drawn["L2"].get_xdata()[0])
    sizes = {name: mark.get_markersize() for name, mark in drawn.items()}
    assert sizes["SLM"] == sizes["L1"] < sizes["L2"]


def test_a_roofline_shows_the_launch_before_a_change_too():
    report = transposed("h200")
    slower = dataclasses.replace(report, time_s=2 * report.time_s, bound="latency")
    ax = plot.roofline(report, before=slower)
    drawn = marks(ax)
    assert list(drawn) == ["SLM", "L1", "L2", "SLM before", "L1 before", "L2 before"]
    for name in ("SLM", "L1", "L2"):
        now, then = drawn[name].get_data(), drawn[f"{name} before"].get_data()
        assert (now[0][0], now[1][0]) == pytest.approx((then[0][0], 2 * then[1][0]))
    assert ax.get_title() == f"transpose on h200: bound by {report.bound}, before by latency; 2 times as fast"
    assert len(ax.texts) == 3
    with pytest.raises(xe.KernelArgumentError, match=r"a report of a770, the other one of h200; both stand under"):
        plot.roofline(report, before=transposed("a770"))
    with pytest.raises(xe.KernelArgumentError, match=r"in before= a report, .*, but got a list"):
        plot.roofline(report, before=[])


def test_what_is_not_known_is_left_out_of_a_roofline_and_named():
    bare = dataclasses.replace(xe.device("a770"), l2_bytes_per_cycle=None, fp32_flops_per_cycle=None)
    names = [text.get_text() for text in plot.roofline(transposed(bare), bare).get_legend().get_texts()]
    assert [name for name in names if name.endswith("?")] == ["arithmetic: ?", "L2: ?"]
    with pytest.raises(xe.Error, match="the time of transpose on cpu is not known"):
        plot.roofline(transposed("cpu"))
    with pytest.raises(xe.Error, match="the arithmetic of transpose is 0"):
        plot.roofline(dataclasses.replace(transposed("h200"), instructions={"memory": 3}))


def test_a_line_of_source_in_a_box_is_broken_between_words():
    source = "exchanged_tile = exchanged_tile.at[wg.local_id(), 0].set(elements[wg.global_id()])"
    lines = races._code(source)
    assert 1 < len(lines) <= 4
    assert max(map(len, lines)) <= 30
    assert re.findall(r"\w+", "\n".join(lines)) == re.findall(r"\w+", source)


@xe.kernel
def mirror(wg, x, *, other):
    tile, elsewhere = wg.local(wg.size, jnp.int32), wg.local(1, jnp.int32)
    i, lid = wg.global_id(), wg.local_id()
    elsewhere = wg.barrier(elsewhere.at[0].set(1, where=lid == 0))
    tile = tile.at[lid].set(x[i])
    elsewhere = wg.barrier(elsewhere) if other else elsewhere
    return x.at[i].set(tile[wg.size - 1 - lid] * elsewhere[0])


@xe.kernel
def everywhere(wg, x):
    return x.at[0].set(wg.global_id())


def raced(kernel, **static):
    found = xe.check(kernel, xe.NDRange(128, 64), device="max1550")(np.zeros(128, np.int32), **static)[1]
    return next(finding for finding in found if finding.uses)


def test_a_race_shows_who_met_whom_at_which_element_and_after_which_barrier():
    finding = raced(mirror, other=False)
    assert (finding.uses, finding.epochs) == (("store", "load"), (1, 1))
    ax = plot.race(finding)
    assert ax.get_title() == f"data-race on local memory tile[{finding.address[0]}]"
    texts = [text.get_text() for text in ax.texts]
    for item, what, site in zip(finding.work_items, finding.uses, finding.sites, strict=True):
        assert f"work-item {item.global_id[0]}\nlocal {item.local_id[0]}, sub-group {item.sub_group}" in texts
        assert any(text.startswith(f"{what}, test_plot.py:{site.line}\n") for text in texts)
    assert [patch.get_label() for patch in ax.patches] == ["work-group 0"]
    barriers = {line.get_label(): line.get_linestyle() for line in ax.lines if line.get_label()[0] != "_"}
    assert barriers == {"barrier 1": "-"}


def test_a_barrier_of_other_memories_stands_dashed_between_the_two():
    finding = raced(mirror, other=True)
    assert (finding.kind, finding.epochs) == ("wrong-fence", (1, 2))
    ax = plot.race(finding)
    passed, between = (line for line in ax.lines if line.get_label()[0] != "_")
    assert (between.get_label(), between.get_linestyle()) == ("barrier 2 of other memories than tile", "--")
    first, second = (text.get_position()[1] for text in ax.texts if "test_plot.py" in text.get_text())
    assert passed.get_ydata()[0] > first > between.get_ydata()[0] > second


def test_work_groups_that_race_have_frames_of_their_own_and_no_barriers():
    finding = raced(everywhere)
    assert (finding.uses, finding.epochs) == (("store", "store"), None)
    ax = plot.race(finding)
    assert len({patch.get_label() for patch in ax.patches}) == 2
    assert [line for line in ax.lines if line.get_label()[0] != "_"] == []
    assert "Nothing orders the two work-groups." in [text.get_text() for text in ax.texts]


def test_a_finding_of_another_kind_is_no_race():
    beyond = xe.check(xe.kernel(lambda wg, x: x.at[wg.global_id() + 1].set(0)), xe.NDRange(8, 8))(np.zeros(8))[1]
    with pytest.raises(xe.KernelArgumentError, match=r"conflict, but got a finding of kind out-of-bounds; give"):
        plot.race(beyond[0])


def table(times, **parts):
    """A table with a row for each time (or reason) and the choices of the parts, the last part fastest."""
    made = []
    for choices, time in zip(itertools.product(*parts.values()), times, strict=True):
        given = dict(zip(parts, choices, strict=True))
        figures = {"reason": time} if isinstance(time, str) else {"time_s": time}
        made.append(xe.Row({"device": xe.device("a770"), "global_size": 64, **given}, **figures))
    return xe.Table("k", made)


def test_a_sweep_of_one_part_is_a_curve_with_the_unknown_shaded():
    swept = table([3e-6, 2e-6, None, "no", 5e-6], pitch=[16, 17, 18, 100, 20])
    ax = plot.sweep(swept)
    curve, best = ax.lines
    np.testing.assert_allclose(curve.get_ydata(), [3, 2, np.nan, 5, np.nan])
    assert curve.get_linestyle() == "-"
    assert best.get_xdata() == [1]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["16", "17", "18", "20", "100"]
    shaded = {patch.get_x() + 0.5: patch.get_hatch() for patch in ax.patches}
    assert shaded == {2: None, 4: "////"}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["best", "not known", "invalid"]
    assert (ax.get_title(), ax.get_ylabel()) == ("k: time by pitch", "time (us)")


def test_a_sweep_of_two_parts_is_a_map_whose_best_is_framed():
    swept = table([4e-6, None, "no", 1e-6, 2e-6, 3e-6], local_size=[(8, 8), (16, 16)], block=[1, 2, 4])
    ax = plot.sweep(swept)
    times = ax.get_images()[0].get_array()
    assert times.shape == (3, 2)
    assert times.filled(0).tolist() == [[4e-6, 1e-6], [0, 2e-6], [0, 3e-6]]
    assert {text.get_position(): text.get_text() for text in ax.texts}[0, 1] == "?"
    places = {patch.get_xy(): patch.get_label() or patch.get_hatch() for patch in ax.patches}
    assert places == {(-0.5, 0.5): None, (-0.5, 1.5): "////", (0.5, -0.5): "best"}
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("local_size", "block")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["8x8", "16x16"]


def test_what_is_not_drawn_of_a_sweep_is_at_its_best_and_may_be_better():
    swept = table([4e-6, 3e-6, 1e-6, None], pitch=[16, 17], block=[1, 2])
    ax = plot.sweep(swept, "pitch")
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [3, 1])
    assert [text.get_text() for text in ax.texts] == ["3.00", "1.00?"]
    assert ax.get_title() == "k: time by pitch, least over block"
    assert plot.sweep(swept, y="pitch").get_xlabel() == "block"
    with pytest.raises(xe.KernelArgumentError, match=r"'ptch' does not vary .*did you mean 'pitch'.*pitch, block"):
        plot.sweep(swept, "ptch")
    with pytest.raises(xe.KernelArgumentError, match="in the table of k nothing does"):
        plot.sweep(table([1.0], pitch=[16]))


def test_devices_of_a_sweep_are_not_joined_by_a_line():
    swept = table([2e-6, 1e-6], device=[xe.device("max1550"), xe.device("a770")])
    ax = plot.sweep(swept)
    assert ax.lines[0].get_linestyle() == "None"
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a770", "max1550"]


@xe.kernel(sub_group_size=16)
def edged(wg, x):
    lid = wg.local_id()
    value = x.load(lid, where=(lid == 0) | (lid == 47), other=0)
    return x.at[wg.global_id()].set(value + 1)


def test_activity_has_a_row_for_each_line_and_grey_for_sub_groups_that_leave_it_out():
    ax = plot.activity(xe.inspect(edged, xe.NDRange(64, 64), device="max1550")(np.zeros(64, np.int32)))
    shares = ax.get_images()[0].get_array()
    assert shares.shape == (3, 64)
    wanted = np.ma.masked_invalid(np.where(np.arange(64) // 16 % 2 == 0, 0.0, np.nan))
    wanted[[0, 47]] = 1
    np.testing.assert_array_equal(shares[1].filled(-1), wanted.filled(-1))
    assert (shares[[0, 2]] == 1).all()
    assert ax.get_yticklabels()[1].get_text().startswith("value = x.load(lid, where=(lid == 0)")
    assert [line.get_xdata()[0] for line in ax.lines if line.get_color() == "black"] == [15.5, 31.5, 47.5]
    (right,) = (child for child in ax.child_axes if child.get_yticklabels())
    assert [label.get_text() for label in right.get_yticklabels()] == ["100% of 4", "6% of 2", "100% of 4"]


def test_a_memory_chart_shows_the_bytes_between_the_memories():
    report = transposed()
    ax = plot.memory_chart(report)
    texts = [text.get_text() for text in ax.texts]
    assert [text for text in texts if text in ("SLM", "work-items", "L1", "L2", "DRAM")] == [
        "work-items",
        "SLM",
        "L1",
        "L2",
        "DRAM",
    ]
    widths = {line.get_label(): (line.get_linewidth(), line.get_linestyle()) for line in ax.lines}
    assert widths["SLM"] == widths["L1"] == (24, "-")
    assert widths["DRAM"][1] == ":"
    assert {"32 KiB =", f"{report.slm.passes} passes", "100% used", "nothing"} <= set(texts)
    nothing = GlobalTotals(requests=0, lines=0, sectors=0, bytes_used=0, bytes_moved=0)
    none = LocalTotals(requests=0, passes=0, ideal_passes=0, bytes=0)
    idle = dataclasses.replace(report, slm=none, slm_bytes=0, global_=nothing, terms=())
    with pytest.raises(xe.KernelArgumentError, match=r"plot.memory_chart: transpose moves no bytes"):
        plot.memory_chart(idle)


def test_latency_has_a_bar_for_each_line_that_is_waited_for():
    report = transposed("a770")
    ax = plot.latency(report)
    np.testing.assert_allclose([bar.get_width() for bar in ax.patches], [wait.share for wait in report.waits])
    labels = [label.get_text() for label in ax.get_yticklabels()]
    first = report.waits[0].site
    assert labels[0].endswith(f"  {first.line}: {first.op} {first.memory}")
    assert {"arithmetic", "barriers"} <= set(labels)
    assert ax.texts[0].get_text().endswith(f" x {figures.number(report.waits[0].cycles_each)} cycles")
    unknown = dataclasses.replace(report.waits[0], cycles_each=None, share=None)
    (hatched,) = plot.latency(dataclasses.replace(report, waits=(unknown,))).patches
    assert hatched.get_hatch()
    with pytest.raises(xe.KernelArgumentError, match=r"what transpose waits for on a770 is not known, or it does not"):
        plot.latency(dataclasses.replace(report, waits=()))


X, Y = xe.litmus.location("x"), xe.litmus.location("y")


def passed(store_order="release", load_order="acquire"):
    writer = [X.atomic.store(1), Y.atomic.store(1, order=store_order)]
    reader = [Y.atomic.load("r0", order=load_order), X.atomic.load("r1")]
    return xe.litmus("MP", [writer, reader], positions="device")


def test_an_execution_has_a_box_for_each_event_and_the_relations_between_them():
    ax = plot.execution(passed().witness(r0=1, r1=1))
    assert [text.get_text() for text in ax.texts if text.get_text()][2:] == [
        "c: x = 1 relaxed/device",
        "d: y = 1 release/device",
        "e: r0 = y acquire/device (1)",
        "f: r1 = x relaxed/device (1)",
    ]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "po: program order",
        "rf: read by",
        "mo: overwritten by",
        "sw: synchronises with",
    ]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["work-item 0", "work-item 1"]
    _, mine = pyplot.subplots()
    racy = xe.litmus("plain", [[X.store(1)], [X.load("r0")]], positions="device").races[0]
    assert plot.execution(racy.witness, ax=mine) is mine
    assert mine.get_legend().get_texts()[-1].get_text() == "race"


def test_arrows_of_an_execution_end_at_the_edges_of_boxes():
    ax = plot.execution(passed().witness(r0=1, r1=1))
    ax.figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts if text.get_text()]
    arrows = [text.arrow_patch for text in ax.texts if not text.get_text()]
    assert len(arrows) == 2 + 2 + 2 + 1
    for arrow in arrows:
        line = arrow.get_path().transformed(arrow.get_transform())
        for point in (line.vertices[0], line.vertices[2]):
            assert min(abs(distance(box, point)) for box in boxes) < 8
            assert all(distance(box, point) > -2 for box in boxes)


def distance(box, point):
    """Of a point from the edge of a box, in dots; negative inside."""
    outside = np.maximum([box.x0 - point[0], box.y0 - point[1]], [point[0] - box.x1, point[1] - box.y1])
    return float(np.hypot(*np.maximum(outside, 0)) if outside.max() > 0 else outside.max())


@pytest.mark.parametrize("given", [None, [], xe.NDRange(4, 4)])
def test_what_cannot_be_drawn_is_told_by_a_sentence(given):
    name = "None" if given is None else f"a {type(given).__name__}"
    for draw, wanted in (
        (plot.bank_map, "plot.bank_map draws a site of local memory, from report.sites of a profile"),
        (lambda given: plot.tile(given, "max1550"), "plot.tile draws a site of local memory"),
        (plot.roofline, "plot.roofline draws a report, as xe.profile and xe.estimate give it"),
        (plot.activity, "plot.activity draws an inspection, as xe.inspect gives it"),
        (plot.memory_chart, "plot.memory_chart draws a report"),
        (plot.latency, "plot.latency draws a report"),
        (plot.sweep, "plot.sweep draws a table, as xe.tune gives it"),
        (plot.race, "plot.race draws a finding of a check, such as"),
        (plot.execution, "plot.execution draws an execution, as test.witness"),
    ):
        with pytest.raises(xe.KernelArgumentError, match=f"^{wanted}.*, but got {name}$"):
            draw(given)
    with pytest.raises(xe.KernelArgumentError, match=r"^there is no device "):
        plot.occupancy(given, 64)
    with pytest.raises(xe.KernelArgumentError, match=r"^there is no device None"):
        plot.tile(column(transposed()), None)
    with pytest.raises(xe.KernelArgumentError, match=r"plot.bank_map\(most=0\): give a whole number from 1"):
        plot.bank_map(column(transposed()), most=0)

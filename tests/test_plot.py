"""Pictures: what is drawn is what the report says."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from xeemu import plot  # noqa: E402


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
    assert ax.get_title().endswith("512 passes in these requests of 64")
    assert ax.get_yticklabels()[0].get_text() == "0: 16 passes"
    assert plot.bank_map(column(transposed()), most=100).get_images()[0].get_array().shape == (64, 16)


def test_bank_maps_have_one_scale_and_say_what_it_is():
    ax = plot.bank_map(column(transposed()))
    image = ax.get_images()[0]
    assert (image.norm.vmin, image.norm.vmax) == (1, 32)
    assert image.colorbar.ax.get_ylabel() == "words that a bank serves, one in a pass"


def test_a_tile_says_of_which_memory_and_line_it_is():
    site = column(transposed())
    before, _ = plot.tile(site, "max1550")
    assert before.figure.get_suptitle() == f"load of tile, line {site.line}: its elements by bank"


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
        assert [patch.get_xy() for patch in ax.patches] == [(-0.5, y - 0.5) for y in range(16)]


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
    assert ax.texts[0].get_text() == f" {here.groups} groups, limited by slm"
    with pytest.raises(xe.Error, match="the occupancy of cpu is not known"):
        plot.occupancy("cpu", 256)


def test_dots_are_under_their_roofs_and_at_the_operations_per_byte_of_the_report():
    report = transposed("h200")
    ax = plot.roofline(report)
    roofs, dots = ax.lines[0::2], ax.lines[1::2]
    assert [dot.get_label().split(":")[0] for dot in dots] == ["SLM", "L1", "L2"]
    arithmetic = ("f32", "i32", "special")
    operations = 32 * sum(report.instructions.get(name, 0) for name in arithmetic)
    moved = [report.slm.passes * 128, report.global_.bytes_moved]
    for dot, bytes_ in zip(dots, moved, strict=False):
        assert dot.get_xdata()[0] == pytest.approx(operations / bytes_)
    for roof, dot in zip(roofs, dots, strict=True):
        (x,), (y,) = dot.get_data()
        assert y == pytest.approx(operations / report.time_s)
        assert y <= np.interp(x, *roof.get_data())


def test_what_is_not_known_is_left_out_of_a_roofline_and_named():
    bare = dataclasses.replace(xe.device("h200"), l2_bytes_per_cycle=None, fp32_flops_per_cycle=None)
    names = [text.get_text() for text in plot.roofline(transposed("h200"), bare).get_legend().get_texts()]
    assert [name for name in names if name.endswith("?")] == ["arithmetic: ?", "L2: ?"]
    with pytest.raises(xe.Error, match="the time of transpose on cpu is not known"):
        plot.roofline(transposed("cpu"))
    with pytest.raises(xe.Error, match="the arithmetic of transpose is 0"):
        plot.roofline(dataclasses.replace(transposed("h200"), instructions={"memory": 3}))


@pytest.mark.parametrize("given", [None, [], xe.NDRange(4, 4)])
def test_what_cannot_be_drawn_is_told_by_a_sentence(given):
    name = "None" if given is None else f"a {type(given).__name__}"
    for draw, wanted in (
        (plot.bank_map, "plot.bank_map draws a site of local memory, from report.sites of a profile"),
        (lambda given: plot.tile(given, "max1550"), "plot.tile draws a site of local memory"),
        (plot.roofline, "plot.roofline draws a report, as xe.profile and xe.estimate give it"),
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

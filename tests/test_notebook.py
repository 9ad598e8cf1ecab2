"""What a notebook shows of each value that a user gets: tables in a style of their own, or text without Jinja."""

import linecache
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.pages import notebook, rendering
from xeemu.pages.listing import ListingFigure
from xeemu.pages.notebook import Columns

NUMBERS = jax.ShapeDtypeStruct((64,), np.float32)
SIZES = xe.NDRange(64, 32)


@xe.kernel
def reverse(wg, a, out, *, name="<&>"):
    lid = wg.local_id()
    tile = wg.local(wg.size, jnp.float32)
    tile = tile.at[lid].set(a[wg.global_id()])
    return out.at[wg.global_id()].set(tile[wg.size - 1 - lid])


def litmus(*others):
    x = xe.litmus.location("x")
    return xe.litmus("<SB>", [[x.atomic.store(1)], [x.atomic.load("r0"), *others]])


def findings():
    return xe.check(reverse, SIZES)(np.ones(64, np.float32), np.zeros(64, np.float32))[1]


def sweep():
    space = {"global_size": 64, "local_size": [32, 64, 4096], "name": ["<this>", "<that>"]}
    return xe.tune(reverse, space)(NUMBERS, NUMBERS)


def costs(items):
    sizes = jax.ShapeDtypeStruct((items,), np.float32)
    return xe.estimate(reverse, xe.NDRange(items, 32))(sizes, sizes)


VALUES = {
    "findings": (findings, ["data-race", "Proved for every input"]),
    "one finding": (lambda: findings()[0], ["data-race", "wg.barrier(tile)"]),
    "sweep": (sweep, ["6 configurations", "&lt;this&gt;", "Total number of work-items"]),
    "program": (lambda: xe.trace(reverse, SIZES)(NUMBERS, NUMBERS), ["local tile: f32[32], 128 B", "&lt;&amp;&gt;"]),
    "devices": (xe.devices, [device.full_name for device in xe.devices()]),
    "device": (lambda: xe.device("a770"), ["slm_banks", "Intel product page [H]", "[M] a third party&#39;s"]),
    "occupancy": (
        lambda: xe.occupancy("a770", 256, slm_bytes=40000),
        ["resident groups", "next step", "by slm"],
    ),
    "litmus": (litmus, ["&lt;SB&gt;", "r0 = x relaxed/device", "Outcomes"]),
    "race": (lambda: litmus(xe.litmus.location("x").store(2)), ["Undefined, by a data race", "x = 2 by work-item 1"]),
    "execution": (lambda: litmus().witness(r0=1), ["rf: reads from", "r0=1"]),
    "report": (lambda: xe.estimate(reverse, SIZES)(NUMBERS, NUMBERS), ["Time by resource"]),
    "comparison": (lambda: costs(64).diff(costs(128)), ["slm.passes", "0.5x"]),
    "inspection": (lambda: xe.inspect(reverse, SIZES)(np.ones(64, np.float32), np.ones(64, np.float32)), ["slider"]),
}


def _shown(html):
    return re.sub(r"<(style|script)>.*?</\1>", "", html, flags=re.DOTALL)


@pytest.mark.parametrize("name", VALUES)
def test_a_notebook_shows_tables(name):
    pytest.importorskip("jinja2")
    made, told = VALUES[name]
    html = made()._repr_html_()
    text = _shown(html)
    assert "<table" in text
    assert "<style>" in html
    assert "http" not in html
    assert [what for what in told if what not in (html if what == "slider" else text)] == []
    assert not re.search(r"<(SB|this|that|&)>", text)


def test_a_notebook_s_theme_decides_on_the_colours():
    pytest.importorskip("jinja2")
    html = VALUES["program"][0]()._repr_html_()
    (dark,) = re.findall(r'data-jp-theme-light="false"\] \.xeemu[^{]*{([^}]*)}', html)
    assert dark.strip() in html.split("prefers-color-scheme: dark")[1]
    assert "tbody tr:nth-child(n) { background: none; }" in html


def test_without_jinja_a_notebook_shows_the_text(monkeypatch):
    monkeypatch.setattr(rendering, "is_there", lambda: False)
    for made, _ in VALUES.values():
        assert re.fullmatch(r"<pre>[^<>]+</pre>", made()._repr_html_())


def test_parts_without_content_are_left_out():
    pytest.importorskip("jinja2")
    parts = (Columns(("a", "b"), [("x", ListingFigure("7 ~", number=7.0))]), "", Columns(("c",), ()), "said")
    text = _shown(notebook.tables("T", parts, "plain"))
    assert text.count("<table") == text.count("<p>") == 1
    assert '<td data-number="7.0">7 ~</td>' in text
    assert '<td class="text">x</td>' in text


CELL = """
@xe.kernel
def looked_up(wg, places, x, out):
    i = wg.global_id()
    tile = wg.local(wg.size, x.dtype)
    tile = tile.at[wg.local_id()].set(x[places[i]])
    return out.at[i].set(tile[wg.size - 1 - wg.local_id()])
"""


def test_headings_name_the_cell_of_a_kernel_and_verdicts_what_is_not_known():
    file = "/scratch/ipykernel_71/4217132076.py"  # as Jupyter calls a cell, by a hash of its text
    linecache.cache[file] = len(CELL), None, CELL.splitlines(keepends=True), file
    exec(compile(CELL, file, "exec"), made := {"xe": xe})
    arrays = np.zeros(64, np.int32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    estimate, findings, inspection = (
        launch(made["looked_up"], SIZES)(*arrays) for launch in (xe.estimate, xe.check, xe.inspect)
    )
    program = xe.trace(made["looked_up"], SIZES)(*arrays)
    pages = estimate.to_html(), findings[1].to_html(), inspection.to_html(), program._repr_html_()
    assert [re.sub(r"<[^>]*>", "", page).count("4217132076") for page in pages] == [0, 0, 0, 0]
    assert "4217132076.py" not in str(estimate)
    assert "costs depends on data" in str(estimate)
    assert "costs depends on data: xe.profile(...) counts it" in pages[0]


def test_a_prompt_shows_texts_that_can_be_read():
    arrays = np.zeros(64, np.float32), np.zeros(64, np.float32)
    report, findings = xe.estimate(reverse, SIZES, device="a770")(*arrays), xe.check(reverse, SIZES)(*arrays)[1]
    table = xe.tune(reverse, {"global_size": 64, "local_size": [16, 32]})(*arrays)
    assert re.fullmatch(r"<Report of reverse on a770: at least \d+(\.\d+)? ns, bound by \w+>", repr(report))
    assert repr(xe.trace(reverse, SIZES)(*arrays)) == "<Program of reverse, nd-range 64>"
    assert (repr(findings), repr(table)) == (str(findings), str(table))
    assert repr(report.diff(report)) == "no figure differs"

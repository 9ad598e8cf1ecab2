"""The report: its text against golden ones, its plain data, and what changed from one to the next."""

import copy
import dataclasses
import json
import pickle
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.cost import figures, flows, pictures, trials
from xeemu.cost.latency import Waiting
from xeemu.cost.report import Hint, Report
from xeemu.cost.sites import AtomicTotals, GlobalTotals, LocalTotals, SiteReport
from xeemu.cost.terms import Term
from xeemu.devices import bankmap
from xeemu.kernels import EXAMPLES

FILE = "kernels/transpose.py"
N = 65536


@dataclasses.dataclass(frozen=True)
class Occupancy:
    fraction: float | None = 1.0
    average: float | None = 0.984
    peak: float | None = 1.0
    groups: int | None = 4
    limiter: str | None = "hardware threads"
    constraints: Mapping[str, int | None] = dataclasses.field(
        default_factory=lambda: {"hardware threads": 4, "SLM": 128, "barriers": 64}
    )
    next_step: str | None = "15 sub-groups in a work-group would let 4 groups in"


def site(line: int, source: str, memory: str, op: str, space: str, **counts: int | bool) -> SiteReport:
    known = {"requests": N, "closed_form": True, **counts}
    return SiteReport(file=FILE, line=line, source=source, memory=memory, op=op, space=space, **known)  # type: ignore[arg-type]


ROW = {"lines": N, "sectors": N, "bytes_used": 64 * N, "bytes_moved": 64 * N}
SITES = (
    site(18, "v = src[y, x]", "src", "load", "global", **ROW),
    site(19, "tile = tile.at[row, col].set(v)", "tile", "store", "local", passes=N, ideal_passes=N),
    site(22, "v = tile[col, row]", "tile", "load", "local", passes=16 * N, ideal_passes=N),
    site(23, "return dst.at[ty, tx].set(v)", "dst", "store", "global", **ROW),
)
WAITS = (
    Waiting("load", SITES[0], N, 520.0, 0.62),
    Waiting("arithmetic", None, 786432.0, 10.0, 0.15),
    Waiting("load", SITES[2], N, 33.0, 0.04),
    Waiting("barriers", None, 65536.0, 1.0, 0.001),
)
HINT = Hint(
    "bank conflict",
    (SITES[2],),
    "16-way: 1048576 passes for 65536 requests, 983040 of them in excess. Make the pitch of tile an odd number of "
    "words.",
    3.2,
)
TERMS = (
    Term("issue", 1114112, "instructions", 1024.0, 1088.0, 0.5),
    Term("SLM", 1114112, "passes", 512.0, 2176.0, 0.9),
    Term("atomics", 0, "updates", None, 0.0, 0.0),
    Term("barriers", 65536, "arrivals", None, None, None),
)
NO_ATOMICS = AtomicTotals(local_requests=0, local_passes=0, global_operations=0, global_sectors=0, contention=0)
NAIVE = Report(
    kernel="transpose_naive",
    device="max1550",
    global_size=(1024, 1024),
    local_size=(16, 16),
    sub_group_size=16,
    groups=4096,
    slm_bytes=1024,
    version="0.1.0",
    file=FILE,
    time_s=1.511e-6,
    cycles=2418.25,
    bound="SLM",
    occupancy=Occupancy(),
    sites=SITES,
    slm=LocalTotals.of(SITES),
    global_=GlobalTotals.of(SITES),
    atomics=NO_ATOMICS,
    barriers=4096,
    instructions={"i32": 786432, "memory": 262144},
    registers=24,
    spill_bytes=0,
    terms=TERMS,
    waits=WAITS,
    hints=(HINT,),
    not_modelled=("bank hashing", "write-back", "barriers: max1550 has no figure for them"),
    marks={"slm": "=", "global_": "=", "barriers": "=", "instructions": "="},
)

GOLDEN = """\
transpose_naive                                     xeemu 0.1.0   device max1550
nd-range 1024x1024   work-group 16x16 = 256 items   sub-group 16   SLM 1 KiB
transpose.py   4096 work-groups

VERDICT
  time       at least 1.51 us = 2418 cycles, after the launch was submitted    ~
  bound      SLM: 1114112 passes, 90% of the time                              ~
  without    barriers: max1550 has no figure for it
  lever      H1 bank conflict (transpose.py:22): 3.2x less time                ~

HINTS
  H1 bank conflict   transpose.py:22   v = tile[col, row]
     16-way: 1048576 passes for 65536 requests, 983040 of them in excess. Make
     the pitch of tile an odd number of words.
     As the model times it, the launch takes 3.2x less time.

SOURCE                                         req   passes   ideal   lines  eff
  18  v = src[y, x]                          65536        .       .   65536 100%
  19  tile = tile.at[row, col].set(v)        65536    65536   65536       .    .
  22  v = tile[col, row]                     65536  1048576   65536       .    .
  23  return dst.at[ty, tx].set(v)           65536        .       .   65536 100%

SLM BANKS                     requests    passes     ideal  degree    excess   =
   19 store  tile                65536     65536     65536    1.00         0
   22 load   tile                65536   1048576     65536   16.00    983040
  all                           131072   1114112    131072    8.50    983040

GLOBAL MEMORY                requests    lines  sectors     used    moved  eff =
   18 load   src                65536    65536    65536  4194304  4194304 100%
   23 store  dst                65536    65536    65536  4194304  4194304 100%
  all                          131072   131072   131072  8388608  8388608 100%

INSTRUCTIONS                                                                   =
  by class   i32 786432   memory 262144
  barriers   4096 by work-groups                                               =
  registers  24 bytes of a work-item, 0 of them spilled                        ~

OCCUPANCY                work-groups per Xe core
  hardware threads               4   <- limit
  SLM                          128
  barriers                      64
  occupancy  100% in the steady state, 98% on average, 100% at the peak        ~
  next step  15 sub-groups in a work-group would let 4 groups in

BOUND                    work                  per cycle     cycles  share     ~
  issue               1114112 instructions          1024       1088    50%
  SLM                 1114112 passes                 512       2176    90% <-
  barriers              65536 arrivals                 ?          ?      ?
  The cycles of each alone. SLM, L1 and barriers, behind one port, add up; of L2
  and DRAM, one path, the longer counts; of issue and of what arithmetic waits,
  what both have counts once. The launch takes the cube root of the sum of the
  cubes, and its bound is the largest. Outermost loops of work-groups that start
  together do not overlap.

LATENCY                            times    cycles each  of all waits          ~
   18 load   src                   65536            520           62%
      arithmetic                  786432             10           15%
   22 load   tile                  65536             33            4%

NOT MODELLED
  bank hashing; write-back; barriers: max1550 has no figure for them
"""


def test_the_whole_report():
    assert str(NAIVE) == GOLDEN.rstrip("\n")


EMPTY = Report(
    kernel="k",
    device="cpu",
    global_size=(64,),
    local_size=(64,),
    sub_group_size=16,
    groups=1,
    slm_bytes=0,
    version="0.1.0",
    file="k.py",
    time_s=None,
    cycles=None,
    bound=None,
    occupancy=None,
    sites=(),
    slm=LocalTotals.of(()),
    global_=GlobalTotals.of(()),
    atomics=NO_ATOMICS,
    barriers=None,
    instructions=None,
    registers=None,
    spill_bytes=None,
    terms=(),
)

GOLDEN_EMPTY = """\
k                                                       xeemu 0.1.0   device cpu
nd-range 64   work-group 64 = 64 items   sub-group 16   SLM 0 B
k.py   1 work-group

VERDICT
  time       ? = ? cycles, after the launch was submitted                      ?
  bound      ?                                                                 ?

INSTRUCTIONS                                                                   ?
  by class   ?
  barriers   ? by work-groups                                                  ?
  registers  ? bytes of a work-item, ? of them spilled                         ?

OCCUPANCY  ?
"""


def test_what_is_not_known_is_a_question_mark():
    assert str(EMPTY) == GOLDEN_EMPTY.rstrip("\n")


COUNTED = dataclasses.replace(
    NAIVE,
    sites=(
        site(
            7,
            "bins = bins.atomic[x & 0xFF].add(1)",
            "bins",
            "atomic",
            "local",
            passes=3 * N,
            ideal_passes=N,
            closed_form=False,
        ),
        site(
            9,
            "h[k] gets t + 1",
            "h",
            "store",
            "private",
            lines=4 * N,
            sectors=8 * N,
            bytes_used=128 * N,
            closed_form=False,
        ),
        site(9, "h[k] gets t + 1", "h", "load", "private", requests=12345678901, lines=None),
        site(
            12,
            "hist = hist.atomic[k].add(n)",
            "hist",
            "atomic",
            "global",
            requests=40,
            lines=40,
            sectors=320,
            bytes_used=1280,
            bytes_moved=10240,
        ),
    ),
    atomics=AtomicTotals(
        local_requests=N, local_passes=3 * N, global_operations=1280, global_sectors=320, contention=None
    ),
    source=(
        (6, "def count(k, bins):"),
        (7, "    bins = bins.atomic[x & 0xFF].add(1)"),
        (8, "    # füllt"),
        (12, "hist = ..."),
    ),
    hints=(),
    terms=(),
    marks={},
)

GOLDEN_COUNTED = """\
SOURCE                                         req   passes   ideal   lines  eff
   6  def count(k, bins):
   7      bins = bins.atomic[x & 0xFF...     65536   196608   65536       .    .
   8      # f?llt
   9  h[k] gets t + 1                       12.35G        .       .       ?    ?
  12  hist = ...                                40        .       .      40  12%

SLM BANKS                     requests    passes     ideal  degree    excess   ~
    7*atomic bins                65536    196608     65536    3.00    131072
     * counted as the kernel ran; the others follow from the source

GLOBAL MEMORY                requests    lines  sectors     used    moved  eff ~
    9*store  h                  65536   262144   524288  8388608        ?    ?
    9 load   h                 12.35G        ?        ?        ?        ?    ?
   12 atomic hist                  40       40      320     1280    10240  12%
  all                          12.35G        ?        ?        ?        ?    ?
     * counted as the kernel ran; the others follow from the source
  atomics: 1280 lanes in 320 updates of a sector; the busiest address takes ?
  lanes
"""


def test_source_atomics_private_memory_and_what_was_counted_as_it_ran():
    report = dataclasses.replace(COUNTED, slm=LocalTotals.of(COUNTED.sites), global_=GlobalTotals.of(COUNTED.sites))
    assert sections(report, "SOURCE", "SLM BANKS", "GLOBAL MEMORY") == GOLDEN_COUNTED


def sections(report: Report, *titles: str) -> str:
    blocks = str(report).split("\n\n")
    return "\n\n".join(block for block in blocks if block.startswith(titles)) + "\n"


def test_lines_of_other_files_follow_those_of_the_kernel():
    elsewhere = dataclasses.replace(SITES[1], file="kernels/tiles.py", line=18)
    report = dataclasses.replace(NAIVE, sites=(SITES[0], elsewhere))
    assert sections(report, "SOURCE") == (
        "SOURCE                                         req   passes   ideal   lines  eff\n"
        "  18  v = src[y, x]                          65536        .       .   65536 100%\n"
        "      tiles.py\n"
        "  18  tile = tile.at[row, col].set(v)        65536    65536   65536       .    .\n"
    )


@pytest.mark.parametrize("report", [NAIVE, EMPTY, COUNTED])
def test_text_is_ascii_of_80_columns_without_trailing_blanks(report):
    text = str(report)
    assert text.isascii()
    assert all(len(line) <= 80 and line == line.rstrip() for line in text.splitlines())
    assert text == str(dataclasses.replace(report))


def test_long_names_and_many_sites_fit_too():
    far = dataclasses.replace(SITES[2], file="a/" * 50 + "x" * 70 + ".py", source="y" * 200, memory="m" * 40)
    hint = dataclasses.replace(HINT, sites=tuple(dataclasses.replace(far, line=n // 2) for n in range(10)))
    report = dataclasses.replace(NAIVE, kernel="k" * 100, hints=(hint,), sites=(far,) * 3)
    lines = str(report).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.strip() == "2 more" for line in lines)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "?"),
        (0, "0"),
        (0.5, "0.5"),
        (999, "999"),
        (1234.5, "1234"),
        (9_999_999, "9999999"),
        (10_000_000, "10M"),
        (269_484_032, "269.5M"),
        (999_999_999, "1G"),
        (12_345_678_901, "12.35G"),
        (4.2e12, "4.2T"),
        (1e30, "1.000e+30"),
    ],
)
def test_numbers_keep_seven_digits_or_four(value, text):
    barriers = str(dataclasses.replace(NAIVE, barriers=value))
    assert f"\n  barriers   {text} by work-groups" in barriers


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5e-9, "2.5 ns"), (1e-6, "1 us"), (12.34e-6, "12.3 us"), (0.0123, "12.3 ms"), (2.0, "2 s")]
)
def test_times_have_units(seconds, text):
    assert f"\n  time       at least {text} = " in str(dataclasses.replace(NAIVE, time_s=seconds))


# --- Figures ---


@pytest.mark.parametrize(
    ("value", "text"), [(None, "?"), (999, "999 B"), (999.6, "0.976 KiB"), (1023600, "0.976 MiB"), (2**31, "2 GiB")]
)
def test_amounts_have_three_digits(value, text):
    assert figures.amount(value) == text


def test_degree_excess_and_efficiency():
    conflicting = SITES[2]
    assert (conflicting.degree, conflicting.excess, conflicting.efficiency) == (16, 15 * N, None)
    assert SITES[0].efficiency == 1
    assert (SITES[0].degree, SITES[0].excess) == (None, None)
    assert dataclasses.replace(conflicting, requests=0, passes=0).degree is None


def test_totals_are_sums_over_the_sites_of_a_space():
    assert NAIVE.slm == LocalTotals(requests=2 * N, passes=17 * N, ideal_passes=2 * N, bytes=None)
    assert NAIVE.slm.excess == 15 * N
    assert NAIVE.global_ == GlobalTotals(
        requests=2 * N, lines=2 * N, sectors=2 * N, bytes_used=128 * N, bytes_moved=128 * N
    )
    assert NAIVE.global_.efficiency == 1


def test_a_sum_with_an_unknown_part_is_not_known_and_an_empty_one_is_zero():
    unknown = (SITES[1], dataclasses.replace(SITES[2], passes=None))
    assert LocalTotals.of(unknown).passes is None
    assert LocalTotals.of(unknown).requests == 2 * N
    assert LocalTotals.of(()).passes == 0
    assert GlobalTotals.of(SITES[1:2]).lines == 0


@xe.kernel
def gathered(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[index[i]])


def test_a_time_that_depends_on_data_names_the_first_line_that_does():
    index, x = np.zeros(256, np.int32), np.zeros(256, np.float32)
    report = xe.estimate(gathered, xe.NDRange(256, 64))(index, x, x)
    line = gathered.__wrapped__.__code__.co_firstlineno + 3
    told = " ".join(str(report).split())
    assert f"not known what the load of x in line {line} costs depends on data: xe.profile(...) counts it" in told
    assert "not known what" not in str(xe.profile(gathered, xe.NDRange(256, 64))(index, x, x)[1])


def test_marks():
    assert NAIVE.mark("slm") == "="
    assert NAIVE.mark("time_s") == "~"
    assert dataclasses.replace(NAIVE, barriers=None).mark("barriers") == "?"


# --- Plain data ---


def test_to_dict_is_json_with_the_same_fields():
    plain = NAIVE.to_dict()
    assert list(plain) == [*(field.name for field in dataclasses.fields(Report)), "lever", "missing", "limit"]
    assert plain["missing"] == ["barriers"]
    assert json.loads(json.dumps(plain)) == plain
    assert plain["sites"][2]["passes"] == 16 * N
    assert plain["sites"][2]["degree"] == 16
    assert plain["slm"]["excess"] == 15 * N
    assert plain["occupancy"]["constraints"] == {"hardware threads": 4, "SLM": 128, "barriers": 64}
    assert plain["terms"][3]["cycles"] is None
    assert EMPTY.to_dict()["time_s"] is None


# --- Files and pages ---


def profiled(device="a770", pitch=16):
    """The report of a small transposition through local memory."""
    matrix = np.zeros((64, 64), np.float32)
    return xe.profile(transpose, xe.NDRange((64, 64), (16, 16)), device=device)(matrix, matrix, pitch=pitch)[1]


def sampled(groups):
    """The report of a histogram of one bin, of which some groups were counted."""

    @xe.kernel(sub_group_size=16)
    def histogram(wg, data, bins):
        return bins.atomic[data[wg.global_id()]].add(1)

    data = np.zeros(1024, np.int32)
    return xe.profile(histogram, xe.NDRange(1024, 64), device="a770", sample=groups)(data, np.zeros(16, np.int32))[1]


@xe.kernel(sub_group_size=16)
def transpose(wg, source, result, *, pitch):
    row, col = wg.local_id(0), wg.local_id(1)
    tile = wg.local((16, pitch), jnp.float32)
    tile = tile.at[row, col].set(source[wg.global_id(0), wg.global_id(1)])
    tile = wg.barrier(tile)
    return result.at[wg.group_id(1) * 16 + row, wg.group_id(0) * 16 + col].set(tile[col, row])


def test_a_saved_report_is_read_again(tmp_path):
    report = profiled()
    report.save(tmp_path / "report.json")
    loaded = Report.load(tmp_path / "report.json")
    assert str(loaded) == str(report)
    assert not report.diff(loaded)
    assert loaded.sites[0].bank_map == report.sites[0].bank_map
    assert loaded.occupancy == report.occupancy


def test_paths_of_a_saved_report_are_those_seen_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)
    profiled().save(tmp_path / "report.json")
    loaded = Report.load(tmp_path / "report.json")
    hinted = [site for hint in loaded.hints for site in hint.sites]
    assert hinted
    assert {loaded.file, *(site.file for site in (*loaded.sites, *hinted))} == {Path(__file__).name}


def test_a_report_of_one_sampled_group_is_json_of_any_reader(tmp_path):
    report = sampled(1)
    assert np.inf in report.sites[-1].errors.values()
    json.dumps(report.to_dict(), allow_nan=False)
    report.save(tmp_path / "report.json")
    assert str(Report.load(tmp_path / "report.json")) == str(report)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"xeemu report": 0}', '{"xeemu report": 1, "kernel": "k"}'])
def test_a_file_that_holds_no_report_is_refused(content, tmp_path):
    file = tmp_path / "report.json"
    file.write_text(content)
    with pytest.raises(xe.KernelArgumentError, match=r"report\.json is no report: .*; write one by report\.save"):
        Report.load(file)


class Tags(HTMLParser):
    """What a page opens and has not closed, and what it refers to."""

    def __init__(self):
        super().__init__()
        self.open, self.links, self.text = [], [], ""

    def handle_starttag(self, tag, attrs):
        self.links += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br", "link", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.mark.parametrize(
    "given", [lambda: NAIVE, lambda: EMPTY, profiled, lambda: sampled(4)], ids=["naive", "empty", "profiled", "sampled"]
)
def test_a_page_needs_nothing_else_and_shows_what_the_text_does(given, tmp_path):
    report, page = given(), Tags()
    page.feed(report.to_html(tmp_path / "report.html"))
    assert (tmp_path / "report.html").read_text() == report.to_html()
    assert page.open == page.links == []
    assert "url(" not in page.text
    for site in report.sites:
        assert f"{site.op} {site.memory}" in page.text
    assert all(hint.text in page.text for hint in report.hints)
    assert report.device in page.text


def test_the_memory_chart_has_the_slm_and_the_l1_of_every_device():
    for device, report in (("a770", profiled()), ("max1550", profiled("max1550"))):
        found = {flow.memory: flow for flow in flows.of_report(report)}
        assert list(found) == ["SLM", "L1", "L2", "DRAM"], device
        assert (found["SLM"].bytes, found["L1"].bytes) == (report.slm.bytes, report.global_.bytes_moved)
        assert found["DRAM"].inner == "L2"
    assert flows.of_report(EMPTY) == ()


def test_where_the_bytes_of_the_slm_were_not_counted_they_are_at_most_what_its_passes_hold():
    counted = profiled("max1550")
    uncounted = dataclasses.replace(counted, slm=dataclasses.replace(counted.slm, bytes=None))
    held = 16 * 4 * counted.slm.passes
    assert flows.of_report(uncounted)[0].bytes == held >= counted.slm.bytes
    assert flows.of_report(uncounted)[0].mark == "<"
    hidden = tuple(dataclasses.replace(site, passes=None, bank_map=None) for site in uncounted.sites)
    assert flows.of_report(dataclasses.replace(uncounted, sites=hidden))[0].amount == "?"


def test_the_page_draws_banks_by_the_scale_of_all_pictures():
    lanes = np.stack([64 * np.arange(16), 4 * np.arange(16)])
    drawn = bankmap.draw(lanes, np.ones(lanes.shape, bool), xe.device("max1550"), 4, "load")
    sites = (*SITES[:2], dataclasses.replace(SITES[2], bank_map=drawn), SITES[3])
    (grid,) = pictures.grids(sites)
    conflict, calm = grid.rows
    assert conflict == ("0", ((16, 4), *[(0, -1)] * 15), 16)
    assert calm == ("1", ((1, 0),) * 16, 1)
    page = dataclasses.replace(NAIVE, sites=sites).to_html()
    assert page.count('<td class="step4"') == 1
    assert page.count('<td class="step0"') == 16
    assert "1: no conflict" in page


def test_the_page_draws_the_steps_of_the_occupancy_where_the_launch_is():
    report = profiled()
    stairs = pictures.stairs(report)
    device = xe.device(report.device)
    assert stairs.here == (report.slm_bytes / device.local_mem_size, report.occupancy.fraction)
    for x, y in stairs.line[:-1]:
        found = xe.occupancy(device, report.local_size, int(x * device.local_mem_size), sub_group_size=16)
        steps = [y, *(b for a, b in stairs.line if a == x)]
        assert found.fraction in [pytest.approx(step) for step in steps]
    assert sorted((y for _, y in stairs.line), reverse=True) == [y for _, y in stairs.line]
    assert '<svg class="stairs"' in report.to_html()
    assert pictures.stairs(dataclasses.replace(report, device="mine")) is None
    assert pictures.stairs(dataclasses.replace(report, occupancy=None)) is None


def test_a_line_of_a_page_has_the_hints_of_all_its_operations():
    other = Hint("contended atomics", (dataclasses.replace(SITES[2], op="atomic"),), "They take their turns.", None)
    page = dataclasses.replace(NAIVE, hints=(HINT, other)).to_html()
    assert page.count(other.text) == page.count("16-way: 1048576") == 2  # in the list, and under the line


def test_a_notebook_shows_tables_and_escapes_what_it_shows():
    shown = dataclasses.replace(NAIVE, kernel="<naive>")._repr_html_()
    assert shown.count("<table") > 4
    assert "&lt;naive&gt;" in shown
    assert "<naive>" not in shown


# --- Differences ---


def test_a_report_does_not_differ_from_its_copy():
    assert not NAIVE.diff(dataclasses.replace(NAIVE))
    assert str(NAIVE.diff(NAIVE)) == ""
    with pytest.raises(xe.KernelArgumentError, match=r"the baseline is a str; give a report, as in report\.diff"):
        NAIVE.diff("report.json")


def test_a_diff_is_a_page_of_html_too(tmp_path):
    pytest.importorskip("jinja2")
    padded = profiled(pitch=17)
    made = padded.diff(profiled(pitch=16)).to_html(tmp_path / "diff.html", "transpose: what differs", "a, then b")
    assert (tmp_path / "diff.html").read_text() == made
    assert "<title>transpose: what differs</title>" in made
    assert "static.pitch" in made
    assert "a, then b" in made
    assert "http" not in made
    assert "no figure differs" in padded.diff(padded).to_html()


def test_diff_has_a_row_for_each_figure_that_changed_and_no_other():
    sites = (*SITES[:2], dataclasses.replace(SITES[2], line=30, passes=N), SITES[3])
    padded = dataclasses.replace(
        NAIVE,
        kernel="transpose_padded",
        sites=sites,
        slm=LocalTotals.of(sites),
        slm_bytes=1088,
        hints=(),
        time_s=1e-6,
        spill_bytes=None,
    )
    assert str(padded.diff(NAIVE)) == GOLDEN_DIFF.rstrip("\n")


GOLDEN_DIFF = """\
kernel                               transpose_n... -> transpose_p...
slm_bytes                                      1024 -> 1088  (1.06x)
time_s                                      1.51 us -> 1 us  (0.662x)
slm.passes                                  1114112 -> 131072  (0.118x)
slm.excess                                   983040 -> 0  (0x)
spill_bytes                                       0 -> ?
load tile: passes                           1048576 -> 65536  (0.0625x)   transpose.py:30
load tile: degree                                16 -> 1  (0.0625x)   transpose.py:30
hint: bank conflict load tile                 given -> -
"""


def test_what_costs_more_than_before_has_risen():
    padded, naive = profiled(pitch=17), profiled(pitch=16)
    assert {"slm.passes", "slm.excess", "time_s"} <= {row.figure for row in naive.diff(padded).risen(0.05)}
    assert padded.diff(naive).risen(0.05) == ()
    (row,) = [row for row in naive.diff(padded) if row.figure == "load tile: passes"]
    assert (row.before, row.after, row.factor, row.unit) == (256, 4096, 16, "passes")
    assert row.where.startswith("test_report.py:")
    assert dataclasses.replace(naive, time_s=None).diff(naive).risen(0.05)[0].figure == "time_s"


def test_static_parameters_that_differ_are_in_the_diff():
    (row,) = [row for row in profiled(pitch=17).diff(profiled(pitch=16)) if row.figure == "static.pitch"]
    assert (row.before, row.after) == (16, 17)


def test_what_rounds_to_the_same_is_not_in_the_table_unless_it_was_counted():
    longer = dataclasses.replace(NAIVE, time_s=NAIVE.time_s * (1 + 1e-6))
    assert (len(longer.diff(NAIVE)), str(longer.diff(NAIVE))) == (1, "")
    assert "time_s" not in longer.diff(NAIVE)._repr_html_()
    many = dataclasses.replace(NAIVE, barriers=10**9)
    more = dataclasses.replace(NAIVE, barriers=10**9 + 1)
    assert str(more.diff(many)).split() == ["barriers", "1000000000", "->", "1000000001"]


def test_what_is_no_longer_done_has_not_risen_and_what_is_new_has():
    with_, without = ({**profiled().instructions, **more} for more in ({"barrier": 64}, {}))
    without.pop("barrier")
    with_, without = (dataclasses.replace(NAIVE, instructions=classes) for classes in (with_, without))
    assert [row.figure for row in without.diff(with_)] == ["instructions.barrier"]
    assert without.diff(with_).risen(0) == ()
    assert [row.figure for row in with_.diff(without).risen(0)] == ["instructions.barrier"]
    unknown = dataclasses.replace(NAIVE, instructions=None)
    assert [row.figure for row in unknown.diff(with_).risen(0)] == ["instructions"]


def test_what_has_no_figure_is_told_in_words():
    more = dataclasses.replace(NAIVE, terms=(*TERMS, Term("group launch", 4, "groups", None, None)))
    (row,) = [row for row in more.diff(NAIVE) if row.figure.startswith("missing")]
    assert (row.figure, row.before, row.after) == ("missing: group launch", "-", "yes")


def test_a_site_that_only_one_report_has_is_in_the_diff():
    longer = dataclasses.replace(NAIVE, sites=(*SITES, SITES[2]))
    rows = str(longer.diff(NAIVE)).splitlines()
    assert rows[0].split() == ["load", "tile", "2:", "requests", "-", "->", "65536", "transpose.py:22"]
    assert [row.split()[3] for row in rows] == ["requests", "passes", "ideal_passes", "degree", "bytes_used"]
    assert all(row.startswith("load tile 2: ") for row in rows)


def test_hints_are_tried_when_they_are_asked_for(monkeypatch):
    tried = []
    gain = trials.CountedLaunch.gain
    monkeypatch.setattr(
        trials.CountedLaunch, "gain", lambda launch, change: tried.append(change) or gain(launch, change)
    )
    example = EXAMPLES["matmul_naive"]
    arguments = example.inputs(example.size)
    report = xe.estimate(xe.kernel(example.kernel.function), example.nd_range(example.size))(*arguments)
    assert report.time_s
    assert not tried
    copied = pickle.loads(pickle.dumps(report))
    assert tried
    assert copied == report == copy.deepcopy(report)
    number = len(tried)
    assert str(copied) == str(report)
    assert copied.lever == report.lever is not None
    assert len(tried) == number
    assert dataclasses.replace(report, hints=()).hints == ()

"""Times that were predicted before they were measured: the table is whole, and its page's figures follow from it."""

import math
import pathlib
import sys

import numpy as np
import pytest

SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from yardstick import arguments, contents, times  # noqa: E402

PAGE = SCRIPTS / "yardstick" / "results-times.md"

# --- The table and the page ---


def test_every_row_has_a_launch_of_an_entry_and_every_launch_a_row():
    launches, rows = times.launches(), times.measured()
    assert list(launches) == list(rows)
    assert len(rows) == 138
    for entry in launches.values():
        assert len(entry.global_size) == len(entry.local_size)
        assert not any(size % local for size, local in zip(entry.global_size, entry.local_size, strict=True)), entry.key
        for line in entry.arguments:
            name, form, _ = arguments.split(line)
            assert form in (*contents.FORMS, *contents.ALIKE, "=") or name == "local", (entry.key, line)


def test_times_and_counters_are_there_for_all():
    rows = times.measured().values()
    assert 5 < times.empty_us() < min(row.time_us for row in rows)
    assert all(sum(row.counters.values()) for row in rows if row.time_us > 100)


def lines(*cells):
    return {"| " + " | ".join(row) + " |" for row in cells}


def test_the_blind_figures_of_the_page_follow_from_the_table():
    page = set(PAGE.read_text().splitlines())
    assert lines(times.HEADER, *times.before(times.measured()), *times.by_suite()) <= page
    said, rows, launches = times.blind(times.empty_us()), times.measured(), times.launches()
    ratios = {number: said[number].time_us / rows[number].time_us for number in said}
    worst = sorted(ratios, key=lambda number: -abs(math.log(ratios[number])))[:10]
    told = [
        (n, f"`{launches[n].name}`", launches[n].suite, f"{rows[n].time_us:.1f}", f"{ratios[n]:.2f}", said[n].bound)
        for n in worst
    ]
    assert lines(*told) <= page


def test_errors_ranks_and_exact_counts_are_what_they_are_called():
    def said(time_us, count):
        return times.Said(time_us, "L2", dict.fromkeys(times.COUNTERS, 0) | {"local_load": count})

    def row(time_us, counter):
        return times.Row(time_us, dict.fromkeys(times.COUNTERS, 0) | {"local_load": counter})

    reached = times.summary(
        {"a": said(5, 99), "b": said(20, 98), "c": said(80, 0), "d": said(1, 1)},
        {"a": row(10, 100), "b": row(20, 100), "c": row(40, 0)},
    )
    assert (reached.launches, reached.mean, reached.median, reached.rank) == (3, 50, 50, pytest.approx(1))
    assert reached.factor == pytest.approx(4 ** (1 / 3))
    assert reached.exact["local_load"] == (1, 2)
    assert reached.exact["global_load"] == (0, 0)


# --- Contents ---


def splitmix(place, at):
    """Of one place, in Python's integers."""
    x = (place + ((at + 1) << 40) + 0x9E3779B97F4A7C15) % 2**64
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> shift)) * factor % 2**64
    return x ^ (x >> 31)


def made(line, at=0):
    return contents.argument(line, at).value


def test_numbers_follow_from_the_place_and_the_position():
    assert made("uint bits 5", 3).tolist() == [splitmix(k, 3) >> 32 for k in range(5)]
    assert made("int hashed 5 2 9").tolist() == [2 + (splitmix(k, 0) >> 32) % 7 for k in range(5)]
    assert made("float hashed 5 -1 1", 1).tolist() == [(splitmix(k, 1) >> 40) * 2.0**-23 - 1 for k in range(5)]
    assert made("{float x,float y} hashed 2")["y"].tolist() == made("float hashed 4")[1::2].tolist()


def test_rows_and_their_lengths_are_of_one_matrix():
    offsets = made("int csr_offsets 65 8", 3)
    assert (offsets[0], np.diff(offsets).tolist()) == (0, made("int row_lengths 64 8", 1).tolist())
    lengths = made("int jds_lengths 64 8")
    assert (np.diff(lengths) <= 0).all()
    assert set(lengths) <= set(range(1, 9))


def test_neighbours_are_near_and_a_mesh_has_walls():
    rows = np.arange(4096) % 64
    near, mesh = made("int near 4096 64 8"), made("int mesh 4096 64 8")
    assert (abs(near - rows) <= 8).all()
    assert set(near) <= set(range(64))
    assert 0 < (mesh == -2).sum() < (mesh == -1).sum() < 4096 // 32
    assert (mesh[mesh >= 0] == near[mesh >= 0]).all()


def test_records_shapes_and_cells():
    nodes = made("{int starting,int count} nodes 4 6")
    assert nodes.tolist() == [(0, 6), (6, 6), (12, 6), (18, 6)]
    points = made("{float weight,long assign,float cost} points 4")
    assert (points.dtype.itemsize, points["weight"].tolist(), points["assign"].tolist()) == (24, [1] * 4, [0] * 4)
    assert made("int circle 8 4 8 2 0").tolist() == [8, 0, -8, 0, 10, 0, -10, 0]
    assert made("int disc 9 3").tolist() == [0] * 4 + [1] + [0] * 4
    assert made("int clamped 4 -1").tolist() == [0, 0, 1, 2]
    cells = made("float lattice 320 16").reshape(16, 20)
    assert np.allclose(cells[:, :19].sum(1), 1)
    assert set(cells[:, 19].view(np.int32)) <= {0, 1}


def test_what_is_drawn_otherwise_is_refused():
    assert made("float zeros 2").tolist() == [0, 0]
    with pytest.raises(arguments.DescriptionError, match="places alone"):
        made("float random 4")

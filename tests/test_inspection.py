"""Looking into a work-group: each step holds what NumPy says its work-items hold then, and what is in local memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

FLOATS = np.arange(32, dtype=np.float32) ** 2
ITEMS = np.arange(8)


def inspected(body, *arrays, group=1, size=32, **options):
    """A function of a work-group of 8, looked into."""
    return xe.inspect(xe.kernel(body), xe.NDRange(size, 8), group=group, **options)(*arrays)


def found(inspection, text):
    """The steps whose line has a text in it."""
    return [step for step in inspection.steps if text in step.source]


def reverse(wg, x):
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.local(wg.size, jnp.float32)
    tile = tile.at[lid].set(x[i] * 2)
    tile = wg.barrier(tile)
    return x.at[i].set(tile[wg.size - 1 - lid])


def test_each_line_has_what_work_items_hold_and_local_memory_after_it():
    inspection = inspected(reverse, FLOATS)
    ids, stored, barrier, last = inspection.steps
    assert {name: values.tolist() for name, values in ids.values.items()} == {
        "i": [*range(8, 16)],
        "lid": [*range(8)],
    }
    assert ids.memories["tile"].mask.all()
    load, store = stored.accesses
    assert (load.op, load.memory, load.space) == ("load", "x", "global")
    assert load.elements.tolist() == [*range(8, 16)]
    assert (load.values == FLOATS[8:16]).all()
    assert (store.values == 2 * FLOATS[8:16]).all()
    assert (stored.memories["tile"] == 2 * FLOATS[8:16]).all()
    assert stored.changed["tile"].all()
    assert (barrier.ordering, barrier.changed, barrier.values) == ("barrier", {}, {})
    assert last.accesses[0].elements.tolist() == [*range(8)][::-1]
    assert (last.accesses[1].values == 2 * FLOATS[8:16][::-1]).all()


def test_memories_of_one_name_are_told_apart():
    def made(wg):
        return wg.local(wg.size, jnp.int32, name="tile")

    def both(wg, x):
        lid = wg.local_id()
        one, other = made(wg), made(wg)
        one, other = one.at[lid].set(lid), other.at[lid].set(-lid)
        one, other = wg.barrier(one, other)
        return x.at[lid].set((one[lid] + other[lid]).astype(jnp.float32))

    last = inspected(both, FLOATS).steps[-1]
    assert {name: values.tolist() for name, values in last.memories.items()} == {
        "tile": [*range(8)],
        "tile 2": [*range(0, -8, -1)],
    }
    assert [access.memory for access in last.accesses] == ["tile", "tile 2", "x"]


def test_memory_that_nobody_has_written_is_masked():
    def half(wg, x):
        lid = wg.local_id()
        tile = wg.local((2, 8), jnp.int32)
        tile = tile.at[1, lid].set(lid, where=lid < 3)
        return x.at[lid].set(0)

    (step,) = found(inspected(half, FLOATS), "tile.at")
    expected = [[None] * 8, [0, 1, 2] + [None] * 5]
    assert step.memories["tile"].tolist() == expected
    assert step.changed["tile"].tolist() == [[False] * 8, [True] * 3 + [False] * 5]
    assert step.accesses[0].elements.tolist() == [8, 9, 10] + [None] * 5


@pytest.mark.parametrize("rolled", [True, False])
def test_each_iteration_of_a_loop_is_a_step(rolled):
    def sums(wg, x, *, rolled):
        lid = wg.local_id()
        total = jnp.zeros(wg.size, jnp.int32)
        if rolled:

            def body(k, total):
                total = total + k * lid
                return total * 1

            total = lax.fori_loop(0, 4, body, total)
        else:
            for k in range(4):
                total = total + lid * k
        return x.at[lid].set(total.astype(jnp.float32))

    inspection = xe.inspect(xe.kernel(sums), xe.NDRange(32, 8))(FLOATS, rolled=rolled)
    steps = found(inspection, "total = total + ")
    assert [step.turn for step in steps] == [1, 2, 3, 4]
    for k, step in enumerate(steps):
        assert (step.values["total"] == ITEMS * sum(range(k + 1))).all()
    assert inspection.at(steps[0].line) == tuple(steps)


def test_work_items_that_have_left_a_loop_are_not_active():
    def countdown(wg, x):
        lid = wg.local_id()

        def body(n):
            n = n - 2
            return jnp.maximum(n, -9)

        left = wg.while_loop(lambda n: n > 0, body, lid)
        return x.at[lid].set(left.astype(jnp.float32))

    steps = found(inspected(countdown, FLOATS), "n = n - 2")
    assert [step.active.tolist() for step in steps] == [(2 * k < ITEMS).tolist() for k in range(4)]
    for k, step in enumerate(steps):
        assert (step.values["n"].mask == ~step.active).all()
        assert (step.values["n"].compressed() == (ITEMS - 2 * (k + 1))[2 * k < ITEMS]).all()


def test_each_side_of_a_branch_is_for_those_who_take_it():
    def sides(wg, x):
        lid = wg.local_id()
        tile = wg.local(8, jnp.int32)

        def low(tile):
            a = lid + 100
            return tile.at[lid].set(a)

        def high(tile):
            b = lid * lid
            return tile.at[lid].set(b)

        tile = wg.cond(lid < 3, low, high, tile)
        after = tile[lid] + 1
        return x.at[lid].set(after.astype(jnp.float32))

    inspection = inspected(sides, FLOATS)
    (low,), (high,) = found(inspection, "a = lid"), found(inspection, "b = lid")
    assert low.values["a"].tolist() == [100, 101, 102] + [None] * 5
    assert high.values["b"].tolist() == [None] * 3 + [n * n for n in range(3, 8)]
    first, second = found(inspection, ".set(a)") + found(inspection, ".set(b)")
    assert first.memories["tile"].tolist() == [100, 101, 102] + [None] * 5
    assert second.active.tolist() == (ITEMS >= 3).tolist()
    (after,) = found(inspection, "after = ")
    assert after.active.all()
    assert after.values["after"].tolist() == [101, 102, 103, 10, 17, 26, 37, 50]
    assert all(set(step.values) <= {"lid < 3"} for step in found(inspection, "wg.cond"))


def test_registers_private_memory_atomics_and_group_algorithms():
    def mixed(wg, x):
        lid = wg.local_id()
        bins = wg.local(2, jnp.int32)
        mine = wg.private(3, jnp.int32)
        mine = mine.at[1].set(lid)
        pair = jnp.stack([lid, -lid], axis=-1)
        bins = bins.at[lid].set(0, where=lid < 2)
        bins = wg.barrier(bins)
        bins = bins.atomic[lid % 2].add(lid)
        total = wg.reduce(pair[:, 0], "add")
        return x.at[lid].set((total + mine[1]).astype(jnp.float32))

    inspection = inspected(mixed, FLOATS)
    assert found(inspection, "mine.at")[0].memories["mine"].tolist() == [[None, n, None] for n in range(8)]
    assert (found(inspection, "pair = ")[0].values["pair"] == np.stack([ITEMS, -ITEMS], -1)).all()
    (atomic,) = found(inspection, ".add(lid)")
    assert atomic.accesses[0].op == "add"
    assert atomic.memories["bins"].tolist() == [0 + 2 + 4 + 6, 1 + 3 + 5 + 7]
    assert found(inspection, "total = ")[0].values["total"].tolist() == [28] * 8


def test_a_group_of_two_dimensions_of_a_large_launch():
    def transpose(wg, a, out):
        row, col = wg.local_id(0), wg.local_id(1)
        tile = wg.local((4, 4), jnp.float32)
        tile = tile.at[row, col].set(a[wg.global_id(0), wg.global_id(1)])
        tile = wg.barrier(tile)
        return out.at[wg.group_id(1) * 4 + row, wg.group_id(0) * 4 + col].set(tile[col, row])

    a = np.arange(1024 * 1024, dtype=np.float32).reshape(1024, 1024)
    nd_range = xe.NDRange((1024, 1024), (4, 4))
    by_pair, by_number = (
        xe.inspect(xe.kernel(transpose), nd_range, group=group)(a, np.zeros_like(a)) for group in ((3, 200), 968)
    )
    assert by_pair.group == by_number.group == (3, 200)
    assert (found(by_pair, "tile.at")[0].memories["tile"] == a[12:16, 800:804]).all()
    store = by_pair.steps[-1].accesses[-1]
    assert (a.T.reshape(-1)[store.elements] == store.values).all()


def test_the_last_group_of_a_plain_range_has_work_items_that_do_not_exist():
    def ids(wg, x):
        i = wg.global_id()
        return x.at[i].set(i.astype(jnp.float32))

    inspection = xe.inspect(xe.kernel(ids), xe.NDRange(257), group=1)(np.zeros(257, np.float32))
    assert [step.active.sum() for step in inspection.steps] == [1, 1]
    assert inspection.steps[0].values["i"].compressed().tolist() == [256]


def test_opencl_kernels_are_looked_into_too():
    pytest.importorskip("clang")
    source = """kernel void sums(global const int *x, global int *y) {
    local int part[8];
    int lid = get_local_id(0);
    part[lid] = x[get_global_id(0)];
    for (int s = 4; s > 0; s /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (lid < s)
            part[lid] += part[lid + s];
    }
    if (lid == 0) y[get_group_id(0)] = part[0];
}"""
    x = np.arange(16, dtype=np.int32)
    kernel = xe.load(source)["sums"]
    inspection = xe.inspect(kernel, xe.NDRange(16, 8), group=1)(x, np.zeros(2, np.int32))
    adds = found(inspection, "+=")
    assert [int(step.active.sum()) for step in adds] == [4, 2, 1]
    expected = x[8:].copy()
    for s, step in zip((4, 2, 1), adds, strict=True):
        expected[:s] += expected[s : 2 * s]
        assert (step.memories["part"] == expected).all()


def test_what_is_loaded_and_stored_is_what_a_launch_gives():
    nd_range = xe.NDRange(32, 8)
    result = np.asarray(xe.launch(xe.kernel(reverse), nd_range)(FLOATS))
    for group in range(4):
        store = inspected(reverse, FLOATS, group=group).steps[-1].accesses[-1]
        assert (result[store.elements] == store.values).all()


def test_the_text_is_a_table():
    text = str(inspected(reverse, FLOATS))
    lines = text.splitlines()
    assert lines[0] == "reverse, work-group 1 of 4, 8 work-items in sub-groups of 32: 4 steps"
    assert "        lid                    0  1  2  3  4  5  6  7" in lines
    assert any(line.startswith("        store tile") and "[7]" in line for line in lines)
    assert sum(line.startswith("        = tile") for line in lines) == 1
    assert str(inspected(reverse, FLOATS).steps[0]) in text


def test_a_page_has_every_step_and_needs_nothing_else(tmp_path):
    pytest.importorskip("jinja2")
    inspection = inspected(reverse, FLOATS)
    inspection.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count('<div class="step"') == 4
    assert 'max="3"' in page
    assert "http" not in page.replace("http-equiv", "")
    assert inspection._repr_html_().count('<div class="step"') == 4


@pytest.mark.parametrize("group", [4, -1, (0, 0), True, 1.5])
def test_a_group_that_is_not_there_is_refused(group):
    with pytest.raises(xe.KernelArgumentError, match="no work-group of the launch; give a number from 0 to 3"):
        inspected(reverse, FLOATS, group=group)


def test_too_many_steps_are_refused():
    with pytest.raises(xe.KernelError, match="has made 2 steps, and goes on"):
        inspected(reverse, FLOATS, most_steps=2)
    with pytest.raises(xe.KernelArgumentError, match="most_steps is 0"):
        inspected(reverse, FLOATS, most_steps=0)


def test_a_result_may_be_a_shape_and_an_argument_a_pytree():
    @xe.kernel
    def moved(wg, state, out):
        i = wg.global_id()
        return out.at[i].set(state["x"][i] + state["v"][i])

    shape = jax.ShapeDtypeStruct((32,), np.float32)
    (_, step) = xe.inspect(moved, xe.NDRange(32, 8), group=1)({"x": FLOATS, "v": FLOATS + 1}, shape).steps
    assert [access.memory for access in step.accesses] == ["state['x']", "state['v']", "out"]
    assert (step.accesses[-1].values == 2 * FLOATS[8:16] + 1).all()
    with pytest.raises(xe.KernelArgumentError, match=r"argument state\['v'\] of kernel moved is a jax.Shape"):
        xe.inspect(moved, xe.NDRange(32, 8))({"x": FLOATS, "v": shape}, shape)


def test_a_result_of_opencl_may_be_a_shape():
    pytest.importorskip("clang")
    text = "kernel void twice(global const float* x, global float* y) { int i = get_global_id(0); y[i] = 2 * x[i]; }"
    inspected = xe.inspect(xe.load(text)["twice"], xe.NDRange(32, 8))
    step = inspected(FLOATS, jax.ShapeDtypeStruct((32,), np.float32)).steps[-1]
    assert (step.accesses[-1].values == 2 * FLOATS[:8]).all()


def test_an_atomic_operation_gives_nothing_to_work_items_that_leave_it_out():
    def claimed(wg, x, counts):
        lid = wg.local_id()
        old, counts = counts.atomic[lid].fetch_add(1, where=lid < 3)
        return x.at[lid].set(jnp.where(lid < 3, old, 0).astype(jnp.float32)), counts

    (step,) = found(inspected(claimed, FLOATS, ITEMS.astype(np.int32)), "fetch_add")
    (name,) = step.values
    assert name == "old"
    assert step.values[name].tolist() == [0, 1, 2, None, None, None, None, None]


def test_a_work_group_that_is_printed_says_its_sizes(capsys):
    def printing(wg, x):
        print(wg, wg.sub_group)
        return x.at[wg.local_id()].set(0)

    inspected(printing, FLOATS)
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("<work-group of 8 of 32 work-items> <sub-groups of ")


C_LINES = """kernel void f(global const float *x, global float *y, int n) {
  int i = get_global_id(0), l = get_local_id(0);
  float s = 0.0f;
  for (int k = 0; k < 3; k++) s += x[i] * k;
  for (int k = 0; k < n; k++) s += x[k];
  float a = s * 2, b = a + l; a += b;
  y[i] = a * b;
}"""


def test_each_variable_of_a_declaration_of_c_has_its_name_and_each_iteration_on_one_line_its_step():
    pytest.importorskip("clang")
    x = np.arange(16, dtype=np.float32)
    kernel = xe.load(C_LINES)["f"]
    inspection = xe.inspect(kernel, xe.NDRange.opencl(16, 8), group=1)(x, np.zeros_like(x), np.int32(2))
    sums = [step.values["s"].filled().tolist() for line in (4, 5) for step in inspection.at(line)]
    expected = np.cumsum([0 * x, x, 2 * x, 0 * x + x[0], 0 * x + x[1]], axis=0)[:, 8:]
    assert sums == expected.tolist()
    assert [step.turn for step in inspection.at(4)] == [1, 2, 3]
    (ids,), (last,) = inspection.at(2), inspection.at(6)
    assert ids.values.keys() == {"i", "l"}
    assert last.values.keys() == {"a", "b"}
    a = 2 * expected[-1]
    np.testing.assert_array_equal(last.values["b"], a + np.arange(8))
    np.testing.assert_array_equal(last.values["a"], 2 * a + np.arange(8))


def test_lines_of_two_texts_of_c_are_not_taken_for_one_another():
    pytest.importorskip("clang")
    x = np.arange(16, dtype=np.float32)
    text = "kernel void f(global float *x) {{\n  int {} = get_global_id(0), l = get_local_id(0);\n  x[{}] = l;\n}}"
    for name in ("j", "i"):
        inspection = xe.inspect(xe.load(text.format(name, name))["f"], xe.NDRange.opencl(16, 8))(x)
        (ids,) = inspection.at(2)
        assert ids.values.keys() == {name, "l"}
        assert name in ids.source

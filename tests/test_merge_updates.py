"""Updates that follow each other are one scatter on a GPU, or one window, with the same result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared, run

import xeemu as xe
from xeemu import kernels
from xeemu.ir import ops
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

N = 256


def on_a_gpu(kernel, nd_range, arguments, static=None, deterministic=False):
    """A launch as it is emitted for a GPU, prepared to run on the CPU."""
    options = Options(None, deterministic, False, "gpu")
    bound = kernel.bind_static(static or {})
    return prepare(kernel, nd_range, xe.device("max1550"), tuple(map(ArgumentType.of, arguments)), bound, options)


def scatters(ready, arguments):
    with jax.enable_x64(ready.program.wide):
        return ready.compiled.lower(*arguments).as_text().count('"stablehlo.scatter"')


@xe.kernel
def updates(wg, x, out, *, ops=("add", "add", "add"), between="nothing"):
    i = wg.global_linear_id()
    for k, op in enumerate(ops):
        if between == "load" and k == 1:
            x = x.at[i].set(out[(i + 1) % N], where=i < 0)
        if between == "branch" and k == 1:
            out = lax.cond(x[0] > 0, lambda m: m.atomic[0].add(1), lambda m: m, out)
        out = getattr(out.atomic[(x[i] + k) % N], op)(x[i] + k, where=None if k % 2 else i % 3 > 0)
    return x, out


def reference(x, out, ops):
    i, out = np.arange(x.size), out.copy()
    for k, op in enumerate(ops):
        at = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}[op].at
        taken = np.full(x.size, True) if k % 2 else i % 3 > 0
        at(out, ((x + k) % N)[taken], (x + k)[taken])
    return out


@pytest.mark.parametrize(
    ("ops", "count"),
    [
        (("add", "add", "add"), 1),
        (("add", "sub", "add"), 1),
        (("max", "max"), 1),
        (("min", "min", "min", "min"), 1),
        (("add", "add", "max", "max", "sub"), 3),
        (("add",), 1),
    ],
)
def test_one_scatter_does_updates_by_one_operation(ops, count):
    x = np.random.default_rng(0).integers(0, 1000, size=N, dtype=np.int32)
    arguments, static = (x, np.zeros(N, np.int32)), {"ops": ops}
    ready = on_a_gpu(updates, xe.NDRange(N, 64), arguments, static)
    assert scatters(ready, arguments) == count
    np.testing.assert_equal(run(ready, arguments)[1], reference(*arguments, ops))


@pytest.mark.parametrize("between", ["load", "branch"])
def test_another_use_of_the_memory_in_between_parts_them(between):
    x = np.zeros(N, np.int32)
    arguments, static = (x, np.zeros(N, np.int32)), {"ops": ("add", "add"), "between": between}
    nd_range = xe.NDRange(N, 64)
    ready = on_a_gpu(updates, nd_range, arguments, static)
    assert scatters(ready, arguments) >= 2
    launched = xe.launch(updates, nd_range)(*arguments, **static)
    np.testing.assert_equal(run(ready, arguments), [np.asarray(a) for a in launched])


def test_sums_of_floats_in_order_are_not_joined():
    arguments = (np.arange(N), np.zeros(N, np.float32))

    @xe.kernel
    def sums(wg, x, out):
        i = wg.global_linear_id()
        return out.atomic[x[i] % 7].add(0.1).atomic[x[i] % 5].add(jnp.float32(1e6))

    nd_range = xe.NDRange(N, 64)
    ready = on_a_gpu(sums, nd_range, arguments, deterministic=True)
    expected = xe.launch(sums, nd_range, deterministic=True)(*arguments)
    np.testing.assert_array_equal(run(ready, arguments)[0], np.asarray(expected))


@pytest.mark.parametrize(("name", "bins"), [("histogram_slm", 256), ("histogram_slm_1024", 1024)])
def test_the_histogram_has_one_scatter_in_its_loop(name, bins):
    e = kernels.EXAMPLES[name]
    inputs = e.inputs((16384,))
    ready = on_a_gpu(e.kernel, e.nd_range((16384,)), inputs, e.static)
    np.testing.assert_array_equal(run(ready, inputs)[0], e.reference(*inputs))
    # One for all bytes of a word: the bins are cleared, and added to the sums, in a window each.
    assert scatters(ready, inputs) == 1


@xe.kernel
def in_rows(wg, x, out, *, steps, op, masked=False, local=False, branch=False):
    """Each work-item updates elements that begin `steps` further each time."""
    i, lid = wg.global_linear_id(), wg.local_linear_id()
    memory = wg.local(out.shape[0], out.dtype) if local else out
    for k in range(out.shape[0] // wg.size) if local else ():
        memory = memory.at[k * wg.size + lid].set(out[k * wg.size + lid])

    def update(memory):
        place = 0
        for k, step in enumerate((0, *steps)):
            place = place + step
            value = (x[i] + k).astype(out.dtype)
            memory = getattr(memory.atomic[place + lid], op)(value, where=lid % 3 > 0 if masked else None)
        return memory

    memory = wg.barrier(memory) if local else memory
    memory = lax.cond(x[wg.group_id()] > 300, update, lambda m: m, memory) if branch else update(memory)
    memory = wg.barrier(memory) if local else memory
    for k in range(out.shape[0] // wg.size) if local else ():
        out = out.at[k * wg.size + lid].set(memory[k * wg.size + lid], where=wg.group_id() == 0)
    return out if local else memory


def in_rows_of_numpy(x, out, groups, steps, op, masked=False, local=False, branch=False):
    out, lid = out.copy(), np.arange(16)
    combine = {"add": np.add, "sub": np.subtract, "max": np.maximum, "xor": np.bitwise_xor, "store": lambda old, x: x}[
        op
    ]
    for group in range(1 if local else groups):
        if branch and not x[group] > 300:
            continue
        for k, place in enumerate(np.cumsum((0, *steps))):
            taken = lid % 3 > 0 if masked else np.full(16, True)
            at = (place + lid)[taken]
            with np.errstate(over="ignore"):
                out[at] = combine(out[at], (x[16 * group : 16 * group + 16] + k).astype(out.dtype)[taken])
    return out


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("steps", "groups", "static"),
    [
        ((16, 16, 16), 3, {"op": "add"}),
        ((16, 16, 16), 3, {"op": "xor", "masked": True}),
        ((16, 16, 16), 3, {"op": "max", "branch": True}),
        ((16, 16, 16), 3, {"op": "sub", "local": True}),
        ((-16, -16), 2, {"op": "store", "local": True}),
        ((16, 16, 8, 24, 24, 0, 0, 5), 3, {"op": "add"}),  # some lie between each other, and some are the same
        ((3, 3, 3), 1, {"op": "store"}),
        ((40,), 3, {"op": "add", "masked": True, "local": True}),
    ],
)
@pytest.mark.parametrize("gpu", [False, True])
def test_rows_of_updates(steps, groups, static, gpu):
    numbers = np.random.default_rng(0)
    x, out = (numbers.integers(-999, 999, size=n, dtype=np.int32) for n in (16 * groups, 160))
    static = static | {"steps": (96, *steps) if min(steps) < 0 else steps}
    nd_range = xe.NDRange(16 * groups, 16)
    expected = in_rows_of_numpy(x, out, groups, **static)
    if gpu:
        (found,) = run(on_a_gpu(in_rows, nd_range, (x, out), static), (x, out))
    else:
        found = xe.launch(in_rows, nd_range)(x, out, **static)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("steps", [(16, 16, 16), (16, 16, 7), (5, 7, 5, 7), (16,) * 70])
def test_rows_need_no_scatter(steps):
    x, out = np.arange(32, dtype=np.int32), np.zeros(16 * (len(steps) + 2), np.int32)
    static = {"steps": steps, "op": "add"}
    ready = on_a_gpu(in_rows, xe.NDRange(32, 16), (x, out), static)
    assert not scatters(ready, (x, out))
    np.testing.assert_array_equal(run(ready, (x, out))[0], in_rows_of_numpy(x, out, 2, steps, "add"))


@pytest.mark.parametrize("size", [40, 50, 64])
def test_a_row_that_leaves_its_memory(size):
    x, steps = np.arange(48, dtype=np.int32), (16, 16, 16)
    out = np.zeros(size, np.int32)
    expected = in_rows_of_numpy(x, np.zeros(64, np.int32), 3, steps, "add")[:size]
    for memory_bytes in (None, 1):
        launch = xe.launch(in_rows, xe.NDRange(48, 16), memory_bytes=memory_bytes)
        np.testing.assert_array_equal(launch(x, out, steps=steps, op="add"), expected)


def test_a_row_is_one_update_of_its_memory():
    x, out = np.arange(32, dtype=np.int32), np.zeros(160, np.int32)
    ready = prepared(in_rows, xe.NDRange(32, 16), (x, out), {"steps": (16,) * 8, "op": "add"})
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(ready.emit)(x, out).jaxpr.eqns]
    assert names.count("dynamic_update_slice") == 1


@pytest.mark.parametrize("deterministic", [False, True])
def test_rows_of_sums_of_floats(deterministic):
    """All groups, which are emulated together, do the first update before one does the second."""
    x = np.random.default_rng(0).integers(-999, 999, size=48, dtype=np.int32)
    out = np.random.default_rng(1).normal(size=160).astype(np.float32)
    steps, expected = (16, 0, 16), out.copy()
    found = xe.launch(in_rows, xe.NDRange(48, 16), deterministic=deterministic)(x, out, steps=steps, op="add")
    for k, place in enumerate(np.cumsum((0, *steps))):
        for group in range(3):
            expected[place : place + 16] += (x[16 * group : 16 * group + 16] + k).astype(np.float32)
    if deterministic:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-5)


# --- Stores ---

PLACES, WORK_ITEMS = 5, 4096


@xe.kernel
def components(wg, x, y, *, places, width=PLACES, twice=False, used=False, masked=False):
    """Stores to some places of a record that each work-item has, in any order."""
    i = wg.global_linear_id()
    v = x[i]
    for k, place in enumerate(places):
        value = v * (k + 1) + (y[width * i + (place + 1) % width] if used else 0)
        where = i % 3 > 0 if masked and k == 1 else None
        y = y.at[width * i + place].set(value, where=where)
    return y.at[width * i + places[0]].set(-v) if twice else y


def by_records(x, y, places, width=PLACES, twice=False, used=False, masked=False):
    rows = y.reshape(-1, width).copy()
    for k, place in enumerate(places):
        value = x * (k + 1) + (rows[:, (place + 1) % width] if used else 0)
        live = np.arange(x.size) % 3 > 0 if masked and k == 1 else np.full(x.size, True)
        rows[live, place] = value[live]
    if twice:
        rows[:, places[0]] = -x
    return rows.reshape(-1)


@pytest.mark.every(10)
@pytest.mark.parametrize("gpu", [False, True])
@pytest.mark.parametrize("memory_bytes", [None, 1 << 12])
@pytest.mark.parametrize("static", [{}, {"twice": True}, {"used": True}, {"masked": True}])
@pytest.mark.parametrize("places", [(0, 1, 2, 3, 4), (4, 3, 2, 1, 0), (1, 2), (0, 2, 4), (3, 0, 4, 1, 2), (2, 2, 1)])
def test_components_that_are_stored(places, static, memory_bytes, gpu):
    rng = np.random.default_rng(len(places))
    x = rng.integers(1000, size=WORK_ITEMS, dtype=np.int32)
    y = rng.integers(1000, size=PLACES * WORK_ITEMS, dtype=np.int32)
    nd_range, expected = xe.NDRange(WORK_ITEMS, 64), by_records(x, y, places, **static)
    found = xe.launch(components, nd_range, memory_bytes=memory_bytes)(x, y, places=places, **static)
    np.testing.assert_array_equal(found, expected)
    if gpu:
        (found,) = run(on_a_gpu(components, nd_range, (x, y), {"places": places, **static}), (x, y))
        np.testing.assert_array_equal(found, expected)


def stores(static):
    """How often a launch stores to three components."""
    x, y = np.arange(WORK_ITEMS, dtype=np.int32), np.zeros(3 * WORK_ITEMS, np.int32)
    static = {"places": (0, 1, 2), "width": 3, **static}
    ready = prepared(components, xe.NDRange(WORK_ITEMS, 64), (x, y), static)
    text = str(jax.make_jaxpr(ready.emit)(x, y))
    return text.count("= scatter[") + text.count("= dynamic_update_slice")


def test_components_side_by_side_are_stored_at_once():
    assert stores({}) == 1
    assert stores({"masked": True}) == stores({"used": True}) == 3


@xe.kernel
def quarters(wg, x, y):
    """A group fills a row, each work-item every 64th element."""
    row, lid = wg.group_id(), wg.local_id()
    for k in range(4):
        y = y.at[row, lid + k * wg.size].set(x[row] + k)
    return y


def test_stores_that_leave_no_gaps_are_made_alone():
    """A store of work-items side by side is a copy, which a row of them would make one of element after element."""
    x, y = np.arange(64, dtype=np.int32), np.zeros((64, 256), np.int32)
    ready = prepared(quarters, xe.NDRange(64 * 64, 64), (x, y))
    text = str(jax.make_jaxpr(ready.emit)(x, y))
    assert "concatenate" not in text
    assert text.count("= dynamic_update_slice") + text.count("= scatter[") == 4
    np.testing.assert_array_equal(run(ready, (x, y))[0], x[:, None] + np.arange(256) // 64)


@xe.kernel
def pairs(wg, x, y):
    i = wg.global_id(0)
    return y.at[i, 0].set(x[i]).at[i, 1].set(2 * x[i]).at[i, 2].set(x[i] + 1)


@pytest.mark.parametrize(("items", "size"), [(4096, 4096), (4096, 4000), (64, 64), (48, 47)])
def test_rows_of_a_matrix(items, size):
    """Beyond the end nothing is stored."""
    x = np.arange(items, dtype=np.float32)
    found = xe.launch(pairs, xe.NDRange(items, 16))(x, np.zeros((size, 3), np.float32))
    np.testing.assert_array_equal(found, np.stack([x, 2 * x, x + 1], 1)[:size])


@xe.kernel
def records_in_a_loop(wg, x, y):
    """Each iteration stores two elements of a row of its own."""
    i = wg.global_linear_id()

    def step(k, y):
        return y.at[k, 2 * i].set(x[i] + k).at[k, 2 * i + 1].set(x[i] * k)

    return lax.fori_loop(0, y.shape[0], step, y)


def test_records_in_a_loop():
    x = np.arange(1024, dtype=np.int32)
    found = xe.launch(records_in_a_loop, xe.NDRange(1024, 64))(x, np.zeros((6, 2048), np.int32))
    k = np.arange(6, dtype=np.int32)[:, None]
    np.testing.assert_array_equal(found, np.stack([x + k, x * k], 2).reshape(6, -1))


@xe.kernel
def under_one_mask(wg, x, y):
    i = wg.global_linear_id()
    live = x[i] > 3
    for k in range(3):
        y = y.at[3 * i + k].set(x[i] + k, where=live)
    return y


def test_stores_under_one_mask_are_one():
    x, y = np.arange(64, dtype=np.int32) % 7, -np.ones(192, np.int32)
    ready = prepared(under_one_mask, xe.NDRange(64, 16), (x, y))
    assert sum(op.name == ops.STORE for op in ready.analysed.task.program.body.ops) == 1
    expected = np.where(x[:, None] > 3, x[:, None] + np.arange(3), -1).reshape(-1)
    np.testing.assert_array_equal(run(ready, (x, y))[0], expected)


@pytest.mark.parametrize("gpu", [False, True])
def test_numbers_are_those_of_the_memory_s_dtype_and_zeros_keep_their_signs(gpu):
    @xe.kernel
    def kernel(wg, x, counts, zeros):
        i = wg.global_linear_id()
        narrow = x[i].astype(jnp.uint8)
        counts = counts.atomic[x[i]].sub(narrow).atomic[x[i] + 1].add(narrow)
        return counts, zeros.at[2 * i].set(-0.0).at[2 * i + 1].set(0.0)

    x, counts, zeros = np.arange(32, dtype=np.int32) % 5, np.zeros(6, np.int32), np.ones(64, np.float32)
    ready = (on_a_gpu if gpu else prepared)(kernel, xe.NDRange(32, 16), (x, counts, zeros))
    found, signs = run(ready, (x, counts, zeros))
    np.subtract.at(counts, x, x)
    np.add.at(counts, x + 1, x)
    np.testing.assert_array_equal(found, counts)
    np.testing.assert_array_equal(np.signbit(signs), np.arange(64) % 2 == 0)

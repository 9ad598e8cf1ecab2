"""Loads of what is in a register already are in no count, and loads wait for stores to what may be the same memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

SIZE, GROUPS, STEPS = 32, 4, 8
N = xe.NDRange(SIZE * GROUPS, SIZE)
X = jax.ShapeDtypeStruct((STEPS * SIZE * GROUPS,), np.dtype(np.float32))
OUT = jax.ShapeDtypeStruct((SIZE * GROUPS,), np.dtype(np.float32))

HEAD = "kernel void k(global float *{0}x, global float *{0}y, global {1} *{0}z) {{ int i = get_global_id(0); "


def loads(source, *, restrict="", other="float"):
    """Loads of `x` and of `y` that a sub-group makes, in the mean."""
    kernel = xe.load(HEAD.format(restrict, other) + source + "}")["k"]
    z = jax.ShapeDtypeStruct(OUT.shape, {"float": np.float32, "int": np.int32, "char": np.int8}[other])
    report = xe.estimate(kernel, N, device="h200")(X, OUT, z)
    made = [[s.requests for s in report.sites if (s.memory, s.op) == (name, "load")] for name in "xy"]
    return [sum(each) / GROUPS for each in made]


CASES = [
    ("y[i] = x[i] * x[i];", [1, 0]),
    ("y[i] = x[i + 1]; z[i] = x[1 + i];", [2, 0]),  # y may be x
    ("y[i] = x[i]; y[i] += 1;", [1, 0]),  # what was stored
    ("y[i] = x[i]; y[i + 1] = x[i]; z[i] = y[i];", [2, 0]),  # another element of y
    ("y[i] = x[i]; y[2 * i] = 1; z[i] = y[i];", [1, 1]),  # it may be the same
    ("if (i < 70) { y[i] = x[i]; z[i] = x[0]; } if (i < 50) z[i] = y[i];", [2 * 3 / 4, 2 / 4]),  # z may be y
    ("float a = 0; if (i < 70) a = x[i]; if (i < 50) a += x[i]; y[i] = a;", [3 / 4 + 2 / 4, 0]),  # other lanes
    ("float a = 0; if (i < 70) a = x[i]; if ((i < 70) & (i != 50)) a += x[i]; y[i] = a;", [3 / 4, 0]),  # some of them
    ("float a = 0; if ((i < 70) & (i != 50)) a = x[i]; if (i < 70) a += x[i]; y[i] = a;", [2 * 3 / 4, 0]),
    ("float a = 0; if (i & 6) a = x[i]; if ((i & 6) & 3) a += x[i]; y[i] = a;", [2, 0]),  # numbers
    ("float a = 0; if (i < 70) { a = x[i]; if (a > 0) a += x[i] * a; } y[i] = a;", [3 / 4, 0]),
    ("y[i] = x[i]; barrier(CLK_GLOBAL_MEM_FENCE); z[i] = y[i] + x[i];", [2, 1]),
    ("y[i] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); z[i] = y[i] + x[i];", [2, 1]),  # whatever it fences
    ("float a = 0; for (int k = 0; k < 8; k++) a += x[i] * x[i + k]; y[i] = a;", [9, 0]),
    ("for (int k = 0; k < 8; k++) y[i] += x[i + 128 * k];", [8, 1]),
    ("y[i] = 0; for (int k = 0; k < 8; k++) y[i] += x[i + 128 * k];", [8, 0]),
    ("for (int k = 0; k < 8; k++) { y[i] += x[i + 128 * k]; z[i] = k; }", [8, 8]),  # z may be y
    ("for (int k = 0; k < 8; k++) { y[i] += x[i]; y[k] = 0; }", [8, 8]),
]


@pytest.mark.parametrize(("source", "expected"), CASES)
def test_loads_of_pointers(source, expected):
    assert loads(source) == expected


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize(("source", "expected"), CASES)
def test_a_run_leaves_out_the_same_loads(source, expected):
    """Of the same places, which are data: those of `x`, `y` and `z` are known to the run alone."""
    kernel = xe.load(HEAD.format("", "float").replace("y,", "y, constant int *at,") + "i = at[i]; " + source + "}")["k"]
    x, out = (np.zeros(s.shape, s.dtype) for s in (X, OUT))
    at = np.arange(SIZE * GROUPS, dtype=np.int32)
    _, report = xe.profile(kernel, N, device="h200")(x, out, at, out)
    assert not any(site.closed_form for site in report.sites if site.memory in "xy")
    made = [[s.requests for s in report.sites if (s.memory, s.op) == (name, "load")] for name in "xy"]
    assert [sum(each) / GROUPS for each in made] == expected


@pytest.mark.thorough
def test_a_run_counts_what_a_loop_loads_once():
    """By each group that has an iteration, of so many as data say, one inside the other."""
    source = """kernel void k(global float *x, global int *n, global int *at, global float *y) {
        int i = get_global_id(0); float a = 0;
        for (int k = 0; k < n[get_group_id(0)]; k++) a += x[at[i]] * x[i + k];
        for (int k = 0; k < n[get_group_id(0)]; k++) for (int j = 0; j < n[1]; j++) a += x[i + j] * at[i + k];
        y[i] = a; }"""
    n, at = np.array([0, 3, 5, 2], np.int32), np.arange(SIZE * GROUPS + 2, dtype=np.int32)
    x, y = (np.zeros(shape, np.float32) for shape in (X.shape, OUT.shape))
    _, report = xe.profile(xe.load(source)["k"], N, device="h200")(x, n, at, y)
    requests = {(s.memory, s.line): s.requests for s in report.sites if s.op == "load"}
    assert requests == {("n", 3): 4, ("at", 3): 3, ("x", 3): 3 + 10, ("n", 4): 3, ("at", 4): 10, ("x", 4): 3 * 10}


@pytest.mark.thorough
def test_a_loop_that_need_not_begin_leaves_nothing_in_registers():
    """Inside another one, too, of which data decide as well."""
    source = """kernel void k(global const int *restrict n, global const float *restrict x, global float *restrict y) {
        int i = get_global_id(0); float a = 0;
        for (int k = 0; k < n[get_group_id(0)]; k++) {
            for (int j = 0; j < n[0]; j++) a += x[i];
            a += x[i] * k;
        }
        y[i] = a; }"""
    n, x, y = np.array([0, 3, 5, 2], np.int32), np.zeros(X.shape, np.float32), np.zeros(OUT.shape, np.float32)
    _, report = xe.profile(xe.load(source)["k"], N, device="h200")(n, x, y)
    assert {s.line: s.requests for s in report.sites if s.memory == "x" and s.op == "load"} == {4: 0, 5: 3}


@pytest.mark.thorough
@pytest.mark.parametrize("place", ["q[i + 2]", "q[(i + 1) + 1]", "q[2 + i]"])
def test_what_is_stored_is_loaded_anew_however_its_place_is_written(place):
    source = "kernel void k(global int *restrict q, global float *restrict p, global float *restrict y) {"
    source += f"int i = get_global_id(0); float a = p[q[i + 2]]; {place} = 9; y[i] = a + p[q[i + 2]]; }}"
    q, p, y = np.arange(4 * SIZE * GROUPS, dtype=np.int32) % 7, np.zeros(X.shape, np.float32), np.zeros(128, np.float32)
    _, report = xe.profile(xe.load(source)["k"], N, device="h200")(q, p, y)
    made = [sum(s.requests for s in report.sites if (s.memory, s.op) == (name, "load")) for name in "qp"]
    assert made == [GROUPS, 2 * GROUPS]


LOOPS_THAT_STORE = [
    ("y[i] = x[i]; {loop} y[i + 1] = k; z[i] = y[i];", [1, 0]),  # another element
    ("y[i] = x[i]; {loop} y[i + k] = k; z[i] = y[i];", [1, 1]),
    ("y[i] = x[i]; {loop} {{ z[i + k] = y[i]; y[i + 1] = k; }}", [1, 0]),
    ("y[i] = x[i]; {loop} {{ z[i + k] = y[i]; y[k] = k; }}", [1, STEPS]),
    ("{loop} {{ z[i + k] = y[i]; y[i + 1] = k; }}", [0, 1]),
    ("{loop} {{ z[i + k] = y[i]; y[i + 1] = k; }} z[i] = y[i] + y[i + 1];", [0, 1]),
    ("z[i] = y[i]; {loop} {{ z[i + k] = y[i]; *(volatile global float *)&y[i] = k; }}", [0, 1 + STEPS]),
    ("y[i] = x[i]; if (get_group_id(0) > 1) {loop} y[i] = k; z[i] = y[i];", [1, 0]),  # either way
    ("y[i] = x[i]; if (get_group_id(0) > 1) {loop} y[k] = k; z[i] = y[i];", [1, 1]),
    ("y[i] = x[i]; {loop} {{ if (k > i) y[i + 1] = k; for (int j = 0; j < k; j++) y[i] += 2; }} z[i] = y[i];", [1, 0]),
]


@pytest.mark.parametrize(("source", "expected"), LOOPS_THAT_STORE)
def test_loops_leave_in_registers_what_they_do_not_store_to(source, expected):
    made = loads(source.format(loop=f"for (int k = 0; k < {STEPS}; k++)"), restrict="restrict ")
    assert made == expected


VECTORS = [
    ("v[g] = (float4)(x[i]); a = v[g];", [1, 0]),  # all load what each has stored
    ("v[i] = (float4)(x[i]); a = v[i];", [1, 0]),
    ("v[g] = (float4)(x[i]); a.s0 = y[4 * g + 3];", [1, 0]),
    ("a = v[g]; if (i > 3) a += v[g];", [0, 1]),
    ("a = v[g]; a.s1 += y[g * 4] + y[g * 4 + 4];", [0, 2]),
    ("a.s0 = y[4 * g]; a.s1 = y[4 * g + 1]; a += v[g];", [0, 3]),
    ("v[g] = (float4)(x[i]); y[4 * g + 1] = 0; a = v[g];", [1, 1]),
    ("v[g] = (float4)(x[i]); y[4 * g + 4] = 0; a = v[g];", [1, 0]),
]


@pytest.mark.parametrize(("source", "expected"), VECTORS)
def test_elements_of_vectors_are_places(source, expected):
    source = f"int g = get_group_id(0); global float4 *v = (global float4 *)y; float4 a = (float4)(0); {source}"
    assert loads(source + " z[i] = a.s0 + a.s1 + a.s2 + a.s3;", restrict="restrict ") == expected


VOLATILE = [
    ("volatile global float *v = x; y[i] = v[i] + v[i];", [2, 0]),
    ("volatile global float *v = x; y[i] = v[i] + x[i] + x[i];", [2, 0]),  # only what goes through it
    ("y[i] = *(volatile global float *)&x[i] + x[i] + x[i];", [2, 0]),
    ("volatile global float *v = x; v[i]; y[i] = 1;", [1, 0]),  # though nobody uses it
    ("volatile global float *v = y; v[i] = x[i]; z[i] = y[i] + v[i];", [1, 2]),
    ("volatile global float *v = y; y[i] = x[i]; z[i] = y[i] + v[i];", [1, 1]),
    ("volatile global float *v = x; for (int k = 0; k < 8; k++) z[i] = v[i];", [8, 0]),
    ("struct { volatile global float *at; } v = {x}; y[i] = v.at[i] + v.at[i];", [2, 0]),
    ("volatile local float t[32]; t[i & 31] = x[i]; y[i] = t[i & 31] + x[i];", [1, 0]),
]


@pytest.mark.parametrize(("source", "expected"), VOLATILE)
def test_what_is_volatile_is_accessed_each_time(source, expected):
    assert loads(source, restrict="restrict ") == expected


@pytest.mark.parametrize("declared", ["volatile float a[4]", "volatile float4 a", "volatile struct { float f[4]; } a"])
def test_volatile_variables_are_in_memory(declared):
    """Others of the same size are in registers."""
    element = {"]": "a[{}]", "a": "a.s{}"}[declared[-1]] if "struct" not in declared else "a.f[{}]"
    source = "; ".join(f"{element.format(k)} = x[i]" for k in range(4)) + f"; y[i] = {element.format(3)};"
    for text, number in ((declared, 5), (declared.replace("volatile ", ""), 0)):
        kernel = xe.load(HEAD.format("restrict ", "float") + text + "; " + source + "}")["k"]
        report = xe.estimate(kernel, N, device="h200")(X, OUT, OUT)
        assert sum(s.requests for s in report.sites if s.space == "private") == number * GROUPS


@pytest.mark.parametrize(("field", "times"), [("float", 1), ("volatile float", 2)])
def test_a_volatile_field_is_accessed_each_time(field, times):
    """The other field of the record is in a register."""
    source = f"""struct s {{ {field} f; float g; }};
        kernel void k(global struct s *restrict x, global float *restrict y) {{
        int i = get_global_id(0); x[i].g = 1; y[i] = x[i].f + x[i].f + x[i].g; }}"""
    records = np.zeros(128, [("f", np.float32), ("g", np.float32)])
    report = xe.estimate(xe.load(source)["k"], N, device="h200")(records, OUT)
    assert sum(s.requests for s in report.sites if s.op == "load") == times * GROUPS


@pytest.mark.thorough
def test_volatile_accesses_of_sycl():
    source = """#include <sycl/sycl.hpp>
        int main() { sycl::queue q;
        float *x = sycl::malloc_device<float>(256, q), *y = sycl::malloc_device<float>(256, q);
        q.parallel_for(sycl::nd_range<1>(128, 32), [=](sycl::nd_item<1> it) { int i = it.get_global_id(0);
          volatile float *v = x; float a = v[i] + v[i] + x[i] + x[i];
          y[i] = a + *(volatile float *)(y + i) + static_cast<volatile float &>(y[i]); }).wait(); }"""
    kernel = xe.load(source)["main"]
    report = xe.estimate(kernel, N, device="h200")(*(jax.ShapeDtypeStruct((256,), np.dtype(np.float32)),) * 2)
    made = {n: sum(s.requests for s in report.sites if (s.memory, s.op) == (n, "load")) for n in "xy"}
    assert made == {"x": 3 * GROUPS, "y": 2 * GROUPS}


TWO_WAYS = [
    ("4 * i + 1", "(i << 2) | 1"),
    ("i + (g + 5)", "5 + g + i"),
    ("3 * (i + 2)", "i * 3 + 6"),
    ("i - (g - 4)", "4 + (i - g)"),
    ("2 * (i % 5) + g", "g + (i % 5) * 2"),
]


@pytest.mark.parametrize(("stored", "loaded"), TWO_WAYS)
def test_a_place_is_the_same_however_it_is_written(stored, loaded):
    y = jax.ShapeDtypeStruct((1024,), np.dtype(np.float32))
    for text, made in ((loaded, 0), (f"{loaded} + g * i", 1)):
        source = (
            f"int g = get_group_id(0); y[{stored}] = 1; z[i] = y[{text}]; z[i + 1] = x[i + g]; z[i + 2] = x[g + i];"
        )
        kernel = xe.load(HEAD.format("restrict ", "float") + source + "}")["k"]
        report = xe.estimate(kernel, N, device="h200")(X, y, y)
        found = [sum(s.requests for s in report.sites if (s.memory, s.op) == (n, "load")) for n in "xy"]
        assert found == [GROUPS, made * GROUPS]


@xe.kernel(sub_group_size=32)
def of_counters(wg, x, out):
    """A vector whose place the counter of a loop tells, of 32 bits or 64, written in two ways."""
    own = jnp.arange(4, dtype=jnp.int32)[None]

    def step(k, total):
        two = x.load(own + jnp.asarray(k + 16)[None]) + x.load((own + 16) + jnp.asarray(0 + k)[None])
        return total + two.sum(-1)

    return out.at[wg.global_id()].set(lax.fori_loop(0, 5, step, jnp.zeros(32, jnp.float32)))


@pytest.mark.parametrize("out", [np.float32, np.float64])
def test_a_place_is_the_same_in_a_narrower_integer(out):
    given = jax.ShapeDtypeStruct((64,), np.dtype(np.float32)), jax.ShapeDtypeStruct((64,), np.dtype(out))
    report = xe.estimate(of_counters, xe.NDRange(64, 32), device="h200")(*given)
    (load,) = (site for site in report.sites if site.memory == "x")
    assert load.lanes == 2 * 5 * 32 * 4


@pytest.mark.parametrize(("narrow", "times"), [(np.int32, 1), (np.uint32, 2)])
def test_a_place_is_the_same_in_a_wider_integer(narrow, times):
    """No sum of numbers with a sign goes beyond the end of its type, so that it may be added up in the wider one."""

    @xe.kernel
    def kernel(wg, x, out):
        at, i = np.arange(64)[::-1], wg.local_id().astype(narrow)
        table = jnp.asarray(at, np.int64)[wg.local_id()]
        total = x[table + (i + narrow(1)).astype(np.int64)] + x[(table + 1) + i.astype(np.int64)]
        return out.at[wg.global_id()].set(total.astype(np.float64))

    wide = jax.ShapeDtypeStruct(OUT.shape, np.dtype(np.float64))
    report = xe.estimate(kernel, xe.NDRange(64, 32), device="h200")(X, wide)
    assert sum(site.requests for site in report.sites if site.op == "load") == 2 * times


LEAVING = [
    "for (int k = i % 3; k < i % 8; k++) a += x[i];",
    "for (int k = i % 8; k > i % 3; k--) a += x[i];",
    "int k = i % 3; while (k < z[i]) { a += x[i]; k++; }",
    "for (int k = 0; k < 9; k++) { if (k > i % 8) break; a += x[i]; }",
]


@pytest.mark.parametrize("loop", LEAVING)
def test_a_loop_that_work_items_leave_one_after_the_other_loads_once(loop):
    """Who is in an iteration was in those before it."""
    source = f"float a = 0; {loop} y[i] = a;"
    kernel = xe.load(HEAD.format("restrict ", "float") + source + "}")["k"]
    x, z = np.zeros(X.shape, np.float32), np.arange(128, dtype=np.float32) % 8
    _, report = xe.profile(kernel, N, device="h200")(x, z, z)
    assert sum(s.requests for s in report.sites if s.memory == "x") == GROUPS


@xe.kernel(sub_group_size=32)
def of_inner_loops(wg, x, out, *, low):
    """An element, loaded in a loop of each work-item and again in one inside of it."""
    i, lid = wg.global_id(), wg.local_id()

    def inner(_, total):
        return total + x[i]

    def outer(_, total):
        return wg.fori_loop(low, lid % 3, inner, total + x[i])

    return out.at[i].set(wg.fori_loop(low, lid % STEPS, outer, jnp.zeros(wg.size, jnp.float32)))


@pytest.mark.parametrize("low", [0, 1])
def test_work_items_in_an_inner_loop_are_in_the_outer_one(low):
    report = xe.estimate(of_inner_loops, N, device="h200")(X, OUT, low=low)
    assert [s.requests for s in report.sites if s.memory == "x"] == [GROUPS]


@xe.kernel(sub_group_size=32)
def of_some_iterations(wg, x, out):
    """An element, loaded in a loop that the last of three iterations around it does without."""
    i = wg.global_id()

    def outer(carry):
        k, total = carry
        return 2 * k, lax.fori_loop(1, (k + 1) % 5, lambda _, total: total + x[i], total)

    start = jnp.int32(1), jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.while_loop(lambda carry: carry[0] < 5, outer, start)[1])


def test_a_loop_that_one_iteration_does_without_leaves_nothing_in_registers():
    report = xe.estimate(of_some_iterations, N, device="h200")(X, OUT)
    assert [s.requests for s in report.sites if s.memory == "x"] == [2 * GROUPS]


@xe.kernel(sub_group_size=32)
def of_fewer_and_all(wg, x, out):
    """An element, loaded by some work-items in a loop of some work-groups, and then by all."""
    i, mask = wg.global_id(), wg.local_id() < 5

    def inner(_, total):
        return total + x.load((i,), where=mask)

    def outer(_, total):
        return lax.fori_loop(0, wg.group_id() % 2, inner, total) + x[i]

    return out.at[i].set(lax.fori_loop(0, STEPS, outer, jnp.zeros(wg.size, jnp.float32)))


def test_what_an_iteration_leaves_is_not_there_before_the_first():
    report = xe.estimate(of_fewer_and_all, N, device="h200")(X, OUT)
    assert [s.requests for s in report.sites if s.memory == "x"] == [GROUPS / 2, GROUPS]


@xe.kernel(sub_group_size=32)
def of_pairs(wg, x, out, *, distance):
    """Two elements of each work-item, loaded again after others have been stored so far from them."""
    i, own = wg.global_id(), jnp.arange(2)[None]
    before = x[2 * i[:, None] + own]
    x = x.at[own + 2 * i[:, None] + distance].set(before)
    return x, out.at[i].set((before + x[own + 2 * i[:, None]]).sum(-1))


@pytest.mark.parametrize(("distance", "times"), [(0, 1), (1, 2), (2, 1), (-1, 2), (-3, 1)])
def test_elements_side_by_side_may_be_stored_by_a_store_to_their_neighbours(distance, times):
    report = xe.estimate(of_pairs, N, device="h200")(X, OUT, distance=distance)
    made = sum(s.lanes for s in report.sites if (s.memory, s.op) == ("x", "load"))
    assert made == pytest.approx(times * 2 * SIZE * GROUPS, rel=0.01)


@pytest.mark.parametrize("doubling", [True, False])
def test_a_loop_of_which_the_launch_tells_that_it_is_empty_stores(doubling):
    """To a compiler, which does not know how many groups there are."""

    @xe.kernel
    def kernel(wg, x, out):
        i, none = wg.global_id(), wg.group_id() // GROUPS
        total = x[i]
        store = lambda k, x: x.at[3 * i + k].set(1.0)  # noqa: E731
        if doubling:
            _, x = lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] // 2, store(*c)), (none, x))
        else:
            x = lax.fori_loop(0, none, store, x)
        return x, out.at[i].set(total * x[i])

    report = xe.estimate(kernel, N, device="h200")(X, OUT)
    assert [(site.op, site.memory, site.requests) for site in report.sites] == [
        ("load", "x", GROUPS),
        ("store", "x", 0),
        ("load", "x", GROUPS),
        ("store", "out", GROUPS),
    ]


@pytest.mark.parametrize("own", [True, False])
def test_vectors_of_a_group_are_apart_by_constants_as_those_of_work_items_are(own):
    @xe.kernel
    def kernel(wg, x, out):
        row = 4 * wg.local_id() if own else 4 * (wg.group_id() % 2)
        four = np.arange(4)[None]
        place = lambda constant: jnp.asarray(row)[..., None] + four + constant  # noqa: E731
        total = x[place(16)]
        x = x.at[place(200)].set(1.0)
        return x, out.at[wg.global_id()].set((total + x[place(16)] + x[place(200)]).sum(-1))

    report = xe.estimate(kernel, N, device="h200")(X, OUT)
    assert len([site for site in report.sites if site.op == "load"]) == 1


def test_a_loop_loads_again_where_it_stores_for_some():
    source = "for (int k = 0; k < 8; k++) { if (i & 1) y[i] = k; z[i] += y[i]; }"
    assert loads(source, restrict="restrict ") == [0, 8]


@pytest.mark.parametrize(("restrict", "other"), [("restrict ", "float"), ("", "int")])
def test_pointers_to_other_memory(restrict, other):
    """`restrict` tells, and other types do."""
    source = "for (int k = 0; k < 8; k++) { y[i] += x[i + 128 * k]; z[i] = k; }"
    assert loads(source, restrict=restrict, other=other) == [8, 1]
    assert loads(source, other="char") == [8, 8]  # bytes are of anything


def test_constant_memory_is_no_other():
    head = HEAD.format("", "float").replace("global float *x", "constant float *x")
    kernel = xe.load(head + "y[i] = x[i]; z[i] = x[i]; }")["k"]
    report = xe.estimate(kernel, N, device="h200")(X, OUT, OUT)
    assert [s.requests for s in report.sites if s.memory == "x"] == [GROUPS]


@xe.kernel(sub_group_size=32)
def of_values(wg, x, out, *, nested):
    """Loads of a place that no loop changes."""
    i = wg.global_id()

    def inner(k, total):
        return total + x[i] * x[i + (k + 1) * SIZE * GROUPS]

    def outer(_, total):
        return lax.fori_loop(0, STEPS - 1, inner, total)

    zeros = jnp.zeros(wg.size, jnp.float32)
    return out.at[i].set(lax.fori_loop(0, 3, outer, zeros) if nested else outer(0, zeros))


def test_a_place_that_no_loop_changes_is_loaded_once():
    for nested, times in ((False, 1), (True, 3)):
        report = xe.estimate(of_values, N, device="h200")(X, OUT, nested=nested)
        assert sum(s.requests for s in report.sites if s.memory == "x") == GROUPS * (1 + times * (STEPS - 1))


def test_a_load_waits_for_what_is_stored_where_it_may_load():
    """Iterations that may not pass one another have their loads under way one at a time, others four."""
    source = "for (int k = 0; k < 64; k++) y[i] += x[i + 128 * k];"
    x = jax.ShapeDtypeStruct((64 * SIZE * GROUPS,), np.dtype(np.float32))
    latencies = []
    for restrict in ("", "restrict "):
        kernel = xe.load(HEAD.format(restrict, "float") + source + "}")["k"]
        report = xe.estimate(kernel, N, device="h200")(x, OUT, OUT)
        latencies.append(next(term.work for term in report.terms if term.resource == "latency"))
    assert 3 < latencies[0] / latencies[1] < 4

"""Private arrays of OpenCL C that are accessed at known elements alone are in registers, all others in a memory."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

TEXT = """
kernel void rows(global float *out, global const float *in)
{
    int i = get_global_id(0);
    float acc[4][2];
    #pragma unroll
    for (int r = 0; r < 4; ++r)
        for (int c = 0; c < 2; ++c)
            acc[r][c] = 0;
    for (int k = 0; k < 10; ++k) {
        #pragma unroll
        for (int r = 0; r < 4; ++r)
            for (int c = 0; c < 2; ++c)
                acc[r][c] += in[k * 8 + r * 2 + c] * i;
    }
    float t = 0;
    for (int r = 0; r < 4; ++r)
        t += acc[r][0] * acc[r][1];
    if (i & 1)
        acc[2][0] = 7;
    out[i] = t + acc[2][0];
}

kernel void vectors(global float *out)
{
    int i = get_global_id(0);
    float4 v[2];
    v[0] = (float4)(i, 1, 2, 3);
    v[1] = v[0] * 2;
    v[1].y = 5;
    out[i] = v[1].x + v[1].y * v[0].w;
}

int sum(int x)
{
    int t[3];
    t[0] = x; t[1] = 2 * x;
    if (x > 5) return t[1];
    t[2] = 3;
    return t[0] + t[2];
}

kernel void called(global int *out) { int i = get_global_id(0); out[i] = sum(i) + sum(2 * i); }

kernel void one_of_two(global int *out)
{
    int i = get_global_id(0), p[4] = {1, 2, 3}, q[3];
    q[0] = i; q[1] = 2 * i; q[2] = p[i & 3];
    for (int j = 0; j < 3; ++j) p[j] = q[j];
    out[i] = p[0] + 10 * p[1] + 100 * p[2] + p[i & 3];
}

kernel void in_a_loop(global int *out)
{
    int i = get_global_id(0), p[2];
    for (int k = 0; k < 9; ++k) { p[0] = k; p[1] = i; out[i] += p[0] * p[1]; }
}

kernel void median(global int *out)
{
    int i = get_global_id(0), v[9];
    for (int k = 0; k < 9; k++) v[k] = (i * (k + 3)) % 11;
    for (int r = 0; r < 9; r++)
        for (int k = 8; k > 0; k--)
            if (v[k] < v[k - 1]) { int t = v[k]; v[k] = v[k - 1]; v[k - 1] = t; }
    out[i] = v[4];
}

kernel void tile(global float *out, global const float *in)
{
    int i = get_global_id(0);
    float acc[8][8] = {0};
    for (int k = 0; k < 10; ++k) {
        float x[8];
        for (int r = 0; r < 8; ++r) x[r] = in[k * 8 + r];
        for (int r = 0; r < 8; ++r)
            for (int c = 0; c < 8; ++c)
                acc[r][c] += x[r] * x[c] * i;
    }
    float t = 0;
    for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c)
            t += acc[r][c] * (r - c + 1);
    out[i] = t;
}

kernel void inserted(global int *out)
{
    int i = get_global_id(0), v[6];
    for (int k = 0; k < 6; k++) {
        int x = (i * (k + 3)) % 11, j = k;
        for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
        v[j] = x;
    }
    out[i] = v[3];
}

kernel void many(global int *out)
{
    int i = get_global_id(0), v[100];
    for (int k = 0; k < 100; k++) v[k] = i + k;
    out[i] = v[3] + v[99];
}

kernel void asked(global int *out)
{
    int i = get_global_id(0), v[100];
    #pragma unroll
    for (int k = 0; k < 100; k++) v[k] = i + k;
    out[i] = v[3] + v[99];
}

kernel void asked_not_to(global int *out)
{
    int i = get_global_id(0), v[8];
    #pragma nounroll
    for (int k = 0; k < 8; k++) v[k] = i + k;
    out[i] = v[3] + v[7];
}

void twice(int *p) { p[1] = 2 * p[0]; }

kernel void passed(global int *out) { int i = get_global_id(0), p[2]; p[0] = i; twice(p); out[i] = p[1]; }

kernel void unset(global int *out)
{
    int i = get_global_id(0), p[3];
    p[0] = 1;
    if (i > 5) p[2] = 3;
    out[i] = p[2];
}

kernel void beyond(global int *out) { int i = get_global_id(0), p[2]; p[0] = 1; p[1] = i; out[i] = p[2]; }
"""
N, ITEMS = xe.NDRange(64, 64), np.arange(64)
IN = (np.arange(80) % 7).astype(np.float32)


@pytest.fixture(scope="module")
def kernels():
    return xe.load(TEXT)


def rows():
    acc = IN.reshape(10, 4, 2).sum(0) * ITEMS[:, None, None]
    return (acc[:, :, 0] * acc[:, :, 1]).sum(1) + np.where(ITEMS & 1, 7, acc[:, 2, 0])


def sums(x):
    return np.where(x > 5, 2 * x, x + 3)


def one_of_two():
    p = np.stack([ITEMS, 2 * ITEMS, np.array([1, 2, 3, 0])[ITEMS & 3], 0 * ITEMS], 1)
    return p[:, 0] + 10 * p[:, 1] + 100 * p[:, 2] + p[ITEMS, ITEMS & 3]


def drawn(count):
    return np.sort(ITEMS[:, None] * np.arange(3, 3 + count) % 11)


def tile():
    products = IN.reshape(10, 8).T @ IN.reshape(10, 8)
    return (products * (np.arange(8)[:, None] - np.arange(8) + 1)).sum() * ITEMS


@pytest.mark.parametrize(
    ("name", "arguments", "expected", "memories"),
    [
        ("rows", [np.zeros(64, np.float32), IN], rows(), []),
        ("vectors", [np.zeros(64, np.float32)], 2 * ITEMS + 15, []),
        ("called", [np.zeros(64, np.int32)], sums(ITEMS) + sums(2 * ITEMS), []),
        ("one_of_two", [np.zeros(64, np.int32)], one_of_two(), ["p"]),
        ("in_a_loop", [np.zeros(64, np.int32)], 36 * ITEMS, ["p"]),
        ("median", [np.zeros(64, np.int32)], drawn(9)[:, 4], []),
        ("tile", [np.zeros(64, np.float32), IN], tile(), []),
        ("inserted", [np.zeros(64, np.int32)], drawn(6)[:, 3], ["v"]),
        ("many", [np.zeros(64, np.int32)], 2 * ITEMS + 102, ["v"]),
        ("asked", [np.zeros(64, np.int32)], 2 * ITEMS + 102, []),
        ("asked_not_to", [np.zeros(64, np.int32)], 2 * ITEMS + 10, ["v"]),
        ("passed", [np.zeros(64, np.int32)], 2 * ITEMS, ["p"]),
    ],
)
def test_results_and_memories(kernels, name, arguments, expected, memories):
    out, findings = xe.check(kernels[name], N)(*arguments)
    np.testing.assert_array_equal(out, expected)
    assert findings == ()
    lines = str(xe.trace(kernels[name], N)(*arguments)).splitlines()
    assert [line.split()[1].rstrip(":") for line in lines if line.startswith("  private")] == memories


@pytest.mark.parametrize(("name", "kind"), [("unset", "uninitialized-read"), ("beyond", "out-of-bounds")])
def test_what_is_wrong_with_them_is_still_found(kernels, name, kind):
    _, findings = xe.check(kernels[name], N)(np.zeros(64, np.int32))
    assert [(f.kind, f.memory) for f in findings] == [(kind, "p")]


LOOPS = """
kernel void largest(global const float *a, global float *o, int n)
{
    int i = get_global_id(0);
    float v[9];
    UNROLL
    for (int k = 0; k < 9; k++) v[k] = a[i + k * n];
    float m = v[0];
    UNROLL
    for (int k = 1; k < 9; k++) m = fmax(m, v[k]);
    o[i] = m;
}
"""


def test_a_loop_over_an_array_costs_what_it_does_written_out():
    a, o = np.zeros(64 * 9, np.float32), np.zeros(64, np.float32)
    plain, asked = (
        xe.estimate(xe.load(LOOPS.replace("UNROLL", pragma))["largest"], N)(a, o, 64)
        for pragma in ("", "#pragma unroll")
    )
    assert [site.memory for site in plain.sites] == ["a", "o"]
    assert plain.time_s == asked.time_s


@pytest.mark.parametrize(("steps", "in_memory"), [(8, False), (64, False), (65, True)])
def test_arrays_that_short_loops_go_through_are_in_registers(steps, in_memory):
    """Of a function that gets a pointer to them, where compilers write the loops out; data keep an array in memory."""
    source = f"""
    void filled(float *own, global float *x) {{ for (int k = 0; k < {steps}; k++) own[k] = x[128 * k]; }}
    kernel void k(global float *x, global const int *at, global float *y) {{
        int i = get_global_id(0); float own[{steps}], total = 0;
        filled(own, x + i);
        for (int k = 0; k < {steps}; k++) total += own[{steps - 1} - k] * k;
        y[i] = total; }}
    """
    of = {False: source, True: source.replace("* k;", "* own[at[k] & 3];")}
    floats, ints = (jax.ShapeDtypeStruct((128 * steps,), np.dtype(dtype)) for dtype in ("float32", "int32"))
    for by_data, text in of.items():
        report = xe.estimate(xe.load(text)["k"], xe.NDRange(128, 32), device="h200")(floats, ints, floats)
        assert any(site.space == "private" for site in report.sites) == (in_memory or by_data)


@xe.kernel
def taken_from(wg, x, n, *, known=None):
    """Fills an array of each work-item, and takes one of its elements."""
    i, own = wg.global_id(), wg.private(8, jnp.float32)
    own = lax.fori_loop(0, 8, lambda k, own: own.at[k].set(x[64 * k + i]), own)
    return x.at[i].set(own[n if known is None else known])


@pytest.mark.parametrize("known", [5, None])
def test_an_array_is_in_memory_where_an_argument_tells_what_is_taken_from_it(known):
    report = xe.estimate(taken_from, N, device="h200")(np.zeros(512, np.float32), 5, known=known)
    assert any(site.space == "private" for site in report.sites) == (known is None)


FILL = "for (int k = 0; k < 9; k++) v[k] = x[i + k];"


@pytest.mark.parametrize(
    ("body", "in_memory"),
    [
        (f"{FILL} total = n + v[3] * n;", False),
        ("int k = 0; while (k < 9) { v[k] = x[i + k]; k++; } for (k = 0; k < 9; k++) total += v[k];", False),
        (f"{FILL} total = v[n];", True),
        (f"{FILL} int m = 2 * n + 1; total = v[min(m, 8)];", True),
        (f"{FILL} float *p = v + n; total = p[1];", True),
        ("for (int k = 0; k < n; k++) v[k] = x[i + k]; for (int k = 0; k < n; k++) total += v[k];", True),
        ("int k = 0; while (k < n) { v[k] = x[i + k]; k++; } total = v[2];", True),
        ("for (int k = 0; k < n; k++) v[0] += x[i + k]; total = v[0];", False),
    ],
)
@pytest.mark.parametrize("n", [3, 7])
def test_what_an_argument_tells_no_compiler_knows(body, in_memory, n):
    """Of C, where the kernel is traced with the number: as an index, and as the end of a loop that fills an array."""
    source = f"""kernel void k(global const float *x, global float *y, int n) {{
        int i = get_global_id(0); float v[9], total = 0; {body} y[i] = total; }}"""
    kernel = xe.load(source)["k"]
    report = xe.estimate(kernel, xe.NDRange(128, 32), device="h200")(np.ones(256, np.float32), *_y(), n)
    assert {site.memory for site in report.sites if site.space == "private"} == ({"v"} if in_memory else set())
    known = xe.load(source.replace("int n)", ")").replace(", )", ")").replace("float v", f"int n = {n}; float v"))["k"]
    launched = (
        xe.launch(which, xe.NDRange(128, 32))(np.ones(256, np.float32), *_y(), *more)
        for which, more in ((kernel, [n]), (known, []))
    )
    np.testing.assert_array_equal(*launched)


def _y():
    return [np.zeros(128, np.float32)]


def test_loops_that_an_argument_ends_load_again_what_is_in_no_register():
    """What two loops of as many iterations load each from the same places, if no compiler knows how many."""
    source = """kernel void k(global const float *x, global float *y, int n) {
        float total = 0;
        for (int k = 0; k < END; k++) total += x[k];
        for (int k = 0; k < END; k++) total *= x[k];
        y[get_global_id(0)] = total; }"""
    loads = {}
    for end in ("3", "n"):
        report = xe.estimate(xe.load(source.replace("END", end))["k"], N)(np.zeros(64, np.float32), *_y(), 3)
        loads[end] = sum(site.requests for site in report.sites if site.op == "load")
    assert loads["n"] == 2 * loads["3"]


@xe.kernel
def walked(wg, x, *, uniform):
    """Doubles a counter to a constant, or to one of the work-group; an array has an element for each iteration."""
    i, own = wg.global_id(), wg.private(8, jnp.float32)
    end = 4 if uniform else wg.group_id() + 3

    def step(carry):
        k, own = carry
        return 2 * k, own.at[k].set(x[i])

    _, own = lax.while_loop(lambda carry: carry[0] < end, step, (jnp.int32(1), own))
    return x.at[i].set(own[2])


@pytest.mark.parametrize("uniform", [True, False])
def test_an_array_is_in_memory_where_only_work_groups_know_how_often_a_loop_is_repeated(uniform):
    report = xe.estimate(walked, xe.NDRange(128, 32), device="h200")(np.zeros(128, np.float32), uniform=uniform)
    assert any(site.space == "private" for site in report.sites) == (not uniform)


def test_an_array_is_in_registers_where_a_loop_that_ends_anew_each_time_takes_one_element():
    """Another one in each iteration of the outer loop, which compilers write out, and one in the inner."""

    @xe.kernel
    def kernel(wg, x):
        i, own = wg.global_id(), wg.private(16, jnp.float32)

        def outer(k, carry):
            own, total = carry
            own = own.at[4 + k].set(x[i])
            _, total = lax.while_loop(
                lambda c: c[0] < (k + 1) % 8, lambda c: (c[0] + 1, c[1] + own[k + 1]), (jnp.int32(2), total)
            )
            return own, total

        return x.at[i].set(lax.fori_loop(0, 8, outer, (own, jnp.zeros(wg.size, jnp.float32)))[1])

    report = xe.estimate(kernel, xe.NDRange(128, 32), device="h200")(np.zeros(128, np.float32))
    assert {site.space for site in report.sites} == {"global"}

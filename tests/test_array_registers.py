"""Private arrays of OpenCL C that are accessed at known elements alone are in registers, all others in a memory."""

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("name", "arguments", "expected", "memories"),
    [
        ("rows", [np.zeros(64, np.float32), IN], rows(), []),
        ("vectors", [np.zeros(64, np.float32)], 2 * ITEMS + 15, []),
        ("called", [np.zeros(64, np.int32)], sums(ITEMS) + sums(2 * ITEMS), []),
        ("one_of_two", [np.zeros(64, np.int32)], one_of_two(), ["p"]),
        ("in_a_loop", [np.zeros(64, np.int32)], 36 * ITEMS, ["p"]),
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

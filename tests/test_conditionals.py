"""Branches that a work-group takes or leaves as a whole: JAX's own where a side loops or synchronises, else masks."""

import numpy as np
import pytest

import xeemu as xe

TEXT = """
void clear(local int *tile, int l) { for (int j = 0; j < 4; ++j) tile[4 * l + j] = j; }

kernel void sides(global int *out, int n)
{
    int l = get_local_id(0), g = get_group_id(0), t = 1, u = 5;
    if (g == n)
        for (int j = 0; j < 9; ++j) { t += j * l; if (l > 3) u = j; }
    else if (g > n) {
        for (int j = 0; j < 5; ++j) u -= g;
        t = u;
    }
    out[get_global_id(0)] = 100 * t + u;
}

kernel void met(global int *out, global const int *flags)
{
    local int tile[16];
    int l = get_local_id(0);
    tile[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (flags[get_group_id(0)]) {
        int other = tile[15 - l];
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[l] = other;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = tile[(l + 1) % 16];
}

kernel void within(global int *out, global const int *flags)
{
    local int tile[64];
    int l = get_local_id(0), i = get_global_id(0);
    clear(tile, l);
    if (l & 1) {
        if (flags[get_group_id(0)])
            for (int j = 0; j < 4; ++j) tile[4 * l + j] += 10 * l;
        else
            clear(tile, l);
    }
    for (int j = 0; j < 3; ++j)
        if (flags[get_group_id(0)]) {
            for (int k = 0; k < 2; ++k) { if (tile[4 * l + j] > 25) continue; tile[4 * l + j] += 1; }
        }
    out[i] = tile[4 * l] + 1000 * tile[4 * l + 1];
}

kernel void left(global int *out, global const int *flags)
{
    int l = get_local_id(0), t = 0;
    for (int j = 0; j < 6; ++j) {
        if (flags[get_group_id(0)]) {
            for (int k = 0; k < 3; ++k) t += k;
            if (l == j) break;
        }
    }
    out[get_global_id(0)] = t;
}
"""
N = xe.NDRange(64, 16)
LOCAL, GROUP = np.arange(64) % 16, np.arange(64) // 16
FLAGS = np.int32([0, 1, 2, 0])
FLAG = FLAGS[GROUP] > 0


@pytest.fixture(scope="module")
def kernels():
    return xe.load(TEXT)


def zeros():
    return np.zeros(64, np.int32)


def sides():
    u = np.where(GROUP == 1, np.where(LOCAL > 3, 8, 5), np.where(GROUP > 1, 5 - 5 * GROUP, 5))
    t = np.where(GROUP == 1, 1 + 36 * LOCAL, np.where(GROUP > 1, u, 1))
    return 100 * t + u


def within():
    tile = np.tile(np.arange(4), (64, 1)) + (FLAG & (LOCAL & 1 > 0))[:, None] * 10 * LOCAL[:, None]
    for j in range(3):
        for _ in range(2):
            tile[:, j] += FLAG & (tile[:, j] <= 25)
    return tile[:, 0] + 1000 * tile[:, 1]


@pytest.mark.parametrize(
    ("name", "argument", "branches", "expected"),
    [
        ("sides", 1, 4, sides()),
        ("met", FLAGS, 2, np.where(FLAG, 15 - (LOCAL + 1) % 16, (LOCAL + 1) % 16)),
        ("within", FLAGS, 4, within()),
        # Who breaks out of the loop comes out of the branch elsewhere: it stays a mask.
        ("left", FLAGS, 0, np.where(FLAG, 3 * np.minimum(LOCAL + 1, 6), 0)),
    ],
)
def test_gives_what_c_does(kernels, name, argument, branches, expected):
    out, findings = xe.check(kernels[name], N)(zeros(), argument)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(xe.launch(kernels[name], N)(zeros(), argument), expected)
    assert findings == ()
    text = str(xe.trace(kernels[name], N)(zeros(), argument))
    assert sum(line.lstrip().startswith("if ") for line in text.splitlines()) == branches


def test_a_barrier_that_work_items_do_not_all_reach_is_still_found():
    kernel = xe.load(
        "kernel void f(global int *out) { local int t[16]; int l = get_local_id(0); t[l] = l;"
        " if (l < 8) { if (get_group_id(0) == 1) barrier(CLK_LOCAL_MEM_FENCE); } out[get_global_id(0)] = t[l]; }"
    )["f"]
    _, findings = xe.check(kernel, N)(zeros())
    assert [f.kind for f in findings] == ["barrier-divergence"]
    assert findings[0].groups == ((1,),)


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ("if (l % 2) sub_group_barrier(CLK_LOCAL_MEM_FENCE);", ["barrier-divergence"]),
        ("if (get_sub_group_id()) sub_group_barrier(CLK_LOCAL_MEM_FENCE);", []),
        ("if (x[0] && l < 16) sub_group_barrier(CLK_LOCAL_MEM_FENCE);", []),
    ],
)
def test_a_barrier_of_sub_groups_is_for_all_lanes_of_one_or_none(place, found):
    kernel = xe.load(
        "__attribute__((intel_reqd_sub_group_size(16))) kernel void f(global int *x, global int *out) {"
        f" local int t[32]; int l = get_local_id(0); t[l] = l; {place} out[get_global_id(0)] = t[l]; }}"
    )["f"]
    _, findings = xe.check(kernel, xe.NDRange(64, 32))(np.ones(1, np.int32), np.zeros(64, np.int32))
    assert [f.kind for f in findings] == found

"""Variables that the header of a C loop steps beside its counter, in loops that work-items leave one after another."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

N = 32
ITEMS = np.arange(N)

# The loop, and what k and t are after it for work-item i: `t` is the sum of what the body adds.
LOOPS = {
    "for (j = 5 - i, k = 0; j < 17; j++, k++) t += 3 * k - j;": lambda i: run(5 - i, 0, lambda j: j < 17, 1, 1),
    "for (j = 0, k = i; j < i; j += 2, k -= 3) t += 3 * k - j;": lambda i: run(0, i, lambda j: j < i, 2, -3),
    "k = 7; for (j = i; j > 4; --j, k += 2) t += 3 * k - j;": lambda i: run(i, 7, lambda j: j > 4, -1, 2),
    "if (i > 9) for (j = 0, k = 1; j <= i; j++, k++) t += 3 * k - j;": lambda i: (
        run(0, 1, lambda j: j <= i, 1, 1) if i > 9 else (-1, 0)
    ),
    "for (j = i, k = 2; j < 40; k++, j += k) t += 3 * k - j;": lambda i: run(i, 2, lambda j: j < 40, None, 1),
    "for (j = 0, k = 0; j < i; j++, k += 2) { if (j % 3 == 1) continue; t += 3 * k - j; }": lambda i: run(
        0, 0, lambda j: j < i, 1, 2, lambda j: j % 3 != 1
    ),
}


def run(j, k, goes_on, step, other, counts=lambda j: True):
    t = 0
    while goes_on(j):
        t += (3 * k - j) * counts(j)
        k += other
        j += k if step is None else step
    return k, t


@pytest.mark.thorough
@pytest.mark.parametrize("loop", LOOPS)
def test_has_its_value_in_the_loop_and_after_it(loop):
    source = f"""kernel void f(global int *a, global int *b) {{
      int i = get_global_id(0), j = -1, k = -1, t = 0;
      {loop}
      a[i] = k; b[i] = t;
    }}"""
    a, b = xe.launch(xe.load(source)["f"], xe.NDRange(N, 16))(np.zeros(N, np.int32), np.zeros(N, np.int32))
    want = np.array([LOOPS[loop](i) for i in range(N)])
    np.testing.assert_array_equal(np.stack([a, b], 1), want)


def test_wraps_as_its_type_does():
    source = """kernel void f(global uchar *a, global uint *b) {
      uchar c = 250; uint u = 3; int i = get_global_id(0);
      for (int j = 0; j < i; j++, c++, u -= 2) a[j * 32 + i] = c;
      b[i] = u;
    }"""
    a, b = xe.launch(xe.load(source)["f"], xe.NDRange(N, 16))(np.zeros((N, N), np.uint8), np.zeros(N, np.uint32))
    np.testing.assert_array_equal(b, (3 - 2 * ITEMS).astype(np.uint32))
    np.testing.assert_array_equal(a, np.where(ITEMS[:, None] < ITEMS, (250 + ITEMS[:, None]) % 256, 0))


def test_its_accesses_are_counted_without_a_run():
    source = """kernel void f(global const int *a, global const int *b, global int *out) {
      int i = get_global_id(0), t = 0;
      for (int j = 32 - i, k = 0; j < 40; j++, k++) t += a[k] * b[j];
      out[i] = t;
    }"""
    kernel, x = xe.load(source)["f"], np.zeros(64, np.int32)
    counted = xe.profile(kernel, xe.NDRange(N, 16))(x, x, x)[1]
    known = xe.estimate(kernel, xe.NDRange(N, 16))(x, x, x)
    assert [(s.memory, s.lanes, s.lines) for s in known.sites] == [(s.memory, s.lanes, s.lines) for s in counted.sites]

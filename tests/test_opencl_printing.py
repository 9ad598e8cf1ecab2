"""What kernels of OpenCL C print."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

RANGE = xe.NDRange.opencl(8, 4)


def printed(statements, nd_range=RANGE, words=256):
    source = f"""
    constant char name[] = "abc";
    __kernel void say(__global int* out, __global const float* in) {{
      int i = get_global_id(0);
      {statements}
      out[i] = i;
    }}"""
    kernel = xe.load(source)["say"]
    count = nd_range.global_size[-1]
    given = np.zeros(count, np.int32), np.linspace(0, 1, count, dtype=np.float32)
    out, texts = xe.printed(kernel, nd_range, words=words)(*given)
    np.testing.assert_array_equal(out, np.arange(count))
    plain, found = xe.check(kernel, nd_range)(*given)
    assert not found
    np.testing.assert_array_equal(plain, out)
    return texts


@pytest.mark.thorough
def test_every_active_work_item_prints_in_its_own_order():
    first = r'if (i % 3 == 0) printf("%d: %.2f\n", i, in[i]);'
    texts = printed(first + "\n" + r'for (int k = 0; k < i % 3; k++) printf("-%d\n", k);')
    want = "0: 0.00\n-0\n-0\n-1\n3: 0.43\n-0\n-0\n-1\n6: 0.86\n-0\n"
    assert str(texts) == want
    assert [line.work_item for line in texts[:4]] == [(0,), (1,), (2,), (2,)]
    assert {line.line for line in texts} == {5, 6}


CONVERSIONS = {
    '"%5d|%-5d|%05d|%+d", i, i, -i, i': "    7|7    |-0007|+7",
    '"%u %x %#X %o", -i, -i, i, 8': "4294967289 fffffff9 0X7 10",
    '"%hhd %hd", (char)-1, (short)-2': "-1 -2",
    '"%ld %lu", (long)i << 40, (ulong)-1': f"{7 << 40} {2**64 - 1}",
    '"%e %g %5.1f %a", in[i], 0.5f, in[i], 1.0f': "1.000000e+00 0.5   1.0 0x1p+0",
    '"%f", (double)i / 3': "2.333333",
    '"%v4hld", (int4)(i, 1, 2, -3)': "7,1,2,-3",
    '"%.1v2hlf", (float2)(in[i], 2)': "1.0,2.0",
    '"%c%c %s %s %%", 65, \'b\', name, "text"': "Ab abc text %",
    '"%d %d", i == 7, true': "1 1",
}


def test_texts_beyond_ascii_and_escapes():
    statements = r'if (!i) { printf("é\u00a0%d\t\x41\101?\n", 3); printf("%s\n", "a" "b√"); }'
    assert str(printed(statements)) == "é\u00a03\tAA?\nab√\n"


def test_conversions():
    texts = printed("if (i == 7) {" + " ".join(f"printf({arguments});" for arguments in CONVERSIONS) + "}")
    for line, want in zip(texts, CONVERSIONS.values(), strict=True):
        assert line.text == want


def test_who_prints_too_much_is_named():
    texts = printed('if (i > 5) for (int k = 0; k < i; k++) printf("%d", k);', words=14)
    assert str(texts) == "012345" * 2
    assert texts.lost == ((7,),)


@pytest.mark.thorough
def test_in_functions_and_two_dimensions():
    source = r"""
    void say(int x) { if (x > 0) printf("%d at (%d, %d)\n", x, (int)get_global_id(0), (int)get_global_id(1)); }
    __kernel void twice(__global int* out) {
      int n = get_global_id(0) + 10 * get_global_id(1);
      out[get_global_linear_id()] = n;
      say(n % 3 - 1);
      while (n > 11) { n -= 6; say(n); }
    }"""
    kernel = xe.load(source)["twice"]
    out, texts = xe.printed(kernel, xe.NDRange.opencl((4, 2), (2, 2)))(np.zeros(8, np.int32))
    np.testing.assert_array_equal(out, [0, 1, 2, 3, 10, 11, 12, 13])
    assert str(texts) == "1 at (2, 0)\n1 at (1, 1)\n6 at (2, 1)\n7 at (3, 1)\n"
    assert texts[0].work_item == (0, 2)


def test_who_prints_nothing_is_refused():
    kernel = xe.load("__kernel void quiet(__global int* out) { *out = 1; }")["quiet"]
    with pytest.raises(xe.Error, match="quiet calls no printf"):
        xe.printed(kernel, RANGE)

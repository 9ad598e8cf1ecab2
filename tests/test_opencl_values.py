"""Variables of OpenCL C that have no value, and values that C makes of what is written."""

import numpy as np
import pytest

import xeemu as xe

N = xe.NDRange.opencl(64, 64)
A = np.arange(64, dtype=np.int32)


def kernel(body, declarations=""):
    text = f"{declarations}\nkernel void f(global int* a) {{\n  int i = get_global_id(0);\n  {body}\n}}\n"
    return xe.load(text)["f"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("volatile int j; a[i] = j;", 64),
        ("int j; j += i; a[i] = j;", 64),
        ("float x; a[i] = (int)(x * 0.0f);", 64),
        ("int j; if (i > 3) j = 2; else j = 3; a[i] = j;", 0),
        ("int j; for (int k = 0; k < 3; k++) { if (k == 0) j = i; else j += k; } a[i] = j;", 0),
        ("float4 v; v.x = 1; v.yzw = (float3)(2); a[i] = (int)(v.x + v.w);", 0),
        ("int j; j = i; a[i] = j;", 0),
        ("int j; if (i > 3) j = 2; a[i] = j;", 4),
        ("int j; if (a[i] > 3) j = 2; a[i] = j;", 4),
        ("int j; if (a[i] > 3) j = 2; if (i > 3) a[i] = j;", 0),
        ("int j; for (int k = 0; k < i; k++) { j = k; } a[i] = j;", 1),
        ("int j; switch (i & 3) { case 0: j = 1; case 1: j = 2; break; case 2: j = 3; } a[i] = j;", 16),
        ("int j; int k = 0; while (1) { if (k == i) break; j = k; if (++k > 5) break; } a[i] = j;", 1),
        ("int j; if (i > 7 && (j = i) > 9) { a[i] = j; } else a[i] = j;", 8),
        ("int j = i > 5 ? 1 : 0; int k; if (j) { k = 1; } k += i; a[i] = k;", 6),
    ],
)
def test_a_number_that_was_given_no_value_is_an_uninitialised_read(body, found):
    _, findings = xe.check(kernel(body), N)(A)
    assert [(f.kind, f.space, f.count) for f in findings] == [("uninitialized-read", "private", found)] * (found > 0)
    assert all(f.sites[0].line == 4 for f in findings)
    assert all("of private memory j, which" in str(f) or "j" not in f.memory for f in findings)
    assert all(f"Give {f.memory} a value on every way to this line" in str(f) for f in findings)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("float4 v; a[i] = (int)(v.w * 0.0f);", 64),
        ("int4 v; v.x = 1; a[i] = v.y;", 64),
        ("int2 v; if (i > 3) v = (int2)(1, 2); a[i] = v.y;", 4),
        ("int3 v; v.xy = (int2)(1, 2); a[i] = v.z;", 64),
        ("int4 v; v[0] = 1; v[1] = 2; a[i] = v[2];", 64),
        ("int4 v; v.xy = (int2)(i); if (a[i] > 3) v.zw = v.yx; a[i] = v.x + v.w;", 4),
        ("int2 v; v.x = i; v.x += 1; v.y = v.x; a[i] = v.y;", 0),
        ("int4 v; for (int k = 0; k < 4; k++) v[k] = k; a[i] = v[i & 3];", 0),
        ("int4 v; v.xyzw.yw = (int2)(i); if (a[i] > 70) v = (int4)(0); a[i] = v.wy.x;", 0),
    ],
)
def test_components_of_a_vector_that_were_given_no_value(body, found):
    _, findings = xe.check(kernel(body), N)(A)
    assert [(f.kind, f.memory, f.count) for f in findings] == [("uninitialized-read", "v", found)] * (found > 0)
    assert all("Give v a value on every way to this line" in str(f) for f in findings)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int j; if (a[i] > 3) j = 2; else { j = 3; } a[i] = j;", np.where(A > 3, 2, 3)),
        ("int j, k; for (j = 0; j < a[i]; j++) { k = j; if (k > 4) break; } a[i] = j;", np.minimum(A, 5)),
        ("int j; for (int k = 0; k < 3; k++) { j = k + i; } a[i] = j;", A + 2),
        ("int j; do { j = i; } while (j < 0); a[i] = j;", A),
        ("int j; switch (i & 1) { case 0: j = 1; break; default: j = 2; } a[i] = j;", 1 + A % 2),
        ("int j; while (true) { j = i; if (j >= 0) break; } a[i] = j;", A),
        ("int j; if (i < 5) { a[i] = 0; return; } else j = i; a[i] = j;", np.where(A < 5, 0, A)),
        ("int j; (i > 3) ? (j = 1) : (j = 2); a[i] = j;", np.where(A > 3, 1, 2)),
        ("int4 v; v.x = i; v.zw = (int2)(2); v.s1 = 1; a[i] = v.x + v.y + v.w;", A + 3),
        ("int2 v; if (i & 1) v = (int2)(i); else { v.x = 0; v.y = 1; } a[i] = v.y;", np.where(A % 2, A, 1)),
    ],
)
def test_a_number_that_has_a_value_on_every_way_is_in_a_register(body, expected):
    assert "private" not in str(xe.trace(kernel(body), N)(A))
    np.testing.assert_array_equal(xe.launch(kernel(body), N)(A), expected)


def test_what_the_front_end_keeps_for_itself_is_not_printed():
    made = kernel("struct pair s; s.a = 1; a[i] = s.b;", "struct pair { int a, b; };")
    first = str(xe.trace(made, N)(A)).splitlines()[0]
    assert first.split("#")[0].strip() == "kernel f"


def test_a_float_without_a_value_is_no_number():
    text = "kernel void f(global float* a) { float x; x += 1.0f; a[get_global_id(0)] = x; }"
    assert np.isnan(xe.launch(xe.load(text)["f"], N)(np.zeros(64, np.float32))).all()


def test_a_number_in_the_braces_of_an_array_fills_a_vector():
    text = "kernel void f(global float4* a) { float4 t[2] = {1.0f, 2.0f}; int i = get_global_id(0); a[i] = t[i & 1]; }"
    result = xe.launch(xe.load(text)["f"], N)(np.zeros((64, 4), np.float32))
    np.testing.assert_array_equal(result, np.repeat(1 + A[:, None] % 2, 4, 1))


def test_pointers_lie_in_arrays_and_in_vectors():
    body = """uchar4 v = (uchar4)(1, 2, 3, 4); uchar* q = (uchar*)&v;
  global int* p[2]; p[0] = a; p[1] = a + 32;
  int k = 0; for (; k < 4; k++) { if (k == (i & 3)) break; }
  int j = i & 31; a[i] = q[i & 3] + 100 * k + 1000 * (p[i & 1] == a) + 0 * j;"""
    k = A & 3
    np.testing.assert_array_equal(xe.launch(kernel(body), N)(A), k + 1 + 100 * k + 1000 * (A % 2 == 0))


@pytest.mark.parametrize(
    "body", ["struct R r = {out}; const struct R *q = &r; q->p[i] = i;", "*({ int k = i; out + k; }) = i;"]
)
def test_what_is_stored_through_a_constant_record_or_a_block_is_stored(body):
    source = "struct R { global int *p; }; kernel void k(global int *out) { int i = get_global_id(0); "
    out = xe.launch(xe.load(source + body + "}")["k"], xe.NDRange(64, 32))(np.zeros(64, np.int32))
    assert np.asarray(out).tolist() == list(range(64))


def test_null_is_outside_a_memory():
    body = "global int* p = 0; if (i < 60) p = a; if (i < {bound}) p[i] = 1;"
    assert not xe.check(kernel(body.replace("{bound}", "60")), N)(A)[1]
    _, findings = xe.check(kernel(body.replace("{bound}", "64")), N)(A)
    assert [f.kind for f in findings] == ["out-of-bounds"]


def test_a_kernel_may_have_no_arguments():
    assert xe.launch(xe.load("kernel void f() { }")["f"], N)() == ()


@pytest.mark.parametrize("step", ["g * get_local_size(0) * s", "-(int)s", "(long)s", "(uchar)s"])
@pytest.mark.parametrize("start", ["l * (int)s + n", "l + s", "(ulong)l"])
def test_a_pointer_goes_on_by_numbers_of_several_types(start, step):
    """Who is done keeps where it was."""
    text = f"""kernel void f(global int* out, global const int* in, uint s, uint g, int n) {{
      uint l = get_local_id(0);
      global const int* p = in + 512;
      p += {start};
      for (int id = l; l < 60 && id < n; id += 64) p += {step};
      out[get_global_id(0)] = *p;
    }}"""
    given = np.zeros(64, np.int32), np.arange(4096, dtype=np.int32), np.uint32(2), np.uint32(1), np.int32(200)
    result = xe.launch(xe.load(text)["f"], N)(*given)
    turns = np.where(A < 60, -(-(200 - A) // 64), 0)
    by = {"g": 128, "-": -2, "(l": 2, "(u": 2}[step[: 2 if step[0] == "(" else 1]]
    first = {"l * (int)s + n": 2 * A + 200, "l + s": A + 2, "(ulong)l": A}[start]
    np.testing.assert_array_equal(result, 512 + first + turns * by)

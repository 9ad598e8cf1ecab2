"""Null pointers, from the host and of the kernel's own, and pointers as integers."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

RANGE = xe.NDRange.opencl(64, 32)
ZEROS, IDS = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)


def checked(source, *arguments):
    (name,) = kernels = xe.load(source)
    got, found = xe.check(kernels[name], RANGE)(*arguments)
    return got, [(f.kind, f.memory) for f in found]


OPTIONAL = """
void note(global int* log, int i) { if (log == 0) return; log[i] = i; }
kernel void optional(global int* out, global const float4* bias, global int* log, global void* other) {
  int i = get_global_id(0);
  out[i] = bias ? (int)bias[i].y : -1;
  if (other != NULL) out[i] += ((global int*)other)[i];
  note(log, i);
}"""


def test_a_kernel_may_test_what_the_host_leaves_out():
    bias = np.tile(np.float32([0, 7, 0, 0]), (64, 1))
    (out, log), found = checked(OPTIONAL, ZEROS, None, None, None)
    assert not found
    assert log is None
    np.testing.assert_array_equal(out, np.full(64, -1))
    (out, log), found = checked(OPTIONAL, ZEROS, bias, ZEROS, IDS)
    assert not found
    np.testing.assert_array_equal(out, IDS + 7)
    np.testing.assert_array_equal(log, IDS)


@pytest.mark.thorough
def test_a_null_pointer_of_the_host_that_is_used_is_out_of_bounds():
    source = "kernel void k(global int* a, global int* b) { a[get_global_id(0)] = b[get_global_id(0)]; }"
    assert checked(source, ZEROS, None)[1] == [("out-of-bounds", "b")]
    assert checked(source, None, ZEROS) == (None, [("out-of-bounds", "a")])
    assert not checked(source, ZEROS, IDS)[1]


def test_local_memory_has_a_size():
    kernel = xe.load("kernel void k(local int* a) { a[0] = 1; }")["k"]
    with pytest.raises(xe.Error, match=r"xe\.Local\(bytes\)"):
        xe.launch(kernel, RANGE)(None)


OWN = """
kernel void own(global int* out, global const int* chosen) {
  int i = get_global_id(0), x = 5;
  TYPE p = 0;
  if (chosen[i]) p = &TARGET;
  USE
}"""


@pytest.mark.every(3)
@pytest.mark.thorough
@pytest.mark.parametrize(("of", "target"), [("int*", "x"), ("global int*", "out[i]"), ("char4*", "x")])
@pytest.mark.parametrize(
    "use", ["*p = X;", "int y = *(private int*)p; if (y) p = 0;", "for (int k = 0; k < 9; k++) p[0] = X;"]
)
def test_null_pointers_of_the_kernel_that_are_used(of, target, use):
    use = use.replace("X", "(char4)1" if of == "char4*" else "1")
    if of.startswith("global"):
        use = use.replace("private", "global")
    source = OWN.replace("TYPE", of).replace("&TARGET", f"({of})&{target}")
    chosen = np.int32(IDS % 3 > 0)
    _, found = checked(source.replace("USE", use), ZEROS, chosen)
    assert set(found) == {("out-of-bounds", "NULL")}
    assert not checked(source.replace("USE", f"if (p) {{ {use} }}"), ZEROS, chosen)[1]
    assert not checked(source.replace("USE", use), ZEROS, ZEROS + 1)[1]


def test_a_null_pointer_of_the_kernel_is_told_without_a_name_that_it_does_not_have():
    kernel = xe.load("kernel void own(global int* out) { global int* p = 0; out[get_global_id(0)] = p[1]; }")["own"]
    _, (finding,) = xe.check(kernel, RANGE)(ZEROS)
    assert "if (pointer != 0)" in str(finding)


def test_a_pointer_without_a_value_is_refused():
    with pytest.raises(xe.Error, match="a pointer is used that has no value"):
        checked("kernel void k(global int* a) { global int* p; *p = 1; }", ZEROS)


ADDRESSES = """
struct pair { char c; float f; };
kernel void addresses(global int* out, global float* f, global char* c, global int* none) {
  int i = get_global_id(0), y = i;
  local float4 t[8];
  struct pair s = {1, 2.0f};
  size_t a = (size_t)(c + i);
  int found = 0, k = 0;
  found |= (((size_t)(f + i) & 15) == 4 * (i & 3)) << k++;
  found |= (a % 4 == i % 4) << k++;
  found |= ((uintptr_t)t % 128 == 0 && ((ulong)(t + i % 8) & 127) == 16 * (i % 8)) << k++;
  found |= ((size_t)c != 0 && (size_t)none == 0) << k++;
  found |= (((uint)&y & 3) == 0 && ((uintptr_t)&s.f & 3) == 0) << k++;
  found |= ((size_t)(f + i) - (size_t)f == 4 * i) << k++;
  found |= (f > (global float*)0 && !(none > (global int*)0) && none >= (global int*)0) << k++;
  found |= ((size_t)f != (size_t)c && (size_t)f == (size_t)(global int*)f) << k++;
  out[i] = found;
}"""


def test_pointers_as_integers():
    arrays = ZEROS, np.zeros(64, np.float32), np.zeros(64, np.int8)
    got, found = checked(ADDRESSES, *arrays, None)
    assert not found
    np.testing.assert_array_equal(got, np.full(64, 255))


def test_no_more_is_aligned_than_opencl_promises():
    source = "kernel void k(global int* out, global char* c) { out[get_global_id(0)] = (size_t)c & 255; }"
    for shape in (1, 128, 1000):
        got, _ = checked(source, ZEROS, np.zeros(shape, np.int8))
        np.testing.assert_array_equal(got, np.full(64, 128))


def test_an_integer_as_a_pointer_may_be_overwritten():
    source = """kernel void k(global int* a) {
      size_t i = get_global_id(0);
      global int* p = (global int*)i;
      if (i > 3) { p = a + i; *p = 1; }
    }"""
    got, found = checked(source, ZEROS)
    assert not found
    np.testing.assert_array_equal(got, IDS > 3)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "global int* p = (global int*)(((size_t)a + 15) & ~(size_t)15); *p = 1;",
            "is used that has no value, or one made of",
        ),
        ("global int* p; if (p) a[0] = 1;", "a pointer is tested that has no value"),
        ("size_t n = get_global_id(0); global int* p = (global int*)n; if (p == a) a[0] = 1;", "tested that has no"),
        ("if (a > b) a[0] = 1;", "of pointers into different memories"),
        ("a[0] = a - (global int*)0;", "of pointers into different memories, or of null"),
    ],
)
def test_other_arithmetic_of_pointers_is_refused(line, message):
    with pytest.raises(xe.Error, match=message):
        checked(f"kernel void k(global int* a, global int* b) {{ {line} }}", ZEROS, IDS)

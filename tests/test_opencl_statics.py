"""Variables of program scope that are no constants: those that nobody writes, and those that a kernel does."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

RANGE = xe.NDRange.opencl(64, 32)
ZEROS, IDS = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)


def checked(source, *arguments, name=None):
    kernels = xe.load(source, std="CL2.0")
    got, found = xe.check(kernels[name or next(iter(kernels))], RANGE)(*arguments)
    return got, {(f.kind, f.memory) for f in found if f.kind != "order-dependent"}


READ = """
int count = 3;
global float table[2][4] = {{1, 2, 3, 4}, {5, 6}};
global struct { char tag; long wide; } pair = {7, 1L << 40};
float at(global float* row, int k) { return row[k]; }
kernel void reads(global float* out) {
  static int add = 2;
  int i = get_global_id(0);
  float sum = 0;
  for (int k = 0; k < count; k++) sum += at(table[i & 1], k);
  out[i] = sum + add + pair.tag + (pair.wide >> 40);
}"""


def test_what_nobody_writes_is_a_constant():
    got, found = checked(READ, np.zeros(64, np.float32))
    assert not found
    np.testing.assert_array_equal(got, np.where(IDS % 2, 21, 16))
    assert " for the work-items" not in str(
        xe.trace(xe.load(READ, std="CL2.0")["reads"], RANGE)(np.zeros(64, np.float32))
    )


WRITTEN = """
atomic_int total = ATOMIC_VAR_INIT(5);
global uchar marks[70] = {0, 1};
global float2 last;
void mark(int at) { marks[at] = at; }
kernel void writes(global int* out) {
  int i = get_global_id(0);
  atomic_fetch_add(&total, 1);
  static int calls;
  if (i == 9) { calls = i; last = (float2)(i, 2); last.y += 1; }
  for (int k = 0; k < 2; k++) mark(i + k - k);
  barrier(CLK_GLOBAL_MEM_FENCE);
  out[i] = marks[i] + marks[69] + (i == 9 ? calls + (int)last.y : 0);
}
kernel void counts(global int* out, int total_) {
  out[get_global_id(0)] = atomic_load(&total);
}"""


def test_what_a_kernel_writes_is_a_memory_of_the_launch():
    want = IDS + 12 * (IDS == 9)
    for _ in range(2):
        got, found = checked(WRITTEN, ZEROS)
        assert not found
        np.testing.assert_array_equal(got, want)
    kernel = xe.load(WRITTEN, std="CL2.0")["writes"]
    np.testing.assert_array_equal(xe.launch(kernel, RANGE)(ZEROS), want)
    np.testing.assert_array_equal(xe.launch(kernel, RANGE, schedule=1)(ZEROS), want)


def test_each_launch_begins_with_the_values_of_the_file():
    got, _ = checked(WRITTEN, ZEROS, 0, name="counts")
    np.testing.assert_array_equal(got, np.full(64, 5))


POINTED = """
global int numbers[] = {7, 42};
constant int fixed[] = {-3, 56};
global int* inside = &numbers[1];
constant int* into = &fixed[1];
global int* nowhere;
void put(global int* p, int x) { *p = x; }
kernel void points(global int* out) {
  int i = get_global_id(0);
  constant int* first = &fixed[0];
  WRITE
  out[i] = *inside + *into + numbers[0] + first[1] + *first + (nowhere == 0);
}"""


@pytest.mark.parametrize(
    ("write", "want"), [("", 159), ("if (i == 0) { *inside = 2; }", 119), ("put(numbers, 0);", 152)]
)
def test_pointers_into_others(write, want):
    got, found = checked(POINTED.replace("WRITE", write + " barrier(CLK_GLOBAL_MEM_FENCE);"), ZEROS)
    assert found == ({("data-race", "numbers")} if write else set())
    assert got[0] == want


def test_its_races_are_found():
    source = """
    global int sum;
    kernel void adds(global int* sum_) { sum += get_global_id(0); sum_[0] = 1; }"""
    _, found = checked(source, ZEROS)
    assert ("data-race", "sum") in found
    _, found = checked(source.replace("sum +=", "int sum; sum ="), ZEROS)
    assert ("data-race", "sum") not in found


def test_one_beside_a_parameter_of_its_name():
    source = """
    global int a[64];
    void put(int i) { a[i] = 2 * i; }
    kernel void k(global int* a) { int i = get_global_id(0); put(i); a[i] = i; }"""
    got, found = checked(source, ZEROS)
    assert not found
    np.testing.assert_array_equal(got, IDS)


def test_a_pointer_that_is_written_is_refused():
    source = """
    global int a[64];
    global int* p = a;
    kernel void k(global int* out) { p = a + 1; out[0] = *p; }"""
    with pytest.raises(xe.Error, match="p is a pointer of program scope that is written"):
        checked(source, ZEROS)


HOST = """
#include <sycl/sycl.hpp>
CONST int scale = 3;
int main() {
  sycl::queue q;
  int* d = sycl::malloc_device<int>(64, q);
  q.parallel_for(sycl::nd_range<1>(64, 32), [=](sycl::nd_item<1> it) { d[it.get_global_id(0)] = scale; });
}"""


def test_the_variables_of_a_sycl_program_are_the_hosts():
    kernels = xe.load(HOST.replace("CONST", "const"))
    np.testing.assert_array_equal(xe.launch(kernels[next(iter(kernels))])(ZEROS), np.full(64, 3))
    kernels = xe.load(HOST.replace("CONST", ""))
    with pytest.raises(xe.Error, match=r"scale.* make it const"):
        xe.launch(kernels[next(iter(kernels))])(ZEROS)

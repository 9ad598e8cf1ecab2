"""Advice speaks the language of the kernel: OpenCL C for a kernel of OpenCL C, Python for one of Python."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe

TEXT = """
kernel void racing(global int* a)
{
    local int t[64];
    int l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    a[get_global_id(0)] = t[63 - l];
}
kernel void turning(global int* a)
{
    local int t[64];
    int l = get_local_id(0);
    t[l] = l;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 4; k++) {
        int x = t[(l + 17) % 64];
        barrier(CLK_LOCAL_MEM_FENCE);
        t[l] = x + k;
    }
    a[get_global_id(0)] = t[l];
}
kernel void adding(global int* a) { a[0] += 1; }
kernel void same(global int* a) { a[3] = 7; }
kernel void beyond(global int* a) { a[get_global_id(0) + 1] = 1; }
kernel void unwritten(global int* a)
{
    local int t[64];
    a[get_global_id(0)] = t[get_local_id(0)];
}
kernel void diverging(global int* a)
{
    if (get_local_id(0) < 7)
        barrier(CLK_LOCAL_MEM_FENCE);
    a[get_global_id(0)] = 1;
}
kernel void fenced(global int* a)
{
    local int t[64];
    int l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    barrier(CLK_GLOBAL_MEM_FENCE);
    a[get_global_id(0)] = t[63 - l];
}
kernel void divided(global int* a, global const int* b) { a[get_global_id(0)] = 7 / b[get_global_id(0)]; }
kernel void lockstep(global int* a)
{
    local int t[64];
    int l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    a[get_global_id(0)] = t[l ^ 16];
}
kernel void relaxed(global int* a, global atomic_int* f)
{
    if (get_global_id(0) == 0) {
        a[1] = 5;
        atomic_store_explicit(f, 1, memory_order_relaxed, memory_scope_device);
    }
    if (get_global_id(0) == 127 && atomic_load_explicit(f, memory_order_relaxed, memory_scope_device) == 1)
        a[2] = a[1];
}
kernel void narrow(global int* a, global atomic_int* f)
{
    if (get_global_id(0) == 0) {
        a[1] = 5;
        atomic_store_explicit(f, 1, memory_order_release, memory_scope_work_group);
    }
    if (get_global_id(0) == 127 && atomic_load_explicit(f, memory_order_acquire, memory_scope_work_group) == 1)
        a[2] = a[1];
}
"""
N = xe.NDRange(128, 64)
ZEROS = np.zeros(128, np.int32)
ADVICE = {
    "racing": r"Write barrier\(CLK_LOCAL_MEM_FENCE\) after line 6 and before line 7\.",
    "turning": r"Write barrier\(CLK_LOCAL_MEM_FENCE\) at the end of the loop, after line 18\.",
    "adding": r"Use atomic operations, atomic_add\(&a\[\.\.\.\], \.\.\.\) or another,",
    "same": r"Let one work-item store, if \(get_global_linear_id\(\) == 0\)",
    "beyond": r"Guard the access, if \(get_global_id\(0\) \+ 1 >= 0 && get_global_id\(0\) \+ 1 < 128\), or make",
    "unwritten": r"as by t\[\.\.\.\] = 0, with a barrier",
    "diverging": r"come to one barrier, and put what must not be done by all under an if",
    "fenced": r"none that orders t \(line 41\)\. .* well: barrier\(CLK_LOCAL_MEM_FENCE \| CLK_GLOBAL_MEM_FENCE\)\.",
    "divided": r"C leaves that undefined.* as by b != 0 \? a / b : 0\.",
    "lockstep": r"Require it: __attribute__\(\(intel_reqd_sub_group_size\(32\)\)\); or .* get_max_sub_group_size\(\)",
    "relaxed": r"Write memory_order_release for f at line 57 and memory_order_acquire for f at line 59\.",
    "narrow": r"Widen it: memory_scope_device for f at line 66 and memory_scope_device for f at line 68\.",
}
PYTHONS = re.compile(r"wg\.|sg\.|where=|\.atomic|\.at\[|jnp\.|lax\.|@xe|SYCL|C\+\+")
OPENCLS = re.compile(r"CLK_|get_\w+\(|__attribute__|memory_\w+_|atomic_\w+\(|&&|\?|OpenCL")


def said(findings):
    """The messages as one line, without the kernel's own lines."""
    lines = [line for finding in findings for line in str(finding).splitlines() if not re.search(r":\d+: ", line)]
    return " ".join(line.strip() for line in lines)


@pytest.fixture(scope="module")
def found():
    """By the name of a kernel in OpenCL what is found in it."""
    kernels, flag = xe.load(TEXT), np.zeros(1, np.int32)
    more = {"relaxed": (flag,), "narrow": (flag,), "divided": (ZEROS,)}
    return functools.cache(lambda name: xe.check(kernels[name], N)(ZEROS, *more.get(name, ()))[1])


@pytest.mark.every(2)
@pytest.mark.parametrize("name", ADVICE)
def test_findings_in_opencl_speak_opencl(found, name):
    text = said(found(name))
    assert re.search(ADVICE[name], text)
    assert not PYTHONS.search(text)


@xe.kernel
def racing(wg, a):
    t = wg.local(64, jnp.int32)
    t = t.at[wg.local_id()].set(a[wg.global_id()])
    return a.at[wg.global_id()].set(t[63 - wg.local_id()])


@xe.kernel
def adding(wg, a):
    return a.at[0].set(a[0] + 1)


@xe.kernel
def beyond(wg, a):
    return a.at[wg.global_id() + 1].set(1)


@xe.kernel
def diverging(wg, a):
    t = wg.local(64, jnp.int32)
    wg.barrier(t, where=wg.local_id() < 7)
    return a.at[wg.global_id()].set(1)


@xe.kernel
def fenced(wg, a):
    t = wg.local(64, jnp.int32)
    t = t.at[wg.local_id()].set(a[wg.global_id()])
    a = wg.barrier(a)
    return a.at[wg.global_id()].set(t[63 - wg.local_id()])


@pytest.mark.parametrize("kernel", [racing, adding, beyond, diverging, fenced], ids=lambda kernel: kernel.name)
def test_findings_in_python_speak_python_and_are_the_same(found, kernel):
    _, findings = xe.check(kernel, N)(ZEROS)
    text = said(findings)
    assert PYTHONS.search(text)
    assert not OPENCLS.search(text)

    def told(findings):
        return {(f.kind, f.severity, f.space, f.memory, f.address, f.count) for f in findings}

    assert told(findings) == told(found(kernel.name))


def test_ids_are_in_the_order_of_the_language():
    kernel = xe.load("kernel void f(global int* a) { if (get_global_id(0) == 5) a[1000 + get_global_id(1)] = 1; }")["f"]
    _, (finding,) = xe.check(kernel, xe.NDRange.opencl((8, 2), (4, 1)))(ZEROS)
    assert "work-item (5, 0): local (1, 0) of group (1, 0), sub-group 0, dimension 0 first" in str(finding)
    assert finding.work_items[0].global_id == (0, 5)


COSTLY = """
kernel void strided(global const float* a, global float* b, int pitch)
{
    b[get_global_id(0)] = a[get_global_id(0) * pitch];
}
kernel void transposed(global const float* a, global float* b)
{
    local float t[16][16];
    int x = get_local_id(0) % 16, y = get_local_id(0) / 16;
    t[x][y] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[get_global_id(0)] = t[y][x];
}
kernel void counted(global const int* a, global int* sum) { atomic_add(&sum[0], a[get_global_id(0)]); }
kernel void copied(global const float* table, global float* b)
{
    local float t[256];
    if (get_local_id(0) == 0)
        for (int k = 0; k < 256; k++)
            t[k] = table[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[get_global_id(0)] = t[get_local_id(0)];
}
"""
SHAPES = {
    "transposed": ((1 << 16, np.float32), (1 << 16, np.float32)),
    "strided": ((1 << 16, np.float32), (4096, np.float32)),
    "counted": ((4096, np.int32), (1, np.int32)),
    "copied": ((256, np.float32), (4096, np.float32)),
}


class TestHints:
    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("strided", "let get_global_id(0) run along them"),
            ("counted", "Reduce in the group first (work_group_reduce_add, or atomics"),
            ("transposed", "one more column does: t[16][16 + 1]."),
            ("copied", "for (k = get_local_linear_id(); k < n;"),
        ],
    )
    def test_of_a_report_speak_opencl(self, name, advice):
        shapes = [jax.ShapeDtypeStruct((n,), dtype) for n, dtype in SHAPES[name]]
        scalars = [16] if name == "strided" else []
        report = xe.estimate(xe.load(COSTLY)[name], xe.NDRange(4096, 256))(*shapes, *scalars)
        text = " ".join(hint.text for hint in report.hints)
        assert advice in text
        assert not PYTHONS.search(text)


class TestRefusals:
    LARGE = "kernel void f(global float* a) { local float t[1 << 16]; t[get_local_id(0)] = 1; a[0] = t[0]; }"

    def test_of_a_launch_speak_opencl(self):
        with pytest.raises(xe.MemoryAllocationError, match=r"Allocate less with __local") as refused:
            xe.launch(xe.load(self.LARGE)["f"], N)(np.zeros(128, np.float32))
        assert not PYTHONS.search(str(refused.value))

    def test_of_sizes_speak_opencl(self):
        kernel = xe.load("kernel void f(global float* a) { a[get_global_id(0)] = 1; }")["f"]
        refused = r"\(if \(get_global_id\(0\) < 100\)\).* divides\. Sizes are in SYCL's order here"
        with pytest.raises(xe.NDRangeError, match=refused):
            xe.launch(kernel, xe.NDRange.opencl((100, 2), (64, 1)))(np.zeros(200, np.float32))

    def test_of_sizes_in_one_dimension_need_no_order(self):
        kernel = xe.load("kernel void f(global float* a) { a[get_global_id(0)] = 1; }")["f"]
        with pytest.raises(xe.NDRangeError, match=r"or a local size that divides$"):
            xe.launch(kernel, xe.NDRange(100, 64))(np.zeros(200, np.float32))

    def test_of_launches_without_work_groups_speak_opencl(self):
        text = "kernel void f(global float* a) { local float t; t = 1; barrier(CLK_LOCAL_MEM_FENCE); a[0] = t; }"
        with pytest.raises(xe.KernelArgumentError, match=r"local size: xe\.NDRange\.opencl\(\(64, 8\), local_size\)"):
            xe.launch(xe.load(text)["f"], xe.NDRange.opencl((64, 8)))(np.zeros(1, np.float32))

    def test_of_a_sub_group_size_speak_opencl(self):
        text = "__attribute__((intel_reqd_sub_group_size(8))) kernel void f(global float* a) { a[0] = 1; }"
        with pytest.raises(xe.KernelNotSupportedError, match=r"as sub_group_size in the kernel's attributes"):
            xe.launch(xe.load(text)["f"], N, device="max1550")(np.zeros(1, np.float32))

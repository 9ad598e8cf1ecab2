"""Values that C leaves indeterminate: of variables that a loop declares anew, of pointers, and of copies of structs."""

import numpy as np
import pytest

import xeemu as xe
from xeemu.faults import initialisation

N = xe.NDRange.opencl(8, 8)
ZEROS = np.zeros(8, np.int32)
OPENCL = "kernel void f(global int* a, int n) {{\n  int i = get_global_id(0);\n  {}\n}}\n"
SYCL = """#include <sycl/sycl.hpp>
int main() {{
  sycl::queue q;
  int *a = sycl::malloc_shared<int>(8, q), n = 3;
  for (int k = 0; k < 8; k++) a[k] = 0;
  q.parallel_for(sycl::nd_range<1>(8, 8), [=](sycl::nd_item<1> it) {{
    int i = it.get_global_id(0);
    {}
  }}).wait();
  sycl::free(a, q);
}}
"""


def found_in_opencl(body, **declared):
    text = OPENCL.format(body)
    return xe.check(xe.load("\n".join([*declared.values(), text]))["f"], N)(ZEROS, 3)[1]


def found_in_sycl(body):
    (submission,) = xe.load(SYCL.format(body)).run().submissions
    return submission.findings


def flat(finding):
    return " ".join(str(finding).split())


def counts(findings, memory):
    assert {(f.kind, f.memory) for f in findings} <= {("uninitialized-read", memory)}
    return sum(f.count for f in findings)


IN_LOOPS = [
    ("for (int k = 0; k < n; k++) { int x; if (k == 0) x = i; a[i] += x; }", 16),
    ("for (int k = 0; k < 2; k++) { int x; if (k == 0) x = i; a[i] += x; }", 8),
    ("for (int k = 0; k < a[i] + 3; k++) { int x; if (k == 0) x = i; if (k < 2) a[i] += 0 * x; }", 8),
    ("int k = 0; while (k < n) { int x; if (k & 1) x = i; if (k > 0) a[i] += x; k++; }", 8),
    ("for (int k = 0; k < n; k++) { int x; if (k >= 0) x = k; if (k >= 0) a[i] += x; }", 0),
    ("int x; for (int k = 0; k < n; k++) { if (k == 0) x = i; a[i] += x; }", 0),
    ("for (int k = 0; k < n; k++) { int x[4]; if (k == 0) x[i & 3] = i; a[i] += x[i & 3]; }", 16),
    ("for (int k = 0; k < n; k++) { int x[2]; if (k == 0) x[1] = i; a[i] += x[1]; }", 16),
    ("for (int k = 0; k < n; k++) { int x[4]; for (int j = 0; j < 4; j++) x[j] = i; a[i] += x[i & 3]; }", 0),
]


@pytest.mark.parametrize(("body", "count"), IN_LOOPS)
def test_a_loop_declares_its_variables_anew(body, count):
    """What the iteration before has left is no value."""
    findings = found_in_opencl(body)
    assert counts(findings, "x") == count
    assert all("Line 3 leaves it without a value, as a declaration does each time anew" in flat(f) for f in findings)


@pytest.mark.parametrize(("body", "count"), [IN_LOOPS[0], IN_LOOPS[6], IN_LOOPS[8]])
def test_a_loop_of_sycl_does_so_too(body, count):
    assert counts(found_in_sycl(body), "x") == count


def test_a_function_declares_its_variables_in_each_call():
    helper = "int g(int i, int k) { int x; if (k == 0) x = i; return x; }"
    assert counts(found_in_opencl("a[i] = g(i, 0); a[i] += g(i, n);", helper=helper), "x") == 8


def test_an_array_that_a_loop_fills_is_proved_to_be_written(monkeypatch):
    body = "for (int k = 0; k < n; k++) { int x[8]; for (int j = 0; j < 8; j++) x[(j + i) % 8] = k; a[i] += x[i]; }"
    left = []
    prove = initialisation.doubtful_reads
    monkeypatch.setattr(initialisation, "doubtful_reads", lambda *given: left.append(prove(*given)) or left[-1])
    assert not found_in_opencl(body)
    assert left == [frozenset()]


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("{}int *x; if (i < n) x = a; x[i] = 1;", 5),
        ("{}int *x; if (i < n) x = a; if (x == a) a[i] = 1;", 5),
        ("{}int *x; if (i < n) x = a; if (i < n) x[i] = 1;", 0),
        ("{}int *x; if (i < n) x = a; else x = a + 1; x[0 * i] = 0;", 0),
        ("for (int k = 0; k < n; k++) {{ {}int *x; if (a[i] + k < 2) x = a; x[i] = 0; }}", 8),
    ],
)
@pytest.mark.parametrize("language", ["opencl", "sycl"])
def test_a_pointer_that_was_given_no_value(body, count, language):
    found = found_in_sycl(body.format("")) if language == "sycl" else found_in_opencl(body.format("global "))
    findings = [f for f in found if f.kind == "uninitialized-read"]  # some store to one element
    assert counts(findings, "x") == count


STRUCTS = "struct pair { int a, b; }; struct list { int v[3]; float f; }; struct wide { float4 v; int n; };"


@pytest.mark.parametrize(
    ("body", "memory", "count"),
    [
        ("struct pair s, t; s.a = 1; t = s; a[i] = t.a;", "t", 0),
        ("struct pair s, t; s.a = 1; t = s; a[i] = t.b;", "t", 8),
        ("struct pair s, t; if (i < n) s.a = 1; t = s; a[i] = t.a;", "t", 5),
        ("struct pair s, t; if (i < n) s.a = 1; t = s; if (i < n) a[i] = t.a;", "t", 0),
        ("struct pair s, t; s.a = 1; t.a = 2; if (i < n) t = s; a[i] = t.a;", "t", 0),
        ("struct pair s, t; s.a = 1; t.b = 2; if (i < n) t = s; a[i] = t.b;", "t", 3),
        ("for (int k = 0; k < n; k++) { struct pair s; s.a = 1; struct pair t = s; a[i] += t.a; }", "t", 0),
        ("struct pair s[2]; s[i & 1].a = 1; struct pair t = s[i & 1]; a[i] = t.a;", "t", 0),
        ("struct list s, t; s.v[i % 3] = 1; t = s; a[i] = t.v[i % 3];", "t", 0),
        ("struct list s, t; s.v[i % 3] = 1; t = s; a[i] = t.v[(i + 1) % 3];", "t", 8),
        ("struct wide s, t; s.v.x = 1; t = s; a[i] = t.v.x;", "t", 0),
        ("struct wide s, t; s.v.x = 1; t = s; a[i] = t.v.y;", "t", 8),
        ("struct pair s; s.b = i; a[i] = second(s);", "s", 0),
        (
            "struct pair s[4], t; int m = 0; t.a = i; s[m++] = t; t.a = 2; s[m++] = t;"
            " while (m > i % 2) { struct pair u = s[--m]; a[i] += u.a; }",
            "u",
            0,
        ),
    ],
)
def test_a_copy_of_a_struct_has_the_values_that_the_struct_has(body, memory, count):
    """What has none may be copied, but not read."""
    second = "int second(struct pair s) { return s.b; }"
    assert counts(found_in_opencl(body, structs=STRUCTS, second=second), memory) == count

"""Atomic functions of OpenCL C on private variables, and on memories that hold other numbers than they work on."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

RANGE = xe.NDRange.opencl(64, 32)
ZEROS, IDS = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)


def checked(source, *arguments, std=None):
    (name,) = kernels = xe.load(source, std=std)
    got, found = xe.check(kernels[name], RANGE)(*arguments)
    return got, {f.kind for f in found} - {"order-dependent", "forward-progress"}


PRIVATE = """
kernel void own(global int* out) {
  int i = get_global_id(0), list[4] = {0, 1, 2, 3}, seen = 0;
  atomic_int x;
  atomic_uint bits;
  atomic_init(&x, 3);
  atomic_init(&bits, 6u);
  seen += atomic_fetch_add(&x, 2) == 3 && atomic_load(&x) == 5;
  seen += atomic_fetch_sub(&x, i) == 5 && atomic_exchange(&x, 9) == 5 - i && atomic_load(&x) == 9;
  seen += atomic_fetch_max(&x, i) == 9 && atomic_fetch_min(&x, 2) == max(9, i) && atomic_load(&x) == 2;
  seen += atomic_fetch_or(&bits, 1u) == 6 && atomic_fetch_and(&bits, 5u) == 7 && atomic_fetch_xor(&bits, 1u) == 5;
  atomic_store(&x, i);
  int want = 4, got = atomic_compare_exchange_strong_explicit(
      &x, &want, 40, memory_order_acq_rel, memory_order_relaxed, memory_scope_work_group);
  seen += got == (i == 4) && want == i && atomic_load(&x) == (i == 4 ? 40 : i);
  atomic_int* at = (atomic_int*)&list[i & 3];
  seen += atomic_fetch_add_explicit(at, 10, memory_order_relaxed) == (i & 3) && list[i & 3] == 10 + (i & 3);
  for (int k = 0; k < i; k++) atomic_fetch_add((atomic_int*)&list[1], 1);
  seen += list[1] == 1 + ((i & 3) == 1 ? 10 : 0) + i;
  out[i] = seen;
}"""


def test_a_private_variable_is_updated_by_its_work_item():
    got, found = checked(PRIVATE, ZEROS, std="CL2.0")
    assert not found
    np.testing.assert_array_equal(got, np.full(64, 7))


GENERIC = """
int bump(int* p) { return atomic_fetch_add((atomic_int*)p, 1); }
kernel void generic_(global int* out, global int* total) {
  int x = 5, i = get_global_id(0);
  int* p = total;
  if (i % 2) p = &x;
  bump(p);
  atomic_int y;
  atomic_init(&y, i);
  int want = i;
  atomic_compare_exchange_strong(&y, &want, 40);
  out[i] = x + atomic_load(&y) + (want == i);
}"""


def test_generic_pointers_to_private_variables():
    (out, total), found = checked(GENERIC, ZEROS, np.zeros(1, np.int32), std="CL2.0")
    assert not found
    np.testing.assert_array_equal(out, 46 + IDS % 2)
    assert total[0] == 32


SUM = """
kernel void sum(global SPACE float* out, global const float* in) {
  volatile global uint* at = (volatile global uint*)out;
  union { uint bits; float number; } old, new;
  do {
    old.number = out[0];
    new.number = old.number + in[get_global_id(0)];
  } while (atomic_cmpxchg(at, old.bits, new.bits) != old.bits);
}"""


@pytest.mark.thorough
def test_floats_are_added_by_compare_and_exchange():
    given = np.arange(64, dtype=np.float32)
    source = SUM.replace("SPACE", "volatile").replace("old.number = out[0]", "old.bits = atomic_or(at, 0)")
    got, found = checked(source, np.zeros(3, np.float32), given)
    assert not found
    np.testing.assert_array_equal(got, [given.sum(), 0, 0])
    _, found = checked(SUM.replace("SPACE", ""), np.zeros(3, np.float32), given)
    assert found == {"data-race"}


@pytest.mark.parametrize(
    ("line", "held", "want"),
    [
        ("atomic_max((volatile global int*)&f[1], as_int((float)i))", np.float32, lambda f: f.max(initial=63)),
        ("atomic_max((volatile global uint*)&f[1], as_uint((float)i))", np.float32, lambda f: f.max(initial=63)),
        ("atomic_min((volatile global uint*)&f[1], (uint)(i - 32))", np.int32, lambda f: 0),
        ("atomic_add((volatile global int*)f + 2, 1)", np.int64, lambda f: 64),
    ],
)
def test_memories_that_hold_other_numbers(line, held, want):
    of = {np.float32: "float", np.int32: "int", np.int64: "long"}[held]
    source = f"kernel void k(global {of}* f) {{ int i = get_global_id(0); {line}; if (i == 0) f[3] = 9; }}"
    got, found = checked(source, np.zeros(4, held))
    assert not found
    np.testing.assert_array_equal(got, [0, want(got), 0, 9])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("((global short*)f)[i] = 1; atomic_add((volatile global int*)f, 1);", "accessed in pieces of 2 bytes"),
        (
            "atomic_max((volatile global int*)f, 1); atomic_max((volatile global uint*)f, 1u);",
            "which holds int; declare",
        ),
    ],
)
def test_what_has_no_one_kind_of_number_is_refused(lines, message):
    with pytest.raises(xe.Error, match=message):
        checked(f"kernel void k(global float* f) {{ int i = get_global_id(0); {lines} }}", np.zeros(64, np.float32))


@pytest.mark.parametrize("written", ["atomic_inc(p);", "(void)atomic_inc(p);", "(void)(i + atomic_inc(p));"])
def test_what_is_cast_to_void_fetches_nothing(written):
    source = f"kernel void k(global int* p) {{ int i = get_global_id(0); {written} }}"
    listing = str(xe.trace(xe.load(source)["k"], RANGE)(ZEROS))
    (line,) = [line.strip() for line in listing.splitlines() if "atomic relaxed" in line]
    assert line.startswith("atomic relaxed/device add p[0] 1")

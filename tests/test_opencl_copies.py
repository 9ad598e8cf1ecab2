"""OpenCL C's asynchronous copies: what they copy, and that they are complete where they are waited for."""

import jax
import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

SIZE = 16
RANGE = xe.NDRange.opencl(2 * SIZE, SIZE)

STAGED = """
__kernel void staged(__global TYPE* out, __global const TYPE* in) {
  __local TYPE tile[COUNT];
  int g = get_group_id(0), l = get_local_id(0);
  event_t e = async_work_group_copy(tile, in + g * COUNT, (size_t)COUNT, (event_t)0);
  WAIT
  for (int k = l; k < COUNT; k += get_local_size(0)) out[g * COUNT + k] = tile[INDEX];
}"""
WAIT = "wait_group_events(1, &e);"


def staged(given, count, index="COUNT - 1 - k", wait=WAIT, of="float"):
    source = STAGED.replace("WAIT", wait).replace("INDEX", index).replace("TYPE", of)
    kernel = xe.load(source, options=f"-DCOUNT={count}")["staged"]
    return xe.check(kernel, RANGE)(np.zeros_like(given), given)


@pytest.mark.parametrize("count", [SIZE, 5, 3 * SIZE + 1, 200])
def test_what_is_copied_is_there_after_the_wait(count):
    given = np.random.default_rng(0).normal(size=2 * count).astype(np.float32)
    got, found = staged(given, count)
    assert not found
    np.testing.assert_array_equal(got, given.reshape(2, count)[:, ::-1].ravel())


@pytest.mark.parametrize(
    ("of", "dtype", "parts"),
    [("char", np.int8, 1), ("double", np.float64, 1), ("int3", np.int32, 4), ("half8", np.float16, 8)],
)
def test_elements_of_any_type(of, dtype, parts):
    given = np.random.default_rng(1).integers(-9, 9, (2, 20, parts)).astype(dtype)
    got, found = staged(given, 20, of=of)
    seen = 3 if of == "int3" else parts
    assert not found
    np.testing.assert_array_equal(np.asarray(got)[..., :seen], given[:, ::-1, :seen])


@pytest.mark.thorough
@pytest.mark.parametrize(("count", "index"), [(SIZE, "COUNT - 1 - k"), (SIZE, "k"), (8, "k"), (160, "k ^ 1")])
def test_what_is_read_before_the_wait_is_a_data_race(count, index):
    given = np.arange(2 * count, dtype=np.float32)
    _, found = staged(given, count, index, wait="")
    assert "data-race" in {f.kind for f in found}
    assert {f.memory for f in found} == {"tile"}  # what comes first is read uninitialised besides
    assert {site.line for f in found for site in f.sites if f.kind == "data-race"} == {5, 7}


OTHER = """
__kernel void other(__global int* out, __global const int* in) {
  __local int tile[16], own[16];
  int l = get_local_id(0);
  event_t e = async_work_group_copy(tile, in, (size_t)16, (event_t)0);
  own[l] = l;
  wait_group_events(1, &e);
  BARRIER
  out[get_global_id(0)] = own[15 - l] + tile[l];
}"""


@pytest.mark.thorough
def test_a_wait_is_no_barrier_for_other_memories():
    given, out = np.arange(16, dtype=np.int32), np.zeros(2 * SIZE, np.int32)
    _, found = xe.check(xe.load(OTHER.replace("BARRIER", ""))["other"], RANGE)(out, given)
    assert [(f.kind, f.memory) for f in found] == [("wrong-fence", "own")]
    kernel = xe.load(OTHER.replace("BARRIER", "barrier(CLK_LOCAL_MEM_FENCE);"))["other"]
    got, found = xe.check(kernel, RANGE)(out, given)
    assert not found
    np.testing.assert_array_equal(got, np.full(2 * SIZE, 15))


BACK = """
__kernel void back(__global int* out) {
  __local int tile[16];
  tile[get_local_id(0)] = get_global_id(0);
  BARRIER
  event_t e = async_work_group_copy(out + get_group_id(0) * 16, tile, (size_t)16, (event_t)0);
  wait_group_events(1, &e);
}"""


@pytest.mark.thorough
def test_copies_from_local_memory_need_what_was_stored():
    out = np.zeros(2 * SIZE, np.int32)
    _, found = xe.check(xe.load(BACK.replace("BARRIER", ""))["back"], RANGE)(out)
    assert [(f.kind, f.memory) for f in found] == [("data-race", "tile")]
    kernel = xe.load(BACK.replace("BARRIER", "barrier(CLK_LOCAL_MEM_FENCE);"))["back"]
    got, found = xe.check(kernel, RANGE)(out)
    assert not found
    np.testing.assert_array_equal(got, np.arange(2 * SIZE))
    np.testing.assert_array_equal(xe.launch(kernel, RANGE, schedule=jax.random.key(1))(out), np.arange(2 * SIZE))


STRIDED = """
__kernel void strided(__global float2* out, __global const float2* in, const int stride) {
  __local float2 tile[24];
  event_t events[2];
  events[0] = async_work_group_strided_copy(tile, in + get_group_id(0), (size_t)24, (size_t)stride, (event_t)0);
  wait_group_events(1, events);
  events[1] = async_work_group_strided_copy(out + get_group_id(0), tile, (size_t)24, (size_t)2, (event_t)0);
  prefetch(in, (size_t)24);
  wait_group_events(1, events + 1);
}"""


def test_strided_copies_to_and_fro():
    given = np.random.default_rng(2).normal(size=(100, 2)).astype(np.float32)
    got, found = xe.check(xe.load(STRIDED)["strided"], RANGE)(np.zeros((48, 2), np.float32), given, 3)
    assert not found
    want = np.stack([given[g : g + 72 : 3] for g in (0, 1)], 1)
    np.testing.assert_array_equal(got, want.reshape(48, 2))


PIPELINE = """
__kernel void pipeline(__global float* out, __global const float* in, int tiles) {
  __local float tile[2][16];
  int l = get_local_id(0);
  float sum = 0;
  event_t e = async_work_group_copy(tile[0], in, (size_t)16, (event_t)0);
  for (int t = 0; t < tiles; t++) {
    wait_group_events(1, &e);
    if (t + 1 < tiles) e = async_work_group_copy(tile[(t + 1) % 2], in + (t + 1) * 16, (size_t)16, (event_t)0);
    sum += tile[t % 2][15 - l];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  out[get_global_id(0)] = sum;
}"""


def test_a_pipeline_of_two_buffers():
    given, out = np.arange(96, dtype=np.float32), np.zeros(2 * SIZE, np.float32)
    kernel = xe.load(PIPELINE)["pipeline"]
    got, found = xe.check(kernel, RANGE)(out, given, 6)
    assert not found
    want = np.tile(given.reshape(6, 16).sum(0)[::-1], 2)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(xe.launch(kernel, RANGE, schedule=jax.random.key(5))(out, given, 6), want)
    wrong = xe.load(PIPELINE.replace("tile[t % 2]", "tile[(t + 1) % 2]"))["pipeline"]
    _, found = xe.check(wrong, RANGE)(out, given, 6)
    assert "data-race" in {f.kind for f in found}


SOME = """
__kernel void some(__global int* out, __global const int* in, __global const uint* count) {
  __local int tile[64];
  for (int k = get_local_id(0); k < 64; k += 16) tile[k] = -1;
  barrier(CLK_LOCAL_MEM_FENCE);
  event_t e = async_work_group_copy(tile, in, (size_t)count[get_group_id(0)], (event_t)0);
  wait_group_events(1, &e);
  out[get_global_id(0)] = tile[get_local_id(0) * 4];
}"""


def test_the_number_of_elements_may_come_from_memory():
    given = np.arange(1, 65, dtype=np.int32)
    got, found = xe.check(xe.load(SOME)["some"], RANGE)(np.zeros(32, np.int32), given, np.uint32([1, 50]))
    assert not found
    places = np.arange(0, 64, 4)
    want = [np.where(places < n, given[places], -1) for n in (1, 50)]
    np.testing.assert_array_equal(got, np.concatenate(want))


PART = """
__kernel void part(__global int* out, __global const int* in) {
  __local int tile[16];
  event_t e;
  if (get_local_id(0) < 8) {
    e = async_work_group_copy(tile, in, (size_t)16, (event_t)0);
    wait_group_events(1, &e);
  }
  out[get_global_id(0)] = tile[0];
}"""


@pytest.mark.thorough
def test_a_wait_in_a_branch_that_not_all_take_is_a_divergence():
    given = np.arange(16, dtype=np.int32)
    _, found = xe.check(xe.load(PART)["part"], RANGE)(np.zeros(32, np.int32), given)
    assert "barrier-divergence" in {f.kind for f in found}


TWO = """
__kernel void two(__global int* out, __global const int* p, __global const int* q) {
  __local int mine[16], yours[16];
  int l = get_local_id(0);
  event_t events[2];
  events[0] = async_work_group_copy(mine, p, (size_t)16, (event_t)0);
  events[1] = async_work_group_copy(yours, q, (size_t)16, CHAINED);
  WAIT
  out[get_global_id(0)] = mine[15 - l] + yours[l];
}"""


@pytest.mark.parametrize(
    ("wait", "chained", "kinds"),
    [
        ("wait_group_events(2, events);", "(event_t)0", set()),
        ("wait_group_events(1, events);", "(event_t)0", {"yours"}),
        ("wait_group_events(1, &events[1]);", "(event_t)0", {"mine"}),
        ("wait_group_events(1, events + 1);", "events[0]", set()),
        ("for (int k = 0; k < 2; k++) wait_group_events(1, events + k);", "(event_t)0", set()),
        ("wait_group_events(1, events + l % 2);", "(event_t)0", {"divergence"}),
        ("event_t *e = events; if (l > 3) e = &events[1]; wait_group_events(1, e);", "(event_t)0", {"divergence"}),
    ],
)
def test_a_wait_is_for_the_copies_of_its_events(wait, chained, kinds):
    given = np.arange(16, dtype=np.int32)
    kernel = xe.load(TWO.replace("WAIT", wait).replace("CHAINED", chained))["two"]
    got, found = xe.check(kernel, RANGE)(np.zeros(32, np.int32), given, 2 * given)
    if kinds == {"divergence"}:
        assert "barrier-divergence" in {f.kind for f in found}
    else:
        assert {f.memory for f in found} == kinds
    if not found:
        np.testing.assert_array_equal(got, np.tile(15 + given, 2))


@pytest.mark.parametrize(
    "copy",
    [
        "if (l > 3) e = async_work_group_copy(tile, in, (size_t)16, e);",
        "e = async_work_group_copy(tile, in + l, (size_t)16, e);",
        "e = async_work_group_copy(tile, in, (size_t)(l == 3 ? 1 : 16), e);",
    ],
)
def test_a_copy_that_work_items_do_not_make_together_is_a_divergence(copy):
    source = f"""
    __kernel void apart(__global int* out, __global const int* in) {{
      __local int tile[16];
      int l = get_local_id(0);
      event_t e = 0;
      {copy}
      wait_group_events(1, &e);
    }}"""
    given = np.arange(32, dtype=np.int32)
    _, found = xe.check(xe.load(source)["apart"], RANGE)(np.zeros(32, np.int32), given)
    assert [(f.kind, f.sites[0].line) for f in found if f.kind != "data-race"] == [("barrier-divergence", 6)]


@pytest.mark.thorough
def test_two_copies_to_one_place_are_a_data_race():
    source = """
    __kernel void twice(__global int* out, __global const int* in) {
      __local int tile[16];
      event_t e = async_work_group_copy(tile, in, (size_t)16, (event_t)0);
      e = async_work_group_copy(tile, in + 1, (size_t)16, e);
      wait_group_events(1, &e);
      out[get_global_id(0)] = tile[get_local_id(0)];
    }"""
    given = np.arange(17, dtype=np.int32)
    _, found = xe.check(xe.load(source)["twice"], RANGE)(np.zeros(32, np.int32), given)
    assert {(f.kind, f.memory) for f in found} == {("data-race", "tile")}


UNDER_WAY = """
kernel void under_way(global int* p, global int* q) {
  local int t[16], u[16];
  int l = get_local_id(0), i = get_global_id(0);
  event_t e = async_work_group_copy(t, p + 16 * get_group_id(0), 16, 0);
  LINES
}"""
MEET = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);"


def under_way(lines):
    source = UNDER_WAY.replace("LINES", lines.replace("MEET", MEET).replace("WAIT", WAIT))
    given, out = np.arange(2 * SIZE, dtype=np.int32), np.zeros(2 * SIZE, np.int32)
    kernel = xe.load(source)["under_way"]
    outputs, found = xe.check(kernel, RANGE)(given, out)
    if not found:
        jax.tree.map(np.testing.assert_array_equal, outputs, xe.launch(kernel, RANGE)(given, out))
    return found


@pytest.mark.parametrize(
    ("lines", "memory"),
    [
        ("MEET q[i] = t[l]; WAIT", "t"),
        ("MEET q[i] = t[l];", "t"),
        ("MEET q[i] = t[l]; MEET WAIT MEET", "t"),
        ("MEET MEET p[i] = 1; MEET WAIT", "p"),
        ("MEET t[l] = 1; MEET WAIT", "t"),
        ("event_t f = async_work_group_copy(u, p, 16, 0); wait_group_events(1, &f); MEET q[i] = t[l]; WAIT", "t"),
        ("MEET for (int k = 0; k < 9; k++) q[i] += t[k]; WAIT", "t"),
    ],
)
def test_a_barrier_ends_no_copy(lines, memory):
    found = under_way(lines)
    assert {f.memory for f in found} == {memory}
    assert {site.line for f in found for site in f.sites} == {5, 6}
    assert all(
        "Write wait_group_events(1, &event) between, with the event of the copy at line 5." in str(f) for f in found
    )


@pytest.mark.parametrize(
    "lines",
    [
        "WAIT MEET q[i] = t[l]; MEET t[l] = 1;",
        "WAIT q[i] = t[15 - l]; p[i] = 2;",
        "u[l] = l; MEET q[i] = u[15 - l]; MEET WAIT q[i] += t[15 - l];",
        "MEET q[i] = p[i ^ 1]; WAIT",
        "event_t f = async_work_group_copy(u, p, 16, e); MEET wait_group_events(1, &f); q[i] = t[l] + u[15 - l];",
        "async_work_group_copy(u, p, 16, e); MEET WAIT q[i] = t[15 - l] + u[15 - l];",
        """for (int k = 0; k < 4; k++) {
             WAIT
             q[i] += t[15 - l];
             MEET
             if (k < 3) e = async_work_group_copy(t, p + k, 16, 0);
           }""",
    ],
)
def test_what_is_done_beside_a_copy_or_after_it_is_clean(lines):
    assert not under_way(lines)

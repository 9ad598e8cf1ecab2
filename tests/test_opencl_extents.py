"""Indices beyond declared arrays that lie within a memory: rows of arrays of arrays, fields of structs, constants."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

RANGE = xe.NDRange.opencl(64, 32)
ZEROS, IDS = np.zeros(64, np.int32), np.arange(64, dtype=np.int32)


def beyond(source, *arguments):
    kernels = xe.load(source)
    _, found = xe.check(kernels[next(iter(kernels))], RANGE)(*arguments)
    return [(f.space, f.memory, f.address) for f in found if f.kind == "out-of-bounds"]


PLACES = {
    "row of local memory": ("local int t[4][8];", "t[l & 3][INDEX]", ("local", "t[]")),
    "row of private memory": ("int t[2][8][3];", "t[1][INDEX][2]", ("private", "t[]")),
    "field of a private struct": ("struct pair s;", "s.a[INDEX]", ("private", "s.a")),
    "field of a struct of the host": ("", "p[1].a[INDEX]", ("global", "p[].a")),
    "field by an arrow": ("global struct pair* q = p + 1;", "q->a[INDEX]", ("global", "q->a")),
    "field in an array of structs": ("local struct pair s[4];", "s[l & 3].in.b[INDEX]", ("local", "s[].in.b")),
}
USES = """
struct inner { int b[8]; int c; };
struct pair { int n; struct inner in; int a[8]; int end[4]; };
kernel void uses(global int* out, global struct pair* p, global const int* at) {
  int i = get_global_id(0), l = get_local_id(0);
  DECLARE
  LINE
}"""
PAIRS = np.zeros((2, 22), np.int32)


def uses(place, line, index):
    declare, spot, named = PLACES[place]
    source = USES.replace("DECLARE", declare).replace("LINE", line.replace("SPOT", spot)).replace("INDEX", index)
    return [f for f in beyond(source, ZEROS, PAIRS, IDS % 8) if f[1] == named[1]], named


@pytest.mark.every(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("index", ["l & 7", "at[i]", "k"])
def test_an_index_within_is_none(place, index):
    assert not uses(place, "for (int k = 0; k < 8; k++) { SPOT = i; out[i] += SPOT; }", index)[0]


@pytest.mark.every(6)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("index", "first"), [("l & 15", 8), ("8", 8), ("at[i] - 1", -1), ("k", 8)])
def test_an_index_beyond_is_found(place, index, first):
    found, named = uses(place, "for (int k = 0; k <= 8; k++) { SPOT = i; out[i] = SPOT; }", index)
    assert found == [(*named, (first,))]


def test_arrays_of_pointers():
    source = """kernel void k(global int* out, global int* in) {
      int l = get_local_id(0);
      global int* t[2];
      t[0] = out; t[1] = in;
      t[INDEX][get_global_id(0)] = l;
    }"""
    assert not beyond(source.replace("INDEX", "l & 1"), ZEROS, ZEROS)
    assert beyond(source.replace("INDEX", "l & 3"), ZEROS, ZEROS) == [("private", "t", (2,))]


def test_components_of_vectors():
    source = """kernel void k(global float4* p) {
      int l = get_local_id(0);
      float4 v = p[l];
      for (int k = 0; k < 9; k++) v[k & l & 3] += 1;
      p[l][INDEX] = v[INDEX];
    }"""
    given = np.zeros((32, 4), np.float32)
    assert not beyond(source.replace("INDEX", "l % 4"), given)
    assert set(beyond(source.replace("INDEX", "l & 7"), given)) >= {("private", "v", (4,)), ("global", "p[]", (4,))}


def test_only_those_who_get_there_count():
    assert not uses("row of local memory", "if (l < 8) SPOT = i;", "l")[0]
    assert uses("row of local memory", "if (l < 9) SPOT = i;", "l")[0] == [("local", "t[]", (8,))]


def test_the_end_of_an_array_has_an_address():
    source = "for (local int* t_ = &t[0][0]; t_ != &t[0][8]; t_++) *t_ = i;"
    assert not uses("row of local memory", source, "0")[0]
    assert not uses("field of a struct of the host", "out[i] = &SPOT - p[1].a;", "8")[0]


CONSTANTS = """
constant float table[4] = {1, 2, 3, 4};
constant int grid[2][3] = {{1, 2, 3}, {4, 5, 6}};
kernel void looks(global float* out, global const int* at) {
  int i = get_global_id(0);
  out[i] = table[INDEX] + grid[1][at[i] & 1];
}"""


def test_constants():
    for index, want in (
        ("at[i] & 3", []),
        ("at[i]", [("constant", "table", (4,))]),
        ("4", [("constant", "table", (4,))]),
    ):
        assert beyond(CONSTANTS.replace("INDEX", index), np.zeros(64, np.float32), IDS % 8) == want


def test_one_element_at_the_end_of_a_struct_stands_for_any_number():
    source = """
    struct list { int n; int items[1]; };
    kernel void k(global struct list* p, global int* out) { out[get_global_id(0)] = p->items[get_local_id(0)]; }"""
    assert not beyond(source, np.zeros(64, np.int32), ZEROS)


def test_the_finding_and_the_outputs():
    source = """
    kernel void k(global int* out) {
      local int t[4][8];
      int l = get_local_id(0);
      t[l / 8][l % 8] = l;
      barrier(CLK_LOCAL_MEM_FENCE);
      out[get_global_id(0)] = t[0][l];
    }"""
    kernel = xe.load(source)["k"]
    got, (found,) = xe.check(kernel, RANGE)(ZEROS)
    assert str(found).startswith(
        "error: out-of-bounds index of local memory t[][8], of an array of 8 elements (48 times)"
    )
    assert "Valid is 0 to 7." in str(found)
    assert "if (index >= 0 && index < 8)" in str(found)
    assert found.sites[0].line == 7
    np.testing.assert_array_equal(got, xe.launch(kernel, RANGE)(ZEROS))
    np.testing.assert_array_equal(got, IDS % 32)
    assert "t[]" not in str(xe.trace(kernel, RANGE)(ZEROS))


VECTORS = """
typedef struct { int head; float4 tail; } node;
kernel void vectors(global const uchar4* in, global float4* out, global node* nodes) {
    int i = get_global_id(0);
    out[i] = convert_float4(in[i - 1]);
    nodes[i + 1].tail = (float4)(0);
}"""


def test_an_index_of_vectors_or_records_is_told_as_the_source_counts():
    given = np.zeros(4 * 8, np.uint8), np.zeros(4 * 8, np.float32), np.zeros(8 * 8, np.int32)
    _, findings = xe.check(xe.load(VECTORS)["vectors"], xe.NDRange(8, 8))(*given)
    told = "\n".join(map(str, findings))
    assert "load of global memory in[-1] (4 times)" in told
    assert "if (i - 1 >= 0 && i - 1 < 8), or make in" in told
    assert "store of global memory nodes[8] (4 times)" in told
    assert told.count("Valid is 0 to 7;") == 2

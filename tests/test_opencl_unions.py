"""Unions: in memories, as constants and, beside a pointer, in registers; see also `test_opencl_aggregates`."""

import numpy as np
import pytest

import xeemu as xe

TYPES = """
union Number { short low; int whole; uchar4 bytes; float real; };
union Wide { int first; ulong all; };
struct Some { union Number numbers[2]; __global const int* p; };
struct One { __global const int* p; union Number n; };
struct Late { union { __global const int* p; ulong all; } either; };
__constant union Number TABLE[2] = {{.whole = 70000}, {7}};
__constant union Wide WIDE = {5};
"""


def run(body):
    source = f"{TYPES}__kernel void k(__global int* out, __global const int* in) {{ int i = get_global_id(0); {body} }}"
    return np.asarray(
        xe.launch(xe.load(source)["k"], xe.NDRange(4, 4))(np.zeros(4, np.int32), np.arange(4, dtype=np.int32))
    )


@pytest.mark.parametrize(
    ("body", "want"),
    [
        ("union Number n = {.whole = 70000}; out[i] = n.whole;", 70000),
        ("out[i] = TABLE[0].whole + TABLE[1].low + (int)WIDE.all;", 70012),
        ("struct One o = {in, {.real = 1.0f}}; out[i] = o.n.whole - 0x3f800000 + o.p[i];", [0, 1, 2, 3]),
        ("struct One o = {in, {}}; o.n.whole = -1; o.n.low = i; out[i] = o.n.whole;", [-65536, -65535, -65534, -65533]),
        ("struct One o = {in, {9}}; o.n.bytes.y = i; out[i] = o.n.whole;", [9, 265, 521, 777]),
        ("struct Some s; s.p = in; s.numbers[1].whole = 65536 + i; s.numbers[0].low = 5; "
         "out[i] = s.p[i] + s.numbers[1].low + s.numbers[1].bytes.z;", [1, 3, 5, 7]),
    ],
)  # fmt: skip
def test_members_share_their_bytes(body, want):
    np.testing.assert_array_equal(run(body), np.broadcast_to(np.int32(want), 4))


def test_a_pointer_in_a_union_is_refused_where_it_shares_its_bytes():
    with pytest.raises(xe.Error, match=r"cannot tell the bits of p; keep the pointer in a variable of its own\n.*:\d+"):
        run("struct Late l; l.either.p = in; out[i] = l.either.p[i];")

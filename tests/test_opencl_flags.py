"""Barriers whose flags are numbers that the kernel computes: they order what all work-items of a group name."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

RANGE = xe.NDRange.opencl(64, 32)

TURNED = """
kernel void turned(global int* out, int n) {
  local int tile[32];
  int l = get_local_id(0);
  tile[l] = get_global_id(0);
  int flags = FLAGS;
  barrier(flags);
  out[get_global_id(0)] = tile[31 - l];
}"""


def turned(flags, n=1):
    kernel = xe.load(TURNED.replace("FLAGS", flags))["turned"]
    return xe.check(kernel, RANGE)(np.zeros(64, np.int32), n)


@pytest.mark.parametrize(
    "flags", ["l < 8 ? CLK_LOCAL_MEM_FENCE : 1 + (l & 2)", "n", "CLK_LOCAL_MEM_FENCE | (l & 2)", "l < n * 32 ? 1 : 0"]
)
def test_what_all_of_a_group_name_is_ordered(flags):
    got, found = turned(flags)
    assert not found
    np.testing.assert_array_equal(got, np.arange(64).reshape(2, 32)[:, ::-1].ravel())


@pytest.mark.parametrize("flags", ["l == 0 ? CLK_LOCAL_MEM_FENCE : 0", "l == 0 ? 2 : 1", "n ? 0 : 1", "l < n ? 0 : 1"])
def test_what_one_of_them_does_not_name_is_not(flags):
    _, found = turned(flags)
    assert {f.kind for f in found} == {"wrong-fence"}
    assert all("line 7" in str(f) for f in found)


def test_fences_whose_flags_differ_are_refused():
    source = "kernel void k(global int* a) { mem_fence(get_local_id(0) ? 1 : 2); a[get_global_id(0)] = 1; }"
    with pytest.raises(xe.Error, match="differ between work-items, which OpenCL leaves undefined"):
        xe.launch(xe.load(source)["k"], RANGE)(np.zeros(64, np.int32))

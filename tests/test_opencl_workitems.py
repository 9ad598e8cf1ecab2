"""OpenCL C's functions of work-items and barriers with scopes."""

import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

ASKED = (
    "get_work_dim()", "get_global_offset(0)", "get_global_offset(5)", "get_enqueued_local_size(1)",
    "get_local_size(2)", "get_enqueued_local_size(3)", "get_num_groups(0)", "get_global_size(1)", "get_global_id(0)",
    "get_global_id(1)", "get_global_id(2)", "get_local_linear_id()", "get_global_linear_id()", "get_sub_group_size()",
    "get_max_sub_group_size()", "get_num_sub_groups()", "get_enqueued_num_sub_groups()", "get_sub_group_id()",
    "get_sub_group_local_id()",
)  # fmt: skip


def test_what_a_work_item_asks():
    lines = " ".join(f"out[{k} * 64 + i] = {asked};" for k, asked in enumerate(ASKED))
    source = f"""
    __attribute__((intel_reqd_sub_group_size(16)))
    __kernel void ask(__global int* out) {{ int i = get_global_linear_id(); {lines} }}"""
    got, found = xe.check(xe.load(source)["ask"], xe.NDRange.opencl((16, 4), (8, 2)))(
        np.zeros((len(ASKED), 64), np.int32)
    )
    y, x = np.divmod(np.arange(64), 16)
    linear = y % 2 * 8 + x % 8
    want = [2, 0, 0, 2, 1, 1, 2, 4, x, y, 0, linear, y * 16 + x, 16, 16, 1, 1, 0, linear]
    assert not found
    for asked, row, wanted in zip(ASKED, got, want, strict=True):
        np.testing.assert_array_equal(row, np.broadcast_to(wanted, 64), asked)


PUBLISHED = """
__kernel void publish(__global int* data, __global atomic_int* flag, __global int* out) {
  int l = get_local_id(0), g = get_group_id(0);
  if (g == 0) {
    data[l] = l + 1;
    work_group_barrier(CLK_GLOBAL_MEM_FENCE SCOPE);
    if (l == 0) atomic_store_explicit(flag, 1, memory_order_relaxed);
  } else {
    int seen = 0;
    if (l == 0) seen = atomic_load_explicit(flag, memory_order_relaxed);
    seen = work_group_broadcast(seen, 0);
    work_group_barrier(CLK_GLOBAL_MEM_FENCE SCOPE);
    out[l] = seen ? data[15 - l] : 0;
  }
}"""


@pytest.mark.parametrize(("scope", "kinds"), [("", {"data-race"}), (", memory_scope_device", set())])
def test_a_barrier_of_the_devices_scope_publishes_to_other_groups(scope, kinds):
    kernel = xe.load(PUBLISHED.replace("SCOPE", scope), std="CL2.0")["publish"]
    zeros = np.zeros(16, np.int32)
    (_, _, out), found = xe.check(kernel, xe.NDRange.opencl(32, 16))(zeros, zeros[:1], zeros)
    assert {f.kind for f in found} == kinds
    # The groups run in any order: the flag is seen, and then all that was stored before, or it is not.
    assert list(out) in (list(range(16, 0, -1)), [0] * 16)


def test_kernels_that_enqueue_others_are_refused():
    source = """
    __kernel void outer(__global int* out) {
      *out = get_kernel_work_group_size(^{ *out = 1; });
    }"""
    with pytest.raises(xe.Error, match=r"(?s)block.*outer|:3:"):
        xe.launch(xe.load(source, std="CL2.0")["outer"], xe.NDRange(1, 1))(np.zeros(1, np.int32))

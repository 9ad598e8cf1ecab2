"""Names that the language does not have: what was meant, as far as that can be told, with the kernel's line."""

import copy

import numpy as np
import pytest
import refusals

import xeemu as xe

NAMES = [
    ("wg.global_idx", "a work-group has no 'global_idx' (did you mean 'global_id'?)"),
    ("wg.get_local_id", "a work-group has no 'get_local_id' (did you mean 'local_id'?)"),
    ("wg.blockIdx", "a work-group has no 'blockIdx' (did you mean 'group_id'?)"),
    ("wg.__syncthreads", "a work-group has no '__syncthreads' (did you mean 'barrier'?)"),
    ("wg.shuffle", "a work-group has no 'shuffle' (did you mean 'sub_group.select'?)"),
    ("wg.quux", "a work-group has no 'quux'; it has all, any, barrier, "),
    ("wg.sub_group.shuffle", "a sub-group has no 'shuffle' (did you mean 'select'?)"),
    ("wg.sub_group.shfl_down_sync", "a sub-group has no 'shfl_down_sync' (did you mean 'shift_left'?)"),
    ("wg.sub_group.zip", "a sub-group has no 'zip'; it has all, any, "),
    ("x.atomic[0].fetch_and_", "x.atomic[...] has no 'fetch_and_' (did you mean 'fetch_and'?)"),
    ("x.atomic[0].atomicCAS", "x.atomic[...] has no 'atomicCAS' (did you mean 'compare_exchange'?)"),
    ("x.atomic.fetch_and_", "x.atomic[...] has no 'fetch_and_' (did you mean 'fetch_and'?)"),
    ("x.atomic(order='acquire')[0].fetch_mul", "x.atomic[...] has no 'fetch_mul'; it has add, and_, "),
    ("x.at[0].multiply", "x.at[...] has no 'multiply'; a plain store is .at[i].set(x), a load is x[i], an update "),
    ("x.at[0].load", "x.at[...] has no 'load'; a plain store is .at[i].set(x), a load is x[i]"),
    ("x.at.set", "x.at.set(...) names no element; write x.at[i].set(...)"),
    ("x.at.add", "x.at[...] has no add: a plain store is .at[i].set(x); work-items that update one element need "),
    ("x.store", "memory x has no 'store' (did you mean 'at[i].set'?)"),
    ("x.fetch_add", "memory x has no 'fetch_add' (did you mean 'atomic[i].fetch_add'?)"),
    ("x.lod", "memory x has no 'lod' (did you mean 'load'?)"),
]


@pytest.mark.parametrize(("written", "message"), NAMES)
def test_a_name_that_is_not_there_is_told_with_the_one_meant(written, message):
    def kernel(wg, x):
        eval(written)  # <-
        return x

    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(kernel), xe.NDRange(4, 4))(np.zeros(8, np.int32))
    assert str(caught.value).startswith(message)
    assert str(caught.value).endswith(("\n  at <string>:1", f"\n  at {refusals.site(kernel)}"))


def test_python_finds_out_what_there_is():
    @xe.kernel
    def kernel(wg, x):
        for thing in wg, wg.sub_group, x, x.at, x.at[0], x.atomic, x.atomic[0]:
            assert not hasattr(thing, "quux")
            assert type(copy.copy(thing)) is type(thing)
        return x

    assert xe.launch(kernel, xe.NDRange(4, 4))(np.arange(8)).shape == (8,)

"""Foreign: what OpenCL C and SYCL C++ have instead of a word that a file does not declare: of CUDA, or misspelt."""

import difflib
import re
from collections.abc import Mapping

OPENCL, SYCL = 0, 1

_ATOMICS = {"Add": "add", "Sub": "sub", "Min": "min", "Max": "max", "And": "and", "Or": "or", "Xor": "xor"}
_REFERENCE = "sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::device>(x)"
_HOSTS = "nothing: the host's calls are no part of a kernel"

_WORDS: Mapping[str, tuple[str, str]] = {
    "__shared__": ("local", "sycl::local_accessor<T> tile(size, handler)"),
    "__global__": ("kernel", "the lambda that parallel_for takes"),
    "__device__": ("nothing: a function is one of the device", "nothing: a function is one of the device, too"),
    "__constant__": ("constant", "a captured value, or an accessor"),
    "__syncthreads": ("barrier(CLK_LOCAL_MEM_FENCE)", "sycl::group_barrier(item.get_group())"),
    "__syncwarp": ("sub_group_barrier(CLK_LOCAL_MEM_FENCE)", "sycl::group_barrier(item.get_sub_group())"),
    "__threadfence": ("mem_fence(CLK_GLOBAL_MEM_FENCE)", "sycl::atomic_fence(order, sycl::memory_scope::device)"),
    "threadIdx": ("get_local_id(d)", "item.get_local_id(d)"),
    "blockIdx": ("get_group_id(d)", "item.get_group(d)"),
    "blockDim": ("get_local_size(d)", "item.get_local_range(d)"),
    "gridDim": ("get_num_groups(d)", "item.get_group_range(d)"),
    "warpSize": ("get_sub_group_size()", "item.get_sub_group().get_local_range()[0]"),
    "__shfl_sync": ("intel_sub_group_shuffle(x, lane)", "sycl::select_from_group(sub_group, x, lane)"),
    "__shfl_xor_sync": ("intel_sub_group_shuffle_xor(x, mask)", "sycl::permute_group_by_xor(sub_group, x, mask)"),
    "__shfl_down_sync": ("intel_sub_group_shuffle_down(x, y, n)", "sycl::shift_group_left(sub_group, x, n)"),
    "__shfl_up_sync": ("intel_sub_group_shuffle_up(x, y, n)", "sycl::shift_group_right(sub_group, x, n)"),
    "__ballot_sync": ("sub_group_ballot(x)", "sycl::ext::oneapi::group_ballot(sub_group, x)"),
    "__popc": ("popcount(x)", "sycl::popcount(x)"),
    "__ldg": ("*p", "*p"),
    "rsqrtf": ("rsqrt(x)", "sycl::rsqrt(x)"),
    "atomicExch": ("atomic_xchg(p, value)", f"{_REFERENCE}.exchange(value)"),
    "atomicCAS": ("atomic_cmpxchg(p, old, value)", f"{_REFERENCE}.compare_exchange_strong(old, value)"),
    **{
        f"atomic{name}": (f"atomic_{plain}(p, value)", f"{_REFERENCE}.fetch_{plain}(value)")
        for name, plain in _ATOMICS.items()
    },
    "cudaMalloc": (_HOSTS, "sycl::malloc_device<T>(count, queue)"),
    "cudaMallocManaged": (_HOSTS, "sycl::malloc_shared<T>(count, queue)"),
    "cudaMemcpy": (_HOSTS, "queue.memcpy(to, from, bytes).wait()"),
    "cudaMemset": (_HOSTS, "queue.memset(p, value, bytes).wait()"),
    "cudaFree": (_HOSTS, "sycl::free(p, queue)"),
    "cudaDeviceSynchronize": (_HOSTS, "queue.wait()"),
}
_DECLARED_WHEN_USED = (
    *("get_global_id", "get_local_id", "get_group_id", "get_global_size", "get_local_size", "get_num_groups"),
    *("get_global_offset", "get_work_dim", "get_global_linear_id", "get_local_linear_id", "get_sub_group_size"),
    *("get_sub_group_id", "get_sub_group_local_id", "barrier", "work_group_barrier", "sub_group_barrier", "mem_fence"),
    *(
        "atomic_add",
        "atomic_sub",
        "atomic_inc",
        "atomic_dec",
        "atomic_min",
        "atomic_max",
        "atomic_xchg",
        "atomic_cmpxchg",
    ),
    *("async_work_group_copy", "wait_group_events", "work_group_reduce_add", "sub_group_reduce_add", "printf"),
)
"""Functions of OpenCL C that clang suggests to nobody, since it declares them where they are used."""

_AMBIGUOUS = re.compile(r"call to 'atom(?:ic)?_\w+' is ambiguous")
_UNDECLARED = re.compile(r"(?:use of undeclared identifier|unknown type name) '(\w+)'")


def advised(message: str, language: int) -> str:
    """A message of clang's, with what to write instead; `language` is one of the above."""
    if _AMBIGUOUS.match(message):
        return f"{message}; it takes integers: update a float in a loop by atomic_cmpxchg, over as_int(value)"
    found = _UNDECLARED.match(message)
    if found is None or "did you mean" in message:
        return message
    if found[1] in _WORDS:
        return f"{found[0]}, a word of CUDA; {('OpenCL C', 'SYCL')[language]} has {_WORDS[found[1]][language]}"
    names = _DECLARED_WHEN_USED if language == OPENCL else ()
    nearest = difflib.get_close_matches(found[1], names, n=1, cutoff=0.8)
    return f"{message} (did you mean {nearest[0]!r}?)" if nearest else message

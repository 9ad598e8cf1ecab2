"""What a measuring process does: it makes a contender's inputs, runs it when asked, and tells what it found.

A process holds one contender for one workload, so that its peak of memory is the contender's alone.
"""

import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmark import ceilings, common, equal, opencl, workloads

import xeemu as xe
from xeemu.kernels import EXAMPLES, Example, example, histogram, slm_bank

_LEAST_SECONDS, _LEAST_CALLS = 0.1, 3  # that are timed in one go
_SETTLING = 3  # times as many calls come first
_GROUP_CALLS, _GROUP_SECONDS = 5, 1.0  # at least


def describe() -> None:
    """Says what there is to be measured."""
    _say(
        examples={name: _description(name) for name in EXAMPLES},
        machine=_machine(),
        groups=list(_GROUPS),
        common=list(common.COMMON),
        equal=list(equal.REPEATED),
    )


def find(peer: str) -> None:
    """Says what a peer is, or why it is not there; a process finds one only."""
    try:
        _say(device=opencl.describe(peer), missing=None)
    except opencl.Missing as missing:
        _say(device=None, missing=str(missing))


def _description(name: str) -> dict[str, Any]:
    return {"ceilings": list(ceilings.CEILINGS[name]), "enlarged": workloads.enlarged(name)}


def _machine() -> dict[str, Any]:
    told = pathlib.Path("/proc/cpuinfo")
    lines = told.read_text().splitlines() if told.exists() else []
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())
    return {
        "cpu": cpu or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "jax": jax.__version__,
        "jax_device": f"{jax.devices()[0].platform}: {jax.devices()[0].device_kind}",
        "numpy": np.__version__,
        "xeemu": importlib.metadata.version("xeemu"),
    }


# --- One contender ---


def serve(name: str, size: str, contender: str) -> None:
    """Prepares a contender and says so; then times it once for each line that comes, till there are no more."""
    workload = workloads.workload(name, size)
    _warm_up()
    start = _resident_bytes()
    call, fetch = _made(workload, contender)
    before, cpu = _new_peak(), time.process_time()
    seconds, output = _timed(call)
    peak, cpu = _peak(), time.process_time() - cpu
    digest = _digest(fetch(output))
    del output
    again, _ = _timed(call)
    # A call takes several times as long until the process has touched all the memory it will have.
    settling = [_timed(call)[0] for _ in range(_SETTLING * _LEAST_CALLS)]
    calls = max(_LEAST_CALLS, round(_LEAST_SECONDS / statistics.median(settling)))
    for _ in range(_SETTLING * (calls - _LEAST_CALLS)):
        call()
    nd_range = workload.example.nd_range(workload.size)
    _say(
        size=workload.size,
        work=workload.example.work(workload.size),
        unit=workload.example.unit,
        work_items=nd_range.size,
        first=seconds,
        first_cpu=cpu,
        compile=max(0.0, seconds - again),
        peak=peak,
        start=start,
        before=before,
        digest=digest,
    )
    for _ in sys.stdin:
        _say(seconds=statistics.median(_timed(call)[0] for _ in range(calls)))


def compilation(name: str, size: str) -> None:
    """Says the time to trace and compile an example of a single launch, without running it."""
    of, sized = (workload := workloads.workload(name, size)).example, workload.size
    _warm_up()
    inputs = of.inputs(sized)

    def launch(*arguments: Any) -> Any:
        return xe.launch(of.kernel, of.nd_range(sized))(*arguments, **of.static)

    with jax.enable_x64(any(x.dtype.itemsize == 8 for x in inputs)):
        seconds, _ = _timed(lambda: jax.jit(launch).lower(*inputs).compile())
    _say(seconds=seconds)


def judge(name: str, size: str) -> None:
    """Says what the reference's results are."""
    workload = workloads.workload(name, size)
    if workload.example.reference is None:
        _say(digest=None)
    else:
        outputs = workload.example.reference(*workload.example.inputs(workload.size))
        _say(digest=_digest(jax.tree.leaves(outputs)))


def _made(workload: workloads.Workload, contender: str) -> tuple[Callable[[], Any], Callable[[Any], list[np.ndarray]]]:
    """What runs a contender, and what makes arrays of what that gives."""
    of, size = workload.example, workload.size
    inputs = of.inputs(size)
    if contender in opencl.PEERS:
        return opencl.contender(contender, of, size, inputs)
    if contender == "xeemu":
        call = _launched(of, size, _resident(inputs))
    else:
        call = ceilings.CEILINGS[of.name][contender](of, size, inputs)
    return lambda: jax.block_until_ready(call()), lambda output: [np.asarray(x) for x in jax.tree.leaves(output)]


def _launched(of: Example, size: tuple[int, ...], resident: tuple[Any, ...]) -> Callable[[], Any]:
    """The launch of an example, made once as a function that JAX compiles is."""
    if of.run is not None:
        return lambda: of.launch(resident, size)
    launch = xe.launch(of.kernel, of.nd_range(size))
    return lambda: launch(*resident, **of.static)


def _resident(inputs: tuple[np.ndarray, ...]) -> tuple[Any, ...]:
    """The arrays on JAX's device with all their bits."""
    with jax.enable_x64(True):
        return tuple(jax.block_until_ready(jax.device_put(x)) if x.ndim else x for x in inputs)


def _timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    output = call()
    return time.perf_counter() - start, output


def _digest(outputs: list[np.ndarray]) -> str:
    """A hash of all bits of the results, with shapes and dtypes."""
    hashed = hashlib.sha256()
    for output in outputs:
        hashed.update(f"{output.dtype} {output.shape}".encode())
        hashed.update(np.ascontiguousarray(output).data)
    return hashed.hexdigest()


def _warm_up() -> None:
    """What JAX does once in a process is no part of a kernel's compilation."""
    jax.block_until_ready(jax.jit(lambda x: x + 1)(jnp.zeros(8)))


def _say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


# --- Memory ---


def _new_peak() -> int:
    """Lets the process's peak begin anew, where the system can do that; gives the memory that is resident now."""
    reset = pathlib.Path("/proc/self/clear_refs")
    if reset.exists():
        reset.write_text("5")
    return _resident_bytes()


def _peak() -> int:
    """The greatest resident memory since then, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _resident_bytes() -> int:
    statm = pathlib.Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else _peak()


# --- Costs by number of groups ---


def groups(name: str, count: int) -> None:
    """Says the least time of a launch with so many work-groups, the size of what it takes and gives, and its peak."""
    of, size, static = _GROUPS[name](count)
    _warm_up()
    resident = _resident(of.inputs(size))
    launch = xe.launch(of.kernel, of.nd_range(size))
    before = _new_peak()
    first, outputs = _timed(lambda: jax.block_until_ready(launch(*resident, **static)))
    results = sum(x.nbytes for x in jax.tree.leaves(outputs))
    # Of the first call, with the compiler: later ones find what the C library has kept of the results before.
    beyond = _peak() - before - results
    del outputs
    _say(
        seconds=_least(lambda: jax.block_until_ready(launch(*resident, **static))),
        first=first,
        arrays=sum(x.nbytes for x in resident) + results,
        beyond=beyond,
        peak=_peak(),
    )


def _least(call: Callable[[], Any]) -> float:
    times: list[float] = []
    while len(times) < _GROUP_CALLS or sum(times) < _GROUP_SECONDS:
        times.append(_timed(call)[0])
    return min(times)


_GROUPS: dict[str, Callable[[int], Any]] = {
    "slm_bank_16": lambda count: (slm_bank.example(16), (count * 32,), {"stride": 16, "iterations": 16}),
    "table_copy_good": lambda count: (example("table_copy_good"), (256, count, 64), {}),
    "tree_reduction": lambda count: (example("tree_reduction"), (count * 256,), {}),
    "histogram_slm": lambda count: (_HISTOGRAM_OF_ONE_WORD, (count * 64,), {"num_bins": 256, "block": 1}),
}
"""Kernels with the example, its size and the static parameters for a number of groups; each group does little."""


class _OneWord:
    """The histogram of which each work-item takes one word."""

    kernel = histogram.histogram_slm
    inputs = staticmethod(EXAMPLES["histogram_slm"].inputs)

    @staticmethod
    def nd_range(size: tuple[int, ...]) -> xe.NDRange:
        return xe.NDRange(size[0], 64)


_HISTOGRAM_OF_ONE_WORD = _OneWord()


# --- Costs by size of the group and by length of the program ---


def scaling(local_size: int, rounds: int) -> None:
    """Says the least time of a launch of 2^20 work-items, and what its first call took more."""
    _warm_up()
    x = jax.block_until_ready(jnp.arange(_SCALED_ITEMS, dtype=jnp.uint32))
    launch = xe.launch(_exchange, xe.NDRange(_SCALED_ITEMS, local_size))
    first, _ = _timed(lambda: jax.block_until_ready(launch(x, rounds=rounds)))
    seconds = _least(lambda: jax.block_until_ready(launch(x, rounds=rounds)))
    _say(seconds=seconds, compile=first - seconds, items=_SCALED_ITEMS)


_SCALED_ITEMS = 2**20


@xe.kernel
def _exchange(wg: xe.WorkGroup, x: xe.Memory, *, rounds: int) -> xe.Memory:
    """Each round is a store, a barrier, a load of another work-item's element, a multiply-add and a barrier."""
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.local(wg.size, jnp.uint32)
    value = x[i]
    for k in range(rounds):
        tile = wg.barrier(tile.at[lid].set(value))
        value = value * np.uint32(3) + tile[lid ^ (k % 8)]
        tile = wg.barrier(tile)
    return x.at[i].set(value)


# --- Other kernels than the examples ---


def beside(name: str, rounds: int) -> None:
    """Says the times of a launch and of what is written by hand, the median of rounds in turns, and if they agree."""
    _warm_up()
    contenders = common.launched(common.COMMON[name]())
    first, outputs = _timed(lambda: jax.block_until_ready(contenders[0]()))
    agrees = bool(np.allclose(outputs, contenders[1](), rtol=1e-3, atol=1e-3))
    del outputs
    times = [[_round(lambda c=c: jax.block_until_ready(c())) for c in contenders] for _ in range(rounds + 1)][1:]
    launch, by_hand = (statistics.median(column) for column in zip(*times, strict=True))
    ratio = statistics.median(b / a for a, b in times)
    _say(xeemu=launch, jax=by_hand, ratio=ratio, compile=max(0.0, first - launch), agrees=agrees)


def _round(call: Callable[[], Any]) -> float:
    """The median of several calls."""
    times: list[float] = []
    while len(times) < _LEAST_CALLS or sum(times) < _LEAST_SECONDS:
        times.append(_timed(call)[0])
    return statistics.median(times)


# --- Equal calls ---


def equal_calls(name: str, rounds: int) -> None:
    """Says the processor time in seconds of an equal launch, check, profile and estimate, a number for each round."""
    _warm_up()
    _say(**equal.seconds(equal.REPEATED[name](), rounds))

"""The kernels on an OpenCL runtime of the CPU: what each launch takes, and how a runtime is found."""

import os
import pathlib
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.kernels import Example
from xeemu.kernels.twins import TWINS

PEERS = {"pocl": "Portable Computing Language", "intel": "Intel(R) OpenCL"}
"""The contenders by the names that their platforms give themselves."""

_INTEL = pathlib.Path(sys.prefix) / "lib" / "libintelocl.so"


_WRITTEN = {"atomics_lab": (-2, -1)}
"""Which arguments are the results, where it is not the last alone."""


class Missing(Exception):
    """A runtime that is not there, with the reason."""


def describe(peer: str) -> str:
    """Name and version of a peer's device.

    Raises:
      Missing: pyopencl or the runtime is not installed.
    """
    device = _device(peer)
    return f"{device.platform.version}, driver {device.driver_version}, {device.name.strip()}"


def contender(peer: str, example: Example, size: Any, inputs: Sequence[Any]) -> tuple[Callable, Callable]:
    """A function that runs an example by a peer, and one that gives the results after the first run."""
    device = _device(peer)
    import pyopencl as cl

    context = cl.Context([device])
    queue = cl.CommandQueue(context)
    twin = TWINS[example.name]
    options = twin.options(example, size)
    steps = list(_steps(example, size, inputs))
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    buffers: dict[int, Any] = {}

    def resident(argument: Any) -> Any:
        """An argument as a kernel takes it; an array that several launches use is one buffer."""
        if not np.ndim(argument):
            return np.int32(argument)
        if id(argument) not in buffers:
            buffers[id(argument)] = cl.Buffer(context, flags, hostbuf=argument)
        return buffers[id(argument)]

    ranges = [_ranges(nd_range) for nd_range, _ in steps]
    given = [[resident(x) for x in twin.arguments(*arguments)] for _, arguments in steps]
    last = twin.arguments(*steps[-1][1])
    shapes = [(k, last[k].shape, last[k].dtype) for k in _WRITTEN.get(example.name, (-1,))]
    kernels: list[Any] = []

    def build() -> None:
        source = twin.path.read_text()
        with warnings.catch_warnings(action="ignore"):  # compilers are talkative
            program = cl.Program(context, source).build(options)
        for arguments in given:
            kernels.append(cl.Kernel(program, twin.kernel))
            kernels[-1].set_args(*arguments)

    def call() -> None:
        if not kernels:
            build()
        for kernel, (global_size, local_size) in zip(kernels, ranges, strict=True):
            cl.enqueue_nd_range_kernel(queue, kernel, global_size, local_size)
        queue.finish()

    def fetch(_: Any) -> list[np.ndarray]:
        outputs = [np.empty(shape, dtype) for _, shape, dtype in shapes]
        for (k, _, _), output in zip(shapes, outputs, strict=True):
            cl.enqueue_copy(queue, output, given[-1][k])
        queue.finish()
        if example.name == "atomics_lab":
            outputs.append(np.mean(outputs, axis=0, dtype=np.float64))
        return outputs

    return call, fetch


def _steps(example: Example, size: Any, inputs: Sequence[Any]) -> Any:
    """The nd-range and the arrays of each launch; of a tree, until one sum is left."""
    if "tree" not in example.name:
        yield example.nd_range(size), tuple(inputs)
        return
    data, sums = inputs
    while True:
        # The array of an odd number of sums has a 0 after them.
        sums = np.zeros(sums.size + (sums.size % 2 if sums.size > 1 else 0), np.int32)
        yield example.nd_range(data.shape), (data, sums)
        if sums.size == 1:
            return
        nd_range = example.nd_range(sums.shape)
        data, sums = sums, np.zeros(nd_range.size // nd_range.local_size[0], np.int32)


def _ranges(nd_range: Any) -> tuple[Any, Any]:
    """Global and local size in OpenCL's order of dimensions, the contiguous one first."""
    return nd_range.global_size[::-1], nd_range.local_size and nd_range.local_size[::-1]


def _device(peer: str) -> Any:
    """The CPU of a peer's platform."""
    os.environ.update(PYOPENCL_NO_CACHE="1", POCL_KERNEL_CACHE="0")
    if peer == "intel" and _INTEL.exists():
        # The package's own registration names the place where it was built.
        with tempfile.TemporaryDirectory() as vendors:
            (pathlib.Path(vendors) / "intel.icd").write_text(f"{_INTEL}\n")
            os.environ["OCL_ICD_VENDORS"] = vendors
            platforms = _platforms()
    else:
        platforms = _platforms()
    import pyopencl as cl

    for platform in platforms:
        for device in platform.get_devices() if platform.name == PEERS[peer] else ():
            if device.type & cl.device_type.CPU:
                return device
    raise Missing(f"no platform {PEERS[peer]!r}")


def _platforms() -> Any:
    """All platforms that the loader finds when it is asked first."""
    try:
        import pyopencl as cl

        return cl.get_platforms()
    except Exception as error:  # of the import, or of a loader without platforms
        raise Missing(str(error)) from error

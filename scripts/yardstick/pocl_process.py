"""One kernel by PoCL, in a process of its own: `python pocl_process.py run.npz result.npz`.

run.npz holds `meta`, a JSON text {source, before, options, stds, kernel, global, local, arguments, repeat}, and for
each argument k that is an array or a value its bytes in `a<k>`. result.npz gets `meta`, {error} or {seconds,
build_seconds, unsteady}, and each array k after the first launch in `a<k>`. `unsteady` are the arrays that a second
launch with the same arguments left otherwise. It needs pyopencl and NumPy alone.
"""

import json
import sys
import time

import numpy as np
import pyopencl as cl


def main() -> None:
    given, wanted = sys.argv[1:]
    with np.load(given) as file:
        arrays = {name: file[name] for name in file.files if name != "meta"}
        meta = json.loads(str(file["meta"]))
    try:
        told, results = run(meta, arrays)
    except cl.Error as error:
        told, results = {"error": first_error(str(error))}, {}
    np.savez(wanted, meta=json.dumps(told), **results)


def first_error(text: str) -> str:
    lines = [line for line in text.splitlines() if "error:" in line] or text.splitlines()
    return lines[0].strip()[:300] if lines else "unknown"


def run(meta, arrays):
    context = cl.Context([cl.get_platforms()[0].get_devices()[0]])
    queue = cl.CommandQueue(context)
    start = time.perf_counter()
    kernel = getattr(built(context, meta), meta["kernel"])
    building = time.perf_counter() - start
    buffers = bound(context, kernel, meta["arguments"], arrays)
    results, seconds = launched(queue, kernel, meta, buffers, arrays)
    again, more = launched(queue, kernel, meta, buffers, arrays)
    unsteady = [name for name in results if results[name].tobytes() != again[name].tobytes()]
    times = [seconds, more] + [launched(queue, kernel, meta, buffers, arrays)[1] for _ in range(meta["repeat"])]
    return {"seconds": min(times), "build_seconds": building, "unsteady": unsteady}, results


def built(context, meta):
    with open(meta["source"], errors="replace") as file:
        text = file.read()
    includes = "".join(f'#include "{name}"\n' for name in meta["before"])
    text = f'{includes}#line 1 "{meta["source"]}"\n{text}'
    problem = None
    for std in meta["stds"]:
        try:
            return cl.Program(context, text).build(options=[f"-cl-std={std}", "-w", *meta["options"]], cache_dir=False)
        except cl.Error as error:
            problem = problem or error
    raise problem


def bound(context, kernel, kinds, arrays):
    buffers, arguments = {}, []
    for k, (kind, size) in enumerate(kinds):
        name = f"a{k}"
        if kind == "array":
            buffers[name] = cl.Buffer(context, cl.mem_flags.READ_WRITE, max(arrays[name].nbytes, 1))
            arguments.append(buffers[name])
        elif kind == "value":
            arguments.append(np.frombuffer(arrays[name].tobytes(), np.uint8))
        else:
            arguments.append(cl.LocalMemory(size) if kind == "local" else None)
    kernel.set_args(*arguments)
    return buffers


def launched(queue, kernel, meta, buffers, arrays):
    """The arrays after a launch with the arguments as they were given, and its seconds."""
    for name, buffer in buffers.items():
        if arrays[name].nbytes:
            cl.enqueue_copy(queue, buffer, np.ascontiguousarray(arrays[name]).view(np.uint8))
    queue.finish()
    start = time.perf_counter()
    cl.enqueue_nd_range_kernel(queue, kernel, tuple(meta["global"]), tuple(meta["local"]))
    queue.finish()
    seconds = time.perf_counter() - start
    results = {}
    for name, buffer in buffers.items():
        results[name] = np.empty(max(arrays[name].nbytes, 1), np.uint8)
        cl.enqueue_copy(queue, results[name], buffer)
    return results, seconds


if __name__ == "__main__":
    main()

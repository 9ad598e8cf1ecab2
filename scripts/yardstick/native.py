"""Native: what SimSYCL makes of a program, compiled for the processor and run, kept beside the checkouts.

Each program is run twice: the second time work-items go in another order, and memory that nothing has been written to
holds other bytes. What the two runs do not have in common is unsteady, and is not compared.
"""

import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from yardstick import native_build, program_subject
from yardstick.native_build import Build
from yardstick.programs import Program

BUILD_SECONDS = 300
WAITING = 10  # times as long as the limit of processor time a run may take on a loaded machine
MEMORY = 8 << 30  # bytes of address space that a run may take
ORDERS = ({"SIMSYCL_SCHEDULE": "rr", "XEEMU_PATTERN": "255"}, {"SIMSYCL_SCHEDULE": "shuffle:1", "XEEMU_PATTERN": "85"})
_REQUIRED = re.compile(r"(?:\b|_)sub_group_size\s*[(<]\s*(\w+)\s*[)>]")
_CLOCK = re.compile(r"\btime\s*\(\s*(0|NULL|nullptr)\s*\)")


@dataclasses.dataclass(frozen=True)
class Native:
    """What a program does natively.

    Attributes:
      error: why there is nothing: the compiler's message, `"no result in 60 s"`, `"ended by signal 6: ..."`; "" else.
      text, again: what the two runs print.
      status, status_again: what they return.
      contents, contents_again: the bytes of buffers and of allocations of USM at their end, in that order.
      seconds, build_seconds: of the first run and of the compiler.
    """

    error: str = ""
    text: str = ""
    again: str = ""
    status: int = 0
    status_again: int = 0
    seconds: float = 0.0
    build_seconds: float = 0.0
    contents: tuple[np.ndarray, ...] = ()
    contents_again: tuple[np.ndarray, ...] = ()


# --- Kept between runs ---


def known(program: Program, corpus: pathlib.Path, limit: float, run_it: bool = True) -> Native:
    """The kept result, or with `run_it` SimSYCL's now."""
    path = kept(program, corpus)
    if path.exists():
        return read(path)
    if not run_it:
        return Native(error="not run")
    found = run(program, corpus, limit)
    keep(path, found)
    return found


def kept(program: Program, corpus: pathlib.Path) -> pathlib.Path:
    """The file of a result: its name changes with the program's text, options and arguments."""
    digest = hashlib.sha256(source(program, corpus).read_bytes())
    digest.update(repr((program.options, program.argv)).encode())
    return corpus / "native" / program.suite / f"{pathlib.Path(program.file).stem}-{digest.hexdigest()[:16]}.npz"


def read(path: pathlib.Path) -> Native:
    with np.load(path) as file:
        told: dict[str, Any] = json.loads(str(file["meta"]))
        for name, letter in (("contents", "c"), ("contents_again", "d")):
            told[name] = tuple(file[f"{letter}{k}"] for k in range(told[name]))
    return Native(**told)


def keep(path: pathlib.Path, found: Native) -> None:
    told = dataclasses.asdict(found) | {
        "contents": len(found.contents),
        "contents_again": len(found.contents_again),
    }
    arrays = {f"c{k}": data for k, data in enumerate(found.contents)}
    arrays |= {f"d{k}": data for k, data in enumerate(found.contents_again)}
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, meta=json.dumps(told), **arrays)


# --- Running ---


def source(program: Program, corpus: pathlib.Path) -> pathlib.Path:
    """The file to compile; arguments are given to the process."""
    return program_subject.program_source(dataclasses.replace(program, argv=()), corpus)


def run(program: Program, corpus: pathlib.Path, limit: float) -> Native:
    """Compiles the program and runs it twice.

    Raises:
      NoSimSYCL: SimSYCL cannot be built.
    """
    build = native_build.built(corpus)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        start = time.perf_counter()
        if error := compiled(program, corpus, build, folder / "program"):
            return Native(error=error)
        built_s = time.perf_counter() - start
        system = folder / "system.json"
        system.write_text(json.dumps(modelled(build, sub_group_size(program, corpus))))
        first = finished(program, folder, system, ORDERS[0], limit)
        if _CLOCK.search(source(program, corpus).read_text(errors="replace")):
            time.sleep(1)  # what follows from the time in seconds is not the same again
        second = finished(program, folder, system, ORDERS[1], limit)
    if first.error or second.error:
        return dataclasses.replace(first, error=first.error or f"in another order, {second.error}")
    again = {"again": second.text, "status_again": second.status, "contents_again": second.contents}
    return dataclasses.replace(first, build_seconds=round(built_s, 3), **again)


def compiled(program: Program, corpus: pathlib.Path, build: Build, target: pathlib.Path) -> str:
    """Compiles a program; gives the first error."""
    own = [o for o in program_subject.program_options(program, corpus) if not o.startswith("-std=")]
    command = ["g++", *build.flags, *own, str(source(program, corpus)), "-o", str(target), *build.libraries]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        return f"not compiled in {BUILD_SECONDS} s"
    if not done.returncode:
        return ""
    found = re.search(r"(?:error|undefined reference)\b.*", done.stderr)
    return f"does not compile: {(found[0] if found else done.stderr[-200:])[:200]}"


def sub_group_size(program: Program, corpus: pathlib.Path) -> int:
    """The size of sub-groups, one for all kernels: the greatest that the file requires, or 0 for the device's own."""
    text = source(program, corpus).read_text(errors="replace")
    return max((size for found in _REQUIRED.findall(text) for size in sizes(text, found)), default=0)


def sizes(text: str, size: str) -> list[int]:
    """The numbers that a size in a file's text may be: itself, or what a constant or a macro of that name is given."""
    if size.isdigit():
        return [int(size)]
    return [int(n) for n in re.findall(rf"\b{size}\s*=?\s*(\d+)\b", text)]


def modelled(build: Build, size: int) -> dict[str, Any]:
    """SimSYCL's description of a system, with the sizes of the device that xeemu runs programs on."""
    from xeemu.devices.lookup import device

    model = device("max1550")
    first = size or model.default_sub_group_size
    system: dict[str, Any] = json.loads(build.system.read_text())
    for each in system["devices"].values():
        each["sub_group_sizes"] = [first, *(n for n in model.sub_group_sizes if n != first)]  # it takes the first
        each["max_num_sub_groups"] = model.max_work_group_size // min(model.sub_group_sizes)
        each["max_work_group_size"] = model.max_work_group_size
        each["local_mem_size"] = model.local_mem_size
        each["max_compute_units"] = (model.xe_cores or 1) * (model.vector_engines_per_core or 1)
        each["global_mem_size"], each["max_mem_alloc_size"] = 1 << 36, 1 << 34
    return system


def finished(
    program: Program, folder: pathlib.Path, system: pathlib.Path, order: Mapping[str, str], limit: float
) -> Native:
    """One run, with what its memories hold in the end."""
    with tempfile.TemporaryDirectory(dir=folder) as contents:
        environment = os.environ | {"SIMSYCL_SYSTEM": str(system), "XEEMU_CONTENTS": contents} | order
        command = [str(folder / "program"), *program.argv]
        start = time.perf_counter()
        try:
            done = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=WAITING * limit,
                env=environment,
                cwd=contents,
                preexec_fn=functools.partial(limited, int(limit)),
            )
        except subprocess.TimeoutExpired:
            return Native(error=f"no result in {WAITING * limit:.0f} s")
        if done.returncode == -signal.SIGXCPU:
            return Native(error=f"no result in {limit:.0f} s of processor time")
        seconds = round(time.perf_counter() - start, 3)
        if done.returncode < 0:
            return Native(error=f"ended by signal {-done.returncode}: {last_words(done.stdout)}")
        return Native(
            text=done.stdout.decode(errors="replace"),
            status=done.returncode,
            seconds=seconds,
            contents=memories(pathlib.Path(contents)),
        )


def last_words(output: bytes) -> str:
    """What a program that was ended said of it."""
    return " ".join(output.strip().decode(errors="replace").splitlines()[-3:])[-200:]


def limited(seconds: int) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def memories(folder: pathlib.Path) -> tuple[np.ndarray, ...]:
    """The bytes of the memories, in the order of their end."""
    files = sorted(folder.glob("*.bin"), key=lambda path: int(path.stem) if path.stem.isdigit() else -1)
    return tuple(np.fromfile(path, np.uint8) for path in files)

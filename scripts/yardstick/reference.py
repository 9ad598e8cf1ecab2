"""Reference: what PoCL makes of an entry, kept beside the checkouts, so that a comparison does not wait for it."""

import dataclasses
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from yardstick import arguments, sources
from yardstick.manifest import Entry

PROCESS = pathlib.Path(__file__).parent / "pocl_process.py"


@dataclasses.dataclass(frozen=True)
class Reference:
    """PoCL's results of one run.

    Attributes:
      error: why there are none: PoCL's message, `"crashed (signal 11)"`, `"no result in 30 s"`; "" if there are.
      arrays: bytes of each array after the launch, by position.
      unsteady: positions of arrays that a second launch left otherwise.
      seconds: of the fastest launch.
    """

    error: str = ""
    arrays: dict[int, np.ndarray] = dataclasses.field(default_factory=dict)
    unsteady: tuple[int, ...] = ()
    seconds: float = 0.0
    build_seconds: float = 0.0


def python(corpus: pathlib.Path) -> str:
    """The Python that has pyopencl: of the folder's own environment if there is one."""
    own = corpus / "pocl-venv" / "bin" / "python"
    return str(own) if own.exists() else sys.executable


def kept(entry: Entry, trial: int, corpus: pathlib.Path) -> pathlib.Path:
    """The file of a result: its name changes with all that the result depends on."""
    digest = hashlib.sha256(sources.source(entry, corpus).read_bytes())
    digest.update(repr((entry.options, entry.std, entry.name, entry.global_size, entry.local_size)).encode())
    for argument in arguments.made(entry.arguments, trial):
        digest.update(argument.kind.encode())
        digest.update(in_memory(argument).tobytes() if argument.kind != "null" else b"")
    return corpus / "reference" / entry.suite / f"{entry.name}-{digest.hexdigest()[:16]}.npz"


def read(path: pathlib.Path) -> Reference | None:
    if not path.exists():
        return None
    with np.load(path) as file:
        told: dict[str, Any] = json.loads(str(file["meta"]))
        arrays = {int(name[1:]): file[name] for name in file.files if name != "meta"}
    told["unsteady"] = tuple(int(name[1:]) for name in told.get("unsteady", ()))
    return Reference(arrays=arrays, **told)


def known(entry: Entry, trial: int, corpus: pathlib.Path, limit: float = 30, run_it: bool = True) -> Reference:
    """The kept result, or with `run_it` PoCL's now."""
    path = kept(entry, trial, corpus)
    found = read(path)
    if found is not None:
        return found
    if not run_it:
        return Reference(error="not run")
    path.parent.mkdir(parents=True, exist_ok=True)
    run(entry, trial, corpus, path, limit)
    return read(path) or Reference(error="no result was kept")


def run(entry: Entry, trial: int, corpus: pathlib.Path, path: pathlib.Path, limit: float, repeat: int = 0) -> None:
    """Runs PoCL in a process of its own and keeps what it gives, also where that is an error."""
    options, before = sources.without_includes(sources.options(entry, corpus))
    meta = {
        "source": str(sources.source(entry, corpus)),
        "before": before,
        "options": options,
        "stds": list(dict.fromkeys((entry.std, "CL1.2", "CL2.0", "CL3.0"))),
        "kernel": entry.name,
        "global": entry.global_size,
        "local": entry.local_size,
        "repeat": repeat,
    }
    with tempfile.TemporaryDirectory() as folder:
        given, result = pathlib.Path(folder) / "run.npz", pathlib.Path(folder) / "result.npz"
        describe(given, meta, arguments.made(entry.arguments, trial))
        error = finished([python(corpus), str(PROCESS), str(given), str(result)], limit)
        if error or not result.exists():
            np.savez(path, meta=json.dumps({"error": error or "no result"}))
        else:
            compressed(result, path)


def describe(path: pathlib.Path, meta: dict[str, Any], made: list[arguments.Argument]) -> None:
    kinds = [(a.kind, a.value if a.kind == "local" else 0) for a in made]
    arrays = {f"a{k}": in_memory(a) for k, a in enumerate(made) if a.kind in ("array", "value")}
    np.savez(path, meta=json.dumps(meta | {"arguments": kinds}), **arrays)


def in_memory(argument: arguments.Argument) -> np.ndarray:
    """The bytes of an argument; a vector of 3 by value takes the room of 4."""
    array = np.asarray(argument.value)
    if argument.kind == "value" and array.shape == (3,):
        array = np.append(array, array[:1])
    return np.frombuffer(array.tobytes(), np.uint8)


def finished(command: list[str], limit: float) -> str:
    """Runs a command; gives why it has no result, or ""."""
    environment = os.environ | {"PYOPENCL_NO_CACHE": "1", "POCL_CACHE_DIR": os.path.join(tempfile.gettempdir(), "pocl")}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, env=environment, errors="replace")
    except subprocess.TimeoutExpired:
        return f"no result in {limit:.0f} s"
    if done.returncode < 0:
        return f"crashed (signal {-done.returncode})"
    return "failed: " + (done.stderr.strip().splitlines() or ["unknown"])[-1][:300] if done.returncode else ""


def compressed(source: pathlib.Path, target: pathlib.Path) -> None:
    with np.load(source) as file:
        np.savez_compressed(target, **{name: file[name] for name in file.files})

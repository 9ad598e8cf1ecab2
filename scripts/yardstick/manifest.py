"""Manifest: which kernels of which public repositories are run, how, and what is expected; nothing of theirs is in it.

One TOML file a suite, in manifest/:

    repository = "owner/name"      on GitHub
    commit = "..."                 the revision that the descriptions hold for
    options = "-DX=1 -I{here}"     for all kernels; `{here}` is the source's folder, `{root}` the checkout
    std = "CL2.0"
    assembly = "strings"           how a source is made from files: "" as they are, "strings": what R"(...)" and
                                   MSTRINGIFY(...) hold

    [[kernel]]
    file = "path/in/the/repository.cl"
    name = "the_kernel"
    before = ["common.cl"]         files that come before it, as the host code puts them together
    options = "-DN=4"              beside the suite's
    global = [128]                 in OpenCL's order
    local = [64]
    arguments = ["float random 1024", "int = 16"]      see arguments.py
    origin = "host"                "host": sizes and arguments as in the host code; "made up": by the survey's rule
    expect = "race"                a label of the suite; see labels.py
    undefined = ["out"]            results that are not compared, and `why`
"""

import dataclasses
import pathlib
import tomllib
from collections.abc import Sequence
from typing import Any

FOLDER = pathlib.Path(__file__).parent / "manifest"


@dataclasses.dataclass(frozen=True)
class Entry:
    """One kernel of a suite; the fields are those of the manifest.

    Attributes:
      options: the suite's and the kernel's own.
      values: expected results: name of the parameter, index, value.
    """

    suite: str
    file: str
    name: str
    global_size: tuple[int, ...]
    local_size: tuple[int, ...]
    arguments: tuple[str, ...]
    options: str = ""
    std: str = "CL2.0"
    assembly: str = ""
    before: tuple[str, ...] = ()
    origin: str = "made up"
    expect: str = ""
    values: tuple[str, ...] = ()
    undefined: tuple[int, ...] = ()
    why: str = ""

    @property
    def key(self) -> str:
        return f"{self.suite}/{self.file}:{self.name}"


@dataclasses.dataclass(frozen=True)
class Suite:
    """A repository's kernels."""

    name: str
    repository: str
    commit: str
    entries: tuple[Entry, ...]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(name: str, folder: pathlib.Path = FOLDER) -> Suite:
    """The suite of that name.

    Raises:
      ValueError: for a key that a manifest does not have.
    """
    with open(folder / f"{name}.toml", "rb") as file:
        found = tomllib.load(file)
    entries = tuple(entry(name, found, kernel) for kernel in found.get("kernel", []))
    return Suite(name, found["repository"], found["commit"], numbered(entries))


def entry(suite: str, whole: dict[str, Any], kernel: dict[str, Any]) -> Entry:
    """An entry with what it has from its suite."""
    known = {field.name for field in dataclasses.fields(Entry)} | {"global", "local"}
    if unknown := set(kernel) - known:
        raise ValueError(f"{suite}: {kernel.get('file')}: there is no key {', '.join(sorted(unknown))}")
    own = {key: tuple(value) if isinstance(value, list) else value for key, value in kernel.items()}
    own["global_size"], own["local_size"] = own.pop("global"), own.pop("local")
    own["options"] = f"{whole.get('options', '')} {own.get('options', '')}".strip()
    shared = {key: whole[key] for key in ("std", "assembly") if key in whole}
    return Entry(suite, **(shared | own))


def numbered(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries, of which no two may have one key."""
    keys = [e.key for e in entries]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ValueError(f"described twice: {', '.join(sorted(twice))}")
    return tuple(entries)

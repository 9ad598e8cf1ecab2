"""Programs: which SYCL programs of which public repositories are run, how, and what is expected of them.

One TOML file a suite, in manifest/sycl/:

    repository = "owner/name"      on GitHub
    commit = "..."                 the revision that the descriptions hold for
    options = "-DX=1 -I{here}"     for all programs; `{here}` is the source's folder, `{root}` the checkout, `{ours}`
                                   this folder

    [[program]]
    file = "path/in/the/repository.cpp"
    options = "-DN=4"              beside the suite's
    argv = ["100", "1"]            what `main` is given
    constants = ["N=1024"]         what constants of the file itself are given for their own values, to make it small
                                   or a number in place of another wherever that is written: "1000000=64"
    also = ["kernels.cpp"]         other files of the program, beside it, read into the one unit after it
    cases = "TEST_CASE"            the file has no `main`: this macro begins each of its tests
    passes = "PASS"                what it prints where its own check finds its results right; "return" says that it
                                   returns 0 then, "assert" that an assertion fails otherwise, "" that it has no check
    fails = "FAIL"                 what it prints otherwise, where it is none of the usual words
    expect = "race"                a label of the suite, as for kernels of C; see labels.py
    origin = "host"                by hand; "survey": by the survey's rule; "held out": drawn by a rule and not looked
                                   at before its first run was counted
    why = "..."                    what is to be known of the outcome
"""

import dataclasses
import pathlib
import tomllib
from typing import Any

FAILS = r"\bFAIL(ED)?\b|\bERROR\b|[Ii]ncorrect|[Mm]ismatch|did not match|[Tt]est failed|\bwrong\b"
FOLDER = pathlib.Path(__file__).parent / "manifest" / "sycl"


@dataclasses.dataclass(frozen=True)
class Program:
    """One program of a suite; the fields are those of the manifest."""

    suite: str
    file: str
    options: str = ""
    argv: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    cases: str = ""
    passes: str = ""
    fails: str = FAILS
    expect: str = ""
    origin: str = "survey"
    why: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        return f"{self.suite}/{self.file}" + (f"#{self.name}" if self.name else "")


@dataclasses.dataclass(frozen=True)
class Suite:
    """A repository's programs."""

    name: str
    repository: str
    commit: str
    options: str
    programs: tuple[Program, ...]


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def read(name: str, folder: pathlib.Path = FOLDER) -> Suite:
    """The suite of that name.

    Raises:
      ValueError: for a key that a manifest does not have, or a program that is described twice.
    """
    with open(folder / f"{name}.toml", "rb") as file:
        found = tomllib.load(file)
    programs = tuple(program(name, found, own) for own in found.get("program", []))
    keys = [p.key for p in programs]
    if twice := {key for key in keys if keys.count(key) > 1}:
        raise ValueError(f"described twice: {', '.join(sorted(twice))}")
    return Suite(name, found["repository"], found["commit"], found.get("options", ""), programs)


def program(suite: str, whole: dict[str, Any], own: dict[str, Any]) -> Program:
    """A program with what it has from its suite."""
    known = {field.name for field in dataclasses.fields(Program)}
    if unknown := set(own) - known:
        raise ValueError(f"{suite}: {own.get('file')}: there is no key {', '.join(sorted(unknown))}")
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in own.items()}
    given["options"] = f"{whole.get('options', '')} {given.get('options', '')}".strip()
    return Program(suite, **given)


def written(suite: Suite, folder: pathlib.Path = FOLDER) -> pathlib.Path:
    """Writes a suite's manifest."""
    lines = [f"{key} = {quoted(getattr(suite, key))}" for key in ("repository", "commit", "options")]
    for each in suite.programs:
        lines += ["", "[[program]]", *described(each, suite.options)]
    folder.mkdir(exist_ok=True)
    path = folder / f"{suite.name}.toml"
    path.write_text("\n".join(lines) + "\n")
    return path


def described(each: Program, shared: str) -> list[str]:
    """A program's lines of a manifest, those that say something."""
    own = dataclasses.replace(each, options=each.options.removeprefix(shared).strip())
    fields = [field for field in dataclasses.fields(Program) if field.name != "suite"]
    return [f"{f.name} = {quoted(getattr(own, f.name))}" for f in fields if getattr(own, f.name) != f.default]


def quoted(value: Any) -> str:
    """A value as TOML has it."""
    if isinstance(value, tuple):
        return "[" + ", ".join(map(quoted, value)) + "]"
    return "'" + value + "'" if '"' in value or "\\" in value else f'"{value}"'

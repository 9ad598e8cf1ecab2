"""Pairs: programs of the optimisation guide in a bad and a good form, and the figures of a report that must show it.

manifest/sycl/pairs/guide.toml, a pair each:

    [[pair]]
    effect = "bank conflicts"
    guide = "Shared Local Memory, Bank Conflicts"     the guide's chapter
    bad = "slm/slm-bank-s16.cpp:main"                 file and kernel, by the beginning of its name or its line
    good = "slm/slm-bank-s1.cpp:main"
    figures = ["slm.passes", "time_s"]                greater for the bad form; `<` before one that is smaller
    hint = "bank conflict"                            the kind of a hint that the bad form's report gives
    arguments = {data = "int zeros 32"}               by name, for both; `bad_arguments` and `good_arguments` for one
    global = [32]                                     in SYCL's order, where the source's is not taken; and `local`
    device = "max1550"
    why = "..."                                       where the outcome is to be explained
"""

import dataclasses
import math
import operator
import pathlib
import tomllib
from collections.abc import Mapping
from typing import Any

from yardstick import arguments

PATH = pathlib.Path(__file__).parent / "manifest" / "sycl" / "pairs" / "guide.toml"


@dataclasses.dataclass(frozen=True)
class Form:
    """One side of a pair.

    Attributes:
      file: below the suite's checkout.
      kernel: the beginning of its name, or `line:N`.
      options: for the compiler.
      arguments: descriptions by name.
      sizes: the global and the local size in SYCL's order, empty for those of the source.
    """

    file: str
    kernel: str
    options: str
    arguments: Mapping[str, str]
    sizes: tuple[tuple[int, ...], tuple[int, ...]]
    grf: int | None = None


@dataclasses.dataclass(frozen=True)
class Pair:
    """An effect and the two programs that show it."""

    effect: str
    guide: str
    bad: Form
    good: Form
    figures: tuple[str, ...]
    hint: str = ""
    device: str = "max1550"
    why: str = ""


def read(path: pathlib.Path = PATH) -> tuple[str, tuple[Pair, ...]]:
    """The suite, and its pairs."""
    with open(path, "rb") as file:
        found = tomllib.load(file)
    return found["suite"], tuple(pair(found, own) for own in found["pair"])


def pair(whole: Mapping[str, Any], own: Mapping[str, Any]) -> Pair:
    return Pair(
        own["effect"],
        own["guide"],
        form(whole, own, "bad"),
        form(whole, own, "good"),
        tuple(own["figures"]),
        own.get("hint", ""),
        own.get("device", "max1550"),
        own.get("why", ""),
    )


def form(whole: Mapping[str, Any], own: Mapping[str, Any], side: str) -> Form:
    file, kernel = own[side].split(":", 1)
    sizes = tuple(tuple(own.get(f"{side}_{what}", own.get(what, ()))) for what in ("global", "local"))
    given = dict(own.get("arguments", {})) | dict(own.get(f"{side}_arguments", {}))
    options = f"{whole.get('options', '')} {own.get('options', '')} {own.get(f'{side}_options', '')}".strip()
    return Form(whole["folder"] + file, kernel, options, given, sizes, own.get(f"{side}_grf"))  # type: ignore[arg-type]


# --- Reports ---


def report(form: Form, device: str, checkout: pathlib.Path) -> Any:
    """What a form costs."""
    import xeemu as xe

    path = checkout / form.file
    kernels = xe.load(path, options=form.options.replace("{here}", str(path.parent)))
    kernel = kernels[named(kernels, form.kernel)]
    nd_range = xe.NDRange(form.sizes[0], form.sizes[1] or None) if form.sizes[0] else kernel.nd_range
    given = {name: argument(form.arguments, name) for name in kernel.parameters if name in form.arguments}
    options = {} if form.grf is None else {"grf": form.grf}
    return xe.profile(kernel, nd_range, device=device, **options)(**given)[1]


def named(kernels: Any, wanted: str) -> str:
    """The name of the kernel that begins with some text, or that is submitted from some line."""
    line = wanted.removeprefix("line:") if wanted.startswith("line:") else ""
    found = [name for name in kernels if (name.endswith(f":{line}") if line else name.startswith(wanted))]
    if len(found) != 1:
        raise LookupError(f"{len(found)} kernels are {wanted!r} among {', '.join(kernels)}")
    return found[0]


def argument(described: Mapping[str, str], name: str) -> Any:
    """The value of a parameter; of an array in several dimensions, `int zeros 16x16`."""
    kind, form, *rest = described[name].split()
    if rest and "x" in rest[0]:
        shape = tuple(map(int, rest[0].split("x")))
        flat = arguments.argument(" ".join((kind, form, str(math.prod(shape)), *rest[1:]))).value
        return flat.reshape(shape)
    return arguments.argument(described[name]).value


# --- Judging ---


def shown(pair: Pair, bad: Any, good: Any) -> list[tuple[str, Any, Any, bool]]:
    """Each figure in both forms, and whether its direction is the guide's."""
    rows = []
    for wanted in pair.figures:
        name = wanted.removeprefix("<")
        ordered = operator.lt if wanted.startswith("<") else operator.gt
        a, b = figure(bad, name), figure(good, name)
        rows.append((name, a, b, a is not None and b is not None and ordered(a, b)))
    return rows


def figure(report: Any, name: str) -> Any:
    """A figure of a report, such as `slm.passes`; `instructions` is a sum, and so is `sites.private.requests`."""
    if name == "instructions":
        return None if report.instructions is None else sum(report.instructions.values())
    if name.startswith("sites."):
        _, space, what = name.split(".")
        return sum(getattr(site, what) or 0 for site in report.sites if site.space == space)
    found: Any = report
    for part in name.split("."):
        found = found[part] if isinstance(found, Mapping) else getattr(found, part)
    return found


def hinted(pair: Pair, bad: Any) -> bool:
    return not pair.hint or any(hint.kind == pair.hint for hint in bad.hints)

"""Results: outcomes of kernels, summed up by suite, and the page results.md that keeps them.

An outcome is what subject.py tells of a kernel, a dictionary of: seconds (by stage), traced, ran, reference
(`"there"`, `"none"`), agrees (`"equal"`, `"rounding"`, `"differs"`), differences, wrong_values, unsteady, findings,
texts, judged, time_s, bound, speed and reference_seconds, and failed, error and message for one that did not get to
the end.
"""

import collections
import itertools
import json
import math
import os
import pathlib
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Outcome = Mapping[str, Any]
PAGE = pathlib.Path(__file__).parent / "results.md"
_SECTION = re.compile(r"^## (.*)$", re.M)
_REASON = re.compile(r"^\| `([^`]+)` \| .* \| (.*?) \|$", re.M)


# --- Kept between runs ---


def kept(corpus: pathlib.Path, suite: str) -> dict[str, Outcome]:
    path = corpus / "outcomes" / f"{suite}.json"
    return json.loads(path.read_text()) if path.exists() else {}


def keep(corpus: pathlib.Path, suite: str, outcomes: Mapping[str, Outcome]) -> None:
    """Keeps outcomes beside those of other kernels, which another run may be adding to at the same time."""
    path = corpus / "outcomes" / f"{suite}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    made = path.with_suffix(f".{os.getpid()}")
    made.write_text(json.dumps({**kept(corpus, suite), **outcomes}, indent=1))
    made.replace(path)


def reasons(page: str) -> dict[str, str]:
    """The reasons that a page gives for its disagreements, by kernel."""
    return {key: reason.strip() for key, reason in _REASON.findall(page) if reason.strip()}


# --- Classes of outcomes ---


def state(outcome: Outcome) -> str:
    """`refused`, `failed` (an error that is not about the source), `slow`, `crash` or `ran`."""
    if outcome.get("ran"):
        return "ran"
    if outcome.get("error") in ("slow", "crash"):
        return outcome["error"]
    own = "(raised at " not in outcome["message"]
    return "refused" if own and outcome["failed"] in ("load", "trace", "launch") else "failed"


def agreement(outcome: Outcome) -> str:
    """`equal`, `rounding`, `undefined` (differs, an error was found), `differs`, `no reference`; "" without a run."""
    if not outcome.get("ran"):
        return ""
    if outcome.get("reference") != "there":
        return "no reference"
    if outcome["agrees"] == "differs" and outcome.get("findings"):
        return "undefined"
    return outcome["agrees"]


def failure(outcome: Outcome) -> str:
    """The first line of a message, with what differs from kernel to kernel taken out; "" of one that got to the end."""
    if "failed" not in outcome:
        return ""
    first = (outcome["message"].splitlines() or [""])[0]
    first = re.sub(r"(/[\w.+-]+)+(:\d+)*", "...", first)
    first = re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"", "`...`", first)
    first = re.sub(r"\b\d+(\.\d+)?\b", "N", first)
    known = outcome["error"] in ("slow", "crash")
    return f"{outcome['failed']}: {first if known else outcome['error'] + ': ' + first}"[:220]


def disagreement(outcome: Outcome) -> str:
    """What is to be explained of an outcome: against PoCL, a test's values or its label; "" if nothing is."""
    found = []
    if agreement(outcome) == "differs":
        found.append("; ".join(outcome["differences"][:2]))
    if outcome.get("wrong_values") and not outcome.get("findings"):
        found.append("the test's values: " + "; ".join(outcome["wrong_values"][:2]))
    if outcome.get("judged") in ("missed", "false alarm", "other kind"):
        found.append(f"{outcome['judged']}: found {', '.join(outcome['findings']) or 'nothing'}")
    return ". ".join(found)


# --- Tables ---

HEADER = (
    "suite",
    "kernels",
    "run",
    "equal",
    "rounding",
    "undefined",
    "differs",
    "no reference",
    "refused",
    "failed",
    "slow",
    "crash",
    "check fails",
    "translate + trace, median",
    "95 %",
    "under 1 s",
)


def table(suites: Mapping[str, Mapping[str, Outcome]]) -> list[tuple[str, ...]]:
    """A row for each suite, and one for all."""
    rows = [row(name, list(outcomes.values())) for name, outcomes in suites.items()]
    every = [o for outcomes in suites.values() for o in outcomes.values()]
    return [*rows, row("all", every)] if len(rows) > 1 else rows


def row(name: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    states = collections.Counter(map(state, outcomes))
    agreed = collections.Counter(map(agreement, outcomes))
    later = sum(state(o) == "ran" and "failed" in o for o in outcomes)
    times = sorted(o["seconds"]["load"] + o["seconds"]["trace"] for o in outcomes if "trace" in o.get("seconds", {}))
    counts = [agreed[k] for k in ("equal", "rounding", "undefined", "differs", "no reference")]
    counts += [states[k] for k in ("refused", "failed", "slow", "crash")]
    cells = [name, str(len(outcomes)), str(states["ran"]), *map(str, counts), str(later)]
    if not times:
        return (*cells, "-", "-", "-")
    at95 = times[min(int(0.95 * len(times)), len(times) - 1)]
    below = 100 * sum(t < 1 for t in times) / len(times)
    return (*cells, f"{statistics.median(times):.2f} s", f"{at95:.2f} s", f"{below:.0f} %")


def failures(outcomes: Iterable[Outcome]) -> list[tuple[int, str]]:
    """How often each failure occurs, the most frequent first."""
    found = collections.Counter(f for f in map(failure, outcomes) if f)
    return sorted(((n, what) for what, n in found.items()), key=lambda pair: (-pair[0], pair[1]))


def label_rows(outcomes: Mapping[str, Outcome], expected: Mapping[str, str]) -> list[tuple[str, ...]]:
    """By label: kernels, those that were checked, and what was said of them."""
    rows = []
    for label in sorted({e for e in expected.values() if e}):
        those = [outcomes[key] for key, e in expected.items() if e == label and key in outcomes]
        said = collections.Counter(o["judged"] for o in those if "judged" in o)
        refused = sum(state(o) == "refused" for o in those)
        agreed = refused if label == "refused" else said["agrees"]
        cells = (len(those), sum(said.values()), agreed, said["missed"], said["false alarm"], said["other kind"])
        rows.append((label, *map(str, cells)))
    return rows


def speeds(outcomes: Mapping[str, Outcome]) -> list[tuple[float, str]]:
    """How many times as fast as PoCL each kernel ran, the slowest first."""
    pairs = [
        (o["reference_seconds"] / o["speed"], k)
        for k, o in outcomes.items()
        if o.get("speed") and o.get("reference_seconds")
    ]
    return sorted(pairs)


def mean(ratios: Sequence[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, ratios)))


# --- The page ---


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |" for cells in rows]
    return "\n".join(lines) + "\n"


def page(suites: Mapping[str, Mapping[str, Outcome]], expected: Mapping[str, Mapping[str, str]], before: str) -> str:
    """The page; the reasons and the sections by hand that it had before are kept."""
    parts = [INTRODUCTION, "## By suite\n", markdown(HEADER, table(suites))]
    for name, outcomes in suites.items():
        if rows := label_rows(outcomes, expected.get(name, {})):
            parts += [f"## Labels of {name}\n", markdown(LABELS, rows)]
    parts += ["## Speed against PoCL\n", speed_text(suites)]
    every = [o for outcomes in suites.values() for o in outcomes.values()]
    parts += [
        "## What stops kernels\n",
        markdown(("kernels", "message"), [(str(n), what) for n, what in failures(every)]),
    ]
    parts += ["## Disagreements\n", disagreements(suites, reasons(before))]
    made = "\n".join(parts)
    return made + "".join("\n" + section for section in by_hand(before, made))


def by_hand(before: str, made: str) -> list[str]:
    """The sections of a page under headings that are not written anew, in their order."""
    titles = set(_SECTION.findall(made))
    bounds = [*(found.start() for found in _SECTION.finditer(before)), len(before)]
    sections = [before[a:b].rstrip() + "\n" for a, b in itertools.pairwise(bounds)]
    return [s for s in sections if _SECTION.findall(s)[0] not in titles and not s.startswith("## Labels of ")]


def speed_text(suites: Mapping[str, Mapping[str, Outcome]]) -> str:
    rows = []
    for name, outcomes in suites.items():
        if found := speeds(outcomes):
            worst = ", ".join(f"`{key.rsplit('/', 1)[-1]}` {ratio:.2g}" for ratio, key in found[:10])
            rows.append((name, str(len(found)), f"{mean([ratio for ratio, _ in found]):.2g}", worst))
    if not rows:
        return "Not measured yet: `scripts/corpus --speed`.\n"
    return markdown(("suite", "kernels", "times as fast, geometric mean", "the ten slowest"), rows)


def disagreements(suites: Mapping[str, Mapping[str, Outcome]], known: Mapping[str, str]) -> str:
    rows = []
    for outcomes in suites.values():
        for key, outcome in outcomes.items():
            if what := disagreement(outcome):
                rows.append((f"`{key}`", what[:300], known.get(key, "")))
    return markdown(("kernel", "what", "reason"), rows) if rows else "None.\n"


LABELS = ("label", "kernels", "checked", "agrees", "missed", "false alarm", "other kind")
INTRODUCTION = """# Real OpenCL C: results

Written by `scripts/corpus --write`. By hand, and kept when the page is written anew: the reasons of the disagreements,
and all sections after them. *run*: translated and
emulated. *equal* and *rounding* hold the results against PoCL's: all bits, or floats within 2e-4 (half 1e-2, double
1e-9) of the value or of a hundredth of the array's greatest. *undefined*: different, and `check` finds an error in the
kernel with these arguments, so that no result is right. *no reference*: PoCL cannot compile it, crashes or takes too
long. *check fails*: it ran, but a later stage did not.
"""

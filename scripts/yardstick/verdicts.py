"""Verdicts: what came of a SYCL program, from what `subject` tells of it, and its kernels.

An outcome is a dictionary of: seconds (by stage), kernels (their names), launched (names of the kernels
that `run` submitted), text (what the program printed), status (what `main` returned), native (how these stand to what
SimSYCL makes of the program: see native_comparison.Likeness), findings, texts, judged; and failed, error and message
for one that did not get to the end.
"""

import collections
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from yardstick import labels, results
from yardstick.programs import Program

Outcome = Mapping[str, Any]


def verdict(program: Program, outcome: Outcome) -> str:
    """`right`, `wrong` or `no check`, by the program's own check, else by SimSYCL; "" of one that did not run."""
    own = by_itself(program, outcome)
    return by_reference(outcome) if own == "no check" else own


def by_reference(outcome: Outcome) -> str:
    """What SimSYCL says of the results: `right` where lines with numbers or all memories were compared and agree."""
    native = outcome.get("native", {})
    if native.get("said") == "differs":
        return "wrong"
    every = native.get("memories", 0) > 0 and native["found"] == native["memories"]
    return "right" if native.get("said") == "agrees" and (native["lines"] or every) else "no check"


def by_itself(program: Program, outcome: Outcome) -> str:
    """What the program's own check says: `right`, `wrong` or `no check`; "" of one that did not run."""
    if "status" not in outcome:
        return ""
    if re.search(program.fails, outcome.get("text", "")):
        return "wrong"
    if program.cases and not outcome.get("launched"):  # its test cases were left out, or look at the host alone
        return "no check"
    if not program.passes or re.search(r"\b[Ss]kipp(ed|ing)\b", outcome.get("text", "")):
        return "no check"
    if outcome["status"]:
        return "wrong"
    if program.passes in ("return", "assert"):
        return "right"
    return "right" if re.search(program.passes, outcome.get("text", "")) else "wrong"


def state(outcome: Outcome) -> str:
    """`ran`, `refused` (by an xe.Error at some stage), `failed` (by another error), `slow` or `crash`."""
    if "status" in outcome:
        return "ran"
    if outcome.get("error") in ("slow", "crash"):
        return outcome["error"]
    return "failed" if "(raised at " in outcome.get("message", "") else "refused"


def kernels(program: Program, outcome: Outcome) -> collections.Counter[str]:
    """How many of a program's kernels were `read`, were `run`, and are `right`, `wrong` or have `no check`."""
    counts = collections.Counter(read=len(outcome.get("kernels", ())))
    said = verdict(program, outcome)
    if said:
        counts["run"] = len(set(outcome.get("launched", ())) & set(outcome["kernels"]))
        counts[said] = counts["run"]
    return counts


def judged(program: Program, outcome: Outcome, findings: Collection[str]) -> str:
    """How findings stand to the label: see labels.judged; a `memory` error may also be one that stops the program."""
    if program.expect != "memory":
        return labels.judged(program.expect, findings, program.suite)
    stopped = outcome.get("error", "").endswith("Error")
    return "agrees" if findings or stopped else "missed"


HEADER = (
    "suite",
    "programs",
    "kernels",
    "read",
    "ran",
    "right",
    "wrong",
    "no check",
    "agrees with SimSYCL",
    "differs",
    "refused",
    "failed",
    "slow",
    "crash",
    "parse + trace, median",
    "95 %",
    "under 2 s",
    "kernels run",
    "kernels right",
)


def row(name: str, pairs: Iterable[tuple[Program, Outcome]]) -> tuple[str, ...]:
    """A row of the table: programs, but for the columns that say kernels."""
    pairs = list(pairs)
    states = collections.Counter(state(o) for _, o in pairs)
    said = collections.Counter(verdict(p, o) for p, o in pairs)
    inside: collections.Counter[str] = collections.Counter()
    for p, o in pairs:
        inside += kernels(p, o)
    times = sorted(o["seconds"]["load"] + o["seconds"].get("trace", 0) for _, o in pairs if "load" in o["seconds"])
    cells = [name, len(pairs), inside["read"], sum("kernels" in o for _, o in pairs), states["ran"]]
    cells += [said[k] for k in ("right", "wrong", "no check")]
    natives = collections.Counter(o["native"]["said"] for _, o in pairs if "native" in o)
    cells += [natives[k] for k in ("agrees", "differs")]
    cells += [states[k] for k in ("refused", "failed", "slow", "crash")]
    return (*map(str, cells), *spread(times), str(inside["run"]), str(inside["right"]))


def spread(times: list[float]) -> tuple[str, str, str]:
    if not times:
        return "-", "-", "-"
    below = 100 * sum(t < 2 for t in times) / len(times)
    middle, at95 = times[len(times) // 2], times[min(int(0.95 * len(times)), len(times) - 1)]
    return f"{middle:.2f} s", f"{at95:.2f} s", f"{below:.0f} %"


def causes(outcomes: Mapping[str, Outcome]) -> list[tuple[int, str, str]]:
    """What stops programs: how often, the message without what differs, and an example."""
    found: dict[str, list[str]] = {}
    for key, outcome in outcomes.items():
        if what := results.failure(outcome):
            found.setdefault(what, []).append(key)
    return sorted(((len(keys), what, keys[0]) for what, keys in found.items()), key=lambda r: (-r[0], r[1]))

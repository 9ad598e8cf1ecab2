"""Runs of SYCL programs: the suites' programs through xeemu, the tables, and the page results-sycl.md."""

import argparse
import pathlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from yardstick import native, native_build, pairs, program_survey, programs, results, verdicts, workers
from yardstick.programs import Program

PAGE = pathlib.Path(__file__).parent / "results-sycl.md"
WIDTH = 150


def main(names: Sequence[str], told: argparse.Namespace, corpus: pathlib.Path, command: Sequence[str]) -> None:
    """What `scripts/corpus` does with suites of SYCL C++."""
    if told.survey:
        for name in names:
            missed = program_survey.written(name, corpus)
            print(f"{name}: {len(programs.read(name).programs)} programs, {len(missed)} files without one")
    elif told.reference:
        refer(names, told, corpus)
    elif told.pairs:
        for line in compared(corpus, told.kernel or ""):
            print(line, flush=True)
    else:
        run(names, told, corpus, command)


def run(names: Sequence[str], told: argparse.Namespace, corpus: pathlib.Path, command: Sequence[str]) -> None:
    chosen = {name: selected(name, told, results.kept(corpus, name)) for name in names}
    orders = [
        workers.Order(name, program.key, told.check, False)
        for name, those in chosen.items()
        for program in ([] if told.table else those)
    ]
    by_key = {program.key: program for those in chosen.values() for program in those}
    done = workers.run(orders, command, told.jobs, told.limit, corpus / "errors.txt")
    for count, (order, outcome) in enumerate(done, 1):
        results.keep(corpus, order.suite, {order.key: outcome})
        print_outcome(by_key[order.key], outcome, f"{count}/{len(orders)}", bool(told.kernel))
    print_tables(corpus, names)
    if told.write:
        before = PAGE.read_text() if PAGE.exists() else ""
        PAGE.write_text(page(corpus, before))


def selected(name: str, told: argparse.Namespace, before: Mapping[str, verdicts.Outcome]) -> list[Program]:
    those = list(programs.read(name).programs)
    if told.kernel:
        those = [p for p in those if told.kernel in p.key]
    if told.failed:
        those = [p for p in those if "failed" in before.get(p.key, {"failed": ""})]
    return program_survey.spread(those, 5) if told.quick else those


def print_outcome(program: Program, outcome: verdicts.Outcome, progress: str, full: bool) -> None:
    said = [verdicts.verdict(program, outcome) or verdicts.state(outcome)]
    said += [", ".join(outcome["findings"])] if outcome.get("findings") else []
    said += [outcome["judged"]] if outcome.get("judged") not in (None, "runs") else []
    said += like_native(outcome)
    said += [f"{seconds:.1f} s {stage}" for stage, seconds in outcome["seconds"].items() if seconds >= 1]
    print(f"{progress:>9}  {program.key}  {'; '.join(said)}")
    if "failed" in outcome:
        text = outcome["message"]
        print(f"           {outcome['failed']}: {outcome['error']}: " + (text if full else text.split("\n")[0][:WIDTH]))
    for text in outcome.get("native", {}).get("differences", ()):
        print(f"           SimSYCL: {text}")
    if full or said[0] == "wrong":
        print("           " + outcome.get("text", "")[-2000:].replace("\n", "\n           "))
    for text in outcome.get("texts", []) if full else []:
        print(f"           {text}")


def like_native(outcome: verdicts.Outcome) -> list[str]:
    """How a run stands to SimSYCL's, in a few words."""
    native = outcome.get("native", {"said": "no native result"})
    if native["said"] == "no native result":
        return []
    return [f"{native['said']} ({native['lines']} lines, {native['found']} of {native['memories']} memories)"]


def refer(names: Sequence[str], told: argparse.Namespace, corpus: pathlib.Path) -> None:
    """Runs SimSYCL on what has no result yet, and says what it makes of each program."""
    try:
        native_build.built(corpus)
    except native_build.NoSimSYCL as reason:
        sys.exit(f"error: {reason}")
    for name in names:
        those = [p for p in selected(name, told, {}) if (corpus / name / p.file).exists()]
        errors = 0
        with ThreadPoolExecutor(told.jobs) as pool:
            for program, found in zip(
                those, pool.map(lambda p: native.known(p, corpus, told.limit), those), strict=True
            ):
                errors += bool(found.error)
                print(f"{program.key}: {found.error or f'{found.seconds:.2f} s'}"[:WIDTH], flush=True)
        print(f"{name}: {len(those) - errors} of {len(those)} programs have SimSYCL's results", flush=True)


# --- Tables ---


def known(corpus: pathlib.Path, name: str) -> list[tuple[Program, verdicts.Outcome]]:
    """A suite's programs that were run, with their outcomes."""
    kept = results.kept(corpus, name)
    return [(p, kept[p.key]) for p in programs.read(name).programs if p.key in kept]


def rows(corpus: pathlib.Path, names: Sequence[str]) -> list[tuple[str, ...]]:
    suites = {name: known(corpus, name) for name in names}
    found = [verdicts.row(name, those) for name, those in suites.items() if those]
    return [*found, verdicts.row("all", [pair for those in suites.values() for pair in those])]


def print_tables(corpus: pathlib.Path, names: Sequence[str]) -> None:
    cells = [verdicts.HEADER, *rows(corpus, names)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(verdicts.HEADER))]
    print()
    for row in cells:
        print(
            "  ".join(
                cell.rjust(w) if k else cell.ljust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
            )
        )
    print("\nwhat stops programs:")
    for count, what, example in stops(corpus, names):
        print(f"{count:5}  {what}  (such as {example})")


def stops(corpus: pathlib.Path, names: Sequence[str]) -> list[tuple[int, str, str]]:
    return verdicts.causes({p.key: o for name in names for p, o in known(corpus, name)})


# --- The page ---


def page(corpus: pathlib.Path, before: str) -> str:
    """The page; the reasons that it had before are kept."""
    names = programs.names()
    parts = [INTRODUCTION, "## By suite\n", results.markdown(verdicts.HEADER, rows(corpus, names))]
    for name in names:
        outcomes = {p.key: {**o, "ran": "status" in o} for p, o in known(corpus, name)}
        labelled = {p.key: p.expect for p in programs.read(name).programs}
        if table := results.label_rows(outcomes, labelled):
            parts += [f"## Labels of {name}\n", results.markdown(results.LABELS, table)]
    parts += ["## The optimisation guide's pairs\n", results.markdown(PAIRS, kept_pairs(corpus))]
    stopped = [(str(n), what, f"`{example}`") for n, what, example in stops(corpus, names)]
    parts += ["## What stops programs\n", results.markdown(("programs", "message", "such as"), stopped)]
    parts += ["## Disagreements\n", disagreements(corpus, names, results.reasons(before))]
    return "\n".join(parts)


def disagreements(corpus: pathlib.Path, names: Sequence[str], reasons: Mapping[str, str]) -> str:
    found = []
    for program, outcome in [pair for name in names for pair in known(corpus, name)]:
        if what := disagreement(program, outcome):
            found.append((f"`{program.key}`", what[:300], reasons.get(program.key, program.why)))
    return results.markdown(("program", "what", "reason"), found) if found else "None.\n"


def disagreement(program: Program, outcome: verdicts.Outcome) -> str:
    """What is to be explained: its own check, SimSYCL's result, or its label; "" if nothing is."""
    found = []
    if verdicts.by_itself(program, outcome) == "wrong":
        told = re.search(f".*({program.fails}).*", outcome.get("text", ""))
        found.append(f"its own check: {told[0] if told else 'returned ' + str(outcome['status'])}")
    if outcome.get("native", {}).get("said") == "differs":
        found.append(f"SimSYCL: {outcome['native']['differences'][0]}")
    if outcome.get("judged") in ("missed", "false alarm", "other kind"):
        found.append(f"{outcome['judged']}: found {', '.join(outcome.get('findings', ())) or 'nothing'}")
    return ". ".join(found)


# --- Pairs ---

PAIRS = ("effect", "chapter", "bad", "good", "figures, bad and good", "direction", "hint")


def pair_rows(corpus: pathlib.Path, wanted: str = "") -> Iterator[tuple[str, ...]]:
    """The pairs, each with its figures."""
    suite, every = pairs.read()
    for pair in every:
        if wanted not in pair.bad.file + pair.good.file + pair.effect:
            continue
        head = headed(pair)
        try:
            bad, good = (pairs.report(form, pair.device, corpus / suite) for form in (pair.bad, pair.good))
        except Exception as error:
            yield (*head, f"{type(error).__name__}: {str(error).splitlines()[0][:200]}", "fails", "-")
            continue
        shown = pairs.shown(pair, bad, good)
        figures = ", ".join(f"{name} {number(a)} and {number(b)}" for name, a, b, _ in shown)
        direction = "as the guide says" if all(right for *_, right in shown) else f"no: {pair.why}"
        hint = "-" if not pair.hint else "given" if pairs.hinted(pair, bad) else "missing"
        yield (*head, figures, direction, hint)


def kept_pairs(corpus: pathlib.Path) -> list[tuple[str, ...]]:
    """What the pairs that are described now have shown."""
    kept = results.kept(corpus, "pairs")
    keys = ["|".join(headed(pair)) for pair in pairs.read()[1]]
    return [tuple(kept[key]) for key in keys if key in kept]


def headed(pair: pairs.Pair) -> tuple[str, ...]:
    """What tells a pair from others."""
    files = (f"`{form.file.split('/', 2)[-1]}:{form.kernel}`" for form in (pair.bad, pair.good))
    return (pair.effect, pair.guide, *files)


def number(x: float | None) -> str:
    return "?" if x is None else f"{x:.4g}"


def compared(corpus: pathlib.Path, wanted: str) -> Iterator[str]:
    """Runs the pairs, keeps what they show for the page, and says it."""
    for row in pair_rows(corpus, wanted):
        results.keep(corpus, "pairs", {"|".join(row[:4]): row})
        effect, _, bad, good, *rest = row
        yield f"{effect}\n    {bad} {good}: {'; '.join(rest)}"


INTRODUCTION = """# Real SYCL C++: results

Written by `scripts/corpus --sycl --write`; the reasons in the last table are by hand and kept. Programs are run whole,
as they stand, with small arguments. *read*: the file is parsed and its kernels are found. *ran*: `main` came to its
end. *right* and *wrong* are what the program's own check says of its results (what it prints, returns or asserts), or
where it has none, SimSYCL: another implementation, on the processor, whose output and memories are compared by the
rules in native_comparison.py; *no check*: neither says anything. *agrees with SimSYCL* and *differs* are over all
programs that both run. *kernels run* and *kernels right*: kernels that were submitted, and those in programs that are
right.
"""

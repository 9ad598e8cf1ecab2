"""Subject: a process that takes kernels through xeemu, one after another, and tells each stage as it is reached.

Reads a JSON line for each kernel from its input: {suite, key, check, speed, kept}; writes JSON lines: {"stage": name}
when a stage begins, {"stage": name, "found": part of the outcome} after it, and {"done": outcome} at the end. Stages
are load, trace, launch, compare, check, estimate and speed. An order of times.SUITE is a launch to predict; its stages
are estimate and profile.
"""

import dataclasses
import gc
import json
import pathlib
import resource
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import numpy as np

from yardstick import (
    arguments,
    comparison,
    contents,
    labels,
    manifest,
    program_subject,
    programs,
    reference,
    sources,
    times,
)
from yardstick.manifest import Entry

STAGES = ("load", "trace", "launch", "compare", "check", "estimate", "speed")
MEMORY = 6 << 30  # bytes: what a process may take before an allocation fails


def serve(requests: TextIO, answers: TextIO, corpus: pathlib.Path) -> None:
    """Answers requests until there are no more."""
    import jax

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    suites: dict[str, dict[str, Entry]] = {}
    tell(answers, {"ready": True})
    for line in requests:
        asked = json.loads(line)
        name = asked["suite"]
        if name in programs.names():
            program = next(p for p in programs.read(name).programs if p.key == asked["key"])
            whole = program_subject.Trial(program, corpus, lambda what: tell(answers, what))
            tell(answers, {"done": whole.run(asked["check"])})
            del whole
            jax.clear_caches()
            gc.collect()  # a program's machine holds its arrays, and is a part of what it holds
            continue
        if name not in suites:
            every = times.launches() if name == times.SUITE else {e.key: e for e in manifest.read(name).entries}
            suites[name] = every
        if name == times.SUITE:
            tell(answers, {"done": forecast(suites[name][asked["key"]], corpus, lambda what: tell(answers, what))})
            jax.clear_caches()
            continue
        trial = Trial(suites[name][asked["key"]], corpus, asked["kept"], lambda what: tell(answers, what))
        tell(answers, {"done": trial.run(asked["check"], asked["speed"])})
        jax.clear_caches()


def tell(answers: TextIO, what: dict[str, Any]) -> None:
    print(json.dumps(what), file=answers, flush=True)


class Trial:
    """One kernel through all stages."""

    def __init__(self, entry: Entry, corpus: pathlib.Path, only_kept: bool, told: Callable[[dict[str, Any]], None]):
        self._entry, self._corpus, self._only_kept, self._told = entry, corpus, only_kept, told
        self._seconds: dict[str, float] = {}
        self._stage = ""

    def run(self, check: bool, speed: bool) -> dict[str, Any]:
        """The outcome: see results.Outcome."""
        outcome: dict[str, Any] = {"seconds": self._seconds}
        try:
            for found in self._stages(check, speed):
                outcome |= found
                self._told({"stage": self._stage, "found": outcome})
        except Exception as error:
            outcome |= {"failed": self._stage, "error": type(error).__name__, "message": message(error)}
        return outcome

    def _stages(self, check: bool, speed: bool) -> Iterator[dict[str, Any]]:
        import xeemu as xe

        entry = self._entry
        kernel = self._timed("load", lambda: loaded(entry, self._corpus))
        nd_range = xe.NDRange.opencl(entry.global_size, entry.local_size)
        given, device = passed(entry, 0), roomy(xe)
        self._timed("trace", lambda: xe.trace(kernel, nd_range, device=device)(*given))
        yield {"traced": True}
        launch = xe.launch(kernel, nd_range, device=device)
        results = self._timed("launch", lambda: results_of(launch(*given)))
        yield {"ran": True}
        yield self._timed("compare", lambda: self._compared(kernel, results))
        if check:
            yield self._timed("check", lambda: self._checked(xe.check(kernel, nd_range, device=device)))
            yield self._timed("estimate", lambda: estimated(xe.estimate(kernel, nd_range, device=device)(*given)))
        if speed:
            yield {"speed": self._timed("speed", lambda: fastest(lambda: results_of(launch(*given))))}

    def _timed(self, stage: str, work: Callable[[], Any]) -> Any:
        self._stage = stage
        self._told({"stage": stage})
        start = time.perf_counter()
        found = work()
        self._seconds[stage] = round(time.perf_counter() - start, 3)
        return found

    def _compared(self, kernel: Any, results: list[np.ndarray]) -> dict[str, Any]:
        """The results beside PoCL's and beside what a test's own reference says."""
        entry = self._entry
        by_place = dict(zip(written(kernel), results, strict=True))
        wrong = unexpected(entry, by_place)
        told = reference.known(entry, 0, self._corpus, run_it=not self._only_kept)
        found: dict[str, Any] = {"wrong_values": wrong} if entry.values else {}
        if told.error:
            return found | {"reference": "none", "reference_error": told.error}
        return found | {"reference": "there"} | beside(entry, by_place, told)

    def _checked(self, check: Any) -> dict[str, Any]:
        """The findings of all runs that the arguments' alternatives ask for."""
        kinds: set[str] = set()
        texts: list[str] = []
        for trial in range(arguments.trials(self._entry.arguments)):
            _, findings = check(*passed(self._entry, trial))
            errors = [f for f in findings if f.severity == "error"]
            kinds |= {f.kind for f in errors}
            texts += [str(f) for f in errors]
        judged = labels.judged(self._entry.expect, kinds, self._entry.suite)
        return {"findings": sorted(kinds), "texts": texts[:4], "judged": judged}


def loaded(entry: Entry, corpus: pathlib.Path) -> Any:
    """The entry's kernel, translated."""
    import xeemu as xe

    path, options = sources.source(entry, corpus), shlex.join(sources.options(entry, corpus))
    return xe.load(str(path), options=options, std=entry.std)[entry.name]


def passed(entry: Entry, trial: int) -> list[Any]:
    """The arguments as xeemu takes them."""
    return [as_given(argument) for argument in arguments.made(entry.arguments, trial)]


def as_given(argument: arguments.Argument) -> Any:
    import xeemu as xe

    if argument.kind == "local":
        return xe.Local(argument.value)
    return argument.value


def results_of(results: Any) -> list[np.ndarray]:
    """A launch's results as NumPy arrays, in the order of the parameters."""
    if results is None:
        return []
    return [np.asarray(r) for r in (results if isinstance(results, tuple | list) else (results,))]


def written(kernel: Any) -> list[int]:
    """The positions of the arguments that the results are of."""
    return [kernel.interface.parameters.index(name) for name in kernel.interface.written]


def unexpected(entry: Entry, results: dict[int, np.ndarray]) -> list[str]:
    """Of the values that a test expects, those that differ."""
    wrong = []
    for line in entry.values:
        place, index, number = line.split()
        got = results[int(place)].reshape(-1)[int(index)] if int(place) in results else None
        if got is not None and not labels.same_number(got, number):
            wrong.append(f"argument {place} [{index}] is {got}, not {number}")
    return wrong


def beside(entry: Entry, results: dict[int, np.ndarray], told: reference.Reference) -> dict[str, Any]:
    """How the results compare: `equal`, `rounding` or `differs`; arrays that are not returned must be as they were."""
    exact, wrong = True, []
    made = arguments.made(entry.arguments)
    for place, theirs in told.arrays.items():
        if place in told.unsteady or place in entry.undefined:
            continue
        given = made[place]
        difference = comparison.compared(results.get(place, np.asarray(given.value)), theirs, given.width)
        exact &= difference.exact
        if difference.wrong:
            wrong.append(f"argument {place}: {difference.wrong} differ: {difference.example}")
    return {
        "agrees": "differs" if wrong else "equal" if exact else "rounding",
        "differences": wrong,
        "unsteady": list(told.unsteady),
        "reference_seconds": told.seconds,
    }


def roomy(xe: Any) -> Any:
    """The device by default with room for the work-groups and local memories that some tests ask for."""
    return dataclasses.replace(xe.device("max1550"), max_work_group_size=1 << 18, local_mem_size=1 << 26)


def estimated(report: Any) -> dict[str, Any]:
    return {"time_s": report.time_s, "bound": report.bound}


def fastest(work: Callable[[], Any], times: int = 3, seconds: float = 0.5) -> float:
    """Seconds of the fastest of so many calls, or of as many as fit into a time, after one that compiles."""
    work()
    best, begun, done = float("inf"), time.perf_counter(), 0
    while done < times or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        work()
        best, done = min(best, time.perf_counter() - start), done + 1
    return best


# --- Times ---


def forecast(entry: Entry, corpus: pathlib.Path, told: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """What is predicted of a launch on the measured card: its time in seconds, what binds it, and its counts."""
    try:
        report = predicted(entry, corpus, told)
    except Exception as error:
        return {"error": type(error).__name__, "message": message(error)}
    return estimated(report) | {"counts": counted(report)}


def predicted(entry: Entry, corpus: pathlib.Path, told: Callable[[dict[str, Any]], None]) -> Any:
    """Estimated where data decide nothing, else profiled."""
    import xeemu as xe

    kernel, nd_range = loaded(entry, corpus), xe.NDRange.opencl(entry.global_size, entry.local_size)
    told({"stage": "estimate"})
    report = xe.estimate(kernel, nd_range, device=times.DEVICE)(*map(shape, entry.arguments))
    if report.between_s is None and report.bound is not None:
        return report
    told({"stage": "profile"})
    given = [as_given(argument) for argument in contents.made(entry.arguments)]
    return xe.profile(kernel, nd_range, device=times.DEVICE)(*given)[1]


def shape(description: str) -> Any:
    """An array of scalars by its shape alone; what decides more, as it is given."""
    import jax

    name, form, words = arguments.split(description)
    if form in contents.FORMS or form in contents.ALIKE:
        kind = arguments.type_of(name)
        if kind.dtype.names is None:
            return jax.ShapeDtypeStruct((int(words[0]),), kind.dtype)
    return as_given(contents.argument(description))


def counted(report: Any) -> dict[str, int]:
    """The figures that there are counters for."""
    return {
        f"{space}_{op}": sum(getattr(site, figure) for site in report.sites if (site.space, site.op) == (space, op))
        for space, figure in (("global", "sectors"), ("local", "passes"))
        for op in ("load", "store", "atomic")
    }


def message(error: BaseException) -> str:
    """The error's text; of one that is not xeemu's, with the place that raised it."""
    text = str(error)
    if any(kind.__module__.startswith("xeemu") for kind in type(error).__mro__):
        return text
    import traceback

    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{text} (raised at {pathlib.Path(last.filename).name}:{last.lineno})"


def main(corpus: str) -> None:
    """Serves standard input; what others print goes to the errors."""
    import os

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    serve(sys.stdin, answers, pathlib.Path(corpus))

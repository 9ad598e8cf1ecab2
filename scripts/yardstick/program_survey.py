"""Survey of programs: a suite's manifest of SYCL programs written from its sources, by a rule.

A file is a program where it submits kernels and has a `main` (or tests of a macro that begins them). Its arguments are
those of the usage that it prints: 1 for what counts repetitions, and what the make file runs it with, at most LARGEST,
for the rest. Its own check is what it prints, returns or asserts.
"""

import dataclasses
import pathlib
import re
import subprocess
from collections.abc import Sequence

from yardstick import programs
from yardstick.programs import Program, Suite

LARGEST = 512  # of a number that sets a size, where the make file's is for a GPU
_KERNEL = re.compile(r"\b(parallel_for|single_task|parallel_for_work_group)\b")
_MAIN = re.compile(r"\bmain\s*\(")
_USAGE = re.compile(r"[Uu]sage:?[^\"]*?((?:[<\[][^>\]\"]+[>\]]\s*)+)")
_ARGUMENT = re.compile(r"[<\[]([^>\]]+)[>\]]")
_REPEATED = re.compile(r"repeat|iter|times|passes|runs|loops", re.I)
_RUN = re.compile(r"^run:.*\n\s+(?:\$\(LAUNCHER\) *)?\./\S+ *(.*)$", re.M)
_GOOD = (r"\bPASS(ED)?\b", r"\bSUCCESS", r"\bCorrect\b", r"[Tt]est passed", r"\bOK\b", r"[Ss]uccessfully")


_LIBRARIES = r"oneapi/(mkl|dpl)|#pragma omp|\b(mpi|omp)\.h>|cub/cub|hip_runtime|dpct/|\bfopen\b|\bifstream\b"


@dataclasses.dataclass(frozen=True)
class Plan:
    """How a suite is surveyed.

    Attributes:
      patterns: of the files that may be programs.
      without: a pattern of text that a program must not hold.
      most: how many programs at most, spread over the files; 0 for all.
      judged: a text that a program holds whose results the suite's frame judges, which prints PASS or FAIL.
    """

    repository: str
    patterns: tuple[str, ...]
    options: str = "-I{here}"
    cases: str = ""
    without: str = _LIBRARIES
    most: int = 0
    judged: str = ""


_TRAINING = "DirectProgramming/C++SYCL/Jupyter"
PLANS = {
    "oneapi-samples": Plan(
        "oneapi-src/oneAPI-samples",
        (
            "Publications/GPU-Opt-Guide/**/*.cpp",
            f"{_TRAINING}/gpu-optimization-sycl-training/*/src/*.cpp",
            f"{_TRAINING}/oneapi-essentials-training/*/src/*.cpp",
            "DirectProgramming/C++SYCL/*/*/src/*.cpp",
            "Tools/ApplicationDebugger/*/src/*.cpp",
        ),
        options="-I{here} -I{here}/../include -I{ours}/stand-ins/oneapi",
    ),
    "hecbench": Plan("zjin-lcf/HeCBench", ("src/*-sycl/*.cpp", "src/*-sycl/*.cc"), "-I{here}", most=48),
    "llvm-test-suite": Plan(
        "intel/llvm-test-suite",
        tuple(
            f"SYCL/{room}/*.cpp"
            for room in (
                "AtomicRef",
                "Basic",
                "Functor",
                "GroupAlgorithm",
                "GroupLocalMemory",
                "HierPar",
                "KernelParams",
                "Reduction",
                "SubGroup",
                "USM",
            )
        ),
    ),
    "llvm-sycl-tests": Plan("intel/llvm", ("sycl/test-e2e/**/*.cpp",)),
    "simsycl": Plan(
        "celerity/SimSYCL",
        ("examples/*.cc", "test/*_tests.cc"),
        "-I{ours}/stand-ins -I{here}",
        cases="TEST_CASE",
        judged="CHECK",
    ),
    "syclbench": Plan(
        "unisa-hpc/sycl-bench",
        tuple(f"{room}/*.cpp" for room in ("micro", "pattern", "polybench", "runtime", "single-kernel", "sycl2020/*")),
        "-I{ours}/stand-ins/syclbench -I{root}/polybench/common -I{root}/include",
        judged="bool verify(",
    ),
    "syclacademy": Plan(
        "codeplaysoftware/syclacademy", ("Code_Exercises/*/solution*.cpp",), without=rf"{_LIBRARIES}|image_conv\.h"
    ),
    "syclcts": Plan(
        "KhronosGroup/SYCL-CTS",
        tuple(
            f"tests/{room}/*.cpp"
            for room in (
                "accessor_basic",
                "group",
                "h_item",
                "handler",
                "id",
                "invoke",
                "item",
                "nd_item",
                "nd_range",
                "range",
                "scalars",
                "sub_group",
                "extension/khr_group_interface",
                "extension/khr_work_item_queries",
                "extension/oneapi_local_memory",
                "extension/oneapi_non_uniform_groups",
            )
        ),
        "-I{ours}/stand-ins/syclcts -I{ours}/stand-ins -DSYCL_CTS_COMPILING_WITH_DPCPP=1",
        cases="TEST_CASE",
        judged="CHECK",
    ),
    "seeds": Plan("the texts", ("*.cpp",)),
}


def surveyed(name: str, corpus: pathlib.Path) -> tuple[Suite, list[str]]:
    """The suite as its sources say, with the entries by hand that it has; and what was left out, with the reason."""
    plan, root = PLANS[name], corpus / name
    known = programs.read(name).programs if (programs.FOLDER / f"{name}.toml").exists() else ()
    by_hand = {p.file: p for p in known if p.origin != "survey"}
    found, left_out = [], []
    for path in sorted({p for pattern in plan.patterns for p in root.glob(pattern)}):
        file = str(path.relative_to(root))
        text = path.read_text(errors="replace")
        if file in by_hand:
            continue
        if reason := unfit(text, plan):
            left_out.append(f"{file}: {reason}")
        else:
            found.append(described(name, file, text, path, plan))
    chosen = spread(found, plan.most) if plan.most else found
    every = sorted([*chosen, *(p for p in known if p.origin != "survey")], key=lambda p: p.key)
    return Suite(name, plan.repository, revision(corpus, name), plan.options, tuple(every)), left_out


def unfit(text: str, plan: Plan) -> str:
    """Why a file is no program to run; "" of one that is."""
    if not _KERNEL.search(text):
        return "submits no kernel"
    if not _MAIN.search(text) and not plan.cases:
        return "has no main"
    if plan.cases and not re.search(rf"^(TEMPLATE_)?{plan.cases}\w*\s*\(", text, re.M):
        return "has no test case"
    if library := re.search(plan.without, text):
        return f"needs {library[0]}"
    return ""


def described(name: str, file: str, text: str, path: pathlib.Path, plan: Plan) -> Program:
    return Program(
        name,
        file,
        options=f"{plan.options} {beside(path)}".strip(),
        argv=argv(text, path.parent / "Makefile"),
        also=others(path),
        cases="" if _MAIN.search(text) else plan.cases,
        passes="return" if plan.judged and plan.judged in text else own_check(text),
    )


def beside(path: pathlib.Path) -> str:
    """The options of a program's make file that say where headers are and what macros stand for."""
    flags = made(path.parent / "Makefile", "CFLAGS")
    folders = [f"-I{{here}}/{flag[2:]}" for flag in flags if flag.startswith("-I") and flag != "-I."]
    return " ".join([*folders, *(flag for flag in flags if flag.startswith("-D"))])


def others(path: pathlib.Path) -> tuple[str, ...]:
    """The files that a program's make file compiles beside it, but for those that it includes."""
    text = path.read_text(errors="replace")
    files = made(path.parent / "Makefile", "source")
    return tuple(f for f in files if path.name in files and f != path.name and f'"{f}"' not in text)


def made(makefile: pathlib.Path, name: str) -> list[str]:
    """The words that a make file gives a variable at first, with its other variables put in."""
    text = makefile.read_text(errors="replace").replace("\\\n", " ") if makefile.exists() else ""
    given: dict[str, str] = {}
    for variable, words in re.findall(r"^(\w+) *:?= *(.*)$", text, re.M):
        given.setdefault(variable, words)
    return re.sub(r"\$\((\w+)\)", lambda m: given.get(m[1], ""), given.get(name, "")).split()


def argv(text: str, makefile: pathlib.Path) -> tuple[str, ...]:
    """What a program is given."""
    run = _RUN.search(makefile.read_text(errors="replace").replace("\\\n", " ")) if makefile.exists() else None
    given = run[1].split() if run else []
    usage = _USAGE.search(text)
    names = _ARGUMENT.findall(usage[1]) if usage else []
    if not names and len(given) > 0:
        names = [""] * (len(given) - 1) + ["repeat"]  # as most have it last
    names += [""] * (len(given) - len(names))
    return tuple(small(word, what) for word, what in zip(given, names, strict=False))


def small(word: str, what: str) -> str:
    if not re.fullmatch(r"\d+", word):
        return word
    return "1" if _REPEATED.search(what) else str(min(int(word), LARGEST))


def own_check(text: str) -> str:
    """How a program says that its results are right: see programs.Program."""
    strings = " ".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', text))
    good = [pattern for pattern in _GOOD if re.search(pattern, strings)]
    if good:
        return "|".join(good)
    if re.search(r"\bassert\s*\(", text):
        return "assert"
    returned = re.search(r"return (1|-1|EXIT_FAILURE|\w+ \? )", text)
    return "return" if returned or re.search(programs.FAILS, strings) else ""


def revision(corpus: pathlib.Path, name: str) -> str:
    path = corpus / f"{name}.revision"
    if path.exists():
        return path.read_text().strip()
    told = subprocess.run(["git", "-C", str(corpus / name), "rev-parse", "HEAD"], capture_output=True, text=True)
    return told.stdout.strip()


def spread(found: Sequence[Program], most: int) -> list[Program]:
    """So many, from all over a suite."""
    return [found[k * len(found) // most] for k in range(most)] if len(found) > most else list(found)


def written(name: str, corpus: pathlib.Path) -> list[str]:
    """Writes a suite's manifest; gives what was left out."""
    suite, left_out = surveyed(name, corpus)
    programs.written(suite)
    return left_out

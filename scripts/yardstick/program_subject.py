"""Subject of programs: takes a SYCL program through xeemu and tells each stage as it is reached.

Stages are load (its kernels read), run (the whole program), compare (with SimSYCL's), and check (looking for faults).
"""

import dataclasses
import io
import json
import pathlib
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from yardstick import sources, verdicts
from yardstick.programs import Program

Told = Callable[[dict[str, Any]], None]


class Trial:
    """One program through all stages."""

    def __init__(self, program: Program, corpus: pathlib.Path, told: Told):
        self._program, self._corpus, self._told = program, corpus, told
        self._seconds: dict[str, float] = {}
        self._stage = ""

    def run(self, check: bool) -> dict[str, Any]:
        """The outcome: see verdicts."""
        outcome: dict[str, Any] = {"seconds": self._seconds}
        try:
            for found in self._stages(check):
                outcome |= found
                self._told({"stage": self._stage, "found": json.loads(json.dumps(outcome))})
        except Exception as error:
            from yardstick.subject import message

            outcome |= {"failed": self._stage, "error": type(error).__name__, "message": message(error)}
            if self._program.expect == "memory":
                outcome["judged"] = verdicts.judged(self._program, outcome, ())
        return outcome

    def _stages(self, check: bool) -> Iterator[dict[str, Any]]:
        kernels = self._timed("load", self._loaded)
        yield {"kernels": list(kernels)}
        result = self._timed("run", kernels.run)
        yield ran(result)
        yield {"native": self._timed("compare", lambda: self._compared(result))}
        if check or self._program.expect:
            yield self._timed("check", lambda: self._checked(result))

    def _timed(self, stage: str, work: Callable[[], Any]) -> Any:
        self._stage = stage
        self._told({"stage": stage})
        start = time.perf_counter()
        found = work()
        self._seconds[stage] = round(time.perf_counter() - start, 3)
        return found

    def _loaded(self) -> Any:
        import shlex

        import xeemu as xe

        path = program_source(self._program, self._corpus)
        return xe.load(path, options=shlex.join(program_options(self._program, self._corpus)))

    def _compared(self, result: Any) -> dict[str, Any]:
        """How the run stands to SimSYCL's, where that was kept."""
        from yardstick import native, native_comparison

        theirs = native.known(self._program, self._corpus, 0, run_it=False)
        arrays = [*result.arrays.values(), *(a for submitted in result.submissions for a in submitted.arguments)]
        arrays = [array for array in map(np.asarray, arrays) if array.dtype.kind != "O"]
        return dataclasses.asdict(native_comparison.compared(theirs, result.output, result.exit_code, arrays))

    def _checked(self, result: Any) -> dict[str, Any]:
        """What is found in each kernel that was submitted, the first time, and in the order of the commands."""
        first = {submitted.name: submitted for submitted in reversed(result.submissions)}
        every = [*result.findings, *(f for submitted in first.values() for f in submitted.findings)]
        errors = [f for f in every if f.severity == "error"]
        kinds = sorted({f.kind for f in errors})
        said = {"findings": kinds, "texts": [str(f) for f in errors[:4]]}
        return said | {"judged": verdicts.judged(self._program, {}, kinds)}


def ran(result: Any) -> dict[str, Any]:
    """What a program did: its output, what `main` returned and the kernels that it submitted."""
    launched = [submitted.name for submitted in result.submissions]
    return {"text": result.output[-4000:], "status": result.exit_code, "launched": launched}


# --- Sources ---


def program_source(program: Program, corpus: pathlib.Path) -> pathlib.Path:
    """The file to compile: the checkout's, or one of ours that calls its test cases."""
    path = corpus / program.suite / program.file
    if not path.exists():
        raise sources.MissingSource(f"{path} is not there; check out {program.suite} into {corpus / program.suite}")
    made = corpus / "assembled" / program.suite / program.file.replace("/", "-")
    made.parent.mkdir(parents=True, exist_ok=True)
    if program.constants:
        path = written(made.with_stem(made.stem + "-small"), smaller(path, program.constants))
    if program.cases or program.argv or program.also:
        whole = calling(path, program.cases) if program.cases else given(path, program.argv) if program.argv else ""
        parts = [whole or f'#include "{path}"', *(f'#include "{name}"' for name in program.also), ""]
        path = written(made, "\n".join(parts))
    return path


def written(path: pathlib.Path, text: str) -> pathlib.Path:
    """A file of a text."""
    path.write_text(text)
    return path


_MACRO = r"(?P<before>^[ \t]*#[ \t]*define[ \t]+NAME[ \t]+)[^\n]+"
_NUMBER = r"(?P<before>)\bNAME\b"
_CONSTANT = r"(?P<before>\b(?:const|constexpr)\b[^;()\n]*\bNAME\s*=\s*)[^,;\n]+"
_VARIABLE = _CONSTANT.replace("const|constexpr", "size_t|int|unsigned|long")


def smaller(path: pathlib.Path, constants: tuple[str, ...]) -> str:
    """A file's text, line by line the same, in which constants have other values.

    Raises:
      MissingSource: for a constant that it does not define.
    """
    text = path.read_text(errors="replace")
    for constant in constants:
        name, _, value = constant.partition("=")
        for form in (_NUMBER,) if name.isdigit() else (_MACRO, _CONSTANT, _VARIABLE):
            pattern = form.replace("NAME", re.escape(name))
            text, found = re.subn(pattern, rf"\g<before>{value}", text, count=not name.isdigit(), flags=re.M)
            if found:
                break
        else:
            raise sources.MissingSource(f"{path} defines no constant {name}; correct `constants` in the manifest")
    return text


def given(path: pathlib.Path, argv: tuple[str, ...]) -> str:
    """A program whose `main` calls a file's with arguments."""
    words = [f'    static char word{k}[] = "{word}";' for k, word in enumerate(("main", *argv))]
    names = ", ".join(f"word{k}" for k in range(len(words)))
    lines = ["#define main program_main", f'#include "{path}"', "#undef main", "", "int main()", "{", *words]
    lines += [f"    static char *words[] = {{{names}, nullptr}};"]
    return "\n".join([_WORDS, *lines, f"    return program_main({len(words)}, program_words{{words}});", "}", ""])


_WORDS = """struct program_words {
    char **words;
    operator char **() const { return words; }
    operator const char **() const { return (const char **)words; }
};"""


def calling(path: pathlib.Path, macro: str) -> str:
    """A program that calls each test case of a file: functions named by their lines.

    A test case that the preprocessor leaves out is a function that does nothing.
    """
    names = [f"test_case_{line}" for line in begun(path.read_text(errors="replace"), macro)]
    text = io.StringIO()
    for name in names:
        print(f"template <int = 0> void {name}() {{}}", file=text)
    print(f'#include "{path}"\n\nint main()\n{{', file=text)
    for name in names:
        print(f"    {name}();", file=text)
    print("    return 0;\n}", file=text)
    return text.getvalue()


def begun(text: str, macro: str) -> list[int]:
    """The lines at which the heads of test cases end, as the compiler numbers them."""
    found = []
    for head in re.finditer(rf"^(?:TEMPLATE_)?{macro}(?:_SIG)?\s*\(", text, re.M):
        end, depth = head.end(), 1
        while depth and end < len(text):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append(text.count("\n", 0, end) + 1)
    return found


def program_options(program: Program, corpus: pathlib.Path) -> list[str]:
    import shlex

    root = corpus / program.suite
    folders = {"{here}": (root / program.file).parent, "{root}": root, "{ours}": sources.OURS}
    text = program.options
    for name, folder in folders.items():
        text = text.replace(name, str(folder))
    return shlex.split(text)

"""Seeds: the SYCL programs of the texts that xeemu is made from, taken out of them as they stand, and as whole files.

Programs are what a notebook's `%%writefile` cells hold, `program(name)`. Fragments are lines that hold a whole
submission; each is made a program by a `main` of our own around it, and gets its line breaks back where a line of C++
needs them (after a comment, before and after a `#pragma`). No text of theirs is kept here.
"""

import pathlib
import re
from collections.abc import Iterator, Mapping

_CELL = re.compile(r"^%%writefile lab/(\w+\.cpp)\n(.*?)(?=^(?:Overwriting |Writing |#### |In \[))", re.M | re.S)
_FRAGMENT = re.compile(r"^(?:constexpr int|sycl::buffer<).*\bparallel_for\b.*$", re.M)
_COMMENT = re.compile(r"(//.*?) (?=//|#pragma|for \(|if \(|unsigned )")
_PRAGMA = re.compile(r" *(#pragma unroll) *")

_NAMES = (
    (r"slm\[j \* 16\]", "slm_bank_16"),
    (r"slm\[j\]", "slm_bank_1"),
    (r"histogram\[NUM_BINS / 16\]", "histogram_registers"),
    (r"NUM_BINS = 1024", "histogram_slm_1024"),
    (r"ciacc", "convolution_slm"),
    (r"iacc", "convolution_global"),
)
"""What tells the fragments apart, and the example each is of, in the order in which they are asked."""

_WORDS = """#include <sycl/sycl.hpp>
#include <vector>
int main() {
  constexpr int N = 4096 * 4096;
  std::vector<unsigned long> input(N);
  for (int i = 0; i < N; ++i)
    for (int shift = 0; shift < 64; shift += 8)
      input[i] |= static_cast<unsigned long>(rand() % 256) << shift;
  sycl::queue q{sycl::property::queue::enable_profiling{}};
"""
_ELEMENTS = """#include <sycl/sycl.hpp>
#include <vector>
int main() {
  constexpr size_t N = 8192 * 8192, M = 257;
  std::vector<int> input(N), output(N), kernel(M);
  for (size_t i = 0; i < N; ++i)
    input[i] = rand();
  for (size_t i = 0; i < M; ++i)
    kernel[i] = rand();
  sycl::queue q{sycl::property::queue::enable_profiling{}};
"""
_NOTHING = """#include <sycl/sycl.hpp>
int main() {
  sycl::queue q{sycl::property::queue::enable_profiling{}};
"""
_END = "\n  q.wait();\n  return 0;\n}\n"


def programs(folder: pathlib.Path) -> Mapping[str, str]:
    """The texts' whole programs by name, without suffix."""
    return {file.removesuffix(".cpp"): text for file, text in _cells(folder)}


def fragments(folder: pathlib.Path) -> Mapping[str, str]:
    """The texts' submissions, each in a `main` of its own, by the example that it is of."""
    found = {}
    for text in texts(folder):
        for line in _FRAGMENT.findall(text):
            found[named(line)] = completed(line)
    return found


def texts(folder: pathlib.Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.txt")):
        yield path.read_text()


def _cells(folder: pathlib.Path) -> Iterator[tuple[str, str]]:
    for text in texts(folder):
        yield from ((name, body.rstrip() + "\n") for name, body in _CELL.findall(text))


def named(line: str) -> str:
    """The example that a fragment is of."""
    return next(name for pattern, name in _NAMES if re.search(pattern, line))


def completed(line: str) -> str:
    """A program around a fragment."""
    before = _ELEMENTS if "ibuf" in line else _WORDS if "mbuf" in line else _NOTHING
    return before + broken(line) + _END


def broken(line: str) -> str:
    """The fragment with the line breaks that comments and pragmas need."""
    return _PRAGMA.sub(r"\n\1\n", _COMMENT.sub(r"\1\n", line))


def write(folder: pathlib.Path, target: pathlib.Path) -> list[pathlib.Path]:
    """Writes every program and, as `fragment_NAME`, every fragment into a folder."""
    target.mkdir(parents=True, exist_ok=True)
    every = dict(programs(folder)) | {f"fragment_{name}": text for name, text in fragments(folder).items()}
    for name, text in every.items():
        (target / f"{name}.cpp").write_text(text)
    return [target / f"{name}.cpp" for name in every]

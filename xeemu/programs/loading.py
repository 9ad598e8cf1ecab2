"""Loading: OpenCL C and SYCL C++ as they stand, as kernels."""

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from xeemu.errors import KernelArgumentError
from xeemu.language import public

if TYPE_CHECKING:
    from xeemu.frontends.collection import Kernels
    from xeemu.programs.program import SyclProgram

OPENCL_C, SYCL_CPP = "OpenCL C", "SYCL C++"

_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hxx", ".sycl", ".dp.cpp")
_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:sycl/|CL/sycl\.hpp|oneapi/)', re.MULTILINE)


@public.function
def load(
    path_or_text: str | os.PathLike[str],
    options: str | Sequence[str] = "",
    std: str | None = None,
    *,
    language: str | None = None,
) -> "Kernels | SyclProgram":
    """The kernels of OpenCL C or SYCL C++ source.

    Args:
      path_or_text: the path of a file, or the source itself.
      options: for the compiler, as for `clBuildProgram` or a compiler of C++, such as `"-DN=4 -I include"`.
      std: the version of the language, such as `"CL2.0"` or `"c++17"`; None for that of the compiler.
      language: `"OpenCL C"` or `"SYCL C++"`; by default told by the file's suffix (`.cpp`, `.cc`, `.cxx`, `.hpp`) and
        by the include of `sycl/sycl.hpp`, `CL/sycl.hpp` or a file of `oneapi/`.

    Returns:
      A mapping from names to kernels for all transformations.

      Of OpenCL C they take their arguments by position, in the order of the parameters: arrays for pointers to global
      and constant memory, numbers for scalars, tuples or arrays for vectors, NumPy records, bytes or dicts for structs,
      and `xe.Local(bytes)` for pointers to local memory.

      Of SYCL C++ they are the kernels that the program submits, by the class that names them, else by function and line
      (`"main:57"`, `"run<float>:57"`); a function that submits one alone, or the line as an int, finds them, too. They
      take what they capture, in that order or by name: arrays for accessors, whose range is the array's shape, and for
      pointers; numbers; dicts for structs; and for local accessors `xe.Local(bytes)` or the tuple of their range. What
      the host code tells need not be given, and its sizes of the first launch are the kernel's `nd_range`.

      The arrays that a kernel may have changed come back in the order of the parameters, as a tuple, or one by itself.

    Raises:
      KernelArgumentError: there is no such file, or libclang, which reads the source, is not installed.
      KernelError: the source is wrong, or holds what is not supported.
    """
    if _language(path_or_text, language) == SYCL_CPP:
        return _submitted(path_or_text, options, std)
    # Imported where they are needed, for most who import xeemu have no source of C.
    from xeemu.frontends import collection
    from xeemu.frontends.parsing import programs

    program = programs.program(path_or_text, options, std)
    return collection.Kernels(program, (options if isinstance(options, str) else " ".join(options), str(std)))


def _submitted(path_or_text: str | os.PathLike[str], options: str | Sequence[str], std: str | None) -> "SyclProgram":
    from xeemu.frontends.cplusplus import units
    from xeemu.frontends.parsing import options as build_options
    from xeemu.programs.program import SyclProgram

    instances = units.unit(path_or_text, options, std)
    given = build_options.split(options)
    return SyclProgram(instances, given, (" ".join(given), str(std)))


def _language(path_or_text: str | os.PathLike[str], language: str | None) -> str:
    """The language of a source."""
    if language is not None:
        if language not in (OPENCL_C, SYCL_CPP):
            raise KernelArgumentError(f"language={language!r}; write {OPENCL_C!r} or {SYCL_CPP!r}, or leave it out")
        return language
    text = os.fspath(path_or_text)
    if "\n" not in text and "{" not in text:
        if text.lower().endswith(_SUFFIXES):
            return SYCL_CPP
        text = _contents(text)
    return SYCL_CPP if _INCLUDE.search(text) else OPENCL_C


def _contents(path: str) -> str:
    """The text of a file; empty where it cannot be read, which is said by whoever parses it."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""

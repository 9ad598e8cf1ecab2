"""Options: a compiler's options as clang's arguments for C++ with SYCL."""

import functools
import os
from collections.abc import Sequence

from xeemu.errors import KernelArgumentError
from xeemu.frontends.parsing.options import taken

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")
_STANDARDS = ("c++17", "c++20", "c++23")
_OF_HEADERS = "c++20"
"""Our own headers use its concepts; programs of C++17 are programs of it as well."""
_FOR_CLANG = ("-ffast-math", "-Wno-narrowing", "-Wno-c++11-narrowing")
# Of other compilers, or of no effect on a program's meaning.
_IGNORED = ("-std=", "-f", "-W", "-O", "-g", "-m", "-w", "-v", "-X", "-q", "-c", "-pthread", "-l", "-L")


def standard(std: str | None, options: Sequence[str]) -> str:
    """The version of C++ in which a file is read."""
    asked = std or next((o.partition("=")[2] for o in options if o.startswith("-std=")), "c++20")
    version = asked.lower().replace("gnu", "c")
    if version not in _STANDARDS:
        listed = ", ".join(_STANDARDS)
        raise KernelArgumentError(f"std={asked!r} is no version of C++ that SYCL has; write one of {listed}")
    return max(version, _OF_HEADERS)


def arguments(folder: str, options: Sequence[str], std: str) -> list[str]:
    """clang's arguments for a file in a folder."""
    return [
        *("-x", "c++", f"-std={std}", "-target", "x86_64-unknown-linux-gnu", "-nostdinc", "-nostdinc++"),
        *("-w", "-fspell-checking", "-ferror-limit=0", "-ftemplate-depth=1024", "-fexceptions", "-fcxx-exceptions"),
        *("-I", folder or os.curdir, *taken(options, _FOR_CLANG, _IGNORED, "of a compiler's"), "-isystem", HEADERS),
    ]


@functools.cache
def is_header(file: str) -> bool:
    """True if a file is one of our own headers, which the user does not know."""
    return file.startswith(HEADERS)

"""Options: a compiler's options as clang's arguments for C++ with SYCL."""

import os
from collections.abc import Sequence

from xeemu.errors import KernelArgumentError

HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")
_STANDARDS = ("c++17", "c++20", "c++23")
_WITH_VALUE = ("-D", "-U", "-I", "-include", "-isystem", "-iquote")
_FOR_CLANG = ("-ffast-math",)
# Of other compilers, or of no effect on a program's meaning.
_KNOWN = ("-f", "-W", "-O", "-g", "-m", "-w", "-v", "-X", "-q", "-c", "-pthread", "-l", "-L")


def standard(std: str | None, options: Sequence[str]) -> str:
    """The version of C++."""
    asked = std or next((o.partition("=")[2] for o in options if o.startswith("-std=")), "c++20")
    version = asked.lower().replace("gnu", "c")
    if version not in _STANDARDS:
        raise KernelArgumentError(f"std={asked!r} is no version of C++ that SYCL has; write one of {_STANDARDS}")
    return version


def arguments(folder: str, options: Sequence[str], std: str) -> list[str]:
    """clang's arguments for a file in a folder."""
    return [
        *("-x", "c++", f"-std={std}", "-target", "x86_64-unknown-linux-gnu", "-nostdinc", "-nostdinc++"),
        *("-w", "-ferror-limit=0", "-ftemplate-depth=1024", "-fexceptions", "-fcxx-exceptions"),
        *("-I", folder or os.curdir, *_taken(options), "-isystem", HEADERS),
    ]


def _taken(options: Sequence[str]) -> list[str]:
    """The options that mean something to clang."""
    found: list[str] = []
    waiting = iter(options)
    for option in waiting:
        if option in _WITH_VALUE:
            value = next(waiting, None)
            if value is None:
                raise KernelArgumentError(f"the option {option} has no value behind it")
            found += [option, value]
        elif option.startswith(_WITH_VALUE) or option in _FOR_CLANG:
            found.append(option)
        elif not (option.startswith("-std=") or option.startswith(_KNOWN)):
            raise KernelArgumentError(
                f"{option!r} is no option of a compiler's; write them as in options='-DN=4 -I folder'"
            )
    return found

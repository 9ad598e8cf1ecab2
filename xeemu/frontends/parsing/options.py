"""Options: OpenCL's build options and versions as clang's arguments."""

import os
import shlex
from collections.abc import Sequence

from xeemu.errors import KernelArgumentError
from xeemu.frontends.parsing.clang import HEADERS

VERSIONS = ("CL1.0", "CL1.1", "CL1.2", "CL2.0", "CL3.0")
_TRIED = ("CL2.0", "CL1.2", "CL3.0")
_WITH_VALUE = ("-D", "-U", "-I", "-include", "-isystem", "-iquote")
_FOR_CLANG = (
    "-cl-single-precision-constant",
    "-cl-finite-math-only",
    "-cl-unsafe-math-optimizations",
    "-cl-fast-relaxed-math",
)
# No warnings; and what newer clangs have made errors of stays none, as kernels do it.
_LENIENT = ("-w", "-Wno-parentheses", "-Wno-incompatible-pointer-types")
_OF_A_COMPILER = ("-cl-", "-W", "-O", "-f", "-m", "-x")
_PLAIN = ("-w", "-g", "-s", "-v")


def versions(std: str | None, options: Sequence[str]) -> Sequence[str]:
    """The versions of the language to try, in order."""
    asked = std or next((o.partition("=")[2] for o in options if o.startswith("-cl-std=")), None)
    if asked is None:
        return _TRIED
    version = asked.upper()
    if version not in VERSIONS:
        raise KernelArgumentError(f"std={asked!r} is no version of OpenCL C; write one of {', '.join(VERSIONS)}")
    return (version,)


def split(options: str | Sequence[str]) -> list[str]:
    """The options of a string, as a shell would take it apart, or of a sequence."""
    return shlex.split(options) if isinstance(options, str) else [str(o) for o in options]


def arguments(folder: str, options: Sequence[str], std: str) -> list[str]:
    """clang's arguments for a file in a folder."""
    number = std[2:].replace(".", "") + "0"
    return [
        *("-x", "cl", f"-cl-std={'CL' if std == 'CL1.0' else std}", "-target", "spir", "-cl-no-stdinc"),
        *("-Xclang", "-fdeclare-opencl-builtins", "-Xclang", "-cl-ext=+all"),
        *_LENIENT,
        *("-fspell-checking", "-ferror-limit=0", f"-D__OPENCL_VERSION__={number}"),
        *("-include", os.path.join(HEADERS, "opencl.h"), "-I", folder or os.curdir),
        *_known(options),
    ]


def _known(options: Sequence[str]) -> list[str]:
    """The options that mean something to clang; the others of OpenCL's and of compilers' change no value."""
    ignored = (*_OF_A_COMPILER, *(f"{option}$" for option in _PLAIN))
    return taken(options, _FOR_CLANG, ignored, "of OpenCL's build options")


def taken(options: Sequence[str], for_clang: Sequence[str], ignored: Sequence[str], whose: str) -> list[str]:
    """The options of a preprocessor's, with their values, and those for clang.

    Args:
      options: that the user gives.
      for_clang: those that clang has to know.
      ignored: beginnings of those that change no value; with a `$` behind it an option as a whole.
      whose: options they are, for the error that says which is none.
    """
    found: list[str] = []
    waiting = iter(options)
    for option in waiting:
        if option in _WITH_VALUE:
            value = next(waiting, None)
            if value is None:
                raise KernelArgumentError(f"the option {option} has no value behind it")
            found += [option, value]
        elif option.startswith(_WITH_VALUE) or option in for_clang:
            found.append(option)
        elif not f"{option}$".startswith(tuple(ignored)):
            raise KernelArgumentError(f"{option!r} is no option {whose}; write them as in options='-DN=4 -I folder'")
    return found

"""Prefix: our headers before a user's macros.

A compiler's headers call things by names that no program may use; ours are as plain as any code. So that a macro such
as `N`, of an option or at the beginning of a file, does not change them, they are included before it; after
those macros alone that a program defines for them.
"""

import linecache
import os
import re
from collections.abc import Iterator, Sequence

from xeemu.frontends.cplusplus.options import HEADERS

NAME = os.path.join(HEADERS, "prefix")
"""The file that is included before all others; there is none of that name, its text is given to the parser."""

_INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')
_DEFINE = re.compile(r"^\s*#\s*define\b")
_FOR_HEADERS = re.compile(r"^\s*#\s*define\s+(NDEBUG|SYCL_SIMPLE_SWIZZLES)\b")
"""What a program defines for the headers that it includes."""
_MOST_FILES = 200


def text(name: str, options: Sequence[str]) -> str | None:
    """The text of the prefix for a file and clang's options; None where there are no macros before our headers."""
    macros = list(_macros(options))
    folders = [os.path.dirname(name) or os.curdir, *_folders(options)]
    found, defined = _headers(name, folders)
    if not macros and not defined:
        return None
    first = [line for line in (*macros, *defined) if _FOR_HEADERS.match(line)]
    return "\n".join([*first, *(f"#include <{file}>" for file in found), *macros, ""])


def without(options: Sequence[str]) -> list[str]:
    """Clang's options without the macros that the prefix defines."""
    found: list[str] = []
    waiting = iter(options)
    for option in waiting:
        if option in ("-D", "-U"):
            next(waiting, None)
        elif not option.startswith(("-D", "-U")):
            found.append(option)
    return found


def _macros(options: Sequence[str]) -> Iterator[str]:
    """The macros of options, as lines."""
    waiting = iter(options)
    for option in waiting:
        if option.startswith(("-D", "-U")):
            given = option[2:] or next(waiting, "")
            name, sign, value = given.partition("=")
            yield f"#undef {given}" if option.startswith("-U") else f"#define {name} {value if sign else '1'}"


def _folders(options: Sequence[str]) -> Iterator[str]:
    waiting = iter(options)
    for option in waiting:
        if option in ("-I", "-isystem", "-iquote"):
            yield next(waiting, "")
        elif option.startswith("-I"):
            yield option[2:]


def _headers(name: str, folders: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those of our headers that a file and the user's files in it include, and the macros that are before the last."""
    found: dict[str, None] = {}
    files, macros = [name], list[str]()
    before: list[str] = []
    for file in files:
        for line in linecache.getlines(file):
            if _DEFINE.match(line):
                macros.append(line.rstrip())
            included = _INCLUDE.match(line)
            if included is None:
                continue
            near = (os.path.join(folder, included[1]) for folder in (os.path.dirname(file), *folders))
            own = next((path for path in near if os.path.isfile(path)), None)
            if own is not None and not own.startswith(HEADERS):
                if own not in files and len(files) < _MOST_FILES:
                    files.append(own)
            elif os.path.isfile(os.path.join(HEADERS, included[1])):
                found[included[1]] = None
                before = list(macros)
    return list(found), before

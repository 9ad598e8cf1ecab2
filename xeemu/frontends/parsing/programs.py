"""Reading: OpenCL C, a file or a text, as a `functions.TranslationUnit`."""

import hashlib
import linecache
import os
from collections.abc import Sequence

from xeemu.errors import KernelArgumentError
from xeemu.frontends.functions import TranslationUnit
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing import options as build_options
from xeemu.frontends.parsing.definitions import Definitions


def program(
    path_or_text: str | os.PathLike[str], options: str | Sequence[str] = "", std: str | None = None
) -> TranslationUnit:
    """The functions and variables of a file, or of a text.

    Args:
      path_or_text: a file's path; a string with a line break or a brace in it is a text.
      options: OpenCL's build options, such as `"-DN=4 -I include"`.
      std: the version of the language, `"CL1.0"` to `"CL3.0"`; by default the first of 2.0, 1.2 and 3.0 in which the
        text has no error; if it has some in each, those of the version in which it has the fewest are shown.

    Errors: `xe.KernelArgumentError` without libclang, for a file that is not there and for unknown options;
    `xe.KernelError` with clang's own messages for a text that is wrong.
    """
    name, text = _source(path_or_text)
    given = build_options.split(options)
    failures: list[clang.Errors] = []
    for version in build_options.versions(std, given):
        unit, errors = clang.parse(name, text, build_options.arguments(os.path.dirname(name), given, version))
        if not errors.count:
            found = Definitions(unit)
            kernels = [f for f in found.functions.values() if f.kernel]
            return TranslationUnit(name, found.functions, kernels, found.globals)
        failures.append(errors)
    raise min(failures, key=lambda e: e.count).exception(name)


def _source(path_or_text: str | os.PathLike[str]) -> tuple[str, str | None]:
    """A file's name and None, or a made-up name and the text."""
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "{" in path_or_text):
        return _named(path_or_text), path_or_text
    path = os.fspath(path_or_text)
    if not os.path.isfile(path):
        what = "a folder" if os.path.isdir(path) else "not there"
        raise KernelArgumentError(f"the file {path} is {what}; a text needs a line break or a brace to be taken as one")
    linecache.checkcache(path)
    return path, None


def _named(text: str) -> str:
    """A name for a text, under which messages find its lines."""
    name = f"<opencl {hashlib.sha1(text.encode(errors='replace')).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name

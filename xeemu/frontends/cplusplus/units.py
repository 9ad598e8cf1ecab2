"""Units: a file of C++, or a text, parsed with our own headers."""

import hashlib
import linecache
import os
import re
from collections.abc import Sequence

from xeemu.errors import KernelArgumentError
from xeemu.frontends.cplusplus import diagnostics, instantiations, prefix
from xeemu.frontends.cplusplus import options as compiler_options
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing import options as build_options


def unit(path_or_text: str | os.PathLike[str], options: str | Sequence[str] = "", std: str | None = None) -> Instances:
    """The functions of a file of C++, or of a text.

    Errors: `xe.KernelArgumentError` without libclang, for a file that is not there and for unknown options;
    `xe.KernelError` with clang's own messages for a text that is wrong.
    """
    name, text = source(path_or_text, "sycl")
    given = build_options.split(options)
    version = compiler_options.standard(std, given)
    folder = os.path.dirname(name)
    arguments = compiler_options.arguments(folder, given, version)
    before = prefix.text(name, arguments)
    others = [] if before is None else [(prefix.NAME, before)]
    if before is not None:
        arguments = ["-include", prefix.NAME, *prefix.without(arguments)]
    parsed, errors = clang.parse(name, text, arguments, others)
    tolerated = _tolerated(name) if errors.count else None
    if tolerated is not None:
        parsed, errors = clang.parse(name, tolerated, arguments, others)
    if errors.count:
        raise diagnostics.error(parsed, name)
    if ends := instantiations.calls(parsed.cursor):
        whole = tolerated or text or "".join(linecache.getlines(name))
        again, errors = clang.parse(name, whole + ends, arguments, others)
        parsed = parsed if errors.count else again
    return Instances(parsed)


# icpx takes it for no unrolling; clang refuses it.
_UNROLL_0 = re.compile(r"#pragma unroll\(0\)")

# Programs of SYCL 1.2.1 name the namespace so, in which SYCL 2020 has it already; clang refuses that there are two.
_ALIAS = re.compile(r"^namespace\s+sycl\s*=\s*(?:::)?cl::sycl\s*;", re.MULTILINE)


def _tolerated(name: str) -> str | None:
    """A file without what other compilers take; None if there is nothing of that in it."""
    text = "".join(linecache.getlines(name))
    tolerated = _ALIAS.sub(lambda found: re.sub(r"\S", " ", found[0]), _UNROLL_0.sub("#pragma nounroll ", text))
    return tolerated if tolerated != text else None


def source(path_or_text: str | os.PathLike[str], language: str) -> tuple[str, str | None]:
    """A file's name and None, or a made-up name and the text."""
    if isinstance(path_or_text, str) and ("\n" in path_or_text or "{" in path_or_text):
        return _named(path_or_text, language), path_or_text
    path = os.fspath(path_or_text)
    if not os.path.isfile(path):
        what = "a folder" if os.path.isdir(path) else "not there"
        raise KernelArgumentError(f"the file {path} is {what}; a text needs a line break or a brace to be taken as one")
    linecache.checkcache(path)
    return path, None


def _named(text: str, language: str) -> str:
    """A name for a text, under which messages find its lines."""
    name = f"<{language} {hashlib.sha1(text.encode(errors='replace')).hexdigest()[:8]}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    return name

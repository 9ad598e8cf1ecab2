"""Diagnostics: what clang finds wrong with a file of C++, at the places of the user's files."""

import linecache
import re
from collections.abc import Iterator
from typing import Any

from xeemu.errors import KernelError
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.parsing import foreign
from xeemu.language.places import from_here
from xeemu.plurals import counted

_ERROR = 3
_MOST, _MOST_NOTES = 10, 4
_CALLED = re.compile(r"no matching function for call to object of type")
_CONVERSION = re.compile(r"no known conversion from '(.+?)' to '(.+?)' for 1st argument")
_OF_IMAGES = r"(image_channel_\w+|(un)?sampled_image\w*|image_sampler|coordinate_normalization_mode)"
_WITHOUT_IMAGES = (
    "images of SYCL are not emulated; write a buffer of the pixels, or the kernel in OpenCL C, with its images"
)
_ADVICE = (
    (
        re.compile(r"cannot assign to return value because function 'operator\[\]' returns a const value"),
        "an accessor of read_only cannot be written: make it read_write or write_only; what a kernel captures by value "
        "is constant in it: write through a pointer of sycl::malloc_shared, or an accessor",
    ),
    (
        re.compile(r"no matching constructor for initialization of '(?:sycl::)?local_accessor<"),
        "local memory takes its range and the handler, as in local_accessor<float, 1> tile(64, h)",
    ),
    (
        re.compile(r"incompatible pointer to integer conversion|expression is not assignable"),
        "an element of an accessor of two dimensions takes two indices, a[i][j], or an id<2>",
    ),
    (re.compile(rf"undeclared identifier '{_OF_IMAGES}'"), _WITHOUT_IMAGES),
)
_INSTANCE = re.compile(r"in instantiation of .* requested here")
_MISSING = re.compile(r"'(.+)' file not found")
_ABSENT = re.compile(r"no (?:type |template )?(?:member )?named '(\w+)' in (?:namespace )?'(sycl(?:::\w+)*)'.*")
_EXTENSIONS = {
    "matrix": "joint_matrix is not emulated; write a loop of multiply-adds over tiles in local memory",
    "esimd": "ESIMD is not emulated; write the kernel over work-items, with sub-group functions",
}
_LIBRARIES = {
    "oneapi/mkl": "oneMKL",
    "mkl": "oneMKL",
    "oneapi/dpl": "oneDPL",
    "oneapi/math": "oneMath",
    "oneapi/ccl": "oneCCL",
    "oneapi/tbb": "oneTBB",
    "tbb/": "oneTBB",
    "dnnl": "oneDNN",
    "dpct/": "the helpers of SYCLomatic",
    "cuda": "CUDA",
    "mpi": "MPI",
    "omp.h": "OpenMP",
    "sycl/ext/intel/esimd": "ESIMD",
    "sycl/ext/intel/fpga": "extensions for FPGAs",
    "cutlass": "CUTLASS",
    "cute/": "CUTLASS",
    "boost/": "Boost",
    "syclcompat": "SYCLcompat, CUDA's functions over SYCL",
    "CL/cl": "OpenCL's functions of the host",
    "level_zero/": "Level Zero",
    "ze_api": "Level Zero",
}


def error(unit: Any, name: str) -> KernelError:
    """The errors of a unit, at most ten, each with its line, a caret and its notes."""
    found = [d for d in unit.diagnostics if d.severity >= _ERROR]
    count = counted(len(found), "error")
    shown = [line for d in found[:_MOST] for line in _shown(d)]
    more = len(found) - _MOST
    tail = (f"and {counted(more, 'more error')}",) if more > 0 else ()
    return KernelError("\n".join([f"{name} does not compile, {count}:", *shown, *tail]))


def _shown(diagnostic: Any) -> Iterator[str]:
    """The lines of an error."""
    notes = [d for d in diagnostic.children if d.location.file is not None and not is_header(d.location.file.name)]
    place = _place(diagnostic, notes)
    yield from _at(place, "error", _message(diagnostic))
    if place is not diagnostic.location:
        return  # the others tell of our headers
    notes = [d for d in notes if not d.spelling.startswith("in file included")]
    for note in notes[:_MOST_NOTES]:
        yield from _at(note.location, "note", str(note.spelling), place)
    if len(notes) > _MOST_NOTES:
        yield f"and {len(notes) - _MOST_NOTES} more notes"


def _place(diagnostic: Any, notes: list[Any]) -> Any:
    """Where the user's file is wrong: of what is found in our headers, where it makes an instance of them."""
    location = diagnostic.location
    if location.file is None or not is_header(location.file.name):
        return location
    instances = [n for n in notes if _INSTANCE.search(n.spelling)]
    return next((n.location for n in (*instances, *notes)), location)


def _message(diagnostic: Any) -> str:
    text = str(diagnostic.spelling)
    if missing := _MISSING.fullmatch(text):
        return f"{text}; {_of_library(missing[1])}"
    if (absent := _ABSENT.fullmatch(text)) and ("did you mean" not in text or absent[2].startswith("sycl::ext")):
        return f"{text.partition('; did you mean')[0]}; {_of_sycl(absent[1], absent[2])}"
    conversions = filter(None, (_CONVERSION.search(n.spelling) for n in diagnostic.children))
    if _CALLED.search(text) and (first := next(conversions, None)) is not None:
        given = first[1].replace("<>", "<1>")
        return (
            f"the kernel takes {first[2]}, but is given {given}; an nd_range gives nd_item, a range item or id, of as "
            "many dimensions as it has"
        )
    advice = next((told for pattern, told in _ADVICE if pattern.search(text)), None)
    return foreign.advised(text, foreign.SYCL) if advice is None else f"{text}; {advice}"


def _of_sycl(name: str, scope: str) -> str:
    """What to do about a name that our headers of SYCL do not have."""
    extension = next((e for e in _EXTENSIONS if e == name or e in scope.split("::")), None)
    if extension is not None:
        return _EXTENSIONS[extension]
    if re.fullmatch(_OF_IMAGES, name):
        return _WITHOUT_IMAGES
    apart = "or keep it apart by #ifndef SYCL_XEEMU"
    if scope.startswith("sycl::ext"):
        return f"xeemu does not have this extension; write it with what SYCL 2020 has, {apart}"
    return f"xeemu's headers have no such name; look at its spelling in SYCL 2020, {apart}"


def _of_library(file: str) -> str:
    """What to do about a header that is not there."""
    for prefix, library in _LIBRARIES.items():
        if file.startswith(prefix):
            return (
                f"it is of {library}, which xeemu does not have; keep what needs it apart from the kernels, as by "
                "#ifndef SYCL_XEEMU"
            )
    return "xeemu has the headers of SYCL and of the C++ library; name the folder of others, options='-I folder'"


def _at(location: Any, severity: str, message: str, above: Any = None) -> Iterator[str]:
    """A message with its place and, where it is not that of the one above, its line and a caret."""
    if location.file is None:
        yield f"{severity}: {message}"
        return
    file, line, column = str(location.file.name), int(location.line), int(location.column)
    yield f"{from_here(file)}:{line}:{column}: {severity}: {message}"
    source = linecache.getline(file, line).rstrip("\n")
    if source.strip() and (above is None or (above.line, above.column) != (line, column)):
        yield f"    {source}"
        yield "    " + "".join(c if c == "\t" else " " for c in source[: column - 1]) + "^"

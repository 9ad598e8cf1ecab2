"""clang: the parser of C, by PyPI's `libclang` or any other `clang.cindex` that can be imported.

No compiler and no system header is needed. Versions 14 to 22 of the library serve.
"""

import ctypes
import dataclasses
import enum
import functools
import importlib
import linecache
import os
from collections.abc import Sequence
from typing import Any, TypeAlias

from xeemu.errors import KernelArgumentError, KernelError
from xeemu.frontends.parsing import foreign
from xeemu.frontends.tree import SourceLocation
from xeemu.language.places import from_here
from xeemu.plurals import counted

Cursor: TypeAlias = Any
Unit: TypeAlias = Any
HEADERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headers")
_ERROR = 3
_MOST_ERRORS, _MOST_NOTES = 10, 4
_TERSE_OUTPUT = 17
_INVALID = range(70, 80)
_CONTINUE, _RECURSE = 1, 2


class _String(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("private_flags", ctypes.c_uint))


@functools.cache
def bindings() -> Any:
    """The module `clang.cindex`, its library loaded."""
    try:
        module = importlib.import_module("clang.cindex")
    except ImportError:
        raise KernelArgumentError(
            "kernels of OpenCL C are parsed by libclang, which is not installed; pip install libclang"
        ) from None
    try:
        module.conf.lib  # noqa: B018  # loads the library
    except module.LibclangError as error:
        reason = str(error).partition("\n")[0]
        raise KernelArgumentError(f"libclang cannot be loaded: {reason}; pip install libclang") from None
    _name(module.TypeKind, "FLOAT16", 32)
    for kind, name in enumerate(("TEMPLATE", "TEMPLATE_EXPANSION", "EXPRESSION", "PACK"), 5):
        _name(module.TemplateArgumentKind, name, kind)
    return module


def _name(kinds: Any, name: str, number: int) -> None:
    """Names a kind that versions of the bindings leave out, such as that of `_Float16` and of packs of arguments."""
    try:
        kinds.from_id(number)
    except ValueError:
        if not issubclass(kinds, enum.Enum):
            setattr(kinds, name, kinds(number))
            return
        made = object.__new__(kinds)
        made._name_, made._value_ = name, number
        kinds._member_map_[name] = kinds._value2member_map_[number] = made


@functools.cache
def _library() -> Any:
    """The library by a handle of our own, with the functions that the bindings leave out."""
    module = bindings()
    library = ctypes.CDLL(module.conf.lib._name)
    cursor, pointer, string = module.Cursor, ctypes.c_void_p, _String
    signatures: dict[str, tuple[Any, ...]] = {
        "clang_Cursor_Evaluate": (pointer, cursor),
        "clang_EvalResult_getKind": (ctypes.c_int, pointer),
        "clang_EvalResult_isUnsignedInt": (ctypes.c_uint, pointer),
        "clang_EvalResult_getAsUnsigned": (ctypes.c_ulonglong, pointer),
        "clang_EvalResult_getAsLongLong": (ctypes.c_longlong, pointer),
        "clang_EvalResult_getAsDouble": (ctypes.c_double, pointer),
        "clang_EvalResult_dispose": (None, pointer),
        "clang_getCursorPrintingPolicy": (pointer, cursor),
        "clang_PrintingPolicy_setProperty": (None, pointer, ctypes.c_int, ctypes.c_uint),
        "clang_PrintingPolicy_dispose": (None, pointer),
        "clang_getCursorPrettyPrinted": (string, cursor, pointer),
        "clang_getCString": (ctypes.c_char_p, string),
        "clang_disposeString": (None, string),
        "clang_Cursor_getVarDeclInitializer": (cursor, cursor),
        "clang_getSpecializedCursorTemplate": (cursor, cursor),
        "clang_getCursorLocation": (module.SourceLocation, cursor),
        "clang_visitChildren": (ctypes.c_uint, cursor, _visitor_type(), pointer),
        "clang_Type_getValueType": (module.Type, module.Type),
        "clang_getFileLocation": (None, module.SourceLocation, *4 * (ctypes.POINTER(ctypes.c_void_p),)),
        "clang_getFileName": (string, pointer),
        "clang_getCursorBinaryOperatorKind": (ctypes.c_int, cursor),
        "clang_getCursorUnaryOperatorKind": (ctypes.c_int, cursor),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    numbers = ctypes.POINTER(ctypes.c_uint)
    files = ctypes.POINTER(ctypes.c_void_p)
    library.clang_getFileLocation.argtypes = [module.SourceLocation, files, numbers, numbers, numbers]
    return library


def _text(string: _String) -> str:
    library = _library()
    text = library.clang_getCString(string)
    library.clang_disposeString(string)
    return (text or b"").decode(errors="replace")


def kind(cursor: Cursor) -> str:
    """The kind's name in the bindings, such as `"IF_STMT"`; of a kind that they do not know its number."""
    return _kind_name(cursor._kind_id)


@functools.cache
def _kind_name(number: int) -> str:
    try:
        return str(bindings().CursorKind.from_id(number).name)
    except ValueError:
        return f"kind {number}"


def children(cursor: Cursor) -> list[Cursor]:
    """The parts of an expression or statement, without references to types and members and without attributes."""
    found: list[Cursor] = []
    unit = cursor._tu

    def visit(child: Cursor, _parent: Cursor, _data: Any) -> int:
        if not _is_side(child._kind_id):
            child._tu = unit
            found.append(child)
        return _CONTINUE

    _library().clang_visitChildren(cursor, _visitor_type()(visit), None)
    return found


def parts(cursor: Cursor, kinds: frozenset[str], without: frozenset[str] = frozenset()) -> list[Cursor]:
    """What is of some kinds in a cursor, at any depth, in the order of the text; not in those `without`."""
    found: list[Cursor] = []
    unit = cursor._tu

    def visit(child: Cursor, _parent: Cursor, _data: Any) -> int:
        kind = _kind_name(child._kind_id)
        if kind in kinds:
            child._tu = unit
            found.append(child)
        return _CONTINUE if kind in without else _RECURSE

    _library().clang_visitChildren(cursor, _visitor_type()(visit), None)
    return found


def template(cursor: Cursor) -> Cursor | None:
    """The template of which a class or function is an instance, None of any other."""
    found = _library().clang_getSpecializedCursorTemplate(cursor)
    found._tu = cursor._tu
    return None if found._kind_id in _INVALID else found


@functools.cache
def _visitor_type() -> Any:
    cursor = bindings().Cursor
    return ctypes.CFUNCTYPE(ctypes.c_int, cursor, cursor, ctypes.c_void_p)


@functools.cache
def _is_side(number: int) -> bool:
    """True if cursors of a kind are no parts of the program's text, but tell more of what they are in."""
    return _kind_name(number).endswith(("_REF", "_ATTR"))


def begins_with(cursor: Cursor, part: Cursor) -> bool:
    """True if a part's first token is that of the whole."""
    return bool(cursor.extent.begin_int_data == part.extent.begin_int_data)


def before(cursor: Cursor, part: Cursor) -> list[str]:
    """The tokens of a cursor that stand before a part of it."""
    module = bindings()
    extent = module.SourceRange.from_locations(cursor.extent.start, part.extent.start)
    return [t.spelling for t in module.TokenGroup.get_tokens(cursor._tu, extent)][:-1]


def key(cursor: Cursor) -> int:
    """What two cursors of one declaration have in common."""
    return int(cursor.canonical.data[0] or 0)


def printed(cursor: Cursor, head: bool = False) -> str:
    """A declaration as clang prints it, macros replaced; `head` leaves a function's body out."""
    library = _library()
    policy = library.clang_getCursorPrintingPolicy(cursor)
    library.clang_PrintingPolicy_setProperty(policy, _TERSE_OUTPUT, int(head))
    text = _text(library.clang_getCursorPrettyPrinted(cursor, policy))
    library.clang_PrintingPolicy_dispose(policy)
    return text


def evaluated(cursor: Cursor) -> int | float | None:
    """The value of a constant expression of numbers, None of any other."""
    library = _library()
    result = library.clang_Cursor_Evaluate(cursor)
    if not result:
        return None
    try:
        match library.clang_EvalResult_getKind(result):
            case 1 if library.clang_EvalResult_isUnsignedInt(result):
                return int(library.clang_EvalResult_getAsUnsigned(result))
            case 1:
                return int(library.clang_EvalResult_getAsLongLong(result))
            case 2:
                return float(library.clang_EvalResult_getAsDouble(result))
        return None
    finally:
        library.clang_EvalResult_dispose(result)


def initializer(cursor: Cursor) -> Cursor | None:
    """The first value that a variable's declaration gives it."""
    found = _library().clang_Cursor_getVarDeclInitializer(cursor)
    found._tu = cursor._tu
    return None if found._kind_id in _INVALID else found


# libclang's numbers of operators, from 1 on.
_BINARY = ".* ->* * / % + - << >> <=> < > <= >= == != & ^ | && || = *= /= %= += -= <<= >>= &= ^= |= ,"
_UNARY = "p++ p-- ++ -- & * + - ~ ! __real __imag __extension__ co_await"


def binary_operator(cursor: Cursor) -> str:
    """The operator between two operands, such as `"+="`; empty where there is none."""
    number = _library().clang_getCursorBinaryOperatorKind(cursor)
    return _BINARY.split()[number - 1] if number else ""


def unary_operator(cursor: Cursor) -> str:
    """The operator of one operand; `"p++"` and `"p--"` stand behind it. Empty where there is none."""
    number = _library().clang_getCursorUnaryOperatorKind(cursor)
    return _UNARY.split()[number - 1] if number else ""


def value_type(of: Any, cursor: Cursor) -> Any:
    """The `T` of `_Atomic(T)`."""
    found = _library().clang_Type_getValueType(of)
    found._tu = cursor._tu
    return found


def place(cursor: Cursor, files: dict[int | None, str] | None = None) -> SourceLocation:
    """Where a cursor is in the file: of a macro's argument where it is written, of the rest where the macro is used.

    `files` keeps the names of files between calls for one translation unit.
    """
    library = _library()
    file, line, column = ctypes.c_void_p(), ctypes.c_uint(), ctypes.c_uint()
    location = library.clang_getCursorLocation(cursor)
    library.clang_getFileLocation(location, ctypes.byref(file), ctypes.byref(line), ctypes.byref(column), None)
    name = files.get(file.value) if files is not None else None
    if name is None:
        name = _text(library.clang_getFileName(file)) if file else ""
        if files is not None:
            files[file.value] = name
    return SourceLocation(name, line.value, column.value)


@dataclasses.dataclass(frozen=True)
class Errors:
    """What clang found wrong: how many errors, and the first of them as text."""

    count: int
    shown: tuple[str, ...]

    def exception(self, name: str) -> KernelError:
        """The errors of a file, at most ten, each with its line, a caret and its notes."""
        more = self.count - len(self.shown)
        tail = (f"and {counted(more, 'more error')}",) if more else ()
        return KernelError("\n".join([f"{name} does not compile, {counted(self.count, 'error')}:", *self.shown, *tail]))


def parse(
    name: str, text: str | None, arguments: Sequence[str], others: Sequence[tuple[str, str]] = ()
) -> tuple[Unit, Errors]:
    """A file, or a text under a made-up name, and the errors that clang found in it; `others` are more such texts."""
    index = bindings().Index.create()
    unsaved = [*([] if text is None else [(name, text)]), *others] or None
    try:
        unit = index.parse(name, args=list(arguments), unsaved_files=unsaved)
    except bindings().TranslationUnitLoadError:
        raise KernelError(
            f"libclang gave up on {name} without saying what is wrong: either it takes none of the options "
            f"{' '.join(arguments)}, or this process had no memory left (it needs some 100 MiB); try the options one "
            "by one, or a fresh process"
        ) from None
    found = [d for d in unit.diagnostics if d.severity >= _ERROR]
    return unit, Errors(len(found), tuple(_shown(d) for d in found[:_MOST_ERRORS]))  # shown while the unit is there


def _shown(diagnostic: Any, above: str = "") -> str:
    """A diagnostic with its line and notes; the line is left out where it stands `above` already."""
    severity = {2: "warning", 3: "error", 4: "fatal error"}.get(diagnostic.severity, "note")
    location = diagnostic.location
    if location.file is None:
        return f"{severity}: {diagnostic.spelling}"
    file = location.file.name
    where = f"{from_here(str(file))}:{location.line}:{location.column}"
    lines = [f"{where}: {severity}: {foreign.advised(str(diagnostic.spelling), foreign.OPENCL)}"]
    source = linecache.getline(file, location.line).rstrip("\n")
    if source.strip() and where != above:
        indent = "".join(c if c == "\t" else " " for c in source[: location.column - 1])
        lines += [f"    {source}", f"    {indent}^"]
    notes = [d for d in diagnostic.children if d.location.file is None or not of_ours(d.location.file.name)]
    lines += [_shown(d, where) for d in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        lines.append(f"and {len(notes) - _MOST_NOTES} more notes")
    return "\n".join(lines)


def of_ours(file: str) -> bool:
    """True if a file is the base header, which the user does not know."""
    return os.path.dirname(file) == HEADERS

"""Signatures: the kernels of an OpenCL C file with what the survey has to know of them, by libclang."""

import ctypes
import dataclasses
import pathlib
from collections.abc import Iterator, Sequence
from typing import Any

import clang.cindex as ci

SPACES = ("__global", "__local", "__constant")
OPAQUE = ("image", "sampler_t", "pipe", "queue_t", "event_t", "reserve_id_t")
_LOOKUPS = ("get_global_id", "get_local_id", "get_group_id", "get_global_size", "get_local_size", "get_num_groups")
_SCALARS = {
    ci.TypeKind.BOOL: "bool",
    ci.TypeKind.CHAR_S: "char",
    ci.TypeKind.SCHAR: "char",
    ci.TypeKind.UCHAR: "uchar",
    ci.TypeKind.CHAR_U: "uchar",
    ci.TypeKind.SHORT: "short",
    ci.TypeKind.USHORT: "ushort",
    ci.TypeKind.INT: "int",
    ci.TypeKind.UINT: "uint",
    ci.TypeKind.LONG: "long",
    ci.TypeKind.ULONG: "ulong",
    ci.TypeKind.LONGLONG: "long",
    ci.TypeKind.ULONGLONG: "ulong",
    ci.TypeKind.HALF: "half",
    ci.TypeKind.FLOAT: "float",
    ci.TypeKind.DOUBLE: "double",
    ci.TypeKind.ENUM: "int",
    ci.TypeKind.VOID: "uchar",
}


class Unparsed(ValueError):
    """A source with errors of syntax or types; the message is clang's first."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes:
      space: `"global"`, `"constant"`, `"local"`, `""` for a value, or `"opaque"` for an image or the like.
      element: its type, or what it points to, as arguments.py names types; the spelling of an opaque one.
      size: of the element, in bytes.
    """

    name: str
    space: str
    element: str
    size: int


@dataclasses.dataclass(frozen=True)
class Signature:
    """A kernel: its parameters, how many dimensions it asks for, and the work-group size that it requires, or ()."""

    name: str
    parameters: tuple[Parameter, ...]
    dimensions: int
    required: tuple[int, ...]


def signatures(path: pathlib.Path, options: Sequence[str], std: str, headers: pathlib.Path) -> list[Signature]:
    """The kernels of a file.

    Args:
      headers: a folder with the header opencl.h.

    Raises:
      Unparsed: where clang finds errors.
    """
    unit = parsed(path, options, std, headers)
    functions = {c.spelling: c for c in unit.cursor.get_children() if kind(c) == ci.CursorKind.FUNCTION_DECL}
    defined = {name: c.get_definition() or c for name, c in functions.items()}
    return [signature(c, defined) for c in defined.values() if is_kernel(c)]


def parsed(path: pathlib.Path, options: Sequence[str], std: str, headers: pathlib.Path) -> ci.TranslationUnit:
    base = ["-x", "cl", f"-cl-std={std}", "-target", "spir64", "-cl-no-stdinc", "-Xclang", "-fdeclare-opencl-builtins"]
    base += ["-include", str(headers / "opencl.h"), "-Wno-everything", "-Xclang", "-cl-ext=+all"]
    unit = ci.Index.create().parse(str(path), args=[*base, *options])
    errors = [d for d in unit.diagnostics if d.severity >= ci.Diagnostic.Error]
    if errors:
        raise Unparsed(f"{path}:{errors[0].location.line}: {errors[0].spelling}")
    return unit


def kind(cursor: Any) -> Any:
    """The kind, None for one that the bindings do not know."""
    try:
        return cursor.kind
    except ValueError:
        return None


def is_kernel(cursor: Any) -> bool:
    if not cursor.is_definition():
        return False
    return pretty(cursor).split("{", 1)[0].find("kernel ") >= 0


def pretty(cursor: Any) -> str:
    policy = ci.conf.lib.clang_getCursorPrintingPolicy
    policy.restype, policy.argtypes = ctypes.c_void_p, [ci.Cursor]
    show = ci.conf.lib.clang_getCursorPrettyPrinted
    show.restype, show.argtypes = ci._CXString, [ci.Cursor, ctypes.c_void_p]
    text = show(cursor, policy(cursor))
    return text if isinstance(text, str) else ci.conf.lib.clang_getCString(text) or ""


def signature(cursor: Any, functions: dict[str, Any]) -> Signature:
    parameters = tuple(parameter(p) for p in cursor.get_arguments())
    head = pretty(cursor).split("{", 1)[0]
    required: tuple[int, ...] = ()
    if "reqd_work_group_size(" in head:
        inner = head.split("reqd_work_group_size(", 1)[1].split(")", 1)[0]
        required = tuple(int(x) for x in inner.split(","))
    return Signature(cursor.spelling, parameters, dimensions(cursor, functions), required)


def parameter(cursor: Any) -> Parameter:
    whole = cursor.type.get_canonical()
    if whole.kind in (ci.TypeKind.POINTER, ci.TypeKind.INCOMPLETEARRAY, ci.TypeKind.CONSTANTARRAY):
        pointed = whole.get_pointee() if whole.kind == ci.TypeKind.POINTER else whole.element_type
        pointee = pointed.get_canonical()
        space = next((s for s in SPACES if s in pointee.spelling or s in cursor.type.spelling), "__global")
        return Parameter(cursor.spelling, space[2:], element(pointee), max(pointee.get_size(), 1))
    if any(word in whole.spelling for word in OPAQUE):
        return Parameter(cursor.spelling, "opaque", whole.spelling, 0)
    return Parameter(cursor.spelling, "", element(whole), max(whole.get_size(), 1))


def element(whole: Any) -> str:
    """The name of a type in a description."""
    whole = whole.get_canonical()
    if whole.kind in _SCALARS:
        return _SCALARS[whole.kind]
    if whole.kind in (ci.TypeKind.VECTOR, ci.TypeKind.EXTVECTOR):
        return f"{element(whole.element_type)}{whole.element_count}"
    if whole.kind == ci.TypeKind.CONSTANTARRAY:
        return element(whole.element_type)
    if whole.kind == ci.TypeKind.RECORD:
        return record(whole)
    return "uint" if whole.kind == ci.TypeKind.POINTER else "uchar"  # a pointer in a record, as xeemu lays it out


def record(whole: Any) -> str:
    parts = []
    for field in whole.get_fields():
        inner, shape = field.type.get_canonical(), ""
        while inner.kind == ci.TypeKind.CONSTANTARRAY:
            shape += f"[{inner.element_count}]"
            inner = inner.element_type.get_canonical()
        parts.append(f"{element(inner)} {field.spelling}{shape}")
    declaration = whole.get_declaration()
    if declaration.kind == ci.CursorKind.UNION_DECL:
        return f"{{uchar bytes[{whole.get_size()}]}}"
    packed = any(kind(c) == ci.CursorKind.PACKED_ATTR for c in declaration.get_children())
    return "{" + ",".join([*["packed"] * packed, *parts]) + "}"


def dimensions(cursor: Any, functions: dict[str, Any]) -> int:
    """How many dimensions a kernel and what it calls ask for."""
    found, seen, waiting = 1, set(), [cursor]
    while waiting:
        for call in calls(waiting.pop()):
            name = call.spelling
            if name in _LOOKUPS:
                found = max(found, 1 + min(number(next(call.get_arguments(), None)), 2))
            elif name in functions and name not in seen:
                seen.add(name)
                waiting.append(functions[name])
    return found


def calls(cursor: Any) -> Iterator[Any]:
    return (c for c in cursor.walk_preorder() if kind(c) == ci.CursorKind.CALL_EXPR)


def number(cursor: Any) -> int:
    """The value of a constant expression; 0 of others."""
    if cursor is None:
        return 0
    lib = ci.conf.lib
    lib.clang_Cursor_Evaluate.restype, lib.clang_Cursor_Evaluate.argtypes = ctypes.c_void_p, [ci.Cursor]
    lib.clang_EvalResult_getAsInt.restype, lib.clang_EvalResult_getAsInt.argtypes = ctypes.c_int, [ctypes.c_void_p]
    lib.clang_EvalResult_dispose.argtypes = [ctypes.c_void_p]
    result = lib.clang_Cursor_Evaluate(cursor)
    if not result:
        return 0
    value = int(lib.clang_EvalResult_getAsInt(result))
    lib.clang_EvalResult_dispose(result)
    return max(value, 0)

"""Site: the place in the user's file that an operation of a kernel comes from."""

import ast
import dataclasses
import functools
import itertools
import linecache
import os
import re
import sys
from collections.abc import Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any

import jax
import numpy as np

from xeemu.errors import KernelError
from xeemu.ir.program import Op
from xeemu.language import assignments
from xeemu.language.assignments import Place
from xeemu.language.places import full_place

# Frames of these directories are never the user's; the collection of kernels inside the package is a user of it.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_KERNELS = os.path.join(_PACKAGE, "kernels")
_BESIDE_JAX = os.path.dirname(os.path.dirname(os.path.abspath(str(jax.__file__))))
_LIBRARIES = (
    *(os.path.dirname(os.path.abspath(str(library.__file__))) + os.sep for library in (jax, np)),
    os.path.join(_BESIDE_JAX, "opt_einsum", ""),  # which JAX asks to read the subscripts of jnp.einsum
)


@dataclasses.dataclass(frozen=True)
class Site:
    """One line of the user's source.

    Attributes:
      file: path as Python knows it (a notebook cell has a made-up one).
      line: 1-based; 0 if it is not known.
      source: the line's text without its indentation; empty if it is not at hand.
    """

    file: str
    line: int
    source: str

    @property
    def place(self) -> str:
        return full_place(self.file, self.line)

    def __str__(self) -> str:
        return f"{self.place}: {self.source}" if self.source else self.place


UNKNOWN = Site("<unknown>", 0, "")


def of_op(op: Op) -> Site:
    """The user's line that bound `op`, also inside loops, nested jit and device functions."""
    traceback = op.traceback
    if traceback is None:
        return UNKNOWN
    codes, offsets = traceback.raw_frames()
    for code, offset in zip(codes, offsets, strict=True):
        if is_users(code.co_filename):
            return _site(code.co_filename, _line(code, offset))
    return UNKNOWN


def is_of_user(op: Op) -> bool:
    """True if a line of the user's bound `op`; what a library does in a function that was traced before has none."""
    return op.traceback is not None and any(is_users(code.co_filename) for code in op.traceback.raw_frames()[0])


@dataclasses.dataclass(frozen=True)
class Origin:
    """What the user's line says of an operation that it binds.

    Attributes:
      site: the line.
      name: the variable that what is computed is assigned to, else the text of the expression; None if that cannot be
        told, as of expressions in another language than Python.
      code, offset: the function, and how far the line has come in it.
      turn: of a loop that another language has written out on one line; 0 outside such.
    """

    site: Site
    name: str | None
    code: CodeType
    offset: int
    turn: int = 0

    def begins_anew(self, last: "Origin | None") -> bool:
        """True if the line has been left, or begun again, after something else that is of it perhaps."""
        if last is None or self.site != last.site or self.turn != last.turn:
            return True
        return self.code is last.code and self.offset < last.offset


def origin_of(op: Op) -> Origin | None:
    """Where the user's line binds `op`, also inside loops, nested jit and device functions; None if nowhere."""
    traceback = op.traceback
    codes, offsets = traceback.raw_frames() if traceback is not None else ((), ())
    for code, offset in zip(codes, offsets, strict=True):
        if is_users(code.co_filename):
            place: Place = tuple(next(itertools.islice(code.co_positions(), offset // 2, None), ()))
            is_python = code.co_varnames != CALLER and place and None not in place
            name, turn = (assignments.expression_at(code.co_filename, place), 0) if is_python else _marks_of(code)
            return Origin(_site(code.co_filename, _line(code, offset)), name, code, offset, turn)
    return None


def calls_of_op(op: Op) -> list[tuple[CodeType, int]]:
    """The user's functions that bound `op`, each with its line: the outermost first."""
    traceback = op.traceback
    codes, offsets = traceback.raw_frames() if traceback is not None else ((), ())
    frames = zip(codes, offsets, strict=True)
    return [(code, _line(code, offset)) for code, offset in frames if is_users(code.co_filename)][::-1]


def callers(op: Op, kernel: CodeType) -> tuple[Site, ...]:
    """The lines that called the functions in which an operation was bound, the innermost first.

    Args:
      op: the operation.
      kernel: the code of the kernel, whose callers are left out.
    """
    frames = calls_of_op(op)
    start = max((k for k, (code, _) in enumerate(frames) if code is kernel), default=-1)
    inner = frames[start + 1 :][::-1]
    changed = [frame for frame, within in zip(inner[1:], inner, strict=False) if frame[0].co_name != within[0].co_name]
    return tuple(_site(code.co_filename, line) for code, line in changed)


def between(first: Op, second: Op) -> tuple[int, int] | None:
    """The lines of one function that lead to two operations, if it comes to the first one's first; else None."""
    for (code, line), (other, later) in zip(calls_of_op(first), calls_of_op(second), strict=False):
        if line != later or not _same_function(code, other):
            return (line, later) if _same_function(code, other) and line < later else None
    return None


def _same_function(code: CodeType, other: CodeType) -> bool:
    """True if two codes are of one function; of one in another language than Python, each line has its own."""
    made = code.co_varnames == other.co_varnames == CALLER and code.co_filename == other.co_filename
    return code is other or (made and code.co_name == other.co_name)


CALLER = ("call",)
"""The variables of the functions that stand for lines of another language."""


def marks(code: CodeType, variable: str, turn: int) -> tuple[Any, ...]:
    """The constants of such a function, which tell what is assigned to and the turn of a loop, see `Origin`."""
    return (*code.co_consts[:1], variable, turn)


def _marks_of(code: CodeType) -> tuple[str | None, int]:
    """What `marks` has told; nothing of other functions."""
    if code.co_varnames != CALLER or len(code.co_consts) != len(marks(code, "", 0)):
        return None, 0
    _, variable, turn = code.co_consts
    return variable or None, turn


def of_caller() -> Site:
    """The user's line that is being executed: the innermost frame outside xeemu and JAX."""
    return of_frame(_users_frame())


def of_frame(frame: FrameType | None) -> Site:
    """The line that a frame executes."""
    return _site(frame.f_code.co_filename, frame.f_lineno) if frame else UNKNOWN


def _users_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def of_exception(error: BaseException, code: CodeType) -> Site:
    """The innermost line of the user that `error` passed through, at or below the function whose code is `code`."""
    entry = raised_at(error, code)
    return _site(entry.tb_frame.f_code.co_filename, entry.tb_lineno) if entry else UNKNOWN


def raised_at(error: BaseException, code: CodeType) -> TracebackType | None:
    """The traceback's entry of the line that `of_exception` gives."""
    found, inside = None, False
    traceback = error.__traceback__
    while traceback is not None:
        called = traceback.tb_frame.f_code
        inside = inside or called is code
        if inside and is_users(called.co_filename):
            found = traceback
        traceback = traceback.tb_next
    return found


def of_raised(error: BaseException) -> Site:
    """The line that raised `error`."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return UNKNOWN if traceback is None else _site(traceback.tb_frame.f_code.co_filename, traceback.tb_lineno)


def raised_by_user(error: BaseException) -> bool:
    """True if the line that raised `error` is the user's own, not one of a library that it called."""
    if any(_FILTERED in note for note in getattr(error, "__notes__", ())):
        return False  # who raised it is not known
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and is_users(traceback.tb_frame.f_code.co_filename)


def forget_filtering(error: BaseException) -> None:
    """Takes away the note by which JAX says that it has removed frames: it tells users nothing of their error."""
    if (notes := getattr(error, "__notes__", None)) is not None:
        notes[:] = [note for note in notes if _FILTERED not in note]


# JAX says so where it has taken its own frames out of a traceback.
_FILTERED = "JAX has removed its internal frames"


def called(x: object) -> str:
    """What a message calls a value: an array, whatever its class, or its type."""
    name = "array" if isinstance(x, jax.Array) else type(x).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def of_function(code: CodeType) -> Site:
    """The line on which a function is defined, below its decorators."""
    first = code.co_firstlineno
    body = min((line for _, _, line in code.co_lines() if line and line > first), default=first)
    lines = range(first, body + 1)
    defined = (n for n in lines if linecache.getline(code.co_filename, n).lstrip().startswith(("def ", "async def ")))
    return _site(code.co_filename, next(defined, first))


def assigned_name(site: Site, methods: Sequence[str] = ("local", "private")) -> str | None:
    """The variable that a line assigns to, as `tile = wg.local(...)` does to `tile`; None where it may be another.

    Args:
      site: the line.
      methods: of several statements on it, the one that calls one of these methods is meant.
    """
    found = [s for s in assignments.statements_of(site.file) if site.line in _lines_of(s)]
    meant = found if len(found) == 1 else [s for s in found if any(_calls(node, methods) for node in ast.walk(s))]
    if len(meant) != 1 or not isinstance(meant[0], ast.Assign | ast.AnnAssign):
        return None
    target = meant[0].targets[0] if isinstance(meant[0], ast.Assign) else meant[0].target
    return target.id if isinstance(target, ast.Name) else None


def index_in(site: Site, memory: str, what: str, is_python: bool) -> tuple[str, ...] | None:
    """The index with which a line accesses a memory, by its components as texts; None if it has none or several.

    Args:
      site: the line.
      memory: the name of the memory.
      what: `load`, `store` or an atomic operation.
      is_python: the language of the line; of another one only an index of one component is found.
    """
    if not is_python:
        found = set(re.findall(rf"\b{re.escape(memory)}\s*\[([\w\s+\-*/%.()]+)\](?!\s*\[)", site.source))
        return (found.pop().strip(),) if len(found) == 1 else None
    statements = (s for s in assignments.statements_of(site.file) if site.line in _lines_of(s))
    nodes = (node for s in statements for node in ast.walk(s))
    texts = {_texts(index) for node in nodes if (index := _index(node, memory, what.split()[0])) is not None}
    return texts.pop() if len(texts) == 1 else None


def _index(node: ast.AST, memory: str, what: str) -> ast.expr | None:
    """The index of a load `m[i]` or `m.load(i)`, of a store `m.at[i]`, or of an atomic operation `m.atomic[i]`."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "load" and node.args:
        of: ast.expr = node.func.value
        index, kind = node.args[0], "load"
    elif isinstance(node, ast.Subscript):
        of, index, kind = node.value, node.slice, "load"
        of = of.func if isinstance(of, ast.Call) else of
        if isinstance(of, ast.Attribute):
            kind = {"at": "store", "atomic": "atomic"}.get(of.attr, "")
            of = of.value
    else:
        return None
    return index if kind == what and isinstance(of, ast.Name) and of.id == memory else None


def _texts(index: ast.expr) -> tuple[str, ...]:
    """The components of an index, each as it may stand in a comparison."""
    plain = (ast.Name, ast.BinOp, ast.Subscript, ast.Call, ast.Attribute, ast.Constant)
    bits = (ast.BitAnd, ast.BitOr, ast.BitXor)
    parts = assignments.parts_of(index)
    loose = [not isinstance(p, plain) or (isinstance(p, ast.BinOp) and isinstance(p.op, bits)) for p in parts]
    return tuple(f"({ast.unparse(p)})" if more else ast.unparse(p) for p, more in zip(parts, loose, strict=True))


def mask_around(site: Site, memory: str) -> dict[str, str] | None:
    """What masks a store or atomic operation of which a part is loaded by `memory[index]`, which it does not mask.

    Args:
      site: the line.
      memory: the name of the memory loaded from.

    Returns:
      The `method` that has the mask, the `mask`, and the `index` of the load (`i` where there are several); None if
      the line has no such operation.
    """
    found = (s for s in assignments.statements_of(site.file) if site.line in _lines_of(s))
    for call in (node for s in found for node in ast.walk(s) if isinstance(node, ast.Call)):
        masks = [k.value for k in call.keywords if k.arg == "where"]
        if not masks or not isinstance(call.func, ast.Attribute) or not isinstance(call.func.value, ast.Subscript):
            continue
        parts = [call.func, *call.args, *(k.value for k in call.keywords if k.arg != "where")]
        loads = [n for part in parts for n in ast.walk(part) if isinstance(n, ast.Subscript)]
        indices = {ast.unparse(n.slice) for n in loads if isinstance(n.value, ast.Name) and n.value.id == memory}
        if indices:
            index = min(indices) if len(indices) == 1 else "i"
            return {"method": call.func.attr, "mask": ast.unparse(masks[0]), "index": index}
    return None


def name_for_caller() -> str | None:
    """The variable that gets what the user's line is calling, also one of several: `a, b = wg.local(...), ...`."""
    frame = _users_frame()
    if frame is None:
        return None
    call = _called_at(frame)
    statements = assignments.statements_of(frame.f_code.co_filename)
    for one in (s for s in statements if frame.f_lineno in _lines_of(s) and isinstance(s, ast.Assign)):
        if found := assignments.given(one.targets[0], one.value, call):
            return found
    return assigned_name(of_caller())


def _called_at(frame: FrameType) -> Place:
    """First and last line and column of the call that a frame is carrying out."""
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    return tuple(next(positions, ()))


def _lines_of(statement: ast.stmt) -> range:
    return range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _calls(node: ast.AST, methods: Sequence[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods


def _line(code: CodeType, offset: int) -> int:
    lines, number = _lines(code, code.co_linetable), offset // 2
    return lines[number] if number < len(lines) else code.co_firstlineno


@functools.lru_cache(maxsize=512)
def _lines(code: CodeType, _table: bytes) -> Sequence[int]:
    """The line of each instruction, found once for all operations. Codes may be equal whose tables of lines are not."""
    return [line or code.co_firstlineno for line, *_ in code.co_positions()]


@functools.lru_cache(maxsize=4096)
def is_users(filename: str) -> bool:
    """True if a file is a user's: none of xeemu, JAX, what JAX stands on, or NumPy."""
    if filename.startswith("<frozen"):
        return False
    path = os.path.abspath(filename)
    if path.startswith(_KERNELS + os.sep):
        return True
    return not path.startswith((_PACKAGE + os.sep, *_LIBRARIES))


def _site(file: str, line: int) -> Site:
    return Site(file, line, linecache.getline(file, line).strip())


def kernel_error(message: str, site: Site | None = None) -> KernelError:
    """An error of the kernel language that names the user's line (by default the one being executed)."""
    return KernelError(f"{message}\n  at {site or of_caller()}")

"""The readable text of a program: its memories, then its operations with the kernel's lines."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.ir import inlining, naming, printer
from xeemu.ir.program import Op, Region, Value
from xeemu.language import source
from xeemu.language.linearity import Allocation
from xeemu.language.places import file_name
from xeemu.pages import notebook
from xeemu.pages.notebook import Columns
from xeemu.plurals import counted

if TYPE_CHECKING:
    from xeemu.language.program import Program

_INDENT = "  "
_MOST_BYTES = 32
_LONGEST_LINE = 60


def of_program(program: "Program") -> str:
    """The whole program as text, one operation per line, at its right the line of the kernel that it comes from."""
    rows = [*_header(program), *_operations(program)]
    width = max((len(code) for code, _ in rows), default=0)
    return "\n".join(f"{code:{width}}  {place}".rstrip() for code, place in rows)


def fragment(program: "Program") -> str:
    """The whole program in a notebook, as a table; as text where Jinja is not installed."""
    (title, at), (sizes, _), *memories = _header(program)
    rows = list(_operations(program))
    parts = (
        Columns(("memory",), [(code.strip(),) for code, _ in memories], code=True),
        Columns(("operation", "line"), [(code, place.removeprefix("# ")) for code, place in rows], text=2, code=True),
    )
    return notebook.tables(title, parts, of_program(program), f"{sizes}, {os.path.basename(at.removeprefix('# '))}")


def _operations(program: "Program") -> Iterator[tuple[str, str]]:
    file, printed = program.kernel.function.__code__.co_filename, of_kernel(program)
    if not program.notes:
        return printer.rows(printed, lambda op: _place(op, file))
    notes = {new: program.notes.get(op) for new, op in zip(printed.walk(), program.body.walk(), strict=True)}
    return printer.rows(printed, lambda op: f"# {note}" if (note := notes[op]) else "")


def of_kernel(program: "Program") -> Region:
    """A traced kernel as it is printed: without calls, and with the names of its memories."""
    given = zip(program.body.inputs, program.arguments, program.kernel.parameters, strict=True)
    inputs = [Value(v.shape, v.dtype, m.name if m else "", "" if m else name) for v, m, name in given]
    return naming.named(inlining.inlined(program.body, source.is_of_user), inputs)


def _header(program: "Program") -> Iterator[tuple[str, str]]:
    g = program.geometry
    # What a front end keeps there for itself is under names that are no identifiers.
    static = ", ".join(f"{name}={of_static(value)}" for name, value in program.static if name.isidentifier())
    definition = source.of_function(program.kernel.function.__code__)
    yield f"kernel {program.kernel.name}" + (f" ({static})" if static else ""), f"# {definition.place}"
    cut = "plain range" if g.plain else f"work-group {printer.sizes(g.local_range)}, sub-group {g.sub_group_size}"
    yield f"nd-range {printer.sizes(g.global_range)}, {cut}, {counted(g.groups, 'group')}", ""
    for memory in [*filter(None, program.arguments), *program.allocations]:
        yield _INDENT + _described(program, memory), ""
    if program.kernel.interface is not None:
        yield from ((f"{_INDENT}{text}", "") for text in _scalars(program))


def _scalars(program: "Program") -> Iterator[str]:
    """What a kernel of another language is given by value: which were traced, and of which the values are known."""
    for v, memory, name in zip(program.body.inputs, program.arguments, program.kernel.parameters, strict=True):
        if memory is None:
            yield f"scalar {name}: {printer.type_name(v.dtype)}, traced"
    for name, value in program.static:
        if isinstance(value, np.generic):
            yield f"scalar {name}: {printer.type_name(value.dtype)}, static, {value}"


def of_static(value: Any) -> str:
    """The text of a static value; of a number of NumPy the number, of a large struct its size."""
    if isinstance(value, bytes) and len(value) > _MOST_BYTES:
        return f"{len(value)} bytes"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _described(program: "Program", memory: Allocation) -> str:
    written = "" if memory in program.written else ", never written"
    each = " for each work-item" if memory.space == "private" else ""
    size = f"{memory.nbytes} B{each}"
    elements = f"{printer.type_name(memory.dtype)}[{printer.sizes(memory.shape, ', ')}]"
    return f"{memory.space} {memory.name}: {elements}, {size}{written}"


def _place(op: Op, file: str) -> str:
    """The line of the kernel, with its file where that is not the kernel's own."""
    site = source.of_op(op)
    if not site.line:
        return ""
    text = site.source if len(site.source) <= _LONGEST_LINE else site.source[: _LONGEST_LINE - 3] + "..."
    return f"# {'' if site.file == file else file_name(site.file) + ':'}{site.line}: {text}"

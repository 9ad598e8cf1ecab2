"""The readable text of a program: its memories, then its operations with the kernel's lines."""

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.language import divergence, jaxprs, primitives, source
from xeemu.language.jaxprs import Atom, Body
from xeemu.language.linearity import Allocation
from xeemu.language.program import Program

_INDENT = "  "
_MOST_BYTES = 32
_LONGEST_LINE = 60
_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "rem": "%",
    "and": "&",
    "or": "|",
    "xor": "^",
    "shift_left": "<<",
    "shift_right_logical": ">>",
    "shift_right_arithmetic": ">>",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
_TYPES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}


def of_program(program: Program) -> str:
    """The whole program as text, one operation per line, at its right the line of the kernel that it comes from."""
    rows = [*_header(program), *_Writer(program).rows()]
    width = max((len(code) for code, _ in rows), default=0)
    return "\n".join(f"{code:{width}}  {place}".rstrip() for code, place in rows)


def _header(program: Program) -> Iterator[tuple[str, str]]:
    g = program.geometry
    static = ", ".join(f"{name}={_known(value)}" for name, value in program.static)
    definition = source.of_function(program.kernel.function.__code__)
    yield f"kernel {program.kernel.name}" + (f" ({static})" if static else ""), f"# {definition.file}:{definition.line}"
    cut = "plain range" if g.plain else f"work-group {_sizes(g.local_range)}, sub-group {g.sub_group_size}"
    yield f"nd-range {_sizes(g.global_range)}, {cut}, {g.groups} groups", ""
    for memory in [*filter(None, program.arguments), *program.allocations]:
        yield _INDENT + _described(program, memory), ""
    if program.kernel.interface is not None:
        yield from ((f"{_INDENT}{text}", "") for text in _scalars(program))


def _scalars(program: Program) -> Iterator[str]:
    """What a kernel of another language is given by value: which were traced, and of which the values are known."""
    for v, memory, name in zip(program.body.invars, program.arguments, program.kernel.parameters, strict=True):
        if memory is None:
            yield f"scalar {name}: {_type(v.aval.dtype)}, traced"
    for name, value in program.static:
        if isinstance(value, np.generic):
            yield f"scalar {name}: {_type(value.dtype)}, static, {value}"


def _known(value: Any) -> str:
    """The text of a static value; of a number of NumPy the number, of a large struct its size."""
    if isinstance(value, bytes) and len(value) > _MOST_BYTES:
        return f"{len(value)} bytes"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _described(program: Program, memory: Allocation) -> str:
    written = "" if memory in program.written else ", never written"
    each = " for each work-item" if memory.space == "private" else ""
    size = f"{memory.nbytes} B{each}"
    return f"{memory.space} {memory.name}: {_type(memory.dtype)}[{_sizes(memory.shape, ', ')}], {size}{written}"


def _sizes(sizes: tuple[int, ...], separator: str = " x ") -> str:
    return separator.join(map(str, sizes))


def _type(dtype: Any) -> str:
    name = np.dtype(dtype).name
    letters = name.rstrip("0123456789")
    return _TYPES.get(letters, letters) + name[len(letters) :]


@dataclasses.dataclass
class _Writer:
    """Names the variables of a program and writes its operations."""

    program: Program
    _values: int = 0
    # What says whether there are work-items of a mask, with the mask's name.
    _some: dict[Any, str] = dataclasses.field(default_factory=dict)

    def rows(self) -> Iterator[tuple[str, str]]:
        names: dict[Any, str] = {}
        for v, memory, parameter in zip(
            self.program.body.invars, self.program.arguments, self.program.kernel.parameters, strict=True
        ):
            names[v] = memory.name if memory else parameter
        yield from self._body(self.program.body, names, "")
        returned = ", ".join(names[v] for v in self.program.body.outvars if not jaxprs.is_literal(v))
        yield f"return {returned}", ""

    def _body(self, body: Body, names: dict[Any, str], indent: str) -> Iterator[tuple[str, str]]:
        for v, array in body.constants:
            names[v] = self._fresh()
            yield f"{indent}{names[v]} = constant {self._summary(np.asarray(array))}", ""
        for eqn in body.eqns:
            yield from self._equation(eqn, names, indent)

    def _equation(self, eqn: jex_core.JaxprEqn, names: dict[Any, str], indent: str) -> Iterator[tuple[str, str]]:
        place = _place(eqn, self.program.kernel.function.__code__.co_filename)
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                yield from self._call(eqn, body, names, indent)
            case jaxprs.Scan() as scan:
                yield from self._scan(eqn, scan, names, indent, place)
            case jaxprs.While() as loop:
                yield from self._while(eqn, loop, names, indent, place)
            case jaxprs.Cond(branches):
                yield from self._cond(eqn, branches, names, indent, place)
            case None:
                if not self._is_some(eqn, names):
                    yield indent + self._operation(eqn, names), place

    def _is_some(self, eqn: jex_core.JaxprEqn, names: dict[Any, str]) -> bool:
        """Whether an equation says whether there are work-items of a mask; it needs no line of its own."""
        if eqn.primitive is primitives.uniform_p and eqn.params["kind"] == "some":
            self._some[eqn.outvars[0]] = self._name(eqn.invars[0], names)
        elif eqn.primitive.name == "convert_element_type" and self._says_some(eqn.invars[0]):
            self._some[eqn.outvars[0]] = self._some[eqn.invars[0]]
        else:
            return False
        names[eqn.outvars[0]] = f"some of {self._some[eqn.outvars[0]]}"
        return True

    def _says_some(self, atom: Atom) -> bool:
        return not jaxprs.is_literal(atom) and atom in self._some

    def _call(
        self, eqn: jex_core.JaxprEqn, body: Body, names: dict[Any, str], indent: str
    ) -> Iterator[tuple[str, str]]:
        inner = dict(zip(body.invars, (self._name(a, names) for a in eqn.invars), strict=True))
        yield from self._body(body, inner, indent)
        for v, out in zip(eqn.outvars, body.outvars, strict=True):
            names[v] = self._name(out, inner)

    def _scan(
        self, eqn: jex_core.JaxprEqn, scan: jaxprs.Scan, names: dict[Any, str], indent: str, place: str
    ) -> Iterator[tuple[str, str]]:
        given = [self._name(a, names) for a in eqn.invars]
        inner = dict(zip(scan.body.invars[: scan.consts], given[: scan.consts], strict=True))
        carries = list(zip(scan.body.invars[scan.consts :], given[scan.consts :], strict=True))
        starts = list(self._carried(carries[: scan.carries], eqn.outvars, inner, names))
        elements = []
        for v, whole in carries[scan.carries :]:
            inner[v] = self._fresh()
            elements.append(f"{inner[v]} in {whole}")
        order = " backwards" if scan.reverse else ""
        parts = [f"loop {scan.length} times{order}", *elements, *starts]
        yield f"{indent}{', '.join(parts)}:", place
        yield from self._body(scan.body, inner, indent + _INDENT)
        yield from self._next(scan.body.outvars[: scan.carries], scan.body.invars[scan.consts :], inner, indent)
        for v, out in zip(eqn.outvars[scan.carries :], scan.body.outvars[scan.carries :], strict=True):
            names[v] = self._fresh()
            yield f"{indent}{names[v]} = each {self._name(out, inner)}", ""

    def _while(
        self, eqn: jex_core.JaxprEqn, loop: jaxprs.While, names: dict[Any, str], indent: str, place: str
    ) -> Iterator[tuple[str, str]]:
        given = [self._name(a, names) for a in eqn.invars]
        first = loop.predicate_consts + loop.body_consts
        inner = dict(zip(loop.body.invars[: loop.body_consts], given[loop.predicate_consts : first], strict=True))
        carries = list(zip(loop.body.invars[loop.body_consts :], given[first:], strict=True))
        starts = list(self._carried(carries, eqn.outvars, inner, names))
        if (head := self._divergent(loop, given, inner)) is not None:
            yield f"{indent}{', '.join([head, *starts])}:", place
            yield from self._body(loop.body, inner, indent + _INDENT)
            yield from self._next(loop.body.outvars, loop.body.invars[loop.body_consts :], inner, indent)
            return
        yield f"{indent}{', '.join(['loop while', *starts])}:", place
        tested = [*given[: loop.predicate_consts], *(inner[v] for v, _ in carries)]
        predicate = dict(zip(loop.predicate.invars, tested, strict=True))
        yield from self._body(loop.predicate, predicate, indent + _INDENT)
        yield f"{indent}{_INDENT}while {self._name(loop.predicate.outvars[0], predicate)}:", place
        yield from self._body(loop.body, inner, indent + 2 * _INDENT)
        yield from self._next(loop.body.outvars, loop.body.invars[loop.body_consts :], inner, indent + _INDENT)

    def _divergent(self, loop: jaxprs.While, given: list[str], inner: dict[Any, str]) -> str | None:
        """How a loop begins that each work-item leaves by itself; None for another one."""
        eqn = next((e for e in loop.predicate.eqns if loop.predicate.outvars[0] in e.outvars), None)
        if eqn is None or len(loop.predicate.eqns) > 1:
            return None
        carried = loop.body.invars[loop.body_consts :]
        names = dict(zip(loop.predicate.invars, [*given[: loop.predicate_consts], *(inner[v] for v in carried)]))  # noqa: B905
        if eqn.primitive is primitives.uniform_p:
            return f"loop for the work-items {self._name(eqn.invars[0], names)}"
        if divergence.is_merge(eqn):
            return f"loop at most {self._name(eqn.invars[1], names)} times"
        return None

    def _cond(
        self, eqn: jex_core.JaxprEqn, branches: tuple[Body, ...], names: dict[Any, str], indent: str, place: str
    ) -> Iterator[tuple[str, str]]:
        chosen, *given = [self._name(a, names) for a in eqn.invars]
        if self._says_some(eqn.invars[0]):
            yield f"{indent}if there are work-items {self._some[eqn.invars[0]]}:", place
            inner = dict(zip(branches[1].invars, given, strict=True))
            yield from self._body(branches[1], inner, indent + _INDENT)
            names |= {v: self._name(a, inner) for v, a in zip(eqn.outvars, branches[1].outvars, strict=True)}
            return
        results: list[str] = []
        for k, branch in enumerate(branches):
            inner = dict(zip(branch.invars, given, strict=True))
            yield f"{indent}if {chosen} is {k}:", place
            yield from self._body(branch, inner, indent + _INDENT)
            outputs = [self._name(a, inner) for a in branch.outvars]
            results = results or [name if name in self._memories else self._fresh() for name in outputs]
            for result, name in zip(results, outputs, strict=True):
                if result != name:
                    yield f"{indent}{_INDENT}{result} = {name}", ""
        names |= dict(zip(eqn.outvars, results, strict=True))

    def _carried(
        self, carries: list[tuple[Any, str]], results: list[Any], inner: dict[Any, str], names: dict[Any, str]
    ) -> Iterator[str]:
        for (v, start), out in zip(carries, results, strict=False):
            memory = start in self._memories
            inner[v] = names[out] = start if memory else self._fresh()
            if not memory:
                yield f"{inner[v]} from {start}"

    def _next(
        self, after: list[Atom], before: list[Any], inner: dict[Any, str], indent: str
    ) -> Iterator[tuple[str, str]]:
        for out, v in zip(after, before, strict=False):
            if (name := self._name(out, inner)) != inner[v]:
                yield f"{indent}{_INDENT}{inner[v]} = {name}", ""

    @property
    def _memories(self) -> set[str]:
        return {m.name for m in [*filter(None, self.program.arguments), *self.program.allocations]}

    def _operation(self, eqn: jex_core.JaxprEqn, names: dict[Any, str]) -> str:
        given = [self._name(a, names) for a in eqn.invars]
        if eqn.primitive in primitives.LANGUAGE:
            return self._language(eqn, given, names)
        for v in eqn.outvars:
            names[v] = self._fresh()
        results = ", ".join(f"{names[v]}:{_aval(v.aval)}" for v in eqn.outvars)
        return f"{results} = {_expression(eqn, given)}"

    def _language(self, eqn: jex_core.JaxprEqn, given: list[str], names: dict[Any, str]) -> str:
        p = eqn.params
        if eqn.primitive is primitives.allocate_p:
            names[eqn.outvars[0]] = p["name"]
            return f"{p['name']} = {p['space']} {_type(p['dtype'])}[{_sizes(p['shape'], ', ')}]"
        if eqn.primitive in primitives.ORDERING:
            return self._ordered(eqn, given, names)
        if eqn.primitive is primitives.region_p:
            return "for all work-items:" if given[0] == "True" else f"for the work-items {given[0]}:"
        if eqn.primitive is primitives.uniform_p:
            return self._named(eqn, names, f"{p['kind']} of {', '.join(given)}")
        if eqn.primitive is primitives.collective_p:
            where = f" where {given.pop()}" if p["collective"].masked else ""
            return self._named(eqn, names, f"{p['collective']} ({', '.join(given)}){where}")
        if eqn.primitive in (primitives.local_id_p, primitives.group_id_p):
            dim = "linear" if p["dim"] is None else p["dim"]
            return self._named(eqn, names, f"{eqn.primitive.name.removeprefix('xe_')} {dim}")
        if eqn.primitive in primitives.ACCESSES:
            return self._access(eqn, given, names)
        raise ops.unhandled(eqn, "the listing")

    def _ordered(self, eqn: jex_core.JaxprEqn, given: list[str], names: dict[Any, str]) -> str:
        names |= dict(zip(eqn.outvars, given, strict=False))
        masked = eqn.params.get("masked", False)
        where = f" where {given[-1]}" if masked else ""
        memories = ", ".join(given[: len(given) - masked])
        if eqn.primitive is primitives.fence_p:
            return f"fence {eqn.params['ordering']} ({memories}){where}"
        return f"{eqn.params['level'].replace('_', '-')} barrier ({memories}){where}"

    def _access(self, eqn: jex_core.JaxprEqn, given: list[str], names: dict[Any, str]) -> str:
        access: primitives.Access = eqn.params["access"]
        element = f"{given[0]}[{', '.join(given[1 : 1 + access.rank])}]"
        rest = given[1 + access.rank :]
        op = eqn.params.get("op", eqn.primitive.name.removeprefix("xe_"))
        loads = op == "load"
        where = ""
        if access.masked:
            where = f" where {rest[0]} else {rest[1]}" if loads else f" where {rest[-1]}"
            rest = [] if loads else rest[:-1]
        kind = f"atomic {access.ordering} " if access.ordering else "block " if access.block else ""
        if eqn.outvars and not loads:
            names[eqn.outvars[-1]] = given[0]
        if loads:
            return self._named(eqn, names, f"{kind}load {element}{where}")
        text = f"{kind}{op} {element} {', '.join(rest)}{where}"
        return self._named(eqn, names, text) if eqn.params.get("fetch") else text

    def _named(self, eqn: jex_core.JaxprEqn, names: dict[Any, str], text: str) -> str:
        v = eqn.outvars[0]
        names[v] = self._fresh()
        return f"{names[v]}:{_aval(v.aval)} = {text}"

    def _name(self, atom: Atom, names: dict[Any, str]) -> str:
        return self._summary(jaxprs.literal(atom)) if jaxprs.is_literal(atom) else names[atom]

    def _summary(self, array: np.ndarray) -> str:
        return str(array) if array.ndim == 0 else f"{_type(array.dtype)}[{_sizes(array.shape, ', ')}]"

    def _fresh(self) -> str:
        self._values += 1
        return f"v{self._values}"


def _expression(eqn: jex_core.JaxprEqn, given: list[str]) -> str:
    name = eqn.primitive.name
    if name in _SIGNS and len(given) == 2:
        return f"{given[0]} {_SIGNS[name]} {given[1]}"
    if name == "convert_element_type":
        return f"{_type(eqn.params['new_dtype'])}({given[0]})"
    if name == "select_n" and len(given) == 3:
        return f"where {given[0]} then {given[2]} else {given[1]}"
    return f"{name} {', '.join(given)}".rstrip()


def _aval(aval: Any) -> str:
    return f"{_type(aval.dtype)}[{_sizes(aval.shape, ', ')}]" if aval.shape else _type(aval.dtype)


def _place(eqn: jex_core.JaxprEqn, file: str) -> str:
    """The line of the kernel, with its file where that is not the kernel's own."""
    site = source.of_equation(eqn)
    if not site.line:
        return ""
    text = site.source if len(site.source) <= _LONGEST_LINE else site.source[: _LONGEST_LINE - 3] + "..."
    return f"# {'' if site.file == file else os.path.basename(site.file) + ':'}{site.line}: {text}"

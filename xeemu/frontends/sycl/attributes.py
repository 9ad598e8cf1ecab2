"""Attributes: the sizes that a kernel of SYCL requires, from the tokens of its head.

The parser leaves unknown attributes out of its tree, so that their values are made out here: numbers, constants that
the file declares, template arguments and macros, and what is computed from these.
"""

import ast
import dataclasses
import functools
import linecache
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from xeemu.frontends import refusals
from xeemu.frontends.cplusplus import closures, submissions
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.cplusplus.submissions import Submission
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor

_SUB_GROUP = ("reqd_sub_group_size", "intel_reqd_sub_group_size", "sub_group_size")
_WORK_GROUP = ("reqd_work_group_size",)
_OPERATORS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
# Of `properties` before the kernel, whose types tell them.
_SUB_GROUP_PROPERTY = re.compile(r"\bproperties<.*\bsub_group_size_key<(\d+)>")
_WORK_GROUP_PROPERTY = re.compile(r"\bproperties<.*\bwork_group_size_key<([\d, ]+)>")
_MOST_MACROS = 16
_MACRO = re.compile(r"\s*#\s*define\s+(\w+)\s+(.+?)\s*(?://.*)?$")


@dataclasses.dataclass(frozen=True)
class Required:
    """Sizes that a kernel requires.

    Attributes:
      work_group_size: in OpenCL's order, or None.
      sub_group_size: or None.
    """

    work_group_size: tuple[int, int, int] | None = None
    sub_group_size: int | None = None


def required(instances: Instances, submission: Submission, declaration: Cursor, macros: Mapping[str, str]) -> Required:
    """What the attributes of a lambda, or of a class's `operator()`, and the properties before it require.

    `declaration` is of its class, `macros` are those of the compiler's options. Errors: `xe.KernelError` for a value
    that is no constant.
    """
    work_group: tuple[int, int, int] | None = None
    sub_group = None
    names = _Names(instances, submission, declaration, macros)
    for name, arguments in _attributes(_head(instances, declaration)):
        if name in _SUB_GROUP:
            sub_group = names.values(arguments)[0]
        elif name in _WORK_GROUP:
            x, y, z = (*names.values(arguments)[::-1], 1, 1)[:3]
            work_group = (x, y, z)
    properties = str(next(iter(submission.cursor.get_arguments())).type.get_canonical().spelling)
    if found := _SUB_GROUP_PROPERTY.search(properties):
        sub_group = int(found[1])
    if found := _WORK_GROUP_PROPERTY.search(properties):
        x, y, z = (*map(int, found[1].split(",")[::-1]), 1, 1)[:3]
        work_group = (x, y, z)
    return Required(work_group, sub_group)


def _head(instances: Instances, declaration: Cursor) -> list[str]:
    """The tokens of a kernel's head: of a lambda up to its body, of a class those around `operator()`."""
    closure = instances.records.closures.get(clang.key(declaration))
    if closure is not None:
        body = next(c for c in closure.cursor.get_children() if clang.kind(c) == "COMPOUND_STMT")
        return _tokens(closure.cursor, body.extent.start.offset)
    template = clang.template(declaration) or declaration
    call = next((c for c in template.get_children() if c.spelling == "operator()"), None)
    if call is None:
        return []
    body = next((c for c in call.get_children() if clang.kind(c) == "COMPOUND_STMT"), None)
    whole = _tokens(template, body.extent.start.offset if body is not None else call.extent.end.offset)
    return whole[_last_end(whole) :]


def _tokens(cursor: Cursor, end: int) -> list[str]:
    found = []
    for token in cursor.get_tokens():
        if token.location.offset >= end:
            break
        found.append(str(token.spelling))
    return found


def _last_end(tokens: Sequence[str]) -> int:
    """Where the last member begins."""
    ends = [
        k
        for k, token in enumerate(tokens)
        if token in (";", "}", "{") or (token == ":" and k and tokens[k - 1] == "public")
    ]
    return ends[-1] + 1 if ends else 0


def _attributes(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The names of attributes, without their namespace, with their arguments."""
    for k, token in enumerate(tokens):
        if token in (*_SUB_GROUP, *_WORK_GROUP) and k + 1 < len(tokens) and tokens[k + 1] == "(":
            yield token, _arguments(tokens[k + 2 :])


def _arguments(tokens: Sequence[str]) -> list[str]:
    """The expressions up to the closing parenthesis."""
    depth, parts = 0, [""]
    for token in tokens:
        if token == ")" and depth == 0:
            break
        depth += (token in "([{") - (token in ")]}")
        if token == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += token + " "
    return [part.strip() for part in parts if part.strip()]


# --- Values ---


def _plain(text: str) -> str:
    """An expression of C++ as one of Python: without casts, scopes and the suffixes of numbers."""
    text = re.sub(r"(?<=\d)[uUlL]+\b", "", text)
    text = re.sub(r"\w+\s*::\s*", "", text)
    return re.sub(r"\bstatic_cast\s*<[^>]*>", "", text).replace("/", "//")


def _computed(node: ast.expr, names: "_Names", depth: int) -> int:
    match node:
        case ast.Constant(value=int(value)):
            return value
        case ast.Name(id=name) if depth < _MOST_MACROS:
            found = names.value(name)
            return (
                found
                if isinstance(found, int)
                else _computed(ast.parse(_plain(found), mode="eval").body, names, depth + 1)
            )
        case ast.BinOp(left=left, op=op, right=right):
            apply = _OPERATORS.get(type(op), operator.floordiv)
            return int(apply(_computed(left, names, depth), _computed(right, names, depth)))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_computed(operand, names, depth)
    raise ValueError


@dataclasses.dataclass(frozen=True)
class _Names:
    """What names in a kernel's attributes stand for."""

    instances: Instances
    submission: Submission
    declaration: Cursor
    macros: Mapping[str, str]

    def values(self, texts: Sequence[str]) -> tuple[int, ...]:
        return tuple(map(self.evaluated, texts))

    def evaluated(self, text: str) -> int:
        try:
            return int(_computed(ast.parse(_plain(text), mode="eval").body, self, 0))
        except (SyntaxError, ValueError, ZeroDivisionError, KeyError):
            raise refusals.at(
                self.submission.place,
                f"the size {text} in an attribute of the kernel is no constant that is known; write a number",
            ) from None

    def value(self, name: str) -> int | str:
        """A number, or the text of a macro; `KeyError` for a name that is not known."""
        for scope in (self.declaration, *self._scopes()):
            for parameter, value in template_arguments(scope):
                if parameter == name and isinstance(value, int):
                    return value
        for declared in self._declared(name):
            known = closures.constant(declared)
            if isinstance(known, int):
                return known
        return self._macros()[name]

    def _scopes(self) -> Iterator[Cursor]:
        """The functions around the kernel and the classes whose methods they are."""
        for scope in self.submission.scopes:
            yield scope
            if clang.kind(scope) == "CXX_METHOD":
                yield scope.semantic_parent

    def _macros(self) -> dict[str, str]:
        """The macros without parameters of the options and of the user's files."""
        return {**_defined(self.instances), **self.macros}

    def _declared(self, name: str) -> Iterator[Cursor]:
        """Variables of a name: those of the functions around the kernel first."""
        for scope in (self.declaration, *self._scopes(), self.instances.unit.cursor):
            whole = clang.kind(scope) != "TRANSLATION_UNIT"
            for part in scope.walk_preorder() if whole else _outer(scope):
                if clang.kind(part) == "VAR_DECL" and part.spelling == name:
                    yield part


@functools.lru_cache(maxsize=8)
def _defined(instances: Instances) -> dict[str, str]:
    """The macros without parameters that the user's files define, those of the main file last."""
    included = [str(i.include.name) for i in instances.unit.get_includes()]
    files = dict.fromkeys([*(f for f in included if not is_header(f)), str(instances.unit.spelling)])
    matches = filter(None, (_MACRO.match(line) for file in files for line in linecache.getlines(file)))
    return {m[1]: m[2] for m in matches}


def _outer(unit: Cursor) -> Iterator[Cursor]:
    """The declarations of namespace scope of the user's files, and the members of their classes."""
    pending = [c for c in unit.get_children() if c.location.file is not None and not is_header(c.location.file.name)]
    for cursor in pending:
        yield cursor
        if clang.kind(cursor) in ("NAMESPACE", "STRUCT_DECL", "CLASS_DECL", "LINKAGE_SPEC"):
            pending += list(cursor.get_children())


def template_arguments(cursor: Cursor) -> list[tuple[str, int | str]]:
    """The names of a template's parameters with an instance's arguments, numbers or the texts of types."""
    template = clang.template(cursor)
    if template is None:
        return []
    names = [c.spelling for c in template.get_children() if clang.kind(c).startswith("TEMPLATE_")]
    return list(zip(names, submissions.template_arguments(cursor), strict=False))

"""Submissions: which kernels a unit submits, found by following all calls from the functions of the user's files."""

import dataclasses
import re
from collections.abc import Iterator

from xeemu.frontends.cplusplus.instances import FUNCTIONS, Instances
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.tree import SourceLocation

_SCOPES = ("NAMESPACE", "LINKAGE_SPEC", "STRUCT_DECL", "CLASS_DECL", "UNEXPOSED_DECL")
_ENTRIES = ("kernel_body", "task_body")
_FOLLOWED = frozenset(("LAMBDA_EXPR", "CALL_EXPR", "DECL_REF_EXPR", "MEMBER_REF_EXPR"))
_MEMBERS = ("FIELD_DECL", "CXX_METHOD", "CONSTRUCTOR", "CONVERSION_FUNCTION")


@dataclasses.dataclass(frozen=True, eq=False)
class Submission:
    """A kernel that is submitted somewhere.

    Attributes:
      cursor: the instance of `__xeemu::kernel_body`, which makes an item and calls the kernel's function with it, or of
        `task_body`, which calls that of a single task.
      name: of the class that names the kernel; empty where there is none.
      enclosing: the user's function in which it is submitted.
      place: of the submission.
      scopes: the user's functions that lead to it, among them lambdas, the innermost one first.
    """

    cursor: Cursor
    name: str
    enclosing: str
    place: SourceLocation
    scopes: tuple[Cursor, ...] = ()

    @property
    def naming(self) -> int:
        """The hash of the declaration of the class that names the kernel."""
        return int(self.cursor.get_template_argument_type(0).get_canonical().get_declaration().hash)


def submissions(instances: Instances) -> list[Submission]:
    """The kernels of a unit, in the order of the file."""
    return sorted(_Survey(instances).found.values(), key=lambda s: (s.place.file, s.place.line, s.place.column))


def functions(instances: Instances) -> Iterator[Cursor]:
    """The functions that the user's files define, without templates, which have no instance by themselves."""
    for cursor in _declared(instances):
        if clang.kind(cursor) in FUNCTIONS and cursor.is_definition():
            yield cursor


def variables(instances: Instances) -> Iterator[Cursor]:
    """The variables of namespace scope, and static members of classes, that the user's files define."""
    for cursor in _declared(instances):
        if clang.kind(cursor) == "VAR_DECL" and cursor.is_definition():
            yield cursor


def _declared(instances: Instances) -> Iterator[Cursor]:
    """What the user's files declare, in namespaces and classes too."""
    pending = list(instances.unit.cursor.get_children())[::-1]
    while pending:
        cursor = pending.pop()
        file = cursor.location.file
        if file is None or is_header(file.name) or cursor.spelling == "__xeemu":
            continue
        yield cursor
        if clang.kind(cursor) in _SCOPES:
            pending += list(cursor.get_children())[::-1]


class _Survey:
    """Follows calls, each instance of a function once."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._seen: set[int] = set()
        self.found: dict[int, Submission] = {}
        for cursor in functions(instances):
            self._visit(cursor, clang.place(cursor, instances.files))

    def _visit(self, cursor: Cursor, place: SourceLocation) -> None:
        pending: list[tuple[Cursor, tuple[Cursor, ...], SourceLocation]] = [(cursor, (), place)]
        while pending:
            function, scopes, at = pending.pop()
            if int(function.hash) in self._seen:
                continue
            self._seen.add(int(function.hash))
            ours = is_header(function.location.file.name) if function.location.file else True
            if not ours:
                scopes = (function, *scopes)
            pending += reversed(list(self._calls(function, scopes, at, ours)))

    def _calls(
        self, function: Cursor, scopes: tuple[Cursor, ...], at: SourceLocation, ours: bool
    ) -> Iterator[tuple[Cursor, tuple[Cursor, ...], SourceLocation]]:
        """The functions that one calls, with where the user's file does so; notes lambdas and kernels."""
        for part in clang.parts(function, _FOLLOWED):
            if clang.kind(part) == "LAMBDA_EXPR":
                self._instances.records.add(part)
                continue
            callee = part.referenced
            if callee is None:
                continue
            if clang.kind(callee) in _MEMBERS:
                self._instances.records.bases.note(callee.semantic_parent)
            if clang.kind(callee) not in FUNCTIONS:
                continue
            definition = callee if callee.is_definition() else callee.get_definition()
            if definition is None:
                continue
            where = at if ours else clang.place(part, self._instances.files)
            if callee.spelling in _ENTRIES and ours:
                self._note(definition, scopes, where)
            yield definition, scopes, where

    def _note(self, cursor: Cursor, scopes: tuple[Cursor, ...], place: SourceLocation) -> None:
        if int(cursor.hash) not in self.found:
            enclosing = next((s for s in scopes if s.spelling != "operator()"), None)
            name = "" if enclosing is None else called(enclosing)
            self.found[int(cursor.hash)] = Submission(cursor, _named(cursor), name, place, scopes)


def called(function: Cursor) -> str:
    """A function's name, with the arguments of the template that it, or its class, is an instance of."""
    own = _instance(str(function.spelling), function)
    parent = function.semantic_parent
    of_template = parent is not None and clang.template(parent) is not None
    return f"{_instance(parent.spelling, parent)}::{own}" if of_template else own


def _instance(name: str, cursor: Cursor) -> str:
    if clang.template(cursor) is None:
        return name
    if cursor.get_num_template_arguments() < 0:  # of a method the parser does not tell them
        return name + re.sub(r"\b\w+::", "", str(cursor.displayname).partition(">")[2])
    listed = [re.sub(r"\b\w+::", "", str(a)) for a in template_arguments(cursor) if "lambda at" not in str(a)]
    return f"{name}<{', '.join(listed)}>" if listed else name


def template_arguments(cursor: Cursor) -> list[int | str]:
    """The arguments of an instance of a template: numbers, and types as C++ spells them."""
    found: list[int | str] = []
    for k in range(max(cursor.get_num_template_arguments(), 0)):
        if cursor.get_template_argument_kind(k).name == "INTEGRAL":
            found.append(int(cursor.get_template_argument_value(k)))
        else:
            found.append(str(cursor.get_template_argument_type(k).get_canonical().spelling))
    return found


def _named(cursor: Cursor) -> str:
    """The class that names a kernel, without the namespaces around it."""
    spelling = str(cursor.get_template_argument_type(0).get_canonical().spelling)
    if "unnamed" in spelling or "lambda at" in spelling:
        return ""
    head, bracket, arguments = spelling.partition("<")
    return head.rpartition("::")[2].rpartition(" ")[2] + bracket + arguments

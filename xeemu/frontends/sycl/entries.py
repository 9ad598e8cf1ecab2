"""Entries: a kernel of SYCL as a function of the tree, whose parameters are what its function object holds."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from xeemu.errors import KernelError
from xeemu.frontends import refusals, tree, types
from xeemu.frontends.cplusplus import restrictions, specializations
from xeemu.frontends.cplusplus.closures import Closure
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.cplusplus.submissions import Submission
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.sycl import attributes, copyable, parameters
from xeemu.frontends.sycl.parameters import Parameter

Parts: TypeAlias = Callable[[tree.Expression, Sequence[tree.Variable]], tuple[tree.Expression, Sequence[tree.Variable]]]


@dataclasses.dataclass(frozen=True, eq=False)
class Entry:
    """A kernel.

    Attributes:
      function: takes the leaves of all captures, then the constants.
      captures: in the order of the function object.
      constants: the specialization constants that it reads.
    """

    function: Function
    captures: tuple[Parameter, ...]
    constants: tuple[Parameter, ...] = ()


def entry(
    instances: Instances,
    submission: Submission,
    name: str,
    macros: Mapping[str, str] = MappingProxyType({}),
    parts: Parts | None = None,
) -> Entry:
    """The kernel that a submission launches; `macros` are those of the compiler's options.

    `parts` makes the function object of other parameters than one for each leaf, and says which.
    """
    cursor, place = submission.cursor, submission.place
    first = next(iter(cursor.get_arguments()))
    of = instances.records.type(first.type, first, clang.place(cursor))
    whole = of.pointee if isinstance(of, types.Pointer) else of
    assert isinstance(whole, types.Record)
    _check_captures(closure(instances, submission), place)
    captures: list[Parameter] = []
    value: tree.Expression = _object(instances, submission, whole, captures)
    for capture in captures:
        copyable.check(capture.key, capture.type, place)
    taken: Sequence[tree.Variable] = [leaf.variable for leaf in parameters.leaves(captures)]
    if parts is not None:
        value, taken = parts(value, taken)
    required = attributes.required(instances, submission, function_object(submission), macros)
    function = dataclasses.replace(
        instances.entry(cursor, value),
        name=name,
        parameters=tuple(taken),
        place=place,
        kernel=True,
        work_group_size=required.work_group_size,
        sub_group_size=required.sub_group_size,
    )
    restrictions.check(function, instances.records.refused)
    constants = specializations.used(function)
    function = dataclasses.replace(function, parameters=(*taken, *constants))
    return Entry(function, tuple(captures), tuple(map(parameters.of_constant, constants)))


def _object(
    instances: Instances, submission: Submission, whole: types.Record, captures: list[Parameter]
) -> tree.Initializer:
    """A kernel's function object made of parameters, which are noted; one of our headers' holds that of the user."""
    items: list[tree.Expression] = []
    wrapper = is_wrapper(_given(submission))
    names = iter(_reducers(instances, submission) if wrapper else ())
    for field in whole.fields:
        if wrapper and field.name == _WRAPPED and isinstance(field.type, types.Record):
            items.append(_object_of(field.type, submission.place, captures))
            continue
        name = field.name if not wrapper else next(names, "") if "reduction_of<" in str(field.type) else "offset"
        value, made = parameters.of_capture(name or field.name, field.type, submission.place, field.name)
        items.append(value)
        captures.append(made)
    return tree.Initializer(whole, submission.place, tuple(items))


def _object_of(whole: types.Record, place: tree.SourceLocation, captures: list[Parameter]) -> tree.Initializer:
    made = [parameters.of_capture(f.name, f.type, place, f"{_WRAPPED}.{f.name}") for f in whole.fields]
    captures += [capture for _, capture in made]
    return tree.Initializer(whole, place, tuple(item for item, _ in made))


def _reducers(instances: Instances, submission: Submission) -> list[str]:
    """The names of the parameters of a kernel's function object after its item."""
    found = closure(instances, submission)
    whole = found.cursor if found is not None else function_object(submission)
    call = next((c for c in whole.get_children() if c.spelling == "operator()"), whole)
    return [str(c.spelling) for c in call.get_children() if clang.kind(c) == "PARM_DECL"][1:]


_WRAPPED = "kernel"
"""The member of our headers' function objects that is the user's."""


def function_object(submission: Submission) -> Cursor:
    """The class of the function object that the user gives."""
    given = _given(submission)
    if not is_wrapper(given):
        return given
    field = next(f for f in given.type.get_canonical().get_fields() if f.spelling == _WRAPPED)
    return field.type.get_canonical().get_declaration()


def _given(submission: Submission) -> Cursor:
    """The class of the function object that a work-item calls."""
    first = next(iter(submission.cursor.get_arguments()))
    return first.type.get_canonical().get_pointee().get_declaration()


def is_wrapper(declaration: Cursor) -> bool:
    """True if a class is one of our headers'."""
    file = declaration.location.file
    return file is not None and is_header(file.name)


def closure(instances: Instances, submission: Submission) -> Closure | None:
    """The lambda that a kernel is; None of a class."""
    return instances.records.closures.get(clang.key(function_object(submission)))


def _check_captures(found: Closure | None, place: tree.SourceLocation) -> None:
    """Refuses references, for the device has no access to the host's variables."""
    by_reference = [c.name for c in found.captures.values() if c.reference] if found is not None else []
    if by_reference:
        raise _refused(place, by_reference)


def _refused(place: tree.SourceLocation, names: list[str]) -> KernelError:
    listed = ", ".join(names)
    if listed == "this":
        return refusals.at(
            place,
            "the kernel uses members of the object, this, which is in the host's memory, and a device cannot access "
            "that (SYCL 2020, 4.12.4); copy them to variables before and use these, or capture the object, [=, *this]",
        )
    return refusals.at(
        place,
        f"the kernel captures {listed} by reference, and a device cannot access the host's variables (SYCL 2020, "
        "4.12.4); capture by value, [=]",
    )

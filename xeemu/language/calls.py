"""Calls of the language's methods that Python refuses: told in the kernel's terms, with what the method takes."""

import inspect
import re
from collections.abc import Mapping, Sequence

from xeemu.errors import KernelError, did_you_mean
from xeemu.language import expressions, source
from xeemu.language.memory import Atomics, AtomicTo, Memory, StoreTo
from xeemu.language.subgroup import SubGroup
from xeemu.language.workgroup import WorkGroup

_OWNERS: Mapping[str, tuple[type, str]] = {
    "WorkGroup": (WorkGroup, "wg."),
    "SubGroup": (SubGroup, "wg.sub_group."),
    "Memory": (Memory, "x."),
    "StoreTo": (StoreTo, "x.at[i]."),
    "AtomicTo": (AtomicTo, "x.atomic[i]."),
    "Atomics": (Atomics, "x.atomic"),
}
"""The classes by name, and how a kernel writes what has their methods."""

_REFUSED = re.compile(
    r"^(\w+)\.(\w+)\(\) (?:got an unexpected keyword argument '(\w+)'|missing \d+ required|"
    r"takes|got multiple values for argument)"
)
_ELSEWHERE: Mapping[str, str] = {
    **dict.fromkeys(("mask", "predicate", "active", "pred", "condition", "when"), "where"),
    **dict.fromkeys(("default", "fill", "fill_value", "otherwise"), "other"),
    **dict.fromkeys(("memory_order", "semantics"), "order"),
    **dict.fromkeys(("memory_scope",), "scope"),
    **dict.fromkeys(("axis", "dim", "dimension"), "d"),
    **dict.fromkeys(("value", "val", "operand"), "x"),
    **dict.fromkeys(("lane", "src", "root", "local_id"), "id"),
    **dict.fromkeys(("size",), "shape"),
    **dict.fromkeys(("type",), "dtype"),
}
"""What other languages call a parameter, by what it is here."""


def refused(error: TypeError) -> KernelError | None:
    """What is said of a call of a method that Python refuses by a `TypeError`; None if it is no such call."""
    found = _REFUSED.match(str(error))
    if found is None or found[1] not in _OWNERS:
        return None
    cls, owner = _OWNERS[found[1]]
    owner = re.sub(r"^x\b", _variable(error), owner)
    method = getattr(cls, found[2], None)
    if method is None:
        return None
    parameters = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
    call = owner + ("" if found[2] == "__call__" else found[2])
    why = str(error)[len(f"{found[1]}.{found[2]}() ") :]
    why = why.replace("missing", "is missing").replace("got", "has got")
    ordered = cls is AtomicTo and _ELSEWHERE.get(found[3], found[3]) in ("order", "scope")
    if found[3]:
        meant = "" if ordered else _meant(found[3], [p.name for p in parameters])
        why = f"has no option {found[3]!r}{meant}"
    written = f"{call}({_written(parameters)})"
    if ordered:
        written = f"{owner.partition('[')[0]}(order=..., scope=...)[i].{found[2]}({_written(parameters)})"
    return KernelError(f"{call} {why}; write {written}\n  at {source.of_raised(error)}")


def _variable(error: TypeError) -> str:
    """What the user calls that of which a method is refused; `x` if that is not known."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return (traceback and expressions.variable_of_call(traceback)) or "x"


def _meant(name: str, names: Sequence[str]) -> str:
    """The parameter that is meant, by another language's name for it or the nearest one."""
    known = _ELSEWHERE.get(name)
    return f" (did you mean {known!r}?)" if known in names else did_you_mean(name, names)


def _written(parameters: Sequence[inspect.Parameter]) -> str:
    """The parameters as a call has them."""
    return ", ".join(
        "*" * (p.kind == p.VAR_POSITIONAL) + p.name + ("" if p.default is p.empty else f"={p.default!r}")
        for p in parameters
    )

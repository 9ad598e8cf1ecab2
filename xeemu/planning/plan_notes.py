"""Plan notes: how each operation of a program is carried out, as text beside it."""

import collections
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from xeemu.ir.program import Op
from xeemu.planning.body_plans import (
    BodyPlan,
    CallPlan,
    ChoicePlan,
    CountedLoopPlan,
    Plan,
    WhileLoopPlan,
)
from xeemu.planning.layouts import BY_ITEM
from xeemu.planning.memory_plans import LoadPlan, UpdatePlan
from xeemu.planning.operation_plans import Formed


def of_body(plan: BodyPlan) -> Mapping[Op, str]:
    """For each operation of a (sub)program and its inner ones what is planned, each of several plans once."""
    found = collections.defaultdict[Op, dict[str, None]](dict)
    for body in bodies(plan):
        for number, op in enumerate(body.facts.body.ops):
            layouts = [shown(layout) for v in op.results if (layout := body.layouts[v]) != BY_ITEM]
            own = body.operations.get(number)
            found[op]["; ".join([*layouts, *([] if own is None else filter(None, [_of_operation(own)]))])] = None
    return {op: " | ".join(filter(None, texts)) for op, texts in found.items()}


def bodies(plan: BodyPlan) -> Iterator[BodyPlan]:
    """The plans of a (sub)program and of its inner ones, those of a loop for each block of iterations."""
    yield plan
    for each in plan.operations.values():
        for inner in _inner(each):
            yield from bodies(inner)


def _inner(plan: Plan) -> list[BodyPlan]:
    match plan:
        case CallPlan(body):
            return [body]
        case ChoicePlan(branches=branches):
            return list(branches.values())
        case CountedLoopPlan(bodies=iterations):
            return list(iterations.values())
        case WhileLoopPlan(predicate=predicate, body=body):
            return [predicate, body]
    return []


def _of_operation(plan: Plan) -> str:
    match plan:
        case CallPlan() | Formed():  # that its result is a lane form its layout says
            return ""
        case LoadPlan() | UpdatePlan() | ChoicePlan() | CountedLoopPlan() | WhileLoopPlan():
            return shown(plan.by)
    return shown(plan)


def shown(value: Any) -> str:
    """A plan by the name of its class and those of its attributes that are short, and not empty.

    Attributes that are one and the same plan stand together, as `inside=beyond=...`.
    """
    names, texts = collections.defaultdict[Any, list[str]](list), dict[Any, str]()
    for field in dataclasses.fields(value):
        attribute = getattr(value, field.name)
        key = id(attribute) if _is_plan(attribute) else field.name
        names[key].append(field.name)
        texts[key] = _short(attribute)
    written = ", ".join(f"{'='.join(names[key])}={text}" for key, text in texts.items() if text)
    return f"{type(value).__name__}({written})" if written else type(value).__name__


def _is_plan(value: Any) -> bool:
    return type(value).__module__.startswith("xeemu.planning")


def _short(value: Any) -> str:
    """The text of an attribute; empty if it is nothing, or long."""
    if _is_plan(value):
        return shown(value)
    is_short = isinstance(value, bool | int | str) or (
        isinstance(value, tuple) and all(isinstance(n, int) for n in value)
    )
    return repr(value) if is_short and value else ""

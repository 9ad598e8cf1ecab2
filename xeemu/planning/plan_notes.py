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
    """A plan by the name of its class and those of its attributes that are short, and not empty."""
    each = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
    texts = [f"{name}={text}" for name, attribute in each if (text := _short(attribute))]
    return f"{type(value).__name__}({', '.join(texts)})" if texts else type(value).__name__


def _short(value: Any) -> str:
    """The text of an attribute; empty if it is nothing, or long."""
    if type(value).__module__.startswith("xeemu.planning"):
        return shown(value)
    is_sizes = isinstance(value, tuple) and all(isinstance(n, int) for n in value)
    return repr(value) if value and (is_sizes or isinstance(value, bool | int | str)) else ""

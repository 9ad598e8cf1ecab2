"""Copies: `async_work_group_copy` and its kin, made by the work-items of a group and ordered where they are waited for.

No work-item copies the element of its own number, but one half of the group those of the other half: whoever reads
without having waited what it would have copied itself reads what another one stores, which is a data race.
"""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, types, values
from xeemu.frontends.lowering import effects, places, synchronisation
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call, Variable
from xeemu.frontends.values import Either, Null, Number, Pointing, Value
from xeemu.language import divergence
from xeemu.language.memory import Memory

Builtin = Callable[[Walk, Call, bool], Value]

_COPIES = ("async_work_group_copy", "async_work_group_strided_copy")
_FEW = 4
"""So many rounds of all work-items are written out."""
_LANES = 32
"""As many as sub-groups have at most."""


def find(name: str) -> Builtin | None:
    """What carries out a copy or waits for copies, or None if the function does not."""
    if name in _COPIES:
        return _copy
    return {"wait_group_events": _wait, "prefetch": _prefetch}.get(name)


def _copy(walk: Walk, node: Call, used: bool) -> Value:
    target, source, count, *stride = (walk.evaluate(a) for a in node.arguments)
    to = node.arguments[0].type
    assert isinstance(to, types.Pointer)
    assert isinstance(count, Number)
    one = values.constant(1, types.INT)
    steps = stride[0] if node.name == "async_work_group_strided_copy" else one
    assert isinstance(steps, Number)
    # What is strided is the side in global memory.
    sides = ((target, one), (source, steps)) if to.space == "local" else ((target, steps), (source, one))
    _rounds(walk, count, target, lambda k: _round(walk, k, count, sides, to.pointee))
    return Null(node.type)


def _rounds(walk: Walk, count: Number, target: Value, once: Callable[[Number], None]) -> None:
    """Calls something for each round in which every work-item copies an element."""
    trips = _trips(walk, count)
    if isinstance(trips, np.int32) and int(trips) <= _FEW:
        for k in range(int(trips)):
            once(values.constant(k, types.INT))
        return
    keys = sorted(_memories(target), key=list(walk.memories).index)

    def body(k: Any, memories: list[Memory]) -> list[Memory]:
        walk.memories.update(zip(keys, memories, strict=True))
        walk.anew(lambda: once(values.held(types.INT, k, (0, 2**31 // walk.wg.size - 1))))
        return [walk.memories[key] for key in keys]

    init = [walk.memories[key] for key in keys]
    walk.memories.update(zip(keys, lax.fori_loop(np.int32(0), trips, body, init), strict=True))


def _trips(walk: Walk, count: Number) -> Any:
    """The rounds that the work-item needs which copies the most."""
    most = values.index(count)
    if isinstance(most, np.generic):
        return np.int32(-(-int(most) // walk.wg.size))
    if most.ndim and walk.where is not None:
        most = values.select(walk.where, most, most.dtype.type(0))
    whole = divergence.most(most) if most.ndim else jnp.asarray(most)
    size = whole.dtype.type(walk.wg.size)
    return lax.div(lax.add(whole, size - whole.dtype.type(1)), size).astype(np.int32)


def _memories(pointer: Value) -> set[Any]:
    match pointer:
        case Pointing(memory=memory):
            return {memory}
        case Either(then=a, otherwise=b):
            return _memories(a) | _memories(b)
    return set()


def _round(walk: Walk, k: Number, count: Number, sides: tuple[tuple[Value, Number], ...], of: types.Type) -> None:
    size = walk.wg.size
    which = _binary("+", _binary("*", k, values.constant(size, types.INT)), _turn(walk))
    inside = arithmetic.binary("<", which, count, types.INT)
    assert isinstance(inside, Number)

    def element() -> None:
        target, source = (places.behind(walk, _element(walk, p, which, s, of), of) for p, s in sides)
        places.write(walk, target, places.read(walk, source))

    walk.under(values.truth(inside), element)


def _turn(walk: Walk) -> Number:
    """The number of the element that each work-item copies in a round."""
    size = walk.wg.size
    half = size // 2
    # Whole sub-groups, where there are several: what each of them accesses stays as aligned as it was.
    by = half // _LANES * _LANES if half >= _LANES else half + (size > 2)
    mine = Number(types.INT, walk.wg.local_linear_id(), (0, size - 1))
    return _binary("%", _binary("+", mine, values.constant(by, types.INT)), values.constant(size, types.INT))


def _element(walk: Walk, pointer: Value, which: Number, stride: Number, of: types.Type) -> Value:
    steps = which if stride.known and stride.python == 1 else _binary("*", which, values.converted(stride, types.INT))
    return places.advanced(walk, pointer, steps, of.size)


def _binary(op: str, a: Number, b: Number) -> Number:
    found = arithmetic.binary(op, a, b, types.INT)
    assert isinstance(found, Number)
    return found


# ---- waiting ----


def _wait(walk: Walk, node: Call, used: bool) -> Value:
    """A barrier that orders the accesses to the memories between which something is copied, and to no others."""
    for argument in node.arguments:
        walk.evaluate(argument)
    synchronisation.renew(walk, _copied(walk), walk.wg.barrier)
    return Null(types.VOID)


def _copied(walk: Walk) -> list[Any]:
    """The keys of the memories from or to which the kernel copies, of those that can be written."""
    frame = walk.frame
    while frame.caller is not None:
        frame = frame.caller
    found: set[Variable] = set()
    for function in effects.functions(frame.function):
        for part in effects.nodes(function.body):
            if isinstance(part, Call) and part.name in _COPIES:
                found |= _origins(walk, effects.sources(part.arguments[0]) | effects.sources(part.arguments[1]))
    parameters = set(frame.function.parameters)
    keys = {v.name if v in parameters else v for v in found}
    return [k for k, layout in walk.layouts.items() if k in keys and (layout.space == "local" or k in walk.written)]


def _origins(walk: Walk, variables: frozenset[Variable]) -> set[Variable]:
    """Variables and those from which they get their pointers."""
    found: set[Variable] = set()
    pending = list(variables)
    while pending:
        variable = pending.pop()
        if variable not in found:
            found.add(variable)
            pending.extend(walk.flows.get(variable, ()))
    return found


def _prefetch(walk: Walk, node: Call, used: bool) -> Value:
    """Reads nothing: it may name addresses that do not exist."""
    for argument in node.arguments:
        walk.evaluate(argument)
    return Null(types.VOID)

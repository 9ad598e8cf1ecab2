"""Copies: `async_work_group_copy` and its kin, made by the work-items of a group and ordered where they are waited for.

No work-item copies the element of its own number, but one half of the group those of the other half: whoever reads
without having waited what it would have copied itself reads what another one stores, which is a data race.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects, events, nulls, places, synchronisation, transfers
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call, Variable
from xeemu.frontends.values import Data, Either, Null, Number, Pointing, Value
from xeemu.language import divergence
from xeemu.language.memory import Memory

Builtin = Callable[[Walk, Call, bool], Value]

_FEW = 4
"""So many rounds of all work-items are written out."""
_SECTOR = 8
"""So many numbers of 32 bits are moved at once."""


def find(name: str) -> Builtin | None:
    """What carries out a copy or waits for copies, or None if the function does not."""
    if name in transfers.COPIES:
        return _copy
    return {"wait_group_events": _wait, "prefetch": _prefetch}.get(name)


def _copy(walk: Walk, node: Call, used: bool) -> Value:
    target, source, count, *stride = (nulls.pointing(walk, walk.evaluate(a)) for a in node.arguments[:-1])
    to = node.arguments[0].type
    assert isinstance(to, types.Pointer)
    assert isinstance(count, Number)
    one = values.constant(1, types.INT)
    steps = stride[0] if node.name == "async_work_group_strided_copy" else one
    assert isinstance(steps, Number)
    # What is strided is the side in global memory.
    sides = ((target, one), (source, steps)) if to.space == "local" else ((target, steps), (source, one))
    masks: list[Data] = []
    before = events.memories(walk.evaluate(node.arguments[-1]), masks)
    _meet(walk, [target, source, count, steps], masks)
    by = _turn(walk, node)

    def copy() -> None:
        _rounds(walk, count, target, lambda k: _round(walk, k, count, sides, to.pointee, by))

    copy()
    memories = frozenset(_memories(target) | _memories(source))
    events.join(walk, before, memories)
    transfers.begin(walk, memories, lambda: walk.at(node.place, copy))
    return events.of(node.type, None if before is None else before | memories)


def _meet(walk: Walk, arguments: Sequence[Value], masks: Sequence[Data]) -> None:
    """All work-items of a group come to a copy, with the same arguments, or none does.

    Where somebody may be missing, a barrier that orders no memory shows it.

    Args:
      walk: the walk.
      arguments: pointers and numbers.
      masks: where other arguments are one thing, and not another.
    """
    differing = [values.index(n) for a in arguments for n in composites.leaves(a) if values.index(n).ndim]
    mask = walk.where
    if not differing and not masks and (mask is None or not mask.ndim):
        return
    same = [*masks, *(values.lifted(np.equal, lax.eq, d, _greatest(walk, d)) for d in differing)]
    with walk.scope():
        walk.wg.barrier(where=functools.reduce(values.conjunction, same, None))


def _greatest(walk: Walk, data: Data) -> Data:
    """The greatest of the active work-items' integers."""
    least = np.iinfo(data.dtype).min
    if walk.where is not None:
        data = composites.select(walk.where, data, data.dtype.type(least))
    return divergence.most(data)


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
    whole: Any = _greatest(walk, most) if most.ndim else jnp.asarray(most)
    size = whole.dtype.type(walk.wg.size)
    return lax.div(lax.add(whole, size - whole.dtype.type(1)), size).astype(np.int32)


def _memories(pointer: Value) -> set[Any]:
    match pointer:
        case Pointing(memory=memory):
            return {memory}
        case Either(then=a, otherwise=b):
            return _memories(a) | _memories(b)
    return set()


def _round(
    walk: Walk, k: Number, count: Number, sides: tuple[tuple[Value, Number], ...], of: types.Type, by: int
) -> None:
    size = walk.wg.size
    mine = Number(types.INT, walk.wg.local_linear_id(), (0, size - 1))
    turned = _binary("%", _binary("+", mine, values.constant(by, types.INT)), values.constant(size, types.INT))
    which = _binary("+", _binary("*", k, values.constant(size, types.INT)), turned)
    inside = arithmetic.binary("<", which, count, types.INT)
    assert isinstance(inside, Number)

    def element() -> None:
        target, source = (places.behind(walk, _element(walk, p, which, s, of), of) for p, s in sides)
        places.write(walk, target, places.read(walk, source))

    walk.under(values.truth(inside), element)


def _turn(walk: Walk, node: Call) -> int:
    """By how many elements what work-items copy is turned; another number for each copy of a kernel."""
    size, number = walk.wg.size, _copies(walk).index(node)
    # By whole sectors of memory, and first by half a group, as aligned as it was.
    step = _SECTOR if size >= 4 * _SECTOR else 1
    several = size // step
    return (1 + (several // 2 - 1 + number) % (several - 1)) * step if several > 1 else 0


def _element(walk: Walk, pointer: Value, which: Number, stride: Number, of: types.Type) -> Value:
    steps = which if stride.known and stride.python == 1 else _binary("*", which, values.converted(stride, types.INT))
    return places.advanced(walk, pointer, steps, of.size)


def _binary(op: str, a: Number, b: Number) -> Number:
    found = arithmetic.binary(op, a, b, types.INT)
    assert isinstance(found, Number)
    return found


# ---- waiting ----


def _wait(walk: Walk, node: Call, used: bool) -> Value:
    """A barrier that orders the accesses to the memories between which was copied, and to no others."""
    count, pointer = (walk.evaluate(a) for a in node.arguments)
    masks: list[Data] = []
    awaited = events.shared(walk, events.memories(events.listed(walk, count, pointer), masks))
    transfers.wait(walk, awaited)
    keys = _written(walk, _copied(walk) if awaited is None else awaited)
    where = functools.reduce(values.conjunction, masks, None)
    synchronisation.renew(walk, keys, lambda *m: walk.wg.barrier(*m, where=where))
    transfers.after_barrier(walk)
    return Null(types.VOID)


def _copies(walk: Walk) -> list[Call]:
    """The copies of a kernel and all that it calls."""
    parts = (node for function in effects.functions(_kernel(walk)) for node in effects.nodes(function.body))
    return [node for node in parts if isinstance(node, Call) and node.name in transfers.COPIES]


def _kernel(walk: Walk) -> Function:
    frame = walk.frame
    while frame.caller is not None:
        frame = frame.caller
    return frame.function


def _copied(walk: Walk) -> frozenset[Any]:
    """The keys of the memories from or to which the kernel copies."""
    pointers = (pointer for node in _copies(walk) for pointer in node.arguments[:2])
    found = {v for pointer in pointers for v in _origins(walk, effects.sources(pointer))}
    parameters = set(_kernel(walk).parameters)
    return frozenset(v.name if v in parameters else v for v in found)


def _written(walk: Walk, keys: frozenset[Any]) -> list[Any]:
    """Those of some memories that can be written, in the order of their declaration."""
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

"""Loops: written out, of known length, or as long as somebody goes on."""

import dataclasses
import functools
import operator
import typing
from collections.abc import Callable, Iterable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import composites, values
from xeemu.frontends.lowering import carrying, counting, effects, endless, headers, registers, truths
from xeemu.frontends.lowering.counting import Companion, Counter
from xeemu.frontends.lowering.walk import NOBODY, Binding, Jumps, Key, Walk
from xeemu.frontends.tree import (
    Break,
    Constant,
    Continue,
    Declaration,
    Evaluate,
    Expression,
    Loop,
    Return,
    Statement,
    Switch,
    Variable,
)
from xeemu.frontends.values import Data, Number
from xeemu.language import divergence, given

_FEW = 4
"""A loop of so many iterations is written out, if it holds no other loop, and no argument tells how many."""
_LARGE = 1 << 15
"""Parts of all the iterations of a loop that is written out because a pragma asks for it."""
_MANY = 64
"""So many are written out where the counter is no arithmetic progression, where a pragma asks for it, and where the
counter is an index of an array that may be in registers for it."""
_MOST = 256
"""So many, where a pragma asks for it and the counter is an index of such an array, of which that is the most."""
_COMMON = 2560
"""Parts of all the iterations of a loop that is written out for an array in registers.

IGC writes out loops with a constant number of iterations that come to no more than 1280 instructions (`UP.Threshold` in
its GenTTI.cpp, of OpenCL's `GetLoopUnrollThreshold`); two parts are taken to be one.
"""


def execute(walk: Walk, node: Loop) -> None:
    """Carries out a loop, for those who are active."""
    node = headers.completed(node)
    # What the header assigns is the loop's own until its end, as if it were declared there: who is not active keeps
    # what it had, and a counter that is known stays known.
    own = [walk.key(v) for v in sorted(_begun(node), key=lambda v: v.name) if walk.key(v) in walk.bindings]
    before = {key: walk.bindings[key] for key in own}
    for key, binding in before.items():
        walk.bindings[key] = Binding(binding.value, walk.region, len(walk.frame.jumps))
    if node.first is not None:
        walk.execute(node.first)
    _loop(walk, node)
    for key, binding in before.items():
        last, walk.bindings[key] = walk.bindings[key].value, binding
        if not walk.dead:
            walk.assign(key, last)


def _begun(node: Loop) -> frozenset[Variable]:
    """The variables that a loop's header assigns before it begins."""
    return effects.of(node.first).assigned if isinstance(node.first, Evaluate) else frozenset()


def _loop(walk: Walk, node: Loop) -> None:
    """A loop after its first assignments."""
    sequence = counting.sequence(walk, node, _MANY if node.unroll is None else _MOST)
    if sequence is not None and _is_written_out(walk, node, sequence):
        _written_out(walk, node, sequence)
        return
    counter = None if jumps(node.body) else counting.counter(walk, node)
    if counter is None:
        _repeated(walk, node)
    elif counter.most != 0:
        _counted(walk, node, counter)


def jumps(node: Statement, switch: bool = False, inner: bool = False) -> bool:
    """True if somebody may leave a loop from within its body; of a switch's body, the iteration around it too.

    Args:
      node: a part of the body.
      switch: True if the body is a switch's, of which a `break` leaves only the switch.
      inner: True if it is within a loop or switch inside the body.
    """
    match node:
        case Return():
            return True
        case Break():
            return not inner and not switch
        case Continue():
            return switch and not inner
        case Loop(body=body):
            return jumps(body, switch, True)
        case Switch(cases=cases):
            # A `continue` in a switch is the loop's; a `break` is the switch's.
            return any(jumps(s, switch, True) for case in cases for s in case.statements)
    return any(jumps(c, switch, inner) for c in effects.children(node) if isinstance(c, _STATEMENTS))


_STATEMENTS = typing.get_args(Statement)


def _is_written_out(walk: Walk, node: Loop, sequence: counting.Sequence) -> bool:
    if node.unroll == 1:
        return False
    small = not any(isinstance(n, Loop) for n in effects.nodes(node.body))
    if sequence.count <= 1 or (sequence.count <= _FEW and small and not sequence.last.given):
        return True
    parts = sequence.count * _size(node.body)
    if sequence.count <= _MANY and node.unroll is not None:
        return parts <= _LARGE
    if registers.indexes(walk, node.body, sequence.key[1]):
        return parts <= (_COMMON if node.unroll is None else _LARGE)
    return small and sequence.count <= _MANY and not sequence.even


def _size(node: object) -> int:
    """The parts of a statement, those of loops as often as they run at most, if a constant tells that."""
    if not isinstance(node, Loop):
        return 1 + sum(map(_size, effects.children(node)))
    bounds = [n.value for n in effects.nodes(node.condition) if isinstance(n, Constant)] if node.condition else []
    return int(max([1, *bounds])) * _size(node.body)


def _written_out(walk: Walk, node: Loop, sequence: counting.Sequence) -> None:
    """The iterations one after the other, each with the counter's known value."""
    live, returned, binding = walk.live, walk.frame.returned, walk.bindings[sequence.key]
    # Of one line for all iterations, nothing else tells them apart.
    is_line = len({one.place.line for one in effects.nodes(node.body) if one.place.line}) == 1  # type: ignore[attr-defined]
    leaving, stopped = Jumps(loop=True), binding.value
    walk.frame.jumps.append(leaving)
    for value in sequence.values:
        walk.bindings[sequence.key] = dataclasses.replace(binding, value=value)
        before = leaving.broken
        iterate = functools.partial(_iterate, walk, node.body, leaving)
        walk.next_turn(iterate) if is_line else iterate()
        if leaving.broken is not before:
            new = values.conjunction(leaving.broken, values.negation(before))
            assert new is not None
            stopped = composites.selected(new, value, stopped)
        if walk.dead:
            break
        for step in sequence.others:
            walk.evaluate(step, False)
    walk.frame.jumps.pop()
    gone = walk.frame.returned is not returned
    walk.live = values.conjunction(live, values.negation(walk.frame.returned)) if gone else live
    last = sequence.last if leaving.broken is NOBODY else composites.selected(leaving.broken, stopped, sequence.last)
    walk.bindings[sequence.key] = binding
    if not walk.dead:
        walk.assign(sequence.key, last)


def _iterate(walk: Walk, body: Statement, leaving: Jumps) -> None:
    """The body once; those who went on to the next iteration are active again after it."""
    start, broken, returned = walk.live, leaving.broken, walk.frame.returned
    walk.execute(body)
    if leaving.broken is broken and walk.frame.returned is returned:
        walk.live = start
    elif leaving.continued is not NOBODY and walk.live is not None:
        walk.live = values.disjunction(walk.live, leaving.continued)
    leaving.continued = NOBODY


def _number(walk: Walk, node: Expression) -> Number:
    value = walk.evaluate(node)
    return value if isinstance(value, Number) else values.of_truth(truths.of(walk, value))


def _truth(walk: Walk, node: Expression | None) -> Data:
    return np.bool_(True) if node is None else truths.of(walk, walk.evaluate(node))


# ---- of known length ----


def _counted(walk: Walk, node: Loop, counter: Counter) -> None:
    """A loop whose counter is an arithmetic progression; who makes fewer iterations than the most is masked."""
    assert node.condition is not None
    condition = node.condition
    beside = counting.companions(walk, node, counter)
    stepped: tuple[Counter | Companion, ...] = (counter, *beside)
    before = {one.key: walk.bindings[one.key] for one in stepped}
    trips = np.int32(counter.most) if counter.most is not None else _most(walk, counter)
    own_trips = counting.trips(counter) if counter.wraps and not counter.same else None
    others = _others(node, before)

    def once(k: Data) -> None:
        inside = counting.bound(before[counter.key], counter, k)
        within = {one.key: counting.beside(before[one.key], one, counter, k) for one in beside}
        if counter.same:
            walk.bindings.update({**within, counter.key: inside})
            _iteration(walk, node, stepped, others)
        else:
            walk.bindings[counter.key] = counting.anywhere(inside)
            going_on = values.conjunction(_truth(walk, condition), _is_left(k, own_trips))
            assert going_on is not None
            walk.bindings.update({**within, counter.key: inside})
            walk.under(going_on, lambda: _iteration(walk, node, stepped, others))
        walk.bindings.update(before)

    changed = functools.reduce(operator.or_, map(effects.of, others), effects.of(node.body))
    with given.scope(counter.given):
        carrying.carried(walk, node, changed, once, lambda run, init: lax.fori_loop(np.int32(0), trips, run, init))
    for one in stepped:
        if not (isinstance(node.first, Declaration) and one.key[1] in node.first.variables):
            walk.assign(one.key, counting.last(counter, one))


def _others(node: Loop, stepped: Iterable[Key]) -> list[Expression]:
    """The parts of a loop's step that step none of some variables."""
    own = [part for _, variable in stepped for part in headers.stepping(node, variable)]
    return [part for part in headers.steps(node.step) if part not in own]


def _iteration(walk: Walk, node: Loop, stepped: Sequence[Counter | Companion], others: Sequence[Expression]) -> None:
    """The body once, and what the step does besides stepping some variables."""
    leaving = Jumps(loop=True)
    walk.frame.jumps.append(leaving)
    _iterate(walk, node.body, leaving)
    walk.frame.jumps.pop()
    by_part = {id(part): one for one in stepped for part in headers.stepping(node, one.key[1])}
    for part in headers.steps(node.step) if others else ():
        one = by_part.get(id(part))
        if one is None:
            walk.evaluate(part, False)
        else:
            walk.bindings[one.key] = counting.advanced(walk.bindings[one.key], one)


def _is_left(k: Data, trips: Number | None) -> Data | None:
    """Who makes iteration `k`, of work-items whose iterations are counted."""
    return None if trips is None else values.lifted(np.less, lax.lt, values.cast(k, trips.data.dtype), trips.data)


def _most(walk: Walk, counter: Counter) -> jax.Array:
    """The iterations of the work-item that makes the most, as a number of the group."""
    trips = counting.trips(counter)
    data = values.index(trips)
    if data.ndim and walk.where is not None:
        data = composites.select(walk.where, data, data.dtype.type(0))
    return divergence.most(data) if data.ndim else jnp.asarray(data)


# ---- as long as somebody goes on ----


def _repeated(walk: Walk, node: Loop) -> None:
    """A loop on a condition: of the group where that is one for all, else of the work-items that go on."""
    start = np.bool_(True) if node.after else _truth(walk, node.condition)
    if isinstance(start, np.generic) and not start:
        return
    if (never := endless.told(node.condition)) is not None and not jumps(node.body):
        raise walk.refuse(never, node.place)
    outer, known = walk.live, carrying.learnt(walk, node)
    known.divergent |= start.ndim > 0
    while True:
        try:
            _attempt(walk, node, start, outer, known.divergent)
            return
        except Apart:
            known.divergent = True


class Apart(Exception):
    """Some work-items leave a loop before others, which the loop's condition does not say."""


def _attempt(walk: Walk, node: Loop, start: Data, outer: Data | None, apart: bool) -> None:
    saved, before = carrying.Saved(walk), walk.frame.returned
    walk.frame.returned = NOBODY
    try:
        (_by_work_item if apart else _by_group)(walk, node, start, outer)
    except Apart:
        saved.restore()
        raise
    returned = walk.frame.returned
    walk.live = outer if returned is NOBODY else values.conjunction(outer, values.negation(returned))
    walk.frame.returned = values.disjunction(before, returned)


def _by_group(walk: Walk, node: Loop, start: Data, outer: Data | None) -> None:
    """A loop that all active work-items leave together."""
    if _is_simple(node):
        _while_simple(walk, node, outer)
        return
    go = values.conjunction(start, _anybody(outer))
    assert go is not None
    state = carrying.Extra(go)

    def once(_: Data) -> None:
        leaving, again = _body(walk, node, node.condition)
        for gone in (leaving.broken, walk.frame.returned):
            again = values.conjunction(again, values.negation(gone))  # type: ignore[assignment]
        if again.ndim or (walk.live is not outer and walk.live is not None and walk.live.ndim):
            raise Apart
        state.data, walk.live = again, outer

    _while(walk, node, once, state, lambda data: data)


def _anybody(outer: Data | None) -> Data | None:
    """True if somebody is active in the group: where nobody is, the values may never end a loop."""
    return outer if outer is None or not outer.ndim else divergence.some(outer)


def _is_simple(node: Loop) -> bool:
    """True if a condition may be asked again and again: it changes nothing, and nobody leaves the loop but by it."""
    if node.after or node.condition is None or jumps(node.body):
        return False
    asked = list(effects.nodes(node.condition))
    names = {type(n).__name__ for n in asked}
    return names <= {"Constant", "Name", "Binary", "Unary", "Cast"} and not any(
        getattr(n, "op", "") == "*" and type(n).__name__ == "Unary" for n in asked
    )


def _while_simple(walk: Walk, node: Loop, outer: Data | None) -> None:
    some = _anybody(outer)

    def once(_: Data) -> None:
        _body(walk, node, None)
        if walk.live is not outer:
            raise Apart

    def go() -> jax.Array:
        test = _truth(walk, node.condition)
        if test.ndim:
            raise Apart
        both = values.conjunction(test, some)
        return jnp.asarray(both)

    carrying.carried_while(walk, node, _changed(node), once, go)


def _by_work_item(walk: Walk, node: Loop, start: Data, outer: Data | None) -> None:
    """A loop that goes on while one of the work-items does; the others are masked."""
    live = values.conjunction(outer, start)
    assert live is not None
    state = carrying.Extra(live if live.ndim else lax.broadcast(jnp.asarray(live), walk.shape))
    region = walk.region

    def once(_: Data) -> None:
        walk.live, walk.region = state.data, object()
        with walk.scope():
            again = _body(walk, node, node.condition)[1]
            walk.live = values.conjunction(walk.live, again)
        assert walk.live is not None
        state.data = walk.live if walk.live.ndim else lax.broadcast(jnp.asarray(walk.live), walk.shape)
        walk.live, walk.region = outer, region

    _while(walk, node, once, state, divergence.some)


def _body(walk: Walk, node: Loop, asked: Expression | None) -> tuple[Jumps, Data]:
    """The body once, then the step and what is asked, for those who have not left the loop; who may go on."""
    leaving = Jumps(loop=True)
    again: Data = NOBODY
    walk.frame.jumps.append(leaving)
    _iterate(walk, node.body, leaving)
    if not walk.dead:
        if node.step is not None:
            walk.evaluate(node.step, False)
        again = _truth(walk, asked)
    walk.frame.jumps.pop()
    return leaving, again


def _changed(node: Loop) -> effects.Effects:
    found = effects.of(node.body)
    for part in (node.condition, node.step):
        found = found if part is None else found | effects.of(part)
    return found


def _while(
    walk: Walk, node: Loop, once: Callable[[Data], None], state: carrying.Extra, go: Callable[[Data], Data]
) -> None:
    carrying.carried(
        walk,
        node,
        _changed(node),
        once,
        lambda run, init: lax.while_loop(
            lambda carry: jnp.asarray(go(carry[-1][0])), lambda carry: run(np.int32(0), carry), init
        ),
        state,
    )

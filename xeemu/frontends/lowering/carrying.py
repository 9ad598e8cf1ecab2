"""Carrying: a loop's body as a function from what it changes to what it makes of it, for JAX's loops.

What is carried is found from the tree (`effects`); where a value turns out to differ between work-items, or more is
changed, the body is traced once more.
"""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import composites, types, values
from xeemu.frontends.lowering import registers, targets
from xeemu.frontends.lowering.effects import Effects
from xeemu.frontends.lowering.walk import Key, Walk
from xeemu.frontends.tree import If, Loop, Variable
from xeemu.frontends.values import (
    ArrayValue,
    Data,
    Either,
    Fields,
    Handle,
    Null,
    Number,
    Pointing,
    RegisterAddress,
    Value,
)
from xeemu.language.memory import Memory

Carry: TypeAlias = tuple[tuple[jax.Array, ...], tuple[Memory, ...], tuple[jax.Array, ...]]
Run: TypeAlias = Callable[[Any, Carry], Carry]


@dataclasses.dataclass(eq=False)
class Extra:
    """A mask that a loop carries for itself: who goes on, or whether all do."""

    data: Data


@dataclasses.dataclass(eq=False)
class Learnt:
    """What traces of a loop have shown, for the next one: a loop inside another is traced with that one again.

    Attributes:
      apart: variables and the numbers of their leaves whose values differ between work-items.
      variables, memories: what is carried beside what the tree tells.
      divergent: True if work-items leave the loop at different times.
    """

    apart: set[Any] = dataclasses.field(default_factory=set)
    variables: set[Variable] = dataclasses.field(default_factory=set)
    memories: set[Any] = dataclasses.field(default_factory=set)
    divergent: bool = False


class Wider(Exception):
    """A loop changes something that its carry does not hold, or not for each work-item."""


@dataclasses.dataclass(eq=False)
class Held:
    """What a loop carries.

    Attributes:
      keys: variables.
      memories: keys of memories.
      learnt: which values differ between work-items.
      targets: of each pointer what it has pointed to.
      returned: True if who has returned is carried.
    """

    keys: list[Key]
    memories: list[Any]
    learnt: Learnt
    targets: dict[Any, list[Value]] = dataclasses.field(default_factory=dict)
    returned: bool = False


def carried(
    walk: Walk,
    node: Loop | If,
    changed: Effects,
    once: Callable[[Data], None],
    run: Callable[[Run, Carry], Carry],
    extra: Extra | None = None,
) -> None:
    """Runs a loop, or a branch as one of a single iteration.

    Args:
      walk: the walk, which is left as it is after the loop.
      node: the loop.
      changed: what its body may change.
      once: walks the body, given the number of the iteration.
      run: JAX's loop, given the body over its carry and the carry before the loop.
      extra: what the loop carries for itself; last in the carry.
    """
    _attempts(walk, node, changed, lambda held: _once_run(walk, held, once, run, extra))


def learnt(walk: Walk, node: Loop | If) -> "Learnt":
    """What earlier traces of a loop have shown."""
    return walk.learnt.setdefault(node, Learnt())


def carried_while(
    walk: Walk, node: Loop, changed: Effects, once: Callable[[Data], None], go: Callable[[], jax.Array]
) -> None:
    """As `carried`, for a loop that is asked before each iteration if it goes on."""

    def attempt(held: Held) -> None:
        state = Saved(walk)

        def test(carry: Carry) -> jax.Array:
            state.restore()
            _unpack(walk, held, carry, None)
            return walk.anew(go)

        _once_run(walk, held, once, lambda body, init: lax.while_loop(test, lambda c: body(np.int32(0), c), init), None)

    _attempts(walk, node, changed, attempt)


def _attempts(walk: Walk, node: Loop | If, changed: Effects, attempt: Callable[[Held], None]) -> None:
    held, state = _held(walk, changed, learnt(walk, node)), Saved(walk)
    while True:
        try:
            attempt(held)
            return
        except Wider:
            state.restore()


class Saved:
    """The walk as it was before a loop."""

    def __init__(self, walk: Walk):
        self.walk = walk
        self.bindings, self.memories = dict(walk.bindings), dict(walk.memories)
        self.live, self.region, self.frame = walk.live, walk.region, walk.frame
        self.returned, self.jumps = walk.frame.returned, list(walk.frame.jumps)
        self.result, self.transfers = walk.frame.result, list(walk.transfers)

    def restore(self) -> None:
        walk = self.walk
        walk.bindings, walk.memories = dict(self.bindings), dict(self.memories)
        walk.live, walk.region, walk.frame = self.live, self.region, self.frame
        walk.frame.returned, walk.frame.jumps, walk.frame.result = self.returned, list(self.jumps), self.result
        walk.transfers = list(self.transfers)


def _held(walk: Walk, changed: Effects, known: Learnt) -> Held:
    """What a loop carries, as far as its tree and earlier traces tell."""
    keys = {walk.key(v) for v in changed.assigned | known.variables if walk.key(v) in walk.bindings}
    memories = known.memories | {v for v in changed.assigned if v in walk.memories}
    seen: set[Variable] = set()
    for variable in changed.stored | changed.assigned:
        _resolve(walk, variable, variable in changed.stored, keys, memories, seen)
    if changed.synchronises:
        memories |= {k for k, layout in walk.layouts.items() if layout.space == "local" or k in walk.written}
    order = {k: n for n, k in enumerate(walk.memories)}
    number = {k: n for n, k in enumerate(walk.bindings)}
    return Held(sorted(keys, key=number.__getitem__), sorted(memories, key=order.__getitem__), known)


def _resolve(
    walk: Walk, variable: Variable, stored: bool, keys: set[Key], memories: set[Any], seen: set[Variable]
) -> None:
    """Adds what is changed through a variable."""
    if variable in seen or not stored:
        return
    seen.add(variable)
    if variable in walk.memories and not isinstance(variable.type, types.Pointer):
        memories.add(variable)
    key = walk.key(variable)
    if key in walk.bindings:
        _resolve_value(walk, key, walk.bindings[key].value, keys, memories)
    for source in walk.flows.get(variable, ()):
        _resolve(walk, source, True, keys, memories, seen)


def _resolve_value(walk: Walk, key: Key, value: Value, keys: set[Key], memories: set[Any]) -> None:
    match value:
        case Pointing(memory=memory):
            memories.add(memory)
        case RegisterAddress(variable=variable):
            keys.add(variable)
        case Handle(what=image) if image in walk.memories:
            memories.add(image)
        case Either(then=a, otherwise=b):
            _resolve_value(walk, key, a, keys, memories)
            _resolve_value(walk, key, b, keys, memories)
        case Null():
            if not isinstance(value.type, types.Pointer):
                keys.add(key)
        case _:
            keys.add(key)


def _once_run(
    walk: Walk,
    held: Held,
    once: Callable[[Data], None],
    run: Callable[[Run, Carry], Carry],
    extra: Extra | None,
) -> None:
    state = Saved(walk)
    init = _pack(walk, held, extra, None)
    start = None if extra is None else extra.data

    def body(k: Any, carry: Carry) -> Carry:
        state.restore()
        _unpack(walk, held, carry, extra)
        before = Saved(walk)
        walk.anew(lambda: once(k))
        _check(walk, held, before)
        return _pack(walk, held, extra, init)

    try:
        result = run(body, init)
    finally:
        state.restore()
        if extra is not None:
            assert start is not None
            extra.data = start
    _unpack(walk, held, result, None)


def _check(walk: Walk, held: Held, before: Saved) -> None:
    """Has the body traced again if it has changed what is not carried."""
    wider = False
    for key, binding in before.bindings.items():
        if key not in held.keys and walk.bindings[key].value is not binding.value:
            held.keys.append(key)
            held.learnt.variables.add(key[1])
            wider = True
    for key, memory in before.memories.items():
        if key not in held.memories and walk.memories[key]._version is not memory._version:
            held.memories.append(key)
            held.learnt.memories.add(key)
            wider = True
    if walk.frame.returned is not before.returned and not held.returned:
        held.returned = wider = True
    if wider:
        raise Wider


_RETURNED = "returned"


def _pack(walk: Walk, held: Held, extra: Extra | None, like: Carry | None) -> Carry:
    """What a loop carries as JAX's arrays."""
    first = like is None
    for key in held.keys:
        if registers.is_promoted(walk, key) and registers.is_unset(walk.bindings[key].value):
            raise registers.give_up(key)
    named: list[tuple[Any, Data]] = [
        ((k[1], n), values.exact(x))
        for k in held.keys
        for n, x in enumerate(_leaves(walk, held, k, k[1].type, walk.bindings[k].value, first))
    ]
    if held.returned:
        named.append((_RETURNED, walk.frame.returned))
        named += [((_RETURNED, n), values.exact(x)) for n, x in enumerate(_result(walk, held, first))]
    found = {name for name, data in named if data.ndim} - held.learnt.apart
    if found:
        held.learnt.apart |= found
        raise Wider
    data = tuple(_spread(walk, name in held.learnt.apart, x) for name, x in named)
    memories = tuple(walk.memories[key] for key in held.memories)
    return data, memories, () if extra is None else (jnp.asarray(extra.data),)


def _spread(walk: Walk, apart: bool, data: Data) -> jax.Array:
    return lax.broadcast(jnp.asarray(data), walk.shape) if apart and not data.ndim else jnp.asarray(data)


def _result(walk: Walk, held: Held, first: bool) -> Sequence[Number]:
    """The numbers of what the function has returned so far."""
    of = walk.frame.function.result
    if walk.frame.result is None:
        walk.frame.result = Null(of, False) if isinstance(of, types.Pointer) else values.zero(of)
    walk.frame.result = registers.settled(walk.frame.result)
    return _leaves(walk, held, _RETURNED, of, walk.frame.result, first)


def _leaves(walk: Walk, held: Held, name: Any, of: types.Type, value: Value, first: bool) -> Sequence[Number]:
    """The numbers of a variable, before the loop or after its body."""
    if not isinstance(of, types.Pointer):
        value = values.zero(value.type) if isinstance(value, Null) else value
        if not types.holds_pointer(of):
            return composites.leaves(value)
        parts = _parts(of, value)
        return [n for k, (part, x) in enumerate(parts) for n in _leaves(walk, held, (name, k), part, x, first)]
    known = held.targets.setdefault(name, [])
    new = [t for t in targets.of(value) if targets.place(t, known) is None]
    known += new
    if new and not first:
        raise Wider
    return targets.numbers(value, known)


def _unpack(walk: Walk, held: Held, carry: Carry, extra: Extra | None) -> None:
    """The walk with what a loop has carried."""
    data, memories, own = carry
    found = iter(data)
    for key in held.keys:
        binding = walk.bindings[key]
        walk.bindings[key] = dataclasses.replace(binding, value=_rebuilt(held, key, key[1].type, binding.value, found))
    if held.returned:
        walk.frame.returned = next(found)
        _result(walk, held, True)
        assert walk.frame.result is not None
        walk.frame.result = _rebuilt(held, _RETURNED, walk.frame.function.result, walk.frame.result, found)
    walk.memories.update(zip(held.memories, memories, strict=True))
    if extra is not None:
        (extra.data,) = own


def _rebuilt(held: Held, name: Any, of: types.Type, value: Value, found: Iterator[jax.Array]) -> Value:
    if not composites.leaves(value) and _is_event(of):
        return Handle(types.Opaque("event_t"), None)  # of this iteration or another one
    if isinstance(of, types.Pointer):
        among = held.targets.get(name, [])
        numbers = [values.held(types.INT, next(found)) for _ in range(targets.count(among))]
        return targets.pointer(among, numbers, of)
    if isinstance(value, Null):
        value = values.zero(value.type)
    if types.holds_pointer(of):
        parts = [_rebuilt(held, (name, k), part, x, found) for k, (part, x) in enumerate(_parts(of, value))]
        return _whole(value, parts)
    return composites.rebuilt(value, [values.held(n.type, next(found)) for n in composites.leaves(value)])


def _parts(of: types.Type, value: Value) -> list[tuple[types.Type, Value]]:
    """The elements or fields of a value with pointers in it, each with its type."""
    if isinstance(value, Fields):
        return [(f.type, value.items[f.name]) for f in value.type.fields]
    assert isinstance(of, types.Array)
    assert isinstance(value, ArrayValue)
    return [(of.element, x) for x in value.items]


def _whole(value: Value, parts: Sequence[Value]) -> Value:
    """A value like another one, of other elements or fields."""
    if isinstance(value, Fields):
        return Fields(value.type, dict(zip(value.items, parts, strict=True)))
    assert isinstance(value, ArrayValue)
    return ArrayValue(value.type, tuple(parts))


def _is_event(of: types.Type) -> bool:
    return _is_event(of.element) if isinstance(of, types.Array) else of == types.Opaque("event_t")

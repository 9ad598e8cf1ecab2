"""Scalar promotion: a memory that a loop accesses at one place is a value in there, loaded before and stored after it.

A loop that loads and stores the same elements in every iteration, each element on its own, need not go through memory
(see `invariant_places`). Masks may differ: who is masked out keeps his element.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.devices.target import Target
from xeemu.ir import control, ops
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.rewriting import Rewriter, rewritten
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form
from xeemu.language import primitives
from xeemu.language.program import Program
from xeemu.passes import invariant_places
from xeemu.passes.building import Builder
from xeemu.passes.facts import Facts
from xeemu.passes.invariant_places import Place

_LOOPS = ("scan", "while")


def promote_memories(program: Program, facts: Facts, target: Target) -> Program:
    """A program whose loops carry elements of memories that they access at one place only."""
    promotion = _Promotion(program, facts)
    return dataclasses.replace(program, body=rewritten(program.body, promotion.rule, promotion.renewed))


class _Promotion:
    """Rewrites loops; in there, the versions of promoted memories are their elements."""

    def __init__(self, program: Program, facts: Facts) -> None:
        self.program, self.facts = program, facts
        self.places: dict[Known, Place] = {}

    def renewed(self, value: Value) -> Value:
        place = self.places.get(self.facts.known(value))
        return value if place is None else Value(place.shape, value.dtype)

    def rule(self, rewriter: Rewriter, op: Op) -> Sequence[Value | None] | None:
        if op.name in _LOOPS:
            found = {
                memory: place
                for memory, place in invariant_places.of_loop(op, self.facts).items()
                if memory not in self.places
            }
            return self._loop(rewriter, op, found) if found else None
        place = self.places.get(self.facts.known(op.operands[0])) if op.operands and not op.regions else None
        if op.name in ops.ACCESSES and place is not None:
            access = _Access(Builder(self.program, rewriter, op), self.facts, place)
            return [access.loaded() if ops.operation(op) == "load" else access.stored()]
        if op.name in ops.ORDERING:
            return self._ordered(rewriter, op)
        return None

    def _loop(self, rewriter: Rewriter, op: Op, places: Mapping[Known, Place]) -> list[Value]:
        """A loop that carries elements of some memories; gives its results."""
        around, memories = dict(self.places), dict[int, _Memory]()
        for k, value in enumerate(op.operands):
            if (place := places.get(self.facts.known(value))) is not None:
                builder = Builder(self.program, rewriter, place.op)
                memories[k] = _Memory(builder, op, place, rewriter.values([value])[0])
        rewriter.found |= {op.operands[k]: memory.loaded() for k, memory in memories.items()}
        self.places |= places
        rewriter.keep(op)
        self.places = around
        for k, memory in memories.items():
            rewriter.found[op.operands[k]] = memory.value
            (last,) = rewriter.values([op.results[k]])
            rewriter.found[op.results[k]] = memory.stored(last)
        return rewriter.values(op.results)

    def _ordered(self, rewriter: Rewriter, op: Op) -> Sequence[Value | None] | None:
        """What a barrier or fence gives, for the memories that are left to it."""
        are_values = [self.facts.known(value) in self.places for value in op.operands]
        if not any(are_values):
            return None
        values = rewriter.values(op.operands)
        left = [value for value, is_value in zip(values, are_values, strict=True) if not is_value]
        memories = [value for value, is_value in zip(op.results, are_values, strict=False) if not is_value]
        if memories:
            Builder(self.program, rewriter, op).add(
                dataclasses.replace(op, operands=tuple(left), results=tuple(memories))
            )
        each = zip(op.results, values, are_values, strict=False)
        return [value if is_value else result for result, value, is_value in each]


class _Memory:
    """A memory before a loop that carries its elements at one place."""

    def __init__(self, builder: Builder, loop: Op, place: Place, value: Value) -> None:
        self.builder, self.place, self.value = builder, place, value
        self._elements, is_masked = place.address.elements, not place.address.elements.all
        self._access = dataclasses.replace(place.access, masked=is_masked, ordering=None, block=False)
        self._mask = np.isin(np.arange(math.prod(self._elements.shape)), self._elements.chosen)
        self._index = self._index_before(loop)

    def loaded(self) -> Value:
        """The elements before the loop."""
        dtype, elements = self.value.dtype, self._elements

        def load(*operands: Any) -> Any:
            rest = () if elements.all else (self._mask.reshape(elements.shape), jnp.zeros((), dtype))
            return _chosen(primitives.load_p.bind(*operands, *rest, access=self._access)[0], elements)

        return self.builder.applied(load, self.value, *self._index)[0]

    def stored(self, last: Value) -> Value:
        """The memory's next version, with the elements that the loop has left."""
        elements = self._elements

        def store(last: Any, *operands: Any) -> Any:
            rest = () if elements.all else (self._mask.reshape(elements.shape),)
            return primitives.store_p.bind(*operands, _spread(last, elements), *rest, access=self._access)

        return self.builder.applied(store, last, self.value, *self._index)[0] if self.place.stores else self.value

    def _index_before(self, loop: Op) -> list[Value]:
        """The index, as it is in every iteration."""
        indices, rewriter = ops.indices(self.place.op), self.builder.rewriter
        if (forms := self.place.forms) is not None:
            return [self._of_form(form, value) for form, value in zip(forms, indices, strict=True)]
        body = loop.regions[-1]
        carried = control.carried(control.of(loop), body)
        needed = Region(tuple(carried), tuple(body.ops[number] for number in body.needed(indices)), tuple(indices))
        return rewriter.inline(needed, rewriter.values(loop.operands[: len(carried)]), lambda inner, op: None)

    def _of_form(self, form: Form, like: Value) -> Value:
        """A component that is known: what the group's ids and the work-items add up to."""
        pattern, id_type = form.pattern.astype(like.dtype), self.builder.program.geometry.id_type

        def computed() -> jax.Array:
            total = jnp.asarray(pattern)
            for d, step in enumerate(form.steps):
                if step:
                    (group,) = primitives.group_id_p.bind(dim=d, dtype=id_type)
                    added = lax.mul(lax.convert_element_type(group, like.dtype), jnp.asarray(step, like.dtype))
                    total = lax.add(total, lax.broadcast(added, pattern.shape))
            return total

        return self.builder.applied(computed)[0]


@dataclasses.dataclass(frozen=True, eq=False)
class _Access:
    """An access in a loop to a memory whose elements are a value there.

    Attributes:
      builder: of what stands for it.
      facts: of the program.
      place: of the memory.
    """

    builder: Builder
    facts: Facts
    place: Place

    @property
    def _held(self) -> Value:
        """The elements before it."""
        return self.builder.rewriter.values(self.builder.op.operands[:1])[0]

    @property
    def _elements(self) -> Elements:
        op = self.builder.op
        mask, shape = ops.mask(op), op.attributes["access"].shape
        return addressing.left_in(shape, None if mask is None else self.facts.known(mask).form)

    @property
    def _masked(self) -> bool:
        """Whether its mask is known only as the program runs."""
        mask = ops.mask(self.builder.op)
        form = None if mask is None else self.facts.known(mask).form
        return mask is not None and (form is None or not form.constant)

    def loaded(self) -> Value:
        """What a load gives; who is masked out gets what is to be given instead."""
        elements, rest = self._elements, self._rest()
        choose = self._masked or not elements.all
        if not choose and self._held.shape == elements.shape:
            return self._held

        def load(held: Any, *rest: Any) -> Any:
            found = _spread(held, elements)
            if not choose:
                return found
            mask, other = (_aligned(x, elements.shape) for x in rest)
            return lax.select(mask, found, other.astype(held.dtype))

        return self.builder.applied(load, self._held, *(rest if choose else ()))[0]

    def stored(self) -> Value:
        """The elements after a store; who is masked out keeps his."""
        elements, (value, *mask) = self._elements, self._rest()
        is_masked = self._masked
        if not is_masked and elements.all and (value.shape, value.dtype) == (self._held.shape, self._held.dtype):
            return value

        def store(held: Any, value: Any, *mask: Any) -> Any:
            new = _chosen(_aligned(value, elements.shape), elements).astype(held.dtype).reshape(held.shape)
            if not mask:
                return new
            return lax.select(_aligned(mask[0], elements.shape).reshape(held.shape), new, held)

        return self.builder.applied(store, self._held, value, *(mask if is_masked else ()))[0]

    def _rest(self) -> list[Value]:
        """Its operands after the index."""
        op = self.builder.op
        return self.builder.rewriter.values(op.operands[1 + op.attributes["access"].rank :])


# --- Elements as values ---


def _aligned(x: Any, shape: tuple[int, ...]) -> jax.Array:
    """An operand of an access with all of its axes; those that it lacks are the last."""
    x = jnp.asarray(x)
    return jnp.broadcast_to(x.reshape(*x.shape, *(1,) * (len(shape) - x.ndim)), shape)


def _chosen(x: jax.Array, elements: Elements) -> jax.Array:
    """`[n]` of an array of the shape of an access its elements; the array itself if they are all of it."""
    if elements.all:
        return x
    flat, step = x.reshape(-1), _step(elements)
    if step is None:
        return flat[elements.chosen]
    first, last = int(elements.chosen[0]), int(elements.chosen[-1])
    return lax.slice(flat, (first,), (last + 1,), (step,))


def _spread(x: jax.Array, elements: Elements) -> jax.Array:
    """An array of the shape of an access with such elements; what the others are does not matter."""
    if elements.all or elements.count == 1:
        return jnp.broadcast_to(
            x.reshape(elements.shape if elements.all else (1,) * len(elements.shape)), elements.shape
        )
    size, step = math.prod(elements.shape), _step(elements)
    if step is None:
        numbers = np.zeros(size, np.int32)
        numbers[elements.chosen] = np.arange(elements.count)
        return x.reshape(-1)[numbers].reshape(elements.shape)
    first, last = int(elements.chosen[0]), int(elements.chosen[-1])
    padded = lax.pad(x.reshape(-1), jnp.zeros((), x.dtype), [(first, size - last - 1, step - 1)])
    return padded.reshape(elements.shape)


def _step(elements: Elements) -> int | None:
    """The distance between elements that are equally far apart."""
    apart = np.unique(np.diff(elements.chosen))
    return int(apart[0]) if len(apart) == 1 else 1 if elements.count == 1 else None

"""Scalar promotion: a memory that a loop accesses at one address is a value in it, loaded before and stored after it.

A loop that loads and stores the same elements in every iteration, each element on its own, need not go through memory
(see `invariant_addresses`). Masks may differ: who is masked out keeps his element.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.devices.target import Target
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.ir.rewriting import Rewriter, rewritten
from xeemu.knowledge import addressing
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Known
from xeemu.knowledge.forms import Form
from xeemu.language import primitives
from xeemu.language.program import Program
from xeemu.passes import building, elements, eliminate_dead_code, invariant_addresses
from xeemu.passes.analyses import Analyses
from xeemu.passes.building import Builder
from xeemu.passes.invariant_addresses import InvariantAddress

_LOOPS = ("scan", "while")


def promote_memories(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program whose loops carry elements of memories that they access at one address only."""
    promotion = _Promotion(program, analyses)
    return eliminate_dead_code.remade(program, rewritten(program.body, promotion.rule, promotion.renewed))


class _Promotion:
    """Rewrites loops; in there, the versions of promoted memories are their elements."""

    def __init__(self, program: Program, analyses: Analyses) -> None:
        self.program, self.analyses = program, analyses
        self.invariants: dict[Known, InvariantAddress] = {}

    def renewed(self, value: Value) -> Value:
        invariant = self.invariants.get(self.analyses.known(value))
        return value if invariant is None else Value(invariant.shape, value.dtype)

    def rule(self, rewriter: Rewriter, op: Op) -> Sequence[Value | None] | None:
        if op.name in _LOOPS:
            found = {
                memory: invariant
                for memory, invariant in invariant_addresses.of_loop(op, self.analyses).items()
                if memory not in self.invariants
            }
            return self._loop(rewriter, op, found) if found else None
        invariant = self.invariants.get(self.analyses.known(op.operands[0])) if op.operands and not op.regions else None
        if op.name in ops.ACCESSES and invariant is not None:
            access = _Access(Builder(self.program, rewriter, op), self.analyses, invariant)
            return [access.stored() if ops.changes(op) else access.loaded()]
        if op.name in ops.ORDERING:
            return self._ordered(rewriter, op)
        return None

    def _loop(self, rewriter: Rewriter, op: Op, invariants: Mapping[Known, InvariantAddress]) -> list[Value]:
        """A loop that carries elements of some memories; gives its results."""
        around, memories = dict(self.invariants), dict[int, _Memory]()
        for k, value in enumerate(op.operands):
            if (invariant := invariants.get(self.analyses.known(value))) is not None:
                builder = Builder(self.program, rewriter, invariant.op)
                memories[k] = _Memory(builder, op, invariant, rewriter.values([value])[0])
        rewriter.replacements |= {op.operands[k]: memory.loaded() for k, memory in memories.items()}
        self.invariants |= invariants
        rewriter.keep(op)
        self.invariants = around
        for k, memory in memories.items():
            rewriter.replacements[op.operands[k]] = memory.value
            (last,) = rewriter.values([op.results[k]])
            rewriter.replacements[op.results[k]] = memory.stored(last)
        return rewriter.values(op.results)

    def _ordered(self, rewriter: Rewriter, op: Op) -> Sequence[Value | None] | None:
        """What a barrier or fence gives, for the memories that are left to it."""
        are_values = [self.analyses.known(value) in self.invariants for value in op.operands]
        if not any(are_values):
            return None
        values = rewriter.values(op.operands)
        stored = [value for value, is_value in zip(values, are_values, strict=True) if not is_value]
        memories = [value for value, is_value in zip(op.results, are_values, strict=False) if not is_value]
        if memories:
            Builder(self.program, rewriter, op).add(
                dataclasses.replace(op, operands=tuple(stored), results=tuple(memories))
            )
        each = zip(op.results, values, are_values, strict=False)
        return [value if is_value else result for result, value, is_value in each]


class _Memory:
    """A memory before a loop that carries its elements at one address."""

    def __init__(self, builder: Builder, loop: Op, invariant: InvariantAddress, value: Value) -> None:
        self.builder, self.invariant, self.value = builder, invariant, value
        self._elements, self._index = invariant.address.elements, self._index_before(loop)
        masked = not self._elements.all
        self._access = dataclasses.replace(invariant.access, masked=masked, ordering=None, block=False)

    def loaded(self) -> Value:
        """The elements before the loop."""
        given = {"access": self._access, "chosen": self._elements}
        return self.builder.applied(_load_before, self.value, *self._index, **given)[0]

    def stored(self, last: Value) -> Value:
        """The memory's next version, with the elements that the loop has left."""
        if not self.invariant.stores:
            return self.value
        given = {"access": self._access, "chosen": self._elements}
        return self.builder.applied(_store_after, last, self.value, *self._index, **given)[0]

    def _index_before(self, loop: Op) -> list[Value]:
        """The index, as it is in every iteration."""
        indices, rewriter = ops.indices(self.invariant.op), self.builder.rewriter
        if (forms := self.invariant.forms) is not None:
            return [self._of_form(form, value) for form, value in zip(forms, indices, strict=True)]
        body = loop.regions[-1]
        carried = control.carried(control.of(loop), body)
        needed = Region(tuple(carried), tuple(body.ops[number] for number in body.needed(indices)), tuple(indices))
        return rewriter.inline(needed, rewriter.values(loop.operands[: len(carried)]), lambda inner, op: None)

    def _of_form(self, form: Form, like: Value) -> Value:
        """A component that is known: what the group's ids and the work-items add up to."""
        array = form.pattern.astype(like.dtype)
        pattern = Constant(array.shape, array.dtype, array=array, is_literal=not array.ndim)
        if not any(form.steps):
            return pattern
        id_type = self.builder.program.geometry.id_type
        return self.builder.applied(_component, pattern, steps=form.steps, id_type=id_type)[0]


@dataclasses.dataclass(frozen=True, eq=False)
class _Access:
    """An access in a loop to a memory whose elements are a value there.

    Attributes:
      builder: of what stands for it.
      analyses: of the program.
      invariant: of the memory.
    """

    builder: Builder
    analyses: Analyses
    invariant: InvariantAddress

    @property
    def contents(self) -> Value:
        """The elements before it."""
        return self.builder.rewriter.values(self.builder.op.operands[:1])[0]

    @property
    def _elements(self) -> Elements:
        return addressing.active_elements(self.builder.op, self.analyses.known)

    @property
    def _masked(self) -> bool:
        return addressing.is_masked(self.builder.op, self.analyses.known)

    def loaded(self) -> Value:
        """What a load gives; who is masked out gets what is to be given instead."""
        chosen = self._elements
        rest = self._trailing_operands() if self._masked or not chosen.all else []
        if not rest and self.contents.shape == chosen.shape:
            return self.contents
        return self.builder.applied(_load, self.contents, *rest, chosen=chosen)[0]

    def stored(self) -> Value:
        """The elements after a store; who is masked out keeps his."""
        chosen, (value, *mask) = self._elements, self._trailing_operands()
        if not self._masked:
            if chosen.all and (value.shape, value.dtype) == (self.contents.shape, self.contents.dtype):
                return value
            mask = []
        return self.builder.applied(_store, self.contents, value, *mask, chosen=chosen)[0]

    def _trailing_operands(self) -> list[Value]:
        """Its operands after the index."""
        op = self.builder.op
        return self.builder.rewriter.values(op.operands[1 + op.attributes["access"].rank :])


# --- What stands for accesses, as functions of JAX ---


def _component(pattern: jax.Array, *, steps: Sequence[int], id_type: Any) -> jax.Array:
    """A component of an index: what the group's ids add to a pattern."""
    for term in building.group_terms(steps, id_type, pattern.dtype):
        pattern = lax.add(pattern, lax.broadcast(term, pattern.shape))
    return pattern


def _load_before(
    memory: jax.Array, *index: jax.Array, access: primitives.AccessAttributes, chosen: Elements
) -> jax.Array:
    rest = () if chosen.all else (chosen.mask, jnp.zeros((), memory.dtype))
    return elements.gathered(primitives.load_p.bind(memory, *index, *rest, access=access)[0], chosen)


def _store_after(last: jax.Array, *given: jax.Array, access: primitives.AccessAttributes, chosen: Elements) -> Any:
    rest = () if chosen.all else (chosen.mask,)
    return primitives.store_p.bind(*given, elements.spread(last, chosen), *rest, access=access)


def _load(contents: jax.Array, *rest: jax.Array, chosen: Elements) -> jax.Array:
    found = elements.spread(contents, chosen)
    if not rest:
        return found
    mask, passthrough = (elements.aligned(x, chosen.shape) for x in rest)
    return lax.select(mask, found, passthrough.astype(contents.dtype))


def _store(contents: jax.Array, value: jax.Array, *mask: jax.Array, chosen: Elements) -> jax.Array:
    new = elements.gathered(elements.aligned(value, chosen.shape), chosen, contents.shape).astype(contents.dtype)
    return lax.select(elements.aligned(mask[0], chosen.shape).reshape(contents.shape), new, contents) if mask else new

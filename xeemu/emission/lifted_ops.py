"""Lifted operations: JAX's own operations and group algorithms, lifted over the groups of a chunk.

A value that differs between groups has a leading axis of groups: an operation on elements applies to it as it is, and
others are lifted by `vmap` of their primitive. How the result is laid out, and what gives it so, is
decided before (see `layout_assignment` and `operation_plans`).
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.emission import exactness, invariant_divisions, items, movements, positions, subgroups
from xeemu.emission.context import Applied
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.items import Item, as_value, named
from xeemu.emission.values import Emitted, MaskedElements, lifted
from xeemu.ir import evaluation
from xeemu.ir.program import Op
from xeemu.knowledge import forms
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Facts
from xeemu.planning import layouts
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layouts import LANE_FORM, BySubgroup, LaneForm, Layout, Masked, Sharing
from xeemu.planning.operation_plans import (
    Binding,
    Collected,
    Elementwise,
    Exact,
    Formed,
    Lifted,
    Movement,
    Multiplied,
    OperationPlan,
    Unsigned,
)

_Bind = Callable[[Op, Sequence[jax.Array]], list[jax.Array]]


def results(plan: OperationPlan, applied: Applied, chunk: EmittedChunk) -> list[Item]:
    """The results of one of JAX's own operations that is no comparison of fields.

    Args:
      plan: how it is carried out.
      applied: the operation.
      chunk: the work-groups.
    """
    facts, op, operands = applied.facts, applied.op, list(map(as_value, applied.operands))
    match plan:
        case Formed():
            return [_formed(facts, op, operands)]
        case Elementwise(binding):
            bind = _bound(binding, operands)
            return [_Elementwise(plan, bind, op, operands, chunk).result(facts, applied.layouts[0])]
        case Movement():
            return [movements.result(plan, facts, op, operands, applied.layouts[0], chunk)]
        case Lifted(binding):
            bind = _bound(binding, operands)
            each = zip(op.results, applied.layouts, lifted(lambda *xs: bind(op, xs), operands, chunk), strict=True)
            return [items.laid_out(facts, v, layout, array) for v, layout, array in each]
    raise AssertionError(plan)


def compared(
    facts: Facts, op: Op, comparison: Comparison, value: Emitted, layout: Layout, chunk: EmittedChunk
) -> list[Item]:
    """The result of what joins comparisons of fields of a value, as one comparison of the value."""
    if isinstance(layout, BySubgroup):
        array = subgroups.compared(comparison, value, layout, chunk)
        return [items.laid_out(facts, op.results[0], layout, array)]
    array = value.array(chunk)
    assert comparison.shape is not None
    beside = array.reshape(*array.shape[: value.known.varying], *comparison.shape)
    return named(facts, op.results, [subgroups.applied(comparison, beside, comparison.bits)])


def collected(applied: Applied, plan: Collected, chunk: EmittedChunk) -> list[Item]:
    """The result of a group algorithm."""
    op, (layout,), known = applied.op, applied.layouts, plan.known_operands
    algorithm, operands = op.attributes["collective"], list(map(as_value, applied.operands))
    apply = algorithm.rows if isinstance(layout, BySubgroup) else algorithm.apply
    if known is None:
        (array,) = lifted(lambda *xs: [apply(*xs)], operands, chunk)
    else:
        (array,) = lifted(lambda x: [apply(x, *known)], operands[:1], chunk)
    return [items.laid_out(applied.facts, op.results[0], layout, array)]


def uniform(
    facts: Facts, op: Op, operands: list[Emitted], layout: Layout, chunk: EmittedChunk, present: jax.Array | None
) -> list[Item]:
    """The result of what a group has alike of its work-items' values, those that exist by a `[G, L]` mask or all."""
    if isinstance(layout, LaneForm):
        return [_formed(facts, op, operands)]
    kind = op.attributes["kind"]

    def of_group(exists: jax.Array | None, x: jax.Array, *mask: jax.Array) -> list[jax.Array]:
        x = x.reshape(-1)
        if kind == "pick":
            inputs = mask[0].reshape(-1)
            return [x[jnp.argmax(inputs if exists is None else inputs & exists)]]
        if kind == "some":
            return [x.any(where=exists)]
        return [x.max() if exists is None else x.max(where=exists, initial=jnp.iinfo(x.dtype).min)]

    if present is None:
        return named(facts, op.results, lifted(functools.partial(of_group, None), operands, chunk))
    arrays = [o.array(chunk) for o in operands]
    axes = [0 if o.known.varying else None for o in operands]
    return named(facts, op.results, jax.vmap(of_group, in_axes=[0, *axes])(present, *arrays))


def _bound(binding: Binding, operands: Sequence[Emitted]) -> _Bind:
    """What binds an operation to other arrays."""
    match binding:
        case Multiplied():
            divisor = _only_divisor(operands[1])
            return lambda op, arrays: [invariant_divisions.divided(op.name, arrays[0], divisor)]
        case Exact():
            return functools.partial(exactness.bound, plan=binding)
        case Unsigned():
            return _bind_unsigned
    return evaluation.results


def _formed(facts: Facts, op: Op, operands: list[Emitted]) -> Emitted:
    """The result as a lane form, which its operands or nothing but the program decides on."""
    (out,) = op.results
    bases = [forms.converted(o.known.form, o.base, out.dtype) for o in operands if o.known.form is not None]
    base = forms.base(bases, factors) if (factors := facts.factors.get(out)) else None
    return Emitted(facts.values[out], out.shape, out.dtype, LANE_FORM, base)


@dataclasses.dataclass(frozen=True, eq=False)
class _Elementwise:
    """An elementwise operation, which does for all groups at once what it does for one.

    Attributes:
      plan: how it is carried out.
      bind: how it is bound to other arrays.
      op: the operation.
      operands: what goes into it.
      chunk: the work-groups.
    """

    plan: Elementwise
    bind: _Bind
    op: Op
    operands: Sequence[Emitted]
    chunk: EmittedChunk

    def result(self, facts: Facts, layout: Layout) -> Emitted:
        """The result as a layout wants it."""
        (out,) = self.op.results
        match layout:
            case BySubgroup():
                return items.laid_out(facts, out, layout, self._by_subgroup())
            case Masked(elements, whole, apart):
                array, chosen = self._by_item() if whole and not apart else None, self._of_elements(elements)
                others = self._of_elements(elements.complement) if whole and apart else None
                return items.laid_out(facts, out, layout, array, MaskedElements(chosen, others))
        if (sharing := layouts.sharing(layout)) is not None:
            return items.laid_out(facts, out, layout, self._shared(sharing))
        return items.laid_out(facts, out, layout, self._by_item())

    def _by_item(self) -> jax.Array:
        return self._bound([o.array(self.chunk) for o in self.operands], self.chunk.count)

    def _by_subgroup(self) -> jax.Array:
        chunk, each = self.chunk, zip(self.operands, self.plan.conversions, strict=True)
        arrays = [
            o.array(chunk) if conversion is None else subgroups.read(o, conversion, chunk) for o, conversion in each
        ]
        (array,) = self.bind(self.op, subgroups.matched(self._over_groups(arrays, chunk.count)))
        return array

    def _of_elements(self, elements: Elements) -> jax.Array:
        """`[G or 1, n]`: the result for some elements."""
        arrays = [positions.of_elements(o, elements, self.chunk) for o in self.operands]
        full = (max(array.shape[0] for array in arrays), elements.count)
        return self.bind(self.op, [jnp.broadcast_to(array, full) for array in arrays])[0]

    def _shared(self, sharing: Sharing) -> jax.Array:
        """The result for the groups that share it, as they do all operands that vary."""
        arrays = [o.laid_out if o.known.varying else o.array(self.chunk) for o in self.operands]
        return self._bound(arrays, math.prod(sharing.own))

    def _bound(self, arrays: Sequence[jax.Array], count: int) -> jax.Array:
        (array,) = self.bind(self.op, self._over_groups(arrays, count))
        return array

    def _over_groups(self, arrays: Sequence[jax.Array], count: int) -> list[jax.Array]:
        """Arrays of the operands, some repeated for so many groups."""
        repeated = self.plan.repeated
        return [lax.broadcast(array, (count,)) if k in repeated else array for k, array in enumerate(arrays)]


def _only_divisor(divisor: Emitted) -> jax.Array:
    """The only divisor of many numbers, which is known when the program runs."""
    form = divisor.known.form
    assert form is not None
    found: jax.Array = divisor.base + forms.wrapped(form.pattern.item(0), divisor.dtype)
    return found


def _bind_unsigned(op: Op, operands: Sequence[jax.Array]) -> list[jax.Array]:
    dtype = operands[0].dtype
    unsigned = [o.astype(f"u{dtype.itemsize}") for o in operands]
    return [r.astype(dtype) for r in evaluation.results(op, unsigned)]

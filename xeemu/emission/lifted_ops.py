"""Lifted operations: JAX's own operations and group algorithms, lifted over the groups of a chunk.

A value that differs between groups has a leading axis of groups: an operation on elements applies to it as it is, and
others are lifted by `vmap` of their primitive. What has a lane form is left as one.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission import exactness, invariant_division, positions, subgroups
from xeemu.emission.chunk import Chunk
from xeemu.emission.compare_fusion import Comparison
from xeemu.emission.items import Item, as_value, named
from xeemu.emission.values import Emitted, Shared, Some, Split
from xeemu.ir import evaluation, ops
from xeemu.ir.program import Op
from xeemu.ir.table import Kind
from xeemu.knowledge import forms
from xeemu.knowledge.addressing import Elements
from xeemu.knowledge.analysis import Plan

_Bind = Callable[[Op, Sequence[jax.Array]], list[jax.Array]]


def results(plan: Plan, op: Op, operands: list[Emitted], chunk: Chunk) -> list[Item]:
    """The results of an ordinary JAX operation.

    Args:
      plan: the analysis of the body that the operation stands in.
      op: the operation.
      operands: what goes into it.
      chunk: the work-groups.
    """
    if (chosen := _only_chosen(plan, op, operands)) is not None:
        return [chosen]
    found = _carried_out(plan, op, operands, chunk)
    split = _split(op, operands)
    return found if split is None else [dataclasses.replace(as_value(found[0]), split=split)]


def compared(plan: Plan, op: Op, comparison: Comparison, value: Emitted, chunk: Chunk) -> list[Item]:
    """The result of what joins comparisons of fields of a value, as one comparison of the value."""
    if (array := subgroups.compared(comparison, value, chunk)) is not None:
        return _held(plan, op, array, value.lanes)
    array = value.array(chunk)
    assert comparison.shape is not None
    beside = array.reshape(*array.shape[: value.known.varying], *comparison.shape)
    return named(plan, op.results, [comparison.apply(beside, comparison.bits)])


def collective(plan: Plan, op: Op, operands: list[Emitted], chunk: Chunk) -> list[Item]:
    """The results of a group algorithm."""
    lanes = subgroups.alike(op, chunk.geometry)
    apply = op.attributes["collective"].apply if lanes is None else op.attributes["collective"].rows
    known = [a for a in map(_known, operands[1:]) if a is not None]
    # What is known may still count as different between groups, and then the result has an axis of them.
    varies = operands[0].known.varying or not any(o.known.varying for o in operands[1:])
    if varies and len(known) == len(operands) - 1:
        (array,) = _lifted(lambda x: [apply(x, *known)], operands[:1], chunk)
    else:
        (array,) = _lifted(lambda *xs: [apply(*xs)], operands, chunk)
    return _held(plan, op, array, lanes)


def uniform(plan: Plan, op: Op, operands: list[Emitted], chunk: Chunk, present: jax.Array | None) -> list[Item]:
    """The result of what a group has alike of its work-items' values, those that exist by a `[G, L]` mask or all."""
    if (formed := _formed(plan, op, operands)) is not None:
        return [formed]
    kind = op.attributes["kind"]

    def of_group(there: jax.Array | None, x: jax.Array, *mask: jax.Array) -> list[jax.Array]:
        x = x.reshape(-1)
        if kind == "pick":
            taken = mask[0].reshape(-1)
            return [x[jnp.argmax(taken if there is None else taken & there)]]
        if kind == "some":
            return [x.any(where=there)]
        return [x.max() if there is None else x.max(where=there, initial=jnp.iinfo(x.dtype).min)]

    if present is None:
        return named(plan, op.results, _lifted(functools.partial(of_group, None), operands, chunk))
    arrays = [o.array(chunk) for o in operands]
    axes = [0 if o.known.varying else None for o in operands]
    return named(plan, op.results, jax.vmap(of_group, in_axes=[0, *axes])(present, *arrays))


def _carried_out(plan: Plan, op: Op, operands: list[Emitted], chunk: Chunk) -> list[Item]:
    """Its lane form if it has one, else the operation itself, lifted over the groups."""
    if (formed := _formed(plan, op, operands)) is not None:
        return [formed]
    if chunk.target.divides_slowly and (divisor := _only_divisor(plan, op, operands, chunk)) is not None:
        result = invariant_division.divided(op.name, operands[0].array(chunk), divisor)
        return named(plan, op.results, [result])
    if len(operands) == 1 and (array := subgroups.widened(op, operands[0], chunk)) is not None:
        return _held(plan, op, array, operands[0].lanes)
    if (taken := _taken(op, operands)) is not None:
        return named(plan, op.results, [taken if operands[0].known.varying else taken[0]])
    bind = _binding(op, operands)
    if _applies_to_chunks(op, operands):
        if (lanes := subgroups.common(operands, chunk)) is not None:
            arrays = [subgroups.held(o, lanes, chunk) if o.shape else o.array(chunk) for o in operands]
            (array,) = bind(op, subgroups.matched(_over_groups(op, operands, arrays, chunk.count)))
            return _held(plan, op, array, lanes)
        found = bind(op, _over_groups(op, operands, [o.array(chunk) for o in operands], chunk.count))
        (value,) = named(plan, op.results, found, _some(bind, op, operands, chunk))
        return [dataclasses.replace(as_value(value), shared=_shared(bind, op, operands, chunk))]
    if ops.of(op).kind is Kind.MOVEMENT and len(op.results) == 1:
        return [_moved(plan, op, operands, chunk)]
    return named(plan, op.results, _lifted(lambda *xs: evaluation.results(op, xs), operands, chunk))


def _moved(plan: Plan, op: Op, operands: list[Emitted], chunk: Chunk) -> Emitted:
    """The result of an operation that moves or repeats elements."""
    shared = operands[0].shared if len(operands) == 1 else None
    if shared is None:
        found = _lifted(lambda *xs: evaluation.results(op, xs), operands, chunk)
        return as_value(named(plan, op.results, found, _some_moved(op, operands, chunk))[0])
    (values,), (out,) = jax.vmap(lambda x: evaluation.results(op, [x]))(shared.values), op.results
    shared = dataclasses.replace(shared, values=values)
    return Emitted(plan.values[out], out.shape, out.dtype, shared=shared)


def _taken(op: Op, operands: Sequence[Emitted]) -> jax.Array | None:
    """`[G or 1, n]`: what an operation takes of an operand, if it is the elements that this has for themselves."""
    if op.name != "slice" or (some := operands[0].some) is None or op.results[0].ndim != 1:
        return None
    (start,), (limit,) = op.attributes["start_indices"], op.attributes["limit_indices"]
    (step,) = op.attributes["strides"] or (1,)
    return some.values if np.array_equal(np.arange(start, limit, step), some.chosen) else None


def _some_moved(op: Op, operands: Sequence[Emitted], chunk: Chunk) -> Some | None:
    """The elements of such a result that some of an operand are for; of one with something around it the operand's."""
    if op.name == "reshape":
        return operands[0].some
    if op.name != "pad" or op.results[0].ndim != 1:
        return None
    part, fill = operands
    ((low, _, between),), (number,) = op.attributes["padding_config"], part.shape
    if low < 0 or not number:
        return None
    where, others = Elements(op.results[0].shape, low + (between + 1) * np.arange(number)), None
    values = part.array(chunk).reshape(-1, number)
    if chunk.target.joins_by_branches and not between and not fill.known.varying:
        others = jnp.broadcast_to(fill.array(chunk), (1, where.beside.count))
    return Some(where.chosen, values, others)


def _binding(op: Op, operands: Sequence[Emitted]) -> _Bind:
    """How an operation is bound again to other arrays."""
    alike = [not o.known.varying for o in operands]
    if exactness.applies(op, alike):
        return lambda op, arrays: exactness.bound(op, arrays, alike)
    return _bind_unsigned if _is_natural(op, operands) else evaluation.results


def _held(plan: Plan, op: Op, array: jax.Array, lanes: int | None) -> list[Item]:
    """The result of an operation, given by an array that is held by sub-groups of so many lanes, if not None."""
    return [dataclasses.replace(as_value(value), lanes=lanes) for value in named(plan, op.results, [array])]


def _formed(plan: Plan, op: Op, operands: list[Emitted]) -> Emitted | None:
    """The result as a lane form, if it has one that its operands or nothing but the program decides on."""
    if len(op.results) != 1 or (known := plan.values[op.results[0]]).form is None:
        return None
    rule, out = plan.bases.get(op.results[0]), op.results[0]
    if rule is None and not known.form.constant:
        return None
    return Emitted(known, out.shape, out.dtype, rule([o.base for o in operands]) if rule else None)


def _lifted(function: Callable[..., list[jax.Array]], operands: Sequence[Emitted], chunk: Chunk) -> list[jax.Array]:
    """What a function of a single group's operands gives for all groups."""
    arrays = [o.array(chunk) for o in operands]
    axes = [0 if o.known.varying else None for o in operands]
    if all(axis is None for axis in axes):
        return function(*arrays)
    return jax.vmap(function, in_axes=axes)(*arrays)


def _some(bind: _Bind, op: Op, operands: list[Emitted], chunk: Chunk) -> Some | None:
    """The elements of an elementwise operation's result that some of an operand are for."""
    given = [o.some for o in operands if o.some is not None]
    shape = op.results[0].shape
    if not given or any(not np.array_equal(some.chosen, given[0].chosen) for some in given):
        return None
    where = Elements(shape, given[0].chosen)
    values = _of_lanes(bind, op, operands, where, chunk)
    others = None if given[0].others is None else _of_lanes(bind, op, operands, where.beside, chunk)
    return Some(where.chosen, values, others)


def _of_lanes(bind: _Bind, op: Op, operands: list[Emitted], where: Elements, chunk: Chunk) -> jax.Array:
    """`[G or 1, n]`: the result of an elementwise operation for some elements."""
    arrays = [positions.of_elements(o, where, chunk) for o in operands]
    full = (max(array.shape[0] for array in arrays), where.count)
    return bind(op, [jnp.broadcast_to(array, full) for array in arrays])[0]


def _shared(
    bind: _Bind,
    op: Op,
    operands: Sequence[Emitted],
    chunk: Chunk,
) -> Shared | None:
    """The result of an operation that applies to chunks, if groups share all of its operands alike."""
    given = [o.shared for o in operands if o.known.varying]
    first = given[0] if given else None
    if first is None or any(s is None or (s.block, s.own) != (first.block, first.own) for s in given):
        return None
    arrays = [o.array(chunk) if o.shared is None else o.shared.values for o in operands]
    (values,) = bind(op, _over_groups(op, operands, arrays, math.prod(first.own)))
    return dataclasses.replace(first, values=values)


def _applies_to_chunks(op: Op, operands: Sequence[Emitted]) -> bool:
    """Whether an operation does for all groups at once what it does for one, as `vmap` would find out slowly."""
    if not ops.of(op).is_elementwise or len(op.results) != 1:
        return False
    shape = op.results[0].shape
    return all(o.shape == shape or (_takes_scalars(op) and not o.shape and not o.known.varying) for o in operands)


def _takes_scalars(op: Op) -> bool:
    """Whether a scalar may stand for an array of the shape that the other operands have."""
    return op.name not in ("select_n", "clamp")


def _over_groups(op: Op, operands: Sequence[Emitted], arrays: Sequence[jax.Array], count: int) -> list[jax.Array]:
    """The arrays of operands, those that do not vary repeated for so many groups if others do, where they have to be.

    What a scalar is for all elements of the others, it is for all groups.
    """
    if not any(o.known.varying for o in operands):
        return list(arrays)
    return [
        array if o.known.varying or (not o.shape and _takes_scalars(op)) else lax.broadcast(array, (count,))
        for o, array in zip(operands, arrays, strict=True)
    ]


def _split(op: Op, operands: Sequence[Emitted]) -> Split | None:
    """What a division of natural numbers by a known one is, or a remainder and a number, as a value that knows it."""
    if op.name in ("add", "sub"):
        return _shifted(op, operands)
    if not _is_natural(op, operands) or operands[0].shape != op.results[0].shape:
        return None
    divisor = _known(operands[1])
    number = None if divisor is None else forms.single(divisor)
    return Split(operands[0], int(number), op.name == "rem") if number else None


def _shifted(op: Op, operands: Sequence[Emitted]) -> Split | None:
    """A remainder and a known number added, or one of them subtracted from the other."""
    signs = (1, 1) if op.name == "add" else (1, -1)
    for k, (operand, other) in enumerate((operands, reversed(operands))):
        split, known = operand.split, _known(other)
        number = None if known is None else forms.single(known)
        if split is not None and split.remains and number is not None and operand.shape == op.results[0].shape:
            offset = signs[k] * split.offset + signs[1 - k] * number
            return dataclasses.replace(split, offset=offset, sign=signs[k] * split.sign)
    return None


def _only_chosen(plan: Plan, op: Op, operands: Sequence[Emitted]) -> Emitted | None:
    """The operand that a choice is known to take."""
    if op.name != "select_n" or (only := operands[0].known.only) is None:
        return None
    chosen, out = operands[1 + only], op.results[0]
    same = (chosen.shape, chosen.known.varying) == (out.shape, plan.values[out].varying)
    return chosen if same and chosen.known.form is None and plan.values[out].form is None else None


def _only_divisor(plan: Plan, op: Op, operands: Sequence[Emitted], chunk: Chunk) -> jax.Array | None:
    """The only divisor of many numbers, if it is not known before the program runs."""
    if not invariant_division.applies(op, plan, len(chunk.geometry.group_range)):
        return None
    _, divisor = operands
    form = divisor.known.form
    if form is None or divisor.base is None:
        return None
    return divisor.base + forms.wrapped(form.pattern.item(0), divisor.dtype)


def _is_natural(op: Op, operands: Sequence[Emitted]) -> bool:
    """Whether it divides integers that are known not to be negative, so that there are no signs to look at."""
    if op.name not in ("div", "rem"):
        return False
    return all(o.known.interval is not None and o.known.interval[0] >= 0 for o in operands)


def _bind_unsigned(op: Op, operands: Sequence[jax.Array]) -> list[jax.Array]:
    dtype = operands[0].dtype
    unsigned = [o.astype(f"u{dtype.itemsize}") for o in operands]
    return [r.astype(dtype) for r in evaluation.results(op, unsigned)]


def _known(value: Emitted) -> np.ndarray | None:
    """The array of a value that is known before the program runs."""
    form = value.known.form
    return form.pattern.astype(value.dtype) if form is not None and form.constant else None

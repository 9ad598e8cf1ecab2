"""Choices: branches that work-items take differently: one side after the other, each for those that take it."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.ir import control, ops
from xeemu.ir.control import Scan, While
from xeemu.language import divergence, operands, regions, source
from xeemu.language.regions import Traced

Shape = tuple[int, ...]
_COND = "wg.cond(pred, then, otherwise, *operands), with then(*operands) and otherwise(*operands)"


def cond(
    pred: Any, then: Callable[..., Any], otherwise: Callable[..., Any], given: tuple[Any, ...], local_range: Shape
) -> Any:
    """What each work-item gets of the side that it takes, see `WorkGroup.cond`."""
    for side, what in ((then, "then"), (otherwise, "otherwise")):
        regions.check_function(side, f"{what} of wg.cond", _COND, len(given))
    chosen = _predicate(pred, local_range)
    if not chosen.ndim:
        return lax.cond(chosen, then, otherwise, *given)
    leaves, tree = regions.flattened(given)
    like = jax.ShapeDtypeStruct(local_range, chosen.dtype)
    sides = [regions.trace(side, like, tree, leaves) for side in (then, otherwise)]
    _check_structure(*sides)
    _check_allocations(*sides)
    arrays = list(map(regions.contents, leaves))
    masks = [divergence.joined(mask) for mask in (chosen, lax.bitwise_not(chosen))]
    first = _run(sides[0], masks[0], arrays, [])
    replaced = []
    for k, leaf in enumerate(sides[0].leaves):
        if regions.is_memory(leaf):
            number, around = sides[0].origin(k), sides[0].captured(k)
            if number is not None:
                replaced.append((arrays[number], first[k]))
                arrays[number] = first[k]
            elif around is not None:
                replaced.append((around, first[k]))
    second = _run(sides[1], masks[1], arrays, replaced)
    divergence.resume()
    merged = []
    for k, both in enumerate(zip(first, second, strict=True)):
        kept = _kept(k, *sides)
        merged.append(_merged(k, sides, chosen, both, local_range) if kept is None else leaves[kept])
    return jax.tree.unflatten(sides[0].tree, merged)


def _run(side: Traced, mask: jax.Array, arrays: Sequence[jax.Array], replaced: Sequence[tuple[Any, Any]]) -> list[Any]:
    """The results of a side for the work-items of a mask."""
    if not any(isinstance(control.of(op), Scan | While) for op in side.body.walk()):
        return side.run([mask, *arrays], replaced)
    instead = {id(old): new for old, new in replaced}
    memories = {k: side.origin(k) for k, leaf in enumerate(side.leaves) if regions.is_memory(leaf)}
    around = {k: side.captured(k) for k, number in memories.items() if number is None}
    before: dict[int, Any] = {k: arrays[number] for k, number in memories.items() if number is not None}
    before |= {k: instead.get(id(array), array) for k, array in around.items()}

    def skipped() -> list[jax.Array]:
        divergence.nobody()
        return [before[k] if k in before else jnp.zeros(leaf.shape, leaf.dtype) for k, leaf in enumerate(side.leaves)]

    def run() -> list[jax.Array]:
        results = side.run([mask, *arrays], replaced)
        return [
            array if k in before else lax.convert_element_type(array, leaf.dtype)
            for k, (array, leaf) in enumerate(zip(results, side.leaves, strict=True))
        ]

    # A loop whose predicate is one for all need not end where nobody has computed it.
    return lax.cond(divergence.some(mask), run, skipped)


def _kept(number: int, then: Traced, otherwise: Traced) -> int | None:
    """The number of the operand, a value, that a part of the result is on both sides."""
    places = {side.origin(number) for side in (then, otherwise)}
    return None if regions.is_memory(then.leaves[number]) or len(places) > 1 else places.pop()


def _merged(number: int, sides: Sequence[Traced], chosen: jax.Array, both: tuple[Any, Any], local_range: Shape) -> Any:
    """A part of the result, from what both sides give."""
    first, second = (side.leaves[number] for side in sides)
    if regions.is_memory(first):
        return regions.holding(first, both[1])
    what = f"part {number} of the result of wg.cond"
    shape = regions.merged_shape([first.shape, second.shape], local_range, what)
    dtype = regions.common_type(first, second)
    if dtype is None:
        raise source.kernel_error(
            f"{what} is {regions.described(first)} where the predicate is true and "
            f"{regions.described(second)} where it "
            f"is false; both sides give one type: convert one of them, value.astype(jnp.{first.dtype})"
        )
    return divergence.merged(chosen, *(regions.spread(x, shape, dtype) for x in both))


def _check_structure(then: Traced, otherwise: Traced) -> None:
    pairs = [[regions.described(leaf) for leaf in side.leaves] for side in (then, otherwise)]
    same = then.tree == otherwise.tree and all(
        regions.is_memory(a) == regions.is_memory(b) for a, b in zip(then.leaves, otherwise.leaves, strict=True)
    )
    if not same:
        raise source.kernel_error(
            f"the sides of wg.cond give ({', '.join(pairs[0])}) and ({', '.join(pairs[1])}); both "
            "return the same parts in "
            "the same order: what one of them leaves as it is, it returns as it was given"
        )
    for k, (a, b) in enumerate(zip(then.leaves, otherwise.leaves, strict=True)):
        if regions.is_memory(a) and not _is_same_memory(k, then, otherwise):
            raise source.kernel_error(
                f"part {k} of the result of wg.cond is memory {a.name} where the predicate is true and memory {b.name} "
                "where it is false; a memory keeps its place: return the same memories in the same "
                "order from both sides"
            )


def _check_allocations(*sides: Traced) -> None:
    for op in (op for side in sides for op in side.body.ops if op.name == ops.ALLOCATE):
        raise source.kernel_error(
            f"{op.attributes['space']} memory {op.attributes['name']} is made inside a branch; make it before, outside",
            source.of_op(op),
        )


def _is_same_memory(number: int, then: Traced, otherwise: Traced) -> bool:
    numbers = [side.origin(number) for side in (then, otherwise)]
    if numbers[0] is not None or numbers[1] is not None:
        return numbers[0] == numbers[1]
    return then.captured(number) is otherwise.captured(number)


def _predicate(value: Any, local_range: Shape) -> jax.Array:
    array = operands.array(value, "the predicate of wg.cond")
    if array.dtype != bool:
        raise source.kernel_error(
            f"the predicate of wg.cond is {array.dtype}{list(array.shape)}; a predicate is bool: "
            "write a comparison, such "
            "as x != 0"
        )
    if array.shape not in ((), local_range):
        raise source.kernel_error(
            f"the predicate of wg.cond has shape {array.shape}; give one bool for each work-item, "
            f"shape {local_range}, or "
            "one for all"
        )
    return array

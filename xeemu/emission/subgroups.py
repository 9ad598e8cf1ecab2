"""Sub-groups: values held by sub-group and lane, and once for a sub-group where its lanes have them alike.

What a sub-group's broadcast or reduction gives is the same for all of its lanes, and so is what is computed from
nothing else; a chunk of a sub-group that reduces for itself is a sub-group here. Held as `[G, sub-groups, 1, *private]`
it is computed once. What it is combined with is held as `[G, sub-groups, lanes, *private]`, for compilers do not see
that work-items in a row have one value alike, and look it up anew for each. But only where work-items have several
elements of their own: XLA's loops over the lanes alone are several times as slow on a CPU as over all work-items.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission.chunk import Chunk
from xeemu.emission.compare_fusion import Comparison
from xeemu.emission.values import Emitted, materialise
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.language import collectives
from xeemu.language.collectives import Collective
from xeemu.language.geometry import Geometry

_SHAPES = {"broadcast_in_dim": "shape", "reshape": "new_sizes"}
"""Operations that may give each work-item more axes or elements of its own, with the parameter that says which."""


def alike(op: Op, geometry: Geometry) -> int | None:
    """The lanes of a sub-group or of a chunk, if an algorithm gives them all the same and all are full; else None."""
    algorithm: Collective = op.attributes["collective"]
    if algorithm.level != collectives.SUB_GROUP or geometry.items % algorithm.lanes:
        return None
    return algorithm.lanes if algorithm.alike(*(a.ndim for a in op.operands[1:])) else None


def common(operands: Sequence[Emitted], chunk: Chunk) -> int | None:
    """The lanes of the sub-groups to hold the result of an elementwise operation by; None if by work-items."""
    found = {o.lanes for o in operands if o.lanes is not None}
    # Elements that some lanes have loaded are worth more.
    if len(found) != 1 or any(o.some is not None for o in operands):
        return None
    lanes = found.pop()
    shaped = [o for o in operands if o.shape]
    return lanes if _private(shaped[0].shape, chunk) or all(_is_alike(o, lanes, chunk) for o in shaped) else None


def held(value: Emitted, lanes: int, chunk: Chunk) -> jax.Array:
    """`[G, sub-groups, lanes or 1, *private]`, without `G` if it does not vary: a value that all work-items have."""
    if value.lanes == lanes and value.computed is not None:
        return value.computed
    form, private = value.known.form, _private(value.shape, chunk)
    if form is not None and (pattern := _alike(value, lanes, chunk)) is not None:
        form = dataclasses.replace(form, pattern=pattern)
        return materialise(form, value.base, value.dtype, value.known.varying, chunk)
    if (shared := value.shared) is not None:
        return shared.of_groups(shared.values.reshape(shared.values.shape[0], *_rows(lanes, chunk), *private))
    array = value.array(chunk)
    return array.reshape(*array.shape[: value.known.varying], *_rows(lanes, chunk), *private)


def _is_alike(value: Emitted, lanes: int, chunk: Chunk) -> bool:
    """Whether it is held once for each sub-group."""
    if value.lanes is not None and value.computed is not None:
        return value.computed.shape[value.known.varying + 1] == 1
    return _alike(value, lanes, chunk) is not None


def _alike(value: Emitted, lanes: int, chunk: Chunk) -> np.ndarray | None:
    """`[sub-groups, 1, *private]`: the pattern of a lane form that the lanes of each sub-group have alike."""
    form = value.known.form
    if form is None or (form.based and value.base is None):
        return None
    pattern = form.pattern.reshape(*_rows(lanes, chunk), *_private(value.shape, chunk))
    return pattern[:, :1] if (pattern == pattern[:, :1]).all() else None


def _rows(lanes: int, chunk: Chunk) -> tuple[int, int]:
    """The sub-groups of a group, and their lanes."""
    return chunk.geometry.items // lanes, lanes


def _private(shape: tuple[int, ...], chunk: Chunk) -> tuple[int, ...]:
    """The axes of a work-item's own."""
    return shape[len(chunk.geometry.local_range) :]


def full(value: Emitted, lanes: int, chunk: Chunk) -> jax.Array:
    """The same with an element for each lane."""
    array, axis = held(value, lanes, chunk), 1 + value.known.varying
    return jnp.broadcast_to(array, (*array.shape[:axis], lanes, *array.shape[axis + 1 :]))


def matched(arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Operands that are scalars or held by sub-groups, all with an element for each lane if one has."""
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    return [a if a.shape in ((), shape) else jnp.broadcast_to(a, shape) for a in arrays]


def widened(op: Op, value: Emitted, chunk: Chunk) -> jax.Array | None:
    """What an operation makes of a value held by sub-groups that only gives work-items more axes or elements."""
    local = chunk.geometry.local_range
    shape = op.attributes[_SHAPES[op.name]] if op.name in _SHAPES else ()
    if value.lanes is None or value.computed is None or shape[: len(local)] != local:
        return None
    lead = value.computed.shape[: value.known.varying + 2]
    target = (*lead, *shape[len(local) :])
    if op.name == "reshape":
        return value.computed.reshape(target) if op.attributes["dimensions"] is None else None
    axes = op.attributes["broadcast_dimensions"]
    if tuple(axes[: len(local)]) != tuple(range(len(local))):
        return None
    private = [len(lead) + axis - len(local) for axis in axes[len(local) :]]
    return lax.broadcast_in_dim(value.computed, target, (*range(len(lead)), *private))


def compared(comparison: Comparison, value: Emitted, chunk: Chunk) -> jax.Array | None:
    """A comparison of a value held by sub-groups, held so as well; None if it is not work-item by work-item."""
    local, shape, bits = chunk.geometry.local_range, comparison.shape, comparison.bits
    if value.computed is None or value.lanes is None or shape is None:
        return None
    if shape[: len(local)] != local or bits.shape[: len(local)] != local or not _private(bits.shape, chunk):
        return None
    x = value.computed.reshape(*value.computed.shape[: value.known.varying + 2], *shape[len(local) :])
    # Reshaped by JAX: the program holds the array once, for all comparisons with it.
    return comparison.apply(x, lax.reshape(bits, (*_rows(value.lanes, chunk), *bits.shape[len(local) :])))


def of_loop(body: Region, carries: int, geometry: Geometry) -> dict[int, int]:
    """For the number of each carry that something alike is combined with, the lanes of the sub-groups to hold it by.

    Args:
      body: the loop's, whose first inputs are carries.
      carries: how many.
      geometry: the sizes of the launch.
    """
    after = _followed(body, [_Lanes(None, _is_uniform(v, geometry)) for v in body.taken], geometry)[:carries]
    wide = (_is_wide(v.shape, geometry) for v in body.inputs[:carries])
    return {k: of.lanes for k, (of, w) in enumerate(zip(after, wide, strict=True)) if w and of.lanes is not None}


def _is_wide(shape: tuple[int, ...], geometry: Geometry) -> bool:
    """Whether a value may have several elements for each work-item."""
    rank = len(geometry.local_range)
    return shape[:rank] == geometry.local_range and len(shape) > rank


def _is_uniform(value: Value, geometry: Geometry) -> bool:
    """Whether a value surely has no element of its own for each work-item."""
    rank = len(geometry.local_range)
    return value.shape[:rank] != geometry.local_range


class _Lanes(NamedTuple):
    """What goes into a value.

    Attributes:
      lanes: of a sub-group, whose lanes have something alike that does; None if nothing does.
      alike: whether the lanes of a sub-group have the value itself alike.
    """

    lanes: int | None
    alike: bool


def _followed(body: Region, given: Sequence[_Lanes], geometry: Geometry) -> list[_Lanes]:
    """What goes into the results of a (sub)program, of what goes into its inputs."""
    found: dict[Any, _Lanes] = dict(zip(body.taken, given, strict=True))

    def read(value: Value) -> _Lanes:
        return _Lanes(None, _is_uniform(value, geometry)) if isinstance(value, Constant) else found[value]

    for op in body.ops:
        found |= dict(zip(op.results, _results(op, [read(a) for a in op.used], geometry), strict=True))
    return [read(a) for a in body.outputs]


def _results(op: Op, operands: Sequence[_Lanes], geometry: Geometry) -> Sequence[_Lanes]:
    """What goes into the results of an operation."""
    unknown = [_Lanes(None, _is_uniform(v, geometry)) for v in op.results]
    match control.of(op):
        case control.Call(body):
            return _followed(body, operands, geometry)
        case control.Scan(body=body, carries=carries):
            return [*_followed(body, operands, geometry)[:carries], *unknown[carries:]]
        case control.While(body=body):
            return _followed(body, control.given(op, operands, 1), geometry)
    if op.name == ops.COLLECTIVE:
        lanes = alike(op, geometry)
        return unknown if lanes is None else [_Lanes(lanes, True)]
    if op.name in _SHAPES:
        return [_Lanes(operands[0].lanes, operands[0].alike)]
    same = all(o.alike for o in operands)
    # A function that takes long is worth it where a sub-group needs one value of it: by lanes it took a third longer.
    if ops.of(op).is_elementwise and (same or not ops.of(op).special):
        lanes = next((o.lanes for o in operands if o.lanes is not None), None)
        return [_Lanes(lanes, same)] * len(op.results)
    return unknown

"""Sub-groups: the arrays of values that are laid out by sub-group and lane (see `subgroup_layouts`)."""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.values import Emitted, materialise, of_groups
from xeemu.ir.program import Op
from xeemu.knowledge import forms
from xeemu.planning import layouts, subgroup_layouts
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.layouts import BySubgroup
from xeemu.planning.subgroup_layouts import LayoutConversion, NoConversion, Patterned, Split


def read(value: Emitted, conversion: LayoutConversion, chunk: EmittedChunk) -> jax.Array:
    """`[G, sub-groups or 1, lanes or 1, *private]`, without `G` if it does not vary: a value, read so."""
    match conversion:
        case NoConversion():
            return value.laid_out
        case Patterned(pattern):
            assert value.known.form is not None
            form = dataclasses.replace(value.known.form, pattern=pattern)
            return materialise(form, value.base, value.dtype, value.known.varying, chunk)
        case Split(split, repeated, uniform):
            sharing = layouts.sharing(value.layout)
            array = value.laid_out if sharing else value.array(chunk)
            lead = array.shape[: value.known.varying]
            if repeated is not None:
                array = jnp.broadcast_to(array, (*lead, *repeated))
            array = of_groups(array.reshape(*lead, *split), sharing)
            return lax.slice_in_dim(array, 0, 1, axis=len(lead) + 1) if uniform else array
    raise AssertionError(conversion)


def repeated(value: Emitted, conversion: LayoutConversion, lanes: int | None, chunk: EmittedChunk) -> jax.Array:
    """The same, with an element for each of so many lanes; None leaves them as they are."""
    array, axis = read(value, conversion, chunk), 1 + value.known.varying
    if lanes is None:
        return array
    return jnp.broadcast_to(array, (*array.shape[:axis], lanes, *array.shape[axis + 1 :]))


def shape(value: tuple[int, ...], layout: BySubgroup, chunk: EmittedChunk) -> tuple[int, ...]:
    """The shape of the array of a value of a shape, but for the groups."""
    groups, lanes = subgroup_layouts.rows(layout.lanes, chunk.geometry)
    return (groups, 1 if layout.uniform else lanes, *subgroup_layouts.private(value, chunk.geometry))


def matched(arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Operands that are scalars or laid out by sub-groups, all with an element for each lane if one has."""
    full = np.broadcast_shapes(*(a.shape for a in arrays))
    return [a if a.shape in ((), full) else jnp.broadcast_to(a, full) for a in arrays]


def widened(op: Op, value: Emitted, conversion: LayoutConversion, chunk: EmittedChunk) -> jax.Array:
    """What an operation that only gives work-items more axes or elements makes of a value, laid out by sub-groups."""
    rank, array = len(chunk.geometry.local_range), read(value, conversion, chunk)
    lead = array.shape[: value.known.varying + 2]
    target = (*lead, *op.results[0].shape[rank:])
    if op.name == "reshape":
        return array.reshape(target)
    private = [len(lead) + axis - rank for axis in op.attributes["broadcast_dimensions"][rank:]]
    return lax.broadcast_in_dim(array, target, (*range(len(lead)), *private))


def applied(comparison: Comparison, x: jax.Array, bits: jax.Array | np.ndarray) -> jax.Array:
    """The result of a comparison.

    Args:
      comparison: it.
      x: the value with the axes of `Comparison.shape`, or others that broadcast, after one of groups if it has one.
      bits: its bits with the axes of the result for a group.
    """
    compare = {"eq": lax.eq, "ne": lax.ne}[comparison.op]
    chosen = x & forms.wrapped(comparison.mask, x.dtype) if comparison.masked else x
    shape = np.broadcast_shapes(x.shape, bits.shape)
    repeated = jnp.broadcast_to(chosen.astype(comparison.bits.dtype), shape)
    return compare(repeated, jnp.broadcast_to(bits, shape))


def compared(comparison: Comparison, value: Emitted, layout: BySubgroup, chunk: EmittedChunk) -> jax.Array:
    """A comparison of fields of a value laid out by sub-groups, laid out so as well."""
    array, rank = value.laid_out, len(chunk.geometry.local_range)
    assert comparison.shape is not None
    x = array.reshape(*array.shape[: value.known.varying + 2], *comparison.shape[rank:])
    rows, bits = subgroup_layouts.rows(layout.lanes, chunk.geometry), comparison.bits
    # Reshaped by JAX: the program holds the array once, for all comparisons with it.
    return applied(comparison, x, lax.reshape(bits, (*rows, *bits.shape[rank:])))

"""Transpose sinking: reshapes and transpositions put off until something needs what they give, then made as one.

A value has one axis of groups before those of the work-group, so that rows of a memory become tiles, and tiles rows
again. XLA sees through that where it comes to nothing. Where a kernel transposes, XLA goes along the memory element by
element with all that it fuses, seven times as long as a transposition alone takes. Put off, everything is computed in
the order in which memory has it, for itself, and transposed once.

It is a fault of XLA's fusion that is mended here, and depends on all that is emitted, transpositions of a kernel's own
functions among it: so it is done to the program that was emitted, where its plan says so (`straight_programs`).
"""

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from xeemu.emission import fusion_barriers
from xeemu.ir import evaluation, inlining, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import strided_patterns, strided_slices
from xeemu.knowledge.strided_patterns import StridedAxis, StridedPattern
from xeemu.language import importing

# What keeps the order of the elements, if it keeps all of them or there is a single one.
_KEEPING = ("reshape", "squeeze", "expand_dims", "broadcast_in_dim", "slice")
# Of these compilers cut what they transpose, and compute nothing.
_CUTTING = ("slice", "dynamic_slice")


def put_off(function: Callable[..., Sequence[jax.Array]]) -> Callable[..., list[jax.Array]]:
    """A function of arrays that gives the same, but reshapes and transposes as late as it can."""

    def turned(*arguments: jax.Array) -> list[jax.Array]:
        body = inlining.inlined(importing.imported(jax.make_jaxpr(function)(*arguments)), lambda op: True)
        return [value.array for value in _carried_out(body, list(map(_untransposed, arguments)))]

    return turned


@dataclasses.dataclass(frozen=True, eq=False)
class _Transposed:
    """An array that was reshaped and transposed.

    Attributes:
      source: what it was made from; if that has one element only, all of the array are it.
      axes: which elements of the source it has, in its order, of rows that are as long as can be.
      shape: of the array.
      fused: true if a compiler would compute the source together with what uses it.
    """

    source: jax.Array
    axes: tuple[StridedAxis, ...]
    shape: tuple[int, ...]
    fused: bool

    @property
    def in_order(self) -> bool:
        """True if it has the elements in the order of the source."""
        return len(self.axes) <= 1

    @property
    def array(self) -> jax.Array:
        """It itself."""
        if self.source.size != math.prod(self.shape):
            return jnp.broadcast_to(self.source.reshape(()), self.shape)
        if self.in_order:
            return self.source.reshape(self.shape)
        source = fusion_barriers.materialised(self.source) if self.fused else self.source
        strided = StridedPattern(self.axes)
        return strided_slices.arranged(source.reshape(strided.extents), strided).reshape(self.shape)

    def reshaped(self, shape: tuple[int, ...]) -> "_Transposed":
        return dataclasses.replace(self, shape=shape)

    def transposed(self, order: Sequence[int]) -> "_Transposed":
        """With its axes in another order."""
        shape = tuple(self.shape[k] for k in order)
        if self.source.size == 1:
            return self.reshaped(shape)
        own = _of_dimensions(self.axes, self.shape)
        if own is None:
            return _untransposed(self.array).transposed(order)
        return dataclasses.replace(
            self, axes=tuple(strided_patterns.joined(axis for k in order for axis in own[k])), shape=shape
        )


def _untransposed(array: Any, fused: bool = False) -> _Transposed:
    array = jnp.asarray(array)
    return _Transposed(array, (StridedAxis(array.size, 1),) if array.size > 1 else (), array.shape, fused)


def _of_dimensions(axes: Sequence[StridedAxis], shape: Sequence[int]) -> list[list[StridedAxis]] | None:
    """The axes that each dimension of an array consists of, cut where one ends; None if one ends within a row."""
    rest_axes, found = list(axes), list[list[StridedAxis]]()
    for size in shape:
        own: list[StridedAxis] = []
        while size > 1:
            axis = rest_axes.pop(0)
            if axis.size > size:
                rows, rest = divmod(axis.size, size)
                rest_axes.insert(0, StridedAxis(rows, axis.stride))
                axis = StridedAxis(size, axis.stride * rows)
            else:
                rest = size % axis.size
            if rest:
                return None
            own.append(axis)
            size //= axis.size
        found.append(own)
    return found


def _carried_out(body: Region, arguments: Sequence[_Transposed]) -> list[_Transposed]:
    """The results of a program."""
    known: dict[Value, _Transposed] = dict(zip(body.inputs, arguments, strict=True))

    def read(value: Value) -> _Transposed:
        if isinstance(value, Constant) and value not in known:
            known[value] = _untransposed(value.array)
        return known[value]

    for number in body.needed(body.outputs):
        op = body.ops[number]
        known |= dict(zip(op.results, _results(op, list(map(read, op.used))), strict=True))
    return list(map(read, body.outputs))


def _results(op: Op, operands: list[_Transposed]) -> list[_Transposed]:
    if not op.regions and len(op.results) == 1:
        moved = _moved(op, operands[0]) if len(operands) == 1 else None
        if moved is not None:
            return [moved]
        if ops.of(op).is_elementwise:
            return [_computed(op, operands)]
    if op.name == "dynamic_update_slice" and operands[0].shape == operands[1].shape:
        given = [operand.array for operand in operands]  # of which nothing is left but what is written
    else:
        given = list(map(_unfused, operands))
    return [_untransposed(array, op.name not in _CUTTING) for array in evaluation.results(op, given)]


def _moved(op: Op, operand: _Transposed) -> _Transposed | None:
    """The result of an operation that moves elements, or repeats a single one; None if it does something else."""
    name, shape = op.name, op.results[0].shape
    if name == "transpose":
        return operand.transposed(op.attributes["permutation"])
    same = math.prod(operand.shape) == math.prod(shape) or operand.source.size == 1
    return operand.reshaped(shape) if same and name in _KEEPING else None


def _computed(op: Op, operands: list[_Transposed]) -> _Transposed:
    """The result of an operation on the elements of each index, in the order of the sources if they agree in one."""
    shape = op.results[0].shape
    full = [operand for operand in operands if operand.source.size > 1]
    if any(one.axes != full[0].axes or one.shape != shape for one in full):
        return _untransposed(evaluation.results(op, list(map(_unfused, operands)))[0], fused=True)
    of_source = full[0].source.shape if full else ()
    (found,) = evaluation.results(op, [dataclasses.replace(one, axes=(), shape=of_source).array for one in operands])
    return _Transposed(found, full[0].axes if full else (), shape, fused=True)


def _unfused(operand: _Transposed) -> jax.Array:
    """An array for an operation that XLA would fuse its transposition with: that is made for itself."""
    return operand.array if operand.in_order else fusion_barriers.materialised(operand.array)

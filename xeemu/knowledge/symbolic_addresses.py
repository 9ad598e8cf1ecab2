"""Symbolic addresses: the elements of a memory that an access touches, as expressions and at points of their axes."""

import math
from collections.abc import Sequence

import numpy as np

from xeemu.knowledge import expressions, presence
from xeemu.knowledge.access_tree import AccessTree, MemoryOperation
from xeemu.knowledge.expressions import Expression, Grid


def lane_mask(operation: MemoryOperation, tree: AccessTree) -> Expression:
    """Which elements take part: those that the mask leaves, within bounds, of work-items that exist."""
    mask = operation.mask or expressions.TRUE
    return expressions.both(expressions.both(mask, _bounds(operation)), _present(operation, tree))


def _bounds(operation: MemoryOperation) -> Expression:
    """Which elements lie within the memory's bounds; what intervals tell need not be known."""
    if 0 in operation.access_site.memory.shape:
        return expressions.constant(False)
    inside = expressions.TRUE
    for component, size in zip(operation.index, operation.access_site.memory.shape, strict=True):
        inside = expressions.both(inside, expressions.inside(component, size))
    return inside


def possible(operation: MemoryOperation, tree: AccessTree) -> Expression:
    """The same, as if a mask that depends on data left all in."""
    return expressions.both(_active(operation, tree), _bounds(operation))


def outside(operation: MemoryOperation, tree: AccessTree) -> Expression:
    """Which elements lie outside the memory's bounds, as if a mask that depends on data left all in."""
    return expressions.both(_active(operation, tree), expressions.truth("not", _bounds(operation)))


def _active(operation: MemoryOperation, tree: AccessTree) -> Expression:
    """Which elements are of work-items that exist, and left in by the mask if it does not depend on data."""
    mask = operation.mask if operation.mask is not None and operation.mask.known else expressions.TRUE
    return expressions.both(mask, _present(operation, tree))


def _present(operation: MemoryOperation, tree: AccessTree) -> Expression:
    """Which work-items lie inside the global range."""
    geometry, shape = tree.geometry, operation.access.shape
    if not shape:
        return expressions.TRUE
    return presence.of_groups(geometry, tree.groups, len(shape) - len(geometry.local_range))


def chosen(operation: MemoryOperation) -> np.ndarray:
    """`[n]` flat positions of the elements that a constant mask leaves."""
    shape, mask = operation.access.shape, operation.mask
    if mask is None or not mask.constant:
        return np.arange(math.prod(shape))
    return np.flatnonzero(np.broadcast_to(mask.array, shape))


def flat(grid: Grid, e: Expression, shape: tuple[int, ...], positions: np.ndarray) -> np.ndarray:
    """`[points, n or 1]` values of an expression at the flat positions of an access, 1 if it is a scalar."""
    values = grid.of(e)
    lead = tuple(len(points) for points in grid.points.values())
    if not e.shape:
        return np.broadcast_to(values, lead).reshape(-1, 1)
    rank = len(lead)
    values = np.broadcast_to(values, lead + values.shape[rank:])
    values = values.reshape(-1, *e.shape)
    whole = np.broadcast_to(values, (len(values), *shape)).reshape(len(values), -1)
    return whole if whole.shape[1] == len(positions) else whole[:, positions]


def elements(operation: MemoryOperation, grid: Grid, index: Expression, mask: Expression) -> np.ndarray:
    """`[k]` elements that an access touches at the points of a grid, all executions together.

    Args:
      operation: the access.
      grid: the points.
      index: its linear index.
      mask: which lanes take part.
    """
    shape, positions = operation.access.shape, chosen(operation)
    found, active = np.broadcast_arrays(
        flat(grid, index, shape, positions), active_at(operation, grid, mask, operation.node.conditions)
    )
    return found[active]


def active_at(operation: MemoryOperation, grid: Grid, mask: Expression, conditions: Sequence[Expression]) -> np.ndarray:
    """`[points, n or 1]` which of the elements that its mask may leave an access takes at the points of a grid."""
    active = flat(grid, mask, operation.access.shape, chosen(operation))
    for condition in conditions:
        active = active & flat(grid, condition, (), np.arange(1))
    return active

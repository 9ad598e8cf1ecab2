"""Alignment: block loads and stores whose first element might lie at an address that Intel's devices do not take.

A block load of global memory begins at a multiple of 4 bytes, a block store at one of 16 (cl_intel_subgroups); of local
memory both at one of 16 (cl_intel_subgroup_local_block_io). Memories begin at such multiples themselves. Most bases are
a multiple of something, whatever it is multiplied with: that is followed through the arithmetic of the base.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence

import jax
import numpy as np
from jax import lax

from xeemu.devices.device import Device
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import AccessEvent
from xeemu.knowledge import constant_folding, expressions
from xeemu.knowledge.access_tree import Key, MemoryOperation
from xeemu.knowledge.expressions import Expression
from xeemu.language.geometry import Geometry

_LOAD_BYTES, _STORE_BYTES = 4, 16


def is_required(device: Device) -> bool:
    """True if a device carries out blocks by Intel's messages."""
    return device.architecture != "hopper"


def required_bytes(operation: MemoryOperation) -> int:
    """The multiple of bytes at which a block begins; 1 of an access that is none."""
    if not operation.access.block or operation.access_site.memory.space == "private":
        return 1
    is_global_load = operation.name == "load" and operation.access_site.memory.space == "global"
    return _LOAD_BYTES if is_global_load else _STORE_BYTES


def required_elements(operation: MemoryOperation) -> int:
    """The same in elements; 1 where each of them lies right."""
    return max(1, required_bytes(operation) // operation.access_site.memory.dtype.itemsize)


def doubtful_blocks(operations: Sequence[MemoryOperation], geometry: Geometry) -> frozenset[Key]:
    """The block loads and stores, by their key, that are not proved to begin where they may."""
    return frozenset(o.key for o in operations if not _is_aligned(o, geometry))


def _is_aligned(operation: MemoryOperation, geometry: Geometry) -> bool:
    elements = required_elements(operation)
    if elements == 1:
        return True
    (index,) = operation.index
    first = np.arange(geometry.items) % geometry.sub_group_size == 0
    try:
        residue = _residue(index, elements, {})
    except expressions.TooLarge:
        return False
    shape = operation.access.shape
    base, modulus = (np.broadcast_to(part, shape).reshape(-1)[first] for part in (residue.base, residue.modulus))
    return bool(((base == 0) & (modulus == elements)).all())


def block_index(event: AccessEvent, chunk: EmittedChunk) -> jax.Array:
    """`[G or 1, n or 1]` which element each lane of a block accesses."""
    (index,) = event.indices
    return event.lanes.array(index, chunk)


def misaligned(event: AccessEvent, operation: MemoryOperation, chunk: EmittedChunk) -> jax.Array:
    """`[G or 1, n or 1]` true where a lane is the first of a sub-group whose block begins where it may not."""
    index, items = block_index(event, chunk), chunk.geometry.items
    first = event.items(items) % chunk.geometry.sub_group_size == 0
    return event.active(items) & first & (lax.rem(index, index.dtype.type(required_elements(operation))) != 0)


@dataclasses.dataclass(frozen=True, eq=False)
class _Residue:
    """What is known of the elements of an integer: `base` modulo `modulus`, which is a power of 2.

    It holds for integers that wrap as well.
    """

    base: np.ndarray
    modulus: np.ndarray


def _residue(e: Expression, most: int, known: dict[int, _Residue]) -> _Residue:
    """What is known of an expression modulo powers of 2 up to `most`."""
    for each in expressions.ordered(e, known):
        known[id(each)] = _of(each, most, [_get(o, most, known) for o in each.operands])
    return _get(e, most, known)


def _get(e: Expression, most: int, known: Mapping[int, _Residue]) -> _Residue:
    if not e.constant:
        return known[id(e)]
    array = e.array if e.array.dtype.kind in "iu" else np.zeros(e.shape, np.int64)
    return _reduced(array.astype(np.int64), np.full(e.shape, most if e.array.dtype.kind in "iu" else 1))


def _reduced(base: np.ndarray, modulus: np.ndarray) -> _Residue:
    return _Residue(base % modulus, modulus)


def _of(e: Expression, most: int, operands: Sequence[_Residue]) -> _Residue:
    rule = _RULES.get(e.op)
    if rule is not None and e.dtype.kind in "iu":
        return rule(most, *operands)
    if e.op in constant_folding.MOVES and e.dtype.kind in "iu":
        (operand,) = operands
        move = constant_folding.MOVES[e.op]
        return _Residue(move(e.params, operand.base), move(e.params, operand.modulus))
    if e.op == "shift_left" and e.operands[1].constant:
        factor = 1 << np.minimum(e.operands[1].array.astype(np.int64), 4)
        return _reduced(operands[0].base * factor, np.minimum(operands[0].modulus * factor, most))
    if e.op == "convert_element_type" and e.operands[0].dtype.kind in "iu" and e.dtype.kind in "iu":
        return operands[0]
    if math.prod(e.shape) > 1 << 20:
        raise expressions.TooLarge
    return _Residue(np.zeros(e.shape, np.int64), np.ones(e.shape, np.int64))


def _sum(sign: int) -> Callable[[int, _Residue, _Residue], _Residue]:
    return lambda most, a, b: _reduced(a.base + sign * b.base, np.minimum(a.modulus, b.modulus))


def _product(most: int, a: _Residue, b: _Residue) -> _Residue:
    modulus = np.gcd(np.gcd(a.base * b.modulus, b.base * a.modulus), np.gcd(a.modulus * b.modulus, most))
    return _reduced(a.base * b.base, modulus)


def _either(most: int, *cases: _Residue) -> _Residue:
    """One of several."""
    first, *others = cases
    base, modulus = first.base, first.modulus
    for other in others:
        modulus = np.gcd(np.gcd(modulus, other.modulus), base - other.base)
    return _reduced(base, modulus)


_RULES: Mapping[str, Callable[..., _Residue]] = {
    "add": _sum(1),
    "sub": _sum(-1),
    "mul": _product,
    "max": _either,
    "min": _either,
    "select_n": lambda most, which, *cases: _either(most, *cases),
}

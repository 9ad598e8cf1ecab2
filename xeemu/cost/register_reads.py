"""Register reads: multiply-adds that read one register twice, which some devices take longer for.

A register file has so many ports, and Xe-HPG's delivers one register twice in two cycles. What stands in an accumulator
costs no port. IGC's registers of accumulators hold one float32 of each of 32 lanes; a multiply-add takes them for its
addend and for one of its factors (vISA `AccSubstitution`), so that of a square nothing is spared.
"""

from collections.abc import Mapping, Sequence, Set
from typing import Any

from xeemu.ir.program import Constant, Op, Value

# Of the vISA of Intel's compiler (GRFMode): four registers of 32 bytes beside 128 others.
_ACCUMULATOR_BYTES = 128
_WORD_BYTES = 4


def read_twice(carried_out: Sequence[Op], fused: Set[int], sub_group_size: int) -> Mapping[int, int]:
    """The `id`s of the sums of a body that are multiply-adds and read a register twice.

    Args:
      carried_out: the operations of the body that are.
      fused: the `id`s of the products that sums take in.
      sub_group_size: work-items.

    Returns:
      For each, how many elements of a work-item are spared it, as one of their registers is an accumulator.
    """
    products = {op.results[0]: op for op in carried_out if id(op) in fused}
    repeated = {id(op): values for op in carried_out if (values := _repeated(op, products))}
    kept = _one_by_one({value for value in repeated.values() if value is not _FACTOR}, carried_out, products)
    held = max(1, _ACCUMULATOR_BYTES // (_WORD_BYTES * sub_group_size))
    return {number: held if value in kept else 0 for number, value in repeated.items()}


_FACTOR = object()  # stands for the value of a square


def _one_by_one(values: Set[Any], carried_out: Sequence[Op], products: Mapping[Value, Op]) -> Set[Any]:
    """As many of some values as one place can hold, each from its computation to its last use."""
    begun: dict[Any, int] = {}
    used: dict[Any, int] = {}
    for number, op in enumerate(carried_out):
        factors = (value for product in op.operands if product in products for value in products[product].operands)
        used |= dict.fromkeys((*op.operands, *factors), number)
        begun |= dict.fromkeys(op.results, number)
    kept: set[Any] = set()
    free = -1
    for value in sorted(values, key=lambda value: used[value]):
        if begun.get(value, -1) >= free:
            kept.add(value)
            free = used[value]
    return kept


def _repeated(op: Op, products: Mapping[Value, Op]) -> Any:
    """What a multiply-add reads twice: a value that is factor and addend, or `_FACTOR`; None if nothing."""
    taken = next((value for value in op.operands if value in products), None)
    if op.name not in ("add", "sub") or taken is None:
        return None
    factors = products[taken].operands
    if len(factors) == 1 or factors[0] is factors[1]:
        return _FACTOR
    addend = op.operands[0] if op.operands[1] is taken else op.operands[1]
    return addend if not isinstance(addend, Constant) and any(addend is factor for factor in factors) else None


def divided(found: Mapping[str, float], spared: int) -> Mapping[str, float]:
    """The instructions of a sum that reads a register twice but for some elements; of integers, as they are."""
    if "f16" in found:
        return {"f16twice": found["f16"]}
    once = min(float(spared), found.get("f32", 0.0))
    return {"f32": once, "f32twice": found["f32"] - once} if "f32" in found else found

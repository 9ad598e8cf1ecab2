"""Contraction: which of a body's products multiply-adds take in, and how many a power takes."""

from collections.abc import Sequence

from xeemu.cost import demanded_words
from xeemu.cost.uses import Uses
from xeemu.ir.program import Op
from xeemu.knowledge.analysis import Facts


def taken_in(facts: Facts, uses: Uses) -> tuple[set[int], set[int]]:
    """The `id`s of the products that multiply-adds take in, and of the sums that multiply for it, not only shift.

    A product is taken in where nothing but sums uses it. A sum takes in one: of two products one is carried out.
    """
    products = {op.results[0]: op for op in uses.ops if _is_product(op) and _is_of_sums(uses.of[op.results[0]])}
    for op in uses.ops:
        if _is_sum(op) and all(value in products for value in op.operands):
            del products[op.operands[0]]
    multiplying = (user for value, op in products.items() if not is_shift(op, facts) for user in uses.of[value])
    return {id(op) for op in products.values()}, {id(user) for user in multiplying}


def _is_of_sums(users: Sequence[Op | None]) -> bool:
    return bool(users) and all(user is not None and _is_sum(user) for user in users)


def _is_sum(op: Op) -> bool:
    return op.name in ("add", "sub")


def _is_product(op: Op) -> bool:
    return op.name in ("mul", "square") or (op.name == "integer_pow" and op.attributes["y"] == 2)


def multiplications(op: Op) -> int:
    """Products that a power takes, by squares of squares; 0 of what is no power."""
    power = 2 if op.name == "square" else abs(op.attributes["y"]) if op.name == "integer_pow" else 1
    return max(0, power.bit_length() + power.bit_count() - 2)


def is_shift(product: Op, facts: Facts) -> bool:
    """True if a factor of a product of integers is a power of two that is known."""
    known = (demanded_words.constant(value, facts) for value in product.operands)
    return any(factor is not None and factor > 0 and factor & (factor - 1) == 0 for factor in known)

"""Ballots: masks of lanes, `uint4` with a bit for each; sub-groups have at most 32 lanes, which the first one holds."""

from collections.abc import Callable
from typing import Any

import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, types, values
from xeemu.frontends.lowering import collectives
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.tree import Call
from xeemu.frontends.types import UINT, Scalar
from xeemu.frontends.values import Components, Number, Value

Builtin = Callable[[Walk, Call, bool], Value]

_MOST_LANES = 32


def find(name: str) -> Builtin | None:
    """What carries out a function of masks of lanes, or None if it is none."""
    if name in _MASKS:
        return _mask
    if name in _OF_BALLOT:
        return _of_ballot
    return _ballot if name == "sub_group_ballot" else None


def _check(walk: Walk, node: Call) -> None:
    if walk.wg.sub_group.size > _MOST_LANES:
        raise walk.refuse(
            f"{node.name} of {walk.wg.sub_group.size} lanes; require a sub-group size of at most {_MOST_LANES}"
        )


def _ballot(walk: Walk, node: Call, used: bool) -> Value:
    _check(walk, node)
    predicate: Any = walk.evaluate(node.arguments[0])
    with walk.scope():
        return _of_word(node, values.held(UINT, walk.wg.sub_group.ballot(values.truth(predicate))))


def _of_word(node: Call, word: Number) -> Value:
    assert isinstance(node.type, types.Vector)
    return Components(node.type, (word, *(values.constant(0, UINT),) * (node.type.count - 1)))


# ---- masks of the lanes before and after ----


def _mask(walk: Walk, node: Call, used: bool) -> Value:
    _check(walk, node)
    return _of_word(node, _MASKS[node.name](walk))


def _op(op: str, a: Number, b: Number) -> Number:
    found = arithmetic.binary(op, a, b, UINT)
    assert isinstance(found, Number)
    return found


def _full(walk: Walk) -> Number:
    return values.constant((1 << walk.wg.sub_group.size) - 1, UINT)


def _own(walk: Walk) -> Number:
    return _op("<<", values.constant(1, UINT), values.converted(collectives.lane(walk), UINT))


def _below(walk: Walk) -> Number:
    return _op("-", _own(walk), values.constant(1, UINT))


_MASKS: dict[str, Callable[[Walk], Number]] = {
    "get_sub_group_eq_mask": _own,
    "get_sub_group_lt_mask": _below,
    "get_sub_group_le_mask": lambda walk: _op("|", _own(walk), _below(walk)),
    "get_sub_group_ge_mask": lambda walk: _op("-", _full(walk), _below(walk)),
    "get_sub_group_gt_mask": lambda walk: _op("-", _op("-", _full(walk), _below(walk)), _own(walk)),
}


# ---- what a ballot says ----


def _of_ballot(walk: Walk, node: Call, used: bool) -> Value:
    _check(walk, node)
    mask, *rest = (walk.evaluate(a) for a in node.arguments)
    assert isinstance(mask, Components)
    assert isinstance(node.type, Scalar)
    return values.converted(_OF_BALLOT[node.name](walk, mask.items[0], *rest), node.type)


def _bit(walk: Walk, word: Number, which: Number) -> Number:
    return _op("&", _op(">>", word, which), values.constant(1, UINT))


def _counted(word: Number, within: Number) -> Number:
    inside = _op("&", word, within)
    return _bitwise(inside, lambda x: x.bit_count(), lax.population_count)


def _bitwise(word: Number, known: Callable[[int], int], traced: Callable[[Any], Any]) -> Number:
    """A number of bits from a mask."""
    if word.known:
        return values.constant(known(int(word.python)), UINT)
    return Number(UINT, values.cast(traced(values.exact(word)), np.dtype(np.int32)), (0, _MOST_LANES))


def _lowest(walk: Walk, word: Number) -> Number:
    """The number of zeros below the lowest bit."""
    inside = _op("&", word, _full(walk))
    below = _op("-", _op("&", inside, arithmetic.negated(inside)), values.constant(1, UINT))
    return _counted(below, values.constant(2**32 - 1, UINT))


def _highest(walk: Walk, word: Number) -> Number:
    inside = _op("&", word, _full(walk))
    zeros = _bitwise(inside, lambda x: _MOST_LANES - x.bit_length(), lax.clz)
    # Of no bit at all, whose highest OpenCL leaves undefined, it is the first.
    return _op("-", values.constant(_MOST_LANES - 1, UINT), _op("min", zeros, values.constant(_MOST_LANES - 1, UINT)))


_OF_BALLOT: dict[str, Callable[..., Number]] = {
    "sub_group_inverse_ballot": lambda walk, word: _bit(walk, word, collectives.lane(walk)),
    "sub_group_ballot_bit_extract": _bit,
    "sub_group_ballot_bit_count": lambda walk, word: _counted(word, _full(walk)),
    "sub_group_ballot_inclusive_scan": lambda walk, word: _counted(word, _MASKS["get_sub_group_le_mask"](walk)),
    "sub_group_ballot_exclusive_scan": lambda walk, word: _counted(word, _below(walk)),
    "sub_group_ballot_find_lsb": _lowest,
    "sub_group_ballot_find_msb": _highest,
}

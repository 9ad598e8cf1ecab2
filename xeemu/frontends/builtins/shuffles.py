"""Shuffles: components of one or two vectors in an order that is computed."""

from collections.abc import Sequence

import numpy as np

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.builtins.components import number
from xeemu.frontends.types import Vector
from xeemu.frontends.values import Components, Number, Value


def shuffle(arguments: Sequence[Value], of: types.Type) -> Value:
    """`shuffle` and `shuffle2`: of a mask the lowest bits count that number the sources' components."""
    *sources, mask = arguments
    assert isinstance(mask, Components)
    assert isinstance(of, Vector)
    choices = [n for source in sources for n in _padded(source)]
    return Components(of, tuple(_chosen(choices, n) for n in mask.items))


def _padded(source: Value) -> list[Number]:
    """The components; of three there are four, the last undefined."""
    found = composites.leaves(source)
    return [*found, found[2]] if len(found) == 3 else found


def _chosen(choices: Sequence[Number], index: Number) -> Number:
    """One of `2**k` numbers, found by the bits of an index from the lowest on."""
    if index.known:
        return choices[int(index.python) % len(choices)]
    left, bit = list(choices), 0
    while len(left) > 1:
        mask = values.constant(1 << bit, index.type)
        is_set = values.truth(number(arithmetic.binary("&", index, mask, index.type)))
        left = [number(composites.selected(is_set, odd, even)) for even, odd in zip(left[::2], left[1::2], strict=True)]
        bit += 1
    return left[0]


def count(arguments: Sequence[Value], of: types.Type) -> Value:
    """`vec_step`: components of a vector, 4 for one of 3."""
    (value,) = arguments
    number_of = len(value.items) if isinstance(value, Components) else 1
    assert isinstance(of, types.Scalar)
    return values.constant(np.int32(4 if number_of == 3 else number_of), of)

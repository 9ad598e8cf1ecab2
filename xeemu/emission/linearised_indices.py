"""Linearised indices: those that are the quotient and the remainder of one number, by the width of the memory.

Work-items of one dimension are put into rows and columns so. They go along the memory's elements as the number does.
"""

from collections.abc import Sequence

from xeemu.emission.values import Emitted, Split


def joined(indices: Sequence[Emitted], shape: Sequence[int]) -> tuple[list[Emitted], tuple[int, ...]]:
    """The components of an index, two as one where they are such, and the shape that they then are an index of."""
    found, sizes, k = list(indices), list(shape), 1
    while k < len(found):
        whole = _whole(found[k - 1].split, found[k].split, sizes[k])
        if whole is None:
            k += 1
            continue
        found[k - 1 : k + 1], sizes[k - 1 : k + 1] = [whole], [sizes[k - 1] * sizes[k]]
        k = max(k - 1, 1)
    return found, tuple(sizes)


def _whole(quotient: Split | None, rest: Split | None, width: int) -> Emitted | None:
    """The number of which two others are the quotient and the remainder by a width."""
    if quotient is None or rest is None or quotient.remains or not rest.remains or (rest.offset, rest.sign) != (0, 1):
        return None
    return rest.of if quotient.divisor == rest.divisor == width and _same(quotient.of, rest.of) else None


def _same(a: Emitted, b: Emitted) -> bool:
    """Whether two values are one, or parts of one in the same way."""
    if a is b or a.split is None or b.split is None:
        return a is b
    return a.split.what == b.split.what and _same(a.split.of, b.split.of)

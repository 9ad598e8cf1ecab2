"""Swizzles: the components of a vector that `.xy`, `.s03`, `.lo` and their like name."""

import re


def components(name: str, count: int) -> tuple[int, ...] | None:
    """The components' numbers in a vector of `count`, None if that is no swizzle.

    A vector of 3 counts as one of 4 for `.lo`, `.hi`, `.even` and `.odd`; what its fourth holds is undefined.
    """
    whole = 4 if count == 3 else count
    half = whole // 2
    match name:
        case "lo":
            return tuple(range(half))
        case "hi":
            return tuple(range(half, whole))
        case "even":
            return tuple(range(0, whole, 2))
        case "odd":
            return tuple(range(1, whole, 2))
    for letters in ("xyzw", "rgba"):
        if name and set(name) <= set(letters):
            return tuple(letters.index(c) for c in name)
    if re.fullmatch("[sS][0-9a-fA-F]+", name):
        return tuple(int(c, 16) for c in name[1:])
    return None

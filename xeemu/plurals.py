"""Plurals: a number of things in words: 1 group, 2 groups."""


def counted(count: int, noun: str, several: str = "") -> str:
    """A number with its noun, in the singular for one.

    Args:
      count: how many there are.
      noun: in the singular, such as `group`.
      several: the noun in the plural, where an s does not make it.
    """
    return f"{count} {plural(count, noun, several)}"


def plural(count: int, noun: str, several: str = "") -> str:
    """The noun for a number of things, for which the same holds."""
    return noun if count == 1 else several or f"{noun}s"


def fitting(count: float | None, several: str) -> str:
    """A noun in the plural, such as `passes`, as it is said of a number of things; None: of one that is not known."""
    if count != 1:
        return several
    return several[:-2] if several.endswith("sses") else several.removesuffix("s")

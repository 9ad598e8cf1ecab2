"""Plurals: a number of things in words: 1 group, 2 groups."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number with its noun, in the singular for one.

    Args:
      count: how many there are.
      noun: in the singular, such as `group`.
      plural: of the noun, where an s does not make it.
    """
    return f"{count} {noun if count == 1 else plural or noun + 's'}"

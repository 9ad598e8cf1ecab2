"""Unrolling: how often a loop is repeated in its own text, by a pragma or attribute before it."""

import re

from xeemu.frontends.parsing.integers import integers
from xeemu.frontends.parsing.printed import Printed

_LOOPS = ("for", "while", "do")


def factor(text: Printed) -> int | None:
    """Takes the attributes before a statement; gives the factor, 0 for a full unrolling, None if they ask for none."""
    found = None
    while text.peek() in ("#", "__attribute__", "[") and text.peek():
        taken = _pragma(text) if text.peek() == "#" else _attribute(text)
        wanted = asked(" ".join(taken))
        found = found if wanted is None else wanted
    return found


def _pragma(text: Printed) -> list[str]:
    """A pragma's tokens; a line's end is not printed text, so it ends where the loop or the next pragma begins."""
    text.next()
    return text.until("#", "__attribute__", *_LOOPS)


def _attribute(text: Printed) -> list[str]:
    text.skip("__attribute__")
    return text.bracketed()


def asked(words: str) -> int | None:
    """The factor of which a pragma or attribute speaks, 0 for a full unrolling, None if it asks for none."""
    words = words.replace('"', "")  # of `_Pragma`
    if "unroll" not in words:
        return None
    if "nounroll" in words or "disable" in words:
        return 1
    factor = re.search(r"unroll(?:_hint)? *\(?([^()]*)\)?", words)
    found = integers(factor[1], {}) if factor else []
    return found[0] if found else 0

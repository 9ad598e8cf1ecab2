"""Printed: a function as clang prints it, followed token by token while its cursors are read.

libclang's cursors do not tell a swizzle from a conversion, an operator's name (before version 17), or which parts of a
`for` are there. The printed text does, macros replaced, in the same order as the cursors.
"""

import re

_TOKENS = re.compile(
    r"""
    [LuU]?"(?:\\.|[^"\\])*"
    | [LuU]?'(?:\\.|[^'\\])*'
    | (?:\d|\.\d)(?:[eEpP][+-]|[\w.])*
    | [A-Za-z_$][\w$]*
    | \.\.\. | <<= | >>= | -> | \+\+ | -- | << | >> | <= | >= | == | != | && | \|\| | [*/%+\-&^|]= | \S
    """,
    re.VERBOSE,
)
_OPENING, _CLOSING = {"(", "[", "{"}, {")", "]", "}"}
_FARTHEST = 200


class Lost(Exception):
    """The printed text does not go on as the cursors do."""


class Printed:
    """The tokens of a declaration and how far they are read."""

    def __init__(self, text: str):
        self._tokens = _TOKENS.findall(text)
        self._at = 0

    def peek(self, ahead: int = 0) -> str:
        """A token that comes, empty at the end."""
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ""

    def next(self) -> str:
        """The next token, taken."""
        token = self.peek()
        self._at += 1
        return token

    def skip(self, token: str) -> bool:
        """Takes a token if it is the next."""
        if self.peek() != token:
            return False
        self._at += 1
        return True

    def take(self, token: str) -> None:
        """Takes a token, and what stands before it and no cursor tells of, such as a type's name."""
        for at in range(self._at, min(self._at + _FARTHEST, len(self._tokens))):
            if self._tokens[at] == token:
                self._at = at + 1
                return
        raise Lost(token)

    def bracketed(self) -> list[str]:
        """Takes what is in the brackets that open here, and gives it without the outer ones."""
        if self.peek() not in _OPENING:
            raise Lost("(")
        start = self._at
        depth = 0
        while True:
            token = self.next()
            depth += (token in _OPENING) - (token in _CLOSING)
            if depth == 0:
                return self._tokens[start + 1 : self._at - 1]
            if not token:
                raise Lost(")")

    def until(self, *ends: str) -> list[str]:
        """Takes everything up to, and without, one of some tokens outside of brackets that open on the way."""
        taken: list[str] = []
        depth = 0
        while depth or self.peek() not in ends:
            token = self.next()
            if not token:
                raise Lost(ends[0])
            depth += (token in _OPENING) - (token in _CLOSING)
            taken.append(token)
        return taken

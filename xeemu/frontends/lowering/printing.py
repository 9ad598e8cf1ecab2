"""Printing: `printf`, whose arguments are always evaluated, and kept where somebody wants to see the texts.

A work-item writes the words of its texts one after the other to a row of its own; what is known of a text before the
kernel runs is kept apart, as a `texts.Piece`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.frontends import arithmetic, composites, types, values
from xeemu.frontends.lowering import constants
from xeemu.frontends.lowering.walk import Key, Walk
from xeemu.frontends.texts import Argument, Piece, Pieces
from xeemu.frontends.tree import Call, Cast, Expression, Variable
from xeemu.frontends.types import INT
from xeemu.frontends.values import Handle, Number, Pointing, Value
from xeemu.language.memory import Memory

Builtin = Callable[[Walk, Call, bool], Value]

MEMORY = "printed texts"
"""The key of the memory of the rows; no variable of C is called so."""


@dataclasses.dataclass(frozen=True, eq=False)
class Printer:
    """Where a kernel's texts go.

    Attributes:
      pieces: the calls of `printf`.
      position: the variable that counts each work-item's words.
      words: of a row, the last of which says if there was more.
    """

    pieces: Pieces
    position: Key
    words: int


def find(name: str) -> Builtin | None:
    """What prints, or None if the function does not."""
    return _PRINTING.get(name)


def prepare(walk: Walk, rows: Memory, pieces: Pieces) -> None:
    """Has a kernel keep its texts.

    Args:
      walk: the walk, before anything is walked.
      rows: uint32 `[work-items, words]`, zeros.
      pieces: of the kernel, to which those are added that it calls.
    """
    variable = Variable(MEMORY, INT, "private", walk.place)
    walk.declare(variable, values.constant(0, INT))
    walk.memories[MEMORY] = rows
    walk.printer = Printer(pieces, walk.key(variable), rows.shape[1])


def _printf(walk: Walk, node: Call, used: bool) -> Value:
    form = walk.evaluate(node.arguments[0])
    found = [_argument(walk, a) for a in node.arguments[1:]]
    if walk.printer is not None:
        piece = Piece(_string(form) or "", walk.place, tuple(argument for argument, _ in found))
        _keep(walk, walk.printer, piece, [word for _, words in found for word in words])
    return values.constant(0, INT)


def _failed(walk: Walk, node: Call, used: bool) -> Value:
    """What our header's `assert` calls where it does not hold: its work-item goes on, and whoever prints tells it."""
    if walk.printer is not None:
        text = f"the assertion {_string(walk.evaluate(node.arguments[0]))} does not hold\n".replace("%", "%%")
        _keep(walk, walk.printer, Piece(text, walk.place, (), failed=True), [])
    return values.constant(0, INT)


def _argument(walk: Walk, node: Expression) -> tuple[Argument, list[Any]]:
    """An argument and its words, uint32."""
    if isinstance(node, Cast) and node.type == types.DOUBLE and node.operand.type in (types.FLOAT, types.HALF):
        node = node.operand  # C makes a double of it, which needs no more digits
    value = walk.evaluate(node)
    if (text := _string(value)) is not None:
        return Argument(text), []
    if isinstance(value, Pointing):
        offset = values.converted(value.offset, INT)
        return Argument(walk.layouts[value.memory].name, INT, (_known(offset),)), _words(offset)
    numbers = [_widened(n) for n in composites.leaves(value)]
    if not numbers:
        return Argument("(pointer)"), []
    return Argument("", numbers[0].type, tuple(map(_known, numbers))), [w for n in numbers for w in _words(n)]


def _string(value: Value) -> str | None:
    """The characters of a string that is known, up to its end."""
    if isinstance(value, Handle) and isinstance(value.what, str):
        return value.what
    if isinstance(value, constants.Table) and value.offset.known:
        codes = [int(n) & 0xFF for n in value.numbers[int(value.offset.python) :]]
        return bytes(codes).split(b"\0")[0].decode("latin-1")
    return None


def _widened(n: Number) -> Number:
    """A number of at least 32 bits."""
    if n.type.size >= 4:
        return n
    return values.converted(n, types.FLOAT if n.type.is_float else INT)


def _known(n: Number) -> int | float | bool | None:
    return n.python if n.known else None


def _words(n: Number) -> list[Any]:
    """The words of a number, none of one that is known."""
    if n.known:
        return []
    data = jnp.asarray(values.exact(n))
    bits = lax.bitcast_convert_type(data, np.uint32)
    return [bits[..., k] for k in range(2)] if n.type.size == 8 else [bits]


def _keep(walk: Walk, printer: Printer, piece: Piece, words: Sequence[Any]) -> None:
    """Writes the words of a text to the rows of the active work-items, if there is room."""
    position = walk.read(printer.position)
    assert isinstance(position, Number)
    start = jnp.broadcast_to(jnp.asarray(values.index(position)), walk.shape)
    fits = lax.lt(lax.add(start, np.int32(piece.words)), np.int32(printer.words))
    columns = [jnp.asarray(np.uint32(printer.pieces.number(piece))), *words]
    data = jnp.stack([jnp.broadcast_to(c, walk.shape) for c in columns], -1)
    places = lax.add(
        lax.broadcast_in_dim(start, (*walk.shape, piece.words), tuple(range(len(walk.shape)))),
        lax.broadcast(np.arange(piece.words, dtype=np.int32), walk.shape),
    )
    row = walk.wg.global_linear_id()
    with walk.scope():
        rows = walk.memories[MEMORY].at[row, places].set(data, where=fits)
        more = lax.bitwise_not(fits)
        walk.memories[MEMORY] = rows.at[row, np.int32(printer.words - 1)].set(np.uint32(1), where=more)
    walk.assign(printer.position, arithmetic.binary("+", position, values.constant(piece.words, INT), INT))


_PRINTING: Mapping[str, Builtin] = {"printf": _printf, "failed": _failed}
PRINTING = tuple(_PRINTING)
"""The functions that print."""

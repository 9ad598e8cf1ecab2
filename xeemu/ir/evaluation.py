"""What an operation of JAX's gives, by JAX."""

from collections.abc import Sequence
from typing import Any

from jax import lax

from xeemu.ir.program import Op


def results(op: Op, operands: Sequence[Any]) -> list[Any]:
    """The results of an operation for other operands: arrays, or what a transformation of JAX traces them as."""
    assert op.apply is not None, op.name
    if op.name == "bitcast_convert_type" and op.operands[0].ndim > op.results[0].ndim:
        operands = [_with_bytes_last(operands[0])]
    return list(op.apply(*operands))


def _with_bytes_last(pieces: Any) -> Any:
    """Pieces of numbers, their axis the last one under `vmap` too, where JAX joins along whichever is the last."""
    # A reshape moves mapped axes to the front.
    return lax.squeeze(lax.reshape(pieces, (*pieces.shape, 1)), (pieces.ndim,))

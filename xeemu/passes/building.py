"""Building: new operations, written as calls of JAX."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax

from xeemu.ir.program import Op, Value
from xeemu.ir.rewriting import Rewriter
from xeemu.language import importing
from xeemu.language.program import Program


@dataclasses.dataclass(frozen=True)
class Builder:
    """Adds operations to the region that is being made.

    Attributes:
      program: the program that is being rewritten.
      rewriter: makes the region.
      op: the operation that they stand for, whose line they get.
    """

    program: Program
    rewriter: Rewriter
    op: Op

    def applied(self, function: Callable[..., Any], *operands: Value) -> list[Value]:
        """What a function of arrays, an array or several, gives of some values of the new program."""
        structs = [jax.ShapeDtypeStruct(v.shape, v.dtype, weak_type=v.weak_type) for v in operands]
        with jax.enable_x64(self.program.wide):
            region = importing.imported(jax.make_jaxpr(function)(*structs))
        return self.rewriter.inline(region, operands, self._here)

    def add(self, op: Op) -> tuple[Value, ...]:
        """Adds an operation; gives its results."""
        self.rewriter.ops.append(dataclasses.replace(op, traceback=self.op.traceback))
        return op.results

    def _here(self, rewriter: Rewriter, op: Op) -> Sequence[Value | None]:
        rewriter.keep(dataclasses.replace(op, traceback=self.op.traceback))
        return rewriter.values(op.results)

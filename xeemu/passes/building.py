"""Building: new operations, written as calls of JAX."""

import dataclasses
import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from xeemu.ir import inlining
from xeemu.ir.program import Op, Region, Value
from xeemu.ir.rewriting import Rewriter
from xeemu.language import importing, primitives
from xeemu.language.program import Program

# Functions that are kept traced, those that were not used for longest dropped first: a bound of memory.
_MOST_KEPT = 512


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

    def applied(self, function: Callable[..., Any], *operands: Value, **static: Hashable) -> list[Value]:
        """What a function of arrays, an array or several, gives of some values of the new program.

        Args:
          function: of a module; it is traced once for operands of such types and such static parameters.
          *operands: what it is given.
          **static: its parameters by name.
        """
        types = tuple((v.shape, v.dtype, v.weak_type) for v in operands)
        region = _traced(function, types, tuple(static.items()), self.program.wide)
        return self.rewriter.inline(region, operands, self._here)

    def add(self, op: Op) -> tuple[Value, ...]:
        """Adds an operation; gives its results."""
        self.rewriter.ops.append(dataclasses.replace(op, traceback=self.op.traceback))
        return op.results

    def _here(self, rewriter: Rewriter, op: Op) -> Sequence[Value | None]:
        rewriter.keep(dataclasses.replace(op, traceback=self.op.traceback))
        return rewriter.values(op.results)


def group_terms(steps: Sequence[int], id_type: Any, dtype: Any) -> Iterator[jax.Array]:
    """What the ids of a group add to an index, each times its step: a scalar for each dimension that adds something."""
    for d, step in enumerate(steps):
        if step:
            (group,) = primitives.group_id_p.bind(dim=d, dtype=id_type)
            yield lax.mul(lax.convert_element_type(group, dtype), jnp.asarray(step, dtype))


@functools.lru_cache(maxsize=_MOST_KEPT)
def _traced(
    function: Callable[..., Any],
    types: tuple[tuple[tuple[int, ...], Any, bool], ...],
    static: tuple[tuple[str, Hashable], ...],
    wide: bool,
) -> Region:
    """The operations of a function of arrays of some shapes and dtypes, whose types are weak or not."""
    structs = [jax.ShapeDtypeStruct(shape, dtype, weak_type=weak) for shape, dtype, weak in types]
    with jax.enable_x64(wide):
        traced = jax.make_jaxpr(functools.partial(function, **dict(static)))(*structs)
    return inlining.inlined(importing.imported(traced), lambda op: True)

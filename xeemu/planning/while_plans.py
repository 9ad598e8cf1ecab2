"""While plans: how each loop that tests a predicate is carried out, as a value that is decided on before it is emitted.

What decides: which groups of a chunk leave the loop when, who watches, and how many iterations it may have.
"""

import dataclasses

from xeemu.ir.control import While
from xeemu.knowledge.analysis import Facts


@dataclasses.dataclass(frozen=True, eq=False)
class WhileLoop:
    """A loop that tests a predicate, with what is known of it.

    Attributes:
      loop: what it says.
      predicate: what is known of its predicate.
      watched: whether somebody is told of what it does.
      limit: the most iterations that it may have; None if they are not counted.
    """

    loop: While
    predicate: Facts
    watched: bool
    limit: int | None


@dataclasses.dataclass(frozen=True)
class TopTested:
    """A loop of JAX's, whose predicate is tested before each iteration.

    Attributes:
      limit: the most iterations that it may have; None if they are not counted.
    """

    limit: int | None


@dataclasses.dataclass(frozen=True)
class BottomTested:
    """A loop of JAX's whose body ends with the test of the predicate, and carries what came out.

    Attributes:
      divergent: whether groups leave it at different times; those that have left keep their values then.
      limit: the most iterations that it may have; None if they are not counted.
    """

    divergent: bool
    limit: int | None


WhilePlan = TopTested | BottomTested


def of_loop(loop: WhileLoop) -> WhilePlan:
    """How a loop is carried out.

    JAX's predicate can leave no trace in what an observer carries, so that the body tests where the predicate may.
    """
    divergent = loop.predicate.value(loop.loop.predicate.outputs[0]).varying
    traced = loop.watched or (loop.limit is not None and _holds_loops(loop.loop))
    return BottomTested(divergent, loop.limit) if divergent or traced else TopTested(loop.limit)


def _holds_loops(loop: While) -> bool:
    """Whether the predicate holds loops, whose iterations are counted."""
    return any(op.name == "while" for op in loop.predicate.walk())

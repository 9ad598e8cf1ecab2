"""While plans: how each loop that tests a predicate is carried out, as a value that is decided on before it is emitted.

What decides: which groups of a chunk leave the loop when, who watches, and how many iterations it may have.
"""

import dataclasses

from xeemu.devices.host_figures import Strips
from xeemu.ir.control import While
from xeemu.ir.program import Region
from xeemu.knowledge.analysis import Facts


@dataclasses.dataclass(frozen=True, eq=False)
class WhileLoop:
    """A loop that tests a predicate, with what is known of it.

    Attributes:
      loop: what it says.
      predicate: what is known of its predicate.
      watched: true if somebody is told of what it does.
      limit: the most iterations that it may have; None if they are not counted.
      strips: what pays on the host.
    """

    loop: While
    predicate: Facts
    watched: bool
    limit: int | None
    strips: Strips


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
      divergent: true if groups leave it at different times; those that have left keep their values then.
      limit: the most iterations that it may have; None if they are not counted.
      iterations: that follow each other before it is tested again whether any group goes on. Those that do not keep
        their values.
      interruptible: true if an iteration may end the loop for all groups: somebody watches it, or a loop inside it was
        given up.
    """

    divergent: bool
    limit: int | None
    iterations: int = 1
    interruptible: bool = False

    @property
    def apart(self) -> bool:
        """True if each iteration is fused for itself, and so like the others: that is compiled once for all."""
        return self.iterations > 1


WhilePlan = TopTested | BottomTested


def of_loop(loop: WhileLoop) -> WhilePlan:
    """How a loop is carried out.

    JAX's predicate can leave no trace in what an observer carries, so that the body tests where the predicate may.
    """
    divergent = loop.predicate.value(loop.loop.predicate.outputs[0]).varying
    counted, parts = loop.limit is not None, loop.loop
    traced = loop.watched or (counted and _has_loops(parts.predicate))
    if not (divergent or traced):
        return TopTested(loop.limit)
    iterations = _untested(loop) if divergent and not loop.watched else 1
    interruptible = counted and (traced or _has_loops(parts.body))
    return BottomTested(divergent, loop.limit, iterations, interruptible)


def _untested(loop: WhileLoop) -> int:
    """How many iterations follow each other without a test, of a loop that keeps the values of groups that leave it."""
    figures, each = loop.strips, [op for part in (loop.loop.predicate, loop.loop.body) for op in part.walk()]
    short = figures.untested * len(each) <= figures.largest_strip and not any(op.regions for op in each)
    return figures.untested if short else 1


def _has_loops(body: Region) -> bool:
    """True if a (sub)program holds loops, whose iterations may be counted."""
    return any(op.name == "while" for op in body.walk())

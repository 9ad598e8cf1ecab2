"""Access constraints: what the other operations of a (sub)program demand of how each memory operation is emitted."""

import dataclasses
from collections.abc import Mapping

from xeemu.knowledge.analysis import Facts
from xeemu.planning import hazards, stencil_loads
from xeemu.planning.hazards import Hazards
from xeemu.planning.iterations import Iteration
from xeemu.planning.references import Reference
from xeemu.planning.stencil_loads import StencilLoad

_ALONE = Iteration(at_once=False)


@dataclasses.dataclass(frozen=True, eq=False)
class LoadConstraint:
    """What is demanded of how one load is emitted.

    Attributes:
      gathered: whether it has to be a gather.
      in_line: whether a window is read along a line of the memory (see `Iteration`).
      neighbour: the load as one of several that are read at once, if it is (see `stencil_loads`).
    """

    gathered: bool = False
    in_line: bool = False
    neighbour: StencilLoad | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class AccessConstraints:
    """How the memory operations of a (sub)program have to be emitted, which are named by their numbers.

    Attributes:
      hazards: between them.
      neighbours: for the numbers of loads, see `LoadConstraint`.
      iteration: the one of a loop's block that it is.
    """

    hazards: Hazards = hazards.NONE
    neighbours: Mapping[int, StencilLoad] = dataclasses.field(default_factory=dict)
    iteration: Iteration = _ALONE

    def on(self, reference: Reference, number: int, masked: bool = False) -> Reference:
        """A reference of that number as others, and masks of the control flow, leave it.

        Where an update lies that waits for loads is known only when they are; a loop may have found what is in bounds.
        """
        address = reference.address
        address = address.based() if number in self.hazards.waits else address
        address = address.trusted() if number in self.iteration.trusted else address
        return dataclasses.replace(reference, address=address, masked=reference.masked or masked)

    def of_load(self, number: int, proved: bool) -> LoadConstraint:
        """What is demanded of a load, which may be `proved` to be within bounds."""
        iteration = self.iteration
        # Iterations that are emitted at once would take both branches.
        doubted = iteration.at_once and not proved
        return LoadConstraint(
            gathered=number in self.hazards.gathered or number in iteration.gathered or doubted,
            in_line=number in iteration.in_line,
            neighbour=self.neighbours.get(number),
        )


def of_body(facts: Facts, watched: bool, iteration: Iteration | None) -> AccessConstraints:
    """How the memory operations of a (sub)program have to be emitted.

    Args:
      facts: what is known of it.
      watched: whether somebody sees every access.
      iteration: the one of a loop's block that it is, if it is one.
    """
    alone = not watched and iteration is None
    return AccessConstraints(
        hazards=hazards.of_body(facts),
        neighbours=stencil_loads.of_body(facts) if alone else {},
        iteration=iteration or _ALONE,
    )

"""Hints: patterns in a report's figures that cost more than they must, and what to write instead.

Each is tried before it is given: the model times the launch with the change, and hints are ranked by what they gain.
"""

from collections.abc import Callable, Iterator, Sequence

from xeemu.cost import conflicts, contention, loads_in_flight, small_elements, transfers, utilisation
from xeemu.cost.advice import Advice, Evidence
from xeemu.cost.report import LEVER_GAIN, Hint
from xeemu.cost.trials import WhatIf

Gain = Callable[[WhatIf], float | None]
"""How many times less time a launch takes with a change; None if it is not known."""


def give(evidence: Evidence, gain: Gain, combined: Sequence[str] = ()) -> tuple[Hint, ...]:
    """The hints for a launch, those that gain most first, those of which it is not known last.

    Args:
      evidence: the launch.
      gain: tries a change.
      combined: memories to which the language's runtime adds what work-items give.
    """
    tried = [(advice, _tried(advice, gain, combined)) for advice in _advice(evidence)]
    found = [hint for advice, hint in tried if not advice.minor or hint.gain is None or hint.gain >= LEVER_GAIN]
    # Sorting is stable: what gains as much keeps its order, correct code's costliest mistakes first.
    return tuple(sorted(found, key=lambda hint: -(hint.gain or 0.0)))


def _advice(evidence: Evidence) -> Iterator[Advice]:
    copied = transfers.copied_sites(evidence)
    yield from (each for each in conflicts.advice(evidence) if id(each.sites[0]) not in copied)
    yield from transfers.advice(evidence)
    yield from small_elements.advice(evidence)
    yield from contention.advice(evidence)
    yield from utilisation.advice(evidence)
    yield from loads_in_flight.advice(evidence)


def _tried(advice: Advice, gain: Gain, combined: Sequence[str]) -> Hint:
    gained = None if advice.change is None else gain(advice.change)
    kind, text = advice.kind, advice.text
    if kind == contention.KIND and advice.sites[0].memory in combined:
        kind, text = "reduction over a range", _of_reduction(advice.sites[0].memory)
    return Hint(kind, advice.sites, text, gained)


def _of_reduction(memory: str) -> str:
    """No line of the kernel's does the atomics of a reduction."""
    return (
        f"The updates of {memory} are those of a reduction over a range without work-groups: here each work-item makes "
        "one, while a runtime combines them in groups that it chooses, and takes less time. Launch the reduction over "
        "an nd_range, where a work-group makes one."
    )

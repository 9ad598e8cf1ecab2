"""Loading: where sub-groups wait for few loads at a time, and what would have more of them under way."""

from collections.abc import Iterator

from xeemu.cost.instructions import UNROLLED
from xeemu.cost.latency import Waiting
from xeemu.cost.subject import Advice, Subject
from xeemu.cost.trials import Change

KIND = "loads one by one"

# The share of the latency from which a line is worth a word, and how often each sub-group waits there at least: what it
# waits for once, others hide.
_SHARE = 0.1
_OFTEN = 2


def advice(subject: Subject) -> Iterator[Advice]:
    """What to do where each load waits for the one before it."""
    for wait in subject.waits:
        if wait.site is None or wait.site.space == "local" or (wait.share or 0.0) < _SHARE:
            continue
        together, sub_groups = _together(wait), subject.groups * subject.sub_groups
        if together is None or together > UNROLLED / 2 or (wait.times or 0.0) < _OFTEN * sub_groups:
            continue
        text = (
            f"Sub-groups wait {wait.cycles_each:.0f} cycles here each time, {100 * (wait.share or 0.0):.0f} % of all "
            f"that they wait, with {together:.3g} loads under way. Load what {UNROLLED} iterations need before the "
            "first of it is used, in a loop with a constant number of iterations and without a barrier, or as several "
            "elements of a work-item at once."
        )
        yield Advice(KIND, (wait.site,), text, Change(together=(wait.site,)), minor=True)


def _together(wait: Waiting) -> float | None:
    """Loads that a sub-group has under way at a time; None if it is not known."""
    if wait.site is None or not wait.site.requests or not wait.times or wait.cycles_each is None:
        return None
    return wait.site.requests / wait.times

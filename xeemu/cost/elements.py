"""Elements: accesses to global memory whose requests are short, since the elements are small and each lane has one."""

from collections.abc import Iterator

import numpy as np

from xeemu.cost.sites import SiteReport, fewer
from xeemu.cost.subject import Advice, Subject, costliest
from xeemu.cost.trials import Change

# Bytes of an element that is not small, such as the lanes of a request have; a share of the lines that is worth a word.
_WORD_BYTES = 4
_USED_SHARE = 0.5
# The share of its lanes' elements that a request of neighbours uses.
_FULL = 0.9


def advice(subject: Subject) -> Iterator[Advice]:
    """What to do about global memories of small elements: a work-item that takes some of one takes as many of all."""
    sizes: dict[int, list[SiteReport]] = {}
    for sites in subject.by_memory("global", "store", "load"):
        for site in sites:
            if is_short(site, subject):
                sizes.setdefault(_element_bytes(site), []).append(site)
    for small in sizes.values():
        yield _vectors(costliest(sorted(small, key=lambda site: site.op != "store"), "requests"), subject)


def is_short(site: SiteReport, subject: Subject) -> bool:
    """Whether its requests are of neighbouring small elements, which are half of a line at most."""
    line, used, size = subject.device.line_bytes, site.efficiency, _element_bytes(site)
    if line is None or used is None or site in subject.common or size >= _WORD_BYTES:
        return False
    whole = size * subject.request_lanes
    is_of_neighbours = (site.bytes_used or 0) >= _FULL * whole * (site.requests or 0)
    return 2 * whole <= line and used <= _USED_SHARE and is_of_neighbours


def _vectors(sites: list[SiteReport], subject: Subject) -> Advice:
    site, times = sites[0], _WORD_BYTES // _element_bytes(sites[0])
    names = " and ".join(dict.fromkeys(each.memory for each in sites))
    text = (
        f"A request uses {100 * (site.efficiency or 0):.0f} % of the bytes that it moves: the elements of {names} have "
        f"{_element_bytes(site)} B, and each work-item takes one. Let it take {times} that lie side by side, "
        f"{subject.dialect.vectors.format(memory=site.memory, count=times)}."
    )
    return Advice("small elements", tuple(sites), text, Change(sites=_in_vectors(sites, times)), minor=True)


def _in_vectors(sites: list[SiteReport], times: int) -> tuple[tuple[SiteReport, SiteReport], ...]:
    return tuple((site, fewer(site, times, bytes_used=site.bytes_used)) for site in sites)


def _element_bytes(site: SiteReport) -> int:
    return np.dtype(site.dtype).itemsize

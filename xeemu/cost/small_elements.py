"""Small elements: requests to global memory that are short, since the elements are small and each lane has one."""

from collections.abc import Iterator

import numpy as np

from xeemu.cost.advice import Advice, Evidence, costliest
from xeemu.cost.sites import SiteReport, fewer
from xeemu.cost.trials import WhatIf

# Bytes of an element that is not small, such as the lanes of a request have; a share of the lines that is worth a word.
_WORD_BYTES = 4
_USED_SHARE = 0.5
# The share of its lanes' elements that a request of neighbours uses.
_FULL = 0.9


def advice(evidence: Evidence) -> Iterator[Advice]:
    """What to do about global memories of small elements: a work-item that takes some of one takes as many of all."""
    sizes: dict[int, list[SiteReport]] = {}
    for sites in evidence.by_memory("global", "store", "load"):
        for site in sites:
            if is_short(site, evidence):
                sizes.setdefault(_element_bytes(site), []).append(site)
    for small in sizes.values():
        yield _vectors(costliest(sorted(small, key=lambda site: site.op != "store"), "requests"), evidence)


def is_short(site: SiteReport, evidence: Evidence) -> bool:
    """True if its requests are of neighbouring small elements, which are half of a line at most."""
    line, used, size = evidence.device.line_bytes, site.efficiency, _element_bytes(site)
    if line is None or used is None or site in evidence.common or size >= _WORD_BYTES:
        return False
    whole = size * evidence.request_lanes
    is_of_neighbours = (site.bytes_used or 0) >= _FULL * whole * (site.requests or 0)
    return 2 * whole <= line and used <= _USED_SHARE and is_of_neighbours


def _vectors(sites: list[SiteReport], evidence: Evidence) -> Advice:
    site, times = sites[0], _WORD_BYTES // _element_bytes(sites[0])
    names = " and ".join(dict.fromkeys(each.memory for each in sites))
    text = (
        f"A request uses {100 * (site.efficiency or 0):.0f} % of the bytes that it moves: the elements of {names} have "
        f"{_element_bytes(site)} B, and each work-item takes one. Let it take {times} that lie side by side, "
        f"{evidence.dialect.vectors.format(memory=site.memory, count=times)}."
    )
    return Advice("small elements", tuple(sites), text, WhatIf(sites=_in_vectors(sites, times)), minor=True)


def _in_vectors(sites: list[SiteReport], times: int) -> tuple[tuple[SiteReport, SiteReport], ...]:
    return tuple((site, fewer(site, times, bytes_used=site.bytes_used)) for site in sites)


def _element_bytes(site: SiteReport) -> int:
    return np.dtype(site.dtype).itemsize

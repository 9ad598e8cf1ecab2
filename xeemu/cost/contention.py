"""Contention: atomic operations of many lanes on one word or bank, and what would have fewer of them meet."""

import dataclasses
import math
from collections.abc import Iterator

from xeemu.cost import conflicts
from xeemu.cost.advice import Advice, Evidence, costliest
from xeemu.cost.sites import SiteReport
from xeemu.cost.trials import WhatIf

KIND = "contended atomics"
# Turns that double the passes are worth a hint.
_DEGREE = 2.0


def advice(evidence: Evidence) -> Iterator[Advice]:
    """What to do about atomic operations that take their turns."""
    for site in costliest(evidence.sites, "excess"):
        if site.op == "atomic" and site.space == "local" and conflicts.times(site) >= _DEGREE:
            yield _local(site, evidence)
    yield from _global(evidence)


def _local(site: SiteReport, evidence: Evidence) -> Advice:
    start = f"{conflicts.figures(site)} Atomic operations of its lanes on {site.memory} take their turns. "
    if site.bank_map is not None and conflicts.is_one_word(site.bank_map):
        once = dataclasses.replace(site, passes=site.requests, ideal_passes=site.requests, lanes=site.requests)
        steps = (site.requests or 0) * _steps(evidence)
        text = (
            f"They are all on one word: reduce in the sub-group first ({evidence.dialect.sub_group_reduce}) and let "
            "one lane update it."
        )
        return Advice(KIND, (site,), start + text, WhatIf(sites=((site, once),), instructions={"shuffle": steps}))
    text = (
        "Keep several copies in different banks, one for every few lanes, and add each copy up at the end; where lanes "
        f"share a word, reduce in the sub-group first ({evidence.dialect.sub_group_reduce})."
    )
    apart = dataclasses.replace(site, passes=site.ideal_passes)
    return Advice(KIND, (site,), start + text, WhatIf(sites=((site, apart),)))


def _global(evidence: Evidence) -> Iterator[Advice]:
    atomics, groups = evidence.atomics, evidence.groups
    guilty = costliest([s for s in evidence.sites if s.space == "global" and s.op == "atomic"], "sectors")
    if not guilty or atomics.contention is None or atomics.contention <= groups:
        return
    text = (
        f"{atomics.contention} lanes update one address of global memory, one after the other, "
        f"{atomics.contention / groups:.3g} of each work-group. Reduce in the group first "
        f"({evidence.dialect.group_reduce}, or atomics on local memory) and let one work-item of it update the address."
    )
    yield Advice(KIND, tuple(guilty), text, _reduced(guilty, evidence))


def _reduced(sites: list[SiteReport], evidence: Evidence) -> WhatIf:
    """A reduction in each work-group first: an update of each address by a group, of what one of its lanes has."""
    atomics = evidence.atomics
    share = evidence.groups / (atomics.contention or 1)
    fewer = {"atomic_lanes": atomics.global_operations, "atomic_sends": atomics.global_sectors}
    spared = {name: (share - 1) * (count or 0) for name, count in fewer.items()}
    requests = sum(site.requests or 0 for site in sites)
    # The lanes of a group meet in local memory, and its words are added to global memory once.
    there = {name: float(requests) for name in ("local_passes",)}
    return WhatIf(
        sites=tuple((site, _updated_once(site, share)) for site in sites),
        work={**spared, "atomic_contention": float(evidence.groups - (atomics.contention or 0)), **there},
        instructions={"shuffle": requests * _steps(evidence), "memory": requests},
    )


def _updated_once(site: SiteReport, share: float) -> SiteReport:
    return dataclasses.replace(site, requests=math.ceil((site.requests or 0) * share))


def _steps(evidence: Evidence) -> int:
    """Exchanges between lanes that a reduction over a sub-group takes."""
    return math.ceil(math.log2(max(2, evidence.sub_group_size)))

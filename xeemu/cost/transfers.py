"""Transfers: accesses to global memory that move more bytes, or the same ones more often, than the work needs."""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import jax.numpy as jnp

from xeemu.cost import amounts, small_elements
from xeemu.cost.advice import Advice, Evidence, costliest
from xeemu.cost.sites import SiteReport, fewer
from xeemu.cost.trials import WhatIf
from xeemu.cost.unrolling import UNROLLED
from xeemu.cost.work import Wait
from xeemu.ir import ops
from xeemu.language.dialect import PYTHON

# Patterns worth a hint: three quarters of the moved bytes unused; a sixth of the lines only because rows begin between
# two; a byte that a work-group loads four times.
_WASTED_SHARE = 0.75
_MISALIGNED = 1.15
_AGAIN = 4.0
# Lines of source between a load and the store of what it loaded.
_NEARBY_LINES = 3
# A request that uses one word at most, of 4 or 8 bytes: all its lanes are on one address.
_WORD_BYTES = 8
# A part of what is loaded again that a work-group keeps in local memory at a time, between two barriers.
_KEPT_BYTES = 8192


def advice(evidence: Evidence) -> Iterator[Advice]:
    """What to do about each global memory, and about private memory outside the registers."""
    copied = list(_table_copies(evidence))
    yield from copied
    taken = {id(site) for each in copied for site in each.sites}
    yield from _of_columns(evidence, taken)
    for space in ("global", "private"):
        for sites in evidence.by_memory(space, "load", "store"):
            sites = [site for site in sites if id(site) not in taken]
            found = list(_of_memory(sites, evidence))
            yield from found
            if space == "private" and not found:
                yield _in_memory(sites, evidence)


def copied_sites(evidence: Evidence) -> set[int]:
    """The `id`s of the sites that copy a table: where their stores conflict, sharing out the copy is the remedy."""
    return {id(site) for each in _table_copies(evidence) for site in each.sites}


def _of_columns(evidence: Evidence, taken: set[int]) -> Iterator[Advice]:
    """What to do about memories of all of which neighbours access rows side by side: one order mends them together."""
    every = [
        site
        for sites in evidence.by_memory("global", "load", "store")
        for site in sites
        if id(site) not in taken and _is_wasteful(site, evidence) and not _has_no_rows(site, evidence)
    ]
    if not every:
        return
    first = costliest(every, "lines")[0]
    alike = [site for site in every if _lines_per_request(site) == _lines_per_request(first)]
    if len({site.memory for site in alike}) > 1:
        yield _scattered(costliest(alike, "lines"), evidence)
        taken |= {id(site) for site in alike}


def _of_memory(sites: Sequence[SiteReport], evidence: Evidence) -> Iterator[Advice]:
    wasteful = costliest([site for site in sites if _is_wasteful(site, evidence)], "lines")
    misaligned = costliest([site for site in sites if _is_misaligned(site, evidence)], "lines")
    if wasteful:
        yield _scattered(wasteful, evidence) if sites[0].space == "global" else _scratch(wasteful, evidence)
    elif misaligned and _lie_apart(misaligned, evidence):
        yield _between_lines(misaligned, evidence)
    if sites and sites[0].space == "global" and not _is_updated(sites[0], evidence):
        yield from _again([site for site in sites if site.op == "load"], evidence)


def _is_updated(site: SiteReport, evidence: Evidence) -> bool:
    """True if the launch stores to the memory of a site, or updates it."""
    of_memory = (each for each in evidence.sites if (each.space, each.memory) == (site.space, site.memory))
    return any(ops.of_access(each.op).writes for each in of_memory)


# --- Lines ---


def _factor(site: SiteReport, evidence: Evidence) -> float:
    """Lines that the requests touch, over those that hold the bytes they use, at least one for a request."""
    line = evidence.device.line_bytes
    if not site.lines or not site.requests or site.bytes_used is None or line is None:
        return 1.0
    return site.lines / max(site.requests, site.bytes_used / line)


def _is_wasteful(site: SiteReport, evidence: Evidence) -> bool:
    used = site.efficiency
    return _factor(site, evidence) >= 2 and used is not None and used <= 1 - _WASTED_SHARE


def _is_misaligned(site: SiteReport, evidence: Evidence) -> bool:
    line = evidence.device.line_bytes
    if evidence.local_size[-1] < evidence.request_lanes or _has_no_rows(site, evidence):
        return False
    if line is None or site.bytes_used is None or 2 * site.bytes_used < (site.requests or 0) * line:
        return False
    # Bytes side by side take no more than a line beyond those that hold them.
    most = (site.requests or 0) + max(site.requests or 0, site.bytes_used / line)
    return _factor(site, evidence) >= _MISALIGNED and (site.lines or 0) <= most


def _lie_apart(sites: Sequence[SiteReport], evidence: Evidence) -> bool:
    """True if what the sites access are rows, so that another pitch or beginning has fewer of them cross a line."""
    strides, line = evidence.strides(sites), evidence.device.line_bytes
    width = max((site.bytes_used or 0) // (site.requests or 1) for site in sites)
    return strides is not None and line is not None and strides.lie_apart(line, width)


def _side_by_side(site: SiteReport, evidence: Evidence) -> SiteReport:
    """The site with the bytes that it uses in as few lines as hold them."""
    device = evidence.device
    line, used, requests = device.line_bytes or 1, site.bytes_used or 0, site.requests or 0
    sector = device.sector_bytes or line
    lines = max(requests, math.ceil(used / line))
    sectors = min(site.sectors or 0, max(requests, math.ceil(used / sector)))
    l1_passes = site.l1_passes
    if l1_passes is not None:
        l1_passes = min(l1_passes, max(requests, math.ceil(l1_passes * lines / (site.lines or 1))))
    return dataclasses.replace(site, lines=lines, sectors=sectors, bytes_moved=sectors * sector, l1_passes=l1_passes)


def _change(sites: Sequence[SiteReport], evidence: Evidence) -> WhatIf:
    return WhatIf(sites=tuple((site, _side_by_side(site, evidence)) for site in sites), packed=True)


def _scattered(sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    site = sites[0]
    others = [name for name in dict.fromkeys(each.memory for each in sites) if name != site.memory]
    memories = f"{site.memory}, and of {' and '.join(others)} likewise" if others else site.memory
    text = (
        f"Each request touches {_lines_per_request(site)} lines, and {_percent(site.efficiency)} of the bytes moved "
        f"are used. Neighbouring work-items should touch neighbouring elements of {memories}: let "
        f"{_in_order(site, evidence)} from there, or keep the fields of a structure in arrays of their own."
    )
    return Advice("uncoalesced", tuple(sites), text, _change(sites, evidence))


def _in_order(site: SiteReport, evidence: Evidence) -> str:
    """What lets neighbours touch neighbouring elements: the order of rows, where there are some, or of the index."""
    if _has_no_rows(site, evidence):
        return (
            "the index follow their ids, as by sorting what is looked up, load pieces in order into local memory and "
            "take elements"
        )
    return f"{evidence.dialect.contiguous}, load rows into local memory and take columns"


def _has_no_rows(site: SiteReport, evidence: Evidence) -> bool:
    """True if neither the memory nor the launch has more than one dimension; memories of C have rows in their index."""
    return evidence.dialect is PYTHON and len(site.shape) == 1 and len(evidence.local_size) == 1


def _scratch(sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    site = sites[0]
    text = (
        f"Each request touches {_lines_per_request(site)} lines of private memory outside the registers, since the "
        f"index into {site.memory} is computed. Put what is indexed so into local memory, or index it by constants."
    )
    return Advice("uncoalesced", tuple(sites), text, _change(sites, evidence))


def _in_memory(sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    """What to do about a private array of which all work-items access the same element."""
    site, free = sites[0], evidence.free_bytes
    size = math.prod(site.shape) * jnp.dtype(site.dtype).itemsize
    text = (
        f"Array {site.memory} of each work-item lies in memory, since its elements are chosen by numbers that are not "
        f"constants: {sum(each.requests or 0 for each in sites)} requests. Let a loop of few iterations choose them, "
        f"and have it written out: {evidence.dialect.written_out}. Where data do, put {site.memory} into local memory."
    )
    ordered = tuple(costliest(sites, "requests"))
    if free is not None and size > free:
        text += f" Its {size} bytes are more than the {free} of registers that a work-item leaves free: keep fewer."
        return Advice("private array", ordered, text, None)
    return Advice(
        "private array", ordered, text, WhatIf(sites=tuple((s, fewer(s, math.inf)) for s in ordered)), minor=True
    )


def _between_lines(sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    site = sites[0]
    needed = _lines_per_request(site, _factor(site, evidence))
    text = (
        f"Requests touch {_lines_per_request(site)} lines each where {needed} "
        f"would hold their bytes, since rows of {site.memory} begin between two lines of {evidence.device.line_bytes} "
        "bytes. Make its pitch a multiple of the line, or let the first work-item of a row begin at one."
    )
    return Advice("misaligned rows", tuple(sites), text, _change(sites, evidence), minor=True)


def _lines_per_request(site: SiteReport, times: float = 1.0) -> str:
    return f"{(site.lines or 0) / (site.requests or 1) / times:.3g}"


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.0f} %"


# --- What is loaded again ---


def _again(sites: Sequence[SiteReport], evidence: Evidence) -> Iterator[Advice]:
    loads = costliest(sites, "requests")
    once = evidence.groups * evidence.group_bytes.get(loads[0].memory, 0.0) if loads else 0.0
    used, moved = (amounts.total(getattr(site, name) for site in sites) for name in ("bytes_used", "bytes_moved"))
    if not once or not moved or moved < _AGAIN * once or evidence.group_size <= evidence.sub_group_size:
        return
    if all(small_elements.is_short(site, evidence) for site in loads):
        return
    text = (
        f"A work-group {_repeated(loads[0].memory, (used or 0) / once, moved / once)}. Load it into local memory once, "
        f"a part at a time, and read it there: {evidence.dialect.shared_copy}."
    )
    yield Advice("loaded again", tuple(loads), text, _kept(loads, once, moved / once, evidence), minor=True)


def _repeated(memory: str, used: float, moved: float) -> str:
    """What a work-group does with the bytes of a memory so many times."""
    if used >= _AGAIN:
        return f"loads each byte of {memory} {used:.3g} times"
    return f"moves the bytes of {memory} {moved:.3g} times and uses a part of them each time"


def _kept(sites: Sequence[SiteReport], once: float, times: float, evidence: Evidence) -> WhatIf:
    """The loads as loads of local memory, with what fills it."""
    requests = sum(site.requests or 0 for site in sites)
    filled = math.ceil(once / (4 * evidence.request_lanes))
    parts = math.ceil(once / evidence.groups / _KEPT_BYTES)
    barriers = 2 * parts * evidence.groups
    kept = tuple((site, _filling(site, filled * (site.requests or 0) / requests, times)) for site in sites)
    return WhatIf(
        sites=kept,
        work={"local_passes": float(requests + filled), "barriers": float(barriers)},
        waits=(Wait(requests=requests, rounds=requests / UNROLLED, is_local=True),),
        instructions={"memory": float(requests + filled), "barrier": float(barriers * evidence.sub_groups)},
    )


def _filling(site: SiteReport, requests: float, times: float) -> SiteReport:
    """A site that loads each byte once, in whole lines."""
    return fewer(site, times, requests=min(math.ceil(requests), site.requests or 0))


# --- Copies of tables ---


def _table_copies(evidence: Evidence) -> Iterator[Advice]:
    for load in evidence.sites:
        if load.space != "global" or load.op != "load" or not _is_one_word(load):
            continue
        store = next((site for site in evidence.sites if _stores_what_was_loaded(site, load, evidence)), None)
        # A copy of one word by each work-group leaves nothing to share out.
        if store is not None and (load.requests or 0) > evidence.groups:
            yield _table_copy(load, store, evidence)


def _table_copy(load: SiteReport, store: SiteReport, evidence: Evidence) -> Advice:
    alone = store.lanes is not None and store.lanes == store.requests
    who = (
        "one work-item of a group copies, while the others wait"
        if alone
        else "every work-item copies, all the same one"
    )
    text = (
        f"{load.requests} requests copy {load.memory} to {store.memory} one word at a time: {who}. Let every work-item "
        f"copy a part: {evidence.dialect.shared_copy}."
    )
    # A request of the whole sub-group, or of as many of its lanes as the device takes at once, copies a word for each.
    most = min(evidence.group_size, evidence.request_lanes) if alone else evidence.group_size
    again = (load.requests or 0) / (store.requests or 1)
    spared = ((load, fewer(load, most * again)), (store, fewer(store, most)))
    loops = tuple((site, float(evidence.group_size)) for site in (load, store))
    return Advice("table copy", (load, store), text, WhatIf(sites=spared, loops=loops))


def _is_one_word(site: SiteReport) -> bool:
    if not site.requests or site.bytes_used is None:
        return False
    return site.bytes_used <= _WORD_BYTES * site.requests


def _stores_what_was_loaded(store: SiteReport, load: SiteReport, evidence: Evidence) -> bool:
    near = store.file == load.file and 0 <= store.line - load.line <= _NEARBY_LINES
    # What one work-item stores each sub-group may have loaded, as a scalar.
    times = (1, evidence.sub_groups) if store.lanes == store.requests else (1,)
    asked = [None if store.requests is None else store.requests * n for n in times]
    same = load.requests in asked and (store.bytes_used is None or _is_one_word(store))
    return near and same and store.space == "local" and store.op == "store"

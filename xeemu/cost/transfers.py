"""Transfers: accesses to global memory that move more bytes, or the same ones more often, than the work needs."""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import jax.numpy as jnp

from xeemu.cost import amounts, elements
from xeemu.cost.instructions import UNROLLED
from xeemu.cost.sites import SiteReport, fewer
from xeemu.cost.subject import Advice, Subject, costliest
from xeemu.cost.trials import Change
from xeemu.cost.work import Wait
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


def advice(subject: Subject) -> Iterator[Advice]:
    """What to do about each global memory, and about private memory outside the registers."""
    copied = list(_table_copies(subject))
    yield from copied
    taken = {id(site) for each in copied for site in each.sites}
    yield from _of_columns(subject, taken)
    for space in ("global", "private"):
        for sites in subject.by_memory(space, "load", "store"):
            sites = [site for site in sites if id(site) not in taken]
            found = list(_of_memory(sites, subject))
            yield from found
            if space == "private" and not found:
                yield _in_memory(sites, subject)


def copied_sites(subject: Subject) -> set[int]:
    """The `id`s of the sites that copy a table: where their stores conflict, sharing out the copy is the remedy."""
    return {id(site) for each in _table_copies(subject) for site in each.sites}


def _of_columns(subject: Subject, taken: set[int]) -> Iterator[Advice]:
    """What to do about memories of all of which neighbours access rows side by side: one order mends them together."""
    every = [
        site
        for sites in subject.by_memory("global", "load", "store")
        for site in sites
        if id(site) not in taken and _is_wasteful(site, subject) and not _has_no_rows(site, subject)
    ]
    if not every:
        return
    first = costliest(every, "lines")[0]
    alike = [site for site in every if _lines_per_request(site) == _lines_per_request(first)]
    if len({site.memory for site in alike}) > 1:
        yield _scattered(costliest(alike, "lines"), subject)
        taken |= {id(site) for site in alike}


def _of_memory(sites: Sequence[SiteReport], subject: Subject) -> Iterator[Advice]:
    wasteful = costliest([site for site in sites if _is_wasteful(site, subject)], "lines")
    misaligned = costliest([site for site in sites if _is_misaligned(site, subject)], "lines")
    if wasteful:
        yield _scattered(wasteful, subject) if sites[0].space == "global" else _scratch(wasteful, subject)
    elif misaligned and _lie_apart(misaligned, subject):
        yield _between_lines(misaligned, subject)
    if sites and sites[0].space == "global" and not _is_updated(sites[0], subject):
        yield from _again([site for site in sites if site.op == "load"], subject)


def _is_updated(site: SiteReport, subject: Subject) -> bool:
    """Whether the launch stores to the memory of a site, or updates it."""
    of_memory = (each for each in subject.sites if (each.space, each.memory) == (site.space, site.memory))
    return any(each.op != "load" for each in of_memory)


# --- Lines ---


def _factor(site: SiteReport, subject: Subject) -> float:
    """Lines that the requests touch, over those that hold the bytes they use, at least one for a request."""
    line = subject.device.line_bytes
    if not site.lines or not site.requests or site.bytes_used is None or line is None:
        return 1.0
    return site.lines / max(site.requests, site.bytes_used / line)


def _is_wasteful(site: SiteReport, subject: Subject) -> bool:
    used = site.efficiency
    return _factor(site, subject) >= 2 and used is not None and used <= 1 - _WASTED_SHARE


def _is_misaligned(site: SiteReport, subject: Subject) -> bool:
    line = subject.device.line_bytes
    if subject.local_size[-1] < subject.request_lanes or _has_no_rows(site, subject):
        return False
    if line is None or site.bytes_used is None or 2 * site.bytes_used < (site.requests or 0) * line:
        return False
    # Bytes side by side take no more than a line beyond those that hold them.
    most = (site.requests or 0) + max(site.requests or 0, site.bytes_used / line)
    return _factor(site, subject) >= _MISALIGNED and (site.lines or 0) <= most


def _lie_apart(sites: Sequence[SiteReport], subject: Subject) -> bool:
    """Whether what the sites access are rows, so that another pitch or beginning has fewer of them cross a line."""
    rows, line = subject.rows(sites), subject.device.line_bytes
    width = max((site.bytes_used or 0) // (site.requests or 1) for site in sites)
    return rows is not None and line is not None and rows.lie_apart(line, width)


def _side_by_side(site: SiteReport, subject: Subject) -> SiteReport:
    """The site with the bytes that it uses in as few lines as hold them."""
    device = subject.device
    line, used, requests = device.line_bytes or 1, site.bytes_used or 0, site.requests or 0
    sector = device.sector_bytes or line
    lines = max(requests, math.ceil(used / line))
    sectors = min(site.sectors or 0, max(requests, math.ceil(used / sector)))
    l1_passes = site.l1_passes
    if l1_passes is not None:
        l1_passes = min(l1_passes, max(requests, math.ceil(l1_passes * lines / (site.lines or 1))))
    return dataclasses.replace(site, lines=lines, sectors=sectors, bytes_moved=sectors * sector, l1_passes=l1_passes)


def _change(sites: Sequence[SiteReport], subject: Subject) -> Change:
    return Change(sites=tuple((site, _side_by_side(site, subject)) for site in sites), packed=True)


def _scattered(sites: Sequence[SiteReport], subject: Subject) -> Advice:
    site = sites[0]
    others = [name for name in dict.fromkeys(each.memory for each in sites) if name != site.memory]
    memories = f"{site.memory}, and of {' and '.join(others)} likewise" if others else site.memory
    text = (
        f"Each request touches {_lines_per_request(site)} lines, and {_percent(site.efficiency)} of the bytes moved "
        f"are used. Neighbouring work-items should touch neighbouring elements of {memories}: let "
        f"{_in_order(site, subject)} from there, or keep the fields of a structure in arrays of their own."
    )
    return Advice("uncoalesced", tuple(sites), text, _change(sites, subject))


def _in_order(site: SiteReport, subject: Subject) -> str:
    """What lets neighbours touch neighbouring elements: the order of rows, where there are some, or of the index."""
    if _has_no_rows(site, subject):
        return (
            "the index follow their ids, as by sorting what is looked up, load pieces in order into local memory and "
            "take elements"
        )
    return f"{subject.dialect.contiguous}, load rows into local memory and take columns"


def _has_no_rows(site: SiteReport, subject: Subject) -> bool:
    """Whether neither the memory nor the launch has more than one dimension; memories of C have rows in their index."""
    return subject.dialect is PYTHON and len(site.shape) == 1 and len(subject.local_size) == 1


def _scratch(sites: Sequence[SiteReport], subject: Subject) -> Advice:
    site = sites[0]
    text = (
        f"Each request touches {_lines_per_request(site)} lines of private memory outside the registers, since the "
        f"index into {site.memory} is computed. Put what is indexed so into local memory, or index it by constants."
    )
    return Advice("uncoalesced", tuple(sites), text, _change(sites, subject))


def _in_memory(sites: Sequence[SiteReport], subject: Subject) -> Advice:
    """What to do about a private array of which all work-items access the same element."""
    site, free = sites[0], subject.free_bytes
    size = math.prod(site.shape) * jnp.dtype(site.dtype).itemsize
    text = (
        f"Array {site.memory} of each work-item lies in memory, since its elements are chosen by numbers that are not "
        f"constants: {sum(each.requests or 0 for each in sites)} requests. Let a loop of few iterations choose them, "
        f"and have it written out: {subject.dialect.written_out}. Where data do, put {site.memory} into local memory."
    )
    ordered = tuple(costliest(sites, "requests"))
    if free is not None and size > free:
        text += f" Its {size} bytes are more than the {free} of registers that a work-item leaves free: keep fewer."
        return Advice("private array", ordered, text, None)
    return Advice(
        "private array", ordered, text, Change(sites=tuple((s, fewer(s, math.inf)) for s in ordered)), minor=True
    )


def _between_lines(sites: Sequence[SiteReport], subject: Subject) -> Advice:
    site = sites[0]
    needed = _lines_per_request(site, _factor(site, subject))
    text = (
        f"Requests touch {_lines_per_request(site)} lines each where {needed} "
        f"would hold their bytes, since rows of {site.memory} begin between two lines of {subject.device.line_bytes} "
        "bytes. Make its pitch a multiple of the line, or let the first work-item of a row begin at one."
    )
    return Advice("misaligned rows", tuple(sites), text, _change(sites, subject), minor=True)


def _lines_per_request(site: SiteReport, times: float = 1.0) -> str:
    return f"{(site.lines or 0) / (site.requests or 1) / times:.3g}"


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.0f} %"


# --- What is loaded again ---


def _again(sites: Sequence[SiteReport], subject: Subject) -> Iterator[Advice]:
    loads = costliest(sites, "requests")
    once = subject.groups * subject.group_bytes.get(loads[0].memory, 0.0) if loads else 0.0
    used, moved = (amounts.total(getattr(site, name) for site in sites) for name in ("bytes_used", "bytes_moved"))
    if not once or not moved or moved < _AGAIN * once or subject.group_size <= subject.sub_group_size:
        return
    if all(elements.is_short(site, subject) for site in loads):
        return
    text = (
        f"A work-group {_repeated(loads[0].memory, (used or 0) / once, moved / once)}. Load it into local memory once, "
        f"a part at a time, and read it there: {subject.dialect.shared_copy}."
    )
    yield Advice("loaded again", tuple(loads), text, _kept(loads, once, moved / once, subject), minor=True)


def _repeated(memory: str, used: float, moved: float) -> str:
    """What a work-group does with the bytes of a memory so many times."""
    if used >= _AGAIN:
        return f"loads each byte of {memory} {used:.3g} times"
    return f"moves the bytes of {memory} {moved:.3g} times and uses a part of them each time"


def _kept(sites: Sequence[SiteReport], once: float, times: float, subject: Subject) -> Change:
    """The loads as loads of local memory, with what fills it."""
    requests = sum(site.requests or 0 for site in sites)
    filled = math.ceil(once / (4 * subject.request_lanes))
    parts = math.ceil(once / subject.groups / _KEPT_BYTES)
    barriers = 2 * parts * subject.groups
    kept = tuple((site, _filling(site, filled * (site.requests or 0) / requests, times)) for site in sites)
    return Change(
        sites=kept,
        work={"local_passes": float(requests + filled), "barriers": float(barriers)},
        waits=(Wait(requests=requests, rounds=requests / UNROLLED, is_local=True),),
        instructions={"memory": float(requests + filled), "barrier": float(barriers * subject.sub_groups)},
    )


def _filling(site: SiteReport, requests: float, times: float) -> SiteReport:
    """A site that loads each byte once, in whole lines."""
    return fewer(site, times, requests=min(math.ceil(requests), site.requests or 0))


# --- Copies of tables ---


def _table_copies(subject: Subject) -> Iterator[Advice]:
    for load in subject.sites:
        if load.space != "global" or load.op != "load" or not _is_one_word(load):
            continue
        store = next((site for site in subject.sites if _stores_what_was_loaded(site, load, subject)), None)
        # A copy of one word by each work-group leaves nothing to share out.
        if store is not None and (load.requests or 0) > subject.groups:
            yield _table_copy(load, store, subject)


def _table_copy(load: SiteReport, store: SiteReport, subject: Subject) -> Advice:
    alone = store.lanes is not None and store.lanes == store.requests
    who = (
        "one work-item of a group copies, while the others wait"
        if alone
        else "every work-item copies, all the same one"
    )
    text = (
        f"{load.requests} requests copy {load.memory} to {store.memory} one word at a time: {who}. Let every work-item "
        f"copy a part: {subject.dialect.shared_copy}."
    )
    # A request of the whole sub-group, or of as many of its lanes as the device takes at once, copies a word for each.
    most = min(subject.group_size, subject.request_lanes) if alone else subject.group_size
    again = (load.requests or 0) / (store.requests or 1)
    spared = ((load, fewer(load, most * again)), (store, fewer(store, most)))
    loops = tuple((site, float(subject.group_size)) for site in (load, store))
    return Advice("table copy", (load, store), text, Change(sites=spared, loops=loops))


def _is_one_word(site: SiteReport) -> bool:
    if not site.requests or site.bytes_used is None:
        return False
    return site.bytes_used <= _WORD_BYTES * site.requests


def _stores_what_was_loaded(store: SiteReport, load: SiteReport, subject: Subject) -> bool:
    near = store.file == load.file and 0 <= store.line - load.line <= _NEARBY_LINES
    # What one work-item stores each sub-group may have loaded, as a scalar.
    times = (1, subject.sub_groups) if store.lanes == store.requests else (1,)
    asked = [None if store.requests is None else store.requests * n for n in times]
    same = load.requests in asked and (store.bytes_used is None or _is_one_word(store))
    return near and same and store.space == "local" and store.op == "store"

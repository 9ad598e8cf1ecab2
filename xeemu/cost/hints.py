"""Hints: patterns in a report's figures that cost more than they must, and what to write instead.

A hint says what the counts show, what to write, and what that gains at most. The gain is of the resource that the
pattern loads; a launch that another resource binds does not get faster, and the hint says so.
"""

from collections.abc import Iterable, Sequence

from xeemu.cost.report import Hint
from xeemu.cost.sites import AtomicTotals, SiteReport
from xeemu.cost.timing import Term
from xeemu.devices.bankmap import BankMap
from xeemu.devices.device import Device
from xeemu.devices.occupancy import Occupancy
from xeemu.language.dialect import PYTHON, Dialect

# What a pattern must cost before it is worth a hint: conflicts that double the passes, three quarters of the moved
# bytes unused, a quarter of the time spent on contended addresses, less than half of the threads in flight.
_CONFLICT_DEGREE = 2.0
_WASTED_SHARE = 0.75
_CONTENDED_SHARE = 0.25
_LOW_OCCUPANCY = 0.5
# Lines of source between a load and the store of what it loaded.
_NEARBY_LINES = 3
# A request that uses one word at most, of 4 or 8 bytes: all its lanes are on one address.
_WORD_BYTES = 8


def give(
    sites: Sequence[SiteReport],
    atomics: AtomicTotals,
    occupancy: Occupancy | None,
    terms: Sequence[Term],
    groups: int,
    group_size: int,
    device: Device,
    dialect: Dialect = PYTHON,
) -> tuple[Hint, ...]:
    """The hints for a launch, those about the binding resource first.

    Args:
      sites: its memory operations.
      atomics: its totals of atomic operations.
      occupancy: its occupancy; None if it is not known.
      terms: what each resource would take.
      groups: its work-groups.
      group_size: work-items of each of them.
      device: the modelled device.
      dialect: the language of advice.
    """
    copies = list(_table_copies(sites, groups, group_size, device, dialect))
    # Where stores of one word conflict, a copy's store does; sharing out the copy is the remedy for that too.
    others = [site for site in sites if all(site not in hint.sites for hint in copies)]
    found = [
        *((_CONFLICTS, hint) for hint in _bank_conflicts(others, device, dialect)),
        *((_COPIES, hint) for hint in copies),
        *((_LINES, hint) for hint in _uncoalesced(sites, device, dialect)),
        *((_ATOMICS, hint) for hint in _contended_atomics(sites, atomics, terms, groups, dialect)),
        *((_WAITS, hint) for hint in _low_occupancy(occupancy)),
    ]
    cycles = {term.resource: term.cycles or 0.0 for term in terms}
    # Sorting is stable: what costs as much keeps the order above, correct code's costliest mistakes first.
    found.sort(key=lambda item: -max(cycles.get(resource, 0.0) for resource in item[0]))
    return tuple(hint for _, hint in found)


_CONTENDED = "contended atomics"
# The resources that each kind of hint unloads.
_CONFLICTS = ("SLM",)
_COPIES = ("SLM", "L1", "issue")
_LINES = ("L1", "L2", "DRAM")
_ATOMICS = ("atomics", "L2")
_WAITS = ("latency",)


def _bank_conflicts(sites: Iterable[SiteReport], device: Device, dialect: Dialect) -> Iterable[Hint]:
    conflicting = [site for site in sites if site.space == "local" and (site.excess or 0) > 0]
    conflicting = [site for site in conflicting if (_times(site) or 0.0) >= _CONFLICT_DEGREE]
    for site in sorted(conflicting, key=lambda site: -(site.excess or 0)):
        yield _contended_local(site, dialect) if site.op == "atomic" else _conflict(site, device, dialect)


def _conflict(site: SiteReport, device: Device, dialect: Dialect) -> Hint:
    text = (
        f"{_way(site)}: {site.passes} passes for {site.requests} requests, {site.excess} of them in excess. "
        f"{_why(site)} {_remedy(site, device, dialect)}"
    )
    return Hint("bank conflict", (site,), text, _slm_bound(site))


def _why(site: SiteReport) -> str:
    if site.bank_map is not None and site.op == "store" and _is_one_word_map(site.bank_map):
        return "Lanes of a request store to one word, one after the other."
    return "Lanes of a request touch different words of one bank."


def _remedy(site: SiteReport, device: Device, dialect: Dialect) -> str:
    if site.bank_map is not None and site.op == "store" and _is_one_word_map(site.bank_map):
        return f"Let one work-item store what all agree on: {dialect.one_item.format(scope='local')}."
    if len(site.shape) > 1:
        wider = dialect.pitched(site.memory, [*map(str, site.shape[:-1]), f"{site.shape[-1]} + 1"])
        return f"Make the pitch of {site.memory} an odd number of words; one more column does: {wider}."
    return (
        "Let neighbouring work-items touch neighbouring words, or leave one word free after every "
        f"{device.slm_banks}: the word {dialect.spread.format(banks=device.slm_banks)} in place of i."
    )


def _is_one_word_map(shown: BankMap) -> bool:
    """Whether all lanes of each request are on one word."""
    words = [{a // shown.bank_bytes for a in row if a is not None} for row in shown.addresses]
    return any(words) and all(len(touched) <= 1 for touched in words)


def _contended_local(site: SiteReport, dialect: Dialect) -> Hint:
    text = (
        f"{_way(site)}: {site.passes} passes for {site.requests} atomic requests to {site.memory}. Lanes update one "
        "word, or words of one bank, and take their turns. Give each sub-group a copy of its own and add the copies up "
        f"at the end, or reduce in the sub-group first ({dialect.sub_group_reduce}) and let one lane update."
    )
    return Hint("contended atomics", (site,), text, _slm_bound(site))


def _table_copies(
    sites: Sequence[SiteReport], groups: int, group_size: int, device: Device, dialect: Dialect
) -> Iterable[Hint]:
    for load in sites:
        if load.space != "global" or load.op != "load" or not _is_one_word(load):
            continue
        store = next((site for site in sites if _stores_what_was_loaded(site, load)), None)
        # A copy of one word by each work-group leaves nothing to share out.
        if store is not None and (load.requests or 0) > groups:
            yield _table_copy(load, store, group_size, device, dialect)


def _table_copy(load: SiteReport, store: SiteReport, group_size: int, device: Device, dialect: Dialect) -> Hint:
    alone = store.lanes is not None and store.lanes == store.requests
    who = (
        "one work-item of a group copies, while the others wait"
        if alone
        else "every work-item copies, all the same one"
    )
    text = (
        f"{load.requests} requests copy {load.memory} to {store.memory} one word at a time: {who}. Let every work-item "
        f"copy a part: {dialect.shared_copy}."
    )
    # A request of the whole sub-group, or of as many of its lanes as the device takes at once, copies a word for each.
    most = min(group_size, device.request_lanes or group_size) if alone else group_size
    bound = (
        f"At most {most}x fewer requests for the copy, with a word for every lane; no gain where neither SLM nor L1 "
        "nor issue is the bound."
    )
    return Hint("table copy", (load, store), text, bound)


def _is_one_word(site: SiteReport) -> bool:
    if not site.requests or site.bytes_used is None:
        return False
    return site.bytes_used <= _WORD_BYTES * site.requests


def _stores_what_was_loaded(store: SiteReport, load: SiteReport) -> bool:
    near = store.file == load.file and 0 <= store.line - load.line <= _NEARBY_LINES
    same = store.requests == load.requests and (store.bytes_used is None or _is_one_word(store))
    return near and same and store.space == "local" and store.op == "store"


def _uncoalesced(sites: Iterable[SiteReport], device: Device, dialect: Dialect) -> Iterable[Hint]:
    wasteful = [site for site in sites if site.space != "local" and site.op != "atomic" and _wasted_lines(site, device)]
    for site in sorted(wasteful, key=lambda site: -(site.lines or 0)):
        yield _scattered(site, device, dialect) if site.space == "global" else _scratch(site, device)


def _wasted_lines(site: SiteReport, device: Device) -> bool:
    factor, used = _line_factor(site, device), site.efficiency
    return factor is not None and factor >= 2 and used is not None and used <= 1 - _WASTED_SHARE


def _line_factor(site: SiteReport, device: Device) -> float | None:
    """Lines that the requests touch, over those that hold the bytes they use, at least one for a request."""
    if not site.lines or not site.requests or site.bytes_used is None or device.line_bytes is None:
        return None
    return site.lines / max(site.requests, site.bytes_used / device.line_bytes)


def _scattered(site: SiteReport, device: Device, dialect: Dialect) -> Hint:
    text = (
        f"Each request touches {_lines_per_request(site)} lines, and {_percent(site.efficiency)} of the bytes moved "
        f"are used. Neighbouring work-items should touch neighbouring elements of {site.memory}: let "
        f"{dialect.contiguous}, or load rows into local memory and take columns from there."
    )
    return Hint("uncoalesced", (site,), text, _memory_bound(site, device))


def _scratch(site: SiteReport, device: Device) -> Hint:
    text = (
        f"Each request touches {_lines_per_request(site)} lines of private memory outside the registers, since the "
        f"index into {site.memory} is computed. Put what is indexed so into local memory, or index it by constants."
    )
    return Hint("uncoalesced", (site,), text, _memory_bound(site, device))


def _lines_per_request(site: SiteReport) -> str:
    return f"{(site.lines or 0) / (site.requests or 1):.3g}"


def _memory_bound(site: SiteReport, device: Device) -> str:
    gain = f"At most {_line_factor(site, device):.3g}x fewer lines for this line of source"
    return f"{gain}; no gain where no level of global memory is the bound."


def _contended_atomics(
    sites: Iterable[SiteReport], atomics: AtomicTotals, terms: Iterable[Term], groups: int, dialect: Dialect
) -> Iterable[Hint]:
    contention = atomics.contention
    share = next((term.share for term in terms if term.resource == "atomics"), None)
    guilty = tuple(site for site in sites if site.space == "global" and site.op == "atomic")
    if not guilty or contention is None or contention <= groups:
        return
    if share is not None and share < _CONTENDED_SHARE:
        return
    per_group = f"{contention / groups:.3g}"
    text = (
        f"{contention} lanes update one address of global memory, one after the other, {per_group} of each "
        f"work-group. Reduce in the group first ({dialect.group_reduce}, or atomics on local memory) and let one "
        "work-item of it update the address."
    )
    bound = f"At most {per_group}x fewer updates of the busiest address; no gain where atomics are not the bound."
    yield Hint(_CONTENDED, tuple(sorted(guilty, key=lambda site: -(site.sectors or 0))), text, bound)


def by_runtime(found: Sequence[Hint], combined: Sequence[str]) -> tuple[Hint, ...]:
    """The hints, where those about atomics of a reduction say that no line of the kernel's does them.

    Args:
      found: the hints.
      combined: memories to which the language's runtime adds what work-items give.
    """
    return tuple(
        _of_reduction(hint) if hint.kind == _CONTENDED and hint.sites[0].memory in combined else hint for hint in found
    )


def _of_reduction(hint: Hint) -> Hint:
    text = (
        f"The updates of {hint.sites[0].memory} are those of a reduction over a range without work-groups: here each "
        "work-item makes one, while a runtime combines them in groups that it chooses, and takes less time. Launch the "
        "reduction over an nd_range, where a work-group makes one."
    )
    return Hint("reduction over a range", hint.sites, text, hint.bound)


def _low_occupancy(occupancy: Occupancy | None) -> Iterable[Hint]:
    if occupancy is None or occupancy.fraction is None or not 0 < occupancy.fraction < _LOW_OCCUPANCY:
        return
    step = f" {_sentence(str(occupancy.next_step))}" if occupancy.next_step is not None else ""
    limiter = f", limited by {occupancy.limiter}" if occupancy.limiter else ""
    text = (
        f"{_percent(occupancy.fraction)} of the hardware threads of an Xe core have work{limiter}, so that few others "
        f"run while one waits.{step}"
    )
    bound = f"At most {1 / occupancy.fraction:.3g}x less waiting; no gain where latency is not the bound."
    yield Hint("low occupancy", (), text, bound)


def _times(site: SiteReport) -> float | None:
    """How many times the passes without conflicts a site takes."""
    return None if site.passes is None or not site.ideal_passes else site.passes / site.ideal_passes


def _slm_bound(site: SiteReport) -> str:
    return f"At most {_times(site):.3g}x less SLM time for this line of source; no gain where SLM is not the bound."


def _way(site: SiteReport) -> str:
    return f"{site.degree:.3g}-way"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _percent(value: float | None) -> str:
    return "?" if value is None else f"{100 * value:.0f} %"

"""Conflicts: memories whose lanes meet in one bank, and layouts of them that were tried on the addresses.

The layouts, of which the one with the fewest passes is advised: work-items take words that lie apart; rows of a memory
get a wider pitch; words of a row are left free. A layout that changes nothing is not advised.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence

import jax.numpy as jnp
import numpy as np

from xeemu.cost.advice import Advice, Evidence, costliest
from xeemu.cost.sites import SiteReport
from xeemu.cost.trials import WhatIf
from xeemu.devices import banks
from xeemu.devices.bankmap import BankMap
from xeemu.devices.device import Device

# Conflicts that double the passes are worth a hint.
_DEGREE = 2.0
# What a wider pitch is made wider by, in vectors or in elements.
_PADS = (1, 2, 4, 8)
# A layout is advised before another if it takes no more passes than this share beyond that.
_AS_GOOD = 1.05

Layout = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Of addresses in bytes `[Q, S]` and which lanes are active, the addresses in another layout."""


@dataclasses.dataclass(frozen=True, eq=False)
class _Remedy:
    """A layout, and how to write it."""

    text: str
    sites: Sequence[SiteReport]
    passes: int


def advice(evidence: Evidence) -> Iterator[Advice]:
    """What to do about the conflicts of each memory."""
    for sites in evidence.by_memory("local", "load", "store"):
        every = costliest([site for site in sites if times(site) > 1], "excess")
        conflicting = [site for site in every if times(site) >= _DEGREE]
        for advice in _of_memory(conflicting or every, sites, evidence):
            # Conflicts of fewer passes are worth a word only where that gains something.
            yield dataclasses.replace(advice, minor=not conflicting)


def _of_memory(conflicting: Sequence[SiteReport], sites: Sequence[SiteReport], evidence: Evidence) -> Iterator[Advice]:
    same = [site for site in conflicting if _is_one_word_store(site)]
    parts = [site for site in conflicting if site not in same and stores_parts_of_words(site)]
    rest = [site for site in conflicting if site not in same and site not in parts]
    if same:
        yield _one_word(same, evidence)
    if parts:
        yield _parts_of_words(parts, sites, evidence)
    if rest:
        yield _layout(rest, sites, evidence)


def _one_word(sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    changed = tuple((site, _by_one_item(site, evidence)) for site in sites)
    # The others issue the store all the same, with no lane that takes part.
    masked = sum((before.requests or 0) - (after.requests or 0) for before, after in changed)
    text = (
        f"{figures(sites[0])} Lanes of a request store to one word, one after the other. Let one work-item store what "
        f"all agree on: {evidence.dialect.one_item.format(scope='local')}."
    )
    return Advice("bank conflict", tuple(sites), text, WhatIf(sites=changed, instructions={"memory": float(masked)}))


def _parts_of_words(stores: Sequence[SiteReport], sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    size, word, device = _itemsize(stores[0]), evidence.device.slm_bank_bytes or 1, evidence.device
    taken = (
        "as is taken, since that is not known of this device" if device.slm_same_word_stores_conflict is None else ""
    )
    text = (
        f"{figures(stores[0])} Lanes of a request store to different bytes of one word, one after the other"
        f"{taken and ', '}{taken}. Let a work-item store {word // size} elements of {stores[0].memory} as one word, "
        f"or make them elements of {word} bytes."
    )

    def apart(addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
        moved: np.ndarray = addresses // size * word
        return moved

    changed = tuple((site, _laid_out(site, apart, device)) for site in sites)
    return Advice("bank conflict", tuple(stores), text, WhatIf(sites=changed))


def _by_one_item(site: SiteReport, evidence: Evidence) -> SiteReport:
    requests = -(-(site.requests or 0) // evidence.requests_of_group)
    return dataclasses.replace(site, requests=requests, lanes=requests, passes=requests, ideal_passes=requests)


def _layout(conflicting: Sequence[SiteReport], sites: Sequence[SiteReport], evidence: Evidence) -> Advice:
    if times(conflicting[0]) < _DEGREE and not _is_shown(conflicting[0], evidence.device):
        text = (
            f"{figures(conflicting[0])} In some executions lanes of a request touch different words of one bank. Let "
            "lanes of a sub-group touch words of different banks in all of them."
        )
        return Advice("bank conflict", tuple(conflicting), text, WhatIf(sites=_ideal(conflicting)))
    remedies = list(_remedies(conflicting[0], sites, evidence))
    least = min((remedy.passes for remedy in remedies), default=0)
    before = sum(site.passes or 0 for site in sites)
    best = next((remedy for remedy in remedies if remedy.passes <= _AS_GOOD * least), None)
    start = f"{figures(conflicting[0])} Lanes of a request touch different words of one bank. "
    if best is None or best.passes * _AS_GOOD > before:
        text = start + "Let lanes of a sub-group touch words of different banks; a wider pitch alone changes nothing."
        return Advice("bank conflict", tuple(conflicting), text, WhatIf(sites=_ideal(conflicting)))
    changed = tuple(zip(sites, best.sites, strict=True))
    return Advice("bank conflict", tuple(conflicting), start + best.text, WhatIf(sites=changed))


def _is_shown(site: SiteReport, device: Device) -> bool:
    """True if all executions of a site have the conflicts of the one that is shown, so that a layout mends all."""
    if site.bank_map is None or not site.requests or site.passes is None:
        return False
    addresses, active = _shown(site.bank_map)
    return _passes(addresses, active, site, device, 1) * site.requests == site.passes * len(addresses)


def _ideal(sites: Sequence[SiteReport]) -> tuple[tuple[SiteReport, SiteReport], ...]:
    return tuple((site, dataclasses.replace(site, passes=site.ideal_passes)) for site in sites)


# --- Layouts ---


def _remedies(worst: SiteReport, sites: Sequence[SiteReport], evidence: Evidence) -> Iterator[_Remedy]:
    """The layouts that can be tried, those that are easier to write first."""
    device, dialect = evidence.device, evidence.dialect
    stride, changing = _run(worst), len(evidence.distances(sites) - {0, 1}) > 1
    # What is a work-item's own in one step belongs to several in another.
    if stride is not None and not changing:
        words = f"word {stride} * i + k of work-item i"
        text = (
            f"Each work-item has {stride} elements of {worst.memory} side by side: {words}. Let them lie apart, "
            "element k * n + i of n work-items, so that neighbours touch neighbouring words."
        )
        yield _remedy(text, [site if _run(site) is None else _packed(site, device) for site in sites])
    if len(worst.shape) > 1:
        unit = max(1, (worst.bank_map.width_bytes if worst.bank_map else 1) // _itemsize(worst))
        # Elements of a work-item stay side by side; else they are no vector, and take a request each.
        for pad in dict.fromkeys([*(n * unit for n in _PADS), *_PADS]):
            wider = dialect.pitched(worst.memory, [*map(str, worst.shape[:-1]), f"{worst.shape[-1]} + {pad}"])
            columns = "one more column does" if pad == 1 else f"{pad} more columns do"
            odd = "an odd number of words" if pad == 1 else "no multiple of the banks' words"
            text = f"Make the pitch of {worst.memory} {odd}; {columns}: {wider}."
            yield _remedy(text, [_laid_out(site, functools.partial(_padded, site, pad), device) for site in sites])
    else:
        free = f"one word free after every {device.slm_banks}"
        start = (
            f"Leave {free}" if changing else f"Let neighbouring work-items touch neighbouring words, or leave {free}"
        )
        text = f"{start}: the word {dialect.spread.format(banks=device.slm_banks)} in place of i."
        yield _remedy(text, [_laid_out(site, functools.partial(_spread, device), device) for site in sites])


def _remedy(text: str, sites: Sequence[SiteReport]) -> _Remedy:
    return _Remedy(text, sites, sum(site.passes or 0 for site in sites))


def _padded(site: SiteReport, pad: int, addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
    size = _itemsize(site)
    moved: np.ndarray = addresses + addresses // size // site.shape[-1] * pad * size
    return moved


def _spread(device: Device, addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
    word = device.slm_bank_bytes or 1
    moved: np.ndarray = addresses + addresses // (word * (device.slm_banks or 1)) * word
    return moved


def _packed(site: SiteReport, device: Device) -> SiteReport:
    """The site with each lane's element beside that of the lane before."""
    width = site.bank_map.width_bytes if site.bank_map else 1

    def layout(addresses: np.ndarray, active: np.ndarray) -> np.ndarray:
        moved = np.zeros_like(addresses)
        for row, on, out in zip(addresses, active, moved, strict=True):
            _, rank = np.unique(row[on], return_inverse=True)
            out[on] = rank * width
        return moved

    return _laid_out(site, layout, device)


def _laid_out(site: SiteReport, layout: Layout, device: Device) -> SiteReport:
    """A site in another layout, all its executions taken to change as the one that is shown."""
    if site.bank_map is None or site.passes is None:
        return site
    addresses, active = _shown(site.bank_map)
    width = site.bank_map.width_bytes
    moved = layout(addresses, active)
    parts = 1 if not (moved % width)[active].any() else width // _itemsize(site)
    before = _passes(addresses, active, site, device, 1)
    after = _passes(moved, active, site, device, parts)
    ideal = (site.ideal_passes or 0) if parts == 1 else (site.requests or 0) * parts
    passes = site.passes if not before else max(ideal, round(site.passes * after / before))
    requests = None if site.requests is None else site.requests * parts
    return dataclasses.replace(site, requests=requests, passes=passes)


def _passes(addresses: np.ndarray, active: np.ndarray, site: SiteReport, device: Device, parts: int) -> int:
    """Passes of an execution whose requests are divided into so many, each of as many bytes of every lane."""
    width = (site.bank_map.width_bytes if site.bank_map else 1) // parts
    requests = [addresses + k * width for k in range(parts)]
    served = [banks.bank_passes(each, active, device, width=width, kind=site.op) for each in requests]  # type: ignore[arg-type]
    return int(sum(each.passes.sum() for each in served))


@functools.lru_cache(maxsize=8)
def _shown(drawn: BankMap) -> tuple[np.ndarray, np.ndarray]:
    """`[Q, S]` addresses of an execution, 0 for lanes that take no part, and which do."""
    active = np.array([[a is not None for a in row] for row in drawn.addresses])
    return np.array([[a or 0 for a in row] for row in drawn.addresses], np.int64), active


def _run(site: SiteReport) -> int | None:
    """Elements from one lane to the next, where lanes are evenly apart in one row of a memory, with others between."""
    if site.bank_map is None:
        return None
    size, row_elements = _itemsize(site), site.shape[-1] if site.shape else 1
    found = set()
    for row in site.bank_map.addresses:
        places = np.unique([a // size for a in row if a is not None])
        if len(places) > 1 and places[0] // row_elements == places[-1] // row_elements:
            found |= set(map(int, np.diff(places)))
        elif len(places) > 1:
            return None
    stride = found.pop() if len(found) == 1 else 1
    return stride if size * stride > site.bank_map.width_bytes else None


def _itemsize(site: SiteReport) -> int:
    return jnp.dtype(site.dtype).itemsize


# --- Words ---


def times(site: SiteReport) -> float:
    """How many times the passes without conflicts a site takes."""
    return 0.0 if site.passes is None or not site.ideal_passes else site.passes / site.ideal_passes


def figures(site: SiteReport) -> str:
    """What the conflicts of a site come to."""
    return f"{site.degree:.3g}-way: {site.passes} passes for {site.requests} requests, {site.excess} of them in excess."


def is_one_word(shown: BankMap) -> bool:
    """True if all lanes of each request are on one word."""
    words = [{a // shown.bank_bytes for a in row if a is not None} for row in shown.addresses]
    return any(words) and all(len(touched) <= 1 for touched in words)


def stores_parts_of_words(site: SiteReport) -> bool:
    """True if lanes of a request store to different bytes of one word."""
    if site.op != "store" or site.bank_map is None or _itemsize(site) >= site.bank_map.bank_bytes:
        return False
    rows = [{a for a in row if a is not None} for row in site.bank_map.addresses]
    return any(len(row) > len({a // site.bank_map.bank_bytes for a in row}) for row in rows)


def _is_one_word_store(site: SiteReport) -> bool:
    return site.op == "store" and site.bank_map is not None and is_one_word(site.bank_map)

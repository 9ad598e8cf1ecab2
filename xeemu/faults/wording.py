"""Wording: each kind of fault as a finding, in words; the only place where faults are put into words."""

import dataclasses
import textwrap
from collections.abc import Mapping, Sequence

from xeemu.faults.findings import (
    ABSENT_LANE,
    BARRIER_DIVERGENCE,
    CROSS_ITEM,
    ERROR,
    FORWARD_PROGRESS,
    MISALIGNED_BLOCK,
    NOTE,
    ORDER_DEPENDENT,
    OUT_OF_BOUNDS,
    SUB_GROUP_SIZE,
    UNDEFINED_ARITHMETIC,
    UNINITIALIZED_READ,
    WRAPPED_INDEX,
    Finding,
    WorkItem,
)
from xeemu.faults.uses import Element, Use, indented
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.interface import Extent
from xeemu.language.source import Site, index_in, mask_around
from xeemu.plurals import counted

MORE = (
    "\n  So many pairs of lines race for {0} that the others were not looked at: more may follow once these are mended."
)

_WIDTH = 100


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def conflict(
    kind: str,
    element: Element,
    uses: tuple[Use, Use],
    count: int,
    who: str,
    epochs: tuple[int, int] | None,
    reasons: tuple[str, str, str],
) -> Finding:
    """Two accesses to one element that nothing orders.

    Args:
      kind: `DATA_RACE` or `WRONG_FENCE`.
      element: the example's.
      uses: both accesses of the example.
      count: how often it was seen.
      who: between whom: "work-groups", "sub-groups of a work-group", "work-items of one sub-group".
      epochs: barriers that the group of each had passed; None if barriers do not order the two anyway.
      reasons: its severity, why nothing orders them, and what to write instead.
    """
    severity, explanation, advice = reasons
    when = "" if epochs is None else f", {_barriers(epochs[1])}"
    head = f"{kind} between {who} on {element}{when}"
    shown = [line for use in uses for line in use.lines]
    return Finding(
        kind,
        severity,
        element.space,
        element.memory,
        tuple(use.site for use in uses),
        element.address,
        tuple(dict.fromkeys(use.item.group_id for use in uses)),
        tuple(use.item for use in uses),
        count,
        _message(severity, head, shown, explanation, advice),
        tuple(use.what for use in uses),
        epochs,
    )


def out_of_bounds(element: Element, shape: tuple[int, ...], use: Use, count: int, dialect: Dialect = PYTHON) -> Finding:
    """An access beyond its memory."""
    valid = " and ".join(f"0 to {n - 1}" if n else "none" for n in shape)
    effect = "gives the poison value" if use.what.endswith("load") else "does nothing"
    explanation = f"Valid is {valid}; such {_article(use.what)} {use.what} {effect} here, and is undefined on hardware."
    dimension = next(d for d, (i, n) in enumerate(zip(element.address, shape, strict=True)) if not 0 <= i < n)
    written = index_in(use.site, element.memory, use.what, dialect is PYTHON) or ()
    component = "the index" if len(shape) == 1 else f"component {dimension} of the index"
    own, whose = (written[dimension], "") if len(written) == len(shape) else ("index", f" for {component}")
    within = dialect.within.format(index=own, size=shape[dimension])
    advice = f"{dialect.mask.format(condition=within)}{whose}, or make {element.memory} larger."
    if dialect.unmasked and use.what.endswith("load") and (around := mask_around(use.site, element.memory)):
        advice = f"{dialect.unmasked.format(name=element.memory, **around)}, or make {element.memory} larger."
    if 0 in shape:
        advice = dialect.empty.format(name=element.memory)
    head = f"{OUT_OF_BOUNDS} {use.what} of {element}"
    return _single(OUT_OF_BOUNDS, element, use, count, (ERROR, head, explanation, advice))


def beyond_extent(extent: Extent, index: int, size: int, use: Use, count: int, dialect: Dialect = PYTHON) -> Finding:
    """An index beyond a declared array within a memory, by its number of elements."""
    element = Element(extent.space, extent.name, (index,))
    used = dataclasses.replace(use, what="index")
    head = f"{OUT_OF_BOUNDS} index of {element}, of an array of {counted(size, 'element')}"
    explanation = (
        f"Valid is 0 to {size - 1}. What lies there is another array's or field's, if anything, and is accessed here; "
        f"{dialect.arithmetic} leaves it undefined."
    )
    within = dialect.within.format(index="index", size=size)
    advice = f"{dialect.mask.format(condition=within)} for the index, or make {extent.name} larger."
    return _single(OUT_OF_BOUNDS, element, used, count, (ERROR, head, explanation, advice))


def uninitialized_read(element: Element, use: Use, count: int, written: str, dialect: Dialect = PYTHON) -> Finding:
    """A read of what nobody has written; `written` tells what of the memory was."""
    head = f"{UNINITIALIZED_READ}: {use.what} of {element}, which nothing was stored to before"
    remedy = dialect.clear.format(name=element.memory)
    advice = f"Store to every element before it is read, as by {remedy}"
    if not element.address and element.space == "private":
        advice = f"Give {element.memory} a value on every way to this line, as where it is declared"
    elif not element.address:
        advice = f"Have one work-item store to {element.memory} before it is read, as by {element.memory} = 0"
    advice += ", with a barrier in between." if element.space == "local" else "."
    if element.space == "global":
        advice = (
            f"Write {element.memory} before the launch, by a copy, a fill, a kernel or the host's code, or read only "
            "what has been written."
        )
    return _single(UNINITIALIZED_READ, element, use, count, (ERROR, head, written, advice))


@dataclasses.dataclass(frozen=True)
class Divergence:
    """A barrier or an algorithm of the group that only a part of a work-group reaches.

    Attributes:
      what: its name.
      site: its line.
      reaching, missing: a work-item that reaches it, and one of the same group that does not.
      reached: how many of the group do.
      size: work-items of the group.
      calls: what is said of the calls that lead to it, see `uses.called_from`.
    """

    what: str
    site: Site
    reaching: WorkItem
    missing: WorkItem
    reached: int
    size: int
    calls: tuple[str, ...] = ()


def barrier_divergence(found: Divergence, count: int, dialect: Dialect = PYTHON) -> Finding:
    """A divergence that was seen in so many work-groups."""
    what, group, both = found.what, found.reaching.group_id, (found.reaching, found.missing)
    who = f"{found.reached} of {counted(found.size, 'work-item')} of group {found.reaching.shown(group)}"
    head = f"{BARRIER_DIVERGENCE}: {who} reach a {what}"
    shown = [
        f"  {what} {found.site}",
        *indented(found.calls),
        f"    reached by {found.reaching}",
        f"    not by {found.missing}",
    ]
    if what == "barrier":
        explanation = "On hardware the others wait for ever, or leave together with those at another barrier."
        advice = f"Let all work-items of the group come to one barrier, and {dialect.masked}."
    else:
        explanation = f"All work-items of a work-group reach its algorithms, or none does ({dialect.convergence})."
        advice = (
            "Call it outside the loop or branch that they take differently, with the operation's neutral element for "
            "those that have no part in it; or take the sub-group's, in which the active lanes take part."
        )
    text = _message(ERROR, head, shown, explanation, advice)
    return Finding(BARRIER_DIVERGENCE, ERROR, "", "", (found.site,), None, (group,), both, count, text)


def cross_item(site: Site, operation: str, dialect: Dialect = PYTHON) -> Finding:
    """An operation that mixes work-items and is no group algorithm."""
    head = f"{CROSS_ITEM}: {operation} mixes the values of work-items"
    explanation = "A work-item has no access to another's registers, so this has no counterpart on hardware."
    advice = f"Use {dialect.algorithms}, or local memory with a barrier."
    text = _message(NOTE, head, [f"  {site}"], explanation, advice)
    return Finding(CROSS_ITEM, NOTE, "", "", (site,), None, (), (), 1, text)


def undefined_arithmetic(
    site: Site,
    operation: str,
    remedy: str,
    item: WorkItem,
    count: int,
    dialect: Dialect = PYTHON,
    calls: tuple[str, ...] = (),
) -> Finding:
    """An integer operation that C++ leaves undefined, whose result is used.

    Args:
      site: its line.
      operation: itself with its values.
      remedy: an expression that is defined.
      item: who executes it in the example.
      count: how often the result was used.
      dialect: the language of advice.
      calls: what is said of the calls that lead to it, see `uses.called_from`.
    """
    head = f"{UNDEFINED_ARITHMETIC}: {operation}"
    explanation = (
        f"{dialect.arithmetic} leaves that undefined, and devices differ in what it gives; the result is used."
    )
    advice = f"Give it operands for which it is defined, or select its result away for others, as by {remedy}."
    text = _message(NOTE, head, [f"  {site}", *indented(calls), f"    by {item}"], explanation, advice)
    return Finding(UNDEFINED_ARITHMETIC, NOTE, "", "", (site,), None, (item.group_id,), (item,), count, text)


def wrapped_index(
    site: Site, operation: str, advice: str, element: Element, use: Use, count: int, calls: tuple[str, ...] = ()
) -> Finding:
    """Index arithmetic that wraps in its type, and gives an address within bounds.

    Args:
      site: its line.
      operation: itself with its values.
      advice: what to write instead.
      element: what is accessed.
      use: the access.
      count: how often such an index was used.
      calls: what is said of the calls that lead to it, see `uses.called_from`.
    """
    head = f"{WRAPPED_INDEX}: {operation}"
    shown = [f"  {site}", *indented(calls), *use.lines]
    explanation = f"It comes to the index of {element}, which is within bounds, and another one than was meant."
    return Finding(
        WRAPPED_INDEX,
        NOTE,
        element.space,
        element.memory,
        (site,),
        element.address,
        (use.item.group_id,),
        (use.item,),
        count,
        _message(NOTE, head, shown, explanation, advice),
    )


def order_dependent(element: Element, uses: tuple[Use, Use], dtype: str, count: int) -> Finding:
    """Float additions to one element by several work-items that nothing orders; the later one's line is meant."""
    head = f"{ORDER_DEPENDENT}: several work-items add to {element}, of {dtype}, in no certain order"
    site = uses[1].site
    shown = [f"  {uses[1].what} {site}", *(f"    by {use.item}" for use in uses)]
    explanation = "Float sums are rounded as the order has it, which differs from run to run."
    advice = (
        "xe.launch(..., deterministic=True) adds in one order here; for the same bits on hardware add in a fixed order "
        "(a tree in local memory, or a group's reduce), or add integers of a fixed point."
    )
    return Finding(
        ORDER_DEPENDENT,
        NOTE,
        element.space,
        element.memory,
        (site,),
        element.address,
        tuple(dict.fromkeys(use.item.group_id for use in uses)),
        tuple(use.item for use in uses),
        count,
        _message(NOTE, head, shown, explanation, advice),
    )


def forward_progress(loop: Site, operation: str, site: Site, dialect: Dialect = PYTHON) -> Finding:
    """A loop that waits, by an operation at a site, for what other work-items write."""
    head = f"{FORWARD_PROGRESS}: a loop waits for what other work-items write"
    advice = (
        "Let a barrier order the work-items, let one of them do the work of its group, or use an atomic operation that "
        f"does it at once, as {dialect.fetch_add} does."
    )
    text = _message(NOTE, head, [f"  loop {loop}", f"  waits by {operation} {site}"], dialect.progress, advice)
    return Finding(FORWARD_PROGRESS, NOTE, "", "", tuple(dict.fromkeys((loop, site))), None, (), (), 1, text)


def sub_group_size(
    sites: tuple[Site, ...],
    memory: str,
    right: Sequence[int],
    faults: Mapping[int, str],
    device: str,
    dialect: Dialect = PYTHON,
) -> Finding:
    """A kernel that requires no sub-group size, and is right at some that a device offers.

    Args:
      sites: the lines of what is wrong, or one that uses sub-groups.
      memory: the name of the memory concerned, if one is.
      right: the sizes at which it is.
      faults: what is wrong at others.
      device: its name.
    """
    sizes = " and ".join(map(str, right))
    head = f"{SUB_GROUP_SIZE}: the kernel is right at {sizes} only, and requires no sub-group size"
    shown = [*(f"  {site}" for site in sites), *(f"    at {size}: {fault}" for size, fault in faults.items())]
    offered = ", ".join(map(str, sorted([*right, *faults])))
    explanation = f"Device {device} offers {offered}, of which the compiler chooses one if none is required."
    required = dialect.sub_group_size.format(size=right[-1])
    advice = f"Require it: {required}; or write it for any, with {dialect.any_size}."
    text = _message(NOTE, head, shown, explanation, advice)
    return Finding(SUB_GROUP_SIZE, NOTE, "", memory, sites, None, (), (), 1, text)


def misaligned_block(
    element: Element, element_bytes: int, required: int, use: Use, count: int, dialect: Dialect = PYTHON
) -> Finding:
    """A block load or store that begins where Intel's messages do not.

    Args:
      element: the first of the block.
      element_bytes: of an element.
      required: the multiple of bytes at which a block may begin.
      use: the access, by the first work-item of a sub-group.
      count: how often it was seen.
    """
    (base,) = element.address
    head = f"{MISALIGNED_BLOCK}: a block {use.what} begins at {element}, byte {base * element_bytes}"
    explanation = (
        f"A block {use.what} of {element.space} memory begins at a multiple of {required} bytes on Intel's devices, "
        f"here of {counted(required // element_bytes, 'element')}; at another its effect is undefined."
    )
    advice = (
        f"Give it a base that is a multiple of {required // element_bytes}, or use plain accesses, "
        f"{element.memory}[base + {dialect.lane}]."
    )
    return _single(MISALIGNED_BLOCK, element, use, count, (NOTE, head, explanation, advice))


def absent_lane(algorithm: Use, lanes: tuple[int, int], active: bool, use: Use, dialect: Dialect = PYTHON) -> Finding:
    """A value used that an algorithm takes from a lane that does not exist, or takes no part in it.

    Args:
      algorithm: what it is called, and who asks for such a lane.
      lanes: that lane, and how many there are.
      active: whether all lanes that exist are active.
      use: as what the value is used, such as "index of the load".
    """
    why = "does not exist" if active else "is not active there"
    head = f"{ABSENT_LANE}: {algorithm.what} takes a value from lane {lanes[0]}, which {why}, and it is used"
    there = "lane 0 alone" if lanes[1] == 1 else f"lanes 0 to {lanes[1] - 1}"
    shown = [f"  {algorithm.what} {algorithm.site}", f"    by {algorithm.item}, which has {there}"]
    shown += use.lines
    explanation = f"What such a lane gives is unspecified in {dialect.standard}; here it is the poison value."
    beyond = "below 0" if lanes[0] < 0 else f"not below {dialect.lanes}"
    advice = (
        f"Choose another value where the lane is {beyond}, {dialect.choose}, or mask the use; reductions and scans "
        "leave out by themselves what is absent."
    )
    if not active:
        explanation = (
            "In a loop or branch that work-items take differently, the lanes that are done or took the other side take "
            f"no part; what such a lane gives is unspecified in {dialect.standard}, and here it is the poison value."
        )
        advice = "Call it before the loop or branch, where all lanes are active, or ask an active lane only."
    both = (algorithm, use)
    return Finding(
        ABSENT_LANE,
        ERROR,
        "",
        "",
        tuple(dict.fromkeys(each.site for each in both)),
        None,
        tuple(dict.fromkeys(each.item.group_id for each in both)),
        tuple(dict.fromkeys(each.item for each in both)),
        1,
        _message(ERROR, head, shown, explanation, advice),
    )


def _single(kind: str, element: Element, use: Use, count: int, words: tuple[str, str, str, str]) -> Finding:
    """A finding of one access; `words` are its severity, head, explanation and advice."""
    severity, head, explanation, advice = words
    return Finding(
        kind,
        severity,
        element.space,
        element.memory,
        (use.site,),
        element.address,
        (use.item.group_id,),
        (use.item,),
        count,
        _message(severity, head, use.lines, explanation, advice),
    )


def _message(severity: str, head: str, shown: Sequence[str], explanation: str, advice: str) -> str:
    return "\n".join([f"{severity}: {head}", *shown, *_wrapped(explanation), *_wrapped(advice)])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)


def _barriers(epoch: int) -> str:
    if not epoch:
        return "before any barrier"
    return f"after {counted(epoch, 'barrier')}"

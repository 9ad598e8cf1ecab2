"""Access wording: faults of accesses to memory, each as a finding in words."""

import dataclasses

from xeemu.faults.findings import (
    ERROR,
    MISALIGNED_BLOCK,
    NOTE,
    ORDER_DEPENDENT,
    OUT_OF_BOUNDS,
    UNINITIALIZED_READ,
    WRAPPED_INDEX,
    Finding,
)
from xeemu.faults.messages import message
from xeemu.faults.uses import Element, ExampleAccess, indented
from xeemu.language.dialect import NULL, PYTHON, Dialect
from xeemu.language.interface import Extent
from xeemu.language.source import Site, index_in, mask_around
from xeemu.plurals import counted

MORE = (
    "\n  So many pairs of lines race for {0} that the others were not looked at: more may follow once these are mended."
)


def conflict(
    kind: str,
    element: Element,
    uses: tuple[ExampleAccess, ExampleAccess],
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
        message(severity, head, shown, explanation, advice),
        tuple(use.what for use in uses),
        epochs,
    )


def out_of_bounds(
    element: Element,
    shape: tuple[int, ...],
    use: ExampleAccess,
    count: int,
    dialect: Dialect = PYTHON,
    indexed: int = 1,
) -> Finding:
    """An access beyond its memory, of which an index of the source counts so many elements as one."""
    shown = element
    if indexed > 1:
        shape = (shape[0] // indexed,)
        shown = dataclasses.replace(element, address=(element.address[0] // indexed,))
    valid = " and ".join(f"0 to {n - 1}" if n else "none" for n in shape)
    effect = "gives the poison value" if use.what.endswith("load") else "does nothing"
    explanation = f"Valid is {valid}; such {_article(use.what)} {use.what} {effect} here, and is undefined on hardware."
    dimension = next(d for d, (i, n) in enumerate(zip(shown.address, shape, strict=True)) if not 0 <= i < n)
    written = index_in(use.site, element.memory, use.what, dialect is PYTHON) or ()
    component = "the index" if len(shape) == 1 else f"component {dimension} of the index"
    own, whose = (written[dimension], "") if len(written) == len(shape) else ("index", f" for {component}")
    within = dialect.within.format(index=own, size=shape[dimension])
    advice = f"{dialect.mask.format(condition=within)}{whose}, or make {element.memory} larger."
    if dialect.unmasked and use.what.endswith("load") and (around := mask_around(use.site, element.memory)):
        advice = f"{dialect.unmasked.format(name=element.memory, **around)}, or make {element.memory} larger."
    if 0 in shape:
        advice = dialect.empty.format(name="pointer" if element.memory == NULL else element.memory)
    head = f"{OUT_OF_BOUNDS} {use.what} of {shown}"
    return _single(OUT_OF_BOUNDS, element, use, count, (ERROR, head, explanation, advice))


def beyond_extent(
    extent: Extent, index: int, size: int, use: ExampleAccess, count: int, dialect: Dialect = PYTHON
) -> Finding:
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


def uninitialized_read(
    element: Element, use: ExampleAccess, count: int, written: str, dialect: Dialect = PYTHON
) -> Finding:
    """A read of what nobody has written; `written` tells what of the memory was."""
    head = f"{UNINITIALIZED_READ}: {use.what} of {element}, which nothing was stored to before"
    remedy = dialect.clear.format(name=element.memory)
    advice = f"Store to every element before it is read, as by {remedy}"
    if element.space == "private" and (dialect is not PYTHON or not element.address):
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


def wrapped_index(
    site: Site,
    operation: str,
    advice: str,
    element: Element,
    use: ExampleAccess,
    count: int,
    calls: tuple[str, ...] = (),
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
        message(NOTE, head, shown, explanation, advice),
    )


def order_dependent(element: Element, uses: tuple[ExampleAccess, ExampleAccess], dtype: str, count: int) -> Finding:
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
        message(NOTE, head, shown, explanation, advice),
    )


def misaligned_block(
    element: Element, element_bytes: int, required: int, use: ExampleAccess, count: int, dialect: Dialect = PYTHON
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


def _single(kind: str, element: Element, use: ExampleAccess, count: int, words: tuple[str, str, str, str]) -> Finding:
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
        message(severity, head, use.lines, explanation, advice),
    )


def _article(noun: str) -> str:
    return "an" if noun[0] in "aeiou" else "a"


def _barriers(epoch: int) -> str:
    if not epoch:
        return "before any barrier"
    return f"after {counted(epoch, 'barrier')}"

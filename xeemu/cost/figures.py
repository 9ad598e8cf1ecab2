"""Figures: numbers and short texts as reports print them, in ASCII and 80 columns."""

import textwrap

WIDTH = 80


def number(value: float | None) -> str:
    """Under ten million as it is, to four digits or the whole number; else four digits and a power of 1000."""
    if value is None:
        return "?"
    if abs(value) < 1000:
        return f"{value:.4g}"
    if abs(value) < 1e7:
        return f"{value:.0f}"
    for power, suffix in ((1e6, "M"), (1e9, "G"), (1e12, "T")):
        if abs(value) < 999.95 * power:
            return f"{value / power:.4g}{suffix}"
    return f"{value:.3e}"


def size(value: int) -> str:
    """Bytes, in KiB where that is whole."""
    return f"{value // 1024} KiB" if value and value % 1024 == 0 else f"{value} B"


def amount(value: float | None) -> str:
    """Bytes to three digits."""
    if value is None:
        return "?"
    for unit, factor in (("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)):
        if value < 999.5 * factor:
            return f"{value / factor:.3g} {unit}"
    return f"{value / (1 << 40):.3g} TiB"


def percent(value: float | None) -> str:
    """A share in whole per cent; one that would be rounded to none is told from none."""
    if value is None:
        return "?"
    return "<1%" if 0 < value < 0.005 else f"{100 * value:.0f}%"


def seconds(value: float | None) -> str:
    """A time to three digits."""
    if value is None:
        return "?"
    for unit, size in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if value < 999.5 * size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g} s"


def cut(text: str, width: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."


def wrap(text: str, indent: str = "") -> list[str]:
    """A text in lines of `WIDTH`."""
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def ascii_only(text: str) -> str:
    """A line without what ASCII has not, and without spaces at its end."""
    return text.encode("ascii", "replace").decode("ascii").rstrip()


def marked(text: str, mark: str) -> str:
    """A line with a mark at its end."""
    return f"{cut(text, WIDTH - 2):{WIDTH - 1}}{mark}"

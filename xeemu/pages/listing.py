"""Listing: lines of a source with figures beside them, as heat, and notes under them."""

import dataclasses
from collections.abc import Mapping, Sequence


@dataclasses.dataclass(frozen=True)
class ListingFigure:
    """A figure beside a line.

    Attributes:
      text: the figure; empty where the line has none.
      heat: its share of the column's total, 0 to 1.
      number: what the column is sorted by; None where its text is.
    """

    text: str = ""
    heat: float = 0.0
    number: float | None = None


@dataclasses.dataclass(frozen=True)
class ListingLine:
    """A line of a source.

    Attributes:
      number: in its file.
      text: with its indentation.
      cells: a figure for each column.
      notes: what is said of the line, as (label, text).
      marked: true if it stands out.
    """

    number: int
    text: str
    cells: tuple[ListingFigure, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    marked: bool = False


def cells(figures: Mapping[int, float | None], total: float, shown: Mapping[int, str]) -> dict[int, ListingFigure]:
    """For each line of one column its cell; a figure that is not known has no heat."""
    return {
        line: ListingFigure(shown[line], 0.0 if figure is None or not total else figure / total, figure or 0.0)
        for line, figure in figures.items()
    }


def lines(
    texts: Mapping[int, str],
    columns: Sequence[Mapping[int, ListingFigure]],
    notes: Mapping[int, Sequence[tuple[str, str]]],
    marked: frozenset[int] = frozenset(),
) -> list[ListingLine]:
    """The lines in their order, each with its cell of each column and its notes."""
    return [
        ListingLine(
            number,
            text,
            tuple(column.get(number, ListingFigure()) for column in columns),
            tuple(notes.get(number, ())),
            number in marked,
        )
        for number, text in sorted(texts.items())
    ]

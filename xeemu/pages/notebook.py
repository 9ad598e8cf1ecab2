"""Notebook: what a cell of a notebook shows of a value: tables, or its text where Jinja is not installed."""

import dataclasses
import html
from collections.abc import Sequence
from typing import Any

from xeemu.pages import rendering
from xeemu.pages.listing import ListingFigure


@dataclasses.dataclass(frozen=True)
class Columns:
    """A table.

    Attributes:
      heads: of the columns.
      rows: their cells; a cell that is sorted by another number than its text says is a `ListingFigure`.
      title: above the table; empty for none.
      text: how many of the columns, from the left, are text; numbers are set flush right.
      code: true if the text is that of a program.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str | ListingFigure]]
    title: str = ""
    text: int = 1
    code: bool = False

    @property
    def cells(self) -> list[list[ListingFigure]]:
        """The rows, with a `ListingFigure` for each cell."""
        return [[cell if isinstance(cell, ListingFigure) else ListingFigure(cell) for cell in row] for row in self.rows]


def tables(title: str, parts: Sequence[Columns | str], text: str, about: str = "") -> str:
    """HTML of a title, of tables, and of paragraphs between them, for a notebook.

    Args:
      title: what it is.
      parts: in order; one without rows is left out, and so is an empty paragraph.
      text: the same as plain text, which is shown where Jinja is not installed.
      about: a line below the title.
    """
    return fragment("tables_parts.html", text, view=_view(title, parts, about))


def page(title: str, parts: Sequence[Columns | str], about: str = "") -> str:
    """The same as one page of HTML that needs nothing else.

    Raises:
      KernelArgumentError: Jinja is not installed.
    """
    return rendering.render("tables.html", view=_view(title, parts, about))


def _view(title: str, parts: Sequence[Columns | str], about: str) -> dict[str, Any]:
    shown = [part for part in parts if (part.rows if isinstance(part, Columns) else part)]
    return {"title": title, "about": about, "parts": shown}


def fragment(parts: str, text: str, **values: Any) -> str:
    """HTML for a notebook of the macro `body` of a template, such as `report_parts.html`, with its own style.

    Args:
      parts: the template.
      text: the same as plain text, which is shown where Jinja is not installed.
      **values: for the template, `view` among them, which its `body` takes.
    """
    if not rendering.is_there():
        return f"<pre>{html.escape(text)}</pre>"
    return rendering.render("notebook.html", parts=parts, **values)

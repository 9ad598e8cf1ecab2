"""Banks: what each bank of local memory serves, request by request."""

from typing import TYPE_CHECKING

import numpy as np

from xeemu.cost.sites import SiteReport
from xeemu.devices import bankmap
from xeemu.devices.bankmap import BankMap
from xeemu.errors import KernelArgumentError
from xeemu.language import public
from xeemu.plot import drawing
from xeemu.plurals import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NUMBERED = 2400
# Of each step of `bankmap.STEPS`; the first is that of a request without conflicts.
_COLOURS = ("#d3e5f5", "#fee391", "#fdb863", "#f16913", "#cb181d", "#67000d")
_WHITE_FROM = 9  # words, whose colours are so dark that numbers on them are white


@public.known_as("plot.bank_map")
def bank_map(site: SiteReport, most: int = 32, ax: "Axes | None" = None) -> "Axes":
    """What each bank serves in one execution of an access to local memory: a row for each request.

    A row takes as many passes as its greatest number. The colours are the same in all maps: light blue is one word for
    a bank, as where nothing conflicts; from yellow to dark red lanes wait for each other. A request that the device
    serves in parts, such as the components of a vector, has a row for each; a line parts it from the next request.
    Rows are never added up: where all banks serve as much over all requests, each request may still wait for one bank.

    Args:
      site: an access to local memory, from `report.sites`.
      most: rows that are drawn; the title says of how many.
      ax: where to draw.
    """
    drawn = map_of(site, "bank_map")
    drawing.check_number("bank_map", "most", most, 1)
    served = np.array(drawn.rows[:most]).reshape(-1, drawn.banks)
    passes, labels = served.max(1, initial=0), drawn.labels[: len(served)]
    ax = ax or drawing.new_axes(0.3 * drawn.banks + 3.2, 0.24 * len(served) + 1.5)
    _draw_words(ax, served)
    _draw_borders(ax, drawn, len(served))
    ax.set_xlabel("bank")
    ax.set_ylabel(f"request, {drawn.part}" if drawn.part else "request")
    ax.set_xticks(range(0, drawn.banks, 2 if drawn.banks > 16 else 1))
    ax.set_yticks(range(len(served)))
    ends = (counted(n, "pass", "passes") for n in passes)
    ax.set_yticklabels([f"{label}: {end}" for label, end in zip(labels, ends, strict=True)], fontsize="small")
    hidden = len(drawn.rows) - len(served) + drawn.left_out
    more = f" in {len(served)} rows of {len(served) + hidden}" if hidden else ""
    ax.set_title(
        f"{site.op} of {site.memory}, line {site.line}: {counted(passes.sum(), 'pass', 'passes')}{more}",
        fontsize="medium",
    )
    return ax


def map_of(site: SiteReport, function: str) -> BankMap:
    """The bank map of what a function of this room was given.

    Raises:
      KernelArgumentError: it has none.
    """
    drawing.check_kind(function, site, SiteReport, "a site of local memory, from report.sites of a profile")
    if site.space != "local" or site.bank_map is None:
        what = f"{site.op} of {site.memory} at line {site.line}"
        why = "has no banks" if site.space != "local" else "was not looked at: no execution of it is known before a run"
        raise KernelArgumentError(
            f"{what}, in {site.space} memory, {why}\ngive a site of local memory of a profile, such as "
            "max((s for s in report.sites if s.space == 'local'), key=lambda s: s.excess)"
        )
    return site.bank_map


def _draw_words(ax: "Axes", served: np.ndarray) -> None:
    """The words of each bank as colours and, where there is room, as numbers; and the legend of the colours."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.patches import Patch

    bounds = [*(first for first, _ in bankmap.STEPS), 2**31]
    norm = BoundaryNorm(bounds, len(_COLOURS))
    ax.imshow(np.ma.masked_equal(served, 0), aspect="auto", cmap=ListedColormap(_COLOURS), norm=norm)
    patches = [Patch(fc=c, ec="0.6", label=text) for c, (_, text) in zip(_COLOURS, bankmap.STEPS, strict=True)]
    patches.append(Patch(fc="white", ec="0.6", label="none"))
    ax.legend(handles=patches, title="words of a bank", loc="upper left", bbox_to_anchor=(1.01, 1), fontsize="small")
    if served.size > _MOST_NUMBERED:
        return
    for row, bank in np.argwhere(served > 0):
        count = int(served[row, bank])
        color = "white" if count >= _WHITE_FROM else "black"
        ax.text(bank, row, str(count), ha="center", va="center", fontsize=7, color=color)


def _draw_borders(ax: "Axes", drawn: BankMap, rows: int) -> None:
    """Lines between requests that have several rows each."""
    requests = [request for request, _ in drawn.places[:rows]]
    for row in range(1, len(requests) if drawn.part else 0):
        if requests[row] != requests[row - 1]:
            ax.axhline(row - 0.5, color="black", lw=1)

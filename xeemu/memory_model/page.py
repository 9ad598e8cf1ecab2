"""Page: litmus tests and executions as tables for a notebook."""

from typing import TYPE_CHECKING

from xeemu.pages import notebook
from xeemu.pages.notebook import Columns

if TYPE_CHECKING:
    from xeemu.memory_model.litmus import Litmus
    from xeemu.memory_model.witness import Witness


def of_test(test: "Litmus") -> str:
    """The program, and every outcome or the data races; as text where Jinja is not installed."""
    heads, rows = test.columns
    memories = [(location.name, location.space, str(location.initial)) for location in test.program.locations]
    outcomes = list(test.outcomes)
    names = outcomes[0].names if outcomes else ()
    races = [(f"{r.first} by work-item {r.first.item}", f"{r.second} by work-item {r.second.item}") for r in test.races]
    parts: tuple[Columns | str, ...] = (
        Columns(("memory", "space", "at first"), memories, text=2),
        Columns(heads, rows, "Program", text=len(heads), code=True),
        "" if test.undefined else Columns(names, [o.shown for o in outcomes], "Outcomes", text=0),
        Columns(("one access", "other access"), races, "Undefined, by a data race", text=2),
    )
    return notebook.tables(test.name, parts, str(test))


def of_witness(execution: "Witness") -> str:
    """The events; as text where Jinja is not installed."""
    heads, *rows = execution.table
    parts: list[Columns | str] = [Columns(heads, rows, text=3), *execution.notes]
    return notebook.tables(str(execution.outcome), parts, str(execution))

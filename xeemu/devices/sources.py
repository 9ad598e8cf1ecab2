"""Sources: where a figure of a modelled device comes from, and how sure it is."""

from typing import NamedTuple


class Source(NamedTuple):
    """Where the value of one field of a `Device` comes from."""

    field: str
    value: object
    confidence: str
    text: str


def figures(confidence: str, text: str, **values: object) -> tuple[Source, ...]:
    """Figures that one source gives."""
    return tuple(Source(field, value, confidence, text) for field, value in values.items())

"""Messages: how the text of a finding is laid out."""

import textwrap
from collections.abc import Sequence

_WIDTH = 100


def message(severity: str, head: str, shown: Sequence[str], explanation: str, advice: str) -> str:
    """The lines of a finding: its head, what is shown of it as it stands, and why and what to write, wrapped."""
    return "\n".join([f"{severity}: {head}", *shown, *_wrapped(explanation), *_wrapped(advice)])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="  ", break_long_words=False)

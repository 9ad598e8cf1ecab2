"""To be written."""

from typing import Any


def find(name: str) -> Any:
    """Nothing yet."""
    return None

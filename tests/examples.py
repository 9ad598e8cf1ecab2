"""How many examples of a strategy a run draws."""

from hypothesis import settings


def some(count: int) -> int:
    """A quarter of so many in a thorough run, a fifth by default; scripts/fuzz-laws and its like draw without end."""
    return max(count // (4 if settings.get_current_profile_name() == "thorough" else 5), 2)

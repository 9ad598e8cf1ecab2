"""How many examples of a strategy a run draws."""

from hypothesis import settings


def some(count: int) -> int:
    """So many in a thorough run, a third of them by default: what they find is in most of them."""
    return count if settings.get_current_profile_name() == "thorough" else max(count // 3, 2)

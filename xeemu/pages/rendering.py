"""Rendering: a template of this room filled in, by Jinja: `pip install jinja2`."""

import functools
from typing import TYPE_CHECKING, Any

from xeemu.errors import KernelArgumentError

if TYPE_CHECKING:
    from jinja2 import Environment


def is_there() -> bool:
    """True if Jinja is installed."""
    try:
        import jinja2
    except ImportError:
        return False
    return bool(jinja2.__version__)


def render(template: str, **values: Any) -> str:
    """The text of a template, such as `report.html`, with values; what they say is escaped.

    Raises:
      KernelArgumentError: Jinja is not installed.
    """
    if not is_there():
        raise KernelArgumentError("a page of HTML is made with Jinja, which is missing; run pip install jinja2")
    return _environment().get_template(template).render(**values)


@functools.cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("xeemu.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

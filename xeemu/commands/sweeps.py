"""Sweeps: the space of configurations that a command line describes."""

import argparse
from typing import Any

from xeemu.commands import notation


def space(given: argparse.Namespace) -> dict[str, Any]:
    """What is swept, by name, without what the command line leaves to the example."""
    options = {
        "device": given.device.split(","),
        "local_size": given.local_size,
        "sub_group_size": given.sub_group,
        "global_size": given.global_size,
    }
    statics = notation.once("--static", map(notation.static_choices, given.static))
    return {**{name: value for name, value in options.items() if value is not None}, **statics}


def turned(space: dict[str, Any]) -> dict[str, Any]:
    """A space whose sizes were written in OpenCL's order."""
    return {name: _in_order(x) if name in ("global_size", "local_size") else x for name, x in space.items()}


def _in_order(sizes: Any) -> Any:
    """Sizes, or a function that gives one, in SYCL's order."""
    if callable(sizes):
        return lambda configuration: _in_order(sizes(configuration))
    if isinstance(sizes, list):
        return list(map(_in_order, sizes))
    return sizes[::-1] if isinstance(sizes, tuple) else sizes

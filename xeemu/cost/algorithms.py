"""Algorithms: what group and sub-group algorithms cost a sub-group, and how sub-groups tell each other their values."""

import math
from collections.abc import Mapping

from xeemu.cost import requests
from xeemu.language.collectives import GROUP, Collective
from xeemu.language.geometry import Geometry

EXCHANGE = "exchange"
"""A request to local memory of a sub-group, with one lane: one in two is a load."""


def of_collective(collective: Collective, elements: int, words: int, geometry: Geometry) -> Mapping[str, float]:
    """Instructions by class, and exchanges, of an algorithm on elements of a work-item, each of so many words."""
    lanes = collective.chunk or geometry.sub_group_size
    steps = _steps(lanes) if collective.kind in ("reduce", "inclusive_scan", "exclusive_scan") else 1
    across = _across(elements, geometry) if collective.level == GROUP else {}
    return {"shuffle": float(words * steps * elements), **across}


def of_reduction(elements: int, geometry: Geometry, is_of_group: bool) -> Mapping[str, float]:
    """Instructions by class of a reduction, or another operation of JAX's that mixes work-items."""
    across = _across(elements, geometry) if is_of_group else {}
    return {"shuffle": float(_steps(geometry.sub_group_size) * elements), **across}


def _steps(lanes: int) -> int:
    """Steps by which lanes of a sub-group combine their values."""
    return math.ceil(math.log2(lanes))


def _across(elements: int, geometry: Geometry) -> Mapping[str, float]:
    """What a sub-group does at least beside the algorithm of its own lanes: it stores, waits for the others, and loads.

    Neither SYCL nor OpenCL says how. Intel's graphics compiler (IGC, `group.cl`) goes through local memory too, with 2
    barriers for `any` and `all`, and for reductions and scans with 2 for each power of two below the group's size.

    Args:
      elements: values of a work-item that are combined.
      geometry: the sizes of the launch.

    Returns:
      Barriers and exchanges; nothing where it is alone.
    """
    if requests.sub_groups(geometry) == 1:
        return {}
    return {"barrier": 1.0, EXCHANGE: 2.0 * elements}

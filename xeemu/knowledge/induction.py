"""Induction variables: carries of a loop that grow by a constant from iteration to iteration, some iterations on."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from xeemu.ir import control
from xeemu.knowledge import analysis, forms
from xeemu.knowledge.analysis import Plan


def of_loop(scan: control.Scan, plan: Plan) -> dict[int, int]:
    """For the number of each carry that grows how much it does; 0 for those that stay as they are.

    Args:
      scan: the loop, which has no elements.
      plan: the analysis of its body.
    """
    found: dict[int, int] = {}
    for k, (v, out) in enumerate(zip(scan.body.inputs, scan.body.outputs, strict=True)):
        step = 0 if out is v else None if plan.values[v].space else analysis.increment(scan.body, v, out)
        if step is not None:
            found[k] = step
    return found


def advanced(growth: Mapping[int, int], carries: list[Any], turns: Any) -> list[Any]:
    """The carries that grow, some iterations further; the others as they are."""
    return [
        p + jnp.asarray(turns, p.dtype) * forms.wrapped(growth[k], p.dtype) if growth.get(k) else p
        for k, p in enumerate(carries)
    ]

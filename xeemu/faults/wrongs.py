"""Wrongs: operations that are no accesses and went wrong, as findings; one for each line."""

from collections.abc import Callable, Iterator

import numpy as np
from jax.extend import core as jex_core

from xeemu.faults import findings
from xeemu.faults.findings import Finding, WorkItem
from xeemu.faults.following import Following, Wrong
from xeemu.faults.ranges import operation
from xeemu.language import source
from xeemu.language.source import Site

_SIGNS = {
    "div": "/", "rem": "%", "shift_left": "<<", "shift_right_arithmetic": ">>", "shift_right_logical": ">>",
    "add": "+", "sub": "-", "mul": "*",
}  # fmt: skip


def findings_of(
    following: Following, counts: np.ndarray, examples: np.ndarray, item: Callable[[int, int], WorkItem]
) -> Iterator[Finding]:
    """The findings of what was followed.

    Args:
      following: what was.
      counts, examples: what the run has left of it, see `Following.zeros`.
      item: the work-item of a group's and a local linear id.
    """
    seen: dict[Site, tuple[int, jex_core.JaxprEqn, Wrong]] = {}
    for eqn, count, vector in zip(following.paths.sources.values(), counts, examples, strict=True):
        if count:
            site = source.of_equation(eqn)
            before, *first = seen.get(site, (0, eqn, Wrong(*vector.tolist())))
            seen[site] = before + int(count), *first
    for site, (count, eqn, example) in seen.items():
        text = _undefined(eqn, example)
        yield findings.undefined_arithmetic(site, *text, item(example.group, example.item), count)


def _undefined(eqn: jex_core.JaxprEqn, example: Wrong) -> tuple[str, str]:
    """An operation with its values and why it is undefined; and an expression that is not."""
    name, dtype = operation(eqn), eqn.outvars[0].aval.dtype
    assert name is not None
    sign = _SIGNS[name]
    a, b = (np.int64(x).astype(dtype) for x in (example.first, example.second))
    if name.startswith("shift"):
        what = f"a shift of {dtype} by {'less than 0' if b < 0 else 'its width or more'}"
        return f"{a} {sign} {b} is {what}", f"jnp.where(n < {8 * dtype.itemsize}, x {sign} n, 0)"
    if b == 0:
        remedy = "jnp.where(b != 0, a // b, 0)" if name == "div" else "jnp.where(b != 0, a % b, 0)"
        return f"{a} {sign} 0 is a {'division' if name == 'div' else 'remainder of a division'} by zero", remedy
    return f"{a} {sign} {b} needs a quotient that {dtype} does not hold", "jnp.where(b != -1, a // b, ...)"

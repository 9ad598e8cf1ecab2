"""The check that no loop waits for another work-group.

Work-groups of a launch run in any order, and only weakly parallel: a loop whose predicate can change through another
group's writes alone need never end, on hardware or here (SYCL 2020, section 3.8.3.4, forward progress).
"""

from typing import Any

from jax.extend import core as jex_core

from xeemu.language import jaxprs, primitives, source
from xeemu.language.jaxprs import Atom, Body, While


def check(body: Body) -> None:
    """Checks all loops of a program, also inner ones.

    Raises:
      KernelError: a loop waits.
    """
    for eqn in body.eqns:
        for inner in jaxprs.bodies(eqn):
            check(inner)
        match jaxprs.structure(eqn):
            case While() as loop if _waits(loop):
                raise source.kernel_error(
                    "a loop waits for other work-groups: its predicate can only change through what they write, and "
                    "they need not run before this one ends; split the kernel into two launches",
                    source.of_equation(eqn),
                )


def _waits(loop: While) -> bool:
    """Whether the predicate depends on a load, and on nothing that the loop itself changes."""
    inputs, results = loop.body.invars[loop.body_consts :], loop.body.outvars
    changing = {v for v, out in zip(inputs, results, strict=True) if out is not v}
    needed, loads = _slice(loop.predicate, [loop.predicate.outvars[0]])
    tested = loop.predicate.invars[loop.predicate_consts :]
    if any(_written(loop, tested.index(m)) for m in _memories(loop.predicate, loads) if m in tested):
        return False
    for v, out, test in zip(inputs, results, tested, strict=True):
        if test not in needed or v not in changing:
            continue
        used, found = _slice(loop.body, [out])
        # What is computed from something that changes gets on by itself; so does a load from what the loop writes.
        if used & changing or any(_written(loop, inputs.index(m)) for m in _memories(loop.body, found) if m in inputs):
            return False
        loads = loads + found
    return bool(loads)


def _slice(body: Body, results: list[Atom]) -> tuple[set[Any], list[jex_core.JaxprEqn]]:
    """The variables that values depend on through anything but memories, and the accesses among their equations."""
    needed = {a for a in results if not jaxprs.is_literal(a)}
    accesses = []
    for eqn in reversed(body.eqns):
        if not needed & set(eqn.outvars):
            continue
        first = 0
        if eqn.primitive in primitives.ACCESSES:
            accesses.append(eqn)
            first = 1
        needed |= {a for a in eqn.invars[first:] if not jaxprs.is_literal(a)}
    return needed, accesses


def _memories(body: Body, accesses: list[jex_core.JaxprEqn]) -> list[Any]:
    """The inputs of a body that are the memories of accesses, whatever version they use."""
    before = {}
    for eqn in body.eqns:
        if eqn.primitive in primitives.ACCESSES and primitives.operation(eqn) != "load":
            before[eqn.outvars[-1]] = eqn.invars[0]
        elif eqn.primitive in primitives.UPDATES:
            before |= dict(zip(eqn.outvars, eqn.invars, strict=False))
    found = []
    for eqn in accesses:
        memory = eqn.invars[0]
        while memory in before:
            memory = before[memory]
        found.append(memory)
    return found


def _written(loop: While, carry: int) -> bool:
    """Whether the loop gives a carried memory new contents."""
    return loop.body.outvars[carry] is not loop.body.invars[loop.body_consts + carry]

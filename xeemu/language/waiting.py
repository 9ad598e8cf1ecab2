"""The check that no loop waits for other work-items that need not go on meanwhile.

Work-groups of a launch run in any order, and only weakly parallel, and so do the work-items of a group: a loop whose
predicate can change through others' writes alone need never end, on hardware or here (SYCL 2020, section 3.8.3.4,
forward progress).
"""

from collections.abc import Sequence
from typing import Any

from jax.extend import core as jex_core

from xeemu.language import jaxprs, lineage, primitives, source
from xeemu.language.divergence import is_merge
from xeemu.language.jaxprs import Atom, Body, While


def check(body: Body, memories: Sequence[Any]) -> None:
    """Checks all loops of a program, also inner ones.

    Args:
      body: the program, or one that it holds.
      memories: for each input what made the memory that it is a version of: an equation, or anything for an argument of
        the kernel; None of a value.

    Raises:
      KernelError: a loop waits.
    """
    known = {v: made for v, made in zip(body.invars, memories, strict=True) if made is not None}
    for eqn in body.eqns:
        operands = [None if jaxprs.is_literal(a) else known.get(a) for a in eqn.invars]
        structure = jaxprs.structure(eqn)
        for number, inner in enumerate(jaxprs.bodies(eqn)):
            check(inner, jaxprs.given(structure, operands, number))
        if isinstance(structure, While) and (reading := _waits(structure)):
            _fail(eqn, [jaxprs.given(structure, operands, number)[place] for number, place in reading])
        results = [eqn] if eqn.primitive is primitives.allocate_p else lineage.of_equation(eqn, operands)
        known |= {v: made for v, made in zip(eqn.outvars, results, strict=True) if made is not None}


def _fail(eqn: jex_core.JaxprEqn, memories: Sequence[Any]) -> None:
    """Refuses a loop that waits for what is written to memories, of which those are local that the kernel makes."""
    local = [made.params["name"] for made in memories if isinstance(made, jex_core.JaxprEqn)]
    if len(local) == len(memories):
        name = local[0]
        raise source.kernel_error(
            f"a loop waits for other work-items of its group: its predicate can only change through what they write to "
            f"{name}, and they need not go on before this loop ends; let all of them meet at a barrier instead, "
            f"{name} = wg.barrier({name})",
            source.of_equation(eqn),
        )
    raise source.kernel_error(
        "a loop waits for other work-groups: its predicate can only change through what they write, and "
        "they need not run before this one ends; split the kernel into two launches",
        source.of_equation(eqn),
    )


def _waits(loop: While) -> list[tuple[int, int]]:
    """The memories that a loop waits by: each the number of a body, see `jaxprs.bodies`, and of its input; or none.

    Its predicate depends on a load, and on nothing that the loop itself changes. Which work-items are still in it is
    nothing that it changes.
    """
    inputs, results = loop.body.invars[loop.body_consts :], loop.body.outvars
    changing = {v for v, out in zip(inputs, results, strict=True) if out is not v}
    needed, loads = _slice(loop.predicate, [loop.predicate.outvars[0]])
    tested = loop.predicate.invars[loop.predicate_consts :]
    if any(_written(loop, tested.index(m)) for m in _memories(loop.predicate, loads) if m in tested):
        return []
    found = [
        (0, loop.predicate.invars.index(m)) for m in _memories(loop.predicate, loads) if m in loop.predicate.invars
    ]
    live = _live(loop)
    if live is not None:
        changing.discard(inputs[live])
    for k, (v, out, test) in enumerate(zip(inputs, results, tested, strict=True)):
        if test not in needed or (v not in changing and k != live):
            continue
        used, accesses = _slice(loop.body, _left(loop.body, v, out) if k == live else [out])
        memories = _memories(loop.body, accesses)
        # What is computed from something that changes gets on by itself; so does a load from what the loop writes.
        if used & changing or any(_written(loop, inputs.index(m)) for m in memories if m in inputs):
            return []
        found += [(1, loop.body.invars.index(m)) for m in memories if m in loop.body.invars]
    return found


def _live(loop: While) -> int | None:
    """The number of the carry that says which work-items are still in the loop, if each leaves it by itself."""
    tested = loop.predicate.invars[loop.predicate_consts :]
    eqn = next((e for e in loop.predicate.eqns if loop.predicate.outvars[0] in e.outvars), None)
    if eqn is None or eqn.primitive is not primitives.uniform_p or eqn.invars[0] not in tested:
        return None
    number = tested.index(eqn.invars[0])
    return number if _left(loop.body, loop.body.invars[loop.body_consts + number], loop.body.outvars[number]) else None


def _left(body: Body, v: jex_core.Var, out: Atom) -> list[Atom]:
    """What work-items of those that were in a loop have to hold to be so after an iteration."""
    eqn = next((e for e in body.eqns if out in e.outvars), None)
    is_both = eqn is not None and eqn.primitive.name == "and" and v in eqn.invars
    return [a for a in eqn.invars if a is not v] if is_both and eqn is not None else []


def _slice(body: Body, results: list[Atom]) -> tuple[set[Any], list[jex_core.JaxprEqn]]:
    """The variables that values depend on through anything but memories, and the accesses among their equations."""
    needed = {a for a in results if not jaxprs.is_literal(a)}
    accesses = []
    for eqn in reversed(body.eqns):
        if not needed & set(eqn.outvars):
            continue
        first = 0
        operands = eqn.invars
        if eqn.primitive in primitives.ACCESSES:
            accesses.append(eqn)
            first = 1
        elif is_merge(eqn) and eqn.primitive.name == "select_n":
            # Who is not active keeps what it had.
            operands = eqn.invars[2:]
        needed |= {a for a in operands[first:] if not jaxprs.is_literal(a)}
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

"""The check that no loop waits for other work-items that need not go on meanwhile.

Work-groups of a launch run in any order, and only weakly parallel, and so do the work-items of a group: a loop whose
predicate can change through others' writes alone need never end, on hardware or here (SYCL 2020, section 3.8.3.4,
forward progress).
"""

from collections.abc import Sequence
from typing import Any

from xeemu.ir import control, ops
from xeemu.ir.control import While
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.language import lineage, source


def check(body: Region, memories: Sequence[Any]) -> None:
    """Checks all loops of a program, also inner ones.

    Args:
      body: the program, or one that it holds.
      memories: for each value that it takes what made the memory that it is a version of: an operation, or anything
        for an argument of the kernel; None of a value.

    Raises:
      KernelError: a loop waits.
    """
    known = {v: made for v, made in zip(body.all_inputs, memories, strict=True) if made is not None}
    for op in body.ops:
        structure = control.of(op)
        if structure is None and op.name not in ops.LANGUAGE:
            continue  # it gives no memory
        operands = [known.get(a) for a in op.used]
        for number, inner in enumerate(op.regions):
            check(inner, control.region_operands(op, operands, number))
        if isinstance(structure, While) and (reading := _waits(structure)):
            _fail(op, [control.region_operands(op, operands, number)[place] for number, place in reading])
        results = [op] if op.name == ops.ALLOCATE else lineage.of_op(op, operands)
        known |= {v: made for v, made in zip(op.results, results, strict=True) if made is not None}


def _fail(op: Op, memories: Sequence[Any]) -> None:
    """Refuses a loop that waits for what is written to memories, of which those are local that the kernel makes."""
    local = [made.attributes["name"] for made in memories if isinstance(made, Op)]
    if len(local) == len(memories):
        name = local[0]
        raise source.kernel_error(
            f"a loop waits for other work-items of its group: its predicate can only change through what they write to "
            f"{name}, and they need not go on before this loop ends; let all of them meet at a barrier instead, "
            f"{name} = wg.barrier({name})",
            source.of_op(op),
        )
    raise source.kernel_error(
        "a loop waits for other work-groups: its predicate can only change through what they write, and "
        "they need not run before this one ends; split the kernel into two launches",
        source.of_op(op),
    )


def _waits(loop: While) -> list[tuple[int, int]]:
    """The memories that a loop waits by: each the number of a body, see `Op.regions`, and of what it takes; or none.

    Its predicate depends on a load, and on nothing that the loop itself changes. Which work-items are still in it is
    nothing that it changes.
    """
    inputs, results = loop.body.inputs, loop.body.outputs
    changing = {v for v, out in zip(inputs, results, strict=True) if out is not v}
    needed, loads = _slice(loop.predicate, [loop.predicate.outputs[0]])
    tested = loop.predicate.inputs
    if any(_written(loop, tested.index(m)) for m in _memories(loop.predicate, loads) if m in tested):
        return []
    found = [
        (0, loop.predicate.all_inputs.index(m))
        for m in _memories(loop.predicate, loads)
        if m in loop.predicate.all_inputs
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
        found += [(1, loop.body.all_inputs.index(m)) for m in memories if m in loop.body.all_inputs]
    return found


def _live(loop: While) -> int | None:
    """The number of the carry that says which work-items are still in the loop, if each leaves it by itself."""
    tested = loop.predicate.inputs
    op = next((e for e in loop.predicate.ops if loop.predicate.outputs[0] in e.results), None)
    if op is None or op.name != ops.UNIFORM or op.operands[0] not in tested:
        return None
    number = tested.index(op.operands[0])
    return number if _left(loop.body, loop.body.inputs[number], loop.body.outputs[number]) else None


def _left(body: Region, v: Value, out: Value) -> list[Value]:
    """What work-items of those that were in a loop have to hold to be so after an iteration."""
    op = next((e for e in body.ops if out in e.results), None)
    is_both = op is not None and op.name == "and" and v in op.used
    return [a for a in op.used if a is not v] if is_both and op is not None else []


def _slice(body: Region, results: list[Value]) -> tuple[set[Any], list[Op]]:
    """The variables that values depend on through anything but memories, and the accesses among their operations."""
    needed = {a for a in results if not isinstance(a, Constant)}
    accesses = []
    for op in reversed(body.ops):
        if not needed & set(op.results):
            continue
        first = 0
        operands = op.used
        if op.name in ops.ACCESSES:
            accesses.append(op)
            first = 1
        elif op.merges and op.name == "select_n":
            # Who is not active keeps what it had.
            operands = op.operands[2:]
        needed |= {a for a in operands[first:] if not isinstance(a, Constant)}
    return needed, accesses


def _memories(body: Region, accesses: list[Op]) -> list[Any]:
    """The inputs of a body that are the memories of accesses, whatever version they use."""
    before = {}
    for op in body.ops:
        if op.name in ops.ACCESSES and ops.changes(op):
            before[op.results[-1]] = op.operands[0]
        elif op.name in ops.UPDATES:
            before |= dict(zip(op.results, op.operands, strict=False))
    found = []
    for op in accesses:
        memory = op.operands[0]
        while memory in before:
            memory = before[memory]
        found.append(memory)
    return found


def _written(loop: While, carry: int) -> bool:
    """True if the loop gives a carried memory new contents."""
    return loop.body.outputs[carry] is not loop.body.inputs[carry]

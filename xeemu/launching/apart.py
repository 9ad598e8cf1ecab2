"""Apart: what an observer asks of a launch carried out beside it, without what nothing of that depends on.

A launch that somebody watches is carried out as it was written. Where addresses, masks and predicates alone are asked
for, a slice of the program gives them (M. Weiser, "Program Slicing", 1981), and the passes may change the launch.
"""

import dataclasses
from collections.abc import Callable, Sequence, Set

from xeemu.ir import ops
from xeemu.ir.program import Op, Region, Value
from xeemu.knowledge import work
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.launching.preparation import Prepared
from xeemu.passes import eliminate_dead_code

# The operation that takes values and gives none.
_LOOK = ops.REGION


def of_observer(prepared: Prepared, keys: Set[Key], regions: bool, kept: bool) -> Prepared | None:
    """What an observer watches beside a launch; None if it had better watch the launch itself.

    Args:
      prepared: the launch.
      keys: the operations that it wants to know of: the address and the mask of an access, the operands of others.
      regions: true if it wants to know which work-items execute what is divergent.
      kept: true if it keeps something for each work-group of a chunk.
    """
    slice_ = _sliced(prepared, lambda key, op: key in keys or (regions and op.name == ops.REGION))
    asked = work.passes(slice_) + work.passes(prepared.unwatched.analysed.task.program.body)
    written = work.passes(prepared.program.body)
    if asked > prepared.options.target.watching.longer * written:
        return None
    # Memories of groups that it does not need are not there.
    needed = kept or any(op.name == ops.ALLOCATE for op in slice_.walk())
    return prepared if needed else prepared.without_memories


def deciding(prepared: Prepared, keys: Set[Key] = frozenset()) -> tuple[int, ...]:
    """The numbers of the arguments whose contents decide which work-items access what, and when.

    Args:
      prepared: the launch.
      keys: operations whose operands are asked for, too.
    """

    def asked(key: Key, op: Op) -> bool:
        return key in keys or op.name in (*ops.ACCESSES, ops.REGION, "cond")

    slice_ = _sliced(prepared, asked)
    used = {value for op in slice_.ops for value in op.used}
    return tuple(number for number, value in enumerate(slice_.inputs) if value in used)


def _sliced(prepared: Prepared, asked: Callable[[Key, Op], bool]) -> Region:
    """What of a program computes what operations are asked; to look at alone, for its facts are of the whole."""
    looked_at = _looked_at(prepared.facts, asked)
    return eliminate_dead_code.live(Region(looked_at.inputs, looked_at.ops, ()))


def _looked_at(facts: Facts, asked: Callable[[Key, Op], bool]) -> Region:
    """A (sub)program that has, before each operation that is asked, one that uses what it is asked for."""
    made: list[Op] = []
    for number, op in enumerate(facts.body.ops):
        if asked((facts, number), op):
            made.append(Op(_LOOK, tuple(_asked(op)), (), {}, has_effects=True))
        inner = tuple(_looked_at(part, asked) for part in facts.within(number))
        made.append(dataclasses.replace(op, regions=inner, apply=None) if inner else op)
    return Region(facts.body.inputs, tuple(made), facts.body.outputs)


def _asked(op: Op) -> Sequence[Value]:
    """Of an access its address and mask; of others the operands, of a branch the predicate."""
    if op.name not in ops.ACCESSES:
        return op.operands
    return [*ops.indices(op), *filter(None, [ops.mask(op)])]

"""Liveness: which loads of a program give something that anybody uses.

A compiler issues no others, but volatile ones. Used is what a kernel gives, what a loop tests, what chooses a branch,
and of what is used all that it is computed from. Stores and atomic operations are made in any case, but stores to
private memory only if that is loaded from later.
"""

from collections.abc import Iterable, Mapping

from xeemu.ir import control, ops
from xeemu.ir.program import Op, Region, Value
from xeemu.knowledge.access_tree import AccessTree, Key
from xeemu.knowledge.analysis import Facts
from xeemu.language.linearity import Allocation


def unused_loads(tree: AccessTree) -> frozenset[Key]:
    """The loads of a program that nobody uses, by their key; no atomic ones."""
    operations = list(tree.root.operations())
    uses = _Uses({o.key: o.access_site.memory for o in operations})
    uses.body(tree.root.body, tree.root.facts, range(len(tree.root.body.outputs)))
    plain = {o.key for o in operations if not o.traits.writes}
    return frozenset(plain - uses.used)


class _Uses:
    """Goes through regions backwards; those of a loop until nothing more of what it carries is found to be used."""

    def __init__(self, memories: Mapping[Key, Allocation]) -> None:
        self.memories = memories
        self.used: set[Key] = set()

    def body(self, region: Region, facts: Facts, wanted: Iterable[int]) -> set[Value]:
        """The values that a region uses, its own ones too, if such a number of its outputs are."""
        used = {region.outputs[k] for k in wanted}
        for number in range(len(region.ops) - 1, -1, -1):
            op = region.ops[number]
            given = [k for k, result in enumerate(op.results) if result in used]
            if control.of(op) is not None:
                used |= self._structured(op, facts, number, given)
            elif given or self._acts(op, (facts, number)):
                self.used.add((facts, number))
                used.update(op.used)
        return used

    def _acts(self, op: Op, key: Key) -> bool:
        """True if an operation does more than give its results."""
        memory = self.memories.get(key)
        if op.name in ops.ACCESSES and op.attributes["access"].volatile:
            return True
        if op.name in ops.ACCESSES and (ops.of(op).writes or not op.results):
            return memory is None or memory.space != "private"
        return op.name in ops.ORDERING or op.name == ops.COLLECTIVE or op.has_effects

    def _structured(self, op: Op, facts: Facts, number: int, given: list[int]) -> set[Value]:
        """What an operation with regions uses, of which such results are used."""
        inner, structure = facts.inner[number], control.of(op)
        carries = len(control.carried(structure, op.regions[-1]))
        wanted = set(given)
        while True:
            used: list[set[Value]] = []
            for region, below in zip(op.regions, inner, strict=True):
                tests = isinstance(structure, control.While) and region is structure.predicate
                used.append(self.body(region, below, range(len(region.outputs)) if tests else wanted))
            more = wanted | {
                k
                for region, found in zip(op.regions, used, strict=True)
                for k, value in enumerate(region.inputs[:carries])
                if value in found
            }
            if more == wanted:
                return self._around(op, used)
            wanted = more

    def _around(self, op: Op, used: list[set[Value]]) -> set[Value]:
        """What is used of the values around an operation, of what its regions use."""
        found = set(op.operands[-1:]) if op.name == "cond" else set()
        for region, inside in zip(op.regions, used, strict=True):
            found.update(value for value in region.captures if value in inside)
            taken = zip(region.inputs, () if op.name == "cond" else op.operands, strict=False)
            found.update(outer for value, outer in taken if value in inside)
        return found

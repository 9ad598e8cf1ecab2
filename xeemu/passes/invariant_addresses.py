"""Invariant addresses: which memories a loop accesses at one address only, each element on its own.

*One address* means that every access computes its index in the same way, from what the loop does not change, for the
same work-items; barriers and fences in between order nothing, for no element has two users.
"""

import dataclasses
from collections.abc import Hashable

from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Region, Value
from xeemu.knowledge import addressing, analysis, injectivity
from xeemu.knowledge.addressing import Address
from xeemu.knowledge.analysis import Facts, Known
from xeemu.knowledge.forms import Form
from xeemu.knowledge.value_numbering import Numbers
from xeemu.language import primitives
from xeemu.passes.analyses import Analyses


@dataclasses.dataclass(frozen=True, eq=False)
class InvariantAddress:
    """Where all accesses of a loop to one of its memories lie.

    Attributes:
      op: the first of them that stores there, or loads from there if none does.
      address: of its elements.
      index: what is known of the components of its index.
      is_deep: true if one of these is computed elsewhere in the loop than by its body itself.
    """

    op: Op
    address: Address
    index: tuple[Known, ...]
    is_deep: bool

    @property
    def access(self) -> primitives.AccessAttributes:
        """What the operation says of it."""
        access: primitives.AccessAttributes = self.op.attributes["access"]
        return access

    @property
    def stores(self) -> bool:
        """True if the loop stores there."""
        return ops.operation(self.op) == "store"

    @property
    def forms(self) -> list[Form] | None:
        """The lane forms of the index, if nothing has to be computed to have it."""
        found = [known.form for known in self.index if known.form is not None and not known.form.based]
        return found if len(found) == len(self.index) else None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its elements as a value."""
        return self.address.elements.compact_shape


def of_loop(loop: Op, analyses: Analyses) -> dict[Known, InvariantAddress]:
    """The memories that a loop accesses at one address each, whose elements have one user."""
    structure = control.of(loop)
    memories = [analyses.known(value) for value in control.carried(structure, loop.regions[-1])]
    uses = {memory: _Uses() for memory in memories if memory.space}
    if not uses:
        return {}
    numbers = _Numbering(loop)
    for facts in (inner for each in loop.regions for inner in analysis.bodies(analyses.by_region[each])):
        for op in facts.body.ops:
            for memory in {analyses.known(value) for value in op.operands} & uses.keys():
                uses[memory].add(op, facts, numbers)
    invariants = {memory: use.invariant for memory, use in uses.items()}
    return {
        m: invariant
        for m, invariant in invariants.items()
        if invariant is not None and _is_sound(invariant, m, analyses)
    }


class _Uses:
    """What a loop does with one memory."""

    def __init__(self) -> None:
        self._invariants: dict[Hashable, InvariantAddress] = {}
        self._is_spoilt = False

    @property
    def invariant(self) -> InvariantAddress | None:
        """The only address that is accessed."""
        return next(iter(self._invariants.values())) if len(self._invariants) == 1 and not self._is_spoilt else None

    def add(self, op: Op, facts: Facts, numbers: "_Numbering") -> None:
        """Adds an operation that uses the memory."""
        if op.regions or op.name in ops.ORDERING:
            return
        if op.name not in ops.ACCESSES or ops.operation(op) not in ("load", "store") or op.attributes.get("fetch"):
            self._is_spoilt = True
            return
        index = tuple(facts.value(value) for value in ops.indices(op))
        address = addressing.foreseen(op, facts)
        invariant = InvariantAddress(op, address, index, any(map(numbers.is_deep, ops.indices(op))))
        key = _key(invariant, facts.values[op.operands[0]], numbers)
        before = self._invariants.get(key) if key is not None else None
        self._is_spoilt |= key is None
        if before is None or (invariant.stores, not invariant.is_deep) > (before.stores, not before.is_deep):
            self._invariants[key] = invariant


def _key(invariant: InvariantAddress, memory: Known, numbers: "_Numbering") -> Hashable:
    """What accesses at one address have in common; None of one that moves."""
    access, form = invariant.access, invariant.address.form
    lanes = (access.shape, access.view, invariant.address.elements.chosen.tobytes())
    if form is not None and invariant.forms is not None:
        return "known", form.steps, form.pattern.tobytes(), lanes if memory.space == "private" else None
    index = tuple(map(numbers.of, ops.indices(invariant.op)))
    return None if None in index else ("computed", index, lanes)


def _is_sound(invariant: InvariantAddress, memory: Known, analyses: Analyses) -> bool:
    """True if each element has one user, is within bounds, and can be found before the loop."""
    address, geometry = invariant.address, analyses.program.geometry
    if (
        (invariant.is_deep and invariant.forms is None)
        or not address.elements.count
        or not invariant.op.operands[0].size
    ):
        return False
    if memory.space == "private" and not address.elements.all:
        return False
    return address.proved and injectivity.distinct(address, memory.space or "", geometry, geometry.groups)


class _Numbering:
    """Numbers what a loop computes, so that equal numbers are equal values in all iterations; None for what changes."""

    def __init__(self, loop: Op) -> None:
        self._numbers, self._found = Numbers(), dict[Value, int | None]()
        self._body = body = loop.regions[-1]
        carried = control.carried(control.of(loop), body)
        invariant = {k: self._numbers.of(("carry", k)) for k, v in enumerate(carried) if body.outputs[k] is v}
        for region in loop.regions:
            self._found |= {value: invariant.get(k) for k, value in enumerate(region.inputs)}
            self._follow(region)

    def of(self, value: Value) -> int | None:
        if isinstance(value, Constant):
            return self._numbers.constant(value)
        return self._found[value] if value in self._found else self._numbers.of(("around", value))

    def is_deep(self, value: Value) -> bool:
        """True if the loop computes it, but not its body itself."""
        return value in self._found and value not in self._body.definitions and value not in self._body.inputs

    def _follow(self, region: Region) -> None:
        for op in region.ops:
            for inner in op.regions:
                self._found.update((value, None) for value in inner.inputs)
                self._follow(inner)
            changes = op.regions or op.has_effects or op.name == ops.ALLOCATE or ops.of(op).updates
            operands = [self.of(value) for value in op.operands]
            known = [number for number in operands if number is not None]
            unchanging = self._numbers.results(op, known) if not changes and len(known) == len(operands) else ()
            self._found |= dict.fromkeys(op.results) | dict(zip(op.results, unchanging, strict=False))

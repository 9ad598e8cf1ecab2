"""Size invariance: proofs that a kernel leaves the same in memory at two sub-group sizes, so that one of them runs.

Its programs at both sizes are gone through side by side. A value is the *same* if each work-item computes it alike at
both. Where the sub-group size decides which work-item loads which element, as of block loads, the values are *permuted*
if all work-items and iterations of the loop load the same elements altogether: then it does not matter what is counted
in which order, as atomic updates of integers do it that depend on nothing else.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.faults import distribution
from xeemu.faults.distribution import KnownAccess
from xeemu.faults.proofs import Proofs
from xeemu.ir import control, ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.ir.table import Kind
from xeemu.knowledge import budget
from xeemu.knowledge.access_tree import Key
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.budget import Budget
from xeemu.knowledge.expressions import TooLarge
from xeemu.language.collectives import GROUP

Along = frozenset[Op | None]
"""Along what values differ: loops, by their operation in the first program; None for work-items and private axes."""

_NOTHING: Along = frozenset()
_ITEMS: Along = frozenset([None])


@dataclasses.dataclass(frozen=True)
class _Equal:
    """A value, or the contents of a memory, that is the same at both sizes, and differs along some axes."""

    along: Along


@dataclasses.dataclass(frozen=True)
class _Permuted:
    """A value of which work-items and iterations have the same ones altogether, by the load that gives them.

    Attributes:
      load: the operation, of the first program.
      over: the axes along which they are distributed in another way.
    """

    load: Op
    over: Along


@dataclasses.dataclass(frozen=True)
class _Updated:
    """Contents of a memory that are the same in the end, and updated by one atomic operation till then.

    Attributes:
      operation: the atomic operation.
      until: the loops that have to end, and `None` for the launch.
    """

    operation: str
    until: Along


_Relation = _Equal | _Permuted | _Updated | None
"""How a value at one size is related to that at the other; None if it may be another one."""


class _Different(Exception):
    """What is done to memory may differ."""


def are_same(one: Proofs, other: Proofs) -> bool:
    """True if it is proved that a kernel's programs at two sizes give the same results where nothing is wrong."""
    try:
        with Budget(budget.UNITS_OF_DIVISION).portion():
            return _Comparison(one, other).holds()
    except (_Different, TooLarge):
        return False


class _Comparison:
    """Two programs, operation by operation.

    Attributes:
      one, other: what is known of them.
      partners: for each value of the first one that which the other has in its place.
      found: how these are related.
      loops: around what is gone through.
      loop: the one of which it is the body, if it is one.
      deciding: along what it differs if it is executed.
      written: the memories that the kernel changes.
    """

    def __init__(self, one: Proofs, other: Proofs) -> None:
        self.one, self.other = one, other
        self.partners: dict[Value, Value] = {}
        self.found: dict[Value, _Relation] = {}
        self.loops, self.loop = _NOTHING, _NOTHING
        self.deciding = _NOTHING
        every = (operation for same in one.operations.values() for operation in same)
        self.written = {operation.access_site.memory for operation in every if operation.changes}

    def holds(self) -> bool:
        facts, others = self.one.tree.root.facts, self.other.tree.root.facts
        outputs = self._body(facts, others, [_Equal(_NOTHING)] * len(facts.body.inputs))
        return all(isinstance(each, _Equal | _Updated) for each in outputs)

    def _body(self, facts: Facts, others: Facts, given: Sequence[_Relation]) -> list[_Relation]:
        """How the outputs of two bodies are related, by the relations of what they take."""
        one, other = facts.body, others.body
        if len(one.ops) != len(other.ops) or list(map(_type, one.inputs)) != list(map(_type, other.inputs)):
            raise _Different
        self.partners |= zip(one.inputs, other.inputs, strict=True)
        self.found |= zip(one.all_inputs, given, strict=True)
        for number, (op, partner) in enumerate(zip(one.ops, other.ops, strict=True)):
            self._op(op, partner, (facts, number), (others, number))
        return self._relations(one.outputs, other.outputs)

    def _op(self, op: Op, partner: Op, key: Key, other: Key) -> None:
        named = [(each.name, *map(_type, (*each.operands, *each.results))) for each in (op, partner)]
        if named[0] != named[1]:
            raise _Different
        operands = self._relations(op.operands, partner.operands)
        is_alike = _are_alike(op, partner)
        if op.regions:
            results = self._structure(op, partner, (key, other), operands)
        elif op.name in ops.ACCESSES:
            results = self._access(op, operands, (key, other))
        else:
            results = self._plain(op, operands, key[0]) if is_alike else [None] * len(op.results)
        if not is_alike and (op.regions or op.name in ops.LANGUAGE - {ops.COLLECTIVE} or op.has_effects):
            raise _Different
        self.partners |= zip(op.results, partner.results, strict=True)
        self.found |= zip(op.results, results, strict=True)

    def _relations(self, values: Sequence[Value], others: Sequence[Value]) -> list[_Relation]:
        return [self._relation(*pair) for pair in zip(values, others, strict=True)]

    def _relation(self, value: Value, other: Value) -> _Relation:
        if isinstance(value, Constant) and isinstance(other, Constant):
            array = np.asarray(value.array)
            uniform = bool((array == array.reshape(-1)[:1]).all())
            return _Equal(_NOTHING if uniform else _ITEMS) if np.array_equal(array, np.asarray(other.array)) else None
        return self.found[value] if self.partners.get(value) is other else None

    def _plain(self, op: Op, operands: Sequence[_Relation], facts: Facts) -> list[_Relation]:
        """The results of an operation without regions that is no access, and the same operation at both sizes."""
        if op.name in ops.ORDERING:
            memories = len(op.results)
            _check(_are_same(operands[memories:]))
            return list(operands[:memories])
        if op.name == ops.ALLOCATE:
            return [_Equal(_ITEMS if facts.values[v].space == "private" else _NOTHING) for v in op.results]
        if _are_same(operands):
            moves = ops.of(op).kind is Kind.MOVEMENT and len(operands) == 1
            spread = _NOTHING if ops.of(op).is_elementwise or moves else _ITEMS
            return [_Equal(_along(operands) | (spread if v.shape else _NOTHING)) for v in op.results]
        _check(op.name not in (ops.UNIFORM, ops.REGION) and not op.has_effects)
        return [_permuted(operands) if ops.of(op).is_elementwise else None] * len(op.results)

    def _structure(self, op: Op, partner: Op, keys: tuple[Key, Key], operands: Sequence[_Relation]) -> list[_Relation]:
        """The results of a loop, a branch or a call."""
        (facts, number), (others, _) = keys
        _check(len(op.regions) == len(partner.regions))
        structure, around = control.of(op), (self.loops, self.loop, self.deciding)
        own: Along = frozenset([op]) if isinstance(structure, control.Scan | control.While) else _NOTHING
        # Of an end that data decide nothing is counted.
        decided = _decided(operands[0]) if isinstance(structure, control.Cond) else _NOTHING
        self.deciding |= _ITEMS if isinstance(structure, control.While) else decided

        def body(k: int, given: Sequence[_Relation]) -> list[_Relation]:
            nonlocal decided
            self.loops, self.loop = around[0] | own, own
            seen = len(op.regions[k].captures)
            within = [*given[:seen], *(_within(each, own) for each in given[seen:])]
            outputs = self._body(facts.inner[number][k], others.inner[number][k], within)
            if isinstance(structure, control.While) and k == 0:
                decided = _decided(outputs[0])
            return outputs

        results = control.propagated(op, [*(self.found[v] for v in op.captures), *operands], body, _joined)
        self.loops, self.loop, self.deciding = around
        return [_after(each, decided, own) for each in results]

    # Accesses.

    def _access(self, op: Op, operands: Sequence[_Relation], keys: tuple[Key, Key]) -> list[_Relation]:
        memory, rank = operands[0], op.attributes["access"].rank
        index: list[_Relation] = list(operands[1 : 1 + rank])
        if None in index:
            index = [self._placed(op, keys)]
        given = [*index, *operands[1 + rank :]]
        if not ops.changes(op):
            return [self._loaded(op, memory, given)] * len(op.results)
        results = [_Equal(_along(given) | _ITEMS)] * (len(op.results) - 1)
        return [*results, self._changed(op, memory, given, keys[0][0])]

    def _loaded(self, op: Op, memory: _Relation, given: Sequence[_Relation]) -> _Relation:
        if not isinstance(memory, _Equal):
            return None
        if _are_same(given):
            return _Equal(_along([memory, *given]))
        return _permuted([memory, *given])

    def _changed(self, op: Op, memory: _Relation, given: Sequence[_Relation], facts: Facts) -> _Relation:
        """A memory after a store or an atomic operation."""
        operation = ops.operation(op)
        if isinstance(memory, _Equal) and _are_same(given):
            return memory
        counts = op.name == ops.ATOMIC and operation in ops.COMBINING and not op.attributes["fetch"]
        _check(counts and not ops.rounds(op.operands[0].dtype, operation) and op.operands[0].dtype.kind in "iub")
        until = _NOTHING
        if isinstance(memory, _Updated):
            _check(memory.operation == operation)
            until = memory.until
        else:
            _check(isinstance(memory, _Equal))
        if not _are_same(given):
            permuted = _permuted(given)
            if permuted is None or permuted.over & self.deciding:
                raise _Different
            until |= permuted.over - _ITEMS
        # What groups count in global memory is complete when all have done so.
        until |= _ITEMS if facts.values[op.operands[0]].space == "global" else _NOTHING
        return _Updated(operation, until) if until else memory

    def _placed(self, op: Op, keys: tuple[Key, Key]) -> _Relation:
        """The relation of an index whose components are another value at each size; that of a load's result."""
        executed = [proofs.operations.get(key, ()) for proofs, key in zip((self.one, self.other), keys, strict=True)]
        if any(len(each) != 1 for each in executed):
            return None
        (first,), (second,) = executed
        one, other = KnownAccess(first, self.one.tree), KnownAccess(second, self.other.tree)
        places = distribution.of_both(one, other) if self.loop or not one.own else None
        if places is None:
            return None
        here, there = places
        if np.array_equal(here, there):
            return _Equal(self.loops | _ITEMS)
        is_given = first.access_site.memory not in self.written and not ops.changes(op) and ops.mask(op) is None
        same = is_given and np.array_equal(np.sort(here, axis=1), np.sort(there, axis=1))
        return _Permuted(op, _ITEMS | (self.loop if one.own else _NOTHING)) if same else None


# --- Relations ---


def _check(holds: bool) -> None:
    if not holds:
        raise _Different


def _decided(relation: _Relation) -> Along:
    """Along what a predicate differs, which has to be the same at both sizes."""
    if not isinstance(relation, _Equal):
        raise _Different
    return relation.along


def _are_same(relations: Sequence[_Relation]) -> bool:
    return all(isinstance(each, _Equal) for each in relations)


def _along(relations: Sequence[_Relation]) -> Along:
    """Along what values differ that are computed from such ones."""
    return _NOTHING.union(*(each.along for each in relations if isinstance(each, _Equal)))


def _permuted(relations: Sequence[_Relation]) -> _Permuted | None:
    """What is computed from such values, if these are permuted in one way, and the others alike for all of them."""
    found = {each for each in relations if isinstance(each, _Permuted)}
    if len(found) != 1 or not all(isinstance(each, _Equal | _Permuted) for each in relations):
        return None
    (permuted,) = found
    return None if _along(relations) & permuted.over else permuted


def _joined(one: _Relation, other: _Relation) -> _Relation:
    """A value that is one of two."""
    match one, other:
        case _Equal(), _Equal():
            return _Equal(one.along | other.along)
        case (_Updated(operation, until), _Equal()) | (_Equal(), _Updated(operation, until)):
            return _Updated(operation, until)
        case _Updated(), _Updated() if one.operation == other.operation:
            return _Updated(one.operation, one.until | other.until)
    return one if one == other else None


def _within(relation: _Relation, loop: Along) -> _Relation:
    """What a loop hands on from iteration to iteration, in one of them."""
    return _Equal(relation.along | loop) if isinstance(relation, _Equal) else relation


def _after(relation: _Relation, decided: Along, loop: Along) -> _Relation:
    """What a loop or a branch gives.

    Args:
      relation: at the end of its body.
      decided: along what it differs which branch is taken, or when a loop ends.
      loop: the loop, or nothing.
    """
    match relation:
        case _Equal(along):
            return _Equal((along | decided) - loop)
        case _Updated(operation, until):
            return _Updated(operation, until - loop) if until - loop else _Equal(_NOTHING)
        case _Permuted(_, over):
            return None if over & (loop | decided) else relation
    return None


# --- Operations ---


def _type(value: Value) -> tuple[Any, ...]:
    return value.shape, value.dtype


def _are_alike(op: Op, partner: Op) -> bool:
    """True if two operations of one name do the same, but for their operands and regions."""
    a, b = (_attributes(each) for each in (op, partner))
    return a.keys() == b.keys() and all(_is_equal(a[name], b[name]) for name in a)


def _attributes(op: Op) -> Mapping[str, Any]:
    if op.name != ops.COLLECTIVE or op.attributes["collective"].level != GROUP:
        return op.attributes
    return {**op.attributes, "collective": dataclasses.replace(op.attributes["collective"], sub_group_size=0)}


def _is_equal(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray | jax.Array) or isinstance(b, np.ndarray | jax.Array):
        return np.array_equal(np.asarray(a), np.asarray(b))
    return bool(a == b)

"""The interpreter: emits a program over a chunk of work-groups as ordinary JAX operations.

A value that differs between groups has a leading axis of groups; arithmetic is lifted by `vmap` of its primitive.
Control flow whose predicate differs between groups becomes a mask on the memory operations.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core

from xeemu.emission import (
    access,
    accumulation,
    comparing,
    dividing,
    forwarding,
    guarding,
    hazards,
    held,
    joining,
    locating,
    opacity,
    promotion,
    reducing,
    rowwise,
    slices,
    splitting,
    strands,
    unrolling,
    updating,
)
from xeemu.emission.held import Held
from xeemu.emission.locating import Address, Lanes
from xeemu.emission.observer import Event, Observer, Passage
from xeemu.emission.promotion import Place
from xeemu.emission.reducing import Together, Window
from xeemu.emission.slices import View
from xeemu.emission.strands import Strand
from xeemu.emission.streaming import Block, Fill, Stream
from xeemu.emission.values import Buffer, Chunk, Emitted, Shared, Some, Split, Update
from xeemu.knowledge import folding, forms, growing, quotients
from xeemu.knowledge.analysis import Plan, Value
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body
from xeemu.language.memory import poison
from xeemu.language.program import Program

Item = Emitted | Buffer

# More iterations at a time would make the code of what watches them too long.
_WATCHED_TURNS = 8


def run(
    program: Program,
    plan: Plan,
    arguments: Sequence[jax.Array],
    origins: Mapping[int, jax.Array],
    chunk: Chunk,
    observer: Observer,
) -> list[jax.Array]:
    """Runs a program for the groups of a chunk.

    Args:
      program: the program.
      plan: its analysis.
      arguments: the launch's arguments: flat global memories and scalars.
      origins: for the number of an argument that is a part of a memory, the element that it begins with.
      chunk: the groups.
      observer: what watches; its state afterwards is the one after the chunk.

    Returns:
      For each result of the kernel the flat global memory after the chunk.
    """
    rows = rowwise.of_program(program, plan, chunk) if chunk.on_cpu and not observer.watches else {}
    inputs: list[Item] = [
        Buffer(a, "global", memory.shape, origins.get(k), alone=program.is_alone(k), rows=rows.get(k))
        if memory
        else _scalar(jnp.asarray(a, v.aval.dtype), plan.values[v])
        for k, (a, memory, v) in enumerate(zip(arguments, program.arguments, program.body.invars, strict=True))
    ]
    outputs = _Interpreter(chunk, chunk.present(), observer).body(program.body, plan, inputs, None)
    return [_memory(o).data for o in outputs]


def _scalar(array: jax.Array, known: Value) -> Emitted:
    return _computed(array, known, array.shape, array.dtype)


def _computed(array: jax.Array, known: Value, shape: tuple[int, ...], dtype: Any, some: Some | None = None) -> Emitted:
    """A value given by an array; a uniform integer scalar is its own base."""
    based = known.form is not None and known.form.based
    return Emitted(known, shape, dtype, array if based else None, array, some)


def _known(value: Emitted) -> np.ndarray | None:
    """The array of a value that is known before the program runs."""
    form = value.known.form
    return form.pattern.astype(value.dtype) if form is not None and form.constant else None


def _memory(item: Item) -> Buffer:
    assert isinstance(item, Buffer)
    return item


def _value(item: Item) -> Emitted:
    assert isinstance(item, Emitted)
    return item


@dataclasses.dataclass(frozen=True)
class _How:
    """How a memory operation has to be emitted beside others.

    Attributes:
      forwarded: whether a load may take what was stored (see `forwarding`).
      guarded: whether its mask keeps it within bounds and does nothing else (see `guarding`).
      gathered: whether a load must be a gather (see `hazards`).
      scattered: whether a store must not be a slice (see `hazards`).
      joined: whether an update may wait for the next one (see `joining`).
      before: what must be computed before it (see `hazards`).
      update: for a store that updates what is there the operation and what it adds (see `accumulation`).
    """

    forwarded: bool = False
    guarded: bool = False
    gathered: bool = False
    scattered: bool = False
    joined: bool = False
    before: Sequence[Item] = ()
    update: tuple[str, Emitted] | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class _Loop:
    """A loop that is about to be emitted.

    Attributes:
      scan: the loop.
      plan: the analysis of its body.
      consts, carries: what goes into it.
      known: what is known of the carries in every iteration.
      active: `[G]` mask of the groups that execute it, or None for all.
    """

    scan: jaxprs.Scan
    plan: Plan
    consts: list[Item]
    carries: list[Item]
    known: Sequence[Value]
    active: jax.Array | None

    @functools.cached_property
    def moves(self) -> dict[int, int]:
        """For the number of a load how much further it starts in each iteration."""
        return unrolling.moves(self.scan.body, self.plan, self.scan.consts)


@dataclasses.dataclass(frozen=True)
class _Interpreter:
    """Emits programs for one chunk.

    Attributes:
      chunk: the groups.
      present: `[G, L]` mask of the work-items that exist, or None.
      observer: is told of everything that is emitted.
      block: the iteration that is being emitted of a loop that streams, if one is.
      waiting: of the body that is being emitted the numbers of updates that are carried out later (see `updating`).
      together: the iteration that is being emitted for a block of a loop that reduces, if one is.
    """

    chunk: Chunk
    present: jax.Array | None
    observer: Observer
    block: Block | None = None
    waiting: frozenset[int] = frozenset()
    together: Together | None = None

    def body(self, body: Body, plan: Plan, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program; `active` is the `[G]` mask of the groups that execute it, or None for all."""
        self.observer.on_body(plan, active, self.chunk)
        items: dict[Any, Item] = dict(zip(body.invars, inputs, strict=True))
        for v, array in body.constants:
            items[v] = self._constant(np.asarray(array), plan.values[v])
        found, forwarded = hazards.of_body(body, plan), forwarding.of_body(body, plan, self.chunk.geometry)
        # On a CPU a scatter takes its elements one after the other anyway.
        joined = frozenset() if self.chunk.on_cpu else joining.of_body(body, self.chunk.deterministic)
        count = self.chunk.geometry.items
        guarded = frozenset() if self.observer.watches else guarding.of_body(body, plan, self._dimensions)
        sums = {} if self.observer.watches else accumulation.of_body(body, plan, count, found.scattered)
        comparisons = comparing.of_body(body, plan, self._dimensions)
        for number, eqn in enumerate(body.eqns):
            operands = [self._read(items, plan, a) for a in eqn.invars]
            if eqn.primitive in primitives.ACCESSES:
                before = [items[v] for v in found.waits.get(number, ())]
                added = sums.get(number)
                update = (added.op, _value(self._read(items, plan, added.added))) if added is not None else None
                how = _How(
                    forwarded=number in forwarded,
                    guarded=number in guarded,
                    gathered=number in found.gathered,
                    scattered=number in found.scattered,
                    joined=number in joined or number in self.waiting,
                    before=before,
                    update=update,
                )
                results = self._access(plan, number, eqn, operands, active, how)
            elif number in comparisons and _value(items[comparisons[number].value]).some is None:
                results = self._compared(plan, eqn, comparisons[number], items)
            else:
                results = self._equation(plan, number, eqn, operands, active)
            items |= dict(zip(eqn.outvars, results, strict=True))
        return [self._read(items, plan, a) for a in body.outvars]

    def _read(self, items: dict[Any, Item], plan: Plan, atom: jaxprs.Atom) -> Item:
        if jaxprs.is_literal(atom):
            return self._constant(jaxprs.literal(atom), plan.value(atom, self._dimensions))
        return items[atom]

    def _constant(self, array: np.ndarray, known: Value) -> Emitted:
        return Emitted(known, array.shape, array.dtype, None, jnp.asarray(array))

    def _equation(
        self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, operands: list[Item], active: jax.Array | None
    ) -> list[Item]:
        if eqn.primitive is primitives.barrier_p:
            return self._barrier(plan, number, eqn, operands, active)
        if eqn.primitive in primitives.LANGUAGE:
            return self._language(plan, eqn, operands)
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                (inner,) = plan.inner[number]
                division = None if self.observer.watches else _division(body, operands)
                # A result with a form has a base, which the subprogram finds.
                if division is not None and plan.values[eqn.outvars[0]].form is None:
                    return self._operation(inner, division, [_value(o) for o in operands])
                return self.body(body, inner, operands, active)
            case jaxprs.Cond(branches):
                return self._cond(plan, number, eqn, branches, operands, active)
            case jaxprs.Scan() as scan:
                return self._scan(plan, number, eqn, scan, operands, active)
            case jaxprs.While() as loop:
                return self._while(plan, number, eqn, loop, operands, active)
        return self._operation(plan, eqn, [_value(o) for o in operands])

    def _operation(self, plan: Plan, eqn: jex_core.JaxprEqn, operands: list[Emitted]) -> list[Item]:
        """An ordinary JAX operation."""
        if (chosen := _only_chosen(plan, eqn, operands)) is not None:
            return [chosen]
        results = self._carried_out(plan, eqn, operands)
        split = _split(eqn, operands)
        return results if split is None else [dataclasses.replace(_value(results[0]), split=split)]

    def _carried_out(self, plan: Plan, eqn: jex_core.JaxprEqn, operands: list[Emitted]) -> list[Item]:
        """Its lane form if it has one, else the operation itself, lifted over the groups."""
        if len(eqn.outvars) == 1 and (known := plan.values[eqn.outvars[0]]).form is not None:
            rule = plan.bases.get(eqn.outvars[0])
            aval = eqn.outvars[0].aval
            if rule is not None or known.form.constant:
                base = rule([o.base for o in operands]) if rule else None
                return [Emitted(known, aval.shape, aval.dtype, base)]
        if self.chunk.on_cpu and (divisor := _only_divisor(eqn, operands)) is not None:
            result = dividing.divided(eqn.primitive.name, operands[0].array(self.chunk), divisor)
            return self._named(plan, eqn.outvars, [result])
        bind = _bind_unsigned if _is_natural(eqn, operands) else _bind
        if _applies_to_chunks(eqn, operands):
            results = bind(eqn, [o.array(self.chunk) for o in operands])
            (value,) = self._named(plan, eqn.outvars, results, self._some(eqn, operands))
            return [dataclasses.replace(_value(value), shared=_shared(bind, eqn, operands, self.chunk))]
        return self._named(plan, eqn.outvars, self._lifted(lambda *xs: bind(eqn, xs), operands))

    def _compared(
        self, plan: Plan, eqn: jex_core.JaxprEqn, comparison: comparing.Comparison, items: dict[Any, Item]
    ) -> list[Item]:
        """What joins comparisons of fields of a value, as one of the value."""
        value = _value(items[comparison.value])
        return self._named(plan, eqn.outvars, self._lifted(lambda x: [comparison.apply(x)], [value]))

    def _some(self, eqn: jex_core.JaxprEqn, operands: list[Emitted]) -> Some | None:
        """The elements of an elementwise operation's result that some of an operand are for."""
        given = [o.some for o in operands if o.some is not None]
        shape = eqn.outvars[0].aval.shape
        if not given or any(not np.array_equal(some.chosen, given[0].chosen) for some in given):
            return None
        where = Lanes(shape, given[0].chosen, None)
        arrays = [where.array(o, self.chunk) for o in operands]
        full = (max(array.shape[0] for array in arrays), where.count)
        (values,) = _bind(eqn, [jnp.broadcast_to(array, full) for array in arrays])
        return Some(where.chosen, values)

    def _lifted(self, function: Callable[..., list[jax.Array]], operands: Sequence[Emitted]) -> list[jax.Array]:
        arrays = [o.array(self.chunk) for o in operands]
        axes = [0 if o.known.varying else None for o in operands]
        if all(axis is None for axis in axes):
            return function(*arrays)
        return jax.vmap(function, in_axes=axes)(*arrays)

    # The language's own operations.

    def _language(self, plan: Plan, eqn: jex_core.JaxprEqn, operands: list[Item]) -> list[Item]:
        p = eqn.params
        if eqn.primitive in (primitives.local_id_p, primitives.group_id_p):
            aval = eqn.outvars[0].aval
            return [Emitted(plan.values[eqn.outvars[0]], aval.shape, aval.dtype)]
        if eqn.primitive is primitives.allocate_p:
            return [self._allocate(p["space"], p["shape"], p["dtype"], plan.values[eqn.outvars[0]].alike)]
        if eqn.primitive is primitives.fence_p:
            return operands
        values = [_value(o) for o in operands]
        known = [a for a in map(_known, values[1:]) if a is not None]
        # What is known may still count as different between groups, and then the result has an axis of them.
        varies = values[0].known.varying or not any(v.known.varying for v in values[1:])
        if varies and len(known) == len(values) - 1:
            results = self._lifted(lambda x: [p["collective"].apply(x, *known)], values[:1])
        else:
            results = self._lifted(lambda *xs: [p["collective"].apply(*xs)], values)
        return self._named(plan, eqn.outvars, results)

    def _barrier(
        self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, operands: list[Item], active: jax.Array | None
    ) -> list[Item]:
        mask = _value(operands[-1]) if eqn.params["masked"] else None
        self.observer.on_barrier(Passage(plan, number, mask, active), self.chunk)
        each = zip(operands, eqn.invars, strict=True)
        return [self._settled(o, plan.values[v]) for o, v in each if isinstance(o, Buffer)]

    def _settled(self, buffer: Buffer, known: Value) -> Buffer:
        """A memory at a barrier; what all groups fill alike is then read by all of them."""
        if not known.alike or isinstance(buffer, Held) or not self.chunk.on_cpu:
            return buffer
        return buffer.holding(opacity.settled(buffer.data))

    def _named(
        self, plan: Plan, variables: Sequence[jex_core.Var], arrays: Sequence[jax.Array], some: Some | None = None
    ) -> list[Item]:
        """The values of variables, given by arrays; of a single one perhaps some elements for themselves."""
        return [
            _computed(a, plan.values[v], v.aval.shape, v.aval.dtype, some)
            for a, v in zip(arrays, variables, strict=True)
        ]

    def _allocate(self, space: str, shape: tuple[int, ...], dtype: np.dtype, alike: bool) -> Buffer:
        count, elements = self.chunk.count, math.prod(shape)
        if alike:
            return Buffer(jnp.full(elements, poison(dtype)), "global", shape)
        sizes = (count, elements) if space == "local" else (elements, count * self.chunk.geometry.items)
        return Buffer(jnp.full(sizes, poison(dtype)), space, shape)

    def _access(
        self,
        plan: Plan,
        number: int,
        eqn: jex_core.JaxprEqn,
        operands: list[Item],
        active: jax.Array | None,
        how: "_How",
    ) -> list[Item]:
        """A memory operation."""
        what: primitives.Access = eqn.params["access"]
        buffer, values = _memory(operands[0]), [_value(o) for o in operands[1:]]
        indices, rest = values[: what.rank], values[what.rank :]
        if not indices or self.observer.watches or isinstance(buffer, Held):
            return self._accessed(plan, number, eqn, buffer, indices, rest, active, how)
        joined, shape = splitting.joined(indices, buffer.shape)
        seen = dataclasses.replace(buffer, shape=shape)
        results = self._accessed(plan, number, eqn, seen, joined, rest, active, how)
        return [dataclasses.replace(r, shape=buffer.shape) if isinstance(r, Buffer) else r for r in results]

    def _accessed(
        self,
        plan: Plan,
        number: int,
        eqn: jex_core.JaxprEqn,
        buffer: Buffer,
        indices: list[Emitted],
        rest: list[Emitted],
        active: jax.Array | None,
        how: "_How",
    ) -> list[Item]:
        """The results of a memory operation on a memory by its index."""
        what: primitives.Access = eqn.params["access"]
        op, chunk = primitives.operation(eqn), self.chunk
        if op == "load":
            mask, other = rest if what.masked else (None, None)
            masks: list[jax.Array | None] = []  # a load by work-items that do not run harms nobody
        else:
            mask, other = (rest.pop(), None) if what.masked else (None, None)
            masks = [None if active is None else active[:, None], self.present]
            chunk = self._storing(plan.values[eqn.invars[0]])
        missing = None
        if how.guarded and not isinstance(buffer, Held):
            missing = jaxprs.literal(eqn.invars[-1]) if op == "load" else None
            mask = other = None
        where = locating.lanes(what, mask, masks, chunk)
        if isinstance(buffer, Held):
            if op == "store":
                return [held.store(buffer, rest[0], where, chunk)]
            loaded = held.load(buffer, where, other, plan.values[eqn.outvars[0]].varying, chunk)
            return self._named(plan, eqn.outvars, [loaded])
        address = locating.locate(buffer, indices, where, chunk)
        seen = address.found() if self.observer.watches else address
        event = Event(plan, number, buffer, seen, where, active, self.present, tuple(indices), tuple(rest))
        self.observer.on_access(event, chunk)
        for item in how.before:
            done = item.data if isinstance(item, Buffer) else item.array(chunk)
            address = address.shifted(opacity.opaque_zero(done, address.dtype))
        if op == "load":
            varying = plan.values[eqn.outvars[0]].varying
            if self.together is not None and number in self.together.loaded:
                found = access.loaded(self.together.loaded[number], where, other, varying, chunk)
                return self._loaded(plan, eqn, found)
            self._look(number, buffer, address, where, varying)
            address, view, gathered = self._in_stream(number, buffer, address, where, varying)
            # Iterations that are emitted together would take both branches.
            together = bool(self.waiting) or self.together is not None
            gathered = gathered or how.gathered or (together and not address.proved)
            source = buffer if how.forwarded else dataclasses.replace(buffer, stored=())
            found = access.load(source, address, where, other, varying, gathered, view, chunk, missing)
            return self._loaded(plan, eqn, found)
        if how.update is not None:
            op, added = how.update
            return [access.atomic(buffer, op, address, [added], where, chunk, how.joined)]
        if eqn.primitive is primitives.store_p:
            filled = self._filled(number, buffer, address, rest[0], where, chunk)
            if filled is not None:
                return [filled]
            after = access.store(buffer, address, rest[0], where, chunk, how.scattered)
            self.observer.on_stored(event, after, chunk)
            return [after]
        if not eqn.params["fetch"]:
            return [access.atomic(buffer, op, address, rest, where, chunk, how.joined)]
        old, after = access.fetch(buffer, op, address, rest, where, chunk)
        return [*self._named(plan, eqn.outvars[:1], [old]), after]

    def _loaded(self, plan: Plan, eqn: jex_core.JaxprEqn, found: access.Loaded) -> list[Item]:
        (value,) = self._named(plan, eqn.outvars, [found.values], found.some)
        return [dataclasses.replace(_value(value), shared=found.shared)]

    def _storing(self, known: Value) -> Chunk:
        """The groups that store to a memory: any of them if all would store the same."""
        return dataclasses.replace(self.chunk, count=1) if known.alike else self.chunk

    def _filled(
        self, number: int, buffer: Buffer, address: Address, value: Emitted, where: Lanes, chunk: Chunk
    ) -> Buffer | None:
        """The memory after a store that waits for those of the block's other iterations; None if it does not."""
        block = self.block
        if block is None or not address.proved or (axis := block.axis(number)) is None:
            return None
        if not block.turn and where.count and buffer.elements:
            part = slices.part(buffer, address, where, True, chunk, axis)
            if part is not None and part.writable(where.mask):
                block.fills[number] = Fill(part)
        if number not in block.fills:
            return None
        fill = block.fills[number]
        fill.values.append(where.array(value, chunk).astype(buffer.data.dtype))
        fill.masks.extend([where.mask] if where.mask is not None else [])
        return buffer.holding(fill.written(buffer.data)) if block.is_last else buffer

    def _in_stream(
        self, number: int, buffer: Buffer, address: Address, where: Lanes, varying: bool
    ) -> tuple[Address, View | None, bool]:
        """Of a load in a loop that streams: the address with what is known of it, its window, whether to gather it."""
        private = buffer.space == "private"  # whose elements lie apart
        if self.block is None or private or (view := self.block.view(number)) is None:
            return address, None, False
        if address.proved or number in self.block.trusted:
            return address.trusted(), view, False
        if self.block.found is not None:
            part = slices.part(buffer, address, where, varying, self.chunk)
            if part is not None and access.may_fit(buffer, address, part, self.chunk):
                self.block.found[number] = part, buffer.elements
        return address, view, self.block.found is not None or number in self.block.doubted

    def _look(self, number: int, buffer: Buffer, address: Address, where: Lanes, varying: bool) -> None:
        """Finds the window of what all iterations of a block load, if there is one for them to look at."""
        axis = self.together.axes.get(number) if self.together is not None else None
        if self.together is None or axis is None or not where.count or not buffer.elements:
            return
        window = slices.part(buffer, address, where, varying, self.chunk, axis)
        first = slices.part(buffer, address, where, varying, self.chunk)
        if window is None or first is None:
            return
        if address.proved:
            self.together.found[number] = Window(window, buffer.data, axis.size, None)
        elif access.may_fit(buffer, address, first, self.chunk):
            self.together.found[number] = Window(window, buffer.data, axis.size, (first, buffer.elements))

    # Control flow.

    def _pack(self, item: Item, known: Value) -> jax.Array | None:
        """What a loop carries of an item: a memory's contents, a form's base, or an array; None if nothing changes."""
        if isinstance(item, Buffer):
            return item.data
        if known.form is None:
            array = item.array(self.chunk)
            lift = known.varying and not item.known.varying
            return jnp.broadcast_to(array, (self.chunk.count, *array.shape)) if lift else array
        if not known.form.based:
            return None
        assert item.known.form is not None
        offset = forms.wrapped(forms.offset(item.known.form, known.form), item.dtype)
        if item.base is None:
            return jnp.asarray(offset)
        return lax.add(item.base, offset) if offset else item.base

    def _unpack(self, packed: jax.Array | None, like: Item, known: Value) -> Item:
        if isinstance(like, Buffer):
            assert packed is not None
            return like.holding(packed)
        if known.form is None:
            return Emitted(known, like.shape, like.dtype, None, packed)
        return Emitted(known, like.shape, like.dtype, packed)

    def _scan(
        self,
        plan: Plan,
        number: int,
        eqn: jex_core.JaxprEqn,
        scan: jaxprs.Scan,
        operands: list[Item],
        active: jax.Array | None,
    ) -> list[Item]:
        (inner,) = plan.inner[number]
        first_element = scan.consts + scan.carries
        consts, carries = operands[: scan.consts], operands[scan.consts : first_element]
        elements = [_value(o) for o in operands[first_element:]]
        known = [inner.values[v] for v in scan.body.invars[scan.consts : first_element]]
        places = self._places(scan.body, plan.inner[number], scan.consts, carries)
        outside, carries = carries, self._taken(places, scan.body, inner, consts, carries, known)
        quiet = _quiet(places, carries)

        def step(state: tuple[list[Any], Any], rows: list[jax.Array]) -> tuple[tuple[list[Any], Any], list[jax.Array]]:
            packed, self.observer.state = state
            inside = self._unpacked(packed, carries, known)
            given = self._named(inner, scan.body.invars[first_element:], rows)
            outputs = self.body(scan.body, inner, [*consts, *inside, *given], active)
            stacked = [_value(o).array(self.chunk) for o in outputs[scan.carries :]]
            return (self._packed(outputs[: scan.carries], known), self.observer.state), stacked

        loop = _Loop(scan, inner, consts, carries, known, active)
        alone = not elements and len(eqn.outvars) == scan.carries and not self.observer.watches
        updates = updating.of_loop(eqn, inner, self.chunk.geometry.items) if alone else None
        if updates and not any(isinstance(item, Held) for item in (*operands, *carries)):
            last = self._updating(loop, updates)
            return self._unpacked(last, carries, [plan.values[v] for v in eqn.outvars])
        turns = unrolling.factor(scan.body, inner, scan.consts, scan.length, self._dimensions, quiet, self.chunk.on_cpu)
        if alone and (reduction := self._reducing(loop, turns > 1)) is not None:
            last = reduction.run(self._packed(carries, known))
            return self._given_back(self._unpacked(last, carries, [plan.values[v] for v in eqn.outvars]), outside)
        if alone and turns > 1:
            last = self._stream(loop, turns)
            return self._given_back(self._unpacked(last, carries, [plan.values[v] for v in eqn.outvars]), outside)
        rows = [_rows(e.array(self.chunk), e.known.varying, 1, 0) for e in elements]
        first = (self._packed(carries, known), self.observer.state)
        (last, self.observer.state), stacked = lax.scan(
            step, first, rows, length=scan.length, reverse=scan.reverse, unroll=min(turns, _WATCHED_TURNS)
        )
        final = [plan.values[v] for v in eqn.outvars[: scan.carries]]
        stacks = [
            _rows(s, plan.values[v].varying, 0, 1) for s, v in zip(stacked, eqn.outvars[scan.carries :], strict=True)
        ]
        after = self._given_back(self._unpacked(last, carries, final), outside)
        return after + self._named(plan, eqn.outvars[scan.carries :], stacks)

    def _iterated(self, loop: _Loop, packed: list[Any]) -> list[Any]:
        """What a loop without elements carries after an iteration, from what it does before."""
        inside = self._unpacked(packed, loop.carries, loop.known)
        outputs = self.body(loop.scan.body, loop.plan, [*loop.consts, *inside], loop.active)
        return self._packed(outputs, loop.known)

    def _reducing(self, loop: _Loop, streams: bool) -> reducing.Loop | None:
        """A loop that only reduces, if it is worth while; `streams` if it could be emitted as one that streams."""
        turns = reducing.turns(loop.scan, loop.plan, self.chunk, loop.moves, streams)
        values = frozenset(k for k, carry in enumerate(loop.carries) if isinstance(carry, Held))
        reductions = reducing.of_loop(loop.scan, loop.plan, values) if turns > 1 else None
        if reductions is None:
            return None

        def iterate(together: Together, packed: list[Any]) -> list[Any]:
            return dataclasses.replace(self, together=together)._iterated(loop, packed)

        reduction = reducing.Loop(iterate, loop.scan, reductions, turns, loop.moves, self.chunk.on_cpu)
        # A CPU gathers one element after the other, which is slower than slices.
        if streams and self.chunk.on_cpu and not reduction.is_sliced(self._packed(loop.carries, loop.known)):
            return None
        return reduction

    def _stream(self, loop: _Loop, turns: int) -> list[Any]:
        """What a loop that streams carries in the end."""

        def iterate(block: Block, packed: list[Any]) -> list[Any]:
            return dataclasses.replace(self, block=block)._iterated(loop, packed)

        stream = Stream(iterate, loop.scan.length, loop.moves, turns)
        first = self._packed(loop.carries, loop.known)
        # On a GPU a branch would stop the launch to look.
        return stream.run_checked(first) if self.chunk.on_cpu else stream.run(first)

    def _updating(self, loop: _Loop, updates: updating.Updates) -> list[Any]:
        """What a loop that only updates memories carries in the end."""

        def of_part(part: Strand) -> updating.Iterations:
            emitter = self._of_part(part, updates)
            given, before = [part.item(c) for c in loop.consts], [part.item(c) for c in loop.carries]
            running = None if loop.active is None else part.rows(loop.active)

            def find(packed: list[Any]) -> updating.Found:
                inside = emitter._unpacked(packed, before, loop.known)
                outputs = emitter.body(loop.scan.body, loop.plan, [*given, *inside], running)
                return {k: list(_memory(outputs[k]).pending) for k in updates.users}

            def carry_out(k: int, data: jax.Array, found: list[Update]) -> jax.Array:
                memory = dataclasses.replace(_memory(before[k]).holding(data), pending=tuple(found))
                return access.carried_out(memory, part.chunk).data

            return updating.Iterations(emitter._packed(before, loop.known), find, carry_out)

        often = updating.updates_often(loop.scan, loop.plan, updates, self.chunk.geometry.items)
        parts = strands.of_chunk(self.chunk if often else dataclasses.replace(self.chunk, strands=1))
        length = loop.scan.length
        last = updating.Loop(list(map(of_part, parts)), updates, length, self.chunk.turns).run()
        after = growing.advanced(updates.growth, self._packed(loop.carries, loop.known), np.int32(length))
        for k in updates.users:
            after[k] = strands.together(_memory(loop.carries[k]), [packed[k] for packed in last]).data
        return after

    def _of_part(self, part: Strand, updates: updating.Updates) -> "_Interpreter":
        """Of some groups, for the body of a loop that finds what to update."""
        present = None if self.present is None else part.rows(self.present)
        return dataclasses.replace(self, chunk=part.chunk, present=present, block=None, waiting=updates.all)

    def _while(
        self,
        plan: Plan,
        number: int,
        eqn: jex_core.JaxprEqn,
        loop: jaxprs.While,
        operands: list[Item],
        active: jax.Array | None,
    ) -> list[Item]:
        predicate, inner = plan.inner[number]
        first_carry = loop.predicate_consts + loop.body_consts
        predicate_consts, consts = operands[: loop.predicate_consts], operands[loop.predicate_consts : first_carry]
        carries = operands[first_carry:]
        known = [inner.values[v] for v in loop.body.invars[loop.body_consts :]]
        places = self._places(loop.body, plan.inner[number], loop.body_consts, carries, loop.predicate)
        outside, carries = carries, self._taken(places, loop.body, inner, consts, carries, known)

        def goes_on(packed: list[Any], running: jax.Array | None) -> Emitted:
            inside = self._unpacked(packed, carries, known)
            return _value(self.body(loop.predicate, predicate, [*predicate_consts, *inside], running)[0])

        def step(packed: list[Any], running: jax.Array | None) -> list[Any]:
            inside = self._unpacked(packed, carries, known)
            return self._packed(self.body(loop.body, inner, [*consts, *inside], running), known)

        first = self._packed(carries, known)
        if not predicate.value(loop.predicate.outvars[0], self._dimensions).varying:
            last, exceeded = self._uniform_while(goes_on, step, first, active)
        else:
            last, exceeded = self._varying_while(goes_on, step, first, [bool(k.space) for k in known], active)
        if exceeded is not None:
            self.observer.on_limit(plan, number, exceeded, self.chunk)
        return self._given_back(self._unpacked(last, carries, [plan.values[v] for v in eqn.outvars]), outside)

    def _uniform_while(
        self,
        goes_on: Callable[[list[Any], jax.Array | None], Emitted],
        step: Callable[[list[Any], jax.Array | None], list[Any]],
        first: list[Any],
        active: jax.Array | None,
    ) -> tuple[list[Any], jax.Array | None]:
        """A loop that all groups of the chunk leave together; and whether it was left at the observer's limit."""
        if not self.observer.watches:
            last = lax.while_loop(
                lambda state: goes_on(state, active).array(self.chunk), lambda s: step(s, active), first
            )
            return last, None

        # JAX's predicate can leave no trace in the observer's state, so the body tests whether there will be another.
        def body(packed: list[Any], _: jax.Array) -> tuple[list[Any], jax.Array]:
            after = step(packed, active)
            return after, goes_on(after, active).array(self.chunk)

        return self._watched_while(body, first, goes_on(first, active).array(self.chunk))

    def _varying_while(
        self,
        goes_on: Callable[[list[Any], jax.Array | None], Emitted],
        step: Callable[[list[Any], jax.Array | None], list[Any]],
        first: list[Any],
        is_memory: list[bool],
        active: jax.Array | None,
    ) -> tuple[list[Any], jax.Array | None]:
        """A loop that groups leave at different times: those that have left keep their values and touch no memory."""
        everyone = jnp.ones(self.chunk.count, bool) if active is None else active

        def body(packed: list[Any], running: jax.Array) -> tuple[list[Any], jax.Array]:
            after = [
                new if memory else _selected(running, new, old)
                for new, old, memory in zip(step(packed, running), packed, is_memory, strict=True)
            ]
            return after, running & goes_on(after, running).array(self.chunk)

        return self._watched_while(body, first, everyone & goes_on(first, everyone).array(self.chunk))

    def _watched_while(
        self, body: Callable[[list[Any], jax.Array], tuple[list[Any], jax.Array]], first: list[Any], starts: jax.Array
    ) -> tuple[list[Any], jax.Array | None]:
        """A loop whose body tells which groups go on, and that carries the observer's state."""
        limit = self.observer.max_iterations

        def watched(state: tuple[Any, ...]) -> tuple[Any, ...]:
            packed, running, self.observer.state, *turn = state
            after, still = body(packed, running)
            return after, still, self.observer.state, *(t + np.int32(1) for t in turn)

        def again(state: tuple[Any, ...]) -> jax.Array:
            running: jax.Array = state[1].any()
            return running if limit is None else running & (state[3] < limit)

        start = (first, starts, self.observer.state, *(() if limit is None else (jnp.int32(0),)))
        last, running, self.observer.state, *_ = lax.while_loop(again, watched, start)
        return last, None if limit is None else running.any()

    # Memories that a loop carries as values.

    def _places(
        self, body: Body, plans: Sequence[Plan], first: int, carries: Sequence[Item], predicate: Body | None = None
    ) -> dict[int, Place]:
        """By number the carries of a loop that may be values; none where somebody has to see every access."""
        if self.observer.watches or not any(isinstance(c, Buffer) and not isinstance(c, Held) for c in carries):
            return {}
        return promotion.of_loop(body, plans, first, len(carries), self._dimensions, predicate)

    def _taken(
        self,
        places: dict[int, Place],
        body: Body,
        plan: Plan,
        consts: Sequence[Item],
        carries: Sequence[Item],
        known: Sequence[Value],
    ) -> list[Item]:
        """The carries of a loop, with elements in place of memories where that can be."""
        after = list(carries)
        inside = self._unpacked(self._packed(carries, known), carries, known) if places else []
        for k, place in places.items():
            buffer = _memory(carries[k])
            if not isinstance(buffer, Held):
                indices = self._indices(place, body, plan, dict(zip(body.invars, [*consts, *inside], strict=False)))
                after[k] = held.taken(buffer, place, indices, self._storing(known[k])) or buffer
        return after

    def _indices(self, place: Place, body: Body, plan: Plan, items: dict[Any, Item]) -> list[Emitted]:
        """The index of a place from what is there before the loop."""
        if place.known:
            arrays = [jaxprs.literal(a) if jaxprs.is_literal(a) else a.aval for a in place.indices]
            return [Emitted(v, a.shape, a.dtype) for v, a in zip(place.values, arrays, strict=True)]
        items |= {v: self._constant(np.asarray(array), plan.values[v]) for v, array in body.constants}
        for number in jaxprs.needed(body, place.indices):
            eqn = body.eqns[number]
            operands = [self._read(items, plan, a) for a in eqn.invars]
            if eqn.primitive is primitives.load_p:
                results = self._access(plan, number, eqn, operands, None, _How())
            else:
                results = self._equation(plan, number, eqn, operands, None)
            items |= dict(zip(eqn.outvars, results, strict=True))
        return [_value(self._read(items, plan, a)) for a in place.indices]

    def _given_back(self, items: Sequence[Item], outside: Sequence[Item]) -> list[Item]:
        """The carries after a loop, those that it took out of their memories back in them."""
        return [
            held.given_back(item, self.chunk) if isinstance(item, Held) and not isinstance(before, Held) else item
            for item, before in zip(items, outside, strict=True)
        ]

    def _cond(
        self,
        plan: Plan,
        number: int,
        eqn: jex_core.JaxprEqn,
        branches: Sequence[Body],
        operands: list[Item],
        active: jax.Array | None,
    ) -> list[Item]:
        chosen, rest = _value(operands[0]), operands[1:]
        known = [plan.values[v] for v in eqn.outvars]
        places = plan.places[number]

        def branch(k: int, running: jax.Array | None, given: list[Item]) -> list[Any]:
            return self._packed(self.body(branches[k], plan.inner[number][k], given, running), known)

        likes: list[Item] = [
            rest[place[0]] if place else Emitted(value, v.aval.shape, v.aval.dtype)
            for place, value, v in zip(places, known, eqn.outvars, strict=True)
        ]
        if (only := chosen.known.only) is not None and not self.observer.watches:
            return self._unpacked(branch(min(max(only, 0), len(branches) - 1), active, rest), likes, known)
        which = jnp.clip(chosen.array(self.chunk), 0, len(branches) - 1)
        if not chosen.known.varying:
            packed = self._uniform_cond(branch, which, len(branches), rest, active)
            return self._unpacked(packed, likes, known)
        packed = self._blank(likes)
        for k in range(len(branches)):
            running = (which == k) if active is None else active & (which == k)
            packed = self._masked_branch(functools.partial(branch, k, running), packed, rest, places, running)
        return self._unpacked(packed, likes, known)

    def _uniform_cond(
        self,
        branch: Callable[[int, jax.Array | None, list[Item]], list[Any]],
        which: jax.Array,
        count: int,
        operands: list[Item],
        active: jax.Array | None,
    ) -> list[Any]:
        """The results of the one branch that all groups of the chunk take."""

        def run(k: int, state: Any) -> tuple[list[Any], Any]:
            self.observer.state = state
            return branch(k, active, operands), self.observer.state

        choices = [functools.partial(run, k) for k in range(count)]
        packed, self.observer.state = lax.switch(which, choices, self.observer.state)
        return packed

    def _blank(self, likes: Sequence[Item]) -> list[Any]:
        """The results before any branch has run: the memories as they are, and values that will be overwritten."""
        return [
            item.data if isinstance(item, Buffer) else jnp.zeros((self.chunk.count, *item.shape), item.dtype)
            for item in likes
        ]

    def _masked_branch(
        self,
        branch: Callable[[list[Item]], list[Any]],
        packed: list[Any],
        operands: Sequence[Item],
        places: Sequence[tuple[int, ...] | None],
        running: jax.Array,
    ) -> list[Any]:
        """The results after one branch has run for the groups that take it."""

        def run(before: tuple[list[Any], Any]) -> tuple[list[Any], Any]:
            results, self.observer.state = before
            given = list(operands)
            for place, data in zip(places, results, strict=True):
                for k in place or ():
                    given[k] = _memory(given[k]).holding(data)
            after = [
                new if place else _selected(running, new, old)
                for new, old, place in zip(branch(given), results, places, strict=True)
            ]
            return after, self.observer.state

        before = (packed, self.observer.state)
        # On a CPU a branch that no group of the chunk takes is skipped; on a GPU that would stop the launch to look.
        after = lax.cond(running.any(), run, lambda unchanged: unchanged, before) if self.chunk.on_cpu else run(before)
        results, self.observer.state = after
        return results

    @property
    def _dimensions(self) -> int:
        return len(self.chunk.geometry.group_range)

    def _packed(self, items: Sequence[Item], known: Sequence[Value]) -> list[Any]:
        return [self._pack(item, k) for item, k in zip(items, known, strict=True)]

    def _unpacked(self, packed: Sequence[Any], likes: Sequence[Item], known: Sequence[Value]) -> list[Item]:
        return [self._unpack(p, like, k) for p, like, k in zip(packed, likes, known, strict=True)]


def _quiet(places: dict[int, Place], carries: Sequence[Item]) -> frozenset[int]:
    """The numbers of the operations of a loop's body that only use memories that it carries as values."""
    users: dict[bool, set[int]] = {True: set(), False: set()}
    for k, carry in enumerate(carries):
        if isinstance(carry, Buffer) and k in places:
            users[isinstance(carry, Held)] |= places[k].users
    return frozenset(users[True] - users[False])


def _rows(array: jax.Array, varying: bool, source: int, target: int) -> jax.Array:
    return jnp.moveaxis(array, source, target) if varying else array


def _selected(running: jax.Array, new: jax.Array | None, old: jax.Array | None) -> jax.Array | None:
    """`new` for the groups that run, `old` for the others; what does not differ between groups never changes."""
    if new is None or old is None or new is old:
        return new
    return jnp.where(running.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _shared(
    bind: Callable[[jex_core.JaxprEqn, Sequence[jax.Array]], list[jax.Array]],
    eqn: jex_core.JaxprEqn,
    operands: Sequence[Emitted],
    chunk: Chunk,
) -> Shared | None:
    """The result of an operation that applies to chunks, if groups share all of its operands alike."""
    given = [o.shared for o in operands if o.known.varying]
    first = given[0] if given else None
    if first is None or any(s is None or (s.block, s.own) != (first.block, first.own) for s in given):
        return None
    (values,) = bind(eqn, [o.array(chunk) if o.shared is None else o.shared.values for o in operands])
    return dataclasses.replace(first, values=values)


def _applies_to_chunks(eqn: jex_core.JaxprEqn, operands: Sequence[Emitted]) -> bool:
    """Whether an operation does for all groups at once what it does for one, as `vmap` would find out slowly."""
    if eqn.primitive.name not in folding.ELEMENTWISE:
        return False
    # What a scalar is for all elements of the others, it is for all groups; but not in these two.
    scalars = eqn.primitive.name not in ("select_n", "clamp")
    shape = eqn.outvars[0].aval.shape
    return all(o.shape == shape if o.known.varying else scalars and not o.shape for o in operands)


def _division(body: Body, operands: Sequence[Item]) -> jex_core.JaxprEqn | None:
    """The division that is all that a subprogram comes to."""
    known = [o.known.interval for o in operands if isinstance(o, Emitted)]
    return quotients.division(body, known) if len(known) == len(operands) else None


def _split(eqn: jex_core.JaxprEqn, operands: Sequence[Emitted]) -> Split | None:
    """What a division of natural numbers by a known one is, as a value that knows it."""
    if not _is_natural(eqn, operands) or operands[0].shape != eqn.outvars[0].aval.shape:
        return None
    divisor = _known(operands[1])
    number = None if divisor is None else forms.single(divisor)
    return Split(operands[0], int(number), eqn.primitive.name == "rem") if number else None


def _only_chosen(plan: Plan, eqn: jex_core.JaxprEqn, operands: Sequence[Emitted]) -> Emitted | None:
    """The operand that a choice is known to take."""
    if eqn.primitive.name != "select_n" or (only := operands[0].known.only) is None:
        return None
    chosen, out = operands[1 + only], eqn.outvars[0]
    same = (chosen.shape, chosen.known.varying) == (out.aval.shape, plan.values[out].varying)
    return chosen if same and chosen.known.form is None and plan.values[out].form is None else None


def _only_divisor(eqn: jex_core.JaxprEqn, operands: Sequence[Emitted]) -> jax.Array | None:
    """The only divisor of many numbers, if it is not known before the program runs."""
    if eqn.primitive.name not in ("div", "rem") or operands[0].dtype not in (np.int32, np.uint32):
        return None
    (many, divisor), shape = operands, eqn.outvars[0].aval.shape
    if many.shape != shape or not (shape or many.known.varying) or divisor.known.varying:
        return None
    form = divisor.known.form
    if form is None or divisor.base is None or (pattern := forms.single(form.pattern)) is None:
        return None
    return divisor.base + forms.wrapped(pattern, divisor.dtype)


def _is_natural(eqn: jex_core.JaxprEqn, operands: Sequence[Emitted]) -> bool:
    """Whether it divides integers that are known not to be negative, so that there are no signs to look at."""
    if eqn.primitive.name not in ("div", "rem"):
        return False
    return all(o.known.interval is not None and o.known.interval[0] >= 0 for o in operands)


def _bind_unsigned(eqn: jex_core.JaxprEqn, operands: Sequence[jax.Array]) -> list[jax.Array]:
    dtype = operands[0].dtype
    unsigned = [o.astype(f"u{dtype.itemsize}") for o in operands]
    return [r.astype(dtype) for r in _bind(eqn, unsigned)]


def _bind(eqn: jex_core.JaxprEqn, operands: Sequence[jax.Array]) -> list[jax.Array]:
    results = eqn.primitive.bind(*operands, **eqn.params)
    return list(results) if eqn.primitive.multiple_results else [results]

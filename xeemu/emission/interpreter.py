"""The interpreter: emits a program over a chunk of work-groups as ordinary JAX operations.

It goes through a (sub)program and emits each equation by the module for its kind. Values that differ between groups
have a leading axis of groups (see `operations`); control flow whose predicate differs becomes a mask on the memory
operations (see `branches` and `whiles`).
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from xeemu.emission import branches, comparing, items, memories, operations, rowwise, scans, ways, whiles
from xeemu.emission.comparing import Comparison
from xeemu.emission.context import Context, Equation
from xeemu.emission.items import Item, as_memory, as_value
from xeemu.emission.observer import Observer, Passage, Result
from xeemu.emission.values import Buffer, Chunk, Emitted, Origin
from xeemu.emission.ways import Way, Ways
from xeemu.ir import ops
from xeemu.knowledge import quotients
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Atom, Body
from xeemu.language.program import Program


def run(
    program: Program,
    plan: Plan,
    arguments: Sequence[jax.Array],
    origins: Mapping[int, Origin],
    chunk: Chunk,
    observer: Observer,
) -> list[jax.Array]:
    """Runs a program for the groups of a chunk.

    Args:
      program: the program.
      plan: its analysis.
      arguments: the launch's arguments: flat global memories and scalars.
      origins: for the number of an argument that is a part of a memory, where it begins.
      chunk: the groups.
      observer: what watches; its state afterwards is the one after the chunk.

    Returns:
      For each result of the kernel the flat global memory after the chunk.
    """
    found = buffers(program, dict(enumerate(arguments)), origins)
    if chunk.target.gathers_one_by_one and not observer.watches:
        for k, shape in rowwise.of_program(program, plan, chunk, found).items():
            found[k] = dataclasses.replace(found[k], rows=shape)
    scalars = ((k, v) for k, v in enumerate(program.body.invars) if k not in found)
    inputs: dict[int, Item] = {**found} | {
        k: items.scalar(jnp.asarray(arguments[k], v.aval.dtype), plan.values[v]) for k, v in scalars
    }
    outputs = _Interpreter(Context(chunk, chunk.present(), observer)).body(
        program.body, plan, [inputs[k] for k in range(len(inputs))], None
    )
    return [as_memory(o).data for o in outputs]


def buffers(program: Program, data: Mapping[int, jax.Array], origins: Mapping[int, Origin]) -> dict[int, Buffer]:
    """For the numbers of arguments that are memories, of some arguments, these with their contents."""
    memories = ((k, memory) for k, memory in enumerate(program.arguments) if memory is not None and k in data)
    return {
        k: Buffer(data[k], "global", memory.shape, origins.get(k), alone=program.is_alone(k)) for k, memory in memories
    }


@dataclasses.dataclass(frozen=True, eq=False)
class _Interpreter:
    """Emits programs in a context; the `Emitter` that loops and branches know."""

    context: Context

    def within(self, context: Context) -> "_Interpreter":
        """The same in another context."""
        return _Interpreter(context)

    def body(self, body: Body, plan: Plan, inputs: Sequence[Item], active: jax.Array | None) -> list[Item]:
        """Emits a (sub)program; `active` is the `[G]` mask of the groups that execute it, or None for all."""
        self.context.observer.on_body(plan, active, self.context.chunk)
        each = ways.of_body(body, plan, self.context)
        # What is followed has to be emitted as it is written.
        followed = bool(self.context.observer.followed)
        comparisons = {} if followed else comparing.of_body(body, plan, self.context.dimensions)
        spared = comparing.spared(body, comparisons)
        found = dict(zip(body.invars, inputs, strict=True)) | _constants(body, plan)
        return _Pass(self, body, plan, active, each, comparisons, spared, found).results()

    def needed(self, body: Body, plan: Plan, inputs: Sequence[Item], atoms: Sequence[Atom]) -> list[Item]:
        """Emits of a (sub)program only what some of its values need, for all groups; the last inputs may be missing."""
        found = dict(zip(body.invars, inputs, strict=False)) | _constants(body, plan)
        read = functools.partial(self.read, found, plan)
        for number in jaxprs.needed(body, atoms):
            eqn = body.eqns[number]
            equation = Equation(plan, number, eqn, list(map(read, eqn.invars)), None)
            is_load = eqn.primitive is primitives.load_p
            results = memories.accessed(equation, Way(), self.context) if is_load else self.equation(equation)
            found |= dict(zip(eqn.outvars, results, strict=True))
        return list(map(read, atoms))

    def read(self, found: Mapping[Any, Item], plan: Plan, atom: Atom) -> Item:
        """What an operand stands for."""
        if jaxprs.is_literal(atom):
            return items.constant(jaxprs.literal(atom), plan.value(atom, self.context.dimensions))
        return found[atom]

    def equation(self, equation: Equation) -> list[Item]:
        """The results of an equation that is no access."""
        eqn = equation.eqn
        if eqn.primitive in primitives.LANGUAGE:
            return self._language(equation)
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                return self._call(equation, body)
            case jaxprs.Cond(choices):
                return branches.results(self, equation, choices)
            case jaxprs.Scan() as scan:
                return scans.results(self, equation, scan)
            case jaxprs.While() as loop:
                return whiles.results(self, equation, loop)
        return operations.results(equation.plan, eqn, list(map(as_value, equation.operands)), self.context.chunk)

    def _language(self, equation: Equation) -> list[Item]:
        """The results of one of the language's own operations."""
        eqn, plan = equation.eqn, equation.plan
        if eqn.primitive in (primitives.local_id_p, primitives.group_id_p):
            aval = eqn.outvars[0].aval
            return [Emitted(plan.values[eqn.outvars[0]], aval.shape, aval.dtype)]
        if eqn.primitive is primitives.allocate_p:
            return [memories.allocated(eqn, plan.values[eqn.outvars[0]].alike, self.context.chunk)]
        if eqn.primitive is primitives.barrier_p:
            return memories.after_barrier(equation, self.context)
        if eqn.primitive is primitives.fence_p:
            return [o for o in equation.operands if isinstance(o, Buffer)]
        if eqn.primitive is primitives.region_p:
            mask = as_value(equation.operands[0])
            self.context.observer.on_region(equation.plan, equation.number, mask, equation.active, self.context.chunk)
            return []
        if eqn.primitive is primitives.uniform_p:
            operands = list(map(as_value, equation.operands))
            return operations.uniform(plan, eqn, operands, self.context.chunk, self.context.present)
        if eqn.primitive is not primitives.collective_p:
            raise ops.unhandled(eqn, "the interpreter")
        if eqn.params["collective"].masked:
            passage = Passage(plan, equation.number, as_value(equation.operands[-1]), equation.active)
            self.context.observer.on_barrier(passage, self.context.chunk)
        return operations.collective(plan, eqn, list(map(as_value, equation.operands)), self.context.chunk)

    def _call(self, equation: Equation, body: Body) -> list[Item]:
        """The results of a subprogram; one that only divides is a division."""
        (inner,) = equation.inner
        division = None if self.context.observer.watches else _division(body, equation.operands)
        # A result with a form has a base, which the subprogram finds.
        if division is not None and equation.known[0].form is None:
            return operations.results(inner, division, list(map(as_value, equation.operands)), self.context.chunk)
        return self.body(body, inner, equation.operands, equation.active)


@dataclasses.dataclass(frozen=True, eq=False)
class _Pass:
    """The equations of a (sub)program, one after the other.

    Attributes:
      interpreter: emits them.
      body: the program.
      plan: its analysis.
      active: `[G]` mask of the groups that execute it, or None for all.
      each: how its memory operations have to be emitted.
      comparisons: by number the equations that are a single comparison.
      spared: by result the numbers of those that nothing else needs.
      found: what the variables stand for.
    """

    interpreter: _Interpreter
    body: Body
    plan: Plan
    active: jax.Array | None
    each: Ways
    comparisons: Mapping[int, Comparison]
    spared: Mapping[jex_core.Var, int]
    found: dict[Any, Item]

    def results(self) -> list[Item]:
        """What the results of the program stand for."""
        for number, eqn in enumerate(self.body.eqns):
            if self.spared.keys().isdisjoint(eqn.outvars):
                self._emit(number)
        return list(map(self._read, self.body.outvars))

    def _read(self, atom: Atom) -> Item:
        """What an operand stands for."""
        if not jaxprs.is_literal(atom) and atom not in self.found:
            self._emit(self.spared[atom])
        return self.interpreter.read(self.found, self.plan, atom)

    def _emit(self, number: int) -> None:
        eqn, context = self.body.eqns[number], self.interpreter.context
        if (value := self._compared(number)) is not None:
            results = operations.compared(self.plan, eqn, self.comparisons[number], value, context.chunk)
        else:
            equation = Equation(self.plan, number, eqn, list(map(self._read, eqn.invars)), self.active)
            is_access = eqn.primitive in primitives.ACCESSES
            way = self.each.of(number, self._read) if is_access else None
            if context.observer.watches and not is_access:
                context.observer.on_operation(self.plan, number, self.active, context.chunk)
            results = memories.accessed(equation, way, context) if way else self.interpreter.equation(equation)
            if (self.plan, number) in context.observer.followed:
                told = Result(self.plan, number, eqn, equation.operands, results, self.active)
                context.observer.on_result(told, context.chunk)
        self.found.update(zip(eqn.outvars, results, strict=True))

    def _compared(self, number: int) -> Emitted | None:
        """The value of which an equation is a single comparison, unless the elements that some have loaded do."""
        comparison = self.comparisons.get(number)
        value = None if comparison is None else as_value(self._read(comparison.value))
        return value if value is not None and value.some is None else None


def _constants(body: Body, plan: Plan) -> dict[jex_core.Var, Item]:
    """What the constants of a (sub)program stand for."""
    return {v: items.constant(np.asarray(array), plan.values[v]) for v, array in body.constants}


def _division(body: Body, operands: Sequence[Item]) -> jex_core.JaxprEqn | None:
    """The division that is all that a subprogram comes to."""
    known = [o.known.interval for o in operands if isinstance(o, Emitted)]
    return quotients.division(body, known) if len(known) == len(operands) else None

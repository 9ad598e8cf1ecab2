"""The check of stored values whose dtype alone does not tell if bits are lost.

Two kinds reach this check (`operands.may_be_lossless`): weakly typed integers, which must be shown to fit, and values
of 64 bits in a kernel that is traced with 64-bit types, which must be so wide only because that mode is on.
"""

import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.ir.table import Kind
from xeemu.knowledge import intervals
from xeemu.knowledge.analysis import Plan, Value
from xeemu.language import jaxprs, operands, primitives, source
from xeemu.language.jaxprs import Atom, Body
from xeemu.language.program import Program

_WIDE = 8


def check(program: Program, plan: Plan) -> None:
    """Checks all stores of a program.

    Raises:
      KernelError: a stored value could lose bits.
    """
    # A Python scalar has passed the launch only if it fits 32 bits.
    inputs = [v.aval.dtype.itemsize == _WIDE and not v.aval.weak_type for v in program.body.invars]
    memories = zip(program.arguments, program.body.invars, strict=True)
    names = {plan.values[v]: memory.name for memory, v in memories if memory}
    _Check(program, names).body(program.body, plan, inputs)


class _Check:
    """Follows which 64-bit values carry 64-bit data; values of 32 bits and less never do."""

    def __init__(self, program: Program, names: dict[Value, str]):
        self._program = program
        self._names = names  # of memories, all versions of which share one `Value`

    def body(self, body: Body, plan: Plan, inputs: list[bool]) -> list[bool]:
        genuine: dict[jex_core.Var, bool] = dict(zip(body.invars, inputs, strict=True))
        genuine |= {v: _beyond_32_bits(np.asarray(array)) for v, array in body.constants}
        for number, eqn in enumerate(body.eqns):
            operands_ = [self._genuine(genuine, a) for a in eqn.invars]
            results = self._equation(plan, number, eqn, operands_)
            genuine |= dict(zip(eqn.outvars, results, strict=True))
        return [self._genuine(genuine, a) for a in body.outvars]

    def _genuine(self, genuine: dict[jex_core.Var, bool], atom: Atom) -> bool:
        if jaxprs.is_literal(atom):
            return _beyond_32_bits(jaxprs.literal(atom))
        return genuine[atom]

    def _equation(self, plan: Plan, number: int, eqn: jex_core.JaxprEqn, given: list[bool]) -> list[bool]:
        match jaxprs.structure(eqn):
            case jaxprs.Call(body):
                return self.body(body, plan.inner[number][0], given)
            case jaxprs.Cond(branches):
                inner = plan.inner[number]
                results = [self.body(b, p, given[1:]) for b, p in zip(branches, inner, strict=True)]
                return [any(alternatives) for alternatives in zip(*results, strict=True)]
            case jaxprs.Scan() as scan:
                return self._loop(scan.body, plan.inner[number][0], given, scan.consts, scan.carries)
            case jaxprs.While() as loop:
                consts = loop.predicate_consts
                carries = len(given) - consts - loop.body_consts
                return self._loop(loop.body, plan.inner[number][1], given[consts:], loop.body_consts, carries)
        if eqn.primitive is primitives.allocate_p:
            self._names[plan.values[eqn.outvars[0]]] = eqn.params["name"]
        if eqn.primitive in primitives.ACCESSES:
            self._store(plan, eqn, given)
        return [v.aval.dtype.itemsize == _WIDE and self._makes(eqn, given) for v in eqn.outvars]

    def _loop(self, body: Body, plan: Plan, given: list[bool], consts: int, carries: int) -> list[bool]:
        while True:
            results = self.body(body, plan, given)
            carried = [a or b for a, b in zip(given[consts : consts + carries], results, strict=False)]
            if carried == given[consts : consts + carries]:
                return results
            given = [*given[:consts], *carried, *given[consts + carries :]]

    def _makes(self, eqn: jex_core.JaxprEqn, given: list[bool]) -> bool:
        """Whether a 64-bit result of `eqn` carries 64-bit data."""
        if eqn.primitive in primitives.LANGUAGE:
            kind = ops.of(eqn).kind
            return kind in (Kind.ID, Kind.ACCESS, Kind.ALLOCATION) or any(given)
        narrow = all(v.aval.dtype.itemsize < _WIDE for v in eqn.invars)
        if eqn.primitive.name == "bitcast_convert_type":
            return True
        if eqn.primitive.name == "convert_element_type" and narrow:
            return source.asks_for_dtype(eqn)
        return any(given)

    def _store(self, plan: Plan, eqn: jex_core.JaxprEqn, given: list[bool]) -> None:
        access: primitives.Access = eqn.params["access"]
        dtype = eqn.invars[0].aval.dtype
        # The mask is bool and stands before what a masked-out load gives, or at the end.
        first = 1 + access.rank
        for atom, genuine in zip(eqn.invars[first:], given[first:], strict=True):
            if atom.aval.dtype.kind == "b" and access.masked:
                continue
            if atom.aval.dtype == dtype or not self._may_lose(plan, atom, genuine, dtype):
                continue
            name = self._names[plan.value(eqn.invars[0], 0)]
            raise source.kernel_error(operands.lossy(atom.aval.dtype, dtype, name), source.of_equation(eqn))

    def _may_lose(self, plan: Plan, atom: Atom, genuine: bool, dtype: np.dtype) -> bool:
        interval = plan.value(atom, len(self._program.geometry.group_range)).interval
        if intervals.within(interval, intervals.of_dtype(dtype)) and interval != intervals.of_dtype(atom.aval.dtype):
            return False
        return genuine or atom.aval.dtype.itemsize < _WIDE


def _beyond_32_bits(values: np.ndarray) -> bool:
    """Whether integers need more than 32 bits, signed or unsigned; floats count as widened by the mode."""
    interval = intervals.of_array(values)
    return interval is not None and not intervals.within(interval, (-(2**31), 2**32 - 1))

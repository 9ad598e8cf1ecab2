"""Compiling: what the compiler is asked for where a launch is a computation of its own."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

from xeemu.emission import locating
from xeemu.knowledge.analysis import Plan
from xeemu.language import jaxprs, primitives
from xeemu.language.jaxprs import Body
from xeemu.language.program import Program

# XLA uses half of AVX-512's registers unless told otherwise; a CPU without them ignores it.
_WIDE = {"xla_cpu_prefer_vector_width": 512}


def compiled(function: Callable[..., Any], options: Mapping[str, Any], donated: Sequence[int]) -> Callable[..., Any]:
    """A function as JAX compiles it, with options for XLA; it cannot be part of another computation.

    Args:
      function: of arrays.
      options: as `options` gives.
      donated: numbers of arguments whose memory the results may take.
    """
    return jax.jit(function, donate_argnums=tuple(donated), compiler_options=dict(options) or None)


def options(program: Program, plan: Plan, platform: str) -> Mapping[str, Any]:
    """XLA's options for a program.

    Args:
      program: of a launch.
      plan: its analysis.
      platform: of JAX, where it will run.
    """
    dimensions = len(program.geometry.group_range)
    wide = platform == "cpu" and not _gathers(program.body, plan, dimensions) and _takes_wide()
    return _WIDE if wide else {}


def _gathers(body: Body, plan: Plan, dimensions: int) -> bool:
    """Whether elements are looked up one by one: sixteen at once took up to twice as long as eight and eight."""
    return any(
        _is_gather(eqn, plan, dimensions)
        or any(_gathers(*inner, dimensions) for inner in _taken(number, eqn, plan, dimensions))
        for number, eqn in enumerate(body.eqns)
    )


def _is_gather(eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> bool:
    if eqn.primitive is not primitives.load_p or not plan.values[eqn.outvars[0]].varying:
        return False
    return locating.foreseen(eqn, plan, dimensions)[1] is None


def _taken(number: int, eqn: jex_core.JaxprEqn, plan: Plan, dimensions: int) -> list[tuple[Body, Plan]]:
    """The bodies of an equation, but for branches that no group takes."""
    inner, cond = plan.within(number, eqn), isinstance(jaxprs.structure(eqn), jaxprs.Cond)
    only = plan.value(eqn.invars[0], dimensions).only if cond else None
    return inner if only is None else [inner[min(max(only, 0), len(inner) - 1)]]


@functools.cache
def _takes_wide() -> bool:
    return takes(_WIDE)


def takes(options: Mapping[str, Any]) -> bool:
    """Whether this JAX knows XLA's options for a CPU: their names come and go, and unknown ones are errors."""
    with jax.core.eval_context(), jax.default_device(jax.local_devices(backend="cpu")[0]):
        try:
            jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
        except jax.errors.JaxRuntimeError:
            return False
    return True

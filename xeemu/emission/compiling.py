"""Compiling: what the compiler is asked for where a launch is a computation of its own."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

from xeemu.devices.target import Target
from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.knowledge import addressing, analysis
from xeemu.knowledge.analysis import Facts
from xeemu.language.program import Program

# XLA would divide parts of a program among threads that wait for each other: by this pass, and in its libraries.
_SINGLE = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner", "xla_cpu_multi_thread_eigen": False}


def compiled(function: Callable[..., Any], options: Mapping[str, Any], donated: Sequence[int]) -> Callable[..., Any]:
    """A function as JAX compiles it, with options for XLA; it cannot be part of another computation.

    Args:
      function: of arrays.
      options: as `options` gives.
      donated: numbers of arguments whose memory the results may take.
    """
    return jax.jit(function, donate_argnums=tuple(donated), compiler_options=dict(options) or None)


def is_tracing() -> bool:
    """Whether JAX is tracing something, of which operations on arrays may become a part."""
    return bool(jex_core.get_opaque_trace_state() != _state_outside())


@functools.cache
def _state_outside() -> Any:
    with jax.core.eval_context():
        return jex_core.get_opaque_trace_state()


def options(program: Program, facts: Facts, target: Target) -> Mapping[str, Any]:
    """XLA's options for a program.

    Args:
      program: of a launch.
      facts: its analysis.
      target: where it will run.
    """
    wide = target.vector_bits is not None and not _gathers(program, facts) and _takes_vectors(target.vector_bits)
    return _vectors(target.vector_bits) if wide else {}


def single(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options of a program for a CPU that keeps to the thread that calls it."""
    return {**options, **_SINGLE} if takes_single() else options


def _gathers(program: Program, facts: Facts) -> bool:
    """Whether elements are looked up one by one: sixteen at once took up to twice as long as eight and eight."""
    parts = analysis.executed(program.body, facts)
    return any(_is_gather(op, known) for body, known in parts for op in body.ops)


def _is_gather(op: Op, facts: Facts) -> bool:
    if op.name != ops.LOAD or not facts.values[op.results[0]].varying:
        return False
    return not addressing.is_formed(op, facts)


def _vectors(bits: int | None) -> Mapping[str, Any]:
    """The option for vectors of so many bits; a CPU without such ignores it."""
    return {"xla_cpu_prefer_vector_width": bits}


@functools.cache
def _takes_vectors(bits: int) -> bool:
    return takes(_vectors(bits))


@functools.cache
def takes_single() -> bool:
    """Whether a program can keep to the thread that calls it."""
    return takes(_SINGLE)


def takes(options: Mapping[str, Any]) -> bool:
    """Whether this JAX knows XLA's options for a CPU: their names come and go, and unknown ones are errors."""
    with jax.core.eval_context(), jax.default_device(jax.local_devices(backend="cpu")[0]):
        try:
            jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
        except jax.errors.JaxRuntimeError:
            return False
    return True

"""Compiling: what the compiler is asked for where a launch is a computation of its own."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

# XLA would divide parts of a program among threads that wait for each other: by this pass, and in its libraries.
_SINGLE = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner", "xla_cpu_multi_thread_eigen": False}
# Without LLVM's optimisations, without emitters that are compilers themselves, and all in one piece.
LITTLE = {
    "xla_backend_optimization_level": 0,
    "xla_cpu_use_fusion_emitters": False,
    "xla_cpu_parallel_codegen_split_count": 1,
}


def compiled(function: Callable[..., Any], options: Mapping[str, Any], donated: Sequence[int]) -> Callable[..., Any]:
    """A function as JAX compiles it, with options for XLA; it cannot be part of another computation.

    Args:
      function: of arrays.
      options: as `vectors` and `effort` give.
      donated: numbers of arguments whose memory the results may take.
    """
    return jax.jit(function, donate_argnums=tuple(donated), compiler_options=dict(options) or None)


def wide(is_wide: bool) -> contextlib.AbstractContextManager[Any]:
    """JAX's 64-bit types on or off; where they are so already nothing is done, as to do it takes microseconds."""
    return _AS_IT_IS if jax.config.read("jax_enable_x64") == is_wide else jax.enable_x64(is_wide)


_AS_IT_IS = contextlib.nullcontext()


def is_tracing() -> bool:
    """True if JAX is tracing something, of which operations on arrays may become a part."""
    return bool(jex_core.get_opaque_trace_state() != _state_outside())


@functools.cache
def _state_outside() -> Any:
    with jax.core.eval_context():
        return jex_core.get_opaque_trace_state()


def single(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options of a program for a CPU that keeps to the thread that calls it."""
    return {**options, **_SINGLE} if takes_single() else options


def vectors(bits: int | None) -> Mapping[str, Any]:
    """Options for vectors of so many bits, of which a CPU without such ignores it; none for None."""
    return {"xla_cpu_prefer_vector_width": bits} if bits is not None and _takes_vectors(bits) else {}


@functools.cache
def _takes_vectors(bits: int) -> bool:
    return takes({"xla_cpu_prefer_vector_width": bits})


def effort(little: bool) -> Mapping[str, Any]:
    """Options for XLA to try little, which takes less time to compile; none for what is worth more."""
    return LITTLE if little and takes_little() else {}


@functools.cache
def takes_little() -> bool:
    """True if XLA can be asked to try little."""
    return takes(LITTLE)


@functools.cache
def takes_single() -> bool:
    """True if a program can keep to the thread that calls it."""
    return takes(_SINGLE)


def takes(options: Mapping[str, Any]) -> bool:
    """True if this JAX knows XLA's options for a CPU: their names come and go, and unknown ones are errors."""
    with jax.core.eval_context(), jax.default_device(jax.local_devices(backend="cpu")[0]):
        try:
            jax.jit(lambda: 0, compiler_options=dict(options)).lower().compile()
        except jax.errors.JaxRuntimeError:
            return False
    return True

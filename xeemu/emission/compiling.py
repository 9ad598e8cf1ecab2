"""Compiling: what the compiler is asked for where a launch is a computation of its own."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.extend import core as jex_core

# XLA would divide parts of a program among threads that wait for each other: by this pass, and in its libraries.
_SINGLE = {"xla_disable_hlo_passes": "cpu-parallel-task-assigner", "xla_cpu_multi_thread_eigen": False}
# Without LLVM's optimisations, without emitters that are compilers themselves, and all in one piece. JAX 0.11 has no
# other emitters; without optimisations alone it compiles the examples in 0.45 to 0.8 of the time.
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


def supports_single_thread() -> bool:
    """True if a program can keep to the thread that calls it."""
    return len(_supported(_SINGLE)) == len(_SINGLE)


def single(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Options of a program for a CPU that keeps to the thread that calls it."""
    return {**options, **_SINGLE} if supports_single_thread() else options


def vectors(bits: int | None) -> Mapping[str, Any]:
    """Options for vectors of so many bits, of which a CPU without such ignores it; none for None."""
    return {} if bits is None else _supported(_width(bits))


def effort(little: bool) -> Mapping[str, Any]:
    """Options for XLA to try little, which takes less time to compile; none for what is worth more."""
    return _supported(LITTLE) if little else {}


def _width(bits: int) -> Mapping[str, Any]:
    return {"xla_cpu_prefer_vector_width": bits}


def _supported(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those of some options that this JAX knows."""
    return {name: value for name, value in options.items() if name in _option_names()}


@functools.cache
def _option_names() -> frozenset[str]:
    """The names of XLA's options for a CPU that this JAX knows: they come and go, and unknown ones are errors."""
    asked = {**LITTLE, **_SINGLE, **_width(256)}
    with jax.core.eval_context(), jax.default_device(jax.local_devices(backend="cpu")[0]):
        lowered = jax.jit(lambda: 0).lower()
        while (unknown := _first_unknown(lowered, asked)) != _NO_OPTION:
            if unknown not in asked:
                return frozenset()
            del asked[unknown]
    return frozenset(asked)


_NO_OPTION = "xla_there_is_no_such_option"


def _first_unknown(lowered: jax.stages.Lowered, options: Mapping[str, Any]) -> str | None:
    """The name of the first option that XLA does not know, `_NO_OPTION` if it knows all; None if it does not say.

    It looks at options in their order, before it compiles: that it never does, and a third of the time is enough.
    """
    asked: dict[str, Any] = {**options, _NO_OPTION: 0}
    try:
        lowered.compile(compiler_options=asked)
    except jax.errors.JaxRuntimeError as error:
        return next((name for name in (*options, _NO_OPTION) if f"'{name}'" in str(error)), None)
    return None

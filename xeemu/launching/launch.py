"""launch: a kernel over an nd-range as a function over arrays."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from xeemu.devices import target
from xeemu.devices.device import Device
from xeemu.emission import compiling
from xeemu.emission.observer import MAX_ITERATIONS
from xeemu.errors import KernelArgumentError, KernelError, did_you_mean
from xeemu.language import public
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.language.program import Program
from xeemu.launching import (
    calling,
    executables,
    explicit_axes,
    iteration_limits,
    kernel_warnings,
    request,
    sharding,
    unwritten,
)
from xeemu.launching.arguments import (
    DEFAULT_DEVICE,
    SHAPED,
    ArgumentType,
    CheckedArguments,
    checked_arguments,
    checked_device,
    own_range,
    platform_of,
)
from xeemu.launching.executables import Executable
from xeemu.launching.options import MOST_KEPT, Options
from xeemu.launching.preparation import Prepared, prepare, traced_program
from xeemu.launching.ready import Bound, Ready
from xeemu.launching.request import Request
from xeemu.launching.staged import Launched, Stages
from xeemu.passes import pipeline
from xeemu.stepping import interleaving

_PLANS = "plans"

T = TypeVar("T")


@public.function
def launch(  # noqa: PLR0913 - its options are the contract with users
    kernel: Kernel,
    nd_range: NDRange | None = None,
    *,
    device: str | Device = DEFAULT_DEVICE,
    memory_bytes: int | None = None,
    deterministic: bool = False,
    donate: bool = False,
    mesh: jax.sharding.Mesh | None = None,
    schedule: Any = None,
    max_iterations: int | None = None,
) -> Launched[Any]:
    """A kernel over an nd-range as a function over arrays.

    Args:
      kernel: what `@xe.kernel` made.
      nd_range: global and local size; without a local size a plain range, of any size. A kernel of SYCL C++ whose host
        code tells them has its own, `kernel.nd_range`, which holds where none is given.
      device: the modelled device, whose limits hold; where the emulation runs is JAX's choice.
      memory_bytes: bound on the working set of the emulation beside arguments and results. By default about a core's
        cache, 2 MiB, on a CPU and 2 GiB on a GPU, and at most eight times that; a single work-group is the least.
      deterministic: true if float atomics give the same bits on every backend, at the price of speed.
      donate: true if the results may take the place of the arguments they come from, which are then lost; not inside a
        `jit`.
      mesh: devices of JAX that share the work-groups of the launch, in the order of the mesh. Arguments go to all of
        them; a result is divided along its first axis where each device writes a part of its own, else all have it.
      schedule: an int from 0 or a key of `jax.random` for an adversarial run, None for the usual one in lockstep. With
        a key, work-groups and, between barriers, sub-groups (under odd keys single work-items) run in an order drawn
        from it; under some keys others see a plain store only once a barrier, fence or release publishes it, a load may
        see an older value, and only those accesses wait for a barrier that it orders. A kernel without races gives what
        it always does, but for what depends on the order of atomic operations; a race is likely to show, and does so
        again with the same key. It runs step by step in Python: for small launches, outside `jit`.
      max_iterations: after which a loop that tests a predicate is given up, unless it counts to a bound that it meets;
        by default 1,000,000, and of a work-item under a schedule 10,000. A launch with such a loop waits for its end. A
        part of a `jit` cannot be refused as it runs: no loop is given up there by default, and with a number here all
        results are poison where one is.

    Returns:
      A function `f(*arrays, **static)` that takes the kernel's arrays and scalars by position, or pytrees of them, and
      its static parameters by keyword, and gives what the kernel returns, with arrays in place of memories. An array
      that the kernel writes may be given as a `jax.ShapeDtypeStruct`: what it does not write holds the poison value. It
      can be traced and lowered, too, see `Staged`. Equal calls compile once. Inside
      a `jit` it is a part of that, unless no argument is traced: then it runs at once, whenever the `jit` is traced.

    Raises:
      NDRangeError, KernelNotSupportedError, MemoryAllocationError: the sizes do not fit the device or the kernel.
      MemoryAllocationError: also where arguments, results and working set are more than the memory that JAX's device
        has left, before any of it is allocated; not inside a jit.
      KernelArgumentError: wrong arguments.
      KernelError: the kernel breaks a rule of the kernel language, or what the devices of a mesh have written cannot
        be put together; or a loop has gone on for `max_iterations`.
    """
    nd_range = own_range(kernel, nd_range)
    modelled = checked_device(kernel, nd_range, device)
    asked = request.checked(modelled, memory_bytes, deterministic, donate, mesh, schedule, max_iterations)
    if calling.is_bound(kernel):
        call = calling.function(kernel, nd_range, lambda k, r: _launched(k, r, asked), calling.whole, fill=True)
        return _of_launch(kernel, nd_range, call, asked)
    return _launched(kernel, nd_range, asked)


@functools.lru_cache(maxsize=MOST_KEPT)
def _launched(kernel: Kernel, nd_range: NDRange, asked: Request) -> Launched[Any]:
    """A checked launch as a function; equal ones are the same, so that it remembers what it is called with."""
    return _of_launch(kernel, nd_range, _Call(kernel, nd_range, asked), asked)


def _of_launch(kernel: Kernel, nd_range: NDRange, call: Callable[..., Any], asked: Request) -> Launched[Any]:
    """A launch as a function, which is what is lowered of it; over a mesh it takes its axes as they are."""
    call = explicit_axes.without(call) if asked.mesh is None else call
    stages = Stages(_trace_of(kernel, nd_range, asked.device), call)
    return Launched("launch", kernel, nd_range, asked.device, call, asked.options, stages)


class _Call:
    """A launch as a function of its arrays, which remembers the calls that it was found to be ready for."""

    def __init__(self, kernel: Kernel, nd_range: NDRange, asked: Request):
        self._kernel, self._nd_range, self._asked = kernel, nd_range, asked
        self._ready: Ready[Executable | Prepared] = Ready(kernel, asked.device, CheckedArguments.of, self._prepared)

    def __call__(self, *arguments: Any, **static: Any) -> Any:
        # What is only traced, perhaps twice or for a branch that is not taken, must not take its arguments' memory.
        donating = self._asked.donate and not compiling.is_tracing()
        ready, given, _ = self._ready.call(arguments, static, donating)
        if isinstance(ready, Prepared):
            return jax.tree.unflatten(ready.program.output_tree, self._results(ready, given))
        if donating:
            _check_donated(ready.prepared.program, given)
        return _run(ready, given)

    def _prepared(self, call: CheckedArguments, bound: Bound, donating: bool) -> Executable | Prepared:
        """What carries a call out, or the launch where no compiled function does."""
        asked, given, traced = self._asked, call.arguments, _is_traced(call.arguments)
        platform = asked.mesh.devices.flat[0].platform if asked.mesh else platform_of(given)
        most = asked.max_iterations if traced or asked.max_iterations is not None else MAX_ITERATIONS
        options = Options(
            asked.memory_bytes, asked.deterministic, donating and not traced, platform, asked.mesh, max_iterations=most
        )
        described = tuple(map(ArgumentType.of, given))
        prepared = prepare(call.kernel, self._nd_range, asked.device, described, bound, options)
        unwritten.check(prepared.program, call.shapes)
        kernel_warnings.of_launch(prepared.program)
        apart = asked.schedule is not None or asked.mesh is not None or traced
        return prepared if apart else executables.executable(prepared)

    def _results(self, prepared: Prepared, given: Sequence[Any]) -> Sequence[Any]:
        """Of a launch that no compiled function carries out: one in another order, on a mesh, or in a jit."""
        asked, traced, name = self._asked, _is_traced(given), self._kernel.name
        if asked.schedule is not None:
            with jax.core.eval_context():
                return interleaving.launched(prepared.program, given, asked.schedule, traced, asked.max_iterations)
        if asked.mesh is not None:
            shared = sharding.of_launch(prepared)
            emit = _without_derivative(name, lambda *given: shared.run(given, True))
            return list(emit(*given)) if traced else shared.run(given, False)
        with jax.enable_x64(prepared.program.wide):
            # What XLA knows of arguments here, it must not join with what the kernel has (see `exactness`).
            hidden = jax.lax.optimization_barrier(list(map(jnp.asarray, given)))
            emitted = explicit_axes.within_jit(_without_derivative(name, prepared.emit), hidden)(*hidden)
            return emitted if not prepared.limits.any else iteration_limits.poisoned(emitted[:-1], emitted[-1])


def _without_derivative(name: str, emit: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A launch of a kernel as a part of a larger computation, which refuses to be differentiated."""
    refusing = jax.custom_jvp(emit)

    @refusing.defjvp
    def derivative(primals: Any, tangents: Any) -> Any:
        raise KernelError(
            f"a launch of kernel {name} has no derivative, but one is asked for, as by jax.grad or jax.jvp; write "
            "another kernel for it and give both to jax.custom_vjp, or pass jax.lax.stop_gradient(x) where an argument "
            "is constant"
        )

    return refusing


def _is_traced(given: Sequence[Any]) -> bool:
    return any(isinstance(a, jax.core.Tracer) for a in given)


def _check_donated(program: Program, given: Sequence[Any]) -> None:
    """Refuses to give away the memory of an array that is an argument in another place, too."""
    for k in program.outputs:
        for n, other in enumerate(given):
            if n != k and other is given[k] and isinstance(other, jax.Array):
                names = " and ".join(m.name for m in (program.arguments[min(n, k)], program.arguments[max(n, k)]) if m)
                raise KernelArgumentError(
                    f"{names} are the same array, whose memory donate=True would give to a result; pass a copy for one "
                    "of them, or leave out donate=True"
                )


def _run(executable: Executable, given: Sequence[Any]) -> Any:
    program = executable.prepared.program
    with compiling.wide(program.wide):
        return program.output_tree.unflatten(executable(*given))


@public.function
def trace(
    kernel: Kernel,
    nd_range: NDRange | None = None,
    *,
    device: str | Device = DEFAULT_DEVICE,
    after: str | None = None,
) -> Launched[Program]:
    """The program of a kernel: `f(*arrays, **static)`, where shapes and dtypes alone count.

    Args:
      kernel, nd_range, device: as for `launch`.
      after: the name of a pass; the program is then what a launch has made of it after that one (see
        `xeemu.passes.pipeline`). Or `"plans"`: what it is after all of them, with how each operation is carried out
        (see `xeemu.planning`) in place of its line. Without it, the program is as it was written.

    Returns:
      A function that takes arrays or `jax.ShapeDtypeStruct`s and gives the `Program`, whose `str` is a listing.

    Raises:
      KernelArgumentError: there is no such pass.
    """
    if after is not None and after not in (*pipeline.NAMES, _PLANS):
        raise KernelArgumentError(
            f"after={after!r} is no pass{did_you_mean(str(after), (*pipeline.NAMES, _PLANS))}. The passes are, in this "
            f"order, {', '.join(pipeline.NAMES)}; {_PLANS!r} is how their program is carried out"
        )
    nd_range = own_range(kernel, nd_range)
    modelled = checked_device(kernel, nd_range, device)
    return staged("trace", kernel, nd_range, modelled, _trace_of(kernel, nd_range, modelled, after), after=after)


def _trace_of(kernel: Kernel, nd_range: NDRange, device: Device, after: str | None = None) -> Callable[..., Program]:
    if calling.is_bound(kernel):
        return calling.function(kernel, nd_range, lambda k, r: _trace_of(k, r, device, after), calling.none)

    def call(*arguments: Any, **static: Any) -> Program:
        taken, leaves = kernel.with_leaves(arguments)
        given = tuple(map(ArgumentType.of, checked_arguments(taken, leaves, SHAPED)))
        if after == _PLANS:
            options = Options(None, False, False, platform_of(arguments))
            return prepare(taken, nd_range, device, given, kernel.bind_static(static), options).with_plans
        traced = traced_program(taken, nd_range, device, given, kernel.bind_static(static))
        if after is None:
            return traced
        return pipeline.optimised(traced, target.of_platform(platform_of(arguments)), after=after).program

    return call


def staged(
    entry_point: str, kernel: Kernel, nd_range: NDRange, device: Device, call: Callable[..., T], **options: Any
) -> Launched[T]:
    """A function of a kernel's arrays that tells something of a launch, which can be traced and lowered, too.

    Args:
      entry_point: the function of the interface that gives it, such as `profile`.
      kernel, nd_range, device: of the launch.
      call: the function.
      **options: of it, for its `repr`.
    """

    def launched(*arguments: Any, **static: Any) -> Any:
        return launch(kernel, nd_range, device=device)(*arguments, **static)

    stages = Stages(_trace_of(kernel, nd_range, device), launched)
    return Launched(entry_point, kernel, nd_range, device, explicit_axes.without(call), options, stages)

"""inspect: one work-group of a launch looked into, line by line."""

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.errors import KernelArgumentError
from xeemu.inspection.inspection import Inspection
from xeemu.inspection.recording import Recorder
from xeemu.language import public
from xeemu.language.geometry import Geometry
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.language.program import Program
from xeemu.launching import calling, unwritten
from xeemu.launching.arguments import (
    DEFAULT_DEVICE,
    ArgumentType,
    CheckedArguments,
    checked_device,
    checked_iterations,
    own_range,
)
from xeemu.launching.launch import staged
from xeemu.launching.preparation import traced_program
from xeemu.launching.staged import Launched
from xeemu.stepping import alone

MOST_STEPS = 2000


@public.function
def inspect(
    kernel: Kernel,
    nd_range: NDRange | None = None,
    *,
    device: str | Device = DEFAULT_DEVICE,
    group: int | Sequence[int] = 0,
    most_steps: int = MOST_STEPS,
    max_iterations: int | None = None,
) -> Launched[Inspection]:
    """A kernel over an nd-range as a function that tells what one work-group does, line by line.

    The work-group runs in lockstep, before all others: SYCL lets any be the first. Work-items that take another branch,
    or have left a loop, are not active. It runs step by step in Python, and is exact; values are those of `xe.launch`,
    but for the last bit of floats, which XLA may round otherwise where it compiles several lines together.

    Args:
      kernel, nd_range, device: as for `xe.launch`.
      group: the work-group's linear id, or its id per dimension.
      most_steps: more than these are refused.
      max_iterations: of a loop that tests a predicate, by one work-item; by default 10,000.

    Returns:
      A function `f(*arrays, **static)` that gives the `Inspection`: its `str` is a table, its `steps` hold arrays, and
      a notebook shows it with a slider. As for `xe.launch`, an argument may be a pytree of arrays, and a result that
      the kernel writes whole may be a `jax.ShapeDtypeStruct`.

    Raises:
      NDRangeError, KernelNotSupportedError, MemoryAllocationError, KernelArgumentError, KernelError: as `xe.launch`.
      KernelArgumentError: there is no such work-group.
      KernelError: the work-group makes more steps than `most_steps`.
    """
    nd_range = own_range(kernel, nd_range)
    modelled = checked_device(kernel, nd_range, device)
    most_turns = checked_iterations(max_iterations)
    _check_steps(most_steps)
    options: dict[str, Any] = {"group": group, "most_steps": most_steps, "max_iterations": max_iterations}

    def launched(call: Callable[..., Inspection]) -> Launched[Inspection]:
        return staged("inspect", kernel, nd_range, modelled, call, **options)

    if calling.is_bound(kernel):
        again = functools.partial(inspect, device=modelled, **options)
        return launched(calling.function(kernel, nd_range, again, calling.none, fill=True))

    def call(*arguments: Any, **static: Any) -> Inspection:
        given = CheckedArguments.outside_jit("xe.inspect", kernel, arguments)
        described = tuple(map(ArgumentType.of, given.arguments))
        bound = given.kernel.bind_static(static)
        program = traced_program(given.kernel, nd_range, modelled, described, bound)
        unwritten.check(program, given.shapes)
        recorder = Recorder(most_steps)
        return _inspected(program, given.arguments, group, recorder, most_turns)

    return launched(call)


def _check_steps(most_steps: Any) -> None:
    """Raises a `KernelArgumentError` if it is no number of steps."""
    if isinstance(most_steps, bool) or not isinstance(most_steps, int) or most_steps < 1:
        raise KernelArgumentError(f"most_steps is {most_steps!r}; give a number of steps from 1, such as {MOST_STEPS}")


def _inspected(
    program: Program, given: Sequence[Any], group: Any, recorder: Recorder, most_turns: int | None
) -> Inspection:
    """What a work-group of a launch does."""
    sizes = program.geometry
    number = _linear(group, sizes)
    recorder.finish(alone.run(program, given, number, recorder, most_turns))
    ids = tuple(int(n) for n in np.unravel_index(number, sizes.group_range))
    return Inspection(
        program.kernel.name, sizes.global_range, sizes.local_range, ids, sizes.sub_group_size, tuple(recorder.steps)
    )


def _linear(group: Any, geometry: Geometry) -> int:
    """The linear id of a work-group."""
    sizes = geometry.group_range
    try:
        ids = tuple(map(operator.index, group if isinstance(group, tuple | list) else (group,)))
    except TypeError:
        ids = ()
    limits = (geometry.groups,) if len(ids) == 1 else sizes
    if (
        isinstance(group, bool)
        or len(ids) != len(limits)
        or not all(0 <= n < s for n, s in zip(ids, limits, strict=True))
    ):
        form = f"a number from 0 to {geometry.groups - 1}" if geometry.groups else "none: the launch has no work-groups"
        several = f", or a tuple below {sizes}" if len(sizes) > 1 else ""
        raise KernelArgumentError(f"group={group!r} is no work-group of the launch; give {form}{several}")
    return ids[0] if len(ids) == 1 else int(np.ravel_multi_index(ids, sizes))

"""profile and estimate: what a launch of a kernel costs on the modelled device, with a run or without."""

import dataclasses
import functools
import importlib.metadata
import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu import census, counting, sampling, schedule
from xeemu.census import Census
from xeemu.counting import Counting, Ledger, State
from xeemu.device import Device
from xeemu.errors import KernelArgumentError
from xeemu.kernel import Kernel
from xeemu.launch import (
    DEFAULT_DEVICE,
    SHAPED,
    Description,
    Options,
    Prepared,
    checked_arguments,
    checked_device,
    platform_of,
    prepare,
)
from xeemu.ndrange import NDRange
from xeemu.report import Report
from xeemu.tabulation import tabulate


def profile(
    kernel: Kernel, nd_range: NDRange, device: str | Device = DEFAULT_DEVICE, sample: int | None = None
) -> Callable[..., tuple[Any, Report]]:
    """A kernel over an nd-range as a function that also tells what the launch costs.

    Args:
      kernel: what `@xe.kernel` made.
      nd_range: global and local size, as for `xe.launch`.
      device: the modelled device.
      sample: work-groups, drawn at random, on which accesses are counted whose addresses depend on data; the report
        then holds estimates for all groups, with their standard errors. All other counts stay exact. `None`: all
        groups are counted.

    Returns:
      A function `f(*arrays, **static)` that gives the outputs, the bits of `xe.launch`, as NumPy arrays; and a
      `Report`. Its counts are exact, but for those of a sample. Equal calls compile once.

    Raises:
      NDRangeError, KernelNotSupportedError, MemoryAllocationError, KernelArgumentError, KernelError: as `xe.launch`.
    """
    modelled = checked_device(kernel, nd_range, device)
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int) or sample < 1):
        raise KernelArgumentError(f"sample is {sample!r}; give the number of work-groups to count, from 1, or None")

    def call(*arguments: Any, **static: Any) -> tuple[Any, Report]:
        given = checked_arguments(kernel, arguments, (jax.Array, np.ndarray, np.generic))
        if any(isinstance(a, jax.core.Tracer) for a in given):
            raise KernelArgumentError("xe.profile gives plain numbers, so it cannot be part of a jit; call it outside")
        prepared = _prepared(kernel, nd_range, modelled, given, static)
        taken = _census(prepared, modelled, _scalars(given))
        counted = _counted(taken, prepared, sample)
        outputs, state = counted.run(given)
        report = counted.known_report if state is None else _report(counted, state)
        return jax.tree.unflatten(prepared.program.output_tree, outputs), report

    return call


def estimate(kernel: Kernel, nd_range: NDRange, device: str | Device = DEFAULT_DEVICE) -> Callable[..., Report]:
    """What a launch of a kernel costs, without running it.

    Args:
      kernel, nd_range, device: as for `profile`.

    Returns:
      A function `f(*arrays, **static)` that gives a `Report`. Of arrays only the shapes and dtypes count, so that a
      `jax.ShapeDtypeStruct` will do; scalars that are given are used. What depends on the contents of an array is
      `None`; all other counts are those of `profile`.

    Raises:
      As `profile`.
    """
    modelled = checked_device(kernel, nd_range, device)

    def call(*arguments: Any, **static: Any) -> Report:
        given = checked_arguments(kernel, arguments, SHAPED)
        prepared = _prepared(kernel, nd_range, modelled, given, static)
        return _counted(_census(prepared, modelled, _scalars(given)), prepared, None).known_report

    return call


def _prepared(kernel: Kernel, nd_range: NDRange, device: Device, given: Sequence[Any], static: Any) -> Prepared:
    options = Options(None, False, False, platform_of(given))
    return prepare(kernel, nd_range, device, tuple(map(Description.of, given)), kernel.bind_static(static), options)


def _scalars(given: Sequence[Any]) -> tuple[Hashable, ...]:
    """For each argument its value if it is a scalar that is known, else None."""
    return tuple(None if isinstance(a, jax.ShapeDtypeStruct) or np.shape(a) else np.asarray(a).item() for a in given)


@functools.lru_cache(maxsize=128)
def _census(prepared: Prepared, device: Device, scalars: tuple[Hashable, ...]) -> Census:
    return census.take(schedule.of_program(prepared.program, prepared.plan, scalars), device)


@functools.lru_cache(maxsize=128)
def _counted(taken: Census, prepared: Prepared, sample: int | None) -> "Counted":
    groups = prepared.program.geometry.groups
    drawn = None if sample is None or sample >= groups else sampling.draw(groups, prepared.chunk, sample)
    return Counted(prepared, Ledger(taken, drawn))


@dataclasses.dataclass(frozen=True, eq=False)
class Counted:
    """A prepared launch together with the counting of what its census leaves open."""

    prepared: Prepared
    ledger: Ledger

    def run(self, given: Sequence[Any]) -> tuple[list[np.ndarray], Mapping[str, Any] | None]:
        """The kernel's outputs, and what was counted; nothing if the census is complete."""
        if self.ledger.census.complete:
            with jax.enable_x64(self.prepared.program.wide):
                return [np.asarray(output) for output in self.prepared.compiled(*given)], None
        with jax.enable_x64(True):
            outputs, state = self.compiled(*self._converted(given))
        return [np.asarray(output) for output in outputs], jax.tree.map(np.asarray, state)

    @functools.cached_property
    def known_report(self) -> Report:
        """The report without a run."""
        return _report(self, None)

    def _converted(self, given: Sequence[Any]) -> list[Any]:
        """Scalars in the dtypes that the program was traced for; arrays as they are."""
        avals = [v.aval for v in self.prepared.program.body.invars]
        return [np.asarray(a, v.dtype) if not np.shape(a) else a for a, v in zip(given, avals, strict=True)]

    @functools.cached_property
    def compiled(self) -> Callable[..., tuple[list[jax.Array], State]]:
        """The launch with its observer, to be called with 64-bit types on: counts pass 2^31."""

        def run(*arguments: jax.Array) -> tuple[list[jax.Array], State]:
            watch = functools.partial(Counting, self.ledger)
            return self.prepared.watched(arguments, watch, self.ledger.zeros())

        return jax.jit(run)


def _report(counted: Counted, state: Mapping[str, Any] | None) -> Report:
    kernel = counted.prepared.program.kernel
    try:
        lines, first = inspect.getsourcelines(kernel.function)
    except (OSError, TypeError):
        lines, first = [], 0
    return tabulate(
        counted.prepared,
        counted.ledger,
        counting.counts(counted.ledger, state),
        version=_version(),
        source=tuple((first + k, line.rstrip("\n")) for k, line in enumerate(lines)),
    )


def _version() -> str:
    """Of xeemu, which need not be installed to be used."""
    try:
        return importlib.metadata.version("xeemu")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

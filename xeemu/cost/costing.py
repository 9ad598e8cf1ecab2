"""profile and estimate: what a launch of a kernel costs on the modelled device, with a run or without."""

import dataclasses
import functools
import inspect
import linecache
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from xeemu.cost import census, counting, registers, sampling
from xeemu.cost.census import Census
from xeemu.cost.counting import Counting
from xeemu.cost.ledger import Ledger, condensed, subtractable, tallied
from xeemu.cost.registers import Registers
from xeemu.cost.report import Report
from xeemu.cost.tabulation import tabulate
from xeemu.devices.device import Device
from xeemu.knowledge import symbolic_execution
from xeemu.language import public
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching import apart, calling, executables, garbage, ready
from xeemu.launching.arguments import (
    DEFAULT_DEVICE,
    checked_device,
    own_range,
    scalars,
)
from xeemu.launching.executables import Watched
from xeemu.launching.launch import staged
from xeemu.launching.options import MOST_WATCHED
from xeemu.launching.preparation import Prepared
from xeemu.launching.staged import Launched
from xeemu.version import version

# Bytes of counts that are compared with those of other runs.
_MOST_COMPARED = 1 << 20


@public.function
def profile(
    kernel: Kernel,
    nd_range: NDRange | None = None,
    *,
    device: str | Device = DEFAULT_DEVICE,
    sample: int | None = None,
) -> Launched[tuple[Any, Report]]:
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
    nd_range = own_range(kernel, nd_range)
    modelled = checked_device(kernel, nd_range, device)
    sampling.check_size(sample)
    return _profile(kernel, nd_range, modelled, sample)


@functools.lru_cache(maxsize=MOST_WATCHED)
def _profile(kernel: Kernel, nd_range: NDRange, device: Device, sample: int | None) -> Launched[tuple[Any, Report]]:
    """A checked profile as a function; equal ones are the same."""
    if calling.is_bound(kernel):
        again = functools.partial(_profile, device=device, sample=sample)
        bound = calling.function(kernel, nd_range, again, calling.first, fill=True)
        return staged("profile", kernel, nd_range, device, bound, sample=sample)
    calls = ready.watched("xe.profile", kernel, nd_range, device)

    def call(*arguments: Any, **static: Any) -> tuple[Any, Report]:
        prepared, given, _ = calls.call(arguments, static)
        counted = _counted(_census(prepared, device, scalars(given)), prepared, sample)
        outputs, state = counted.run(given)
        report = counted.known_report if state is None else counted.report(state)
        return prepared.program.output_tree.unflatten(outputs), report

    return staged("profile", kernel, nd_range, device, call, sample=sample)


@public.function
def estimate(
    kernel: Kernel, nd_range: NDRange | None = None, *, device: str | Device = DEFAULT_DEVICE
) -> Launched[Report]:
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
    nd_range = own_range(kernel, nd_range)
    return _estimate(kernel, nd_range, checked_device(kernel, nd_range, device))


@functools.lru_cache(maxsize=MOST_WATCHED)
def _estimate(kernel: Kernel, nd_range: NDRange, device: Device) -> Launched[Report]:
    """A checked estimate as a function; equal ones are the same."""
    if calling.is_bound(kernel):
        bound = calling.function(kernel, nd_range, functools.partial(_estimate, device=device), calling.none)
        return staged("estimate", kernel, nd_range, device, bound)
    calls = ready.watched(None, kernel, nd_range, device)

    def call(*arguments: Any, **static: Any) -> Report:
        prepared, given, _ = calls.call(arguments, static)
        return _counted(_census(prepared, device, scalars(given)), prepared, None).known_report

    return staged("estimate", kernel, nd_range, device, call)


@functools.lru_cache(maxsize=MOST_WATCHED)
@garbage.unsearched()
def _census(prepared: Prepared, device: Device, scalars: tuple[Hashable, ...]) -> Census:
    program = prepared.program
    tree = symbolic_execution.of_program(program, prepared.facts, scalars)
    has_private = any(memory.space == "private" for memory in program.allocations)
    compiled = symbolic_execution.of_program(program, prepared.facts) if has_private else None
    return census.take(tree, device, compiled=compiled)


@functools.lru_cache(maxsize=MOST_WATCHED)
def _counted(taken: Census, prepared: Prepared, sample: int | None) -> "Counted":
    groups = prepared.program.geometry.groups
    drawn = None if sample is None or sample >= groups else sampling.draw(groups, prepared.cut.chunk, sample)
    counted = Counted(prepared, Ledger(taken, drawn, subtractable(taken, prepared.program, drawn)))
    registers.check(counted.registers, prepared, taken)
    return counted


@dataclasses.dataclass(frozen=True, eq=False)
class Counted:
    """A prepared launch together with the counting of what its census leaves open."""

    prepared: Prepared
    ledger: Ledger

    @functools.cached_property
    def registers(self) -> Registers:
        """The registers of the launch."""
        return registers.of_launch(self.prepared, self.ledger.census)

    def run(self, given: Sequence[Any]) -> tuple[list[np.ndarray], Mapping[str, Any] | None]:
        """The kernel's outputs, and what was counted; nothing if the census is complete."""
        if self.ledger.census.complete:
            return executables.executable(self.prepared.unwatched).run(given), None
        outputs, state = self._watched.run(given)
        self._check_ended(state)
        if not self._watched.outputs:
            outputs = executables.executable(self.prepared.unwatched).run(given)
        return outputs, tallied(self.ledger, state, self.prepared.program, given, outputs)

    def _check_ended(self, state: Mapping[str, Any]) -> None:
        hint = "a profile goes on no longer; estimate it, or profile a launch in which it ends"
        self.ledger.limits.check(state["exceeded"], hint)

    def report(self, state: Mapping[str, Any]) -> Report:
        """The report of a run that has counted so much."""
        seen = _Seen(condensed(self.ledger, state))
        return _report_again(self, seen) if seen.is_small else _report(self, seen.state)

    @functools.cached_property
    def known_report(self) -> Report:
        """The report without a run."""
        return _report(self, None)

    @functools.cached_property
    def _watched(self) -> Watched:
        """What counts: as the kernel runs, or beside a launch where that takes less."""
        taken, observer = self.ledger.census, functools.partial(Counting, self.ledger)
        keys = {*taken.left, *(key for key in taken.untallied if taken.access_site(key).memory in self.ledger.noted)}
        sampled = self.ledger.sample is not None
        beside = None if sampled else apart.of_observer(self.prepared, keys, None in taken.active.values(), False)
        decide = apart.deciding(self.prepared)
        return Watched(beside or self.prepared, observer, self.ledger.zeros, outputs=beside is None, deciding=decide)


@dataclasses.dataclass(frozen=True, eq=False)
class _Seen:
    """What a run has counted, equal to what another has if all counts are."""

    state: Mapping[str, Any]

    @property
    def is_small(self) -> bool:
        """True if it is sooner compared than reported on again."""
        return sum(array.nbytes for array in jax.tree.leaves(self.state)) <= _MOST_COMPARED

    @functools.cached_property
    def _counts(self) -> bytes:
        return b"".join(array.tobytes() for array in jax.tree.leaves(self.state))

    def __hash__(self) -> int:
        return hash(self._counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self._counts == other._counts


@functools.lru_cache(maxsize=MOST_WATCHED)
def _report_again(counted: Counted, seen: _Seen) -> Report:
    """The report of a run, made once for all runs of the launch that have counted the same."""
    return _report(counted, seen.state)


def _report(counted: Counted, state: Mapping[str, Any] | None) -> Report:
    return tabulate(
        counted.prepared,
        counted.ledger,
        counting.counts(counted.ledger, state),
        counted.registers,
        version=version(),
        lines=_lines(counted.prepared.program.kernel),
    )


def _lines(kernel: Kernel) -> Callable[[], tuple[tuple[int, str], ...]]:
    """What gives the kernel's lines with their numbers, as they are now; none where they are not at hand."""
    if kernel.interface is not None:
        lines = kernel.interface.lines
        return lambda: lines
    function = inspect.unwrap(kernel.function)
    if not isinstance(function, types.FunctionType):
        return tuple
    file, first = function.__code__.co_filename, function.__code__.co_firstlineno - 1
    linecache.checkcache(file)
    # inspect.findsource of Python 3.11 compiles a pattern, which takes a twentieth of a small launch's first estimate.
    of_file = linecache.getlines(file, function.__globals__)
    return functools.partial(_numbered, of_file, first) if of_file else tuple


def _numbered(lines: Sequence[str], first: int) -> tuple[tuple[int, str], ...]:
    """The lines of the function that begins with one of a file's; which is the last takes Python's tokens to tell."""
    return tuple((first + k, line.rstrip("\n")) for k, line in enumerate(inspect.getblock(lines[first:]), 1))

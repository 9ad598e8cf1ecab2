"""Capacity: the memory that a launch takes and the memory that there is; what cannot fit is refused beforehand."""

import contextlib
import dataclasses
import resource
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from xeemu.devices import target
from xeemu.errors import MemoryAllocationError

_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20))
# Of cgroups, version 2 and 1: the line of /proc/self/cgroup, the folder, and the files of limit and usage.
_CONTROL_GROUPS = (
    ("0::", "", "memory.max", "memory.current"),
    (":memory:", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


@dataclasses.dataclass(frozen=True)
class Need:
    """The memory that a launch takes of a device, beside the arguments that are there already.

    Attributes:
      arguments_bytes: arguments that have to be brought there.
      results_bytes: the arrays that the kernel returns.
      working_bytes: the rest: what a chunk of work-groups takes.
    """

    arguments_bytes: int
    results_bytes: int
    working_bytes: int

    @property
    def total_bytes(self) -> int:
        return self.arguments_bytes + self.results_bytes + self.working_bytes


def check(need: Need, device: jax.Device, advice: str, copies: int = 1) -> None:
    """Refuses what cannot fit, before any of it is allocated.

    Args:
      need: of a launch, on each device.
      device: where it runs.
      advice: what to write instead.
      copies: devices that share its memory and take as much each.

    Raises:
      MemoryAllocationError: it takes more than is available. Where that is not known, nothing is refused.
    """
    total_bytes = copies * need.total_bytes
    if total_bytes < target.of_platform(device.platform).unasked_bytes:
        return
    there_bytes = available_bytes(device)
    if there_bytes is None or total_bytes <= there_bytes:
        return
    where = "this machine" if target.of_platform(device.platform).has_system_memory else f"device {device}"
    each = f" on each of {copies} devices that share it" if copies > 1 else ""
    raise MemoryAllocationError(
        f"the launch takes {_shown(total_bytes)} of memory, and {_shown(there_bytes)} are available on {where}: "
        f"{_shown(need.arguments_bytes)} for arguments that are not there yet, {_shown(need.results_bytes)} for "
        f"results, {_shown(need.working_bytes)} to work with{each}. {advice}"
    )


def _shown(number_bytes: int) -> str:
    for unit, size_bytes in _UNITS:
        if number_bytes >= size_bytes:
            return f"{number_bytes / size_bytes:.2f} {unit}"
    return f"{number_bytes} bytes"


# --- What a launch takes ---


def absent_bytes(arguments: Sequence[Any]) -> int:
    """The size of the arguments that are no arrays of JAX: they are copied to the device."""
    return sum(x.nbytes for x in arguments if isinstance(x, np.ndarray))


class Measured:
    """A jitted function that tells what it takes once it is compiled, which is found out once: it takes milliseconds.

    Attributes:
      function: what `jax.jit` made.
    """

    def __init__(self, function: Callable[..., Any]):
        self.function = function
        self._working_bytes: int | None = None

    def working_bytes(self, arguments: Sequence[Any], results_bytes: int) -> int:
        """What it allocates beside arguments and a kernel's results; 0 if the compiler does not tell.

        JAX keeps what it compiles here for the call with such arguments that follows.
        """
        if self._working_bytes is None:
            analysis = self.function.lower(*arguments).compile().memory_analysis()  # type: ignore[attr-defined]
            self._working_bytes = 0 if analysis is None else beyond(analysis, results_bytes)
        return self._working_bytes


def beyond(analysis: Any, results_bytes: int) -> int:
    """Of what the compiler tells temporary arrays, and what is given beside the results, as the state of observers."""
    return int(analysis.temp_size_in_bytes) + max(0, int(analysis.output_size_in_bytes) - results_bytes)


# --- What there is ---


def available_bytes(device: jax.Device) -> int | None:
    """The memory of a device that is not in use; None where it is not known."""
    if target.of_platform(device.platform).has_system_memory:
        return host_bytes()
    with contextlib.suppress(jax.errors.JaxRuntimeError):
        figures = device.memory_stats() or {}
        if "bytes_limit" in figures:
            return int(figures["bytes_limit"] - figures.get("bytes_in_use", 0))
    return None


ALLOCATION_ERRORS = (MemoryError, ValueError, jax.errors.JaxRuntimeError)
"""What an allocation that fails may raise."""


def refuse_failed(error: Exception) -> None:
    """Refuses a launch of which an allocation has failed all the same, as while others take memory.

    Args:
      error: what it has raised; nothing is done about other errors of these types.

    Raises:
      MemoryAllocationError: the error is one of memory.
    """
    if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
        return
    reason = str(error).removeprefix("RESOURCE_EXHAUSTED: ").partition("\n")[0].rstrip(".") or "out of memory"
    raise MemoryAllocationError(
        f"the launch did not get the memory that it takes: {reason}. Launch a part of the work at a time, on "
        "smaller arrays"
    ) from None


def host_bytes(proc: Path = Path("/proc"), groups: Path = Path("/sys/fs/cgroup")) -> int | None:
    """The memory, swap included, that the system, the control groups of this process and its own limits leave it.

    None if that is not known.
    """
    reported = _figures(proc / "meminfo")
    available = [1024 * (reported["MemAvailable"] + reported.get("SwapFree", 0))] if "MemAvailable" in reported else []
    available += _available_by_control_groups(proc / "self" / "cgroup", groups)
    available += _available_by_limits(proc / "self" / "status")
    return max(min(available), 0) if available else None


def _available_by_limits(status: Path) -> Iterator[int]:
    """What the limits of this process leave, as `ulimit -v` and `ulimit -d` set them."""
    reported = _figures(status)
    for limit, usage in ((resource.RLIMIT_AS, "VmSize"), (resource.RLIMIT_DATA, "VmData")):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY and usage in reported:
            yield most - 1024 * reported[usage]


def _available_by_control_groups(membership: Path, root: Path) -> Iterator[int]:
    lines = membership.read_text().splitlines() if membership.exists() else []
    for mark, folder, limit, usage in _CONTROL_GROUPS:
        for line in (line for line in lines if mark in line):
            own = root / folder / line.partition(mark)[2].lstrip("/")
            for group in (own, *own.parents):
                if group.is_relative_to(root / folder):
                    yield from _available(group / limit, group / usage, group / "memory.stat")


def _available(limit: Path, usage: Path, statistics: Path) -> Iterator[int]:
    """What a control group leaves; pages of files that it would give back count as free."""
    if limit.exists() and usage.exists() and (text := limit.read_text().strip()) != "max":
        figures = _figures(statistics)
        files = figures.get("total_inactive_file", figures.get("inactive_file", 0))
        yield int(text) - int(usage.read_text()) + files


def _figures(path: Path) -> dict[str, int]:
    """The numbers of a file of lines such as `MemFree: 12 kB`."""
    lines = (line.replace(":", " ").split() for line in path.read_text().splitlines()) if path.exists() else ()
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}

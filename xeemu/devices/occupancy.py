"""Occupancy: how many work-groups an Xe core holds at once, what limits them, and what would let it hold more."""

import bisect
import dataclasses
import math
import operator
from collections.abc import Iterator, Mapping, Sequence

from xeemu.devices import limits, page
from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.errors import KernelArgumentError, NDRangeError
from xeemu.language import public
from xeemu.language.ndrange import NDRange
from xeemu.plurals import counted


@dataclasses.dataclass(frozen=True)
class Occupancy:
    """How full a launch keeps the hardware threads. A figure is `None` where the device's are not known.

    Attributes:
      fraction: threads of an Xe core in use in the steady state, 0 to 1. The denominator is the threads of the small
        GRF mode, so that a kernel in the large one reaches 0.5 at most.
      average: threads of the device in use, averaged over the waves of the launch; without a launch, `fraction`.
      peak: the most of them in use at once; without a launch, `fraction`.
      groups: work-groups resident on an Xe core.
      limiter: the name of the constraint that binds, the first of `constraints` if several do.
      constraints: the work-groups that each constraint allows: `threads`, `registers` (where they are given), `slm`
        (where there is local memory), and `barriers` or `work_groups` (slots of groups with and without barriers).
      threads_per_group: sub-groups of a work-group.
      sub_group_size: work-items of each.
      slm_bytes: local memory of a work-group as the device rounds it up, with what the system adds.
      waves: how often the launch fills the device; without a launch, `None`.
      next_step: the smallest single change that would raise `fraction`, as a sentence.
      next_fraction: what it would be then; None if no single change raises it.
    """

    fraction: float | None
    average: float | None
    peak: float | None
    groups: int | None
    limiter: str | None
    constraints: Mapping[str, int]
    threads_per_group: int
    sub_group_size: int
    slm_bytes: int
    waves: float | None
    next_step: str
    next_fraction: float | None

    def _repr_html_(self) -> str:
        return page.of_occupancy(self)


@dataclasses.dataclass(frozen=True)
class _Use:
    """What one work-group asks for: sizes in work-items, local memory in bytes, registers of 32 bits per work-item."""

    size: int
    sub_group_size: int
    slm_bytes: int
    registers: int | None
    barriers: bool

    @property
    def threads(self) -> int:
        return -(-self.size // self.sub_group_size)


@public.function
def occupancy(
    device: str | Device,
    local_size: int | Sequence[int],
    slm_bytes: int = 0,
    registers: int | None = None,
    sub_group_size: int | None = None,
    barriers: bool = True,
    *,
    groups: int | None = None,
) -> Occupancy:
    """The occupancy of work-groups of one kernel, by the rule of Intel's GPU Occupancy Calculator.

    Args:
      device: a name or a device.
      local_size: work-items of a work-group, per dimension.
      slm_bytes: local memory of a work-group.
      registers: 32-bit registers that the compiled kernel takes for each work-item, spills excluded. A thread has room
        for `grf_bytes_per_thread / (4 * sub_group_size)`, which is 64 on a Max 1550 at 32 lanes; more than that needs
        the large-GRF mode, which halves the threads. On the H200 it is what the compiler reports per thread. `None`:
        what a full complement of threads leaves.
      sub_group_size: default: the device's.
      barriers: true if the kernel has barriers, which are fewer than the slots of groups without.
      groups: work-groups of the launch, for `average`, `peak` and `waves`.

    Raises:
      NDRangeError: the local size is not one, or larger than the device allows, or an Xe core has not the registers for
        a work-group of it.
      KernelNotSupportedError: the device lacks the sub-group size.
      MemoryAllocationError: there is more local memory than a work-group may have.
      KernelArgumentError: another argument is not a whole number in its range, or `barriers` no bool.
    """
    gpu = find_device(device)
    slm_bytes = _whole("slm_bytes", slm_bytes, least=0)
    groups = None if groups is None else _whole("groups", groups, least=1)
    if not isinstance(barriers, bool):
        raise KernelArgumentError(f"barriers is {barriers!r}; give True if the kernel has barriers, else False")
    size = _size(gpu, local_size)
    lanes = limits.sub_group_size(gpu, sub_group_size)
    limits.check_memory(slm_bytes, 0, gpu)
    return _of_use(gpu, _Use(size, lanes, slm_bytes, _checked_registers(gpu, registers, lanes), barriers), groups)


def _of_use(gpu: Device, use: _Use, groups: int | None) -> Occupancy:
    constraints = _constraints(gpu, use)
    if constraints.get("registers") == 0:
        raise _too_many_registers(gpu, use)
    limiter = min(constraints, key=constraints.__getitem__) if "threads" in constraints else None
    fraction = _fraction(gpu, use)
    waves = _waves(gpu, constraints[limiter], groups) if limiter else None
    next_step, next_fraction = _next_step(gpu, use, limiter, fraction, waves)
    return Occupancy(
        fraction=fraction,
        average=fraction if fraction is None or waves is None else fraction * waves / math.ceil(waves),
        peak=fraction if fraction is None or waves is None else fraction * min(1.0, waves),
        groups=constraints[limiter] if limiter else None,
        limiter=limiter,
        constraints=constraints,
        threads_per_group=use.threads,
        sub_group_size=use.sub_group_size,
        slm_bytes=_slm(gpu, use.slm_bytes),
        waves=waves,
        next_step=next_step,
        next_fraction=next_fraction,
    )


# --- Arguments ---


def _whole(name: str, value: int, least: int) -> int:
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise KernelArgumentError(f"{name} is {value!r}; give a whole number from {least}")
    return number


def _size(gpu: Device, local_size: int | Sequence[int]) -> int:
    nd_range = NDRange(local_size, local_size)
    limits.check_sizes(nd_range, gpu)
    return nd_range.size


def _checked_registers(gpu: Device, registers: int | None, lanes: int) -> int | None:
    if registers is None:
        return None
    registers, most = _whole("registers", registers, least=1), _most_registers(gpu, lanes)
    if most is not None and registers > most:
        raise KernelArgumentError(
            f"registers is {registers}; at the sub-group size {lanes} a work-item of {gpu.name} has {most} 32-bit "
            f"registers at most, and the rest would be spilled. Give at most {most}"
        )
    return registers


def _most_registers(gpu: Device, lanes: int) -> int | None:
    if gpu.max_registers_per_work_item is not None or gpu.grf_bytes_per_thread is None:
        return gpu.max_registers_per_work_item
    return gpu.grf_bytes_per_thread * (gpu.large_grf_factor or 1) // (4 * lanes)


def most_registers(gpu: Device, size: int, lanes: int) -> int | None:
    """The most 32-bit registers of a work-item that an Xe core has for a work-group; None if that is not known."""
    most = _most_registers(gpu, lanes)
    counts = range(1, (most or 0) + 1)
    if not counts or _by_registers(gpu, _Use(size, lanes, 0, 1, False)) is None:
        return None
    return bisect.bisect_left(counts, True, key=lambda n: _by_registers(gpu, _Use(size, lanes, 0, n, False)) == 0)


def _too_many_registers(gpu: Device, use: _Use) -> NDRangeError:
    fewer = most_registers(gpu, use.size, use.sub_group_size)
    sizes = range(1, use.size)
    largest = bisect.bisect_left(sizes, True, key=lambda n: _by_registers(gpu, dataclasses.replace(use, size=n)) == 0)
    return NDRangeError(
        f"Exceeded the number of registers available on the hardware: {use.registers} registers per work-item for "
        f"{use.size} work-items are more than an Xe core of {gpu.name} has. Launch work-groups of at most {largest} "
        f"work-items, or use at most {counted(fewer or 0, 'register')}"
    )


# --- The rule ---


def _constraints(gpu: Device, use: _Use) -> dict[str, int]:
    """The work-groups that each known constraint allows on an Xe core, in the order in which ties are decided."""
    allowed: dict[str, int | None] = {
        "threads": gpu.threads_per_core and gpu.threads_per_core // use.threads,
        "registers": _by_registers(gpu, use),
        "slm": _by_slm(gpu, use),
    }
    if use.barriers and gpu.barrier_registers_per_core is not None:
        allowed["barriers"] = gpu.barrier_registers_per_core
    else:
        allowed["work_groups"] = gpu.max_work_groups_per_core
    return {name: groups for name, groups in allowed.items() if groups is not None}


def _by_registers(gpu: Device, use: _Use) -> int | None:
    if use.registers is None or gpu.grf_bytes_per_thread is None:
        return None
    if gpu.threads_per_engine is None or gpu.vector_engines_per_core is None:
        return None
    thread_bytes = _register_bytes(gpu, gpu.grf_bytes_per_thread, 4 * use.registers * use.sub_group_size)
    # The file of an engine is its own: what one engine has left over is of no use to a thread of another.
    engine_threads = gpu.threads_per_engine * gpu.grf_bytes_per_thread // thread_bytes
    return gpu.vector_engines_per_core * min(engine_threads, gpu.threads_per_engine) // use.threads


def _register_bytes(gpu: Device, small: int, needed: int) -> int:
    """What a thread takes of the register file: as it needs, in granules, or in one of the two GRF modes."""
    if gpu.grf_granule_bytes is not None:
        return -(-needed // gpu.grf_granule_bytes) * gpu.grf_granule_bytes
    return small if needed <= small else small * (gpu.large_grf_factor or 1)


def _by_slm(gpu: Device, use: _Use) -> int | None:
    bytes_ = _slm(gpu, use.slm_bytes)
    return gpu.slm_bytes_per_core // bytes_ if bytes_ and gpu.slm_bytes_per_core is not None else None


def _slm(gpu: Device, bytes_: int) -> int:
    """The local memory of a work-group as the device allocates it."""
    if bytes_ and gpu.slm_sizes_bytes is not None:
        bytes_ = next((size for size in gpu.slm_sizes_bytes if size >= bytes_), bytes_)
    bytes_ += gpu.slm_reserved_bytes_per_group or 0
    granule = gpu.slm_granule_bytes or 1
    return -(-bytes_ // granule) * granule


def _fraction(gpu: Device, use: _Use) -> float | None:
    constraints = _constraints(gpu, use)
    if "threads" not in constraints or gpu.threads_per_core is None:
        return None
    return use.threads * min(constraints.values()) / gpu.threads_per_core


def _waves(gpu: Device, resident: int, groups: int | None) -> float | None:
    if groups is None or gpu.xe_cores is None or resident == 0:
        return None
    return groups / (gpu.xe_cores * resident)


# --- The next step ---


def _next_step(
    gpu: Device, use: _Use, limiter: str | None, fraction: float | None, waves: float | None
) -> tuple[str, float | None]:
    """The smallest change that raises the occupancy, as a sentence, and to what."""
    if limiter is None or fraction is None:
        return f"The threads of {gpu.name} are not known", None
    if fraction == 1 and waves is not None and waves < 1:
        return f"Launch more work-groups: these take {_percent(waves)} of the threads of {gpu.name}", None
    if fraction == 1:
        return "All threads are in use", None
    for changed, what in _changes(gpu, use, limiter):
        raised = _fraction(gpu, changed)
        if raised is not None and raised > fraction:
            groups = min(_constraints(gpu, changed).values())
            return f"{what}: {counted(groups, 'work-group')} per Xe core, occupancy {_percent(raised)}", raised
    binding = [name for name, groups in _constraints(gpu, use).items() if groups == _constraints(gpu, use)[limiter]]
    return f"No single change raises it; what binds is {' and '.join(binding)}", None


def _changes(gpu: Device, use: _Use, limiter: str) -> Iterator[tuple[_Use, str]]:
    """Single changes, those of the limiter first, each kind from the smallest on."""
    kinds = {"slm": _less_slm, "registers": _fewer_registers, "barriers": _no_barriers, "threads": _other_sizes}
    order = sorted(kinds, key=lambda name: name != limiter)
    for name in order:
        yield from kinds[name](gpu, use)


def _less_slm(gpu: Device, use: _Use) -> Iterator[tuple[_Use, str]]:
    if gpu.slm_bytes_per_core is None or not use.slm_bytes:
        return
    for groups in range(gpu.slm_bytes_per_core // _slm(gpu, use.slm_bytes) + 1, (gpu.threads_per_core or 0) + 1):
        bytes_ = _largest_slm(gpu, gpu.slm_bytes_per_core // groups)
        if bytes_ < use.slm_bytes:
            what = f"Allocate {bytes_} bytes of local memory instead of {use.slm_bytes}"
            yield dataclasses.replace(use, slm_bytes=bytes_), what


def _largest_slm(gpu: Device, share: int) -> int:
    """The most that a work-group may allocate for its rounded local memory to fit the share."""
    if gpu.slm_sizes_bytes is not None:
        share = max((size for size in gpu.slm_sizes_bytes if size <= share), default=0)
    granule = gpu.slm_granule_bytes or 1
    return max(0, share // granule * granule - (gpu.slm_reserved_bytes_per_group or 0))


def _fewer_registers(gpu: Device, use: _Use) -> Iterator[tuple[_Use, str]]:
    for registers in range((use.registers or 1) - 1, 0, -1):
        what = f"Use {counted(registers, 'register')} per work-item instead of {use.registers}"
        yield dataclasses.replace(use, registers=registers), what


def _no_barriers(gpu: Device, use: _Use) -> Iterator[tuple[_Use, str]]:
    if use.barriers:
        yield dataclasses.replace(use, barriers=False), "Do without barriers"


def _other_sizes(gpu: Device, use: _Use) -> Iterator[tuple[_Use, str]]:
    """The work-groups of whole sub-groups, the nearest first, of two the larger."""
    sizes = range(use.sub_group_size, gpu.max_work_group_size + 1, use.sub_group_size)
    for size in sorted(sizes, key=lambda size: (abs(size - use.size), -size)):
        yield (
            dataclasses.replace(use, size=size),
            f"Make the work-groups {counted(size, 'work-item')} instead of {use.size}",
        )


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"

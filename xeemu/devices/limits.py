"""What a device refuses before a launch: SYCL's launch-time checks, and the runtime's where SYCL is silent."""

import math
import os
from collections.abc import Mapping, Sequence

from xeemu.devices.device import Device
from xeemu.devices.lookup import devices
from xeemu.errors import KernelNotSupportedError, MemoryAllocationError, NDRangeError
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.linearity import Allocation
from xeemu.language.ndrange import NDRange
from xeemu.plurals import counted

_MOST_LISTED = 8


def check_sizes(
    nd_range: NDRange,
    device: Device,
    required_work_group_size: int | Sequence[int] | None = None,
    required_sub_group_size: int | None = None,
    dialect: Dialect = PYTHON,
) -> None:
    """Checks the sizes of a launch against each other, the kernel and the device.

    A plain range takes the kernel's required work-group size as its local size; it is legal if it divides the range.

    Args:
      nd_range: the launch.
      device: the modelled device.
      required_work_group_size: work-items per dimension that the kernel requires, as `reqd_work_group_size`.
      required_sub_group_size: as `reqd_sub_group_size`.
      dialect: the language of advice.

    Raises:
      KernelNotSupportedError: the device lacks a required size.
      NDRangeError: the local size differs from the required one, the work-group is too large for the device, or a
        dimension of the global size is not a multiple of the local size.
    """
    sub_group_size(device, required_sub_group_size, dialect)
    local = nd_range.local_size
    if required_work_group_size is not None:
        required = _as_tuple(required_work_group_size)
        _check_offered(required, device, dialect)
        _check_required(required, nd_range, dialect)
        local = required
    if local is not None:
        _check_not_too_large(local, device)
        _check_divides(local, nd_range, dialect)


def check_memory(
    local_bytes: int,
    private_bytes_per_work_item: int,
    device: Device,
    environ: Mapping[str, str] = os.environ,
    allocations: Sequence[Allocation] = (),
    dialect: Dialect = PYTHON,
) -> None:
    """Checks the memory of a work-group against the device, as `environ` sets it (see `Device.in_environment`).

    Args:
      local_bytes: local memory (SLM) of one work-group.
      private_bytes_per_work_item: private memory of one work-item; checked only where the device limits it.
      device: the modelled device.
      environ: the environment variables.
      allocations: what the bytes are for, if that is known; the message lists them.
      dialect: the language of advice.

    Raises:
      MemoryAllocationError: there is more of either than the device has.
      KernelArgumentError: an environment variable is not a size.
    """
    limits = device.in_environment(environ)
    if local_bytes > limits.local_mem_size:
        raise MemoryAllocationError(
            f"Size of SLM ({local_bytes}) larger than available ({limits.local_mem_size}): one work-group allocates "
            f"{local_bytes} bytes of local memory, {device.name} has {limits.local_mem_size}. Allocate less with "
            f"{dialect.local}, or launch smaller work-groups if it grows with them (Device.largest_work_group gives "
            "the size)" + _or_set(device.local_mem_variable, local_bytes) + _allocated("local", allocations)
        )
    available = limits.private_mem_size
    if available is not None and private_bytes_per_work_item > available:
        raise MemoryAllocationError(
            f"Size of private memory ({private_bytes_per_work_item}) larger than available ({available}): one "
            f"work-item allocates {private_bytes_per_work_item} bytes of private memory, {device.name} has {available}."
            f" Allocate less with {dialect.private}, or use local or global memory"
            + _or_set(device.private_mem_variable, private_bytes_per_work_item)
            + _allocated("private", allocations)
        )


def sub_group_size(device: Device, required: int | None = None, dialect: Dialect = PYTHON) -> int:
    """The sub-group size of a launch: the kernel's required one, else the device's default.

    Raises:
      KernelNotSupportedError: the device does not offer the required size.
    """
    if required is None:
        return device.default_sub_group_size
    if required not in device.sub_group_sizes:
        others = [other.name for other in devices() if required in other.sub_group_sizes]
        elsewhere = f", or launch on a device that offers {required}: {', '.join(others)}" if others else ""
        raise KernelNotSupportedError(
            f"the kernel requires the sub-group size {required}; {device.name} offers "
            f"{_listed(device.sub_group_sizes)}. Write one of these as sub_group_size in {dialect.attribute}{elsewhere}"
        )
    return required


def _check_offered(required: tuple[int, ...], device: Device, dialect: Dialect) -> None:
    size = math.prod(required)
    if min(required) < 1 or size > device.max_work_group_size:
        raise KernelNotSupportedError(
            f"the kernel requires the work-group size {_shown(required)}, {counted(size, 'work-item')}; {device.name} "
            f"offers 1 to {device.max_work_group_size}. Write a work_group_size within that in {dialect.attribute}"
        )


def _check_required(required: tuple[int, ...], nd_range: NDRange, dialect: Dialect) -> None:
    local = nd_range.local_size
    if len(required) != nd_range.dimensions:
        raise NDRangeError(
            f"the kernel requires the work-group size {_shown(required)}, of dimension {len(required)}; the global "
            f"size {_shown(nd_range.global_size)} is of dimension {nd_range.dimensions}. Write both with the same one"
            + ("." + dialect.sizes if dialect.sizes else "")
        )
    if local is not None and local != required:
        raise NDRangeError(
            f"the local size {_shown(local)} differs from the work-group size {_shown(required)} that the kernel "
            f"requires; write NDRange({_shown(nd_range.global_size)}, {_shown(required)}), or change work_group_size "
            f"in {dialect.attribute}{_note(local, dialect)}"
        )


def _check_not_too_large(local: tuple[int, ...], device: Device) -> None:
    size = math.prod(local)
    if size > device.max_work_group_size:
        raise NDRangeError(
            f"the local size {_shown(local)} makes a work-group of {size} work-items. Total number of work-items in a "
            f"work-group cannot exceed {device.max_work_group_size} on {device.name}; write a smaller local size"
        )


def _check_divides(local: tuple[int, ...], nd_range: NDRange, dialect: Dialect) -> None:
    global_, what = nd_range.global_size, "local size" if nd_range.local_size else "required work-group size"
    uneven = [d for d, (size, step) in enumerate(zip(global_, local, strict=True)) if size % step]
    if not uneven:
        return
    splits = "; ".join(
        f"in dimension {d}, {global_[d]} = {global_[d] // local[d]} x {local[d]} + {global_[d] % local[d]}"
        for d in uneven
    )
    padded = tuple(-(-size // step) * step for size, step in zip(global_, local, strict=True))
    d = uneven[0]
    beyond = dialect.beyond.format(d=d, k=len(global_) - 1 - d, size=global_[d])
    raise NDRangeError(
        f"the global size {_shown(global_)} is not divisible by the {what} {_shown(local)}: {splits}. Write the "
        f"global size {_shown(padded)} and mask the surplus work-items ({beyond}), or a {what} that "
        f"divides{_note(local, dialect)}"
    )


def _note(sizes: tuple[int, ...], dialect: Dialect) -> str:
    """What is said of the order of sizes that have several dimensions."""
    return "." + dialect.sizes if len(sizes) > 1 and dialect.sizes else ""


def _or_set(variable: str | None, bytes_: int) -> str:
    return f", or set the environment variable {variable}={-(-bytes_ // 1024)}KB" if variable else ""


def _allocated(space: str, allocations: Sequence[Allocation]) -> str:
    """The memories of a space, the largest first, each on a line of its own."""
    ours = sorted((a for a in allocations if a.space == space), key=lambda a: -a.nbytes)
    lines = [f"\n  {a.name}: {a.nbytes} bytes, {a.dtype}{list(a.shape)}, at {a.site}" for a in ours[:_MOST_LISTED]]
    more = len(ours) - len(lines)
    return "".join(lines) + (f"\n  and {more} more" if more else "")


def _as_tuple(sizes: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(sizes) if isinstance(sizes, Sequence) else (sizes,)


def _shown(sizes: tuple[int, ...]) -> str:
    """The sizes as a user writes them: a one-dimensional one is a plain number."""
    return str(sizes[0]) if len(sizes) == 1 else str(sizes)


def _listed(items: tuple[int, ...]) -> str:
    *head, last = map(str, items)
    return f"{', '.join(head)} and {last}" if head else last

"""Pipes: how long an Xe core's instructions take on the lanes of their classes, and which rates are not known.

The classes of a pipe take turns on it; pipes work side by side. A class whose rate the device has no figure for is left
out and named: no class takes the rate of another.
"""

import dataclasses
from collections.abc import Mapping

from xeemu.cost import amounts
from xeemu.devices.device import Device

PIPES: tuple[Mapping[str, str], ...] = (
    {
        "f32": "fp32_flops_per_cycle",
        "f16": "fp16_lanes_per_cycle",
        "f32twice": "fp32_repeated_lanes_per_cycle",
        "f16twice": "fp16_repeated_lanes_per_cycle",
    },
    {"f64": "fp64_lanes_per_cycle"},
    {
        "i32": "int32_lanes_per_cycle",
        "i32mul": "int32_multiply_lanes_per_cycle",
        "i64mul": "int64_multiply_lanes_per_cycle",
    },
    {"special": "special_lanes_per_cycle"},
    {"shuffle": "shuffle_lanes_per_cycle"},
)
"""The classes of each pipe, and the figure that says how many work-items start one in a cycle of an Xe core."""

# Classes that only take their slot of the issue. An address is computed on whichever pipe has room: NVIDIA's compiler
# divides additions between that of integers and that of multiply-adds.
_WITHOUT_LANES = ("memory", "address", "barrier", "fence", "control")

# Multiply-adds that read a register twice, which are as others where the device has no figure for them.
ONCE: Mapping[str, str] = {"f32twice": "f32", "f16twice": "f16"}

CLASSES: tuple[str, ...] = (*(name for pipe in PIPES for name in pipe), *_WITHOUT_LANES)
"""The classes of instructions."""

_LATENCIES = {
    "f64": "fp64_latency_cycles",
    "special": "special_latency_cycles",
    "shuffle": "shuffle_latency_cycles",
}


@dataclasses.dataclass(frozen=True)
class PipeTime:
    """What a launch's instructions take of the pipe that is busy for longest.

    Attributes:
      cycles: of an Xe core, for the instructions whose rate is known.
      unknown: the classes that the launch has instructions of and the device no rate for.
    """

    cycles: float
    unknown: tuple[str, ...]


def named(instructions: Mapping[str, float | None], device: Device) -> dict[str, float | None]:
    """Some instructions by the classes that a device tells apart; None stands for a number that is not known."""
    found: dict[str, float | None] = {}
    for name, number in instructions.items():
        once = ONCE.get(name)
        told = once if once is not None and getattr(device, _figure(name)) is None else name
        found[told] = amounts.total((found.get(told, 0), number))
    return found


def busiest(instructions: Mapping[str, float], sub_group_size: int, cores: float, device: Device) -> PipeTime:
    """The time of the busiest pipe.

    Args:
      instructions: executed by sub-groups, by class.
      sub_group_size: work-items.
      cores: Xe cores that share them.
      device: the modelled device.
    """
    lanes = {name: _lanes(name, figure, device) for pipe in PIPES for name, figure in pipe.items()}
    unknown = tuple(name for name, rate in lanes.items() if rate is None and instructions.get(name))
    per_pipe = (
        sum(instructions.get(name, 0) * sub_group_size / (cores * rate) for name in pipe if (rate := lanes[name]))
        for pipe in PIPES
    )
    return PipeTime(max(per_pipe), unknown)


def latency(name: str, device: Device) -> float:
    """How many times as long as for most the next instruction waits for one of a class; once without a figure."""
    longer = getattr(device, _LATENCIES[name]) if name in _LATENCIES else None
    return 1.0 if longer is None or device.alu_latency_cycles is None else longer / device.alu_latency_cycles


def _figure(name: str) -> str:
    return next(pipe[name] for pipe in PIPES if name in pipe)


def _lanes(name: str, figure: str, device: Device) -> float | None:
    rate: float | None = getattr(device, figure)
    if rate is None and name in ONCE:
        return _lanes(ONCE[name], _figure(ONCE[name]), device)
    if name != "f32":
        return rate
    return None if rate is None or device.xe_cores is None else rate / 2 / device.xe_cores

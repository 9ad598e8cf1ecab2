"""Request: what a launch was asked for beside its kernel and nd-range, checked."""

import dataclasses
import operator
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from xeemu.devices.device import Device
from xeemu.errors import KernelArgumentError
from xeemu.launching.arguments import checked_iterations
from xeemu.stepping import turns


@dataclasses.dataclass(frozen=True)
class Request:
    """What a launch was asked for, as arguments of `xe.launch`; equal ones are one function.

    Attributes:
      device: the modelled device.
      limits: the device as the environment limits it, if it does: a launch under other limits is another function, for
        JAX remembers what it has traced of one.
      memory_bytes, deterministic, donate, mesh, max_iterations: as given.
      schedule: the seed of the order in which work-items run, or None for lockstep.
    """

    device: Device
    limits: Device | None
    memory_bytes: int | None
    deterministic: bool
    donate: bool
    mesh: jax.sharding.Mesh | None
    schedule: turns.Seed | None
    max_iterations: int | None

    @property
    def options(self) -> Mapping[str, Any]:
        """By the names of the arguments of `xe.launch`."""
        names = ("memory_bytes", "deterministic", "donate", "mesh", "schedule", "max_iterations")
        return {name: getattr(self, name) for name in names}


def checked(
    device: Device, memory_bytes: Any, deterministic: Any, donate: Any, mesh: Any, schedule: Any, max_iterations: Any
) -> Request:
    """What a launch for a device was asked for.

    Raises:
      KernelArgumentError: one of them is none, or two of them cannot be together.
    """
    if mesh is not None and not isinstance(mesh, jax.sharding.Mesh):
        raise KernelArgumentError(
            f"mesh is {mesh!r}; give a jax.sharding.Mesh, as by jax.make_mesh((len(jax.devices()),), ('groups',))"
        )
    limited = device.in_environment()
    asked = Request(
        device,
        None if limited is device else limited,
        None if memory_bytes is None else _bytes(memory_bytes),
        _flag("deterministic", deterministic),
        _flag("donate", donate),
        mesh,
        None if schedule is None else turns.seed(schedule),
        checked_iterations(max_iterations),
    )
    if asked.schedule is not None and (mesh is not None or asked.deterministic):
        other = "deterministic=True" if asked.deterministic else "a mesh"
        raise KernelArgumentError(f"a launch with a schedule runs in an order of its own; leave out {other}")
    return asked


def _bytes(value: Any) -> int:
    try:
        number = 0 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise KernelArgumentError(
            f"memory_bytes={value!r}; give a positive whole number of bytes such as 1 << 20, or None for the default"
        )
    return number


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise KernelArgumentError(f"{name}={value!r}; give True or False")
    return bool(value)

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
      seed: of the order in which work-items run, or None for lockstep.
    """

    device: Device
    limits: Device | None
    memory_bytes: int | None
    deterministic: bool
    donate: bool
    mesh: jax.sharding.Mesh | None
    seed: turns.Seed | None
    max_iterations: int | None

    @property
    def options(self) -> Mapping[str, Any]:
        """By the names of the arguments of `xe.launch`."""
        names = ("memory_bytes", "deterministic", "donate", "mesh")
        bounds = {"schedule": self.seed, "max_iterations": self.max_iterations}
        return {**{name: getattr(self, name) for name in names}, **bounds}


def limits(device: Device) -> Device | None:
    """A device as the environment limits it; None if it does not."""
    limited = device.in_environment()
    return None if limited is device else limited


def checked_options(
    memory_bytes: Any, deterministic: Any, donate: Any, mesh: Any, schedule: Any, max_iterations: Any
) -> dict[str, Any]:
    """What a launch was asked for but for its device, by the names of `Request`.

    Raises:
      KernelArgumentError: one of them is none, or two of them cannot be together.
    """
    if mesh is not None and not isinstance(mesh, jax.sharding.Mesh):
        raise KernelArgumentError(
            f"mesh is {mesh!r}; give a jax.sharding.Mesh, as by jax.make_mesh((len(jax.devices()),), ('groups',))"
        )
    options = {
        "memory_bytes": None if memory_bytes is None else _bytes(memory_bytes),
        "deterministic": _flag("deterministic", deterministic),
        "donate": _flag("donate", donate),
        "mesh": mesh,
        "seed": None if schedule is None else turns.seed(schedule),
        "max_iterations": checked_iterations(max_iterations),
    }
    if options["seed"] is not None and (mesh is not None or options["deterministic"]):
        other = "deterministic=True" if options["deterministic"] else "a mesh"
        raise KernelArgumentError(f"a launch with a schedule runs in an order of its own; leave out {other}")
    return options


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

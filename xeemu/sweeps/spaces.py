"""Spaces: what a sweep varies: by name the choices of each part of a launch, or a function that gives it."""

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language.kernel import Kernel
from xeemu.launching.arguments import DEFAULT_DEVICE
from xeemu.sweeps.ranking import LAUNCH

_SCALARS = ("sub_group_size", "grf_size")  # sizes of which a tuple is a sequence of choices


def checked(kernel: Kernel, space: Any, device: str | Device) -> dict[str, Any]:
    """For each name of a space its choices as a tuple, or its function.

    Args:
      kernel: that is swept.
      space: as the user gave it.
      device: the modelled device of the sweep, where the space names none.

    Raises:
      KernelArgumentError: it is no space of the kernel.
    """
    if not isinstance(space, Mapping):
        raise KernelArgumentError(
            f"a space is a mapping such as {{'global_size': 4096, 'local_size': [64, 128]}}, but got {space!r}"
        )
    static = list(kernel.static_defaults)
    if taken := [name for name in static if name in LAUNCH]:
        raise KernelArgumentError(
            f"kernel {kernel.name} has a static parameter {taken[0]}, a name that the launch takes in a configuration; "
            "rename it"
        )
    for name in space:
        _check_name(kernel, name, static)
    if "global_size" not in space:
        raise KernelArgumentError(
            "the space has no global_size; give the work-items of the launch, or a function of the configuration such "
            "as lambda c: 1024 * c['local_size']"
        )
    if "device" in space and device != DEFAULT_DEVICE:
        raise KernelArgumentError("the device is given twice, as device= and in the space; leave out one of them")
    choices = {name: _choices(name, value) for name, value in space.items()}
    _check_dimensions(space.get("local_size"), choices["global_size"])
    return choices


def _check_dimensions(local_size: Any, global_sizes: Any) -> None:
    """Refuses a local size of several dimensions that is written as choices of one dimension."""
    several = not callable(global_sizes) and all(isinstance(size, tuple) and len(size) > 1 for size in global_sizes)
    if several and _is_one_size(local_size):
        raise KernelArgumentError(
            f"local_size is {local_size} in a space, which is {len(local_size)} choices of one dimension, but the "
            f"global size has {len(global_sizes[0])}; write [{local_size}] for one choice"
        )


def _check_name(kernel: Kernel, name: Any, static: Sequence[str]) -> None:
    if name in kernel.parameters:
        raise KernelArgumentError(
            f"kernel {kernel.name} takes {name} by position, not in a space; where it depends on the configuration, "
            "give a function of that in its place"
        )
    if name not in LAUNCH and name not in static:
        names = [*LAUNCH, *static]
        raise KernelArgumentError(
            f"the space has {name!r}, which is no part of a launch of {kernel.name}{did_you_mean(str(name), names)}; "
            f"the parts are {', '.join(names)}"
        )


def _choices(name: str, value: Any) -> Any:
    if callable(value) and name != "device":
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    several = isinstance(value, Sequence | Iterator) and not isinstance(value, str | bytes)
    if name == "global_size" and _is_one_size(value):
        several = False
    choices = tuple(choice(name, each) for each in (value if several else (value,)))
    if not choices:
        raise KernelArgumentError(f"the space has no choice for {name}; give one or more, or leave {name} out")
    if name == "device":
        _check_distinct(choices)
    return choices


def _is_one_size(value: Any) -> bool:
    """True if a value is a tuple of whole numbers."""
    return isinstance(value, tuple) and all(isinstance(extent, int | np.integer) for extent in value)


def called(name: str, function: Callable[[dict[str, Any]], Any], configuration: Mapping[str, Any]) -> Any:
    """What a function of the space gives for the other choices."""
    try:
        return function(dict(configuration))
    except Exception as error:
        known = ", ".join(f"{key}={getattr(value, 'name', value)}" for key, value in configuration.items())
        error.add_note(f"The function for {name} in the space of xe.tune was given {known}.")
        raise


def choice(name: str, value: Any) -> Any:
    """A choice in the form that a configuration has it: a device, an int or a tuple of ints, a static value.

    Raises:
      KernelArgumentError: it is none for that name.
    """
    if name == "device":
        return find_device(value)
    if name not in LAUNCH or (value is None and name in ("local_size", "sub_group_size", "grf_size")):
        return value
    try:
        if isinstance(value, Sequence) and name not in _SCALARS:
            return tuple(operator.index(extent) for extent in value)
        return operator.index(value)
    except TypeError:
        tuples = "" if name in _SCALARS else " or tuples of them, such as [(16, 16), (8, 32)]"
        raise KernelArgumentError(f"{name} is {value!r} in a space; give ints such as [16, 32]{tuples}") from None


def _check_distinct(devices: Sequence[Device]) -> None:
    names = [device.name for device in dict.fromkeys(devices)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise KernelArgumentError(
            f"different devices of the space are called {twice[0]}; give them names of their own: "
            f"dataclasses.replace(device, name='{twice[0]}_2')"
        )

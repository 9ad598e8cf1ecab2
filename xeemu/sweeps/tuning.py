"""tune: the configurations of a launch by their predicted time."""

import contextlib
import dataclasses
import inspect
import itertools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import jax

from xeemu.cost import sampling
from xeemu.cost.costing import estimate, profile
from xeemu.cost.report import Report
from xeemu.devices.device import Device
from xeemu.errors import Error, KernelArgumentError, KernelNotSupportedError
from xeemu.language import public, source
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching.arguments import (
    DEFAULT_DEVICE,
    SHAPED,
    ArgumentType,
    checked_arguments,
    checked_device,
    outside_jit,
    scalars,
)
from xeemu.launching.staged import Staged
from xeemu.sweeps import digests, spaces
from xeemu.sweeps.progress import phase
from xeemu.sweeps.ranking import ALWAYS, LAUNCH, Row, Table
from xeemu.sweeps.savefile import SaveFile

_BAR_WIDTH = 20


@public.function
def tune(
    kernel: Kernel,
    space: Mapping[str, Any],
    *,
    device: str | Device = DEFAULT_DEVICE,
    sample: int | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Staged[Table]:
    """A kernel over a space of configurations as a function that gives their predicted times.

    Args:
      kernel: what `@xe.kernel` made. Sizes that it requires hold: other choices are invalid.
      space: by name, a sequence of choices, a single one, or (but for `device`) a function of the configuration: it
        takes a dict of all that was chosen and of the functions' values before it, and gives a value. The names are
        `global_size`, which must be there; `local_size`, by default the required one, else a plain range;
        `sub_group_size`, None and by default the required one, else the device's; `grf_size`, 128 or 256 registers of a
        thread, by default as required; `device`, names or devices; and static parameters of the kernel. Sizes are ints
        or tuples of them, such as `[(8, 8), (4, 16)]`; a tuple of ints by itself is one global size, but choices of a
        local size.
      device: the modelled device where the space names none.
      sample: work-groups to count on what depends on data, as for `profile`; None: all.
      save: a file to write each row to as it comes, a JSON object in a line, and to take those from that it holds
        already of this very kernel, configuration and xeemu, so that an interrupted sweep goes on where it was.
      progress: true to show on a terminal how far the sweep is.

    Returns:
      A function `f(*arrays, **static)` that gives a `Table`. An argument that is a function is called with each
      configuration, for arguments that must fit it. Times follow from shapes where they can, so that a
      `jax.ShapeDtypeStruct` will do; else the launch is run, if arrays were given. A configuration that the launch or
      the kernel refuses, the latter by an `xe.Error`, `ValueError`, `ArithmeticError` or `AssertionError` of its own
      lines, is a row with the reason; whatever a function of the configuration raises but an `xe.Error` ends the sweep.

    Raises:
      KernelArgumentError: the space, the arguments or the file do not fit the kernel.
    """
    sweep = _Sweep(kernel, checked_device(kernel, NDRange(1), device), spaces.checked(kernel, space, device), sample)
    sampling.check_size(sample)

    def call(*arguments: Any, **static: Any) -> Table:
        taken, given = kernel.with_leaves(arguments)
        swept = dataclasses.replace(sweep, kernel=taken)
        placeholders = [0 if callable(argument) else argument for argument in given]
        outside_jit("xe.tune", checked_arguments(taken, placeholders, SHAPED))
        swept.check_static(static)
        if save is None:
            return swept.table(given, static, None, progress)
        with SaveFile(save, kernel.name) as file:
            return swept.table(given, static, file, progress)

    return Staged("tune", kernel, None, sweep.device, call, {"space": dict(space), "sample": sample, "save": save})


@dataclasses.dataclass(frozen=True)
class _Sweep:
    """A kernel with its checked space: for each name a tuple of choices, or a function of the configuration."""

    kernel: Kernel
    device: Device
    space: Mapping[str, Any]
    sample: int | None

    @property
    def choices(self) -> dict[str, tuple[Any, ...]]:
        return {name: value for name, value in self.space.items() if not callable(value)}

    def check_static(self, static: Mapping[str, Any]) -> None:
        """Checks that all static parameters are known, once each, and that their choices are hashable."""
        if twice := [name for name in static if name in self.space]:
            raise KernelArgumentError(f"{', '.join(twice)} is given twice, by keyword and in the space; leave out one")
        swept = {name: value for name, value in self.space.items() if name not in LAUNCH}
        first = {name: 0 if callable(value) else value[0] for name, value in swept.items()}
        self.kernel.bind_static({**static, **first})
        for name in swept.keys() & self.choices.keys():
            for choice in swept[name]:
                self.kernel.bind_static({**static, **first, name: choice})

    def table(
        self, arguments: Sequence[Any], static: Mapping[str, Any], file: SaveFile | None, progress: bool
    ) -> Table:
        """The rows of all configurations; of equal ones, one."""
        bar = _Bar(f"tuning {self.kernel.name}", math.prod(map(len, self.choices.values())))
        given, rows = _Given(arguments), dict[Any, Row]()
        with phase(bar) if progress else contextlib.nullcontext():
            for chosen in itertools.product(*self.choices.values()):
                key, row = self._row(dict(zip(self.choices, chosen, strict=True)), given, static, file)
                rows.setdefault(key, row)
                bar.done += 1
        return Table(self.kernel.name, rows.values())

    def _row(
        self, chosen: Mapping[str, Any], given: "_Given", static: Mapping[str, Any], file: SaveFile | None
    ) -> tuple[Any, Row]:
        """The key of a configuration, and its row."""
        configuration = self._chosen(chosen, static)
        try:
            configuration = self._completed(configuration)
            arguments = checked_arguments(self.kernel, given.fitting(configuration), SHAPED)
        except Error as error:
            return str(configuration), Row(self._ordered(configuration), reason=_told(error))
        configuration = self._ordered(configuration)
        key = self._key(configuration, arguments)
        saved = file and file.find(key, lambda: given.contents(arguments))
        if saved:
            figures: dict[str, Any] = {name: saved.get(name) for name in _SAVED}
            figures["missing"] = tuple(figures["missing"])
            return key, Row(configuration, **figures)
        row = self._costed(configuration, arguments)
        if file:
            contents = given.contents(arguments) if row.basis in ("run", "sample") else None
            file.add(key, contents, row.to_dict())
        return key, row

    def _chosen(self, chosen: Mapping[str, Any], static: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration but for the values of functions."""
        defaults = {
            name: default
            for name, default in self.kernel.static_defaults.items()
            if default is not inspect.Parameter.empty
        }
        launch = {"device": self.device, "local_size": self.kernel.work_group_size, "sub_group_size": None}
        configuration = {**launch, **defaults, **static, **chosen}
        if configuration["sub_group_size"] is None:
            configuration["sub_group_size"] = self._usual_sub_group(configuration["device"])
        return {name: value for name, value in configuration.items() if not callable(self.space.get(name))}

    def _completed(self, configuration: dict[str, Any]) -> dict[str, Any]:
        """A configuration with the values of functions."""
        completed = dict(configuration)
        for name, value in self.space.items():
            if callable(value):
                completed[name] = spaces.choice(name, spaces.called(name, value, completed))
        if "local_size" not in self.space:
            completed["local_size"] = self.kernel.required_size(NDRange(completed["global_size"]).dimensions)
        if completed["sub_group_size"] is None:
            completed["sub_group_size"] = self._usual_sub_group(completed["device"])
        return completed

    def _ordered(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """The parts that the space names first; what a failed function left out is None."""
        return {name: configuration.get(name) for name in dict.fromkeys([*self.space, *ALWAYS, *configuration])}

    def _usual_sub_group(self, device: Device) -> int:
        return self.kernel.sub_group_size or device.default_sub_group_size

    def _key(self, configuration: Mapping[str, Any], arguments: Sequence[Any]) -> str:
        device = configuration["device"].in_environment()
        figures = {**vars(device), "sources": None}
        shapes = list(map(_shape, arguments))
        parts = {**configuration, "device": figures, "shapes": shapes, "scalars": scalars(arguments)}
        return digests.digest(digests.of_package(), self.kernel, sorted(parts.items()), self.sample)

    def _costed(self, configuration: Mapping[str, Any], arguments: Sequence[Any]) -> Row:
        """The row of a configuration that is not saved."""
        try:
            return self._predicted(configuration, arguments)
        except Error as error:
            return Row(configuration, reason=_told(error))
        except (ValueError, ArithmeticError, AssertionError) as error:
            if not source.raised_by_user(error):
                raise
            return Row(configuration, reason=_told(error))

    def _predicted(self, configuration: Mapping[str, Any], arguments: Sequence[Any]) -> Row:
        row, device = Row(configuration), configuration["device"]
        kernel = self._with_sub_groups(configuration["sub_group_size"], device)
        kernel = self._with_registers(kernel, configuration.get("grf_size"))
        report = estimate(kernel, row.nd_range, device=device)(*arguments, **row.static)
        basis: Literal["shapes", "run", "sample"] = "shapes"
        if report.time_s is None and _would_tell(report, device, arguments):
            _, report = profile(kernel, row.nd_range, device=device, sample=self.sample)(*arguments, **row.static)
            basis = "run" if report.sampled_groups is None else "sample"
        return dataclasses.replace(row, basis=basis, **_figures(report))

    def _with_sub_groups(self, size: int, device: Device) -> Kernel:
        """The kernel with that sub-group size required, unless it holds anyway."""
        required = self.kernel.sub_group_size
        if required not in (None, size):
            raise KernelNotSupportedError(
                f"the kernel requires the sub-group size {required}, which {size} is not; leave sub_group_size out of "
                f"{self.kernel.dialect.attribute}, or out of the space"
            )
        usual = size == self._usual_sub_group(device)
        return self.kernel if usual else dataclasses.replace(self.kernel, sub_group_size=size)

    def _with_registers(self, kernel: Kernel, grf_size: int | None) -> Kernel:
        """A kernel with that register file required, if one is chosen."""
        if grf_size is None or grf_size == kernel.grf_size:
            return kernel
        if kernel.grf_size is not None:
            raise KernelNotSupportedError(
                f"the kernel requires grf_size {kernel.grf_size}, which {grf_size} is not; leave grf_size out of "
                f"{kernel.dialect.attribute}, or out of the space"
            )
        return dataclasses.replace(kernel, grf_size=grf_size)


class _Given:
    """The arguments of a sweep, those that are functions of the configuration among them."""

    def __init__(self, arguments: Sequence[Any]):
        self._arguments = arguments
        self._digests: dict[int, str] = {}

    def fitting(self, configuration: Mapping[str, Any]) -> list[Any]:
        """The arguments of a configuration."""
        return [a(dict(configuration)) if callable(a) else a for a in self._arguments]

    def contents(self, fitting: Sequence[Any]) -> str:
        """A digest of the contents of the arguments of a configuration; those of all are read once."""
        return digests.digest([self._digest(k, a) for k, a in enumerate(fitting)])

    def _digest(self, position: int, argument: Any) -> str:
        if isinstance(argument, jax.ShapeDtypeStruct):
            return ""
        if callable(self._arguments[position]):
            return digests.digest(argument)
        if position not in self._digests:
            self._digests[position] = digests.digest(argument)
        return self._digests[position]


def _shape(argument: Any) -> Any:
    """What a digest holds of an argument's form; of one that has no dtype its text."""
    if not hasattr(argument, "dtype") and not isinstance(argument, bool | int | float):
        return repr(argument)
    described = ArgumentType.of(argument)
    return described.shape, str(described.dtype), described.weak


def _would_tell(report: Report, device: Device, arguments: Sequence[Any]) -> bool:
    """True if a run may tell the time that an estimate leaves open."""
    uncounted = any(term.work is None for term in report.terms)
    arrays = not any(isinstance(argument, jax.ShapeDtypeStruct) for argument in arguments)
    return uncounted and arrays and device.clock_hz is not None


def _figures(report: Report) -> dict[str, Any]:
    least, most = report.between_s or (None, None)
    return {
        "time_s": report.time_s,
        "bound": report.bound,
        "occupancy": report.occupancy.fraction if report.occupancy else None,
        "mark": report.mark("time_s"),
        "missing": report.missing,
        "limit": report.limit,
        "least_s": least,
        "most_s": most,
    }


def _told(error: Exception) -> str:
    """The name of an error and its message."""
    return f"{error.code if isinstance(error, Error) else type(error).__name__}: {error}"


_SAVED = tuple(field.name for field in dataclasses.fields(Row) if field.name != "configuration")


class _Bar:
    """How far a sweep is; its text is a bar."""

    def __init__(self, what: str, total: int):
        self._what, self._total = what, total
        self.done = 0

    def __str__(self) -> str:
        filled = "#" * (_BAR_WIDTH * self.done // self._total)
        return f"{self._what}: [{filled:.<{_BAR_WIDTH}}] {self.done:>{len(str(self._total))}} of {self._total}"

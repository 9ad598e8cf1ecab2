"""tune: the configurations of a launch by their predicted time."""

import contextlib
import dataclasses
import html
import inspect
import itertools
import math
import operator
import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

import jax
import numpy as np

from xeemu import savefile, source
from xeemu.arguments import DEFAULT_DEVICE, SHAPED, Description, checked_arguments, checked_device, outside_jit, scalars
from xeemu.costing import estimate, profile
from xeemu.device import Device
from xeemu.device import device as find_device
from xeemu.errors import Error, KernelArgumentError, KernelNotSupportedError, did_you_mean
from xeemu.kernel import Kernel
from xeemu.ndrange import NDRange
from xeemu.progress import phase
from xeemu.report import Report
from xeemu.savefile import SaveFile

_WIDTH = 80
_BAR_WIDTH = 20
_REASONS = 10  # that are told in a text
_FIGURES = 35  # columns of the table that are left of the configuration
_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
_LAUNCH = ("device", "global_size", "local_size", "sub_group_size")


@dataclasses.dataclass(frozen=True)
class Row:
    """One configuration of a launch, and what it would cost.

    Attributes:
      configuration: `device` (an `xe.Device`), `global_size`, `local_size` (None for a plain range), `sub_group_size`,
        and every static parameter of the kernel; what the space names comes first. A kernel that requires no sub-group
        size is launched with one as `dataclasses.replace(kernel, sub_group_size=...)`.
      time_s: as in a `Report`: modelled, without the overhead of submitting the launch.
      bound: the binding resource.
      occupancy: hardware threads in use in the steady state, 0 to 1.
      mark: how the time is known: `~` modelled, `?` not known.
      reason: why the configuration is invalid, `code: message` of the error; None if it is not.
      basis: what the time rests on: the `shapes` alone, a `run`, or a run with a `sample` of the work-groups counted.
      missing: resources that the launch uses and for which the device has no figure: the time is then a lower bound.
    """

    configuration: Mapping[str, Any]
    time_s: float | None = None
    bound: str | None = None
    occupancy: float | None = None
    mark: str = "?"
    reason: str | None = None
    basis: Literal["shapes", "run", "sample"] | None = None
    missing: tuple[str, ...] = ()

    @property
    def nd_range(self) -> NDRange:
        """The nd-range of the launch."""
        return NDRange(self.configuration["global_size"], self.configuration["local_size"])

    @property
    def static(self) -> dict[str, Any]:
        """The static parameters of the launch, to be given by keyword."""
        return {name: value for name, value in self.configuration.items() if name not in _LAUNCH}

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data; a device is its name."""
        configuration = {name: _plain(value) for name, value in self.configuration.items()}
        return {**vars(self), "configuration": configuration, "missing": list(self.missing)}


class Table(tuple[Row, ...]):
    """The rows of a sweep: by predicted time, the best first; then those of unknown time; then the invalid ones.

    Among equals the order is that of the space, whose last key changes fastest. `str(table)` is a text in ASCII and 80
    columns.

    Attributes:
      kernel: name of the kernel's function.
    """

    kernel: str

    def __new__(cls, kernel: str, rows: Iterable[Row]) -> "Table":
        self = super().__new__(cls, sorted(rows, key=_rank))
        self.kernel = kernel
        return self

    @property
    def best(self) -> Row | None:
        """The row with the least time; None if no time is known."""
        return self[0] if self and self[0].time_s is not None else None

    @property
    def invalid(self) -> tuple[Row, ...]:
        """The rows that cannot be launched, each with its reason."""
        return tuple(row for row in self if row.reason is not None)

    def top(self, rows: int) -> "Table":
        """The first rows, as a table."""
        return Table(self.kernel, self[:rows])

    def to_dict(self) -> dict[str, Any]:
        """The same as plain dictionaries, lists, strings and numbers, ready for JSON."""
        return {"kernel": self.kernel, "rows": [row.to_dict() for row in self]}

    def __str__(self) -> str:
        varying = _varying(self)
        blocks = (_header(self, varying), _ranking(self, varying), _invalid(self, varying))
        text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
        return text.encode("ascii", "replace").decode("ascii")

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def tune(
    kernel: Kernel,
    space: Mapping[str, Any],
    device: str | Device = DEFAULT_DEVICE,
    sample: int | None = None,
    save: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> Callable[..., Table]:
    """A kernel over a space of configurations as a function that gives their predicted times.

    Args:
      kernel: what `@xe.kernel` made. Sizes that it requires hold: other choices are invalid.
      space: by name, a sequence of choices, a single one, or (but for `device`) a function of the configuration: it
        takes a dict of all that was chosen and of the functions' values before it, and gives a value. The names are
        `global_size`, which must be there; `local_size`, by default the required one, else a plain range;
        `sub_group_size`, None and by default the required one, else the device's; `device`, names or devices; and
        static parameters of the kernel. Sizes are ints or tuples of them, such as `[(8, 8), (4, 16)]`; a tuple of ints
        by itself is one global size, but choices of a local size.
      device: the modelled device where the space names none.
      sample: work-groups to count on what depends on data, as for `profile`; None: all.
      save: a file to write each row to as it comes, a JSON object in a line, and to take those from that it holds
        already of this very kernel, configuration and xeemu, so that an interrupted sweep goes on where it was.
      progress: whether to show on a terminal how far the sweep is.

    Returns:
      A function `f(*arrays, **static)` that gives a `Table`. An argument that is a function is called with each
      configuration, for arguments that must fit it. Times follow from shapes where they can, so that a
      `jax.ShapeDtypeStruct` will do; else the launch is run, if arrays were given. A configuration that the launch or
      the kernel refuses, the latter by an `xe.Error`, `ValueError`, `ArithmeticError` or `AssertionError` of its own
      lines, is a row with the reason; whatever a function of the configuration raises but an `xe.Error` ends the sweep.

    Raises:
      KernelArgumentError: the space, the arguments or the file do not fit the kernel.
    """
    sweep = _Sweep(kernel, checked_device(kernel, NDRange(1), device), _checked_space(kernel, space, device), sample)
    profile(kernel, NDRange(1), sweep.device, sample)  # refuses what is no sample

    def call(*arguments: Any, **static: Any) -> Table:
        placeholders = [0 if callable(argument) else argument for argument in arguments]
        outside_jit("xe.tune", checked_arguments(kernel, placeholders, SHAPED))
        sweep.check_static(static)
        if save is None:
            return sweep.table(arguments, static, None, progress)
        with SaveFile(save, kernel.name) as file:
            return sweep.table(arguments, static, file, progress)

    return call


# --- The space ---


def _checked_space(kernel: Kernel, space: Any, device: str | Device) -> dict[str, Any]:
    """For each name of the space its choices as a tuple, checked, or its function."""
    if not isinstance(space, Mapping):
        raise KernelArgumentError(
            f"a space is a mapping such as {{'global_size': 4096, 'local_size': [64, 128]}}, but got {space!r}"
        )
    static = _static_names(kernel)
    if taken := [name for name in static if name in _LAUNCH]:
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
    if several and isinstance(local_size, tuple) and all(isinstance(extent, int) for extent in local_size):
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
    if name not in _LAUNCH and name not in static:
        names = [*_LAUNCH, *static]
        raise KernelArgumentError(
            f"the space has {name!r}, which is no part of a launch of {kernel.name}{did_you_mean(str(name), names)}; "
            f"the parts are {', '.join(names)}"
        )


def _static_names(kernel: Kernel) -> list[str]:
    parameters = inspect.signature(kernel.function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind == parameter.KEYWORD_ONLY]


def _choices(name: str, value: Any) -> Any:
    if callable(value) and name != "device":
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist()
    several = isinstance(value, Sequence | Iterator) and not isinstance(value, str | bytes)
    if name == "global_size" and isinstance(value, tuple) and all(isinstance(extent, int) for extent in value):
        several = False
    choices = tuple(_choice(name, choice) for choice in (value if several else (value,)))
    if not choices:
        raise KernelArgumentError(f"the space has no choice for {name}; give one or more, or leave {name} out")
    if name == "device":
        _check_distinct(choices)
    return choices


def _choice(name: str, value: Any) -> Any:
    """A choice in the form that a configuration has it: a device, an int or a tuple of ints, a static value.

    Raises:
      KernelArgumentError: it is none for that name.
    """
    if name == "device":
        return find_device(value)
    if name not in _LAUNCH or (value is None and name in ("local_size", "sub_group_size")):
        return value
    try:
        if isinstance(value, Sequence) and name != "sub_group_size":
            return tuple(operator.index(extent) for extent in value)
        return operator.index(value)
    except TypeError:
        tuples = "" if name == "sub_group_size" else " or tuples of them, such as [(16, 16), (8, 32)]"
        raise KernelArgumentError(f"{name} is {value!r} in a space; give ints such as [16, 32]{tuples}") from None


def _check_distinct(devices: Sequence[Device]) -> None:
    names = [device.name for device in dict.fromkeys(devices)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise KernelArgumentError(
            f"different devices of the space are called {twice[0]}; give them names of their own: "
            f"dataclasses.replace(device, name='{twice[0]}_2')"
        )


# --- The sweep ---


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
        swept = {name: value for name, value in self.space.items() if name not in _LAUNCH}
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
        # What the line of progress shows is written anew each time, so that its text may change.
        with phase(cast(str, bar)) if progress else contextlib.nullcontext():
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
            figures = {name: saved[name] for name in _SAVED}
            return key, Row(configuration, **{**figures, "missing": tuple(figures["missing"])})
        row = self._costed(configuration, arguments)
        if file:
            contents = given.contents(arguments) if row.basis in ("run", "sample") else None
            file.add(key, contents, row.to_dict())
        return key, row

    def _chosen(self, chosen: Mapping[str, Any], static: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration but for the values of functions."""
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(self.kernel.function).parameters.items()
            if parameter.kind == parameter.KEYWORD_ONLY and parameter.default is not parameter.empty
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
                completed[name] = _choice(name, value(dict(completed)))
        if completed["sub_group_size"] is None:
            completed["sub_group_size"] = self._usual_sub_group(completed["device"])
        return completed

    def _ordered(self, configuration: Mapping[str, Any]) -> dict[str, Any]:
        """The parts that the space names first; what a failed function left out is None."""
        return {name: configuration.get(name) for name in dict.fromkeys([*self.space, *_LAUNCH, *configuration])}

    def _usual_sub_group(self, device: Device) -> int:
        return self.kernel.sub_group_size or device.default_sub_group_size

    def _key(self, configuration: Mapping[str, Any], arguments: Sequence[Any]) -> str:
        device = configuration["device"].in_environment()
        figures = {**vars(device), "sources": None}
        shapes = [(a.shape, str(a.dtype), a.weak) for a in map(Description.of, arguments)]
        parts = {**configuration, "device": figures, "shapes": shapes, "scalars": scalars(arguments)}
        return savefile.digest(savefile.of_package(), self.kernel, sorted(parts.items()), self.sample)

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
        report = estimate(kernel, row.nd_range, device)(*arguments, **row.static)
        basis: Literal["shapes", "run", "sample"] = "shapes"
        if report.time_s is None and _would_tell(report, device, arguments):
            _, report = profile(kernel, row.nd_range, device, self.sample)(*arguments, **row.static)
            basis = "run" if report.sampled_groups is None else "sample"
        return dataclasses.replace(row, basis=basis, **_figures(report))

    def _with_sub_groups(self, size: int, device: Device) -> Kernel:
        """The kernel with that sub-group size required, unless it holds anyway."""
        required = self.kernel.sub_group_size
        if required not in (None, size):
            raise KernelNotSupportedError(
                f"the kernel requires the sub-group size {required}, which {size} is not; leave sub_group_size out of "
                "@xe.kernel, or out of the space"
            )
        usual = size == self._usual_sub_group(device)
        return self.kernel if usual else dataclasses.replace(self.kernel, sub_group_size=size)


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
        return savefile.digest([self._digest(k, a) for k, a in enumerate(fitting)])

    def _digest(self, position: int, argument: Any) -> str:
        if isinstance(argument, jax.ShapeDtypeStruct):
            return ""
        if callable(self._arguments[position]):
            return savefile.digest(argument)
        if position not in self._digests:
            self._digests[position] = savefile.digest(argument)
        return self._digests[position]


def _would_tell(report: Report, device: Device, arguments: Sequence[Any]) -> bool:
    """Whether a run may tell the time that an estimate leaves open."""
    uncounted = any(term.work is None for term in report.terms)
    arrays = not any(isinstance(argument, jax.ShapeDtypeStruct) for argument in arguments)
    return uncounted and arrays and device.clock_hz is not None


def _figures(report: Report) -> dict[str, Any]:
    return {
        "time_s": report.time_s,
        "bound": report.bound,
        "occupancy": report.occupancy.fraction if report.occupancy else None,
        "mark": report.mark("time_s"),
        "missing": tuple(term.resource for term in report.terms if term.work and term.cycles is None),
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


# --- The text ---


def _rank(row: Row) -> tuple[int, float]:
    if row.reason is not None:
        return 2, 0.0
    return (1, 0.0) if row.time_s is None else (0, row.time_s)


def _varying(table: Table) -> list[str]:
    """The parts of the configuration that are not the same in all rows."""
    names = dict.fromkeys(name for row in table for name in row.configuration)
    return [name for name in names if len({_shown(row, name) for row in table}) > 1]


def _header(table: Table, varying: Sequence[str]) -> list[str]:
    counts = {
        "timed": sum(row.time_s is not None for row in table),
        "not known": sum(row.time_s is None and row.reason is None for row in table),
        "invalid": len(table.invalid),
    }
    shown = "".join(f", {count} {what}" for what, count in counts.items() if count)
    title = f"{_cut(table.kernel, 30)}: {len(table)} configuration{'s' * (len(table) != 1)}{shown}"
    same = [f"{name} {_shown(row, name)}" for row in table[:1] for name in row.configuration if name not in varying]
    return [title, *_pairs(same, _WIDTH)]


def _ranking(table: Table, varying: Sequence[str]) -> list[str]:
    rows = [row for row in table if row.reason is None]
    if not rows:
        return []
    unit = _unit(rows[0].time_s)
    head, *cells = _columns(rows, varying)
    lines = [f"{'':{_FIGURES}}{line}" for line in head[:-1]]
    lines.append(f"{f'time {unit}':>14}    {'bound':12}{'occ':>5}{head[-1]}")
    for number, (row, (first, *more)) in enumerate(zip(rows, cells, strict=True), 1):
        lines.append(f"{number:>4}{_time(row, unit)} {_cut(row.bound or '?', 12):12}{_percent(row.occupancy)}{first}")
        lines += [f"{'':{_FIGURES}}{line}" for line in more]
    return lines + _notes(rows)


def _columns(rows: Sequence[Row], names: Sequence[str]) -> list[list[str]]:
    """For the head and each row the lines of its configuration: columns where they fit, else names with values.

    In the head of a column the words of a name are one below the other.
    """
    words = [name.split("_") for name in names]
    height = max(map(len, words), default=1)
    head = list(zip(*([""] * (height - len(each)) + each for each in words), strict=True)) or [()]
    body = [tuple(_shown(row, name) for name in names) for row in rows]
    widths = [max(map(len, column)) for column in zip(*head, *body, strict=True)]
    if sum(widths) + 2 * len(widths) <= _WIDTH - _FIGURES:
        lines = ["".join(f"  {cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in head + body]
        return [lines[: len(head)], *([line] for line in lines[len(head) :])]
    pairs = (_pairs([f"{name} {_shown(row, name)}" for name in names], _WIDTH - _FIGURES - 2) for row in rows)
    return [["  configuration"], *([f"  {line}" for line in lines] for lines in pairs)]


def _time(row: Row, unit: str) -> str:
    """The time, from column 4 on; a sign before it for a lower bound, and its mark after it."""
    time = "?" if row.time_s is None else f"{'>' if row.missing else ''}{_number(row.time_s / _UNITS[unit])}"
    return f"{time:>10} {row.mark if row.time_s is not None else ' '}{'*' if row.basis != 'shapes' else ' '}"


def _notes(rows: Sequence[Row]) -> list[str]:
    """What the signs mean, of those that are there."""
    sampled = ", on a sample of the work-groups" * any(row.basis == "sample" for row in rows)
    missing: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.missing and row.time_s is not None:
            missing.setdefault(row.configuration["device"].name, {}).update(dict.fromkeys(row.missing))
    lacks = "; ".join(f"{device} has no figure for {', '.join(names)}" for device, names in missing.items())
    notes = {
        "~ modelled": any(row.time_s is not None for row in rows),
        f"* counted as the kernel ran{sampled}": any(row.basis != "shapes" for row in rows),
        f"> at least: {lacks}": bool(missing),
        "? not known: it depends on data where only shapes were given, or on a figure that the device lacks": any(
            row.time_s is None for row in rows
        ),
    }
    return _wrap("; ".join(note for note, there in notes.items() if there), "     ")


def _invalid(table: Table, varying: Sequence[str]) -> list[str]:
    """Each reason once, with what the configurations that have it have in common."""
    by_reason: dict[str, list[Row]] = {}
    for row in table.invalid:
        by_reason.setdefault(row.reason or "", []).append(row)
    lines = ["INVALID"] if by_reason else []
    for reason, rows in list(by_reason.items())[:_REASONS]:
        common = [name for name in varying if len({_shown(row, name) for row in rows}) == 1]
        count = f"{len(rows)} configuration{'s' * (len(rows) != 1)}"
        pairs = [count, *(f"{name} {_shown(rows[0], name)}" for name in common)]
        lines += [f"  {line}" for line in _pairs(pairs, _WIDTH - 2)] + _wrap(" ".join(reason.split()), "     ")
    if len(by_reason) > _REASONS:
        lines.append(f"  {len(by_reason) - _REASONS} reasons more")
    return lines


def _pairs(pairs: Sequence[str], width: int) -> list[str]:
    """Names with values in lines, three spaces between them and no pair on two lines."""
    lines: list[str] = []
    for pair in pairs:
        if lines and len(lines[-1]) + 3 + len(pair) <= width:
            lines[-1] += f"   {pair}"
        else:
            lines.append(_cut(pair, width))
    return lines


def _shown(row: Row, name: str) -> str:
    value = row.configuration.get(name)
    if value is None and name in _LAUNCH:
        return "plain" if name == "local_size" else "?"
    if isinstance(value, tuple) and name in _LAUNCH:
        return "x".join(map(str, value))
    return _cut(str(_plain(value)), 24)


def _unit(time_s: float | None) -> str:
    """The largest unit of which a time has one at least."""
    return next((unit for unit, size in _UNITS.items() if time_s is not None and time_s >= size), "ns")


def _number(value: float) -> str:
    """Three digits at least, and no more after the point than that takes; a power of ten from ten million on."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f}" if value < 1e7 else f"{value:.2e}"


def _percent(value: float | None) -> str:
    return f"{'?' if value is None else f'{100 * value:.0f}%':>5}"


def _wrap(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _plain(value: Any) -> Any:
    """A value of a configuration as JSON has it."""
    if isinstance(value, Device):
        return value.name
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return getattr(value, "__name__", str(value))

"""Ranking: configurations of a launch by their predicted time, as values and as a table."""

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any, Literal

import numpy as np

from xeemu.devices.device import Device
from xeemu.language import public
from xeemu.language.ndrange import NDRange
from xeemu.sweeps import page, text

ALWAYS = ("device", "global_size", "local_size", "sub_group_size")
"""The parts of every configuration."""

LAUNCH = (*ALWAYS, "grf_size")
"""The parts of a configuration that are no static parameters."""


@public.members
@dataclasses.dataclass(frozen=True)
class Row:
    """One configuration of a launch, and what it would cost.

    Attributes:
      configuration: `device` (an `xe.Device`), `global_size`, `local_size` (None for a plain range), `sub_group_size`,
        `grf_size` if the space has it, and every static parameter of the kernel; what the space names comes first. A
        kernel that requires no sub-group size is launched with one by `dataclasses.replace(kernel, sub_group_size=16)`.
      time_s: as in a `Report`: modelled, without the overhead of submitting the launch.
      bound: the binding resource.
      occupancy: hardware threads in use in the steady state, 0 to 1.
      mark: how the time is known: `~` modelled, `?` not known.
      reason: why the configuration is invalid, `code: message` of the error; None if it is not.
      basis: what the time rests on: the `shapes` alone, a `run`, or a run with a `sample` of the work-groups counted.
      missing: resources that the launch uses and for which the device has no figure, so that the time leaves them out.
      limit: what the time is, apart from the errors of the model: `at least`, `at most`, or neither, as in a `Report`.
      least_s, most_s: what the time is at least and at most where data decide it, as in `Report.between_s`; None
        elsewhere, the most also where the device has no figure for something that the launch uses.
    """

    configuration: Mapping[str, Any]
    time_s: float | None = None
    bound: str | None = None
    occupancy: float | None = None
    mark: str = "?"
    reason: str | None = None
    basis: Literal["shapes", "run", "sample"] | None = None
    missing: tuple[str, ...] = ()
    limit: str = ""
    least_s: float | None = None
    most_s: float | None = None

    @property
    def nd_range(self) -> NDRange:
        """The nd-range of the launch."""
        return NDRange(self.configuration["global_size"], self.configuration["local_size"])

    @property
    def static(self) -> dict[str, Any]:
        """The static parameters of the launch, to be given by keyword."""
        return {name: value for name, value in self.configuration.items() if name not in LAUNCH}

    def shown(self, name: str) -> str:
        """A part of the configuration in a few letters: `64x4`, `plain` for a launch without local size."""
        value = self.configuration.get(name)
        if value is None and name in LAUNCH:
            return "plain" if name == "local_size" else "?"
        if isinstance(value, tuple) and name in LAUNCH:
            return "x".join(map(str, value))
        return text.cut(str(_plain(value)), 24)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data; a device is its name."""
        configuration = {name: _plain(value) for name, value in self.configuration.items()}
        return {**vars(self), "configuration": configuration, "missing": list(self.missing)}


@public.members
class Table(tuple[Row, ...]):
    """The rows of a sweep: by predicted time, the best first; then those of unknown time, by the least that it may be;
    then the invalid ones.

    A time that is a bound (`row.limit`) ranks as if it were the time, and `str` puts `>` before one that is at least so
    long, `<` before one that is at most.

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

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.kernel, tuple(self)

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
        return text.of_table(self)

    __repr__ = __str__  # what a prompt shows

    def _repr_html_(self) -> str:
        return page.fragment(self)


def _rank(row: Row) -> tuple[int, float]:
    if row.reason is not None:
        return 2, 0.0
    return (0, row.time_s) if row.time_s is not None else (1, math.inf if row.least_s is None else row.least_s)


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

"""Results: what a run of a program has done."""

import contextlib
import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.cost.costing import estimate, profile
from xeemu.cost.report import Report
from xeemu.devices.device import Device
from xeemu.errors import Error
from xeemu.faults.checking import check
from xeemu.faults.findings import Findings
from xeemu.frontends.tree import SourceLocation
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.programs import reads, summary

_SAMPLE = 64


@dataclasses.dataclass(frozen=True, eq=False)
class Submitted:
    """A kernel that a program has submitted.

    Attributes:
      name: the kernel's.
      file, line: of the submission.
      nd_range: of the launch.
      arguments: of the launch, as they were before it.
      unset: by the names of parameters which bytes of their memories nobody had written.
      origins: by the names of parameters where their memories have been allocated, and contents of them discarded.
      kernel: takes the arguments.
      device: the modelled device.
    """

    name: str
    file: str
    line: int
    nd_range: NDRange
    arguments: Sequence[Any] = dataclasses.field(repr=False)
    kernel: Kernel = dataclasses.field(repr=False)
    device: str | Device = dataclasses.field(repr=False)
    unset: Mapping[str, np.ndarray] = dataclasses.field(default_factory=dict, repr=False)
    origins: Mapping[str, Mapping[str, SourceLocation]] = dataclasses.field(default_factory=dict, repr=False)

    @functools.cached_property
    def report(self) -> Report:
        """What `xe.profile` tells of the launch."""
        return profile(self.kernel, self.nd_range, device=self.device)(*self.arguments)[1]

    @functools.cached_property
    def findings(self) -> Findings:
        """What `xe.check` finds in the launch."""
        found = check(self.kernel, self.nd_range, device=self.device, unset=self.unset)(*self.arguments)[1]
        return reads.located(found, self.origins)

    @property
    def time_s(self) -> float | None:
        """The seconds that the launch takes on the modelled device; where addresses depend on data, by a sample."""
        return self.timed.time_s

    @functools.cached_property
    def timed(self) -> Report:
        """What tells the time of the launch: an estimate or, where addresses depend on data, a profile of a sample."""
        with contextlib.suppress(Error):
            known = estimate(self.kernel, self.nd_range, device=self.device)(*self.arguments)
            if known.time_s is not None:
                return known
        return profile(self.kernel, self.nd_range, device=self.device, sample=_SAMPLE)(*self.arguments)[1]


@dataclasses.dataclass(frozen=True, eq=False)
class Result:
    """What a run of a program has done.

    Attributes:
      output: what it has printed.
      arrays: the contents of its arrays at the end, by the names of the host's variables.
      submissions: its kernels, in order.
      exit_code: what `main` gives.
      findings: what is wrong with the order of its commands, and with what the host reads and frees.
      leaks: notes of the USM that it has not freed.
    """

    output: str
    arrays: Mapping[str, np.ndarray] = dataclasses.field(repr=False)
    submissions: tuple[Submitted, ...]
    exit_code: int
    findings: Findings
    leaks: Findings = dataclasses.field(repr=False)

    def __str__(self) -> str:
        return summary.result(self)

"""xeemu: a vectorised emulator of SYCL work-group kernels for Intel Xe GPUs."""

import importlib
from pathlib import Path
from typing import Any

from xeemu.cost.costing import estimate, profile
from xeemu.cost.report import Report
from xeemu.devices.device import Device
from xeemu.devices.lookup import device, devices
from xeemu.devices.occupancy import Occupancy, occupancy
from xeemu.errors import (
    Error,
    KernelArgumentError,
    KernelError,
    KernelNotSupportedError,
    KernelWarning,
    MemoryAllocationError,
    NDRangeError,
    did_you_mean,
)
from xeemu.faults.checking import check
from xeemu.faults.findings import Finding, Findings, WorkItem
from xeemu.frontends.samplers import Sampler
from xeemu.inspection.inspecting import inspect
from xeemu.inspection.inspection import Inspection
from xeemu.language import foreign
from xeemu.language.kernel import Kernel, kernel
from xeemu.language.local import Local
from xeemu.language.memory import Memory
from xeemu.language.ndrange import NDRange
from xeemu.language.program import Program
from xeemu.language.subgroup import SubGroup
from xeemu.language.workgroup import WorkGroup
from xeemu.launching.launch import launch, trace
from xeemu.launching.printing import printed
from xeemu.launching.staged import Staged
from xeemu.memory_model.litmus import litmus
from xeemu.programs.loading import load
from xeemu.sweeps.ranking import Row, Table
from xeemu.sweeps.tuning import tune
from xeemu.version import version

__all__ = [
    "Device",
    "Error",
    "Finding",
    "Findings",
    "Inspection",
    "Kernel",
    "KernelArgumentError",
    "KernelError",
    "KernelNotSupportedError",
    "KernelWarning",
    "Local",
    "Memory",
    "MemoryAllocationError",
    "NDRange",
    "NDRangeError",
    "Occupancy",
    "Program",
    "Report",
    "Row",
    "Sampler",
    "Staged",
    "SubGroup",
    "Table",
    "WorkGroup",
    "WorkItem",
    "check",
    "device",
    "devices",
    "estimate",
    "inspect",
    "kernel",
    "launch",
    "litmus",
    "load",
    "occupancy",
    "printed",
    "profile",
    "trace",
    "tune",
]

__version__ = version()

# In a checkout `kernels` lies beside this folder; in an installation, in it. Python run in a checkout takes this one.
if not Path(__path__[0], "kernels").exists():
    __path__.append(str(Path(__path__[0]).parent))


def __getattr__(name: str) -> Any:
    """`xe.plot` and `xe.testing`, which need packages that xeemu itself does not, and are imported when asked for."""
    if name in ("plot", "testing"):
        return importlib.import_module(f"xeemu.{name}")
    public = [*__all__, "plot", "testing"]
    kernels = foreign.written(name)
    meant = f"; a kernel writes {kernels}" if kernels else did_you_mean(name, public)
    raise AttributeError(f"module 'xeemu' has no attribute {name!r}{meant}", name=name)

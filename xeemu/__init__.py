"""xeemu: a vectorised emulator of SYCL work-group kernels for Intel Xe GPUs."""

from xeemu.checking import check
from xeemu.costing import estimate, profile
from xeemu.device import Device, device, devices
from xeemu.errors import (
    Error,
    KernelArgumentError,
    KernelError,
    KernelNotSupportedError,
    MemoryAllocationError,
    NDRangeError,
)
from xeemu.findings import Finding, Findings, WorkItem
from xeemu.kernel import Kernel, kernel
from xeemu.launch import launch, trace
from xeemu.litmus import litmus
from xeemu.memory import Memory
from xeemu.ndrange import NDRange
from xeemu.occupancy import Occupancy, occupancy
from xeemu.program import Program
from xeemu.ranking import Row, Table
from xeemu.report import Report
from xeemu.tuning import tune
from xeemu.workgroup import SubGroup, WorkGroup

__all__ = [
    "Device",
    "Error",
    "Finding",
    "Findings",
    "Kernel",
    "KernelArgumentError",
    "KernelError",
    "KernelNotSupportedError",
    "Memory",
    "MemoryAllocationError",
    "NDRange",
    "NDRangeError",
    "Occupancy",
    "Program",
    "Report",
    "Row",
    "SubGroup",
    "Table",
    "WorkGroup",
    "WorkItem",
    "check",
    "device",
    "devices",
    "estimate",
    "kernel",
    "launch",
    "litmus",
    "occupancy",
    "profile",
    "trace",
    "tune",
]

"""The names that `import xeemu as xe` gives, all of them."""

import subprocess
import sys

import xeemu as xe

PUBLIC = [
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


def test_all_is_the_documented_list():
    assert xe.__all__ == PUBLIC


def test_every_name_is_there_and_has_a_docstring():
    for name in PUBLIC:
        assert getattr(xe, name).__doc__, name


def test_every_error_is_an_error_with_a_code_of_its_own():
    errors = [value for name in PUBLIC if isinstance(value := getattr(xe, name), type) and name.endswith("Error")]
    assert all(issubclass(error, xe.Error) for error in errors)
    assert len({error.code for error in errors}) == len(errors) == 6


def test_what_is_imported_when_asked_for_is_reachable():
    program = "import xeemu as xe; print(xe.__version__, xe.testing.__name__, xe.plot.__name__, hasattr(xe, 'plots'))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == f"{xe.__version__} xeemu.testing xeemu.plot False\n"


def test_the_module_is_the_command():
    run = subprocess.run([sys.executable, "-m", "xeemu", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"xeemu {xe.__version__} ")

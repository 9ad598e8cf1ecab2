"""Printing: what commands print, in 80 columns."""

import contextlib
import os
import sys
import textwrap
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

import jax
import numpy as np

import xeemu as xe
from xeemu import kernels
from xeemu.commands import terminal
from xeemu.commands.notation import UsageError
from xeemu.commands.runs import FinishedRun
from xeemu.commands.verdict import describe
from xeemu.devices import description
from xeemu.devices.device import Device
from xeemu.devices.limits import sub_group_size
from xeemu.kernels.example import Example
from xeemu.language.source import Site
from xeemu.plurals import counted

WIDTH = terminal.NARROWEST
_LABEL = 16
_MAP_ROWS, _MAP_COLUMNS = 16, 48
_SHADES = " .:-=+*#%@"


def say(text: object, stream: TextIO | None = None) -> None:
    """Prints a text, in colours where these are to be; on the output unless told otherwise."""
    out = stream or sys.stdout
    print(terminal.painted(str(text)) if terminal.has_colours(out) else text, file=out, flush=True)


def print_device(device: Device) -> None:
    """Every figure of a device with its source."""
    print("\n".join(kernels.device_info(device)))
    print(f"architecture  : {device.architecture}\n")
    for name, value, source in description.figures(device):
        print(textwrap.fill(f"{name:30} {value}", WIDTH, subsequent_indent=" " * 31))
        if source:
            print(textwrap.fill(source, WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False))
    print()
    for letter, meaning in description.CONFIDENCES.items():
        print(f"[{letter}] {meaning}")
    print("?   not known, or not a thing of this device")


def print_run(run: FinishedRun, device: Device, verdict: str) -> None:
    """What was run, how fast, and what came of it."""
    example, nd_range = run.example, run.example.nd_range(run.size)
    first = f"first run, with compilation: {seconds(run.first_s)}"
    title = f"{example.name}: {example.summary}" if example.summary else example.name
    print(textwrap.fill(title, WIDTH, subsequent_indent="    "))
    print_labelled("size", named_size(example, run.size))
    print_labelled("launch" if example.run is None else "first launch", launch_text(example.kernel, nd_range, device))
    print_labelled("device", f"{device.name}, emulated on {jax.devices()[0].device_kind} by JAX {jax.__version__}")
    print_labelled("time", first if run.again_s is None else f"{seconds(run.again_s)} ({first})")
    print_labelled("rate", rate(run))
    if memory := peak_memory():
        print_labelled("peak memory", memory)
    print_labelled("verdict", verdict)


def print_sites(label: str, sites: Sequence[Site]) -> None:
    """Lines of sources, by file."""
    files: dict[str, list[str]] = {}
    for site in sorted(sites, key=lambda site: site.line):
        files.setdefault(os.path.basename(site.file), []).append(str(site.line))
    text = "; ".join(f"{file} line{'s' * (len(lines) > 1)} {', '.join(lines)}" for file, lines in files.items())
    print_labelled(label, text or "nothing")


def launch_text(kernel: xe.Kernel, nd_range: xe.NDRange, device: Device) -> str:
    """The sizes of a launch, in the order of the kernel's language."""
    local = nd_range.local_size or kernel.required_size(nd_range.dimensions)
    lanes = sub_group_size(device, kernel.sub_group_size)
    turn = -1 if kernel.dialect.first_is_contiguous else 1
    shown = short_size(local[::turn]) if local else "chosen by the runtime"
    order = " (OpenCL's order)" if turn < 0 and nd_range.dimensions > 1 else ""
    return f"global {short_size(nd_range.global_size[::turn])}, local {shown}{order}, sub-group {lanes}"


def print_outputs(outputs: Any, show: bool) -> None:
    """The first values of each output and a checksum of them all; with `show`, also a picture."""
    for k, output in enumerate(jax.tree.leaves(outputs)):
        flat = output.ravel()
        values = " ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in flat[:8].tolist())
        more = " ..." if flat.size > 8 else ""
        checksum = zlib.crc32(output.tobytes())
        print_labelled(f"output {k}", f"{describe(output)}, crc32 {checksum:08x}: {values}{more}")
        if show and flat.size > 1:
            _print_map(flat.astype(np.float64))


def _print_map(values: np.ndarray) -> None:
    """The elements in reading order, in 16 rows of 48 cells: the higher the mean of a cell, the darker it is."""
    if not np.isfinite(values).all():
        print_labelled(
            "",
            f"no picture: {counted(int(np.count_nonzero(~np.isfinite(values))), 'value is', 'values are')} not finite",
        )
        return
    low, high = np.argmin(values), np.argmax(values)
    print_labelled("", f"sum {values.sum():.12g}, least {values[low]:.9g} at {low}, most {values[high]:.9g} at {high}")
    cells = np.array_split(np.arange(values.size), min(_MAP_ROWS * _MAP_COLUMNS, values.size))
    means = np.array([values[cell].mean() for cell in cells])
    least, most = means.min(), means.max()
    if least == most:
        print_labelled("", "the same everywhere" if values[low] == values[high] else f"every mean is {least:.6g}")
        return
    shades = np.rint((means - least) / (most - least) * (len(_SHADES) - 1)).astype(int)
    print_labelled("", f"from {_SHADES[0]!r} {least:.6g} to {_SHADES[-1]!r} {most:.6g}")
    for k in range(0, len(cells), _MAP_COLUMNS):
        print(f"{cells[k][0]:>{_LABEL - 2}}  {''.join(_SHADES[n] for n in shades[k : k + _MAP_COLUMNS])}".rstrip())


def print_labelled(label: str, text: str) -> None:
    """A text behind a label."""
    say(textwrap.fill(text, WIDTH, initial_indent=f"{label:{_LABEL}}", subsequent_indent=" " * _LABEL))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows under a header, in columns."""
    print(table(header, rows))


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The text of such a table."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ("  ".join(f"{cell:{w}}" for cell, w in zip(cells, widths, strict=True)) for cells in (header, *rows))
    return "\n".join(map(str.rstrip, lines))


def row(name: str, size: str, time_: str, rate: str, brief: str) -> str:
    """A row of the table of all examples."""
    return f"{name:25} {size:>12} {time_:>7} {rate:>22}  {brief}"


def named_size(example: Example, size: Sequence[int]) -> str:
    """The size of an example with the names of its parts."""
    return ", ".join(f"{name} = {number}" for name, number in zip(example.size_names, size, strict=True))


def short_size(size: Sequence[int]) -> str:
    """Sizes as `64x64`."""
    return "x".join(map(str, size))


def seconds(time_s: float) -> str:
    """A time to three digits."""
    unit, factor = next(((u, f) for u, f in (("s", 1.0), ("ms", 1e-3)) if time_s >= f), ("us", 1e-6))
    return f"{_three_digits(time_s / factor)} {unit}"


def rate(run: FinishedRun) -> str:
    """The rate of a run, in units of its example."""
    power = next((p for p in (4, 3, 2, 1) if run.rate >= 1000**p), 0)
    return f"{_three_digits(run.rate / 1000**power)} {('', 'k ', 'M ', 'G ', 'T ')[power]}{run.example.unit}/s"


def _three_digits(number: float) -> str:
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f}"


def peak_memory() -> str:
    """The most memory that the process has had; nothing where the system does not tell."""
    try:
        import resource
    except ImportError:
        return ""
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_bytes / 2**30:.2f} GiB"


@contextlib.contextmanager
def writing() -> Iterator[None]:
    """Tells of files that cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from None

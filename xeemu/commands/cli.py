"""The command `xeemu`: runs, traces, checks and costs kernels, lists devices. The only module that prints."""

import argparse
import collections
import contextlib
import dataclasses
import functools
import json
import os
import platform
import sys
import textwrap
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

import xeemu as xe
from xeemu import kernels
from xeemu.commands import notation, programs, rules, runs, submissions, targets
from xeemu.commands.notation import UsageError
from xeemu.commands.runs import Run
from xeemu.commands.targets import KernelOptions, SweepOptions
from xeemu.commands.verdict import describe
from xeemu.devices.device import Device
from xeemu.devices.limits import sub_group_size
from xeemu.emission.observer import MAX_ITERATIONS
from xeemu.kernels import litmus as litmus_tests
from xeemu.kernels.example import Example
from xeemu.language.source import Site
from xeemu.launching.arguments import DEFAULT_DEVICE
from xeemu.memory_model import witness
from xeemu.sweeps.progress import phase

_WIDTH = 80
_LABEL = 16
_BAR_ROWS = 16
_BAR_WIDTH = 40
_DIFFERENT, _FOUND, _REFUSED, _INTERRUPTED = 1, 1, 2, 130  # exit codes

_CONFIDENCE = (
    "[H] a vendor's own table or a raw measurement  [M] a third party's measurement",
    "[L] recalled or contradicted elsewhere  [D] derived from others  [C] chosen",
    "?   not known, or not a thing of this device",
)
_EXIT_CODES = (
    "exit code: 0 done, 1 a result differs from its reference or a check finds faults, 2 the command or the launch was "
    "refused"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out a command line and gives the exit code.

    Args:
      arguments: the words after `xeemu`; by default the process's own.
    """
    given = _parser().parse_args(_joined(sys.argv[1:] if arguments is None else arguments))
    try:
        code: int = given.command(given)
        sys.stdout.flush()
    except xe.Error as error:
        return _refused(f"error ({error.code}): {error}")
    except UsageError as error:
        return _refused(f"error: {error}")
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        return _refused(f"error: this machine cannot run it: {error}")
    except BrokenPipeError:
        # Who read the output has enough of it; without this, Python would complain as it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code


def _joined(words: Sequence[str]) -> list[str]:
    """The words, with values that begin with a dash, such as `-DN=4`, joined to the options that they are for.

    The parser would take them for options themselves.
    """
    joined: list[str] = []
    for word in words:
        if joined and joined[-1] in ("--options", "--arg") and word.startswith("-") and not word.startswith("--"):
            joined[-1] += f"={word}"
        else:
            joined.append(word)
    return joined


# --- Commands ---


def _devices(given: argparse.Namespace) -> int:
    if given.name is not None:
        _print_device(xe.device(given.name).in_environment())
        return 0
    rows = [
        (
            device.name,
            device.full_name,
            " ".join(map(str, device.sub_group_sizes)),
            str(device.max_work_group_size),
            f"{device.in_environment().local_mem_size // 1024} KiB",
        )
        for device in xe.devices()
    ]
    _print_table(("name", "device", "sub-groups", "work-group", "local memory"), rows)
    print(f"\nThe default is {DEFAULT_DEVICE}. xeemu devices NAME prints every figure with its source.")
    return 0


def _kernels(given: argparse.Namespace) -> int:
    for example in kernels.EXAMPLES.values():
        print(
            textwrap.fill(f"{example.name:25} {_named_size(example, example.size)}", _WIDTH, subsequent_indent=" " * 26)
        )
        print(textwrap.fill(example.summary, _WIDTH, initial_indent="    ", subsequent_indent="    "))
    print("\nxeemu run NAME runs one at this size; --size takes another.")
    return 0


def _run(given: argparse.Namespace) -> int:
    options = _kernel_options(given)
    device = xe.device(given.device)
    if given.all:
        others = (given.name, given.size, given.schedule)
        if options.given or any(other is not None for other in others):
            raise UsageError(
                "--all runs every example at its own size: leave out the name, --size, --schedule and kernel options"
            )
        return _run_all(device, given)
    target = _target(given, options)
    repeat = given.repeat if given.schedule is None else 0
    key, most = given.schedule, given.max_iterations
    run = runs.run(target.example, given.size, device, repeat, given.verify, schedule=key, max_iterations=most)
    _print_run(run, device, "not verified: no reference" if target.bare else run.verdict.text)
    _print_texts(run, device)
    if target.bare or given.show:
        _print_outputs(run.outputs, given.show)
    return _DIFFERENT if run.verdict.agrees is False else 0


def _print_texts(run: runs.Run, device: Device) -> None:
    """What the work-items of a kernel print, in a run of its own."""
    kernel = run.example.kernel
    if kernel.interface is not None and kernel.interface.printing is not None:
        launch = xe.printed(kernel, run.example.nd_range(run.size), device)
        _, texts = launch(*run.example.inputs(run.size))
        print("\n".join(f"    {line}" for line in str(texts).splitlines()))


def _run_all(device: Device, given: argparse.Namespace) -> int:
    start, total = time.perf_counter(), len(kernels.EXAMPLES)
    print(_row("example", "size", "time", "rate", "verdict"))
    outcomes = collections.Counter(
        _run_of_all(example, device, given, f"[{k} of {total}] ")
        for k, example in enumerate(kernels.EXAMPLES.values(), 1)
    )
    counts = ", ".join(f"{outcomes[what]} {what}" for what in ("verified", "different", "refused", "not verified"))
    print(f"\n{total} examples: {counts}")
    memory = _peak_memory()
    print(f"in {_seconds(time.perf_counter() - start)}" + (f", peak memory {memory}" if memory else ""))
    if outcomes["different"]:
        return _DIFFERENT
    return _REFUSED if outcomes["refused"] else 0


def _run_of_all(example: Example, device: Device, given: argparse.Namespace, prefix: str) -> str:
    """Runs one example, prints its row and says in a word how it ended."""
    try:
        run = runs.run(example, None, device, given.repeat, given.verify, prefix)
    except xe.Error as error:
        print(f"{example.name:25} error ({error.code}): {error}", flush=True)
        return "refused"
    verdict = run.verdict
    print(_row(example.name, _short_size(run.size), _seconds(run.time_s), _rate(run), verdict.brief), flush=True)
    if verdict.agrees is False:
        print(textwrap.indent(verdict.text, "    "), flush=True)
    return {True: "verified", False: "different", None: "not verified"}[verdict.agrees]


def _trace(given: argparse.Namespace) -> int:
    example = _target(given, _kernel_options(given, shapes_only=True)).example
    size = example.sized(given.size)
    launch = xe.trace(example.kernel, example.nd_range(size), device=given.device)
    print(launch(*example.inputs(size), **example.static))
    return 0


def _profile(given: argparse.Namespace) -> int:
    example = _target(given, _kernel_options(given)).example
    size = example.sized(given.size)
    launch = xe.profile(example.kernel, example.nd_range(size), device=given.device, sample=given.sample)
    with phase(f"{example.name}: counting"):
        _, report = launch(*example.inputs(size), **example.static)
    _told(report, given)
    return _print_others(example.kernel, example.nd_range(size), given.json)


def _estimate(given: argparse.Namespace) -> int:
    example = _target(given, _kernel_options(given, shapes_only=True)).example
    size = example.sized(given.size)
    launch = xe.estimate(example.kernel, example.nd_range(size), device=given.device)
    with phase(f"{example.name}: estimating"):
        report = launch(*example.inputs(size), **example.static)
    _told(report, given)
    return _print_others(example.kernel, example.nd_range(size), given.json)


def _diff(given: argparse.Namespace) -> int:
    before, after = xe.Report.load(given.before), xe.Report.load(given.after)
    comparison = after.diff(before)
    if given.json:
        print(json.dumps(comparison.to_dict(), indent=2))
    else:
        print(comparison if comparison else "no figure differs")
    if given.fail_above is None or not (risen := comparison.risen(given.fail_above)):
        return 0
    names = ", ".join(row.figure for row in risen)
    print(f"risen by more than {100 * given.fail_above:g} %: {names}", file=sys.stderr)
    return _DIFFERENT


def _check(given: argparse.Namespace) -> int:
    example = _target(given, _kernel_options(given)).example
    size = example.sized(given.size)
    nd_range = example.nd_range(size)
    launch = xe.check(example.kernel, nd_range, device=given.device, max_iterations=given.max_iterations)
    with phase(f"{example.name}: checking"):
        _, findings = launch(*example.inputs(size), **example.static)
    if given.html:
        with _writing():
            findings.to_html(given.html, title=f"{example.name}: what is wrong")
    if given.json:
        print(json.dumps(findings.to_dict(), indent=2))
    else:
        device = xe.device(given.device)
        print(f"{example.name}: {_launch(example.kernel, nd_range, device)}, device {device.name}\n\n{findings}\n")
        _print_sites("proved", findings.proved)
        _print_sites("watched", findings.watched)
    _print_others(example.kernel, nd_range, given.json)
    return _FOUND if findings.faults else 0


def _print_others(kernel: xe.Kernel, nd_range: xe.NDRange, data: bool) -> int:
    """Tells, if not for a program, that the host code launches the kernel over other sizes, too."""
    if not data and (told := submissions.others(kernel, nd_range)):
        print(f"\n{told}")
    return 0


def _tune(given: argparse.Namespace) -> int:
    placeholder = (1,) if given.global_size else None  # a bare kernel must have one; the sizes are the space's
    options = SweepOptions(placeholder, arguments=tuple(given.arg), build=given.options, std=given.std)
    example = _target(given, options).example
    size = example.sized(given.size)
    nd_range = example.nd_range(size)
    space = {"global_size": nd_range.global_size, "local_size": [nd_range.local_size], **_space(given)}
    if example.kernel.dialect.first_is_contiguous:
        space = {"global_size": nd_range.global_size, **_turned(_space(given))}
    static = {name: value for name, value in example.static.items() if name not in space}
    launch = xe.tune(example.kernel, space, sample=given.sample, save=given.save, progress=True)
    table = launch(*example.inputs(size), **static)
    shown = table if given.top is None else table.top(given.top)
    if given.json:
        print(json.dumps(shown.to_dict(), indent=2))
    else:
        print(shown)
        if more := len(table) - len(shown):
            print(f"\n{more} configurations more, {len(table.invalid) - len(shown.invalid)} of them invalid")
    return _REFUSED if len(table.invalid) == len(table) else 0


def _space(given: argparse.Namespace) -> dict[str, Any]:
    """What is swept, by name, without what the command line leaves to the example."""
    options = {
        "device": given.device.split(","),
        "local_size": given.local_size,
        "sub_group_size": given.sub_group,
        "global_size": given.global_size,
    }
    statics = map(notation.static_choices, given.static)
    return {**{name: value for name, value in options.items() if value is not None}, **dict(statics)}


def _turned(space: dict[str, Any]) -> dict[str, Any]:
    """A space whose sizes were written in OpenCL's order."""
    return {name: _in_order(x) if name in ("global_size", "local_size") else x for name, x in space.items()}


def _in_order(sizes: Any) -> Any:
    """Sizes, or a function that gives one, in SYCL's order."""
    if callable(sizes):
        return lambda configuration: _in_order(sizes(configuration))
    if isinstance(sizes, list):
        return list(map(_in_order, sizes))
    return sizes[::-1] if isinstance(sizes, tuple) else sizes


def _program(given: argparse.Namespace) -> int:
    result = programs.run(given.file, given.arguments, xe.device(given.device), given.options, given.std)
    print(programs.told(result, given.check))
    return _DIFFERENT if programs.is_faulty(result, given.check) else 0


def _list(given: argparse.Namespace) -> int:
    print(targets.listed(given.file, given.options, given.std))
    return 0


def _litmus(given: argparse.Namespace) -> int:
    if given.name is None:
        for known in litmus_tests.KNOWN.values():
            text = f"{known.name:22} {known.verdict:10} {known.summary}"
            print(textwrap.fill(text, _WIDTH, subsequent_indent=" " * 34))
        print("\nxeemu litmus NAME prints the program, its outcomes and an execution that shows the one asked for.")
        return 0
    known = litmus_tests.known(given.name)
    asked = " ".join(f"{name}={value}" for name, value in known.outcome.items())
    shown = known.test.races[0].witness if known.test.undefined else known.test.witness(**known.outcome)
    print(f"{known.test}\n")
    _print_labelled("asked", f"{asked}: {known.found}")
    _print_labelled("source", f"{known.source}: {known.verdict}")
    for execution in known.test.outcomes.values() if given.all else [shown] if shown else []:
        print(f"\n{execution}")
    if given.plot is not None:
        _plot_execution(shown, given.plot)
    return 0 if known.found == known.verdict else _DIFFERENT


def _plot_execution(shown: witness.Witness | None, path: str) -> None:
    if shown is None:
        raise UsageError("--plot draws an execution with the outcome that is asked for, and that is forbidden here")
    figure: Any = witness.draw(shown).figure
    figure.savefig(path)


def _occupancy(given: argparse.Namespace) -> int:
    found = xe.occupancy(
        given.device,
        given.local_size,
        slm_bytes=given.slm,
        registers=given.registers,
        sub_group_size=given.sub_group,
        barriers=given.barriers,
    )
    if given.json:
        print(json.dumps(dataclasses.asdict(found), indent=2))
        return 0
    shares = {"occupancy": found.fraction, "resident groups": found.groups, "limiter": found.limiter}
    for label, value in shares.items():
        _print_labelled(label, f"{100 * value:.4g} %" if label == "occupancy" and value is not None else _figure(value))
    _print_labelled("threads", f"{found.threads_per_group} of a work-group, {found.sub_group_size} work-items each")
    _print_labelled("local memory", f"{found.slm_bytes} bytes of a work-group as the device allocates it")
    for name, groups in found.constraints.items():
        _print_labelled(f"  {name}", f"{groups} work-groups per Xe core")
    _print_labelled("next step", found.next_step)
    return 0


def _told(report: xe.Report, given: argparse.Namespace) -> None:
    """Prints a report, and writes it into the files that are asked for."""
    with _writing():
        if given.save:
            report.save(given.save)
        if given.html:
            report.to_html(given.html)
    print(json.dumps(report.to_dict(), indent=2) if given.json else report)


@contextlib.contextmanager
def _writing() -> Iterator[None]:
    """Tells of files that cannot be written."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from None


def _target(given: argparse.Namespace, options: KernelOptions) -> targets.Target:
    if given.name is None:
        every = ", or write --all" if hasattr(given, "all") else ""
        raise UsageError(f"name an example (xeemu kernels lists them) or path.py:NAME{every}")
    return targets.find(given.name, given.size, options)


def _kernel_options(given: argparse.Namespace, shapes_only: bool = False) -> KernelOptions:
    return KernelOptions(
        given.global_size,
        given.local_size,
        tuple(given.arg),
        tuple(given.static),
        shapes_only,
        given.options,
        given.std,
    )


# --- Printing ---


def _print_device(device: Device) -> None:
    print("\n".join(kernels.device_info(device)))
    print(f"architecture  : {device.architecture}\n")
    identity = ("name", "full_name", "architecture", "sources")
    for field in (f.name for f in dataclasses.fields(device) if f.name not in identity):
        value = f"{field:30} {_figure(getattr(device, field))}"
        print(textwrap.fill(value, _WIDTH, subsequent_indent=" " * 31))
        if source := device.source(field):
            print(textwrap.fill(source, _WIDTH, initial_indent="    ", subsequent_indent="    "))
    print("\n" + "\n".join(_CONFIDENCE))


def _figure(value: object) -> str:
    if value is None:
        return "?"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _print_run(run: Run, device: Device, verdict: str) -> None:
    example, nd_range = run.example, run.example.nd_range(run.size)
    first = f"first run, with compilation: {_seconds(run.first_s)}"
    title = f"{example.name}: {example.summary}" if example.summary else example.name
    print(textwrap.fill(title, _WIDTH, subsequent_indent="    "))
    _print_labelled("size", _named_size(example, run.size))
    _print_labelled("launch" if example.run is None else "first launch", _launch(example.kernel, nd_range, device))
    _print_labelled("device", f"{device.name}, emulated on {jax.devices()[0].device_kind} by JAX {jax.__version__}")
    _print_labelled("time", first if run.again_s is None else f"{_seconds(run.again_s)} ({first})")
    _print_labelled("rate", _rate(run))
    if memory := _peak_memory():
        _print_labelled("peak memory", memory)
    _print_labelled("verdict", verdict)


def _print_sites(label: str, sites: Sequence[Site]) -> None:
    files: dict[str, list[str]] = {}
    for site in sorted(sites, key=lambda site: site.line):
        files.setdefault(os.path.basename(site.file), []).append(str(site.line))
    text = "; ".join(f"{file} line{'s' * (len(lines) > 1)} {', '.join(lines)}" for file, lines in files.items())
    _print_labelled(label, text or "nothing")


def _launch(kernel: xe.Kernel, nd_range: xe.NDRange, device: Device) -> str:
    local = nd_range.local_size or kernel.required_size(nd_range.dimensions)
    lanes = sub_group_size(device, kernel.sub_group_size)
    turn = -1 if kernel.dialect.first_is_contiguous else 1
    shown = _short_size(local[::turn]) if local else "chosen by the runtime"
    order = " (OpenCL's order)" if turn < 0 and nd_range.dimensions > 1 else ""
    return f"global {_short_size(nd_range.global_size[::turn])}, local {shown}{order}, sub-group {lanes}"


def _print_outputs(outputs: Any, show: bool) -> None:
    for k, output in enumerate(jax.tree.leaves(outputs)):
        flat = output.ravel()
        values = " ".join(f"{x:.6g}" if isinstance(x, float) else str(x) for x in flat[:8].tolist())
        more = " ..." if flat.size > 8 else ""
        checksum = zlib.crc32(output.tobytes())
        _print_labelled(f"output {k}", f"{describe(output)}, crc32 {checksum:08x}: {values}{more}")
        if show and flat.size > 1:
            _print_bars(flat.astype(np.float64))


def _print_bars(values: np.ndarray) -> None:
    """The elements added up in rows, as bars from 0."""
    if not (values.size and np.isfinite(values).all() and values.min() >= 0):
        _print_labelled("", "no bars: they are for finite values that are not negative")
        return
    low, high = np.argmin(values), np.argmax(values)
    _print_labelled("", f"sum {values.sum():.12g}, least {values[low]:.9g} at {low}, most {values[high]:.9g} at {high}")
    rows = np.array_split(np.arange(values.size), min(_BAR_ROWS, values.size))
    sums = [values[row].sum() for row in rows]
    for row, total in zip(rows, sums, strict=True):
        label = f"{row[0]}" if row.size == 1 else f"{row[0]}-{row[-1]}"
        bar = "#" * round(_BAR_WIDTH * total / (max(sums) or 1))
        print(f"{label:>{_LABEL - 1}} {total:>12.9g} {bar}".rstrip())


def _print_labelled(label: str, text: str) -> None:
    print(textwrap.fill(text, _WIDTH, initial_indent=f"{label:{_LABEL}}", subsequent_indent=" " * _LABEL))


def _print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        print("  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip())


def _row(name: str, size: str, time_: str, rate: str, brief: str) -> str:
    return f"{name:25} {size:>12} {time_:>7} {rate:>22}  {brief}"


def _named_size(example: Example, size: Sequence[int]) -> str:
    return ", ".join(f"{name} = {number}" for name, number in zip(example.size_names, size, strict=True))


def _short_size(size: Sequence[int]) -> str:
    return "x".join(map(str, size))


def _seconds(seconds: float) -> str:
    unit, factor = next(((u, f) for u, f in (("s", 1.0), ("ms", 1e-3)) if seconds >= f), ("us", 1e-6))
    return f"{_three_digits(seconds / factor)} {unit}"


def _rate(run: Run) -> str:
    power = next((p for p in (4, 3, 2, 1) if run.rate >= 1000**p), 0)
    return f"{_three_digits(run.rate / 1000**power)} {('', 'k ', 'M ', 'G ', 'T ')[power]}{run.example.unit}/s"


def _three_digits(number: float) -> str:
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f}"


def _peak_memory() -> str:
    """The most memory that the process has had; nothing where the system does not tell."""
    try:
        import resource
    except ImportError:
        return ""
    unit_bytes = 1 if sys.platform == "darwin" else 1024
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit_bytes / 2**30:.2f} GiB"


def _refused(message: str) -> int:
    print(message, file=sys.stderr)
    return _REFUSED


# --- The parser ---


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="xeemu",
        description="Runs SYCL work-group kernels as they would run on an Intel Xe GPU, on JAX.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the versions of xeemu and what it runs on")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = functools.partial(_add_command, commands)

    devices = add("devices", _devices, "list the modelled devices, or every figure of one")
    devices.add_argument("name", nargs="?", metavar="NAME", help="print this device's figures with their sources")

    add("kernels", _kernels, "list the examples")

    list_ = add("list", _list, "list the kernels of a file of your own, Python, OpenCL C or SYCL C++")
    list_.add_argument("file", metavar="FILE", help="path.cl, path.cpp or path.py")
    _add_build(list_)

    program = add("program", _program, "run a program of SYCL C++ as a whole, its host code and all its kernels")
    program.add_argument("file", metavar="FILE", help="path.cpp")
    program.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="of the program's own command line")
    program.add_argument("--device", default=DEFAULT_DEVICE, help="the modelled device (default: %(default)s)")
    program.add_argument("--check", action="store_true", help="check each launch too")
    _add_build(program)

    run = add("run", _run, "run an example or a kernel of your own, and verify the result")
    _add_target(run)
    run.add_argument("--all", action="store_true", help="run every example at its own size")
    run.add_argument(
        "--verify", action=argparse.BooleanOptionalAction, default=True, help="compare with the reference (default)"
    )
    run.add_argument(
        "--repeat",
        type=_count,
        default=1,
        metavar="N",
        help="runs after the first, which compiles; the fastest counts (default: 1)",
    )
    run.add_argument(
        "--schedule",
        type=_count,
        metavar="KEY",
        help="run it once, in an order drawn from this number, as SYCL permits it; slow, so give a small --size",
    )
    run.add_argument(
        "--max-iterations",
        type=_positive,
        metavar="N",
        help=f"give up a loop that need not end after so many (default: {MAX_ITERATIONS}, fewer with --schedule)",
    )
    run.add_argument("--show", action="store_true", help="print the outputs, with their values as bars")

    _add_target(add("trace", _trace, "print the program of an example or a kernel of your own"))

    check = add("check", _check, "run an example or a kernel of your own, and tell what is wrong with it")
    _add_target(check)
    check.add_argument(
        "--max-iterations",
        type=_positive,
        default=MAX_ITERATIONS,
        metavar="N",
        help="give up a loop that tests a predicate after so many (default: %(default)s)",
    )
    check.add_argument("--html", metavar="FILE", help="write the findings as a page of HTML that needs nothing else")
    _add_json(check)

    for name, command, help_ in (
        ("profile", _profile, "run an example or a kernel of your own, and report what it costs"),
        ("estimate", _estimate, "report what it costs as far as shapes tell, without running it"),
    ):
        costing = add(name, command, help_)
        _add_target(costing)
        costing.add_argument("--save", metavar="FILE", help="write the report into a file that xeemu diff reads")
        costing.add_argument("--html", metavar="FILE", help="write it as a page of HTML that needs nothing else")
        _add_json(costing)
        if name == "profile":
            costing.add_argument(
                "--sample",
                type=_count,
                metavar="GROUPS",
                help="count what depends on data on so many work-groups, drawn at random (default: on all)",
            )

    diff = add("diff", _diff, "tell which figures of two saved reports differ")
    diff.add_argument("before", metavar="BEFORE", help="a file that xeemu profile --save has written")
    diff.add_argument("after", metavar="AFTER", help="another one, of the same kernel later on")
    diff.add_argument(
        "--fail-above",
        type=_share,
        metavar="P%",
        help="exit with 1 if a cost of the launch has risen by more than so many per cent",
    )
    _add_json(diff)

    _add_tune(add("tune", _tune, "predict the time of many configurations of a launch, the best first"))
    litmus = add("litmus", _litmus, "tell what a small program may print under SYCL's memory model")
    litmus.add_argument("name", nargs="?", metavar="NAME", help="a litmus test; without it they are listed")
    litmus.add_argument("--all", action="store_true", help="print an execution for every outcome")
    litmus.add_argument("--plot", metavar="FILE", help="draw the execution that is printed, with matplotlib")

    _add_occupancy(add("occupancy", _occupancy, "tell how many work-groups an Xe core holds, and what limits them"))
    return parser


def _add_command(
    commands: Any, name: str, command: Callable[[argparse.Namespace], int], help_: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=f"{help_[0].upper()}{help_[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    return parser


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{notation.SYNTAX}\n\n{rules.SYNTAX}\n\n{textwrap.fill(_EXIT_CODES, _WIDTH)}"
    parser.add_argument("name", nargs="?", metavar="NAME", help=_NAME_HELP)
    parser.add_argument("--size", type=notation.sizes, metavar="A[xB...]", help="size of an example (default: its own)")
    parser.add_argument("--device", default=DEFAULT_DEVICE, help="the modelled device (default: %(default)s)")
    own = parser.add_argument_group("a kernel of your own", _OWN)
    own.add_argument(
        "--global-size", "--global", type=notation.sizes, metavar="A[xB[xC]]", help="work-items of the launch"
    )
    own.add_argument(
        "--local-size", "--local", type=notation.sizes, metavar="A[xB[xC]]", help="work-items of a work-group"
    )
    own.add_argument("--arg", action="append", default=[], metavar="[NAME=]VALUE", help="an argument, see below")
    own.add_argument("--static", action="append", default=[], metavar="NAME=VALUE", help="a static parameter")
    _add_build(own)


_NAME_HELP = "an example, or path.py:NAME, path.cl:NAME or path.cpp:NAME in a file of your own"
_OWN = """\
path.py:NAME, sizes in SYCL's order: the last dimension is contiguous;
path.cpp:NAME, which needs none where the host code tells its sizes, NAME the
kernel's class, FUNCTION:LINE, FUNCTION or LINE; or
path.cl:NAME, sizes in OpenCL's order: the first one is"""


def _add_build(parser: Any) -> None:
    parser.add_argument("--options", default="", metavar="TEXT", help="of the compiler, such as '-DN=4 -I folder'")
    parser.add_argument("--std", metavar="VERSION", help="of the language, such as CL2.0 or c++17")


def _add_tune(parser: argparse.ArgumentParser) -> None:
    syntax = f"{notation.SPACE_SYNTAX}\n\n{notation.SYNTAX}\n\n{rules.SYNTAX}"
    parser.epilog = f"{syntax}\n\n{textwrap.fill(_EXIT_CODES, _WIDTH)}"
    parser.add_argument("name", metavar="NAME", help=_NAME_HELP)
    parser.add_argument("--size", type=notation.sizes, metavar="A[xB...]", help="size of an example (default: its own)")
    parser.add_argument(
        "--device", default=DEFAULT_DEVICE, metavar="D[,...]", help="modelled devices (default: %(default)s)"
    )
    parser.add_argument(
        "--local-size",
        "--local",
        type=notation.size_choices,
        metavar="A[xB[xC]][,...]",
        help="work-items of a work-group (default: the example's)",
    )
    parser.add_argument("--sub-group", type=notation.size_choices, metavar="N[,...]", help="work-items of a sub-group")
    parser.add_argument("--static", action="append", default=[], metavar="NAME=V[,...]", help="a static parameter")
    parser.add_argument(
        "--global-size",
        "--global",
        type=notation.global_size,
        metavar="A[,...]|EXPRESSION",
        help="work-items of the launch (default: the example's)",
    )
    parser.add_argument(
        "--arg", action="append", default=[], metavar="[NAME=]VALUE", help="an argument of a kernel of your own"
    )
    _add_build(parser)
    parser.add_argument(
        "--sample", type=_count, metavar="GROUPS", help="count what depends on data on so many work-groups"
    )
    parser.add_argument("--save", metavar="FILE", help="write each row as it comes, and go on with those that it holds")
    parser.add_argument("--top", type=_count, metavar="N", help="print the first N rows (default: all)")
    _add_json(parser)


def _add_occupancy(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default=DEFAULT_DEVICE, help="the modelled device (default: %(default)s)")
    parser.add_argument(
        "--local-size", type=notation.sizes, required=True, metavar="A[xB[xC]]", help="work-items of a work-group"
    )
    parser.add_argument("--slm", type=int, default=0, metavar="BYTES", help="local memory of a work-group (default: 0)")
    parser.add_argument("--sub-group", type=int, metavar="N", help="work-items of a sub-group (default: the device's)")
    parser.add_argument("--registers", type=int, metavar="N", help="32-bit registers of a work-item")
    parser.add_argument(
        "--barriers", action=argparse.BooleanOptionalAction, default=True, help="the kernel has barriers (default)"
    )
    _add_json(parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")


def _share(text: str) -> float:
    """A share written in per cent, with the sign or without."""
    try:
        share = float(text.removesuffix("%")) / 100
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of per cent; write such as 5%") from None
    if share < 0:
        raise argparse.ArgumentTypeError(f"{text} is less than 0; write such as 5%")
    return share


def _count(text: str) -> int:
    return _whole(text, 0)


def _positive(text: str) -> int:
    return _whole(text, 1)


def _whole(text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; write one from {least}") from None
    if number < least:
        raise argparse.ArgumentTypeError(f"{number} is less than {least}; write a whole number from {least}")
    return number


class _Version(argparse.Action):
    """Prints versions, which are looked up only where they are asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(
            f"xeemu {xe.__version__} (JAX {jax.__version__}, NumPy {np.__version__}, "
            f"Python {platform.python_version()})"
        )
        parser.exit()

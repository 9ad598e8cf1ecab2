"""The command `xeemu`: runs, traces, checks and costs kernels, lists devices."""

import argparse
import collections
import contextlib
import dataclasses
import json
import sys
import textwrap
import time
from collections.abc import Mapping, Sequence
from typing import Any

import jax

import xeemu as xe
from xeemu import kernels
from xeemu.commands import (
    checks,
    command_line,
    completion,
    exits,
    inspecting,
    listed,
    litmus,
    printing,
    programs,
    runs,
    submissions,
    sweeps,
    targets,
    terminal,
    tracing,
)
from xeemu.commands.notation import UsageError
from xeemu.commands.targets import SweepOptions
from xeemu.devices import description
from xeemu.devices.device import Device
from xeemu.faults.exchange import Refusal
from xeemu.kernels.example import Example
from xeemu.launching.arguments import DEFAULT_DEVICE
from xeemu.plurals import counted
from xeemu.sweeps.progress import phase


def main(arguments: Sequence[str] | None = None) -> int:
    """Carries out a command line and gives the exit code.

    Args:
      arguments: the words after `xeemu`; by default the process's own.
    """
    with (
        contextlib.redirect_stdout(terminal.unread(sys.stdout)),
        contextlib.redirect_stderr(terminal.unread(sys.stderr)),
    ):
        return _carried_out(sys.argv[1:] if arguments is None else arguments)


def _carried_out(words: Sequence[str]) -> int:
    commands = command_line.build(_COMMANDS)
    given = commands.parse_args(command_line.joined(words))
    if given.named is None:
        commands.print_help()
        return 0
    try:
        code: int = given.command(given)
        sys.stdout.flush()
    except xe.Error as error:
        return _refused(f"error ({error.code}): {error}")
    except UsageError as error:
        return _refused(f"error: {error}")
    except (MemoryError, jax.errors.JaxRuntimeError) as error:
        return _refused(f"error: this machine cannot run it: {error}")
    except KeyboardInterrupt:
        return exits.INTERRUPTED
    return code


# --- Commands ---


def _devices(given: argparse.Namespace) -> int:
    if given.name is not None:
        printing.print_device(xe.device(given.name).in_environment())
        return 0
    printing.print_table(description.HEADS, description.overview(xe.devices()))
    print(f"\nThe default is {DEFAULT_DEVICE}. xeemu devices NAME prints every figure with its source.")
    return 0


def _kernels(given: argparse.Namespace) -> int:
    for example in kernels.EXAMPLES.values():
        print(
            textwrap.fill(
                f"{example.name:25} {printing.named_size(example, example.size)}",
                printing.WIDTH,
                subsequent_indent=" " * 26,
            )
        )
        print(textwrap.fill(example.summary, printing.WIDTH, initial_indent="    ", subsequent_indent="    "))
    print("\nxeemu run NAME runs one at this size; --size takes another.")
    return 0


def _run(given: argparse.Namespace) -> int:
    options = targets.options(given)
    device = xe.device(given.device)
    if given.all:
        others = (given.name, given.size, given.schedule)
        if options.given or any(other is not None for other in others):
            raise UsageError(
                "--all runs every example at its own size: leave out the name, --size, --schedule and kernel options"
            )
        return _run_all(device, given)
    target = targets.named(given, options)
    repeat = given.repeat if given.schedule is None else 0
    way = runs.Way(device, repeat, given.verify, given.schedule, given.max_iterations)
    run = runs.run(target.example, given.size, way)
    printing.print_run(run, device, "not verified: no reference" if target.bare else run.verdict.text)
    _print_texts(run, device)
    if target.bare or given.show:
        printing.print_outputs(run.outputs, given.show)
    if target.origins:
        printing.print_labelled("arguments", target.origins)
    return exits.FAULTY if run.verdict.agrees is False else 0


def _print_texts(run: runs.FinishedRun, device: Device) -> None:
    """What the work-items of a kernel print, in a run of its own."""
    kernel = run.example.kernel
    if kernel.interface is not None and kernel.interface.printing is not None:
        launch = xe.printed(kernel, run.example.nd_range(run.size), device=device)
        _, texts = launch(*run.example.inputs(run.size))
        print("\n".join(f"    {line}" for line in str(texts).splitlines()))


def _run_all(device: Device, given: argparse.Namespace) -> int:
    start, total = time.perf_counter(), len(kernels.EXAMPLES)
    print(printing.row("example", "size", "time", "rate", "verdict"))
    outcomes = collections.Counter(
        _run_of_all(example, device, given, f"[{k} of {total}] ")
        for k, example in enumerate(kernels.EXAMPLES.values(), 1)
    )
    counts = ", ".join(f"{outcomes[what]} {what}" for what in ("verified", "different", "refused", "not verified"))
    print(f"\n{total} examples: {counts}")
    memory = printing.peak_memory()
    print(f"in {printing.seconds(time.perf_counter() - start)}" + (f", peak memory {memory}" if memory else ""))
    if outcomes["different"]:
        return exits.FAULTY
    return exits.REFUSED if outcomes["refused"] else 0


def _run_of_all(example: Example, device: Device, given: argparse.Namespace, prefix: str) -> str:
    """Runs one example, prints its row and says in a word how it ended."""
    try:
        run = runs.run(example, None, runs.Way(device, given.repeat, given.verify), prefix)
    except xe.Error as error:
        printing.say(f"{example.name:25} error ({error.code}): {error}")
        return "refused"
    verdict = run.verdict
    printing.say(
        printing.row(
            example.name, printing.short_size(run.size), printing.seconds(run.time_s), printing.rate(run), verdict.brief
        )
    )
    if verdict.agrees is False:
        printing.say(textwrap.indent(verdict.text, "    "))
    return {True: "verified", False: "different", None: "not verified"}[verdict.agrees]


def _trace(given: argparse.Namespace) -> int:
    example = targets.of_words(given, shapes_only=True).example
    size = example.sized(given.size)
    launch = xe.trace(example.kernel, example.nd_range(size), device=given.device, after=given.after)
    program = launch(*example.inputs(size), **example.static)
    _told_or_json(program, tracing.to_dict(program) if given.json else None)
    return 0


def _profile(given: argparse.Namespace) -> int:
    target = targets.of_words(given)
    example = target.example
    size = example.sized(given.size)
    launch = xe.profile(example.kernel, example.nd_range(size), device=given.device, sample=given.sample)
    with phase(f"{example.name}: counting"):
        _, report = launch(*example.inputs(size), **example.static)
    _told(report, given)
    return _print_assumed(target, example.nd_range(size), given.json)


def _estimate(given: argparse.Namespace) -> int:
    target = targets.of_words(given, shapes_only=True)
    example = target.example
    size = example.sized(given.size)
    launch = xe.estimate(example.kernel, example.nd_range(size), device=given.device)
    with phase(f"{example.name}: estimating"):
        report = launch(*example.inputs(size), **example.static)
    _told(report, given)
    return _print_assumed(target, example.nd_range(size), given.json)


def _diff(given: argparse.Namespace) -> int:
    before, after = xe.Report.load(given.before), xe.Report.load(given.after)
    comparison = after.diff(before)
    meant = checks.figures(given, before, after)
    if given.html:
        with printing.writing():
            comparison.to_html(given.html, f"{after.kernel}: what differs", f"{given.before}, then {given.after}")
    for note in checks.unlike(before, after):
        printing.say(note, sys.stderr)
    _told_or_json(str(comparison) or "no figure differs", comparison.to_dict() if given.json else None)
    if given.fail_above is None or not (risen := comparison.risen(given.fail_above, meant)):
        return 0
    names = ", ".join(row.figure for row in risen)
    print(f"risen by more than {100 * given.fail_above:g} %: {names}", file=sys.stderr)
    return exits.FAULTY


def _check(given: argparse.Namespace) -> int:
    if given.list is None:
        return _told_of_checks([_checked_or_refused(given, given)], given)
    if given.name is not None or given.html:
        raise UsageError("--list names the kernels, a line each: leave out the name and --html")
    return _told_of_checks([_checked_or_refused(one, given) for one in listed.checks(given.list)], given)


def _checked_or_refused(one: argparse.Namespace, given: argparse.Namespace) -> checks.Outcome:
    """One kernel checked and told, if it is told as text; one that is refused is told in any case."""
    try:
        done = _checked(one, given)
    except (xe.Error, UsageError) as error:
        if given.list is None and _format(given) == "text":
            raise
        code = f" ({error.code})" if isinstance(error, xe.Error) else ""
        _refused(f"{one.name}: error{code}: {error}" if given.list else f"error{code}: {error}")
        return Refusal(str(error))
    if given.write_baseline:
        printing.say(checks.written(done, given.write_baseline), sys.stderr)
    return done


def _checked(one: argparse.Namespace, given: argparse.Namespace) -> checks.CheckedKernel:
    target = targets.of_words(one)
    example = target.example
    size = example.sized(one.size)
    nd_range = example.nd_range(size)
    launch = xe.check(example.kernel, nd_range, device=one.device, max_iterations=one.max_iterations)
    with phase(f"{example.name}: checking"):
        _, findings = launch(*example.inputs(size), **example.static)
    with printing.writing():
        done = checks.settled(findings, given, example)
    if _format(given) == "text":
        device = xe.device(one.device)
        launched = printing.launch_text(example.kernel, nd_range, device)
        printing.say(f"{example.name}: {launched}, device {device.name}\n\n{checks.told(done, given)}\n")
        printing.print_sites("proved", findings.proved)
        printing.print_sites("watched", findings.watched)
        _print_assumed(target, nd_range, data=False)
        if given.list:
            printing.say("")
    return done


def _format(given: argparse.Namespace) -> str:
    return "json" if given.json else given.format


def _told_of_checks(outcomes: Sequence[checks.Outcome], given: argparse.Namespace) -> int:
    """Prints what was found where a program is to read it, and gives the exit code."""
    if (form := _format(given)) != "text":
        print(checks.formatted(outcomes, given, form), end="")
    if any(isinstance(outcome, Refusal) for outcome in outcomes):
        return exits.REFUSED
    return (
        exits.FAULTY if any(isinstance(o, checks.CheckedKernel) and checks.failing(o, given) for o in outcomes) else 0
    )


def _print_assumed(target: targets.RunTarget, nd_range: xe.NDRange, data: bool) -> int:
    """Tells, if not for a program, where arguments come from, and over what sizes the host code launches as well."""
    if not data and target.origins:
        print("")
        printing.print_labelled("arguments", target.origins)
    if not data and (told := submissions.others(target.example.kernel, nd_range)):
        print(f"\n{told}")
    return 0


def _tune(given: argparse.Namespace) -> int:
    placeholder = (1,) if given.global_size else None  # a bare kernel must have one; the sizes are the space's
    options = SweepOptions(placeholder, arguments=tuple(given.arg), build=given.options, std=given.std)
    example = targets.named(given, options).example
    size = example.sized(given.size)
    nd_range = example.nd_range(size)
    space = {"global_size": nd_range.global_size, "local_size": [nd_range.local_size], **sweeps.space(given)}
    if example.kernel.dialect.first_is_contiguous:
        space = {"global_size": nd_range.global_size, **sweeps.turned(sweeps.space(given))}
    static = {name: value for name, value in example.static.items() if name not in space}
    launch = xe.tune(example.kernel, space, sample=given.sample, save=given.save, progress=True)
    table = launch(*example.inputs(size), **static)
    shown = table if given.top is None else table.top(given.top)
    _told_or_json(shown, shown.to_dict() if given.json else None)
    if not given.json and (more := len(table) - len(shown)):
        print(f"\n{counted(more, 'configuration')} more, {len(table.invalid) - len(shown.invalid)} of them invalid")
    return exits.REFUSED if len(table.invalid) == len(table) else 0


def _program(given: argparse.Namespace) -> int:
    try:
        result = programs.run(given.file, given.arguments, xe.device(given.device), given.options, given.std)
    except xe.Error as error:
        if error.output:
            printing.say(error.output.rstrip("\n"))
        raise
    printing.say(programs.told(result, given.check))
    return exits.FAULTY if programs.is_faulty(result, given.check) else 0


def _list(given: argparse.Namespace) -> int:
    print(targets.listed(given.file, given.options, given.std))
    return 0


def _completion(given: argparse.Namespace) -> int:
    print(completion.script(command_line.build(_COMMANDS), given.shell))
    return 0


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
        _told_or_json(found, dataclasses.asdict(found))
        return 0
    for label, value in description.of_occupancy(found):
        printing.print_labelled(label, value)
    return 0


def _told(report: xe.Report, given: argparse.Namespace) -> None:
    """Prints a report, and writes it into the files that are asked for."""
    with printing.writing():
        if given.save:
            report.save(given.save)
        if given.html:
            report.to_html(given.html)
    text = report.to_text(terminal.width(sys.stdout))
    _told_or_json(text, report.to_dict() if given.json else None)


def _told_or_json(text: object, data: Mapping[str, Any] | Sequence[Any] | None) -> None:
    """Prints data as JSON where there is some, else a text."""
    if data is None:
        printing.say(text)
    else:
        print(json.dumps(data, indent=2))


def _refused(message: str) -> int:
    printing.say(message, sys.stderr)
    return exits.REFUSED


_COMMANDS: Mapping[str, command_line.Command] = {
    "devices": _devices,
    "kernels": _kernels,
    "list": _list,
    "program": _program,
    "run": _run,
    "trace": _trace,
    "check": _check,
    "diff": _diff,
    "tune": _tune,
    "inspect": inspecting.carry_out,
    "litmus": litmus.carry_out,
    "occupancy": _occupancy,
    "profile": _profile,
    "estimate": _estimate,
    "completion": _completion,
}

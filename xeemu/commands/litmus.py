"""Litmus tests as the command line tells them: the program, its outcomes, and executions that show them."""

import argparse
import textwrap
from typing import Any

import xeemu as xe
from xeemu.commands import exits, printing
from xeemu.commands.notation import UsageError
from xeemu.kernels import litmus as litmus_tests
from xeemu.memory_model.witness import Witness


def carry_out(given: argparse.Namespace) -> int:
    """Prints a litmus test with its outcomes, or all their names, and gives the exit code."""
    if given.name is None:
        for known in litmus_tests.KNOWN.values():
            text = f"{known.name:22} {known.verdict:10} {known.summary}"
            print(textwrap.fill(text, printing.WIDTH, subsequent_indent=" " * 34))
        print("\nxeemu litmus NAME prints the program, its outcomes and an execution that shows the one asked for.")
        return 0
    known = litmus_tests.known(given.name)
    asked = " ".join(f"{name}={value}" for name, value in known.outcome.items())
    shown = known.test.races[0].witness if known.test.undefined else known.test.witness(**known.outcome)
    print(f"{known.test}\n")
    printing.print_labelled("asked", f"{asked}: {known.found}")
    printing.print_labelled("source", f"{known.source}: {known.verdict}")
    for execution in known.test.outcomes.values() if given.all else [shown] if shown else []:
        print(f"\n{execution}")
    if given.plot is not None:
        _plot_execution(shown, given.plot)
    return 0 if known.found == known.verdict else exits.FAULTY


def _plot_execution(shown: Witness | None, path: str) -> None:
    if shown is None:
        raise UsageError("--plot draws an execution with the outcome that is asked for, and that is forbidden here")
    figure: Any = xe.plot.execution(shown).figure
    figure.savefig(path)

"""Inspecting: what one work-group does, step by step, as the command line tells it."""

import argparse

import xeemu as xe
from xeemu.commands import exits, printing, targets
from xeemu.sweeps.progress import phase


def carry_out(given: argparse.Namespace) -> int:
    """Prints the steps of a work-group, of some of its work-items or of some lines, and gives the exit code."""
    target = targets.of_words(given)
    example = target.example
    size = example.sized(given.size)
    launch = xe.inspect(
        example.kernel, example.nd_range(size), device=given.device, group=given.group, most_steps=given.most_steps
    )
    with phase(f"{example.name}: stepping"):
        inspection = launch(*example.inputs(size), **example.static)
    with printing.writing():
        if given.html:
            inspection.to_html(given.html)
    printing.say(inspection.to_text(items=given.item or None, lines=given.line or None))
    if target.origins:
        print("")
        printing.print_labelled("arguments", target.origins)
    return exits.DONE

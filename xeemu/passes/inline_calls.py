"""Inlining: calls are written out, so that every value and every region is carried out once only."""

import dataclasses

from xeemu.devices.target import Target
from xeemu.ir import inlining
from xeemu.language import source
from xeemu.language.program import Program
from xeemu.passes.analyses import Analyses


def inline_calls(program: Program, analyses: Analyses, target: Target) -> Program:
    """A program without calls; what a library does in one has the line of the call."""
    return dataclasses.replace(program, body=inlining.inlined(program.body, source.is_of_user))

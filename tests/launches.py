"""What is known of a launch before it runs, for tests of the parts that a report is made from."""

import xeemu as xe
from xeemu import census, schedule
from xeemu.arguments import Description, scalars
from xeemu.preparation import Options, Prepared, prepare


def prepared(kernel, nd_range, arguments, static=None, device="h200", memory_bytes=None) -> Prepared:
    options, preset = Options(memory_bytes, False, False, "cpu"), xe.device(device)
    described = tuple(map(Description.of, arguments))
    return prepare(kernel, nd_range, preset, described, kernel.bind_static(static or {}), options)


def taken(ready: Prepared, arguments, device="h200", blank=False) -> census.Census:
    """The census of a launch."""
    plan = schedule.of_program(ready.program, ready.plan, scalars(arguments))
    return census.take(plan, xe.device(device), blank)

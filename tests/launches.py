"""What is known of a launch before it runs, for tests of the parts that a report is made from."""

import jax

import xeemu as xe
from xeemu.cost import census
from xeemu.knowledge import symbolic_execution
from xeemu.launching import executables
from xeemu.launching.arguments import ArgumentType, scalars
from xeemu.launching.options import Options
from xeemu.launching.preparation import Prepared, prepare


def prepared(kernel, nd_range, arguments, static=None, device="h200", memory_bytes=None) -> Prepared:
    options, preset = Options(memory_bytes, False, False, "cpu"), xe.device(device)
    described = tuple(map(ArgumentType.of, arguments))
    return prepare(kernel, nd_range, preset, described, kernel.bind_static(static or {}), options)


def compiled(function, *arguments):
    """A compiled function as XLA compiles it for a CPU, wherever the tests run."""
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        return function.lower(*arguments).compile()


def temporary_bytes(function, *arguments):
    """What a compiled function works with on a CPU, as XLA tells."""
    return compiled(function, *arguments).memory_analysis().temp_size_in_bytes


def run(ready: Prepared, arguments):
    """The arrays that the kernel returns."""
    return executables.executable(ready).run(arguments)


def taken(ready: Prepared, arguments, device="h200", blank=False) -> census.Census:
    """The census of a launch."""
    tree = symbolic_execution.of_program(ready.program, ready.facts, scalars(arguments))
    return census.take(tree, xe.device(device), blank)

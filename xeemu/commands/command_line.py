"""Command line: what a command line of `xeemu` may hold."""

import argparse
import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xeemu.commands import checks, notation, printing, rules
from xeemu.commands.argument_parser import ArgumentParser, VersionAction
from xeemu.commands.completion import SHELLS
from xeemu.emission.observer import MAX_ITERATIONS
from xeemu.inspection.inspecting import MOST_STEPS
from xeemu.launching.arguments import DEFAULT_DEVICE

Command = Callable[[argparse.Namespace], int]
"""Carries out what was parsed and gives the exit code."""

_EXIT_CODES = (
    "exit code: 0 done, 1 a result differs from its reference or a check finds faults, 2 the command or the launch was "
    "refused"
)


def build(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    """The parser of the command line.

    Args:
      commands: what carries out each command, by its name.
    """
    parser = ArgumentParser(
        prog="xeemu",
        description="Runs SYCL work-group kernels as they would run on an Intel Xe GPU, on JAX.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument(
        "--version", action=VersionAction, nargs=0, help="print the versions of xeemu and what it runs on"
    )
    found = parser.add_subparsers(metavar="COMMAND", dest="named")

    def add(name: str, help_: str) -> argparse.ArgumentParser:
        return _add_command(found, name, commands[name], help_)

    _add_devices(add("devices", "list the modelled devices, or every figure of one"))
    add("kernels", "list the examples")
    _add_list(add("list", "list the kernels of a file of your own, Python, OpenCL C or SYCL C++"))
    _add_program(add("program", "run a program of SYCL C++ as a whole, its host code and all its kernels"))
    _add_run(add("run", "run an example or a kernel of your own, and verify the result"))
    _add_trace(add("trace", "print the program of an example or a kernel of your own"))
    _add_check(add("check", "run an example or a kernel of your own, and tell what is wrong with it"))
    _add_profile(add("profile", "run an example or a kernel of your own, and report what it costs"))
    _add_costing(add("estimate", "report what it costs as far as shapes tell, without running it"))
    _add_inspect(add("inspect", "run one work-group and tell what it does, step by step"))
    _add_diff(add("diff", "tell which figures of two saved reports differ"))
    _add_tune(add("tune", "predict the time of many configurations of a launch, the best first"))
    _add_litmus(add("litmus", "tell what a small program may print under SYCL's memory model"))
    _add_occupancy(add("occupancy", "tell how many work-groups an Xe core holds, and what limits them"))
    _add_completion(add("completion", "print a script by which a shell completes commands, options and names"))
    return parser


def joined(words: Sequence[str]) -> list[str]:
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


def _add_command(commands: Any, name: str, command: Command, help_: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_,
        description=f"{help_[0].upper()}{help_[1:]}.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(command=command)
    return parser


def _add_devices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="print this device's figures with their sources")


def _add_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="path.cl, path.cpp or path.py")
    _add_build(parser)


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="path.cpp")
    parser.add_argument("arguments", nargs="*", metavar="ARGUMENT", help="of the program's own command line")
    parser.add_argument("--device", default=DEFAULT_DEVICE, help="the modelled device (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="check each launch too")
    _add_build(parser)


def _add_run(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument("--all", action="store_true", help="run every example at its own size")
    parser.add_argument(
        "--verify", action=argparse.BooleanOptionalAction, default=True, help="compare with the reference (default)"
    )
    parser.add_argument(
        "--repeat",
        type=_count,
        default=1,
        metavar="N",
        help="runs after the first, which compiles; the fastest counts (default: 1)",
    )
    parser.add_argument(
        "--schedule",
        type=_count,
        metavar="KEY",
        help="run it once, in an order drawn from this number, as SYCL permits it; slow, so give a small --size",
    )
    parser.add_argument(
        "--max-iterations",
        type=_positive,
        metavar="N",
        help=f"give up a loop that need not end after so many (default: {MAX_ITERATIONS}, fewer with --schedule)",
    )
    parser.add_argument("--show", action="store_true", help="print the outputs, with a picture of their values")


def _add_trace(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument(
        "--after",
        metavar="PASS",
        help="what a launch has made of it after a pass, or after all with how it is carried out (plans)",
    )
    _add_json(parser)


def add_checked(parser: argparse.ArgumentParser) -> None:
    """Adds what says which kernel is checked, and how it is launched."""
    _add_target(parser)
    parser.add_argument(
        "--max-iterations",
        type=_positive,
        default=MAX_ITERATIONS,
        metavar="N",
        help="give up a loop that tests a predicate after so many (default: %(default)s)",
    )


def _add_check(parser: argparse.ArgumentParser) -> None:
    add_checked(parser)
    parser.add_argument(
        "--list", metavar="FILE", help="check the kernels of this file, each a line of words as they stand here"
    )
    parser.add_argument(
        "--fail-on",
        choices=("error", "note"),
        default="error",
        help="exit with 1 for an error (default), or for a note too of which a right kernel has none",
    )
    parser.add_argument("--baseline", metavar="FILE", help="leave out the findings that this file accepts")
    parser.add_argument(
        "--write-baseline", metavar="FILE", help="write a file that accepts these findings, and exit with 0"
    )
    parser.add_argument(
        "--format",
        choices=("text", *checks.FORMATS),
        default="text",
        help="text (default), JSON, annotations of GitHub's workflows, or SARIF 2.1.0",
    )
    parser.add_argument("--html", metavar="FILE", help="write the findings as a page of HTML that needs nothing else")
    _add_json(parser)


def _add_inspect(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument(
        "--group",
        type=notation.sizes,
        default=0,
        metavar="A[,B[,C]]",
        help="the work-group: its linear id, or its id per dimension, the last one contiguous (default: 0)",
    )
    parser.add_argument(
        "--item",
        type=notation.sizes,
        action="append",
        default=[],
        metavar="A[,B[,C]]",
        help="tell of this work-item alone, by its local id; may be repeated (default: the first 16)",
    )
    parser.add_argument(
        "--line",
        type=_positive,
        action="append",
        default=[],
        metavar="N",
        help="tell of this line alone; may be repeated",
    )
    parser.add_argument(
        "--most-steps", type=_positive, default=MOST_STEPS, metavar="N", help="refuse more steps (default: %(default)s)"
    )
    parser.add_argument("--html", metavar="FILE", help="write a page with a slider over the steps, too")


def _add_profile(parser: argparse.ArgumentParser) -> None:
    _add_costing(parser)
    parser.add_argument(
        "--sample",
        type=_count,
        metavar="GROUPS",
        help="count what depends on data on so many work-groups, drawn at random (default: on all)",
    )


def _add_costing(parser: argparse.ArgumentParser) -> None:
    _add_target(parser)
    parser.add_argument("--save", metavar="FILE", help="write the report into a file that xeemu diff reads")
    parser.add_argument("--html", metavar="FILE", help="write it as a page of HTML that needs nothing else")
    _add_json(parser)


def _add_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", metavar="BEFORE", help="a file that xeemu profile --save has written")
    parser.add_argument("after", metavar="AFTER", help="another one, of the same kernel later on")
    parser.add_argument("--html", metavar="FILE", help="write the rows as a page of HTML that needs nothing else")
    parser.add_argument(
        "--fail-above",
        type=_share,
        metavar="P%",
        help="exit with 1 if the time has risen by more than so many per cent",
    )
    parser.add_argument(
        "--fail-on",
        type=_names,
        metavar="FIGURES",
        help="with --fail-above, for these figures instead of time_s: named as in the rows, with commas between them, "
        "such as time_s,slm.passes; or all, for every cost of the launch",
    )
    _add_json(parser)


def _add_litmus(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME", help="a litmus test; without it they are listed")
    parser.add_argument("--all", action="store_true", help="print an execution for every outcome")
    parser.add_argument("--plot", metavar="FILE", help="draw the execution that is printed, with matplotlib")


def _add_completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def _add_target(parser: argparse.ArgumentParser) -> None:
    parser.epilog = f"{notation.SYNTAX}\n\n{rules.SYNTAX}\n\n{textwrap.fill(_EXIT_CODES, printing.WIDTH)}"
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
    parser.epilog = f"{syntax}\n\n{textwrap.fill(_EXIT_CODES, printing.WIDTH)}"
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
    parser.add_argument(
        "--slm", type=notation.memory, default=0, metavar="BYTES", help="local memory of a work-group, such as 16k"
    )
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
    if not 0 <= share < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no share from 0 on; write such as 5%")
    return share


def _names(text: str) -> list[str]:
    """Names with commas between them."""
    return [name for word in text.split(",") if (name := word.strip())]


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

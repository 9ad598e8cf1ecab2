"""The names that `import xeemu as xe` gives, all of them."""

import dataclasses
import inspect
import operator
import re
import subprocess
import sys
import traceback

import pytest

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


@pytest.mark.thorough
def test_the_module_is_the_command():
    run = subprocess.run([sys.executable, "-m", "xeemu", "--version"], capture_output=True, text=True, check=True)
    assert run.stdout.startswith(f"xeemu {xe.__version__} ")


# --- How they are called ---

MADE = ("Device", "Kernel", "Local", "NDRange", "Sampler")
"""The classes that users make objects of; those of all others come from xeemu."""

GIVEN = (xe.Findings, xe.Inspection, xe.Report, xe.Row, xe.Table)
"""Classes whose objects xeemu gives, with methods for users."""

FUNCTIONS = [
    *(name for name in PUBLIC if name[0].islower()),
    *(f"plot.{name}" for name in xe.plot.__all__),
    *(f"testing.{name}" for name in ("assert_clean", "assert_matches", "nd_ranges", "masks")),
    *(f"litmus.{name}" for name in ("location", "fence", "barrier")),
]


def public(name):
    return operator.attrgetter(name)(xe)


def refused(name, *arguments, **options):
    """The error of a call, after the check that its traceback ends here."""
    with pytest.raises(xe.Error) as caught:
        public(name)(*arguments, **options)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}, name
    return caught.value


@pytest.mark.parametrize("name", [*FUNCTIONS, *MADE])
def test_what_users_call_tells_what_is_wrong_with_a_call(name):
    """An unknown option, more than there is by position, and nothing where something is needed."""
    parameters = inspect.signature(public(name)).parameters.values()
    kinds = {p.kind for p in parameters}
    options = [p.name for p in parameters if p.kind != p.POSITIONAL_ONLY]
    if options and inspect.Parameter.VAR_KEYWORD not in kinds:
        wrong = f"{options[-1]}x"
        assert f"xe.{name} has no option {wrong!r} (did you mean {options[-1]!r}?)" in str(refused(name, **{wrong: 1}))
    if inspect.Parameter.VAR_POSITIONAL not in kinds:
        error = refused(name, *range(20))
        assert isinstance(error, TypeError)
        assert re.match(rf"xe\.{name} takes .*, but got an int", str(error))
    if any(p.default is p.empty and p.kind == p.POSITIONAL_OR_KEYWORD for p in parameters):
        assert re.match(rf"xe\.{name} needs .*; write xe\.{name}\(", str(refused(name)))


def test_calls_that_are_right_let_no_wrong_one_pass():
    for _ in range(2):
        assert xe.device("cpu") == xe.device(name="cpu")
        assert "takes" in str(refused("device", "cpu", "cpu"))
        assert "no option 'nam'" in str(refused("device", nam="cpu"))
        assert "needs name" in str(refused("device"))


@pytest.mark.parametrize("cls", GIVEN)
def test_methods_of_what_xeemu_gives_tell_what_is_wrong_with_a_call(cls):
    members = {name: getattr(cls, name) for name, member in vars(cls).items() if not name.startswith("_")}
    methods = [name for name, member in members.items() if inspect.isroutine(member)]
    assert methods
    for name in methods:
        of = () if inspect.ismethod(members[name]) else (None,)
        error = refused(f"{cls.__name__}.{name}", *of, colour=1)
        assert str(error).startswith(f"xe.{cls.__name__}.{name} has no option 'colour'"), name


@pytest.mark.parametrize("name", ["check", "estimate", "inspect", "launch", "printed", "profile", "trace"])
def test_what_is_no_kernel_is_refused_by_all(name):
    assert str(refused(name, len, xe.NDRange(4))).startswith("a launch takes a kernel, but got a builtin_function")


def test_what_a_constructor_refuses_is_told_at_the_users_line():
    for name, value in {"NDRange": "x", "Local": -1, "Sampler": "x", "Kernel": 1}.items():
        assert refused(name, value).code in ("kernel_argument", "nd_range")
    with pytest.raises(
        xe.Error, match=r"xe.Device has no option 'slm_bankz' \(did you mean 'slm_banks'\?\)\n  at .*test_pub"
    ):
        dataclasses.replace(xe.device("a770"), slm_bankz=3)

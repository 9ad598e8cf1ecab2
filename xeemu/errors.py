"""The exceptions of xeemu, each carrying the name of SYCL's `errc` value as `.code`.

A message says what happened, with the numbers; where; and what to write instead.
"""

import difflib
from collections.abc import Sequence
from typing import ClassVar


class Error(Exception):
    """Base of every error that xeemu raises on purpose.

    Attributes:
      code: the name of the matching `sycl::errc` enumerator (SYCL 2020, section 4.13.3).
      output: what a SYCL program that is run as a whole had printed until then.
    """

    code: ClassVar[str] = "runtime"
    output: str = ""


class NDRangeError(Error):
    """The sizes of the launch do not fit each other, the kernel or the device."""

    code = "nd_range"


class KernelNotSupportedError(Error):
    """The device lacks something that the kernel requires."""

    code = "kernel_not_supported"


class MemoryAllocationError(Error):
    """A work-group asks for more local or private memory than the device has, or a launch for more than there is."""

    code = "memory_allocation"


class KernelArgumentError(Error):
    """The arguments of a launch do not fit the kernel."""

    code = "kernel_argument"


class KernelError(Error):
    """The kernel breaks a rule of the kernel language; the message names its line."""

    code = "kernel"


class NoSuchNameError(KernelError, AttributeError):
    """The kernel asks for a name that the language does not have; `hasattr` takes it for an answer."""


class NoSuchVariableError(KernelError, NameError):
    """The kernel uses a variable that nobody has defined: a function of another language than this one."""


class OptionError(KernelArgumentError, TypeError):
    """A function of xeemu is called with an option that it does not have, or with one by position."""


class NoSuchKernelError(KernelArgumentError, KeyError):
    """A file has no kernel of that name; the `KeyError` of a mapping."""

    __str__ = Exception.__str__


class KernelWarning(UserWarning):
    """A kernel runs, but does what no hardware does as it is written; the message names its line."""


def did_you_mean(name: str, names: Sequence[str]) -> str:
    """The part of a message that suggests the nearest of some names, empty if none is near."""
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
    return f" (did you mean {nearest[0]!r}?)" if nearest else ""

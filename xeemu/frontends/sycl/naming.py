"""Naming: what the kernels of a file are called, and which one a name means."""

import re
from collections.abc import Mapping, Sequence

from xeemu.errors import NoSuchKernelError, did_you_mean
from xeemu.frontends import refusals
from xeemu.frontends.cplusplus.submissions import Submission
from xeemu.frontends.sycl import entries


def named(submissions: Sequence[Submission]) -> dict[str, Submission]:
    """The kernels by their names.

    A kernel is called as the class that names it, else as its function object's class, else by the function and line in
    which it is submitted, `main:57`, in an instance of a template `run<float>:57`; so are several that a class names.
    Where even these are the same, they are numbered.

    Raises:
      KernelError: one class names two kernels.
    """
    _check_apart(submissions)
    names = [s.name or _of_class(s) or _by_line(s) for s in submissions]
    found: dict[str, Submission] = {}
    for name, submission in zip(names, submissions, strict=True):
        told = name if names.count(name) == 1 else _by_line(submission)
        numbered, k = told, 2
        while numbered in found:
            numbered, k = f"{told}#{k}", k + 1
        found[numbered] = submission
    return found


def _check_apart(submissions: Sequence[Submission]) -> None:
    first: dict[int, Submission] = {}
    for one in submissions:
        other = first.setdefault(one.naming, one) if one.name else one
        if other is not one:
            raise refusals.at(
                one.place,
                f"the class {one.name} names two kernels: this one, in {one.enclosing}, and that of line "
                f"{other.place.line}, in {other.enclosing}; a name is of one kernel alone (SYCL 2020, 5.2), give this "
                "one a class of its own",
            )


def _of_class(submission: Submission) -> str:
    """The class of a function object; empty of a lambda."""
    spelling = str(entries.function_object(submission).type.spelling)
    return "" if "lambda at" in spelling or "(unnamed" in spelling else re.sub(r"\b\w+::", "", spelling)


def _by_line(submission: Submission) -> str:
    return f"{submission.enclosing}:{submission.place.line}"


def find(file: str, kernels: Mapping[str, Submission], key: str | int) -> str:
    """The name of the kernel that a name, a function, or a line means.

    Errors: `xe.NoSuchKernelError`, also where it means several.
    """
    if key in kernels:
        return str(key)
    means = [name for name, submission in kernels.items() if _means(key, submission)]
    if len(means) == 1:
        return means[0]
    its = f"its kernels are {', '.join(kernels)}" if kernels else "it submits no kernels"
    if means:
        raise NoSuchKernelError(f"{file} has {len(means)} kernels in {key!r}; write one of {', '.join(means)}")
    raise NoSuchKernelError(f"{file} has no kernel {key!r}{did_you_mean(str(key), list(kernels))}; {its}")


def _means(key: str | int, submission: Submission) -> bool:
    """True if a kernel is one of those in a function, on a line, or of a template, that a key names."""
    line, enclosing = submission.place.line, submission.enclosing
    plain = enclosing.partition("<")[0]
    if isinstance(key, int) or key.isdigit():
        return int(key) == line
    shorter = (enclosing, plain, f"{enclosing}:{line}", f"{plain}:{line}", submission.name.partition("<")[0])
    return key in shorter or key == _of_class(submission).partition("<")[0]

"""What tests of notes have in common: findings of one kind, and marked lines."""

import inspect

import xeemu as xe


def found(kernel, nd_range, *arguments, kind, device="max1550", **static):
    """The findings of a kind; there must be none of another but notes."""
    _, findings = xe.check(kernel, nd_range, device=device)(*arguments, **static)
    assert not findings.errors, str(findings)
    return [finding for finding in findings if finding.kind == kind]


def line(kernel, mark):
    """The number of a kernel's line with a mark."""
    lines, first = inspect.getsourcelines(kernel.function)
    return next(n for n, text in enumerate(lines, first) if text.rstrip().endswith(f"# {mark}"))


def followed(kernel, nd_range, *arguments):
    """The names of the rules by which operations of a kernel are followed as it runs."""
    from xeemu.faults import checking
    from xeemu.launching.arguments import checked_device, scalars
    from xeemu.launching.preparation import prepare_alone

    prepared = prepare_alone(kernel, nd_range, checked_device(kernel, nd_range, "max1550"), arguments, {})
    watch = checking._checked(prepared, scalars(arguments), 1000, True, frozenset()).watch
    return [type(following.rule).__name__ for following in watch.proofs.followings]

"""Public: what users call. Options go by name, misspelt ones are told, and tracebacks end at the user's own line."""

import functools
import inspect
import os
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar, cast

from xeemu.errors import Error, OptionError, did_you_mean
from xeemu.language import source

P = ParamSpec("P")
T = TypeVar("T")

VARIABLE = "XEEMU_TRACEBACK"
"""The variable of the environment that keeps every frame of a traceback where it is `full`."""

_STANDARD = tuple(os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def function(called: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function of the interface: a `boundary` that also tells of options which the function has not."""
    signature = inspect.signature(called)

    @functools.wraps(called)
    def checked(*arguments: P.args, **options: P.kwargs) -> T:
        _check_options(called.__name__, signature, arguments, options)
        return called(*arguments, **options)

    return boundary(checked)


def boundary(called: Callable[P, T]) -> Callable[P, T]:
    """Decorates what users call: the tracebacks of their errors are shortened there."""

    @functools.wraps(called)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return called(*arguments, **options)
        except Exception as error:
            shorten(error)
            raise

    return cast(Callable[P, T], call)


def _check_options(name: str, signature: inspect.Signature, given: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Refuses options that the function has not, and those that are given by position."""
    parameters = signature.parameters.values()
    kinds = {p.kind for p in parameters}
    by_position = [p.name for p in parameters if p.kind == p.POSITIONAL_OR_KEYWORD]
    by_name = [p.name for p in parameters if p.kind == p.KEYWORD_ONLY]
    if len(given) > len(by_position) and by_name and inspect.Parameter.VAR_POSITIONAL not in kinds:
        extra = source.called(given[len(by_position)])
        raise OptionError(
            f"xe.{name} takes {' and '.join(by_position)} by position, but got {extra} too; options go by name, such "
            f"as {by_name[0]}=...; arrays go into a call of what xe.{name} gives\n  at {source.of_caller()}"
        )
    known = [*by_position, *by_name]
    if inspect.Parameter.VAR_KEYWORD in kinds:
        return
    for option in options:
        if option not in known:
            raise OptionError(
                f"xe.{name} has no option {option!r}{did_you_mean(option, known)}; it takes {', '.join(known)}"
                f"\n  at {source.of_caller()}"
            )


def shorten(error: Exception) -> None:
    """Leaves of the traceback of an error of the user's the user's own frames alone; what raises it again adds none.

    `XEEMU_TRACEBACK=full` in the environment keeps all of it.
    """
    users = source.raised_by_user(error)
    if os.environ.get(VARIABLE) == "full" or not (users or isinstance(error, Error)):
        return
    cause = error.__cause__ or error.__context__
    inner = _frames(cause)
    if inner and _is_shown(inner[0]):
        inner = []  # what the user was handling when the error was raised, not what has led to it
    shown = [frame for frame in (*_frames(error), *inner) if _is_shown(frame)]
    error.__traceback__ = functools.reduce(_before, reversed(shown), None)
    source.forget_filtering(error)
    if error.__cause__ is not None and not source.raised_by_user(error.__cause__):
        # The message has what was said there, in the words of the kernel language.
        error.__cause__, error.__suppress_context__ = None, True


def _before(after: types.TracebackType | None, frame: types.TracebackType) -> types.TracebackType:
    """The frame, with the others behind it."""
    return types.TracebackType(after, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)


def _frames(error: BaseException | None) -> list[types.TracebackType]:
    """The frames that an error has passed, the outermost first."""
    frames, traceback = [], None if error is None else error.__traceback__
    while traceback is not None:
        frames.append(traceback)
        traceback = traceback.tb_next
    return frames


def _is_shown(frame: types.TracebackType) -> bool:
    """Whether a frame is the user's, not one of xeemu, JAX, NumPy or Python itself."""
    file = frame.tb_frame.f_code.co_filename
    if not source.is_users(file):
        return False
    standard = os.path.abspath(file).startswith(_STANDARD)
    return not standard or any(part in file for part in _INSTALLED)

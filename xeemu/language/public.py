"""Public: what users call. Options go by name, misspelt ones are told, and tracebacks end at the user's own line."""

import functools
import inspect
import os
import sys
import sysconfig
import types
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

from xeemu.errors import Error, OptionError, did_you_mean
from xeemu.language import source

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C")

VARIABLE = "XEEMU_TRACEBACK"
"""The variable of the environment that keeps every frame of a traceback where it is `full`."""

_STANDARD = tuple(os.path.abspath(sysconfig.get_path(name)) + os.sep for name in ("stdlib", "platstdlib"))
_GENERATED = "<string>"  # the file of what `dataclasses` writes, and of `python -c`
_MOST_LISTED = 12  # options, where one is near to what was written
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def function(called: Callable[P, T]) -> Callable[P, T]:
    """Decorates a function of the interface: a `boundary` that also tells what is wrong with how it is called."""
    return _checked(called, called.__name__, [*inspect.signature(called).parameters.values()], 0)


def known_as(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorates, as `function` does, one that users reach by a longer name, such as `plot.tile`."""

    def decorate(called: Callable[P, T]) -> Callable[P, T]:
        return _checked(called, name, [*inspect.signature(called).parameters.values()], 0)

    return decorate


def method(name: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Decorates, as `function` does, a method, which users know by a name, such as that of its class."""

    def decorate(called: Callable[P, T]) -> Callable[P, T]:
        return _checked(called, name, [*inspect.signature(called).parameters.values()][1:], 1)

    return decorate


def constructor(cls: type[C]) -> type[C]:
    """Decorates a class that users make objects of, whose arguments are checked as those of `function`."""
    cls.__init__ = method(cls.__name__)(cls.__init__)  # type: ignore[method-assign]
    return cls


def members(cls: type[C]) -> type[C]:
    """Decorates a class whose objects xeemu gives: its methods, as `function` does."""
    for name, member in list(vars(cls).items()):
        function = member.__func__ if isinstance(member, classmethod) else member
        if inspect.isfunction(function) and not name.startswith("_"):
            told = method(f"{cls.__name__}.{name}")(function)
            setattr(cls, name, classmethod(told) if isinstance(member, classmethod) else told)
    return cls


def _checked(called: Callable[P, T], name: str, parameters: Sequence[Parameter], bound: int) -> Callable[P, T]:
    """A function whose calls are looked at first; so many of its arguments, in front, are none of the user's."""
    # The number of arguments and the names of calls that were right: launches and what-ifs are called often.
    right: set[tuple[object, ...]] = set()

    @functools.wraps(called)
    def checked(*arguments: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        if (form := (len(arguments), *options)) not in right:
            _check_call(name, parameters, arguments[bound:], options)
            right.add(form)
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


def _check_call(name: str, parameters: Sequence[Parameter], given: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Refuses options that the function has not, those that are given by position, and arguments that are missing."""
    kinds = {p.kind for p in parameters}
    by_position = [p.name for p in parameters if p.kind == Parameter.POSITIONAL_OR_KEYWORD]
    by_name = [p.name for p in parameters if p.kind == Parameter.KEYWORD_ONLY]
    if len(given) > len(by_position) and Parameter.VAR_POSITIONAL not in kinds:
        _refuse(name, _too_many(name, given, by_position, by_name))
    known = [*by_position, *by_name]
    for option in options:
        if option not in known and Parameter.VAR_KEYWORD not in kinds:
            hint = did_you_mean(option, known)
            takes = "" if hint and len(known) > _MOST_LISTED else f"; it takes {', '.join(known) or 'none'}"
            _refuse(name, f"has no option {option!r}{hint}{takes}")
    needed = [p.name for p in parameters if p.default is Parameter.empty and p.name in known]
    if missing := [n for n in needed if n not in by_position[: len(given)] and n not in options]:
        _refuse(name, f"needs {_listed(missing)}; write xe.{name}({', '.join(needed)})")


def _too_many(name: str, given: Sequence[Any], by_position: Sequence[str], by_name: Sequence[str]) -> str:
    """What is said of more arguments by position than there are."""
    extra = source.called(given[len(by_position)])
    if not by_position:
        return f"takes {'options by name alone' if by_name else 'no arguments'}, but got {extra}"
    such = f"; options go by name, such as {by_name[0]}=..." if by_name else ""
    launched = "nd_range" in by_position or "space" in by_position
    arrays = f"; arrays go into a call of what xe.{name} gives" if launched else ""
    return f"takes {_listed(by_position)} by position, but got {extra} too{such}{arrays}"


def _listed(names: Sequence[str]) -> str:
    """Names in a sentence."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def _refuse(name: str, why: str) -> NoReturn:
    raise OptionError(f"xe.{name} {why}\n  at {source.of_frame(_calling())}")


def _calling() -> types.FrameType | None:
    """The innermost frame that is the user's."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not _is_shown(frame):
        frame = frame.f_back
    return frame


def shorten(error: Exception) -> None:
    """Leaves of the traceback of an error of the user's the user's own frames alone; what raises it again adds none.

    `XEEMU_TRACEBACK=full` in the environment keeps all of it.
    """
    users = source.raised_by_user(error)
    if os.environ.get(VARIABLE) == "full" or not (users or isinstance(error, Error)):
        return
    cause = error.__cause__ or error.__context__
    inner = _frames(cause)
    if inner and _is_shown(inner[0].tb_frame):
        inner = []  # what the user was handling when the error was raised, not what has led to it
    shown = [frame for frame in (*_frames(error), *inner) if _is_shown(frame.tb_frame)]
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


def _is_shown(frame: types.FrameType) -> bool:
    """True if a frame is the user's, not one of xeemu, JAX, NumPy or Python itself."""
    file = frame.f_code.co_filename
    if file == _GENERATED:
        return not str(frame.f_globals.get("__name__")).startswith("xeemu.")
    if not source.is_users(file):
        return False
    standard = os.path.abspath(file).startswith(_STANDARD)
    return not standard or any(part in file for part in _INSTALLED)

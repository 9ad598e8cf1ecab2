"""Completion: what a shell puts in for a word that is begun, with argcomplete: `pip install 'xeemu[completion]'`."""

import argparse
import contextlib
import os
from collections.abc import Mapping, Sequence

import xeemu as xe
from xeemu import kernels
from xeemu.kernels import litmus

_KERNELS = ("run", "trace", "check", "profile", "estimate", "tune")


def answer(parser: argparse.ArgumentParser) -> None:
    """Answers a shell that asks for completions, and ends the process; does nothing where none asks."""
    if "_ARGCOMPLETE" in os.environ:
        with contextlib.suppress(ImportError):
            import argcomplete

            add(parser, argcomplete.FilesCompleter())
            argcomplete.autocomplete(parser)


class Names:
    """Some names, and files where these will do too.

    Args:
      names: that may stand there.
      files: the completer of argcomplete for files; None where no file may stand there.
    """

    def __init__(self, names: Sequence[str], files: object = None):
        self._names, self._files = names, files

    def __call__(self, prefix: str, **asked: object) -> list[str]:
        """The names that begin with a prefix, of several with commas between them the last one; and files that do."""
        before, comma, last = prefix.rpartition(",")
        found = [before + comma + name for name in self._names if name.startswith(last)]
        return found + list(self._files(prefix, **asked) if callable(self._files) else ())


def add(parser: argparse.ArgumentParser, files: object) -> None:
    """Tells for each command what its arguments are completed to."""
    devices = Names([device.name for device in xe.devices()])
    named: Mapping[str, Names] = {
        "devices": devices,
        "litmus": Names(list(litmus.KNOWN)),
        **dict.fromkeys(_KERNELS, Names(list(kernels.EXAMPLES), files)),
    }
    for command, its in _commands(parser).items():
        for action in its._actions:
            if action.dest == "device":
                action.completer = devices  # type: ignore[attr-defined]  # read by argcomplete
            elif action.dest == "name" and command in named:
                action.completer = named[command]  # type: ignore[attr-defined]


def _commands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    actions = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next((action.choices for action in actions), {})

"""Completion: a script by which a shell completes words of a command line, made with shtab from the parser.

The script holds every word, so that a completion runs no Python.
"""

import argparse
import importlib
from collections.abc import Mapping
from types import MappingProxyType

import xeemu as xe
from xeemu import kernels
from xeemu.commands.notation import UsageError
from xeemu.kernels import litmus

SHELLS = ("bash", "zsh")
_OF_A_FILE = ("FILE", "BEFORE", "AFTER")  # metavars
_DEVICES, _EXAMPLES, _LITMUS = "_xeemu_devices", "_xeemu_examples", "_xeemu_litmus"
_NAMED: Mapping[str, str] = MappingProxyType(
    {
        "devices": _DEVICES,
        "litmus": _LITMUS,
        **dict.fromkeys(("run", "trace", "check", "profile", "estimate", "tune"), _EXAMPLES),
    }
)
"""The function of the script that completes the name that a command takes."""

# Functions that complete devices, with commas between them too, examples and files, and litmus tests.
_FUNCTIONS: Mapping[str, str] = MappingProxyType(
    {
        "bash": """
_xeemu_devices() {{
  local before=""
  case "$1" in *,*) before="${{1%,*}},";; esac
  compgen -P "$before" -W '{devices}' -- "${{1##*,}}"
}}
_xeemu_examples() {{ compgen -W '{examples}' -- "$1"; compgen -f -- "$1"; }}
_xeemu_litmus() {{ compgen -W '{litmus}' -- "$1"; }}
""",
        "zsh": """
_xeemu_devices() {{ compset -P "*,"; compadd - {devices}; }}
_xeemu_examples() {{ compadd - {examples}; _files; }}
_xeemu_litmus() {{ compadd - {litmus}; }}
""",
    }
)


def script(parser: argparse.ArgumentParser, shell: str) -> str:
    """The script of a shell, one of `SHELLS`.

    Raises:
      UsageError: shtab, which makes it, is not there.
    """
    try:
        shtab = importlib.import_module("shtab")
    except ImportError:
        raise UsageError("completion needs shtab; write pip install shtab") from None
    for command, its in commands(parser).items():
        for action in its._actions:
            _tell(action, command, shtab.FILE)
    text: str = shtab.complete(parser, shell=shell, preamble={shell: _functions(shell)})
    return text


def _tell(action: argparse.Action, command: str, files: Mapping[str, str]) -> None:
    """Tells shtab what completes the value of an argument, where it is neither any word nor one of a few."""
    if action.dest == "device":
        completed: Mapping[str, str] = dict.fromkeys(SHELLS, _DEVICES)
    elif action.dest == "name" and command in _NAMED:
        completed = dict.fromkeys(SHELLS, _NAMED[command])
    elif action.metavar in _OF_A_FILE:
        completed = files
    else:
        return
    action.complete = completed  # type: ignore[attr-defined]  # read by shtab


def _functions(shell: str) -> str:
    """The functions of a script that complete names."""
    return _FUNCTIONS[shell].format(
        devices=" ".join(device.name for device in xe.devices()),
        examples=" ".join(kernels.EXAMPLES),
        litmus=" ".join(litmus.KNOWN),
    )


def commands(parser: argparse.ArgumentParser) -> Mapping[str, argparse.ArgumentParser]:
    """The parser of each command, by its name."""
    actions = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    return next((action.choices for action in actions), {})

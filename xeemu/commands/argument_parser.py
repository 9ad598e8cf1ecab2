"""Argument parser: what tells which command or option is meant by a misspelt one, and prints versions."""

import argparse
import platform
import re
from collections.abc import Mapping
from typing import Any, NoReturn

import jax
import numpy as np

import xeemu as xe
from xeemu.errors import did_you_mean


class ArgumentParser(argparse.ArgumentParser):
    """A parser that tells which command or option is meant by a misspelt one."""

    def error(self, message: str) -> NoReturn:
        super().error(message + self._meant(message))

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """The words parsed; an option that is not known is told by the command that does not have it."""
        given, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = self._commands.get(getattr(given, "named", ""), self)
            command.error(f"unrecognized arguments: {' '.join(unknown)}")
        return given

    @property
    def _commands(self) -> Mapping[str, Any]:
        actions = (action for action in self._actions if isinstance(action, argparse._SubParsersAction))
        return next((action.choices for action in actions), {})

    def _meant(self, message: str) -> str:
        if found := re.match(r"unrecognized arguments: (--[\w-]+)", message):
            return did_you_mean(found[1], [option for option in self._option_string_actions if option[:2] == "--"])
        if found := re.match(r"argument [^:]*: invalid choice: '(.*?)' \(choose from (.*)\)", message):
            return did_you_mean(found[1], re.findall(r"[\w-]+", found[2]))
        return ""


class VersionAction(argparse.Action):
    """Prints versions, which are looked up only where they are asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(
            f"xeemu {xe.__version__} (JAX {jax.__version__}, NumPy {np.__version__}, "
            f"Python {platform.python_version()})"
        )
        parser.exit()

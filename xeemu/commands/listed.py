"""Listed: files that name what is checked, a line each."""

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path

from xeemu.commands import command_line
from xeemu.commands.argument_parser import ArgumentParser
from xeemu.commands.notation import UsageError


def checks(file: str) -> list[argparse.Namespace]:
    """What each line of a file asks to have checked: words as after `xeemu check`, none after a `#`.

    Raises:
      UsageError: the file cannot be read, or names nothing.
    """
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    found = [_listed_check(f"{file}:{k}", words) for k, line in enumerate(lines, 1) if (words := _words(file, k, line))]
    if not found:
        raise UsageError(f"{file} names no kernel; write a line each, as after xeemu check")
    return found


def _words(file: str, number: int, line: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise UsageError(f"{file}:{number}: {str(error).lower()}") from None


def _listed_check(place: str, words: Sequence[str]) -> argparse.Namespace:
    words_of = ArgumentParser(prog=place, usage="a kernel and its launch, as after xeemu check", add_help=False)
    command_line.add_checked(words_of)
    return words_of.parse_args(command_line.joined(words))

"""What the command line shows while it waits: one line on a terminal, and nothing elsewhere."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

_DELAY_S = 1.0  # what is done sooner shows nothing
_PERIOD_S = 0.5


@contextlib.contextmanager
def phase(what: object, stream: TextIO | None = None) -> Iterator[None]:
    """Shows `what` and the seconds since it began, for as long as the context lasts.

    A launch is one compiled call that tells nothing of how far it is, so the line tells the time and not a fraction.

    Args:
      what: the phase, in a few words; its text is asked for anew each time.
      stream: where to show it; by default the standard error stream. Nothing is written unless it is a terminal.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(what, stream, done), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(what: object, stream: TextIO, done: threading.Event) -> None:
    start, line = time.monotonic(), ""
    pause = _DELAY_S
    while not done.wait(pause):
        line = f"{what} ... {time.monotonic() - start:.0f} s"
        print(f"\r{line}", end="", file=stream, flush=True)
        pause = _PERIOD_S
    if line:
        print(f"\r{' ' * len(line)}\r", end="", file=stream, flush=True)

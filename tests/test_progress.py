"""The line that a terminal shows while something takes long."""

import io
import time

import pytest

from xeemu.sweeps import progress
from xeemu.sweeps.progress import phase


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(progress, "_DELAY_S", 0.02)
    monkeypatch.setattr(progress, "_PERIOD_S", 0.02)


def test_nothing_is_written_where_there_is_no_terminal():
    stream = io.StringIO()
    with phase("waiting", stream):
        time.sleep(0.1)
    assert stream.getvalue() == ""


def test_a_terminal_shows_the_phase_and_the_time_and_is_clean_afterwards():
    stream = Terminal()
    with phase("waiting", stream):
        time.sleep(0.2)
    *shown, blank, end = stream.getvalue().split("\r")
    assert set(shown[1:]) == {"waiting ... 0 s"}
    assert blank == " " * len("waiting ... 0 s")
    assert end == ""


def test_what_is_quick_shows_nothing(monkeypatch):
    monkeypatch.setattr(progress, "_DELAY_S", 60.0)
    stream = Terminal()
    with phase("waiting", stream):
        pass
    assert stream.getvalue() == ""


def test_an_error_passes_and_leaves_the_line_clean():
    stream = Terminal()
    with pytest.raises(ZeroDivisionError), phase("waiting", stream):
        print(1 / (time.sleep(0.1) or 0))
    assert stream.getvalue().endswith("\r")

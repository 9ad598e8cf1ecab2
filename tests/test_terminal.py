"""What a terminal is given that a file is not: colours, and lines of the source as wide as it is."""

import io
import re

import numpy as np
import pytest

import xeemu as xe
from xeemu.commands import cli, completion, parser, terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("environ", "on_terminal", "in_file"),
    [
        ({}, True, False),
        ({"NO_COLOR": ""}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
    ],
)
def test_colours_are_for_terminals_and_as_the_environment_has_it(environ, on_terminal, in_file):
    assert terminal.has_colours(Terminal(), environ) == on_terminal
    assert terminal.has_colours(io.StringIO(), environ) == in_file


def test_a_terminal_may_be_wider_than_a_file(monkeypatch):
    monkeypatch.setenv("COLUMNS", "130")
    assert (terminal.width(Terminal()), terminal.width(io.StringIO())) == (130, 80)
    monkeypatch.setenv("COLUMNS", "20")
    assert terminal.width(Terminal()) == 80


PAINTED = """\
<b>VERDICT</>
  time       4 ns
<y>  H1 bank conflict</>   <c>slm.py:29</>   x
<b>SLM BANKS</>         requests
<r>error (kernel):</> no
<r>error:</> data-race on x, at <c>/a/b-c/mine.cl:3</>: HERE
<y>note:</> GRF
verdict   <g>bit-equal</> to it
example   <r>DIFFERS</>
"""


def test_what_is_painted():
    codes = {"b": "1", "y": "33", "c": "36", "r": "1;31", "g": "32"}
    coloured = re.sub(r"<(\w)>", lambda found: f"\033[{codes[found[1]]}m", PAINTED).replace("</>", "\033[0m")
    assert terminal.painted(re.sub(r"</?\w?>", "", PAINTED)) == coloured


def test_commands_print_as_wide_and_in_colours_on_a_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    shown = {}
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr("sys.stdout", stream)
        assert cli.main(["estimate", "slm_bank_16"]) == 0
        shown[stream.isatty()] = stream.getvalue()
    plain = re.sub(r"\033\[[\d;]*m", "", shown[True])
    assert "\033[1mSOURCE\033[0m" in shown[True]
    assert "\033" not in shown[False]
    text = "slm = slm.at[j * stride].set(slm[j * stride] + m)"
    source = next(line for line in plain.splitlines() if line.startswith("  29  "))
    assert len(source) == 120
    assert text[:40] in source
    assert text[:40] not in shown[False].split("SOURCE")[1]
    assert max(map(len, shown[False].splitlines())) <= 80


def test_a_hint_names_a_line_once():
    report = xe.estimate(spread, xe.NDRange(4096, 256), device="a770")(np.zeros(4096, np.float32))
    (hint,) = (hint for hint in report.hints if hint.kind == "bank conflict")
    places = re.findall(r"test_terminal\.py:(\d+)", str(report).split("HINTS")[1].split("SOURCE")[0])
    assert len(hint.sites) > len(set(places)) == len(places)


@xe.kernel(sub_group_size=16)
def spread(wg, x):
    lid = wg.local_id()
    tile = wg.local(16 * 256, x.dtype)
    tile = tile.at[lid * 16].set(x[wg.global_id()])
    tile = tile.at[lid * 16].set(tile[lid * 16] + 1)
    return x.at[wg.global_id()].set(tile[lid * 16])


def test_a_shell_is_told_the_names_of_devices_examples_and_litmus_tests():
    commands = parser.build(cli._COMMANDS)
    completion.add(commands, lambda prefix, **_: ["mine.py"])
    of = {name: {a.dest: a for a in its._actions} for name, its in completion._commands(commands).items()}
    assert of["devices"]["name"].completer("a7") == ["a770", "a750"]
    assert of["profile"]["device"].completer("b5") == ["b580", "b570"]
    assert of["tune"]["device"].completer("a770,b5") == ["a770,b580", "a770,b570"]
    assert of["run"]["name"].completer("convolution") == ["convolution_global", "convolution_slm", "mine.py"]
    assert of["litmus"]["name"].completer("seed_b") == ["seed_barrier"]

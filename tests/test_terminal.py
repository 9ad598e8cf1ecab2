"""What a terminal is given that a file is not: colours, and lines of the source as wide as it is."""

import io
import re
import subprocess

import numpy as np
import pytest

import xeemu as xe
from xeemu.commands import cli, command_line, completion, terminal


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
    tile = tile.at[lid * 16].set(tile[lid * 16 + 1] + 1)
    return x.at[wg.global_id()].set(tile[lid * 16])


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("xeemu devices a7", "a770 a750"),
        ("xeemu profile x --device b5", "b580 b570"),
        ("xeemu tune x --device a770,b5", "a770,b580 a770,b570"),
        ("xeemu run conv", "convolution_global convolution_slm conv.py"),
        ("xeemu litmus seed_b", "seed_barrier"),
        ("xeemu check x --format g", "github"),
        ("xeemu check x --baseline con", "conv.py"),
        ("xeemu check x --write-b", "--write-baseline"),
    ],
)
def test_a_shell_completes_words_by_its_script_alone(scripts, line, words):
    typed = line.split()
    asks = f"COMP_WORDS=({line}); COMP_CWORD={len(typed) - 1}; _shtab_xeemu; echo ${{COMPREPLY[*]}}"
    told = subprocess.run(["bash", "-c", f". ./bash; {asks}"], cwd=scripts, capture_output=True, text=True)
    assert (told.stdout, told.stderr) == (f"{words}\n", "")


def test_a_script_for_zsh_has_the_functions_that_complete_names(scripts):
    text = (scripts / "zsh").read_text()
    assert all(f"{function}() {{" in text for function in completion._NAMED.values())
    assert "compadd - hd530" in text


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """A folder with the scripts of all shells, and a kernel's file."""
    folder = tmp_path_factory.mktemp("scripts")
    (folder / "conv.py").touch()
    for shell in completion.SHELLS:
        (folder / shell).write_text(completion.script(command_line.build(cli._COMMANDS), shell))
    return folder

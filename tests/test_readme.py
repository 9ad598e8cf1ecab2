"""The README says what is: its program prints its output, its commands exist, its tables are complete."""

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from xeemu.commands import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
ROOMS = re.findall(r"^\| \[`(\w+)/`\]", README, re.MULTILINE)


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(
    ("program", "name", "output"),
    [(0, "histogram", 0), (1, "blur", 2), (2, "means", 4), (3, "mirror", 5), (4, "orders", 6)],
)
def test_a_program_prints_the_output_that_follows_it(program, name, output, tmp_path):
    assert len(blocks("python")) == 5
    (tmp_path / "blur.cl").write_text(blocks("c")[0])
    (tmp_path / "blur.cpp").write_text(blocks("cpp")[0])
    file = tmp_path / f"{name}.py"
    file.write_text(blocks("python")[program])
    run = subprocess.run([sys.executable, file.name], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert run.stdout.replace(f"{tmp_path}/", "") == blocks("text")[output]
    assert run.stderr == ""


def test_the_kernel_has_12_lines():
    kernel = re.search(r"@xe\.kernel\n(?:.+\n|\n(?= ))*", blocks("python")[0])
    assert len([line for line in kernel[0].splitlines() if line]) == 12


def test_the_table_of_devices_is_what_the_command_prints(capsys):
    cli.main(["devices"])
    assert capsys.readouterr().out.startswith(blocks("text")[1])


@pytest.mark.parametrize("room", ["", *ROOMS], ids=lambda room: room or "beside them")
def test_the_table_of_a_room_is_complete(room):
    heading = f"\n### {room}\n" if room else "\nBeside them:\n"
    table = README.split(heading)[1].split("\n#")[0]
    listed = re.findall(r"^\| `(\w+\.py)` \| \S", table, re.MULTILINE)
    there = sorted(path.name for path in (ROOT / "xeemu" / room).glob("*.py"))
    assert listed == [name for name in there if name != "__init__.py"]


def test_no_room_is_missing():
    assert sorted(ROOMS) == sorted(
        path.parent.name for path in (ROOT / "xeemu").glob("*/__init__.py") if path.parent.name != "kernels"
    )


def _imported(path):
    """The modules of xeemu that a file imports, as far as their rooms: "language", "errors"."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "xeemu":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("xeemu."):
            yield node.module.split(".")[1]


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_uses_only_those_above_it(room):
    """And no room but that of the command line knows the examples."""
    above = {*ROOMS[: ROOMS.index(room) + 1], "errors"} | ({"kernels"} if room == "commands" else set())
    used = {(path.name, name) for path in (ROOT / "xeemu" / room).glob("*.py") for name in _imported(path)}
    assert len(used) > 1
    assert [(path, name) for path, name in sorted(used) if name not in above] == []


def test_the_commands_are_accepted():
    commands = re.findall(r"^xeemu (.*)$", blocks("bash")[1], re.MULTILINE)
    assert len(commands) == 20
    for command in commands:
        words = shlex.split(command.replace("[", "").replace("]", ""), comments=True)
        cli._parser().parse_args(words)


def test_the_command_on_a_file_of_opencl_finds_what_is_wrong(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blur.cl").write_text(blocks("c")[0])
    (command,) = re.findall(r"^xeemu (.*)$", blocks("bash")[2], re.MULTILINE)
    assert cli.main(shlex.split(command)) == 1
    assert "Write barrier(CLK_LOCAL_MEM_FENCE) after line 5 and before line 7." in capsys.readouterr().out


def test_the_command_on_a_program_of_sycl_prints_the_output_that_follows_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "blur.cpp").write_text(blocks("cpp")[0])
    (command,) = re.findall(r"^xeemu (.*)$", blocks("bash")[3], re.MULTILINE)
    assert cli.main(shlex.split(command)) == 1
    assert capsys.readouterr().out == blocks("text")[3]


def test_the_scripts_exist():
    scripts = re.findall(r"^(\S+)", blocks("bash")[0], re.MULTILINE)
    assert scripts == ["scripts/demo", "scripts/test"]
    assert all((ROOT / script).stat().st_mode & 0o111 for script in scripts)

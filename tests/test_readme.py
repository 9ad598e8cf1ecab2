"""The README says what is: its program prints its output, its commands exist, its tables are complete."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from xeemu import cli

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize(("program", "name", "output"), [(0, "histogram", 0), (1, "mirror", 2), (2, "orders", 3)])
def test_a_program_prints_the_output_that_follows_it(program, name, output, tmp_path):
    assert len(blocks("python")) == 3
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


def test_the_table_of_modules_is_complete():
    listed = re.findall(r"^\| `(\w+\.py)` \| \S", README, re.MULTILINE)
    assert listed == sorted(path.name for path in (ROOT / "xeemu").glob("*.py") if path.name != "__init__.py")


def test_the_commands_are_accepted():
    commands = re.findall(r"^xeemu (.*)$", blocks("bash")[1], re.MULTILINE)
    assert len(commands) == 16
    for command in commands:
        words = shlex.split(command.replace("[", "").replace("]", ""), comments=True)
        cli._parser().parse_args(words)


def test_the_scripts_exist():
    scripts = re.findall(r"^(\S+)", blocks("bash")[0], re.MULTILINE)
    assert scripts == ["scripts/demo", "scripts/test"]
    assert all((ROOT / script).stat().st_mode & 0o111 for script in scripts)

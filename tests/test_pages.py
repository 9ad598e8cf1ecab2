"""The pages say what is: their programs print the output they show, their commands exist, their tables are complete."""

import ast
import doctest
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import jax
import pages
import pytest

from xeemu.commands import cli, command_line

README = pages.ROOT / "README.md"
ROOMS = re.findall(r"^\| \[`(\w+)/`\]", (pages.ROOT / "xeemu" / "README.md").read_text(), re.MULTILINE)
PROGRAMS = [
    (page, file)
    for page in pages.PAGES
    for file, source in pages.sources(page).items()
    if file.endswith(".py") and source.output
]
COMMANDS = [(page, *command) for page in pages.PAGES for command in pages.commands(page)]


def _files(page: Path, folder: Path) -> None:
    """Writes the files that a page shows into a folder; those of other pages too that it names."""
    for shown in (page, *pages.PAGES):
        for file, source in pages.sources(shown).items():
            if not (folder / file).exists():
                (folder / file).write_text(source.text)


@pytest.mark.parametrize(("page", "file"), PROGRAMS, ids=lambda part: getattr(part, "parent", Path(str(part))).name)
def test_a_program_prints_the_output_that_follows_it(page, file, tmp_path, monkeypatch, capsys):
    _files(page, tmp_path)
    monkeypatch.chdir(tmp_path)
    with jax.numpy_dtype_promotion("standard"):  # as users have it
        runpy.run_path(file, run_name="__main__")
    printed = capsys.readouterr()
    assert printed.out.replace(f"{tmp_path}/", "") == pages.sources(page)[file].output
    assert printed.err == ""


def test_the_programs_of_the_rooms_are_run():
    assert {pages.name(page) for page, _ in PROGRAMS} >= {
        ".",
        "xeemu/language",
        "xeemu/frontends",
        "xeemu/faults",
        "xeemu/stepping",
    }


@pytest.mark.parametrize("page", [page for page in pages.PAGES if pages.sessions(page)], ids=pages.name)
def test_a_session_shows_what_is_printed(page):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    session = doctest.DocTestParser().get_doctest(pages.sessions(page), {}, pages.name(page), str(page), 0)
    told: list[str] = []
    assert runner.run(session, out=told.append).failed == 0, "".join(told)


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 160


def test_the_tables_of_modules_are_those_of_the_docstrings():
    run = subprocess.run([sys.executable, pages.ROOT / "scripts" / "rooms"], capture_output=True, text=True)
    assert run.stdout == ""


def test_no_room_is_missing():
    assert sorted(ROOMS) == sorted(
        path.parent.name for path in (pages.ROOT / "xeemu").glob("*/__init__.py") if path.parent.name != "kernels"
    )


@pytest.mark.parametrize("page", pages.PAGES, ids=pages.name)
def test_the_links_of_a_page_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    assert [link for link in links if not (page.parent / link).exists()] == []


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
    above = {*ROOMS[: ROOMS.index(room) + 1], "documents", "errors", "plurals", "version"} | (
        {"kernels"} if room == "commands" else set()
    )
    used = {(path.name, name) for path in (pages.ROOT / "xeemu" / room).rglob("*.py") for name in _imported(path)}
    assert used
    assert [(path, name) for path, name in sorted(used) if name not in above] == []


def test_the_commands_are_accepted():
    assert len(COMMANDS) >= 20
    for _, command, _ in COMMANDS:
        words = shlex.split(re.sub(r"\[([A-Z]\w*)\]", r"\1", command), comments=True)
        command_line.build(cli._COMMANDS).parse_args(words)


@pytest.mark.parametrize(
    ("page", "command", "output"),
    [shown for shown in COMMANDS if shown[2] is not None],
    ids=lambda part: part.split()[0] if isinstance(part, str) else None,
)
def test_a_command_prints_the_output_that_follows_it(page, command, output, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    _files(page, tmp_path)
    cli.main(shlex.split(command))
    assert capsys.readouterr().out == output


def test_the_scripts_exist():
    scripts = re.findall(r"^(scripts/\S+)", README.read_text(), re.MULTILINE)
    assert scripts == ["scripts/demo", "scripts/test"]
    assert all((pages.ROOT / script).stat().st_mode & 0o111 for script in scripts)

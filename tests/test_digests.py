"""The script that holds what launches become against what they became before a change."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import zipfile

import pytest

SCRIPT = pathlib.Path(__file__).parents[1] / "scripts" / "digests"
PROGRAM = "examples/reduction_serial"


@pytest.fixture(scope="module")
def digests():
    path, before = list(sys.path), sys.dont_write_bytecode
    sys.dont_write_bytecode = True  # its name has no suffix to be told from the cache's
    loader = importlib.machinery.SourceFileLoader("digests", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("digests", loader))
    loader.exec_module(module)
    yield module
    sys.path[:], sys.dont_write_bytecode = path, before


@pytest.fixture
def run(digests, monkeypatch, capsys):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        try:
            code = digests.main()
        except SystemExit as end:
            code = end.code
        return code, capsys.readouterr().out

    return run


@pytest.mark.thorough
def test_a_text_that_has_changed_is_named_and_shown(run, tmp_path):
    file = tmp_path / "before.zip"
    assert run("--write", file, PROGRAM)[0] is None
    assert run("--compare", file, PROGRAM) == (0, "0 of the texts of 1 programs differ\n")
    with zipfile.ZipFile(file) as archive:
        texts = {name: archive.read(name) for name in archive.namelist()}
    forms = {name.removeprefix(f"{PROGRAM}/") for name in texts}
    assert forms >= {"cpu", "gpu", "listing", "estimate"}
    assert texts[f"{PROGRAM}/cpu"] != texts[f"{PROGRAM}/gpu"]
    texts[f"{PROGRAM}/gpu"] = texts[f"{PROGRAM}/gpu"].replace(b"stablehlo.add", b"stablehlo.multiply", 1)
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    code, said = run("--compare", file, PROGRAM)
    assert code == 1
    lines = said.splitlines()
    assert lines[0] == f"{PROGRAM}/gpu"
    assert any(line.lstrip().startswith("-") and "stablehlo.multiply" in line for line in lines)
    assert any(line.lstrip().startswith("+") and "stablehlo.add" in line for line in lines)


def test_a_file_of_another_version_is_refused(run, tmp_path):
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.writestr("made_with.json", '{"JAX": "0.1"}')
    code, _ = run("--compare", tmp_path / "old.zip", PROGRAM)
    assert "was made with JAX 0.1, and here are JAX" in code


def test_a_name_that_is_none_is_refused(run):
    code, _ = run("--list", "examples/histogram_sml")
    assert code == "error: there is no program or group examples/histogram_sml; --list prints them"


def test_every_group_has_programs(run):
    code, said = run("--list", "--random", "1")
    assert code is None
    assert {name.split("/")[0] for name in said.split()} == {"examples", "common", "tests", "random"}

"""What is installed: the wheel's files, the command, and what `scripts/demo` shows."""

import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jax
import pytest

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).parent / "xeemu"

# Runs a command and prints its peak memory and CPU seconds. A peak counts that of the process that starts it as well,
# so that a small one must be in between.
MEASURED = """
import resource, subprocess, sys
run = subprocess.run(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_maxrss, used.ru_utime + used.ru_stime, file=sys.stderr)
sys.exit(run.returncode)
"""


@pytest.fixture
def distribution():
    """xeemu as it was installed; without an installation there is nothing to test here."""
    return importlib.metadata.distribution("xeemu")


def xeemu(*words, **options):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False, **options)


def test_holds_every_module_and_nothing_else(distribution):
    """Each module of the repository is there, of `kernels/` too, the headers, and the mark of a typed package."""
    expected = {str(path.relative_to(ROOT)) for path in (ROOT / "xeemu").rglob("*.py")} | {"xeemu/py.typed"}
    expected |= {
        f"xeemu/kernels/{path.name}" for path in (ROOT / "kernels").glob("*.*") if path.suffix in (".py", ".cl", ".cpp")
    }
    data = [f for name in ("headers", "templates") for f in (ROOT / "xeemu").rglob(name)]
    headers = [path for folder in data for path in folder.rglob("*") if path.is_file()]
    expected |= {str(path.relative_to(ROOT)) for path in headers}
    installed = {str(file) for file in distribution.files if file.parts[0] == "xeemu" and file.suffix != ".pyc"}
    assert installed == expected


def test_every_package_is_named_for_the_wheel():
    """An installation in place finds packages that the wheel would lack."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {str(path.parent.relative_to(ROOT)).replace("/", ".") for path in (ROOT / "xeemu").rglob("*.py")}
    assert set(settings["packages"]) == folders | {"xeemu.kernels"}


@pytest.mark.thorough
def test_a_checkout_finds_its_kernels():
    """Python run in a checkout's root takes the package there, however xeemu is installed (-S: no finders)."""
    packages = os.pathsep.join((str(ROOT), *filter(None, sys.path)))
    command = [sys.executable, "-S", "-c", "import xeemu.kernels; print(xeemu.kernels.__file__)"]
    run = subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": packages}, capture_output=True, text=True)
    assert run.stdout.strip() == str(ROOT / "kernels" / "__init__.py"), run.stderr


def test_says_what_the_project_says(distribution):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert distribution.version == project["version"]
    assert distribution.metadata["Requires-Python"] == ">=3.11"
    required = [re.match("[a-z]+", text)[0] for text in distribution.requires if "extra" not in text]
    assert sorted(required) == ["chex", "jax", "jaxlib", "numpy"]
    assert set(distribution.metadata.get_all("Provides-Extra")) == {
        "completion",
        "html",
        "opencl",
        "plot",
        "test",
        "testing",
    }


def test_the_command_tells_its_version(distribution, tmp_path):
    run = xeemu("--version", cwd=tmp_path)
    assert run.returncode == 0
    assert run.stdout.startswith(f"xeemu {distribution.version} (JAX {jax.__version__}, NumPy ")


@pytest.mark.thorough
def test_the_command_does_not_mind_a_reader_that_leaves():
    with subprocess.Popen([COMMAND, "kernels"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        run.stdout.close()
        assert run.stderr.read() == b""
    assert run.returncode == 0


@pytest.mark.thorough
def test_an_error_is_no_traceback():
    run = xeemu("run", "convolution_slm", "--size", "1000x3")
    assert (run.returncode, run.stdout) == (2, "")
    refusal = r"error \(nd_range\): the global size 1000 is not divisible by the local size 256.*\n"
    assert re.fullmatch(refusal, run.stderr)


@pytest.mark.thorough
def test_the_demo_counts_16_million_words_in_time_and_memory():
    """The histogram that `scripts/demo` shows: correct, under 60 s and under 2 GiB."""
    command = re.search(r"xeemu\" (.*)$", (ROOT / "scripts" / "demo").read_text(), re.MULTILINE)[1].split()
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, COMMAND, *command], capture_output=True, text=True, check=True
    )
    text, (peak, seconds) = run.stdout, map(float, run.stderr.split()[-2:])
    assert "words = 16777216" in text
    assert "bit-equal to the NumPy reference" in text
    assert "sum 134217728" in text
    assert peak * (1 if sys.platform == "darwin" else 1024) < 2 * 2**30
    assert seconds < 2 * 60


@pytest.mark.parametrize("script", ["scripts/demo", "scripts/test", "scripts/test-long", ".ci/run"])
def test_scripts_are_executable_bash(script):
    path = ROOT / script
    assert path.stat().st_mode & 0o111
    assert path.read_text().startswith("#!/usr/bin/env bash\n")
    assert subprocess.run(["bash", "-n", path], capture_output=True, check=False).stderr == b""

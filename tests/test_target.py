"""Kinds of hosts: each figure is described, and nothing else in xeemu asks where it runs."""

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from xeemu.devices import target
from xeemu.devices.target import CPU, GPU, Target

ROOT = Path(target.__file__).parents[1]
ROOMS = ("language", "knowledge", "emission", "stepping", "launching", "inspection", "faults", "cost", "sweeps")
PARTS = [type(x) for x in vars(CPU).values() if dataclasses.is_dataclass(x)]


@pytest.mark.parametrize("part", [Target, *PARTS], ids=lambda part: part.__name__)
def test_every_figure_is_described_and_says_where_it_was_measured(part):
    attributes = part.__doc__.split("Attributes:")[1]
    described = {
        name for names in re.findall(r"^ {6}(\w[\w, ]*):", attributes, re.MULTILINE) for name in names.split(", ")
    }
    assert described == {field.name for field in dataclasses.fields(part)}
    assert re.search(r"2-core CPU|H200|not recorded", part.__doc__)


def test_what_is_no_cpu_counts_as_a_gpu():
    assert target.of_platform("cpu") is CPU
    assert {target.of_platform(platform) for platform in ("gpu", "cuda", "rocm", "tpu")} == {GPU}


def _asks(path):
    """The lines of a file that compare something with the name of a platform, or look something up by it."""
    for node in ast.walk(ast.parse(path.read_text())):
        compared = isinstance(node, ast.Compare) and any(_is_platform(x) for x in (node.left, *node.comparators))
        looked_up = isinstance(node, ast.Dict) and any(map(_is_platform, node.keys))
        if compared or looked_up:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def _is_platform(node):
    return isinstance(node, ast.Constant) and node.value in ("cpu", "gpu", "cuda")


def test_nothing_else_asks_where_it_runs():
    files = [path for room in ROOMS for path in (ROOT / room).glob("*.py")]
    assert [line for path in files for line in _asks(path)] == []
    assert [path for path in files if "on_cpu" in path.read_text()] == []

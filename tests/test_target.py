"""Kinds of hosts: each figure is described, and nothing else in xeemu asks where it runs."""

import ast
import dataclasses
import inspect
import re
from pathlib import Path

import jax.numpy as jnp
import launches
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.devices import target
from xeemu.devices.target import CPU, GPU, Target

ROOT = Path(target.__file__).parents[1]
ROOMS = (
    "language",
    "ir",
    "knowledge",
    "passes",
    "planning",
    "emission",
    "stepping",
    "launching",
    "inspection",
    "faults",
    "cost",
    "sweeps",
    "programs",
)
SMALL = dataclasses.replace(CPU.blocks, reduced_elements=1 << 8)
NARROW = dataclasses.replace(CPU, name="narrow", vector_bits=128, blocks=SMALL)
"""Made up, as a host with figures of its own."""
HOSTS = [*target.TARGETS.values(), GPU, NARROW]
PARTS = [type(x) for x in vars(CPU).values() if dataclasses.is_dataclass(x)]


@pytest.mark.whole
@pytest.mark.parametrize("part", [Target, *PARTS], ids=lambda part: part.__name__)
def test_every_figure_is_described_and_says_where_it_was_measured(part):
    attributes = inspect.cleandoc(part.__doc__).split("Attributes:")[1]
    described = {
        name for names in re.findall(r"^ {2}(\w[\w, ]*):", attributes, re.MULTILINE) for name in names.split(", ")
    }
    assert described == {field.name for field in dataclasses.fields(part)}
    assert re.search(r"2-core CPU|2-core EPYC|H200", part.__doc__)


def test_what_is_no_cpu_counts_as_a_gpu():
    assert target.of_platform("cpu") is CPU
    others = {"gpu", "cuda", "rocm", "tpu"} - target.TARGETS.keys()
    assert {target.of_platform(platform) for platform in others} <= {GPU}


def _asks(path):
    """The lines of a file that compare something with the name of a platform, or look something up by it."""
    for node in ast.walk(ast.parse(path.read_text())):
        compared = isinstance(node, ast.Compare) and any(_is_platform(x) for x in (node.left, *node.comparators))
        looked_up = isinstance(node, ast.Dict) and any(map(_is_platform, node.keys))
        if compared or looked_up:
            yield f"{path.relative_to(ROOT)}:{node.lineno}"


def _is_platform(node):
    return isinstance(node, ast.Constant) and node.value in ("cpu", "gpu", "cuda", "rocm", "tpu")


def test_nothing_else_asks_where_it_runs():
    files = [path for room in ROOMS for path in (ROOT / room).glob("*.py")]
    assert [line for path in files for line in _asks(path)] == []
    assert [path for path in files if "on_cpu" in path.read_text()] == []


def test_a_host_is_found_by_its_name(monkeypatch):
    monkeypatch.setattr(target, "TARGETS", {**target.TARGETS, "narrow": NARROW})
    assert {name: target.of_platform(name).name for name in target.TARGETS} == {name: name for name in target.TARGETS}
    assert target.of_platform("narrow") is NARROW


@pytest.mark.whole
@pytest.mark.parametrize("host", HOSTS, ids=lambda host: host.name)
def test_a_launch_gives_the_same_as_on_every_host(host, monkeypatch):
    """With its figures on the CPU of the test: local memory, a loop, a table by a remainder, and updates."""

    @xe.kernel
    def everyday(wg, x, table, sums, counts):
        i, lid = wg.global_id(), wg.local_id()
        tile = wg.local(wg.size, jnp.int32)
        tile = wg.barrier(tile.at[lid].set(x[i] * table[i % 5]))
        total = lax.fori_loop(0, wg.size, lambda k, total: total + tile[k], jnp.zeros_like(lid))
        return sums.at[i].set(total + tile[wg.size - 1 - lid]), counts.atomic[x[i] & 7].add(1)

    monkeypatch.setattr(target, "TARGETS", {"cpu": host})
    x, table = np.random.default_rng(0).integers(0, 99, 256).astype(np.int32), np.arange(3, 8, dtype=np.int32)
    arguments = (x, table, np.zeros_like(x), np.zeros(8, np.int32))
    ready = launches.prepared(everyday, xe.NDRange(256, 32), arguments)
    assert ready.options.target is host
    sums, counts = launches.run(ready, arguments)
    tiles = (x * table[np.arange(256) % 5]).reshape(-1, 32)
    np.testing.assert_array_equal(sums, (tiles.sum(1, keepdims=True) + tiles[:, ::-1]).ravel())
    np.testing.assert_array_equal(counts, np.bincount(x & 7, minlength=8))

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


CONSTANTS = {
    "limits of numbers, and numbers that stand for something": """
        passes/scratchpad_copies._ALL planning/collected_updates._COUNTED emission/invariant_divisions._HALF
        emission/invariant_divisions._LOW emission/invariant_divisions._ALL launching/chunking._INT32_LIMIT
        launching/threads._INT32_LIMIT knowledge/addressing._INT32_LIMIT knowledge/conversions._WIDE
        knowledge/periodicity._LONGEST knowledge/termination._MOST stepping/owed_barriers._NOTHING""",
    "XLA's and JAX's, on any host": "planning/straight_programs._MOST_PLACES launching/threads._ALIGNMENT_BYTES",
    "what an analysis looks at before it gives up, on any host": """
        passes/scratchpad_copies._UNITS passes/scratchpad_copies._MOST_VALUES knowledge/bit_fields._MOST
        knowledge/bit_fields.LARGEST knowledge/budget.UNITS knowledge/budget.UNITS_OF_DIVISION
        knowledge/budget._VALUES_OF_A_UNIT knowledge/conflicts._MOST_ELEMENTS knowledge/dataflow._PATIENCE
        knowledge/expressions._LARGEST knowledge/expressions._MOST_VALUES knowledge/forms._LARGEST_PATTERN
        knowledge/instances._MOST knowledge/instances._MOST_REGIONS knowledge/instances._INSTANCES_OF_A_UNIT
        knowledge/periodicity.FEW_VALUES knowledge/periodicity._FEW_POINTS knowledge/periodicity._MOST_BOXES
        knowledge/periodicity._MOST_CORNERS knowledge/symbolic._LARGEST_CONSTANT
        knowledge/symbolic_execution._MOST_ITERATIONS knowledge/symbolic_execution._MOST_WALKS
        knowledge/symbolic_execution._UNITS_OF_OPERATION""",
    "how much is kept, and how often something is tried": """
        passes/building._MOST_KEPT launching/options.MOST_KEPT launching/options.MOST_WATCHED
        launching/executables._MOST_ATTEMPTS""",
    "of kernels: how often they do something": """
        emission/observer.MAX_ITERATIONS knowledge/work._USUAL_ITERATIONS stepping/steps._TIMES
        stepping/rounds._MOST""",
    "of orders that are drawn": "stepping/interleaving._EFFORT_OF_A_TURN stepping/rounds._IDLE stepping/turns._FEW",
}
"""Numbers that modules of the engine have for themselves, by why they are no figures of a host."""


def _numbers(path):
    """The names of a module's constants that are numbers, or several."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and _is_number(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
            yield from (f"{path.parent.name}/{path.stem}.{name}" for name in names)


def _is_number(node):
    match node:
        case ast.Constant(value=value):
            return type(value) in (int, float)
        case ast.Tuple(elts=parts) | ast.Call(func=ast.Attribute(value=ast.Name(id="np")), args=parts):
            return all(map(_is_number, parts))
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) or _is_number(right)
    return False


def test_a_number_of_a_module_is_no_figure_of_a_host():
    """What pays on a host stands in `Target`; another number that a module needs is listed above, with the reason."""
    rooms = ("passes", "planning", "emission", "launching", "knowledge", "stepping")
    found = {name for room in rooms for path in (ROOT / room).glob("*.py") for name in _numbers(path)}
    assert found == {name for names in CONSTANTS.values() for name in names.split()}


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

"""A launch over several devices gives the bits of one device, or says what cannot be put together."""

import json
import socket
import subprocess
import sys

import pytest
import sharded

import xeemu as xe

SLICED = (
    *("some items", "some groups", "slice", "slice 64 bits", "slice in one chunk", "in place", "rows"),
    *("mesh of two axes", "convolution_slm"),
)
REFUSED = {
    "clash": "two devices have stored different values to out[3]",
    "old value": "out is updated by add, which gives the old value, in a launch over several devices",
    "mixed": "out is updated by max and by add in a launch over several devices",
    "stored and added": "out is updated by store and by add",
    "read back": "out is read in a launch over several devices, each of which sees its own updates alone",
    "unproved inside jit": "inside a jit, a launch over several devices must be known to keep their stores apart",
}


def finished(process):
    out, error = process.communicate(timeout=500)
    assert process.returncode == 0, error[-3000:]
    return json.loads(out.splitlines()[-1])


def started(*arguments):
    command = [sys.executable, sharded.__file__, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def outcomes(request):
    """Of the cases that this run asks for."""
    asked = {item.callspec.params.get("name") for item in request.session.items if "outcomes" in item.fixturenames}
    return finished(started(*asked & {*NAMES, *REFUSED}))


NAMES = (
    *(f"atomic {op}" for op in ("add", "sub", "min", "max", "and_", "or_", "xor")),
    *(f"float {op}, NaN in {where}" for op in ("min", "max") for where in ("elements", "result")),
    *("float min", "float max", "slice", "slice 64 bits", "slice in one chunk", "mirrored", "mirrored floats"),
    *(
        "some items",
        "some groups",
        "beyond the end",
        "mirrored bytes",
        "scattered",
        "scattered bools",
        "add and sub",
        "two memories",
        "in place",
        "rows",
    ),
    *("columns of groups", "3 groups", "no group", "plain range", "last chunk not full", "agreeing"),
    *(
        "convolution_slm",
        "convolution_global",
        "histogram_slm",
        "matmul_tiled",
        "mesh of two axes",
        "inside jit",
        "beside a jit",
        "without a mesh",
        "within a mesh",
    ),
)


@pytest.mark.thorough
@pytest.mark.parametrize("name", NAMES)
def test_four_devices_give_the_bits_of_one(name, outcomes):
    assert outcomes[name].get("same"), outcomes[name]


@pytest.mark.parametrize("name", SLICED)
def test_a_result_is_divided_where_each_device_writes_its_part(name, outcomes):
    assert outcomes[name]["sliced"] == [True]


@pytest.mark.parametrize("name", ["slice", "slice 64 bits", "rows", "convolution_slm", "mesh of two axes"])
def test_a_device_that_only_stores_to_its_part_takes_no_more_of_it(name, outcomes):
    assert outcomes[name]["own"] == [True]


@pytest.mark.parametrize("name", ["in place", "some items", "some groups", "beyond the end", "mirrored", "atomic add"])
def test_any_other_device_has_the_whole_memory(name, outcomes):
    assert outcomes[name]["own"] == [False]


@pytest.mark.parametrize("name", ["mirrored", "scattered", "atomic add", "3 groups"])
def test_any_other_result_is_on_all_devices(name, outcomes):
    assert outcomes[name]["sliced"] == [False]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_put_together_is_refused_with_its_line(name, outcomes):
    assert REFUSED[name] in outcomes[name]["error"]
    assert "sharded.py:" in outcomes[name]["error"]


def test_every_case_is_looked_at():
    assert {*(name for name, *_ in sharded.cases()), *sharded.OTHERS} == {*NAMES, *REFUSED}


@pytest.mark.thorough
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.long)])
def test_two_processes_give_the_bits_of_one_device(every):
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    names = [name for name in NAMES if name not in ("inside jit", "beside a jit", "without a mesh", "within a mesh")][
        ::every
    ]
    processes = [started("--process", k, "--port", port, *names) for k in range(2)]
    first, second = map(finished, processes)
    assert first == second
    for name in names:
        assert first[name].get("same"), (name, first[name])


@pytest.mark.parametrize("mesh", [4, "groups", ["cpu"]])
def test_a_mesh_is_a_mesh(mesh):
    @xe.kernel
    def nothing(wg, x):
        return x

    with pytest.raises(xe.KernelArgumentError, match=r"give a jax.sharding.Mesh"):
        xe.launch(nothing, xe.NDRange(64, 64), mesh=mesh)

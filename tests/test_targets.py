"""What a command line names: examples, and the examples and kernels of a user's own file."""

import sys

import numpy as np
import pytest

import xeemu as xe
from xeemu.commands import targets
from xeemu.commands.notation import UsageError
from xeemu.commands.targets import KernelOptions
from xeemu.kernels import EXAMPLES

SOURCE = '''
import numpy as np
import xeemu as xe
from neighbour import FACTOR
from xeemu.kernels import Example

@xe.kernel
def scale(wg, x, n, *, factor=FACTOR):
    """Multiplies the first elements."""
    i = wg.global_id()
    return x.at[i].set(x[i] * factor, where=i < n)

mine = Example(
    name="mine", summary="", kernel=scale, size=(64,), size_names=("elements",),
    nd_range=lambda size: xe.NDRange(size[0]), inputs=lambda size: (np.arange(size[0]), np.int32(5)),
    reference=None, work=lambda size: size[0], unit="elements",
)

def function(): ...
'''


@pytest.fixture(autouse=True)
def untouched_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def file(tmp_path):
    (tmp_path / "neighbour.py").write_text("FACTOR = 3\n")
    (tmp_path / "mine.py").write_text(SOURCE)
    return tmp_path / "mine.py"


def find(name, size=None, **options):
    return targets.find(str(name), size, KernelOptions(**options))


def test_an_example_of_the_collection():
    target = find("histogram_slm")
    assert target.example is EXAMPLES["histogram_slm"]
    assert not target.bare


def test_an_example_of_a_file(file):
    target = find(f"{file}:mine", size=(32,))
    assert target.example.name == "mine"
    assert not target.bare


def test_a_kernel_of_a_file(file):
    target = find(
        f"{file}:scale",
        global_size=(64,),
        local_size=(16,),
        arguments=["n=int32:10", "x=int32[64]:arange"],
        static=["factor=7"],
    )
    example = target.example
    assert target.bare
    assert (example.name, example.summary) == ("scale", "Multiplies the first elements.")
    assert example.nd_range(example.size) == xe.NDRange(64, 16)
    assert example.work(example.size) == 64
    output = example.launch(example.inputs(example.size))
    expected = np.arange(64, dtype=np.int32)
    expected[:10] *= 7
    np.testing.assert_array_equal(output, expected, strict=True)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mine.py", {}, r"write .*mine\.py:NAME with one of scale, mine"),
        ("mine.py:other", {}, r"mine\.py has no 'other'; write .*mine\.py:NAME with one of scale, mine"),
        ("mine.py:function", {}, r"function in .*mine\.py is a function, neither a kernel nor an example; write"),
        ("mine.py:scale", {}, "is a kernel: write its sizes, such as --global-size 4096 --local-size 64"),
        ("mine.py:scale", {"global_size": (64, 0)}, "64x0: sizes are numbers from 1, such as --global-size 64x64"),
        ("mine.py:scale", {"size": (64,)}, "is a kernel, which has no --size: write --global-size and --local-size"),
        ("mine.py:scale", {"global_size": (64,)}, r"takes x, n; write also --arg x=float32\[1024\] --arg n=float32"),
        (
            "mine.py:scale",
            {"global_size": (64,), "arguments": ["n=int32:1", "x=int32[9]", "factor=int32:3"]},
            "kernel scale has no parameter factor; it takes x, n, and static parameters go with --static",
        ),
        ("mine.py:mine", {"arguments": ["x=int32[9]"], "static": ["a=1"]}, "leave out --arg, --static"),
        ("none.py:scale", {}, r"there is no file .*none\.py; write the path of a Python file, a colon and a name"),
        ("neighbour.py:x", {}, "has neither kernels nor examples; decorate a function with @xe.kernel"),
        ("notes.txt:x", {}, r"notes\.txt is not a Python file; its name should end in \.py"),
        ("syntax.py:x", {}, r"syntax\.py cannot be loaded: SyntaxError: .*line 1"),
        ("broken.py:x", {}, r"(?s)broken\.py cannot be loaded: ZeroDivisionError: .*\n  at .*broken\.py:2"),
    ],
)
def test_what_cannot_be_run_is_refused(file, name, options, message):
    (file.parent / "notes.txt").write_text("")
    (file.parent / "syntax.py").write_text("x = (\n")
    (file.parent / "broken.py").write_text("x = 0\n1 / x\n")
    with pytest.raises(UsageError, match=message):
        find(file.parent / name, **options)


def test_an_error_of_xeemu_in_a_file_stays_what_it_is(tmp_path):
    (tmp_path / "file.py").write_text("import xeemu as xe\nxe.NDRange(-1)\n")
    with pytest.raises(xe.NDRangeError):
        find(f"{tmp_path / 'file.py'}:x")


def test_unknown_example():
    with pytest.raises(xe.KernelArgumentError, match="did you mean 'matmul_tiled'"):
        find("matmul_tile")

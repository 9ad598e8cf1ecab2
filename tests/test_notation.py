"""The notation of sizes, arguments and static parameters on the command line."""

import argparse

import jax
import numpy as np
import pytest

from xeemu.commands import notation
from xeemu.commands.notation import UsageError

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64"),
]


@pytest.mark.parametrize(
    ("text", "expected"), [("4096", (4096,)), ("64x32", (64, 32)), ("64,32,2", (64, 32, 2)), ("1_000", (1000,))]
)
def test_sizes(text, expected):
    assert notation.sizes(text) == expected


@pytest.mark.parametrize("text", ["", "x", "64x", "6.4", "64*64", "(64,64)"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match=r"is not a size; write whole numbers .* 4096 or 64x64"):
        notation.sizes(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=int32[3]:zeros", np.zeros(3, np.int32)),
        ("a=float32[2,3]:zeros", np.zeros((2, 3), np.float32)),
        ("a=uint8[2, 200]:arange", np.arange(400).astype(np.uint8).reshape(2, 200)),
        ("a=float64[4]:1.5", np.full(4, 1.5)),
        ("a=int64[2]:-7", np.full(2, -7, np.int64)),
        ("a=uint32[2]:0xFF", np.full(2, 255, np.uint32)),
        ("a=bool[2]:1", np.ones(2, np.bool_)),
        ("a=int32:5", np.int32(5)),
        ("a=float16:-0.5", np.float16(-0.5)),
        ("a=uint64:18446744073709551615", np.uint64(2**64 - 1)),
    ],
)
def test_arguments(text, expected):
    name, value = notation.argument(text, 0)
    assert name == "a"
    np.testing.assert_array_equal(value, expected, strict=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_random_elements(dtype):
    """The same every time, others in another position, and over the whole range."""
    text = f"a={dtype}[50,20]"
    (_, first), (_, again), (_, other) = (notation.argument(text, k) for k in (0, 0, 1))
    assert (first.dtype.name, first.shape) == (dtype, (50, 20))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if "int" in dtype else (0, 1)
    assert abs(float(first.astype(np.float64).mean()) - (low + high) / 2) < 0.05 * (high - low)
    assert (first.astype(np.float64) >= low).all()
    assert (first.astype(np.float64) <= high).all()


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float64", "bfloat16"])
def test_random_elements_between_bounds(dtype):
    _, found = notation.argument(f"a={dtype}[500]:random:low=3:high=7", 0)
    assert set(found.astype(np.float64).astype(int).tolist()) - {7} == {3, 4, 5, 6}
    assert dtype == "bfloat16" or found.max() < 7
    others = [notation.argument(f"a={dtype}[500]:random:low=3:high=7:seed={seed}", 0)[1] for seed in (1, 1, 2)]
    np.testing.assert_array_equal(others[0], others[1])
    assert (others[0] != others[2]).any()
    assert (others[0] != found).any()


@pytest.mark.parametrize("text", ["a={}", "a=int16[2,2]:{}"])
def test_files(tmp_path, text):
    array = np.array([[1, 2], [3, 4]], np.int16)
    np.save(tmp_path / "a.npy", array)
    _, value = notation.argument(text.format(tmp_path / "a.npy"), 0)
    np.testing.assert_array_equal(value, array, strict=True)


@pytest.mark.parametrize("fill", ["", ":zeros", ":arange", ":7"])
def test_where_shapes_will_do_no_array_is_made(fill):
    name, value = notation.argument(f"a=int16[1099511627776,1024]{fill}", 0, shapes_only=True)
    assert (name, value) == ("a", jax.ShapeDtypeStruct((2**40, 1024), np.int16))


def test_where_shapes_will_do_a_scalar_has_its_value_and_a_file_its_shape(tmp_path):
    assert notation.argument("n=int16:5", 0, shapes_only=True)[1] == np.int16(5)
    np.save(tmp_path / "a.npy", np.zeros((2, 3), np.int16))
    for text in (f"a={tmp_path / 'a.npy'}", f"a=int16[2,3]:{tmp_path / 'a.npy'}"):
        assert notation.argument(text, 0, shapes_only=True)[1] == jax.ShapeDtypeStruct((2, 3), np.int16)
    with pytest.raises(UsageError, match=r"a\.npy holds int16\[2,3\]"):
        notation.argument(f"a=int16[4]:{tmp_path / 'a.npy'}", 0, shapes_only=True)
    with pytest.raises(UsageError, match="'ones' is no number of dtype int8"):
        notation.argument("a=int8[3]:ones", 0, shapes_only=True)


def test_a_file_must_hold_what_was_said(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3, np.int16))
    with pytest.raises(UsageError, match=r"a\.npy holds int16\[3\]"):
        notation.argument(f"a=int16[4]:{tmp_path / 'a.npy'}", 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a", r"--arg a: write NAME=VALUE, such as --arg data=uint32\[65536\]"),
        ("=int32[3]", "write NAME=VALUE"),
        ("a=", "write NAME=VALUE"),
        (
            "a=int33[3]",
            r"'int33' is no dtype \(did you mean 'int32'\?\); they are bool, .*; write for example a=",
        ),
        ("a=int32[3]:zeroz", r"'zeroz' is no number of dtype int32 \(did you mean 'zeros'\?\)"),
        ("a=int32", "an array has a shape, a scalar a value; write for example"),
        ("a=int32[]:5", r"\[\] is no shape, which has a number for each dimension"),
        ("a=int32[-3]", "it is no array, scalar or file"),
        ("a=int8[3]:300", "300 out of bounds for int8"),
        ("a=int8:1.5", "'1.5' is no number of dtype int8"),
        ("a=int8[3]:random:low=2:high=200", "low=2:high=200 is no range of int8"),
        ("a=int8[3]:random:most=2", "random has no most"),
        ("a=int8[3]:ones", "'ones' is no number of dtype int8"),
        ("a=nothing.npy", "No such file"),
    ],
)
def test_what_is_no_argument_is_refused(text, message):
    with pytest.raises(UsageError, match=message):
        notation.argument(text, 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("n=256", 256), ("n=(1, 2)", (1, 2)), ("n=True", True), ("n=None", None), ("n=add", "add"), ("n='5'", "5")],
)
def test_static_parameters(text, expected):
    assert notation.static(text) == ("n", expected)


def test_what_is_written_twice_is_refused():
    assert notation.once("--static", [("n", 1), ("m", 1)]) == {"n": 1, "m": 1}
    with pytest.raises(UsageError, match=r"--static n=\.\.\. is written twice; leave out one of them"):
        notation.once("--static", [("n", 1), ("m", 1), ("n", 2)])


def test_a_static_parameter_needs_a_name():
    with pytest.raises(UsageError, match="--static 256: write NAME=VALUE, such as --static num_bins=256"):
        notation.static("256")


class TestSpace:
    @pytest.mark.parametrize(
        ("text", "choices"),
        [("64", [64]), ("64,128", [64, 128]), ("16x16,8x4x2,7", [(16, 16), (8, 4, 2), 7])],
    )
    def test_sizes(self, text, choices):
        assert notation.size_choices(text) == choices
        assert notation.global_size(text) == choices

    @pytest.mark.parametrize("text", ["", "64,", "a", "8x", "-8", "64 128"])
    def test_what_is_no_list_of_sizes(self, text):
        with pytest.raises(argparse.ArgumentTypeError, match="is no list of sizes; write whole numbers"):
            notation.size_choices(text)

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("4096//block", 1024),
            (" (n + 3) % 5 * block - 1", 11),
            ("(n//block, local_size[1])", (1, 8)),
            ("local_size", (4, 8)),
        ],
    )
    def test_global_size_as_an_expression(self, text, value):
        assert notation.global_size(text)({"block": 4, "n": 5, "local_size": (4, 8)}) == value

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("4096//blck", "blck is not known; names are block, local_size"),
            ("word * 2", "word is not known"),
            ("print(1)", "print(1) is not known"),
            ("block / 2", "block / 2 is not known"),
            ("1.5", "1.5 is not known"),
            ("1 // 0", "1 // 0: integer division or modulo by zero"),
            ("local_size[2]", "local_size[2]: tuple index out of range"),
            ("block[0]", "block[0]: 'int' object is not subscriptable"),
        ],
    )
    def test_expressions_without_a_value(self, text, message):
        with pytest.raises(UsageError) as caught:
            notation.global_size(text)({"block": 4, "local_size": (4, 8), "word": "w"})
        assert str(caught.value).startswith(f"--global-size {text}: {message}")

    def test_what_is_no_expression(self):
        with pytest.raises(argparse.ArgumentTypeError, match="is neither sizes nor an expression; write for example"):
            notation.global_size("64 +")

    @pytest.mark.parametrize(
        ("text", "choices"),
        [
            ("b=16,64", [16, 64]),
            ("b=1", [1]),
            ("b=(1,2),(3,4)", [(1, 2), (3, 4)]),
            ("b=True,'x'", [True, "x"]),
            ("b=fast,2,slow", ["fast", 2, "slow"]),
        ],
    )
    def test_static_parameters(self, text, choices):
        assert notation.static_choices(text) == ("b", choices)

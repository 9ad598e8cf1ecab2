"""How sizes, arguments and static parameters are written on a command line."""

import argparse
import ast
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.commands.verdict import describe
from xeemu.errors import did_you_mean
from xeemu.kernels.example import SEED

SYNTAX = """\
arguments of a kernel, one --arg for each of its parameters:
  data=uint32[65536]        an array of random elements: integers over the whole
                            range of the dtype, floats from 0 to 1
  data=uint32[64]:random:low=0:high=16:seed=1
                            others, high excluded
  hist=uint32[256]:zeros    an array of zeros
  a=float32[64,64]:arange   0, 1, 2, ... in C order
  a=float32[64,64]:1.5      the same number everywhere
  n=int32:5                 a scalar
  data=input.npy            an array that numpy.save wrote
static parameters of a kernel:
  --static num_bins=256     a Python literal; anything else is taken as a string
In some shells, such as zsh, an argument with brackets needs quotes."""

SPACE_SYNTAX = """\
what is swept, each with commas between the choices:
  --device max1550,a770          devices
  --local-size 64,128,16x16      work-items of a work-group
  --sub-group 16,32              work-items of a sub-group
  --static block=16,64           a static parameter: Python literals or strings
  --global-size 65536            work-items of the launch; or an expression in
  --global-size 1048576//block   what else is swept: + - * // % ( ) and, for
  --global-size '(m, 64*block)'  more than one dimension, a tuple"""

_FILLS = ("random", "zeros", "arange")
_OF_RANDOM = ("seed", "low", "high")
_DTYPES: Mapping[str, np.dtype] = {
    np.dtype(t).name: np.dtype(t)
    for t in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, jnp.bfloat16, np.float32, np.float64),
    )
}
_SIZE_CHOICES = re.compile(r"\d+(x\d+)*(,\d+(x\d+)*)*")
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_ARRAY_OR_SCALAR = re.compile(r"(?P<dtype>\w+)(\[(?P<shape>[\d_, ]*)\])?(:(?P<fill>.+))?")


class UsageError(Exception):
    """A command that cannot be carried out as written; the message says what to write."""


def sizes(text: str) -> tuple[int, ...]:
    """The numbers of a size such as `4096`, `64x64` or `64,64`; the type of an option of argparse."""
    try:
        return tuple(int(number) for number in re.split("[x,]", text))
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a size; write whole numbers with x or commas between them, such as 4096 or 64x64"
        ) from None


def memory(text: str) -> int:
    """The bytes of a size of memory such as `16384`, `16k`, `16 KiB` or `1M`; the type of an option of argparse."""
    found = re.fullmatch(r"(\d+)\s*([kKmM]?)(i?[bB])?", text.strip())
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no size of memory; write bytes, or units of 1024 of them, such as 16384 or 16k"
        )
    return int(found[1]) * 1024 ** " km".index(found[2].lower() or " ")


def argument(text: str, position: int, shapes_only: bool = False) -> tuple[str, Any]:
    """The name and the value of an argument written as in `SYNTAX`.

    Args:
      text: `NAME=VALUE`.
      position: number of the argument; arguments in different positions have different random elements.
      shapes_only: true to give a `jax.ShapeDtypeStruct` for an array, which is then not made.

    Raises:
      UsageError: it is not written so, or its file cannot be read.
    """
    name, written = _named("--arg", text, "data=uint32[65536]")
    try:
        return name, _value(written, position, shapes_only)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"--arg {text}: {error}; write for example {name}=uint32[65536], {name}=float32[64,64]:zeros, "
            f"{name}=int32:5 or {name}=file.npy"
        ) from None


def static(text: str) -> tuple[str, Any]:
    """The name and the value of a static parameter written as in `SYNTAX`."""
    name, written = _named("--static", text, "num_bins=256")
    try:
        return name, ast.literal_eval(written)
    except (ValueError, SyntaxError):
        return name, written


def once(option: str, pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Values by their names.

    Raises:
      UsageError: a name is there twice.
    """
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise UsageError(f"{option} {name}=... is written twice; leave out one of them")
        found[name] = value
    return found


def size_choices(text: str) -> list[Any]:
    """The sizes of a list such as `64,128` or `16x16,8x32`; the type of an option of argparse."""
    if not _SIZE_CHOICES.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} is no list of sizes; write whole numbers, with x between the dimensions and commas between the "
            "choices, such as 64,128 or 16x16,8x32"
        )
    return [int(size) if "x" not in size else sizes(size) for size in text.split(",")]


def global_size(text: str) -> list[Any] | Callable[[Mapping[str, Any]], Any]:
    """The same, or a function of the configuration for an expression such as `1048576 // block`."""
    if _SIZE_CHOICES.fullmatch(text):
        return size_choices(text)
    try:
        body = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither sizes nor an expression; write for example 4096, 64x64 or 1048576//block"
        ) from None
    return lambda configuration: _evaluated(body, text, configuration)


def _evaluated(node: ast.AST, text: str, names: Mapping[str, Any]) -> Any:
    """The value of an expression of integers and names.

    Raises:
      UsageError: it has something else, an unknown name, or no value.
    """
    try:
        match node:
            case ast.Constant(value=int() as number):
                return number
            case ast.Name(id=name) if isinstance(names.get(name), int | tuple):
                return names[name]
            case ast.Tuple(elts=elements):
                return tuple(_evaluated(element, text, names) for element in elements)
            case ast.Subscript(value=value, slice=place):
                return _evaluated(value, text, names)[_evaluated(place, text, names)]
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                return _OPERATORS[type(op)](_evaluated(left, text, names), _evaluated(right, text, names))
    except (TypeError, ArithmeticError, IndexError) as error:
        raise UsageError(f"--global-size {text}: {ast.unparse(node)}: {error}") from None
    known = ", ".join(name for name, value in names.items() if isinstance(value, int | tuple))
    raise UsageError(f"--global-size {text}: {ast.unparse(node)} is not known; names are {known}")


def static_choices(text: str) -> tuple[str, list[Any]]:
    """The name and the choices of a static parameter written as in `SPACE_SYNTAX`."""
    name, written = _named("--static", text, "block=16,64")
    try:
        return name, list(ast.literal_eval(f"[{written}]"))
    except (ValueError, SyntaxError):
        return name, [static(f"{name}={choice}")[1] for choice in written.split(",") if choice]


def _named(option: str, text: str, such_as: str) -> tuple[str, str]:
    name, _, written = text.partition("=")
    if not (name.isidentifier() and written):
        raise UsageError(f"{option} {text}: write NAME=VALUE, such as {option} {such_as}")
    return name, written


def _value(written: str, position: int, shapes_only: bool) -> Any:
    match = _ARRAY_OR_SCALAR.fullmatch(written)
    if match is None:
        if written.endswith(".npy"):
            return loaded(written, shapes_only)
        raise ValueError("it is no array, scalar or file")
    dtype, fill = _dtype(match["dtype"]), match["fill"]
    if match["shape"] is not None:
        if not all(extents := match["shape"].split(",")):
            raise ValueError(f"[{match['shape']}] is no shape, which has a number for each dimension")
        shape = tuple(map(int, extents))
        return (_shaped if shapes_only else _array)(shape, dtype, fill or "random", position)
    if fill is None:
        raise ValueError("an array has a shape, a scalar a value")
    return _number(fill, dtype)


def _dtype(name: str) -> np.dtype:
    if name not in _DTYPES:
        raise ValueError(f"{name!r} is no dtype{did_you_mean(name, list(_DTYPES))}; they are {', '.join(_DTYPES)}")
    return _DTYPES[name]


def _array(shape: tuple[int, ...], dtype: np.dtype, fill: str, position: int) -> np.ndarray:
    kind, *words = fill.split(":")
    if kind == "random" and all("=" in word for word in words):
        return random(shape, dtype, options(kind, words), position)
    if fill == "zeros":
        return np.zeros(shape, dtype)
    if fill == "arange":
        return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)
    if not fill.endswith(".npy"):
        return np.full(shape, _number(fill, dtype, _FILLS))
    return _checked(np.load(fill, allow_pickle=False), shape, dtype, fill)


def _shaped(shape: tuple[int, ...], dtype: np.dtype, fill: str, position: int) -> jax.ShapeDtypeStruct:
    """The shape of `_array`, after the same checks."""
    if fill.endswith(".npy"):
        return _checked(loaded(fill, True), shape, dtype, fill)
    _array((0,) * len(shape), dtype, fill, position)
    return jax.ShapeDtypeStruct(shape, dtype)


def loaded(file: str, shapes_only: bool) -> Any:
    """The array of a file, or its shape."""
    loaded = np.load(file, mmap_mode="r" if shapes_only else None, allow_pickle=False)
    return jax.ShapeDtypeStruct(loaded.shape, loaded.dtype) if shapes_only and loaded.ndim else loaded


def _checked(loaded: Any, shape: tuple[int, ...], dtype: np.dtype, file: str) -> Any:
    if (loaded.dtype, loaded.shape) != (dtype, shape):
        raise ValueError(f"{file} holds {describe(loaded)}")
    return loaded


def options(kind: str, words: Sequence[str]) -> dict[str, str]:
    """What is written behind a kind of elements, as `low=0`: of random ones their bounds and seed."""
    found = dict(word.split("=", 1) for word in words)
    if unknown := [name for name in found if name not in (_OF_RANDOM if kind == "random" else ())]:
        raise ValueError(f"{kind} has no {unknown[0]}")
    return found


def random(shape: tuple[int, ...], dtype: np.dtype, options: Mapping[str, str], position: int) -> np.ndarray:
    """Random numbers, with `options`; `position` tells arguments with equal options apart."""
    rng = np.random.default_rng([int(options.get("seed", SEED)), position])
    if dtype.kind not in "biu":
        low, high = float(options.get("low", 0)), float(options.get("high", 1))
        return (low + (high - low) * rng.random(shape)).astype(dtype)
    limits = np.iinfo(np.uint8 if dtype.kind == "b" else dtype)
    top = 2 if dtype.kind == "b" else int(limits.max) + 1
    low, high = int(options.get("low", limits.min)), int(options.get("high", top))
    if not limits.min <= low < high <= int(limits.max) + 1:
        raise ValueError(f"low={low}:high={high} is no range of {dtype}")
    return rng.integers(
        low, high - 1, size=shape, dtype=np.uint8 if dtype.kind == "b" else dtype, endpoint=True
    ).astype(dtype)


def _number(text: str, dtype: np.dtype, words: Sequence[str] = ()) -> Any:
    """A scalar of the dtype; an integer may be hexadecimal, a bool is 0 or 1. Words might be meant as well."""
    try:
        number = int(text, 0) if dtype.kind in "iub" else float(text)
    except ValueError:
        raise ValueError(f"{text!r} is no number of dtype {dtype}{did_you_mean(text, words)}") from None
    return np.full((), number, dtype)[()]

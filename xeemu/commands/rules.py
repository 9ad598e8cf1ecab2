"""Rules: how the arguments of a kernel of C or C++ are written on a command line."""

import ast
import re
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

import xeemu as xe
from xeemu.commands import notation
from xeemu.commands.notation import UsageError
from xeemu.frontends import declarations
from xeemu.frontends.tree import Variable
from xeemu.frontends.types import SCALARS, Array, Opaque, Pointer, Record, Scalar, Type, Vector, Void
from xeemu.plurals import counted

SYNTAX = """\
arguments of a kernel of C or C++, one --arg for each parameter, in their order:
  1024   -1   0x10   2.5f   a number; with commas the components of a vector
  "{'x': 1, 'y': [2, 3]}"   the fields of a struct
  zeros:1024                an array of zeros; the same with ones
  random:1024:int:seed=1    integers over the whole range of the type, floats
                            from 0 to 1; low=0:high=16 for others, high excluded
  range:64x64:float         0, 1, 2, ...
  full:1024:1.5             the same number everywhere
  input.npy                 an array that numpy.save wrote
  local:4096                local memory, in bytes
  null                      a null pointer
  random:64x64:uchar4       an image; its rows, or layers, come first
  sampler:clamp:linear:normalized
An array has so many elements of a type of C, such as float4; by default of the
parameter's. NAME=... is the argument for the parameter of that name.
Of a kernel of SYCL C++ they are its captures; those that the host code tells
may be left out, and arrays whose size it tells hold random numbers then."""

_KINDS = ("zeros", "ones", "random", "range", "full")
_NUMPY = {s.dtype.name: s for s in SCALARS}
_NAMES = {**_NUMPY, **{s.name: s for s in SCALARS}}


def arguments(parameters: Sequence[Variable], texts: Sequence[str], shapes_only: bool = False) -> tuple[Any, ...]:
    """The arguments of a kernel, written as in `SYNTAX`.

    Args:
      parameters: the kernel's.
      texts: what was written.
      shapes_only: true to give a `jax.ShapeDtypeStruct` for an array, which is then not made.

    Raises:
      UsageError: they are not written so, are not as many, or a file cannot be read.
    """
    written = _by_name(parameters, texts)
    return tuple(argument(p, written[p.name], k, shapes_only) for k, p in enumerate(parameters))


def _by_name(parameters: Sequence[Variable], texts: Sequence[str]) -> dict[str, str]:
    names = [p.name for p in parameters]
    named = [text.partition("=") for text in texts]
    given = {name: value for name, sign, value in named if sign and name in names}
    others = [text for text in texts if text.partition("=")[0] not in given]
    left = [p for p in parameters if p.name not in given]
    if len(others) != len(left) or len(given) + len(others) != len(texts):
        declared = ", ".join(map(declarations.parameter, parameters))
        missing = left[len(others) :]
        more = f"; write also {' '.join(f'--arg {such_as(p)}' for p in missing)}" if missing else ""
        raise UsageError(f"the kernel takes {counted(len(names), 'argument')} ({declared}), but got {len(texts)}{more}")
    return {**given, **{p.name: text for p, text in zip(left, others, strict=True)}}


def such_as(parameter: Variable) -> str:
    """How an argument for a parameter may be written."""
    match parameter.type:
        case Pointer(space="local"):
            return "local:4096"
        case Opaque(name="sampler_t"):
            return "sampler:clamp:nearest"
        case Opaque():
            return "random:64x64:uchar4"
        case Pointer(const=True):
            return "random:1024"
        case Pointer():
            return "zeros:1024"
        case Scalar(is_float=True):
            return "1.5"
        case Vector(count=count):
            return ",".join(["1"] * count)
        case Record(fields=fields):
            return '"{' + ", ".join(f"'{f.name}': 1" for f in fields) + '}"'
    return "1024"


def argument(parameter: Variable, text: str, position: int, shapes_only: bool = False) -> Any:
    """The argument for one parameter, the `position`-th, written as in `SYNTAX`; errors as of `arguments`."""
    try:
        return _value(parameter, text, position, shapes_only)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"--arg {text}, for `{declarations.parameter(parameter)}`: {error}; write for example "
            f"--arg {such_as(parameter)}"
        ) from None


def _value(parameter: Variable, text: str, position: int, shapes_only: bool) -> Any:
    if text.endswith(".npy"):
        return notation.loaded(text, shapes_only)
    kind, *rest = text.split(":")
    if kind == "sampler":
        return _sampler(rest)
    if text == "null" and isinstance(parameter.type, Pointer):
        return None
    if kind == "local":
        return xe.Local(_whole(rest[0] if len(rest) == 1 else ""))
    if kind in _KINDS:
        return _array(parameter, kind, rest, position, shapes_only)
    if isinstance(parameter.type, Record):
        return _fields(text)
    if isinstance(parameter.type, Vector) and "," in text:
        return numbers(text)
    return _number(text)


def numbers(text: str) -> Any:
    """Numbers with commas between them, as a tuple, or one by itself."""
    found = tuple(map(_number, text.strip("()").split(",")))
    return found if len(found) > 1 else found[0]


def _sampler(modes: Sequence[str]) -> xe.Sampler:
    """A sampler of the names of its modes, in any order."""
    given: dict[str, Any] = {}
    for mode in modes:
        if mode == "normalized":
            given["normalized"] = True
        else:
            given["filtering" if mode in ("nearest", "linear") else "addressing"] = mode
    return xe.Sampler(**given)


def _fields(text: str) -> dict[str, Any]:
    """The fields of a struct, as a dict of Python."""
    try:
        fields = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        fields = None
    if not isinstance(fields, dict):
        raise ValueError("a struct is written {'field': value, ...}")
    return fields


def _number(text: str) -> int | float:
    """A number as C or Python writes it."""
    plain = text.strip().replace("_", "")
    try:
        return int(re.sub(r"[uUlL]+$", "", plain), 0)
    except ValueError:
        pass
    try:
        return float(re.sub(r"(?<=[\d.])[fFhH]$", "", plain))
    except ValueError:
        raise ValueError("it is no number, no array and no file") from None


def _whole(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{text!r} is no number of bytes")
    return int(text)


# --- Arrays ---


def _array(parameter: Variable, kind: str, rest: Sequence[str], position: int, shapes_only: bool) -> Any:
    parts = [part for part in rest if "=" not in part]
    options = notation.options(kind, [part for part in rest if "=" in part])
    if not parts:
        raise ValueError(f"{kind} has a number of elements")
    value = parts.pop(1) if kind == "full" and len(parts) > 1 else None
    element = _type(parts[1]) if len(parts) > 1 else _element(parameter)
    if len(parts) > 2 or (kind == "full") != (value is not None):
        raise ValueError(f"{kind} is written {kind}:N{':VALUE' if kind == 'full' else ''}:TYPE")
    shape, dtype = _laid_out(element, tuple(int(n) for n in parts[0].split("x")))
    if shapes_only:
        return jax.ShapeDtypeStruct(shape, dtype)
    match kind:
        case "random":
            return notation.random(shape, dtype, options, position)
        case "range":
            return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)
    return np.full(shape, {"zeros": 0, "ones": 1}.get(kind, value and _number(value)), dtype)


def _element(parameter: Variable) -> Type:
    pointee = parameter.type.pointee if isinstance(parameter.type, Pointer) else parameter.type
    if not isinstance(parameter.type, Pointer | Opaque):
        raise ValueError("the parameter takes no array")
    if isinstance(pointee, Void | Opaque):
        raise ValueError(f"write the type of its elements, for {pointee} has none")
    return pointee


def _type(name: str) -> Type:
    """The scalar or vector type of a name of C or NumPy."""
    if name in _NAMES:
        return _NAMES[name]
    match = re.fullmatch(r"([a-z]+?)(2|3|4|8|16)", name)
    if match is None or match[1] not in _NAMES:
        raise ValueError(f"{name!r} is no type; the types are {', '.join(s.name for s in SCALARS)} and their vectors")
    return Vector(_NAMES[match[1]], int(match[2]))


def _laid_out(element: Type, shape: tuple[int, ...]) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of an array of so many elements."""
    match element:
        case Scalar():
            return shape, element.dtype
        case Vector(element=inner):
            return (*shape, element.size // inner.size), inner.dtype
        case Record() | Array():
            return (*shape, element.size), np.dtype(np.uint8)
    raise ValueError(f"arrays of {element} cannot be made by a rule")

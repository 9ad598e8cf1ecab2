"""Arguments of a kernel, described in a line each, and the arrays and numbers made from them.

    float random 1024            an array of 1024 floats in [0, 1); `random 1024 -1 1` in [-1, 1)
    int below 4096 16            integers from 0 up to, not including, 16 (`below 4096 2 16`: from 2 on)
    float4 zeros 256             256 vectors; a vector of 3 takes the room of 4, as in OpenCL C
    uint full 64 7               the same number everywhere
    int ramp 100 5 2             5, 7, 9, ...; from 0 by 1 if not told
    int permutation 64           0 to 63, shuffled
    int list 3 1 4 1             these
    float dominant 64            a 64 x 64 matrix whose diagonal outweighs its rows
    int offsets 128 8            offsets into a sparse matrix's rows: 128 rows of 1 to 7 entries, 129 numbers
    int columns 128 8            the columns of those entries, in 128 * 8 places
    int = 16                     a number; `float4 = 1 2 3 4` a vector, `float4 = 0` the same in all components
    {int a,float4 b} zeros 8     records, laid out as in C; `{int a,float b} = 1 0.5` one of them by value
    {int a,char b} bytes 1 0 ... one by value, by its bytes
    local 1024                   local memory, in bytes
    null                         a null pointer

Alternatives, between ` | `, are for one run each: `int = 8 | = 0` is 8 in the first and 0 in the second. Every array is
drawn from a seed of its own, so that equal descriptions give equal arrays.
"""

import dataclasses
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

SCALARS = {
    "bool": "u1",
    "char": "i1",
    "uchar": "u1",
    "short": "i2",
    "ushort": "u2",
    "int": "i4",
    "uint": "u4",
    "long": "i8",
    "ulong": "u8",
    "half": "f2",
    "float": "f4",
    "double": "f8",
}
_NAME = re.compile(r"([a-z]+?)(2|3|4|8|16)?$")
_FIELD = re.compile(r"(\w+(?:\{.*\})?|\{.*\}) (\w+)((?:\[\d+\])*)$")


class DescriptionError(ValueError):
    """A description that is none of the forms above."""


@dataclasses.dataclass(frozen=True)
class Type:
    """How an element lies in memory.

    Attributes:
      dtype: of a scalar, of a vector's component or of a record.
      width: components, 1 for a scalar.
      alignment: in bytes.
    """

    dtype: np.dtype
    width: int
    alignment: int

    @property
    def places(self) -> int:
        """Components that it takes the room of."""
        return 4 if self.width == 3 else self.width

    @property
    def size(self) -> int:
        return self.dtype.itemsize * self.places


@dataclasses.dataclass(frozen=True)
class Argument:
    """One argument of a launch.

    Attributes:
      kind: `"array"`, `"value"`, `"local"` or `"null"`.
      value: an array of shape (n,) or (n, places) for vectors; a number, a vector's components or a record; bytes.
      width: components of an array's elements: of 3, the fourth place is padding.
    """

    kind: str
    value: Any
    width: int = 1


def trials(descriptions: Sequence[str]) -> int:
    """How many runs the alternatives ask for."""
    return max((len(description.split(" | ")) for description in descriptions), default=1)


def made(descriptions: Sequence[str], trial: int = 0) -> list[Argument]:
    """The arguments of one run."""
    return [argument(chosen(d, trial), k) for k, d in enumerate(descriptions)]


def chosen(description: str, trial: int) -> str:
    """The alternative for a run; without one of its own, the last. A type holds for all alternatives."""
    alternatives = description.split(" | ")
    picked = alternatives[min(trial, len(alternatives) - 1)]
    if picked is alternatives[0]:
        return picked
    name, _, _ = split(alternatives[0])
    return f"{name} {picked}"


def argument(description: str, position: int = 0) -> Argument:
    """Makes an argument; equal arrays at different positions differ."""
    if description == "null":
        return Argument("null", None)
    name, form, words = split(description)
    if name == "local":
        return Argument("local", int(form))
    kind = type_of(name)
    if form == "=":
        return Argument("value", value(kind, words))
    if form == "bytes":
        return Argument("value", np.array([number(w, np.dtype("u1")) for w in words], "u1").view(kind.dtype)[0])
    if form not in FORMS:
        raise DescriptionError(f"{description!r}: {form!r} is none of {', '.join(FORMS)}")
    rng = np.random.default_rng(zlib.crc32(f"{description} {position}".encode()))
    return Argument("array", array(kind, form, words, rng), kind.width)


def split(description: str) -> tuple[str, str, list[str]]:
    """The type, the form and its numbers."""
    end = closing(description) if description.startswith("{") else description.find(" ")
    name, (form, *words) = description[:end].strip(), description[end:].split() or [""]
    if not form:
        raise DescriptionError(f"{description!r} is no description of an argument: a type, a form and its numbers")
    return name, form, words


def closing(text: str) -> int:
    """The end of the record that a text begins with."""
    depth = 0
    for k, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return k + 1
    raise DescriptionError(f"{text!r} has no closing brace")


# --- Types ---


def type_of(name: str) -> Type:
    if name.startswith("{"):
        return record(name)
    matched = _NAME.match(name)
    if not matched or matched[1] not in SCALARS:
        raise DescriptionError(f"{name!r} is no type; the scalars are {', '.join(SCALARS)}")
    dtype, width = np.dtype(SCALARS[matched[1]]), int(matched[2] or 1)
    return Type(dtype, width, dtype.itemsize * (4 if width == 3 else width))


def record(name: str) -> Type:
    """A record `{int a,float4 b[2]}`, each field at a multiple of its alignment; `{packed,char a,int b}` lacks gaps."""
    names, formats, offsets = [], [], []
    end, alignment = 0, 1
    parts = fields(name[1:-1])
    packed = parts[0] == "packed"
    for part in parts[packed:]:
        matched = _FIELD.match(part)
        if not matched:
            raise DescriptionError(f"{part!r} is no field: a type and a name")
        kind, shape = type_of(matched[1]), tuple(map(int, re.findall(r"\d+", matched[3])))
        step = 1 if packed else kind.alignment
        end = -(-end // step) * step
        names.append(matched[2])
        formats.append((kind.dtype, shape + ((kind.places,) if kind.places > 1 else ())))
        offsets.append(end)
        end += kind.size * int(np.prod(shape, dtype=int))
        alignment = max(alignment, step)
    size = -(-end // alignment) * alignment
    layout: dict[str, Any] = {"names": names, "formats": formats, "offsets": offsets, "itemsize": size}
    return Type(np.dtype(layout), 1, alignment)


def fields(text: str) -> list[str]:
    """The fields between commas that are outside inner braces."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [field.strip() for field in found]


def scalars(dtype: np.dtype, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], np.dtype]]:
    """The scalar fields of a record, with the names that lead to them."""
    if dtype.names is None:
        return [(path, dtype)]
    return [pair for name in dtype.names for pair in scalars(dtype[name].base, (*path, name))]


# --- Values and arrays ---


def value(kind: Type, words: Sequence[str]) -> Any:
    """A scalar, a vector's components or a record."""
    if kind.dtype.names is not None:
        made = np.zeros((), kind.dtype)
        parts = scalars(kind.dtype)
        for (path, dtype), word in zip(parts, [*words, *words[-1:] * (len(parts) - len(words))], strict=True):
            target = made
            for name in path[:-1]:
                target = target[name]
            target[path[-1]] = number(word, dtype)
        return made
    numbers = [number(word, kind.dtype) for word in words]
    if kind.width == 1:
        return kind.dtype.type(numbers[0])
    return np.array(numbers * kind.width if len(numbers) == 1 else numbers, kind.dtype)


def number(word: str, dtype: np.dtype) -> Any:
    if dtype.kind == "f":
        return dtype.type(float(word))
    info = np.iinfo(dtype)
    whole = int(word, 0) if re.match(r"[-+]?\w+$", word) and "." not in word else int(float(word))
    return dtype.type((whole - int(info.min)) % 2**info.bits + int(info.min))


def array(kind: Type, form: str, words: Sequence[str], rng: np.random.Generator) -> np.ndarray:
    numbers = [int(w, 0) if re.match(r"[-+]?(0x)?[0-9a-fA-F]+$", w) else float(w) for w in words]
    if kind.dtype.names is not None:
        return records(kind, form, numbers, rng)
    if form == "list":
        flat = np.array([number(word, kind.dtype) for word in words])
    else:
        flat = FORMS[form](rng, kind.places, *numbers).astype(kind.dtype)
    return flat.reshape(-1, kind.places) if kind.places > 1 else flat


def records(kind: Type, form: str, numbers: Sequence[float], rng: np.random.Generator) -> np.ndarray:
    """Records, each field drawn by itself; floats where a field is one, also by `below`."""
    made = np.zeros(int(numbers[0]), kind.dtype)
    for path, dtype in scalars(kind.dtype):
        target = made
        for name in path:
            target = target[name]
        drawn = FORMS[form](rng, target.size // max(len(made), 1), *numbers)
        target[...] = drawn.reshape(target.shape).astype(dtype)
    return made


def _random(rng: np.random.Generator, places: int, n: int, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    return low + (high - low) * rng.random(n * places)


def _below(rng: np.random.Generator, places: int, n: int, *bounds: int) -> np.ndarray:
    low, high = (0, *bounds)[-2:]
    return rng.integers(low, high, n * places, dtype=np.uint64 if high > 2**63 else np.int64)


def _zeros(rng: np.random.Generator, places: int, n: int) -> np.ndarray:
    return np.zeros(n * places)


def _full(rng: np.random.Generator, places: int, n: int, value: float) -> np.ndarray:
    return np.full(n * places, value)


def _ramp(rng: np.random.Generator, places: int, n: int, start: float = 0, step: float = 1) -> np.ndarray:
    return start + step * np.arange(n * places)


def _permutation(rng: np.random.Generator, places: int, n: int) -> np.ndarray:
    return rng.permutation(n * places)


def _dominant(rng: np.random.Generator, places: int, n: int) -> np.ndarray:
    return (rng.random((n, n)) + n * np.eye(n)).ravel()


def _offsets(rng: np.random.Generator, places: int, rows: int, per: int) -> np.ndarray:
    lengths = np.random.default_rng([rows, per]).integers(1, per, rows)
    return np.concatenate([[0], np.cumsum(lengths)])


def _columns(rng: np.random.Generator, places: int, rows: int, per: int) -> np.ndarray:
    return rng.integers(0, rows, rows * per)


def _list(rng: np.random.Generator, places: int, *numbers: float) -> np.ndarray:
    return np.array(numbers)


FORMS: dict[str, Callable[..., np.ndarray]] = {
    "random": _random,
    "below": _below,
    "zeros": _zeros,
    "full": _full,
    "ramp": _ramp,
    "permutation": _permutation,
    "list": _list,
    "dominant": _dominant,
    "offsets": _offsets,
    "columns": _columns,
}

"""Images: `read_image`, `write_image` and what kernels ask of images, which are memories with the same axes."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.errors import KernelArgumentError
from xeemu.frontends import composites, opaques, samplers, types, values
from xeemu.frontends.lowering.sampling import Tap, layer, taps
from xeemu.frontends.lowering.walk import Walk
from xeemu.frontends.samplers import Sampler
from xeemu.frontends.tree import Call, Expression
from xeemu.frontends.types import Opaque, Scalar
from xeemu.frontends.values import Components, Handle, Null, Number, Value

Builtin = Callable[[Walk, Call, bool], Value]

_ACCESS = re.compile(r"(read|write)_image(f|h|i|ui)")
_QUERY = re.compile(r"get_image_(width|height|depth|dim|array_size|channel_data_type|channel_order)")
_AS_THEY_ARE = Sampler("none")
# What OpenCL's constants say of elements and of how many there are in a pixel.
_DATA_TYPES = {
    "int8": 0x10D0, "int16": 0x10D1, "uint8": 0x10D2, "uint16": 0x10D3, "int32": 0x10D9, "uint32": 0x10DC,
    "float16": 0x10DD, "float32": 0x10DE,
}  # fmt: skip
_ORDERS = {1: 0x10B0, 2: 0x10B2, 3: 0x10B4, 4: 0x10B5}
_DEPTH = 0x10BD


def find(name: str) -> Builtin | None:
    """What reads, writes or describes an image, or None if the function does not."""
    if (match := _ACCESS.fullmatch(name)) is not None:
        return _read if match.group(1) == "read" else _write
    return _query if _QUERY.fullmatch(name) else None


@dataclasses.dataclass(frozen=True, eq=False)
class Image:
    """An image.

    Attributes:
      key: of its memory.
      type: the parameter's.
      shape: without the channels.
      channels: None where the memory has no axis for them.
      dtype: of the elements.
    """

    key: Any
    type: Opaque
    shape: tuple[int, ...]
    channels: int | None
    dtype: np.dtype

    @property
    def layered(self) -> bool:
        return "array" in self.type.name


def _image(walk: Walk, node: Expression) -> Image:
    handle = walk.evaluate(node)
    assert isinstance(handle, Handle)
    assert isinstance(handle.type, Opaque)
    memory, rank = walk.memories[handle.what], len(opaques.axes(handle.type))
    channels = memory.shape[rank] if memory.ndim > rank else None
    return Image(handle.what, handle.type, memory.shape[:rank], channels, np.dtype(memory.dtype))


def _checked(walk: Walk, node: Call) -> Image:
    """The image of an access whose elements are what the function is for."""
    match = _ACCESS.fullmatch(node.name)
    assert match is not None
    image, kind = _image(walk, node.arguments[0]), match.group(2)
    fitting = {
        "f": image.dtype.kind == "f" or image.dtype.itemsize < 4,
        "h": image.dtype.kind == "f" or image.dtype.itemsize < 4,
        "i": image.dtype.kind == "i",
        "ui": image.dtype.kind == "u",
    }
    if not fitting[kind]:
        raise walk.refuse(
            f"{node.name} of {walk.layouts[image.key].name}, whose elements are {image.dtype}; "
            "read_imagef is for floats and integers of 8 or 16 bits (as 0 to 1), read_imagei for signed and "
            "read_imageui for unsigned integers, and so is write_image"
        )
    return image


def _coordinates(walk: Walk, node: Expression, image: Image) -> list[jax.Array]:
    """The coordinates, in the order of the memory's axes."""
    numbers = composites.leaves(walk.evaluate(node))[: len(image.shape)]
    data = [values.exact(n) if n.type.is_float else values.index(n) for n in numbers]
    return [jnp.asarray(d) for d in reversed(data)]


# ---- reading ----


def _read(walk: Walk, node: Call, used: bool) -> Value:
    image = _checked(walk, node)
    if len(node.arguments) > 3:
        raise walk.refuse(f"{node.name} of a level of detail; images have no mipmaps here, leave the argument out")
    sampler = _sampler(walk, node.arguments[1]) if len(node.arguments) == 3 else _AS_THEY_ARE
    real = node.name.endswith(("f", "h"))
    along = _along(sampler, _coordinates(walk, node.arguments[-1], image), image, real)
    pixels = list(itertools.product(*along))
    if not real:
        return _result(node, [_integer(c, node) for c in _pixel(walk, image, pixels[0])])
    colours = [[_float(c, image.dtype) for c in _pixel(walk, image, pixel)] for pixel in pixels]
    channels = colours[0] if len(pixels) == 1 else _mixed(colours, pixels)
    return _result(node, [_real(c, node) for c in channels])


def _sampler(walk: Walk, node: Expression) -> Sampler:
    value = walk.evaluate(node)
    if not isinstance(value, Number) or not value.known:
        raise walk.refuse("a sampler that is not known before the kernel runs; declare it constant, or a parameter")
    try:
        return samplers.of_bits(int(value.python))
    except KernelArgumentError as error:
        raise walk.refuse(str(error), node.place) from None


def _along(sampler: Sampler, coordinates: Sequence[jax.Array], image: Image, real: bool) -> list[list[Tap]]:
    """The pixels along each axis; integers and layers are taken as they are nearest."""
    linear = real and sampler.filtering == "linear"
    found = [taps(sampler, c, n, linear) for c, n in zip(coordinates, image.shape, strict=True)]
    if image.layered:
        found[0] = [layer(coordinates[0], image.shape[0])]
    return found


def _pixel(walk: Walk, image: Image, along: Sequence[Tap]) -> list[jax.Array]:
    """The elements of a pixel, zeros of one in the border."""
    masks = [tap.inside for tap in along if tap.inside is not None]
    inside = functools.reduce(lambda a, b: lax.bitwise_and(*values.alike(a, b)), masks) if masks else None
    index = [tap.index for tap in along]
    with walk.scope():
        found = walk.memories[image.key].load(_index(walk, image, index), where=inside)
    return [found] if image.channels is None else [found[..., c] for c in range(image.channels)]


def _index(walk: Walk, image: Image, index: Sequence[Any]) -> tuple[Any, ...]:
    """The index of a pixel with all its channels."""
    if image.channels is None:
        return tuple(index)
    return *index, lax.broadcast(np.arange(image.channels, dtype=np.int32), walk.shape)


def _float(raw: jax.Array, dtype: np.dtype) -> jax.Array:
    """An element as a float: small integers are fractions of their greatest value."""
    real = raw.astype(np.float32)
    if dtype.kind == "f":
        return real
    fraction = lax.div(real, np.float32(np.iinfo(dtype).max))
    return fraction if dtype.kind == "u" else lax.max(fraction, np.float32(-1))


def _mixed(colours: Sequence[Sequence[jax.Array]], pixels: Sequence[Sequence[Tap]]) -> list[jax.Array]:
    """The pixels around, each by its weight, channel by channel."""
    total: list[jax.Array] = []
    for channels, along in zip(colours, pixels, strict=True):
        weights = [tap.weight for tap in along if tap.weight is not None]
        weight = functools.reduce(lambda a, b: lax.mul(*values.alike(a, b)), weights)
        parts = [lax.mul(*values.alike(c, weight)) for c in channels]
        total = [lax.add(*values.alike(a, b)) for a, b in zip(total, parts, strict=True)] if total else parts
    return total


def _real(real: jax.Array, node: Call) -> Number:
    of = _element(node)
    return Number(of, real.astype(of.dtype))


def _integer(raw: jax.Array, node: Call) -> Number:
    of, limits = _element(node), np.iinfo(raw.dtype)
    return Number(of, raw if raw.dtype.itemsize == 4 else raw.astype(np.int32), (int(limits.min), int(limits.max)))


def _element(node: Call) -> Scalar:
    of = node.type.element if isinstance(node.type, types.Vector) else node.type
    assert isinstance(of, Scalar)
    return of


def _result(node: Call, channels: list[Number]) -> Value:
    """What is read: 0 for colours that the image does not have, 1 for its opacity."""
    if not isinstance(node.type, types.Vector):
        return channels[0]
    of = node.type.element
    rest = [values.constant(int(c == 3), of) for c in range(len(channels), 4)]
    return Components(node.type, (*channels, *rest))


# ---- writing ----


def _write(walk: Walk, node: Call, used: bool) -> Value:
    image = _checked(walk, node)
    if len(node.arguments) > 3:
        raise walk.refuse(f"{node.name} of a level of detail; images have no mipmaps here, leave the argument out")
    index = _coordinates(walk, node.arguments[1], image)
    colour = composites.leaves(walk.evaluate(node.arguments[2]))[: image.channels or 1]
    elements = [jnp.asarray(_element_of(n, image.dtype)) for n in colour]
    whole = [e if e.ndim else lax.broadcast(e, walk.shape) for e in elements]
    data = whole[0] if image.channels is None else jnp.stack(whole, -1)
    with walk.scope():
        stored = walk.memories[image.key].at[_index(walk, image, index)].set(data)
    walk.memories[image.key] = stored
    return Null(types.VOID)


def _element_of(n: Number, dtype: np.dtype) -> Any:
    """A colour as an element of an image, the nearest that there is."""
    data = jnp.asarray(values.exact(n))
    if dtype.kind == "f":
        return data.astype(dtype)
    limits = np.iinfo(dtype)
    if n.type.is_float:
        data = lax.round(lax.mul(data.astype(np.float32), np.float32(limits.max)), lax.RoundingMethod.TO_NEAREST_EVEN)
    low, high = (data.dtype.type(max(v, -(2**31))) for v in (limits.min, limits.max))
    return lax.min(lax.max(data, low), high).astype(dtype)


# ---- what kernels ask ----


def _query(walk: Walk, node: Call, used: bool) -> Value:
    image, asked = _image(walk, node.arguments[0]), node.name.removeprefix("get_image_")
    if asked == "dim":
        sizes = [n for n, a in zip(image.shape, opaques.axes(image.type), strict=True) if a != "layers"][::-1]
        assert isinstance(node.type, types.Vector)
        full = [*sizes, *[0] * (node.type.count - len(sizes))]
        return Components(node.type, tuple(values.constant(n, types.INT) for n in full))
    assert isinstance(node.type, Scalar)
    return values.constant(_asked(image, asked), node.type)


def _asked(image: Image, asked: str) -> int:
    if asked == "channel_data_type":
        return _DATA_TYPES[image.dtype.name]
    if asked == "channel_order":
        return _DEPTH if "depth" in image.type.name else _ORDERS[image.channels or 1]
    return dict(zip(opaques.axes(image.type), image.shape, strict=True))["layers" if asked == "array_size" else asked]

"""Opaques: the kinds of images, and what is a sampler."""

from xeemu.frontends.types import Opaque, Type

# The axes of each kind of image, without the channels.
AXES = {
    "image1d_t": ("width",),
    "image1d_buffer_t": ("width",),
    "image1d_array_t": ("layers", "width"),
    "image2d_t": ("height", "width"),
    "image2d_depth_t": ("height", "width"),
    "image2d_array_t": ("layers", "height", "width"),
    "image2d_array_depth_t": ("layers", "height", "width"),
    "image3d_t": ("depth", "height", "width"),
}


def is_image(of: Type) -> bool:
    return isinstance(of, Opaque) and of.name.startswith("image")


def is_sampler(of: Type) -> bool:
    return isinstance(of, Opaque) and of.name == "sampler_t"


def axes(of: Opaque) -> tuple[str, ...]:
    """The axes of an image's array, the fastest last; one of channels may follow."""
    return AXES[of.name]

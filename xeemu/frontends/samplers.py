"""Samplers: how images are read between and beyond their pixels."""

import dataclasses
import operator
from typing import Any

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language import public

_ADDRESSING = {"none": 0, "clamp_to_edge": 2, "clamp": 4, "repeat": 6, "mirrored_repeat": 8}
_FILTERING = {"nearest": 0x10, "linear": 0x20}
_NORMALIZED = 1


@public.constructor
@dataclasses.dataclass(frozen=True)
class Sampler:
    """The argument for a `sampler_t`, with the names that SYCL gives to its modes.

    Attributes:
      addressing: what is read beyond an image: `"none"` says that nothing is, `"clamp_to_edge"` the pixel at the edge,
        `"clamp"` a border of zeros, `"repeat"` and `"mirrored_repeat"` the image again.
      filtering: `"nearest"`, or `"linear"` between the pixels around.
      normalized: True if coordinates count from 0 to 1, rather than in pixels.

    Raises:
      KernelArgumentError: there is no such mode, or images repeat whose coordinates count in pixels.
    """

    addressing: str = "clamp_to_edge"
    filtering: str = "nearest"
    normalized: bool = False

    def __post_init__(self) -> None:
        for what, given, known in (
            ("addressing", self.addressing, _ADDRESSING),
            ("filtering", self.filtering, _FILTERING),
        ):
            if given not in known:
                raise KernelArgumentError(
                    f"xe.Sampler({what}={given!r}){did_you_mean(str(given), list(known))}; there are {', '.join(known)}"
                )
        if self.repeats and not self.normalized:
            raise KernelArgumentError(
                f"xe.Sampler(addressing={self.addressing!r}) counts in pixels, in which images do not repeat; give "
                "normalized=True, and coordinates from 0 to 1"
            )

    @property
    def bits(self) -> int:
        """The number that OpenCL's constants make."""
        return _ADDRESSING[self.addressing] | _FILTERING[self.filtering] | self.normalized * _NORMALIZED

    @property
    def repeats(self) -> bool:
        return self.addressing in ("repeat", "mirrored_repeat")


def of_bits(bits: int) -> Sampler:
    """The sampler of OpenCL's `CLK_` constants, as `CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST`.

    Raises:
      KernelArgumentError: there is no such sampler.
    """
    addressing = next((name for name, bit in _ADDRESSING.items() if bit == bits & 0xE), None)
    if addressing is None or bits & ~0x3F or bits & 0x30 == 0x30:
        raise KernelArgumentError(
            f"the sampler {bits:#x} is no combination of OpenCL's constants CLK_ADDRESS_*, CLK_FILTER_* and "
            "CLK_NORMALIZED_COORDS_*"
        )
    return Sampler(addressing, "linear" if bits & 0x20 else "nearest", bool(bits & _NORMALIZED))


def given(argument: Any, where: str) -> Sampler:
    """The argument for a sampler: one, or the number that OpenCL's constants make.

    Raises:
      KernelArgumentError: it is neither; `where` names the parameter.
    """
    if isinstance(argument, Sampler):
        return argument
    try:
        return of_bits(operator.index(argument))
    except TypeError:
        raise KernelArgumentError(
            f"{where} takes a sampler, but got {argument!r}; pass xe.Sampler(addressing='clamp', filtering='linear'), "
            "or the number of OpenCL's constants"
        ) from None

"""The examples in OpenCL C: for each the kernel of a `.cl` file beside it that does the same, and its arguments."""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

import xeemu as xe
from xeemu.kernels.example import Example, Size

_FOLDER = pathlib.Path(__file__).parent


def _no_defines(example: Example, size: Size) -> Mapping[str, int]:
    return {}


def _as_they_are(*inputs: Any) -> Sequence[Any]:
    return inputs


@dataclasses.dataclass(frozen=True)
class Twin:
    """An example in OpenCL C.

    Attributes:
      file: the name of its file, without suffix.
      kernel: what it is called there.
      defines: from the example and a size, the macros of the source.
      arguments: from the example's inputs, the kernel's arguments.
    """

    file: str
    kernel: str
    defines: Callable[[Example, Size], Mapping[str, int]] = _no_defines
    arguments: Callable[..., Sequence[Any]] = _as_they_are

    @property
    def path(self) -> pathlib.Path:
        return _FOLDER / f"{self.file}.cl"

    def options(self, example: Example, size: Size) -> list[str]:
        """The options of the compiler for a size."""
        return [f"-D{name}={value}" for name, value in self.defines(example, size).items()]

    def load(self, example: Example, size: Size) -> xe.Kernel:
        """The kernel for a size."""
        return xe.load(self.path, self.options(example, size))[self.kernel]


def _group(example: Example, size: Size) -> int:
    local_size = example.nd_range(size).local_size
    assert local_size is not None
    return local_size[-1]


def _of_group(example: Example, size: Size) -> Mapping[str, int]:
    return {"GROUP": _group(example, size)}


def _entries(example: Example, size: Size) -> Mapping[str, int]:
    return {"ENTRIES": size[0]}


def _capacity(example: Example, size: Size) -> Mapping[str, int]:
    return {"ENTRIES": 1024}


def _bins(example: Example, size: Size) -> Mapping[str, int]:
    static = example.static
    bits = {"FIELD_BITS": static.get("field_bits", 8)}
    return {"BINS": static["num_bins"], **bits, **_of_group(example, size)}  # type: ignore[dict-item]


def _tile(example: Example, size: Size) -> Mapping[str, int]:
    return {"TILE": _group(example, size)}


def _sizes(example: Example, size: Size) -> Mapping[str, int]:
    return dict(zip(("ROWS", "COLUMNS", "DEPTH"), size, strict=True))


def _with_count(data: np.ndarray, result: np.ndarray) -> Sequence[Any]:
    return data, np.int32(data.size), result


def _static(example: Example, size: Size) -> Mapping[str, int]:
    return {name.upper(): value for name, value in example.static.items()}  # type: ignore[misc]


def _taps(example: Example, size: Size) -> Mapping[str, int]:
    return {"TAPS": size[1], **_of_group(example, size)}


TWINS: Mapping[str, Twin] = MappingProxyType(
    {
        "slm_bank_16": Twin("slm_bank", "slm_bank", _static),
        "slm_bank_1": Twin("slm_bank", "slm_bank", _static),
        "convolution_global": Twin("convolution", "convolution_global", _taps),
        "convolution_slm": Twin("convolution", "convolution_slm", _taps),
        "histogram_private": Twin("histogram", "histogram_private", _bins),
        "histogram_registers": Twin("histogram", "histogram_registers", _bins),
        "histogram_slm": Twin("histogram", "histogram_slm", _bins),
        "histogram_slm_1024": Twin("histogram", "histogram_slm", _bins),
        "table_copy_bad": Twin("table_copy", "table_copy_bad", _entries),
        "table_copy_good": Twin("table_copy", "table_copy_good", _entries),
        "table_copy_best": Twin("table_copy", "table_copy_best", _entries),
        "table_copy_min": Twin("table_copy", "table_copy_min", _entries),
        "table_copy_unrolled": Twin("table_copy", "table_copy_unrolled", _entries),
        "table_copy_loop": Twin("table_copy", "table_copy_loop", _capacity),
        "tree_reduction": Twin("reduction", "tree_reduction", _of_group, _with_count),
        "tree_reduction_sequential": Twin("reduction", "tree_reduction_sequential", _of_group, _with_count),
        "matmul_naive": Twin("matmul", "matmul_naive", _tile),
        "matmul_local": Twin("matmul", "matmul_local", _tile),
        "matmul_tiled": Twin("matmul", "matmul_tiled", _sizes),
        "reduction_serial": Twin("atomics", "reduction_serial", arguments=_with_count),
        "reduction_racy": Twin("atomics", "reduction_racy"),
        "reduction_atomics_buffer": Twin("atomics", "reduction_atomics"),
        "reduction_atomics_usm": Twin("atomics", "reduction_atomics"),
        "atomics_lab": Twin("atomics", "atomics_lab"),
    }
)
"""By the examples' names."""

"""Assertions and hypothesis strategies for property tests of kernels, in the manner of chex.

    @hypothesis.given(xt.nd_ranges(dimensions=1))
    def test_scale(nd_range):
        x = np.arange(nd_range.size, dtype=np.int32)
        xt.assert_clean(scale, nd_range, x)
        xt.assert_matches(scale, lambda x: 3 * x, nd_range, x)

The strategies need hypothesis (`pip install hypothesis`), the assertions do not.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import chex
import jax
import numpy as np

from xeemu.commands.verdict import compare
from xeemu.devices.device import Device
from xeemu.devices.lookup import device as find_device
from xeemu.errors import KernelArgumentError
from xeemu.faults.baseline import Baseline, Subject
from xeemu.faults.checking import check
from xeemu.language import public
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.language.source import called
from xeemu.launching.arguments import DEFAULT_DEVICE
from xeemu.launching.launch import launch

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_MOST_ITEMS = 256


# What a reference takes as one array of NumPy; all else is a tree of such.
_ARRAYS = (jax.Array, np.ndarray, np.generic, bool, int, float)


@public.known_as("testing.assert_clean")
def assert_clean(
    kernel: Kernel,
    nd_range: NDRange,
    *arguments: Any,
    device: str | Device = DEFAULT_DEVICE,
    notes: bool = False,
    baseline: str | os.PathLike[str] | None = None,
    **static: Any,
) -> Any:
    """Asserts that `xe.check` finds nothing that a right kernel has not.

    What is mostly meant, such as a float sum that depends on the order, is let pass (`Findings.faults` has the others).

    Args:
      kernel, nd_range, device: as for `xe.check`.
      *arguments: the launch's arrays and scalars.
      notes: true if findings that are mere notes are let pass.
      baseline: a file of findings that are accepted, as `xeemu check --write-baseline` writes it.
      **static: the kernel's static parameters.

    Returns:
      The outputs.

    Raises:
      AssertionError: there are findings; the message holds them all.
    """
    __tracebackhide__ = True
    outputs, findings = check(kernel, nd_range, device=device)(*arguments, **static)
    if baseline is not None:
        findings = Baseline.load(baseline).remaining(findings, Subject.of(kernel, static, baseline))
    found = findings.errors if notes else findings.faults
    if found:
        listed = "\n\n".join(map(str, found))
        raise AssertionError(f"{_launched(kernel, nd_range)} has {len(found)} finding(s):\n\n{listed}")
    return outputs


@public.known_as("testing.assert_matches")
def assert_matches(
    kernel: Kernel,
    reference: Callable[..., Any],
    nd_range: NDRange,
    *arguments: Any,
    device: str | Device = DEFAULT_DEVICE,
    rounding: float = 0.0,
    **static: Any,
) -> Any:
    """Asserts that a launch gives what a reference gives.

    Args:
      kernel, nd_range, device: as for `xe.launch`.
      reference: takes the same arrays and scalars and gives what the kernel should return, as NumPy arrays of the
        same dtypes and shapes.
      *arguments: the launch's arrays and scalars.
      rounding: the largest relative difference of an element; 0 asks for equal bits.
      **static: the kernel's static parameters.

    Returns:
      The outputs.

    Raises:
      AssertionError: they differ; the message tells where first.
    """
    __tracebackhide__ = True
    _check_asked(reference, rounding)
    outputs = launch(kernel, nd_range, device=device)(*arguments, **static)
    expected = reference(*map(_plain, arguments))
    if expected is None:
        raise KernelArgumentError(
            f"the reference of kernel {kernel.name} gives None; it returns what the kernel should return: is a return "
            "missing?"
        )
    verdict = compare(outputs, expected, rounding)
    if not verdict.agrees:
        raise AssertionError(f"{_launched(kernel, nd_range)}: {verdict.text}{_of_chex(outputs, expected, rounding)}")
    return jax.tree.map(np.asarray, outputs)


def _check_asked(reference: Any, rounding: Any) -> None:
    """Checks what results are held against.

    Raises:
      KernelArgumentError: the reference is no function, or the rounding no number from 0.
    """
    __tracebackhide__ = True
    if not callable(reference):
        raise KernelArgumentError(
            f"the reference is {called(reference)}; give a function, as in "
            "assert_matches(kernel, reference, nd_range, *arrays)"
        )
    if not isinstance(rounding, int | float) or not rounding >= 0:
        raise KernelArgumentError(f"rounding is {rounding!r}; give the largest relative difference, a number from 0")


def _of_chex(outputs: Any, expected: Any, rounding: float) -> str:
    """What chex says of arrays that differ; nothing where they do so in a NaN or the sign of a zero alone."""
    try:
        chex.assert_trees_all_equal_shapes_and_dtypes(outputs, expected)
        if rounding:
            chex.assert_trees_all_close(outputs, expected, rtol=rounding, atol=0)
        else:
            chex.assert_trees_all_equal(outputs, expected)
    except AssertionError as error:
        return f"\n\n{error}"
    return ""


@public.known_as("testing.nd_ranges")
def nd_ranges(
    dimensions: int | Sequence[int] = (1, 2, 3),
    most_items: int = _MOST_ITEMS,
    most_groups: int = 8,
    device: str | Device = DEFAULT_DEVICE,
) -> "SearchStrategy[NDRange]":
    """A strategy for nd-ranges with a local size that a device can launch; they shrink to few, small work-groups.

    Args:
      dimensions: how many there may be.
      most_items: the largest work-group, no more than the device's.
      most_groups: the most work-groups of a launch.
      device: the modelled device.
    """
    st = _strategies()
    allowed = tuple(dimensions) if isinstance(dimensions, Iterable) else (dimensions,)
    if not allowed or not set(allowed) <= {1, 2, 3}:
        raise KernelArgumentError(f"dimensions is {dimensions!r}; an nd-range has 1, 2 or 3")
    if not all(isinstance(most, int | np.integer) and most > 0 for most in (most_items, most_groups)):
        raise KernelArgumentError(f"most_items={most_items!r}, most_groups={most_groups!r}; give positive numbers")
    largest = min(most_items, find_device(device).max_work_group_size or most_items)

    @st.composite
    def draw_range(draw: Callable[[Any], Any]) -> NDRange:
        rank = draw(st.sampled_from(allowed))
        local = _factors(draw, st, rank, largest)
        groups = _factors(draw, st, rank, most_groups)
        return NDRange(tuple(g * s for g, s in zip(groups, local, strict=True)), local)

    strategy: SearchStrategy[NDRange] = draw_range()
    return strategy


@public.known_as("testing.masks")
def masks(shape: int | Sequence[int]) -> "SearchStrategy[np.ndarray]":
    """A strategy for bool masks of a shape, such as a work-group's; all, none and one work-item come up often.

    Args:
      shape: of the mask.
    """
    st = _strategies()
    sizes = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not all(isinstance(size, int | np.integer) and size >= 0 for size in sizes):
        raise KernelArgumentError(f"masks of the shape {shape!r}; give whole numbers from 0, such as wg.size")
    count = int(np.prod(sizes, dtype=np.int64))

    one = st.integers(0, max(count - 1, 0)).map(lambda k: 1 << k)
    numbers = st.one_of(st.just(0), st.just((1 << count) - 1), one, st.integers(0, (1 << count) - 1))

    # No map of the numbers: hypothesis would show the call by which a mask was made, in place of the mask.
    @st.composite
    def draw_mask(draw: Callable[[Any], int]) -> np.ndarray:
        bits = draw(numbers)
        return np.array([bits >> k & 1 for k in range(count)], bool).reshape(sizes)

    strategy: SearchStrategy[np.ndarray] = draw_mask()
    return strategy


def _plain(argument: Any) -> Any:
    """An argument of a launch as a reference takes it: its arrays as NumPy has them."""
    if not isinstance(argument, _ARRAYS):
        return jax.tree.map(lambda x: np.asarray(x) if isinstance(x, jax.Array) else x, argument)
    return np.asarray(argument)


def _factors(draw: Callable[[Any], Any], st: Any, rank: int, most: int) -> tuple[int, ...]:
    """So many numbers from 1 with a product up to `most`; the contiguous dimension, the last, has the first choice."""
    chosen: list[int] = []
    for _ in range(rank):
        chosen.insert(0, draw(st.integers(1, max(most, 1))))
        most //= chosen[0]
    return tuple(chosen)


def _strategies() -> Any:
    try:
        from hypothesis import strategies
    except ImportError as error:
        raise ImportError("the strategies need hypothesis; run pip install hypothesis") from error
    return strategies


def _launched(kernel: Kernel, nd_range: NDRange) -> str:
    return f"kernel {kernel.name} over {nd_range}"

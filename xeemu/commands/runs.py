"""Run: an example carried out on its inputs, timed, and judged by its reference."""

import dataclasses
import time
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from xeemu.commands.verdict import Verdict, compare
from xeemu.devices.device import Device
from xeemu.kernels.example import Example
from xeemu.sweeps.progress import phase


@dataclasses.dataclass(frozen=True)
class FinishedRun:
    """A finished run of an example.

    Attributes:
      example: what was run.
      size: at which size.
      outputs: what it gave, a pytree of NumPy arrays.
      first_s: time of the first run, with tracing and compilation.
      again_s: the least time of the later runs; None if there were none.
      verdict: how the outputs compare with the reference.
    """

    example: Example
    size: tuple[int, ...]
    outputs: Any
    first_s: float
    again_s: float | None
    verdict: Verdict

    @property
    def time_s(self) -> float:
        """Time of a run: without compilation where there was more than one."""
        return self.first_s if self.again_s is None else self.again_s

    @property
    def rate(self) -> float:
        """Units of the example's work per second."""
        return self.example.work(self.size) / self.time_s


@dataclasses.dataclass(frozen=True)
class Way:
    """How an example is run.

    Attributes:
      device: the modelled device.
      repeat: how many runs follow the first one.
      verify: true to compare the outputs with the reference, where there is one.
      schedule: the key of an adversarial run, or None.
      max_iterations: after which a loop is given up, None for the default.
    """

    device: str | Device
    repeat: int = 1
    verify: bool = True
    schedule: int | None = None
    max_iterations: int | None = None


def run(example: Example, size: Sequence[int] | None, way: Way, prefix: str = "") -> FinishedRun:
    """Carries out an example.

    Args:
      example: what to run.
      size: at which size; by default its own.
      way: how.
      prefix: what a progress line begins with.
    """
    sized = example.sized(size)
    with phase(f"{prefix}{example.name}: making the inputs"):
        inputs = example.inputs(sized)
        placed = _placed(inputs) if way.schedule is None else inputs
    with phase(f"{prefix}{example.name}: first run, with compilation"):
        outputs, first_s = _timed(example, placed, sized, way)
    again_s = None
    for k in range(way.repeat):
        with phase(f"{prefix}{example.name}: run {k + 2} of {way.repeat + 1}"):
            _, seconds = _timed(example, placed, sized, way)
        again_s = min(seconds, again_s or seconds)
    outputs = jax.tree.map(np.asarray, outputs)
    with phase(f"{prefix}{example.name}: comparing with the reference"):
        verdict = _judge(example, inputs, outputs, way.verify)
    return FinishedRun(example, sized, outputs, first_s, again_s, verdict)


def _placed(inputs: Any) -> Any:
    """The inputs, their arrays where JAX will run the launch: what it takes to bring them there is no time of it."""
    with jax.enable_x64(True):  # arrays of 64 bits keep them
        return jax.tree.map(lambda x: jax.device_put(x) if _is_plain(x) else x, inputs)


def _is_plain(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype.names is None


def _judge(example: Example, inputs: Any, outputs: Any, verify: bool) -> Verdict:
    if example.reference is None:
        return Verdict(None, "undefined", "not verified: no reference, the result is undefined")
    if not verify:
        return Verdict(None, "-", "not verified, as asked")
    return compare(outputs, example.reference(*inputs), example.rounding)


def _timed(example: Example, inputs: Any, size: tuple[int, ...], way: Way) -> tuple[Any, float]:
    start = time.perf_counter()
    outputs = jax.block_until_ready(example.launch(inputs, size, way.device, way.schedule, way.max_iterations))
    return outputs, time.perf_counter() - start

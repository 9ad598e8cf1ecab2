"""Example: a kernel of the collection with its inputs, its launch and its reference."""

import dataclasses
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

import xeemu as xe
from xeemu.errors import KernelArgumentError

SEED = 2009  # of every example's random data, the one that the texts give to srand

Size = tuple[int, ...]
Inputs = tuple[np.ndarray, ...]


@dataclasses.dataclass(frozen=True)
class Example:
    """A kernel with everything that it takes to run it and to judge the result.

    Attributes:
      name: what the command line calls it.
      summary: one line: what it does, and the text that it follows.
      kernel: the kernel; of an example with several launches, the one of the first.
      size: the problem size of the text, or the documented choice where the text gives none.
      size_names: what each number of `size` counts.
      nd_range: from a size, the nd-range of the (first) launch.
      inputs: from a size, the arguments of the (first) launch in order; the same ones every time.
      reference: from the inputs, what `launch` gives, in NumPy and without xeemu; None where the texts call the result
        undefined.
      work: from a size, how many units of useful work a run does, whatever way the kernel goes about it.
      unit: what `work` counts.
      static: the kernel's static parameters.
      run: `run(inputs, size, **options)`, with the options of `xe.launch`, where it takes more than one launch; else
        None.
      rounding: the largest relative difference to the reference; 0 says equal bits.
    """

    name: str
    summary: str
    kernel: xe.Kernel
    size: Size
    size_names: tuple[str, ...]
    nd_range: Callable[[Size], xe.NDRange]
    inputs: Callable[[Size], Inputs]
    reference: Callable[..., Any] | None
    work: Callable[[Size], int]
    unit: str
    static: Mapping[str, Hashable] = dataclasses.field(default_factory=dict)
    run: Callable[..., Any] | None = None
    rounding: float = 0.0

    def launch(
        self,
        inputs: Inputs,
        size: Sequence[int] | None = None,
        device: str | xe.Device = "max1550",
        schedule: Any = None,
        max_iterations: int | None = None,
    ) -> Any:
        """Runs the example.

        Args:
          inputs: what `self.inputs(size)` gives.
          size: the size that the inputs were made for; by default the example's own.
          device: the modelled device.
          schedule: a key for an adversarial run, as for `xe.launch`.
          max_iterations: of a loop, as for `xe.launch`; of an example that is a single launch.

        Returns:
          The outputs, of the structure and the dtypes that the reference gives.
        """
        size = self.sized(size)
        if self.run is not None:
            return self.run(inputs, size, device=device, schedule=schedule)
        launch = xe.launch(
            self.kernel, self.nd_range(size), device=device, schedule=schedule, max_iterations=max_iterations
        )
        return launch(*inputs, **self.static)

    def sized(self, size: Sequence[int] | None = None) -> Size:
        """`size` as a tuple, checked; the example's own if it is None.

        Raises:
          KernelArgumentError: it has too few or too many numbers, or one below 1.
        """
        if size is None:
            return self.size
        if len(size) != len(self.size_names) or min(size) < 1:
            raise KernelArgumentError(
                f"the size {tuple(size)} does not fit the example {self.name}; give one number from 1 for each of "
                f"{', '.join(self.size_names)}, such as {self.size}"
            )
        return tuple(size)

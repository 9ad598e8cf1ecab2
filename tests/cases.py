"""Cases of a corpus: a small kernel with one defect, its corrected twin, and what must be found in the first.

A case is one function with the keyword `fixed`: without it the kernel has the defect, with it it is the corrected twin,
so that both stand in the same lines and nothing but the defect tells them apart. A line at which something must be
found ends with `# mark: name`. The marks of an expectation come in the order of the lines; a race of a line with itself
has its mark twice.
"""

import dataclasses
import inspect
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np

import xeemu as xe

Arguments = Callable[[], tuple[np.ndarray, ...]]
Judge = Callable[[Sequence[np.ndarray]], Any]

ANY = "*"
"""A memory that an expectation leaves open."""


@dataclasses.dataclass(frozen=True)
class Expected:
    """A finding.

    Attributes:
      kind: as `Finding.kind`.
      memory: the memory's name in the kernel; None if it is about none, `ANY` if that is left open.
      marks: of the lines at which it is reported, one or two.
      severity: `"error"` or `"note"`.
      remedy: a regular expression that is found in the finding's text, where the remedy matters.
    """

    kind: str
    memory: str | None
    marks: tuple[str, ...]
    severity: str = "error"
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class Refused:
    """An error of a launch.

    Attributes:
      codes: SYCL's `errc` names, of which the error has one.
      mark: of the line that it names; None if it names none.
      remedy: a regular expression that is found in the message.
    """

    codes: tuple[str, ...]
    mark: str | None
    remedy: str = ""


@dataclasses.dataclass(frozen=True)
class Defect:
    """A defective kernel next to its corrected twin, which has no findings.

    Attributes:
      name: of the case.
      defective: the kernel with the defect.
      corrected: its twin; it takes the same arguments.
      nd_range: of the launch.
      arguments: makes the launch's arrays.
      expected: all findings of the defective kernel.
      static: static parameters of the launch.
      device: the modelled device.
      refused: the error of the defective kernel's launch, if there is one.
      right: judges the outputs of the twin, where SYCL permits several; by default they are those in lockstep.
      explained: why no schedule gives a wrong answer although the kernel is wrong.
      hidden: why the race may be hidden in the order of emulation, so that `check` may find nothing.
    """

    name: str
    defective: xe.Kernel
    corrected: xe.Kernel
    nd_range: xe.NDRange
    arguments: Arguments
    expected: tuple[Expected, ...]
    static: dict[str, Any] = dataclasses.field(default_factory=dict)
    device: str | xe.Device = "max1550"
    refused: Refused | None = None
    right: Judge | None = None
    explained: str = ""
    hidden: str = ""

    def __repr__(self) -> str:
        return self.name

    def launched(self, kernel: xe.Kernel, key: int | None = None) -> list[np.ndarray]:
        """The outputs of one of the two kernels, in lockstep or under a schedule."""
        launch = xe.launch(kernel, self.nd_range, device=self.device, schedule=key)
        return [np.asarray(x) for x in jax.tree.leaves(launch(*self.arguments(), **self.static))]

    def checked(self, kernel: xe.Kernel) -> tuple[list[np.ndarray], xe.Findings]:
        """The outputs of one of the two kernels, and what is found in it."""
        outputs, findings = xe.check(kernel, self.nd_range, device=self.device)(*self.arguments(), **self.static)
        return [np.asarray(x) for x in jax.tree.leaves(outputs)], findings

    def judge(self) -> Judge:
        """Tells right outputs from wrong ones."""
        if self.right is not None:
            return self.right
        expected = self.launched(self.corrected)
        return lambda outputs: all(map(_same, outputs, expected))


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    return np.array_equal(x, y, equal_nan=x.dtype.kind == "f")


class Corpus:
    """Cases, registered by decorators.

    Attributes:
      cases: them, in the order of their registration.
    """

    def __init__(self, **usual: Any):
        self.cases: list[Defect] = []
        self._usual = usual

    def __call__(
        self,
        *expected: Expected,
        nd_range: xe.NDRange | None = None,
        arguments: Arguments | None = None,
        sub_group_size: int | None = None,
        variant: str = "",
        static: dict[str, Any] | None = None,
        **given: Any,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Makes a case of a function; by default it is launched with one array of zeros, an element per work-item.

        Args:
          *expected: the findings of the defective kernel.
          sub_group_size: that the kernels require.
          variant: told apart by it are the cases of one function with different static parameters.
          **given: other attributes of the case.
        """
        usual = {"nd_range": xe.NDRange(64, 64), "sub_group_size": None, **self._usual}
        launch = nd_range or usual.pop("nd_range")
        required = sub_group_size or usual.pop("sub_group_size")
        others = {key: value for key, value in usual.items() if key not in ("nd_range", "sub_group_size")} | given

        def register(function: Any) -> Any:
            arrays = arguments or (lambda: (zeros(*launch.global_size),))
            kernels = (xe.kernel(sub_group_size=required)(_with_fixed(function, fixed)) for fixed in (False, True))
            name = f"{function.__name__}_{variant}" if variant else function.__name__
            self.cases.append(Defect(name, *kernels, launch, arrays, expected, static or {}, **others))
            return function

        return register


def _with_fixed(function: types.FunctionType, fixed: bool) -> types.FunctionType:
    """The same function, in the same lines, with a default for `fixed`."""
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, None, function.__closure__)
    copy.__kwdefaults__ = {**(function.__kwdefaults__ or {}), "fixed": fixed}
    return copy


def marked_line(kernel: xe.Kernel, mark: str) -> int:
    """The line number, in its file, of the kernel's line with a mark."""
    lines, first = inspect.getsourcelines(kernel.function)
    (line,) = (number for number, text in enumerate(lines, first) if text.rstrip().endswith(f"# mark: {mark}"))
    return line


def marked_lines(kernel: xe.Kernel, marks: Iterable[str]) -> tuple[int, ...]:
    """The line numbers of several marks, ascending."""
    return tuple(sorted(marked_line(kernel, mark) for mark in marks))


# --- Expectations ---


def race(memory: str, first: str, second: str, severity: str = "error", remedy: str = "") -> Expected:
    return Expected("data-race", memory, (first, second), severity, remedy)


def wrong_fence(memory: str, first: str, second: str, remedy: str = "") -> Expected:
    return Expected("wrong-fence", memory, (first, second), remedy=remedy)


def uninitialised(memory: str, mark: str) -> Expected:
    return Expected("uninitialized-read", memory, (mark,))


def outside(memory: str, mark: str) -> Expected:
    return Expected("out-of-bounds", memory, (mark,))


def divergent(mark: str) -> Expected:
    return Expected("barrier-divergence", None, (mark,))


def crossing(mark: str) -> Expected:
    return Expected("cross-item", None, (mark,), "note")


# --- Arrays ---


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


def ascending(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape)

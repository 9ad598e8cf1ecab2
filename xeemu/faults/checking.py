"""check: what is wrong with a kernel; proved before the run where addresses are known, else watched as it runs."""

import dataclasses
import functools
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.emission.observer import MAX_ITERATIONS
from xeemu.errors import KernelArgumentError, KernelError, did_you_mean
from xeemu.faults import alignment, exploration, judgement, proofs, size_invariance, sizes
from xeemu.faults.exploration import Explored
from xeemu.faults.findings import FORWARD_PROGRESS, Finding, Findings
from xeemu.faults.observing import Observed
from xeemu.faults.ranges import Ranges
from xeemu.faults.sizes import Faults
from xeemu.faults.watch_list import WatchList
from xeemu.knowledge import symbolic_execution
from xeemu.language import public, source
from xeemu.language.kernel import Kernel
from xeemu.language.linearity import Allocation
from xeemu.language.ndrange import NDRange
from xeemu.language.program import Program
from xeemu.launching import calling, executables, ready, unwritten
from xeemu.launching.arguments import (
    DEFAULT_DEVICE,
    checked_device,
    checked_iterations,
    own_range,
    scalars,
)
from xeemu.launching.launch import staged
from xeemu.launching.memoised import Memoised
from xeemu.launching.options import MOST_WATCHED
from xeemu.launching.preparation import Prepared
from xeemu.launching.ready import Call, Ready
from xeemu.launching.staged import Launched


@public.function
def check(
    kernel: Kernel,
    nd_range: NDRange | None = None,
    *,
    device: str | Device = DEFAULT_DEVICE,
    max_iterations: int = MAX_ITERATIONS,
    unset: Mapping[str, np.ndarray] | None = None,
) -> Launched[tuple[Any, Findings]]:
    """A kernel over an nd-range as a function that also tells what is wrong with it.

    Data races, uninitialised reads, accesses out of bounds, barriers that a part of a group reaches, barriers of the
    wrong memories, and operations that mix work-items. What follows from addresses that are known is proved, for every
    input; the rest is watched in this run. That work-items run in lockstep here hides nothing.

    Args:
      kernel: what `@xe.kernel` made.
      nd_range: global and local size, as for `xe.launch`.
      device: the modelled device.
      max_iterations: after which a loop that need not end is given up.
      unset: by the names of parameters that are arrays which of their bytes nobody has written before the launch,
        bools; to read these is a fault, too. Of arrays that are not named all have been.

    Returns:
      A function `f(*arrays, **static)` that gives the outputs, the bits of `xe.launch`, as NumPy arrays; and the
      `Findings`. Of a result that is given as a `jax.ShapeDtypeStruct` nothing has been written before. Equal calls
      compile once.

    Raises:
      NDRangeError, KernelNotSupportedError, MemoryAllocationError, KernelArgumentError, KernelError: as `xe.launch`.
      KernelError: a loop has gone on for `max_iterations`.
    """
    nd_range = own_range(kernel, nd_range)
    modelled = checked_device(kernel, nd_range, device)
    limit = checked_iterations(max_iterations, optional=False)
    return _check(kernel, nd_range, _CheckOptions(modelled, limit), _of_names(unset))


@dataclasses.dataclass(frozen=True)
class _CheckOptions:
    """What a check was asked for: `device` and `max_iterations` of `check`."""

    device: Device
    max_iterations: int


def _check(
    kernel: Kernel, nd_range: NDRange, asked: _CheckOptions, unset: Mapping[str, np.ndarray]
) -> Launched[tuple[Any, Findings]]:
    """A check as a function; equal ones of memories that are written are the same."""
    return _checking(kernel, nd_range, asked, unset) if unset else _check_written(kernel, nd_range, asked)


@functools.lru_cache(maxsize=MOST_WATCHED)
def _check_written(kernel: Kernel, nd_range: NDRange, asked: _CheckOptions) -> Launched[tuple[Any, Findings]]:
    return _checking(kernel, nd_range, asked, {})


def _checking(
    kernel: Kernel, nd_range: NDRange, asked: _CheckOptions, unset: Mapping[str, np.ndarray]
) -> Launched[tuple[Any, Findings]]:
    chosen = None if asked.max_iterations == MAX_ITERATIONS else asked.max_iterations
    told = functools.partial(staged, "check", kernel, nd_range, asked.device, max_iterations=chosen)
    if kernel.interface is not None and kernel.interface.checking is not None:
        kernel = kernel.interface.checking(kernel)
    return told((_bound if calling.is_bound(kernel) else _own)(kernel, nd_range, asked, unset))


def _own(
    kernel: Kernel, nd_range: NDRange, asked: _CheckOptions, unset: Mapping[str, np.ndarray]
) -> Callable[..., tuple[Any, Findings]]:
    """A check of a kernel that takes its arguments as they are."""
    calls = ready.watched("xe.check", kernel, nd_range, asked.device)
    at_sizes: dict[int, Ready[Prepared]] = {}

    def call(*arguments: Any, **static: Any) -> tuple[Any, Findings]:
        given = _CheckCall.of(calls.call(arguments, static), asked, unset)
        results, found = given.checked.of(given.arguments, given.masks)

        def at_size(size: int) -> tuple[Any, Findings]:
            requiring = dataclasses.replace(kernel, sub_group_size=size)
            if size not in at_sizes:
                at_sizes[size] = ready.watched("xe.check", requiring, nd_range, asked.device)
            there = _CheckCall.of(at_sizes[size].call(arguments, static), asked, unset)
            return there.checked.beside(given.checked, there.arguments, there.masks)

        program = given.checked.prepared.program
        if not (others := sizes.others(program, asked.device, found)):
            return results, found
        all_given = [*given.arguments, *given.masks.values()]
        faults = given.checked.at_sizes(all_given, lambda: sizes.faults(others, results, found, at_size))
        return results, sizes.noted(program, asked.device, others, found, faults)

    return call


@dataclasses.dataclass(frozen=True, eq=False)
class _CheckCall:
    """A call of a check.

    Attributes:
      checked: what is checked in such calls.
      arguments: the launch's.
      masks: which elements of its memories nobody has written, of those of which there are any.
    """

    checked: "Checked"
    arguments: Sequence[Any]
    masks: Mapping[Allocation, np.ndarray]

    @classmethod
    def of(cls, call: Call[Prepared], asked: _CheckOptions, unset: Mapping[str, np.ndarray]) -> "_CheckCall":
        prepared, arguments, shapes = call
        program, masks = prepared.program, dict[Allocation, np.ndarray]()
        if unset or shapes:
            made = unwritten.masks(arguments, shapes, program.kernel.parameters)
            masks = _masks(program, {**unset, **made})
        is_aligned, known = alignment.is_required(asked.device), scalars(arguments)
        checked = _checked(prepared, known, asked.max_iterations, is_aligned, frozenset(masks))
        return cls(checked, arguments, masks)


def _bound(
    kernel: Kernel, nd_range: NDRange, asked: _CheckOptions, unset: Mapping[str, np.ndarray]
) -> Callable[..., Any]:
    """A check of a kernel of another language, of whose results that are given as shapes nothing has been written."""

    def call(*arguments: Any, **static: Any) -> Any:
        given, names = unwritten.filled(kernel, arguments)
        made = {**unset, **unwritten.masks(given, names, kernel.parameters)}
        function = calling.function(kernel, nd_range, lambda k, r: _check(k, r, asked, made), calling.first)
        return function(*given, **static)

    return call


def _of_names(unset: Mapping[str, np.ndarray] | None) -> Mapping[str, np.ndarray]:
    if unset is not None and not isinstance(unset, Mapping):
        raise KernelArgumentError(
            f"unset is {source.called(unset)}; give a dict from names of arrays to a bool for each of their bytes, "
            "such as unset={'x': np.ones(x.nbytes, bool)}"
        )
    return unset or {}


def _check_names(unset: Mapping[str, np.ndarray], program: Program) -> None:
    kernel = program.kernel
    every = (kernel.interface and kernel.interface.every) or kernel.parameters
    known = [*every, *(memory.name for memory in program.arguments if memory is not None)]
    if wrong := [name for name in unset if name not in known]:
        raise KernelArgumentError(
            f"unset names {wrong[0]!r}, which kernel {kernel.name} does not take"
            f"{did_you_mean(str(wrong[0]), known)}; it takes {', '.join(dict.fromkeys(known))}"
        )


def _masks(program: Program, unset: Mapping[str, np.ndarray]) -> dict[Allocation, np.ndarray]:
    """Which elements of a launch's memories nobody has written, of those of which there are any."""
    _check_names(unset, program)
    found = {}
    for memory in program.arguments:
        if memory is not None and memory.elements and memory.name in unset:
            mask = _of_elements(np.asarray(unset[memory.name]), memory.elements, memory.dtype.itemsize, memory.name)
            if mask.any():
                found[memory] = mask
    return found


def _of_elements(mask: np.ndarray, elements: int, size: int, name: str) -> np.ndarray:
    """`[elements]` true where a mask of bytes has any of an element's, of `size` bytes each."""
    if mask.dtype != np.bool_ or mask.size < elements * size:
        raise KernelArgumentError(
            f"unset has {mask.size} of {mask.dtype} for {name}, which has {elements * size} bytes; give a bool for each"
        )
    return np.asarray(mask.reshape(-1)[: elements * size].reshape(elements, size).any(1))


@functools.lru_cache(maxsize=MOST_WATCHED)
def _checked(
    prepared: Prepared,
    known: tuple[Hashable, ...],
    max_iterations: int,
    aligned: bool,
    unset: frozenset[Allocation],
) -> "Checked":
    program = prepared.program
    ranges = Ranges()
    steps = symbolic_execution.of_program(program, prepared.facts, known, ranges.look)
    what = proofs.of_tree(steps, program.written, ranges, aligned, unset)
    return Checked(prepared, WatchList(what, max_iterations), tuple(judgement.absent_lanes(program, known)))


class Checked:
    """A prepared launch together with what has to be watched in it, and the values of absent lanes that it uses."""

    def __init__(self, prepared: Prepared, watch: WatchList, absent: tuple[Finding, ...]):
        self.prepared, self.watch, self.absent = prepared, watch, absent
        figures = prepared.options.target.watching
        self._explored, self._at_sizes = Memoised[Explored | None](figures), Memoised[Faults](figures)
        self._is_again = False
        self._last: tuple[Mapping[str, Any] | None, Explored | None, Findings] | None = None

    def of(
        self, given: Sequence[Any], unset: Mapping[Allocation, np.ndarray], once: bool = False
    ) -> tuple[Any, Findings]:
        """What the kernel gives, and the findings; the arguments are those of `run`."""
        outputs, state = self.run(given, unset, once)
        found = self.judged(state, self.explored(given, state))
        return self.prepared.program.output_tree.unflatten(outputs), found

    def beside(
        self, other: "Checked", given: Sequence[Any], unset: Mapping[Allocation, np.ndarray]
    ) -> tuple[Any, Findings]:
        """The same, beside a check of the same kernel at another sub-group size, which has found no errors.

        It runs if that may tell more. What it gives is None if nobody need compare it: it is proved to be the same, or
        depends on the order in which work-items come.
        """
        one, two = other.watch.proofs, self.watch.proofs
        alike = sizes.is_ordered(self.prepared.program) or (one.complete and size_invariance.are_same(one, two))
        if two.complete and alike:
            return None, self.judged(None, None)
        outputs, found = self.of(given, unset, once=True)
        return None if alike else outputs, found

    def run(
        self, given: Sequence[Any], unset: Mapping[Allocation, np.ndarray], once: bool
    ) -> tuple[list[np.ndarray], Mapping[str, Any] | None]:
        """The kernel's outputs, and what was found; nothing if all was proved.

        Args:
          given: the arguments.
          unset: of memories that are not wholly written which elements are not.
          once: true if nobody needs the outputs again.
        """
        if self.watch.proofs.complete:
            run = self._seldom if once else executables.executable(self.prepared.unwatched).run
            return run(given), None
        return self._observed.run(given, [~unset[memory] for memory in self.watch.present])

    def explored(self, given: Sequence[Any], state: Mapping[str, Any] | None) -> Explored | None:
        """The conflicts in several orders where these may matter; None where not, or where the launch is too large."""
        if state is None or not exploration.is_needed(self.watch.proofs, state["conflicts"]):
            return None
        asked = self._explored.asked(given)
        if asked.kept is not None:
            return asked.kept[0]
        begun = time.process_time()
        explored = exploration.explored(self.prepared.program, given, self.watch.proofs)
        asked.keep(explored, time.process_time() - begun)
        return explored

    def at_sizes(self, given: Sequence[Any], faults: Callable[[], Faults]) -> Faults:
        """What is wrong at other sub-group sizes; the first time, compilers take most of the time that it takes.

        Args:
          given: the arguments, and which elements of them nobody has written.
          faults: finds it.
        """
        asked = self._at_sizes.asked(given)
        if asked.kept is not None:
            return asked.kept[0]
        begun = time.process_time()
        found = faults()
        asked.keep(found, time.process_time() - begun if self._is_again else 0)
        self._is_again = True
        return found

    def judged(self, state: Mapping[str, Any] | None, explored: Explored | None) -> Findings:
        """The findings of a run, by what it has left and what was seen in several orders."""
        last = self._last
        if last is not None and last[0] is state and last[1] is explored:
            return last[2]
        found = judgement.judge(self.prepared.program, self.watch, self.known, state, explored)
        found = found.and_also(self.absent)
        self._last = state, explored, found
        return found

    def _check_ended(self, state: Mapping[str, Any]) -> None:
        """Refuses a run that was given up, or was longer than can be told apart."""
        if state["passed"] > self.watch.most_barriers:
            raise KernelError(
                f"a work-group has passed {state['passed']} barriers, more than the {self.watch.most_barriers} that a "
                "check of so large a launch tells apart; check it with fewer work-groups or iterations"
            )
        self.watch.limits.check(state["exceeded"], self._hint(state["exceeded"]))

    def _hint(self, exceeded: Sequence[bool]) -> str:
        """What to do about the first loop that was given up."""
        waiting = {found.sites[0]: found for found in self.known if found.kind == FORWARD_PROGRESS}
        for op in self.watch.limits.given_up(exceeded):
            if (found := waiting.get(source.of_op(op))) is not None:
                return f"in lockstep it cannot end where work-items of one sub-group wait for each other.\n{found}"
        return "if it would in the end, give the check more with max_iterations=, or --max-iterations of the command"

    @functools.cached_property
    def known(self) -> Findings:
        """The findings that follow from the program alone."""
        return judgement.of_program(self.prepared.program, self.watch)

    @functools.cached_property
    def _seldom(self) -> Callable[[Sequence[Any]], list[np.ndarray]]:
        return executables.seldom(self.prepared.unwatched)

    @functools.cached_property
    def _observed(self) -> Observed:
        return Observed(self.prepared, self.watch, self._check_ended)

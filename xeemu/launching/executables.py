"""Executables: prepared launches as functions that keep to the bounds of memory, or refuse before they allocate."""

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import numpy as np

from xeemu.emission import compiling
from xeemu.launching import capacity, thread_partition, working_set
from xeemu.launching.arguments import device_of
from xeemu.launching.memoised import Memoised
from xeemu.launching.options import MOST_KEPT
from xeemu.launching.preparation import Prepared, Watch
from xeemu.launching.recompiling import CompileBudget, Recompiled
from xeemu.launching.threads import Threaded
from xeemu.planning import straight_programs

# How often a launch is compiled anew for fewer groups. One or two do: what does not grow with the chunk is little.
_MOST_ATTEMPTS = 4

_SMALLER = "Launch a part of the work at a time, on the part of the arrays that it needs"
_DONATE = f"{_SMALLER}; donate=True lets results take the place of arguments that may be lost"
_LESS_WORK = "; memory_bytes= bounds what is there to work with"


class Executable:
    """A prepared launch as a function that keeps to the bounds of memory, or refuses before it allocates anything.

    What a chunk takes is analysed beforehand, and known once it is compiled: where that is more than the bound, it is
    compiled again for fewer work-groups at a time.

    Attributes:
      prepared: the launch, in the end with the chunk that fits.
    """

    def __init__(self, prepared: Prepared):
        self.prepared = prepared
        self._working_bytes: int | None = None
        self._function: Callable[..., list[jax.Array]] = prepared.compiled
        arguments_bytes = sum(memory.nbytes for memory in prepared.program.arguments if memory is not None)
        self._arrays_bytes = arguments_bytes + prepared.results_bytes

    def __call__(self, *given: Any) -> list[jax.Array]:
        """The arrays that the kernel returns.

        Raises:
          MemoryAllocationError: there is not enough memory.
        """
        if self._working_bytes is None:
            self._check(given, None)
            self._working_bytes = self._fit(given)
        if self._working_bytes + self._arrays_bytes >= self.prepared.options.target.unasked_bytes:
            self._check(given, self._working_bytes)
        try:
            if not compiling.is_tracing():
                return self._function(*given)
            # A computation of its own, even while somebody traces another, of which no argument is a part.
            with jax.core.eval_context():
                return self._function(*given)
        except capacity.ALLOCATION_ERRORS as error:
            capacity.refuse_failed(error)
            raise

    def run(self, given: Sequence[Any]) -> list[np.ndarray]:
        """The arrays that the kernel returns, of a launch's arguments as they were given."""
        with compiling.wide(self.prepared.program.wide):
            return [np.asarray(output) for output in self(*given)]

    def _check(self, given: Sequence[Any], working_bytes: int | None) -> None:
        need = self.prepared.need(capacity.absent_bytes(given), working_bytes)
        advice = _SMALLER if self.prepared.options.donate else _DONATE
        capacity.check(need, device_of(given), advice + _LESS_WORK)

    def _fit(self, given: Sequence[Any]) -> int:
        """What the launch works with, with the chunk that fits."""
        if (whole := _single_chunk(self.prepared)) is not None:
            fit = _alone(whole, given)
            if fit.working_bytes <= whole.options.chunk_bytes:
                self.prepared, self._function = whole, fit.function
                return fit.working_bytes
        # Each thread works with a group at least: for all of them the bound may be too low.
        by_threads = _within_bounds(self.prepared, _by_threads, given)
        if by_threads is not None and by_threads.working_bytes <= self.prepared.options.most_bytes:
            fit = by_threads
        else:
            fit = _within_bounds(self.prepared, _alone, given)
        self.prepared, self._function = fit.prepared, fit.function
        return fit.working_bytes


@dataclasses.dataclass(frozen=True, eq=False)
class _Fit:
    """A launch as it is carried out.

    Attributes:
      prepared: the launch, in the chunks that it is carried out by.
      function: what does so.
      working_bytes: what it works with.
    """

    prepared: Prepared
    function: Callable[..., list[jax.Array]]
    working_bytes: int


def _by_threads(prepared: Prepared, given: Sequence[Any]) -> _Fit | None:
    """A prepared launch carried out by threads; None if they cannot share it."""
    shared = thread_partition.of_launch(prepared) if given else None
    if shared is None:
        return None
    threaded = Threaded(shared)
    return _Fit(shared.prepared, threaded.function, threaded.working_bytes(given))


def _alone(prepared: Prepared, given: Sequence[Any]) -> _Fit:
    """A prepared launch carried out as a single program."""
    measured = capacity.Measured(prepared.compiled)
    function = (
        measured.function if not prepared.limits.any else lambda *given: prepared.ended(measured.function(*given))
    )
    return _Fit(prepared, function, measured.working_bytes(given, prepared.results_bytes))


_T = TypeVar("_T", _Fit, _Fit | None)


def _within_bounds(
    prepared: Prepared, carried_out: Callable[[Prepared, Sequence[Any]], _T], given: Sequence[Any]
) -> _T:
    """A launch with a chunk that fits, or the smallest that was tried."""
    fit, most_bytes = carried_out(prepared, given), prepared.options.most_bytes
    for _ in range(_MOST_ATTEMPTS):
        if fit is None or fit.working_bytes <= most_bytes or fit.prepared.cut.least:
            break
        smaller = carried_out(fit.prepared.smaller(most_bytes / fit.working_bytes), given)
        if smaller is None or smaller.working_bytes >= fit.working_bytes:
            break
        fit = smaller
    return fit


@functools.lru_cache(maxsize=MOST_KEPT)
def executable(prepared: Prepared) -> Executable:
    """A prepared launch as a function, which is compiled once."""
    return Executable(prepared)


def seldom(prepared: Prepared) -> Callable[[Sequence[Any]], list[np.ndarray]]:
    """A prepared launch, as `Executable.run`, for somebody who may never ask for it again.

    It is compiled with little effort first, and the first call is mostly the compiler's.
    """
    budget, is_less = CompileBudget(), prepared.once.compiler_options != prepared.compiler_options
    calls = itertools.count()

    def run(given: Sequence[Any]) -> list[np.ndarray]:
        if not is_less or budget.is_spent:
            return executable(prepared).run(given)
        return budget.spend(lambda: executable(prepared.once).run(given), is_run=next(calls) > 0)

    return run


def _single_chunk(prepared: Prepared) -> Prepared | None:
    """The launch as a single chunk, if that may need no more memory; without a loop over chunks all may fuse.

    No copies are made then either of arguments for a loop to change. Only as the user says nothing about
    memory.
    """
    cut, options, task = prepared.cut, prepared.options, prepared.analysed.task
    chosen = not options.target.whole_bytes or options.memory_bytes is not None or cut.chunk >= cut.regular
    if chosen or cut.regular * working_set.group_bytes(task.facts, 1) > options.target.whole_bytes:
        return None
    if cut.inner is not None:
        task = cut.inner.task
    fused = straight_programs.is_straight(task.facts)
    fits = fused and cut.regular * straight_programs.materialised_bytes(task.facts) <= options.chunk_bytes
    return dataclasses.replace(prepared, chosen=dataclasses.replace(cut, chunk=cut.regular)) if fits else None


@dataclasses.dataclass(frozen=True, eq=False)
class Watched:
    """A prepared launch with observers.

    Attributes:
      prepared: the launch.
      watch: makes the observer of a chunk.
      zeros: makes the state before the first chunk, of what else a run is given.
      outputs: true if a run gives the arrays that the kernel returns; else it computes what the state needs alone.
      short: true if its runs are short, see `recompiling`; None if nobody knows, and they are as they are estimated.
      reported: what a run reports of the state after the last chunk.
      deciding: the numbers of the arguments whose contents decide on that; None for all.
    """

    prepared: Prepared
    watch: Watch
    zeros: Callable[..., Any]
    outputs: bool = True
    short: bool | None = None
    reported: Callable[[Any], Any] = lambda state: state
    deciding: tuple[int, ...] | None = None

    def run(self, given: Sequence[Any], more: Sequence[Any] = ()) -> tuple[list[np.ndarray], Any]:
        """The arrays that the kernel returns, of a launch's arguments as they were given; and the state in the end.

        For equal arguments that is the same object as before, where these are known again sooner than watched.

        Args:
          given: the arguments.
          more: what the state before the first chunk is made of.
        """
        # Scalars in the dtypes that the program was traced for; arrays as they are.
        inputs = self.prepared.program.body.inputs
        arguments = [np.asarray(a, v.dtype) if not np.shape(a) else a for a, v in zip(given, inputs, strict=True)]
        decide = [*(arguments if self.deciding is None else (arguments[k] for k in self.deciding)), *more]
        arguments += more
        asked = self._memoised.asked(decide)
        if asked.kept is not None:
            return executable(self.prepared.unwatched).run(given) if self.outputs else [], asked.kept[0]
        # Counts pass 2^31; and it is a computation of its own, whatever else is traced.
        try:
            with jax.enable_x64(True), jax.core.eval_context():
                self._check(arguments)
                begun = time.process_time()
                outputs, state = self._function(*arguments)
                spent_s = time.process_time() - begun
        except capacity.ALLOCATION_ERRORS as error:
            capacity.refuse_failed(error)
            raise
        state = jax.tree.map(np.asarray, state)
        asked.keep(state, spent_s)
        return [np.asarray(output) for output in outputs], state

    def _check(self, given: Sequence[Any]) -> None:
        """Refuses a run that cannot fit: first what is known from shapes, then with what the observers keep."""
        device, absent_bytes = device_of(given), capacity.absent_bytes(given)
        capacity.check(self.prepared.need(absent_bytes), device, _SMALLER)
        working_bytes = self._function.working_bytes(given, self.prepared.results_bytes)
        capacity.check(self.prepared.need(absent_bytes, working_bytes), device, _SMALLER)

    @property
    def is_long(self) -> bool:
        """True if it runs for longer than it takes to compile, as is thought or was seen."""
        return self._function.is_long

    @functools.cached_property
    def _memoised(self) -> Memoised[Any]:
        return Memoised(self.prepared.options.target.watching)

    @functools.cached_property
    def _function(self) -> Recompiled:
        prepared = self.prepared
        count = len(prepared.program.body.inputs)
        short = prepared.is_short if self.short is None else self.short

        def carried_out(*arguments: Any) -> tuple[list[jax.Array], Any]:
            outputs, state = prepared.watched(arguments[:count], self.watch, self.zeros(*arguments[count:]))
            return outputs if self.outputs else [], self.reported(state)

        threads, items = prepared.options.target.threads, prepared.cut.chunk * prepared.program.geometry.items
        options = compiling.single({}) if threads is not None and items <= threads.unshared_items else {}
        return Recompiled(carried_out, short, options)

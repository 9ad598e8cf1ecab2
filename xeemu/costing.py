"""profile and estimate: what a launch of a kernel costs on the modelled device, with a run or without."""

import dataclasses
import functools
import importlib.metadata
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend import core as jex_core
from jax.interpreters import partial_eval

from xeemu import counting, dependence, interpreter
from xeemu.counting import Counting, Ledger, Static
from xeemu.device import Device
from xeemu.errors import KernelArgumentError
from xeemu.jaxprs import Body
from xeemu.kernel import Kernel
from xeemu.launch import (
    DEFAULT_DEVICE,
    SHAPED,
    Description,
    Options,
    Prepared,
    checked_arguments,
    checked_device,
    platform_of,
    prepare,
)
from xeemu.ndrange import NDRange
from xeemu.report import Report
from xeemu.tabulation import Counts, tabulate
from xeemu.values import Chunk


def profile(
    kernel: Kernel, nd_range: NDRange, device: str | Device = DEFAULT_DEVICE, sample: int | None = None
) -> Callable[..., tuple[Any, Report]]:
    """A kernel over an nd-range as a function that also tells what the launch costs.

    Args:
      kernel: what `@xe.kernel` made.
      nd_range: global and local size, as for `xe.launch`.
      device: the modelled device.
      sample: not available yet: give None, and all work-groups are counted.

    Returns:
      A function `f(*arrays, **static)` that gives the outputs, the bits of `xe.launch`, as NumPy arrays; and a
      `Report`. Its counts are exact. Equal calls compile once.

    Raises:
      NDRangeError, KernelNotSupportedError, MemoryAllocationError, KernelArgumentError, KernelError: as `xe.launch`.
    """
    modelled = checked_device(kernel, nd_range, device)
    if sample is not None:
        raise KernelArgumentError("counting on a sample of work-groups is not available; leave out sample=")

    def call(*arguments: Any, **static: Any) -> tuple[Any, Report]:
        given = checked_arguments(kernel, arguments, (jax.Array, np.ndarray, np.generic))
        if any(isinstance(a, jax.core.Tracer) for a in given):
            raise KernelArgumentError("xe.profile gives plain numbers, so it cannot be part of a jit; call it outside")
        counted = _prepared(kernel, nd_range, modelled, given, static)
        with jax.enable_x64(True):
            results = counted.compiled(*counted.converted(given))
        outputs = [np.asarray(r) for r in results[: counted.outputs]]
        counts = counted.counts([np.asarray(r) for r in results[counted.outputs :]])
        tree = counted.prepared.program.output_tree
        return jax.tree.unflatten(tree, outputs), _report(counted, counts)

    return call


def estimate(kernel: Kernel, nd_range: NDRange, device: str | Device = DEFAULT_DEVICE) -> Callable[..., Report]:
    """What a launch of a kernel costs, without running it.

    Args:
      kernel, nd_range, device: as for `profile`.

    Returns:
      A function `f(*arrays, **static)` that gives a `Report`. Of arrays only the shapes and dtypes count, so that a
      `jax.ShapeDtypeStruct` will do; scalars that are given are used. What depends on the contents of an array is
      `None`; all other counts are those of `profile`.

    Raises:
      As `profile`.
    """
    modelled = checked_device(kernel, nd_range, device)

    def call(*arguments: Any, **static: Any) -> Report:
        given = checked_arguments(kernel, arguments, SHAPED)
        counted = _prepared(kernel, nd_range, modelled, given, static)
        unknown = [isinstance(a, jax.ShapeDtypeStruct) or bool(np.shape(a)) for a in given]
        return _report(counted, _without_run(counted, given, unknown))

    return call


def _without_run(counted: "Counted", given: Sequence[Any], unknown: Sequence[bool]) -> Counts:
    """The counts that do not depend on the arguments marked unknown."""
    wanted, compiled = _without(counted, tuple(unknown))
    scalars = [None if hidden else a for a, hidden in zip(counted.converted(given), unknown, strict=True)]
    with jax.enable_x64(True):
        results = iter(compiled(*[a for a in scalars if a is not None])) if any(wanted) else iter(())
    return counted.counts([np.asarray(next(results)) if use else None for use in wanted[counted.outputs :]])


def _prepared(kernel: Kernel, nd_range: NDRange, device: Device, given: Sequence[Any], static: Any) -> "Counted":
    options = Options(None, False, False, platform_of(given))
    descriptions = tuple(map(Description.of, given))
    return _counted(prepare(kernel, nd_range, device, descriptions, kernel.bind_static(static), options), device)


@functools.lru_cache(maxsize=128)
def _counted(prepared: Prepared, device: Device) -> "Counted":
    return Counted(prepared, Ledger.of(prepared.program, prepared.plan, device))


@dataclasses.dataclass(frozen=True, eq=False)
class Counted:
    """A prepared launch together with the counting of it, as one jaxpr.

    The jaxpr gives the kernel's outputs and then what was counted as the program ran, in the order of `Ledger.zeros`.
    """

    prepared: Prepared
    ledger: Ledger

    @property
    def outputs(self) -> int:
        return len(self.prepared.program.outputs)

    def converted(self, given: Sequence[Any]) -> list[Any]:
        """Scalars in the dtypes that the program was traced for; arrays as they are."""
        avals = [v.aval for v in self.prepared.program.body.invars]
        return [
            np.asarray(a, v.dtype) if not isinstance(a, jax.ShapeDtypeStruct) and not np.shape(a) else a
            for a, v in zip(given, avals, strict=True)
        ]

    @functools.cached_property
    def traced(self) -> tuple[Any, Static]:
        """The closed jaxpr, and what was multiplied out as it was traced."""
        roots: list[counting.Frame] = []
        structs = [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in self.prepared.program.body.invars]
        # Counts pass 2^31; the kernel keeps the dtypes that it was traced with.
        with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
            closed = jax.make_jaxpr(lambda *arguments: self._emit(roots, arguments))(*structs)
        return closed, counting.static(roots[0] if roots else {}, self.ledger)

    @functools.cached_property
    def compiled(self) -> Callable[..., list[jax.Array]]:
        return jax.jit(jex_core.jaxpr_as_fun(self.traced[0]))

    def counts(self, results: Sequence[np.ndarray | None]) -> Counts:
        """All counts from what the program gave; None is a result that could not be computed."""
        multiplied = self.traced[1]
        places, tallied = len(self.ledger.places), len(self.ledger.tallied)
        figures, classes, tallies = results[:places], results[places], results[places + 1 :]
        assert len(tallies) == tallied
        needs_run, _ = _without(self, tuple(bool(v.aval.shape) for v in self.prepared.program.body.invars))
        return Counts(
            figures=[_sum(a, b) for a, b in zip(multiplied.figures, figures, strict=True)],
            classes=_sum(multiplied.classes, classes),
            tallies=[_sum(a, b) for a, b in zip(multiplied.tallies, tallies, strict=True)],
            closed_form=list(needs_run[self.outputs : self.outputs + places]),
        )

    def _emit(self, roots: list[counting.Frame], arguments: Sequence[jax.Array]) -> list[jax.Array]:
        program = self.prepared.program
        flat = [a.reshape(-1) if a.ndim else a for a in arguments]
        written = [k for k, m in enumerate(program.arguments) if m is not None and m in program.written]
        state = self.ledger.zeros()
        memories, state = self._all_chunks(roots, flat, written, state)
        final = dict(zip(written, memories, strict=True))
        outputs = [final.get(k, flat[k]).reshape(arguments[k].shape) for k in program.outputs]
        return [*outputs, *state["figures"], *state["classes"], *state["tallies"]]

    def _all_chunks(
        self, roots: list[counting.Frame], flat: list[jax.Array], written: list[int], state: Any
    ) -> tuple[list[jax.Array], Any]:
        sizes = self.prepared.program.geometry
        full, rest = divmod(sizes.groups, self.prepared.chunk)
        carry = ([flat[k] for k in written], state)

        def step(first: Any, count: int, carry: tuple[list[jax.Array], Any]) -> tuple[list[jax.Array], Any]:
            return self._one_chunk(roots, first, count, flat, written, carry)

        width = sizes.id_type.type(self.prepared.chunk)
        if full > 1:
            carry = lax.fori_loop(
                0, full, lambda k, c: step(k.astype(sizes.id_type) * width, self.prepared.chunk, c), carry
            )
        elif full:
            carry = step(0, self.prepared.chunk, carry)
        return step(full * self.prepared.chunk, rest, carry) if rest else carry

    def _one_chunk(
        self,
        roots: list[counting.Frame],
        first: Any,
        count: int,
        flat: list[jax.Array],
        written: list[int],
        carry: tuple[list[jax.Array], Any],
    ) -> tuple[list[jax.Array], Any]:
        program, (memories, state) = self.prepared.program, carry
        arguments = list(flat)
        for k, data in zip(written, memories, strict=True):
            arguments[k] = data
        options = self.prepared.options
        chunk = Chunk(program.geometry, first, count, options.platform == "cpu", options.deterministic)
        observer = Counting(self.ledger, chunk, state)
        outputs = interpreter.run(program, self.prepared.plan, arguments, chunk, observer)
        roots.append(observer.root)
        returned = dict(zip(program.outputs, outputs, strict=True))
        return [returned[k] for k in written], observer.state


@functools.lru_cache(maxsize=256)
def _without(counted: Counted, unknown: tuple[bool, ...]) -> tuple[list[bool], Callable[..., list[jax.Array]]]:
    """Which results (never the kernel's outputs) do not need the arguments marked unknown; and those compiled.

    The function takes the other arguments.
    """
    closed, _ = counted.traced
    needing = dependence.needing(Body(closed), unknown)
    wanted = [k >= counted.outputs and not needs for k, needs in enumerate(needing)]
    reduced, used = partial_eval.dce_jaxpr(closed.jaxpr, wanted)
    avals = [v.aval for v in closed.jaxpr.invars]

    def run(*known: jax.Array) -> list[jax.Array]:
        rest = iter(known)
        arguments = [
            jnp.zeros(aval.shape, aval.dtype) if hidden else next(rest)
            for aval, hidden in zip(avals, unknown, strict=True)
        ]
        taken = [a for a, use in zip(arguments, used, strict=True) if use]
        return jex_core.jaxpr_as_fun(jex_core.ClosedJaxpr(reduced, closed.consts))(*taken)

    return wanted, jax.jit(run)


def _sum(a: np.ndarray, b: np.ndarray | None) -> np.ndarray | None:
    return None if b is None else a + b.astype(np.int64)


def _report(counted: Counted, counts: Counts) -> Report:
    kernel = counted.prepared.program.kernel
    try:
        lines, first = inspect.getsourcelines(kernel.function)
    except (OSError, TypeError):
        lines, first = [], 0
    return tabulate(
        counted.prepared,
        counted.ledger,
        counts,
        version=_version(),
        source=tuple((first + k, line.rstrip("\n")) for k, line in enumerate(lines)),
    )


def _version() -> str:
    """Of xeemu, which need not be installed to be used."""
    try:
        return importlib.metadata.version("xeemu")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"

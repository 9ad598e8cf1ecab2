"""Preparation: a launch traced, analysed and checked, and carried out chunk by chunk."""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.devices import aspects, grf, limits
from xeemu.devices.device import Device
from xeemu.emission import buffers, compiling, interpreter
from xeemu.emission.buffers import PartOrigin
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.observer import Observer
from xeemu.knowledge import conversions, dataflow, termination
from xeemu.knowledge.analysis import Facts
from xeemu.knowledge.termination import IterationLimits
from xeemu.language import geometry, program
from xeemu.language.geometry import Geometry
from xeemu.language.kernel import Kernel
from xeemu.language.linearity import Allocation
from xeemu.language.ndrange import NDRange
from xeemu.language.program import Program
from xeemu.launching import capacity, chunking, cores, full_overwrite, iteration_limits, working_set
from xeemu.launching.arguments import ArgumentType, platform_of
from xeemu.launching.chunk_loops import Carry, ChunkLoop, Share
from xeemu.launching.chunking import ChunkedLaunch
from xeemu.launching.options import MOST_KEPT, Options
from xeemu.launching.tasks import Analysed, Task
from xeemu.planning import body_plans, effort, plan_notes, row_shapes, storage
from xeemu.planning.body_plans import ProgramPlan

Watch = Callable[[EmittedChunk, Any], Observer]


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """A traced, analysed and checked kernel, ready to be emitted.

    Attributes:
      analysed: the traced kernel with what is known of it.
      options: how it is emulated.
      chosen: which work-groups are emulated together, if that is not as many as the working set allows.
      launched: of one that somebody will watch, the same that nobody watches, which the passes may change.
    """

    analysed: Analysed
    options: Options
    chosen: ChunkedLaunch | None = None
    launched: "Prepared | None" = None

    @functools.cached_property
    def cut(self) -> ChunkedLaunch:
        """Which work-groups are emulated together; found out when somebody asks, as only who runs it does."""
        if self.chosen is not None:
            return self.chosen
        if self.analysed.watched:
            return chunking.evenly(self.analysed, self.options, 1)
        return chunking.of_launch(self.analysed, self.options)

    @property
    def program(self) -> Program:
        """The traced kernel."""
        return self.analysed.program

    @property
    def facts(self) -> Facts:
        """Its analysis, for all who watch it."""
        return self.analysed.facts

    @functools.cached_property
    def watched_alone(self) -> "Prepared":
        """This launch for somebody who sees every access; one object, so that equal calls compile once."""
        analysed = dataclasses.replace(self.analysed, watched=True)
        observed = dataclasses.replace(self.options, observed=True)
        return Prepared(analysed, observed, launched=self)

    @functools.cached_property
    def without_memories(self) -> "Prepared":
        """This launch for somebody who asks for nothing in memories of groups, which are not kept then."""
        return dataclasses.replace(self, chosen=chunking.without_memories(self.analysed, self.options))

    @property
    def is_short(self) -> bool:
        """True if somebody who watches it waits for the compiler rather than for the run."""
        return effort.is_short(self.program, self.cut.groups, self.options.target)

    @property
    def unwatched(self) -> "Prepared":
        """The launch where it has turned out that nothing is left to watch."""
        return self.launched or self

    @functools.cached_property
    def once(self) -> "Prepared":
        """This launch for a result that nobody needs again: what is soon done is not made fast (see `effort`)."""
        return dataclasses.replace(self, options=dataclasses.replace(self.options, once=True))

    def emit(self, *arguments: jax.Array) -> list[jax.Array]:
        """The arrays that the kernel returns, as JAX operations on the launch's arguments (see `bounded`)."""
        return self.bounded(arguments, None)

    def bounded(self, arguments: Sequence[jax.Array], share: Share | None) -> list[jax.Array]:
        """What `emit` gives, by some chunks; where loops are counted, a scalar more, which `ended` takes off again."""
        if not self.limits.any:
            return self.watched(arguments, lambda chunk, state: Observer(), (), share)[0]
        counting = functools.partial(iteration_limits.Counting, self.limits)
        results, given_up = self.watched(arguments, counting, jnp.zeros((), np.int32), share)
        return [*results, given_up]

    @functools.cached_property
    def limits(self) -> IterationLimits:
        """How long its loops may go on."""
        inner = [self.cut.inner.task.facts] if self.cut.inner else []
        return termination.limits([self.facts, self.analysed.task.facts, *inner], self.options.max_iterations)

    def ended(self, results: list[jax.Array]) -> list[jax.Array]:
        """The arrays that the kernel returns, of what `emit` has given.

        Raises:
          KernelError: a loop was given up.
        """
        if not self.limits.any:
            return results
        iteration_limits.check(self.limits, int(results[-1]))
        return results[:-1]

    def watched(
        self, arguments: Sequence[jax.Array], watch: Watch, state: Any, share: Share | None = None
    ) -> tuple[list[jax.Array], Any]:
        """The same, and the state that an observer of every chunk leaves.

        Args:
          arguments: the launch's.
          watch: makes the observer of a chunk from the chunk and the state before it.
          state: before the first chunk, a pytree.
          share: the chunks to carry out; None for all.
        """
        arguments = list(map(jnp.asarray, arguments))  # with jax.disable_jit they come as they were given
        shapes = [a.shape for a in arguments]
        flat = [a.reshape(-1) if a.ndim else a for a in arguments]
        written = [
            k
            for k, memory in enumerate(self.program.arguments)
            if memory is not None and memory in self.program.written
        ]
        # A user's strictness about ranks holds for the kernel, which is traced by now.
        with jax.numpy_rank_promotion("allow"):
            memories, state = self._all_chunks(flat, written, watch, state, share)
        final = dict(zip(written, memories, strict=True))
        return [final.get(k, flat[k]).reshape(shapes[k]) for k in self.program.outputs], state

    @functools.cached_property
    def overwritten(self) -> frozenset[int]:
        """The numbers of the arguments whose contents before the launch do not matter."""
        return full_overwrite.overwritten(self.analysed.task.program, self.analysed.task.facts)

    def _all_chunks(
        self, flat: list[jax.Array], written: list[int], watch: Watch, state: Any, share: Share | None
    ) -> Carry:
        fresh = frozenset() if self.options.donate or share is not None else self.overwritten
        carry = [lax.empty(flat[k].shape, flat[k].dtype) if k in fresh else flat[k] for k in written], state
        if not jax.tree.leaves(carry) or not self.cut.groups:
            return carry
        origins = share.origins if share else {}

        def step(first: Any, carry: Carry, left: int = 0) -> Carry:
            memories, state = carry
            arguments = dict(enumerate(flat)) | dict(zip(written, memories, strict=True))
            task, chunk = self._chunk(first, left, share)
            observer = watch(chunk, state)
            plan = _plan(task, chunk, arguments, origins, observer)
            outputs = interpreter.run(task.program, plan, list(arguments.values()), origins, chunk, observer)
            returned = dict(zip(self.program.outputs, outputs, strict=True))
            return [returned[k] for k in written], observer.close()

        loop = ChunkLoop(self.cut, self.program.geometry.id_type, step, lambda m: self._as_stored(m, written, share))
        if share is not None:
            return loop.of_share(carry, share)
        # The groups that are left store to a part of them.
        copied = self.options.target.copies_reshaped and any(self.program.body.inputs[k].ndim > 1 for k in written)
        return loop.after_all(carry, copied)

    def _chunk(self, first: Any, left: int, share: Share | None) -> tuple[Task, EmittedChunk]:
        """What a full chunk carries out, or the groups that are left behind those, and these, from a first one on."""
        cut, single = self.cut, share is not None and share.single
        inner = None if left else cut.inner
        chunk = EmittedChunk(
            self.program.geometry,
            left or cut.chunk,
            self.options.target,
            self.options.deterministic,
            cut.iterations,
            cut.alignment(left),
            inner=inner is not None,
            prefers_short_code=bool(left),
            single=single,
            cores=1 if single else cores.count(),
            spare_bytes=max(0, self.options.most_bytes - self.working_bytes),
            first=first,
        )
        return (self.analysed if inner is None else inner).task, chunk

    @property
    def with_plans(self) -> Program:
        """The program that the groups of a full chunk carry out, in one thread, with how they do beside each operation.

        Of a launch that nobody watches.
        """
        task, chunk = self._chunk(0, 0, None)
        memories = {k: memory for k, memory in enumerate(task.program.arguments) if memory is not None}
        arrays = {k: jax.ShapeDtypeStruct((memory.elements,), memory.dtype) for k, memory in memories.items()}
        plan = _plan(task, chunk, arrays, {}, Observer())
        return dataclasses.replace(task.program, notes=plan_notes.of_body(plan.body))

    def _as_stored(self, memories: list[jax.Array], written: list[int], share: Share | None) -> list[jax.Array]:
        """Contents of memories in the shapes in which full chunks store to them, in a program for one thread.

        What a loop carries in one shape and stores to in another, XLA asks its own threads to copy in each iteration.
        They find that it lies in its place, but the loop waits for them, half as long again where chunks are short.
        """
        if share is None or not share.single:
            return memories
        task, chunk = self._chunk(0, 0, share)
        contents = dict(zip(written, memories, strict=True))
        storages = storage.of_arguments(task.program, contents, buffers.units(share.origins))
        shapes = row_shapes.of_program(task.facts, chunk, storages)
        return [m.reshape(shapes.get(k, m.shape)) for k, m in zip(written, memories, strict=True)]

    @functools.cached_property
    def returned(self) -> Mapping[int, Allocation]:
        """The memories that the kernel returns, by the numbers of their arguments."""
        memories = {k: self.program.arguments[k] for k in self.program.outputs}
        return {k: memory for k, memory in memories.items() if memory is not None}

    @functools.cached_property
    def results_bytes(self) -> int:
        """The size of the arrays that the kernel returns."""
        return sum(memory.nbytes for memory in self.returned.values())

    @functools.cached_property
    def working_bytes(self) -> int:
        """What a chunk takes to work with, as it is foreseen."""
        cut, task = self.cut, self.analysed.task
        return cut.chunk * working_set.group_bytes(task.facts, cut.iterations)

    def smaller(self, part: float) -> "Prepared":
        """The same in chunks with about such a part of the working set."""
        return dataclasses.replace(self, chosen=self.cut.smaller(part, self.program.geometry.group_range))

    def need(self, arguments_bytes: int, working_bytes: int | None = None) -> capacity.Need:
        """The memory that a launch takes; what it works with is as analysed unless it is known."""
        results_bytes = 0 if self.options.donate else self.results_bytes
        if working_bytes is None:
            working_bytes = self.working_bytes
        return capacity.Need(arguments_bytes, results_bytes, working_bytes)

    @functools.cached_property
    def compiled(self) -> Callable[..., list[jax.Array]]:
        """`emit` as a compiled function; it keeps no loop from being given up."""
        donated = self.program.outputs if self.options.donate else ()
        far = self.limits.any and not self.options.target.has_system_memory

        def emit(*arguments: jax.Array) -> list[jax.Array]:
            results = self.emit(*arguments)
            # A GPU waits 0.1 to 0.2 ms longer for a host that fetches the last one (H200: rows of a sparse matrix take
            # 0.7 of the time so, rows of 3 elements half).
            return [*results[:-1], jax.device_put(results[-1], jax.memory.Space.Host)] if far else results

        return compiling.compiled(emit, self.compiler_options, donated)

    @functools.cached_property
    def compiler_options(self) -> Mapping[str, Any]:
        """What XLA is asked for, where the launch is a computation of its own."""
        task = self.cut.inner.task if self.cut.inner else self.analysed.task
        bits = effort.vector_bits(task.facts, self.options.target)
        short = self.options.once and effort.is_short_once(task.program, self.cut.groups, self.options.target)
        options = {**compiling.vectors(bits), **compiling.effort(little=short)}
        unshared = effort.is_unshared(task.program, self.cut.groups, self.options.target)
        return compiling.single(options) if unshared else options


def _plan(
    task: Task, chunk: EmittedChunk, arguments: Mapping[int, Any], origins: Mapping[int, PartOrigin], observer: Observer
) -> ProgramPlan:
    """How a chunk carries out its program on the contents of memories, flat arrays by their arguments' numbers."""
    storages = storage.of_arguments(task.program, arguments, buffers.units(origins))
    return body_plans.of_program(task.facts, chunk, storages, interpreter.observation(observer))


def prepare_alone(
    kernel: Kernel, nd_range: NDRange, device: Device, arguments: Sequence[Any], static: Mapping[str, Any]
) -> Prepared:
    """Prepares a launch of which somebody will see every access, and that is no part of a larger computation."""
    options = Options(None, False, False, platform_of(arguments))
    bound = kernel.bind_static(static)
    return prepare(kernel, nd_range, device, tuple(map(ArgumentType.of, arguments)), bound, options).watched_alone


def prepare(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["ArgumentType", ...],
    static: tuple[tuple[str, Hashable], ...],
    options: Options,
) -> Prepared:
    """Checks, traces and analyses a launch; cached, so that equal launches are compiled once."""
    # Static values that are equal may differ in type or sign (4 and 4.0, 0.0 and -0.0); their text does too.
    told = repr(static), kernel.bindings(static)
    prepared = _prepared(kernel, nd_range, device, arguments, static, told, options)
    # Each time: the environment may have changed the limits.
    traced = prepared.program
    limits.check_memory(
        traced.local_bytes, traced.private_bytes, device, allocations=traced.allocations, dialect=kernel.dialect
    )
    return prepared


@functools.lru_cache(maxsize=MOST_KEPT)
def _prepared(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["ArgumentType", ...],
    static: tuple[tuple[str, Hashable], ...],
    _told: Hashable,
    options: Options,
) -> Prepared:
    traced = traced_program(kernel, nd_range, device, arguments, static)
    facts = dataflow.analyse(traced)
    conversions.check(traced, facts)
    return Prepared(Analysed(traced, facts, options.target, options.deterministic), options)


def traced_program(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["ArgumentType", ...],
    static: tuple[tuple[str, Hashable], ...],
) -> Program:
    """The program of a launch, after the checks of its sizes."""
    limits.check_sizes(nd_range, device, kernel.work_group_size, kernel.sub_group_size, kernel.dialect)
    sizes = _geometry(kernel, nd_range, device, arguments)
    grf.check(kernel.grf_size, device, sizes.items, sizes.sub_group_size, kernel.dialect)
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak) for a in arguments]
    before = kernel.reached.now()
    traced = program.trace(kernel, sizes, structs, static)
    kernel.reached.settle(before)
    aspects.check(traced, device)
    return traced


def _geometry(kernel: Kernel, nd_range: NDRange, device: Device, arguments: Sequence["ArgumentType"]) -> Geometry:
    lanes = limits.sub_group_size(device, kernel.sub_group_size)
    largest = max((math.prod(a.shape) for a in arguments), default=0)
    return geometry.cut(nd_range, lanes, kernel.work_group_size, largest, device.max_work_group_size)

"""Threads: a launch that updates elements one by one, shared by the cores of a CPU, of which each has its own results.

XLA carries out the updates of a scatter one after the other, on one core, and JAX does so with what one thread calls.
So several threads call the same program, each for chunks of its own, if their results can be merged.
"""

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp

from xeemu.emission import locating
from xeemu.emission.observer import Observer
from xeemu.knowledge import analysis, instances, progressions, schedule
from xeemu.knowledge.schedule import Schedule
from xeemu.language import primitives
from xeemu.language.linearity import Allocation
from xeemu.launching import capacity, compiling, merging
from xeemu.launching.preparation import Prepared, Share

# Updates of a thread at least: they take one to two milliseconds, and to wake it a tenth of one.
_LEAST = 1 << 20
# Results are merged element by element: there may be so many times fewer of them than updates.
_TIMES = 16
# Chunks of a thread at least, so that none has much more to do than others.
_CHUNKS = 4
_WRITES = primitives.ACCESSES - {primitives.load_p}


def of_launch(prepared: Prepared) -> "Threaded | None":
    """A prepared launch by several threads; None where it is not known that this gives the same, and sooner."""
    options = prepared.options
    alone = options.platform == "cpu" and options.mesh is None and not options.donate
    if not alone or cores() < 2 or not _scatters(prepared):
        return None
    plan = schedule.of_program(prepared.program, prepared.plan, [None] * len(prepared.program.arguments))
    operations = list(plan.root.operations())
    updates = plan.geometry.items * sum(map(_often, operations))
    count = min(cores(), updates // max(_LEAST, _TIMES * _elements(prepared)))
    rules = _rules(prepared, operations, plan) if count > 1 else None
    if rules is None:
        return None
    shared = _shared(prepared, count)
    count = min(count, shared.cut.chunks)
    return Threaded(shared, rules, count) if count > 1 else None


def _shared(prepared: Prepared, count: int) -> Prepared:
    """The launch in chunks that threads can share evenly, and of which each can have one to work with at a time."""
    part = prepared.options.most_bytes / (count * max(prepared.working_bytes, 1))
    if prepared.cut.inner is None:
        part = min(part, prepared.cut.chunks / (_CHUNKS * count))
    if part >= 1 or prepared.cut.chunk == 1:
        return prepared
    return dataclasses.replace(prepared, cut=prepared.cut.smaller(part))


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _elements(prepared: Prepared) -> int:
    memories = (prepared.program.arguments[k] for k in set(prepared.program.outputs))
    return sum(memory.elements for memory in memories if memory is not None)


def _scatters(prepared: Prepared) -> bool:
    """Whether some store or update goes where only data tell, as far as is seen at a first look."""
    dimensions = len(prepared.program.geometry.group_range)
    parts = analysis.executed(prepared.program.body, prepared.plan, dimensions)
    writes = ((e, plan) for body, plan in parts for e in body.eqns if e.primitive in _WRITES)
    return any(locating.foreseen(eqn, plan, dimensions)[1] is None for eqn, plan in writes)


def _often(operation: schedule.Operation) -> int:
    """How many elements each work-item stores to or updates, if only data tell where; all others are slices."""
    if operation.name == "load" or instances.is_known(operation):
        return 0
    return sum(map(progressions.points, operation.frame.boxes))


def _rules(
    prepared: Prepared, operations: Sequence[schedule.Operation], plan: Schedule
) -> tuple[merging.Rule, ...] | None:
    """For each result how it is merged; None if something that is written may depend on the order of the groups."""
    program, rules = prepared.program, dict[Any, merging.Rule]()
    for memory in program.written:
        if memory.space == "global":
            used = [o for o in operations if o.place.memory is memory and o.frame.boxes]
            rule = _rule(memory, used, plan)
            if rule is None:
                return None
            rules[memory] = rule
    returned = [program.arguments[k] for k in program.outputs]
    return tuple(rules[memory] for memory in returned) if all(memory in rules for memory in returned) else None


def _rule(memory: Allocation, used: Sequence[schedule.Operation], plan: Schedule) -> merging.Rule | None:
    if all(operation.name in ("load", "store") for operation in used):
        return "stores" if merging.keep_apart(used, plan) else None
    # Sums of floats depend on the order.
    return merging.only_update(used) if memory.dtype.kind in "iu" else None


class Threaded:
    """A prepared launch by several threads.

    Attributes:
      prepared: the launch.
      rules: for each result how it is merged.
      count: threads.
    """

    def __init__(self, prepared: Prepared, rules: tuple[merging.Rule, ...], count: int):
        self.prepared = prepared
        self.rules = rules
        self.count = count
        self._compiled: dict[Any, jax.stages.Compiled] = {}

    def function(self, *given: Any) -> list[jax.Array]:
        """The arrays that the kernel returns."""
        placed, numbers = jax.device_put(given), _numbers(self.count)
        call = functools.partial(self._call, self._for(given), placed)
        others = [_started(k, functools.partial(call, numbers[k])) for k in range(1, self.count)]
        parts = [call(numbers[0]), *(result() for result in others)]
        results: list[jax.Array] = self._merged([placed[k] for k in self.prepared.program.outputs], parts)
        return results

    def working_bytes(self, given: Sequence[Any]) -> int:
        """What all threads allocate beside arguments and a kernel's results; 0 if the compiler does not tell."""
        analysis = self._for(given).memory_analysis()
        return 0 if analysis is None else self.count * capacity.beyond(analysis, 0)

    def _call(self, compiled: jax.stages.Compiled, placed: Sequence[jax.Array], number: jax.Array) -> list[jax.Array]:
        """The results of one thread."""
        # JAX keeps such settings for each thread.
        with jax.enable_x64(self.prepared.program.wide), jax.disable_jit(False):
            results: list[jax.Array] = compiled(number, *placed)
            return results

    def _for(self, given: Sequence[Any]) -> jax.stages.Compiled:
        """The program of a thread for arguments from where they are: a thread would trace it anew."""
        with jax.core.eval_context(), jax.disable_jit(False):
            number = _numbers(self.count)[0]
            arrays = [a if isinstance(a, jax.Array) else number for a in given]
            where = (number.sharding, *((a.sharding, a.committed) for a in arrays))
            if where not in self._compiled:
                jitted = compiling.compiled(self._part, compiling.single(self.prepared.compiler_options), ())
                self._compiled[where] = jitted.lower(number, *given).compile()  # type: ignore[attr-defined]
        return self._compiled[where]

    def _part(self, number: jax.Array, *arguments: jax.Array) -> list[jax.Array]:
        share = Share(number, self.prepared.cut.bounds(self.count), single=compiling.takes_single())
        return self.prepared.watched(arguments, lambda chunk, state: Observer(), (), share)[0]

    @functools.cached_property
    def _merged(self) -> Callable[..., list[jax.Array]]:
        def merge(before: list[jax.Array], parts: list[list[jax.Array]]) -> list[jax.Array]:
            each = zip(self.rules, before, zip(*parts, strict=True), strict=True)
            return [merging.merged(rule, old, new) for rule, old, new in each]

        return jax.jit(merge)


@functools.partial(jax.jit, static_argnums=0)
def _numbers(count: int) -> list[jax.Array]:
    """Those of the threads, on JAX's device: nothing is transferred, which a user may have forbidden."""
    return [jnp.int32(k) for k in range(count)]


def _started(number: int, call: Callable[[], Any]) -> Callable[[], Any]:
    """What waits for a call that another thread has begun, and gives its result."""
    try:
        return _thread(number).submit(call).result
    except RuntimeError:  # Python no longer starts anything when it shuts down
        return call


@functools.cache
def _thread(number: int) -> ThreadPoolExecutor:
    """Always the same: JAX begins what one thread calls in order, so that parts of many launches do not run at once."""
    return ThreadPoolExecutor(1, f"xeemu-{number}")

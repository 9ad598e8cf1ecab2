"""Kernels of which a check, a profile and an estimate are called again, and how long that takes beside a launch.

Each looks up, or changes, elements that data decide in a way of its own, so that little is proved before a run.
"""

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from benchmark import common
from jax import lax

import xeemu as xe
from xeemu.kernels import EXAMPLES

TOLD = ("check", "profile", "estimate")

_N, _GROUP = 1 << 18, 256
_RANGE = xe.NDRange(_N, _GROUP)
_LEAST_S = 0.02  # of a round


@dataclasses.dataclass(frozen=True)
class Repeated:
    """A call that is repeated.

    Attributes:
      kernel: the kernel.
      nd_range: of the launch.
      arrays: its arguments.
      static: its static parameters.
    """

    kernel: xe.Kernel
    nd_range: xe.NDRange
    arrays: tuple[np.ndarray, ...]
    static: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def calls(self) -> dict[str, Callable[[], Any]]:
        """The launch, and what tells of it."""
        made = {name: getattr(xe, name)(self.kernel, self.nd_range) for name in ("launch", *TOLD)}
        resident = jax.device_put(self.arrays)
        return {
            name: lambda call=call: jax.block_until_ready(call(*resident, **self.static)) for name, call in made.items()
        }


def seconds(repeated: Repeated, rounds: int) -> dict[str, list[float]]:
    """`[rounds]` processor time of an equal call, in seconds, of the launch and of what tells of it, in turns."""
    calls = repeated.calls()
    for call in calls.values():
        _settle(call)
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(_each_s(call))
    return found


def _settle(call: Callable[[], Any]) -> None:
    """Calls until more was spent on equal calls than on the first, after which nothing is compiled any more."""
    left_s = _processor_s(call)
    for _ in range(3):
        left_s -= _processor_s(call)
    while left_s > 0:
        left_s -= _processor_s(call)
    _processor_s(call)


def _each_s(call: Callable[[], Any]) -> float:
    spent_s = [_processor_s(call)]
    while sum(spent_s) < _LEAST_S:
        spent_s.append(_processor_s(call))
    return statistics.median(spent_s)


def _processor_s(call: Callable[[], Any]) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def _below(bound: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, bound, shape, dtype=np.int32)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.int32)


# --- Elements looked up and stored by an array of indices ---


@xe.kernel
def _added(wg: xe.WorkGroup, x: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_id()
    return y.at[i].set(x[i] + 1)


def short() -> Repeated:
    return Repeated(_added, xe.NDRange(_GROUP, 64), (_below(9, _GROUP), _zeros(_GROUP)))


@xe.kernel
def _gathered(wg: xe.WorkGroup, x: xe.Memory, places: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_id()
    return y.at[i].set(x[places[i]])


def gather() -> Repeated:
    return Repeated(_gathered, _RANGE, (_below(9, _N), _below(_N, _N), _zeros(_N)))


@xe.kernel
def _scattered(wg: xe.WorkGroup, x: xe.Memory, places: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_id()
    return y.at[places[i]].set(x[i])


def scatter() -> Repeated:
    places = np.random.default_rng(0).permutation(_N).astype(np.int32)
    return Repeated(_scattered, _RANGE, (_below(9, _N), places, _zeros(_N)))


@xe.kernel
def _chased(wg: xe.WorkGroup, follower: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_id()
    return y.at[i].set(lax.fori_loop(0, 16, lambda _, place: follower[place], i))


def chase() -> Repeated:
    return Repeated(_chased, _RANGE, (_below(_N, _N), _zeros(_N)))


@xe.kernel
def _locally_gathered(wg: xe.WorkGroup, x: xe.Memory, places: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_id()
    tile = wg.barrier(wg.local(wg.size, jnp.int32).at[wg.local_id()].set(x[i]))
    return y.at[i].set(tile[places[i]])


def local_gather() -> Repeated:
    return Repeated(_locally_gathered, _RANGE, (_below(9, _N), _below(_GROUP, _N), _zeros(_N)))


@xe.kernel
def _locally_scattered(wg: xe.WorkGroup, x: xe.Memory, places: xe.Memory, y: xe.Memory) -> xe.Memory:
    i = wg.global_id()
    tile = wg.barrier(wg.local(wg.size, jnp.int32).at[places[i]].set(x[i]))
    return y.at[i].set(tile[wg.local_id()])


def local_scatter() -> Repeated:
    places = np.random.default_rng(0).permuted(np.tile(np.arange(_GROUP, dtype=np.int32), (_N // _GROUP, 1)), axis=1)
    return Repeated(_locally_scattered, _RANGE, (_below(9, _N), places.reshape(-1), _zeros(_N)))


# --- Loops and masks that data decide ---


def sparse_rows() -> Repeated:
    made = common.sparse_rows()
    return Repeated(made.kernel, made.nd_range, (*made.arrays, np.zeros(made.nd_range.global_size, np.float32)))


@xe.kernel
def _searched(wg: xe.WorkGroup, ordered: xe.Memory, keys: xe.Memory, y: xe.Memory) -> xe.Memory:
    """Where each key stands in what is ordered."""
    i = wg.global_id()
    key = keys[i]

    def halve(bounds: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = bounds
        middle = (low + high) // 2
        smaller = ordered[middle] < key
        return jnp.where(smaller, middle + 1, low), jnp.where(smaller, high, middle)

    first = jnp.zeros_like(i), jnp.full_like(i, ordered.shape[0])
    low, _ = wg.while_loop(lambda bounds: bounds[0] < bounds[1], halve, first)
    return y.at[i].set(low)


def search() -> Repeated:
    return Repeated(_searched, _RANGE, (np.sort(_below(1 << 30, _N)), _below(1 << 30, _N), _zeros(_N)))


@xe.kernel
def _first_step(
    wg: xe.WorkGroup, probability: xe.Memory, transition: xe.Memory, path: xe.Memory, y: xe.Memory
) -> tuple[xe.Memory, xe.Memory]:
    """A step of Viterbi's algorithm, a group for each state: the best by a tree whose last steps lack barriers."""
    state, lid = wg.group_id(), wg.local_id()
    best = wg.local(wg.size, jnp.float32).at[lid].set(probability[lid] + transition[state, lid])
    where = wg.local(wg.size, jnp.int32).at[lid].set(lid)
    best, where = wg.barrier(best, where)
    distance = wg.size // 2
    while distance:
        active = lid < distance
        other = jnp.where(best.load(lid, where=active) >= best.load(lid + distance, where=active), lid, lid + distance)
        best = best.at[lid].set(best.load(other, where=active), where=active)
        where = where.at[lid].set(where.load(other, where=active), where=active)
        if distance > 32:
            best, where = wg.barrier(best, where)
        distance //= 2
    return path.at[state].set(where[0], where=lid == 0), y.at[state].set(best[0], where=lid == 0)


def viterbi() -> Repeated:
    random, size = np.random.default_rng(0), 128
    arrays = random.random(size, np.float32), random.random((size, size), np.float32)
    return Repeated(_first_step, xe.NDRange(size * size, size), (*arrays, _zeros(size), np.zeros(size, np.float32)))


# --- Atomic operations ---


@xe.kernel
def _counted(wg: xe.WorkGroup, x: xe.Memory, counts: xe.Memory) -> xe.Memory:
    return counts.atomic[x[wg.global_id()]].add(1)


def global_atomics() -> Repeated:
    return Repeated(_counted, _RANGE, (_below(1024, _N), _zeros(1024)))


@xe.kernel
def _compacted(wg: xe.WorkGroup, x: xe.Memory, queue: xe.Memory, tail: xe.Memory) -> tuple[xe.Memory, xe.Memory]:
    """What is even, put together: a group takes as many places as it needs by one of its work-items."""
    value, lid = x[wg.global_id()], wg.local_id()
    kept = value % 2 == 0
    own = wg.exclusive_scan(kept.astype(jnp.int32), "add")
    first, tail = tail.atomic[0].fetch_add(wg.reduce(kept.astype(jnp.int32), "add"), where=lid == 0)
    return queue.at[wg.broadcast(first, 0) + own].set(value, where=kept), tail


def compaction() -> Repeated:
    return Repeated(_compacted, _RANGE, (_below(9, _N), _zeros(_N), _zeros(1)))


@xe.kernel
def _next_frontier(
    wg: xe.WorkGroup,
    frontier: xe.Memory,
    first: xe.Memory,
    neighbour: xe.Memory,
    level: xe.Memory,
    queue: xe.Memory,
    tail: xe.Memory,
) -> tuple[xe.Memory, xe.Memory, xe.Memory]:
    """A step of a breadth-first search: who lowers a level first takes a ticket, and stores the vertex there."""
    vertex = frontier[wg.global_id()]
    end = first[vertex + 1]

    def visit(carry: tuple[Any, ...]) -> tuple[Any, ...]:
        edge, level, queue, tail = carry
        found = neighbour[edge]
        before, level = level.atomic[found].fetch_min(1)
        is_new = before > 1
        ticket, tail = tail.atomic[0].fetch_add(1, where=is_new)
        return edge + 1, level, queue.at[ticket].set(found, where=is_new), tail

    _, level, queue, tail = wg.while_loop(lambda c: c[0] < end, visit, (first[vertex], level, queue, tail))
    return level, queue, tail


def _graph(vertices: int, frontier: int) -> tuple[np.ndarray, ...]:
    random = np.random.default_rng(0)
    first = np.concatenate([[0], np.cumsum(random.integers(1, 9, vertices))]).astype(np.int32)
    start = random.permutation(vertices)[:frontier].astype(np.int32)
    level = np.full(vertices, 1 << 20, np.int32)
    level[start] = 0
    return start, first, _below(vertices, int(first[-1])), level, _zeros(vertices), _zeros(1)


def frontier() -> Repeated:
    return Repeated(_next_frontier, xe.NDRange(1024, 64), _graph(1 << 14, 1024))


def small_frontier() -> Repeated:
    return Repeated(_next_frontier, xe.NDRange(128, 64), _graph(1 << 10, 128))


def _example(name: str, *size: int) -> Callable[[], Repeated]:
    def made() -> Repeated:
        of = EXAMPLES[name]
        return Repeated(of.kernel, of.nd_range(size), of.inputs(size), of.static)

    return made


REPEATED: Mapping[str, Callable[[], Repeated]] = {
    **{
        make.__name__: make
        for make in (
            short,
            gather,
            scatter,
            chase,
            local_gather,
            local_scatter,
            sparse_rows,
            search,
            viterbi,
            global_atomics,
            compaction,
            frontier,
            small_frontier,
        )
    },
    **{name: _example(name, 1 << 20) for name in ("histogram_private", "histogram_slm", "histogram_slm_1024")},
}

"""Loops that store to memories and update them, drawn at random, agree with a scalar program in every order.

How a loop is emitted depends on where its iterations go: windows of several iterations, updates found by blocks,
strided_patterns, scatters. Here places are any linear function of the loop's counter, the work-item and the group.
"""

import dataclasses
import functools
import itertools
from typing import Any

import examples
import jax.numpy as jnp
import launches
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jax import lax
from test_merge_updates import on_a_gpu

import xeemu as xe

LAW = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
ATOMIC = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum, "xor": np.bitwise_xor}
BEFORE = 5
"""What is in local and private memory before the loop."""


@dataclasses.dataclass(frozen=True)
class Access:
    """What each iteration does to a memory, at `turn * counter + item * local id + group * group id + first`.

    Attributes:
      space: of the memory.
      op: `"store"`, `"double"` (which stores twice what is there, and the value) or an atomic operation.
      turn, item, group, first: its place.
      size: of the memory.
      mask: who takes part.
      source: where the value comes from.
      dtype: of the memory.
    """

    space: str
    op: str
    turn: int
    item: int
    group: int
    first: int
    size: int
    mask: str
    source: str
    dtype: str

    def place(self, k: Any, lid: Any, gid: Any) -> Any:
        return self.turn * k + self.item * lid + self.group * gid + self.first

    def shape(self, groups: int, items: int) -> tuple[int, int, int]:
        """That of all groups' memories of this kind, with a column for each work-item that has its own."""
        return (1 if self.space == "global" else groups), self.size, (items if self.space == "private" else 1)


@dataclasses.dataclass(frozen=True)
class Loop:
    """A launch whose groups carry out a loop.

    Attributes:
      items, groups: of the nd-range.
      turns: iterations.
      written_out: true if the kernel has them one after the other.
      around: what the loop is inside of: `"nothing"`, `"branch"`, `"loop"`.
      accesses: of each iteration, to a memory each.
      width: a number that is known at run time alone.
    """

    items: int
    groups: int
    turns: int
    written_out: bool
    around: str
    accesses: tuple[Access, ...]
    width: int

    @functools.cached_property
    def given(self) -> tuple[np.ndarray, ...]:
        """The arguments of its kernel."""
        rng = np.random.default_rng(self.width)
        x = rng.integers(0, 1000, max(64, self.groups * (self.turns + 1) * self.items), np.int32)
        shapes = [access.shape(self.groups, self.items) for access in self.accesses]
        outs = [
            rng.integers(0, 1000, s).reshape(-1).astype(a.dtype) for s, a in zip(shapes, self.accesses, strict=True)
        ]
        return x, np.int32(self.width), *outs

    @property
    def nd_range(self) -> xe.NDRange:
        return xe.NDRange(self.groups * self.items, self.items)


# --- As a kernel ---


def kernel(loop: Loop) -> xe.Kernel:
    def body(wg, x, width, *outs):
        tools = _Tools(loop, wg, x, width)
        before = [tools.memory(access, out) for access, out in zip(loop.accesses, outs, strict=True)]
        after = _around(loop, x[wg.group_id()] % 2 == 0, tools.carried_out, before)
        results = zip(loop.accesses, after, outs, strict=True)
        return tuple(tools.result(access, memory, out) for access, memory, out in results)

    one, two = (lambda wg, x, width, a: body(wg, x, width, a)), (lambda wg, x, width, a, b: body(wg, x, width, a, b))
    return xe.kernel(one if len(loop.accesses) == 1 else two)


def _around(loop, condition, carry_out, memories):
    if loop.around == "branch":
        return lax.cond(condition, lambda ms: carry_out(list(ms)), list, memories)
    if loop.around == "loop":
        return list(lax.fori_loop(0, 2, lambda _, ms: carry_out(list(ms)), memories))
    return carry_out(memories)


class _Tools:
    """The parts of the kernel of a loop, for a work-group."""

    def __init__(self, loop, wg, x, width):
        self.loop, self.wg, self.x, self.width = loop, wg, x, width
        lid = wg.local_id()
        tile = wg.local(loop.items, jnp.int32)
        self.tile = wg.barrier(tile.at[lid].set(x[lid]))
        self.own = wg.private(max(loop.turns, 1), jnp.int32)
        for k in range(max(loop.turns, 1)):
            self.own = self.own.at[k].set(x[k] + lid)

    def memory(self, access, out):
        if access.space == "global":
            return out
        memory = getattr(self.wg, access.space)(access.size, access.dtype)
        if access.space == "private":
            return lax.fori_loop(0, access.size, lambda k, m: m.at[k].set(BEFORE), memory)
        for place in self._all(access):
            memory = memory.at[place].set(BEFORE, where=place < access.size)
        return self.wg.barrier(memory)

    def _all(self, access):
        return [k * self.loop.items + self.wg.local_id() for k in range(-(-access.size // self.loop.items))]

    def carried_out(self, memories):
        if not self.loop.written_out:
            return list(lax.fori_loop(0, self.loop.turns, lambda k, ms: self._turn(k, ms), memories))
        for k in range(self.loop.turns):
            memories = self._turn(jnp.int32(k), memories)
        return memories

    def _turn(self, k, memories):
        return [self._updated(access, memory, k) for access, memory in zip(self.loop.accesses, memories, strict=True)]

    def _updated(self, access, memory, k):
        lid, gid, value = self.wg.local_id(), self.wg.group_id(), self._value(access.source, k)
        masks = {"none": None, "data": value % 3 > 0, "item": lid % 2 == 0, "turn": (k + 0 * lid) % 2 == 0}
        place, where, value = access.place(k, lid, gid), masks[access.mask], value.astype(access.dtype)
        if access.op == "store":
            return memory.at[place].set(value, where=where)
        if access.op == "double":
            return memory.at[place].set(memory.load(place) * 2 + value, where=where)
        return getattr(memory.atomic[place], access.op)(value, where=where)

    def _value(self, source, k):
        loop, lid, gid = self.loop, self.wg.local_id(), self.wg.group_id()
        if source == "slice":
            return self.x[(gid * loop.turns + k) * loop.items + lid]
        if source == "look-up":
            return self.x[(gid * loop.items + lid + k * 5) % self.width]
        if source == "counter":
            return k * 3 + lid
        return self.tile[loop.items - 1 - lid] if source == "local" else self.own[k]

    def result(self, access, memory, out):
        lid, gid, items = self.wg.local_id(), self.wg.group_id(), self.loop.items
        if access.space == "global":
            return memory
        if access.space == "private":
            first = gid * access.size
            return lax.fori_loop(0, access.size, lambda k, o: o.at[(first + k) * items + lid].set(memory[k]), out)
        memory = self.wg.barrier(memory)
        for place in self._all(access):
            there = place < access.size
            out = out.at[gid * access.size + place].set(memory.load(place, where=there), where=there)
        return out


# --- As a scalar program ---


def expected(loop: Loop) -> list[np.ndarray]:
    x, _, *outs = loop.given
    return [_expected(loop, access, x, out).reshape(-1) for access, out in zip(loop.accesses, outs, strict=True)]


def _expected(loop: Loop, access: Access, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    shape = access.shape(loop.groups, loop.items)
    memory = out.reshape(shape).copy() if access.space == "global" else np.full(shape, BEFORE, access.dtype)
    groups = [g for g in range(loop.groups) if loop.around != "branch" or x[g] % 2 == 0]
    rounds = range(2 if loop.around == "loop" else 1)
    for gid, _, k, lid in itertools.product(groups, rounds, range(loop.turns), range(loop.items)):
        value = _scalar(loop, access.source, x, k, lid, gid)
        live = {"none": True, "data": value % 3 > 0, "item": lid % 2 == 0, "turn": k % 2 == 0}[access.mask]
        place = access.place(k, lid, gid)
        if live and 0 <= place < access.size:
            at = gid % shape[0], place, lid % shape[2]
            memory[at] = _stored(access.op, memory[at], value, memory.dtype)
    return memory


def _stored(op: str, old: Any, value: Any, dtype: np.dtype) -> Any:
    value = np.asarray(value).astype(dtype)
    with np.errstate(over="ignore"):
        if op == "store":
            return value
        return old * dtype.type(2) + value if op == "double" else ATOMIC[op](old, value)


def _scalar(loop: Loop, source: str, x: np.ndarray, k: int, lid: int, gid: int) -> Any:
    if source == "slice":
        return x[(gid * loop.turns + k) * loop.items + lid]
    if source == "look-up":
        return x[(gid * loop.items + lid + k * 5) % loop.width]
    if source == "counter":
        return np.int32(k * 3 + lid)
    return x[loop.items - 1 - lid] if source == "local" else x[k] + lid


# --- Loops at random ---


@st.composite
def loops(draw: Any) -> Loop:
    written_out = draw(st.booleans())
    items, groups = draw(st.sampled_from([1, 2, 4, 5, 8, 16])), draw(st.sampled_from([1, 2, 3, 5, 8]))
    turns = draw(st.sampled_from([0, 1, 3, 4, 5, 8, 9] if written_out else [0, 1, 3, 5, 8, 17, 33, 64, 65]))
    accesses = [draw(_accesses(items, groups, turns)) for _ in range(draw(st.sampled_from([1, 1, 2])))]
    around = draw(st.sampled_from(["nothing", "nothing", "branch", "loop"]))
    return Loop(items, groups, turns, written_out, around, tuple(accesses), draw(st.integers(1, 50)))


@st.composite
def _accesses(draw: Any, items: int, groups: int, turns: int) -> Access:
    space = draw(st.sampled_from(["private", "local", "global"]))
    op = draw(st.sampled_from(["store", "double", *(ATOMIC if space != "private" else ())]))
    turn = draw(st.sampled_from([0, 1, 1, -1, items, -items, 2, 3, 2 * items, 7]))
    item = 0 if space == "private" else draw(st.sampled_from([0, 1, 1, 1, 2, 3, turns]))
    group = draw(st.sampled_from([0, 0, 1, items, turns * items, 40])) if space == "global" else 0
    access = Access(space, op, turn, item, group, 0, 0, *draw(_details()))
    if op not in ATOMIC and _races(access, items, groups, turns):
        access = dataclasses.replace(access, op="add")
    places = [access.place(*at) for at in itertools.product(range(turns), range(items), range(groups))] or [0]
    # At times the last places are beyond the end.
    size = max(1, max(places) - min(places) + 1 + draw(st.sampled_from([0, 0, 1, 2, -1, -4])))
    return dataclasses.replace(access, first=-min(places), size=size)


def _details() -> st.SearchStrategy[tuple[str, str, str]]:
    masks = st.sampled_from(["none", "none", "data", "item", "turn"])
    sources = st.sampled_from(["slice", "slice", "look-up", "counter", "local", "private"])
    return st.tuples(masks, sources, st.sampled_from(["int32", "uint32"]))


def _races(access: Access, items: int, groups: int, turns: int) -> bool:
    """True if two work-items may store to one place; the loop may be carried out twice."""
    users: dict[Any, Any] = {}
    for k, lid, gid in itertools.product(range(turns), range(items), range(groups)):
        where = access.place(k, lid, gid), gid if access.space == "local" else 0
        if access.space != "private" and users.setdefault(where, (lid, gid)) != (lid, gid):
            return True
    return False


# --- The law ---

WAYS = ({}, {"memory_bytes": 1}, {"deterministic": True}, "as on a GPU")


def check(loop: Loop, way: Any) -> None:
    built = kernel(loop)
    if way == "as on a GPU":
        results = launches.run(on_a_gpu(built, loop.nd_range, loop.given), loop.given)
    else:
        results = xe.launch(built, loop.nd_range, **way)(*loop.given)
    for own, other in zip(results, expected(loop), strict=True):
        np.testing.assert_array_equal(own, other)


@settings(LAW, max_examples=examples.some(12))
@given(loops(), st.sampled_from(WAYS))
def test_loops_agree_with_a_scalar_program(loop, way):
    check(loop, way)


@pytest.mark.long
@settings(LAW, max_examples=400)
@given(loops(), st.sampled_from(WAYS))
def test_many_loops_agree_with_a_scalar_program(loop, way):
    check(loop, way)

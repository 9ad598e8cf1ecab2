"""What all lanes of a sub-group have alike is computed once for it, with the results of NumPy in any case."""

import functools
import math

import examples
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from launches import prepared, run

import xeemu as xe
from xeemu.language import importing

LANES, GROUPS, COLUMNS = 8, 3, 3
DEVICE = "hd530"
SHAPES = [(32,), (4, 8), (2, 16), (2, 3, 8), (3, 4, 2)]
"""Of work-groups; in the last three, sub-groups are parts of rows, rows, and several rows."""


class Group:
    """A work-group in NumPy, whose values are `[items, ...]`; and its sub-groups."""

    def __init__(self, level="group"):
        self.level = level

    @property
    def sub_group(self):
        return Group("sub_group")

    def broadcast(self, x, lane):
        return self._repeated(self._rows(x)[:, lane], x.shape)

    select = broadcast

    def reduce(self, x, op, *, chunk=LANES):
        found = {"add": np.add, "max": np.maximum}[op].reduce(self._rows(x, chunk), axis=1, dtype=x.dtype)
        return found[0] if self.level == "group" else self._repeated(found, x.shape)

    def _rows(self, x, lanes=LANES):
        lanes = lanes if self.level == "sub_group" else len(x)
        return x.reshape(len(x) // lanes, lanes, *x.shape[1:])

    def _repeated(self, rows, shape):
        return np.repeat(rows, shape[0] // len(rows), axis=0)


def launched(function, x, shape):
    """What a function gives each work-item of the groups: `[GROUPS, items, COLUMNS]`; and the launch."""

    @xe.kernel(sub_group_size=LANES)
    def kernel(wg, x, out):
        i = wg.group_linear_id() * wg.size + wg.local_linear_id()
        found = function(jnp, wg, x[i], wg.sub_group.local_id())
        found = jnp.broadcast_to(found[..., None] if found.ndim == len(shape) else found, (*shape, COLUMNS))
        for k in range(COLUMNS):
            out = out.at[i * COLUMNS + k].set(found[..., k])
        return out

    arguments = (x, np.zeros(x.size * COLUMNS, x.dtype))
    ready = prepared(kernel, xe.NDRange((GROUPS * shape[0], *shape[1:]), shape), arguments, device=DEVICE)
    result = np.asarray(run(ready, arguments)[0]).reshape(GROUPS, -1, COLUMNS)
    return result, jax.make_jaxpr(ready.emit)(*arguments)


def check(function, shape=(32,), dtype=np.int32):
    """That a function `(np, group, x, lane)` gives the same in a kernel and in NumPy; the program that was emitted."""
    items = math.prod(shape)
    x = np.random.default_rng(0).integers(-50, 50, GROUPS * items).astype(dtype)
    result, program = launched(function, x, shape)
    lane = np.arange(items, dtype=np.int32) % LANES
    for got, own in zip(result, x.reshape(GROUPS, items), strict=True):
        found = np.asarray(function(np, Group(), own, lane))
        np.testing.assert_array_equal(got, np.broadcast_to(found.reshape(items, -1), (items, COLUMNS)))
    return program


def columns(n):
    return n.arange(COLUMNS, dtype=n.int32)


def repeated(n, count, step, first):
    """`first` after some steps, each of which is given its number."""
    if n is jnp:
        return lax.fori_loop(0, count, step, first)
    return functools.reduce(lambda carried, k: step(np.int32(k), carried), range(count), first)


def one_of(n, which, one, other):
    """What one of two functions gives."""
    return lax.cond(which, one, other) if n is jnp else (one() if which else other())


def until(n, goes_on, step, first):
    if n is jnp:
        return lax.while_loop(goes_on, step, first)
    while goes_on(first):
        first = step(first)
    return first


def met(n, x, lane):
    """True if a number's fields are the lane and the column."""
    return ((x & 7) == lane)[..., None] & (columns(n) == (x >> 3)[..., None])


def of_items(operation):
    """A case that gives a work-item one element."""
    return lambda n, g, x, lane: operation(n, g.sub_group, x, lane)


PLAIN = {
    "broadcast": of_items(lambda n, s, x, lane: s.broadcast(x, 3)),
    "select": of_items(lambda n, s, x, lane: s.select(x, 5) * 2),
    "reduce": of_items(lambda n, s, x, lane: s.reduce(x, "add") - 1),
    "chunks": of_items(
        lambda n, s, x, lane: s.reduce(x, "add", chunk=2) * s.reduce(x, "max", chunk=4) + s.reduce(x, "add")
    ),
    "both": of_items(lambda n, s, x, lane: (s.broadcast(x, 0) + s.reduce(x, "max")) ^ s.broadcast(x, 7)),
    "with lanes": of_items(lambda n, s, x, lane: s.broadcast(x, 1) * lane + x),
    "compared": of_items(lambda n, s, x, lane: n.where(s.broadcast(x, 2) > x, lane, s.broadcast(x, 2))),
    "exchanged": of_items(lambda n, s, x, lane: s.broadcast(s.broadcast(x, 2) * lane, 5)),
    "reduced": of_items(lambda n, s, x, lane: s.reduce(s.broadcast(x, 2) + lane, "add")),
    "quotients": of_items(lambda n, s, x, lane: (s.broadcast(x, 2) & 31) // 5 + (s.reduce(x & 7, "add") % 3)),
    "with the group": lambda n, g, x, lane: g.sub_group.broadcast(x, 6) + g.reduce(x, "add"),
    "loops": lambda n, g, x, lane: repeated(
        n, 5, lambda k, a: a + n.where(g.sub_group.broadcast(x, k) == lane - 3, 1, a & 1), n.zeros_like(x)
    ),
    "sums": lambda n, g, x, lane: repeated(n, 5, lambda k, a: a + g.sub_group.reduce(x ^ k, "add"), n.zeros_like(x)),
    "exchanges": lambda n, g, x, lane: repeated(
        n, 3, lambda k, ab: (ab[1], ab[0] * 3 + g.sub_group.broadcast(ab[1], 2)), (x, lane)
    )[0],
    "loops in loops": lambda n, g, x, lane: repeated(
        n, 3, lambda j, a: repeated(n, 2, lambda k, b: b * 5 + g.sub_group.broadcast(b, j + k) * lane, a), x
    ),
    "branches": lambda n, g, x, lane: one_of(
        n, g.reduce(x, "add") > 0, lambda: g.sub_group.broadcast(x, 1) + lane, lambda: x
    ),
    "some iterations": lambda n, g, x, lane: until(
        n,
        lambda ka: ka[0] < 5,
        lambda ka: (ka[0] + 1, ka[1] * 3 + g.sub_group.broadcast(x, 4)),
        (g.reduce(x, "max") & 7, x),
    )[1],
}  # fmt: skip

OF_COLUMNS = {
    "columns": lambda n, g, x, lane: g.sub_group.broadcast(x, 2)[..., None] * columns(n),
    "columns of lanes": lambda n, g, x, lane: g.sub_group.broadcast(x, 2)[..., None] * columns(n) + lane[..., None],
    "private": lambda n, g, x, lane: g.sub_group.broadcast(x[..., None] + columns(n), 4),
    "chunks": lambda n, g, x, lane: (
        g.sub_group.reduce(x[..., None] + columns(n), "add", chunk=4) * g.sub_group.broadcast(x, 1)[..., None]
        + g.sub_group.reduce(x[..., None] ^ columns(n), "max", chunk=2)
    ),
    "chunks in a loop": lambda n, g, x, lane: repeated(
        n,
        3,
        lambda k, a: a * g.sub_group.reduce(x, "max", chunk=2)[..., None] + g.sub_group.reduce(a, "add", chunk=4)
        + g.sub_group.broadcast(x, k)[..., None],
        x[..., None] + columns(n),
    ),
    "stacked": lambda n, g, x, lane: n.stack([g.sub_group.broadcast(x, k) for k in range(COLUMNS)], -1),
    "turned": lambda n, g, x, lane: (g.sub_group.broadcast(x[..., None] + columns(n), 4) * lane[..., None])[..., ::-1],
    "counted": lambda n, g, x, lane: repeated(
        n,
        4,
        lambda k, a: a + n.where(met(n, g.sub_group.broadcast(x & 31, k), lane), 1, 0).astype(x.dtype),
        x[..., None] * n.ones_like(columns(n)),
    ),
}  # fmt: skip


@pytest.mark.every(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("case", PLAIN | OF_COLUMNS)
def test_what_lanes_have_alike(case, shape):
    check((PLAIN | OF_COLUMNS)[case], shape)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32"])
def test_of_every_dtype(dtype):
    def sums(n, g, x, lane):
        step = lambda k, a: a + g.sub_group.broadcast(x, k) * lane.astype(x.dtype)  # noqa: E731
        return repeated(n, 4, step, n.zeros_like(x))

    check(sums, dtype=dtype)


@pytest.mark.thorough
@settings(max_examples=examples.some(25), deadline=None)
@given(st.sampled_from(SHAPES), st.lists(st.sampled_from(sorted(PLAIN)), min_size=2, max_size=4), st.booleans())
def test_of_what_is_computed_from_it(shape, names, loop):
    def chained(n, g, x, lane):
        for name in names:
            x = x ^ PLAIN[name](n, g, x, lane)
        return x

    def looped(n, g, x, lane):
        return repeated(n, 3, lambda k, a: chained(n, g, a + k, lane) & 1023, x)

    check(looped if loop else chained, shape)


def shapes(program, name):
    """Those of the results of operations, in the program's loops too."""
    found = importing.imported(program).walk()
    return {v.shape for op in found if op.name == name for v in op.results}


def test_it_is_computed_once_for_a_sub_group():
    program = check(lambda n, g, x, lane: g.sub_group.broadcast(x, 2) ** 3 + g.sub_group.reduce(x, "add"))
    assert shapes(program, "integer_pow") == {(GROUPS, 4, 1)}


def test_a_loop_carries_by_work_items_what_they_have_one_element_of():
    """XLA's loops over so few lanes are slow."""

    def summed(n, g, x, lane):
        return repeated(n, 4, lambda k, a: a + g.sub_group.broadcast(x, k) * lane, x)

    program = check(summed)
    assert (GROUPS, 32) in shapes(program, "scan")
    assert not {(GROUPS, 4, LANES)} & shapes(program, "mul")


@pytest.mark.parametrize("nested", [False, True])
def test_a_loop_carries_by_sub_groups_what_it_is_combined_with(nested):
    def summed(n, g, x, lane):
        step = lambda k, a: a + (g.sub_group.broadcast(x, k) * lane)[..., None]  # noqa: E731
        outer = (lambda k, a: repeated(n, 4, step, a)) if nested else step
        return repeated(n, 4, outer, n.zeros_like(x[..., None] * columns(n)))

    assert (GROUPS, 4, LANES, COLUMNS) in shapes(check(summed), "scan")


@pytest.mark.parametrize("shared", [True, False])
def test_a_function_that_takes_long_is_computed_by_sub_groups_if_they_share_its_value(shared):
    """Else a loop that carries by sub-groups what comes of it takes a third longer."""

    def summed(n, g, x, lane):
        def step(k, a):
            x_k = g.sub_group.broadcast(x, k)
            ones = n.exp((x_k if shared else x_k - lane).astype(np.float32) * np.float32(0))
            return a + (ones.astype(x.dtype) * lane)[..., None]

        return repeated(n, 4, step, n.zeros_like(x[..., None] * columns(n)))

    program = check(summed)
    assert ((GROUPS, 4, LANES, COLUMNS) in shapes(program, "scan")) == shared
    assert not shared or shapes(program, "exp") == {(GROUPS, 4, 1)}


def test_a_comparison_of_several_fields_is_held_as_the_value_is():
    assert shapes(check(OF_COLUMNS["counted"]), "eq") == {(GROUPS, 4, LANES, COLUMNS)}


def test_elements_that_nobody_has():
    def none(n, g, x, lane):
        empty = g.sub_group.broadcast(x[..., None][..., :0], 1) + lane[..., None][..., :0]
        return x + repeated(n, 2, lambda k, a: a + g.sub_group.reduce(a, "add"), empty).sum(axis=-1, dtype=x.dtype)

    check(none, (4, 8))


@pytest.mark.parametrize("count", [20, 36])
def test_lanes_that_a_sub_group_lacks(count):
    """Then nothing is held by sub-groups, and everybody gets what there is."""

    def summed(n, g, x, lane):
        return repeated(n, 3, lambda k, a: a + g.sub_group.broadcast(x, k)[..., None], x[..., None] * columns(n))

    x = np.arange(GROUPS * count, dtype=np.int32)
    result, program = launched(summed, x, (count,))
    item = np.arange(count)
    for got, own in zip(result, x.reshape(GROUPS, count), strict=True):
        added = sum(own[item - item % LANES + k] for k in range(3))
        np.testing.assert_array_equal(got, own[:, None] * np.arange(COLUMNS) + added[:, None])
    assert (GROUPS, count, COLUMNS) in shapes(program, "scan")

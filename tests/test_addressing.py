"""Addresses: what NumPy finds of their elements, and the same for an access that is emitted as for one that is not."""

import math

import jax
import jax.numpy as jnp
import launches
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.emission.observer import Observer
from xeemu.knowledge import addressing, forms, intervals
from xeemu.knowledge.addressing import Index
from xeemu.knowledge.analysis import Known


@st.composite
def components(draw):
    """The shape of a memory, and for each of its dimensions what the elements of an access index it by."""
    shape = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    count = draw(st.integers(1, 8))
    each = [draw(st.lists(st.integers(-1, n), min_size=count, max_size=count)) for n in shape]
    return shape, np.array(each)


@given(components(), st.data())
@settings(max_examples=60, deadline=None)
def test_an_address_of_known_components(drawn, data):
    shape, each = drawn
    count = each.shape[1]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    elements = addressing.everyone((count,)).only(np.flatnonzero(mask))
    known = [Known(False, intervals.of_array(row), forms.constant(row, 1)) for row in each]
    address = addressing.of_index(shape, 1, [Index(value, np.dtype(np.int64)) for value in known], elements)
    left = each[:, mask]
    inside = [bool(((row >= 0) & (row < n)).all()) for row, n in zip(left, shape, strict=True)]
    np.testing.assert_array_equal(elements.chosen, np.flatnonzero(mask))
    np.testing.assert_array_equal(address.form.pattern, [math.prod(shape[1:]), *shape[2:], 1][: len(shape)] @ left)
    assert address.safe == tuple(inside)
    assert address.proved == all(inside)
    if all(inside) and left.size:
        linear = np.ravel_multi_index(tuple(left), shape)
        np.testing.assert_array_equal(address.form.pattern, linear)
        assert address.interval[0] <= linear.min() <= linear.max() <= address.interval[1]


@xe.kernel
def mixed(wg, x, y, start):
    i, lid = wg.global_id(), wg.local_id()
    memory = wg.local((2, wg.size), jnp.int32)
    memory = memory.at[lid % 2, lid].set(x[i], where=lid < 5)
    memory = wg.barrier(memory)
    total = memory.load((1, wg.size - 1 - lid), where=lid % 2 == 0)
    total = lax.fori_loop(0, 4, lambda k, total: total + x[start + 2 * k + lid], total)
    return y.at[i >> 2, i & 3].set(total + x[x[i]])


class Watcher(Observer):
    """Holds each address that is emitted against the one that is foreseen."""

    watches = True

    def __init__(self, seen):
        self.seen, self.state = seen, ()

    def on_access(self, event, chunk):
        emitted = event.address.known
        foreseen = addressing.foreseen(event.facts.body.ops[event.number], event.facts)
        assert (emitted.shape, emitted.safe, emitted.interval) == (foreseen.shape, foreseen.safe, foreseen.interval)
        np.testing.assert_array_equal(emitted.elements.chosen, foreseen.elements.chosen)
        assert (emitted.form is None) == (foreseen.form is None)
        if emitted.form is not None:
            assert (emitted.form.based, emitted.form.steps) == (foreseen.form.based, foreseen.form.steps)
            np.testing.assert_array_equal(emitted.form.pattern, foreseen.form.pattern)
        self.seen.append(event.number)


def test_an_address_is_known_before_its_access_is_emitted():
    x, y, seen = np.arange(64, dtype=np.int32), np.zeros((8, 4), np.int32), []
    ready = launches.prepared(mixed, xe.NDRange(32, 8), (x, y, np.int32(3))).watched_alone

    def watched(*arguments):
        return ready.watched(arguments, lambda chunk, state: Watcher(seen), ())[0]

    jax.make_jaxpr(watched)(x, y, np.int32(3))
    assert len(set(seen)) >= 6

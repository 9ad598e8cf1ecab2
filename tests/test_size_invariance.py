"""Kernels whose results are proved to be the same at two sub-group sizes, and others that must not be."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.faults import checking, size_invariance
from xeemu.faults.checking import Checked
from xeemu.launching.arguments import checked_device, scalars
from xeemu.launching.preparation import prepare_alone

RANGE = xe.NDRange(128, 64)
BLOCK = 4
DATA = np.random.default_rng(7).integers(2**32, size=128 * BLOCK, dtype=np.uint32)


def words(wg, data, k, lanes=None):
    """The `k`-th words of work-items: consecutive ones of a sub-group."""
    sg, size = wg.sub_group, lanes or wg.sub_group.size
    return sg.load(data, wg.group_id() * wg.size * BLOCK + sg.group_id() * size * BLOCK + sg.size * k)


def counted(count, cleared=0):
    """A kernel that counts in local memory what `count` adds to it in an iteration, and then in global memory."""

    @xe.kernel
    def kernel(wg, data, out):
        bins, lid = wg.local(64, jnp.uint32), wg.local_id()
        bins = wg.barrier(bins.at[lid].set(cleared))
        bins = wg.barrier(lax.fori_loop(0, BLOCK, lambda k, bins: count(wg, data, k, bins), bins))
        return out.atomic[lid].add(bins[lid])

    return kernel


def low(x):
    return x & 63


@counted
def by_words(wg, data, k, bins):
    x = words(wg, data, k)
    for shift in (0, 8, 16):
        bins = bins.atomic[low(x >> shift)].add(1)
    return bins


@counted
def by_words_in_a_loop(wg, data, k, bins):
    def inner(n, carry):
        x, bins = carry
        return x >> 8, bins.atomic[low(x)].add(x >> 30)

    return lax.fori_loop(0, 4, inner, (words(wg, data, k), bins))[1]


@counted
def by_some_words(wg, data, k, bins):
    x = words(wg, data, k)
    return bins.atomic[low(x)].max(x >> 6, where=x % 3 == 0)


@counted
def in_some_groups(wg, data, k, bins):
    x = words(wg, data, k)
    return lax.cond(wg.group_id() == 0, lambda bins: bins.atomic[low(x)].add(1), lambda bins: bins, bins)


@xe.kernel
def in_global_memory(wg, data, out):
    return lax.fori_loop(0, BLOCK, lambda k, out: out.atomic[low(words(wg, data, k))].xor(1), out)


@xe.kernel
def at_own_places(wg, data, out):
    sg = wg.sub_group
    i = sg.group_id() * sg.size + sg.local_id()
    return out.at[i].set(data[i] * 2, where=wg.group_id() == 0)


@counted
def weighted_by_work_item(wg, data, k, bins):
    return bins.atomic[low(words(wg, data, k))].add(wg.local_id().astype(jnp.uint32))


@counted
def weighted_by_iteration(wg, data, k, bins):
    return bins.atomic[low(words(wg, data, k))].add(k.astype(jnp.uint32))


@counted
def in_some_iterations(wg, data, k, bins):
    x = words(wg, data, k)
    return lax.cond(k < 2, lambda bins: bins.atomic[low(x)].add(1), lambda bins: bins, bins)


@counted
def weighted_by_a_branch(wg, data, k, bins):
    weight = lax.cond(k < 2, lambda: jnp.uint32(1), lambda: jnp.uint32(3))
    return bins.atomic[low(words(wg, data, k))].add(weight)


@counted
def of_words_by_a_branch(wg, data, k, bins):
    x = words(wg, data, k)
    return bins.atomic[low(lax.cond(k < 2, lambda: x, lambda: x >> 8))].add(1)


@counted
def weighted_by_trips(wg, data, k, bins):
    weight = lax.while_loop(lambda n: n < k, lambda n: n + 1, 0)
    return bins.atomic[low(words(wg, data, k))].add(weight.astype(jnp.uint32))


@counted
def masked_by_iteration(wg, data, k, bins):
    return bins.atomic[low(words(wg, data, k))].add(1, where=k < 2)


@counted
def of_sixteen_lanes(wg, data, k, bins):
    return bins.atomic[low(words(wg, data, k, lanes=16))].add(1)


@counted
def by_two_operations(wg, data, k, bins):
    x = words(wg, data, k)
    return bins.atomic[low(x)].add(1).atomic[low(x >> 8)].max(2)


@counted
def read_meanwhile(wg, data, k, bins):
    bins = bins.atomic[low(words(wg, data, k))].add(1)
    return bins.atomic[wg.local_id() ^ 1].add(bins.atomic[wg.local_id()].load())


@counted
def exchanged(wg, data, k, bins):
    return bins.atomic[low(words(wg, data, k))].add(wg.sub_group.reduce(wg.local_id().astype(jnp.uint32), "max"))


@xe.kernel
def in_private_memory(wg, data, out):
    own = wg.private(64, jnp.uint32)
    own = lax.fori_loop(0, 64, lambda c, own: own.at[c].set(0), own)

    def count(k, own):
        c = low(words(wg, data, k))
        return own.at[c].set(own[c] + 1)

    own = lax.fori_loop(0, BLOCK, count, own)
    return out.atomic[wg.local_id()].add(own[3] + own[17])


@xe.kernel
def of_changed_words(wg, data, out):
    def count(k, memories):
        data, out = memories
        x = words(wg, data, k)
        return data.at[wg.global_id() * BLOCK + k].set(x + k.astype(jnp.uint32)), out.atomic[low(x)].add(1)

    data, out = lax.fori_loop(0, BLOCK, count, (data, out))
    return data, out


@xe.kernel
def of_the_last_words(wg, data, out):
    x = lax.fori_loop(0, BLOCK, lambda k, x: words(wg, data, k), jnp.zeros(64, jnp.uint32))
    return out.atomic[low(x)].add(1)


@xe.kernel
def by_trips(wg, data, out):
    def count(carry):
        k, out = carry
        return k + 1, out.atomic[low(words(wg, data, k))].add(1)

    return lax.while_loop(lambda carry: carry[0] * wg.sub_group.size < 64, count, (0, out))[1]


RIGHT = (by_words, by_words_in_a_loop, by_some_words, in_some_groups, in_global_memory, at_own_places)
WRONG = (
    weighted_by_work_item,
    weighted_by_iteration,
    in_some_iterations,
    weighted_by_a_branch,
    of_words_by_a_branch,
    weighted_by_trips,
    masked_by_iteration,
    of_sixteen_lanes,
    by_two_operations,
    read_meanwhile,
    exchanged,
    in_private_memory,
    of_changed_words,
    of_the_last_words,
    by_trips,
)
NAMES = {id(value): name for name, value in globals().items() if isinstance(value, xe.Kernel)}


def each(kernels):
    return pytest.mark.parametrize("kernel", kernels, ids=lambda kernel: NAMES[id(kernel)])


def sized(kernel):
    return [dataclasses.replace(kernel, sub_group_size=size) for size in (32, 16)]


def are_same(kernel, arguments):
    each = []
    for one in sized(kernel):
        prepared = prepare_alone(one, RANGE, checked_device(one, RANGE, "max1550"), arguments, {})
        each.append(checking._checked(prepared, scalars(arguments), 1000, True, frozenset()).watch.proofs)
    return size_invariance.are_same(*each)


def results(kernel, arguments):
    return [np.concatenate([np.ravel(x) for x in xe.launch(one, RANGE)(*arguments)]) for one in sized(kernel)]


@each(RIGHT)
def test_results_that_are_proved_to_be_the_same_are(kernel):
    arguments = DATA, np.zeros(64, np.uint32)
    assert are_same(kernel, arguments)
    here, there = results(kernel, arguments)
    np.testing.assert_array_equal(here, there)
    assert here.any()


@each(WRONG)
def test_results_that_differ_are_not_proved_to_be_the_same(kernel):
    arguments = DATA, np.zeros(64, np.uint32)
    assert not are_same(kernel, arguments)
    here, there = results(kernel, arguments)
    assert (here != there).any()


def test_a_sum_of_floats_is_not_proved_to_be_the_same():
    @xe.kernel
    def kernel(wg, data, out):
        return lax.fori_loop(0, BLOCK, lambda k, out: out.atomic[low(words(wg, data, k))].add(jnp.float32(0.1)), out)

    assert not are_same(kernel, (DATA, np.zeros(64, np.float32)))


@pytest.mark.thorough
def test_what_is_proved_to_be_the_same_does_not_run(monkeypatch):
    sizes, run = [], Checked.run
    monkeypatch.setattr(
        Checked,
        "run",
        lambda self, *given: (sizes.append(self.prepared.program.geometry.sub_group_size), run(self, *given))[1],
    )
    for kernel, expected in ((by_words, [32]), (exchanged, [32, 16])):
        sizes.clear()
        _, findings = xe.check(kernel, RANGE)(DATA, np.zeros(64, np.uint32))
        assert sizes == expected
        assert [f.kind for f in findings] == ([] if kernel is by_words else ["sub-group-size"])

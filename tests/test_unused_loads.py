"""Loads that nobody uses are in no count of a report, and checked all the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

SIZE, GROUPS = 32, 4
N = xe.NDRange(SIZE * GROUPS, SIZE)
X = np.ones(4 * SIZE * GROUPS, np.float32)
OUT = np.zeros(SIZE * GROUPS, np.float32)


def at(wg, k):
    return wg.global_id() + k * SIZE * GROUPS


@xe.kernel(sub_group_size=32)
def unused(wg, x, out):
    _ = x[at(wg, 1)] + 1
    return out.at[wg.global_id()].set(x[at(wg, 0)])


@xe.kernel(sub_group_size=32)
def unused_place(wg, x, out):
    """The place of a load that nobody uses is not loaded either."""
    _ = x[x[at(wg, 1)].astype(jnp.int32)]
    return out.at[wg.global_id()].set(x[at(wg, 0)])


@xe.kernel(sub_group_size=32)
def unused_carry(wg, x, out):
    """What a loop adds up for nobody."""
    zeros = jnp.zeros(wg.size, jnp.float32)
    total, _ = lax.fori_loop(0, 2, lambda k, c: (c[0] + x[at(wg, k)], c[1] * x[at(wg, k + 2)]), (zeros, zeros))
    return out.at[wg.global_id()].set(total)


@xe.kernel(sub_group_size=32)
def used_later(wg, x, out):
    """Each carry is needed by the next one, the last alone by somebody."""
    zeros = jnp.zeros(wg.size, jnp.float32)
    *_, last = lax.fori_loop(0, 2, lambda k, c: (x[at(wg, k)], c[0], c[1] + c[2]), (zeros, zeros, zeros))
    return out.at[wg.global_id()].set(last)


@xe.kernel(sub_group_size=32)
def of_a_branch(wg, x, out):
    first = wg.group_id() < GROUPS
    kept, _ = lax.cond(first, lambda: (x[at(wg, 0)], x[at(wg, 1)]), lambda: (x[at(wg, 2)], x[at(wg, 3)]))
    return out.at[wg.global_id()].set(kept)


@xe.kernel(sub_group_size=32)
def of_a_call(wg, x, out):
    kept, _ = jax.jit(lambda i: (i, i + SIZE * GROUPS))(wg.global_id())
    both = jax.jit(lambda a, b: (a, b))(x[kept], x[at(wg, 1)])
    return out.at[wg.global_id()].set(both[0])


@xe.kernel(sub_group_size=32)
def steered(wg, x, out):
    """A loop's end is used, though nothing that it gives is; it is loaded once."""
    lax.while_loop(lambda k: k < x[0], lambda k: k + 1.0, jnp.float32(0))
    return out.at[wg.global_id()].set(1.0)


@xe.kernel(sub_group_size=32)
def stored(wg, x, out):
    """What is stored in local memory is loaded, though nobody loads it again."""
    tile = wg.local(wg.size, jnp.float32)
    wg.barrier(tile.at[wg.local_id()].set(x[at(wg, 0)]))
    return out.at[wg.global_id()].set(1.0)


@xe.kernel(sub_group_size=32)
def atomic(wg, x, out):
    x.atomic[0].load()
    return out.at[wg.global_id()].set(1.0)


@pytest.mark.parametrize(
    ("kernel", "requests"),
    [
        (unused, 1),
        (unused_place, 1),
        (unused_carry, 2),
        (used_later, 2),
        (of_a_branch, 1),
        (of_a_call, 1),
        (steered, 1),
        (stored, 1),
        (atomic, 1),
    ],
    ids=lambda given: getattr(given, "name", given),
)
def test_requests_of_a_group(kernel, requests):
    outputs, report = xe.profile(kernel, N, device="h200")(X, OUT)
    np.testing.assert_array_equal(outputs, xe.launch(kernel, N)(X, OUT))
    assert sum(site.requests for site in report.sites if site.memory == "x") == requests * GROUPS


COPY = """
typedef struct { float x, y, z, w; } four;
kernel void copy(global const four *x, global float *out) { int i = get_global_id(0); four f = x[i]; out[i] = f.y; }
kernel void field(global const four *x, global float *out) { int i = get_global_id(0); out[i] = x[i].y; }
"""


def test_of_a_record_that_is_copied_the_fields_that_are_used():
    x = X.view([(name, np.float32) for name in "xyzw"])
    copy, field = (xe.estimate(xe.load(COPY)[name], N, device="h200")(x, OUT) for name in ("copy", "field"))
    assert copy.time_s == field.time_s
    assert [site.requests for site in copy.sites] == [site.requests for site in field.sites]


def test_it_is_checked_all_the_same():
    _, findings = xe.check(unused, N)(X[: SIZE * GROUPS + 5], OUT)
    assert [(finding.kind, finding.memory) for finding in findings] == [("out-of-bounds", "x")]

"""For how long sub-groups wait for arithmetic: the longest chain of instructions that wait for one another."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import xeemu as xe

N = 320
DEVICE = xe.device("h200")
X = jax.ShapeDtypeStruct((32,), jnp.float32)


def waited(step, carries, dtype=jnp.float32):
    """Cycles of each iteration in which a sub-group waits for arithmetic, in a loop on numbers that begin alike."""

    @xe.kernel(sub_group_size=32)
    def looped(wg, x):
        i = wg.global_id()
        return x.at[i].set(sum(lax.fori_loop(0, N, lambda k, c: step(*c), (x[i],) * carries)))

    report = xe.estimate(looped, xe.NDRange(32, 32), device=DEVICE)(jax.ShapeDtypeStruct((32,), dtype))
    (arithmetic,) = (wait for wait in report.waits if wait.cause == "arithmetic")
    return arithmetic.cycles / N


ONE, SIX = DEVICE.alu_latency_cycles, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


def horner(t):
    for c in SIX:
        t = t * 0.75 + c
    return t


@pytest.mark.parametrize(
    ("step", "carries", "instructions"),
    [
        (lambda a: (horner(a),), 1, 6),
        (lambda a, b: (horner(a), horner(b)), 2, 6),
        (lambda a, b: (horner(b), horner(a)), 2, 6),
        (lambda a, b: (b, horner(a)), 2, 6),
        (lambda a, b: (a + horner(b * 2), b * 1.5), 2, 1 + 7 / 4),
        (lambda a, b: (a * 0.5 + b, jnp.maximum(b * 0.25, a * 0.5 + b)), 2, 2),
    ],
    ids=["alone", "two", "crossed", "in turn", "sum", "two steps"],
)
def test_an_iteration_waits_for_the_longest_path_that_comes_round(step, carries, instructions):
    """What does not come round is shared by the iterations side by side; the turn of a loop is three instructions."""
    least = instructions * ONE
    assert least <= waited(step, carries) <= least + 1.1 * 3 / 4 * ONE


def test_doubles_and_special_functions_are_waited_for_longer():
    assert waited(lambda a: (horner(a),), 1, jnp.float64) >= 6 * DEVICE.fp64_latency_cycles
    least = DEVICE.special_latency_cycles + 11 * ONE  # of 28 instructions of a sine 12 wait for one another
    assert least <= waited(lambda a: (jnp.sin(a),), 1) <= least + ONE


def test_iterations_with_a_branch_are_not_mixed():
    """NVIDIA's quotients have one."""

    def total(function):
        return waited(lambda a, b: (a + horner(function(b * 2)), b * 1.5), 2)

    assert total(lambda v: 1 / v) > 2 * total(lambda v: lax.rsqrt(v))


def test_elements_of_a_private_array_do_not_wait_for_one_another():
    def updated(number):
        @xe.kernel(sub_group_size=32)
        def kernel(wg, x):
            own, i = wg.private(8, jnp.float32), wg.global_id()
            for k in range(8):
                own = own.at[k].set(x[i])
            for k in range(8):
                own = own.at[k % number].set(own[k % number] * x[i] + 1.5)
            return x.at[i].set(own[0])

        report = xe.estimate(kernel, xe.NDRange(32, 32), device=DEVICE)(X)
        return sum(wait.times for wait in report.waits if wait.cause == "arithmetic")

    assert updated(8) + 7 == updated(1)


SHARED = """
kernel void vectors(global const float4 *p, global float4 *out, int n) {
    local float4 tile[32];
    int i = get_global_id(0);
    tile[get_local_id(0)] = p[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    float4 sum = 0.0f;
    for (int k = 0; k < n; k++) sum += WHICH[k];
    out[i] = sum;
}
"""


@pytest.mark.parametrize(("which", "passes"), [("p", 4), ("tile", 2)])
def test_a_vector_that_all_work_items_load_is_one_request(which, passes):
    """As an H100 counts: sectors once, two passes of local memory; its L1 brings each lane a word in a pass."""
    kernel, n = xe.load(SHARED.replace("WHICH", which))["vectors"], 32
    report = xe.estimate(kernel, xe.NDRange(32, 32), device="h100")(
        *[jax.ShapeDtypeStruct((4 * n,), jnp.float32)] * 2, n
    )
    (site,) = (s for s in report.sites if s.op == "load" and s.line == 8)
    assert site.requests == n
    assert (site.passes if which == "tile" else site.l1_passes) == passes * n
    assert which == "tile" or site.sectors == n

"""The instructions that a compiler would make of a kernel, against counts by hand for one sub-group of 32."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import measured_kernels
import numpy as np
import pytest
from jax import lax

import xeemu as xe

SINE = 27
"""Instructions around the special one of a sine, by nvcc."""


def floats(n=32, dtype=jnp.float32):
    return jax.ShapeDtypeStruct((n,), dtype)


def instructions(function, *arguments, items=32, size=32, **static):
    """Those of the launch, without the requests to memory, their addresses and the end of the kernel."""
    kernel = xe.kernel(sub_group_size=32)(function)
    counted = dict(xe.estimate(kernel, xe.NDRange(items, size), device="h200")(*arguments, **static).instructions)
    assert counted.pop("memory") > 0 < counted.pop("address")
    counted["control"] -= items // 32
    return {name: number for name, number in counted.items() if number}


def test_a_product_and_a_sum_are_one_instruction():
    def axpy(wg, a, x, y):
        i = wg.global_id()
        return y.at[i].set(a * x[i] + y[i])

    assert instructions(axpy, jnp.float32(2), floats(), floats()) == {"f32": 1}


def test_a_sum_of_two_products_takes_in_one():
    def complex_product(wg, x, y, re, im):
        i = wg.global_id()
        a, b, c, d = x[i, 0], x[i, 1], y[i, 0], y[i, 1]
        return re.at[i].set(a * c - b * d), im.at[i].set(a * d + b * c)

    pairs = jax.ShapeDtypeStruct((32, 2), jnp.float32)
    assert instructions(complex_product, pairs, pairs, floats(), floats()) == {"f32": 4}


def test_a_sum_of_a_product_with_itself_carries_it_out():
    def doubled(wg, x, y):
        i = wg.global_id()
        product = x[i] * y[i]
        return y.at[i].set(product + product)

    assert instructions(doubled, floats(), floats()) == {"f32": 2}


@pytest.mark.parametrize(
    ("power", "plus", "expected"),
    [
        (2, 0, {"f32": 1}),
        (3, 0, {"f32": 2}),
        (10, 0, {"f32": 4}),
        (-3, 0, {"f32": 2, "special": 1}),
        (2, 1, {"f32": 1}),
        (3, 1, {"f32": 3}),
    ],
)
def test_powers_are_products_of_squares(power, plus, expected):
    def raised(wg, x, *, plus):
        i = wg.global_id()
        value = lax.integer_pow(x[i], power)
        return x.at[i].set(value + x[i] if plus else value)

    assert instructions(raised, floats(), plus=plus) == expected
    ints = {"i32mul": expected["f32"] if not plus else max(1, expected["f32"] - 1)}
    ints |= {"i32": 1} if plus and power > 2 else {}
    if power > 0:
        assert instructions(raised, floats(dtype=jnp.int32), plus=plus) == ints


def test_a_product_that_is_stored_too_is_carried_out():
    def both(wg, x, y, z):
        i = wg.global_id()
        product = x[i] * x[i]
        return y.at[i].set(product), z.at[i].set(product + x[i])

    assert instructions(both, floats(), floats(), floats()) == {"f32": 2}


def test_equal_operations_are_carried_out_once():
    def twice(wg, x, y):
        i = wg.global_id()
        v = x[i]
        return y.at[i].set(jnp.minimum(v, 1 - v) + jnp.sin(v) - jnp.sin(v))

    assert instructions(twice, floats(), floats()) == {"f32": 4 + SINE, "special": 1}


def test_what_a_loop_does_not_change_is_computed_before_it():
    def scaled(wg, x, y, *, inside):
        i = wg.global_id()
        v = x[i]

        def step(k, t):
            return t + (jnp.sin(v) if inside else jnp.sin(t))

        return y.at[i].set(lax.fori_loop(0, 40, step, v))

    # 40 sums; for 16 iterations at a time a step, a comparison and a branch.
    assert instructions(scaled, floats(), floats(), inside=True) == {
        "f32": 40 + SINE,
        "special": 1,
        "i32": 5,
        "control": 3,
    }
    assert instructions(scaled, floats(), floats(), inside=False)["special"] == 40


def test_what_only_a_loop_uses_is_computed_before_it():
    def summed(wg, x, y):
        i = wg.global_id()
        root = lax.rsqrt(x[i])
        return y.at[i].set(lax.fori_loop(0, 8, lambda k, t: t * root + root, jnp.zeros(32, jnp.float32)))

    assert instructions(summed, floats(), floats())["special"] == 1


def test_addresses_that_step_through_a_loop_are_free_and_others_are_not():
    def summed(wg, x, y, *, mask):
        i = wg.global_id()

        def step(k, t):
            place = i + 32 * k
            return t + x[place & mask if mask else place]

        return y.at[i].set(lax.fori_loop(0, 8, step, jnp.zeros(32, jnp.float32)))

    overhead = {"f32": 8, "i32": 1, "control": 1}
    assert instructions(summed, floats(256), floats(), mask=0) == overhead
    assert instructions(summed, floats(256), floats(), mask=170)["i32"] > overhead["i32"]


@pytest.mark.parametrize(
    ("global_range", "local_range", "ids"),
    [((32,), (32,), 1), ((64,), (32,), 2), ((4, 16), (2, 16), 3), ((4, 32), (1, 32), 2)],
)
@pytest.mark.parametrize("way", ["linear", "dimensions", "both"])
def test_each_id_that_is_used_and_not_always_0_is_read_once(global_range, local_range, ids, way):
    """However it is asked for: a linear id is made of those of the dimensions."""

    @xe.kernel(sub_group_size=32)
    def by_id(wg, y):
        wg.local_id(0), wg.group_id(0)  # of which nothing is made
        linear, flat = wg.global_linear_id(), 0
        for dim, size in enumerate(global_range):
            flat = flat * size + wg.global_id(dim)
        return y.at[flat if way == "dimensions" else linear].set(flat if way == "both" else 1)

    items = math.prod(global_range)
    report = xe.estimate(by_id, xe.NDRange(global_range, local_range))(floats(items, jnp.int32))
    before = xe.device(report.device).prologue_instructions
    assert report.instructions["address"] == (before + ids + 1) * items // 32  # with the address of the place


def test_a_loop_with_a_barrier_is_not_unrolled():
    def stepping(wg, y):
        i = wg.local_id()
        local = wg.local(32, jnp.float32)
        local = wg.barrier(local.at[i].set(y[i]))
        local = lax.fori_loop(0, 8, lambda k, m: wg.barrier(m.at[i].set(m[i] + 1)), local)
        return y.at[i].set(local[i])

    assert instructions(stepping, floats()) == {"f32": 8, "i32": 16, "control": 8, "barrier": 9}


def test_in_a_loop_that_is_not_unrolled_each_word_of_an_address_is_added_to():
    """One whose end an argument tells is not, as no compiler knows it; one of constants is, however it is written."""

    def copied(wg, x, y, n, *, known=None):
        local, end = wg.local(64, jnp.float32), n if known is None else known

        def step(carry):
            k, local = carry
            return k + 1, local.at[k].set(x[k])

        _, local = lax.while_loop(lambda carry: carry[0] < end, step, (jnp.int32(0), local))
        return y.at[wg.local_id()].set(local[wg.local_id()])

    def added(wg, x, y, n):
        local = lax.fori_loop(0, 8, lambda k, m: m.at[k].set(x[k]), wg.local(64, jnp.float32))
        return y.at[wg.local_id()].set(local[wg.local_id()])

    once, known, each = (
        xe.estimate(xe.kernel(sub_group_size=32)(function), xe.NDRange(32, 32), device="h200")(
            floats(64), floats(), 8, **static
        ).instructions["address"]
        for function, static in ((added, {}), (copied, {"known": 8}), (copied, {}))
    )
    assert (known, each) == (once, once + 8 * (2 + 1) + 1)  # and that of the argument


def test_instructions_of_a_copy_and_of_tiles_are_nearly_those_of_the_counters():
    """The loop of the copy is not unrolled, nor is the one over tiles, with its barriers."""
    for name in ("table_bad", "mm_tiled_scalar", "mm_tiled_t"):
        rows = [row for row in measured_kernels.rows() if row["kernel"] == name][:4]
        for row in rows:
            case = measured_kernels.case(row)
            report = xe.estimate(case.kernel, case.nd_range, device="h200")(*case.arguments, **case.static)
            assert 0.9 < int(row["inst"]) / sum(report.instructions.values()) < 1.15, row["cid"]


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "arguments"), [("g_gather", 1), ("gatom_minmax_s32", 0)])
def test_instructions_of_small_kernels_are_those_of_the_counter(name, arguments):
    """What a compiler puts before them, and loads for each argument, is a third of all; what both ask for is once.

    Some arguments of what was measured are constants here.
    """
    row = next(row for row in measured_kernels.rows() if row["kernel"] == name)
    case = measured_kernels.case(row)
    report = xe.estimate(case.kernel, case.nd_range, device="h200")(*case.arguments, **case.static)
    loads = arguments * case.nd_range.global_size[0] // 32
    assert sum(report.instructions.values()) + loads == int(row["inst"])


def test_equal_operations_on_equal_values_are_carried_out_once():
    """Each of a chain, as far as what they are made of is equal; an id is the same value each time it is read."""

    def chained(wg, x, y, *, times, other):
        total = jnp.float32(0)
        for k in range(times):
            place = (wg.global_id() * 3 + other * k) & 31
            total = total + x[place]
        return y.at[wg.global_id()].set(total)

    def integers(times: int, other: int) -> int:
        return instructions(chained, floats(), floats(128), items=128, times=times, other=other)["i32"]

    assert integers(2, 0) == integers(1, 0) < integers(2, 1)


def test_arguments_are_loaded_where_the_device_has_an_instruction_for_it():
    def added(wg, x, y, a, unused):
        return y.at[wg.local_id()].set(x[0] + a)

    def address(device: xe.Device) -> int:
        report = xe.estimate(xe.kernel(added), xe.NDRange(32, 32), device=device)(floats(), floats(), 1.0, floats())
        return report.instructions["address"]

    h200 = xe.device("h200")
    free = dataclasses.replace(h200, argument_instructions=None, prologue_instructions=None)
    assert address(h200) == address(free) + 3 + 2


def test_barriers_are_counted_for_each_sub_group():
    def meeting(wg, y):
        local = wg.local(128, jnp.float32)
        local = wg.barrier(local.at[wg.local_id()].set(0))
        return y.at[wg.global_id()].set(local[wg.local_id()])

    assert instructions(meeting, floats(512), items=512, size=128)["barrier"] == 16


@pytest.mark.parametrize(("mask", "words"), [(None, 2), (0xFF, 1), (0xFF << 32, 2)])
def test_only_the_words_of_64_bits_that_are_needed_are_computed(mask, words):
    def mixed(wg, x, y):
        i = wg.global_id()
        value = x[i] ^ (x[i] << 3)
        return y.at[i].set(value if mask is None else value & mask)

    extra = 0 if mask is None else words if mask > 0xFF else 1
    integers = floats(32, jnp.uint64)
    assert instructions(mixed, integers, integers) == {"i32": 2 * words + extra}


@pytest.mark.parametrize(
    ("dtype", "factor", "expected"),
    [
        (jnp.int32, 5, {"i32mul": 1}),
        (jnp.int32, 8, {"i32": 1}),
        (jnp.int64, 5, {"i64mul": 1}),
        (jnp.float32, 5, {"f32": 1}),
        (jnp.float16, 5, {"f16": 1}),
        (jnp.float64, 5, {"f64": 1}),
    ],
)
def test_products_are_classes_of_their_own_with_and_without_a_sum(dtype, factor, expected):
    """The sum of a multiply-add is part of it; a product with a power of two is a shift."""

    def multiplied(wg, x, y):
        i = wg.global_id()
        return y.at[i].set(x[i] * jnp.asarray(factor, x.dtype))

    def added(wg, x, y):
        i = wg.global_id()
        return y.at[i].set(x[i] * jnp.asarray(factor, x.dtype) + x[i + 32])

    numbers = floats(64, dtype)
    assert instructions(multiplied, numbers, numbers) == instructions(added, numbers, numbers) == expected


@pytest.mark.parametrize(("by", "quotient", "remainder"), [(8, 1, 1), (7, 2, 2), (None, 20, 20)])
def test_what_follows_from_constants_is_free(by, quotient, remainder):
    """JAX's remainder of unsigned integers tests for 0 and for signs, of which nothing is left."""

    def divided(wg, x, y, *, op):
        i = wg.global_id()
        v = x[i]
        other = jnp.uint32(by) if by else x[i + 32]
        return y.at[i].set(v // other if op == "quotient" else v % other)

    integers = floats(64, jnp.uint32)
    zero_test = 0 if by else 2
    assert instructions(divided, integers, integers, op="quotient") == {"i32": quotient}
    assert instructions(divided, integers, integers, op="remainder") == {"i32": remainder + zero_test}


def test_what_nothing_uses_is_not_computed():
    def idle(wg, x, y):
        i = wg.global_id()
        jnp.exp(x[i])
        return y.at[i].set(0)

    assert instructions(idle, floats(), floats()) == {}


def test_private_elements_take_an_instruction_each():
    def vectors(wg, x, y):
        i = wg.global_id()[:, None] * 4 + jnp.arange(4)
        return y.at[i].set(x[i] + 1)

    assert instructions(vectors, floats(128), floats(128)) == {"f32": 4}


def test_group_algorithms_take_a_shuffle_for_each_step():
    def reduced(wg, x, y):
        i = wg.global_id()
        return y.at[i].set(wg.sub_group.reduce(x[i], "add"))

    assert instructions(reduced, floats(), floats()) == {"shuffle": 5}


@pytest.mark.parametrize("written", ["reduce", "any", "jnp"])
def test_sub_groups_of_a_group_algorithm_meet_once_at_least(written):
    def reduced(wg, x, y):
        i = wg.global_id()
        value = x[i]
        total = {
            "reduce": lambda: wg.reduce(value, "add"),
            "any": lambda: wg.any(value > 0).astype(jnp.float32),
            "jnp": lambda: value.sum(),
        }[written]()
        return y.at[i].set(total)

    def report(size):
        kernel = xe.kernel(sub_group_size=32)(reduced)
        return xe.estimate(kernel, xe.NDRange(256, size), device="h200")(floats(256), floats(256))

    alone, together = report(32), report(128)
    assert (alone.barriers, alone.mark("barriers"), alone.instructions["memory"]) == (0, "=", 16)
    # A store and a load of each sub-group beside those of the program, and a barrier of each group.
    assert (together.barriers, together.mark("barriers"), together.instructions["memory"]) == (2, ">", 16 + 16)
    assert together.slm.requests == 0
    assert "SLM" in {term.resource for term in together.terms if term.cycles}


def test_a_loop_whose_length_depends_on_data_is_counted_as_it_runs():
    @xe.kernel(sub_group_size=32)
    def halving(wg, n, y):
        k = lax.while_loop(lambda k: k < n, lambda k: k + 1, jnp.int32(0))
        return y.at[wg.global_id()].set(jnp.full(32, k, jnp.float32))

    y = jnp.zeros(32, jnp.float32)
    ten, thirty = (xe.profile(halving, xe.NDRange(32, 32), device="h200")(n, y)[1].instructions for n in (10, 30))
    assert thirty["control"] - ten["control"] == 20


@pytest.mark.parametrize(
    ("order", "fences"), [("relaxed", 0), ("acquire", 1), ("release", 1), ("acq_rel", 2), ("seq_cst", 2)]
)
def test_an_order_is_a_fence_before_and_one_after(order, fences):
    def ordered(wg, x):
        return x.atomic(order=order)[wg.global_id()].add(1)

    def in_a_loop(wg, x):
        return lax.fori_loop(0, 10, lambda k, x: ordered(wg, x), x)

    assert instructions(ordered, floats()).get("fence", 0) == fences
    assert instructions(in_a_loop, floats()).get("fence", 0) == 10 * fences


@pytest.mark.parametrize(("order", "fences"), [("relaxed", 0), ("acquire", 1), ("acq_rel", 1), ("seq_cst", 1)])
def test_a_fence_is_one_instruction(order, fences):
    def fenced(wg, x):
        return wg.fence(x.at[wg.global_id()].set(1.0), order=order)

    assert instructions(fenced, floats()) == ({"fence": fences} if fences else {})


def test_random_numbers_are_threefrys():
    def drawn(wg, n, y):
        key = jax.random.fold_in(jax.random.key(n), wg.group_id())
        return y.at[wg.global_id()].set(jax.random.bits(key, (wg.size,)))

    # 39 for a word: two of the seed's key and two of the group's, one for each work-item.
    found = instructions(drawn, jnp.int32(3), floats(dtype=jnp.uint32))
    assert found["i32"] == 39 * (2 + 2 + 1)


def test_elements_of_a_work_item_do_not_wait_for_one_another():
    def doubled(wg, x):
        i = wg.global_id()[:, None] * 4 + jnp.arange(4)
        return x.at[i].set(x[i] * x[i] * x[i])

    def nothing(wg, x):
        return x.at[wg.global_id()].set(jnp.exp(jnp.zeros((wg.size, 0), jnp.float32)).sum(-1))

    def waited(function):
        report = xe.estimate(xe.kernel(sub_group_size=32)(function), xe.NDRange(32, 32), device="h200")(floats(128))
        return report.instructions, {wait.cause: wait.times for wait in report.waits}

    classes, times = waited(doubled)
    assert (classes["f32"], times["arithmetic"]) == (8, 2)
    assert waited(nothing)[1].get("arithmetic", 0) <= 1


@pytest.mark.parametrize(
    ("function", "floats_around"), [(lax.rsqrt, 3), (lambda v: 1 / v, 9), (jnp.sqrt, 8), (jnp.exp, 4), (jnp.sin, SINE)]
)
def test_functions_take_what_the_compiler_puts_around_them(function, floats_around):
    def applied(wg, x):
        return x.at[wg.global_id()].set(function(x[wg.global_id()]))

    around = {"f32": floats_around} if floats_around else {}
    assert instructions(applied, floats()) == {"special": 1, **around}


@pytest.mark.parametrize(("steps", "side_by_side"), [(4, 16), (5, 4), (40, 4), (41, 2), (100, 1)])
def test_as_many_iterations_are_side_by_side_as_nvccs_listings_have(steps, side_by_side):
    def stepped(wg, x):
        def step(k, t):
            for j in range(steps):
                t = t * t + (j + 1.5)
            return t

        i = wg.global_id()
        return x.at[i].set(lax.fori_loop(0, 160, step, x[i]))

    found = instructions(stepped, floats())
    assert (found["f32"] + found.get("f32twice", 0), found["control"]) == (160 * steps, 160 // side_by_side)


COUNTED = """
kernel void counted(global const int *counts, global uint *y) {
    int i = get_global_id(0), n = counts[i];
    uint state = y[i], kept = 0;
    for (int k = 0; k < n; k++) {
        state = STEP;
        kept += state KEPT 3;
    }
    y[i] = state + kept;
}
"""


@pytest.mark.parametrize(
    ("step", "kept", "products"),
    [("state * 5 + 7", "* 0 +", 40), ("state * 5 + k", "* 0 +", 160)],
    ids=["alone", "not"],
)
def test_steps_by_constants_are_folded_over_the_iterations_side_by_side(step, kept, products):
    """Of four at a time, in loops too that each work-item goes through as often as it has to."""
    counts, y = np.full(32, 160, np.int32), np.ones(32, np.uint32)
    kernel = xe.load(COUNTED.replace("STEP", step).replace("KEPT", kept))["counted"]
    assert xe.profile(kernel, xe.NDRange(32, 32), device="h200")(counts, y)[1].instructions["i32mul"] == products


@pytest.mark.parametrize(("dtype", "doubles"), [(jnp.float32, 0), (jnp.float64, 7)])
def test_quotients_of_doubles_are_made_of_an_approximation(dtype, doubles):
    @xe.kernel(sub_group_size=32)
    def quotient(wg, x, y):
        i = wg.local_id()
        return y.at[i].set(x[i] / y[i])

    of = jax.ShapeDtypeStruct((32,), jnp.dtype(dtype))
    found = xe.estimate(quotient, xe.NDRange(32, 32), device="h200")(of, of).instructions
    assert (found["special"], found.get("f64", 0)) == (1, doubles)


@pytest.mark.parametrize(
    ("computed", "expected"),
    [
        (lambda a, b, c: (a & b) | (~a & c), 1),
        (lambda a, b, c: b ^ (a | ~c), 1),
        (lambda a, b, c: (a & b) | (c & 12), 2),  # of four numbers
        (lambda a, b, c: a + b + c, 1),
        (lambda a, b, c: a + b + c + 5, 2),
        (lambda a, b, c: (a & b) + c, 2),
        (lambda a, b, c: (a + b) + (a + b), 2),  # of four
        (lambda a, b, c: (a << 7) | (a >> 25), 1),  # a rotation
        (lambda a, b, c: (a << 7) | (a >> 24), 3),
        (lambda a, b, c: (a << 7) | (b >> 25), 3),
    ],
)
def test_logic_and_sums_of_three_integers_are_one_instruction(computed, expected):
    """On an H200 and from Xe-HP on; elsewhere each operation is one but for complements, which are counted here."""

    def kernel(wg, a, b, c, out):
        i = wg.global_id()
        return out.at[i].set(computed(a[i], b[i], c[i]))

    words = [floats(dtype=jnp.uint32)] * 4
    assert instructions(kernel, *words) == {"i32": expected}


def test_what_is_used_twice_is_part_of_no_other_instruction():
    def kernel(wg, a, b, out):
        i = wg.global_id()
        both = a[i] & b[i]
        return out.at[i].set((both | 5) + both)

    assert instructions(kernel, *[floats(dtype=jnp.uint32)] * 3) == {"i32": 3}


def test_approximate_functions_take_fewer_instructions():
    """As OpenCL's `native_sin`: two in listings of sm_90 code, for 28."""
    for name, around in (("sin", SINE), ("native_sin", 1)):
        kernel = xe.load(f"kernel void k(global float *x) {{ int i = get_global_id(0); x[i] = {name}(x[i]); }}")["k"]
        counted = xe.estimate(kernel, xe.NDRange(32, 32), device="h200")(floats()).instructions
        assert (counted["special"], counted["f32"]) == (1, around)


def test_sines_of_doubles_are_made_of_an_approximation():
    def applied(wg, x):
        return x.at[wg.global_id()].set(jnp.sin(x[wg.global_id()]))

    assert instructions(applied, floats(dtype=jnp.float64)) == {"f64": 7, "special": 1}

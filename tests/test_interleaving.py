"""Adversarial runs: races of the corpus give wrong answers under some key, and kernels without races never do."""

from typing import Any

import examples
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import programs
import pytest
import schedules
import test_kernels
from cases import Defect, Judge
from defects import DEFECTS
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jax import lax
from test_laws import assert_as_the_oracle_says
from test_schedules import does_not_tell_orders

import xeemu as xe
from xeemu.kernels import slm_bank
from xeemu.stepping import interleaving

KEYS = range(20)
FEW = (3, 4)
I32 = jnp.int32


# --- Right answers ---


def chained(old: np.ndarray, left: np.ndarray, first: Any, last: Any) -> bool:
    """True if atomic operations can have seen the values `old` and left the values `left`, in some order."""
    return oracle.serial_order_exists(first, last, zip(old.tolist(), left.tolist(), strict=True))


def of_compaction(outputs: list[np.ndarray]) -> bool:
    count, out = outputs
    live = [x for x in range(128) if x % 3 == 0]
    return count[0] == len(live) and sorted(out[: len(live)].tolist()) == live and not out[len(live) :].any()


def of_lists(outputs: list[np.ndarray]) -> bool:
    """The head of each list is one of those with its key; that of list 3, or nobody."""
    return all(head % 16 == n or (n == 3 and head == 0) for n, head in enumerate(outputs[0].tolist()))


def each_in(*allowed: Any) -> Judge:
    return lambda outputs: all(x in options for x, options in zip(outputs[-1].tolist(), allowed, strict=True))


LANES = np.arange(64)
# Cases in which SYCL permits several answers: the order of atomic operations shows.
SEVERAL: dict[str, Judge] = {
    "election_without_barrier_after_the_start": lambda o: len(set(o[0].tolist())) == 1 and o[0][0] >> 40 in LANES,
    "sub_group_scope_in_a_work_group": lambda o: sorted(o[0].tolist()) == LANES.tolist(),
    "sub_group_scope_in_global_memory": lambda o: chained(o[1], np.maximum(o[1], LANES), 0, 63) and o[0][0] == 63,
    "flag_without_order": each_in({-1}, {-1, 42}),
    "total_read_while_other_groups_add": lambda o: o[0][0] == 128 and bool((o[1] >= 64).all() & (o[1] <= 128).all()),
    "compaction_with_a_stale_counter": of_compaction,
    "plain_store_beside_atomics": of_lists,
    "list_without_an_end": lambda o: all(
        any(chained(old, LANES, 0xFFFF, last) for last in range(64)) for old in o[0].reshape(2, 64)
    ),
    "probing_without_wrapping": lambda o: sorted(o[0].tolist()) == sorted((np.arange(16) * 4 + 15).tolist()),
}
# Races whose every outcome the corrected twin may have too.
HARMLESS = {
    # All writers store one value, and nobody else looks: a note under `check`.
    "flag_set_by_many",
    "sum_stored_by_all",
    "done_set_at_both_ends",
    # A plain access meets atomic operations, and no value that it can see or leave is ruled out.
    "total_read_while_other_groups_add",
    "plain_store_beside_atomics",
    # Until the plain store comes nobody is elected, and then it is as if it had come first.
    "election_without_barrier_after_the_start",
}
RACY = [d for d in DEFECTS if {e.kind for e in d.expected} & {"data-race", "wrong-fence"}]
# What a defect other than a race does is defined, here if not in SYCL, and the same in every order.
DEFINED = [d for d in DEFECTS if {e.kind for e in d.expected} & {"uninitialized-read", "out-of-bounds", "cross-item"}]
DEFINED = [d for d in DEFINED if d.name not in SEVERAL]


def judge(defect: Defect, kernel: xe.Kernel) -> Judge:
    """Tells whether outputs are right: what a launch in lockstep gives, or one of several."""
    if defect.name in SEVERAL:
        return SEVERAL[defect.name]
    expected = defect.launched(kernel)
    return lambda outputs: all(
        np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(outputs, expected, strict=True)
    )


def keys_that_expose(defect: Defect, most: int) -> list[int]:
    """Keys under which the defective kernel gives a wrong answer, the first ones.

    Right is what it gives in lockstep, which is what its author will have seen.
    """
    is_right, found = judge(defect, defect.defective), []
    for key in KEYS:
        if len(found) < most and not is_right(defect.launched(defect.defective, key)):
            found.append(key)
    return found


@pytest.mark.every(18)
@pytest.mark.parametrize("defect", [d for d in RACY if d.name not in HARMLESS], ids=lambda d: d.name)
def test_a_race_gives_a_wrong_answer_under_some_key(defect):
    assert keys_that_expose(defect, most=1)


@pytest.mark.parametrize("defect", [d for d in RACY if d.name in HARMLESS], ids=lambda d: d.name)
def test_a_race_that_cannot_be_told_by_its_answers_is_not(defect):
    is_right = judge(defect, defect.corrected)
    assert all(is_right(defect.launched(defect.defective, key)) for key in KEYS)


def assert_right_under(defect: Defect, kernel: xe.Kernel, keys: Any) -> None:
    is_right = judge(defect, kernel)
    wrong = [key for key in keys if not is_right(defect.launched(kernel, key))]
    assert not wrong, f"{defect.name} gives a wrong answer under the keys {wrong}"


@pytest.mark.every(10)
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.name)
def test_a_kernel_without_races_gives_a_right_answer(defect):
    assert_right_under(defect, defect.corrected, FEW)


@pytest.mark.parametrize("defect", DEFINED, ids=lambda d: d.name)
@pytest.mark.long
def test_what_is_defined_is_the_same_in_every_order(defect):
    assert_right_under(defect, defect.defective, FEW)


@pytest.mark.long
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.name)
def test_a_kernel_without_races_gives_a_right_answer_under_every_key(defect):
    assert_right_under(defect, defect.corrected, KEYS)


# --- The examples ---

SIZES = {
    "slm_bank_16": (32,),
    "slm_bank_1": (32,),
    "convolution_global": (256, 257),
    "convolution_slm": (256, 257),
    "histogram_private": (16384,),
    "histogram_slm": (16384,),
    "histogram_slm_1024": (16384,),
    "table_copy_bad": (7, 2, 32),
    "table_copy_good": (7, 2, 32),
    "table_copy_best": (16, 5, 16),
    "table_copy_min": (1, 2, 16),
    "table_copy_unrolled": (144, 2, 48),
    "table_copy_loop": (97, 5, 48),
    "tree_reduction": (258,),
    "tree_reduction_sequential": (258,),
    "matmul_naive": (5,),
    "matmul_local": (16,),
    "matmul_tiled": (17, 5, 33),
    "reduction_serial": (37,),
    "reduction_atomics_buffer": (37,),
    "reduction_atomics_usm": (1021,),
    "atomics_lab": (1021,),
}
BRIEF = ("table_copy_loop", "matmul_local", "reduction_atomics_usm", "atomics_lab")
SHORT = {e.name: e for e in (slm_bank.example(16, 30), slm_bank.example(1, 30))}


def assert_agrees_under(name: str, key: int) -> None:
    """An example of one or more launches against its reference, each launch with the key."""
    example, size = (test_kernels.EXAMPLES | SHORT)[name], SIZES[name]
    inputs = example.inputs(size)
    outputs = example.launch(inputs, size, schedule=key)
    test_kernels.assert_agrees(outputs, example.reference(*inputs), example.rounding)


@pytest.mark.parametrize("name", BRIEF)
def test_an_example_agrees_with_its_reference(name):
    assert_agrees_under(name, 2)


@pytest.mark.long
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", SIZES)
def test_an_example_agrees_with_its_reference_under_every_key(name, key):
    assert_agrees_under(name, key)


@pytest.mark.long
@pytest.mark.parametrize("key", KEYS)
def test_counting_in_registers_agrees_with_numpy(key):
    """The example at a size of its own: it brings a sub-group together 16 times for each word."""
    kernel = test_kernels.EXAMPLES["histogram_registers"].kernel
    data = np.random.default_rng(0).integers(2**64, size=32 * 2, dtype=np.uint64)
    hist = xe.launch(kernel, xe.NDRange(32, 32), schedule=key)(data, np.zeros(256, np.uint32), block=2)
    np.testing.assert_array_equal(hist, np.bincount(data.view(np.uint8), minlength=256))


def test_the_racy_example_loses_updates():
    example = test_kernels.EXAMPLES["reduction_racy"]
    inputs = example.inputs((1000,))
    (total,) = np.asarray(example.launch(inputs, (1000,), schedule=3))
    assert 0 < total < inputs[0].sum()


# --- Random kernels ---

LAW = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def assert_program_agrees(program: programs.Program, key: int) -> None:
    launch = xe.launch(programs.kernel(program), program.nd_range, device=programs.DEVICE, schedule=key)
    assert_as_the_oracle_says(program, launch(*program.arguments))


@settings(LAW, max_examples=examples.some(3))
@given(programs.programs(), st.sampled_from(KEYS))
def test_programs_without_races_mean_what_the_oracle_says(program, key):
    assume(does_not_tell_orders(program))
    assert_program_agrees(program, key)


@pytest.mark.long
@settings(LAW, max_examples=100)
@given(programs.programs(), st.sampled_from(KEYS))
def test_many_programs_without_races_mean_what_the_oracle_says(program, key):
    assume(does_not_tell_orders(program))
    assert_program_agrees(program, key)


@pytest.mark.long
@settings(LAW, max_examples=30)
@given(programs.programs(plain=True), st.sampled_from(KEYS))
def test_programs_over_plain_ranges_mean_what_the_oracle_says(program, key):
    assert_program_agrees(program, key)


def outcome(program: programs.Program, key: int | None) -> bytes:
    before = dict(zip(program.names, program.arguments, strict=False))
    launch = xe.launch(programs.kernel(program), program.nd_range, device=schedules.DEVICE, schedule=key)
    return schedules.as_bytes([*(before | launch(*program.arguments)).values(), program.arguments[-1]])


def assert_outcomes_as_the_oracle_has_them(seed: int) -> None:
    """Without a race there is one outcome; where the oracle finds several, so do some keys."""
    program = schedules.kernel(seed)
    usual = outcome(program, None)
    if not schedules.has_race(program):
        assert all(outcome(program, key) == usual for key in range(6))
    elif len(schedules.outcomes_of(program, most=2)) > 1:
        assert any(outcome(program, key) != usual for key in KEYS)


@pytest.mark.parametrize("seed", [1])
def test_small_kernels_have_the_outcomes_of_the_oracle(seed):
    assert_outcomes_as_the_oracle_has_them(seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, *range(2, 60)])
def test_many_small_kernels_have_the_outcomes_of_the_oracle(seed):
    assert_outcomes_as_the_oracle_has_them(seed)


# --- Orders ---


@xe.kernel
def message(wg, data, flag, out, *, give, take):
    """One group gives a value and a flag; another one that has seen the flag takes the value."""
    group, first = wg.group_id(), wg.local_id() == 0
    data = data.at[0].set(42, where=first & (group == 0))
    flag = flag.atomic(order=give)[0].store(1, where=first & (group == 0))
    seen = flag.atomic(order=take)[0].load(where=first & (group == 1)) == 1
    return data, flag, out.at[group].set(data.load(0, where=seen), where=seen & first)


def answers(give: str, take: str) -> set[int]:
    """What the second group has taken under any of the keys; -1 for nothing."""
    found = set()
    for key in range(40):
        launch = xe.launch(message, xe.NDRange(8, 4), schedule=key)
        *_, out = launch(np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(2, -1, np.int32), give=give, take=take)
        found.add(int(out[1]))
    return found


@pytest.mark.parametrize(
    ("give", "take", "expected"),
    [
        ("release", "acquire", {-1, 42}),
        ("seq_cst", "seq_cst", {-1, 42}),
        ("relaxed", "acquire", {-1, 0, 42}),
        ("release", "relaxed", {-1, 0, 42}),
    ],
)
def test_a_message_is_safe_with_release_and_acquire_alone(give, take, expected):
    assert answers(give, take) == expected


# --- Programs of every kind ---


@xe.kernel(sub_group_size=16)
def of_all_kinds(wg, x, y, total):
    """Two dimensions, a partial sub-group, private memory, 64 bits, trips that differ, branches, masks, collectives."""
    i, j = wg.local_id(0), wg.local_id(1)
    lane, group = wg.local_linear_id(), wg.group_linear_id()
    own = wg.private(3, I32)
    tile = wg.local((4, 6), jnp.int64)
    for k in range(3):
        own = own.at[k].set(lane * (k + 1))

    def more(carry):
        k, tile, sums = carry
        tile = wg.barrier(tile.at[i, j].set(x[wg.global_id(0), wg.global_id(1)] + k))
        sums = sums + tile[3 - i, 5 - j] + own[k % 3].astype(jnp.int64)
        return k + 1, wg.barrier(tile), sums

    _, tile, sums = lax.while_loop(lambda c: c[0] <= group, more, (jnp.int32(0), tile, jnp.zeros((4, 6), jnp.int64)))
    sums = lax.cond(group % 2 == 0, lambda s: s + wg.reduce(s, "max"), lambda s: s - jnp.sum(s), sums)
    sums = sums + wg.sub_group.shift_left(sums, 1) * (wg.sub_group.local_id() < 7) + jnp.sort(sums, axis=1)
    low, high = jnp.stack([sums, -sums], axis=-1).min(axis=-1), jnp.flip(sums, 0)
    y = y.at[wg.global_id(0), wg.global_id(1)].set(low * 3 + high, where=(lane % 5 != 0) | (group == 1))
    _, total = total.atomic[lane % 2].fetch_add(sums, where=lane < 20)
    return y, total


@pytest.mark.parametrize("key", [2, 3])
def test_programs_of_all_kinds_give_what_they_give_in_lockstep(key):
    x = np.random.default_rng(0).integers(-(2**40), 2**40, (8, 12))
    arguments = x, np.zeros((8, 12), np.int64), np.zeros(2, np.int64)
    nd_range = xe.NDRange((8, 12), (4, 6))
    with jax.numpy_dtype_promotion("standard"):
        expected = xe.launch(of_all_kinds, nd_range)(*arguments)
        outputs = xe.launch(of_all_kinds, nd_range, schedule=key)(*arguments)
    for output, reference in zip(outputs, expected, strict=True):
        assert isinstance(output, jax.Array)
        np.testing.assert_array_equal(output, reference, strict=True)


@pytest.mark.parametrize("key", range(4))
def test_a_plain_range_ends_where_it_ends(key):
    @xe.kernel
    def scale(wg, x, n, y):
        i = wg.global_id()
        return y.at[i].set(x.load(i - 1, where=i > 0, other=7) * n)

    arguments = np.arange(509, dtype=np.float32), np.float32(2.5), np.zeros(509, np.float32)
    outputs = xe.launch(scale, xe.NDRange(509), schedule=key)(*arguments)
    np.testing.assert_array_equal(outputs, xe.launch(scale, xe.NDRange(509))(*arguments))


def test_a_loop_that_scans_and_stacks():
    @xe.kernel
    def sums(wg, x, y):
        lid = wg.local_id()

        def turn(total, row):
            total = total + row * x[lid]
            return total, row * 2

        total, doubled = lax.scan(turn, jnp.zeros(8, I32), jnp.arange(5, dtype=I32), reverse=True)
        return y.at[lid].set(total + jnp.sum(doubled))

    x = np.arange(8, dtype=np.int32)
    out = xe.launch(sums, xe.NDRange(8, 8), schedule=1)(x, np.zeros(8, np.int32))
    np.testing.assert_array_equal(out, 10 * x + 20)


@xe.kernel
def stacked(wg, x, y):
    """Values of work-items that loops stack: of a carry, of several elements, of loops in loops, and none."""
    i, lid, three = wg.global_id(0) * 6 + wg.global_id(1), wg.local_id(1), jnp.arange(3, dtype=I32)

    def turn(c, k):
        inner = lax.scan(lambda e, j: (e, lid * j + k), 0, jnp.arange(2, dtype=I32))[1]
        return c + lid, (c * k, x[i][..., None] + jnp.stack([k, k * k]), inner, k)

    _, (carried, pairs, inner, uniform) = lax.scan(turn, lid, three, reverse=True)
    _, scanned = lax.scan(lambda c, row: (c + row, c * row), lid, carried)
    none = lax.scan(lambda c, k: (c, lid), 0, three[:0])[1]
    total = carried[1] + scanned.sum(axis=0) + pairs.sum(axis=(0, 3)) + inner.sum(axis=(0, 1)) + none.sum(axis=0)
    add = lambda t: t + lax.scan(lambda c, k: (c, lid * k), 0, three)[1].max(axis=0)  # noqa: E731
    total = lax.cond(wg.group_id(0) == 1, add, lambda t: t, total + uniform.sum() + carried.max(axis=(0, 1, 2)))
    return y.at[i].set(total)


@pytest.mark.thorough
@pytest.mark.parametrize("key", range(2))
def test_a_loop_stacks_values_of_work_items(key):
    x, nd_range = np.arange(24, dtype=np.int32), xe.NDRange((4, 6), (2, 3))
    outputs = xe.launch(stacked, nd_range, schedule=key)(x, np.zeros(24, np.int32))
    np.testing.assert_array_equal(outputs, xe.launch(stacked, nd_range)(x, np.zeros(24, np.int32)))


def test_a_race_in_a_loop_that_stacks_shows():
    @xe.kernel
    def neighbours(wg, x, y, *, barrier):
        lid, tile = wg.local_id(), wg.local(64, I32)
        tile = wg.barrier(tile.at[lid].set(0))

        def turn(tile, k):
            tile = tile.at[lid].set(k + 1)
            tile = wg.barrier(tile) if barrier else tile
            seen = tile[(lid + 1) % 64]
            return wg.barrier(tile), seen

        _, rows = lax.scan(turn, tile, jnp.arange(3, dtype=I32))
        return y.at[lid].set(rows.sum(axis=0))

    def right(key, barrier):
        zeros = np.zeros(64, np.int32)
        return (xe.launch(neighbours, xe.NDRange(64, 64), schedule=key)(zeros, zeros, barrier=barrier) == 6).all()

    assert [right(key, True) for key in range(4)] == [True] * 4
    assert not all(right(key, False) for key in range(4))


# --- Keys ---


@xe.kernel
def reverse(wg, x):
    lid, i = wg.local_id(), wg.global_id()
    tile = wg.local(64, I32)
    tile = tile.at[lid].set(x[i])
    return x.at[i].set(tile[63 - lid])


X = np.arange(128, dtype=np.int32)
RANGE = xe.NDRange(128, 64)


def reversed_under(key: Any) -> bytes:
    return np.asarray(xe.launch(reverse, RANGE, schedule=key)(X)).tobytes()


def test_a_key_gives_the_same_answer_every_time():
    jax.random.normal(jax.random.key(3))
    np.random.seed(1)  # noqa: NPY002
    answers = {key: reversed_under(key) for key in range(6)}
    np.random.seed(2)  # noqa: NPY002
    assert answers == {key: reversed_under(key) for key in range(6)}
    assert len(set(answers.values())) > 1


def test_keys_of_jax_are_taken():
    for make in (jax.random.key, jax.random.PRNGKey):
        answers = {reversed_under(key) for key in jax.random.split(make(7), 6)}
        assert len(answers) > 1
    assert reversed_under(jax.random.key(5)) == reversed_under(jax.random.PRNGKey(5))


@pytest.mark.parametrize("key", [-1, 0.5, "0", True, np.zeros(2, np.int32), jax.random.split(jax.random.key(0), 2)])
def test_other_keys_are_refused(key):
    with pytest.raises(xe.KernelArgumentError, match=r"give an int from 0, or one key of jax\.random"):
        xe.launch(reverse, RANGE, schedule=key)


def test_nothing_is_emitted_without_a_key(monkeypatch):
    monkeypatch.setattr(interleaving, "launched", None)
    usual = str(jax.make_jaxpr(xe.launch(reverse, RANGE))(X))
    assert str(jax.make_jaxpr(xe.launch(reverse, RANGE, schedule=None))(X)) == usual
    assert "callback" not in usual
    np.testing.assert_array_equal(xe.launch(reverse, RANGE, schedule=None)(X), X.reshape(2, 64)[:, ::-1].ravel())


# --- What is refused ---


def test_a_key_of_jax_that_is_kept_is_refused_with_the_line():
    @xe.kernel
    def noise(wg, x):
        key = jax.random.key(7)  # here
        y = x[wg.local_id()]
        return x.at[wg.local_id()].set(y + jax.random.uniform(key, (8,)))

    x = np.zeros(8, np.float32)
    with pytest.raises(xe.KernelError, match=r"a key of jax.random cannot be kept across(.|\n)*# here"):
        xe.launch(noise, xe.NDRange(8, 8), schedule=0)(x)


def test_random_numbers_are_those_of_a_launch():
    @xe.kernel
    def noise(wg, x, seed):
        u = jax.random.uniform(jax.random.fold_in(jax.random.key(seed), wg.group_id()), (8,))
        return x.at[wg.global_id()].set(x[wg.global_id()] + u)

    arguments = np.arange(16, dtype=np.float32), 3
    usual = xe.launch(noise, xe.NDRange(16, 8))(*arguments)
    np.testing.assert_array_equal(xe.launch(noise, xe.NDRange(16, 8), schedule=0)(*arguments), usual)


def test_a_schedule_cannot_be_part_of_a_jit():
    with pytest.raises(xe.KernelArgumentError, match="cannot be part of a jit"):
        jax.jit(xe.launch(reverse, RANGE, schedule=0))(X)


def test_a_schedule_goes_with_neither_a_mesh_nor_determinism():
    mesh = jax.make_mesh((1,), ("groups",))
    with pytest.raises(xe.KernelArgumentError, match="leave out a mesh"):
        xe.launch(reverse, RANGE, schedule=0, mesh=mesh)
    with pytest.raises(xe.KernelArgumentError, match="leave out deterministic=True"):
        xe.launch(reverse, RANGE, schedule=0, deterministic=True)


def test_work_items_that_wait_for_ever_are_told_with_the_line():
    @xe.kernel
    def half(wg, x):
        lid = wg.local_id()
        x = wg.barrier(x, where=lid < 32)  # here
        return x.at[wg.global_id()].set(lid)

    with pytest.raises(xe.KernelError, match=r"32 work-items of group \d wait for ever.*\n.*# here") as error:
        xe.launch(half, RANGE, schedule=0)(X)
    assert "or none does" in str(error.value)


def test_a_barrier_that_a_part_of_a_sub_group_reaches_is_told_with_the_line():
    @xe.kernel(sub_group_size=16)
    def half(wg, x):
        lid = wg.local_id()
        x = wg.cond(lid % 16 < 8, lambda x: wg.sub_group.barrier(x), lambda x: x, x)  # here
        return x.at[wg.global_id()].set(lid)

    for key in range(4):
        with pytest.raises(xe.KernelError, match=r"8 of 16 work-items of sub-group .*\n.*# here") as error:
            xe.launch(half, RANGE, schedule=key)(X)
        assert "or none does" in str(error.value)


PARTS_OF_SUB_GROUPS = {
    "if (l % 16 < 8) BARRIER;": True,
    "if (l < 8) BARRIER;": True,  # of one of the sub-groups
    "for (int k = 0; k < l; k++) BARRIER;": True,
    "for (int k = 0; k < l; k++) if (k == 2) BARRIER;": True,
    "if (l < 16) BARRIER;": False,  # whole sub-groups
    "for (int k = 0; k < l / 16; k++) BARRIER;": False,
    "if (l % 16 < 8) x[i] = sub_group_reduce_add(l);": False,  # of those that are active
    "if (i > 1000) BARRIER;": False,
}


@pytest.mark.parametrize("body", PARTS_OF_SUB_GROUPS)
def test_a_schedule_refuses_the_barriers_of_sub_groups_that_a_check_finds(body):
    source = """__attribute__((intel_reqd_sub_group_size(16))) kernel void k(global int *x) {
    int l = get_local_id(0), i = get_global_id(0);
    """
    barrier = "sub_group_barrier(CLK_GLOBAL_MEM_FENCE)"
    kernel = xe.load(source + body.replace("BARRIER", barrier) + "}")["k"]
    x, ragged = np.zeros(80, np.int32), xe.NDRange(80, 40)
    found = {finding.kind for finding in xe.check(kernel, ragged)(x)[1]}
    assert ("barrier-divergence" in found) == PARTS_OF_SUB_GROUPS[body]
    for key in range(3):
        try:
            xe.launch(kernel, ragged, schedule=key)(x)
            refused = False
        except xe.KernelError as error:
            refused = "come to its barriers" in str(error)
        assert refused == PARTS_OF_SUB_GROUPS[body]

"""The passes of a launch: programs as they are printed before and after, and what holds of all of them."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from test_kernels import SIZES

import xeemu as xe
from xeemu.devices.target import CPU, GPU
from xeemu.ir import control, ops
from xeemu.ir.program import Region
from xeemu.kernels import EXAMPLES
from xeemu.passes import eliminate_dead_code, pipeline
from xeemu.passes.analyses import Analyses

NUMBERS = np.arange(64, dtype=np.int32)
ND_RANGE = xe.NDRange(64, 16)


def text(kernel, after, *arguments, nd_range=ND_RANGE, lines=False):
    """The operations of a program after a pass, without what stands above them; with their lines if wanted."""
    listing = str(xe.trace(kernel, nd_range, after=after)(*(arguments or (NUMBERS, NUMBERS))))
    rows = [row for row in listing.splitlines() if not row.startswith(("kernel", "nd-range", "  global", "  local"))]
    return [row if lines else row.split("  #")[0].rstrip() for row in rows]


def before(name):
    """The name of the pass before another one."""
    return pipeline.NAMES[pipeline.NAMES.index(name) - 1]


def test_the_names_are_those_of_functions_and_modules():
    here = Path(__file__).read_text()
    assert not [name for name in pipeline.NAMES if f'"{name}"' not in here], "no printed program shows these"
    for each in pipeline.PASSES:
        assert each.__module__ == f"xeemu.passes.{each.__name__}"
        assert each.__doc__
    assert len(set(pipeline.NAMES)) == len(pipeline.NAMES)


@pytest.mark.parametrize("name", pipeline.NAMES[1:])
def test_no_pass_leaves_dead_code_behind(name):
    for kernel in (halves, neighbours, accumulated):
        program = xe.trace(kernel, ND_RANGE, after=name)(NUMBERS, NUMBERS)
        assert eliminate_dead_code.eliminate_dead_code(program, Analyses(program), CPU) is program


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_types_are_those_that_jax_gives(name, monkeypatch):
    example, size = EXAMPLES[name], SIZES[name][-1]
    bodies: list[Region] = []
    monkeypatch.setattr(pipeline.verifier, "verify", lambda body, place: bodies.append(body))
    trace = xe.trace(example.kernel, example.nd_range(size), after=pipeline.NAMES[-1])
    program = trace(*example.inputs(size), **example.static)
    found = {op: None for body in bodies for op in body.walk() if op.apply is not None and not op.regions}
    with jax.enable_x64(program.wide):
        for op in found:
            given = [jax.ShapeDtypeStruct(value.shape, value.dtype) for value in op.operands]
            made = jax.eval_shape(lambda *arrays, apply=op.apply: list(apply(*arrays)), *given)
            assert [(v.shape, v.dtype) for v in op.results] == [(v.shape, v.dtype) for v in made], op.name


def test_a_misspelt_pass_is_told_with_the_names_that_there_are():
    with pytest.raises(
        xe.KernelArgumentError, match=r"'inline_call' is no pass \(did you mean 'inline_calls'\?\)"
    ) as told:
        xe.trace(halves, ND_RANGE, after="inline_call")
    assert ", ".join(pipeline.NAMES) in str(told.value)


@xe.kernel
def halves(wg, x, out):
    lid = wg.local_id()
    return out.at[lid].set(x[lid // 2])


def test_calls_are_written_out_with_the_line_of_the_call():
    program = xe.trace(halves, ND_RANGE, after="inline_calls")(NUMBERS, NUMBERS)
    assert not any(isinstance(control.of(op), control.Call) for op in program.body.walk())
    assert text(halves, "inline_calls", lines=True)[3].split("  #")[0].split("=")[1].strip() == "sign v1"
    assert all(re.search(r"# \d+: ", row) for row in text(halves, "inline_calls", lines=True)[:-1])


def test_a_function_that_is_called_twice_is_written_out_twice():
    @jax.jit
    def more(x):
        return x * 3 + 1

    @xe.kernel
    def twice(wg, x, out):
        lid = wg.local_id()
        return out.at[lid].set(more(more(x[lid])))

    program = xe.trace(twice, ND_RANGE)(NUMBERS, NUMBERS)
    with pytest.raises(ValueError, match="inline_calls has to come before"):
        assert Analyses(program).by_region
    assert text(twice, "inline_calls") == [
        "v1:i32[16] = local_id 0",
        "v2:i32[16] = load x[v1]",
        "v3:i32[16] = v2 * 3",
        "v4:i32[16] = v3 + 1",
        "v5:i32[16] = v4 * 3",
        "v6:i32[16] = v5 + 1",
        "store out[v1] v6",
        "return out",
    ]


def test_a_quotient_of_natural_numbers_is_not_rounded_down():
    assert len(text(halves, "inline_calls")) > 10
    assert text(halves, "simplify_divisions") == [
        "v1:i32[16] = local_id 0",
        "v2:i32 = i32(2)",
        "v3:i32[16] = v1 / v2",
        "v4:i32[16] = load x[v3]",
        "store out[v1] v4",
        "return out",
    ]


def test_a_remainder_of_natural_numbers_is_not_corrected():
    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        return out.at[lid].set(x[lid % 3])

    assert text(kernel, "simplify_divisions") == [
        "v1:i32[16] = local_id 0",
        "v2:i32 = i32(3)",
        "v3:i32[16] = v1 % v2",
        "v4:i32[16] = load x[v3]",
        "store out[v1] v4",
        "return out",
    ]


def test_a_quotient_of_what_may_be_negative_is():
    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        return out.at[lid].set(x[lid] // 2)

    assert text(kernel, "simplify_divisions") == text(kernel, "inline_calls")


@xe.kernel
def neutral(wg, x, out):
    """Numbers that change nothing, but for the first sum, of which -0.0 and 0.0 are 0.0."""
    lid = wg.local_id()
    signed = x[lid] + 0.0
    return out.at[lid].set((jnp.zeros(wg.size) + jnp.exp(x[lid])) * 1 - 0.0 + signed * signed)


def test_numbers_go_that_change_nothing():
    floats = np.where(NUMBERS % 2, -0.0, NUMBERS).astype(np.float32)
    assert text(neutral, "drop_neutral_operands", floats, floats) == [
        "v1:i32[16] = local_id 0",
        "v2:f32[16] = load x[v1]",
        "v3:f32[16] = v2 + 0.0",
        "v4:f32[16] = load x[v1]",
        "v5:f32[16] = exp v4",
        "v6:f32[16] = v3 * v3",
        "v7:f32[16] = v5 + v6",
        "store out[v1] v7",
        "return out",
    ]


SUMS = {
    "no zero": (lambda wg, v: 0 + jnp.exp(v), True),
    "the work-items' sum": (lambda wg, v: 0 + wg.reduce(v * v, "add"), True),
    "a choice of what is not negative": (lambda wg, v: 0 + jnp.where(v > 1, abs(v), 2.0), True),
    "an integer": (lambda wg, v: 0 + wg.local_id().astype(jnp.float32), True),
    "a negative zero": (lambda wg, v: 0 + v, False),
    "a product that may be one": (lambda wg, v: 0 + v * jnp.exp(v), False),
    "a choice that may be one": (lambda wg, v: 0 + jnp.where(v > 1, abs(v), v), False),
    "a difference": (lambda wg, v: 0 + (jnp.exp(v) - 1.0), False),
    "a negative zero that is added": (lambda wg, v: -0.0 + abs(v), False),
    "a number from 0": (lambda wg, v: 0 - jnp.exp(v), False),
}


@pytest.mark.parametrize("name", SUMS)
def test_a_zero_goes_where_it_changes_the_sign_of_none(name):
    of, goes = SUMS[name]

    @xe.kernel
    def kernel(wg, x, out):
        return out.at[wg.global_id()].set(of(wg, x[wg.global_id()]))

    floats = np.where(NUMBERS % 2, -0.0, NUMBERS).astype(np.float32)
    names = ["drop_neutral_operands", before("drop_neutral_operands")]
    with_it, without = (len(text(kernel, name, floats, floats)) for name in names)
    assert (with_it < without) == goes
    found = np.asarray(xe.launch(kernel, ND_RANGE)(floats, floats))
    assert goes or name == "a number from 0" or not np.signbit(found[floats == 0]).any()


@pytest.mark.parametrize("is_inside", [True, False])
def test_keys_of_random_numbers_stand_beside_sums(is_inside):
    """They have no type of NumPy's, and no sign, in a kernel or from around it."""
    split = jax.random.split(jax.random.key(7))

    @xe.kernel
    def kernel(wg, x, out):
        i, keys = wg.global_id(), jax.random.split(jax.random.key(7)) if is_inside else split
        return out.at[i].set(0.0 + (x[i] + jax.random.uniform(keys[1], ())))

    x = np.arange(32, dtype=np.float32)
    expected = x + np.float32(jax.random.uniform(split[1], ()))
    np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(32, 16))(x, x), expected)
    assert not xe.check(kernel, xe.NDRange(32, 16))(x, x)[1]


def test_what_is_computed_twice_is_computed_once_there_or_around_it():
    """Operations of one memory's version too, until it is stored to."""

    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        start = x[lid + 1] * 2

        def turn(k, total):
            return total + x[lid + 1] * 2 + x[lid + k] + x[lid + k]

        out = out.at[lid].set(out[lid] + lax.fori_loop(0, 3, turn, start))
        return out.at[lid].set(out[lid] - x[lid + 1])

    assert text(kernel, "common_subexpressions") == [
        "v1:i32[16] = local_id 0",
        "v2:i32[16] = v1 + 1",
        "v3:i32[16] = load x[v2]",
        "v4:i32[16] = v3 * 2",
        "v5:i32[16] = load out[v1]",
        "loop 3 times, v6 from 0, v7 from v4:",
        "  v8:i32 = v6 + 1",
        "  v9:i32[16] = v7 + v4",
        "  v10:i32 = i32(v6)",
        "  v11:i32[16] = v1 + v10",
        "  v12:i32[16] = load x[v11]",
        "  v13:i32[16] = v9 + v12",
        "  v14:i32[16] = v13 + v12",
        "  v6 = v8",
        "  v7 = v14",
        "v15:i32[16] = v5 + v7",
        "store out[v1] v15",
        "v16:i32[16] = load out[v1]",
        "v17:i32[16] = v16 - v3",
        "store out[v1] v17",
        "return out",
    ]


def test_what_branches_compute_alike_is_computed_in_each():
    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        more = lax.cond(wg.group_id() > 1, lambda: x[lid] * 3, lambda: x[lid] * 3 + 1)
        return out.at[lid].set(more)

    assert text(kernel, "common_subexpressions").count("  v5:i32[16] = load x[v1]") == 1
    assert " ".join(text(kernel, "common_subexpressions")).count("load x[v1]") == 2


@xe.kernel
def neighbours(wg, x, out):
    """The group's elements in local memory, a barrier for it and another one, and a loop that carries both."""
    lid, i = wg.local_id(), wg.global_id()
    tile, own = wg.local(16, jnp.int32), wg.local(16, jnp.int32)
    tile, own = wg.barrier(tile.at[lid].set(x[i]), own.at[lid].set(0))

    def turn(k, both):
        tile, own = both
        return wg.barrier(tile, own.at[lid ^ k].set(tile[15 - lid]))

    tile, own = lax.fori_loop(0, 2, turn, (tile, own))
    return out.at[i].set(own[lid])


def test_a_copy_in_local_memory_goes():
    assert "tile" in " ".join(text(neighbours, before("eliminate_scratchpads")))
    got = text(neighbours, "eliminate_scratchpads")
    assert got[got.index("own = local i32[16]") :] == [
        "own = local i32[16]",
        "store own[v1] 0",
        "group barrier (own)",
        "loop 2 times, v6 from 0:",
        "  v7:i32 = v6 + 1",
        "  v8:i32 = i32(v6)",
        "  v9:i32[16] = v1 ^ v8",
        "  v10:i32[16] = 15 - v1",
        "  v11:i32 = group_id 0",
        "  v12:i32 = v11 * 16",
        "  v13:i32 = 0 + v12",
        "  v14:i32[16] = broadcast_in_dim v13",
        "  v15:i32[16] = v10 + v14",
        "  v16:i32[16] = load x[v15]",
        "  store own[v9] v16",
        "  group barrier (own)",
        "  v6 = v7",
        "v17:i32[16] = load own[v1]",
        "store out[v5] v17",
        "return out",
    ]


def test_what_nobody_uses_goes_but_for_loops_that_may_not_end():
    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        own = wg.local(16, jnp.int32)
        own = own.at[lid].set(x[lid] * 2)
        lax.fori_loop(0, 3, lambda k, total: total + k, 0)
        lax.while_loop(lambda n: n < x[0], lambda n: n + 1, jnp.int32(0))
        return out.at[lid].set(lid)

    assert text(kernel, "eliminate_dead_code") == [
        "v1:i32[16] = local_id 0",
        "loop while, v2 from 0:",
        "  v3:i32 = load x[0]",
        "  v4:bool = v2 < v3",
        "  while v4:",
        "    v5:i32 = v2 + 1",
        "    v2 = v5",
        "store out[v1] v1",
        "return out",
    ]


def test_an_atomic_operation_of_which_nobody_uses_the_old_value_gives_none_where_its_bits_are_the_same():
    """Not one that a loop carries for nobody either; sums of floats would be rounded in another order."""

    @xe.kernel
    def kernel(wg, x, out, total):
        at = x[wg.local_id()]
        _, out = out.atomic[at].fetch_max(5)
        total = total.atomic[at].fetch_add(1)[1]
        used, out = out.atomic[at].fetch_sub(2)

        _, out = lax.fori_loop(0, 3, lambda _, carry: carry[1].atomic[at].fetch_add(1), (used, out))
        return out.atomic[at].exchange(used)[1], total

    rows = text(kernel, "eliminate_dead_code", NUMBERS % 5, NUMBERS, NUMBERS.astype(np.float32))
    assert ["=" in row for row in rows if "atomic" in row] == [False, True, True, False, True]


def test_loads_of_what_was_stored_are_slices_of_it():
    """A step of a reduction; of the memory nothing is left then."""

    @xe.kernel
    def halved(wg, x, out):
        lid = wg.local_id()
        live = lid < 6
        own = wg.barrier(wg.local(16, jnp.int32).at[lid].set(2 * x[lid], where=lid < 12))
        both = own.load(lid, where=live) + own.load(lid + 6, where=live)
        own = wg.barrier(own.at[lid].set(both, where=live))
        return out.at[lid].set(own.load(5 - lid, where=live))

    assert text(halved, pipeline.NAMES[-1]) == [
        "v1:i32[16] = local_id 0",
        "v2:i32[16] = load x[v1]",
        "v3:i32[16] = 2 * v2",
        "v4:i32[12] = slice v3 start_indices=(0,) limit_indices=(12,)",
        "v5:i32[6] = slice v4 start_indices=(0,) limit_indices=(6,)",
        "v6:i32[16] = pad v5, 0 padding_config=((0, 10, 0),)",
        "v7:i32[12] = slice v3 start_indices=(0,) limit_indices=(12,)",
        "v8:i32[6] = slice v7 start_indices=(6,) limit_indices=(12,)",
        "v9:i32[16] = pad v8, 0 padding_config=((0, 10, 0),)",
        "v10:i32[16] = v6 + v9",
        "v11:i32[6] = slice v10 start_indices=(0,) limit_indices=(6,)",
        "v12:i32[6] = rev v11 dimensions=(0,)",
        "v13:i32[16] = pad v12, 0 padding_config=((0, 10, 0),)",
        "store out[v1] v13",
        "return out",
    ]


@pytest.mark.parametrize("meets", ["another store", "a loop", "an atomic update"])
def test_a_load_stays_where_the_memory_is_needed_after_the_store(meets):
    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()
        own = wg.local(16, jnp.int32).at[lid].set(x[lid])
        if meets == "another store":
            own = own.at[x[lid] % 16].set(1)
        elif meets == "a loop":
            own = lax.fori_loop(0, 3, lambda k, m: m.at[lid].set(m[lid ^ k]), own)
        else:
            own = own.atomic[0].add(1)
        return out.at[lid].set(wg.barrier(own)[lid])

    assert text(kernel, "forward_stores") == text(kernel, before("forward_stores"))


def test_what_loops_carry_for_nobody_goes():
    """A memory that each iteration fills anew, and a sum that only it is made of."""

    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()

        def turn(k, carried):
            own, _, unused = carried
            own = wg.barrier(own.at[lid].set(x[lid + k]))
            return own, own[15 - lid], unused + k

        return out.at[lid].set(lax.fori_loop(0, 3, turn, (wg.local(16, jnp.int32), lid, 0))[1])

    assert text(kernel, pipeline.NAMES[-1]) == [
        "v1:i32[16] = local_id 0",
        "loop 3 times, v2 from 0, v3 from v1:",
        "  v4:i32 = v2 + 1",
        "  v5:i32 = i32(v2)",
        "  v6:i32[16] = v1 + v5",
        "  v7:i32[16] = load x[v6]",
        "  v8:i32[16] = rev v7 dimensions=(0,)",
        "  v2 = v4",
        "  v3 = v8",
        "store out[v1] v3",
        "return out",
    ]


def test_masks_that_say_what_bounds_say_go():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        n = x.shape[0]
        near = x.load(i - 1, where=(i - 1 >= 0) & (i - 1 < n)) + x.load(i, where=(i < n) & (x[0] > 0), other=-1)
        return out.at[i].set(near, where=i < n)

    short = NUMBERS[:50]
    masked = text(kernel, before("drop_redundant_masks"), short, short)
    assert not any("within bounds" in row for row in masked)
    assert len([row for row in masked if "where" in row]) == 3
    got = text(kernel, "drop_redundant_masks", short, short)
    assert got[5:] == [
        "v6:i32[16] = v5 - 1",
        "v7:i32[16] = load x[v6] within bounds else 0",
        "v8:bool[16] = v5 < 50",
        "v9:i32 = load x[0]",
        "v10:bool = v9 > 0",
        "v11:bool[16] = v8 & v10",
        "v12:i32[16] = load x[v5] where v11 else -1",
        "v13:i32[16] = v7 + v12",
        "store out[v5] v13",
        "return out",
    ]


def test_counting_where_one_looks_is_an_update():
    @xe.kernel
    def kernel(wg, x, out):
        bins = wg.private(4, "int32", name="bins")
        i = wg.global_id()
        bins = bins.at[x[i]].set(bins[x[i]] - i)
        bins = bins.at[2].set(bins[2] + bins[1])
        return out.at[i].set(bins[x[i]])

    assert text(kernel, before("fuse_updates"))[7:11] == [
        "v6:i32[16] = load x[v5]",
        "v7:i32[16] = load bins[v6]",
        "v8:i32[16] = v7 - v5",
        "store bins[v6] v8",
    ]
    fused = text(kernel, "fuse_updates")
    assert fused[7:9] == ["v6:i32[16] = load x[v5]", "sub bins[v6] v5"]
    assert any(row.startswith("add bins[2] ") for row in fused)


def test_updates_that_begin_a_constant_further_are_one():
    @xe.kernel
    def kernel(wg, x, out):
        i, value = wg.global_id(), x[wg.global_id()]
        for k in (1, 0):
            out = out.at[3 * i + k].set(value + (k + 1))
        return out.at[3 * i + 2].set(0)

    merged = text(kernel, "merge_updates", NUMBERS, np.zeros(192, np.int32))
    assert merged[-9:] == [
        "v12 = constant i32[2]",
        "v13:i32[1, 2] = broadcast_in_dim v12",
        "v14:i32[16, 2] = v11 + v13",
        "v15:i32[2, 16] = stack v9, v10",
        "v16:i32[16, 2] = transpose v15 permutation=(1, 0)",
        "store out[v14] v16",
        "v17:i32[16] = v7 + 2",
        "store out[v17] 0",
        "return out",
    ]


def test_updates_at_places_that_depend_on_data_are_one_on_a_gpu():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        out = out.atomic[x[i]].add(1).atomic[x[i] ^ 1].sub(x[i], where=i > 3)
        return out.atomic[x[i]].max(7).atomic[i].add(1)

    def updates(target, **options):
        body = pipeline.optimised(xe.trace(kernel, ND_RANGE)(NUMBERS, NUMBERS), target, **options).program.body
        return [(ops.operation(op), op.attributes["access"].shape) for op in body.ops if op.name == ops.ATOMIC]

    assert updates(GPU) == [("add", (2, 16)), ("max", (16,)), ("add", (16,))]
    assert updates(CPU) == [("add", (16,)), ("sub", (16,)), ("max", (16,)), ("add", (16,))]


def test_sums_of_floats_in_order_are_not_merged():
    @xe.kernel
    def kernel(wg, x, out):
        return out.atomic[wg.local_id()].add(1.5).atomic[wg.local_id() + 16].add(x[wg.global_id()])

    program = xe.trace(kernel, ND_RANGE)(NUMBERS.astype(np.float32), np.zeros(64, np.float32))
    merged = {order: pipeline.optimised(program, CPU, in_order=order).program.body for order in (False, True)}
    assert [sum(op.name == ops.ATOMIC for op in body.ops) for body in merged.values()] == [1, 2]


def test_a_row_and_a_column_of_one_number_are_that_number():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        return out.at[i // 8, i % 8].set(x[i % 8, i // 8] + x[i // 4, i % 4])

    square = NUMBERS.reshape(8, 8)
    assert text(kernel, "linearise_indices", square, square)[5:] == [
        "v6:i32 = i32(8)",
        "v7:i32[16] = v5 / v6",
        "v8:i32[16] = v5 % v6",
        "v9:i32[16] = load x[v8, v7]",
        "v10:i32 = i32(4)",
        "v11:i32[16] = v5 / v10",
        "v12:i32[16] = v5 % v10",
        "v13:i32[16] = load x[v11, v12]",
        "v14:i32[16] = v9 + v13",
        "store out.reshape(64)[v5] v14",
        "return out",
    ]


@xe.kernel
def accumulated(wg, x, out):
    """A memory that a loop accesses at one place, under a mask, and that a barrier orders with another one."""
    lid = wg.local_id()
    total, other = wg.local(64, jnp.int32), wg.local(16, jnp.int32)

    def add(k, both):
        total, other = both
        total = total.at[4 * lid].set(total[4 * lid] + x[k], where=x[lid] > k)
        return wg.barrier(total, other.at[lid ^ k].set(lid))

    total, other = lax.fori_loop(0, 8, add, (total, other))
    return out.at[lid].set(total[4 * lid] + other[lid])


def test_a_memory_that_a_loop_accesses_at_one_place_is_a_value_in_it():
    got = text(accumulated, "promote_memories")
    loop = next(k for k, row in enumerate(got) if row.startswith("loop"))
    assert got[loop - 2 : loop + 14] == [
        "v2 = constant i32[16]",
        "v3:i32[16] = load total[v2]",
        "loop 8 times, v4 from 0, v5 from v3:",
        "  v6:i32 = v4 + 1",
        "  v7:i32 = load x[v4]",
        "  v8:i32[16] = v5 + v7",
        "  v9:i32[16] = load x[v1]",
        "  v10:i32 = i32(v4)",
        "  v11:bool[16] = v9 > v10",
        "  v12:i32[16] = where v11 then v8 else v5",
        "  v13:i32[16] = v1 ^ v10",
        "  store other[v13] v1",
        "  group barrier (other)",
        "  v4 = v6",
        "  v5 = v12",
        "store total[v2] v5",
    ]

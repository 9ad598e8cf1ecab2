"""What the analysis tells of a value is true: its interval, its lane form, and if groups share it.

Random expressions over ids, a uniform scalar and constants are traced; every variable of the program is then computed
for each group and compared with what the analysis tells of it.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax

import xeemu as xe
from xeemu.devices.target import CPU
from xeemu.emission.emitted_chunks import EmittedChunk
from xeemu.emission.values import materialise
from xeemu.ir import control, evaluation, ops
from xeemu.ir.program import Constant
from xeemu.knowledge import dataflow, forms
from xeemu.knowledge.analysis import Facts
from xeemu.language import geometry, program

SIZES = [((6,), (3,)), ((4, 6), (2, 3)), ((2, 4, 4), (1, 2, 2)), ((4,), (4,))]
TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
BINARY = (
    "add",
    "sub",
    "mul",
    "max",
    "min",
    "and",
    "or",
    "xor",
    "div",
    "rem",
    "left",
    "right",
    "less",
    "equal",
    "where",
)
UNARY = ("neg", "abs", "not", "moved", "bool")


@dataclasses.dataclass(frozen=True)
class Node:
    """An expression: an operation of nodes, or a leaf with a number."""

    op: str
    children: tuple["Node", ...] = ()
    number: int = 0


def leaves() -> st.SearchStrategy[Node]:
    small = st.integers(-8, 8)
    return st.one_of(
        st.builds(
            Node, st.sampled_from(["local", "group", "global", "linear", "scalar", "narrow"]), st.just(()), small
        ),
        st.builds(Node, st.just("constant"), st.just(()), st.one_of(small, st.integers(-(2**70), 2**70))),
    )


def grown(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    return st.one_of(
        st.builds(lambda op, a, b: Node(op, (a, b)), st.sampled_from(BINARY), children, children),
        st.builds(lambda op, a: Node(op, (a,)), st.sampled_from(UNARY), children),
        st.builds(lambda a, n: Node("convert", (a,), n), children, st.integers(0, len(TYPES) - 1)),
    )


EXPRESSIONS = st.recursive(leaves(), grown, max_leaves=8)


def built(node: Node, wg: Any, n: Any, dtype: Any) -> jax.Array:
    """The expression in `dtype`, as a kernel writes it."""
    dtype = jnp.dtype(dtype)
    dimension = node.number % len(wg._geometry.local_range)
    leaf = {
        "local": lambda: wg.local_id(dimension),
        "group": lambda: wg.group_id(dimension),
        "global": lambda: wg.global_id(dimension),
        "linear": lambda: wg.group_linear_id() if node.number % 2 else wg.local_linear_id(),
        "scalar": lambda: n,
        "narrow": lambda: n & np.asarray(7).astype(n.dtype),
        "constant": lambda: np.array(node.number % 2**64, np.uint64).astype(dtype),
    }.get(node.op)
    if leaf is not None:
        return jnp.asarray(leaf()).astype(dtype)
    if node.op == "convert":
        return built(node.children[0], wg, n, TYPES[node.number]).astype(dtype)
    operands = [built(c, wg, n, dtype) for c in node.children]
    full = next((o.shape for o in operands if o.ndim), ())
    return operation(node.op, *[o if o.shape == full else lax.broadcast(o, full) for o in operands])


def operation(op: str, a: jax.Array, b: Any = None) -> jax.Array:
    """An operation as one operation or a few, with no call in between."""
    one, mask, zero = (np.full(a.shape, x).astype(a.dtype) for x in (1, 8 * a.dtype.itemsize - 1, 0))
    return {
        "add": lambda: lax.add(a, b),
        "sub": lambda: lax.sub(a, b),
        "mul": lambda: lax.mul(a, b),
        "max": lambda: lax.max(a, b),
        "min": lambda: lax.min(a, b),
        "and": lambda: lax.bitwise_and(a, b),
        "or": lambda: lax.bitwise_or(a, b),
        "xor": lambda: lax.bitwise_xor(a, b),
        "div": lambda: lax.div(a, lax.bitwise_or(b, one)),
        "rem": lambda: lax.rem(a, lax.bitwise_or(b, one)),
        "left": lambda: lax.shift_left(a, lax.bitwise_and(b, mask)),
        "right": lambda: lax.shift_right_arithmetic(a, lax.bitwise_and(b, mask)),
        "less": lambda: lax.convert_element_type(lax.lt(a, b), a.dtype),
        "equal": lambda: lax.convert_element_type(lax.eq(a, b), a.dtype),
        "where": lambda: lax.select(lax.gt(a, b), a, lax.add(b, a)),
        "neg": lambda: lax.neg(a),
        "abs": lambda: lax.max(a, lax.sub(zero, a)),
        "not": lambda: lax.bitwise_not(a),
        "moved": lambda: lax.rev(a, range(a.ndim)),
        "bool": lambda: lax.convert_element_type(lax.convert_element_type(a, jnp.bool_), a.dtype),
    }[op]()


def traced(function: Any, sizes: Any, scalar: np.generic) -> tuple[program.Program, Facts]:
    """The analysed program of a kernel that only computes; `out` makes it a wide one."""

    def kernel(wg, n, out):
        function(wg, n)
        return out

    cut = geometry.cut(xe.NDRange(*sizes), 8, None, 1, None)
    structs = [jax.ShapeDtypeStruct((), scalar.dtype), jax.ShapeDtypeStruct((1,), np.int64)]
    result = program.trace(xe.kernel(kernel), cut, structs, ())
    return result, dataflow.analyse(result)


def computed(body: Any, wanted: Any, scalar: np.generic, group: tuple[int, ...], linear: int) -> dict[Any, np.ndarray]:
    """Every variable of a straight program for one group, by JAX itself."""
    values: dict[Any, Any] = {body.inputs[0]: np.asarray(scalar)}
    for op in body.ops:
        p = op.attributes
        if op.name == ops.LOCAL_ID:
            results = [wanted.local_ids(p["dim"]).astype(p["dtype"])]
        elif op.name == ops.GROUP_ID:
            results = [np.asarray(linear if p["dim"] is None else group[p["dim"]], p["dtype"])]
        else:
            assert control.of(op) is None
            operands = [a.array if isinstance(a, Constant) else values[a] for a in op.operands]
            results = evaluation.results(op, list(map(jnp.asarray, operands)))
        values |= dict(zip(op.results, map(np.asarray, results), strict=True))
    return values


def check_program(traced_: program.Program, facts: Facts, scalar: np.generic) -> int:
    """Checks all that `facts` tells of a straight program; returns how many forms it found."""
    sizes = traced_.geometry
    groups = list(np.ndindex(sizes.group_range))
    rows = [computed(traced_.body, sizes, scalar, group, k) for k, group in enumerate(groups)]
    chunk = EmittedChunk(sizes, sizes.groups, target=CPU, deterministic=False, first=0)
    bases: dict[Any, Any] = {}
    found = 0
    for variable in rows[0]:
        if variable in traced_.body.inputs[1:]:
            continue
        known = facts.values[variable]
        stacked = np.stack([row[variable] for row in rows])
        if known.interval is not None and stacked.size:
            assert known.interval[0] <= int(stacked.min()), variable
            assert int(stacked.max()) <= known.interval[1], variable
        if not known.varying:
            assert (stacked == stacked[0]).all(), variable
        base = base_of(variable, traced_.body, facts, bases, rows[0])
        bases[variable] = base
        if known.form is not None:
            found += 1
            assert known.form.based == (base is not None), variable
            given = np.asarray(materialise(known.form, base, variable.dtype, known.varying, chunk))
            expected = stacked if known.varying else stacked[0]
            np.testing.assert_array_equal(given, expected, err_msg=str(variable))
    return found


def base_of(variable: Any, body: Any, facts: Facts, bases: dict[Any, Any], row: dict[Any, np.ndarray]) -> Any:
    """The base of a variable's form, as the interpreter finds it."""
    known = facts.values[variable]
    factors = facts.factors.get(variable)
    if known.form is None or not known.form.based:
        return None
    if factors is None:
        return jnp.asarray(row[variable])
    (op,) = [e for e in body.ops if variable in e.results]
    given = [(facts.value(a).form, None if isinstance(a, Constant) else bases[a]) for a in op.operands]
    return forms.base([forms.converted(form, base, variable.dtype) for form, base in given], factors)


@pytest.mark.thorough
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_what_is_told_of_random_expressions_is_true(sizes):
    found = []

    @settings(max_examples=30)
    @given(EXPRESSIONS, st.sampled_from(TYPES), st.sampled_from(["int32", "uint32", "int64", "int8"]), st.data())
    def holds(node, dtype, scalar_type, data):
        info = jnp.iinfo(scalar_type)
        number = data.draw(st.one_of(st.sampled_from([0, 1, 3, int(info.min), int(info.max)]), st.integers(0, 100)))
        scalar = np.dtype(scalar_type).type(number)
        with jax.numpy_dtype_promotion("strict"):
            result, facts = traced(lambda wg, n: built(node, wg, n, dtype), sizes, scalar)
        with jax.enable_x64(True):
            found.append(check_program(result, facts, scalar))

    holds()
    assert sum(found) > 50


# --- Single rules, by hand ---


def form_of(function: Any) -> tuple[Any, Any]:
    """The form and interval of what `function(wg, n)` computes last."""
    result, facts = traced(function, ((8, 6), (4, 3)), np.int32(5))
    known = facts.values[result.body.ops[-1].results[0]]
    return known.form, known.interval


def test_ids_have_forms():
    form, interval = form_of(lambda wg, n: wg.global_id(1) * 2 + 1)
    assert (form.based, form.steps) == (False, (0, 6))
    np.testing.assert_array_equal(form.pattern, 2 * np.indices((4, 3))[1] + 1)
    assert interval == (1, 11)
    form, interval = form_of(lambda wg, n: wg.group_linear_id() * 3)
    assert (form.based, form.steps, form.pattern.shape, interval) == (False, (6, 3), (), (0, 9))


def test_a_uniform_scalar_is_a_base():
    form, _ = form_of(lambda wg, n: (n & 15) * 3 + wg.local_id(0))
    assert (form.based, form.steps) == (True, (0, 0))
    np.testing.assert_array_equal(form.pattern, np.indices((4, 3))[0])


def test_a_product_with_0_has_no_base():
    form, interval = form_of(lambda wg, n: ((n & 15) + wg.local_id(0)) * 0)
    assert form.constant
    assert (form.pattern.any(), interval) == (False, (0, 0))


@pytest.mark.parametrize(
    "function",
    [
        lambda wg, n: n + wg.local_id(),
        lambda wg, n: n * 2,
        lambda wg, n: -n,
        lambda wg, n: (wg.local_id() + 1) << (n & 31),
        lambda wg, n: wg.global_id().astype(jnp.int8) * jnp.int8(100),
        lambda wg, n: wg.local_id().astype(jnp.uint8) - jnp.uint8(1) + n.astype(jnp.uint8),
        lambda wg, n: (wg.global_id() - 3).astype(jnp.uint32),
        lambda wg, n: jnp.bitwise_and(n, 255).astype(jnp.int8),
        lambda wg, n: wg.group_id() * n,
        lambda wg, n: wg.local_id() * wg.group_id(),
    ],
)
def test_what_may_overflow_or_is_not_linear_has_no_form(function):
    """A scalar that groups share may still be its own base: then it is not the sum of anything."""
    result, facts = traced(function, ((8, 6), (4, 3)), np.int32(5))
    op = result.body.ops[-1]
    form = facts.values[op.results[0]].form
    assert form is None or (form.based and op.results[0] not in facts.factors and op.results[0].shape == ())


@pytest.mark.parametrize("dtype", TYPES)
def test_constants_fold_as_the_dtype_wraps(dtype):
    """A constant has a form even where it wraps: it is computed, not added up."""

    def function(wg, n):
        value = wg.local_id(1).astype(dtype) * jnp.asarray(jnp.iinfo(dtype).max // 2 + 1, dtype)
        return value * jnp.asarray(3, dtype)

    result, facts = traced(function, ((8, 6), (4, 3)), np.int32(5))
    with jax.enable_x64(True):
        check_program(result, facts, np.int32(5))


def test_join_keeps_what_two_forms_share():
    pattern = np.arange(4)
    a = forms.Form(False, (2,), pattern + 7)
    b = forms.Form(False, (2,), pattern + 3)
    joined = forms.join(a, b)
    assert (joined.based, joined.steps) == (True, (2,))
    np.testing.assert_array_equal(joined.pattern, pattern)
    assert (forms.offset(a, joined), forms.offset(b, joined)) == (7, 3)
    assert forms.join(a, a) is a
    assert forms.join(a, forms.Form(False, (1,), pattern)) is None
    assert forms.join(a, forms.Form(False, (2,), 2 * pattern)) is None
    assert forms.join(a, None) is None
    assert forms.same(None, None)
    assert not forms.same(a, b)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint64", "int8", "bool"])
def test_values_that_begin_as_one_form_and_go_on_as_another(dtype):
    """Carries of a loop whose forms are joined: each iteration sees its own."""

    @xe.kernel
    def kernel(wg, x, out):
        lid = wg.local_id()

        def body(k, carry):
            index, flag, out = carry
            out = out.at[wg.global_id(), k].set(x.load(index.astype(jnp.int32), where=flag, other=-1))
            return start - start + jnp.asarray(3, start.dtype) + start, ~flag, out

        if dtype == "bool":
            start = (lid > 1).astype(jnp.uint8)
        else:
            start = lid.astype(dtype) + jnp.asarray(5, dtype) - jnp.asarray(1, dtype)
        return jax.lax.fori_loop(0, 3, body, (start, jnp.ones(4, bool), out))[2]

    x = np.arange(100, 120, dtype=np.int64)
    out = np.asarray(xe.launch(kernel, xe.NDRange(8, 4))(x, np.zeros((8, 3), np.int64)))
    lid = np.arange(8) % 4
    start = (lid > 1).astype(int) if dtype == "bool" else lid + 4
    np.testing.assert_array_equal(out, np.stack([x[start], np.full(8, -1), x[start + 3]], 1))


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "uint64", "int8", "int64"])
def test_falling_forms_in_every_dtype(dtype):
    """Negative steps and factors, which an unsigned type holds only modulo its range."""

    @xe.kernel
    def kernel(wg, x, n, out):
        n = (n & 3).astype(dtype)
        last = jnp.asarray(20, dtype)
        falling = last - wg.group_id().astype(dtype) * jnp.asarray(4, dtype) - wg.local_id().astype(dtype)
        i = wg.global_id()
        out = out.at[i, 0].set(x[falling])
        out = out.at[i, 1].set(x[falling - n])
        return out.at[i, 2].set(x[(last - n) - wg.local_id().astype(dtype)])

    x = np.arange(100, 130, dtype=np.int64)
    out = xe.launch(kernel, xe.NDRange(12, 4))(x, np.int32(2), np.zeros((12, 3), np.int64))
    item, lid = np.arange(12), np.arange(12) % 4
    np.testing.assert_array_equal(out, np.stack([x[20 - item], x[18 - item], x[18 - lid]], 1))


@pytest.mark.parametrize("n", [-3, -1, 0, 2])
def test_truth_of_a_form_is_whether_it_is_not_zero(n):
    @xe.kernel
    def kernel(wg, n, out):
        i = wg.global_id()
        out = out.at[i, 0].set((jnp.clip(n, -5, 5) + wg.local_id()).astype(bool))
        return out.at[i, 1].set((wg.group_id() - wg.local_id()).astype(bool))

    out = np.asarray(xe.launch(kernel, xe.NDRange(12, 4))(np.int32(n), np.zeros((12, 2), bool)))
    item = np.arange(12)
    np.testing.assert_array_equal(out, np.stack([n + item % 4 != 0, item // 4 != item % 4], 1))


def test_what_an_interval_leaves_one_value_for_is_known():
    @xe.kernel
    def kernel(wg, x, out):
        i = wg.global_id()
        odd = (x[i] & 7) < 8  # always
        small = ((x[i] & 7) // 8).astype(jnp.int32)  # 0
        return out.at[i + small].set(jnp.where(odd, x[i] % 5, -1))

    x = np.arange(-32, 32, dtype=np.int32)
    got = xe.launch(kernel, xe.NDRange(64, 16))(x, np.zeros(64, np.int32))
    np.testing.assert_array_equal(got, x % 5)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.uint8, np.uint32])
@pytest.mark.parametrize("divisor", [1, 3, 64, 100, 127])
def test_division_of_what_is_not_negative(dtype, divisor):
    @xe.kernel
    def kernel(wg, x, quotient, rest):
        i = wg.global_id()
        natural = x[i] & dtype(np.iinfo(dtype).max)
        d = dtype(divisor)
        return quotient.at[i].set(lax.div(natural, d) + natural // d), rest.at[i].set(lax.rem(natural, d) + natural % d)

    limits = np.iinfo(dtype)
    x = np.random.default_rng(0).integers(limits.min, limits.max, size=256, dtype=dtype, endpoint=True)
    x[:3] = limits.max, 0, limits.min
    zeros = np.zeros(256, dtype)
    quotient, rest = xe.launch(kernel, xe.NDRange(256, 16))(x, zeros, zeros)
    natural, d = x & dtype(limits.max), dtype(divisor)
    np.testing.assert_array_equal(quotient, natural // d + natural // d)
    np.testing.assert_array_equal(rest, natural % d + natural % d)

"""OpenCL C's built-in functions of integers and vectors, and its relations, against exact integers and NumPy."""

import itertools
import math

import jax
import numpy as np
import pytest
from calling import (
    FLOATS,
    INF,
    INTEGERS,
    NAN,
    both,
    drawn,
    integers,
    leaves,
    limited,
    random,
    traced,
    uniform_bits,
    unsigned,
    vector,
    wide,
    wrapped,
)

import xeemu as xe
from xeemu.frontends import composites, types, values
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.types import Vector
from xeemu.language.workgroup import NeedsWideTypes


def rotated(value, amount, of):
    width = 8 * of.size
    text = f"{unsigned(value, of):0{width}b}"
    return int(text[amount % width :] + text[: amount % width], 2)


def high(a, b, of):
    return (a * b) >> (8 * of.size)


def binary(value, of):
    return f"{unsigned(value, of):0{8 * of.size}b}"


# By name: how many operands, and the result from them and their type, wrapped to the result's type.
INTEGER = {
    "abs": (1, lambda a, of: abs(a)),
    "abs_diff": (2, lambda a, b, of: abs(a - b)),
    "add_sat": (2, lambda a, b, of: limited(a + b, of)),
    "bit_reverse": (1, lambda a, of: int(binary(a, of)[::-1], 2)),
    "clamp": (3, lambda a, b, c, of: min(max(a, b), c)),
    "clz": (1, lambda a, of: len(binary(a, of)) - len(binary(a, of).lstrip("0"))),
    "ctz": (1, lambda a, of: len(binary(a, of)) - len(binary(a, of).rstrip("0"))),
    "hadd": (2, lambda a, b, of: (a + b) // 2),
    "mad_hi": (3, lambda a, b, c, of: high(a, b, of) + c),
    "mad_sat": (3, lambda a, b, c, of: limited(a * b + c, of)),
    "max": (2, lambda a, b, of: max(a, b)),
    "min": (2, lambda a, b, of: min(a, b)),
    "mul_hi": (2, lambda a, b, of: high(a, b, of)),
    "popcount": (1, lambda a, of: binary(a, of).count("1")),
    "rhadd": (2, lambda a, b, of: (a + b + 1) // 2),
    "rotate": (2, rotated),
    "sub_sat": (2, lambda a, b, of: limited(a - b, of)),
    "bitselect": (3, lambda a, b, c, of: (a & ~c) | (b & c)),
}


@pytest.mark.parametrize("of", INTEGERS, ids=str)
@pytest.mark.parametrize("name", INTEGER)
def test_integer_functions(name, of):
    count, rule = INTEGER[name]
    result = types.unsigned(of) if name in ("abs", "abs_diff") else of
    arrays = integers(of, count, name)
    right = [wrapped(rule(*map(int, row), of), result) for row in zip(*arrays, strict=True)]
    found, constant = both(name, arrays, [of] * count, result)
    assert found.tolist() == right
    assert constant.tolist() == right[: len(constant)]


@pytest.mark.every(2)
@pytest.mark.parametrize("of", INTEGERS[4:], ids=str)
@pytest.mark.parametrize("name", INTEGER)
def test_integers_of_known_ranges(name, of):
    """What is held as int32 because its values fit: the same numbers, without 64-bit types."""
    count, rule = INTEGER[name]
    if name == "bit_reverse" and of.size == 8:
        pytest.skip("needs all bits")
    result = types.unsigned(of) if name in ("abs", "abs_diff") else of
    for span in ((5, 40), (0, 2**31 - 1), *(((-(2**31), 2**31 - 1), (-(2**15), 3)) if of.is_signed else ())):
        drawn = random(name, of.name, span).integers(*span, (64, count), endpoint=True)
        rows = np.concatenate([list(itertools.product(span, repeat=count)), drawn])
        arrays = list(rows.astype(of.dtype).T.copy())
        right = [wrapped(rule(*map(int, row), of), result) for row in rows]
        assert traced(name, arrays, [of] * count, result, [span] * count).tolist() == right, span


def test_ranges_are_kept_without_wide_types():
    """The functions that loops and masks are built of, of 64-bit indices, with 64-bit types off."""

    def computed(x):
        n = values.held(types.LONG, x, (0, 100))
        five = values.constant(5, types.LONG)
        found = {}
        for name, arguments in (("min", [n, five]), ("max", [n, five]), ("clamp", [n, five, five]), ("abs", [n])):
            found[name] = catalogue.find(name)(arguments, types.ULONG if name == "abs" else types.LONG)
        for name in ("clz", "popcount", "ctz"):
            found[name] = catalogue.find(name)([n], types.LONG)
        for name in ("add_sat", "sub_sat", "hadd", "rhadd", "mul_hi", "abs_diff"):
            found[name] = catalogue.find(name)([n, five], types.ULONG if name == "abs_diff" else types.LONG)
        ranges.update({name: n.interval for name, n in found.items()})
        assert all(n.data.dtype == np.int32 for n in found.values())
        return [n.data for n in found.values()]

    ranges = {}
    jax.jit(computed)(np.arange(10, dtype=np.int32))
    assert ranges == {
        "min": (0, 5), "max": (5, 100), "clamp": (5, 5), "abs": (0, 100), "clz": (57, 64), "popcount": (0, 64),
        "ctz": (0, 64), "add_sat": (5, 105), "sub_sat": (-5, 95), "hadd": (2, 52), "rhadd": (3, 53),
        "mul_hi": (0, 0), "abs_diff": (0, 95),
    }  # fmt: skip


@pytest.mark.parametrize("name", INTEGER)
def test_operands_that_are_comparisons(name):
    """What a comparison gave is held as bool."""
    count, rule = INTEGER[name]
    rows = np.array(list(itertools.product([False, True], repeat=count)))
    result = types.UINT if name in ("abs", "abs_diff") else types.INT

    def computed(*masks):
        return values.exact(catalogue.find(name)([values.of_truth(m) for m in masks], result))

    found = np.broadcast_to(jax.jit(computed)(*rows.T.copy()), len(rows))
    assert found.tolist() == [wrapped(rule(*map(int, row), types.INT), result) for row in rows]


@pytest.mark.parametrize(
    ("name", "arguments", "of"),
    [
        ("mul_hi", [types.LONG] * 2, types.LONG), ("rotate", [types.ULONG] * 2, types.ULONG),
        ("upsample", [types.INT, types.UINT], types.LONG), ("convert_double", [types.FLOAT], types.DOUBLE),
        ("convert_ulong_sat", [types.FLOAT], types.ULONG), ("as_long", [Vector(types.INT, 2)], types.LONG),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_results_of_64_bits_ask_for_wide_types(name, arguments, of):
    def given(kind, x):
        if isinstance(kind, Vector):
            return vector(kind.element, [x, x])
        if kind.is_float:
            return values.held(kind, x.astype(np.float32))
        return values.held(kind, x.astype(np.uint32) if kind == types.UINT else x)

    def computed(x):
        return catalogue.find(name)([given(kind, x) for kind in arguments], of).data

    with pytest.raises(NeedsWideTypes):
        jax.jit(computed)(np.arange(3, dtype=np.int32))


@pytest.mark.parametrize("of", [types.INT, types.UINT], ids=str)
def test_products_of_24_bits(of):
    low, high = (-(2**23), 2**23 - 1) if of.is_signed else (0, 2**24 - 1)
    a, b = random(of.name).integers(low, high, (2, 500), endpoint=True).astype(of.dtype)
    (c,) = integers(of, 1)[:1]
    c = np.resize(c, 500)
    rows = [list(map(int, row)) for row in zip(a, b, c, strict=True)]
    for name, arrays, right in (
        ("mul24", [a, b], [wrapped(x * y, of) for x, y, _ in rows]),
        ("mad24", [a, b, c], [wrapped(x * y + z, of) for x, y, z in rows]),
    ):
        found, constant = both(name, arrays, [of] * len(arrays), of)
        assert found.tolist() == right
        assert constant.tolist() == right[: len(constant)]


@pytest.mark.parametrize(("of", "result"), list(zip(INTEGERS[:6], INTEGERS[2:], strict=True)), ids=str)
def test_upsample(of, result):
    low = types.unsigned(of)
    a, b = integers(of, 1)[0], integers(low, 1, "low")[0]
    count = min(len(a), len(b))
    arrays = [a[:count], b[:count]]
    right = [wrapped((int(x) << 8 * of.size) | int(y), result) for x, y in zip(*arrays, strict=True)]
    found, constant = both("upsample", arrays, [of, low], result)
    assert found.tolist() == right
    assert constant.tolist() == right[: len(constant)]


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_bit_fields(of):
    width = 8 * of.size
    spans = np.array([(o, n) for o in range(width + 1) for n in range(width + 1 - o)], np.uint32)
    spans = spans[random(of.name).permutation(len(spans))[:300]]
    base, other = (np.resize(a, len(spans)) for a in integers(of, 2))
    offset, count = spans.T.copy()
    places = [types.UINT, types.UINT]
    for name, arrays, kinds, result in (
        ("bitfield_insert", [base, other, offset, count], [of, of, *places], of),
        ("bitfield_extract_signed", [base, offset, count], [of, *places], types.signed(of)),
        ("bitfield_extract_unsigned", [base, offset, count], [of, *places], types.unsigned(of)),
    ):
        right = []
        for *numbers, o, n in (map(int, row) for row in zip(*arrays, strict=True)):
            mask = (2**n - 1) << o
            if len(numbers) == 2:
                right.append(wrapped((numbers[0] & ~mask) | (numbers[1] << o & mask), result))
            else:
                field = (unsigned(numbers[0], of) & mask) >> o
                negative = result.is_signed and n and field >> (n - 1)
                right.append(field - 2**n if negative else field)
        found, constant = both(name, arrays, kinds, result, 100)
        assert found.tolist() == right, name
        assert constant.tolist() == right[: len(constant)], name


@pytest.mark.parametrize("signs", ["uu", "ss", "us", "su"])
@pytest.mark.parametrize("saturated", [False, True])
def test_packed_products(signs, saturated):
    a, b = random(signs).integers(0, 2**32, (2, 200), np.uint32)
    a[:2], b[:2] = (0x80808080, 0xFFFFFFFF), (0x80808080, 0xFFFFFFFF)
    result = types.UINT if signs == "uu" else types.INT
    total = np.full(200, np.iinfo(result.dtype).max - 1000, result.dtype)
    name = f"dot{'_acc_sat' if saturated else ''}_4x8packed_{signs}_{result}"
    parts = [
        x.view(f"{'u' if s == 'u' else 'i'}1").reshape(-1, 4).astype(int) for x, s in zip((a, b), signs, strict=True)
    ]
    right = (parts[0] * parts[1]).sum(1)
    arrays, kinds = [a, b], [types.UINT] * 2
    if saturated:
        arrays, kinds = [*arrays, total], [*kinds, result]
        right = [limited(int(x) + int(total[0]), result) for x in right]
    found, constant = both(name, arrays, kinds, result)
    assert found.tolist() == [wrapped(int(x), result) for x in right]
    assert constant.tolist() == found.tolist()


def test_integer_dot_products():
    columns = [[200, 255, 0, 3], [255, 1, 9, 255]]
    a, b = (vector(types.UCHAR, c) for c in columns)
    assert catalogue.find("dot")([a, b], types.UINT).python == 200 * 255 + 255 + 3 * 255
    c = values.constant(2**32 - 5, types.UINT)
    assert catalogue.find("dot_acc_sat")([a, b, c], types.UINT).python == 2**32 - 1


RELATIONS = {
    "isequal": (2, lambda x, y: x == y), "isnotequal": (2, lambda x, y: x != y), "isgreater": (2, lambda x, y: x > y),
    "isgreaterequal": (2, lambda x, y: x >= y), "isless": (2, lambda x, y: x < y),
    "islessequal": (2, lambda x, y: x <= y), "islessgreater": (2, lambda x, y: (x < y) | (x > y)),
    "isordered": (2, lambda x, y: ~(np.isnan(x) | np.isnan(y))),
    "isunordered": (2, lambda x, y: np.isnan(x) | np.isnan(y)),
    "isfinite": (1, np.isfinite), "isinf": (1, np.isinf), "isnan": (1, np.isnan), "signbit": (1, np.signbit),
    "isnormal": (1, lambda x: np.isfinite(x) & (x != 0)),
}  # fmt: skip


@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("name", RELATIONS)
def test_relations(name, of):
    """Of numbers 1, of vectors -1 as wide as the operands, where they hold."""
    count, function = RELATIONS[name]
    arrays = drawn(of, count, name)
    right = function(*arrays).astype(int)
    for results in both(name, arrays, [of] * count, types.INT):
        assert results.tolist() == right[: len(results)].tolist()
    mask = Vector(types.signed(of), 2)

    def computed(*data):
        vectors = [vector(of, [x, x]) for x in data]
        return [n.data for n in catalogue.find(name)(vectors, mask).items]

    with wide(of):
        for column in jax.jit(computed)(*arrays):
            assert np.asarray(column).astype(int).tolist() == (-right).tolist()


@pytest.mark.parametrize("of", INTEGERS, ids=str)
def test_any_all_and_select_look_at_the_highest_bit(of):
    top = int(np.iinfo(of.dtype).min) if of.is_signed else int(np.iinfo(of.dtype).max)
    rows = [[1, 2], [top, 1], [top, top], [0, top]]
    signed = types.signed(of)
    for row in rows:
        a, b = vector(of, [5, 6]), vector(of, [7, 8])
        chosen = catalogue.find("select")([a, b, vector(of, row)], Vector(of, 2))
        assert leaves(chosen) == [7 if row[0] == top else 5, 8 if row[1] == top else 6]
        if of.is_signed:
            assert catalogue.find("any")([vector(signed, row)], types.INT).python == (top in row)
            assert catalogue.find("all")([vector(signed, row)], types.INT).python == (row == [top, top])

    def computed(x, y):
        mask = vector(of, [x, y])
        chosen = catalogue.find("select")([vector(of, [5, 6]), vector(of, [7, 8]), mask], Vector(of, 2))
        tests = [catalogue.find(n)([mask], types.INT) for n in ("any", "all")] if of.is_signed else []
        return [values.exact(n) for n in (*chosen.items, *tests)]

    columns = np.array(rows, of.dtype).T.copy()
    with wide(of):
        found = [np.asarray(c).tolist() for c in jax.jit(computed)(*columns)]
    assert found[:2] == [[5, 7, 7, 5], [6, 6, 8, 8]]
    assert found[2:] == ([[0, 1, 1, 1], [0, 0, 1, 0]] if of.is_signed else [])


def test_select_of_numbers_asks_for_zero():
    a, b = values.constant(5, types.FLOAT), values.constant(7, types.FLOAT)
    assert [
        catalogue.find("select")([a, b, values.constant(c, types.INT)], types.FLOAT).python for c in (0, 1, -1)
    ] == [5, 7, 7]
    mask = np.array([0, 1, 2], np.int32)
    assert traced("select", [mask, mask + 10, mask], [types.INT] * 3, types.INT).tolist() == [0, 11, 12]


def test_masks_of_comparisons_are_any_and_all():
    x = np.array([1, 2, 3], np.float32)

    def computed(x):
        found = catalogue.find("isless")(
            [vector(types.FLOAT, [x, x]), vector(types.FLOAT, [2, 3])], Vector(types.INT, 2)
        )
        return [catalogue.find(n)([found], types.INT).data for n in ("any", "all")]

    assert [np.asarray(c).tolist() for c in jax.jit(computed)(x)] == [[True, True, False], [True, False, False]]


def test_bitselect_of_floats():
    x, y = uniform_bits(types.FLOAT, (2, 50), "bitselect")
    m = random("mask").integers(0, 2**32, 50, np.uint32)
    right = (x.view(np.uint32) & ~m) | (y.view(np.uint32) & m)
    found, constant = both("bitselect", [x, y, m.view(np.float32)], [types.FLOAT] * 3, types.FLOAT)
    assert found.view(np.uint32).tolist() == right.tolist()
    assert constant.view(np.uint32).tolist() == right.tolist()


@pytest.mark.parametrize(("count", "of"), [(2, types.UCHAR), (4, types.HALF), (8, types.FLOAT), (16, types.INT)])
def test_shuffles(count, of):
    for number, name in itertools.product((2, 8), ("shuffle", "shuffle2")):
        sources = [vector(of, range(count)), vector(of, range(100, 100 + count))][: 1 + (name == "shuffle2")]
        every = [v for s in sources for v in leaves(s)]
        masks = random(count, number).integers(0, 256, (number, 5), np.uint32)
        right = np.array(every)[masks % len(every)]

        def computed(*columns, sources=sources, name=name, number=number):
            mask = vector(types.UINT, columns)
            return [values.exact(n) for n in catalogue.find(name)([*sources, mask], Vector(of, number)).items]

        found = jax.jit(computed)(*masks)
        np.testing.assert_array_equal(np.stack(found), right)
        fixed = catalogue.find(name)([*sources, vector(types.UINT, masks[:, 0].tolist())], Vector(of, number))
        assert leaves(fixed) == right[:, 0].tolist()
    assert [catalogue.find("vec_step")([vector(of, range(n))], types.INT).python for n in (2, 3, 4)] == [2, 4, 4]


@pytest.mark.every(3)
@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_geometry(of, count):
    a, b = random(of.name, count).normal(size=(2, count, 200)).astype(of.dtype)
    x, y = a.astype(np.float64), b.astype(np.float64)

    def given(columns):
        return vector(of, columns) if count > 1 else values.held(of, columns[0])

    whole = Vector(of, count) if count > 1 else of
    length = np.sqrt((x**2).sum(0))
    cases = [
        ("dot", 2, of, (x * y).sum(0)), ("distance", 2, of, np.sqrt(((x - y) ** 2).sum(0))), ("length", 1, of, length),
        ("fast_distance", 2, of, np.sqrt(((x - y) ** 2).sum(0))), ("fast_length", 1, of, length),
        ("normalize", 1, whole, x / length), ("fast_normalize", 1, whole, x / length),
    ]  # fmt: skip
    if count >= 3:
        product = np.cross(x[:3].T, y[:3].T).T
        cases.append(("cross", 2, whole, np.concatenate([product, 0 * x[3:]])))
    for name, operands, result, right in cases:

        def computed(*columns, name=name, operands=operands, result=result):
            vectors = [given(columns[:count]), given(columns[count:])]
            return [values.exact(n) for n in composites.leaves(catalogue.find(name)(vectors[:operands], result))]

        with wide(of):
            found = np.stack(np.broadcast_arrays(*jax.jit(computed)(*a, *b))).reshape(right.shape)
            constant = computed(*a[:, 0], *b[:, 0])
        tolerance = 8 * float(np.finfo(of.dtype).eps)
        np.testing.assert_allclose(found.astype(float), right, rtol=tolerance, atol=tolerance * 4, err_msg=name)
        assert all(isinstance(c, np.generic) and c.dtype == of.dtype for c in constant)
        np.testing.assert_allclose(
            np.array(constant, float), right.reshape(-1, 200)[:, 0], rtol=tolerance, atol=tolerance * 4
        )


def test_lengths_of_extreme_vectors():
    """No overflow or underflow on the way; infinite components decide alone."""
    rows = np.array([[3e30, 4e30], [3e-30, 4e-30], [0, 0], [-INF, 1], [INF, -INF], [NAN, 1], [3e38, 0]], np.float32)

    def computed(*columns):
        v = vector(types.FLOAT, columns)
        unit = catalogue.find("normalize")([v], Vector(types.FLOAT, 2))
        return [catalogue.find("length")([v], types.FLOAT).data, *(n.data for n in unit.items)]

    found = np.stack(jax.jit(computed)(*rows.T.copy()), 1)
    constant = np.array([computed(*row) for row in rows])
    right = [
        [5e30, 0.6, 0.8],
        [5e-30, 0.6, 0.8],
        [0, 0, 0],
        [INF, -1, 0],
        [INF, 0.5**0.5, -(0.5**0.5)],
        [NAN] * 3,
        [3e38, 1, 0],
    ]
    np.testing.assert_allclose(found, np.array(right), rtol=1e-6)
    np.testing.assert_allclose(constant, np.array(right), rtol=1e-6)


@pytest.mark.parametrize("count", [2, 3, 4, 8, 16])
def test_vectors_are_computed_by_component_and_numbers_repeated(count):
    a = vector(types.FLOAT, [0.5 * k for k in range(count)])
    two = values.constant(2, types.FLOAT)
    of = Vector(types.FLOAT, count)
    assert leaves(catalogue.find("max")([a, two], of)) == [max(2, 0.5 * k) for k in range(count)]
    assert leaves(catalogue.find("step")([two, a], of)) == [float(0.5 * k >= 2) for k in range(count)]
    assert leaves(catalogue.find("ldexp")([a, values.constant(1, types.INT)], of)) == [float(k) for k in range(count)]
    assert leaves(catalogue.find(f"convert_int{count}_rtp")([a], Vector(types.INT, count))) == [
        -(-k // 2) for k in range(count)
    ]
    powers = catalogue.find_with_pointer("frexp")([a], of)
    assert powers[1].type == Vector(types.INT, count)
    assert leaves(powers[1]) == [math.frexp(0.5 * k)[1] for k in range(count)]


def test_names_that_are_not_built_in_are_none():
    for name in (
        "saxpy",
        "convert_float5",
        "convert_float_up",
        "as_bool",
        "vload4",
        "get_global_id",
        "native_acos",
        "half",
    ):
        assert catalogue.find(name) is None
    assert catalogue.find_with_pointer("sin") is None
    assert catalogue.find("fract") is None


def test_every_named_function_is_found():
    assert all(catalogue.find(name) is not None for name in catalogue.NAMES)
    native = ["cos", "divide", "exp", "exp2", "exp10", "log", "log2", "log10", "powr", "recip", "rsqrt", "sin", "sqrt"]
    for kind, name in itertools.product(("half", "native"), (*native, "tan")):
        assert catalogue.find(f"{kind}_{name}") is not None


def test_kernels_with_built_in_functions():
    """They are elementwise for the analyses and the checker too, and compiled like anything else."""

    @xe.kernel
    def kernel(wg, a, b, c, out):
        i = wg.global_id()
        x, y, z = (values.held(types.FLOAT, m[i]) for m in (a, b, c))
        n = values.held(types.INT, wg.local_id(), (0, 31))
        product = catalogue.find("fma")([x, y, z], types.FLOAT)
        power = catalogue.find("ldexp")([product, n], types.FLOAT)
        return out.at[i].set(catalogue.find("exp2")([catalogue.find("log2")([power], types.FLOAT)], types.FLOAT).data)

    a, b, c = random("kernel").uniform(1, 2, (3, 128)).astype(np.float32)
    result, findings = xe.check(kernel, xe.NDRange(128, 32))(a, b, c, np.zeros(128, np.float32))
    assert not findings
    np.testing.assert_allclose(result, (a * b + c) * 2.0 ** (np.arange(128) % 32), rtol=3e-6)

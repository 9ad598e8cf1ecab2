"""OpenCL C's conversions and reinterpretations against exact fractions and bytes."""

import fractions
import math

import jax
import numpy as np
import pytest
from calling import FLOATS, INF, INTEGERS, both, drawn, integers, random, vector, wide, wrapped, zeros_agree

from xeemu.frontends import composites, types, values
from xeemu.frontends.builtins import catalogue
from xeemu.frontends.types import Vector


def rounded(value, mode):
    """A fraction as an integer."""
    return {"rte": round, "rtz": math.trunc, "rtp": math.ceil, "rtn": math.floor}[mode](value)


def nearest_float(value, of, mode):
    """A fraction as a float in a mode, as a Python float."""
    info = np.finfo(of.dtype)
    if value == 0:
        return 0.0
    power = abs(value.numerator).bit_length() - value.denominator.bit_length()
    power -= abs(value) < fractions.Fraction(2) ** power
    unit = fractions.Fraction(2) ** (max(power, int(info.minexp)) - int(info.nmant))
    found = rounded(value / unit, mode) * unit
    if found == 0:
        return math.copysign(0, value)
    most = fractions.Fraction(float(info.max))
    if abs(found) <= most:
        return float(found)
    inward = mode == "rtz" or (mode == "rtp" and value < 0) or (mode == "rtn" and value > 0)
    return math.copysign(float(info.max) if inward else INF, 1 if value > 0 else -1)


@pytest.mark.every(4)
@pytest.mark.parametrize(
    ("source", "mode"),
    [*((s, m) for s in FLOATS for m in ("", "_rte", "_rtz", "_rtp", "_rtn")), *((s, "") for s in INTEGERS)],
    ids=str,
)
def test_conversions_to_integers(source, mode):
    for of in INTEGERS:
        for saturated in (False, True):
            low, high = (fractions.Fraction(int(b)) for b in (np.iinfo(of.dtype).min, np.iinfo(of.dtype).max))
            if source.is_float:
                x = np.concatenate(
                    [drawn(source, 1, of.name)[0][:300], random(of.name).normal(0, 300, 300).astype(source.dtype)]
                )
                halves = (np.arange(-40, 40) / 2).astype(source.dtype)
                with np.errstate(over="ignore"):
                    x = np.concatenate([x, halves, np.array([float(low), float(high)], source.dtype)])
                exact = [
                    rounded(fractions.Fraction(float(v)), mode[1:] or "rtz") if np.isfinite(v) else None for v in x
                ]
                keep = [saturated or (e is not None and low <= e <= high) for e in exact]
                x, exact = x[keep], [e for e, k in zip(exact, keep, strict=True) if k]
                exact = [
                    0 if e is None and np.isnan(v) else INF * v if e is None else e
                    for e, v in zip(exact, x, strict=True)
                ]
            else:
                x = integers(source, 1, of.name)[0]
                exact = x.tolist()
            right = [int(min(max(e, low), high)) if saturated else wrapped(e, of) for e in exact]
            name = f"convert_{of}{'_sat' if saturated else ''}{mode}"
            found, constant = both(name, [x], [source], of, 60)
            assert found.tolist() == right, name
            assert constant.tolist() == right[: len(constant)], name


@pytest.mark.every(4)
@pytest.mark.parametrize("of", FLOATS, ids=str)
@pytest.mark.parametrize("source", [*INTEGERS, *FLOATS], ids=str)
def test_conversions_to_floats(source, of):
    for mode in ("", "_rte", "_rtz", "_rtp", "_rtn"):
        if source.is_float:
            x = drawn(source, 1, of.name)[0][:600]
            small = random(source.name).normal(0, 1, 300).astype(source.dtype)
            x = np.concatenate([x, small, np.ldexp(small, -16), (small.astype(of.dtype)).astype(source.dtype)])
        else:
            x = integers(source, 1, of.name)[0]
        right = [
            float(v) if not np.isfinite(v) or v == 0 else nearest_float(fractions.Fraction(v), of, mode[1:] or "rte")
            for v in x.tolist()
        ]
        usual = np.array([of.size != 4 or v == 0 or not abs(v) < np.finfo(np.float32).smallest_normal for v in right])
        found, constant = both(f"convert_{of}{mode}", [x], [source], of, 100)
        for results in (found, constant):
            exact = np.array(right[: len(results)], of.dtype)
            np.testing.assert_array_equal(results[usual[: len(results)]], exact[usual[: len(results)]], err_msg=mode)
            assert zeros_agree(results, exact) or of.size == 4


def test_conversions_of_indices_need_no_wide_types():
    n = values.held(types.ULONG, jax.numpy.arange(4), (0, 3))
    assert catalogue.find("convert_float_rtz")([n], types.FLOAT).data.tolist() == [0, 1, 2, 3]
    assert catalogue.find("convert_uchar_sat")([n], types.UCHAR).interval == (0, 3)


@pytest.mark.parametrize(
    ("source", "count", "of"),
    [
        (types.FLOAT, 1, types.UINT), (types.UINT, 1, types.FLOAT), (types.UINT, 1, Vector(types.UCHAR, 4)),
        (types.CHAR, 4, types.INT), (types.USHORT, 8, Vector(types.FLOAT, 4)), (types.INT, 4, Vector(types.HALF, 8)),
        (types.DOUBLE, 1, Vector(types.INT, 2)), (types.UINT, 2, types.LONG), (types.HALF, 2, types.INT),
        (types.FLOAT, 4, Vector(types.INT, 3)), (types.FLOAT, 3, Vector(types.UINT, 4)),
        (types.LONG, 2, Vector(types.SHORT, 8)),
    ],
    ids=str,
)  # fmt: skip
def test_reinterpretation(source, count, of):
    element = of.element if isinstance(of, Vector) else of
    number = of.count if isinstance(of, Vector) else 1
    rows = random(str(of)).integers(0, 256, (50, count * source.size), np.uint8)
    padded = np.pad(rows, [(0, 0), (0, source.size if count == 3 else 0)])
    right = padded.view(element.dtype)[:, :number]
    columns = [c.copy() for c in rows.view(source.dtype).T]
    defined = 3 if count == 3 else number

    def given(columns):
        return vector(source, columns) if count > 1 else values.held(source, columns[0])

    def computed(*columns):
        return [values.exact(n) for n in composites.leaves(catalogue.find(f"as_{of}")([given(columns)], of))][:defined]

    with wide(source, element):
        found = [np.asarray(c) for c in jax.jit(computed)(*columns)]
        constant = [
            composites.leaves(catalogue.find(f"as_{of}")([given([c[k] for c in columns])], of)) for k in range(9)
        ]
    assert np.stack(found, 1).tobytes() == np.ascontiguousarray(right[:, :defined]).tobytes()
    got = np.array([[values.exact(n) for n in row[:defined]] for row in constant], element.dtype)
    assert got.tobytes() == np.ascontiguousarray(right[:9, :defined]).tobytes()

"""Numbers are printed as the C library prints them."""

import ctypes
import math

import numpy as np
import pytest

from xeemu.frontends import printed_numbers

INTEGERS = (0, 1, -1, 9, 255, -12345, 2**31 - 1, -(2**31))
FLOATS = (0.0, -0.0, 1.0, -1.5, 4.4999995, 0.1, 7.5, 1e20, 1e-7, math.inf, -math.inf, math.nan)


def by_c_library(x, kind, flags, width, precision):
    form = f"%{flags}{width or ''}{'' if precision is None else f'.{precision}'}{kind}"
    text = ctypes.create_string_buffer(512)
    ctypes.CDLL(None).snprintf(
        text, 512, form.encode(), ctypes.c_double(x) if isinstance(x, float) else ctypes.c_int(x)
    )
    return text.value.decode()


@pytest.mark.whole
@pytest.mark.parametrize("kind", "dioxXufFeEgGaA")
def test_numbers_are_printed_as_by_the_c_library(kind):
    random = np.random.default_rng(ord(kind))
    for x in FLOATS if kind in "fFeEgGaA" else INTEGERS:
        for _ in range(40):
            flags = "".join(flag for flag in "-+ #0" if random.integers(3) == 0)
            width, precision = int(random.choice([0, 1, 5, 12])), random.choice([None, 0, 1, 3, 8, 15])
            given = x % 2**32 if kind in "oxXu" else x
            found = printed_numbers.number(given, kind, flags, width, precision)
            assert found == by_c_library(x, kind, flags, width, precision), (x, kind, flags, width, precision)

"""Operations on floats against NumPy's, which rounds each for itself: XLA would take them for real numbers."""

import numpy as np
import pytest

import xeemu as xe

N = 512
FORMS = {
    "x / b": lambda x, y, b: x / b,
    "x / 3.7f": lambda x, y, b: x / np.float32(3.7),
    "x / b / y": lambda x, y, b: x / b / y,
    "x / (b / y)": lambda x, y, b: x / (b / y),
    "1.0f / sqrt(y)": lambda x, y, b: np.float32(1) / np.sqrt(y),
    "x * 1.7f * 3.3f": lambda x, y, b: x * np.float32(1.7) * np.float32(3.3),
    "(x * 1e-30f) * 1e-30f * 1e30f * 1e30f": lambda x, y, b: np.zeros_like(x),
    "(x + 12582912.0f) - 12582912.0f": lambda x, y, b: np.rint(x),
    "1.5f - (2.5f - x)": lambda x, y, b: np.float32(1.5) - (np.float32(2.5) - x),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("groups", [1, 8])
def test_rounded_for_itself(form: str, groups: int) -> None:
    text = f"""kernel void f(global const float *a, global const float *c, global float *o, float b)
    {{ size_t i = get_global_id(0); float x = a[i], y = c[i]; o[i] = {form}; }}"""
    random = np.random.default_rng(0)
    x, y = (random.uniform(1, 2000, N).astype(np.float32) for _ in range(2))
    b = np.float32(13.198657)
    kernel = xe.load(text)["f"]
    found = xe.launch(kernel, xe.NDRange((N,), (N // groups,)))(x, y, np.zeros(N, np.float32), b)
    with np.errstate(under="ignore"):
        np.testing.assert_array_equal(np.asarray(found), FORMS[form](x, y, b))

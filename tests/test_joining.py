"""Updates that follow each other are one scatter on a GPU, with the same result."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import run

import xeemu as xe
from xeemu import kernels
from xeemu.launching.arguments import Description
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

N = 256


def on_a_gpu(kernel, nd_range, arguments, static=None, deterministic=False):
    """A launch as it is emitted for a GPU, prepared to run on the CPU."""
    options = Options(None, deterministic, False, "gpu")
    bound = kernel.bind_static(static or {})
    return prepare(kernel, nd_range, xe.device("max1550"), tuple(map(Description.of, arguments)), bound, options)


def scatters(ready, arguments):
    with jax.enable_x64(ready.program.wide):
        return ready.compiled.lower(*arguments).as_text().count('"stablehlo.scatter"')


@xe.kernel
def updates(wg, x, out, *, ops=("add", "add", "add"), between="nothing"):
    i = wg.global_linear_id()
    for k, op in enumerate(ops):
        if between == "load" and k == 1:
            x = x.at[i].set(out[(i + 1) % N], where=i < 0)
        if between == "branch" and k == 1:
            out = lax.cond(x[0] > 0, lambda m: m.atomic[0].add(1), lambda m: m, out)
        out = getattr(out.atomic[(x[i] + k) % N], op)(x[i] + k, where=None if k % 2 else i % 3 > 0)
    return x, out


def reference(x, out, ops):
    i, out = np.arange(x.size), out.copy()
    for k, op in enumerate(ops):
        at = {"add": np.add, "sub": np.subtract, "min": np.minimum, "max": np.maximum}[op].at
        taken = np.full(x.size, True) if k % 2 else i % 3 > 0
        at(out, ((x + k) % N)[taken], (x + k)[taken])
    return out


@pytest.mark.parametrize(
    ("ops", "count"),
    [
        (("add", "add", "add"), 1),
        (("add", "sub", "add"), 1),
        (("max", "max"), 1),
        (("min", "min", "min", "min"), 1),
        (("add", "add", "max", "max", "sub"), 3),
        (("add",), 1),
    ],
)
def test_one_scatter_does_updates_by_one_operation(ops, count):
    x = np.random.default_rng(0).integers(0, 1000, size=N, dtype=np.int32)
    arguments, static = (x, np.zeros(N, np.int32)), {"ops": ops}
    ready = on_a_gpu(updates, xe.NDRange(N, 64), arguments, static)
    assert scatters(ready, arguments) == count
    np.testing.assert_equal(run(ready, arguments)[1], reference(*arguments, ops))


@pytest.mark.parametrize("between", ["load", "branch"])
def test_another_use_of_the_memory_in_between_parts_them(between):
    x = np.zeros(N, np.int32)
    arguments, static = (x, np.zeros(N, np.int32)), {"ops": ("add", "add"), "between": between}
    nd_range = xe.NDRange(N, 64)
    ready = on_a_gpu(updates, nd_range, arguments, static)
    assert scatters(ready, arguments) >= 2
    launched = xe.launch(updates, nd_range)(*arguments, **static)
    np.testing.assert_equal(run(ready, arguments), [np.asarray(a) for a in launched])


def test_sums_of_floats_in_order_are_not_joined():
    arguments = (np.arange(N), np.zeros(N, np.float32))

    @xe.kernel
    def sums(wg, x, out):
        i = wg.global_linear_id()
        return out.atomic[x[i] % 7].add(0.1).atomic[x[i] % 5].add(jnp.float32(1e6))

    nd_range = xe.NDRange(N, 64)
    ready = on_a_gpu(sums, nd_range, arguments, deterministic=True)
    expected = xe.launch(sums, nd_range, deterministic=True)(*arguments)
    np.testing.assert_array_equal(run(ready, arguments)[0], np.asarray(expected))


@pytest.mark.parametrize(("name", "bins"), [("histogram_slm", 256), ("histogram_slm_1024", 1024)])
def test_the_histogram_has_one_scatter_in_its_loop(name, bins):
    e = kernels.EXAMPLES[name]
    inputs = e.inputs((16384,))
    ready = on_a_gpu(e.kernel, e.nd_range((16384,)), inputs, e.static)
    np.testing.assert_array_equal(run(ready, inputs)[0], e.reference(*inputs))
    # One for all bytes of a word, one for the sums of a group; and those that clear the bins, 64 at a time.
    assert scatters(ready, inputs) == 2 + bins // 64

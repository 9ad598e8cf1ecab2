"""What the compiler is asked for, and launches with arrays while another computation is traced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.emission import compiling
from xeemu.launching.arguments import DEFAULT_DEVICE, ArgumentType, checked_device
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

RANGE, X = xe.NDRange(64, 16), np.arange(64, dtype=np.int32)


@xe.kernel
def doubled(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(2 * x[i])


@xe.kernel
def looked_up(wg, x, y):
    i = wg.global_id()
    return y.at[i].set(x[x[i]])


@xe.kernel
def looked_up_at_the_ends(wg, x, y):
    """Most groups take slices; the first and the last one look elements up."""
    i, group = wg.global_id(), wg.group_id()
    at_an_end = (group == 0) | (group == wg.group_range() - 1)
    found = lax.cond(at_an_end, lambda: x[63 - x[i]], lambda: x[i - 1])
    return y.at[i].set(found)


@xe.kernel
def counted(wg, x, y):
    return y.atomic[x[wg.global_id()] % 64].add(1)


def options_of(kernel, platform, nd_range=RANGE, x=X):
    options = Options(None, False, False, platform)
    given = ArgumentType.of(x), ArgumentType.of(np.zeros_like(x))
    device = checked_device(kernel, nd_range, DEFAULT_DEVICE)
    asked = prepare(kernel, nd_range, device, given, (), options).compiler_options
    return {name: value for name, value in asked.items() if name not in compiling.single({})}


def test_slices_are_loaded_by_wide_vectors_on_a_cpu():
    assert options_of(doubled, "cpu") == {"xla_cpu_prefer_vector_width": 512}
    assert options_of(doubled, "gpu") == {}


@pytest.mark.parametrize("kernel", [looked_up, counted])
def test_elements_that_are_looked_up_or_updated_are_not(kernel):
    assert options_of(kernel, "cpu") == {}


def test_what_only_groups_at_the_ends_do_does_not_count():
    x = np.arange(2**21, dtype=np.int32) % 64
    assert options_of(looked_up_at_the_ends, "cpu", xe.NDRange(2**21, 16), x) == options_of(doubled, "cpu")
    assert options_of(looked_up_at_the_ends, "cpu") == {}


def test_options_that_jax_does_not_know_are_left_out(monkeypatch):
    little, single = compiling.effort(little=True), compiling.supports_single_thread()
    monkeypatch.setattr(compiling, "LITTLE", {"xla_no_such_option": 1, **compiling.LITTLE, "xla_nor_such": 0})
    compiling._option_names.cache_clear()
    try:
        assert (compiling.effort(little=True), compiling.supports_single_thread()) == (little, single)
    finally:
        monkeypatch.undo()
        compiling._option_names.cache_clear()


@pytest.mark.thorough
@pytest.mark.parametrize("devices", [None, 1])
def test_a_launch_with_arrays_runs_while_something_else_is_traced(devices):
    launched = xe.launch(doubled, RANGE, mesh=jax.make_mesh((devices,), ("groups",)) if devices else None)

    def traced(z):
        return z + launched(X, np.zeros_like(X)).astype(z.dtype)

    z = jnp.arange(64.0)
    want = np.arange(64) + 2 * X
    np.testing.assert_array_equal(jax.jit(traced)(z), want)
    np.testing.assert_array_equal(jax.vmap(traced)(z[None])[0], want)
    np.testing.assert_array_equal(jax.grad(lambda z: traced(z).sum())(z), np.ones(64))
    np.testing.assert_array_equal(lax.map(traced, z[None])[0], want)


def test_what_is_only_traced_keeps_its_arguments():
    """A branch that is not taken is traced, and a jit once for each shape."""
    launched, x = xe.launch(doubled, RANGE, donate=True), jnp.asarray(X)
    given = jnp.zeros_like(x)
    assert (lax.cond(jnp.int32(0) > 1, lambda: launched(x, given), lambda: x) == X).all()
    added = jax.jit(lambda z: z + launched(x, given)[3])
    assert (added(np.int32(1)), *added(np.array([1, 2], np.int32))) == (7, 7, 8)
    assert not given.is_deleted()
    for _ in range(2):
        given = jnp.zeros_like(x)
        launched(x, given)
        assert given.is_deleted()


@pytest.mark.parametrize("kernel", [doubled, looked_up])
def test_whatever_sees_a_launch_runs_while_something_else_is_traced(kernel):
    want = xe.launch(kernel, RANGE)(X, X)
    reports = []

    def traced(z):
        reports.append(xe.profile(kernel, RANGE)(X, X)[1])
        outputs, findings = xe.check(kernel, RANGE)(X, X)
        assert not findings
        return z + outputs + xe.launch(kernel, RANGE, schedule=3)(X, X)

    np.testing.assert_array_equal(jax.jit(traced)(X), X + 2 * want)
    assert reports == [xe.profile(kernel, RANGE)(X, X)[1]]


def test_tracing_is_noticed():
    seen = []
    jax.jit(lambda x: seen.append(compiling.is_tracing()) or x)(1)
    jax.vmap(lambda x: seen.append(compiling.is_tracing()) or x)(X)
    with jax.core.eval_context():
        seen.append(compiling.is_tracing())
    assert [*seen, compiling.is_tracing()] == [True, True, False, False]


@pytest.mark.thorough
def test_a_launch_in_chunks_runs_without_jit():
    with jax.disable_jit():
        y = xe.launch(doubled, RANGE, memory_bytes=1)(X, np.zeros_like(X))
    np.testing.assert_array_equal(y, 2 * X)

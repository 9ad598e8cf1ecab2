"""Launches: their arguments, what they cache, chunks, jit, donation."""

import functools
import inspect
import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.errors import KernelArgumentError, MemoryAllocationError
from xeemu.kernels import EXAMPLES
from xeemu.launching import executables

RANGE = xe.NDRange(12, 4)


@xe.kernel
def scale(wg, x, y, *, factor=2, offset=(0,)):
    i = wg.global_id()
    return y.at[i].set(x[i] * np.int32(factor) + np.int32(offset[0]))


X = np.arange(12, dtype=np.int32)
Y = np.zeros(12, np.int32)


# --- Arguments ---


@pytest.mark.parametrize(
    "x", [X, jnp.asarray(X), X[::-1], np.arange(24, dtype=np.int32)[::2]], ids=["np", "jax", "rev", "step"]
)
def test_numpy_and_jax_arrays_of_any_layout(x):
    result = xe.launch(scale, RANGE)(x, Y, factor=3, offset=(1,))
    assert isinstance(result, jax.Array)
    np.testing.assert_array_equal(result, 3 * np.asarray(x) + 1)


@xe.kernel
def double(wg, x):
    return x.at[wg.global_id()].set(x[wg.global_id()] * 2)


@pytest.mark.parametrize("call", [xe.launch, xe.check, xe.profile, xe.inspect])
def test_what_was_donated_is_refused_when_it_is_given_again(call):
    taking = xe.launch(double, RANGE, donate=True)
    x = jnp.asarray(X)
    np.testing.assert_array_equal(taking(x), 2 * X)
    again = taking if call is xe.launch else call(double, RANGE)
    with pytest.raises(xe.KernelArgumentError, match=r"argument x of kernel double is deleted: .* with donate=True"):
        again(x)


def test_a_tuple_of_numbers_is_so_many_scalars():
    @xe.kernel
    def line(wg, p, y):
        return y.at[wg.global_id()].set(p[0] * wg.global_id().astype(jnp.float32) + p[1])

    y = np.zeros(12, np.float32)
    for p in ((2.0, 3.0), (np.float32(2), 3.0)):
        np.testing.assert_array_equal(xe.launch(line, RANGE)(p, y), 2 * np.arange(12) + 3)


def test_read_only_arrays_are_fine():
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(xe.launch(scale, RANGE)(x, x), 2 * X)


NOT_AN_ARRAY = (
    "argument {} of kernel scale is a {}; pass an array (np.asarray(...)) or a scalar; a static parameter is "
    "keyword-only in the kernel and goes by name"
)
OTHER_ORDER = "argument x of kernel scale has dtype"
NOT_NUMBERS = "argument y of kernel scale has dtype {}; it holds bool, integers or floats of 8 to 64 bits"
NO_STATIC = (
    "kernel scale has no static parameter {}; it has factor, offset (keyword-only parameters are static; arrays go by "
    "position)"
)
NO_HASH = (
    "the static parameter {} of kernel scale is a {}, which has no hash; static parameters are constants such as ints, "
    "strings and tuples; pass an array by position"
)


@pytest.mark.parametrize(
    ("arguments", "static", "message"),
    [
        ((X,), {}, "kernel scale takes 2 arguments (x, y), but got 1"),
        ((X, Y, Y), {}, "kernel scale takes 2 arguments (x, y), but got 3"),
        ((X,), {"y": Y}, "kernel scale takes y by position, not by keyword; its arguments are (x, y)"),
        (
            ([1, 2], Y),
            {},
            "argument x of kernel scale is a list of numbers; pass np.asarray(x) for an array of them, or tuple(x) for "
            "so many scalars",
        ),
        (
            (X.astype(">i4"), Y),
            {},
            f"{OTHER_ORDER} >i4, in another byte order than this machine's; pass .astype(np.int32)",
        ),
        (
            (X.astype(">f8"), Y),
            {},
            f"{OTHER_ORDER} >f8, in another byte order than this machine's; pass .astype(np.float64)",
        ),
        (
            (X, np.ma.masked_array(Y)),
            {},
            "argument y of kernel scale is a masked array; pass its elements, .filled(value), and its mask",
        ),
        ((None, Y), {}, NOT_AN_ARRAY.format("x", "NoneType")),
        ((X, "y"), {}, NOT_AN_ARRAY.format("y", "str")),
        ((X, 2**31), {}, "argument y of kernel scale is 2147483648, beyond 32 bits; pass np.int64(2147483648)"),
        (
            (X, -(2**31) - 1),
            {},
            "argument y of kernel scale is -2147483649, beyond 32 bits; pass np.int64(-2147483649)",
        ),
        ((X, X.astype(np.complex64)), {}, NOT_NUMBERS.format("complex64")),
        (
            (X, jax.random.key(0)),
            {},
            "argument y of kernel scale is a key of jax.random; pass its seed, and write jax.random.key(y) in the "
            "kernel",
        ),
        ((X, np.array(["a"])), {}, NOT_NUMBERS.format("<U1")),
        ((X, np.array([None])), {}, NOT_NUMBERS.format("object")),
        ((X, np.zeros(12, np.longdouble)), {}, NOT_NUMBERS.format("float128")),
        ((X, Y), {"facto": 1}, NO_STATIC.format("facto (did you mean 'factor'?)")),
        ((X, Y), {"b": 1, "a": 2}, NO_STATIC.format("a, b")),
        ((X, Y), {"factor": X}, NO_HASH.format("factor", "ndarray")),
        ((X, Y), {"offset": [0]}, NO_HASH.format("offset", "list")),
    ],
)
def test_wrong_arguments(arguments, static, message):
    with pytest.raises(xe.KernelArgumentError) as caught:
        xe.launch(scale, RANGE)(*arguments, **static)
    assert caught.value.code == "kernel_argument"
    assert str(caught.value).startswith(message)


def test_a_static_parameter_without_default_is_needed():
    @xe.kernel
    def kernel(wg, x, *, size, other=1):
        return x

    with pytest.raises(xe.KernelArgumentError, match=r"^kernel kernel needs the static parameter size by keyword$"):
        xe.launch(kernel, RANGE)(X)


@pytest.mark.parametrize(
    ("kernel", "nd_range", "message"),
    [
        (lambda wg: None, RANGE, "a launch takes a kernel, but got a function; decorate the function with @xe.kernel"),
        (scale, 12, "a launch takes an xe.NDRange, but got 12; write xe.NDRange(12)"),
        (scale, (12, 4), "a launch takes an xe.NDRange, but got (12, 4); write xe.NDRange(12, 4)"),
    ],
)
def test_what_a_launch_takes(kernel, nd_range, message):
    with pytest.raises(xe.KernelArgumentError) as caught:
        xe.launch(kernel, nd_range)
    assert str(caught.value) == message


def test_a_kernel_without_arrays_or_results():
    traced = []

    @xe.kernel
    def kernel(wg):
        traced.append(wg.size)
        wg.local(4, jnp.int32).at[0].set(1)

    assert xe.launch(kernel, RANGE)() is None
    assert traced == [4]


# --- Ranges of no work-items ---


@pytest.mark.parametrize(
    "nd_range", [xe.NDRange(0, 4), xe.NDRange(0), xe.NDRange((4, 0)), xe.NDRange((0, 4), (2, 2))], ids=str
)
def test_a_range_of_no_work_items_changes_nothing(nd_range):
    @xe.kernel
    def kernel(wg, x, y):
        return x.at[wg.global_linear_id()].set(7), y.atomic[wg.group_linear_id()].add(1)

    x, y = xe.launch(kernel, nd_range)(X, Y)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(y, Y)


# --- Chunks ---


@pytest.mark.every(2)
@pytest.mark.parametrize("groups", [1, 2, 7, 13])
@pytest.mark.parametrize("memory_bytes", [1, 4 * 64 * 3, 4 * 64 * 5, None])
def test_memory_bytes_bounds_the_groups_at_a_time(groups, memory_bytes):
    """Also where the last chunk is not full: each group's local memory counts 256 bytes."""

    @xe.kernel
    def kernel(wg, x, out, total):
        tile, lid = wg.local(64, jnp.int32), wg.local_id()
        for k in range(0, 64, 8):
            tile = tile.at[k + lid].set(x[wg.group_id() * 64 + k + lid])
        tile = wg.barrier(tile)
        value = tile[63 - lid]
        return out.at[wg.global_id()].set(value), total.atomic[value % 4].add(1)

    x = np.random.default_rng(0).integers(0, 99, groups * 64).astype(np.int32)
    launch = xe.launch(kernel, xe.NDRange(groups * 8, 8), memory_bytes=memory_bytes)
    out, total = launch(x, np.zeros(groups * 8, np.int32), np.zeros(4, np.int32))
    expected = x.reshape(groups, 64)[:, :-9:-1].reshape(-1)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(total, np.bincount(expected % 4, minlength=4))


@pytest.mark.parametrize("loop", ["while", "branch", "fori"])
def test_group_ids_in_control_flow_are_the_same_in_every_chunk(loop):
    """The number of the chunk must survive the loops inside it."""

    @xe.kernel
    def kernel(wg, out):
        group, i = wg.group_id(), wg.global_id()
        if loop == "while":
            body = lambda s: (s[0] + 1, s[1].atomic[wg.group_id()].add(1))  # noqa: E731
            return jax.lax.while_loop(lambda s: s[0] < group, body, (jnp.int32(0), out))[1]
        if loop == "fori":
            return jax.lax.fori_loop(0, group, lambda k, out: out.at[i].set(group * 100 + k), out)

        def body(k, out):
            return jax.lax.cond(k % 2 == group % 2, lambda o: o.at[i].set(k), lambda o: o, out)

        return jax.lax.fori_loop(0, 5 - group, body, out)

    launches = [xe.launch(kernel, xe.NDRange(20, 4), memory_bytes=bound)(np.zeros(20, np.int32)) for bound in (None, 1)]
    np.testing.assert_array_equal(*launches)
    group = np.arange(20) // 4
    expected = {
        "while": np.where(np.arange(20) < 5, 4 * np.arange(20), 0),
        "fori": np.where(group > 0, group * 101 - 1, 0),
        "branch": np.array([max((k for k in range(5 - g) if k % 2 == g % 2), default=0) for g in group]),
    }[loop]
    np.testing.assert_array_equal(launches[0], expected)


# --- Compilation ---


@pytest.fixture
def compilations(caplog):
    """The names of what JAX compiles."""
    jax.config.update("jax_log_compiles", True)
    yield lambda: [r.getMessage() for r in caplog.records if r.getMessage().startswith("Compiling")]
    jax.config.update("jax_log_compiles", False)


@pytest.mark.filterwarnings("ignore")
def test_a_second_launch_compiles_nothing(compilations, caplog):
    caplog.set_level(logging.WARNING)
    kernel = xe.kernel(lambda wg, x: x.at[wg.global_id()].set(x[wg.global_id()] + 41))
    x = X.copy()
    first = xe.launch(kernel, RANGE)(x)
    assert compilations()
    caplog.clear()
    second = xe.launch(kernel, xe.NDRange(12, 4))(x + 1)
    third = xe.launch(kernel, RANGE)(jax.device_put(x + 2))
    jax.block_until_ready((second, third))
    own = [name for name in compilations() if "emit" in name]
    assert own == []
    np.testing.assert_array_equal(first, X + 41)
    np.testing.assert_array_equal(second, X + 42)
    np.testing.assert_array_equal(third, X + 43)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", [np.asarray, jnp.asarray, lambda x: jax.device_put(x, jax.devices()[0])])
@pytest.mark.parametrize("scalar", [5, 1.5, np.int32(5)])
def test_a_first_launch_compiles_once(compilations, caplog, place, scalar):
    """Although what it takes of memory is asked of the compiler before."""
    caplog.set_level(logging.WARNING)
    kernel = xe.kernel(lambda wg, x, n: x.at[wg.global_id()].set(x[wg.global_id()] + n.astype(jnp.int32)))
    jax.block_until_ready(xe.launch(kernel, RANGE)(place(X), scalar))
    assert len([name for name in compilations() if "emit" in name]) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("how", ["group", "sub-group", "jax"])
def test_scans_are_compiled_once(compilations, caplog, how):
    """In chunks: what comes before each element is there at once, so that nothing is gained without a loop."""
    caplog.set_level(logging.WARNING)
    scan = {
        "group": lambda wg, x: wg.inclusive_scan(x, "add"),
        "sub-group": lambda wg, x: wg.sub_group.exclusive_scan(x, "max"),
        "jax": lambda wg, x: jnp.cumsum(x),
    }[how]
    kernel = xe.kernel(lambda wg, x: x.at[wg.global_id()].set(scan(wg, x[wg.global_id()])))
    jax.block_until_ready(xe.launch(kernel, xe.NDRange(1 << 20, 256))(np.ones(1 << 20, np.int32)))
    assert len([name for name in compilations() if "emit" in name]) == 1


def test_a_second_launch_does_not_inspect_the_kernel(monkeypatch):
    """That takes longer than the launch."""
    xe.launch(scale, RANGE)(X, Y)
    monkeypatch.setattr(inspect, "signature", lambda function: pytest.fail("was inspected"))
    np.testing.assert_array_equal(xe.launch(scale, RANGE)(X + 1, Y), 2 * X + 2)


def test_equal_launches_are_one_function():
    assert xe.launch(scale, RANGE) is xe.launch(scale, xe.NDRange((12,), 4), device="max1550")
    assert xe.launch(scale, RANGE) is not xe.launch(scale, RANGE, memory_bytes=1)
    assert xe.launch(scale, RANGE) is not xe.launch(scale, RANGE, donate=True)


def test_a_call_that_was_checked_is_not_prepared_again(monkeypatch):
    launched = xe.launch(scale, RANGE)
    for arguments in ((X, Y), (jnp.asarray(X), Y)):
        launched(*arguments, factor=3)
    monkeypatch.setattr("xeemu.launching.launch.prepare", lambda *_: pytest.fail("was prepared"))
    np.testing.assert_array_equal(launched(X + 1, Y, factor=3), 3 * X + 3)
    np.testing.assert_array_equal(launched(jnp.asarray(X + 2), Y, factor=3), 3 * X + 6)
    np.testing.assert_array_equal(xe.launch(scale, RANGE)(X + 3, Y, factor=3), 3 * X + 9)


def test_numbers_are_checked_each_time():
    @xe.kernel
    def kernel(wg, x, n):
        return x.at[wg.global_id()].set(wg.global_id() + n.astype(jnp.int32))

    launched = xe.launch(kernel, RANGE)
    for _ in range(2):
        for n in (5, 7, -(2**31), 1.75, True, np.int64(9), np.int8(-1), jnp.int32(3)):
            np.testing.assert_array_equal(launched(X, n), X + np.asarray(n).astype(np.int32))
        with pytest.raises(KernelArgumentError, match="beyond 32 bits"):
            launched(X, 2**31)


def test_what_the_environment_limits_is_checked_each_time(monkeypatch):
    @xe.kernel
    def kernel(wg, x):
        local = wg.local(512, jnp.int32)
        local = local.at[wg.local_id()].set(1)
        return x.at[wg.global_id()].set(local[wg.local_id()])

    launched = xe.launch(kernel, RANGE, device="cpu")
    np.testing.assert_array_equal(launched(X), np.ones(12))
    monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "1KB")
    with pytest.raises(MemoryAllocationError, match="2048"):
        launched(X)
    monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "1MB")
    np.testing.assert_array_equal(launched(X), np.ones(12))


def test_what_was_checked_under_limits_is_checked_again_without_them(monkeypatch):
    @xe.kernel
    def kernel(wg, x):
        local = wg.local(9216, jnp.int32)
        local = local.at[wg.local_id()].set(1)
        return x.at[wg.global_id()].set(local[wg.local_id()])

    monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "8MB")
    launched = xe.launch(kernel, RANGE, device="cpu")
    np.testing.assert_array_equal(launched(X), np.ones(12))
    np.testing.assert_array_equal(jax.jit(launched)(X), np.ones(12))
    monkeypatch.delenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE")
    for again in (launched, xe.launch(kernel, RANGE, device="cpu"), jax.jit(xe.launch(kernel, RANGE, device="cpu"))):
        with pytest.raises(MemoryAllocationError, match="36864"):
            again(X)


@pytest.mark.parametrize("jitted", [False, True])
def test_a_launch_made_again_sees_what_the_environment_limits_now(monkeypatch, jitted):
    @xe.kernel
    def kernel(wg, x):
        local = wg.local(512, jnp.int32)
        return x.at[wg.global_id()].set(local.at[wg.local_id()].set(1)[wg.local_id()])

    def made():
        launched = xe.launch(kernel, RANGE, device="cpu")
        return jax.jit(launched) if jitted else launched

    np.testing.assert_array_equal(made()(X), np.ones(12))
    monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "1KB")
    with pytest.raises(MemoryAllocationError, match="2048"):
        made()(X)
    monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "1 KB")
    with pytest.raises(KernelArgumentError, match="'1 KB'"):
        made()(X)


@pytest.mark.parametrize("argument", [np.float32, np.ndarray, jax.Array, None, "x"])
def test_what_is_no_array_is_refused(argument):
    @xe.kernel
    def kernel(wg, x, s):
        return x.at[wg.global_id()].set(x[wg.global_id()] + s)

    with pytest.raises(KernelArgumentError, match="argument s of kernel kernel"):
        xe.launch(kernel, RANGE)(X, argument)


def test_what_a_launch_remembers_is_dropped_with_what_was_compiled():
    @xe.kernel
    def kernel(wg, x):
        return x.at[wg.global_id()].set(1)

    launched = xe.launch(kernel, RANGE)
    np.testing.assert_array_equal(launched(X), np.ones(12))
    executables.executable.cache_clear()
    np.testing.assert_array_equal(launched(X), np.ones(12))


@pytest.mark.parametrize(
    "again",
    [
        lambda kernel: xe.launch(kernel, xe.NDRange(8, 4))(X, Y, factor=2),
        lambda kernel: xe.launch(kernel, RANGE, device="hd530")(X, Y, factor=2),
        lambda kernel: xe.launch(kernel, RANGE)(X, Y, factor=5),
        lambda kernel: xe.launch(kernel, RANGE)(X, np.zeros(13, np.int32), factor=2),
        lambda kernel: xe.launch(kernel, RANGE)(X, Y.astype(np.int64), factor=2),
    ],
    ids=["nd_range", "device", "static", "shape", "dtype"],
)
def test_another_launch_traces_anew(again):
    traces = []

    @xe.kernel
    def kernel(wg, x, y, *, factor):
        traces.append(factor)
        return y.at[wg.global_id()].set(x[wg.global_id()] * np.int32(factor))

    xe.launch(kernel, RANGE)(X, Y, factor=2)
    xe.launch(kernel, RANGE)(X, Y, factor=2)
    assert len(traces) == 1
    again(kernel)
    assert len(traces) == 2


def test_static_parameters_that_are_equal_but_not_the_same_type_are_kept_apart():
    seen = []

    @xe.kernel
    def kernel(wg, x, *, value):
        seen.append(value)
        return x.at[wg.global_id()].set(jnp.asarray(value).astype(jnp.int32) * (2 if isinstance(value, bool) else 3))

    launched = xe.launch(kernel, RANGE)
    for _ in range(2):
        for value in (1, True, 1.0, 0.0, -0.0):
            launched(X, value=value)
    assert [type(v) for v in seen] == [int, bool, float, float, float]


# --- Inside jit ---


def test_launches_are_part_of_a_larger_jit():
    @jax.jit
    def pipeline(x):
        first = xe.launch(scale, RANGE)(x, jnp.zeros_like(x))
        second = xe.launch(scale, RANGE, memory_bytes=1)(first + 1, jnp.zeros_like(x), factor=-1)
        return jnp.cumsum(second), first

    total, first = pipeline(X)
    np.testing.assert_array_equal(first, 2 * X)
    np.testing.assert_array_equal(total, np.cumsum(-(2 * X + 1)))


def test_a_launch_in_scan_and_vmap_of_a_users_jit():
    def step(x, _):
        return xe.launch(scale, RANGE)(x, x), x[0]

    last, _ = jax.jit(lambda x: jax.lax.scan(step, x, None, length=3))(X)
    np.testing.assert_array_equal(last, 8 * X)
    rows = jax.vmap(lambda x: xe.launch(scale, RANGE)(x, jnp.zeros_like(x)))(np.stack([X, X + 1]))
    np.testing.assert_array_equal(rows, 2 * np.stack([X, X + 1]))


def test_a_traced_scalar_goes_to_a_kernel():
    @xe.kernel
    def kernel(wg, n, out):
        return out.at[wg.global_id()].set(wg.global_id() + n)

    run = jax.jit(lambda n: xe.launch(kernel, RANGE)(n, jnp.zeros(12, jnp.int32)))
    np.testing.assert_array_equal(run(5), X + 5)


# --- Donation and determinism ---


def test_donation_consumes_the_arrays_that_come_back():
    x, y = jnp.asarray(X), jnp.asarray(Y)
    result = xe.launch(scale, RANGE, donate=True)(x, y)
    np.testing.assert_array_equal(result, 2 * X)
    np.testing.assert_array_equal(x, X)
    assert y.is_deleted()


@xe.kernel
def both(wg, x, y):
    i = wg.global_id()
    return x.at[i].set(x[i] + 1), y.at[i].set(y[i] + 2)


def test_the_memory_of_one_array_is_not_given_away_twice():
    x = jnp.asarray(X)
    for launch in [xe.launch(both, RANGE, donate=True)] * 2 + [xe.launch(scale, RANGE, donate=True)]:
        with pytest.raises(xe.KernelArgumentError, match="x and y are the same array, whose memory donate=True would"):
            launch(x, x)
    for given in (x, x + 0), (X, X):
        np.testing.assert_array_equal(xe.launch(both, RANGE, donate=True)(*given), (X + 1, X + 2))


@pytest.mark.parametrize("bound", [0, -1, True, 1.5, float("nan"), "1MB", [1], np.float32(4096)])
def test_a_bound_that_is_no_number_of_bytes(bound):
    with pytest.raises(xe.KernelArgumentError, match="give a positive whole number of bytes such as 1 << 20, or None"):
        xe.launch(scale, RANGE, memory_bytes=bound)


@pytest.mark.parametrize("name", ["donate", "deterministic"])
@pytest.mark.parametrize("flag", ["yes", 1, None, [True]])
def test_a_flag_that_is_none(name, flag):
    with pytest.raises(xe.KernelArgumentError, match=f"{name}=.*; give True or False"):
        xe.launch(scale, RANGE, **{name: flag})


def test_numbers_of_numpy_and_jax_are_numbers_of_bytes():
    for bound in np.int64(4096), jnp.int32(4096):
        assert xe.launch(scale, RANGE, memory_bytes=bound) is xe.launch(scale, RANGE, memory_bytes=4096)


@pytest.mark.parametrize(
    ("name", "size"),
    [("histogram_slm", (16384,)), ("matmul_tiled", (32, 24, 16)), ("tree_reduction", None), ("atomics_lab", None)],
)
def test_a_launch_under_vmap_is_launches_one_by_one(name, size):
    example = EXAMPLES[name]
    size = size or example.size
    launched = functools.partial(xe.launch(example.kernel, example.nd_range(size)), **example.static)
    first, *others = map(np.asarray, example.inputs(size))
    several = np.stack([first, np.roll(first, 1), first[::-1]])
    with jax.enable_x64(True):  # for words of 64 bits
        got = jax.jit(jax.vmap(lambda one: launched(one, *others)))(several)
    for n, one in enumerate(several):
        alone = jax.tree.leaves(launched(one, *others))
        jax.tree.map(np.testing.assert_array_equal, [a[n] for a in jax.tree.leaves(got)], alone)


def test_without_donation_the_arrays_stay():
    x, y = jnp.asarray(X), jnp.asarray(Y)
    xe.launch(scale, RANGE)(x, y)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(xe.launch(scale, RANGE, donate=True)(X, Y), 2 * X)
    np.testing.assert_array_equal(Y, np.zeros(12))


def test_deterministic_sums_do_not_depend_on_the_chunks():
    @xe.kernel
    def kernel(wg, x, total):
        return total.atomic[wg.global_id() % 3].add(x[wg.global_id()])

    x = np.random.default_rng(0).normal(size=96).astype(np.float32)
    launch = [xe.launch(kernel, xe.NDRange(96, 8), deterministic=True) for _ in range(2)]
    totals = [np.asarray(f(x, np.zeros(3, np.float32))) for f in launch]
    assert totals[0].tobytes() == totals[1].tobytes()
    np.testing.assert_allclose(totals[0], [x[k::3].sum() for k in range(3)], rtol=1e-5)


# --- Names of memories ---


# fmt: off
def several_on_a_line(wg, out):
    i = wg.local_id(); first = wg.local(4, jnp.int32)  # noqa: E702
    a, b = wg.local(4, jnp.int32), wg.local(4, jnp.int32)
    one = wg.local(4, jnp.int32); two = wg.local(4, jnp.int32)  # noqa: E702
    tile = (
        wg.local(4, jnp.int32)
        .at[i].set(1)
    )
    plain = wg.local(4, jnp.int32).at[i].set(1)
    (c, _), d = (wg.local(4, jnp.int32), wg.local_id()), wg.barrier(wg.local(
        4, jnp.int32))
    e, f = wg.local(4, jnp.int32, name="own"), wg.private(4, jnp.int32)
    unknown, *_ = (wg.local(4, jnp.int32) for _ in range(2))
    del first, a, b, one, two, tile, plain, c, d, e, f, unknown
    return out
# fmt: on


def test_a_memory_has_the_name_of_the_statement_that_makes_it():
    program = xe.trace(xe.kernel(several_on_a_line), RANGE)(Y)
    names = [memory.name for memory in program.allocations]
    assert names == ["first", "a", "b", "one", "two", "tile", "plain", "c", "d", "own", "f", "local", "local"]


def test_arrays_given_too_early_are_told():
    @xe.kernel
    def nothing(wg, x):
        return x

    with pytest.raises(xe.KernelArgumentError, match=r"the device is an array; the arrays of a launch go into a call"):
        xe.launch(nothing, xe.NDRange(64, 16), device=np.zeros(64))
    with pytest.raises(
        xe.KernelArgumentError, match=r"got an? ndarray too; .*; arrays go into a call of what xe\.launch"
    ):
        xe.launch(nothing, xe.NDRange(64, 16), np.zeros(64))
    with pytest.raises(xe.KernelArgumentError, match=r"but got an? ndarray; write xe.NDRange\(global_size"):
        xe.launch(nothing, np.zeros((64, 64)))

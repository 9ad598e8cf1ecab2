"""What xe.launch and its sisters give: a function with a repr, a signature, a trace and a lowering; and its errors."""

import inspect
import re
import traceback
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe

RANGE = xe.NDRange(16, 8)
X = np.arange(16, dtype=np.float32)
MAKERS = [xe.launch, xe.check, xe.profile, xe.estimate, xe.trace]


@xe.kernel
def scale(wg, x, *, factor=2):
    """Multiplies each element."""
    i = wg.global_id(0)
    return x.at[i].set(x[i] * factor)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_what_is_given_tells_what_it_is(make):
    staged = make(scale, RANGE, device="b580")
    assert repr(staged) == f"<xe.{make.__name__} of kernel scale over {RANGE}, device b580>"
    assert staged.__doc__ == f"xe.{make.__name__} of kernel scale.\n\nMultiplies each element."
    assert str(inspect.signature(staged)) == "(x, /, *, factor=2)"
    assert staged.kernel is scale
    assert staged.nd_range == RANGE
    assert str(staged.trace(X)) == str(xe.trace(scale, RANGE)(X))


def test_options_are_told():
    assert repr(xe.launch(scale, RANGE, donate=True, memory_bytes=4096)).endswith(", memory_bytes=4096, donate=True>")
    assert repr(xe.tune(scale, {"global_size": 16})).startswith("<xe.tune of kernel scale, device max1550, space=")


@pytest.mark.parametrize("make", [xe.launch, xe.check], ids=lambda make: make.__name__)
def test_a_launch_is_lowered_as_jax_lowers_functions(make):
    shape = jax.ShapeDtypeStruct(X.shape, X.dtype)
    lowered = make(scale, RANGE).lower(shape, factor=3)
    assert "tensor<16xf32>" in lowered.as_text()
    np.testing.assert_array_equal(lowered.compile()(X), 3 * X)


def test_wide_types_and_numbers_are_lowered_as_they_are():
    @xe.kernel
    def add(wg, x, n):
        i = wg.global_id(0)
        return x.at[i].set(x[i] + n)

    wide = X.astype(np.int64) << 40
    compiled = xe.launch(add, RANGE).lower(wide, 5).compile()
    with jax.enable_x64(True):
        np.testing.assert_array_equal(compiled(wide, 5), wide + 5)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_options_go_by_name_and_misspelt_ones_are_told(make):
    with pytest.raises(
        xe.KernelArgumentError, match=rf"^xe.{make.__name__} has no option 'devise' \(did you mean 'dev"
    ):
        make(scale, RANGE, devise="b580")
    with pytest.raises(TypeError, match=rf"^xe.{make.__name__} takes kernel and nd_range by position, but got a str"):
        make(scale, RANGE, "b580")


# --- Derivatives ---


def _sum(x):
    return xe.launch(scale, RANGE)(x).sum()


@pytest.mark.parametrize("function", [_sum, jax.jit(_sum)], ids=["plain", "jit"])
def test_a_launch_has_no_derivative(function):
    with pytest.raises(xe.KernelError, match=r"^a launch of kernel scale has no derivative, .* jax\.custom_vjp"):
        jax.grad(function)(X)


def test_what_is_constant_may_be_launched_within_a_derivative():
    found = jax.grad(lambda x: (x * xe.launch(scale, RANGE)(lax.stop_gradient(x))).sum())(X)
    np.testing.assert_array_equal(found, 2 * X)


def test_a_user_may_give_a_derivative():
    @jax.custom_vjp
    def doubled(x):
        return xe.launch(scale, RANGE)(x)

    doubled.defvjp(lambda x: (doubled(x), None), lambda _, g: (xe.launch(scale, RANGE)(g),))
    np.testing.assert_array_equal(jax.grad(lambda x: doubled(x).sum())(X), np.full(16, 2, np.float32))


# --- Tracebacks ---


def misspelt(wg, x):
    return x.at[wg.global_idx(0)].set(0.0)  # <- misspelt


def refused(wg, x):
    i = lax.while_loop(lambda i: i < 5, lambda i: i + 1, wg.global_id(0))  # <- refused
    return x.at[i].set(0.0)


def mistaken(wg, x):
    raise ValueError("no such filter")  # <- mistaken


@pytest.mark.parametrize("kernel", [misspelt, refused, mistaken], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_a_traceback_ends_at_the_users_line_with_nothing_of_others_between(make, kernel):
    with pytest.raises((xe.KernelError, ValueError)) as caught:
        make(xe.kernel(kernel), RANGE)(X)
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} == {__file__}
    assert frames[-1].line.endswith(f"# <- {kernel.__name__}") or frames[-2].line.endswith(f"# <- {kernel.__name__}")
    assert len("".join(traceback.format_exception(caught.value)).splitlines()) <= 14
    assert not getattr(caught.value, "__notes__", [])


def test_all_frames_are_kept_where_they_are_asked_for(monkeypatch):
    monkeypatch.setenv("XEEMU_TRACEBACK", "full")
    with pytest.raises(xe.KernelError) as caught:
        xe.launch(xe.kernel(refused), RANGE)(X)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 5
    assert isinstance(caught.value.__cause__, TypeError)


def test_an_error_while_another_is_handled_keeps_to_itself():
    try:
        raise OSError("of the user's own")
    except OSError:
        with pytest.raises(xe.KernelError) as caught:
            xe.launch(xe.kernel(misspelt), RANGE)(X)
    assert isinstance(caught.value.__context__, OSError)
    assert len(traceback.extract_tb(caught.value.__traceback__)) == 2


# --- Names of other languages ---

FOREIGN = {
    "get_global_id(0)": "wg.global_id(d)",
    "get_sub_group_id()": "wg.sub_group.group_id()",
    "__syncthreads()": "tile = wg.barrier(tile)",
    "sub_group_barrier()": "tile = wg.sub_group.barrier(tile)",
    "threadIdx.x": "wg.local_id(d)",
    "atomicAdd(x, 1)": "x = x.atomic[i].add(value), or old, x = x.atomic[i].fetch_add(value)",
    "atomic_cmpxchg(x, 0, 1)": "old, x = x.atomic[i].compare_exchange(expected, desired)",
    "atomic_fetch_or(x, 1)": "x = x.atomic[i].or_(value), or old, x = x.atomic[i].fetch_or(value)",
    "__shfl_down_sync(0, x, 1)": "wg.sub_group.shift_left(x, delta)",
    "intel_sub_group_block_read(x)": "wg.sub_group.load(memory, base)",
    "work_group_scan_inclusive_add(x)": "wg.inclusive_scan(x, 'add')",
    "sub_group_reduce_max(x)": "wg.sub_group.reduce(x, 'max')",
    "sub_group_clustered_reduce_max(x, 4)": "wg.sub_group.reduce(x, 'max', chunk=8)",
    "any_of_group(x)": "wg.any(x)",
    "atomic_xchg(x, 1)": "old, x = x.atomic[i].exchange(value)",
    "atomic_fetch_add_explicit(x, 1)": "x = x.atomic[i].add(value), or old, x = x.atomic[i].fetch_add(value)",
    "vload4(0, x)": "x[4 * i[:, None] + jnp.arange(4)]",
    "native_sqrt(x)": "jnp.sqrt(x)",
    "__popc(1)": "jax.lax.population_count(x)",
    "barrier(CLK_LOCAL_MEM_FENCE)": "tile = wg.barrier(tile)",
    "parallel_for(1)": "nothing: xe.launch(kernel, nd_range) launches it",
    "item.get_global_id(0)": "what its first parameter has, such as wg.global_id(d)",
}


@pytest.mark.parametrize("call", FOREIGN)
def test_a_function_of_another_language_is_answered_with_ours(call):
    def kernel(wg, x):
        eval(call)
        return x

    with pytest.raises(NameError) as caught:
        xe.launch(xe.kernel(kernel), RANGE)(X)
    assert isinstance(caught.value, xe.KernelError)
    name = re.match(r"\w+", call)[0]
    text = f"{name} is not defined; for that of SYCL, OpenCL or CUDA a kernel writes {FOREIGN[call]}\n  at "
    assert str(caught.value).startswith(text)


def test_a_name_that_no_language_has_is_pythons_affair():
    def kernel(wg, x):
        return x.at[indx].set(0.0)  # noqa: F821

    with pytest.raises(NameError, match=r"^name 'indx' is not defined$"):
        xe.launch(xe.kernel(kernel), RANGE)(X)


def test_a_name_that_xeemu_does_not_have_is_answered():
    with pytest.raises(
        AttributeError, match=r"^module 'xeemu' has no attribute 'NdRange' \(did you mean 'NDRange'\?\)"
    ):
        _ = xe.NdRange
    with pytest.raises(AttributeError, match=r"; a kernel writes x = x\.atomic\[i\]\.add\(value\), or"):
        _ = xe.atomic_add


# --- Shapes ---

LOCAL = jnp.zeros(8)
SHAPES = [
    (lambda: LOCAL + jnp.zeros((8, 3)), "x[:, None] of shape (8, 1) for x of shape (8,)"),
    (lambda: jnp.zeros((8, 3)) * jnp.zeros((3, 4)), "x[:, :, None] of shape (8, 3, 1) for x of shape (8, 3)"),
    (lambda: jnp.zeros((8, 3)) * jnp.zeros((2, 5)), "give operands whose axes of their own are equal, or 1"),
    (lambda: jnp.where(LOCAL > 0, jnp.zeros((8, 2)), 0), "x[:, None] of shape (8, 1) for x of shape (8,)"),
]


@pytest.mark.parametrize(("operation", "advice"), SHAPES)
def test_shapes_that_do_not_go_together_are_told_in_the_kernels_terms(operation, advice):
    def kernel(wg, x):
        operation()
        return x

    with pytest.raises(xe.KernelError, match=r"which do not go together; the first axis is the work-items") as caught:
        xe.launch(xe.kernel(kernel), RANGE)(X)
    assert advice in str(caught.value)


def test_a_private_index_without_the_groups_axis_is_told():
    def kernel(wg, x):
        own = wg.private(4, jnp.float32)
        return x.at[wg.global_id(0)].set(own[jnp.arange(4)].sum(1))

    with pytest.raises(xe.KernelError, match=r"the group's go in front: \[None, :\], of shape \(1, 4\)"):
        xe.launch(xe.kernel(kernel), RANGE)(X)


# --- Results as shapes, and pytrees ---

SHAPE = jax.ShapeDtypeStruct((16,), np.float32)


@xe.kernel
def doubled(wg, x, out, *, first=0):
    i = wg.global_id(0)
    return out.at[i].set(2 * x[i], where=i >= first)


@xe.kernel
def added(wg, x, out):
    i = wg.global_id(0)
    return out.at[i].set(out[i] + x[i])


@pytest.mark.parametrize("options", [{}, {"schedule": 1}, {"donate": True}])
def test_a_result_may_be_given_as_a_shape(options):
    for _ in range(2):
        np.testing.assert_array_equal(xe.launch(doubled, RANGE, **options)(X, SHAPE), 2 * X)
    part = np.asarray(xe.launch(doubled, RANGE, **options)(X, SHAPE, first=5))
    np.testing.assert_array_equal(part[5:], 2 * X[5:])
    assert np.isnan(part[:5]).all()


def test_a_shape_within_a_jit_is_a_part_of_it():
    np.testing.assert_array_equal(jax.jit(lambda x: xe.launch(doubled, RANGE)(x, SHAPE))(X), 2 * X)


@pytest.mark.thorough
def test_a_read_of_what_was_given_as_a_shape_is_found():
    assert not xe.check(doubled, RANGE)(X, SHAPE)[1]
    (found,) = xe.check(added, RANGE)(X, SHAPE)[1]
    assert (found.kind, found.memory) == ("uninitialized-read", "out")
    assert not xe.check(added, RANGE)(X, X)[1]
    np.testing.assert_array_equal(xe.profile(doubled, RANGE)(X, SHAPE)[0], 2 * X)


def test_a_shape_of_what_is_read_alone_is_refused():
    for make in (xe.launch, xe.check, xe.profile):
        with pytest.raises(
            xe.KernelArgumentError, match=r"argument x of kernel doubled is a jax.ShapeDtypeStruct, but "
        ):
            make(doubled, RANGE)(SHAPE, X)
    with pytest.raises(xe.KernelArgumentError, match=r"argument out of kernel doubled is the shape of a scalar; give"):
        xe.launch(doubled, RANGE)(X, jax.ShapeDtypeStruct((), np.float32))


SOURCE = "kernel void twice(global const float* x, global float* out) { int i = get_global_id(0); out[i] OP 2 * x[i]; }"


def test_results_of_opencl_may_be_given_as_shapes(tmp_path):
    pytest.importorskip("clang")
    file = tmp_path / "twice.cl"
    file.write_text(SOURCE)
    plain, adding = (xe.load(str(file), f"-DOP={op}")["twice"] for op in ("=", "+="))
    np.testing.assert_array_equal(xe.launch(plain, RANGE)(X, SHAPE), 2 * X)
    assert not xe.check(plain, RANGE)(X, SHAPE)[1]
    assert [f.kind for f in xe.check(adding, RANGE)(X, SHAPE)[1]] == ["uninitialized-read"]
    with pytest.raises(xe.KernelArgumentError, match=r"argument x of kernel twice is a jax.ShapeDtypeStruct"):
        xe.launch(plain, RANGE)(SHAPE, X)


@xe.kernel
def moved(wg, state, step):
    i = wg.global_id(0)
    x = state["x"]
    return {"x": x.at[i].set(x[i] + step * state["v"][i]), "v": state["v"]}


STATE = {"x": X, "v": X + 1}


def test_arguments_may_be_pytrees():
    expected = X + 2 * (X + 1)
    for _ in range(2):
        found = xe.launch(moved, RANGE)(STATE, 2.0)
        np.testing.assert_array_equal(found["x"], expected)
    assert xe.trace(moved, RANGE)(STATE, 2.0).kernel.parameters == ("state['v']", "state['x']", "step")
    np.testing.assert_array_equal(jax.jit(xe.launch(moved, RANGE))(STATE, 2.0)["x"], expected)
    np.testing.assert_array_equal(xe.launch(moved, RANGE).lower(STATE, 2.0).compile()(STATE, 2.0)["v"], X + 1)
    outputs, findings = xe.check(moved, RANGE)(STATE, 2.0)
    np.testing.assert_array_equal(outputs["x"], expected)
    assert not findings
    assert xe.estimate(moved, RANGE)(STATE, 2.0).time_s == xe.profile(moved, RANGE)(STATE, 2.0)[1].time_s
    (row,) = xe.tune(moved, {"global_size": 16, "local_size": 8})(STATE, 2.0)
    assert row.time_s


def test_what_is_wrong_in_a_pytree_is_told_by_its_place():
    with pytest.raises(xe.KernelArgumentError, match=r"argument state\['v'\] of kernel moved is a str"):
        xe.launch(moved, RANGE)({"x": X, "v": "fast"}, 2.0)
    with pytest.raises(
        xe.KernelArgumentError, match=r"argument x of kernel scale is a list of numbers; pass np\.asarray\(x\)"
    ):
        xe.launch(scale, RANGE)([1.0] * 16)


# --- Warnings ---


def rolled(wg, x):
    i = wg.global_id(0)
    return x.at[i].set(jnp.roll(x[i], 1))


def unordered(wg, x):
    tile = wg.local(8, jnp.float32)
    tile = tile.at[wg.local_id(0)].set(x[wg.global_id(0)])
    wg.barrier()
    return x.at[wg.global_id(0)].set(tile[7 - wg.local_id(0)])


def from_the_end(wg, x):
    return x.at[wg.global_id(0)].set(x[-1])


def counted_from_the_end(wg, x):
    return x.atomic[-1].add(x[wg.global_id(0)])


CAUTIONS = [
    (counted_from_the_end, r"0 to 15 are valid: such an atomic operation does nothing\. A negative index "),
    (from_the_end, r"^kernel from_the_end has the index -1 of x in dimension 0, where 0 to 15 are valid: such a load "),
    (rolled, r"^kernel rolled mixes work-items by \w+, which runs here but has no counterpart on hardware, "),
    (unordered, r"^kernel unordered has a barrier of no memories, .* what it gives: tile = wg\.barrier\(tile\)\n  at "),
]


@pytest.mark.parametrize(("function", "message"), CAUTIONS)
def test_what_no_hardware_does_is_told_once_at_a_launch(function, message):
    kernel = xe.kernel(function)
    with pytest.warns(xe.KernelWarning, match=message) as caught:
        xe.launch(kernel, RANGE)(X)
    assert {warning.filename for warning in caught} == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        xe.launch(kernel, RANGE)(X)
        xe.launch(kernel, xe.NDRange(8, 8))(X)
        xe.launch(scale, RANGE)(X)


def test_arrays_of_structs_are_refused_by_lower_in_words():
    pytest.importorskip("clang")
    text = "struct P { float x; int n; }; kernel void f(global struct P *p) { p[get_global_id(0)].x = 1; }"
    points = np.zeros(64, dtype=[("x", "f4"), ("n", "i4")])
    launch = xe.launch(xe.load(text)["f"], xe.NDRange(64, 16))
    with pytest.raises(xe.KernelArgumentError, match="argument 0 of f is an array of structs, of which JAX has none"):
        launch.lower(points)

"""Kernels of OpenCL C as they stand: found by name, given C's arguments, and launched by every transformation."""

import collections.abc
import dataclasses
import gc
import re
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu import testing
from xeemu.launching import executables, launch, preparation

TEXT = """
typedef struct { float scale; short2 shift; uint2 mask; } setting;
typedef struct { float x; int n; } pair;

/* Scales what
 * is in front of n. */
kernel void scale(global const float* in, global float* out, float factor, uint n)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = in[i] * factor;
}

// Turns the elements of each work-group around.
__attribute__((reqd_work_group_size(16, 1, 1)))
__attribute__((intel_reqd_sub_group_size(16)))
kernel void turn(global int* data, local int* tile)
{
    int l = get_local_id(0);
    tile[l] = data[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    data[get_global_id(0)] = tile[15 - l];
}

kernel void two(global uint* a, global const uint* b, global float4* c, float4 add)
{
    int i = get_global_id(0);
    a[i] = b[i] + 1;
    c[i] = c[i] + add;
}

kernel void configured(global float* out, setting s)
{
    out[get_global_id(0)] = s.scale + s.shift.y + s.mask.y;
}

kernel void pairs(global pair* p) { p[get_global_id(0)].n += (int)p[get_global_id(0)].x; }

kernel void bytes(global uint* words, global uchar* sums)
{
    global uchar* b = (global uchar*)words;
    int i = get_global_id(0);
    sums[i] = b[4 * i] + b[4 * i + 3];
}

kernel void sized(global int* out) { out[get_global_id(0)] = N; }

kernel void transposed(global const int* in, global int* out)
{
    out[get_global_id(0) * get_global_size(1) + get_global_id(1)] =
        in[get_global_id(1) * get_global_size(0) + get_global_id(0)];
}
"""
N = xe.NDRange(64, 16)
X, Y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)


@pytest.fixture(scope="module")
def kernels():
    return xe.load(TEXT, options="-DN=7")


class TestKernels:
    def test_are_a_mapping_in_the_order_of_the_file(self, kernels):
        assert isinstance(kernels, collections.abc.Mapping)
        assert list(kernels)[:3] == ["scale", "turn", "two"]
        assert len(kernels) == 8
        assert kernels["turn"] is kernels["turn"]

    def test_tell_what_each_takes_and_requires(self, kernels):
        head, scale, turn, sizes = repr(kernels).splitlines()[:4]
        assert head.endswith(": 8 kernels")
        assert "kernel void scale(global const float* in, global float* out, float factor, uint n), line 7" in scale
        assert "local int* tile" in turn
        assert "work-group size 16x1x1 (OpenCL's order), sub-group size 16" in sizes

    def test_a_kernel_tells_the_same_of_itself(self, kernels):
        turn = kernels["turn"]
        assert (turn.name, turn.parameters) == ("turn", ("data", "tile"))
        assert (turn.work_group_size, turn.sub_group_size) == ((16,), 16)
        assert turn.summary == "Turns the elements of each work-group around."
        assert kernels["scale"].summary == "Scales what"
        assert repr(turn).startswith("<kernel void turn(global int* data, local int* tile), sub_group_size=16")

    def test_an_unknown_name_is_a_key_error_that_helps(self, kernels):
        with pytest.raises(KeyError, match=r"has no kernel 'scal' \(did you mean 'scale'\?\); its kernels are scale, "):
            kernels["scal"]
        with pytest.raises(xe.Error):
            kernels["scal"]
        assert "scal" not in kernels

    def test_of_a_file_have_its_path(self, tmp_path):
        path = tmp_path / "k.cl"
        path.write_text(TEXT)
        loaded = xe.load(path, options=["-DN=7"], std="CL1.2")
        assert loaded.file == str(path)
        assert f"{path}:7" in repr(loaded["scale"])

    def test_options_are_the_compilers(self, kernels):
        assert xe.launch(kernels["sized"], N)(np.zeros(64, np.int32))[5] == 7

    def test_a_wrong_text_is_refused_with_its_place(self):
        with pytest.raises(xe.KernelError, match=r":2:10: error: use of undeclared identifier 'y'\n"):
            xe.load("kernel void f(global int* a) {\n  a[0] = y; }")

    def test_without_libclang_a_message_says_what_to_install(self, monkeypatch):
        from xeemu.frontends.parsing import clang

        clang.bindings.cache_clear()
        monkeypatch.setitem(__import__("sys").modules, "clang.cindex", None)
        with pytest.raises(xe.Error, match=r"pip install libclang"):
            xe.load("kernel void f(global int* a) { a[0] = 1; }")
        clang.bindings.cache_clear()

    def test_cannot_be_called_by_a_kernel(self, kernels):
        @xe.kernel
        def outer(wg, x):
            return kernels["sized"](wg, x)

        with pytest.raises(xe.Error, match=r"sized is written in OpenCL C; it can be launched"):
            xe.launch(outer, N)(np.zeros(64, np.int32))


class TestArrays:
    def test_come_back_in_their_shape_and_dtype(self, kernels):
        x, y = X.reshape(8, 8), Y.reshape(4, 16)
        out = xe.launch(kernels["scale"], N)(x, y, 2, 60)
        assert isinstance(out, jax.Array)
        assert (out.shape, out.dtype) == ((4, 16), np.float32)
        expected = np.where(X < 60, 2 * X, 0).reshape(4, 16)
        np.testing.assert_array_equal(out, expected)

    def test_of_several_come_back_in_the_order_of_the_parameters(self, kernels):
        a, b = np.zeros(64, np.int32), np.full((2, 32), -1, np.int32)
        c = np.arange(256, dtype=np.float32).reshape(64, 4)
        got_a, got_c = xe.launch(kernels["two"], N)(a, b, c, (1, 2, 3, 4.5))
        assert got_a.dtype == np.int32  # as it was given, though the kernel has uint
        np.testing.assert_array_equal(got_a, np.zeros(64, np.int32))
        np.testing.assert_array_equal(got_c, c + np.float32([1, 2, 3, 4.5]))

    def test_of_records_are_looked_at_as_their_bytes(self, kernels):
        p = np.zeros(64, [("x", np.float32), ("n", np.int32)])
        p["x"], p["n"] = 2.5, np.arange(64)
        out = xe.launch(kernels["pairs"], N)(p)
        assert out.dtype == p.dtype
        np.testing.assert_array_equal(out["n"], np.arange(64) + 2)
        np.testing.assert_array_equal(out["x"], p["x"])

    def test_that_are_accessed_in_pieces_are_traced_again(self, kernels):
        words = np.arange(64, dtype=np.uint32) * 0x01000001
        out = xe.launch(kernels["bytes"], N)(words, np.zeros(64, np.uint8))
        np.testing.assert_array_equal(out, (2 * np.arange(64)).astype(np.uint8))

    def test_stay_on_their_device_within_a_jit(self, kernels):
        @jax.jit
        def doubled(x, factor):
            return xe.launch(kernels["scale"], N)(x.reshape(16, 4), jnp.zeros(64), factor, 64) + 1

        np.testing.assert_array_equal(doubled(X, 3.0), 3 * X + 1)

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (
                Y.astype(np.float64),
                r"`global float\* out` .* elements of float32, but got an array of float64; pass out.as",
            ),
            (Y.view(np.int32), r"array of int32; pass out.view\(np.float32\) if its bits are meant"),
            (1.5, r"takes an array, but got the number 1.5; pass np.asarray"),
            ([1.0, 2.0], r"takes an array, but got a list"),
            (xe.Local(64), r"takes an array, but got a Local"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, kernels, given, message):
        with pytest.raises(xe.KernelArgumentError, match=message):
            xe.launch(kernels["scale"], N)(X, given, 2.0, 64)

    def test_of_three_components_have_the_room_of_four(self):
        kernel = xe.load("kernel void f(global float3* a) { a[get_global_id(0)] *= 2; }")["f"]
        with pytest.raises(xe.KernelArgumentError, match=r"a float3 takes the room of 4 floats.*np.pad"):
            xe.launch(kernel, N)(np.ones((64, 3), np.float32))
        out = xe.launch(kernel, N)(np.ones((64, 4), np.float32))
        np.testing.assert_array_equal(out, np.tile(np.float32([2, 2, 2, 1]), (64, 1)))

    def test_of_records_of_another_size_are_refused(self, kernels):
        with pytest.raises(xe.KernelArgumentError, match=r"elements of 8 bytes, but the records of the array have 12"):
            xe.launch(kernels["pairs"], N)(np.zeros(64, [("x", np.float32), ("n", np.int64)]))


class TestNumbers:
    @pytest.mark.parametrize("factor", [2, 2.0, np.float32(2), np.float64(2), jnp.float32(2), np.array(2.0)])
    def test_of_every_kind_are_taken(self, kernels, factor):
        out = xe.launch(kernels["scale"], N)(X, Y, factor, np.int64(64))
        np.testing.assert_array_equal(out, 2 * X)

    def test_are_static_where_something_hangs_on_them(self, kernels):
        text = str(xe.trace(kernels["scale"], N)(X, Y, 2.0, 60))
        assert "kernel scale (n=60)" in text
        assert "scalar factor: f32, traced" in text
        assert "scalar n: u32, static, 60" in text

    def test_that_are_not_known_are_traced(self, kernels):
        text = str(xe.trace(kernels["scale"], N)(X, Y, 2.0, jax.ShapeDtypeStruct((), np.uint32)))
        assert "scalar n: u32, traced" in text

    @pytest.mark.parametrize(
        ("factor", "n", "message"),
        [
            (
                2.0,
                -1,
                r"`uint n` of kernel scale is -1, beyond uint, 0 to 4294967295; pass 4294967295 if it is to wrap",
            ),
            (2.0, 2**32, r"is 4294967296, beyond uint.*; pass 0 if"),
            (2.0, 2.5, r"`uint n` of kernel scale takes an integer, but got 2.5"),
            (2.0, X, r"`uint n` of kernel scale takes a number, but got an array of the shape \(64,\)"),
            (1e300, 3, r"`float factor` of kernel scale is 1e\+300, but the largest float is 3.4"),
            ("2", 3, r"`float factor` of kernel scale takes a number, but got '2'"),
            (None, 3, r"takes a number, but got None"),
            (xe.Local(4), 3, r"`float factor` of kernel scale is no pointer to local memory"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, kernels, factor, n, message):
        with pytest.raises(xe.KernelArgumentError, match=message):
            xe.launch(kernels["scale"], N)(X, Y, factor, n)

    def test_infinities_are_floats(self, kernels):
        assert np.isinf(xe.launch(kernels["scale"], N)(X, Y, np.inf, 64)[1])

    def test_of_a_vector_are_as_many_as_its_components(self, kernels):
        given = np.zeros(64, np.uint32), np.zeros(64, np.uint32), np.zeros((64, 4), np.float32)
        for add in ([1, 2, 3], 1.0, np.ones((2, 2))):
            with pytest.raises(xe.KernelArgumentError, match=r"`float4 add` of kernel two takes 4 numbers, but got"):
                xe.launch(kernels["two"], N)(*given, add)
        _, c = xe.launch(kernels["two"], N)(*given, np.float32([1, 2, 3, 4]))
        np.testing.assert_array_equal(c[3], [1, 2, 3, 4])


SETTING = np.dtype([("scale", np.float32), ("shift", np.int16, 2), ("mask", np.uint32, 2)], align=True)


class TestRecords:
    @pytest.mark.parametrize(
        "setting",
        [
            {"scale": 0.5, "shift": [1, 2], "mask": (3, 4)},
            np.array((0.5, [1, 2], [3, 4]), SETTING),
            np.array((0.5, [1, 2], [3, 4]), SETTING)[()],
            np.array((0.5, [1, 2], [3, 4]), SETTING).tobytes(),
        ],
        ids=["dict", "array", "record", "bytes"],
    )
    def test_are_given_by_fields_or_bytes(self, kernels, setting):
        np.testing.assert_array_equal(xe.launch(kernels["configured"], N)(Y, setting), np.full(64, 6.5))

    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ({"scale": 1.0, "shift": [1, 2]}, r"has the field mask as well"),
            ({"scal": 1.0}, r"no field 'scal' \(did you mean 'scale'\?\)"),
            ({"scale": 1.0, "shift": [1, 2, 3], "mask": [0, 0]}, r"field shift of .* takes 2 values"),
            ({"scale": 1.0, "shift": [1, 40000], "mask": [0, 0]}, r"field shift of .* is 40000, beyond short"),
            (b"1234", r"has 16 bytes, but got 4; its fields are scale at 0, shift at 4, mask at 8"),
            (3, r"takes a struct, but got 3; pass a NumPy record, 16 bytes, or a dict"),
        ],
    )
    def test_that_do_not_fit_are_refused(self, kernels, setting, message):
        with pytest.raises(xe.KernelArgumentError, match=message):
            xe.launch(kernels["configured"], N)(Y, setting)


class TestLocal:
    def test_is_memory_of_each_work_group(self, kernels):
        out = xe.launch(kernels["turn"], N)(np.arange(64, dtype=np.int32), xe.Local(64))
        np.testing.assert_array_equal(out, np.arange(64).reshape(4, 16)[:, ::-1].ravel())

    def test_has_its_size_in_the_report(self, kernels):
        report = xe.estimate(kernels["turn"], N)(np.arange(64, dtype=np.int32), xe.Local(256))
        assert report.occupancy.slm_bytes >= 256

    @pytest.mark.parametrize("given", [64, np.zeros(16, np.int32)])
    def test_is_asked_for_with_its_size(self, kernels, given):
        with pytest.raises(xe.KernelArgumentError, match=r"`local int\* tile` .* pass xe.Local\(64\)"):
            xe.launch(kernels["turn"], N)(np.arange(64, dtype=np.int32), given)

    @pytest.mark.parametrize("size", [-4, 1.5, True, "64", None])
    def test_is_a_number_of_bytes(self, size):
        with pytest.raises(xe.KernelArgumentError, match=r"give a number of bytes"):
            xe.Local(size)

    def test_has_some_bytes_in_opencl_c(self, kernels):
        with pytest.raises(xe.KernelArgumentError, match=r"xe.Local\(0\) for .*OpenCL gives a pointer to local memory"):
            xe.launch(kernels["turn"], N)(np.arange(64, dtype=np.int32), xe.Local(0))

    def test_of_equal_sizes_are_equal(self):
        assert len({xe.Local(64), xe.Local(np.int32(64)), xe.Local(128)}) == 2


class TestCalls:
    def test_of_too_few_or_many_arguments_tell_the_declaration(self, kernels):
        with pytest.raises(
            xe.KernelArgumentError, match=r"takes 4 arguments .*float factor, uint n\), but got 2; `float f"
        ):
            xe.launch(kernels["scale"], N)(X, Y)
        with pytest.raises(xe.KernelArgumentError, match=r"takes 4 arguments .* but got 5"):
            xe.launch(kernels["scale"], N)(X, Y, 1, 2, 3)
        with pytest.raises(xe.KernelArgumentError, match=r"`local int\* tile` and what follows.*xe.Local\(bytes\)"):
            xe.launch(kernels["turn"], N)(X)

    def test_by_keyword_are_refused(self, kernels):
        with pytest.raises(xe.KernelArgumentError, match=r"by position, in the order of its parameters, but got n"):
            xe.launch(kernels["scale"], N)(X, Y, 1.0, n=3)

    def test_that_are_equal_are_traced_once(self, kernels):
        launch._launched.cache_clear()
        preparation._prepared.cache_clear()
        for factor in (1.0, 2.0, 3.0):
            xe.launch(kernels["scale"], N)(X, Y, factor, 64)
        assert preparation._prepared.cache_info().misses == 1
        xe.launch(kernels["scale"], N)(X, Y, 1.0, 32)
        assert preparation._prepared.cache_info().misses == 2

    def test_of_a_parameter_with_a_name_of_pythons(self):
        kernel = xe.load("kernel void f(global int* in, int lambda, int from) { in[lambda] = from; }")["f"]
        assert xe.launch(kernel, xe.NDRange(1, 1))(np.zeros(2, np.int32), 1, 5).tolist() == [0, 5]

    def test_of_a_kernel_that_writes_nothing_give_nothing(self):
        kernel = xe.load("kernel void f(global const int* a) { int x = a[get_global_id(0)]; }")["f"]
        assert xe.launch(kernel, N)(np.zeros(64, np.int32)) == ()


class TestTransformations:
    def test_check_profile_and_estimate_agree_with_launch(self, kernels):
        given = X.reshape(8, 8), Y.reshape(8, 8), 2.0, 60
        out = np.asarray(xe.launch(kernels["scale"], N)(*given))
        checked, findings = xe.check(kernels["scale"], N)(*given)
        profiled, report = xe.profile(kernels["scale"], N)(*given)
        np.testing.assert_array_equal(out, checked)
        np.testing.assert_array_equal(out, profiled)
        assert out.shape == checked.shape == profiled.shape
        assert findings == ()
        shapes = jax.ShapeDtypeStruct((64,), np.float32), jax.ShapeDtypeStruct((64,), np.float32)
        estimated = xe.estimate(kernels["scale"], N)(*shapes, 2.0, 60)
        assert estimated.to_dict()["sites"] == report.to_dict()["sites"]

    def test_assertions_take_them(self, kernels):
        data = np.arange(64, dtype=np.int32)

        def turned(data, tile):
            return data.reshape(4, tile.bytes // 4)[:, ::-1].ravel()

        testing.assert_matches(kernels["turn"], turned, N, data, xe.Local(64))
        testing.assert_clean(kernels["turn"], N, data, xe.Local(64))

    @pytest.mark.parametrize(
        "options",
        [
            {"donate": True},
            {"deterministic": True, "memory_bytes": 1 << 16},
            {"mesh": jax.make_mesh((1,), ("groups",))},
        ],
        ids=["donate", "deterministic", "mesh"],
    )
    def test_the_options_of_a_launch_hold(self, kernels, options):
        out = xe.launch(kernels["scale"], N, **options)(X.reshape(8, 8), jnp.zeros((8, 8)), 2.0, 64)
        np.testing.assert_array_equal(out, 2 * X.reshape(8, 8))

    def test_a_schedule_gives_the_same(self, kernels):
        data = np.arange(64, dtype=np.int32)
        expected = np.asarray(xe.launch(kernels["turn"], N)(data, xe.Local(64)))
        np.testing.assert_array_equal(xe.launch(kernels["turn"], N, schedule=3)(data, xe.Local(64)), expected)

    def test_tune_takes_arguments_that_fit_the_configuration(self, kernels):
        free = dataclasses.replace(kernels["turn"], work_group_size=None)
        data = jax.ShapeDtypeStruct((64,), np.int32)
        table = xe.tune(free, {"global_size": 64, "local_size": [16, 32]})(
            data, lambda c: xe.Local(4 * c["local_size"])
        )
        assert [row.reason for row in table] == [None, None]
        assert {row.configuration["sub_group_size"] for row in table} == {16}

    def test_tune_takes_the_size_that_is_required(self, kernels):
        table = xe.tune(kernels["turn"], {"global_size": [64, (2, 32)]})(np.zeros(64, np.int32), xe.Local(64))
        assert {row.configuration["local_size"] for row in table} == {(16,), (1, 16)}
        assert not table.invalid

    def test_the_report_shows_the_lines_of_the_file(self, kernels):
        report = xe.estimate(kernels["turn"], N)(np.zeros(64, np.int32), xe.Local(64))
        assert report.source[0] == (15, "__attribute__((reqd_work_group_size(16, 1, 1)))")
        assert report.source[-1] == (23, "}")
        assert [site.line for site in report.sites] == [20, 20, 22, 22]

    def test_another_sub_group_size_can_be_required(self, kernels):
        replaced = dataclasses.replace(kernels["scale"], sub_group_size=32)
        assert replaced != kernels["scale"]
        assert xe.estimate(replaced, N)(X, Y, 2.0, 64).sub_group_size == 32


class TestSizes:
    def test_that_are_required_hold(self, kernels):
        with pytest.raises(xe.NDRangeError, match=r"differs from the work-group size 16"):
            xe.launch(kernels["turn"], xe.NDRange(64, 32))(np.zeros(64, np.int32), xe.Local(64))

    def test_that_are_required_hold_in_other_dimensions(self, kernels):
        given, expected = np.arange(64, dtype=np.int32), np.arange(64).reshape(4, 16)[:, ::-1].ravel()
        out = xe.launch(kernels["turn"], xe.NDRange.opencl((64, 1), (16, 1)))(given, xe.Local(64))
        np.testing.assert_array_equal(out, expected)
        with pytest.raises(xe.NDRangeError, match=r"Sizes are in SYCL's order here"):
            xe.launch(kernels["turn"], xe.NDRange.opencl((1, 64), (1, 16)))(given, xe.Local(64))

    def test_that_are_required_are_taken_where_none_is_given(self, kernels):
        out = xe.launch(kernels["turn"], xe.NDRange(64))(np.arange(64, dtype=np.int32), xe.Local(64))
        assert out[0] == 15

    def test_dimension_0_is_contiguous(self, kernels):
        given = np.arange(32, dtype=np.int32).reshape(4, 8)
        out = xe.launch(kernels["transposed"], xe.NDRange.opencl((8, 4), (4, 2)))(given, np.zeros((8, 4), np.int32))
        np.testing.assert_array_equal(out, given.T)


class TestSites:
    TEXT = """\
static int pick(global const int* a, int i)
{
    return a[i];
}
static int twice(global const int* a, int i) { return
    pick(a, i) + pick(a, i + 1); }
kernel void k(global const int* a, global int* out)
{
    int i = get_global_id(0);
    out[i] = twice(a, i);
}
"""

    def test_in_functions_tell_the_calls(self, tmp_path):
        path = tmp_path / "calls.cl"
        path.write_text(self.TEXT)
        _, (finding,) = xe.check(xe.load(path)["k"], N)(np.zeros(64, np.int32), np.zeros(64, np.int32))
        assert finding.sites[0].line == 3
        shown = str(finding).splitlines()
        assert shown[1] == f"  load {path}:3: return a[i];"
        assert shown[2] == f"    called from {path}:6: pick(a, i) + pick(a, i + 1); }}"
        assert shown[3] == f"    called from {path}:10: out[i] = twice(a, i);"

    STEPS = """\
static int step(local int* t, int l, int d)
{
    int x = t[(l + d) % 64];
    barrier(CLK_LOCAL_MEM_FENCE);
    t[l] = x;
    return 7 / x;
}
kernel void k(global int* a)
{
    local int t[64];
    int l = get_local_id(0);
    t[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    int x = step(t, l, 1);
    x += step(t, l, 33);
    a[get_global_id(0)] = x;
}
"""

    def test_in_functions_that_are_called_often_tell_every_call(self):
        kernel = xe.load(self.STEPS)["k"]
        _, findings = xe.check(kernel, xe.NDRange(64, 64))(np.zeros(64, np.int32))
        race, division = findings
        for finding in (race, division):
            lines = str(finding).splitlines()
            assert re.match(r"    called from <opencl \w+>:14: int x = step", lines[2])
        assert re.match(r"    or from <opencl \w+>:15: x \+= step", str(race).splitlines()[3])
        assert "Write barrier(CLK_LOCAL_MEM_FENCE) after line 14 and before line 15." in str(race)

    def test_of_a_kernel_itself_tell_none(self, kernels):
        _, (finding,) = xe.check(kernels["scale"], N)(X, Y[:10], 2.0, 64)
        assert "called from" not in str(finding)


@pytest.mark.thorough
def test_what_is_dropped_is_freed():
    from xeemu.frontends.lowering import effects

    kernel = xe.load("kernel void once(global int* a) { a[get_global_id(0)] += 1; }")["once"]
    xe.launch(kernel, N)(np.zeros(64, np.int32))
    freed = weakref.ref(kernel.function)
    del kernel
    for cache in (
        launch._launched,
        preparation._prepared,
        executables.executable,
        effects.of,
        effects.flows,
        effects.reached,
    ):
        cache.cache_clear()
    gc.collect()
    assert freed() is None

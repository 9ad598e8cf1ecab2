"""OpenCL C's images and samplers, against the standard's own formulas in NumPy."""

import itertools

import jax
import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

WIDTH, HEIGHT = 7, 5
POINTS = 64
RANGE = xe.NDRange.opencl(POINTS, 16)

READ = """
__kernel void read(__global float4* out, __read_only image2d_t image, sampler_t s, __global const float2* at) {
  int i = get_global_id(0);
  out[i] = read_imagef(image, s, at[i]);
}"""


def along(sampler, u, n):
    """Pixels along one axis with their weights; None for one in the border. OpenCL C 3.0, section 8.2."""
    linear = sampler.filtering == "linear"
    if sampler.normalized and sampler.addressing == "repeat":
        u = (u - np.floor(u)) * n
    elif sampler.normalized and sampler.addressing == "mirrored_repeat":
        u = abs(u - 2 * np.rint(u / 2)) * n
    elif sampler.normalized:
        u = u * n
    first = int(np.floor(u - 0.5)) if linear else int(np.floor(u))
    part = (u - 0.5) - np.floor(u - 0.5)
    for index, weight in ((first, 1 - part), (first + 1, part)) if linear else ((first, 1),):
        if sampler.addressing == "repeat":
            yield index % n, weight
        elif sampler.addressing in ("clamp_to_edge", "mirrored_repeat"):
            yield min(max(index, 0), n - 1), weight
        else:
            yield (index if 0 <= index < n else None), weight


def sampled(image, sampler, points):
    """The colours of `(x, y)`, the four channels of an image that has them all."""
    found = np.zeros((len(points), 4))
    for row, (x, y) in zip(found, points, strict=True):
        for (i, a), (j, b) in itertools.product(along(sampler, x, image.shape[1]), along(sampler, y, image.shape[0])):
            row += 0 if i is None or j is None else a * b * image[j, i]
    return found


SAMPLERS = [
    xe.Sampler(addressing, filtering, normalized)
    for addressing in ("clamp", "clamp_to_edge", "repeat", "mirrored_repeat")
    for filtering in ("nearest", "linear")
    for normalized in (False, True)
    if normalized or not addressing.endswith("repeat")
]


@pytest.mark.every(2)
@pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
def test_every_way_of_sampling(sampler):
    random = np.random.default_rng(0)
    image = random.normal(size=(HEIGHT, WIDTH, 4)).astype(np.float32)
    reach = 1.0 if sampler.normalized else 8.0
    points = random.uniform(-1.5 * reach, 2.5 * reach, (POINTS, 2)).astype(np.float32)
    got, found = xe.check(xe.load(READ)["read"], RANGE)(np.zeros((POINTS, 4), np.float32), image, sampler, points)
    assert not found
    np.testing.assert_allclose(got, sampled(image, sampler, points.astype(np.float64)), atol=1e-5)


KINDS = """
constant sampler_t edge = CLK_ADDRESS_CLAMP_TO_EDGE | CLK_FILTER_NEAREST;
__kernel void kinds(__global float* out, __read_only image1d_t line, __read_only image1d_buffer_t buffer,
                    __read_only image3d_t volume, __read_only image2d_array_t layers, __read_only image1d_array_t lines,
                    __read_only image2d_depth_t depth) {
  const sampler_t border = CLK_ADDRESS_CLAMP | CLK_FILTER_NEAREST;
  int i = get_global_id(0);
  float4 sum = read_imagef(line, border, i - 2) + read_imagef(buffer, i % 5);
  sum += read_imagef(volume, edge, (int4)(i, 1, i / 4, 0)) + read_imagef(layers, edge, (float4)(1, i, 2.4f, 0));
  out[i] = sum.x + 100 * read_imagef(lines, edge, (int2)(i, 9)).x + 1000 * read_imagef(depth, (int2)(i % 2, 1)) + sum.y;
}"""


def test_every_kind_of_image():
    random = np.random.default_rng(1)
    line, buffer, volume, layers, lines, depth = (
        random.integers(1, 9, shape).astype(np.float32)
        for shape in ((6,), (5, 2), (3, 2, 4), (3, 5, 2), (2, 8), (2, 2))
    )
    kernel = xe.load(KINDS)["kinds"]
    got, found = xe.check(kernel, RANGE)(np.zeros(POINTS, np.float32), line, buffer, volume, layers, lines, depth)
    i = np.arange(POINTS)
    want = np.where((i >= 2) & (i < 8), line[np.clip(i - 2, 0, 5)], 0) + buffer[i % 5, 0] + buffer[i % 5, 1]
    want += volume[np.minimum(i // 4, 2), 1, np.minimum(i, 3)] + layers[2, np.minimum(i, 4), 1]
    want += 100 * lines[1, np.minimum(i, 7)] + 1000 * depth[1, i % 2]
    assert not found
    np.testing.assert_array_equal(got, want)


COPY = """
__kernel void copy(__write_only image2d_t to, __read_only image2d_t from) {
  int2 at = (int2)(get_global_id(0), get_global_id(1));
  if (at.x < get_image_width(from) && at.y < get_image_height(from))
    write_imageK(to, at, read_imageK(from, at) SCALE);
}"""


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("kind", "dtype", "scale", "channels"),
    [
        ("f", "uint8", "* 1.5f", 4), ("f", "int8", "* -2.0f", 2), ("f", "uint16", "- 0.25f", 1),
        ("f", "float16", "+ 0.5f", 4), ("h", "float32", "* (half)2", 3), ("i", "int8", "* 3", 4),
        ("i", "int32", "+ 1", None), ("ui", "uint32", "* 2u", 2), ("ui", "uint8", "* 3u", None),
    ],
)  # fmt: skip
def test_elements_of_every_type(kind, dtype, scale, channels):
    shape = (HEIGHT, WIDTH) if channels is None else (HEIGHT, WIDTH, channels)
    limits = np.iinfo(dtype) if np.dtype(dtype).kind != "f" else None
    random = np.random.default_rng(2)
    given = (
        random.normal(size=shape)
        if limits is None
        else random.integers(max(limits.min, -999), min(limits.max, 999), shape)
    )
    given = given.astype(dtype)
    kernel = xe.load(COPY.replace("imageK", f"image{kind}").replace("SCALE", scale))["copy"]
    got, found = xe.check(kernel, xe.NDRange.opencl((8, 8), (4, 4)))(np.zeros_like(given), given)
    assert not found
    value = given.astype(np.float64)
    if kind == "f" and limits is not None:
        value = np.maximum(value / limits.max, -1)
    number = scale.replace("(half)", "").rstrip("fu").replace(" ", "")
    value = eval(f"value {number}", {"value": value})
    if limits is not None:
        value = np.clip(np.rint(value * (limits.max if kind == "f" else 1)), limits.min, limits.max)
    tolerance = {"rtol": 2e-3} if limits is None else {"atol": int(kind == "f")}
    np.testing.assert_allclose(np.asarray(got, np.float64), value, **tolerance)


def test_what_kernels_ask_of_images():
    source = """
    __kernel void ask(__global int* out, __read_only image3d_t a, __read_only image2d_array_t b,
                      __read_only image2d_t c) {
      int4 d = get_image_dim(a);
      int found[] = {get_image_width(a), get_image_height(a), get_image_depth(a), d.x, d.y, d.z, d.w,
                     (int)get_image_array_size(b), get_image_dim(b).x, get_image_dim(b).y,
                     get_image_channel_order(a) == CLK_R, get_image_channel_order(c) == CLK_RGBA,
                     get_image_channel_data_type(c) == CLK_UNORM_INT8, get_image_channel_data_type(a) == CLK_FLOAT};
      for (int k = 0; k < 14; k++) out[k] = found[k];
    }"""
    arrays = np.zeros((2, 3, 4), np.float32), np.zeros((5, 6, 7), np.float32), np.zeros((2, 2, 4), np.uint8)
    got = xe.launch(xe.load(source)["ask"], xe.NDRange(1, 1))(np.zeros(14, np.int32), *arrays)
    np.testing.assert_array_equal(got, [4, 3, 2, 4, 3, 2, 0, 5, 7, 6, 1, 1, 1, 1])


BLUR = """
float4 mean(__read_only image2d_t image, sampler_t s, int2 at) {
  float4 sum = 0;
  for (int y = -1; y <= 1; y++)
    for (int x = -1; x <= 1; x++) sum += read_imagef(image, s, at + (int2)(x, y));
  return sum / 9;
}
__kernel void blur(__write_only image2d_t to, __read_only image2d_t from) {
  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | ADDRESSING | CLK_FILTER_NEAREST;
  for (int row = 0; row < 2; row++) {
    int2 at = (int2)(get_global_id(0), 2 * get_global_id(1) + row);
    write_imagef(to, at, mean(from, s, at));
  }
}"""


@pytest.mark.thorough
def test_a_filter_and_what_it_reads_beyond_the_edge():
    given = np.random.default_rng(3).normal(size=(8, 8, 4)).astype(np.float32)
    kernel = xe.load(BLUR.replace("ADDRESSING", "CLK_ADDRESS_CLAMP_TO_EDGE"))["blur"]
    nd_range = xe.NDRange.opencl((8, 4), (4, 4))
    got, found = xe.check(kernel, nd_range)(np.zeros_like(given), given)
    padded = np.pad(given, ((1, 1), (1, 1), (0, 0)), "edge")
    want = sum(padded[y : y + 8, x : x + 8] for y in range(3) for x in range(3)) / 9
    assert not found
    np.testing.assert_allclose(got, want, atol=1e-5)
    np.testing.assert_array_equal(
        xe.launch(kernel, nd_range, schedule=jax.random.key(1))(np.zeros_like(given), given), got
    )
    kernel = xe.load(BLUR.replace("ADDRESSING", "CLK_ADDRESS_NONE"))["blur"]
    _, found = xe.check(kernel, nd_range)(np.zeros_like(given), given)
    assert {(f.kind, f.memory, f.sites[0].line) for f in found} == {("out-of-bounds", "from", 5)}


SWAP = """
__kernel void swap(__read_write image2d_t image) {
  int x = get_global_id(0), y = get_global_id(1);
  float4 other = read_imagef(image, (int2)(3 - x, y));
  FENCE
  write_imagef(image, (int2)(x, y), other);
}"""


@pytest.mark.thorough
def test_images_that_are_read_and_written():
    given = np.random.default_rng(4).normal(size=(4, 4, 2)).astype(np.float32)
    nd_range = xe.NDRange.opencl((4, 4), (4, 4))
    kernel = xe.load(SWAP.replace("FENCE", "work_group_barrier(CLK_IMAGE_MEM_FENCE);"))["swap"]
    got, found = xe.check(kernel, nd_range)(given)
    assert not found
    np.testing.assert_array_equal(got, given[:, ::-1])
    for fence, kind in (("", "data-race"), ("work_group_barrier(CLK_LOCAL_MEM_FENCE);", "wrong-fence")):
        _, found = xe.check(xe.load(SWAP.replace("FENCE", fence))["swap"], nd_range)(given)
        assert {(f.kind, f.memory) for f in found} == {(kind, "image")}


def test_what_is_no_image_or_sampler_is_refused():
    kernel = xe.load(READ)["read"]
    out, image, at = np.zeros((POINTS, 4), np.float32), np.zeros((4, 4), np.float32), np.zeros((POINTS, 2), np.float32)
    sampler = xe.Sampler()
    for wrong, message in (
        ((out, image[0], sampler, at), r"\(height, width\) or \(height, width, channels\)"),
        ((out, np.zeros((4, 4, 5), np.float32), sampler, at), "1 to 4 channels"),
        ((out, image.astype(np.float64), sampler, at), "float64"),
        ((out, image, "clamp", at), "takes a sampler"),
        ((out, image, 0x30, at), "no combination"),
        ((out, image.astype(np.int32), sampler, at), "read_imagei for signed"),
    ):
        with pytest.raises(xe.Error, match=message):
            xe.launch(kernel, RANGE)(*wrong)
    with pytest.raises(xe.Error, match="did you mean 'clamp'"):
        xe.Sampler("clmp")
    with pytest.raises(xe.Error, match="normalized=True"):
        xe.Sampler("repeat")


def test_an_image_that_a_function_writes_comes_back():
    source = """
    void put(__write_only image2d_t to, int2 at, float x) { if (x > 1) write_imagef(to, at, (float4)(x, 0, 0, 1)); }
    __kernel void inner(__write_only image2d_t to, float x) {
      for (int k = 0; k < 6; k++) put(to, (int2)(get_global_id(0), k), x + k);
    }"""
    got, found = xe.check(xe.load(source)["inner"], xe.NDRange.opencl(4, 4))(np.zeros((6, 4), np.float32), 0.5)
    assert not found
    np.testing.assert_array_equal(got, np.repeat([[0], [1.5], [2.5], [3.5], [4.5], [5.5]], 4, 1))

"""OpenCL C's functions of work-groups and sub-groups, against NumPy."""

import jax
import numpy as np
import pytest

pytest.importorskip("clang")

import xeemu as xe

ITEMS, GROUP, LANES = 96, 48, 16
RANGE = xe.NDRange.opencl(ITEMS, GROUP)
TYPES = {
    "char": np.int8, "uchar": np.uint8, "short": np.int16, "ushort": np.uint16, "int": np.int32, "uint": np.uint32,
    "long": np.int64, "ulong": np.uint64, "half": np.float16, "float": np.float32, "double": np.float64,
}  # fmt: skip
COMBINE = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
           "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
LOGICAL = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def mapped(expressions, x, result="int"):
    """`expressions` of each work-item's `x`, with the lane as `l`; a row of results for each."""
    lines = [expressions] if isinstance(expressions, str) else list(expressions)
    given = next(name for name, dtype in TYPES.items() if x.dtype == dtype)
    source = f"""
    __attribute__((intel_reqd_sub_group_size({LANES})))
    __kernel void map(__global {result}* out, __global const {given}* in) {{
      size_t i = get_global_id(0);
      uint l = get_sub_group_local_id();
      {given} x = in[i];
      {" ".join(f"out[{k} * {ITEMS} + i] = {line};" for k, line in enumerate(lines))}
    }}"""
    kernel = xe.load(source)["map"]
    out = np.zeros((len(lines), ITEMS), TYPES[result])
    arrays, found = xe.check(kernel, RANGE)(out, x)
    assert not found, found
    np.testing.assert_array_equal(xe.launch(kernel, RANGE)(out, x), arrays)
    return np.asarray(arrays)[0] if isinstance(expressions, str) else np.asarray(arrays)


def values(dtype, seed=0):
    """Small numbers, of floats ones whose sums are exact."""
    chosen = np.random.default_rng(seed).integers(1, 4, ITEMS)
    return chosen.astype(dtype)


def scanned(combine, rows, kind, first):
    inclusive = combine.accumulate(rows, axis=1, dtype=rows.dtype)
    if kind == "reduce":
        return np.repeat(inclusive[:, -1:], rows.shape[1], 1)
    if kind == "scan_inclusive":
        return inclusive
    return np.concatenate([np.full_like(inclusive[:, :1], first), inclusive[:, :-1]], 1)


def identity(op, dtype):
    if op in ("add", "or", "xor"):
        return 0
    if op == "mul":
        return 1
    if op == "and":
        return ~dtype(0)
    if np.dtype(dtype).kind == "f":
        return np.inf if op == "min" else -np.inf
    return np.iinfo(dtype).max if op == "min" else np.iinfo(dtype).min


@pytest.mark.every(4)
@pytest.mark.parametrize("kind", ["reduce", "scan_inclusive", "scan_exclusive"])
@pytest.mark.parametrize(
    ("level", "op", "name"),
    [
        ("work", "add", "int"), ("work", "min", "ulong"), ("work", "max", "half"), ("work", "mul", "float"),
        ("work", "xor", "uint"), ("sub", "add", "double"), ("sub", "min", "float"), ("sub", "max", "char"),
        ("sub_nu", "mul", "ushort"), ("sub_nu", "and", "long"), ("sub_nu", "or", "uchar"), ("sub_nu", "add", "half"),
    ],
)  # fmt: skip
def test_reductions_and_scans_of_every_width(level, op, name, kind):
    x = values(TYPES[name])
    function = {"work": "work_group_", "sub": "sub_group_", "sub_nu": "sub_group_non_uniform_"}[level]
    got = mapped(f"{function}{kind}_{op}(x)", x, name)
    rows = x.reshape(-1, GROUP if level == "work" else LANES)
    np.testing.assert_array_equal(got, scanned(COMBINE[op], rows, kind, identity(op, TYPES[name])).ravel())


@pytest.mark.parametrize("op", LOGICAL)
@pytest.mark.parametrize("function", ["work_group_reduce", "sub_group_non_uniform_scan_exclusive"])
def test_logical_operations_take_what_is_not_zero_as_true(function, op):
    x = (values(np.int32) - 1) * 2
    got = mapped(f"{function}_logical_{op}(x)", x)
    rows = x.reshape(-1, GROUP if function.startswith("work") else LANES) != 0
    kind = "reduce" if function.endswith("reduce") else "scan_exclusive"
    np.testing.assert_array_equal(got, scanned(LOGICAL[op], rows, kind, op == "and").ravel())


def test_votes():
    x = np.arange(ITEMS, dtype=np.int32)
    rows = x.reshape(-1, GROUP)
    np.testing.assert_array_equal(mapped("work_group_any(x == 3)", x), np.repeat((rows == 3).any(1), GROUP))
    np.testing.assert_array_equal(mapped("work_group_all(x < 48)", x), np.repeat((rows < 48).all(1), GROUP))
    rows = x.reshape(-1, LANES)
    np.testing.assert_array_equal(mapped("sub_group_any(x == 3)", x), np.repeat((rows == 3).any(1), LANES))
    np.testing.assert_array_equal(mapped("intel_sub_group_all(x < 20)", x), np.repeat((rows < 20).all(1), LANES))
    np.testing.assert_array_equal(mapped("sub_group_non_uniform_all_equal(x / 32)", x), np.ones(ITEMS, np.int32))
    np.testing.assert_array_equal(
        mapped("sub_group_non_uniform_all_equal(x / 40)", x), np.repeat([1, 1, 0, 1, 1, 1], LANES)
    )


EXCHANGES = {
    "sub_group_broadcast(x, 5u)": lambda rows, k: rows[:, [5] * LANES],
    "sub_group_broadcast_first(x)": lambda rows, k: rows[:, [0] * LANES],
    "sub_group_shuffle(x, 15 - l)": lambda rows, k: rows[:, 15 - k],
    "sub_group_shuffle_xor(x, 3u)": lambda rows, k: rows[:, k ^ 3],
    "sub_group_rotate(x, 3)": lambda rows, k: rows[:, (k + 3) % LANES],
    "sub_group_rotate(x, -1)": lambda rows, k: rows[:, (k - 1) % LANES],
    "sub_group_rotate(x, 2147483647)": lambda rows, k: rows[:, (k - 1) % LANES],
    "sub_group_clustered_rotate(x, 1, 4u)": lambda rows, k: rows[:, k // 4 * 4 + (k + 1) % 4],
    "sub_group_clustered_rotate(x, -3, 8u)": lambda rows, k: rows[:, k // 8 * 8 + (k - 3) % 8],
    "intel_sub_group_shuffle(x, l / 2)": lambda rows, k: rows[:, k // 2],
    "intel_sub_group_shuffle_down(x, x, 3u)": lambda rows, k: rows[:, (k + 3) % LANES],
    "intel_sub_group_shuffle_up(x, x, 1u)": lambda rows, k: rows[:, (k - 1) % LANES],
    "intel_sub_group_shuffle_down(x, (float)0, 3u)": lambda rows, k: np.where(
        k + 3 < LANES, rows[:, (k + 3) % LANES], 0
    ),
    "intel_sub_group_shuffle_up((float)7, x, 3u)": lambda rows, k: np.where(k >= 3, rows[:, (k - 3) % LANES], 7),
    "sub_group_clustered_reduce_add(x, 4u)": lambda rows, k: clusters(np.add, rows, 4),
    "sub_group_clustered_reduce_max(x, 16u)": lambda rows, k: clusters(np.maximum, rows, 16),
}


def clusters(combine, rows, count):
    parts = rows.reshape(rows.shape[0], -1, count)
    return np.repeat(combine.reduce(parts, axis=2, dtype=rows.dtype), count, 1)


def test_exchanges_within_sub_groups():
    x = np.random.default_rng(1).integers(-99, 99, ITEMS).astype(np.float32)
    for (expression, want), got in zip(EXCHANGES.items(), mapped(EXCHANGES, x, "float"), strict=True):
        wanted = want(x.reshape(-1, LANES), np.arange(LANES))
        np.testing.assert_array_equal(got, np.ascontiguousarray(wanted).ravel(), expression)


BALLOTS = {
    "sub_group_ballot(x > 0).x": lambda b, k: b,
    "sub_group_inverse_ballot((uint4)(0x5555, 0, 0, 0))": lambda b, k: 1 - k % 2,
    "sub_group_ballot_bit_extract(sub_group_ballot(x > 0), 3)": lambda b, k: b >> 3 & 1,
    "sub_group_ballot_bit_count(sub_group_ballot(x > 0))": lambda b, k: b.bit_count(),
    "sub_group_ballot_find_lsb(sub_group_ballot(x > 0))": lambda b, k: (b & -b).bit_length() - 1,
    "sub_group_ballot_find_msb(sub_group_ballot(x > 0))": lambda b, k: b.bit_length() - 1,
    "sub_group_ballot_inclusive_scan(sub_group_ballot(x > 0))": lambda b, k: (b & (2 << k) - 1).bit_count(),
    "sub_group_ballot_exclusive_scan(sub_group_ballot(x > 0))": lambda b, k: (b & (1 << k) - 1).bit_count(),
    "get_sub_group_eq_mask().x": lambda b, k: 1 << k,
    "get_sub_group_ge_mask().x": lambda b, k: 0xFFFF >> k << k,
    "get_sub_group_gt_mask().x": lambda b, k: 0xFFFF >> k + 1 << k + 1,
    "get_sub_group_le_mask().x": lambda b, k: (2 << k) - 1,
    "get_sub_group_lt_mask().x": lambda b, k: (1 << k) - 1,
    "sub_group_elect()": lambda b, k: k == 0,
}


def test_ballots_and_masks_of_lanes():
    x = np.random.default_rng(2).integers(-1, 2, ITEMS).astype(np.int32)
    bits = [sum(int(v > 0) << lane for lane, v in enumerate(row)) for row in x.reshape(-1, LANES)]
    for (expression, want), got in zip(BALLOTS.items(), mapped(BALLOTS, x, "uint"), strict=True):
        wanted = [want(b, lane) for b in bits for lane in range(LANES)]
        np.testing.assert_array_equal(got, wanted, expression)


def run(source, nd_range, *arguments, schedule=None):
    """Results of the only kernel of a text and what `check` finds; under a schedule they are the same."""
    (kernel,) = xe.load(source).values()
    found = xe.check(kernel, nd_range)(*arguments)
    if not found[1]:
        np.testing.assert_array_equal(xe.launch(kernel, nd_range, schedule=jax.random.key(3))(*arguments), found[0])
    return found


def test_broadcasts_name_the_work_item_in_opencls_order():
    source = """
    __attribute__((intel_reqd_sub_group_size(16)))
    __kernel void spread(__global float4* out, __global const float4* in) {
      int x = get_local_id(0), y = get_local_id(1);
      float4 v = in[y * 8 + x];
      out[y * 8 + x] = (float4)(work_group_broadcast(v.x, 3, 1), work_group_broadcast(v.y, 0, 0),
                                sub_group_broadcast(v, 2).zw);
    }"""
    given = np.arange(128, dtype=np.float32)
    got, found = run(source, xe.NDRange.opencl((8, 4), (8, 4)), np.zeros(128, np.float32), given)
    rows, lanes = given.reshape(32, 4), np.arange(32) // 16 * 16 + 2
    assert not found
    want = np.stack([np.full(32, rows[11, 0]), np.full(32, rows[0, 1]), rows[lanes, 2], rows[lanes, 3]], 1)
    np.testing.assert_array_equal(got, want.ravel())


def test_in_a_branch_they_are_of_the_active_lanes():
    source = f"""
    __attribute__((intel_reqd_sub_group_size({LANES})))
    __kernel void part(__global int* out) {{
      int i = get_global_id(0), l = get_sub_group_local_id();
      out[i] = 0;
      if (l % 3 == 1)
        out[i] = 10000 * sub_group_elect() + 1000 * sub_group_broadcast_first(l)
               + 100 * sub_group_non_uniform_reduce_min(l) + sub_group_ballot_bit_count(sub_group_ballot(1));
      else if (l < 14)
        out[i] = sub_group_clustered_reduce_add(l, 4u);
    }}"""
    got, found = run(source, RANGE, np.zeros(ITEMS, np.int32))
    lanes = np.arange(LANES)
    other = [sum(k for k in range(16) if k // 4 == lane // 4 and k % 3 != 1 and k < 14) for lane in lanes]
    want = np.where(lanes % 3 == 1, 10000 * (lanes == 1) + 1105, np.where(lanes < 14, other, 0))
    assert not found
    np.testing.assert_array_equal(got, np.tile(want, ITEMS // LANES))


def test_a_work_groups_function_in_a_branch_is_a_divergence():
    source = """
    __kernel void sum(__global int* out) {
      int l = get_local_id(0), n = 0;
      if (l < get_group_id(0) + LIMIT) n = work_group_reduce_add(l);
      out[get_global_id(0)] = n;
    }"""
    got, found = run(source.replace("LIMIT", "20"), RANGE, np.zeros(ITEMS, np.int32))
    assert [(f.kind, f.sites[0].line) for f in found] == [("barrier-divergence", 4)]
    got, found = run(
        source.replace("LIMIT", "in[0]").replace("* out", "* out, __global int* in"),
        RANGE,
        np.zeros(ITEMS, np.int32),
        np.int32([48]),
    )
    assert not found
    np.testing.assert_array_equal(got, np.full(ITEMS, 47 * 24))


@pytest.mark.thorough
def test_a_reduction_of_a_group_is_one_number_that_steers_the_group():
    source = """
    __kernel void steered(__global int* out, __global const int* in) {
      int i = get_global_id(0), n = work_group_reduce_max(in[i]), s = 0;
      for (int k = 0; k < n; k++) { s += k; barrier(CLK_LOCAL_MEM_FENCE); }
      out[i] = s;
    }"""
    given = values(np.int32)
    given[:GROUP] = 2
    given[GROUP:] = 5
    got, found = run(source, RANGE, np.zeros(ITEMS, np.int32), given)
    assert not found
    np.testing.assert_array_equal(got, np.repeat([1, 10], GROUP))


@pytest.mark.thorough
def test_a_partial_sub_group_reduces_what_it_has():
    source = f"""
    __attribute__((intel_reqd_sub_group_size({LANES})))
    __kernel void part(__global int* out) {{
      int i = get_global_id(0);
      out[i] = sub_group_reduce_add(1) * 100 + sub_group_clustered_reduce_add(1, 8u) * 10 + sub_group_any(i == 19);
    }}"""
    got, found = run(source, xe.NDRange.opencl(20, 20), np.zeros(20, np.int32))
    assert not found
    np.testing.assert_array_equal(got, [1680] * 16 + [441] * 4)


def test_a_reduction_of_clusters_takes_the_steps_of_a_cluster():
    source = f"""
    __attribute__((intel_reqd_sub_group_size({LANES})))
    __kernel void part(__global int* out) {{
      int i = get_global_id(0);
      out[i] = sub_group_clustered_reduce_add(i, 4u) + sub_group_clustered_reduce_logical_or(i == 3, 8u);
    }}"""
    kernel, out = xe.load(source)["part"], np.zeros(20, np.int32)
    report = xe.estimate(kernel, xe.NDRange.opencl(20, 20), device="max1550")(out)
    assert report.instructions["shuffle"] == 2 * (2 + 3)


def test_a_cluster_that_is_not_known_is_refused():
    source = "__kernel void k(__global int* out, int n) { *out = sub_group_clustered_reduce_add(1, (uint)*out); }"
    with pytest.raises(xe.Error, match="power of two"):
        xe.launch(xe.load(source)["k"], RANGE)(np.zeros(1, np.int32), 3)


# ---- Intel's blocks ----


@pytest.mark.every(2)
@pytest.mark.parametrize(("suffix", "name"), [("", "uint"), ("_us", "ushort"), ("_uc", "uchar"), ("_ul", "ulong")])
def test_blocks_are_lane_by_lane(suffix, name):
    source = f"""
    __attribute__((intel_reqd_sub_group_size({LANES})))
    __kernel void blocks(__global {name}* out, __global const {name}* in) {{
      int base = (get_group_id(0) * get_num_sub_groups() + get_sub_group_id()) * {LANES} * 4;
      {name}4 v = intel_sub_group_block_read{suffix}4(in + base);
      v.y += intel_sub_group_block_read{suffix}(in + base);
      intel_sub_group_block_write{suffix}2(out + base, v.yx);
      intel_sub_group_block_write{suffix}2(out + base + {2 * LANES}, v.wz);
    }}"""
    given = np.arange(ITEMS * 4).astype(TYPES[name])
    got, found = run(source, RANGE, np.zeros_like(given), given)
    rows = given.reshape(-1, 4, LANES)
    assert not found
    np.testing.assert_array_equal(
        got, np.stack([rows[:, 1] + rows[:, 0], rows[:, 0], rows[:, 3], rows[:, 2]], 1).ravel()
    )


def test_blocks_of_floats_and_of_smaller_elements():
    source = f"""
    __attribute__((intel_reqd_sub_group_size({LANES})))
    __kernel void bits(__global float* out, __global const float* in, __global uchar* bytes) {{
      int base = get_group_id(0) * get_local_size(0);
      __local uint tile[{LANES}];
      intel_sub_group_block_write(tile, intel_sub_group_block_read((const __global uint*)in + base));
      intel_sub_group_block_write((__global uint*)out + base, intel_sub_group_block_read(tile));
      intel_sub_group_block_write((__global uint*)bytes + base, get_local_id(0) << 8 | 7);
    }}"""
    given = np.random.default_rng(4).normal(size=32).astype(np.float32)
    kernel = xe.load(source)["bits"]
    (got, raw), found = xe.check(kernel, xe.NDRange.opencl(32, LANES))(
        np.zeros(32, np.float32), given, np.zeros(128, np.uint8)
    )
    assert not found
    np.testing.assert_array_equal(got, given)
    np.testing.assert_array_equal(np.asarray(raw).view(np.uint32), np.tile(np.arange(LANES) << 8 | 7, 2))

"""What our headers of SYCL compute on the device: each subject as NumPy has it."""

import numpy as np
import pytest

import xeemu as xe

pytest.importorskip("clang.cindex")

ITEMS, GROUP, LANES = 64, 32, 16
PROGRAM = """
#include <sycl/sycl.hpp>
using namespace sycl;
int main() {{
  queue q;
  const float *x = malloc_shared<float>({items}, q);
  const int *n = malloc_shared<int>({items}, q);
  float *y = malloc_shared<float>({items}, q);
  q.submit([&](handler &h) {{
    local_accessor<float> l({group}, h);
    local_accessor<float, 2> m({{4, 8}}, h);
    h.parallel_for(nd_range<1>({items}, {group}), [=](nd_item<1> it) [[sycl::reqd_sub_group_size({lanes})]] {{
      int i = it.get_global_id(0), k = it.get_local_id(0);
      auto g = it.get_group();
      auto sg = it.get_sub_group();
      {statements}
    }});
  }});
}}
"""
rng = np.random.default_rng(7)
X = rng.integers(-8, 9, ITEMS).astype(np.float32)
N = rng.integers(0, 100, ITEMS).astype(np.int32)
ITEM = np.arange(ITEMS)
BITS = (X + np.float32(0.3)).view(np.uint32)
LOCAL, LANE = ITEM % GROUP, ITEM % LANES


def by_group(x, size=GROUP):
    return x.reshape(-1, size)


def reduced(op, x, size=GROUP):
    return np.repeat(op.reduce(by_group(x, size), axis=1), size)


def scanned(op, x, size=GROUP):
    return op.accumulate(by_group(x, size), axis=1).ravel()


def before(x, first, size=GROUP):
    """Of an inclusive scan the exclusive one."""
    return np.concatenate([np.full((ITEMS // size, 1), first, x.dtype), by_group(x, size)[:, :-1]], 1).ravel()


def lanes(x, which):
    return np.take_along_axis(by_group(x, LANES), by_group(which, LANES), 1).ravel()


def quarters(x):
    return x.reshape(-1, 4)


# What a kernel does with `x`, `n`, and `y`, and what is in `y` then.
CASES = {
    "ids": (
        "y[i] = it.get_global_id()[0] * 1000 + it.get_group(0) * 100 + k + (id<1>(i) + 2 == i + 2 ? 0.5f : 0);",
        ITEM * 1000 + ITEM // GROUP * 100 + LOCAL + 0.5,
    ),
    "coordinates": (
        "id<3> a(i, 2, 3), b = (a + id<3>(1, 1, 1)) * 2; b -= a; range<2> r(3, 4); r[0] += k;"
        "y[i] = b[0] * 10 + b[1] + (a == id<3>(i, 2, 3)) + r.size();",
        (ITEM + 2) * 10 + 4 + 1 + (3 + LOCAL) * 4,
    ),
    "sub-groups": (
        "y[i] = sg.get_group_id()[0] * 100 + sg.get_local_linear_id() + (sg.leader() ? 0.5f : 0) + "
        "sg.get_local_range()[0] * 1000;",
        LOCAL // LANES * 100 + LANE + 0.5 * (LANE == 0) + 1000 * LANES,
    ),
    "local memory": (
        "l[k] = x[i]; m[k / 8][k % 8] = n[i]; group_barrier(g); y[i] = l[31 - k] + m[{3, size_t(7 - k % 8)}] + "
        "m[1][2];",
        by_group(X)[:, ::-1].ravel()
        + by_group(N)[:, 24:][:, 7 - np.arange(GROUP) % 8].ravel()
        + np.repeat(by_group(N)[:, 10], GROUP),
    ),
    "async copies": (
        "auto e = it.async_work_group_copy(l.get_pointer(), global_ptr<const float>(x + "
        "GROUP * it.get_group(0)), GROUP);"
        "e.wait(); y[i] = l[(k + 1) % 32];",
        np.roll(by_group(X), -1, 1).ravel(),
    ),
    "reductions of groups": (
        "y[i] = reduce_over_group(g, x[i], plus<>()) + reduce_over_group(sg, x[i], 100.0f, maximum<float>()) + "
        "reduce_over_group(g, n[i], minimum<int>());",
        reduced(np.add, X) + np.maximum(reduced(np.maximum, X, LANES), 100) + reduced(np.minimum, N),
    ),
    "scans": (
        "y[i] = inclusive_scan_over_group(g, x[i], plus<>()) * 10000 + "
        "exclusive_scan_over_group(sg, x[i], plus<float>()) + "
        "exclusive_scan_over_group(g, n[i], 7, plus<>()) * 100;",
        scanned(np.add, X) * 10000
        + before(scanned(np.add, X, LANES), 0, LANES)
        + 100 * (7 + before(scanned(np.add, N), 0)),
    ),
    "joint algorithms": (
        "float *own = y + it.get_group(0) * GROUP; const float *in = x + it.get_group(0) * GROUP;"
        "float all = joint_reduce(g, x, x + 64, plus<>());"
        "joint_inclusive_scan(g, in, in + 20, own, plus<>()); group_barrier(g);"
        "if (k >= 20) own[k] = all + joint_any_of(sg, n, n + 64, [](int v) { return v == 1000; });",
        np.where(LOCAL < 20, scanned(np.add, X), X.sum()),
    ),
    "a joint scan of more than a group": (
        "if (it.get_group(0) == 0) joint_exclusive_scan(g, x, x + 50, y, 3.0f, plus<>()); else if (k >= 18) y[i] = 0;",
        np.where(ITEM < 50, np.concatenate([[3], 3 + np.cumsum(X)[:-1]]), 0),
    ),
    "votes": (
        "y[i] = any_of_group(g, n[i] == 99) * 1 + all_of_group(sg, n[i] < 90) * 2 + none_of_group(sg, x[i] > 7) * 4;",
        reduced(np.logical_or, N == 99) + 2 * reduced(np.logical_and, N < 90, LANES)
        + 4 * ~reduced(np.logical_or, X > 7, LANES),
    ),
    "exchanges": (
        "float s = shift_group_left(sg, x[i], 1); y[i] = group_broadcast(g, x[i], 5) + "
        "20 * permute_group_by_xor(sg, x[i], 3) + "
        "400 * select_from_group(sg, x[i], id<1>(n[i] % 16)) + 8000 * (k % 16 < 15 ? s : 0) + "
        "group_broadcast(sg, n[i]);",
        np.repeat(by_group(X)[:, 5], GROUP) + 20 * lanes(X, LANE ^ 3) + 400 * lanes(X, N % 16)
        + 8000 * np.where(LANE < 15, lanes(X, np.minimum(LANE + 1, 15)), 0) + lanes(N, LANE * 0),
    ),
    "masks of lanes": (
        "auto b = ext::oneapi::group_ballot(sg, x[i] > 0); y[i] = b.count() * 100 + b[sg.get_local_id()] + "
        "b.find_low()[0];",
        np.repeat((by_group(X, LANES) > 0).sum(1) * 100 + (by_group(X, LANES) > 0).argmax(1), LANES) + (X > 0),
    ),
    "blocks of a sub-group": (
        "auto v = sg.load<2>(global_ptr<const float>(x + i / 16 % 2 * 32)); sg.store(global_ptr<float>(y + "
        "i - k % 16), "
        "v[0] + 100 * v[1]);",
        (X.reshape(2, 2, LANES) * [[[1], [100]]]).sum(1)[[0, 1, 0, 1]].ravel(),
    ),
    "vectors": (
        "if (i % 4 == 0) { float4 v; v.load(0, global_ptr<const float>(x + i)); v += float4(1, 2, 3, 4) * 2.0f; "
        "v.y() = 7; "
        "v[3] -= v.x(); float4 w = v.swizzle<3, 2, 1, 0>(); w.store(i / 4, global_ptr<float>(y)); }",
        np.stack([q(quarters(X)) for q in (
            lambda x: x[:, 3] + 8 - x[:, 0] - 2, lambda x: x[:, 2] + 6,
            lambda x: x[:, 0] * 0 + 7, lambda x: x[:, 0] + 2,
        )], 1).ravel(),
    ),
    "conversions of vectors": (
        "float4 v(x[i] + 0.5f, -1.5f, 2.5f, n[i]); int4 a = v.convert<int, rounding_mode::rte>(), b = v.convert<int>();"
        "y[i] = a.x() + 100 * (a.y() + b.y()) + 10000 * (a.z() + b.z()) + "
        "(v.as<uint4>().w() == bit_cast<unsigned>((float)n[i]));",
        np.rint(X + 0.5) + 100 * (-2 - 1) + 10000 * (2 + 2) + 1,
    ),
    "relations of vectors": (
        "int4 c = float4(x[i], 1, 2, 3) < float4(0, 1, 5, 1); y[i] = c.x() + 10 * c.y() + 100 * c.z() + "
        "any(c) * 1000 + "
        "all(c) * 5000 + select(float2(1, 2), float2(3, 4), int2(0, -1)).y() * 10000 + (!c)[3];",
        -(X < 0).astype(int) - 100 + 1000 + 40000 - 1,
    ),
    "marrays": (
        "marray<float, 3> a(x[i], 2, 3), b = a * a + 1.0f; b[2] = -b[0]; y[i] = b[0] + 1000 * b[1] + b[2] + "
        "(a < b)[1] + b.size();",
        np.full(ITEMS, 5000 + 1 + 3),
    ),
    "mathematics": (
        "y[i] = sycl::fmax(x[i], 1.0f) + sycl::clamp(n[i], 10, 20) * 10 + sycl::floor(x[i] / 3) + "
        "sycl::abs(-n[i]) * 1000 + "
        "sycl::max(x[i], 2.0f) + sycl::popcount(n[i]) * 100000 + sycl::sign(x[i]) + sycl::fma(x[i], 2.0f, 1.0f);",
        np.maximum(X, 1) + np.clip(N, 10, 20) * 10 + np.floor(X / 3) + N * 1000 + np.maximum(X, 2)
        + 100000 * np.array([bin(v).count("1") for v in N]) + np.sign(X) + 2 * X + 1,
    ),
    "second results": (
        "float whole; int e; float f = sycl::modf(x[i] + 0.25f, &whole); sycl::frexp(8.0f, &e); float2 w; "
        "float2 v = sycl::fract(float2(x[i] + 0.5f, 1.25f), &w); y[i] = f + whole * 10 + e * 1000 + v.y() * 4 + "
        "w.x() * 100000;",
        np.modf(X + 0.25)[0] + np.modf(X + 0.25)[1] * 10 + 4000 + 1 + np.floor(X + 0.5) * 100000,
    ),
    "geometry": (
        "float4 v(x[i], 1, 2, 3); float3 c = cross(float3(1, 0, 0), float3(0, x[i], 0)); y[i] = dot(v, v) + c.z() + "
        "length(float2(3, 4)) + distance(float2(3, 4), float2(0, 0));",
        X * X + 14 + X + 10,
    ),
    "halves": ("half h = x[i]; h = h * half(0.1f); y[i] = h;",
               (X.astype(np.float16) * np.float16(0.1)).astype(np.float32)),
    "bfloat16": ("ext::oneapi::bfloat16 b(x[i] + 0.3f); y[i] = b * 2.0f;",
                 2 * ((BITS + 0x7FFF + (BITS >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)),
    "atomics": (
        "l[k] = 0; group_barrier(g); atomic_ref<float, memory_order::relaxed, memory_scope::work_group, "
        "access::address_space::local_space> a(l[k / 8]); a += 1; a.fetch_add(x[i]); group_barrier(g); "
        "y[i] = l[k / 8];",
        np.repeat(X.reshape(-1, 8).sum(1) + 8, 8),
    ),
    "pointers": (
        "global_ptr<const float> p(x); p += 2; multi_ptr<float, access::address_space::global_space> o(y); "
        "*(o + i) = p[i < 62 ? i : 0] + *p + p.get()[1]; local_ptr<float> s = l.get_pointer(); s[k] = 0;",
        X[np.where(ITEM < 62, ITEM + 2, 2)] + X[2] + X[3],
    ),
    "the C++ library": (
        "std::array<int, 4> a{1, 2, 3, n[i]}; std::pair<float, int> p(x[i], 2); auto [u, v] = p; "
        "std::complex<float> z(x[i], 1);"
        "auto t = std::make_tuple(1, x[i]); y[i] = std::max(u, 1.0f) + a[3] * v + (z * z).real() + std::get<1>(t) + "
        "std::abs(u) + std::min({1, 2, 3}) + a.size();",
        np.maximum(X, 1) + 2 * N + X * X - 1 + X + np.abs(X) + 1 + 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_kernel_computes_what_numpy_does(case):
    statements, expected = CASES[case]
    text = PROGRAM.format(items=ITEMS, group=GROUP, lanes=LANES, statements=statements.replace("GROUP", str(GROUP)))
    text = text.replace("int main()", "#include <array>\n#include <complex>\n#include <tuple>\nint main()")
    kernels = xe.load(text)
    given = {"x": X, "n": N, "y": np.zeros(ITEMS, np.float32)}
    names = [capture.key for capture in kernels.captures("main")]
    found = xe.launch(kernels["main"], xe.NDRange(ITEMS, GROUP))(**{k: v for k, v in given.items() if k in names})
    np.testing.assert_array_equal(
        np.asarray(found[0] if isinstance(found, tuple) else found), expected.astype(np.float32)
    )


REDUCED = {
    "a range": ("range<1>(50)", "id<1>", "plus<>", "i[0] + 1", 3 + 50 * 51 // 2),
    "an nd-range": ("nd_range<1>(64, 16)", "nd_item<1>", "maximum<int>", "7 * i.get_global_id(0)", 7 * 63),
    "a product": ("range<1>(4)", "item<1>", "multiplies<int>", "i[0] + 1", 3 * 24),
    "two dimensions": ("range<2>(4, 5)", "id<2>", "bit_or<int>", "1 << (i[0] * 5 + i[1])", (1 << 20) - 1),
}


@pytest.mark.parametrize("case", REDUCED)
def test_a_reduction_combines_all_work_items(case):
    size, item, operation, value, expected = REDUCED[case]
    text = f"""
#include <sycl/sycl.hpp>
using namespace sycl;
int main() {{
  queue q;
  int *r = malloc_shared<int>(1, q);
  q.parallel_for({size}, reduction(r, {operation}()), [=]({item} i, auto &sum) {{ sum.combine({value}); }});
}}"""
    kernel = xe.load(text)["main"]
    nd_range = kernel.nd_range
    found = xe.launch(kernel, nd_range)(np.array([3], np.int32))
    assert int(np.asarray(found[0] if isinstance(found, tuple) else found)[0]) == expected


# Statements of a host's program, and what they print; the last ones begin with what those before have left.
HOST = {
    "std::sort(v.begin(), v.end()); for (int x : v) std::cout << x << ' ';": "1 3 5 9 ",
    "v.push_back(7); v.insert(v.begin() + 1, 42); v.erase(v.begin()); v.resize(7); show(v);": "42 3 5 9 7 0 0 ",
    "std::iota(v.begin(), v.end(), 1); std::reverse(v.begin() + 1, v.end()); show(v);": "1 7 6 5 4 3 2 ",
    "std::cout << std::accumulate(v.begin(), v.end(), 0) << *std::max_element(v.begin(), v.end());": "287",
    's += " world"; std::cout << s << s.size() << s.substr(6) << s.find("wor") << (s == "hello world");':
        "hello world11world61",
    'm["b"] = 2; m["a"] = 1; m["c"] += 5; for (auto &[k, x] : m) std::cout << k << "=" << x << m.count("z") << " ";':
        "a=10 b=20 c=50 ",
    "u[3] = 1.5; u.emplace(1, 2); std::cout << u[3] << u.at(1) << u.size() << (u.find(5) == u.end());": "1.5221",
    "for (int x : std::set<int>{3, 1, 3, 2}) std::cout << x;": "123",
    "std::cout << std::fixed << std::setprecision(3) << 3.14159 << std::setw(8) << 2.5 << std::defaultfloat << 0.1;":
        "3.142   2.5000.1",
    "std::cout << std::hex << 255 << std::dec << std::left << std::setw(5) << 12 << '|' << std::right << 1e10;":
        "ff12   |1e+10",
    'std::printf("%d %5.2f %s %c %x %03d|%-4d|", 7, 2.345, s.c_str(), 122, 255, 42, 3);':
        "7  2.35 hello world z ff 042|3   |",
    "std::stringstream t; t << s.substr(0, 2) << 12; std::cout << t.str() + std::to_string(-4) << std::stoi(\"17\");":
        "he12-417",
    'std::ofstream file("a.txt"); file << "in" << 1; file.put(s[0]); std::cout << file.is_open();': "0",
    "void *p = v.data(); std::ostringstream t; t << p; std::cout << t.str().substr(0, 2) << (p = nullptr);": "0x0",
    "auto [p, q1] = std::make_tuple(1, 2.5); std::tie(p, std::ignore) = std::make_pair(8, 9); std::cout << p << q1;":
        "82.5",
    "std::function<int(int)> f = [&](int x) { return x + (int)v.size(); }; std::cout << f(3);": "10",
    "auto a = std::make_shared<std::array<int, 3>>(); auto b = a; (*b)[1] = 4; "
    "std::cout << (*a)[1] << b->size();": "43",
    "std::complex<double> z(1, 2); z = z * z + 1.0; std::cout << z << std::abs(std::complex<double>(3, 4));": "(-2,4)5",
    "std::priority_queue<int> h; h.push(3); h.push(9); h.push(5); h.pop(); std::cout << h.top();": "5",
    "std::cout << std::numeric_limits<int>::max() << (std::numeric_limits<float>::infinity() > 1e30f);": "21474836471",
    "{ buffer b(v); q.submit([&](handler &h) { accessor a(b, h); h.parallel_for(7, [=](id<1> i) { a[i] *= 10; }); }); }"
    "show(v);": "10 70 60 50 40 30 20 ",
    "{ const std::vector<int> c(v); buffer<int> b(c.data(), 7); host_accessor a(b); a[0] = 5; "
    "std::cout << c[0] << a[0]; }":
        "105",
    "{ buffer<int> b(v.data(), 7), part(b, id<1>(1), range<1>(2)); q.submit([&](handler &h) { accessor a(part, h); "
    "h.parallel_for(2, [=](id<1> i) { a[i] = 0; }); }); } show(v);": "10 0 0 50 40 30 20 ",
    "{ buffer<int> b(v); q.submit([&](handler &h) { accessor a(b, h, range<1>(2), id<1>(5)); "
    "h.fill(a, 9); }); } show(v);":
        "10 0 0 50 40 9 9 ",
    "{ buffer<int> b(range<1>(7)); b.set_final_data(v.begin()); "
    "q.submit([&](handler &h) { accessor a(b, h, write_only); "
    "h.parallel_for(7, [=](id<1> i) { a[i] = i * i; }); }); } show(v);": "0 1 4 9 16 25 36 ",
    "q.fill(d, 3, 8); q.parallel_for(8, [=](id<1> i) { d[i] += i; }); q.copy(d, v.data(), 7).wait(); show(v);":
        "3 4 5 6 7 8 9 ",
    "*r = 100; q.parallel_for(range<1>(8), reduction(r, plus<>()), [=](id<1> i, auto &x) { x += d[i]; }).wait();"
    "std::cout << *r;": "152",
    "q.parallel_for(nd_range<1>(8, 4), reduction(r, plus<>(), property::reduction::initialize_to_identity()), "
    "[=](nd_item<1> it, auto &x) { x += 2; }).wait(); std::cout << *r;": "16",
    "q.submit([&](handler &h) { h.host_task([=] { *r = 42; }); }).wait(); std::cout << *r;": "42",
    "usm_vector w(3, usm_vector::allocator_type(q)); int *p = w.data(); "
    "q.parallel_for(3, [=](id<1> i) { p[i] = i; }).wait();"
    "std::cout << w[2];": "2",
}  # fmt: skip


def test_a_host_prints_what_the_libraries_say():
    # Each statement is a scope of its own.
    statements = "\n".join(f'{{ {s} }} std::cout << "\\n";' for s in HOST)
    names = "array complex fstream functional iomanip iostream map memory numeric queue set sstream"
    names += " string tuple unordered_map"
    text = "".join(f"#include <{name}>\n" for name in ["sycl/sycl.hpp", *names.split()])
    text += f"""
using namespace sycl;
typedef std::vector<int, usm_allocator<int, usm::alloc::shared>> usm_vector;
void show(const std::vector<int> &v) {{ for (const auto &x : v) std::cout << x << ' '; }}
int main() {{
  sycl::queue q{{property::queue::in_order()}};
  std::vector<int> v{{5, 3, 9, 1}};
  std::string s = "hello";
  std::map<std::string, int> m;
  std::unordered_map<int, double> u;
  int *d = malloc_device<int>(8, q), *r = malloc_shared<int>(1, q);
  {statements}
  return 3;
}}"""
    result = xe.load(text).run()
    assert result.output.split("\n")[:-1] == list(HOST.values())
    assert result.exit_code == 3


REFUSED = {
    "a hierarchical kernel": (
        "q.submit([&](handler &h) { h.parallel_for_work_group(range<1>(4), range<1>(16), [=](group<1> g) {"
        " g.parallel_for_work_item([&](h_item<1> it) { p[it.get_global_id(0)] = 1; }); }); });",
        "parallel_for_work_group); write parallel_for over nd_range",
    ),
    "an atomic of a pointer": (
        "q.parallel_for(64, [=](id<1> i) { int *z = p; "
        "atomic_ref<int *, memory_order::relaxed, memory_scope::device> a(z); a.fetch_add(1); });",
        "an atomic of a pointer; keep an index",
    ),
    "a function of oneMKL": (
        "oneapi::mkl::blas::column_major::scal(q, 64, 2.0f, p, 1).wait(); q.single_task([=] { p[0] = 1; });",
        "oneMKL's blas::scal; write the kernel",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_emulated_is_refused_where_it_is_run(case):
    statements, words = REFUSED[case]
    text = f"""
#include <sycl/sycl.hpp>
#include <oneapi/mkl.hpp>
using namespace sycl;
int main() {{
  sycl::queue q;
  int *p = malloc_shared<int>(64, q);
  {statements}
}}"""
    kernels = xe.load(text)
    assert len(kernels) == 1  # the rest of the file is read all the same
    with pytest.raises(xe.Error, match="not supported: ") as refused:
        kernels.run()
    assert words in str(refused.value)
    assert ":8:" in str(refused.value)


def test_a_span_is_reduced_element_by_element():
    program = """
#include <sycl/sycl.hpp>
using namespace sycl;
int main() {
  queue q;
  int *bins = malloc_shared<int>(4, q);
  float *most = malloc_shared<float>(2, q);
  for (int i = 0; i < 4; ++i) bins[i] = 100;
  auto counted = reduction(span<int, 4>(bins, 4), plus<>());
  property::reduction::initialize_to_identity anew;
  auto largest = reduction(span<float, 2>(most, 2), -1.0f, maximum<float>(), anew);
  q.parallel_for(range<1>(18), counted, [=](id<1> i, auto &b) { b[i % 4] += 2; b[0]++; }).wait();
  q.parallel_for(nd_range<1>(32, 16), largest, [=](nd_item<1> it, auto &m) {
     m[it.get_local_id(0) % 2].combine(it.get_global_id(0));
  }).wait();
}
"""
    arrays = xe.load(program).run().arrays
    np.testing.assert_array_equal(arrays["bins"], [100 + 10 + 18, 110, 108, 108])
    np.testing.assert_array_equal(arrays["most"], [30, 31])


def test_a_hint_about_a_reduction_does_not_ask_for_what_its_runtime_does():
    text = """#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *a = sycl::malloc_shared<int>(65536, q), *s = sycl::malloc_shared<int>(1, q);
  q.parallel_for(sycl::range<1>(65536), sycl::reduction(s, sycl::plus<int>()), [=](sycl::id<1> i, auto &sum) {
    sum += a[i];
  }).wait();
  q.parallel_for(sycl::range<1>(65536), [=](sycl::id<1> i) {
    sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device>(*s) += a[i];
  }).wait();
}"""
    kernels = xe.load(text)
    arrays = np.zeros(65536, np.int32), np.zeros(1, np.int32)
    hints = [xe.estimate(kernels[line])(*arrays[::order]).hints[0] for line, order in ((5, -1), (8, 1))]
    assert [hint.kind for hint in hints] == ["reduction over a range", "contended atomics"]
    assert "Launch the reduction over an nd_range" in hints[0].text


def test_a_buffer_of_no_host_memory_has_its_own():
    program = """
#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *nothing = nullptr, total = 0;
  sycl::buffer<int> b(nothing, 4);
  q.submit([&](sycl::handler &h) {
    sycl::accessor a(b, h, sycl::write_only, sycl::no_init);
    h.parallel_for(4, [=](sycl::id<1> i) { a[i] = i[0] + 1; });
  });
  sycl::host_accessor a(b);
  for (int i = 0; i < 4; ++i) total += a[i];
  return total;
}
"""
    assert xe.load(program).run().exit_code == 10

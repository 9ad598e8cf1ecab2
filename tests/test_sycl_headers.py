"""Our headers of SYCL and the C++ library: each subject parses without a word, mistakes are the compiler's errors."""

import functools
import pathlib

import pytest

import xeemu.frontends.cplusplus

cindex = pytest.importorskip("clang.cindex")

HEADERS = pathlib.Path(xeemu.frontends.cplusplus.__file__).parent / "headers"
OPTIONS = [
    "-x", "c++", "-std=c++20", "-nostdinc", "-nostdinc++", "-target", "x86_64-unknown-linux-gnu", "-Wall",
    "-Wno-unused", "-Wno-unknown-attributes", "-I", str(HEADERS),
]  # fmt: skip


@functools.cache
def index():
    return cindex.Index.create()


def said(text):
    """What the compiler says of a file, one text for each diagnostic."""
    unit = index().parse("program.cpp", args=OPTIONS, unsaved_files=[("program.cpp", text)])
    return [f"{d.location.file}:{d.location.line}: {d.spelling}" for d in unit.diagnostics]


def program(statements, before=""):
    return f"#include <sycl/sycl.hpp>\n{before}\nint main() {{\n  sycl::queue q;\n{statements}\n}}\n"


def kernel(statements, kind="nd_range<1>(256, 64)", item="nd_item<1>", setup=""):
    """A program of one kernel over `float *p`, with local memory `l`."""
    return program(
        f"""
  using namespace sycl;
  float *p = malloc_shared<float>(256, q);
  int *n = malloc_device<int>(256, q);
  {setup}
  q.submit([&](handler &h) {{
    local_accessor<float, 1> l(range<1>(64), h);
    h.parallel_for({kind}, [=]({item} it) {{
{statements}
    }});
  }}).wait();"""
    )


SUBJECTS = {
    "ids": kernel("""
      size_t i = it.get_global_id(0) + it.get_local_id(0) * it.get_local_range(0) + it.get_group(0);
      id<1> g = it.get_global_id() + id<1>(3), k = g * 2 - 1;
      i += it.get_group().get_group_id(0) + it.get_group_range(0) + it.get_group_linear_id() + it.get_group()[0];
      i += it.get_global_linear_id() + it.get_local_linear_id() + it.get_global_range().size() + it.get_offset()[0];
      if (g == 3 && k < 5 && g != k && it.get_group().leader()) p[g] = i;
      ++k;
      p[k] = k[0] % 3;
      p[it.get_nd_range().get_local_range()[0]] = 1;"""),
    "ids of three dimensions": kernel(
        """
      id<3> g = it.get_global_id(), k = (g + id<3>(1, 2, 3)) / 2;
      range<3> r = it.get_global_range() * 2u;
      g += k;
      g <<= 1;
      if (g == k || (g < k)[0]) p[g[2] * r[0] + r.get(1)] = r.size() + it.get_group(2);""",
        "nd_range(range(4, 4, 16), range{1, 4, 16})",
        "nd_item<3>",
    ),
    "items": program("""
  using namespace sycl;
  int *p = malloc_shared<int>(100, q);
  q.parallel_for(100, [=](auto i) { p[i] = i; });
  q.parallel_for(range<1>(100), [=](id<1> i) { p[i] = i[0] + i; });
  q.parallel_for(range{100}, [=](item<1> i) { p[i] = i.get_id(0) + i[0] + i.get_range(0) + i.get_linear_id(); });
  q.parallel_for(100, [=](int i) { p[i] = i; });
  q.parallel_for({10, 10}, [=](id<2> i) { p[i[0] * 10 + i[1]] = 2; });
  q.parallel_for(range<3>(2, 5, 10), [=](item<3> i) { p[i.get_linear_id()] = i[2]; });
  q.parallel_for(range<1>(10), id<1>(5), [=](id<1> i) { p[i] = 1; });
  q.parallel_for(nd_range<2>({8, 8}, {2, 8}), [=](auto it) { p[it.get_global_linear_id()] = it.get_group(0); });
  q.single_task([=] { p[0] = 1; }).wait();"""),
    "named kernels": program(
        """
  sycl::buffer<float> b(100);
  q.submit([&](sycl::handler &h) {
    sycl::accessor a{b, h, sycl::read_write, sycl::no_init};
    h.parallel_for<class Scale>(sycl::range(100), Functor<float>{a});
    h.parallel_for<Named<int>>(sycl::nd_range<1>{100, 10}, [=](sycl::nd_item<1> it)
      [[intel::reqd_sub_group_size(16)]] { a[it.get_global_id()] += 1; });
  });""",
        """template <class T> class Named;
template <class T> struct Functor {
  sycl::accessor<T, 1> a;
  void operator()(sycl::item<1> it) const { a[it] = it[0]; }
};""",
    ),
    "buffers": program("""
  using namespace sycl;
  std::vector<float> v(100);
  const std::vector<int> c(100, 3);
  float plain[100];
  buffer a(v);
  buffer<float, 1> a1{v.data(), range<1>{100}, {property::buffer::use_host_ptr()}};
  buffer<float, 2> a2{range<2>(10, 10)};
  buffer<int, 1> a3(c.data(), c.size());
  buffer a4(c);
  buffer a5(v.begin(), v.end());
  buffer a6(plain, range(100));
  buffer<float, 3> a7(v.data(), {2, 5, 10});
  buffer part(a1, id<1>(10), range<1>(20));
  auto bytes = a1.reinterpret<unsigned char>(range<1>(400));
  a2.set_final_data(v.data());
  a3.set_final_data(nullptr);
  auto h1 = a1.get_access<access::mode::read>();
  host_accessor h2(a1, read_only);
  host_accessor h3{a2};
  host_accessor h4(a4, read_only);
  std::cout << h1[3] + h2[id<1>(3)] + h3[1][2] + h3[{1, 2}] + a1.get_host_access()[0] + part.size() + h4[0];
  for (float &x : h3) x = 2;"""),
    "accessors": program("""
  using namespace sycl;
  buffer<float, 1> b1(100);
  buffer<float, 2> b2({10, 10});
  buffer<float, 3> b3(range(2, 5, 10));
  accessor waiting(b1, read_only);
  q.submit([&](handler &h) {
    auto r = b1.get_access<access::mode::read>(h);
    auto w = b2.get_access<access::mode::discard_write>(h);
    accessor all(b3, h);
    accessor out{b1, h, write_only, no_init};
    accessor some(b2, h, range<2>(2, 3), id<2>(1, 1), read_write);
    accessor<float, 1, access::mode::read_write, access::target::global_buffer> full(b1, h, range<1>(50));
    auto constants = b1.get_access<access::mode::read, access::target::constant_buffer>(h);
    h.require(waiting);
    h.parallel_for(range<2>(10, 10), [=](item<2> it) {
      w[it] = r[it[0]] + waiting[0] + constants[1];
      w[it.get_id(0)][1] = some[it.get_id()] + all[1][2][3] + all[id<3>(0, 1, 2)] + all.size();
      w[{1, 2}] += out.get_range()[0] + *r.get_pointer() + *full.begin();
      atomic_ref<float, memory_order::relaxed, memory_scope::device> x(out.get_multi_ptr<access::decorated::no>()[3]);
      x += some.get_offset()[0];
    });
  });"""),
    "local memory": program("""
  using namespace sycl;
  q.submit([&](handler &h) {
    local_accessor<int, 1> a(64, h);
    local_accessor<float, 2> b({4, 8}, h);
    accessor<int, 1, access::mode::read_write, access::target::local> c(range<1>(64), h);
    accessor<float, 3, access::mode::read_write, access::target::local> d(range<3>(2, 2, 2), h);
    local_accessor<int> e{range{4}, h};
    h.parallel_for(nd_range<1>(64, 64), [=](nd_item<1> it) {
      int i = it.get_local_id(0);
      a[i] = b[1][2] + b[id<2>(1, 2)] + d[1][1][0] + a.size();
      local_ptr<int> p = c.get_pointer();
      p[i] = a[63 - i];
      int *q = &a[0];
      it.barrier(access::fence_space::local_space);
      group_barrier(it.get_group());
      group_barrier(it.get_sub_group(), memory_scope::sub_group);
      it.async_work_group_copy(c.get_pointer(), a.get_pointer(), 64).wait();
      atomic_fence(memory_order::acq_rel, memory_scope::work_group);
      if (e.begin() != e.end()) it.mem_fence(access::fence_space::global_space);
      q[0] = it.get_group().get_local_linear_range();
    });
  });"""),
    "atomics": kernel("""
      atomic_ref<int, memory_order::relaxed, memory_scope::device, access::address_space::global_space> a(n[0]);
      atomic_ref<float, memory_order_acq_rel, memory_scope_work_group, access::address_space::local_space> f(l[0]);
      int old = a.fetch_add(1) + a.fetch_min(2) + a.fetch_xor(3) + a.load() + a++;
      a.store(old, memory_order::release);
      a |= 3;
      f.fetch_max(1.0f);
      f += 2;
      while (!a.compare_exchange_strong(old, old + 1)) {}
      atomic<int> before{global_ptr<int>(n + 1)};
      before.fetch_add(1);
      ext::oneapi::atomic_ref<unsigned long, ext::oneapi::memory_order::relaxed, ext::oneapi::memory_scope::device,
                              access::address_space::global_space> c(*(unsigned long *)n);
      c.fetch_add(1);"""),
    "groups": kernel("""
      auto g = it.get_group();
      sub_group sg = it.get_sub_group();
      float x = reduce_over_group(g, p[0], plus<>()) + reduce_over_group(sg, p[0], 1.0f, maximum<float>());
      x += inclusive_scan_over_group(sg, x, plus<float>()) + exclusive_scan_over_group(g, x, 0.0f, plus<>());
      x += joint_reduce(g, p, p + 256, plus<>()) + group_broadcast(g, x) + group_broadcast(sg, x, 3);
      joint_exclusive_scan(g, p, p + 64, p + 128, 0.0f, plus<>());
      x += shift_group_left(sg, x, 1) + shift_group_right(sg, x) + permute_group_by_xor(sg, x, 4);
      x += select_from_group(sg, x, sg.get_local_id()) + sg.shuffle_down(x, 1) + sg.shuffle_xor(x, 2);
      sg.store(&p[0], sg.load(&p[64]));
      sg.store(global_ptr<float>(p), sg.load<4>(global_ptr<float>(p)));
      if (any_of_group(g, x > 1) && all_of_group(sg, x, [](float y) { return y > 1; }) && !none_of_group(sg, true))
        p[sg.get_group_id()[0] * sg.get_max_local_range()[0] + sg.get_local_linear_id()] = x;
      auto mask = ext::oneapi::group_ballot(sg, x > 0);
      p[0] = mask.count() + mask.find_low()[0];
      sg.barrier();"""),
    "vectors": kernel("""
      float4 a(1.0f), b{1, 2, 3, 4}, c = a * 2.0f + b / a;
      int4 less = a < b;
      c.x() = b.s3() + b[2];
      c += a;
      c[3] = 1;
      vec<float, 8> both(a, b);
      float2 low = both.lo().hi(), part = b.swizzle<elem::z, elem::x>();
      half2 h = low.convert<half, rounding_mode::rte>();
      uint4 bits = c.as<uint4>() ^ 3u;
      c.load(0, global_ptr<float>(p));
      c.store(1, global_ptr<const float>(p).get() == nullptr ? p : p);
      double3 d = b.xyz().convert<double>();
      if (any(less) || all(isgreater(a, b))) p[0] = select(a, b, less).x() + part.y() + h.x() + bits.w() + d.z();
      marray<int, 5> m(1, 2, 3, 4, 5);
      m = m * 2 + m;
      mfloat4 f(2.0f);
      n[0] = m[4] + (m == m)[0] + sizeof(float3) + f.size() + (-c).w();"""),
    "mathematics": kernel("""
      float x = p[0];
      float4 v(x);
      double y = sycl::exp(2.0) + sycl::floor(x);
      x = sycl::sqrt(x) + sycl::sin(x) + sycl::pow(x, 2.0f) + sycl::fma(x, x, x) + sycl::native::exp(x);
      x += sycl::fmax(x, 1.0f) + sycl::clamp(x, 0.0f, 1.0f) + sycl::mix(x, x, 0.5f) + sycl::half_precision::cos(x);
      x += std::sqrt(x) + std::pow(x, 2) + sinf(x) + fabs(x) + std::fmax(x, 2.0f) + std::abs(x) + sycl::pown(x, 3);
      v = sycl::sin(v) + sycl::fmax(v, 1.0f) + sycl::normalize(v) * sycl::dot(v, v) + sycl::length(v);
      float3 c = sycl::cross(float3(1, 2, 3), v.xyz());
      int i = sycl::abs(-3) + sycl::max(3, n[0]) + sycl::clz(n[1]) + sycl::popcount(n[2]) + std::abs(-4);
      i += sycl::mul24(3, 4);
      int4 w = sycl::max(int4(1), int4(2)) + sycl::mad_sat(int4(1), int4(2), int4(3));
      float whole, cosine;
      int exponent;
      x += sycl::modf(x, &whole) + sycl::sincos(x, private_ptr<float>(&cosine)) + sycl::frexp(x, &exponent);
      if (sycl::isnan(x) || sycl::isless(x, 1.0f) || sycl::signbit(y)) n[0] = i + w.x();
      half h = x;
      p[1] = x + c.x() + sycl::bit_cast<float>(i) + h * half(2.0f) + sycl::exp(h);"""),
    "pointers": kernel("""
      global_ptr<float> a(p);
      multi_ptr<const float, access::address_space::global_space> b(a);
      auto c = address_space_cast<access::address_space::global_space, access::decorated::no>(p);
      decorated_local_ptr<float> d = l.get_multi_ptr<access::decorated::yes>();
      a[0] = *b + c[1] + *(d + 1) + a.get()[2] + *c.get_raw();
      raw_global_ptr<void> e(c);
      ++a;
      p[0] = *a + *static_cast<global_ptr<float>>(e);"""),
    "reductions": program("""
  using namespace sycl;
  float *data = malloc_shared<float>(100, q), *sum = malloc_shared<float>(1, q);
  int *most = malloc_shared<int>(1, q);
  buffer<float> total(sum, 1);
  event e = q.parallel_for(100, reduction(sum, plus<>()), [=](id<1> i, auto &s) { s += data[i]; });
  q.parallel_for(nd_range<1>(100, 10), e, reduction(most, 0, maximum<int>(),
                 property::reduction::initialize_to_identity{}),
                 [=](nd_item<1> it, auto &m) { m.combine(data[it.get_global_id(0)]); });
  q.submit([&](handler &h) {
    accessor a(total, h, read_only);
    h.parallel_for(range<2>(10, 10), reduction(sum, multiplies<float>()), reduction(most, minimum<>()),
                   [=](item<2> it, auto &s, reducer<int, minimum<>> &m) { s *= data[it[0]]; m.combine(3); });
    h.parallel_for(range<1>(100), reduction(total, h, std::plus<float>()), [=](id<1> i, auto &s) { s++; });
  });"""),
    "queues": program("""
  using namespace sycl;
  queue a{gpu_selector_v, property::queue::in_order()}, b(default_selector{}, [](exception_list all) {
    for (auto &e : all) try { std::rethrow_exception(e); } catch (const sycl::exception &x) { std::cout << x.what(); }
  }), c({property::queue::enable_profiling(), property::queue::in_order{}}), d(q.get_context(), q.get_device());
  int *p = malloc_shared<int>(100, a), *r = sycl::malloc<int>(10, q, usm::alloc::device);
  void *raw = aligned_alloc_device(64, 400, q);
  event e = a.memcpy(p, r, 40), f = a.fill(p, 3, 100);
  a.memset(p, 0, 400).wait();
  a.prefetch(p, 400);
  a.parallel_for(range<1>(10), {e, f}, [=](id<1> i) { p[i] = 1; });
  event g = a.submit([&](handler &h) {
    h.depends_on(e);
    h.depends_on({e, f});
    h.single_task<class once>([=] { p[0] = 1; });
  });
  a.submit([&](handler &h) { h.host_task([=] { p[0] = 2; }); });
  a.copy(r, p, 10, g).wait_and_throw();
  unsigned long ns = g.get_profiling_info<info::event_profiling::command_end>();
  event::wait({e, g});
  free(p, a);
  free(raw, q.get_context());
  usm_allocator<int, usm::alloc::shared> allocator(q);
  std::vector<int, decltype(allocator)> v(10, allocator);
  std::cout << ns << v.size() << a.is_in_order();"""),
    "devices": program("""
  using namespace sycl;
  device d = q.get_device();
  std::cout << d.get_info<info::device::name>() << d.get_info<info::device::max_work_group_size>()
            << d.get_info<info::device::max_work_item_sizes<3>>()[0] << d.is_gpu() << d.has(aspect::fp64)
            << d.get_platform().get_info<info::platform::name>() << device::get_devices().size();
  for (size_t s : d.get_info<info::device::sub_group_sizes>()) std::cout << s;
  if (d.get_info<info::device::local_mem_type>() == info::local_mem_type::local) std::cout << "local";
  try { q.wait_and_throw(); } catch (sycl::exception const &e) { if (e.code() == errc::nd_range) throw; }
  for (auto &p : platform::get_platforms()) for (auto &x : p.get_devices()) std::cout << (x == d);"""),
    "streams": program("""
  using namespace sycl;
  q.submit([&](handler &h) {
    stream out(1024, 256, h);
    h.parallel_for(10, [=](id<1> i) {
      out << "i = " << i << ' ' << 2.5f << sycl::setw(3) << float2(1, 2) << sycl::endl;
      ext::oneapi::experimental::printf("%d\\n", 3);
    });
  });"""),
    "constants": program(
        """
  q.submit([&](sycl::handler &h) {
    h.single_task([=](sycl::kernel_handler k) { int n = k.get_specialization_constant<size>(); });
  });
  sycl::ext::oneapi::sub_group g;""",
        "constexpr sycl::specialization_id<int> size(32);",
    ),
    "SYCL 1.2.1": """#include <CL/sycl.hpp>
namespace s = cl::sycl;
using namespace cl::sycl;
int main() {
  cl::sycl::queue q{cl::sycl::gpu_selector{}};
  vector_class<cl_float> v(10);
  s::buffer<cl_int, 1> b{cl::sycl::range<1>(10)};
  q.submit([&](cl::sycl::handler &h) {
    auto a = b.get_access<cl::sycl::access::mode::atomic>(h);
    h.parallel_for<class old>(cl::sycl::range<1>(10), [=](cl::sycl::id<1> i) {
      atomic_fetch_add(a[i], 1);
      a[0].fetch_max(3);
    });
  });
  string_class t = q.get_device().get_info<info::device::vendor>();
}
""",
    "the C++ library": """
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <vector>
int twice(int x) { return 2 * x; }
int main(int count, char **texts) {
  std::vector<int> v{3, 1, 2}, w(v.rbegin(), v.rend());
  std::sort(v.begin(), v.end(), [](int a, int b) { return a > b; });
  std::iota(w.begin(), w.end(), 0);
  int sum = std::accumulate(v.begin(), v.end(), 0) + *std::max_element(w.begin(), w.end()) + std::max({1, 2, 3});
  std::transform(v.begin(), v.end(), w.begin(), twice);
  std::array<float, 4> a{1, 2, 3, 4};
  auto [low, high] = std::minmax(1, 2);
  auto [x, y] = std::make_tuple(1, 2.5);
  std::tie(sum, std::ignore) = std::make_pair(3, 4);
  std::map<std::string, int> m{{"a", 1}};
  m["b"] = 2;
  for (auto &[key, value] : m) std::cout << key << ": " << std::setw(4) << value << std::endl;
  std::unordered_map<int, std::vector<double>> u;
  u[3].push_back(1.5);
  std::set<int> s(v.begin(), v.end());
  std::function<int(int)> f = twice;
  f = [&](int n) { return n + sum; };
  std::unique_ptr<float[]> p(new float[10]);
  auto shared = std::make_shared<std::vector<int>>(10, 1);
  std::optional<int> o = f(3);
  std::mt19937 engine(std::random_device{}());
  std::uniform_real_distribution<float> real(0.0f, 1.0f);
  std::normal_distribution<> normal;
  auto start = std::chrono::high_resolution_clock::now();
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
  std::complex<double> z = std::exp(std::complex<double>(0, std::numbers::pi)) * 2.0;
  std::string name = "n", text = name + " = " + std::to_string(sum) + (name == "a" ? "" : name.substr(0, 2)).c_str();
  std::stringstream stream;
  stream << std::fixed << std::setprecision(3) << z << text << std::hex << us;
  std::ofstream file("out.txt");
  std::printf("%s %d %f\\n", text.c_str(), std::atoi(texts[1]), real(engine) + normal(engine) + std::abs(z));
  std::memset(a.data(), 0, sizeof(a));
  assert(a.size() == 4 && "four");
  static_assert(std::numeric_limits<int>::max() == 2147483647 && std::is_same_v<std::decay_t<const int &>, int>);
  static_assert(std::popcount(7u) == 3 && std::numeric_limits<float>::infinity() > std::numeric_limits<float>::max());
  std::thread thread([&] { sum += y; });
  thread.join();
  if (count < 2) throw std::runtime_error("no arguments: " + text);
  if (!file) std::exit(EXIT_FAILURE);
  return std::equal(v.begin(), v.end(), w.begin()) ? std::span<int>(v)[0] + *o + x + low + high + (int)fmin(1.0, 2) : 1;
}
""",
}


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_subject_parses_without_a_word(subject):
    assert said(SUBJECTS[subject]) == []


MISTAKES = {
    "a range and an id of other dimensions": (
        program("sycl::range<2> r(1, 2);\nauto x = r + sycl::id<3>(1, 2, 3);"),
        6,
        "invalid operands",
    ),
    "an nd_range of two dimensions": (program("sycl::nd_range n(sycl::range(2), sycl::range(2, 2));"), 5, "no viable"),
    "too many coordinates": (program("sycl::id<2> i(1, 2, 3);"), 5, "no matching constructor"),
    "an accessor that reads is written": (
        program("""sycl::buffer<int> b(10);
  q.submit([&](sycl::handler &h) {
    sycl::accessor a(b, h, sycl::read_only);
    h.parallel_for(10, [=](sycl::id<1> i) { a[i] = 1; });
  });"""),
        8,
        "read-only|not assignable|const",
    ),
    "a kernel of the wrong dimension": (
        program("q.parallel_for(sycl::range<2>(1, 2), [=](sycl::id<1> i) {});"),
        0,
        "no matching function",
    ),
    "an accessor indexed by an id of another dimension": (
        program("""sycl::buffer<int, 2> b(sycl::range<2>(10, 10));
  sycl::host_accessor a(b);
  int x = a[sycl::id<3>(1, 2, 3)];"""),
        7,
        "no viable overloaded operator|no viable conversion",
    ),
    "vectors of different sizes": (program("auto x = sycl::float4(1) + sycl::float2(1, 2);"), 5, "different size"),
    "a swizzle that is assigned": (program("sycl::float4 x(1);\nx.lo() = sycl::float2(1);"), 6, "no viable overloaded"),
    "bits of a float": (
        program("float x = 0;\nsycl::atomic_ref<float, sycl::memory_order::relaxed, sycl::memory_scope::device> a(x);\n"
                "a.fetch_and(1);"),
        7,
        "no matching member|invalid reference",
    ),
    "a captured variable is changed": (
        program("int n = 0;\nq.single_task([=] { n = 1; });"),
        6,
        "cannot assign",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_an_error(mistake):
    text, line, words = MISTAKES[mistake]
    found = said(text)
    assert any(w in f for f in found for w in words.split("|")), found
    assert not line or any(f.startswith(f"program.cpp:{line}:") for f in found), found


FILES = [str(p.relative_to(HEADERS)) for p in HEADERS.rglob("*") if p.is_file() and p.suffix != ".def"]


def test_all_headers_go_together():
    assert said("".join(f"#include <{f}>\n#include <{f}>\n" for f in sorted(FILES))) == []


@pytest.mark.thorough
def test_our_own_headers_stand_alone():
    for header in FILES:
        if header.startswith(("xeemu/", "sycl/detail/")):
            assert said(f"#include <{header}>") == [], header

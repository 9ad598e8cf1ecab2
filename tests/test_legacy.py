"""Names of SYCL 1.2.1 and of the oneAPI compiler before SYCL 2020: what they compute, and what is refused of them."""

import numpy as np
import pytest

import xeemu as xe

pytest.importorskip("clang.cindex")

PROGRAM = """
#include <CL/sycl.hpp>
#include <bitset>
#include <iostream>
using namespace cl::sycl;
class named;
int main() {{
  queue q;
  int x[64], y[64];
  for (int i = 0; i < 64; ++i) x[i] = i * 7 % 31, y[i] = 0;
  {{
    buffer<int> from(x, 64), to(y, 64);
    {statements}
  }}
  for (int i = 0; i < 64; ++i) std::cout << y[i] << ' ';
}}
"""
GROUPED = """
    q.submit([&](handler &h) {{
      auto a = from.get_access<access::mode::read>(h);
      auto b = to.get_access<access::mode::read_write>(h);
      h.parallel_for<named>(nd_range<1>(64, 16), [=](nd_item<1> it) {{
        auto g = it.get_group();
        int i = it.get_global_id(0), k = it.get_local_id(0);
        {statements}
      }});
    }});"""
X = np.arange(64) * 7 % 31
GROUPS = X.reshape(4, 16)


def run(statements):
    return xe.load(PROGRAM.format(statements=statements)).run()


def printed(statements):
    return np.array(run(statements).output.split(), int)


SUMMED = {
    "of values": ("b[i] = ONEAPI::reduce(g, a[i], ONEAPI::plus<>());", np.repeat(GROUPS.sum(1), 16)),
    "of memory": (
        "b[i] = ONEAPI::reduce(g, a.get_pointer(), a.get_pointer() + 64, 5, ONEAPI::plus<>());",
        np.full(64, X.sum() + 5),
    ),
    "a scan of memory": (
        "if (it.get_group(0) == 0) ONEAPI::exclusive_scan(g, a.get_pointer(), a.get_pointer() + 64, b.get_pointer(),"
        " ONEAPI::plus<>());",
        X.cumsum() - X,
    ),
    "a vote of memory": (
        "b[i] = ONEAPI::any_of(g, a.get_pointer(), a.get_pointer() + 64, [](int v) { return v == 30; }) + 2 * "
        "ONEAPI::all_of(g, a[i], [](int v) { return v < 30; }) + 4 * ONEAPI::none_of(g, a[i] > 29);",
        1 + 6 * np.repeat((GROUPS < 30).all(1), 16),
    ),
    "a leader": (
        "using namespace ONEAPI; if (leader(g)) b[i] = 1;",
        np.arange(64) % 16 == 0,
    ),
    "a store of a sub-group": (
        "auto s = it.get_sub_group(); int first = i - s.get_local_id()[0]; "
        "s.store<int>(b.get_pointer() + first, s.load<const volatile int>(a.get_pointer() + first));",
        X,
    ),
}  # fmt: skip


@pytest.mark.every(2)
@pytest.mark.parametrize("case", SUMMED)
def test_functions_of_groups(case):
    statements, expected = SUMMED[case]
    np.testing.assert_array_equal(printed(GROUPED.format(statements=statements)), expected)


def test_an_atomic_accessor_gives_atomic_references():
    counted = printed("""
    q.submit([&](handler &h) {
      auto a = from.get_access<access::mode::read>(h);
      ONEAPI::atomic_accessor b(to, h, ONEAPI::relaxed_order, ONEAPI::device_scope);
      h.parallel_for(64, [=](id<1> i) { b[a[i]].fetch_add(1); });
    });""")
    np.testing.assert_array_equal(counted, np.bincount(X, minlength=64))


def test_a_kernel_is_launched_by_its_program():
    doubled = printed("""
    program p(q.get_context());
    p.build_with_kernel_type<named>();
    q.submit_barrier();
    q.submit([&](handler &h) {
      auto a = from.get_access<access::mode::read>(h);
      auto b = to.get_access<access::mode::write>(h);
      h.parallel_for<named>(p.get_kernel<named>(), range<1>(64), [=](id<1> i) { b[i] = 2 * a[i]; });
    });""")
    np.testing.assert_array_equal(doubled, 2 * X)


def test_the_number_of_sub_groups_that_a_kernel_requires_is_none():
    text = """#include <CL/sycl.hpp>
    #include <iostream>
    using namespace cl::sycl;
    class named;
    int main() {
      queue q;
      program p(q.get_context());
      p.build_with_kernel_type<named>();
      kernel k = p.get_kernel<named>();
      std::cout << k.get_info<info::kernel_device_specific::compile_num_sub_groups>(q.get_device());
      q.submit([&](handler &h) { h.single_task<named>(k, [=] {}); });
    }"""
    assert xe.load(text).run().output == "0"


REFUSED = {
    "what a kernel takes": (
        "program p(q.get_context()); p.build_with_kernel_type<named>(); "
        "p.get_kernel<named>().get_info<info::kernel::num_args>();",
        "what is asked of a kernel's object: its name, arguments",
    ),
    "a program's text": (
        'program p(q.get_context()); p.build_with_source("kernel void f() {}");',
        "given as text; write the text to a file and load that",
    ),
    "an item at an offset": (
        "q.submit([&](handler &h) { h.parallel_for(range<1>(4), id<1>(2), [=](item<1> i) {}); });",
        "leave the offset out, and add it to the id in the kernel",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused_says_what_to_write(case):
    statements, words = REFUSED[case]
    with pytest.raises(xe.Error, match=r":13:") as refused:
        run(statements)
    assert words in str(refused.value)


# --- What a program hands over ---


def test_reductions_of_what_has_no_atomics_are_combined_by_the_host():
    program = """
#include <sycl/sycl.hpp>
struct pair { short low, high; };
struct widest { pair operator()(const pair &a, const pair &b) const {
  return {a.low < b.low ? a.low : b.low, a.high < b.high ? b.high : a.high}; } };
int main() {
  sycl::queue q;
  short *x = sycl::malloc_shared<short>(64, q), *sum = sycl::malloc_shared<short>(1, q);
  pair *range = sycl::malloc_shared<pair>(1, q);
  for (int i = 0; i < 64; ++i) x[i] = i * 7 % 31 - 5;
  *sum = 3, *range = {100, -100};
  q.parallel_for(sycl::nd_range<1>(64, 16), sycl::reduction(sum, sycl::plus<short>()),
                 sycl::reduction(range, pair{100, -100}, widest()), [=](sycl::nd_item<1> it, auto &s, auto &r) {
    short one = x[it.get_global_id(0)];
    s += one;
    r.combine({one, one});
  }).wait();
}
"""
    arrays = xe.load(program).run().arrays
    x = np.arange(64) * 7 % 31 - 5
    assert arrays["sum"] == 3 + x.sum()
    assert arrays["range"].tolist() == [(x.min(), x.max())]


NULLS = """
#include <sycl/sycl.hpp>
#include <iostream>
int main() {{
  sycl::queue q;
  int *x = sycl::malloc_shared<int>(4, q), *y = sycl::malloc_shared<int>(4, q);
  q.memset(x, 0, 16).wait();
  q.memcpy(y, x, 16).wait();
  q.memcpy(nullptr, x, 0).wait();
  {statements}
}}
"""


def test_a_copy_to_a_null_pointer_is_an_exception():
    tried = "".join(
        f'try {{ {call}; std::cout << "none "; }} catch (sycl::runtime_error &e) {{ std::cout << e.what() << ". "; }}'
        for call in ("q.memcpy(nullptr, x, 16)", "q.memset(nullptr, 1, 16)")
    )
    said = xe.load(NULLS.format(statements=tried)).run().output
    assert said.startswith("memcpy is given a null pointer; ")
    assert ". memset is given a null pointer; " in said
    with pytest.raises(xe.KernelError, match=r"memcpy is given a null pointer; allocate(.|\n)*:10:"):
        xe.load(NULLS.format(statements="q.memcpy(x, nullptr, 16);")).run()


def test_lists_begin_members_that_are_references():
    program = """
#include <iostream>
#include <sycl/sycl.hpp>
struct both { int first; int &second; };
int main() {
  int n = 5;
  both a{1, n}, b{.first = 2, .second = a.second};
  b.second = 7;
  std::cout << a.first << b.first << a.second << n;
}
"""
    assert xe.load(program).run().output == "1277"


@pytest.mark.parametrize(
    ("declared", "name"),
    [('std::array<std::string, 2> a{"one", "two"};', "basic_string"), ("held h{{10}};", "sycl::buffer<int>")],
)
def test_constructors_of_items_that_the_parser_does_not_tell_are_refused(declared, name):
    program = f"""
#include <sycl/sycl.hpp>
#include <array>
struct held {{ sycl::buffer<int> b; }};
int main() {{
  {declared}
}}
"""
    with pytest.raises(xe.KernelError, match=rf"{name}.* by a constructor that is not told; write .*\(\.\.\.\)"):
        xe.load(program).run()


def test_a_kernel_given_a_member_leaves_the_object_s_pointers():
    program = """
#include <sycl/sycl.hpp>
#include <iostream>
struct whole { int *other; int total; };
int main() {
  sycl::queue q;
  int five = 5;
  whole w{&five, 1};
  {
    sycl::buffer<int> b(&w.total, 1);
    q.submit([&](sycl::handler &h) {
      sycl::accessor a(b, h);
      h.single_task([=] { a[0] += 2; });
    });
  }
  std::cout << w.total << *w.other;
}
"""
    assert xe.load(program).run().output == "35"


def test_names_of_members_are_no_sizes_where_they_are_no_numbers():
    program = """
#include <sycl/sycl.hpp>
struct residual { std::vector<float> r, s; };
int main() {
  sycl::queue q;
  residual all;
  all.r.resize(4);
  all.s.resize(4);
  sycl::buffer<float> b(all.s.data(), 4);
  q.submit([&](sycl::handler &h) {
    sycl::accessor a(b, h);
    h.parallel_for(4, [=](sycl::id<1> i) { a[i] = 1; });
  });
}
"""
    np.testing.assert_array_equal(xe.load(program).run().arrays["b"], np.ones(4))


def test_the_namespace_may_be_named_again_and_a_selector_may_hide_its_call():
    program = """
    #include <CL/sycl.hpp>
    #include <cstdio>
    namespace sycl = cl::sycl;
    class picky : public sycl::device_selector {
      int operator()(const sycl::device &) const override { return 1; }
    };
    int main() {
      picky chosen;
      sycl::queue q(chosen);
      auto platform = q.get_device().get_info<sycl::info::device::platform>();
      std::printf("%d %d", sycl::id<1>(2) == sycl::range<1>(3) - 1, platform == q.get_device().get_platform());
      for (auto &device : q.get_context().get_info<sycl::info::context::devices>()) std::printf(" %d", device.is_gpu());
    }
    """.replace("    namespace", "namespace")
    assert xe.load(program).run().output == "1 1 1"


def test_images_are_refused_with_what_to_write():
    program = """
    #include <CL/sycl.hpp>
    using namespace cl::sycl;
    int main() {
      float x[64] = {};
      image<2> from(x, image_channel_order::rgba, image_channel_type::fp32, range<2>(4, 4));
    }
    """
    with pytest.raises(xe.KernelError, match="images of SYCL are not emulated; write a buffer of the pixels"):
        xe.load(program)

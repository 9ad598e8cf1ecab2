"""Kernels of SYCL C++ as they stand: their names, what a launch gives them, and what is said of them."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import xeemu as xe
from xeemu.commands.cli import main as xeemu
from xeemu.frontends.sycl import plans

PROGRAM = """#include <sycl/sycl.hpp>
class reversed;
constexpr int WIDTH = 16;
struct Params { int n; float factor; };
struct Adder {
  const float *x; float *y; int n;
  [[sycl::reqd_work_group_size(2 * WIDTH)]] void operator()(sycl::nd_item<1> it) const {
    size_t i = it.get_global_id(0);
    if (i < n) y[i] += x[i];
  }
};
template <class T, int K> void scale(sycl::queue &q, T *p) {
  q.parallel_for(sycl::range<1>(100), [=](sycl::id<1> i) { p[i] = p[i] * K; });
}
int main() {
  sycl::queue q;
  constexpr int N = 128;
  std::vector<float> v(N), w(N);
  Params params{N, 2.f};
  float *d = sycl::malloc_device<float>(N, q);
  {
    sycl::buffer<float, 1> a(v.data(), N), b(w);
    q.submit([&](sycl::handler &h) {
      sycl::accessor x(a, h, sycl::read_only);
      sycl::accessor y(b, h, sycl::write_only);
      sycl::local_accessor<float, 1> t(64, h);
      h.parallel_for<reversed>(sycl::nd_range<1>(N, 64), [=](auto it) [[intel::reqd_sub_group_size(WIDTH)]] {
        int i = it.get_global_id(0), l = it.get_local_id(0);
        t[l] = x[i];
        sycl::group_barrier(it.get_group());
        y[i] = t[63 - l] * params.factor + N;
      });
    });
  }
  q.submit([&](sycl::handler &h) { h.parallel_for(sycl::nd_range<1>(N, 32), Adder{d, d, N}); });
  scale<int, 3>(q, nullptr);
  scale<float, 4>(q, nullptr);
  q.single_task([=] { d[0] = 1; });
  int *sum = sycl::malloc_shared<int>(1, q);
  q.parallel_for(sycl::range<2>(16, 16), sycl::reduction(sum, sycl::plus<int>()), [=](sycl::id<2> i, auto &s) {
    s += i[0] + i[1];
  });
}
"""
X = np.arange(128, dtype=np.float32)
Y = np.zeros_like(X)
REVERSED = X.reshape(2, 64)[:, ::-1].ravel() * 2 + 128


@pytest.fixture(scope="module")
def kernels():
    return xe.load(PROGRAM)


class TestNames:
    def test_are_classes_functions_and_lines_in_the_order_of_the_file(self, kernels):
        names = ["scale<int, 3>:13", "scale<float, 4>:13", "reversed", "Adder", "main:38", "main:40"]
        assert list(kernels) == names

    @pytest.mark.parametrize(
        ("key", "name"),
        [
            ("scale<int, 3>", "scale<int, 3>:13"),
            (27, "reversed"),
            ("38", "main:38"),
            ("main:35", "Adder"),
        ],
    )
    def test_a_function_or_a_line_with_one_kernel_will_do(self, kernels, key, name):
        assert kernels[key] is kernels[name]

    def test_a_function_with_several_is_refused_with_their_names(self, kernels):
        with pytest.raises(KeyError, match=r"2 kernels in 'scale'; write one of scale<int, 3>:13, scale<float, 4>:13"):
            kernels["scale"]

    def test_an_unknown_one_is_refused_with_the_nearest(self, kernels):
        with pytest.raises(
            xe.KernelArgumentError, match=r"no kernel 'reverse' \(did you mean 'reversed'\?\); its kern"
        ):
            kernels["reverse"]

    def test_kernels_on_one_line_are_numbered(self):
        text = """#include <sycl/sycl.hpp>
#define TWICE(p) q.single_task([=] { p[0] = 1; }); q.single_task([=] { p[0] = 2; });
void both(sycl::queue q, int *a) { TWICE(a) }
"""
        assert list(xe.load(text)) == ["both:3", "both:3#2"]

    def test_a_listing_tells_what_each_takes_and_requires(self, kernels):
        text = repr(kernels)
        for line in (
            "kernel reversed, line 27: nd_range<1>, global 128, local 64",
            "local_accessor<float, 1> t, 256 bytes",
            "accessor<float, 1, read> x, 128 elements, read only",
            "accessor<float, 1, write> y, 128 elements, written",
            "Params params = {'n': 128, 'factor': 2.0}",
            "requires sub-group size 16",
            "const float *x, 128 elements, read only",
            "requires work-group size 32",
            "kernel main:40, line 40: range<2>, global 16x16",
            "reduction<int> s, 1 elements, written",
        ):
            assert line in text

    def test_the_same_file_read_as_c_says_what_it_is(self):
        with pytest.raises(xe.KernelArgumentError, match="language='C'; write 'OpenCL C' or 'SYCL C\\+\\+'"):
            xe.load(PROGRAM, language="C")

    def test_a_suffix_or_an_include_tells_the_language(self, tmp_path):
        header = tmp_path / "kernels.txt"
        header.write_text(PROGRAM)
        source = tmp_path / "empty.cpp"
        source.write_text("int main() {}\n")
        assert "reversed" in xe.load(header)
        assert repr(xe.load(source)) == f"{source}: 0 kernels"
        assert list(xe.load("kernel void f(global int *a) { a[0] = 1; }")) == ["f"]


class TestArguments:
    def test_are_what_the_host_code_does_not_tell(self, kernels):
        assert kernels["reversed"].parameters == ("x", "y")
        np.testing.assert_array_equal(xe.launch(kernels["reversed"])(X, Y), REVERSED)

    def test_go_by_position_or_name_and_change_what_is_known(self, kernels):
        launch = xe.launch(kernels["reversed"], xe.NDRange(128, 64))
        params = {"n": 1, "factor": 3.0}
        for result in (
            launch(xe.Local(256), X, Y, params),
            launch(X, Y, params=params),
            launch(y=Y, x=X, t=(64,), params=params),
            launch(None, X, Y, params),
        ):
            np.testing.assert_array_equal(result, (REVERSED - 128) * 1.5 + 128)

    def test_a_kernel_of_a_class_takes_its_members(self, kernels):
        assert kernels["Adder"].work_group_size == (32,)
        np.testing.assert_array_equal(xe.launch(kernels["Adder"])(X, Y + 1, n=100)[99:101], [100, 1])

    def test_of_templates_have_the_types_of_the_instance(self, kernels):
        whole = np.arange(100, dtype=np.int32)
        np.testing.assert_array_equal(xe.launch(kernels["scale<int, 3>"])(whole), whole * 3)
        np.testing.assert_array_equal(xe.launch(kernels["scale<float, 4>"])(X)[99:101], [396, 100])

    def test_a_reduction_takes_what_it_is_combined_with(self, kernels):
        assert xe.launch(kernels["main:40"])(np.array([7], np.int32))[0] == 7 + 16 * 16 * 15
        assert xe.check(kernels["main:40"])(np.zeros(1, np.int32))[1] == ()

    @pytest.mark.parametrize(
        ("name", "given", "named", "message"),
        [
            ("reversed", (X,), {}, r"nothing for y; give in this order, or by name, y=np\.zeros\(n, np\.float32\)"),
            ("reversed", (X, Y), {"z": 1}, r"captures no z; it captures t, x, y, params"),
            ("reversed", (X.astype(np.float64), Y), {}, r"`accessor<float, 1, read> x` .* pass x\.astype\(np\.float32"),
            ("reversed", (X, Y), {"t": 256}, r"`local_accessor<float, 1> t` .* pass xe\.Local\(bytes\), 4 for each"),
            ("reversed", (X, Y), {"params": {"n": 1}}, r"`Params params` .* has the field factor as well"),
            ("Adder", (X, Y), {"n": 1.5}, r"`int n` of kernel Adder takes an integer, but got 1\.5"),
            ("Adder", (3, Y), {}, r"`const float \*x` of kernel Adder takes an array, but got the number 3"),
            ("Adder", (X, Y, 1, 2), {}, r"takes 3 arguments \(const float \*x, float \*y, int n\), but got 4"),
        ],
    )
    def test_that_do_not_fit_are_refused_in_terms_of_sycl(self, kernels, name, given, named, message):
        with pytest.raises(xe.KernelArgumentError, match=message):
            xe.launch(kernels[name])(*given, **named)

    def test_arrays_of_jax_are_given_back_as_such(self, kernels):
        assert isinstance(xe.launch(kernels["reversed"])(jnp.asarray(X), jnp.asarray(Y)), type(jnp.asarray(X)))


CAPTURES = """#include <sycl/sycl.hpp>
struct View { float *to; const float *from; int shift; };
void turned(sycl::queue q, sycl::buffer<float, 2> a, sycl::buffer<float, 2> b, sycl::range<2> sizes) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor in(a, h, sycl::read_only);
    sycl::accessor out(b, h, sycl::write_only, sycl::no_init);
    h.parallel_for(sizes, [=](sycl::id<2> i) { out[i[1]][i[0]] = in[i] + in.get_range()[0] + sizes[1]; });
  });
}
void shifted(sycl::queue q, View view, sycl::float4 scale) {
  q.parallel_for(sycl::nd_range<1>(64, 32), [=](sycl::nd_item<1> it) {
    int i = it.get_global_id(0);
    view.to[i] = view.from[(i + view.shift) % 64] * scale[2];
  });
}
void maybe(sycl::queue q, float *to, float *bias, int n) {
  q.parallel_for(n, [=](auto i) { to[i] = bias == nullptr ? 1 : bias[i]; });
}
void tiles(sycl::queue q, float *a, int width) {
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<float, 2> tile({width, width + 1}, h);
    h.parallel_for(sycl::nd_range<2>({32, 32}, {8, 8}), [=](sycl::nd_item<2> it) {
      int y = it.get_local_id(0), x = it.get_local_id(1);
      tile[y][x] = a[it.get_global_linear_id()];
      sycl::group_barrier(it.get_group());
      a[it.get_global_linear_id()] = tile[x][y];
    });
  });
}
"""


@pytest.fixture(scope="module")
def captured():
    return xe.load(CAPTURES)


class TestCaptures:
    def test_the_shape_of_an_array_is_the_range_of_its_accessor(self, captured):
        a = np.arange(12 * 20, dtype=np.float32).reshape(12, 20)
        launch = xe.launch(captured["turned"], xe.NDRange((12, 20)))
        out = launch(**{"in": a, "out": np.zeros((20, 12), np.float32), "sizes": (12, 20)})
        np.testing.assert_array_equal(out, a.T + 32)

    def test_an_array_of_too_few_dimensions_is_refused(self, captured):
        launch = xe.launch(captured["turned"], xe.NDRange((12, 20)))
        with pytest.raises(
            xe.KernelArgumentError, match=r"has 2 dimensions, .* of the shape \(240,\); pass one of 2 dim"
        ):
            launch(np.zeros((20, 12), np.float32), np.zeros(240, np.float32), (12, 20))

    def test_a_struct_with_pointers_takes_a_dict_of_its_fields(self, captured):
        x = np.arange(64, dtype=np.float32)
        launch = xe.launch(captured["shifted"], xe.NDRange(64, 32))
        out = launch({"to": np.zeros_like(x), "from": x, "shift": 5}, (1, 2, 3, 4))
        np.testing.assert_array_equal(out, np.roll(x, -5) * 3)
        with pytest.raises(
            xe.KernelArgumentError, match=r"`View view` .* no field 'shifts' \(did you mean 'shift'\?\)"
        ):
            launch({"to": x, "from": x, "shifts": 5}, (1, 2, 3, 4))
        with pytest.raises(xe.KernelArgumentError, match=r"has the field int view\.shift as well; give 'shift': 16"):
            launch({"to": x, "from": x}, (1, 2, 3, 4))

    def test_none_is_a_null_pointer(self, captured):
        kernel, x = captured["maybe"], np.arange(8, dtype=np.float32)
        launch = xe.launch(kernel, xe.NDRange(8))
        given = {"to": np.zeros_like(x)}
        np.testing.assert_array_equal(launch(**given, bias=None), np.ones(8))
        np.testing.assert_array_equal(launch(**given, bias=x), x)

    def test_the_range_of_a_buffer_tells_the_elements_of_its_accessors(self, tmp_path, capsys):
        text = """#include <sycl/sycl.hpp>
void f(sycl::queue q, float *p, sycl::float2 *v) {
  sycl::buffer<float, 2> a(p, sycl::range<2>(8, 4));
  sycl::buffer<sycl::float2> b(v, sycl::range<1>(32));
  q.submit([&](sycl::handler &h) {
    sycl::accessor x(a, h);
    sycl::accessor y(b, h);
    h.parallel_for(sycl::range<2>(8, 4), [=](sycl::item<2> i) { x[i] = y[i.get_linear_id()][1]; });
  });
}
"""
        path = tmp_path / "ranges.cpp"
        path.write_text(text)
        assert "accessor<vec<float, 2>, 1, read_write> y, 32 elements, read only" in repr(xe.load(path))
        assert xeemu(["run", f"{path}:f"]) == 0
        assert "float32[8,4], crc32" in capsys.readouterr().out

    def test_a_null_pointer_that_the_host_code_tells_is_one(self):
        text = """#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *m = nullptr;
  sycl::float4 *v = sycl::malloc_device<sycl::float4>(8, q);
  q.parallel_for(sycl::nd_range<1>(8, 4), [=](sycl::nd_item<1> it) {
    v[it.get_global_id(0)] = 2.f;
    if (it.get_global_id(0) == 7) *m = 1;
  });
}
"""
        kernels = xe.load(text)
        assert "int *m = nullptr, written" in repr(kernels)
        assert "vec<float, 4> *v, 8 elements, written" in repr(kernels)
        (_, m), (finding,) = xe.check(kernels["main"])(np.zeros((8, 4), np.float32))
        assert m is None
        assert (finding.kind, finding.memory) == ("out-of-bounds", "m")
        assert "if (m != nullptr)" in str(finding)

    def test_local_memory_of_two_dimensions_takes_the_tuple_of_its_range(self, captured):
        a = np.arange(1024, dtype=np.float32)
        launch = xe.launch(captured["tiles"])
        out, findings = xe.check(captured["tiles"])(a=a, tile=(8, 9))
        tiles = a.reshape(4, 8, 4, 8).transpose(0, 3, 2, 1).reshape(-1)
        np.testing.assert_array_equal(out, tiles)
        assert findings == ()
        with pytest.raises(xe.KernelArgumentError, match=r"got xe\.Local\(288\)|pass the tuple of its 2 sizes"):
            launch(a=a, tile=xe.Local(288))


class TestSizes:
    def test_are_those_of_the_host_code(self, kernels):
        assert kernels["reversed"].nd_range == xe.NDRange(128, 64)
        assert kernels["main:38"].nd_range == xe.NDRange(1, 1)
        assert kernels["main:40"].nd_range == xe.NDRange((16, 16))
        report = xe.estimate(kernels["reversed"])(X, Y)
        assert report.to_dict() == xe.profile(kernels["reversed"])(X, Y)[1].to_dict()
        assert "sub-group 16, 2 groups" in str(xe.trace(kernels["reversed"])(X, Y))

    def test_have_to_be_given_where_it_does_not_tell_them(self):
        text = """#include <sycl/sycl.hpp>
void f(sycl::queue q, int *a, int n) { q.parallel_for(n, [=](auto i) { a[i] = 1; }); }
"""
        kernel = xe.load(text)["f"]
        assert kernel.nd_range is None
        with pytest.raises(xe.KernelArgumentError, match=r"got none for kernel f:2, whose host code does not tell its"):
            xe.launch(kernel)
        np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(3))(np.zeros(4, np.int32)), [1, 1, 1, 0])

    def test_a_kernel_of_python_has_none(self):
        @xe.kernel
        def one(wg, a):
            return a.at[wg.global_id()].set(1)

        with pytest.raises(xe.KernelArgumentError, match="got none for kernel one, which has no sizes of its own"):
            xe.check(one)

    @pytest.mark.parametrize("use", ["[[intel::reqd_sub_group_size({})]]", "[[sycl::reqd_sub_group_size({})]]"])
    @pytest.mark.parametrize(
        ("size", "options"), [("16", ""), ("SIZE / 2", "-DSIZE=32"), ("LANES", ""), ("S", ""), ("ns::LANES * 2u", "")]
    )
    def test_of_sub_groups_are_computed(self, use, size, options):
        text = f"""#include <sycl/sycl.hpp>
#define LANES 16 // of a sub-group
template <int S> void f(sycl::queue q, int *a) {{
  q.parallel_for(sycl::nd_range<1>(64, 32), [=](auto it) {use.format(size)} {{ a[it.get_global_id(0)] = 1; }});
}}
int main() {{ f<16>(sycl::queue(), nullptr); }}
"""
        (kernel,) = xe.load(text, options).values()
        assert kernel.sub_group_size == (32 if "2u" in size else 16)

    def test_that_are_required_are_in_the_order_of_sycl(self):
        text = """#include <sycl/sycl.hpp>
void f(sycl::queue q, int *a) {
  q.parallel_for(sycl::nd_range<2>({8, 64}, {4, 16}), [=](sycl::nd_item<2> it) [[sycl::reqd_work_group_size(4, 16)]] {
    a[it.get_global_linear_id()] = 1;
  });
}
"""
        kernel = xe.load(text)["f"]
        assert kernel.work_group_size == (4, 16)
        with pytest.raises(xe.NDRangeError, match=r"\(4, 16\)"):
            xe.launch(kernel, xe.NDRange((8, 64), (16, 4)))(np.zeros(512, np.int32))

    def test_of_properties_before_the_kernel_hold(self):
        text = """#include <sycl/sycl.hpp>
namespace syclex = sycl::ext::oneapi::experimental;
void f(sycl::queue q, int *a) {
  syclex::properties sizes{syclex::sub_group_size<16>, syclex::work_group_size<8, 4>};
  q.parallel_for<class A>(sycl::nd_range<2>({16, 4}, {8, 4}), sizes, [=](sycl::nd_item<2> it) {
    a[it.get_global_linear_id()] = it.get_sub_group().get_local_linear_range();
  });
  q.parallel_for<class B>(sycl::range<1>(64), syclex::properties{}, [=](sycl::id<1> i) { a[i] = i; });
}
"""
        kernels = xe.load(text)
        assert (kernels["A"].sub_group_size, kernels["A"].work_group_size) == (16, (8, 4))
        assert (kernels["B"].sub_group_size, kernels["B"].work_group_size) == (None, None)
        np.testing.assert_array_equal(xe.launch(kernels["A"])(np.zeros(64, np.int32)), np.full(64, 16))
        np.testing.assert_array_equal(xe.launch(kernels["B"])(np.zeros(64, np.int32)), range(64))

    def test_that_are_no_constants_are_refused(self):
        text = """#include <sycl/sycl.hpp>
void f(sycl::queue q, int *a, int n) { q.single_task([=] [[sycl::reqd_sub_group_size(n)]] { a[0] = 1; }); }
"""
        with pytest.raises(xe.KernelError, match="the size n in an attribute of the kernel is no constant"):
            xe.load(text)["f"]


class TestReferences:
    @pytest.mark.parametrize("capture", ["&", "&a", "=, &a"])
    def test_to_variables_of_the_host_are_refused(self, capture):
        text = f"""#include <sycl/sycl.hpp>
void f(sycl::queue q, int *a) {{ q.single_task([{capture}] {{ a[0] = 1; }}); }}
"""
        with pytest.raises(xe.KernelError, match=r"captures a by reference, .*; capture by value, \[=\]\n  at .*:2:"):
            xe.load(text)["f"]

    def test_to_the_object_are_refused(self):
        text = """#include <sycl/sycl.hpp>
struct Sum {
  int *a; int n;
  void run(sycl::queue q) { q.single_task([=] { a[0] = n; }); }
  void all(sycl::queue q) { q.single_task([=, *this] { a[0] = n; }); }
};
int main() { Sum s{nullptr, 3}; s.run(sycl::queue()); s.all(sycl::queue()); }
"""
        kernels = xe.load(text)
        with pytest.raises(
            xe.KernelError, match=r"uses members of the object, this, .* capture the object, \[=, \*this"
        ):
            kernels["run"]
        assert xe.launch(kernels["all"])({"a": np.zeros(1, np.int32), "n": 5})[0] == 5


FAULTY = """#include <sycl/sycl.hpp>
using sycl::memory_order, sycl::memory_scope;
static int taken(const int *p, size_t i) {
  return p[i];
}
struct View {
  const int *p;
  int at(size_t i) const { return taken(p, i); }
};
int main() {
  sycl::queue q;
  int *a = sycl::malloc_shared<int>(128, q);
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 1> t(64, h);
    h.parallel_for<class racing>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
      int l = it.get_local_id(0);
      t[l] = a[it.get_global_id(0)];
      a[it.get_global_id(0)] = t[63 - l];
    });
  });
  q.parallel_for<class adding>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1>) { a[0] += 1; });
  q.parallel_for<class same>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1>) { a[3] = 7; });
  q.parallel_for<class beyond>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
    View v{a};
    a[it.get_global_id(0)] = v.at(it.get_global_id(0) < 127 ? it.get_global_id(0) : 128);
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 1> t(64, h);
    h.parallel_for<class unwritten>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
      a[it.get_global_id(0)] = t[it.get_local_id(0)];
    });
  });
  q.parallel_for<class diverging>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
    if (it.get_local_id(0) < 7)
      sycl::group_barrier(it.get_group());
    a[it.get_global_id(0)] = 1;
  });
  q.parallel_for<class divided>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
    a[it.get_global_id(0)] = 7 / a[it.get_global_id(0)];
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 1> t(64, h);
    h.parallel_for<class fenced>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
      int l = it.get_local_id(0);
      t[l] = a[it.get_global_id(0)];
      it.barrier(sycl::access::fence_space::global_space);
      a[it.get_global_id(0)] = t[63 - l];
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 1> t(64, h);
    h.parallel_for<class lockstep>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
      int l = it.get_local_id(0);
      t[l] = a[it.get_global_id(0)];
      sycl::group_barrier(it.get_sub_group());
      a[it.get_global_id(0)] = t[l ^ 16];
    });
  });
  int *f = sycl::malloc_shared<int>(1, q);
  q.parallel_for<class relaxed>(sycl::nd_range<1>(128, 64), [=](sycl::nd_item<1> it) {
    sycl::atomic_ref<int, memory_order::relaxed, memory_scope::device> flag(f[0]);
    if (it.get_global_id(0) == 0) {
      a[1] = 5;
      flag.store(1);
    }
    if (it.get_global_id(0) == 127 && flag.load() == 1)
      a[2] = a[1];
  });
}
"""
ADVICE = {
    "racing": r"Write sycl::group_barrier\(it\.get_group\(\)\) after line 17 and before line 18\.",
    "adding": r"Use atomic operations, sycl::atomic_ref of a\[\.\.\.\],",
    "same": r"Let one work-item store, if \(it\.get_global_linear_id\(\) == 0\)",
    "beyond": r"Guard the access, if \(index >= 0 && index < 128\) for the index, or",
    "unwritten": r"as by t\[\.\.\.\] = 0, with a barrier",
    "diverging": r"come to one barrier, and put what must not be done by all under an if",
    "divided": r"C\+\+ leaves that undefined.* as by b != 0 \? a / b : 0\.",
    "fenced": r"none that orders t .*: sycl::group_barrier\(it\.get_group\(\)\)\.",
    "lockstep": r"Require it: \[\[sycl::reqd_sub_group_size\(32\)\]\]; or .* sg\.get_max_local_range\(\)",
    "relaxed": r"Write sycl::atomic_ref with sycl::memory_order::release for f at line 64 and .*::acquire for f at",
}
# What advice in other languages says, and the members of our headers' classes.
OTHERS = re.compile(
    r"wg\.|where=|\.atomic\[|\.at\[|jnp\.|lax\.|@xe|CLK_|OpenCL|(?<!it\.)\bget_\w+_id\(\d\)|(?<!sycl::)\bgroup_barrier|\.data"
)


def said(findings):
    """The messages as one line, without the kernel's own lines."""
    lines = [line for finding in findings for line in str(finding).splitlines() if not re.search(r":\d+: ", line)]
    return " ".join(line.strip() for line in lines)


@pytest.fixture(scope="module")
def faulty():
    return xe.load(FAULTY)


class TestFindings:
    @pytest.mark.parametrize("name", ADVICE)
    def test_speak_sycl(self, faulty, name):
        given = [np.zeros(128 if p == "a" else 1, np.int32) for p in faulty[name].parameters]
        _, findings = xe.check(faulty[name])(*given)
        text = said(findings)
        assert re.search(ADVICE[name], text)
        assert not OTHERS.search(text)

    def test_are_on_lines_of_the_file_with_the_calls_that_lead_there(self, faulty):
        _, findings = xe.check(faulty["beyond"])(np.zeros(128, np.int32))
        (finding,) = (f for f in findings if f.kind == "out-of-bounds")
        assert finding.memory == "a"
        assert finding.address == (128,)
        called = [int(line) for line in re.findall(r":(\d+): ", str(finding))]
        assert called == [4, 8, 25]
        assert {site.file for site in finding.sites} == {faulty.file}

    def test_leave_out_calls_in_the_headers(self):
        """An element of a local accessor of two dimensions, and an atomic operator, are functions of our headers."""
        kernel = xe.load("""#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<int, 2> t({8, 8}, h);
    h.parallel_for<class late>(sycl::nd_range<2>({8, 8}, {8, 8}), [=](sycl::nd_item<2> it) {
      int r = it.get_local_id(0), c = it.get_local_id(1);
      t[r][c] = r;
      for (int k = 0; k < 2; k++)
        sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::work_group>(t[c][r + k])++;
    });
  });
}""")["late"]
        _, findings = xe.check(kernel)()
        assert {f.kind for f in findings} >= {"data-race", "out-of-bounds"}
        assert "called from" not in str(findings)
        assert "such an atomic add does nothing" in str(findings)

    def test_show_no_frames_of_our_headers(self):
        text = """#include <sycl/sycl.hpp>
#include <numeric>
void f(sycl::queue q, int *a) {
  q.parallel_for<class summed>(sycl::range<1>(1), [=](sycl::id<1>) {
    a[0] = std::accumulate(a, a + 65, 0);
  });
  q.parallel_for<class each>(sycl::range<1>(1), [=](sycl::id<1> i) {
    std::for_each(a + 60, a + 70, [=](int &x) {
      x = i[0];
    });
  });
}
"""
        kernels = xe.load(text)
        for name, lines in (("summed", [5]), ("each", [9, 8])):
            _, (finding,) = xe.check(kernels[name])(np.zeros(64, np.int32))
            assert [int(line) for line in re.findall(r":(\d+): ", str(finding))] == lines
            assert not re.search(r"from :|headers", str(finding))

    def test_a_report_has_the_lines_of_the_kernel(self, faulty):
        report = xe.estimate(faulty["racing"])(np.zeros(128, np.int32))
        assert {site.line for site in report.sites} == {17, 18}
        assert faulty["racing"].interface.lines[0][0] == 15
        assert faulty["racing"].interface.lines[-1] == (19, "    });")


class TestCommands:
    @pytest.fixture
    def program(self, tmp_path):
        path = tmp_path / "program.cpp"
        path.write_text(PROGRAM)
        return path

    def test_lists_the_kernels(self, program, capsys):
        assert xeemu(["list", str(program)]) == 0
        assert "kernel reversed, line 27: nd_range<1>" in capsys.readouterr().out

    @pytest.mark.parametrize("command", ["run", "check", "profile", "estimate", "trace"])
    def test_need_nothing_that_the_file_tells(self, program, command, capsys):
        assert xeemu([command, f"{program}:reversed"]) == 0
        assert "reversed" in capsys.readouterr().out

    def test_take_contents_by_name_and_sizes(self, program, capsys):
        given = ["--arg", "x=range:256", "--arg", "y=zeros:256", "--global", "256", "--local", "64"]
        assert xeemu(["run", f"{program}:main:27", *given, "--arg", "params={'n': 1, 'factor': 1.0}"]) == 0
        assert "float32[256], crc32" in capsys.readouterr().out

    def test_sweep_sizes_in_the_order_of_sycl(self, program, capsys):
        assert xeemu(["tune", f"{program}:reversed", "--local", "64", "--sub-group", "16"]) == 0
        assert "1 configuration, 1 timed" in capsys.readouterr().out

    def test_say_what_the_file_does_not_tell(self, program, tmp_path, capsys):
        path = tmp_path / "captures.cpp"
        path.write_text(CAPTURES)
        assert xeemu(["run", f"{path}:maybe"]) == 2
        assert "the host code does not tell the sizes of maybe:17; write them" in capsys.readouterr().err
        assert xeemu(["run", f"{path}:shifted", "--arg", "scale=1,2,3,4"]) == 2
        assert "write also --arg view=\"{'to': 'zeros:1024', 'from': 'random:1024', 'shift': '1024'}\"" in (
            capsys.readouterr().err
        )
        view = "view={'to': 'zeros:64', 'from': 'range:64', 'shift': 5}"
        assert xeemu(["run", f"{path}:shifted", "--arg", "scale=1,2,3,4", "--arg", view]) == 0
        assert "float32[64], crc32" in capsys.readouterr().out
        assert xeemu(["run", str(program)]) == 2
        assert f"write {program}:NAME with one of scale<int, 3>:13, " in capsys.readouterr().err


def test_host_code_that_cannot_be_followed_tells_nothing(monkeypatch, kernels):
    monkeypatch.setattr(plans, "plans", lambda instances: {})
    kernel = xe.load(PROGRAM)["reversed"]
    assert kernel.nd_range is None
    assert kernel.parameters == ("t", "x", "y", "params")


def test_programs_of_cpp_17_are_read():
    text = "#include <sycl/sycl.hpp>\nvoid f(sycl::queue q, int *a) { q.single_task<class one>([=] { a[0] = 1; }); }\n"
    assert list(xe.load(text, std="c++17")) == list(xe.load(text, "-std=gnu++17")) == ["one"]
    with pytest.raises(xe.KernelArgumentError, match=r"write one of c\+\+17, c\+\+20, c\+\+23"):
        xe.load(text, std="c++14")


class TestErrors:
    def test_of_another_number_of_dimensions_name_the_kernels_own(self):
        text = (
            "#include <sycl/sycl.hpp>\nvoid f(sycl::queue q, int *a) {\n  q.parallel_for<class one>(sycl::range<1>(8), "
        )
        kernel = xe.load(text + "[=](sycl::id<1> i) { a[i] = 1; });\n}\n")["one"]
        with pytest.raises(xe.NDRangeError, match=r"one over range<1>, but .* has 2 dimensions; write xe.NDRange\(n\)"):
            xe.launch(kernel, xe.NDRange((4, 2)))(np.zeros(8, np.int32))
        np.testing.assert_array_equal(xe.launch(kernel, xe.NDRange(8, 4))(np.zeros(8, np.int32)), np.ones(8))

    def told(self, body):
        with pytest.raises(xe.KernelError) as refused:
            xe.load(f"#include <sycl/sycl.hpp>\nvoid f(sycl::queue q, int *a) {{\n  {body}\n}}\n")
        return str(refused.value)

    def test_of_items_that_the_launch_does_not_give_are_at_the_launch(self):
        text = self.told("q.parallel_for(sycl::range<2>(8, 8), [=](sycl::id<1> i) { a[i] = 1; });")
        assert re.search(r">:3:5: error: the kernel takes sycl::id<1>, but is given sycl::item<2>; an nd_range", text)
        assert "headers" not in text
        text = self.told("q.parallel_for(sycl::nd_range<1>(8, 8), [=](sycl::nd_item<2>) { a[0] = 1; });")
        assert re.search(r"the kernel takes (sycl::)?nd_item<2>, but is given (sycl::)?nd_item<1>", text)

    def test_of_ranges_of_other_dimensions_show_no_header(self):
        text = self.told("sycl::nd_range<1> r(sycl::range<2>(4, 4), sycl::range<1>(4));")
        assert "no matching constructor for initialization of 'sycl::nd_range<1>'" in text
        assert "headers" not in text

    @pytest.mark.parametrize(
        ("file", "library"),
        [("oneapi/ccl.hpp", "oneCCL"), ("cuda.h", "CUDA"), ("CL/cl.h", "OpenCL's functions"), ("mine.hpp", "options=")],
    )
    def test_of_files_that_are_not_there_name_the_library(self, file, library):
        with pytest.raises(xe.KernelError, match=rf"2:10: error: '{file}' file not found; .*{library}"):
            xe.load(f"#include <sycl/sycl.hpp>\n#include <{file}>\n")

    def test_are_none_of_what_another_compiler_takes(self):
        text = "q.single_task([=] {\n#pragma unroll(0)\n    for (int k = 0; k < 4; k++) a[k] = k;\n  });"
        kernel = xe.load(f"#include <sycl/sycl.hpp>\nvoid f(sycl::queue q, int *a) {{\n  {text}\n}}\n")["f"]
        np.testing.assert_array_equal(xe.launch(kernel)(np.zeros(4, np.int32)), range(4))

    def test_are_ten_at_most(self):
        text = self.told("\n".join(f"x{k} = 1;" for k in range(12)))
        assert "12 errors:" in text
        assert text.endswith("and 2 more errors")


INSTANCES = """#include <sycl/sycl.hpp>
template <int N> struct Fn {
  float *p;
  [[sycl::reqd_sub_group_size(N)]]
  void operator()(sycl::nd_item<1> it) const { p[it.get_global_id(0)] = N; }
};
struct Box {
  sycl::queue q;
  float *p;
  template <class T> void fill(T x) { auto d = p; q.parallel_for(sycl::range<1>(10), [=](auto i) { d[i] = x; }); }
};
template <class T> void named(sycl::queue &q, T *p) {
  q.parallel_for<class K>(sycl::range<1>(10), [=](sycl::id<1> i) { p[i] = 1; });
}
int main() {
  sycl::queue q;
  float *a = sycl::malloc_device<float>(64, q);
  int *b = sycl::malloc_device<int>(64, q);
  named(q, a);
  named(q, b);
  q.parallel_for(sycl::nd_range<1>(64, 32), Fn<16>{a});
  q.parallel_for(sycl::nd_range<1>(64, 32), Fn<32>{a});
  Box x{q, a};
  x.fill(3);
  x.fill(2.5);
  float *halves[2] = {a, a + 32};
  std::array<int, 3> three{1, 2, 3};
  bool flag = true;
  q.parallel_for(sycl::range<1>(10), [=](sycl::id<1> i) { halves[i % 2][i] = three[i % 3] + flag; });
}
"""


class TestInstances:
    @pytest.fixture(scope="class")
    @classmethod
    def instances(cls):
        return xe.load(INSTANCES)

    def test_of_templates_of_functions_classes_and_methods_are_told_apart(self, instances):
        names = ["fill(int):10", "fill(double):10", "named<float>:13", "named<int>:13", "Fn<16>", "Fn<32>", "main:29"]
        assert list(instances) == names
        assert [instances[f"Fn<{n}>"].sub_group_size for n in (16, 32)] == [16, 32]
        np.testing.assert_array_equal(xe.launch(instances["fill(double)"])(np.zeros(10, np.float32)), np.full(10, 2.5))

    def test_arrays_of_pointers_take_their_elements(self, instances):
        assert "float *halves[2], a struct with pointers" in repr(instances)
        assert "std::array<int, 3> three = (1, 2, 3)" in repr(instances)
        zeros = np.zeros(10, np.float32)
        even, odd = xe.launch(instances["main:29"])([zeros, zeros])
        np.testing.assert_array_equal(even, [2, 0, 4, 0, 3, 0, 2, 0, 4, 0])
        np.testing.assert_array_equal(odd, [0, 3, 0, 2, 0, 4, 0, 3, 0, 2])


class TestObjects:
    @pytest.mark.parametrize(
        ("declared", "use", "message"),
        [
            (
                "std::vector<int> x(4)",
                "x[0]",
                r"captures x, a std::vector<int>, whose contents are in the host's memory",
            ),
            ("std::string x", "x.size()", "captures x, a std::basic_string<char>, whose contents"),
            ("Held x", "x.v.size()", "captures x, a Held, in which there is a std::vector<int>, whose contents"),
            (
                "sycl::buffer<int> x(4)",
                "x.size()",
                r"captures x, a sycl::buffer<int>, which the host alone .* accessor",
            ),
            ("sycl::queue x", "x.is_in_order()", "captures x, a sycl::queue, which the host alone can use"),
        ],
    )
    def test_of_the_host_are_no_captures(self, declared, use, message):
        text = f"""#include <sycl/sycl.hpp>
struct Held {{ std::vector<int> v; }};
void f(sycl::queue q, int *a) {{
  {declared};
  q.parallel_for(sycl::range<1>(4), [=](sycl::id<1> i) {{ a[i] = {use}; }});
}}
"""
        with pytest.raises(xe.KernelError, match=rf"{message}.*\n  at .*:5:3"):
            xe.load(text)["f"]

    def test_that_are_arrays_are(self):
        text = """#include <sycl/sycl.hpp>
void f(sycl::queue q, int *a) {
  int table[4] = {1, 2, 3, 4};
  float rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
  q.parallel_for(sycl::range<1>(4), [=](sycl::id<1> i) { a[i] = table[3 - i] + rows[i % 2][i % 3]; });
}
"""
        kernel = xe.load(text)["f"]
        np.testing.assert_array_equal(xe.launch(kernel)(np.zeros(4, np.int32)), [5, 8, 5, 5])
        np.testing.assert_array_equal(
            xe.launch(kernel)(np.zeros(4, np.int32), table=(0, 0, 0, 0), rows=((1, 0, 0), (0, 2, 0))), [1, 2, 0, 0]
        )


COSTLY = """#include <sycl/sycl.hpp>
int main() {
  constexpr int N = 4096;
  sycl::queue q;
  float *a = sycl::malloc_shared<float>(16 * N, q), *b = sycl::malloc_shared<float>(N, q);
  int *counts = sycl::malloc_shared<int>(N, q), *sum = sycl::malloc_shared<int>(1, q);
  sycl::nd_range<1> sizes(N, 256);
  q.parallel_for<class strided>(sizes, [=](sycl::nd_item<1> it) {
    b[it.get_global_id(0)] = a[it.get_global_id(0) * 16];
  });
  q.parallel_for<class counted>(sizes, [=](sycl::nd_item<1> it) {
    sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device> all(sum[0]);
    all += counts[it.get_global_id(0)];
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<float, 2> t({16, 16}, h);
    h.parallel_for<class transposed>(sizes, [=](sycl::nd_item<1> it) {
      int x = it.get_local_id(0) % 16, y = it.get_local_id(0) / 16;
      t[x][y] = a[it.get_global_id(0)];
      sycl::group_barrier(it.get_group());
      b[it.get_global_id(0)] = t[y][x];
    });
  });
  q.submit([&](sycl::handler &h) {
    sycl::local_accessor<float, 1> t(256, h);
    h.parallel_for<class copied>(sizes, [=](sycl::nd_item<1> it) {
      if (it.get_local_id(0) == 0)
        for (int k = 0; k < 256; k++)
          t[k] = a[k];
      sycl::group_barrier(it.get_group());
      b[it.get_global_id(0)] = t[it.get_local_id(0)];
    });
  });
}
"""


class TestHints:
    @pytest.fixture(scope="class")
    @classmethod
    def costly(cls):
        return xe.load(COSTLY)

    @pytest.mark.parametrize(
        ("name", "advice"),
        [
            ("strided", "let it.get_global_id of the last dimension run along them"),
            ("counted", "Reduce in the group first (sycl::reduce_over_group, or atomics"),
            ("transposed", "one more column does: sycl::local_accessor<..., 2> t({16, 16 + 1}, h)."),
            ("copied", "for (k = it.get_local_linear_id(); k < n;"),
        ],
    )
    def test_of_a_report_speak_sycl(self, costly, name, advice):
        sizes = {"a": (1 << 16, np.float32), "b": (4096, np.float32), "counts": (4096, np.int32), "sum": (1, np.int32)}
        kernel = costly[name]
        report = xe.estimate(kernel)(*(jax.ShapeDtypeStruct((sizes[p][0],), sizes[p][1]) for p in kernel.parameters))
        text = " ".join(hint.text for hint in report.hints)
        assert advice in text
        assert not OTHERS.search(text)


class TestRefusals:
    @pytest.mark.parametrize(
        ("sizes", "attribute", "error", "message"),
        [
            ("sycl::nd_range<1>(128, 64)", "", xe.MemoryAllocationError, r"Allocate less with sycl::local_accessor"),
            (
                "sycl::range<2>(64, 8)",
                "",
                xe.KernelArgumentError,
                r"a local size: sycl::nd_range<2>\(\{64, 8\}, local\)",
            ),
            ("sycl::nd_range<2>({100, 2}, {64, 1})", "", xe.NDRangeError, r"\(if \(it\.get_global_id\(0\) < 100\)\)"),
            (
                "sycl::nd_range<1>(128, 64)",
                "[[sycl::reqd_sub_group_size(8)]]",
                xe.KernelNotSupportedError,
                "attributes",
            ),
            (
                "sycl::nd_range<1>(128, 64)",
                "[[sycl::reqd_work_group_size(32)]]",
                xe.NDRangeError,
                "64 differs from .* 32",
            ),
        ],
    )
    def test_of_a_launch_speak_sycl(self, sizes, attribute, error, message):
        text = f"""#include <sycl/sycl.hpp>
void f(sycl::queue q, float *a) {{
  q.submit([&](sycl::handler &h) {{
    sycl::local_accessor<float> t(1 << 16, h);
    h.parallel_for({sizes}, [=](auto it) {attribute} {{
      t[0] = 1;
      a[0] = t[0];
    }});
  }});
}}
"""
        with pytest.raises(error, match=message) as refused:
            xe.launch(xe.load(text)["f"])(np.zeros(1, np.float32))
        assert not OTHERS.search(str(refused.value))


@pytest.mark.thorough
def test_a_large_array_that_is_captured_is_looked_up():
    """Constants that no work-item copies to memory of its own; what the host tells of them is listed in short."""
    kernels = xe.load("""#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  float table[4][300];
  for (int i = 0; i < 1200; i++) table[i / 300][i % 300] = 0.5f * i;
  float *y = sycl::malloc_shared<float>(128, q);
  q.parallel_for<class look>(sycl::nd_range<1>(128, 32), [=](sycl::nd_item<1> it) {
    int i = it.get_global_id(0);
    const float *row = table[i % 4];
    y[i] = row[2 * i] + table[3][299];
  });
}""")
    y = xe.launch(kernels["look"])(np.zeros(128, np.float32))
    i = np.arange(128)
    np.testing.assert_array_equal(y, 0.5 * (i % 4 * 300 + 2 * i) + 599.5)
    assert "private" not in str(xe.trace(kernels["look"])(y))
    assert "float table[4][300] = ((0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, ...), (150.0, " in str(kernels)


def test_a_trace_calls_what_an_accessor_consists_of_as_sycl_does():
    kernel = xe.load("""#include <sycl/sycl.hpp>
void go(sycl::queue &q, sycl::buffer<int, 2> &b) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor x(b, h);
    sycl::local_accessor<int, 2> t({4, 4}, h);
    h.parallel_for<class both>(sycl::nd_range<2>({8, 8}, {4, 4}), [=](sycl::nd_item<2> it) {
      t[it.get_local_id()] = x[it.get_global_id()];
      x[it.get_global_id()] = t[it.get_local_id()] + 1;
    });
  });
}""")["both"]
    text = str(xe.trace(kernel)(np.zeros((8, 8), np.int32)))
    scalars = set(re.findall(r"scalar (.*?)\[\d\]", text))
    assert scalars == {"x.buffer.get_range()", "x.get_range()", "x.get_offset()", "t.get_range()"}


class TestMacros:
    def test_of_options_and_of_the_file_leave_our_headers_alone(self, tmp_path):
        (tmp_path / "mine.hpp").write_text("#define T 3\n#include <algorithm>\n")
        path = tmp_path / "macros.cpp"
        path.write_text("""#define data dada
#include "mine.hpp"
#include <sycl/sycl.hpp>
#include <vector>
int main() {
  sycl::queue q;
  int *data = sycl::malloc_shared<int>(N, q);
  q.parallel_for(sycl::range<1>(N), [=](sycl::id<1> i) { data[i] = T * D(2) + K; });
}
""")
        (kernel,) = xe.load(path, "-DN=16 -D K '-DD(x)=x*x' -UM").values()
        assert kernel.parameters == ("dada",)
        np.testing.assert_array_equal(xe.launch(kernel)(np.zeros(16, np.int32)), np.full(16, 13))

    def test_errors_are_still_at_the_users_lines(self):
        with pytest.raises(xe.KernelError, match=r">:2:6: error: expected unqualified-id\n     int N;\n         \^$"):
            xe.load("#include <sycl/sycl.hpp>\n int N;\n", "-DN=3")


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("sycl::ext::oneapi::experimental::matrix::use u;", "joint_matrix is not emulated; write a loop"),
        ("auto p = sycl::ext::oneapi::experimental::nothing(3);", "does not have this extension; write it with what"),
        ("sycl::nothing y;", "'sycl'; xeemu's headers have no such name; look at its spelling"),
    ],
)
def test_a_name_that_our_headers_do_not_have_is_told_with_what_to_write(statement, said):
    with pytest.raises(xe.KernelError, match=rf"error: no .* named .*{said}"):
        xe.load(f"#include <sycl/sycl.hpp>\nint main() {{ {statement} }}\n")

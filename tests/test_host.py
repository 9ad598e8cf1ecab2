"""Host: what programs of SYCL submit, and what they do."""

import numpy as np
import pytest

import xeemu as xe
from xeemu.frontends import binding
from xeemu.frontends.cplusplus import units
from xeemu.frontends.sycl import host
from xeemu.language.local import Local
from xeemu.programs import running

_HEAD = "#include <sycl/sycl.hpp>\n#include <iostream>\n#include <vector>\n"
_MORE = "#include <cassert>\n#include <fstream>\n#include <oneapi/mkl.hpp>\n"


def planned(text: str):
    return host.dry(units.unit(_HEAD + text))


def test_sizes_and_captures_follow_from_the_hosts_code():
    (launch,) = planned("""
    int main() {
      sycl::queue q;
      constexpr int N = 64;
      size_t groups = N / 16;
      float *x = sycl::malloc_shared<float>(N, q);
      std::vector<int> v(3 * N);
      sycl::buffer b(v);
      float scale = 0.5f * groups;
      q.submit([&](sycl::handler &h) {
        sycl::accessor a(b, h, sycl::read_only);
        sycl::local_accessor<float, 1> slm(sycl::range<1>(32), h);
        h.parallel_for(sycl::nd_range<1>(groups * 16, 16), [=](sycl::nd_item<1> it) {
          slm[it.get_local_id(0)] = x[it.get_global_id(0)] * scale + a[0];
          x[it.get_global_id(0)] = slm[it.get_local_id(0)];
        });
      });
    }""")
    assert launch.global_size == (64,)
    assert launch.local_size == (16,)
    assert not launch.ranged
    assert launch.captures["x"] == (np.dtype(np.float32), 64)
    assert launch.captures["a.data"] == (np.dtype(np.int32), 192)
    assert launch.captures["slm.data"] == Local(128)
    assert launch.captures["scale"] == np.float32(2)
    assert launch.place.line == 16


def test_launches_of_a_loop_are_told_one_by_one():
    launches = planned("""
    int main() {
      sycl::queue q;
      int *x = sycl::malloc_device<int>(256, q);
      for (size_t n = 128; n > 16; n /= 2)
        q.parallel_for(sycl::range<2>(n, 2), [=](sycl::id<2> i) { x[i[0]] += x[i[0] + n]; });
      q.single_task([=] { x[0]++; });
    }""")
    assert [p.global_size for p in launches] == [(128, 2), (64, 2), (32, 2), (1,)]
    assert [p.captures.get("n") for p in launches] == [128, 64, 32, None]
    assert all(p.ranged and p.local_size is None for p in launches)
    assert len({p.entry for p in launches}) == 2


@pytest.mark.parametrize(
    ("condition", "scale"),
    [("x[0] > 3", None), ("argc > 100", None), ("n > 3", 2)],
)
def test_a_branch_on_what_is_not_known_leaves_unknown_what_it_changes(condition: str, scale: int | None):
    (launch,) = planned(f"""
    int main(int argc, char **argv) {{
      sycl::queue q;
      int n = 32, scale = 1, same = 1;
      int *x = sycl::malloc_shared<int>(n, q);
      for (int i = 0; i < n; i++) x[i] = rand();
      if ({condition}) {{ scale = 2; same = 5; }} else same = 5;
      if (x[1] < 0) {{ std::cout << "negative"; return 1; }}
      q.parallel_for(n, [=](auto i) {{ x[i] *= scale + same; }});
    }}""")
    assert launch.captures.get("scale") == scale
    assert launch.captures["same"] == 5
    assert launch.global_size == (32,)


def test_sizes_from_the_command_line_are_not_known():
    (launch,) = planned("""
    int main(int argc, char **argv) {
      int n = atoi(argv[1]);
      sycl::queue q;
      float *x = sycl::malloc_shared<float>(n, q), *y = sycl::malloc_shared<float>(100, q);
      q.parallel_for(sycl::nd_range<1>(n, 32), [=](sycl::nd_item<1> it) { x[it.get_global_id(0)] = y[n]; });
    }""")
    assert launch.global_size is None
    assert launch.local_size == (32,)
    assert launch.captures == {"y": (np.dtype(np.float32), 100)}


def test_long_loops_are_not_run_to_their_end():
    (launch,) = planned("""
    int main() {
      sycl::queue q;
      const size_t n = 1 << 28;
      std::vector<float> v(n);
      int last = 0, m = 16;
      for (size_t i = 0; i < n; i++) { v[i] = i; last = i; }
      while (v[3] > 0) m--;
      sycl::buffer<float> b(v.data(), n);
      q.submit([&](sycl::handler &h) {
        auto a = b.get_access<sycl::access::mode::write>(h);
        h.parallel_for<class filled>(n, [=](sycl::id<1> i) { a[i] = last + m; });
      });
    }""")
    assert launch.global_size == (1 << 28,)
    assert launch.captures["a.data"] == (np.dtype(np.float32), 1 << 28)
    assert not {"last", "m"} & set(launch.captures)


def test_functions_that_main_does_not_reach_are_run_with_unknown_arguments():
    (launch,) = planned("""
    void scale(sycl::queue &q, float *x, const std::vector<float> &f, size_t n) {
      constexpr int block = 64;
      q.parallel_for(sycl::nd_range<1>(block * 4, block), [=](sycl::nd_item<1> it) { x[it.get_global_id(0)] *= n; });
    }""")
    assert (launch.global_size, launch.local_size, dict(launch.captures)) == ((256,), (64,), {})


def test_what_the_host_cannot_follow_is_left_out():
    (launch,) = planned("""
    struct Node { Node *next; int value; };
    int sum(Node *n) { return n ? n->value + sum(n->next) : 0; }
    int main() {
      sycl::queue q;
      Node *list = nullptr;
      for (int i = 0; i < 4; i++) list = new Node{list, i};
      int total = sum(list);
      int *x = sycl::malloc_shared<int>(total, q);
      try { if (x == nullptr) throw std::runtime_error("no memory"); } catch (std::exception &e) { return 1; }
      q.parallel_for(total, [=](auto i) { x[i] = total; }).wait();
      if (x[0] != total) exit(1);
      delete list;
    }""")
    assert launch.captures == {"x": (np.dtype(np.int32), 6), "total": 6}


# --- Programs that run ---


def ran(text: str, **arrays):
    return xe.load(_HEAD + text).run(**arrays)


def test_a_program_with_buffers_runs():
    result = ran("""
    int main() {
      sycl::queue q;
      std::vector<float> in(100), out(100);
      for (int i = 0; i < 100; i++) in[i] = i / 2.0f;
      {
        sycl::buffer<float> a(in), b(out);
        q.submit([&](sycl::handler &h) {
          sycl::accessor x(a, h, sycl::read_only);
          sycl::accessor y(b, h, sycl::write_only);
          h.parallel_for<class doubled>(100, [=](sycl::id<1> i) { y[i] = 2 * x[i]; });
        });
        sycl::host_accessor y(b);
        std::cout << "third " << y[3] << std::endl;
      }
      printf("%5.1f|%d\\n", out[5], (int)out.size());
      return 3;
    }""")
    assert result.output == "third 3\n  5.0|100\n"
    assert result.exit_code == 3
    np.testing.assert_array_equal(result.arrays["out"], np.arange(100, dtype=np.float32))
    (launch,) = result.submissions
    assert (launch.name, launch.nd_range) == ("doubled", xe.NDRange(100))
    assert launch.time_s > 0
    assert not launch.findings
    assert not result.findings


def test_arrays_that_are_given_are_those_of_the_first_submission():
    text = """
    int main() {
      sycl::queue q;
      int *x = sycl::malloc_shared<int>(4, q);
      x[0] = 1;
      for (int k = 0; k < 2; k++) q.parallel_for(4, [=](auto i) { x[i] += 10; }).wait();
    }"""
    given = np.array([5, 6, 7, 8], np.int32)
    np.testing.assert_array_equal(ran(text, x=given).arrays["x"], given + 20)
    with pytest.raises(xe.KernelArgumentError, match=r"no array z.*its arrays are x"):
        ran(text, z=given)
    with pytest.raises(xe.KernelArgumentError, match=r"x has 4 elements of int, but got .*\(3,\)"):
        ran(text, x=given[:3])


def test_a_program_takes_its_command_line():
    text = """
    int main(int argc, char *argv[]) {
      bool all = argc > 2;
      std::string first(argv[1]);
      std::cout << argc << " " << all << " " << first << " " << atoi(argv[2]) + 1 << " " << atof(argv[3]);
    }"""
    assert xe.load(_HEAD + text).run(arguments=["-n", 12, 2.5]).output == "4 1 -n 13 2.5"


@pytest.mark.thorough
def test_letters_of_texts_that_programs_are_given_are_signed_bytes():
    text = """
    int main(int argc, char **argv) {
      try { throw argv[1]; } catch (char *text) { std::cout << text << (text[0] < 0) << (text[1] < 0) << text[2]; }
    }"""
    assert xe.load(_HEAD + text).run(arguments=["éx"]).output == "éx11x"


def test_reductions_combine_with_what_is_there():
    result = ran("""
    int main() {
      sycl::queue q;
      int *x = sycl::malloc_shared<int>(100, q), *sum = sycl::malloc_shared<int>(1, q);
      for (int i = 0; i < 100; i++) x[i] = i;
      *sum = 5;
      q.parallel_for(100, sycl::reduction(sum, sycl::plus<int>()), [=](sycl::id<1> i, auto &r) { r += x[i]; }).wait();
      sycl::buffer<int> b(1);
      q.submit([&](sycl::handler &h) {
        auto r = sycl::reduction(b, h, sycl::maximum<int>(), {sycl::property::reduction::initialize_to_identity{}});
        h.parallel_for(sycl::nd_range<1>(64, 16), r, [=](auto it, auto &m) { m.combine(x[it.get_global_id(0)]); });
      });
      std::cout << *sum << " " << b.get_host_access()[0];
    }""")
    assert result.output == "4955 63"


def test_pointers_into_one_memory_share_it():
    result = ran("""
    struct Pair { int a; float b; };
    int main() {
      sycl::queue q{sycl::property::queue::in_order()};
      int *x = sycl::malloc_device<int>(8, q);
      int y[8];
      auto p = sycl::malloc_shared<Pair>(2, q);
      int *middle = x + 4;
      q.fill(x, 7, 8);
      q.parallel_for(4, [=](auto i) { x[i] = i; middle[i] = x[i] + middle[i] + middle[-1]; });
      q.memcpy(y, x, sizeof(y));
      q.single_task([=] { p[1].a = 3; p[1].b = 0.5f; });
      q.wait();
      std::cout << y[0] << y[4] << " " << p[1].a + p[1].b << "\\n";
    }""")
    assert result.arrays["y"].tolist()[:4] == [0, 1, 2, 3]
    assert result.arrays["p"][1].tolist() == (3, 0.5)
    assert result.output.endswith(" 3.5\n")


@pytest.mark.parametrize("n", [100, pytest.param(50_000, marks=pytest.mark.thorough)])
def test_long_loops_do_what_short_ones_do(n: int):
    result = ran(f"""
    struct Box {{ std::vector<long> inner; }};
    int main() {{
      const int n = {n};
      std::vector<unsigned> v(n);
      Box box{{std::vector<long>(n)}};
      float weights[3] = {{1, 2, 3}};
      double sum = 0; int last = -1; unsigned bits = 0;
      srand(5);
      for (int i = 0; i < n; i++) {{
        v[i] = rand() % 256;
        v[i] |= (rand() % 256) << 8;
        box.inner[i] = v[i] - 1000L;
        if (i % 3 == 0) continue;
        sum += weights[i % 3] * v[i];
        last = i; bits ^= v[i];
        weights[0] += 1;
      }}
      std::cout << last << " " << bits << " " << weights[0] << " " << rand() << "\\n";
      sycl::queue q; int *s = sycl::malloc_shared<int>(1, q);
      *s = (int)(sum / n);
    }}""")
    state, numbers = (5 * 2862933555777941757 + 3037000493) % 2**64, []
    for _ in range(2 * n + 1):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        numbers.append(state >> 33)
    v = np.array(numbers[: 2 * n : 2]) % 256 | np.array(numbers[1 : 2 * n : 2]) % 256 << 8
    used = np.arange(n)[np.arange(n) % 3 != 0]
    total = sum(float(w) * x for w, x in zip(np.where(used % 3 == 1, 2, 3), v[used], strict=True))
    weight = f"{1 + len(used):.6g}"
    assert result.output == f"{used[-1]} {np.bitwise_xor.reduce(v[used])} {weight} {numbers[-1]}\n"
    np.testing.assert_array_equal(result.arrays["v"], v.astype(np.uint32))
    np.testing.assert_array_equal(result.arrays["box"], v - 1000)
    assert result.arrays["s"][0] == int(total / n)


def test_long_loops_stop_where_the_host_has_to_do_something():
    result = ran(
        """
    bool check(const std::vector<int> &v) {
      for (int i = 0; i < v.size(); i++) {
        int wanted = 3 * i;
        if (v[i] != wanted) { std::cout << "wrong at " << i << "\\n"; return false; }
      }
      return true;
    }
    int main() {
      const int n = 300;
      std::vector<int> v(n * n);
      for (int i = 0; i < n * n; i++) v[i] = 3 * i;
      std::cout << check(v) << "\\n";
      v[80000] = 1;
      std::cout << check(v) << "\\n";
      int errors = 0;
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
          if (v[i * n + j] != 3 * (i * n + j)) { errors++; printf("%d %d\\n", i, j); }
      std::cout << errors << "\\n";
    }""".replace("\\\\", "\\")
    )
    assert result.output == "1\nwrong at 80000\n0\n266 200\n1\n"


_TWO = """
int main() {{
  sycl::queue q{0};
  int *x = sycl::malloc_shared<int>(64, q), *y = sycl::malloc_shared<int>(64, q);
  for (int i = 0; i < 64; i++) x[i] = y[i] = i;
  auto e = q.parallel_for(64, [=](auto i) {{ x[i] += 1; }});
  {1}
  q.submit([&](sycl::handler &h) {{
    {2}
    h.parallel_for(64, [=](auto i) {{ {3}; }});
  }});
  {4}
  std::cout << y[3];
}}"""


@pytest.mark.parametrize(
    ("order", "between", "depends", "body", "end", "lines"),
    [
        ("", "", "", "y[i] = x[i]", "q.wait();", (9, 13)),
        ("", "", "", "x[i] = 0", "q.wait();", (9, 13)),
        ("", "", "", "y[i] = 2", "q.wait();", None),
        ("", "", "h.depends_on(e);", "y[i] = x[i]", "q.wait();", None),
        ("", "e.wait();", "", "y[i] = x[i]", "q.wait();", None),
        ("", "q.wait();", "", "y[i] = x[i]", "q.wait();", None),
        ("{sycl::property::queue::in_order()}", "", "", "y[i] = x[i]", "q.wait();", None),
        ("{sycl::property::queue::in_order()}", "", "", "y[i] = x[i]", "", (13, 16)),
        ("", "x[5] = 3;", "", "y[i] = 2", "q.wait();", (9, 10)),
    ],
)
def test_commands_that_nothing_orders_race(order, between, depends, body, end, lines):
    result = ran(_TWO.format(order, between, depends, body, end))
    found = [tuple(site.line for site in f.sites) for f in result.findings]
    assert found == ([] if lines is None else [lines])
    assert all(f.kind == "data-race" and f.memory in ("x", "y") for f in result.findings)


@pytest.mark.every(2)
@pytest.mark.thorough
@pytest.mark.parametrize(
    "declared", ["int y[1]; int *h = y", "int y[100]; int *h = y", "std::vector<int> y(4); int *h = y.data()"]
)
@pytest.mark.parametrize(("end", "lines"), [("", (10, 12)), ("q.wait();", None), ("e.wait();", None)])
def test_the_host_waits_for_what_is_copied_to_its_variables(declared, end, lines):
    result = ran(f"""
    int main() {{
      sycl::queue q;
      {declared};
      int *d = sycl::malloc_device<int>(4, q);
      q.fill(d, 7, 4).wait();
      auto e = q.memcpy(h, d, 4);
      {end}
      std::cout << y[0] << y[0];
      y[0] = 3;
    }}""")
    assert result.output == "77"
    found = {tuple(site.line for site in f.sites) for f in result.findings}
    assert found == (set() if lines is None else {lines, (10, 13)})


def test_commands_on_parts_of_a_memory_do_not_race():
    assert not ran("""
    int main() {
      sycl::queue q;
      int *x = sycl::malloc_shared<int>(64, q);
      int *upper = x + 32;
      q.parallel_for(32, [=](auto i) { x[i] = 1; });
      q.parallel_for(32, [=](auto i) { upper[i] = 2; });
      q.wait();
    }""").findings


def test_a_loop_of_the_host_that_does_not_end_is_refused(monkeypatch):
    monkeypatch.setattr(running, "MOST_STEPS", 1000)
    with pytest.raises(xe.KernelError, match=r"1000 steps here(.|\n)*for \(unsigned"):
        ran("int main() {\n  for (unsigned i = 0; i < 9; i += 0) if (i > 10) std::cout << i;\n}")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (
            "q.parallel_for(sycl::nd_range<1>(100, 32), [=](sycl::nd_item<1> it) { x[0] = 1; });",
            xe.NDRangeError,
            "100",
        ),
        (
            "q.submit([&](auto &h) { sycl::local_accessor<int, 1> s(8, h);\n"
            "h.parallel_for(8, [=](sycl::id<1> i) { s[i] = 1; x[i] = s[i]; }); });",
            xe.KernelArgumentError,
            "local accessor s",
        ),
        (
            "sycl::buffer<int> b(8); sycl::accessor<int> *kept;\n"
            "q.submit([&](sycl::handler &h) { kept = new sycl::accessor<int>(b, h); });\n"
            "auto old = *kept; q.parallel_for(8, [=](sycl::id<1> i) { x[i] = old[i]; });",
            xe.KernelArgumentError,
            "accessor old, which was made for another command",
        ),
        ("int n = 3; q.parallel_for(8, [&](sycl::id<1> i) { x[i] = n; });", xe.KernelError, "by reference"),
        ("int *d = sycl::malloc_device<int>(8, q); d[3] = 1;", xe.KernelError, "host accesses d of malloc_device"),
        ("int n; q.parallel_for(n, [=](sycl::id<1> i) { x[i] = 1; });", xe.KernelError, "range of the launch"),
        ("std::vector<int> v(4); v[7] = 1;", xe.KernelError, r"v\[7\], but v has 4 elements, 0 to 3"),
        ("x[1] = 0; assert(x[1] == 2 + 0);", xe.KernelError, r"assertion x\[1\] == 2 \+ 0 does not hold"),
        ("int n = 0; q.parallel_for(8 % n, [=](sycl::id<1> i) { x[i] = n; });", xe.KernelError, "integer by zero"),
        ("int *p = nullptr; *p = 1;", xe.KernelError, "null pointer"),
        ("oneapi::mkl::blas::scal(q, 8, 2.0f, (float *)x, 1);", xe.KernelError, "oneMKL's blas::scal; write the ker"),
        (
            "q.parallel_for(8, [=](sycl::id<1> i) { assert(i < 8); assert(i % 4 < 3); x[i] = 1; });",
            xe.KernelError,
            r"work-item \(3,\) of main:\d+: the assertion i % 4 < 3 does not hold",
        ),
        ("assert(x == nullptr);", xe.KernelError, "the assertion .* does not hold"),
        ('std::ifstream f("a.txt"); f >> x[0];', xe.KernelError, "input is read"),
        ("int n = atoi(argv[1]); x[n] = 1;", xe.KernelError, "command line, which is empty"),
        ("int n = std::stoi(argv[1]); x[n] = 1;", xe.KernelError, "command line|null pointer"),
        ('throw std::runtime_error("no");', xe.KernelError, "no"),
    ],
)
def test_what_breaks_the_rules_is_refused_with_its_line(body, error, message):
    head = "int main(int argc, char **argv) {\n  sycl::queue q;\n  int *x = sycl::malloc_shared<int>(8, q);"
    text = f"{head}\n{body}\n}}"
    with pytest.raises(error, match=message) as caught:
        ran(_MORE + text)
    assert "\n  at <sycl" in str(caught.value)
    assert "^" in str(caught.value)


def test_copies_of_objects_have_vectors_and_strings_of_their_own():
    result = ran("""
    #include <array>
    #include <map>
    #include <string>
    #include <tuple>
    struct H { std::vector<int> v; std::string s; };
    struct D : H { int k; };
    int changed(H h) { h.v[0] = 77; return h.v[0]; }
    int main() {
      H h; h.v = {1, 2}; h.s = "xyz";
      H g = h; g.v[0] = 9; g.s[0] = 'Q';
      H f; f = h; f.v[0] = 8; f.s += "w";
      changed(h);
      auto l = [h]() mutable { return h.v[0] = 5; };
      l();
      std::vector<H> many(1, h); auto more = many; more[0].v[0] = 6;
      std::pair<std::vector<int>, int> p(h.v, 1); auto q = p; q.first[0] = 44;
      std::array<std::vector<int>, 2> a; a[0] = h.v; auto b = a; b[0][0] = 55;
      std::vector<int> list[2] = {h.v, h.v}; list[0][0] = 12;
      D d; d.v = {1}; D e = d; e.v[0] = 2;
      std::tuple<std::vector<int>, int> t(h.v, 2); auto u = t; std::get<0>(u)[0] = 33;
      for (auto x : many) x.v[0] = 3;
      std::cout << h.v[0] << h.s << f.s << many[0].v[0] << p.first[0] << a[0][0] << list[1][0] << d.v[0]
                << std::get<0>(t)[0] << "\\n";
      for (auto &x : many) x.v[0] = 3;
      std::cout << many[0].v[0] << more[0].v[0] << h.v[0];
    }""")
    assert result.output == "1xyzxyzw111111\n361"


def test_a_variables_bytes_are_the_same_by_whatever_type_they_are_seen():
    result = ran("""
    union U { float f; unsigned u; unsigned char b[4]; short s[2]; };
    struct T { int k; union { struct { short low, high; } p; int w; } q; };
    int main() {
      U x; x.f = 1.5f; std::cout << x.u << " " << (int)x.b[3] << " ";
      x.b[2] = 0x40; std::cout << x.f << " " << x.s[1] << " ";
      T t; t.q.w = 0x00050003; t.q.p.high = 7; T c = t; c.q.p.low = 9;
      std::cout << t.q.w << " " << c.q.w << " " << t.q.p.low << "\\n";
      int n = 0x01020304; char *bytes = (char *)&n; bytes[1] = 0x7f; std::cout << n << " ";
      double d = 1; ((int *)&d)[1] = 0x40000000; std::cout << d << " ";
      int a[2] = {1, 2}; std::cout << *(long *)a << " "; *(long *)a = 0x500000006L; std::cout << a[0] << a[1] << " ";
      memset(a, 1, 6); std::cout << a[0] << " " << a[1] << " ";
      long wide = 0x0000000700000008L; memcpy(a, &wide, 4); std::cout << a[0] << " " << a[1];
    }""")
    assert result.output == ("1069547520 63 0.75 16192 458755 458761 3\n16940804 2 8589934593 65 16843009 257 8 257")


def test_elements_of_the_heap_are_made_by_their_default_constructor():
    result = ran("""
    struct P { int x = 3, y; P() : y(4) {} };
    struct Q { int x = 5; };
    int main(int argc, char **) {
      int n = argc + 2;
      P *p = new P[n]; Q *q = new Q[n]; int *r = new int[n](), *l = new int[n]{7};
      std::vector<Q> v(n); v.resize(n + 1); static Q s[2];
      std::cout << p[n - 1].x << p[0].y << q[n - 1].x << v[n - 1].x << v[n].x << s[1].x << r[0] << l[0] << l[1];
    }""")
    assert result.output == "345555070"
    assert not result.findings


def test_arrays_of_arrays_of_the_heap_have_room_for_all_of_their_elements():
    result = ran("""
    int main(int argc, char **) {
      constexpr int M = 40, N = 3;
      using Row = int[7];
      int m = 49 + argc;
      int (*a)[N] = new int[M][N], (*b)[4] = new int[m][4], (*c)[2][4] = new int[m + 1][2][4](), (*d)[7] = new Row[m];
      for (int i = 0; i < M; ++i) for (int j = 0; j < N; ++j) a[i][j] = i * j;
      b[49][3] = 1; d[49][6] = 2;
      std::cout << a[39][2] << b[49][3] << c[50][1][3] << d[49][6];
    }""")
    assert result.output == "78102"
    assert not result.findings
    assert result.arrays["c"].shape == (51, 2, 4)


@pytest.mark.parametrize(
    ("arguments", "output"),
    [(("-n", "32", "-v", "-m5", "x"), "37 1 5"), (("-vn7", "-z"), "?7 1 3"), ((), "1 0 1")],
)
def test_options_of_the_command_line(arguments, output):
    text = """#include <sycl/sycl.hpp>
    #include <cstdio>
    #include <getopt.h>
    int main(int argc, char **argv) {
      int n = 1, c, v = 0;
      while ((c = getopt(argc, argv, "n:m:v")) != -1) switch (c) {
        case 'n': n = atoi(optarg); break;
        case 'm': n += atoi(optarg); break;
        case 'v': v = 1; break;
        default: printf("?");
      }
      printf("%d %d %d", n, v, optind);
    }"""
    assert xe.load(text).run(arguments=arguments).output == output


def test_goto_goes_on_at_a_label_of_a_block_around_it():
    result = ran("""
    int pair(const int *x, int n, int sum) {
      int i, j;
      for (i = 0; i < n; i++) for (j = 0; j < n; j++) if (x[i] + x[j] == sum) goto found;
      return -1;
    found:
      return 10 * i + j;
    }
    int main() {
      int x[3] = {1, 5, 7}, tries = 0;
    again: tries++;
      if (tries < 3) goto again;
      switch (tries) { case 3: { if (pair(x, 3, 12) < 0) goto end; std::cout << pair(x, 3, 12); } default: goto end; }
      std::cout << "never";
    end:
      std::cout << pair(x, 3, 3) << tries;
    }""")
    assert result.output == "12-13"
    with pytest.raises(xe.KernelError, match=r"goto in, a label inside of another statement.*\n  at <sycl"):
        ran("int main(int argc, char **) { goto in; if (argc) { in: return 1; } return 0; }")


def test_the_host_computes_what_it_has_no_form_for_as_kernels_do():
    result = ran("""
    #include <cmath>
    int main() {
      int e; double m = frexp(12.5, &e); float whole, part = modff(3.25f, &whole); sycl::float2 v(3, 4);
      std::cout << sycl::bit_cast<int>(1.5f) << " " << m << " " << e << " " << part << " " << whole << " "
                << (int)sycl::clz(1u) << " " << sycl::rotate(1u, 3u) << " " << sycl::mix(1.0f, 2.0f, 0.5f) << " "
                << sycl::mul_hi(1u << 31, 6u) << " " << sycl::length(v) << " " << sycl::dot(v, v);
    }""")
    assert result.output == "1069547520 0.78125 4 0.25 3 31 8 1.5 3 5 25"


def test_kernels_point_into_strings_and_into_parameters_declared_as_arrays():
    result = ran("""
    struct Key {
      int sum;
      static int first(const unsigned char *a) { return a[0] + 256 * a[1]; }
      Key(const unsigned char key[4]) { sum = first(key + 0 * 4) + first(key + 2); }
    };
    int main() {
      sycl::queue q; auto *x = sycl::malloc_shared<int>(8, q); auto *k = sycl::malloc_shared<unsigned char>(8, q);
      for (int i = 0; i < 8; i++) k[i] = i;
      q.parallel_for(4, [=](sycl::id<1> i) {
        auto *s = (const unsigned char *)"hello wo"; x[i] = *(s + 2) + s[i]; x[4 + i] = Key(k).sum; }).wait();
      std::cout << x[0] << " " << x[3] << " " << x[4];
    }""")
    assert result.output == f"{ord('l') + ord('h')} {2 * ord('l')} {0 + 256 + 2 + 768}"


def test_arrays_of_computed_sizes_and_variables_that_their_first_values_name():
    result = xe.load(
        _HEAD
        + """#include <functional>
    struct seven { int n = 7; };
    int total(int n) {
      float *rows[n];
      seven many[n + 1];
      int pairs[n][2];
      for (int i = 0; i < n; ++i) { rows[i] = new float[2]; rows[i][0] = i; pairs[i][1] = 3; }
      int sum = 0;
      for (int i = 0; i < n; ++i) sum += rows[i][0] + many[i + 1].n + pairs[i][1];
      return sum;
    }
    int main() {
      sycl::queue q;
      int n = 4;
      sycl::event done[n];
      int *x = x = sycl::malloc_shared<int>(4, q);
      for (int i = 0; i < n; ++i) done[i] = q.single_task([=] { x[i] = i; });
      for (int i = 0; i < n; ++i) done[i].wait();
      std::function<int(int)> fibonacci = [&](int k) { return k < 2 ? k : fibonacci(k - 1) + fibonacci(k - 2); };
      printf("%d %d %d", total(n), x[3], fibonacci(7));
    }"""
    ).run()
    assert result.output == f"{6 + 4 * 7 + 4 * 3} 3 13"


def test_a_kernel_has_no_array_of_a_computed_size():
    kernels = xe.load(
        _HEAD
        + """int main() {
      sycl::queue q;
      int n = 4;
      int *x = sycl::malloc_shared<int>(4, q);
      q.parallel_for(4, [=](sycl::id<1> i) { int y[n]; y[0] = 1; x[i] = y[0]; }).wait();
    }"""
    )
    with pytest.raises(xe.KernelError, match=r"size is not a constant; give it one(.|\n)*int y\[n\]"):
        kernels.run()


def test_the_host_has_the_devices_functions_of_mathematics():
    result = xe.load(
        _HEAD
        + """int main() {
      sycl::queue q;
      sycl::float3 a(1, 2, 2), b(3, 0, -1), c = sycl::cross(a, b);
      int e;
      float whole, unset = sycl::sincos(0.0f, &whole);
      double x = std::frexp(40.0, &e);
      printf("%g %g %g %g|", sycl::distance(a, b), sycl::dot(a, b), sycl::length(a), c.x() + c.y() * c.z());
      printf("%g %d %g %g|", x, e, unset, whole);
      printf("%d %u %d %lu", sycl::clz(16), sycl::rotate(0x80000001u, 1u), sycl::hadd(3, 6),
             sycl::mul_hi(1ul << 40, 1ul << 40));
      q.single_task([] {});
    }"""
    ).run()
    assert result.output == f"{17**0.5:.6g} 1 3 -44|0.625 6 0 1|27 3 4 {2**16}"


def test_bytes_that_overlap_are_moved_and_pointers_with_them():
    result = ran("""
    #include <cstring>
    struct Big { int x[200]; };
    int main() {
      int *a = new int[6]; int n = 5, **p = new int *[300];
      for (int i = 0; i < 6; i++) a[i] = i + 1;
      for (int i = 0; i < 300; i++) p[i] = &n;
      memmove(a + 1, a, 5 * sizeof(int));
      memmove(p + 1, p, 2 * sizeof(int *)); memset(p, 0, sizeof(int *));
      Big *b = new Big[1]; b[0].x[7] = 3; b[0] = *b;
      std::cout << a[0] << a[1] << a[5] << *p[1] << *p[299] << (p[0] == nullptr) << b->x[7];
    }""")
    assert result.output == "1155513"


def test_a_kernel_whose_numbers_change_is_traced_once_for_all_of_them(monkeypatch):
    text = """#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *d = sycl::malloc_shared<int>(256, q);
  for (int i = 0; i < 256; i++) d[i] = (i * 7919) % 100 + 1;
  for (int k = 0; k < 16; k++)
    q.parallel_for(sycl::range<2>(16, 16), [=](sycl::id<2> id) {
      int i = id[0], j = id[1], through = 0;
      for (int n = 0; n < k; n++) through += n;
      if (d[i * 16 + k] + d[k * 16 + j] < d[i * 16 + j]) d[i * 16 + j] = d[i * 16 + k] + d[k * 16 + j];
      if (i == k && j == k) d[i * 16 + j] += through;
    }).wait();
}"""
    traced = []
    run = binding.kernels.run
    monkeypatch.setattr(binding.kernels, "run", lambda *given: (traced.append(given), run(*given))[1])
    found = xe.load(text).run()
    expected = (np.arange(256) * 7919 % 100 + 1).reshape(16, 16)
    for k in range(16):
        expected = np.minimum(expected, expected[:, k : k + 1] + expected[k])
        expected[k, k] += k * (k - 1) // 2
    np.testing.assert_array_equal(found.arrays["d"].reshape(16, 16), expected)
    assert len({s.kernel for s in found.submissions}) == 1
    assert len([given for given in traced if given[1].name.startswith("main")]) <= 6


def test_a_number_that_the_language_needs_is_known_for_every_launch():
    text = """#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *d = sycl::malloc_shared<int>(8, q);
  for (int k = 0; k < 8; k++) d[k] = 0;
  for (int k = 0; k < 5; k++) {
    auto scope = k % 2 ? sycl::memory_scope::device : sycl::memory_scope::work_group;
    q.parallel_for(sycl::range<1>(64), [=](sycl::id<1> i) {
      sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device> r(d[k]);
      r.fetch_add(k, sycl::memory_order::relaxed, scope);
    }).wait();
  }
}"""
    assert xe.load(text).run().arrays["d"][:6].tolist() == [0, 64, 128, 192, 256, 0]


def test_new_makes_arrays_and_objects_in_templates_too():
    result = ran("""
    #include <new>
    struct P { int x = 3; };
    template <class T> struct V { T a; V(T b = 2) : a(b) {} };
    template <int n, class T> void made() {
      T *h = new T[n * 2], *one = new T(7); P *p = new P[n], *r = new P, *s = new (r) P{5}; auto *v = new V<T>(9);
      for (int i = 0; i < n; i++) h[2 * i + 1] = i;
      T *none = new T[n + 1](); printf("%" PRId64 "%5" PRIu32 " ", int64_t(none[n]), 4u);
      std::cout << h[2 * n - 1] << *one << p[n - 1].x << r->x << s->x << v->a << " ";
    }
    int main() { made<3, int>(); made<4, float>(); }""")
    assert result.output == "0    4 273559 0    4 373559 "


def test_a_local_accessor_may_have_no_elements():
    result = ran("""
    int main() {
      sycl::queue q;
      int *x = sycl::malloc_shared<int>(64, q);
      for (int n : {0, 16}) {
        q.submit([&](sycl::handler &h) {
          sycl::local_accessor<int, 1> s(sycl::range<1>(n), h);
          h.parallel_for(sycl::nd_range<1>(64, 16), [=](sycl::nd_item<1> it) {
            int i = it.get_global_id(0), l = it.get_local_id(0);
            if (n) s[l] = i + n;
            x[i] = n ? s[l] : i; });
        }).wait();
        std::cout << x[63] << " ";
      }
    }""")
    assert result.output == "63 79 "


def test_a_distance_without_a_sign_leads_back_where_it_wraps():
    result = xe.load(
        _HEAD
        + """int main() {
      sycl::queue q;
      size_t n = 8;
      int *x = sycl::malloc_shared<int>(64, q), *y = sycl::malloc_shared<int>(4, q);
      for (int i = 0; i < 64; ++i) x[i] = i * i;
      int *p = x + 32, sum = 0;
      for (size_t i = 0; i < 4; ++i) sum += p[i - n] + *(p + (i - 2 * n)) + *((i - n) + p);
      q.parallel_for(4, [=](sycl::id<1> i) { int *p = x + 32; y[i] = p[i[0] - n] + *(p + (i[0] - 2 * n)); }).wait();
      printf("%d %d", sum, y[3]);
    }"""
    ).run()
    assert result.output == f"{sum(2 * (24 + i) ** 2 + (16 + i) ** 2 for i in range(4))} {27**2 + 19**2}"


def test_texts_beyond_ascii_are_printed_by_the_host_and_by_a_stream():
    result = xe.load(
        _HEAD
        + r"""
    int main() {
      sycl::queue q;
      std::cout << "é" << R"(\n√)" << "\u00a0\x41\n";
      q.submit([&](sycl::handler &h) {
        sycl::stream out(1024, 256, h);
        h.single_task([=] { out << "sub\u00a0group é " << 3 << "\n"; });
      });
      q.wait();
      cl_float2 pair{1.0f, 2.0f};
      std::cout << pair.y() << "√\n";
    }"""
    ).run()
    assert result.output == "é\\n√\u00a0A\nsub\u00a0group é 3\n2√\n"


@pytest.mark.parametrize("given", ["#define SYCL_SIMPLE_SWIZZLES\n#define NDEBUG\n", ""])
def test_what_a_program_defines_for_our_headers_is_before_them(given, tmp_path):
    """Other macros are not, even if they are called as something in a header is."""
    path = tmp_path / "turned.cpp"
    path.write_text(
        f"""#define n 7
{given}#include <cassert>
#include <iostream>
#include <sycl/sycl.hpp>
int main() {{
  sycl::queue q;
  sycl::int4 *v = sycl::malloc_shared<sycl::int4>(1, q);
  assert(n == 8);
  q.single_task([=] {{ v[0] = sycl::int4(1, 2, 3, 4).wzyx() * sycl::int2(n, 1).xyyx(); }}).wait();
  std::cout << v[0].x() << v[0].y() << v[0].z() << v[0].w();
  sycl::free(v, q);
}}
"""
    )
    options = "" if given else "-DSYCL_SIMPLE_SWIZZLES -DNDEBUG"
    assert xe.load(path, options=options).run().output == "28327"

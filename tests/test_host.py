"""Host: what programs of SYCL submit, and what they do."""

import numpy as np
import pytest

from xeemu.frontends.cplusplus import units
from xeemu.frontends.sycl import host
from xeemu.language.local import Local

_HEAD = "#include <sycl/sycl.hpp>\n#include <iostream>\n#include <vector>\n"


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

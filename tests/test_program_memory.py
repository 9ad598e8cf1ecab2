"""Memory of SYCL programs: what nobody has written, what is freed wrongly, and accesses that nothing orders.

Each case is a function of one program, which its argument chooses; the line at fault says `// here`.
"""

import pytest

import xeemu as xe

_HEAD = """#include <sycl/sycl.hpp>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <vector>
constexpr int N = 64;
struct Padded { char a; int b; };
struct Held { int a, v[2]; };
struct Slice { int *first; int count, step; };
"""

_CASES = {
    # What nobody has written.
    "kernel": (
        "uninitialized-read",
        """int *x = sycl::malloc_device<int>(N, q), *y = sycl::malloc_device<int>(N, q);
        q.parallel_for(N, [=](sycl::id<1> i) { y[i] = x[i]; }).wait(); // here""",
    ),
    "kernel, filled": (
        "",
        """int *x = sycl::malloc_device<int>(N, q), *y = sycl::malloc_device<int>(N, q);
        q.fill(x, 3, N).wait();
        q.parallel_for(N, [=](sycl::id<1> i) { y[i] = x[i]; }).wait();
        q.parallel_for(N, [=](sycl::id<1> i) { y[i] += x[i]; }).wait();""",
    ),
    "half": (
        "uninitialized-read",
        """float *x = sycl::malloc_shared<float>(N, q);
        for (int i = 0; i < N / 2; ++i) x[i] = i;
        q.parallel_for(N, [=](sycl::id<1> i) { x[i] += 1; }).wait(); // here""",
    ),
    "half, read by half": (
        "",
        """float *x = sycl::malloc_shared<float>(N, q);
        for (int i = 0; i < N / 2; ++i) x[i] = i;
        q.parallel_for(N / 2, [=](sycl::id<1> i) { x[i] += 1; }).wait();
        std::cout << x[N / 2 - 1];""",
    ),
    "copy": (
        "uninitialized-read",
        """int *x = sycl::malloc_host<int>(N, q), *y = sycl::malloc_device<int>(N, q);
        q.fill(y, 1, N).wait();
        q.memcpy(y, x, N * sizeof(int)).wait();
        q.parallel_for(N, [=](sycl::id<1> i) { y[i]++; }).wait(); // here""",
    ),
    "copy, written": (
        "",
        """int *x = sycl::malloc_host<int>(N, q), *y = sycl::malloc_device<int>(N, q);
        for (int i = 0; i < N; ++i) x[i] = i;
        q.memcpy(y, x, N * sizeof(int)).wait();
        q.parallel_for(N, [=](sycl::id<1> i) { y[i]++; }).wait();""",
    ),
    "memset of too few bytes": (
        "uninitialized-read",
        """int *x = sycl::malloc_device<int>(N, q);
        q.memset(x, 0, N).wait();
        q.parallel_for(N, [=](sycl::id<1> i) { x[i]++; }).wait(); // here""",
    ),
    "memset": (
        "",
        """int *x = sycl::malloc_device<int>(N, q);
        q.memset(x, 0, N * sizeof(int)).wait();
        q.parallel_for(N, [=](sycl::id<1> i) { x[i]++; }).wait();""",
    ),
    "buffer": (
        "uninitialized-read",
        """sycl::buffer<int, 1> b(N);
        q.submit([&](sycl::handler &h) {
          sycl::accessor a(b, h);
          h.parallel_for(N, [=](sycl::id<1> i) { a[i] *= 2; }); // here
        });""",
    ),
    "buffer, written": (
        "",
        """sycl::buffer<int, 1> b(N);
        q.submit([&](sycl::handler &h) {
          sycl::accessor a(b, h, sycl::write_only, sycl::no_init);
          h.parallel_for(N, [=](sycl::id<1> i) { a[i] = i; });
        });
        sycl::host_accessor h(b);
        std::cout << h[N - 1];""",
    ),
    "buffer of doubles that are written as they were": (
        "",
        """std::vector<double> v(N, 1.0);
        sycl::buffer b(v);
        q.submit([&](sycl::handler &h) {
          sycl::accessor a(b, h, sycl::write_only, sycl::no_init);
          h.parallel_for(N, [=](sycl::id<1> i) { a[i] = 1.0; });
        });
        sycl::host_accessor h(b);
        std::cout << h[N - 1];""",
    ),
    "contents that an accessor discards": (
        "uninitialized-read: Or leave out no_init",
        """std::vector<int> v(N, 7);
        sycl::buffer b(v);
        q.submit([&](sycl::handler &h) {
          sycl::accessor a(b, h, sycl::write_only, sycl::no_init);
          h.parallel_for(N, [=](sycl::id<1> i) { a[i] += 1; }); // here
        });""",
    ),
    "contents that a mode of 1.2.1 discards, of a few words": (
        "uninitialized-read",
        """int v[4] = {};
        sycl::buffer<int, 1> b(v, 4);
        q.submit([&](sycl::handler &h) {
          auto a = b.get_access<sycl::access::mode::discard_read_write>(h);
          h.single_task([=] { a[0] = 1; a[2] += a[0]; }); // here
        });""",
    ),
    "contents that a kernel discards and writes in part": (
        "uninitialized-read: the host reads v[40]",
        """std::vector<int> v(N, 7);
        sycl::buffer b(v);
        q.submit([&](sycl::handler &h) {
          sycl::accessor a(b, h, sycl::write_only, {sycl::no_init});
          h.parallel_for(N / 2, [=](sycl::id<1> i) { a[i] = 1; });
        });
        sycl::host_accessor a(b);
        std::cout << a[31] << a[40]; // here""",
    ),
    "contents that a host accessor discards": (
        "uninitialized-read: the host reads v[3]",
        """std::vector<int> v(N, 7);
        sycl::buffer b(v);
        sycl::host_accessor a(b, sycl::write_only, sycl::no_init);
        a[2] = 1;
        std::cout << a[2] << a[3]; // here""",
    ),
    "part that an accessor discards": (
        "uninitialized-read: the host reads v[20]",
        """std::vector<int> v(N, 7);
        sycl::buffer<int, 2> b(v.data(), sycl::range<2>(8, 8));
        q.submit([&](sycl::handler &h) {
          sycl::accessor a(b, h, sycl::range<2>(2, 3), sycl::id<2>(1, 2), sycl::write_only, sycl::no_init);
          h.parallel_for(sycl::range<2>(2, 2), [=](sycl::id<2> i) { a[i[0] + 1][i[1] + 2] = 2; });
        });
        sycl::host_accessor a(b);
        std::cout << a[1][3] << a[2][5] << a[2][1] << a[3][2];
        std::cout << a[2][4]; // here""",
    ),
    "contents that another accessor needs": (
        "",
        """std::vector<int> v(N, 7);
        sycl::buffer b(v);
        q.submit([&](sycl::handler &h) {
          sycl::accessor old(b, h, sycl::read_only);
          sycl::accessor a(b, h, sycl::write_only, sycl::no_init);
          h.parallel_for(N, [=](sycl::id<1> i) { a[i] = old[i] + 1; });
        });""",
    ),
    "every second": (
        "uninitialized-read",
        """float *x = sycl::malloc_device<float>(N, q);
        q.parallel_for(N / 2, [=](sycl::id<1> i) { x[2 * i] = 0; }).wait();
        q.single_task([=] { for (int i = 0; i < N; ++i) x[0] += x[i]; }).wait(); // here""",
    ),
    "counter": (
        "uninitialized-read",
        """int *x = sycl::malloc_shared<int>(1, q);
        q.parallel_for(N, [=](sycl::id<1> i) {
          sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device> c(*x);
          c += 1; // here
        }).wait();""",
    ),
    "bytes": (
        "uninitialized-read",
        """unsigned char *x = sycl::malloc_shared<unsigned char>(512, q);
        q.parallel_for(300, [=](sycl::id<1> i) { x[i] = i; }).wait();
        std::cout << (int)x[300]; // here""",
    ),
    "bytes that look like poison": (
        "",
        """unsigned char *x = sycl::malloc_shared<unsigned char>(512, q);
        q.parallel_for(512, [=](sycl::id<1> i) { x[i] = i; }).wait();
        for (int i = 0; i < 512; ++i) x[0] += x[i];""",
    ),
    "field": (
        "uninitialized-read",
        """Padded *x = sycl::malloc_shared<Padded>(8, q);
        for (int i = 0; i < 8; ++i) x[i].a = 1;
        q.parallel_for(8, [=](sycl::id<1> i) { x[i].b += x[i].a; }).wait(); // here""",
    ),
    "element of structures": (
        "uninitialized-read: the host reads x[5].v[1]",
        """Held *x = sycl::malloc_shared<Held>(8, q);
        for (int i = 0; i < 8; ++i) x[i].v[0] = 1;
        std::cout << x[5].v[1]; // here""",
    ),
    "element of structures, long loop": (
        "uninitialized-read: the host reads x[39990].b",
        """Padded *x = new Padded[40000];
        int sum = 0;
        for (int i = 0; i < 39990; ++i) x[i].b = 1;
        for (int i = 0; i < 40000; ++i) sum += x[i].b; // here
        std::cout << sum;""",
    ),
    "field that a long loop does not use": (
        "",
        """Slice *s = (Slice *)malloc(sizeof(Slice));
        s->first = new int[40000];
        s->count = 40000;
        for (int i = 0; i < s->count; ++i) s->first[i] = i;
        std::cout << s->first[39999];""",
    ),
    "padding": (
        "",
        """Padded *x = sycl::malloc_shared<Padded>(8, q), *y = sycl::malloc_device<Padded>(8, q);
        for (int i = 0; i < 8; ++i) { x[i].a = 1; x[i].b = i; }
        q.parallel_for(8, [=](sycl::id<1> i) { y[i] = x[i]; }).wait();
        q.memcpy(x, y, 8 * sizeof(Padded)).wait();
        Padded p = x[3];
        std::cout << p.b;""",
    ),
    "host": (
        "uninitialized-read",
        """double *x = (double *)malloc(N * sizeof(double));
        x[3] = 1;
        if (x[4] > 0) std::cout << x[3]; // here""",
    ),
    "long loop": (
        "uninitialized-read",
        """int *x = new int[40000], sum = 0;
        for (int i = 0; i < 39999; ++i) x[i] = i;
        for (int i = 0; i < 40000; ++i) sum += x[i]; // here
        std::cout << sum;""",
    ),
    "long loop, written": (
        "",
        """int *x = new int[40000], sum = 0;
        for (int i = 0; i < 40000; ++i) x[i] = i;
        for (int i = 1; i < 40000; ++i) x[i] += x[i - 1];
        std::cout << x[39999];""",
    ),
    "zeros behind what is copied": (
        "",
        """char a[64];
        memset(a + 48, 0, 16);
        for (int i = 0; i < 8; ++i) a[i] = i;
        char *x = sycl::malloc_shared<char>(8, q);
        memcpy(x, a, 8);
        std::cout << (int)x[7];""",
    ),
    "half of a memory that has no whole number of elements": (
        "",
        """int *x = (int *)sycl::malloc_shared<char>(10, q);
        q.single_task([=] { x[0] = 3; }).wait();
        std::cout << x[0];""",
    ),
    # What is freed.
    "twice": (
        "invalid-free",
        """int *x = sycl::malloc_device<int>(N, q);
        sycl::free(x, q);
        sycl::free(x, q); // here""",
    ),
    "inside": (
        "invalid-free",
        """int *x = sycl::malloc_host<int>(N, q);
        sycl::free(x + 1, q); // here""",
    ),
    "by the heap's": (
        "invalid-free",
        """int *x = sycl::malloc_shared<int>(N, q);
        std::free(x); // here""",
    ),
    "of the heap": (
        "invalid-free",
        """int *x = new int[N];
        sycl::free(x, q); // here""",
    ),
    "variable": (
        "invalid-free",
        """int x[N];
        free(x); // here""",
    ),
    "another context": (
        "invalid-free",
        """sycl::queue other(sycl::context(), sycl::default_selector_v);
        int *x = sycl::malloc_shared<int>(N, q);
        sycl::free(x, other); // here""",
    ),
    "its context": (
        "",
        """sycl::context c;
        sycl::queue one(c, sycl::default_selector_v), other(c, sycl::default_selector_v);
        int *x = sycl::malloc_shared<int>(N, one), *y = sycl::malloc_device<int>(N, one.get_device(), c), *z = nullptr;
        void *p = realloc(malloc(8), 16);
        sycl::free(x, other);
        sycl::free(y, c);
        sycl::free(z, q);
        free(p);
        delete[] new int[3];""",
    ),
    "used by a kernel": (
        "use-after-free",
        """int *x = sycl::malloc_device<int>(N, q);
        sycl::free(x, q);
        q.parallel_for(N, [=](sycl::id<1> i) { x[i] = 1; }).wait(); // here""",
    ),
    "used by the host": (
        "use-after-free",
        """int *x = sycl::malloc_shared<int>(N, q);
        x[0] = 1;
        sycl::free(x, q);
        std::cout << x[0]; // here""",
    ),
    "used by a copy": (
        "use-after-free",
        """int *x = sycl::malloc_host<int>(N, q), *y = sycl::malloc_device<int>(N, q);
        for (int i = 0; i < N; ++i) x[i] = i;
        sycl::free(x, q);
        q.memcpy(y, x, N * sizeof(int)).wait(); // here""",
    ),
    "still running": (
        "use-after-free",
        """int *x = sycl::malloc_device<int>(N, q);
        q.parallel_for(N, [=](sycl::id<1> i) { x[i] = 1; });
        sycl::free(x, q); // here""",
    ),
    "waited for": (
        "",
        """int *x = sycl::malloc_device<int>(N, q);
        q.parallel_for(N, [=](sycl::id<1> i) { x[i] = 1; }).wait();
        sycl::free(x, q);""",
    ),
    # What nothing orders, and copies.
    "no dependence": (
        "data-race",
        """int *x = sycl::malloc_device<int>(N, q);
        q.parallel_for(N, [=](sycl::id<1> i) { x[i] = 1; }); // here
        q.parallel_for(N, [=](sycl::id<1> i) { x[i] += 1; }).wait();
        q.wait();""",
    ),
    "in order": (
        "",
        """sycl::queue o{sycl::property::queue::in_order()};
        int *x = sycl::malloc_device<int>(N, o);
        o.parallel_for(N, [=](sycl::id<1> i) { x[i] = 1; });
        o.parallel_for(N, [=](sycl::id<1> i) { x[i] += 1; }).wait();
        sycl::free(x, o);""",
    ),
    "host before the wait": (
        "data-race",
        """int *x = sycl::malloc_shared<int>(N, q);
        q.fill(x, 1, N); // here
        std::cout << x[0];
        q.wait();""",
    ),
    "overlap": (
        "overlapping-copy",
        """int *x = sycl::malloc_shared<int>(N, q);
        for (int i = 0; i < N; ++i) x[i] = i;
        q.memcpy(x + 1, x, 8).wait(); // here""",
    ),
    "no overlap": (
        "",
        """int *x = sycl::malloc_shared<int>(N, q);
        for (int i = 0; i < N; ++i) x[i] = i;
        q.memcpy(x + 2, x, 8).wait();
        std::memmove(x + 1, x, 8);""",
    ),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    bodies = [f"void f{k}(sycl::queue &q) {{\n{body}\n}}\n" for k, (_, body) in enumerate(_CASES.values())]
    calls = [f"  if (which == {k}) f{k}(q);\n" for k in range(len(_CASES))]
    main = "int main(int n, char **words) {\n  sycl::queue q;\n  int which = atoi(words[1]);\n" + "".join(calls) + "}\n"
    file = tmp_path_factory.mktemp("memory") / "memory.cpp"
    file.write_text(_HEAD + "".join(bodies) + main)
    return xe.load(file)


@pytest.mark.thorough
@pytest.mark.every(2)
@pytest.mark.parametrize("name", _CASES)
def test_what_is_wrong_with_memory_is_found_at_its_line(program, name):
    kind, _, said = _CASES[name][0].partition(": ")
    result = program.run(arguments=[list(_CASES).index(name)])
    found = [f for each in (result.findings, *(s.findings for s in result.submissions)) for f in each.errors]
    assert [f.kind for f in found] == ([kind] if kind else []), "\n".join(map(str, found))
    assert all(said in f.text for f in found)
    assert all("// here" in f.sites[0].source for f in found)


def test_the_host_reads_what_a_kernel_has_made_of_memory_that_nobody_has_written():
    found = xe.load(
        _HEAD
        + """
    int main() {
      sycl::queue q;
      float *a = sycl::malloc_shared<float>(8, q), *b = sycl::malloc_shared<float>(8, q);
      q.single_task([=] { b[1] = a[0] + 1; }).wait();
      std::cout << b[1];
      sycl::free(a, q); sycl::free(b, q);
    }"""
    ).run()
    (read,) = found.findings
    assert "the host reads b[1], which nobody has written, or a kernel only with what it made of such" in str(read)

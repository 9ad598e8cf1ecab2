"""C++ in kernels: what a compiler of C++ gives, construct by construct, many of them in one kernel."""

import numpy as np
import pytest

import xeemu as xe

pytest.importorskip("clang.cindex")

ITEMS = 32
PROGRAM = """#include <sycl/sycl.hpp>
#include <array>
#include <tuple>
#include <utility>
#define PUT(...) out[{items} * __COUNTER__ + i] = (__VA_ARGS__)
{declarations}
void submit(sycl::queue &q, int *out) {{
  q.parallel_for(sycl::nd_range<1>({items}, {items}), [=](sycl::nd_item<1> it) {{
    const int i = it.get_global_id(0);
{body}
  }});
}}
"""


def expect(declarations, cases):
    """Each case, of what it is and what it gives in work-item i, is a block of the kernel with one PUT."""
    body = "\n".join(f"    {{ {source} }}" for source in cases)
    kernel = xe.load(PROGRAM.format(items=ITEMS, declarations=declarations, body=body))["submit"]
    out = np.zeros(ITEMS * len(cases), np.int32)
    got = np.asarray(xe.launch(kernel, xe.NDRange(ITEMS, ITEMS))(out)).reshape(len(cases), ITEMS)
    wrong = {}
    for (source, value), row in zip(cases.items(), got, strict=True):
        wanted = [int(value(i)) for i in range(ITEMS)]
        if row.tolist() != wanted:
            wrong[source] = row.tolist(), wanted
    assert not wrong


def test_operators_constructors_and_conversions():
    declarations = """
struct Pair {
  int x = 1, y = 2;
  Pair() = default;
  Pair(int a, int b) : x(a), y(b) {}
  Pair operator+(const Pair &o) const { return {x + o.x, y + o.y}; }
  Pair &operator+=(const Pair &o) { x += o.x; y += o.y; return *this; }
  friend Pair operator*(Pair a, int k) { return Pair(a.x * k, a.y * k); }
  Pair operator-() const { return {-x, -y}; }
  Pair &operator++() { ++x; return *this; }
  Pair operator++(int) { Pair old = *this; ++x; return old; }
  bool operator==(const Pair &o) const { return x == o.x && y == o.y; }
  explicit operator bool() const { return x != 0; }
  operator int() const { return x * 100 + y; }
  int &operator[](int k) { return k ? y : x; }
  static int seven() { return 7; }
};
struct Chain { int a, b; Chain(int x) : Chain(x, x + 1) { b += 10; } Chain(int x, int y) : a(x), b(y) {} };
struct Counted {
  int a, copies = 0;
  Counted(int x) : a(x) {}
  Counted(const Counted &o) : a(o.a), copies(o.copies + 1) {}
  Counted &operator=(const Counted &o) { a = o.a + 1000; return *this; }
};
struct Proxy {
  int *p;
  Proxy &operator=(int v) { *p = v; return *this; }
  Proxy &operator+=(int v) { *p += v; return *this; }
  operator int() const { return *p; }
};
struct Proxied { int d[4]; Proxy operator[](int k) { return Proxy{&d[k]}; } };
struct Matrix {
  int a[2][3];
  int &operator()(int r, int c) { return a[r][c]; }
  int operator()(int r, int c) const { return a[r][c]; }
};
struct Arrow { Pair *p; Pair *operator->() const { return p; } Pair &operator*() const { return *p; } };
struct Held { int &r; Held(int &x) : r(x) {} void add(int v) { r += v; } };
union Bits { float f; unsigned u; };
struct Ordered { int a[2]; int b = a[1] + 1, c; Ordered(int x) : a{x, x + 1}, c(b * 2) {} };
struct Default { int a = 3; int twice() const { return 2 * a; } int b = twice(); };
struct Nested { Ordered o; Default d; int e; Nested(int x) : o(x), e(o.c + d.b) { e += o.a[0]; } };
struct Moved {
  int v;
  Moved(int x) : v(x) {}
  Moved(Moved &&o) : v(o.v + 100) { o.v = -1; }
  Moved &operator=(Moved &&o) { v = o.v + 1000; o.v = -2; return *this; }
};
"""
    expect(
        declarations,
        {
            "Pair a(i, 3), b; PUT((a + b).x * 10 + b.y);": lambda i: (i + 1) * 10 + 2,
            "Pair a(i, 3); (a += Pair(1, 1)) += a; PUT(a.x + a.y);": lambda i: 2 * (i + 1) + 8,
            "Pair a = Pair(i, 1) * 3 + -Pair(); PUT(a);": lambda i: (3 * i - 1) * 100 + 1,
            "Pair a(i, 0); Pair b = a++; ++ ++a; PUT(a.x * 100 + b.x);": lambda i: (i + 3) * 100 + i,
            "PUT((Pair(i, 2) == Pair(3, 2)) + (Pair(i, 0) ? 10 : 20));": lambda i: (i == 3) + (10 if i else 20),
            "Pair a; a[0] = i; a[i % 2] += 5; PUT(a);": lambda i: (
                (i + (5 if i % 2 == 0 else 0)) * 100 + 2 + 5 * (i % 2)
            ),
            "PUT(Pair::seven());": lambda i: 7,
            "Chain a(i); PUT(a.a * 100 + a.b);": lambda i: i * 100 + i + 11,
            "Counted a(i), b = a, c(b); a = c; PUT(a.a + 100 * c.copies);": lambda i: i + 1000 + 200,
            "Proxied a{{1, 2, 3, 4}}; a[i % 4] = 50; a[1] += 5; PUT(a[0] + a[1]);": lambda i: (
                (50 if i % 4 == 0 else 1) + (55 if i % 4 == 1 else 7)
            ),
            "Matrix m{}; m(1, 2) = i; m(0, i % 3) += 2; const Matrix &c = m; PUT(c(1, 2) + c(0, 0));": lambda i: (
                i + (2 if i % 3 == 0 else 0)
            ),
            "Pair a(i, 1); Arrow p{&a}; p->x += 2; (*p).y = 9; PUT(a);": lambda i: (i + 2) * 100 + 9,
            "int z = i; Held h(z); h.add(4); PUT(z);": lambda i: i + 4,
            "Ordered o(i); Default d; PUT(o.c + d.b + Nested(i).e);": lambda i: 2 * i + 4 + 6 + 2 * i + 4 + 6 + i,
            "Moved a(i); Moved b(std::move(a)); a = std::move(b); PUT(a.v * 10 + b.v);": lambda i: (i + 1100) * 10 - 2,
            "Bits u; u.f = i * 1.5f; PUT(u.u >> 8);": lambda i: int(np.float32(i * 1.5).view(np.uint32)) >> 8,
        },
    )


def test_base_classes():
    declarations = """
struct Z { int z; int thrice() const { return z * 3; } };
struct W { short q = 3; int w; W(int v) : w(v) {} };
template <class T, int N> struct Times { T t; Times(T v) : t(v) {} T times() const { return t * N; } };
template <class T> struct Empty { T u{}; int none() const { return u ? 1 : 2; } };
template <class T> struct All : Z, Times<T, 2>, Empty<T *> {
  All(T v) : Z{1}, Times<T, 2>(v + 1) {}
  T all() const { return this->times() + this->t + thrice() + z + this->none(); }
};
template <class D> struct Curious { int call() const { return static_cast<const D *>(this)->value() + 1; } };
struct Value : Curious<Value> { int v; Value(int x) : v(x) {} int value() const { return v * 2; } };
struct Both : Z, W { int k; Both(int a) : W(a + 1), k(a) { z = a + 2; } int all() const { return z + w + k + q; } };
struct Inheriting : Both { using Both::Both; int more() const { return all() + k; } };
struct Listed : Z { int y; };
int by_reference(const W &b) { return b.w; }
int by_value(W b) { b.w += 1; return b.w; }
void change(Z *b) { b->z += 100; }
"""
    expect(
        declarations,
        {
            "All<int> a(i); PUT(a.all());": lambda i: 3 * (i + 1) + 3 + 1 + 2,
            "PUT(Value(i).call());": lambda i: 2 * i + 1,
            "PUT(Both(i).all());": lambda i: 3 * i + 6,
            "Both b(i); PUT(by_reference(b) * 100 + by_value(b));": lambda i: (i + 1) * 100 + i + 2,
            "Both b(i); change(&b); Z &z = b; z.z += 1; PUT(b.z);": lambda i: i + 103,
            "Both b(i); W sliced = b; const W *p = &b; PUT(sliced.w + p->w);": lambda i: 2 * i + 2,
            "PUT(Inheriting(i).more());": lambda i: 4 * i + 6,
            "Listed a{{i}, 3}; PUT(a.z + a.y + a.thrice());": lambda i: 4 * i + 3,
            "Both two[2] = {Both(1), Both(i)}; two[1].z = 5; PUT(two[i % 2].all());": lambda i: (
                5 + 2 * i + 4 if i % 2 else 9
            ),
        },
    )


def test_what_classes_give_by_themselves():
    declarations = """
struct Seven { int v; Seven() : v(7) {} Seven(int a) : v(a) {} Seven(int a, int b) : v(a * b) {} };
struct Four { int z = 4; };
struct Stepped { int w; Stepped(int a = 6) : w(a) { w += 1; } };
struct Implicit { Seven in; int k; };
struct Partly { Seven in; int k; Partly(int x) : k(x) {} };
struct Derived : Seven, Four { int q; Derived(int x) : q(x) {} };
struct Several { Seven all[2]; Stepped s; int n = 3; };
template <class T> struct Zero { T re, im; Zero() : re(0), im(0) {} };
template <class T> struct Generic : Four { T t; Seven in; Zero<T> zero; Generic(T a) : t(a) {} };
struct Braced { Seven a; int k; Seven b[2]; };
Seven listed(int i) { return {i, 3}; }
"""
    expect(
        declarations,
        {
            "Implicit o; Implicit p{}; PUT(o.in.v + p.in.v + p.k);": lambda i: 14,
            "Partly p(i); PUT(p.in.v + p.k);": lambda i: 7 + i,
            "Derived d(i); PUT(d.v + d.z + d.q);": lambda i: 11 + i,
            "Several a[2]; PUT(a[1].all[i % 2].v + a[0].s.w + a[1].n);": lambda i: 17,
            "Generic<int> g(i); PUT(g.t + g.z + g.in.v + g.zero.re);": lambda i: i + 11,
            "Seven a[3] = {1, {2, i}}; PUT(a[i % 3].v);": lambda i: [1, 2 * i, 7][i % 3],
            "Braced b{Seven(3), 4, 5, i}; Braced c = {{1, 2}, 3, {i}}; PUT(b.b[1].v + c.a.v + c.b[1].v);": lambda i: (
                i + 9
            ),
            "PUT(listed(i).v + Stepped().w + Stepped(i).w);": lambda i: 3 * i + 7 + i + 1,
        },
    )


@pytest.mark.thorough
def test_templates_and_constants():
    declarations = """
template <int N> struct Factorial { static constexpr int v = N * Factorial<N - 1>::v; };
template <> struct Factorial<0> { static constexpr int v = 1; };
constexpr int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
constexpr int cube(int x) { int r = 1; for (int k = 0; k < 3; ++k) r *= x; return r; }
constexpr int KNOWN = fibonacci(10);
template <class... A> int sum(A... a) { return (a + ... + 0); }
template <class A> int digits(A a) { return a; }
template <class A, class... B> int digits(A a, B... b) { return a + 10 * digits(b...); }
template <int... I> int packed() { int s = 0; ((s = s * 10 + I), ...); return s; }
template <class T> int kind(T) { return 1; }
template <> int kind<float>(float) { return 4; }
template <class T> int width() {
  if constexpr (sizeof(T) == 4) return 44;
  else if constexpr (sizeof(T) == 8) return 88;
  else return T::nothing;
}
template <class T> struct Traits { static constexpr int v = 1; };
template <class T> struct Traits<T *> { static constexpr int v = 2 + Traits<T>::v; };
template <class T> struct Box { T t; };
template <template <class> class C, class T> int opened(C<T> c) { return c.t; }
template <class T> concept Adds = requires(T a) { a + a; };
template <Adds T> auto twice(T a) { return a + a; }
template <class F, class... A> auto apply(F &&f, A &&...a) { return f(static_cast<A &&>(a)...); }
template <class T, int N> struct Stack {
  T d[N]; int n = 0;
  using value_type = T;
  static constexpr int room = N;
  struct Mark { int k; };
  void push(T x) { d[n++] = x; }
  T pop() { return d[--n]; }
  T &top() { return d[n - 1]; }
  Mark mark() const { return {n}; }
};
int with_defaults(int x, int y = 3, int z = sizeof(int)) { return x + y * 10 + z * 100; }
int overloaded(int) { return 1; }
int overloaded(float) { return 2; }
int overloaded(unsigned) { return 3; }
int overloaded(char) { return 4; }
int bound(const int &) { return 1; }
int bound(int &&) { return 2; }
const int TABLE[6] = {5, 7, 11, 13, 17, 19};
struct Constants { static constexpr int table[3] = {3, 4, 5}; static const int n = 6; };
enum class Color : int { red = 3, green, blue = 10 };
enum Old { first = 5, second };
namespace outer { namespace inner { struct Q { int a; }; int found(Q q) { return q.a + 1; } } using inner::Q; }
"""
    table = [5, 7, 11, 13, 17, 19]
    expect(
        declarations,
        {
            "PUT(Factorial<5>::v + KNOWN + cube(i));": lambda i: 120 + 55 + i**3,
            "PUT(sum(i, 2, 3) + digits(1, 2, i));": lambda i: i + 5 + 21 + 100 * i,
            "PUT(packed<1, 2, 3>());": lambda i: 123,
            "PUT(kind(i) + 10 * kind(1.f));": lambda i: 41,
            "PUT(width<int>() + width<double>() * 100);": lambda i: 8844,
            "PUT(Traits<int>::v + 10 * Traits<float **>::v);": lambda i: 51,
            "PUT(opened(Box<int>{i}) + twice(i) + (int)twice(1.5f));": lambda i: 3 * i + 3,
            "PUT(apply([](int a, int b) { return a * b; }, i, 4));": lambda i: 4 * i,
            "Stack<int, 4> s; s.push(i); s.push(3); s.top() += 1; PUT(s.pop() * 100 + s.pop());": lambda i: 400 + i,
            "Stack<int, 4>::value_type x = 5; PUT(x + Stack<float, 7>::room + Stack<int, 4>().mark().k);": lambda i: 12,
            "PUT(with_defaults(i) + with_defaults(1, 2) + with_defaults(1, 2, 3));": lambda i: i + 430 + 421 + 321,
            "PUT(overloaded(1) + 10 * overloaded(1.f) + 100 * overloaded(1u) + 1000 * overloaded('a'));": lambda i: (
                4321
            ),
            "int x = i; PUT(bound(x) + 10 * bound(3));": lambda i: 21,
            "PUT(TABLE[i % 6] + Constants::table[i % 3] + Constants::n);": lambda i: table[i % 6] + 3 + i % 3 + 6,
            "Color c = i % 2 ? Color::green : Color::blue; PUT((int)c + second);": lambda i: (4 if i % 2 else 10) + 6,
            "PUT(found(outer::Q{i}));": lambda i: i + 1,
        },
    )


def test_lambdas():
    declarations = """
struct Object {
  int m, a[3];
  int get() const { return m; }
  int captured(int x) {
    auto by_value = [=](int k) { return get() + m + k; };
    auto by_reference = [&](auto k) { a[k] += x; return this->m + k; };
    auto copy = [*this, y = x + 1, x](auto k) mutable { m += k; return m + y + [=] { return m + x; }(); };
    return by_value(1) + by_reference(1) * 10 + copy(2) * 100 + a[1] * 1000 + m;
  }
};
template <class T> struct Typed { T m; T f() { return [=](auto k) { return m + k; }(3); } };
"""

    def captured(i):
        return 2 * i + 1 + (i + 1) * 10 + ((i + 2) + 8 + (i + 2) + 7) * 100 + 9000 + i

    expect(
        declarations,
        {
            "Object o{i, {1, 2, 3}}; PUT(o.captured(7));": captured,
            "Typed<int> t{i}; PUT(t.f());": lambda i: i + 3,
            "int n = 0; auto add = [&](int v) { n += v; }; add(3); add(i); PUT(n);": lambda i: i + 3,
            "auto count = [n = i * 2]() mutable { return ++n; }; count(); PUT(count());": lambda i: 2 * i + 2,
            "int y = 5; auto f = [=](int z) { return [=](int w) { return w * z + y; }(z + 1); };"
            " PUT(f(i));": lambda i: (i + 1) * i + 5,
            "int a[4] = {i, 1, 2, 3}; auto f = [=] { return a[0] + a[i % 4]; }; a[0] = 100; PUT(f());": lambda i: (
                i + [i, 1, 2, 3][i % 4]
            ),
            "int a[3] = {1, 2, 3}; auto f = [&] { a[2] += 7; }; f(); PUT(a[2]);": lambda i: 10,
            "auto all = [&](auto... x) { return (x + ... + i); }; PUT(all(1, 2, 3));": lambda i: i + 6,
            "int x = 1; auto r = [&]() -> int & { return x; }; r() = i; PUT(x);": lambda i: i,
            "auto f = [](auto g, int v) { return g(v); }; PUT(f([=](int v) { return v * i; }, 4));": lambda i: 4 * i,
            "auto [a, b] = std::pair<int, int>(i, 2); auto f = [a = a, b = b] { return a + b; }; PUT(f());": lambda i: (
                i + 2
            ),
            "const int k = 3; auto f = [](int v) { return v * k; }; PUT(f(i));": lambda i: 3 * i,
            "const int n = [&] { if (i < 5) return 1; return 2; }(); PUT(n);": lambda i: 1 if i < 5 else 2,
            "int n = 1; [&](int v) { for (int k = 0; k < v; k++) n += k; }(i); PUT(n);": lambda i: 1 + i * (i - 1) // 2,
        },
    )


@pytest.mark.parametrize(
    "body",
    [
        "[&] { out[i] = 2 * i; }();",
        "int z = i; if (z >= 0) [&](int k) { out[z] = z * k; }(2);",
        "for (int k = 0; k < 2; k++) [&] { out[i] += i; }();",
        "[&] { [&] { out[i] = 2 * i; }(); }();",
        "auto f = [&](int k) { out[i] = i + k; }; f(i);",
        "int *const *p = &out; (*p)[i] = 2 * i;",
    ],
)
def test_what_is_stored_through_a_reference_to_a_kernels_pointer_alone_is_stored(body):
    """To a lambda that is called at once, too."""
    kernel = xe.load(PROGRAM.format(items=ITEMS, declarations="", body=body))["submit"]
    out = xe.launch(kernel, xe.NDRange(ITEMS, ITEMS))(np.zeros(ITEMS, np.int32))
    assert np.asarray(out).tolist() == [2 * i for i in range(ITEMS)]


def test_lambdas_that_are_called_at_once_have_the_kernels_accessors():
    kernel = xe.load("""#include <sycl/sycl.hpp>
void submit(sycl::queue &q, sycl::buffer<int> &b) {
  q.submit([&](sycl::handler &h) {
    sycl::accessor out(b, h, sycl::read_write);
    sycl::local_accessor<int, 1> tile(32, h);
    h.parallel_for(sycl::nd_range<1>(64, 32), [=](sycl::nd_item<1> it) {
      int i = it.get_global_id(0), l = it.get_local_id(0);
      [&] { tile[l] = i; }();
      [&](int k) { sycl::group_barrier(it.get_group()); out[i] = tile[31 - l] + k; }(5);
    });
  });
}
""")["submit"]
    out, findings = xe.check(kernel, xe.NDRange(64, 32))(np.zeros(64, np.int32))
    assert np.asarray(out).tolist() == (np.arange(64).reshape(2, 32)[:, ::-1].ravel() + 5).tolist()
    assert not findings


def test_bindings_references_and_loops_over_ranges():
    declarations = """
struct Part { int a; float b; };
struct Slice { int *p; int n; int *begin() const { return p; } int *end() const { return p + n; } };
void swapped(int &a, int &b) { int t = a; a = b; b = t; }
int &chosen(int &a, int &b, bool first) { return first ? a : b; }
void two(int *p, int &r, const int &c) { *p = c + 1; r = c + 2; }
int most(std::initializer_list<int> all) { int m = -1; for (int x : all) m = x > m ? x : m; return m; }
"""
    expect(
        declarations,
        {
            "Part p{i, 2.5f}; auto [a, b] = p; auto &[c, d] = p; c += 1; PUT(a + p.a + (int)(2 * b));": lambda i: (
                2 * i + 6
            ),
            "int x[2] = {i, 3}; auto [a, b] = x; x[0] = 9; PUT(a * b);": lambda i: 3 * i,
            "auto [a, b, c] = std::array<int, 3>{{1, i, 3}}; PUT(a + b * c);": lambda i: 1 + 3 * i,
            "auto [a, b, c] = std::tuple<int, float, int>(i, 2.f, 5); PUT(a + c + (int)b);": lambda i: i + 7,
            "int x = i, y = 9; swapped(x, y); std::swap(x, y); swapped(x, y); PUT(x * 100 + y);": lambda i: 900 + i,
            "int x = 1, y = 2; chosen(x, y, i & 1) = i + 50; (i % 3 ? x : y) += 1; PUT(x * 100 + y);": lambda i: (
                ((i + 50 if i & 1 else 1) + (i % 3 != 0)) * 100 + (2 if i & 1 else i + 50) + (i % 3 == 0)
            ),
            "int x, y; two(&x, y, i); PUT(x * 100 + y);": lambda i: (i + 1) * 100 + i + 2,
            "int a[5] = {1, 2, 3}; for (auto &e : a) e += i; int s = 0; for (int e : a) s += e; PUT(s);": lambda i: (
                6 + 5 * i
            ),
            "int a[3][2] = {{1, 2}, {3}}; auto &r = a[i % 3]; r[1] += 4; PUT(a[0][1] + a[1][1] * 10);": lambda i: (
                2 + 4 * (i % 3 == 0) + 40 * (i % 3 == 1)
            ),
            "int a[2][3] = {{1, 2, 3}, {i, 5, 6}}, s = 0; for (auto &r : a) for (int e : r) s += e;"
            " PUT(s);": lambda i: 17 + i,
            "int s = 0; for (int e : {i, 7, 9}) { if (e == 9) break; s += e; } PUT(s);": lambda i: (
                0 if i == 9 else i + 7
            ),
            "int a[4] = {1, i, 5, 6}, s = 0; for (auto &e : Slice{a, 4}) { e += 1; if (e == 6) continue; s += e; }"
            " PUT(s + a[0]);": lambda i: 2 + (0 if i == 5 else i + 1) + 7 + 2,
            "Part p[2] = {{1, 2.f}, {i, 3.f}}; int s = 0; for (const auto &[a, b] : p) s += a * (int)b;"
            " PUT(s);": lambda i: 2 + 3 * i,
            "std::array<int, 3> a{{1, i, 3}}; a[i % 3] = 8; for (auto &e : a) e *= 2;"
            " PUT(a[0] + a.size());": lambda i: (16 if i % 3 == 0 else 2) + 3,
            "int x = 1, y = 2; for (int *p : {&x, &y}) *p += i; PUT(x * 100 + y);": lambda i: (i + 1) * 100 + i + 2,
            "PUT(most({1, i, 5}) + std::max({i, 2}) + std::min<int>(i, 3));": lambda i: (
                max(5, i) + max(i, 2) + min(i, 3)
            ),
        },
    )


def test_statements_and_arithmetic():
    declarations = """
int early(int x) {
  if (x < 3) return 1;
  for (int k = 0; k < 10; ++k) if (k == x) return k * 2;
  switch (x) { case 11: return 7; case 12: { int z = x; return z; } }
  while (x > 0) { x -= 7; if (x == 4) break; }
  return x;
}
template <int N> int unrolled(int x) {
  int s = 0;
#pragma unroll
  for (int k = 0; k < N; ++k) s += x * k;
  return s;
}
"""

    def early(x):
        if x < 3:
            return 1
        if x < 10:
            return 2 * x
        if x in (11, 12):
            return {11: 7, 12: 12}[x]
        while x > 0:
            x -= 7
            if x == 4:
                break
        return x

    expect(
        declarations,
        {
            "PUT(early(i));": early,
            "PUT(unrolled<5>(i));": lambda i: 10 * i,
            "int s = 0; [[intel::ivdep]] for (size_t k = 0; k < (size_t)i; k++) s += k; PUT(s);": lambda i: (
                i * (i - 1) // 2
            ),
            "int x = i; switch (x % 4) { case 0: x += 1; case 1: x += 10; break; case 2: { int y = 3; x += y; break; }"
            " case 3: default: x = -1; } PUT(x);": lambda i: [i + 11, i + 10, i + 3, -1][i % 4],
            "int r; if (int y = i % 3; y > 1) r = y; else r = y + 10; PUT(r);": lambda i: [10, 11, 2][i % 3],
            "int x = 0; while (int t = i % 5 - x) { if (t < 0) break; x += 1; } PUT(x);": lambda i: i % 5,
            "int k, w = i; do { k = w--; } while (w > 2); PUT(k * 10 + w);": lambda i: (
                (i * 10 + i - 1) if i < 4 else 32
            ),
            "char c = i * 20; short s = i * 5000; unsigned char u = i * 20; PUT(c + s + u);": lambda i: (
                int(np.int8(np.uint8(i * 20 % 256).view(np.int8)))
                + int(np.array(i * 5000).astype(np.int16))
                + i * 20 % 256
            ),
            "bool b = i & 4; b &= i > 5; PUT(b + b + !b);": lambda i: 2 if i & 4 and i > 5 else 1,
            "PUT((i - 16) / 3 * 100 + (i - 16) % 3 + ((i - 16) >> 1));": lambda i: (
                int((i - 16) / 3) * 100 + int(np.fmod(i - 16, 3)) + ((i - 16) >> 1)
            ),
            "unsigned long u = i; u *= 0x100000001ul; PUT((int)(u >> 32) + (int)u);": lambda i: 2 * i,
            "PUT((unsigned)i - 5u > 3u);": lambda i: (i - 5) % 2**32 > 3,
            "PUT(0x10 + 0b11 + 017 + 1'000 + 'a' + L'b' + true);": lambda i: 16 + 3 + 15 + 1000 + 97 + 98 + 1,
            "int a = 0, b = 0; a = b = i; (a += 2) *= 3; PUT((a++, b--, a + b));": lambda i: (i + 2) * 3 + 1 + i - 1,
            "float f = i; f /= 3; f *= 2.0; PUT(f);": lambda i: int(np.float32(np.float32(np.float32(i) / 3) * 2)),
            "volatile int v = i; v = v + 1; PUT(v);": lambda i: i + 1,
            "int a[4] = {}, *p = &a[1]; *p++ = 7; *p = i; PUT(a[1] * 100 + a[2] + (p - a));": lambda i: 702 + i,
            "const int *p = nullptr; PUT(p == nullptr ? sizeof(long) : 2);": lambda i: 8,
            "int k = i, r; { int i = k + 1; { int i = 5; k += i; } r = k + i; } PUT(r);": lambda i: 2 * i + 6,
            "int s = 0; for (int k = 0; k < ({ int n = i % 5; n * 2; }); ++k) s += k; PUT(s);": lambda i: (
                i % 5 * (i % 5 * 2 - 1)
            ),
            "static constexpr int t[2] = {8, 9}; PUT(t[i & 1]);": lambda i: 8 + (i & 1),
            "PUT(__builtin_popcount(i) + sycl::popcount(i) + std::abs(-i));": lambda i: 2 * bin(i).count("1") + i,
        },
    )


def test_parts_of_the_library_and_what_is_written_in_their_style():
    declarations = """
#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
int decayed(int p[], int k) { return p[k] + p[0]; }
int changed(int p[4], int k) { p[k] += 1; return p[k]; }
template <int N> int last(const int (&p)[N]) { return N * p[N - 1]; }
struct Fields { int a = 1, b = 2; int c[2] = {3, 4}; };
template <class... F> struct Overloaded : F... { using F::operator()...; };
template <class... F> Overloaded(F...) -> Overloaded<F...>;
template <int N> struct Repeated {
  template <class F> static void times(F f) { Repeated<N - 1>::times(f); f(N - 1); }
};
template <> struct Repeated<0> { template <class F> static void times(F) {} };
template <std::size_t... I, class F> void indexed(std::index_sequence<I...>, F f) { (f(I), ...); }
template <int (*F)(int)> int through(int x) { return F(x); }
int next(int x) { return x + 1; }
constexpr int operator""_k(unsigned long long v) { return v * 1000; }
struct Node { int v; Node *next; };
struct Generator {
  unsigned s;
  unsigned next() { s ^= s << 13; s ^= s >> 17; s ^= s << 5; return s; }
};
"""

    def generated(i):
        s = i + 1
        s ^= s << 13 & 0xFFFFFFFF
        s ^= s >> 17
        return (s ^ s << 5 & 0xFFFFFFFF) >> 8

    expect(
        declarations,
        {
            "int a[4] = {1, 2, 3, i}; PUT(decayed(a, 2) + changed(a, 3) + last(a));": lambda i: 4 + i + 1 + 4 * (i + 1),
            "Fields d{.a = 5, .c = {i, 9}}; PUT(d.a + d.b * 10 + d.c[0] * 100 + d.c[1]);": lambda i: 34 + 100 * i,
            "Overloaded f{[](int x) { return x + 1; }, [](float x) { return (int)(x * 2); }}; PUT(f(i) + f(1.5f));": (
                lambda i: i + 4
            ),
            "int s = 0; Repeated<4>::times([&](int k) { s += k * i; }); PUT(s);": lambda i: 6 * i,
            "int s = 0; indexed(std::make_index_sequence<3>{}, [&](auto k) { s += k * i; }); PUT(s);": lambda i: 3 * i,
            "PUT(through<next>(i) + 5_k);": lambda i: i + 5001,
            "Node b{i, nullptr}, a{1, &b}; PUT(a.next->v + a.v);": lambda i: i + 1,
            "Generator g{(unsigned)i + 1}; PUT(g.next() >> 8);": generated,
            "float f = i * 1.5f; unsigned u; memcpy(&u, &f, 4);"
            " PUT((u >> 8) - (std::bit_cast<unsigned>(f) >> 9));": lambda i: (
                (int(np.float32(i * 1.5).view(np.uint32)) >> 8) - (int(np.float32(i * 1.5).view(np.uint32)) >> 9)
            ),
            "int a[4] = {1, 2, i, 4}, b[4]; std::memcpy(b, a, sizeof a); memset(a, 0, 8);"
            " PUT(b[2] * 10 + a[1] + a[3]);": lambda i: 10 * i + 4,
            "int a[3] = {3, i, 2}; std::sort(a, a + 3);"
            " PUT(a[0] * 100 + a[2] + std::accumulate(a, a + 3, 0));": lambda i: min(2, i) * 100 + max(3, i) + i + 5,
            "std::optional<int> o; if (i % 2) o = i; PUT(o.value_or(-1) + o.has_value());": lambda i: (
                i + 1 if i % 2 else -1
            ),
            "int y = i; y += y++ * 2; PUT(y);": lambda i: i + 1 + 2 * i,
            "int a[4] = {1, 2, 3, i}, *p = a, *e = a + 4, s = 0; while (p != e) s += *p++; PUT(s);": lambda i: 6 + i,
            'char b[4] = "abc"; b[1] += i; PUT(b[1] + b[3]);': lambda i: 98 + i if i < 30 else 98 + i - 256,
            "int x = 0; switch (i % 4) { int z; case 0: { x = 1; } case 1: x += 5; break; { case 2: x = 9; } }"
            " PUT(x);": lambda i: [6, 5, 9, 0][i % 4],
        },
    )


def test_local_memory_of_a_group_is_another_one_by_each_call():
    source = """#include <sycl/sycl.hpp>
using sycl::ext::oneapi::group_local_memory, sycl::ext::oneapi::group_local_memory_for_overwrite;
void submit(sycl::queue &q, int *out) {
  q.parallel_for(sycl::nd_range<1>(64, 32), [=](sycl::nd_item<1> it) {
    auto ids = group_local_memory_for_overwrite<int[32]>(it.get_group());
    auto twice = group_local_memory_for_overwrite<int[32]>(it.get_group());
    int &seven = *group_local_memory<int>(it.get_group(), 7), l = it.get_local_id(0), i = it.get_global_id(0);
    (*ids)[l] = i;
    (*twice)[l] = 2 * i;
    sycl::group_barrier(it.get_group());
    out[i] = (*ids)[31 - l] * 1000 + (*twice)[31 - l] + seven * 100000;
  });
}
"""
    out, findings = xe.check(xe.load(source)["submit"], xe.NDRange(64, 32))(np.zeros(64, np.int32))
    mirrored = np.arange(64).reshape(2, 32)[:, ::-1].ravel()
    assert np.asarray(out).tolist() == (mirrored * 1002 + 700000).tolist()
    assert not findings


@pytest.mark.thorough
def test_objects_that_nothing_gives_a_value_are_made_by_their_default_constructors():
    declarations = """
struct Point { int x = 3, y; int a[2] = {1, 2}; };
struct Left { int l = 1; };
struct Right { int r = 2; };
struct Both : Left, Right { int z = 5; };
struct Third : Both { int y; Third(int k) : y(k) {} };
struct Plain : Both { int y; };
struct Made { int a, b; Made() : a(7), b(8) {} Made(int k) : a(k), b(-1) {} };
struct Optional { int q; Optional(int k = 4) : q(k) {} };
struct Holder { Made one; Made two[2]; Both both; Optional other; int w; };
struct Derived : Made { int c; Derived(int k) : c(k) {} };
struct Heir : Made { using Made::Made; int e = 6; };
struct Braces { Made m; int k; Point p; Made last; };
struct Inner { int a; int b = 5; };
struct Elided { int k; Inner y[3]; };
template <class T> struct Box { T v = T(4); };
template <class T> struct Boxes : Box<T> { Box<T> b[2]; };
"""
    cases = {
        "Point p[3]; p[i % 3].x += i; PUT(p[0].x + p[1].x + p[2].x + p[2].a[1]);": lambda i: 11 + i,
        "Point p[2][2]; PUT(p[1][1].x * 10 + p[1][0].a[1]);": lambda i: 32,
        "Point p[3] = {{9}}; PUT(p[0].x * 100 + p[2].x * 10 + p[1].a[1]);": lambda i: 932,
        "Both b; PUT(b.l + b.r * 10 + b.z * 100);": lambda i: 521,
        "Plain b; PUT(b.l + b.r * 10 + b.z * 100);": lambda i: 521,
        "Plain b{}; Plain c{{}, i}; PUT(b.l + c.r * 10 + c.z * 100 + c.y * 1000);": lambda i: 521 + 1000 * i,
        "Third b(i); PUT(b.l + b.r * 10 + b.z * 100 + b.y * 1000);": lambda i: 521 + 1000 * i,
        "Made m[2]; PUT(m[1].a * 10 + m[0].b);": lambda i: 78,
        "Holder h; PUT(h.one.a + h.two[1].b * 10 + h.both.r * 100 + h.other.q * 1000);": lambda i: 4287,
        "Derived d(i); PUT(d.a * 10 + d.b + d.c * 100);": lambda i: 78 + 100 * i,
        "Heir h(i); PUT(h.a * 100 + h.e);": lambda i: 6 + 100 * i,
        "Braces b{{i}, 2}; PUT(b.m.a * 1000 + b.k * 100 + b.p.x * 10 + b.last.a);": lambda i: 1000 * i + 237,
        "Optional o[2][2]; PUT(o[1][0].q);": lambda i: 4,
        "Boxes<int> b; PUT(b.v + b.b[1].v * 10);": lambda i: 44,
        "Elided e{7, 1, 2, 3}; PUT(e.y[0].b + e.y[1].b * 10 + e.y[2].b * 100);": lambda i: 552,
        "Elided e{7}; PUT(e.y[2].b);": lambda i: 5,
        "Braces b{{i}, 2, {}, {}}; PUT(b.p.x * 10 + b.last.b);": lambda i: 38,
        "Point p{}; Made n{}; PUT(p.x + p.y + n.b);": lambda i: 11,
    }
    expect(declarations, cases)


@pytest.mark.parametrize(
    ("declarations", "body", "message"),
    [
        (
            "template <class T> struct A { T a; A() : a(7) {} }; struct U { A<int> x; };",
            "U u; out[0] = u.x.a;",
            "A<int>",
        ),
        (
            "struct A { int a; A(int k) : a(k) {} A(double f) : a(f) {} }; struct U { A x; };",
            "U u{2.5f}; out[0] = u.x.a;",
            "an object of A by a constructor",
        ),
    ],
)
def test_constructors_that_the_parser_does_not_tell_are_refused(declarations, body, message):
    with pytest.raises(xe.KernelError, match=message):
        expect(declarations, {body: lambda i: 0})


def test_copies_that_the_compiler_writes_call_the_members_constructors():
    declarations = """
struct Counted { int n; Counted(int k) : n(k) {} Counted(const Counted &o) : n(o.n + 10) {} };
struct Holder { Counted c; Counted two[2]; int k; Holder(int i) : c(i), two{{i}, {i}}, k(i) {} };
struct Derived : Counted { int z; Derived(int i) : Counted(i), z(i) {} };
int taken(Holder h) { return h.c.n; }
"""
    cases = {
        "Holder h(i); Holder g = h; PUT(g.c.n + g.two[1].n * 100 + g.k);": lambda i: 102 * i + 1010,
        "Holder h(i); auto l = [h] { return h.two[0].n; }; PUT(l());": lambda i: i + 10,
        "Holder h(i); auto l = [&h] { return h.two[0].n; }; PUT(l());": lambda i: i,
        "Holder h(i); PUT(taken(h));": lambda i: i + 10,
        "Derived d(i); Derived e = d; PUT(e.n + e.z * 100);": lambda i: 101 * i + 10,
        "Counted c(i); Counted a[2] = {c, c}; PUT(a[1].n - c.n);": lambda i: 10,
    }
    expect(declarations, cases)

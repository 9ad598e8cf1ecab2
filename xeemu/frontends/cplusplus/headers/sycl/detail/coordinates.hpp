// Coordinates: id, range and nd_range.
#ifndef XEEMU_SYCL_COORDINATES_HPP
#define XEEMU_SYCL_COORDINATES_HPP

#include <type_traits>
#include <xeemu/intrinsics.hpp>

namespace sycl {

template <int D = 1> struct range;
template <int D = 1> struct id;
template <int D = 1, bool with_offset = true> struct item;

namespace detail {
template <class T> inline constexpr bool counts = std::is_convertible_v<T, size_t>;
template <class T> concept whole = std::is_integral_v<T> || std::is_enum_v<T>;
template <class T> inline constexpr bool is_coordinates = false;
template <int D> inline constexpr bool is_coordinates<id<D>> = true;
template <int D> inline constexpr bool is_coordinates<range<D>> = true;
}  // namespace detail

// The operators of a coordinate C<D>: with another one, and with a number on either side.
#define XEEMU_OPERATOR(C, op)                                                                          \
  friend constexpr C operator op(const C &a, const C &b) {                                             \
    if constexpr (D == 1) return C(a.v[0] op b.v[0]);                                                  \
    else if constexpr (D == 2) return C(a.v[0] op b.v[0], a.v[1] op b.v[1]);                           \
    else return C(a.v[0] op b.v[0], a.v[1] op b.v[1], a.v[2] op b.v[2]);                               \
  }                                                                                                    \
  template <detail::whole N> friend constexpr C operator op(const C &a, N b) {                         \
    if constexpr (D == 1) return C(a.v[0] op(size_t) b);                                               \
    else if constexpr (D == 2) return C(a.v[0] op(size_t) b, a.v[1] op(size_t) b);                     \
    else return C(a.v[0] op(size_t) b, a.v[1] op(size_t) b, a.v[2] op(size_t) b);                      \
  }                                                                                                    \
  template <detail::whole N> friend constexpr C operator op(N a, const C &b) {                         \
    if constexpr (D == 1) return C((size_t)a op b.v[0]);                                               \
    else if constexpr (D == 2) return C((size_t)a op b.v[0], (size_t)a op b.v[1]);                     \
    else return C((size_t)a op b.v[0], (size_t)a op b.v[1], (size_t)a op b.v[2]);                      \
  }                                                                                                    \
  friend constexpr C &operator op##=(C & a, const C & b) {                                             \
    a.v[0] op##= b.v[0];                                                                               \
    if constexpr (D > 1) a.v[1] op##= b.v[1];                                                          \
    if constexpr (D > 2) a.v[2] op##= b.v[2];                                                          \
    return a;                                                                                          \
  }                                                                                                    \
  template <detail::whole N> friend constexpr C &operator op##=(C & a, N b) {                          \
    a.v[0] op##= (size_t)b;                                                                            \
    if constexpr (D > 1) a.v[1] op##= (size_t)b;                                                       \
    if constexpr (D > 2) a.v[2] op##= (size_t)b;                                                       \
    return a;                                                                                          \
  }
#define XEEMU_OPERATORS(C)                                                                             \
  XEEMU_OPERATOR(C, +) XEEMU_OPERATOR(C, -) XEEMU_OPERATOR(C, *) XEEMU_OPERATOR(C, /)                  \
  XEEMU_OPERATOR(C, %) XEEMU_OPERATOR(C, <<) XEEMU_OPERATOR(C, >>) XEEMU_OPERATOR(C, &)                \
  XEEMU_OPERATOR(C, |) XEEMU_OPERATOR(C, ^)

template <int D> struct range {
  static_assert(1 <= D && D <= 3, "a range has 1 to 3 dimensions");
  static constexpr int dimensions = D;
  size_t v[D];

  constexpr range() : v{} {}
  // An id is no range by itself: there are two conversions between the two.
  template <class A>
    requires(D == 1 && detail::counts<A>)
  constexpr explicit(std::is_floating_point_v<A> || detail::is_coordinates<A>) range(A a) : v{(size_t)a} {}
  template <class A, class B>
    requires(D == 2 && detail::counts<A> && detail::counts<B>)
  constexpr range(A a, B b) : v{(size_t)a, (size_t)b} {}
  template <class A, class B, class C>
    requires(D == 3 && detail::counts<A> && detail::counts<B> && detail::counts<C>)
  constexpr range(A a, B b, C c) : v{(size_t)a, (size_t)b, (size_t)c} {}

  constexpr size_t get(int d) const { return v[d]; }
  constexpr size_t &operator[](int d) { return v[d]; }
  constexpr size_t operator[](int d) const { return v[d]; }
  constexpr size_t size() const {
    if constexpr (D == 1) return v[0];
    else if constexpr (D == 2) return v[0] * v[1];
    else return v[0] * v[1] * v[2];
  }
  XEEMU_OPERATORS(range)
  friend constexpr bool operator==(const range &, const range &) = default;
};
template <class A> range(A) -> range<1>;
template <class A, class B> range(A, B) -> range<2>;
template <class A, class B, class C> range(A, B, C) -> range<3>;

template <int D> struct id {
  static_assert(1 <= D && D <= 3, "an id has 1 to 3 dimensions");
  static constexpr int dimensions = D;
  size_t v[D];

  constexpr id() : v{} {}
  template <class A>
    requires(D == 1 && detail::counts<A>)
  constexpr explicit(std::is_floating_point_v<A>) id(A a) : v{(size_t)a} {}
  template <class A, class B>
    requires(D == 2 && detail::counts<A> && detail::counts<B>)
  constexpr id(A a, B b) : v{(size_t)a, (size_t)b} {}
  template <class A, class B, class C>
    requires(D == 3 && detail::counts<A> && detail::counts<B> && detail::counts<C>)
  constexpr id(A a, B b, C c) : v{(size_t)a, (size_t)b, (size_t)c} {}
  constexpr id(const range<D> &r) : v{} {
    v[0] = r.v[0];
    if constexpr (D > 1) v[1] = r.v[1];
    if constexpr (D > 2) v[2] = r.v[2];
  }

  constexpr size_t get(int d) const { return v[d]; }
  constexpr size_t &operator[](int d) { return v[d]; }
  constexpr size_t operator[](int d) const { return v[d]; }
  constexpr operator size_t() const
    requires(D == 1)
  {
    return v[0];
  }
  XEEMU_OPERATORS(id)
  template <detail::whole N>
    requires(D == 1)
  friend constexpr bool operator==(const id &a, N b) {
    return a.v[0] == (size_t)b;
  }
  friend constexpr bool operator==(const id &, const id &) = default;
};
#undef XEEMU_OPERATORS
#undef XEEMU_OPERATOR
template <class A> id(A) -> id<1>;
template <class A, class B> id(A, B) -> id<2>;
template <class A, class B, class C> id(A, B, C) -> id<3>;
template <int D> id(range<D>) -> id<D>;
template <int D> id(id<D>) -> id<D>;
template <int D, bool o> id(item<D, o>) -> id<D>;

template <int D> constexpr id<D> &operator++(id<D> &a) { return a += 1; }
template <int D> constexpr id<D> &operator--(id<D> &a) { return a -= 1; }
template <int D> constexpr id<D> operator++(id<D> &a, int) {
  id<D> old = a;
  a += 1;
  return old;
}
template <int D> constexpr id<D> operator--(id<D> &a, int) {
  id<D> old = a;
  a -= 1;
  return old;
}

// Of two dimensions and more, dimension by dimension; of one dimension as numbers.
#define XEEMU_RELATION(op)                                                          \
  template <int D>                                                                  \
    requires(D > 1)                                                                 \
  constexpr id<D> operator op(const id<D> &a, const id<D> &b) {                     \
    if constexpr (D == 2) return id<D>(a.v[0] op b.v[0], a.v[1] op b.v[1]);         \
    else return id<D>(a.v[0] op b.v[0], a.v[1] op b.v[1], a.v[2] op b.v[2]);        \
  }
XEEMU_RELATION(<)
XEEMU_RELATION(>)
XEEMU_RELATION(<=)
XEEMU_RELATION(>=)
XEEMU_RELATION(&&)
XEEMU_RELATION(||)
#undef XEEMU_RELATION
#define XEEMU_RELATION(op)                                                                   \
  template <int D> constexpr range<D> operator op(const range<D> &a, const range<D> &b) {    \
    if constexpr (D == 1) return range<D>(a.v[0] op b.v[0]);                                 \
    else if constexpr (D == 2) return range<D>(a.v[0] op b.v[0], a.v[1] op b.v[1]);          \
    else return range<D>(a.v[0] op b.v[0], a.v[1] op b.v[1], a.v[2] op b.v[2]);              \
  }
XEEMU_RELATION(<)
XEEMU_RELATION(>)
XEEMU_RELATION(<=)
XEEMU_RELATION(>=)
XEEMU_RELATION(&&)
XEEMU_RELATION(||)
#undef XEEMU_RELATION

template <int D = 1> struct nd_range {
  static constexpr int dimensions = D;
  range<D> global, local;
  id<D> offset;

  constexpr nd_range() {}
  constexpr nd_range(range<D> g, range<D> l, id<D> o = id<D>()) : global(g), local(l), offset(o) {}
  constexpr range<D> get_global_range() const { return global; }
  constexpr range<D> get_local_range() const { return local; }
  constexpr range<D> get_group_range() const { return global / local; }
  constexpr id<D> get_offset() const { return offset; }
  friend constexpr bool operator==(const nd_range &, const nd_range &) = default;
};
template <int D> nd_range(range<D>, range<D>) -> nd_range<D>;
template <int D> nd_range(range<D>, range<D>, id<D>) -> nd_range<D>;

namespace detail {
// The number of an id in a range, the last dimension running fastest.
template <int D> constexpr size_t linear(const id<D> &i, const range<D> &r) {
  if constexpr (D == 1) return i.v[0];
  else if constexpr (D == 2) return i.v[0] * r.v[1] + i.v[1];
  else return (i.v[0] * r.v[1] + i.v[1]) * r.v[2] + i.v[2];
}
}  // namespace detail

}  // namespace sycl

#endif

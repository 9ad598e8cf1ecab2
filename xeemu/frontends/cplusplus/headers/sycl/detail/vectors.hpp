// Vectors: vec, over the compiler's own, and marray, over an array.
#ifndef XEEMU_SYCL_VECTORS_HPP
#define XEEMU_SYCL_VECTORS_HPP

#include <sycl/detail/pointers.hpp>

namespace sycl {

typedef _Float16 half;
enum class rounding_mode { automatic, rte, rtz, rtp, rtn };
struct elem {
  static constexpr int x = 0, y = 1, z = 2, w = 3, r = 0, g = 1, b = 2, a = 3;
  static constexpr int s0 = 0, s1 = 1, s2 = 2, s3 = 3, s4 = 4, s5 = 5, s6 = 6, s7 = 7;
  static constexpr int s8 = 8, s9 = 9, sA = 10, sB = 11, sC = 12, sD = 13, sE = 14, sF = 15;
};

namespace detail {
template <class T> struct stored {
  typedef T type;
};
template <> struct stored<bool> {
  typedef unsigned char type;
};
template <class T>
  requires std::is_enum_v<T>
struct stored<T> {
  typedef unsigned char type;
};
template <> struct stored<long long> {
  typedef long type;
};
template <> struct stored<unsigned long long> {
  typedef unsigned long type;
};
template <> struct stored<signed char> {
  typedef char type;
};
template <class T, int n> struct native {
  typedef T type __attribute__((ext_vector_type(n)));
};
template <class T> struct native<T, 1> {
  typedef T type;
};
// The integer that a comparison gives for an element.
template <int bytes> struct truth {
  typedef signed char type;
};
template <> struct truth<2> {
  typedef short type;
};
template <> struct truth<4> {
  typedef int type;
};
template <> struct truth<8> {
  typedef long type;
};

template <class T> inline constexpr bool is_vec = false;
template <class T, int n> inline constexpr bool is_vec<vec<T, n>> = true;
template <class T> inline constexpr int components = 1;
template <class T, int n> inline constexpr int components<vec<T, n>> = n;
template <class T>
concept scalar = std::is_arithmetic_v<T> || std::is_same_v<T, half> || std::is_enum_v<T>;
}  // namespace detail

template <class T, int n> struct vec {
  static_assert(n == 1 || n == 2 || n == 3 || n == 4 || n == 8 || n == 16, "a vec has 1, 2, 3, 4, 8 or 16 components");
  typedef T element_type;
  typedef T value_type;
  typedef typename detail::stored<T>::type E;
  typedef typename detail::native<E, n>::type vector_t;
  typedef vec<typename detail::truth<sizeof(T)>::type, n> truth_type;
  vector_t v;

  vec() : v((vector_t)(E)0) {}
  template <class A>
    requires(detail::scalar<A> || (!detail::is_vec<A> && !std::is_same_v<A, vector_t> && std::is_convertible_v<A, T>))
  explicit(n > 1) constexpr vec(const A &x) : v((vector_t)(E)(T)x) {}
  constexpr vec(vector_t x)
    requires(n > 1)
      : v(x) {}
  template <class... A>
    requires(sizeof...(A) > 1 && (detail::components<std::remove_cvref_t<A>> + ... + 0) == n)
  constexpr vec(const A &...x) {
    if constexpr (sizeof...(A) == n) v = vector_t{(E)(T)x...};
    else {
      int i = 0;
      (put(i, x), ...);
    }
  }
  vec(const vec &) = default;
  vec &operator=(const vec &) & = default;  // what is assigned to a swizzle would be lost
  template <class A>
    requires(detail::scalar<A> && std::is_convertible_v<A, T>)
  vec &operator=(const A &x) & {
    v = (vector_t)(E)(T)x;
    return *this;
  }

  template <class A> void put(int &i, const A &x) {
    if constexpr (detail::is_vec<A>) {
      for (int k = 0; k < detail::components<A>; ++k) v[i + k] = (E)x[k];
      i += detail::components<A>;
    } else v[i++] = (E)(T)x;
  }

  static constexpr size_t size() { return n; }
  static constexpr size_t byte_size() { return sizeof(vec); }
  static constexpr size_t get_count() { return n; }
  static constexpr size_t get_size() { return sizeof(vec); }
  operator T() const
    requires(n == 1)
  {
    return (T)v;
  }
  operator vector_t() const
    requires(n > 1)
  {
    return v;
  }

  // A component of a vector that has a name may be assigned.
  T &operator[](int i) & { return ((T *)&v)[i]; }
  T operator[](int i) const & {
    if constexpr (n == 1) return (T)v;
    else return (T)v[i];
  }
#define XEEMU_COMPONENT(name, i)       \
  T &name() &                          \
    requires(n > i)                    \
  {                                    \
    return ((T *)&v)[i];               \
  }                                    \
  T name() const &                     \
    requires(n > i)                    \
  {                                    \
    if constexpr (n == 1) return (T)v; \
    else return (T)v[i];               \
  }
  XEEMU_COMPONENT(x, 0)
  XEEMU_COMPONENT(y, 1)
  XEEMU_COMPONENT(z, 2)
  XEEMU_COMPONENT(w, 3)
  XEEMU_COMPONENT(r, 0)
  XEEMU_COMPONENT(g, 1)
  XEEMU_COMPONENT(b, 2)
  XEEMU_COMPONENT(a, 3)
  XEEMU_COMPONENT(s0, 0)
  XEEMU_COMPONENT(s1, 1)
  XEEMU_COMPONENT(s2, 2)
  XEEMU_COMPONENT(s3, 3)
  XEEMU_COMPONENT(s4, 4)
  XEEMU_COMPONENT(s5, 5)
  XEEMU_COMPONENT(s6, 6)
  XEEMU_COMPONENT(s7, 7)
  XEEMU_COMPONENT(s8, 8)
  XEEMU_COMPONENT(s9, 9)
  XEEMU_COMPONENT(sA, 10)
  XEEMU_COMPONENT(sB, 11)
  XEEMU_COMPONENT(sC, 12)
  XEEMU_COMPONENT(sD, 13)
  XEEMU_COMPONENT(sE, 14)
  XEEMU_COMPONENT(sF, 15)
#undef XEEMU_COMPONENT

  // Swizzles are values.
  template <int... i> vec<T, sizeof...(i)> swizzle() const {
    if constexpr (n == 1) return vec<T, sizeof...(i)>(((void)i, (T)v)...);
    else return vec<T, sizeof...(i)>((T)v[i]...);
  }
  vec<T, (n + 1) / 2> lo() const {
    if constexpr (n == 2) return swizzle<0>();
    else if constexpr (n <= 4) return swizzle<0, 1>();
    else if constexpr (n == 8) return swizzle<0, 1, 2, 3>();
    else return swizzle<0, 1, 2, 3, 4, 5, 6, 7>();
  }
  vec<T, (n + 1) / 2> hi() const {
    if constexpr (n == 2) return swizzle<1>();
    else if constexpr (n == 3) return vec<T, 2>((T)v[2], T());
    else if constexpr (n == 4) return swizzle<2, 3>();
    else if constexpr (n == 8) return swizzle<4, 5, 6, 7>();
    else return swizzle<8, 9, 10, 11, 12, 13, 14, 15>();
  }
  vec<T, (n + 1) / 2> even() const {
    if constexpr (n == 2) return swizzle<0>();
    else if constexpr (n <= 4) return swizzle<0, 2>();
    else if constexpr (n == 8) return swizzle<0, 2, 4, 6>();
    else return swizzle<0, 2, 4, 6, 8, 10, 12, 14>();
  }
  vec<T, (n + 1) / 2> odd() const {
    if constexpr (n == 2) return swizzle<1>();
    else if constexpr (n == 3) return vec<T, 2>((T)v[1], T());
    else if constexpr (n == 4) return swizzle<1, 3>();
    else if constexpr (n == 8) return swizzle<1, 3, 5, 7>();
    else return swizzle<1, 3, 5, 7, 9, 11, 13, 15>();
  }
#define XEEMU_SWIZZLE2(p, i, q, k)     \
  vec<T, 2> p##q() const               \
    requires(n > i && n > k && n <= 4) \
  {                                    \
    return swizzle<i, k>();            \
  }
#define XEEMU_SWIZZLE3(p, i, q, k, s, l)        \
  vec<T, 3> p##q##s() const                     \
    requires(n > i && n > k && n > l && n <= 4) \
  {                                             \
    return swizzle<i, k, l>();                  \
  }
#define XEEMU_SWIZZLE4(p, i, q, k, s, l, t, m)            \
  vec<T, 4> p##q##s##t() const                            \
    requires(n > i && n > k && n > l && n > m && n <= 4)  \
  {                                                       \
    return swizzle<i, k, l, m>();                         \
  }
#ifdef SYCL_SIMPLE_SWIZZLES
#define XEEMU_THIRD(p, i, q, k, s, l)    \
  XEEMU_SWIZZLE3(p, i, q, k, s, l)       \
  XEEMU_SWIZZLE4(p, i, q, k, s, l, x, 0) \
  XEEMU_SWIZZLE4(p, i, q, k, s, l, y, 1) \
  XEEMU_SWIZZLE4(p, i, q, k, s, l, z, 2) \
  XEEMU_SWIZZLE4(p, i, q, k, s, l, w, 3)
#define XEEMU_SECOND(p, i, q, k)                             \
  XEEMU_SWIZZLE2(p, i, q, k)                                 \
  XEEMU_THIRD(p, i, q, k, x, 0) XEEMU_THIRD(p, i, q, k, y, 1) \
  XEEMU_THIRD(p, i, q, k, z, 2) XEEMU_THIRD(p, i, q, k, w, 3)
#define XEEMU_FIRST(p, i)                               \
  XEEMU_SECOND(p, i, x, 0) XEEMU_SECOND(p, i, y, 1) \
  XEEMU_SECOND(p, i, z, 2) XEEMU_SECOND(p, i, w, 3)
  XEEMU_FIRST(x, 0)
  XEEMU_FIRST(y, 1)
  XEEMU_FIRST(z, 2)
  XEEMU_FIRST(w, 3)
#undef XEEMU_THIRD
#undef XEEMU_SECOND
#undef XEEMU_FIRST
#else
  XEEMU_SWIZZLE2(x, 0, y, 1)
  XEEMU_SWIZZLE2(z, 2, w, 3)
  XEEMU_SWIZZLE2(y, 1, x, 0)
  XEEMU_SWIZZLE2(x, 0, x, 0)
  XEEMU_SWIZZLE2(y, 1, y, 1)
  XEEMU_SWIZZLE2(x, 0, z, 2)
  XEEMU_SWIZZLE2(y, 1, z, 2)
  XEEMU_SWIZZLE2(y, 1, w, 3)
  XEEMU_SWIZZLE3(x, 0, y, 1, z, 2)
  XEEMU_SWIZZLE3(z, 2, y, 1, x, 0)
  XEEMU_SWIZZLE4(x, 0, y, 1, z, 2, w, 3)
#endif
#undef XEEMU_SWIZZLE2
#undef XEEMU_SWIZZLE3
#undef XEEMU_SWIZZLE4

  template <class U, rounding_mode m = rounding_mode::automatic> vec<U, n> convert() const {
    typedef typename vec<U, n>::vector_t R;
    vec<U, n> y;
    if constexpr (m == rounding_mode::rte) y.v = __xeemu::convert_int_rte<R>(v);
    else if constexpr (m == rounding_mode::rtz) y.v = __xeemu::convert_int_rtz<R>(v);
    else if constexpr (m == rounding_mode::rtp) y.v = __xeemu::convert_int_rtp<R>(v);
    else if constexpr (m == rounding_mode::rtn) y.v = __xeemu::convert_int_rtn<R>(v);
    else y.v = __xeemu::convert_int<R>(v);
    return y;
  }
  template <class W> W as() const {
    static_assert(sizeof(W) == sizeof(vec), "vec::as gives a vec of the same size");
    W y;
    y.v = __xeemu::as_int<typename W::vector_t>(v);
    return y;
  }
  // One vector of those that follow each other in memory.
  template <class P> void load(size_t offset, P from) {
    const T *p = detail::plain_pointer(from) + offset * n;
    for (int i = 0; i < n; ++i) (*this)[i] = p[i];
  }
  template <class P> void store(size_t offset, P to) const {
    T *p = detail::plain_pointer(to) + offset * n;
    for (int i = 0; i < n; ++i) p[i] = (*this)[i];
  }

#define XEEMU_OPERATOR(op)                                                                   \
  friend vec operator op(const vec &a, const vec &b) { return vec((vector_t)(a.v op b.v)); } \
  friend vec operator op(const vec &a, T b) { return vec((vector_t)(a.v op(E) b)); }         \
  friend vec operator op(T a, const vec &b) { return vec((vector_t)((E)a op b.v)); }         \
  friend vec &operator op## = (vec & a, const vec &b) {                                      \
    a.v = (vector_t)(a.v op b.v);                                                            \
    return a;                                                                                \
  }                                                                                          \
  friend vec &operator op## = (vec & a, T b) {                                               \
    a.v = (vector_t)(a.v op(E) b);                                                           \
    return a;                                                                                \
  }
  XEEMU_OPERATOR(+)
  XEEMU_OPERATOR(-)
  XEEMU_OPERATOR(*)
  XEEMU_OPERATOR(/)
  XEEMU_OPERATOR(%)
  XEEMU_OPERATOR(&)
  XEEMU_OPERATOR(|)
  XEEMU_OPERATOR(^)
  XEEMU_OPERATOR(<<)
  XEEMU_OPERATOR(>>)
#undef XEEMU_OPERATOR
#define XEEMU_OPERATOR(op)                                                     \
  friend truth_type operator op(const vec &a, const vec &b) {                  \
    return truth_type((typename truth_type::vector_t)(a.v op b.v));            \
  }                                                                            \
  friend truth_type operator op(const vec &a, T b) {                           \
    return truth_type((typename truth_type::vector_t)(a.v op(vector_t)(E) b)); \
  }                                                                            \
  friend truth_type operator op(T a, const vec &b) {                           \
    return truth_type((typename truth_type::vector_t)((vector_t)(E)a op b.v)); \
  }
  XEEMU_OPERATOR(==)
  XEEMU_OPERATOR(!=)
  XEEMU_OPERATOR(<)
  XEEMU_OPERATOR(>)
  XEEMU_OPERATOR(<=)
  XEEMU_OPERATOR(>=)
#undef XEEMU_OPERATOR
  friend truth_type operator&&(const vec &a, const vec &b) { return (a != T(0)) & (b != T(0)); }
  friend truth_type operator||(const vec &a, const vec &b) { return (a != T(0)) | (b != T(0)); }
  friend truth_type operator!(const vec &a) { return a == T(0); }
  friend vec operator-(const vec &a) { return vec((vector_t)(-a.v)); }
  friend vec operator+(const vec &a) { return a; }
  friend vec operator~(const vec &a) { return vec((vector_t)(~a.v)); }
  friend vec &operator++(vec &a) { return a += T(1); }
  friend vec &operator--(vec &a) { return a -= T(1); }
  friend vec operator++(vec &a, int) {
    vec old = a;
    a += T(1);
    return old;
  }
  friend vec operator--(vec &a, int) {
    vec old = a;
    a -= T(1);
    return old;
  }
};
template <class T, class... U>
  requires(std::is_same_v<T, U> && ...)
vec(T, U...) -> vec<T, 1 + sizeof...(U)>;

#define XEEMU_ALIASES(name, T) \
  typedef vec<T, 2> name##2;   \
  typedef vec<T, 3> name##3;   \
  typedef vec<T, 4> name##4;   \
  typedef vec<T, 8> name##8;   \
  typedef vec<T, 16> name##16;
XEEMU_ALIASES(char, signed char)
XEEMU_ALIASES(schar, signed char)
XEEMU_ALIASES(uchar, unsigned char)
XEEMU_ALIASES(short, short)
XEEMU_ALIASES(ushort, unsigned short)
XEEMU_ALIASES(int, int)
XEEMU_ALIASES(uint, unsigned)
XEEMU_ALIASES(long, long)
XEEMU_ALIASES(ulong, unsigned long)
XEEMU_ALIASES(longlong, long long)
XEEMU_ALIASES(ulonglong, unsigned long long)
XEEMU_ALIASES(float, float)
XEEMU_ALIASES(double, double)
XEEMU_ALIASES(half, half)
#undef XEEMU_ALIASES
typedef signed char schar;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned uint;
typedef unsigned long ulong;
typedef long long longlong;
typedef unsigned long long ulonglong;

// ---- marray ----

template <class T, size_t n> struct marray {
  typedef T value_type;
  typedef T &reference;
  typedef const T &const_reference;
  typedef T *iterator;
  typedef const T *const_iterator;
  T s[n];

  constexpr marray() : s{} {}
  explicit constexpr marray(const T &x) {
    for (size_t i = 0; i < n; ++i) s[i] = x;
  }
  template <class... A>
    requires(sizeof...(A) == n && n > 1)
  constexpr marray(const A &...x) : s{(T)x...} {}
  static constexpr size_t size() { return n; }
  T &operator[](size_t i) { return s[i]; }
  const T &operator[](size_t i) const { return s[i]; }
  operator T() const
    requires(n == 1)
  {
    return s[0];
  }
  T *begin() { return s; }
  T *end() { return s + n; }
  const T *begin() const { return s; }
  const T *end() const { return s + n; }
  marray &operator=(const T &x) {
    for (size_t i = 0; i < n; ++i) s[i] = x;
    return *this;
  }
#define XEEMU_OPERATOR(op, op_assign)                             \
  friend marray operator op(const marray &a, const marray &b) {   \
    marray y;                                                     \
    for (size_t i = 0; i < n; ++i) y.s[i] = a.s[i] op b.s[i];     \
    return y;                                                     \
  }                                                               \
  friend marray operator op(const marray &a, const T &b) {        \
    marray y;                                                     \
    for (size_t i = 0; i < n; ++i) y.s[i] = a.s[i] op b;          \
    return y;                                                     \
  }                                                               \
  friend marray operator op(const T &a, const marray &b) {        \
    marray y;                                                     \
    for (size_t i = 0; i < n; ++i) y.s[i] = a op b.s[i];          \
    return y;                                                     \
  }                                                               \
  friend marray &operator op_assign(marray &a, const marray &b) { \
    for (size_t i = 0; i < n; ++i) a.s[i] op_assign b.s[i];       \
    return a;                                                     \
  }                                                               \
  friend marray &operator op_assign(marray &a, const T &b) {      \
    for (size_t i = 0; i < n; ++i) a.s[i] op_assign b;            \
    return a;                                                     \
  }
  XEEMU_OPERATOR(+, +=)
  XEEMU_OPERATOR(-, -=)
  XEEMU_OPERATOR(*, *=)
  XEEMU_OPERATOR(/, /=)
  XEEMU_OPERATOR(%, %=)
  XEEMU_OPERATOR(&, &=)
  XEEMU_OPERATOR(|, |=)
  XEEMU_OPERATOR(^, ^=)
  XEEMU_OPERATOR(<<, <<=)
  XEEMU_OPERATOR(>>, >>=)
#undef XEEMU_OPERATOR
#define XEEMU_OPERATOR(op)                                               \
  friend marray<bool, n> operator op(const marray &a, const marray &b) { \
    marray<bool, n> y;                                                   \
    for (size_t i = 0; i < n; ++i) y.s[i] = a.s[i] op b.s[i];            \
    return y;                                                            \
  }                                                                      \
  friend marray<bool, n> operator op(const marray &a, const T &b) {      \
    marray<bool, n> y;                                                   \
    for (size_t i = 0; i < n; ++i) y.s[i] = a.s[i] op b;                 \
    return y;                                                            \
  }
  XEEMU_OPERATOR(==)
  XEEMU_OPERATOR(!=)
  XEEMU_OPERATOR(<)
  XEEMU_OPERATOR(>)
  XEEMU_OPERATOR(<=)
  XEEMU_OPERATOR(>=)
  XEEMU_OPERATOR(&&)
  XEEMU_OPERATOR(||)
#undef XEEMU_OPERATOR
  friend marray operator-(const marray &a) {
    marray y;
    for (size_t i = 0; i < n; ++i) y.s[i] = -a.s[i];
    return y;
  }
  friend marray<bool, n> operator!(const marray &a) {
    marray<bool, n> y;
    for (size_t i = 0; i < n; ++i) y.s[i] = !a.s[i];
    return y;
  }
};
template <class T, class... U> marray(T, U...) -> marray<T, 1 + sizeof...(U)>;
#define XEEMU_ALIASES(name, T)     \
  typedef marray<T, 2> m##name##2; \
  typedef marray<T, 3> m##name##3; \
  typedef marray<T, 4> m##name##4; \
  typedef marray<T, 8> m##name##8; \
  typedef marray<T, 16> m##name##16;
XEEMU_ALIASES(int, int)
XEEMU_ALIASES(uint, unsigned)
XEEMU_ALIASES(float, float)
XEEMU_ALIASES(double, double)
XEEMU_ALIASES(long, long)
XEEMU_ALIASES(half, half)
XEEMU_ALIASES(char, signed char)
XEEMU_ALIASES(uchar, unsigned char)
XEEMU_ALIASES(short, short)
XEEMU_ALIASES(ushort, unsigned short)
#undef XEEMU_ALIASES

}  // namespace sycl

#endif

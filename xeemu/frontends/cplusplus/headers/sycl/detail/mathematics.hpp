// Mathematics: those of numbers are the intrinsics themselves; of vec and marray, component by component.
#ifndef XEEMU_SYCL_MATHEMATICS_HPP
#define XEEMU_SYCL_MATHEMATICS_HPP

#include <cmath>
#include <sycl/detail/vectors.hpp>

namespace sycl {

using __xeemu::acos, __xeemu::acosh, __xeemu::acospi, __xeemu::asin, __xeemu::asinh, __xeemu::asinpi, __xeemu::atan,
    __xeemu::atanh, __xeemu::atanpi, __xeemu::cbrt, __xeemu::ceil, __xeemu::cos, __xeemu::cosh, __xeemu::cospi,
    __xeemu::erf, __xeemu::erfc, __xeemu::exp, __xeemu::exp10, __xeemu::exp2, __xeemu::expm1, __xeemu::fabs,
    __xeemu::floor, __xeemu::lgamma, __xeemu::log, __xeemu::log10, __xeemu::log1p, __xeemu::log2, __xeemu::logb,
    __xeemu::rint, __xeemu::round, __xeemu::rsqrt, __xeemu::sin, __xeemu::sinh, __xeemu::sinpi, __xeemu::sqrt,
    __xeemu::tan, __xeemu::tanh, __xeemu::tanpi, __xeemu::tgamma, __xeemu::trunc, __xeemu::sign, __xeemu::degrees,
    __xeemu::radians, __xeemu::atan2, __xeemu::atan2pi, __xeemu::copysign, __xeemu::fdim, __xeemu::fmax, __xeemu::fmin,
    __xeemu::fmod, __xeemu::hypot, __xeemu::maxmag, __xeemu::minmag, __xeemu::nextafter, __xeemu::pow, __xeemu::powr,
    __xeemu::remainder, __xeemu::step, __xeemu::fma, __xeemu::mad, __xeemu::mix, __xeemu::smoothstep;

namespace detail {
template <class T>
concept floating = std::is_floating_point_v<T> || std::is_same_v<T, half>;
}  // namespace detail

#define XEEMU_UNARY(name)                                                        \
  template <class T, int n> inline vec<T, n> name(const vec<T, n> &x) {          \
    return vec<T, n>(__xeemu::vectors::name(x.v));                               \
  }                                                                              \
  template <class T, size_t n> inline marray<T, n> name(const marray<T, n> &x) { \
    marray<T, n> y;                                                              \
    for (size_t i = 0; i < n; ++i) y.s[i] = name(x.s[i]);                        \
    return y;                                                                    \
  }
#define XEEMU_BINARY(name)                                                                              \
  template <class T, int n> inline vec<T, n> name(const vec<T, n> &x, const vec<T, n> &y) {             \
    return vec<T, n>(__xeemu::vectors::name(x.v, y.v));                                                 \
  }                                                                                                     \
  template <class T, int n> inline vec<T, n> name(const vec<T, n> &x, std::type_identity_t<T> y) {      \
    return vec<T, n>(__xeemu::vectors::name(x.v, (typename vec<T, n>::vector_t)y));                     \
  }                                                                                                     \
  template <class T, size_t n> inline marray<T, n> name(const marray<T, n> &x, const marray<T, n> &y) { \
    marray<T, n> z;                                                                                     \
    for (size_t i = 0; i < n; ++i) z.s[i] = name(x.s[i], y.s[i]);                                       \
    return z;                                                                                           \
  }
#define XEEMU_TERNARY(name)                                                                                     \
  template <class T, int n> inline vec<T, n> name(const vec<T, n> &x, const vec<T, n> &y, const vec<T, n> &z) { \
    return vec<T, n>(__xeemu::vectors::name(x.v, y.v, z.v));                                                    \
  }                                                                                                             \
  template <class T, size_t n>                                                                                  \
  inline marray<T, n> name(const marray<T, n> &x, const marray<T, n> &y, const marray<T, n> &z) {               \
    marray<T, n> u;                                                                                             \
    for (size_t i = 0; i < n; ++i) u.s[i] = name(x.s[i], y.s[i], z.s[i]);                                       \
    return u;                                                                                                   \
  }
#include <xeemu/functions.def>
template <class T, int n> inline vec<T, n> mix(const vec<T, n> &x, const vec<T, n> &y, std::type_identity_t<T> a) {
  return x + (y - x) * a;
}
template <class T, int n> inline vec<T, n> step(std::type_identity_t<T> edge, const vec<T, n> &x) {
  return step(vec<T, n>(edge), x);
}

// ---- what integers and floats share ----

using __xeemu::clamp, __xeemu::max, __xeemu::min;
template <detail::scalar A, detail::scalar B>
  requires(!std::is_same_v<A, B>)
inline std::common_type_t<A, B> max(A a, B b) {
  return __xeemu::max((std::common_type_t<A, B>)a, (std::common_type_t<A, B>)b);
}
template <detail::scalar A, detail::scalar B>
  requires(!std::is_same_v<A, B>)
inline std::common_type_t<A, B> min(A a, B b) {
  return __xeemu::min((std::common_type_t<A, B>)a, (std::common_type_t<A, B>)b);
}
template <detail::scalar T, detail::scalar A, detail::scalar B>
  requires(!std::is_same_v<T, A> || !std::is_same_v<T, B>)
inline T clamp(T x, A low, B high) {
  return __xeemu::clamp(x, (T)low, (T)high);
}
XEEMU_BINARY(max)
XEEMU_BINARY(min)
XEEMU_TERNARY(clamp)
template <class T, int n>
inline vec<T, n> clamp(const vec<T, n> &x, std::type_identity_t<T> low, std::type_identity_t<T> high) {
  return clamp(x, vec<T, n>(low), vec<T, n>(high));
}
template <class T>
  requires std::is_integral_v<T>
inline T abs(T x) {
  return x < 0 ? (T)-x : x;
}
template <detail::floating T> inline T abs(T x) { return __xeemu::fabs(x); }
template <class T, int n> inline vec<T, n> abs(const vec<T, n> &x) {
  return vec<T, n>(__xeemu::vectors::max(x.v, (typename vec<T, n>::vector_t)(-x.v)));
}
template <std::integral T> inline T abs_diff(T a, T b) { return __xeemu::abs_diff(a, b); }
template <class T, int n> inline vec<T, n> abs_diff(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::abs_diff(a.v, b.v));
}
template <std::integral T> inline T add_sat(T a, T b) { return __xeemu::add_sat(a, b); }
template <class T, int n> inline vec<T, n> add_sat(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::add_sat(a.v, b.v));
}
template <std::integral T> inline T sub_sat(T a, T b) { return __xeemu::sub_sat(a, b); }
template <class T, int n> inline vec<T, n> sub_sat(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::sub_sat(a.v, b.v));
}
template <std::integral T> inline T hadd(T a, T b) { return __xeemu::hadd(a, b); }
template <class T, int n> inline vec<T, n> hadd(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::hadd(a.v, b.v));
}
template <std::integral T> inline T rhadd(T a, T b) { return __xeemu::rhadd(a, b); }
template <class T, int n> inline vec<T, n> rhadd(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::rhadd(a.v, b.v));
}
template <std::integral T> inline T mul_hi(T a, T b) { return __xeemu::mul_hi(a, b); }
template <class T, int n> inline vec<T, n> mul_hi(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::mul_hi(a.v, b.v));
}
template <std::integral T> inline T mul24(T a, T b) { return __xeemu::mul24(a, b); }
template <class T, int n> inline vec<T, n> mul24(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::mul24(a.v, b.v));
}
template <std::integral T> inline T rotate(T a, T b) { return __xeemu::rotate(a, b); }
template <class T, int n> inline vec<T, n> rotate(const vec<T, n> &a, const vec<T, n> &b) {
  return vec<T, n>(__xeemu::rotate(a.v, b.v));
}
template <std::integral T> inline T clz(T a) { return __xeemu::clz(a); }
template <class T, int n> inline vec<T, n> clz(const vec<T, n> &a) { return vec<T, n>(__xeemu::clz(a.v)); }
template <std::integral T> inline T ctz(T a) { return __xeemu::ctz(a); }
template <class T, int n> inline vec<T, n> ctz(const vec<T, n> &a) { return vec<T, n>(__xeemu::ctz(a.v)); }
template <std::integral T> inline T popcount(T a) { return __xeemu::popcount(a); }
template <class T, int n> inline vec<T, n> popcount(const vec<T, n> &a) { return vec<T, n>(__xeemu::popcount(a.v)); }
template <std::integral T> inline T mad_hi(T a, T b, T c) { return __xeemu::mad_hi(a, b, c); }
template <class T, int n> inline vec<T, n> mad_hi(const vec<T, n> &a, const vec<T, n> &b, const vec<T, n> &c) {
  return vec<T, n>(__xeemu::mad_hi(a.v, b.v, c.v));
}
template <std::integral T> inline T mad_sat(T a, T b, T c) { return __xeemu::mad_sat(a, b, c); }
template <class T, int n> inline vec<T, n> mad_sat(const vec<T, n> &a, const vec<T, n> &b, const vec<T, n> &c) {
  return vec<T, n>(__xeemu::mad_sat(a.v, b.v, c.v));
}
template <std::integral T> inline T mad24(T a, T b, T c) { return __xeemu::mad24(a, b, c); }
template <class T, int n> inline vec<T, n> mad24(const vec<T, n> &a, const vec<T, n> &b, const vec<T, n> &c) {
  return vec<T, n>(__xeemu::mad24(a.v, b.v, c.v));
}
inline short upsample(signed char high, unsigned char low) { return (short)((high << 8) | low); }
inline unsigned short upsample(unsigned char high, unsigned char low) { return (unsigned short)((high << 8) | low); }
inline int upsample(short high, unsigned short low) { return (int)(((unsigned)high << 16) | low); }
inline unsigned upsample(unsigned short high, unsigned short low) { return ((unsigned)high << 16) | low; }
inline long upsample(int high, unsigned low) { return (long)(((unsigned long)high << 32) | low); }
inline unsigned long upsample(unsigned high, unsigned low) { return ((unsigned long)high << 32) | low; }

// ---- with a second result, or a whole number ----

template <detail::floating T> inline int ilogb(T x) { return __xeemu::ilogb(x); }
template <detail::floating T> inline T ldexp(T x, int e) { return __xeemu::ldexp(x, e); }
template <detail::floating T> inline T pown(T x, int e) { return __xeemu::pown(x, e); }
template <detail::floating T> inline T rootn(T x, int e) { return __xeemu::rootn(x, e); }
template <detail::floating T> inline T nan(unsigned) { return (T)__builtin_nanf(""); }
inline float nan(unsigned) { return __builtin_nanf(""); }
inline double nan(unsigned long) { return __builtin_nan(""); }
template <detail::floating T, class P> inline T fract(T x, P p) { return __xeemu::fract(x, detail::plain_pointer(p)); }
template <class T, int n, class P> inline vec<T, n> fract(const vec<T, n> &x, P p) {
  vec<T, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::fract((T)x[i], &(*detail::plain_pointer(p))[i]);
  return y;
}
template <detail::floating T, class P> inline T modf(T x, P p) { return __xeemu::modf(x, detail::plain_pointer(p)); }
template <class T, int n, class P> inline vec<T, n> modf(const vec<T, n> &x, P p) {
  vec<T, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::modf((T)x[i], &(*detail::plain_pointer(p))[i]);
  return y;
}
template <detail::floating T, class P> inline T sincos(T x, P p) {
  return __xeemu::sincos(x, detail::plain_pointer(p));
}
template <class T, int n, class P> inline vec<T, n> sincos(const vec<T, n> &x, P p) {
  vec<T, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::sincos((T)x[i], &(*detail::plain_pointer(p))[i]);
  return y;
}
template <detail::floating T, class P> inline T frexp(T x, P p) { return __xeemu::frexp(x, detail::plain_pointer(p)); }
template <detail::floating T, class P> inline T lgamma_r(T x, P p) {
  return __xeemu::lgamma_r(x, detail::plain_pointer(p));
}
template <class T, int n, class P> inline vec<T, n> lgamma_r(const vec<T, n> &x, P p) {
  vec<T, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::lgamma_r((T)x[i], &(*detail::plain_pointer(p))[i]);
  return y;
}
template <class T, int n, class P> inline vec<T, n> frexp(const vec<T, n> &x, P p) {
  vec<T, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::frexp((T)x[i], &(*detail::plain_pointer(p))[i]);
  return y;
}
template <class T, int n, class P> inline vec<T, n> remquo(const vec<T, n> &a, const vec<T, n> &b, P p) {
  vec<T, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::remquo((T)a[i], (T)b[i], &(*detail::plain_pointer(p))[i]);
  return y;
}
template <class T, int n> inline vec<int, n> ilogb(const vec<T, n> &x) {
  vec<int, n> y;
  for (int i = 0; i < n; ++i) y[i] = __xeemu::ilogb((T)x[i]);
  return y;
}
#define XEEMU_WITH_INTEGER(name)                                                              \
  template <class T, int n> inline vec<T, n> name(const vec<T, n> &x, const vec<int, n> &e) { \
    vec<T, n> y;                                                                              \
    for (int i = 0; i < n; ++i) y[i] = __xeemu::name((T)x[i], (int)e[i]);                     \
    return y;                                                                                 \
  }                                                                                           \
  template <class T, int n> inline vec<T, n> name(const vec<T, n> &x, int e) { return name(x, vec<int, n>(e)); }
XEEMU_WITH_INTEGER(ldexp)
XEEMU_WITH_INTEGER(pown)
XEEMU_WITH_INTEGER(rootn)
#undef XEEMU_WITH_INTEGER
template <detail::floating T, class P> inline T remquo(T x, T y, P p) {
  return __xeemu::remquo(x, y, detail::plain_pointer(p));
}

// ---- geometry ----

template <detail::floating T> inline T dot(T x, T y) { return x * y; }
template <detail::floating T> inline T distance(T x, T y) { return __xeemu::fabs(x - y); }
template <detail::floating T> inline T length(T x) { return __xeemu::fabs(x); }
template <detail::floating T> inline T normalize(T x) { return __xeemu::sign(x); }
template <detail::floating T> inline T fast_length(T x) { return __xeemu::fabs(x); }
template <class T, int n> inline T dot(const vec<T, n> &x, const vec<T, n> &y) {
  return __xeemu::vectors::dot<T>(x.v, y.v);
}
template <class T, int n> inline T distance(const vec<T, n> &x, const vec<T, n> &y) {
  return __xeemu::vectors::distance<T>(x.v, y.v);
}
template <class T, int n> inline T fast_distance(const vec<T, n> &x, const vec<T, n> &y) {
  return __xeemu::vectors::fast_distance<T>(x.v, y.v);
}
template <class T, int n> inline T length(const vec<T, n> &x) { return __xeemu::vectors::length<T>(x.v); }
template <class T, int n> inline T fast_length(const vec<T, n> &x) { return __xeemu::vectors::fast_length<T>(x.v); }
template <class T, int n> inline vec<T, n> normalize(const vec<T, n> &x) {
  return vec<T, n>(__xeemu::vectors::normalize(x.v));
}
template <class T, int n> inline vec<T, n> fast_normalize(const vec<T, n> &x) {
  return vec<T, n>(__xeemu::vectors::fast_normalize(x.v));
}
template <class T, int n>
  requires(n == 3 || n == 4)
inline vec<T, n> cross(const vec<T, n> &x, const vec<T, n> &y) {
  return vec<T, n>(__xeemu::vectors::cross(x.v, y.v));
}

// ---- relations ----

template <detail::floating T> inline bool isequal(T x, T y) { return x == y; }
template <class T, int n> inline auto isequal(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isequal<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isnotequal(T x, T y) { return x != y; }
template <class T, int n> inline auto isnotequal(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isnotequal<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isgreater(T x, T y) { return x > y; }
template <class T, int n> inline auto isgreater(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isgreater<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isgreaterequal(T x, T y) { return x >= y; }
template <class T, int n> inline auto isgreaterequal(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isgreaterequal<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isless(T x, T y) { return x < y; }
template <class T, int n> inline auto isless(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isless<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool islessequal(T x, T y) { return x <= y; }
template <class T, int n> inline auto islessequal(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::islessequal<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool islessgreater(T x, T y) { return x < y || x > y; }
template <class T, int n> inline auto islessgreater(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::islessgreater<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isordered(T x, T y) { return x == x && y == y; }
template <class T, int n> inline auto isordered(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isordered<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isunordered(T x, T y) { return x != x || y != y; }
template <class T, int n> inline auto isunordered(const vec<T, n> &x, const vec<T, n> &y) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isunordered<typename R::vector_t>(x.v, y.v));
}
template <detail::floating T> inline bool isnan(T x) { return x != x; }
template <class T, int n> inline auto isnan(const vec<T, n> &x) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isnan<typename R::vector_t>(x.v));
}
template <detail::floating T> inline bool isinf(T x) { return x == (T)__builtin_inff() || x == -(T)__builtin_inff(); }
template <class T, int n> inline auto isinf(const vec<T, n> &x) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isinf<typename R::vector_t>(x.v));
}
template <detail::floating T> inline bool isfinite(T x) { return x - x == 0; }
template <class T, int n> inline auto isfinite(const vec<T, n> &x) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isfinite<typename R::vector_t>(x.v));
}
template <detail::floating T> inline bool isnormal(T x) { return __xeemu::isnormal<bool>(x); }
template <class T, int n> inline auto isnormal(const vec<T, n> &x) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::isnormal<typename R::vector_t>(x.v));
}
template <detail::floating T> inline bool signbit(T x) { return __xeemu::signbit<bool>(x); }
template <class T, int n> inline auto signbit(const vec<T, n> &x) {
  typedef typename vec<T, n>::truth_type R;
  return R(__xeemu::signbit<typename R::vector_t>(x.v));
}
inline bool any(bool x) { return x; }
inline bool all(bool x) { return x; }
template <class T, int n> inline bool any(const vec<T, n> &x) { return __xeemu::vectors::any(x.v) != 0; }
template <class T, int n> inline bool all(const vec<T, n> &x) { return __xeemu::vectors::all(x.v) != 0; }
template <size_t n> inline bool any(const marray<bool, n> &x) {
  bool found = false;
  for (size_t i = 0; i < n; ++i) found = found || x.s[i];
  return found;
}
template <size_t n> inline bool all(const marray<bool, n> &x) {
  bool held = true;
  for (size_t i = 0; i < n; ++i) held = held && x.s[i];
  return held;
}
template <detail::scalar T> inline T select(T a, T b, bool c) { return c ? b : a; }
template <class T, int n, class M> inline vec<T, n> select(const vec<T, n> &a, const vec<T, n> &b, const vec<M, n> &c) {
  return vec<T, n>(__xeemu::vectors::select(a.v, b.v, c.v));
}
template <detail::scalar T> inline T bitselect(T a, T b, T c) { return __xeemu::bitselect(a, b, c); }
template <class T, int n> inline vec<T, n> bitselect(const vec<T, n> &a, const vec<T, n> &b, const vec<T, n> &c) {
  return vec<T, n>(__xeemu::bitselect(a.v, b.v, c.v));
}
template <class R, class T>
  requires(sizeof(R) == sizeof(T))
inline R bit_cast(const T &x) {
  return __xeemu::as_int<R>(x);
}

namespace native {
template <detail::floating T> inline T cos(T x) { return __xeemu::native_cos(x); }
template <class T, int n> inline vec<T, n> cos(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_cos(x.v)); }
template <detail::floating T> inline T exp(T x) { return __xeemu::native_exp(x); }
template <class T, int n> inline vec<T, n> exp(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_exp(x.v)); }
template <detail::floating T> inline T exp10(T x) { return __xeemu::native_exp10(x); }
template <class T, int n> inline vec<T, n> exp10(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_exp10(x.v)); }
template <detail::floating T> inline T exp2(T x) { return __xeemu::native_exp2(x); }
template <class T, int n> inline vec<T, n> exp2(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_exp2(x.v)); }
template <detail::floating T> inline T log(T x) { return __xeemu::native_log(x); }
template <class T, int n> inline vec<T, n> log(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_log(x.v)); }
template <detail::floating T> inline T log10(T x) { return __xeemu::native_log10(x); }
template <class T, int n> inline vec<T, n> log10(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_log10(x.v)); }
template <detail::floating T> inline T log2(T x) { return __xeemu::native_log2(x); }
template <class T, int n> inline vec<T, n> log2(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_log2(x.v)); }
template <detail::floating T> inline T recip(T x) { return __xeemu::native_recip(x); }
template <class T, int n> inline vec<T, n> recip(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_recip(x.v)); }
template <detail::floating T> inline T rsqrt(T x) { return __xeemu::native_rsqrt(x); }
template <class T, int n> inline vec<T, n> rsqrt(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_rsqrt(x.v)); }
template <detail::floating T> inline T sin(T x) { return __xeemu::native_sin(x); }
template <class T, int n> inline vec<T, n> sin(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_sin(x.v)); }
template <detail::floating T> inline T sqrt(T x) { return __xeemu::native_sqrt(x); }
template <class T, int n> inline vec<T, n> sqrt(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_sqrt(x.v)); }
template <detail::floating T> inline T tan(T x) { return __xeemu::native_tan(x); }
template <class T, int n> inline vec<T, n> tan(const vec<T, n> &x) { return vec<T, n>(__xeemu::native_tan(x.v)); }
template <detail::floating T> inline T divide(T x, T y) { return __xeemu::native_divide(x, y); }
template <class T, int n> inline vec<T, n> divide(const vec<T, n> &x, const vec<T, n> &y) {
  return vec<T, n>(__xeemu::native_divide(x.v, y.v));
}
template <detail::floating T> inline T powr(T x, T y) { return __xeemu::native_powr(x, y); }
template <class T, int n> inline vec<T, n> powr(const vec<T, n> &x, const vec<T, n> &y) {
  return vec<T, n>(__xeemu::native_powr(x.v, y.v));
}
}  // namespace native

namespace half_precision {
template <detail::floating T> inline T cos(T x) { return __xeemu::half_cos(x); }
template <class T, int n> inline vec<T, n> cos(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_cos(x.v)); }
template <detail::floating T> inline T exp(T x) { return __xeemu::half_exp(x); }
template <class T, int n> inline vec<T, n> exp(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_exp(x.v)); }
template <detail::floating T> inline T exp10(T x) { return __xeemu::half_exp10(x); }
template <class T, int n> inline vec<T, n> exp10(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_exp10(x.v)); }
template <detail::floating T> inline T exp2(T x) { return __xeemu::half_exp2(x); }
template <class T, int n> inline vec<T, n> exp2(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_exp2(x.v)); }
template <detail::floating T> inline T log(T x) { return __xeemu::half_log(x); }
template <class T, int n> inline vec<T, n> log(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_log(x.v)); }
template <detail::floating T> inline T log10(T x) { return __xeemu::half_log10(x); }
template <class T, int n> inline vec<T, n> log10(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_log10(x.v)); }
template <detail::floating T> inline T log2(T x) { return __xeemu::half_log2(x); }
template <class T, int n> inline vec<T, n> log2(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_log2(x.v)); }
template <detail::floating T> inline T recip(T x) { return __xeemu::half_recip(x); }
template <class T, int n> inline vec<T, n> recip(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_recip(x.v)); }
template <detail::floating T> inline T rsqrt(T x) { return __xeemu::half_rsqrt(x); }
template <class T, int n> inline vec<T, n> rsqrt(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_rsqrt(x.v)); }
template <detail::floating T> inline T sin(T x) { return __xeemu::half_sin(x); }
template <class T, int n> inline vec<T, n> sin(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_sin(x.v)); }
template <detail::floating T> inline T sqrt(T x) { return __xeemu::half_sqrt(x); }
template <class T, int n> inline vec<T, n> sqrt(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_sqrt(x.v)); }
template <detail::floating T> inline T tan(T x) { return __xeemu::half_tan(x); }
template <class T, int n> inline vec<T, n> tan(const vec<T, n> &x) { return vec<T, n>(__xeemu::half_tan(x.v)); }
template <detail::floating T> inline T divide(T x, T y) { return __xeemu::half_divide(x, y); }
template <class T, int n> inline vec<T, n> divide(const vec<T, n> &x, const vec<T, n> &y) {
  return vec<T, n>(__xeemu::half_divide(x.v, y.v));
}
template <detail::floating T> inline T powr(T x, T y) { return __xeemu::half_powr(x, y); }
template <class T, int n> inline vec<T, n> powr(const vec<T, n> &x, const vec<T, n> &y) {
  return vec<T, n>(__xeemu::half_powr(x.v, y.v));
}
}  // namespace half_precision

#undef XEEMU_UNARY
#undef XEEMU_BINARY
#undef XEEMU_TERNARY

}  // namespace sycl

#endif

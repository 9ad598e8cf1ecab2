// Mathematics: the functions of numbers, one for each type. Those of integers compute in double, as in C++.
#ifndef XEEMU_MATHEMATICS_HPP
#define XEEMU_MATHEMATICS_HPP

namespace __xeemu {

typedef _Float16 half;
template <class T> inline constexpr bool whole = __is_integral(T);
template <class T> inline constexpr bool real = __is_floating_point(T) || __is_same(T, half);
template <class A, class B> struct wider_of {
  typedef decltype(A() * B()) type;
};
template <class A, class B>
  requires(whole<A> || whole<B>)
struct wider_of<A, B> {
  typedef double type;
};
template <class A, class B>
  requires(whole<A> && __is_same(B, float)) || (whole<B> && __is_same(A, float)) || (whole<A> && __is_same(B, half)) ||
          (whole<B> && __is_same(A, half))
struct wider_of<A, B> {
  typedef double type;
};
template <class A, class B> using wider = typename wider_of<A, B>::type;

#define XEEMU_UNARY(name)   \
  half name(half);          \
  float name(float);        \
  double name(double);      \
  template <class T>        \
    requires whole<T>       \
  inline double name(T x) { \
    return name((double)x); \
  }                         \
  inline double name(long double x) { return name((double)x); }
#define XEEMU_BINARY(name)                                                \
  half name(half, half);                                                  \
  float name(float, float);                                               \
  double name(double, double);                                            \
  template <class A, class B>                                             \
    requires((whole<A> || real<A>) && (whole<B> || real<B>) &&            \
             (!__is_same(A, B) || whole<A> || __is_same(A, long double))) \
  inline wider<A, B> name(A a, B b) {                                     \
    return name((wider<A, B>)a, (wider<A, B>)b);                          \
  }
#define XEEMU_TERNARY(name)        \
  half name(half, half, half);     \
  float name(float, float, float); \
  double name(double, double, double);

#include <xeemu/functions.def>
#undef XEEMU_UNARY
#undef XEEMU_BINARY
#undef XEEMU_TERNARY
template <class A, class B, class C>
  requires(!(__is_same(A, B) && __is_same(B, C)) || whole<A>)
inline auto fma(A a, B b, C c) {
  typedef wider<wider<A, B>, C> T;
  return fma((T)a, (T)b, (T)c);
}

// Of vectors, and what is not of the three types alike.
template <class T> int ilogb(T x);
template <class T> T ldexp(T x, int e);
template <class T> T pown(T x, int n);
template <class T> T rootn(T x, int n);
template <class T, class P> T fract(T x, P *whole);
template <class T, class P> T frexp(T x, P *exponent);
template <class T, class P> T lgamma_r(T x, P *sign);
template <class T, class P> T modf(T x, P *whole);
template <class T, class P> T remquo(T x, T y, P *quotient);
template <class T, class P> T sincos(T x, P *cosine);

#define XEEMU_FAST(name)                   \
  template <class T> T native_##name(T x); \
  template <class T> T half_##name(T x);
XEEMU_FAST(cos)
XEEMU_FAST(exp)
XEEMU_FAST(exp10)
XEEMU_FAST(exp2)
XEEMU_FAST(log)
XEEMU_FAST(log10)
XEEMU_FAST(log2)
XEEMU_FAST(recip)
XEEMU_FAST(rsqrt)
XEEMU_FAST(sin)
XEEMU_FAST(sqrt)
XEEMU_FAST(tan)
#undef XEEMU_FAST
template <class T> T native_divide(T x, T y);
template <class T> T native_powr(T x, T y);
template <class T> T half_divide(T x, T y);
template <class T> T half_powr(T x, T y);

// ---- integers, and what integers and floats share ----

template <class T> T abs_diff(T a, T b);
template <class T> T add_sat(T a, T b);
template <class T> T sub_sat(T a, T b);
template <class T> T hadd(T a, T b);
template <class T> T rhadd(T a, T b);
template <class T> T mul_hi(T a, T b);
template <class T> T mad_hi(T a, T b, T c);
template <class T> T mad_sat(T a, T b, T c);
template <class T> T mul24(T a, T b);
template <class T> T mad24(T a, T b, T c);
template <class T> T rotate(T a, T b);
template <class T> T clz(T x);
template <class T> T ctz(T x);
template <class T> T popcount(T x);
template <class T>
  requires(whole<T> || real<T>)
T max(T a, T b);
template <class T>
  requires(whole<T> || real<T>)
T min(T a, T b);
template <class T>
  requires(whole<T> || real<T>)
T clamp(T x, T low, T high);
template <class T> T bitselect(T a, T b, T c);

// ---- bits and conversions: R says to what, not the name ----

template <class R, class T> R as_int(T x);
template <class R, class T> R convert_int(T x);
template <class R, class T> R convert_int_rte(T x);
template <class R, class T> R convert_int_rtz(T x);
template <class R, class T> R convert_int_rtp(T x);
template <class R, class T> R convert_int_rtn(T x);

// ---- relations of floats: of numbers R is bool, of vectors a vector of integers ----

template <class R, class T> R isfinite(T x);
template <class R, class T> R isinf(T x);
template <class R, class T> R isnan(T x);
template <class R, class T> R isnormal(T x);
template <class R, class T> R signbit(T x);
template <class R, class T> R isequal(T a, T b);
template <class R, class T> R isnotequal(T a, T b);
template <class R, class T> R isgreater(T a, T b);
template <class R, class T> R isgreaterequal(T a, T b);
template <class R, class T> R isless(T a, T b);
template <class R, class T> R islessequal(T a, T b);
template <class R, class T> R islessgreater(T a, T b);
template <class R, class T> R isordered(T a, T b);
template <class R, class T> R isunordered(T a, T b);

// ---- of vectors: as those of numbers, and some of their own ----

namespace vectors {
#define XEEMU_VECTORS(name) template <class V> V name(V x);
#define XEEMU_VECTORS2(name) template <class V> V name(V x, V y);
#define XEEMU_VECTORS3(name) template <class V> V name(V x, V y, V z);
XEEMU_VECTORS(acos)
XEEMU_VECTORS(acosh) XEEMU_VECTORS(acospi) XEEMU_VECTORS(asin) XEEMU_VECTORS(asinh) XEEMU_VECTORS(asinpi) XEEMU_VECTORS(
    atan) XEEMU_VECTORS(atanh) XEEMU_VECTORS(atanpi) XEEMU_VECTORS(cbrt) XEEMU_VECTORS(ceil) XEEMU_VECTORS(cos)
    XEEMU_VECTORS(cosh) XEEMU_VECTORS(cospi) XEEMU_VECTORS(erf) XEEMU_VECTORS(erfc) XEEMU_VECTORS(exp)
        XEEMU_VECTORS(exp10) XEEMU_VECTORS(exp2) XEEMU_VECTORS(expm1) XEEMU_VECTORS(fabs) XEEMU_VECTORS(floor)
            XEEMU_VECTORS(lgamma) XEEMU_VECTORS(log) XEEMU_VECTORS(log10) XEEMU_VECTORS(log1p) XEEMU_VECTORS(log2)
                XEEMU_VECTORS(logb) XEEMU_VECTORS(rint) XEEMU_VECTORS(round) XEEMU_VECTORS(rsqrt) XEEMU_VECTORS(sin)
                    XEEMU_VECTORS(sinh) XEEMU_VECTORS(sinpi) XEEMU_VECTORS(sqrt) XEEMU_VECTORS(tan) XEEMU_VECTORS(tanh)
                        XEEMU_VECTORS(tanpi) XEEMU_VECTORS(tgamma) XEEMU_VECTORS(trunc) XEEMU_VECTORS(sign)
                            XEEMU_VECTORS(degrees) XEEMU_VECTORS(radians) XEEMU_VECTORS(normalize)
                                XEEMU_VECTORS(fast_normalize) XEEMU_VECTORS2(atan2) XEEMU_VECTORS2(atan2pi)
                                    XEEMU_VECTORS2(copysign) XEEMU_VECTORS2(fdim) XEEMU_VECTORS2(fmax)
                                        XEEMU_VECTORS2(fmin) XEEMU_VECTORS2(fmod) XEEMU_VECTORS2(hypot)
                                            XEEMU_VECTORS2(maxmag) XEEMU_VECTORS2(minmag) XEEMU_VECTORS2(nextafter)
                                                XEEMU_VECTORS2(pow) XEEMU_VECTORS2(powr) XEEMU_VECTORS2(remainder)
                                                    XEEMU_VECTORS2(step) XEEMU_VECTORS2(max) XEEMU_VECTORS2(min)
                                                        XEEMU_VECTORS2(cross) XEEMU_VECTORS3(fma) XEEMU_VECTORS3(mad)
                                                            XEEMU_VECTORS3(mix) XEEMU_VECTORS3(smoothstep)
                                                                XEEMU_VECTORS3(clamp) template <class R, class V>
                                                                R dot(V x, V y);
template <class R, class V> R distance(V x, V y);
template <class R, class V> R fast_distance(V x, V y);
template <class R, class V> R length(V x);
template <class R, class V> R fast_length(V x);
template <class V, class M> V select(V x, V y, M mask);
template <class V> int any(V x);
template <class V> int all(V x);
#undef XEEMU_VECTORS
#undef XEEMU_VECTORS2
#undef XEEMU_VECTORS3
}  // namespace vectors

}  // namespace __xeemu

#endif

// bfloat16: the upper half of a float, in which it computes.
#ifndef XEEMU_SYCL_BFLOAT16_HPP
#define XEEMU_SYCL_BFLOAT16_HPP

#include <xeemu/intrinsics.hpp>

namespace sycl::ext::oneapi {

struct bfloat16 {
  unsigned short bits;
  bfloat16() = default;
  bfloat16(float x) : bits(rounded(x)) {}
  template <class T>
    requires(__xeemu::whole<T> || __xeemu::real<T>)
  explicit bfloat16(T x) : bits(rounded((float)x)) {}
  operator float() const { return __xeemu::as_int<float>((unsigned)bits << 16); }
  bfloat16 &operator=(float x) {
    bits = rounded(x);
    return *this;
  }

  // To the nearest, of two as near to the one that is even; a NaN stays one.
  static unsigned short rounded(float x) {
    unsigned u = __xeemu::as_int<unsigned>(x);
    return (unsigned short)((u & 0x7fffffffu) > 0x7f800000u ? u >> 16 | 64u : (u + 0x7fffu + (u >> 16 & 1u)) >> 16);
  }
#define XEEMU_OPERATOR(op)                                                                              \
  friend bfloat16 operator op(bfloat16 a, bfloat16 b) { return bfloat16((float)a op(float) b); }        \
  template <class T>                                                                                    \
    requires(__xeemu::whole<T> || __xeemu::real<T>)                                                     \
  friend auto operator op(bfloat16 a, T b) {                                                            \
    return (float)a op b;                                                                               \
  }                                                                                                     \
  template <class T>                                                                                    \
    requires(__xeemu::whole<T> || __xeemu::real<T>)                                                     \
  friend auto operator op(T a, bfloat16 b) {                                                            \
    return a op(float) b;                                                                               \
  }                                                                                                     \
  friend bfloat16 &operator op##=(bfloat16 & a, float b) { return a = bfloat16((float)a op b); }
  XEEMU_OPERATOR(+)
  XEEMU_OPERATOR(-)
  XEEMU_OPERATOR(*)
  XEEMU_OPERATOR(/)
#undef XEEMU_OPERATOR
  friend bfloat16 operator-(bfloat16 a) { return bfloat16(-(float)a); }
  friend bfloat16 &operator++(bfloat16 &a) { return a += 1.0f; }
#define XEEMU_RELATION(op) \
  friend bool operator op(bfloat16 a, bfloat16 b) { return (float)a op(float) b; }
  XEEMU_RELATION(==)
  XEEMU_RELATION(!=)
  XEEMU_RELATION(<)
  XEEMU_RELATION(>)
  XEEMU_RELATION(<=)
  XEEMU_RELATION(>=)
#undef XEEMU_RELATION
};
namespace experimental {
using ext::oneapi::bfloat16;
#define XEEMU_UNARY(name) \
  inline bfloat16 name(bfloat16 x) { return bfloat16(__xeemu::name((float)x)); }
XEEMU_UNARY(ceil)
XEEMU_UNARY(cos)
XEEMU_UNARY(exp)
XEEMU_UNARY(exp10)
XEEMU_UNARY(exp2)
XEEMU_UNARY(fabs)
XEEMU_UNARY(floor)
XEEMU_UNARY(log)
XEEMU_UNARY(log10)
XEEMU_UNARY(log2)
XEEMU_UNARY(rint)
XEEMU_UNARY(rsqrt)
XEEMU_UNARY(sin)
XEEMU_UNARY(sqrt)
XEEMU_UNARY(tanh)
XEEMU_UNARY(trunc)
#undef XEEMU_UNARY
inline bfloat16 fmax(bfloat16 x, bfloat16 y) { return bfloat16(__xeemu::fmax((float)x, (float)y)); }
inline bfloat16 fmin(bfloat16 x, bfloat16 y) { return bfloat16(__xeemu::fmin((float)x, (float)y)); }
inline bfloat16 fma(bfloat16 x, bfloat16 y, bfloat16 z) { return bfloat16(__xeemu::fma((float)x, (float)y, (float)z)); }
inline bool isnan(bfloat16 x) { return (float)x != (float)x; }
}

}  // namespace sycl::ext::oneapi

#endif

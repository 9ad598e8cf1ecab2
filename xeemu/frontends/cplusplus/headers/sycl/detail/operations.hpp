// Operations: the function objects of reductions and group algorithms.
#ifndef XEEMU_SYCL_OPERATIONS_HPP
#define XEEMU_SYCL_OPERATIONS_HPP

#include <functional>
#include <limits>
#include <type_traits>

namespace sycl {

template <class T = void> using plus = std::plus<T>;
template <class T = void> using multiplies = std::multiplies<T>;
template <class T = void> using bit_and = std::bit_and<T>;
template <class T = void> using bit_or = std::bit_or<T>;
template <class T = void> using bit_xor = std::bit_xor<T>;
template <class T = void> using logical_and = std::logical_and<T>;
template <class T = void> using logical_or = std::logical_or<T>;
template <class T = void> struct minimum {
  T operator()(const T &a, const T &b) const { return b < a ? b : a; }
};
template <> struct minimum<void> {
  template <class A, class B> std::common_type_t<A, B> operator()(const A &a, const B &b) const {
    return b < a ? b : a;
  }
};
template <class T = void> struct maximum {
  T operator()(const T &a, const T &b) const { return a < b ? b : a; }
};
template <> struct maximum<void> {
  template <class A, class B> std::common_type_t<A, B> operator()(const A &a, const B &b) const {
    return a < b ? b : a;
  }
};

namespace detail {
enum class operation { other, add, mul, min, max, and_, or_, xor_, logical_and, logical_or };
template <class Op> inline constexpr operation kind_of = operation::other;
template <class T> inline constexpr operation kind_of<std::plus<T>> = operation::add;
template <class T> inline constexpr operation kind_of<std::multiplies<T>> = operation::mul;
template <class T> inline constexpr operation kind_of<minimum<T>> = operation::min;
template <class T> inline constexpr operation kind_of<maximum<T>> = operation::max;
template <class T> inline constexpr operation kind_of<std::bit_and<T>> = operation::and_;
template <class T> inline constexpr operation kind_of<std::bit_or<T>> = operation::or_;
template <class T> inline constexpr operation kind_of<std::bit_xor<T>> = operation::xor_;
template <class T> inline constexpr operation kind_of<std::logical_and<T>> = operation::logical_and;
template <class T> inline constexpr operation kind_of<std::logical_or<T>> = operation::logical_or;

template <class Op, class T> constexpr T identity_of() {
  constexpr operation k = kind_of<Op>;
  typedef std::numeric_limits<T> limits;
  if constexpr (k == operation::mul || k == operation::logical_and) return T(1);
  else if constexpr (k == operation::min) return limits::has_infinity ? limits::infinity() : limits::max();
  else if constexpr (k == operation::max) return limits::has_infinity ? T(-limits::infinity()) : limits::lowest();
  else if constexpr (k == operation::and_) return T(~T(0));
  else return T();
}
}  // namespace detail

template <class Op, class T> struct has_known_identity
    : std::bool_constant<detail::kind_of<Op> != detail::operation::other> {};
template <class Op, class T> inline constexpr bool has_known_identity_v = has_known_identity<Op, T>::value;
template <class Op, class T> struct known_identity {
  static constexpr T value = detail::identity_of<Op, T>();
};
template <class Op, class T> inline constexpr T known_identity_v = detail::identity_of<Op, T>();

namespace ext::oneapi {
using sycl::bit_and, sycl::bit_or, sycl::bit_xor, sycl::maximum, sycl::minimum, sycl::multiplies, sycl::plus;
using sycl::logical_and, sycl::logical_or;
}  // namespace ext::oneapi

}  // namespace sycl

#endif

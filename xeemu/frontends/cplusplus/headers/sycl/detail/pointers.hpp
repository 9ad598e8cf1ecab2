// Pointers: multi_ptr and its aliases. All are plain pointers inside.
#ifndef XEEMU_SYCL_POINTERS_HPP
#define XEEMU_SYCL_POINTERS_HPP

#include <iterator>
#include <sycl/detail/memory_model.hpp>

namespace sycl {

template <class T, int n> struct vec;

template <class T, access::address_space space, access::decorated decoration = access::decorated::legacy>
struct multi_ptr {
  typedef T value_type;
  typedef T *pointer;
  typedef T &reference;
  typedef T *pointer_t;
  typedef T &reference_t;
  typedef T element_type;
  typedef ptrdiff_t difference_type;
  typedef std::random_access_iterator_tag iterator_category;
  static constexpr access::address_space address_space = space;
  T *p;

  multi_ptr() : p(nullptr) {}
  multi_ptr(T *q) : p(q) {}
  multi_ptr(decltype(nullptr)) : p(nullptr) {}
  template <access::address_space s, access::decorated d> multi_ptr(multi_ptr<std::remove_const_t<T>, s, d> o)
      : p(o.p) {}
  template <class A>
    requires requires(const A &a) { a.template get_multi_ptr<access::decorated::no>(); }
  multi_ptr(const A &a) : p((T *)a.get_pointer_plain()) {}
  T &operator*() const { return *p; }
  T *operator->() const { return p; }
  T &operator[](ptrdiff_t i) const { return p[i]; }
  T *get() const { return p; }
  T *get_raw() const { return p; }
  T *get_decorated() const { return p; }
  operator T *() const { return p; }
  template <class U> explicit operator multi_ptr<U, space, decoration>() const {
    return multi_ptr<U, space, decoration>((U *)p);
  }
  multi_ptr &operator+=(ptrdiff_t n) {
    p += n;
    return *this;
  }
  multi_ptr &operator-=(ptrdiff_t n) {
    p -= n;
    return *this;
  }
  multi_ptr &operator++() {
    ++p;
    return *this;
  }
  multi_ptr operator++(int) { return multi_ptr(p++); }
  multi_ptr &operator--() {
    --p;
    return *this;
  }
  template <class N>
    requires std::is_integral_v<N>
  friend multi_ptr operator+(multi_ptr a, N n) {
    return multi_ptr(a.p + n);
  }
  template <class N>
    requires std::is_integral_v<N>
  friend multi_ptr operator-(multi_ptr a, N n) {
    return multi_ptr(a.p - n);
  }
  void prefetch(size_t) const {}
};
template <access::address_space space, access::decorated decoration> struct multi_ptr<void, space, decoration> {
  void *p;
  multi_ptr() : p(nullptr) {}
  template <class T> multi_ptr(T *q) : p((void *)q) {}
  template <class T, access::address_space s, access::decorated d> multi_ptr(multi_ptr<T, s, d> o) : p((void *)o.p) {}
  void *get() const { return p; }
  operator void *() const { return p; }
  template <class U, access::decorated d> explicit operator multi_ptr<U, space, d>() const {
    return multi_ptr<U, space, d>((U *)p);
  }
};

template <class T, access::decorated d = access::decorated::legacy> using global_ptr =
    multi_ptr<T, access::address_space::global_space, d>;
template <class T> using device_ptr = multi_ptr<T, access::address_space::ext_intel_global_device_space>;
template <class T> using host_ptr = multi_ptr<T, access::address_space::ext_intel_global_host_space>;
template <class T, access::decorated d = access::decorated::legacy> using local_ptr =
    multi_ptr<T, access::address_space::local_space, d>;
template <class T, access::decorated d = access::decorated::legacy> using constant_ptr =
    multi_ptr<T, access::address_space::constant_space, d>;
template <class T, access::decorated d = access::decorated::legacy> using private_ptr =
    multi_ptr<T, access::address_space::private_space, d>;
template <class T, access::decorated d = access::decorated::no> using generic_ptr =
    multi_ptr<T, access::address_space::generic_space, d>;
template <class T> using raw_global_ptr = global_ptr<T, access::decorated::no>;
template <class T> using raw_local_ptr = local_ptr<T, access::decorated::no>;
template <class T> using raw_private_ptr = private_ptr<T, access::decorated::no>;
template <class T> using raw_generic_ptr = generic_ptr<T, access::decorated::no>;
template <class T> using decorated_global_ptr = global_ptr<T, access::decorated::yes>;
template <class T> using decorated_local_ptr = local_ptr<T, access::decorated::yes>;
template <class T> using decorated_private_ptr = private_ptr<T, access::decorated::yes>;

template <access::address_space s, access::decorated d = access::decorated::legacy, class T>
inline multi_ptr<T, s, d> address_space_cast(T *p) {
  return multi_ptr<T, s, d>(p);
}
template <access::address_space s, access::decorated d = access::decorated::legacy, class T>
inline multi_ptr<T, s, d> make_ptr(T *p) {
  return multi_ptr<T, s, d>(p);
}
template <class T, access::address_space s, access::decorated d = access::decorated::legacy>
inline multi_ptr<T, s, d> make_ptr(T *p) {
  return multi_ptr<T, s, d>(p);
}
namespace ext::oneapi::experimental {
template <access::address_space s, access::decorated d, class T> inline multi_ptr<T, s, d> static_address_cast(T *p) {
  return multi_ptr<T, s, d>(p);
}
template <access::address_space s, access::decorated d, class T> inline multi_ptr<T, s, d> dynamic_address_cast(T *p) {
  return multi_ptr<T, s, d>(p);
}
}  // namespace ext::oneapi::experimental

namespace detail {
template <class T> inline T *plain_pointer(T *p) { return p; }
template <class T, access::address_space s, access::decorated d> inline T *plain_pointer(multi_ptr<T, s, d> p) {
  return p.p;
}
template <class P> inline auto pointer_or_value(P x) {
  if constexpr (requires { plain_pointer(x); }) return plain_pointer(x);
  else return x;
}
template <class P> inline constexpr bool is_local_pointer = false;
template <class T, access::decorated d>
inline constexpr bool is_local_pointer<multi_ptr<T, access::address_space::local_space, d>> = true;
}  // namespace detail

}  // namespace sycl

#endif

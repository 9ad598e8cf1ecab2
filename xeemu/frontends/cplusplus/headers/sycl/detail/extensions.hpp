// Extensions of oneAPI and Intel that programs use: properties of kernels, masks of sub-groups, local memory without
// accessors.
#ifndef XEEMU_SYCL_EXTENSIONS_HPP
#define XEEMU_SYCL_EXTENSIONS_HPP

#include <sycl/detail/algorithms.hpp>

namespace sycl {
namespace ext::oneapi {

// Bits of the lanes of a sub-group; there are at most 32.
struct sub_group_mask {
  unsigned bits;
  bool test(id<1> i) const { return (bits >> i.v[0] & 1u) != 0; }
  bool operator[](id<1> i) const { return (bits >> i.v[0] & 1u) != 0; }
  bool any() const { return bits != 0; }
  bool none() const { return bits == 0; }
  bool all() const { return __xeemu::popcount(bits) == __xeemu::get_max_sub_group_size(); }
  unsigned count() const { return __xeemu::popcount(bits); }
  unsigned size() const { return __xeemu::get_max_sub_group_size(); }
  id<1> find_low() const { return id<1>(__xeemu::ctz(bits)); }
  id<1> find_high() const { return id<1>(31 - __xeemu::clz(bits)); }
  template <class T> void extract_bits(T &x, id<1> from = id<1>(0)) const { x = (T)(bits >> from.v[0]); }
  void set(id<1> i, bool x = true) { bits = x ? bits | 1u << i.v[0] : bits & ~(1u << i.v[0]); }
  friend sub_group_mask operator&(sub_group_mask a, sub_group_mask b) { return sub_group_mask{a.bits & b.bits}; }
  friend sub_group_mask operator|(sub_group_mask a, sub_group_mask b) { return sub_group_mask{a.bits | b.bits}; }
  friend sub_group_mask operator^(sub_group_mask a, sub_group_mask b) { return sub_group_mask{a.bits ^ b.bits}; }
  friend bool operator==(sub_group_mask a, sub_group_mask b) { return a.bits == b.bits; }
};
inline sub_group_mask group_ballot(sub_group, bool x = true) { return sub_group_mask{__xeemu::sub_group_ballot(x)[0]}; }

namespace detail {
// An array's elements, one after the other.
template <class E, size_t n> inline void begin_with(E (*p)[n], const E (&x)[n]) {
  for (size_t i = 0; i < n; ++i) (*p)[i] = x[i];
}
}  // namespace detail
template <class T, Group G>
inline multi_ptr<T, access::address_space::local_space> group_local_memory_for_overwrite(G) {
  return multi_ptr<T, access::address_space::local_space>(__xeemu::group_memory<T>());
}
template <class T, Group G, class... A>
inline multi_ptr<T, access::address_space::local_space> group_local_memory(G, A... x) {
  T *p = __xeemu::group_memory<T>();
  if constexpr (!std::is_array_v<T>) {
    if (__xeemu::get_local_linear_id() == 0) *p = T{x...};
  } else if (__xeemu::get_local_linear_id() == 0) detail::begin_with(p, T{x...});
  __xeemu::barrier(1);
  return multi_ptr<T, access::address_space::local_space>(p);
}

// The products of four bytes in a word each, added.
template <class A, class B> inline int dot_acc(A a, B b, int c) {
  for (int i = 0; i < 4; ++i) {
    int x = std::is_signed_v<A> ? (int)(signed char)(a >> 8 * i) : (int)(unsigned char)(a >> 8 * i);
    int y = std::is_signed_v<B> ? (int)(signed char)(b >> 8 * i) : (int)(unsigned char)(b >> 8 * i);
    c += x * y;
  }
  return c;
}

namespace experimental {
// A variable of the device.
template <class T, class P = int> struct device_global {
  T held;
  device_global() = default;
  template <class... X>
    requires(sizeof...(X) > 0)
  explicit constexpr device_global(const X &...x) : held{x...} {}
  T &get() { return held; }
  const T &get() const { return held; }
  operator T &() { return held; }
  device_global &operator=(const T &x) {
    held = x;
    return *this;
  }
  template <class I> auto &operator[](I i) { return held[i]; }
  T *operator->() { return &held; }
};
template <class... P> struct properties {
  typedef int kernel_properties;
  constexpr properties(P...) {}
};
template <int n> struct sub_group_size_key {};
template <int... n> struct work_group_size_key {};
template <int n> inline constexpr sub_group_size_key<n> sub_group_size{};
template <int... n> inline constexpr work_group_size_key<n...> work_group_size{};
template <int... n> struct work_group_size_hint_key {};
template <int... n> inline constexpr work_group_size_hint_key<n...> work_group_size_hint{};
struct properties_tag {};
struct device_image_scope_key {};
inline constexpr device_image_scope_key device_image_scope{};
struct host_access_key {};
inline constexpr host_access_key host_access_read{}, host_access_write{}, host_access_none{}, host_access_read_write{};
struct use_root_sync_key {};
inline constexpr use_root_sync_key use_root_sync{};
}  // namespace experimental

}  // namespace ext::oneapi

using ext::oneapi::group_local_memory, ext::oneapi::group_local_memory_for_overwrite;

namespace ext::intel::experimental {
struct cache_key {};
// The size of the register file, which is the launch's to choose.
template <int n> struct grf_size_key {};
template <int n> inline constexpr grf_size_key<n> grf_size{};
struct grf_size_automatic_key {};
inline constexpr grf_size_automatic_key grf_size_automatic{};
namespace kernel_properties {
struct large_grf {};
inline constexpr large_grf use_large_grf{};
}  // namespace kernel_properties
inline void set_kernel_properties(kernel_properties::large_grf) {}
}  // namespace ext::intel::experimental

}  // namespace sycl

#endif

// Items: where a work-item is. They are empty; what they are asked for, intrinsics answer.
#ifndef XEEMU_SYCL_ITEMS_HPP
#define XEEMU_SYCL_ITEMS_HPP

#include <sycl/detail/coordinates.hpp>
#include <sycl/detail/groups.hpp>

namespace sycl {

template <int D, bool with_offset> struct item {
  static constexpr int dimensions = D;
  size_t get_id(int d) const { return __xeemu::get_global_id(D - 1 - d); }
  size_t get_range(int d) const { return __xeemu::get_global_size(D - 1 - d); }
  size_t operator[](int d) const { return __xeemu::get_global_id(D - 1 - d); }
  id<D> get_id() const {
    if constexpr (D == 1) return id<D>(__xeemu::get_global_id(0));
    else if constexpr (D == 2) return id<D>(__xeemu::get_global_id(1), __xeemu::get_global_id(0));
    else return id<D>(__xeemu::get_global_id(2), __xeemu::get_global_id(1), __xeemu::get_global_id(0));
  }
  operator id<D>() const { return get_id(); }
  operator size_t() const
    requires(D == 1)
  {
    return __xeemu::get_global_id(0);
  }
  range<D> get_range() const {
    if constexpr (D == 1) return range<D>(__xeemu::get_global_size(0));
    else if constexpr (D == 2) return range<D>(__xeemu::get_global_size(1), __xeemu::get_global_size(0));
    else return range<D>(__xeemu::get_global_size(2), __xeemu::get_global_size(1), __xeemu::get_global_size(0));
  }
  id<D> get_offset() const { return id<D>(); }
  size_t get_linear_id() const { return __xeemu::get_global_linear_id(); }
  operator item<D, !with_offset>() const { return item<D, !with_offset>(); }
  // A work-item has no other's.
  friend bool operator==(const item &, const item &) { return true; }
};

template <int D = 1> struct nd_item {
  static constexpr int dimensions = D;
  size_t get_global_id(int d) const { return __xeemu::get_global_id(D - 1 - d); }
  size_t get_local_id(int d) const { return __xeemu::get_local_id(D - 1 - d); }
  size_t get_group(int d) const { return __xeemu::get_group_id(D - 1 - d); }
  size_t get_global_range(int d) const { return __xeemu::get_global_size(D - 1 - d); }
  size_t get_local_range(int d) const { return __xeemu::get_local_size(D - 1 - d); }
  size_t get_group_range(int d) const { return __xeemu::get_num_groups(D - 1 - d); }
  id<D> get_global_id() const { return item<D>().get_id(); }
  id<D> get_local_id() const {
    if constexpr (D == 1) return id<D>(__xeemu::get_local_id(0));
    else if constexpr (D == 2) return id<D>(__xeemu::get_local_id(1), __xeemu::get_local_id(0));
    else return id<D>(__xeemu::get_local_id(2), __xeemu::get_local_id(1), __xeemu::get_local_id(0));
  }
  range<D> get_global_range() const { return item<D>().get_range(); }
  range<D> get_local_range() const { return group<D>().get_local_range(); }
  range<D> get_group_range() const { return group<D>().get_group_range(); }
  size_t get_global_linear_id() const { return __xeemu::get_global_linear_id(); }
  size_t get_local_linear_id() const { return __xeemu::get_local_linear_id(); }
  size_t get_group_linear_id() const { return group<D>().get_group_linear_id(); }
  group<D> get_group() const { return group<D>(); }
  sub_group get_sub_group() const { return sub_group(); }
  id<D> get_offset() const { return id<D>(); }
  nd_range<D> get_nd_range() const { return nd_range<D>(get_global_range(), get_local_range()); }
  // An nd_range kernel is also told by item.
  operator item<D>() const { return item<D>(); }

  void barrier(access::fence_space space = access::fence_space::global_and_local) const {
    __xeemu::barrier((int)space);
  }
  void mem_fence(access::fence_space space = access::fence_space::global_and_local) const {
    __xeemu::atomic_work_item_fence((int)space, 4, 1);
  }
  template <class T, class S> device_event async_work_group_copy(T to, S from, size_t count, size_t stride = 1) const {
    return group<D>().async_work_group_copy(to, from, count, stride);
  }
  template <class... E> void wait_for(E...) const { __xeemu::barrier(3); }
  friend bool operator==(const nd_item &, const nd_item &) { return true; }
};

namespace detail {
template <class T> inline constexpr int dimensions_of = 0;
template <int D> inline constexpr int dimensions_of<nd_item<D>> = D;
template <int D> inline constexpr int dimensions_of<group<D>> = D;
}  // namespace detail

namespace ext::oneapi::experimental {
template <int D> inline nd_item<D> this_nd_item() { return nd_item<D>(); }
template <int D> inline group<D> this_group() { return group<D>(); }
template <int D> inline id<D> this_id() { return item<D>().get_id(); }
template <int D> inline item<D> this_item() { return item<D>(); }
inline sub_group this_sub_group() { return sub_group(); }
}  // namespace ext::oneapi::experimental
namespace ext::oneapi::this_work_item {
template <int D> inline nd_item<D> get_nd_item() { return nd_item<D>(); }
template <int D> inline group<D> get_work_group() { return group<D>(); }
inline sub_group get_sub_group() { return sub_group(); }
}  // namespace ext::oneapi::this_work_item

using ext::oneapi::experimental::this_group, ext::oneapi::experimental::this_id, ext::oneapi::experimental::this_item;
using ext::oneapi::experimental::this_nd_item, ext::oneapi::experimental::this_sub_group;

// Of hierarchical kernels, which are refused where one is submitted.
template <int D> struct h_item {
  static constexpr int dimensions = D;
  size_t get_global_id(int d) const { return __xeemu::get_global_id(D - 1 - d); }
  size_t get_local_id(int d) const { return __xeemu::get_local_id(D - 1 - d); }
  size_t get_logical_local_id(int d) const { return __xeemu::get_local_id(D - 1 - d); }
  size_t get_physical_local_id(int d) const { return __xeemu::get_local_id(D - 1 - d); }
  size_t get_global_range(int d) const { return __xeemu::get_global_size(D - 1 - d); }
  size_t get_local_range(int d) const { return __xeemu::get_local_size(D - 1 - d); }
  size_t get_logical_local_range(int d) const { return __xeemu::get_local_size(D - 1 - d); }
  size_t get_physical_local_range(int d) const { return __xeemu::get_local_size(D - 1 - d); }
  id<D> get_global_id() const { return nd_item<D>().get_global_id(); }
  id<D> get_local_id() const { return nd_item<D>().get_local_id(); }
  id<D> get_logical_local_id() const { return nd_item<D>().get_local_id(); }
  id<D> get_physical_local_id() const { return nd_item<D>().get_local_id(); }
  range<D> get_global_range() const { return nd_item<D>().get_global_range(); }
  range<D> get_local_range() const { return nd_item<D>().get_local_range(); }
  range<D> get_logical_local_range() const { return nd_item<D>().get_local_range(); }
  range<D> get_physical_local_range() const { return nd_item<D>().get_local_range(); }
  item<D, false> get_global() const { return item<D, false>(); }
  item<D, false> get_local() const { return item<D, false>(); }
  item<D, false> get_logical_local() const { return item<D, false>(); }
  item<D, false> get_physical_local() const { return item<D, false>(); }
  friend bool operator==(const h_item &, const h_item &) { return true; }
};
template <class T, int D = 1> struct private_memory {
  T held;
  explicit private_memory(const group<D> &) {}
  T &operator()(const h_item<D> &) { return held; }
};

}  // namespace sycl

#endif

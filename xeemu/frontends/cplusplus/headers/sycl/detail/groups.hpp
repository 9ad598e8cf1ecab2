// Groups: work-groups and sub-groups.
#ifndef XEEMU_SYCL_GROUPS_HPP
#define XEEMU_SYCL_GROUPS_HPP

#include <sycl/detail/coordinates.hpp>
#include <sycl/detail/memory_model.hpp>
#include <sycl/detail/pointers.hpp>
#include <sycl/detail/vectors.hpp>

namespace sycl {

template <int D = 1> struct h_item;

struct device_event {
  void wait() const { __xeemu::barrier(3); }
};

namespace detail {
// Copied by the work-items of a group, none of which copies the element of its own number: who does not wait, has a
// race.
template <class T, class S> inline void copy_by_group(T *to, S *from, size_t count, size_t to_step, size_t from_step) {
  size_t size = __xeemu::get_local_size(0) * __xeemu::get_local_size(1) * __xeemu::get_local_size(2);
  __xeemu::barrier(3);
  for (size_t i = (__xeemu::get_local_linear_id() + size / 2) % size; i < count; i += size)
    to[i * to_step] = from[i * from_step];
}
}  // namespace detail

template <int D = 1> struct group {
  typedef id<D> id_type;
  typedef range<D> range_type;
  typedef size_t linear_id_type;
  static constexpr int dimensions = D;
  static constexpr memory_scope fence_scope = memory_scope::work_group;

  size_t get_group_id(int d) const { return __xeemu::get_group_id(D - 1 - d); }
  size_t get_id(int d) const { return __xeemu::get_group_id(D - 1 - d); }
  size_t operator[](int d) const { return __xeemu::get_group_id(D - 1 - d); }
  size_t get_local_id(int d) const { return __xeemu::get_local_id(D - 1 - d); }
  size_t get_global_range(int d) const { return __xeemu::get_global_size(D - 1 - d); }
  size_t get_local_range(int d) const { return __xeemu::get_local_size(D - 1 - d); }
  size_t get_max_local_range(int d) const { return __xeemu::get_local_size(D - 1 - d); }
  size_t get_group_range(int d) const { return __xeemu::get_num_groups(D - 1 - d); }
  id<D> get_group_id() const {
    if constexpr (D == 1) return id<D>(__xeemu::get_group_id(0));
    else if constexpr (D == 2) return id<D>(__xeemu::get_group_id(1), __xeemu::get_group_id(0));
    else return id<D>(__xeemu::get_group_id(2), __xeemu::get_group_id(1), __xeemu::get_group_id(0));
  }
  id<D> get_id() const { return get_group_id(); }
  operator id<D>() const { return get_group_id(); }
  operator size_t() const
    requires(D == 1)
  {
    return __xeemu::get_group_id(0);
  }
  id<D> get_local_id() const {
    if constexpr (D == 1) return id<D>(__xeemu::get_local_id(0));
    else if constexpr (D == 2) return id<D>(__xeemu::get_local_id(1), __xeemu::get_local_id(0));
    else return id<D>(__xeemu::get_local_id(2), __xeemu::get_local_id(1), __xeemu::get_local_id(0));
  }
  range<D> get_global_range() const {
    if constexpr (D == 1) return range<D>(__xeemu::get_global_size(0));
    else if constexpr (D == 2) return range<D>(__xeemu::get_global_size(1), __xeemu::get_global_size(0));
    else return range<D>(__xeemu::get_global_size(2), __xeemu::get_global_size(1), __xeemu::get_global_size(0));
  }
  range<D> get_local_range() const {
    if constexpr (D == 1) return range<D>(__xeemu::get_local_size(0));
    else if constexpr (D == 2) return range<D>(__xeemu::get_local_size(1), __xeemu::get_local_size(0));
    else return range<D>(__xeemu::get_local_size(2), __xeemu::get_local_size(1), __xeemu::get_local_size(0));
  }
  range<D> get_max_local_range() const { return get_local_range(); }
  range<D> get_group_range() const {
    if constexpr (D == 1) return range<D>(__xeemu::get_num_groups(0));
    else if constexpr (D == 2) return range<D>(__xeemu::get_num_groups(1), __xeemu::get_num_groups(0));
    else return range<D>(__xeemu::get_num_groups(2), __xeemu::get_num_groups(1), __xeemu::get_num_groups(0));
  }
  range<D> get_uniform_group_range() const { return get_group_range(); }
  size_t get_group_linear_id() const {
    if constexpr (D == 1) return __xeemu::get_group_id(0);
    else if constexpr (D == 2) return __xeemu::get_group_id(1) * __xeemu::get_num_groups(0) + __xeemu::get_group_id(0);
    else
      return (__xeemu::get_group_id(2) * __xeemu::get_num_groups(1) + __xeemu::get_group_id(1)) *
                 __xeemu::get_num_groups(0) +
             __xeemu::get_group_id(0);
  }
  size_t get_linear_id() const { return get_group_linear_id(); }
  size_t get_local_linear_id() const { return __xeemu::get_local_linear_id(); }
  size_t get_local_linear_range() const { return get_local_range().size(); }
  size_t get_group_linear_range() const { return get_group_range().size(); }
  bool leader() const { return __xeemu::get_local_linear_id() == 0; }

  void mem_fence(access::fence_space space = access::fence_space::global_and_local) const {
    __xeemu::atomic_work_item_fence((int)space, 4, 1);
  }
  template <class T, class S> device_event async_work_group_copy(T to, S from, size_t count, size_t stride = 1) const {
    constexpr bool into_local = detail::is_local_pointer<T>;
    detail::copy_by_group(detail::plain_pointer(to), detail::plain_pointer(from), count, into_local ? 1 : stride,
                          into_local ? stride : 1);
    return device_event();
  }
  template <class... E> void wait_for(E...) const { __xeemu::barrier(3); }
  template <class F> void parallel_for_work_item(const F &f) const { f(h_item<D>()); }
  template <class F> void parallel_for_work_item(range<D>, const F &f) const { f(h_item<D>()); }
  friend bool operator==(const group &, const group &) { return true; }
};

struct sub_group {
  typedef id<1> id_type;
  typedef range<1> range_type;
  typedef unsigned linear_id_type;
  static constexpr int dimensions = 1;
  static constexpr memory_scope fence_scope = memory_scope::sub_group;

  id<1> get_local_id() const { return id<1>(__xeemu::get_sub_group_local_id()); }
  id<1> get_group_id() const { return id<1>(__xeemu::get_sub_group_id()); }
  range<1> get_local_range() const { return range<1>(__xeemu::get_sub_group_size()); }
  range<1> get_max_local_range() const { return range<1>(__xeemu::get_max_sub_group_size()); }
  range<1> get_group_range() const { return range<1>(__xeemu::get_num_sub_groups()); }
  range<1> get_uniform_group_range() const { return range<1>(__xeemu::get_num_sub_groups()); }
  unsigned get_local_linear_id() const { return __xeemu::get_sub_group_local_id(); }
  unsigned get_group_linear_id() const { return __xeemu::get_sub_group_id(); }
  unsigned get_local_linear_range() const { return __xeemu::get_sub_group_size(); }
  unsigned get_group_linear_range() const { return __xeemu::get_num_sub_groups(); }
  bool leader() const { return __xeemu::get_sub_group_local_id() == 0; }

  // The spellings before SYCL 2020.
  void barrier(access::fence_space space = access::fence_space::global_and_local) const {
    __xeemu::sub_group_barrier((int)space);
  }
  template <class T> T shuffle(T x, id<1> lane) const { return __xeemu::sub_group_shuffle(x, (unsigned)lane.v[0]); }
  template <class T> T shuffle_xor(T x, id<1> mask) const {
    return __xeemu::sub_group_shuffle_xor(x, (unsigned)mask.v[0]);
  }
  template <class T> T shuffle_up(T x, unsigned delta) const { return __xeemu::sub_group_shuffle_up(x, delta); }
  template <class T> T shuffle_down(T x, unsigned delta) const { return __xeemu::sub_group_shuffle_down(x, delta); }
  template <class T> T shuffle(T x, T y, id<1> lane) const {
    unsigned size = __xeemu::get_max_sub_group_size(), which = (unsigned)lane.v[0];
    T first = __xeemu::sub_group_shuffle(x, which % size), second = __xeemu::sub_group_shuffle(y, which % size);
    return which < size ? first : second;
  }
  template <class T> T shuffle_up(T before, T x, unsigned delta) const {
    return __xeemu::intel_sub_group_shuffle_up(before, x, delta);
  }
  template <class T> T shuffle_down(T x, T after, unsigned delta) const {
    return __xeemu::intel_sub_group_shuffle_down(x, after, delta);
  }
  template <class T> T broadcast(T x, id<1> lane) const { return __xeemu::sub_group_broadcast(x, (unsigned)lane.v[0]); }
  bool any(bool x) const { return __xeemu::sub_group_any(x); }
  bool all(bool x) const { return __xeemu::sub_group_all(x); }
  template <class T, class Op> T reduce(T x, Op op) const { return reduce_over_group(*this, x, op); }
  template <class T, class Op> T reduce(T x, T init, Op op) const { return reduce_over_group(*this, x, init, op); }
  template <class T, class Op> T inclusive_scan(T x, Op op) const { return inclusive_scan_over_group(*this, x, op); }
  template <class T, class Op> T exclusive_scan(T x, Op op) const { return exclusive_scan_over_group(*this, x, op); }
  template <class T> std::remove_cv_t<T> load(T *p) const {
    return ((std::remove_cv_t<T> *)p)[__xeemu::get_sub_group_local_id()];
  }
  template <class T, access::address_space s, access::decorated d>
  std::remove_cv_t<T> load(multi_ptr<T, s, d> p) const {
    return load(p.p);
  }
  template <int n, class T> vec<std::remove_cv_t<T>, n> load(T *p) const {
    vec<std::remove_cv_t<T>, n> x;
    unsigned lane = __xeemu::get_sub_group_local_id(), size = __xeemu::get_max_sub_group_size();
    for (int i = 0; i < n; ++i) x[i] = ((std::remove_cv_t<T> *)p)[i * size + lane];
    return x;
  }
  template <int n, class T, access::address_space s, access::decorated d> auto load(multi_ptr<T, s, d> p) const {
    return load<n>(p.p);
  }
  template <class T> void store(T *p, const std::type_identity_t<T> &x) const {
    p[__xeemu::get_sub_group_local_id()] = x;
  }
  template <class T, access::address_space s, access::decorated d>
  void store(multi_ptr<T, s, d> p, const std::type_identity_t<T> &x) const {
    store<T>(p.p, x);
  }
  template <int n, class T> void store(T *p, const vec<T, n> &x) const {
    unsigned lane = __xeemu::get_sub_group_local_id(), size = __xeemu::get_max_sub_group_size();
    for (int i = 0; i < n; ++i) p[i * size + lane] = x[i];
  }
  template <int n, class T, access::address_space s, access::decorated d>
  void store(multi_ptr<T, s, d> p, const vec<T, n> &x) const {
    store<n>(p.p, x);
  }
  friend bool operator==(const sub_group &, const sub_group &) { return true; }
};
namespace ext::oneapi {
using sycl::sub_group;
}
namespace intel {
using sycl::sub_group;
}

inline void group_barrier(sub_group) { __xeemu::sub_group_barrier(3); }
inline void group_barrier(sub_group, memory_scope) { __xeemu::sub_group_barrier(3); }
template <int D> inline void group_barrier(group<D>) { __xeemu::barrier(3); }
template <int D> inline void group_barrier(group<D>, memory_scope scope) { __xeemu::work_group_barrier(3, (int)scope); }

namespace detail {
template <class G> inline constexpr bool is_work_group = false;
template <int D> inline constexpr bool is_work_group<group<D>> = true;
}  // namespace detail
template <class T> struct is_group : std::bool_constant<detail::is_work_group<T> || std::is_same_v<T, sub_group>> {};
template <class T> inline constexpr bool is_group_v = is_group<T>::value;

}  // namespace sycl

#endif

// Algorithms: the functions of groups.
#ifndef XEEMU_SYCL_ALGORITHMS_HPP
#define XEEMU_SYCL_ALGORITHMS_HPP

#include <sycl/detail/groups.hpp>
#include <sycl/detail/operations.hpp>

namespace sycl {

template <class G>
concept Group = is_group_v<std::remove_cvref_t<G>>;

namespace detail {
template <class T> inline constexpr bool is_number = std::is_arithmetic_v<T> || std::is_same_v<T, _Float16>;

#define XEEMU_BY_OPERATION(scope, kind)                                                                  \
  if constexpr (k == operation::add) return __xeemu::scope##_group_##kind##_add(x);                      \
  else if constexpr (k == operation::mul) return __xeemu::scope##_group_##kind##_mul(x);                 \
  else if constexpr (k == operation::min) return __xeemu::scope##_group_##kind##_min(x);                 \
  else if constexpr (k == operation::max) return __xeemu::scope##_group_##kind##_max(x);                 \
  else if constexpr (k == operation::and_) return __xeemu::scope##_group_##kind##_and(x);                \
  else if constexpr (k == operation::or_) return __xeemu::scope##_group_##kind##_or(x);                  \
  else if constexpr (k == operation::xor_) return __xeemu::scope##_group_##kind##_xor(x);                \
  else if constexpr (k == operation::logical_and) return __xeemu::scope##_group_##kind##_logical_and(x); \
  else if constexpr (k == operation::logical_or) return __xeemu::scope##_group_##kind##_logical_or(x);   \
  else                                                                                                   \
    static_assert(k != operation::other,                                                                 \
                  "xeemu combines a group's values by SYCL's function objects, as sycl::plus<>()");
template <class G, class Op, class T> inline T reduced(T x) {
  constexpr operation k = kind_of<Op>;
  if constexpr (is_work_group<G>) {
    XEEMU_BY_OPERATION(work, reduce)
  } else {
    XEEMU_BY_OPERATION(sub, reduce)
  }
}
template <class G, class Op, class T> inline T scanned(T x) {
  constexpr operation k = kind_of<Op>;
  if constexpr (is_work_group<G>) {
    XEEMU_BY_OPERATION(work, scan_inclusive)
  } else {
    XEEMU_BY_OPERATION(sub, scan_inclusive)
  }
}
template <class G, class Op, class T> inline T scanned_before(T x) {
  constexpr operation k = kind_of<Op>;
  if constexpr (is_work_group<G>) {
    XEEMU_BY_OPERATION(work, scan_exclusive)
  } else {
    XEEMU_BY_OPERATION(sub, scan_exclusive)
  }
}
#undef XEEMU_BY_OPERATION

template <class G> inline size_t place_in() {
  if constexpr (is_work_group<G>) return __xeemu::get_local_linear_id();
  else return __xeemu::get_sub_group_local_id();
}
template <class G> inline size_t size_of() {
  if constexpr (is_work_group<G>)
    return __xeemu::get_local_size(0) * __xeemu::get_local_size(1) * __xeemu::get_local_size(2);
  else return __xeemu::get_sub_group_size();
}
}  // namespace detail

// ---- reductions and scans ----

template <Group G, class T, class Op>
  requires detail::is_number<T>
inline T reduce_over_group(G, T x, Op) {
  return detail::reduced<G, Op>(x);
}
template <Group G, class V, class T, class Op>
  requires(detail::is_number<V> && detail::is_number<T>)
inline T reduce_over_group(G, V x, T init, Op op) {
  return op(init, detail::reduced<G, Op>((T)x));
}
template <Group G, class T, class Op>
  requires detail::is_number<T>
inline T inclusive_scan_over_group(G, T x, Op) {
  return detail::scanned<G, Op>(x);
}
template <Group G, class V, class Op, class T>
  requires(detail::is_number<V> && detail::is_number<T>)
inline T inclusive_scan_over_group(G, V x, Op op, T init) {
  return op(init, detail::scanned<G, Op>((T)x));
}
template <Group G, class T, class Op>
  requires detail::is_number<T>
inline T exclusive_scan_over_group(G, T x, Op) {
  return detail::scanned_before<G, Op>(x);
}
template <Group G, class V, class T, class Op>
  requires(detail::is_number<V> && detail::is_number<T>)
inline T exclusive_scan_over_group(G, V x, T init, Op op) {
  return op(init, detail::scanned_before<G, Op>((T)x));
}
// Of vectors, component by component.
#define XEEMU_OF_VECTORS(name)                                                               \
  template <Group G, class T, int n, class Op> inline vec<T, n> name(G g, vec<T, n> x, Op) { \
    vec<T, n> y;                                                                             \
    for (int i = 0; i < n; ++i) y[i] = name(g, (T)x[i], std::conditional_t<true, Op, T>());  \
    return y;                                                                                \
  }
XEEMU_OF_VECTORS(reduce_over_group)
XEEMU_OF_VECTORS(inclusive_scan_over_group)
XEEMU_OF_VECTORS(exclusive_scan_over_group)
#undef XEEMU_OF_VECTORS

// ---- votes ----

template <Group G> inline bool any_of_group(G, bool x) {
  if constexpr (detail::is_work_group<G>) return __xeemu::work_group_any(x);
  else return __xeemu::sub_group_any(x);
}
template <Group G> inline bool all_of_group(G, bool x) {
  if constexpr (detail::is_work_group<G>) return __xeemu::work_group_all(x);
  else return __xeemu::sub_group_all(x);
}
template <Group G> inline bool none_of_group(G, bool x) {
  if constexpr (detail::is_work_group<G>) return !__xeemu::work_group_any(x);
  else return !__xeemu::sub_group_any(x);
}
template <Group G, class T, class F> inline bool any_of_group(G g, T x, F f) { return any_of_group(g, (bool)f(x)); }
template <Group G, class T, class F> inline bool all_of_group(G g, T x, F f) { return all_of_group(g, (bool)f(x)); }
template <Group G, class T, class F> inline bool none_of_group(G g, T x, F f) { return none_of_group(g, (bool)f(x)); }

// ---- the value of another work-item ----

template <class T> inline T group_broadcast(sub_group, T x) { return __xeemu::sub_group_broadcast(x, 0u); }
template <class T> inline T group_broadcast(sub_group, T x, id<1> lane) {
  return __xeemu::sub_group_broadcast(x, (unsigned)lane.v[0]);
}
template <int D, class T> inline T group_broadcast(group<D>, T x) {
  if constexpr (D == 1) return __xeemu::work_group_broadcast(x, 0);
  else if constexpr (D == 2) return __xeemu::work_group_broadcast(x, 0, 0);
  else return __xeemu::work_group_broadcast(x, 0, 0, 0);
}
template <int D, class T> inline T group_broadcast(group<D>, T x, id<D> i) {
  if constexpr (D == 1) return __xeemu::work_group_broadcast(x, i.v[0]);
  else if constexpr (D == 2) return __xeemu::work_group_broadcast(x, i.v[1], i.v[0]);
  else return __xeemu::work_group_broadcast(x, i.v[2], i.v[1], i.v[0]);
}
template <int D, class T, class I>
  requires(std::is_integral_v<I>)
inline T group_broadcast(group<D>, T x, I item) {
  if constexpr (D == 1) return __xeemu::work_group_broadcast(x, (size_t)item);
  else {
    size_t width = __xeemu::get_local_size(0), height = __xeemu::get_local_size(1);
    if constexpr (D == 2) return __xeemu::work_group_broadcast(x, item % width, item / width);
    else return __xeemu::work_group_broadcast(x, item % width, item / width % height, item / (width * height));
  }
}
template <class T> inline T shift_group_left(sub_group, T x, unsigned delta = 1) {
  return __xeemu::sub_group_shuffle_down(x, delta);
}
template <class T> inline T shift_group_right(sub_group, T x, unsigned delta = 1) {
  return __xeemu::sub_group_shuffle_up(x, delta);
}
template <class T> inline T permute_group_by_xor(sub_group, T x, unsigned mask) {
  return __xeemu::sub_group_shuffle_xor(x, mask);
}
template <class T> inline T select_from_group(sub_group, T x, id<1> lane) {
  return __xeemu::sub_group_shuffle(x, (unsigned)lane.v[0]);
}

// ---- of what is in memory ----

template <Group G, class P, class F> inline F joint_for_each(G, P first, P last, F f) {
  size_t count = last - first, size = detail::size_of<G>();
  for (size_t i = detail::place_in<G>(); i < count; i += size) f(first[i]);
  return f;
}
template <Group G, class P, class T, class Op> inline T joint_reduce(G g, P first, P last, T init, Op op) {
  size_t count = last - first, size = detail::size_of<G>();
  T mine = detail::identity_of<Op, T>();
  for (size_t i = detail::place_in<G>(); i < count; i += size) mine = op(mine, (T)first[i]);
  return op(init, detail::reduced<G, Op>(mine));
}
template <Group G, class P, class Op> inline auto joint_reduce(G g, P first, P last, Op op) {
  typedef std::remove_cvref_t<decltype(*first)> T;
  return joint_reduce(g, first, last, detail::identity_of<Op, T>(), op);
}
// All of a round are combined, and what the rounds before gave.
template <Group G, class P, class O, class Op, class T>
inline O joint_inclusive_scan(G g, P first, P last, O to, Op op, T init) {
  size_t count = last - first, size = detail::size_of<G>(), place = detail::place_in<G>();
  T before = init;
  for (size_t begin = 0; begin < count; begin += size) {
    T x = begin + place < count ? (T)first[begin + place] : detail::identity_of<Op, T>();
    T mine = op(before, detail::scanned<G, Op>(x));
    if (begin + place < count) to[begin + place] = mine;
    before = op(before, detail::reduced<G, Op>(x));
  }
  return to + count;
}
template <Group G, class P, class O, class Op> inline O joint_inclusive_scan(G g, P first, P last, O to, Op op) {
  typedef std::remove_cvref_t<decltype(*first)> T;
  return joint_inclusive_scan(g, first, last, to, op, detail::identity_of<Op, T>());
}
template <Group G, class P, class O, class T, class Op>
inline O joint_exclusive_scan(G g, P first, P last, O to, T init, Op op) {
  size_t count = last - first, size = detail::size_of<G>(), place = detail::place_in<G>();
  T before = init;
  for (size_t begin = 0; begin < count; begin += size) {
    T x = begin + place < count ? (T)first[begin + place] : detail::identity_of<Op, T>();
    T mine = op(before, detail::scanned_before<G, Op>(x));
    if (begin + place < count) to[begin + place] = mine;
    before = op(before, detail::reduced<G, Op>(x));
  }
  return to + count;
}
template <Group G, class P, class O, class Op> inline O joint_exclusive_scan(G g, P first, P last, O to, Op op) {
  typedef std::remove_cvref_t<decltype(*first)> T;
  return joint_exclusive_scan(g, first, last, to, detail::identity_of<Op, T>(), op);
}
template <Group G, class P, class F> inline bool joint_any_of(G g, P first, P last, F f) {
  size_t count = last - first, size = detail::size_of<G>();
  bool found = false;
  for (size_t i = detail::place_in<G>(); i < count; i += size) found = found || f(first[i]);
  return any_of_group(g, found);
}
template <Group G, class P, class F> inline bool joint_all_of(G g, P first, P last, F f) {
  size_t count = last - first, size = detail::size_of<G>();
  bool held = true;
  for (size_t i = detail::place_in<G>(); i < count; i += size) held = held && f(first[i]);
  return all_of_group(g, held);
}
template <Group G, class P, class F> inline bool joint_none_of(G g, P first, P last, F f) {
  return !joint_any_of(g, first, last, f);
}

// ---- the spellings before SYCL 2020 ----

namespace ext::oneapi {
template <Group G, class T, class... X> inline T broadcast(G g, T x, X... where) {
  return group_broadcast(g, x, where...);
}
// One name for what a group's work-items hold and for what is in memory, between two pointers.
#define XEEMU_OF_BOTH(name, of_values, of_memory)                                          \
  template <Group G, class T, class... X> inline auto name(G g, T x, X... more) {          \
    if constexpr (requires { of_values(g, x, more...); }) return of_values(g, x, more...); \
    else return of_memory(g, detail::plain_pointer(x), detail::pointer_or_value(more)...); \
  }
XEEMU_OF_BOTH(reduce, reduce_over_group, joint_reduce)
XEEMU_OF_BOTH(inclusive_scan, inclusive_scan_over_group, joint_inclusive_scan)
XEEMU_OF_BOTH(exclusive_scan, exclusive_scan_over_group, joint_exclusive_scan)
XEEMU_OF_BOTH(any_of, any_of_group, joint_any_of)
XEEMU_OF_BOTH(all_of, all_of_group, joint_all_of)
XEEMU_OF_BOTH(none_of, none_of_group, joint_none_of)
#undef XEEMU_OF_BOTH
template <Group G, class P, class F> inline F for_each(G g, P first, P last, F f) {
  return joint_for_each(g, first, last, f);
}
}  // namespace ext::oneapi
template <Group G> inline bool leader(G g) { return g.leader(); }
namespace ext::oneapi {
using sycl::leader;
}

}  // namespace sycl

#endif

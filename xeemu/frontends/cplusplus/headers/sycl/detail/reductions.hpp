// Reductions: what a kernel combines by reducers. Each work-item combines in a variable of its own; after the kernel's
// body that is combined with the result by an atomic, of an nd-range once for each work-group.
#ifndef XEEMU_SYCL_REDUCTIONS_HPP
#define XEEMU_SYCL_REDUCTIONS_HPP

#include <sycl/detail/algorithms.hpp>
#include <sycl/detail/atomics.hpp>
#include <sycl/detail/accessors.hpp>
#include <sycl/detail/buffers.hpp>
#include <sycl/detail/items.hpp>
#include <span>

namespace sycl {

using std::span, std::dynamic_extent;

template <class T, class Op> struct reducer {
  typedef T value_type;
  typedef Op binary_operation;
  T value;
  explicit reducer(T x) : value(x) {}
  reducer(const reducer &) = delete;
  reducer &combine(const T &x) {
    value = Op()(value, x);
    return *this;
  }
  T identity() const { return detail::identity_of<Op, T>(); }
  reducer &operator+=(const T &x)
    requires(detail::kind_of<Op> == detail::operation::add)
  {
    return combine(x);
  }
  reducer &operator*=(const T &x)
    requires(detail::kind_of<Op> == detail::operation::mul)
  {
    return combine(x);
  }
  reducer &operator&=(const T &x)
    requires(detail::kind_of<Op> == detail::operation::and_)
  {
    return combine(x);
  }
  reducer &operator|=(const T &x)
    requires(detail::kind_of<Op> == detail::operation::or_)
  {
    return combine(x);
  }
  reducer &operator^=(const T &x)
    requires(detail::kind_of<Op> == detail::operation::xor_)
  {
    return combine(x);
  }
  reducer &operator++()
    requires(detail::kind_of<Op> == detail::operation::add)
  {
    return combine(T(1));
  }
  void operator++(int)
    requires(detail::kind_of<Op> == detail::operation::add)
  {
    combine(T(1));
  }
};

namespace detail {

// An element of a reducer of several: what is combined goes to the work-item's own copy.
template <class T, class Op> struct reducer_element {
  T *at;
  const reducer_element &combine(const T &x) const {
    *at = Op()(*at, x);
    return *this;
  }
  T identity() const { return identity_of<Op, T>(); }
#define XEEMU_COMBINES(sign, k)                              \
  const reducer_element &operator sign##=(const T &x) const  \
    requires(kind_of<Op> == operation::k)                    \
  {                                                          \
    *at = *at sign x;                                        \
    return *this;                                            \
  }
  XEEMU_COMBINES(+, add)
  XEEMU_COMBINES(*, mul)
  XEEMU_COMBINES(&, and_)
  XEEMU_COMBINES(|, or_)
  XEEMU_COMBINES(^, xor_)
#undef XEEMU_COMBINES
  const reducer_element &operator++() const
    requires(kind_of<Op> == operation::add)
  {
    *at = *at + 1;
    return *this;
  }
  void operator++(int) const
    requires(kind_of<Op> == operation::add)
  {
    *at = *at + 1;
  }
};

// The reducer of a span.
template <class T, class Op, size_t n> struct span_reducer {
  typedef T value_type;
  typedef Op binary_operation;
  T value[n];
  explicit span_reducer(T x) {
    for (size_t i = 0; i < n; ++i) value[i] = x;
  }
  span_reducer(const span_reducer &) = delete;
  reducer_element<T, Op> operator[](size_t i) { return reducer_element<T, Op>{value + i}; }
  T identity() const { return identity_of<Op, T>(); }
};

// Whether atomics are there for numbers of a type.
template <class T> inline constexpr bool has_atomics = std::is_arithmetic_v<T> && sizeof(T) >= 4;

// x combined with what is in memory, for others to see.
template <class T, class Op> inline void combine_atomically(T *p, T x) {
  constexpr operation k = kind_of<Op>;
  if constexpr (k == operation::add) __xeemu::atomic_fetch_add_explicit(p, x, 0, 2);
  else if constexpr (k == operation::min) __xeemu::atomic_fetch_min_explicit(p, x, 0, 2);
  else if constexpr (k == operation::max) __xeemu::atomic_fetch_max_explicit(p, x, 0, 2);
  else if constexpr (k == operation::and_) __xeemu::atomic_fetch_and_explicit(p, x, 0, 2);
  else if constexpr (k == operation::or_) __xeemu::atomic_fetch_or_explicit(p, x, 0, 2);
  else if constexpr (k == operation::xor_) __xeemu::atomic_fetch_xor_explicit(p, x, 0, 2);
  else {
    T old = __xeemu::atomic_load_explicit(p, 0, 2);
    while (!__xeemu::atomic_compare_exchange_strong_explicit(p, &old, (T)Op()(old, x), 0, 0, 2)) {}
  }
}

template <int D> inline size_t items_of(const range<D> &r) { return r.size(); }
template <int D> inline size_t items_of(const nd_range<D> &r) { return r.get_global_range().size(); }

// Of what has no atomics: what each work-item has combined goes to an element of its own, and the host combines these
// with the result after the launch.
template <class T, class Op> struct partial_reduction_of {
  typedef reducer<T, Op> reducer_type;
  T *result;
  T identity;
  T *whole;
  size_t count;

  template <class Item> void finish(const T &x) const { result[__xeemu::get_global_linear_id()] = x; }
  void end() const {
    T total = *whole;
    for (size_t i = 0; i < count; ++i) total = Op()(total, result[i]);
    *whole = total;
    __xeemu::deallocate(result);
  }
};

template <class T, class Op> struct reduction_of {
  typedef reducer<T, Op> reducer_type;
  T *result;
  T identity;
  bool initialized;
  const void *whole;

  // On the host, before the launch.
  template <class R> auto begin(const R &r) const {
    if (whole != nullptr) __xeemu::command_uses(whole, sizeof(T), 2);
    if (initialized) *result = identity;
    if constexpr (has_atomics<T>) return *this;
    else {
      const size_t count = items_of(r);
      return partial_reduction_of<T, Op>{(T *)__xeemu::allocate(count * sizeof(T), 4), identity, result, count};
    }
  }
  void end() const {}
  template <class Item> void finish(T x) const {
    if constexpr (dimensions_of<Item> != 0 && kind_of<Op> != operation::other) {
      T total = reduce_over_group(group<dimensions_of<Item>>(), x, Op());
      if (__xeemu::get_local_linear_id() == 0) combine_atomically<T, Op>(result, total);
    } else combine_atomically<T, Op>(result, x);
  }
};

// Of the elements of a span, each by itself.
template <class T, class Op, size_t n> struct span_reduction_of {
  typedef span_reducer<T, Op, n> reducer_type;
  reduction_of<T, Op> one;
  T identity;

  template <class R> span_reduction_of begin(const R &) const {
    for (size_t i = 0; i < n; ++i)
      if (one.initialized) one.result[i] = identity;
    return *this;
  }
  void end() const {}
  template <class Item> void finish(const T *x) const {
    for (size_t i = 0; i < n; ++i)
      reduction_of<T, Op>{one.result + i, identity, false, nullptr}.template finish<Item>(x[i]);
  }
};

// Kernels with reducers.
template <class Item, class K, class R> struct reducing {
  K kernel;
  R first;
  void operator()(Item it) const {
    typename R::reducer_type a(first.identity);
    kernel(it, a);
    first.template finish<Item>(a.value);
  }
};
template <class Item, class K, class R, class S> struct reducing2 {
  K kernel;
  R first;
  S second;
  void operator()(Item it) const {
    typename R::reducer_type a(first.identity);
    typename S::reducer_type b(second.identity);
    kernel(it, a, b);
    first.template finish<Item>(a.value);
    second.template finish<Item>(b.value);
  }
};
template <class Item, class K, class R, class S, class T> struct reducing3 {
  K kernel;
  R first;
  S second;
  T third;
  void operator()(Item it) const {
    typename R::reducer_type a(first.identity);
    typename S::reducer_type b(second.identity);
    typename T::reducer_type c(third.identity);
    kernel(it, a, b, c);
    first.template finish<Item>(a.value);
    second.template finish<Item>(b.value);
    third.template finish<Item>(c.value);
  }
};
template <class Item, class K, class R, class S, class T, class U> struct reducing4 {
  K kernel;
  R first;
  S second;
  T third;
  U fourth;
  void operator()(Item it) const {
    typename R::reducer_type a(first.identity);
    typename S::reducer_type b(second.identity);
    typename T::reducer_type c(third.identity);
    typename U::reducer_type d(fourth.identity);
    kernel(it, a, b, c, d);
    first.template finish<Item>(a.value);
    second.template finish<Item>(b.value);
    third.template finish<Item>(c.value);
    fourth.template finish<Item>(d.value);
  }
};

// What a work-group does once, and in it its work-items: not emulated.
template <int D, class K> struct hierarchical {
  K kernel;
  void operator()(group<D> g) const {
    __xeemu::unsupported(
        "a hierarchical kernel (parallel_for_work_group); write parallel_for over nd_range(groups * local, local): "
        "what each parallel_for_work_item does, with group_barrier(it.get_group()) between two of them, and for the "
        "variables of the group local accessors, set by if (it.get_local_linear_id() == 0) before a barrier");
    kernel(g);
  }
};

// A kernel whose ids begin at an offset.
template <int D, class K> struct shifted {
  K kernel;
  id<D> from;
  void operator()(item<D> it) const {
    if constexpr (std::is_invocable_v<const K &, id<D>>) kernel(it.get_id() + from);
    else
      __xeemu::unsupported(
          "an item of a kernel that begins at an offset; leave the offset out, and add it to the id in the kernel");
  }
};

}  // namespace detail

template <class T, class Op> inline detail::reduction_of<T, Op> reduction(T *p, Op, const property_list &o = {}) {
  return detail::reduction_of<T, Op>{p, detail::identity_of<Op, T>(), o.initialized, nullptr};
}
template <class T, class Op> inline detail::reduction_of<T, Op> reduction(T *p, const std::type_identity_t<T> &identity,
                                                                          Op, const property_list &o = {}) {
  return detail::reduction_of<T, Op>{p, identity, o.initialized, nullptr};
}
template <class T, class A, class Op>
inline detail::reduction_of<T, Op> reduction(buffer<T, 1, A> b, handler &, Op, const property_list &o = {}) {
  return detail::reduction_of<T, Op>{b.data, detail::identity_of<Op, T>(), o.initialized, b.data};
}
template <class T, class A, class Op>
inline detail::reduction_of<T, Op> reduction(buffer<T, 1, A> b, handler &, const std::type_identity_t<T> &identity, Op,
                                             const property_list &o = {}) {
  return detail::reduction_of<T, Op>{b.data, identity, o.initialized, b.data};
}
template <class T, size_t n, class Op>
  requires(n != dynamic_extent)
inline detail::span_reduction_of<T, Op, n> reduction(span<T, n> x, Op o, const property_list &p = {}) {
  return detail::span_reduction_of<T, Op, n>{reduction(x.data(), o, p), detail::identity_of<Op, T>()};
}
template <class T, size_t n, class Op>
  requires(n != dynamic_extent)
inline detail::span_reduction_of<T, Op, n> reduction(span<T, n> x, const std::type_identity_t<T> &identity, Op o,
                                                     const property_list &p = {}) {
  return detail::span_reduction_of<T, Op, n>{reduction(x.data(), identity, o, p), identity};
}
// Of an accessor, as before SYCL 2020.
template <class T, int D, access_mode m, target t, access::placeholder h, class Op>
inline detail::reduction_of<T, Op> reduction(const accessor<T, D, m, t, h> &a, Op) {
  return detail::reduction_of<T, Op>{a.data, detail::identity_of<Op, T>(),
                                     m == access_mode::discard_write || m == access_mode::write, a.data};
}
template <class T, int D, access_mode m, target t, access::placeholder h, class Op>
inline detail::reduction_of<T, Op> reduction(const accessor<T, D, m, t, h> &a, const std::type_identity_t<T> &identity,
                                             Op) {
  return detail::reduction_of<T, Op>{a.data, identity, m == access_mode::discard_write || m == access_mode::write,
                                     a.data};
}
namespace ext::oneapi {
using sycl::reducer, sycl::reduction;
}

}  // namespace sycl

#endif

// Atomics: atomic_ref, and the atomic of SYCL 1.2.1.
#ifndef XEEMU_SYCL_ATOMICS_HPP
#define XEEMU_SYCL_ATOMICS_HPP

#include <sycl/detail/memory_model.hpp>
#include <sycl/detail/pointers.hpp>

namespace sycl {

namespace detail {
// Orders of the load and the store within a read-modify-write.
constexpr memory_order of_load(memory_order o) {
  return o == memory_order::acq_rel || o == memory_order::release ? memory_order::acquire : o;
}
constexpr memory_order of_store(memory_order o) {
  return o == memory_order::acq_rel || o == memory_order::acquire ? memory_order::release : o;
}
}  // namespace detail

template <class T, memory_order O, memory_scope S, access::address_space A = access::address_space::generic_space>
struct atomic_ref {
  typedef T value_type;
  typedef T difference_type;
  static constexpr size_t required_alignment = alignof(T);
  static constexpr bool is_always_lock_free = true;
  static constexpr memory_order default_read_order = detail::of_load(O);
  static constexpr memory_order default_write_order = detail::of_store(O);
  static constexpr memory_order default_read_modify_write_order = O;
  static constexpr memory_scope default_scope = S;
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2, "an atomic_ref is of 4 or 8 bytes");
  T *p;

  explicit atomic_ref(T &x) : p(&x) {
    if constexpr (A == access::address_space::global_space || A == access::address_space::local_space)
      __xeemu::refers_to(p, (int)A);
  }
  atomic_ref(const atomic_ref &) = default;
  atomic_ref &operator=(const atomic_ref &) = delete;

  bool is_lock_free() const { return true; }
  T load(memory_order o = default_read_order, memory_scope s = S) const {
    return __xeemu::atomic_load_explicit(p, (int)o, (int)s);
  }
  void store(T x, memory_order o = default_write_order, memory_scope s = S) const {
    __xeemu::atomic_store_explicit(p, x, (int)o, (int)s);
  }
  T exchange(T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_exchange_explicit(p, x, (int)o, (int)s);
  }
  bool compare_exchange_strong(T &expected, T x, memory_order o, memory_order failure, memory_scope s = S) const {
    return __xeemu::atomic_compare_exchange_strong_explicit(p, &expected, x, (int)o, (int)failure, (int)s);
  }
  bool compare_exchange_strong(T &expected, T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_compare_exchange_strong_explicit(p, &expected, x, (int)o, (int)detail::of_load(o), (int)s);
  }
  bool compare_exchange_weak(T &expected, T x, memory_order o, memory_order failure, memory_scope s = S) const {
    return __xeemu::atomic_compare_exchange_strong_explicit(p, &expected, x, (int)o, (int)failure, (int)s);
  }
  bool compare_exchange_weak(T &expected, T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_compare_exchange_strong_explicit(p, &expected, x, (int)o, (int)detail::of_load(o), (int)s);
  }
  operator T() const { return __xeemu::atomic_load_explicit(p, (int)default_read_order, (int)S); }
  T operator=(T x) const {
    __xeemu::atomic_store_explicit(p, x, (int)default_write_order, (int)S);
    return x;
  }

  T fetch_add(T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_fetch_add_explicit(p, x, (int)o, (int)s);
  }
  T fetch_sub(T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_fetch_sub_explicit(p, x, (int)o, (int)s);
  }
  T fetch_min(T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_fetch_min_explicit(p, x, (int)o, (int)s);
  }
  T fetch_max(T x, memory_order o = O, memory_scope s = S) const {
    return __xeemu::atomic_fetch_max_explicit(p, x, (int)o, (int)s);
  }
  T fetch_and(T x, memory_order o = O, memory_scope s = S) const
    requires std::is_integral_v<T>
  {
    return __xeemu::atomic_fetch_and_explicit(p, x, (int)o, (int)s);
  }
  T fetch_or(T x, memory_order o = O, memory_scope s = S) const
    requires std::is_integral_v<T>
  {
    return __xeemu::atomic_fetch_or_explicit(p, x, (int)o, (int)s);
  }
  T fetch_xor(T x, memory_order o = O, memory_scope s = S) const
    requires std::is_integral_v<T>
  {
    return __xeemu::atomic_fetch_xor_explicit(p, x, (int)o, (int)s);
  }
  // The new value, which often nobody needs: the old one is asked for only then.
  T operator+=(T x) const { return fetch_add(x) + x; }
  T operator-=(T x) const { return fetch_sub(x) - x; }
  T operator&=(T x) const { return fetch_and(x) & x; }
  T operator|=(T x) const { return fetch_or(x) | x; }
  T operator^=(T x) const { return fetch_xor(x) ^ x; }
  T operator++() const { return fetch_add((T)1) + 1; }
  T operator--() const { return fetch_sub((T)1) - 1; }
  T operator++(int) const { return fetch_add((T)1); }
  T operator--(int) const { return fetch_sub((T)1); }
};

// Of pointers: parsed, and refused where a kernel uses one.
template <class T, memory_order O, memory_scope S, access::address_space A> struct atomic_ref<T *, O, S, A> {
  typedef T *value_type;
  typedef ptrdiff_t difference_type;
  static constexpr size_t required_alignment = alignof(T *);
  static constexpr bool is_always_lock_free = true;
  static constexpr memory_order default_read_order = detail::of_load(O);
  static constexpr memory_order default_write_order = detail::of_store(O);
  static constexpr memory_order default_read_modify_write_order = O;
  static constexpr memory_scope default_scope = S;
  T **p;

  static void refuse() { __xeemu::unsupported("an atomic of a pointer; keep an index, and an atomic of that"); }
  explicit atomic_ref(T *&x) : p(&x) { refuse(); }
  atomic_ref(const atomic_ref &) = default;
  bool is_lock_free() const { return true; }
  T *load(memory_order = O, memory_scope = S) const { return *p; }
  void store(T *x, memory_order = O, memory_scope = S) const { *p = x; }
  T *exchange(T *x, memory_order = O, memory_scope = S) const { return x; }
  template <class... X> bool compare_exchange_strong(T *&, T *, X...) const { return true; }
  template <class... X> bool compare_exchange_weak(T *&, T *, X...) const { return true; }
  T *fetch_add(ptrdiff_t, memory_order = O, memory_scope = S) const { return *p; }
  T *fetch_sub(ptrdiff_t, memory_order = O, memory_scope = S) const { return *p; }
  operator T *() const { return *p; }
  T *operator=(T *x) const { return *p = x; }
  T *operator+=(ptrdiff_t n) const { return *p += n; }
  T *operator-=(ptrdiff_t n) const { return *p -= n; }
  T *operator++() const { return ++*p; }
  T *operator--() const { return --*p; }
  T *operator++(int) const { return (*p)++; }
  T *operator--(int) const { return (*p)--; }
};

template <class T, access::address_space A = access::address_space::global_space> struct atomic {
  T *p;

  explicit atomic(T *q) : p(q) {}
  template <access::decorated d> atomic(multi_ptr<T, A, d> q) : p(q.p) {}
  void store(T x, memory_order = memory_order::relaxed) const { __xeemu::atomic_store_explicit(p, x, 0, 2); }
  T load(memory_order = memory_order::relaxed) const { return __xeemu::atomic_load_explicit(p, 0, 2); }
  T exchange(T x, memory_order = memory_order::relaxed) const { return __xeemu::atomic_exchange_explicit(p, x, 0, 2); }
  bool compare_exchange_strong(T &expected, T x, memory_order = memory_order::relaxed,
                               memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_compare_exchange_strong_explicit(p, &expected, x, 0, 0, 2);
  }
  T fetch_add(T x, memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_fetch_add_explicit(p, x, 0, 2);
  }
  T fetch_sub(T x, memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_fetch_sub_explicit(p, x, 0, 2);
  }
  T fetch_min(T x, memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_fetch_min_explicit(p, x, 0, 2);
  }
  T fetch_max(T x, memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_fetch_max_explicit(p, x, 0, 2);
  }
  T fetch_and(T x, memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_fetch_and_explicit(p, x, 0, 2);
  }
  T fetch_or(T x, memory_order = memory_order::relaxed) const { return __xeemu::atomic_fetch_or_explicit(p, x, 0, 2); }
  T fetch_xor(T x, memory_order = memory_order::relaxed) const {
    return __xeemu::atomic_fetch_xor_explicit(p, x, 0, 2);
  }
};
#define XEEMU_ATOMIC(name)                                                            \
  template <class T, access::address_space A>                                         \
  inline T atomic_##name(atomic<T, A> a, T x, memory_order = memory_order::relaxed) { \
    return a.name(x);                                                                 \
  }
XEEMU_ATOMIC(exchange)
XEEMU_ATOMIC(fetch_add)
XEEMU_ATOMIC(fetch_sub)
XEEMU_ATOMIC(fetch_min)
XEEMU_ATOMIC(fetch_max)
XEEMU_ATOMIC(fetch_and)
XEEMU_ATOMIC(fetch_or)
XEEMU_ATOMIC(fetch_xor)
#undef XEEMU_ATOMIC
template <class T, access::address_space A> inline T atomic_load(atomic<T, A> a, memory_order = memory_order::relaxed) {
  return a.load();
}
template <class T, access::address_space A>
inline void atomic_store(atomic<T, A> a, T x, memory_order = memory_order::relaxed) {
  a.store(x);
}

namespace ext::oneapi {
using sycl::atomic_ref;
using sycl::memory_order;
using sycl::memory_scope;
}  // namespace ext::oneapi

}  // namespace sycl

#endif

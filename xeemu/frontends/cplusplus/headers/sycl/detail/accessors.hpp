// Accessors: of buffers, of local memory, and on the host. `data` is of the whole buffer, whose range is `r`; `part`
// and `from` are what a ranged accessor was given.
#ifndef XEEMU_SYCL_ACCESSORS_HPP
#define XEEMU_SYCL_ACCESSORS_HPP

#include <sycl/detail/atomics.hpp>
#include <sycl/detail/buffers.hpp>
#include <sycl/detail/items.hpp>
#include <sycl/detail/pointers.hpp>

namespace sycl {

namespace detail {
template <class T, access_mode m> using element = std::conditional_t<m == access_mode::read, const T, T>;

template <class P> inline auto *address_of(const P &p) {
  if constexpr (std::is_pointer_v<P>) return p;
  else if constexpr (requires { p.get_pointer_plain(); }) return p.begin();
  else if constexpr (requires { p.get(); }) return p.get();
  else return &*p;
}
template <class S, class T> inline void copy_elements(const S *from, T *to, size_t count) {
  if constexpr (std::is_same_v<std::remove_const_t<S>, T>) __xeemu::copy_bytes((void *)to, from, count * sizeof(T));
  else
    for (size_t i = 0; i < count; ++i) to[i] = (T)from[i];
}

// What lies together of the part that an accessor is for: all of a whole buffer, else a row.
template <class A> inline bool is_whole(const A &a) { return a.part.size() == a.r.size(); }
template <class A> inline size_t row_size(const A &a) {
  return is_whole(a) ? a.part.size() : a.part[a.part.dimensions - 1];
}
template <class A> inline size_t row_begin(const A &a, size_t row) {
  if (is_whole(a)) return 0;
  if constexpr (A::rank == 1) return a.from[0];
  else if constexpr (A::rank == 2) return (a.from[0] + row) * a.r[1] + a.from[1];
  else return ((a.from[0] + row / a.part[1]) * a.r[1] + a.from[1] + row % a.part[1]) * a.r[2] + a.from[2];
}

// Whether the contents of before are of no use to an accessor of these properties, or of a mode.
template <class P> constexpr bool discards(const P &p) {
  if constexpr (is_no_init<P>) return true;
  else if constexpr (requires { p.discards; }) return p.discards;
  else return false;
}
constexpr bool discards(access_mode m) { return m == access_mode::discard_write || m == access_mode::discard_read_write; }
template <class A> inline void discard(const A &a) {
  if (a.part.size() == 0) return;
  const size_t row = row_size(a), rows = a.part.size() / row;
  for (size_t k = 0; k < rows; ++k) __xeemu::discard(a.data + row_begin(a, k), row * sizeof(*a.data));
}

// What `a[i]` is of three dimensions.
template <class T> struct plane {
  T *data;
  size_t width;
  T *operator[](size_t i) const { return data + i * width; }
};

}  // namespace detail

template <class T, int D, access_mode m, target t, access::placeholder h> struct accessor {
  static constexpr int dimensions = D;
  static constexpr int rank = D == 0 ? 1 : D;  // one of no dimensions is of one element
  typedef detail::element<T, m> E;
  typedef E value_type;
  typedef E &reference;
  typedef const T &const_reference;
  typedef E *iterator;
  typedef const T *const_iterator;
  typedef size_t size_type;
  typedef ptrdiff_t difference_type;
  static constexpr access_mode mode = m;
  E *data;
  range<rank> r, part;
  id<rank> from;

  void used(bool discards = detail::discards(m)) const {
    __xeemu::command_uses(data, r.size() * sizeof(T), (int)(discards ? access_mode::discard_write : m));
    if (discards) detail::discard(*this);
  }
  template <class P> void used_with(const P &p) const { used(detail::discards(m) || detail::discards(p)); }

  accessor() : data(nullptr) {}
  template <class A> accessor(buffer<T, rank, A> &b) : data(b.data), r(b.r), part(b.r) {}
  template <class A, class P> accessor(buffer<T, rank, A> &b, P) : accessor(b) {}
  template <class A, class P, class Q>
    requires(!std::is_same_v<P, handler>)
  accessor(buffer<T, rank, A> &b, P, Q) : accessor(b) {}
  template <class A> accessor(buffer<T, rank, A> &b, range<rank> n) : data(b.data), r(b.r), part(n) {}
  template <class A> accessor(buffer<T, rank, A> &b, range<rank> n, id<rank> o)
      : data(b.data), r(b.r), part(n), from(o) {}
  template <class A> accessor(buffer<T, rank, A> &b, handler &) : accessor(b) { used(); }
  template <class A, class P = property_list> accessor(buffer<T, rank, A> &b, handler &, P p) : accessor(b) { used_with(p); }
  template <class A, class P, class Q = property_list> accessor(buffer<T, rank, A> &b, handler &, P, Q q) : accessor(b) { used_with(q); }
  template <class A> accessor(buffer<T, rank, A> &b, handler &, range<rank> n) : accessor(b, n) { used(); }
  template <class A, class P = property_list> accessor(buffer<T, rank, A> &b, handler &, range<rank> n, P p) : accessor(b, n) { used_with(p); }
  template <class A, class P, class Q = property_list>
    requires(!std::is_convertible_v<P, id<rank>>)
  accessor(buffer<T, rank, A> &b, handler &, range<rank> n, P, Q q) : accessor(b, n) {
    used_with(q);
  }
  template <class A> accessor(buffer<T, rank, A> &b, handler &, range<rank> n, id<rank> o) : accessor(b, n, o) {
    used();
  }
  template <class A, class P = property_list> accessor(buffer<T, rank, A> &b, handler &, range<rank> n, id<rank> o, P p)
      : accessor(b, n, o) {
    used_with(p);
  }
  template <class A, class P, class Q = property_list> accessor(buffer<T, rank, A> &b, handler &, range<rank> n, id<rank> o, P, Q q)
      : accessor(b, n, o) {
    used_with(q);
  }
  // One that reads, of one that also writes.
  template <access_mode n, access::placeholder g>
    requires(m == access_mode::read && n == access_mode::read_write)
  accessor(const accessor<T, D, n, t, g> &o) : data(o.data), r(o.r), part(o.part), from(o.from) {}
  template <class U, access_mode n, access::placeholder g>
    requires(std::is_same_v<std::remove_const_t<U>, std::remove_const_t<T>> && m == access_mode::read &&
             !std::is_same_v<U, T>)
  accessor(const accessor<U, D, n, t, g> &o) : data(o.data), r(o.r), part(o.part), from(o.from) {}

  // The element of an index; of mode atomic, an atomic of it.
  decltype(auto) operator[](size_t i) const {
    if constexpr (m == access_mode::atomic) return atomic<T>(data + i);
    else if constexpr (D <= 1) return (data[i]);
    else if constexpr (D == 2) return data + i * r.v[1];
    else return detail::plane<E>{data + i * r.v[1] * r.v[2], r.v[2]};
  }
  decltype(auto) operator[](const id<rank> &i) const
    requires(D > 1)
  {
    if constexpr (m == access_mode::atomic) return atomic<T>(data + detail::linear(i, r));
    else return (data[detail::linear(i, r)]);
  }
  operator E &() const
    requires(D == 0 && m != access_mode::atomic)
  {
    return data[0];
  }
  operator atomic<T>() const
    requires(D == 0 && m == access_mode::atomic)
  {
    return atomic<T>(data);
  }
  const accessor &operator=(const T &x) const
    requires(D == 0 && m != access_mode::read)
  {
    data[0] = x;
    return *this;
  }

  size_t size() const { return part.size(); }
  size_t get_count() const { return part.size(); }
  size_t get_size() const { return part.size() * sizeof(T); }
  size_t byte_size() const { return part.size() * sizeof(T); }
  size_t max_size() const { return part.size(); }
  bool empty() const { return part.size() == 0; }
  range<rank> get_range() const { return part; }
  id<rank> get_offset() const { return from; }
  bool is_placeholder() const { return h == access::placeholder::true_t; }
  E *get_pointer_plain() const { return data; }
  // As before SYCL 2020, not of const elements where only reading is allowed.
  global_ptr<T> get_pointer() const { return global_ptr<T>((T *)data); }
  template <access::decorated d> global_ptr<E, d> get_multi_ptr() const { return global_ptr<E, d>(data); }
  E *begin() const { return data + detail::linear(from, r); }
  E *end() const { return begin() + part.size(); }
  const T *cbegin() const { return begin(); }
  const T *cend() const { return end(); }
  void swap(accessor &o) { std::swap(*this, o); }
  friend bool operator==(const accessor &a, const accessor &b) { return a.data == b.data; }
};

// Local memory of a group; XEEMU_LOCAL(C) is what both its classes have, whose dimensions are at least one of memory.
#define XEEMU_LOCAL(C)                                                                                   \
  static constexpr int rank = D == 0 ? 1 : D;                                                            \
  typedef T value_type;                                                                                  \
  typedef T &reference;                                                                                  \
  typedef const T &const_reference;                                                                      \
  typedef T *iterator;                                                                                   \
  typedef const T *const_iterator;                                                                       \
  typedef size_t size_type;                                                                              \
  typedef ptrdiff_t difference_type;                                                                     \
  static constexpr int dimensions = D;                                                                   \
  T *data;                                                                                               \
  range<rank> r;                                                                                         \
                                                                                                         \
  C() : data(nullptr) {}                                                                                 \
  C(handler &, const property_list & = {})                                                               \
  requires(D == 0) : data((T *)__xeemu::allocate(sizeof(T), 3)), r(1) {}                                 \
  C(range<rank> size, handler &, const property_list & = {})                                             \
  requires(D > 0) : data((T *)__xeemu::allocate(size.size() * sizeof(T), 3)), r(size) {}                 \
                                                                                                         \
  T &operator[](const id<rank> &i) const                                                                 \
    requires(D > 1)                                                                                      \
  {                                                                                                      \
    return data[detail::linear(i, r)];                                                                   \
  }                                                                                                      \
  operator T &() const                                                                                   \
    requires(D == 0)                                                                                     \
  {                                                                                                      \
    return *data;                                                                                        \
  }                                                                                                      \
  const C &operator=(const T &x) const                                                                   \
    requires(D == 0)                                                                                     \
  {                                                                                                      \
    *data = x;                                                                                           \
    return *this;                                                                                        \
  }                                                                                                      \
  size_t size() const { return r.size(); }                                                               \
  size_t get_count() const { return r.size(); }                                                          \
  size_t byte_size() const { return r.size() * sizeof(T); }                                              \
  size_t get_size() const { return r.size() * sizeof(T); }                                               \
  size_t max_size() const { return r.size(); }                                                           \
  bool empty() const { return r.size() == 0; }                                                           \
  bool is_placeholder() const { return false; }                                                          \
  range<rank> get_range() const { return r; }                                                            \
  T *get_pointer_plain() const { return data; }                                                          \
  local_ptr<T> get_pointer() const { return local_ptr<T>(data); }                                        \
  template <access::decorated d> local_ptr<T, d> get_multi_ptr() const { return local_ptr<T, d>(data); } \
  T *begin() const { return data; }                                                                      \
  T *end() const { return data + r.size(); }                                                             \
  const T *cbegin() const { return data; }                                                               \
  const T *cend() const { return data + r.size(); }                                                      \
  friend bool operator==(const C &a, const C &b) { return a.data == b.data; }

template <class T, int D = 1> struct local_accessor {
  XEEMU_LOCAL(local_accessor)
  decltype(auto) operator[](size_t i) const
    requires(D > 0)
  {
    if constexpr (D == 1) return (data[i]);
    else if constexpr (D == 2) return data + i * r.v[1];
    else return detail::plane<T>{data + i * r.v[1] * r.v[2], r.v[2]};
  }
};

// The spelling of SYCL 1.2.1; of mode atomic, an index gives an atomic.
template <class T, int D, access_mode m, access::placeholder h> struct accessor<T, D, m, target::local, h> {
  XEEMU_LOCAL(accessor)
  decltype(auto) operator[](size_t i) const
    requires(D > 0)
  {
    if constexpr (m == access_mode::atomic) return atomic<T, access::address_space::local_space>(data + i);
    else if constexpr (D == 1) return (data[i]);
    else if constexpr (D == 2) return data + i * r.v[1];
    else return detail::plane<T>{data + i * r.v[1] * r.v[2], r.v[2]};
  }
};
#undef XEEMU_LOCAL

template <class T, int D, access_mode m> struct host_accessor {
  typedef detail::element<T, m> E;
  typedef E value_type;
  typedef E &reference;
  typedef E *iterator;
  static constexpr int dimensions = D;
  static constexpr int rank = D;
  E *data;
  range<D> r, part;
  id<D> from;
  detail::view seen;

  host_accessor() : data(nullptr) {}
  host_accessor(const host_accessor &) = default;
  host_accessor &operator=(const host_accessor &o) {
    data = o.data;
    r = o.r;
    part = o.part;
    from = o.from;
    seen = o.seen;
    return *this;
  }
  template <class A> host_accessor(detail::part, const buffer<T, D, A> &b, range<D> n, id<D> o, bool discards)
      : data(b.data), r(b.r), part(n), from(o), seen(data, (int)m) {
    if (discards) detail::discard(*this);
  }
  template <class A> host_accessor(buffer<T, D, A> &b, range<D> n, id<D> o = id<D>())
      : host_accessor(detail::part(), b, n, o, detail::discards(m)) {}
  template <class A> host_accessor(buffer<T, D, A> &b) : host_accessor(b, b.r) {}
  template <class A, class P = property_list> host_accessor(buffer<T, D, A> &b, range<D> n, id<D> o, P p)
      : host_accessor(detail::part(), b, n, o, detail::discards(m) || detail::discards(p)) {}
  template <class A, class P, class Q = property_list> host_accessor(buffer<T, D, A> &b, range<D> n, id<D> o, P, Q q)
      : host_accessor(b, n, o, q) {}
  template <class A, class P = property_list>
    requires(!std::is_convertible_v<P, id<D>>)
  host_accessor(buffer<T, D, A> &b, range<D> n, P p) : host_accessor(b, n, id<D>(), p) {}
  template <class A, class P, class Q = property_list>
    requires(!std::is_convertible_v<P, id<D>>)
  host_accessor(buffer<T, D, A> &b, range<D> n, P, Q q) : host_accessor(b, n, id<D>(), q) {}
  template <class A, class P = property_list>
    requires(!std::is_convertible_v<P, range<D>>)
  host_accessor(buffer<T, D, A> &b, P p) : host_accessor(b, b.r, id<D>(), p) {}
  template <class A, class P, class Q = property_list>
    requires(!std::is_convertible_v<P, range<D>>)
  host_accessor(buffer<T, D, A> &b, P, Q q) : host_accessor(b, b.r, id<D>(), q) {}

  decltype(auto) operator[](size_t i) const {
    if constexpr (D == 1) return (data[i]);
    else if constexpr (D == 2) return data + i * r.v[1];
    else return detail::plane<E>{data + i * r.v[1] * r.v[2], r.v[2]};
  }
  E &operator[](const id<D> &i) const
    requires(D > 1)
  {
    return data[detail::linear(i, r)];
  }
  size_t size() const { return part.size(); }
  size_t get_count() const { return part.size(); }
  size_t byte_size() const { return part.size() * sizeof(T); }
  size_t get_size() const { return part.size() * sizeof(T); }
  bool empty() const { return part.size() == 0; }
  range<D> get_range() const { return part; }
  id<D> get_offset() const { return from; }
  E *get_pointer() const { return data; }
  E *begin() const { return data + detail::linear(from, r); }
  E *end() const { return begin() + part.size(); }
  const T *cbegin() const { return begin(); }
  const T *cend() const { return end(); }
};

// Of the oneAPI compiler before SYCL 2020: an index gives an atomic_ref.
namespace ext::oneapi {
template <memory_order o> struct order_tag_t {
  explicit order_tag_t() = default;
};
template <memory_scope s> struct scope_tag_t {
  explicit scope_tag_t() = default;
};
inline constexpr order_tag_t<memory_order::relaxed> relaxed_order{};
inline constexpr order_tag_t<memory_order::acquire> acquire_order{};
inline constexpr order_tag_t<memory_order::release> release_order{};
inline constexpr order_tag_t<memory_order::acq_rel> acq_rel_order{};
inline constexpr order_tag_t<memory_order::seq_cst> seq_cst_order{};
inline constexpr scope_tag_t<memory_scope::work_item> work_item_scope{};
inline constexpr scope_tag_t<memory_scope::sub_group> sub_group_scope{};
inline constexpr scope_tag_t<memory_scope::work_group> work_group_scope{};
inline constexpr scope_tag_t<memory_scope::device> device_scope{};
inline constexpr scope_tag_t<memory_scope::system> system_scope{};

template <class T, int D, memory_order O, memory_scope S, target t = target::device,
          access::placeholder h = access::placeholder::false_t>
struct atomic_accessor {
  static constexpr access::address_space space =
      t == target::local ? access::address_space::local_space : access::address_space::global_space;
  typedef T value_type;
  typedef sycl::atomic_ref<T, O, S, space> reference;
  static constexpr int dimensions = D;
  accessor<T, D, access_mode::read_write, t, h> plain;

  template <class A, class... X>
  atomic_accessor(buffer<T, D, A> &b, handler &c, order_tag_t<O>, scope_tag_t<S>, const X &...x) : plain(b, c, x...) {}
  template <class A, class... X> atomic_accessor(buffer<T, D, A> &b, handler &c, const X &...x) : plain(b, c, x...) {}
  atomic_accessor(range<D> size, handler &c)
    requires(t == target::local)
      : plain(size, c) {}
  reference operator[](const id<D> &i) const {
    if constexpr (D == 1) return reference(plain[i.v[0]]);
    else return reference(plain[i]);
  }
  range<D> get_range() const { return plain.get_range(); }
  size_t size() const { return plain.size(); }
  size_t get_count() const { return plain.size(); }
};
template <class T, int D, class A, memory_order O, memory_scope S>
atomic_accessor(buffer<T, D, A>, handler &, order_tag_t<O>, scope_tag_t<S>) -> atomic_accessor<T, D, O, S>;
template <class T, int D, class A, memory_order O, memory_scope S, class P>
atomic_accessor(buffer<T, D, A>, handler &, order_tag_t<O>, scope_tag_t<S>, P) -> atomic_accessor<T, D, O, S>;
}  // namespace ext::oneapi

// What the arguments of an accessor without its own template arguments say.
template <class T, int D, class A> accessor(buffer<T, D, A> &)
    -> accessor<T, D, access_mode::read_write, target::device, access::placeholder::true_t>;
template <class T, int D, class A, access_mode m> accessor(buffer<T, D, A> &, mode_tag_t<m>)
    -> accessor<T, D, m, target::device, access::placeholder::true_t>;
template <class T, int D, class A, access_mode m, class P = property_list> accessor(buffer<T, D, A> &, mode_tag_t<m>, P)
    -> accessor<T, D, m, target::device, access::placeholder::true_t>;
#define XEEMU_GUIDES(...)                                                                                            \
  template <class T, int D, class A> accessor(buffer<T, D, A> &, handler &__VA_ARGS__) -> accessor<T, D>;            \
  template <class T, int D, class A, class P>                                                                        \
    requires std::is_empty_v<P>                                                                                      \
  accessor(buffer<T, D, A> &, handler &__VA_ARGS__, P) -> accessor<T, D>;                                            \
  template <class T, int D, class A> accessor(buffer<T, D, A> &, handler &__VA_ARGS__, property_list)                \
      -> accessor<T, D>;                                                                                             \
  template <class T, int D, class A, access_mode m> accessor(buffer<T, D, A> &, handler &__VA_ARGS__, mode_tag_t<m>) \
      -> accessor<T, D, m>;                                                                                          \
  template <class T, int D, class A, access_mode m, class P = property_list>                                                         \
  accessor(buffer<T, D, A> &, handler &__VA_ARGS__, mode_tag_t<m>, P) -> accessor<T, D, m>;                          \
  template <class T, int D, class A, access_mode m, target t>                                                        \
  accessor(buffer<T, D, A> &, handler &__VA_ARGS__, mode_target_tag_t<m, t>) -> accessor<T, D, m, t>;                \
  template <class T, int D, class A, access_mode m, target t, class P = property_list>                                               \
  accessor(buffer<T, D, A> &, handler &__VA_ARGS__, mode_target_tag_t<m, t>, P) -> accessor<T, D, m, t>;
#define XEEMU_COMMA ,
XEEMU_GUIDES()
XEEMU_GUIDES(XEEMU_COMMA range<D>)
XEEMU_GUIDES(XEEMU_COMMA range<D> XEEMU_COMMA id<D>)
#undef XEEMU_GUIDES
#undef XEEMU_COMMA
template <class T, int D, class A> host_accessor(buffer<T, D, A> &)
    -> host_accessor<T, D, std::is_const_v<T> ? access_mode::read : access_mode::read_write>;
template <class T, int D, class A, access_mode m> host_accessor(buffer<T, D, A> &, mode_tag_t<m>)
    -> host_accessor<T, D, m>;
template <class T, int D, class A, access_mode m, class P = property_list> host_accessor(buffer<T, D, A> &, mode_tag_t<m>, P)
    -> host_accessor<T, D, m>;
template <class T, int D, class A> host_accessor(buffer<T, D, A> &, property_list) -> host_accessor<T, D>;
template <class T, int D, class A, access_mode m> host_accessor(buffer<T, D, A> &, range<D>, mode_tag_t<m>)
    -> host_accessor<T, D, m>;
template <class T, int D, class A, access_mode m, class P = property_list> host_accessor(buffer<T, D, A> &, range<D>, mode_tag_t<m>, P)
    -> host_accessor<T, D, m>;
template <class T, int D, class A, access_mode m> host_accessor(buffer<T, D, A> &, range<D>, id<D>, mode_tag_t<m>)
    -> host_accessor<T, D, m>;
template <class T, int D, class A, access_mode m, class P = property_list>
host_accessor(buffer<T, D, A> &, range<D>, id<D>, mode_tag_t<m>, P) -> host_accessor<T, D, m>;

}  // namespace sycl

#endif

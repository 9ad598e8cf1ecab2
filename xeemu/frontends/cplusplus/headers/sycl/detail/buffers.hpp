// Buffers: the host's memory itself, or some of their own; nothing is copied back at their end. Until then the host may
// look at that memory by host accessors alone, which the front end watches.
#ifndef XEEMU_SYCL_BUFFERS_HPP
#define XEEMU_SYCL_BUFFERS_HPP

#include <memory>
#include <sycl/detail/coordinates.hpp>
#include <sycl/detail/memory_model.hpp>
#include <sycl/detail/properties.hpp>
#include <vector>

namespace sycl {

class handler;
template <class T, int D = 1, access_mode m = std::is_const_v<T> ? access_mode::read : access_mode::read_write,
          target t = target::device, access::placeholder p = access::placeholder::false_t>
struct accessor;
template <class T, int D = 1, access_mode m = access_mode::read_write> struct host_accessor;
template <class T = char> using buffer_allocator = std::allocator<T>;

namespace detail {
// What a buffer has of the host's memory until the last of its copies ends, which waits for the commands.
struct hold {
  const void *p;
  size_t bytes;
  hold() : p(nullptr), bytes(0) {}
  hold(const void *q, size_t n) : p(q), bytes(n) { __xeemu::hold(p, bytes); }
  hold(const hold &o) : p(o.p), bytes(o.bytes) { __xeemu::hold(p, bytes); }
  ~hold() { __xeemu::release(p); }
  hold &operator=(const hold &o) {
    __xeemu::hold(o.p, o.bytes);
    __xeemu::release(p);
    p = o.p;
    bytes = o.bytes;
    return *this;
  }
};
// What a host accessor has of a buffer's memory until the last of its copies ends.
struct view {
  const void *p;
  int mode;
  view() : p(nullptr), mode(0) {}
  view(const void *q, int m) : p(q), mode(m) { __xeemu::view(p, mode); }
  view(const view &o) : p(o.p), mode(o.mode) { __xeemu::view(p, mode); }
  ~view() { __xeemu::end_view(p, mode); }
  view &operator=(const view &o) {
    __xeemu::view(o.p, o.mode);
    __xeemu::end_view(p, mode);
    p = o.p;
    mode = o.mode;
    return *this;
  }
};
struct part {};
}  // namespace detail

template <class T, int D = 1, class A = buffer_allocator<std::remove_const_t<T>>> struct buffer {
  typedef T value_type;
  typedef T &reference;
  typedef const T &const_reference;
  typedef A allocator_type;
  static constexpr int dimensions = D;
  T *data;
  range<D> r;
  detail::hold held;

  buffer(const buffer &) = default;
  buffer &operator=(const buffer &o) {
    data = o.data;
    r = o.r;
    held = o.held;
    return *this;
  }
  buffer(detail::part, T *p, const range<D> &size) : data(p), r(size) {}
  void keep() { held = detail::hold(data, byte_size()); }
  void make() { data = (T *)__xeemu::allocate(r.size() * sizeof(T), 4); }
  // Of a null pointer the buffer has memory of its own, as DPC++ has it.
  void keep_or_make() {
    if (data == nullptr) make();
    else keep();
  }
  template <class I> void fill_from(I first) {
    make();
    std::remove_const_t<T> *to = (std::remove_const_t<T> *)data;
    for (size_t i = 0; i < r.size(); ++i, ++first) to[i] = *first;
  }
  void copy_from(const T *p) {
    make();
    __xeemu::copy_bytes((void *)data, p, r.size() * sizeof(T));
  }

  buffer(const range<D> &size, const property_list & = {}) : r(size) { make(); }
  buffer(const range<D> &size, A, const property_list & = {}) : r(size) { make(); }
  buffer(T *p, const range<D> &size, const property_list & = {}) : data(p), r(size) { keep_or_make(); }
  buffer(T *p, const range<D> &size, A, const property_list & = {}) : data(p), r(size) { keep_or_make(); }
  buffer(const T *p, const range<D> &size, const property_list & = {})
    requires(!std::is_const_v<T>)
      : r(size) {
    copy_from(p);
  }
  buffer(const std::shared_ptr<T> &p, const range<D> &size, const property_list & = {}) : data(p.get()), r(size) {
    keep();
  }
  buffer(const std::shared_ptr<T[]> &p, const range<D> &size, const property_list & = {}) : data(p.get()), r(size) {
    keep();
  }
  template <class C>
    requires(D == 1 &&
             requires(C &c) {
               c.data();
               c.size();
             } && std::is_convertible_v<decltype(std::declval<C &>().data()), T *>)
  buffer(C &c, const property_list & = {}) : data(c.data()), r(c.size()) {
    keep();
  }
  template <class C>
    requires(D == 1 &&
             requires(C &c) {
               c.data();
               c.size();
             } && std::is_same_v<decltype(std::declval<C &>().data()), const T *> && !std::is_const_v<T>)
  buffer(C &c, const property_list & = {}) : r(c.size()) {
    copy_from(c.data());
  }
  template <class I>
    requires(D == 1 && !std::is_integral_v<I> &&
             requires(I i) {
               *i;
               ++i;
             })
  buffer(I first, I last, const property_list & = {}) : r((size_t)(last - first)) {
    fill_from(first);
  }
  buffer(buffer &whole, const id<D> &from, const range<D> &size)
      : data(whole.data + detail::linear(from, whole.r)), r(size) {}

  range<D> get_range() const { return r; }
  size_t size() const { return r.size(); }
  size_t get_count() const { return r.size(); }
  size_t byte_size() const { return r.size() * sizeof(T); }
  size_t get_size() const { return r.size() * sizeof(T); }
  A get_allocator() const { return A(); }
  bool is_sub_buffer() const { return false; }

  template <access_mode m = access_mode::read_write, target t = target::device> auto get_access(handler &h) {
    return accessor<T, D, m, t>(*this, h);
  }
  template <access_mode m = access_mode::read_write, target t = target::device>
  auto get_access(handler &h, range<D> part, id<D> from = id<D>()) {
    return accessor<T, D, m, t>(*this, h, part, from);
  }
  template <access_mode m = access_mode::read_write, target t = target::host_buffer> auto get_access() {
    return host_accessor<T, D, m>(*this);
  }
  template <access_mode m = access_mode::read_write, target t = target::host_buffer>
  auto get_access(range<D> part, id<D> from = id<D>()) {
    return host_accessor<T, D, m>(*this, part, from);
  }
  template <class... X> auto get_access(handler &h, X... x) { return accessor(*this, h, x...); }
  template <class... X> auto get_host_access(X... x) { return host_accessor(*this, x...); }

  // Where the contents are to be in the end, they are from here on; without a place there, in memory of the buffer's
  // own.
  void move_to(T *to) {
    if (to == data) return;
    held = detail::hold();
    __xeemu::copy_bytes((void *)to, data, byte_size());
    data = to;
    keep();
  }
  void set_final_data(decltype(nullptr) = nullptr) {
    held = detail::hold();
    T *from = data;
    make();
    __xeemu::copy_bytes((void *)data, from, byte_size());
  }
  template <class P> void set_final_data(P to) {
    if constexpr (requires { to.lock(); }) move_to((T *)to.lock().get());
    else if constexpr (requires { to.get(); }) move_to((T *)to.get());
    else move_to((T *)&*to);
  }
  void set_write_back(bool back = true) {
    if (!back) set_final_data();
  }
  template <class U, int E = D> buffer<U, E> reinterpret(range<E> size) const { return buffer<U, E>(detail::part(), (U *)data, size); }
  template <class U, int E = D> buffer<U, E> reinterpret() const {
    if constexpr (E == 1) return buffer<U, E>(detail::part(), (U *)data, range<1>(byte_size() / sizeof(U)));
    else return buffer<U, E>(detail::part(), (U *)data, r);
  }
  friend bool operator==(const buffer &a, const buffer &b) { return a.data == b.data; }
};
template <class I>
  requires(!std::is_integral_v<I> &&
           requires(I i) {
             *i;
             ++i;
           })
buffer(I, I) -> buffer<typename std::iterator_traits<I>::value_type, 1>;
template <class I>
  requires(!std::is_integral_v<I> &&
           requires(I i) {
             *i;
             ++i;
           })
buffer(I, I, const property_list &) -> buffer<typename std::iterator_traits<I>::value_type, 1>;
template <class T, int D> buffer(T *, const range<D> &) -> buffer<T, D>;
template <class T, int D> buffer(T *, const range<D> &, const property_list &) -> buffer<T, D>;
template <class T, int D> buffer(const T *, const range<D> &) -> buffer<T, D>;
template <class T, int D> buffer(const T *, const range<D> &, const property_list &) -> buffer<T, D>;
template <class T, int D> buffer(const std::shared_ptr<T> &, const range<D> &) -> buffer<T, D>;
template <class T>
  requires(!std::is_integral_v<T>)
buffer(T *, size_t) -> buffer<T, 1>;
template <class C>
  requires requires(C &c) {
    c.data();
    c.size();
  }
buffer(C &) -> buffer<typename C::value_type, 1>;
template <class C>
  requires requires(C &c) {
    c.data();
    c.size();
  }
buffer(C &, const property_list &) -> buffer<typename C::value_type, 1>;

}  // namespace sycl

#endif

// Buffers: the host's memory itself, or some of their own; nothing is copied back at their end.
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

template <class T, int D = 1, class A = buffer_allocator<std::remove_const_t<T>>> struct buffer {
  typedef T value_type;
  typedef T &reference;
  typedef const T &const_reference;
  typedef A allocator_type;
  static constexpr int dimensions = D;
  T *data;
  range<D> r;

  void make() { data = (T *)__xeemu::allocate(r.size() * sizeof(T), 4); }
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
  buffer(T *p, const range<D> &size, const property_list & = {}) : data(p), r(size) {}
  buffer(T *p, const range<D> &size, A, const property_list & = {}) : data(p), r(size) {}
  buffer(const T *p, const range<D> &size, const property_list & = {})
    requires(!std::is_const_v<T>)
      : r(size) {
    copy_from(p);
  }
  buffer(const std::shared_ptr<T> &p, const range<D> &size, const property_list & = {}) : data(p.get()), r(size) {}
  buffer(const std::shared_ptr<T[]> &p, const range<D> &size, const property_list & = {}) : data(p.get()), r(size) {}
  template <class C>
    requires(D == 1 &&
             requires(C &c) {
               c.data();
               c.size();
             } && std::is_convertible_v<decltype(std::declval<C &>().data()), T *>)
  buffer(C &c, const property_list & = {}) : data(c.data()), r(c.size()) {}
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
    __xeemu::copy_bytes((void *)to, data, byte_size());
    data = to;
  }
  void set_final_data(decltype(nullptr) = nullptr) {
    T *from = data;
    make();
    __xeemu::copy_bytes((void *)data, from, byte_size());
  }
  template <class P> void set_final_data(P to) {
    if constexpr (requires { to.lock(); }) move_to((T *)to.lock().get());
    else if constexpr (requires { to.get(); }) move_to((T *)to.get());
    else move_to((T *)&*to);
  }
  void set_write_back(bool = true) {}
  template <class P> bool has_property() const { return false; }
  template <class U, int E = D> buffer<U, E> reinterpret(range<E> size) const { return buffer<U, E>((U *)data, size); }
  template <class U, int E = D> buffer<U, E> reinterpret() const {
    if constexpr (E == 1) return buffer<U, E>((U *)data, range<1>(byte_size() / sizeof(U)));
    else return buffer<U, E>((U *)data, r);
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

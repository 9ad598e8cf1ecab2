// USM: memory of host, device and both.
#ifndef XEEMU_SYCL_USM_HPP
#define XEEMU_SYCL_USM_HPP

#include <sycl/detail/queues.hpp>

namespace sycl {

namespace usm {
enum class alloc : char { host = 0, device = 1, shared = 2, unknown = 3 };
}

// Memory of a context: of a queue's, or of one that is given with a device.
#define XEEMU_USM(name, kind, context, ...)                                                         \
  inline void *malloc##name(size_t bytes, __VA_ARGS__, const property_list & = {}) {                \
    return __xeemu::allocate_in(context, bytes, (int)kind);                                         \
  }                                                                                                 \
  template <class T> inline T *malloc##name(size_t count, __VA_ARGS__, const property_list & = {}) { \
    return (T *)__xeemu::allocate_in(context, count * sizeof(T), (int)kind);                        \
  }                                                                                                 \
  inline void *aligned_alloc##name(size_t, size_t bytes, __VA_ARGS__, const property_list & = {}) { \
    return __xeemu::allocate_in(context, bytes, (int)kind);                                         \
  }                                                                                                 \
  template <class T>                                                                                \
  inline T *aligned_alloc##name(size_t, size_t count, __VA_ARGS__, const property_list & = {}) {    \
    return (T *)__xeemu::allocate_in(context, count * sizeof(T), (int)kind);                        \
  }
XEEMU_USM(_host, 0, q.context_number, const queue &q)
XEEMU_USM(_host, 0, c.number, const context &c)
XEEMU_USM(_device, 1, q.context_number, const queue &q)
XEEMU_USM(_device, 1, c.number, const device &, const context &c)
XEEMU_USM(_shared, 2, q.context_number, const queue &q)
XEEMU_USM(_shared, 2, c.number, const device &, const context &c)
XEEMU_USM(, kind, q.context_number, const queue &q, usm::alloc kind)
XEEMU_USM(, kind, c.number, const device &, const context &c, usm::alloc kind)
#undef XEEMU_USM
inline void free(void *p, const queue &q) { __xeemu::deallocate_in(q.context_number, p); }
inline void free(void *p, const context &c) { __xeemu::deallocate_in(c.number, p); }
inline usm::alloc get_pointer_type(const void *p, const context &) { return (usm::alloc)__xeemu::kind_of(p); }
inline device get_pointer_device(const void *, const context &) { return device(); }

template <class T, usm::alloc kind, size_t alignment = 0> struct usm_allocator {
  typedef T value_type;
  typedef T *pointer;
  typedef size_t size_type;
  static constexpr int memory_kind = (int)kind;
  template <class U> struct rebind {
    typedef usm_allocator<U, kind, alignment> other;
  };
  unsigned context_number;
  usm_allocator(const context &c, const device &, const property_list & = {}) : context_number(c.number) {}
  usm_allocator(const queue &q, const property_list & = {}) : context_number(q.context_number) {}
  template <class U>
  usm_allocator(const usm_allocator<U, kind, alignment> &o) : context_number(o.context_number) {}
  T *allocate(size_t n) { return (T *)__xeemu::allocate_in(context_number, n * sizeof(T), (int)kind); }
  void deallocate(T *p, size_t) { __xeemu::deallocate_in(context_number, p); }
  friend bool operator==(const usm_allocator &, const usm_allocator &) { return true; }
};

}  // namespace sycl

#endif

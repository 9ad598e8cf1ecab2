// USM: memory of host, device and both.
#ifndef XEEMU_SYCL_USM_HPP
#define XEEMU_SYCL_USM_HPP

#include <sycl/detail/queues.hpp>

namespace sycl {

namespace usm {
enum class alloc : char { host = 0, device = 1, shared = 2, unknown = 3 };
}

#define XEEMU_USM(name, kind)                                                                                       \
  inline void *malloc_##name(size_t bytes, const queue &, const property_list & = {}) {                             \
    return __xeemu::allocate(bytes, kind);                                                                          \
  }                                                                                                                 \
  inline void *malloc_##name(size_t bytes, const device &, const context &, const property_list & = {}) {           \
    return __xeemu::allocate(bytes, kind);                                                                          \
  }                                                                                                                 \
  template <class T> inline T *malloc_##name(size_t count, const queue &, const property_list & = {}) {             \
    return (T *)__xeemu::allocate(count * sizeof(T), kind);                                                         \
  }                                                                                                                 \
  template <class T>                                                                                                \
  inline T *malloc_##name(size_t count, const device &, const context &, const property_list & = {}) {              \
    return (T *)__xeemu::allocate(count * sizeof(T), kind);                                                         \
  }                                                                                                                 \
  inline void *aligned_alloc_##name(size_t, size_t bytes, const queue &) { return __xeemu::allocate(bytes, kind); } \
  inline void *aligned_alloc_##name(size_t, size_t bytes, const device &, const context &) {                        \
    return __xeemu::allocate(bytes, kind);                                                                          \
  }                                                                                                                 \
  template <class T> inline T *aligned_alloc_##name(size_t, size_t count, const queue &) {                          \
    return (T *)__xeemu::allocate(count * sizeof(T), kind);                                                         \
  }                                                                                                                 \
  template <class T> inline T *aligned_alloc_##name(size_t, size_t count, const device &, const context &) {        \
    return (T *)__xeemu::allocate(count * sizeof(T), kind);                                                         \
  }
XEEMU_USM(host, 0)
XEEMU_USM(device, 1)
XEEMU_USM(shared, 2)
#undef XEEMU_USM
inline void *malloc_host(size_t bytes, const context &) { return __xeemu::allocate(bytes, 0); }
template <class T> inline T *malloc_host(size_t count, const context &) {
  return (T *)__xeemu::allocate(count * sizeof(T), 0);
}
inline void *aligned_alloc_host(size_t, size_t bytes, const context &) { return __xeemu::allocate(bytes, 0); }
template <class T> inline T *aligned_alloc_host(size_t, size_t count, const context &) {
  return (T *)__xeemu::allocate(count * sizeof(T), 0);
}
inline void *malloc(size_t bytes, const queue &, usm::alloc kind, const property_list & = {}) {
  return __xeemu::allocate(bytes, (int)kind);
}
inline void *malloc(size_t bytes, const device &, const context &, usm::alloc kind) {
  return __xeemu::allocate(bytes, (int)kind);
}
template <class T> inline T *malloc(size_t count, const queue &, usm::alloc kind, const property_list & = {}) {
  return (T *)__xeemu::allocate(count * sizeof(T), (int)kind);
}
template <class T> inline T *malloc(size_t count, const device &, const context &, usm::alloc kind) {
  return (T *)__xeemu::allocate(count * sizeof(T), (int)kind);
}
inline void *aligned_alloc(size_t, size_t bytes, const queue &, usm::alloc kind) {
  return __xeemu::allocate(bytes, (int)kind);
}
inline void *aligned_alloc(size_t, size_t bytes, const device &, const context &, usm::alloc kind) {
  return __xeemu::allocate(bytes, (int)kind);
}
template <class T> inline T *aligned_alloc(size_t, size_t count, const queue &, usm::alloc kind) {
  return (T *)__xeemu::allocate(count * sizeof(T), (int)kind);
}
template <class T> inline T *aligned_alloc(size_t, size_t count, const device &, const context &, usm::alloc kind) {
  return (T *)__xeemu::allocate(count * sizeof(T), (int)kind);
}
inline void free(void *p, const queue &) { __xeemu::deallocate(p); }
inline void free(void *p, const context &) { __xeemu::deallocate(p); }
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
  usm_allocator(const context &, const device &, const property_list & = {}) {}
  usm_allocator(const queue &, const property_list & = {}) {}
  template <class U> usm_allocator(const usm_allocator<U, kind, alignment> &) {}
  T *allocate(size_t n) { return (T *)__xeemu::allocate(n * sizeof(T), (int)kind); }
  void deallocate(T *p, size_t) { __xeemu::deallocate(p); }
  friend bool operator==(const usm_allocator &, const usm_allocator &) { return true; }
};

}  // namespace sycl

#endif

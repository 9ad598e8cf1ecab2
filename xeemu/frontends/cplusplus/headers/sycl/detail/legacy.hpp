// Legacy: names of SYCL 1.2.1 and of older versions of the oneAPI compiler.
#ifndef XEEMU_SYCL_LEGACY_HPP
#define XEEMU_SYCL_LEGACY_HPP

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <sycl/detail/extensions.hpp>
#include <sycl/detail/streams.hpp>
#include <vector>

namespace sycl {

template <class T, class A = std::allocator<T>> using vector_class = std::vector<T, A>;
typedef std::string string_class;
template <class F> using function_class = std::function<F>;
typedef std::mutex mutex_class;
template <class T, class D = std::default_delete<T>> using unique_ptr_class = std::unique_ptr<T, D>;
template <class T> using shared_ptr_class = std::shared_ptr<T>;
template <class T> using weak_ptr_class = std::weak_ptr<T>;
template <class T> using hash_class = std::hash<T>;
typedef std::exception_ptr exception_ptr_class;
typedef std::unique_lock<std::mutex> unique_lock_class;

#define XEEMU_ALIASES(name, T)                                                           \
  typedef T cl_##name;                                                                   \
  typedef vec<T, 2> cl_##name##2;                                                        \
  typedef vec<T, 3> cl_##name##3;                                                        \
  typedef vec<T, 4> cl_##name##4;                                                        \
  typedef vec<T, 8> cl_##name##8;                                                        \
  typedef vec<T, 16> cl_##name##16;
XEEMU_ALIASES(char, signed char)
XEEMU_ALIASES(uchar, unsigned char)
XEEMU_ALIASES(short, short)
XEEMU_ALIASES(ushort, unsigned short)
XEEMU_ALIASES(int, int)
XEEMU_ALIASES(uint, unsigned)
XEEMU_ALIASES(long, long)
XEEMU_ALIASES(ulong, unsigned long)
XEEMU_ALIASES(float, float)
XEEMU_ALIASES(double, double)
XEEMU_ALIASES(half, half)
#undef XEEMU_ALIASES
typedef bool cl_bool;
namespace opencl {
using sycl::cl_char, sycl::cl_double, sycl::cl_float, sycl::cl_half, sycl::cl_int, sycl::cl_long, sycl::cl_short;
using sycl::cl_bool, sycl::cl_uchar, sycl::cl_uint, sycl::cl_ulong, sycl::cl_ushort;
}  // namespace opencl

namespace ONEAPI = ext::oneapi;
namespace INTEL = ext::intel;

}  // namespace sycl

// The types of OpenCL's own headers, which SYCL's bring along.
typedef signed char cl_char;
typedef unsigned char cl_uchar;
typedef short cl_short;
typedef unsigned short cl_ushort;
typedef int cl_int;
typedef unsigned cl_uint;
typedef long cl_long;
typedef unsigned long cl_ulong;
typedef float cl_float;
typedef double cl_double;
typedef unsigned cl_bool;
#define XEEMU_VECTORS(name) \
  typedef sycl::vec<name, 2> name##2; typedef sycl::vec<name, 3> name##3; typedef sycl::vec<name, 4> name##4; \
  typedef sycl::vec<name, 8> name##8; typedef sycl::vec<name, 16> name##16;
XEEMU_VECTORS(cl_char)
XEEMU_VECTORS(cl_uchar)
XEEMU_VECTORS(cl_short)
XEEMU_VECTORS(cl_ushort)
XEEMU_VECTORS(cl_int)
XEEMU_VECTORS(cl_uint)
XEEMU_VECTORS(cl_long)
XEEMU_VECTORS(cl_ulong)
XEEMU_VECTORS(cl_float)
XEEMU_VECTORS(cl_double)
#undef XEEMU_VECTORS

#endif

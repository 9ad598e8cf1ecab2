// The header of SYCL 1.2.1, whose namespace is cl::sycl.
#ifndef XEEMU_CL_SYCL_HPP
#define XEEMU_CL_SYCL_HPP
#include <sycl/sycl.hpp>
namespace cl {
namespace sycl = ::sycl;
}
#endif

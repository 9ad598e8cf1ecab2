// Stands in for SimSYCL, whose tests are SYCL but for its own settings.
#pragma once
#include <sycl/sycl.hpp>
namespace simsycl {
namespace sycl = ::sycl;
}

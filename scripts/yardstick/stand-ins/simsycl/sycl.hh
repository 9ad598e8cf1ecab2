// Stands in for SimSYCL, whose tests are SYCL but for its own settings.
#pragma once
#include <sycl/sycl.hpp>

#define SIMSYCL_START_IGNORING_DEPRECATIONS
#define SIMSYCL_STOP_IGNORING_DEPRECATIONS

namespace simsycl {
namespace sycl = ::sycl;
}

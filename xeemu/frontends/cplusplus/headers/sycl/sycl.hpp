// SYCL 2020, and what programs still use of SYCL 1.2.1, over xeemu's intrinsics.
#ifndef XEEMU_SYCL_HPP
#define XEEMU_SYCL_HPP

#define SYCL_LANGUAGE_VERSION 202001
#define CL_SYCL_LANGUAGE_VERSION 202001
#define SYCL_EXTERNAL
#define SYCL_XEEMU 1

#include <algorithm>
#include <array>
#include <cassert>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <sstream>
#include <string>
#include <sycl/detail/accessors.hpp>
#include <sycl/detail/algorithms.hpp>
#include <sycl/detail/atomics.hpp>
#include <sycl/detail/bfloat16.hpp>
#include <sycl/detail/buffers.hpp>
#include <sycl/detail/coordinates.hpp>
#include <sycl/detail/devices.hpp>
#include <sycl/detail/exceptions.hpp>
#include <sycl/detail/extensions.hpp>
#include <sycl/detail/groups.hpp>
#include <sycl/detail/items.hpp>
#include <sycl/detail/legacy.hpp>
#include <sycl/detail/mathematics.hpp>
#include <sycl/detail/memory_model.hpp>
#include <sycl/detail/operations.hpp>
#include <sycl/detail/pointers.hpp>
#include <sycl/detail/properties.hpp>
#include <sycl/detail/queues.hpp>
#include <sycl/detail/reductions.hpp>
#include <sycl/detail/specializations.hpp>
#include <sycl/detail/streams.hpp>
#include <sycl/detail/usm.hpp>
#include <sycl/detail/vectors.hpp>
#include <thread>
#include <sycl/ext/oneapi/experimental/graph.hpp>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#endif

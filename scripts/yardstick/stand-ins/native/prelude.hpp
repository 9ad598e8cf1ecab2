// What programs written for DPC++ take for granted and SimSYCL does not give: the standard headers that its
// sycl/sycl.hpp includes, output streams in kernels, and old names of what became part of SYCL 2020.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <chrono>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <CL/sycl.hpp>
#include <sycl/sycl.hpp>

#define SYCL_EXTERNAL

namespace simsycl::sycl {

template <class T> const stream &operator<<(const stream &out, const T &value)
{
    if constexpr (std::is_same_v<T, stream_manipulator>) {
        if (value == stream_manipulator::endl)
            std::cout << '\n';
    } else if constexpr (requires { std::cout << value; }) {
        std::cout << value;
    } else if constexpr (requires { value[0]; value.size(); }) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(value.size()); ++k)
            std::cout << (k ? ", " : "") << value[k];
    }
    return out;
}

namespace ext::oneapi {
template <class T = void> using plus = sycl::plus<T>;
template <class T = void> using multiplies = sycl::multiplies<T>;
template <class T = void> using minimum = sycl::minimum<T>;
template <class T = void> using maximum = sycl::maximum<T>;
template <class T = void> using bit_and = sycl::bit_and<T>;
template <class T = void> using bit_or = sycl::bit_or<T>;
template <class T = void> using bit_xor = sycl::bit_xor<T>;
using sycl::memory_order;
using sycl::memory_scope;
using sycl::sub_group;

template <class T, memory_order Order, memory_scope Scope, access::address_space Space>
using atomic_ref = sycl::atomic_ref<T, Order, Scope, Space>;

namespace experimental {
template <class... Args> int printf(const char *format, Args... args) { return std::printf(format, args...); }
}  // namespace experimental
}  // namespace ext::oneapi

}  // namespace simsycl::sycl

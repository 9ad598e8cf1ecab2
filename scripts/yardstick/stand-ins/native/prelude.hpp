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

// Random numbers of C are those that xeemu's host draws, so that both begin with the same contents.
namespace xeemu {
inline unsigned long long random_state = 1;
inline unsigned drawn() { return (random_state = random_state * 6364136223846793005u + 1442695040888963407u) >> 32; }
// What goes to stdout and stderr keeps its order, line by line.
inline const int in_lines = std::setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
}  // namespace xeemu
extern "C" {
void srand(unsigned seed) noexcept { xeemu::random_state = seed * 2862933555777941757u + 3037000493u; }
void srandom(unsigned seed) noexcept { srand(seed); }
void srand48(long seed) noexcept { srand(static_cast<unsigned>(seed)); }
int rand() noexcept { return static_cast<int>(xeemu::drawn() >> 1); }
long random() noexcept { return static_cast<long>(xeemu::drawn() >> 1); }
double drand48() noexcept { return xeemu::drawn() / 4294967296.0; }
}

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

// Of a container that must not be changed.
template <class C>
    requires requires(const C &container) { std::data(container); std::size(container); }
buffer(const C &) -> buffer<const typename C::value_type, 1>;

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

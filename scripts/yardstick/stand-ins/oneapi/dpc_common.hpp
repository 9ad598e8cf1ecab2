// Stands in for what the samples share: a stop watch, and what is done with errors that occur later.
#pragma once
#include <sycl/sycl.hpp>

#include <chrono>

namespace dpc_common {

class TimeInterval {
public:
    double Elapsed() const
    {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }

private:
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

inline auto exception_handler = [](sycl::exception_list) {};

}  // namespace dpc_common

// Stands in for SimSYCL's settings of the system that it simulates, which tests change and xeemu does not have.
#pragma once
#include <simsycl/sycl.hh>

#include <map>
#include <string>

namespace simsycl {

struct device_config {
    unsigned max_compute_units = 1;
    std::vector<size_t> sub_group_sizes;
};
struct system_config {
    std::map<std::string, device_config> devices{{"GPU", {}}};
};
inline system_config builtin_system;
inline void configure_system(const system_config &) {}

}  // namespace simsycl

// What oneAPI's samples share.
#ifndef XEEMU_DPC_COMMON_HPP
#define XEEMU_DPC_COMMON_HPP
#include <sycl/sycl.hpp>
namespace dpc_common {
inline void exception_handler(sycl::exception_list) {}
class TimeInterval {
  double start;

 public:
  TimeInterval() : start(__xeemu::now()) {}
  double Elapsed() const { return __xeemu::now() - start; }
};
}  // namespace dpc_common
#endif

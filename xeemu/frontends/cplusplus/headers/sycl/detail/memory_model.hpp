// Memory model: orders, scopes, address spaces, access modes and targets.
#ifndef XEEMU_SYCL_MEMORY_MODEL_HPP
#define XEEMU_SYCL_MEMORY_MODEL_HPP

#include <xeemu/intrinsics.hpp>

namespace sycl {

// Numbered as the intrinsics number them.
enum class memory_order : int {
  relaxed = 0,
  acquire = 2,
  __consume_unsupported = 1,
  release = 3,
  acq_rel = 4,
  seq_cst = 5
};
inline constexpr memory_order memory_order_relaxed = memory_order::relaxed;
inline constexpr memory_order memory_order_acquire = memory_order::acquire;
inline constexpr memory_order memory_order_release = memory_order::release;
inline constexpr memory_order memory_order_acq_rel = memory_order::acq_rel;
inline constexpr memory_order memory_order_seq_cst = memory_order::seq_cst;
enum class memory_scope : int { work_item = 0, work_group = 1, device = 2, system = 3, sub_group = 4 };
inline constexpr memory_scope memory_scope_work_item = memory_scope::work_item;
inline constexpr memory_scope memory_scope_sub_group = memory_scope::sub_group;
inline constexpr memory_scope memory_scope_work_group = memory_scope::work_group;
inline constexpr memory_scope memory_scope_device = memory_scope::device;
inline constexpr memory_scope memory_scope_system = memory_scope::system;

enum class target {
  device = 0,
  host_task = 1,
  global_buffer = 0,
  constant_buffer = 2,
  local = 3,
  host_buffer = 4,
  image = 5,
  host_image = 6,
  image_array = 7
};
enum class access_mode { read = 0, write = 1, read_write = 2, discard_write = 3, discard_read_write = 4, atomic = 5 };

namespace access {
using sycl::target;
using mode = sycl::access_mode;
enum class fence_space : int { local_space = 1, global_space = 2, global_and_local = 3 };
enum class address_space : int {
  private_space = 0,
  global_space = 1,
  constant_space = 2,
  local_space = 3,
  generic_space = 4,
  ext_intel_global_device_space = 5,
  ext_intel_global_host_space = 6,
  global_device_space = 5,
  global_host_space = 6
};
enum class placeholder { false_t, true_t };
enum class decorated : int { no, yes, legacy };
}  // namespace access

template <access_mode m> struct mode_tag_t {
  explicit mode_tag_t() = default;
};
template <access_mode m, target t> struct mode_target_tag_t {
  explicit mode_target_tag_t() = default;
};
inline constexpr mode_tag_t<access_mode::read> read_only{};
inline constexpr mode_tag_t<access_mode::read_write> read_write{};
inline constexpr mode_tag_t<access_mode::write> write_only{};
inline constexpr mode_target_tag_t<access_mode::read, target::constant_buffer> read_constant{};
inline constexpr mode_target_tag_t<access_mode::read, target::host_task> read_only_host_task{};
inline constexpr mode_target_tag_t<access_mode::read_write, target::host_task> read_write_host_task{};
inline constexpr mode_target_tag_t<access_mode::write, target::host_task> write_only_host_task{};

inline void atomic_fence(memory_order order, memory_scope scope) {
  __xeemu::atomic_work_item_fence(3, (int)order, (int)scope);
}

}  // namespace sycl

#endif

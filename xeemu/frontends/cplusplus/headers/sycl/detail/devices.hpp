// Devices: the one that is modelled, its platform and context, and what is asked of them.
#ifndef XEEMU_SYCL_DEVICES_HPP
#define XEEMU_SYCL_DEVICES_HPP

#include <functional>
#include <ostream>
#include <string>
#include <sycl/detail/coordinates.hpp>
#include <sycl/detail/exceptions.hpp>
#include <sycl/detail/memory_model.hpp>
#include <sycl/detail/properties.hpp>
#include <vector>

namespace sycl {

enum class backend : int {
  host,
  opencl,
  ext_oneapi_level_zero,
  ext_oneapi_cuda,
  ext_oneapi_hip,
  all,
  level_zero = ext_oneapi_level_zero,
  cuda = ext_oneapi_cuda,
  hip = ext_oneapi_hip
};
inline std::ostream &operator<<(std::ostream &o, backend b) {
  return o << (b == backend::opencl                  ? "opencl"
               : b == backend::ext_oneapi_level_zero ? "ext_oneapi_level_zero"
                                                     : "other");
}
enum class aspect : int {
  cpu,
  gpu,
  accelerator,
  custom,
  emulated,
  host_debuggable,
  fp16,
  fp64,
  atomic64,
  image,
  online_compiler,
  online_linker,
  queue_profiling,
  usm_device_allocations,
  usm_host_allocations,
  usm_atomic_host_allocations,
  usm_shared_allocations,
  usm_atomic_shared_allocations,
  usm_system_allocations,
  ext_intel_pci_address,
  ext_intel_gpu_eu_count,
  ext_oneapi_srgb,
  ext_intel_gpu_eu_simd_width,
  ext_intel_gpu_slices,
  ext_intel_gpu_subslices_per_slice,
  ext_intel_gpu_eu_count_per_subslice,
  ext_intel_max_mem_bandwidth,
  ext_intel_device_id,
  ext_intel_memory_clock_rate,
  ext_intel_memory_bus_width,
  ext_intel_free_memory,
  ext_intel_device_info_uuid,
  ext_intel_gpu_hw_threads_per_eu,
  ext_oneapi_native_assert,
  host,
  ext_oneapi_bfloat16_math_functions,
  ext_oneapi_graph,
  ext_oneapi_limited_graph,
  ext_intel_legacy_image,
  ext_intel_matrix
};

// Which one the modelled device is, nobody says.
namespace ext::oneapi::experimental {
enum class architecture : int {
  unknown,
  x86_64,
  intel_cpu_spr,
  intel_gpu_bdw,
  intel_gpu_skl,
  intel_gpu_kbl,
  intel_gpu_cfl,
  intel_gpu_apl,
  intel_gpu_bxt,
  intel_gpu_glk,
  intel_gpu_whl,
  intel_gpu_aml,
  intel_gpu_cml,
  intel_gpu_icllp,
  intel_gpu_icl,
  intel_gpu_ehl,
  intel_gpu_jsl,
  intel_gpu_tgllp,
  intel_gpu_tgl,
  intel_gpu_rkl,
  intel_gpu_adl_s,
  intel_gpu_rpl_s,
  intel_gpu_adl_p,
  intel_gpu_adl_n,
  intel_gpu_dg1,
  intel_gpu_acm_g10,
  intel_gpu_dg2_g10,
  intel_gpu_acm_g11,
  intel_gpu_dg2_g11,
  intel_gpu_acm_g12,
  intel_gpu_dg2_g12,
  intel_gpu_pvc,
  intel_gpu_pvc_vg,
  intel_gpu_mtl_u,
  intel_gpu_mtl_s,
  intel_gpu_arl_u,
  intel_gpu_arl_s,
  intel_gpu_mtl_h,
  intel_gpu_arl_h,
  intel_gpu_bmg_g21,
  intel_gpu_bmg_g31,
  intel_gpu_lnl_m,
  intel_gpu_ptl_h,
  intel_gpu_ptl_u,
  intel_gpu_wcl,
  nvidia_gpu_sm_70,
  nvidia_gpu_sm_80,
  nvidia_gpu_sm_90,
  amd_gpu_gfx908,
  amd_gpu_gfx90a,
  intel_gpu_dg2
};
}  // namespace ext::oneapi::experimental

struct platform;
struct device;
namespace info {
enum class device_type : unsigned { cpu, gpu, accelerator, custom, automatic, host, all };
enum class local_mem_type : int { none, local, global };
enum class global_mem_cache_type : int { none, read_only, read_write };
enum class fp_config : unsigned {
  denorm,
  inf_nan,
  round_to_nearest,
  round_to_zero,
  round_to_inf,
  fma,
  correctly_rounded_divide_sqrt,
  soft_float
};
enum class execution_capability : unsigned { exec_kernel, exec_native_kernel };
enum class partition_property : unsigned {
  no_partition,
  partition_equally,
  partition_by_counts,
  partition_by_affinity_domain,
  ext_intel_partition_by_cslice
};
enum class partition_affinity_domain : unsigned {
  not_applicable,
  numa,
  L4_cache,
  L3_cache,
  L2_cache,
  L1_cache,
  next_partitionable
};
enum class event_command_status : int { submitted, running, complete };

// Each question has the type of its answer, and the number by which the intrinsics know it.
#define XEEMU_QUESTION(name, n, ...) \
  struct name {                      \
    typedef __VA_ARGS__ return_type; \
    static constexpr int number = n; \
  };
namespace device {
XEEMU_QUESTION(platform, 0, sycl::platform)
XEEMU_QUESTION(name, 0, std::string)
XEEMU_QUESTION(vendor, 1, std::string)
XEEMU_QUESTION(driver_version, 2, std::string)
XEEMU_QUESTION(version, 3, std::string)
XEEMU_QUESTION(profile, 4, std::string)
XEEMU_QUESTION(backend_version, 5, std::string)
XEEMU_QUESTION(opencl_c_version, 6, std::string)
XEEMU_QUESTION(max_compute_units, 10, unsigned)
XEEMU_QUESTION(max_work_group_size, 11, size_t)
XEEMU_QUESTION(local_mem_size, 12, unsigned long)
XEEMU_QUESTION(global_mem_size, 13, unsigned long)
XEEMU_QUESTION(max_mem_alloc_size, 14, unsigned long)
XEEMU_QUESTION(max_clock_frequency, 15, unsigned)
XEEMU_QUESTION(max_num_sub_groups, 16, unsigned)
XEEMU_QUESTION(global_mem_cache_size, 17, unsigned long)
XEEMU_QUESTION(global_mem_cache_line_size, 18, unsigned)
XEEMU_QUESTION(sub_group_size, 19, size_t)
XEEMU_QUESTION(vendor_id, 20, unsigned)
XEEMU_QUESTION(address_bits, 21, unsigned)
XEEMU_QUESTION(mem_base_addr_align, 22, unsigned)
XEEMU_QUESTION(max_work_item_dimensions, 23, unsigned)
XEEMU_QUESTION(max_constant_buffer_size, 24, unsigned long)
XEEMU_QUESTION(max_parameter_size, 25, size_t)
XEEMU_QUESTION(profiling_timer_resolution, 26, size_t)
XEEMU_QUESTION(preferred_vector_width_char, 27, unsigned)
XEEMU_QUESTION(preferred_vector_width_short, 27, unsigned)
XEEMU_QUESTION(preferred_vector_width_int, 27, unsigned)
XEEMU_QUESTION(preferred_vector_width_long, 27, unsigned)
XEEMU_QUESTION(preferred_vector_width_float, 27, unsigned)
XEEMU_QUESTION(preferred_vector_width_double, 27, unsigned)
XEEMU_QUESTION(preferred_vector_width_half, 27, unsigned)
XEEMU_QUESTION(native_vector_width_float, 27, unsigned)
XEEMU_QUESTION(native_vector_width_int, 27, unsigned)
XEEMU_QUESTION(native_vector_width_double, 27, unsigned)
XEEMU_QUESTION(native_vector_width_half, 27, unsigned)
XEEMU_QUESTION(native_vector_width_char, 27, unsigned)
XEEMU_QUESTION(native_vector_width_short, 27, unsigned)
XEEMU_QUESTION(native_vector_width_long, 27, unsigned)
XEEMU_QUESTION(max_constant_args, 28, unsigned)
XEEMU_QUESTION(partition_max_sub_devices, 29, unsigned)
XEEMU_QUESTION(device_type, 30, info::device_type)
XEEMU_QUESTION(local_mem_type, 31, info::local_mem_type)
XEEMU_QUESTION(global_mem_cache_type, 32, info::global_mem_cache_type)
XEEMU_QUESTION(image_support, 40, bool)
XEEMU_QUESTION(is_available, 41, bool)
XEEMU_QUESTION(is_compiler_available, 41, bool)
XEEMU_QUESTION(is_linker_available, 41, bool)
XEEMU_QUESTION(is_endian_little, 41, bool)
XEEMU_QUESTION(error_correction_support, 40, bool)
XEEMU_QUESTION(host_unified_memory, 40, bool)
XEEMU_QUESTION(queue_profiling, 41, bool)
XEEMU_QUESTION(sub_group_independent_forward_progress, 40, bool)
XEEMU_QUESTION(usm_device_allocations, 41, bool)
XEEMU_QUESTION(usm_host_allocations, 41, bool)
XEEMU_QUESTION(usm_shared_allocations, 41, bool)
XEEMU_QUESTION(usm_restricted_shared_allocations, 40, bool)
XEEMU_QUESTION(usm_system_allocations, 40, bool)
XEEMU_QUESTION(usm_system_allocator, 40, bool)
XEEMU_QUESTION(preferred_interop_user_sync, 41, bool)
XEEMU_QUESTION(sub_group_sizes, 50, std::vector<size_t>)
XEEMU_QUESTION(atomic_memory_order_capabilities, 51, std::vector<memory_order>)
XEEMU_QUESTION(atomic_memory_scope_capabilities, 52, std::vector<memory_scope>)
XEEMU_QUESTION(atomic_fence_order_capabilities, 51, std::vector<memory_order>)
XEEMU_QUESTION(atomic_fence_scope_capabilities, 52, std::vector<memory_scope>)
XEEMU_QUESTION(single_fp_config, 53, std::vector<fp_config>)
XEEMU_QUESTION(double_fp_config, 53, std::vector<fp_config>)
XEEMU_QUESTION(half_fp_config, 53, std::vector<fp_config>)
XEEMU_QUESTION(extensions, 54, std::vector<std::string>)
XEEMU_QUESTION(built_in_kernels, 54, std::vector<std::string>)
XEEMU_QUESTION(aspects, 55, std::vector<sycl::aspect>)
XEEMU_QUESTION(execution_capabilities, 56, std::vector<execution_capability>)
XEEMU_QUESTION(partition_properties, 57, std::vector<partition_property>)
XEEMU_QUESTION(num_compute_units, 10, unsigned)
XEEMU_QUESTION(architecture, 99, ext::oneapi::experimental::architecture)
XEEMU_QUESTION(max_global_work_groups, 98, size_t)
template <int D> struct max_work_groups {
  typedef id<D> return_type;
  static constexpr int number = 98;
};
XEEMU_QUESTION(partition_affinity_domains, 57, std::vector<partition_affinity_domain>)
template <int D = 3> struct max_work_item_sizes {
  typedef range<D> return_type;
  static constexpr int number = 60;
};
}  // namespace device
namespace platform {
XEEMU_QUESTION(name, 70, std::string)
XEEMU_QUESTION(vendor, 1, std::string)
XEEMU_QUESTION(version, 3, std::string)
XEEMU_QUESTION(profile, 4, std::string)
XEEMU_QUESTION(extensions, 54, std::vector<std::string>)
}  // namespace platform
namespace context {
XEEMU_QUESTION(platform, 0, sycl::platform)
XEEMU_QUESTION(devices, 0, std::vector<sycl::device>)
XEEMU_QUESTION(atomic_memory_order_capabilities, 51, std::vector<memory_order>)
}
namespace queue {
XEEMU_QUESTION(reference_count, 80, unsigned)
}
namespace kernel {
XEEMU_QUESTION(num_args, -1, unsigned)
XEEMU_QUESTION(function_name, -1, std::string)
XEEMU_QUESTION(attributes, -1, std::string)
XEEMU_QUESTION(reference_count, 80, unsigned)
}  // namespace kernel
namespace kernel_device_specific {
XEEMU_QUESTION(work_group_size, 11, size_t)
XEEMU_QUESTION(preferred_work_group_size_multiple, 19, size_t)
XEEMU_QUESTION(private_mem_size, -1, size_t)
XEEMU_QUESTION(max_sub_group_size, 19, unsigned)
XEEMU_QUESTION(max_num_sub_groups, 16, unsigned)
XEEMU_QUESTION(compile_num_sub_groups, 81, unsigned)
XEEMU_QUESTION(compile_sub_group_size, -1, unsigned)
}  // namespace kernel_device_specific
namespace kernel_work_group = kernel_device_specific;
namespace kernel_sub_group = kernel_device_specific;
namespace event {
XEEMU_QUESTION(command_execution_status, 3, event_command_status)
XEEMU_QUESTION(reference_count, 80, unsigned)
}  // namespace event
namespace event_profiling {
XEEMU_QUESTION(command_submit, 0, unsigned long)
XEEMU_QUESTION(command_start, 1, unsigned long)
XEEMU_QUESTION(command_end, 2, unsigned long)
}  // namespace event_profiling
}  // namespace info
namespace ext::oneapi {
namespace info = sycl::info;
namespace experimental {
namespace info = sycl::info;
}
}  // namespace ext::oneapi
namespace ext::intel::info::device {
XEEMU_QUESTION(gpu_eu_count, 10, unsigned)
XEEMU_QUESTION(gpu_eu_simd_width, 90, unsigned)
XEEMU_QUESTION(gpu_slices, 91, unsigned)
XEEMU_QUESTION(gpu_subslices_per_slice, 92, unsigned)
XEEMU_QUESTION(gpu_eu_count_per_subslice, 93, unsigned)
XEEMU_QUESTION(gpu_hw_threads_per_eu, 94, unsigned)
XEEMU_QUESTION(max_mem_bandwidth, 95, unsigned long)
XEEMU_QUESTION(free_memory, 13, unsigned long)
XEEMU_QUESTION(memory_clock_rate, 96, unsigned)
XEEMU_QUESTION(memory_bus_width, 97, unsigned)
XEEMU_QUESTION(device_id, 20, unsigned)
XEEMU_QUESTION(pci_address, 2, std::string)
}  // namespace ext::intel::info::device
#undef XEEMU_QUESTION

namespace detail {
template <class Q> inline typename Q::return_type answer() {
  typedef typename Q::return_type R;
  if constexpr (Q::number < 0) {
    __xeemu::unsupported(
        "what is asked of a kernel's object: its name, arguments, attributes, private memory or required sub-group size; "
        "write what is known of it in the program");
    return R();
  } else if constexpr (std::is_same_v<R, platform>) return R();
  else if constexpr (std::is_same_v<R, std::string>) return R(__xeemu::device_text(Q::number));
  else if constexpr (std::is_same_v<R, std::vector<size_t>>) {
    R all;
    unsigned long sizes = __xeemu::device_info(100);  // a bit for each, for they are powers of two
    for (size_t n = 1; n <= 128; n *= 2)
      if (sizes & n) all.push_back(n);
    return all;
  } else if constexpr (std::is_same_v<R, std::vector<device>>) return R(1);
  else if constexpr (requires { typename R::value_type; }) return R();
  else if constexpr (requires { R::dimensions; }) {
    size_t most = __xeemu::device_info(11);
    if constexpr (R::dimensions == 1) return R(most);
    else if constexpr (R::dimensions == 2) return R(most, most);
    else return R(most, most, most);
  } else return (R)__xeemu::device_info(Q::number);
}
}  // namespace detail

struct device_selector;
namespace detail {
// What rates devices: a function object, also one whose call operator is not const, or is its base class's alone.
template <class S>
concept rates_devices = std::is_invocable_v<const S &, const device &> || std::is_invocable_v<S &, const device &> ||
                        std::is_base_of_v<device_selector, S>;
}  // namespace detail

struct device {
  int number;
  device() : number(0) {}
  template <class S>
    requires detail::rates_devices<S>
  explicit device(const S &) : number(0) {}
  bool is_cpu() const { return false; }
  bool is_gpu() const { return true; }
  bool is_accelerator() const { return false; }
  bool is_host() const { return false; }
  bool has(aspect a) const { return detail_has(a); }
  // By the names of OpenCL what an aspect says too.
  bool has_extension(const std::string &name) const {
    return name == "cl_khr_fp16" || name == "cl_khr_fp64" || name == "cl_khr_int64_base_atomics" ||
           name == "cl_khr_int64_extended_atomics" || name == "cl_intel_subgroups" || name == "cl_khr_subgroups";
  }
  template <class A> bool ext_oneapi_architecture_is(A) const { return false; }
  template <class D> bool ext_oneapi_can_access_peer(const D &, int = 0) const { return false; }
  template <class D> void ext_oneapi_enable_peer_access(const D &) const {}
  static bool detail_has(aspect a) {
    return a != aspect::cpu && a != aspect::accelerator && a != aspect::custom && a != aspect::host;
  }
  template <class Q> typename Q::return_type get_info() const { return detail::answer<Q>(); }
  template <class Q> typename Q::return_type get_backend_info() const { return detail::answer<Q>(); }
  platform get_platform() const;
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  static std::vector<device> get_devices(info::device_type = info::device_type::all) { return std::vector<device>(1); }
  template <info::partition_property p, class... X> std::vector<device> create_sub_devices(X...) const {
    return std::vector<device>(1, *this);
  }
  friend bool operator==(const device &, const device &) { return true; }
  friend bool operator<(const device &, const device &) { return false; }
};

struct platform {
  platform() {}
  template <class S>
    requires detail::rates_devices<S>
  explicit platform(const S &) {}
  template <class Q> typename Q::return_type get_info() const { return detail::answer<Q>(); }
  std::vector<device> get_devices(info::device_type = info::device_type::all) const { return std::vector<device>(1); }
  static std::vector<platform> get_platforms() { return std::vector<platform>(1); }
  bool has(aspect a) const { return device::detail_has(a); }
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  bool is_host() const { return false; }
  friend bool operator==(const platform &, const platform &) { return true; }
};
inline platform device::get_platform() const { return platform(); }

typedef std::function<void(exception_list)> async_handler;

struct context {
  unsigned number;  // 0 of the platform's default one
  context(const property_list & = {}) : number(__xeemu::new_context()) {}
  context(const device &, const property_list & = {}) : number(__xeemu::new_context()) {}
  context(const device &, async_handler, const property_list & = {}) : number(__xeemu::new_context()) {}
  context(const platform &, const property_list & = {}) : number(__xeemu::new_context()) {}
  context(const std::vector<device> &, const property_list & = {}) : number(__xeemu::new_context()) {}
  context(const std::vector<device> &, async_handler, const property_list & = {}) : number(__xeemu::new_context()) {}
  context(async_handler, const property_list & = {}) : number(__xeemu::new_context()) {}
  context(decltype(nullptr), unsigned n) : number(n) {}
  template <class Q> typename Q::return_type get_info() const { return detail::answer<Q>(); }
  bool is_host() const { return false; }
  device get_device() const { return device(); }
  platform get_platform() const { return platform(); }
  std::vector<device> get_devices() const { return std::vector<device>(1); }
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  friend bool operator==(const context &a, const context &b) { return a.number == b.number; }
};

// Selectors: whatever is chosen is the device that is modelled.
namespace detail {
template <int which> struct selector {
  int operator()(const device &) const { return 1; }
};
}  // namespace detail
struct device_selector {
  virtual int operator()(const device &) const { return 1; }
  device select_device() const { return device(); }
};
struct default_selector : device_selector {};
struct gpu_selector : device_selector {};
struct cpu_selector : device_selector {};
struct accelerator_selector : device_selector {};
struct host_selector : device_selector {};
inline constexpr detail::selector<0> default_selector_v{};
inline constexpr detail::selector<1> gpu_selector_v{};
inline constexpr detail::selector<2> cpu_selector_v{};
inline constexpr detail::selector<3> accelerator_selector_v{};
inline detail::selector<4> aspect_selector(const std::vector<aspect> &, const std::vector<aspect> & = {}) { return {}; }
template <class... A>
  requires(std::is_same_v<A, aspect> && ...)
inline detail::selector<4> aspect_selector(A...) {
  return {};
}
template <aspect... a> inline detail::selector<4> aspect_selector() { return {}; }
namespace ext::intel {
struct fpga_selector : device_selector {};
struct fpga_emulator_selector : device_selector {};
inline constexpr detail::selector<5> fpga_selector_v{};
inline constexpr detail::selector<5> fpga_emulator_selector_v{};
inline constexpr detail::selector<5> fpga_simulator_selector_v{};
}  // namespace ext::intel
namespace ext::oneapi {
struct filter_selector : device_selector {
  explicit filter_selector(const std::string &) {}
  void reset() const {}
};
}
template <class T, aspect a> struct any_device_has : std::true_type {};
template <aspect a> inline constexpr bool any_device_has_v = true;
template <aspect a> inline constexpr bool all_devices_have_v = true;

}  // namespace sycl

#endif

// Specializations: constants of a kernel that have their default values, and kernel bundles as far as a program names
// them.
#ifndef XEEMU_SYCL_SPECIALIZATIONS_HPP
#define XEEMU_SYCL_SPECIALIZATIONS_HPP

#include <sycl/detail/devices.hpp>

namespace sycl {

template <class T> struct specialization_id {
  typedef T value_type;
  T value;
  template <class... X> explicit constexpr specialization_id(X... x) : value(x...) {}
};

struct kernel_handler {
  template <auto &name> auto get_specialization_constant() const { return name.value; }
};

struct interop_handle {
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
};

namespace ext::oneapi::experimental {
template <class T, class Name = T> struct spec_constant {
  T value;
  T get() const { return value; }
  operator T() const { return value; }
};
}  // namespace ext::oneapi::experimental

enum class bundle_state : int { input, object, executable };
struct kernel_id {
  const char *get_name() const { return ""; }
};
struct kernel {
  template <class Q> typename Q::return_type get_info() const { return detail::answer<Q>(); }
  template <class Q, class... X> typename Q::return_type get_info(const device &, X...) const {
    return detail::answer<Q>();
  }
  template <class Q, class... X> typename Q::return_type get_work_group_info(const device &, X...) const {
    return detail::answer<Q>();
  }
  template <class Q, class... X> typename Q::return_type get_sub_group_info(const device &, X...) const {
    return detail::answer<Q>();
  }
  context get_context() const { return context(); }
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  bool is_host() const { return false; }
  static void refuse() {
    __xeemu::unsupported("a launch of a kernel's object alone; give parallel_for the kernel's function too");
  }
};
template <bundle_state s> struct kernel_bundle {
  kernel get_kernel(kernel_id) const { return kernel(); }
  template <class Name> kernel get_kernel() const { return kernel(); }
  bool has_kernel(kernel_id) const { return true; }
  std::vector<kernel_id> get_kernel_ids() const { return std::vector<kernel_id>(); }
};
template <class Name> inline kernel_id get_kernel_id() { return kernel_id(); }
template <bundle_state s, class... X> inline kernel_bundle<s> get_kernel_bundle(X...) { return kernel_bundle<s>(); }
template <bundle_state s> inline kernel_bundle<s> get_kernel_bundle(const context &, const std::vector<kernel_id> &) {
  return kernel_bundle<s>();
}
template <bundle_state s>
inline kernel_bundle<s> get_kernel_bundle(const context &, const std::vector<device> &, const std::vector<kernel_id> &) {
  return kernel_bundle<s>();
}
template <class Name, bundle_state s, class... X> inline kernel_bundle<s> get_kernel_bundle(X...) {
  return kernel_bundle<s>();
}

// The programs of SYCL 1.2.1: kernels of the same file, which are compiled as it is read.
enum class program_state : int { none, compiled, linked };
struct program {
  program_state state = program_state::none;
  program() {}
  template <class... X> explicit program(const context &, const X &...) {}
  template <class... X>
  explicit program(const context &, const std::vector<device> &, const X &...) {}
  template <class... X> explicit program(const std::vector<program> &, const X &...) : state(program_state::linked) {}
  static void refuse() {
    __xeemu::unsupported("a program's kernels of OpenCL C, given as text; write the text to a file and load that");
  }
  template <class Name> void build_with_kernel_type(const std::string & = "") { state = program_state::linked; }
  template <class Name> void compile_with_kernel_type(const std::string & = "") { state = program_state::compiled; }
  void build_with_source(const std::string &, const std::string & = "") { refuse(); }
  void compile_with_source(const std::string &, const std::string & = "") { refuse(); }
  void link(const std::string & = "") { state = program_state::linked; }
  template <class Name> kernel get_kernel() const { return kernel(); }
  template <class Name> bool has_kernel() const { return true; }
  kernel get_kernel(const std::string &) const {
    refuse();
    return kernel();
  }
  bool has_kernel(const std::string &) const { return false; }
  program_state get_state() const { return state; }
  context get_context() const { return context(); }
  std::vector<device> get_devices() const { return std::vector<device>(1); }
  bool is_host() const { return false; }
};

}  // namespace sycl

#endif

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
  context get_context() const { return context(); }
};
template <bundle_state s> struct kernel_bundle {
  kernel get_kernel(kernel_id) const { return kernel(); }
  template <class Name> kernel get_kernel() const { return kernel(); }
  bool has_kernel(kernel_id) const { return true; }
  std::vector<kernel_id> get_kernel_ids() const { return std::vector<kernel_id>(); }
};
template <class Name> inline kernel_id get_kernel_id() { return kernel_id(); }
template <bundle_state s, class... X> inline kernel_bundle<s> get_kernel_bundle(X...) { return kernel_bundle<s>(); }
template <class Name, bundle_state s, class... X> inline kernel_bundle<s> get_kernel_bundle(X...) {
  return kernel_bundle<s>();
}

}  // namespace sycl

#endif

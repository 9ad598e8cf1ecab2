// Exceptions.
#ifndef XEEMU_SYCL_EXCEPTIONS_HPP
#define XEEMU_SYCL_EXCEPTIONS_HPP

#include <string>
#include <system_error>
#include <vector>

namespace sycl {

enum class errc : int {
  success = 0,
  runtime,
  kernel,
  accessor,
  nd_range,
  event,
  kernel_argument,
  build,
  invalid,
  memory_allocation,
  platform,
  profiling,
  feature_not_supported,
  kernel_not_supported,
  backend_mismatch
};
struct context;
inline const std::error_category &sycl_category() noexcept { return std::generic_category(); }
inline std::error_code make_error_code(errc e) noexcept { return std::error_code((int)e, sycl_category()); }
inline std::error_condition make_error_condition(errc e) noexcept {
  return std::error_condition((int)e, sycl_category());
}

struct exception : std::exception {
  std::error_code number;
  std::string text;
  exception() {}
  exception(std::error_code c, const std::string &t = "") : number(c), text(t) {}
  exception(errc c, const std::string &t = "") : number(make_error_code(c)), text(t) {}
  exception(const char *t) : text(t) {}
  exception(int c, const std::error_category &, const std::string &t = "") : text(t) {}
  const std::error_code &code() const noexcept { return number; }
  const std::error_category &category() const noexcept { return sycl_category(); }
  const char *what() const noexcept override { return text.c_str(); }
  bool has_context() const noexcept { return false; }
  context get_context() const;
  int get_cl_code() const { return 0; }
};
struct runtime_error : exception {
  using exception::exception;
};
struct device_error : exception {
  using exception::exception;
};
struct invalid_parameter_error : runtime_error {
  using runtime_error::runtime_error;
};
struct invalid_object_error : device_error {
  using device_error::device_error;
};
struct nd_range_error : runtime_error {
  using runtime_error::runtime_error;
};
struct kernel_error : runtime_error {
  using runtime_error::runtime_error;
};
struct accessor_error : runtime_error {
  using runtime_error::runtime_error;
};
struct memory_allocation_error : device_error {
  using device_error::device_error;
};
struct feature_not_supported : device_error {
  using device_error::device_error;
};
struct compile_program_error : device_error {
  using device_error::device_error;
};
struct platform_error : device_error {
  using device_error::device_error;
};
struct profiling_error : device_error {
  using device_error::device_error;
};

typedef std::exception_ptr exception_ptr;
struct exception_list : std::vector<std::exception_ptr> {};

}  // namespace sycl

namespace std {
template <> struct is_error_code_enum<sycl::errc> : true_type {};
template <> struct is_error_condition_enum<sycl::errc> : true_type {};
}  // namespace std

namespace __xeemu {
// What breaks a rule of SYCL, as programs catch it.
[[noreturn]] inline void raise(int code, const char *text) { throw sycl::exception((sycl::errc)code, text); }
}  // namespace __xeemu

#endif

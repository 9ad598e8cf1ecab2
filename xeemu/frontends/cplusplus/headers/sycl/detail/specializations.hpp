// Specializations: constants of a kernel that a launch may set, and kernel bundles as far as a program names them.
#ifndef XEEMU_SYCL_SPECIALIZATIONS_HPP
#define XEEMU_SYCL_SPECIALIZATIONS_HPP

#include <sycl/detail/devices.hpp>

namespace sycl {

template <class T> struct specialization_id {
  typedef T value_type;
  T value;
  template <class... X> explicit constexpr specialization_id(X... x) : value(x...) {}
};

}  // namespace sycl

namespace __xeemu {
// What a specialization constant is at present; a launch takes it as an argument.
template <class T> struct specialized {
  T value;
};
template <auto &name> auto &current() {
  static specialized<typename std::remove_cvref_t<decltype(name)>::value_type> held{name.value};
  return held.value;
}
// A constant that was set, as bytes.
struct setting {
  void *at;
  void *given;
  const void *otherwise;
  size_t bytes;
  setting *before;
};
template <auto &name, class T> setting *set_constant(const T &x, setting *before) {
  typedef typename std::remove_cvref_t<decltype(name)>::value_type value_type;
  setting *made = new setting;
  made->at = &current<name>();
  made->given = new value_type(x);
  made->otherwise = &name.value;
  made->bytes = sizeof(value_type);
  made->before = before;
  return made;
}
template <class T> const T *find_constant(const T *at, const setting *from) {
  for (; from != nullptr; from = from->before)
    if (from->at == at) return (const T *)from->given;
  return nullptr;
}
}  // namespace __xeemu

namespace sycl {

struct kernel_handler {
  template <auto &name> auto get_specialization_constant() const { return __xeemu::current<name>(); }
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
  __xeemu::setting *constants = nullptr;
  template <auto &name> void set_specialization_constant(
      typename std::remove_cvref_t<decltype(name)>::value_type x) {
    for (__xeemu::setting *one = constants; one != nullptr; one = one->before)
      if (one->at == &__xeemu::current<name>()) {
        __xeemu::copy_bytes(one->given, &x, one->bytes);
        return;
      }
    constants = __xeemu::set_constant<name>(x, constants);
  }
  template <auto &name> auto get_specialization_constant() const {
    const auto *found = __xeemu::find_constant(&__xeemu::current<name>(), constants);
    return found == nullptr ? name.value : *found;
  }
  bool contains_specialization_constants() const { return true; }
  bool native_specialization_constant() const { return true; }
  bool empty() const { return false; }
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  context get_context() const { return context(); }
  std::vector<device> get_devices() const { return std::vector<device>(1); }
  kernel get_kernel(kernel_id) const { return kernel(); }
  template <class Name> kernel get_kernel() const { return kernel(); }
  bool has_kernel(kernel_id) const { return true; }
  std::vector<kernel_id> get_kernel_ids() const { return std::vector<kernel_id>(); }
};
template <class Name> inline kernel_id get_kernel_id() { return kernel_id(); }
template <bundle_state s, class... X> inline kernel_bundle<s> get_kernel_bundle(const context &, const X &...) {
  return kernel_bundle<s>();
}
template <bundle_state s> inline kernel_bundle<s> get_kernel_bundle(const context &, const std::vector<kernel_id> &) {
  return kernel_bundle<s>();
}
template <bundle_state s>
inline kernel_bundle<s> get_kernel_bundle(const context &, const std::vector<device> &,
                                          const std::vector<kernel_id> &) {
  return kernel_bundle<s>();
}
template <class Name, bundle_state s, class... X> inline kernel_bundle<s> get_kernel_bundle(const X &...) {
  return kernel_bundle<s>();
}
template <bundle_state s, class... X> inline bool has_kernel_bundle(const X &...) { return true; }
template <class Name, bundle_state s, class... X> inline bool has_kernel_bundle(const X &...) { return true; }
#define XEEMU_MADE(name, from, to)                                                                           \
  template <class... X>                                                                                      \
  inline kernel_bundle<bundle_state::to> name(const kernel_bundle<bundle_state::from> &b, const X &...) {    \
    return kernel_bundle<bundle_state::to>{b.constants};                                                     \
  }
XEEMU_MADE(compile, input, object)
XEEMU_MADE(link, object, executable)
XEEMU_MADE(build, input, executable)
#undef XEEMU_MADE

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

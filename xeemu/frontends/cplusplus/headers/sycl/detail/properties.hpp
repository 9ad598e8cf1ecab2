// Properties: of queues, buffers, accessors and reductions. Only a queue's order and a reduction's beginning mean anything.
#ifndef XEEMU_SYCL_PROPERTIES_HPP
#define XEEMU_SYCL_PROPERTIES_HPP

#include <type_traits>

namespace sycl {

namespace property {
struct no_init {};
struct noinit {};
namespace queue {
struct enable_profiling {};
struct in_order {};
}  // namespace queue
namespace buffer {
struct use_host_ptr {};
struct use_mutex {
  template <class M> use_mutex(M &) {}
};
struct context_bound {
  template <class C> context_bound(const C &) {}
};
}  // namespace buffer
namespace image {
struct use_host_ptr {};
}
namespace reduction {
struct initialize_to_identity {};
}
}  // namespace property
inline constexpr property::no_init no_init{};
inline constexpr property::noinit noinit{};

struct property_list {
  bool in_order, initialized;
  constexpr property_list() : in_order(false), initialized(false) {}
  template <class P, class... R>
    requires(std::is_class_v<P> && std::is_empty_v<P> && !std::is_same_v<P, property_list>)
  constexpr property_list(P, R...)
      : in_order(std::is_same_v<P, property::queue::in_order> || (std::is_same_v<R, property::queue::in_order> || ...)),
        initialized(std::is_same_v<P, property::reduction::initialize_to_identity> ||
                    (std::is_same_v<R, property::reduction::initialize_to_identity> || ...)) {}
};

namespace ext::oneapi {
namespace property::queue {
struct discard_events {};
struct priority_normal {};
struct priority_low {};
struct priority_high {};
}  // namespace property::queue
struct accessor_property_list_base {};
template <class... P> struct accessor_property_list {
  constexpr accessor_property_list(P...) {}
};
struct no_alias_t {};
inline constexpr no_alias_t no_alias{};
struct no_offset_t {};
inline constexpr no_offset_t no_offset{};
}  // namespace ext::oneapi
namespace ext::intel {
inline constexpr ext::oneapi::no_alias_t buffer_location{};
}

}  // namespace sycl

#endif

// Properties: of queues, buffers, accessors and reductions. Only a queue's order, a reduction's beginning and an
// accessor's no_init mean anything.
#ifndef XEEMU_SYCL_PROPERTIES_HPP
#define XEEMU_SYCL_PROPERTIES_HPP

#include <type_traits>

namespace sycl {

namespace detail {
struct property {};
template <class P> inline constexpr bool is_property = std::is_base_of_v<property, P>;
}  // namespace detail

namespace property {
struct no_init : detail::property {};
struct noinit : detail::property {};
namespace queue {
struct enable_profiling : detail::property {};
struct in_order : detail::property {};
}  // namespace queue
namespace buffer {
struct use_host_ptr : detail::property {};
struct use_mutex : detail::property {
  template <class M> use_mutex(M &) {}
};
struct context_bound : detail::property {
  template <class C> context_bound(const C &) {}
};
}  // namespace buffer
namespace image {
struct use_host_ptr : detail::property {};
}
namespace reduction {
struct initialize_to_identity : detail::property {};
}
}  // namespace property
inline constexpr property::no_init no_init{};
inline constexpr property::noinit noinit{};
namespace detail {
template <class P>
inline constexpr bool is_no_init =
    std::is_same_v<P, sycl::property::no_init> || std::is_same_v<P, sycl::property::noinit>;
}

struct property_list {
  bool in_order, initialized, discards;
  constexpr property_list() : in_order(false), initialized(false), discards(false) {}
  template <class P, class... R>
    requires detail::is_property<P>
  constexpr property_list(P, R...)
      : in_order(std::is_same_v<P, property::queue::in_order> || (std::is_same_v<R, property::queue::in_order> || ...)),
        initialized(std::is_same_v<P, property::reduction::initialize_to_identity> ||
                    (std::is_same_v<R, property::reduction::initialize_to_identity> || ...)),
        discards(detail::is_no_init<P> || (detail::is_no_init<R> || ...)) {}
};

namespace ext::oneapi {
namespace property::buffer {
struct use_pinned_host_memory : detail::property {};
}
namespace property::queue {
struct discard_events : detail::property {};
struct priority_normal : detail::property {};
struct priority_low : detail::property {};
struct priority_high : detail::property {};
}  // namespace property::queue
struct accessor_property_list_base {};
template <class... P> struct accessor_property_list : detail::property {
  static constexpr bool discards = (detail::is_no_init<P> || ...);
  constexpr accessor_property_list(P...) {}
};
struct no_alias_t : detail::property {};
inline constexpr no_alias_t no_alias{};
struct no_offset_t : detail::property {};
inline constexpr no_offset_t no_offset{};
}  // namespace ext::oneapi
namespace ext::intel {
inline constexpr ext::oneapi::no_alias_t buffer_location{};
}

}  // namespace sycl

#endif

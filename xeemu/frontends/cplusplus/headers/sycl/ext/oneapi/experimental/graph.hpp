// Graphs of commands: named by programs, refused where one is recorded.
#ifndef XEEMU_SYCL_GRAPH_HPP
#define XEEMU_SYCL_GRAPH_HPP
#include <sycl/sycl.hpp>

namespace sycl::ext::oneapi::experimental {
enum class graph_state { modifiable, executable };
struct node {};
template <graph_state s = graph_state::modifiable> struct command_graph {
  command_graph() {}
  template <class... X> explicit command_graph(X &&...) {
    __xeemu::unsupported("a graph of commands; submit them to the queue");
  }
  command_graph(const context &, const device &, const property_list & = {}) {
    __xeemu::unsupported("a graph of commands; submit them to the queue");
  }
  template <class... X> node add(X &&...) { return node(); }
  template <class F, class P> node add(F &&, std::initializer_list<P>) { return node(); }
  template <class... X> void make_edge(X &&...) {}
  template <class... X> command_graph<graph_state::executable> finalize(X &&...) const {
    return command_graph<graph_state::executable>();
  }
  template <class Q> void begin_recording(Q &&) {}
  void end_recording() {}
  template <class Q> void end_recording(Q &&) {}
  template <class... X> void update(X &&...) {}
};
command_graph(const context &, const device &, const property_list & = {})
    -> command_graph<graph_state::modifiable>;
namespace property {
namespace node {
struct depends_on {
  template <class... N> explicit depends_on(N...) {}
};
struct depends_on_all {};
}  // namespace node
namespace graph {
struct no_cycle_check : sycl::detail::property {};
struct assume_buffer_outlives_graph : sycl::detail::property {};
struct updatable : sycl::detail::property {};
}  // namespace graph
}  // namespace property
}  // namespace sycl::ext::oneapi::experimental

#endif

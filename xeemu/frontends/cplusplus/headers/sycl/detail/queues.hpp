// Queues: what programs give to a device, as commands with events.
#ifndef XEEMU_SYCL_QUEUES_HPP
#define XEEMU_SYCL_QUEUES_HPP

#include <sycl/detail/accessors.hpp>
#include <sycl/detail/devices.hpp>
#include <sycl/detail/items.hpp>
#include <sycl/detail/reductions.hpp>
#include <sycl/detail/specializations.hpp>

namespace sycl {

struct event {
  unsigned long number;
  event() : number(0) {}
  explicit event(unsigned long n) : number(n) {}
  void wait() const { __xeemu::wait_event(number); }
  void wait_and_throw() const { __xeemu::wait_event(number); }
  static void wait(const std::vector<event> &all) {
    for (size_t i = 0; i < all.size(); ++i) all[i].wait();
  }
  static void wait_and_throw(const std::vector<event> &all) { wait(all); }
  std::vector<event> get_wait_list() const { return std::vector<event>(); }
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  template <class Q> typename Q::return_type get_info() const { return (typename Q::return_type)2; }
  template <class Q> typename Q::return_type get_profiling_info() const { return __xeemu::profiled(number, Q::number); }
  friend bool operator==(const event &a, const event &b) { return a.number == b.number; }
};

}  // namespace sycl

namespace __xeemu {

struct unnamed;

// The device's entry: what each work-item of a launch runs.
template <class Name, class Item, class Kernel> void kernel_body(const Kernel &k) {
  Item it;
  if constexpr (std::is_invocable_v<const Kernel &, Item>) k(it);
  else if constexpr (std::is_invocable_v<const Kernel &, Item, sycl::kernel_handler>) k(it, sycl::kernel_handler());
  else if constexpr (requires { k(); }) k();
  else if constexpr (std::is_invocable_v<Kernel &, Item>) {
    Kernel own = k;  // a call operator that is not const
    own(it);
  } else k(it);  // the compiler says what it does not fit
}
// Of one work-item.
template <class Name, class Kernel> void task_body(const Kernel &k) {
  if constexpr (std::is_invocable_v<const Kernel &, sycl::kernel_handler>) k(sycl::kernel_handler());
  else if constexpr (!std::is_invocable_v<const Kernel &> && std::is_invocable_v<Kernel &>) {
    Kernel own = k;
    own();
  } else k();
}

// The host records a launch; the bodies here are for the front end to find.
template <class Name, class Item, int D, class Kernel> void launch(sycl::range<D>, const Kernel &k) {
  kernel_body<Name, Item, Kernel>(k);
}
template <class Name, class Item, int D, class Kernel> void launch(sycl::nd_range<D>, const Kernel &k) {
  kernel_body<Name, Item, Kernel>(k);
}
template <class Name, class Kernel> void launch_task(const Kernel &k) { task_body<Name, Kernel>(k); }
// Run on the host, in its place among the commands.
template <class F> void run_on_host(const F &f) { f(); }

}  // namespace __xeemu

namespace sycl {

template <class T>
concept reduction_like = requires { typename T::reducer_type; };
// What stands before a kernel: a reduction, or properties of the kernel.
template <class T>
concept with_kernel = reduction_like<T> || requires { typename T::kernel_properties; };

namespace detail {
template <class P, class K> struct with_properties {
  K kernel;
  template <class... X>
    requires std::is_invocable_v<const K &, X...>
  void operator()(X &&...x) const {
    kernel(x...);
  }
};
}  // namespace detail

class handler {
  __xeemu::setting *constants = nullptr;

 public:
  void depends_on(event e) { __xeemu::command_depends(e.number); }
  void depends_on(const std::vector<event> &all) {
    for (size_t i = 0; i < all.size(); ++i) __xeemu::command_depends(all[i].number);
  }
  template <class T, int D, access_mode m, target t, access::placeholder h>
  void require(const accessor<T, D, m, t, h> &a) {
    a.used();
  }

  template <class Name = __xeemu::unnamed, class K> void single_task(const K &k) { __xeemu::launch_task<Name>(k); }
  template <class Name = __xeemu::unnamed, class P, class K> void single_task(P, const K &k) {
    __xeemu::launch_task<Name>(k);
  }

  // Of ranges, which braces also give; what is an nd_range, says so.
#define XEEMU_LAUNCHES(D)                                                                                              \
  template <class Name = __xeemu::unnamed, class K> void parallel_for(range<D> r, const K &k) {                        \
    __xeemu::launch<Name, item<D>>(r, k);                                                                              \
  }                                                                                                                    \
  template <class Name = __xeemu::unnamed, class K> void parallel_for(range<D> r, id<D> from, const K &k) {            \
    __xeemu::launch<Name, item<D>>(r, detail::shifted<D, K>{k, from});                                                 \
  }                                                                                                                    \
  template <class Name = __xeemu::unnamed, reduction_like R, class K> void parallel_for(range<D> r, R a, const K &k) { \
    auto a_ = a.begin(r);                                                                                              \
    __xeemu::launch<Name, item<D>>(                                                                                    \
        r, detail::reducing<item<D>, K, decltype(a_)>{k, a_});                                                         \
    a_.end();                                                                                                          \
  }                                                                                                                    \
  template <class Name = __xeemu::unnamed, reduction_like R, reduction_like S, class K>                                \
  void parallel_for(range<D> r, R a, S b, const K &k) {                                                                \
    auto a_ = a.begin(r);                                                                                              \
    auto b_ = b.begin(r);                                                                                              \
    __xeemu::launch<Name, item<D>>(                                                                                    \
        r, detail::reducing2<item<D>, K, decltype(a_), decltype(b_)>{k, a_, b_});                                      \
    a_.end();                                                                                                          \
    b_.end();                                                                                                          \
  }                                                                                                                    \
  template <class Name = __xeemu::unnamed, reduction_like R, reduction_like S, reduction_like T, class K>              \
  void parallel_for(range<D> r, R a, S b, T c, const K &k) {                                                           \
    auto a_ = a.begin(r);                                                                                              \
    auto b_ = b.begin(r);                                                                                              \
    auto c_ = c.begin(r);                                                                                              \
    __xeemu::launch<Name, item<D>>(                                                                                    \
        r, detail::reducing3<item<D>, K, decltype(a_), decltype(b_), decltype(c_)>{k, a_, b_, c_});                    \
    a_.end();                                                                                                          \
    b_.end();                                                                                                          \
    c_.end();                                                                                                          \
  }
  XEEMU_LAUNCHES(1)
  XEEMU_LAUNCHES(2)
  XEEMU_LAUNCHES(3)
#undef XEEMU_LAUNCHES
  template <class Name = __xeemu::unnamed, int D, class K> void parallel_for(nd_range<D> r, const K &k) {
    __xeemu::launch<Name, nd_item<D>>(r, k);
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like R, class K>
  void parallel_for(nd_range<D> r, R a, const K &k) {
    auto a_ = a.begin(r);
    __xeemu::launch<Name, nd_item<D>>(
        r, detail::reducing<nd_item<D>, K, decltype(a_)>{k, a_});
    a_.end();
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like R, reduction_like S, class K>
  void parallel_for(nd_range<D> r, R a, S b, const K &k) {
    auto a_ = a.begin(r);
    auto b_ = b.begin(r);
    __xeemu::launch<Name, nd_item<D>>(
        r, detail::reducing2<nd_item<D>, K, decltype(a_), decltype(b_)>{k, a_, b_});
    a_.end();
    b_.end();
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like R, reduction_like S, reduction_like T, class K>
  void parallel_for(nd_range<D> r, R a, S b, T c, const K &k) {
    auto a_ = a.begin(r);
    auto b_ = b.begin(r);
    auto c_ = c.begin(r);
    __xeemu::launch<Name, nd_item<D>>(
        r, detail::reducing3<nd_item<D>, K, decltype(a_), decltype(b_), decltype(c_)>{k, a_, b_, c_});
    a_.end();
    b_.end();
    c_.end();
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like R, reduction_like S, reduction_like T,
            reduction_like U, class K>
  void parallel_for(nd_range<D> r, R a, S b, T c, U d, const K &k) {
    auto a_ = a.begin(r);
    auto b_ = b.begin(r);
    auto c_ = c.begin(r);
    auto d_ = d.begin(r);
    __xeemu::launch<Name, nd_item<D>>(
        r, detail::reducing4<nd_item<D>, K, decltype(a_), decltype(b_),
               decltype(c_), decltype(d_)>{k, a_, b_, c_, d_});
    a_.end();
    b_.end();
    c_.end();
    d_.end();
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like R, reduction_like S, reduction_like T,
            reduction_like U, class K>
  void parallel_for(range<D> r, R a, S b, T c, U d, const K &k) {
    auto a_ = a.begin(r);
    auto b_ = b.begin(r);
    auto c_ = c.begin(r);
    auto d_ = d.begin(r);
    __xeemu::launch<Name, item<D>>(
        r, detail::reducing4<item<D>, K, decltype(a_), decltype(b_),
               decltype(c_), decltype(d_)>{k, a_, b_, c_, d_});
    a_.end();
    b_.end();
    c_.end();
    d_.end();
  }
  // By a kernel's object and its function, as before SYCL 2020.
  template <class Name = __xeemu::unnamed, class R, class K> void parallel_for(const kernel &, R r, const K &k) {
    parallel_for<Name>(r, k);
  }
  template <class Name = __xeemu::unnamed, int D, class K>
  void parallel_for(const kernel &, range<D> r, id<D> from, const K &k) {
    parallel_for<Name>(r, from, k);
  }
  template <class Name = __xeemu::unnamed, class K> void single_task(const kernel &, const K &k) {
    __xeemu::launch_task<Name>(k);
  }
  template <int D> void parallel_for(range<D>, const kernel &k) { k.refuse(); }
  template <int D> void parallel_for(nd_range<D>, const kernel &k) { k.refuse(); }
  void single_task(const kernel &k) { k.refuse(); }
  // With properties of a kernel, which the front end reads from the type.
  template <class Name = __xeemu::unnamed, class R, class P, class K>
    requires requires { typename P::kernel_properties; }
  void parallel_for(R r, P, const K &k) {
    parallel_for<Name>(r, detail::with_properties<P, K>{k});
  }
  template <class Name = __xeemu::unnamed, class R, class P, reduction_like A, class K>
    requires requires { typename P::kernel_properties; }
  void parallel_for(R r, P, A a, const K &k) {
    parallel_for<Name>(r, a, k);
  }
  template <class Name = __xeemu::unnamed, int D, class K> void parallel_for_work_group(range<D> groups, const K &k) {
    __xeemu::launch<Name, group<D>>(nd_range<D>(groups, groups), detail::hierarchical<D, K>{k});
  }
  template <class Name = __xeemu::unnamed, int D, class K>
  void parallel_for_work_group(range<D> groups, range<D> local, const K &k) {
    __xeemu::launch<Name, group<D>>(nd_range<D>(groups * local, local), detail::hierarchical<D, K>{k});
  }

  template <class K> void host_task(const K &f) {
    if constexpr (std::is_invocable_v<const K &>) __xeemu::run_on_host(f);
    else __xeemu::run_on_host([=] { f(interop_handle()); });
  }
  template <class K> void codeplay_host_task(const K &f) { host_task(f); }

  void memcpy(void *to, const void *from, size_t bytes) {
    if (bytes != 0 && (to == nullptr || from == nullptr))
      throw runtime_error(errc::invalid, "memcpy is given a null pointer; allocate what it copies from and to");
    __xeemu::copy_apart(to, from, bytes);
  }
  void memset(void *to, int byte, size_t bytes) {
    if (bytes != 0 && to == nullptr)
      throw runtime_error(errc::invalid, "memset is given a null pointer; allocate what it sets");
    __xeemu::set_bytes(to, byte, bytes);
  }
  template <class T> void copy(const T *from, T *to, size_t count) { __xeemu::copy_apart(to, from, count * sizeof(T)); }
  template <class T, class V>
    requires std::is_convertible_v<V, T>
  void fill(T *to, const V &x, size_t count) {
    T y = x;
    for (size_t i = 0; i < count; ++i) to[i] = y;
  }
  template <class T> void fill(void *to, const T &x, size_t count) { fill((T *)to, x, count); }
  void prefetch(const void *, size_t) {}
  void mem_advise(const void *, size_t, int) {}
  template <class T, int D, access_mode m, target t, access::placeholder h, class V>
  void fill(const accessor<T, D, m, t, h> &a, const V &x) {
    T y = x;
    const size_t row = detail::row_size(a);
    for (size_t k = 0; k * row < a.size(); ++k)
      for (size_t first = detail::row_begin(a, k), i = 0; i < row; ++i) a.data[first + i] = y;
  }
  template <class A, class P> void copy(const A &from, P to)
    requires requires { from.get_pointer_plain(); }
  {
    const size_t row = detail::row_size(from);
    for (size_t k = 0; k * row < from.size(); ++k) {
      const auto *first = from.data + detail::row_begin(from, k);
      if constexpr (requires { to.get_pointer_plain(); }) {
        const size_t other = detail::row_size(to);
        if (detail::is_whole(from) && detail::is_whole(to)) detail::copy_elements(first, to.data, row);
        else
          for (size_t i = 0; i < row; ++i) {
            const size_t at = k * row + i;
            to.data[detail::row_begin(to, at / other) + at % other] = first[i];
          }
      } else {
        detail::copy_elements(first, detail::address_of(to) + k * row, row);
      }
    }
  }
  template <class P, class A> void copy(P from, const A &to)
    requires(
        requires { to.get_pointer_plain(); } && !requires { from.get_pointer_plain(); })
  {
    const size_t row = detail::row_size(to);
    for (size_t k = 0; k * row < to.size(); ++k)
      detail::copy_elements(detail::address_of(from) + k * row, to.data + detail::row_begin(to, k), row);
  }
  template <class A> void update_host(const A &) {}
  template <class G> void ext_oneapi_graph(const G &) {
    __xeemu::unsupported("a graph of commands; submit them to the queue");
  }
  void ext_oneapi_barrier() {}
  void ext_oneapi_barrier(const std::vector<event> &all) { depends_on(all); }
  void barrier() {}
  void barrier(const std::vector<event> &all) { depends_on(all); }

  template <auto &name> auto get_specialization_constant() const { return __xeemu::current<name>(); }
  template <auto &name> void set_specialization_constant(typename std::remove_cvref_t<decltype(name)>::value_type x) {
    constants = __xeemu::set_constant<name>(x, constants);
    __xeemu::copy_bytes(constants->at, constants->given, constants->bytes);
  }
  template <bundle_state s> void use_kernel_bundle(const kernel_bundle<s> &b) { use(b.constants); }
  // What was set holds for this command alone.
  void end() {
    for (; constants != nullptr; constants = constants->before)
      __xeemu::copy_bytes(constants->at, constants->otherwise, constants->bytes);
  }

 private:
  void use(const __xeemu::setting *set) {
    for (; set != nullptr; set = set->before) {
      constants = new __xeemu::setting{set->at, set->given, set->otherwise, set->bytes, constants};
      __xeemu::copy_bytes(set->at, set->given, set->bytes);
    }
  }

 public:
  template <class T> void set_arg(int, T &&) {}
  template <class... T> void set_args(T &&...) {}
};

struct queue {
  unsigned number, context_number;
  bool in_order;

  void make(bool order, unsigned of = 0) {
    in_order = order;
    context_number = of;
    number = __xeemu::new_queue(order);
  }
  queue() { make(false); }
  explicit queue(const property_list &p) { make(p.in_order); }
  explicit queue(const async_handler &, const property_list &p = {}) { make(p.in_order); }
  explicit queue(const device &, const property_list &p = {}) { make(p.in_order); }
  explicit queue(const device &, const async_handler &, const property_list &p = {}) { make(p.in_order); }
  explicit queue(const context &c, const device &, const property_list &p = {}) { make(p.in_order, c.number); }
  explicit queue(const context &c, const device &, const async_handler &, const property_list &p = {}) {
    make(p.in_order, c.number);
  }
  template <class S>
    requires detail::rates_devices<S>
  explicit queue(const S &, const property_list &p = {}) {
    make(p.in_order);
  }
  template <class S>
    requires detail::rates_devices<S>
  explicit queue(const S &, const async_handler &, const property_list &p = {}) {
    make(p.in_order);
  }
  template <class S>
    requires detail::rates_devices<S>
  explicit queue(const context &c, const S &, const property_list &p = {}) {
    make(p.in_order, c.number);
  }
  template <class S>
    requires detail::rates_devices<S>
  explicit queue(const context &c, const S &, const async_handler &, const property_list &p = {}) {
    make(p.in_order, c.number);
  }

  device get_device() const { return device(); }
  context get_context() const { return context(nullptr, context_number); }
  backend get_backend() const { return backend::ext_oneapi_level_zero; }
  bool is_in_order() const { return in_order; }
  bool is_host() const { return false; }
  bool ext_oneapi_empty() const { return true; }
  bool khr_empty() const { return true; }
  void khr_flush() const {}
  template <class Q> typename Q::return_type get_info() const { return detail::answer<Q>(); }
  template <class P> bool has_property() const { return std::is_same_v<P, property::queue::in_order> && in_order; }
  void wait() { __xeemu::wait_queue(number); }
  void wait_and_throw() { __xeemu::wait_queue(number); }
  void throw_asynchronous() {}

  // A command of what `f` does with a handler, after the events of the second argument.
  template <class F> event command(F &&f) {
    __xeemu::begin_command(number);
    handler h;
    f(h);
    h.end();
    return event(__xeemu::end_command());
  }
  template <class E, class F> event command_after(const E &e, F &&f) {
    __xeemu::begin_command(number);
    handler h;
    h.depends_on(e);
    f(h);
    h.end();
    return event(__xeemu::end_command());
  }
  template <class F> event submit(F f) { return command(f); }
  template <class F> event submit(F f, queue) { return command(f); }

  template <class Name = __xeemu::unnamed, class K> event single_task(const K &k) {
    return command([&](handler &h) { h.single_task<Name>(k); });
  }
  template <class Name = __xeemu::unnamed, class K> event single_task(event e, const K &k) {
    return command_after(e, [&](handler &h) { h.single_task<Name>(k); });
  }
  template <class Name = __xeemu::unnamed, class K> event single_task(const std::vector<event> &e, const K &k) {
    return command_after(e, [&](handler &h) { h.single_task<Name>(k); });
  }
#define XEEMU_LAUNCHES(D)                                                                                    \
  template <class Name = __xeemu::unnamed, class K> event parallel_for(range<D> r, const K &k) {             \
    return command([&](handler &h) { h.parallel_for<Name>(r, k); });                                         \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, class K> event parallel_for(range<D> r, event e, const K &k) {    \
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, k); });                                \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, class K>                                                          \
  event parallel_for(range<D> r, const std::vector<event> &e, const K &k) {                                  \
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, k); });                                \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, with_kernel A, class K>                                           \
  event parallel_for(range<D> r, const A &a, const K &k) {                                                   \
    return command([&](handler &h) { h.parallel_for<Name>(r, a, k); });                                      \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, with_kernel A, reduction_like B, class K>                         \
  event parallel_for(range<D> r, const A &a, const B &b, const K &k) {                                       \
    return command([&](handler &h) { h.parallel_for<Name>(r, a, b, k); });                                   \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, reduction_like A, reduction_like B, reduction_like C, class K>    \
  event parallel_for(range<D> r, const A &a, const B &b, const C &c, const K &k) {                           \
    return command([&](handler &h) { h.parallel_for<Name>(r, a, b, c, k); });                                \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, with_kernel A, class K>                                           \
  event parallel_for(range<D> r, event e, const A &a, const K &k) {                                          \
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, a, k); });                             \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, with_kernel A, class K>                                           \
  event parallel_for(range<D> r, const std::vector<event> &e, const A &a, const K &k) {                      \
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, a, k); });                             \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, reduction_like A, reduction_like B, class K>                      \
  event parallel_for(range<D> r, event e, const A &a, const B &b, const K &k) {                              \
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, a, b, k); });                          \
  }                                                                                                          \
  template <class Name = __xeemu::unnamed, class K> event parallel_for(range<D> r, id<D> from, const K &k) { \
    return command([&](handler &h) { h.parallel_for<Name>(r, from, k); });                                   \
  }
  XEEMU_LAUNCHES(1)
  XEEMU_LAUNCHES(2)
  XEEMU_LAUNCHES(3)
#undef XEEMU_LAUNCHES
  template <class Name = __xeemu::unnamed, int D, class K> event parallel_for(nd_range<D> r, const K &k) {
    return command([&](handler &h) { h.parallel_for<Name>(r, k); });
  }
  template <class Name = __xeemu::unnamed, int D, class K> event parallel_for(nd_range<D> r, event e, const K &k) {
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, k); });
  }
  template <class Name = __xeemu::unnamed, int D, class K>
  event parallel_for(nd_range<D> r, const std::vector<event> &e, const K &k) {
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, k); });
  }
  template <class Name = __xeemu::unnamed, int D, with_kernel A, class K>
  event parallel_for(nd_range<D> r, const A &a, const K &k) {
    return command([&](handler &h) { h.parallel_for<Name>(r, a, k); });
  }
  template <class Name = __xeemu::unnamed, int D, with_kernel A, reduction_like B, class K>
  event parallel_for(nd_range<D> r, const A &a, const B &b, const K &k) {
    return command([&](handler &h) { h.parallel_for<Name>(r, a, b, k); });
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like A, reduction_like B, reduction_like C, class K>
  event parallel_for(nd_range<D> r, const A &a, const B &b, const C &c, const K &k) {
    return command([&](handler &h) { h.parallel_for<Name>(r, a, b, c, k); });
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like A, reduction_like B, reduction_like C,
            reduction_like D4, class K>
  event parallel_for(nd_range<D> r, const A &a, const B &b, const C &c, const D4 &d, const K &k) {
    return command([&](handler &h) { h.parallel_for<Name>(r, a, b, c, d, k); });
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like A, reduction_like B, reduction_like C,
            reduction_like D4, class K>
  event parallel_for(range<D> r, const A &a, const B &b, const C &c, const D4 &d, const K &k) {
    return command([&](handler &h) { h.parallel_for<Name>(r, a, b, c, d, k); });
  }
  template <class Name = __xeemu::unnamed, int D, with_kernel A, class K>
  event parallel_for(nd_range<D> r, event e, const A &a, const K &k) {
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, a, k); });
  }
  template <class Name = __xeemu::unnamed, int D, with_kernel A, class K>
  event parallel_for(nd_range<D> r, const std::vector<event> &e, const A &a, const K &k) {
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, a, k); });
  }
  template <class Name = __xeemu::unnamed, int D, reduction_like A, reduction_like B, class K>
  event parallel_for(nd_range<D> r, event e, const A &a, const B &b, const K &k) {
    return command_after(e, [&](handler &h) { h.parallel_for<Name>(r, a, b, k); });
  }

#define XEEMU_COMMAND(template_, name, parameters, ...)                     \
  template_ event name(XEEMU_ALL parameters) {                              \
    return command([&](handler &h) { __VA_ARGS__; });                       \
  }                                                                         \
  template_ event name(XEEMU_ALL parameters, event e) {                     \
    return command_after(e, [&](handler &h) { __VA_ARGS__; });              \
  }                                                                         \
  template_ event name(XEEMU_ALL parameters, const std::vector<event> &e) { \
    return command_after(e, [&](handler &h) { __VA_ARGS__; });              \
  }
#define XEEMU_ALL(...) __VA_ARGS__
  XEEMU_COMMAND(, memcpy, (void *to, const void *from, size_t bytes), h.memcpy(to, from, bytes))
  XEEMU_COMMAND(, memset, (void *to, int byte, size_t bytes), h.memset(to, byte, bytes))
  XEEMU_COMMAND(, prefetch, (const void *p, size_t bytes), h.prefetch(p, bytes))
  XEEMU_COMMAND(, mem_advise, (const void *p, size_t bytes, int advice), h.mem_advise(p, bytes, advice))
  XEEMU_COMMAND(template <class T>, copy, (const T *from, T *to, size_t count), h.copy(from, to, count))
  XEEMU_COMMAND(template <class T>, fill, (void *to, const T &x, size_t count), h.fill((T *)to, x, count))
#undef XEEMU_COMMAND
#undef XEEMU_ALL

  template <class G> event ext_oneapi_graph(const G &) {
    __xeemu::unsupported("a graph of commands; submit them to the queue");
    return event();
  }
  event ext_oneapi_submit_barrier() {
    return command([&](handler &) {});
  }
  event ext_oneapi_submit_barrier(const std::vector<event> &e) {
    return command_after(e, [&](handler &) {});
  }
  event submit_barrier() { return ext_oneapi_submit_barrier(); }
  event submit_barrier(const std::vector<event> &e) { return ext_oneapi_submit_barrier(e); }
  event ext_oneapi_memcpy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                            size_t height) {
    return command([&](handler &h) {
      for (size_t i = 0; i < height; ++i)
        h.memcpy((char *)to + i * to_pitch, (const char *)from + i * from_pitch, width);
    });
  }
  template <class F> event submit_host_task(const F &f) {
    return command([&](handler &h) { h.host_task(f); });
  }
  friend bool operator==(const queue &a, const queue &b) { return a.number == b.number; }
};

}  // namespace sycl

namespace std {
template <> struct hash<sycl::event> {
  size_t operator()(const sycl::event &e) const { return e.number; }
};
template <> struct hash<sycl::queue> {
  size_t operator()(const sycl::queue &q) const { return q.number; }
};
// There is one of each.
#define XEEMU_HASH(T)                                \
  template <> struct hash<T> {                       \
    size_t operator()(const T &) const { return 1; } \
  };
XEEMU_HASH(sycl::device)
XEEMU_HASH(sycl::platform)
XEEMU_HASH(sycl::context)
XEEMU_HASH(sycl::kernel)
#undef XEEMU_HASH
template <class T, int D, class A> struct hash<sycl::buffer<T, D, A>> {
  size_t operator()(const sycl::buffer<T, D, A> &b) const { return (size_t)b.data; }
};
template <class T, int D, sycl::access_mode m, sycl::target t, sycl::access::placeholder h>
struct hash<sycl::accessor<T, D, m, t, h>> {
  size_t operator()(const sycl::accessor<T, D, m, t, h> &a) const { return (size_t)a.data; }
};
}  // namespace std

#endif

// Streams: text that kernels write, by printf.
#ifndef XEEMU_SYCL_STREAMS_HPP
#define XEEMU_SYCL_STREAMS_HPP

#include <sycl/detail/coordinates.hpp>
#include <sycl/detail/vectors.hpp>

namespace sycl {

class handler;
enum class stream_manipulator {
  flush,
  dec,
  hex,
  oct,
  noshowbase,
  showbase,
  noshowpos,
  showpos,
  endl,
  fixed,
  scientific,
  hexfloat,
  defaultfloat
};
inline constexpr stream_manipulator flush = stream_manipulator::flush;
inline constexpr stream_manipulator dec = stream_manipulator::dec;
inline constexpr stream_manipulator hex = stream_manipulator::hex;
inline constexpr stream_manipulator oct = stream_manipulator::oct;
inline constexpr stream_manipulator endl = stream_manipulator::endl;
inline constexpr stream_manipulator fixed = stream_manipulator::fixed;
inline constexpr stream_manipulator scientific = stream_manipulator::scientific;
inline constexpr stream_manipulator defaultfloat = stream_manipulator::defaultfloat;
struct stream_setting {};
inline stream_setting setw(int) { return stream_setting(); }
inline stream_setting setprecision(int) { return stream_setting(); }

struct stream {
  stream(size_t, size_t, handler &) {}
  template <class P> stream(size_t, size_t, handler &, const P &) {}
  size_t size() const { return 0; }
  size_t get_size() const { return 0; }
  size_t get_max_statement_size() const { return 0; }
};
inline const stream &operator<<(const stream &o, const char *x) {
  __xeemu::printf("%s", x);
  return o;
}
inline const stream &operator<<(const stream &o, stream_manipulator m) {
  if (m == stream_manipulator::endl) __xeemu::printf("\n");
  return o;
}
inline const stream &operator<<(const stream &o, stream_setting) { return o; }
template <class T>
  requires(detail::scalar<T> && !std::is_same_v<T, stream_manipulator>)
inline const stream &operator<<(const stream &o, const T &x) {
  if constexpr (std::is_same_v<T, char>) __xeemu::printf("%c", x);
  else if constexpr (std::is_same_v<T, bool>) __xeemu::printf("%d", (int)x);
  else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) __xeemu::printf("%ld", (long)x);
  else if constexpr (std::is_integral_v<T>) __xeemu::printf("%lu", (unsigned long)x);
  else __xeemu::printf("%g", (double)x);
  return o;
}
template <class T> inline const stream &operator<<(const stream &o, T *p) {
  __xeemu::printf("%p", p);
  return o;
}
template <class T, access::address_space s, access::decorated d>
inline const stream &operator<<(const stream &o, multi_ptr<T, s, d> p) {
  return o << p.p;
}
template <class T, int n> inline const stream &operator<<(const stream &o, const vec<T, n> &x) {
  for (int i = 0; i < n; ++i) o << (i == 0 ? "" : ", ") << (T)x[i];
  return o;
}
template <class C>
  requires detail::is_coordinates<C>
inline const stream &operator<<(const stream &o, const C &x) {
  o << "{";
  for (int i = 0; i < C::dimensions; ++i) o << (i == 0 ? "" : ", ") << x.v[i];
  return o << "}";
}
template <int D, bool b> inline const stream &operator<<(const stream &o, const item<D, b> &x) {
  return o << x.get_id();
}

namespace ext::oneapi::experimental {
template <class... A> inline int printf(const char *format, A... x) { return __xeemu::printf(format, x...); }
}  // namespace ext::oneapi::experimental

}  // namespace sycl

#endif

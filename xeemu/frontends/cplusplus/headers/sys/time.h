#ifndef XEEMU_SYS_TIME_H
#define XEEMU_SYS_TIME_H
#include <ctime>
struct timeval { time_t tv_sec; long tv_usec; };
struct timezone { int tz_minuteswest, tz_dsttime; };
#define timersub(a, b, to)                            \
  do {                                                \
    (to)->tv_sec = (a)->tv_sec - (b)->tv_sec;         \
    (to)->tv_usec = (a)->tv_usec - (b)->tv_usec;      \
    if ((to)->tv_usec < 0) {                          \
      --(to)->tv_sec;                                 \
      (to)->tv_usec += 1000000;                       \
    }                                                 \
  } while (0)
template <class Z> inline int gettimeofday(timeval *to, Z *) {
  double t = __xeemu::now();
  to->tv_sec = (time_t)t;
  to->tv_usec = (long)((t - (double)to->tv_sec) * 1e6);
  return 0;
}
inline int gettimeofday(timeval *to, int) { return gettimeofday(to, (timezone *)nullptr); }
inline int gettimeofday(timeval *to, decltype(nullptr)) { return gettimeofday(to, (timezone *)nullptr); }
#endif

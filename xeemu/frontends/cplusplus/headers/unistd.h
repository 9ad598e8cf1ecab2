#ifndef XEEMU_UNISTD_H
#define XEEMU_UNISTD_H
#include <cstddef>
#include <xeemu/intrinsics.hpp>
inline unsigned sleep(unsigned) { return 0; }
inline int usleep(unsigned) { return 0; }
[[noreturn]] inline void _exit(int status) { __xeemu::leave_at_once(status); }
inline int getpid() { return 1; }
inline int access(const char *, int) { return -1; }
// There are no files.
inline int close(int) { return 0; }
inline long read(int, void *, size_t) { return -1; }
inline long write(int, const void *, size_t) { return -1; }
inline long lseek(int, long, int) { return -1; }
inline char *optarg = nullptr;
inline int optind = 1, opterr = 1, optopt = 0, __xeemu_optat = 1;
inline int getopt(int argc, char *const *argv, const char *known) {
  optarg = nullptr;
  if (optind >= argc) return -1;
  char *word = argv[optind];
  if (word[0] != '-' || word[1] == 0) return -1;
  if (word[1] == '-' && word[2] == 0) {
    ++optind;
    return -1;
  }
  char c = word[__xeemu_optat++];
  bool last = word[__xeemu_optat] == 0;
  int k = 0;
  while (known[k] != 0 && known[k] != c) ++k;
  bool takes = known[k] != 0 && known[k + 1] == ':';
  if (takes && !last) optarg = word + __xeemu_optat;
  if (last || takes) {
    ++optind;
    __xeemu_optat = 1;
  }
  if (takes && last && optind < argc) optarg = argv[optind++];
  if (known[k] == 0 || c == ':' || (takes && optarg == nullptr)) {
    optopt = c;
    return '?';
  }
  return c;
}
#define F_OK 0
#endif

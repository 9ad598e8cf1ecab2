#ifndef XEEMU_GETOPT_H
#define XEEMU_GETOPT_H
#include <unistd.h>
#include <xeemu/intrinsics.hpp>
struct option { const char *name; int has_arg; int *flag; int val; };
#define no_argument 0
#define required_argument 1
#define optional_argument 2
inline int getopt_long(int argc, char *const *argv, const char *known, const option *, int *) {
  if (optind < argc && argv[optind][0] == '-' && argv[optind][1] == '-' && argv[optind][2] != 0)
    __xeemu::stop("getopt_long: a long option, which xeemu does not read; give the short one");
  return getopt(argc, argv, known);
}
#endif

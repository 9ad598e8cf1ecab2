#ifndef XEEMU_UNISTD_H
#define XEEMU_UNISTD_H
#include <cstddef>
inline unsigned sleep(unsigned) { return 0; }
inline int usleep(unsigned) { return 0; }
inline int getpid() { return 1; }
inline int access(const char *, int) { return -1; }
inline int close(int) { return 0; }
extern char *optarg;
extern int optind, opterr, optopt;
inline int getopt(int, char *const *, const char *) { return -1; }
#define F_OK 0
#endif

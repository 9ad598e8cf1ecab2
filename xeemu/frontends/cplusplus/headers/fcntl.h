#include <unistd.h>
#ifndef XEEMU_FCNTL_H
#define XEEMU_FCNTL_H
template <class... M> int open(const char *, int, M...) { return -1; }
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 64
#define O_TRUNC 512
#endif

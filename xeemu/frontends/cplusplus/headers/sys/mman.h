#ifndef XEEMU_SYS_MMAN_H
#define XEEMU_SYS_MMAN_H
#include <xeemu/intrinsics.hpp>
#define PROT_NONE 0
#define PROT_READ 1
#define PROT_WRITE 2
#define MAP_PRIVATE 2
#define MAP_ANONYMOUS 32
#define MAP_FAILED ((void *)-1)
inline void *mmap(void *, unsigned long bytes, int, int, int, long) { return __xeemu::allocate(bytes, 4); }
inline int munmap(void *, unsigned long) { return 0; }
#endif

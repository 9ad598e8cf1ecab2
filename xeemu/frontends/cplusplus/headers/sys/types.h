#ifndef XEEMU_SYS_TYPES_H
#define XEEMU_SYS_TYPES_H
#include <cstddef>
typedef unsigned char u_char;
typedef unsigned short ushort, u_short;
typedef unsigned uint, u_int;
typedef unsigned long ulong, u_long;
typedef long ssize_t, off_t;
typedef int pid_t;
#endif

#ifndef XEEMU_SYS_STAT_H
#define XEEMU_SYS_STAT_H
struct stat { unsigned st_mode; long st_size; };
inline int stat(const char *, struct stat *) { return -1; }
inline int mkdir(const char *, unsigned) { return -1; }
#define S_ISDIR(m) 0
#endif

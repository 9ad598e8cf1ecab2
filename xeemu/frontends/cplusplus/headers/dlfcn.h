#ifndef XEEMU_DLFCN_H
#define XEEMU_DLFCN_H
#define RTLD_LAZY 1
#define RTLD_NOW 2
#define RTLD_LOCAL 0
#define RTLD_GLOBAL 256
inline void *dlopen(const char *, int) { return nullptr; }
inline void *dlsym(void *, const char *) { return nullptr; }
inline int dlclose(void *) { return 0; }
inline char *dlerror() { return nullptr; }
#endif

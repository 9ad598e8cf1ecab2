/* Features and functions of groups that clang declares only if they are asked for, or does not know. */
#ifndef XEEMU_GROUPS_H
#define XEEMU_GROUPS_H

#if __OPENCL_C_VERSION__ >= 200
#define __opencl_c_work_group_collective_functions 1
#define __opencl_c_read_write_images 1
#define __opencl_c_3d_image_writes 1
#define __opencl_c_images 1
#define __opencl_c_subgroups 1

/* cl_khr_work_group_uniform_arithmetic. */
#define XEEMU_OF_GROUP(OP, T)                                                    \
  T __attribute__((overloadable)) work_group_reduce_##OP(T);                     \
  T __attribute__((overloadable)) work_group_scan_inclusive_##OP(T);             \
  T __attribute__((overloadable)) work_group_scan_exclusive_##OP(T);
#define XEEMU_OF_INTEGERS(OP) \
  XEEMU_OF_GROUP(OP, int) XEEMU_OF_GROUP(OP, uint) XEEMU_OF_GROUP(OP, long) XEEMU_OF_GROUP(OP, ulong)
XEEMU_OF_INTEGERS(mul)
XEEMU_OF_GROUP(mul, half)
XEEMU_OF_GROUP(mul, float)
XEEMU_OF_GROUP(mul, double)
XEEMU_OF_INTEGERS(and)
XEEMU_OF_INTEGERS(or)
XEEMU_OF_INTEGERS(xor)
XEEMU_OF_GROUP(logical_and, int)
XEEMU_OF_GROUP(logical_or, int)
XEEMU_OF_GROUP(logical_xor, int)
#undef XEEMU_OF_INTEGERS
#undef XEEMU_OF_GROUP
#endif

/* cl_intel_subgroups. */
int intel_sub_group_any(int);
int intel_sub_group_all(int);

#endif

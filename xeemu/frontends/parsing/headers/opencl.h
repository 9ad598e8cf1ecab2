/* What clang's -fdeclare-opencl-builtins takes from a header: types, limits, constants, and the functions of
 * extensions that clang does not know. All others are declared by clang itself. */
#ifndef XEEMU_OPENCL_H
#define XEEMU_OPENCL_H

/* Features. The functions of named address spaces are declared beside those of the generic one, so that a pointer's
 * memory stays known. */
#define __opencl_c_named_address_space_builtins 1
#define __opencl_subgroup_builtins 1
#if __OPENCL_C_VERSION__ >= 200
#ifndef __opencl_c_generic_address_space
#define __opencl_c_generic_address_space 1
#endif
#ifndef __opencl_c_work_group_collective_functions
#define __opencl_c_work_group_collective_functions 1
#endif
#ifndef __opencl_c_atomic_order_acq_rel
#define __opencl_c_atomic_order_acq_rel 1
#endif
#ifndef __opencl_c_atomic_order_seq_cst
#define __opencl_c_atomic_order_seq_cst 1
#endif
#ifndef __opencl_c_atomic_scope_device
#define __opencl_c_atomic_scope_device 1
#endif
#ifndef __opencl_c_atomic_scope_all_devices
#define __opencl_c_atomic_scope_all_devices 1
#endif
#ifndef __opencl_c_read_write_images
#define __opencl_c_read_write_images 1
#endif
#ifndef __opencl_c_program_scope_global_variables
#define __opencl_c_program_scope_global_variables 1
#endif
#ifndef __opencl_c_subgroups
#define __opencl_c_subgroups 1
#endif
#endif
#ifndef __opencl_c_images
#define __opencl_c_images 1
#endif
#ifndef __opencl_c_3d_image_writes
#define __opencl_c_3d_image_writes 1
#endif
#ifndef __opencl_c_fp64
#define __opencl_c_fp64 1
#endif
#ifndef __opencl_c_int64
#define __opencl_c_int64 1
#endif
#ifndef __IMAGE_SUPPORT__
#define __IMAGE_SUPPORT__ 1
#endif
#ifndef __ENDIAN_LITTLE__
#define __ENDIAN_LITTLE__ 1
#endif

/* Extensions. */
#ifndef cl_khr_subgroups
#define cl_khr_subgroups 1
#endif
#ifndef cl_khr_subgroup_extended_types
#define cl_khr_subgroup_extended_types 1
#endif
#ifndef cl_khr_subgroup_non_uniform_vote
#define cl_khr_subgroup_non_uniform_vote 1
#endif
#ifndef cl_khr_subgroup_ballot
#define cl_khr_subgroup_ballot 1
#endif
#ifndef cl_khr_subgroup_non_uniform_arithmetic
#define cl_khr_subgroup_non_uniform_arithmetic 1
#endif
#ifndef cl_khr_subgroup_shuffle
#define cl_khr_subgroup_shuffle 1
#endif
#ifndef cl_khr_subgroup_shuffle_relative
#define cl_khr_subgroup_shuffle_relative 1
#endif
#ifndef cl_khr_subgroup_clustered_reduce
#define cl_khr_subgroup_clustered_reduce 1
#endif
#ifndef cl_khr_subgroup_rotate
#define cl_khr_subgroup_rotate 1
#endif
#ifndef cl_khr_integer_dot_product
#define cl_khr_integer_dot_product 1
#endif
#ifndef cl_khr_extended_bit_ops
#define cl_khr_extended_bit_ops 1
#endif
#ifndef cl_khr_work_group_uniform_arithmetic
#define cl_khr_work_group_uniform_arithmetic 1
#endif
#ifndef cl_ext_float_atomics
#define cl_ext_float_atomics 1
#endif
#ifndef cl_intel_subgroups
#define cl_intel_subgroups 1
#endif
#ifndef cl_intel_subgroups_short
#define cl_intel_subgroups_short 1
#endif
#ifndef cl_intel_subgroups_char
#define cl_intel_subgroups_char 1
#endif
#ifndef cl_intel_subgroups_long
#define cl_intel_subgroups_long 1
#endif
#ifndef cl_intel_required_subgroup_size
#define cl_intel_required_subgroup_size 1
#endif
#define __opencl_c_integer_dot_product_input_4x8bit 1
#define __opencl_c_integer_dot_product_input_4x8bit_packed 1
#define __opencl_c_ext_fp32_global_atomic_add 1
#define __opencl_c_ext_fp32_local_atomic_add 1
#define __opencl_c_ext_fp32_global_atomic_min_max 1
#define __opencl_c_ext_fp32_local_atomic_min_max 1

/* Types. */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#if __OPENCL_C_VERSION__ >= 120 || defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#define XEEMU_VECTORS(T)                                      \
  typedef T T##2 __attribute__((ext_vector_type(2)));         \
  typedef T T##3 __attribute__((ext_vector_type(3)));         \
  typedef T T##4 __attribute__((ext_vector_type(4)));         \
  typedef T T##8 __attribute__((ext_vector_type(8)));         \
  typedef T T##16 __attribute__((ext_vector_type(16)));
XEEMU_VECTORS(char)
XEEMU_VECTORS(uchar)
XEEMU_VECTORS(short)
XEEMU_VECTORS(ushort)
XEEMU_VECTORS(int)
XEEMU_VECTORS(uint)
XEEMU_VECTORS(long)
XEEMU_VECTORS(ulong)
XEEMU_VECTORS(float)
XEEMU_VECTORS(double)
XEEMU_VECTORS(half)
#undef XEEMU_VECTORS
typedef uint cl_mem_fence_flags;
typedef enum memory_order {
  memory_order_relaxed = __ATOMIC_RELAXED,
  memory_order_acquire = __ATOMIC_ACQUIRE,
  memory_order_release = __ATOMIC_RELEASE,
  memory_order_acq_rel = __ATOMIC_ACQ_REL,
  memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;
typedef enum memory_scope {
  memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
  memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP,
  memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
  memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
  memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
  memory_scope_all_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES
} memory_scope;
typedef int clk_profiling_info;
typedef int kernel_enqueue_flags_t;
typedef struct { size_t sizes[9]; uint dimensions; } ndrange_t;

/* Fences, orders, flags. */
#define NULL ((void *)0)
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
#define CLK_IMAGE_MEM_FENCE 4
#define ATOMIC_VAR_INIT(X) (X)
#define ATOMIC_FLAG_INIT 0
#define CLK_ENQUEUE_FLAGS_NO_WAIT 0
#define CLK_ENQUEUE_FLAGS_WAIT_KERNEL 1
#define CLK_ENQUEUE_FLAGS_WAIT_WORK_GROUP 2
#define kernel_exec(X, T) __kernel __attribute__((work_group_size_hint(X, 1, 1))) __attribute__((vec_type_hint(T)))
#define __kernel_exec(X, T) kernel_exec(X, T)

/* Limits of integers. */
#define CHAR_BIT 8
#define SCHAR_MAX 127
#define SCHAR_MIN (-128)
#define UCHAR_MAX 255
#define CHAR_MAX SCHAR_MAX
#define CHAR_MIN SCHAR_MIN
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 4294967295U
#define LONG_MAX 9223372036854775807L
#define LONG_MIN (-9223372036854775807L - 1L)
#define ULONG_MAX 18446744073709551615UL

/* Limits of floats: digits, exponents, greatest, least normal, distance from 1 to the next. */
#define FLT_DIG 6
#define FLT_MANT_DIG 24
#define FLT_MAX_10_EXP 38
#define FLT_MAX_EXP 128
#define FLT_MIN_10_EXP (-37)
#define FLT_MIN_EXP (-125)
#define FLT_RADIX 2
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1p-126f
#define FLT_EPSILON 0x1p-23f
#define DBL_DIG 15
#define DBL_MANT_DIG 53
#define DBL_MAX_10_EXP 308
#define DBL_MAX_EXP 1024
#define DBL_MIN_10_EXP (-307)
#define DBL_MIN_EXP (-1021)
#define DBL_RADIX 2
#define DBL_MAX 0x1.fffffffffffffp1023
#define DBL_MIN 0x1p-1022
#define DBL_EPSILON 0x1p-52
#define HALF_DIG 3
#define HALF_MANT_DIG 11
#define HALF_MAX_10_EXP 4
#define HALF_MAX_EXP 16
#define HALF_MIN_10_EXP (-4)
#define HALF_MIN_EXP (-13)
#define HALF_RADIX 2
#define HALF_MAX 0x1.ffcp15h
#define HALF_MIN 0x1p-14h
#define HALF_EPSILON 0x1p-10h
#define MAXFLOAT FLT_MAX
#define FP_ILOGB0 INT_MIN
#define FP_ILOGBNAN INT_MAX
#define FP_FAST_FMAF 1
#define FP_FAST_FMA 1
#define HUGE_VALF (__builtin_huge_valf())
#define HUGE_VAL (__builtin_huge_val())
#define INFINITY (__builtin_inff())
#define NAN (__builtin_nanf(""))

/* Constants of mathematics, as double, float and half. */
#define M_E 2.71828182845904523536028747135266250
#define M_E_F 2.71828182845904523536028747135266250f
#define M_E_H 2.71828182845904523536028747135266250h
#define M_LOG2E 1.44269504088896340735992468100189214
#define M_LOG2E_F 1.44269504088896340735992468100189214f
#define M_LOG2E_H 1.44269504088896340735992468100189214h
#define M_LOG10E 0.434294481903251827651128918916605082
#define M_LOG10E_F 0.434294481903251827651128918916605082f
#define M_LOG10E_H 0.434294481903251827651128918916605082h
#define M_LN2 0.693147180559945309417232121458176568
#define M_LN2_F 0.693147180559945309417232121458176568f
#define M_LN2_H 0.693147180559945309417232121458176568h
#define M_LN10 2.30258509299404568401799145468436421
#define M_LN10_F 2.30258509299404568401799145468436421f
#define M_LN10_H 2.30258509299404568401799145468436421h
#define M_PI 3.14159265358979323846264338327950288
#define M_PI_F 3.14159265358979323846264338327950288f
#define M_PI_H 3.14159265358979323846264338327950288h
#define M_PI_2 1.57079632679489661923132169163975144
#define M_PI_2_F 1.57079632679489661923132169163975144f
#define M_PI_2_H 1.57079632679489661923132169163975144h
#define M_PI_4 0.785398163397448309615660845819875721
#define M_PI_4_F 0.785398163397448309615660845819875721f
#define M_PI_4_H 0.785398163397448309615660845819875721h
#define M_1_PI 0.318309886183790671537767526745028724
#define M_1_PI_F 0.318309886183790671537767526745028724f
#define M_1_PI_H 0.318309886183790671537767526745028724h
#define M_2_PI 0.636619772367581343075535053490057448
#define M_2_PI_F 0.636619772367581343075535053490057448f
#define M_2_PI_H 0.636619772367581343075535053490057448h
#define M_2_SQRTPI 1.12837916709551257389615890312154517
#define M_2_SQRTPI_F 1.12837916709551257389615890312154517f
#define M_2_SQRTPI_H 1.12837916709551257389615890312154517h
#define M_SQRT2 1.41421356237309504880168872420969808
#define M_SQRT2_F 1.41421356237309504880168872420969808f
#define M_SQRT2_H 1.41421356237309504880168872420969808h
#define M_SQRT1_2 0.707106781186547524400844362104849039
#define M_SQRT1_2_F 0.707106781186547524400844362104849039f
#define M_SQRT1_2_H 0.707106781186547524400844362104849039h

/* Images and samplers. */
#define CLK_ADDRESS_NONE 0
#define CLK_ADDRESS_CLAMP_TO_EDGE 2
#define CLK_ADDRESS_CLAMP 4
#define CLK_ADDRESS_REPEAT 6
#define CLK_ADDRESS_MIRRORED_REPEAT 8
#define CLK_NORMALIZED_COORDS_FALSE 0
#define CLK_NORMALIZED_COORDS_TRUE 1
#define CLK_FILTER_NEAREST 0x10
#define CLK_FILTER_LINEAR 0x20
#define CLK_R 0x10B0
#define CLK_A 0x10B1
#define CLK_RG 0x10B2
#define CLK_RA 0x10B3
#define CLK_RGB 0x10B4
#define CLK_RGBA 0x10B5
#define CLK_BGRA 0x10B6
#define CLK_ARGB 0x10B7
#define CLK_INTENSITY 0x10B8
#define CLK_LUMINANCE 0x10B9
#define CLK_Rx 0x10BA
#define CLK_RGx 0x10BB
#define CLK_RGBx 0x10BC
#define CLK_DEPTH 0x10BD
#define CLK_DEPTH_STENCIL 0x10BE
#define CLK_sRGB 0x10BF
#define CLK_sRGBx 0x10C0
#define CLK_sRGBA 0x10C1
#define CLK_sBGRA 0x10C2
#define CLK_ABGR 0x10C3
#define CLK_SNORM_INT8 0x10D0
#define CLK_SNORM_INT16 0x10D1
#define CLK_UNORM_INT8 0x10D2
#define CLK_UNORM_INT16 0x10D3
#define CLK_UNORM_SHORT_565 0x10D4
#define CLK_UNORM_SHORT_555 0x10D5
#define CLK_UNORM_INT_101010 0x10D6
#define CLK_SIGNED_INT8 0x10D7
#define CLK_SIGNED_INT16 0x10D8
#define CLK_SIGNED_INT32 0x10D9
#define CLK_UNSIGNED_INT8 0x10DA
#define CLK_UNSIGNED_INT16 0x10DB
#define CLK_UNSIGNED_INT32 0x10DC
#define CLK_HALF_FLOAT 0x10DD
#define CLK_FLOAT 0x10DE
#define CLK_UNORM_INT24 0x10DF

/* The bits of a value as another type: macros of clang's own check of sizes. */
#define as_char(X) __builtin_astype((X), char)
#define as_char2(X) __builtin_astype((X), char2)
#define as_char3(X) __builtin_astype((X), char3)
#define as_char4(X) __builtin_astype((X), char4)
#define as_char8(X) __builtin_astype((X), char8)
#define as_char16(X) __builtin_astype((X), char16)
#define as_uchar(X) __builtin_astype((X), uchar)
#define as_uchar2(X) __builtin_astype((X), uchar2)
#define as_uchar3(X) __builtin_astype((X), uchar3)
#define as_uchar4(X) __builtin_astype((X), uchar4)
#define as_uchar8(X) __builtin_astype((X), uchar8)
#define as_uchar16(X) __builtin_astype((X), uchar16)
#define as_short(X) __builtin_astype((X), short)
#define as_short2(X) __builtin_astype((X), short2)
#define as_short3(X) __builtin_astype((X), short3)
#define as_short4(X) __builtin_astype((X), short4)
#define as_short8(X) __builtin_astype((X), short8)
#define as_short16(X) __builtin_astype((X), short16)
#define as_ushort(X) __builtin_astype((X), ushort)
#define as_ushort2(X) __builtin_astype((X), ushort2)
#define as_ushort3(X) __builtin_astype((X), ushort3)
#define as_ushort4(X) __builtin_astype((X), ushort4)
#define as_ushort8(X) __builtin_astype((X), ushort8)
#define as_ushort16(X) __builtin_astype((X), ushort16)
#define as_int(X) __builtin_astype((X), int)
#define as_int2(X) __builtin_astype((X), int2)
#define as_int3(X) __builtin_astype((X), int3)
#define as_int4(X) __builtin_astype((X), int4)
#define as_int8(X) __builtin_astype((X), int8)
#define as_int16(X) __builtin_astype((X), int16)
#define as_uint(X) __builtin_astype((X), uint)
#define as_uint2(X) __builtin_astype((X), uint2)
#define as_uint3(X) __builtin_astype((X), uint3)
#define as_uint4(X) __builtin_astype((X), uint4)
#define as_uint8(X) __builtin_astype((X), uint8)
#define as_uint16(X) __builtin_astype((X), uint16)
#define as_long(X) __builtin_astype((X), long)
#define as_long2(X) __builtin_astype((X), long2)
#define as_long3(X) __builtin_astype((X), long3)
#define as_long4(X) __builtin_astype((X), long4)
#define as_long8(X) __builtin_astype((X), long8)
#define as_long16(X) __builtin_astype((X), long16)
#define as_ulong(X) __builtin_astype((X), ulong)
#define as_ulong2(X) __builtin_astype((X), ulong2)
#define as_ulong3(X) __builtin_astype((X), ulong3)
#define as_ulong4(X) __builtin_astype((X), ulong4)
#define as_ulong8(X) __builtin_astype((X), ulong8)
#define as_ulong16(X) __builtin_astype((X), ulong16)
#define as_float(X) __builtin_astype((X), float)
#define as_float2(X) __builtin_astype((X), float2)
#define as_float3(X) __builtin_astype((X), float3)
#define as_float4(X) __builtin_astype((X), float4)
#define as_float8(X) __builtin_astype((X), float8)
#define as_float16(X) __builtin_astype((X), float16)
#define as_double(X) __builtin_astype((X), double)
#define as_double2(X) __builtin_astype((X), double2)
#define as_double3(X) __builtin_astype((X), double3)
#define as_double4(X) __builtin_astype((X), double4)
#define as_double8(X) __builtin_astype((X), double8)
#define as_double16(X) __builtin_astype((X), double16)
#define as_half(X) __builtin_astype((X), half)
#define as_half2(X) __builtin_astype((X), half2)
#define as_half3(X) __builtin_astype((X), half3)
#define as_half4(X) __builtin_astype((X), half4)
#define as_half8(X) __builtin_astype((X), half8)
#define as_half16(X) __builtin_astype((X), half16)
#define as_size_t(X) __builtin_astype((X), size_t)
#define as_ptrdiff_t(X) __builtin_astype((X), ptrdiff_t)
#define as_intptr_t(X) __builtin_astype((X), intptr_t)
#define as_uintptr_t(X) __builtin_astype((X), uintptr_t)

#if __OPENCL_C_VERSION__ >= 120
int printf(__constant const char *, ...) __attribute__((format(printf, 1, 2)));
#endif

/* cl_intel_subgroups and its kin: shuffles, and reads and writes of blocks. */
#define XEEMU_OVERLOAD __attribute__((overloadable))
#define XEEMU_SHUFFLES(T)                                       \
  T XEEMU_OVERLOAD intel_sub_group_shuffle(T, uint);            \
  T XEEMU_OVERLOAD intel_sub_group_shuffle_down(T, T, uint);    \
  T XEEMU_OVERLOAD intel_sub_group_shuffle_up(T, T, uint);      \
  T XEEMU_OVERLOAD intel_sub_group_shuffle_xor(T, uint);
#define XEEMU_ALL_SHUFFLES(T) \
  XEEMU_SHUFFLES(T) XEEMU_SHUFFLES(T##2) XEEMU_SHUFFLES(T##3) XEEMU_SHUFFLES(T##4) XEEMU_SHUFFLES(T##8) XEEMU_SHUFFLES(T##16)
XEEMU_ALL_SHUFFLES(char)
XEEMU_ALL_SHUFFLES(uchar)
XEEMU_ALL_SHUFFLES(short)
XEEMU_ALL_SHUFFLES(ushort)
XEEMU_ALL_SHUFFLES(int)
XEEMU_ALL_SHUFFLES(uint)
XEEMU_ALL_SHUFFLES(float)
XEEMU_SHUFFLES(half)
XEEMU_SHUFFLES(long)
XEEMU_SHUFFLES(ulong)
XEEMU_SHUFFLES(double)
#define XEEMU_BLOCKS(S, T, N)                                                       \
  T##N XEEMU_OVERLOAD intel_sub_group_block_read##S##N(const __global T *);         \
  T##N XEEMU_OVERLOAD intel_sub_group_block_read##S##N(const __local T *);          \
  void XEEMU_OVERLOAD intel_sub_group_block_write##S##N(__global T *, T##N);        \
  void XEEMU_OVERLOAD intel_sub_group_block_write##S##N(__local T *, T##N);         \
  T##N XEEMU_OVERLOAD intel_sub_group_block_read##S##N(__read_only image2d_t, int2); \
  void XEEMU_OVERLOAD intel_sub_group_block_write##S##N(__write_only image2d_t, int2, T##N);
#define XEEMU_ALL_BLOCKS(S, T) XEEMU_BLOCKS(S, T, ) XEEMU_BLOCKS(S, T, 2) XEEMU_BLOCKS(S, T, 4) XEEMU_BLOCKS(S, T, 8)
XEEMU_ALL_BLOCKS(, uint)
XEEMU_ALL_BLOCKS(_ui, uint)
XEEMU_ALL_BLOCKS(_us, ushort)
XEEMU_ALL_BLOCKS(_uc, uchar)
XEEMU_ALL_BLOCKS(_ul, ulong)
XEEMU_BLOCKS(_us, ushort, 16)
XEEMU_BLOCKS(_uc, uchar, 16)

#if __clang_major__ < 15
/* cl_khr_subgroup_rotate. */
#define XEEMU_ROTATES(T)                          \
  T XEEMU_OVERLOAD sub_group_rotate(T, int);       \
  T XEEMU_OVERLOAD sub_group_clustered_rotate(T, int, uint);
XEEMU_ROTATES(char)
XEEMU_ROTATES(uchar)
XEEMU_ROTATES(short)
XEEMU_ROTATES(ushort)
XEEMU_ROTATES(int)
XEEMU_ROTATES(uint)
XEEMU_ROTATES(long)
XEEMU_ROTATES(ulong)
XEEMU_ROTATES(half)
XEEMU_ROTATES(float)
XEEMU_ROTATES(double)
#endif

/* cl_khr_work_group_uniform_arithmetic. */
#define XEEMU_UNIFORM(T, NAME)                                       \
  T XEEMU_OVERLOAD work_group_reduce_##NAME(T);                      \
  T XEEMU_OVERLOAD work_group_scan_inclusive_##NAME(T);              \
  T XEEMU_OVERLOAD work_group_scan_exclusive_##NAME(T);
#define XEEMU_BITWISE(T) XEEMU_UNIFORM(T, and) XEEMU_UNIFORM(T, or) XEEMU_UNIFORM(T, xor) XEEMU_UNIFORM(T, mul)
XEEMU_BITWISE(int)
XEEMU_BITWISE(uint)
XEEMU_BITWISE(long)
XEEMU_BITWISE(ulong)
XEEMU_UNIFORM(half, mul)
XEEMU_UNIFORM(float, mul)
XEEMU_UNIFORM(double, mul)
XEEMU_UNIFORM(int, logical_and)
XEEMU_UNIFORM(int, logical_or)
XEEMU_UNIFORM(int, logical_xor)
int intel_sub_group_any(int);
int intel_sub_group_all(int);
#endif

"""The base header: every function of OpenCL C and of the extensions is declared, in each version that has it."""

import pytest

from xeemu.frontends.parsing import clang, options, programs

pytest.importorskip("clang.cindex")

KERNEL = """
__kernel void k(
    global float *gf, global float4 *gf4, global int *gi, local float *lf, local float4 *lf4, local int *li,
    constant float *cf, global half *gh, global uint *gu, global long *gl, global ulong *gul, global ushort *gus,
    global uchar *guc, local uint *lu, read_only image2d_t im, write_only image2d_t wim, read_only image3d_t im3,
    write_only image3d_t wim3, read_only image2d_array_t ima, read_only image1d_t im1, read_only image1d_buffer_t imb,
    write_only image1d_buffer_t wimb, sampler_t s1 %s)
{
    float f = 1; float2 f2 = 1; float3 f3 = 1; float4 f4 = 1; half h = 1; half2 h2 = 1; half4 h4 = 1; double d = 1;
    double4 d4 = 1; int i = 1; int2 i2 = 1; int3 i3 = 1; int4 i4 = 1; int16 i16 = 1; uint u = 1; uint2 u2 = 1;
    uint4 u4 = 1; short s = 1; ushort us = 1; ushort4 us4 = 1; long l = 1; ulong ul = 1; char c = 1; uchar4 uc4 = 1;
    float pf[16];
    %s
}
"""
ATOMIC = """, global atomic_int *gai, global atomic_uint *gau, local atomic_int *lai, global atomic_flag *gaf,
    global atomic_float *gaf32, global atomic_long *gal"""
ALWAYS = """
    acos(f); acosh(f4); acospi(f); asin(f); asinh(f); asinpi(f); atan(f); atan2(f, f); atanh(f); atanpi(f);
    atan2pi(f, f); cbrt(f); ceil(f); copysign(f, f); cos(f); cosh(f); cospi(f); erfc(f); erf(f); exp(f); exp2(f);
    exp10(f); expm1(f); fabs(f); fdim(f, f); floor(f); fma(f, f, f); fmax(f, f); fmax(f4, f); fmin(f, f); fmod(f, f);
    fract(f, &f); fract(f4, gf4); frexp(f, &i); frexp(f, gi); hypot(f, f); ilogb(f); ldexp(f, i); lgamma(f);
    lgamma_r(f, &i); log(f); log2(f); log10(f); log1p(f); logb(f); mad(f, f, f); maxmag(f, f); minmag(f, f);
    modf(f, &f); nan(u); nextafter(f, f); pow(f, f); pown(f, i); powr(f, f); remainder(f, f); remquo(f, f, &i);
    rint(f); rootn(f, i); round(f); rsqrt(f); sin(f); sincos(f, &f); sinh(f); sinpi(f); sqrt(f); tan(f); tanh(f);
    tanpi(f); tgamma(f); trunc(f);
    half_cos(f); half_divide(f, f); half_exp(f); half_exp2(f); half_exp10(f); half_log(f); half_log2(f);
    half_log10(f); half_powr(f, f); half_recip(f); half_rsqrt(f); half_sin(f); half_sqrt(f); half_tan(f);
    native_cos(f); native_divide(f, f); native_exp(f); native_exp2(f); native_exp10(f); native_log(f);
    native_log2(f); native_log10(f); native_powr(f, f); native_recip(f); native_rsqrt(f); native_sin(f);
    native_sqrt(f); native_tan(f);
    sin(h); fma(h4, h4, h4); sin(d); fma(d4, d4, d4); exp(h2); convert_half(f); convert_half4_rtz(f4);
    convert_double(i);
    abs(i); abs_diff(i, i); add_sat(i, i); hadd(i, i); rhadd(i, i); clamp(i, i, i); clz(i); mad_hi(i, i, i);
    mad_sat(i, i, i); max(i, i); min(i4, i); mul_hi(i, i); rotate(i, i); sub_sat(i, i); upsample(s, us); popcount(i);
    mad24(i, i, i); mul24(i, i); clamp(f, f, f); degrees(f); max(f, f); min(f, f); mix(f, f, f); mix(f4, f4, f);
    radians(f); step(f, f); smoothstep(f, f, f); sign(f);
    cross(f4, f4); dot(f4, f4); distance(f4, f4); length(f4); normalize(f4); fast_distance(f4, f4); fast_length(f4);
    fast_normalize(f4);
    isequal(f, f); isnotequal(f, f); isgreater(f, f); isgreaterequal(f, f); isless(f4, f4); islessequal(f, f);
    islessgreater(f, f); isfinite(f); isinf(f); isnan(f4); isnormal(f); isordered(f, f); isunordered(f, f);
    signbit(f); any(i4); all(i4); bitselect(f, f, f); select(f, f, i); select(f4, f4, i4);
    vload2(0, gf); vload3(0, lf); vload4(0, cf); vload8(0, gf); vload16(0, gf); vstore2(f2, 0, gf);
    vstore3(f3, 0, lf); vstore4(f4, 0, gf); vload_half(0, gh); vload_half4(0, gh); vstore_half(f, 0, gh);
    vstore_half_rte(f, 0, gh); vstore_half4_rtz(f4, 0, gh); vloada_half4(0, gh); vstorea_half4(f4, 0, gh);
    vload4(0, pf); vstore4(f4, 0, pf);
    barrier(CLK_LOCAL_MEM_FENCE); mem_fence(CLK_GLOBAL_MEM_FENCE); read_mem_fence(1); write_mem_fence(1);
    async_work_group_copy(lf, gf, 16, 0); async_work_group_copy(gf, lf, 16, 0);
    async_work_group_strided_copy(lf, gf, 16, 2, 0); prefetch(gf, 16);
    async_work_group_copy(lf4, (const global float4*)gf4, 4, 0);
    atomic_add(gi, 1); atomic_sub(gi, 1); atomic_xchg(gi, 1); atomic_xchg(gf, f); atomic_inc(gi); atomic_dec(li);
    atomic_cmpxchg(gi, 1, 2); atomic_min(gi, 1); atomic_max(gi, 1); atomic_and(gi, 1); atomic_or(li, 1);
    atomic_xor(gu, 1); atom_add(gi, 1); atom_inc(gi); atom_cmpxchg(gl, l, l); atom_add(gl, l); atom_min(gl, l);
    atom_xchg(gi, 1); atom_max(gul, ul);
    shuffle(f4, u4); shuffle2(f4, f4, u4); vec_step(f4);
    get_work_dim(); get_global_size(0); get_global_id(0); get_local_size(0); get_local_id(0); get_num_groups(0);
    get_group_id(0); get_global_offset(0);
    read_imagef(im, s1, i2); read_imagef(im, s1, f2); read_imagef(im, i2); read_imagei(im, s1, i2);
    read_imageui(im, s1, i2); write_imagef(wim, i2, f4); write_imagei(wim, i2, i4); write_imageui(wim, i2, u4);
    get_image_width(im); get_image_height(im); get_image_depth(im3); get_image_dim(im);
    get_image_channel_data_type(im); get_image_channel_order(im); read_imagef(im3, s1, i4);
    write_imagef(wim3, i4, f4); read_imagef(ima, s1, i4); get_image_array_size(ima); read_imagef(im1, s1, i);
    read_imagef(imb, i); write_imagef(wimb, i, f4); read_imageh(im, s1, i2); write_imageh(wim, i2, h4);
    as_float(i); as_int(f); as_uint2(d); as_short2(i); as_float4(i4); as_uchar4(i); as_half(us); as_double(l);
    as_size_t(i);
    convert_int(f); convert_int_rte(f); convert_uchar4_sat(f4); convert_uchar4_sat_rtz(f4); convert_float4(i4);
    convert_long(f); convert_ulong_sat(f); convert_char16(i16); convert_float3_rtp(i3);
    printf("%d", i);
"""
SINCE_2_0 = """
    ctz(i); work_group_all(i); work_group_any(i); work_group_broadcast(i, 0); work_group_broadcast(i, 0, 0);
    work_group_reduce_add(i); work_group_reduce_min(f); work_group_reduce_max(f); work_group_scan_exclusive_add(i);
    work_group_scan_inclusive_max(l); work_group_barrier(CLK_LOCAL_MEM_FENCE);
    work_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_work_group);
    atomic_work_item_fence(CLK_LOCAL_MEM_FENCE, memory_order_acquire, memory_scope_device);
    atomic_init(gai, 1); atomic_store(gai, 1); atomic_load(gai); atomic_exchange(gai, 1); atomic_fetch_add(gai, 1);
    atomic_fetch_sub(gau, 1); atomic_fetch_or(gai, 1); atomic_fetch_min(lai, 1); atomic_fetch_max(gai, 1);
    atomic_fetch_add_explicit(gai, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(gai, 1, memory_order_relaxed, memory_scope_device);
    atomic_load_explicit(gai, memory_order_acquire, memory_scope_work_group);
    atomic_store_explicit(gai, 1, memory_order_release, memory_scope_work_group);
    atomic_compare_exchange_strong(gai, &i, 1);
    atomic_compare_exchange_weak_explicit(gai, &i, 1, memory_order_seq_cst, memory_order_relaxed, memory_scope_device);
    atomic_flag_test_and_set(gaf); atomic_flag_clear(gaf); atomic_fetch_add(gaf32, f);
    atomic_fetch_add_explicit(gaf32, f, memory_order_relaxed); atomic_fetch_min(gaf32, f); atomic_store(gaf32, f);
    atomic_exchange(gaf32, f); atomic_load(gal); atomic_fetch_add(gal, l);
    get_enqueued_local_size(0); get_global_linear_id(); get_local_linear_id(); get_sub_group_size();
    get_max_sub_group_size(); get_num_sub_groups(); get_enqueued_num_sub_groups(); get_sub_group_id();
    get_sub_group_local_id(); sub_group_barrier(CLK_LOCAL_MEM_FENCE);
    sub_group_barrier(CLK_LOCAL_MEM_FENCE, memory_scope_sub_group); sub_group_all(i); sub_group_any(i);
    sub_group_broadcast(f, 0); sub_group_reduce_add(f); sub_group_reduce_min(i); sub_group_reduce_max(l);
    sub_group_scan_exclusive_add(i); sub_group_scan_inclusive_min(u);
    int *pg = &i; to_global(pg); to_local(pg); to_private(pg); get_fence(pg);
"""
EXTENSIONS = """
    sub_group_shuffle(f, u); sub_group_shuffle_xor(f, u); sub_group_shuffle_up(f, u); sub_group_shuffle_down(f, u);
    sub_group_rotate(f, i); sub_group_clustered_rotate(f, i, 4); sub_group_elect(); sub_group_non_uniform_all(i);
    sub_group_non_uniform_any(i); sub_group_non_uniform_all_equal(i); sub_group_non_uniform_broadcast(f, u);
    sub_group_broadcast_first(f); sub_group_ballot(i); sub_group_inverse_ballot(u4);
    sub_group_ballot_bit_extract(u4, u); sub_group_ballot_bit_count(u4); sub_group_ballot_inclusive_scan(u4);
    sub_group_ballot_exclusive_scan(u4); sub_group_ballot_find_lsb(u4); sub_group_ballot_find_msb(u4);
    get_sub_group_eq_mask(); get_sub_group_lt_mask(); sub_group_non_uniform_reduce_add(i);
    sub_group_non_uniform_reduce_mul(f); sub_group_non_uniform_reduce_and(i);
    sub_group_non_uniform_reduce_logical_or(i); sub_group_non_uniform_scan_inclusive_xor(i);
    sub_group_clustered_reduce_add(f, 4); sub_group_clustered_reduce_and(i, 4); sub_group_broadcast(c, 0);
    sub_group_reduce_add(us); sub_group_broadcast(f4, 0);
    intel_sub_group_shuffle(f, u); intel_sub_group_shuffle_up(f, f, u); intel_sub_group_shuffle_down(i4, i4, u);
    intel_sub_group_shuffle_xor(f4, u); intel_sub_group_shuffle(us, u); intel_sub_group_shuffle(h, u);
    intel_sub_group_shuffle(d, u); intel_sub_group_block_read(gu); intel_sub_group_block_read4(gu);
    intel_sub_group_block_read8((const global uint*)gf); intel_sub_group_block_write(gu, u);
    intel_sub_group_block_write2(gu, u2); intel_sub_group_block_read_us(gus); intel_sub_group_block_read_us8(gus);
    intel_sub_group_block_write_us4(gus, us4); intel_sub_group_block_read_uc16(guc);
    intel_sub_group_block_read_ul(gul); intel_sub_group_block_write_ul(gul, ul); intel_sub_group_block_read(im, i2);
    intel_sub_group_block_read_ui2(gu); intel_sub_group_block_write(wim, i2, u); intel_sub_group_block_read(lu);
    intel_sub_group_block_read_us(im, i2);
    dot(uc4, uc4); dot_acc_sat(uc4, uc4, u); dot_4x8packed_uu_uint(u, u); dot_4x8packed_ss_int(u, u);
    dot_acc_sat_4x8packed_us_int(u, u, i); bitfield_insert(u, u, 1u, 2u); bitfield_extract_signed(i, 1u, 2u);
    bit_reverse(u); work_group_reduce_mul(i); work_group_reduce_and(i); work_group_reduce_logical_and(i);
    work_group_scan_inclusive_or(i);
"""
CONSTANTS = """
    CLK_LOCAL_MEM_FENCE; CLK_GLOBAL_MEM_FENCE; CLK_IMAGE_MEM_FENCE; memory_order_acq_rel; memory_scope_device;
    memory_scope_all_svm_devices; memory_scope_all_devices; M_E; M_LOG2E_F; M_LN2_H; M_2_SQRTPI; M_SQRT1_2_F; MAXFLOAT;
    HUGE_VAL; HUGE_VALF; INFINITY; NAN; FLT_DIG; FLT_EPSILON; FLT_MIN_10_EXP; DBL_MAX; DBL_MANT_DIG; HALF_MAX;
    HALF_EPSILON; CHAR_BIT; SCHAR_MIN; UCHAR_MAX; SHRT_MIN; USHRT_MAX; INT_MIN; UINT_MAX; LONG_MIN; ULONG_MAX;
    FP_ILOGB0; FP_ILOGBNAN; CLK_NORMALIZED_COORDS_TRUE; CLK_ADDRESS_MIRRORED_REPEAT; CLK_FILTER_LINEAR; CLK_RGBA;
    CLK_UNORM_INT8; NULL; __OPENCL_VERSION__; __OPENCL_C_VERSION__; __ENDIAN_LITTLE__; __IMAGE_SUPPORT__;
"""


@pytest.mark.parametrize("std", ["CL1.2", "CL2.0", "CL3.0"])
def test_every_function_is_declared_and_read(std):
    later = SINCE_2_0 if std != "CL1.2" else ""
    calls = ALWAYS + later + EXTENSIONS + CONSTANTS
    text = KERNEL % (ATOMIC if later else "", calls)
    (kernel,) = programs.program(text, std=std).kernels
    assert len(kernel.body.statements) == text.count(";")


def test_the_header_itself_has_no_errors_in_any_version():
    for std in options.VERSIONS:
        _, errors = clang.parse("empty.cl", "", options.arguments("", [], std))
        assert errors.count == 0, errors.shown

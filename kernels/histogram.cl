// The kernels of histogram.py in OpenCL C. BINS and FIELD_BITS are the kernels' static parameters; each work-item counts
// BLOCK words, the words of a sub-group's work-items lying side by side. GROUP is the size of a work-group.

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define BLOCK 256

// Without sub-groups, as in PoCL 3.1, they are parts of 16 work-items, whose words are handed round in local memory.
#ifdef cl_intel_subgroups
#define SUB_GROUP get_max_sub_group_size()
#define SUB_GROUP_ID get_sub_group_id()
#define OF_16 __attribute__((intel_reqd_sub_group_size(16)))
#else
#define SUB_GROUP 16
#define SUB_GROUP_ID (get_local_id(0) / SUB_GROUP)
#define OF_16
#endif

// OpenCL C 1.x has no atomic loads and stores.
#if __OPENCL_C_VERSION__ >= 200
#define COUNTER atomic_uint
#define STORE(counter, x) atomic_store_explicit(counter, x, memory_order_relaxed)
#define LOAD(counter) atomic_load_explicit(counter, memory_order_relaxed)
#define ADD(counter, x) atomic_fetch_add_explicit(counter, x, memory_order_relaxed)
#else
#define COUNTER uint
#define STORE atomic_xchg
#define LOAD(counter) atomic_or(counter, 0)
#define ADD atomic_add
#endif

ulong load_block(global const ulong *data, uint k)
{
    size_t first = get_group_id(0) * get_local_size(0) * BLOCK + SUB_GROUP_ID * SUB_GROUP * BLOCK + SUB_GROUP * k;
#ifdef cl_intel_subgroups
    return intel_sub_group_block_read_ul(data + first);
#else
    return data[first + get_local_id(0) % SUB_GROUP];
#endif
}

OF_16
kernel void histogram_private(global const ulong *data, global ulong *hist)
{
    uint counts[BINS];
    for (uint bin = 0; bin < BINS; ++bin)
        counts[bin] = 0;
    for (uint k = 0; k < BLOCK; ++k) {
        ulong x = load_block(data, k);
        #pragma unroll
        for (uint j = 0; j < 8; ++j, x >>= 8)
            counts[x & 0x1F] += 1;
    }
    for (uint bin = 0; bin < BINS; ++bin)
        atom_add(&hist[bin], (ulong)counts[bin]);
}

OF_16
kernel void histogram_registers(global const ulong *data, global ulong *hist)
{
    uint counts[BINS / 16];
    uint lane = get_local_id(0) % 16;
    #pragma unroll
    for (uint r = 0; r < BINS / 16; ++r)
        counts[r] = 0;
#ifndef cl_intel_subgroups
    local ulong words[GROUP];
#endif

    for (uint k = 0; k < BLOCK; ++k) {
        ulong x = load_block(data, k);
#ifndef cl_intel_subgroups
        words[get_local_id(0)] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        #pragma unroll
        for (uint j = 0; j < 16; ++j) {
#ifdef cl_intel_subgroups
            ulong y = sub_group_broadcast(x, j);
#else
            ulong y = words[get_local_id(0) - lane + j];
#endif
            #pragma unroll
            for (uint field = 0; field < 8; ++field, y >>= 8) {
                uint c = y & 0xFF, mine = lane == (c & 15);
                #pragma unroll
                for (uint r = 0; r < BINS / 16; ++r)
                    counts[r] += mine && r == c / 16;
            }
        }
#ifndef cl_intel_subgroups
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    #pragma unroll
    for (uint r = 0; r < BINS / 16; ++r)
        atom_add(&hist[16 * r + lane], (ulong)counts[r]);
}

kernel void histogram_slm(global const ulong *data, global ulong *hist)
{
    local COUNTER bins[BINS];
    uint lid = get_local_id(0);

    #pragma unroll
    for (uint bin = lid; bin < BINS; bin += GROUP)
        STORE(&bins[bin], 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < BLOCK; ++k) {
        ulong x = load_block(data, k);
        #pragma unroll
        for (uint shift = 0; shift < 64; shift += FIELD_BITS)
            ADD(&bins[(x >> shift) & (BINS - 1)], 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    #pragma unroll
    for (uint bin = lid; bin < BINS; bin += GROUP)
        atom_add(&hist[bin], (ulong)LOAD(&bins[bin]));
}

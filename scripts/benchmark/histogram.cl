// kernels/histogram.py in OpenCL C. BINS and FIELD_BITS are the kernels' static parameters; each work-item counts
// BLOCK words, the words of SUB_GROUP work-items lying side by side.

#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable

#define BLOCK 256
#define SUB_GROUP 16
#define GROUP 64

ulong load_block(global const ulong *data, uint k)
{
    size_t sub_group = get_global_id(0) / SUB_GROUP, lane = get_global_id(0) % SUB_GROUP;
    return data[sub_group * SUB_GROUP * BLOCK + SUB_GROUP * k + lane];
}

kernel void histogram_private(global const ulong *data, global ulong *hist)
{
    uint counts[BINS];
    for (uint bin = 0; bin < BINS; ++bin)
        counts[bin] = 0;
    for (uint k = 0; k < BLOCK; ++k) {
        ulong x = load_block(data, k);
        for (uint j = 0; j < 8; ++j, x >>= 8)
            counts[x & 0x1F] += 1;
    }
    for (uint bin = 0; bin < BINS; ++bin)
        atom_add(&hist[bin], (ulong)counts[bin]);
}

// Without sub-groups, as in PoCL 3.1, words are handed round in local memory.
#ifdef cl_intel_required_subgroup_size
__attribute__((intel_reqd_sub_group_size(SUB_GROUP)))
#endif
kernel void histogram_registers(global const ulong *data, global ulong *hist)
{
    uint counts[BINS / SUB_GROUP];
    uint lane = get_local_id(0) % SUB_GROUP;
    for (uint r = 0; r < BINS / SUB_GROUP; ++r)
        counts[r] = 0;
#ifndef cl_intel_required_subgroup_size
    local ulong words[GROUP];
#endif

    for (uint k = 0; k < BLOCK; ++k) {
        ulong x = load_block(data, k);
#ifndef cl_intel_required_subgroup_size
        words[get_local_id(0)] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
        for (uint j = 0; j < SUB_GROUP; ++j) {
#ifdef cl_intel_required_subgroup_size
            ulong y = sub_group_broadcast(x, j);
#else
            ulong y = words[get_local_id(0) - lane + j];
#endif
            for (uint field = 0; field < 8; ++field, y >>= 8) {
                uint c = y & 0xFF;
                if (lane == (c & (SUB_GROUP - 1)))
                    counts[c / SUB_GROUP] += 1;
            }
        }
#ifndef cl_intel_required_subgroup_size
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    for (uint r = 0; r < BINS / SUB_GROUP; ++r)
        atom_add(&hist[SUB_GROUP * r + lane], (ulong)counts[r]);
}

kernel void histogram_slm(global const ulong *data, global ulong *hist)
{
    local uint bins[BINS];
    uint lid = get_local_id(0);

    for (uint bin = lid; bin < BINS; bin += GROUP)
        atomic_xchg(&bins[bin], 0);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < BLOCK; ++k) {
        ulong x = load_block(data, k);
        for (uint shift = 0; shift < 64; shift += FIELD_BITS)
            atomic_add(&bins[(x >> shift) & (BINS - 1)], 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint bin = lid; bin < BINS; bin += GROUP)
        atom_add(&hist[bin], (ulong)atomic_or(&bins[bin], 0));
}

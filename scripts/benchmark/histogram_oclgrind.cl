// histogram_slm of kernels/histogram.py for Oclgrind, in OpenCL C 1.2 without extensions, whose atomics have 32 bits.
// PLAIN_CLEAR clears the bins by stores that are not atomic.

#define BINS 256
#define SUB_GROUP 32

kernel void histogram_slm(global const ulong *data, global uint *hist, uint block)
{
    local uint bins[BINS];
    uint lid = get_local_id(0), size = get_local_size(0);

    for (uint bin = lid; bin < BINS; bin += size) {
#ifdef PLAIN_CLEAR
        bins[bin] = 0;
#else
        atomic_xchg(&bins[bin], 0);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    size_t first = get_group_id(0) * size * block + lid / SUB_GROUP * SUB_GROUP * block + lid % SUB_GROUP;
    for (uint k = 0; k < block; ++k) {
        ulong x = data[first + SUB_GROUP * k];
        for (uint shift = 0; shift < 64; shift += 8)
            atomic_add(&bins[(x >> shift) & (BINS - 1)], 1);
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint bin = lid; bin < BINS; bin += size)
        atomic_add(&hist[bin], atomic_or(&bins[bin], 0));
}

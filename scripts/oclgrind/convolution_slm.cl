// convolution_slm of kernels/convolution.py, in OpenCL C.

#define GROUP 256
#define TAPS 257
#define HALF (TAPS / 2)

kernel void convolution_slm(global const int *data, global const int *taps, global int *out)
{
    local int cache[GROUP + 2 * HALF];
    int i = get_global_id(0), lid = get_local_id(0);

    cache[lid + HALF] = data[i];
    if (lid == 0) {
        for (int j = 0; j < HALF; ++j)
            cache[j] = get_group_id(0) == 0 ? 0 : data[i - HALF + j];
    }
    if (lid == GROUP - 1) {
        for (int j = 0; j < HALF; ++j)
            cache[GROUP + HALF + j] = get_group_id(0) == get_num_groups(0) - 1 ? 0 : data[i + 1 + j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    int t = 0;
    for (int j = 0; j < TAPS; ++j)
        t += cache[lid + j] * taps[j];
    out[i] = t;
}

// The kernels of convolution.py in OpenCL C. GROUP is the size of a work-group, TAPS the number of taps.

#define HALF (TAPS / 2)

kernel void convolution_global(global const int *data, global const int *taps, global int *out)
{
    int n = get_global_size(0), i = get_global_id(0), group = get_group_id(0);
    int t = 0;

    if (group == 0 || group == n / GROUP - 1) {
        int first_tap = i < HALF ? HALF - i : 0;
        int first = i < HALF ? 0 : i - HALF;
        int count = i < HALF ? TAPS - first_tap : i + HALF >= n ? HALF + n - i : TAPS;
        for (int step = 0; step < count; ++step)
            t += data[first + step] * taps[first_tap + step];
    } else {
        for (int j = 0; j < TAPS; ++j)
            t += data[i - HALF + j] * taps[j];
    }
    out[i] = t;
}

kernel void convolution_slm(global const int *data, global const int *taps, global int *out)
{
    local int cache[GROUP + 2 * HALF];
    int i = get_global_id(0), lid = get_local_id(0), group = get_group_id(0);

    cache[lid + HALF] = data[i];
    if (lid == 0) {
        if (group == 0)
            for (int j = 0; j < HALF; ++j)
                cache[j] = 0;
        else
            for (int j = 0; j < HALF; ++j)
                cache[j] = data[i - HALF + j];
    }
    if (lid == GROUP - 1) {
        if (group == get_num_groups(0) - 1)
            for (int j = 0; j < HALF; ++j)
                cache[GROUP + HALF + j] = 0;
        else
            for (int j = 0; j < HALF; ++j)
                cache[GROUP + HALF + j] = data[i + 1 + j];
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    int t = 0;
    for (int j = 0; j < TAPS; ++j)
        t += cache[lid + j] * taps[j];
    out[i] = t;
}

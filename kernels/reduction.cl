// The kernels of reduction.py in OpenCL C. GROUP is the size of a work-group, a power of two.

void load_pairs(global const int *data, int elements, local int *partial)
{
    int lid = get_local_id(0), first = 2 * get_global_id(0);
    partial[lid] = 0;
    if (first < elements)
        partial[lid] = data[first] + data[first + 1];
    barrier(CLK_LOCAL_MEM_FENCE);
}

kernel void tree_reduction(global const int *data, int elements, global int *sums)
{
    local int partial[GROUP];
    int lid = get_local_id(0);
    load_pairs(data, elements, partial);
    for (int stride = 1; stride < GROUP; stride *= 2) {
        int index = 2 * stride * lid;
        if (index < GROUP)
            partial[index] += partial[index + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        sums[get_group_id(0)] = partial[0];
}

kernel void tree_reduction_sequential(global const int *data, int elements, global int *sums)
{
    local int partial[GROUP];
    int lid = get_local_id(0);
    load_pairs(data, elements, partial);
    for (int stride = GROUP / 2; stride > 0; stride /= 2) {
        if (lid < stride)
            partial[lid] += partial[lid + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0)
        sums[get_group_id(0)] = partial[0];
}

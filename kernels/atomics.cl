// The kernels of atomics.py in OpenCL C.

kernel void reduction_serial(global const int *data, int elements, global int *total)
{
    for (int i = 0; i < elements; ++i)
        total[0] += data[i];
}

kernel void reduction_racy(global const int *data, global int *total)
{
    total[0] += data[get_global_id(0)];
}

kernel void reduction_atomics(global const int *data, global int *total)
{
    atomic_add(total, data[get_global_id(0)]);
}

kernel void atomics_lab(global const int *data, global int *minimum, global int *maximum)
{
    int x = data[get_global_id(0)];
    atomic_min(minimum, x);
    atomic_max(maximum, x);
}

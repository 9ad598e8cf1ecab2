// The kernels of slm_bank.py in OpenCL C. STRIDE and ITERATIONS are the kernel's static parameters.

kernel void slm_bank(global int *data)
{
    local int slm[32 * 64];
    int i = get_global_id(0), j = get_local_id(0);

    slm[j * STRIDE] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int m = 0; m < ITERATIONS; ++m) {
        slm[j * STRIDE] += i * m;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    data[i] = slm[j * STRIDE];
}

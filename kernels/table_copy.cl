// The kernels of table_copy.py in OpenCL C. ENTRIES is the size of the table, for table_copy_loop the most that it may have.

void use(local const int *slm_table, int size, global int *out)
{
    int i = get_group_id(0) * get_local_size(0) + get_local_id(0);
    out[i] = slm_table[size - 1 - i % size];
}

kernel void table_copy_bad(global const int *table, global int *out)
{
    local int slm_table[ENTRIES];
    for (int index = 0; index < ENTRIES; ++index)
        slm_table[index] = table[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    use(slm_table, ENTRIES, out);
}

kernel void table_copy_good(global const int *table, global int *out)
{
    local int slm_table[ENTRIES];
    for (int index = get_local_id(0); index < ENTRIES; index += get_local_size(0))
        slm_table[index] = table[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    use(slm_table, ENTRIES, out);
}

kernel void table_copy_best(global const int *table, global int *out)
{
    local int slm_table[ENTRIES];
    int lidx = get_local_id(0), lidy = get_local_id(1);
    int index = lidx + lidy * get_local_size(0);
    slm_table[index] = table[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    int i = get_global_id(1) * get_global_size(0) + get_global_id(0);
    out[i] = slm_table[ENTRIES - 1 - i % ENTRIES];
}

kernel void table_copy_min(global const int *table, global int *out)
{
    local int slm_table[ENTRIES];
    int index = min((int)get_local_id(0), ENTRIES - 1);
    slm_table[index] = table[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    use(slm_table, ENTRIES, out);
}

kernel void table_copy_unrolled(global const int *table, global int *out)
{
    local int slm_table[ENTRIES];
    int lid = get_local_id(0);
    #pragma unroll
    for (int offset = 0; offset < ENTRIES; offset += get_local_size(0))
        slm_table[lid + offset] = table[lid + offset];
    barrier(CLK_LOCAL_MEM_FENCE);
    use(slm_table, ENTRIES, out);
}

kernel void table_copy_loop(global const int *table, int size, global int *out)
{
    local int slm_table[ENTRIES];
    for (int index = get_local_id(0); index < size; index += get_local_size(0))
        slm_table[index] = table[index];
    barrier(CLK_LOCAL_MEM_FENCE);
    use(slm_table, size, out);
}

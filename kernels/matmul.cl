// The kernels of matmul.py in OpenCL C, products of TILE x TILE matrices for as many pairs as there are work-groups.
// ROWS, COLUMNS and DEPTH are the sizes of the tiled product.

#ifndef TILE
#define TILE 16
#endif

kernel void matmul_naive(global const float *a, global const float *b, global float *c)
{
    int i = get_global_id(1), j = get_global_id(0), first = get_group_id(1) * TILE;
    float total = 0;
    for (int k = 0; k < TILE; ++k)
        total += a[i * TILE + k] * b[(first + k) * TILE + j];
    c[i * TILE + j] = total;
}

kernel void matmul_local(global const float *a, global const float *b, global float *c)
{
    local float a_local[TILE][TILE], b_local[TILE][TILE];
    int i = get_global_id(1), j = get_global_id(0), x = get_local_id(1), y = get_local_id(0);
    a_local[x][y] = a[i * TILE + j];
    b_local[x][y] = b[i * TILE + j];
    barrier(CLK_LOCAL_MEM_FENCE);

    float total = 0;
    for (int k = 0; k < TILE; ++k)
        total += a_local[x][k] * b_local[k][y];
    c[i * TILE + j] = total;
}

#ifdef ROWS
__attribute__((reqd_work_group_size(TILE, TILE, 1)))
kernel void matmul_tiled(global const float *a, global const float *b, global float *c)
{
    local float a_tile[TILE][TILE], b_tile[TILE][TILE];
    int i = get_global_id(1), j = get_global_id(0), x = get_local_id(1), y = get_local_id(0);

    float total = 0;
    for (int tile = 0; tile < (DEPTH + TILE - 1) / TILE; ++tile) {
        int row = tile * TILE + x, column = tile * TILE + y;
        a_tile[x][y] = i < ROWS && column < DEPTH ? a[i * DEPTH + column] : 0;
        b_tile[x][y] = row < DEPTH && j < COLUMNS ? b[row * COLUMNS + j] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        #pragma unroll
        for (int k = 0; k < TILE; ++k)
            total += a_tile[x][k] * b_tile[k][y];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < ROWS && j < COLUMNS)
        c[i * COLUMNS + j] = total;
}
#endif

// Products of matrices and vectors, sparse and dense, and steps of algorithms on matrices.

__kernel void product_naive(__global const float *restrict a, __global const float *restrict b, __global float *restrict c, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[y * n + k] * b[k * n + x];
    c[y * n + x] = sum;
}

#define PRODUCT_TILED(NAME, TYPE, T)                                                                                   \
    __kernel void NAME(__global const TYPE *restrict a, __global const TYPE *restrict b, __global TYPE *restrict c,    \
                       int n) {                                                                                        \
        __local TYPE ta[T][T], tb[T][T];                                                                               \
        int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);                    \
        TYPE sum = 0;                                                                                                  \
        for (int k0 = 0; k0 < n; k0 += T) {                                                                            \
            ta[ly][lx] = a[y * n + k0 + lx];                                                                           \
            tb[ly][lx] = b[(k0 + ly) * n + x];                                                                         \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
            for (int k = 0; k < T; k++) sum += ta[ly][k] * tb[k][lx];                                                  \
            barrier(CLK_LOCAL_MEM_FENCE);                                                                              \
        }                                                                                                              \
        c[y * n + x] = sum;                                                                                            \
    }
PRODUCT_TILED(product_tiled8, float, 8)
PRODUCT_TILED(product_tiled16, float, 16)
PRODUCT_TILED(product_tiled32, float, 32)
PRODUCT_TILED(product_tiled16_double, double, 16)

// Tiles of 64 x 64 by 16 x 16 work-items, 4 x 4 results each, 16 apart.
__kernel void product_registers4(__global const float *restrict a, __global const float *restrict b, __global float *restrict c, int n) {
    __local float ta[16][65], tb[16][64];
    int lx = get_local_id(0), ly = get_local_id(1), x0 = get_group_id(0) * 64, y0 = get_group_id(1) * 64, l = ly * 16 + lx;
    float sum[4][4];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) sum[i][j] = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 16) {
        for (int r = 0; r < 4; r++) {
            ta[lx][ly + 16 * r] = a[(y0 + ly + 16 * r) * n + k0 + lx];
            tb[l / 64 + 4 * r][l % 64] = b[(k0 + l / 64 + 4 * r) * n + x0 + l % 64];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 16; k++) {
            float u[4], v[4];
            for (int i = 0; i < 4; i++) {
                u[i] = ta[k][ly + 16 * i];
                v[i] = tb[k][lx + 16 * i];
            }
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) sum[i][j] += u[i] * v[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) c[(y0 + ly + 16 * i) * n + x0 + lx + 16 * j] = sum[i][j];
}

// Tiles of 128 x 128 by 16 x 16 work-items, 8 x 8 results each, 8 deep.
__kernel void product_registers8(__global const float *restrict a, __global const float *restrict b, __global float *restrict c, int n) {
    __local float ta[8][132], tb[8][128];
    int lx = get_local_id(0), ly = get_local_id(1), x0 = get_group_id(0) * 128, y0 = get_group_id(1) * 128, l = ly * 16 + lx;
    float sum[8][8];
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) sum[i][j] = 0.0f;
    for (int k0 = 0; k0 < n; k0 += 8) {
        for (int r = 0; r < 4; r++) {
            ta[l % 8][l / 8 + 32 * r] = a[(y0 + l / 8 + 32 * r) * n + k0 + l % 8];
            tb[l / 128 + 2 * r][l % 128] = b[(k0 + l / 128 + 2 * r) * n + x0 + l % 128];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 8; k++) {
            float u[8], v[8];
            for (int i = 0; i < 8; i++) {
                u[i] = ta[k][ly + 16 * i];
                v[i] = tb[k][lx + 16 * i];
            }
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) sum[i][j] += u[i] * v[j];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8; j++) c[(y0 + ly + 16 * i) * n + x0 + lx + 16 * j] = sum[i][j];
}

// A row each work-item.
__kernel void vector_rows(__global const float *restrict a, __global const float *restrict x, __global float *restrict y, int n) {
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[row * n + k] * x[k];
    y[row] = sum;
}

// A column of the transposed matrix each work-item.
__kernel void vector_columns(__global const float *restrict a, __global const float *restrict x, __global float *restrict y, int n, int rows) {
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < n; k++) sum += a[k * rows + row] * x[k];
    y[row] = sum;
}

// A row each sub-group.
__kernel void vector_shuffles(__global const float *restrict a, __global const float *restrict x, __global float *restrict y, int n) {
    int row = get_global_id(0) / 32, lane = get_global_id(0) % 32;
    float sum = 0.0f;
    for (int k = lane; k < n; k += 32) sum += a[row * n + k] * x[k];
    for (int s = 16; s > 0; s /= 2) sum += sub_group_shuffle_xor(sum, s);
    if (lane == 0) y[row] = sum;
}

// A row each work-group of 128, four elements at a time.
__kernel void vector_groups(__global const float4 *restrict a, __global const float4 *restrict x, __global float *restrict y, int n) {
    __local float part[128];
    int row = get_group_id(0), l = get_local_id(0);
    float sum = 0.0f;
    for (int k = l; k < n / 4; k += 128) {
        float4 u = a[row * (n / 4) + k], v = x[k];
        sum += u.x * v.x + u.y * v.y + u.z * v.z + u.w * v.w;
    }
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 64; s > 0; s /= 2) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) y[row] = part[0];
}

__kernel void sparse_scalar(__global const int *restrict begin, __global const int *restrict column, __global const float *restrict value,
                            __global const float *restrict x, __global float *restrict y) {
    int row = get_global_id(0), end = begin[row + 1];
    float sum = 0.0f;
    for (int k = begin[row]; k < end; k++) sum += value[k] * x[column[k]];
    y[row] = sum;
}

__kernel void sparse_vector(__global const int *restrict begin, __global const int *restrict column, __global const float *restrict value,
                            __global const float *restrict x, __global float *restrict y) {
    int row = get_global_id(0) / 32, lane = get_global_id(0) % 32, end = begin[row + 1];
    float sum = 0.0f;
    for (int k = begin[row] + lane; k < end; k += 32) sum += value[k] * x[column[k]];
    for (int s = 16; s > 0; s /= 2) sum += sub_group_shuffle_xor(sum, s);
    if (lane == 0) y[row] = sum;
}

// All rows of one width, column by column.
__kernel void sparse_ell(__global const int *restrict column, __global const float *restrict value, __global const float *restrict x,
                         __global float *restrict y, int width, int rows) {
    int row = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < width; k++) sum += value[k * rows + row] * x[column[k * rows + row]];
    y[row] = sum;
}

__kernel void floyd(__global float *restrict d, int n, int k) {
    int x = get_global_id(0), y = get_global_id(1);
    d[y * n + x] = fmin(d[y * n + x], d[y * n + k] + d[k * n + x]);
}

// Work-groups of 256 x 1, four rows a work-item.
__kernel void floyd_four(__global float *restrict d, int n, int k) {
    int x = get_global_id(0), y0 = get_global_id(1) * 4;
    float there = d[k * n + x];
    for (int r = 0; r < 4; r++) {
        int y = y0 + r;
        d[y * n + x] = fmin(d[y * n + x], d[y * n + k] + there);
    }
}

// A step of an LU factorisation: rows and columns behind k.
__kernel void lu_step(__global float *restrict a, int n, int k) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x > k && y > k) a[y * n + x] -= a[y * n + k] / a[k * n + k] * a[k * n + x];
}

// Eight steps at once of a panel that is done; work-groups of 16 x 16.
__kernel void lu_panel(__global float *restrict a, __global const float *restrict left, __global const float *restrict top, int n) {
    __local float tl[16][8], tt[8][16];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    if (lx < 8) tl[ly][lx] = left[y * 8 + lx];
    if (ly < 8) tt[ly][lx] = top[ly * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = a[y * n + x];
    for (int k = 0; k < 8; k++) sum -= tl[ly][k] * tt[k][lx];
    a[y * n + x] = sum;
}

// Forward substitution of one block of 64 for many right-hand sides, a work-item each.
__kernel void triangular(__global const float *restrict l, __global float *restrict b, int rows, int count) {
    int j = get_global_id(0);
    for (int i = 0; i < rows; i++) {
        float sum = b[i * count + j];
        for (int k = 0; k < i; k++) sum -= l[i * rows + k] * b[k * count + j];
        b[i * count + j] = sum / l[i * rows + i];
    }
}

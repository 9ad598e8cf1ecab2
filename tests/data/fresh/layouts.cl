// How data lie: transposes, particles, strides, gathers, bytes.

__kernel void transpose_double(__global const double *restrict a, __global double *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    b[x * n + y] = a[y * n + x];
}

// Work-groups of 16 x 16.
__kernel void transpose_double_local(__global const double *restrict a, __global double *restrict b, int n) {
    __local double tile[16][16];
    int lx = get_local_id(0), ly = get_local_id(1), x0 = get_group_id(0) * 16, y0 = get_group_id(1) * 16;
    tile[ly][lx] = a[(y0 + ly) * n + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[(x0 + ly) * n + y0 + lx] = tile[lx][ly];
}

__kernel void transpose_double_padded(__global const double *restrict a, __global double *restrict b, int n) {
    __local double tile[16][17];
    int lx = get_local_id(0), ly = get_local_id(1), x0 = get_group_id(0) * 16, y0 = get_group_id(1) * 16;
    tile[ly][lx] = a[(y0 + ly) * n + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[(x0 + ly) * n + y0 + lx] = tile[lx][ly];
}

__kernel void transpose_float4(__global const float4 *restrict a, __global float4 *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    b[x * n + y] = a[y * n + x];
}

// Work-groups of 16 x 16.
__kernel void transpose_float4_local(__global const float4 *restrict a, __global float4 *restrict b, int n) {
    __local float4 tile[16][17];
    int lx = get_local_id(0), ly = get_local_id(1), x0 = get_group_id(0) * 16, y0 = get_group_id(1) * 16;
    tile[ly][lx] = a[(y0 + ly) * n + x0 + lx];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[(x0 + ly) * n + y0 + lx] = tile[lx][ly];
}

typedef struct { float x, y, z, mass, vx, vy, vz, charge; } particle;
__kernel void particles_aos(__global particle *restrict p, float dt) {
    int i = get_global_id(0);
    p[i].x += dt * p[i].vx;
    p[i].y += dt * p[i].vy;
    p[i].z += dt * p[i].vz;
}

__kernel void particles_soa(__global float *restrict x, __global float *restrict y, __global float *restrict z,
                            __global const float *restrict vx, __global const float *restrict vy,
                            __global const float *restrict vz, float dt) {
    int i = get_global_id(0);
    x[i] += dt * vx[i];
    y[i] += dt * vy[i];
    z[i] += dt * vz[i];
}

// 32 particles side by side: 8 fields of 32 floats.
__kernel void particles_aosoa(__global float *restrict p, float dt) {
    int i = get_global_id(0), at = (i / 32) * 256 + i % 32;
    p[at] += dt * p[at + 128];
    p[at + 32] += dt * p[at + 160];
    p[at + 64] += dt * p[at + 192];
}

// Two float4 each.
__kernel void particles_float4(__global float4 *restrict p, float dt) {
    int i = get_global_id(0);
    float4 at = p[2 * i], v = p[2 * i + 1];
    at.x += dt * v.x;
    at.y += dt * v.y;
    at.z += dt * v.z;
    p[2 * i] = at;
}

__kernel void strided_copy(__global const float *restrict a, __global float *restrict b, int from, int to) {
    int i = get_global_id(0);
    b[i * to] = a[i * from];
}

__kernel void strided_copy_double(__global const double *restrict a, __global double *restrict b, int from, int to) {
    int i = get_global_id(0);
    b[i * to] = a[i * from];
}

__kernel void gather(__global const int *restrict index, __global const float *restrict a, __global float *restrict b) {
    int i = get_global_id(0);
    b[i] = a[index[i]];
}

__kernel void gather_double(__global const int *restrict index, __global const double *restrict a, __global double *restrict b) {
    int i = get_global_id(0);
    b[i] = a[index[i]];
}

__kernel void gather_float4(__global const int *restrict index, __global const float4 *restrict a, __global float4 *restrict b) {
    int i = get_global_id(0);
    b[i] = a[index[i]];
}

// Four independent loads by work-item.
__kernel void gather_sum4(__global const int *restrict index, __global const float *restrict a, __global float *restrict b, int n) {
    int i = get_global_id(0);
    b[i] = a[index[i]] + a[index[i + n]] + a[index[i + 2 * n]] + a[index[i + 3 * n]];
}

__kernel void scatter(__global const int *restrict index, __global const float *restrict a, __global float *restrict b) {
    int i = get_global_id(0);
    b[index[i]] = a[i];
}

__kernel void chase(__global const int *restrict next, __global int *restrict end, int spread, int steps) {
    int i = get_global_id(0), at = i * spread;
    for (int k = 0; k < steps; k++) at = next[at];
    end[i] = at;
}

__kernel void gray_bytes(__global const uchar *restrict rgb, __global uchar *restrict gray) {
    int i = get_global_id(0);
    gray[i] = (uchar)((77 * rgb[3 * i] + 150 * rgb[3 * i + 1] + 29 * rgb[3 * i + 2]) >> 8);
}

__kernel void gray_uchar4(__global const uchar4 *restrict rgba, __global uchar *restrict gray) {
    int i = get_global_id(0);
    uchar4 c = rgba[i];
    gray[i] = (uchar)((77 * c.x + 150 * c.y + 29 * c.z) >> 8);
}

// Four pixels a work-item.
__kernel void gray_words(__global const uint *restrict rgba, __global uint *restrict gray) {
    int i = get_global_id(0);
    uint word = 0;
    for (int k = 0; k < 4; k++) {
        uint c = rgba[4 * i + k];
        word |= ((77 * (c & 255) + 150 * ((c >> 8) & 255) + 29 * ((c >> 16) & 255)) >> 8) << (8 * k);
    }
    gray[i] = word;
}

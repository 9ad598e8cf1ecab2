// Stencils and filters: Jacobi steps in two and three dimensions, separable filters, long filters, a median of nine.

__kernel void jacobi2d(__global const float *restrict a, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
        b[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x] + a[(y + 1) * n + x]);
}

__kernel void jacobi2d_local(__global const float *restrict a, __global float *restrict b, int n) {
    __local float tile[10][34];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
    tile[ly][lx] = a[y * n + x];
    if (lx == 1) tile[ly][0] = x > 0 ? a[y * n + x - 1] : 0.0f;
    if (lx == 32) tile[ly][33] = x < n - 1 ? a[y * n + x + 1] : 0.0f;
    if (ly == 1) tile[0][lx] = y > 0 ? a[(y - 1) * n + x] : 0.0f;
    if (ly == 8) tile[9][lx] = y < n - 1 ? a[(y + 1) * n + x] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1)
        b[y * n + x] = 0.25f * (tile[ly][lx - 1] + tile[ly][lx + 1] + tile[ly - 1][lx] + tile[ly + 1][lx]);
}

// Eight rows a work-item, three of which are at hand.
__kernel void jacobi2d_march(__global const float *restrict a, __global float *restrict b, int n) {
    int x = get_global_id(0), y0 = get_global_id(1) * 8;
    if (x == 0 || x >= n - 1) return;
    float up = y0 > 0 ? a[(y0 - 1) * n + x] : 0.0f, mid = a[y0 * n + x];
    for (int r = 0; r < 8; r++) {
        int y = y0 + r;
        float down = y + 1 < n ? a[(y + 1) * n + x] : 0.0f;
        if (y > 0 && y < n - 1) b[y * n + x] = 0.25f * (a[y * n + x - 1] + a[y * n + x + 1] + up + down);
        up = mid;
        mid = down;
    }
}

__kernel void jacobi3d(__global const float *restrict a, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2), i = (z * n + y) * n + x;
    if (x > 0 && x < n - 1 && y > 0 && y < n - 1 && z > 0 && z < n - 1)
        b[i] = 0.4f * a[i] + 0.1f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - n * n] + a[i + n * n]);
}

__kernel void jacobi3d_march(__global const float *restrict a, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || x >= n - 1 || y == 0 || y >= n - 1) return;
    int i = n * n + y * n + x;
    float below = a[i - n * n], mid = a[i];
    for (int z = 1; z < n - 1; z++) {
        float above = a[i + n * n];
        b[i] = 0.4f * mid + 0.1f * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + below + above);
        below = mid;
        mid = above;
        i += n * n;
    }
}

__kernel void jacobi3d_local(__global const float *restrict a, __global float *restrict b, int n) {
    __local float plane[10][34];
    int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0) + 1, ly = get_local_id(1) + 1;
    bool inside = x > 0 && x < n - 1 && y > 0 && y < n - 1;
    int i = n * n + y * n + x;
    float below = a[i - n * n], mid = a[i];
    for (int z = 1; z < n - 1; z++) {
        float above = a[i + n * n];
        plane[ly][lx] = mid;
        if (lx == 1 && x > 0) plane[ly][0] = a[i - 1];
        if (lx == 32 && x < n - 1) plane[ly][33] = a[i + 1];
        if (ly == 1 && y > 0) plane[0][lx] = a[i - n];
        if (ly == 8 && y < n - 1) plane[9][lx] = a[i + n];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (inside)
            b[i] = 0.4f * mid + 0.1f * (plane[ly][lx - 1] + plane[ly][lx + 1] + plane[ly - 1][lx] + plane[ly + 1][lx] + below + above);
        barrier(CLK_LOCAL_MEM_FENCE);
        below = mid;
        mid = above;
        i += n * n;
    }
}

#define RADIUS 8
__kernel void filter_rows(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++) sum += w[k + RADIUS] * a[y * n + min(max(x + k, 0), n - 1)];
    b[y * n + x] = sum;
}

__kernel void filter_columns(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    float sum = 0.0f;
    for (int k = -RADIUS; k <= RADIUS; k++) sum += w[k + RADIUS] * a[min(max(y + k, 0), n - 1) * n + x];
    b[y * n + x] = sum;
}

// Work-groups of 128 x 1.
__kernel void filter_rows_local(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int n) {
    __local float line[128 + 2 * RADIUS];
    int x = get_global_id(0), y = get_global_id(1), l = get_local_id(0);
    line[l + RADIUS] = a[y * n + x];
    if (l < RADIUS) line[l] = a[y * n + max(x - RADIUS, 0)];
    if (l >= 128 - RADIUS) line[l + 2 * RADIUS] = a[y * n + min(x + RADIUS, n - 1)];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int k = 0; k <= 2 * RADIUS; k++) sum += w[k] * line[l + k];
    b[y * n + x] = sum;
}

// Work-groups of 32 x 8, four rows each work-item: a tile of 32 x 32 with its margin.
__kernel void filter_columns_local(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int n) {
    __local float tile[32 + 2 * RADIUS][32];
    int x = get_global_id(0), lx = get_local_id(0), ly = get_local_id(1), y0 = get_group_id(1) * 32;
    for (int r = ly; r < 32 + 2 * RADIUS; r += 8) tile[r][lx] = a[min(max(y0 + r - RADIUS, 0), n - 1) * n + x];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int r = ly; r < 32; r += 8) {
        float sum = 0.0f;
        for (int k = 0; k <= 2 * RADIUS; k++) sum += w[k] * tile[r + k][lx];
        b[(y0 + r) * n + x] = sum;
    }
}

__kernel void long_filter(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int taps) {
    int i = get_global_id(0);
    float sum = 0.0f;
    for (int k = 0; k < taps; k++) sum += w[k] * a[i + k];
    b[i] = sum;
}

// Work-groups of 256; at most 256 taps.
__kernel void long_filter_local(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int taps) {
    __local float part[512];
    __local float coefficients[256];
    int i = get_global_id(0), l = get_local_id(0);
    part[l] = a[i];
    part[l + 256] = a[i + 256];
    if (l < taps) coefficients[l] = w[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    float sum = 0.0f;
    for (int k = 0; k < taps; k++) sum += coefficients[k] * part[l + k];
    b[i] = sum;
}

// Four results a work-item, 64 apart; work-groups of 64.
__kernel void long_filter_four(__global const float *restrict a, __global const float *restrict w, __global float *restrict b, int taps) {
    int i = get_group_id(0) * 256 + get_local_id(0);
    float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, s3 = 0.0f;
    for (int k = 0; k < taps; k++) {
        float c = w[k];
        s0 += c * a[i + k];
        s1 += c * a[i + 64 + k];
        s2 += c * a[i + 128 + k];
        s3 += c * a[i + 192 + k];
    }
    b[i] = s0;
    b[i + 64] = s1;
    b[i + 128] = s2;
    b[i + 192] = s3;
}

#define ORDER(p, q) { float low = fmin(p, q); q = fmax(p, q); p = low; }
__kernel void median9(__global const float *restrict a, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || x >= n - 1 || y == 0 || y >= n - 1) return;
    float p0 = a[(y - 1) * n + x - 1], p1 = a[(y - 1) * n + x], p2 = a[(y - 1) * n + x + 1];
    float p3 = a[y * n + x - 1], p4 = a[y * n + x], p5 = a[y * n + x + 1];
    float p6 = a[(y + 1) * n + x - 1], p7 = a[(y + 1) * n + x], p8 = a[(y + 1) * n + x + 1];
    ORDER(p1, p2) ORDER(p4, p5) ORDER(p7, p8) ORDER(p0, p1) ORDER(p3, p4) ORDER(p6, p7) ORDER(p1, p2) ORDER(p4, p5)
    ORDER(p7, p8) ORDER(p0, p3) ORDER(p5, p8) ORDER(p4, p7) ORDER(p3, p6) ORDER(p1, p4) ORDER(p2, p5) ORDER(p4, p7)
    ORDER(p4, p2) ORDER(p6, p4) ORDER(p4, p2)
    b[y * n + x] = p4;
}

// The same by an insertion sort of an array of each work-item.
__kernel void median9_sorted(__global const float *restrict a, __global float *restrict b, int n) {
    int x = get_global_id(0), y = get_global_id(1);
    if (x == 0 || x >= n - 1 || y == 0 || y >= n - 1) return;
    float v[9];
    for (int k = 0; k < 9; k++) v[k] = a[(y - 1 + k / 3) * n + x - 1 + k % 3];
    for (int i = 1; i < 9; i++) {
        float key = v[i];
        int j = i - 1;
        while (j >= 0 && v[j] > key) {
            v[j + 1] = v[j];
            j--;
        }
        v[j + 1] = key;
    }
    b[y * n + x] = v[4];
}

// Arithmetic, divergence, sorting, counting and tables.

#define BLACK_SCHOLES(NAME, TYPE, EXP, LOG, SQRT, ERFC)                                                                \
    __kernel void NAME(__global const TYPE *restrict price, __global const TYPE *restrict strike,                      \
                       __global const TYPE *restrict years, __global TYPE *restrict call, __global TYPE *restrict put) { \
        int i = get_global_id(0);                                                                                      \
        TYPE s = price[i], x = strike[i], t = years[i];                                                                \
        TYPE r = (TYPE)0.02, v = (TYPE)0.3, h = (TYPE)0.5, by = (TYPE)-0.70710678118654752;                         \
        TYPE root = SQRT(t), d1 = (LOG(s / x) + (r + h * v * v) * t) / (v * root), d2 = d1 - v * root;              \
        TYPE n1 = h * ERFC(by * d1), n2 = h * ERFC(by * d2), discounted = x * EXP(-r * t);                       \
        TYPE c = s * n1 - discounted * n2;                                                                             \
        call[i] = c;                                                                                                   \
        put[i] = c - s + discounted;                                                                                   \
    }
#define NORMAL(x) (2.0f / (1.0f + native_exp(2.2594f * (x) + 0.1996f * (x) * (x) * (x))))
BLACK_SCHOLES(black_scholes, float, exp, log, sqrt, erfc)
BLACK_SCHOLES(black_scholes_native, float, native_exp, native_log, native_sqrt, NORMAL)
BLACK_SCHOLES(black_scholes_double, double, exp, log, sqrt, erfc)

__kernel void mandelbrot(__global int *restrict out, int n, int most, float left, float top, float step) {
    int px = get_global_id(0), py = get_global_id(1), k = 0;
    float cx = left + step * px, cy = top + step * py, x = 0.0f, y = 0.0f;
    while (k < most && x * x + y * y < 4.0f) {
        float next = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = next;
        k++;
    }
    out[py * n + px] = k;
}

__kernel void bodies(__global const float4 *restrict p, __global float4 *restrict force, int n) {
    int i = get_global_id(0);
    float4 own = p[i];
    float fx = 0.0f, fy = 0.0f, fz = 0.0f;
    for (int k = 0; k < n; k++) {
        float4 q = p[k];
        float dx = q.x - own.x, dy = q.y - own.y, dz = q.z - own.z;
        float by = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f), w = q.w * by * by * by;
        fx += w * dx;
        fy += w * dy;
        fz += w * dz;
    }
    own.x = fx;
    own.y = fy;
    own.z = fz;
    force[i] = own;
}

// Through local memory, 128 at a time; work-groups of 128.
__kernel void bodies_local(__global const float4 *restrict p, __global float4 *restrict force, int n) {
    __local float4 tile[128];
    int i = get_global_id(0), l = get_local_id(0);
    float4 own = p[i];
    float fx = 0.0f, fy = 0.0f, fz = 0.0f;
    for (int base = 0; base < n; base += 128) {
        tile[l] = p[base + l];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 128; k++) {
            float4 q = tile[k];
            float dx = q.x - own.x, dy = q.y - own.y, dz = q.z - own.z;
            float by = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f), w = q.w * by * by * by;
            fx += w * dx;
            fy += w * dy;
            fz += w * dz;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    own.x = fx;
    own.y = fy;
    own.z = fz;
    force[i] = own;
}

__kernel void bodies_double(__global const double *restrict x, __global const double *restrict y, __global double *restrict potential, int n) {
    int i = get_global_id(0);
    double px = x[i], py = y[i], sum = 0.0;
    for (int k = 0; k < n; k++) {
        double dx = x[k] - px, dy = y[k] - py;
        sum += 1.0 / sqrt(dx * dx + dy * dy + 0.01);
    }
    potential[i] = sum;
}

// Open addressing, of a table of a power of two; keys are not 0.
__kernel void hash_insert(__global const uint *restrict keys, __global uint *restrict table, uint mask) {
    int i = get_global_id(0);
    uint key = keys[i], at = (key * 2654435761u >> 7) & mask;
    while (1) {
        uint found = atomic_cmpxchg(&table[at], 0u, key);
        if (found == 0u || found == key) break;
        at = (at + 1) & mask;
    }
}

// The same, looking before it exchanges.
__kernel void hash_insert_looking(__global const uint *restrict keys, __global volatile uint *table, uint mask) {
    int i = get_global_id(0);
    uint key = keys[i], at = (key * 2654435761u >> 7) & mask;
    while (1) {
        uint found = table[at];
        if (found == 0u) found = atomic_cmpxchg(&table[at], 0u, key);
        if (found == 0u || found == key) break;
        at = (at + 1) & mask;
    }
}

__kernel void hash_find(__global const uint *restrict keys, __global const uint *restrict table, __global int *restrict where, uint mask) {
    int i = get_global_id(0);
    uint key = keys[i], at = (key * 2654435761u >> 7) & mask, found = table[at];
    while (found != key && found != 0u) {
        at = (at + 1) & mask;
        found = table[at];
    }
    where[i] = found == key ? (int)at : -1;
}

// One exchange of each pair j apart, in sequences of k.
__kernel void bitonic_step(__global int *restrict a, int j, int k) {
    int t = get_global_id(0), i = 2 * t - (t & (j - 1)), other = i + j;
    int u = a[i], v = a[other];
    if ((u > v) == ((i & k) == 0)) {
        a[i] = v;
        a[other] = u;
    }
}

// The same without a branch.
__kernel void bitonic_step_select(__global int *restrict a, int j, int k) {
    int t = get_global_id(0), i = 2 * t - (t & (j - 1)), other = i + j;
    int u = a[i], v = a[other], low = min(u, v), high = max(u, v);
    int up = (i & k) == 0;
    a[i] = up ? low : high;
    a[other] = up ? high : low;
}

// Sorts 512 elements in local memory; work-groups of 256.
__kernel void bitonic_local(__global int *restrict a) {
    __local int part[512];
    int l = get_local_id(0), base = get_group_id(0) * 512;
    part[l] = a[base + l];
    part[l + 256] = a[base + l + 256];
    for (int k = 2; k <= 512; k *= 2)
        for (int j = k / 2; j > 0; j /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int i = 2 * l - (l & (j - 1)), u = part[i], v = part[i + j];
            if ((u > v) == ((i & k) == 0)) {
                part[i] = v;
                part[i + j] = u;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    a[base + l] = part[l];
    a[base + l + 256] = part[l + 256];
}

// Counts of a digit of DIGITS values by work-group, [digit][group]; 16 keys a work-item.
#define RADIX(NAME, DIGITS)                                                                                            \
    __kernel void NAME(__global const uint *restrict keys, __global uint *restrict counts, int shift) {                \
        __local uint bins[DIGITS];                                                                                     \
        int l = get_local_id(0), base = get_group_id(0) * 4096;                                                        \
        for (int k = l; k < DIGITS; k += 256) bins[k] = 0;                                                             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (int k = 0; k < 16; k++) atomic_inc(&bins[(keys[base + k * 256 + l] >> shift) & (DIGITS - 1)]);             \
        barrier(CLK_LOCAL_MEM_FENCE);                                                                                  \
        for (int k = l; k < DIGITS; k += 256) counts[k * get_num_groups(0) + get_group_id(0)] = bins[k];               \
    }
RADIX(radix16, 16)
RADIX(radix256, 256)

// A copy of the bins each sub-group.
__kernel void radix16_copies(__global const uint *restrict keys, __global uint *restrict counts, int shift) {
    __local uint bins[8][16];
    int l = get_local_id(0), base = get_group_id(0) * 4096;
    if (l < 128) bins[l / 16][l % 16] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 16; k++) atomic_inc(&bins[l / 32][(keys[base + k * 256 + l] >> shift) & 15]);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l < 16) {
        uint sum = 0;
        for (int s = 0; s < 8; s++) sum += bins[s][l];
        counts[l * get_num_groups(0) + get_group_id(0)] = sum;
    }
}

// Four digits packed as bytes of words of each work-item: 16 counters of 8 bits in four registers, no atomics.
__kernel void radix16_packed(__global const uint *restrict keys, __global uint *restrict counts, int shift) {
    __local uint bins[16][257];
    int l = get_local_id(0), base = get_group_id(0) * 4096;
    uint c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    for (int k = 0; k < 16; k++) {
        uint digit = (keys[base + k * 256 + l] >> shift) & 15, one = 1u << (8 * (digit & 3)), word = digit >> 2;
        c0 += word == 0 ? one : 0;
        c1 += word == 1 ? one : 0;
        c2 += word == 2 ? one : 0;
        c3 += word == 3 ? one : 0;
    }
    for (int k = 0; k < 4; k++) {
        bins[k][l] = (c0 >> (8 * k)) & 255;
        bins[4 + k][l] = (c1 >> (8 * k)) & 255;
        bins[8 + k][l] = (c2 >> (8 * k)) & 255;
        bins[12 + k][l] = (c3 >> (8 * k)) & 255;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int k = 0; k < 16; k++) sum += bins[l / 16][16 * k + l % 16];
    for (int s = 8; s > 0; s /= 2) sum += sub_group_shuffle_xor(sum, s);
    if (l % 16 == 0) counts[l / 16 * get_num_groups(0) + get_group_id(0)] = sum;
}

// Global atomics on the digits.
__kernel void radix_global(__global const uint *restrict keys, __global uint *restrict counts, int shift, uint mask) {
    int i = get_global_id(0);
    atomic_inc(&counts[(keys[i] >> shift) & mask]);
}

// Points in a circle, by xorshift.
__kernel void monte_carlo(__global uint *restrict hits, int draws) {
    uint state = (uint)get_global_id(0) * 747796405u + 2891336453u, inside = 0;
    for (int k = 0; k < draws; k++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        float x = (state & 65535) * (1.0f / 65536.0f), y = (state >> 16) * (1.0f / 65536.0f);
        inside += x * x + y * y < 1.0f ? 1 : 0;
    }
    hits[get_global_id(0)] = inside;
}

__kernel void multiply_mod(__global const ulong *restrict a, __global ulong *restrict b, int steps) {
    ulong x = a[get_global_id(0)], y = x | 1;
    for (int k = 0; k < steps; k++) {
        x = x * 6364136223846793005UL + y;
        y ^= x >> 29;
    }
    b[get_global_id(0)] = x ^ y;
}

__kernel void divisions_int(__global const uint *restrict a, __global uint *restrict b, uint by, int steps) {
    uint x = a[get_global_id(0)], sum = 0;
    for (int k = 0; k < steps; k++) {
        sum += x % (by + k);
        x = x / 3 + sum;
    }
    b[get_global_id(0)] = sum;
}

__kernel void polynomial_double(__global const double *restrict a, __global double *restrict b, int steps) {
    double x = a[get_global_id(0)], y = 0.5;
    for (int k = 0; k < steps; k++) y = y * x + 0.25;
    b[get_global_id(0)] = y;
}

__kernel void sines(__global const float *restrict a, __global float *restrict b, int steps) {
    float x = a[get_global_id(0)], sum = 0.0f;
    for (int k = 0; k < steps; k++) sum += native_sin(x + sum) * native_cos(x - sum);
    b[get_global_id(0)] = sum;
}

__kernel void powers(__global const float *restrict a, __global float *restrict b) {
    int i = get_global_id(0);
    float x = a[i] + 0.5f;
    b[i] = pow(x, 2.2f) + sin(x) + tanh(x);
}

// The nearest of 32 centres of 4 coordinates, [coordinate][point] and [centre][coordinate].
__kernel void nearest(__global const float *restrict points, __global const float *restrict centres, __global int *restrict which, int n) {
    int i = get_global_id(0), best = 0;
    float x = points[i], y = points[n + i], z = points[2 * n + i], w = points[3 * n + i], least = 1e30f;
    for (int c = 0; c < 32; c++) {
        float dx = x - centres[4 * c], dy = y - centres[4 * c + 1], dz = z - centres[4 * c + 2], dw = w - centres[4 * c + 3];
        float d = dx * dx + dy * dy + dz * dz + dw * dw;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    which[i] = best;
}

__kernel void nearest_local(__global const float *restrict points, __global const float *restrict centres, __global int *restrict which, int n) {
    __local float own[128];
    int i = get_global_id(0), l = get_local_id(0), best = 0;
    if (l < 128) own[l] = centres[l];
    barrier(CLK_LOCAL_MEM_FENCE);
    float x = points[i], y = points[n + i], z = points[2 * n + i], w = points[3 * n + i], least = 1e30f;
    for (int c = 0; c < 32; c++) {
        float dx = x - own[4 * c], dy = y - own[4 * c + 1], dz = z - own[4 * c + 2], dw = w - own[4 * c + 3];
        float d = dx * dx + dy * dy + dz * dz + dw * dw;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    which[i] = best;
}

// Points as float4.
__kernel void nearest_float4(__global const float4 *restrict points, __global const float4 *restrict centres, __global int *restrict which) {
    int i = get_global_id(0), best = 0;
    float4 p = points[i];
    float least = 1e30f;
    for (int c = 0; c < 32; c++) {
        float4 q = centres[c];
        float dx = p.x - q.x, dy = p.y - q.y, dz = p.z - q.z, dw = p.w - q.w;
        float d = dx * dx + dy * dy + dz * dz + dw * dw;
        if (d < least) {
            least = d;
            best = c;
        }
    }
    which[i] = best;
}

// Counts of 32 values in an array of each work-item.
__kernel void private_counts(__global const uint *restrict keys, __global uint *restrict counts, int each) {
    uint own[32];
    int i = get_global_id(0), n = get_global_size(0);
    for (int k = 0; k < 32; k++) own[k] = 0;
    for (int k = 0; k < each; k++) own[keys[k * n + i] & 31]++;
    for (int k = 0; k < 32; k++) counts[k * n + i] = own[k];
}

// In local memory, a column each work-item; work-groups of 128.
__kernel void private_counts_local(__global const uint *restrict keys, __global uint *restrict counts, int each) {
    __local uint own[32][128];
    int i = get_global_id(0), n = get_global_size(0), l = get_local_id(0);
    for (int k = 0; k < 32; k++) own[k][l] = 0;
    for (int k = 0; k < each; k++) own[keys[k * n + i] & 31][l]++;
    for (int k = 0; k < 32; k++) counts[k * n + i] = own[k][l];
}

__kernel void scale_add(__global const float *restrict x, __global float *restrict y, float a) {
    int i = get_global_id(0);
    y[i] = a * x[i] + y[i];
}

__kernel void scale_add_each(__global const float *restrict x, __global float *restrict y, float a, int n) {
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) y[i] = a * x[i] + y[i];
}

// A chain of dependent operations of few work-groups.
__kernel void recurrence(__global const float *restrict x, __global float *restrict y, int steps) {
    int i = get_global_id(0);
    float v = x[i], w = 1.0f;
    for (int k = 0; k < steps; k++) {
        v = v * 0.5f + w;
        w = fmax(w * 0.25f, v);
    }
    y[i] = v + w;
}

// Half of the lanes, a quarter of them, and so on take longer.
__kernel void divergent(__global const uint *restrict a, __global uint *restrict b, int lanes_alike) {
    int i = get_global_id(0), rounds = ((i / lanes_alike) % 8) * 32;
    uint x = a[i];
    for (int k = 0; k < rounds; k++) x = x * 1664525u + 1013904223u;
    b[i] = x;
}

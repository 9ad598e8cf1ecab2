// Sums, scans, largest elements, rows.

__kernel void sum_atomic(__global const uint *restrict a, __global uint *restrict out, int n) {
    uint sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i];
    atomic_add(&out[0], sum);
}

// One atomic by sub-group.
__kernel void sum_shuffles(__global const uint *restrict a, __global uint *restrict out, int n) {
    uint sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i];
    for (int s = 16; s > 0; s /= 2) sum += sub_group_shuffle_xor(sum, s);
    if (get_sub_group_local_id() == 0) atomic_add(&out[0], sum);
}

// A tree in local memory, of sequential addresses; work-groups of 256.
__kernel void sum_tree(__global const uint *restrict a, __global uint *restrict out, int n) {
    __local uint part[256];
    int l = get_local_id(0);
    uint sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i];
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) atomic_add(&out[0], part[0]);
}

// An atomic of local memory by work-item.
__kernel void sum_local_atomic(__global const uint *restrict a, __global uint *restrict out, int n) {
    __local uint total;
    if (get_local_id(0) == 0) total = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[i];
    atomic_add(&total, sum);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0) atomic_add(&out[0], total);
}

// Inclusive scans of the 256 elements of a work-group.
__kernel void scan_hillis_steele(__global const int *restrict a, __global int *restrict b) {
    __local int part[2][256];
    int i = get_global_id(0), l = get_local_id(0), from = 0;
    part[0][l] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 1; s < 256; s *= 2) {
        part[1 - from][l] = l >= s ? part[from][l] + part[from][l - s] : part[from][l];
        from = 1 - from;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    b[i] = part[from][l];
}

// Blelloch's exclusive one, of 512 elements by 256 work-items.
__kernel void scan_blelloch(__global const int *restrict a, __global int *restrict b) {
    __local int part[512];
    int l = get_local_id(0), base = get_group_id(0) * 512, offset = 1;
    part[2 * l] = a[base + 2 * l];
    part[2 * l + 1] = a[base + 2 * l + 1];
    for (int d = 256; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) part[offset * (2 * l + 2) - 1] += part[offset * (2 * l + 1) - 1];
        offset *= 2;
    }
    if (l == 0) part[511] = 0;
    for (int d = 1; d <= 256; d *= 2) {
        offset /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l < d) {
            int t = part[offset * (2 * l + 1) - 1];
            part[offset * (2 * l + 1) - 1] = part[offset * (2 * l + 2) - 1];
            part[offset * (2 * l + 2) - 1] += t;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    b[base + 2 * l] = part[2 * l];
    b[base + 2 * l + 1] = part[2 * l + 1];
}

__kernel void scan_shuffles(__global const int *restrict a, __global int *restrict b) {
    __local int ends[8];
    int i = get_global_id(0), l = get_local_id(0), lane = l % 32, own = a[i];
    for (int s = 1; s < 32; s *= 2) {
        int other = sub_group_shuffle_up(own, s);
        if (lane >= s) own += other;
    }
    if (lane == 31) ends[l / 32] = own;
    barrier(CLK_LOCAL_MEM_FENCE);
    int before = 0;
    for (int k = 0; k < 8; k++)
        if (k < l / 32) before += ends[k];
    b[i] = own + before;
}

// The place of the largest of 4096 elements each work-group of 256.
__kernel void argmax_tree(__global const float *restrict a, __global int *restrict where) {
    __local float best[256];
    __local int at[256];
    int l = get_local_id(0), base = get_group_id(0) * 4096, place = base + l;
    float value = a[place];
    for (int k = 1; k < 16; k++) {
        float other = a[base + k * 256 + l];
        if (other > value) {
            value = other;
            place = base + k * 256 + l;
        }
    }
    best[l] = value;
    at[l] = place;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (l < s && best[l + s] > best[l]) {
            best[l] = best[l + s];
            at[l] = at[l + s];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) where[get_group_id(0)] = at[0];
}

// By sub-group of a work-group of 256.
__kernel void argmax_shuffles(__global const float *restrict a, __global int *restrict where) {
    int l = get_local_id(0), lane = l % 32, row = get_group_id(0) * 8 + l / 32, place = row * 4096 + lane;
    float value = a[place];
    for (int k = 1; k < 128; k++) {
        float other = a[row * 4096 + k * 32 + lane];
        if (other > value) {
            value = other;
            place = row * 4096 + k * 32 + lane;
        }
    }
    for (int s = 16; s > 0; s /= 2) {
        float other = sub_group_shuffle_xor(value, s);
        int there = sub_group_shuffle_xor(place, s);
        if (other > value || (other == value && there < place)) {
            value = other;
            place = there;
        }
    }
    if (lane == 0) where[row] = place;
}

// A row of a matrix each work-item.
__kernel void softmax_items(__global const float *restrict a, __global float *restrict b, int n) {
    int row = get_global_id(0);
    float top = a[row * n], sum = 0.0f;
    for (int k = 1; k < n; k++) top = fmax(top, a[row * n + k]);
    for (int k = 0; k < n; k++) sum += native_exp(a[row * n + k] - top);
    for (int k = 0; k < n; k++) b[row * n + k] = native_exp(a[row * n + k] - top) / sum;
}

// A row each sub-group.
__kernel void softmax_shuffles(__global const float *restrict a, __global float *restrict b, int n) {
    int row = get_global_id(0) / 32, lane = get_global_id(0) % 32;
    float top = -1e30f, sum = 0.0f;
    for (int k = lane; k < n; k += 32) top = fmax(top, a[row * n + k]);
    for (int s = 16; s > 0; s /= 2) top = fmax(top, sub_group_shuffle_xor(top, s));
    for (int k = lane; k < n; k += 32) sum += native_exp(a[row * n + k] - top);
    for (int s = 16; s > 0; s /= 2) sum += sub_group_shuffle_xor(sum, s);
    for (int k = lane; k < n; k += 32) b[row * n + k] = native_exp(a[row * n + k] - top) / sum;
}

// A row each work-group of 256, its exponentials kept in local memory; rows of 1024.
__kernel void softmax_local(__global const float *restrict a, __global float *restrict b, int n) {
    __local float row[1024];
    __local float part[256];
    int l = get_local_id(0), base = get_group_id(0) * n;
    float top = -1e30f, sum = 0.0f;
    for (int k = l; k < n; k += 256) {
        float v = a[base + k];
        row[k] = v;
        top = fmax(top, v);
    }
    part[l] = top;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (l < s) part[l] = fmax(part[l], part[l + s]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    top = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = l; k < n; k += 256) {
        float v = native_exp(row[k] - top);
        row[k] = v;
        sum += v;
    }
    part[l] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int s = 128; s > 0; s /= 2) {
        if (l < s) part[l] += part[l + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    sum = 1.0f / part[0];
    for (int k = l; k < n; k += 256) b[base + k] = row[k] * sum;
}

// A row each sub-group, in two passes.
__kernel void layer_norm_shuffles(__global const float *restrict a, __global const float *restrict scale,
                                  __global const float *restrict shift, __global float *restrict b, int n) {
    int row = get_global_id(0) / 32, lane = get_global_id(0) % 32;
    float sum = 0.0f, squares = 0.0f;
    for (int k = lane; k < n; k += 32) {
        float v = a[row * n + k];
        sum += v;
        squares += v * v;
    }
    for (int s = 16; s > 0; s /= 2) {
        sum += sub_group_shuffle_xor(sum, s);
        squares += sub_group_shuffle_xor(squares, s);
    }
    float mean = sum / n, by = rsqrt(squares / n - mean * mean + 1e-5f);
    for (int k = lane; k < n; k += 32) b[row * n + k] = (a[row * n + k] - mean) * by * scale[k] + shift[k];
}

// A row each work-group of 256, 1024 elements, of which each work-item keeps four.
__kernel void layer_norm_local(__global const float *restrict a, __global const float *restrict scale,
                               __global const float *restrict shift, __global float *restrict b, int n) {
    __local float sums[8], squares[8];
    int l = get_local_id(0), base = get_group_id(0) * n;
    float v0 = a[base + l], v1 = a[base + 256 + l], v2 = a[base + 512 + l], v3 = a[base + 768 + l];
    float sum = v0 + v1 + v2 + v3, square = v0 * v0 + v1 * v1 + v2 * v2 + v3 * v3;
    for (int s = 16; s > 0; s /= 2) {
        sum += sub_group_shuffle_xor(sum, s);
        square += sub_group_shuffle_xor(square, s);
    }
    if (l % 32 == 0) {
        sums[l / 32] = sum;
        squares[l / 32] = square;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    sum = 0.0f;
    square = 0.0f;
    for (int k = 0; k < 8; k++) {
        sum += sums[k];
        square += squares[k];
    }
    float mean = sum / n, by = rsqrt(square / n - mean * mean + 1e-5f);
    b[base + l] = (v0 - mean) * by * scale[l] + shift[l];
    b[base + 256 + l] = (v1 - mean) * by * scale[256 + l] + shift[256 + l];
    b[base + 512 + l] = (v2 - mean) * by * scale[512 + l] + shift[512 + l];
    b[base + 768 + l] = (v3 - mean) * by * scale[768 + l] + shift[768 + l];
}

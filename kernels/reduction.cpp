// The kernels of reduction.py in SYCL, in the spellings of SYCL 1.2.1. GROUP is the size of a work-group, a power of two.

#include <CL/sycl.hpp>

#include <iostream>
#include <vector>

#ifndef GROUP
#define GROUP 128
#endif
#ifndef ELEMENTS
#define ELEMENTS 1000
#endif

namespace sy = cl::sycl;

class tree_reduction;
class tree_reduction_sequential;

constexpr auto read = sy::access::mode::read;
constexpr auto write = sy::access::mode::write;
using Partial = sy::accessor<int, 1, sy::access::mode::read_write, sy::access::target::local>;
using Data = sy::accessor<int, 1, read, sy::access::target::global_buffer>;

constexpr int groups_for(int elements) { return (elements + 2 * GROUP - 1) / (2 * GROUP); }

// The sum of two elements for each work-item, 0 where there are none.
inline void load_pairs(const sy::nd_item<1> &item, const Data &data, int elements, const Partial &partial)
{
    int lid = item.get_local_id(0), first = 2 * item.get_global_id(0);
    partial[lid] = 0;
    if (first < elements)
        partial[lid] = data[first] + data[first + 1];
    item.barrier(sy::access::fence_space::local_space);
}

void sum_with_growing_strides(sy::queue &queue, sy::buffer<int, 1> &from, int elements, sy::buffer<int, 1> &to)
{
    queue.submit([&](sy::handler &handler) {
        auto data = from.get_access<read>(handler);
        auto sums = to.get_access<write>(handler);
        Partial partial(sy::range<1>(GROUP), handler);
        sy::nd_range<1> items(sy::range<1>(groups_for(elements) * GROUP), sy::range<1>(GROUP));
        handler.parallel_for<tree_reduction>(items, [=](sy::nd_item<1> item) {
            int lid = item.get_local_id(0);
            load_pairs(item, data, elements, partial);
            for (int stride = 1; stride < GROUP; stride *= 2) {
                int index = 2 * stride * lid;
                if (index < GROUP)
                    partial[index] += partial[index + stride];
                item.barrier(sy::access::fence_space::local_space);
            }
            if (lid == 0)
                sums[item.get_group(0)] = partial[0];
        });
    });
}

void sum_with_shrinking_strides(sy::queue &queue, sy::buffer<int, 1> &from, int elements, sy::buffer<int, 1> &to)
{
    queue.submit([&](sy::handler &handler) {
        auto data = from.get_access<read>(handler);
        auto sums = to.get_access<write>(handler);
        Partial partial(sy::range<1>(GROUP), handler);
        sy::nd_range<1> items(sy::range<1>(groups_for(elements) * GROUP), sy::range<1>(GROUP));
        handler.parallel_for<tree_reduction_sequential>(items, [=](sy::nd_item<1> item) {
            int lid = item.get_local_id(0);
            load_pairs(item, data, elements, partial);
            for (int stride = GROUP / 2; stride > 0; stride /= 2) {
                if (lid < stride)
                    partial[lid] += partial[lid + stride];
                item.barrier(sy::access::fence_space::local_space);
            }
            if (lid == 0)
                sums[item.get_group(0)] = partial[0];
        });
    });
}

int main()
{
    std::vector<int> data(ELEMENTS + ELEMENTS % 2, 0);
    int expected = 0;
    for (int i = 0; i < ELEMENTS; ++i) {
        data[i] = 7 * i - 1000;
        expected += data[i];
    }

    sy::queue queue;
    sy::buffer<int, 1> elements(data.data(), sy::range<1>(data.size()));
    // One more for the 0 that makes an odd number of sums even.
    sy::buffer<int, 1> sums(sy::range<1>(groups_for(ELEMENTS) + 1));
    sy::buffer<int, 1> total(sy::range<1>(1));
    {
        auto zeros = sums.get_access<write>();
        for (int i = 0; i <= groups_for(ELEMENTS); ++i)
            zeros[i] = 0;
    }
    sum_with_growing_strides(queue, elements, ELEMENTS + ELEMENTS % 2, sums);
    sum_with_shrinking_strides(queue, sums, groups_for(ELEMENTS) + groups_for(ELEMENTS) % 2, total);

    auto result = total.get_access<read>();
    std::cout << "sum " << result[0] << ", expected " << expected << "\n";
    return result[0] == expected ? 0 : 1;
}

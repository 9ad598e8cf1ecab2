// Tree reduction whose sums go into the array that they are made from, as in "Using Local Memory" (Codeplay, SYCL guide):
// a group writes its sum to an element that another group may still have to read. reduction.cpp has sums of their own.

#include <sycl/sycl.hpp>

#include <iostream>

constexpr size_t wgroup_size = 32, len = 256;

class reduction_in_place;

int main()
{
    sycl::queue queue;
    int *global_mem = sycl::malloc_shared<int>(len, queue);
    for (size_t i = 0; i < len; ++i)
        global_mem[i] = 1;

    for (size_t left = len; left > 1;) {
        size_t groups = (left + 2 * wgroup_size - 1) / (2 * wgroup_size);
        queue.submit([&](sycl::handler &handler) {
            sycl::local_accessor<int> local_mem(wgroup_size, handler);
            sycl::nd_range<1> items(groups * wgroup_size, wgroup_size);
            handler.parallel_for<reduction_in_place>(items, [=](sycl::nd_item<1> item) {
                size_t local_id = item.get_local_linear_id();
                size_t first = 2 * item.get_global_linear_id();
                local_mem[local_id] = 0;
                if (first < left)
                    local_mem[local_id] = global_mem[first] + global_mem[first + 1];
                sycl::group_barrier(item.get_group());

                for (size_t stride = 1; stride < wgroup_size; stride *= 2) {
                    size_t index = 2 * stride * local_id;
                    if (index < wgroup_size)
                        local_mem[index] += local_mem[index + stride];
                    sycl::group_barrier(item.get_group());
                }
                if (local_id == 0)
                    global_mem[item.get_group_linear_id()] = local_mem[0];
            });
        }).wait();
        left = groups;
    }

    std::cout << "sum " << global_mem[0] << "\n";
    sycl::free(global_mem, queue);
    return 0;
}

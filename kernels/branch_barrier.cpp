// A barrier in both branches of an `if`, from "Using Local Memory" (Codeplay, SYCL guide), in the old spelling and today's,
// and what to write instead. Those who take one branch wait at a barrier that the others never reach.

#include <sycl/sycl.hpp>

#include <iostream>

constexpr int group_size = 16, elements = 64;

class barrier_in_both_branches;
class group_barrier_in_both_branches;
class barrier_after_the_branches;

using Words = sycl::local_accessor<int, 1>;
using Item = sycl::nd_item<1>;

// Neither kernel ends on a device that waits for every work-item, so that nobody calls this.
void stall(sycl::queue &queue, int *out)
{
    sycl::nd_range<1> items(elements, group_size);
    queue.submit([&](sycl::handler &handler) {
        Words words(group_size, handler);
        handler.parallel_for<barrier_in_both_branches>(items, [=](Item item) {
            size_t lid = item.get_local_id(0);
            if (lid < 5) {
                words[lid] = 1;
                item.barrier(sycl::access::fence_space::local_space);
            } else {
                words[lid] = 2;
                item.barrier(sycl::access::fence_space::local_space);
            }
            out[item.get_global_id(0)] = words[group_size - 1 - lid];
        });
    });
    queue.submit([&](sycl::handler &handler) {
        Words words(group_size, handler);
        handler.parallel_for<group_barrier_in_both_branches>(items, [=](Item item) {
            size_t lid = item.get_local_id(0);
            if (lid < 5) {
                words[lid] = 1;
                sycl::group_barrier(item.get_group());
            } else {
                words[lid] = 2;
                sycl::group_barrier(item.get_group());
            }
            out[item.get_global_id(0)] = words[group_size - 1 - lid];
        });
    });
    queue.wait();
}

int main()
{
    sycl::queue queue;
    int *out = sycl::malloc_shared<int>(elements, queue);
    sycl::nd_range<1> items(elements, group_size);

    auto after = queue.submit([&](sycl::handler &handler) {
        Words words(group_size, handler);
        handler.parallel_for<barrier_after_the_branches>(items, [=](Item item) {
            size_t lid = item.get_local_id(0);
            if (lid < 5)
                words[lid] = 1;
            else
                words[lid] = 2;
            item.barrier(sycl::access::fence_space::local_space);
            out[item.get_global_id(0)] = words[group_size - 1 - lid];
        });
    });
    after.wait();

    int wrong = 0;
    for (int i = 0; i < elements; ++i)
        wrong += out[i] != (i % group_size < group_size - 5 ? 2 : 1);
    std::cout << wrong << " elements are wrong\n";
    sycl::free(out, queue);
    return wrong;
}

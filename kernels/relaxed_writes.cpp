// Two words, written by one work-item and read by another in the other order, from "Using Local Memory" (Codeplay, SYCL
// guide): the reader may see the second word without the first. Then the same with a flag: a relaxed one orders nothing,
// one that is released and acquired does.

#include <sycl/sycl.hpp>

#include <iostream>

class plain_writes;
class relaxed_flag;
class released_flag;

template <sycl::memory_order order>
using Flag = sycl::atomic_ref<int, order, sycl::memory_scope::device, sycl::access::address_space::global_space>;

constexpr auto relaxed = sycl::memory_order::relaxed;
constexpr auto acq_rel = sycl::memory_order::acq_rel;

// The writer and the reader are in work-groups of their own.
const sycl::nd_range<1> two_groups(32, 16);

void clear(int *x, int *y, int *seen)
{
    x[0] = y[0] = 0;
    seen[0] = seen[1] = -1;
}

int main()
{
    sycl::queue queue;
    int *x = sycl::malloc_shared<int>(1, queue), *y = sycl::malloc_shared<int>(1, queue);
    int *seen = sycl::malloc_shared<int>(2, queue);

    clear(x, y, seen);
    queue.parallel_for<plain_writes>(two_groups, [=](sycl::nd_item<1> item) {
        if (item.get_global_id(0) == 0) {
            x[0] = 1;
            y[0] = 2;
        }
        if (item.get_global_id(0) == 16) {
            seen[1] = y[0];
            seen[0] = x[0];
        }
    }).wait();
    std::cout << "plain: " << seen[0] << " " << seen[1] << "\n";

    clear(x, y, seen);
    queue.parallel_for<relaxed_flag>(two_groups, [=](sycl::nd_item<1> item) {
        Flag<relaxed> flag(y[0]);
        if (item.get_global_id(0) == 0) {
            x[0] = 1;
            flag.store(2);
        }
        if (item.get_global_id(0) == 16) {
            seen[1] = flag.load();
            if (seen[1] == 2)
                seen[0] = x[0];
        }
    }).wait();
    std::cout << "relaxed flag: " << seen[0] << " " << seen[1] << "\n";

    clear(x, y, seen);
    queue.parallel_for<released_flag>(two_groups, [=](sycl::nd_item<1> item) {
        Flag<acq_rel> flag(y[0]);
        if (item.get_global_id(0) == 0) {
            x[0] = 1;
            flag.store(2, sycl::memory_order::release);
        }
        if (item.get_global_id(0) == 16) {
            seen[1] = flag.load(sycl::memory_order::acquire);
            if (seen[1] == 2)
                seen[0] = x[0];
        }
    }).wait();
    std::cout << "released flag: " << seen[0] << " " << seen[1] << "\n";

    int wrong = seen[1] == 2 && seen[0] != 1;
    sycl::free(x, queue);
    sycl::free(y, queue);
    sycl::free(seen, queue);
    return wrong;
}

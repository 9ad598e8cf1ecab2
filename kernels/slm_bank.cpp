// The kernel of slm_bank.py in SYCL. STRIDE and ITERATIONS are the kernel's static parameters.

#include <sycl/sycl.hpp>

#include <iostream>

#ifndef STRIDE
#define STRIDE 16
#endif
#ifndef ITERATIONS
#define ITERATIONS 1000
#endif

class slm_bank;

int main()
{
    constexpr int elements = 32;
    sycl::queue queue;
    int *data = sycl::malloc_shared<int>(elements, queue);

    queue.submit([&](sycl::handler &handler) {
        sycl::local_accessor<int, 1> slm(sycl::range<1>(32 * 64), handler);
        handler.parallel_for<slm_bank>(sycl::nd_range<1>(elements, 32), [=](sycl::nd_item<1> item) {
            int i = item.get_global_id(0), j = item.get_local_id(0);

            slm[j * STRIDE] = 0;
            sycl::group_barrier(item.get_group());
            for (int m = 0; m < ITERATIONS; ++m) {
                slm[j * STRIDE] += i * m;
                sycl::group_barrier(item.get_group());
            }
            data[i] = slm[j * STRIDE];
        });
    }).wait();

    int sum = 0;
    for (int m = 0; m < ITERATIONS; ++m)
        sum += m;
    bool right = true;
    for (int i = 0; i < elements; ++i)
        right = right && data[i] == i * sum;
    std::cout << (right ? "right" : "wrong") << "\n";
    sycl::free(data, queue);
    return right ? 0 : 1;
}

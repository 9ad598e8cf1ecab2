// The kernels of convolution.py in SYCL. GROUP is the size of a work-group, TAPS the number of taps.

#include <sycl/sycl.hpp>

#include <cstdlib>
#include <iostream>
#include <vector>

#ifndef GROUP
#define GROUP 256
#endif
#ifndef TAPS
#define TAPS 257
#endif
#ifndef ELEMENTS
#define ELEMENTS 4096
#endif

constexpr int half = TAPS / 2;

class convolution_global;
class convolution_slm;

void from_global_memory(sycl::queue &queue, sycl::buffer<int> &inputs, sycl::buffer<int> &weights,
                        sycl::buffer<int> &results)
{
    queue.submit([&](sycl::handler &handler) {
        sycl::accessor data(inputs, handler, sycl::read_only);
        sycl::accessor taps(weights, handler, sycl::read_only);
        sycl::accessor out(results, handler, sycl::write_only, sycl::no_init);
        handler.parallel_for<convolution_global>(sycl::nd_range<1>(ELEMENTS, GROUP), [=](sycl::nd_item<1> item) {
            int n = item.get_global_range(0), i = item.get_global_id(0), group = item.get_group(0);
            int t = 0;

            if (group == 0 || group == n / GROUP - 1) {
                int first_tap = i < half ? half - i : 0;
                int first = i < half ? 0 : i - half;
                int count = i < half ? TAPS - first_tap : i + half >= n ? half + n - i : TAPS;
                for (int step = 0; step < count; ++step)
                    t += data[first + step] * taps[first_tap + step];
            } else {
                for (int j = 0; j < TAPS; ++j)
                    t += data[i - half + j] * taps[j];
            }
            out[i] = t;
        });
    });
}

void from_local_memory(sycl::queue &queue, sycl::buffer<int> &inputs, sycl::buffer<int> &weights,
                       sycl::buffer<int> &results)
{
    queue.submit([&](sycl::handler &handler) {
        sycl::accessor data(inputs, handler, sycl::read_only);
        sycl::accessor taps(weights, handler, sycl::read_only);
        sycl::accessor out(results, handler, sycl::write_only, sycl::no_init);
        sycl::local_accessor<int> cache(sycl::range<1>(GROUP + 2 * half), handler);
        handler.parallel_for<convolution_slm>(sycl::nd_range<1>(ELEMENTS, GROUP), [=](sycl::nd_item<1> item) {
            int i = item.get_global_id(0), lid = item.get_local_id(0), group = item.get_group(0);

            cache[lid + half] = data[i];
            if (lid == 0) {
                if (group == 0)
                    for (int j = 0; j < half; ++j)
                        cache[j] = 0;
                else
                    for (int j = 0; j < half; ++j)
                        cache[j] = data[i - half + j];
            }
            if (lid == GROUP - 1) {
                if (group == int(item.get_group_range(0)) - 1)
                    for (int j = 0; j < half; ++j)
                        cache[GROUP + half + j] = 0;
                else
                    for (int j = 0; j < half; ++j)
                        cache[GROUP + half + j] = data[i + 1 + j];
            }
            sycl::group_barrier(item.get_group());

            int t = 0;
            for (int j = 0; j < TAPS; ++j)
                t += cache[lid + j] * taps[j];
            out[i] = t;
        });
    });
}

int main()
{
    std::vector<int> data(ELEMENTS), taps(TAPS), from_global(ELEMENTS), from_local(ELEMENTS);
    srand(2009);
    for (int i = 0; i < ELEMENTS; ++i)
        data[i] = rand() % 1000;
    for (int j = 0; j < TAPS; ++j)
        taps[j] = rand() % 1000;

    {
        sycl::queue queue;
        sycl::buffer<int> inputs(data), weights(taps), first(from_global), second(from_local);
        from_global_memory(queue, inputs, weights, first);
        from_local_memory(queue, inputs, weights, second);
    }

    int wrong = 0;
    for (int i = 0; i < ELEMENTS; ++i)
        wrong += from_global[i] != from_local[i];
    std::cout << wrong << " elements differ\n";
    return wrong ? 1 : 0;
}

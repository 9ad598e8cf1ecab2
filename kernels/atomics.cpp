// The kernels of atomics.py in SYCL.

#include <sycl/sycl.hpp>

#include <iostream>
#include <numeric>
#include <vector>

#ifndef ELEMENTS
#define ELEMENTS 1024
#endif

using namespace sycl;

class reduction_serial;
class reduction_racy;
class reduction_atomics_buffer;
class reduction_atomics_usm;
class atomics_lab;

using Word =
    atomic_ref<int, memory_order::relaxed, memory_scope::device, access::address_space::global_space>;

int main()
{
    queue q;
    int elements = ELEMENTS;
    int *data = malloc_shared<int>(ELEMENTS, q), *total = malloc_shared<int>(1, q);
    for (int i = 0; i < ELEMENTS; ++i)
        data[i] = i;
    int right = ELEMENTS * (ELEMENTS - 1) / 2, wrong = 0;

    total[0] = 0;
    q.single_task<reduction_serial>([=]() {
        for (int i = 0; i < elements; ++i)
            total[0] += data[i];
    }).wait();
    wrong += total[0] != right;

    total[0] = 0;
    q.parallel_for<reduction_racy>(range<1>(ELEMENTS), [=](id<1> i) { total[0] += data[i]; }).wait();
    std::cout << "without atomics, anything: " << total[0] << "\n";

    std::vector<int> numbers(ELEMENTS);
    std::iota(numbers.begin(), numbers.end(), 0);
    int sum = 0;
    {
        buffer inputs(numbers);
        buffer sums(&sum, range<1>(1));
        q.submit([&](handler &h) {
            accessor data(inputs, h, read_only);
            accessor total(sums, h, read_write);
            h.parallel_for<reduction_atomics_buffer>(ELEMENTS, [=](auto i) { Word(total[0]) += data[i]; });
        });
    }
    wrong += sum != right;

    total[0] = 0;
    q.parallel_for<reduction_atomics_usm>(ELEMENTS, [=](item<1> i) { Word(*total).fetch_add(data[i]); }).wait();
    wrong += total[0] != right;

    int *minimum = malloc_shared<int>(1, q), *maximum = malloc_shared<int>(1, q);
    *minimum = *maximum = 0;
    q.parallel_for<atomics_lab>(ELEMENTS, [=](auto i) {
        int x = data[i];
        Word(minimum[0]).fetch_min(x);
        Word(maximum[0]).fetch_max(x);
    }).wait();
    double middle = (*minimum + *maximum) / 2.0;
    wrong += middle != (ELEMENTS - 1) / 2.0;

    std::cout << "sum " << sum << ", middle " << middle << ", wrong results " << wrong << "\n";
    free(data, q);
    free(total, q);
    free(minimum, q);
    free(maximum, q);
    return wrong;
}

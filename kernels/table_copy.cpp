// The kernels of table_copy.py in SYCL. ENTRIES is the size of the table, for table_copy_loop the most that it may have.

#include <sycl/sycl.hpp>

#include <iostream>
#include <vector>

#ifndef ENTRIES
#define ENTRIES 256
#endif

constexpr int group_size = 256, groups = 4;
const sycl::nd_range<1> items{groups * group_size, group_size};
using Table = sycl::local_accessor<int, 1>;

class table_copy_bad;
class table_copy_good;
class table_copy_best;
class table_copy_min;
class table_copy_unrolled;
class table_copy_loop;

// What each work-item does with the table: writes an entry that another one has copied.
template <typename Item> void use(const Item &item, const Table &slm_table, int size, int *out)
{
    int i = item.get_global_linear_id();
    out[i] = slm_table[size - 1 - i % size];
}

sycl::event copy_all(sycl::queue &queue, const int *table, int *out)
{
    return queue.submit([&](sycl::handler &handler) {
        Table slm_table(ENTRIES, handler);
        handler.parallel_for<table_copy_bad>(items, [=](sycl::nd_item<1> item) {
            for (int index = 0; index < ENTRIES; ++index)
                slm_table[index] = table[index];
            sycl::group_barrier(item.get_group());
            use(item, slm_table, ENTRIES, out);
        });
    });
}

sycl::event copy_shared(sycl::queue &queue, const int *table, int *out)
{
    return queue.submit([&](sycl::handler &handler) {
        Table slm_table(ENTRIES, handler);
        handler.parallel_for<table_copy_good>(items, [=](sycl::nd_item<1> item) {
            for (int index = item.get_local_id(0); index < ENTRIES; index += item.get_local_range(0))
                slm_table[index] = table[index];
            sycl::group_barrier(item.get_group());
            use(item, slm_table, ENTRIES, out);
        });
    });
}

sycl::event copy_one_each(sycl::queue &queue, const int *table, int *out)
{
    return queue.submit([&](sycl::handler &handler) {
        Table slm_table(ENTRIES, handler);
        sycl::nd_range<2> rows({groups * ENTRIES / 16, 16}, {ENTRIES / 16, 16});
        handler.parallel_for<table_copy_best>(rows, [=](sycl::nd_item<2> item) {
            int index = item.get_local_id(1) + item.get_local_id(0) * item.get_local_range(1);
            slm_table[index] = table[index];
            sycl::group_barrier(item.get_group());
            use(item, slm_table, ENTRIES, out);
        });
    });
}

sycl::event copy_smaller(sycl::queue &queue, const int *table, int *out)
{
    return queue.submit([&](sycl::handler &handler) {
        Table slm_table(ENTRIES, handler);
        handler.parallel_for<table_copy_min>(items, [=](sycl::nd_item<1> item) {
            int index = sycl::min(int(item.get_local_id(0)), ENTRIES - 1);
            slm_table[index] = table[index];
            sycl::group_barrier(item.get_group());
            use(item, slm_table, ENTRIES, out);
        });
    });
}

sycl::event copy_larger(sycl::queue &queue, const int *table, int *out)
{
    return queue.submit([&](sycl::handler &handler) {
        Table slm_table(ENTRIES, handler);
        handler.parallel_for<table_copy_unrolled>(items, [=](sycl::nd_item<1> item) {
            int lid = item.get_local_id(0);
            #pragma unroll
            for (int offset = 0; offset < ENTRIES; offset += item.get_local_range(0))
                slm_table[lid + offset] = table[lid + offset];
            sycl::group_barrier(item.get_group());
            use(item, slm_table, ENTRIES, out);
        });
    });
}

sycl::event copy_any(sycl::queue &queue, const int *table, int size, int *out)
{
    return queue.submit([&](sycl::handler &handler) {
        Table slm_table(ENTRIES, handler);
        handler.parallel_for<table_copy_loop>(items, [=](sycl::nd_item<1> item) {
            for (int index = item.get_local_id(0); index < size; index += item.get_local_range(0))
                slm_table[index] = table[index];
            sycl::group_barrier(item.get_group());
            use(item, slm_table, size, out);
        });
    });
}

int wrong(const std::vector<int> &table, int size, const int *out)
{
    int found = 0;
    for (int i = 0; i < groups * group_size; ++i)
        found += out[i] != table[size - 1 - i % size];
    return found;
}

int main()
{
    sycl::queue queue{sycl::property::queue::in_order()};
    std::vector<int> entries(ENTRIES);
    for (int i = 0; i < ENTRIES; ++i)
        entries[i] = 3 * i + 1;
    int *table = sycl::malloc_device<int>(ENTRIES, queue);
    int *out = sycl::malloc_shared<int>(groups * group_size, queue);
    queue.memcpy(table, entries.data(), ENTRIES * sizeof(int));

    int found = 0;
    copy_shared(queue, table, out).wait();
    found += wrong(entries, ENTRIES, out);
    copy_one_each(queue, table, out).wait();
    found += wrong(entries, ENTRIES, out);
    copy_larger(queue, table, out).wait();
    found += wrong(entries, ENTRIES, out);
    copy_any(queue, table, 100, out).wait();
    found += wrong(entries, 100, out);
    // The two that follow are races of equal values, which most devices forgive.
    copy_all(queue, table, out).wait();
    found += wrong(entries, ENTRIES, out);
    copy_smaller(queue, table, out).wait();
    found += wrong(entries, ENTRIES, out);

    std::cout << found << " entries are wrong\n";
    sycl::free(table, queue);
    sycl::free(out, queue);
    return found ? 1 : 0;
}

// The kernels of histogram.py in SYCL. BINS and FIELD_BITS are the kernels' static parameters; each work-item counts BLOCK
// words, the words of a sub-group's work-items lying side by side. GROUP is the size of a work-group.

#include <sycl/sycl.hpp>

#include <iostream>
#include <vector>

#ifndef BINS
#define BINS 256
#endif
#ifndef FIELD_BITS
#define FIELD_BITS 8
#endif
#ifndef GROUP
#define GROUP 64
#endif

constexpr int block = 256;
constexpr int words = 4 * GROUP * block;
const sycl::nd_range<1> items(words / block, GROUP);

class histogram_private;
class histogram_registers;
class histogram_slm;

using Counter = sycl::atomic_ref<unsigned, sycl::memory_order::relaxed, sycl::memory_scope::work_group,
                                 sycl::access::address_space::local_space>;
using Total = sycl::atomic_ref<unsigned long, sycl::memory_order::relaxed, sycl::memory_scope::device,
                               sycl::access::address_space::global_space>;

// The place of the k-th words of a work-item's sub-group.
inline size_t place(const sycl::nd_item<1> &item, int k)
{
    sycl::sub_group sub_group = item.get_sub_group();
    size_t size = sub_group.get_max_local_range()[0];
    return item.get_group(0) * item.get_local_range(0) * block + sub_group.get_group_id()[0] * size * block + size * k;
}

void count_privately(sycl::queue &queue, sycl::buffer<unsigned long> &inputs, sycl::buffer<unsigned long> &totals)
{
    queue.submit([&](sycl::handler &handler) {
        sycl::accessor data(inputs, handler, sycl::read_only);
        auto hist = totals.get_access<sycl::access::mode::atomic>(handler);
        handler.parallel_for<histogram_private>(
            items, [=](sycl::nd_item<1> item) [[intel::reqd_sub_group_size(16)]] {
                unsigned counts[BINS];
                for (int bin = 0; bin < BINS; ++bin)
                    counts[bin] = 0;
                for (int k = 0; k < block; ++k) {
                    unsigned long x = item.get_sub_group().load(data.get_pointer() + place(item, k));
                    #pragma unroll
                    for (int j = 0; j < 8; ++j, x >>= 8)
                        counts[x & 0x1F] += 1;
                }
                for (int bin = 0; bin < BINS; ++bin)
                    hist[bin].fetch_add(counts[bin]);
            });
    });
}

void count_in_registers(sycl::queue &queue, sycl::buffer<unsigned long> &inputs, sycl::buffer<unsigned long> &totals)
{
    queue.submit([&](sycl::handler &handler) {
        sycl::accessor data(inputs, handler, sycl::read_only);
        sycl::accessor hist(totals, handler, sycl::read_write);
        handler.parallel_for<histogram_registers>(
            items, [=](sycl::nd_item<1> item) [[sycl::reqd_sub_group_size(16)]] {
                sycl::sub_group sub_group = item.get_sub_group();
                unsigned lane = sub_group.get_local_linear_id();
                unsigned counts[BINS / 16];
                #pragma unroll
                for (int r = 0; r < BINS / 16; ++r)
                    counts[r] = 0;

                for (int k = 0; k < block; ++k) {
                    auto words = data.get_multi_ptr<sycl::access::decorated::yes>();
                    unsigned long x = sub_group.load(words + place(item, k));
                    #pragma unroll
                    for (int j = 0; j < 16; ++j) {
                        unsigned long y = sycl::group_broadcast(sub_group, x, j);
                        #pragma unroll
                        for (int field = 0; field < 8; ++field, y >>= 8) {
                            unsigned c = y & 0xFF, mine = lane == (c & 15);
                            #pragma unroll
                            for (unsigned r = 0; r < BINS / 16; ++r)
                                counts[r] += mine && r == c / 16;
                        }
                    }
                }
                #pragma unroll
                for (int r = 0; r < BINS / 16; ++r)
                    Total(hist[16 * r + lane]) += counts[r];
            });
    });
}

void count_in_local_memory(sycl::queue &queue, sycl::buffer<unsigned long> &inputs, sycl::buffer<unsigned long> &totals)
{
    queue.submit([&](sycl::handler &handler) {
        sycl::accessor data(inputs, handler, sycl::read_only);
        sycl::accessor hist(totals, handler, sycl::read_write);
        sycl::local_accessor<unsigned, 1> bins(BINS, handler);
        handler.parallel_for<histogram_slm>(items, [=](sycl::nd_item<1> item) {
            unsigned lid = item.get_local_linear_id();

            #pragma unroll
            for (unsigned bin = lid; bin < BINS; bin += GROUP)
                Counter(bins[bin]).store(0);
            sycl::group_barrier(item.get_group());
            for (int k = 0; k < block; ++k) {
                unsigned long x = item.get_sub_group().load(data.get_pointer() + place(item, k));
                #pragma unroll
                for (unsigned shift = 0; shift < 64; shift += FIELD_BITS)
                    Counter(bins[(x >> shift) & (BINS - 1)]).fetch_add(1);
            }
            sycl::group_barrier(item.get_group());
            #pragma unroll
            for (unsigned bin = lid; bin < BINS; bin += GROUP)
                Total(hist[bin]).fetch_add(Counter(bins[bin]).load());
        });
    });
}

int main()
{
    std::vector<unsigned long> data(words), in_registers(BINS, 0), in_local(BINS, 0), low_bits(BINS, 0);
    unsigned long state = 2009;
    for (auto &word : data) {
        state = state * 6364136223846793005UL + 1442695040888963407UL;
        word = state;
    }

    {
        sycl::queue queue;
        sycl::buffer<unsigned long> inputs(data), first(low_bits), second(in_registers), third(in_local);
        count_privately(queue, inputs, first);
        count_in_registers(queue, inputs, second);
        count_in_local_memory(queue, inputs, third);
    }

    unsigned long counted = 0;
    int wrong = 0;
    for (int bin = 0; bin < BINS; ++bin) {
        counted += low_bits[bin];
        wrong += in_registers[bin] != in_local[bin];
    }
    std::cout << counted << " bytes counted, " << wrong << " bins differ\n";
    return counted == 8UL * words && wrong == 0 ? 0 : 1;
}

// Stands in for the frame of sycl-bench: runs each benchmark once, at a small size, and prints how it was verified.
#pragma once
#include <sycl/sycl.hpp>

#include <cassert>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#ifndef PROBLEM_SIZE
#define PROBLEM_SIZE 64
#endif
#ifndef LOCAL_SIZE
#define LOCAL_SIZE 16
#endif

#define SYCL_BENCH_HAS_FP64_SUPPORT 1
#define SYCL_BENCH_HAS_FP16_SUPPORT 0

struct ThroughputMetric {
    double metric;
    std::string unit;
};

struct CommandLine {
    template <class T> T getOrDefault(const char *, T value) const { return value; }
};

struct BenchmarkArgs {
    sycl::queue device_queue;
    size_t problem_size = PROBLEM_SIZE, local_size = LOCAL_SIZE, num_runs = 1;
    CommandLine cli;
};

struct VerificationSetting {
    bool enabled = true;
    sycl::id<3> begin;
    sycl::range<3> range{1, 1, 1};
};

template <class T, int D = 1> class PrefetchedBuffer {
public:
    void initialize(sycl::queue &, sycl::range<D> size) { buffer = std::make_shared<sycl::buffer<T, D>>(size); }
    template <class P> void initialize(sycl::queue &, P *data, sycl::range<D> size)
    {
        buffer = std::make_shared<sycl::buffer<T, D>>(data, size);
    }
    template <sycl::access::mode mode, sycl::target target = sycl::target::device>
    auto get_access(sycl::handler &handler)
    {
        return buffer->template get_access<mode, target>(handler);
    }
    template <sycl::access::mode mode> auto get_access() { return buffer->template get_access<mode>(); }
    auto get_host_access() { return buffer->get_host_access(); }
    sycl::range<D> get_range() const { return buffer->get_range(); }
    sycl::buffer<T, D> &get() const { return *buffer; }
    void reset() { buffer = nullptr; }

private:
    std::shared_ptr<sycl::buffer<T, D>> buffer;
};

template <class T> struct ReadableTypename {
    static constexpr const char *name = "T";
};

class BenchmarkApp {
public:
    BenchmarkApp(int, char **) {}
    BenchmarkArgs &getArgs() { return args; }
    bool shouldRunNDRangeKernels() const { return true; }
    bool deviceSupportsFP64() const { return true; }

    template <class Benchmark, class... More> void run(More &&...more)
    {
        Benchmark benchmark(args, more...);
        benchmark.setup();
        std::vector<sycl::event> events;
        start(benchmark, events, 0);
        args.device_queue.wait();
        std::cout << verified(benchmark, 0) << "\n";
    }

private:
    BenchmarkArgs args;
    VerificationSetting setting;

    template <class B> auto start(B &b, std::vector<sycl::event> &events, int) -> decltype(b.run(events))
    {
        return b.run(events);
    }
    template <class B> void start(B &b, std::vector<sycl::event> &, long) { b.run(); }
    template <class B> auto verified(B &b, int) -> decltype(b.verify(setting), static_cast<const char *>(nullptr))
    {
        return b.verify(setting) ? "PASS" : "FAIL";
    }
    template <class B> const char *verified(B &, long) { return "done"; }
};

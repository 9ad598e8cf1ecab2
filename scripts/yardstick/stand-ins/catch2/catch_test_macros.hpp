// Stands in for Catch2: a test case is a function named by its line, and a check prints what does not hold.
#pragma once
#include <catch2/catch_approx.hpp>
#include <simsycl/sycl.hh>

#include <cstdio>

#define XEEMU_JOINED_(a, b) a##b
#define XEEMU_JOINED(a, b) XEEMU_JOINED_(a, b)
#define TEST_CASE(...) static void XEEMU_JOINED(test_case_, __LINE__)()
#define SECTION(...) if (true)
#define CHECK(...)                                       \
    do {                                                 \
        if (!(__VA_ARGS__))                              \
            printf("FAIL: line %d\n", int(__LINE__));    \
    } while (false)
#define REQUIRE(...) CHECK(__VA_ARGS__)
#define CHECK_FALSE(...) CHECK(!(__VA_ARGS__))
#define REQUIRE_FALSE(...) CHECK(!(__VA_ARGS__))
#define STATIC_REQUIRE(...) static_assert(__VA_ARGS__)
#define CAPTURE(...)
#define INFO(...)

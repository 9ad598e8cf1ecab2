// Stands in for Catch2's test cases of templates: each is called for all that it names.
#pragma once
#include <catch2/catch_test_macros.hpp>

#define XEEMU_UNWRAPPED(...) __VA_ARGS__
#define XEEMU_FIRST(first, ...) XEEMU_UNWRAPPED first
#define XEEMU_CASES(parameter, kind, ...)                                                          \
    template <parameter> static void XEEMU_JOINED(case_, __LINE__)();                              \
    template <kind... each> static void XEEMU_JOINED(cases_, __LINE__)()                           \
    {                                                                                              \
        (XEEMU_JOINED(case_, __LINE__)<each>(), ...);                                              \
    }                                                                                              \
    static void XEEMU_JOINED(test_case_, __LINE__)() { XEEMU_JOINED(cases_, __LINE__)<__VA_ARGS__>(); } \
    template <parameter> static void XEEMU_JOINED(case_, __LINE__)()
#define TEMPLATE_TEST_CASE(name, tags, ...) XEEMU_CASES(class TestType, class, __VA_ARGS__)
#define TEMPLATE_TEST_CASE_SIG(name, tags, signature, ...) XEEMU_CASES(XEEMU_FIRST signature, auto, __VA_ARGS__)

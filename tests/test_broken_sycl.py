"""Broken kernels of SYCL C++: what is said of each, and of which words of the text; nothing else is raised."""

import re

import numpy as np
import pytest

import xeemu as xe

pytest.importorskip("clang.cindex")

# What a compiler of C++ takes and kernels do not have: declarations, the kernel's body, the words at the caret, and the
# beginning of the message.
REFUSED = [
    ("", "int *p = new int[4]; g[0] = p[0];", "new int[4]", "new; kernels have no heap, declare an array"),
    ("", "int *p = g; delete p;", "delete p", "delete; kernels have no heap"),
    ("", "if (g[0]) throw 1;", "throw 1", "throw; kernels have no exceptions, write a flag to memory"),
    ("", 'throw std::runtime_error("no");', "throw std", "throw; kernels have no exceptions"),
    (
        "struct Base { int x; virtual int f() { return 1; } };",
        "Base *b = (Base *)g; g[0] = b->f();",
        "b->f()",
        "the virtual function f, chosen at run time; write a template",
    ),
    (
        "struct First { virtual int f() { return 1; } }; struct Next : First { int f() override { return 2; } };",
        "Next n; First &b = n; g[0] = b.f();",
        "b.f()",
        "the virtual function f, chosen at run time",
    ),
    (
        "int once(int x) { return x; }",
        "int (*p)(int) = g[0] ? once : nullptr; g[0] = p(1);",
        "p(1)",
        "a call through a pointer to a function; call functions by name, chosen by if or switch, or a template",
    ),
    (
        "int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }",
        "g[0] = factorial(g[1]);",
        "factorial(n - 1)",
        "recursion: factorial -> factorial; kernels have none, write a loop",
    ),
    (
        "int odd(int n);\nint even(int n) { return n ? odd(n - 1) : 1; }\nint odd(int n) { return even(n - 1); }",
        "g[0] = even(g[1]);",
        "even(n - 1)",
        "recursion: even -> odd -> even;",
    ),
    (
        "",
        "auto f = [](auto self, int n) -> int { return n < 2 ? n : self(self, n - 1); }; g[0] = f(f, g[1]);",
        "self(self",
        "recursion: <lambda at line",
    ),
    (
        "struct Guard { int *p; ~Guard() { *p = 1; } };",
        "{ Guard held{g}; g[1] = 2; }",
        "held{g}",
        "an object of Guard, whose destructor has statements; write what it does as a function",
    ),
    ("", "again: g[0]++; if (g[0] < 3) goto again;", "goto again", "goto in a kernel; write a loop with break"),
    ("", "if (g[0]) goto out; g[0] = 1; out: ;", "goto out", "goto in a kernel; write a loop with break"),
    (
        "struct Shape { virtual ~Shape() {} }; struct Round : Shape {};",
        "Shape s; g[0] = dynamic_cast<Round *>(&s) == nullptr;",
        "dynamic_cast<Round *>",
        "types at run time; write a template",
    ),
    ("", 'asm volatile("nop");', "asm", "inline assembly; write it in C++"),
    ("thread_local int mine = 3;", "g[0] = mine;", "mine;", "the variable mine, which is static and not constant"),
    ("int counter = 3;", "g[0] = counter++;", "counter++", "the variable counter, which is static and not constant"),
    ("", "static int n = 0; g[0] = n++;", "n++", "the variable n, which is static and not constant"),
    ("", "std::vector<int> v(3); g[0] = v[0];", "v(3)", "std::vector<int>: memory from the heap; kernels have none"),
    ("", 'std::string s("ab"); g[0] = s.size();', 's("ab")', "std::basic_string<char>: memory from the heap"),
    ("", "auto p = std::make_unique<int>(3); g[0] = *p;", "std::make_unique", "std::make_unique: new; kernels have no"),
    ("", "std::cout << g[0];", "cout", "std::cout: text output of the host; write sycl::stream"),
    ("", "int *p = (int *)malloc(16); g[0] = p[0];", "malloc(16)", "memory from the heap; kernels have none"),
    ("", "g[0] = rand();", "rand()", "a random number of the host's; write a generator"),
    ("", "exit(1);", "exit(1)", "exit; a kernel ends by return alone"),
    ("", "long double d = g[0]; g[1] = d;", "d = g", "long double, which no device has; write double"),
    ("", "__int128 d = g[0]; g[1] = d;", "d = g", "an integer of 128 bits; write two of 64"),
    ("struct Bits { int a : 3; int b : 5; };", "Bits s{1, 2}; g[0] = s.a;", "a : 3", "the bit-field a; write a whole"),
    (
        "struct Two { int a, b; };",
        "int Two::*p = &Two::b; Two s{1, 2}; g[0] = s.*p;",
        "p = &Two",
        "a pointer to a member; name the member, or write a lambda",
    ),
    ("", "int n = g[0]; int a[n]; a[0] = 1; g[1] = a[0];", "a[n]", "an array whose size is not a constant"),
    ("int some(int n, ...) { return n; }", "g[0] = some(1, 2);", "some(1, 2)", "some takes any number of arguments"),
    (
        "",
        "switch (g[0]) { case 0: while (g[1]) { case 1: g[2]++; } }",
        "case 1",
        "a case label inside of another statement",
    ),
]
# What is found when the kernel is traced.
TRACED = [
    ("int nobody(int);", "g[0] = nobody(3);", "nobody(3)", "nobody has no body"),
    (
        "struct Node { Node *next; int v; };",
        "Node *n = (Node *)g; n = n->next; g[0] = n->v;",
        "next; g",
        "a pointer is loaded from g, and xeemu holds none in memories",
    ),
]
HEAD = """#include <sycl/sycl.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
"""


def text_of(cases):
    kernels = [
        f"{declarations}\nvoid f{k}(sycl::queue &q, int *g) {{\n"
        f"  q.parallel_for(sycl::nd_range<1>(32, 32), [=](sycl::nd_item<1> it) {{\n    {body}\n  }});\n}}"
        for k, (declarations, body, *_) in enumerate(cases)
    ]
    return HEAD + "\n".join(kernels) + "\n"


def told(error, text):
    """A message's first line, and the rest of the line of the text from the caret on."""
    where = re.search(r"\n  at <sycl \w+>:(\d+):(\d+)\n    (.*)\n    (\s*)\^", str(error))
    assert where is not None, str(error)
    line, column = int(where[1]), int(where[2])
    assert text.splitlines()[line - 1] == where[3]
    assert len(where[4]) == column - 1
    return str(error).partition("\n")[0], where[3][column - 1 :]


def test_what_kernels_do_not_have_is_refused_with_what_to_write():
    text = text_of(REFUSED)
    kernels = xe.load(text)
    for k, (_, body, words, message) in enumerate(REFUSED):
        with pytest.raises(xe.KernelError) as refused:
            kernels[f"f{k}"]
        first, rest = told(refused.value, text)
        assert first.startswith(message), (body, first)
        assert rest.startswith(words), (body, rest)


def test_what_is_found_as_a_kernel_is_traced_has_its_place():
    text = text_of(TRACED)
    kernels = xe.load(text)
    for k, (_, body, words, message) in enumerate(TRACED):
        with pytest.raises(xe.KernelError) as refused:
            xe.launch(kernels[f"f{k}"], xe.NDRange(32, 32))(np.zeros(64, np.int32))
        first, rest = told(refused.value, text)
        assert first.startswith(message), (body, first)
        assert rest.startswith(words), (body, rest)


CLOCK = ("namespace some = sycl::ext::oneapi::experimental;", "g[0] = some::clock();")


def test_errors_of_the_compiler_have_their_line_and_not_our_headers():
    text = text_of([("", "g[0] = x;"), ("", "const int c = 3; c = 4;"), ("", "it.nothing();"), ("", "g[0] = 1"), CLOCK])
    with pytest.raises(xe.KernelError) as refused:
        xe.load(text)
    said = str(refused.value)
    for message in ("use of undeclared identifier 'x'", "cannot assign to variable 'c'", "no member named 'nothing'"):
        assert re.search(rf"<sycl \w+>:\d+:\d+: error: .*{message}", said), said
    assert "expected ';' after expression" in said
    for body, advice in (
        ("__syncthreads();", "SYCL has sycl::group_barrier"),
        ("int number = 1; numbr = 2;", "did you mean 'number'?"),
    ):
        with pytest.raises(xe.KernelError, match=re.escape(advice)):
            xe.load(text_of([("", body)]))
    assert re.search(r"'sycl::ext::oneapi::experimental'; .*with what SYCL 2020 has, or keep it apart", said)
    assert "5 errors" in said

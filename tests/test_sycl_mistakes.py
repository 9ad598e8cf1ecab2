"""Mistakes of whoever writes SYCL programs: each is told with its line and with what to write instead."""

import pytest

import xeemu as xe
from xeemu.commands import cli

pytest.importorskip("clang.cindex")

INCLUDED = "sycl/sycl.hpp", "algorithm", "cstdio", "functional", "vector"
HEAD = "".join(f"#include <{name}>\n" for name in INCLUDED) + "using namespace sycl;\n"
ND = "q.parallel_for(nd_range<1>(64, {local}), [=](nd_item<1> it) {{ {body} }}).wait();"
REFERENCE = "atomic_ref<int, memory_order::relaxed, memory_scope::work_group, access::address_space::{}_space>"
GROUP = (
    "q.submit([&](handler &h) {{ local_accessor<int, 1> t(64, h); h.parallel_for(nd_range<1>(64, 64), "
    "[=](nd_item<1> it) {{ int l = it.get_local_id(0); t[l] = 0; {body} a[l] = t[l]; }}); }}).wait();"
)


def nd(body, local="64"):
    return ND.format(body=body, local=local)


def program(body, before=""):
    array = "int *a = malloc_shared<int>(64, q); std::fill_n(a, 64, 0);"
    return f"{HEAD}{before}\nint main() {{\n  queue q;\n  {array}\n  {body}\n}}\n"


# The body of main, the beginning of the message, and a part of what it says to write.
MISTAKES = {
    "endless": (
        nd("int x = 0; for (size_t s = it.get_local_range(0) / 2; s >= 0; s /= 2) { x += a[0]; } a[1] = x;"),
        "the loop never ends: s >= 0 always holds",
        "write s > 0, or a signed counter",
    ),
    "local atomic of global memory": (
        nd(REFERENCE.format("local") + " r(a[0]); r += 1;"),
        "an atomic_ref of access::address_space::local_space refers to a, which is global memory",
        "write access::address_space::global_space",
    ),
    "global atomic of local memory": (
        GROUP.format(body=REFERENCE.format("global") + " r(t[0]); r += 1;"),
        "an atomic_ref of access::address_space::global_space refers to t, which is local memory",
        "write access::address_space::local_space",
    ),
    "a dimension too much": (
        nd("a[it.get_global_id(1)] = 1;"),
        "dimension 1 is asked for, and the launch has 1, counted from 0",
        "write 0",
    ),
    "no work-items in a group": (nd("a[0] = 1;", "0"), "the local size is 0; the least is 1", ""),
    "two kernels in a command group": (
        "q.submit([&](handler &h) {\n    h.single_task<class k>([=] { a[0] = 1; });\n"
        "    h.single_task<class l>([=] { a[1] = 1; });\n  });",
        "the command group has launched k in line 12 already, and launches l here",
        "submit l by a q.submit of its own",
    ),
    "two kernels of a name": (
        "q.single_task<class k>([=] { a[0] = 1; });\n  q.single_task<class k>([=] { a[1] = 1; });",
        "the class k names two kernels: this one, in main, and that of line 11, in main",
        "give this one a class of its own",
    ),
    "recursion of the host": (
        "std::function<int(int)> f = [&](int n) { return n ? 1 + f(n - 1) : 0; };\n  a[0] = f(1000);",
        "<lambda at line 11> is 200 calls deep",
        "write the recursion as a loop",
    ),
    "a write of read_only": (
        "std::vector<int> v(64);\n  buffer<int> b(v);\n  q.submit([&](handler &h) { accessor r(b, h, read_only); "
        "h.parallel_for(range<1>(64), [=](id<1> i) { r[i] = 2; }); });",
        "<sycl ",
        "an accessor of read_only cannot be written: make it read_write or write_only",
    ),
    "a local accessor without its handler": (
        "q.submit([&](handler &h) { local_accessor<int, 1> t(64); h.single_task([=] { a[0] = t[0]; }); });",
        "<sycl ",
        "local memory takes its range and the handler, as in local_accessor<float, 1> tile(64, h)",
    ),
    "an index beyond an array": (
        "for (int i = 0; i <= 64; i++) a[i] = 1;",
        "the host accesses a[64], but a has 64 elements, 0 to 63",
        "test the index",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_told_with_its_line_and_with_what_to_write(case):
    body, message, write = MISTAKES[case]
    with pytest.raises(xe.Error) as told:
        xe.load(program(body)).run()
    assert str(told.value).startswith(message)
    assert write in str(told.value)
    assert "\n  at <sycl " in str(told.value) or "1 error" in str(told.value)


def test_a_loop_with_another_way_out_may_have_such_a_condition():
    body = nd("for (unsigned s = 64; s >= 0; s /= 2) { if (s < 2) break; a[s - 1] = s; }")
    assert xe.load(program(body)).run().arrays["a"][63] == 64


def test_atomics_of_the_right_memory_and_of_any_are_taken():
    reference = REFERENCE.format("local") + " r(t[0]); r += 1; group_barrier(it.get_group());"
    generic = "atomic_ref<int, memory_order::relaxed, memory_scope::device> g(a[3]); g += 1;"
    result = xe.load(program(GROUP.format(body=reference) + nd(generic))).run()
    assert result.arrays["a"][:4].tolist() == [64, 0, 0, 64]


def test_a_narrowing_that_the_options_allow_is_taken():
    body = "int n = 64; unsigned char c{n}; a[0] = c; q.single_task([=] { a[1] = a[0]; }).wait();"
    with pytest.raises(xe.KernelError, match="narrow"):
        xe.load(program(body))
    assert xe.load(program(body), "-Wno-narrowing").run().arrays["a"][1] == 64


def test_a_result_tells_what_it_has_printed_its_launches_its_arrays_and_what_is_wrong():
    body = (
        "for (int n = 0; n < 3; n++) q.parallel_for<class k>(range<1>(64), [=](id<1> i) { a[i] += n; });\n"
        '  std::printf("%d\\n", a[0]);'
    )
    told = str(xe.load(program(body)).run())
    output, launches, arrays, *findings = told.split("\n\n")
    assert output == "3"
    assert launches == "kernel k, line 11: global 64, 3 times"
    assert arrays == "array a: int32[64]"
    assert any(f.startswith("data race: kernel k writes a, and the host reads it before it") for f in findings)


def test_the_command_line_shows_launches_of_one_size_once(tmp_path, capsys):
    body = "for (int n = 0; n < 3; n++) q.parallel_for<class k>(range<1>(64), [=](id<1> i) { a[i] += n; }).wait();"
    path = tmp_path / "often.cpp"
    path.write_text(program(body))
    assert cli.main(["program", str(path)]) == 0
    assert capsys.readouterr().out.count("global 64, 3 times") == 1


SIZES = (
    "for (int n = 64; n >= 16; n /= 2)\n    q.parallel_for<class k>(nd_range<1>(n, 16), [=](nd_item<1> it) { "
    "a[it.get_global_id(0)] = n; }).wait();"
)


def test_a_kernel_that_is_launched_over_several_sizes_has_them_all():
    kernels = xe.load(program(SIZES))
    assert kernels["k"].nd_range == xe.NDRange(64, 16)
    assert kernels["k"].nd_ranges == (xe.NDRange(64, 16), xe.NDRange(32, 16), xe.NDRange(16, 16))
    assert "global 64, local 16; later global 32, local 16; global 16, local 16\n" in repr(kernels)


def test_the_command_line_tells_that_there_are_other_sizes(tmp_path, capsys):
    path = tmp_path / "sizes.cpp"
    path.write_text(program(SIZES))
    assert cli.main(["estimate", str(path)]) == 0
    assert "also launches it over\n  global 32, local 16; global 16, local 16\n" in capsys.readouterr().out
    assert cli.main(["estimate", str(path), "--global", "48", "--local", "16"]) == 0
    assert "also launches" not in capsys.readouterr().out

"""Lifetimes: where the objects of a host's program end, and what its exceptions do, as a compiler of C++ has them."""

import pathlib
import shutil
import subprocess

import pytest

import xeemu as xe

_COMPILER = shutil.which("g++") or shutil.which("clang++")
_PROGRAMS = pathlib.Path(__file__).parent / "data" / "host"
_HEAD = "#include <sycl/sycl.hpp>\n"


@pytest.mark.skipif(_COMPILER is None, reason="no compiler of C++")
@pytest.mark.parametrize("path", sorted(_PROGRAMS.glob("*.cpp")), ids=lambda path: path.stem)
def test_programs_print_what_a_compiler_has_them_print(path, tmp_path):
    subprocess.run([_COMPILER, "-std=c++20", "-w", "-o", tmp_path / "program", path], check=True)
    done = subprocess.run([tmp_path / "program"], capture_output=True, text=True)
    found = xe.load(path).run()
    assert (found.output.splitlines(), found.exit_code) == (done.stdout.splitlines(), done.returncode)


def test_long_loops_end_their_objects():
    found = xe.load(
        _HEAD
        + """
    #include <cstdio>
    struct A { int x; A(int a) : x(a) {} ~A() { ended++; } static int ended; };
    int A::ended = 0;
    int main() {
      long sum = 0;
      for (int i = 0; i < 40000; i++) { A a(i); sum += a.x; }
      printf("%d %ld", A::ended, sum);
    }"""
    ).run()
    assert found.output == "40000 799980000"


def test_an_exception_that_nobody_catches_ends_the_program():
    text = """
    #include <stdexcept>
    int main() {
      try { throw std::runtime_error("not found"); } catch (int) { return 1; }
    }"""
    with pytest.raises(xe.Error, match=r'the program ends with an error: throw std :: runtime_error \( "not found" \)'):
        xe.load(_HEAD + text).run()


def test_what_is_deleted_twice_ends_once():
    found = xe.load(
        _HEAD
        + """
    #include <cstdio>
    struct A { ~A() { printf("end"); } };
    int main() {
      A *p = new A;
      delete p;
      delete p;
    }"""
    ).run()
    assert found.output == "end"
    assert "freed a second time" in str(found.findings)


def test_a_destructor_that_is_not_told_is_refused():
    text = """
    #include <cstdio>
    template <class F> struct Defer { F f; Defer(F g) : f(g) {} ~Defer() { f(); } };
    int main() { Defer d([] { printf("end"); }); }"""
    with pytest.raises(xe.Error, match=r"the destructor of Defer<.*>, an instance of a template that the parser"):
        xe.load(_HEAD + text).run()


def test_templates_end_in_a_text_with_what_other_compilers_take():
    text = """
    #include <cstdio>
    template <class T> struct Ends { T x; ~Ends() { printf("end %d", (int)x); } };
    int main() {
      Ends<int> e{0};
#pragma unroll(0)
      for (int k = 0; k < 4; k++) e.x += k;
    }"""
    assert xe.load(_HEAD + text).run().output == "end 6"


def test_a_pointer_to_itself_is_refused():
    text = """
    #include <memory>
    struct A : std::enable_shared_from_this<A> { int x = 3; };
    int main() {
      auto p = std::make_shared<A>();
      return p->shared_from_this()->x;
    }"""
    with pytest.raises(xe.Error, match="not supported: std::enable_shared_from_this; keep a shared_ptr to the object"):
        xe.load(_HEAD + text).run()


def test_memory_of_the_library_is_no_leak():
    found = xe.load(
        _HEAD
        + """
    #include <cstdlib>
    #include <iostream>
    int below(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
    int main() {
      int v[] = {3, 1, 2};
      qsort(v, 3, sizeof(int), below);
      sycl::queue q;
      short *sum = sycl::malloc_shared<short>(1, q);
      *sum = v[0];
      q.parallel_for(8, sycl::reduction(sum, sycl::plus<short>()), [=](sycl::id<1> i, auto &r) { r += i; }).wait();
      std::cout << v[0] << v[1] << v[2] << " " << *sum;
      sycl::free(sum, q);
    }"""
    ).run()
    assert found.output == "123 29"
    assert not found.leaks
    assert not found.findings

"""Long loops of the host: compiled when so many steps have been taken of them, launched at once from then on."""

import re

import pytest

import xeemu as xe
from xeemu.frontends import binding

pytest.importorskip("clang.cindex")

PROGRAM = """
#include <sycl/sycl.hpp>
#include <cstdio>
static int update(int *to, const int *from, int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) { to[i] = from[i] + 1; sum = sum * 3 + to[i]; } // here
  return sum;
}
int main() {
  int *a = new int[8000], *b = new int[8000];
  for (int i = 0; i < 8000; ++i) a[i] = i % 71, b[i] = 0;
  for (int turn = 0; turn < TURNS; ++turn) {
    CALL
    if (turn % 5 == 0) printf("turn %d: %d\\n", turn, sum);
  }
}
"""


@pytest.fixture
def made(monkeypatch):
    """The parameters that were left open in each kernel that was made of the loop of `update`."""
    found, make = [], binding.kernel

    def noted(program, function, *arguments, open_=frozenset(), **keywords):
        if function.place.line == 6:
            found.append(sorted(re.sub(" [0-9]+$", "", name) for name in open_))
        return make(program, function, *arguments, open_=open_, **keywords)

    monkeypatch.setattr(binding, "kernel", noted)
    return found


def update(to, source, n):
    total = 0
    for i in range(n):
        to[i] = source[i] + 1
        total = (total * 3 + to[i]) % 2**32
    return total - 2**32 * (total >= 2**31)


def expected(turns, call):
    a, b = [i % 71 for i in range(8000)], [0] * 8000
    sums = [call(a, b, turn) for turn in range(turns)]
    return "".join(f"turn {turn}: {sums[turn]}\n" for turn in range(0, turns, 5))


def output(turns, call):
    return xe.load(PROGRAM.replace("TURNS", str(turns)).replace("CALL", call)).run().output


def test_a_loop_that_is_short_each_time_is_compiled_once(made):
    text = output(11, "int sum = update(b, a, 8000); b[turn] = a[7999 - turn] += sum & 3;")

    def turn(a, b, turn):
        total = update(b, a, 8000)
        a[7999 - turn] += total & 3
        b[turn] = a[7999 - turn]
        return total

    assert text == expected(11, turn)
    assert made == [[]]


def test_a_bound_that_varies_is_left_open(made):
    text = output(26, "int sum = update(b, a, 7000 + 37 * turn); a[turn] = sum & 7;")

    def turn(a, b, turn):
        total = update(b, a, 7000 + 37 * turn)
        a[turn] = total & 7
        return total

    assert text == expected(26, turn)
    assert made == [[], ["n"]]


@pytest.mark.thorough
def test_pointers_that_meet_in_one_memory_are_another_kernel(made):
    text = output(21, "int sum = update(turn % 2 ? a : b, a, 8000);")
    assert text == expected(21, lambda a, b, turn: update(a if turn % 2 else b, a, 8000))
    assert made == [[], []]


def test_a_loop_that_now_and_then_prints_is_left_and_taken_up_again(made):
    program = """
    #include <sycl/sycl.hpp>
    #include <cstdio>
    int main() {
      unsigned sum = 0;
      for (int i = 0; i < 200000; ++i) { if (i % 20000 == 19999) printf("%u ", sum); sum = sum * 5 + i; }
    }
    """
    result = xe.load(program).run()
    total, texts = 0, []
    for i in range(200000):
        texts += [f"{total} "] if i % 20000 == 19999 else []
        total = (total * 5 + i) % 2**32
    assert result.output == "".join(texts)
    assert made == [[]]

"""Numbers that vary from launch to launch of a program's kernel are left open, and everything else is as before."""

import numpy as np
import pytest

import xeemu as xe
from xeemu.frontends import binding

pytest.importorskip("clang.cindex")

PROGRAM = """
#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *x = sycl::malloc_shared<int>(64, q), *y = sycl::malloc_shared<int>(64, q);
  for (int i = 0; i < 64; ++i) x[i] = i * i % 29, y[i] = 0;
  for (int round = 0; round < 7; ++round)
    q.submit([&](sycl::handler &h) {
      sycl::local_accessor<int> l(16, h);
      h.parallel_for(sycl::nd_range<1>(64, 16), [=](sycl::nd_item<1> it) {
        int k = it.get_local_id(0), sum = 0;
        l[k] = x[it.get_global_id(0)];
        sycl::group_barrier(it.get_group());
        for (int j = 0; j <= round; ++j) sum += l[(k + j) % 16];
        BODY
      });
    }).wait();
}
"""


@pytest.fixture
def opened(monkeypatch):
    """The sets of parameters that were left open, in the order in which kernels were made."""
    found, make = [], binding.kernel

    def noted(*arguments, open_=frozenset(), **keywords):
        found.append(set(open_))
        return make(*arguments, open_=open_, **keywords)

    monkeypatch.setattr(binding, "kernel", noted)
    return found


def expected(rounds=7):
    x = (np.arange(64, dtype=np.int32) ** 2 % 29).reshape(4, 16)
    return sum(np.roll(x, -j, 1) * (rounds - j) for j in range(rounds)).ravel()


def test_a_round_is_compiled_in_twice_and_then_left_open(opened):
    result = xe.load(PROGRAM.replace("BODY", "y[it.get_global_id(0)] += sum;")).run()
    np.testing.assert_array_equal(result.arrays["y"], expected())
    assert opened == [set(), {"round"}]
    assert len(result.submissions) == 7


def test_a_kernel_that_has_to_know_its_round_is_compiled_for_each(opened, monkeypatch):
    kernels = xe.load(PROGRAM.replace("BODY", "y[it.get_global_id(0)] += sum;"))
    make = binding.kernel

    def refusing(*arguments, open_=frozenset(), **keywords):
        if open_:
            raise xe.KernelError("round has to be known")
        return make(*arguments, **keywords)

    monkeypatch.setattr(binding, "kernel", refusing)
    np.testing.assert_array_equal(kernels.run().arrays["y"], expected())

"""Specialization constants: what a command sets holds for its launch, elsewhere the default does (SYCL 2020, 4.9.5)."""

import numpy as np
import pytest

import xeemu as xe

pytest.importorskip("clang.cindex")

PROGRAM = """
#include <sycl/sycl.hpp>
constexpr sycl::specialization_id<int> factor(3);
const static sycl::specialization_id<float> shift;
class scaled;
void submit(sycl::queue q, int *x, int *y, bool set) {
  q.submit([&](sycl::handler &h) {
    if (set) h.set_specialization_constant<factor>(5);
    h.parallel_for<scaled>(4, [=](sycl::item<1> i, sycl::kernel_handler k) {
      int total = k.get_specialization_constant<shift>();
      for (int n = 0; n < k.get_specialization_constant<factor>(); ++n) total += x[i];
      y[i] = total;
    });
  }).wait();
}
int main() {
  sycl::queue q;
  int *x = sycl::malloc_shared<int>(4, q), *once = sycl::malloc_shared<int>(4, q);
  int *set = sycl::malloc_shared<int>(4, q), *again = sycl::malloc_shared<int>(4, q);
  for (int i = 0; i < 4; ++i) x[i] = i + 1;
  submit(q, x, once, false);
  submit(q, x, set, true);
  submit(q, x, again, false);
  BUNDLE
}
"""
BUNDLED = """
  auto input = sycl::get_kernel_bundle<sycl::bundle_state::input>(q.get_context(), {sycl::get_kernel_id<scaled>()});
  input.set_specialization_constant<factor>(1);
  input.set_specialization_constant<shift>(10);
  input.set_specialization_constant<factor>(7);
  auto built = sycl::build(input);
  int *y = sycl::malloc_shared<int>(1, q);
  q.submit([&](sycl::handler &h) {
    h.use_kernel_bundle(built);
    h.single_task([=](sycl::kernel_handler k) {
      y[0] = k.get_specialization_constant<factor>() + k.get_specialization_constant<shift>();
    });
  }).wait();
  return y[0] == 17 && built.get_specialization_constant<factor>() == 7 ? 0 : 1;
"""
X = np.arange(1, 5, dtype=np.int32)


@pytest.mark.thorough
def test_a_command_sets_a_constant_for_itself():
    arrays = xe.load(PROGRAM.replace("BUNDLE", "")).run().arrays
    np.testing.assert_array_equal(arrays["once"], 3 * X)
    np.testing.assert_array_equal(arrays["set"], 5 * X)
    np.testing.assert_array_equal(arrays["again"], 3 * X)


def test_a_bundle_has_constants_of_its_own():
    assert xe.load(PROGRAM.replace("BUNDLE", BUNDLED)).run().exit_code == 0


def test_a_launch_by_name_takes_the_host_codes_value_or_its_own():
    kernels = xe.load(PROGRAM.replace("BUNDLE", ""))
    kernel = kernels["scaled"]
    assert "int factor = 3" in repr(kernels)
    y = xe.launch(kernel, xe.NDRange(4))(X, np.zeros(4, np.int32))
    np.testing.assert_array_equal(y, 3 * X)
    y = xe.launch(kernel, xe.NDRange(4))(X, np.zeros(4, np.int32), factor=2, shift=1.0)
    np.testing.assert_array_equal(y, 2 * X + 1)

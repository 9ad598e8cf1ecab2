"""Copies and fills of parts of buffers in several dimensions, as ranged accessors name them."""

import xeemu as xe

TEXT = """#include <sycl/sycl.hpp>
#include <vector>
using namespace sycl;
int main()
{
    queue q;
    std::vector<int> a(60), b(60, 0), c(24, 0), part(6, 0);
    for (int i = 0; i < 60; ++i)
        a[i] = i;
    {
        buffer<int, 3> from(a.data(), range<3>(3, 4, 5)), to(b.data(), range<3>(3, 4, 5));
        buffer<int, 2> filled(c.data(), range<2>(4, 6));
        q.submit([&](handler &h) {
            accessor x(from, h, range<3>(2, 2, 3), id<3>(1, 1, 1), read_only);
            accessor y(to, h, range<3>(2, 2, 3), id<3>(0, 2, 2), write_only);
            h.copy(x, y);
        });
        q.submit([&](handler &h) {
            accessor z(filled, h, range<2>(2, 2), id<2>(1, 3), write_only);
            h.fill(z, 7);
        });
        q.submit([&](handler &h) {
            accessor z(filled, h, range<2>(3, 2), id<2>(0, 2), read_only);
            h.copy(z, part.data());
        });
    }
    for (int i = 0; i < 60; ++i)
        if (b[i])
            printf("%d:%d ", i, b[i]);
    for (int x : part)
        printf("%d ", x);
}
"""


def test_the_part_alone_is_copied_and_filled():
    moved = {12: 26, 13: 27, 14: 28, 17: 31, 18: 32, 19: 33, 32: 46, 33: 47, 34: 48, 37: 51, 38: 52, 39: 53}
    expected = "".join(f"{to}:{x} " for to, x in moved.items()) + "0 0 0 7 0 7 "
    assert xe.load(TEXT).run().output == expected

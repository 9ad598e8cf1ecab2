"""Parameters of C++ that are declared as arrays are pointers, in kernels and on the host."""

import xeemu as xe

TEXT = """#include <sycl/sycl.hpp>
int open(int p[], int i) { return p[i]; }
int sized(const int p[4], int i) { const int *q = p; return p[i] + *q; }
int rows(int p[][2], int i) { return p[i][1]; }
int main(int argc, char *argv[])
{
    sycl::queue q;
    int *a = sycl::malloc_shared<int>(3, q), h[4] = {5, 6, 7, 8};
    q.single_task([=] {
        int p[] = {1, 2, 3, 4}, t[2][2] = {{1, 2}, {3, 4}};
        a[0] = open(p, 3);
        a[1] = sized(p, 2);
        a[2] = rows(t, 1);
    }).wait();
    printf("%d %d %d, %d %d\\n", a[0], a[1], a[2], open(h, 1), sized(h, 2));
    return argc - 1;
}
"""


def test_what_is_declared_as_an_array_is_a_pointer():
    result = xe.load(TEXT).run()
    assert result.output == "4 4 4, 6 12\n"
    assert result.exit_code == 0

// The kernels of matmul.py in SYCL, products of TILE x TILE matrices for as many pairs as there are work-groups.
// ROWS, COLUMNS and DEPTH are the sizes of the tiled product.

#include <sycl/sycl.hpp>

#include <iostream>
#include <vector>

#ifndef TILE
#define TILE 16
#endif
#ifndef ROWS
#define ROWS 40
#define COLUMNS 70
#define DEPTH 33
#endif

using namespace sycl;

class matmul_naive;
class matmul_local;

// A product of any sizes: a work-group goes along the tiles of its rows and columns.
class matmul_tiled {
public:
    matmul_tiled(buffer<float, 2> &left, buffer<float, 2> &right, buffer<float, 2> &product, handler &h)
        : a(left, h, read_only), b(right, h, read_only), c(product, h, write_only, no_init),
          a_tile({TILE, TILE}, h), b_tile({TILE, TILE}, h)
    {
    }

    [[sycl::reqd_work_group_size(TILE, TILE)]] void operator()(nd_item<2> item) const
    {
        int i = item.get_global_id(0), j = item.get_global_id(1);
        int x = item.get_local_id(0), y = item.get_local_id(1);

        float total = 0;
        for (int tile = 0; tile < (DEPTH + TILE - 1) / TILE; ++tile) {
            int row = tile * TILE + x, column = tile * TILE + y;
            a_tile[x][y] = i < ROWS && column < DEPTH ? a[i][column] : 0;
            b_tile[x][y] = row < DEPTH && j < COLUMNS ? b[row][j] : 0;
            group_barrier(item.get_group());
            #pragma unroll
            for (int k = 0; k < TILE; ++k)
                total += a_tile[x][k] * b_tile[k][y];
            group_barrier(item.get_group());
        }
        if (i < ROWS && j < COLUMNS)
            c[i][j] = total;
    }

private:
    accessor<float, 2, access_mode::read> a, b;
    accessor<float, 2, access_mode::write> c;
    local_accessor<float, 2> a_tile, b_tile;
};

void multiply_naively(queue &q, buffer<float, 1> &left, buffer<float, 1> &right, buffer<float, 1> &product)
{
    q.submit([&](handler &h) {
        accessor a(left, h, read_only), b(right, h, read_only);
        accessor c(product, h, write_only);
        nd_range<2> items({TILE, TILE}, {TILE, TILE});
        h.parallel_for<matmul_naive>(items, [=](nd_item<2> item) {
            int i = item.get_global_id(0), j = item.get_global_id(1), first = item.get_group(0) * TILE;
            float total = 0;
            for (int k = 0; k < TILE; ++k)
                total += a[i * TILE + k] * b[(first + k) * TILE + j];
            c[i * TILE + j] = total;
        });
    });
}

void multiply_in_local_memory(queue &q, buffer<float, 1> &left, buffer<float, 1> &right, buffer<float, 1> &product)
{
    q.submit([&](handler &h) {
        accessor a(left, h, read_only), b(right, h, read_only);
        accessor c(product, h, write_only);
        accessor<float, 2, access::mode::read_write, access::target::local> a_local(range<2>(TILE, TILE), h);
        accessor<float, 2, access::mode::read_write, access::target::local> b_local(range<2>(TILE, TILE), h);
        nd_range<2> items({TILE, TILE}, {TILE, TILE});
        h.parallel_for<matmul_local>(items, [=](nd_item<2> item) {
            int i = item.get_global_id(0), j = item.get_global_id(1);
            int x = item.get_local_id(0), y = item.get_local_id(1);
            a_local[x][y] = a[i * TILE + j];
            b_local[x][y] = b[i * TILE + j];
            group_barrier(item.get_group());

            float total = 0;
            for (int k = 0; k < TILE; ++k)
                total += a_local[x][k] * b_local[k][y];
            c[i * TILE + j] = total;
        });
    });
}

void multiply_by_tiles(queue &q, buffer<float, 2> &left, buffer<float, 2> &right, buffer<float, 2> &product)
{
    constexpr size_t rows = (ROWS + TILE - 1) / TILE * TILE, columns = (COLUMNS + TILE - 1) / TILE * TILE;
    q.submit([&](handler &h) {
        matmul_tiled kernel(left, right, product, h);
        h.parallel_for(nd_range<2>({rows, columns}, {TILE, TILE}), kernel);
    });
}

// How many elements of a product are not the sums that they should be.
int wrong(const std::vector<float> &a, const std::vector<float> &b, const std::vector<float> &c, int rows, int columns,
          int depth)
{
    int found = 0;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) {
            float total = 0;
            for (int k = 0; k < depth; ++k)
                total += a[i * depth + k] * b[k * columns + j];
            found += c[i * columns + j] != total;
        }
    return found;
}

int main()
{
    std::vector<float> a(TILE * TILE), b(TILE * TILE), naive(TILE * TILE), local(TILE * TILE);
    std::vector<float> left(ROWS * DEPTH), right(DEPTH * COLUMNS), product(ROWS * COLUMNS);
    for (int i = 0; i < TILE * TILE; ++i) {
        a[i] = i + 2;
        b[i] = i + 3;
    }
    for (int i = 0; i < ROWS * DEPTH; ++i)
        left[i] = i % 17 - 8;
    for (int i = 0; i < DEPTH * COLUMNS; ++i)
        right[i] = i % 13 - 6;

    {
        queue q;
        buffer<float, 1> buffer_a(a), buffer_b(b), buffer_naive(naive), buffer_local(local);
        multiply_naively(q, buffer_a, buffer_b, buffer_naive);
        multiply_in_local_memory(q, buffer_a, buffer_b, buffer_local);

        buffer<float, 2> buffer_left(left.data(), range<2>(ROWS, DEPTH));
        buffer<float, 2> buffer_right(right.data(), range<2>(DEPTH, COLUMNS));
        buffer<float, 2> buffer_product(product.data(), range<2>(ROWS, COLUMNS));
        multiply_by_tiles(q, buffer_left, buffer_right, buffer_product);
    }

    int found = wrong(a, b, naive, TILE, TILE, TILE) + wrong(a, b, local, TILE, TILE, TILE);
    found += wrong(left, right, product, ROWS, COLUMNS, DEPTH);
    std::cout << found << " elements are wrong\n";
    return found ? 1 : 0;
}

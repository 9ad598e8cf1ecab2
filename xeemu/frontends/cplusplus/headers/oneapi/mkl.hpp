// oneMKL: what programs name of it; where one of its functions is called, the program is refused.
#ifndef XEEMU_ONEAPI_MKL_HPP
#define XEEMU_ONEAPI_MKL_HPP
#include <complex>
#include <sycl/sycl.hpp>

namespace oneapi::mkl {
enum class transpose : char { nontrans = 0, trans = 1, conjtrans = 3, N = 0, T = 1, C = 3 };
enum class uplo : char { upper = 0, lower = 1, U = 0, L = 1 };
enum class diag : char { nonunit = 0, unit = 1, N = 0, U = 1 };
enum class side : char { left = 0, right = 1, L = 0, R = 1 };
enum class layout : char { row_major, col_major, R = 0, C = 1 };
enum class index_base : char { zero = 0, one = 1 };
enum class offset : char { row, column, fix };
enum class job : char { N, V, U, A, S, O, novec = 0, vec = 1 };
enum class jobsvd : char { novec, vectors, vectorsina, somevec };
enum class compz : char { novectors, vectors, initvectors };
enum class rangev : char { all, values, indices };
typedef sycl::half half;
struct exception : sycl::exception { using sycl::exception::exception; };

#define XEEMU_REFUSED(library, name)                                                                            \
  template <class... A> inline sycl::event name(A &&...) {                                                      \
    __xeemu::unsupported("oneMKL's " library "::" #name "; write the kernel, or compute its result before");    \
    return sycl::event();                                                                                       \
  }
namespace blas {
enum class compute_mode { unset, standard, float_to_bf16, float_to_tf32, any };
XEEMU_REFUSED("blas", gemm)
XEEMU_REFUSED("blas", gemv)
XEEMU_REFUSED("blas", gemm_batch)
XEEMU_REFUSED("blas", gemm_bias)
XEEMU_REFUSED("blas", trsm)
XEEMU_REFUSED("blas", trsm_batch)
XEEMU_REFUSED("blas", trmm)
XEEMU_REFUSED("blas", symm)
XEEMU_REFUSED("blas", syrk)
XEEMU_REFUSED("blas", syr2k)
XEEMU_REFUSED("blas", herk)
XEEMU_REFUSED("blas", her2k)
XEEMU_REFUSED("blas", axpy)
XEEMU_REFUSED("blas", dot)
XEEMU_REFUSED("blas", dotc)
XEEMU_REFUSED("blas", dotu)
XEEMU_REFUSED("blas", nrm2)
XEEMU_REFUSED("blas", asum)
XEEMU_REFUSED("blas", scal)
XEEMU_REFUSED("blas", copy)
XEEMU_REFUSED("blas", swap)
XEEMU_REFUSED("blas", rot)
XEEMU_REFUSED("blas", rotg)
XEEMU_REFUSED("blas", rotm)
XEEMU_REFUSED("blas", rotmg)
XEEMU_REFUSED("blas", iamax)
XEEMU_REFUSED("blas", iamin)
XEEMU_REFUSED("blas", ger)
XEEMU_REFUSED("blas", symv)
XEEMU_REFUSED("blas", trsv)
XEEMU_REFUSED("blas", trmv)
XEEMU_REFUSED("blas", syr)
XEEMU_REFUSED("blas", spmv)
XEEMU_REFUSED("blas", omatcopy_batch)
XEEMU_REFUSED("blas", omatcopy)
XEEMU_REFUSED("blas", imatcopy)
XEEMU_REFUSED("blas", omatadd)
XEEMU_REFUSED("blas", gemmt)
XEEMU_REFUSED("blas", gemm_s8u8s32)
}  // namespace blas
namespace blas::column_major {
using namespace blas;
}
namespace blas::row_major {
using namespace blas;
}
namespace lapack {
struct exception : sycl::exception { using sycl::exception::exception; };
struct batch_error : exception { using exception::exception; };
XEEMU_REFUSED("lapack", getrf)
XEEMU_REFUSED("lapack", getrs)
XEEMU_REFUSED("lapack", getri)
XEEMU_REFUSED("lapack", potrf)
XEEMU_REFUSED("lapack", potrs)
XEEMU_REFUSED("lapack", geqrf)
XEEMU_REFUSED("lapack", orgqr)
XEEMU_REFUSED("lapack", gesvd)
XEEMU_REFUSED("lapack", gesv)
XEEMU_REFUSED("lapack", getrf_batch)
XEEMU_REFUSED("lapack", getrs_batch)
XEEMU_REFUSED("lapack", getri_batch)
XEEMU_REFUSED("lapack", geqrf_batch)
XEEMU_REFUSED("lapack", syevd)
XEEMU_REFUSED("lapack", heevd)
XEEMU_REFUSED("lapack", potrf_batch)
XEEMU_REFUSED("lapack", potrs_batch)
XEEMU_REFUSED("lapack", getrf_scratchpad_size)
XEEMU_REFUSED("lapack", getrs_scratchpad_size)
XEEMU_REFUSED("lapack", getri_scratchpad_size)
XEEMU_REFUSED("lapack", potrf_scratchpad_size)
XEEMU_REFUSED("lapack", potrs_scratchpad_size)
XEEMU_REFUSED("lapack", geqrf_scratchpad_size)
XEEMU_REFUSED("lapack", gesvd_scratchpad_size)
XEEMU_REFUSED("lapack", syevd_scratchpad_size)
}  // namespace lapack
namespace sparse {
typedef void *matrix_handle_t;
typedef void *matmat_descr_t;
enum class matrix_view_descr { general };
XEEMU_REFUSED("sparse", init_matrix_handle)
XEEMU_REFUSED("sparse", release_matrix_handle)
XEEMU_REFUSED("sparse", set_csr_data)
XEEMU_REFUSED("sparse", gemv)
XEEMU_REFUSED("sparse", gemm)
XEEMU_REFUSED("sparse", trsv)
XEEMU_REFUSED("sparse", symv)
XEEMU_REFUSED("sparse", trmv)
XEEMU_REFUSED("sparse", matmat)
XEEMU_REFUSED("sparse", init_matmat_descr)
XEEMU_REFUSED("sparse", set_matmat_data)
XEEMU_REFUSED("sparse", release_matmat_descr)
XEEMU_REFUSED("sparse", optimize_trsv)
XEEMU_REFUSED("sparse", optimize_gemv)
XEEMU_REFUSED("sparse", optimize_gemm)
XEEMU_REFUSED("sparse", optimize_trsm)
XEEMU_REFUSED("sparse", trsm)
XEEMU_REFUSED("sparse", sort_matrix)
XEEMU_REFUSED("sparse", update_diagonal_values)
}  // namespace sparse
namespace rng {
XEEMU_REFUSED("rng", generate)
XEEMU_REFUSED("rng", skip_ahead)
struct philox4x32x10 {
  template <class... A> explicit philox4x32x10(A &&...) {}
};
struct mrg32k3a {
  template <class... A> explicit mrg32k3a(A &&...) {}
};
struct mcg31m1 {
  template <class... A> explicit mcg31m1(A &&...) {}
};
struct mcg59 {
  template <class... A> explicit mcg59(A &&...) {}
};
struct mt19937 {
  template <class... A> explicit mt19937(A &&...) {}
};
struct mt2203 {
  template <class... A> explicit mt2203(A &&...) {}
};
struct sobol {
  template <class... A> explicit sobol(A &&...) {}
};
struct default_engine {
  template <class... A> explicit default_engine(A &&...) {}
};
struct ars5 {
  template <class... A> explicit ars5(A &&...) {}
};
struct r250 {
  template <class... A> explicit r250(A &&...) {}
};
struct wichmann_hill {
  template <class... A> explicit wichmann_hill(A &&...) {}
};
namespace uniform_method { struct standard {}; struct accurate {}; struct by_default {}; }
namespace gaussian_method { struct box_muller {}; struct box_muller2 {}; struct icdf {}; struct by_default {}; }
template <class T = float, class M = int> struct uniform {
  template <class... A> explicit uniform(A...) {}
};
template <class T = float, class M = int> struct gaussian {
  template <class... A> explicit gaussian(A...) {}
};
template <class T = float, class M = int> struct lognormal {
  template <class... A> explicit lognormal(A...) {}
};
template <class T = float, class M = int> struct exponential {
  template <class... A> explicit exponential(A...) {}
};
template <class T = float, class M = int> struct poisson {
  template <class... A> explicit poisson(A...) {}
};
template <class T = float, class M = int> struct bits {
  template <class... A> explicit bits(A...) {}
};
template <class T = float, class M = int> struct uniform_bits {
  template <class... A> explicit uniform_bits(A...) {}
};
template <class T = float, class M = int> struct bernoulli {
  template <class... A> explicit bernoulli(A...) {}
};
}  // namespace rng
namespace vm {
XEEMU_REFUSED("vm", add)
XEEMU_REFUSED("vm", sub)
XEEMU_REFUSED("vm", mul)
XEEMU_REFUSED("vm", div)
XEEMU_REFUSED("vm", sqrt)
XEEMU_REFUSED("vm", exp)
XEEMU_REFUSED("vm", ln)
XEEMU_REFUSED("vm", sin)
XEEMU_REFUSED("vm", cos)
XEEMU_REFUSED("vm", pow)
XEEMU_REFUSED("vm", abs)
}  // namespace vm
namespace stats {
XEEMU_REFUSED("stats", mean)
XEEMU_REFUSED("stats", min)
XEEMU_REFUSED("stats", max)
}  // namespace stats
#undef XEEMU_REFUSED
namespace dft {
enum class precision { SINGLE, DOUBLE };
enum class domain { REAL, COMPLEX };
enum class config_param {
  PLACEMENT, FWD_DISTANCE, BWD_DISTANCE, NUMBER_OF_TRANSFORMS, WORKSPACE, WORKSPACE_BYTES, WORKSPACE_ESTIMATE_BYTES,
  OUTPUT_STRIDES, INPUT_STRIDES, FWD_STRIDES, BWD_STRIDES, FORWARD_SCALE, BACKWARD_SCALE, COMMIT_STATUS
};
enum class config_value { INPLACE, NOT_INPLACE, WORKSPACE_EXTERNAL, WORKSPACE_INTERNAL, COMMITTED, UNCOMMITTED };
template <precision p, domain d> struct descriptor {
  template <class... A> explicit descriptor(A &&...) {}
  template <class... A> void set_value(A...) {}
  template <class... A> void get_value(A...) {}
  void commit(sycl::queue &) { __xeemu::unsupported("oneMKL's dft; write the kernel, or compute its result before"); }
};
template <class... A> inline sycl::event compute_forward(A &&...) { return sycl::event(); }
template <class... A> inline sycl::event compute_backward(A &&...) { return sycl::event(); }
}  // namespace dft
}  // namespace oneapi::mkl

#endif

#include <oneapi/mkl.hpp>
namespace oneapi {
namespace math = mkl;
}

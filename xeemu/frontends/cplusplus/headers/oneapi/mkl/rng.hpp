#include <oneapi/mkl.hpp>

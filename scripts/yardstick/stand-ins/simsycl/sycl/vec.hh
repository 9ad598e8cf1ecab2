#pragma once
#include <simsycl/sycl.hh>

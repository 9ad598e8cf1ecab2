"""Front ends: kernels of OpenCL C, as they stand, as `xe.Kernel`s."""

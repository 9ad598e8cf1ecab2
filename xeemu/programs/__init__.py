"""Programs: SYCL programs run as a whole, the host's code and the kernels that it submits."""

"""The memory model of SYCL as axioms, and the outcomes of litmus tests."""

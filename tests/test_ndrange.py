"""Sizes of launches in SYCL's order of dimensions and in OpenCL's."""

import pytest

import xeemu as xe


@pytest.mark.parametrize(
    ("opencl", "sycl"),
    [
        ((64, 16), (64, 16)),
        ((64,), (64,)),
        (((64, 8), (16, 4)), ((8, 64), (4, 16))),
        (((4, 5, 6), (1, 5, 2)), ((6, 5, 4), (2, 5, 1))),
        (([64, 8],), ((8, 64),)),
    ],
)
def test_opencls_first_dimension_is_sycls_last(opencl, sycl):
    assert xe.NDRange.opencl(*opencl) == xe.NDRange(*sycl)
    assert hash(xe.NDRange.opencl(*opencl)) == hash(xe.NDRange(*sycl))


def test_the_text_shows_both_orders():
    sycl = "NDRange(global_size=(8, 64), local_size=(4, 16))"
    assert repr(xe.NDRange((8, 64), (4, 16))) == sycl
    assert repr(xe.NDRange.opencl((64, 8), (16, 4))) == (
        f"NDRange.opencl(global_size=(64, 8), local_size=(16, 4)) = {sycl}"
    )


def test_the_text_of_one_dimension_has_one_order():
    assert repr(xe.NDRange.opencl(64, 16)) == "NDRange.opencl(global_size=(64,), local_size=(16,))"


@pytest.mark.parametrize("sizes", [(1.5,), ("64",), ((1, 2, 3, 4),), (64, 0), ((64, 64), 16)])
def test_what_is_no_size_is_refused_as_in_sycls_order(sizes):
    with pytest.raises(xe.NDRangeError):
        xe.NDRange.opencl(*sizes)

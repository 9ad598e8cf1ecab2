"""Strictness for all tests: no implicit promotion of dtypes, and the same hypothesis examples in every run."""

import hypothesis
import jax
import pytest

hypothesis.settings.register_profile("xeemu", derandomize=True, deadline=None, print_blob=False)
hypothesis.settings.load_profile("xeemu")


@pytest.fixture(autouse=True, scope="session")
def strict_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield

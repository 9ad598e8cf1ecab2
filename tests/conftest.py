"""Strictness for all tests, the same hypothesis examples in every run, and the cases that a run takes by default."""

import collections
import zlib

import hypothesis
import jax
import pytest

# Cases of a test that a run takes which is not thorough.
_CASES = 4

hypothesis.settings.register_profile("xeemu", derandomize=True, deadline=None, print_blob=False)
hypothesis.settings.load_profile("xeemu")


@pytest.fixture(autouse=True, scope="session")
def strict_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield


def pytest_addoption(parser):
    parser.addoption(
        "--thorough",
        action="store_true",
        help=f"run each case of every test, instead of {_CASES} cases, and the tests marked thorough",
    )


@pytest.hookimpl(trylast=True)  # of what -k and -m have left
def pytest_collection_modifyitems(config, items):
    if config.option.thorough:
        return
    taken = _taken(item for item in items if not item.get_closest_marker("thorough"))
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = [item for item in items if item in taken]


def _taken(items):
    """A few cases of each test, chosen by their names, so that grids of parameters are not cut along an axis."""
    cases, taken = collections.defaultdict(list), set()
    for item in items:
        if item.get_closest_marker("long"):
            taken.add(item)
        else:
            cases[item.nodeid.split("[")[0]].append(item)
    for same in cases.values():
        taken.update(sorted(same, key=lambda item: zlib.crc32(item.nodeid.encode()))[:_CASES])
    return taken

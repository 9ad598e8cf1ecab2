"""Strictness for all tests, the same hypothesis examples in every run, the cases that a run takes by default, and how
hard XLA tries: three quarters of the tests' time went into compiling what then ran for milliseconds.
"""

import collections
import gc
import os
import subprocess
import sys
import threading
import zlib

import hypothesis
import jax
import pytest
from jax._src.interpreters import mlir

# What XLA does less of unless --optimize is given; results must not depend on it.
_EFFORT = (
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)

hypothesis.settings.register_profile("thorough", derandomize=True, deadline=None, print_blob=False, max_examples=50)
hypothesis.settings.register_profile("default", hypothesis.settings.get_profile("thorough"), max_examples=25)


@pytest.fixture(autouse=True, scope="session")
def strict_promotion():
    with jax.numpy_dtype_promotion("strict"):
        yield


@pytest.fixture(autouse=True, scope="session")
def kept_contexts():
    """JAX 0.10 loads MLIR's dialects anew for each program, which is half of lowering a small one; 0.11 keeps them."""
    make, kept = mlir.make_ir_context, threading.local()

    def taken():
        left = getattr(kept, "left", 0)
        kept.context, kept.left = (kept.context, left - 1) if left else (make(), 9)
        return kept.context

    with pytest.MonkeyPatch.context() as patched:
        if jax.version.__version_info__ < (0, 11):
            patched.setattr(mlir, "make_ir_context", taken)
        yield


def pytest_addoption(parser):
    parser.addoption(
        "--thorough",
        action="store_true",
        help="run each case of every test, instead of one unless it is marked whole, and those marked thorough",
    )
    parser.addoption(
        "--optimize",
        action="store_true",
        help="let XLA compile as hard as it does for users, as .ci/run does for the tests marked optimized",
    )


def pytest_ignore_collect(collection_path, config):
    """Where only tests marked "optimized" are asked for, importing all other files took as long as running these."""
    asked = config.option.markexpr.startswith("optimized") and collection_path.name.startswith("test_")
    return True if asked and "mark.optimized" not in collection_path.read_text() else None


def pytest_itemcollected(item):
    """Of the cases of a test that is marked "every", the others are for the long run."""
    every = item.get_closest_marker("every")
    if every and zlib.crc32(item.nodeid.encode()) % every.args[0]:
        item.add_marker("long")


def pytest_collection_finish():
    """Tests and modules stay to the end; Python need not search them for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.hookimpl(trylast=True)  # when there is a cache
def pytest_configure(config):
    hypothesis.settings.load_profile("thorough" if config.option.thorough else "default")
    if not config.option.optimize and not hasattr(config, "workerinput"):  # workers have the environment
        cache = getattr(config, "cache", None)
        flags = _EFFORT if _takes(" ".join(_EFFORT), cache) else [flag for flag in _EFFORT if _takes(flag, cache)]
        os.environ["XLA_FLAGS"] = " ".join([*flags, os.environ.get("XLA_FLAGS", "")]).strip()


def _takes(flags, cache):
    """True if this JAX knows these flags of XLA; the names come and go, and unknown ones end the process."""
    key = f"xla/{jax.lib.__version__}/{flags}"
    known = cache.get(key, None) if cache else None
    if known is None:
        environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
        command = [sys.executable, "-c", "import jax; jax.devices()"]
        known = not subprocess.run(command, env=environment, capture_output=True, check=False).returncode
        if cache:
            cache.set(key, known)
    return known


@pytest.hookimpl(trylast=True)  # of what -k and -m have left
def pytest_collection_modifyitems(config, items):
    if config.option.thorough:
        return
    taken = _taken(item for item in items if not item.get_closest_marker("thorough"))
    config.hook.pytest_deselected(items=[item for item in items if item not in taken])
    items[:] = [item for item in items if item in taken]


def _taken(items):
    """A case of each test, chosen by its name, so that grids of parameters are not cut along an axis."""
    cases, taken = collections.defaultdict(list), set()
    for item in items:
        if item.get_closest_marker("long") or item.get_closest_marker("whole"):
            taken.add(item)
        else:
            cases[item.nodeid.split("[")[0]].append(item)
    return taken | {min(same, key=lambda item: zlib.crc32(item.nodeid.encode())) for same in cases.values()}

"""Fixtures for launches that the cores of a CPU share."""

import jax
import pytest
from hosts import take

from xeemu.launching import cores, executables, threads
from xeemu.launching.launch import _launched


@pytest.fixture(autouse=True)
def on_a_cpu():
    """Wherever else JAX would run it."""
    with jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


@pytest.fixture(autouse=True)
def three_cores(monkeypatch):
    """Whatever the machine has; and launches so small are shared."""
    monkeypatch.setattr(cores, "count", lambda: 3)
    take(monkeypatch, "threads", thread_ns=1e-9, moved_ns=1e-9)
    for cached in (_launched, executables.executable):
        cached.cache_clear()
    yield
    for cached in (_launched, executables.executable):
        cached.cache_clear()


@pytest.fixture
def counts(monkeypatch):
    """By how many threads launches were carried out."""
    found, init = [], threads.Threaded.__init__

    def noted(self, *arguments):
        init(self, *arguments)
        found.append(self.shared.count)

    monkeypatch.setattr(threads.Threaded, "__init__", noted)
    return found

"""How hard XLA tries depends on what there is to gain: short computations that somebody watches compile fast."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.devices import target
from xeemu.emission import compiling
from xeemu.launching import executables, recompiling
from xeemu.launching.arguments import DEFAULT_DEVICE, ArgumentType, checked_device
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare
from xeemu.planning import effort


@xe.kernel
def summed(wg, x, *, times):
    i = wg.global_id()
    return x.at[i].set(lax.fori_loop(0, times, lambda k, total: total * 3 + k, x[i]))


@xe.kernel
def halved(wg, x):
    i = wg.global_id()
    return x.at[i].set(lax.while_loop(lambda left: jnp.any(left > 0), lambda left: left // 2, x[i]))


def prepared(kernel, size, platform="cpu", **static):
    nd_range = xe.NDRange(size, 64)
    device = checked_device(kernel, nd_range, DEFAULT_DEVICE)
    given = (ArgumentType.of(jax.ShapeDtypeStruct((size,), np.int32)),)
    return prepare(kernel, nd_range, device, given, kernel.bind_static(static), Options(None, False, False, platform))


def options_of(kernel, size, platform="cpu", **static):
    ready = prepared(kernel, size, platform, **static)
    return compiling.effort(effort.is_short(ready.program, ready.cut.groups, target.of_platform(platform)))


@pytest.mark.skipif(not compiling.effort(little=True), reason="this XLA knows none of the options")
@pytest.mark.parametrize(("kernel", "static"), [(summed, {"times": 10}), (halved, {})])
def test_little_for_what_runs_shortly_on_a_cpu(kernel, static):
    assert options_of(kernel, 1024, **static) == compiling.effort(little=True) != {}
    assert options_of(kernel, 1024, "gpu", **static) == {}


@pytest.mark.parametrize(
    ("kernel", "size", "static"),
    [(summed, 2**22, {"times": 10}), (summed, 1024, {"times": 2**20}), (halved, 2**20, {})],
)
def test_as_usual_for_what_takes_long(kernel, size, static):
    assert options_of(kernel, size, **static) == {}


@pytest.mark.skipif(not compiling.effort(little=True), reason="this XLA knows none of the options")
def test_little_for_what_is_carried_out_once():
    ready = prepared(summed, 2**16, times=2**6)
    assert not effort.is_short(ready.program, ready.cut.groups, ready.options.target)
    assert ready.once.compiler_options == {**ready.compiler_options, **compiling.effort(little=True)}
    assert ready.once is ready.once
    longer = prepared(summed, 2**20, times=2**6)
    assert longer.once.compiler_options == longer.compiler_options


@pytest.mark.skipif(not compiling.supports_single_thread(), reason="this XLA knows none of the options")
def test_one_thread_for_launches_in_which_several_would_wait():
    one = set(compiling.single({}))
    assert one <= set(prepared(summed, 1024, times=10).compiler_options)
    assert not one & set(prepared(summed, 2**20, times=10).compiler_options)
    assert not one & set(prepared(summed, 1024, "gpu", times=10).compiler_options)


@pytest.mark.optimized
def test_a_check_gives_what_a_launch_gives():
    x = np.arange(1024, dtype=np.int32)
    outputs, findings = xe.check(summed, xe.NDRange(1024, 64))(x, times=10)
    np.testing.assert_array_equal(outputs, xe.launch(summed, xe.NDRange(1024, 64))(x, times=10))
    assert not findings


class Clock:
    """Read before and after each run: the first takes 3 s, each other as long as it says."""

    def __init__(self, run_s):
        self.readings = [0, 3, 0, run_s, 0, run_s]

    def process_time(self):
        return self.readings.pop(0)


@pytest.mark.skipif(not compiling.effort(little=True), reason="this XLA knows none of the options")
@pytest.mark.parametrize(("run_s", "expected"), [(1, [True, True, True]), (4, [True, True, False])])
def test_all_for_what_has_run_for_longer_than_it_took_to_compile(monkeypatch, run_s, expected):
    asked, executable = [], executables.executable

    def noted(ready):
        asked.append(ready.options.once)
        return executable(ready)

    monkeypatch.setattr(recompiling, "time", Clock(run_s))
    monkeypatch.setattr(executables, "executable", noted)
    seldom, x = executables.seldom(prepared(summed, 64, times=10)), np.arange(64, dtype=np.int32)
    results = [seldom([x])[0] for _ in expected]
    assert asked == expected
    assert all((result == results[0]).all() for result in results)


def test_what_is_worth_all_effort_is_compiled_once_for_all(monkeypatch):
    longer = prepared(summed, 1 << 20, times=1000)
    asked = []
    monkeypatch.setattr(executables, "executable", lambda ready: asked.append(ready) or executables.Executable(ready))
    monkeypatch.setattr(executables.Executable, "run", lambda self, given: [])
    executables.seldom(longer)([np.zeros(1 << 20, np.int32)])
    assert asked == [longer]

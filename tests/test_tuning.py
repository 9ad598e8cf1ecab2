"""Sweeps: the order of the rows, figures that are the estimate's, reasons, and sweeps that go on where they were."""

import copy
import dataclasses
import io
import json
import os
import pickle
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.sweeps import digests, progress, tuning
from xeemu.sweeps.ranking import Row, Table
from xeemu.sweeps.tuning import tune

X = jax.ShapeDtypeStruct((4096,), jnp.float32)


@xe.kernel
def scale(wg, x, *, factor=3, unroll=1):
    """Multiplies, `unroll` elements for each work-item."""
    for k in range(unroll):
        i = wg.global_id() + k * wg.global_range()
        x = x.at[i].set(x[i] * factor)
    return x


@xe.kernel
def strided(wg, x, *, stride=1):
    """Local memory with bank conflicts."""
    lid = wg.local_id()
    tile = wg.local(stride * wg.size, jnp.float32)
    tile = tile.at[stride * lid].set(x[wg.global_id()])
    return x.at[wg.global_id()].set(tile[stride * lid])


@xe.kernel
def count(wg, data, bins):
    """Its cost depends on data."""
    return bins.atomic[data[wg.global_id()]].add(1)


@xe.kernel
def picky(wg, x, *, block=1):
    """Refuses a configuration in four ways."""
    if block == 2:
        raise ValueError("two is no block")
    assert block != 3
    x = x.at[wg.global_id()].set(x[wg.global_id()] + 4 // (4 - block))
    return x if block != 5 else 1


@xe.kernel(sub_group_size=16, work_group_size=64)
def strict(wg, x):
    return x.at[wg.global_id()].set(x[wg.global_id()] + 1)


@xe.kernel
def named(wg, x, *, local_size=1):
    return x.at[wg.global_id()].set(x[wg.global_id()] * local_size)


@xe.kernel
def worded(wg, x, *, kind="other"):
    return x.at[wg.global_id()].set(x[wg.global_id()] * len(kind))


SIZES = {"global_size": 4096, "local_size": [64, 128, 256]}


def configurations(table, *names):
    return [tuple(row.configuration[name] for name in names) for row in table]


@pytest.fixture
def evaluated(monkeypatch):
    """The configurations that are evaluated, as they come."""
    seen, costed = [], tuning._Sweep._costed

    def watched(self, configuration, arguments):
        seen.append(configuration)
        return costed(self, configuration, arguments)

    monkeypatch.setattr(tuning._Sweep, "_costed", watched)
    return seen


class TestRows:
    def test_figures_are_those_of_an_estimate(self):
        space = {"local_size": [64, 256], "sub_group_size": [16, 32], "device": ["max1550", "a770"], "stride": [1, 16]}
        table = tune(strided, {**space, "global_size": 4096})(X)
        assert len(table) == 16
        for row in table:
            device, lanes = row.configuration["device"], row.configuration["sub_group_size"]
            kernel = dataclasses.replace(strided, sub_group_size=lanes)
            nd_range = xe.NDRange(4096, row.configuration["local_size"])
            report = xe.estimate(kernel, nd_range, device=device)(X, stride=row.configuration["stride"])
            assert row.nd_range == nd_range
            assert row.static == {"stride": row.configuration["stride"]}
            assert (row.time_s, row.bound, row.mark) == (report.time_s, report.bound, "~")
            assert row.time_s is not None
            assert row.occupancy == report.occupancy.fraction
            assert (row.basis, row.reason) == ("shapes", None)
            unknown = tuple(term.resource for term in report.terms if term.work and term.cycles is None)
            assert row.missing == unknown

    def test_the_best_comes_first(self):
        table = tune(strided, {**SIZES, "stride": [16, 1]}, device="a770")(X)
        times = [row.time_s for row in table]
        assert times == sorted(times)
        assert table.best is table[0]
        assert table.best.configuration["stride"] == 1

    def test_unknown_times_come_next_and_invalid_ones_last(self):
        table = tune(scale, {**SIZES, "local_size": [4096, 64, 96, 128], "device": ["cpu", "a770"]})(X)
        kinds = ["invalid" if row.reason else row.mark for row in table]
        assert kinds == ["~", "~", "?", "?", "?", "invalid", "invalid", "invalid"]
        assert configurations(table[2:], "local_size") == [(4096,), (64,), (128,), (4096,), (96,), (96,)]

    def test_equal_configurations_are_one_row(self):
        table = tune(scale, {**SIZES, "local_size": [64, 64], "sub_group_size": [None, 16, 32]}, device="a770")(X)
        assert sorted(configurations(table, "local_size", "sub_group_size")) == [(64, 16), (64, 32)]

    def test_what_is_not_swept_is_in_the_configuration(self):
        (row,) = tune(scale, {"global_size": 4096}, device="b580")(X, factor=5)
        assert row.configuration == {
            "global_size": 4096,
            "device": xe.device("b580"),
            "local_size": None,
            "sub_group_size": 32,
            "factor": 5,
            "unroll": 1,
        }
        assert row.time_s == xe.estimate(scale, xe.NDRange(4096), device="b580")(X, factor=5).time_s

    def test_sizes_of_two_dimensions(self):
        one_size = tuple(np.array([64, 64]))
        with pytest.raises(xe.KernelArgumentError, match=r"2 choices of one dimension"):
            tune(scale, {"global_size": one_size, "local_size": tuple(np.array([8, 8]))})
        table = tune(scale, {"global_size": one_size, "local_size": [(8, 8), [1, 64]]})(X)
        assert sorted(configurations(table, "global_size", "local_size")) == [((64, 64), (1, 64)), ((64, 64), (8, 8))]
        assert not table.invalid

    def test_functions_of_the_configuration(self):
        space = {
            "global_size": lambda c: 4096 // c["unroll"],
            "unroll": [1, 4],
            "factor": lambda c: c["global_size"] // 1024,
            "local_size": np.array([64]),
        }
        table = tune(scale, space)(lambda c: jax.ShapeDtypeStruct((c["unroll"] * c["global_size"],), jnp.float32))
        found = sorted(configurations(table, "global_size", "unroll", "factor", "local_size"))
        assert found == [(1024, 4, 1, 64), (4096, 1, 4, 64)]
        assert not table.invalid

    def test_devices_of_ones_own(self):
        narrow = dataclasses.replace(xe.device("b580"), name="narrow", slm_banks=8)
        table = tune(strided, {**SIZES, "stride": 8, "device": ["b580", narrow]})(X)
        for row in table:
            report = xe.estimate(strided, row.nd_range, device=row.configuration["device"])(X, stride=8)
            assert row.time_s == report.time_s
        assert {row.configuration["device"] for row in table} == {xe.device("b580"), narrow}


class TestBasis:
    DATA = np.random.default_rng(0).integers(64, size=4096, dtype=np.int32)
    BINS = np.zeros(64, np.int32)

    def test_what_depends_on_data_is_run(self):
        table = tune(count, {**SIZES, "local_size": [64, 128]}, device="h200")(self.DATA, self.BINS)
        for row in table:
            _, report = xe.profile(count, row.nd_range, device="h200")(self.DATA, self.BINS)
            assert (row.basis, row.mark) == ("run", "~")
            assert (row.time_s, row.bound) == (report.time_s, report.bound)

    def test_a_sample_of_it(self):
        (row,) = tune(count, {**SIZES, "local_size": 64}, device="h200", sample=8)(self.DATA, self.BINS)
        _, report = xe.profile(count, row.nd_range, device="h200", sample=8)(self.DATA, self.BINS)
        assert (row.basis, row.time_s) == ("sample", report.time_s)

    def test_of_shapes_it_is_not_known(self):
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (self.DATA, self.BINS)]
        table = tune(count, SIZES, device="h200")(*shapes)
        assert all((row.time_s, row.mark, row.basis, row.reason) == (None, "?", "shapes", None) for row in table)
        assert table.best is None
        assert "3 between two times" in str(table)


class TestReasons:
    @pytest.mark.parametrize(
        ("kernel", "space", "reason"),
        [
            (scale, {"local_size": 2048}, "nd_range: the local size 2048 makes a work-group of 2048 work-items."),
            (scale, {"local_size": 96}, "nd_range: the global size 4096 is not divisible by the local size 96"),
            (scale, {"local_size": (0,)}, "nd_range: the local size is 0"),
            (scale, {"local_size": [(8, 8)]}, "nd_range: the global size (4096,) has 1 dimension but the local size"),
            (
                scale,
                {"sub_group_size": 8},
                "kernel_not_supported: the kernel requires the sub-group size 8; max1550",
            ),
            (strict, {"sub_group_size": 32}, "kernel_not_supported: the kernel requires the sub-group size 16, which"),
            (strict, {"local_size": 128}, "nd_range: the local size 128 differs from the work-group size 64"),
            (strided, {"local_size": 1024, "stride": 64}, "memory_allocation: Size of SLM (262144) larger than"),
            (scale, {"global_size": lambda c: 0.5}, "kernel_argument: global_size is 0.5 in a space; give ints"),
            (scale, {"factor": lambda c: []}, "kernel_argument: the static parameter factor of kernel scale is a list"),
            (picky, {"block": 2}, "two is no block"),
            (picky, {"block": 3}, "assert 3 != 3"),
            (picky, {"block": 4}, "integer division or modulo by zero"),
            (picky, {"block": 5}, "kernel: kernel picky returns an int"),
        ],
    )
    def test_of_an_invalid_configuration(self, kernel, space, reason):
        table = tune(kernel, {"global_size": 4096, **space})(X)
        assert table.invalid == tuple(table)
        assert table.best is None
        assert reason in table[0].reason
        assert (table[0].time_s, table[0].bound, table[0].occupancy, table[0].mark) == (None, None, None, "?")

    def test_a_required_size_holds(self):
        table = tune(strict, {"global_size": 4096, "sub_group_size": [16, 32], "local_size": [32, 64]})(X)
        assert len(table.invalid) == 3
        assert configurations(table[:1], "local_size", "sub_group_size") == [(64, 16)]
        (row,) = tune(strict, {"global_size": 4096})(X)
        assert (row.configuration["local_size"], row.configuration["sub_group_size"]) == ((64,), 16)
        assert row.time_s == table.best.time_s

    def test_what_a_function_of_the_configuration_raises_ends_the_sweep(self):
        with pytest.raises(ZeroDivisionError) as raised:
            tune(scale, {"global_size": lambda c: 1 // 0})(X)
        assert raised.value.__notes__[0].startswith("The function for global_size in the space of xe.tune was given ")
        with pytest.raises(KeyError) as raised:
            tune(scale, {"global_size": lambda c: c["local_sise"]})(X)
        assert "local_size=None, sub_group_size=32" in raised.value.__notes__[0]
        with pytest.raises(ZeroDivisionError):
            tune(scale, SIZES)(lambda c: 1 // 0)


class TestRefused:
    @pytest.mark.parametrize(
        ("space", "message"),
        [
            (
                [64, 128],
                "'local_size': [64, 128]}, but got [64, 128]",
            ),
            ({"local_size": 64}, "the space has no global_size; give the work-items of the launch"),
            ({**SIZES, "local_sise": 1}, "no part of a launch of scale (did you mean 'local_size'?); the parts are"),
            (
                {**SIZES, 7: 1},
                "the space has 7, which is no part of a launch of scale; the parts are device,",
            ),
            ({**SIZES, "x": [1]}, "kernel scale takes x by position, not in a space; where it depends on the"),
            ({**SIZES, "factor": []}, "the space has no choice for factor; give one or more"),
            ({**SIZES, "factor": [[1]]}, "the static parameter factor of kernel scale is a list, which has no hash"),
            ({**SIZES, "local_size": ["64"]}, "local_size is '64' in a space; give ints such as [16, 32] or tuples"),
            ({**SIZES, "local_size": [64.0]}, "local_size is 64.0 in a space"),
            ({**SIZES, "sub_group_size": [(16,)]}, "sub_group_size is (16,) in a space; give ints such as [16, 32]"),
            ({**SIZES, "global_size": None}, "global_size is None in a space"),
            (
                {"global_size": (64, 64), "local_size": (8, 8)},
                "local_size is (8, 8) in a space, which is 2 choices of one dimension, but the global size has 2; "
                "write [(8, 8)] for one choice",
            ),
            ({**SIZES, "device": "b581"}, "there is no device 'b581' (did you mean 'b580'?)"),
            (
                {**SIZES, "device": [xe.device("b580"), dataclasses.replace(xe.device("b580"), slm_banks=8)]},
                "different devices of the space are called b580; give them names of their own",
            ),
        ],
    )
    def test_a_bad_space(self, space, message):
        with pytest.raises(xe.KernelArgumentError) as caught:
            tune(scale, space)(X)
        assert message in str(caught.value)

    def test_a_static_parameter_that_is_called_like_a_size(self):
        with pytest.raises(xe.KernelArgumentError, match="has a static parameter local_size, a name that the launch"):
            tune(named, SIZES)

    def test_a_string_is_one_choice(self):
        (row,) = tune(worded, {"global_size": 4096, "kind": "plain"})(X)
        assert row.static == {"kind": "plain"}

    @pytest.mark.parametrize(
        ("arguments", "static", "message"),
        [
            ((), {}, "kernel scale takes 1 argument (x), but got 0"),
            (([1.0],), {}, "argument x of kernel scale is a list of numbers; pass np.asarray(x)"),
            ((X,), {"factor": 1}, "factor is given twice, by keyword and in the space"),
            ((X,), {"factr": 1}, "kernel scale has no static parameter factr"),
        ],
    )
    def test_bad_arguments(self, arguments, static, message):
        with pytest.raises(xe.KernelArgumentError) as caught:
            tune(scale, {**SIZES, "factor": [1, 2]})(*arguments, **static)
        assert message in str(caught.value)

    def test_other_options(self):
        with pytest.raises(xe.KernelArgumentError, match="a launch takes a kernel, but got a function"):
            tune(scale.function, SIZES)
        with pytest.raises(xe.KernelArgumentError, match="sample is 0; give the number of work-groups"):
            tune(scale, SIZES, sample=0)
        with pytest.raises(xe.KernelArgumentError, match="the device is given twice"):
            tune(scale, {**SIZES, "device": "a770"}, device="b580")
        with pytest.raises(xe.KernelArgumentError, match=r"xe\.tune gives plain values, so it cannot be part of a jit"):
            jax.jit(lambda x: tune(scale, SIZES)(x))(np.zeros(4096, np.float32))


class TestSave:
    def test_a_second_sweep_evaluates_nothing(self, tmp_path, evaluated):
        path, space = tmp_path / "rows.jsonl", {**SIZES, "local_size": [64, 96, 128], "device": ["a770", "cpu"]}
        first = tune(scale, space, save=path)(X)
        written = path.read_text()
        assert len(evaluated) == len(written.splitlines()) == 6
        assert tune(scale, space, save=path)(X) == first
        assert len(evaluated) == 6
        assert path.read_text() == written
        assert [json.loads(line)["configuration"]["local_size"] for line in written.splitlines()] == [
            64, 64, 96, 96, 128, 128
        ]  # fmt: skip

    def test_a_larger_space_evaluates_what_is_new(self, tmp_path, evaluated):
        path = tmp_path / "rows.jsonl"
        tune(scale, SIZES, save=path)(X)
        tune(scale, {**SIZES, "local_size": [32, 64, 128]}, save=path)(X)
        assert [c["local_size"] for c in evaluated] == [64, 128, 256, 32]

    def test_an_interrupted_sweep_goes_on(self, tmp_path, evaluated):
        path, calls = tmp_path / "rows.jsonl", []

        def argument(configuration):
            calls.append(configuration["local_size"])
            if len(calls) == 3:
                raise KeyboardInterrupt
            return X

        with pytest.raises(KeyboardInterrupt):
            tune(scale, SIZES, save=path)(argument)
        assert len(path.read_text().splitlines()) == 2
        table = tune(scale, SIZES, save=path)(argument)
        assert [c["local_size"] for c in evaluated] == [64, 128, 256]
        assert table == tune(scale, SIZES)(X)

    @pytest.mark.parametrize("cut", [1, 2, 50, -1])
    def test_a_last_line_that_was_not_written_to_its_end(self, tmp_path, evaluated, cut):
        path = tmp_path / "rows.jsonl"
        first = tune(scale, SIZES, save=path)(X)
        written = path.read_bytes()
        path.write_bytes(written[:-cut] if cut > 0 else written + b"\0" * 20 + b"\n")
        assert tune(scale, SIZES, save=path)(X) == first
        assert len(evaluated) == (4 if cut > 0 else 3)
        tune(scale, {**SIZES, "local_size": 32}, save=path)(X)
        assert path.read_bytes().startswith(written)
        assert len([json.loads(line) for line in path.read_text().splitlines()]) == 4

    def test_a_first_line_that_was_not_written_to_its_end(self, tmp_path):
        path = tmp_path / "rows.jsonl"
        for beginning in ('{"ker', '{"kernel": "scale", "key"', ""):
            path.write_text(beginning)
            tune(scale, SIZES, save=path)(X)
            assert len([json.loads(line) for line in path.read_text().splitlines()]) == 3

    @pytest.mark.parametrize(
        ("text", "kind"),
        [
            ("dear diary", "the text 'dear diary'"),
            (f"import {'numpy' * 9}\nx\n", "the text 'import numpynumpy.*'"),
            ("[1]\n", "JSON, a list"),
            ("{}\n", "a JSON object without 'kernel'"),
            ('{"kernel": 1}\n{"kernel": 2}\n', "a JSON object without 'key'"),
            ("1\n2\n3\n", "JSON, a value"),
            ("\n1\n", "empty"),
            ("\0PNG\n\n", "the text .*PNG"),
        ],
    )
    def test_a_file_of_something_else_is_left_alone(self, tmp_path, text, kind):
        path = tmp_path / "notes.txt"
        path.write_text(text)
        with pytest.raises(
            xe.KernelArgumentError, match=rf"line 1 of .*notes.txt is {kind}.*, no row of a sweep; save to another"
        ):
            tune(scale, SIZES, save=path)(X)
        assert path.read_text() == text

    def test_a_file_of_another_kernel(self, tmp_path):
        tune(scale, SIZES, save=tmp_path / "rows.jsonl")(X)
        with pytest.raises(xe.KernelArgumentError, match=r"holds a sweep of the kernel scale; save that of strided to"):
            tune(strided, SIZES, save=tmp_path / "rows.jsonl")(X)

    def test_files_that_cannot_be_used(self, tmp_path):
        with pytest.raises(xe.KernelArgumentError, match="cannot be read: Is a directory"):
            tune(scale, SIZES, save=tmp_path)(X)
        with pytest.raises(xe.KernelArgumentError, match="cannot be written: No such file or directory"):
            tune(scale, SIZES, save=tmp_path / "none" / "rows.jsonl")(X)

    @pytest.mark.parametrize(
        "changed",
        [
            {"argument": jax.ShapeDtypeStruct((8192,), jnp.float32)},
            {"argument": jax.ShapeDtypeStruct((4096,), jnp.int32)},
            {"static": {"factor": 3.0}},
            {"device": dataclasses.replace(xe.device("max1550"), l1_bytes_per_cycle=1)},
            {"sample": 7},
        ],
    )
    def test_what_a_row_follows_from(self, tmp_path, evaluated, changed):
        path = tmp_path / "rows.jsonl"
        tune(scale, SIZES, save=path)(X)
        options = {name: changed[name] for name in ("device", "sample") if name in changed}
        tune(scale, SIZES, save=path, **options)(changed.get("argument", X), **changed.get("static", {}))
        assert len(evaluated) == 6

    def test_contents_matter_where_they_were_counted(self, tmp_path, evaluated):
        path, data, bins = tmp_path / "rows.jsonl", TestBasis.DATA, TestBasis.BINS
        space = {**SIZES, "local_size": [64], "device": "h200"}
        for other in (data, data.copy(), data * 0, data * 0):
            tune(count, space, save=path)(other, bins)
        assert len(evaluated) == 2
        for other in (np.zeros(4096, np.float32), np.ones(4096, np.float32)):
            tune(scale, space, save=tmp_path / "other.jsonl")(other)
        assert len(evaluated) == 3

    def test_a_changed_environment(self, tmp_path, evaluated, monkeypatch):
        path, space = tmp_path / "rows.jsonl", {**SIZES, "local_size": 64, "device": "cpu"}
        tune(scale, space, save=path)(X)
        monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "1MB")
        tune(scale, space, save=path)(X)
        assert len(evaluated) == 2


KERNEL = """
import functools
import jax, jax.numpy as jnp, numpy as np
import xeemu as xe
import helpers
from xeemu.sweeps import digests

TABLE = np.arange(4)
WORDS = {"b", "a", "c"}

class Options:
    width = 3

options = Options()
options.depth = 1

def inner(x):
    return x + 1

@jax.jit
def compiled(x):
    return x * 2

@xe.kernel
def k(wg, x, *, f=functools.partial(inner, 2)):
    names = [c for c in ("a", "b") if c in {"b", "a", "c"}]
    value = jnp.where(x[0] > 0, helpers.helper(inner(compiled(x[0]))), TABLE[0] + options.depth)
    return x.at[0].set(value)

print(digests.digest(k))
"""
HELPERS = "FACTOR = 5\n\ndef helper(x):\n    return (lambda y: y * FACTOR)(x)\n\ndef unused(x):\n    return x\n"


class TestDigest:
    def digest(self, folder, kernel=KERNEL, helpers=HELPERS):
        (folder / "mine.py").write_text(kernel)
        (folder / "helpers.py").write_text(helpers)
        command = [sys.executable, "-B", "mine.py"]
        # Whatever the environment says of the folder of a script, its helpers are found.
        found = {**os.environ, "PYTHONPATH": str(folder)}
        run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=found)
        assert run.returncode == 0, run.stderr
        return run.stdout

    @pytest.mark.thorough
    def test_of_a_kernel_is_the_same_in_every_process_and_place(self, tmp_path):
        (tmp_path / "other").mkdir()
        first = self.digest(tmp_path)
        assert first == self.digest(tmp_path / "other", "\n# A comment\n" + KERNEL.replace("(wg, x,", "( wg, x ,"))
        assert first == self.digest(tmp_path, helpers=HELPERS.replace("return x\n", "return 2 * x\n"))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("arange(4)", "arange(5)"),
            ("x + 1", "x + 2"),
            ("x * 2", "x * 3"),
            ("depth = 1", "depth = 2"),
            ("inner, 2", "inner, 3"),
            ("x[0] > 0", "x[0] >= 0"),
            ("FACTOR = 5", "FACTOR = 6"),
            ("y * FACTOR", "y + FACTOR"),
        ],
    )
    def test_follows_all_that_a_kernel_refers_to(self, tmp_path, old, new):
        namespaces = []
        for change in (False, True):
            (tmp_path / "helpers.py").write_text(HELPERS.replace(old, new) if change else HELPERS)
            namespaces.append(self.run_here(tmp_path, KERNEL.replace(old, new) if change else KERNEL))
        assert digests.digest(namespaces[0]) != digests.digest(namespaces[1])

    @staticmethod
    def run_here(folder, text):
        sys.modules.pop("helpers", None)
        sys.path.insert(0, str(folder))
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        namespace = {"__name__": "mine", "print": lambda *_: None}
        try:
            exec(compile(text, str(folder / "mine.py"), "exec"), namespace)
        finally:
            sys.path.remove(str(folder))
            sys.modules.pop("helpers", None)
            sys.dont_write_bytecode = before
        return namespace["k"]

    def test_of_closures_their_values(self):
        def make(n):
            def add(x):
                return x + n

            @xe.kernel
            def k(wg, x):
                return x.at[0].set(add(x[0]))

            return k

        assert digests.digest(make(1)) == digests.digest(make(1))
        assert digests.digest(make(1)) != digests.digest(make(2))

    def test_of_objects_what_they_hold_and_what_their_methods_do(self):
        def layout(step, table):
            class Layout:
                def __init__(self):
                    self.table = table

                def __repr__(self):
                    return "Layout()"

            def index(self, i):
                return i + step

            Layout.index = index
            return Layout()

        table, other = np.arange(5000), np.arange(5000)
        other[2500] = 0  # which the text of so large an array leaves out
        same, step, contents = layout(1, table), layout(2, table), layout(1, other)
        for part in (lambda x: x, lambda x: x.index):
            assert digests.digest(part(same)) == digests.digest(part(layout(1, table.copy())))
            assert len({digests.digest(part(each)) for each in (same, step, contents)}) == 3
        assert digests.digest(type(same)) != digests.digest(type(step))

    def test_of_a_function_that_calls_itself(self):
        def f(n):
            return f(n - 1) if n else later

        assert digests.digest(f) == digests.digest(f)
        later = 1

    def test_tells_values_apart(self):
        ones = [1, 1.0, True, "1", (1,), [1], ((1,),), np.int32(1), np.ones(1), np.ones((1, 1)), b"1", {1: 1}, {1}]
        values = [*ones, None, frozenset({1}), {1, 2}]
        assert len({digests.digest(value) for value in values}) == len(values)
        assert digests.digest(jnp.ones(3, jnp.bfloat16)) != digests.digest(jnp.zeros(3, jnp.bfloat16))
        assert digests.digest(lax.add) != digests.digest(lax.mul)


class TestTable:
    def test_a_copy_is_a_table(self):
        table = Table("k", [Row({"global_size": 64}, time_s=1.0)])
        for same in (copy.copy(table), pickle.loads(pickle.dumps(table))):
            assert (same, same.kernel) == (table, "k")

    def test_text(self):
        def row(local_size, unroll, device="b580", **figures):
            sizes = {"global_size": 4096, "local_size": local_size, "sub_group_size": 32}
            return Row({"device": xe.device(device), **sizes, "unroll": unroll}, **figures)

        known = {"bound": "latency", "occupancy": 0.5, "mark": "~"}
        large = {"reason": "nd_range: the local size 2048 makes a work-group of 2048 work-items.\n  at line 1"}
        rows = [
            row((8, 8), 1, time_s=1.5e-3, basis="shapes", missing=("L1", "L2"), limit="at least", **known),
            row(None, 2, "h200", time_s=2.5e-4, basis="sample", **known),
            row(2048, 1, **large),
            row(64, 1, "cpu", basis="shapes"),
            row(2048, 2, **large),
            row(2048, 2, "h200", reason="kernel_not_supported: no"),
        ]
        assert str(Table("scale", rows)) == TEXT

    def test_text_fits_80_columns_whatever_is_swept(self):
        def row(k):
            sizes = {"global_size": k, "sub_group_size": k, "local_size": (k * 10**20, 1, 1)}
            configuration = {**sizes, "device": xe.device("max1550"), "factor": k, "word": "w" * 40 * k}
            return Row(configuration, time_s=10.0**k, bound="group launch", basis="run", mark="~")

        rows = [row(k) for k in range(1, 12)]
        text = str(Table("k" * 100, rows))
        assert max(map(len, text.splitlines())) <= 80
        assert text.isascii()
        assert "  configuration\n" in text

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [
            (2e-10, "0.20 ns"),
            (1.5e-7, "150 ns"),
            (9.99e-7, "999 ns"),
            (2.5e-5, "25.0 us"),
            (1.0, "1.00 s"),
            (1e8, "1.00e+08 s"),
        ],
    )
    def test_times(self, seconds, text):
        number, unit = text.split()
        lines = str(Table("k", [Row({"global_size": 1}, time_s=seconds, mark="~", basis="shapes")])).splitlines()
        assert lines[3].split()[:2] == ["time", unit]
        assert lines[4].split()[1:3] == [number, "~"]

    def test_no_rows(self):
        assert str(Table("k", ())) == "k: 0 configurations"
        assert Table("k", ()).best is None

    def test_top(self):
        table = tune(scale, SIZES)(X)
        assert list(table.top(2)) == list(table[:2])
        assert isinstance(table.top(2), Table)

    def test_plain_data_holds_all(self):
        table = tune(scale, {**SIZES, "local_size": [64, 96], "factor": [np.float32(2)]})(X)
        plain = json.loads(json.dumps(table.to_dict()))
        assert plain["kernel"] == "scale"
        for row, data in zip(table, plain["rows"], strict=True):
            assert data.keys() == {field.name for field in dataclasses.fields(Row)}
            assert (data["time_s"], data["reason"]) == (row.time_s, row.reason)
            assert data["configuration"]["device"] == "max1550"
            assert data["configuration"]["factor"] == 2.0


class TestProgress:
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def test_a_bar_on_a_terminal_if_asked_for(self, monkeypatch):
        monkeypatch.setattr(progress, "_DELAY_S", 0.02)
        monkeypatch.setattr(progress, "_PERIOD_S", 0.02)

        def slow(configuration):
            time.sleep(0.1)
            return X

        for asked in (False, True):
            terminal = self.Terminal()
            monkeypatch.setattr(sys, "stderr", terminal)
            tune(scale, SIZES, progress=asked)(slow)
            shown = terminal.getvalue()
            assert ("tuning scale: [......" in shown) == asked
        assert "tuning scale: [######..............] 1 of 3 ... 0 s" in shown

    def test_nothing_is_printed(self, capsys):
        tune(scale, SIZES, progress=True)(X)
        assert capsys.readouterr() == ("", "")


TEXT = """\
scale: 6 configurations, 2 timed, 1 not known, 3 invalid
global_size 4096   sub_group_size 32

                                             local
       time us    bound         occ  device   size  unroll
   1       250 ~* latency       50%    h200  plain       2
   2     >1500 ~  latency       50%    b580    8x8       1
   3         ?    ?               ?     cpu     64       1
     ~ modelled; * counted as the kernel ran, on a sample of the work-groups; >
     at least, and ranked by that: b580 has no figure for L1, L2; ? not known:
     it depends on data where only shapes were given, or on a figure that the
     device lacks

INVALID
  2 configurations   device b580   local_size 2048
     nd_range: the local size 2048 makes a work-group of 2048 work-items. at
     line 1
  1 configuration   device h200   local_size 2048   unroll 2
     kernel_not_supported: no"""


@xe.kernel
def looked_up(wg, index, x, out):
    i = wg.global_id()
    return out.at[i].set(x[index[i]])


def test_times_that_data_decide_are_ranked_by_the_least_that_they_may_be():
    """On a B580, which lacks a figure, they are at least so long; on an H200 between two."""
    shapes = [jax.ShapeDtypeStruct((2**14,), kind) for kind in (jnp.int32, jnp.float32, jnp.float32)]
    space = {"global_size": 2**14, "local_size": [32, 512, 64], "device": ["h200", "b580"]}
    table = xe.tune(looked_up, space)(*shapes)
    least = [row.least_s for row in table]
    assert all(row.time_s is None for row in table)
    assert least == sorted(least)
    for row in table:
        report = xe.estimate(looked_up, row.nd_range, device=row.configuration["device"])(*shapes)
        assert (row.least_s, row.most_s) == report.between_s
    text = " ".join(str(table).split())
    assert "6 configurations, 3 between two times, 3 not known" in text
    assert "?> as data decide, at least so long, and ranked by that; - as data decide, between the two" in text
    first = next(row for row in table if row.most_s is not None)
    assert f"{1e9 * first.least_s:.0f}-{1e9 * first.most_s:.0f} " in text

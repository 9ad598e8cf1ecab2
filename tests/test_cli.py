"""The command `xeemu`: what it prints, and its exit codes."""

import dataclasses
import json
import re
import subprocess
import sys
import zlib

import jax
import numpy as np
import pytest

import xeemu as xe
from xeemu import kernels
from xeemu.commands import cli, printing, runs
from xeemu.faults import exchange
from xeemu.faults.findings import KINDS
from xeemu.kernels import EXAMPLES

KERNELS = '''
import xeemu as xe

@xe.kernel
def scale(wg, x, *, factor=3):
    """Multiplies."""
    return x.at[wg.global_id()].set(x[wg.global_id()] * factor)

@xe.kernel(sub_group_size=8)
def narrow(wg: xe.WorkGroup, x: xe.Memory) -> xe.Memory:
    return x.at[wg.global_id()].set(x[wg.global_id()])

@xe.kernel
def forgetful(wg, x):
    x.at[wg.global_id()].set(1)
    return x
'''


@pytest.fixture(autouse=True)
def untouched_path(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])


@pytest.fixture
def xeemu(capsys):
    """Runs a command line; gives the exit code, the output and the errors."""

    def run(*words):
        try:
            code = cli.main(words)
        except SystemExit as exit_:
            code = exit_.code
        return code, *capsys.readouterr()

    return run


@pytest.fixture
def file(tmp_path):
    (tmp_path / "mine.py").write_text(KERNELS)
    return tmp_path / "mine.py"


@pytest.fixture
def three_examples(monkeypatch):
    """In place of the collection: one that agrees, one that differs and one without a reference."""
    good = dataclasses.replace(EXAMPLES["reduction_atomics_buffer"], size=(100,))
    wrong = dataclasses.replace(good, name="wrong", reference=lambda data, total: total - 1)
    undefined = dataclasses.replace(good, name="undefined", reference=None)
    monkeypatch.setattr(kernels, "EXAMPLES", {example.name: example for example in (good, wrong, undefined)})


class TestDevices:
    def test_lists_all_of_them_in_80_columns(self, xeemu):
        code, out, err = xeemu("devices")
        assert (code, err) == (0, "")
        rows = {line.split()[0]: line for line in out.splitlines() if line}
        for device in xe.devices():
            assert device.full_name in rows[device.name]
            assert f"{device.local_mem_size // 1024} KiB" in rows[device.name]
            assert " ".join(map(str, device.sub_group_sizes)) in rows[device.name]
        assert "The default is max1550" in out
        assert out.isascii()
        assert max(map(len, out.splitlines())) <= 80

    @pytest.mark.parametrize("device", xe.devices(), ids=lambda device: device.name)
    def test_prints_every_figure_with_its_source(self, xeemu, device):
        code, out, _ = xeemu("devices", device.name)
        assert code == 0
        lines, words = out.splitlines(), " ".join(out.split())
        for field in dataclasses.fields(device):
            if field.name in ("name", "full_name", "architecture", "sources"):
                continue
            (row,) = (line for line in lines if line.split()[:1] == [field.name])
            source = device.source(field.name)
            assert (row.split()[1] == "?") == (source is None)
            assert source is None or source in words
        assert f"device name : {device.full_name}" in words
        assert max(map(len, lines)) <= 80

    def test_environment_sets_the_memory_of_the_cpu_device(self, xeemu, monkeypatch):
        monkeypatch.setenv("CL_CONFIG_CPU_FORCE_LOCAL_MEM_SIZE", "256KB")
        assert "256 KiB" in xeemu("devices")[1]
        assert "local_mem_size: 262144" in xeemu("devices", "cpu")[1]

    def test_unknown_device(self, xeemu):
        code, out, err = xeemu("devices", "b581")
        assert (code, out) == (2, "")
        assert err.startswith("error (kernel_argument): there is no device 'b581' (did you mean 'b580'?)")


class TestKernels:
    def test_lists_all_of_them_in_80_columns(self, xeemu):
        code, out, err = xeemu("kernels")
        assert (code, err) == (0, "")
        words = " ".join(out.split())
        for example in EXAMPLES.values():
            sizes = ", ".join(f"{name} = {n}" for name, n in zip(example.size_names, example.size, strict=True))
            assert f"{example.name} {sizes} {example.summary}" in words
        assert out.isascii()
        assert max(map(len, out.splitlines())) <= 80


class TestRun:
    def test_an_example_is_run_and_verified(self, xeemu):
        code, out, err = xeemu("run", "histogram_slm", "--size", "16384", "--device", "a770")
        assert (code, err) == (0, "")
        rows = {line[:16].strip(): line[16:] for line in out.splitlines() if line[:16].strip()}
        assert rows["size"] == "words = 16384"
        assert rows["launch"] == "global 64, local 64, sub-group 16"
        assert rows["device"] == f"a770, emulated on {jax.devices()[0].device_kind} by JAX {jax.__version__}"
        assert rows["rate"].endswith(" updates/s")
        assert "(first run, with compilation: " in rows["time"]
        assert rows["peak memory"].endswith(" GiB")
        assert rows["verdict"] == "bit-equal to the NumPy reference"

    def test_a_schedule_tells_a_race_from_its_repair(self, xeemu):
        _, racy, _ = xeemu("run", "reduction_racy", "--size", "100", "--schedule", "4", "--show")
        assert "sum 4950" not in racy
        code, out, _ = xeemu("run", "reduction_atomics_buffer", "--size", "100", "--schedule", "4")
        assert code == 0
        assert "bit-equal to the NumPy reference" in out
        code, out, _ = xeemu("run", "atomics_lab", "--size", "100", "--schedule", "4")
        assert "bit-equal to the NumPy reference" in out

    def test_all_takes_no_schedule(self, xeemu):
        code, _, err = xeemu("run", "--all", "--schedule", "4")
        assert code == 2
        assert "leave out the name, --size, --schedule" in err

    def test_show_draws_the_result(self, xeemu, file):
        words = ("run", f"{file}:scale", "--global-size", "96", "--static", "factor=-1", "--repeat", "0", "--show")
        _, out, _ = xeemu(*words, "--arg", "x=int32[96]:arange")
        assert "sum -4560, least -95 at 95, most 0 at 0" in out
        assert "from ' ' -95 to '@' 0" in out
        first, second = out.splitlines()[-2:]
        assert first.split() == ["0", "@" * 6 + "%" * 10 + "#" * 11 + "*" * 10 + "+" * 11]
        assert second.split()[0] == "48"

    @pytest.mark.parametrize(("fill", "told"), [("7", "the same everywhere"), ("nan", "4 values are not finite")])
    def test_show_tells_what_has_no_picture(self, xeemu, file, fill, told):
        _, out, _ = xeemu("run", f"{file}:scale", "--global-size", "4", "--arg", f"x=float32[4]:{fill}", "--show")
        assert told in out

    def test_a_difference_is_told_and_is_the_exit_code(self, xeemu, three_examples):
        code, out, _ = xeemu("run", "wrong")
        assert code == 1
        assert "DIFFERS: 1 of 1 elements of output 0, the first at [0]: got 4950, the reference gives -1" in (
            " ".join(out.split())
        )

    def test_undefined_results_are_not_verified(self, xeemu):
        code, out, _ = xeemu("run", "reduction_racy")
        assert code == 0
        assert "not verified: no reference, the result is undefined" in out

    def test_not_verified_as_asked(self, xeemu, three_examples):
        code, out, _ = xeemu("run", "wrong", "--no-verify", "--repeat", "0")
        assert code == 0
        assert "not verified, as asked" in out
        assert "time            first run, with compilation: " in out

    def test_several_launches(self, xeemu):
        code, out, _ = xeemu("run", "tree_reduction", "--size", "1000")
        assert code == 0
        assert "first launch    global 512, local 128, sub-group 32" in out

    def test_a_kernel_of_a_file(self, xeemu, file):
        words = ("--global-size", "64x2", "--local-size", "16,1", "--arg", "x=uint8[64]:arange", "--static", "factor=5")
        code, out, err = xeemu("run", f"{file}:scale", *words)
        assert (code, err) == (0, "")
        output = 5 * np.arange(64, dtype=np.uint8)
        assert out.startswith("scale: Multiplies.\n")
        assert "launch          global 64x2, local 16x1, sub-group 32" in out
        assert "not verified: no reference\n" in out
        assert f"uint8[64], crc32 {zlib.crc32(output):08x}: 0 5 10 15 20 25 30 35 ..." in out

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("convolution_slm", "--size", "1000x3"), "error (nd_range): the global size 1000 is not divisible by the"),
            (("histogram_slm", "--size", "4x4"), "error (kernel_argument): the size (4, 4) does not fit"),
            (("histogram_slm", "--device", "pvc"), "error (kernel_argument): there is no device 'pvc'"),
            (("histogram_private", "--device", "h200"), "error (kernel_not_supported): the kernel requires"),
            (("{file}:narrow", "--global-size", "8", "--arg", "x=int8[8]"), "error (kernel_not_supported): the kernel"),
            (("{file}:forgetful", "--global-size", "8", "--arg", "x=int8[8]"), "error (kernel): an update of"),
            (("{file}:scale",), "error: {file}:scale is a kernel: write its sizes"),
            (
                ("{file}:scale", "--global-size", "8", "--arg", "x=int8[8]", "--arg", "x=int8[4]"),
                "error: --arg x=... is written twice",
            ),
            (
                ("{file}:scale", "--global", "8", "--arg", "x=int8[8]", "--static", "factor=2", "--static", "factor=3"),
                "error: --static factor=... is written twice",
            ),
            ((), "error: name an example (xeemu kernels lists them) or path.py:NAME, or write --all"),
            (("--all", "--size", "5"), "error: --all runs every example at its own size: leave out"),
        ],
    )
    def test_what_is_refused(self, xeemu, file, words, message):
        code, out, err = xeemu("run", *(word.format(file=file) for word in words))
        assert (code, out) == (2, "")
        assert err.startswith(message.format(file=file))
        assert "Traceback" not in err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("--size", "big"), "argument --size: 'big' is not a size; write whole numbers"),
            (("--repeat", "-1"), "argument --repeat: -1 is less than 0; write a whole number from 0"),
            (("--repeat", "2.5"), "argument --repeat: '2.5' is not a whole number; write one from 0"),
        ],
    )
    def test_options_that_cannot_be_read(self, xeemu, words, message):
        code, _, err = xeemu("run", "histogram_slm", *words)
        assert code == 2
        assert message in err

    def test_the_line_of_a_fault_is_told(self, xeemu, file):
        _, _, err = xeemu("trace", f"{file}:forgetful", "--global-size", "8", "--arg", "x=int8[8]")
        assert f"at {file}:15: x.at[wg.global_id()].set(1)" in err

    def test_too_little_memory(self, xeemu, monkeypatch):
        def fail(*_, **__):
            raise MemoryError("Unable to allocate 8 EiB")

        monkeypatch.setattr(runs, "run", fail)
        code, _, err = xeemu("run", "histogram_slm")
        assert (code, err) == (2, "error: this machine cannot run it: Unable to allocate 8 EiB\n")

    def test_an_interrupt_ends_without_a_traceback(self, xeemu, monkeypatch):
        def interrupt(*_, **__):
            raise KeyboardInterrupt

        monkeypatch.setattr(runs, "run", interrupt)
        assert xeemu("run", "histogram_slm") == (130, "", "")


class TestRunAll:
    def test_a_row_for_each_and_the_worst_exit_code(self, xeemu, three_examples):
        code, out, err = xeemu("run", "--all")
        assert (code, err) == (1, "")
        header, good, wrong, detail, undefined, _, summary, total = out.splitlines()
        assert header.split() == ["example", "size", "time", "rate", "verdict"]
        assert good.split()[0] == "reduction_atomics_buffer"
        assert good.split()[1] == "100"
        assert good.endswith("elements/s  bit-equal")
        assert wrong.endswith("DIFFERS")
        assert detail.startswith("    DIFFERS: 1 of 1 elements")
        assert undefined.endswith("undefined")
        assert summary == "3 examples: 1 verified, 1 different, 0 refused, 1 not verified"
        assert "peak memory" in total

    def test_a_refused_launch_does_not_end_it(self, xeemu, monkeypatch):
        names = ("histogram_private", "reduction_racy")
        monkeypatch.setattr(kernels, "EXAMPLES", {name: EXAMPLES[name] for name in names})
        code, out, _ = xeemu("run", "--all", "--device", "h200", "--no-verify")
        assert code == 2
        assert "histogram_private         error (kernel_not_supported): the kernel requires the sub-group" in out
        assert "2 examples: 0 verified, 0 different, 1 refused, 1 not verified" in out

    def test_rows_fit_80_columns(self):
        widest = max(EXAMPLES.values(), key=lambda e: len(printing.short_size(e.size)))
        rate = f"999 M {max((e.unit for e in EXAMPLES.values()), key=len)}/s"
        assert (
            len(printing.row(max(EXAMPLES, key=len), printing.short_size(widest.size), "99.9 ms", rate, "bit-equal"))
            <= 80
        )

    @pytest.mark.long
    def test_every_example_at_the_size_of_its_text(self, xeemu):
        code, out, _ = xeemu("run", "--all", "--repeat", "0")
        assert code == 0
        judged = sum(example.reference is not None for example in EXAMPLES.values())
        assert f"{len(EXAMPLES)} examples: {judged} verified, 0 different, 0 refused" in out


class TestRuns:
    def test_the_fastest_later_run_counts(self):
        e = EXAMPLES["reduction_atomics_buffer"]
        run = runs.run(e, (10,), runs.Way("max1550", repeat=3))
        assert run.size == (10,)
        assert run.time_s == run.again_s
        assert run.first_s > 0
        assert run.rate == 10 / run.again_s
        assert run.verdict.agrees

    def test_a_single_run_counts_with_its_compilation(self):
        run = runs.run(EXAMPLES["reduction_atomics_buffer"], None, runs.Way("max1550", repeat=0, verify=False))
        assert run.again_s is None
        assert run.time_s == run.first_s
        assert run.verdict.agrees is None


class TestTrace:
    def test_prints_the_program(self, xeemu):
        code, out, err = xeemu("trace", "histogram_slm", "--size", "16384")
        example = EXAMPLES["histogram_slm"]
        inputs = example.inputs((16384,))
        program = xe.trace(example.kernel, example.nd_range((16384,)))(*inputs, **example.static)
        assert (code, err) == (0, "")
        assert out == f"{program}\n"

    def test_prints_the_program_of_a_kernel_of_a_file(self, xeemu, file):
        code, out, _ = xeemu("trace", f"{file}:scale", "--global-size", "64", "--arg", "x=uint8[64]")
        assert code == 0
        assert out.startswith("kernel scale ")

    @pytest.mark.parametrize("command", ["trace", "estimate"])
    def test_arrays_beyond_this_machine_have_shapes(self, xeemu, file, command):
        words = (f"{file}:scale", "--global-size", "17592186044416", "--arg", "x=float32[17592186044416]")
        code, out, err = xeemu(command, *words, "--local-size", "256")
        assert (code, err) == (0, "")
        assert "nd-range 17592186044416" in out


class TestTune:
    def test_prints_the_table(self, xeemu, file):
        words = ("--local-size", "64,32,2048", "--static", "factor=2,3", "--device", "a770,b580", "--sub-group", "16")
        code, out, err = xeemu("tune", f"{file}:scale", *words, "--global-size", "4096", "--arg", "x=float32[4096]")
        assert (code, err) == (0, "")
        assert out.startswith("scale: 12 configurations, 8 timed, 4 invalid\nglobal_size 4096   sub_group_size 16\n")
        assert "  2 configurations   local_size 2048   device b580\n     nd_range: the local size 2048 makes a" in out

    def test_an_example_has_sizes_and_static_parameters_of_its_own(self, xeemu):
        code, out, _ = xeemu("tune", "convolution_slm", "--size", "65536x17", "--json", "--device", "a770")
        assert code == 0
        (row,) = json.loads(out)["rows"]
        example = EXAMPLES["convolution_slm"]
        shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in example.inputs((65536, 17))]
        report = xe.estimate(example.kernel, example.nd_range((65536, 17)), device="a770")(*shapes, **example.static)
        assert row["time_s"] == report.time_s

    def test_a_global_size_that_depends_on_the_rest(self, xeemu, file):
        words = ("--local-size", "64", "--static", "factor=1,4", "--arg", "x=float32[4096]", "--json")
        _, out, _ = xeemu("tune", f"{file}:scale", "--global-size", "4096 // factor", *words)
        rows = json.loads(out)["rows"]
        assert sorted(row["configuration"]["global_size"] for row in rows) == [1024, 4096]

    def test_the_first_rows(self, xeemu, file):
        words = ("--local-size", "32,64,128,2048", "--global-size", "4096", "--arg", "x=float32[4096]", "--top", "2")
        code, out, _ = xeemu("tune", f"{file}:scale", *words)
        assert code == 0
        assert out.startswith("scale: 2 configurations, 2 timed\n")
        assert out.endswith("\n2 configurations more, 1 of them invalid\n")

    def test_rows_are_saved(self, xeemu, file, tmp_path):
        words = ("--global-size", "4096", "--arg", "x=float32[4096]", "--save", str(tmp_path / "rows.jsonl"))
        first = xeemu("tune", f"{file}:scale", "--local-size", "32,64", *words)
        saved = (tmp_path / "rows.jsonl").read_text()
        assert len(saved.splitlines()) == 2
        assert xeemu("tune", f"{file}:scale", "--local-size", "32,64", *words) == first
        assert (tmp_path / "rows.jsonl").read_text() == saved

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("{file}:scale",), "error: {file}:scale is a kernel: write its sizes"),
            (("{file}:scale", "--global-size", "64"), "error: kernel scale takes x; write also --arg x="),
            (("convolution_slm", "--arg", "x=int32:1"), "error: convolution_slm is an example, with a launch of its"),
            (("convolution_slm", "--static", "n=1"), "error (kernel_argument): the space has 'n', which is no part"),
            (("convolution_slm", "--device", "a770,b581"), "error (kernel_argument): there is no device 'b581'"),
            (("convolution_slm", "--global-size", "64//n"), "error: --global-size 64//n: n is not known; names are "),
            (("convolution_slm", "--sample", "0"), "error (kernel_argument): sample is 0; give the number"),
            (("convolution_slm", "--save", "/"), "error (kernel_argument): save='/' cannot be read: "),
        ],
    )
    def test_what_is_refused(self, xeemu, file, words, message):
        code, out, err = xeemu("tune", *(word.format(file=file) for word in words))
        assert (code, out) == (2, "")
        assert err.startswith(message.format(file=file))

    def test_nothing_but_invalid_configurations(self, xeemu, file):
        words = ("--global-size", "64", "--local-size", "48", "--arg", "x=float32[64]")
        code, out, _ = xeemu("tune", f"{file}:scale", *words)
        assert code == 2
        assert "nd_range: the global size 64 is not divisible by the local size 48" in out


class TestNumbers:
    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0.0, "0.00 us"), (2.5e-5, "25.0 us"), (0.0123, "12.3 ms"), (1.0, "1.00 s"), (123.4, "123 s")],
    )
    def test_seconds(self, seconds, text):
        assert printing.seconds(seconds) == text

    @pytest.mark.parametrize(
        ("rate", "text"),
        [(0, "0.00 u/s"), (999, "999 u/s"), (1500, "1.50 k u/s"), (5.7e8, "570 M u/s"), (1e13, "10.0 T u/s")],
    )
    def test_rates(self, rate, text):
        example = dataclasses.replace(EXAMPLES["histogram_slm"], work=lambda size: rate, unit="u")
        assert printing.rate(runs.FinishedRun(example, (1,), None, 1.0, None, None)) == text


class TestHelp:
    @pytest.mark.parametrize("command", [(), ("devices",), ("kernels",), ("run",), ("trace",), ("tune",)])
    def test_fits_80_columns(self, xeemu, command, monkeypatch):
        monkeypatch.setenv("COLUMNS", "80")
        code, out, _ = xeemu(*command, "--help")
        assert code == 0
        assert out.startswith("usage: xeemu")
        assert out.isascii()
        assert max(map(len, out.splitlines())) <= 80


class TestCheck:
    def test_a_clean_example_ends_with_0(self, capsys):
        assert cli.main(["check", "histogram_slm", "--size", "16384"]) == 0
        out = capsys.readouterr().out
        assert re.match(r"histogram_slm: global \d+, local 64, sub-group \d+, device max1550\n\nno findings\n", out)
        assert re.search(r"^proved +histogram\.py lines \d+(, \d+)+", out, re.MULTILINE)
        assert re.search(r"^watched +nothing$", out, re.MULTILINE)

    def test_findings_end_with_1(self, capsys):
        assert cli.main(["check", "reduction_racy"]) == 1
        assert "error: data-race between work-items on global memory total[0]" in capsys.readouterr().out

    def test_findings_as_json(self, capsys):
        assert cli.main(["check", "reduction_racy", "--json"]) == 1
        found = json.loads(capsys.readouterr().out)["findings"]
        assert [finding["kind"] for finding in found] == ["data-race"]

    @pytest.mark.parametrize("number", ["0", "-1", "x", "1.5"])
    def test_a_wrong_number_of_iterations_is_refused(self, number, capsys):
        try:
            code = cli.main(["check", "reduction_racy", "--max-iterations", number])
        except SystemExit as error:
            code = error.code
        assert code == 2
        assert "from 1" in capsys.readouterr().err or number == "-1"


class TestLitmus:
    def test_lists_the_tests(self, capsys):
        assert cli.main(["litmus"]) == 0
        out = capsys.readouterr().out
        assert re.search(r"^seed +allowed", out, re.MULTILINE)
        assert max(map(len, out.splitlines())) <= 100

    def test_the_seeds_program_may_print_0_2(self, capsys):
        assert cli.main(["litmus", "seed"]) == 0
        assert "allowed" in capsys.readouterr().out

    def test_an_unknown_test_is_refused(self, capsys):
        assert cli.main(["litmus", "nonsense"]) == 2
        assert "nonsense" in capsys.readouterr().err

    def test_draws_an_execution(self, tmp_path, capsys):
        assert cli.main(["litmus", "seed", "--plot", str(tmp_path / "seed.png")]) == 0
        assert (tmp_path / "seed.png").stat().st_size > 1000


@pytest.mark.parametrize("command", ["trace", "check", "profile", "estimate"])
def test_a_command_without_a_name_advises_what_it_has(xeemu, command):
    code, out, err = xeemu(command)
    assert (code, out) == (2, "")
    assert err == "error: name an example (xeemu kernels lists them) or path.py:NAME\n"


class TestOpenCL:
    """Kernels of a .cl file."""

    TEXT = """\
// Scales.
kernel void scale(global const float* in, global float* out, float factor, int n)
{
    int i = get_global_id(0);
    if (i < n)
        out[i] = in[i] * factor;
}
__attribute__((reqd_work_group_size(16, 4, 1)))
kernel void placed(global float4* out, local float* tile, uint2 at)
{
    out[get_global_id(1) * get_global_size(0) + get_global_id(0)].x = at.y + N;
}
kernel void racing(global int* a) { a[0] += 1; }
"""
    SCALE = ("--global", "256", "--local", "64", "--arg", "range:256", "--arg", "zeros:256", "--arg", "-0.5f")

    @pytest.fixture
    def cl(self, tmp_path):
        (tmp_path / "k.cl").write_text(self.TEXT)
        return tmp_path / "k.cl"

    def test_are_listed(self, xeemu, cl):
        code, out, _ = xeemu("list", f"{cl}", "--options", "-DN=2")
        assert code == 0
        assert "3 kernels" in out
        assert "kernel void placed(global float4* out, local float* tile, uint2 at), line 9" in out
        assert "work-group size 16x4x1 (OpenCL's order)" in out

    def test_of_python_are_listed(self, xeemu, file):
        code, out, _ = xeemu("list", f"{file}")
        assert code == 0
        assert "3 kernels and examples" in out
        assert re.search(r"^  scale\(wg, x, \*, factor=3\): <kernel scale at ", out, re.MULTILINE)
        assert re.search(r"^  narrow\(wg, x\): <kernel narrow, ", out, re.MULTILINE)

    def test_run_prints_what_it_is_and_its_outputs(self, xeemu, cl):
        code, out, _ = xeemu("run", f"{cl}:scale", "--options", "-DN=2", *self.SCALE, "--arg", "256")
        expected = np.arange(256, dtype=np.float32) * np.float32(-0.5)
        assert code == 0
        assert out.startswith("scale: Scales.\n")
        assert f"float32[256], crc32 {zlib.crc32(expected.tobytes()):08x}: -0 -0.5 -1" in out

    def test_arguments_may_have_names(self, xeemu, cl):
        words = ("--arg", "n=256", "--arg", "range:256", "--arg", "out=zeros:256", "--arg", "2")
        code, out, _ = xeemu("run", f"{cl}:scale", "--options=-DN=2", "--global", "256", "--local", "64", *words)
        assert code == 0
        assert ": 0 2 4 6 8 10 12 14" in out

    def test_sizes_are_in_opencls_order(self, xeemu, cl):
        words = ("--global", "32,8", "--arg", "zeros:256", "--arg", "local:256", "--arg", "3,4")
        code, out, _ = xeemu("run", f"{cl}:placed", "--options", "-DN=2 -w", *words)
        assert code == 0
        assert "global 32x8, local 16x4 (OpenCL's order), sub-group 32" in out
        assert "float32[256,4]" in out
        assert ": 6 0 0 0 6 0 0 0" in out

    def test_check_finds_what_is_wrong(self, xeemu, cl):
        words = ("--options", "-DN=2", "--global", "128", "--local", "64", "--arg", "zeros:4")
        code, out, _ = xeemu("check", f"{cl}:racing", *words)
        assert code == 1
        assert "data-race between work-groups on global memory a[0]" in out
        assert "atomic_add(&a[...], ...)" in out
        code, out, _ = xeemu("check", f"{cl}:scale", "--options", "-DN=2", *self.SCALE, "--arg", "250")
        assert code == 0
        assert "no findings" in out

    @pytest.mark.parametrize("command", ["trace", "estimate", "profile"])
    def test_other_commands_take_them(self, xeemu, cl, command):
        code, out, _ = xeemu(command, f"{cl}:scale", "--options", "-DN=2", *self.SCALE, "--arg", "250")
        assert code == 0
        assert "out[i] = in[i] * factor;" in out

    def test_tune_sweeps_local_sizes(self, xeemu, cl):
        words = ("--global", "256", "--local", "16,64", "--arg", "range:256", "--arg", "zeros:256", "--arg", "1")
        code, out, _ = xeemu("tune", f"{cl}:scale", "--options", "-DN=2", *words, "--arg", "256")
        assert code == 0
        assert "scale: 2 configurations, 2 timed" in out

    def test_arrays_are_made_by_rules(self, xeemu, cl):
        def outputs(rule):
            words = ("--global", "4", "--local", "4", "--arg", rule, "--arg", "zeros:4", "--arg", "1", "--arg", "4")
            code, out, _ = xeemu("run", f"{cl}:scale", "--options", "-DN=2", *words)
            assert code == 0
            return out.split("output 0")[1]

        assert ": 7.5 7.5 7.5 7.5" in outputs("full:4:7.5")
        assert ": 1 1 1 1" in outputs("ones:2x2:float")
        assert ": 0 1 2 3" in outputs("range:1:float4")
        assert outputs("random:4:seed=1") == outputs("random:4:float:seed=1") != outputs("random:4:seed=2")
        assert ": 5 5 5 5" in outputs("random:4:float:low=5:high=5.0")

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (("k.cl", "--global", "4"), r"write .*k\.cl:NAME with one of scale, placed, racing"),
            (("k.cl:scal", "--global", "4"), r"has no kernel 'scal' \(did you mean 'scale'\?\)"),
            (("none.cl:scale", "--global", "4"), r"the file .*none\.cl is not there"),
            (("k.cl:scale",), r"write the sizes of scale, dimension 0 first, such as --global 4096"),
            (("k.cl:scale", "--global", "4x0"), r"--global-size 4x0: sizes are numbers from 1"),
            (("k.cl:scale", "--global", "-4"), r"--global-size -4: sizes are numbers from 1"),
            (("k.cl:scale", "--global", "4", "--size", "4"), r"has no --size"),
            (("k.cl:scale", "--global", "4", "--static", "N=3"), r"no static parameters; write -DN=3 in --options"),
            (
                ("k.cl:racing", "--global", "4"),
                r"takes 1 argument \(global int\* a\), but got 0; write also --arg zeros",
            ),
            (("k.cl:racing", "--global", "4", "--arg", "zeros:4", "--arg", "1"), r"takes 1 argument .* but got 2"),
            (("k.cl:racing", "--global", "4", "--arg", "zeroes:4"), r"for `global int\* a`: it is no number, no array"),
            (("k.cl:racing", "--global", "4", "--arg", "zeros:4:flot"), r"'flot' is no type; the types are bool"),
            (("k.cl:racing", "--global", "4", "--arg", "zeros:4:seed=1"), r"zeros has no seed"),
            (("k.cl:racing", "--global", "4", "--arg", "random:4:low=3:high=3"), r"low=3:high=3 is no range of int32"),
            (("k.cl:racing", "--global", "4", "--arg", "zeros:4:float"), r"a.view\(np.int32\) if its bits are meant"),
            (("k.cl:racing", "--global", "4", "--arg", "local:many"), r"'many' is no number of bytes"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, xeemu, cl, words, message):
        name, *rest = words
        code, out, errors = xeemu("run", f"{cl.parent / name}", "--options", "-DN=2", *rest)
        assert (code, out) == (2, "")
        assert re.search(message, errors)

    def test_structs_are_written_by_their_fields(self, xeemu, tmp_path):
        (tmp_path / "s.cl").write_text(
            "typedef struct { float x; int2 y; } s; kernel void f(global float* a, s t) { a[0] = t.x + t.y.y; }"
        )
        words = ("run", f"{tmp_path}/s.cl", "--global", "1", "--local", "1", "--arg", "zeros:1", "--arg")
        code, out, _ = xeemu(*words, "{'x': 0.5, 'y': [1, 2]}")
        assert code == 0
        assert ": 2.5" in out
        code, _, errors = xeemu(*words, "3")
        assert code == 2
        assert "a struct is written {'field': value, ...}" in errors
        assert "--arg \"{'x': 1, 'y': 1}\"" in errors

    def test_images_and_samplers_are_written_as_well(self, xeemu, tmp_path):
        (tmp_path / "i.cl").write_text(
            "kernel void f(read_only image2d_t i, sampler_t s, global float* a) "
            "{ a[get_global_id(0)] = read_imagef(i, s, (int2)(get_global_id(0), 1)).x; }"
        )
        words = (
            "--global",
            "4",
            "--local",
            "4",
            "--arg",
            "range:2x4:float",
            "--arg",
            "sampler:clamp",
            "--arg",
            "zeros:4",
        )
        code, out, _ = xeemu("run", f"{tmp_path}/i.cl", *words)
        assert code == 0
        assert ": 4 5 6 7" in out
        code, _, errors = xeemu("run", f"{tmp_path}/i.cl", "--global", "4", "--arg", "sampler:clmp")
        assert code == 2
        assert "write also --arg sampler:clamp:nearest --arg zeros:1024" in errors

    def test_a_text_that_is_wrong_is_refused_with_clangs_words(self, xeemu, cl):
        code, _, errors = xeemu("run", f"{cl}:scale", *self.SCALE, "--arg", "256")
        assert code == 2
        assert "use of undeclared identifier 'N'" in errors

    def test_options_are_for_them_alone(self, xeemu, file):
        code, _, errors = xeemu("run", f"{file}:scale", "--global-size", "64", "--options", "-DN=2")
        assert code == 2
        assert "is no OpenCL C or SYCL C++, which --options and --std are for" in errors


class TestPrograms:
    TEXT = """#include <sycl/sycl.hpp>
#include <iostream>
int main(int count, char **words) {
  sycl::queue q;
  const int n = 64;
  int *a = sycl::malloc_shared<int>(n, q);
  for (int i = 0; i < n; i++) a[i] = i;
  q.parallel_for<class doubled>(sycl::nd_range<1>(n, 16), [=](sycl::nd_item<1> it) {
    a[SUM ? 0 : it.get_global_id(0)] *= 2;
  }).wait();
  std::cout << "last " << a[n - 1] << ", " << count << " words" << std::endl;
  return a[n - 1] != 126;
}
"""

    def test_print_their_output_and_launches(self, xeemu, tmp_path):
        (tmp_path / "mine.cpp").write_text(self.TEXT)
        code, output, _ = xeemu("program", str(tmp_path / "mine.cpp"), "one", "two", "--options", "-DSUM=0", "--check")
        assert code == 0
        lines = output.splitlines()
        assert lines[0] == "last 126, 3 words"
        assert re.match(r"doubled +8 +global 64, local 16 +at least [\d.]+ us ~$", lines[3])
        assert lines[5] == "note: leak: 256 bytes of a are never freed"
        assert len(lines) == 8

    def test_fail_where_they_say_so_or_a_check_finds_a_fault(self, xeemu, tmp_path):
        (tmp_path / "mine.cpp").write_text(self.TEXT)
        code, output, _ = xeemu("program", str(tmp_path / "mine.cpp"), "--options", "-DSUM=1", "--check")
        assert code == 1
        assert "main gives 1" in output
        assert "doubled, line 8: error: data-race" in output

    def test_print_what_they_had_printed_before_they_end_with_an_error(self, xeemu, tmp_path):
        (tmp_path / "mine.cpp").write_text(self.TEXT.replace("return a", 'throw "no"; return a'))
        code, output, errors = xeemu("program", str(tmp_path / "mine.cpp"), "--options", "-DSUM=0")
        assert (code, output) == (2, "last 126, 1 words\n")
        assert errors.startswith('error (kernel): the program ends with an error: throw "no"')
        with pytest.raises(xe.KernelError) as told:
            xe.load(tmp_path / "mine.cpp", "-DSUM=0").run()
        assert told.value.output == "last 126, 1 words\n"
        assert told.value.__notes__ == ["until then the program had printed:\nlast 126, 1 words\n"]

    def test_are_of_sycl_alone(self, xeemu, tmp_path):
        (tmp_path / "mine.cl").write_text("kernel void one(global int *a) { a[0] = 1; }")
        code, _, errors = xeemu("program", str(tmp_path / "mine.cl"))
        assert code == 2
        assert "is no SYCL C++, whose host code could be run" in errors


class TestFiles:
    """Reports and findings that are written into files."""

    def test_two_reports_are_compared(self, xeemu, tmp_path):
        before, after = (str(tmp_path / name) for name in ("before.json", "after.json"))
        for file, name in (before, "slm_bank_1"), (after, "slm_bank_16"):
            assert xeemu("estimate", name, "--size", "32", "--save", file)[0] == 0
        code, out, _ = xeemu("diff", before, after)
        assert code == 0
        assert "slm.passes" in out
        assert xeemu("diff", before, before) == (0, "no figure differs\n", "")
        page = tmp_path / "diff.html"
        assert xeemu("diff", before, after, "--html", f"{page}")[1] == out
        assert "what differs" in page.read_text()
        assert xeemu("diff", before, after, "--html", f"{before}/none.html")[0] == 2

    def test_a_cost_that_has_risen_is_the_exit_code(self, xeemu, tmp_path):
        before, after = (str(tmp_path / name) for name in ("before.json", "after.json"))
        for file, name in (before, "slm_bank_1"), (after, "slm_bank_16"):
            xeemu("estimate", name, "--size", "32", "--save", file)
        code, _, err = xeemu("diff", before, after, "--fail-above", "5%")
        assert code == 1
        assert err == "risen by more than 5 %: time_s\n"
        assert "SLM cycles" in xeemu("diff", before, after, "--fail-above", "5%", "--fail-on", "all")[2]
        assert xeemu("diff", after, before, "--fail-above", "5%")[0] == 0
        for share in ("nan", "inf", "-1%", "much"):
            assert xeemu("diff", after, before, f"--fail-above={share}")[0] == 2

    def test_reports_of_different_launches_are_noted(self, xeemu, tmp_path):
        before, after = (str(tmp_path / name) for name in ("before.json", "after.json"))
        for file, device in (before, "max1550"), (after, "a770"):
            xeemu("estimate", "slm_bank_1", "--size", "32", "--device", device, "--save", file)
        assert xeemu("diff", before, after)[2] == "note: the device is another one: max1550, then a770\n"

    def test_the_figures_that_may_not_rise_are_chosen(self, xeemu, tmp_path):
        files = before, _ = [str(tmp_path / name) for name in ("before.json", "after.json")]
        data = json.loads(self.saved(xeemu, before))
        data["slm"]["passes"] *= 2
        (tmp_path / "after.json").write_text(json.dumps(data))
        assert xeemu("diff", *files, "--fail-above", "5%")[0] == 0
        for names in ("slm.passes", "time_s,slm.passes"):
            code, _, err = xeemu("diff", *files, "--fail-above", "5%", "--fail-on", names)
            assert (code, err) == (1, "risen by more than 5 %: slm.passes\n")
        assert xeemu("diff", *files, "--fail-above", "5%", "--fail-on", "all")[0] == 1
        code, _, err = xeemu("diff", *files, "--fail-above", "5%", "--fail-on", "slm.pases")
        assert code == 2
        assert "neither report has a number for it (did you mean 'slm.passes'?)" in err
        assert xeemu("diff", *files, "--fail-on", "slm.passes")[0] == 2

    @staticmethod
    def saved(xeemu, file):
        """The text of a saved report of a small launch."""
        assert xeemu("estimate", "slm_bank_1", "--size", "32", "--save", file)[0] == 0
        with open(file) as saved:
            return saved.read()

    def test_a_file_that_is_not_there_is_told(self, xeemu, tmp_path):
        code, _, err = xeemu("diff", str(tmp_path / "a.json"), str(tmp_path / "b.json"))
        assert (code, "a.json cannot be read: No such file or directory" in err) == (2, True)

    def test_pages_are_written(self, xeemu, tmp_path):
        costs, faults = tmp_path / "costs.html", tmp_path / "faults.html"
        xeemu("estimate", "slm_bank_16", "--size", "32", "--html", str(costs))
        xeemu("check", "reduction_racy", "--size", "64", "--html", str(faults))
        assert "bank conflict" in costs.read_text()
        assert "data-race" in faults.read_text()

    def test_a_file_that_cannot_be_written_is_told(self, xeemu, tmp_path):
        code, _, err = xeemu("estimate", "slm_bank_16", "--size", "32", "--save", str(tmp_path / "none" / "r.json"))
        assert code == 2
        assert "cannot write" in err


class TestContinuousIntegration:
    """What a check fails for, what it accepts, and the forms that other tools read."""

    NOTE = """
import jax.numpy as jnp
import xeemu as xe

@xe.kernel
def quotient(wg, x, out):
    i = wg.global_id()
    return out.at[i].set(10 // x[i])
"""
    SIZES = ("--global", "64", "--local", "64", "--arg", "x=int32[64]:zeros", "--arg", "out=int32[64]:zeros")

    @pytest.fixture
    def noted(self, tmp_path):
        (tmp_path / "mine.py").write_text(self.NOTE)
        return f"{tmp_path / 'mine.py'}:quotient"

    @pytest.mark.thorough
    def test_a_note_fails_a_check_only_where_it_is_told_to(self, xeemu, noted):
        assert xeemu("check", noted, *self.SIZES)[0] == 0
        assert xeemu("check", noted, *self.SIZES, "--fail-on", "note")[0] == 1

    @pytest.mark.thorough
    def test_what_a_baseline_accepts_is_left_out_though_lines_move(self, xeemu, noted, tmp_path):
        baseline = str(tmp_path / "accepted.json")
        code, _, err = xeemu("check", noted, *self.SIZES, "--fail-on", "note", "--write-baseline", baseline)
        assert (code, err) == (0, f"{baseline}: 1 finding of quotient written\n")
        (tmp_path / "moved.py").write_text("\n\n" + self.NOTE)
        (tmp_path / "changed.py").write_text(self.NOTE.replace("10 //", "12 //"))
        moved, changed = (noted.replace("mine.py", name) for name in ("moved.py", "changed.py"))
        code, out, _ = xeemu("check", moved, *self.SIZES, "--fail-on", "note", "--baseline", baseline)
        assert (code, f"no new findings; 1 accepted by {baseline}" in out) == (0, True)
        assert xeemu("check", changed, *self.SIZES, "--fail-on", "note", "--baseline", baseline)[0] == 1

    @pytest.mark.thorough
    def test_the_same_line_in_another_kernel_is_not_accepted(self, xeemu, noted, tmp_path):
        baseline = str(tmp_path / "accepted.json")
        copy = self.NOTE.split("@xe.kernel")[1].replace("quotient", "again")
        (tmp_path / "mine.py").write_text(f"{self.NOTE}\n\n@xe.kernel{copy}")
        xeemu("check", noted, *self.SIZES, "--write-baseline", baseline)
        other = noted.replace("quotient", "again")
        assert xeemu("check", other, *self.SIZES, "--fail-on", "note", "--baseline", baseline)[0] == 1
        xeemu("check", other, *self.SIZES, "--write-baseline", baseline)
        for kernel in (noted, other):
            assert xeemu("check", kernel, *self.SIZES, "--fail-on", "note", "--baseline", baseline)[0] == 0

    def test_an_old_baseline_is_told(self, xeemu, noted, tmp_path):
        path = tmp_path / "accepted.json"
        xeemu("check", noted, *self.SIZES, "--write-baseline", str(path))
        data = json.loads(path.read_text())
        for entry in data["accepted"]:
            del entry["kernel"], entry["count"]
        path.write_text(json.dumps(data))
        code, out, _ = xeemu("check", noted, *self.SIZES, "--fail-on", "note", "--baseline", str(path))
        assert (code, "knows neither kernels nor counts" in out) == (0, True)

    def test_a_file_that_is_no_baseline_is_refused(self, xeemu, noted, tmp_path):
        (tmp_path / "other.json").write_text("{}")
        code, _, err = xeemu("check", noted, *self.SIZES, "--baseline", str(tmp_path / "other.json"))
        assert code == 2
        assert "other.json is no baseline" in err

    def test_annotations_name_file_and_line(self, xeemu, noted, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        _, out, _ = xeemu("check", noted, *self.SIZES, "--format", "github")
        (line,) = out.splitlines()
        assert line.startswith("::notice file=mine.py,line=8,title=undefined-arithmetic::")
        assert line.count("undefined-arithmetic") == 1
        assert re.search(r"%0A  [a-z ]*mine\.py:8: ", line)
        assert "%0A" in line

    def test_sarif_has_a_rule_a_place_and_a_fingerprint_for_each_result(self, xeemu, tmp_path, monkeypatch):
        _, out, _ = xeemu("check", "reduction_racy", "--size", "64", "--format", "sarif")
        log = json.loads(out)
        (run,) = log["runs"]
        assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "xeemu")
        result = run["results"][0]
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "data-race"
        assert result["level"] == "error"
        (place,) = result["locations"]
        assert place["physicalLocation"]["region"]["startLine"] > 0
        assert re.fullmatch(r"[0-9a-f]{64}:1", result["partialFingerprints"]["finding/v1"])
        assert not result["message"]["text"].startswith("error")

    def test_a_list_of_kernels_is_one_log(self, xeemu, noted, tmp_path):
        listed = tmp_path / "checks.txt"
        words = " ".join((noted, *self.SIZES))
        listed.write_text(f"# all kernels\n{words}\nreduction_racy --size 64  # a race\n\n")
        code, out, _ = xeemu("check", "--list", str(listed), "--format", "sarif")
        (run,) = json.loads(out)["runs"]
        assert (code, run["invocations"][0]["executionSuccessful"]) == (1, True)
        assert {result["ruleId"] for result in run["results"]} == {"undefined-arithmetic", "data-race"}
        listed.write_text(words + "\n" + words.replace("--global 64", "--global 65"))
        code, out, err = xeemu("check", "--list", str(listed), "--format", "json")
        assert (code, [set(one) for one in json.loads(out)][1]) == (2, {"kernel", "refused"})
        assert "65 is not divisible by the local size 64" in err
        listed.write_text("reduction_racy --sizes 3")
        assert xeemu("check", "--list", str(listed))[0] == 2

    def test_a_list_that_names_nothing_is_refused(self, xeemu, tmp_path):
        (tmp_path / "empty.txt").write_text("\n# nothing\n")
        for name, why in (("empty.txt", "names no kernel"), ("none.txt", "cannot be read")):
            code, _, err = xeemu("check", "--list", str(tmp_path / name))
            assert (code, why in err) == (2, True)

    def test_a_kernel_that_is_refused_is_told_in_every_form(self, xeemu, tmp_path, monkeypatch):
        (tmp_path / "bad.py").write_text(self.NOTE.replace("10 // x[i]", "x[i, i]"))
        (tmp_path / ".git").mkdir()
        (tmp_path / "inner").mkdir()
        monkeypatch.chdir(tmp_path / "inner")
        words = ("check", "../bad.py:quotient", *self.SIZES, "--format")
        code, out, err = xeemu(*words, "github")
        assert (code, out.startswith("::error file=bad.py,line=8,title=refused::")) == (2, True)
        assert err.startswith("error (")
        code, out, _ = xeemu(*words, "sarif")
        (invocation,) = json.loads(out)["runs"][0]["invocations"]
        (told,) = invocation["toolExecutionNotifications"]
        assert (code, invocation["executionSuccessful"]) == (2, False)
        assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad.py"

    def test_a_note_that_fails_the_check_is_a_warning(self, xeemu, noted):
        _, out, _ = xeemu("check", noted, *self.SIZES, "--format", "github", "--fail-on", "note")
        assert out.startswith("::warning ")

    @pytest.mark.thorough
    def test_one_result_of_two_that_are_known_by_the_same_is_another(self, xeemu, tmp_path):
        twice = self.NOTE.replace("    return", "    out = out.at[i].set(10 // x[i])\n    return")
        (tmp_path / "mine.py").write_text(twice.replace("    return out.at", "    out = out.at") + "    return out\n")
        _, out, _ = xeemu("check", f"{tmp_path / 'mine.py'}:quotient", *self.SIZES, "--format", "sarif")
        prints = [r["partialFingerprints"]["finding/v1"] for r in json.loads(out)["runs"][0]["results"]]
        assert len(set(prints)) == len(prints) == 2

    def test_every_kind_has_a_rule(self):
        assert set(exchange.RULES) == set(KINDS)

    @pytest.mark.thorough
    def test_a_verdict_does_not_depend_on_who_reads_it(self, noted, tmp_path):
        command = [sys.executable, "-m", "xeemu", "check", noted, *self.SIZES, "--fail-on", "note"]
        with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
            run.stdout.close()
            assert run.stderr.read() == b""
        assert run.returncode == 1


class TestPackages:
    """Kernels of a user's package, by path and by the name of the module."""

    SIZES = ("--global", "64", "--local", "64", "--arg", "x=int32[64]")

    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        folder = tmp_path / "my_lib_of_kernels"
        folder.mkdir()
        (folder / "__init__.py").write_text("")
        (folder / "util.py").write_text("N = 3\n")
        kernel = "import xeemu as xe\nfrom .util import N\n\n@xe.kernel\ndef scale(wg, x):\n"
        (folder / "rel.py").write_text(kernel + "    return x.at[wg.global_id()].set(N)\n")
        monkeypatch.chdir(tmp_path)
        yield folder
        for name in [name for name in sys.modules if name.startswith(folder.name)]:
            del sys.modules[name]

    @pytest.mark.parametrize("name", ["my_lib_of_kernels/rel.py:scale", "my_lib_of_kernels.rel:scale"])
    def test_relative_imports(self, xeemu, package, name):
        code, out, _ = xeemu("check", name, *self.SIZES)
        assert (code, "no findings" in out) == (0, True)

    def test_a_module_that_is_not_there(self, xeemu, package):
        code, _, err = xeemu("check", "my_lib_of_kernels.none:scale", *self.SIZES)
        assert (code, "no module my_lib_of_kernels.none" in err) == (2, True)


# --- Words that are misspelt or missing ---


def test_no_command_shows_the_help(xeemu):
    code, out, _ = xeemu()
    assert code == 0
    assert "run an example or a kernel of your own" in out


@pytest.mark.parametrize(
    ("words", "meant"), [(["chekc"], "check"), (["run", "slm_bank_1", "--devise", "b580"], "--device")]
)
def test_a_misspelt_word_is_told(xeemu, words, meant):
    code, _, errors = xeemu(*words)
    assert code == 2
    assert errors.endswith(f" (did you mean {meant!r}?)\n")


@pytest.mark.parametrize("size", ["16384", "16k", "16K", "16 KiB"])
def test_local_memory_is_given_in_units(xeemu, size):
    assert xeemu("occupancy", "--local-size", "64", "--slm", size) == xeemu(
        "occupancy", "--local-size", "64", "--slm", "16384"
    )


def test_a_trace_is_data_for_programs(xeemu):
    code, out, _ = xeemu("trace", "slm_bank_1", "--json")
    told = json.loads(out)
    assert (code, told["kernel"], told["local_bytes"]) == (0, "slm_bank", 8192)
    assert [memory["written"] for memory in told["memories"]] == [True, True]
    assert told["listing"][0].startswith("kernel slm_bank")


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("run {file}:scal --global 8", "no 'scal' (did you mean 'scale'?)"),
        ("run {file}:scale --global 8 --arg y=float32[8]", "kernel scale has no parameter y"),
        ("run {file}:scale --global 8 --arg x=float32[8] --static factr=2", "parameter factr (did you mean 'factor'?)"),
        ("check histogram_slm --format sarf", "(did you mean 'sarif'?)"),
        ("rnu histogram_slm", "(did you mean 'run'?)"),
        ("diff {folder}/before.json after.json", "before.json cannot be read: No such file or directory; write one by"),
    ],
)
def test_a_misspelt_word_is_told_with_the_one_meant(xeemu, file, line, meant):
    code, _, errors = xeemu(*line.format(file=file, folder=file.parent).split())
    assert (code, meant in errors) == (2, True)


class TestInspect:
    """One work-group, step by step."""

    @pytest.fixture
    def words(self, file):
        return ("inspect", f"{file}:scale", "--global", "16", "--local", "8", "--arg", "x=int32[16]:arange")

    def test_tells_the_steps_of_a_work_group(self, xeemu, words, tmp_path):
        code, out, _ = xeemu(*words, "--group", "1", "--html", f"{tmp_path / 'page.html'}")
        assert code == 0
        assert "scale, work-group 1 of 2, 8 work-items" in out
        assert re.search(r"store x +\[8\] +\[9\] \[10\]", out)
        assert "work-group 1" in (tmp_path / "page.html").read_text()

    def test_tells_of_some_work_items_and_lines_alone(self, xeemu, words):
        code, out, _ = xeemu(*words, "--group", "1", "--item", "3", "--item", "0", "--line", "7")
        assert code == 0
        assert out.splitlines()[0].endswith("; of work-items 3, 0")
        assert re.search(r"store x +\[11\] +\[8\]\n +value +33 +24$", out, re.MULTILINE)

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (("--group", "2"), "no work-group of the launch; give a number from 0 to 1"),
            (("--item", "8"), "no work-item 8 in the work-group; give a number from 0 to 7"),
            (("--item", "1,1"), "no work-item (1, 1) in the work-group; give a number from 0 to 7"),
            (("--line", "3"), "no step at line 3; it came to lines 7"),
            (("--most-steps", "0"), "0 is less than 1"),
        ],
    )
    def test_what_is_refused(self, xeemu, words, more, message):
        code, _, errors = xeemu(*words, *more)
        assert code == 2
        assert message in " ".join(errors.split())


class TestOrigins:
    """Where arguments of a SYCL kernel come from that the command line does not give."""

    TEXT = """#include <sycl/sycl.hpp>
int main() {
  sycl::queue q;
  int *x = sycl::malloc_shared<int>(64, q), *y = sycl::malloc_shared<int>(64, q);
  int n = 60;
  q.parallel_for(sycl::nd_range<1>(64, 16), [=](sycl::nd_item<1> it) {
    int i = it.get_global_id(0);
    if (i < n) y[i] = x[i];
  }).wait();
}
"""

    @pytest.fixture
    def cpp(self, tmp_path):
        pytest.importorskip("clang")
        (tmp_path / "mine.cpp").write_text(self.TEXT)
        return f"{tmp_path / 'mine.cpp'}"

    @pytest.mark.parametrize("command", ["run", "check", "profile", "inspect"])
    def test_are_told(self, xeemu, cpp, command):
        code, out, _ = xeemu(command, cpp)
        assert code == 0
        told = " ".join(out.split())
        assert "contents of y, x: random, as the host code is not run; n: as the host code tells" in told or (
            "contents of x, y: random, as the host code is not run; n: as the host code tells" in told
        )
        assert "xeemu program runs the host code as well" in told

    def test_are_not_told_where_all_are_given(self, xeemu, cpp):
        code, out, _ = xeemu("run", cpp, "--arg", "x=range:64", "--arg", "y=zeros:64", "--arg", "n=3")
        assert code == 0
        assert "host code" not in out
        assert "0 1 2 0 0 0" in " ".join(out.split())

    def test_of_shapes_tell_of_numbers_alone(self, xeemu, cpp):
        code, out, _ = xeemu("estimate", cpp)
        assert code == 0
        assert "arguments n: as the host code tells. --arg n=VALUE gives another" in " ".join(out.split())

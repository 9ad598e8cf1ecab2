"""The yardstick's own parts: descriptions, comparison, labels, workers and the page, without repositories and PoCL."""

import pathlib
import sys
import time

import numpy as np
import pytest

SCRIPTS = pathlib.Path(__file__).parents[1] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from yardstick import arguments, comparison, labels, manifest, results, sources, workers  # noqa: E402

# --- Arguments ---


def made(description):
    return arguments.argument(description).value


def test_arrays_have_the_type_size_and_range_that_is_told():
    floats = made("float random 100 -1 1")
    assert floats.dtype == np.float32
    assert floats.shape == (100,)
    assert floats.min() < 0 < floats.max() < 1
    assert set(made("uchar below 1000 2 5")) == {2, 3, 4}
    assert made("uint full 3 0xff").tolist() == [255] * 3
    assert made("int ramp 4 5 2").tolist() == [5, 7, 9, 11]
    assert sorted(made("short permutation 50")) == list(range(50))
    assert made("long list -1 2").tolist() == [-1, 2]


def test_a_vector_of_three_takes_the_room_of_four():
    assert made("float3 zeros 8").shape == (8, 4)
    assert made("float3 = 1 2 3").tolist() == [1, 2, 3]
    assert made("int4 = 7").tolist() == [7] * 4


def test_records_are_laid_out_as_in_c():
    name = "{char a,{int x,double y} b,float3 c,short d[3]}"
    kind = arguments.type_of(name)
    assert (kind.size, kind.alignment) == (64, 16)
    assert [kind.dtype.fields[f][1] for f in "abcd"] == [0, 8, 32, 48]
    assert arguments.type_of("{packed,char a,int b}").size == 5
    filled = made("{int a,float b} below 20 3")
    assert set(filled["a"]) == {0, 1, 2}
    assert made("{int a,float b} = 1 0.5").tolist() == (1, 0.5)
    assert made("{packed,char a,int b} bytes 1 2 0 0 1").tolist() == (1, 2 + 2**24)


def test_numbers_wrap_to_their_type():
    assert made("uint = -1") == 2**32 - 1
    assert made("char = 255") == -1
    assert isinstance(made("half = 0.5"), np.float16)


def test_sparse_rows_and_columns_fit_together():
    offsets, columns = made("int offsets 64 8"), made("int columns 64 8")
    assert len(offsets) == 65
    assert offsets[0] == 0
    assert set(np.diff(offsets)) <= set(range(1, 8))
    assert len(columns) >= offsets[-1]
    assert columns.max() < 64


def test_alternatives_are_for_one_run_each_and_the_last_for_the_rest():
    lines = ["int = 8 | = 64 | = 0", "float zeros 4 | full 4 1"]
    assert arguments.trials(lines) == 3
    assert [arguments.made(lines, k)[0].value for k in range(3)] == [8, 64, 0]
    assert [arguments.made(lines, k)[1].value[0] for k in range(3)] == [0, 1, 1]


def test_equal_descriptions_give_equal_arrays_but_not_at_two_positions():
    line = "float random 16"
    assert (arguments.argument(line, 1).value == arguments.argument(line, 1).value).all()
    assert (arguments.argument(line, 1).value != arguments.argument(line, 2).value).any()


@pytest.mark.parametrize("wrong", ["float", "float5 zeros 4", "int scrambled 4", "{int} zeros 1", "{int a zeros 1"])
def test_a_description_that_is_none_is_refused(wrong):
    with pytest.raises(arguments.DescriptionError):
        made(wrong)


# --- The manifests ---


@pytest.mark.parametrize("name", manifest.names())
def test_every_manifest_can_be_read_and_its_arguments_made(name):
    for entry in manifest.read(name).entries:
        assert len(entry.global_size) <= 3, entry.key
        for line in entry.arguments:
            for trial in range(arguments.trials([line])):
                made_of(entry.key, arguments.chosen(line, trial))


def made_of(key, description):
    if description == "null":
        return
    name, form, _ = arguments.split(description)
    if name == "local":
        assert int(form) > 0, key
    elif form in ("=", "bytes"):
        assert arguments.argument(description).kind == "value", key
    else:
        assert form in arguments.FORMS, key
        arguments.type_of(name)


def test_a_key_that_no_manifest_has_is_refused(tmp_path):
    kernel = 'repository = "a/b"\ncommit = ""\n[[kernel]]\nfile = "x"\nname = "k"\nglobal = [1]\nlocal = [1]\n'
    (tmp_path / "own.toml").write_text(kernel + 'arguments = []\noption = "-DX"\n')
    with pytest.raises(ValueError, match="no key option"):
        manifest.read("own", tmp_path)
    (tmp_path / "own.toml").write_text(f"{kernel}arguments = []\n" * 1 + kernel.split("\n", 2)[2] + "arguments = []\n")
    with pytest.raises(ValueError, match="described twice"):
        manifest.read("own", tmp_path)


def test_sources_are_put_together_and_options_name_their_folders(tmp_path):
    folder = tmp_path / "own" / "kernels"
    folder.mkdir(parents=True)
    (folder / "a.opencl").write_text('// C++\nR"(\nint a;\n)"\n// end\n')
    (folder / "b.opencl").write_text('R"(\nint b;\n)" R"(\nint c;\n)"')
    entry = manifest.Entry(
        "own", "kernels/b.opencl", "k", (1,), (1,), (), "-DN=4 -I{here} -DT=float -UT", assembly="strings"
    )
    entry = manifest.dataclasses.replace(entry, before=("kernels/a.opencl",))
    assert sources.source(entry, tmp_path).read_text().split() == ["int", "a;", "int", "b;", "int", "c;"]
    assert sources.options(entry, tmp_path) == ["-DN=4", f"-I{folder}"]
    assert sources.strings("MSTRINGIFY(\n\\n\nint a;\n#if X\\n\nint b;\n)\n").split() == [
        "int",
        "a;",
        "#if",
        "X",
        "int",
        "b;",
    ]


# --- Comparison ---


def compared(ours, theirs, dtype):
    a, b = np.array(ours, dtype), np.array(theirs, dtype)
    return comparison.compared(a, b.view(np.uint8).reshape(-1))


def test_floats_agree_within_rounding_and_integers_exactly():
    assert compared([1.0, np.nan, np.inf], [1.0, np.nan, np.inf], "f4").exact
    near = compared([1.0, 1.0001], [1.0, 1.0], "f4")
    assert not near.exact
    assert near.wrong == 0
    assert compared([1.0, 1.001], [1.0, 1.0], "f4").wrong == 1
    assert compared([1.0, 1e-7], [1.0, 0.0], "f4").wrong == 0
    assert compared([1.0, 1 + 1e-6], [1.0, 1.0], "f8").wrong == 1
    assert compared([np.inf, 1, np.nan], [1, np.nan, 1], "f4").wrong == 3
    assert compared([1, 2], [1, 3], "i4").example == "[1] is 2, not 3"


def test_the_padding_of_a_vector_of_three_does_not_count():
    ours, theirs = made("float3 random 4"), made("float3 random 4").copy()
    theirs[:, 3] = 9
    assert comparison.compared(ours, theirs.view(np.uint8).reshape(-1), 3).exact
    assert comparison.compared(ours, theirs.view(np.uint8).reshape(-1), 4).wrong == 4


def test_records_are_compared_by_field():
    dtype = [("a", "i4"), ("b", "f4")]
    assert compared([(1, 0.5)], [(1, 0.50001)], dtype).wrong == 0
    assert compared([(1, 0.5)], [(2, 0.5)], dtype).example == ".a[0] is 1, not 2"


# --- Labels ---


def test_gpuverify_tests_tell_sizes_options_and_label():
    told = labels.gpuverify("//pass\n//--local_size=[8,4] --num_groups=[2,3] -DN=4 --no-inline\n\nkernel void f() {}")
    assert (told.global_size, told.local_size, told.expect, told.options) == ((16, 12), (8, 4), "clean", "-DN=4")
    race = (
        "//xfail:NOT_ALL_VERIFIED\r\n//--local_size=64 --global_size=128\r\n//error: possible write-write race on p\r\n"
    )
    assert labels.gpuverify(race).expect == "race"
    assert labels.gpuverify(race).global_size == (128,)
    assert labels.gpuverify("//pass\n//--no-inline\n") is None
    silent = "//xfail:NOT_ALL_VERIFIED\n//--local_size=64 --num_groups=2\n"
    assert labels.gpuverify(silent, "a/async_work_group_copy/fail/test7").expect == "divergence"
    assert labels.gpuverify(silent, "a/async_work_group_copy/fail/test8").expect == "runs"
    assert labels.gpuverify(silent, "a/async_work_group_copy/fail/test15").expect == "bounds"
    assert (
        labels.expected("xfail:NOT_ALL_VERIFIED", ["barrier may be reached by non-uniform control flow"])
        == "divergence"
    )
    assert labels.expected("xfail:NOT_ALL_VERIFIED", ["this assertion might not hold"]) == "runs"
    assert labels.expected("xfail:NOT_ALL_VERIFIED", ["error: possible null pointer access for work item"]) == "bounds"


def test_oclgrind_tests_tell_arguments_errors_and_values(tmp_path):
    sim = tmp_path / "t.sim"
    sim.write_text(
        "t.cl # comment\nk\n4 1 1\n2 1 1\n\n<size=16 range=1:2:7 dump>\n<size=8 char hex>\n"
        "0x01 0xff 0 0 0 0 0 0\n<size=4>\n7\n<size=64>\n"
    )
    parameters = [("global", "int"), ("global", "{int a,int b}"), ("", "int"), ("local", "float4")]
    told = labels.oclgrind(sim, parameters, "k")
    assert told.arguments == ("int ramp 4 1 2", "char list 1 255 0 0 0 0 0 0", "int = 7", "local 64")
    assert (told.global_size, told.local_size, told.expect) == ((4,), (2,), "clean")
    assert labels.oclgrind(sim, parameters, "other") is None
    sim.with_suffix(".ref").write_text(
        "ERROR Read-write data race at global memory\nEXACT   data[1] = 3\nEXACT Argument 'data': 16 bytes\n"
    )
    assert labels.oclgrind(sim, parameters, "k").expect == "race"
    assert labels.expected_values(sim.with_suffix(".ref"), ["x", "data"]) == ("1 1 3",)


@pytest.mark.parametrize(
    ("expect", "found", "suite", "said"),
    [
        ("clean", [], "", "agrees"),
        ("clean", ["out-of-bounds"], "gpuverify", "agrees"),
        ("clean", ["out-of-bounds"], "oclgrind", "false alarm"),
        ("clean", ["data-race"], "gpuverify", "false alarm"),
        ("race", ["wrong-fence"], "", "agrees"),
        ("race", ["barrier-divergence"], "", "other kind"),
        ("race", [], "", "missed"),
        ("bounds race", ["data-race"], "", "other kind"),
        ("bounds", ["out-of-bounds"], "gpuverify", "agrees"),
        ("runs", ["data-race"], "", "runs"),
    ],
)
def test_findings_are_judged_by_the_label(expect, found, suite, said):
    assert labels.judged(expect, found, suite) == said


# --- Workers ---

WORKER = """
import json, os, sys, time
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    key = json.loads(line)["key"]
    print(json.dumps({"stage": "load"}) + "\\n" + json.dumps({"found": {"ran": True, "seconds": {}}}), flush=True)
    if key == "slow":
        time.sleep(60)
    if key == "dead":
        os._exit(3)
    print(json.dumps({"stage": "trace"}) + "\\n" + json.dumps({"done": {"key": key}}), flush=True)
"""


def test_a_slow_or_dead_process_costs_one_kernel(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    orders = [workers.Order("own", key, False, False) for key in ("a", "slow", "b", "dead", "c")]
    start = time.monotonic()
    done = dict(workers.run(orders, [sys.executable, str(script)], 1, 1.0, tmp_path / "errors.txt"))
    assert time.monotonic() - start < 30
    outcomes = {order.key: outcome for order, outcome in done.items()}
    assert [outcomes[key] for key in "abc"] == [{"key": key} for key in "abc"]
    assert (outcomes["slow"]["failed"], outcomes["slow"]["error"], outcomes["slow"]["ran"]) == ("load", "slow", True)
    assert outcomes["dead"]["message"] == "the process ended with 3"


# --- Results ---


def ran(**more):
    return {"traced": True, "ran": True, "reference": "there", "seconds": {"load": 0.1, "trace": 0.2}} | more


REFUSED = {
    "failed": "load",
    "error": "KernelError",
    "message": "goto is not supported\n  at /a/b.cl:7:3",
    "seconds": {},
}
OUTCOMES = {
    "s/a:k": ran(agrees="equal"),
    "s/b:k": ran(agrees="differs", differences=["argument 1: 3 differ"]),
    "s/c:k": ran(agrees="differs", differences=["argument 1: 3 differ"], findings=["data-race"]),
    "s/d:k": REFUSED,
    "s/e:k": REFUSED | {"message": "goto is not supported\n  at /a/c.cl:9:1"},
    "s/f:k": {"failed": "check", "error": "slow", "message": "no result in 30 s", "seconds": {}},
}


def test_the_table_counts_what_became_of_the_kernels():
    (row,) = results.table({"s": OUTCOMES})
    told = dict(zip(results.HEADER, row, strict=True))
    assert [told[k] for k in ("kernels", "run", "equal", "undefined", "differs", "refused", "slow")] == list("6311121")
    assert told["under 1 s"] == "100 %"


def test_equal_failures_are_counted_together_and_the_most_frequent_first():
    assert results.failures(OUTCOMES.values()) == [
        (2, "load: KernelError: goto is not supported"),
        (1, "check: no result in N s"),
    ]


def test_reasons_by_hand_survive_a_new_page():
    first = results.page({"s": OUTCOMES}, {}, "")
    assert "| `s/b:k` | argument 1: 3 differ |  |" in first
    explained = first.replace("argument 1: 3 differ |  |", "argument 1: 3 differ | PoCL rounds otherwise |")
    again = results.page({"s": OUTCOMES | {"s/b:k": ran(agrees="differs", differences=["7 differ"])}}, {}, explained)
    assert "| `s/b:k` | 7 differ | PoCL rounds otherwise |" in again


def test_sections_by_hand_survive_a_new_page_and_others_are_written_anew():
    first = results.page({"s": OUTCOMES}, {}, "")
    own = "## Seen by reading\n\nA table:\n\n| kernel | what |\n"
    again = results.page({"s": OUTCOMES}, {}, f"{first}\n{own}\n## Labels of gone\n\n| x |\n")
    assert again == f"{first}\n{own}"
    assert results.page({"s": OUTCOMES}, {}, again) == again


def test_labels_and_speed_are_on_the_page():
    outcomes = {"s/a:k": ran(agrees="equal", judged="agrees", speed=2.0, reference_seconds=1.0), "s/b:k": REFUSED}
    page = results.page({"s": outcomes}, {"s": {"s/a:k": "race", "s/b:k": "refused"}}, "")
    assert "| race | 1 | 1 | 1 | 0 | 0 | 0 |" in page
    assert "| refused | 1 | 0 | 1 | 0 | 0 | 0 |" in page
    assert "| s | 1 | 0.5 | `a:k` 0.5 |" in page

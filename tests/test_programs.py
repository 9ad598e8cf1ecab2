"""The yardstick's parts for SYCL programs: manifests, the survey's rule, verdicts and pairs, without repositories."""

import pathlib
import sys
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))

from yardstick import pairs, program_subject, program_survey, programs, seeds, sources, verdicts
from yardstick.programs import Program, Suite

HOST = "int main() { q.parallel_for(n, k); %s }\n"


# --- Manifests ---


def test_every_manifest_is_read():
    assert {"hecbench", "llvm-sycl-tests", "oneapi-samples"} <= set(programs.names())
    for name in programs.names():
        suite = programs.read(name)
        assert suite.programs
        assert all(p.options.startswith(suite.options) for p in suite.programs)


def test_a_manifest_is_read_as_it_was_written(tmp_path):
    programs_ = (
        Program("some", "a.cpp", "-I{here} -DN=4", ("100", "1"), ("M=2",), ("b.cpp",), passes=r"\bPASS\b"),
        Program("some", "a.cpp", "-I{here}", expect="race", origin="its test", name="host", why='a "reason"'),
    )
    suite = Suite("some", "owner/some", "abc", "-I{here}", programs_)
    programs.written(suite, tmp_path)
    assert programs.read("some", tmp_path) == suite


def test_an_unknown_key_and_a_program_described_twice_are_errors(tmp_path):
    head = 'repository = "a/b"\ncommit = "c"\n'
    (tmp_path / "x.toml").write_text(head + '[[program]]\nfile = "a.cpp"\nsize = 4\n')
    with pytest.raises(ValueError, match="there is no key size"):
        programs.read("x", tmp_path)
    (tmp_path / "x.toml").write_text(head + 2 * '[[program]]\nfile = "a.cpp"\n')
    with pytest.raises(ValueError, match=r"described twice: x/a\.cpp"):
        programs.read("x", tmp_path)


# --- Sources ---


def test_constants_of_a_file_are_made_smaller_in_their_lines(tmp_path):
    file = tmp_path / "a.cpp"
    file.write_text(
        "int N = f();\n#define M 100\nconstexpr size_t N = (10 * 1024); // all\nconst int Nx = 8, Ny = 32;\n"
        "f(7000, 70000, 7000);\n"
    )
    text = program_subject.smaller(file, ("M=4", "N=8 * 8", "Ny=2", "7000=6"))
    assert (
        text
        == "int N = f();\n#define M 4\nconstexpr size_t N = 8 * 8; // all\nconst int Nx = 8, Ny = 2;\nf(6, 70000, 6);\n"
    )
    with pytest.raises(sources.MissingSource, match="defines no constant K"):
        program_subject.smaller(file, ("K=4",))


# --- The survey ---


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HOST % "", ""),
        ("int main() {}", "submits no kernel"),
        ("void f() { q.single_task(k); }", "has no main"),
        ("#include <oneapi/mkl.hpp>\n" + HOST % "", "needs oneapi/mkl"),
        (HOST % 'fopen("a.dat", "r");', "needs fopen"),
    ],
)
def test_what_is_a_program(text, reason):
    assert program_survey.unfit(text, program_survey.Plan("a/b", ())) == reason


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ('printf("%s\\n", ok ? "PASS" : "FAIL");', r"\bPASS(ED)?\b"),
        ("assert(x == 4);", "assert"),
        ("return 1;", "return"),
        ('std::cout << "ERROR";', "return"),
        ("x = 4;", ""),
    ],
)
def test_how_a_program_checks_itself(text, how):
    assert program_survey.own_check(HOST % text) == how


def test_repetitions_and_sizes_are_small(tmp_path):
    makefile = tmp_path / "Makefile"
    makefile.write_text("run: $(program)\n\t$(LAUNCHER) ./$(program) 100000000 16 1000\n")
    text = 'printf("Usage: %s <number of elements> <radius> <repeat>\\n");'
    assert program_survey.argv(text, makefile) == (str(program_survey.LARGEST), "16", "1")
    assert program_survey.argv(text, tmp_path / "none") == ()


def test_a_make_file_says_where_headers_are_and_which_files_belong_together(tmp_path):
    path = tmp_path / "main.cpp"
    path.write_text('#include "kernels.cpp"\n')
    assert (program_survey.beside(path), program_survey.others(path)) == ("", ())
    (tmp_path / "Makefile").write_text(
        "inc = ../mis\nsource = main.cpp kernels.cpp utils.cpp\nCFLAGS := -Ddfloat=double -I. -I$(inc) -Wall \\\n"
        "  -I../more\nifeq ($(DEBUG), yes)\n  CFLAGS += -DDEBUG\nendif\n"
    )
    assert program_survey.beside(path) == "-I{here}/../mis -I{here}/../more -Ddfloat=double"
    assert program_survey.others(path) == ("utils.cpp",)


# --- Verdicts ---


def outcome(text="", status=0, **more):
    return {"text": text, "status": status, "kernels": {"k": "", "l": ""}, "launched": ["k", "k"], **more}


@pytest.mark.parametrize(
    ("passes", "found", "said"),
    [
        ("PASS", outcome("PASS\n"), "right"),
        ("PASS", outcome("nothing"), "wrong"),
        ("PASS", outcome("PASS, then FAIL"), "wrong"),
        ("return", outcome(status=3), "wrong"),
        ("PASS", outcome("Skipping test"), "no check"),
        ("assert", outcome(), "right"),
        ("", outcome(), "no check"),
        ("PASS", {"failed": "run"}, ""),
    ],
)
def test_what_a_program_says_of_its_results(passes, found, said):
    program = Program("s", "a.cpp", passes=passes)
    assert verdicts.verdict(program, found) == said


def test_kernels_are_counted_once_and_by_what_became_of_them():
    program = Program("s", "a.cpp", passes="return")
    assert verdicts.kernels(program, outcome()) == {"read": 2, "run": 1, "right": 1}
    assert verdicts.kernels(program, {"kernels": {"k": ""}, "failed": "run"}) == {"read": 1}


def test_an_error_that_stops_a_program_may_be_what_its_label_means():
    program = Program("s", "a.cpp", expect="memory")
    assert verdicts.judged(program, {"error": "KernelError"}, ()) == "agrees"
    assert verdicts.judged(program, {}, ()) == "missed"


def test_test_cases_are_called_by_their_lines(tmp_path):
    path = tmp_path / "some_tests.cc"
    path.write_text('#include <x>\nTEST_CASE("a") {\n}\n\nTEST_CASE("b") {\n}\n')
    made = program_subject.calling(path, "TEST_CASE")
    assert "test_case_2();\n    test_case_5();\n    return 0;" in made


def test_a_test_case_is_known_by_the_line_that_ends_its_head():
    text = 'TEST_CASE("a",\n          "[a]") {\n}\n// TEST_CASE("b")\n'
    text += 'TEMPLATE_TEST_CASE_SIG("c", "", ((int n), n),\n 1, 2) {}\n'
    assert program_subject.begun(text, "TEST_CASE") == [2, 6]


def test_test_cases_that_submit_nothing_show_nothing():
    program = Program("some", "a.cpp", "", cases="TEST_CASE", passes="return")
    assert verdicts.verdict(program, {"status": 0, "text": "", "launched": []}) == "no check"
    assert verdicts.verdict(program, {"status": 0, "text": "", "launched": ["k"]}) == "right"


# --- Pairs ---


def test_pairs_describe_every_effect_once_and_their_arguments():
    _, every = pairs.read()
    assert len(every) >= 15
    assert len({(p.bad.file, p.bad.kernel, p.good.file, p.good.kernel, p.effect) for p in every}) == len(every)
    for pair in every:
        for name in (*pair.bad.arguments, *pair.good.arguments):
            assert pairs.argument({**pair.bad.arguments, **pair.good.arguments}, name) is not None


def test_figures_show_their_direction():
    sites = [SimpleNamespace(space="private", requests=3), SimpleNamespace(space="local", requests=5)]
    bad = SimpleNamespace(time_s=2.0, slm=SimpleNamespace(passes=16), instructions={"a": 4, "b": 1}, sites=sites)
    good = SimpleNamespace(time_s=1.0, slm=SimpleNamespace(passes=16), instructions={"a": 6}, sites=sites[1:])
    form = pairs.Form("f", "k", "", {}, ((), ()))
    wanted = ("time_s", "slm.passes", "<instructions", "sites.private.requests")
    shown = pairs.shown(pairs.Pair("e", "g", form, form, wanted), bad, good)
    assert [(a, b, right) for _, a, b, right in shown] == [(2, 1, True), (16, 16, False), (5, 6, True), (3, 0, True)]


# --- Seeds ---


def test_programs_and_fragments_are_taken_out_of_texts(tmp_path):
    line = "constexpr int N = 32; q.submit([&](auto &h) { h.parallel_for(r, [=](auto it) { int x; // why it is so for"
    line += " (int i = 0; i < 4; i++) slm[j] = 0; #pragma unroll for (;;) { } }); });"
    cell = "%%writefile lab/one.cpp\nint main() {}\n\n\nOverwriting lab/one.cpp\n"
    (tmp_path / "a.txt").write_text(f"# Title\n{cell}more\n{line}\n")
    assert seeds.programs(tmp_path) == {"one": "int main() {}\n"}
    found = seeds.fragments(tmp_path)["slm_bank_1"]
    assert "int x; // why it is so\nfor (int i = 0;" in found
    assert "\n#pragma unroll\nfor (;;)" in found
    assert found.startswith("#include <sycl/sycl.hpp>")

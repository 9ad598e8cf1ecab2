"""Holding: what the host sees of a buffer's memory, and when; errors of launches, as programs catch them."""

import pytest

import xeemu as xe

_HEAD = "#include <sycl/sycl.hpp>\n#include <cstdio>\n#include <vector>\n"
_KERNEL = """
      q.submit([&](sycl::handler &h) {
        sycl::accessor a(b, h);
        h.parallel_for(4, [=](sycl::id<1> i) { a[i] += 1; });
      });"""


def ran(body: str):
    return xe.load(f"{_HEAD}int main() {{\n sycl::queue q; std::vector<int> v(4, 5), w(4);\n{body}\n}}").run()


@pytest.mark.thorough
def test_a_buffer_has_written_back_when_it_ends():
    found = ran(f'{{ sycl::buffer b(v); {_KERNEL} }} printf("%d", v[0]);')
    assert (found.output, len(found.findings)) == ("6", 0)


def test_a_host_accessor_shows_the_buffer():
    found = ran(f"""
      sycl::buffer b(v); {_KERNEL}
      {{ sycl::host_accessor a(b); printf("%d ", a[0]); a[0] = 8; }} {_KERNEL}
      sycl::host_accessor a(b, sycl::read_only);
      printf("%d %d", a[0], v[1]);""")
    assert (found.output, len(found.findings)) == ("6 9 7", 0)


@pytest.mark.thorough
def test_the_host_cannot_see_what_a_buffer_has():
    found = ran(f"sycl::buffer b(v); {_KERNEL}\n q.wait(); return v[0];")
    (finding,) = found.findings
    assert "the host reads v while the buffer of line 6 has it, after kernel main:9 has written to it" in str(finding)
    assert "use sycl::host_accessor, or end the buffer's scope before" in str(finding)
    assert [site.line for site in finding.sites] == [6, 9, 10 + 1]


def test_the_host_may_read_what_no_command_has_written():
    assert not ran(f"sycl::buffer b(v); int x = v[0]; {_KERNEL}\n return x - 5;").findings


@pytest.mark.thorough
def test_what_the_host_writes_behind_a_buffer_is_found():
    (finding,) = ran(f"sycl::buffer b(v); v[0] = 3; {_KERNEL}").findings
    assert "the host writes v while the buffer of line 6 has it" in str(finding)


def test_the_last_copy_of_a_buffer_writes_back():
    held = f"std::vector<sycl::buffer<int>> l; {{ sycl::buffer<int> b(v); l.push_back(b); {_KERNEL} }}"
    assert len(ran(f"{held} int x = v[0];").findings) == 1
    assert not ran(f"{held} l.clear(); int x = v[0];").findings


def test_a_buffer_writes_where_it_is_told_to():
    found = ran(f"""
      {{ sycl::buffer b(v); b.set_final_data(w.data()); {_KERNEL} }}
      {{ sycl::buffer b(v); b.set_write_back(false); {_KERNEL} }}
      printf("%d %d", v[0], w[0]);""")
    assert (found.output, len(found.findings)) == ("5 6", 0)


def test_a_command_waits_for_the_end_of_a_host_accessor():
    with pytest.raises(xe.Error, match=r"waits for the end of the host accessor of line 7; end that accessor's scope"):
        ran(f"sycl::buffer b(v);\n sycl::host_accessor a(b); {_KERNEL}\n q.wait();")
    (finding,) = ran(f"sycl::buffer b(v);\n sycl::host_accessor a(b); {_KERNEL}\n return a[0];").findings
    assert "the host reads v by the host accessor of line 7, after kernel main:10 has been submitted" in str(finding)
    assert not ran(f"sycl::buffer b(v);\n {{ sycl::host_accessor a(b); }} {_KERNEL}\n q.wait();").findings


_DIVIDED = "q.parallel_for(sycl::nd_range<1>(64, 48), [=](sycl::nd_item<1> i) { p[i.get_global_id()] = 1; });"
_MEMORY = "int *p = sycl::malloc_shared<int>(64, q);"


def test_launches_that_break_a_rule_throw_what_the_program_catches():
    found = ran(f"""{_MEMORY}
      try {{ {_DIVIDED} }}
      catch (const sycl::exception &e) {{
        printf("%d %d|%.26s|", e.code() == sycl::errc::nd_range, e.code() == sycl::errc::invalid, e.what());
      }}
      try {{ {_DIVIDED} }} catch (const std::exception &e) {{ printf("%.26s", e.what()); }}""")
    assert found.output == "1 0|the global size 64 is not |the global size 64 is not "


@pytest.mark.parametrize("tried", ["{}", "try {{ {} }} catch (int) {{ }}"])
def test_they_are_errors_where_it_does_not(tried):
    with pytest.raises(xe.Error, match="the global size 64 is not divisible by the local size 48") as caught:
        ran(_MEMORY + tried.format(_DIVIDED))
    assert caught.value.code == "nd_range"


def test_a_launch_that_the_program_catches_the_error_of_is_none():
    text = """#include <sycl/sycl.hpp>
#include <cstdio>
int main() {
  sycl::queue q;
  int *d = sycl::malloc_shared<int>(1024, q);
  try {
    q.parallel_for(sycl::nd_range<1>(1024, 100), [=](sycl::nd_item<1> it) { d[it.get_global_id(0)] = 1; });
  } catch (const sycl::exception &e) {
    std::puts("caught");
  }
  int *same = d;
}"""
    result = xe.load(text).run()
    assert result.output == "caught\n"
    assert result.submissions == ()
    assert result.arrays["same"] is result.arrays["d"]
    assert "array d: int32[1024]" in str(result)
    assert "same" not in str(result)

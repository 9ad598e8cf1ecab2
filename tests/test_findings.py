"""What a finding says, word by word, and what it holds."""

import dataclasses
import inspect
import json
import os

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import xeemu as xe
from xeemu.faults import checking, exchange
from xeemu.faults.baseline import Baseline, Subject
from xeemu.faults.findings import Findings
from xeemu.language import separation


def line(kernel, mark):
    """The place and text of a kernel's line with a mark, as messages show them."""
    lines, first = inspect.getsourcelines(kernel.function)
    number = next(n for n, text in enumerate(lines, first) if text.rstrip().endswith(f"# {mark}"))
    return f"{os.path.relpath(__file__)}:{number}: {lines[number - first].strip()}"


def number(kernel, mark):
    return int(line(kernel, mark).split(":")[1])


def only(kernel, nd_range, *arguments, **static):
    _, findings = xe.check(kernel, nd_range)(*arguments, **static)
    (finding,) = findings
    return finding


N = xe.NDRange(128, 64)
OUT = np.zeros(128, np.int32)


@xe.kernel(sub_group_size=16)
def swap(wg, out, *, distance=63):
    lid = wg.local_id()
    tile = wg.local(64, jnp.int32)
    tile = tile.at[lid].set(lid)  # write
    other = tile[lid ^ distance]  # read
    return out.at[wg.global_id()].set(other)


def test_a_race_across_sub_groups():
    finding = only(swap, N, OUT)
    assert (
        str(finding)
        == f"""\
error: data-race between sub-groups of a work-group on local memory tile[63], before any barrier (128 times)
  store {line(swap, "write")}
    by work-item 63: local 63 of group 0, sub-group 3
  load {line(swap, "read")}
    by work-item 0: local 0 of group 0, sub-group 0
  No barrier orders the two. All are between sub-groups, which run at their own pace.
  Write tile = wg.barrier(tile) after line {number(swap, "write")} and before line {number(swap, "read")}."""
    )


@pytest.mark.thorough
def test_a_race_inside_a_sub_group():
    finding = only(swap, N, OUT, distance=1)
    assert (
        str(finding)
        == f"""\
error: data-race between work-items of one sub-group on local memory tile[1], before any barrier (128 times)
  store {line(swap, "write")}
    by work-item 1: local 1 of group 0, sub-group 0
  load {line(swap, "read")}
    by work-item 0: local 0 of group 0, sub-group 0
  No barrier orders the two. All are inside one sub-group: right only in lockstep, at sub-group size
  16.
  Write tile = wg.barrier(tile) after line {number(swap, "write")} and before line {number(swap, "read")}."""
    )


def test_what_a_finding_holds():
    finding = only(swap, N, OUT)
    assert (finding.kind, finding.severity, finding.space, finding.memory) == ("data-race", "error", "local", "tile")
    assert [site.line for site in finding.sites] == [number(swap, "write"), number(swap, "read")]
    assert finding.address == (63,)
    assert finding.groups == ((0,),)
    assert finding.work_items == (xe.WorkItem((63,), (63,), (0,), 3), xe.WorkItem((0,), (0,), (0,), 0))
    assert finding.count == 128
    assert hash(finding) == hash(only(swap, N, OUT))


@xe.kernel
def turns(wg, out):
    lid = wg.local_id()
    tile = wg.local(64, jnp.int32)

    def turn(k, carry):
        tile, x = carry
        tile = tile.at[lid].set(x + k)  # write
        tile = wg.barrier(tile)
        return tile, tile[63 - lid]  # read

    tile, x = lax.fori_loop(0, 4, turn, (tile, lid))
    return out.at[wg.global_id()].set(x)


@pytest.mark.thorough
def test_a_race_between_two_turns_of_a_loop():
    finding = only(turns, N, OUT)
    assert str(finding).splitlines() == [
        "error: data-race between sub-groups of a work-group on local memory tile[0], after 1 barrier (384 times)",
        f"  load {line(turns, 'read')}",
        "    by work-item 63: local 63 of group 0, sub-group 1",
        f"  store {line(turns, 'write')}",
        "    by work-item 0: local 0 of group 0, sub-group 0",
        "  No barrier orders the two. All are between sub-groups, which run at their own pace.",
        f"  Write tile = wg.barrier(tile) at the end of the loop, after line {number(turns, 'read')}.",
    ]


@xe.kernel
def put(wg, tile, index, value):
    return tile.at[index].set(value)  # put


@xe.kernel
def turned(wg, tile):
    return tile[63 - wg.local_id()]  # turned


@xe.kernel
def called_twice(wg, out):
    """A race between the first call of one function and the second of another, which lies above it."""
    tile, lid = wg.local(64, jnp.int32), wg.local_id()
    tile = wg.barrier(put(wg, tile, lid, 0))
    first = turned(wg, tile)  # call
    tile = put(wg, tile, lid, 1)  # called
    tile = wg.barrier(tile)
    return out.at[wg.global_id()].set(first + turned(wg, tile))


@xe.kernel
def called_in_a_loop(wg, out):
    tile, lid = wg.local(64, jnp.int32), wg.local_id()
    for k in range(3):
        tile = wg.barrier(put(wg, tile, lid, k))
        out = out.at[wg.global_id()].set(turned(wg, tile))
    return out


@xe.kernel
def put_twice(wg, out):
    tile, lid = wg.local(65, jnp.int32), wg.local_id()
    tile = put(wg, tile, lid, lid)  # one
    tile = put(wg, tile, lid + 1, lid)  # other
    tile = wg.barrier(tile)
    return out.at[wg.global_id()].set(tile[lid])


@pytest.mark.thorough
def test_a_race_between_functions_that_are_called_twice():
    lines = [number(called_twice, mark) for mark in ("call", "called")]
    assert advice(called_twice) == f"  Write tile = wg.barrier(tile) after line {lines[0]} and before line {lines[1]}."
    end = f"  Write tile = wg.barrier(tile) at the end of the loop, after line {number(turned, 'turned')}."
    assert advice(called_in_a_loop) == end
    lines = [number(put_twice, mark) for mark in ("one", "other")]
    between = f"the calls at lines {lines[0]} and {lines[1]}, write tile = wg.barrier(tile) between them."
    assert advice(put_twice).endswith(between)


def advice(kernel):
    return str(only(kernel, N, OUT)).splitlines()[-1]


@xe.kernel
def total(wg, x):
    return x.at[0].set(x[1] + wg.group_id())  # both


def test_a_race_between_work_groups():
    finding = only(total, xe.NDRange(2, 1), OUT)
    assert (
        str(finding)
        == f"""\
error: data-race between work-groups on global memory x[0] (2 times)
  store {line(total, "both")}
    by work-item 1: local 0 of group 1, sub-group 0
  store {line(total, "both")}
    by work-item 0: local 0 of group 0, sub-group 0
  Nothing orders the work-groups of a launch.
  Use atomic operations, x.atomic[...], give each work-group elements of its own, or split the
  launch: what one launch writes, the next may read."""
    )


def test_a_race_between_the_work_items_of_a_plain_range():
    lines = str(only(total, xe.NDRange(512), OUT)).splitlines()
    assert lines[0] == "error: data-race between work-items on global memory x[0] (512 times)"
    assert lines[-3] == "  Nothing orders the work-items of a launch."


def test_a_race_in_a_plain_range_of_one_group():
    lines = str(only(flags_and_sums, xe.NDRange(64), OUT)).splitlines()
    assert lines[0] == "error: data-race between work-items on global memory x[0] (64 times)"
    assert lines[-3] == "  Nothing orders the work-items of a launch."
    assert not any("wg.barrier" in line for line in lines)


@xe.kernel
def flags_and_sums(wg, x):
    return x.at[0].set(x[wg.global_id() + 1] + wg.global_id())


@xe.kernel
def narrow(wg, x):
    return x.atomic(scope="work_group")[0].add(1)  # add


@pytest.mark.thorough
def test_a_scope_that_is_too_narrow():
    finding = only(narrow, N, OUT)
    assert (
        str(finding)
        == f"""\
error: data-race between work-groups on global memory x[0] (128 times)
  atomic add of scope work_group {line(narrow, "add")}
    by work-item 127: local 63 of group 1, sub-group 1
  atomic add of scope work_group {line(narrow, "add")}
    by work-item 0: local 0 of group 0, sub-group 0
  Both are atomic, but their scope does not hold both work-items.
  Widen it: x.atomic(scope="device")[...]."""
    )


@xe.kernel
def flags(wg, x):
    return x.at[5].set(1)  # store


@pytest.mark.thorough
def test_stores_of_one_value():
    finding = only(flags, xe.NDRange(64, 64), OUT)
    assert finding.severity == "note"
    assert str(finding).splitlines()[0] == (
        "note: data-race between sub-groups of a work-group on global memory x[5], before any barrier (64 times)"
    )
    assert str(finding).splitlines()[5:] == [
        "  All store the same value and nobody reads it in between, so that the result is the same; the",
        "  language calls it a race nevertheless.",
        "  Let one work-item store, where=wg.local_linear_id() == 0, or each its own part.",
    ]


@xe.kernel
def halo(wg, x, out):
    lid = wg.local_id()
    tile = wg.local((3, 22), jnp.int32, name="halo")
    tile = tile.at[lid // 22 % 3, lid % 22].set(x[wg.global_id()], where=lid < 60)
    tile = wg.barrier(tile)
    return out.at[wg.global_id()].set(tile[2, 21 - lid % 8])  # read


def test_an_uninitialised_read():
    finding = only(halo, N, OUT, OUT)
    assert (
        str(finding)
        == f"""\
error: uninitialized-read: load of local memory halo[2, 21], which nothing was stored to before (96 times)
  load {line(halo, "read")}
    by work-item 0: local 0 of group 0, sub-group 0
  By then the work-group had written 60 of 66 elements of halo, the first at [0, 0], the last at [2,
  15].
  Store to every element before it is read, as by halo = halo.at[...].set(0), with a barrier in
  between."""
    )


@xe.kernel
def indirect(wg, out):
    lid = wg.local_id()
    tile, own = wg.local(64, jnp.int32), wg.private(64, jnp.int32)
    at = tile[lid]
    return out.at[wg.global_id()].set(own.load(0, where=at == 0))  # use


def test_what_an_uninitialised_read_hides_is_told():
    """Of `own` nothing is read as long as no element of `tile` is 0."""
    text = " ".join(str(only(indirect, N, OUT)).split())
    assert (
        f"Nothing of tile was written by then. What line {number(indirect, 'use')} accesses depends on the value: "
        "check again once it is mended, for more may be wrong there." in text
    )


@xe.kernel
def gather(wg, x, places, out):
    return out.at[wg.global_id()].set(x[places[wg.global_id()]])  # read


def test_bytes_of_arguments_that_nobody_has_written():
    places = np.random.default_rng(0).integers(128, size=128, dtype=np.int32)
    unset = np.arange(512) % 7 == 0  # of the bytes of x, some of an element's or none
    _, (finding,) = xe.check(gather, N, unset={"x": unset})(OUT, places, OUT)
    of_elements = unset.reshape(128, 4).any(1)
    assert finding.count == of_elements[places].sum() > 0
    assert (finding.kind, finding.space, finding.memory) == ("uninitialized-read", "global", "x")
    first = int(np.flatnonzero(of_elements[places])[0])
    assert (finding.address, finding.work_items[0].global_id) == ((int(places[first]),), (first,))
    assert "Write x before the launch" in str(finding)
    assert xe.check(gather, N, unset={"x": unset & False})(OUT, places, OUT)[1] == ()


@pytest.mark.parametrize(
    ("unset", "told"),
    [
        ({"place": np.ones(512, bool)}, r"unset names 'place', which kernel gather does not take.*places"),
        ([True], "unset is a list; give a dict from names of arrays"),
        ({"x": np.ones(128, bool)}, "unset has 128 of bool for x, which has 512 bytes; give a bool for each"),
    ],
)
def test_what_names_no_bytes_is_refused(unset, told):
    with pytest.raises(xe.KernelArgumentError, match=told):
        xe.check(gather, N, unset=unset)(OUT, OUT, OUT)


@xe.kernel
def shift(wg, x, out):
    i = wg.global_id()
    return out.at[i].set(x[i + 1, i - i])  # read


def test_an_access_out_of_bounds():
    finding = only(shift, N, np.zeros((128, 2), np.int32), OUT)
    assert (
        str(finding)
        == f"""\
error: out-of-bounds load of global memory x[128, 0]
  load {line(shift, "read")}
    by work-item 127: local 63 of group 1, sub-group 1
  Valid is 0 to 127 and 0 to 1; such a load gives the poison value here, and is undefined on
  hardware.
  Mask the access, where=(i + 1 >= 0) & (i + 1 < 128), or make x larger."""
    )


@xe.kernel
def early(wg, x):
    return wg.barrier(x, where=wg.global_id() < 100)  # barrier


def test_a_barrier_that_some_do_not_reach():
    finding = only(early, N, OUT)
    assert (
        str(finding)
        == f"""\
error: barrier-divergence: 36 of 64 work-items of group 1 reach a barrier
  barrier {line(early, "barrier")}
    reached by work-item 64: local 0 of group 1, sub-group 0
    not by work-item 100: local 36 of group 1, sub-group 1
  On hardware the others wait for ever, or leave together with those at another barrier.
  Let all work-items of the group come to one barrier, and mask the accesses around it with where=
  instead."""
    )


@xe.kernel(sub_group_size=16)
def apart(wg, x):
    tile = wg.local(24, jnp.int32).at[wg.local_id()].set(1)

    def then(tile):
        return wg.sub_group.barrier(tile)  # barrier

    return x.at[wg.global_id()].set(wg.cond(wg.local_id() < 20, then, lambda tile: tile, tile)[wg.local_id()])


def test_a_barrier_of_sub_groups_that_some_lanes_do_not_reach():
    finding = only(apart, xe.NDRange(48, 24), jnp.zeros(48, jnp.int32))
    assert (
        str(finding)
        == f"""\
error: barrier-divergence: 4 of 8 work-items of sub-group 1 of group 0 reach a barrier of sub-groups (2 times)
  barrier of sub-groups {line(apart, "barrier")}
    reached by work-item 16: local 16 of group 0, sub-group 1
    not by work-item 20: local 20 of group 0, sub-group 1
  All work-items of a sub-group come to its barriers, or none does: else the result is undefined.
  Let all work-items of the sub-group come to it, and mask the accesses around it with where=
  instead."""
    )


@xe.kernel
def fence(wg, out):
    lid = wg.local_id()
    a, b = wg.local(64, jnp.int32, name="a"), wg.local(64, jnp.int32, name="b")
    a = a.at[lid].set(lid)
    b = b.at[lid].set(lid)  # write
    a = wg.barrier(a)  # barrier
    return out.at[wg.global_id()].set(a[63 - lid] + b[63 - lid])  # read


@pytest.mark.thorough
def test_a_barrier_of_another_memory():
    finding = only(fence, N, OUT)
    shown, reasons = str(finding).splitlines()[:5], " ".join(" ".join(str(finding).splitlines()[5:]).split())
    assert shown == [
        "error: wrong-fence between sub-groups of a work-group on local memory b[63], after 1 barrier (128 times)",
        f"  store {line(fence, 'write')}",
        "    by work-item 63: local 63 of group 0, sub-group 1",
        f"  load {line(fence, 'read')}",
        "    by work-item 0: local 0 of group 0, sub-group 0",
    ]
    assert reasons == (
        f"A barrier lies between, but none that was given b (line {number(fence, 'barrier')}). It orders a: the other "
        "accesses need not have reached memory. Give it the memory as well: a, b = wg.barrier(a, b)."
    )


@xe.kernel
def roll(wg, x):
    i = wg.global_id()
    return x.at[i].set(jnp.flip(x[i]))  # flip


def test_an_operation_that_mixes_work_items():
    finding = only(roll, xe.NDRange(64, 64), OUT)
    assert (
        str(finding)
        == f"""\
note: cross-item: flip mixes the values of work-items
  {line(roll, "flip")}
  A work-item has no access to another's registers, so this has no counterpart on hardware.
  Use a group algorithm (wg.reduce, wg.inclusive_scan, wg.broadcast), a sub-group's (shift_left,
  permute_xor, select), or local memory with a barrier."""
    )


# --- All findings of a check ---


@xe.kernel
def both(wg, x, out):
    i = wg.global_id()
    out = out.at[0].set(1)
    return out.at[i + 1].set(x[i])


def test_errors_come_first_and_are_told_apart():
    _, findings = xe.check(both, xe.NDRange(64, 64))(OUT, np.zeros(64, np.int32))
    assert [f.kind for f in findings] == ["out-of-bounds", "data-race"]
    assert [f.kind for f in findings.errors] == ["out-of-bounds"]
    assert str(findings) == f"{findings[0]}\n\n{findings[1]}"


def test_no_findings():
    _, findings = xe.check(total, xe.NDRange(1, 1))(OUT)
    assert findings == ()
    assert str(findings) == "no findings"


def test_what_was_proved_and_what_was_watched():
    index = np.arange(128, dtype=np.int32)[::-1].copy()

    @xe.kernel
    def gather(wg, x, index, out):
        i = wg.global_id()
        j = index[i]  # known
        y = x[j]  # data
        return out.at[i].set(y)  # known too

    _, findings = xe.check(gather, N)(OUT, index, OUT)
    assert not findings
    assert [site.line for site in findings.watched] == [number(gather, "data")]
    assert [site.line for site in findings.proved] == [number(gather, "known"), number(gather, "known too")]


def test_findings_as_data():
    _, findings = xe.check(swap, N)(OUT)
    plain = json.loads(json.dumps(findings.to_dict()))
    assert plain["findings"][0]["text"] == str(findings[0])
    assert plain["findings"][0]["work_items"][0]["sub_group"] == 3
    assert [site["line"] for site in plain["watched"]] == [number(swap, "write"), number(swap, "read")]


# --- Loops without an end, and wrong arguments ---


@xe.kernel
def endless(wg, x, out):
    def step(carry):
        n, x = carry
        return n + x[0], x

    n, _ = lax.while_loop(lambda carry: carry[0] < 10, step, (0, x))  # loop
    return out.at[wg.global_id()].set(n)


def test_a_loop_that_does_not_end_is_given_up():
    assert xe.check(endless, N)(np.ones(128, np.int32), OUT)[1] == ()
    with pytest.raises(xe.KernelError, match="a loop has not ended after 1000 iterations") as error:
        xe.check(endless, N, max_iterations=1000)(OUT, OUT)
    assert str(error.value).endswith(f"at {line(endless, 'loop')}")


@pytest.mark.parametrize("wrong", [0, -1, 2**31, 1.5, "many", True, None])
def test_a_wrong_number_of_iterations(wrong):
    with pytest.raises(xe.KernelArgumentError, match="max_iterations is"):
        xe.check(endless, N, max_iterations=wrong)
    xe.check(endless, N, max_iterations=np.int64(8))


# --- What a project accepts, and what other tools read ---


@xe.kernel(sub_group_size=16)
def flag(wg, values, out):
    word = wg.local(1, jnp.int32)
    word = word.at[0].set(values[wg.global_id()])
    word = wg.barrier(word)
    return out.at[wg.global_id()].set(word[0])


def test_what_is_accepted_as_a_note_is_not_as_an_error(tmp_path):
    same, others = OUT, np.arange(128, dtype=np.int32)
    (note, error) = (xe.check(flag, N)(values, OUT)[1] for values in (same, others))
    assert ([f.severity for f in note], [f.severity for f in error]) == (["note"], ["error"])
    Baseline.of(note, Subject("flag")).save(tmp_path / "notes.json")
    notes, errors = Baseline.load(tmp_path / "notes.json"), Baseline.of(error, Subject("flag"))
    assert (notes.remaining(note, Subject("flag")), notes.remaining(error, Subject("flag"))) == ((), error)
    assert (errors.remaining(note, Subject("flag")), errors.remaining(error, Subject("flag"))) == ((), ())


def test_a_baseline_accepts_as_many_of_a_kernel_as_there_were(tmp_path):
    (finding,) = only_one = xe.check(flag, N)(OUT, OUT)[1]
    lower = dataclasses.replace(finding, sites=tuple(dataclasses.replace(s, line=s.line + 9) for s in finding.sites))
    two = Findings([finding, lower])
    path = tmp_path / "accepted.json"
    Baseline.of(only_one, Subject("flag")).save_into(path, Subject("flag"))
    once = Baseline.load(path)
    assert (once.knows(lower, Subject("flag")), once.knows(lower, Subject("another"))) == (True, False)
    assert (once.remaining(two, Subject("flag")), once.remaining(only_one, Subject("another"))) == (two, only_one)
    Baseline.of(two, Subject("another")).save_into(path, Subject("another"))
    both = Baseline.load(path)
    assert [both.remaining(two, kernel) for kernel in map(Subject, ("flag", "another", "third"))] == [two, (), two]
    Baseline.of((), Subject("another")).save_into(path, Subject("another"))
    assert Baseline.load(path) == once


def test_kernels_of_one_factory_are_told_apart_by_what_it_has_given_them(tmp_path):
    def made(factor, where):
        @xe.kernel
        def scale(wg, x):
            return x.at[where].set(x[wg.global_id()] * factor)

        return scale

    subjects = [Subject.of(made(factor, None), {}, tmp_path / "b.json") for factor in (2, 3)]
    assert [subject.static for subject in subjects] == ["factor=2", "factor=3"]
    assert "scale, factor=2 at" in repr(made(2, None))
    reports = [xe.estimate(made(factor, 0), N)(OUT.astype(np.float32)) for factor in (3, 5)]
    assert [row.figure for row in reports[1].diff(reports[0])] == ["static.factor"]


def test_kernels_of_one_name_are_told_apart_by_file_and_static_parameters(tmp_path):
    findings = xe.check(flag, N)(OUT, OUT)[1]
    path = tmp_path / "accepted.json"
    first, second, third = Subject("flag", "a.py"), Subject("flag", "b.py"), Subject("flag", "a.py", "n=2")
    for subject in (first, third):
        Baseline.of(findings, subject).save_into(path, subject)
    Baseline.of((), second).save_into(path, second)
    accepting = Baseline.load(path)
    assert [accepting.remaining(findings, s) for s in (first, third)] == [(), ()]
    assert accepting.remaining(findings, Subject("flag", "moved.py")) == ()
    assert accepting.remaining(findings, Subject("flag", "a.py", "n=3")) == findings


def test_a_baseline_of_before_kernels_and_counts_accepts_as_it_did(tmp_path):
    (finding,) = xe.check(flag, N)(OUT, OUT)[1]
    sources = [site.source for site in finding.sites]
    entry = {"kind": finding.kind, "memory": finding.memory, "severity": "note", "sources": sources}
    path = tmp_path / "old.json"
    path.write_text(json.dumps({"xeemu baseline": 1, "accepted": [entry]}))
    old = Baseline.load(path)
    assert old.is_dated
    assert old.remaining(Findings([finding, finding]), Subject("any")) == ()
    path.write_text(json.dumps({"xeemu baseline": 1, "accepted": [{**entry, "count": 0}]}))
    with pytest.raises(xe.KernelArgumentError, match=r"has the count 0, not a number from 1"):
        Baseline.load(path)


def test_files_of_sarif_are_references(tmp_path, monkeypatch):
    (finding,) = xe.check(flag, N)(OUT, OUT)[1]
    site = dataclasses.replace(finding.sites[0], file=str(tmp_path / "my kernel #1.py"))
    moved = dataclasses.replace(finding, sites=(site, *finding.sites[1:]))

    def uri():
        (run,) = exchange.sarif([moved], "1")["runs"]
        return run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]

    assert uri() == (tmp_path / "my kernel #1.py").as_uri()
    monkeypatch.chdir(tmp_path)
    assert uri() == "my%20kernel%20%231.py"


# --- Advice ---


@xe.kernel
def everywhere(wg, x):
    return x.at[0].set(3)


@pytest.mark.thorough
def test_work_groups_that_store_one_value_are_told_to_let_one_do_it():
    assert "where=wg.global_linear_id() == 0" in str(only(everywhere, N, OUT))


def helper(tile, i):
    return tile[i]


@xe.kernel
def with_a_helper(wg, x):
    lid = wg.local_id()
    tile = wg.local(64, jnp.int32)
    tile = tile.at[lid].set(lid)  # write
    return x.at[wg.global_id()].set(helper(tile, 63 - lid))


@pytest.mark.thorough
def test_lines_are_put_in_the_order_of_the_program():
    finding = only(with_a_helper, N, OUT)
    (read,) = {site.line for site in finding.sites} - {number(with_a_helper, "write")}
    assert f"after line {number(with_a_helper, 'write')} and before line {read}." in str(finding)


@xe.kernel
def halved(wg, x):
    lid = wg.local_id()
    return x.at[lid].set(x[lid + 64] + 1, where=lid < 32)


def test_a_load_in_a_masked_store_is_told_that_the_mask_does_not_hold_for_it():
    finding = only(halved, xe.NDRange(64, 64), np.zeros(96, np.int32))
    told = " ".join(str(finding).split())
    assert "The mask of .set(...) in this line does not hold for this load: " in told
    assert "write x.load(lid + 64, where=lid < 32) for x[lid + 64], or make x larger." in told


@xe.kernel
def neighbours_added(wg, x):
    """Adds up over lanes by ordinary JAX, which is found without a run."""
    lid = wg.local_id()
    return x.at[wg.global_id()].set(lid + jnp.roll(lid, 1))


def test_what_follows_from_the_program_is_found_once(monkeypatch):
    checked = xe.check(neighbours_added, N)
    first = checked(OUT)[1]
    assert [finding.kind for finding in first] == ["cross-item"]
    monkeypatch.setattr(separation, "of_program", lambda *_: pytest.fail("looked at again"))
    assert checked(OUT + 1)[1] == first


def index_kernels():
    """Kernels that load beyond x, with the index that advice on it names."""

    @xe.kernel
    def shifted(wg, x, out):
        i = wg.global_id()
        return out.at[i].set(x[i + 1])

    @xe.kernel
    def stored(wg, x, out):
        return out.at[wg.global_id() + 1].set(x[0])

    @xe.kernel
    def masked(wg, x, out):
        i = wg.global_id()
        return out.at[i].set(x.load(i ^ 128, where=i > 2))

    @xe.kernel
    def added(wg, x, out):
        i = wg.global_id()
        return out.atomic(scope="device")[i * 2].add(x[i])

    @xe.kernel
    def two(wg, x, out):
        i = wg.global_id()
        return out.at[i].set(x[i] + x[i + 1])

    @xe.kernel
    def moved(wg, x, out):
        i = wg.global_id()
        return x.at[i].set(x[i + 2])

    return {
        "i + 1": shifted,
        "i + 2": moved,
        "wg.global_id() + 1": stored,
        "(i ^ 128)": masked,
        "i * 2": added,
        "index": two,
    }


@pytest.mark.parametrize("index", index_kernels())
def test_advice_on_an_access_out_of_bounds_names_its_own_index(index):
    _, findings = xe.check(index_kernels()[index], N)(OUT, OUT.copy())
    (finding,) = (f for f in findings if f.kind == "out-of-bounds")
    assert f"where=({index} >= 0) & ({index} < 128)" in " ".join(str(finding).split())


def test_a_loop_that_is_given_up_and_waits_for_others_says_so():
    @xe.kernel
    def locked(wg, lock, x):
        def again(carry):
            old, lock = carry[1].atomic[0].exchange(1, where=carry[0] != 0)
            return jnp.where(carry[0] != 0, old, 0), lock

        _, lock = wg.while_loop(lambda carry: carry[0] != 0, again, (jnp.ones(4, jnp.int32), lock))
        return lock, x.at[wg.global_id()].set(1)

    with pytest.raises(xe.KernelError) as caught:
        xe.check(locked, xe.NDRange(4, 4), max_iterations=100)(np.zeros(1, np.int32), OUT)
    text = str(caught.value)
    assert "in lockstep it cannot end where work-items of one sub-group wait for each other" in text
    assert "note: forward-progress: a loop waits for what other work-items write" in text


def missing_barrier_kernels():
    """Kernels that lack one barrier, or two, with the line after which one would order all, if one does."""

    @xe.kernel
    def sorted_pairs(wg, x, out):
        lid = wg.local_id()
        t = wg.local(128, jnp.int32)
        t = t.at[lid].set(x[lid])
        t = wg.barrier(t.at[lid + 64].set(x[lid + 64]))
        for j in (32, 16, 8):
            a = lid // j * 2 * j + lid % j
            p, q = t[a], t[a + j]
            t = t.at[a].set(jnp.minimum(p, q))
            t = t.at[a + j].set(jnp.maximum(p, q))  # after
        return out.at[lid].set(t[lid])

    @xe.kernel
    def in_a_loop(wg, x, out):
        lid = wg.local_id()
        t = wg.local(128, jnp.int32)
        t = t.at[lid].set(x[lid])
        t = wg.barrier(t.at[lid + 64].set(x[lid + 64]))

        def turn(k, t):
            p = t[(lid + 32) % 64] + t[(lid + 32) % 64 + 64]
            t = wg.barrier(t)
            t = t.at[lid].set(p)
            return t.at[lid + 64].set(p + 1)  # after

        t = lax.fori_loop(0, 3, turn, t)
        return out.at[lid].set(t[127 - lid])

    @xe.kernel
    def two_places(wg, x, out):
        lid = wg.local_id()
        t = wg.local(64, jnp.int32)
        t = t.at[lid].set(x[lid])
        p = t[63 - lid]
        t = t.at[lid].set(p + 1)
        return out.at[lid].set(t[63 - lid])

    return {"unrolled": sorted_pairs, "loop": in_a_loop, "two": two_places}


@pytest.mark.parametrize("name", ["unrolled", "loop"])
def test_what_one_barrier_would_mend_is_one_finding_with_all_lines(name):
    kernel = missing_barrier_kernels()[name]
    _, findings = xe.check(kernel, xe.NDRange(64, 64))(np.arange(128, dtype=np.int32), OUT)
    (finding,) = findings
    assert len(finding.others) > 0
    assert finding.lines[:2] == finding.sites
    text = " ".join(str(finding).split())
    assert f"Write t = wg.barrier(t) after line {number(kernel, 'after')}: it orders all of these." in text
    pairs = [sorted(site.line for site in pair) for pair in finding.others]
    named = [f"lines {a} and {b}" if a != b else f"line {a} with itself" for a, b in pairs]
    assert sum(name in text for name in named) == min(len(named), 3)
    assert xe.check(kernel, xe.NDRange(64, 64))(np.arange(128, dtype=np.int32), OUT)[1] == findings
    related = exchange.sarif([finding], "0")["runs"][0]["results"][0]["relatedLocations"]
    assert len(related) == len(finding.lines) - 1


@pytest.mark.thorough
def test_a_loop_on_one_line_is_told_to_end_its_turns_with_a_barrier():
    def tree(wg, x, out, *, whole):
        lid = wg.local_id()
        t = wg.barrier(wg.local(64, jnp.int32).at[lid].set(x[lid]))
        for s in (32, 16, 8):
            t = t.at[lid].set(t[lid] + t.load(lid + s, where=lid < s), where=lid < s)  # after
        if whole:
            return out.at[wg.group_id()].set(t[0], where=lid == 0)
        return out.at[lid].set(t[lid])

    kernel = xe.kernel(tree)
    after = f"after line {number(kernel, 'after')}"
    for whole, advice in ((True, f"{after}: it orders all of these."), (False, f"of the loop, {after}.")):
        finding = xe.check(kernel, xe.NDRange(64, 64))(OUT, OUT, whole=whole)[1][0]
        assert advice in " ".join(str(finding).split())
        assert "Write t = wg.barrier(t)" in " ".join(str(finding).split())


@pytest.mark.thorough
def test_advice_on_floats_of_opencl_names_what_there_is_for_them():
    pytest.importorskip("clang")
    text = """kernel void f(global float *x) { x[0] += 1; }
kernel void g(global int *x) { x[0] += 1; }
kernel void h(global int *x) { local int total; if (get_local_id(0) == 1) total += x[0];
  barrier(CLK_LOCAL_MEM_FENCE); x[get_global_id(0)] = total; }"""
    kernels, nd_range = xe.load(text), xe.NDRange(64, 32)
    told = {}
    for name, x in (("f", np.zeros(64, np.float32)), ("g", OUT[:64])):
        told[name] = " ".join(str(xe.check(kernels[name], nd_range)(x)[1][0]).split())
    assert "atomic_cmpxchg in a loop, on as_int of the floats of x" in told["f"]
    assert "atomic_add(&x[...], ...) or another" in told["g"]
    findings = xe.check(kernels["h"], nd_range)(OUT[:64])[1]
    (unset,) = (" ".join(str(f).split()) for f in findings if f.kind == "uninitialized-read")
    assert "load of local memory total, which" in unset
    assert "Have one work-item store to total before it is read, as by total = 0, with a barrier" in unset


def test_findings_that_need_two_barriers_name_each_its_own():
    _, findings = xe.check(missing_barrier_kernels()["two"], xe.NDRange(64, 64))(OUT, OUT)
    assert len({str(finding).splitlines()[-1] for finding in findings}) > 1


@pytest.mark.thorough
def test_findings_come_in_one_order():
    kernel = missing_barrier_kernels()["unrolled"]
    run = xe.check(kernel, xe.NDRange(64, 64))
    texts = []
    for _ in range(2):
        checking._checked.cache_clear()
        _, findings = run(np.arange(128, dtype=np.int32), OUT)
        texts.append([str(finding) for finding in findings])
    assert texts[0] == texts[1]
    found = [dataclasses.replace(findings[0], kind=kind) for kind in ("data-race", "out-of-bounds")]
    found += [dataclasses.replace(found[0], sites=(site,)) for site in sorted(findings[0].sites, key=lambda s: s.line)]
    ordered = Findings([dataclasses.replace(found[0], severity="note"), *found])
    assert ordered == Findings(reversed(ordered))
    assert [f.severity for f in ordered] == ["error"] * 4 + ["note"]
    assert [f.kind for f in ordered[:4]] == ["data-race"] * 3 + ["out-of-bounds"]

"""Float sums by atomic operations: found where they depend on the order, silent where it is certain or no matter."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from notes import found, line

import xeemu as xe
from xeemu import testing
from xeemu.commands import cli

KIND = "order-dependent"
N = xe.NDRange(128, 64)
A = np.linspace(0, 1, 128, dtype=np.float32)
OUT = np.zeros(128, np.float32)


@xe.kernel
def total(wg, a, out):
    return out.atomic[0].add(a[wg.global_id()])  # add


@xe.kernel
def leaders(wg, a, out):
    return out.atomic[0].sub(a[wg.global_id()], where=wg.local_linear_id() == 0)  # add


@xe.kernel
def fetched(wg, a, out):
    i = wg.global_id()
    old, out = out.atomic[i // 2].fetch_add(a[i])  # add
    return out.at[i + 64].set(old, where=(i < 64) & (old < 0))


@xe.kernel
def scattered(wg, a, out):
    i = wg.global_id()
    bins = wg.local(64, jnp.float32)
    bins = wg.barrier(bins.at[wg.local_id()].set(0))
    bins = wg.barrier(bins.atomic[(a[i] * 16).astype(jnp.int32)].add(a[i]))  # add
    return out.at[i].set(bins[wg.local_id()])


@pytest.mark.thorough
@pytest.mark.parametrize("kernel", [total, leaders, fetched, scattered], ids=lambda kernel: kernel.name)
def test_found_at_its_line(kernel):
    (finding,) = found(kernel, N, A, OUT, kind=KIND)
    assert finding.severity == "note"
    assert [site.line for site in finding.sites] == [line(kernel, "add")]
    assert len(set(finding.work_items)) == 2
    assert "deterministic=True" in finding.text.replace("\n  ", " ")


@xe.kernel
def own(wg, a, out):
    i = wg.global_id()
    out = out.atomic[i].add(a[i])
    return out.atomic[i].sub(a[i] * 2)


@xe.kernel
def permuted(wg, a, out):
    i = wg.global_id()
    return out.atomic[((1 - a[i]) * 127 + 0.5).astype(jnp.int32)].add(a[i])


@xe.kernel
def one_of_each_group(wg, a, out):
    return out.atomic[wg.group_id()].add(a[wg.global_id()], where=wg.local_linear_id() == 5)


@xe.kernel
def in_turn(wg, a, out):
    sums, lid = wg.local(1, jnp.float32), wg.local_id()
    sums = sums.at[0].set(0, where=lid == 0)

    def step(k, sums):
        return wg.barrier(sums).atomic[0].add(a[wg.global_id()], where=lid == k)

    sums = wg.barrier(lax.fori_loop(0, 64, step, sums))
    return out.at[wg.global_id()].set(sums[0])


@xe.kernel
def largest(wg, a, out):
    return out.atomic[0].max(a[wg.global_id()])


@xe.kernel
def counts(wg, a, out):
    return out.atomic[0].add(jnp.round(a[wg.global_id()] * 9))


RIGHT = (own, permuted, one_of_each_group, in_turn, largest, counts)


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_silent_where_the_order_is_certain_or_no_matter(kernel):
    assert not found(kernel, N, A, OUT, kind=KIND)


def test_integers_beyond_what_the_type_holds_are_rounded():
    assert found(total, N, np.full(128, 2**20, np.float32), OUT, kind=KIND)
    assert not found(total, N, np.full(128, 2**16, np.float32), OUT, kind=KIND)


def test_such_a_note_does_not_fail_a_right_kernel():
    testing.assert_clean(total, N, A, OUT)
    _, findings = xe.check(total, N)(A, OUT)
    assert len(findings) == 1
    assert findings.faults == ()


def test_such_a_note_leaves_the_exit_code(tmp_path, capsys):
    (tmp_path / "sums.py").write_text(
        "import xeemu as xe\n\n\n@xe.kernel\ndef total(wg, a, out):\n    return out.atomic[0].add(a[wg.global_id()])\n"
    )
    sizes = ("--global-size", "128", "--local-size", "64", "--arg", "a=float32[128]", "--arg", "out=float32[1]:zeros")
    assert cli.main(["check", f"{tmp_path / 'sums.py'}:total", *sizes]) == 0
    assert "note: order-dependent" in capsys.readouterr().out

"""Arithmetic that C++ leaves undefined: found where its result matters, silent where it is selected away."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from notes import followed, found, line

import xeemu as xe
from xeemu.faults import landings

KIND = "undefined-arithmetic"
N = xe.NDRange(128, 64)
A = np.arange(1, 129, dtype=np.int32)
B = np.arange(128, dtype=np.int32) % 4
OUT = np.zeros(128, np.int32)


@xe.kernel
def quotient(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(a[i] // b[i])  # note


@xe.kernel
def remainder(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(a[i] % b[i])  # note


@xe.kernel
def carried(wg, a, b, out):
    i = wg.global_id()
    x = lax.fori_loop(0, 3, lambda k, x: x + (a[i] << (b[i] * 12)), jnp.zeros(64, jnp.int32))  # note
    return out.at[i].set(x)


@xe.kernel
def counted(wg, a, b, out):
    i = wg.global_id()
    x = lax.fori_loop(0, 3, lambda k, x: x + a[i] // k, jnp.zeros(64, jnp.int32))  # note
    return out.at[i].set(x)


@xe.kernel
def summed(wg, a, b, out):
    i = wg.global_id()
    rows = (a[i] // b[i])[:, None] + jnp.arange(4)  # note
    return out.at[i].set(rows.astype(jnp.float32).sum(1).astype(jnp.int32))


@xe.kernel
def index(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(a[jnp.abs(a[i] // b[i]) % 128])  # note


@xe.kernel
def mask(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(a[i], where=lax.rem(a[i], b[i]) == 1)  # note


@xe.kernel
def left_out(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(1, where=lax.div(a[i], b[i]) > 0)  # note


@xe.kernel
def by_group(wg, a, b, out):
    i = wg.global_id()
    x = lax.cond(wg.group_id() > 0, lambda: a[i] >> b[i], lambda: a[i] // b[i])  # note
    return out.at[i].set(wg.reduce(x, "add"))


@xe.kernel
def predicate(wg, a, b, out):
    i = wg.global_id()
    n, _ = lax.while_loop(lambda c: c[0] < 8 // c[1], lambda c: (c[0] + 1, c[1]), (0, b[0]))  # note
    return out.at[i].set(n)


@xe.kernel
def smallest(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set((a[i] - jnp.int32(2**31 - 1) - 2) // (b[i] - 1))  # note


WRONG = (quotient, remainder, carried, counted, summed, index, mask, left_out, by_group, predicate, smallest)


@pytest.mark.parametrize("kernel", WRONG, ids=lambda kernel: kernel.name)
def test_found_at_its_line(kernel):
    (finding,) = found(kernel, N, A, B, OUT, kind=KIND)
    assert finding.severity == "note"
    assert [site.line for site in finding.sites] == [line(kernel, "note")]


@xe.kernel
def selected(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(jnp.where(b[i] != 0, a[i] // b[i], 0))


@xe.kernel
def selected_later(wg, a, b, out):
    i, b = wg.global_id(), b[wg.global_id()]
    x = lax.fori_loop(0, 3, lambda k, x: x + a[i] % b, jnp.zeros(64, jnp.int32))
    return out.at[i].set(lax.select(b > 0, x * 2 - 1, a[i]))


@xe.kernel
def masked(wg, a, b, out):
    i = wg.global_id()
    x = a[i] // b[i]
    return out.at[i].set(a.load(x, where=(b[i] != 0) & (x < 128), other=0))


@xe.kernel
def short_circuit(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(1, where=(b[i] != 0) & (a[i] // b[i] > 3))


@xe.kernel
def other_divisor(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(a[i] % jnp.where(b[i] == 0, 1, b[i]))


@xe.kernel
def unused(wg, a, b, out):
    i = wg.global_id()
    _ = a[i] // b[i]
    return out.at[i].set(a[i] << (b[i] & 31))


@xe.kernel
def no_group(wg, a, b, out):
    i = wg.global_id()
    x = lax.cond(wg.group_id() > 1, lambda: a[i] // b[i], lambda: a[i])
    return out.at[i].set(x)


@xe.kernel
def reduced(wg, a, b, out):
    i = wg.global_id()
    return out.at[i].set(wg.reduce(jnp.where(b[i] > 0, a[i] // b[i], 0), "add"))


RIGHT = (selected, selected_later, masked, short_circuit, other_divisor, unused, no_group, reduced)


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_silent_where_it_does_not_matter(kernel):
    assert not found(kernel, N, A, B, OUT, kind=KIND)


def test_what_a_finding_says():
    (finding,) = found(quotient, N, A, B, OUT, kind=KIND)
    assert str(finding).splitlines()[0] == "note: undefined-arithmetic: 1 / 0 is a division by zero (32 times)"
    assert "    by work-item 0: local 0 of group 0, sub-group 0" in str(finding).splitlines()
    (finding,) = found(smallest, N, A, B, OUT, kind=KIND)
    assert finding.text.splitlines()[0] == (
        "note: undefined-arithmetic: -2147483648 / -1 needs a quotient that int32 does not hold"
    )
    (finding,) = found(carried, N, A, B, OUT, kind=KIND)
    assert "4 << 36 is a shift of int32 by its width or more" in finding.text


@pytest.mark.parametrize(("divisor", "doubted"), [(7, False), (0, True)])
def test_the_values_of_scalars_are_known(divisor, doubted):
    @xe.kernel
    def scaled(wg, a, n, out):
        i = wg.global_id()
        return out.at[i].set(a[i] // n + (a[i] >> n))

    assert bool(found(scaled, N, A, np.int32(divisor), OUT, kind=KIND)) == doubted
    assert bool(followed(scaled, N, A, np.int32(divisor), OUT)) == doubted


@xe.kernel
def wrapped(wg, x, out, *, indexed):
    """A count that may wrap, stored as a value or at itself."""
    i = wg.global_id()
    count = x[i] + x[i] * jnp.uint32(3)
    return out.at[count.astype(jnp.int32) if indexed else i].set(count)


@pytest.mark.thorough
@pytest.mark.parametrize("indexed", [False, True])
def test_what_reaches_no_index_is_not_looked_at(indexed, monkeypatch):
    asked = []
    monkeypatch.setattr(landings, "may_land", lambda source, graph, ranges: asked.append(source))
    xe.check(wrapped, N)(OUT.astype(np.uint32), OUT.astype(np.uint32), indexed=indexed)
    assert bool(asked) == indexed

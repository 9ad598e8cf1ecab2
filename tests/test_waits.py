"""Loops that wait for other work-items: found in locks, silent where a loop gets on by itself."""

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from notes import line

import xeemu as xe

KIND = "forward-progress"
N = xe.NDRange(64, 32)
OUT = np.zeros(128, np.int32)


def _until_all_are_done(wg, step, memory, *others):
    carry = (memory, jnp.zeros(wg.size, bool), *others)
    return lax.while_loop(lambda c: wg.any(~c[1]), step, carry)[0]  # loop


@xe.kernel
def exchange(wg, out):
    def step(carry):
        out, done = carry
        old, out = out.atomic[0].exchange(1, where=~done)  # waits
        got = (old == 0) & ~done
        return out.atomic[0].store(0, where=got), done | got

    return _until_all_are_done(wg, step, out)


@xe.kernel
def compare_exchange(wg, out):
    i = wg.global_id() // 2

    def step(carry):
        out, done = carry
        old, out = out.atomic[i].compare_exchange(0, 1, where=~done)  # waits
        got = jnp.where(old == 0, ~done, False)
        return out.atomic[i].store(0, where=got), done | got

    return _until_all_are_done(wg, step, out)


@xe.kernel
def ticket(wg, out):
    served = wg.local(1, jnp.int32)
    served = wg.barrier(served.atomic[0].store(0, where=wg.local_id() == 0))

    def step(carry):
        served, done = carry
        got = (served.atomic[0].load() == wg.local_id()) & ~done  # waits
        return served.atomic[0].add(1, where=got), done | got

    _until_all_are_done(wg, step, served)
    return out


@pytest.mark.parametrize("kernel", [exchange, compare_exchange, ticket], ids=lambda kernel: kernel.name)
def test_found_at_the_loop_and_its_operation(kernel):
    _, findings = xe.check(kernel, N)(OUT)
    (finding,) = findings
    assert (finding.kind, finding.severity) == (KIND, "note")
    assert finding.sites[1].line == line(kernel, "waits")
    assert finding.sites[0].source.endswith("# loop")
    assert "3.8.3.4" in finding.text
    assert not findings.faults


@xe.kernel
def maximum(wg, out):
    i = wg.global_id()

    def step(carry):
        out, done, expected = carry
        old, out = out.atomic[0].compare_exchange(expected, jnp.maximum(expected, i), where=~done)
        return out, done | (old == expected), old

    return _until_all_are_done(wg, step, out, jnp.zeros(wg.size, jnp.int32))


@xe.kernel
def queue(wg, out):
    def step(carry):
        out, done = carry
        item, out = out.atomic[0].fetch_add(1, where=~done)
        return out, done | (item > 500)

    return _until_all_are_done(wg, step, out)


@xe.kernel
def open_addressing(wg, out):
    key = wg.global_id() + 1

    def step(carry):
        out, done, slot = carry
        old, out = out.atomic[slot].compare_exchange(0, key, where=~done)
        return out, done | (old == 0), jnp.where(old == 0, slot, (slot + 1) % 128)

    return _until_all_are_done(wg, step, out, key * 7 % 128)


@xe.kernel
def attempts(wg, out):
    def step(carry):
        out, done, k = carry
        old, out = out.atomic[0].exchange(1, where=~done)
        got = (old == 0) & ~done
        return out.atomic[0].store(0, where=got), done | got | (k > 50), k + 1

    return lax.while_loop(lambda c: wg.any(~c[1]) & (c[2] < 99), step, (out, jnp.zeros(wg.size, bool), 0))[0]


@xe.kernel
def relaxation(wg, out):
    i = wg.local_id()

    def step(carry):
        out, _ = carry
        own, other = out.atomic[i].load(), out.atomic[(i + 1) % 32].load()
        out = wg.barrier(out.atomic[i].store(jnp.maximum(own, other), where=other > own))
        return out, wg.any(other > own)

    return lax.while_loop(lambda c: c[1], step, (out, True))[0]


RIGHT = (maximum, queue, open_addressing, attempts, relaxation)


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.name)
def test_silent_where_a_loop_gets_on_by_itself(kernel):
    _, findings = xe.check(kernel, N)(OUT)
    assert all(finding.kind != KIND for finding in findings)

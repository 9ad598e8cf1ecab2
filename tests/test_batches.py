"""In batches of accesses the same faults are found as in each by itself; very many races are not all looked for."""

import collections

import jax.numpy as jnp
import numpy as np
import pytest
from defects import DEFECTS

import xeemu as xe
from xeemu.faults import batches, checking, watch_list


@pytest.fixture
def fresh():
    checking._checked.cache_clear()
    yield
    checking._checked.cache_clear()


def checked(monkeypatch, most, case):
    monkeypatch.setattr(watch_list, "_MOST_COMPARED", most)
    checking._checked.cache_clear()
    return xe.check(case.defective, case.nd_range, device=case.device)(*case.arguments(), **case.static)


@pytest.mark.thorough
@pytest.mark.every(18)
@pytest.mark.parametrize("case", DEFECTS, ids=lambda case: case.name)
def test_batches_find_what_each_access_finds_by_itself(case, monkeypatch, fresh):
    outputs, alone = checked(monkeypatch, 10**6, case)
    same, together = checked(monkeypatch, -1, case)
    assert sorted(map(str, together)) == sorted(map(str, alone))  # they come in an order of their own
    np.testing.assert_equal(same, outputs)


@xe.kernel
def bitonic(wg, x, *, barrier):
    """Sorts each work-group's elements; Python unrolls the loops."""
    i, lid = wg.global_id(), wg.local_id()
    tile = wg.local(wg.size, jnp.int32)
    tile = wg.barrier(tile.at[lid].set(x[i]))
    for k in (2**n for n in range(1, wg.size.bit_length())):
        for j in (k >> n for n in range(1, k.bit_length())):
            other = lid ^ j
            a, b = tile[lid], tile[other]
            tile = wg.barrier(tile) if barrier else tile
            smaller = (lid < other) == ((lid & k) == 0)
            tile = wg.barrier(tile.at[lid].set(jnp.where(smaller, jnp.minimum(a, b), jnp.maximum(a, b))))
    return x.at[i].set(tile[lid])


def test_an_unrolled_sort_without_a_barrier(monkeypatch):
    looked = []
    run = batches.Batch.run

    def counted(self, records, kept):
        looked.append(len(records))
        return run(self, records, kept)

    monkeypatch.setattr(batches.Batch, "run", counted)
    x = np.random.default_rng(0).integers(0, 1000, 256).astype(np.int32)
    result, findings = xe.check(bitonic, xe.NDRange(256, 128))(x, barrier=False)
    np.testing.assert_array_equal(result.reshape(2, 128), np.sort(x.reshape(2, 128)))
    (finding,) = findings
    assert finding.kind == "data-race"
    assert sorted(site.source.split(" = ")[0].strip() for site in finding.sites) == ["a, b", "tile"]
    assert len(looked) == 1
    assert looked[0] > 80
    assert xe.check(bitonic, xe.NDRange(256, 128))(x, barrier=True)[1] == ()


def lines(count):
    """A kernel with so many lines that store to one memory where data says, as Python's text."""
    body = "\n".join(f"    out = out.at[a[lid + {k}]].set(lid + {k})" for k in range(count))
    return f"@xe.kernel\ndef kernel(wg, out, a):\n    lid = wg.local_id()\n{body}\n    return out\n"


@pytest.mark.thorough
def test_of_very_many_races_the_last_one_says_that_more_may_follow(tmp_path, monkeypatch):
    (tmp_path / "manylines.py").write_text("import xeemu as xe\n\n" + lines(20))
    monkeypatch.syspath_prepend(tmp_path)
    import manylines  # type: ignore[import-not-found]

    a = np.zeros(64 + 20, np.int32)
    _, findings = xe.check(manylines.kernel, xe.NDRange(64, 64))(np.zeros(64, np.int32), a)
    found = collections.Counter(tuple(sorted(site.line - 6 for site in f.sites)) for f in findings)
    assert found[0, 0] == found[0, 1] == found[1, 1] == 1
    assert 100 <= len(findings) < 20 * 21 / 2
    assert [str(f).endswith("more may follow once these are mended.") for f in findings][-2:] == [False, True]

"""What a store depends on, through values, loops, branches and memories."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from launches import prepared

import xeemu as xe
from xeemu.faults import dependence
from xeemu.knowledge import symbolic_execution


@xe.kernel
def kernel(wg, x, out, *, how="not"):
    i = wg.global_id()
    first, tile = x[i], wg.local(32, jnp.int32)
    tile = tile.at[wg.local_id()].set(first if how == "memory" else i)
    flag = first[0] > 0
    value = {
        "not": lambda: i,
        "plain": lambda: jnp.sin(first.astype(jnp.float32)).astype(jnp.int32),
        "memory": lambda: tile[wg.local_id()],
        "jit": lambda: jax.jit(lambda a, b: (b, a))(i, first)[0],
        "jit's other": lambda: jax.jit(lambda a, b: (b, a))(i, first)[1],
        "loop": lambda: lax.fori_loop(0, 3, lambda k, c: (c[1], c[2], first), (i, i, i))[0],
        "scan": lambda: lax.scan(lambda c, y: (c + y, c), i, jnp.stack([first] * 2))[1][1],
        "while": lambda: lax.while_loop(lambda c: c[0] < first[0], lambda c: (c[0] + 1, i), (0, i))[1],
        "branch": lambda: lax.cond(flag, lambda: i, lambda: i + 1),
        "branch's value": lambda: lax.cond(i[0] > 0, lambda: i, lambda: first),
    }[how]()
    return out.at[i].set(value)


@pytest.mark.parametrize(
    ("how", "depends"),
    [
        ("not", False),
        ("plain", True),
        ("memory", True),
        ("jit", True),
        ("jit's other", False),
        ("loop", True),
        ("scan", True),
        ("while", True),
        ("branch", True),
        ("branch's value", True),
    ],
)
def test_a_store_depends_on_a_load(how, depends):
    x = np.zeros(64, np.int32)
    ready = prepared(kernel, xe.NDRange(64, 32), (x, x), {"how": how}, device="max1550")
    facts = symbolic_execution.of_program(ready.program, ready.facts, (None, None))
    memory = {o.key: o.access_site.memory for o in facts.root.operations()}
    (load,) = (o.key for o in facts.root.operations() if o.name == "load" and o.access_site.memory.name == "x")
    (store,) = (o.key for o in facts.root.operations() if o.name == "store" and o.access_site.memory.name == "out")
    found = dependence.of_loads(facts.root.facts, [load], memory.get).updates
    assert (store in found) == depends


@xe.kernel
def steered(wg, x, out, *, how="not"):
    i, first = wg.global_id(), x[wg.global_id()]
    write = lambda out: out.at[i].set(i)  # noqa: E731
    return {
        "value": lambda: out.at[i].set(first),
        "index": lambda: out.at[first].set(i),
        "mask": lambda: out.at[i].set(i, where=first > 0),
        "branch": lambda: lax.cond(first[0] > 0, write, lambda out: out, out),
        "turns": lambda: lax.fori_loop(0, first[0], lambda k, out: write(out), out),
        "inner": lambda: lax.cond(
            first[0] > 0, lambda out: lax.fori_loop(0, 3, lambda k, o: write(o), out), write, out
        ),
        "other branch": lambda: lax.cond(i[0] > 0, write, lambda out: out, out),
    }[how]()


@pytest.mark.parametrize("how", ["value", "index", "mask", "branch", "turns", "inner", "other branch"])
def test_where_an_access_goes_depends_on_a_load(how):
    x = np.zeros(64, np.int32)
    ready = prepared(steered, xe.NDRange(64, 32), (x, x), {"how": how}, device="max1550")
    facts = symbolic_execution.of_program(ready.program, ready.facts, (None, None))
    memory = {o.key: o.access_site.memory for o in facts.root.operations()}
    (load,) = (o.key for o in facts.root.operations() if o.name == "load")
    stores = {o.key for o in facts.root.operations() if o.name == "store"}
    found = dependence.of_loads(facts.root.facts, [load], memory.get).steered
    assert stores & found == (set() if how in ("value", "other branch") else stores)

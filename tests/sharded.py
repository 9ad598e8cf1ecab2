"""Launches over four host devices, each beside the same launch on one; run by test_sharding, which reads the outcomes.

As a script it takes names of cases, and prints as JSON for each whether the results are the bits of one device and
divided, or the error. With `--process K --port P` it is process K of two with two devices each.
"""

import argparse
import json
import os
import sys

if __name__ == "__main__":
    devices = 2 if "--process" in sys.argv else 4
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import xeemu as xe
from xeemu import kernels
from xeemu.launching import sharding
from xeemu.launching.arguments import ArgumentType
from xeemu.launching.options import Options
from xeemu.launching.preparation import prepare

N = 4096
X = np.random.default_rng(0).integers(-(2**31), 2**31, size=N, dtype=np.int32)
FLOATS = X.view(np.float32).copy()


@xe.kernel
def scale(wg, x, out):
    i = wg.global_linear_id()
    return out.at[i].set(x[i] * 3)


@xe.kernel
def some_items(wg, x, out):
    i = wg.global_linear_id()
    return out.at[i].set(x[i], where=x[i] % 2 == 0)


@xe.kernel
def some_groups(wg, x, out):
    i = wg.global_linear_id()
    return lax.cond(wg.group_id() % 3 == 0, lambda out: out.at[i].set(x[i]), lambda out: out, out)


@xe.kernel
def beyond(wg, x, out):
    i = wg.global_linear_id()
    return out.at[i + 100].set(x[i])


@xe.kernel
def mirror(wg, x, out):
    i = wg.global_linear_id()
    return out.at[out.shape[0] - 1 - i].set(x[i])


@xe.kernel
def scatter(wg, x, index, out):
    i = wg.global_linear_id()
    return out.at[index[i]].set(x[i])


@xe.kernel
def update(wg, x, out, *, op="add"):
    i = wg.global_linear_id()
    return getattr(out.atomic[i % 16], op)(x[i])


@xe.kernel
def add_and_sub(wg, x, out):
    i = wg.global_linear_id()
    return out.atomic[i % 16].add(x[i]).atomic[i % 8].sub(1)


@xe.kernel
def two_memories(wg, x, out, total):
    i = wg.global_linear_id()
    return {"out": out.at[i].set(x[i]), "total": total.atomic[0].add(x[i])}


@xe.kernel
def in_place(wg, x):
    i = wg.global_linear_id()
    return x.at[i].set(x[i] + 1)


@xe.kernel
def rows(wg, x, out):
    r, c = wg.global_id(0), wg.global_id(1)
    return out.at[r, c].set(x[r * 64 + c])


@xe.kernel
def clash(wg, out):
    return out.at[3].set(wg.group_linear_id())


@xe.kernel
def agree(wg, out):
    return out.at[3].set(7)


@xe.kernel
def old(wg, x, out):
    value, out = out.atomic[0].fetch_add(1)
    return x.at[wg.global_linear_id()].set(value), out


@xe.kernel
def mixed(wg, out):
    return out.atomic[0].add(1).atomic[1].max(2)


@xe.kernel
def stored_and_added(wg, out):
    i = wg.global_linear_id()
    return out.at[i].set(1).atomic[i].add(1)


@xe.kernel
def read_back(wg, out):
    i = wg.global_linear_id()
    x = out[i]
    return out.atomic[0].add(x)


@xe.kernel
def ragged(wg, out):
    return out.atomic[lax.rem(wg.global_linear_id(), 10)].add(1)


def zeros(n, dtype=np.int32):
    return np.zeros(n, dtype)


def cases():
    """Name: kernel, nd-range, arguments, static parameters, bound on the working set."""
    whole, small = xe.NDRange(N, 64), 1 << 12
    index = np.random.default_rng(1).permutation(N).astype(np.int32)
    for op in ("add", "sub", "min", "max", "and_", "or_", "xor"):
        yield f"atomic {op}", update, whole, (X, zeros(16)), {"op": op}, small
    for op in ("min", "max"):
        yield f"float {op}", update, whole, (np.nan_to_num(FLOATS), zeros(16, np.float32)), {"op": op}, small
    for where, place in (("elements", 1000), ("result", None)):
        for op in ("min", "max"):
            floats, bounds = np.nan_to_num(FLOATS), np.ones(16, np.float32)
            (bounds if place is None else floats)[place or 3] = np.nan
            yield f"float {op}, NaN in {where}", update, whole, (floats, bounds), {"op": op}, small
    yield "slice", scale, whole, (X, zeros(N)), {}, small
    yield "slice 64 bits", scale, whole, (X.astype(np.int64) << 20, zeros(N, np.int64)), {}, small
    yield "slice in one chunk", scale, xe.NDRange(N, 1024), (X, zeros(N)), {}, None
    yield "some items", some_items, whole, (X, zeros(N)), {}, small
    yield "some groups", some_groups, whole, (X, zeros(N)), {}, small
    yield "beyond the end", beyond, whole, (X, zeros(N)), {}, small
    yield "mirrored", mirror, whole, (X, zeros(N)), {}, small
    yield "mirrored floats", mirror, whole, (FLOATS, zeros(N, np.float32)), {}, small
    yield "mirrored bytes", mirror, whole, (X.astype(np.int8), zeros(N, np.int8)), {}, small
    yield "scattered", scatter, whole, (X, index, zeros(N)), {}, small
    yield "scattered bools", scatter, whole, (X > 0, index, zeros(N, bool)), {}, small
    yield "add and sub", add_and_sub, whole, (X, zeros(16)), {}, small
    yield "two memories", two_memories, whole, (X, zeros(N), zeros(1)), {}, small
    yield "in place", in_place, whole, (X,), {}, small
    yield "rows", rows, xe.NDRange((64, 64), (4, 16)), (X, zeros((64, 64))), {}, small
    yield "columns of groups", rows, xe.NDRange((64, 64), (16, 64)), (X, zeros((64, 64))), {}, small
    yield "3 groups", scale, xe.NDRange(192, 64), (X, zeros(N)), {}, small
    yield "no group", scale, xe.NDRange(0, 64), (X, zeros(N)), {}, small
    yield "plain range", ragged, xe.NDRange(1003), (zeros(10),), {}, small
    yield "last chunk not full", ragged, xe.NDRange(64 * 37, 64), (zeros(10),), {}, 1 << 10
    yield "agreeing", agree, whole, (zeros(8),), {}, small
    yield "clash", clash, whole, (zeros(8),), {}, small
    yield "old value", old, whole, (X, zeros(8)), {}, small
    yield "mixed", mixed, whole, (zeros(8),), {}, small
    yield "stored and added", stored_and_added, whole, (zeros(N),), {}, small
    yield "read back", read_back, whole, (zeros(N),), {}, small
    for name, size in (
        ("convolution_slm", (2048, 33)),
        ("convolution_global", (1 << 15, 33)),
        ("histogram_slm", (16384 * 8,)),
        ("matmul_tiled", (64, 40, 48)),
    ):
        e = kernels.EXAMPLES[name]
        yield name, e.kernel, e.nd_range(size), e.inputs(size), e.static, 1 << 16


def told(array, updated):
    """The bits of an array, with one NaN for all if it was updated."""
    return (np.where(np.isnan(array), np.nan, array) if updated else array).tobytes()


def outcome(mesh, gather, kernel, nd_range, arguments, static, memory_bytes):
    one = xe.launch(kernel, nd_range, memory_bytes=memory_bytes)(*arguments, **static)
    try:
        several = xe.launch(kernel, nd_range, memory_bytes=memory_bytes, mesh=mesh)(*arguments, **static)
    except xe.Error as error:
        return {"error": str(error)}
    pairs = list(zip(jax.tree.leaves(one), jax.tree.leaves(several), strict=True))
    updated = "op" in static  # what NaN looks like then is nobody's promise
    same = [a.dtype == b.dtype and told(np.asarray(a), updated) == told(gather(b), updated) for a, b in pairs]
    described = tuple(map(ArgumentType.of, arguments))
    options = Options(memory_bytes, False, False, "cpu", mesh)
    bound = kernel.bind_static(static)
    ready = sharding.of_launch(prepare(kernel, nd_range, xe.device("max1550"), described, bound, options))
    return {
        "same": all(same),
        "own": [merge.own for merge in ready.merges],
        "sliced": [tuple(b.sharding.spec) != () and b.sharding.spec[0] is not None for _, b in pairs],
    }


def mesh_of_two_axes(_, gather):
    square = jax.make_mesh((2, 2), ("a", "b"))
    return outcome(square, gather, scale, xe.NDRange(N, 64), (X, zeros(N)), {}, 1 << 12)


def inside_jit(mesh, _):
    launch = xe.launch(scale, xe.NDRange(N, 64), mesh=mesh)
    inside = jax.jit(lambda x: launch(x, jnp.zeros(N, np.int32)) + 1)(X)
    return {"same": bool((np.asarray(inside) == 3 * X + 1).all()), "sliced": []}


def beside_a_jit(mesh, _):
    launch = xe.launch(scale, xe.NDRange(N, 64), mesh=mesh)
    beside = jax.jit(lambda z: z + launch(X, jnp.zeros(N, np.int32)))(X)
    return {"same": bool((np.asarray(beside) == 4 * X).all()), "sliced": []}


def unproved_inside_jit(mesh, _):
    try:
        jax.jit(xe.launch(scatter, xe.NDRange(N, 64), mesh=mesh))(X, X, zeros(N))
    except xe.Error as error:
        return {"error": str(error)}
    return {}


def without_a_mesh(mesh, _):
    """Arrays that the devices of a mesh share, as launches over it give them, for calls that are given none."""
    return {"same": all((np.asarray(a) == b).all() for a, b in zip(*shared_calls(mesh), strict=True)), "sliced": []}


def within_a_mesh(mesh, _):
    """The same where `jax.set_mesh` has set the mesh, with explicit axes: results are of it, as arguments are."""
    with jax.set_mesh(mesh):
        given, expected = shared_calls(mesh)
        arrays = [a for a in given if isinstance(a, jax.Array)]
        computed = [a + 1 for a in arrays]
    explicit = all(a.sharding.mesh == mesh for a in computed)
    same = all((np.asarray(a) == b).all() for a, b in zip(given, expected, strict=True))
    return {"same": bool(arrays) and explicit and same, "sliced": []}


def shared_calls(mesh):
    nd_range, index = xe.NDRange(N, 64), (5 * np.arange(N) % N).astype(np.int32)
    shared = [jax.device_put(a, jax.NamedSharding(mesh, jax.P("groups"))) for a in (X, index, zeros(N))]
    launch, expected = xe.launch(scatter, nd_range), np.asarray(xe.launch(scatter, nd_range)(X, index, zeros(N)))
    given = [
        *(launch(X, index, zeros(N)), launch(*shared), launch(*shared), launch(X, *shared[1:])),
        *(jax.jit(launch)(*shared), jax.jit(launch)(X, *shared[1:])),
        *(call(scatter, nd_range)(*shared)[0] for call in (xe.check, xe.check, xe.profile)),
    ]
    return given, [expected] * len(given)


OTHERS = {
    "mesh of two axes": mesh_of_two_axes,
    "inside jit": inside_jit,
    "beside a jit": beside_a_jit,
    "unproved inside jit": unproved_inside_jit,
    "without a mesh": without_a_mesh,
    "within a mesh": within_a_mesh,
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--process", type=int)
    parser.add_argument("--port", type=int)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    gather = np.asarray
    if given.process is not None:
        from jax.experimental import multihost_utils

        jax.distributed.initialize(f"localhost:{given.port}", 2, given.process)
        gather = lambda b: np.asarray(multihost_utils.process_allgather(b, tiled=True))  # noqa: E731
    mesh = jax.make_mesh((4,), ("groups",))
    results = {name: outcome(mesh, gather, *case) for name, *case in cases() if name in given.names}
    results |= {name: case(mesh, gather) for name, case in OTHERS.items() if name in given.names}
    print(json.dumps(results))


if __name__ == "__main__":
    main()

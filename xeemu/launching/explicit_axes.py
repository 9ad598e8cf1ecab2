"""Explicit axes: arrays on a mesh where JAX has each operation tell its result's place, as no kernel does."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jax.sharding import AxisType, Mesh, NamedSharding, get_abstract_mesh
from jax.sharding import PartitionSpec as P

from xeemu.emission import compiling

T = TypeVar("T")

_EXPLICIT = AxisType.Explicit  # looked up once, for each launch asks


def without(call: Callable[..., T]) -> Callable[..., T]:
    """A function called without such axes though the mesh of `jax.set_mesh` has some, which its results have again."""

    def called(*arguments: Any, **more: Any) -> T:
        if _EXPLICIT not in get_abstract_mesh().axis_types or compiling.is_tracing():
            return call(*arguments, **more)
        mesh = jax.sharding.get_mesh()
        with jax.set_mesh(_plain(mesh)):
            results = call(*arguments, **more)
        given: T = jax.tree.map(functools.partial(_explicit, mesh=mesh), results)
        return given

    return called


def automatic(given: Sequence[Any]) -> list[Any]:
    """Arguments in the same memory, with axes by which XLA divides what the mesh's devices compute."""
    found = {id(x): _automatic(x) for x in given if not isinstance(x, jax.core.Tracer) and _mesh(x) is not None}
    return [found.get(id(x), x) for x in given]  # what is one array stays one


def within_jit(emit: Callable[..., Any], given: Sequence[Any]) -> Callable[..., Any]:
    """A function of traced arguments that is emitted without such axes; its results are on all devices of the mesh."""
    mesh = next((mesh for x in given if (mesh := _mesh(x)) is not None), None)
    if mesh is None:
        return emit
    everywhere = NamedSharding(mesh, P())
    emitted: Callable[..., Any] = jax.sharding.auto_axes(emit, axes=mesh.axis_names, out_sharding=everywhere)
    return emitted


def _mesh(x: Any) -> Any:
    """The mesh of an array of JAX if it has explicit axes; else None."""
    sharding = jax.typeof(x).sharding if isinstance(x, jax.Array) else None
    return sharding.mesh if sharding is not None and AxisType.Explicit in sharding.mesh.axis_types else None


def _automatic(x: jax.Array) -> jax.Array:
    sharding = x.sharding  # with an explicit axis it is a NamedSharding
    moved: jax.Array = jax.device_put(x, NamedSharding(_plain(sharding.mesh), sharding.spec))  # type: ignore[attr-defined]
    return moved


def _explicit(x: Any, mesh: Mesh) -> Any:
    """An array on the mesh without such axes, in the same memory, with them; all else as it is."""
    sharding = x.sharding if isinstance(x, jax.Array) else None
    if not isinstance(sharding, NamedSharding) or sharding.mesh != _plain(mesh):
        return x
    return jax.device_put(x, NamedSharding(mesh, sharding.spec))


def _plain(mesh: Mesh) -> Mesh:
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * mesh.devices.ndim)

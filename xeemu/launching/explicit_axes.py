"""Explicit axes: arrays on a mesh where JAX has each operation tell its result's place, as no kernel does."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P


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
    mesh = x.sharding.mesh  # type: ignore[attr-defined]  # with an explicit axis it is a NamedSharding
    plain = Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * mesh.devices.ndim)
    moved: jax.Array = jax.device_put(x, NamedSharding(plain, x.sharding.spec))  # type: ignore[attr-defined]
    return moved

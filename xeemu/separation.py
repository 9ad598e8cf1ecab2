"""The check that a kernel over a plain range keeps its work-items apart.

A plain range has no work-groups of its own: the runtime chooses them, and the last one may hold work-items that do not
exist. So nothing may combine the work-items of a group, neither the language's collectives, which `workgroup` refuses,
nor a `jnp` operation along their axes.
"""

from jax.extend import core as jex_core

from xeemu import jaxprs, source
from xeemu.errors import KernelArgumentError
from xeemu.geometry import Geometry
from xeemu.jaxprs import Body


def check(body: Body, geometry: Geometry) -> None:
    """Checks a whole program.

    Raises:
      KernelArgumentError: an operation combines work-items.
    """
    for eqn in body.eqns:
        for inner in jaxprs.bodies(eqn):
            check(inner, geometry)
        if _combines(eqn, geometry.local_range):
            raise KernelArgumentError(
                "the kernel uses a group algorithm, but it is launched over a plain range, which has no work-groups of "
                f"its own ({eqn.primitive.name} combines work-items); give the launch a local size: "
                f"xe.NDRange({geometry.global_range}, local_size)\n  at {source.of_equation(eqn)}"
            )


def _combines(eqn: jex_core.JaxprEqn, local_range: tuple[int, ...]) -> bool:
    """Whether an operation works along an axis of the work-items of one of its operands."""
    rank = len(local_range)
    for number, operand in enumerate(eqn.invars):
        per_item = operand.aval.shape[:rank] == local_range
        if per_item and any(axis < rank and local_range[axis] > 1 for axis in _axes(eqn, number)):
            return True
    return False


def _axes(eqn: jex_core.JaxprEqn, operand: int) -> tuple[int, ...]:
    """The axes along which an operation combines or moves the elements of an operand."""
    name, params = eqn.primitive.name, eqn.params
    if name.startswith(("reduce_", "arg")) and "axes" in params:
        return tuple(params["axes"])
    if name.startswith("cum"):
        return (params["axis"],)
    if name in ("sort", "top_k"):
        return (params.get("dimension", len(eqn.invars[operand].aval.shape) - 1),)
    if name == "rev":
        return tuple(params["dimensions"])
    if name == "dot_general":
        contracting, _ = params["dimension_numbers"]
        return tuple(contracting[operand])
    return ()

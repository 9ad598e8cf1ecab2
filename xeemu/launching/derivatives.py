"""Derivatives: an error where one of a launch is asked for, as there is none."""

from collections.abc import Callable, Sequence
from typing import Any

import jax

from xeemu.errors import KernelError


def refused(name: str, emit: Callable[..., Sequence[Any]]) -> Callable[..., Sequence[Any]]:
    """A launch as a part of a larger computation, which refuses to be differentiated.

    Args:
      name: the kernel's.
      emit: gives the results of the launch's arguments.
    """
    launch = jax.custom_jvp(emit)

    @launch.defjvp
    def derivative(primals: Any, tangents: Any) -> Any:
        raise KernelError(
            f"a launch of kernel {name} has no derivative, but one is asked for, as by jax.grad or jax.jvp; write "
            "another kernel for it and give both to jax.custom_vjp, or pass jax.lax.stop_gradient(x) where an argument "
            "is constant"
        )

    return launch

"""Staged: a kernel over an nd-range as a function of its arrays, which can be called, traced and lowered."""

import inspect
import keyword
from collections.abc import Callable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np

from xeemu.devices.device import Device
from xeemu.errors import KernelArgumentError
from xeemu.language import public
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.language.program import Program
from xeemu.launching.arguments import SHAPED

T = TypeVar("T")


class Stages(NamedTuple):
    """A launch as functions of its arrays: what gives its program, and what carries it out."""

    traced: Callable[..., Program]
    launched: Callable[..., Any]


class Staged(Generic[T]):
    """A function of a kernel's arrays and scalars by position, and of its static parameters by name.

    Attributes:
      kernel: the kernel.
      nd_range: over which it is launched; None where that is swept.
      device: the modelled device.
      options: those that were chosen; None and False are left out.
    """

    def __init__(
        self,
        entry_point: str,
        kernel: Kernel,
        nd_range: NDRange | None,
        device: Device,
        call: Callable[..., T],
        options: Mapping[str, Any],
    ):
        self.kernel, self.nd_range, self.device = kernel, nd_range, device
        self.options = {name: value for name, value in options.items() if value is not None and value is not False}
        self._entry_point, self._call = entry_point, call
        self.__name__ = self.__qualname__ = kernel.name
        self.__doc__ = f"xe.{entry_point} of kernel {kernel.name}.\n\n{inspect.getdoc(kernel) or ''}".rstrip()
        self.__signature__ = _signature(kernel)

    def __call__(self, *arguments: Any, **static: Any) -> T:
        """What the function gives of these arrays and scalars, and of these static parameters."""
        __tracebackhide__ = True
        try:
            return self._call(*arguments, **static)
        except Exception as error:
            public.shorten(error)
            raise

    def __repr__(self) -> str:
        over = "" if self.nd_range is None else f" over {self.nd_range}"
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"<xe.{self._entry_point} of kernel {self.kernel.name}{over}, device {self.device.name}{options}>"


class Launched(Staged[T]):
    """A transformation of one launch, which can also be traced and lowered for arguments of some shapes."""

    def __init__(
        self,
        entry_point: str,
        kernel: Kernel,
        nd_range: NDRange,
        device: Device,
        call: Callable[..., T],
        options: Mapping[str, Any],
        stages: Stages,
    ):
        super().__init__(entry_point, kernel, nd_range, device, call, options)
        self._stages = stages

    @public.boundary
    def trace(self, *arguments: Any, **static: Any) -> Program:
        """The program that the launch runs, as `xe.trace` gives it.

        Args:
          *arguments: as of a call; of arrays only shapes and dtypes count, so that `jax.ShapeDtypeStruct` will do.
          **static: as of a call.
        """
        return self._stages.traced(*arguments, **static)

    @public.boundary
    def lower(self, *arguments: Any, **static: Any) -> jax.stages.Lowered:
        """The launch as JAX lowers it: `.as_text()` is its StableHLO, `.compile()` makes it a function of the arrays.

        It is `xe.launch` that is lowered, without what a check or a profile watches in it. What is compiled of a launch
        with 64-bit types is called with these: `with jax.enable_x64(True)`.

        Args:
          *arguments: as of a call; of arrays only shapes and dtypes count, so that `jax.ShapeDtypeStruct` will do.
          **static: as of a call.
        """
        if (k := next((k for k, x in enumerate(arguments) if _is_of_structs(x)), None)) is not None:
            raise KernelArgumentError(
                f"argument {k} of {self.kernel.name} is an array of structs, of which JAX has none: it can be "
                "launched, checked and costed, but not lowered; xe.trace prints its program, and a kernel that takes "
                "an array for each field can be lowered"
            )
        # Numbers that decide how a kernel of C is traced, and what C alone has, are known; all else are arguments.
        is_plain = self.kernel.interface is None
        taken = [
            k for k, x in enumerate(arguments) if is_plain or (isinstance(x, SHAPED) and not isinstance(x, np.generic))
        ]

        def launch(*arrays: Any) -> Any:
            given = dict(zip(taken, arrays, strict=True))
            return self._stages.launched(*(given.get(k, x) for k, x in enumerate(arguments)), **static)

        launch.__name__ = self.kernel.name
        with jax.enable_x64(self._stages.traced(*arguments, **static).wide):
            return jax.jit(launch).lower(*(arguments[k] for k in taken))


def _is_of_structs(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "names", None) is not None


def _signature(kernel: Kernel) -> inspect.Signature:
    """How a launch of the kernel is called, as `inspect` and `help` tell it."""
    of = inspect.Parameter
    names = kernel.parameters if all(map(_is_name, kernel.parameters)) else ()
    arrays = [of(name, of.POSITIONAL_ONLY) for name in names] or [of("arrays", of.VAR_POSITIONAL)]
    static = [of(n, of.KEYWORD_ONLY, default=x) for n, x in kernel.static_defaults.items() if _is_name(n)]
    return inspect.Signature([*arrays, *static])


def _is_name(name: str) -> bool:
    """True if Python may have a parameter of that name; those of C may be Python's own words."""
    return name.isidentifier() and not keyword.iskeyword(name)

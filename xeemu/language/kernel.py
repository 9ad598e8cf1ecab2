"""Kernel: a function in the kernel language with the sizes that it requires."""

import contextlib
import dataclasses
import functools
import inspect
import math
import types
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, overload

import jax
import numpy as np

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language import bindings, interface, public, source
from xeemu.language.bindings import Bindings
from xeemu.language.dialect import PYTHON, Dialect
from xeemu.language.interface import Interface
from xeemu.language.ndrange import NDRange
from xeemu.language.workgroup import WorkGroup


@public.constructor
@dataclasses.dataclass(frozen=True)
class Kernel:
    """A function written for one work-group, as `@xe.kernel` makes it.

    Attributes:
      function: takes the work-group, the launch's arrays by position and static values by keyword.
      sub_group_size: the sub-group size that it requires (SYCL's `reqd_sub_group_size`), or None.
      work_group_size: the work-group size that it requires (SYCL's `reqd_work_group_size`), or None.
      interface: of a kernel of another language, how it is called; None: as its function is.
      nd_range: of a kernel of SYCL C++ the sizes with which the host code launches it first; None if not known.
      nd_ranges: the different sizes of all its launches there that are known, the first one's first.
      grf_size: the registers of a thread that it requires on Xe (`sycl::ext::intel::experimental::grf_size`): 128, or
        256 at half the threads; None leaves it at 128.
      structure: of a launch with pytrees for arguments their structure; its leaves are what is launched.
    """

    function: Callable[..., Any]
    sub_group_size: int | None = None
    work_group_size: tuple[int, ...] | None = None
    interface: Interface | None = None
    nd_range: NDRange | None = None
    nd_ranges: tuple[NDRange, ...] = ()
    grf_size: int | None = None
    structure: Any = None

    def __post_init__(self) -> None:
        if self.grf_size not in (None, 128, 256):
            raise KernelArgumentError(f"grf_size={self.grf_size!r}; give 128 or 256, the registers of a thread")
        if not isinstance(self.function, types.FunctionType):
            raise KernelArgumentError(
                f"@xe.kernel takes a function, but got {source.called(self.function)}; write the kernel with def, "
                "and jit what launches it"
            )
        for attribute in (*functools.WRAPPER_ASSIGNMENTS, "__wrapped__"):
            object.__setattr__(self, attribute, getattr(self.function, attribute, self.function))
        if self.interface is None:
            self._check_signature()

    def _check_signature(self) -> None:
        kinds = [parameter.kind for parameter in self._signature.parameters.values()]
        if not kinds or kinds[0] not in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            raise KernelArgumentError(
                f"kernel {self.name} takes no work-group; its first parameter is one: def {self.name}(wg, ...)"
                f"\n  at {source.of_function(self.function.__code__)}"
            )
        if inspect.Parameter.VAR_POSITIONAL in kinds or inspect.Parameter.VAR_KEYWORD in kinds:
            raise KernelArgumentError(
                f"kernel {self.name} takes *args or **kwargs; name its arrays as positional parameters and its static "
                f"values as keyword-only ones\n  at {source.of_function(self.function.__code__)}"
            )

    @public.boundary
    def __call__(self, wg: WorkGroup, *arrays: Any, **static: Any) -> Any:
        """Calls the kernel as a device function of another one."""
        if not isinstance(wg, WorkGroup):
            raise KernelArgumentError(
                f"kernel {self.name} was called like a function; launch it: "
                f"xe.launch({self.name}, xe.NDRange(global_size, local_size))(...)"
            )
        if self.interface is not None:
            raise KernelArgumentError(
                f"kernel {self.name} is written in {self.dialect.language}; it can be launched, not called by a kernel"
            )
        return self.function(wg, *arrays, **static)

    def __repr__(self) -> str:
        names = ("sub_group_size", "work_group_size", "grf_size")
        sizes = {name: getattr(self, name) for name in names}
        required = "".join(f", {name}={size}" for name, size in sizes.items() if size is not None)
        required += "".join(f", {name}={value!r}" for name, value in self.captured.items())
        what = self.interface.declaration if self.interface is not None else self.name
        return f"<kernel {what}{required} at {source.of_function(self.function.__code__).place}>"

    @property
    def name(self) -> str:
        return self.function.__name__

    @property
    def dialect(self) -> Dialect:
        """The language in which advice on it is given."""
        return PYTHON if self.interface is None else self.interface.dialect

    @property
    def summary(self) -> str:
        """The first line of the docstring, or of the comment above it."""
        if self.interface is not None:
            return self.interface.summary
        return (self.function.__doc__ or "").strip().partition("\n")[0]

    # Cached, for each launch asks, and `inspect` takes longer than a small launch.
    @functools.cached_property
    def parameters(self) -> tuple[str, ...]:
        """The names of the launch's arrays, in order; of the leaves of a pytree such as `state['x']`."""
        if self.interface is not None:
            return self.interface.parameters
        names = interface.of_signature(self._signature)[0]
        if self.structure is None:
            return names
        numbers = jax.tree.unflatten(self.structure, range(self.structure.num_leaves))
        paths = jax.tree.leaves_with_path(numbers)
        return tuple(names[path[0].idx] + jax.tree_util.keystr(path[1:]) for path, _ in paths)

    def with_leaves(self, arguments: Sequence[Any]) -> tuple["Kernel", Sequence[Any]]:
        """The kernel of the leaves of its arguments, and these; kernel and arguments themselves if none is a pytree.

        A list of numbers is taken for an array in the making, not for a pytree.
        """
        if self.interface is not None or len(arguments) != len(self.parameters):
            return self, arguments
        leaves = jax.tree.leaves(tuple(arguments), is_leaf=_is_no_tree)
        structure: Any = jax.tree.structure(tuple(arguments), is_leaf=_is_no_tree)
        if structure == jax.tree.structure((0,) * len(arguments)):
            return self, arguments
        taken = dataclasses.replace(self, structure=structure)
        vars(taken)["reached"] = self.reached  # of the same function
        return taken, leaves

    def required_size(self, dimensions: int) -> tuple[int, ...] | None:
        """The work-group size that a launch of some dimensions must have, or None.

        Where the language says so, dimensions that are missing in front are of size 1.
        """
        required = self.work_group_size
        if required is None or self.interface is None:
            return required
        least = required[next((d for d, n in enumerate(required) if n != 1), len(required) - 1) :]
        return (1,) * (dimensions - len(least)) + least

    def bind_static(self, given: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        """The static parameters with their defaults, sorted by name; they must be known, complete and hashable."""
        if not given and self._bound_defaults is not None:
            return self._bound_defaults
        known = self.static_defaults
        if by_name := [name for name in self.parameters if name in given]:
            raise KernelArgumentError(
                f"kernel {self.name} takes {', '.join(by_name)} by position, not by keyword; its arguments are "
                f"({', '.join(self.parameters)})"
            )
        if unknown := sorted(set(given) - set(known)):
            meant = did_you_mean(unknown[0], list(known))
            raise KernelArgumentError(
                f"kernel {self.name} has no static parameter {', '.join(unknown)}{meant}; "
                f"it has {', '.join(known) or 'none'} (keyword-only parameters are static; arrays go by position)"
            )
        static = {**known, **given}
        if missing := [name for name, value in static.items() if value is inspect.Parameter.empty]:
            raise KernelArgumentError(f"kernel {self.name} needs the static parameter {', '.join(missing)} by keyword")
        return self._bound(static)

    def _bound(self, static: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
        for name, value in static.items():
            _check_hashable(self.name, name, value)
        return tuple(sorted(static.items()))

    @functools.cached_property
    def _bound_defaults(self) -> tuple[tuple[str, Any], ...] | None:
        """What `bind_static` gives of nothing; None if it refuses that."""
        if inspect.Parameter.empty in self.static_defaults.values():
            return None
        return self._bound(self.static_defaults)

    @property
    def captured(self) -> Mapping[str, Any]:
        """The numbers and texts of the function around it, by name, which tell kernels of one factory apart."""
        if self.interface is not None:
            return {}
        cells = zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True)
        return {name: held for name, cell in cells for held in _contents(cell) if isinstance(held, _PLAIN)}

    def bindings(self, static: Sequence[tuple[str, Any]] = ()) -> Hashable:
        """What all that it and functions among its static values reach is bound to now; equal where traces are."""
        of_static = bindings.of_static(value for _, value in static) if static else None
        return self.reached.now() if of_static is None else (self.reached.now(), of_static)

    @functools.cached_property
    def reached(self) -> Bindings:
        """What it reaches; of a kernel of another language nothing, for its source has been read."""
        return Bindings(self.function) if self.interface is None else Bindings()

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.signature(self.function)

    @functools.cached_property
    def static_defaults(self) -> Mapping[str, Any]:
        """The static parameters with their defaults; `inspect.Parameter.empty` where there is none."""
        return interface.of_signature(self._signature)[1] if self.interface is None else self.interface.static


_PLAIN = (bool, int, float, str, np.generic)


def _contents(cell: types.CellType) -> Iterator[Any]:
    """What a variable of a function around a kernel holds; nothing before it was given a value."""
    with contextlib.suppress(ValueError):
        yield cell.cell_contents


def _is_no_tree(x: Any) -> bool:
    return x is None or (type(x) is list and len(x) > 0 and all(isinstance(n, bool | int | float) for n in x))


def _check_hashable(kernel: str, name: str, value: Any) -> None:
    try:
        hash(value)
    except TypeError:
        raise KernelArgumentError(
            f"the static parameter {name} of kernel {kernel} is {source.called(value)}, which has no hash; static "
            "parameters are constants such as ints, strings and tuples; pass an array by position"
        ) from None


@overload
def kernel(function: Callable[..., Any]) -> Kernel: ...
@overload
def kernel(
    *,
    sub_group_size: int | None = None,
    work_group_size: int | Sequence[int] | None = None,
    grf_size: int | None = None,
) -> Callable[[Callable[..., Any]], Kernel]: ...
@public.function
def kernel(
    function: Callable[..., Any] | None = None,
    *,
    sub_group_size: int | None = None,
    work_group_size: int | Sequence[int] | None = None,
    grf_size: int | None = None,
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Makes a kernel of a function; used as `@xe.kernel` or `@xe.kernel(sub_group_size=16, work_group_size=64)`.

    Args:
      function: `def k(wg, *arrays, **static)`: the work-group, arrays by position, static values keyword-only. It
        returns the memories that it changed.
      sub_group_size: the size that the kernel requires, as `[[sycl::reqd_sub_group_size]]`.
      work_group_size: the size that the kernel requires, as `[[sycl::reqd_work_group_size]]`; an int or a tuple.
      grf_size: the registers of a thread that it requires on Xe, 128 or 256, as
        `sycl::ext::intel::experimental::grf_size`.
    """
    given = (work_group_size,) if isinstance(work_group_size, int) else work_group_size
    size = None if given is None else tuple(given)
    if size is not None and not (1 <= len(size) <= 3 and math.prod(size) > 0):
        raise KernelArgumentError(f"work_group_size={work_group_size!r}; give one to three positive integers")
    if function is None:
        return public.boundary(lambda f: Kernel(f, sub_group_size, size, grf_size=grf_size))
    return Kernel(function, sub_group_size, size, grf_size=grf_size)

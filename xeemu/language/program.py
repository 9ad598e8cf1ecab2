"""Program: a kernel traced for one work-group, which everything else interprets."""

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

import jax
import numpy as np

from xeemu.errors import Error, KernelError, NoSuchVariableError
from xeemu.ir import ops, verifier
from xeemu.ir.program import Op, Region
from xeemu.language import (
    calls,
    diagnosis,
    expressions,
    foreign,
    importing,
    linearity,
    listing,
    separation,
    source,
    waiting,
)
from xeemu.language.geometry import Geometry
from xeemu.language.interface import Retrace
from xeemu.language.kernel import Kernel
from xeemu.language.linearity import Allocation
from xeemu.language.memory import Memory, MemoryType
from xeemu.language.workgroup import NeedsWideTypes, WorkGroup

# Python asked for the value of a traced array: `if x:`, `range(x)`, `np.asarray(x)`.
_NEEDS_VALUE = (
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerIntegerConversionError,
)
_NEEDS_VALUE_TOO = (
    "truth value of an array",
    "Only integer scalar arrays can be converted to a scalar index",
    "Only scalar arrays can be converted",
)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Program:
    """A kernel as it was traced for one work-group, with what is known about its memories.

    Attributes:
      kernel: what was traced.
      geometry: the sizes it was traced for.
      static: the static parameters, sorted by name.
      body: its operations; its inputs are the launch's arguments, its outputs the memories that the kernel returns.
      arguments: for each input its global memory, or None for a scalar.
      allocations: the local and private memories.
      written: the memories that are stored to or updated atomically.
      outputs: for each result the number of the argument that it is the last version of.
      output_tree: the structure of what the kernel returns.
      wide: true if JAX's 64-bit types were on.
      sub_groups: true if the kernel has asked for its sub-groups.
      notes: what is printed beside operations, in place of the lines that they come from.
    """

    kernel: Kernel
    geometry: Geometry
    static: tuple[tuple[str, Any], ...]
    body: Region
    arguments: tuple[Allocation | None, ...]
    allocations: tuple[Allocation, ...]
    written: frozenset[Allocation]
    outputs: tuple[int, ...]
    output_tree: Any
    wide: bool
    sub_groups: bool = False
    notes: Mapping[Op, str] = dataclasses.field(default_factory=dict)

    @functools.cached_property
    def local_bytes(self) -> int:
        """Local memory of one work-group."""
        return sum(a.nbytes for a in self.allocations if a.space == "local")

    @functools.cached_property
    def private_bytes(self) -> int:
        """Private memory of one work-item."""
        return sum(a.nbytes for a in self.allocations if a.space == "private")

    def is_alone(self, number: int) -> bool:
        """True if the kernel does not change a memory, or uses it in one operation only."""
        return self.arguments[number] not in self.written or len(self.uses(number)) == 1

    def uses(self, number: int) -> tuple[int, ...]:
        """The numbers of the operations that use a memory one after the other; none of them if anything else does."""
        found: list[int] = []
        memory = self.body.inputs[number]
        while users := [n for n, op in enumerate(self.body.ops) if any(a is memory for a in op.used)]:
            op = self.body.ops[users[0]]
            returned = any(a is memory for a in self.body.outputs)
            if len(users) > 1 or returned or op.name not in ops.ACCESSES:
                return ()
            found.append(users[0])
            if not ops.changes(op):
                break
            memory = op.results[-1]
        return tuple(found)

    def __repr__(self) -> str:
        return f"<Program of {self.kernel.name}, nd-range {'x'.join(map(str, self.geometry.global_range))}>"

    def __str__(self) -> str:
        return listing.of_program(self)

    def _repr_html_(self) -> str:
        return listing.fragment(self)


def trace(
    kernel: Kernel, geometry: Geometry, arguments: Sequence[jax.ShapeDtypeStruct], static: tuple[tuple[str, Any], ...]
) -> Program:
    """Traces `kernel` for one work-group and checks it.

    Args:
      kernel: the kernel.
      geometry: sizes of the launch.
      arguments: shapes and dtypes of the launch's arrays and scalars, as given: 64-bit ones not cut.
      static: the static parameters.

    Raises:
      KernelError: the kernel breaks a rule of the language.
    """
    wide = geometry.id_type.itemsize == 8 or any(a.dtype.itemsize == 8 for a in arguments)
    try:
        return _trace(kernel, geometry, arguments, static, wide)
    except NeedsWideTypes:
        return _trace(kernel, geometry, arguments, static, True)


def _trace(
    kernel: Kernel,
    geometry: Geometry,
    arguments: Sequence[jax.ShapeDtypeStruct],
    static: tuple[tuple[str, Any], ...],
    wide: bool,
) -> Program:
    definition = source.of_function(kernel.function.__code__)
    group = WorkGroup(geometry, _dialect=kernel.dialect)
    with jax.enable_x64(wide):
        closed, output_tree = _closed(kernel, group, [_widened(a, wide) for a in arguments], static, definition)
    body = _imported(closed, kernel, definition)
    memories = _memories(kernel, arguments, definition)
    usage = _checked(body, memories, geometry, definition)
    outputs = tuple(_argument(memories, a, definition) for a in usage.outputs)
    return Program(
        kernel,
        geometry,
        static,
        body,
        memories,
        usage.allocations,
        usage.written,
        outputs,
        output_tree,
        wide,
        bool(group._asked),
    )


def _closed(
    kernel: Kernel,
    group: WorkGroup,
    arguments: Sequence[jax.ShapeDtypeStruct],
    static: tuple[tuple[str, Any], ...],
    definition: source.Site,
) -> tuple[Any, Any]:
    """What JAX has traced of a kernel, and the structure of what the kernel returns."""
    returned: list[Any] = []
    raised, geometry = _Raised(), group._geometry

    def run(*values: jax.Array) -> list[jax.Array]:
        taken = [_parameter(v, name, geometry) for v, name in zip(values, kernel.parameters, strict=True)]
        if kernel.structure is not None:
            taken = jax.tree.unflatten(kernel.structure, taken)
        with raised.noted():
            result = kernel.function(group, *taken, **dict(static))
        leaves, tree = jax.tree.flatten(result, is_leaf=lambda x: isinstance(x, Memory))
        returned.append(tree)
        hint = _of_pair(result)
        return [_returned(leaf, kernel, definition, hint) for leaf in leaves]

    return _traced(run, arguments, kernel, geometry.local_range, raised), returned[-1]


def _memories(
    kernel: Kernel, arguments: Sequence[jax.ShapeDtypeStruct], definition: source.Site
) -> tuple[Allocation | None, ...]:
    """The global memories that the arguments are; None for a scalar."""
    aliased = kernel.interface.may_alias if kernel.interface is not None else ()
    return tuple(
        Allocation(name, "global", a.shape, np.dtype(a.dtype), definition, name in aliased) if a.shape else None
        for a, name in zip(arguments, kernel.parameters, strict=True)
    )


def _imported(closed: Any, kernel: Kernel, definition: source.Site) -> Region:
    """The program that JAX has traced.

    Raises:
      KernelError: it uses what JAX knows only later, or has an operation that is not in the table.
    """
    if any(isinstance(array, jax.core.Tracer) for array in importing.taken(closed)):
        raise source.kernel_error(
            f"kernel {kernel.name} uses a value of a surrounding jit, vmap or grad; pass it to the launch by position",
            definition,
        )
    body = importing.imported(closed)
    _check_known(body)
    return body


def _checked(
    body: Region, memories: Sequence[Allocation | None], geometry: Geometry, definition: source.Site
) -> linearity.Usage:
    """What a program does with its memories, once it is checked.

    Raises:
      KernelError: it does what no kernel may, whatever the data.
    """
    usage = linearity.check(body, memories, definition)
    waiting.check(body, memories)
    separation.check_divergent(body, geometry)
    if geometry.plain:
        separation.check(body, geometry)
    verifier.verify(body, lambda op: str(source.of_op(op)))
    return usage


def _check_known(body: Region) -> None:
    """Checks that all that reads a program knows its operations.

    Raises:
      KernelError: it has one that is not in the table.
    """
    for op in body.walk():
        if not ops.is_known(op):
            raise source.kernel_error(
                f"the operation {op.name} of JAX is none that xeemu knows (xeemu/ir/table.py); write the "
                "kernel with other operations of jax.numpy and jax.lax",
                source.of_op(op),
            )


def _widened(argument: jax.ShapeDtypeStruct, wide: bool) -> jax.ShapeDtypeStruct:
    """A Python scalar has the default width of the mode that the kernel is traced in."""
    if not (wide and argument.weak_type and not argument.shape) or argument.dtype.kind not in "iuf":
        return argument
    return jax.ShapeDtypeStruct((), np.dtype(f"{argument.dtype.kind}8"), weak_type=True)


def _parameter(value: jax.Array, name: str, geometry: Geometry) -> Any:
    return Memory(value, MemoryType("global", geometry.local_range, name)) if value.ndim else value


def _of_pair(result: Any) -> str:
    """What is said where a kernel returns the pair that an atomic operation gives, old value and memory."""

    def is_pair(x: Any) -> bool:
        return isinstance(x, tuple) and len(x) == 2 and isinstance(x[0], jax.Array) and isinstance(x[1], Memory)

    name = next((x[1].name for x in jax.tree.leaves(result, is_leaf=is_pair) if is_pair(x)), "")
    return name and (
        f"; atomic operations that give the old value give (old, memory): write old, {name} = "
        f"{name}.atomic[i].fetch_add(x) and return {name}"
    )


def _returned(leaf: Any, kernel: Kernel, definition: source.Site, hint: str) -> jax.Array:
    if isinstance(leaf, Memory):
        return leaf._version
    raise source.kernel_error(
        f"kernel {kernel.name} returns {source.called(leaf)}; a kernel returns the global memories that it changed: "
        f"store the values in one{hint}",
        definition,
    )


def _argument(memories: Sequence[Allocation | None], returned: Allocation, definition: source.Site) -> int:
    if returned not in memories:
        raise source.kernel_error(
            f"the kernel returns {returned.space} memory {returned.name}, which ends with its work-group; "
            "store its elements in a global memory",
            definition,
        )
    return memories.index(returned)


class _Raised:
    """What a kernel has raised as it was traced, seen before JAX takes frames out of the traceback.

    Attributes:
      by_user: true if the line that raised it is the user's own.
    """

    def __init__(self) -> None:
        self.by_user = False

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Notes who has raised what leaves the context."""
        try:
            yield
        except NameError as error:
            self.by_user = source.raised_by_user(error)
            known = error.name and foreign.written(error.name)
            if not known:
                raise
            raise NoSuchVariableError(
                f"{error.name} is not defined; for that of SYCL, OpenCL or CUDA a kernel writes {known}"
                f"\n  at {source.of_raised(error)}"
            ) from None
        except TypeError as error:
            self.by_user = source.raised_by_user(error)
            if self.by_user and (told := calls.refused(error)):
                raise told from None
            raise
        except Exception as error:
            self.by_user = source.raised_by_user(error)
            raise


def _traced(
    run: Callable[..., Any],
    arguments: Sequence[jax.ShapeDtypeStruct],
    kernel: Kernel,
    local_range: tuple[int, ...],
    raised: "_Raised",
) -> Any:
    """What JAX has traced of `run`; what it refuses in a kernel is told in the kernel's terms, with its line."""
    try:
        return jax.make_jaxpr(run)(*arguments)
    except (Error, NeedsWideTypes, Retrace):
        raise
    except _NEEDS_VALUE as error:
        raise _value_needed(error, kernel) from None
    except Exception as error:
        # What the user's own lines raise is theirs; what JAX and NumPy raise is told with the kernel's line.
        if raised.by_user:
            source.forget_filtering(error)
            raise
        if any(words in str(error) for words in _NEEDS_VALUE_TOO):
            raise _value_needed(error, kernel) from None
        site = source.of_exception(error, kernel.function.__code__)
        entry, why = source.raised_at(error, kernel.function.__code__), str(error) or type(error).__name__
        scalars = _scalars_on(kernel, site.source, entry.tb_frame) if entry else ()
        if told := diagnosis.of_error(error, local_range, site.source, scalars):
            raise source.kernel_error(told, site) from error
        function = (entry and expressions.function_of_call(entry)) or "an operation"
        raise KernelError(f"JAX refuses {function} in kernel {kernel.name}: {why}\n  at {site}") from error


def _value_needed(error: Exception, kernel: Kernel) -> KernelError:
    entry = source.raised_at(error, kernel.function.__code__)
    site = source.of_exception(error, kernel.function.__code__)
    remedy = (expressions.instead(entry) or _static_instead(kernel, site.source, entry.tb_frame)) if entry else None
    return source.kernel_error(
        f"kernel {kernel.name} needs the value of an array in Python, but the array is known only as the kernel runs; "
        f"{remedy or _GENERAL}",
        site,
    )


def _static_instead(kernel: Kernel, line: str, frame: FrameType) -> str | None:
    """What to write where a line needs a number that the launch is given, and the kernel has as a scalar; else None."""
    scalars = _scalars_on(kernel, line, frame)
    if not scalars:
        return None
    return (
        f"if {scalars[0]} is one number for the launch, make it a static parameter, "
        f"def {kernel.name}(wg, ..., *, {scalars[0]}), and give it by name; {_GENERAL}"
    )


def _scalars_on(kernel: Kernel, line: str, frame: FrameType) -> tuple[str, ...]:
    """The parameters that a line names and that are scalars in a frame of the kernel."""
    scalars = [p for p in kernel.parameters if isinstance(x := frame.f_locals.get(p), jax.Array) and not x.ndim]
    return tuple(p for p in scalars if re.search(rf"(?<![\w.]){re.escape(p)}(?!\w)", line))


_GENERAL = (
    "where it differs between work-items, write wg.cond, wg.while_loop or wg.fori_loop, or mask the memory operations "
    "with where= and choose with jnp.where; where it is one value for the work-group, use lax.cond, lax.while_loop or "
    "lax.fori_loop"
)

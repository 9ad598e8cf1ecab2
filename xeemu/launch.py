"""launch: a kernel over an nd-range as a function over arrays."""

import dataclasses
import functools
import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu import analysis, conversions, geometry, interpreter, limits, program, sharding
from xeemu.analysis import Plan
from xeemu.device import Device
from xeemu.device import device as find_device
from xeemu.errors import KernelArgumentError
from xeemu.geometry import Geometry
from xeemu.kernel import Kernel
from xeemu.ndrange import NDRange
from xeemu.observer import Observer
from xeemu.program import Program
from xeemu.values import Chunk

DEFAULT_DEVICE = "max1550"

Watch = Callable[[Chunk, Any], Observer]
_Carry = tuple[list[jax.Array], Any]

# A chunk's working set unless the user says otherwise: about a core's cache on a CPU, enough to fill a GPU.
_CHUNK_BYTES = {"cpu": 1 << 20}
_GPU_CHUNK_BYTES = 2 << 30


@dataclasses.dataclass(frozen=True)
class Options:
    """How a launch is emulated."""

    memory_bytes: int | None
    deterministic: bool
    donate: bool
    platform: str
    mesh: jax.sharding.Mesh | None = None

    @property
    def shards(self) -> int:
        """Devices that share a launch."""
        return self.mesh.size if self.mesh else 1


@dataclasses.dataclass(frozen=True)
class Share:
    """The part of a launch's chunks that one of several devices carries out.

    Attributes:
      number: of the device, a traced scalar.
      bounds: the first chunk of each device, and the end; the last device has what is left of a chunk as well.
    """

    number: jax.Array
    bounds: tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """A traced, analysed and checked kernel, ready to be emitted.

    Attributes:
      program: the traced kernel.
      plan: its analysis.
      chunk: work-groups that are emulated together.
      options: how it is emulated.
    """

    program: Program
    plan: Plan
    chunk: int
    options: Options

    def emit(self, *arguments: jax.Array) -> list[jax.Array]:
        """The arrays that the kernel returns, as JAX operations on the launch's arguments."""
        return self.watched(arguments, lambda chunk, state: Observer(), ())[0]

    def watched(
        self, arguments: Sequence[jax.Array], watch: Watch, state: Any, share: Share | None = None
    ) -> tuple[list[jax.Array], Any]:
        """The same, and the state that an observer of every chunk leaves.

        Args:
          arguments: the launch's.
          watch: makes the observer of a chunk from the chunk and the state before it.
          state: before the first chunk, a pytree.
          share: the chunks to carry out; None for all.
        """
        shapes = [a.shape for a in arguments]
        flat = [a.reshape(-1) if a.ndim else a for a in arguments]
        written = [
            k
            for k, memory in enumerate(self.program.arguments)
            if memory is not None and memory in self.program.written
        ]
        # A user's strictness about ranks holds for the kernel, which is traced by now.
        with jax.numpy_rank_promotion("allow"):
            memories, state = self._all_chunks(flat, written, watch, state, share)
        final = dict(zip(written, memories, strict=True))
        return [final.get(k, flat[k]).reshape(shapes[k]) for k in self.program.outputs], state

    @property
    def chunks(self) -> tuple[int, int]:
        """The number of full chunks, and the groups that are left."""
        return divmod(self.program.geometry.groups, self.chunk)

    def _all_chunks(
        self, flat: list[jax.Array], written: list[int], watch: Watch, state: Any, share: Share | None
    ) -> _Carry:
        full, rest = self.chunks
        carry = [flat[k] for k in written], state
        if not jax.tree.leaves(carry):
            return carry

        def step(first: Any, count: int, carry: _Carry) -> _Carry:
            return self._one_chunk(first, count, flat, written, watch, carry)

        def numbered(k: jax.Array, carry: _Carry) -> _Carry:
            id_type = self.program.geometry.id_type
            return step(k.astype(id_type) * id_type.type(self.chunk), self.chunk, carry)

        if share is not None:
            bounds = np.asarray(share.bounds, np.int32)
            low, high = jnp.asarray(bounds[:-1])[share.number], jnp.asarray(bounds[1:])[share.number]
            carry = lax.fori_loop(low, high, numbered, carry)
            is_last = share.number == len(bounds) - 2
            return lax.cond(is_last, lambda c: step(full * self.chunk, rest, c), lambda c: c, carry) if rest else carry
        if full > 1:
            carry = lax.fori_loop(0, full, numbered, carry)
        elif full:
            carry = step(0, self.chunk, carry)
        return step(full * self.chunk, rest, carry) if rest else carry

    def _one_chunk(
        self, first: Any, count: int, flat: list[jax.Array], written: list[int], watch: Watch, carry: _Carry
    ) -> _Carry:
        memories, state = carry
        arguments = list(flat)
        for k, data in zip(written, memories, strict=True):
            arguments[k] = data
        on_cpu = self.options.platform == "cpu"
        chunk = Chunk(self.program.geometry, first, count, on_cpu, self.options.deterministic)
        observer = watch(chunk, state)
        outputs = interpreter.run(self.program, self.plan, arguments, chunk, observer)
        returned = dict(zip(self.program.outputs, outputs, strict=True))
        return [returned[k] for k in written], observer.close()

    def run(self, given: Sequence[Any]) -> list[np.ndarray]:
        """The arrays that the kernel returns, of a launch's arguments as they were given."""
        with jax.enable_x64(self.program.wide):
            return [np.asarray(output) for output in self.compiled(*given)]

    def run_watched(
        self, given: Sequence[Any], compiled: Callable[..., tuple[list[jax.Array], Any]]
    ) -> tuple[list[np.ndarray], Any]:
        """The same by a compiled function that watches as well, with 64-bit types on; and the state that it leaves."""
        # Scalars in the dtypes that the program was traced for; arrays as they are.
        avals = [v.aval for v in self.program.body.invars]
        arguments = [np.asarray(a, v.dtype) if not np.shape(a) else a for a, v in zip(given, avals, strict=True)]
        with jax.enable_x64(True):
            outputs, state = compiled(*arguments)
        return [np.asarray(output) for output in outputs], jax.tree.map(np.asarray, state)

    @functools.cached_property
    def compiled(self) -> Callable[..., list[jax.Array]]:
        """`emit` as a compiled function."""
        donated = self.program.outputs if self.options.donate else ()
        return jax.jit(self.emit, donate_argnums=donated)


def launch(
    kernel: Kernel,
    nd_range: NDRange,
    device: str | Device = DEFAULT_DEVICE,
    memory_bytes: int | None = None,
    deterministic: bool = False,
    donate: bool = False,
    mesh: jax.sharding.Mesh | None = None,
) -> Callable[..., Any]:
    """A kernel over an nd-range as a function over arrays.

    Args:
      kernel: what `@xe.kernel` made.
      nd_range: global and local size; without a local size a plain range, of any size.
      device: the modelled device, whose limits hold; where the emulation runs is JAX's choice.
      memory_bytes: bound on the working set of the emulation beside arguments and results. By default about a core's
        cache on a CPU, 2 GiB on a GPU; a single work-group is the least.
      deterministic: whether float atomics give the same bits on every backend, at the price of speed.
      donate: whether the results may take the place of the arguments they come from, which are then lost.
      mesh: devices of JAX that share the work-groups of the launch, in the order of the mesh. Arguments go to all of
        them; a result is divided along its first axis where each device writes a part of its own, else all have it.

    Returns:
      A function `f(*arrays, **static)` that takes the kernel's arrays and scalars by position and its static parameters
      by keyword, and gives what the kernel returns, with arrays in place of memories. Equal calls compile once.

    Raises:
      NDRangeError, KernelNotSupportedError, MemoryAllocationError: the sizes do not fit the device or the kernel.
      KernelArgumentError: wrong arguments.
      KernelError: the kernel breaks a rule of the kernel language, or what the devices of a mesh have written cannot
        be put together.
    """
    modelled = checked_device(kernel, nd_range, device)
    if mesh is not None and not isinstance(mesh, jax.sharding.Mesh):
        raise KernelArgumentError(
            f"mesh is {mesh!r}; give a jax.sharding.Mesh, as by jax.make_mesh((len(jax.devices()),), ('groups',))"
        )
    if memory_bytes is not None and memory_bytes < 1:
        raise KernelArgumentError(
            f"memory_bytes={memory_bytes}; give a positive number of bytes, or None for the default"
        )

    def call(*arguments: Any, **static: Any) -> Any:
        bound = kernel.bind_static(static)
        given = checked_arguments(kernel, arguments, (jax.Array, np.ndarray, np.generic))
        inside_jit = any(isinstance(a, jax.core.Tracer) for a in given)
        platform = mesh.devices.flat[0].platform if mesh else platform_of(given)
        options = Options(memory_bytes, deterministic, donate and not inside_jit, platform, mesh)
        prepared = prepare(kernel, nd_range, modelled, tuple(map(Description.of, given)), bound, options)
        if mesh is not None:
            results = sharding.of_launch(prepared, mesh).run(given, inside_jit)
            return jax.tree.unflatten(prepared.program.output_tree, results)
        with jax.enable_x64(prepared.program.wide):
            results = prepared.emit(*map(jnp.asarray, given)) if inside_jit else prepared.compiled(*given)
        return jax.tree.unflatten(prepared.program.output_tree, results)

    return call


def trace(kernel: Kernel, nd_range: NDRange, device: str | Device = DEFAULT_DEVICE) -> Callable[..., Program]:
    """The program that a launch of a kernel runs: `f(*arrays, **static)`, where shapes and dtypes alone count.

    Args:
      kernel, nd_range, device: as for `launch`.

    Returns:
      A function that takes arrays or `jax.ShapeDtypeStruct`s and gives the `Program`, whose `str` is a listing.
    """
    modelled = checked_device(kernel, nd_range, device)

    def call(*arguments: Any, **static: Any) -> Program:
        given = tuple(map(Description.of, checked_arguments(kernel, arguments, SHAPED)))
        return traced_program(kernel, nd_range, modelled, given, kernel.bind_static(static))

    return call


def prepare_alone(
    kernel: Kernel, nd_range: NDRange, device: Device, given: Sequence[Any], static: Mapping[str, Any]
) -> Prepared:
    """Prepares a launch that is no part of a larger computation."""
    options = Options(None, False, False, platform_of(given))
    return prepare(kernel, nd_range, device, tuple(map(Description.of, given)), kernel.bind_static(static), options)


def scalars(given: Sequence[Any]) -> tuple[Hashable, ...]:
    """For each argument its value if it is a scalar that is known, else None."""
    return tuple(None if isinstance(a, jax.ShapeDtypeStruct) or np.shape(a) else np.asarray(a).item() for a in given)


def outside_jit(what: str, given: list[Any]) -> list[Any]:
    """The arguments of a function whose results are plain values, after the check that they are known."""
    if any(isinstance(a, jax.core.Tracer) for a in given):
        raise KernelArgumentError(f"{what} gives plain values, so it cannot be part of a jit; call it outside")
    return given


def checked_device(kernel: Any, nd_range: Any, device: str | Device) -> Device:
    """The modelled device of a launch, after the check that a kernel and an nd-range were given."""
    if not isinstance(kernel, Kernel):
        raise KernelArgumentError(
            f"a launch takes a kernel, but got a {type(kernel).__name__}; decorate the function with @xe.kernel"
        )
    if not isinstance(nd_range, NDRange):
        raise KernelArgumentError(f"a launch takes an xe.NDRange, but got {nd_range!r}; write xe.NDRange({nd_range!r})")
    return find_device(device)


def prepare(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["Description", ...],
    static: tuple[tuple[str, Hashable], ...],
    options: Options,
) -> Prepared:
    """Checks, traces and analyses a launch; cached, so that equal launches are compiled once."""
    # Static values that are equal may differ in type or sign (4 and 4.0, 0.0 and -0.0); their text does too.
    prepared = _prepared(kernel, nd_range, device, arguments, static, repr(static), options)
    # Each time: the environment may have changed the limits.
    limits.check_memory(prepared.program.local_bytes, prepared.program.private_bytes, device)
    return prepared


@functools.lru_cache(maxsize=512)
def _prepared(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["Description", ...],
    static: tuple[tuple[str, Hashable], ...],
    _spelled: str,
    options: Options,
) -> Prepared:
    traced = traced_program(kernel, nd_range, device, arguments, static)
    plan = analysis.analyse(traced)
    conversions.check(traced, plan)
    return Prepared(traced, plan, _chunk(traced, plan, options), options)


def traced_program(
    kernel: Kernel,
    nd_range: NDRange,
    device: Device,
    arguments: tuple["Description", ...],
    static: tuple[tuple[str, Hashable], ...],
) -> Program:
    """The program of a launch, after the checks of its sizes."""
    limits.check_sizes(nd_range, device, kernel.work_group_size, kernel.sub_group_size)
    sizes = _geometry(kernel, nd_range, device, arguments)
    structs = [jax.ShapeDtypeStruct(a.shape, a.dtype, weak_type=a.weak) for a in arguments]
    return program.trace(kernel, sizes, structs, static)


def _geometry(kernel: Kernel, nd_range: NDRange, device: Device, arguments: Sequence["Description"]) -> Geometry:
    lanes = limits.sub_group_size(device, kernel.sub_group_size)
    largest = max((math.prod(a.shape) for a in arguments), default=0)
    return geometry.cut(nd_range, lanes, kernel.work_group_size, largest, device.max_work_group_size)


def _chunk(traced: Program, plan: Plan, options: Options) -> int:
    """How many groups to emulate together."""
    per_group = analysis.group_bytes(traced, plan)
    budget = options.memory_bytes or _CHUNK_BYTES.get(options.platform, _GPU_CHUNK_BYTES)
    groups = max(traced.geometry.groups, 1)
    # Shards of equal size where there can be such.
    groups = -(-groups // options.shards)
    most = max(1, min(groups, budget // max(per_group, 1)))
    # A divisor of the number of groups needs no second, smaller emission for the rest.
    divisors = (n for n in range(most, most // 2, -1) if groups % n == 0)
    return next(divisors, most)


@dataclasses.dataclass(frozen=True)
class Description:
    """Shape and type of an argument, hashable."""

    shape: tuple[int, ...]
    dtype: np.dtype
    weak: bool

    @classmethod
    def of(cls, x: Any) -> "Description":
        """The description of an array, a scalar or a `jax.ShapeDtypeStruct`."""
        if isinstance(x, bool | int | float) and not isinstance(x, np.generic):
            return cls((), np.dtype({bool: np.bool_, int: np.int32, float: np.float32}[type(x)]), True)
        return cls(tuple(np.shape(x)), np.dtype(x.dtype), bool(getattr(x, "weak_type", False)))


def platform_of(given: Sequence[Any]) -> str:
    """The platform on which JAX will run a launch with these arguments."""
    for x in given:
        if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer):
            return next(iter(x.devices())).platform
    return jax.default_backend()


# What has a shape and a dtype; a launch itself takes no `ShapeDtypeStruct`.
SHAPED = (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)


def checked_arguments(kernel: Kernel, arguments: Sequence[Any], allowed: Any) -> list[Any]:
    """A launch's arguments, of the classes allowed, in the number that the kernel takes."""
    names = kernel.parameters
    if len(arguments) != len(names):
        raise KernelArgumentError(
            f"kernel {kernel.name} takes {len(names)} arguments ({', '.join(names)}), but got {len(arguments)}"
        )
    return [_argument(kernel, name, x, allowed) for name, x in zip(names, arguments, strict=True)]


def _argument(kernel: Kernel, name: str, x: Any, allowed: Any) -> Any:
    where = f"argument {name} of kernel {kernel.name}"
    if isinstance(x, bool):
        return np.bool_(x)
    if isinstance(x, int) and not isinstance(x, np.generic) and not -(2**31) <= x < 2**31:
        raise KernelArgumentError(f"{where} is {x}, beyond 32 bits; pass np.int64({x}) or np.uint64({x})")
    if isinstance(x, int | float) and not isinstance(x, np.generic):
        return x
    if not isinstance(x, allowed):
        raise KernelArgumentError(
            f"{where} is a {type(x).__name__}; pass an array (np.asarray(...)) or a scalar; a static parameter is "
            "keyword-only in the kernel and goes by name"
        )
    numeric = x.dtype == bool or jnp.issubdtype(x.dtype, jnp.integer) or jnp.issubdtype(x.dtype, jnp.floating)
    if not numeric or x.dtype.itemsize > 8:
        raise KernelArgumentError(f"{where} has dtype {x.dtype}; it holds bool, integers or floats of 8 to 64 bits")
    return x

"""Memory: what a kernel loads from, stores to and updates atomically."""

import dataclasses
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.language import assignments, divergence, operands, orders, primitives, source, spelling
from xeemu.language.orders import LOAD_ORDERS, SCOPES, STORE_ORDERS, Ordering
from xeemu.language.primitives import AccessAttributes

_ATOMIC_TYPES = tuple(map(np.dtype, ("int32", "uint32", "int64", "uint64", "float32", "float64")))
_INTEGER_ONLY = frozenset({"and", "or", "xor"})
_RELAXED = Ordering("relaxed", "device")


def poison(dtype: Any) -> Any:
    """What uninitialised memory holds and an out-of-bounds load gives: NaN, True, or the bytes A5 A5 ... .

    The pattern is far from 0 and 1, large, odd, and negative in signed types, so that it shows in results.
    """
    dtype = np.dtype(dtype)
    if jnp.issubdtype(dtype, jnp.bool_):
        return np.bool_(True)
    if jnp.issubdtype(dtype, jnp.floating):
        return dtype.type(np.nan)
    return np.frombuffer(b"\xa5" * dtype.itemsize, dtype)[0]


@dataclasses.dataclass(frozen=True)
class MemoryType:
    """What a memory is, apart from its contents and version.

    The name takes no part in comparisons, so that JAX accepts a loop or branch that swaps two memories of one shape:
    `linearity` refuses it with the kernel's line. The space does: JAX traces a jitted device function anew for it.
    """

    space: str
    local_range: tuple[int, ...]
    name: str = dataclasses.field(compare=False)


@jax.tree_util.register_pytree_node_class
class Memory:
    """One version of a global, local or private memory.

    A memory is linear: every update gives a new version, and the old one must not be used again. An index is an
    integer per dimension of the memory, a scalar or an array of the work-group's shape; trailing axes are private to
    each work-item. Every work-item executes every access unless `where` masks it out.

    Attributes:
      shape: elements per dimension (of one work-item, for private memory).
      dtype: the elements' type.
      space: `"global"`, `"local"` or `"private"`.
      name: the argument or variable that holds it in the kernel.
    """

    def __init__(self, version: jax.Array, description: MemoryType):
        self._version = version
        self._description = description

    def tree_flatten(self) -> tuple[tuple[jax.Array], MemoryType]:
        return (self._version,), self._description

    @classmethod
    def tree_unflatten(cls, description: MemoryType, children: tuple[jax.Array]) -> "Memory":
        return cls(children[0], description)

    @property
    def shape(self) -> tuple[int, ...]:
        return self._version.shape

    @property
    def dtype(self) -> np.dtype:
        return self._version.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def space(self) -> str:
        return self._description.space

    @property
    def name(self) -> str:
        return self._description.name

    def __repr__(self) -> str:
        return f"{self.space} memory {self.name}: {self.dtype}{list(self.shape)}"

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> jax.Array:
        return self.load(index)

    def load(self, index: Any, where: Any = None, other: Any = 0) -> jax.Array:
        """Loads an element for each work-item.

        Args:
          index: an integer or integer array, or a tuple of them, one per dimension.
          where: bool mask; work-items that it leaves out access nothing.
          other: what the masked-out work-items get.

        Returns:
          An array of the work-group's shape and the private axes; a scalar if index and mask are scalars and the memory
          is not private. An out-of-bounds index gives the poison value.
        """
        return self._load(index, where, other)

    def _load_vector(self, start: jax.Array, count: int, volatile: bool = False) -> list[jax.Array]:
        """The elements from a scalar index on that all work-items load at once."""
        given = [lax.add(start, np.asarray(k, start.dtype)) for k in range(count)]
        accessed = [self._access(index, [], None) for index in given]
        return [
            self._loaded(arrays, dataclasses.replace(access, further=k, volatile=volatile), None)
            for k, (arrays, access) in enumerate(accessed)
        ]

    def _load(
        self, index: Any, where: Any = None, other: Any = 0, ordering: Ordering | None = None, **how: Any
    ) -> jax.Array:
        """`load`, of `AccessAttributes` with such fields."""
        given = operands.mask(where, self.name)
        mask = divergence.where(given)
        extra = [] if mask is None else [("where=", mask), ("other=", operands.value(other, self.dtype, self.name))]
        arrays, access = self._access(index, extra, ordering)
        loaded = self._loaded(arrays, dataclasses.replace(access, **how), ordering)
        if mask is None or not mask.ndim or not loaded.ndim or self.space == "private":
            return loaded
        # What active work-items load from one place, they have alike.
        alone = not any(a.ndim for a in arrays[: access.rank]) and (given is None or not given.ndim)
        return divergence.uniform("pick", loaded, mask) if alone else loaded

    def _loaded(self, arrays: list[jax.Array], access: AccessAttributes, ordering: Ordering | None) -> jax.Array:
        if not any(a.ndim for a in arrays) and self.space != "private":
            access = dataclasses.replace(access, shape=())
        if _is_empty(access):
            return jnp.zeros(access.shape, self.dtype)
        if ordering is None:
            return primitives.load_p.bind(self._version, *arrays, access=access)[0]
        return primitives.atomic_p.bind(self._version, *arrays, op="load", fetch=True, access=access)[0]

    def _store(self, index: Any, x: Any, where: Any = None, **how: Any) -> "Memory":
        arrays, access = self._access(index, self._written([x], where), None)
        if _is_empty(access):
            return self
        access = dataclasses.replace(access, **how)
        return self._next(primitives.store_p.bind(self._version, *arrays, access=access)[0])

    def _update(self, index: Any, op: str, fetch: bool, values: list[Any], where: Any, ordering: Ordering) -> Any:
        _check_atomic(self, op)
        arrays, access = self._access(index, self._written(values, where), ordering)
        if _is_empty(access):
            return (jnp.zeros(access.shape, self.dtype), self) if fetch else self
        *old, version = primitives.atomic_p.bind(self._version, *arrays, op=op, fetch=fetch, access=access)
        return (old[0], self._next(version)) if fetch else self._next(version)

    def _written(self, values: list[Any], where: Any) -> list[tuple[str, jax.Array]]:
        named = [("the value", operands.value(x, self.dtype, self.name)) for x in values]
        mask = divergence.where(operands.mask(where, self.name))
        return named if mask is None else [*named, ("where=", mask)]

    def _access(
        self, index: Any, extra: list[tuple[str, jax.Array]], ordering: Ordering | None
    ) -> tuple[list[jax.Array], AccessAttributes]:
        """The operands in the primitives' order, aligned, and the static part of the access."""
        components = index if isinstance(index, tuple) else (index,)
        if len(components) != self.ndim:
            raise source.kernel_error(
                f"{self.name} has {self.ndim} dimension(s), shape {self.shape}, but the index has {len(components)}; "
                "give one integer per dimension"
            )
        indices = [(f"index {d}", operands.index(c, d, self.name)) for d, c in enumerate(components)]
        local_range = self._description.local_range
        arrays, private = operands.align([*indices, *extra], local_range, self.name)
        masked = any(what == "where=" for what, _ in extra)
        return arrays, AccessAttributes(local_range + private, len(components), masked, ordering)

    def _next(self, version: jax.Array) -> "Memory":
        return Memory(version, self._description)

    @property
    def at(self) -> "Stores":
        """`m.at[i].set(x, where=mask)`: the memory after a plain store."""
        return Stores(self)

    @property
    def atomic(self) -> "Atomics":
        """`m.atomic[i].add(x)`, or with another order and scope `m.atomic(order="acq_rel", scope="work_group")[i]`."""
        return Atomics(self, _RELAXED)

    def __setitem__(self, index: Any, x: Any) -> NoReturn:
        site = source.of_caller()
        memory, i, value = assignments.stored(site.file, site.line) or (self.name, "i", "value")
        raise source.kernel_error(
            f"{memory}[{i}] is assigned to, which changes a memory in place, as a pure function cannot; write "
            f"{memory} = {memory}.at[{i}].set({value})"
        )

    def __iter__(self) -> NoReturn:
        raise source.kernel_error(f"{self.name} is a memory and cannot be iterated over; load its elements by index")

    def _not_an_array(self, *_: Any, **__: Any) -> NoReturn:
        raise source.kernel_error(f"{self.name} is a memory, not an array; load its elements by index: {self.name}[i]")

    __array__ = __jax_array__ = __bool__ = __neg__ = __invert__ = __abs__ = _not_an_array
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _not_an_array
    __add__ = __sub__ = __mul__ = __truediv__ = __floordiv__ = __mod__ = __matmul__ = __pow__ = _not_an_array
    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rmatmul__ = __rpow__ = _not_an_array
    __and__ = __or__ = __xor__ = __lshift__ = __rshift__ = __rand__ = __ror__ = __rxor__ = _not_an_array
    __hash__ = object.__hash__

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(jax.Array, name):
            self._not_an_array()
        # A memory may be half made, as by `copy`.
        owner = "a memory" if name.startswith("_") else f"memory {self.name}"
        raise spelling.no_such_name(owner, name, spelling.names_of(Memory), spelling.MEMORY)


class Stores:
    """The plain stores of a memory: `m.at[i].set(x)`."""

    def __init__(self, memory: Memory):
        self._memory = memory

    def __getitem__(self, index: Any) -> "StoreTo":
        return StoreTo(self._memory, index)

    def __getattr__(self, name: str) -> NoReturn:
        if name != "set":
            StoreTo.__getattr__(self, name)  # type: ignore[arg-type]
        raise source.kernel_error(
            f"{self._memory.name}.at.set(...) names no element; write {self._memory.name}.at[i].set(...)"
        )


class StoreTo:
    """A plain store to one index per work-item."""

    def __init__(self, memory: Memory, index: Any):
        self._memory, self._index = memory, index

    def set(self, x: Any, where: Any = None) -> Memory:
        """The memory after every active work-item has stored its `x`."""
        return self._memory._store(self._index, x, where)

    def __getattr__(self, name: str) -> NoReturn:
        memory = "a store" if name.startswith("_") else self._memory.name
        if hasattr(AtomicTo, name) and not name.startswith(("_", "load", "store")):
            raise source.kernel_error(
                f"{memory}.at[...] has no {name}: a plain store is .at[i].set(x); work-items that update one element "
                f"need {memory}.atomic[i].{name}(...)"
            )
        loaded = f"a load is {memory}[i], an update of a work-item's own element .at[i].set({memory}[i] ...)"
        raise spelling.no_such_name(f"{memory}.at[...]", name, ["set"], {}, f"a plain store is .at[i].set(x), {loaded}")


class Atomics:
    """The atomic operations of a memory with one memory order and scope."""

    def __init__(self, memory: Memory, ordering: Ordering):
        self._memory, self._ordering = memory, ordering

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_") or not hasattr(AtomicTo, name):
            AtomicTo.__getattr__(self, name)  # type: ignore[arg-type]
        raise source.kernel_error(
            f"{self._memory.name}.atomic.{name}(...) names no element; write {self._memory.name}.atomic[i].{name}(...)"
        )

    def __call__(self, order: str = "relaxed", scope: str = "device") -> "Atomics":
        """These operations with another order (SYCL's `memory_order`) and scope (`memory_scope`)."""
        checked = orders.ordering(order, scope)
        if checked.scope == "work_item":
            raise source.kernel_error(
                f"atomic operations on {self._memory.name} with scope 'work_item', which SYCL leaves undefined; give "
                f"one of {', '.join(SCOPES[1:])}, the narrowest that holds all work-items which use the element"
            )
        return Atomics(self._memory, checked)

    def __getitem__(self, index: Any) -> "AtomicTo":
        return AtomicTo(self._memory, index, self._ordering)


class AtomicTo:
    """Atomic operations on one element per work-item, as `sycl::atomic_ref` has them.

    The plain forms return the memory; the `fetch_` forms, `exchange` and `compare_exchange` return the old values and
    the memory. Types are 32- and 64-bit integers and floats; `and_`, `or_` and `xor` are for integers only.
    """

    def __init__(self, memory: Memory, index: Any, ordering: Ordering):
        self._memory, self._index, self._ordering = memory, index, ordering

    def load(self, where: Any = None, other: Any = 0) -> jax.Array:
        """The element's value; masked-out work-items get `other`."""
        _check_atomic(self._memory, "load")
        self._check_order("load", LOAD_ORDERS)
        return self._memory._load(self._index, where, other, self._ordering)

    def store(self, x: Any, where: Any = None) -> Memory:
        """The memory after `x` was stored; of several work-items' values, some one stays."""
        self._check_order("store", STORE_ORDERS)
        return self._plain("store", [x], where)

    def add(self, x: Any, where: Any = None) -> Memory:
        return self._plain("add", [x], where)

    def sub(self, x: Any, where: Any = None) -> Memory:
        return self._plain("sub", [x], where)

    def min(self, x: Any, where: Any = None) -> Memory:
        return self._plain("min", [x], where)

    def max(self, x: Any, where: Any = None) -> Memory:
        return self._plain("max", [x], where)

    def and_(self, x: Any, where: Any = None) -> Memory:
        return self._plain("and", [x], where)

    def or_(self, x: Any, where: Any = None) -> Memory:
        return self._plain("or", [x], where)

    def xor(self, x: Any, where: Any = None) -> Memory:
        return self._plain("xor", [x], where)

    def fetch_add(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("add", [x], where)

    def fetch_sub(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("sub", [x], where)

    def fetch_min(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("min", [x], where)

    def fetch_max(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("max", [x], where)

    def fetch_and(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("and", [x], where)

    def fetch_or(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("or", [x], where)

    def fetch_xor(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        return self._fetch("xor", [x], where)

    def exchange(self, x: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        """Stores `x` and gives what was there; masked-out work-items get the poison value."""
        return self._fetch("exchange", [x], where)

    def compare_exchange(self, expected: Any, desired: Any, where: Any = None) -> tuple[jax.Array, Memory]:
        """Stores `desired` where the element equals `expected`; it did so where the old value equals `expected`."""
        return self._fetch("compare_exchange", [expected, desired], where)

    def __getattr__(self, name: str) -> NoReturn:
        owner = "an atomic operation" if name.startswith("_") else f"{self._memory.name}.atomic[...]"
        raise spelling.no_such_name(owner, name, spelling.names_of(AtomicTo), spelling.ATOMIC)

    def _plain(self, op: str, values: list[Any], where: Any) -> Memory:
        return self._memory._update(self._index, op, False, values, where, self._ordering)

    def _fetch(self, op: str, values: list[Any], where: Any) -> tuple[jax.Array, Memory]:
        return self._memory._update(self._index, op, True, values, where, self._ordering)

    def _check_order(self, op: str, allowed: tuple[str, ...]) -> None:
        if self._ordering.order not in allowed:
            raise source.kernel_error(
                f"an atomic {op} of {self._memory.name} with order {self._ordering.order!r}; SYCL allows "
                f"{', '.join(allowed)} for a {op}"
            )


def _is_empty(access: AccessAttributes) -> bool:
    """True if a private axis has no elements; the program is spared an access that does nothing."""
    return 0 in access.shape


def _check_atomic(memory: Memory, op: str) -> None:
    """SYCL 2020, section 4.15.3: which types and address spaces `sycl::atomic_ref` takes."""
    if memory.space == "private":
        raise source.kernel_error(
            f"atomic {op} of {memory.name}, which is private: only its own work-item sees it; load and store it plainly"
        )
    if np.dtype(memory.dtype) not in _ATOMIC_TYPES:
        raise source.kernel_error(
            f"atomic {op} of {memory.name}, which holds {memory.dtype}; SYCL has atomics of "
            f"{', '.join(map(str, _ATOMIC_TYPES))}"
        )
    if op in _INTEGER_ONLY and not jnp.issubdtype(memory.dtype, jnp.integer):
        raise source.kernel_error(
            f"atomic {op} of {memory.name}, which holds {memory.dtype}; SYCL has it for integers only"
        )

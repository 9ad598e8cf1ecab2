"""Traced functions: what some of the work-items execute, of values and memories, traced on its own."""

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.ir.program import Region, Value
from xeemu.language import divergence, importing, lineage, source
from xeemu.language.memory import Memory


@dataclasses.dataclass(frozen=True, eq=False)
class Traced:
    """A function of a mask and of leaves, as it was traced for the work-items of the mask.

    Attributes:
      closed: what JAX has made of it; its inputs are the mask, if there is one, and the leaves.
      masked: true if there is one.
      tree: the structure of its result.
      leaves: of the result: memories, and shapes of values.
    """

    closed: Any
    masked: bool
    tree: Any
    leaves: tuple[Any, ...]

    @functools.cached_property
    def body(self) -> Region:
        """The same as a program, whose first inputs are what it has taken from around it."""
        return importing.opened(self.closed)

    @functools.cached_property
    def _taken(self) -> list[Any]:
        """The arrays that it has taken from around it."""
        return importing.taken(self.closed)

    @property
    def _given(self) -> tuple[Value, ...]:
        """The inputs that are the leaves."""
        return self.body.inputs[len(self._taken) + self.masked :]

    @functools.cached_property
    def origins(self) -> list[Any]:
        """For each leaf of the result the input of the body that it is, or a later version of; or None."""
        found = lineage.of_body(self.body)
        return [found[k] if is_memory(leaf) else self._same(k) for k, leaf in enumerate(self.leaves)]

    def _same(self, number: int) -> Any:
        """The leaf that a value is."""
        out = self.body.outputs[number]
        return out if out in self._given else None

    def origin(self, number: int) -> int | None:
        """The number of the leaf that a leaf of the result is, or a later version of."""
        made = self.origins[number]
        return self._given.index(made) if made is not None and made in self._given else None

    def captured(self, number: int) -> jax.Array | None:
        """The array that a leaf of the result is, or a later version of, if the function took it from around it."""
        taken = zip(self.body.inputs, self._taken, strict=False)
        return next((array for v, array in taken if v is self.origins[number]), None)

    def run(self, arrays: Sequence[jax.Array], replaced: Sequence[tuple[Any, Any]] = ()) -> list[jax.Array]:
        """The arrays of its result.

        Args:
          arrays: the mask, if there is one, and those of the leaves.
          replaced: of what it has taken from around it, pairs of what stands for what.
        """
        instead = {id(old): new for old, new in replaced}
        consts = [instead.get(id(array), array) for array in self._taken]
        with jax.numpy_rank_promotion("allow"):
            results: list[jax.Array] = jax.core.eval_jaxpr(self.closed.jaxpr, consts, *arrays)
        return results


def trace(function: Callable[..., Any], mask: Any, tree: Any, leaves: Sequence[Any]) -> Traced:
    """A function, traced.

    Args:
      function: of what `tree` makes of the leaves; what is traced has them as arguments.
      mask: like that of the work-items that execute it, among those that are active; None if all of these do.
      tree: the structure of a tuple of arguments.
      leaves: memories, and arrays or shapes of values.
    """
    results: list[Any] = []
    masks = [] if mask is None else [mask]

    def run(*arrays: jax.Array) -> list[jax.Array]:
        given = [holding(leaf, array) for leaf, array in zip(leaves, arrays[len(masks) :], strict=True)]
        with divergence.only(arrays[0]) if masks else contextlib.nullcontext():
            result = function(*jax.tree.unflatten(tree, given))
        flat, after = flattened(result)
        results[:] = [after, *flat]
        return [contents(leaf) for leaf in flat]

    closed = jax.make_jaxpr(run)(*masks, *map(contents, leaves))
    after, *flat = results
    shapes = [leaf if is_memory(leaf) else _shape(v) for leaf, v in zip(flat, closed.out_avals, strict=True)]
    return Traced(closed, mask is not None, after, tuple(shapes))


def _shape(like: Any) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(like.shape, like.dtype, weak_type=getattr(like, "weak_type", False))


def check_function(function: Any, what: str, call: str, arguments: int) -> None:
    """Checks that a function takes so many arguments.

    Raises:
      KernelError: it does not, or is none.
    """
    if not callable(function):
        raise source.kernel_error(f"{what} is {source.called(function)}; give a function: {call}")
    try:
        inspect.signature(function).bind(*[None] * arguments)
    except TypeError as error:
        raise source.kernel_error(f"{what} is called with {arguments} argument(s), {error}: {call}") from None
    except ValueError:
        # Some callables do not tell what they take.
        return


# --- Leaves ---


def is_memory(leaf: Any) -> bool:
    return isinstance(leaf, Memory)


def flattened(tree: Any) -> tuple[list[Any], Any]:
    """The leaves of a pytree, memories among them, and its structure."""
    leaves, structure = jax.tree.flatten(tree, is_leaf=is_memory)
    return [leaf if is_memory(leaf) else _value(leaf) for leaf in leaves], structure


def _value(leaf: Any) -> jax.Array:
    if isinstance(leaf, jax.Array | np.ndarray | np.generic | bool | int | float) or hasattr(leaf, "__jax_array__"):
        return jnp.asarray(leaf)
    raise source.kernel_error(
        f"divergent control flow has {source.called(leaf)} among its values; give arrays, numbers and "
        "memories, and let "
        "the function take everything else from around it"
    )


def contents(leaf: Any) -> Any:
    """The array of a leaf."""
    return leaf._version if is_memory(leaf) else leaf


def holding(leaf: Any, array: jax.Array) -> Any:
    """The leaf with another array."""
    return leaf._next(array) if is_memory(leaf) else array


def described(leaf: Any) -> str:
    """What a message calls a leaf."""
    return f"memory {leaf.name}" if is_memory(leaf) else f"{leaf.dtype}{list(leaf.shape)}"


def spread(array: Any, shape: tuple[int, ...], dtype: Any) -> jax.Array:
    """A value as an array of a shape that begins with the work-group's, as its own does if it is no scalar."""
    array = jnp.asarray(array).astype(dtype)
    padded = array.reshape(array.shape + (1,) * (len(shape) - array.ndim)) if array.ndim else array
    return jnp.broadcast_to(padded, shape)


def common_type(a: Any, b: Any) -> Any:
    """The dtype of two values, of which one that comes from Python's numbers takes the other's; None if they differ."""
    if a.dtype == b.dtype:
        return a.dtype
    weak, strong = (a, b) if a.weak_type and _generality(a) <= _generality(b) else (b, a)
    return strong.dtype if weak.weak_type and _generality(weak) <= _generality(strong) else None


def _generality(value: Any) -> int:
    """Of bools, integers and floats."""
    return {"b": 0, "i": 1, "u": 1}.get(np.dtype(value.dtype).kind, 2)


def merged_shape(shapes: Sequence[tuple[int, ...]], local_range: tuple[int, ...], what: str) -> tuple[int, ...]:
    """The shape of a value of which work-items have got one or another.

    Raises:
      KernelError: one of the shapes is neither that of a scalar nor begins with the work-group's.
    """
    rank = len(local_range)
    for shape in shapes:
        if shape and shape[:rank] != local_range:
            raise source.kernel_error(
                f"{what} has shape {shape}, which does not begin with the work-group's shape "
                f"{local_range}; a value that "
                "work-items get at different times has an element for each: give one per work-item, or a scalar"
            )
    private = [shape[rank:] for shape in shapes if shape]
    longest = max(map(len, private), default=0)
    try:
        return local_range + np.broadcast_shapes(*(p + (1,) * (longest - len(p)) for p in private))
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise source.kernel_error(f"{what} has shapes {listed}; give it one shape everywhere") from None

"""The JAX primitives that the kernel language binds: the vocabulary of a `Program`.

They exist to be traced, never to be run: `emit` gives each its meaning for a chunk of work-groups. All of them return
a list of results. `L` is the local range of the work-group, `P` the private axes of an access, `M` a memory's shape.

| primitive | operands | results |
|---|---|---|
| `local_id` | | integer `L`: the work-item's id in dimension `dim`, or its linear id if `dim` is None |
| `group_id` | | integer scalar: the group's id in dimension `dim`, or its linear id if `dim` is None |
| `allocate` | | an uninitialised memory `M` of `space` local or private |
| `load` | memory, index..., [where, other] | array `L + P`, or a scalar for a scalar index |
| `store` | memory, index..., value, [where] | the memory's next version |
| `atomic` | memory, index..., value..., [where] | [old value `L + P`,] [the memory's next version] |
| `barrier`, `fence` | memories..., [where] | their next versions |
| `collective` | x, [argument], [where] | the result of a group or sub-group algorithm |
| `uniform` | x `L`, [where] | a scalar that steers: `"some"`, `"most"` (the greatest) or `"pick"` (one of `where`) |
| `region` | where `L` or scalar | none: the work-items that execute what follows, up to the body's next one |
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, NoReturn

import jax
import numpy as np
from jax.extend import core as jex_core
from jax.interpreters import ad, batching

from xeemu.language import source
from xeemu.language.orders import Ordering


@dataclasses.dataclass(frozen=True)
class AccessAttributes:
    """The static part of a memory operation.

    Attributes:
      shape: the work-items' axes and the private axes after them; `()` for a load by a scalar index.
      rank: number of index components.
      masked: true if a mask (and for loads the value of the masked-out work-items) follows the other operands.
      ordering: order and scope if the access is atomic.
      block: true if a sub-group reads or writes consecutive elements as one block message.
      bounded: true if work-items whose index is out of bounds are masked out of a load, which is masked then; that is a
        pass's to say (`passes/drop_redundant_masks.py`).
      view: the shape in which it sees the memory, if that is not the memory's; this too only passes say
        (`passes/linearise_indices.py`).
      further: of a load of an element of a vector, which all work-items load, its number after the first.
      unset: true if what a store leaves counts as not written, as where the life of a variable begins.
      volatile: true if a load or store has to be carried out, whatever is known of its value, as C's `volatile` says.
    """

    shape: tuple[int, ...]
    rank: int
    masked: bool
    ordering: Ordering | None = None
    block: bool = False
    bounded: bool = False
    view: tuple[int, ...] | None = None
    unset: bool = False
    further: int = 0
    volatile: bool = False


def _array(shape: Sequence[int], dtype: Any) -> jax.core.ShapedArray:
    return jax.core.ShapedArray(tuple(shape), np.dtype(dtype))


def _same(memory: jax.core.ShapedArray) -> jax.core.ShapedArray:
    return _array(memory.shape, memory.dtype)


def _primitive(name: str, abstract_eval: Any) -> jex_core.Primitive:
    primitive = jex_core.Primitive(f"xe_{name}")
    primitive.multiple_results = True
    primitive.def_abstract_eval(abstract_eval)

    def outside(*_: Any, **__: Any) -> NoReturn:
        raise source.kernel_error(f"{name} belongs inside a kernel that xe.launch runs")

    def transformed(*_: Any, **__: Any) -> NoReturn:
        raise source.kernel_error(
            f"{name} cannot be transformed by vmap or grad: a kernel is already written for a whole work-group; index "
            "with arrays of the work-group's shape instead"
        )

    primitive.def_impl(outside)
    batching.primitive_batchers[primitive] = transformed
    ad.primitive_jvps[primitive] = transformed
    return primitive


local_id_p = _primitive("local_id", lambda *, dim, shape, dtype: [_array(shape, dtype)])
group_id_p = _primitive("group_id", lambda *, dim, dtype: [_array((), dtype)])
allocate_p = _primitive("allocate", lambda *, space, shape, dtype, name: [_array(shape, dtype)])
load_p = _primitive("load", lambda memory, *_, access: [_array(access.shape, memory.dtype)])
store_p = _primitive("store", lambda memory, *_, access: [_same(memory)])
barrier_p = _primitive(
    "barrier", lambda *operands, level, masked: [_same(m) for m in operands[: len(operands) - masked]]
)
fence_p = _primitive(
    "fence", lambda *operands, ordering, masked: [_same(m) for m in operands[: len(operands) - masked]]
)
collective_p = _primitive(
    "collective",
    lambda x, *_, collective: [_array(collective.result_shape(x.shape), collective.result_type(x.dtype))],
)
# What a group does in lockstep, and nothing that a kernel computes: a work-item by itself knows its own element.
uniform_p = _primitive("uniform", lambda x, *_, kind: [_array((), x.dtype)])
region_p = _primitive("region", lambda mask: [])


def _atomic_results(memory: jax.core.ShapedArray, *_: Any, op: str, fetch: bool, access: AccessAttributes) -> list[Any]:
    old = [_array(access.shape, memory.dtype)] if fetch else []
    return old + ([] if op == "load" else [_same(memory)])


atomic_p = _primitive("atomic", _atomic_results)

"""Operations: what a compiler is taken to make of one operation of a program, by class, for a sub-group.

Everything that is not free takes an instruction for each element of a work-item, some several.
"""

import math
from collections.abc import Mapping

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from xeemu.cost import algorithms, contraction, demanded_words
from xeemu.devices.device import Device
from xeemu.ir import ops
from xeemu.ir.program import Op
from xeemu.ir.table import Kind
from xeemu.knowledge.analysis import Facts
from xeemu.language import primitives
from xeemu.language.geometry import Geometry
from xeemu.language.orders import ACQUIRING, RELEASING

# Other types are computed as float32.
_FLOATS = {"float64": "f64", "float16": "f16"}
# By which a quotient or a root of doubles is made of an approximation, at least: in listings of sm_90 code seven.
_REFINING = 7
# Of Threefry-2x32, by which JAX draws random bits, for a word: 20 rounds of an addition, a rotation and an exclusive
# or, with 18 additions of keys, make two (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
_RANDOM_BITS = 39


def independent(op: Op, geometry: Geometry) -> int:
    """Elements of a work-item that an operation computes without one another."""
    values = (*op.operands, *op.results)
    if not values or ops.of(op).is_reduction:
        return 1
    return max(1, _elements(max((value.shape for value in values), key=math.prod), geometry))


def multiplying(op: Op, found: Mapping[str, float], words: int) -> Mapping[str, float]:
    """The instructions of a sum that takes in a product: of integers, those of the product."""
    words = min(words, demanded_words.of_dtype(op.results[0].dtype))
    return _product(found["i32"] / words, words) if set(found) == {"i32"} else found


def _product(elements: float, words: int) -> Mapping[str, float]:
    return {"i64mul" if words == 2 else "i32mul": float(elements)}


def is_counted(op: Op) -> bool:
    """True if an operation of the language is more than a request to memory."""
    return ops.of(op).kind in (Kind.ORDER, Kind.COLLECTIVE) or op.name == ops.ATOMIC


def branches(op: Op, device: Device) -> bool:
    """True if a compiler puts a branch into what it makes of an operation."""
    is_function = _function(op) in (device.branching_functions or ()) and bool(op.results)
    return is_function and bool(jnp.issubdtype(op.results[0].dtype, jnp.floating))


def in_turn(op: Op, found: Mapping[str, float], device: Device) -> Mapping[str, float]:
    """Those of an operation's instructions that wait for one another."""
    if not {"special", "f32"} <= found.keys():
        return found
    number, waiting = _of_function(op, device)
    if number == waiting:
        return found
    return {**found, "f32": found["f32"] * (waiting - 1) / (number - 1)}


def _of_function(op: Op, device: Device) -> tuple[int, int]:
    """The instructions of a function of fp32, and how many of them wait for one another."""
    found = {name: numbers for name, *numbers in device.function_instructions or ()}
    number, waiting = found.get(_function(op), (1, 1))
    return number, waiting


def _function(op: Op) -> str:
    """The name of a function in a device's figures: an approximation where its caller asks for no more."""
    approximate = op.attributes.get("accuracy") is lax.AccuracyMode.DEFAULT
    return f"native_{op.name}" if approximate else op.name


def of_op(
    op: Op, facts: Facts, geometry: Geometry, device: Device, words: int = 2, in_loop: bool = False
) -> Mapping[str, float]:
    """Instructions by class that a sub-group executes for an operation, without the program's requests to memory.

    Args:
      op: the operation.
      facts: the analysis of its call path.
      geometry: the sizes of the launch.
      device: the modelled device.
      words: 32-bit words of an integer result that are needed.
      in_loop: true if it is carried out in every iteration of a loop.
    """
    if op.name == ops.BARRIER:
        return {"barrier": 1.0} if op.attributes["level"] == "group" else {}
    if op.name in (ops.FENCE, ops.ATOMIC):
        return {"fence": float(fences)} if (fences := _fences(op, geometry)) else {}
    if op.name == ops.COLLECTIVE:
        of = op.operands[0]
        return algorithms.of_collective(
            op.attributes["collective"], _elements(of.shape, geometry), demanded_words.of_dtype(of.dtype), geometry
        )
    name = op.name
    traits = ops.of(op)
    if op.name in ops.LANGUAGE or traits.free or not op.results:
        return {}
    known = facts.values.get(op.results[0])
    if known is not None and known.form is not None and (in_loop or not known.varying):
        return {}
    if _follows(op, facts) or op.merges:
        return {}
    shape = max((a.shape for a in (*op.operands, *op.results)), key=math.prod)
    elements = _elements(shape, geometry)
    if name.startswith("random_"):
        return _random(op, elements)
    if traits.shuffles or _is_group_reduction(op, geometry):
        return algorithms.of_reduction(elements, geometry, _is_group_reduction(op, geometry))
    return _arithmetic(op, facts, elements, words, device)


def _random(op: Op, elements: int) -> Mapping[str, float]:
    """Instructions of an operation of `jax.random`, as if its keys were those of Threefry."""
    if op.name in ("random_wrap", "random_unwrap"):
        return {}
    made = op.results[0].dtype
    words = 2 if jax.dtypes.issubdtype(made, jax.dtypes.prng_key) else demanded_words.of_dtype(made)
    return {"i32": float(_RANDOM_BITS * words * elements)}


def _fences(op: Op, geometry: Geometry) -> int:
    """Fences for the order of a fence or atomic operation: IGC puts one before a release, one after an acquire."""
    if op.name == ops.FENCE:
        return int(op.attributes["ordering"].order != "relaxed")
    access: primitives.AccessAttributes = op.attributes["access"]
    assert access.ordering is not None
    each = (access.ordering.order in RELEASING) + (access.ordering.order in ACQUIRING)
    return each * _elements(access.shape, geometry)


def _follows(op: Op, facts: Facts) -> bool:
    """True if the result is a constant, or one of the operands, because other operands are constants."""
    if demanded_words.constant(op.results[0], facts) is not None:
        return True
    return op.name == "select_n" and demanded_words.constant(op.operands[0], facts) is not None


def _arithmetic(op: Op, facts: Facts, elements: int, words: int, device: Device) -> Mapping[str, float]:
    name, dtype = op.name, op.results[0].dtype
    operand = np.dtype(op.operands[0].dtype) if op.operands else np.dtype(dtype)
    if operand.kind == "b" and name in ("and", "or", "xor", "not", "convert_element_type"):
        return {}
    floating = bool(jnp.issubdtype(operand, jnp.floating))
    if name == "convert_element_type":
        known = facts.values.get(op.results[0])
        free = (known is not None and known.form is not None) or (not floating and np.dtype(dtype).kind in "iu")
        return {} if free else {"i32": float(elements)}
    if ops.of(op).special or (name == "div" and floating):
        around = _REFINING if operand == np.float64 else _of_function(op, device)[0] - 1
        return {"special": float(elements), _FLOATS.get(operand.name, "f32"): float(elements * around)}
    powers = contraction.multiplications(op)
    if floating:
        inverse = {"special": float(elements)} if name == "integer_pow" and op.attributes["y"] < 0 else {}
        return {_FLOATS.get(operand.name, "f32"): float(elements * max(1, powers)), **inverse}
    words = min(words, demanded_words.of_dtype(operand))
    if powers or (name == "mul" and not contraction.is_shift(op, facts)):
        return _product(elements * max(1, powers), words)
    if name in ("div", "rem"):
        return {"i32": float(words * elements * _division(demanded_words.constant(op.operands[1], facts)))}
    return {"i32": float(words * elements)}


def _division(by: int | None) -> int:
    """Instructions for a quotient or a remainder: a shift or a mask, a product and a shift, or an approximation."""
    if by is None:
        return 20
    return 1 if by > 0 and by & (by - 1) == 0 else 2


def _elements(shape: tuple[int, ...], geometry: Geometry) -> int:
    """Elements of a work-item; of what all work-items share, all."""
    rank = len(geometry.local_range)
    return math.prod(shape[rank:]) if shape[:rank] == geometry.local_range else math.prod(shape)


def _is_group_reduction(op: Op, geometry: Geometry) -> bool:
    axes, rank = op.attributes.get("axes", ()), len(geometry.local_range)
    per_item = bool(op.operands) and op.operands[0].shape[:rank] == geometry.local_range
    return ops.of(op).is_reduction and per_item and any(axis < rank for axis in axes)

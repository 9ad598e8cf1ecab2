"""Instructions: what a compiler is taken to make of the operations of a program, by class, for a sub-group.

Modelled, not counted. Taken to be free: constants and what follows from them, moves between registers, conversions of
addresses, bools combined with bools, what is the same for the whole launch, and in a loop an address that grows by a
constant; what nothing uses is not computed. A product that
only goes into sums is a multiply-add; of equal operations one is carried out; what a loop does not change is computed
before it; of 64-bit integers only the words are computed that something needs. Everything else takes an instruction for
each element of a work-item, some several. Instructions that access memory are counted elsewhere: they are the requests.
"""

import collections
import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from xeemu.ir import ops
from xeemu.ir.table import Kind
from xeemu.knowledge import intervals
from xeemu.knowledge.analysis import Plan
from xeemu.knowledge.schedule import Frame, Key, Meeting
from xeemu.language import jaxprs, primitives
from xeemu.language.divergence import is_merge
from xeemu.language.geometry import Geometry
from xeemu.language.jaxprs import Body
from xeemu.language.orders import ACQUIRING, RELEASING

UNROLLED = 4
"""Iterations at a time of a counted loop without barriers, which compilers unroll."""

# Other types are computed as float32.
_FLOATS = {"float64": "f64", "float16": "f16"}

# The counter's step, its comparison, and the branch.
_ITERATION = {"i32": 2.0, "control": 1.0}
_BRANCH = {"control": 1.0}

# Of Threefry-2x32, by which JAX draws random bits, for a word: 20 rounds of an addition, a rotation and an exclusive
# or, with 18 additions of keys, make two (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
_RANDOM_BITS = 39

Counter = dict[str, float]


START = -1
"""The number of a body's section before its first region."""


def of_sections(root: Frame, geometry: Geometry) -> dict[Key, Counter]:
    """The instructions of a sub-group in one execution of each section of the body of each call path.

    A section is what stands between two marks of which work-items are active, and named by the number of the first;
    without what inner bodies do. Barriers are counted for each sub-group too.
    """
    counted: dict[Key, Counter] = {(frame.plan, START): {} for frame in root.frames()}
    _Count(geometry, counted).frame(root, {})
    return counted


@dataclasses.dataclass(frozen=True, eq=False)
class _Count:
    """Counts the operations of frames, each where it has to be carried out.

    The *level* of a value is the number of loops around the place where it can be computed: an operation in an inner
    loop on values of an outer one is carried out there.
    """

    geometry: Geometry
    counted: dict[Key, Counter]
    _sections: dict[Frame, int] = dataclasses.field(default_factory=dict)  # each frame's, as far as it was walked

    def frame(self, frame: Frame, inputs: Mapping[Any, int]) -> None:
        depth = _depth(frame)
        levels: dict[Any, int] = {v: inputs.get(v, depth) for v in frame.body.invars}
        (fused, taking), needed = _fused(frame.body, frame.plan), _needed_words(frame.body, frame.plan)
        seen: set[Any] = set()
        for number, eqn in enumerate(frame.body.eqns):
            if number in frame.regions:
                self._sections[frame] = number
            level = max((levels.get(a, 0) for a in eqn.invars if not jaxprs.is_literal(a)), default=0)
            for inner in _inner(frame, number):
                self.frame(inner, _inner_levels(inner, eqn, levels, depth))
            pinned = eqn.primitive in primitives.LANGUAGE or jaxprs.structure(eqn) is not None
            level = depth if pinned and eqn.invars else level
            levels |= dict.fromkeys(eqn.outvars, level)
            key = _key(eqn)
            if pinned and not _is_counted(eqn):
                continue
            words = max((needed.get(v, 0) for v in eqn.outvars), default=1)
            if key in seen or id(eqn) in fused or not (words or pinned):
                continue
            seen.add(key)
            found = of_equation(eqn, frame.plan, self.geometry, words, level > 0)
            self._add(_outer(frame, level), _multiplying(eqn, found, words) if id(eqn) in taking else found)
        self._sections[frame] = min(frame.regions, default=START)
        self._add(frame, _overhead(frame))

    def _add(self, frame: Frame, instructions: Mapping[str, float]) -> None:
        total = self.counted.setdefault((frame.plan, self._sections.get(frame, START)), {})
        for name, number in instructions.items():
            total[name] = total.get(name, 0.0) + number


def _depth(frame: Frame) -> int:
    """Loops around what a frame does."""
    return (0 if frame.parent is None else _depth(frame.parent)) + (frame.kind in ("iteration", "test"))


def _outer(frame: Frame, level: int) -> Frame:
    """The nearest frame around one, or itself, with no more loops around than `level`."""
    while _depth(frame) > level and frame.parent is not None:
        frame = frame.parent
    return frame


def _inner(frame: Frame, number: int) -> list[Frame]:
    """The frames of a structured equation; of a loop that was walked iteration by iteration, the first."""
    found: dict[Any, Frame] = {}
    for step in frame.steps:
        if isinstance(step, Frame) and step.number == number:
            found.setdefault((step.kind, step.plan), step)
    return list(found.values())


def _inner_levels(inner: Frame, eqn: jex_core.JaxprEqn, levels: Mapping[Any, int], depth: int) -> dict[Any, int]:
    """The levels of an inner frame's inputs: what a loop changes is of its own level."""
    given = [0 if jaxprs.is_literal(a) else levels.get(a, 0) for a in eqn.invars]
    match jaxprs.structure(eqn):
        case jaxprs.Cond():
            given = given[1:]
        case jaxprs.Scan() as scan:
            given = _loop_levels(inner.body, scan.consts, scan.body, scan.consts, given, depth)
        case jaxprs.While() as loop:
            tested, consts = given[: loop.predicate_consts], given[loop.predicate_consts :][: loop.body_consts]
            carries = given[loop.predicate_consts + loop.body_consts :]
            own = tested if inner.kind == "test" else consts
            given = _loop_levels(inner.body, len(own), loop.body, loop.body_consts, [*own, *carries], depth)
    return dict(zip(inner.body.invars, given, strict=True))


def _loop_levels(inner: Body, consts: int, body: Body, body_consts: int, given: Sequence[int], depth: int) -> list[int]:
    """Levels with the carries and elements of a loop one deeper, but for the carries that it leaves as they are."""
    kept = [v is out for v, out in zip(body.invars[body_consts:], body.outvars, strict=False)]
    carried = [level if k < len(kept) and kept[k] else depth + 1 for k, level in enumerate(given[consts:])]
    return [*given[:consts], *carried]


def _overhead(frame: Frame) -> Counter:
    """What it takes to go through a branch or an iteration."""
    if frame.kind == "branch":
        return dict(_BRANCH)
    if frame.kind != "iteration":
        return {}
    steps = (step for inner in frame.frames() for step in inner.steps)
    meets = any(isinstance(step, Meeting) and step.eqn.primitive in primitives.LANGUAGE for step in steps)
    shared = 1 if meets or not frame.counted else UNROLLED
    return {name: number / shared for name, number in _ITERATION.items()}


def _key(eqn: jex_core.JaxprEqn) -> Any:
    """Equal for operations that do the same."""
    operands = tuple((str(a.val), str(a.aval)) if jaxprs.is_literal(a) else a for a in eqn.invars)
    return id(eqn) if eqn.primitive in primitives.LANGUAGE else (eqn.primitive, str(eqn.params), operands)


def _fused(body: Body, plan: Plan) -> tuple[set[int], set[int]]:
    """The `id`s of the products that multiply-adds take in, and of the sums that multiply for it, not only shift."""
    uses: dict[jex_core.Var, list[jex_core.JaxprEqn | None]] = collections.defaultdict(list)
    for eqn in body.eqns:
        for atom in eqn.invars:
            if not jaxprs.is_literal(atom):
                uses[atom].append(eqn)
    for atom in body.outvars:
        if not jaxprs.is_literal(atom):
            uses[atom].append(None)
    products, sums = set(), set()
    for eqn in body.eqns:
        users = uses[eqn.outvars[0]] if eqn.primitive.name == "mul" else []
        if users and all(user is not None and user.primitive.name in ("add", "sub") for user in users):
            products.add(id(eqn))
            sums |= set() if _is_shift(eqn, plan) else {id(user) for user in users}
    return products, sums


def _is_shift(product: jex_core.JaxprEqn, plan: Plan) -> bool:
    """Whether a factor of a product of integers is a power of two that is known."""
    known = (_constant(atom, plan) for atom in product.invars)
    return any(factor is not None and factor > 0 and factor & (factor - 1) == 0 for factor in known)


def _multiplying(eqn: jex_core.JaxprEqn, found: Mapping[str, float], words: int) -> Mapping[str, float]:
    """The instructions of a sum that takes in a product: of integers, those of the product."""
    words = min(words, _words(eqn.outvars[0].aval.dtype))
    return _product(found["i32"] / words, words) if set(found) == {"i32"} else found


def _product(elements: float, words: int) -> Mapping[str, float]:
    return {"i64mul" if words == 2 else "i32mul": float(elements)}


def _needed_words(body: Body, plan: Plan) -> dict[Any, int]:
    """How many 32-bit words of each value of a body are needed; of what leaves it or goes into a loop, all.

    What is not there is not needed. The high word of what is known to fit the low one is no work.
    """
    needed: dict[Any, int] = {}

    def need(atom: jaxprs.Atom, words: int) -> None:
        if not jaxprs.is_literal(atom):
            narrow = intervals.within(plan.values[atom].interval, (-(2**31), 2**32 - 1))
            needed[atom] = max(needed.get(atom, 0), min(words, 1 if narrow else _words(atom.aval.dtype)))

    for atom in body.outvars:
        need(atom, 2)
    for eqn in reversed(body.eqns):
        result = max((needed.get(v, 0) for v in eqn.outvars), default=0)
        if result or _has_effects(eqn):
            for atom, words in _operand_words(eqn, plan, result):
                need(atom, words)
    return needed


def _is_counted(eqn: jex_core.JaxprEqn) -> bool:
    """Whether an operation of the language is more than a request to memory."""
    return ops.of(eqn).kind in (Kind.ORDER, Kind.COLLECTIVE) or eqn.primitive is primitives.atomic_p


def _has_effects(eqn: jex_core.JaxprEqn) -> bool:
    return eqn.primitive in primitives.LANGUAGE or jaxprs.structure(eqn) is not None


def _operand_words(eqn: jex_core.JaxprEqn, plan: Plan, result: int) -> Iterator[tuple[jaxprs.Atom, int]]:
    """The operands that an operation needs, and how many words of each if `result` words of its result are needed."""
    name, operands = eqn.primitive.name, list(eqn.invars)
    chosen = _constant(operands[0], plan) if name == "select_n" else None
    if chosen is not None:
        operands = [operands[1 + min(max(chosen, 0), len(operands) - 2)]]
    for atom in operands:
        if ops.of(eqn).low_word or chosen is not None:
            yield atom, result
        elif name == "convert_element_type":
            yield atom, _words(eqn.outvars[0].aval.dtype)
        elif name == "and" and any(_is_low(a, plan) for a in operands):
            yield atom, 1
        else:
            yield atom, 2


def _words(dtype: Any) -> int:
    return 2 if dtype.itemsize == 8 and jnp.issubdtype(dtype, jnp.integer) else 1


def _is_low(atom: jaxprs.Atom, plan: Plan) -> bool:
    """Whether a constant mask keeps bits of the low word alone."""
    mask = _constant(atom, plan)
    return mask is not None and 0 <= mask < 2**32


def _constant(atom: jaxprs.Atom, plan: Plan) -> int | None:
    """The integer that a value always is; None if there is no such one."""
    interval = (
        intervals.of_array(np.asarray(jaxprs.literal(atom))) if jaxprs.is_literal(atom) else plan.values[atom].interval
    )
    return interval[0] if interval is not None and interval[0] == interval[1] else None


def of_equation(
    eqn: jex_core.JaxprEqn, plan: Plan, geometry: Geometry, words: int = 2, in_loop: bool = False
) -> Mapping[str, float]:
    """Instructions by class that a sub-group executes for an operation, without requests to memory.

    Args:
      eqn: the operation.
      plan: the analysis of its call path.
      geometry: the sizes of the launch.
      words: 32-bit words of an integer result that are needed.
      in_loop: whether it is carried out in every iteration of a loop.
    """
    if eqn.primitive is primitives.barrier_p:
        return {"barrier": 1.0} if eqn.params["level"] == "group" else {}
    if eqn.primitive in (primitives.fence_p, primitives.atomic_p):
        return {"fence": float(fences)} if (fences := _fences(eqn, geometry)) else {}
    if eqn.primitive is primitives.collective_p:
        return {"shuffle": float(_steps(eqn, geometry) * _elements(eqn.invars[0].aval.shape, geometry))}
    name = eqn.primitive.name
    op = ops.of(eqn)
    if eqn.primitive in primitives.LANGUAGE or op.free or not eqn.outvars:
        return {}
    known = plan.values.get(eqn.outvars[0])
    if known is not None and known.form is not None and (in_loop or not known.varying):
        return {}
    if _follows(eqn, plan) or is_merge(eqn):
        return {}
    shape = max((a.aval.shape for a in (*eqn.invars, *eqn.outvars)), key=math.prod)
    elements = _elements(shape, geometry)
    if name.startswith("random_"):
        return _random(eqn, elements)
    if op.shuffles or _is_group_reduction(eqn, geometry):
        return {"shuffle": float(max(1, math.ceil(math.log2(geometry.sub_group_size))) * elements)}
    return _arithmetic(eqn, plan, elements, words)


def _random(eqn: jex_core.JaxprEqn, elements: int) -> Mapping[str, float]:
    """Instructions of an operation of `jax.random`, as if its keys were those of Threefry."""
    if eqn.primitive.name in ("random_wrap", "random_unwrap"):
        return {}
    made = eqn.outvars[0].aval.dtype
    words = 2 if jax.dtypes.issubdtype(made, jax.dtypes.prng_key) else _words(made)
    return {"i32": float(_RANDOM_BITS * words * elements)}


def _fences(eqn: jex_core.JaxprEqn, geometry: Geometry) -> int:
    """Fences for the order of a fence or atomic operation: IGC puts one before a release, one after an acquire."""
    if eqn.primitive is primitives.fence_p:
        return int(eqn.params["ordering"].order != "relaxed")
    access: primitives.Access = eqn.params["access"]
    assert access.ordering is not None
    each = (access.ordering.order in RELEASING) + (access.ordering.order in ACQUIRING)
    return each * _elements(access.shape, geometry)


def _follows(eqn: jex_core.JaxprEqn, plan: Plan) -> bool:
    """Whether the result is a constant, or one of the operands, because other operands are constants."""
    if _constant(eqn.outvars[0], plan) is not None:
        return True
    return eqn.primitive.name == "select_n" and _constant(eqn.invars[0], plan) is not None


def _arithmetic(eqn: jex_core.JaxprEqn, plan: Plan, elements: int, words: int) -> Mapping[str, float]:
    name, dtype = eqn.primitive.name, eqn.outvars[0].aval.dtype
    operand = np.dtype(eqn.invars[0].aval.dtype) if eqn.invars else np.dtype(dtype)
    if operand.kind == "b" and name in ("and", "or", "xor", "not", "convert_element_type"):
        return {}
    floating = bool(jnp.issubdtype(operand, jnp.floating))
    if name == "convert_element_type":
        known = plan.values.get(eqn.outvars[0])
        free = (known is not None and known.form is not None) or (not floating and np.dtype(dtype).kind in "iu")
        return {} if free else {"i32": float(elements)}
    if ops.of(eqn).special or (name == "div" and floating):
        return {"special": float(elements)}
    if floating:
        return {_FLOATS.get(operand.name, "f32"): float(elements)}
    words = min(words, _words(operand))
    if name == "mul" and not _is_shift(eqn, plan):
        return _product(elements, words)
    if name in ("div", "rem"):
        return {"i32": float(words * elements * _division(_constant(eqn.invars[1], plan)))}
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


def _steps(eqn: jex_core.JaxprEqn, geometry: Geometry) -> int:
    collective = eqn.params["collective"]
    words = _words(eqn.invars[0].aval.dtype)
    if collective.kind in ("reduce", "inclusive_scan", "exclusive_scan"):
        return words * max(1, math.ceil(math.log2(geometry.sub_group_size)))
    return words


def _is_group_reduction(eqn: jex_core.JaxprEqn, geometry: Geometry) -> bool:
    axes, rank = eqn.params.get("axes", ()), len(geometry.local_range)
    per_item = bool(eqn.invars) and eqn.invars[0].aval.shape[:rank] == geometry.local_range
    return ops.of(eqn).is_reduction and per_item and any(axis < rank for axis in axes)

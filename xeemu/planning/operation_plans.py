"""Operation plans: how JAX's own operations and group algorithms are carried out, decided before they are emitted."""

import dataclasses
from collections.abc import Set

import numpy as np

from xeemu.ir import ops
from xeemu.ir.program import Constant, Op, Value
from xeemu.ir.table import Kind
from xeemu.knowledge.analysis import Facts
from xeemu.planning import invariant_divisions
from xeemu.planning.compare_fusion import Comparison
from xeemu.planning.subgroup_layouts import LayoutConversion


@dataclasses.dataclass(frozen=True)
class AsItIs:
    """A binding of an operation to other arrays as those of its own operands."""


@dataclasses.dataclass(frozen=True)
class Unsigned:
    """A binding as integers without signs: none is negative, so that there are no signs to look at."""


@dataclasses.dataclass(frozen=True)
class Multiplied:
    """A binding of a division by the only divisor of many as a multiplication (see `invariant_divisions`)."""


@dataclasses.dataclass(frozen=True)
class Exact:
    """A binding of an operation that XLA might carry out in another way (see `emission/exactness.py`).

    Attributes:
      hidden: the number of the operand that XLA must not see, which is behind a choice; None if there is none.
      selector: the number of the operand by which that choice is made, which XLA does not know.
    """

    hidden: int | None = None
    selector: int = 0


Binding = AsItIs | Unsigned | Multiplied | Exact


@dataclasses.dataclass(frozen=True)
class Formed:
    """The result is a lane form, which the operands' forms or nothing but the program decides on."""


@dataclasses.dataclass(frozen=True)
class Elementwise:
    """An operation that does for all groups at once what it does for one, as `vmap` would find out slowly.

    Attributes:
      binding: how it is bound.
      repeated: numbers of the operands that groups have alike, which are repeated for each as others are not.
      conversions: of each operand, if the result is by sub-group: how it is made so, None of a scalar.
    """

    binding: Binding
    repeated: frozenset[int] = frozenset()
    conversions: tuple[LayoutConversion | None, ...] = ()


@dataclasses.dataclass(frozen=True)
class Movement:
    """An operation that moves or repeats elements.

    Attributes:
      uses_chosen_only: true if it takes of its operand what this has for itself (see `masked_layouts`).
      conversion: of its operand, if the result is by sub-group: how it is made so.
    """

    uses_chosen_only: bool = False
    conversion: LayoutConversion | None = None


@dataclasses.dataclass(frozen=True)
class Lifted:
    """Any other operation, lifted over the groups.

    Attributes:
      binding: how it is bound.
    """

    binding: Binding


@dataclasses.dataclass(frozen=True, eq=False)
class Collected:
    """A group algorithm.

    Attributes:
      known_operands: its operands but for the first, if they are known before the program runs; else None.
    """

    known_operands: tuple[np.ndarray, ...] | None


OperationPlan = Formed | Comparison | Elementwise | Movement | Lifted | Collected


def of_op(op: Op, facts: Facts, multiplies: bool, of_run: Set[Value] = frozenset()) -> OperationPlan:
    """How one of JAX's operations is carried out that is neither formed nor a comparison of fields.

    Args:
      op: the operation.
      facts: what is known of its operands.
      multiplies: true if divisions of many integers by one are multiplications.
      of_run: the runtime values of its body, which no compiler knows.
    """
    if _is_elementwise(op, facts):
        return Elementwise(_binding(op, facts, multiplies, of_run), _repeated(op, facts))
    if len(op.results) == 1 and ops.of(op).kind is Kind.MOVEMENT:
        return Movement()
    return Lifted(_binding(op, facts, multiplies, of_run) if len(op.results) == 1 else AsItIs())


def of_collective(op: Op, facts: Facts) -> Collected:
    """How a group algorithm is carried out."""
    first, *others = map(facts.value, op.operands)
    forms = [known.form for known in others if known.form is not None and known.form.constant]
    # What is known may still count as different between groups, and then the result has an axis of them.
    varies = first.varying or not any(known.varying for known in others)
    if not varies or len(forms) < len(others):
        return Collected(None)
    return Collected(tuple(form.pattern.astype(a.dtype) for form, a in zip(forms, op.operands[1:], strict=True)))


def _is_elementwise(op: Op, facts: Facts) -> bool:
    if not ops.of(op).is_elementwise or len(op.results) != 1:
        return False
    shape, scalars = op.results[0].shape, _takes_scalars(op)
    return all(
        a.shape == shape
        or (scalars and (_is_stretched(a.shape, shape) or (not a.shape and not facts.value(a).varying)))
        for a in op.operands
    )


def _is_stretched(shape: tuple[int, ...], whole: tuple[int, ...]) -> bool:
    """True if elements along axes of length 1 stand for all along those of another shape."""
    return len(shape) == len(whole) and all(n in (1, m) for n, m in zip(shape, whole, strict=True))


def _takes_scalars(op: Op) -> bool:
    """True if a scalar may stand for an array of the shape that the other operands have."""
    return op.name not in ("select_n", "clamp")


def _repeated(op: Op, facts: Facts) -> frozenset[int]:
    """The operands that have to be repeated: what a scalar is for all elements of the others, it is for all groups."""
    invariant = {k: a for k, a in enumerate(op.operands) if not facts.value(a).varying}
    if len(invariant) == len(op.operands):
        return frozenset()
    return frozenset(k for k, a in invariant.items() if a.shape or not _takes_scalars(op))


def _binding(op: Op, facts: Facts, multiplies: bool, of_run: Set[Value]) -> Binding:
    """How an operation is bound again to other arrays."""
    if multiplies and invariant_divisions.applies(op, facts):
        return Multiplied()
    each = [facts.value(a) for a in op.operands]
    known = tuple(not k.varying and a not in of_run for k, a in zip(each, op.operands, strict=True))
    if (exact := exactly(op, known)) is not None:
        return exact
    natural = op.name in ("div", "rem") and all(k.interval is not None and k.interval[0] >= 0 for k in each)
    return Unsigned() if natural else AsItIs()


def exactly(op: Op, known: tuple[bool, ...]) -> Exact | None:
    """How an operation on floats is bound that XLA might carry out in another way; None if it does not.

    Args:
      op: the operation.
      known: of each operand, true if XLA may know it: it is alike for all groups, and no runtime value.
    """
    if op.name not in ("div", "integer_pow", "add", "sub", "mul") or op.results[0].dtype.kind in "iubc":
        return None
    if op.name == "integer_pow":
        return Exact() if op.attributes["y"] < 0 else None
    if op.name == "div":
        return Exact(1, selector=1 if known[0] and not known[1] else 0)
    if not any(known):
        return None
    number = 0 if isinstance(op.operands[0], Constant) or not known[1] else 1
    return Exact(number, selector=1 - number) if op.name == "add" and _may_be_zero(op.operands[number]) else Exact()


def _may_be_zero(value: Value) -> bool:
    return not isinstance(value, Constant) or not np.asarray(value.array).all()

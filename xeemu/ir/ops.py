"""What is known of the operations of a program; one that is not in the table is an error, which names it."""

from typing import Any

from xeemu.errors import KernelError
from xeemu.ir import table
from xeemu.ir.table import Traits


def of(eqn: Any) -> Traits:
    """What is known of an equation's operation.

    Raises:
      KernelError: it is not in the table.
    """
    return named(eqn.primitive.name)


def named(name: str) -> Traits:
    """The same by the name of its primitive."""
    try:
        return table.OPS[name]
    except KeyError:
        raise KernelError(
            f"the operation {name} is not in xeemu's table of operations (xeemu/ir/table.py), so that nobody knows "
            "what it does; write the kernel with other operations of jax.numpy and jax.lax"
        ) from None


def is_known(eqn: Any) -> bool:
    """Whether an equation's operation is in the table."""
    return eqn.primitive.name in table.OPS


def unhandled(eqn: Any, who: str) -> NotImplementedError:
    """The error of a consumer that has no rule for an operation of the table.

    Args:
      eqn: the equation.
      who: the consumer, such as "the schedule".
    """
    return without_rule(eqn.primitive.name, who)


def without_rule(name: str, who: str) -> NotImplementedError:
    """The same by the name of the operation."""
    return NotImplementedError(f"{who} has no rule for the operation {name} (xeemu/ir/table.py)")

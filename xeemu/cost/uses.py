"""Uses: which operations of a body use each of its values."""

import collections
import dataclasses
import functools
from collections.abc import Mapping, Sequence

from xeemu.ir.program import Constant, Op, Region, Value


@dataclasses.dataclass(frozen=True, eq=False)
class Uses:
    """The operations of a body that are carried out, and what each of them uses.

    Attributes:
      body: the body.
      ops: those of its operations that are carried out, in order.
    """

    body: Region
    ops: Sequence[Op]

    @functools.cached_property
    def of(self) -> Mapping[Value, list[Op | None]]:
        """The operations that use each value, None for the body's own results."""
        found: dict[Value, list[Op | None]] = collections.defaultdict(list)
        for op in (*self.ops, None):
            for value in self.body.outputs if op is None else op.used:
                if not isinstance(value, Constant):
                    found[value].append(op)
        return found

    @functools.cached_property
    def made(self) -> Mapping[Value, Op]:
        """The operation that gives each value."""
        return {result: op for op in self.ops for result in op.results}

    def only_for(self, value: Value, user: Op) -> Op | None:
        """The operation that gives a value which nothing but one operation uses."""
        return self.made.get(value) if all(each is user for each in self.of[value]) else None

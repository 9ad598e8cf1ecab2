"""Rewriting: a program made from another one, operation by operation, by a rule that says what becomes of each.

Nothing is changed in place: operations, values and whole regions that are left as they are belong to both programs.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from xeemu.ir.program import Op, Region, Value

Rule = Callable[["Rewriter", Op], Sequence[Value | None] | None]
"""What stands for the results of an operation of the old program, None for those that have gone; None to keep it."""

Renewal = Callable[[Value], Value | None]
"""What an input of a region or a result of an operation that is kept becomes: itself, another one, or nothing."""


def rewritten(region: Region, rule: Rule, renewed: Renewal = lambda value: value) -> Region:
    """A program after a rule was applied to each of its operations, those of inner regions too, outer ones first."""
    return Rewriter(rule, renewed).region(region)


@dataclasses.dataclass(eq=False)
class Rewriter:
    """Makes a program from another one.

    Attributes:
      rule: what becomes of operations.
      renewed: what becomes of the inputs of regions, and of the results of operations that are kept.
      replacements: for values of the old program what stands for them in the new one, None if they have gone; others
        stand for themselves.
      ops: the operations so far of the region that is being made.
    """

    rule: Rule
    renewed: Renewal = lambda value: value
    replacements: dict[Value, Value | None] = dataclasses.field(default_factory=dict)
    ops: list[Op] = dataclasses.field(default_factory=list)

    def region(self, region: Region) -> Region:
        """A region, rewritten; the same one if that changes nothing."""
        around, self.ops = self.ops, []
        inputs = self._renew(region.inputs)
        for op in region.ops:
            self.op(op)
        made, self.ops = Region(inputs, tuple(self.ops), tuple(self.values(region.outputs))), around
        old = region.inputs, region.ops, region.outputs
        return region if (made.inputs, made.ops, made.outputs) == old else made

    def op(self, op: Op) -> None:
        """An operation: what the rule makes of it, or itself on what stands for its operands."""
        results = self.rule(self, op)
        if results is None:
            self.keep(op)
        else:
            self.replacements |= dict(zip(op.results, results, strict=True))

    def keep(self, op: Op) -> None:
        """An operation on what stands for its operands, its regions rewritten; operands that have gone are left out."""
        operands = tuple(self.values(op.operands))
        regions = tuple(map(self.region, op.regions))
        results = self._renew(op.results)
        if (operands, regions, results) == (op.operands, op.regions, op.results):
            self.ops.append(op)
            return
        made = dataclasses.replace(op, operands=operands, regions=regions, results=results)
        if op.regions:  # JAX's own loop or branch is that of the old program
            made = dataclasses.replace(made, attributes=self._attributes(op), apply=None)
        self.ops.append(made)

    def inline(self, region: Region, arguments: Sequence[Value], rule: Rule | None = None) -> list[Value]:
        """Adds the operations of a region, all of their results new; gives its outputs.

        Args:
          region: the region; for what it captures stands what does in the program that is being made.
          arguments: what stands for its inputs.
          rule: for its operations; that of the rewriter if there is none.
        """
        replacements = {value: self.replacements[value] for value in region.captures if value in self.replacements}
        replacements |= zip(region.inputs, arguments, strict=True)
        inner = Rewriter(rule or self.rule, dataclasses.replace, replacements, self.ops)
        for op in region.ops:
            inner.op(op)
        return inner.values(region.outputs)

    def value(self, value: Value) -> Value | None:
        """What stands for a value of the old program."""
        return self.replacements.get(value, value)

    def values(self, values: Iterable[Value]) -> list[Value]:
        """What stands for some values, but for those that have gone."""
        return [new for value in values if (new := self.value(value)) is not None]

    def _renew(self, values: Sequence[Value]) -> tuple[Value, ...]:
        """What inputs or results become, which then stands for them."""
        for value in values:
            new = self.renewed(value)
            if new is not value:
                self.replacements[value] = new
        return tuple(self.values(values))

    def _attributes(self, op: Op) -> dict[str, Any]:
        """What is known of a loop or branch beside its operands: how many carries it has left."""
        if op.name != "scan":
            return dict(op.attributes)
        carries = self.values(op.regions[0].inputs[: op.attributes["carries"]])
        return {**op.attributes, "carries": len(carries)}

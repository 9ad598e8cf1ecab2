"""Rewriting: a part of a tree with other expressions in the place of some of its variables and calls."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from xeemu.frontends import tree
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Expression, Variable


@dataclasses.dataclass(eq=False)
class TreeRewriter:
    """Copies a part of a tree.

    Attributes:
      given: expressions by the variables that they stand for.
      call: the expression for a call, None to keep it.
    """

    given: Mapping[Variable, Expression]
    call: Callable[[tree.Call], Expression | None]
    _own: dict[Variable, Variable] = dataclasses.field(default_factory=dict)

    def of(self, node: Any) -> Any:
        match node:
            case tree.Name(variable=variable):
                if variable in self.given:
                    return self.given[variable]
                own = self._own.get(variable)
                return node if own is None else dataclasses.replace(node, variable=own)
            case tree.Declaration(variables=variables):
                return dataclasses.replace(node, variables=tuple(map(self._declared, variables)))
            case tree.Switch(value=value, cases=cases):
                return dataclasses.replace(node, value=self.of(value), cases=tuple(map(self._case, cases)))
            case tree.Call() if (made := self.call(node)) is not None:
                return made
        return dataclasses.replace(node, **{n: self._part(getattr(node, n)) for n in effects.parts(node)})

    def _part(self, part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(self.of, part))
        return None if part is None else self.of(part)

    def _declared(self, variable: Variable) -> Variable:
        first = variable.initializer
        made = dataclasses.replace(variable, read=lambda: value)
        self._own[variable] = made
        value = None if first is None else self.of(first)
        return made

    def _case(self, case: tree.Case) -> tree.Case:
        return dataclasses.replace(case, statements=tuple(map(self.of, case.statements)))

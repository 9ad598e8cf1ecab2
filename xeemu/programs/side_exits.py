"""Side exits: branches of a loop of the host that do what no kernel can do, as exits of the loop.

A branch that prints or returns leaves the loop instead, before its iteration has changed anything; the host then
interprets that iteration.
"""

import dataclasses
from collections.abc import Callable

from xeemu.frontends import tree, types
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Expression, Statement, Variable


class CannotOutline(Exception):
    """A loop that the host has to interpret."""


@dataclasses.dataclass(eq=False)
class SideExits:
    """The rewriting of a loop.

    Attributes:
      flag: the variable that a side exit sets to 1.
      of_host: True of a part of the tree that does what no kernel can do.
      used: True if there is a side exit.
    """

    flag: Expression
    of_host: Callable[[tree.Loop | Statement | Expression], bool]
    used: bool = False
    _own: set[Variable] = dataclasses.field(default_factory=set)
    _pure: bool = True

    def body(self, node: Statement) -> Statement:
        """The body of a loop, or a part of it.

        Raises:
          CannotOutline: something has changed before the loop would be left.
        """
        if isinstance(node, tree.Block):
            return dataclasses.replace(node, statements=tuple(map(self.body, node.statements)))
        if not self.of_host(node):
            self._note(node)
            return node
        if not self._pure:
            raise CannotOutline
        match node:
            case tree.If(condition=condition) if not self.of_host(condition) and self._is_pure(condition):
                then = self._branch(node.then)
                otherwise = None if node.otherwise is None else self._branch(node.otherwise)
                return dataclasses.replace(node, then=then, otherwise=otherwise)
            case tree.Loop():
                return self._inner(node)
        raise CannotOutline

    def _branch(self, node: Statement) -> Statement:
        if not self.of_host(node):
            self._note(node)
            return node
        self.used = True
        one = tree.Constant(types.INT, node.place, 1)
        left = tree.Assignment(types.INT, node.place, "", self.flag, one)
        return tree.Block(node.place, (tree.Evaluate(node.place, left), tree.Break(node.place)))

    def _inner(self, node: tree.Loop) -> Statement:
        """A loop in the loop; nothing else may change while it runs."""
        for part in (node.first, node.condition, node.step):
            if part is not None and self.of_host(part):
                raise CannotOutline
        if node.first is not None:
            self._note(node.first)
        made = dataclasses.replace(node, body=self.body(node.body))
        if node.step is not None:
            self._note(tree.Evaluate(node.place, node.step))
        if not self._pure:
            raise CannotOutline
        out = tree.If(node.place, self.flag, tree.Break(node.place), None)
        return tree.Block(node.place, (made, out))

    def _note(self, node: Statement) -> None:
        """What is declared is the iteration's own; what changes something else comes after all places to leave at."""
        for part in effects.nodes(node):
            if isinstance(part, tree.Declaration):
                self._own |= set(part.variables)
        self._pure = self._pure and self._is_pure(node)

    def _is_pure(self, node: Statement | Expression) -> bool:
        found = effects.of(node)
        return not (found.assigned - self._own) and not (found.stored - self._own)

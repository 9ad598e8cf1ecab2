"""Lifetimes: variables that a kernel declares more than once, as in a loop, and that have no value each time anew.

C begins the life of a variable of a block each time that the block is entered (C11, 6.2.4): what an iteration before
has left is no value of this one's. Where a kernel is checked, the declaration of one that is in a memory leaves its
elements as if nobody had written them. A launch spares itself that: the value is indeterminate.
"""

import functools
from collections.abc import Iterator

from xeemu.frontends import tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import definite_assignment, effects
from xeemu.frontends.tree import Variable


@functools.lru_cache(maxsize=512)
def renewed(kernel: Function) -> frozenset[Variable]:
    """The private variables without a first value that a kernel and its functions may declare again, and then read."""
    doubtful = definite_assignment.doubtful(kernel) | definite_assignment.doubtful_pointers(kernel)
    single = doubtful | effects.indexed(kernel)
    kinds = types.Array | types.Record
    return frozenset(
        variable
        for variable in _Declared().of(kernel)
        if variable.initializer is None
        and variable.space == "private"
        and (variable in single or (isinstance(variable.type, kinds) and not types.holds_pointer(variable.type)))
    )


class _Declared:
    """The variables that are declared in loops, and in functions that are called there, or more than once."""

    def __init__(self) -> None:
        self._seen: dict[Function, bool] = {}

    def of(self, function: Function, repeated: bool = False) -> Iterator[Variable]:
        if self._seen.get(function, False):
            return
        repeated = repeated or function in self._seen
        self._seen[function] = repeated
        yield from self._below(function.body, repeated)

    def _below(self, node: object, repeated: bool) -> Iterator[Variable]:
        if isinstance(node, tree.Declaration) and repeated:
            yield from node.variables
        if isinstance(node, tree.Call) and node.function is not None:
            yield from self.of(node.function, repeated)
        if isinstance(node, tree.Loop) and node.first is not None:
            yield from self._below(node.first, repeated)
        for child in effects.children(node):
            if not (isinstance(node, tree.Loop) and child is node.first):
                yield from self._below(child, repeated or isinstance(node, tree.Loop))

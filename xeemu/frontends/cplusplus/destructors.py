"""Destructors: what happens where an object of a class ends: its destructor's body, then its members and bases."""

from collections.abc import Iterator
from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.callees import END_OF
from xeemu.frontends.cplusplus import instantiations
from xeemu.frontends.cplusplus.bodies import NOWHERE
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.cplusplus.lvalues import address
from xeemu.frontends.cplusplus.options import is_header
from xeemu.frontends.functions import Function
from xeemu.frontends.parsing import clang
from xeemu.frontends.parsing.clang import Cursor
from xeemu.frontends.parsing.literals import number
from xeemu.frontends.tree import Expression, Statement, Variable
from xeemu.frontends.types import Pointer, Record, Type


class Destructors:
    """The destructors of a unit's classes, each made when it is asked for."""

    def __init__(self, instances: Instances) -> None:
        self._instances = instances
        self._known: dict[Type, Function | None] = {}
        self._of_templates: dict[int, Cursor] | None = None

    def of(self, of: Type) -> Function | None:
        """The function, of an object's address, that ends it; None for classes of which nothing is done at the end."""
        if not isinstance(of, Record) or of.union:
            return None
        if of not in self._known:
            self._known[of] = None  # of a class that holds pointers to itself
            self._known[of] = self._made(of)
        return self._known[of]

    def needed(self, of: Type) -> bool:
        """True if something is done at the end of an object or array."""
        if isinstance(of, types.Array):
            return self.needed(of.element)
        return self.of(of) is not None

    def _made(self, of: Record) -> Function | None:
        own = self._own(of)
        if own is None and not any(self.needed(f.type) for f in of.fields):
            return None
        this = Variable("this", Pointer(of, "generic"), "private", NOWHERE)
        name = tree.Name(this.type, NOWHERE, this)
        whole = tree.Unary(of, NOWHERE, "*", name)

        def read() -> tree.Block:
            first: list[Statement] = []
            if own is not None:
                first.append(_done(self._called(own, of, name)))
            parts = (tree.Member(f.type, NOWHERE, whole, f.name, False) for f in reversed(of.fields))
            return tree.Block(NOWHERE, (*first, *(s for part in parts for s in self._ended(part))))

        return Function(f"~{of.name}", (this,), types.VOID, NOWHERE, False, read=read)

    def _called(self, own: Any, of: Record, this: Expression) -> Expression:
        """The call of a class's own destructor."""
        if own is _BY_HEADER:
            return tree.Call(types.VOID, NOWHERE, END_OF, (this,), None)
        if own is _UNTOLD:
            what = f"the destructor of {of.name}, an instance of a template that the parser does not tell"
            words = f"{what}; write a class without a template, or declare an object of it outside of templates"
            text = tree.Text(types.Array(types.CHAR, len(words) + 1), NOWHERE, words)
            return tree.Call(types.VOID, NOWHERE, "unsupported", (text,), None)
        return tree.Call(types.VOID, NOWHERE, f"~{of.name}", (this,), self._instances.function(own))

    def _ended(self, part: Expression) -> Iterator[Statement]:
        """What ends a member, of an array element by element, the last one first."""
        if isinstance(part.type, types.Array):
            for k in reversed(range(part.type.count if self.needed(part.type) else 0)):
                index = number(types.INT, NOWHERE, k)
                yield from self._ended(tree.Subscript(part.type.element, NOWHERE, part, index))
        elif (function := self.of(part.type)) is not None:
            yield _done(tree.Call(types.VOID, NOWHERE, function.name, (address(part),), function))

    def _own(self, of: Record) -> Any:
        """The destructor that a class itself has; `_BY_HEADER` of one that our headers say as they run."""
        declaration = self._instances.records.declared.get(of)
        if declaration is None:
            return None
        pattern = clang.template(declaration)
        written = instantiations.written(pattern or declaration)
        if pattern is None or written is None:
            return written
        if is_header(clang.place(pattern, self._instances.files).file):
            return _BY_HEADER
        return self._instance_of(declaration) or _UNTOLD

    def _instance_of(self, declaration: Cursor) -> Cursor | None:
        """The destructor of an instance of a template, which the unit names for us."""
        if self._of_templates is None:
            self._of_templates = dict(instantiations.destructors(self._instances.unit.cursor))
        return self._of_templates.get(clang.key(declaration))


_BY_HEADER, _UNTOLD = object(), object()


def _done(call: Expression) -> Statement:
    return tree.Evaluate(NOWHERE, call)

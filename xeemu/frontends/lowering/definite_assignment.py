"""Definite assignment: which variables may be read before they were given a value, from the trees alone.

As compilers do for a warning, and as Java does for an error (definite assignment, JLS 16): along every path to a read
there has to be an assignment, of each component that is read. Where there is none on some path, a number or vector is
held in a memory, in which such reads are found as the kernel runs, and so is that a pointer was assigned; whether data
ever take that path, nobody knows before.
"""

import dataclasses
import functools
import operator
from collections.abc import Callable, Iterable

from xeemu.frontends import tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Expression, Statement, Variable

Part = tuple[Variable, int]
"""A component of a vector, by its number; a number or pointer is its own only one."""

Given = frozenset[Part]
"""What has a value on all paths that lead to a place; everything where none does."""


@functools.lru_cache(maxsize=512)
def doubtful(kernel: Function) -> frozenset[Variable]:
    """The private numbers and vectors of a kernel and its functions that may be read before they have a value."""
    return frozenset(v for v in _of_kernel(kernel) if not isinstance(v.type, types.Pointer))


def doubtful_pointers(kernel: Function) -> frozenset[Variable]:
    """The pointers of which the same holds."""
    return _of_kernel(kernel) - doubtful(kernel)


@functools.lru_cache(maxsize=512)
def _of_kernel(kernel: Function) -> frozenset[Variable]:
    return frozenset(variable for function in effects.functions(kernel) for variable in _of_body(function))


def _of_body(function: Function) -> frozenset[Variable]:
    nodes = effects.nodes(function.body)
    if any(isinstance(node, tree.Goto | tree.Label | tree.Try) for node in nodes):
        return frozenset()
    declared = {v for node in nodes if isinstance(node, tree.Declaration) for v in node.variables}
    pointed = {v for node in nodes for v in _pointed(node)}
    empty = {v for v in declared if v.initializer is None and v.space == "private"}
    tracked = frozenset(part for variable in empty - pointed for part in _parts(variable))
    if not tracked:
        return frozenset()
    paths = _Paths(tracked)
    paths.statement(function.body, frozenset())
    return frozenset(variable for variable, _ in paths.doubtful)


def _parts(variable: Variable) -> Given:
    match variable.type:
        case types.Scalar() | types.Pointer():
            return frozenset({(variable, 0)})
        case types.Vector(count=count):
            return frozenset((variable, k) for k in range(count))
    return frozenset()


def _named(node: object) -> tuple[Part, ...]:
    """The parts of a variable that an lvalue names, in its order; none where the tree does not tell which."""
    match node:
        case tree.Name(variable=variable):
            return tuple(sorted(_parts(variable), key=lambda part: part[1]))
        case tree.Swizzle(base=base, components=components):
            inner = _named(base)
            return tuple(inner[k] for k in components) if inner else ()
        case tree.Subscript(base=base, index=index) if isinstance(base.type, types.Vector):
            inner, at = _named(base), _bare(index)
            if isinstance(at, tree.Constant) and 0 <= at.value < len(inner):
                return (inner[int(at.value)],)
    return ()


def _pointed(node: object) -> Iterable[Variable]:
    """The variables of which a node takes the address, or which it hands to a function that may change them."""
    match node:
        case tree.Unary(op="&", operand=operand):
            return effects.of(tree.Step(operand.type, operand.place, "++", operand, True)).assigned
        case tree.Call(arguments=arguments):
            return effects.of(node).assigned & {a.variable for a in arguments if isinstance(a, tree.Name)}
    return ()


@dataclasses.dataclass
class _Left:
    """What has a value where a loop or switch is left by jumps, and where an iteration is."""

    breaks: list[Given] = dataclasses.field(default_factory=list)
    continues: list[Given] = dataclasses.field(default_factory=list)


class _Paths:
    """One pass over a function's body.

    Attributes:
      doubtful: what is read and need not have a value.
    """

    def __init__(self, tracked: Given):
        self._tracked = tracked
        self._loops: list[_Left] = []
        self._jumps: list[_Left] = []
        self.doubtful: set[Part] = set()

    def statement(self, node: Statement, given: Given) -> Given:
        """What has a value after a statement, of what has before."""
        match node:
            case tree.Block(statements=statements):
                return functools.reduce(lambda now, one: self.statement(one, now), statements, given)
            case tree.Declaration(variables=variables):
                return functools.reduce(self._declared, variables, given)
            case tree.Evaluate(expression=expression):
                return self.expression(expression, given)
            case tree.If(condition=condition, then=then, otherwise=otherwise):
                given = self.expression(condition, given)
                return self.statement(then, given) & (self.statement(otherwise, given) if otherwise else given)
            case tree.Loop():
                return self._loop(node, given)
            case tree.Switch():
                return self._switch(node, given)
            case tree.Return(value=value):
                self._optional(value, given)
                return self._tracked
            case tree.Break():
                self._jumps[-1].breaks.append(given)
                return self._tracked
            case tree.Continue():
                self._loops[-1].continues.append(given)
                return self._tracked
        return given

    def expression(self, node: Expression, given: Given) -> Given:
        """What is assigned after an expression, whose parts are evaluated in order."""
        match node:
            case tree.Assignment(op="", target=target, value=value) if named := _named(target):
                return self.expression(value, given) | (self._tracked & set(named))
            case tree.Name() | tree.Swizzle() | tree.Subscript() if named := _named(node):
                self.doubtful |= (self._tracked - given) & set(named)
                return given
            case tree.Binary(op="&&" | "||", left=left, right=right):
                given = self.expression(left, given)
                self.expression(right, given)
                return given
            case tree.Choice(condition=condition, then=then, otherwise=otherwise):
                given = self.expression(condition, given)
                return self.expression(then, given) & self.expression(otherwise, given)
            case tree.Assignment(target=target, value=value):
                return self.expression(target, self.expression(value, given))
            case tree.Braced(block=block):
                return self.statement(block, given)
        parts = (part for part in effects.children(node) if not isinstance(part, tree.Callee))
        return functools.reduce(lambda now, part: self.expression(part, now), parts, given)  # type: ignore[arg-type]

    def _optional(self, node: Expression | None, given: Given) -> Given:
        return given if node is None else self.expression(node, given)

    def _declared(self, given: Given, variable: Variable) -> Given:
        if variable.initializer is not None:
            return self.expression(variable.initializer, given)
        return given - _parts(variable)  # of an iteration before it may have one

    def _loop(self, node: tree.Loop, given: Given) -> Given:
        left = _Left()
        given = given if node.first is None else self.statement(node.first, given)
        before = given if node.after else self._optional(node.condition, given)
        self._loops.append(left)
        self._jumps.append(left)
        ended = self.statement(node.body, before)
        self._loops.pop()
        self._jumps.pop()
        ended = functools.reduce(operator.and_, left.continues, ended)
        ended = self._optional(node.step, ended)
        if node.after or _is_entered(node):
            before = self._optional(node.condition, ended)
        if _is_endless(node):
            before = self._tracked
        return functools.reduce(operator.and_, left.breaks, before)

    def _switch(self, node: tree.Switch, given: Given) -> Given:
        left = _Left()
        given = self.expression(node.value, given)
        self._jumps.append(left)
        now = self._tracked
        for case in node.cases:
            now = functools.reduce(lambda now, one: self.statement(one, now), case.statements, now & given)
        self._jumps.pop()
        now = now if any(case.default for case in node.cases) else now & given
        return functools.reduce(operator.and_, left.breaks, now)


def _is_endless(node: tree.Loop) -> bool:
    """True if nothing but a jump ends a loop."""
    condition = _bare(node.condition)
    return condition is None or (isinstance(condition, tree.Constant) and bool(condition.value))


def _is_entered(node: tree.Loop) -> bool:
    """True if constants tell that a loop has an iteration, as of `for (int k = 0; k < 4; k++)`."""
    match _bare(node.condition):
        case tree.Binary(op=op, left=left, right=right) if op in _COMPARISONS:
            first, last = _begins(node.first, _bare(left)), _bare(right)
            return first is not None and isinstance(last, tree.Constant) and _COMPARISONS[op](first, last.value)
    return False


def _begins(node: Statement | None, counter: object) -> int | float | None:
    """The constant that a loop's first statement gives its counter; None if it gives none."""
    if not isinstance(counter, tree.Name):
        return None
    given: object = None
    match node:
        case tree.Declaration(variables=variables) if counter.variable in variables:
            given = counter.variable.initializer
        case tree.Evaluate(expression=tree.Assignment(op="", target=tree.Name(variable=variable), value=value)):
            given = value if variable == counter.variable else None
    bare = _bare(given)
    return bare.value if isinstance(bare, tree.Constant) else None


def _bare(node: object) -> object:
    """An expression without casts around it."""
    while isinstance(node, tree.Cast):
        node = node.operand
    return node


_COMPARISONS: dict[str, Callable[[int | float, int | float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "!=": operator.ne,
}

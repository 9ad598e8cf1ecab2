"""Effects: which variables and memories a part of a program may change, from its tree alone.

What is written through a pointer is followed to the variables that the pointer comes from (`sources`), in all calls of
a function at once: more may be named than is changed, never less.
"""

import dataclasses
import functools
from collections.abc import Iterable

from xeemu.frontends import tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.tree import (
    Assignment,
    Binary,
    Call,
    Cast,
    Choice,
    Expression,
    Initializer,
    Member,
    Name,
    Step,
    Subscript,
    Swizzle,
    Unary,
    Variable,
)

Node = object

SYNCHRONISING = (
    "barrier",
    "work_group_barrier",
    "sub_group_barrier",
    "mem_fence",
    "read_mem_fence",
    "write_mem_fence",
    "atomic_work_item_fence",
    "wait_group_events",
)


@dataclasses.dataclass(frozen=True)
class Effects:
    """What a part of a program may change.

    Attributes:
      assigned: variables that are assigned.
      stored: variables through which something is written, as pointers or arrays.
      synchronises: True if there is a barrier or fence, which makes a new version of memories.
    """

    assigned: frozenset[Variable] = frozenset()
    stored: frozenset[Variable] = frozenset()
    synchronises: bool = False

    def __or__(self, other: "Effects") -> "Effects":
        both = self.synchronises or other.synchronises
        return Effects(self.assigned | other.assigned, self.stored | other.stored, both)


def children(node: Node) -> list[Node]:
    """The parts of an expression or statement, and the initialisers of what it declares."""
    match node:
        case tree.Declaration(variables=variables):
            return [v.initializer for v in variables if v.initializer is not None]
        case tree.Switch(value=value, cases=cases):
            return [value, *(s for case in cases for s in case.statements)]
        case tree.Try(block=block, handlers=handlers):
            return [block, *(h.block for h in handlers)]
    found: list[Node] = []
    for name in _PARTS[type(node)]:
        part = getattr(node, name)
        if isinstance(part, tuple):
            found += part
        elif part is not None:
            found.append(part)
    return found


def parts(node: Node) -> tuple[str, ...]:
    """The fields of a node that are nodes, or tuples of them; not of declarations and switches."""
    return _PARTS[type(node)]


# The fields of a node that are nodes, or tuples of them.
_PARTS: dict[type, tuple[str, ...]] = {
    Unary: ("operand",), Step: ("operand",), Cast: ("operand",), Binary: ("left", "right"),
    Assignment: ("target", "value"), Choice: ("condition", "then", "otherwise"), Subscript: ("base", "index"),
    Member: ("base",), Swizzle: ("base",), Initializer: ("items",), Call: ("arguments",), tree.Block: ("statements",),
    tree.Evaluate: ("expression",), tree.If: ("condition", "then", "otherwise"),
    tree.Loop: ("first", "condition", "step", "body"), tree.Return: ("value",), tree.Braced: ("block",),
    tree.Constant: (), tree.Text: (), tree.Callee: (),
    Name: (), tree.Break: (), tree.Continue: (), tree.Goto: (), tree.Label: (),
}  # fmt: skip


@functools.lru_cache(maxsize=1 << 14)
def nodes(node: Node) -> tuple[Node, ...]:
    """A node and all below it, in the source's order, without the bodies of functions that are called."""
    found: list[Node] = []
    pending = [node]
    while pending:
        found.append(one := pending.pop())
        pending += reversed(children(one))
    return tuple(found)


@functools.lru_cache(maxsize=512)
def functions(function: Function) -> list[Function]:
    """A function and those that it calls, directly or not."""
    found = [function]
    for one in found:
        for node in nodes(one.body):
            if isinstance(node, Call) and node.function is not None and node.function not in found:
                found.append(node.function)
    return found


@functools.lru_cache(maxsize=4096)
def of(node: Node) -> Effects:
    """The effects of an expression or statement and of the functions that it calls."""
    found = Effects()
    for part in nodes(node):
        found |= _of_one(part)
    return found


def _of_one(node: Node) -> Effects:
    match node:
        case Assignment(target=target) | Step(operand=target):
            return _written(target)
        case Call(function=None, name=name, arguments=arguments):
            pointers = [a for a in arguments if isinstance(a.type, types.Pointer) and not a.type.const]
            pointers += arguments[:1] if name.startswith("write_image") else ()
            stored = frozenset(v for a in pointers for v in sources(a))
            return Effects(frozenset(v for a in pointers for v in _pointed(a)), stored, name in SYNCHRONISING)
        case Call(function=function, arguments=arguments) if function is not None:
            inner = of(function.body)
            pointed = [_pointed(a) for a in arguments]
            return inner | Effects(frozenset(v for some in pointed for v in some))
        case tree.Declaration(variables=variables):
            # What a pointer is given is not stored to by that.
            return Effects(
                stored=frozenset(v for v in variables if not isinstance(v.type, types.Scalar | types.Pointer))
            )
    return Effects()


def _written(target: Expression) -> Effects:
    """Of an assignment to an lvalue."""
    match target:
        case Name(variable=variable):
            return Effects(assigned=frozenset({variable}))
        case Swizzle(base=base) | Cast(operand=base) | Member(base=base, arrow=False):
            return _written(base)
        case Subscript(base=base) if isinstance(base.type, types.Vector):
            return _written(base)
        case Subscript(base=base, index=index):
            pointer = base if isinstance(base.type, types.Pointer | types.Array) else index
            return Effects(stored=sources(pointer)) | _of_array(pointer)
        case Member(base=base) | Unary(operand=base):
            return Effects(stored=sources(base))
        case Choice(then=a, otherwise=b):
            return _written(a) | _written(b)
        case Assignment(target=inner) | Step(operand=inner):
            return _written(inner)
    return Effects()


def _of_array(pointer: Expression) -> Effects:
    """An element of an array that is part of a variable changes the variable."""
    inside = isinstance(pointer, Member) and not pointer.arrow and isinstance(pointer.type, types.Array)
    return _written(pointer) if inside else Effects()


def _pointed(node: Expression) -> frozenset[Variable]:
    """The variables whose address an argument is."""
    match node:
        case Cast(operand=operand):
            return _pointed(operand)
        case Unary(op="&", operand=operand):
            return _written(operand).assigned
        case Binary(left=left, right=right):
            return _pointed(left) | _pointed(right)
    return frozenset()


_TOTAL = ("min", "max", "abs", "clamp", "fmin", "fmax", "fabs")


def is_speculable(node: Expression) -> bool:
    """True if an expression may be evaluated by those too who do not get there, as compilers do to save a branch.

    It computes with numbers in registers alone, is cheap, and is defined for all values.
    """
    return all(map(_is_speculable, nodes(node)))


def _is_speculable(node: Node) -> bool:
    if not isinstance(node, Expression) or not isinstance(of := node.type, types.Scalar):
        return False
    match node:
        case Name(variable=variable):
            return variable.space == "private"
        case Binary(op="/" | "%", type=types.Scalar() as of, right=divisor):
            return of.is_float or _is_divisor(divisor)
        case Binary(op=op):
            return op != ","
        case Unary(op=op):
            return op in ("-", "+", "~", "!")
        case Cast(operand=operand):
            return isinstance(operand.type, types.Scalar)
        case Call(function=None, name=name):
            return name.startswith("get_") or name in _TOTAL
    return isinstance(node, tree.Constant | Choice)


def _is_divisor(node: Expression) -> bool:
    """True if an integer can be divided by it, whatever that is."""
    while isinstance(node, Cast):
        node = node.operand
    return isinstance(node, tree.Constant) and node.value > 0


def sources(node: Expression) -> frozenset[Variable]:
    """The variables that a pointer comes from."""
    match node:
        case Name(variable=variable):
            return frozenset({variable})
        case Cast(operand=inner) | Unary(operand=inner) | Step(operand=inner) | Assignment(target=inner):
            return sources(inner)
        case Swizzle(base=inner) | Member(base=inner):
            return sources(inner)
        case Subscript(base=base, index=index):
            indexed = isinstance(base.type, types.Pointer | types.Array | types.Vector)
            return sources(base) if indexed else sources(index)
        case Binary(left=left, right=right):
            sides = [s for s in (left, right) if isinstance(s.type, types.Pointer | types.Array)]
            return frozenset(v for s in sides for v in sources(s))
        case Choice(then=a, otherwise=b):
            return sources(a) | sources(b)
        case Call(arguments=arguments):
            pointers = [a for a in arguments if isinstance(a.type, types.Pointer | types.Record)]
            return frozenset(v for a in pointers for v in sources(a))
        case Initializer(items=items):
            return frozenset(v for item in items if _is_way(item.type) for v in sources(item))
        case tree.Braced(block=tree.Block(statements=(*_, tree.Evaluate(expression=value)))):
            return sources(value)
    return frozenset()


def _is_way(of: types.Type) -> bool:
    """True if something may be stored through a value: a pointer, an array that decays to one, an image, a record."""
    match of:
        case types.Record(fields=fields):
            return any(_is_way(f.type) for f in fields)
        case types.Array(element=inner):
            return not isinstance(inner, types.Record) or _is_way(inner)
        case types.Opaque(name=name):
            return name.startswith("image")
    return isinstance(of, types.Pointer) and (not of.const or _is_way(of.pointee))


@functools.lru_cache(maxsize=512)
def flows(kernel: Function) -> dict[Variable, frozenset[Variable]]:
    """For each variable of a kernel and its functions those whose pointers it may be given."""
    found: dict[Variable, frozenset[Variable]] = {}

    def add(variable: Variable, value: Expression) -> None:
        # A number that is loaded through a pointer says nothing of where the pointer points to.
        if _is_way(value.type):
            found[variable] = found.get(variable, frozenset()) | sources(value)

    for function in functions(kernel):
        for node in nodes(function.body):
            match node:
                case tree.Declaration(variables=variables):
                    for variable in variables:
                        if variable.initializer is not None and variable.space != "constant":
                            add(variable, variable.initializer)
                case Name(variable=variable) if variable.space == "global" and variable.initializer is not None:
                    add(variable, variable.initializer)
                case Assignment(target=target, value=value):
                    # An array or record that holds pointers is given them as a whole.
                    within = sources(target) if isinstance(target, Subscript | Member) else frozenset()
                    for variable in _written(target).assigned | within:
                        add(variable, value)
                case Call(function=callee, arguments=arguments) if callee is not None:
                    for parameter, argument in zip(callee.parameters, arguments, strict=False):
                        add(parameter, argument)
    return found


@functools.lru_cache(maxsize=512)
def indexed(kernel: Function) -> frozenset[Variable]:
    """The variables whose address is used as that of an array, or of another type: these are memories."""
    used = (v for function in functions(kernel) for node in nodes(function.body) for v in _indexed(node))
    kinds = types.Scalar | types.Vector | types.Record
    found = _with_origins(kernel, used)
    return frozenset(v for v in found if isinstance(v.type, kinds) and not types.holds_pointer(v.type))


def _indexed(node: Node) -> frozenset[Variable]:
    """The variables that pointers come from with which a node reckons."""
    match node:
        case Subscript(base=base, index=index) if isinstance(base.type, types.Pointer):
            return frozenset() if isinstance(index, tree.Constant) and index.value == 0 else sources(base)
        case Binary(op="+" | "-", type=types.Pointer()):
            return sources(node)
        case Step(operand=operand, type=types.Pointer()):
            return sources(operand)
        case Assignment(op="+" | "-", target=target, type=types.Pointer()):
            return sources(target)
        case Cast(type=types.Pointer(pointee=to), operand=operand) if isinstance(operand.type, types.Pointer):
            return sources(operand) if _is_other(to, operand.type.pointee) else frozenset()
    return frozenset()


def _is_other(to: types.Type, of_type: types.Type) -> bool:
    """True if what is pointed to is taken for something else."""
    return to != of_type and not isinstance(to, types.Void) and not isinstance(of_type, types.Void)


@functools.lru_cache(maxsize=512)
def reached(kernel: Function) -> frozenset[Variable]:
    """The variables through which a kernel stores something, and those that their pointers come from."""
    return _with_origins(kernel, of(kernel.body).stored)


def _with_origins(kernel: Function, variables: Iterable[Variable]) -> frozenset[Variable]:
    """Some variables of a kernel, and those that their pointers come from."""
    given, pending, found = flows(kernel), list(variables), set[Variable]()
    while pending:
        variable = pending.pop()
        if variable not in found:
            found.add(variable)
            pending.extend(given.get(variable, ()))
    return frozenset(found)


@functools.lru_cache(maxsize=512)
def loaded(kernel: Function) -> frozenset[Variable]:
    """The variables through which a kernel loads something, and those that their pointers come from."""
    bodies = [nodes(function.body) for function in functions(kernel)]
    return _with_origins(kernel, (v for body in bodies for node in set(body) - _unread(body) for v in _read(node)))


def _unread(body: tuple[Node, ...]) -> set[Node]:
    """The lvalues that are only written, or of which the address is taken."""
    found: set[Node] = set()
    for node in body:
        target = node.target if isinstance(node, Assignment) and not node.op else None
        if isinstance(node, Unary) and node.op == "&":
            target = node.operand
        while target is not None:
            found.add(target)
            inside = isinstance(target, Member) and not target.arrow
            target = target.base if inside or isinstance(target, Swizzle) else None  # type: ignore[union-attr]
    return found


def _read(node: Node) -> frozenset[Variable]:
    """The variables through which an expression loads."""
    match node:
        case Subscript(base=base, index=index):
            return sources(base) | sources(index)
        case Unary(op="*", operand=base) | Member(base=base, arrow=True):
            return sources(base)
        case Call(function=None, arguments=arguments):
            return frozenset(v for a in arguments if isinstance(a.type, types.Pointer) for v in sources(a))
    return frozenset()

"""Outlining: a long loop of the host as the function of a kernel of one work-item, with the kernel's arguments."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from xeemu.frontends import tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.hosting import intrinsics, layouts
from xeemu.frontends.hosting.machine import Frame, Machine
from xeemu.frontends.hosting.memories import LOCAL, Memory
from xeemu.frontends.hosting.rewriting import TreeRewriter
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Expression, SourceLocation, Statement, Variable
from xeemu.frontends.types import Array, Field, Pointer, Record, Scalar, Type
from xeemu.programs import scalar_replacement
from xeemu.programs.launches import Pointed
from xeemu.programs.side_exits import CannotOutline, SideExits

STATE = "random numbers"


@dataclasses.dataclass(frozen=True, eq=False)
class LoopForm:
    """What the tree tells of a loop.

    Attributes:
      loop: the loop with its side exits.
      flag: the variable that is 1 once the loop has been left by a side exit; None where there is none.
      free: the variables that are declared outside of it, in order.
      assigned: those that it assigns.
      draws: True if it calls for random numbers.
      fields: the names of those that it, or what it calls, uses of objects.
    """

    loop: tree.Loop
    flag: Variable | None
    free: tuple[Variable, ...]
    assigned: frozenset[Variable]
    draws: bool
    fields: frozenset[str]

    @classmethod
    def of(cls, node: tree.Loop) -> "LoopForm":
        """The form of a loop.

        Raises:
          CannotOutline: it has to be carried out step by step.
        """
        flag = Variable("<left>", types.INT, "private", node.place)
        leaving = SideExits(tree.Name(types.INT, node.place, flag), _needs_host)
        loop = tree.Loop(node.place, None, node.condition, node.step, leaving.body(node.body))
        _check(loop)
        free = tuple(variable for variable in _free(loop) if variable is not flag)
        draws = any(map(_is_drawn, effects.nodes(loop)))
        fields = frozenset(part.name for part in _parts(loop) if isinstance(part, tree.Member))
        return cls(loop, flag if leaving.used else None, free, effects.of(loop).assigned, draws, fields)


@dataclasses.dataclass(eq=False)
class Outlined:
    """A loop as the function of a kernel.

    Attributes:
      given: expressions for the loop's variables.
      parameters, values: of the kernel.
      shape: what tells its function from those of the same loop with other variables.
      first, last: statements before and after the loop.
      bases: the parameters that are memories, by these.
      uninitialized: numbers that the loop changes and that have no value yet, with their types.
      state: of the random numbers.
      left: the memory of `flag`; None where there is none.
    """

    machine: Machine
    form: LoopForm
    frame: Frame
    given: dict[Variable, Expression] = dataclasses.field(default_factory=dict)
    parameters: list[Variable] = dataclasses.field(default_factory=list)
    values: list[Any] = dataclasses.field(default_factory=list)
    shape: list[Any] = dataclasses.field(default_factory=list)
    first: list[Statement] = dataclasses.field(default_factory=list)
    last: list[Statement] = dataclasses.field(default_factory=list)
    bases: dict[int, Variable] = dataclasses.field(default_factory=dict)
    uninitialized: list[tuple[Memory, Scalar]] = dataclasses.field(default_factory=list)
    state: Expression | None = None
    left: Memory | None = None

    def __post_init__(self) -> None:
        if self.form.flag is not None:
            self.left = self.machine.cells(4)
            self.left.put(0, types.INT, 0)
            self._changed(self.form.flag, self.left, types.INT)
        for variable in self.form.free:
            self._variable(variable)
        if self.form.draws:
            self._draw()

    @property
    def place(self) -> SourceLocation:
        return self.form.loop.place

    def function(self) -> Function:
        """The function of the kernel, the same one for loops of the same form and shape."""
        made = TreeRewriter(self.given, self._call).of(scalar_replacement.replaced(self.form.loop))
        whole = tree.Block(self.place, (*self.first, made, *self.last))
        name = f"the loop of line {self.place.line}"
        return Function(name, tuple(self.parameters), types.VOID, self.place, True, read=lambda: whole)

    @property
    def ended(self) -> bool:
        """True if the loop has ended with the launch; else its next iteration is one for the host."""
        return self.left is None or self.left.get(0, types.INT) == 0

    def settle(self) -> None:
        """Sets to 0 the variables that the loop changes and that have no value yet; before the loop is launched."""
        for memory, of in self.uninitialized:
            memory.put(0, of, 0)

    # --- Variables ---

    def _variable(self, variable: Variable) -> None:
        """What stands for a variable of the host."""
        memory = self.frame.get(variable)
        if memory is None:
            if variable.space == "constant" and not isinstance(variable.type, Pointer | Record):
                return
            memory = self.machine.static(variable)
        of = variable.type
        changed = variable in self.form.assigned
        match of:
            case Scalar() if changed:
                self._changed(variable, memory, of)
            case Scalar():
                self.given[variable] = self._number(variable.name, of, memory.get(0, of))
            case Array():
                self.given[variable] = self._array(variable.name, memory, of)
            case Record() if not layouts.holds_pointer(of):
                base = self._base(variable.name, memory, of)
                self.given[variable] = tree.Unary(of, self.place, "*", self._name(base))
            case Pointer() | Record() if not changed:
                self.given[variable] = self._local(variable.name, of, self._value(variable.name, of, memory, 0))
            case _:
                raise CannotOutline

    def _name(self, variable: Variable) -> Expression:
        return tree.Name(variable.type, self.place, variable)

    def _parameter(self, name: str, of: Type, value: Any) -> Variable:
        made = Variable(f"{name} {len(self.parameters)}", of, "private", self.place)
        self.parameters.append(made)
        self.values.append(value)
        self.shape.append((name, of))
        return made

    def _number(self, name: str, of: Scalar, value: Any) -> Expression:
        if value is UNKNOWN:
            raise CannotOutline
        return self._name(self._parameter(name, of, of.dtype.type(value)))

    def _changed(self, variable: Variable, memory: Memory, of: Scalar) -> None:
        """A number that the loop changes: a variable of the kernel, loaded before the loop and stored after it."""
        if memory.get(0, of) is UNKNOWN:
            self.uninitialized.append((memory, of))
        base = self._name(self._base(variable.name, memory, of))
        self.given[variable] = self._promoted(variable.name, tree.Unary(of, self.place, "*", base))

    def _promoted(self, name: str, target: Expression) -> Expression:
        """A variable of the kernel that an lvalue is promoted to: it is stored back after the loop."""
        promoted = self._local(name, target.type, target)
        self.last.append(tree.Evaluate(self.place, tree.Assignment(target.type, self.place, "", target, promoted)))
        return promoted

    def _local(self, name: str, of: Type, value: Expression) -> Expression:
        made = Variable(name, of, "private", self.place, lambda: value)
        self.first.append(tree.Declaration(self.place, (made,)))
        return self._name(made)

    def _base(self, name: str, memory: Memory, element: Type) -> Variable:
        """The parameter for a memory."""
        if memory.size is UNKNOWN or memory.kind == LOCAL or layouts.holds_pointer(element):
            raise CannotOutline
        if id(memory) not in self.bases:
            made = self._parameter(name, Pointer(element, "global"), None)
            self.values[-1] = Pointed(made, memory, 0)
            self.bases[id(memory)] = made
        else:
            self.shape.append((name, self.bases[id(memory)].name))
        return self.bases[id(memory)]

    def _array(self, name: str, memory: Memory, of: Array) -> Expression:
        innermost: Type = of
        while isinstance(innermost, Array):
            innermost = innermost.element
        base = self._name(self._base(name, memory, innermost))
        to = Pointer(of.element, "global")
        return base if base.type == to else tree.Cast(to, self.place, base)

    def _value(self, name: str, of: Type, memory: Memory, at: int) -> Expression:
        """The value of something at a place of the host's, as an expression of parameters."""
        match of:
            case Scalar():
                return self._number(name, of, memory.peek(at, of))
            case Pointer():
                return self._pointer(name, of, memory.peek(at, of))
            case Record(fields=fields, union=False):
                parts = (self._field(f"{name}.{f.name}", f, memory, at + layouts.at(of, f.name)) for f in fields)
                return tree.Initializer(of, self.place, tuple(parts))
        raise CannotOutline

    def _field(self, name: str, field: Field, memory: Memory, at: int) -> Expression:
        """The value of a field; 0 of a number that nobody has set and that the loop does not use."""
        of = field.type
        if isinstance(of, Scalar) and field.name not in self.form.fields and memory.peek(at, of) is UNKNOWN:
            self.shape.append((name, None))
            return tree.Cast(of, self.place, tree.Constant(types.INT, self.place, 0))
        return self._value(name, of, memory, at)

    def _pointer(self, name: str, of: Pointer, pointer: Any) -> Expression:
        if pointer is UNKNOWN or pointer[0] is None:
            self.shape.append((name, None))
            return tree.Cast(of, self.place, tree.Constant(types.INT, self.place, 0))
        memory, at = pointer
        if layouts.holds_pointer(of.pointee):
            if not isinstance(of.pointee, Record):
                raise CannotOutline
            inner = self._local(name, of.pointee, self._value(name, of.pointee, memory, at))
            return tree.Unary(of, self.place, "&", inner)
        element = memory.element if isinstance(of.pointee, types.Void) else of.pointee
        if element is None:
            raise CannotOutline
        base = self._name(self._base(name, memory, element))
        found: Expression = base if base.type == of else tree.Cast(of, self.place, base)
        if not at:
            return found
        count = self._number(f"{name} offset", types.LONG, at // layouts.size(of.pointee))
        return tree.Binary(of, self.place, "+", found, count)

    # --- Random numbers ---

    def _draw(self) -> None:
        """A random number is computed from the last one, in a memory."""
        memory = self.machine.cells(8)
        memory.put(0, types.ULONG, self.machine.random)
        kept = Variable(STATE, Pointer(types.ULONG, "global"), "private", self.place)
        self.parameters.append(kept)
        self.values.append(Pointed(kept, memory, 0))
        self.state = self._promoted(STATE, tree.Unary(types.ULONG, self.place, "*", self._name(kept)))

    def _call(self, node: tree.Call) -> Expression | None:
        return _drawn(self.state, node) if self.state is not None and _is_drawn(node) else None


def _is_drawn(node: Any) -> bool:
    """True of a call for a random number."""
    return isinstance(node, tree.Call) and node.function is None and node.name == "random"


def _drawn(state: Expression, node: tree.Call) -> Expression:
    of, place = types.ULONG, node.place
    factor, term = (tree.Constant(of, place, n) for n in (intrinsics.FACTOR, intrinsics.TERM))
    product = tree.Binary(of, place, "*", state, factor)
    following = tree.Assignment(of, place, "", state, tree.Binary(of, place, "+", product, term))
    upper = tree.Binary(of, place, ">>", state, tree.Constant(types.INT, place, 32))
    steps = (tree.Evaluate(place, following), tree.Evaluate(place, tree.Cast(node.type, place, upper)))
    return tree.Braced(node.type, place, tree.Block(place, steps))


# --- What can be compiled ---


def _parts(loop: tree.Loop) -> Iterator[Any]:
    """The nodes of a loop and of the functions that it calls."""
    yield from effects.nodes(loop)
    around = Function("", (), types.VOID, loop.place, False, read=lambda: tree.Block(loop.place, (loop,)))
    for function in effects.functions(around)[1:]:
        yield from effects.nodes(function.body)


def _needs_host(node: Any) -> bool:
    """True of a part of a loop that does what a kernel cannot do."""
    place = tree.SourceLocation("", 0, 0)
    around = Function("", (), types.VOID, place, False, read=lambda: tree.Block(place, (node,)))
    if any(isinstance(part, tree.Return | tree.Goto) for part in effects.nodes(node)):
        return True
    parts = (part for function in effects.functions(around) for part in effects.nodes(function.body))
    return any(isinstance(p, tree.Call) and p.function is None and p.name in _OUTSIDE for p in parts)


def _check(loop: tree.Loop) -> None:
    """Refuses what a kernel cannot do, and changes of objects that hold pointers."""
    own = set(effects.nodes(loop))
    for node in _parts(loop):
        match node:
            case tree.Call(function=None, name=name) if name in _OF_THE_HOST:
                if name != "random" or node not in own:
                    raise CannotOutline
            case tree.Return() if node in own:
                raise CannotOutline
            case tree.Assignment(target=target) | tree.Step(operand=target):
                if _is_of_pointers(target):
                    raise CannotOutline
            case tree.Name(variable=variable) if node not in own and variable.space == "global":
                raise CannotOutline


_OF_THE_HOST = frozenset((*intrinsics.names(), *intrinsics.COMMANDS, "printf"))
_OUTSIDE = _OF_THE_HOST - {"random"}


def _is_of_pointers(target: Expression) -> bool:
    """True of a member of an object that has pointers in it."""
    if isinstance(target, tree.Member):
        base = target.base.type.pointee if isinstance(target.base.type, Pointer) else target.base.type
        return layouts.holds_pointer(base)
    return False


def _free(loop: tree.Loop) -> list[Variable]:
    """The variables of a loop that are declared outside of it, in order."""
    declared: set[Variable] = set()
    found: dict[Variable, None] = {}
    for node in effects.nodes(loop):
        if isinstance(node, tree.Declaration):
            declared |= set(node.variables)
        elif isinstance(node, tree.Name):
            found[node.variable] = None
    return [v for v in found if v not in declared]

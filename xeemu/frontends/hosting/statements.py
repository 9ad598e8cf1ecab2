"""Statements: what carries out the statements of the host.

Each gives None, or how it is left: `BREAK`, `CONTINUE`, `RETURN` or by a `goto`.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from xeemu.errors import Error
from xeemu.frontends import callees, tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.hosting import exceptions, layouts, lifetimes, partial_evaluation
from xeemu.frontends.hosting.copies import store
from xeemu.frontends.hosting.expressions import value
from xeemu.frontends.hosting.machine import RESULT, Frame, Machine, Rules, Value
from xeemu.frontends.hosting.memories import Cells, Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Expression, Statement, Variable

BREAK, CONTINUE, RETURN = "break", "continue", "return"
_LONG = 1000
"""The steps after which a loop is carried out at once, if that can be done."""
Run: TypeAlias = Callable[[Frame], str | None]


def body(machine: Machine, function: Function) -> Run:
    """The body of a function."""
    if function not in machine.compiled:
        run = lifetimes.scoped(machine, function.parameters, statement(machine, function.body), True)
        machine.compiled[function] = _whole(machine, run)
    return machine.compiled[function]


def _whole(machine: Machine, carried: Run) -> Run:
    """A function's statements, of which none goes to a label that is in no block around it."""

    def run(frame: Frame) -> str | None:
        left = carried(frame)
        if left is not None and left.startswith(_gone("")):
            raise machine.refuse(f"{left}, a label inside of another statement; write a loop with break and continue")
        return left

    return run


def statement(machine: Machine, node: Statement) -> Run:
    """A statement, ready to be carried out."""
    made = _block(machine, node) if isinstance(node, tree.Block) else _when_reached(machine, node)
    if not node.place.line or isinstance(node, tree.Block):
        return made
    where = node.place

    def placed(frame: Frame) -> str | None:
        machine.place = where
        return made(frame)

    return placed if machine.strict else partial_evaluation.tolerant(machine, node, placed)


def _when_reached(machine: Machine, node: Statement) -> Run:
    """A statement that is looked at when it is first reached."""
    made: list[Run] = []

    def run(frame: Frame) -> str | None:
        if not made:
            made.append(_MAKERS[type(node)](machine, node))
        return made[0](frame)

    return run


def _block(machine: Machine, node: tree.Block) -> Run:
    parts = [statement(machine, s) for s in node.statements]
    variables = lifetimes.declared(node.statements)
    if labels := {_gone(s.name): k for k, s in enumerate(node.statements) if isinstance(s, tree.Label)}:
        return lifetimes.scoped(machine, variables, _labelled(machine, node, parts, labels))
    if len(parts) == 1:
        return lifetimes.scoped(machine, variables, parts[0])

    def run(frame: Frame) -> str | None:
        for part in parts:
            left = part(frame)
            if left is not None:
                return left
        return None

    return lifetimes.scoped(machine, variables, run)


def _labelled(machine: Machine, node: tree.Block, parts: list[Run], labels: Mapping[str, int]) -> Run:
    """A block with labels, at which it goes on where a statement of it is left by a `goto`."""
    behind = {name: lifetimes.declared(node.statements[k:]) for name, k in labels.items()}

    def run(frame: Frame) -> str | None:
        k = 0
        while k < len(parts):
            left = parts[k](frame)
            k += 1
            if left is not None:
                if left not in labels:
                    return left
                machine.step()
                if labels[left] < k:
                    lifetimes.leave(machine, behind[left], frame)
                k = labels[left]
        return None

    return run


def _gone(label: str) -> str:
    """How a statement is left that goes to a label."""
    return f"goto {label}"


def _goto(machine: Machine, node: tree.Goto) -> Run:
    left = _gone(node.label)
    return lambda frame: left


def _declaration(machine: Machine, node: tree.Declaration) -> Run:
    return lifetimes.full(machine, node, lambda frame: _declare_all(machine, node, frame))


def _declare_all(machine: Machine, node: tree.Declaration, frame: Frame) -> None:
    for variable in node.variables:
        declare(machine, variable, frame)


def declare(machine: Machine, variable: Variable, frame: Frame) -> None:
    """Makes a variable, with its first value."""
    first = variable.initializer
    made: Memory
    if first is None:
        made = machine.fresh(variable.type)
    elif _names_itself(variable):
        frame[variable] = made = machine.fresh(variable.type)
        store(variable.type)(made, 0, value(machine, first)(frame))
    else:
        mark = len(machine.temporaries)
        given = value(machine, first)(frame)
        if len(machine.temporaries) > mark and isinstance(variable.type, types.Pointer):
            lifetimes.keep(machine, variable, given, frame, mark)
        made = given if isinstance(given, Memory) else machine.fresh(variable.type)
        if made is not given:
            store(variable.type)(made, 0, given)
    frame[variable] = made
    if variable.place.line:
        machine.note(variable, made)
    if variable.name == callees.TEMPORARY and lifetimes.needed(machine, variable.type):
        machine.temporaries.append((made, variable.type))


@functools.lru_cache(maxsize=4096)
def _names_itself(variable: Variable) -> bool:
    """True if a variable's first value names it, as a function object that calls itself does."""
    return any(isinstance(n, tree.Name) and n.variable is variable for n in effects.nodes(variable.initializer))


def begin(machine: Machine) -> Callable[[Memory, Variable, Frame], None]:
    """What gives a static variable its first value."""

    def run(memory: Memory, variable: Variable, frame: Frame) -> None:
        assert variable.initializer is not None
        try:
            store(variable.type)(memory, 0, value(machine, variable.initializer)(frame))
        except Error as error:
            if machine.strict:
                raise
            machine.failed.append(error)

    return run


def _evaluate(machine: Machine, node: tree.Evaluate) -> Run:
    computed, of = value(machine, node.expression), node.expression.type
    dropped = isinstance(node.expression, tree.Call) and lifetimes.needed(machine, of)

    def run(frame: Frame) -> str | None:
        found = computed(frame)
        if dropped and isinstance(found, Memory):
            lifetimes.end(machine, found, 0, of)
        return None

    return lifetimes.full(machine, node.expression, run)


def _if(machine: Machine, node: tree.If) -> Run:
    condition, then = _condition(machine, node.condition), statement(machine, node.then)
    otherwise = None if node.otherwise is None else statement(machine, node.otherwise)
    truth = machine.truth

    def run(frame: Frame) -> str | None:
        holds = truth(condition(frame))
        if holds is UNKNOWN:
            return partial_evaluation.either(machine, frame, then, otherwise)
        if holds:
            return then(frame)
        return None if otherwise is None else otherwise(frame)

    return run


def _loop(machine: Machine, node: tree.Loop) -> Run:
    first = None if node.first is None else statement(machine, node.first)
    condition = None if node.condition is None else _condition(machine, node.condition)
    step = None if node.step is None else _condition(machine, node.step)
    repeated = statement(machine, node.body)
    repeat = partial_evaluation.repeat if not machine.strict else _repeat

    def run(frame: Frame) -> str | None:
        if first is not None:
            first(frame)
        return repeat(machine, node, frame, condition, step, repeated)

    return lifetimes.scoped(machine, lifetimes.declared([node.first]), run)


def _condition(machine: Machine, node: Expression) -> Value:
    return lifetimes.full(machine, node, value(machine, node))


def _repeat(
    machine: Machine, node: tree.Loop, frame: Frame, condition: Value | None, step: Value | None, repeated: Run
) -> str | None:
    truth, tested, start, long = machine.truth, not node.after, machine.steps, _LONG
    while True:
        if tested and machine.steps - start > long and machine.replace_loop is not None:
            long = machine.replace_loop(machine, node, frame, machine.steps - start)
            if not long:
                return None
            start = machine.steps
        if tested and condition is not None and not truth(condition(frame)):
            return None
        tested = True
        machine.step()
        left = repeated(frame)
        if left is not None and left != CONTINUE:
            return None if left == BREAK else left
        if step is not None:
            step(frame)


def _switch(machine: Machine, node: tree.Switch) -> Run:
    chosen = _condition(machine, node.value)
    cases = [[statement(machine, s) for s in case.statements] for case in node.cases]

    def run(frame: Frame) -> str | None:
        x = chosen(frame)
        if x is UNKNOWN:
            if machine.strict:
                machine.unknown("a switch")
            return partial_evaluation.any_case(machine, frame, cases)
        start = _case(node, x)
        for part in [s for case in cases[start:] for s in case]:
            left = part(frame)
            if left is not None:
                return None if left == BREAK else left
        return None

    return lifetimes.scoped(machine, lifetimes.declared([s for case in node.cases for s in case.statements]), run)


def _case(node: tree.Switch, x: int) -> int:
    """The case at which a switch goes on."""
    for k, case in enumerate(node.cases):
        if any(low <= x <= high for low, high in case.values):
            return k
    return next((k for k, case in enumerate(node.cases) if case.default), len(node.cases))


def _return(machine: Machine, node: tree.Return) -> Run:
    if node.value is None:
        return lambda frame: RETURN
    if isinstance(node.value, tree.Name) and lifetimes.needed(machine, node.value.type):
        return _given_away(node.value.variable, value(machine, node.value))
    computed = _condition(machine, node.value)

    def run(frame: Frame) -> str | None:
        frame[RESULT] = computed(frame)
        return RETURN

    return run


def _given_away(variable: Variable, computed: Value) -> Run:
    """Returns a variable itself, which does not end in the function then."""

    def run(frame: Frame) -> str | None:
        found = frame.pop(variable, None)
        frame[RESULT] = computed(frame) if found is None else found
        return RETURN

    return run


_MAKERS: dict[type, Callable[[Machine, Any], Run]] = {
    tree.Block: _block,
    tree.Declaration: _declaration,
    tree.Evaluate: _evaluate,
    tree.If: _if,
    tree.Loop: _loop,
    tree.Switch: _switch,
    tree.Break: lambda machine, node: lambda frame: BREAK,
    tree.Continue: lambda machine, node: lambda frame: CONTINUE,
    tree.Return: _return,
    tree.Try: lambda machine, node: exceptions.tried(machine, node, statement),
    tree.Goto: _goto,
    tree.Label: lambda machine, node: lambda frame: None,
}


def braced(machine: Machine, block: tree.Block, last: Callable[[Machine, Expression], Value]) -> Value:
    """Statements in an expression, of which the last one is its value or place."""
    *before, end = block.statements or (tree.Block(block.place, ()),)
    parts = [_within(machine, s) for s in before]
    if not isinstance(end, tree.Evaluate):
        final = statement(machine, end)
        return lambda frame: [p(frame) for p in (*parts, final)] and UNKNOWN
    result = last(machine, end.expression)

    def run(frame: Frame) -> Any:
        for part in parts:
            part(frame)
        return result(frame)

    return run


def _within(machine: Machine, node: Statement) -> Run:
    """A statement in an expression, with which temporary objects do not end."""
    if isinstance(node, tree.Declaration):
        return lambda frame: _declare_all(machine, node, frame)
    if isinstance(node, tree.Evaluate):
        return value(machine, node.expression)
    return statement(machine, node)


def unset(machine: Machine, frame: Frame, variable: Variable) -> None:
    """A variable of which nothing is known."""
    if variable not in frame:
        frame[variable] = machine.cells(layouts.size(variable.type))
    memory = frame[variable]
    if isinstance(memory, Cells):
        memory.forget()


RULES = Rules(value, braced, body)
"""What carries out a program."""

"""Partial evaluation: how a program is followed whose values are not all known.

A branch on what is not known is taken both ways, and what the two ways do not agree on is not known afterwards; a loop
that is not known to end soon leaves what it changes unknown.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xeemu.errors import Error
from xeemu.frontends import tree
from xeemu.frontends.hosting.machine import RESULT, Exhausted, Frame, Machine, Stopped, Value
from xeemu.frontends.hosting.memories import WHOLE, Noted
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import Statement, Variable

Run: TypeAlias = Callable[[Frame], str | None]
Changes: TypeAlias = "dict[tuple[Noted, Any], Any]"
"""Values by the memories and offsets at which they are, or were."""

_SOON = 3000
"""The steps of a loop that is followed to its end."""
_MISTAKES = (Error, ArithmeticError, TypeError, ValueError, LookupError, AttributeError, AssertionError, RecursionError)
_STOPPED = "stopped"
_BREAK, _CONTINUE, _RETURN = "break", "continue", "return"


def tolerant(machine: Machine, node: Statement, run: Run) -> Run:
    """A statement that leaves what it assigns unknown where it cannot be carried out."""

    def tried(frame: Frame) -> str | None:
        machine.step()
        try:
            return run(frame)
        except _MISTAKES as mistake:
            machine.failed.append(mistake)
        for variable in _assigned(node):
            _unset(machine, frame, variable)
        if isinstance(node, tree.Return):
            frame[RESULT] = UNKNOWN
            return _RETURN
        return None

    return tried


def _assigned(node: Statement) -> Sequence[Variable]:
    if isinstance(node, tree.Declaration):
        return node.variables
    try:
        return tuple(effects.of(node).assigned)
    except Error:
        return ()


def _unset(machine: Machine, frame: Frame, variable: Variable) -> None:
    if variable not in frame:
        frame[variable] = machine.fresh(variable.type)
    frame[variable].forget()


# --- Branches ---


def either(machine: Machine, frame: Frame, then: Run, otherwise: Run | None) -> str | None:
    """Both ways of a branch; one that leaves the function or the loop is taken not to be gone."""
    left_first, before, after_first = _tried(machine, frame, then)
    _put(before)
    left_second, also_before, after_second = (None, {}, {}) if otherwise is None else _tried(machine, frame, otherwise)
    if left_first is not None and left_second is None:
        return None
    if left_second is not None and left_first is None:
        _put(also_before)
        _put(after_first)
        return None
    for key in {**before, **also_before}:
        old = before[key] if key in before else also_before[key]
        _merge(key, after_first.get(key, old), after_second.get(key, old))
    if left_first == left_second == _STOPPED:
        raise Stopped(0)
    if RESULT in frame:
        frame[RESULT] = UNKNOWN
    return next((left for left in (left_first, left_second) if left not in (None, _STOPPED)), None)


def any_case(machine: Machine, frame: Frame, cases: Sequence[Sequence[Run]]) -> str | None:
    """A switch on what is not known: each case may be gone or not."""
    for case in cases:

        def whole(frame: Frame, case: Sequence[Run] = case) -> str | None:
            for part in case:
                left = part(frame)
                if left is not None:
                    return None if left == _BREAK else left
            return None

        either(machine, frame, whole, None)
    return None


def _tried(machine: Machine, frame: Frame, run: Run) -> tuple[str | None, Changes, Changes]:
    """Carries something out: how it is left, and what it has changed, as it was before and is after it."""
    journal = machine.journal
    outer, journal.entries = journal.entries, []
    left: str | None
    try:
        left = run(frame)
    except Stopped:
        left = _STOPPED
    finally:
        mine = journal.entries
        journal.entries = outer
        if outer is not None:
            outer.extend(mine)
    before: Changes = {}
    for memory, at, old in mine:
        before.setdefault((memory, at), old)
    return left, before, {key: key[0].now(key[1]) for key in before}


def _put(values: Changes) -> None:
    for (memory, at), value in values.items():
        memory.restore(at, value)


def _merge(key: tuple[Noted, Any], a: Any, b: Any) -> None:
    memory, at = key
    if at is WHOLE:
        memory.forget()
    elif a is b or (type(a) is type(b) and a == b):
        memory.restore(at, a)
    else:
        memory.restore(at, UNKNOWN)


# --- Loops ---


def repeat(
    machine: Machine, node: tree.Loop, frame: Frame, condition: Value | None, step: Value | None, repeated: Run
) -> str | None:
    """A loop: to its end where that is known and near."""
    outermost = machine.limit is None
    if outermost:
        machine.limit = machine.steps + _SOON
    journal = machine.journal
    outer, journal.entries = journal.entries, []
    try:
        ended, left, count = _followed(machine, frame, condition, step, repeated, node.after)
        if not ended:
            _blur(journal.entries)
            _once_more(machine, frame, step, repeated, quiet=count > 0)
            _blur(journal.entries)
        return left
    finally:
        if outer is not None:
            outer.extend(journal.entries)
        journal.entries = outer
        if outermost:
            machine.limit = None


def _followed(
    machine: Machine, frame: Frame, condition: Value | None, step: Value | None, repeated: Run, after: bool
) -> tuple[bool, str | None, int]:
    """Iterations one after the other: true if the loop has ended, how it was left, and how many there were."""
    assert machine.limit is not None
    count, tested = 0, not after
    while True:
        if tested and condition is not None:
            holds = machine.truth(condition(frame))
            if holds is UNKNOWN:
                return False, None, count
            if not holds:
                return True, None, count
        if machine.steps > machine.limit:
            return False, None, count
        tested = True
        machine.step()
        left = repeated(frame)
        count += 1
        if left is not None and left != _CONTINUE:
            return True, None if left == _BREAK else left, count
        if step is not None:
            step(frame)


def _once_more(machine: Machine, frame: Frame, step: Value | None, repeated: Run, quiet: bool) -> None:
    """An iteration of which nothing is known; a `quiet` one submits nothing, for others have."""
    before, machine.quiet = machine.quiet, machine.quiet or quiet
    limit, machine.limit = machine.limit, max(machine.limit or 0, machine.steps + 100)
    try:
        repeated(frame)
        if step is not None:
            step(frame)
    except (Stopped, Exhausted):
        pass
    finally:
        machine.quiet, machine.limit = before, limit
    if machine.steps > machine.most:
        raise Exhausted()


def _blur(entries: Sequence[tuple[Noted, Any, Any]]) -> None:
    """Nothing is known any more of what has changed."""
    for memory, at in {(memory, at) for memory, at, _ in entries}:
        if at is WHOLE:
            memory.forget()
        else:
            memory.restore(at, UNKNOWN)

"""Exceptions: what a program of the host tries, and the exceptions that it catches."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xeemu.frontends import tree, types
from xeemu.frontends.hosting import layouts, lifetimes
from xeemu.frontends.hosting.machine import Frame, Machine, Thrown
from xeemu.frontends.types import Pointer, Type

Run: TypeAlias = Callable[[Frame], Any]


def tried(machine: Machine, node: tree.Try, statement: Callable[[Machine, tree.Statement], Run]) -> Run:
    """A block whose exceptions are caught by the first handler that takes them; `statement` carries out blocks."""
    block = statement(machine, node.block)
    if not machine.strict:
        return block
    handlers = [(h, _handler(machine, h, statement(machine, h.block))) for h in node.handlers]

    def run(frame: Frame) -> Any:
        depth, waiting, begun = len(machine.stack), len(machine.temporaries), _begun(machine)
        machine.trying.append(node.handlers)
        try:
            return block(frame)
        except Thrown as exception:
            thrown = exception
        finally:
            machine.trying.pop()
        for handler, caught in handlers:
            if takes(handler, thrown.type):
                del machine.stack[depth:], machine.temporaries[waiting:]
                _abandon(machine, begun)
                return caught(frame, thrown)
        raise thrown

    return run


def _begun(machine: Machine) -> int:
    return 0 if machine.commands is None else len(machine.commands.open)


def _abandon(machine: Machine, begun: int) -> None:
    """Forgets the commands that were being put together where an exception was thrown."""
    if machine.commands is not None:
        del machine.commands.open[begun:]


def takes(handler: tree.Handler, of: Type) -> bool:
    """True if a handler catches exceptions of a type."""
    to = handler.type
    if to is None or to == of or types.base_path(of, to):
        return True
    if isinstance(to, Pointer) and isinstance(of, Pointer):
        return to.pointee in (of.pointee, types.VOID) or bool(types.base_path(of.pointee, to.pointee))
    return False


def caught_by(trying: Sequence[Sequence[tree.Handler]], of: Type) -> bool:
    """True if one of the blocks that are being tried has a handler for exceptions of a type."""
    return any(takes(handler, of) for handlers in trying for handler in handlers)


def _handler(machine: Machine, node: tree.Handler, block: Run) -> Callable[[Frame, Thrown], Any]:
    def run(frame: Frame, thrown: Thrown) -> Any:
        if node.variable is not None and node.type is not None:
            place = thrown.memory, layouts.base_offset(thrown.type, node.type)
            frame[node.variable] = machine.holding(node.variable.type, place)
        machine.handled.append(thrown)
        rethrown = False
        try:
            return block(frame)
        except Thrown as other:
            rethrown = other is thrown
            raise
        finally:
            machine.handled.pop()
            if not rethrown and thrown not in machine.handled and thrown not in machine.exceptions:
                lifetimes.end(machine, thrown.memory, 0, thrown.type)

    return run

"""Intrinsics: what functions without a body do on the host, as `xeemu/intrinsics.hpp` declares them."""

from collections.abc import Callable, Mapping
from typing import Any

from xeemu.frontends import callees, tree, types
from xeemu.frontends.hosting import (
    allocations,
    containers,
    copies,
    device_functions,
    dispatch,
    formats,
    functions,
    layouts,
    lifetimes,
)
from xeemu.frontends.hosting.machine import Machine, Stopped, Thrown
from xeemu.frontends.hosting.memories import OWN, Memory
from xeemu.frontends.hosting.unknowns import UNKNOWN

Carried = Callable[..., Any]
_LONGEST = 4096
_EMPTY = "the program takes a number from its command line, which is empty here; give run(arguments=[...])"


def find(machine: Machine, node: tree.Call) -> Carried:
    """What carries out a call of a function without a body."""
    made = _MACHINE.get(node.name)
    if made is not None:
        return made(machine, node)
    command = getattr(machine.commands, node.name, None) if node.name in COMMANDS else None
    if command is not None:
        return command
    given = [a.type for a in node.arguments]
    computed = functions.find(node.name, node.type, given) or device_functions.find(
        machine, node.name, node.type, given
    )
    if computed is not None:
        return computed
    name, place = node.name, node.place

    def missing(*_: Any) -> Any:
        if machine.strict:
            hint = "define it in the file, or include the file that does"
            raise machine.refuse(f"{name} has no body that the host could run; {hint}", place)
        return UNKNOWN

    return missing


COMMANDS = (
    "new_queue", "new_context", "begin_command", "command_depends", "command_uses", "discard", "end_command",
    "wait_event", "wait_queue", "wait_memory", "hold", "release", "view", "end_view", "profiled",
    "device_info", "device_text",
)  # fmt: skip
"""What goes to the queues and devices of a program."""


# --- Text ---


def text_at(machine: Machine, address: Any) -> str:
    """The letters up to a zero."""
    if address is UNKNOWN or address[0] is None:
        return ""
    memory, at = address
    found: list[str] = []
    while len(found) < _LONGEST:
        code = _letter(memory, at + len(found))
        if code is UNKNOWN or code == 0:
            break
        found.append(chr(code & 0xFF))
    return "".join(found)


def _letter(memory: Memory, at: Any) -> Any:
    return memory.get(at, types.CHAR)


def _print(machine: Machine, node: tree.Call) -> Carried:
    of = node.arguments[0].type
    if isinstance(of, types.Pointer | types.Array):
        inner = of.pointee if isinstance(of, types.Pointer) else of.element
        if isinstance(inner, types.Scalar) and inner.size == 1:
            return lambda p: machine.output.append(text_at(machine, p))
        return lambda p: machine.output.append(hex(machine.registry.number(p)))
    if isinstance(of, types.Scalar) and of.size == 1 and not of.is_bool:
        return lambda x: machine.output.append("" if x is UNKNOWN else chr(x & 0xFF))
    return lambda x: machine.output.append(str(+x))


def _spell(machine: Machine, node: tree.Call) -> Carried:
    def spelt(to: Any, x: Any, digits: Any = 6, style: Any = 0) -> Any:
        if x is UNKNOWN:
            return machine.unknown("what is printed") if machine.strict else UNKNOWN
        text = str(x) if x.__class__ is int else formats.streamed(float(x), digits, style)
        memory, at = machine.behind(to)
        assert memory is not None
        copies.put_letters(memory, at, text, end="")
        return len(text)

    return spelt


def _number_of(machine: Machine, node: tree.Call) -> Carried:
    def number(p: Any) -> Any:
        if p is UNKNOWN or p[0] is None:
            if machine.strict:
                raise machine.refuse(_EMPTY)
            return UNKNOWN
        text = text_at(machine, p).strip()
        for end in range(len(text), 0, -1):
            try:
                return float(text[:end])
            except ValueError:
                continue
        return 0.0

    return number


def _printf(machine: Machine, node: tree.Call) -> Carried:
    given = [a.type for a in node.arguments]

    reader = formats.Reader(lambda p: text_at(machine, p), machine.registry.number)
    before = _BEFORE_FORMAT[node.name]

    def printed(*values: Any) -> int:
        form, rest = values[before], values[before + 1 :]
        text = formats.formatted(text_at(machine, form), rest, given[before + 1 :], reader)
        if node.name == "sprintf":
            _put_text(machine, values[0], text, len(text) + 1)
        elif node.name == "snprintf":
            _put_text(machine, values[0], text, 0 if values[1] is UNKNOWN else values[1])
        else:
            machine.output.append(text)
        return len(text)

    return printed


_BEFORE_FORMAT = {"printf": 0, "fprintf": 1, "sprintf": 1, "snprintf": 2}
"""How many arguments stand before the format."""


def _put_text(machine: Machine, to: Any, text: str, room: int) -> None:
    """Puts as much of a text as there is room for, with a zero at its end."""
    if room > 0:
        memory, at = machine.behind(to)
        assert memory is not None
        copies.put_letters(memory, at, text[: room - 1])


# --- The program ---


def _seed(machine: Machine, node: tree.Call) -> Carried:
    def seeded(seed: Any) -> None:
        machine.random = UNKNOWN if seed is UNKNOWN else (seed * 2862933555777941757 + 3037000493) & _ALL

    return seeded


_ALL = (1 << 64) - 1
FACTOR, TERM = 6364136223846793005, 1442695040888963407
"""Of the random numbers, which are the upper halves of these: `state = state * FACTOR + TERM`."""


def _random(machine: Machine, node: tree.Call) -> Carried:
    def drawn() -> Any:
        if not machine.strict:
            return UNKNOWN
        machine.random = (machine.random * FACTOR + TERM) & _ALL
        return machine.random >> 32

    return drawn


def _now(machine: Machine, node: tree.Call) -> Carried:
    return lambda: machine.steps * 1e-6


def _stop(machine: Machine, node: tree.Call) -> Carried:
    def stopped(message: Any = UNKNOWN) -> Any:
        raise Stopped(1, text_at(machine, message) or "the program stops")

    return stopped


def _throw(machine: Machine, node: tree.Call) -> Carried:
    """Throws an exception, its text and its value; without a value the one that is handled."""
    of = node.arguments[1].type if len(node.arguments) > 1 else None

    def thrown(text: Any, *values: Any) -> Any:
        words = text_at(machine, text)
        if not machine.strict:
            raise Stopped(1, words)
        if of is None:
            if not machine.handled:
                raise Stopped(1, f"{words}: no exception is being handled")
            raise machine.handled[-1]
        raise Thrown(machine.holding(of, values[0]), of, words)

    return thrown


def _caught(machine: Machine, node: tree.Call) -> Carried:
    """The number of the exception that is handled, 0 for none."""

    def caught() -> int:
        if not machine.handled:
            return 0
        if machine.handled[-1] not in machine.exceptions:
            machine.exceptions.append(machine.handled[-1])
        return machine.exceptions.index(machine.handled[-1]) + 1

    return caught


def _rethrow(machine: Machine, node: tree.Call) -> Carried:
    def rethrown(number: Any) -> Any:
        if number is UNKNOWN or not 0 < number <= len(machine.exceptions):
            raise Stopped(1, "std::rethrow_exception of a null pointer")
        raise machine.exceptions[number - 1]

    return rethrown


def _ends_by(machine: Machine, node: tree.Call) -> Carried:
    """By which instances of our headers' templates say how their objects end."""

    def told(callee: Any) -> None:
        function = callee.read() if isinstance(callee, tree.Callee) else None
        if function is not None and machine.strict:
            of = function.parameters[0].type
            assert isinstance(of, types.Pointer)
            machine.destructors[of.pointee] = function

    return told


def _end_of(machine: Machine, node: tree.Call) -> Carried:
    of = _pointee(node)

    def ended(pointer: Any) -> None:
        function = machine.destructors.get(of)
        if function is not None:
            machine.call(function, [pointer])

    return ended


def _destroy(machine: Machine, node: tree.Call) -> Carried:
    of = _pointee(node)

    def destroyed(pointer: Any) -> None:
        if machine.strict:
            memory, at = machine.behind(pointer)
            assert memory is not None
            lifetimes.end(machine, memory, at, of)

    return destroyed


def _pointee(node: tree.Call) -> types.Type:
    of = node.arguments[0].type
    assert isinstance(of, types.Pointer)
    return of.pointee


def _delete(machine: Machine, node: tree.Call) -> Carried:
    """Ends what a pointer points to, the elements of an array from the last one on, and frees the memory."""
    of, freed = _pointee(node), allocations.deallocate(machine, node)

    def deleted(pointer: Any) -> None:
        if machine.strict and pointer is not UNKNOWN and pointer[0] is not None and pointer[0].freed is None:
            lifetimes.end_heap(machine, pointer, of)
        freed(pointer)

    return deleted


def _failed(machine: Machine, node: tree.Call) -> Carried:
    def failed(assertion: Any) -> Any:
        raise Stopped(1, f"the assertion {text_at(machine, assertion)} does not hold")

    return failed


def _unsupported(machine: Machine, node: tree.Call) -> Carried:
    """By which our headers say what is not emulated."""

    def refused(what: Any) -> Any:
        if machine.strict:
            raise machine.refuse(f"not supported: {text_at(machine, what)}")
        return UNKNOWN

    return refused


def _leave(machine: Machine, node: tree.Call) -> Carried:
    orderly = node.name == "leave"

    def left(status: Any) -> Any:
        raise Stopped(status if isinstance(status, int) else 0, orderly=orderly)

    return left


def _at_exit(machine: Machine, node: tree.Call) -> Carried:
    def given(callee: Any) -> None:
        function = callee.read() if isinstance(callee, tree.Callee) else None
        if function is not None and machine.strict:
            machine.static_objects.append(function)

    return given


def _new(machine: Machine, node: tree.Call) -> Carried:
    of = node.type
    assert isinstance(of, types.Pointer)
    size = layouts.size(of.pointee)

    def made(count: Any = 1, zeroed: Any = 0) -> Any:
        memory = machine.allocate(count * size, OWN)
        if zeroed:
            memory.fill(0, 0, count * size)
        memory.element = of.pointee
        return memory, 0

    return made


_MACHINE: Mapping[str, Callable[[Machine, tree.Call], Carried]] = {
    "allocate": allocations.allocate,
    "allocate_in": allocations.allocate_in,
    "deallocate": allocations.deallocate,
    "deallocate_in": allocations.deallocate_in,
    "size_of": allocations.size_of,
    "kind_of": allocations.kind_of,
    "copy_apart": allocations.copy_apart,
    "copy_bytes": allocations.copy_bytes,
    "set_bytes": allocations.set_bytes,
    "print": _print,
    "spell": _spell,
    "number_of": _number_of,
    **dict.fromkeys(_BEFORE_FORMAT, _printf),
    "seed": _seed,
    "random": _random,
    "now": _now,
    "stop": _stop,
    "failed": _failed,
    "unsupported": _unsupported,
    "leave": _leave,
    "leave_at_once": _leave,
    "at_exit": _at_exit,
    "new": _new,
    callees.SIZED_LATE: _new,
    "delete": _delete,
    "throw": _throw,
    "caught": _caught,
    "rethrow": _rethrow,
    "ends_by": _ends_by,
    callees.END_OF: _end_of,
    callees.DESTROY: _destroy,
    callees.MOVE: lambda machine, node: lambda given: containers.moved(given, node.type),
    callees.POINTED: dispatch.pointed,
    callees.VIRTUAL: dispatch.virtual,
    callees.COPY: lambda machine, node: lambda given: containers.copied(machine, given, node.type),
    "__builtin_addressof": lambda machine, node: lambda p: p,
}


def names() -> tuple[str, ...]:
    """The functions that only the host has."""
    return tuple(name for name in _MACHINE if name != "printf")

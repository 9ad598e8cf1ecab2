"""The machine: what the host's code computes with, and where it is."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from xeemu.errors import KernelError
from xeemu.frontends import refusals, texts, tree, types
from xeemu.frontends.functions import Function
from xeemu.frontends.hosting import copies, layouts
from xeemu.frontends.hosting.copies import LARGE_BYTES
from xeemu.frontends.hosting.memories import (
    DEVICE,
    LOCAL,
    OWN,
    SHARED,
    Address,
    Cells,
    Journal,
    Memory,
    Noted,
    Nowhere,
    Registry,
)
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.hosting.words import Words
from xeemu.frontends.tree import Expression, SourceLocation, Variable
from xeemu.frontends.types import Type

Frame: TypeAlias = dict[Any, Any]
"""The variables of a call, each a memory; at `RESULT` what it gives."""
Value: TypeAlias = Callable[[Frame], Any]
"""An expression, ready to be computed."""
RESULT = "result"
NOWHERE = SourceLocation("", 0, 0)
_DEEPEST = 200
_LARGEST = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


class Stopped(Exception):
    """The program has ended.

    Attributes:
      status: that it gives.
      message: of an error; else empty.
      orderly: True if static objects end before, and functions given to `atexit` are called, as by `std::exit`.
    """

    def __init__(self, status: int, message: str = "", orderly: bool = False):
        super().__init__(message)
        self.status, self.message, self.orderly = status, message, orderly

    def checked(self) -> int:
        """The status; raises itself where it is of an error."""
        if self.message:
            raise self
        return self.status


class Thrown(Exception):
    """An exception of the program.

    Attributes:
      memory: holds its value.
      type: of the value.
      text: what the program throws, as its source says it.
    """

    def __init__(self, memory: "Memory", of: Type, text: str):
        super().__init__(text)
        self.memory, self.type, self.text = memory, of, text


class Exhausted(Exception):
    """The program has taken as many steps as it may."""


@dataclasses.dataclass(frozen=True)
class Rules:
    """What carries out the parts of a program, each of which may stand in the others.

    Attributes:
      value: makes of an expression what computes it.
      braced: makes of statements in an expression what carries them out, and then the last one's value or place.
      body: makes of a function what carries it out.
    """

    value: "Callable[[Machine, Expression], Value]"
    braced: "Callable[[Machine, tree.Block, Callable[[Machine, Expression], Value]], Value]"
    body: "Callable[[Machine, Function], Value]"


@dataclasses.dataclass(eq=False)
class Machine:
    """The state of a program of the host.

    Attributes:
      strict: True if all has to be known; else what is not known is `UNKNOWN`, and the program is followed as far as it
        can be.
      submit: takes a kernel's entry, the address of its function object and the calls that lead to it.
      intrinsic: carries out a function that has no body.
      compiled: expressions and statements that are ready to be computed.
      place: the last place in the user's files.
      stack: the calls that have not returned.
      steps: how many calls and iterations there were.
      allocated: the bytes of the heap.
      heap: the memories that have been allocated.
      limit: how many there may be till the end of a loop.
      quiet: True if nothing is to be submitted.
      most: how many there may be.
      rules: what carries out expressions, statements and functions.
      output: what is printed.
      discarded: where contents of a memory have been discarded last, as by an accessor of `no_init`.
      shared: memories that host and device, or the device alone, can access.
      on_free: called with an address whose memory is freed, and the number of the context where it is one of USM's.
      on_overlap: called with where, from where and how many bytes are copied whose source and target overlap.
      on_use_after_free: called with memory that has been freed, and with what uses it.
      on_uninitialized_read: called when the host reads memory that nobody has written, with the offset and the type.
      replace_loop: carries out what is left of a long loop, if it can; called with the steps of the loop since it was
        called last, it gives those after which it is to be called again, 0 where the loop has ended.
      destructor: the destructor of a class, a function of an object's address; None of one that does nothing.
      destructors: those of instances of our headers' templates, which these have registered.
      temporaries: temporary objects that end with their full expressions, and their types.
      static_objects: in the order of their construction, with the functions given to `atexit` among them.
      handled: the exceptions that are being handled, the last one first at the end.
      exceptions: those that the program has pointers to, by their numbers less one.
      trying: the handlers of the blocks that are being tried.
      failed: what went wrong and was left out, where not all has to be known.
    """

    strict: bool
    submit: Callable[["Machine", Function, Address], None]
    intrinsic: Callable[["Machine", tree.Call], Callable[..., Any]]
    most: int
    rules: Rules
    compiled: dict[Any, Any] = dataclasses.field(default_factory=dict)
    statics: dict[Variable, Memory] = dataclasses.field(default_factory=dict)
    named: dict[str, tuple[Type, Memory]] = dataclasses.field(default_factory=dict)
    registry: Registry = dataclasses.field(default_factory=Registry)
    journal: Journal = dataclasses.field(default_factory=Journal)
    place: SourceLocation = dataclasses.field(default=NOWHERE)
    stack: list[tuple[Function, Frame]] = dataclasses.field(default_factory=list)
    steps: int = 0
    allocated: int = 0
    heap: list[Memory] = dataclasses.field(default_factory=list)
    limit: int | None = None
    quiet: bool = False
    output: list[str] = dataclasses.field(default_factory=list)
    discarded: SourceLocation | None = None
    failed: list[Exception] = dataclasses.field(default_factory=list)
    destructor: Callable[[Type], Function | None] = dataclasses.field(default=lambda _: None)
    destructors: dict[Type, Function] = dataclasses.field(default_factory=dict)
    temporaries: list[tuple[Memory, Type]] = dataclasses.field(default_factory=list)
    static_objects: list[tuple[Memory, Type] | Function] = dataclasses.field(default_factory=list)
    handled: list[Thrown] = dataclasses.field(default_factory=list)
    exceptions: list[Thrown] = dataclasses.field(default_factory=list)
    trying: list[Sequence[tree.Handler]] = dataclasses.field(default_factory=list)
    commands: Any = None
    shared: list[Words] = dataclasses.field(default_factory=list)
    random: Any = 1
    replace_loop: "Callable[[Machine, tree.Loop, Frame, int], int] | None" = None
    on_access: Callable[[Memory, bool], None] = dataclasses.field(default=lambda *_: None)
    on_free: Callable[[Address, int | None], None] = dataclasses.field(default=lambda *_: None)
    on_overlap: Callable[[Address, Address, int], None] = dataclasses.field(default=lambda *_: None)
    on_use_after_free: Callable[[Memory, str], None] = dataclasses.field(default=lambda *_: None)
    on_uninitialized_read: Callable[[Memory, int, Type], None] = dataclasses.field(default=lambda *_: None)

    # --- Memories ---

    def cells(self, size: Any, kind: int = OWN) -> Cells:
        return Cells(size, kind) if self.strict else Noted(size, kind, self.journal)

    def fresh(self, of: Type) -> Memory:
        """A variable without a value."""
        size = layouts.size(of)
        if self.strict and size > LARGE_BYTES and not layouts.holds_pointer(of):
            made: Memory = self._words(size, OWN)
        else:
            made = self.cells(size)
        made.element = of
        return made

    def text(self, text: str) -> Address:
        """A new text, as programs hold them: its bytes in UTF-8, and a zero behind them."""
        letters = texts.letters(text)
        made = self.cells(len(letters) + 1)
        made.element = types.CHAR
        copies.put_letters(made, 0, letters)
        return made, 0

    def allocate(self, size: Any, kind: int) -> Memory:
        """Memory of the heap."""
        if not self.strict:
            return self.cells(size, kind)
        self.allocated += size
        if not 0 <= size < _LARGEST or self.allocated > _LARGEST:
            raise self.refuse(
                f"the host's arrays take {self.allocated / 2**30:.1f} GiB, and half of this machine's memory is "
                f"{_LARGEST / 2**30:.1f}; make them smaller, by -D if the size is a macro"
            )
        made = self._words(size, kind)
        made.made = self.place
        self.heap.append(made)
        if kind in (DEVICE, SHARED):
            made.watch = self.on_access
            self.shared.append(made)
        if kind == LOCAL and self.commands is not None:
            self.commands.command_uses((made, 0), size, 1)
        return made

    def _words(self, size: int, kind: int) -> Words:
        """Memory that nobody has written."""
        made = Words(size, kind)
        made.unset = np.ones(size, bool)
        made.on_uninitialized_read = self.on_uninitialized_read
        return made

    def static(self, variable: Variable) -> Memory:
        """A variable that is in no call: of namespace scope, or static. It is made when it is first used."""
        if variable not in self.statics:
            made = self.fresh(variable.type)
            self.statics[variable] = made
            if variable.initializer is None:
                made.fill(0, 0, made.size)
            else:
                self.initialize(made, variable, {})
            self.note(variable, made)
            self.static_objects.append((made, variable.type))
        return self.statics[variable]

    initialize: Callable[[Memory, Variable, Frame], None] = dataclasses.field(default=lambda *_: None)

    def note(self, variable: Variable, memory: Memory) -> None:
        """A variable of the user's, whose arrays go by its name."""
        if variable.place.line:
            self.named[variable.name] = (variable.type, memory)

    # --- Control ---

    def call(self, function: Function, arguments: Sequence[Any]) -> Any:
        """Calls a function; objects among the arguments become its own."""
        frame: Frame = {}
        for parameter, argument in zip(function.parameters, arguments, strict=True):
            frame[parameter] = self.holding(parameter.type, argument)
        if len(self.stack) >= _DEEPEST:
            raise self.refuse(f"{function.name} is {_DEEPEST} calls deep; write the recursion as a loop")
        self.step()
        self.stack.append((function, frame))
        here = self.place
        try:
            self.rules.body(self, function)(frame)
        finally:
            self.stack.pop()
        self.place = here  # after an error it is where that happened
        return frame.get(RESULT, UNKNOWN)

    def holding(self, of: Type, value: Any) -> Memory:
        """A memory that holds a value."""
        if isinstance(value, Memory):
            return value
        made = self.fresh(of)
        copies.store(of)(made, 0, value)
        return made

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.most:
            raise Exhausted()

    def truth(self, value: Any) -> Any:
        """True if a value holds; `UNKNOWN` where it is not known and need not be."""
        if value is UNKNOWN:
            return self.unknown("a condition") if self.strict else UNKNOWN
        if value.__class__ is tuple:
            return value[0] is not None or value[1] != 0
        return bool(value)

    def unknown(self, what: str) -> NoReturn:
        kept = (
            f", or leave out no_init in line {self.discarded.line}, which discards contents" if self.discarded else ""
        )
        raise self.refuse(f"{what} depends on a value that nobody has set; initialise the variable{kept}")

    def behind(self, pointer: Any) -> Address:
        """What a pointer points to."""
        if pointer is not UNKNOWN and pointer[0] is not None:
            return pointer
        if not self.strict:
            return Nowhere(), 0
        what = "a pointer that nobody has set" if pointer is UNKNOWN else "a null pointer"
        raise self.refuse(f"the host uses {what}")

    def refuse(self, message: str, place: SourceLocation | None = None) -> KernelError:
        return refusals.at(place if place is not None and place.line else self.place, message)

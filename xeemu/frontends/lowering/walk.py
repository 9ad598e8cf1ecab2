"""Walk: the state of a kernel while its tree is walked: variables, memories, and who is active.

Control flow that differs between work-items is carried out under masks. `live` is the mask of the work-items that
execute what is being walked; a jump takes work-items out of it until the place where they go on.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from xeemu.frontends import composites, refusals, types, values
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.lowering import sites
from xeemu.frontends.tree import Expression, SourceLocation, Statement, Variable
from xeemu.frontends.values import Data, Null, Number, Value
from xeemu.language import divergence
from xeemu.language.memory import Memory
from xeemu.language.workgroup import WorkGroup

T = TypeVar("T")

NOBODY = np.bool_(False)


@dataclasses.dataclass(frozen=True)
class MemoryLayout:
    """What is known of a memory.

    Attributes:
      name: the variable's.
      space: `"global"`, `"constant"`, `"local"` or `"private"`.
      element: what the memory holds.
      null: True if pointers into it are null.
    """

    name: str
    space: str
    element: types.Scalar
    null: bool = False


@dataclasses.dataclass(eq=False)
class Jumps:
    """The work-items that have left a loop or switch, or an iteration of it.

    Attributes:
      loop: True if it is a loop, of which `continue` speaks.
      broken: by `break`.
      continued: by `continue`, of the iteration that is being walked.
    """

    loop: bool
    broken: Data = NOBODY
    continued: Data = NOBODY


@dataclasses.dataclass(eq=False)
class Frame:
    """A function that is being walked.

    Attributes:
      function: the function.
      number: tells calls of one function apart.
      place: of the call; None for the kernel.
      caller: the function that calls it.
      returned: the work-items that have returned.
      result: what they have returned.
      jumps: the loops and switches around what is being walked, the outermost first.
    """

    function: Function
    number: int
    place: SourceLocation | None = None
    caller: "Frame | None" = None
    returned: Data = NOBODY
    result: Value | None = None
    jumps: list[Jumps] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the user's function: where it is one of our headers, of that which calls it."""
        frame = self
        while not frame.function.place.line and frame.caller is not None:
            frame = frame.caller
        return frame.function.name


Key = tuple[int, Variable]
"""A variable of a call: the frame's number and the variable."""


@dataclasses.dataclass(frozen=True, eq=False)
class Binding:
    """A variable with its value.

    Attributes:
      value: of the work-items that have one.
      region: where it was declared: a part of the program that the same work-items execute, but for jumps.
      depth: loops and switches around the declaration.
    """

    value: Value
    region: object
    depth: int


class Walk:
    """One kernel, walked for one work-group."""

    def __init__(
        self,
        program: TranslationUnit,
        function: Function,
        wg: WorkGroup,
        evaluate: Callable[["Walk", Expression, bool], Value],
        execute: Callable[["Walk", Statement], None],
        granules: Mapping[Any, int],
    ):
        self.program, self.wg, self.granules = program, wg, granules
        self._evaluate, self._execute = evaluate, execute
        self.shape: tuple[int, ...] = wg.local_id(0).shape
        self.memories: dict[Any, Memory] = {}
        self.extents: Mapping[str, Memory] = {}
        self.checked = False
        self.renewed: frozenset[Variable] = frozenset()
        self.transfers: list[Any] = []
        self.turn = 0  # of all loops that are written out on one line; 0 outside such
        self._turns = itertools.count(1)
        self.joined: list[tuple[frozenset[Any], frozenset[Any]]] = []
        self.layouts: dict[Any, MemoryLayout] = {}
        self.bindings: dict[Key, Binding] = {}
        self.constants: dict[Variable, Any] = {}
        self.flows: Mapping[Variable, frozenset[Variable]] = {}
        self.promoted: frozenset[Variable] = frozenset()
        self.learnt: dict[Statement, Any] = {}
        self.written: frozenset[Any] = frozenset()
        self.live: Data | None = None
        self.region: object = object()
        self.frames = 1
        self.frame = Frame(function, 0)
        self.place = function.place
        self.printer: Any = None
        self._asked = False  # for a number that an argument tells, while an expression is evaluated

    # ---- what is walked ----

    def evaluate(self, node: Expression, used: bool = True) -> Value:
        """The value of an expression; `used` says if anybody needs it.

        A number is given if one is that it was made of.
        """
        before, self._asked = self._asked, False
        value = self.at(node.place, lambda: self._evaluate(self, node, used))
        if isinstance(value, Number):
            self._asked |= value.given
            value = value if value.given == self._asked else dataclasses.replace(value, given=True)
        self._asked |= before
        return value

    def execute(self, node: Statement) -> None:
        """Carries out a statement, unless nobody gets there."""
        if not self.dead:
            self.at(node.place, lambda: self._execute(self, node))

    def at(self, place: SourceLocation, call: Callable[[], T]) -> T:
        """Calls something on behalf of a place of the source."""
        if not place.line:  # what has no place of its own has that of who uses it
            return call()
        before, self.place = self.place, place
        try:
            if (place.file, place.line) == (before.file, before.line) and before is not self.frame.function.place:
                return call()
            return sites.at(place, self.frame.name, call, turn=self.turn)
        finally:
            self.place = before

    def next_turn(self, iterate: Callable[[], None]) -> None:
        """Carries out an iteration of a loop that is written out on one line."""
        before, self.turn = self.turn, next(self._turns)
        try:
            self.named("", iterate)
        finally:
            self.turn = before

    def named(self, variable: str, call: Callable[[], T]) -> T:
        """Calls something that computes what is assigned to a variable, on behalf of the line that does."""
        return sites.at(self.place, self.frame.name, call, variable, self.turn) if self.place.line else call()

    def anew(self, call: Callable[[], T]) -> T:
        """Calls something in a trace of its own, whose tracebacks begin here: with all lines that led here."""
        lines = [(self.place, self.frame.name)]
        frame = self.frame
        while frame.caller is not None and frame.place is not None:
            if frame.place.line:
                lines.append((frame.place, frame.caller.name))
            frame = frame.caller
        for place, name in (line for line in lines if line[0].line):
            call = functools.partial(sites.at, place, name, call)
        return call()

    def refuse(self, message: str, place: SourceLocation | None = None) -> Exception:
        """An error at the place that is being walked."""
        return refusals.at(place if place is not None and place.line else self.place, message)

    # ---- who is active ----

    @property
    def dead(self) -> bool:
        """True if nobody gets to what is being walked."""
        return isinstance(self.live, np.generic) and not self.live

    @property
    def where(self) -> Data | None:
        """The mask of a memory operation; None for all."""
        return None if isinstance(self.live, np.generic) and self.live else self.live

    def scope(self) -> "Scope":
        """A context: the part of the traced program that the active work-items execute."""
        return Scope(self)

    def leave(self) -> Data:
        """Takes all who are active out, at a jump; gives who they were."""
        gone = np.bool_(True) if self.live is None else self.live
        self.live = NOBODY
        return gone

    def under(self, condition: Data, call: Callable[[], None]) -> None:
        """Calls something for the active work-items of a condition; who jumps in it stays out."""
        live, region = self.live, self.region
        entered = values.conjunction(live, condition)
        self.live, self.region = entered, object()
        try:
            if not self.dead:
                with self.scope():
                    call()
        finally:
            stayed, self.region = self.live, region
        self.live = self._merged(live, condition, entered, stayed)

    @staticmethod
    def _merged(live: Data | None, condition: Data, entered: Data | None, stayed: Data | None) -> Data | None:
        """Who goes on after a part that the work-items of a condition have executed."""
        if stayed is entered:
            return live
        others = values.conjunction(live, values.negation(condition))
        assert others is not None
        return others if stayed is None else values.disjunction(others, stayed)

    # ---- variables ----

    def key(self, variable: Variable) -> Key:
        """The variable of the call that is being walked, or a parameter of the kernel."""
        own = self.frame.number, variable
        return own if own in self.bindings or (0, variable) not in self.bindings else (0, variable)

    def declare(self, variable: Variable, value: Value) -> None:
        self.bindings[self.frame.number, variable] = Binding(value, self.region, len(self.frame.jumps))

    def read(self, key: Key) -> Value:
        """A variable's value; zeros where it was given none."""
        value = self.bindings[key].value
        of = value.type if isinstance(value, Null) else None
        return values.zero(of) if isinstance(of, types.Scalar | types.Vector | types.Record | types.Array) else value

    def assign(self, key: Key, value: Value) -> None:
        """Gives a variable a value, in the active work-items."""
        old = self.bindings[key]
        if not self._is_whole(key, old) and self.live is not None:
            with jax.named_scope(divergence.MERGE):
                value = composites.selected(self.live, value, old.value)
        self.bindings[key] = dataclasses.replace(old, value=value)

    def is_whole(self, key: Key) -> bool:
        """True if an assignment now is one for all who will read the variable."""
        return self.live is None or self._is_whole(key, self.bindings[key])

    def _is_whole(self, key: Key, old: Binding) -> bool:
        """True if nobody else will read the variable: it was declared here, but for jumps out of its scope."""
        if key[0] != self.frame.number or old.region is not self.region:
            return False
        return len(self.frame.jumps) == old.depth or not self._has_jumped(old.depth)

    def _has_jumped(self, depth: int) -> bool:
        """True if somebody has jumped within the loops and switches deeper than some."""
        return any(j.broken is not NOBODY or j.continued is not NOBODY for j in self.frame.jumps[depth:])


class Scope:
    """A context: what is traced inside is for those alone who are active when it is entered."""

    # A class, as a generator's frames would come between a line of the user's and what it binds.
    def __init__(self, walk: Walk):
        self.walk = walk
        self.inside: divergence.only | None = None

    def __enter__(self) -> None:
        mask = self.walk.where
        if mask is not None and mask is not divergence.active():
            self.walk.live = mask = jnp.asarray(mask)
            self.inside = divergence.only(mask)
            self.inside.__enter__()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if self.inside is not None:
            self.inside.__exit__(kind, *error)
            if kind is None:
                divergence.resume()

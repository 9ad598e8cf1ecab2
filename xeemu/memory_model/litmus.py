"""Litmus tests: small programs of a few work-items, and every outcome that the memory model of SYCL allows.

```python
x, y = xe.litmus.location("x"), xe.litmus.location("y")
test = xe.litmus(
    "MP",
    [
        [x.store(1), y.atomic.store(1, order="release")],
        [y.atomic.load("r0", order="acquire"), x.load("r1").when(r0=1)],
    ],
)
test.forbidden(r0=1, r1=0)
```
"""

import dataclasses
import functools
import itertools
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language import public
from xeemu.memory_model import executions, page, witness
from xeemu.memory_model import statements as language
from xeemu.memory_model.executions import LitmusProgram
from xeemu.memory_model.relations import MOST_EVENTS
from xeemu.memory_model.statements import Position, Statement
from xeemu.memory_model.witness import Outcome, Race, Witness
from xeemu.plurals import counted

MOST_WORK_ITEMS = 4
# Work-items that have no more in common than what they are named by.
_PLACEMENTS: Mapping[str, Callable[[int], Position]] = {
    "sub_group": lambda n: Position(0, 0, 0),
    "work_group": lambda n: Position(0, 0, n),
    "device": lambda n: Position(0, n, 0),
    "system": lambda n: Position(n, 0, 0),
}


@dataclasses.dataclass(frozen=True)
class Litmus:
    """A small program and what may come of it; `str(test)` shows both. Made by `xe.litmus`.

    Attributes:
      name: what it is called.
      program: what each work-item executes, and where.
      memory: true if the final values of locations are part of an outcome.
    """

    name: str
    program: LitmusProgram
    memory: bool = False

    def __post_init__(self) -> None:
        _check_size(self.program)
        _check_names(self.program)
        for item, statements in enumerate(self.program.work_items):
            _check_registers(item, statements)
        _check_local(self.program)
        _check_barriers(self.program)

    @property
    def outcomes(self) -> Mapping[Outcome, Witness]:
        """Every outcome that the model allows, with an execution that ends so; in order of their values.

        Of an undefined program these are the outcomes of its executions as if races had a meaning; anything may happen.
        """
        names = self.program.registers + (self._locations if self.memory else ())
        found: dict[Outcome, Witness] = {}
        for outcome, execution in self._results[0].items():
            found.setdefault(outcome.only(names), execution)
        return MappingProxyType({outcome: found[outcome] for outcome in sorted(found, key=Outcome.rank)})

    @property
    def races(self) -> tuple[Race, ...]:
        """The data races, each pair of statements once, with an execution that has it."""
        return self._results[1]

    @property
    def undefined(self) -> bool:
        """True if some execution has a data race: then the whole program has no meaning."""
        return bool(self.races)

    def allowed(self, **values: int | None) -> bool:
        """True if the program may end with these values of registers, or final values of locations.

        An undefined program may end with any.
        """
        found = self.witness(**values)
        return self.undefined or found is not None

    def forbidden(self, **values: int | None) -> bool:
        """True if no implementation may end with these values: `not allowed(...)`."""
        return not self.allowed(**values)

    def witness(self, **values: int | None) -> Witness | None:
        """An execution that ends with these values, None if there is none."""
        known = (*self.program.registers, *self._locations)
        for name in values:
            if name not in known:
                raise KernelArgumentError(
                    f"{self.name} has neither a register nor a location {name!r}{did_you_mean(name, known)}; "
                    f"it has {', '.join(known)}"
                )
        return next((w for o, w in self._results[0].items() if all(o[name] == v for name, v in values.items())), None)

    @property
    def _locations(self) -> tuple[str, ...]:
        return tuple(location.name for location in self.program.locations)

    @functools.cached_property
    def _results(self) -> tuple[Mapping[Outcome, Witness], tuple[Race, ...]]:
        """Outcomes with all registers and locations, and races."""
        outcomes: dict[Outcome, Witness] = {}
        races: dict[tuple[int | None, ...], Race] = {}
        for batch in executions.enumerate_all(self.program):
            consistent, orderly = batch.model.consistent, batch.model.races.empty()
            # An execution without a race is the better witness, if there is one.
            for among in (consistent & orderly, consistent & ~orderly):
                for n, outcome in witness.full_outcomes(batch, among):
                    if outcome not in outcomes or (orderly[n] and not outcomes[outcome].races.empty()):
                        outcomes[outcome] = witness.witness(batch, n, outcome)
            for n, a, b in witness.racing(batch, consistent & ~orderly):
                first, second = batch.path.events[a], batch.path.events[b]
                key = (first.item, first.index, second.item, second.index)
                if key not in races:
                    races[key] = Race(first, second, witness.witness(batch, n))
        return MappingProxyType(outcomes), tuple(race for _, race in sorted(races.items(), key=lambda r: r[0]))

    def __str__(self) -> str:
        if self.undefined:
            head, results = "undefined, by a data race:", map(str, self.races)
        else:
            head, results = f"{counted(len(self.outcomes), 'outcome')}:", map(str, self.outcomes)
        return "\n".join([self.name, *_listing(self), head, *(textwrap.indent(text, "  ") for text in results)])

    def _repr_html_(self) -> str:
        return page.of_test(self)

    @property
    def columns(self) -> tuple[list[str], list[tuple[str, ...]]]:
        """The program, a column of statements for each work-item: the heads, and the rows."""
        program = self.program
        columns = [list(map(str, item)) for item in program.work_items]
        return [f"work-item {n}" for n in range(len(columns))], list(itertools.zip_longest(*columns, fillvalue=""))


class _Front:
    """`xe.litmus(name, work_items)` makes a litmus test of statements on locations; see the module's own text."""

    location = staticmethod(public.known_as("litmus.location")(language.location))
    fence = staticmethod(public.known_as("litmus.fence")(language.fence))
    barrier = staticmethod(public.known_as("litmus.barrier")(language.barrier))

    @public.method("litmus")
    def __call__(
        self,
        name: str,
        work_items: Sequence[Sequence[Statement]],
        positions: str | Sequence[Position | tuple[int, int, int]] = "device",
        *,
        memory: bool = False,
    ) -> Litmus:
        """A litmus test.

        Args:
          name: what it is called.
          work_items: the statements of each work-item in order, of up to four.
          positions: device, work-group and sub-group of each; or what all have in common and nothing narrower:
            `"sub_group"`, `"work_group"` (each in a sub-group of its own), `"device"` (each in a work-group of its
            own), `"system"` (each on a device of its own).
          memory: true if the final values of locations are part of an outcome. They can be asked for in any case.

        Raises:
          KernelArgumentError: the program is none; the message says what to write instead.
        """
        statements = tuple(map(tuple, work_items))
        for statement in itertools.chain(*statements):
            if not isinstance(statement, Statement):
                raise KernelArgumentError(
                    f"{statement!r} is no statement; write such as x.store(1), x.atomic.load('r0') or litmus.barrier()"
                )
        return Litmus(name, LitmusProgram(statements, _positions(positions, len(statements))), memory)


litmus = _Front()


def _positions(given: str | Sequence[Position | tuple[int, int, int]], count: int) -> tuple[Position, ...]:
    if isinstance(given, str):
        if given not in _PLACEMENTS:
            raise KernelArgumentError(
                f"positions {given!r}{did_you_mean(given, tuple(_PLACEMENTS))}; give one of {', '.join(_PLACEMENTS)}, "
                "or (device, work-group, sub-group) of each work-item"
            )
        return tuple(_PLACEMENTS[given](n) for n in range(count))
    if len(given) != count:
        raise KernelArgumentError(
            f"{counted(len(given), 'position')} for {counted(count, 'work-item')}; give one for each"
        )
    return tuple(_position(position) for position in given)


def _position(given: Position | tuple[int, int, int]) -> Position:
    if isinstance(given, Position):
        return given
    if not isinstance(given, tuple) or len(given) != 3:
        raise KernelArgumentError(f"the position {given!r}; give (device, work-group, sub-group)")
    return Position(*given)


# --- Checks ---


def _check_size(program: LitmusProgram) -> None:
    if not 1 <= len(program.work_items) <= MOST_WORK_ITEMS:
        raise KernelArgumentError(
            f"a litmus test with {counted(len(program.work_items), 'work-item')}; give 1 to {MOST_WORK_ITEMS} of them"
        )
    if not program.locations:
        raise KernelArgumentError("a litmus test without a location; give statements such as x.store(1)")
    if program.most_events > MOST_EVENTS:
        raise KernelArgumentError(
            f"a litmus test with {program.most_events} events, initial values included and barriers counted twice; "
            f"at most {MOST_EVENTS} are enumerated"
        )


def _check_names(program: LitmusProgram) -> None:
    names = [*program.registers, *(location.name for location in program.locations)]
    for name in names:
        if names.count(name) > 1:
            raise KernelArgumentError(
                f"{name!r} names two things; give each register, which is loaded once in a program, and each location "
                "its own name"
            )


def _check_registers(item: int, statements: Sequence[Statement]) -> None:
    loaded: dict[str, Statement] = {}
    for statement in statements:
        for name in statement.used:
            if name not in loaded:
                raise KernelArgumentError(
                    f"work-item {item} uses the register {name!r} in {str(statement)!r} without having loaded it"
                    f"{did_you_mean(name, tuple(loaded))}; load it before, in the same work-item"
                )
            missing = [f"{r}={v}" for r, v in loaded[name].guard if (r, v) not in statement.guard]
            if missing:
                raise KernelArgumentError(
                    f"work-item {item} uses the register {name!r} in {str(statement)!r}, but loads it under a "
                    f"condition only; add .when({', '.join(missing)})"
                )
        if statement.register:
            loaded[statement.register] = statement


def _check_local(program: LitmusProgram) -> None:
    for location in program.locations:
        users = [n for n, item in enumerate(program.work_items) if any(s.location == location for s in item)]
        if location.space == "local" and not all(program.together(users[0], n, "work_group") for n in users):
            raise KernelArgumentError(
                f"local memory {location.name} is accessed by two work-groups, each of which has its own; "
                'make it space="global", or put the work-items into one work-group'
            )


def _check_barriers(program: LitmusProgram) -> None:
    """SYCL 2020, section 4.17.3: all work-items of a group come to the same barriers in the same order, or none."""
    for one, other in itertools.combinations(range(len(program.work_items)), 2):
        for group in language.GROUPS:
            mine, theirs = _barriers(program, one, group), _barriers(program, other, group)
            if program.together(one, other, group) and mine != theirs:
                raise KernelArgumentError(
                    f"barrier divergence: work-items {one} and {other} are of one {group.replace('_', '-')}, but come "
                    f"to the barriers [{', '.join(map(str, mine))}] and [{', '.join(map(str, theirs))}]; "
                    "let both come to the same ones"
                )


def _barriers(program: LitmusProgram, item: int, group: str) -> list[Statement]:
    """The barriers that work-items of a group must meet alike: those of wider groups too."""
    barriers = [s for s in program.work_items[item] if s.kind == "barrier"]
    return [s for s in barriers if group == "sub_group" or s.group == group]


def _listing(test: Litmus) -> Iterator[str]:
    """The program, a column for each work-item."""
    program = test.program
    for location in program.locations:
        yield f"  {location.space} memory {location.name}, at first {location.initial}"
    for n, position in enumerate(program.positions):
        yield f"  work-item {n}: {position}"
    heads, rows = test.columns
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    for row in (heads, *rows):
        yield "  " + " | ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()

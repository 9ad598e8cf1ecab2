"""Which loads of a program are left out, since a work-item has in a register what they would load.

By the rules of xeemu/cost/README.md alone, execution after execution: it has what it has loaded from the same place or
stored there, for the lanes that did, until something is stored to what may be the same, or a barrier comes. A store of
what the place holds is left out too, and changes nothing. After a branch it has what both ways leave, and in a loop
what is there before the loop and after an iteration, however many it has. A place that a counter is in is another one
in each iteration.
"""

import re
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import numpy as np

_COUNTER = re.compile(r"\bk\d+\b")

Literal = tuple[str, tuple[tuple[str, int], ...]]
Literals = frozenset[Literal]


def literal(text: str, counters: Mapping[str, int]) -> Literal:
    """A text with the values of the counters in it."""
    return text, tuple((name, counters[name]) for name in sorted(set(_COUNTER.findall(text))) if name in counters)


class _Held(NamedTuple):
    """What is in registers of one place: its elements, for each time the conditions that the lanes have met, and these
    with what stands for the value where that is known."""

    element: np.ndarray
    lanes: tuple[Literals, ...]
    values: frozenset[tuple[Literals, Any]]


Place = tuple[str, Any, int]
"""A memory, what stands before the constant of a place, and that constant."""

Held = dict[Place, _Held]


class Registers:
    """The registers of a work-group's work-items.

    Args:
      changed: the memories that work-items share and somebody stores to.
      all_meet: true if each barrier is one for all of these.
    """

    def __init__(self, changed: Set[str], all_meet: bool) -> None:
        self._changed, self._all_meet, self._held = changed, all_meet, Held()
        self.empty = set[tuple[str, tuple[int, ...]]]()  # loops that had no iteration
        self._named = dict[str, tuple[Literals, Any]]()  # by name what was loaded, and for which lanes

    def copy(self) -> Held:
        return dict(self._held)

    def hold(self, memories: Set[str]) -> bool:
        """True if anything of some memories is in registers."""
        return any(place[0] in memories for place in self._held)

    def restore(self, held: Held) -> None:
        self._held = dict(held)

    def join(self, other: Held, conditions: Literals = frozenset()) -> None:
        """Leaves what another way has led to as well, on neither of which conditions have to be met any more."""
        found: Held = {}
        for place in self._held.keys() & other.keys():
            ways = [[each - conditions for each in held[place].lanes] for held in (other, self._held)]
            both = [one for a, b in (ways, ways[::-1]) for one in a if any(each <= one for each in b)]
            if both:
                told = [{(each - conditions, v) for each, v in held[place].values} for held in (other, self._held)]
                values = {one for a, b in (told, told[::-1]) for one in a if _has(b, *one)}
                found[place] = _Held(other[place].element, tuple(dict.fromkeys(both)), frozenset(values))
        self._held = found

    def meet(self, memory: str) -> None:
        """A barrier for a memory."""
        gone = self._changed if self._all_meet else self._changed & {memory}
        self._held = {place: held for place, held in self._held.items() if place[0] not in gone}

    def forget(self, counter: str) -> None:
        """The end of an iteration of a loop: places that its counter is in are others in the next one."""
        for place, held in list(self._held.items()):
            lanes = tuple(each for each in held.lanes if repr(counter) not in repr(each))
            if not lanes or repr(counter) in repr(place[1]):
                del self._held[place]
            else:
                values = frozenset(each for each in held.values if repr(counter) not in repr(each[0]))
                self._held[place] = held._replace(lanes=lanes, values=values)

    def access(
        self, op: str, place: Place, element: np.ndarray, lanes: Literals, volatile: bool, value: str = ""
    ) -> bool:
        """An access to elements `[L, P]`; false if it is left out."""
        if op == "load":
            return self._load(place, element, lanes, volatile, value)
        by, stored = self._named.get(value, (frozenset(), value))
        is_told = op == "store" and not volatile
        if is_told and by <= lanes and place in self._held and _has(self._held[place].values, lanes, stored):
            return False
        self._held = {at: held for at, held in self._held.items() if not _may_be_same(at, held, place, element)}
        if is_told:
            values = frozenset({(lanes, stored)} if by <= lanes else ())
            self._held[place] = _Held(element, (lanes,), values)
        return True

    def _load(self, place: Place, element: np.ndarray, lanes: Literals, volatile: bool, name: str) -> bool:
        held = _Held(element, (), frozenset()) if volatile else self._held.get(place, _Held(element, (), frozenset()))
        loaded = next((value for each, value in held.values if each <= lanes), object())
        self._named[name] = lanes, loaded
        is_there = any(each <= lanes for each in held.lanes)
        if not volatile:
            made = held.lanes if is_there else (*held.lanes, lanes)
            self._held[place] = _Held(held.element, made, held.values | {(lanes, loaded)})
        return not is_there


def _has(told: Set[tuple[Literals, Any]], lanes: Literals, value: Any) -> bool:
    """True if all lanes that meet some conditions have a value."""
    return any(each <= lanes and value == stored for each, stored in told)


def _may_be_same(at: Place, held: _Held, place: Place, element: np.ndarray) -> bool:
    """True if a work-item's store may change what it holds: elements are only known to differ by constants."""
    if at[0] != place[0]:
        return False
    return at[1] != place[1] or bool((held.element[:, :, None] == element[:, None]).any())

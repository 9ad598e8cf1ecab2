"""Statements: what a work-item of a litmus test does, and where the work-item is."""

import dataclasses
from collections.abc import Sequence
from typing import NoReturn

from xeemu.errors import KernelArgumentError, did_you_mean
from xeemu.language.orders import LOAD_ORDERS, ORDERS, SCOPES, STORE_ORDERS, Ordering

SPACES = ("global", "local")
GROUPS = ("sub_group", "work_group")
# SYCL 2020, section 4.15.3: the order of a compare_exchange that fails, where one order is given for both.
_WHEN_FAILED = {"acq_rel": "acquire", "release": "relaxed"}

Value = int | str


@dataclasses.dataclass(frozen=True)
class Position:
    """Where a work-item is: work-items are of one sub-group if all three numbers agree, and so on.

    Attributes:
      device: number of its device.
      work_group: number of its work-group in the launch on that device.
      sub_group: number of its sub-group in the work-group.
    """

    device: int = 0
    work_group: int = 0
    sub_group: int = 0

    def __post_init__(self) -> None:
        numbers = (self.device, self.work_group, self.sub_group)
        if not all(isinstance(n, int) and n >= 0 for n in numbers):
            raise KernelArgumentError(
                f"a work-item at {numbers}; give its device, work-group and sub-group as whole numbers from 0"
            )

    def group(self, scope: str) -> tuple[int, ...]:
        """What work-items have in common that are of one sub-group, work-group, device or system."""
        return (self.device, self.work_group, self.sub_group)[: 4 - SCOPES.index(scope)]

    def __str__(self) -> str:
        return f"device {self.device}, work-group {self.work_group}, sub-group {self.sub_group}"


@dataclasses.dataclass(frozen=True)
class Location:
    """An integer in memory that work-items share. Make one by `litmus.location`.

    Attributes:
      name: what it is called in texts and outcomes.
      space: `"global"` or `"local"`.
      initial: its value before the program.
    """

    name: str
    space: str = "global"
    initial: int = 0

    def __post_init__(self) -> None:
        _check_name(self.name, "location")
        if self.space not in SPACES:
            _none_of("memory space", self.space, SPACES)
        _check_value(self.initial, "the initial value", registers=False)

    def load(self, register: str) -> "Statement":
        """A plain load into a register."""
        return Statement("load", self, register)

    def store(self, value: Value) -> "Statement":
        """A plain store of a number, or of what a register holds."""
        return Statement("store", self, operands=(value,))

    @property
    def atomic(self) -> "Atomic":
        """The atomic operations on the location."""
        return Atomic(self)


@dataclasses.dataclass(frozen=True)
class Atomic:
    """The atomic operations on a location, as `sycl::atomic_ref` has them; relaxed and device are the default.

    `fetch_add`, `exchange` and `compare_exchange` load the old value into a register.
    """

    location: Location

    def load(self, register: str, order: str = "relaxed", scope: str = "device") -> "Statement":
        """An atomic load into a register."""
        return Statement("load", self.location, register, (), _ordering("load", order, scope, LOAD_ORDERS))

    def store(self, value: Value, order: str = "relaxed", scope: str = "device") -> "Statement":
        """An atomic store of a number, or of what a register holds."""
        return Statement("store", self.location, "", (value,), _ordering("store", order, scope, STORE_ORDERS))

    def fetch_add(self, register: str, value: Value, order: str = "relaxed", scope: str = "device") -> "Statement":
        """Adds a value, in one indivisible step."""
        return Statement("fetch_add", self.location, register, (value,), _ordering("fetch_add", order, scope, ORDERS))

    def exchange(self, register: str, value: Value, order: str = "relaxed", scope: str = "device") -> "Statement":
        """Stores a value, in one indivisible step with the load."""
        return Statement("exchange", self.location, register, (value,), _ordering("exchange", order, scope, ORDERS))

    def compare_exchange(
        self, register: str, expected: Value, desired: Value, order: str = "relaxed", scope: str = "device"
    ) -> "Statement":
        """Stores `desired` if the location holds `expected`; else it is a load, which never releases."""
        ordering = _ordering("compare_exchange", order, scope, ORDERS)
        return Statement("compare_exchange", self.location, register, (expected, desired), ordering)


@dataclasses.dataclass(frozen=True)
class Statement:
    """One operation of a work-item.

    Attributes:
      kind: `load store fetch_add exchange compare_exchange fence barrier`.
      location: that it accesses; None for a fence or barrier.
      register: that it loads into; empty if none.
      operands: numbers, and names of registers.
      ordering: order and scope; None for a plain access.
      ordered: locations that a fence or barrier orders; none stands for all.
      group: whose barrier it is, `"work_group"` or `"sub_group"`; empty for anything else.
      guard: values that registers must have for it to be executed.
    """

    kind: str
    location: Location | None = None
    register: str = ""
    operands: tuple[Value, ...] = ()
    ordering: Ordering | None = None
    ordered: tuple[Location, ...] = ()
    group: str = ""
    guard: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        if self.register or self.kind == "load":
            _check_name(self.register, "register")
        for operand in self.operands:
            _check_value(operand, f"the value of a {self.kind}", registers=True)

    def when(self, **registers: int) -> "Statement":
        """The same, executed only if these registers hold these values: `x.load("r1").when(r0=1)`."""
        if self.kind == "barrier":
            raise KernelArgumentError(
                "a barrier under a condition: either all work-items of the group reach it or none; put the accesses "
                "around it under the condition instead"
            )
        for value in registers.values():
            _check_value(value, "the value of a condition", registers=False)
        return dataclasses.replace(self, guard=(*self.guard, *registers.items()))

    @property
    def reads(self) -> bool:
        """True if it may load a value."""
        return self.location is not None and self.kind != "store"

    @property
    def writes(self) -> bool:
        """True if it may store a value."""
        return self.location is not None and self.kind != "load"

    @property
    def used(self) -> tuple[str, ...]:
        """The registers whose values it needs."""
        return (*(x for x in self.operands if isinstance(x, str)), *(name for name, _ in self.guard))

    def failed(self) -> "Statement":
        """A compare_exchange as the atomic load that it is when the values differ."""
        assert self.ordering is not None
        order = _WHEN_FAILED.get(self.ordering.order, self.ordering.order)
        return dataclasses.replace(self, ordering=Ordering(order, self.ordering.scope))

    def __str__(self) -> str:
        operands = ", ".join(map(str, self.operands))
        if self.location is None:
            name = (
                f"{self.kind}({', '.join(location.name for location in self.ordered)})" if self.ordered else self.kind
            )
            text = f"{self.group} {name}".replace("_", "-").lstrip()
        elif self.kind == "store":
            text = f"{self.location.name} = {operands}"
        elif self.kind == "load":
            text = f"{self.register} = {self.location.name}"
        else:
            text = f"{self.register} = {self.location.name}.{self.kind}({operands})"
        ordering = "" if self.ordering is None or self.kind == "barrier" else f" {self.ordering}"
        guard = " and ".join(f"{name} == {value}" for name, value in self.guard)
        return text + ordering + (f" if {guard}" if guard else "")


def location(name: str, space: str = "global", initial: int = 0) -> Location:
    """A location in `"global"` or `"local"` memory with its value before the program."""
    return Location(name, space, initial)


def fence(*locations: Location, order: str = "acq_rel", scope: str = "work_group") -> Statement:
    """A fence without a barrier, `sycl::atomic_fence`; it orders the accesses to the locations given, or to all."""
    return Statement("fence", ordering=_ordering("fence", order, scope, ORDERS), ordered=_checked(locations, "fence"))


def barrier(*locations: Location, group: str = "work_group", scope: str | None = None) -> Statement:
    """A barrier of the work-group or sub-group, `sycl::group_barrier`.

    Args:
      locations: whose accesses it orders; by default those to all.
      group: `"work_group"` or `"sub_group"`, all of whose work-items must come to it.
      scope: of its fences; by default the group's own, and no narrower.
    """
    if group not in GROUPS:
        _none_of("group", group, GROUPS)
    checked = _ordering("barrier", "acq_rel", scope or group, ORDERS)
    if SCOPES.index(checked.scope) < SCOPES.index(group):
        raise KernelArgumentError(
            f"a barrier of the {group} with scope {scope!r}, which is narrower; leave it out, or give a wider one"
        )
    return Statement("barrier", ordering=checked, ordered=_checked(locations, "barrier"), group=group)


def _ordering(operation: str, order: str, scope: str, allowed: Sequence[str]) -> Ordering:
    if order not in ORDERS:
        _none_of("memory order", order, ORDERS)
    if scope not in SCOPES:
        _none_of("memory scope", scope, SCOPES)
    if order not in allowed:
        raise KernelArgumentError(
            f"an atomic {operation} with order {order!r}; SYCL allows {', '.join(allowed)} for a {operation}"
        )
    if scope == "work_item" and operation != "fence":
        raise KernelArgumentError(
            f"an atomic {operation} with scope 'work_item', which SYCL leaves undefined; "
            f"give one of {', '.join(SCOPES[1:])}"
        )
    return Ordering(order, scope)


def _checked(locations: tuple[Location, ...], operation: str) -> tuple[Location, ...]:
    for given in locations:
        if not isinstance(given, Location):
            raise KernelArgumentError(
                f"a {operation} of {given!r}, which is no location; give locations, or nothing for all of them"
            )
    return locations


def _check_name(name: object, what: str) -> None:
    if not (isinstance(name, str) and name.isidentifier()):
        raise KernelArgumentError(
            f"a {what} named {name!r}; give it a name such as {'x' if what == 'location' else 'r0'!r}"
        )


def _check_value(value: object, what: str, registers: bool) -> None:
    if registers and isinstance(value, str) and value.isidentifier():
        return
    if not isinstance(value, int) or isinstance(value, bool):
        either = "a whole number or the name of a register" if registers else "a whole number"
        raise KernelArgumentError(f"{what} is {value!r}; give {either}")


def _none_of(what: str, name: str, names: Sequence[str]) -> NoReturn:
    hint = did_you_mean(name, names) if isinstance(name, str) else ""
    raise KernelArgumentError(f"{what} {name!r} is none of {', '.join(names)}{hint}")

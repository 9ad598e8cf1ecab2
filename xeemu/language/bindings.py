"""Bindings: what the names are bound to that a kernel reaches, so that a launch after a change is traced anew.

A kernel reaches the globals that its code names, what it closes over, the functions among these and what they reach,
and of the user's modules, classes and objects the attributes that the code names, or that of the
methods which it calls.
"""

import array
import collections
import functools
import operator
import sys
import types
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.language import references

MOST_BYTES = 16384
"""NumPy arrays up to this size are looked into, larger ones known by which array they are."""

MOST_ITEMS = 256
"""Lists, dicts, sets and deques up to this length are looked into."""

_CONTAINERS = (dict, list, set, collections.deque, types.MappingProxyType)
_HOLDERS = (collections.UserDict, collections.UserList, collections.UserString, collections.ChainMap)
"""Containers of Python's that are written in Python: what they hold is in attributes that their methods name."""

_NUMBERS = (bool, int, float, complex, str, bytes, range, type(None), type(...), np.generic, np.dtype)
_FUNCTIONS = (types.FunctionType, types.MethodType, functools.partial)
_COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
_OPERATORS = {name for name in vars(operator) if name.startswith("__")} - _COMPARISONS
_SYNTAX = (
    *_OPERATORS,
    *(f"__r{name[2:]}" for name in _OPERATORS),
    *("__call__", "__get__", "__getattr__", "__getattribute__", "__iter__", "__next__", "__len__", "__bool__"),
    *("__int__", "__float__", "__enter__", "__exit__", "__array__", "__jax_array__"),
)
"""The methods that Python and JAX call though no code names them; without comparisons, as those that dataclasses make
name all attributes."""
_UNSET = object()


class Bindings:
    """What a function and the values that it is called with reach, as it is now.

    To find that nothing has changed takes less than a microsecond.
    """

    def __init__(self, *roots: Any):
        self._roots = roots
        self._found: tuple[Hashable, Callable[[], bool]] | None = None

    def now(self) -> Hashable:
        """What all that is reached is bound to; equal where a trace gives the same."""
        if self._found is not None:
            bound, holds = self._found
            try:
                if holds():
                    return bound
            except (KeyError, ValueError, RuntimeError):  # a name has lost its value, or a thread changes a dict
                pass
        self._found = self._find()
        return self._found[0]

    def settle(self, before: Hashable) -> None:
        """Takes what a trace has itself changed, as a list to which the kernel appends, for what was there before."""
        if self._found is not None and self.now() != before:
            self._found = before, self._find()[1]

    def _find(self) -> tuple[Hashable, Callable[[], bool]]:
        search = _Search()
        for root in self._roots:
            search.follow(root, (), None)
        return BoundValues(search.values), search.condition.function()


def of_static(values: Iterable[Any]) -> Hashable:
    """What functions among a kernel's static values reach; None of none."""
    functions = [value for value in values if isinstance(_function(value), _FUNCTIONS)]
    return Bindings(*functions).now() if functions else None


class BoundValues:
    """Values by which bindings are told apart, of which the hash is known."""

    __slots__ = ("_hash", "_values")

    def __init__(self, values: Sequence[Hashable]):
        self._values = tuple(values)
        self._hash = hash(self._values)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, BoundValues) and self._values == other._values)


class _Same:
    """An object that is known by which one it is, and is not kept alive where Python allows that."""

    __slots__ = ("_get", "_hash")

    def __init__(self, value: Any):
        self._hash = id(value)
        try:
            self._get: Callable[[], Any] = weakref.ref(value)
        except TypeError:
            self._get = lambda: value

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, _Same):
            return self is other
        value = self._get()
        return value is not None and value is other._get()


class _Condition:
    """That what was reached is what it was, written out as an expression: launches ask, and a loop takes far longer."""

    def __init__(self) -> None:
        self._terms: list[str] = []
        self._known: dict[str, Any] = {}

    def term(self, text: str, *values: Any) -> None:
        """Adds a condition; `{}` in it stand for the values."""
        names = [f"v{len(self._known) + k}" for k in range(len(values))]
        self._known.update(zip(names, values, strict=True))
        self._terms.append(text.format(*names))

    def function(self) -> Callable[[], bool]:
        """The condition, which may also raise where a name has lost its value."""
        return eval(f"lambda: {' and '.join(self._terms) or True}", self._known)


class _Search:
    """The search for all that functions reach.

    Attributes:
      values: what tells it from others, in the order in which it is found.
      condition: that all of it is what it was.
    """

    def __init__(self) -> None:
        self.values: list[Hashable] = []
        self.condition = _Condition()
        self._passed: dict[Hashable, tuple[int, Any]] = {}  # keeps alive what was passed, so that its id is no other's

    def follow(self, value: Any, names: Sequence[str], home: str | None) -> None:
        """Goes on with a value.

        Args:
          value: any.
          names: the attributes that the function names which refers to it.
          home: the module of that function, None of a root: a library's functions are followed from there alone.
        """
        function = _function(value)
        if isinstance(function, types.FunctionType):
            if home in (None, function.__module__) or not references.is_library(function.__code__.co_filename):
                self._follow_function(function)
                if not self._is_passed(function, (id(function), names)):
                    self._follow_attributes(function, names, home)
            else:
                self.values.append(_Same(function))
        elif isinstance(value, types.MethodType):
            self.follow(value.__func__, names, home)
            self.follow(value.__self__, (*names, value.__name__), home)
        elif isinstance(value, functools.partial):
            for part in (value.func, value.args, value.keywords):
                self.follow(part, names, home)
        elif isinstance(value, _NUMBERS):
            self.values += [type(value).__name__, repr(value)]
        elif type(value) is tuple:
            self._follow_items(value, names, home)
        else:
            self._follow_object(value, names, home)

    def _follow_function(self, function: types.FunctionType) -> None:
        if self._is_passed(function, id(function)):
            return
        names, home = references.names(function.__code__), function.__module__
        self.values.append(function.__code__)
        # Editors that reload a module give functions another code in place.
        self.condition.term("{}.__code__ is {}", function, function.__code__)
        self.condition.term("{}.__defaults__ is {}", function, function.__defaults__)
        self.condition.term("{}.__kwdefaults__ is {}", function, function.__kwdefaults__)
        for value in (function.__defaults__, function.__kwdefaults__):
            self.follow(value, names, home)
        self._follow_names(function.__globals__, references.global_names(function.__code__), names, home)
        package = function.__globals__.get("__package__") or ""
        self._follow_names(sys.modules, references.imported(function.__code__, package), names, home)
        for name, cell in references.enclosed(function):
            self.values.append(name)
            self.condition.term("{}.cell_contents is {}", cell, cell.cell_contents)
            self.follow(cell.cell_contents, names, home)

    def _follow_names(self, space: Any, wanted: Sequence[str], names: Sequence[str], home: str | None) -> None:
        """Goes on with what names are bound to in a dict of names."""
        for name in wanted:
            if name in space:
                self.values.append(name)
                self.condition.term("{}[{}] is {}", space, name, space[name])
                self.follow(space[name], names, home)
            else:
                self.condition.term("{} not in {}", name, space)

    def _follow_object(self, value: Any, names: Sequence[str], home: str | None) -> None:
        """Goes on with an object that may be changed in place."""
        if self._is_passed(value, (id(value), names)):
            return
        if isinstance(value, tuple):
            self._follow_items(value, names, home)
            self._follow_attributes(value, names, home)
        elif isinstance(value, _CONTAINERS) and len(value) <= MOST_ITEMS:
            items = tuple(_items(value))
            self.condition.term("{}({}, {})", _are_same, value, items)
            self._follow_items(items, names, home)
            self._follow_attributes(value, names, home)
        elif isinstance(value, np.ndarray) and value.nbytes <= MOST_BYTES and not value.dtype.hasobject:
            self.condition.term("{}.tobytes() == {}", value, value.tobytes())
            self.values += [np.ndarray, value.dtype, value.shape, value.tobytes()]
        elif isinstance(value, bytearray | array.array) and memoryview(value).nbytes <= MOST_BYTES:
            self.condition.term("bytes({}) == {}", value, bytes(value))
            self.values += [type(value), getattr(value, "typecode", None), bytes(value)]
        else:
            self.values.append(_Same(value))
            self._follow_attributes(value, names, home)

    def _follow_attributes(self, value: Any, names: Sequence[str], home: str | None) -> None:
        """Goes on with the attributes of a user's module, class or object that functions name, wherever it has them."""
        spaces = _spaces(value)
        if not isinstance(value, types.ModuleType):
            names = _with_those_of_methods(names, spaces)
        wanted = [name for name in names if any(name in space for space in spaces)]
        for space in spaces:
            self.condition.term("len({}) == {}", space, len(space))  # one that is asked for may be set later
            self._follow_names(space, wanted, names, home)
        slots = [(name, space[name]) for space in spaces for name in wanted if name in space]
        for name, slot in slots:
            if isinstance(slot, types.MemberDescriptorType) and not isinstance(value, type):
                held = _held(slot, value)
                self.values.append(name)
                self.condition.term("{}({}, {}) is {}", _held, slot, value, held)
                self.follow(held, names, home)

    def _follow_items(self, items: Sequence[Any], names: Sequence[str], home: str | None) -> None:
        self.values.append(len(items))
        for item in items:
            self.follow(item, names, home)

    def _is_passed(self, value: Any, key: Hashable) -> bool:
        """True if the search has been here before; if so, when it was is what tells it."""
        if key in self._passed:
            self.values.append(self._passed[key][0])
            return True
        self._passed[key] = len(self._passed), value
        return False


def _items(container: Iterable[Any]) -> Iterator[Any]:
    """What a container holds, of a dict first the keys."""
    yield from container
    if isinstance(container, dict | types.MappingProxyType):
        yield from container.values()


def _are_same(container: Any, items: Sequence[Any]) -> bool:
    now = tuple(_items(container))
    return len(now) == len(items) and all(map(operator.is_, now, items))


def _function(value: Any) -> Any:
    """The function of a kernel, of what JAX or another library has made of one, or of a method of a class; else the
    value, as what a user's wrapper does beside it counts too."""
    while (inner := _wrapped(value)) is not None:
        value = inner
    return value


def _wrapped(value: Any) -> Any:
    """What a library's wrapper is around; None of anything else."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, functools.cached_property):
        return value.func
    if isinstance(value, types.FunctionType):
        is_of_user = not references.is_library(value.__code__.co_filename)
    else:
        known = isinstance(value, type | types.MethodType | types.ModuleType)
        is_of_user = known or not references.is_of_library(type(value))
    return None if is_of_user else getattr(value, "__wrapped__", None) or getattr(value, "__func__", None)


def _with_those_of_methods(names: Sequence[str], spaces: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Names, with those in the methods that they are of, and in such as no code names."""
    found = dict.fromkeys(names)
    left = [*found, *_SYNTAX] if any(spaces) else []
    while left:
        name = left.pop()
        functions = (_function(space[name]) for space in spaces if name in space)
        for code in (each.__code__ for each in functions if isinstance(each, types.FunctionType)):
            left += [other for other in references.names(code) if other not in found]
            found.update(dict.fromkeys((name, *references.names(code))))
    return tuple(found)


def _held(slot: types.MemberDescriptorType, value: Any) -> Any:
    """What an object has in a slot."""
    try:
        return slot.__get__(value)
    except AttributeError:
        return _UNSET


def _spaces(value: Any) -> list[Mapping[str, Any]]:
    """The dicts of names that belong to a user's module or class, or to an object and the user's classes that it is of;
    none of a library's module or class but those of holders."""
    if isinstance(value, types.ModuleType):
        return [] if references.is_library(getattr(value, "__file__", None)) else [vars(value)]
    kinds = [*(value.__mro__ if isinstance(value, type) else ()), *type(value).__mro__]
    own = [] if isinstance(value, type) or not type(value).__dictoffset__ else [vars(value)]
    return [*own, *(vars(kind) for kind in kinds if kind in _HOLDERS or not references.is_of_library(kind))]

"""Restrictions: what C++ has and kernels have not (SYCL 2020, 5.4), found in all that a kernel reaches."""

import dataclasses
from collections.abc import Set

from xeemu.frontends import refusals, tree, types
from xeemu.frontends.callees import COPY, DESTROY, MOVE, POINTED, SIZED_LATE, VIRTUAL
from xeemu.frontends.cplusplus import specializations
from xeemu.frontends.functions import Function
from xeemu.frontends.lowering import effects
from xeemu.frontends.tree import SourceLocation, Variable

_HEAP = "declare an array, or a local_accessor"
_OF_THE_HOST = {
    SIZED_LATE: "an array whose size is not a constant; give it one that the kernel never exceeds",
    "new": f"new; kernels have no heap, {_HEAP}",
    "delete": "delete; kernels have no heap, what is allocated by the host is freed there",
    "throw": "throw; kernels have no exceptions, write a flag to memory",
    "stop": "an exception; kernels have none, write a flag to memory",
    **dict.fromkeys(("leave", "leave_at_once"), "exit; a kernel ends by return alone"),
    "at_exit": "atexit; call the function at the end of main",
    "allocate": f"memory from the heap; kernels have none, {_HEAP}",
    "deallocate": "memory given back to the heap; kernels have none",
    "print": "text output of the host; write sycl::stream or sycl::ext::oneapi::experimental::printf",
    "random": "a random number of the host's; write a generator whose state each work-item has",
    "seed": "a random number of the host's; write a generator whose state each work-item has",
    "now": "the host's clock; measure by the event's profiling information",
    DESTROY: "a call of a destructor with statements; write what it does as a function",
    MOVE: f"a container, whose elements are on the heap; kernels have none, {_HEAP}",
    COPY: f"a copy of a container, whose elements are on the heap; kernels have none, {_HEAP}",
    POINTED: "a call through a pointer to a function; call functions by name, chosen by if or switch, or a template",
}
_STREAMS = ("cout", "cerr", "clog", "cin")


def check(kernel: Function, ending: Set[str] = frozenset()) -> None:
    """An error at the first thing in a kernel, or a function that it calls, that no kernel may have.

    Args:
      kernel: the function.
      ending: the names of the classes whose destructor does something, which is not followed.
    """
    _Check(ending).function(kernel, kernel.place)


@dataclasses.dataclass
class _Check:
    """Follows calls, each function once.

    Attributes:
      ending: the names of the classes whose destructor does something.
      done: the functions that are known to be all right.
      path: those that have called one another to where it is.
    """

    ending: Set[str]
    done: set[Function] = dataclasses.field(default_factory=set)
    path: list[Function] = dataclasses.field(default_factory=list)

    def function(self, function: Function, place: SourceLocation) -> None:
        """Checks a function that is called at a place of the user's."""
        self.path.append(function)
        try:
            block = function.body
        except refusals.Unplaced as error:
            raise refusals.at(place, f"{function.name}: {error}") from None
        nodes = list(effects.nodes(block))
        for node in nodes:
            if isinstance(node, tree.Name) and node.variable.space == "global" and not _is_given(node.variable):
                raise refusals.at(node.place if node.place.line else place, _outer(node.variable))
            if isinstance(node, tree.Try):
                raise refusals.at(
                    node.place if node.place.line else place, "try; kernels have no exceptions, test before"
                )
            if isinstance(node, tree.Declaration) and self.ending and node.place.line:
                self._declared(node)
            if isinstance(node, tree.Goto):
                hint = "write a loop with break and continue, or a flag"
                raise refusals.at(node.place if node.place.line else place, f"goto in a kernel; {hint}")
        for node in nodes:
            if isinstance(node, tree.Call):
                self._call(node, node.place if node.place.line else place)
        self.done.add(self.path.pop())

    def _declared(self, node: tree.Declaration) -> None:
        for variable in node.variables:
            for name in self.ending & set(types.classes(variable.type)):
                hint = "write what it does as a function, and call it at the end"
                raise refusals.at(variable.place, f"an object of {name}, whose destructor has statements; {hint}")

    def _call(self, node: tree.Call, place: SourceLocation) -> None:
        if node.function is None:
            if node.name in _OF_THE_HOST:
                raise refusals.at(place, self._inside(place) + _OF_THE_HOST[node.name])
            if node.name == VIRTUAL and isinstance(node.arguments[0], tree.Callee):
                hint = "write a template, or call the class's own function by its name"
                raise refusals.at(place, f"the virtual function {node.arguments[0].name}, chosen at run time; {hint}")
        elif node.function in self.path:
            chain = " -> ".join(f.name for f in [*self.path[self.path.index(node.function) :], node.function])
            hint = "kernels have none, write a loop with an array of what is left to do, or a template"
            raise refusals.at(place, f"recursion: {chain}; {hint}")
        elif node.function not in self.done:
            self.function(node.function, place)

    def _inside(self, place: SourceLocation) -> str:
        """The function of a header that the user calls, before what is wrong in it."""
        ours = [f.name for f in self.path if not f.place.line]
        return f"{ours[0]}: " if ours else ""


def _is_given(variable: Variable) -> bool:
    """True if a launch gives a kernel the variable's value."""
    return specializations.is_constant(variable.type)


def _outer(variable: Variable) -> str:
    if variable.name in _STREAMS:
        return f"std::{variable.name}: {_OF_THE_HOST['print']}"
    if "device_global<" in str(variable.type):
        return f"the device_global {variable.name}, which is not followed; give the kernel a pointer or an accessor"
    hint = "make it const or constexpr, or copy it to a variable that the kernel captures"
    return f"the variable {variable.name}, which is static and not constant, is the host's; {hint}"

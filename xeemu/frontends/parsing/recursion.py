"""Recursion: functions that call themselves, which OpenCL C and SYCL do not have."""

from collections.abc import Mapping

from xeemu.frontends import refusals
from xeemu.frontends.functions import Function
from xeemu.frontends.tree import SourceLocation


def refuse_recursion(kernel: Function, calls: Mapping[Function, Mapping[Function, SourceLocation]]) -> None:
    """An error if a function that a kernel reaches can call itself; reads the bodies of all that it reaches.

    Args:
      kernel: whose body is read.
      calls: of each function whose body is read, whom it calls and where.
    """
    done: set[Function] = set()
    path: list[Function] = []

    def follow(function: Function) -> None:
        path.append(function)
        for callee, place in calls[function].items():
            if callee in path:
                _refuse(path[path.index(callee) :], callee, place)
            if callee not in done:
                _ = callee.body
                follow(callee)
        done.add(path.pop())

    follow(kernel)


def _refuse(cycle: list[Function], callee: Function, place: SourceLocation) -> None:
    chain = " -> ".join(f.name for f in [*cycle, callee])
    raise refusals.at(place, f"recursion: {chain}; OpenCL C has none, write a loop with an array of what is left to do")

"""Programs of `cprograms` run by xeemu, and held against what other executors make of them."""

import dataclasses
import re
from collections.abc import Callable

import cprograms
import numpy as np
from cprograms import COUNTERS, GROUPS, INPUTS, LOCAL, SIGNATURE, SLOTS, Node, Program

import xeemu as xe

Arguments = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, int, int]
Outcome = tuple[np.ndarray, np.ndarray]
RANGE = xe.NDRange(GROUPS * LOCAL, LOCAL)


def arguments(seed: int) -> Arguments:
    """What a program is launched with."""
    draw = np.random.default_rng(seed)
    out = draw.integers(-100, 100, GROUPS * LOCAL * SLOTS).astype(np.int32)
    small = draw.integers(-50, 50, INPUTS).astype(np.int32)
    any_ = draw.integers(-(2**31), 2**31, INPUTS).astype(np.int32)
    floats = (draw.integers(-40, 40, INPUTS) * 0.25).astype(np.float32)
    return out, small, any_, floats, np.zeros(COUNTERS, np.int32), int(draw.integers(0, 9)), int(draw.integers(0, 99))


def launched(text: str, given: Arguments) -> Outcome:
    """The outputs and counters that xeemu gives; those that the kernel does not write come back as they were."""
    kernel = xe.load(text)["k"]
    found = xe.launch(kernel, RANGE)(*given)
    out, *counters = found if isinstance(found, tuple) else (found,)
    return np.asarray(out), np.asarray(counters[0] if counters else given[4])


def kernel(statements: str, functions: str = "") -> str:
    """A program of the fixed signature with some statements; each work-item has `mine[0]` to `mine[23]`."""
    ids = "int gid = get_global_id(0), lid = get_local_id(0), grp = get_group_id(0);"
    start = f"{SIGNATURE} {{ {ids} global int* mine = out + gid * {SLOTS};"
    return "\n".join([*cprograms.PRELUDE, functions, start, statements, "}", ""])


@dataclasses.dataclass(frozen=True)
class Difference:
    """A program about which xeemu and the reference disagree.

    Attributes:
      cause: `refused`, `crashed` or `different`.
      message: what xeemu says, or where the results differ.
    """

    cause: str
    message: str


def difference(text: str, given: Arguments, expected: Outcome) -> Difference | None:
    """How what xeemu gives differs from what is expected, or None."""
    try:
        found = launched(text, given)
    except xe.Error as error:
        return Difference("refused", _brief(str(error)))
    except Exception as error:
        return Difference("crashed", f"{type(error).__name__}: {_brief(str(error))}")
    for name, a, b in zip(("out", "counters"), found, expected, strict=True):
        if (a != b).any():
            at = int(np.argmax(a != b))
            where = f"item {at // SLOTS} slot {at % SLOTS}" if name == "out" else f"counter {at}"
            return Difference("different", f"{where}: {a[at]}, not {b[at]}; {int((a != b).sum())} in all")
    return None


def _brief(message: str) -> str:
    return re.sub(r"\s+", " ", message)[:300]


def reduced(program: Program, differs: Callable[[str], bool], most: int = 150) -> Program:
    """A smaller program that still differs: statements left out one after the other, from the end."""
    tries, again = 0, True
    while again:
        again = False
        for nodes, k in list(_spots(program.functions))[::-1]:
            if tries >= most:
                return program
            if k >= len(nodes):
                continue
            node = nodes[k]
            for instead in [[], *([node.body] if node.body else [])]:
                if nodes is program.functions and (instead or node is nodes[-1]):
                    continue
                nodes[k : k + 1] = instead
                tries += 1
                if differs(program.text):
                    again = True
                    break
                nodes[k : k + len(instead)] = [node]
    return program


def _spots(nodes: list[Node]) -> list[tuple[list[Node], int]]:
    """Each statement: the list that it is in, and its number."""
    found = []
    for k, node in enumerate(nodes):
        found.append((nodes, k))
        found += _spots(node.body or [])
    return found

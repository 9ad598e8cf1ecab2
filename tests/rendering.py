"""Programs of `interleavings` as kernels: source text in a file of its own, a line for each statement.

What differs between work-items is a mask, what differs between groups is a mask too or, for a `Choice`, `lax.cond`; a
`Loop` is `lax.fori_loop`. Registers are arrays of the work-group, so that each work-item has its own, and what a mask
leaves out keeps its register. In the end each work-item stores the sum of its registers to its own element of `out`.
"""

import importlib.util
import pathlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from interleavings import (
    IDS,
    Access,
    Assign,
    Barrier,
    Choice,
    Collect,
    Fence,
    Loop,
    Pair,
    Program,
    Statement,
    blocks,
    count,
)

import xeemu as xe

DEVICE = "cpu"
_HEAD = """import jax.numpy as jnp
from jax import lax

import xeemu as xe


@xe.kernel(sub_group_size={sub_group_size})
def program(wg, {arguments}):
    lid, gid, group = wg.local_id(), wg.global_id(), wg.group_id()
    zero = lid * 0"""


class Rendered(NamedTuple):
    """A program as a kernel and as source text; `lines` gives the line of each statement by its number."""

    program: Program
    kernel: xe.Kernel
    lines: dict[int, int]
    text: str

    def check(self) -> xe.Findings:
        """What `xe.check` finds."""
        nd_range = xe.NDRange(self.program.groups * self.program.items, self.program.items)
        return xe.check(self.kernel, nd_range, device=DEVICE)(*arguments(self.program))[1]

    def pairs(self, races: frozenset[Pair]) -> set[tuple[str, frozenset[int]]]:
        """Pairs of statements as memories and lines."""
        return {(memory, frozenset(self.lines[n] for n in pair)) for memory, pair in races}


def races_of(findings: xe.Findings) -> set[tuple[str, frozenset[int]]]:
    """The memories and lines of races that are errors."""
    return {
        (finding.memory, frozenset(site.line for site in sites))
        for finding in findings
        for sites in (finding.sites, *finding.others)
        if finding.kind in ("data-race", "wrong-fence") and finding.severity == "error"
    }


def arguments(program: Program) -> list[np.ndarray]:
    """The global memories, and `out`."""
    contents = [np.full(m.size, m.initial, np.int32) for m in program.memories if m.space == "global"]
    return [*contents, np.zeros(len(program.work_items), np.int32)]


def render(program: Program, folder: pathlib.Path, name: str = "rendered") -> Rendered:
    """The program as a kernel in `folder`, in the file `name`.py."""
    writer = _Writer(program)
    text = writer.text()
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Rendered(program, module.program, writer.lines, text)


class _Writer:
    """Writes the text, and remembers the line of each statement."""

    def __init__(self, program: Program):
        self.program = program
        self.registers = sorted(set(_registers(program.body)))
        self.output: list[str] = []
        self.lines: dict[int, int] = {}
        self.functions = 0

    def text(self) -> str:
        memories = self.program.memories
        names = [m.name for m in memories if m.space == "global"]
        head = _HEAD.format(sub_group_size=self.program.sub_group_size, arguments=", ".join([*names, "out"]))
        self.output = head.split("\n")
        for register in self.registers:
            self.line(1, f"{register} = zero")
        for memory in memories:
            if memory.space == "local":
                self.line(1, f'{memory.name} = wg.local({memory.size}, jnp.int32, name="{memory.name}")')
        self.block(self.program.body, 1, 0)
        self.line(1, f"out = out.at[gid].set({' + '.join(['zero', *self.registers])})")
        updated = _updated(self.program.body)
        self.line(1, f"return {', '.join([*(n for n in names if n in updated), 'out'])}")
        return "\n".join(self.output) + "\n"

    def line(self, depth: int, text: str) -> int:
        self.output.append("    " * depth + text)
        return len(self.output)

    def block(self, body: Sequence[Statement], depth: int, first: int) -> None:
        for statement in body:
            self.lines[first] = len(self.output) + 1
            match statement:
                case Loop():
                    self.loop(statement, depth, first)
                case Choice():
                    self.choice(statement, depth, first)
                case Access():
                    self.access(statement, depth)
                case Fence(memories, order, scope):
                    given = ", ".join([*memories, f'order="{order}"', f'scope="{scope}"'])
                    self.line(depth, _assigned(memories) + f"wg.fence({given})")
                case Barrier(memories, level):
                    who = "wg" if level == "work_group" else "wg.sub_group"
                    self.line(depth, _assigned(memories) + f"{who}.barrier({', '.join(memories)})")
                case Collect():
                    self.collect(statement, depth)
                case Assign(register, value, plus, who, where):
                    mask = self.mask(who, where)
                    new = f"zero + {value} + {plus}"
                    self.line(depth, f"{register} = {f'jnp.where({mask}, {new}, {register})' if mask else new}")
            first += count([statement])

    def loop(self, loop: Loop, depth: int, first: int) -> None:
        self.functions += 1
        name, carry = f"body{self.functions}", self.carried(loop.body)
        self.line(depth, f"def {name}(_, carried):")
        self.line(depth + 1, f"{carry} = carried")
        self.block(loop.body, depth + 1, first + 1)
        self.line(depth + 1, f"return {carry}")
        self.line(depth, f"{carry} = lax.fori_loop(0, {loop.trips}, {name}, {carry})")

    def choice(self, choice: Choice, depth: int, first: int) -> None:
        self.functions += 1
        carry = self.carried((*choice.then, *choice.otherwise))
        names = [f"{side}{self.functions}" for side in ("then", "otherwise")]
        for name, body in zip(names, blocks(choice), strict=True):
            self.line(depth, f"def {name}(carried):")
            self.line(depth + 1, f"{carry} = carried")
            self.block(body, depth + 1, first + 1)
            self.line(depth + 1, f"return {carry}")
            first += count(body)
        self.line(depth, f"{carry} = lax.cond(group == {choice.group}, {names[0]}, {names[1]}, {carry})")

    def carried(self, body: Sequence[Statement]) -> str:
        memories = _updated(body)
        return f"({''.join(f'{name}, ' for name in [*self.registers, *sorted(memories)])})"

    def access(self, access: Access, depth: int) -> None:
        m, mask = access.memory, self.mask(access.who, access.where)
        order = f'.atomic(order="{access.order}", scope="{access.scope}")' if access.order else ""
        # A load by a scalar index would be one of the whole group, with one value for all.
        index = access.index if access.kind == "store" else f"zero + {access.index}"
        place = f"{m}{order}[{index}]"
        where, value = f", where={mask}" if mask else "", f"zero + {access.value}"
        match access.kind:
            case "load":
                masked = f"where={mask}" if mask else ""
                loaded = f"{place}.load({masked})" if order else f"{m}.load(zero + {access.index}{where})"
                self.line(depth, f"{access.register or '_'} = {self.kept(access, mask, loaded)}")
            case "store" if access.order:
                self.line(depth, f"{m} = {place}.store({value}{where})")
            case "store":
                self.line(depth, f"{m} = {m}.at[{index}].set({value}{where})")
            case "fetch_add" if not access.register:
                self.line(depth, f"{m} = {place}.add({value}{where})")
            case kind:
                expected = f"zero + {access.expected}, " if kind == "compare_exchange" else ""
                self.line(depth, f"old, {m} = {place}.{kind}({expected}{value}{where})")
                if access.register:
                    self.line(depth, f"{access.register} = {self.kept(access, mask, 'old')}")

    def kept(self, access: Access, mask: str, value: str) -> str:
        return f"jnp.where({mask}, {value}, {access.register})" if mask and access.register else value

    def collect(self, collect: Collect, depth: int) -> None:
        who = "wg" if collect.level == "work_group" else "wg.sub_group"
        call = "broadcast" if collect.kind == "broadcast" else "reduce"
        argument = "0" if collect.kind == "broadcast" else '"add"'
        self.line(depth, f"{collect.target} = zero + {who}.{call}({collect.operand}, {argument})")

    def mask(self, who: frozenset[int] | None, where: Sequence[object]) -> str:
        """The condition as source text, empty if there is none."""
        parts = ([self.ids(who)] if who is not None else []) + [f"({guard})" for guard in where]
        return " & ".join(parts)

    def ids(self, who: frozenset[int]) -> str:
        """A set of work-items in the plainest way that kernels write it."""
        items, program = self.program.items, self.program
        if len(who) == 1:
            return f"(gid == {min(who)})"
        for group in range(program.groups):
            if who == frozenset(range(group * items, (group + 1) * items)):
                return f"(group == {group})"
        for lid in range(items):
            if who == frozenset(range(lid, len(program.work_items), items)):
                return f"(lid == {lid})"
        return f"((({sum(1 << k for k in who)} >> gid) & 1) == 1)"


def _assigned(memories: Sequence[str]) -> str:
    return f"{', '.join(memories)} = " if memories else ""


def _updated(body: Sequence[Statement]) -> set[str]:
    """The memories of which there is a new version."""
    found: set[str] = set()
    for statement in body:
        for block in blocks(statement):
            found |= _updated(block)
        if isinstance(statement, Fence | Barrier):
            found |= set(statement.memories)
        if isinstance(statement, Access) and statement.kind != "load":
            found.add(statement.memory)
    return found


def _registers(body: Sequence[Statement]) -> Iterator[str]:
    for statement in body:
        for block in blocks(statement):
            yield from _registers(block)
        match statement:
            case Access():
                named = (statement.register, statement.index, statement.value, statement.expected)
                yield from (name for name in named if isinstance(name, str) and name and name not in IDS)
                yield from (guard.register for guard in statement.where)
            case Collect():
                yield from (statement.target, statement.operand)
            case Assign():
                yield statement.register
                yield from (guard.register for guard in statement.where)
                if isinstance(statement.value, str) and statement.value not in IDS:
                    yield statement.value

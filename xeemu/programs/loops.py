"""Loops: on-stack replacement: long loops of the host are compiled while they run, as kernels of one work-item.

A compiled loop is about a hundred times as fast as an interpreted one, and to compile it takes as long as thousands of
steps. So a loop is compiled when so many have been taken of it, in all its executions; one that has been compiled is
launched at once.
"""

import dataclasses
from collections.abc import Hashable

from xeemu.errors import Error
from xeemu.faults.checking import check
from xeemu.faults.findings import UNINITIALIZED_READ, Findings
from xeemu.frontends import binding, tree, types
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.hosting import lifetimes
from xeemu.frontends.hosting.machine import Frame, Machine
from xeemu.frontends.lowering import effects
from xeemu.frontends.lowering import kernels as lowered
from xeemu.frontends.lowering.memories import element
from xeemu.frontends.tree import SourceLocation
from xeemu.language.dialect import SYCL_CPP
from xeemu.language.kernel import Kernel
from xeemu.language.ndrange import NDRange
from xeemu.launching.launch import launch
from xeemu.programs.contents import LaunchContents
from xeemu.programs.launches import Pointed
from xeemu.programs.outlining import STATE, LoopForm, Outlined
from xeemu.programs.reads import Reads
from xeemu.programs.side_exits import CannotOutline
from xeemu.programs.varying import Varying

_WORTHWHILE = 30_000
"""The steps that take as long as to compile a loop."""
_SOON = 1000
"""The steps of a loop after which it is looked at for the first time."""
_NEVER = 1 << 62
_MOST_ITERATIONS = (1 << 31) - 1
_ALONE = NDRange(1, 1)


@dataclasses.dataclass(frozen=True, eq=False)
class _Compiled:
    """The function of a kernel that is a loop, with its kernels by the parameters that are left open.

    Attributes:
      deciding: the parameters whose numbers are compiled into a kernel.
      loaded: those that are memories from which the loop loads.
    """

    function: Function
    program: TranslationUnit
    deciding: frozenset[str]
    written: tuple[str, ...]
    loaded: frozenset[str]
    kernels: dict[frozenset[str], Kernel] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, function: Function) -> "_Compiled":
        program = TranslationUnit(function.place.file, {}, [function], [])
        loaded = frozenset(v.name for v in effects.loaded(function))
        return cls(function, program, lowered.deciding(program, function), lowered.written(function), loaded)

    def kernel(self, open_: frozenset[str]) -> Kernel:
        if open_ not in self.kernels:
            identity = ("loop", str(id(self.function)), *sorted(open_))
            self.kernels[open_] = binding.kernel(self.program, self.function, SYCL_CPP, identity, open_=open_)
        return self.kernels[open_]


@dataclasses.dataclass(eq=False)
class Loops:
    """The compiled loops of a program, and what decides when to compile one.

    Attributes:
      reads: what the host reads of memory that nobody has written.
      refused: those that are interpreted to their end.
      spent: the steps that have been taken of a loop since it was compiled last.
      forms: those that can be compiled.
      compiled: by loop and shape.
      ready: what launches have been compiled.
      varying: the numbers that differ from launch to launch.
    """

    reads: Reads
    refused: set[tree.Loop] = dataclasses.field(default_factory=set)
    spent: dict[tree.Loop, int] = dataclasses.field(default_factory=dict)
    forms: dict[tree.Loop, LoopForm] = dataclasses.field(default_factory=dict)
    compiled: dict[Hashable, _Compiled] = dataclasses.field(default_factory=dict)
    ready: set[Hashable] = dataclasses.field(default_factory=set)
    varying: Varying = dataclasses.field(default_factory=Varying)

    def replace(self, machine: Machine, node: tree.Loop, frame: Frame, steps: int) -> int:
        """Carries out what is left of a loop that is about to test its condition, if that pays.

        Args:
          steps: that have been taken of the loop since this was called last.

        Returns:
          After how many more steps this is to be called again; 0 where the loop has ended.
        """
        spent = self.spent[node] = self.spent.get(node, 0) + steps
        if node in self.refused:
            return _NEVER
        if spent < _WORTHWHILE and node not in self.forms:
            return 2 * steps
        try:
            if node not in self.forms:
                self.forms[node] = _form(machine, node)
            made = Outlined(machine, self.forms[node], frame)
            if not self._launch(node, made):
                return 2 * steps
        except (CannotOutline, Error, AssertionError):  # what no kernel has, the lowering refuses or asserts
            self.refused.add(node)
            return _NEVER
        return 0 if made.ended else _SOON

    def _launch(self, node: tree.Loop, made: Outlined) -> bool:
        """Launches a loop, if it has been compiled or that pays; True if it has."""
        worthwhile = self.spent[node] >= _WORTHWHILE
        key = node, tuple(made.shape)
        if key not in self.compiled:
            if not worthwhile:
                return False
            self.compiled[key] = _Compiled.of(made.function())
        loop = self.compiled[key]
        numbers = {p.name: int(v) for p, v in zip(made.parameters, made.values, strict=True) if p.name in loop.deciding}
        sizes = tuple(v.memory.size for v in made.values if isinstance(v, Pointed) and v.memory is not None)
        open_ = self.varying.of((key, sizes), numbers)
        ready = key, sizes, open_, tuple((name, number) for name, number in numbers.items() if name not in open_)
        if ready not in self.ready:
            if not worthwhile:
                return False
            self.spent[node] = 0
        made.settle()
        self._carry_out(made, loop, (key, sizes), open_)
        self.ready.add(ready)
        return True

    def _carry_out(self, made: Outlined, loop: _Compiled, key: Hashable, open_: frozenset[str]) -> None:
        carrying = _Carrying(made, loop, self.reads)
        if open_:
            try:
                carrying.out(open_)
                return
            except Error:
                self.varying.refused.add(key)
        carrying.out(frozenset())


def _form(machine: Machine, node: tree.Loop) -> LoopForm:
    if lifetimes.is_eventful(machine, node):
        raise CannotOutline
    return LoopForm.of(node)


@dataclasses.dataclass(frozen=True, eq=False)
class _Carrying:
    """A launch that carries a loop out."""

    made: Outlined
    loop: _Compiled
    reads: Reads

    def out(self, open_: frozenset[str]) -> None:
        """Carries it out, with some numbers left open."""
        machine, values = self.made.machine, self.made.values
        for one in values:
            if isinstance(one, Pointed) and one.memory in machine.shared:
                assert one.memory is not None
                machine.on_access(one.memory, one.variable.name in self.loop.written)
        contents = LaunchContents.of(values)
        kernel = self.loop.kernel(open_)
        launched = launch(kernel, _ALONE, max_iterations=_MOST_ITERATIONS)
        if contents.unset.keys() & self.loop.loaded:
            checked = check(kernel, _ALONE, max_iterations=_MOST_ITERATIONS, unset=contents.unset)
            changed, found = checked(*contents.arguments)
            self._note(found)
        else:
            changed = launched(*contents.arguments)
        contents.take(self.loop.written, changed, lambda others: launched(*others))
        for one in values:
            if isinstance(one, Pointed) and one.variable.name == STATE:
                assert one.memory is not None
                machine.random = one.memory.get(0, types.ULONG)

    def _note(self, found: Findings) -> None:
        """Notes what a check has found of reads of what nobody has written."""
        machine = self.made.machine
        pointed = [v for v in self.made.values if isinstance(v, Pointed)]
        memories = {v.variable.name: v.memory for v in pointed}
        sizes = {v.variable.name: element(v.element).size for v in pointed}
        for finding in found:
            memory = memories.get(finding.memory)
            if finding.kind == UNINITIALIZED_READ and memory is not None and finding.address is not None:
                here = machine.place
                machine.place = SourceLocation(self.made.place.file, finding.sites[0].line, 1)
                self.reads.count(memory, finding.address[0] * sizes[finding.memory], finding.count)
                machine.place = here

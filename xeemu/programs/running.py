"""Running: a SYCL program from the beginning of `main` to its end."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.devices.lookup import device
from xeemu.errors import Error, KernelArgumentError, KernelError, MemoryAllocationError
from xeemu.faults.findings import Findings
from xeemu.frontends import binding, texts, types
from xeemu.frontends.cplusplus import submissions
from xeemu.frontends.cplusplus.destructors import Destructors
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.hosting import layouts, lifetimes, ranges
from xeemu.frontends.hosting.machine import Exhausted, Machine, Stopped, Thrown
from xeemu.frontends.hosting.memories import NULL, Memory
from xeemu.frontends.hosting.ordering import CommandAccess
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.hosting.words import Outside
from xeemu.frontends.lowering import kernels as lowered
from xeemu.frontends.sycl import host, parameters
from xeemu.frontends.sycl.entries import Entry
from xeemu.frontends.tree import SourceLocation, Variable
from xeemu.frontends.types import Pointer, Record
from xeemu.language.dialect import SYCL_CPP
from xeemu.language.kernel import Kernel
from xeemu.language.local import Local
from xeemu.language.ndrange import NDRange
from xeemu.language.places import from_here
from xeemu.launching.launch import launch
from xeemu.launching.printing import printed
from xeemu.programs import launches, naming
from xeemu.programs.contents import LaunchContents
from xeemu.programs.exceptions import Exceptions
from xeemu.programs.frees import Frees
from xeemu.programs.launches import MemorySharing, Pointed
from xeemu.programs.loops import Loops
from xeemu.programs.naming import CallerArrays
from xeemu.programs.races import Races
from xeemu.programs.reads import Reads
from xeemu.programs.results import Result, Submitted
from xeemu.programs.varying import Varying

if TYPE_CHECKING:
    from xeemu.frontends.sycl.collection import SyclKernels

MOST_STEPS = 2_000_000
"""The calls and iterations of the host's code that are carried out one by one."""

_WORDS = 256
"""Of 32 bits, that are kept of what each work-item prints."""


def run(kernels: "SyclKernels", on: str | Device, arguments: Sequence[object], given: Mapping[str, Any]) -> Result:
    """Runs a program.

    Args:
      kernels: the program's.
      on: the modelled device.
      arguments: of the command line.
      given: contents of the host's arrays by the names of variables, for when they are first submitted.

    Raises:
      KernelArgumentError: there is no `main`, or something was given for no array of the program.
      KernelError: the program does what is not supported, or what is wrong.
    """
    return _Run(kernels, device(on), tuple(map(str, arguments)), CallerArrays(given)).result()


@dataclasses.dataclass(eq=False)
class _Run:
    kernels: "SyclKernels"
    device: Device
    arguments: tuple[str, ...]
    given: CallerArrays
    submitted: list[Submitted] = dataclasses.field(default_factory=list)
    lent: set[Memory] = dataclasses.field(default_factory=set)
    varying: Varying = dataclasses.field(default_factory=Varying)
    _names: dict[int, str] = dataclasses.field(default_factory=dict)
    _made: dict[Any, tuple[Kernel, Sequence[Variable]]] = dataclasses.field(default_factory=dict)
    _deciding: dict[Any, frozenset[str]] = dataclasses.field(default_factory=dict)

    def result(self) -> Result:
        main = self._main()
        machine = host.machine(self._submit, self.device, strict=True, most=MOST_STEPS)
        frees, read = Frees(machine), Reads(machine)
        races = Races(machine, frees)
        machine.replace_loop, machine.on_access = Loops(read).replace, races.touched
        machine.on_free, machine.on_use_after_free, machine.on_overlap = frees.freed, frees.used, frees.overlapped
        machine.on_uninitialized_read = read.missed
        machine.commands.ordering.found = races.found
        machine.destructor = Destructors(self.kernels.instances).of
        try:
            with host.deep(), np.errstate(all="ignore"):
                code = self._call(machine, main)
        except Error as error:
            _keep_output(error, machine)
            raise
        races.over = True
        lent = frozenset(self.lent)
        self.given.check(machine, lent)
        try:
            arrays = naming.arrays(machine, lent)
        except MemoryError as error:
            raise _too_large(error, machine) from None
        found = Findings([*races.findings(), *frees.seen.values(), *read.findings()])
        return Result(_output(machine), arrays, tuple(self.submitted), code, found, frees.leaks())

    def _main(self) -> Function:
        for cursor in submissions.functions(self.kernels.instances):
            if cursor.spelling == "main":
                found = self.kernels.instances.function(cursor)
                if found is not None:
                    return found
        raise KernelArgumentError(f"{self.kernels.file} has no main to run; launch its kernels by name")

    def _call(self, machine: Machine, main: Function) -> int:
        line = _command_line(machine, ("program", *self.arguments))
        arguments = [len(self.arguments) + 1, (line, 0), NULL][: len(main.parameters)]
        try:
            found = self._status(machine, main, arguments)
        except Stopped as stopped:
            raise machine.refuse(f"the program ends with an error: {stopped.message}") from None
        except Thrown as thrown:
            raise machine.refuse(f"the program ends with an error: {thrown.text}") from None
        except Exhausted:
            raise machine.refuse(
                f"the host's code has taken {MOST_STEPS} steps here, more than xeemu follows; give it less to do, or "
                "launch the kernel by name"
            ) from None
        except RecursionError:
            raise machine.refuse("the host's calls are nested too deep; write the recursion as a loop") from None
        except ZeroDivisionError:
            raise machine.refuse("the host divides an integer by zero; test the divisor before") from None
        except Outside as outside:
            raise machine.refuse(_beyond(machine, outside)) from None
        except MemoryError as error:
            raise _too_large(error, machine) from None
        return int(found) if isinstance(found, int) else 0

    def _status(self, machine: Machine, main: Function, arguments: Sequence[Any]) -> Any:
        """What `main` gives, or what `std::exit` and the like are given.

        Raises:
          Stopped: the program has ended with an error.
        """
        try:
            self._begin(machine)
            found = host.called(machine, main, arguments)
        except Stopped as stopped:
            if not stopped.orderly:
                return stopped.checked()
            found = stopped.status
        try:
            lifetimes.end_program(machine)
        except Stopped as stopped:
            return stopped.checked()
        return found

    def _begin(self, machine: Machine) -> None:
        """Makes the objects of namespace scope at whose end something is done, in their order."""
        for cursor in submissions.variables(self.kernels.instances):
            variable = self.kernels.instances.outer(cursor)
            if variable is not None and lifetimes.needed(machine, variable.type):
                machine.static(variable)

    # --- Submissions ---

    def _submit(self, machine: Machine, function: Function, kernel: Any) -> None:
        name = self._name(function)
        try:
            self._launch(machine, name, function, kernel)
        except Error as error:
            Exceptions(self.kernels.instances).throw(machine, error)
            raise _placed(error, machine) from None

    def _name(self, function: Function) -> str:
        key = self.kernels.instances.key(function)
        if key not in self._names:
            self._names = self.kernels.names_by_entry()
        return self._names[key]

    def _launch(self, machine: Machine, name: str, function: Function, kernel: Any) -> None:
        entry = self.kernels.entry(name)
        whole = function.parameters[0].type
        assert isinstance(whole, Pointer)
        assert isinstance(whole.pointee, Record)
        nd_range = _nd_range(machine, function)
        memory, at = machine.behind(kernel)
        assert memory is not None
        self._check_alone(machine, name)
        values = []
        for leaf in parameters.leaves(entry.captures):
            of, offset = launches.located(whole.pointee, leaf.path)
            values.append(launches.value(machine, leaf, of, memory, at + offset))
        used = frozenset(v.memory for v in values if isinstance(v, Pointed) and v.memory is not None)
        self.lent |= used
        self.given.place(machine, used)
        _check(machine, entry, nd_range, values)
        constants = [
            launches.value(machine, leaf, leaf.variable.type, machine.static(leaf.variable), 0)
            for leaf in parameters.leaves(entry.constants)
        ]
        self._carry_out(machine, name, entry, nd_range, values, constants)

    def _check_alone(self, machine: Machine, name: str) -> None:
        """Refuses a second kernel in a command group."""
        before = machine.commands.open[-1].launched if machine.commands.open else []
        if before:
            raise KernelError(
                f"the command group has launched {before[0].name} in line {before[0].line} already, and launches "
                f"{name} here; one group is one command (SYCL 2020, 4.9.4), submit {name} by a q.submit of its own"
            )

    def _carry_out(
        self, machine: Machine, name: str, entry: Entry, nd_range: NDRange, values: list[Any], constants: list[Any]
    ) -> None:
        sharing: MemorySharing | None = None
        if not launches.is_plain(values, lowered.written(entry.function)):
            sharing = launches.sharing(values)
        kernel, variables = self._kernel(name, entry, sharing)
        values = [*(values if sharing is None else sharing.values(values, variables)), *constants]
        if machine.commands.open:
            machine.commands.discard_all()
        contents = LaunchContents.of(values)
        place = machine.place
        submitted = Submitted(
            name, place.file, place.line, nd_range, contents.arguments, kernel, self.device, contents.unset,
            _origins(values),
        )  # fmt: skip

        def launched(arguments: Sequence[Any]) -> Any:
            return self._launched(name, entry, sharing, nd_range, arguments)

        assert kernel.interface is not None
        if kernel.interface.printing is not None:
            words = _WORDS if lowered.prints(entry.function, ("printf",)) else 2  # an assertion takes one
            changed, text = printed(kernel, nd_range, device=self.device, words=words)(*contents.arguments)
            self.submitted.append(submitted)
            machine.output.append(texts.letters("".join(str(line) for line in text if not line.failed)))
            if failed := next((line for line in text if line.failed), None):
                raise Stopped(
                    1, f"work-item {failed.work_item} of {name}: {failed}  at {from_here(failed.file)}:{failed.line}"
                )
        else:
            changed = launched(contents.arguments)
            self.submitted.append(submitted)
        if machine.commands.open:
            command = machine.commands.open[-1]
            command.launched.append(submitted)
            command.accesses += _accesses(submitted, contents, changed)
        contents.take(kernel.interface.written, changed, launched)

    def _launched(
        self, name: str, entry: Entry, sharing: MemorySharing | None, nd_range: NDRange, arguments: Sequence[Any]
    ) -> Any:
        """What a launch changes; numbers that vary are left open where the kernel can be traced so."""
        kernel, variables = self._kernel(name, entry, sharing)
        key = name, sharing, nd_range, tuple(getattr(a, "shape", None) for a in arguments)
        deciding = self._deciding[name, sharing]
        given = zip((v.name for v in variables), arguments, strict=True)
        open_ = self.varying.of(key, {name: int(number) for name, number in given if name in deciding})
        if open_:
            try:
                return launch(self._kernel(name, entry, sharing, open_)[0], nd_range, device=self.device)(*arguments)
            except Error:
                self.varying.refused.add(key)
        return launch(kernel, nd_range, device=self.device)(*arguments)

    def _kernel(
        self, name: str, entry: Entry, sharing: MemorySharing | None, open_: frozenset[str] = frozenset()
    ) -> tuple[Kernel, Sequence[Variable]]:
        """The kernel that takes its leaves, with its parameters; one for each way in which they share memories."""
        key = name, sharing, open_
        if key not in self._made:
            if sharing is not None:
                entry = self.kernels.entry_of(name, sharing.parts)
            program = TranslationUnit(self.kernels.file, {}, [entry.function], [])
            identity = (*self.kernels.identity, name, repr(sharing), *sorted(open_))
            kernel = binding.kernel(program, entry.function, SYCL_CPP, identity, open_=open_)
            self._deciding[name, sharing] = lowered.deciding(program, entry.function)
            self._made[key] = kernel, entry.function.parameters
        return self._made[key]


def _output(machine: Machine) -> str:
    return texts.spelt("".join(machine.output))


def _keep_output(error: Error, machine: Machine) -> None:
    """Lets an error tell what the program had printed until then."""
    error.output = _output(machine)
    if error.output:
        error.add_note(f"until then the program had printed:\n{error.output}")


def _beyond(machine: Machine, outside: Outside) -> str:
    """What is said of an access beyond a memory, with the name and the elements where they are known."""
    for name, (memory, of, _) in naming.memories(machine).items():
        step = layouts.size(of)
        if memory is outside.memory and step and outside.at % step == 0:
            count, what = memory.size // step, f"{name}[{outside.at // step}]"
            valid = f"0 to {count - 1}" if count else "none"
            return (
                f"the host accesses {what}, but {name} has {count} elements, {valid}; allocate more, or test the index"
            )
    return f"{outside}; allocate more, or test the index"


def _too_large(error: MemoryError, machine: Machine) -> MemoryAllocationError:
    """What to do where the program's arrays do not fit the machine that runs it."""
    refused = machine.refuse(
        f"this machine has no memory for what the host's code allocates ({error}); make its arrays smaller, by -D if "
        "the size is a macro, or by an argument"
    )
    return MemoryAllocationError(str(refused))


def _command_line(machine: Machine, words: Sequence[str]) -> Memory:
    """`argv`."""
    made, of = machine.cells(8 * len(words) + 8), Pointer(types.CHAR, "generic")
    for k, word in enumerate(words):
        made.put(8 * k, of, machine.text(word))
    made.put(8 * len(words), of, NULL)
    return made


def _nd_range(machine: Machine, function: Function) -> NDRange:
    sizes, local, offset = ranges.of_launch(machine.stack, function.name)
    if sizes is None or UNKNOWN in sizes or (local is not None and UNKNOWN in local):
        raise machine.refuse("the range of the launch is not known; initialise the variables that it is made of")
    if any(offset):
        raise machine.refuse(f"the nd_range has the offset {offset}; add it to the ids in the kernel")
    return NDRange(tuple(map(int, sizes)), None if local is None else tuple(map(int, local)))


def _placed(error: Error, machine: Machine) -> Error:
    """An error that names the line of the submission, if it has none of its own."""
    place = machine.place
    if f"{from_here(place.file)}:" in str(error) or not place.line:
        return error
    refused = machine.refuse(str(error))
    return refused if type(error) is KernelError else type(error)(str(refused))


def _accesses(submitted: Submitted, contents: LaunchContents, changed: Any) -> list[CommandAccess]:
    """What a launch does with memories that others may access, too."""
    assert submitted.kernel.interface is not None
    after = contents.changed(submitted.kernel.interface.written, changed)
    place = SourceLocation(submitted.file, submitted.line, 1)
    found = []
    for one, before in zip(contents.values, contents.arguments, strict=True):
        if isinstance(one, Pointed) and one.memory is not None:
            name = one.variable.name
            both = (before, after[name]) if name in after else None
            found.append(
                CommandAccess(name, f"kernel {submitted.name}", place, one.memory, name in after, one.at, both)
            )
    return found


def _origins(values: Sequence[Any]) -> dict[str, Mapping[str, SourceLocation]]:
    """Where the memories of parameters have been allocated, and their contents discarded, by the parameters' names."""
    pointed = ((v.variable.name, v.memory) for v in values if isinstance(v, Pointed))
    return {name: naming.origins(memory) for name, memory in pointed if memory is not None}


def _check(machine: Machine, entry: Entry, nd_range: NDRange, values: Sequence[Any]) -> None:
    """Refuses accessors of another command, and local ones in a launch without work-groups."""
    command = machine.commands.open[-1] if machine.commands.open else None
    used = {id(memory) for memory, _ in command.uses} if command is not None else set()
    leaves = dict(zip(parameters.leaves(entry.captures), values, strict=True))
    for capture in entry.captures:
        if capture.kind not in (parameters.ACCESSOR, parameters.LOCAL):
            continue
        value = leaves[capture.pointer]
        if isinstance(value, Local) and nd_range.local_size is None:
            raise KernelArgumentError(
                f"the kernel captures the local accessor {capture.key}, but is launched over a range, without "
                "work-groups of a known size (SYCL 2020, 4.7.6.11); launch it over an nd_range"
            )
        if isinstance(value, Pointed) and value.memory is not None and id(value.memory) not in used:
            raise KernelArgumentError(
                f"the kernel captures the accessor {capture.key}, which was made for another command, or for none; "
                "make it in the command group with its handler, or call h.require for a placeholder"
            )

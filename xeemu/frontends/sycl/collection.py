"""Collection: the kernels that a file of SYCL C++ submits, by name."""

import dataclasses
import functools
import linecache
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from xeemu.errors import Error
from xeemu.frontends import binding, types
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.cplusplus.submissions import Submission, submissions
from xeemu.frontends.functions import TranslationUnit
from xeemu.frontends.lowering import effects
from xeemu.frontends.sycl import arguments, entries, naming, parameters, plans, ranges
from xeemu.frontends.sycl.arguments import Signature
from xeemu.frontends.sycl.entries import Entry
from xeemu.frontends.sycl.parameters import Parameter
from xeemu.frontends.sycl.plans import Plan
from xeemu.language.dialect import SYCL_CPP
from xeemu.language.kernel import Kernel
from xeemu.plurals import counted


class SyclKernels(Mapping[str, Kernel]):
    """The kernels of a file, each an `xe.Kernel`, by name and in the file's order.

    A kernel is also found by the function that submits it where that has one alone, by the line of the submission, and
    in an instance of a template by the template's name.

    Attributes:
      file: its path, or the made-up name of a text.
      instances: its functions.
    """

    def __init__(self, instances: Instances, options: Sequence[str] = (), identity: tuple[str, ...] = ()):
        """The kernels of a unit that was read with a compiler's options; `identity` tells how it was read."""
        self.file = str(instances.unit.spelling)
        self.instances = instances
        self._identity = (*identity, *_texts(instances))
        self._macros = _macros(options)
        self._submissions = naming.named(submissions(instances))
        self._entries: dict[str, Entry] = {}
        self._made: dict[str, Kernel] = {}

    def __getitem__(self, name: str | int) -> Kernel:
        found = self.name_of(name)
        if found not in self._made:
            self._made[found] = self._kernel(found)
        return self._made[found]

    def __iter__(self) -> Iterator[str]:
        return iter(self._submissions)

    def __len__(self) -> int:
        return len(self._submissions)

    def __contains__(self, name: object) -> bool:
        return name in self._submissions

    def name_of(self, name: str | int) -> str:
        """The name of the kernel that a name, a function, or a line means."""
        return naming.find(self.file, self._submissions, name)

    def names_by_entry(self) -> dict[int, str]:
        """The kernels' names by the hashes of their entries' cursors."""
        return {int(s.cursor.hash): name for name, s in self._submissions.items()}

    @property
    def identity(self) -> tuple[str, ...]:
        """Texts that tell the program from others in every process."""
        return self._identity

    def captures(self, name: str | int) -> tuple[Parameter, ...]:
        """What a kernel captures, in order: what its launch takes."""
        return self.entry(self.name_of(name)).captures

    def plan(self, name: str | int) -> Plan:
        """What the host code tells of a kernel's launch."""
        return self._plans.get(int(self._submissions[self.name_of(name)].cursor.hash), plans.UNKNOWN)

    @functools.cached_property
    def _plans(self) -> Mapping[int, Plan]:
        return plans.plans(self.instances)

    def entry(self, name: str) -> Entry:
        """A kernel as a function of the tree, by its whole name."""
        if name not in self._entries:
            self._entries[name] = entries.entry(self.instances, self._submissions[name], name, self._macros)
        return self._entries[name]

    def entry_of(self, name: str, parts: entries.Parts) -> Entry:
        """A kernel as a function with other parameters."""
        return entries.entry(self.instances, self._submissions[name], name, self._macros, parts)

    def _kernel(self, name: str) -> Kernel:
        entry, submission, plan = self.entry(name), self._submissions[name], self.plan(name)
        program = TranslationUnit(self.file, {}, [entry.function], [])
        of = ranges.of(submission)
        signature = Signature(name, (*entry.captures, *entry.constants), plan, _lines(self.instances, submission), of)
        nd_range = of.launch(plan)
        made = binding.kernel(program, entry.function, SYCL_CPP, (*self._identity, name), signature, nd_range)
        return dataclasses.replace(made, nd_ranges=of.launches(plan))

    # --- Text ---

    def __repr__(self) -> str:
        heads = [text for name in self for text in self._described(name)]
        number = len(self)
        return "\n".join([f"{self.file}: {counted(number, 'kernel')}", *(f"  {h}" for h in heads)])

    def _described(self, name: str) -> list[str]:
        submission = self._submissions[name]
        place = f"line {submission.place.line}"
        try:
            entry = self.entry(name)
            stored = effects.reached(entry.function)
        except Error as error:
            return [f"kernel {name}, {place}", f"    cannot be read: {str(error).partition(chr(10))[0]}"]
        plan = self.plan(name)
        lines = [f"kernel {name}, {place}: {ranges.of(submission).described(plan)}"]
        every = (*entry.captures, *entry.constants)
        lines += [f"    {text}" for c in every for text in _capture(c, stored, plan)]
        return lines + [f"    requires {text}" for text in _required(entry)]


def _capture(capture: Parameter, stored: frozenset[object], plan: Plan) -> Iterator[str]:
    """A capture's lines in the listing of a file."""
    match capture.kind:
        case parameters.STRUCT:
            yield f"{capture.declared}, a struct with pointers"
            for part in capture.parts:
                yield from (f"  {text}" for text in _capture(part, stored, plan))
        case parameters.LOCAL:
            local = plan.local(capture.pointer.path)
            yield f"{capture.declared}, {f'{local.bytes} bytes' if local is not None else 'of a size that is given'}"
        case parameters.ACCESSOR | parameters.POINTER | parameters.REDUCTION:
            writes = capture.pointer.variable in stored
            extent = arguments.extent(capture, plan)
            number = "" if extent is None else f", {_elements(capture, *extent)} elements"
            number = " = nullptr" if plan.is_null(capture.pointer.path) else number
            yield f"{capture.declared}{number}, {'written' if writes else 'read only'}"
        case _:
            empty = isinstance(capture.type, types.Record) and not capture.type.fields
            value = None if empty else plan.value(capture.leaves[0].path, capture.leaves[0].variable.type)
            yield capture.declared + (
                f" = {parameters.in_short(parameters.shown(capture.leaves[0].variable.type, value))}"
                if value is not None
                else ""
            )


def _elements(capture: Parameter, dtype: np.dtype, count: int) -> int:
    """How many elements an array has; `count` is that of its numbers."""
    return count * dtype.itemsize // max(capture.element.size, 1)


def _required(entry: Entry) -> Iterator[str]:
    function = entry.function
    if function.work_group_size is not None:
        sizes = [n for n in function.work_group_size[::-1] if n != 1] or [1]
        yield f"work-group size {'x'.join(map(str, sizes))}"
    if function.sub_group_size is not None:
        yield f"sub-group size {function.sub_group_size}"


def _lines(instances: Instances, submission: Submission) -> tuple[tuple[int, str], ...]:
    """The lines of a kernel's lambda or class."""
    closure = entries.closure(instances, submission)
    extent = (closure.cursor if closure is not None else entries.function_object(submission)).extent
    file = str(extent.start.file.name)
    return tuple((n, linecache.getline(file, n).rstrip("\n")) for n in range(extent.start.line, extent.end.line + 1))


def _texts(instances: Instances) -> list[str]:
    """The contents of the user's files."""
    from xeemu.frontends.cplusplus.options import is_header

    included = [str(i.include.name) for i in instances.unit.get_includes()]
    files = dict.fromkeys([str(instances.unit.spelling), *(f for f in included if not is_header(f))])
    return ["".join(linecache.getlines(file)) for file in files]


def _macros(options: Sequence[str]) -> dict[str, str]:
    """The macros that a compiler's options define."""
    joined = re.sub(r"-D\s+", "-D", " ".join(options)).split()
    defined = (option[2:].partition("=") for option in joined if option.startswith("-D"))
    return {name: value or "1" for name, _, value in defined}

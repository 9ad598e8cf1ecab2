"""Host: what the host's code of a SYCL program submits."""

import contextlib
import ctypes
import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from xeemu.devices.device import Device
from xeemu.errors import Error
from xeemu.frontends import types
from xeemu.frontends.cplusplus import specializations, submissions
from xeemu.frontends.cplusplus.instances import Instances
from xeemu.frontends.functions import Function
from xeemu.frontends.hosting import captures, intrinsics, layouts, ranges, statements
from xeemu.frontends.hosting.captures import Leaf
from xeemu.frontends.hosting.machine import Exhausted, Machine, Stopped
from xeemu.frontends.hosting.memories import LOCAL, Memory, Nowhere
from xeemu.frontends.hosting.queues import Queues
from xeemu.frontends.hosting.unknowns import UNKNOWN
from xeemu.frontends.sycl import parameters
from xeemu.frontends.tree import SourceLocation, Variable
from xeemu.frontends.types import Pointer, Record, Scalar, Vector
from xeemu.language.local import Local

NULL = "nullptr"
"""What is known of a null pointer."""

_MOST_STEPS = 30_000
_DEEPEST = 20_000


@dataclasses.dataclass(frozen=True, eq=False)
class Planned:
    """A launch that the host's code makes, as far as it is known without its data.

    Attributes:
      entry: the hash of the cursor of the kernel's entry.
      global_size: in SYCL's order, None where it is not known.
      local_size: of a work-group, in SYCL's order; None of a plain range too.
      captures: what is known of the kernel's parameters, by their names: a number, `xe.Local` with its bytes, of an
        array `(dtype, count)`, of a vector a tuple, of a record its bytes, `NULL` of a null pointer.
      place: of the submission in the user's file.
      ranged: True if it is one without work-groups (`range`, or a single task).
    """

    entry: int
    global_size: tuple[int, ...] | None
    local_size: tuple[int, ...] | None
    captures: Mapping[str, Any]
    place: SourceLocation
    ranged: bool


def dry(instances: Instances, device: str = "max1550") -> tuple[Planned, ...]:
    """What `main` submits, in order; then what other functions do that it does not reach, of arguments unknown."""
    return _Dry(instances, device).planned()


class _Dry:
    def __init__(self, instances: Instances, device: str) -> None:
        self._instances = instances
        self._found: list[Planned] = []
        self._submitted = submissions.submissions(instances)
        self.machine = machine(self._submit, device, strict=False, most=_MOST_STEPS)

    def planned(self) -> tuple[Planned, ...]:
        cursors = [c for c in submissions.functions(self._instances) if c.spelling]
        first = [c for c in cursors if c.spelling == "main"]
        with deep(), np.errstate(all="ignore"):
            for cursor in (*first, *(c for c in cursors if c.spelling != "main")):
                if cursor not in first and not self._missing(cursor):
                    continue
                self._run(cursor)
        return tuple(self._found)

    def _missing(self, cursor: Any) -> bool:
        """True if a function may submit what nobody has submitted yet."""
        planned = {p.entry for p in self._found}
        return any(int(s.cursor.hash) not in planned and s.enclosing == cursor.spelling for s in self._submitted)

    def _run(self, cursor: Any) -> None:
        with contextlib.suppress(Stopped, Exhausted, Error, RecursionError, ZeroDivisionError):
            function = self._instances.function(cursor)
            if function is not None:
                self.machine.steps, self.machine.limit = 0, None
                called(self.machine, function, [self._argument(p) for p in function.parameters])

    def _argument(self, parameter: Variable) -> Any:
        """An argument of which nothing is known; of a reference the object is there."""
        match parameter.type:
            case Pointer(pointee=Record() as whole):
                return self.machine.fresh(whole), 0
            case Record() as whole:
                return self.machine.fresh(whole)
        return UNKNOWN

    def _submit(self, machine: Machine, function: Function, kernel: Any) -> None:
        if machine.quiet:
            return
        sizes, local, _ = ranges.of_launch(machine.stack, function.name)
        memory, at = (Nowhere(), 0) if kernel is UNKNOWN or kernel[0] is None else kernel
        whole = function.parameters[0].type
        assert isinstance(whole, Pointer)
        assert isinstance(whole.pointee, Record)
        known = {leaf.name: _known(leaf, memory, at + leaf.offset) for leaf in captures.leaves(whole.pointee)}
        known |= self._constants(function)
        planned = Planned(
            self._instances.key(function),
            _sizes(sizes),
            _sizes(local),
            {name: value for name, value in known.items() if value is not None},
            machine.place,
            local is None,
        )
        self._found.append(planned)
        for leaf in captures.leaves(whole.pointee):
            _written(leaf, memory, at + leaf.offset)

    def _constants(self, function: Function) -> dict[str, Any]:
        """What is known of a kernel's specialization constants."""
        with contextlib.suppress(Error):
            constants = specializations.used(function)
            memories = ((parameters.constant_path(v), v.type, self.machine.static(v)) for v in constants)
            return {path: record_bytes(of, memory, 0) for path, of, memory in memories}
        return {}


def _written(leaf: Leaf, memory: Memory, at: Any) -> None:
    """What a kernel may write is not known from then on."""
    if isinstance(leaf.type, Pointer) and not leaf.type.const:
        pointer = memory.get(at, leaf.type)
        if pointer is not UNKNOWN and pointer[0] is not None and pointer[0].kind != LOCAL:
            pointer[0].forget()


def _sizes(sizes: tuple[Any, ...] | None) -> tuple[int, ...] | None:
    return None if sizes is None or not sizes or UNKNOWN in sizes else tuple(map(int, sizes))


def _known(leaf: Leaf, memory: Memory, at: Any) -> Any:
    """What is known of a parameter, None if that is nothing."""
    match leaf.type:
        case Pointer(pointee=pointee):
            return _array(memory.get(at, leaf.type), pointee)
        case Scalar():
            value = memory.get(at, leaf.type)
            return None if value is UNKNOWN else value
        case Vector(element=element, count=count):
            parts = tuple(memory.get(at + k * element.size, element) for k in range(count))
            return None if UNKNOWN in parts else parts
        case Record() | types.Array():
            return record_bytes(leaf.type, memory, at)
    return None


def record_bytes(of: types.Type, memory: Memory, at: Any) -> bytes | None:
    """An object of numbers as bytes, None where not all are known."""
    made = bytearray(layouts.size(of))
    for offset, leaf in layouts.leaves(of):
        value = memory.get(at + offset, leaf)
        if value is UNKNOWN or not isinstance(leaf, Scalar):
            return None
        made[offset : offset + leaf.size] = leaf.dtype.type(value).tobytes()
    return bytes(made)


def _array(pointer: Any, pointee: types.Type) -> Any:
    """An array's dtype and number of elements, local memory's bytes."""
    if pointer is UNKNOWN:
        return None
    if pointer[0] is None:
        return NULL
    memory, at = pointer
    if memory.size is UNKNOWN or at is UNKNOWN:
        return None
    if memory.kind == LOCAL:
        return Local(memory.size - at)
    of = memory.element if isinstance(pointee, types.Void) and memory.element is not None else pointee
    scalar = of.element if isinstance(of, Vector) else of
    dtype = scalar.dtype if isinstance(scalar, Scalar) else np.dtype(np.uint8)
    return dtype, (memory.size - at) // dtype.itemsize


def machine(submit: Any, device: str | Device, strict: bool, most: int) -> Machine:
    """A machine for programs of SYCL."""
    from xeemu.devices import lookup

    made = Machine(strict, submit, intrinsics.find, most, statements.RULES)
    made.initialize = statements.begin(made)
    made.commands = Queues(made, lookup.device(device))
    return made


def called(machine: Machine, function: Function, arguments: Sequence[Any]) -> Any:
    """What a function of the host gives.

    Errors: `RecursionError` where calls are nested deeper than Python's can be.
    """
    try:
        return machine.call(function, arguments)
    except ctypes.ArgumentError as error:  # by which a call of libclang tells the same
        if RecursionError.__name__ in str(error):
            raise RecursionError from None
        raise


@contextlib.contextmanager
def deep() -> Iterator[None]:
    """Allows deep recursion: a call of a program is some tens of Python's."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, _DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)

"""Binding: a call of a kernel with C's arguments as one of a function over flat memories and scalars."""

import dataclasses
import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from xeemu.errors import KernelArgumentError
from xeemu.frontends import arrays, declarations, images, opaques, parameters
from xeemu.frontends.arrays import ArrayType
from xeemu.frontends.functions import Function, TranslationUnit
from xeemu.frontends.lowering import (
    definite_assignment,
    extents,
    kernels,
    lifetimes,
    memories,
    partial_records,
    printing,
    statics,
    transfers,
)
from xeemu.frontends.lowering.extents import Declared
from xeemu.frontends.samplers import Sampler
from xeemu.frontends.texts import Pieces, of_rows
from xeemu.frontends.tree import SourceLocation, Variable
from xeemu.frontends.types import Pointer
from xeemu.language.dialect import Dialect
from xeemu.language.interface import BoundCall, Interface, Retrace
from xeemu.language.kernel import Kernel
from xeemu.language.local import Local
from xeemu.language.ndrange import NDRange

# The keywords for granules, for parameters that are null pointers and for a check; no parameter of C is called so.
_GRANULES = "granule bytes"
_NULL = "null pointers"
_CHECKED = "for a check"
# Launches of a kernel of which it is remembered in what pieces they access memories.
_MOST_REMEMBERED = 128


class Signature(Protocol):
    """How a kernel is called whose arguments are not its parameters one by one.

    Attributes:
      names: of what a call takes by position.
      declaration: as the source's language writes it.
      lines: of the kernel's source, each with its number.
      every: names of all that may be given by position.
      shapes: dimensions of memories by name, of those that are flat for xeemu.
    """

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def declaration(self) -> str: ...
    @property
    def lines(self) -> tuple[tuple[int, str], ...]: ...
    @property
    def every(self) -> tuple[str, ...]: ...
    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]: ...
    def check(self, nd_range: NDRange) -> None:
        """Refuses an nd-range over which the kernel is not launched."""

    def flat(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Sequence[Any]:
        """The values of the parameters, of a call's arguments."""


def kernel(
    program: TranslationUnit,
    function: Function,
    dialect: Dialect,
    identity: tuple[str, ...] = (),
    signature: Signature | None = None,
    nd_range: NDRange | None = None,
    open_: frozenset[str] = frozenset(),
) -> Kernel:
    """A kernel of a program, to be launched.

    Args:
      program: of which it is.
      function: its function.
      dialect: of advice.
      identity: texts that tell the program from others in every process.
      signature: how it is called; None: with the values of its parameters.
      nd_range: of its launch, where that is known.
      open_: parameters whose numbers are left open as the kernel is traced, though a launch gives them.
    """
    binding = _Binding(program, function, dialect, identity, signature, open_)
    names = signature.names if signature is not None else tuple(p.name for p in function.parameters)
    return Kernel(
        _function(function.name, function.place, binding.refuse),
        function.sub_group_size,
        _required_size(function),
        binding.interface(names, {}, binding.bind),
        nd_range,
    )


def _required_size(function: Function) -> tuple[int, ...] | None:
    """The work-group size that a function requires, in SYCL's order, without leading dimensions of 1."""
    if function.work_group_size is None:
        return None
    first = next((d for d, n in enumerate(function.work_group_size[:0:-1]) if n != 1), 2)
    return function.work_group_size[::-1][first:]


def _may_alias(parameter: Variable) -> bool:
    """True of a pointer to what others may point to; constant memory is disjoint from all other (OpenCL C 1.2, 6.5)."""
    return isinstance(parameter.type, Pointer) and parameter.type.space != "constant" and not parameter.restrict


def _function(name: str, place: SourceLocation, call: Callable[..., Any]) -> types.FunctionType:
    """A function that is the file's as far as Python's tracebacks tell, on the line of a place."""
    module = compile("def kernel(wg, *values, **static): return call(wg, values, static)", place.file, "exec")
    code = next(constant for constant in module.co_consts if isinstance(constant, types.CodeType))
    named = code.replace(co_name=name, co_qualname=name, co_firstlineno=place.line)
    return types.FunctionType(named, {"call": call, "__builtins__": {}, "__name__": place.file}, name)


@dataclasses.dataclass(frozen=True, eq=False)
class _Binding:
    """A kernel of a program with what has been learnt of it."""

    program: TranslationUnit
    function: Function
    dialect: Dialect
    identity: tuple[str, ...]
    signature: Signature | None = None
    open_: frozenset[str] = frozenset()
    _traced: dict[Any, Kernel] = dataclasses.field(default_factory=dict)
    _granules: dict[Any, Mapping[Any, int]] = dataclasses.field(default_factory=dict)
    pieces: Pieces = dataclasses.field(default_factory=Pieces)

    @property
    def name(self) -> str:
        return self.function.name

    def refuse(self, wg: Any, values: Any, static: Any) -> Any:
        raise KernelArgumentError(f"kernel {self.name} is launched, not called: xe.launch({self.name}, nd_range)(...)")

    def interface(self, names: tuple[str, ...], static: Mapping[str, Any], bind: Any = None) -> Interface:
        return Interface(
            self.name,
            names,
            self.dialect,
            self.signature.declaration if self.signature is not None else declarations.kernel(self.function),
            static,
            self.summary,
            self.lines,
            (*self.identity, self.name, *names),
            self.written,
            self.printing if bind is not None and kernels.prints(self.function) else None,
            self.shapes,
            self.checking if bind is not None and self._is_checked_apart else None,
            {name: declared.extent for name, declared in self.extents.items()},
            bind,
            () if self.signature is None or bind is None else self.signature.every,
            tuple(p.name for p in self.function.parameters if p.declared.startswith("reduction<")),
            tuple(p.name for p in self.function.parameters if _may_alias(p)),
            {p.name: p.type.pointee.size for p in self.function.parameters if isinstance(p.type, Pointer)},
        )

    @functools.cached_property
    def written(self) -> tuple[str, ...]:
        return kernels.written(self.function)

    @property
    def _is_checked_apart(self) -> bool:
        """True if a check looks at more than what a launch does."""
        lasting = lifetimes.renewed(self.function) or definite_assignment.doubtful_pointers(self.function)
        more = transfers.of(self.function) or partial_records.are_copied(self.function)
        return bool(self.extents or lasting or more)

    def checking(self, kernel: Kernel) -> Kernel:
        """The kernel as a check wants it: bounds of arrays within memories, copies under way, lives that begin anew."""
        made = dataclasses.replace(kernel.interface, bind=functools.partial(self.bind, checked=True))  # type: ignore[type-var]
        return dataclasses.replace(kernel, interface=made)

    @functools.cached_property
    def extents(self) -> Mapping[str, Declared]:
        """The declared arrays within memories, by the names of what holds their bounds."""
        return extents.of(self.function)

    @functools.cached_property
    def statics(self) -> Mapping[str, Variable]:
        """The variables of program scope that are memories of a launch, by the names of these."""
        return statics.of(self.program, self.function)

    @functools.cached_property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The dimensions of local and private arrays of numbers."""
        declared = declarations.shapes(self.function)
        return declared if self.signature is None else {**declared, **self.signature.shapes}

    @functools.cached_property
    def summary(self) -> str:
        return declarations.summary(self.function)

    @functools.cached_property
    def lines(self) -> tuple[tuple[int, str], ...]:
        return declarations.lines(self.function) if self.signature is None else self.signature.lines

    @functools.cached_property
    def deciding(self) -> frozenset[str]:
        """The scalars that are known as the kernel is traced, where a launch gives their values."""
        return kernels.deciding(self.program, self.function) - self.open_

    def printing(self, kernel: Kernel, words: int) -> Kernel:
        """The kernel whose results are its own and what its work-items have printed."""
        bind = functools.partial(self.bind, words=words)
        made = dataclasses.replace(kernel.interface, bind=bind)  # type: ignore[type-var]
        return dataclasses.replace(kernel, interface=made)

    # --- Binding ---

    def bind(
        self,
        kernel: Kernel,
        nd_range: NDRange,
        arguments: Sequence[Any],
        keywords: Mapping[str, Any],
        words: int = 0,
        checked: bool = False,
    ) -> BoundCall:
        """A call as one of the function that is traced, see `Interface.bind`.

        Args:
          kernel, nd_range, arguments, keywords: of the call.
          words: are kept of what each work-item prints.
          checked: True if bounds of declared arrays are looked at.
        """
        own = self.function.parameters
        if self.signature is not None:
            self.signature.check(nd_range)
            arguments = self.signature.flat(arguments, keywords)
        else:
            parameters.check_number(self.function, arguments, keywords)
        given = dict(zip((p.name for p in own), arguments, strict=True))
        forms = {p.name: parameters.form(p, given[p.name], self.name) for p in own if parameters.is_array(p)}
        others = [p for p in own if not parameters.is_array(p)]
        values = {p.name: parameters.value(p, given[p.name], self.name, self.dialect) for p in others}
        static = {name: value for name, value in values.items() if self._is_static(name, value)}
        if null := tuple(name for name in forms if given[name] is None):
            static[_NULL] = null
            given |= {name: np.zeros(0, forms[name].dtype) for name in null}
        if checked:
            static[_CHECKED] = True
        call = _Call(self, kernel, nd_range, given, forms, values, static, words, self.extents if checked else {})
        return call.bound(self._granules.get(call.signature, {}))

    def _is_static(self, name: str, value: Any) -> bool:
        if isinstance(value, np.generic):
            return name in self.deciding
        return isinstance(value, Local | Sampler | tuple | bytes)

    # --- Tracing ---

    def traced(self, kernel: Kernel, nd_range: NDRange, static: Sequence[str], texts: Sequence[str] = ()) -> Kernel:
        """The kernel that takes all but some parameters by position, with the required sizes of another one."""
        required = kernel.required_size(nd_range.dimensions)
        key = tuple(static), kernel.sub_group_size, required, tuple(texts)
        if key not in self._traced:
            names = (*(p.name for p in self.function.parameters if p.name not in static), *texts)
            call = functools.partial(self._run, names)
            defaults = dict.fromkeys(static, inspect.Parameter.empty)
            self._traced[key] = Kernel(
                _function(self.name, self.function.place, call),
                kernel.sub_group_size,
                required,
                self.interface(names, defaults),
            )
        return self._traced[key]

    def _run(self, names: Sequence[str], wg: Any, values: Sequence[Any], static: Mapping[str, Any]) -> dict[str, Any]:
        """Traces the kernel: the memories that it has changed, by the names of their parameters."""
        known = {p.name: parameters.restored(p, static[p.name]) for p in self.function.parameters if p.name in static}
        given = {**dict(zip(names, values, strict=True)), **known}
        arguments = {p.name: given[p.name] for p in self.function.parameters if parameters.is_array(p)}
        local_bytes = {name: value.bytes for name, value in given.items() if isinstance(value, Local)}
        texts = given.pop(printing.MEMORY, None)
        own = {variable: given.pop(name) for name, variable in self.statics.items()}
        bounds = {name: given.pop(name) for name in self.extents if name in given}
        passed = kernels.TracedArguments(
            arrays=arguments,
            scalars={n: value for n, value in given.items() if n not in arguments and n not in local_bytes},
            local_bytes=local_bytes,
            granules=dict(static.get(_GRANULES, ())),
            printed=None if texts is None else (texts, self.pieces),
            null=static.get(_NULL, ()),
            statics=own,
            extents=bounds,
            checked=_CHECKED in static,
        )
        return dict(kernels.run(self.program, self.function, wg, passed))

    def remember(self, signature: Any, granules: Mapping[Any, int]) -> None:
        if len(self._granules) >= _MOST_REMEMBERED:
            self._granules.clear()
        self._granules[signature] = granules


@dataclasses.dataclass(frozen=True, eq=False)
class _Call:
    """A call of a kernel: its arguments by name, checked and converted."""

    binding: _Binding
    kernel: Kernel
    nd_range: NDRange
    given: Mapping[str, Any]
    forms: Mapping[str, ArrayType]
    values: Mapping[str, Any]
    static: Mapping[str, Any]
    words: int
    extents: Mapping[str, Declared]

    @property
    def signature(self) -> Any:
        """What decides in what pieces memories are accessed."""
        dtypes = tuple(form.dtype for form in self.forms.values())
        return self.nd_range, dtypes, tuple(self.static.items()), repr(self.static)

    def bound(self, granules: Mapping[Any, int]) -> BoundCall:
        """The call with memories in such pieces."""
        values = [self._positional(p, granules) for p in self.binding.function.parameters if p.name not in self.static]
        static = {**self.static, **({_GRANULES: tuple(granules.items())} if granules else {})}
        own = self.binding.statics
        values += [self._initial(variable, granules.get(variable)) for variable in own.values()]
        values += [declared.given for declared in self.extents.values()]
        texts = [printing.MEMORY] if self.words else []
        values += [np.zeros((math.prod(self.nd_range.global_size), self.words), np.uint32) for _ in texts]
        traced = self.binding.traced(self.kernel, self.nd_range, tuple(static), [*own, *self.extents, *texts])
        return BoundCall(traced, self._cut, values, static, self._results, functools.partial(self._again, granules))

    def _initial(self, variable: Variable, granule: int | None) -> np.ndarray:
        """What a variable of program scope holds before the launch."""
        return kernels.initial(self.binding.program, self.binding.function, variable, granule)

    @property
    def _cut(self) -> NDRange:
        """The nd-range; a plain one has the work-group size that the kernel requires, which OpenCL takes then."""
        required = self.kernel.required_size(self.nd_range.dimensions)
        plain = self.nd_range.local_size is None
        if not plain or required is None or len(required) != self.nd_range.dimensions:
            return self.nd_range
        return NDRange(self.nd_range.global_size, required)

    def _positional(self, parameter: Variable, granules: Mapping[Any, int]) -> Any:
        name = parameter.name
        if name not in self.forms:
            return self.values[name]
        if opaques.is_image(parameter.type):
            return images.laid_out(self.given[name])
        dtype = (
            arrays.finer(parameter, granules[name]) if name in granules else arrays.natural(parameter, self.forms[name])
        )
        return arrays.flat(self.given[name], dtype)

    def _again(self, granules: Mapping[Any, int], learnt: Retrace) -> BoundCall:
        key, size = learnt.key, learnt.size
        before = granules.get(key)
        assert not before or size < 0 < before or memories.piece(before) > memories.piece(size), (
            f"{key} is accessed in pieces of {size} bytes already"
        )
        finer = {**granules, key: size}
        self.binding.remember(self.signature, finer)
        return self.bound(finer)

    def _results(self, changed: Mapping[str, Any]) -> Any:
        """The arrays that the kernel has changed, as they were given: one by itself, else a tuple."""
        null = self.static.get(_NULL, ())
        found = tuple(
            None if name in null else arrays.back(changed[name], form)
            for name, form in self.forms.items()
            if name in changed
        )
        outputs = found[0] if len(found) == 1 else found
        if not self.words:
            return outputs
        rows = np.asarray(changed[printing.MEMORY])
        return outputs, of_rows(rows, self.binding.pieces, self.nd_range.global_size)

"""Submissions: a kernel of SYCL C++ with the launch that its host code and the command line tell."""

import ast
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

import xeemu as xe
from xeemu.commands import notation, rules
from xeemu.commands.notation import UsageError
from xeemu.frontends import types
from xeemu.frontends.sycl import arguments, parameters, ranges
from xeemu.frontends.sycl.collection import SyclKernels
from xeemu.frontends.sycl.parameters import Parameter
from xeemu.frontends.sycl.plans import Plan

if TYPE_CHECKING:
    from xeemu.commands.targets import KernelOptions

_MOST_SHOWN = 8


@dataclasses.dataclass(frozen=True)
class CommandSubmission:
    """A kernel with its sizes and its arguments, and where those come from that the command line does not give."""

    kernel: xe.Kernel
    nd_range: xe.NDRange
    inputs: tuple[Any, ...]
    origins: str


def launch(path: str, name: str, options: "KernelOptions") -> CommandSubmission:
    """A kernel of a file, its sizes and its arguments.

    Errors: `UsageError` for what neither the file nor the options tell; `xe.Error` of the file's own.
    """
    loaded = xe.load(path, options.build, std=options.std)
    assert isinstance(loaded, SyclKernels)
    if not name and len(loaded) != 1:
        raise UsageError(f"write {path}:NAME with one of {', '.join(loaded) or 'its kernels, of which it has none'}")
    kernel = loaded[name or next(iter(loaded))]
    if options.static:
        raise UsageError(f"{kernel.name} has no static parameters; write -D{options.static[0]} in --options")
    given = _Given(loaded.captures(kernel.name), loaded.plan(kernel.name), options.shapes_only)
    nd_range = _sizes(kernel, options)
    inputs = given.inputs(options.arguments)
    return CommandSubmission(kernel, nd_range, inputs, given.origins(options.arguments))


def _sizes(kernel: xe.Kernel, options: "KernelOptions") -> xe.NDRange:
    """The nd-range of the options, or else of the host code."""
    own = kernel.nd_range
    if options.global_size is not None:
        return xe.NDRange(options.global_size, options.local_size)
    if own is None:
        raise UsageError(
            f"the host code does not tell the sizes of {kernel.name}; write them, the last dimension contiguous, such "
            "as --global 4096 --local 64"
        )
    return own if options.local_size is None else xe.NDRange(own.global_size, options.local_size)


def others(kernel: xe.Kernel, nd_range: xe.NDRange) -> str:
    """What is said where a kernel's host code launches it with other sizes, too; empty where it does not."""
    rest = [one for one in kernel.nd_ranges if one != nd_range]
    if not rest or nd_range not in kernel.nd_ranges:
        return ""
    listed = "; ".join(ranges.told(one) for one in rest[:_MOST_SHOWN]) + "; ..." * (len(rest) > _MOST_SHOWN)
    return (
        f"This is {kernel.name} over {ranges.told(nd_range)}, with what it captures at first. The host code also "
        f"launches it over\n  {listed}\nxeemu program FILE tells of each; --global, --local and --arg choose one."
    )


class _Given:
    """The arguments of a kernel, from texts and from what the host code tells."""

    def __init__(self, captures: Sequence[Parameter], plan: Plan, shapes_only: bool):
        self._captures, self._plan, self._shapes_only = captures, plan, shapes_only

    def inputs(self, texts: Sequence[str]) -> tuple[Any, ...]:
        """An argument for each capture, in order."""
        written = self._by_name(texts)
        found = [self._argument(c, written.get(c.key), k) for k, c in enumerate(self._captures)]
        given = list(zip(self._captures, found, strict=True))
        if missing := [c for c, value in given if value is None and not self._is_known(c)]:
            such = " ".join(f"--arg {c.key}={_such_as(c)}" for c in missing)
            raise UsageError(f"the host code does not tell all that the kernel captures; write also {such}")
        return tuple(found)

    def origins(self, texts: Sequence[str]) -> str:
        """What is said of the captures that the texts do not give; empty where they give all.

        The host code is read and not run: it tells sizes and numbers, and nothing of what is in arrays.
        """
        left = [c for c in self._captures if c.key not in self._by_name(texts) and c.kind != parameters.LOCAL]
        filled = [c.key for c in left if self._is_filled(c)]
        told = [c.key for c in left if c.key not in filled]
        parts = []
        if filled and not self._shapes_only:
            parts.append(f"contents of {', '.join(filled)}: random, as the host code is not run")
        if told:
            parts.append(f"{', '.join(told)}: as the host code tells")
        if not parts:
            return ""
        such = told[0] if self._shapes_only or not filled else filled[0]
        example = f"--arg {such}={'FILE.npy' if such in filled else 'VALUE'}"
        return f"{'; '.join(parts)}. {example} gives another; xeemu program runs the host code as well."

    @staticmethod
    def _is_filled(capture: Parameter) -> bool:
        """True if a capture has elements, of which the host code does not tell the contents."""
        arrays = (parameters.ACCESSOR, parameters.POINTER, parameters.REDUCTION, parameters.STRUCT)
        return capture.kind in arrays or isinstance(capture.type, types.Array)

    def _by_name(self, texts: Sequence[str]) -> dict[str, str]:
        names = [capture.key for capture in self._captures]
        named: list[tuple[str, str]] = []
        by_position: list[str] = []
        for text in texts:
            name, sign, value = text.partition("=")
            if sign and name in names:
                named.append((name, value))
            elif sign and name.isidentifier():
                raise UsageError(f"the kernel captures no {name}; it captures {', '.join(names) or 'nothing'}")
            else:
                by_position.append(text)
        given = notation.once("--arg", named)
        takers = [c.key for c in self._captures if c.key not in given and not self._is_known(c)]
        if len(by_position) > len(takers):
            listed = ", ".join(c.declared for c in self._captures)
            raise UsageError(
                f"the kernel captures ({listed}), of which {len(takers)} are left to give by position, but got "
                f"{len(by_position)}; write NAME=VALUE"
            )
        return {**given, **dict(zip(takers, by_position, strict=False))}

    def _is_known(self, capture: Parameter) -> bool:
        """True if the host code tells all of a capture but the contents of arrays, which it never does."""
        return arguments.Signature("", (), self._plan, (), ranges.Range("single_task", 1)).is_known(capture)

    def _argument(self, capture: Parameter, text: str | None, position: int) -> Any:
        """The argument for a capture; None where nobody tells it."""
        if capture.kind == parameters.STRUCT:
            return self._struct(capture, text, position)
        if text is not None:
            return self._read(capture, text, position)
        known = self._known(capture)
        match capture.kind:
            case parameters.ACCESSOR | parameters.POINTER | parameters.REDUCTION:
                return self._random(capture, position)
            case parameters.LOCAL:
                return self._local(capture)
        if known is None and isinstance(capture.type, types.Array):
            return self._random_array(capture.type, position)
        return known if known is not None or not self._is_known(capture) else bytes(capture.type.size)

    def _known(self, capture: Parameter) -> Any:
        """The value of a number or struct that the host code tells."""
        if capture.kind != parameters.VALUE:
            return None
        leaf = capture.leaves[0]
        return self._plan.value(leaf.path, leaf.variable.type)

    def _read(self, capture: Parameter, text: str, position: int) -> Any:
        """An argument as it was written."""
        leaf = capture.leaves[0] if capture.kind == parameters.VALUE else capture.pointer
        if isinstance(capture.type, types.Array) and (":" in text or text.endswith(".npy")):
            _, element = _shape(capture.type)
            pointer = types.Pointer(element, "global")
            return rules.argument(dataclasses.replace(leaf.variable, type=pointer), text, position)
        if isinstance(leaf.variable.type, types.Record) and not text.lstrip().startswith("{"):
            return rules.numbers(text)
        return rules.argument(leaf.variable, text, position, self._shapes_only)

    def _local(self, capture: Parameter) -> Any:
        """The range of local memory where the host code tells it, or else its size."""
        sizes = [self._plan.value(leaf.path) for leaf in capture.leaves if ".r." in leaf.path]
        local = self._plan.local(capture.pointer.path)
        return tuple(map(int, sizes)) if sizes and None not in sizes and all(sizes) else local

    def _random(self, capture: Parameter, position: int) -> Any:
        extent = arguments.extent(capture, self._plan)
        if extent is None:
            return None
        dtype, count = np.dtype(extent[0]), extent[1]
        sizes = [self._plan.value(leaf.path) for leaf in capture.leaves if ".r." in leaf.path]
        shape: tuple[int, ...] = (count,)
        if sizes and None not in sizes and int(np.prod(sizes)) == count:
            shape = tuple(map(int, sizes))
        if self._shapes_only:
            return jax.ShapeDtypeStruct(shape, dtype)
        return notation.random(shape, dtype, {}, position)

    def _random_array(self, of: types.Array, position: int) -> Any:
        """Random contents of an array that is captured whole; None where its elements are no numbers."""
        shape, element = _shape(of)
        return notation.random(shape, element.dtype, {}, position) if isinstance(element, types.Scalar) else None

    def _struct(self, capture: Parameter, text: str | None, position: int) -> Any:
        """The fields of a struct with pointers, each written as an argument."""
        fields = {} if text is None else _fields(text)
        found = {
            part.key: self._argument(
                part, None if part.key not in fields else str(fields[part.key]), 100 * position + k
            )
            for k, part in enumerate(capture.parts)
        }
        unknown = [part for part in capture.parts if found[part.key] is None and not self._is_known(part)]
        return None if unknown else found


def _shape(of: types.Type) -> tuple[tuple[int, ...], types.Type]:
    """The dimensions of an array and the type of its elements."""
    if not isinstance(of, types.Array):
        return (), of
    inner, element = _shape(of.element)
    return (of.count, *inner), element


def _fields(text: str) -> dict[str, Any]:
    try:
        found = ast.literal_eval(text)
    except (SyntaxError, ValueError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"--arg {text} is for a struct with pointers; write {{'pointer': 'random:1024', 'number': 5}}")
    return found


def _such_as(capture: Parameter) -> str:
    """How an argument may be written."""
    match capture.kind:
        case parameters.STRUCT:
            return '"{' + ", ".join(f"'{part.key}': '{_such_as(part)}'" for part in capture.parts) + '}"'
        case parameters.VALUE:
            return rules.such_as(capture.leaves[0].variable)
    if capture.dimensions > 1 and capture.kind == parameters.ACCESSOR:
        return "random:" + "x".join(["64"] * capture.dimensions)
    return rules.such_as(capture.pointer.variable)
